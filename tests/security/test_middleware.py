"""What reaches the page at all: requests of other sites, other names, sizes; and the headers of every answer."""

import asyncio
import errno
import itertools
import socket
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from playground.errors import InvalidConfig
from playground.setup.limits import LIMITS
from playground.ui.auth import access, body, middleware, sessions, visitors
from playground.ui.auth.access import Access
from playground.ui.auth.incoming import Incoming
from playground.ui.auth.middleware import RequestMiddleware
from tests.security import DATA, pages, table
from tests.support import data_beside


async def read(request):
    return PlainTextResponse(str(len(await request.body())))


def through(door, address="10.0.0.1"):
    """A client of an address, as the middleware sees it."""
    transport = httpx.ASGITransport(app=door, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7860")


def client(mode="local", cap=1000, listening="127.0.0.1", names=(), app=None, embedded_by=""):
    """A client of a small application behind the middleware."""
    access = Access(mode, embedded_by=embedded_by)
    access.limits = LIMITS[mode]._replace(request_bytes=cap, upload_bytes=cap)
    paths = ("/", "/live/change", "/gradio_api/upload")
    inner = app or Starlette(routes=[Route(path, read, methods=["GET", "POST"]) for path in paths])
    return through(RequestMiddleware(inner, access, listening, names))


async def asked(method="POST", path="/live/change", content=b"", headers=None, **options):
    async with client(**options) as asking:
        return await asking.request(method, path, content=content, headers=headers or {})


class Unreached:
    """An application that no request is to get to; it has the paths of those that did."""

    def __init__(self):
        self.paths = []

    async def __call__(self, scope, receive, send):
        self.paths.append(scope["path"])


@pytest.mark.parametrize(("method", "headers", "status"), table("sites")["requests"])
async def test_a_page_of_another_site_changes_and_reads_nothing(method, headers, status):
    for mode in LIMITS:
        assert (await asked(method, headers=headers, mode=mode)).status_code == status


@pytest.mark.parametrize("case", (DATA / "host_names.txt").read_text(encoding="utf-8").splitlines())
@pytest.mark.parametrize("mode", ["local", "classroom"])
async def test_a_page_for_oneself_or_a_class_answers_under_its_own_names_only(mode, case):
    """Each case: a name, the address that the server listens on, the status. Else a page that a pupil or the teacher
    opens could call it, once its name points at it (DNS rebinding)."""
    host, listening, status = case.replace("MACHINE", socket.gethostname().partition(".")[0]).split()
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    answer = await asked("GET", "/", headers=headers, mode=mode, listening=listening, names=("page.example",))
    assert answer.status_code == int(status)
    assert status == "200" or "PLAYGROUND_HOSTS" in answer.json()["error"]
    assert (await asked("GET", "/", headers={"Host": ""}, mode=mode, listening=listening)).status_code == 421


async def test_a_proxy_s_name_may_be_an_origin_when_it_is_named():
    headers = {"Origin": "https://page.example"}
    assert (await asked(headers=headers, mode="classroom")).status_code == 403
    assert (await asked(headers=headers, mode="classroom", names=("page.example",))).status_code == 200


@pytest.mark.parametrize(("root", "mount", "path", "expected"), data_beside(__file__, "tables.yaml")["prefixes"])
def test_a_request_is_for_the_same_page_with_its_prefix_and_without(root, mount, path, expected):
    scope = {"root_path": root, "path": path, "method": "GET"}
    assert middleware.prefix_and_path(scope, mount) == tuple(expected or (root, path))


@pytest.mark.parametrize(("path", "overhead"), [("/live/change", 0), ("/gradio_api/upload", 64_000)])
async def test_a_body_is_refused_by_its_length_before_it_is_read(path, overhead):
    app = Unreached()
    assert (await asked(path=path, content=b"x" * (1000 + overhead))).text == str(1000 + overhead)
    assert (await asked(path=path, content=b"x" * (1001 + overhead), app=app)).status_code == 413
    for length in ("-1", "1e3"):
        assert (await asked(path=path, headers={"Content-Length": length}, app=app)).status_code == 413
    assert app.paths == []


@pytest.mark.parametrize(("count", "status"), [(10, 200), (10_000, 413)])
async def test_a_body_without_a_length_is_counted_as_it_comes(count, status):
    async def parts():
        for _ in range(count):
            yield b"x" * 100

    assert (await asked(content=parts())).status_code == status


MANY = {name: text.encode() for name, text in table("hostile_texts")["calls"].items()}
MANY["two bytes"] = ("[" + "[]," * 9_000 + '"\\"' + "[]," * 9_000).encode("utf-16")


@pytest.mark.parametrize("many", MANY)
async def test_a_call_of_many_values_is_refused_before_anything_parses_it(many, monkeypatch):
    parsed, app = [], Unreached()
    monkeypatch.setattr(sessions, "json", SimpleNamespace(loads=parsed.append))
    answer = await asked(path="/gradio_api/queue/join", content=MANY[many], cap=1_000_000, mode="space", app=app)
    assert (answer.status_code, answer.json()["error"]) == (413, sessions.MANY_VALUES)
    assert parsed == app.paths == []


def test_texts_with_brackets_and_calls_of_some_values_are_let_in():
    texts = b'["' + b"[,{" * 100_000 + b'"]', b'["' + b'\\"[,{\\\\' * 100_000 + b'"]'
    for sent in (b"[" + b"[]," * 4_990 + b"0]", *texts):
        assert not sessions.has_many_values(sent)


async def test_a_call_too_many_of_an_address_is_refused_before_it_is_read():
    """What is counted, and of whom, is in served/test_rates.py."""
    rules, read = Access("space"), []
    rules.limiter.per_minute["calls"] = 3

    async def app(scope, receive, send):
        read.append(await Request(scope, receive).body())
        await PlainTextResponse("", 403)(scope, receive, send)

    async with through(RequestMiddleware(app, rules)) as asking:
        answers = [await asking.post("/gradio_api/reset", content=b"{}") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [403, 403, 403, 429]
    assert read == [b"{}"] * 3


async def test_a_body_has_to_come_to_an_end_and_an_answer_need_not(monkeypatch):
    assert middleware.BODY_SECONDS == 120
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.05)

    async def slow():
        yield b"x"
        await asyncio.sleep(0.1)
        yield b"x"

    refused = await asked(content=slow(), mode="classroom")
    assert (refused.status_code, refused.json()["error"]) == (408, body.TOO_SLOW[1])
    assert (await asked(content=slow(), mode="local")).text == "2"
    # a stream has the whole body, and waits longer than a body may take for the client to go
    messages = iter([(0, {"type": "http.request", "body": b""}), (0.1, {"type": "http.disconnect"})])

    async def receive():
        seconds, message = next(messages)
        await asyncio.sleep(seconds)
        return message

    cut_off = body.Body(receive, 10, 0.05)
    assert [(await cut_off())["type"] for _ in range(2)] == ["http.request", "http.disconnect"]
    assert cut_off.refused is None


@pytest.mark.parametrize(
    ("method", "path", "kind", "most"),
    [("GET", "/live/hold", "requests", 250), ("POST", "/gradio_api/upload", "uploads", 10)],
)
async def test_one_address_leaves_room_for_others_and_for_the_host(method, path, kind, most, tmp_path):
    rules, cookie = Access("space", token="t" * 20), visitors.Host("t" * 20).cookie
    counts, room = [], Incoming(tmp_path, 100 * rules.limits.upload_bytes)

    async def app(scope, receive, send):
        counts.append(rules.limiter.held[kind, rules.address_of(Request(scope))])
        await PlainTextResponse("")(scope, receive, send)

    door, as_host = RequestMiddleware(app, rules, incoming=room), {"Cookie": f"{visitors.HOST_COOKIE}_7860={cookie}"}
    async with through(door) as asking, through(door, "10.0.0.2") as other:
        first = await asking.request(method, path)
        rules.limiter.held[kind, "10.0.0.1"] = most
        late, of_another = await asking.request(method, path), await other.request(method, path)
        of_the_host = await asking.request(method, path, headers=as_host)
    room.close()
    assert late.status_code == 503
    assert late.headers["retry-after"] == "5"
    assert late.json()["error"] == middleware.BUSY
    assert first.status_code == of_another.status_code == of_the_host.status_code == 200
    assert counts == [1, 1, most]
    assert rules.limiter.held == {(kind, "10.0.0.1"): most}


async def test_who_may_only_watch_sends_little():
    """The page sends a form of at most 6 kB, and typed prompts, to be refused it."""
    for mode, status in (("classroom", 413), ("space", 200), ("local", 200)):
        assert (await asked(content=b"x" * 64_000, cap=100_000, mode=mode)).status_code == 200
        assert (await asked(content=b"x" * 64_001, cap=100_000, mode=mode)).status_code == status
    assert (await asked(path="/gradio_api/upload", mode="classroom")).status_code == 403


@pytest.mark.parametrize("query", ["page=runs", "tab=runs&page=runs&sweep=a%20b", "page=&pages=2", "%70age=x&tab=runs"])
async def test_a_page_of_gradio_s_that_is_not_there_is_not_asked_for(query):
    async def seen(request):
        return PlainTextResponse(str(sorted(request.query_params.items())))

    answer = await asked("GET", f"/?{query}", app=Starlette(routes=[Route("/", seen)]))
    pairs = [(name, value) for name, value in httpx.QueryParams(query).items() if name != "page"]
    assert answer.text == str(sorted(pairs))


async def failing(scope, receive, send):
    """Fails before it has read what it was sent."""
    raise KeyError("what only Gradio's own code knows")


async def hasty(scope, receive, send):
    """Answers before it has read what it was sent."""
    await PlainTextResponse("There is no such address.", 404)(scope, receive, send)


async def left(scope, receive, send):
    """Reads until its client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect()


async def exchange(app, parts):
    """What passes from the middleware to the server for a POST: "in" for each part taken in, else the message sent."""
    passed, coming = [], iter(parts)

    async def receive():
        passed.append("in")
        for part in coming:
            return {"type": "http.request", "body": part, "more_body": True}
        return {"type": "http.disconnect"}

    async def send(message):
        passed.append(message["type"].removeprefix("http.response."))

    scope = pages.connection("127.0.0.1", headers={"Host": "127.0.0.1", "Transfer-Encoding": "chunked"}).scope
    await RequestMiddleware(app, Access())({**scope, "method": "POST", "path": "/live/change"}, receive, send)
    return passed


@pytest.mark.parametrize("app", [failing, hasty])
async def test_an_unread_body_is_drained_before_the_answer_goes(app):
    """Else the server closes the connection with it unread: the answer, or the client's next request, is lost."""
    assert await exchange(app, [b"some", b"more"]) == ["in", "in", "in", "start", "body"]
    assert (await exchange(app, itertools.repeat(b"x" * 1000))).count("in") == 257  # and not without end


async def test_a_handler_that_fails_is_answered_for_and_logged(caplog):
    answer = await asked(content=b"body", app=failing)
    assert answer.status_code == 500
    assert answer.json()["error"] == access.FAILED
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["connection"] == "close"
    assert "/live/change" in caplog.text
    assert "what only Gradio's own code knows" in caplog.text
    caplog.clear()
    assert await exchange(left, [b"some"]) == ["in", "in"]
    assert not caplog.records

    async def full(scope, receive, send):
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/incoming/y")

    answer = await asked(path="/gradio_api/upload", content=b"body", app=full)
    assert answer.status_code == 500
    assert "Free some space" in answer.json()["error"]
    assert "/tmp" not in answer.text


async def test_websockets_are_not_taken():
    sent = []

    async def send(message):
        sent.append(message)

    await RequestMiddleware(failing, Access())({"type": "websocket"}, None, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def framed_by(path, **options):
    """Whom an answer lets have it in a frame, and whether an older browser lets it too."""
    headers = (await asked("GET", path, **options)).headers
    return headers["content-security-policy"].partition("frame-ancestors ")[2], headers.get("x-frame-options")


@pytest.mark.parametrize(("query", "is_alone"), table("sites")["embedded"])
async def test_a_lesson_alone_may_be_in_a_frame_of_the_sites_that_the_owner_names_and_nothing_else(query, is_alone):
    own = ("'self'", "SAMEORIGIN")
    named = ("'self' https://school.example", None) if is_alone else own
    assert await framed_by(f"/?{query}", embedded_by="https://school.example") == named
    assert await framed_by(f"/?{query}") == own
    assert await framed_by(f"/live/change?{query}", embedded_by="https://school.example") == own
    elsewhere = {"sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    answer = await asked("GET", f"/?{query}", headers=elsewhere)  # of an owner who names none
    assert ("start the playground with PLAYGROUND_EMBEDDED_BY" in answer.text) == is_alone
    assert (answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors *") == is_alone


def test_sites_that_embed_are_addresses_of_sites():
    named = {middleware.EMBED_VARIABLE: "https://school.example, https://*.uni.example:8443"}
    assert middleware.sites_that_embed(named) == "https://school.example https://*.uni.example:8443"
    for wrong in ("*", "school.example", "https://a.example; script-src *", "https://a.example/page", "https://*"):
        with pytest.raises(InvalidConfig, match=middleware.EMBED_VARIABLE):
            middleware.sites_that_embed({middleware.EMBED_VARIABLE: wrong})


@pytest.mark.parametrize("mode", LIMITS)
async def test_every_answer_says_what_browsers_must_not_do(mode):
    space = "'self' https://huggingface.co https://*.huggingface.co https://*.hf.space"
    for question in ({"method": "GET", "path": "/"}, {"headers": {"Origin": "http://evil.example"}}):
        answer = await asked(**question, mode=mode)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["frame-ancestors"] == (space if mode == "space" else "'self'")
        assert policy["object-src"] == "'none'"
        assert policy["default-src"] == policy["connect-src"] == "'self'"

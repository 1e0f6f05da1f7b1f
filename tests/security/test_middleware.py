"""What reaches the page at all: requests of other sites, other names, sizes; and the headers of every answer."""

from __future__ import annotations

import asyncio
import errno
import itertools
import socket
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from playground.setup.limits import LIMITS
from playground.ui.door import access, middleware, sessions, visitors
from playground.ui.door.access import Access
from playground.ui.door.incoming import Incoming
from playground.ui.door.middleware import RequestMiddleware, host_name, own_names
from tests.security import pages
from tests.support import PROJECT, run_async


async def read(request: Request) -> PlainTextResponse:
    """Answers with the size of the body."""
    return PlainTextResponse(str(len(await request.body())))


def client(mode="local", cap=1000, listening="127.0.0.1", names=(), app=None):
    """A client of a small application behind the middleware."""
    access = Access(mode)
    access.limits = LIMITS[mode]._replace(request_bytes=cap, upload_bytes=cap)
    paths = ("/", "/live/change", "/gradio_api/upload", "/gradio_api/file=x", "/gradio_api/proxy=http://a/")
    inner = app or Starlette(routes=[Route(path, read, methods=["GET", "POST"]) for path in paths])
    transport = httpx.ASGITransport(app=RequestMiddleware(inner, access, listening, names))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7860")


def asked(method="POST", path="/live/change", content=b"", headers=None, **options):
    """The status of one request."""

    async def run():
        async with client(**options) as asking:
            return await asking.request(method, path, content=content, headers=headers or {})

    return run_async(run())


OWN = {"Origin": "http://127.0.0.1:7860"}
FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:7861"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://evil.example", "X-Forwarded-Host": "evil.example"},
    {"Origin": "http://127.0.0.1:7860.evil.example"},
    {"Origin": "http://127.0.0.1:7860@evil.example"},
    {"Origin": "http://evil.example/127.0.0.1:7860"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", **OWN},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("mode", ["local", "classroom", "space"])
def test_a_page_of_another_site_changes_nothing(headers, mode):
    assert asked(headers=headers, mode=mode).status_code == 403
    assert asked("DELETE", headers=headers, mode=mode).status_code == 403


@pytest.mark.parametrize("headers", [{}, OWN, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
@pytest.mark.parametrize("mode", ["local", "classroom", "space"])
def test_the_page_itself_and_programs_without_a_browser_are_let_in(headers, mode):
    assert asked(headers=headers, mode=mode).status_code == 200


def test_another_site_reads_nothing_either_but_may_link_here():
    assert asked("GET", "/", headers={"Origin": "http://evil.example"}).status_code == 403
    assert asked("GET", "/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert asked("GET", "/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "listening", "names", "status"),
    [
        ("127.0.0.1:7860", "127.0.0.1", (), 200),
        ("localhost:7860", "127.0.0.1", (), 200),
        ("LOCALHOST", "127.0.0.1", (), 200),
        ("[::1]:7860", "::1", (), 200),
        ("evil.example", "127.0.0.1", (), 421),
        ("127.0.0.1.evil.example:7860", "127.0.0.1", (), 421),
        ("localhost.evil.example", "127.0.0.1", (), 421),
        ("192.168.1.5:7860", "127.0.0.1", (), 421),
        ("", "127.0.0.1", (), 421),
        ("192.168.1.5:7860", "0.0.0.0", (), 200),
        ("evil.example", "0.0.0.0", (), 421),
        ("page.example", "127.0.0.1", ("page.example",), 200),
        ("192.168.1.5", "192.168.1.5", (), 200),
    ],
)
def test_a_page_for_oneself_answers_under_its_own_names_only(host, listening, names, status):
    answer = asked("GET", "/", headers={"Host": host}, listening=listening, names=names)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("host", "names", "status"),
    [
        ("192.168.1.5:7860", (), 200),
        ("[fe80::1]:7860", (), 200),
        ("localhost:7860", (), 200),
        (f"{socket.gethostname().partition('.')[0]}.local:7860", (), 200),
        ("evil.example:7860", (), 421),
        ("192.168.1.5.evil.example", (), 421),
        ("", (), 421),
        ("class.example", ("class.example",), 200),
    ],
)
def test_a_page_for_a_class_answers_under_its_own_names_only(host, names, status):
    """Else a page that a pupil or the teacher opens could call it, once its name points at it (DNS rebinding)."""
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    answer = asked("GET", "/", headers=headers, mode="classroom", listening="0.0.0.0", names=names)
    assert answer.status_code == status
    assert status == 200 or answer.json()["error"].endswith("PLAYGROUND_HOSTS.")


def test_a_proxy_s_name_may_be_an_origin_when_it_is_told():
    headers = {"Origin": "https://page.example"}
    assert asked(headers=headers, mode="classroom").status_code == 403
    assert asked(headers=headers, mode="classroom", names=("page.example",)).status_code == 200


@pytest.mark.parametrize("path", ["/live/change", "/gradio_api/upload"])
def test_a_body_is_refused_by_its_length_before_it_is_read(path):
    overhead = 64_000 if path.endswith("upload") else 0
    assert asked(path=path, content=b"x" * (1000 + overhead)).text == str(1000 + overhead)
    reached = []

    async def app(scope, receive, send):
        reached.append(scope["path"])
        await PlainTextResponse("")(scope, receive, send)

    refused = asked(path=path, content=b"x" * (1001 + overhead), app=app)
    assert refused.status_code == 413 and refused.json()["error"].endswith("takes.")
    assert reached == []
    assert asked(path=path, headers={"Content-Length": "-1"}).status_code == 413
    assert asked(path=path, headers={"Content-Length": "1e3"}).status_code == 413


def test_a_body_without_a_length_is_counted_as_it_comes():
    seen = []

    async def parts(count):
        for _ in range(count):
            seen.append(1)
            yield b"x" * 100

    async def run(count):
        async with client() as asking:
            return await asking.post("/live/change", content=parts(count))

    assert run_async(run(10)).text == "1000"
    seen.clear()
    assert run_async(run(10_000)).status_code == 413


@pytest.mark.parametrize("body", [b"[" + b"[]," * 300_000 + b"[]]", b"[" * 900_000, b'{"a":' * 10_001,
                                  b'["' + b'","' * 300_000 + b'"]', b'["\\\\",' + b"0," * 10_000 + b'""]',
                                  ("[" + "[]," * 9_000 + '"\\"' + "[]," * 9_000).encode("utf-16")])  # fmt: skip
@pytest.mark.parametrize("mode", ["local", "space"])
def test_a_call_of_many_values_is_refused_before_anything_parses_it(body, mode, monkeypatch):
    parsed, reached = [], []
    monkeypatch.setattr(sessions, "json", SimpleNamespace(loads=parsed.append))

    async def app(scope, receive, send):
        reached.append(scope["path"])

    answer = asked(path="/gradio_api/queue/join", content=body, cap=1_000_000, mode=mode, app=app)
    assert answer.status_code == 413 and answer.json()["error"] == sessions.MANY_VALUES
    assert parsed == reached == []


@pytest.mark.parametrize("body", [b"[" + b"[]," * 4_990 + b"0]", b'["' + b"[,{" * 100_000 + b'"]',
                                  b'["' + b'\\"[,{\\\\' * 100_000 + b'"]'])  # fmt: skip
def test_texts_with_brackets_and_calls_of_some_values_are_let_in(body):
    assert not sessions.has_many_values(body)


@pytest.mark.parametrize("whole", [True, False])
def test_a_call_that_its_client_has_given_up_is_dropped(whole):
    reached, sent = [], []

    async def app(scope, receive, send):
        reached.append(scope["path"])

    messages = [{"type": "http.request", "body": b"{}", "more_body": not whole}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    peer = ("127.0.0.1", 1)
    scope = {"type": "http", "method": "POST", "path": "/gradio_api/queue/join", "root_path": "", "query_string": b"",
             "client": peer, "scheme": "http", "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"2")],
             "server": peer}  # fmt: skip
    run_async(RequestMiddleware(app, Access())(scope, receive, send))
    assert reached == sent == messages == []


def test_calls_are_counted_before_they_are_read_also_those_that_are_refused():
    """1,500 in a minute from one address; the host's are not counted, nor is what only reads."""
    rules = Access("classroom", token="a-token-of-the-teacher")
    assert (rules._calls.count, rules._calls.seconds) == (1_500, 60.0)
    rules._calls.count = 3
    cookie = {"Cookie": f"{visitors.HOST_COOKIE}={visitors.host_cookie(rules._digest)}"}
    took_in = []

    async def app(scope, receive, send):
        took_in.append(await Request(scope, receive).body())
        await PlainTextResponse("", 403)(scope, receive, send)

    async def run():
        door = RequestMiddleware(app, rules)

        async def call(address, method="POST", headers=None):
            transport = httpx.ASGITransport(app=door, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as asking:
                path = f"/gradio_api/queue/{'join' if method == 'POST' else 'data'}"
                return await asking.request(method, path, content=b"{}", headers=headers)

        same = [await call("10.0.0.1") for _ in range(4)]
        return same, [await call("10.0.0.2"), await call("10.0.0.1", "GET"), await call("10.0.0.1", headers=cookie)]

    same, others = run_async(run())
    assert [answer.status_code for answer in same] == [403, 403, 403, 429] and len(took_in) == 6
    assert same[3].json()["error"] == access.MANY_CALLS
    assert [answer.status_code for answer in others] == [403] * 3


def test_a_body_has_to_come_to_an_end_and_an_answer_need_not(monkeypatch):
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.1)

    async def slow():
        yield b"x"
        await asyncio.sleep(0.2)
        yield b"x"

    async def run(mode):
        async with client(mode) as asking:
            return await asking.post("/live/change", content=slow())

    refused = run_async(run("classroom"))
    assert refused.status_code == 408 and refused.json()["error"].endswith("Try again.")
    assert run_async(run("local")).text == "2"

    async def until_it_goes():
        """What a stream does: it has the whole body, and waits longer than a body may take for the client to go."""
        messages = iter([(0, {"type": "http.request", "body": b""}), (0.5, {"type": "http.disconnect"})])

        async def receive():
            seconds, message = next(messages)
            await asyncio.sleep(seconds)
            return message

        body = middleware.Body(receive, 10, 0.4)
        return [(await body())["type"] for _ in range(2)], bool(body.refused)

    assert run_async(until_it_goes()) == (["http.request", "http.disconnect"], False)


def test_more_requests_at_a_time_than_a_class_has_wait_but_nobody_else_and_not_the_host():
    rules = Access("classroom", token="a-token-of-the-teacher")
    cookie = {"Cookie": f"{visitors.HOST_COOKIE}={visitors.host_cookie(rules._digest)}"}

    async def run():
        over, entered = asyncio.Event(), []

        async def held(scope, receive, send):
            entered.append(scope["client"][0])
            if scope["path"] == "/live/hold":
                await over.wait()
            await PlainTextResponse("")(scope, receive, send)

        door = RequestMiddleware(held, rules)

        async def get(address, path="/", headers=None):
            transport = httpx.ASGITransport(app=door, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as asking:
                return await asking.get(path, headers=headers)

        holding = [asyncio.create_task(get("10.0.0.1", "/live/hold")) for _ in range(250)]
        while len(entered) < 250:
            await asyncio.sleep(0)
        late = await get("10.0.0.1")
        others = [await get("10.0.0.2"), await get("10.0.0.1", headers=cookie)]
        over.set()
        await asyncio.gather(*holding)
        return late, [*others, await get("10.0.0.1")], door.open

    late, others, still_open = run_async(run())
    assert late.status_code == 503 and late.headers["retry-after"] == "5" and late.json()["error"] == middleware.BUSY
    assert [answer.status_code for answer in others] == [200, 200, 200]
    assert not still_open


def test_one_address_leaves_room_for_the_uploads_of_others():
    """Each has announced as much as a file may have, and sends nothing."""
    rules, entered, over = Access("space"), [], asyncio.Event()

    async def held(scope, receive, send):
        entered.append(scope["path"])
        await over.wait()
        await PlainTextResponse("done")(scope, receive, send)

    async def run():
        room = Incoming(10 * rules.limits.upload_bytes * 10)
        door = RequestMiddleware(held, rules, incoming=room)

        def upload(address):
            transport = httpx.ASGITransport(app=door, client=(address, 1))
            asking = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
            length = {"Content-Length": str(rules.limits.upload_bytes)}
            return asyncio.create_task(asking.post("/gradio_api/upload", headers=length))

        idle = [upload("10.0.0.1") for _ in range(100)]
        while len(entered) + sum(task.done() for task in idle) < 100:
            await asyncio.sleep(0)
        refused = [task.result().status_code for task in idle if task.done()]
        other = upload("10.0.0.2")
        while len(entered) + len(refused) < 101:
            await asyncio.sleep(0)
        over.set()
        await asyncio.gather(*idle, other)
        room.close()
        return refused, (await other).status_code, door.open

    refused, other, still_open = run_async(run())
    assert refused == [503] * 90 and other == 200 and not still_open


def test_a_server_takes_the_open_files_that_it_can_have(tmp_path):
    code = (
        "import os, resource, signal; from pathlib import Path; from types import SimpleNamespace; "
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)); from playground.ui import server; "
        "running = SimpleNamespace(greeting='', standby=SimpleNamespace(prepare=lambda: None), close=lambda: None); "
        "server.launch = lambda *_: os.kill(os.getpid(), signal.SIGTERM) or running; "
        f"server.serve(outputs=Path({str(tmp_path)!r})); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], min(hard, 65536) if hard > 0 else 65536)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    soft, wanted = ended.stdout.split()
    assert soft == wanted != "256"


def test_who_may_only_watch_sends_little():
    """The page sends a form of at most 6 kB, and typed prompts, to be told that a watcher may not fill it in."""
    for mode, status in (("classroom", 413), ("space", 200), ("local", 200)):
        assert asked(content=b"x" * 64_000, cap=100_000, mode=mode).status_code == 200
        assert asked(content=b"x" * 64_001, cap=100_000, mode=mode).status_code == status


def test_what_the_page_does_not_need_of_gradio_is_not_there():
    for path in ("/gradio_api/file=x", "/gradio_api/proxy=http://a/"):
        assert asked("GET", path).status_code == 404
    assert asked(path="/gradio_api/upload", mode="classroom").status_code == 403
    assert asked(path="/gradio_api/upload", mode="local").status_code == 200


@pytest.mark.parametrize("query", ["page=runs", "tab=runs&page=runs&sweep=a%20b", "page=&pages=2", "%70age=x&tab=runs"])
def test_a_page_of_gradio_s_that_is_not_there_is_not_asked_for(query):
    async def told(request):
        return PlainTextResponse(str(sorted(request.query_params.items())))

    answer = asked("GET", f"/?{query}", app=Starlette(routes=[Route("/", told)]))
    rest = [(name, value) for name, value in httpx.QueryParams(query).items() if name != "page"]
    assert answer.text == str(sorted(rest))


def test_a_stream_passes_part_by_part():
    """Nothing is held back: each part has left before the next one is made."""
    sent = []

    async def stream():
        for number in range(3):
            yield f"data: {number}\n\n"
            assert len([item for item in sent if item.get("body")]) == number + 1

    async def app(scope, receive, send):
        await StreamingResponse(stream(), media_type="text/event-stream")(scope, receive, send)

    async def run():
        async def send(message):
            sent.append(message)

        async def receive():
            await asyncio.sleep(0.01)
            return {"type": "http.request", "body": b"", "more_body": True}

        peer = ("127.0.0.1", 1)
        scope = {"type": "http", "method": "GET", "path": "/live/x", "root_path": "", "query_string": b"",
                 "scheme": "http", "headers": [(b"host", b"127.0.0.1")], "client": peer, "server": peer}  # fmt: skip
        await RequestMiddleware(app, Access())(scope, receive, send)

    run_async(run())
    assert [item["type"] for item in sent].count("http.response.body") == 4


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


def exchange(app, parts, mode="local"):
    """What passes from the middleware to the server for a POST: "in" for each part taken in, else the message sent."""
    passed, coming = [], iter(parts)

    async def receive():
        passed.append("in")
        for part in coming:
            return {"type": "http.request", "body": part, "more_body": True}
        return {"type": "http.disconnect"}

    async def send(message):
        passed.append(message)

    peer = ("127.0.0.1", 1)
    scope = {"type": "http", "method": "POST", "path": "/live/change", "root_path": "", "query_string": b"",
             "client": peer, "scheme": "http", "headers": [(b"host", b"127.0.0.1"), (b"transfer-encoding", b"chunked")],
             "server": peer}  # fmt: skip
    run_async(RequestMiddleware(app, Access(mode))(scope, receive, send))
    return passed


@pytest.mark.parametrize("app", [failing, hasty])
def test_what_nobody_read_is_taken_in_before_the_answer_goes(app):
    """Else the server closes the connection with it unread: the answer, or the client's next request, is lost."""
    passed = exchange(app, [b"some", b"more"])
    assert [item if item == "in" else item["type"] for item in passed] == [
        "in", "in", "in", "http.response.start", "http.response.body"
    ]  # fmt: skip
    assert exchange(app, itertools.repeat(b"x" * 1000)).count("in") == 257  # and not without end


def test_a_handler_that_fails_is_answered_for_and_told_of(caplog):
    answer = asked(content=b"body", app=failing)
    assert answer.status_code == 500 and answer.json()["error"] == access.FAILED
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["connection"] == "close"
    assert "POST '/live/change' failed" in caplog.text and "what only Gradio's own code knows" in caplog.text
    caplog.clear()
    assert exchange(left, [b"some"]) == ["in", "in"] and not caplog.records  # nobody is there, and nothing is wrong


def test_a_full_disk_under_gradio_s_own_handler_is_told_with_its_remedy():
    async def full(scope, receive, send):
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/playground-uploads-x/y")

    answer = asked(path="/gradio_api/upload", content=b"body", app=full)
    assert answer.status_code == 500 and "Free some space" in answer.json()["error"]
    assert "/tmp" not in answer.text


def test_websockets_are_not_taken():
    async def run():
        sent = []

        async def send(message):
            sent.append(message)

        async def app(scope, receive, send):
            await send({"type": "websocket.accept"})

        await RequestMiddleware(app, Access())({"type": "websocket"}, None, send)
        return sent

    assert run_async(run()) == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("mode", "framed"),
    [
        ("local", "'self'"),
        ("classroom", "'self'"),
        ("space", "'self' https://huggingface.co https://*.huggingface.co https://*.hf.space"),
    ],
)
def test_every_answer_says_what_browsers_must_not_do(mode, framed):
    for answer in (asked("GET", "/", mode=mode), asked(headers=FOREIGN[0], mode=mode)):
        assert answer.headers.get("x-content-type-options") == "nosniff"
        assert answer.headers.get("referrer-policy") == "same-origin"
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["frame-ancestors"] == framed and policy["object-src"] == "'none'"
        assert policy["default-src"] == policy["connect-src"] == "'self'"


def test_names_and_hosts():
    assert host_name("a.example:80") == "a.example" and host_name("[::1]:80") == "[::1]" and host_name("::1") == "::1"
    assert {"localhost", "127.0.0.1", "[::1]", "10.0.0.1"} <= own_names("10.0.0.1")


def test_a_host_s_cookie_does_not_help_a_foreign_page(classroom, figure):
    """The whole way through the real server: the host's browser is made to send these by another site's page."""
    tried, changed = 0, 0
    stop = next((number, name) for number, name, _ in classroom.server_functions() if name == "delete_run")
    before = classroom.tree()
    with classroom.host() as host:
        for headers in FOREIGN:
            headers = {
                name: value.replace("http://127.0.0.1:7860", classroom.url[:-1]) for name, value in headers.items()
            }
            answers = [
                pages.ask(host, *stop, "done", **headers),
                host.post("gradio_api/queue/join", json={}, headers=headers),
                host.post("gradio_api/upload", files={"files": ("a.txt", b"a")}, headers=headers),
                host.post("gradio_api/cancel", json={}, headers=headers),
            ]
            tried += len(answers)
            changed += sum(answer.status_code != 403 for answer in answers)
        assert classroom.tree() == before
        assert pages.ask(host, *stop, "done", Origin=classroom.url[:-1]).json() == {"error": ""}
    assert not (classroom.outputs / "done").exists()
    figure("requests of another site's page, with the host's cookie, refused", tried, tried - changed)

"""A class is attacked: its three pages and what they ask and send, by who has not joined, by who has, and by other
sites; and what its people may ask models."""

from __future__ import annotations

import contextlib
import json
import secrets

import pytest

from playground.classroom import room, room_file
from playground.ui.auth import access, limiter
from playground.ui.auth.visitors import CLASS_COOKIE
from playground.ui.classroom import class_routes
from tests.security import pages

NEAR = "93.184.218."  # addresses, as a proxy on this machine tells them
POSTS = ("class/join", "class/answer", "class/lead")
PAGES_FOR_HOSTS = ("class/desk", "class/screen")
FOR_HOSTS = ("class/front", "class/front?screen=1", "class/votes", "class/votes.jsonl?step=1")
COMMANDS = [
    *("open", "end", "ask", "close", "reopen", "again", "show", "run", "free", "location", "counts"),
    *("go_on", "back", "front", "stop_run"),
    *("vote", "judge", "words", "train_on_votes"),
    *(f"{name}_game" for name in ("begin", "leave_out", "start", "stop", "show", "delete")),
    *("nothing of it", None),
]
NO_OBJECT = [
    *(b"", b"null", b"[]", b"7", b'"text"', b"{", b"\xff\xfe", b'{"code": NaN}', b'{"step": Infinity, "item": 1}'),
    *(b'{"value": {"number": 1e999}}', b'{"code": "\\ud800"}', b'{"value": ' + b"[" * 30_000 + b"]" * 30_000 + b"}"),
    b'{"step": ' + b"7" * 5_000 + b"}",
]


@pytest.fixture
def teacher(classroom):
    """The host, who has opened a class with a question."""
    classroom.access.limiter.__init__()  # what other tests have asked for is forgotten
    with classroom.host() as host:
        host.code = lead(host, "open").json()["made"]
        lead(host, "ask", ask="Which?", options=["This", "That"])
        yield host


def lead(client, command, **more):
    return client.post("class/lead", json={"do": command, **more})


def step_of(client):
    return client.get("class/front").json()["step"]["id"]


@contextlib.contextmanager
def student(classroom, host, last):
    """One who has joined, from an address of their own."""
    with classroom.client(headers={"X-Forwarded-For": f"{NEAR}{last}"}) as client:
        assert client.post("class/join", json={"code": host.code}).json() == {"error": ""}
        yield client


def test_who_has_not_joined_sees_that_there_is_a_class_and_nothing_of_it(classroom, teacher):
    before = step_of(teacher)
    for cookie in ({}, {CLASS_COOKIE: secrets.token_urlsafe(24)}, {CLASS_COOKIE: "' OR 1=1 --"}, {CLASS_COOKIE: ""}):
        with classroom.client(cookies=cookie) as client:
            assert set(client.get("class/state").json()) == {"version", "is_open", "joined"}
            assert client.get("class/state", params={"since": "9" * 400}).json()["joined"] is False
            sent = client.post("class/answer", json={"step": before, "item": 1, "value": {"choice": 0}})
            assert sent.status_code == 409
            assert sent.json() == {"error": room.NOT_IN}
    assert teacher.get("class/front").json()["answered"] == 0
    assert "Which?" not in classroom.client().get("class").text


def test_only_the_host_leads_and_sees_the_desk(classroom, teacher, figure):
    step, told, pages = step_of(teacher), [], []
    with student(classroom, teacher, 1) as joined, classroom.client(cookies={"playground_host": "0" * 64}) as forger:
        before = classroom.tree()
        for client in (joined, forger):
            told += [client.get(path) for path in FOR_HOSTS]
            pages += [client.get(path) for path in PAGES_FOR_HOSTS]
            told += [lead(client, command, step=step, free=False, query="tab=train") for command in COMMANDS]
    assert [answer.status_code for answer in told] == [403] * len(told)
    assert all(answer.json()["error"] == access.NOT_HOST for answer in told)
    assert [page.status_code for page in pages] == [403] * len(pages)
    assert all("is for the host" in page.text for page in pages)
    assert not any(teacher.code in answer.text for answer in told + pages)
    assert classroom.tree() == before
    figure("what only the host of a class may do, refused to its people", len(told), len(told))


def test_the_public_has_no_class_to_lead(space):
    with space.visitor() as visitor:
        assert lead(visitor, "open").status_code == 403
        assert visitor.get("class/front").status_code == 403
        assert visitor.post("class/join", json={"code": "ABCD"}).json() == {"error": room_file.NO_ROOM}


def test_pages_of_other_sites_send_and_read_nothing(classroom, teacher):
    foreign = [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
    with classroom.host() as host:  # whose cookie another site's page would send along
        for headers in foreign:
            for path in POSTS:
                plain = {**headers, "Content-Type": "text/plain"}  # which a browser sends without asking first
                sent = host.post(path, content=b'{"do": "end"}', headers=plain)
                assert sent.status_code == 403, (path, headers)
            for path in ("class/state", "class/front"):
                assert host.get(path, headers=headers).status_code == 403, (path, headers)
        assert host.get("class/front").json()["code"] == teacher.code


@pytest.mark.parametrize("path", POSTS)
def test_what_is_no_object_of_json_is_a_sentence(path, classroom, teacher):
    before = teacher.get("class/front").json()
    with student(classroom, teacher, 2) as joined:
        _try_bodies(teacher if path == "class/lead" else joined, path)
    after = teacher.get("class/front").json()
    assert (after["code"], after["version"], after["answered"]) == (before["code"], before["version"], 0)


def _try_bodies(client, path):
    for body in NO_OBJECT:
        sent = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert sent.status_code == 409 and sent.json() == {"error": class_routes.NOT_JSON}, body[:40]
    files = {"file": ("a.json", b'{"do": "end"}')}
    assert client.post(path, files=files).status_code == 415
    sent = [client.post(path, json={"code": "x" * size, "do": "x"}).status_code for size in (63_000, 64_001)]
    assert sent[0] in (409, 200)
    assert sent[1] == 413
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, path).status_code in (404, 405), method


WRONG = """
    {} {"step": null} {"step": true, "item": 1} {"step": -1, "item": 1} {"step": 99999, "item": 1}
    {"step": "1", "item": 1} {"step": 1e30, "item": 1} {"step": STEP} {"step": STEP, "item": true}
    {"step": STEP, "item": 1.5} {"step": STEP, "item": 1} {"step": STEP, "item": 1, "value": [0]}
    {"step": STEP, "item": -1, "value": {"choice": 0}} {"step": STEP, "item": 0, "value": {"choice": 0}}
    {"step": STEP, "item": 2, "value": {"choice": 0}} {"step": STEP, "item": 1, "value": {"choice": 2}}
    {"step": STEP, "item": 99999999999999999999, "value": {"choice": 0}}
    {"step": STEP, "item": 1, "value": {"choice": -1}} {"step": STEP, "item": 1, "value": {"choice": true}}
    {"step": STEP, "item": 1, "value": {"choice": "0"}}
    {"step": STEP, "item": 1, "value": {"choice": 99999999999999999999}}
"""


def test_an_answer_that_is_none_or_to_no_open_step_is_not_kept(classroom, teacher, figure):
    first, decoder, at, wrong = step_of(teacher), json.JSONDecoder(), 0, []
    text = " ".join(WRONG.replace("STEP", str(first)).split())
    while at < len(text):
        found, end = decoder.raw_decode(text, at)
        wrong.append(found)
        at = end + 1
    with student(classroom, teacher, 3) as joined:
        sent = [joined.post("class/answer", json=body) for body in wrong]
        assert [answer.status_code for answer in sent] == [409] * len(wrong)
        good = {"step": first, "item": 1, "value": {"choice": 0}}
        lead(teacher, "close", step=first)
        assert joined.post("class/answer", json=good).json() == {"error": room.OVER}
        lead(teacher, "ask", ask="And now?", options=["This", "That"])
        assert joined.post("class/answer", json=good).json() == {"error": room.OVER}
        assert teacher.get("class/front").json()["steps"][-1]["answered"] == 0
        assert joined.post("class/answer", json={**good, "step": step_of(teacher)}).json() == {"error": ""}
    figure("answers that are none, or to no open step, refused", len(wrong) + 2, len(sent) + 2)


@pytest.mark.parametrize("kind", ["number", "curve"])
def test_numbers_and_curves_are_checked_too(kind, classroom, teacher):
    courses = classroom.running.demo.serving.hub.lessons.courses
    lesson = next(one for course in courses for one in course.lessons if one.predict.kind == kind)
    assert lead(teacher, "ask", lesson=lesson.name, what="prediction").json()["error"] == ""
    values = [{kind: value} for value in (None, True, "1", 10**400, -(10**400), [], {}, [None, 1], [2, 3], [0] * 1000)]
    values += [{"curve": [0.1, 0.2], "shape": shape} for shape in (None, "no shape", [], 7)]
    with student(classroom, teacher, 4) as joined:
        for value in values:
            sent = joined.post("class/answer", json={"step": step_of(teacher), "item": 1, "value": value})
            assert sent.status_code == 409, value
    assert teacher.get("class/front").json()["answered"] == 0


def test_codes_are_not_to_be_guessed(classroom, teacher, figure):
    """Four letters are 279,841 codes; 30 wrong ones of one address in a minute are all that is looked at."""
    guesser = {"X-Forwarded-For": f"{NEAR}50"}
    most = limiter.PER_MINUTE["wrong codes"]
    with classroom.client(headers=guesser) as client:
        wrong = [f"{number:04}" for number in range(most)]
        told = [client.post("class/join", json={"code": code}) for code in wrong]
        assert {answer.status_code for answer in told} == {409}
        late = [client.post("class/join", json={"code": code}) for code in ("9999", teacher.code)]
        assert [answer.status_code for answer in late] == [429, 429]
        assert not any("set-cookie" in answer.headers for answer in [*told, *late])
        assert late[1].json()["error"] == class_routes.MANY_CODES
    with student(classroom, teacher, 51) as other:  # who is not kept out
        assert other.get("class/state").json()["joined"] is True
    host = [teacher.post("class/join", json={"code": "9999"}).status_code for _ in range(most + 1)]
    assert set(host) == {409}
    figure("codes of a class guessed beyond the rate, refused", len(late), len(late))


def test_the_cookie_of_the_class_is_for_no_script_and_no_other_site(classroom, teacher):
    with classroom.client() as client:
        answer = client.post("class/join", json={"code": teacher.code.lower()})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        token = client.cookies[CLASS_COOKIE]
        assert len(token) >= 32
        assert token not in answer.text
        assert token not in client.get("class/state").text
        assert "set-cookie" not in client.post("class/join", json={"code": "again"}).headers  # who is in stays the same


def test_one_person_answers_so_often_in_a_minute(classroom, teacher, monkeypatch):
    assert classroom.access.limiter.per_minute["answers of one person"] == 120
    monkeypatch.setitem(classroom.access.limiter.per_minute, "answers of one person", 3)
    answer = {"step": step_of(teacher), "item": 1, "value": {"choice": 0}}
    with student(classroom, teacher, 60) as one, student(classroom, teacher, 60) as other:
        codes = [one.post("class/answer", json=answer).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert other.post("class/answer", json=answer).status_code == 200


def ask(classroom, client, prompt="The film was", samples=1):
    index = classroom.index_of("answer", 0)
    return pages.call(client, index, ["done", prompt, samples, 0])["text"]


def test_each_person_of_a_class_asks_models_at_a_pace_of_their_own(classroom, teacher):
    assert classroom.access.limiter.per_minute["questions of one person"] == 6
    with student(classroom, teacher, 70) as one, student(classroom, teacher, 70) as other:
        asked = [ask(classroom, one) for _ in range(7)]
        assert [access.MANY_QUESTIONS in text for text in asked] == [False] * 6 + [True]
        assert "wonderful" in ask(classroom, other)
    assert all("wonderful" in ask(classroom, teacher) for _ in range(8))


def tries(classroom, client):
    """What comes of asking a model, of trying a reward on texts, and of writing one."""
    score = classroom.index_of("answer", 1)
    rest = pages.arguments(classroom.functions()[score])[4:]
    yield ask(classroom, client)
    yield pages.call(client, score, [[{"kind": "length", "weight": 1}], "a", "b", "c", *rest])["text"]
    for name in ("weigh_rewards", "reward_problem"):
        yield pages.ask(client, classroom.server_function(name), name, {}).text


def test_who_has_not_joined_asks_no_model_and_tries_no_reward(classroom, teacher, figure):
    """Neither with no cookie, nor with a made-up one, nor with that of a class that has ended, nor without a class."""
    service, told = classroom.running.demo.serving.service, []
    with student(classroom, teacher, 72) as joined, classroom.client() as stranger:
        forger = classroom.client(cookies={CLASS_COOKIE: secrets.token_urlsafe(24)})
        service.asked.clear()
        for client in (stranger, forger):
            told += tries(classroom, client)
            rights = client.get("live/_access").json()
            assert rights["notice"] == access.WATCHERS
            assert {rights["may"][name] for name in ("ask", "try_rewards", "write_rewards")} == {"no"}
        rights = joined.get("live/_access").json()
        assert rights["notice"] == access.IN_CLASS
        assert rights["samples"] == 4
        assert {rights["may"][name] for name in ("ask", "try_rewards", "write_rewards")} == {"yes"}
        assert service.asked == []
        assert not any(access.NOT_JOINED in text for text in tries(classroom, joined))
        lead(teacher, "end")
        service.asked.clear()
        told += tries(classroom, joined)
        lead(teacher, "open")
        told += tries(classroom, joined)
        assert all(access.NOT_JOINED in text for text in told)
        assert service.asked == []
        assert stranger.get("live/_runs").status_code == 200  # all may look
        assert teacher.get("live/_access").json()["samples"] == 8
        assert "wonderful" in ask(classroom, teacher)
        forger.close()
    figure("questions to models, and rewards tried, by who is not in the class, refused", len(told), len(told))


def test_what_a_class_asks_models_and_pays_for_is_capped(classroom, teacher, figure):
    service, refused = classroom.running.demo.serving.service, 0
    rewards = [
        {"kind": "python", "weight": 1, "code": "def reward(prompt, completion):\n    return 1.0"},
        {"kind": "pattern", "weight": 1, "pattern": "(a+)+$"},
        {"kind": "model", "weight": 1, "source": "someone/reward-model"},
        {"kind": "model", "weight": 1, "source": "/etc"},
    ]
    score = classroom.index_of("answer", 1)
    rest = pages.arguments(classroom.functions()[score])[4:]
    fields = [part.elem_id for part in classroom.functions()[score].inputs[4:]]
    far = [*rest]
    far[next(at for at, name in enumerate(fields) if name and "model-source" in name)] = "gpt2"
    cases = [[[reward], "a", "b", "c", *rest] for reward in rewards]
    cases += [[[{"kind": "length", "weight": 1}] * 9, "a", "b", "c", *rest]]
    cases += [[[{"kind": "length", "weight": 1}], "a" * 2001, "", "", *rest]]
    cases += [[[{"kind": "length", "weight": 1}], "a", "b", "c", *far]]
    service.asked.clear()
    for number, data in enumerate(cases):
        with student(classroom, teacher, 80 + number) as joined:
            refused += '"error"' in pages.call(joined, score, data)["text"]
    with student(classroom, teacher, 90) as joined:
        refused += "at most 2,000 in a class" in ask(classroom, joined, "a" * 2001)
        refused += "1 to 4 samples in a class" in ask(classroom, joined, samples=5)
        assert service.asked == []
        assert '"done"' in pages.call(joined, score, [[{"kind": "length", "weight": 1}], "a", "b", "c", *rest])["text"]
    assert service.asked == ["rewards-score"]
    assert '"done"' in ask(classroom, teacher, samples=8)
    figure("questions of a class beyond its caps refused before a model is asked", len(cases) + 2, refused)


def test_where_the_host_is_reaches_the_class_as_a_short_text_and_plain_numbers(classroom, teacher):
    with student(classroom, teacher, 95) as joined:

        def led(**where):
            assert lead(teacher, "location", **where).json() == {"error": ""}
            return joined.get("class/state").json()["location"]

        plain = {"update": 3, "text": 2, "played": 0}
        assert led(query="run=a", **plain) == {"query": "run=a", **plain}
        for wrong in ("1", -1, 1.5, True, 10**9, [1], {}):
            found = led(query="run=b", update=wrong, text=wrong, played=wrong)
            assert found == {"query": "run=b", "update": None, "text": None, "played": None}
        assert len(led(query="x" * 50_000)["query"]) == 600
        assert led(query="") is None

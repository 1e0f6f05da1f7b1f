"""A class is attacked: its three pages and what they ask and send, by who has not joined and by who has. What its
people may ask models, and how often, is in test_caps.py, test_rates.py and test_rights.py."""

import json
import secrets

import pytest

from playground.ui.auth import access
from playground.ui.auth.visitors import CLASS_COOKIE, HOST_COOKIE
from playground.ui.classroom import class_routes, room, room_file
from tests.security import DATA, pages, table
from tests.security.pages import PUBLIC, lead

ANSWER, POSTS = "class/answer", ("class/join", "class/answer", "class/lead")
GOOD = {"item": 1, "value": {"choice": 0}}
NO_OBJECT = [b"\xff\xfe", *(text.encode() for text in table("hostile_texts")["class"])]


def step_of(client):
    return client.get("class/front").json()["step"]["id"]


@pytest.fixture
def student(classroom, teacher):
    """One who has joined."""
    with classroom.member(teacher.code, f"{PUBLIC}60") as client:
        yield client


def test_who_has_not_joined_sees_that_there_is_a_class_and_nothing_of_it(classroom, teacher):
    step = step_of(teacher)
    for cookie in (secrets.token_urlsafe(24), "' OR 1=1 --", ""):
        with classroom.client(cookies={classroom.named(CLASS_COOKIE): cookie}) as client:
            assert set(client.get("class/state").json()) == {"version", "is_open", "joined"}
            assert client.get("class/state", params={"since": "9" * 400}).json()["joined"] is False
            sent = client.post(ANSWER, json={**GOOD, "step": step})
            assert sent.status_code == 409
            assert sent.json() == {"error": room.NOT_IN}
            assert "Which?" not in client.get("class").text
    assert teacher.get("class/front").json()["answered"] == 0


def test_where_a_person_is_comes_from_who_has_joined_and_is_a_step_of_the_lesson(classroom, teacher, student):
    assert lead(teacher, "ask", lesson="first-contact", what="prediction").json()["error"] == ""
    for place in ({"lesson": "x" * 9000, "at": "predict"}, {"lesson": "first-contact", "at": "<b>"}):
        assert student.get("class/state", params=place).json()["joined"]
    with classroom.client() as client:
        client.get("class/state", params={"help": "1"})
    assert teacher.get("class/front").json()["places"] == []
    student.get("class/state", params={"lesson": "first-contact", "at": "break", "tries": "-1", "help": "1"})
    (place,) = teacher.get("class/front").json()["places"]
    assert (place["step"], place["tries"], place["stuck"]) == ("break", 0, "help")


def test_what_only_the_host_sees_is_in_no_refusal(classroom, teacher, student):
    pages_of_the_host = [student.get(path) for path in ("class/desk", "class/screen")]
    answers = [
        student.get(path) for path in ("class/front", "class/front?screen=1", "class/votes", "class/votes.jsonl?step=1")
    ]
    assert [answer.status_code for answer in pages_of_the_host + answers] == [403] * 6
    assert all("is for the host" in page.text for page in pages_of_the_host)
    assert all(answer.json()["error"] == access.NOT_HOST for answer in answers)
    assert not any(teacher.code in answer.text for answer in pages_of_the_host + answers)


def test_the_public_has_no_class_to_join(space):
    with space.visitor() as visitor:
        assert visitor.post("class/join", json={"code": "ABCD"}).json() == {"error": room_file.NO_ROOM}


@pytest.mark.parametrize("path", POSTS)
def test_what_is_no_object_of_json_is_refused_in_a_sentence(path, teacher, student):
    before = teacher.get("class/front").json()
    client = teacher if path == "class/lead" else student
    for body in NO_OBJECT:
        sent = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert sent.status_code == 409, body[:40]
        assert sent.json() == {"error": class_routes.NOT_JSON}, body[:40]
    assert client.post(path, files={"file": ("a.json", b'{"do": "end"}')}).status_code == 415
    just, large = (client.post(path, json={"code": "x" * size, "do": "x"}).status_code for size in (63_000, 64_001))
    assert just in (409, 200)
    assert large == 413
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, path).status_code in (404, 405), method
    after = teacher.get("class/front").json()
    assert (after["code"], after["version"], after["answered"]) == (before["code"], before["version"], 0)


def test_an_answer_that_is_none_or_to_no_open_step_is_not_kept(teacher, student, figure):
    first = step_of(teacher)
    lines = (DATA / "class_answers.txt").read_text(encoding="utf-8").replace("STEP", str(first)).splitlines()
    sent = [student.post(ANSWER, json=json.loads(line)) for line in lines]
    assert [answer.status_code for answer in sent] == [409] * len(lines)
    lead(teacher, "close", step=first)
    late = [student.post(ANSWER, json={**GOOD, "step": first})]
    lead(teacher, "ask", ask="And now?", options=["This", "That"])
    late.append(student.post(ANSWER, json={**GOOD, "step": first}))
    assert [answer.json() for answer in late] == [{"error": room.OVER}] * 2
    assert teacher.get("class/front").json()["steps"][-1]["answered"] == 0
    assert student.post(ANSWER, json={**GOOD, "step": step_of(teacher)}).json() == {"error": ""}
    figure("answers that are none, or to no open step, refused", len(lines) + 2, len(sent) + len(late))


@pytest.mark.parametrize("kind", ["number", "curve"])
def test_numbers_and_curves_are_checked_too(kind, classroom, teacher, student):
    courses = classroom.running.demo.serving.hub.lessons.courses
    lesson = next(lesson for course in courses for lesson in course.lessons if lesson.predict.kind == kind)
    assert lead(teacher, "ask", lesson=lesson.name, what="prediction").json()["error"] == ""
    values = [{kind: value} for value in (None, True, "1", 10**400, -(10**400), [], {}, [None, 1], [2, 3], [0] * 1000)]
    values += [{"shape": shape} for shape in (None, "no shape", [], 7)]
    for value in values:
        sent = student.post(ANSWER, json={"step": step_of(teacher), "item": 1, "value": value})
        assert sent.status_code == 409, value
    assert teacher.get("class/front").json()["answered"] == 0


def test_the_cookie_of_the_class_is_for_no_script_and_no_other_site(classroom, teacher):
    with classroom.client() as client:
        answer = client.post("class/join", json={"code": teacher.code.lower()})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        token = client.cookies[classroom.named(CLASS_COOKIE)]
        assert len(token) >= 32
        assert token not in answer.text
        assert token not in client.get("class/state").text
        assert "set-cookie" not in client.post("class/join", json={"code": "again"}).headers  # who is in stays the same


def test_a_class_at_another_port_of_the_machine_takes_nothing_from_this_one(classroom, space, teacher, student):
    with classroom.host() as host:
        for client, name in ((student, CLASS_COOKIE), (host, HOST_COOKIE)):
            assert set(client.cookies) == {classroom.named(name)}
            client.cookies.set(space.named(name), "another", domain="127.0.0.1")
        assert student.get("class/state").json()["joined"]
        assert host.get("live/_access").json()["role"] == "host"


def test_who_was_in_a_class_whose_file_is_damaged_joins_the_next_one(classroom, teacher, student):
    room = classroom.running.demo.serving.room
    room.end()
    room.file.path.write_bytes(b"not a database " * 1000)
    assert student.get("live/_access").json()["notice"] == access.WATCHERS
    assert student.get("class/state").json() == {"version": 0, "is_open": False, "joined": False}
    front = teacher.get("class/front").json()
    assert room_file.FILE in front["damaged"]
    assert room_file.FILE in lead(teacher, "ask", ask="And now?", options=["This", "That"]).json()["error"]
    assert student.post("class/join", json={"code": teacher.code}).json() == {"error": front["damaged"]}
    lead(teacher, "open")
    front = teacher.get("class/front").json()
    assert front["damaged"] == ""
    assert student.post("class/join", json={"code": front["code"]}).json() == {"error": ""}
    assert student.get("class/state").json()["joined"]


def test_what_a_member_may_ask_ends_with_the_class_and_the_page_says_so(classroom, teacher, student):
    asking = classroom.index_of("answer", 0), ["done", "The film was", 1, 0]

    def rights():
        access_data = student.get("live/_access").json()
        return access_data["notice"], {access_data["may"][name] for name in ("ask", "try_rewards", "write_rewards")}

    assert rights() == (access.IN_CLASS, {"yes"})
    assert student.get("live/_access").json()["samples"] == 4
    assert teacher.get("live/_access").json()["samples"] == 8
    assert "wonderful" in pages.call(student, *asking)["text"]
    for command in ("end", "open"):  # another class is none of theirs
        lead(teacher, command)
        assert rights() == (access.WATCHERS, {"no"})
        assert access.NOT_JOINED in pages.call(student, *asking)["text"]
    assert student.get("live/_runs").status_code == 200  # all may look
    assert "wonderful" in pages.call(teacher, *asking)["text"]


def test_where_the_host_is_reaches_the_class_as_a_short_text_and_plain_numbers(teacher, student):
    def led(**where):
        assert lead(teacher, "location", **where).json() == {"error": ""}
        return student.get("class/state").json()["location"]

    plain = {"query": "run=a", "update": 3, "text": 2, "played": 0}
    assert led(**plain) == plain
    for wrong in ("1", -1, 1.5, True, 10**9, [1], {}):
        place = led(query="run=b", update=wrong, text=wrong, played=wrong)
        assert place == {"query": "run=b", "update": None, "text": None, "played": None}
    assert len(led(query="x" * 50_000)["query"]) == 600
    assert led(query="") is None

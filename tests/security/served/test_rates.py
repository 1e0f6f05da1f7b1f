"""How often an address, or a person of a class, may ask in a minute, and how much at once; others go on meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from playground.runs.model_service import MOST_QUESTIONS
from playground.ui import routes
from playground.ui.api import answers
from playground.ui.auth import access, limiter, visitors
from playground.ui.auth.access import Access, Action, Role
from playground.ui.classroom import class_routes
from tests.security import pages
from tests.security.pages import PUBLIC
from tests.support import wait_until


def ask(page, client):
    return pages.call(client, page.index_of("answer", 0), ["done", "The film was", 1, 0])["text"]


def stop(page, client):
    return pages.ask(client, page.server_function("stop_run"), "stop_run", "done").text


def write(page, client):
    reward = {"kind": "expression", "expression": "words(completion)"}
    return pages.ask(client, page.server_function("reward_problem"), "reward_problem", reward).text


def post(path, **body):
    return lambda page, client: client.post(path, json=body).text


def get(path):
    return lambda page, client: client.get(path).text


WRONG_CODE = post("class/join", code="9999")
RATES = [  # the kind, how many in a minute by docs/security.md, whose page, what is asked, the sentence of a refusal
    ("wrong tokens", 10, "classroom", get("host?token=guessed"), access.MANY_TOKENS),
    ("wrong codes", 30, "classroom", WRONG_CODE, class_routes.MANY_CODES),
    ("class", 3_000, "classroom", WRONG_CODE, access.MANY_CALLS),
    ("answers of one person", 120, "class", post("class/answer", step=0, item=1, value={}), access.MANY_CALLS),
    ("questions of one person", 6, "class", ask, access.MANY_QUESTIONS),
    ("questions", 60, "space", ask, access.MANY_CALLS),
    ("form", 600, "space", write, access.MANY_CALLS),
    ("form", 600, "space", stop, access.MANY_CALLS),
    ("views", 12_000, "space", get("live/_access"), access.MANY_CALLS),
    ("calls", 1_500, "space", post("gradio_api/reset"), access.MANY_CALLS),
]


@pytest.mark.parametrize(("kind", "usual", "where", "send", "sentence"), RATES)
def test_one_address_or_person_asks_so_often_in_a_minute_and_another_goes_on(
    kind, usual, where, send, sentence, space, classroom, teacher, clock, monkeypatch
):
    """Each address in a public page and for who has not joined a class; each person, of one address, in a class."""
    page = space if where == "space" else classroom
    rates = page.access.limiter
    assert (rates.per_minute[kind], limiter.SECONDS) == (usual, 60.0)
    monkeypatch.setitem(rates.per_minute, kind, 3)
    monkeypatch.setattr(page.access, "is_own", lambda caller, run: send is stop)  # also of what is their own

    def opened(last):
        return page.member(teacher.code, f"{PUBLIC}142") if where == "class" else page.visitor(f"{PUBLIC}{last}")

    with opened(142) as asking, opened(143) as other, page.host() as host:
        assert [sentence in send(page, asking) for _ in range(4)] == [False] * 3 + [True]
        assert sentence not in send(page, other)
        assert kind == "wrong tokens" or not any(sentence in send(page, host) for _ in range(4))  # who is not counted
        clock.now += 60.1
        assert sentence not in send(page, asking)


def test_the_right_code_is_looked_at_no_more_after_too_many_wrong_ones(classroom, teacher, figure):
    """Four letters are 279,841 codes."""
    with classroom.client(f"{PUBLIC}50") as client:
        for _ in range(limiter.PER_MINUTE["wrong codes"]):
            WRONG_CODE(classroom, client)
        late = [client.post("class/join", json={"code": code}) for code in ("9999", teacher.code)]
    assert [answer.status_code for answer in late] == [429, 429]
    assert not any("set-cookie" in answer.headers for answer in late)
    figure("codes of a class guessed beyond the rate, refused", len(late), len(late))


def test_one_address_leaves_half_of_the_places_for_questions_to_others(monkeypatch):
    """A question that waits holds one; also one whose answer comes piece by piece, and one that fails."""
    assert limiter.AT_ONCE["answers"] == 8 == MOST_QUESTIONS / 2
    caller = SimpleNamespace(role=Role.VISITOR, visitor=visitors.Visitor("c", "near"))
    rules = Access("space")
    monkeypatch.setattr(rules, "demand", lambda request, action, run: caller)

    def stream(fails):
        yield "begun"
        if fails:
            raise OSError("away")

    streamed = rules.guard(Action.ASK, stream, lambda sentence: sentence)
    answered = rules.guard(Action.TRY_REWARDS, lambda request: "answered", lambda sentence: sentence)
    streams = [streamed(number == 0) for number in range(8)]
    assert [next(each) for each in streams] == ["begun"] * 8
    assert [*streamed(False)] == [access.MANY_AT_ONCE] == [answered(None)]
    caller.visitor = visitors.Visitor("c", "elsewhere")
    assert answered(None) == "answered"
    caller.visitor = visitors.Visitor("c", "near")
    assert "away" in next(streams[0])
    assert [*streams[0]] == []
    streams[1].close()
    assert [*streamed(False)] == ["begun"]
    assert answered(None) == "answered"
    assert rules.limiter.held == {("answers", "near"): 6}


def test_one_address_s_programs_leave_places_of_the_queue_to_the_others(space, monkeypatch):
    read = threading.Event()
    monkeypatch.setattr(answers, "comparison", lambda *_: {"read": read.wait()})
    with space.program(address=f"{PUBLIC}16") as program, space.program(address=f"{PUBLIC}17") as other:
        try:
            for _ in range(16):
                assert program.post("gradio_api/call/v2/compare", json={"run": "done"}).status_code == 200
            wait_until(lambda: space.access.limiter.held.total() >= limiter.AT_ONCE["programs"])
            assert pages.called(other, "presets")["presets"]
            assert pages.called(program, "compare", run="done") == access.MANY_PROGRAMS
        finally:
            read.set()
        wait_until(lambda: not space.access.limiter.held)


def test_replays_keep_nobody_from_comparing(classroom, monkeypatch):
    replay_made, address = threading.Event(), "live/done/export/replay"
    monkeypatch.setattr(routes, "_replay", lambda _: str(replay_made.wait()))
    counts = classroom.access.limiter.held
    with (
        classroom.program(address=f"{PUBLIC}18") as program,
        classroom.program() as other,
        ThreadPoolExecutor(2) as pool,
    ):
        try:
            requests_open = [pool.submit(program.get, address) for _ in range(2)]
            wait_until(lambda: sum(count for (kind, _), count in counts.items() if kind == "replays") == 2)
            assert other.get("live/done/compare").status_code == 200
            refused = program.get(address)
            assert (refused.status_code, refused.json()["error"]) == (429, routes.MANY_REPLAYS)
        finally:
            replay_made.set()
        assert [answer.result().text for answer in requests_open] == ["True", "True"]


def test_few_programs_follow_runs_at_a_time_and_each_is_let_go_when_it_goes(local):
    rules = local.access.limiter
    with local.program() as program:
        event = program.post("gradio_api/call/v2/follow", json={"run": "done"}).json()["event_id"]
        with program.stream("GET", f"gradio_api/call/v2/follow/{event}") as stream:
            names = [line for line in stream.iter_lines() if line.startswith("event:")]
        assert names == ["event: generating", "event: complete"]
        wait_until(lambda: not rules.held)
        rules.held["followers", ""] = rules.at_once["followers"]
        assert "Too many programs follow runs here" in pages.called(program, "follow", run="done")
        assert pages.called(program, "status", run="done", wait=50)["ended"]  # which answers without waiting
        rules.held.clear()

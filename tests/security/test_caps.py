"""Caps of a public page, exceeded by one through the real handlers, as a visitor without a browser would."""

from __future__ import annotations

import os
import re
import socket
import stat
import tempfile
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from playground.runs import launcher, queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import MOST_QUESTIONS
from playground.setup import limits
from playground.ui.auth import access, limiter, visitors
from playground.ui.auth.access import Access, Action, Role
from playground.ui.runs import compare_page
from playground.ui.train import filling, form
from tests.security import pages
from tests.setup.test_limits import CAPS
from tests.support import at_once, small_config, wait_until
from tests.ui import fake_run

PUBLIC = "93.184.216."  # addresses that a proxy could tell


def changes(data):
    """A change of a configuration as form values: only what differs from the small configuration, nested or not."""
    values = form.values_of(small_config(**data))
    plain = form.values_of(small_config())
    named = {field: value for field, value in values.items() if value != plain[field]}
    return {field.replace(".", "__"): value for field, value in named.items()}


def alive(page):
    return {run.id for run in launcher.living_runs(page.outputs)} | set(queue.waiting(page.outputs))


def test_each_cap_exceeded_by_one_is_refused_when_the_handler_is_called(space, figure):
    before, tried, refused = space.tree(), 0, 0
    by_form = [cap for cap in CAPS if changes(cap[2])]
    assert {cap[0] for cap in CAPS} - {cap[0] for cap in by_form} == {"experiments"}  # which the form does not have
    for number, (field, _, beyond) in enumerate(by_form):
        with space.visitor(f"{PUBLIC}{number}") as visitor:
            run, problems = pages.start(space, visitor, **changes(beyond))
        tried += 1
        refused += run is None and field in [problem["field"] for problem in problems]
    assert space.tree() == before
    figure("caps of a public page, exceeded by one in a direct call, refused", tried, refused)


def stop(page, client, run):
    answer = pages.ask(client, page.server_function("stop_run"), "stop_run", run)
    if answer.json() == {"error": ""}:
        wait_until(lambda: run not in alive(page), 60)
    return answer.json()["error"]


def test_one_run_each_with_a_limit_of_time_which_only_its_visitor_can_stop(space, figure):
    with space.visitor(f"{PUBLIC}101") as first, space.visitor(f"{PUBLIC}102") as second:
        mine, _ = pages.start(space, first)
        found = RunDirectory(space.outputs / mine)
        assert found.config().max_minutes == 30
        assert requests.of(found).mode == "space"
        assert requests.of(found).visitor
        assert not re.search(f"{first.cookies['playground_visitor']}|{PUBLIC}101", found.request_path.read_text())
        again, problems = pages.start(space, first, seed=1)
        assert again is None
        assert "You have a run here already" in problems[0]["message"]
        theirs, _ = pages.start(space, second)
        assert theirs in queue.waiting(space.outputs)
        assert mine != theirs
        refusals = [stop(space, first, theirs), stop(space, second, mine), stop(space, space.client(), mine)]
        assert {mine, theirs} <= alive(space)
        assert stop(space, second, theirs) == ""
        assert stop(space, first, mine) == ""
    figure("runs that another visitor tried to stop, left alone", len(refusals), sum(map(pages.was_refused, refusals)))


def test_two_clicks_at_the_same_moment_are_one_run(space):
    with space.visitor(f"{PUBLIC}103") as visitor:
        found = []
        at_once(*[lambda seed=seed: found.append(pages.start(space, visitor, seed=seed)[0]) for seed in range(6)])
        started = [run for run in found if run]
        assert len(started) == 1
        assert len(alive(space)) == 1
        stop(space, visitor, started[0])


@pytest.mark.nightly
def test_who_sheds_the_cookie_is_counted_by_address_and_the_queue_has_an_end(space, figure):
    limit, runs = limits.LIMITS["space"], []
    for number in range(limit.runs_per_address + 1):
        with space.visitor(f"{PUBLIC}110") as shed:
            run, problems = pages.start(space, shed, seed=number)
            runs.append((shed, run))
    assert [run is not None for _, run in runs] == [True] * limit.runs_per_address + [False]
    assert "from your network" in problems[0]["message"]
    one_trains = 1
    for number in range(limit.queue + one_trains - limit.runs_per_address):
        with space.visitor(f"{PUBLIC}{120 + number}") as other:
            runs.append((other, pages.start(space, other, seed=number)[0]))
    with space.visitor(f"{PUBLIC}140") as late:
        refused, problems = pages.start(space, late)
    assert refused is None
    assert "The queue is full: 5 runs wait" in problems[0]["message"]
    assert len(queue.waiting(space.outputs)) == limit.queue
    figure("runs of one visitor, address or queue too many, refused", 2, 2)
    with space.host() as host:
        for _, run in reversed(runs):
            if run:
                stop(space, host, run)
    assert not alive(space)


def test_questions_are_capped_too(space, figure):
    service = space.running.demo.serving.service
    cases = [
        ("answer", 0, ["done", "a" * 2001, 1, 0]),
        ("answer", 0, ["done", "The film was", 5, 0]),
        ("answer", 1, [[{"kind": "length", "weight": 1}], "a" * 2001, "", ""]),
        ("answer", 1, [[{"kind": "pattern", "weight": 1, "pattern": "(a+)+$"}], "a", "b", "c"]),
        ("answer", 1, [[{"kind": "model", "weight": 1, "source": "/etc"}], "a", "b", "c"]),
    ]
    refused = 0
    for number, (name, nth, data) in enumerate(cases):
        index = space.index_of(name, nth)
        rest = pages.arguments(space.functions()[index])[len(data) :]
        with space.visitor(f"{PUBLIC}{150 + number}") as visitor:
            message = pages.call(visitor, index, [*data, *rest])
        refused += message["status"] != 200 or '"error"' in message["text"] or not message["success"]
    with space.visitor(f"{PUBLIC}160") as visitor:
        asked = [{"ask": "prompts"}, *pages.form_values(prompts__source="/etc/passwd")[1:]]
        refused += "must be one of" in pages.call(visitor, space.index_of("try_part"), asked)["text"]
    beyond = [("a" * 2001, 1), ("The film was", 5)]  # and behind Gradio's own controls, which know some of the caps
    answers = [
        compare_page.answered(service, space.outputs, "done", *asked, 0, limits.LIMITS["space"]) for asked in beyond
    ]
    assert [list(answer)[-1]["state"] for answer in answers] == ["error", "error"]
    assert service.asked == []
    figure("questions beyond a cap refused before a model is asked", len(cases) + 1, refused)


def test_an_address_in_the_place_of_an_upload_is_not_fetched(space, monkeypatch):
    fetched = []
    monkeypatch.setattr("safehttpx.async_validate_url", lambda *asked: fetched.append(asked))
    file = {"path": "https://example.org/large.txt", "orig_name": "a.txt", "meta": {"_type": "gradio.FileData"}}
    with space.visitor(f"{PUBLIC}171") as visitor:
        for item in (file, {**file, "url": file["path"]}):
            message = pages.call(visitor, space.index_of("take"), [item])
            assert not message["success"]
            assert "addresses are not fetched" in message["text"]
    assert fetched == []


def test_files_that_come_are_bounded_together_and_do_not_stay(space, monkeypatch, figure):
    coming = space.running.demo.serving.incoming
    assert stat.S_IMODE(coming.folder.stat().st_mode) == 0o700

    def files():
        return [path for path in coming.folder.rglob("*") if path.is_file()]

    def aged(seconds):
        then = time.time() - seconds
        for path in sorted(coming.folder.rglob("*"), reverse=True):
            os.utime(path, (then, then))

    aged(2 * 3600)
    coming.sweep()
    monkeypatch.setattr(coming, "most_bytes", 250_000)
    with space.visitor(f"{PUBLIC}172") as visitor:

        def upload(field, size):
            return visitor.post("gradio_api/upload", files={field: ("a.txt", b"x" * size)})

        assert upload("whatever", 50_000).json() == []  # no handler will ever hear of it
        (came,) = upload("files", 100_000).json()
        full, before = upload("files", 200_000), files()
        assert full.status_code == 503
        assert "Try again in a minute" in full.text
        assert came in map(str, before)
        assert upload("files", 200_000).status_code == 503
        assert files() == before
        aged(61)
        (kept,) = upload("files", 200_000).json()
        assert [str(path) for path in files()] == [kept]  # what was older went for it
        aged(3500)
        coming.sweep()
        assert len(files()) == 1
        aged(3700)
        coming.sweep()
        assert files() == []
        aged(3700)
        coming.sweep()
        assert list(coming.folder.rglob("*")) == []  # the folders that they lay in too
        broken_off = [upload("files", 200_000).status_code for _ in range(3)]
        assert broken_off == [200, 503, 503]
    figure("uploads beyond the room for files on their way, refused", 3, 3)


@pytest.mark.parametrize("field", ["prompts__source", "evaluation__text", "model__source", "reference__source"])
def test_the_form_does_not_tell_which_files_there_are(field, space, tmp_path):
    (tmp_path / "there.txt").write_text("One prompt\nAnother\n")
    answers, (part, _, name) = [], field.partition("__")
    for path in ("/etc/passwd", "/etc/nothing-of-that-name", str(tmp_path / "there.txt")):
        with space.visitor() as visitor:
            values = pages.form_values(**{field: path})[1:]
            checked = pages.call(visitor, space.index_of("check"), values)["output"]["data"][0]["problems"]
            text = f"rewards: [{{kind: length}}]\n{part}: {{{name}: {path}}}"
            used = pages.call(visitor, space.index_of("use"), [text, *values])["output"]["data"]
        said = str((checked, used)).replace(path, "")  # the form gives back what was typed
        answers.append(said.replace(path[:60], "").replace(path.split("/")[-1], ""))
    assert answers[0].count("must be one of") >= 2
    assert "on a public page" in answers[0]
    assert answers == [answers[0]] * 3


def test_an_upload_beyond_the_cap_is_refused_by_the_gate_and_by_the_handler(space, figure):
    before = space.tree()
    cap = limits.LIMITS["space"].upload_bytes
    with space.visitor(f"{PUBLIC}170") as visitor:
        large = visitor.post("gradio_api/upload", files={"files": ("a.txt", b"x" * (cap + 70_000))})
        just = visitor.post("gradio_api/upload", files={"files": ("a.txt", b"x" * (cap + 1))})
        many = visitor.post("gradio_api/upload", files={"files": ("b.txt", b"x\n" * 5001)})
        assert many.status_code == 200
        file = {"path": many.json()[0], "orig_name": "b.txt", "meta": {"_type": "gradio.FileData"}}
        rows = pages.call(visitor, space.index_of("take"), [file])
        assert large.status_code == just.status_code == 413
        assert "the most that this page accepts" in large.text
        assert "5,001 rows; at most 5,000" in rows["text"]
        assert space.tree() == before
    figure("uploads beyond the caps refused", 3, 3)


PART = b'--XX\r\nContent-Disposition: form-data; name="%s"; filename="a.txt"\r\n\r\n%s\r\n'
FORM = {"Content-Type": "multipart/form-data; boundary=XX"}


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folders in which Gradio puts what is being uploaded, for this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_request_that_breaks_off_or_brings_many_files_leaves_none(space, temporary, monkeypatch, figure):
    """Gradio writes every part to a file of its own before anybody is asked, and leaves it where the client goes."""
    uploads = temporary / "uploads"
    monkeypatch.setattr(space.gradio, "uploaded_file_dir", str(uploads))
    whole = PART % (b"files", b"a\nb\n")

    def files():
        return [path for path in temporary.rglob("*") if path.is_file()]

    with space.visitor(f"{PUBLIC}130") as visitor:
        server_function = visitor.post("gradio_api/component_server", content=whole + b"--XX--\r\n", headers=FORM)
        assert server_function.status_code == 415
        assert server_function.json()["error"].endswith("JSON here.")
        many = visitor.post("gradio_api/upload", content=whole * 2 + b"--XX--\r\n", headers=FORM)
        assert many.status_code == 400
        assert "Maximum number of files is 1" in many.text
        visitor.post("gradio_api/upload", content=PART % (b"other", b"a") + b"--XX--\r\n", headers=FORM)
        assert files() == []
        address = urlsplit(space.url)
        head = f"POST /gradio_api/upload HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 500000\r\n"
        head += f"Content-Type: {FORM['Content-Type']}\r\n\r\n"
        with socket.create_connection((address.hostname, address.port)) as going:
            going.sendall(head.encode() + (PART % (b"files", b"x" * 100_000))[:-2])
            wait_until(lambda: files() != [])
        wait_until(lambda: files() == [])
        one = visitor.post("gradio_api/upload", content=whole + b"--XX--\r\n", headers=FORM)
        assert one.status_code == 200
    assert [path.name for path in files()] == ["a.txt"]
    figure("requests with files that leave none behind", 4, 4)


@pytest.fixture
def allowed(space, monkeypatch):
    """Sets how often the page's addresses may ask for a kind in a minute; the clock only moves when it is told to."""
    rates, clock = space.access.limiter, SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(limiter, "time", clock)

    def allow(kind, usual, count):
        assert (rates.per_minute[kind], limiter.SECONDS) == (usual, 60.0)
        monkeypatch.setitem(rates.per_minute, kind, count)
        return clock

    return allow


def test_the_form_is_asked_for_so_often_and_another_visitor_s_still_answers(space, allowed):
    clock = allowed("form", 600, 20)
    question = "reward_problem", {"kind": "expression", "expression": "words(completion)"}
    number = space.server_function("reward_problem")
    with space.visitor(f"{PUBLIC}140") as visitor, space.visitor(f"{PUBLIC}141") as other:
        answers = [pages.ask(visitor, number, *question).json() for _ in range(21)]
        assert answers == [""] * 20 + [access.MANY_CALLS]
        assert pages.ask(other, number, *question).json() == ""
        clock.now += 60.1
        assert pages.ask(visitor, number, *question).json() == ""


def test_what_is_done_to_one_s_own_runs_is_counted_and_so_is_watching(space, monkeypatch, allowed):
    """Also in vain: here to another visitor's run. Another address's calls go on."""
    allowed("form", 600, 3)
    allowed("views", 12_000, 5)
    mine = visitors.keyed_hash(space.access._key, f"{PUBLIC}142")
    monkeypatch.setattr(space.access, "is_own", lambda caller, run: caller.visitor.address == mine)
    number = space.server_function("stop_run")
    with space.visitor(f"{PUBLIC}142") as visitor, space.visitor(f"{PUBLIC}143") as other:
        stopped = [pages.ask(visitor, number, "stop_run", "done").json()["error"] for _ in range(4)]
        assert stopped[3] == access.MANY_CALLS
        assert access.MANY_CALLS not in stopped[:3]
        watched = [visitor.get("live/_access") for _ in range(2)]
        assert [answer.status_code for answer in watched] == [200, 429]
        assert watched[1].json() == {"error": access.MANY_CALLS}
        refused = [pages.ask(other, number, "stop_run", "done").json()["error"] for _ in range(6)]
        assert [access.MANY_CALLS in text for text in refused] == [False] * 5 + [True]


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
    held = [streamed(number == 0) for number in range(8)]
    assert [next(each) for each in held] == ["begun"] * 8
    assert [*streamed(False)] == [access.MANY_AT_ONCE] == [answered(None)]
    caller.visitor = visitors.Visitor("c", "elsewhere")
    assert answered(None) == "answered"
    caller.visitor = visitors.Visitor("c", "near")
    assert "away" in next(held[0])
    assert [*held[0]] == []
    held[1].close()
    assert [*streamed(False)] == ["begun"]
    assert answered(None) == "answered"
    assert rules.limiter.held == {("answers", "near"): 6}


def test_the_path_of_an_uploaded_file_is_never_shown(space, tmp_path):
    """The page calls it uploads/NAME: in the form, in YAML, in exports; and understands that name again."""
    sent = tmp_path / "mine.txt"
    sent.write_text("The film was\nThe book was\nThe song was\nThe play was\n")
    shown = []
    with space.visitor(f"{PUBLIC}120") as visitor, space.visitor(f"{PUBLIC}121") as other:
        (path,) = visitor.post("gradio_api/upload", files={"files": (sent.name, sent.read_bytes())}).json()
        file = {"path": path, "orig_name": sent.name, "meta": {"_type": "gradio.FileData"}}
        taken = pages.call(visitor, space.index_of("take"), [file])
        source = taken["output"]["data"][0]["value"]
        assert source.startswith("uploads/")
        assert source.endswith("-mine.txt")
        fields = {"prompts__source": source, "evaluation__num_prompts": 2, "ppo__num_updates": 500}
        checked = pages.call(visitor, space.index_of("check"), pages.form_values(**fields)[1:])
        run, problems = pages.start(space, visitor, **fields)
        assert problems == []
        assert run is not None
        found = RunDirectory(space.outputs / run)
        assert found.config().prompts.source == str((space.outputs / source).resolve())  # the worker has its place
        shown += [taken["text"], checked["text"], pages.call(other, space.index_of("choose"), [f"run:{run}"])["text"]]
        kinds = "poll compare outcome export/yaml export/trl export/html metrics.csv samples.csv"
        shown += [other.get(f"live/{run}/{kind}").text for kind in kinds.split()]
        shown += [other.get(f"live/{address}").text for address in ("_runs", "_home", f"_overlay?runs={run},done")]
        assert f"source: {source}" in shown[6]
        assert stop(space, visitor, run) == ""
    assert not [text for text in shown if str(space.outputs) in text or str(space.outputs.resolve()) in text]


def test_the_paths_of_the_host_s_models_are_shown_to_the_host_only(classroom):
    folder = "/home/teacher/models/mine"
    run = fake_run.write_run(classroom.outputs, "own-model", small_config(model={"source": folder}))
    with classroom.client() as watcher, classroom.host() as host:
        exports = [client.get(f"live/{run.id}/export/yaml").text for client in (watcher, host)]
        report = watcher.get(f"live/{run.id}/export/html").text
        addresses = f"{run.id}/poll", "_runs", f"_overlay?runs={run.id},done"
        shown = [watcher.get(f"live/{address}").text for address in addresses]
    shown.append(repr(filling.filled_from(f"run:{run.id}", classroom.outputs, whole=False)))
    assert "source: mine" in exports[0]
    assert f"source: {folder}" in exports[1]
    assert "source: mine" in report
    assert not [text for text in (exports[0], report, *shown) if "/home/teacher" in text]

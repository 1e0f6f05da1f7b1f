"""What a browser may ask of a run, and what it is answered when it asks for nonsense."""

import asyncio
import errno
import json
import subprocess
import sys
import threading

import pytest

from playground.runs.folder import changes, processes, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, to_json_line
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui.auth.access import Access, Caller, Role
from playground.ui.train import run_actions
from tests.support import run_async, wait_until
from tests.ui import fake_run


@pytest.fixture
def living(tmp_path, monkeypatch):
    """A run that counts as alive."""
    run = RunDirectory.create(tmp_path, catalog.preset("kinder-reviews"), "one")
    RunWriter(run, 40).set_status(state="running")
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    return run


def functions(outputs, access=None, spawn=None):
    """The server functions by name, as they are registered."""
    made = run_actions.guarded_functions(outputs, access or Access(), spawn)
    return {function.__name__: function for function in made}


@pytest.fixture
def ask(tmp_path):
    return functions(tmp_path)


def over():
    """In the place of a worker: a process that has ended."""
    return subprocess.Popen([sys.executable, "-c", ""])


def waiting(run):
    return sorted(path.name.partition("-")[0] for path in run.control_path.iterdir())


@pytest.mark.parametrize("command", ["pause", "resume", "step"])
def test_a_command_is_left_for_the_worker(command, living, ask):
    assert ask["steer_run"]({"run": "one", "command": command}) == {"error": ""}
    assert waiting(living) == [command]


def test_a_made_up_command_is_one_sentence(living, ask):
    nonsense = [None, [], "one", {}, {"run": "one"}, {"run": "one", "command": "stop; rm"}, {"command": ["pause"]}]
    assert all(ask["steer_run"](asked)["error"].endswith(".") for asked in nonsense)
    assert waiting(living) == []


@pytest.mark.parametrize("run_id", ["../one", "nobody", None, {"a": 1}, ""])
def test_a_made_up_run_is_one_sentence(run_id, living, ask, workers):
    assert ask["resume_run"](run_id)["error"].endswith(".") and workers == []
    assert ask["fork_points"](run_id)["error"] and run_async(ask["end_run"](run_id))["error"]
    assert ask["steer_run"]({"run": run_id, "command": "pause"})["error"]
    assert ask["change_settings"]({"run": run_id, "changes": {"kl.coef": 0.5}})["error"]
    assert ask["stop_run"](run_id)["error"]
    assert waiting(living) == []


def test_changes_are_asked_for_together_as_numbers(living, ask):
    answer = ask["change_settings"]({"run": "one", "changes": {"kl.coef": "0.5", "ppo.clip_range": 0.1}})
    assert answer == {"error": "", "edits": {"kl.coef": 0.5, "ppo.clip_range": 0.1}}
    (path,) = living.control_path.glob("set-*.json")
    assert json.loads(path.read_text()) == {"kl.coef": 0.5, "ppo.clip_range": 0.1}


def test_wrong_values_are_problems_by_field_and_nothing_is_asked_for(living, ask):
    changes = {"kl.coef": "plenty", "ppo.clip_range": -1, "seed": 3, "ppo.learning_rate": "", "ppo.entropy_coef": 0.01}
    problems = ask["change_settings"]({"run": "one", "changes": changes})["problems"]
    assert {item["field"] for item in problems} == {"kl.coef", "ppo.clip_range", "seed", "ppo.learning_rate"}
    assert waiting(living) == []


def test_made_up_changes_are_one_sentence(living, ask):
    for made_up in (None, {}, [["kl.coef", 1]], {f"field{n}": 1 for n in range(20)}):
        assert ask["change_settings"]({"run": "one", "changes": made_up})["error"].endswith(".")
    assert waiting(living) == []


def test_values_that_are_no_numbers_are_refused_briefly(living, ask):
    for value in (True, None, [1], {"a": 1}, "x" * 10_000, float("nan")):
        (problem,) = ask["change_settings"]({"run": "one", "changes": {"kl.coef": value}})["problems"]
        assert problem["field"] == "kl.coef" and len(problem["message"]) < 120
    assert waiting(living) == []


def test_an_ended_run_cannot_be_steered(tmp_path, ask):
    fake_run.write_run(tmp_path, "done")
    assert "already ended" in ask["steer_run"]({"run": "done", "command": "pause"})["error"]
    assert "already ended" in ask["change_settings"]({"run": "done", "changes": {"kl.coef": 1}})["error"]


def test_an_ended_run_is_taken_up_once_however_often_it_is_asked_for(tmp_path, ask, workers):
    fake_run.write_ended(tmp_path, "cut", "killed", "interrupted")
    assert ask["resume_run"]("cut") == {"error": "", "attempt": 2}
    assert ask["resume_run"]("cut") == {"error": "", "attempt": 2}
    assert len(workers) == 1


def test_a_finished_run_is_not_resumed(tmp_path, ask, workers):
    fake_run.write_run(tmp_path, "done")
    assert "finished" in ask["resume_run"]("done")["error"] and workers == []


def test_who_ends_a_run_twice_ends_it_once_and_both_are_answered(living, ask, monkeypatch):
    calls, go = [], threading.Event()

    def end(run, grace_seconds):
        calls.append(run.id)
        assert go.wait(20)
        return processes.Ended(alive=False, signals=("SIGTERM",))

    monkeypatch.setattr(processes, "end", end)

    async def both():
        asked = [asyncio.ensure_future(ask["end_run"]("one")) for _ in range(2)]
        await asyncio.to_thread(wait_until, lambda: calls)
        go.set()
        return await asyncio.gather(*asked)

    first, second = run_async(both())
    assert calls == ["one"] and first == second and first["error"] == "" and first["sentence"]


def test_what_could_not_be_ended_is_an_error_in_words(living, ask, monkeypatch):
    monkeypatch.setattr(processes, "end", lambda run, grace_seconds: processes.Ended(alive=True))
    assert run_async(ask["end_run"]("one"))["error"].endswith(".")


def test_what_the_system_refuses_is_an_error_without_folders(living, ask, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "/home/teacher/outputs/one/control/stop")

    monkeypatch.setattr(RunDirectory, "request_stop", refuse)
    monkeypatch.setattr(changes, "request_edits", refuse)
    for answer in (ask["stop_run"]("one"), ask["change_settings"]({"run": "one", "changes": {"kl.coef": 0.5}})):
        assert "No space left on device (stop)" in answer["error"] and "teacher" not in answer["error"]


def test_the_panel_knows_every_live_setting_in_words():
    knobs = {knob["field"]: knob for knob in run_actions.knobs()}
    assert {"kl.coef", "kl.target", "ppo.learning_rate", "ppo.clip_range", "ppo.entropy_coef"} <= knobs.keys()
    assert all(knob["label"] and knob["help"] and knob["low"] and knob["high"] for knob in knobs.values())


@pytest.fixture
def finished(tmp_path):
    """A run that has ended, with checkpoints after updates 10 to 40, and in which beta was changed after update 24."""
    run = fake_run.write_run(tmp_path, "one")
    edit = Event(seq=90, time=0, kind=changes.EDIT, update=24, data={"field": "kl.coef", "value": 0.5})
    with open(run.events_path, "a", encoding="utf-8") as file:
        file.write(to_json_line(edit))
    return run


def test_a_run_can_be_forked_at_its_checkpoints_with_what_held_there(finished, ask):
    found = ask["fork_points"]("one")
    betas = {point["update"]: point["values"]["kl.coef"] for point in found["points"]}
    assert betas == {10: 0.25, 20: 0.25, 30: 0.5, 40: 0.5}
    offered = found["points"][0]["values"].keys()
    assert {"ppo.learning_rate", "ppo.num_updates"} <= offered and "kl.target" not in offered
    assert offered <= {knob["field"] for knob in found["knobs"]}


def test_a_fork_is_started_once_however_often_it_is_asked_for(finished, tmp_path):
    started = []
    ask = functions(tmp_path, spawn=lambda run, lock: started.append(run.id) or over())["fork_run"]
    asked = {"run": "one", "at": 30, "changes": {"kl.coef": 0.75, "ppo.num_updates": 45}, "request": "a-name-of-it"}
    made = [ask(asked) for _ in range(2)]
    assert made[0] == made[1] == {"error": "", "run": made[0]["run"]}
    assert started == [made[0]["run"]]
    run = RunDirectory.open(tmp_path / started[0])
    assert (run.config().kl.coef, run.config().ppo.num_updates, run.metrics()[-1].update) == (0.75, 45, 30)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"run": "nobody", "at": 30}, "error"),
        ({"run": "one", "at": 31}, "error"),
        ({"run": "one", "at": "30"}, "error"),
        ({"run": "one", "at": 30, "changes": {"prompts.source": "/etc/passwd"}}, "error"),
        ({"run": "one", "at": 30, "changes": {"kl.coef": "a lot"}}, "kl.coef"),
        ({"run": "one", "at": 40, "changes": {}}, "ppo.num_updates"),
        (None, "error"),
    ],
)
def test_a_fork_that_cannot_be_is_a_problem_of_its_field_or_an_error_and_nothing_is_made(asked, field, finished, ask):
    answer = ask["fork_run"](asked)
    assert [item["field"] for item in answer.get("problems", [])] == ([] if field == "error" else [field])
    assert bool(answer["error"]) == (field == "error") and not answer.get("run")
    assert [path.name for path in finished.path.parent.iterdir() if not path.name.startswith(".")] == ["one"]


def forked_by_a_visitor(outputs, **asked):
    access = Access("space", outputs, "host token")
    make = run_actions.RunActions(outputs, access, lambda run, lock: over()).fork_run
    return make({"run": "one", "at": 30, **asked}, Caller("space", Role.VISITOR)), access


def test_a_fork_on_a_public_page_keeps_to_its_caps(finished, tmp_path):
    answer, _ = forked_by_a_visitor(tmp_path, changes={"ppo.num_updates": 100_000})
    assert [item["field"] for item in answer["problems"]] == ["ppo.num_updates"]
    made, access = forked_by_a_visitor(tmp_path, changes={"ppo.num_updates": 41})
    run = RunDirectory.open(tmp_path / made["run"])
    assert run.config().max_minutes == access.limits.numbers["max_minutes"] and requests.of(run).mode == "space"


@pytest.mark.parametrize("part", ["prompts", "model", "reference"])
def test_a_fork_of_what_may_not_be_named_here_does_not_show_where_it_lies(part, finished, tmp_path):
    config = finished.config()
    own = getattr(config, part).model_copy(update={"source": str(tmp_path / "uploads" / "0123456789ab-mine.txt")})
    finished.publish(config.model_copy(update={part: own}))
    answer, _ = forked_by_a_visitor(tmp_path, changes={})
    assert [item["field"] for item in answer["problems"]] == [f"{part}.source"]
    assert "0123456789ab-mine.txt" in str(answer) and str(tmp_path) not in str(answer)

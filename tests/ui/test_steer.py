"""What a browser may ask of a living run, and what it is told when it asks for nonsense."""

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
from playground.ui.door.access import Access, Caller, Role
from playground.ui.train import run_actions
from tests.support import run_async
from tests.ui import fake_run


@pytest.fixture
def living(tmp_path, monkeypatch):
    """A run that counts as alive."""
    run = RunDirectory.create(tmp_path, catalog.preset("kinder-reviews"), "one")
    RunWriter(run, 40).set_status(state="running")
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    return run


@pytest.fixture
def ask(tmp_path):
    """The server functions by name."""
    return {function.__name__: function for function in run_actions.functions(tmp_path)}


def over():
    """In the place of a worker: a process that has ended."""
    return subprocess.Popen([sys.executable, "-c", ""])


def waiting(run):
    return sorted(path.name.partition("-")[0] for path in run.control_path.iterdir())


@pytest.mark.parametrize("command", ["pause", "resume", "step"])
def test_a_command_is_left_for_the_worker(command, living, ask):
    assert ask["steer_run"]({"run": "one", "command": command}) == {"error": ""}
    assert waiting(living) == [command]


@pytest.mark.parametrize(
    "asked", [None, [], "one", {}, {"run": "one"}, {"run": "one", "command": "stop; rm"}, {"command": ["pause"]}]
)
def test_a_made_up_command_is_one_sentence(asked, living, ask):
    assert ask["steer_run"](asked)["error"].endswith(".")
    assert waiting(living) == []


@pytest.mark.parametrize("run_id", ["../one", "nobody", None, {"a": 1}, ""])
def test_a_made_up_run_is_one_sentence(run_id, living, ask):
    assert ask["steer_run"]({"run": run_id, "command": "pause"})["error"]
    assert ask["change_settings"]({"run": run_id, "changes": {"kl.coef": 0.5}})["error"]
    assert ask["stop_run"](run_id)["error"]
    assert waiting(living) == []


def test_changes_are_asked_for_together_as_numbers(living, ask):
    answer = ask["change_settings"]({"run": "one", "changes": {"kl.coef": "0.5", "ppo.clip_range": 0.1}})
    assert answer == {"error": "", "problems": [], "edits": {"kl.coef": 0.5, "ppo.clip_range": 0.1}}
    (path,) = living.control_path.glob("set-*.json")
    assert json.loads(path.read_text()) == {"kl.coef": 0.5, "ppo.clip_range": 0.1}


def test_wrong_values_are_told_by_field_and_nothing_is_asked_for(living, ask):
    changes = {"kl.coef": "plenty", "ppo.clip_range": -1, "seed": 3, "ppo.learning_rate": "", "ppo.entropy_coef": 0.01}
    answer = ask["change_settings"]({"run": "one", "changes": changes})
    told = {item["field"]: item["message"] for item in answer["problems"]}
    assert told.keys() == {"kl.coef", "ppo.clip_range", "seed", "ppo.learning_rate"}
    assert told["kl.coef"] == "must be a number (got 'plenty')."
    assert waiting(living) == []


@pytest.mark.parametrize("changes", [None, {}, [["kl.coef", 1]], {f"field{n}": 1 for n in range(20)}])
def test_made_up_changes_are_one_sentence(changes, living, ask):
    assert ask["change_settings"]({"run": "one", "changes": changes})["error"].endswith(".")
    assert waiting(living) == []


@pytest.mark.parametrize("value", [True, None, [1], {"a": 1}, "x" * 10_000, float("nan")])
def test_values_that_are_no_numbers_are_refused_briefly(value, living, ask):
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


def test_a_run_that_cannot_be_resumed_is_one_sentence(tmp_path, ask, workers):
    fake_run.write_run(tmp_path, "done")
    assert "finished" in ask["resume_run"]("done")["error"]
    for run_id in ("../one", "nobody", None, {"a": 1}, ""):
        assert ask["resume_run"](run_id)["error"].endswith(".")
    assert workers == []


def test_who_ends_a_run_twice_ends_it_once_and_both_are_told(living, ask, monkeypatch):
    calls, held_up, go = [], [], threading.Event()

    def end(run, grace_seconds):
        calls.append(run.id)
        held_up.append(not go.wait(20))
        return processes.Ended(alive=False, signals=("SIGTERM",))

    monkeypatch.setattr(processes, "end", end)

    async def both():
        asked = [asyncio.ensure_future(ask["end_run"]("one")) for _ in range(2)]
        while not calls:
            await asyncio.sleep(0.01)  # nobody else waits for it
        go.set()
        return await asyncio.gather(*asked)

    first, second = run_async(both())
    assert held_up == [False]
    assert calls == ["one"] and first == second and first["error"] == "" and first["sentence"]


def test_what_could_not_be_ended_is_an_error_in_words(living, ask, monkeypatch):
    monkeypatch.setattr(processes, "end", lambda run, grace_seconds: processes.Ended(alive=True))
    assert run_async(ask["end_run"]("one"))["error"].endswith(".")
    assert run_async(ask["end_run"]("../one"))["error"].endswith(".")


def test_what_the_system_refuses_is_told_with_what_to_do_and_without_its_number(living, ask, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device", "/home/teacher/outputs/one/control/stop")

    def refuse(*_):
        raise full

    monkeypatch.setattr(RunDirectory, "request_stop", refuse)
    monkeypatch.setattr(changes, "request_edits", refuse)
    sentence = (
        "This did not succeed: No space left on device (stop). Free some space on the disk of the outputs folder, "
        "then try again."
    )
    assert ask["stop_run"]("one") == {"error": sentence}
    assert ask["change_settings"]({"run": "one", "changes": {"kl.coef": 0.5}})["error"] == sentence
    full = OSError("nobody knows why")
    assert ask["stop_run"]("one") == {"error": "This did not succeed: nobody knows why. Try again."}


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


def test_a_page_is_told_where_a_run_can_be_forked_and_what_held_there(finished, tmp_path):
    found = run_actions.fork_pointer(tmp_path)("one")
    assert [(point["update"], point["values"]["kl.coef"]) for point in found["points"]] == [
        (10, 0.25), (20, 0.25), (30, 0.5), (40, 0.5),
    ]  # fmt: skip
    offered = found["points"][0]["values"].keys()
    assert {"ppo.learning_rate", "ppo.num_updates", "rewards.0.weight"} <= offered and "kl.target" not in offered
    assert offered <= {knob["field"] for knob in found["knobs"]}
    assert run_actions.fork_pointer(tmp_path)("../one")["error"]


def test_a_fork_is_started_once_however_often_it_is_asked_for(finished, tmp_path):
    started = []
    ask = run_actions.forker(tmp_path, Access(), lambda run, lock: started.append(run.id) or over())
    asked = {"run": "one", "at": 30, "changes": {"kl.coef": 0.75, "ppo.num_updates": 45}, "request": "a-name-of-it"}
    made = [ask(asked, Caller()) for _ in range(2)]
    assert made[0] == made[1] == {"error": "", "problems": [], "run": made[0]["run"]}
    assert started == [made[0]["run"]]
    run = RunDirectory.open(tmp_path / started[0])
    assert (run.config().kl.coef, run.config().ppo.num_updates, run.metrics()[-1].update) == (0.75, 45, 30)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"run": "nobody", "at": 30}, "is not a run"),
        ({"run": "one", "at": 31}, "no checkpoint after update 31"),
        ({"run": "one", "at": "30"}, "no checkpoint after update -1"),
        ({"run": "one", "at": 30, "changes": {"prompts.source": "/etc/passwd"}}, "these can be set here"),
        ({"run": "one", "at": 30, "changes": {"kl.coef": "a lot"}}, "must be a number"),
        ({"run": "one", "at": 40, "changes": {}}, "must be more than 40"),
        (None, "is not a run id"),
    ],
)
def test_a_fork_that_cannot_be_is_one_sentence_and_nothing_is_made(asked, told, finished, tmp_path):
    answer = run_actions.forker(tmp_path, Access())(asked, Caller())
    assert told in " ".join([answer["error"], *(item["message"] for item in answer["problems"])]).replace(
        "There is ", ""
    )
    assert not answer["run"] and [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["one"]


def test_a_fork_on_a_public_page_keeps_to_its_caps(finished, tmp_path):
    asked = {"run": "one", "at": 30, "changes": {"ppo.num_updates": 100_000}}
    access = Access("space", tmp_path, "host token")
    answer = run_actions.forker(tmp_path, access)(asked, Caller("space", Role.VISITOR))
    assert [item["field"] for item in answer["problems"]] == ["ppo.num_updates"]
    asked["changes"] = {"ppo.num_updates": 41}
    made = run_actions.forker(tmp_path, access, lambda run, lock: over())(asked, Caller("space", Role.VISITOR))
    run = RunDirectory.open(tmp_path / made["run"])
    assert run.config().max_minutes == access.limits.numbers["max_minutes"] and requests.of(run).mode == "space"


@pytest.mark.parametrize("part", ["prompts", "model", "reference"])
def test_a_fork_of_what_may_not_be_named_here_does_not_tell_where_it_lies(part, finished, tmp_path):
    config = finished.config()
    own = getattr(config, part).model_copy(update={"source": str(tmp_path / "uploads" / "0123456789ab-mine.txt")})
    finished.publish(config.model_copy(update={part: own}))
    asked = {"run": "one", "at": 30, "changes": {}}
    answer = run_actions.forker(tmp_path, Access("space", tmp_path))(asked, Caller("space", Role.VISITOR))
    (problem,) = answer["problems"]
    assert problem["field"] == f"{part}.source" and problem["message"].endswith("(got '0123456789ab-mine.txt').")
    assert str(tmp_path) not in str(answer)

"""What a browser may ask of a run, and what it is answered when it asks for nonsense."""

import errno
import subprocess
import sys

import pytest

from playground.exports import saving
from playground.exports.card import Written
from playground.runs.folder import changes, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, to_json_line
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui.auth.access import Access, Caller, Role
from playground.ui.train import run_actions
from tests.ui import fake_run


@pytest.fixture
def living(tmp_path, monkeypatch):
    """A run that counts as alive."""
    run = RunDirectory.create(tmp_path, catalog.preset("kinder-reviews"), "one")
    RunWriter(run, 40).set_status(state="running")
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    return run


def functions(outputs, access=None, spawn=None, saver=None):
    """The server functions by name, as they are registered."""
    made = run_actions.guarded_functions(outputs, access or Access(), spawn, saver)
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


@pytest.mark.parametrize("run_id", ["../one", "nobody", None, {"a": 1}, ""])
def test_a_made_up_run_is_one_sentence(run_id, living, ask, workers):
    assert ask["resume_run"](run_id)["error"].endswith(".")
    assert workers == []
    assert ask["fork_points"](run_id)["error"]
    assert ask["end_run"](run_id)["error"]
    assert ask["save_model"]({"run": run_id, "as": "merged"})["error"]
    assert ask["delete_run"](run_id)["error"]
    assert ask["steer_run"]({"run": run_id, "command": "pause"})["error"]
    assert ask["change_settings"]({"run": run_id, "changes": {"kl.coef": 0.5}})["error"]
    assert ask["stop_run"](run_id)["error"]
    assert waiting(living) == []


def test_wrong_values_are_problems_by_field_and_nothing_is_asked_for(living, ask):
    changes = {"kl.coef": "plenty", "ppo.clip_range": -1, "seed": 3, "ppo.learning_rate": "", "ppo.entropy_coef": 0.01}
    problems = ask["change_settings"]({"run": "one", "changes": changes})["problems"]
    assert {item["field"] for item in problems} == {"kl.coef", "ppo.clip_range", "seed", "ppo.learning_rate"}
    assert waiting(living) == []


def test_an_ended_run_is_taken_up_once_however_often_it_is_asked_for(tmp_path, ask, workers):
    fake_run.write_ended(tmp_path, "cut", "killed", "interrupted")
    assert ask["resume_run"]("cut") == {"error": "", "attempt": 2}
    assert ask["resume_run"]("cut") == {"error": "", "attempt": 2}
    assert len(workers) == 1


def test_what_the_system_refuses_is_an_error_without_folders(living, ask, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "/home/teacher/outputs/one/control/stop")

    monkeypatch.setattr(RunDirectory, "request_stop", refuse)
    monkeypatch.setattr(changes, "request_edits", refuse)
    for answer in (ask["stop_run"]("one"), ask["change_settings"]({"run": "one", "changes": {"kl.coef": 0.5}})):
        assert "No space left on device (stop)" in answer["error"]
        assert "teacher" not in answer["error"]


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
    assert {"ppo.learning_rate", "ppo.num_updates"} <= offered
    assert "kl.target" not in offered
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
    assert bool(answer["error"]) == (field == "error")
    assert not answer.get("run")
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
    assert run.config().max_minutes == access.limits.numbers["max_minutes"]
    assert requests.of(run).mode == "space"


@pytest.mark.parametrize("part", ["prompts", "model", "reference"])
def test_a_fork_of_what_may_not_be_named_here_does_not_show_where_it_lies(part, finished, tmp_path):
    config = finished.config()
    own = getattr(config, part).model_copy(update={"source": str(tmp_path / "uploads" / "0123456789ab-mine.txt")})
    finished.publish(config.model_copy(update={part: own}))
    answer, _ = forked_by_a_visitor(tmp_path, changes={})
    assert [item["field"] for item in answer["problems"]] == [f"{part}.source"]
    assert "0123456789ab-mine.txt" in str(answer)
    assert str(tmp_path) not in str(answer)


def test_a_model_is_saved_below_the_outputs_folder_and_elsewhere_the_command_is_told(finished, tmp_path, monkeypatch):
    calls = []

    def save(run, service, kind, target, *, replace):
        calls.append((run.id, kind, target, replace))
        return saving.Saved(target, Written(kind, 40, 10, "fp32"), 8_300_000)

    monkeypatch.setattr(saving, "save", save)
    folder = tmp_path / "saved" / "one-merged"
    answer = functions(tmp_path, saver=True)["save_model"]({"run": "one", "as": "merged"})
    assert calls == [("one", "merged", folder, True)]
    assert answer["folder"] == str(folder)
    assert "Saved after update 40, 8.3 MB." in answer["sentence"]
    assert "from_pretrained" in answer["sentence"]
    refused = functions(tmp_path)["save_model"]({"run": "one"})
    assert "python -m playground save" in refused["error"]
    assert len(calls) == 1

"""What a browser may ask of a run, and what it is answered when it asks for nonsense. What becomes of a stop, a pause
or a fork is tested in tests/runs and tests/faults."""

import shutil
import subprocess

import pytest

from playground.exports import saving
from playground.exports.card import Written
from playground.runs.folder import changes, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, to_json_line
from playground.runs.folder.writer import RunWriter
from playground.runs.spawning import Here
from playground.setup import catalog
from playground.ui.auth.access import Access, Caller, Role
from playground.ui.train import run_actions
from tests.ui.asking import refused


def functions(outputs, spawn=None, saver=None):
    """The server functions by name, as they are registered."""
    guarded = run_actions.guarded_functions(outputs, Access(), spawn, saver)
    return {function.__name__: function for function in guarded}


@pytest.fixture
def ask(tmp_path):
    return functions(tmp_path)


def ended_process():
    return subprocess.Popen(["true"])


def test_wrong_values_are_problems_by_field_and_nothing_is_asked_of_the_worker(tmp_path, monkeypatch, ask):
    run = RunDirectory.create(tmp_path, catalog.preset("kinder-reviews"), "one")
    RunWriter(run, 40).set_status(state="running")
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    changes = {"kl.coef": "plenty", "ppo.clip_range": -1, "seed": 3, "ppo.learning_rate": "", "ppo.entropy_coef": 0.01}
    problems = ask["change_settings"]({"run": "one", "changes": changes})["problems"]
    assert {item["field"] for item in problems} == {"kl.coef", "ppo.clip_range", "seed", "ppo.learning_rate"}
    assert list(run.control_path.iterdir()) == []


@pytest.fixture
def finished(recorded, tmp_path):
    """A run that has ended, with checkpoints after updates 10 to 40, and in which beta was changed after update 24."""
    run = RunDirectory(shutil.copytree(recorded / "kinder-reviews", tmp_path / "one"))
    edit = Event(seq=90, time=0, kind=changes.EDIT, update=24, data={"field": "kl.coef", "value": 0.5})
    with open(run.events_path, "a", encoding="utf-8") as file:
        file.write(to_json_line(edit))
    return run


def test_a_run_can_be_forked_at_its_checkpoints_with_what_held_there(finished, ask):
    offer = ask["fork_points"]("one")
    betas = {point["update"]: point["values"]["kl.coef"] for point in offer["points"]}
    assert betas == {10: 0.25, 20: 0.25, 30: 0.5, 40: 0.5}
    fields = offer["points"][0]["values"].keys()
    assert {"ppo.learning_rate", "ppo.num_updates"} <= fields
    assert "kl.target" not in fields
    assert fields <= {knob["field"] for knob in offer["knobs"]}


def test_two_presses_make_one_fork_with_the_changes_asked_for(finished, tmp_path):
    started = []
    ask = functions(tmp_path, spawn=Here(lambda run, lock: started.append(run.id) or ended_process()))["fork_run"]
    asked = {"run": "one", "at": 30, "changes": {"kl.coef": 0.75, "ppo.num_updates": 45}, "request": "a-name-of-it"}
    first, second = (ask(asked) for _ in range(2))
    assert first == second == {"error": "", "run": started[0]}
    assert len(started) == 1
    run = RunDirectory.open(tmp_path / started[0])
    assert (run.config().kl.coef, run.config().ppo.num_updates, run.metrics()[-1].update) == (0.75, 45, 30)


@pytest.mark.parametrize(("asked", "fields", "error"), refused("forks"))
def test_a_fork_that_cannot_be_says_why_and_is_not_made(asked, fields, error, finished, ask):
    answer = ask["fork_run"](asked)
    assert [item["field"] for item in answer.get("problems", [])] == fields
    assert error in answer["error"]
    assert not answer.get("run")
    assert [path.name for path in finished.path.parent.iterdir() if not path.name.startswith(".")] == ["one"]


def forked_by_a_visitor(outputs, **asked):
    access = Access("space", outputs, "host token")
    make = run_actions.RunActions(outputs, access, Here(lambda run, lock: ended_process())).fork_run
    return make({"run": "one", "at": 30, **asked}, Caller("space", Role.VISITOR)), access


def test_a_fork_on_a_public_page_keeps_to_its_caps(finished, tmp_path):
    answer, _ = forked_by_a_visitor(tmp_path, changes={"ppo.num_updates": 100_000})
    assert [item["field"] for item in answer["problems"]] == ["ppo.num_updates"]
    answer, access = forked_by_a_visitor(tmp_path, changes={"ppo.num_updates": 41})
    run = RunDirectory.open(tmp_path / answer["run"])
    assert run.config().max_minutes == access.limits.numbers["max_minutes"]
    assert requests.of(run).mode == "space"


@pytest.mark.parametrize("part", ["prompts", "model", "reference"])
def test_a_fork_of_what_may_not_be_named_on_a_public_page_does_not_show_where_it_lies(part, finished, tmp_path):
    config = finished.config()
    upload = getattr(config, part).model_copy(update={"source": str(tmp_path / "uploads" / "0123456789ab-mine.txt")})
    finished.publish(config.model_copy(update={part: upload}))
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
    assert "python -m playground save" in functions(tmp_path)["save_model"]({"run": "one"})["error"]

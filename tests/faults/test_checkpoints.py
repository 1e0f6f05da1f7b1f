"""A worker that dies anywhere while it writes a checkpoint, and a checkpoint that is damaged afterwards: the run goes
on from the newest one that is whole, and says which is not."""

import json
import os
import shutil
from pathlib import Path

import pytest

from playground.errors import ModelNotFound
from playground.runs.folder import checkpoints, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.folder.writer import RunWriter
from playground.training.models import checkpoint_files
from playground.training.process.session import Session
from playground.ui.feed import run_state
from tests.faults import resuming
from tests.support import config_with

DIED = 77
CRASHED = "crash at a point of writing a checkpoint: resumed from the newest whole one"
DAMAGED = "newest checkpoint damaged: named, skipped, resumed from the one before"


@pytest.fixture(scope="module")
def halfway(tmp_path_factory, model):
    """A run with checkpoints after updates 3 and 4, interrupted in update 6: the next save is of update 5."""
    config = resuming.config(model, checkpoint__every=1, ppo__num_updates=6)
    run = RunDirectory.create(tmp_path_factory.mktemp("halfway"), config, "run")
    resuming.broken_off(run, 4)
    assert [checkpoints.update_of(path) for path in run.checkpoints()][-2:] == [3, 4]  # and perhaps the best
    return run


@pytest.fixture
def run(halfway, tmp_path):
    return RunDirectory(shutil.copytree(halfway.path, tmp_path / "run"))


@pytest.fixture(scope="module")
def session(halfway, tmp_path_factory):
    """One attempt that has made update 5 and is about to save it; used by forked children only."""
    run = RunDirectory(shutil.copytree(halfway.path, tmp_path_factory.mktemp("session") / "run"))
    resuming.queue_again(run)
    session = Session(run, run.config(), RunWriter(run, 6, 2), lambda: None)
    session.begin()
    session.record(session.trainer.update())
    yield session


def resumed(run):
    """The next attempt: from which update it went on, and what it warns of."""
    before = len(run.all_events())
    resuming.resume(run)
    events = run.all_events()[before:]
    resumed_from = [event.update for event in events if event.kind == "resumed"]
    return resumed_from, [event.message for event in events if event.kind == "warning"]


# Where it dies: the function and which call of it, at its beginning or its end, and the newest whole checkpoint then.
POINTS = {
    "opening the folder": (Path, "mkdir", 1, False, 4),
    "writing the optimizer": (checkpoint_files, "_save_tensors", 2, True, 4),
    "before the manifest": (checkpoint_files, "_save_json", 2, True, 4),
    "before the rename": (os, "rename", 1, True, 4),
    "after the rename": (os, "rename", 1, False, 5),
    "while old ones are deleted": (os, "unlink", 2, True, 5),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_dies_while_it_writes_a_checkpoint_goes_on_from_a_whole_one(run, session, figure, point):
    owner, name, call, before, expected = POINTS[point]
    original, left = getattr(owner, name), [call]

    def fatal(*arguments, **options):
        left[0] -= 1
        if left[0] == 0 and before:
            os._exit(DIED)
        answer = original(*arguments, **options)
        if left[0] == 0:
            os._exit(DIED)
        return answer

    child = os.fork()
    if not child:
        try:
            session.run = session.writer.run = run
            session.writer._files = ()
            setattr(owner, name, fatal)
            session.save()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == DIED, "it did not come that far"
    newest, problems, _ = checkpoints.search(run)
    assert newest is not None
    assert (newest.update, problems) == (expected, [])
    resumed_from, _ = resumed(run)
    names = {path.name for path in run.checkpoints_path.iterdir()}
    clean = not [name for name in names if name.startswith(".")] and "update-000006" in names
    figure(CRASHED, 1, int(resumed_from == [expected] and clean))


def flip(path):
    """Change one bit in its middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 8
    path.write_bytes(data)


DAMAGES = {
    "a bit of the weights": ("model.safetensors", flip),
    "a bit of the optimizer": ("optimizer.safetensors", flip),
    "an empty file": ("critic.safetensors", lambda path: os.truncate(path, 0)),
    "manifest cut": ("MANIFEST.json", lambda path: os.truncate(path, path.stat().st_size - 20)),
    "a file gone": ("tokenizer.json", Path.unlink),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_checkpoint_is_named_and_skipped(what, run, figure):
    name, damage = DAMAGES[what]
    damage(run.checkpoints_path / "update-000004" / name)
    newest, problems, _ = checkpoints.search(run)
    assert newest is not None
    assert (newest.update, len(problems)) == (3, 1)
    assert "update-000004" in problems[0]
    resumed_from, warnings = resumed(run)
    named = [message for message in warnings if "update-000004" in message]
    leftovers = [path.name for path in run.checkpoints_path.iterdir() if path.name.startswith(".")]
    assert not leftovers
    assert all(not checkpoints.problem_of(path) for path in run.checkpoints())
    figure(DAMAGED, 1, int(resumed_from == [3] and named == problems))


def test_weights_that_cannot_be_gone_on_from_do_not_push_out_what_the_attempt_saves(run):
    folder = run.checkpoints()[-1]  # becomes as one was before a run could be resumed: whole, and weights only
    (folder / checkpoints.OPTIMIZER).unlink()
    manifest = json.loads((folder / checkpoints.MANIFEST).read_text())
    del manifest["files"][checkpoints.OPTIMIZER]
    (folder / checkpoints.MANIFEST).write_text(json.dumps(manifest))
    assert not checkpoints.problem_of(folder)
    (run.checkpoints_path / ".tmp-update-000005-1").mkdir()
    resuming.queue_again(run)
    newest_updates = []

    def see(session):
        if session.writer.status.state == "running":
            newest = run.latest_checkpoint()
            newest_updates.append(checkpoints.update_of(newest) if newest else 0)
            assert not list(run.checkpoints_path.glob(".tmp-*"))

    resuming.attempt(run, see)
    assert resuming.resumed_at(run) == [3]
    assert list(dict.fromkeys(newest_updates)) == list(range(3, 6)), "its own, one after the other"
    assert [checkpoints.update_of(folder) for folder in run.checkpoints()[-2:]] == [5, 6]
    assert sum("not the state of the optimizer" in event.message for event in run.events()) == 1


def keyed(run):
    """Begun anew as runs are that a person asks for, with a key in their checkpoints, and broken off again."""
    keyed_run = RunDirectory.create(run.path.parent, run.config(), f"keyed-{len(list(run.path.parent.iterdir()))}")
    requests.record(keyed_run, Request(), "cpu")
    resuming.broken_off(keyed_run, 4)
    return keyed_run


def test_a_checkpoint_of_another_run_is_named_and_passed_over_and_a_copied_run_goes_on(run):
    own, other = keyed(run), keyed(run)
    copy = RunDirectory(shutil.copytree(own.path, run.path.parent / "copy"))
    assert checkpoints.search(copy).problems == []
    assert resumed(copy) == ([4], [])
    shutil.rmtree(own.checkpoints_path)
    shutil.copytree(other.checkpoints_path, own.checkpoints_path)
    search = checkpoints.search(own)
    assert search.found is None
    assert "another run" in search.problems[0]
    assert (run_state.resume_offer(own)["from"], run_state.resume_offer(own)["skipped"]) == (0, search.problems)
    resumed_from, warnings = resumed(own)
    assert own.status().state == "finished"
    assert resumed_from == [0]
    assert warnings[: len(search.problems)] == search.problems
    assert [item.update for item in own.metrics()] == [1, 2, 3, 4, 5, 6]


def test_rewards_that_were_changed_in_config_yaml_end_the_run_with_a_sentence(run):
    names = [path.name for path in run.checkpoints()]
    run.publish(config_with(run.config().model_dump(mode="json"), {"score__normalise": "none"}))
    with pytest.raises(ModelNotFound, match="another model or other rewards"):
        resumed(run)
    assert [path.name for path in run.checkpoints()] == names  # they stay as they are

"""A worker that dies anywhere while it writes a checkpoint, and a checkpoint that is damaged afterwards: the run goes
on from the newest one that is whole, and says which is not."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.errors import ModelNotFound
from playground.runs.folder import checkpoints, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session
from playground.ui.live import run_state
from tests.faults import resuming
from tests.figures import Figure
from tests.support import config_with

DIED = 77
CRASHED = "crash at a point of writing a checkpoint: resumed from the newest whole one"
DAMAGED = "newest checkpoint damaged: named, skipped, resumed from the one before"


@pytest.fixture(scope="module")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run with checkpoints after updates 3 and 4, interrupted in update 6: the next save is of update 5."""
    folder = tmp_path_factory.mktemp("halfway")
    config = resuming.config(resuming.tiny_model(folder / "model"), checkpoint__every=1, ppo__num_updates=6)
    run = RunDirectory.create(folder, config, "run")
    resuming.broken_off(run, 4)
    assert [path.name for path in run.checkpoints()] in (
        ["update-000003", "update-000004"], ["update-000002", "update-000003", "update-000004"],
        ["update-000001", "update-000003", "update-000004"],
    )  # fmt: skip
    return run


@pytest.fixture
def run(halfway: RunDirectory, tmp_path: Path) -> RunDirectory:
    """A copy to break."""
    shutil.copytree(halfway.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


@pytest.fixture(scope="module")
def session(halfway: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One attempt that has made update 5 and is about to save it; used by forked children only."""
    copy = tmp_path_factory.mktemp("session") / "run"
    shutil.copytree(halfway.path, copy)
    run = RunDirectory(copy)
    resuming.queue_again(run)
    made = Session(run, run.config(), RunWriter(run, 6, 2), lambda: None)
    made.begin()
    made.record(made.trainer.update())
    yield made


def dies_while_saving(session: Session, run: RunDirectory, arm: Callable[[], None]) -> None:
    """Save in a child process that `arm` makes die somewhere on the way."""
    child = os.fork()
    if not child:
        try:
            session.run = session.writer.run = run
            session.writer._files = ()
            arm()
            session.save()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == DIED, "it did not come that far"


def at_call(owner: Any, name: str, number: int, *, before: bool = True) -> Callable[[], None]:
    """Die at that call of a function, at its beginning or its end."""

    def arm() -> None:
        original, left = getattr(owner, name), [number]

        def fatal(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and before:
                os._exit(DIED)
            found = original(*arguments, **options)
            if left[0] == 0:
                os._exit(DIED)
            return found

        setattr(owner, name, fatal)

    return arm


def points() -> dict[str, tuple[Callable[[], None], int]]:
    """Where it dies, and the update of the newest checkpoint that is whole then."""
    from playground.training.models import checkpoint_files as writing

    return {
        "opening the folder": (at_call(Path, "mkdir", 1, before=False), 4),
        "writing the model": (at_call(writing, "_save_tensors", 1), 4),
        "writing the optimizer": (at_call(writing, "_save_tensors", 2), 4),
        "before the first fsync": (at_call(writing, "_bring_to_disk", 1), 4),
        "between two fsyncs": (at_call(writing, "_bring_to_disk", 3), 4),
        "before the manifest": (at_call(writing, "_save_json", 2), 4),
        "after the manifest": (at_call(writing, "_save_json", 2, before=False), 4),
        "before the rename": (at_call(os, "rename", 1), 4),
        "after the rename": (at_call(os, "rename", 1, before=False), 5),
        "reading it back": (at_call(checkpoints, "problem_of", 1), 5),
        "before old ones are deleted": (at_call(checkpoints, "prune", 1), 5),
        "while old ones are deleted": (at_call(os, "unlink", 2), 5),
    }


@pytest.mark.slow
@pytest.mark.parametrize("where", points())
def test_dying_while_a_checkpoint_is_written(
    where: str, run: RunDirectory, session: Session, figure: Figure
) -> None:  # fmt: skip
    arm, expected = points()[where]
    dies_while_saving(session, run, arm)
    found, problems, _ = checkpoints.search(run)
    assert found is not None and found.update == expected and problems == []
    resuming.queue_again(run)
    resuming.attempt(run)
    (event,) = [event for event in run.events() if event.kind == "resumed"]
    names = {path.name for path in run.checkpoints_path.iterdir()}
    clean = not [name for name in names if name.startswith(".")] and "update-000006" in names
    figure(CRASHED, 1, int(event.update == expected and clean))


def damages() -> dict[str, Callable[[Path], None]]:
    """Ten ways to damage the newest checkpoint."""
    dice = random.Random(5)

    def flip(name: str) -> Callable[[Path], None]:
        def do(folder: Path) -> None:
            data = bytearray((folder / name).read_bytes())
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            (folder / name).write_bytes(data)

        return do

    def cut(name: str, share: float) -> Callable[[Path], None]:
        def do(folder: Path) -> None:
            os.truncate(folder / name, int((folder / name).stat().st_size * share))

        return do

    return {
        "a bit of model.safetensors": flip("model.safetensors"),
        "a bit of optimizer.safetensors": flip("optimizer.safetensors"),
        "a bit of critic.safetensors": flip("critic.safetensors"),
        "a bit of trainer.json": flip("trainer.json"),
        "a bit of config.json": flip("config.json"),
        "model.safetensors cut": cut("model.safetensors", 0.5),
        "optimizer.safetensors empty": cut("optimizer.safetensors", 0),
        "MANIFEST.json cut": cut("MANIFEST.json", 0.9),
        "MANIFEST.json empty": cut("MANIFEST.json", 0),
        "tokenizer.json gone": lambda folder: (folder / "tokenizer.json").unlink(),
    }


@pytest.mark.parametrize("what", damages())
def test_a_damaged_checkpoint_is_named_and_skipped(what: str, run: RunDirectory, figure: Figure) -> None:
    damages()[what](run.checkpoints_path / "update-000004")
    found, problems, _ = checkpoints.search(run)
    assert found is not None and found.update == 3
    assert len(problems) == 1 and "update-000004" in problems[0]
    resuming.queue_again(run)
    resuming.attempt(run)
    events = run.events()
    named = [event.message for event in events if event.kind == "warning" and "update-000004" in event.message]
    went_on = [event.update for event in events if event.kind == "resumed"] == [3]
    leftovers = [path.name for path in run.checkpoints_path.iterdir() if path.name.startswith(".")]
    assert not leftovers and all(not checkpoints.problem_of(path) for path in run.checkpoints())
    figure(DAMAGED, 1, int(went_on and named == problems))


def without_optimizer(folder: Path) -> None:
    """As a checkpoint was before a run could be resumed: whole, and weights only."""
    (folder / checkpoints.OPTIMIZER).unlink()
    manifest = json.loads((folder / checkpoints.MANIFEST).read_text())
    del manifest["files"][checkpoints.OPTIMIZER]
    (folder / checkpoints.MANIFEST).write_text(json.dumps(manifest))
    assert not checkpoints.problem_of(folder)


@pytest.mark.parametrize("at_least", [4, 0], ids=["the newest one only", "all of them"])
def test_weights_that_cannot_be_gone_on_from_do_not_push_out_what_the_attempt_saves(
    run: RunDirectory, at_least: int
) -> None:
    old = [folder for folder in run.checkpoints() if checkpoints.update_of(folder) >= at_least]
    for folder in old:
        without_optimizer(folder)
    (run.checkpoints_path / ".tmp-update-000005-1").mkdir()
    resuming.queue_again(run)
    begins_at = 3 if at_least else 0
    shown: list[int] = []

    def look(session: Session) -> None:
        if session.writer.status.state == "running":
            newest = run.latest_checkpoint()
            shown.append(checkpoints.update_of(newest) if newest else 0)
            assert not list(run.checkpoints_path.glob(".tmp-*"))

    resuming.attempt(run, look)
    assert [event.update for event in run.events() if event.kind == "resumed"] == [begins_at]
    assert list(dict.fromkeys(shown)) == list(range(begins_at, 6)), "its own, one after the other"
    assert [checkpoints.update_of(folder) for folder in run.checkpoints()[-2:]] == [5, 6]
    assert sum("not the state of the optimizer" in event.message for event in run.events()) == len(old)


def test_a_checkpoint_whose_successor_was_about_to_take_its_place_is_still_one(run: RunDirectory) -> None:
    os.rename(run.checkpoints_path / "update-000004", run.checkpoints_path / ".old-update-000004")
    resuming.queue_again(run)
    resuming.attempt(run)
    assert [event.update for event in run.events() if event.kind == "resumed"] == [4]
    assert [path.name for path in run.checkpoints_path.glob(".*")] == []


@pytest.fixture(scope="module")
def other(halfway: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunDirectory]:
    """Makes a run that is asked for as runs are, and broken off after its checkpoint of update 4."""

    def made(name: str, **changes: Any) -> RunDirectory:
        base = halfway.config().model_dump(mode="json")
        run = RunDirectory.create(tmp_path_factory.mktemp(name), config_with(base, changes), name)
        requests.record(run, Request(), "cpu")
        resuming.broken_off(run, 4)
        return run

    return made


def resumed(run: RunDirectory) -> tuple[Session, list[str]]:
    """The next attempt, and what it warns of."""
    before = len(run.all_events())
    resuming.queue_again(run)
    session = resuming.attempt(run)
    return session, [event.message for event in run.all_events()[before:] if event.kind == "warning"]


def swapped(run: RunDirectory, source: RunDirectory) -> None:
    """Another run's checkpoints in the place of a run's own."""
    shutil.rmtree(run.checkpoints_path)
    shutil.copytree(source.checkpoints_path, run.checkpoints_path)


def test_a_checkpoint_of_a_run_with_other_rewards_is_not_gone_on_from_as_ones_own(other: Any) -> None:
    mine, theirs = other("mine"), other("theirs", rewards=[{"kind": "length", "target": 5.0}])
    swapped(mine, theirs)
    seen = checkpoints.search(mine)
    assert seen.found is None and "another run, with another model or other rewards" in seen.problems[0]
    assert run_state.resume_offer(mine)["from"] == 0 and run_state.resume_offer(mine)["skipped"] == seen.problems
    session, warnings = resumed(mine)
    assert mine.status().state == "finished" and warnings[: len(seen.problems)] == seen.problems
    assert [item.update for item in mine.metrics()] == [1, 2, 3, 4, 5, 6] and session.trainer.updates_done == 6


def test_one_of_a_run_with_the_same_rewards_is_and_what_is_missing_is_said(other: Any, tmp_path: Path) -> None:
    mine, theirs = other("mine"), other("theirs", seed=7)
    swapped(mine, theirs)
    for path in (mine.metrics_path, mine.samples_path):
        path.unlink()
    assert checkpoints.search(mine).found is not None
    _, warnings = resumed(mine)
    assert "The checkpoint update-000004 comes from another run with the same model and rewards." in warnings
    assert "The records of updates 1 to 4 are not in this folder, so the curves lack them." in warnings
    assert [item.update for item in mine.metrics()] == [5, 6]


def test_one_of_a_longer_run_does_not_finish_a_run_that_has_not_trained(other: Any) -> None:
    mine, theirs = other("mine"), other("theirs")
    swapped(mine, theirs)
    mine.publish(config_with(mine.config().model_dump(mode="json"), {"ppo__num_updates": 4}))
    assert "leaves nothing to do (this run has 4 updates)" in checkpoints.search(mine).problems[0]


def test_a_copy_of_a_whole_folder_goes_on_as_the_run_itself(other: Any, tmp_path: Path) -> None:
    shutil.copytree(other("mine").path, tmp_path / "copy")
    copy = RunDirectory(tmp_path / "copy")
    assert checkpoints.search(copy).problems == []
    _, warnings = resumed(copy)
    assert warnings == [] and [item.update for item in copy.metrics()] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("changes", [{"rewards": [{"kind": "length", "target": 3.0}]}, {"score__normalise": "none"}])
def test_rewards_that_were_changed_in_config_yaml_end_the_run_with_a_sentence(other: Any, changes: Any) -> None:
    run = other("mine")
    there = [path.name for path in run.checkpoints()]
    run.publish(config_with(run.config().model_dump(mode="json"), changes))
    with pytest.raises(ModelNotFound, match="made with another model or other rewards"):
        resumed(run)
    assert [path.name for path in run.checkpoints()] == there  # they stay as they are

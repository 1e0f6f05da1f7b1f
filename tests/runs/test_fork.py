"""Forks: with nothing changed they repeat their parent to the last bit; what cannot be changed is said by name."""

import shutil
from pathlib import Path

import pytest

from playground.analysis.run_figures import ListedRun
from playground.config import yaml_io
from playground.errors import InvalidConfig, RunNotResumable
from playground.runs import fork, launcher
from playground.runs.folder.directory import RunDirectory
from tests.faults import resuming
from tests.support import wait_until
from tests.training import tiny

SMALL = yaml_io.load(Path(__file__).with_name("small.yaml"))
REFUSED = "model.source=pocket-2m prompts.limit=8 seed=3 rewards.0.weight=2 ppo.num_updates=2 kl.coef=-1".split()


@pytest.fixture(scope="module")
def parent(tmp_path_factory, forker):
    run, process = launcher.start(SMALL, tmp_path_factory.mktemp("outputs"), "parent", forker)
    assert process.wait(120) == 0, run.log_tail()
    return run


def forked(parent, forker, *overrides):
    run, process = fork.fork(parent, 2, overrides, workers=forker)
    assert process.wait(120) == 0, run.log_tail()
    wait_until(lambda: run.status().ended)
    return run


def test_a_fork_with_nothing_changed_is_its_parent_to_the_last_bit(parent, forker):
    run = forked(parent, forker)
    assert resuming.are_same(run, parent)
    assert [(one.update, one.attempt) for one in run.rollouts()] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert (run.status().state, run.status().update) == ("finished", 4)
    assert not [event.message for event in run.events() if event.kind == "warning"]


def test_a_fork_knows_its_parent_and_parts_where_it_was_asked_to(parent, forker):
    run = forked(parent, forker, "kl.coef=0.9", "ppo.learning_rate=0.001", "ppo.num_updates=5")
    assert fork.parent_of(run.events()) == ("parent", 2)
    event = next(event for event in run.events() if event.kind == "fork")
    assert (event.data["changed"]["kl.coef"], event.data["before"]["kl.coef"]) == (0.9, parent.config().kl.coef)
    assert ListedRun.of(run).forked
    assert run.label().note == "Forked from parent after update 2: leash 0.9, 5 updates and learning rate 0.001"
    metrics = run.metrics()
    assert [*map(tiny.figures, metrics[:2])] == [*map(tiny.figures, parent.metrics()[:2])]
    assert [item.kl_coef for item in metrics] == [0.25, 0.25, 0.9, 0.9, 0.9]
    assert [item.update for item in metrics] == [1, 2, 3, 4, 5]
    assert fork.parent_of(parent.events()) is None


@pytest.mark.parametrize("override", REFUSED)
def test_what_cannot_be_changed_is_named_and_nothing_is_made(parent, override):
    there = sorted(parent.path.parent.iterdir())
    with pytest.raises(InvalidConfig) as caught:
        fork.fork(parent, 2, [override])
    field = override.partition("=")[0].replace("rewards.0.weight", "rewards")
    assert [problem.field for problem in caught.value.problems] == [field]
    assert sorted(parent.path.parent.iterdir()) == there


def test_an_update_without_a_checkpoint_and_a_damaged_one_are_refused_first(parent, tmp_path):
    with pytest.raises(RunNotResumable, match=r"^parent has no checkpoint after update 99 to train on from"):
        fork.fork(parent, 99, ["kl.coef=-1"])
    copy = RunDirectory(shutil.copytree(parent.path, tmp_path / "parent"))
    weights = copy.checkpoints_path / "update-000002" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(RunNotResumable, match=r"update-000002 of parent cannot be used: model.safetensors"):
        fork.fork(copy, 2, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parent"]

"""Makers of forks that are killed at each step: they have made a run, or nothing that is in the way."""

import json

import pytest

from playground.runs import fork, history
from playground.runs.folder import checkpoints, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.supervisor import Supervisor
from tests.runs.test_half_made import CLICK, MOST_STEPS, end_all, idle, killed, runs
from tests.support import small_config

FEWEST_STEPS = 20


def parent_in(outputs):
    """A run that has ended, with a checkpoint that can be forked."""
    run = RunDirectory.create(outputs, small_config(), "parent")
    run.status_path.write_text(Status(state="stopped", reason="stopped", update=2, num_updates=3).model_dump_json())
    folder = run.checkpoints_path / checkpoints.name_of(2)
    folder.mkdir(parents=True)
    (folder / checkpoints.OPTIMIZER).write_bytes(b"o" * 1000)
    (folder / "model.safetensors").write_bytes(b"m" * 1000)
    facts = {"update": 2, checkpoints.RUN_KEY: requests.of(run).key}
    (folder / checkpoints.TRAINER).write_text(json.dumps(facts))
    manifest = {"format": 1, "files": checkpoints.listed(folder)}
    (folder / checkpoints.MANIFEST).write_text(json.dumps(manifest))
    return run


@pytest.mark.parametrize("run_id", [None, "mine"])
def test_a_fork_that_was_killed_at_any_step_leaves_a_run_or_nothing(tmp_path, run_id):
    for step in range(MOST_STEPS):
        outputs = tmp_path / str(step)
        parent = parent_in(outputs)
        died = killed(step, outputs, lambda parent=parent: fork.fork(parent, 2, [], run_id, idle, CLICK))
        end_all(outputs)
        Supervisor(outputs, idle).look()
        left = runs(outputs) - {"parent"}
        for name in left:
            run = history.find_run(outputs, name)
            assert run.label().note == "Forked from parent after update 2, nothing changed", step
            assert [checkpoints.problem_of(folder) for folder in run.checkpoints()] == [""], step
        again = fork.fork(parent, 2, [], run_id, idle, CLICK).run
        assert runs(outputs) == {"parent", again.id}, step
        assert left <= {again.id}, step
        end_all(outputs)
        if not died:
            break
    assert not died
    assert step >= FEWEST_STEPS

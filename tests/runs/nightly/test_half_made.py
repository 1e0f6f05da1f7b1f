"""Makers of forks that are killed at each step: they have made a run, or nothing that is in the way."""

import json

import pytest

from playground.runs import fork, history
from playground.runs.folder import checkpoints, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.spawning import Here
from playground.runs.supervisor import Supervisor
from tests.exports import saved_runs
from tests.runs.test_half_made import CLICK, end_all, idle, killed_at_each_step, runs
from tests.support import small_config


def parent_in(outputs):
    """A run that has ended, with a checkpoint that can be forked."""
    run = saved_runs.write_records(outputs, "parent", small_config())
    folder = run.checkpoints_path / checkpoints.name_of(2)
    folder.mkdir(parents=True)
    (folder / checkpoints.OPTIMIZER).write_bytes(b"o" * 1000)
    (folder / "model.safetensors").write_bytes(b"m" * 1000)
    facts = {"update": 2, checkpoints.RUN_KEY: requests.of(run).key}
    (folder / checkpoints.TRAINER).write_text(json.dumps(facts))
    saved_runs.write_manifest(folder)
    return run


@pytest.mark.parametrize("run_id", [None, "mine"])
def test_a_fork_that_was_killed_at_any_step_leaves_a_run_or_nothing(tmp_path, run_id):
    def make(_, parent):
        return fork.fork(parent, 2, [], run_id, Here(idle), CLICK).run

    for outputs, parent in killed_at_each_step(tmp_path, parent_in, make, fewest=20):
        end_all(outputs)
        Supervisor(outputs, Here(idle)).look()
        left = runs(outputs) - {"parent"}
        for name in left:
            run = history.find_run(outputs, name)
            assert run.label().note == "Forked from parent after update 2, nothing changed"
            assert [checkpoints.problem_of(folder) for folder in run.checkpoints()] == [""]
        again = make(outputs, parent)
        assert runs(outputs) == {"parent", again.id}, outputs
        assert left <= {again.id}, outputs


def test_a_fork_whose_maker_was_killed_at_any_step_is_none_or_has_its_worker_in_the_end(tmp_path):
    def make(_, parent):
        return fork.fork(parent, 2, [], "mine", Here(idle))

    for outputs, _ in killed_at_each_step(tmp_path, parent_in, make, fewest=20):
        Supervisor(outputs, Here(idle)).look()
        assert runs(outputs) == {"parent"} or RunDirectory(outputs / "mine").is_alive(), outputs

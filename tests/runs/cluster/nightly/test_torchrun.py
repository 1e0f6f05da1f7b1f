"""A run that two agents of torchrun compute, as on two machines, without a launcher of ours."""

import socket
import subprocess
import sys

import pytest

from playground.runs import children
from playground.runs.folder.directory import RunDirectory
from tests.faults import resuming
from tests.support import data_beside

SETTINGS = data_beside(__file__, "several.yaml")


@pytest.mark.parametrize("name", SETTINGS)
def test_two_agents_learn_what_one_process_learns(outputs, tmp_path, name):
    model = resuming.tiny_model(tmp_path / "model")
    run = RunDirectory.create(outputs, resuming.config(model, **SETTINGS[name]), "two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    meet = ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={place}", "--rdzv-id=one"]
    command = [sys.executable, "-m", "torch.distributed.run", *meet, "-m", "playground.worker", str(run.path)]
    how = {"cwd": children.PROJECT, "env": children.torch_environment()}
    agents = [subprocess.Popen(command, **how) for _ in range(2)]
    assert [agent.wait(300) for agent in agents] == [0, 0], run.log_tail()
    assert {line.ranks for line in run.metrics()} == {2}
    assert resuming.apart(run, resuming.alone(run)) < 1e-5

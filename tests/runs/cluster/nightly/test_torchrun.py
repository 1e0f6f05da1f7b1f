"""A run that two agents of torchrun compute, as on two machines, without a launcher of ours."""

import subprocess
import sys

import pytest
from torch.distributed import TCPStore

from playground.runs import children
from playground.runs.folder.directory import RunDirectory
from tests.faults import resuming
from tests.support import data_beside

SETTINGS = data_beside(__file__, "several.yaml")


@pytest.mark.parametrize("name", SETTINGS)
def test_two_agents_learn_what_one_process_learns(outputs, tmp_path, name):
    model = resuming.tiny_model(tmp_path / "model")
    run = RunDirectory.create(outputs, resuming.config(model, **SETTINGS[name]), "two")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # where they meet; its port stays taken
    meet = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{store.port}", "--rdzv-conf=is_host=0", "--rdzv-id=one"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", *meet]
    how = {"cwd": children.PROJECT, "env": children.torch_environment()}
    agents = [subprocess.Popen([*torchrun, "-m", "playground.worker", str(run.path)], **how) for _ in range(2)]
    assert [agent.wait(300) for agent in agents] == [0, 0], run.log_tail()
    assert {line.ranks for line in run.metrics()} == {2}
    assert resuming.apart(run, resuming.alone(run)) < 1e-5

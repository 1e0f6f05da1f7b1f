"""What several tests of faults need: real workers from one warm process, and runs small enough for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playground.runs.folder.directory import RunDirectory
from tests.support import PROJECT, small_config

TINY = {
    "model": {"source": "pocket-1m"},
    "ppo": {"num_updates": 40, "batch_size": 4, "minibatch_size": 4, "micro_batch_size": 4, "num_epochs": 1},
    "sampling": {"max_new_tokens": 4},
    "evaluation": {"num_prompts": 2, "every": 1},
    "checkpoint": {"every": 1},
}


class Nursery:
    """See nursery.py."""

    def __init__(self) -> None:
        command, pipe = [sys.executable, "-m", "tests.faults.nursery"], subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=PROJECT
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == "ready"

    def worker(self, run: RunDirectory, phase: str = "none", how: str = "listening") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{run.path.resolve()} {phase} {how}\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def tiny(outputs: Path, name: str, **changes: object) -> RunDirectory:
    outputs.mkdir(exist_ok=True)
    return RunDirectory.create(outputs, small_config(name, **{**TINY, **changes}), name)

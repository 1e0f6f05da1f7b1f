"""Web processes for tests that kill them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import PROJECT, wait_until
from tests.ui.conftest import free_port

START_SECONDS = 120


@dataclass
class Server:
    """The web process of one outputs folder, which may be killed and started again. `worker` is the module of its
    workers; without one they are the real ones."""

    outputs: Path
    worker: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    process: subprocess.Popen[bytes] | None = None
    url: str = ""

    def start(self) -> None:
        """Start it and wait until it answers."""
        port = free_port()
        program = ["-m", "tests.faults.app_process", self.worker] if self.worker else ["app.py"]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", **dict(self.environment)}
        with open(self.outputs / f"server-{port}.log", "wb") as log:
            command = [sys.executable, *program, "--port", str(port), "--outputs", str(self.outputs)]
            self.process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log)
        self.url = f"http://127.0.0.1:{port}/"
        wait_until(self.answers, seconds=START_SECONDS)

    def answers(self) -> bool:
        """True once it serves."""
        assert self.process is not None and self.process.poll() is None, "the web process has ended"
        with contextlib.suppress(OSError):
            self.get("live/_home")
            return True
        return False

    def get(self, path: str) -> Any:
        """What it answers, as JSON."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def states(self) -> dict[str, str]:
        """The state of every run, as the page lists them."""
        return {run["id"]: run["state"] for run in self.get("live/_runs")["runs"]}

    def kill(self) -> None:
        """SIGKILL: it can do nothing about it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

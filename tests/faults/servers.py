"""Web processes for tests that kill them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.support import PROJECT, wait_until
from tests.ui.conftest import free_port

START_SECONDS = 120


class Server:
    """The web process of one outputs folder, which may be killed and started again. `worker` is the module of its
    workers; without one they are the real ones."""

    def __init__(self, outputs: Path, worker: str = "", **environment: str) -> None:
        self.outputs = outputs
        self._program = ["-m", "tests.faults.driver", worker] if worker else ["app.py"]
        self._environment = {**os.environ, "HF_HUB_OFFLINE": "1", **environment}
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        port = free_port()
        with open(self.outputs / f"server-{port}.log", "wb") as log:
            command = [sys.executable, *self._program, "--port", str(port), "--outputs", str(self.outputs)]
            self.process = subprocess.Popen(command, cwd=PROJECT, env=self._environment, stdout=log, stderr=log)
        self._url = f"http://127.0.0.1:{port}/"
        wait_until(self.answers, seconds=START_SECONDS)

    def answers(self) -> bool:
        """True once it serves."""
        assert self.process.poll() is None, "the web process has ended"
        with contextlib.suppress(OSError):
            self.get("live/_home")
            return True
        return False

    def get(self, path: str) -> Any:
        """What it answers, as JSON."""
        with urllib.request.urlopen(self._url + path, timeout=10) as answer:
            return json.load(answer)

    def states(self) -> dict[str, str]:
        """The state of every run, as the page lists them."""
        return {run["id"]: run["state"] for run in self.get("live/_runs")["runs"]}

    def kill(self) -> None:
        """SIGKILL: it can do nothing about it."""
        self.process.kill()
        self.process.wait()

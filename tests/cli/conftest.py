"""The command line as tests use it: in this process, or as a process of its own that can be interrupted."""

import json
import os
import signal
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest

from playground import cli
from playground.errors import ModelNotFound
from playground.models import hub
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.forking import Forked
from tests.support import data_beside, sample, small_config, update_metrics, wait_until

PATIENCE_SECONDS = 300
REFUSED = data_beside(__file__, "refused.yaml")


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def last_line(self):
        return self.out.splitlines()[-1]

    @property
    def data(self):
        return json.loads(self.out)

    @property
    def lines(self):
        """Of --json that prints one object per line."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def run(capsys, monkeypatch, fake_worker, outputs):
    """Runs one command in this process, on the outputs folder."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PLAYGROUND_OUTPUTS", str(outputs))

    def command(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        code = leaving.value.code
        return Result(code if isinstance(code, int) else 0, captured.out, captured.err)

    return command


@pytest.fixture
def preset(tmp_path):
    """A YAML file whose run does what the name says (see tests/fake_worker.py)."""

    def write(name):
        path = tmp_path / f"{name}.yaml"
        path.write_text(small_config(name).to_yaml())
        return path

    return write


@pytest.fixture
def ended(outputs):
    """A finished run with two updates, a warning, and hostile text in its samples."""
    finished = RunDirectory.create(outputs, small_config(kl={"coef": 0.3}), "one")
    writer = RunWriter(finished, num_updates=3)
    writer.samples([sample(0, "before", 0.0), sample(0, "after", 1.5, completion=" \x1b[31mred [bold]x[/bold] \x07")])
    writer.metrics(update_metrics(1))
    writer.metrics(update_metrics(2))
    writer.event("warning", "Too few prompts.")
    writer.set_status(update=2)
    writer.finish("finished")
    return finished


@pytest.fixture
def gated(monkeypatch):
    """What the hub says of someone/gated."""
    said = "someone/gated is closed: ask for access on its page."
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(hub, "facts_kept", Mock(side_effect=ModelNotFound(said)))
    return said


class Foreground(NamedTuple):
    """A command as a process of its own, its stdout and stderr in files."""

    process: Forked
    out: Path
    err: Path

    def press_ctrl_c(self, after):
        wait_until(lambda: after in self.err.read_text())
        self.process.send_signal(signal.SIGINT)

    def leaves_with(self, code):
        assert self.process.wait(PATIENCE_SECONDS) == code


@pytest.fixture
def foreground(tmp_path, outputs, scripted):
    started: list[Foreground] = []

    def start(*arguments):
        out, err = tmp_path / "stdout", tmp_path / "stderr"
        words = [str(err), *map(str, arguments), "--outputs", str(outputs)]
        with out.open("wb") as stdout:
            process = scripted.fork("tests.cli_with_fake_worker", words, os.environ, stdout.fileno())
        wait_until(err.exists)
        started.append(Foreground(process, out, err))
        return started[0]

    yield start
    for command in started:
        command.process.kill()

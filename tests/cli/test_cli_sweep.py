"""`python -m playground sweep`: what it makes, says, prints and leaves with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from playground import cli, cluster
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher, queue
from playground.sweeps import sweep_record
from tests.support import PROJECT, small_config, wait_until


class Result(NamedTuple):
    code: object
    out: str
    err: str


Sweep = Callable[..., Result]


@pytest.fixture
def sweep(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, outputs: Path, fake_worker: None
) -> Sweep:
    """Runs one `sweep` command in this process."""
    monkeypatch.setenv("COLUMNS", "140")

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            cli.main(["sweep", *map(str, arguments), "--outputs", str(outputs)])
        captured = capsys.readouterr()
        return Result(leaving.value.code or 0, captured.out, captured.err)

    return run


def preset(tmp_path: Path, does: str = "finish") -> Path:
    path = tmp_path / f"{does}.yaml"
    path.write_text(small_config(does).to_yaml())
    return path


VARY = ("--vary", "kl.coef=0.1,0.5", "--vary", "seed=0,1")


def test_a_sweep_trains_all_and_shows_each_setting_as_the_mean_of_its_seeds(
    sweep: Sweep, tmp_path: Path, outputs: Path
) -> None:
    result = sweep(preset(tmp_path), *VARY, "--name", "leash")
    assert result.code == 0 and result.out.splitlines()[-1] == "leash"
    assert "leash: 4 runs" in result.err and "4 of 4 done" in result.err
    (one, other) = [line.split() for line in result.out.splitlines() if line.startswith(("0.1 ", "0.5 "))]
    assert one[1:4] == other[1:4] == ["2", "of", "2"]
    assert (
        "+2.00" in result.out and "4.00" in result.out and "\u00b1 0.00" not in result.out
    )  # the fake worker's seeds agree
    assert [run.config().seed for run in sweep_record.runs_of(outputs, sweep_record.find(outputs, "leash"))] == [
        0, 1, 0, 1,
    ]  # fmt: skip


def test_one_seed_has_no_interval_and_says_so(sweep: Sweep, tmp_path: Path) -> None:
    result = sweep(preset(tmp_path), "--vary", "kl.coef=0.1,0.5")
    assert result.code == 0 and "+2.00" in result.out and "\u00b1" not in result.out
    assert "1 seed: no interval" in result.out


def test_everything_wrong_is_listed_and_nothing_is_made(sweep: Sweep, tmp_path: Path, outputs: Path) -> None:
    result = sweep(
        preset(tmp_path), "--vary", "kl.coef=-1,0.5", "--vary", "kl.none=1", "--vary", "seed=x", "--name", "No way"
    )
    assert result.code == 2 and result.out == ""
    for field in ("kl.coef: ", "kl.none: ", "seed: ", "name: "):
        assert field in result.err
    assert not outputs.exists()


def test_without_anything_that_varies_it_says_how(sweep: Sweep, tmp_path: Path) -> None:
    result = sweep(preset(tmp_path))
    assert result.code == 2 and "for example kl.coef=0.1,0.25,0.5" in result.err


def test_a_model_that_is_not_there_is_found_before_anything_is_made(
    sweep: Sweep, tmp_path: Path, outputs: Path
) -> None:
    result = sweep(preset(tmp_path), "--vary", "model.source=pocket-2m,pocket-9m")
    assert result.code == 2 and "pocket-9m" in result.err and result.err.count("model.source") == 1
    assert not outputs.exists()


def test_more_than_the_disk_holds_is_refused_for_all_runs_together(
    sweep: Sweep, tmp_path: Path, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.setup.estimates.disk.free_bytes", lambda folder: 200_000_000)
    result = sweep(preset(tmp_path), *VARY)
    assert result.code == 2 and "All runs together may need" in result.err and not outputs.exists()


def test_one_that_fails_costs_nobody_else_and_gives_exit_code_1(sweep: Sweep, tmp_path: Path) -> None:
    result = sweep(preset(tmp_path), "--vary", "name=finish,fail", "--name", "mixed")
    assert result.code == 1 and "2 of 2 done; 1 failed" in result.out
    assert "mixed-2 failed: Out of memory. Halve the batch." in result.out


def test_json_tells_what_begins_and_ends_and_the_table_at_last(sweep: Sweep, tmp_path: Path, outputs: Path) -> None:
    result = sweep(preset(tmp_path), *VARY, "--name", "leash", "--json")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert {line["type"] for line in lines[:-1]} == {"progress"} and lines[-1]["type"] == "end"
    assert lines[-2]["finished"] == 4 and lines[-2]["seconds_left"] == [0.0, 0.0]
    end = lines[-1]
    assert (end["sweep"], end["state"], end["finished"]) == ("leash", "finished", 4)
    assert end["runs"] == [str(outputs / f"leash-{number}") for number in range(1, 5)]
    assert [row["setting"] for row in end["table"]] == [{"kl.coef": 0.1}, {"kl.coef": 0.5}]
    assert end["table"][0]["score"] == {"mean": 2.0, "half": None, "seeds": 2}


def test_it_can_be_left_to_itself_shown_stopped_and_taken_up_again(sweep: Sweep, tmp_path: Path, outputs: Path) -> None:
    started = sweep(preset(tmp_path, "wait"), *VARY, "--name", "leash", "--no-wait")
    assert started.code == 0 and started.out == "leash\n"
    assert len(queue.waiting(outputs)) == 3
    shown = sweep("show", "leash")
    assert shown.code == 0 and "kl.coef 0.1, 0.5; seed 0, 1" in shown.out and "0 of 2" in shown.out
    stopped = sweep("stop", "leash")
    assert stopped.code == 0 and "4 runs stopped; 4 of 4 done; 4 stopped." in stopped.out
    assert "nothing was left to stop" in sweep("stop", "leash").out
    for run_id in ("leash-1", "leash-2"):
        config = RunDirectory(outputs / run_id).config()
        RunDirectory(outputs / run_id).publish(config.model_copy(update={"name": "finish"}))
    for run_id in ("leash-3", "leash-4"):
        RunDirectory(outputs / run_id).status_path.write_text('{"state": "failed", "reason": "invalid"}')
    resumed = sweep("resume", "leash")
    assert resumed.code == 1 and "2 of 4 runs go on." in resumed.err
    assert "leash-3 cannot be taken up again" in resumed.err and "4 of 4 done; 2 failed" in resumed.out


def test_the_same_command_again_takes_up_what_was_stopped(sweep: Sweep, tmp_path: Path, outputs: Path) -> None:
    command = (preset(tmp_path, "wait"), *VARY, "--name", "leash")
    assert sweep(*command, "--no-wait").code == 0 and sweep("stop", "leash").code == 0
    for run_id in ("leash-1", "leash-2", "leash-3", "leash-4"):
        config = RunDirectory(outputs / run_id).config()
        RunDirectory(outputs / run_id).publish(config.model_copy(update={"name": "finish"}))
    again = sweep(*command)
    assert again.code == 0 and "4 of 4 runs go on." in again.err and "4 of 4 done" in again.err
    assert "leash: 4 runs, all finished." in sweep(*command).err


def test_the_sweeps_are_listed(sweep: Sweep, tmp_path: Path) -> None:
    assert "There are no sweeps" in sweep("list").err
    sweep(preset(tmp_path), *VARY, "--name", "leash")
    (row,) = [line for line in sweep("list").out.splitlines() if line.startswith("leash")]
    assert "4 of 4 done" in row
    (facts,) = json.loads(sweep("list", "--json").out)
    assert (facts["sweep"], facts["finished"], facts["vary"]) == ("leash", 4, {"kl.coef": [0.1, 0.5], "seed": [0, 1]})


@pytest.mark.parametrize("command", ["show", "stop", "resume"])
def test_a_sweep_that_is_not_there_is_exit_code_2(sweep: Sweep, command: str) -> None:
    result = sweep(command, "../../etc")
    assert result.code == 2 and "There is no sweep" in result.err


def test_elsewhere_without_an_engine_is_exit_code_2(
    sweep: Sweep, tmp_path: Path, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cluster.BACKENDS, "ray", ("no_such_engine", "requirements.txt"))
    result = sweep(preset(tmp_path), *VARY, "--on", "ray")
    assert result.code == 2 and "needs the package `no_such_engine`" in result.err and not outputs.exists()


class Foreground(NamedTuple):
    """`sweep` as a process of its own, its output in files."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def press_ctrl_c(self, after: str) -> None:
        wait_until(lambda: after in self.err.read_text())
        self.process.send_signal(signal.SIGINT)


@pytest.fixture
def foreground(tmp_path: Path, outputs: Path) -> Iterator[Callable[[str], Foreground]]:
    started: list[Foreground] = []

    def start(does: str) -> Foreground:
        out, err = tmp_path / "out", tmp_path / "err"
        command = [sys.executable, "-m", "tests.cli_with_fake_worker", "sweep", str(preset(tmp_path, does)), *VARY,
                   "--name", "leash", "--outputs", str(outputs)]  # fmt: skip
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(command, cwd=PROJECT, stdout=stdout, stderr=stderr)
        started.append(Foreground(process, out, err))
        return started[0]

    yield start
    for item in started:
        item.process.kill()
        item.process.wait()


def test_ctrl_c_stops_all_of_them_and_leaves_with_3(foreground: Callable[[str], Foreground], outputs: Path) -> None:
    process, out, _ = shown = foreground("wait")
    shown.press_ctrl_c(after="1 running, 3 waiting")
    assert process.wait(60) == 3 and "4 of 4 done; 4 stopped" in out.read_text()
    assert not launcher.living_runs(outputs) and not queue.waiting(outputs)
    assert sum(len(RunDirectory(outputs / f"leash-{number}").metrics()) for number in (2, 3, 4)) == 0


def test_a_second_ctrl_c_leaves_the_one_that_trains_to_itself(
    foreground: Callable[[str], Foreground], outputs: Path
) -> None:
    process, out, _ = shown = foreground("deaf")
    shown.press_ctrl_c(after="1 running, 3 waiting")
    shown.press_ctrl_c(after="Press Ctrl-C once more")
    assert process.wait(60) == 3 and out.read_text().splitlines()[-1] == "leash"
    assert [run.id for run in launcher.living_runs(outputs)] == ["leash-1"] and not queue.waiting(outputs)

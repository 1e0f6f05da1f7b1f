"""Many start at once: one run for one click, one run at a time for one device, none overtaken, none lost."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.supervisor import SupervisorThread
from tests.faults.witness import LEDGER
from tests.figures import Figure
from tests.support import PROJECT, at_once, small_config, wait_until

STARTS = 50
ROUNDS = 10


@pytest.fixture(autouse=True)
def witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "WORKER_MODULE", "tests.faults.witness")


@pytest.fixture
def watched(outputs: Path) -> Iterator[Path]:
    """The outputs folder with two who drive its queue, as two web processes would."""
    outputs.mkdir()
    watches = [SupervisorThread(outputs), SupervisorThread(outputs)]
    for watch in watches:
        watch.start()
    yield outputs
    for watch in watches:
        watch.close()


def ledger(outputs: Path) -> list[tuple[str, str]]:
    """(run, alone or not), in the order in which they had their device."""
    path = outputs / LEDGER
    return [(line.split()[0], line.split()[1]) for line in path.read_text().splitlines()] if path.exists() else []


def all_ended(outputs: Path, count: int) -> bool:
    runs = [RunDirectory(path.parent) for path in outputs.glob("*/config.yaml")]
    return len(runs) == count and all(run.status().ended and not run.is_alive() for run in runs)


def test_fifty_starts_of_one_click_are_one_run(watched: Path, figure: Figure) -> None:
    good = 0
    for number in range(ROUNDS):
        found: list[str] = []
        request = Request(f"click {number}", visitor="a visitor")
        at_once(
            *[lambda r=request, f=found: f.append(launcher.start(small_config(), watched, request=r).run.id)] * STARTS
        )
        good += len(found) == STARTS and len(set(found)) == 1
    wait_until(lambda: all_ended(watched, ROUNDS), seconds=60)
    figure("50 starts at once with one id, in threads: one run, executed once", ROUNDS, good)
    assert sorted(Counter(name for name, _ in ledger(watched)).values()) == [1] * ROUNDS


@pytest.mark.slow
def test_fifty_starts_of_one_click_in_five_processes_are_one_run(watched: Path, figure: Figure) -> None:
    command = [sys.executable, "-m", "tests.faults.starting", str(watched), str(ROUNDS), str(STARTS // 5)]
    processes = [
        subprocess.Popen([*command, str(number)], cwd=PROJECT, stdout=subprocess.PIPE, text=True) for number in range(5)
    ]
    wait_until(lambda: len(list(watched.glob("ready-*"))) == 5, seconds=60)
    (watched / "go").touch()
    lines = [process.communicate(timeout=120)[0].splitlines() for process in processes]
    rounds = [" ".join(lines_of).split() for lines_of in zip(*lines, strict=True)]
    wait_until(lambda: all_ended(watched, ROUNDS), seconds=60)
    good = sum(len(lines_of) == STARTS and len(set(lines_of)) == 1 for lines_of in rounds)
    figure("50 starts at once with one id, in 5 processes: one run, executed once", ROUNDS, good)
    assert sorted(Counter(name for name, _ in ledger(watched)).values()) == [1] * ROUNDS


@pytest.mark.slow
def test_fifty_runs_for_one_device_go_one_at_a_time_in_order(outputs: Path, figure: Figure) -> None:
    def start(number: int) -> None:
        launcher.start(small_config(), outputs, request=Request(f"click {number}"))

    at_once(*[lambda n=number: start(n) for number in range(STARTS // 2)])
    before = queue.waiting(outputs)
    begun = [run.id for run in launcher.living_runs(outputs)] or [name for name, _ in ledger(outputs)]
    watch = SupervisorThread(outputs)
    watch.start()
    other = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.driving", str(outputs)], cwd=PROJECT, stdin=subprocess.PIPE
    )
    at_once(*[lambda n=number: start(n) for number in range(STARTS // 2, STARTS)])  # while the queue moves
    wait_until(lambda: all_ended(outputs, STARTS), seconds=180)
    watch.close()
    other.communicate(timeout=240)
    lines_of = ledger(outputs)
    names = [name for name, _ in lines_of]
    assert begun + before == names[: STARTS // 2]
    assert queue.entries(outputs) == []
    alone = {name for name, word in lines_of if word == "alone" and names.count(name) == 1}
    figure("50 starts for one device: one at a time, first come first served, none lost", STARTS, len(alone))

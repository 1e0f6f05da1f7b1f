"""Many start at once: one run for one click, one run at a time for one device, none overtaken, none lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.supervisor import SupervisorThread
from tests.faults.witness import SECONDS_VARIABLE, ledger
from tests.figures import Figure
from tests.support import at_once, small_config, wait_until

STARTS, ROUNDS = 50, 10


@pytest.fixture
def watched(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The outputs folder with two who drive its queue, as two web processes would."""
    monkeypatch.setattr(launcher, "WORKER_MODULE", "tests.faults.witness")
    outputs.mkdir()
    watches = [SupervisorThread(outputs), SupervisorThread(outputs)]
    for watch in watches:
        watch.start()
    yield outputs
    for watch in watches:
        watch.close()


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
    wait_until(lambda: all_ended(watched, ROUNDS))
    figure("50 starts at once with one id, in threads: one run, executed once", ROUNDS, good)
    assert sorted(Counter(line.split()[0] for line in ledger(watched)).values()) == [1] * ROUNDS


@pytest.mark.nightly
def test_fifty_runs_for_one_device_go_one_at_a_time_in_order(
    watched: Path, figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(number: int) -> None:
        launcher.start(small_config(), watched, request=Request(f"click {number}"))

    monkeypatch.setenv(SECONDS_VARIABLE, "0.05")
    at_once(*[lambda n=number: start(n) for number in range(STARTS)])
    waiting = queue.waiting(watched)
    wait_until(lambda: all_ended(watched, STARTS), seconds=180)
    lines = ledger(watched)
    names = [line.split()[0] for line in lines]
    assert waiting
    assert names[-len(waiting) :] == waiting
    assert queue.entries(watched) == []
    alone = {
        name for name, line in zip(names, lines, strict=True) if line.endswith(" alone") and names.count(name) == 1
    }
    figure("50 starts for one device: one at a time, first come first served, none lost", STARTS, len(alone))

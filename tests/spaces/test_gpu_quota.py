"""Which runs call a GPU that is there for seconds, for how long, and what a visitor is told of their quota."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from playground.config import RunConfig
from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.folder.requests import Request
from playground.runs.spawning import Elsewhere
from playground.setup.devices import Device, GpuCalls
from playground.setup.estimates import gpu_calls
from playground.setup.limits import LIMITS, in_words
from playground.ui.auth import gpu_quota
from playground.ui.auth.visitors import Visitor
from playground.ui.train import filling, form_parts
from tests.support import small_config

GPU = Device("cuda:0", "ZeroGPU", 48 * 10**9, 48 * 10**9)
CALLS = GpuCalls(GPU, 60)
LARGE = {"model": {"source": "HuggingFaceTB/SmolLM2-135M"}}
ME, OTHER = Visitor("cookie", "address"), Visitor("another", "address")


def large(**changes: Any) -> RunConfig:
    return small_config(**LARGE, **changes)


def test_only_a_model_beyond_the_caps_of_a_public_page_calls_the_gpu(tmp_path: Path) -> None:
    asked = gpu_calls.asked
    assert asked(small_config(), CALLS, tmp_path) is None
    assert asked(small_config(ppo={"num_updates": 4_000}), CALLS, tmp_path) is None  # long, but on the processor
    assert asked(large(), CALLS, tmp_path) is CALLS
    assert asked(large(device="cpu"), CALLS, tmp_path) is None  # who names the processor gets it
    assert asked(large(), None, tmp_path) is None
    learned = [{"kind": "model", "source": "owner/reward-model"}]
    assert asked(small_config(rewards=learned), CALLS, tmp_path) is CALLS


@pytest.mark.parametrize(
    ("whole", "done", "minutes", "expected"),
    [
        (None, 0, None, 60),  # nothing is known: the most
        (31.2, 0, None, 42),  # the estimate, and ten seconds for saving, to the next whole one
        (31.2, 5, None, 26),  # half of it is behind
        (500.0, 0, None, 60),
        (2.0, 0, None, 20),  # never less than what loading and saving take
        (None, 0, 0.5, 40),  # a run with a limit of its own
    ],
)
def test_a_call_is_as_long_as_the_estimate_says(
    whole: float | None, done: int, minutes: float | None, expected: int
) -> None:
    config = large(ppo={"num_updates": 10}, max_minutes=minutes)
    assert gpu_calls.seconds(config, CALLS, whole, done) == expected


def ended(outputs: Path, name: str, visitor: Visitor, config: RunConfig, **status: Any) -> None:
    """A run that asked for a call, as it lies on the disk afterwards."""
    asking = Elsewhere(gpu_calls.SLOT, lambda run: None)
    run, _ = launcher.start(config, outputs, name, spawn=asking, request=Request(visitor=str(visitor)))
    queue.leave(run)
    known = {"state": "stopped", "updated_at": gpu_quota.time.time(), **status}
    run.status_path.write_text(Status(**known).model_dump_json(), encoding="utf-8")


@pytest.fixture
def seen(outputs: Path) -> Path:
    """Runs of two visitors, one of them of the day before yesterday, and one that was refused."""
    now, config = gpu_quota.time.time(), small_config()
    refused = (
        "There was no GPU: You have exceeded your free ZeroGPU quota (60s requested vs. 12s left). Try again in 3:00."
    )
    ended(outputs, "mine", ME, config, worked_seconds=31.0)
    ended(outputs, "refused", ME, config, worked_seconds=0.0, message=refused)
    ended(outputs, "old", ME, config, worked_seconds=500.0, updated_at=now - 2 * 86_400)
    ended(outputs, "theirs", OTHER, config, worked_seconds=77.0)
    return outputs


def test_what_a_visitor_has_used_is_read_from_their_runs_of_the_day(seen: Path) -> None:
    assert gpu_quota.seen(seen, ME) == (31.0, 12)
    assert gpu_quota.seen(seen, OTHER) == (77.0, None)
    assert gpu_quota.seen(seen, Visitor("new", "elsewhere")) == (0.0, None)


def test_beside_start_stands_what_a_run_takes_and_what_is_known_of_the_rest(seen: Path) -> None:
    def said(config: RunConfig, calls: GpuCalls | None, takes: Any = None, visitor: Visitor = ME) -> str:
        return gpu_quota.sentence(config, calls, takes, seen, visitor)

    assert said(small_config(), None) == ""
    assert "takes nothing of your GPU minutes" in said(small_config(), CALLS)
    first = said(large(), CALLS, None, Visitor("new", "elsewhere"))
    assert first.startswith("Asks ZeroGPU for 60 seconds")
    assert "2 minutes a day without an account" in first
    assert "used" not in first
    assert "whole run" not in first
    later = said(large(), CALLS, (20.0, 30.0))
    assert "for 40 seconds" in later
    assert "whole run takes about 25 seconds" in later
    assert "have used 31 in the last 24 hours" in later
    assert "12 were left" in later
    assert "for 90 seconds" in said(large(), CALLS._replace(factor=1.5))  # of the quota, by the hub's own factor


def test_the_estimate_of_such_a_run_is_that_of_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form_parts.checks, "require_in_reach", lambda config, outputs: None)
    found = form_parts.needs(large(), large(), tmp_path, CALLS)
    assert found["device"]["label"] == "ZeroGPU"
    assert "Asks ZeroGPU" in found["quota"]
    assert form_parts.needs(small_config(), small_config(), tmp_path, CALLS)["device"]["name"] == "cpu"
    assert form_parts.needs(small_config(), small_config(), tmp_path)["quota"] == ""


def test_the_caps_speak_of_the_gpu_where_models_are_allowed_that_need_it() -> None:
    space = LIMITS["space"]._replace(calls=CALLS)
    assert not any("GPU" in line for line in in_words(space))
    assert any("60 seconds of GPU at a time" in line for line in in_words(space._replace(more="suggested")))


def test_runs_on_the_processor_have_workers_and_a_queue_beside_the_calls(outputs: Path) -> None:
    """Two of each kind: the second on the processor waits for the first, and no call waits for either."""
    called: list[str] = []
    workers: list[subprocess.Popen[bytes]] = []

    def work(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        sleeping = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        workers.append(subprocess.Popen(sleeping, stdin=subprocess.PIPE, pass_fds=(lock.fileno(),)))
        return workers[-1]

    both = Elsewhere(gpu_calls.SLOT, lambda run: called.append(run.id), lambda one: one.device == "auto", work)
    on_processor, on_gpu = small_config(device="cpu"), small_config(device="auto")
    capped = LIMITS["space"]._replace(calls=CALLS)
    try:
        for name, config in (("a", on_processor), ("b", on_processor), ("c", on_gpu), ("d", on_gpu)):
            launcher.start(config, outputs, name, spawn=both)
        assert called == ["c", "d"]
        assert len(workers) == 1
        assert queue.waiting(outputs) == ["b", "c", "d"]
        assert launcher.start_waiting(outputs, both) == []
        assert filling.start_label(on_processor, outputs, capped) == filling.ENQUEUE
        assert filling.start_label(large(), outputs, capped) == filling.START  # a call is made at once
        workers[0].communicate()
        assert [run.id for run in launcher.start_waiting(outputs, both)] == ["b"]
        assert queue.waiting(outputs) == ["c", "d"]
    finally:
        for process in workers:
            process.communicate()

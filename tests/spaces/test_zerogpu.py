"""A GPU that is there for seconds: what such a Space needs, which runs call the GPU, for how long, and what a visitor
is told of their quota. It is hosted, in small, in nightly/test_hosted.py."""

import subprocess
import sys
import time

import pytest

from playground.errors import InvalidConfig
from playground.runs import launcher, queue
from playground.runs.folder.records import Status
from playground.runs.folder.requests import Request
from playground.runs.spawning import Elsewhere, Here
from playground.setup import devices
from playground.setup.devices import Device, GpuCalls
from playground.setup.estimates import gpu_calls
from playground.setup.limits import LIMITS, in_words
from playground.ui import server, zero_gpu
from playground.ui.auth import gpu_quota
from playground.ui.auth.visitors import Visitor
from playground.ui.train import filling, form_parts
from tests.support import data_beside, small_config

CALLS = GpuCalls(Device("cuda:0", "ZeroGPU", 48 * 10**9, 48 * 10**9), 60)
TABLES = data_beside(__file__, "tables.yaml")
LARGE = {"model": {"source": "HuggingFaceTB/SmolLM2-135M"}}
ME, OTHER, NEWCOMER = Visitor("cookie", "address"), Visitor("another", "address"), Visitor("new", "elsewhere")
REFUSED = "You have exceeded your free ZeroGPU quota (60s requested vs. 12s left). Try again in 3:00."


@pytest.mark.parametrize(("changes", "calls"), TABLES["asks_for_a_call"])
def test_only_a_model_beyond_the_caps_of_a_public_page_calls_the_gpu(changes, calls, tmp_path):
    assert gpu_calls.asked(small_config(**changes), CALLS, tmp_path) is (CALLS if calls else None)
    assert gpu_calls.asked(small_config(**changes), None, tmp_path) is None


@pytest.mark.parametrize(("whole", "done", "minutes", "expected"), TABLES["calls"])
def test_a_call_is_as_long_as_the_estimate_says(whole, done, minutes, expected):
    config = small_config(**LARGE, ppo={"num_updates": 10}, max_minutes=minutes)
    assert gpu_calls.seconds(config, CALLS, whole, done) == expected


@pytest.fixture
def seen(outputs):
    """Runs that asked for a call, of two visitors; one is of the day before yesterday, and one was refused."""
    now = time.time()
    for name, visitor, status in (
        ("mine", ME, {"worked_seconds": 31.0}),
        ("refused", ME, {"worked_seconds": 0.0, "message": f"There was no GPU: {REFUSED}"}),
        ("old", ME, {"worked_seconds": 500.0, "updated_at": now - 2 * 86_400}),
        ("theirs", OTHER, {"worked_seconds": 77.0}),
    ):
        asking = Elsewhere(gpu_calls.SLOT, lambda run: None)
        run, _ = launcher.start(small_config(), outputs, name, workers=asking, request=Request(visitor=str(visitor)))
        queue.leave(run)
        ended = Status(**{"state": "stopped", "updated_at": now, **status})
        run.status_path.write_text(ended.model_dump_json(), encoding="utf-8")
    return outputs


def test_what_a_visitor_has_used_is_read_from_their_runs_of_the_day(seen):
    assert gpu_quota.seen(seen, ME) == (31.0, 12)
    assert gpu_quota.seen(seen, OTHER) == (77.0, None)
    assert gpu_quota.seen(seen, NEWCOMER) == (0.0, None)


@pytest.mark.parametrize(
    ("changes", "calls", "takes", "visitor", "words"),
    [
        ({}, CALLS, None, ME, ["takes nothing of your GPU minutes"]),
        (LARGE, CALLS, None, NEWCOMER, ["Asks ZeroGPU for 60 seconds", "2 minutes a day without an account"]),
        (LARGE, CALLS, (20.0, 30.0), ME, ["for 40 seconds", "whole run takes about 25 seconds"]),
        (LARGE, CALLS, None, ME, ["have used 31 in the last 24 hours", "12 were left"]),
        (LARGE, CALLS._replace(factor=1.5), None, ME, ["for 90 seconds"]),  # of the quota, by the hub's own factor
    ],
)
def test_beside_start_stands_what_a_run_takes_and_what_is_known_of_the_rest(
    changes, calls, takes, visitor, words, seen
):
    sentence = gpu_quota.sentence(small_config(**changes), calls, takes, seen, visitor)
    assert [word for word in words if word not in sentence] == []
    assert ("used" in sentence) == (visitor is ME and bool(changes))
    assert ("whole run" in sentence) == (takes is not None)
    assert gpu_quota.sentence(small_config(), None, takes, seen, visitor) == ""


def test_the_estimate_of_such_a_run_is_that_of_the_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(form_parts.checks, "require_in_reach", lambda config, outputs: None)
    large, small = small_config(**LARGE), small_config()
    needs = form_parts.needs(large, large, tmp_path, CALLS)
    assert needs["device"]["label"] == "ZeroGPU"
    assert "Asks ZeroGPU" in needs["quota"]
    assert form_parts.needs(small, small, tmp_path, CALLS)["device"]["name"] == "cpu"
    assert form_parts.needs(small, small, tmp_path)["quota"] == ""


def test_runs_on_the_processor_have_workers_and_a_queue_beside_the_calls(outputs):
    """Two of each kind: the second on the processor waits for the first, and no call waits for either."""
    called, workers = [], []

    def work(run, lock):
        reading = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        workers.append(subprocess.Popen(reading, stdin=subprocess.PIPE, pass_fds=(lock.fileno(),)))
        return workers[-1]

    class Both:
        def place(self, config):
            calling = Elsewhere(gpu_calls.SLOT, lambda run: called.append(run.id))
            return (calling if config.device == "auto" else Here(work)).place(config)

    both = Both()
    capped = LIMITS["space"]._replace(calls=CALLS)
    try:
        for name, device in (("a", "cpu"), ("b", "cpu"), ("c", "auto"), ("d", "auto")):
            launcher.start(small_config(device=device), outputs, name, workers=both)
        assert called == ["c", "d"]
        assert len(workers) == 1
        assert queue.waiting(outputs) == ["b", "c", "d"]
        assert launcher.start_waiting(outputs, both) == []
        assert filling.why_it_waits(small_config(device="cpu"), outputs, capped)
        assert filling.why_it_waits(small_config(**LARGE), outputs, capped) == ""  # a call is made at once
        workers[0].communicate()
        assert [run.id for run in launcher.start_waiting(outputs, both)] == ["b"]
        assert queue.waiting(outputs) == ["c", "d"]
    finally:
        for process in workers:
            process.communicate()


def test_a_space_without_its_package_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spaces", None)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    with pytest.raises(InvalidConfig, match=r"requirements-zerogpu\.txt"):
        server.new_demo(tmp_path, "space")


def test_the_caps_speak_of_the_gpu_where_models_need_it_and_calls_have_a_length_that_can_be(monkeypatch):
    space = LIMITS["space"]._replace(calls=CALLS)
    assert not any("GPU" in line for line in in_words(space))
    assert any("60 seconds of GPU at a time" in line for line in in_words(space._replace(more="suggested")))
    assert zero_gpu.seconds_of_a_call() == 60
    assert not devices.on_zero_gpu()
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    assert devices.on_zero_gpu()
    for seconds in ("10", "a minute", "4000"):
        monkeypatch.setenv(zero_gpu.SECONDS_VARIABLE, seconds)
        with pytest.raises(InvalidConfig, match="PLAYGROUND_ZEROGPU_SECONDS: must be a whole number from 20 to 1800"):
            zero_gpu.seconds_of_a_call()

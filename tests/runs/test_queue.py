"""The queue on disk: order, places, what happens to those that cannot run; and starts that are repeated."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import IO

import pytest

from playground.errors import RunBusy, RunNotFound
from playground.runs import history, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.setup import devices
from tests.support import small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")


@pytest.fixture
def holder(outputs: Path) -> RunDirectory:
    """A run that has the device until it is asked to stop."""
    return launcher.start(small_config("wait"), outputs, "holder").run


def waiting(outputs: Path, *names: str, **settings: str) -> list[RunDirectory]:
    return [launcher.start(small_config(**settings), outputs, name).run for name in names]


def end(run: RunDirectory) -> None:
    run.request_stop()
    wait_until(lambda: run.status().ended and not run.is_alive())


def test_those_who_wait_are_served_in_the_order_in_which_they_came(outputs: Path, holder: RunDirectory) -> None:
    runs = waiting(outputs, "zebra", "ape", "mole")
    assert queue.waiting(outputs) == ["zebra", "ape", "mole"]
    assert [queue.position(run) for run in runs] == [1, 2, 3]
    assert queue.position(holder) is None
    for run in runs:
        stamp = time.time() - 1e6 * (runs.index(run) + 1)  # the clock was set back, and back again
        os.utime(run.queue_path, (stamp, stamp))
    end(holder)
    for run in runs:
        assert [started.id for started in launcher.start_waiting(outputs)] == [run.id]
        assert launcher.start_waiting(outputs) == []
        wait_until(lambda run=run: run.status().state == "finished" and not run.is_alive())
    assert queue.entries(outputs) == []


def test_a_stop_takes_a_waiting_run_out_and_a_raw_request_does_too(outputs: Path, holder: RunDirectory) -> None:
    first, second, third = waiting(outputs, "first", "second", "third")
    launcher.stop(first)
    assert (first.status().state, first.status().reason) == ("stopped", "stopped")
    assert queue.position(second) == 1
    second.request_stop()
    assert second.status().state == "stopping"
    assert launcher.start_waiting(outputs) == []  # the device is taken; the wish is honoured all the same
    assert second.status_on_disk().state == "stopped"
    assert queue.waiting(outputs) == ["third"]
    assert [event.data["state"] for event in second.events()] == ["stopped"]
    assert second.status().updated_at == second.status().started_at  # it has not run for as long as it has waited
    assert third.status().state == "queued"
    assert holder.is_alive()


def test_a_deleted_run_and_one_with_damaged_settings_leave_the_queue(outputs: Path, holder: RunDirectory) -> None:
    gone, damaged, good = waiting(outputs, "gone", "damaged", "good")
    shutil.rmtree(gone.path)
    damaged.config_path.write_text("rewards: [")
    (outputs / queue.QUEUE / "Not A Run.json").write_text("{}")
    good.queue_path.write_text("no JSON")
    assert [entry.run for entry in queue.entries(outputs)] == ["gone", "damaged", "good"]
    end(holder)
    assert [run.id for run in launcher.start_waiting(outputs)] == ["good"]
    assert (damaged.status().state, damaged.status().reason) == ("failed", "damaged")
    assert damaged.status().message.startswith("Its config.yaml cannot be run: ")
    assert not gone.path.exists()
    assert queue.entries(outputs) == []
    wait_until(lambda: good.status().state == "finished")


def test_a_worker_that_cannot_be_started_is_an_end_with_words_and_the_next_one_goes(
    outputs: Path, holder: RunDirectory
) -> None:
    first, second = waiting(outputs, "first", "second")
    end(holder)

    def no_process(run: RunDirectory, lock: IO[bytes]) -> object:
        if run.id == "first":
            raise OSError(11, "Resource temporarily unavailable")
        return launcher.new_worker(run, lock)

    assert [run.id for run in launcher.start_waiting(outputs, no_process)] == ["second"]  # type: ignore[arg-type]
    assert first.status().message == "Its worker could not be started: Resource temporarily unavailable."
    assert (first.status().state, first.is_alive()) == ("failed", False)
    wait_until(lambda: second.status().state == "finished")


# resuming


def test_a_resumed_run_waits_where_the_device_is_taken(outputs: Path) -> None:
    first, process = launcher.start(small_config("wait"), outputs, "first")
    assert process is not None
    end(first)
    process.wait(timeout=120)
    second, _ = launcher.start(small_config("wait"), outputs, "second")
    assert launcher.resume(first).process is None
    assert (first.status().state, first.status().attempt, queue.position(first)) == ("queued", 2, 1)
    assert launcher.resume(first).process is None
    assert queue.waiting(outputs) == ["first"]
    with pytest.raises(RunBusy, match="still training"):
        launcher.resume(second)
    end(second)
    launcher.start_waiting(outputs)
    wait_until(lambda: first.status().state == "running")
    assert first.status().attempt == 2
    assert not first.stop_requested
    end(first)


# requests


def test_a_repeated_request_is_the_same_run_whatever_became_of_it(outputs: Path) -> None:
    first, process = launcher.start(small_config("wait"), outputs, request=Request("click-1"))
    assert process is not None
    again = launcher.start(small_config("other"), outputs, request=Request("click-1"))
    assert (again.run.id, again.process) == (first.id, None)
    end(first)
    assert launcher.start(small_config(), outputs, request=Request("click-1")).run.status().state == "stopped"
    assert launcher.start(small_config(), outputs, request=Request("click-2")).run.id != first.id
    assert launcher.start(small_config(), outputs, request=Request()).run.id != first.id


def test_a_request_whose_run_lies_in_the_bin_is_refused(outputs: Path, holder: RunDirectory) -> None:
    run = launcher.start(small_config(), outputs, request=Request("click")).run
    launcher.stop(run)
    history.delete_run(run)
    with pytest.raises(RunNotFound, match="has been deleted"):
        launcher.start(small_config(), outputs, request=Request("click"))
    history.empty_bin(outputs)
    assert launcher.start(small_config(), outputs, request=Request("click")).run.path.exists()


def test_what_is_kept_of_a_request_is_no_secret_and_no_path(outputs: Path) -> None:
    request_id, visitor = "../../etc/passwd\x00\ud800", "visitor \ud800\n"
    run = launcher.start(small_config(), outputs, request=Request(request_id, visitor, "space")).run
    kept = json.loads(run.request_path.read_text())
    assert set(kept) == {"key", "id", "visitor", "mode", "created_at", "slot"}
    assert len(kept["id"]) == 64
    assert (kept["visitor"], kept["mode"], kept["slot"]) == (visitor, "space", queue.slot_of(small_config()))
    everything = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert b"passwd" not in everything


GPUS = [
    *(devices.Device(f"cuda:{number}", "a GPU", 1, 1) for number in range(4)),
    devices.Device("cpu", "Processor", 1, 1),
]


@pytest.mark.parametrize(
    ("device", "ranks", "slot"),
    [
        ("cpu", 1, "cpu"),
        ("auto", 1, "cuda:0"),
        ("mps", 1, "mps"),
        ("cuda:0,2", 1, "cuda:0,cuda:2"),
        ("all", 1, "cuda:0,cuda:1,cuda:2,cuda:3"),
        ("auto", 2, "cuda:0,cuda:1"),
        ("cpu", 2, "cpu"),
    ],
)
def test_a_slot_names_the_devices_that_the_configuration_means(
    monkeypatch: pytest.MonkeyPatch, device: str, ranks: int, slot: str
) -> None:
    monkeypatch.setattr(devices, "available", lambda: GPUS)
    assert queue.slot_of(small_config(device=device, ranks=ranks)) == slot


def test_a_run_waits_for_all_its_devices_and_is_not_overtaken_for_one_of_them(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "available", lambda: GPUS)
    first = launcher.start(small_config("wait", device="cuda:1"), outputs, "first").run
    assert launcher.start(small_config("wait", device="cuda:0,1"), outputs, "both").process is None
    assert launcher.start(small_config("wait", device="cuda:0"), outputs, "later").process is None
    apart = launcher.start(small_config("wait", device="cuda:3"), outputs, "apart")
    assert apart.process is not None
    assert [queue.position(RunDirectory(outputs / name)) for name in ("both", "later")] == [1, 2]
    assert launcher.start_waiting(outputs) == []
    end(first)
    assert [run.id for run in launcher.start_waiting(outputs)] == ["both"]
    assert queue.waiting(outputs) == ["later"]
    end(RunDirectory(outputs / "both"))
    assert [run.id for run in launcher.start_waiting(outputs)] == ["later"]

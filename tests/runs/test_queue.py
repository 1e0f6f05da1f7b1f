"""The queue on disk: order, places, what happens to those that cannot run; and starts that are repeated."""

import json
import os
import shutil
import time

import pytest

from playground.errors import RunBusy, RunNotFound
from playground.runs import history, launcher, queue
from playground.runs.folder.requests import Request
from playground.runs.spawning import Here
from playground.setup import devices
from tests.support import data_beside, small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")


@pytest.fixture
def start(outputs):
    """Starts runs of a name, which is also what they do unless `does` says it."""

    def start(name, does="finish", **settings):
        return launcher.start(small_config(does, **settings), outputs, name)

    return start


@pytest.fixture
def holder(start):
    """A run that has the device until it is asked to stop."""
    return start("holder", "wait").run


def end(run):
    run.request_stop()
    wait_until(lambda: run.status().ended and not run.is_alive())


def test_those_who_wait_are_served_in_the_order_in_which_they_came(outputs, start, holder):
    runs = [start(name).run for name in ("zebra", "ape", "mole")]
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


def test_a_stop_takes_a_waiting_run_out_and_a_raw_request_does_too(outputs, start, holder):
    first, second, third = (start(name).run for name in ("first", "second", "third"))
    launcher.stop(first)
    assert (first.status().state, first.status().reason) == ("stopped", "stopped")
    assert queue.position(second) == 1
    second.request_stop()
    assert second.status().state == "stopping"
    assert launcher.start_waiting(outputs) == []  # the device is taken; the wish is honoured all the same
    assert (second.status_on_disk().state, queue.waiting(outputs)) == ("stopped", ["third"])
    assert [event.data["state"] for event in second.events()] == ["stopped"]
    assert second.status().updated_at == second.status().started_at  # it has not run for as long as it has waited
    assert third.status().state == "queued"
    assert holder.is_alive()


def test_what_cannot_be_run_leaves_the_queue_with_its_reason_and_the_next_one_goes(outputs, start, holder):
    gone, damaged, unstarted, good = (start(name).run for name in ("gone", "damaged", "unstarted", "good"))
    shutil.rmtree(gone.path)
    damaged.config_path.write_text("rewards: [")
    (outputs / queue.QUEUE / "Not A Run.json").write_text("{}")
    good.queue_path.write_text("no JSON")
    assert [entry.run for entry in queue.entries(outputs)] == ["gone", "damaged", "unstarted", "good"]
    end(holder)

    def no_process(run, lock):
        if run.id == "unstarted":
            raise OSError(11, "Resource temporarily unavailable")
        return launcher.new_worker(run, lock)

    assert [run.id for run in launcher.start_waiting(outputs, Here(no_process))] == ["good"]
    assert not gone.path.exists()
    assert (damaged.status().state, damaged.status().reason) == ("failed", "damaged")
    assert damaged.status().message.startswith("Its config.yaml cannot be run: ")
    assert unstarted.status().message == "Its worker could not be started: Resource temporarily unavailable."
    assert (unstarted.status().state, unstarted.is_alive()) == ("failed", False)
    assert queue.entries(outputs) == []
    wait_until(lambda: good.status().state == "finished")


def test_a_resumed_run_waits_where_the_device_is_taken(outputs, start):
    first, process = start("first", "wait")
    end(first)
    process.wait(timeout=120)
    second, _ = start("second", "wait")
    for _ in range(2):  # asked twice, it waits once
        assert launcher.resume(first).process is None
        assert (first.status().state, first.status().attempt, queue.position(first)) == ("queued", 2, 1)
        assert queue.waiting(outputs) == ["first"]
    with pytest.raises(RunBusy, match="still training"):
        launcher.resume(second)
    end(second)
    launcher.start_waiting(outputs)
    wait_until(lambda: first.status().state == "running")
    assert first.status().attempt == 2
    assert not first.stop_requested


def test_a_repeated_request_is_the_same_run_whatever_became_of_it(outputs):
    def start(request, does="finish"):
        return launcher.start(small_config(does), outputs, request=Request(*request))

    first, process = start(["click-1"], "wait")
    assert process is not None
    again = start(["click-1"], "other")
    assert (again.run.id, again.process) == (first.id, None)
    end(first)
    assert start(["click-1"]).run.status().state == "stopped"
    assert start(["click-2"]).run.id != first.id
    assert start([]).run.id != first.id
    history.delete_run(first)
    with pytest.raises(RunNotFound, match="has been deleted"):
        start(["click-1"])
    history.empty_bin(outputs)
    assert start(["click-1"]).run.path.exists()


def test_what_is_kept_of_a_request_is_no_secret_and_no_path(outputs):
    request_id, visitor = "../../etc/passwd\x00\ud800", "visitor \ud800\n"
    run = launcher.start(small_config(), outputs, request=Request(request_id, visitor, "space")).run
    record = json.loads(run.request_path.read_text())
    assert set(record) == {"key", "id", "visitor", "mode", "created_at", "slot"}
    assert len(record["id"]) == 64
    assert (record["visitor"], record["mode"], record["slot"]) == (visitor, "space", queue.slot_of(small_config()))
    everything = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert b"passwd" not in everything


@pytest.fixture
def four_gpus(monkeypatch):
    gpus = [devices.Device(f"cuda:{number}", "a GPU", 1, 1) for number in range(4)]
    monkeypatch.setattr(devices, "available", lambda: [*gpus, devices.Device("cpu", "Processor", 1, 1)])


@pytest.mark.parametrize(("device", "ranks", "slot"), data_beside(__file__, "slots.yaml"))
def test_a_slot_names_the_devices_that_the_configuration_means(four_gpus, device, ranks, slot):
    assert queue.slot_of(small_config(device=device, ranks=ranks)) == slot


def test_a_run_waits_for_all_its_devices_and_is_not_overtaken_for_one_of_them(outputs, start, four_gpus):
    first = start("first", "wait", device="cuda:1").run
    both, later = start("both", "wait", device="cuda:0,1"), start("later", "wait", device="cuda:0")
    assert both.process is later.process is None
    assert start("apart", "wait", device="cuda:3").process is not None
    assert [queue.position(item.run) for item in (both, later)] == [1, 2]
    assert launcher.start_waiting(outputs) == []
    end(first)
    assert [run.id for run in launcher.start_waiting(outputs)] == ["both"]
    assert queue.waiting(outputs) == ["later"]
    end(both.run)
    assert [run.id for run in launcher.start_waiting(outputs)] == ["later"]

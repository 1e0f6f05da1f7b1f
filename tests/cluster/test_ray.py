"""Runs on a Ray cluster of this machine: a head that computes nothing, and two nodes."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import psutil
import pytest
from ray.cluster_utils import Cluster

from playground.cluster import Options, hand_over, handing
from playground.cluster.news import Lost
from playground.cluster.places import ray_seat
from playground.cluster.places.ray_place import RayPlace, _Attempt
from playground.cluster.places.ray_seat import RaySeat
from playground.cluster.seat import ROOT
from playground.runs.folder import placed
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher
from playground.runs.steer import changes
from tests.faults.resuming import config, figures, tiny_model, weights
from tests.forking import Forker
from tests.support import wait_until

FAST = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 4}
SMALL = {"object_store_memory": 80_000_000, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": FAST, **SMALL})
    for _ in range(2):
        made.add_node(num_cpus=2, num_gpus=0, **SMALL)
    yield made
    made.shutdown()


@pytest.fixture
def drivers(cluster: Cluster, outputs: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """What `handed` has started; ended afterwards."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for driver in started:
        driver.kill()
        driver.wait()
    for folder in outputs.glob("*/worker.lock"):
        for process in workers(RunDirectory(folder.parent)):  # none, unless what ties them is broken
            process.kill()


def handed(cluster: Cluster, drivers: list[subprocess.Popen[bytes]], outputs: Path, *runs: RunDirectory) -> None:
    options = Options(address=cluster.address, checkpoint_seconds=0)
    drivers.append(hand_over(outputs, "sweep", [run.id for run in runs], "ray", options))


def seats(*runs: RunDirectory) -> list[str]:
    """Of which of these runs the nodes, which are all this machine, still have folders."""
    there = {path.name for path in Path(tempfile.gettempdir()).glob(f"{ROOT}/*/*")}
    return sorted(run.id for run in runs if run.id in there)


def log(outputs: Path) -> str:
    return (outputs / handing.LOGS / "sweep.log").read_text()


def workers(run: RunDirectory) -> list[psutil.Process]:
    """The processes on this machine that compute a run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if launcher.WORKER_MODULE in words and Path(words[-1]).name == run.id:
            found.append(process)
    return found


def has_worker(process: psutil.Process) -> bool:
    """Whether that process is at work still; nobody may have looked at its end yet."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def new_runs(outputs: Path, model: Path, *names: str) -> list[RunDirectory]:
    """Runs of four updates, which wait after the second."""
    made = [RunDirectory.create(outputs, config(model, ppo__num_updates=4), name) for name in names]
    for run in made:
        (run.control_path / "step").write_text("{}")
    return made


def is_after(run: RunDirectory, update: int) -> bool:
    saved = run.latest_checkpoint()
    return run.status().state == "paused" and run.status().update == update and saved is not None and (
        saved.name.endswith(str(update))
    )  # fmt: skip


def test_a_stop_reaches_the_worker_and_a_killed_driver_leaves_none(
    cluster: Cluster, drivers: list[subprocess.Popen[bytes]], outputs: Path, tmp_path: Path, forker: Forker
) -> None:
    stopped, left, torn = new_runs(outputs, tiny_model(tmp_path / "model"), "to-stop", "left-alone", "torn-off")
    handed(cluster, drivers, outputs, stopped, left, torn)
    assert stopped.status().state == "queued"
    wait_until(lambda: is_after(stopped, 1) and is_after(left, 1) and is_after(torn, 1))
    (orphan,) = workers(torn)
    orphan.parent().kill()  # the process of Ray's that it is below
    wait_until(lambda: not has_worker(orphan), 30)
    wait_until(lambda: torn.status().ended)
    assert (torn.status().state, torn.status().attempt) == ("finished", 2)
    launcher.stop(stopped)
    wait_until(lambda: stopped.status().ended)
    assert (stopped.status().state, stopped.status().message) == ("stopped", "Stopped after update 1.")
    assert drivers[0].poll() is None, log(outputs)
    wait_until(lambda: not workers(stopped), 30)
    assert len(workers(left)) == 1
    drivers[0].kill()
    wait_until(lambda: not workers(left), 30)
    assert left.status().reason == "place_lost" and left.status().update == 1
    resumed = launcher.resume(left, spawn=forker.spawn)
    assert resumed.process is not None and resumed.process.wait(120) == 0
    assert [item.attempt for item in left.metrics()] == [1, 2, 2, 2]


def test_runs_whose_node_dies_end_like_those_of_the_other_node(
    cluster: Cluster, drivers: list[subprocess.Popen[bytes]], outputs: Path, tmp_path: Path
) -> None:
    runs = new_runs(
        outputs,
        tiny_model(tmp_path / "model"),
        *(f"{tmp_path.name.replace('_', '-')[-20:].lower()}-{n}" for n in range(4)),
    )
    handed(cluster, drivers, outputs, *runs)
    wait_until(lambda: all(is_after(run, 1) for run in runs))
    for run in runs:
        changes.request_step(run)
    wait_until(lambda: all(is_after(run, 2) for run in runs))
    node_of = {run.id: (placed.read(run.path) or placed.Placed()).node for run in runs}
    doomed = next(node for node in cluster.worker_nodes if node.node_id[:8] in node_of[runs[0].id])
    cluster.remove_node(doomed, allow_graceful=False)
    lost = [run for run in runs if doomed.node_id[:8] in node_of[run.id]]
    others = [run for run in runs if run not in lost]
    assert others
    wait_until(lambda: all(run.status().attempt == 2 for run in lost))
    for run in others:
        changes.request_resume(run)
    assert drivers[0].wait(120) == 0, log(outputs)
    assert [run.status().state for run in runs] == ["finished"] * 4
    assert seats(*others) == []
    assert {run.id: [item.attempt for item in run.metrics()] for run in runs} == {
        run.id: [1, 1, 2, 2] if run in lost else [1, 1, 1, 1] for run in runs
    }
    assert all(weights(run) == weights(others[0]) != {} for run in runs)
    assert all(figures(run) == figures(others[0]) for run in runs)


def test_a_run_that_cannot_be_sent_is_a_loss_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def parcel() -> bytes:
        raise OSError("Stale file handle")

    place = RayPlace.__new__(RayPlace)  # without a cluster
    place._attempts = {"one": _Attempt(MagicMock(), parcel)}
    monkeypatch.setattr("playground.cluster.places.ray_place.ray.get", lambda reference: None)
    assert place._next_of("one") == [Lost("it could not be sent (Stale file handle)")]
    assert not place._attempts


def test_a_run_that_is_given_up_while_its_worker_is_started_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seat = RaySeat()
    made: list[MagicMock] = []

    def slowly(*_: object, **__: object) -> MagicMock:
        seat.leave()  # in the other thread of the actor
        made.append(MagicMock())
        return made[0]

    monkeypatch.setattr(ray_seat, "Seat", slowly)
    monkeypatch.setattr("ray.get_runtime_context", MagicMock())
    assert list(seat.news("one", b"", 0)) == []
    made[0].leave.assert_called_once_with()
    made[0].news.assert_not_called()

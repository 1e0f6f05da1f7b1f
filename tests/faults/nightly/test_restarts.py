"""The web process is killed: its workers go on, the queue keeps its order, what died meanwhile gets its true end; run
after run it keeps no files, threads, dead processes or memory."""

import json
import os
import signal
import urllib.request

import psutil
import pytest

from playground.config import yaml_io
from playground.runs import launcher, queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import TERMINAL
from playground.runs.folder.requests import Request
from tests.faults.test_starts import in_turn
from tests.support import PROJECT, config_with, small_config, wait_until
from tests.ui.conftest import Site

RUNS, WARM_UP = 50, 5
POOLED = (os.cpu_count() or 1) + 4  # threads of asyncio's pool, which come when more work at once is first to be done
PATIENCE_SECONDS = 180
WITH_FAKE_WORKERS = ("-m", "tests.faults.driver")
SMALL = PROJECT / "tests" / "runs" / "small.yaml"


class Server(Site):
    """The web process, which may be killed and started again."""

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def states(self):
        """The state of every run, as the page lists them."""
        return {run["id"]: run["state"] for run in self.get("live/_runs")["runs"]}

    def kill(self):
        """SIGKILL: it can do nothing about it."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def serve(outputs):
    """Starts web processes, and kills them in the end."""
    outputs.mkdir()
    servers = []

    def start(*program):
        servers.append(Server(outputs, program=program))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


def queued(outputs, config, run_id):
    """A run that waits for the next look at the queue: by the web process, which so becomes its worker's parent."""
    with launcher.one_at_a_time(outputs):  # as the launcher does: an entry of what is no run yet is cleared away
        run = RunDirectory.reserve(outputs, config, run_id)
        requests.record(run, Request(), "cpu")
        queue.enter(run, "cpu", attempt=1)
        run.publish(config)
    return run


def test_a_real_run_survives_the_death_of_its_server(serve, outputs, figure):
    server = serve("app.py")
    run = queued(outputs, config_with(yaml_io.read_yaml(SMALL), {"ppo__num_updates": 40}), "one")
    wait_until(lambda: run.status().state == "running" and run.status().update > 2, PATIENCE_SECONDS)
    worker = run.status().pid
    assert psutil.Process(worker).ppid() == server.process.pid
    server.kill()
    updates = run.status().update
    wait_until(lambda: run.status().ended or run.status().update > updates + 2)  # it goes on without its server
    server.start()
    listed, adopted = server.states()["one"], run.status()
    wait_until(lambda: server.states()["one"] in TERMINAL, PATIENCE_SECONDS)
    same = adopted.pid == run.status().pid == worker and server.states() == {"one": "finished"}
    updates, events = [item.update for item in run.metrics()], [event.seq for event in run.events()]
    begun = [event for event in run.events() if event.data.get("state") == "running"]
    whole = updates == list(range(1, len(updates) + 1)) and updates[-1:] == [run.status().update]
    once = events == list(range(len(events))) and len(begun) == run.status().attempt == 1
    survived = same and listed in ("running", "finished") and whole and once
    figure("server killed during a real run: same worker, every update once", 1, survived)


def test_what_died_while_nothing_looked_gets_its_end_and_the_next_one_its_turn(serve, outputs, figure):
    server = serve(*WITH_FAKE_WORKERS)
    first, second = queued(outputs, small_config("tick"), "first"), queued(outputs, small_config("finish"), "second")
    wait_until(lambda: first.status().update > 2)
    assert (second.status().state, queue.position(second)) == ("queued", 1)
    server.kill()
    os.kill(first.status().pid, signal.SIGKILL)
    wait_until(lambda: not first.is_alive())
    server.start()
    wait_until(lambda: second.status().state == "finished")
    on_disk = first.status_on_disk()
    states = [event.data.get("state") for event in first.events() if event.kind == "state"]
    survived = (on_disk.state, on_disk.reason, states) == ("interrupted", "killed", ["running", "interrupted"])
    figure("worker and server killed: the run has its true end, the next its turn", 1, survived)


def test_ten_queued_runs_are_each_executed_once_in_order_across_a_restart(serve, outputs, figure):
    names = [f"run-{number:02d}" for number in (3, 9, 1, 7, 5, 10, 2, 8, 6, 4)]
    *_, fifth = [queued(outputs, small_config("tick" if name == names[4] else "finish"), name) for name in names][:5]
    server = serve(*WITH_FAKE_WORKERS)
    wait_until(lambda: fifth.status().update > 2)
    server.kill()  # a worker is at work
    server.start()
    (fifth.path / "enough").touch()
    good = in_turn(outputs, names)
    figure("10 queued runs, server killed in the middle: each executed once, in order", 10, len(good))


def test_fifty_runs_in_one_server_leave_nothing_behind(serve, outputs, figure):
    server = serve(*WITH_FAKE_WORKERS)
    process = psutil.Process(server.process.pid)

    def zombies():
        return any(child.status() == psutil.STATUS_ZOMBIE for child in process.children())

    def execute(first, count):
        """What the server holds afterwards: files, threads, MiB."""
        runs = [queued(outputs, small_config(), f"run-{number:03d}") for number in range(first, first + count)]
        for run in runs:
            wait_until(lambda run=run: run.status().state == "finished")
            server.get(f"live/{run.id}/poll")  # as a page that looks at it does
        server.states()
        wait_until(lambda: not zombies())
        return process.num_fds(), process.num_threads(), process.memory_info().rss / 2**20

    before = execute(0, WARM_UP)
    files, threads, mib = (now - then for now, then in zip(execute(WARM_UP, RUNS), before, strict=True))
    few = abs(files) <= 5 and threads <= POOLED and mib <= 50
    what = "50 runs in one server: files +-5, threads within their pools, no zombies, at most 50 MB more"
    figure(what, RUNS, RUNS * few, f"files {files:+d}, threads {threads:+d}, {mib:+.0f} MB")

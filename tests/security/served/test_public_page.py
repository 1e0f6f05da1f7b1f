"""A public page over time: what it clears away, what comes back after a restart; and caps that its owner has raised."""

import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread

import pytest
import torch

from playground import worker
from playground.runs import history, launcher
from playground.runs.folder import checkpoints, heartbeat, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.spawning import Elsewhere
from playground.setup import limits
from playground.ui import serving
from playground.ui.auth import access, visitors
from tests.faults import resuming
from tests.security import pages
from tests.support import small_config, wait_until
from tests.ui import fake_run


@pytest.mark.parametrize("mode", ["space", "classroom"])
def test_old_runs_the_bin_and_what_came_go_on_a_public_page_and_runs_nowhere_else(
    mode, outputs, tmp_path, monkeypatch, figure
):
    monkeypatch.setattr(serving, "CHORE_SECONDS", 0)
    monkeypatch.setitem(limits.LIMITS, "space", limits.LIMITS["space"]._replace(kept_runs=2))
    for age, name in enumerate(["newest", "newer", "older", "oldest", "binned"]):
        run = RunDirectory(fake_run.write_run(outputs, name).path)
        os.utime(run.status_path, (1e9 - age, 1e9 - age))
    history.delete_run(run)
    living = RunDirectory.create(outputs, small_config(), "living")
    lock = launcher.take_lock(living)
    assert lock is not None
    with pages.served(mode, outputs, tmp_path / "recorded") as page:
        came = page.running.demo.serving.incoming.folder / "came"
        came.write_text("x")
        os.utime(came, (time.time() - 3700,) * 2)
        wait_until(lambda: not came.exists())
        gone = mode == "space"
        if gone:
            wait_until(lambda: len(history.list_runs(outputs)) == 3)
        left = {run.id for run in history.list_runs(outputs)}
        lock.close()
    assert left == {"newest", "newer", "living"} | (set() if gone else {"older", "oldest"})
    assert len(list((outputs / ".bin").iterdir())) == (0 if gone else 1)
    if gone:
        figure("old runs of a public page, cleared away while others stay", 3, 3)


def test_a_run_that_a_restart_tore_off_is_offered_to_its_visitor_again_and_to_no_other(outputs, recorded):
    cookies = {visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)}
    run = fake_run.write_ended(outputs, "cut", "killed", "interrupted", at=27)
    owner = str(access.Access("space", outputs).caller(pages.connection("127.0.0.1", cookies)).visitor)
    run.request_path.write_text(requests.Asked(visitor=owner, mode="space").model_dump_json())
    with pages.served("space", outputs, recorded) as page:
        resume = page.server_function("resume_run"), "resume_run", "cut"
        with page.visitor() as other, page.client(cookies=cookies) as mine:
            assert "started by another visitor" in pages.ask(other, *resume).json()["error"]
            assert pages.ask(mine, *resume).json()["error"] == ""
        assert RunDirectory(page.outputs / "cut").status().attempt == 2


def test_a_run_ends_when_its_time_is_up_with_its_weights_saved(outputs, tmp_path, monkeypatch, figure):
    """In this process, whose clock, but for the watch's patience, goes on by an hour once two updates are done."""
    now, gone = heartbeat.now, []
    monkeypatch.setattr(heartbeat, "now", lambda: now() + (current_thread().name != "watch" and sum(gone)))
    monkeypatch.setattr(worker, "print_into", os.close)
    monkeypatch.setattr(worker.redaction, "cover_streams", lambda: None)
    sizes = {"max_minutes": 59, "ppo__num_updates": 100_000, "checkpoint__every": 0}
    config, threads = resuming.config(resuming.tiny_model(tmp_path / "model"), **sizes), torch.get_num_threads()
    run, _ = launcher.start(config, outputs, "r", workers=Elsewhere("there", lambda run: None))
    with ThreadPoolExecutor() as pool:
        ending = pool.submit(worker.attempt, str(run.path), 1e6)
        try:
            wait_until(lambda: run.status().update >= 2)
        finally:
            gone.append(3600)
        assert ending.result() == "stopped"
    torch.set_num_threads(threads)
    status = run.status()
    assert status.reason == "time_limit"
    assert f"limit of 59 minutes (max_minutes) was reached after update {status.update}." in status.message
    assert checkpoints.search(run).found.update == status.update
    figure("runs that ended at their time limit, with a checkpoint", 1, 1)


def test_the_host_starts_without_a_limit_of_time_what_a_visitor_may_not_and_each_sees_their_own_caps(
    outputs, recorded, monkeypatch
):
    monkeypatch.setenv(limits.CAPS_VARIABLE, "host")
    with pages.served("space", outputs, recorded) as page, page.visitor() as visitor, page.host() as host:
        theirs, own = (client.get("live/_access").json()["caps"] for client in (visitor, host))
        refused, problems = pages.start(page, visitor, ppo__num_updates=501)
        run, _ = pages.start(page, host, ppo__num_updates=501)
    assert refused is None
    assert [problem["field"] for problem in problems] == ["ppo.num_updates"]
    config = RunDirectory(outputs / run).config()
    assert config.ppo.num_updates == 501
    assert config.max_minutes is None
    assert "30 minutes" in theirs
    assert "of the hub that fit" in own[0]
    assert len(own) < len(theirs)

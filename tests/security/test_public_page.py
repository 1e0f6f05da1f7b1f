"""A public page over time: runs that end when their time is up, what it clears away, what comes back after a restart;
and caps that its owner has raised."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.config.yaml_io import from_dict
from playground.runs import bucket, history, launcher
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.setup import limits
from playground.ui import serving
from playground.ui.auth import visitors
from tests.figures import Figure
from tests.security import pages
from tests.support import small_config, wait_until
from tests.ui import fake_run


@pytest.mark.nightly
def test_a_run_ends_when_its_time_is_up_with_its_weights_saved(outputs: Path, figure: Figure) -> None:
    sizes = {"num_updates": 100_000, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8}
    seldom = {"evaluation": {"num_prompts": 2, "every": 100_000}, "checkpoint": {"every": 0}, "prompts": {"limit": 32}}
    short = {"model": {"source": "pocket-1m"}, "sampling": {"max_new_tokens": 8}, "ppo": sizes, "max_minutes": 0.75}
    config = from_dict({"rewards": [{"kind": "length"}], **seldom, **short})
    run, process = launcher.start(config, outputs, "r")
    assert process.wait(240) == 3, run.log_tail()
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "time_limit")
    assert "time limit of 0.75 minutes" in status.message
    assert f"after update {status.update}." in status.message
    found = checkpoints.search(run).found
    assert found is not None, (status, run.log_tail(), list(run.checkpoints_path.glob("*")))
    assert found.update == status.update > 0
    figure("runs that ended at their time limit, with a checkpoint", 1, 1)


@pytest.mark.parametrize("mode", ["space", "classroom"])
def test_old_runs_the_bin_and_what_came_go_on_a_public_page_and_runs_nowhere_else(
    mode: str, outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
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


def test_a_run_that_was_torn_off_by_a_restart_is_offered_to_its_visitor_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "bucket"
    place.mkdir()
    monkeypatch.setenv(bucket.VARIABLE, str(place))
    monkeypatch.setattr(bucket, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(pages, "SECONDS_PER_UPDATE", "0.05")
    cookies = {visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)}

    def resumed(page: pages.Page, run: str, **cookies: str) -> str:
        with page.client(cookies=cookies) as client:
            return pages.ask(client, page.server_function("resume_run"), "resume_run", run).json()["error"]

    with pages.served("space", tmp_path / "first", tmp_path / "recorded") as page:
        with page.client(cookies=cookies) as client:
            run, problems = pages.start(page, client)
        assert run is not None, problems
        kept = place / "runs" / run / "records"
        wait_until(lambda: list(kept.glob("*/MANIFEST.json")))  # with its first checkpoint
        assert not RunDirectory(tmp_path / "first" / run).status().ended
        monkeypatch.setattr(bucket.Keeper, "look", lambda self: [])  # the machine is gone at once
    monkeypatch.undo()
    monkeypatch.setenv(bucket.VARIABLE, str(place))
    with pages.served("space", tmp_path / "second", tmp_path / "recorded") as page:
        back = RunDirectory(tmp_path / "second" / run)
        wait_until(lambda: back.status().state == "interrupted")  # who writes that down holds its lock for a moment
        assert back.latest_checkpoint() is not None
        assert "started by another visitor" in resumed(page, run)
        assert resumed(page, run, **cookies) == ""
        assert wait_until(lambda: back.status().attempt) == 2


BEYOND = {"ppo__num_updates": 501}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pages.Page]:
    folder = tmp_path_factory.mktemp("raised")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(limits.CAPS_VARIABLE, "host")
        with pages.served("space", folder / "outputs", folder / "recorded") as served:
            yield served


def test_the_host_starts_what_a_visitor_may_not_and_it_has_no_limit_of_time(page: pages.Page) -> None:
    with page.visitor() as visitor:
        run, problems = pages.start(page, visitor, **BEYOND)
        assert run is None
        assert [problem["field"] for problem in problems] == ["ppo.num_updates"]
    with page.host() as host:
        run, problems = pages.start(page, host, **BEYOND)
        assert run is not None, problems
    config = RunDirectory(page.outputs / run).config()
    assert config.ppo.num_updates == 501
    assert config.max_minutes is None


def test_host_and_visitor_see_their_own_caps(page: pages.Page) -> None:
    with page.visitor() as visitor, page.host() as host:
        theirs, own = (client.get("live/_access").json()["caps"] for client in (visitor, host))
    assert "30 minutes" in theirs
    assert "of the hub that fit" in own[0]
    assert len(own) < len(theirs)

"""A public page that starts with a bucket: its runs are there again, and their visitor goes on with them."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from playground.runs import bucket
from playground.runs.folder.directory import RunDirectory
from playground.ui.door import visitors
from tests.security import pages
from tests.support import wait_until


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
        number = next(number for number, name, _ in page.server_functions() if name == "resume_run")
        with page.client(cookies=cookies) as client:
            return pages.ask(client, number, "resume_run", run).json()["error"]

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
        assert "started by somebody else" in resumed(page, run)
        assert resumed(page, run, **cookies) == ""
        assert wait_until(lambda: back.status().attempt) == 2

"""A public page whose owner has raised the caps for the host: the host's handlers know it, a visitor's do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.setup import limits
from tests.security import pages

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
        assert run is None and [problem["field"] for problem in problems] == ["ppo.num_updates"]
    with page.host() as host:
        run, problems = pages.start(page, host, **BEYOND)
        assert run is not None, problems
    config = RunDirectory(page.outputs / run).config()
    assert config.ppo.num_updates == 501 and config.max_minutes is None


def test_host_and_visitor_see_their_own_caps(page: pages.Page) -> None:
    with page.visitor() as visitor, page.host() as host:
        theirs, own = (client.get("live/_access").json()["caps"] for client in (visitor, host))
    assert "30 minutes" in theirs and "of the hub that fit" in own[0] and len(own) < len(theirs)

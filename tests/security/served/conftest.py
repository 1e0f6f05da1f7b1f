"""Pages for strangers to try: one of each mode in this process, shared by all modules of this folder.

The clock of what is counted in a minute stands still, and moves on between two tests, so that none counts what another
has asked for.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest

from playground.ui.auth import limiter
from tests.forking import Forker
from tests.security import pages
from tests.ui import fake_run
from tests.ui.conftest import recorded  # noqa: F401

HOUR = 3600.0
_clock = SimpleNamespace(now=HOUR, monotonic=lambda: _clock.now)


def pytest_collection_modifyitems(items):
    """Their servers cost as much as thirty cases, so one process of the pool has them all."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.own_markers = [mark for mark in item.own_markers if mark.name != "xdist_group"]
            item.add_marker(pytest.mark.xdist_group("pages for strangers"))


@pytest.fixture(scope="package")
def stopped_clock():
    Forker.of_pages()  # it imports meanwhile what runs are forked with
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limiter, "time", _clock)
        yield


@pytest.fixture(autouse=True)
def clock(stopped_clock):
    """With `clock.now += seconds` time passes."""
    _clock.now += HOUR
    return _clock


def _page(mode, **options):
    @pytest.fixture(scope="package", name=mode)
    def page(tmp_path_factory, recorded, stopped_clock):  # noqa: F811
        outputs = tmp_path_factory.mktemp(f"outputs-{mode}")
        fake_run.write_run(outputs, "done")
        with pages.served(mode, outputs, recorded, **options) as page:
            yield page

    return page


local, classroom, space = _page("local"), _page("classroom", mcp=True), _page("space")


@pytest.fixture
def teacher(classroom):
    """The host, who has opened a class with a question; `code` is what others join it with."""
    with classroom.host() as host:
        host.code = pages.lead(host, "open").json()["made"]
        pages.lead(host, "ask", ask="Which?", options=["This", "That"])
        yield host

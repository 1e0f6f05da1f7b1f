"""Pages for strangers to try: one at a time in this process, shared by the tests of a module."""

from __future__ import annotations

import pytest

from tests.security import pages
from tests.ui import fake_run
from tests.ui.conftest import recorded  # noqa: F401


def _page(mode, tmp_path_factory, recorded):  # noqa: F811
    outputs = tmp_path_factory.mktemp(f"outputs-{mode}")
    fake_run.write_run(outputs, "done")
    return pages.served(mode, outputs, recorded)


@pytest.fixture(scope="module")
def classroom(tmp_path_factory, recorded):  # noqa: F811
    """A page for a class."""
    with _page("classroom", tmp_path_factory, recorded) as page:
        yield page


@pytest.fixture(scope="module")
def space(tmp_path_factory, recorded):  # noqa: F811
    """A public page."""
    with _page("space", tmp_path_factory, recorded) as page:
        yield page

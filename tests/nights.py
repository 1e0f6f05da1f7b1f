"""What `make test` leaves to the nightly run (`make test-all`, `.ci/nightly`): the modules in folders named `nightly`,
and further seeds and families of a test (CONTRIBUTING.md, "Tests")."""

import pytest

FOLDER = "nightly"
BY_DAY = "not nightly"  # the `-m` of pyproject.toml


def pytest_ignore_collect(collection_path, config):
    """Importing what would be left out takes seconds."""
    return True if collection_path.name == FOLDER and config.getoption("markexpr") == BY_DAY else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == FOLDER:
            item.add_marker("nightly")


def cases(every, always):
    """The cases of a test for `parametrize`: `make test` tries those in `always`, the nightly run every one. A case of
    several arguments is a tuple."""
    return [case if case in always else nightly(*(case if isinstance(case, tuple) else (case,))) for case in every]


def nightly(*values):
    """One case for `parametrize` that only the nightly run tries."""
    return pytest.param(*values, marks=pytest.mark.nightly)


SEEDS = cases([0, 1, 2], always=[0])

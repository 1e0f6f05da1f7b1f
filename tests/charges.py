"""Which case costs how many CPU seconds: the dearest are printed at the end. Loaded by tests/conftest.py.

A case is charged with the time of its process of the pool and of every process below that: servers, workers, the
browser. Collecting the tests, and what cases share (fixtures of a module or of the session), are charged by themselves.
The charge of a case is also one of its properties in a report in XML (`--junitxml`).
"""

from collections import Counter

import pytest

from tests.cpu_seconds import seconds_so_far

DEAREST = 20
PROPERTY = "cpu_seconds"

_cases, _shared = Counter[str](), Counter[str]()  # of all processes
_counted = 0.0  # seconds of this process that are in a charge
_shared_here = []  # travels with the report of the case that first needed it


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    global _counted
    _counted = seconds_so_far()
    _shared_here.append(("collection", _counted))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    global _counted
    before = seconds_so_far() if fixturedef.scope != "function" else 0.0
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            charge = seconds_so_far() - before
            _counted += charge
            _shared_here.append((f"{fixturedef.argname} of {fixturedef.baseid or 'tests'}", charge))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    global _counted
    if call.when == "teardown":
        now = seconds_so_far()
        charge = max(now - _counted, 0.0)  # less where a process has ended that nobody waits for
        item.user_properties.append((PROPERTY, round(charge, 2)))
        item.user_properties += [(f"{PROPERTY} {what}", seconds) for what, seconds in _shared_here]
        _counted = now
        _shared_here.clear()
    return (yield)


def pytest_runtest_logreport(report):
    """Properties travel with the report, so this sees those of every process."""
    for name, value in report.user_properties if report.when == "teardown" else ():
        kind, _, what = name.partition(" ")
        if kind == PROPERTY and what:
            _shared[what] += value
        elif kind == PROPERTY:
            _cases[report.nodeid.partition("@")[0]] = value


def pytest_terminal_summary(terminalreporter):
    for kind, charges in ((f"{len(_cases)} cases", _cases), ("what they share", _shared)):
        if charges:
            terminalreporter.section(f"{charges.total():.0f} CPU seconds of {kind}, the dearest")
        for what, seconds in charges.most_common(DEAREST):
            terminalreporter.write_line(f"{seconds:7.1f}  {what}")

"""`--stress`: the tests in a browser (`-m browser`) with a slow processor and a busy core beside. What passes on a
quiet machine only fails here. Loaded by tests/conftest.py; `browser` asks for it.
"""

import subprocess
import sys

import pytest

SLOWER = 3  # times, by DevTools
BUSY = "import os\ntests = os.getppid()\nwhile os.getppid() == tests: sum(range(100_000))"  # and not after them


def pytest_addoption(parser):
    parser.addoption("--stress", action="store_true", help="the tests in a browser, with everything slow")


@pytest.fixture(scope="session", autouse=True)
def _busy_core(request):
    """One core has something else to do, however many processes test."""
    first = getattr(request.config, "workerinput", {}).get("workerid", "gw0") == "gw0"
    if not (request.config.getoption("--stress") and first):
        yield
        return
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    yield
    busy.kill()
    busy.wait()


def slow_down(browser):
    slower = {"rate": SLOWER}
    browser.on("page", lambda page: browser.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", slower))

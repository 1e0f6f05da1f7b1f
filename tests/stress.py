"""`--stress`: the tests in a browser (`-m browser`) on a page whose libraries come late, with a slow processor and a
busy core beside. What passes on a quiet machine only fails here. Loaded by tests/conftest.py; `browser` asks
for it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SLOWER = 3  # times, by DevTools
LATE_SECONDS = 4
BUSY = "import os\ntests = os.getppid()\nwhile os.getppid() == tests: sum(range(100_000))"  # and not after them
LATE_SCRIPTS = Path(__file__).with_name("ui") / "in_page" / "late-scripts.js"


def pytest_addoption(parser):
    parser.addoption("--stress", action="store_true", help="the tests in a browser, with everything late and slow")


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
    """Make every page of it late and slow."""
    script = LATE_SCRIPTS.read_text(encoding="utf-8").replace("MILLISECONDS", str(1000 * LATE_SECONDS))
    browser.add_init_script(script)
    slower = {"rate": SLOWER}
    browser.on("page", lambda page: browser.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", slower))

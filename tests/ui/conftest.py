"""A served page with a fake worker, and a browser that fails a test on any script error or request off this machine."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from playground.lessons import loading
from playground.models import real_model
from playground.runs import launcher, queue, reward_models
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui import own_files
from playground.ui.auth import visitors
from tests import stress
from tests.forking import Forked, Forker
from tests.support import kill_worker, wait_until
from tests.ui import fake_run

PROJECT = Path(__file__).resolve().parents[2]
LESSONS = PROJECT / "tests" / "ui" / "lessons"  # beside those that ship
VISITED = "try { localStorage.setItem('playground-visited', 'yes'); } catch { /* a page without an address */ }"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")  # the Makefile's names
# a page lives for seconds: optimised code comes too late
FLAGS = [
    "--js-flags=--no-maglev --no-opt",
    *(
        "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-default-apps "
        "--disable-sync --no-first-run --metrics-recording-only"
    ).split(),
]
HEIGHT = 600  # of a window; more charts are painted in a higher one
START_SECONDS = 180
WAIT_MS = 120_000


Process = Forked | subprocess.Popen[bytes]


@dataclass
class Site:
    """A web process of its own on a free port, with an outputs folder and recorded runs."""

    outputs: Path
    recorded: Path
    seconds_per_update: float = 0.15
    mode: str = "local"
    port: int = 0
    process: Process | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def models(self) -> Path:
        """Where models that are got are kept: at first none."""
        return self.outputs.with_name(f"{self.outputs.name}-models")

    def start(self, token: str = "") -> None:
        """Start it and wait until it answers; `token`: the host's."""
        self.port = self.port or free_port()
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", fake_run.SECONDS_VARIABLE: str(self.seconds_per_update)}
        if token:
            environment[visitors.TOKEN_VARIABLE] = token
        environment[real_model.FOLDER_VARIABLE] = str(self.models)
        environment[loading.FOLDER_VARIABLE] = str(LESSONS)
        self.process = self.spawn(["--port", str(self.port), "--outputs", str(self.outputs)], environment)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(self.url + "live/_home", timeout=60).close()
                return
            except OSError:
                assert self.process.poll() is None, "the web process ended at its start"
                time.sleep(0.1)
        self.process.kill()
        raise AssertionError("the web process did not answer in time")

    def spawn(self, arguments: list[str], environment: dict[str, str]) -> Process:
        """The process itself, with a fake worker."""
        arguments = [*arguments, "--recorded", str(self.recorded), "--mode", self.mode]
        return Forker.of_pages().fork("tests.ui.fake_server", arguments, environment, output=1)

    def stop(self) -> int:
        """End it as a service manager would; returns its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


def free_port() -> int:
    """A port that nobody listens on right now. The system gives it to nobody else before the server has it, nor while
    the server is away: those that it hands out by itself are higher."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)  # not `random`: tests seed it, each process alike
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Fake recordings of two presets."""
    folder = tmp_path_factory.mktemp("recorded")
    for preset in ("kinder-reviews", "no-leash"):
        fake_run.write_run(folder, preset, catalog.preset(preset))
    return folder


@pytest.fixture(scope="session")
def server(tmp_path_factory, recorded):
    """One web process for all modules of a worker of the pool."""
    served = Site(tmp_path_factory.mktemp("outputs"), recorded)
    served.start()
    yield served
    served.stop()


@pytest.fixture(scope="module")
def site(server):
    """The page, with an outputs folder that is empty when a module begins. What a module leaves running is ended."""
    yield server
    for run_id in queue.waiting(server.outputs):
        launcher.stop(RunDirectory(server.outputs / run_id))
    living = [*launcher.living_runs(server.outputs), *reward_models.trainings(server.outputs)]
    for run in living:
        if run.is_alive():
            kill_worker(run)
    wait_until(lambda: not any(run.is_alive() for run in living))
    for path in server.outputs.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


_launched = []


@pytest.fixture(scope="session")
def browser(tmp_path_factory, request):
    """The profile of one Chromium for all tests of a process, also for those of other folders that import this
    fixture. It keeps what it has compiled of the page: without one, that is half of the time a page takes to load."""
    if _launched:
        yield _launched[0]
        return
    api = pytest.importorskip("playwright.sync_api")
    api.expect.set_options(timeout=WAIT_MS)
    assert CHROMIUM, f"There is none of {', '.join(NAMES)}: install one, or set CHROMIUM to a path."
    with api.sync_playwright() as playwright:
        profile = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=CHROMIUM, args=FLAGS
        )
        if request.config.getoption("--stress"):
            stress.slow_down(profile)
        _launched.append(profile)
        yield profile
        _launched.clear()
        profile.close()


def new_page(browser, faults, width, height, forgive, reduced_motion, newcomer=False):
    """A page that notes what goes wrong in it in `faults`, but for what contains words of `forgive`. A newcomer's
    begins with the lessons, any other with Train."""
    page = browser.new_page()
    if not newcomer:
        page.add_init_script(VISITED)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(reduced_motion=reduced_motion)
    page.set_default_timeout(WAIT_MS)

    def note(text):
        if not any(words in text for words in forgive):
            faults.append(text)

    page.on("console", lambda message: note(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: note(str(error)))
    page.on("request", lambda request: None if is_local(request.url) else note(f"request to {request.url}"))
    return page


def close(page):
    """Forget what the page has stored, and close it."""
    page.evaluate("try { localStorage.clear(); sessionStorage.clear(); } catch { /* a page without an address */ }")
    page.close()


@pytest.fixture
def make_page(browser):
    """New pages; the test fails at its end if anything went wrong in one."""
    pages, faults = [], []

    def make(width=1440, height=HEIGHT, *, forgive=(), reduced_motion="reduce", newcomer=False):
        pages.append(new_page(browser, faults, width, height, forgive, reduced_motion, newcomer))
        return pages[-1]

    yield make
    for page in pages:
        close(page)
    browser.clear_cookies()
    assert not faults


@pytest.fixture(scope="module")
def _open_pages(browser, site):
    """The page that the tests of a module share, with what went wrong in it: the last one, if there is any."""
    opened = []
    yield opened
    for page, _ in opened:
        close(page)


@pytest.fixture
def open_page(browser, site, _open_pages, request):
    """A page that the tests of a module share: it takes seconds to load. They go to a run or a tab within it, and leave
    what they have opened or changed as it was. One that fails leaves anything: the next test gets another page."""
    if not _open_pages:
        faults = []
        page = new_page(browser, faults, 1440, HEIGHT, (), "reduce")
        _open_pages.append((page, faults))
        visit(page, site)
    page, faults = _open_pages[0]
    failed_before = request.session.testsfailed
    yield page
    failed = request.session.testsfailed > failed_before
    left = not failed and page.locator("dialog[open], :popover-open").count()
    if failed or faults or left:
        _open_pages.clear()
        close(page)
    else:
        close_sections(page)
        page.evaluate("localStorage.clear()")  # else the next page is not that of a newcomer
        go(page, "train")
    assert not faults
    assert not left, "a dialog was left open"


def choose_preset(page, preset_id):
    """Pick an experiment, unless the form has it already, and wait until it has its values: they would replace what is
    typed."""
    preset, chosen = catalog.preset(preset_id), page.locator("#preset select")
    if chosen.input_value() != preset_id:  # chosen once more, nothing would show when its values are there
        chosen.select_option(preset_id)
    page.wait_for_function("beta => document.querySelector('#knob-kl-coef').value === beta", arg=f"{preset.kl.coef:g}")
    page.locator("#notes", has_text="All settings as in the preset").wait_for(state="attached")


def visit(page, site, query=""):
    """Open the page and wait until the form is filled: what is typed earlier would be lost. What the run needs is asked
    for with the values of the filled form, so it is drawn later."""
    page.goto(site.url + query)
    page.wait_for_function("document.querySelector('#needs summary')?.textContent")
    page.locator("#header a[aria-current]").wait_for(state="attached")  # a presentation does not show it
    return page


def present(page):
    """Begin the presentation of the run in view, by the menu of the display."""
    page.get_by_title("Colours and size of the text").click()
    page.get_by_role("button", name="Present", exact=True).click()


def open_settings(page):
    """The form with all settings, as a press on its switch opens it, and wait until they are drawn."""
    switch = page.locator(".all-settings-switch")
    if switch.get_attribute("aria-expanded") != "true":
        switch.click()
    page.locator("#field-prompts-source input").wait_for()
    page.locator("#knob-ppo-num_updates").wait_for()
    page.locator("#field-rewards .reward").first.wait_for()


def of_module(page, address, act, argument=None):
    """What a function of a module of the page and an argument returns. A promise that is only waited for from
    outside the page may be collected before it is settled ("Resulting promise was garbage collected"): the page holds
    this one."""
    page.evaluate(
        f"""argument => {{
          const asked = globalThis.asked = {{}};
          asked.promise = import('{address}').then((m) => ({act})(m, argument))
            .then((value) => {{ asked.answer = {{ value }}; }})
            .catch((error) => {{ asked.answer = {{ error: `${{error}}` }}; }});
        }}""",
        argument,
    )
    wait_until(lambda: page.evaluate("Boolean(asked.answer)"))
    answer = page.evaluate("asked.answer")
    assert "error" not in answer, answer["error"]
    return answer.get("value")


def close_sections(page):
    """As they are for a newcomer."""
    of_module(
        page,
        f"/{own_files.address('core/sections.js')}",
        "(m) => [...m.opened.value].forEach((key) => m.openSection(key, false))",
    )


def open_section(page, key):
    """A section of the run in view, open: a press on its name among those under the first screen opens it."""
    name = page.locator(f"[data-section={key}]")
    if name.get_attribute("aria-expanded") != "true":
        name.click()
    box = page.locator(f"#section-{key}")
    box.wait_for()
    return box


def go(page, tab, **place):
    """Go to another place within the page, as a link of it does: to a run, or to an overlay of several. A run on Train
    is in view then: what stood there before would take what is meant for it."""
    of_module(page, f"/{own_files.address('core/nav.js')}", "(m, place) => m.go(place)", {"page": tab, **place})
    if tab == "train" and "run" in place:
        page.locator(f".run-view[data-run='{place['run']}']").wait_for()


@pytest.fixture
def workers(monkeypatch):
    """Started workers: real processes that hold the lock and wait; ended after the test."""
    started = []

    def spawn(run, lock):
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),))
        started.append(process)
        return process

    monkeypatch.setattr(launcher, "new_worker", spawn)
    yield started
    for process in started:
        process.kill()
        process.wait()


def is_local(address: str) -> bool:
    """True for addresses of the page itself."""
    return address.startswith(("http://127.0.0.1:", "data:", "blob:"))

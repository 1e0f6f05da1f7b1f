"""A served page with a fake worker, and a browser that fails a test on any script error or request off this machine."""

import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect, sync_playwright

from playground.lessons import loading
from playground.models import real_model
from playground.runs import launcher, queue, reward_models
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.spawning import Here
from playground.setup import catalog
from playground.ui import own_files
from playground.ui.auth import incoming, visitors
from playground.ui.classroom import room_file
from tests import stress
from tests.forking import Forked, Forker
from tests.support import PROJECT, kill_worker, wait_until
from tests.ui import fake_run

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
LOCAL = ("http://127.0.0.1:", "data:", "blob:")  # addresses of the page itself
HEIGHT = 600  # of a window; more charts are painted in a higher one
START_SECONDS = 180
WAIT_MS = 120_000
MOST_REPORTED = 3000  # characters of a page whose case failed
TOKEN = "the-token-of-the-teacher"


@dataclass
class Site:
    """A web process of its own on a free port, with an outputs folder and recorded runs. `token`: the host's; `module`:
    what `forker` forks, where the process is not a new one of a `program`."""

    outputs: Path
    recorded: Path | None = None
    seconds_per_update: float = 0.15
    mode: str = "local"
    token: str = ""
    port: int = 0
    forker: Forker | None = None
    module: str = "tests.ui.fake_server"
    program: tuple[str, ...] = ()
    process: Forked | subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    @property
    def models(self):
        """Where models that are got are kept: at first none."""
        return self.outputs.with_name(f"{self.outputs.name}-models")

    @property
    def pace(self):
        """What tells fake runs in their environment how fast they go."""
        steps = str(self.outputs.with_name(f"{self.outputs.name}-steps"))
        return {fake_run.SECONDS_VARIABLE: str(self.seconds_per_update), fake_run.STEPS_VARIABLE: steps}

    def let_runs_reach(self, update):
        """Have every fake run wait after an update until it may go on; it can be steered and stopped meanwhile."""
        write_atomically(Path(self.pace[fake_run.STEPS_VARIABLE]), str(update))

    def let_runs_end(self):
        """No fake run waits any more."""
        Path(self.pace[fake_run.STEPS_VARIABLE]).unlink(missing_ok=True)

    def start(self):
        self.port = self.port or free_port()
        folders = {real_model.FOLDER_VARIABLE: str(self.models), loading.FOLDER_VARIABLE: str(LESSONS)}
        environment = {**os.environ, **self.pace, **folders, "HF_HUB_OFFLINE": "1"}
        if self.token:
            environment[visitors.TOKEN_VARIABLE] = self.token
        arguments = ["--port", str(self.port), "--outputs", str(self.outputs), "--mode", self.mode]
        arguments += ["--recorded", str(self.recorded)] if self.recorded else []
        if self.program:
            command = [sys.executable, *self.program, *arguments]
            self.process = subprocess.Popen(command, cwd=PROJECT, env=environment)
        else:
            self.process = (self.forker or Forker.of_pages()).fork(self.module, arguments, environment, output=1)
        try:
            wait_until(self.answers, START_SECONDS)
        except AssertionError:
            self.process.kill()
            raise

    def answers(self):
        assert self.process.poll() is None, "the web process has ended"
        with contextlib.suppress(OSError), urllib.request.urlopen(self.url + "live/_home", timeout=60):
            return True
        return False

    def stop(self):
        """End it as a service manager would; returns its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)

    def end_runs(self):
        """None waits or trains any more."""
        for run_id in queue.waiting(self.outputs):
            launcher.stop(RunDirectory(self.outputs / run_id))
        living = [*launcher.living_runs(self.outputs), *reward_models.trainings(self.outputs)]
        for run in living:
            if run.is_alive():
                kill_worker(run)
        wait_until(lambda: not any(run.is_alive() for run in living))

    def clear(self):
        """As it was at first, but for what the server has open: the file of a class, which has ended, files that come,
        and the lock for starting."""
        self.end_runs()
        self.let_runs_end()
        if (self.outputs / room_file.FILE).exists():
            with Person(self, self.token) as host:
                host.lead("end")
        kept = (room_file.FILE, incoming.FOLDER, launcher.START_LOCK)
        with launcher.one_at_a_time(self.outputs):  # else the server may write the end of a run that is being deleted
            for path in self.outputs.iterdir():
                if path.name.startswith(kept):
                    continue
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()


class Person(httpx.Client):
    """Someone in a class, without a browser, with cookies of their own; its host, by token or on an own page."""

    def __init__(self, site, token=""):
        headers = {"Authorization": f"Bearer {token}"} if token else {"Origin": site.url.rstrip("/")}
        super().__init__(base_url=site.url, headers=headers, timeout=120, verify=False)

    def read(self, path):
        return self.get(path).json()

    def ask(self, path, **asked):
        return self.post(path, json=asked).json()

    def lead(self, command, **asked):
        return self.ask("class/lead", do=command, **asked)

    def step(self):
        return self.read("class/state")["step"]

    def answer(self, value, item=None, step=None):
        """To the open step, unless another is meant."""
        step = step or self.step()
        return self.ask("class/answer", step=step["id"], item=item or step["round"], value=value)


@pytest.fixture
def person():
    """Makes them; their connections are closed after the test."""
    with contextlib.ExitStack() as people:
        yield lambda *arguments: people.enter_context(Person(*arguments))


_held_ports = []


def free_port():
    """A port for a server of this process's tests. It stays bound, so nobody else gets it: a server can listen at it
    nevertheless, as both say that the address may be used again."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held_ports.append(held)
    return held.getsockname()[1]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    for preset in ("kinder-reviews", "no-leash"):
        fake_run.write_run(folder, preset, catalog.preset(preset))
    return folder


@contextlib.contextmanager
def serving(outputs, recorded=None, **options):
    served = Site(outputs, recorded, **options)
    served.start()
    yield served
    served.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory, recorded):
    """The web process of a mode, one for all modules of a worker of the pool; TOKEN makes the host."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def of_mode(mode):
            token = "" if mode == "local" else TOKEN
            return stack.enter_context(serving(tmp_path_factory.mktemp(mode), recorded, mode=mode, token=token))

        yield of_mode


def cleared(mode):
    """The page of a mode: when a module begins its outputs folder is empty and there is no class. What a module leaves
    running is ended."""

    @pytest.fixture(scope="module")
    def served(server):
        yield server(mode)
        server(mode).clear()

    return served


site, class_site, space_site = cleared("local"), cleared("classroom"), cleared("space")


@pytest.fixture
def begin(site, monkeypatch):
    """Start a run without the page, which is ended with the test. It goes on for longer than anybody looks on."""
    for name, value in site.pace.items():
        monkeypatch.setenv(name, value)

    def start(name, preset="kinder-reviews", num_updates=4000):
        config = fake_run.settings(name, preset, num_updates)
        return launcher.start(config, site.outputs, name, workers=Here(fake_run.spawn)).run

    yield start
    site.end_runs()
    site.let_runs_end()


_launched = []


@pytest.fixture(scope="session")
def browser(tmp_path_factory, request):
    """The profile of one Chromium for all tests of a process, also for those of other folders that import this
    fixture. It keeps what it has compiled of the page: without one, that is half of the time a page takes to load."""
    if _launched:
        yield _launched[0]
        return
    expect.set_options(timeout=WAIT_MS)
    assert CHROMIUM, f"There is none of {', '.join(NAMES)}: install one, or set CHROMIUM to a path."
    with sync_playwright() as playwright:
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
    page.on("pageerror", lambda error: note(error.stack or str(error)))
    page.on("request", lambda request: request.url.startswith(LOCAL) or note(f"request to {request.url}"))
    return page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where a case in a browser fails, what its pages hold is a part of the report."""
    report = yield
    pages = _launched[0].pages if _launched and report.failed and "browser" in item.keywords else []
    for page in pages:
        with contextlib.suppress(PlaywrightError):
            report.sections.append((page.url, page.locator("body").inner_text(timeout=5000)[:MOST_REPORTED]))
    return report


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


@pytest.fixture(scope="session")
def _open_pages(browser):
    """The page of each site that tests share, with what went wrong in it: the last one, if there is any."""
    opened = {}
    yield opened
    for page, _ in opened.values():
        close(page)


@pytest.fixture
def page(browser, site, _open_pages, request):
    """A page that tests share: it takes seconds to load. They go to a run or a tab within it, and leave what they have
    opened as it was; a changed form is filled anew. One that fails leaves anything: the next test gets another page."""
    if site.url in _open_pages and _open_pages[site.url][1]:  # something went wrong while nobody looked
        close(_open_pages.pop(site.url)[0])
    if site.url not in _open_pages:
        faults = []
        _open_pages[site.url] = new_page(browser, faults, 1440, HEIGHT, (), "reduce"), faults
    page, faults = _open_pages[site.url]
    if "All settings as in the preset" not in (page.locator("#notes").all_text_contents() or [""])[0]:
        visit(page, site)
    # that a run has ended which it does not show a page hears after seconds; till then no preset brings its recording
    living = "async (m) => { await m.refreshHome(); return m.home.value.living; }"
    wait_until(lambda: not of_module(page, "core/home.js", living) or launcher.living_runs(site.outputs))
    failed_before = request.session.testsfailed
    yield page
    failed = request.session.testsfailed > failed_before
    left = not failed and page.locator("dialog[open], :popover-open").count()
    if failed or faults or left:
        close(_open_pages.pop(site.url)[0])
    else:
        close_all = "(m) => [...m.opened.value].forEach((key) => m.openSection(key, false))"
        of_module(page, "core/sections.js", close_all)
        page.set_viewport_size({"width": 1440, "height": HEIGHT})
        go(page, "train", run="_recorded", settings="")
        if page.locator(".all-settings-switch[aria-expanded=true]").count():
            page.locator(".all-settings-switch").click()
        page.evaluate("localStorage.clear(); sessionStorage.clear()")  # else the next page is not that of a newcomer
    assert not faults
    assert not left, "a dialog was left open"


def choose_preset(page, preset_id):
    """Pick an experiment, unless the form has it already, and wait for its values: they would replace what is typed."""
    preset, chosen = catalog.preset(preset_id), page.locator("#preset select")
    if chosen.input_value() != preset_id:  # chosen once more, nothing would show when its values are there
        chosen.select_option(preset_id)
    page.wait_for_function("beta => document.querySelector('#knob-kl-coef').value === beta", arg=f"{preset.kl.coef:g}")
    page.locator("#notes", has_text="All settings as in the preset").wait_for(state="attached")


def visit(page, site, query=""):
    """Open the page and wait until the form is filled: what is typed earlier would be lost. What the run needs is asked
    for with the values of the filled form, so it is drawn later."""
    page.goto(site.url + query)
    page.wait_for_function("document.querySelector('#needs button.needs')?.textContent")
    page.locator("#header a[aria-current]").wait_for(state="attached")  # a presentation does not show it
    return page


def present(page):
    """Begin the presentation of the run in view, by the menu of the display."""
    page.locator(".display-switch").click()
    page.get_by_role("button", name="Present", exact=True).click()


def open_settings(page):
    """The form with all settings, as a press on its switch opens it, and wait until they are drawn."""
    switch = page.locator(".all-settings-switch")
    if switch.get_attribute("aria-expanded") != "true":
        switch.click()
    page.locator("#field-prompts-source-menu").wait_for()
    page.locator("#knob-ppo-num_updates").wait_for()
    page.locator("#field-rewards .reward").first.wait_for()


def in_page(name):
    """A script of the folder of this name, whose function a page is to call."""
    return Path(__file__).with_name("in_page").joinpath(f"{name}.js").read_text(encoding="utf-8")


def of_module(page, module, act, argument=None):
    """What a function of a module of the page, by its name or its address, and an argument returns."""
    address = module if "://" in module else f"/{own_files.address(module)}"
    page.evaluate(in_page("of-module").replace("ADDRESS", address).replace("ACT", act), argument)
    wait_until(lambda: page.evaluate("Boolean(asked.answer)"))
    answer = page.evaluate("asked.answer")
    assert "error" not in answer, answer["error"]
    return answer.get("value")


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
    of_module(page, "core/nav.js", "(m, place) => m.go(place)", {"page": tab, **place})
    if tab == "train" and "run" in place:
        page.locator(f".run-view[data-run='{place['run']}']").wait_for(state="attached")


def unfold(page, part):
    """Open what may be folded."""
    page.locator(f"details{part}").evaluate("(folded) => (folded.open = true)")


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

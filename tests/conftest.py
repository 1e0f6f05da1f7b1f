"""Shared fixtures: a private outputs folder whose workers are ended afterwards, and no network for anybody."""

import functools
import gc
import inspect
import os

import pytest

os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    TRANSFORMERS_OFFLINE="1",
    GRADIO_ANALYTICS_ENABLED="False",
    TOKENIZERS_PARALLELISM="false",
    OMP_WAIT_POLICY="PASSIVE",
    OMP_NUM_THREADS="1",  # the tests run beside each other
)
os.environ.pop("PLAYGROUND_OUTPUTS", None)

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_locked
from tests.forking import WORKER, Forker
from tests.service_here import ServiceHere
from tests.support import TESTS_VARIABLE, kill_worker, run_async, small_config

os.environ[TESTS_VARIABLE] = str(os.getpid())
pytest_plugins = ["tests.charges", "tests.figures", "tests.nights", "tests.stress"]
FAKE_WORKER = "tests.fake_worker"
PROCESSES_A_BROWSER = 4  # of the pool; its cases wait for it more than they compute


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported meanwhile is not looked through for garbage, then or later: that takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Those in a browser come first and share a process of the pool, with its server and its browser, which cost as
    much as ten cases. The others go by module, whose cases share fixtures; the long ones of the night begin early."""
    browsers = max(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)) // PROCESSES_A_BROWSER, 1)
    modules = {item.path: None for item in items if "browser" in getattr(item, "fixturenames", ())}
    for number, module in enumerate(modules):
        modules[module] = f"browser {number % browsers}"
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        item.add_marker(pytest.mark.xdist_group(modules.get(item.path, item.path.stem)))
    items.sort(key=lambda item: (item.path not in modules, item.path.parent.name != "nightly"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that is a coroutine has a loop of its own."""
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        names = inspect.signature(pyfuncitem.obj).parameters
        run_async(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True
    return None


@pytest.fixture
def outputs(tmp_path):
    """An outputs folder; workers that a test leaves behind are killed."""
    folder = tmp_path / "outputs"
    yield folder
    for lock in folder.glob("*/worker.lock"):
        run = RunDirectory(lock.parent)
        if is_locked(run.lock_path):  # one that waits to be computed elsewhere has no worker
            kill_worker(run)


@pytest.fixture
def run(outputs):
    """A run of three updates that nobody has started."""
    return RunDirectory.create(outputs, small_config(), "one")


@pytest.fixture
def figure(record_property):
    """Record one figure of docs/reliability.md, (what was tried, how often, how often it held, what was measured, if
    anything was), and demand that it held every time."""

    def record(what, tried, survived, measured=""):
        record_property("figure", (what, tried, survived, measured))
        assert survived == tried, f"{what}: {survived} of {tried}"

    return record


@pytest.fixture(scope="session")
def scripted():
    """Forks workers by script."""
    with Forker.start(FAKE_WORKER) as forker:
        yield forker


@pytest.fixture
def fake_worker(scripted, monkeypatch):
    """The launcher forks tests/fake_worker.py: a run by script, without a model."""
    monkeypatch.setattr("playground.runs.launcher.WORKER_MODULE", FAKE_WORKER)
    monkeypatch.setattr("playground.runs.launcher.new_worker", functools.partial(scripted.spawn, module=FAKE_WORKER))


@pytest.fixture(scope="session")
def forker():
    """Real workers without their seconds of imports: `launcher.start(..., workers=forker)`."""
    with Forker.start(WORKER) as forker:
        yield forker


@pytest.fixture
def forked_workers(forker, monkeypatch):
    """The launcher forks real workers, for those who cannot give it a `spawn`."""
    monkeypatch.setattr("playground.runs.launcher.new_worker", forker.spawn)


@pytest.fixture
def service_here(monkeypatch):
    """The model service answers in a thread of this process."""
    monkeypatch.setattr("playground.runs.model_service.ModelService._ensure_started", ServiceHere._ensure_started)

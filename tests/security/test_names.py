"""Names and paths that strangers send to every place that takes one: nothing outside the outputs folder is read,
written or removed, whatever is asked; and links inside it do not lead out."""

import contextlib
import fcntl
import hashlib
import inspect
import json
import shutil
import urllib.parse
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.config.yaml_io import from_dict
from playground.errors import PlaygroundError
from playground.exports import saving
from playground.runs import history, launcher, reward_models
from playground.runs.folder.directory import RunDirectory
from playground.runs.spawning import Here
from playground.setup import catalog, checks
from playground.ui import routes
from playground.ui.auth import uploads
from playground.ui.auth.access import Access, Caller
from playground.ui.feed import feed, run_feed
from playground.ui.rewards import training_part as reward_panel
from playground.ui.train import filling, run_actions
from tests.nights import cases
from tests.reward_tools import finished
from tests.security import DATA
from tests.support import run_async, small_config
from tests.ui import fake_run

SECRET = "what-lies-outside-8461"
TABLES = json.loads((DATA / "names.json").read_text(encoding="utf-8"))
NAMES = [*TABLES["names"], "x" * 300, "x" * 5000, "a" * 61, "../" * 100 + "etc/passwd"]
ROUTES = TABLES["routes"]
PARTS = 12
REFUSING = Mock(side_effect=PlaygroundError("nothing is asked or started here"))
STREAMS = ("/live/one", f"/live/{run_feed.RECORDED_ID}")


class Place:
    """An outputs folder with a run and a reward model, and beside it what nobody may reach."""

    def __init__(self, folder):
        self.outside, self.outputs = folder / "outside", folder / "outputs"

    def digest(self):
        """Of everything outside."""
        digest = hashlib.sha256()
        for path in sorted(self.outside.rglob("*")):
            digest.update(str(path.relative_to(self.outside)).encode())
            if path.is_file():
                digest.update(path.read_bytes() + str(path.stat().st_mtime_ns).encode())
        return digest.hexdigest()

    @contextlib.contextmanager
    def untouched(self):
        """Meanwhile nothing outside changes."""
        before = self.digest()
        yield
        assert self.digest() == before

    def client(self, outputs=None):
        """Somebody who sends requests; an exception in a handler is an answer 500."""
        app = Starlette(routes=routes.routes(feed.Hub(outputs or self.outputs)))
        return TestClient(app, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    outside, outputs = folder / "outside", folder / "outputs"
    config = catalog.preset(catalog.DEFAULT_PRESET)
    about = config.about.model_copy(update={"title": SECRET})  # which every page shows
    config = config.model_copy(update={"name": SECRET, "about": about})
    for name in ("run", "living"):
        fake_run.write_run(outside, name, config)
    living = RunDirectory(outside / "living")
    training = living.status().model_copy(update={"state": "running", "phase": "training", "pid": 0})
    fake_run.write_status(living, training)
    (outside / "secret.txt").write_text(f"{SECRET}\n{SECRET} again\n", encoding="utf-8")
    (outside / "control").mkdir()
    fake_run.write_run(outputs, "one")
    finished(outputs, "judge")
    (outputs / "linked").symlink_to("../outside/run")
    return folder


@pytest.fixture
def place(filled, tmp_path):
    """See Place. One of the runs outside is at work, as far as anybody can tell, and would take what is asked of it."""
    shutil.copytree(filled, tmp_path, symlinks=True, dirs_exist_ok=True)
    place = Place(tmp_path)
    with open(place.outside / "living" / "worker.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


def address(route, name):
    """The ways to write a name into an address."""
    raw = name.encode("utf-8", "surrogatepass")
    yield route.format(urllib.parse.quote(raw, safe=""))
    yield route.format(urllib.parse.quote(raw, safe="/.%"))
    if name.isascii() and name.isprintable() and not set(name) & set(" #?"):
        yield route.format(name)


@pytest.mark.parametrize("part", cases(range(PARTS), always=[0]))
def test_no_address_leads_out_or_fails(place, figure, part):
    """By day every route with one in twelve of the names."""
    bad, tried = {}, 0
    with place.client(place.outside) as client:  # who got out would be known by that word
        paths = ("run/poll", "run/compare", "run/export/yaml", "_overlay?runs=run")
        assert all(SECRET in client.get(f"/live/{path}").text for path in paths)
    with place.client() as client, place.untouched():
        for first, route in enumerate(ROUTES, part):
            for address_asked in (way for name in NAMES[first % PARTS :: PARTS] for way in address(route, name)):
                try:
                    request = client.build_request("GET", address_asked)
                except httpx.InvalidURL:
                    continue  # the client itself cannot write such an address
                if request.url.path not in STREAMS:  # the events of a run that is there have no end
                    answer = client.send(request)
                    tried += 1
                    if answer.status_code >= 500 or SECRET in answer.text or "root:x:" in answer.text:
                        bad[address_asked[:80]] = answer.status_code
    assert bad == {}
    figure("hostile names in addresses", tried, tried - len(bad))


def uploaded(name, outputs):
    """A file under a name as Gradio would hand it over: the last part of what the client sent."""
    last = Path(name.replace("\0", "").encode("utf-8", "replace").decode()).name[:100] or "upload"
    file = outputs.parent / f"{last}.txt"
    file.write_text("one\ntwo\n", encoding="utf-8")
    return uploads.put(file, outputs)


def asked_of(outputs, name):
    """Every other place that takes a name from a client: a function, and what it is asked."""
    config, request = small_config(), {"run": name, "command": "pause", "changes": {"kl.coef": 0.5}, "as": "merged"}
    ask = run_actions.RunActions(outputs, Access(), saver=Mock(ask=REFUSING))
    for function in (ask.stop_run, ask.end_run, ask.fork_points, lambda run: ask.resume_run(run, Caller())):
        yield from ((function, name), (function, {"run": name}))
    yield from ((function, request) for function in (ask.steer_run, ask.change_settings, ask.save_model))
    train, stop_training, delete = reward_panel.guarded_functions(outputs, Access())
    yield train, {"values": {"name": name, "pairs.source": name, "base": name}}
    yield from ((function, name) for function in (stop_training, delete, catalog.preset_path))
    for changes in (
        *({part: {"source": name}} for part in ("model", "reference", "prompts")),
        {"reference": {"source": f"one/{name}"}},
        {"evaluation": {"text": name}},
        {"evaluation": {"prompts": name}},
        {"rewards": [{"kind": "model", "source": name}]},
    ):
        yield (lambda data: checks.check(from_dict({"rewards": [{"kind": "length"}], **data}), outputs)), changes
    yield (lambda run: history.delete_run(history.find_run(outputs, run))), name
    yield (lambda run: RunDirectory.reserve(outputs, config, run or None)), name
    yield from ((lambda preset: filling.filled_from(preset, outputs), way) for way in (name, filling.RUN_PREFIX + name))
    yield (lambda model: reward_models.find(outputs, model)), name
    yield (
        (lambda run: launcher.start(config.model_copy(update={"name": run or "x"}), outputs, workers=Here(REFUSING))),
        name,
    )
    yield (lambda file: uploaded(file, outputs)), name
    yield (lambda checkpoint: saving.checkpoint_of(RunDirectory(outputs / "one"), checkpoint, "merged")), name


def answered(answer):
    """The answer, also of a function that gives it later."""
    return run_async(answer) if inspect.iscoroutine(answer) else answer


def test_no_name_leads_out_or_fails(place, figure):
    bad, tried = {}, 0
    with place.untouched():
        for name in NAMES:
            for position, (function, argument) in enumerate(asked_of(place.outputs, name)):
                tried += 1
                try:
                    answer = repr(answered(function(argument)))
                except PlaygroundError as error:
                    answer = str(error)
                except Exception as error:
                    answer = f"{SECRET}: {type(error).__name__}: {error}"
                if SECRET in answer or not (place.outputs / "one").is_dir():  # a name that is not `one` has deleted it
                    bad[f"{position}: {name[:60]!r}"] = answer[:100]
    assert bad == {}
    names = {path.name.replace("-", "").replace(".", "") for path in place.outputs.iterdir()} - {"_recorded"}
    assert [name for name in names if not name.isalnum()] == []
    figure("hostile names in everything else that takes one", tried, tried - len(bad))


LINKS = "worker.log metrics.jsonl samples.jsonl events.jsonl status.json config.yaml worker.lock checkpoints control"


@pytest.mark.parametrize("name", LINKS.split())
def test_a_link_in_a_run_is_not_followed(place, name):
    path = place.outputs / "one" / name
    if path.is_dir():
        path.rename(place.outputs.parent / "moved")
    path.unlink(missing_ok=True)
    targets = {
        "control": "control",
        "checkpoints": ".",
        **{file: f"run/{file}" for file in ("config.yaml", "status.json")},
    }
    path.symlink_to(place.outside / targets.get(name, "secret.txt"))
    before = place.digest()
    with place.client() as client:
        for route in ROUTES[1:10]:
            answer = client.get(route.format("one"))
            assert answer.status_code == 404
            assert SECRET not in answer.text
        assert [run["id"] for run in client.get("/live/_runs").json()["runs"]] == []
        assert SECRET not in client.get("/live/_overlay?runs=one").text
    for function in run_actions.guarded_functions(place.outputs, Access()):
        for argument in ("one", {"run": "one", "command": "pause"}):
            assert SECRET not in repr(answered(function(argument)))
    run = RunDirectory(place.outputs / "one")  # as if the link had come after it was opened
    assert SECRET not in run.log_tail()
    assert SECRET not in repr((run.metrics(), run.events(), run.samples()))
    assert SECRET not in repr(run.status())
    assert bool(run.checkpoints()) == (name != "checkpoints")  # those of a folder that is a link are nobody's
    assert place.digest() == before


def test_folders_that_are_links_are_not_followed(place):
    outputs, before = place.outputs, place.digest()
    for name in (".bin", "saved", "uploads"):
        (outputs / name).symlink_to(place.outside)
    run = RunDirectory.open(outputs / "one")
    with pytest.raises(PlaygroundError, match="not followed"):
        history.delete_run(run)
    assert history.empty_bin(outputs) == 0
    with pytest.raises(PlaygroundError, match="not followed"):
        saving.default_folder(run, "merged")
    upload = outputs.parent / "upload.txt"
    upload.write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(PlaygroundError, match="not followed"):
        uploads.keep(upload, outputs)
    (outputs / "reward-models" / "elsewhere").symlink_to(place.outside / "run")
    with pytest.raises(PlaygroundError, match="not followed"):
        reward_models.delete(reward_models.find(outputs, "elsewhere"))
    with pytest.raises(PlaygroundError, match="not followed"):
        catalog.reward_model_folder("elsewhere", outputs=outputs)
    assert place.digest() == before

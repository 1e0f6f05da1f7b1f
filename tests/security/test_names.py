"""Names and paths that strangers send to every place that takes one: nothing outside the outputs folder is read,
written or removed, whatever is asked; and links inside it do not lead out."""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import json
import urllib.parse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.config.yaml_io import from_dict
from playground.errors import PlaygroundError
from playground.exports import saving
from playground.runs import history, launcher, reward_models
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, checks
from playground.ui import routes
from playground.ui.auth import uploads
from playground.ui.auth.access import Access, Caller
from playground.ui.feed import feed, run_feed
from playground.ui.rewards import training_part as reward_panel
from playground.ui.train import filling, run_actions
from tests.figures import Figure
from tests.reward_tools import finished
from tests.support import run_async, small_config
from tests.ui import fake_run

SECRET = "what-lies-outside-8461"
TYPED = json.loads(r"""[
    "", ".", "..", "...", "/", "//", "~", "~root", "-", "--help", "-rf", "*", "?", "[a]", "{a}", "$HOME", "`id`",
    "$(id)", ";id", "|id", "&", "'", "\\", "..\\..\\outside", "../outside/run", "../outside/living", "../outside",
    "one/../../outside/run", "one/..", "./one", "one/", "one//", "/etc/passwd", "/etc", "/proc/self/environ",
    "/dev/zero", "file:///etc/passwd", "http://169.254.169.254/", "//evil/share", "C:\\Windows", "CON", "con.txt",
    "one\u0000", "\u0000", "one\n", "one\r\nSet-Cookie: a=b", "one\t", " one", "one ", "ONE", "%2e%2e",
    "%2e%2e%2foutside%2frun", "..%2foutside%2frun", "%252e%252e%252f", "..%c0%af", "\u2024\u2024/outside",
    "\uff0e\uff0e/outside", "\u202eeno", "one\u200b", "\ufeffone", "o\u0308ne", "\ud83d\ude00", "\ud800", "x\"",
    ".bin", ".queue", ".incoming", "uploads", "saved", "reward-models", "_kinder-reviews", "__class__", "{{7*7}}",
    "${7*7}", "<script>", "one;two", "one,two", "config.yaml", "one/config.yaml", "one/worker.log", "linked",
    "linked/config.yaml", "0", "None", "null"
]""")
NAMES = [*TYPED, "x" * 300, "x" * 5000, "a" * 61, "../" * 100 + "etc/passwd"]
ROUTES = """
    /live/{} /live/{}/poll /live/{}/moment/0 /live/{}/rollout/1 /live/{}/trace/1 /live/{}/compare /live/{}/metrics.csv
    /live/{}/samples.csv /live/{}/outcome /live/{}/log /live/{}/export/yaml /live/{}/export/trl /live/{}/export/html
    /live/one/export/{} /live/_rewards/{} /live/_overlay?runs={} /live/one/compare?update={} /playground/bokeh/1/{}
    /playground/static/{} /live/one/{} /live/one/moment/{} /live/one/rollout/{}
""".split()
STREAMS = ("/live/one", f"/live/{run_feed.RECORDED_ID}")


class Place:
    """An outputs folder with a run and a reward model, and beside it what nobody may reach."""

    def __init__(self, folder: Path) -> None:
        self.outside, self.outputs = folder / "outside", folder / "outputs"
        self.outside.mkdir()
        config = catalog.preset(catalog.DEFAULT_PRESET)
        about = config.about.model_copy(update={"title": SECRET})  # which every page shows
        config = config.model_copy(update={"name": SECRET, "about": about})
        fake_run.write_run(self.outside, "run", config)
        living = fake_run.write_run(self.outside, "living", config)
        training = living.status().model_copy(update={"state": "running", "phase": "training", "pid": 0})
        fake_run.write_status(living, training)
        (self.outside / "secret.txt").write_text(f"{SECRET}\n{SECRET} again\n", encoding="utf-8")
        (self.outside / "control").mkdir()
        self.outputs.mkdir()
        fake_run.write_run(self.outputs, "one")
        finished(self.outputs, "judge")
        (self.outputs / "linked").symlink_to(self.outside / "run")

    def digest(self) -> str:
        """Of everything outside."""
        found = hashlib.sha256()
        for path in sorted(self.outside.rglob("*")):
            found.update(str(path.relative_to(self.outside)).encode())
            if path.is_file():
                found.update(path.read_bytes() + str(path.stat().st_mtime_ns).encode())
        return found.hexdigest()

    def client(self, outputs: Path | None = None) -> TestClient:
        """Somebody who sends requests; an exception in a handler is an answer 500."""
        app = Starlette(routes=routes.routes(feed.Hub(outputs or self.outputs)))
        return TestClient(app, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """See Place. One of the runs outside is at work, as far as anybody can tell, and would take what is asked of it."""
    place = Place(tmp_path)
    with open(place.outside / "living" / "worker.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


def address(route: str, name: str) -> Iterator[str]:
    """The ways to write a name into an address."""
    raw = name.encode("utf-8", "surrogatepass")
    yield route.format(urllib.parse.quote(raw, safe=""))
    yield route.format(urllib.parse.quote(raw, safe="/.%"))
    if name.isascii() and name.isprintable() and " " not in name and "#" not in name and "?" not in name:
        yield route.format(name)


@pytest.mark.nightly
def test_no_address_leads_out_or_fails(place: Place, figure: Figure) -> None:
    before, bad, tried = place.digest(), {}, 0
    with place.client(place.outside) as client:  # who got out would be known by that word
        shown = ("run/poll", "run/compare", "run/export/yaml", "_overlay?runs=run")
        assert all(SECRET in client.get(f"/live/{what}").text for what in shown)
    with place.client() as client:
        for route in ROUTES:
            for name in NAMES:
                for asked in address(route, name):
                    try:
                        request = client.build_request("GET", asked)
                    except httpx.InvalidURL:
                        continue  # the client itself cannot write such an address
                    if request.url.path in STREAMS:
                        continue  # the events of a run that is there have no end
                    answer = client.send(request)
                    tried += 1
                    if answer.status_code >= 500 or SECRET in answer.text or "root:x:" in answer.text:
                        bad[asked[:80]] = answer.status_code
    assert bad == {}
    assert place.digest() == before
    figure("hostile names in addresses", tried, tried - len(bad))


def asked_of(place: Place, name: str) -> list[Callable[[], Any]]:
    """Every other place that takes a name from a client, asked with this one."""
    outputs, config = place.outputs, small_config()
    ask = run_actions.RunActions(outputs, Access(), saver=_NoService())  # type: ignore[arg-type]
    stop, command, change = ask.stop_run, ask.steer_run, ask.change_settings
    more = [ask.end_run, ask.fork_points, lambda run: ask.resume_run(run, Caller())]
    save, train, stop_training, delete = ask.save_model, *reward_panel.guarded_functions(outputs, Access())
    upload = place.outputs.parent / "upload.txt"
    upload.write_text("one\ntwo\n", encoding="utf-8")

    def check(**changes: Any) -> None:
        checks.check(from_dict({"rewards": [{"kind": "length"}], **changes}), outputs)

    asked: dict[str, Any] = {"run": name, "command": "pause", "changes": {"kl.coef": 0.5}, "as": "merged"}
    calls: list[tuple[Callable[..., Any], Any]] = [(stop, name), (command, asked), (change, asked), (save, asked)]
    calls += [(function, argument) for function in more for argument in (name, {"run": name})]
    calls += [(train, {"values": {"name": name, "pairs.source": name, "base": name}})]
    calls += [(stop_training, name), (delete, name), (catalog.preset_path, name)]
    configs = [{"model": {"source": name}}, {"reference": {"source": name}}, {"reference": {"source": f"one/{name}"}}]
    configs += [{"prompts": {"source": name}}, {"evaluation": {"text": name}}]
    configs += [{"rewards": [{"kind": "model", "source": name}]}]
    return [
        *(partial(function, argument) for function, argument in calls),
        *(partial(check, **changes) for changes in configs),
        lambda: history.delete_run(history.find_run(outputs, name)),
        lambda: RunDirectory.reserve(outputs, config, name or None),
        lambda: filling.filled_from(filling.RUN_PREFIX + name, outputs),
        lambda: filling.filled_from(name, outputs),
        lambda: reward_models.find(outputs, name),
        lambda: launcher.start(config.model_copy(update={"name": name or "x"}), outputs, spawn=_no_process),
        lambda: uploads.put(_named(upload, name), outputs),
        lambda: saving.checkpoint_of(RunDirectory(outputs / "one"), name, "merged"),
    ]


def answered(answer: Any) -> Any:
    """The answer, also of a function that gives it later."""
    return run_async(answer) if inspect.iscoroutine(answer) else answer


class _NoService:
    def ask(self, *_: Any) -> Iterator[Any]:
        raise PlaygroundError("there is no service")


def _no_process(*_: Any) -> Any:
    raise PlaygroundError("nothing is started here")


def _named(upload: Path, name: str) -> Path:
    """The upload under a name as Gradio would hand it over: the last part of what the client sent."""
    last = Path(name.replace("\0", "").encode("utf-8", "replace").decode()).name[:100] or "upload"
    target = upload.parent / f"{last}.txt"
    target.write_bytes(upload.read_bytes())
    return target


def test_no_name_leads_out_or_fails(place: Place, figure: Figure) -> None:
    before, bad, tried = place.digest(), {}, 0
    for name in NAMES:
        for position, ask in enumerate(asked_of(place, name)):
            tried += 1
            try:
                answer = answered(ask())
            except PlaygroundError as error:
                answer = str(error)
            except Exception as error:
                bad[f"{position}: {name[:60]!r}"] = f"{type(error).__name__}: {error}"
                continue
            if SECRET in repr(answer):
                bad[f"{position}: {name[:60]!r}"] = repr(answer)[:100]
            if not (place.outputs / "one").is_dir():  # a name that is not `one` has deleted it
                bad[f"{position}: {name[:60]!r}"] = "deleted"
    assert bad == {}
    assert place.digest() == before
    strange = [
        path.name for path in place.outputs.iterdir() if not path.name.replace("-", "").replace(".", "").isalnum()
    ]
    assert [name for name in strange if name != "_recorded"] == []
    figure("hostile names in everything else that takes one", tried, tried - len(bad))


LINKS = "worker.log metrics.jsonl samples.jsonl events.jsonl status.json config.yaml worker.lock checkpoints control"


@pytest.mark.parametrize("name", LINKS.split())
def test_a_link_in_a_run_is_not_followed(place: Place, name: str) -> None:
    path = place.outputs / "one" / name
    if path.is_dir():
        path.rename(place.outputs.parent / "moved")
    path.unlink(missing_ok=True)
    targets = {
        "control": "control",
        "checkpoints": ".",
        "config.yaml": "run/config.yaml",
        "status.json": "run/status.json",
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
        for asked in ("one", {"run": "one", "command": "pause"}):
            assert SECRET not in repr(answered(function(asked)))
    run = RunDirectory(place.outputs / "one")  # as if the link had come after it was opened
    assert SECRET not in run.log_tail()
    assert SECRET not in repr((run.metrics(), run.events(), run.samples()))
    assert SECRET not in repr(run.status())
    assert bool(run.checkpoints()) == (name != "checkpoints")  # those of a folder that is a link are nobody's
    assert place.digest() == before


def test_folders_that_are_links_are_not_followed(place: Place) -> None:
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

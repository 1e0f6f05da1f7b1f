"""Models of the Hugging Face hub: what is known of one before it is downloaded, the local cache, the download.

Only what is asked for leaves this machine, nothing with HF_HUB_OFFLINE=1. huggingface_hub is imported when needed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import ModelNotFound, ModelNotHere
from playground.models import architectures, model_files, weight_files
from playground.models.architectures import Architecture
from playground.models.model_files import Use

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
REVISION = re.compile(r"[A-Za-z0-9][\w./-]{0,99}")
OLD_NAMES = {"gpt2": "openai-community/gpt2", "distilgpt2": "distilbert/distilgpt2"}  # the hub had no owners then
WANTED = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]  # no pickle, no code
NOT_WANTED = ["*/*"]  # copies in other formats live in subfolders
FACTS_SECONDS = 5.0
POLL_SECONDS = 0.25
MB = 1e6
KEEP_SECONDS = 60.0  # how long an answer of the hub is good
Progress = Callable[[str], None]


class HubFacts(NamedTuple):
    """A model of the hub before it is downloaded. `download_bytes` is the size of the files that would be fetched."""

    id: str
    licence: str
    gated: bool
    download_bytes: int
    architecture: Architecture
    chat_template: bool


def repository(source: str) -> str | None:
    """The id that a model has on the hub, if `source` can be one: owner/name, or one of a few old bare names."""
    source = OLD_NAMES.get(source, source)
    if HUB_ID.fullmatch(source) and ".." not in source and "--" not in source:
        return source
    return None


def offline() -> bool:
    """True where the environment forbids to ask the hub."""
    wishes = (os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or "").upper()
    return wishes in ("1", "ON", "YES", "TRUE")


def absent(source: str) -> ModelNotHere:
    """What to say of a model that is not in the cache."""
    if offline():
        return ModelNotHere(
            f"{source} is neither a folder nor in the hub's cache on this machine, and HF_HUB_OFFLINE forbids "
            "downloading it: choose a model that is here, or start without HF_HUB_OFFLINE."
        )
    return ModelNotHere(f"{source} is not on this machine yet: a run downloads it first.")


def cache_folder() -> Path:
    """Where the hub's library keeps what it has downloaded."""
    from huggingface_hub import constants

    return Path(os.environ.get("HF_HUB_CACHE") or constants.HF_HUB_CACHE).expanduser()


def cached(source: str, revision: str | None = None) -> Path | None:
    """The folder of a model that has been downloaded completely; None if it has not. Asks no one.
    Raises: ModelNotFound, if the revision is not a name that a revision can have."""
    from huggingface_hub import try_to_load_from_cache

    commit, name = _revision(revision), repository(source)
    config_path = name and try_to_load_from_cache(name, "config.json", cache_dir=cache_folder(), revision=commit)
    if isinstance(config_path, str):
        with contextlib.suppress(ModelNotFound):
            weight_files.shards(Path(config_path).parent)
            return Path(config_path).parent
    return None


def facts(source: str, revision: str | None = None, use: Use = "policy") -> HubFacts:
    """What the hub says of a model, within a few seconds; nothing but its config.json is fetched. Raises:
    ModelNotFound, it is not there, private, gated, or cannot be used here. ModelNotHere: the hub cannot be asked."""
    from huggingface_hub.utils import filter_repo_objects

    name = repository(source)
    if name is None:
        raise ModelNotFound(f"`{source[:80]}` is not the id of a model on the hub: ids look like owner/name.")
    if offline():
        raise absent(name)
    with _as_refusal(name, revision):
        info = _api().model_info(name, revision=_revision(revision), files_metadata=True, timeout=FACTS_SECONDS)
    listed = {item.rfilename: item.size or 0 for item in info.siblings or []}
    files = filter_repo_objects(listed, allow_patterns=WANTED, ignore_patterns=NOT_WANTED)
    sizes = {file: listed[file] for file in files}
    weights = sum(size for file, size in sizes.items() if file.endswith(".safetensors"))
    if not weights:
        raise ModelNotFound(
            f"{name} has no safetensors on the hub, only weights in a format that can run code when opened: choose "
            "another model, or convert it on a machine you trust and give the folder's path."
        )
    config = _config(name, info.sha)
    model_files.check_config(config, f"config.json of {name}", use)
    counted = getattr(info.safetensors, "total", None)
    each = 4 if "32" in str(config.get("dtype") or config.get("torch_dtype") or "float32") else 2
    repeated = info.config or {}  # the hub repeats the tokenizer's chat template there
    named = (repeated.get("tokenizer_config") or {}).get("chat_template") or repeated.get("chat_template_jinja")
    return HubFacts(
        id=name,
        licence=next((tag[8:68] for tag in info.tags or [] if tag.startswith("license:")), "not stated"),
        gated=bool(info.gated),
        download_bytes=sum(sizes.values()),
        architecture=architectures.architecture(config, counted or weights // each, f"config.json of {name}"),
        chat_template="chat_template.jinja" in sizes or bool(named),
    )


def snapshot(
    source: str, revision: str | None = None, progress: Progress = lambda text: None, use: Use = "policy"
) -> Path:
    """Download a model, or what is still missing of it, and return its folder. `progress` gets every quarter of a
    second what has come, in words; it may raise to break off. Raises: as `facts`, and whatever `progress` raises."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import tqdm

    model, stopped, pieces = facts(source, revision, use), threading.Event(), [0.0]

    class Bar(tqdm):  # what the library takes for its progress bar
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts = kwargs.get("name") == "huggingface_hub.snapshot_download"
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            if stopped.is_set():
                raise InterruptedError("the download was interrupted")  # it can be resumed
            pieces.append((n or 0) * self.counts)
            return super().update(n)

    options: dict[str, Any] = {"allow_patterns": WANTED, "ignore_patterns": NOT_WANTED, "tqdm_class": Bar}
    options |= {"revision": _revision(revision), "cache_dir": cache_folder()}
    pool = ThreadPoolExecutor(1)
    download = pool.submit(lambda: str(snapshot_download(model.id, **options)))
    try:
        while not download.done():
            done, whole = min(sum(pieces), model.download_bytes) / MB, model.download_bytes / MB
            progress(f"downloading {model.id}: {done:.0f} of {whole:.0f} MB")
            wait([download], POLL_SECONDS)
    finally:
        stopped.set()
        pool.shutdown(wait=False)
    with _as_refusal(model.id, revision):
        return Path(download.result())


def facts_kept(source: str, revision: str | None = None, use: Use = "policy") -> HubFacts:
    """Like `facts`, asking the hub at most once in a while: for a page that asks at every edit. Raises: ModelNotFound,
    ModelNotHere: see `facts`."""
    answer = _answered(source, revision, use, int(time.monotonic() / KEEP_SECONDS))
    if isinstance(answer, ModelNotFound):
        raise type(answer)(str(answer))
    return answer


@functools.lru_cache(maxsize=100)
def _answered(source: str, revision: str | None, use: Use, moment: int) -> HubFacts | ModelNotFound:
    """`moment` makes an old answer a different question."""
    try:
        return facts(source, revision, use)
    except ModelNotFound as error:
        return error


def _revision(revision: str | None) -> str:
    if revision is None:
        return "main"
    if not REVISION.fullmatch(revision) or ".." in revision:
        raise ModelNotFound(f"`{revision[:40]}` cannot be a revision: give a branch, a tag or a commit.")
    return revision


def _api() -> Any:
    from huggingface_hub import HfApi

    return HfApi()


def _config(name: str, commit: str) -> dict[str, Any]:
    from huggingface_hub import hf_hub_download

    with _as_refusal(name, commit):
        folder = cache_folder()
        path = hf_hub_download(name, "config.json", revision=commit, cache_dir=folder, etag_timeout=FACTS_SECONDS)
    return weight_files.read_json(Path(path))


@contextlib.contextmanager
def _as_refusal(name: str, revision: str | None) -> Iterator[None]:
    """Every way in which the hub can refuse -> one sentence."""
    from huggingface_hub import errors

    login = "with `hf auth login`"
    refusals = (  # the first that fits counts
        (errors.GatedRepoError, f"is gated: accept its terms on its page at huggingface.co, and log in {login}"),
        (errors.RepositoryNotFoundError, f"is not on the hub, or it is private: check the spelling, or log in {login}"),
        (errors.RevisionNotFoundError, f"has no revision `{revision}`: leave model.revision empty for the newest"),
        (errors.RemoteEntryNotFoundError, "has no config.json on the hub, so it cannot be loaded here"),
    )
    try:
        yield
    except (errors.HTTPError, OSError) as error:
        if words := next((words for kind, words in refusals if isinstance(error, kind)), ""):
            raise ModelNotFound(f"{name} {words}.") from None
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        raise ModelNotHere(
            f"{name} is not on this machine and the hub cannot be reached ({type(error).__name__}): check the network, "
            "or choose a model that is here."
        ) from None

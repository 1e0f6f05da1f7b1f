"""The checkpoints of a run: which are intact, from which one to go on, which may be deleted. Each is a folder
`update-000040` with a MANIFEST.json, written last, that names every other file with its size and SHA-256."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from playground import plain_files
from playground.config import RunConfig
from playground.errors import ModelNotFound, RunNotResumable
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory

MANIFEST = "MANIFEST.json"
TRAINER = "trainer.json"
OPTIMIZER = "optimizer.safetensors"  # without it the weights can be used, and training cannot go on from them
BEST_BY = "penalised_reward"
RUN_KEY, OBJECTIVE = "run_key", "objective_sha256"  # in trainer.json: whose it is, and what its numbers mean
LEFTOVERS = (".tmp-*", ".old-*", ".broken-*")
MAX_MANIFEST_BYTES = 1_000_000
NAME = re.compile(r"(?:\.old-)?update-(\d{6,9})")  # .old-: until its successor has its name


class Found(NamedTuple):
    """The newest checkpoint to go on from."""

    path: Path
    update: int


class Search(NamedTuple):
    """`found`, and on the way to it `problems` in words and `passed_over`, the folders that they are about."""

    found: Found | None
    problems: list[str]
    passed_over: list[Path]


def search(run: RunDirectory) -> Search:
    """Look at the checkpoints of a run, the newest first, until one is intact and can be gone on from."""
    problems: dict[Path, str] = {}
    newest, own = None, requests.of(run).key
    folders = [path for path in run.checkpoints_path.glob("*update-*") if NAME.fullmatch(path.name) and path.is_dir()]
    for folder in sorted(folders, key=update_of, reverse=True):
        problem = problem_of(folder)
        if not problem and not (folder / OPTIMIZER).is_file():
            problem = "it holds weights, but not the state of the optimizer"
        if not problem and own and facts_of(folder).get(RUN_KEY, own) not in (own, ""):
            problem = "it comes from another run"
        if not problem:
            newest = Found(folder, update_of(folder))
            break
        problems[folder] = f"The checkpoint {folder.name} cannot be used: {problem}."
    return Search(newest, [*problems.values()], [*problems])


def digest(config: RunConfig) -> str:
    """Of the configuration as run, to see whether a checkpoint was made with it."""
    return hashlib.sha256(config.to_yaml().encode()).hexdigest()


def is_of(facts: Mapping[str, Any], run: RunDirectory, config: RunConfig) -> bool:
    """Whether a checkpoint was made with the settings that a run has, which an earlier version may have written down,
    with fewer of them."""
    as_written = hashlib.sha256(run.config_path.read_bytes()).hexdigest()
    return facts.get("config_sha256") in (digest(config), as_written)


def digest_of_objective(config: RunConfig) -> str:
    """Of the settings that say what the weights and the scale of the score of a checkpoint mean. Defaults are left out,
    so that a setting that a later version brings changes nothing."""
    rewards = [part for spec in config.rewards for part in (spec.kind, spec.model_dump_json(exclude_defaults=True))]
    memory = {"gradient_checkpointing"}  # means nothing
    models = [part.model_dump_json(exclude_defaults=True, exclude=memory) for part in (config.model, config.reference)]
    ensemble = [config.score.combine, str(config.score.caution)] if config.score.combine != "sum" else []
    return hashlib.sha256("\n".join([*models, *rewards, config.score.normalise, *ensemble]).encode()).hexdigest()


def can_go_on(folder: Path) -> bool:
    """True for a checkpoint that is intact and holds the whole state of training."""
    return (folder / OPTIMIZER).is_file() and not problem_of(folder)


def name_of(update: int) -> str:
    """The folder of the checkpoint after an update."""
    return f"update-{update:06d}"


def update_of(folder: Path) -> int:
    """The update after which a checkpoint was written, from its name."""
    if name := NAME.fullmatch(folder.name):
        return int(name[1])
    return -1


def problem_of(folder: Path, *, just_read: bool = False) -> str:
    """What is wrong with a checkpoint, in words; empty if every byte is as written. `just_read`: its manifest was made
    a moment ago of what was read back, so sizes are enough."""
    if folder.is_symlink():
        return "it is a link"
    if not (folder / MANIFEST).is_file():
        return f"it has no {MANIFEST}"
    try:
        listed = _manifest(folder / MANIFEST)
        names = {entry.name for entry in os.scandir(folder)} - {MANIFEST}
        if lacking := sorted(listed.keys() - names):
            return f"{lacking[0]} is missing"
        if unknown := sorted(names - listed.keys()):
            return f"{unknown[0]} is not named in its {MANIFEST}"
        for name, facts in listed.items():
            if problem := _problem_of_file(folder / name, facts, just_read):
                return f"{name} {problem}"
        if plain_files.read_json(folder / TRAINER, MAX_MANIFEST_BYTES)["update"] != update_of(folder):
            return f"its {TRAINER} is of another update"
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"its {MANIFEST} or {TRAINER} is damaged"
    return ""


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    """What a manifest says of the files that are in a folder now."""
    return {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in sorted(folder.iterdir())}


def check(folder: Path) -> Path:
    """The folder, if it is no checkpoint or an intact one; asked before its weights are used. Raises: ModelNotFound."""
    if (folder / MANIFEST).exists() and (problem := problem_of(folder)):
        raise ModelNotFound(
            f"The checkpoint {folder.parent.parent.name}/{folder.name} is damaged: {problem}. Use another one."
        )
    return folder


def facts_of(folder: Path) -> dict[str, Any]:
    """What trainer.json says; nothing where it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        facts = plain_files.read_json(folder / TRAINER, MAX_MANIFEST_BYTES)
        if isinstance(facts, dict):
            return facts
    return {}


def best(folders: Iterable[Path]) -> Path | None:
    """The checkpoint with the highest penalised reward, as its trainer.json says it; the newest of equals."""
    rewards = {folder: facts_of(folder).get(BEST_BY) for folder in folders}
    scored = [folder for folder, reward in rewards.items() if isinstance(reward, (int, float))]
    return max(scored, key=lambda folder: (rewards[folder], update_of(folder)), default=None)


def prune(folder: Path, keep_last: int) -> None:
    """Delete all checkpoints but the newest `keep_last` and the best, and what crashes and damages left. Only after the
    newest has been verified."""
    complete = sorted((path for path in folder.glob("update-*") if NAME.fullmatch(path.name)), key=update_of)
    folders = {*complete[-keep_last:], best(complete)}
    for path in complete:
        if path not in folders:
            _delete(path)
    clear(folder)


def clear(folder: Path, patterns: Iterable[str] = LEFTOVERS) -> None:
    """Delete what was never finished, was replaced, or was found broken."""
    for pattern in patterns:
        for path in folder.glob(pattern):
            _delete(path)


def set_aside(folders: Iterable[Path]) -> None:
    """Give checkpoints that cannot be used a name under which they count for none. The next good one deletes them."""
    for path in folders:
        aside = path.with_name(f".broken-{path.name.removeprefix('.old-')}")
        _delete(aside)
        with contextlib.suppress(OSError):
            os.rename(path, aside)


def settle(run: RunDirectory, search: Search) -> Found | None:
    """Bring order into the folder before an attempt goes on; for the holder of the run's lock. What was passed over
    gets another name, or as the newest by number it would be kept in the place of what the attempt saves."""
    set_aside(search.passed_over)
    clear(run.checkpoints_path, (".tmp-*",))
    if search.found is None:
        return None
    path, update = search.found
    if path.name.startswith(".old-"):
        path = path.rename(path.with_name(path.name.removeprefix(".old-")))
    return Found(path, update)


def check_engine(config: RunConfig) -> None:
    """Raises: RunNotResumable for a run whose trainer cannot go on from a checkpoint."""
    if config.kind == "watched":
        raise RunNotResumable(config.why_not_resumed)
    if config.by_trl:
        which = "engine: trl"
        if config.engine != "trl":
            which = f"method: {config.method}"
        again = "Start the run again from its config.yaml."
        raise RunNotResumable(f"{which}: TRL's trainer cannot go on from a checkpoint. {again}")


def _manifest(path: Path) -> dict[str, dict[str, Any]]:
    data = plain_files.read_json(path, MAX_MANIFEST_BYTES)
    files = data["files"]
    if data["format"] != 1 or not isinstance(files, dict):
        raise ValueError
    if any(name in ("", ".", "..", MANIFEST) or "/" in name or "\\" in name or "\0" in name for name in files):
        raise ValueError
    return files


def _problem_of_file(path: Path, facts: dict[str, Any], just_read: bool) -> str:
    if path.is_symlink() or not path.is_file():
        return "is not a plain file"
    size = path.stat().st_size
    if size != facts["bytes"]:
        return f"has {size:,} bytes instead of {facts['bytes']:,}"
    if just_read or sha256(path) == facts["sha256"]:
        return ""
    return "is not as it was written"


def sha256(path: Path) -> str:
    """Of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _delete(path: Path) -> None:
    """A checkpoint loses its name first, so that half of one is never seen."""
    if path.is_dir() and not path.is_symlink():
        if NAME.fullmatch(path.name):
            going = path.with_name(f".tmp-deleted-{path.name}")
            with contextlib.suppress(OSError):
                os.rename(path, going)
                path = going
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()

"""A page of recordings as a folder of files, which any file server can serve under any path: `make static-space`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import gradio as gr

from playground.errors import PlaygroundError
from playground.lessons import boards
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import UNFINISHED, made_beside
from playground.setup import catalog
from playground.ui import own_files, theme
from playground.ui.feed.feed import RECORDED, Hub
from playground.ui.feed.run_feed import recorded_id
from playground.ui.runs import history_data
from playground.ui.standalone import answers, parts
from playground.ui.standalone.answers import MakeRoutes

ENTRY = "standalone/site.js"
OWN_FOLDERS = ("static", "answers")
PAGES = ("lessons", "train", "compare", "runs")
FILES = (*answers.FILES, "export/html")
FONT_FACES = "".join(font.stylesheet()["css"] or "" for font in theme.FONTS)
GRADIOS_FILES = Path(gr.__file__).parent / "templates" / "frontend"
FONT_FILE = re.compile(r"url\('(.+?)'\)")
NOTICE = (
    "This is a page of recordings: nothing trains here. To train, run the RLHF Playground on a computer of your own"
)
NOT_YET = (
    "Loading. If this stays, the file was opened from disk: browsers load the scripts of such a page from a web server "
    "only. `python -m http.server` in its folder is one."
)
HEADER = """---
title: RLHF Playground, recordings
emoji: 🎚️
colorFrom: indigo
colorTo: gray
sdk: static
app_file: index.html
pinned: false
license: apache-2.0
short_description: PPO with a KL leash, recorded update by update
tags: [rlhf, ppo, education, visualization]
---

"""
README = """# RLHF Playground, recordings

The recorded runs of the experiments of the RLHF Playground, to be played, compared and laid over each other. Nothing
computes here: it is a folder of files, made by `make static-space`. Any file server can serve it, for example

    python -m http.server --directory .
"""


class WrittenSite(NamedTuple):
    """What was written."""

    folder: Path
    num_runs: int
    num_bytes: int


def write(
    folder: Path,
    make_routes: MakeRoutes,
    recorded: Path = RECORDED,
    address: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> WrittenSite:
    """Write the page of all recordings in `recorded`. `address`: where the project can be had, said on the page. `say`
    hears how far it is.

    Raises: PlaygroundError, if the folder is not empty and not one that this has written before.
    """
    present = [path for path in folder.glob("*") if not path.name.startswith(UNFINISHED)]
    if present and not all((folder / own).is_dir() for own in OWN_FOLDERS):
        raise PlaygroundError(f"The folder {folder} is not empty. Name one that is empty or not there yet.")
    hub = Hub(folder, recorded)
    runs = hub.recorded
    if not runs:
        raise PlaygroundError(f"There are no recordings in {recorded}.")
    files = {**_static(), **_answers(hub, make_routes, recorded, address, say), "README.md": HEADER + README}
    folder.mkdir(parents=True, exist_ok=True)
    with made_beside(folder / "site") as site:
        for name, content in files.items():
            path = site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                content = content.encode()
            path.write_bytes(content)
        for old in OWN_FOLDERS:
            shutil.rmtree(folder / old, ignore_errors=True)
        for path in site.iterdir():
            os.replace(path, folder / path.name)
    return WrittenSite(folder, len(runs), sum((folder / name).stat().st_size for name in files))


def _static() -> dict[str, str | bytes]:
    static = f"static/{own_files.fingerprint()}"
    scripts = parts.scripts(ENTRY)
    now = sorted(own_files.needed_by(ENTRY, "standalone/page.js", "lessons/panel.js"))
    ahead = "\n".join(f'<link rel="modulepreload" href="{static}/{name}">' for name in now)
    index = parts.template("index.html").substitute(
        static=static,
        entry=ENTRY,
        icon=own_files.ICON,
        ahead=ahead,
        frame=parts.frame(NOT_YET),
    )
    return {
        "index.html": index,
        f"{static}/page.css": f"{FONT_FACES}\n{parts.sheet()}",
        **{f"{static}/{name}": (GRADIOS_FILES / name).read_bytes() for name in FONT_FILE.findall(FONT_FACES)},
        **{f"{static}/{name}": source for name, source in scripts.items()},
        **{f"{static}/models/{name}": weights for name, weights in _models().items()},
    }


def _answers(
    hub: Hub, make_routes: MakeRoutes, recorded: Path, address: str, say: Callable[[str], None]
) -> dict[str, str | bytes]:
    runs = hub.recorded
    packs = answers.of_runs(runs, make_routes, FILES, lessons=True, mysteries=hub.mysteries, say=say)
    listed = history_data.history_data(recorded)
    listed["runs"] = [run | {"id": recorded_id(run["id"])} for run in listed["runs"]]
    packs["live/_runs"] = {"": listed}
    presets = [RunDirectory(path).id for path in runs.values()]
    notice = NOTICE
    if address:
        notice += f": {address}"
    packs["live/_page"] = {"": parts.about(PAGES, presets, f"{notice}.", FILES)}
    return {f"answers/{file_of(pack)}.txt": parts.packed(parts.compact(content)) for pack, content in packs.items()}


def _models() -> dict[str, bytes]:
    """What static/standalone/asking.js asks for: the model before training, that of each leash, their tokenizer."""
    untrained = catalog.POCKET_MODELS / "pocket-2m"
    paths = {"before.safetensors": untrained / "model.safetensors", "tokenizer.json": untrained / "tokenizer.json"}
    for beta in boards.ASKED:
        (checkpoint,) = RunDirectory(boards.asked_folder(beta)).checkpoints()
        paths[f"leash-{beta:g}.safetensors"] = checkpoint / "model.safetensors"
    return {name: path.read_bytes() for name, path in paths.items()}


def file_of(pack: str) -> str:
    """The name of a pack's file, as static/standalone/site.js makes it. (Some file servers hide names with `_`.)"""
    return "/".join(part.removeprefix("_") for part in pack.split("/")[1:])

"""One run as one file, to be played, read and compared in a browser that opens it from disk: `python -m playground
replay`, and a button under "Fork and export". Nothing in it is fetched, and it stays under 3 MB.
"""

from __future__ import annotations

import functools
import html
import secrets
from typing import NamedTuple

from playground.errors import PlaygroundError
from playground.runs.folder.directory import RunDirectory
from playground.ui import own_files
from playground.ui.feed.run_feed import recorded_id
from playground.ui.standalone import answers, parts
from playground.ui.standalone.answers import OTHERS, MakeRoutes, Pack, Packs

MOST_BYTES = 3_000_000
ENTRY = "standalone/replay.js"
PAGES = ("train", "compare")
NOT_YET = "Loading. If this stays, the browser is older than 2023: open the file in a newer one."
PARTS = {  # what may be left out of a run that is too large, by its pack
    "trace": "updates in slow motion",
    "rollout": "the training texts of single updates",
    "tokens": "answers token by token",
    "samples.csv": "the table of texts",
    "compare": "the comparison at moments before the last",
    "poll": "some of the evaluations",
}
READS = tuple(
    f"{name}_path" for name in "config status label metrics samples evaluations events rollouts tokens traces".split()
)
ROOM_FOR_WORDS = 4000  # bytes for what the file says of itself
LEFT_OUT = "This file was made without {}, to stay under 3 MB."


class ReplayFile(NamedTuple):
    """The file, and what of the run is not in it, in words."""

    html: str
    left_out: list[str]


def page(run: RunDirectory, make_routes: MakeRoutes) -> ReplayFile:
    """The run as it is now. Raises: InvalidConfig, if it cannot be read."""
    run_id = recorded_id(run.id)
    title = f"{run.title(run.config())}, replay"
    packs = answers.of_runs({run_id: run.path}, make_routes)
    del packs[f"live/{run_id}/overlay"]
    packs["live/_home"][""]["recorded"] = {"": run_id}
    return in_one_file(packs, run_id, title)


def in_one_file(packs: Packs, run_id: str, title: str) -> ReplayFile:
    """Answers about a run, the page that shows them, and no more than fits. Raises: PlaygroundError, if that is too
    little."""
    filled = {
        **_scripts(),
        "nonce": secrets.token_urlsafe(16),
        "title": html.escape(title),
        "icon": own_files.ICON,
        "sheet": parts.sheet(),
        "frame": parts.frame(NOT_YET),
    }
    template = parts.template("replay.html")
    room = MOST_BYTES - len(template.substitute(filled, answers="").encode())
    fitting, left_out = _fitting({**packs, "live/_page": {}}, run_id, room - ROOM_FOR_WORDS)
    notice = ""
    if left_out:
        notice = LEFT_OUT.format(", ".join(left_out))
    fitting["live/_page"] = {"": parts.about(PAGES, [], notice, answers.FILES)}
    return ReplayFile(template.substitute(filled, answers=parts.packed(parts.compact(fitting))), left_out)


@functools.cache
def _scripts() -> dict[str, str]:
    """Ours under names that tell no folder, and what loads them: no module, since it makes their addresses."""
    sources = parts.scripts(ENTRY)
    ours = {name: parts.renamed(name, source, "playground/{}".format) for name, source in sources.items()}
    unpack, loader = (own_files.script(f"standalone/{name}.js").lstrip() for name in ("unpack", "loader"))
    return {
        "scripts": parts.packed(parts.compact(ours)),
        "loader": unpack.replace("export ", "") + parts.IMPORT_LINE.sub("", loader),
    }


def _fitting(packs: Packs, run_id: str, room: int) -> tuple[Packs, list[str]]:
    """The packs without the largest parts, as far as it takes for them to fit, and what is left out.
    Raises: PlaygroundError, if it never does."""
    left_out: list[str] = []
    sizes = {pack: _size(content) for pack, content in packs.items()}
    while sum(sizes.values()) > room:
        can = [kind for kind in PARTS if _can_shrink(packs, run_id, kind)]
        if not can:
            raise PlaygroundError(f"A replay of this run would be larger than {MOST_BYTES // 1_000_000} MB.")
        kind = max(can, key=lambda kind: sizes[f"live/{run_id}/{kind}"])
        pack = f"live/{run_id}/{kind}"
        packs = {**packs, pack: _shrunk(packs[pack], kind)}
        sizes[pack] = _size(packs[pack])
        left_out = [*dict.fromkeys([*left_out, PARTS[kind]])]
    return packs, left_out


def _can_shrink(packs: Packs, run_id: str, kind: str) -> bool:
    pack = packs.get(f"live/{run_id}/{kind}", {})
    if kind == "poll":
        return len(pack[""].get("snapshot", {}).get("moments", [])) > 2
    lasting_keys = {OTHERS}
    if kind == "compare":
        lasting_keys.add("")
    return bool(pack.keys() - lasting_keys)


def _size(pack: Pack) -> int:
    return len(parts.packed(parts.compact(pack)))


def _shrunk(pack: Pack, kind: str) -> Pack:
    """A pack with less in it: of the evaluations every second one is left, of the comparison the end, of others nothing
    but a sentence."""
    if kind == "poll":
        moments = pack[""]["snapshot"]["moments"]
        halved = [*moments[:-1:2], moments[-1]]
        changed = {"moments": halved, "updates": [moment["update"] for moment in halved]}
        return {"": {"snapshot": pack[""]["snapshot"] | changed}}
    sentence = LEFT_OUT.format(PARTS[kind])
    gone: Pack = {OTHERS: {"error": sentence}}
    if kind == "compare":
        gone[""] = pack[""] | {"moments": pack[""]["moments"][-1:], "one_moment": sentence}
    return gone

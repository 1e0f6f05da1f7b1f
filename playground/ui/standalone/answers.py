"""What the page asks of the server about some runs, answered beforehand by the server's own routes.

`replay` puts the answers into one file, `site` into a folder of files. They are kept in packs: everything of one kind
about one run, such as `live/_recorded/rollout`, by what the address says beyond that (static/standalone/answers.js).
"""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from playground.lessons import boards
from playground.setup.limits import LIMITS, PageLimits
from playground.ui.auth.access import STANDALONE, Access
from playground.ui.feed.feed import Hub
from playground.ui.feed.run_feed import recorded_id

Pack = dict[str, Any]
Packs = dict[str, Pack]
MakeRoutes = Callable[
    [Hub, Access], list[BaseRoute]
]  # `routes.routes`, which serves replays and so imports this package
FILES = ("export/yaml", "export/trl", "metrics.csv", "samples.csv")
OTHERS = "*"  # the key of what is answered where no other key fits
AT_THEIR_ENDS = "Two recordings are compared at their ends."


def of_runs(
    runs: Mapping[str, Path],
    make_routes: MakeRoutes,
    files: Iterable[str] = FILES,
    *,
    lessons: bool = False,
    mysteries: Mapping[str, Path] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Packs:
    """All that can be asked about these runs, by the ids under which the page shows them, and about pairs of them.

    Args:
        runs: id -> folder; an id begins with `_`, so the page plays them as recordings.
        files: which files of each run can be saved.
        lessons: whether the lessons are there too, with what these runs say of them.
        mysteries: the runs whose mistake is to be found, which are compared with no other.
        say: hears how far it is.
    """
    with ThreadPoolExecutor(1, "answers") as apart:  # a notebook's own thread has a loop already
        asked = _of_runs(runs, make_routes, tuple(files), lessons, mysteries or {}, say)
        return apart.submit(asyncio.run, asked).result()


async def _of_runs(
    runs: Mapping[str, Path],
    make_routes: MakeRoutes,
    files: tuple[str, ...],
    lessons: bool,
    mysteries: Mapping[str, Path],
    say: Callable[[str], None],
) -> Packs:
    with tempfile.TemporaryDirectory() as nothing:
        hub = Hub(Path(nothing))
        hub.recorded, hub.mysteries = dict(runs), dict(mysteries)
        hub.linger = math.inf  # each is asked about with every other one, and would be read again for that
        access = Access(STANDALONE, page_limits=PageLimits(LIMITS["local"], LIMITS["local"]))
        app = httpx.ASGITransport(app=Starlette(routes=make_routes(hub, access)))
        async with httpx.AsyncClient(transport=app, base_url="http://standalone") as client:
            asking = _Asking(client)
            try:
                await asking.page()
                for number, run_id in enumerate(runs, 1):
                    say(f"What the page asks about its recordings: {number} of {len(runs)}")
                    await asking.run(run_id, files)
                    await asking.pairs(run_id, [other for other in runs if other != run_id])
                if lessons:
                    await asking.lessons(runs)
                    await asking.keep("live/_mysteries", "")
                for run_id in mysteries:
                    await asking.run(run_id, files)
                    await asking.keep(f"live/{run_id}/mystery", "")
            finally:
                await hub.close()
    return asking.packs


class _Asking:
    """Asks, and keeps what was answered."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client, self.packs = client, Packs()

    async def ask(self, path: str) -> Any:
        """What the server answers: data, a text, or `{error}`."""
        answer = await self.client.get(f"/{path}")
        if answer.headers["content-type"] == "application/json":
            return answer.json()
        return answer.text

    async def keep(self, pack: str, *keys: str) -> None:
        """Ask, and keep the answers. A key goes on where the name of the pack ends."""
        for key in keys:
            between = "" if not key or key.startswith("?") else "/"
            self.packs.setdefault(pack, {})[key] = await self.ask(f"{pack}{between}{key}")

    async def page(self) -> None:
        """What no run is named for; nothing of the machine on which this is asked."""
        await self.keep("live/_access", "")
        await self.keep("live/_home", "")
        await self.keep("live/_runs", "")
        self.packs["live/_home"][""] |= {"machine": "recordings"}

    async def lessons(self, runs: Iterable[str]) -> None:
        """All lessons, and what the recordings of their runs say of them."""
        await self.keep("live/_lessons", "")
        for name in boards.NAMES:
            await self.keep(f"live/_{name}", "")
        for course in self.packs["live/_lessons"][""]["courses"]:
            for lesson in course["lessons"]:
                first, *_ = twins = [recorded_id(run["preset"]) for run in lesson["runs"]]
                for index, twin in enumerate(twins):
                    if twin in runs and first in runs:
                        beside = f"?first={first}" if index else ""
                        await self.keep(f"live/{twin}/lesson", f"{lesson['name']}/{index}{beside}")

    async def run(self, run_id: str, files: Iterable[str]) -> None:
        """Everything about one run."""
        run = f"live/{run_id}"
        answer = await self.ask(f"{run}/poll")
        if "error" in answer:
            self.packs[f"{run}/poll"] = {"": answer}
            return
        snapshot = answer["snapshot"]
        self.packs[f"{run}/poll"] = {"": {"snapshot": snapshot}}
        for part in ("frontier", "outcome", "compare"):
            await self.keep(f"{run}/{part}", "")
        moments = self.packs[f"{run}/compare"][""].get("moments", [])
        await self.keep(f"{run}/compare", *(f"?update={update}" for update in moments))
        newest = await self.ask(f"{run}/rollout/last")
        updates = range(0)
        if "error" not in newest:
            updates = range(1, max(snapshot["metrics"]["update"], default=0) + 1)
        await self.keep(f"{run}/rollout", *(str(update) for update in updates))
        self.packs.setdefault(f"{run}/rollout", {OTHERS: newest})
        traced = {event["update"] for event in snapshot["events"] if event["kind"] == "trace"}
        await self.keep(f"{run}/trace", *(str(update) for update in sorted(traced)))
        await self.keep(f"{run}/tokens", *self._prompts(run, snapshot))
        for name in files:
            part, _, kind = name.partition("/")
            await self.keep(f"{run}/{part}", kind)

    def _prompts(self, run: str, snapshot: Mapping[str, Any]) -> list[str]:
        """Whose tokens can be asked for: of a fixed prompt, and of each answer to it."""
        sides = (side["at"] for row in self.packs[f"{run}/compare"][""].get("rows", []) for side in _sides(row))
        answers = dict.fromkeys(f"{at['promptId']}?seed={at['seed']}" for at in sides)
        return [*(str(prompt["id"]) for prompt in snapshot["prompts"]), *answers]

    async def pairs(self, run_id: str, other_runs: Iterable[str]) -> None:
        """The run compared with others at their ends, and laid over each: what the curves do not say by themselves."""
        compared = self.packs.get(f"live/{run_id}/compare", {})
        self.packs[f"live/{run_id}/overlay"] = laid = {"": await self.ask(f"live/_overlay?runs={run_id}")}
        for other in other_runs:
            pair = await self.ask(f"live/{run_id}/compare?with={other}")
            compared[f"?with={other}"] = pair | {"moments": pair["moments"][-1:], "one_moment": AT_THEIR_ENDS}
            both = await self.ask(f"live/_overlay?runs={run_id},{other}")
            paths = {run["id"]: run["there"] for run in both.pop("runs")}
            laid[other] = {**both, "there": paths}


def _sides(row: Mapping[str, Any]) -> list[Any]:
    return [row["before"], row["after"]]

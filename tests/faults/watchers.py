"""Many viewers of one run, in a process of their own: `python -m tests.faults.watchers URL RUN_ID ...`.

Each keeps one live stream open and the poll of every open page beside it, and writes down every update that it is told
of. Some leave at random and come back where they were. Prints one line of JSON at the end; see `Told`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import time
from dataclasses import dataclass, field

import httpx

HOME_EVERY_SECONDS = 8.0


@dataclass
class Told:
    """What one viewer was told. `updates`: update -> wall time at which it was first told of it.

    `twice` counts updates that came again in a delta, `gaps` deltas that did not follow on what was known.
    """

    updates: dict[int, float] = field(default_factory=dict)
    twice: int = 0
    gaps: int = 0
    returns: int = 0
    snapshots: int = 0
    cursor: str = ""

    def hear(self, kind: str, cursor: str, data: str) -> None:
        """One server-sent event."""
        self.cursor = cursor
        if '"metrics"' not in data:
            return
        updates = json.loads(data).get("metrics", {}).get("update", [])
        if kind == "snapshot":
            self.snapshots += 1
            self.updates = dict.fromkeys(updates, 0.0)  # what was there before: how late it is says nothing
            return
        now = time.time()
        for update in updates:
            self.twice += update in self.updates
            self.gaps += bool(self.updates) and update > max(self.updates) + 1
            self.updates.setdefault(update, now)


async def watch(client: httpx.AsyncClient, run_id: str, until: float, luck: random.Random, leaving: float) -> Told:
    """One viewer, until a moment; with some luck it leaves a few times and comes back."""
    told = Told()
    polling = asyncio.create_task(poll_home(client))
    leaves = luck.random() < leaving
    try:
        while (now := time.monotonic()) < until:
            away_at = min(until, now + luck.uniform(3, 15)) if leaves else until
            with contextlib.suppress(TimeoutError, httpx.TransportError):
                async with asyncio.timeout(away_at - now):
                    await listen(client, run_id, told)
            told.returns += time.monotonic() < until
    finally:
        polling.cancel()
    return told


async def listen(client: httpx.AsyncClient, run_id: str, told: Told) -> None:
    """One stream from where the viewer was."""
    headers = {"Last-Event-ID": told.cursor} if told.cursor else {}
    async with client.stream("GET", f"/live/{run_id}", headers=headers) as response:
        response.raise_for_status()
        waiting = b""
        async for piece in response.aiter_bytes():
            *blocks, waiting = (waiting + piece).split(b"\n\n")
            for block in blocks:
                lines = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line[:8])
                if "data" in lines:
                    told.hear(lines.get("event", ""), lines.get("id", ""), lines["data"])


async def poll_home(client: httpx.AsyncClient) -> None:
    """What every open page asks every few seconds."""
    while True:
        with contextlib.suppress(httpx.TransportError):
            await client.get("/live/_home")
        await asyncio.sleep(HOME_EVERY_SECONDS)


async def crowd(arguments: argparse.Namespace) -> list[Told]:
    """All of them at once."""
    luck = random.Random(arguments.seed)
    until = time.monotonic() + arguments.seconds
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=arguments.url, timeout=30, limits=limits) as client:
        one = [
            watch(client, arguments.run_id, until, random.Random(luck.random()), arguments.leaving)
            for _ in range(arguments.viewers)
        ]
        return await asyncio.gather(*one)


def main() -> None:
    """Watch, and print what each was told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("run_id")
    parser.add_argument("--viewers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--leaving", type=float, default=0.2, help="share of viewers that leave and come back")
    parser.add_argument("--seed", type=int, default=0)
    print(json.dumps([told.__dict__ for told in asyncio.run(crowd(parser.parse_args()))]))


if __name__ == "__main__":
    main()

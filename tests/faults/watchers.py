"""Many viewers of one run, in a process of their own: `python -m tests.faults.watchers`, and its arguments
URL RUN_ID VIEWERS SECONDS SEED.

Each keeps one live stream open and the poll of every open page beside it, and writes down every update that it hears
of. Some leave at random and come back where they were. Prints one line of JSON at the end; see `Heard`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field

import httpx

HOME_EVERY_SECONDS = 8.0
LEAVING = 0.2  # share of viewers that leave and come back


@dataclass
class Heard:
    """What one viewer heard. `updates`: update -> wall time at which it first heard of it.

    `twice` counts updates that came again in a delta, `gaps` deltas that did not follow on what was known.
    """

    updates: dict[int, float] = field(default_factory=dict)
    twice: int = 0
    gaps: int = 0
    returns: int = 0
    cursor: str = ""

    def hear(self, kind: str, cursor: str, data: str) -> None:
        """One server-sent event."""
        self.cursor = cursor
        if '"metrics"' not in data:
            return
        updates = json.loads(data).get("metrics", {}).get("update", [])
        if kind == "snapshot":
            self.updates = dict.fromkeys(updates, 0.0)  # what was there before: how late it is says nothing
            return
        for update in updates:
            self.twice += update in self.updates
            self.gaps += bool(self.updates) and update > max(self.updates) + 1
            self.updates.setdefault(update, time.time())


async def watch(client: httpx.AsyncClient, run_id: str, until: float, luck: random.Random) -> Heard:
    """One viewer, until a moment; with some luck it leaves a few times and comes back."""
    heard = Heard()
    polling = asyncio.create_task(poll_home(client))
    leaves = luck.random() < LEAVING
    try:
        while (now := time.monotonic()) < until:
            away_at = min(until, now + luck.uniform(3, 15)) if leaves else until
            with contextlib.suppress(TimeoutError, httpx.TransportError):
                async with asyncio.timeout(away_at - now):
                    await listen(client, run_id, heard)
            heard.returns += time.monotonic() < until
    finally:
        polling.cancel()
    return heard


async def listen(client: httpx.AsyncClient, run_id: str, heard: Heard) -> None:
    """One stream from where the viewer was."""
    headers = {"Last-Event-ID": heard.cursor} if heard.cursor else {}
    async with client.stream("GET", f"/live/{run_id}", headers=headers) as response:
        response.raise_for_status()
        waiting = b""
        async for piece in response.aiter_bytes():
            *blocks, waiting = (waiting + piece).split(b"\n\n")
            for block in blocks:
                lines = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line[:8])
                if "data" in lines:
                    heard.hear(lines.get("event", ""), lines.get("id", ""), lines["data"])


async def poll_home(client: httpx.AsyncClient) -> None:
    """What every open page asks every few seconds."""
    while True:
        with contextlib.suppress(httpx.TransportError):
            await client.get("/live/_home")
        await asyncio.sleep(HOME_EVERY_SECONDS)


async def crowd(url: str, run_id: str, viewers: int, seconds: float, seed: int) -> list[Heard]:
    """All of them at once."""
    until = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=30, limits=limits) as client:
        lucks = [random.Random(f"{seed} {number}") for number in range(viewers)]
        return await asyncio.gather(*(watch(client, run_id, until, luck) for luck in lucks))


if __name__ == "__main__":
    url, run_id, viewers, seconds, seed = sys.argv[1:]
    print(
        json.dumps(
            [asdict(heard) for heard in asyncio.run(crowd(url, run_id, int(viewers), float(seconds), int(seed)))]
        )
    )

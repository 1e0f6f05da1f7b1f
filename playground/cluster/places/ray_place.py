"""A Ray cluster as a place: one actor for each attempt, placed by the processors and GPUs that it asks for.

Ray finds the nodes, notices their deaths and ends what belongs to a driver that has died. It retries nothing: an
attempt that is lost comes back to our driver, which knows from where to go on. That is told only when Ray itself knows,
seconds after the connection broke: until then the attempt may live, and Ray would put the next one on the dead node.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError

from playground.cluster.news import Lost, News, Over
from playground.cluster.place import Needs, Options
from playground.cluster.places.ray_seat import RaySeat
from playground.errors import PlaceUnavailable, PlaygroundError
from playground.runs.start.children import PROJECT

NOT_SENT = [".git", ".venv", ".mypy_cache", ".ruff_cache", "node_modules", "outputs", "tests", "docs", "bench"]
BATCHES_AHEAD = 8  # news that may wait in the object store until the driver has written them
LEAVE_SECONDS = 20.0
ASK_AGAIN_SECONDS = 1.0  # an actor that cannot be reached


class _Attempt:
    """An actor that was asked for; `awaited` is what it owes us next: that it is there, its news, or, once the
    connection broke (`broken`), that it has left or is dead."""

    def __init__(self, actor: Any, parcel: Callable[[], bytes]) -> None:
        self.actor, self.parcel = actor, parcel
        self.awaited: Any = actor.ready.remote()
        self.begun = False
        self.broken = ""
        self.rests_until = 0.0


class RayPlace:
    """See the module. Raises: PlaceUnavailable, if no cluster answers."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._attempts: dict[str, _Attempt] = {}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        sent: dict[str, Any] | None = None
        if options.send_project:
            sent = {"working_dir": str(PROJECT), "excludes": NOT_SENT}
        address = options.address or os.environ.get("RAY_ADDRESS") or "auto"
        try:
            ray.init(address=address, log_to_driver=False, runtime_env=sent)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise PlaceUnavailable(
                f"No Ray cluster could be used at {address} ({_first_line(error)}). Start one (docs/scale.md), or name "
                "another with the option address."
            ) from None
        self._gpus_of_one = 1.0 if ray.cluster_resources().get("GPU") else 0.0

    def begin(self, run_id: str, parcel: Callable[[], bytes], needs: Needs) -> None:
        gpus = self._gpus_of_one if needs.gpus is None else needs.gpus
        actor = ray.remote(RaySeat).options(
            num_cpus=needs.cpus, num_gpus=gpus, max_concurrency=2, max_restarts=0, max_task_retries=0
        )  # fmt: skip
        self._attempts[run_id] = _Attempt(actor.remote(), parcel)

    def news(self, seconds: float) -> list[tuple[str, list[News]]]:
        now = time.monotonic()
        run_of = {item.awaited: run_id for run_id, item in self._attempts.items() if item.rests_until <= now}
        if not run_of:
            time.sleep(seconds)
            return []
        ready, others = ray.wait(list(run_of), timeout=seconds)
        if others:
            ready += ray.wait(others, num_returns=len(others), timeout=0)[0]
        return [(run_of[item], self._next_of(run_of[item])) for item in ready]

    def _next_of(self, run_id: str) -> list[News]:
        attempt = self._attempts[run_id]
        try:
            batch = self._heard(run_id, attempt)
        except StopIteration:
            batch = [Lost("it ended without a word")]
        except ActorUnavailableError as error:
            attempt.broken = _why(error)
            attempt.awaited = attempt.actor.leave.remote()
            attempt.rests_until = time.monotonic() + ASK_AGAIN_SECONDS
            return []
        except RayError as error:
            batch = [Lost(_why(error))]
        except (OSError, PlaygroundError) as error:  # of its parcel
            batch = [Lost(f"it could not be sent ({error})")]
        if batch and isinstance(batch[-1], (Over, Lost)):
            del self._attempts[run_id]
        return batch

    def _heard(self, run_id: str, attempt: _Attempt) -> list[News]:
        """Raises: StopIteration, RayError."""
        if attempt.broken:
            ray.get(attempt.awaited)
            return [Lost(attempt.broken)]
        if attempt.begun:
            batch: list[News] = ray.get(next(attempt.awaited))
            return batch
        ray.get(attempt.awaited)
        attempt.begun = True
        news = attempt.actor.news.options(num_returns="streaming", _generator_backpressure_num_objects=BATCHES_AHEAD)
        attempt.awaited = news.remote(run_id, attempt.parcel(), self._options.checkpoint_seconds)
        return []

    def control(self, run_id: str, name: str, data: bytes | None) -> None:
        if attempt := self._attempts.get(run_id):
            attempt.actor.control.remote(name, data)

    def give_up(self, run_id: str) -> None:
        if attempt := self._attempts.pop(run_id, None):
            attempt.actor.leave.remote()  # and once nobody holds it any more, Ray ends the actor behind that

    def close(self) -> None:
        left = [attempt.actor.leave.remote() for attempt in self._attempts.values() if attempt.begun]
        with contextlib.suppress(RayError):
            ray.wait(left, num_returns=len(left), timeout=LEAVE_SECONDS) if left else None
        ray.shutdown()


def _why(error: RayError) -> str:
    """What has happened, of all that Ray says of it."""
    if isinstance(error, RayTaskError):
        return f"its worker could not be started there ({_first_line(error.cause)})"
    if "No module named 'playground'" in str(error):
        return f"the node has no playground at {PROJECT}. Put it there, or use the option send_project=true"
    lines = [line.strip() for line in str(error).splitlines()]
    found = [line for line in lines if isinstance(error, RayActorError) and " died" in line]
    return f"Ray says: {(found or lines or [''])[-1][:300]}"


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

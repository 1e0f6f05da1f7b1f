"""What an HF Job runs: `python -m playground.cluster.places.job_side BUCKET FOLDER RUN MINUTES CHECKPOINT_SECONDS`.

Takes the parcel from the bucket, computes the run, and puts the news there. Shortly before the hub would end the job it
ends by itself, with a checkpoint, so that the run goes on in the next one.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator

from playground.cluster.news import News, Replaced, Taken, decode, encode
from playground.cluster.places.jobs_bucket import ASKED, LEASH, NEWS, PARCEL, Bucket, numbered
from playground.cluster.places.leash import Collar
from playground.cluster.seat import Seat, fresh_folder
from playground.runs.start import lifeline
from playground.runs.start.launcher import Spawn

LOOK_SECONDS = 5.0
PATIENCE_SECONDS = 600.0
MARGIN_SECONDS = 180.0  # to save and to send, before the hub ends the job
BATCH_BYTES = 32 * 2**20
TRIES = 6


def compute(
    bucket: Bucket,
    around: Bucket,
    run_id: str,
    seconds: float,
    checkpoint_seconds: float,
    look_seconds: float = LOOK_SECONDS,
    spawn: Spawn | None = None,
) -> None:
    """Compute a run to its end, or until its time is over or its driver not heard of.

    Args:
        bucket: the run's folder. around: that of its driver, with the leash. seconds: until the hub ends the job.

    Raises:
        OSError: the hub was out of reach for too long.
    """
    lifeline.choose("die")
    begun, sent, heard = time.monotonic(), 0, 0
    margin = min(MARGIN_SECONDS, seconds / 2)
    collar = Collar(lambda: _now_or_never(functools.partial(around.get, LEASH)), PATIENCE_SECONDS)
    seat = Seat(insisted(functools.partial(bucket.get, PARCEL)), fresh_folder(run_id), checkpoint_seconds, spawn)
    try:
        while not seat.over:
            for data in _packed(seat.look()):
                sent += 1
                insisted(functools.partial(bucket.put, numbered(NEWS, sent), data))
            heard = _hear(bucket, seat, heard)
            if time.monotonic() - begun > seconds - margin or collar.is_loose:
                lifeline.let_go()
            time.sleep(look_seconds)
    finally:
        seat.leave()


def _hear(bucket: Bucket, seat: Seat, heard: int) -> int:
    """Pass on what was asked since; how many requests there have been."""
    names: list[str] = []
    with contextlib.suppress(OSError):  # then next time
        names = bucket.names(ASKED)
    for name in names:
        if name != numbered(ASKED, heard + 1):
            break
        for request in decode(insisted(functools.partial(bucket.get, name))):
            if isinstance(request, (Replaced, Taken)):
                seat.control(request.name, request.data if isinstance(request, Replaced) else None)
        heard += 1
    return heard


def _packed(batches: Iterator[list[News]]) -> Iterator[bytes]:
    """News as files that are neither many nor large."""
    held: list[bytes] = []
    for batch in batches:
        held.append(encode(batch))
        if sum(map(len, held)) > BATCH_BYTES:
            yield b"".join(held)
            held = []
    if held:
        yield b"".join(held)


def insisted(function: Callable[[], bytes | None]) -> bytes:
    """Call it until it succeeds, for about a minute. Raises: OSError, the last one."""
    for attempt in range(TRIES):
        try:
            return function() or b""
        except OSError:
            if attempt == TRIES - 1:
                raise
            time.sleep(2.0**attempt)
    raise AssertionError("unreachable")


def _now_or_never(function: Callable[[], bytes]) -> str:
    with contextlib.suppress(OSError):
        return function().decode("ascii")
    return ""


def main(arguments: list[str]) -> int:
    """Exit code: 0, however the run has ended: that is in the news."""
    from huggingface_hub import HfApi

    name, folder, run_id, minutes, checkpoint_seconds = arguments
    api = HfApi()
    around = Bucket(api, name, folder.rpartition("/")[0])
    compute(Bucket(api, name, folder), around, run_id, 60 * float(minutes), float(checkpoint_seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

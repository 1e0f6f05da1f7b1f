"""Hugging Face Jobs as a place: a job for each run, with the playground's image, and a bucket between it and us.

A job is paid for by the second and ends after 30 minutes unless it is told otherwise, so it is always told. Where its
time is over before the run, the run has saved itself, and goes on in a new job: that counts as a loss.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from typing import Any

from playground.cluster.news import Lost, News, Over, Replaced, Taken, decode, encode
from playground.cluster.place import Needs, Options
from playground.cluster.places.jobs_bucket import ASKED, LEASH, NEWS, PARCEL, Bucket, numbered, tried
from playground.cluster.places.leash import Leash
from playground.errors import PlaceUnavailable

MODULE = "playground.cluster.places.job_side"
POLL_SECONDS = 10.0
LEASH_SECONDS = 120.0
GONE_SECONDS = 600.0  # without an answer of the hub, after which it counts as out of reach
ENDED = ("COMPLETED", "CANCELED", "ERROR", "DELETED")


class _Job:
    """A job, its folder in the bucket, and how much of it was heard and asked."""

    def __init__(self, job_id: str, bucket: Bucket) -> None:
        self.job_id, self.bucket = job_id, bucket
        self.heard = self.asked = 0
        self.to_ask: list[News] = []
        self.ended = ""  # how the job has ended, once that is known


class JobsPlace:
    """See the module.

    Args:
        api: a `huggingface_hub.HfApi`; default: one with the login of this machine.
    """

    def __init__(self, options: Options, sweep: str, api: Any = None, poll_seconds: float = POLL_SECONDS) -> None:
        from huggingface_hub import HfApi, get_token

        self._options, self._poll_seconds = options, poll_seconds
        self._api = api or HfApi()
        self._token = get_token() if api is None else api.token
        if not self._token:
            raise PlaceUnavailable("HF Jobs need a login with the hub: run `hf auth login`, then resume.")
        self._folder = f"{sweep}-{time.time_ns()}"
        self._around = Bucket(self._api, options.bucket, self._folder)
        self._leash = Leash(lambda text: self._around.put(LEASH, text.encode()), LEASH_SECONDS)
        self._jobs: dict[str, _Job] = {}
        self._numbers = itertools.count(1)
        self._polled = self._answered = time.monotonic()
        try:
            tried(lambda: self._api.create_bucket(options.bucket, private=True, exist_ok=True))
            self._leash.pull()
        except OSError as error:
            raise PlaceUnavailable(f"The bucket {options.bucket} cannot be used ({error}).") from None

    def begin(self, run_id: str, parcel: Callable[[], bytes], needs: Needs) -> None:
        options, folder = self._options, f"{self._folder}/{next(self._numbers)}"
        bucket = Bucket(self._api, options.bucket, folder)
        told = [options.bucket, folder, run_id, f"{options.minutes:g}", f"{options.checkpoint_seconds:g}"]
        packed = parcel()
        try:
            bucket.put(PARCEL, packed)
            job = tried(
                lambda: self._api.run_job(
                    image=options.image,
                    command=["python", "-m", MODULE, *told],
                    flavor=options.flavor,
                    timeout=f"{round(60 * options.minutes)}s",
                    secrets={"HF_TOKEN": self._token},
                    labels={"playground-run": run_id},
                )
            )
        except OSError as error:
            raise PlaceUnavailable(f"The hub refused the job of {run_id}: {error}") from None
        self._jobs[run_id] = _Job(job.id, bucket)

    def news(self, seconds: float) -> list[tuple[str, list[News]]]:
        if time.monotonic() - self._polled < self._poll_seconds:
            time.sleep(min(seconds, self._poll_seconds))
            return []
        found: list[tuple[str, list[News]]] = []
        try:
            self._leash.pull()
            for run_id, job in list(self._jobs.items()):
                batch = self._of(job)
                if batch:
                    found.append((run_id, batch))
                if batch and isinstance(batch[-1], (Over, Lost)):
                    del self._jobs[run_id]
                    with contextlib.suppress(OSError):  # then they stay in the bucket
                        job.bucket.delete(job.bucket.names())
            self._answered = time.monotonic()
        except OSError as error:
            if time.monotonic() - self._answered > GONE_SECONDS:
                raise PlaceUnavailable(
                    f"The hub has not answered for {GONE_SECONDS / 60:.0f} minutes ({error})."
                ) from None
        self._polled = time.monotonic()
        return found

    def _of(self, job: _Job) -> list[News]:
        """What is new of a job; that it is lost, once it has ended and was heard to its end. Raises: OSError."""
        while job.to_ask:  # one file for each: repeated after a failure, it is the same file again
            job.bucket.put(numbered(ASKED, job.asked + 1), encode(job.to_ask[:1]))
            job.asked, job.to_ask = job.asked + 1, job.to_ask[1:]
        batch: list[News] = []
        names = job.bucket.names(NEWS)
        with contextlib.suppress(OSError):  # then next time, or with the last of them
            job.bucket.delete([name for name in names if name <= numbered(NEWS, job.heard)])
        heard = job.heard
        for name in names:
            if name == numbered(NEWS, heard + 1):
                batch += decode(job.bucket.get(name))
                heard += 1
                if len(batch) > 1000:
                    break
        job.heard = heard  # only now: what was read before a failure is read again
        if batch or (job.ended and names and names[-1] > numbered(NEWS, heard)):
            return batch
        if job.ended:
            return [Lost(f"its job {job.job_id} ended as {job.ended}")]
        status = tried(lambda: self._api.inspect_job(job_id=job.job_id)).status
        if status.stage in ENDED:  # and is listened to once more: its last news may not have been in the list
            job.ended = f"{status.stage} ({status.message})" if status.message else str(status.stage)
        return []

    def control(self, run_id: str, name: str, data: bytes | None) -> None:
        if job := self._jobs.get(run_id):  # sent with the next poll, and again if that fails
            job.to_ask.append(Taken(name) if data is None else Replaced(name, data))

    def give_up(self, run_id: str) -> None:
        if job := self._jobs.pop(run_id, None):
            self._cancel(job)

    def _cancel(self, job: _Job) -> None:
        try:
            tried(lambda: self._api.cancel_job(job_id=job.job_id))
        except OSError as error:  # its time limit will end it, and the leash before that
            print(f"The job {job.job_id} could not be cancelled: {error}")

    def close(self) -> None:
        for run_id in list(self._jobs):
            self.give_up(run_id)

"""One run on disk: make it, open it, say whether it lives, read its files. Who lives is decided by the kernel lock
(flock) on worker.lock, held by the worker for as long as its process exists. What the worker writes: writer.py."""

from __future__ import annotations

import datetime
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from playground.config import RUN_ID, RunConfig, yaml_io
from playground.errors import InvalidConfig, OutputsNotWritable, Problem, RunExists, RunNotFound
from playground.runs.folder import exit_reasons, files, placed
from playground.runs.folder.attempts import Resumption, events_in_force, in_force, resumptions
from playground.runs.folder.files import read_record, read_records, write_atomically
from playground.runs.folder.logs import attempt_line, log_tail
from playground.runs.folder.records import LABEL_CHARACTERS, Evaluation, Event, Label, Sample, Status, UpdateMetrics
from playground.runs.folder.rollout_records import RolloutRecord
from playground.runs.folder.token_records import TokenFigures
from playground.setup import describe

BIN = ".bin"  # in the outputs folder: runs that were deleted
QUEUE = ".queue"  # in the outputs folder: one small file for each run that waits for its device (see queue.py)
P = TypeVar("P", Sample, TokenFigures)
GRACE_SECONDS = 20.0  # in which the worker of a run that was just made may still come


class RunDirectory:
    """A run directory, format 1. Reading needs no lock, no writer and no model."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config_path = self.path / "config.yaml"
        self.status_path = self.path / "status.json"
        self.metrics_path = self.path / "metrics.jsonl"
        self.samples_path = self.path / "samples.jsonl"
        self.evaluations_path = self.path / "evaluations.jsonl"
        self.tokens_path = self.path / "tokens.jsonl"
        self.rollouts_path = self.path / "rollouts.jsonl"
        self.events_path = self.path / "events.jsonl"
        self.log_path = self.path / "worker.log"
        self.lock_path = self.path / "worker.lock"
        self.reserve_path = self.path / ".reserve"  # disk space that a worker keeps for its last words
        self.control_path = self.path / "control"
        self.checkpoints_path = self.path / "checkpoints"
        self.traces_path = self.path / "traces"
        self.request_path = self.path / "request.json"
        self.label_path = self.path / "label.json"

    @property
    def id(self) -> str:
        """The folder's name."""
        return self.path.name

    @classmethod
    def create(cls, outputs: Path, config: RunConfig, run_id: str | None = None) -> RunDirectory:
        """Make a new run: its folder, its configuration and the state `queued`. Raises: see `reserve`."""
        run = cls.reserve(outputs, config, run_id)
        run.publish(config)
        return run

    @classmethod
    def reserve(cls, outputs: Path, config: RunConfig, run_id: str | None = None) -> RunDirectory:
        """Make the folder of a new run, which is none before `publish`. Raises: OutputsNotWritable, RunExists,
        InvalidConfig (an id that is no folder name, settings too long to be read)."""
        if (length := len(config.to_yaml())) > (most := yaml_io.MAX_CONFIG_BYTES):
            problem = f"These settings have {length:,} characters as text (YAML); at most {most:,} are read."
            raise InvalidConfig([Problem("", f"{problem} Put the prompts into a file, or shorten the rewards.")])
        outputs = files.make_outputs(outputs)
        if run_id is not None and not RUN_ID.fullmatch(run_id):
            raise InvalidConfig([Problem("run-id", "Use 1 to 60 small letters, digits and hyphens.")])
        for name in [run_id] if run_id else _fresh_ids(describe.title_of(config)):
            run = cls(outputs / name)
            if os.path.lexists(run.path):
                continue
            try:
                run.path.mkdir(mode=0o700)
            except FileExistsError:  # made by another process in this moment
                continue
            except OSError as error:
                raise OutputsNotWritable(f"Cannot write to {outputs}: {error.strerror}.") from None
            run.control_path.mkdir()
            now = time.time()
            status = Status(started_at=now, updated_at=now, num_updates=config.ppo.num_updates)
            write_atomically(run.status_path, status.model_dump_json())
            return run
        raise RunExists(f"There is already a run `{run_id}` in {outputs}. Choose another id or delete that run.")

    def publish(self, config: RunConfig) -> None:
        """Write config.yaml, which makes the folder a run."""
        write_atomically(self.config_path, config.to_yaml())

    def queue_again(self, before: Status, num_updates: int) -> None:
        """Enter the state `queued` as the next attempt; for the holder of the lock of a run that has ended. Its log
        says so first, so that no earlier attempt's last words are taken for its own."""
        status = Status(
            attempt=self.next_attempt(before),
            update=before.update,
            num_updates=num_updates,
            started_at=time.time(),
            updated_at=time.time(),
            worked_seconds=before.seconds_at_work(),
        )
        with open(self.log_path, "a", encoding="utf-8", opener=files.private) as log:
            log.write(f"\n{attempt_line(status.attempt, 'asked for ')}\n")  # the last line may be torn
        write_atomically(self.status_path, status.model_dump_json())

    def next_attempt(self, before: Status) -> int:
        """The number of the attempt that comes after a status, which may be a damaged one that has forgotten some."""
        return max([before.attempt, *(event.attempt for event in self.all_events())]) + 1

    @classmethod
    def open(cls, path: Path | str) -> RunDirectory:
        """An existing run. Raises: RunNotFound."""
        run = cls(path)
        if not run.config_path.is_file():
            name = run.path.name or path
            raise RunNotFound(f"{name} is not a run folder (it has no config.yaml). `runs` lists the existing runs.")
        files.refuse_links(run.path)
        return run

    def config(self) -> RunConfig:
        """The configuration as run. Raises: InvalidConfig, for a damaged one or one of another format."""
        return yaml_io.load(self.config_path, links=False)

    def label(self) -> Label:
        """The name and the note that it was given since it was started."""
        return read_record(self.label_path, Label) or Label()

    def write_label(self, name: str, note: str) -> Label:
        """Give it a name (empty: the one of its settings) and a note. Raises: InvalidConfig if too long, OSError."""
        texts = {"name": " ".join(name.split()), "note": " ".join(note.split())}
        refuse_too_long(texts, LABEL_CHARACTERS)
        label = Label(**texts)
        write_atomically(self.label_path, json.dumps(label.model_dump()))  # ASCII, whatever it is called
        return label

    def title(self, config: RunConfig) -> str:
        """What it is called everywhere."""
        return self.label().name or describe.title_of(config)

    def is_alive(self) -> bool:
        """True while a worker process holds the lock, which the kernel frees on any death, or a job elsewhere has
        the run."""
        return files.is_locked(self.lock_path) or self.is_elsewhere()

    def is_elsewhere(self) -> bool:
        """True while it has a job on another machine, which works or waits."""
        elsewhere = placed.read(self.path)
        return elsewhere is not None and elsewhere.holds(self.path, self.status_on_disk())

    def is_at_work(self) -> bool:
        """True while a worker lives and has not written its end."""
        status = self.status_on_disk()
        return self.is_alive() and (not status.ended or status.reason == "damaged")

    @property
    def queue_path(self) -> Path:
        """Where the place of this run in the queue is kept while it has one."""
        return self.path.parent / QUEUE / f"{self.id}.json"

    def waits(self, status: Status) -> bool:
        """True if it is queued, as its status says, and has a place in the queue."""
        return status.state == "queued" and self.queue_path.exists()

    def is_expected(self, status: Status) -> bool:
        """True if it was made a moment ago, by hand or for another machine, and a worker may still come."""
        if status.state != "queued" or status.pid:
            return False
        try:
            return 0 <= time.time() - self.status_path.stat().st_mtime < GRACE_SECONDS
        except FileNotFoundError:
            return False

    def status(self) -> Status:
        """The state on disk, corrected by the lock: `running` without a living worker is `interrupted`."""
        status = self.status_on_disk()
        if status.ended or self.is_alive() or self.waits(status) or self.is_expected(status):
            return self._with_requests(status)
        status = self.status_on_disk()  # between the two looks it may have ended, or been given its worker
        if status.ended or self.is_alive():
            return self._with_requests(status)
        reason, message = exit_reasons.of_death(None, status, self.path)
        state = exit_reasons.state_after(reason)
        return status.model_copy(update={"state": state, "reason": reason, "message": message})

    def metrics(self) -> list[UpdateMetrics]:
        """All updates so far, as the last attempt that made them did."""
        return in_force(read_records(self.metrics_path, UpdateMetrics), self.resumptions())

    def samples(self, prompt_id: int | None = None) -> list[Sample]:
        """All evaluation samples so far, or those of one prompt; those of superseded updates left out."""
        return in_force(_of_prompt(self.samples_path, Sample, prompt_id), self.resumptions())

    def evaluations(self) -> list[Evaluation]:
        """What each evaluation measured beside the samples; none in runs that measured nothing."""
        return in_force(read_records(self.evaluations_path, Evaluation), self.resumptions())

    def token_figures(self, prompt_id: int | None = None) -> list[TokenFigures]:
        """Completions token by token, of one prompt or of all that were kept so; none in runs from before that."""
        return in_force(_of_prompt(self.tokens_path, TokenFigures, prompt_id), self.resumptions())

    def rollouts(self) -> list[RolloutRecord]:
        """The scores of every update and a few of its texts; none in runs from before that, or without them."""
        return in_force(read_records(self.rollouts_path, RolloutRecord), self.resumptions())

    def events(self) -> list[Event]:
        """All events so far, without those of superseded updates."""
        return events_in_force(self.all_events())

    def all_events(self) -> list[Event]:
        """Everything that happened in all attempts."""
        return read_records(self.events_path, Event)

    def resumptions(self) -> list[Resumption]:
        """Where the run was taken up again."""
        return resumptions(self.all_events())

    def log_tail(self, max_bytes: int = 8000) -> str:
        """The end of what the worker printed."""
        return log_tail(self.log_path, max_bytes)

    def latest_checkpoint(self) -> Path | None:
        """The newest complete checkpoint folder, or None; what is intact `runs.folder.checkpoints` says."""
        if folders := self.checkpoints():
            return folders[-1]
        return None

    def checkpoints(self) -> list[Path]:
        """The complete checkpoint folders (those with a manifest), oldest first."""
        if self.checkpoints_path.is_symlink():
            return []
        folders = [path.parent for path in self.checkpoints_path.glob("update-*/MANIFEST.json")]
        own = [folder for folder in folders if not folder.is_symlink()]
        return sorted(own, key=lambda path: (len(path.name), path.name))

    def request_stop(self) -> None:
        """Ask the worker to stop. It does so within one micro-batch."""
        (self.control_path / "stop").touch(0o600)  # an empty file, so also on a full disk

    @property
    def stop_requested(self) -> bool:
        """True once the run was asked to stop."""
        return (self.control_path / "stop").exists()

    def status_on_disk(self) -> Status:
        """What status.json says; one that cannot be read is an end as `damaged`."""
        damaged = Status(state="interrupted", reason="damaged", message="Its status.json is missing or damaged.")
        return read_record(self.status_path, Status) or damaged

    def _with_requests(self, status: Status) -> Status:
        """What was asked for shows at once, also while the worker is in the middle of an update."""
        if not status.ended and self.stop_requested:
            return status.model_copy(update={"state": "stopping"})
        if status.state == "running" and (self.control_path / "pause").exists():
            return status.model_copy(update={"phase": "pausing after this update"})
        return status


def refuse_too_long(texts: Mapping[str, str], most: Mapping[str, int]) -> None:
    """Raises: InvalidConfig, naming every field whose text has more characters than it may have."""
    problems = [
        Problem(field, f"may have at most {most[field]} characters (got {len(text)}).")
        for field, text in texts.items()
        if len(text) > most[field]
    ]
    if problems:
        raise InvalidConfig(problems)


def _of_prompt(path: Path, kind: type[P], prompt_id: int | None) -> Iterator[P]:
    where = None
    if prompt_id is not None:
        where = files.of_prompt(prompt_id)
    for record in files.JsonlTail(path).records(kind, where):
        if prompt_id in (None, record.prompt_id):
            yield record


def _fresh_ids(name: str) -> Iterator[str]:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:30] or "run"
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    yield f"{slug}-{stamp}"
    for number in range(2, 1000):
        yield f"{slug}-{stamp}-{number}"

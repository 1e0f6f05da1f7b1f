"""What tests of the driver need: a place by script, runs handed over to it, checkpoints without a model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground.cluster import handing
from playground.cluster.driver import Driver
from playground.cluster.news import Appended, Begun, News, Over, Replaced
from playground.cluster.parcel import unpack
from playground.cluster.place import Needs, Options, Place
from playground.errors import PlaceUnavailable
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, Record, Status, to_json_line
from tests.support import small_config


class Scripted:
    """A place that tells what a test lets it tell, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.parcels: dict[str, Callable[[], bytes]] = {}
        self.begun: list[str] = []  # every attempt, by the name of its run
        self.needs: dict[str, Needs] = {}
        self.asked: list[tuple[str, str, bytes | None]] = []
        self.given_up: list[str] = []
        self.closed = False
        self._told: list[tuple[str, list[News]]] = []
        self.error: Exception | None = None
        self.refuses: Callable[[str], bool] = lambda run_id: False

    def tell(self, run_id: str, *news: News) -> None:
        self._told.append((run_id, list(news)))

    def begin(self, run_id: str, parcel: Callable[[], bytes], needs: Needs) -> None:
        if self.refuses(run_id):
            raise PlaceUnavailable("The controller does not answer.")
        self.parcels[run_id], self.needs[run_id] = parcel, needs
        self.begun.append(run_id)

    def news(self, seconds: float) -> list[tuple[str, list[News]]]:
        if self.error:
            raise self.error
        time.sleep(0.002)
        told, self._told = self._told, []
        return told

    def control(self, run_id: str, name: str, data: bytes | None) -> None:
        self.asked.append((run_id, name, data))

    def give_up(self, run_id: str) -> None:
        self.given_up.append(run_id)

    def close(self) -> None:
        self.closed = True

    def parcel_in(self, folder: Path, run_id: str) -> RunDirectory:
        """What the node would be given now."""
        unpack(self.parcels[run_id](), folder)
        return RunDirectory(folder)


class Driving:
    """A driver in a thread of this process."""

    def __init__(
        self, place: Place, runs: list[RunDirectory], connect: Callable[[], Place] | None = None, **options: Any
    ):
        locks = handing.take_over(runs, "ray")
        chosen = Options(**{"checkpoint_seconds": 0, **options})
        self.driver = Driver("ray", connect or (lambda: place), chosen, runs, locks)
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._go, daemon=True)
        self._thread.start()

    def _go(self) -> None:
        try:
            self.driver.go()
        except Exception as error:
            self.error = error

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive(), "the driver does not end"


def new_run(outputs: Path, run_id: str, **changes: Any) -> RunDirectory:
    return RunDirectory.create(outputs, small_config(**changes), run_id)


def status(state: str = "running", update: int = 0, **changes: Any) -> Replaced:
    """status.json as a worker on another machine writes it."""
    values = {"state": state, "update": update, "num_updates": 3, "pid": 77, "boot_id": "of-the-node", **changes}
    return Replaced("status.json", Status(**values).model_dump_json().encode())


def lines(name: str, *records: Record) -> Appended:
    return Appended(f"{name}.jsonl", "".join(map(to_json_line, records)).encode())


def event(kind: str, seq: int = 0, attempt: int = 1, update: int = 0, **data: Any) -> Event:
    return Event(attempt=attempt, seq=seq, time=1.0, kind=kind, update=update, data=data)


def finished(update: int = 3, **changes: Any) -> list[News]:
    return [status("finished", update, **changes), Over()]


def begun(node: str = "node-1") -> Begun:
    return Begun(node)


def make_checkpoint(parent: Path, update: int, reward: float = 0.0, weights: bytes = b"weights") -> Path:
    """A whole checkpoint, as far as its files tell."""
    folder = parent / checkpoints.name_of(update)
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(weights)
    (folder / checkpoints.OPTIMIZER).write_bytes(b"moments")
    (folder / checkpoints.TRAINER).write_text(json.dumps({"update": update, checkpoints.BEST_BY: reward}))
    files = checkpoints.listed(folder)
    (folder / checkpoints.MANIFEST).write_text(json.dumps({"format": 1, "files": files}))
    return folder

"""A grid of configurations to facts, for the pages of docs/.

The run of a configuration is found by what it is made of, resumed where it was cut off, or trained by the public
command line, as a user would. What is kept of it is a row in a file of bench/results/: it is measured once.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig, flatten, yaml_io
from playground.runs.children import torch_environment
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "bench" / "results"
OUTPUTS = PROJECT / "outputs" / "bench"
SEEDS = (0, 1, 2)
POLL_SECONDS = 2.0
Row = dict[str, Any]
Facts = Callable[[RunDirectory], Row]


class Cell(NamedTuple):
    """One configuration of a grid: a preset, its seed, and settings of its own as path=value."""

    preset: str
    seed: int = 0
    changes: tuple[str, ...] = ()

    @property
    def config(self) -> RunConfig:
        """What is trained."""
        return yaml_io.load(catalog.preset_path(self.preset), [*self.changes, f"seed={self.seed}"])


def digest(config: RunConfig) -> str:
    """Stands for a configuration without its name and words: for what differs from the defaults, so that a setting
    which is new changes nothing."""
    usual = flatten(RunConfig(rewards=config.rewards))
    settings = {}
    for field, value in flatten(config).items():
        of_words = field.startswith(("name", "about."))
        if field == "rewards" or (not of_words and usual.get(field) != value):
            settings[field] = value
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


# -- runs -------------------------------------------------------------------------------------------------------------


def finished(config: RunConfig, outputs: Path = OUTPUTS) -> RunDirectory | None:
    """The newest run of a configuration that ended well; one that was cut off goes on first."""
    paths = (outputs / digest(config)).glob("*/config.yaml")
    runs = [RunDirectory.open(path.parent) for path in paths]
    for run in sorted(runs, key=lambda run: run.status().started_at or 0, reverse=True):
        while run.is_at_work():  # for a command that was ended: its worker goes on
            time.sleep(POLL_SECONDS)
        status = run.status()
        if status.state != "finished" and status.resumable and run.latest_checkpoint():
            playground("resume", run.path, "--json")
        if run.status().state == "finished":
            return run
    return None


def run_of(config: RunConfig, outputs: Path = OUTPUTS, again: bool = False) -> RunDirectory:
    """The finished run of a configuration: the newest, or trained now. `again`: trained in any case."""
    run = None if again else finished(config, outputs)
    return run or trained(config, outputs)


def trained(config: RunConfig, outputs: Path = OUTPUTS) -> RunDirectory:
    """A new run, in a process of its own; the seconds of the whole command stand beside it."""
    folder = outputs / digest(config)  # one for each: an outputs folder has one run at a time
    folder.mkdir(parents=True, exist_ok=True)
    run_id = f"run-{time.time_ns() % 10**12}"
    settings = folder / f"{run_id}.yaml"
    settings.write_text(config.to_yaml(), encoding="utf-8")
    clock = time.perf_counter()
    playground("train", settings, "--outputs", folder, "--run-id", run_id, "--json")
    seconds = time.perf_counter() - clock
    settings.with_suffix(".seconds").write_text(f"{seconds:.1f}", encoding="ascii")
    return RunDirectory.open(folder / run_id)


def seconds_of(run: RunDirectory) -> float:
    """Of the whole command that trained a run."""
    return float((run.path.parent / f"{run.id}.seconds").read_text(encoding="ascii"))


def playground(*words: Any) -> None:
    """Run a command of the playground. Raises: subprocess.CalledProcessError."""
    command = [sys.executable, "-m", "playground", *map(str, words)]
    subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)


def in_process(module: str, *words: str) -> Row:
    """Run a module of bench/ alone in a process; its last line of output is JSON."""
    environment = {**torch_environment(), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", module, *words]
    answer = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{answer.stderr[-3000:]}")
    facts: Row = json.loads(answer.stdout.splitlines()[-1])
    return facts


def in_turns(kinds: Sequence[str], rounds: int, measure: Callable[[str], Row]) -> dict[str, list[Row]]:
    """Each kind measured in every round, every second one backwards, so that a busy moment hits all."""
    items: dict[str, list[Row]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            items[kind].append(measure(kind))
            print(kind, json.dumps(items[kind][-1]), file=sys.stderr, flush=True)
    return items


# -- rows -------------------------------------------------------------------------------------------------------------


class Figures:
    """A file of bench/results/: a row ("runs") for each configuration, and facts beside them. Threads may share it."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.path = path or RESULTS / f"{name}.json"
        self.data: Row = {"runs": []}
        self._lock = threading.Lock()
        if self.path.exists():
            self.data |= json.loads(self.path.read_text(encoding="utf-8"))

    @property
    def rows(self) -> list[Row]:
        """Of every configuration that was measured."""
        rows: list[Row] = self.data["runs"]
        return rows

    def kept(self, config: RunConfig, **place: Any) -> Row | None:
        """The row of a configuration, if it was measured as it is now."""
        wish = {**place, "seed": config.seed, "made_of": digest(config)}
        return next((row for row in self.rows if wish.items() <= row.items()), None)

    def add(self, config: RunConfig, facts: Row, **place: Any) -> Row:
        """Keep what was measured, in place of an older row of the same place and seed."""
        where = {**place, "seed": config.seed}
        row = {**where, "made_of": digest(config), **facts}
        with self._lock:
            numbers = [number for number, old in enumerate(self.rows) if where.items() <= old.items()]
            if numbers:
                self.rows[numbers[0]] = row
            else:
                self.rows.append(row)
            self.write()
        print(json.dumps(row), file=sys.stderr, flush=True)
        return row

    def measure(self, cells: Iterable[Cell], facts: Facts, options: argparse.Namespace) -> list[Row]:
        """The row of each cell, measured where it is missing. A row is placed by its preset and its changes."""

        def row(cell: Cell) -> Row:
            place = {"preset": cell.preset, "changes": list(cell.changes)}
            old = None if options.again else self.kept(cell.config, **place)
            return old or self.add(cell.config, facts(run_of(cell.config, options.outputs, options.again)), **place)

        with ThreadPoolExecutor(options.jobs) as pool:
            return list(pool.map(row, cells))

    def write(self, **facts: Any) -> None:
        """Facts beside the rows, and then all of it, a row a line."""
        self.data |= facts
        rows = ",\n".join(map(json.dumps, self.rows))
        beside = [f",\n{json.dumps(name)}: {json.dumps(value)}" for name, value in self.data.items() if name != "runs"]
        self.path.write_text(f'{{"runs": [\n{rows}\n]{"".join(beside)}}}\n', encoding="utf-8")


def options(about: str | None, **choices: Any) -> argparse.ArgumentParser:
    """What every command takes that trains. `choices`: other defaults."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--outputs", type=Path, default=OUTPUTS)
    parser.add_argument("--jobs", type=int, default=1, help="runs at once; more than 1 makes the seconds worthless")
    parser.add_argument("--again", action="store_true", help="train and measure also what has a row")
    parser.set_defaults(**choices)
    return parser


# -- the machine ------------------------------------------------------------------------------------------------------


def processor_name() -> str:
    """The processor's own name where the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """Processor, cores and versions, in one line."""
    cores, torch = os.cpu_count(), version_of("torch")
    return f"{processor_name()}, {cores} cores, Python {platform.python_version()}, torch {torch}"


def machine_facts(packages: Sequence[str] = ("torch", "transformers", "trl")) -> Row:
    """The same one by one, with the date and the commit."""
    commit = ""
    with contextlib.suppress(OSError):  # no git here
        command = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True).stdout.strip()
    return {
        "processor": processor_name(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        **{package: version_of(package) for package in packages},
        "commit": commit or "unknown",
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[1],
    }


def version_of(package: str) -> str:
    """Of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

"""Train the experiments on a real chat model on three seeds and write what came out to docs/real.md: `make real`.

Each run goes through the public command line, as a user would start it. It can be ended at any time and started again,
elsewhere too: what was measured as its preset is now is not trained again, what was cut off goes on from its newest
checkpoint, and the page shows what is there. Seed 0 becomes the recording that ships. What is counted comes from
prompts that a run is not trained on (`bench.real_answers`, `bench.real_counts`).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Lock, Thread
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import torch  # noqa: E402

from bench import real_answers, real_judges, real_page, real_presets, recordings, results_page  # noqa: E402
from bench.real_counts import counted, example  # noqa: E402
from bench.results import machine, train  # noqa: E402
from playground.analysis import compute  # noqa: E402
from playground.analysis.path import path_of  # noqa: E402
from playground.config import RunConfig, differences, yaml_io  # noqa: E402
from playground.rewards import behaviours  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.setup import catalog, devices  # noqa: E402
from playground.training.process.rank_processes import end_with_parent  # noqa: E402

OUTPUTS = PROJECT / "outputs" / "real"
BETWEEN_LOOKS = 2.0  # seconds, while a run of an earlier command is still at work
BANDS = "  bands:  # low, high, seeds and, of a behaviour, the untrained model's range; `make real` writes them"
MOST_BYTES = 200_000  # of a recording
MODEL_PARAMETERS = 134_500_000


def main() -> None:
    """Train and measure what is missing, write figures and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="*", default=real_presets.existing())
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--parallel", type=int, default=2, help="trainings at once; they share the machine")
    parser.add_argument("--set", action="append", default=[], help="path=value for every run")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS)
    parser.add_argument("--json", type=Path, default=real_page.FIGURES)
    parser.add_argument("--page", type=Path, default=real_page.PAGE)
    parser.add_argument("--only", choices=["judges", "recordings", "page"], help="do this alone, and train no run")
    arguments = parser.parse_args()
    report = Report(arguments.json, arguments.page)
    if arguments.only == "recordings":
        record(arguments.presets, arguments.outputs)
    if arguments.only in ("recordings", "page"):
        report.write()
        return
    one_at_a_time = Lock()

    def judges(presets: list[str]) -> None:
        """The reward models that they need, as late as possible: they take as long as two runs."""
        if not any(map(real_judges.needed_by, map(catalog.preset, presets))):
            return
        with one_at_a_time:
            known = report.figures.get("judges", {})
            report.add("judges", real_judges.prepare(arguments.outputs, known, arguments.set))

    if arguments.only == "judges":
        share_cores(1)
        judges(real_presets.existing())
        return
    share_cores(arguments.parallel)
    wanted = [(preset, seed) for seed in arguments.seeds for preset in arguments.presets]

    def done(run: tuple[str, int]) -> str:
        """What went wrong; the other runs do not suffer from it."""
        preset, seed = run
        if report.has(preset, seed, results_page.made_of(as_wanted(preset, seed, arguments.set))):
            return ""
        try:
            judges([preset])
            directory = finished(preset, seed, arguments.outputs, arguments.set)
        except subprocess.CalledProcessError as error:
            return f"{preset}, seed {seed}: exit code {error.returncode} of {' '.join(map(str, error.cmd))}"
        if report.ships and seed == 0:
            record([preset], arguments.outputs)
        answers = arguments.outputs / "answers"
        report.add_run(measuring.submit(measured, directory, preset, seed, arguments.parallel, answers).result())
        return ""

    processes = ProcessPoolExecutor(arguments.parallel, multiprocessing.get_context("spawn"), end_with_the_command)
    with ThreadPoolExecutor(arguments.parallel) as pool, processes as measuring:
        failed = list(filter(None, pool.map(done, wanted)))
    if real_presets.SHORT in arguments.presets:
        config = catalog.preset(real_presets.SHORT)
        report.add("sense", real_answers.of_the_judge(config, arguments.outputs / "answers"))
    sys.exit("\n".join(failed) or None)


def end_with_the_command() -> None:
    """In a process that measures: it ends when the command does, however that ends."""
    Thread(target=end_with_parent, daemon=True).start()


class Report:
    """bench/results/real.json, written with the page whenever something is added. Threads may share it."""

    def __init__(self, path: Path, page: Path) -> None:
        self._path, self._page, self._lock = path, page, Lock()
        self.ships = path == real_page.FIGURES  # else it is a try, beside the repository
        self.figures: dict[str, Any] = {"runs": []} | results_page.read(path)

    def has(self, preset: str, seed: int, made: str) -> bool:
        return any((row["preset"], row["seed"], row["made_of"]) == (preset, seed, made) for row in self.figures["runs"])

    def add(self, part: str, found: dict[str, Any]) -> None:
        with self._lock:
            self.figures[part] = self.figures.get(part, {}) | found
            self.write()

    def add_run(self, row: dict[str, Any]) -> None:
        """In place of what there was of this preset and seed."""
        with self._lock:
            rows = {(one["preset"], one["seed"]): one for one in [*self.figures["runs"], row]}
            order = real_presets.named()
            self.figures["runs"] = sorted(rows.values(), key=lambda one: (order.index(one["preset"]), one["seed"]))
            self.write()

    def write(self) -> None:
        """Figures, bands and page."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.figures).replace('{"preset"', '\n{"preset"')  # a run is a line
        self._path.write_text(f"{text}\n", encoding="utf-8")
        if self.ships:
            for name, bands in real_page.bands(self.figures["runs"]).items():
                write_bands(catalog.preset_path(name), bands)
        self._page.write_text(real_page.page(self.figures), encoding="utf-8")


def write_bands(path: Path, bands: dict[str, list[float]]) -> None:
    """Into the story of a preset, which is the last part of its file, with or without bands."""
    text = path.read_text(encoding="utf-8")
    if "\nstory:" in text and "\n  bands:" not in text:
        path.write_text(f"{text.rstrip()}\n{BANDS}\n", encoding="utf-8")
    results_page.write_bands(path, bands)


def share_cores(count: int) -> None:
    """Between so many at once: this process's threads, and those of what it starts from here on."""
    threads = max(1, devices.available_cores() // count)
    torch.set_num_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)


def as_wanted(preset: str, seed: int, overrides: list[str]) -> RunConfig:
    """What a run of this preset and seed is to be made of."""
    return yaml_io.load(catalog.preset_path(preset), [*overrides, f"seed={seed}"])


def finished(preset: str, seed: int, outputs: Path, overrides: list[str]) -> RunDirectory:
    """The finished run of a preset as it is now: found, let go on, or trained."""
    wanted = as_wanted(preset, seed, overrides)
    folder = outputs / f"{preset}-seed{seed}"
    real_judges.provide(outputs, folder, wanted)
    runs = [RunDirectory.open(path.parent) for path in folder.glob("*/config.yaml")]
    same = [run for run in runs if not differences(run.config(), wanted)]
    for run in sorted(same, key=lambda run: run.status().started_at, reverse=True):
        while run.is_at_work():  # for a command that was ended: its worker goes on
            time.sleep(BETWEEN_LOOKS)
        status = run.status()
        if status.state != "finished" and status.resumable and run.latest_checkpoint():
            command = [sys.executable, "-m", "playground", "resume", str(run.path), "--json"]
            subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
        if run.status().state == "finished":
            return run
    return train(preset, seed, outputs, overrides)[0]


def measured(run: RunDirectory, preset: str, seed: int, at_once: int, kept: Path) -> dict[str, Any]:
    """Everything that the page says of one run."""
    config, metrics, samples = run.config(), run.metrics(), run.samples()
    before, after = real_answers.before_and_after(run, kept)
    path = path_of(samples, run.events())
    seconds = {one.update: one.seconds for one in metrics}
    end, cost = path[-1], compute.bill(config, metrics, run.events())
    drifts = [one.kl for one in samples if one.update == end.update and one.kl is not None]
    print(f"{preset}, seed {seed}: gain {end.gain:+.2f} sd at {end.kl:.2f} nats", file=sys.stderr, flush=True)
    return {
        "preset": preset,
        "seed": seed,
        "made_of": results_page.made_of(config),
        "machine": computed_on(config),
        "method": config.method,
        "seconds": round(run.status().seconds_at_work(), 1),
        "at_once": at_once,
        "settings": settings(config),
        "kl": round(end.kl, 3),
        "kl_error": round(statistics.stdev(drifts) / len(drifts) ** 0.5, 4),
        "gain": _rounded(end.gain),
        "gain_half": _rounded(end.gain_half),
        "perplexity": [_rounded(one.perplexity_reference) for one in (metrics[0], metrics[-1])],
        "path": [[*map(_rounded, point), round(seconds.get(point.update, 0.0), 1)] for point in path],
        "texts": cost and cost.texts,
        "memory_gb": cost and _rounded(cost.memory_gb),
        "asked": [one.name for one in behaviours.of_config(config)],
        "before": counted(before),
        "after": counted(after),
        "example": example(before, after),
    }


def computed_on(config: RunConfig) -> str:
    """Device, processor, versions, and the kind of numbers."""
    device = devices.chosen(config.device)
    assert device is not None
    parts = [machine(), "bf16" if devices.computes_in_bf16(device.kind, MODEL_PARAMETERS) else "fp32"]
    return ", ".join(parts if device.kind == "cpu" else [device.label, *parts])


def settings(config: RunConfig) -> dict[str, Any]:
    """Those that the page names."""
    return {
        "temperature": config.sampling.temperature,
        "tokens": config.sampling.max_new_tokens,
        "updates": config.ppo.num_updates,
        "batch": config.ppo.batch_size,
        "rate": config.ppo.learning_rate,
        "beta": config.kl.coef,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def record(presets: list[str], outputs: Path) -> None:
    """One recording of seed 0 of each preset that has finished as it is now."""
    for preset in presets:
        runs = [RunDirectory.open(path.parent) for path in (outputs / f"{preset}-seed0").glob("*/config.yaml")]
        wanted = catalog.preset(preset)
        same = [run for run in runs if set(differences(run.config(), wanted)) <= {"seed"}]
        run = next((run for run in same if run.status().state == "finished"), None)
        if run is None:
            print(f"{preset}: no finished run of seed 0 as the preset is now", file=sys.stderr)
            continue
        size = recordings.record(run, preset, catalog.RECORDED / preset)
        print(f"{preset}: {size:,} bytes{'' if size <= MOST_BYTES else f', more than {MOST_BYTES:,}'}")


if __name__ == "__main__":
    main()

"""Train the experiments on a real chat model on three seeds and write what came out to docs/real.md: `make real`.

It can be ended at any time and started again, elsewhere too: what was measured as its preset is now is not trained
again, what was cut off goes on from its newest checkpoint, and the page shows what is there. Seed 0 becomes the
recording that ships. What is counted comes from prompts that a run is not trained on (`bench.real_answers`,
`bench.real_counts`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from bench import experiments, real_answers, real_judges, real_page, recordings, tables
from bench.bands import write_bands
from bench.experiments import PROJECT, Cell, Figures, Row, options
from bench.real_counts import Count, counted, example
from playground.analysis import compute
from playground.analysis.pass_at import passes
from playground.analysis.path import path_of
from playground.config import RunConfig
from playground.config.behaviour_settings import CHECKED
from playground.rewards import behaviours
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.setup import catalog, devices

BANDS = "  # low, high, seeds and, of a behaviour, the untrained model's range; `make real` writes them"
MOST_BYTES = 200_000  # of a recording
MODEL_PARAMETERS = 134_500_000


def main() -> None:
    """Train and measure what is missing, write figures and page."""
    parser = options(__doc__, outputs=PROJECT / "outputs" / "real")
    parser.add_argument("--presets", nargs="*", default=list(real_page.PRESETS))
    parser.add_argument(
        "--parallel", dest="jobs", type=int, default=2, help="trainings at once; they share the machine"
    )
    parser.add_argument("--set", action="append", default=[], help="path=value for every run")
    parser.add_argument(
        "--json", type=Path, help="the figures of a try, beside the repository: nothing else is written"
    )
    parser.add_argument("--only", choices=["judges", "recordings", "page"], help="do this alone, and train no run")
    parser.add_argument("--measure", type=Path, help="print the figures of this run")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(RunDirectory.open(arguments.measure), arguments)))
        return
    work = Experiments(arguments)
    if arguments.only == "judges":
        share_cores(1)
        work.provide_judges(list(real_judges.LIKES))
    elif arguments.only == "recordings":
        for preset in arguments.presets:
            record(preset, arguments.outputs)
    elif arguments.only is None:
        share_cores(arguments.jobs)
        cells = [Cell(preset, seed, tuple(arguments.set)) for seed in arguments.seeds for preset in arguments.presets]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            failures = list(filter(None, pool.map(work.carry_out, cells)))
        if real_page.SHORT in arguments.presets:
            config = catalog.preset(real_page.SHORT)
            work.figures.write(sense=real_answers.of_the_judge(config, arguments.outputs / "answers"))
        work.publish()
        sys.exit("\n".join(failures) or None)
    work.publish()


class Experiments:
    """The figures of all runs. Threads may share it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.figures = Figures("real", arguments.json)
        self._training_judges = Lock()

    def carry_out(self, cell: Cell) -> str:
        """Train and measure one; what went wrong, from which the other runs do not suffer."""
        arguments, config = self.arguments, cell.config
        if not arguments.again and self.figures.kept(config, preset=cell.preset):
            return ""
        try:
            judges = real_judges.needed_by(config)
            self.provide_judges(judges)
            for name in judges:
                folder = arguments.outputs / experiments.digest(config)
                real_judges.link(name, arguments.outputs, folder)
            run = experiments.run_of(config, arguments.outputs, arguments.again)
        except subprocess.CalledProcessError as error:
            return f"{cell.preset}, seed {cell.seed}: exit code {error.returncode} of {' '.join(error.cmd)}"
        if cell.seed == 0 and not arguments.json:
            record(cell.preset, arguments.outputs)
        common = ["--outputs", str(arguments.outputs), "--parallel", str(arguments.jobs)]
        facts = experiments.in_process("bench.real", "--measure", str(run.path), *common)
        self.figures.add(config, facts, preset=cell.preset)
        self.publish()
        return ""

    def provide_judges(self, names: list[str]) -> None:
        """The reward models that a run needs, as late as possible: they take as long as two runs."""
        if not names:
            return
        with self._training_judges:
            judges: dict[str, Any] = self.figures.data.get("judges", {})
            new = real_judges.prepare(self.arguments.outputs, judges, self.arguments.set)
            self.figures.write(judges={**judges, **new})

    def publish(self) -> None:
        """Bands and page; of a try neither."""
        if self.arguments.json:
            return
        for name, bands in real_page.bands_of(self.figures.rows).items():
            write_bands(catalog.preset_path(name), bands, BANDS)
        tables.write("real", real_page.page(self.figures.data))


def share_cores(count: int) -> None:
    """Between so many at once: this process's threads, and those of what it starts from here on."""
    threads = max(1, devices.available_cores() // count)
    torch.set_num_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)


def measured(run: RunDirectory, arguments: argparse.Namespace) -> Row:
    """Everything that the page says of one run."""
    config, metrics, samples = run.config(), run.metrics(), run.samples()
    before, after = real_answers.before_and_after(run, arguments.outputs / "answers")
    path, cost = path_of(samples, run.events()), compute.bill(config, metrics, run.events())
    seconds = {line.update: line.seconds for line in metrics}
    end = path[-1]
    counts_before, counts_after = counted(before), counted(after)
    counts_before["counts"] |= checked(samples, path[0].update)
    counts_after["counts"] |= checked(samples, end.update)
    drifts = [sample.kl for sample in samples if sample.update == end.update and sample.kl is not None]
    points = [[*map(rounded, point), round(seconds.get(point.update, 0.0), 1)] for point in path]
    return {
        "machine": computed_on(config),
        "method": config.method,
        "seconds": round(run.status().seconds_at_work(), 1),
        "at_once": arguments.jobs,
        "settings": settings(config),
        "kl": round(end.kl, 3),
        "kl_error": round(statistics.stdev(drifts) / len(drifts) ** 0.5, 4),
        "gain": rounded(end.gain),
        "gain_half": rounded(end.gain_half),
        "perplexity": [rounded(line.perplexity_reference) for line in (metrics[0], metrics[-1])],
        "path": points,
        "texts": cost and cost.texts,
        "memory_gb": cost and rounded(cost.memory_gb),
        "asked": [behaviour.name for behaviour in behaviours.of_config(config)],
        "passes": {str(item.k): [rounded(item.before.mean), rounded(item.now.mean)] for item in passes(samples)},
        "before": counts_before,
        "after": counts_after,
        "example": example(before, after),
    }


def checked(samples: Sequence[Sample], update: int) -> dict[str, list[float]]:
    """Counts of the answers to the fixed prompts, which no run is trained on, where they are checked."""
    counts = {}
    for name in CHECKED:
        marks = [(str(item.prompt_id), item.behaviours.get(name)) for item in samples if item.update == update]
        if count := Count.of(marks):
            counts[name] = list(count)
    return counts


def computed_on(config: RunConfig) -> str:
    """Device, processor, versions, and the kind of numbers."""
    device = devices.chosen(config.device)
    assert device is not None
    numbers = "bf16" if devices.computes_in_bf16(device.kind, MODEL_PARAMETERS) else "fp32"
    parts = [experiments.machine(), numbers]
    if device.kind != "cpu":
        parts.insert(0, device.label)
    return ", ".join(parts)


def settings(config: RunConfig) -> Row:
    """Those that the page names."""
    return {
        "temperature": config.sampling.temperature,
        "tokens": config.sampling.max_new_tokens,
        "updates": config.ppo.num_updates,
        "batch": config.ppo.batch_size,
        "rate": config.ppo.learning_rate,
        "beta": config.kl.coef,
    }


def rounded(value: float | None) -> float | None:
    """To four digits."""
    return None if value is None else round(value, 4)


def record(preset: str, outputs: Path) -> None:
    """The recording of seed 0 of a preset, if that has finished as it is now."""
    run = experiments.finished(Cell(preset).config, outputs)
    if run is None:
        print(f"{preset}: no finished run of seed 0 as the preset is now", file=sys.stderr)
        return
    size = recordings.record(run, preset, catalog.RECORDED / preset)
    print(f"{preset}: {size:,} bytes{'' if size <= MOST_BYTES else f', more than {MOST_BYTES:,}'}")


if __name__ == "__main__":
    main()

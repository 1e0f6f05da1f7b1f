"""One experiment at sixteen leashes: `make leash`. Finds or trains the runs, and writes docs/leash.md and what the part
"Turn the leash" of the Lessons page shows.

What is possible at each KL is estimated from texts of the reference and of all trained policies of the first seed
together (`analysis.against_kl`), so that it reaches as far as the longest leash went.
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from bench import frontier, tables
from bench.experiments import SEEDS, Cell, Row, machine, options, run_of
from playground.analysis import against_kl, meters, regimes
from playground.analysis.path import path_of
from playground.lessons import boards
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.setup import catalog

PRESET = "kinder-reviews"
BETAS = (0.0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0, 1.4, 2.0, 3.0, 5.0)
COUNTED = ("positive", "parses", "ends")
TEXTS = 8  # fixed prompts whose texts are shown
EACH = 4  # texts of each fixed prompt from each policy, for what is possible
POSSIBLE = tuple(2.0 ** (step / 4) for step in range(-18, 14))  # betas of the points on that line
KEPT_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "trainer.json")


def main() -> None:
    """Find or train, and write."""
    arguments = options(__doc__).parse_args()
    grid = itertools.product(arguments.seeds, BETAS)
    runs = {(seed, beta): leashed(PRESET, beta, seed, arguments.outputs) for seed, beta in grid}
    rows = [of_run(run, beta) for (_, beta), run in runs.items()]
    first = {beta: run for (seed, beta), run in runs.items() if seed == SEEDS[0]}
    write_board("leash", board(first, rows))
    for beta in boards.ASKED:
        keep_model(first[beta], boards.asked_folder(beta))
    tables.write("leash", page(rows, machine()))


def leashed(preset: str, beta: float, seed: int, outputs: Path) -> RunDirectory:
    """The run of a preset with this beta and seed."""
    return run_of(Cell(preset, seed, (f"kl.coef={beta:g}",)).config, outputs)


def of_run(run: RunDirectory, beta: float) -> Row:
    """What is kept of a run: its evaluations on the fixed prompts, and what was counted before and after."""
    config, samples = run.config(), run.samples()
    path = path_of(samples)
    counts = {}
    for meter in counted(run):
        counts[meter.name] = {"before": meter.before.yes, "after": meter.after.yes, "of": meter.after.of}
    return {
        "beta": beta,
        "seed": config.seed,
        "updates": [point.update for point in path],
        "score": [round(point.gain or 0.0, 3) for point in path],
        "kls": [round(point.kl, 3) for point in path],
        "gain": round(path[-1].gain or 0.0, 4),
        "kl": round(path[-1].kl, 4),
        "counts": counts,
    }


def counted(run: RunDirectory) -> list[Any]:
    """The behaviours that the board shows."""
    return [meter for meter in meters.at_ends(run.config(), run.samples()) if meter.name in COUNTED]


def board(first: Mapping[float, RunDirectory], rows: Sequence[Row]) -> dict[str, Any]:
    """What the page is sent. `first`: the runs of the first seed."""
    usual = first[catalog.preset(PRESET).kl.coef]
    samples = usual.samples()
    before = {sample.prompt_id: sample for sample in samples if sample.stage == "before"}
    marks = regimes.regimes(regimes.measured(samples, usual.metrics()), len(before))
    leashes = []
    for beta, run in first.items():
        own = [row for row in rows if row["beta"] == beta]
        leashes.append({"beta": beta, "texts": texts_of(run.samples(), "after"), "runs": own})
    return {
        "preset": PRESET,
        "beta": usual.config().kl.coef,
        "tight": marks and marks.tight,
        "loose": marks and marks.loose,
        "asked": list(boards.ASKED),
        "behaviours": [{"name": meter.name, "words": meter.words} for meter in counted(usual)],
        "prompts": [before[number].prompt for number in sorted(before)[:TEXTS]],
        "before": texts_of(samples, "before"),
        "leashes": leashes,
        "possible": possible(list(first.values())),
    }


def texts_of(samples: Sequence[Sample], stage: str) -> list[str]:
    """What the first fixed prompts were answered."""
    of_stage = [sample for sample in samples if sample.stage == stage]
    last = max(sample.update for sample in of_stage)
    texts = {sample.prompt_id: sample.completion for sample in of_stage if sample.update == last}
    return [texts[number] for number in sorted(texts)[:TEXTS]]


def possible(runs: Sequence[RunDirectory]) -> list[Row]:
    """The estimated best of one seed: score above the reference's and KL, for betas from the largest on."""
    before = {sample.prompt_id: sample.prompt for sample in runs[0].samples() if sample.stage == "before"}
    texts = [before[number] for number in sorted(before)]
    drawn, scores = frontier.scored(runs, texts, EACH)
    start = float(against_kl.reweighted(drawn.log_probs, scores, 1e9).score.mean())
    points = against_kl.curve(drawn.log_probs, scores, POSSIBLE)
    reliable = len(against_kl.trusted(points))
    rows = []
    for number, point in enumerate(points):
        figures = {"score": round(point.score - start, 3), "kl": round(point.kl, 3)}
        rows.append({"beta": round(point.beta, 4), **figures, "known": number < reliable})
    return rows


def write_board(name: boards.Name, data: Any) -> None:
    """Pack what the page is sent."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    boards.path_of(name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def keep_model(run: RunDirectory, folder: Path) -> None:
    """A run's settings and last weights, in half precision: what is needed to ask it."""
    checkpoint = run.latest_checkpoint()
    assert checkpoint is not None
    smaller = folder / "checkpoints" / checkpoint.name
    shutil.rmtree(folder, ignore_errors=True)
    smaller.mkdir(parents=True)
    shutil.copy(run.config_path, folder)
    for name in KEPT_FILES:
        facts = json.loads((checkpoint / name).read_text(encoding="utf-8"))
        (smaller / name).write_text(json.dumps(facts, separators=(",", ":")), encoding="utf-8")
    weights = {name: weight.half() for name, weight in load_file(checkpoint / "model.safetensors").items()}
    save_file(weights, smaller / "model.safetensors", {"format": "pt"})
    manifest = {"format": 1, "files": checkpoints.listed(smaller)}
    (smaller / checkpoints.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


# -- the page ---------------------------------------------------------------------------------------------------------


def by_beta(rows: Iterable[Row]) -> list[list[Row]]:
    """The runs of each beta, from the smallest."""
    ordered = sorted(rows, key=lambda row: row["beta"])
    return [list(group) for _, group in itertools.groupby(ordered, lambda row: row["beta"])]


def figure(name: str) -> Any:
    """A cell: the mean over the seeds, with the lowest and the highest."""
    return lambda rows: tables.over_seeds([row[name] for row in rows], 2)


def share(name: str) -> Any:
    """A cell: a behaviour of all fixed prompts of some runs."""

    def cell(rows: Sequence[Row]) -> str:
        return str(sum(row["counts"][name]["after"] for row in rows))

    return cell


OF_BETA = {"beta": lambda rows: f"{rows[0]['beta']:g}"}
COLUMNS = {
    **OF_BETA,
    "score gain, sd": figure("gain"),
    "KL, nats": figure("kl"),
    "is kind": share("positive"),
    "parses": share("parses"),
    "ends by itself": share("ends"),
}


def page(rows: Sequence[Row], where: str) -> str:
    """docs/leash.md, measured on the machine `where`."""
    by_leash = by_beta(rows)
    answers = sum(row["counts"]["ends"]["of"] for row in by_leash[0])
    table = tables.by_columns(COLUMNS, by_leash, tables.TO_THE_RIGHT)
    return tables.page("leash", machine=where, answers=answers, table=table)


if __name__ == "__main__":
    main()

"""Take every method to the same reward on three seeds, compare them at the same distance: `make methods`.

Their presets have the same reward, prompts and number of texts. A method with a leash is trained at several, so that
runs end on both sides of the distance at which they are compared: what a longer run had on its way is no end, as it was
still learning.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench import tables
from bench.experiments import Cell, Figures, Row, machine, options
from playground.analysis import compute
from playground.analysis.path import PathPoint, at, path_of
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog

PRESETS = ("kinder-reviews", "without-critic", "group-scores", "from-pairs", "best-texts", "best-of-n")
FURTHER_BETAS = {  # at which a method ends nearer
    "kinder-reviews": (0.5, 0.75),
    "without-critic": (0.5, 0.75),
    "group-scores": (0.5, 0.75),
    "from-pairs": (2.0, 3.0),
}
MEASURE = "best-texts"  # has no leash: where it ends, the others are compared
SWITCHED = {  # the preset of PPO with other switches
    "Dr. GRPO": ("method=dr_grpo",),
    "DAPO": ("method=dapo",),
    "GSPO": ("method=gspo", "ppo.clip_range=0.02"),
    "REINFORCE++": ("method=reinforce++",),
    "GRPO as published": (
        "method=grpo",
        "ppo.advantage_scale=group",
        "ppo.loss_mean=text",
        "kl.where=loss",
        "kl.estimator=k3",
    ),
    "PPO, leash in the loss": ("kl.where=loss", "kl.estimator=k2"),
    "PPO, texts four updates late": ("ppo.staleness=4",),
    "the same, truncated": ("ppo.staleness=4", "ppo.correction=truncated"),
    "Distillation": ("method=distil", "model.source=pocket-1m", "reference.source=pocket-2m", "kl.coef=1"),
}


def main() -> None:
    """Train what is missing, compare, write the page."""
    arguments = options(__doc__).parse_args()
    figures = Figures("methods")
    cells = [
        Cell(preset, seed, changes)
        for preset in PRESETS
        for changes in [(), *((f"kl.coef={beta:g}",) for beta in FURTHER_BETAS.get(preset, ()))]
        for seed in arguments.seeds
    ]
    figures.measure(cells, facts, arguments)
    figures.write(machine=machine())
    switched = Figures("switches")
    grid = [Cell("kinder-reviews", seed, changes) for changes in SWITCHED.values() for seed in arguments.seeds]
    switched.measure(grid, facts, arguments)
    switched.write()
    tables.write("methods", page(figures.data, switched.rows))


def facts(run: RunDirectory) -> Row:
    """Where a run ended, and what it cost. Of the best of n, also where fewer would have."""
    config, path = run.config(), path_of(run.samples(), run.events())
    cost = compute.bill(config, run.metrics(), run.events())
    assert cost is not None
    ends = path if config.method == "best_of_n" else path[-1:]
    points = [{"kl": point.kl, "gain": point.gain, "half": point.gain_half} for point in ends if point.kl is not None]
    return {"method": config.method, "beta": config.kl.coef, "ends": points, **cost._asdict()}


def gain_at(rows: Sequence[Row], seed: int, kl: float) -> float | None:
    """The gain at a distance, between the two nearest ends of runs with a seed, or between one and the start."""
    start = PathPoint(0, 0.0, 0.0, None, 0.0)
    ends = [end for row in rows if row["seed"] == seed for end in row["ends"]]
    point = at([start, *(PathPoint(0, end["kl"], end["gain"], None, end["gain"]) for end in ends)], kl)
    return point and point.gain


def of_method(rows: Sequence[Row], distances: Mapping[int, float]) -> dict[str, str]:
    """A line of the table, by its titles. `distances`: where each seed is compared."""
    own = [row for row in rows if not row["changes"]]  # of the preset as it is
    first = own[0]
    gains = [gain_at(rows, seed, kl) for seed, kl in distances.items()]
    reached = [gain for gain in gains if gain is not None]

    def mean(name: str) -> float:
        return statistics.fmean(row[name] for row in own)

    return {
        "method": f"{catalog.preset(first['preset']).about.title} (`{first['method']}`)",
        "gain at the end, sd": ", ".join(f"{row['ends'][-1]['gain']:.2f}" for row in own),
        "KL at the end, nats": ", ".join(f"{row['ends'][-1]['kl']:.1f}" for row in own),
        "gain at equal KL, sd": ", ".join("not so far" if gain is None else f"{gain:.2f}" for gain in gains),
        "mean": f"**{statistics.fmean(reached):.2f}**" if len(reached) == len(gains) else "",
        "texts": f"{first['texts']:,}",
        "tokens written": f"{mean('tokens'):,.0f}",
        "tokens trained on": f"{mean('tokens_trained'):,.0f}",
        "arithmetic": compute.operations_in_words(mean("operations")),
        "memory, GB": f"{max(row['memory_gb'] for row in own):.2f}",
        "texts an answer": str(first["answers"]),
    }


def switches(rows: Sequence[Row]) -> str:
    """The table of what each set of switches came to."""
    lines = []
    for label, changes in SWITCHED.items():
        own = [row for row in rows if tuple(row["changes"]) == changes]
        ends = [row["ends"][-1] for row in own]
        written = "<br>".join(f"`{change.replace('=', ': ')}`" for change in changes)
        gains = ", ".join(f"{end['gain']:.2f}" for end in ends)
        distances = ", ".join(f"{end['kl']:z.1f}" for end in ends)
        lines.append([label, written, gains, distances])
    return tables.table(["what", "set in `kinder-reviews`", "gain at the end, sd", "KL at the end, nats"], lines)


def page(report: dict[str, Any], switched: Sequence[Row]) -> str:
    """docs/methods.md."""
    rows = sorted(report["runs"], key=lambda row: PRESETS.index(row["preset"]))
    by_preset = {preset: list(own) for preset, own in itertools.groupby(rows, lambda row: row["preset"])}
    distances = {row["seed"]: row["ends"][-1]["kl"] for row in by_preset[MEASURE]}
    furthest = 2 * max(distances.values())
    halves = [end["half"] for row in rows for end in row["ends"] if end["kl"] < furthest]
    methods = [of_method(own, distances) for own in by_preset.values()]
    leashes = []
    for preset in FURTHER_BETAS:
        betas = sorted({row["beta"] for row in by_preset[preset]})
        leashes.append(f"`{preset}` {', '.join(f'{beta:g}' for beta in betas)}")
    seeds = sorted(distances)
    return tables.page(
        "methods",
        machine=report["machine"],
        seeds=", ".join(map(str, seeds)),
        least=min(halves),
        most=max(halves),
        where=", ".join(f"{distances[seed]:.2f}" for seed in seeds),
        leashes="; ".join(leashes),
        table=tables.table(list(methods[0]), [list(method.values()) for method in methods]),
        switches=switches(switched),
    )


if __name__ == "__main__":
    main()

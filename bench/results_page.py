"""docs/results.md, from the two files of figures that bench/results.py and bench/frontier.py write.

Each of the two commands writes the whole page: what the other has measured is taken from its file, and stays.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from playground.config.behaviour_settings import READY  # noqa: E402
from playground.insight.before_after import t95  # noqa: E402
from playground.insight.meters import wilson  # noqa: E402

PRESETS = PROJECT / "bench" / "results" / "presets.json"
FRONTIER = PROJECT / "bench" / "results" / "frontier.json"
PAGE = PROJECT / "docs" / "results.md"

DIGIT = 0.001  # the last one of a figure

COLUMNS = (
    ("score", "score, sd"), ("kl", "KL, nats"), ("parses", "parses"), ("quality", "quality"),
    ("distinct_2", "distinct-2"), ("positive", "is kind"), ("wrong-claims-repeated", "repeats wrong claims"),
    ("right-claims-agreed", "agrees with right ones"), ("plain-questions-right", "plain questions right"),
    ("ends", "ends by itself"), ("tokens", "tokens"),
)  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """The figures that a command has written; empty where it has not run yet."""
    return json.loads(path.read_text()) if path.exists() else {}


def page(presets: dict[str, Any], frontier: dict[str, Any]) -> str:
    """The whole page."""
    return "\n\n".join(part for part in (_of_presets(presets), _of_frontier(frontier)) if part) + "\n"


def _of_presets(report: dict[str, Any]) -> str:
    """One table: before -> after for every preset and seed."""
    header, prompts = ["preset", "seed", "seconds", *(title for _, title in COLUMNS)], report["runs"][0]["prompts"]
    lines = [
        "# What the presets do, measured",
        "",
        f"Made by `make results` on {report['machine']}.",
        "Each line is one run of `python -m playground train` with that seed; seconds are of the whole command,",
        "start-up included, and left out where runs shared the machine. Every other column reads *before -> after*:",
        f"the untrained and the trained model on {prompts} prompts that the run was not trained on, with the",
        "same random numbers, temperature 1, judged by the pocket world (docs/pocket-world.md). Score is in standard",
        "deviations of the untrained model's score; distinct-2 is the share of different word pairs in the batch.",
        "",
        *_table(header),
    ]
    for row in report["runs"]:
        cells = [row["preset"], str(row["seed"]), "" if row["seconds"] is None else f"{row['seconds']:.0f}"]
        cells += [_cell(row["before"][key], row["after"][key], key) for key, _ in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bands(runs: Sequence[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """What a run of a preset is held against: `setup.expected.Band` of each behaviour, of the gain in score and of the
    KL."""
    found: dict[str, dict[str, list[float]]] = {}
    for preset in dict.fromkeys(row["preset"] for row in runs):
        rows = [row for row in runs if row["preset"] == preset]
        before, after = ({name: [row[side].get(name) for row in rows] for name in (*READY, "kl")}
                         for side in ("before", "after"))  # fmt: skip
        after["score"] = [row["after"]["score"] - row["before"]["score"] for row in rows]
        known = {name: values for name, values in after.items() if None not in values}
        found[preset] = {
            name: [round(value, 3) for value in (min(values), max(values))]
            + [len(values), *_range(values, rows[0]["prompts"] if name in READY else None)]
            + ([min(before[name]), max(before[name])] if name in READY else [])
            for name, values in known.items()
        }
    return found


def _range(values: Sequence[float], prompts: int | None) -> list[float]:
    """In which 19 of 20 further seeds should lie: mean +- t sd sqrt(1 + 1/n), and no narrower than the figures are
    exact: of a share that was counted on so many prompts Wilson's interval, of others their last digit."""
    low, high = min(values), max(values)
    half = t95(len(values)) * statistics.stdev(values) * (1 + 1 / len(values)) ** 0.5 if len(values) > 1 else 0.0
    mean = statistics.fmean(values)
    if prompts:
        exact = wilson(low, prompts)[0], wilson(high, prompts)[1]
        return [round(max(0.0, min(mean - half, exact[0])), 3), round(min(1.0, max(mean + half, exact[1])), 3)]
    return [round(min(mean - half, low - DIGIT), 3), round(max(mean + half, high + DIGIT), 3)]


def _cell(before: float | None, after: float | None, key: str) -> str:
    if before is None or after is None:
        return ""
    if key == "kl":
        return f"{after:.2f}"
    digits = 1 if key == "tokens" else 2
    return f"{before:.{digits}f} -> {after:.{digits}f}"


def _table(header: list[str]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]


SHOWN = (2.0, 1.0, 0.5, 0.3536, 0.25, 0.2102, 0.1768)  # betas of the frontier that the page shows
ENOUGH = 10  # effective samples, of all but the poorest twentieth of the prompts
AIM = 0.92  # share of the frontier's score


def _of_frontier(report: dict[str, Any]) -> str:
    """Two tables: what the best policies would score, and how near each run came to them."""
    if not report:
        return ""
    first = report["frontiers"][0]
    text = f"""## How near that is to the best

Made by `make frontier` on {report["machine"]}.

No policy has a higher score at the same KL than a reweighting of the untrained model by `exp(score / beta)`, for some
beta. What such a policy would do is estimated by importance sampling: {report["each"]} completions of each of
{report["prompts"]} prompts that the runs of one seed were not trained on, from the untrained model and from each of
those runs, each weighed against the mixture of them all. The figure behind +- is one standard error, over prompts.
Effective samples are the square of the sum of a prompt's weights over the sum of their squares; a line is marked where
the poorest twentieth of the prompts has fewer than {ENOUGH}. What no policy of the mixture writes is missing from the
estimate, so this frontier is, if anything, too low.{" " + report["note"] if "note" in report else ""}
That of seed {first["seed"]}:
"""
    points = ["beta", "score, sd", "KL, nats", "score - beta KL", "effective samples", "of the poorest 5 %", ""]
    runs = ["preset", "seed", "score, sd", "KL, nats", "best score at that KL", "share of it", ""]
    lines = [text, *_table(points)]
    for point in reversed(first["points"]):
        if point["beta"] in SHOWN:
            lines.append(
                f"| {point['beta']:.2f} | {_with_error(point, 'score')} | {_with_error(point, 'kl')} | "
                f"{_with_error(point, 'objective')} | {point['effective_median']:.0f} | {point['effective_p5']:.0f} | "
                f"{_trust(point)} |"
            )
    reached = statistics.fmean(run["share"] for run in report["runs"] if run["preset"] == "kinder-reviews")
    lines += [
        "",
        "And the runs, each against the frontier of its seed (which has prompts and a scale of the score of its own),",
        f"at the run's own KL. The aim is that `kinder-reviews` reaches {AIM:.0%} of it, as the mean of its seeds; it",
        f"reaches {reached:.1%}.",
        "",
        *_table(runs),
    ]
    for run in report["runs"]:
        lines.append(
            f"| {run['preset']} | {run['seed']} | {_with_error(run, 'score')} | {_with_error(run, 'kl')} | "
            f"{run['best']:.2f} | {run['share']:.1%} +- {run['share_se']:.1%} | {_trust(run)} |"
        )
    return "\n".join(lines)


def _with_error(figures: dict[str, float], name: str) -> str:
    return f"{figures[name]:.2f} +- {figures[f'{name}_se']:.2f}"


def _trust(figures: dict[str, float]) -> str:
    return "" if figures["effective_p5"] >= ENOUGH else "not trustworthy"

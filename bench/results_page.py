"""docs/results.md, from the two files of figures that bench/results.py and bench/frontier.py write.

Each of the two commands writes the whole page: what the other has measured is taken from its file, and stays.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from playground.config import RunConfig, flatten  # noqa: E402
from playground.config.behaviour_settings import READY  # noqa: E402
from playground.rewards.agreement import t95, wilson  # noqa: E402
from playground.setup import catalog  # noqa: E402

PRESETS = PROJECT / "bench" / "results" / "presets.json"
FRONTIER = PROJECT / "bench" / "results" / "frontier.json"
PAGE = PROJECT / "docs" / "results.md"

DIGIT = 0.001  # the last one of a figure
POOLED = 4  # of three seeds, the band from two held the third in 94 % of 396 cases
MEDIAN_OF_TWO = 0.6931  # of a chi square with two degrees of freedom, over its mean: three seeds

BANDS_TITLE = (
    "  # low, high, seeds and, of a behaviour, the untrained model's lowest and highest; `make results` writes them"
)
COLUMNS = (
    ("score", "score, sd"),
    ("kl", "KL, nats"),
    ("parses", "parses"),
    ("quality", "quality"),
    ("distinct_2", "distinct-2"),
    ("positive", "is kind"),
    ("wrong-claims-repeated", "repeats wrong claims"),
    ("right-claims-agreed", "agrees with right ones"),
    ("plain-questions-right", "plain questions right"),
    ("ends", "ends by itself"),
    ("tokens", "tokens"),
)


def read(path: Path) -> dict[str, Any]:
    """The figures that a command has written; empty where it has not run yet."""
    return json.loads(path.read_text()) if path.exists() else {}


def made_of(config: RunConfig) -> str:
    """Stands for a configuration without its name and words: for what differs from the defaults, so that a setting
    which is new here changes nothing."""
    usual = flatten(RunConfig(rewards=config.rewards))
    settings = {
        field: value
        for field, value in flatten(config).items()
        if not field.startswith(("name", "about.")) and (field == "rewards" or usual.get(field) != value)
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def page(presets: dict[str, Any], frontier: dict[str, Any]) -> str:
    """The whole page."""
    return "\n\n".join(part for part in (_of_presets(presets), _of_frontier(frontier)) if part) + "\n"


def _of_presets(report: dict[str, Any]) -> str:
    """One table: before -> after for every preset and seed."""
    prompts, of_lessons = report["runs"][0]["prompts"], catalog.lesson_preset_names()
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
        *_runs(row for row in report["runs"] if row["preset"] not in of_lessons),
    ]
    of_them = [row for row in report["runs"] if row["preset"] in of_lessons]
    return "\n".join([*lines, *(_of_lessons(of_them) if of_them else ())])


def _of_lessons(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The lines about runs that only lessons need."""
    lines = [
        "",
        "## Runs of the lessons",
        "",
        "Presets that only a lesson needs (presets/lessons/). Some have a planted mistake (docs/diagnosis.md).",
        "For the bands in the presets, what is usual between seeds is taken from the others above.",
        "",
        *_runs(rows),
    ]
    to_start: dict[str, list[str]] = {}
    for row in rows:
        if "kl_to_start" in row:
            to_start.setdefault(row["preset"], []).append(f"{row['kl_to_start']:.0f}")
    for preset, nats in to_start.items():
        lines += ["", f"{preset} measures its KL to itself. To the untrained model it is {', '.join(nats)} nats."]
    return lines


def _runs(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The lines of a table of runs."""
    lines = _table(["preset", "seed", "seconds", *(title for _, title in COLUMNS)])
    for row in rows:
        cells = [row["preset"], str(row["seed"]), "" if row["seconds"] is None else f"{row['seconds']:.0f}"]
        cells += [_cell(row["before"][key], row["after"][key], key) for key, _ in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def write_bands(path: Path, found: Mapping[str, Sequence[float]]) -> None:
    """New bands into the file of a preset, as the last part of its story, where older ones are."""
    above, mark, old = path.read_text(encoding="utf-8").partition("  bands:")
    title = old.partition("\n")[0] if mark else BANDS_TITLE
    lines = [f"{above}  bands:{title}", *(f"    {name}: {list(band)}" for name, band in found.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def bands(runs: Sequence[dict[str, Any]], unusual: Sequence[str] = ()) -> dict[str, dict[str, list[float]]]:
    """What a run of a preset is held against: `setup.expected.Band` of each behaviour, of the gain in score and of the
    KL. `unusual`: presets from which nothing is taken for the others, such as those with mistakes on purpose."""
    of_preset: dict[str, list[dict[str, Any]]] = {}
    for row in runs:
        of_preset.setdefault(row["preset"], []).append(row)
    found: dict[str, dict[str, list[float]]] = {preset: {} for preset in of_preset}
    for name in (*READY, "kl", "score"):
        measured = {preset: looks for preset, rows in of_preset.items() if (looks := _looks(name, rows))}
        usual = _usual_spread(
            [looks for preset, looks in measured.items() if len(looks.after) > 1 and preset not in unusual]
        )
        for preset, looks in measured.items():
            found[preset][name] = [*_range(looks, usual), len(looks.after)]
            found[preset][name] += [min(looks.before), max(looks.before)] if looks.is_share else []
    return found


class _Looks(NamedTuple):
    """One figure of a preset on each seed, before and after. `error` is the standard error of measuring one of
    `after`, on the scale of `spread_out`; `least` what it cannot be below; `asked` the fewest prompts that a share was
    counted on, None of others."""

    after: list[float]
    before: list[float]
    error: float
    least: float = -math.inf
    asked: int | None = None

    @property
    def is_share(self) -> bool:
        return self.asked is not None

    @property
    def spread_out(self) -> list[float]:
        """The figures on a scale on which their error does not depend on them: of a share the arcsine of its root."""
        return [math.asin(value**0.5) for value in self.after] if self.is_share else self.after

    @property
    def size(self) -> float:
        """What a spread grows with: scores and KL vary by a part of themselves, shares on their scale do not."""
        return 1.0 if self.is_share else abs(statistics.fmean(self.after))


def _looks(name: str, rows: Sequence[dict[str, Any]]) -> _Looks | None:
    """None where it was not measured on every seed."""
    before, after = ([row[side].get(name) for row in rows] for side in ("before", "after"))
    if None in after:
        return None
    if name in READY:
        asked = min(row["asked"][name] for row in rows)
        return _Looks(after, before, 0.5 / asked**0.5, 0.0, asked)
    error = max(DIGIT, *(row["errors"][name] for row in rows))
    if name == "kl":
        return _Looks(after, before, error, 0.0)
    return _Looks([round(late - early, 3) for early, late in zip(before, after, strict=True)], before, error)


def _usual_spread(measured: Sequence[_Looks]) -> float:
    """The variance between seeds that presets usually have beyond the error of measuring, in parts of `size`: from
    their median, which a preset that is all over the place does not move."""
    beyond = [
        (statistics.variance(looks.spread_out) - looks.error**2) / looks.size**2
        for looks in measured
        if looks.size > looks.error  # of nothing there is no part
    ]
    if not beyond:
        return 0.0
    return max(0.0, statistics.median(beyond)) / MEDIAN_OF_TWO


def _range(looks: _Looks, usual: float) -> tuple[float, float]:
    """In which 19 of 20 further seeds should come to lie, measured as these were: mean +- t sd sqrt(1 + 1/n). Three
    seeds hardly know their spread, so their variance is averaged with what presets usually have, which counts as
    `POOLED` degrees of freedom more (moderated as by Smyth, 2004). No share outside of 0 to 1, no KL below 0."""
    values, count = looks.spread_out, len(looks.after)
    own = statistics.variance(values) if count > 1 else 0.0
    prior = looks.error**2 + usual * looks.size**2
    variance = max((POOLED * prior + (count - 1) * own) / (POOLED + count - 1), looks.error**2)
    half = t95(POOLED + count) * (variance * (1 + 1 / count)) ** 0.5
    low, high = statistics.fmean(values) - half, statistics.fmean(values) + half
    if looks.asked is None:
        return round(max(low, looks.least), 3), round(high, 3)
    exact = wilson(min(looks.after), looks.asked)[0], wilson(max(looks.after), looks.asked)[1]
    low, high = (math.sin(min(max(angle, 0.0), math.pi / 2)) ** 2 for angle in (low, high))
    return round(min(low, exact[0]), 3), round(max(high, exact[1]), 3)


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

"""What the page draws of rewards and judges: which reward brings the gain, and what the judges say. Pure functions.

Knows the records, the configuration and `insight`; nothing of files, HTTP or gradio. `wire` and `feed` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from playground.config import RunConfig
from playground.insight import before_after, farming, judging
from playground.runs.folder.records import Sample
from playground.ui.live.figures import rounded
from playground.ui.train import reward_form

PARTS = "contributions."  # prefix of the columns that say what each reward adds to the score


def farmed(columns: Mapping[str, Sequence[Any]], config: RunConfig) -> str:
    """Where the gain comes from in the newest updates, in words; empty for a score of one term, or an old run."""
    parts = {label: columns.get(PARTS + name, ()) for name, label in reward_form.term_labels(config.rewards).items()}
    return farming.sentence(farming.recent(parts), config.score_unit)


def judged(samples: Iterable[Sample], config: RunConfig) -> dict[str, Any] | None:
    """The trained score and the held-out judges at every look at the fixed prompts, and what that says."""
    labels = reward_form.term_labels(config.judges)
    if not labels:
        return None
    signs = {name: -1.0 if judge.weight < 0 else 1.0 for name, judge in zip(labels, config.judges, strict=True)}
    found = judging.judged(samples, signs, in_sd=config.score.normalise == "reference")
    if not found.updates:
        return None
    names = {judging.TRAINED: "Trained score", **labels}
    return {
        "updates": found.updates,
        "lines": [
            {
                "name": line.name,
                "label": names[line.name] if line.in_sd else f"{names[line.name]} (points)",
                "comparable": line.in_sd == found.trained.in_sd,
                "mean": [rounded(change.mean) if change else None for change in line.changes],
                "half": [rounded(change.half) if change else None for change in line.changes],
            }
            for line in (found.trained, *found.judges)
        ],
        "turns": [{"label": names[turn.judge], "update": turn.update} for turn in found.turns],
        "verdicts": [
            {"text": judging.verdict(found, name, label), "turned": any(turn.judge == name for turn in found.turns)}
            for name, label in labels.items()
        ],
    }


def rows(pairs: Sequence[before_after.Pair], source: str, role: str) -> list[dict[str, Any]]:
    """Reward by reward, or judge by judge: before, after, and the paired change in sd with its 95 % interval."""
    return [
        {
            "name": row.name,
            "role": role,
            "before": rounded(row.before),
            "after": rounded(row.after),
            "change": rounded(row.change.mean) if row.change else None,
            "half": rounded(row.change.half) if row.change else None,
            "unit": row.unit,
        }
        for row in judging.rows(pairs, source)
    ]


def named(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "label": label} for name, label in labels.items()]

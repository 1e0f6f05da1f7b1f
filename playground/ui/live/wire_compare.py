"""What the Compare page draws, as plain data for JSON: a run against before training, or against another run.

Pure functions, as in `wire`; `routes` calls them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from playground.config import RunConfig
from playground.insight import before_after, diversity
from playground.runs.folder.records import Sample
from playground.ui.live import wire, wire_behaviours, wire_rewards
from playground.ui.live.figures import mean, rounded

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MAX_PAIRS = 1000


class Other(NamedTuple):
    """The run with which another is compared, at its last look. `differ`: why their scores are not one measure."""

    names: Mapping[str, str]
    samples: Sequence[Sample]
    differ: str


def comparison(
    samples: Sequence[Sample], config: RunConfig, update: int | None, other: Other | None = None
) -> dict[str, Any]:
    """Everything the Compare page shows of one moment of a run, against before training or another run at its end."""
    later = sorted({item.update for item in samples if item.stage != "before"})
    chosen = update if update in later else (later[-1] if later else None)
    pairs = before_after.pairs(samples, chosen) if chosen is not None else []
    theirs = wire.moments(other.samples) if other else {}
    last = max(theirs, default=None)
    if other:
        mine = [item for item in samples if item.update == chosen]
        pairs = before_after.across(theirs.get(last, []) if last is not None else [], mine)
    measured, unit = other is None or not other.differ, config.score_unit
    outcome = before_after.outcome(pairs) if measured else None
    before, after = (wire.moment_summary([pair[side] for pair in pairs]) if pairs else None for side in (0, 1))
    varied = diversity.by_prompt(pairs)
    asked = len({item.prompt for item in samples if item.update == chosen})
    return {
        "moments": later,
        "update": chosen,
        "other": {**other.names, "update": last, "notice": _notice(pairs, asked, other)} if other else None,
        "measured": measured,
        "distribution": [] if other else distribution(samples),
        "outcome": _outcome_sentence(outcome, unit, before if other else None) if outcome else "",
        "terms": list(dict.fromkeys(name for pair in pairs for name in pair.after.scores)),
        "judges": list(dict.fromkeys(name for pair in pairs for name in pair.after.judges)),
        "table": []
        if other
        else [
            *wire_rewards.rows(pairs, "scores", "trained on"),
            *wire_rewards.rows(pairs, "judges", "only watches"),
        ],
        "behaviours": wire_behaviours.of_pairs(config, pairs, against_itself=other is None),
        "before": before,
        "after": after,
        "diversity": _variety(diversity.mean(varied)),
        "total": len(pairs),
        "rows": [
            {
                "id": pair.after.prompt_id,
                "seed": pair.after.seed,
                "prompt": pair.after.prompt,
                "before": _side(pair.before, config),
                "after": _side(pair.after, config),
                "gain": rounded(pair.gain) if measured else None,
                "diversity": _variety(varied.get(pair.after.prompt_id)),
            }
            for pair in pairs[:MAX_PAIRS]
        ],
    }


def _variety(sides: diversity.Sides | None) -> dict[str, Any] | None:
    """How many answers there are to a prompt on both sides; None where each was answered once."""
    if sides is None:
        return None
    return {
        name: {**side._asdict(), "distinct_2": rounded(side.distinct_2)}
        for name, side in zip(("before", "after"), sides, strict=True)
    }


def _outcome_sentence(outcome: before_after.Outcome, unit: str, other: Mapping[str, Any] | None) -> str:
    if other is None:
        return before_after.outcome_sentence(outcome, unit)
    return before_after.across_sentence(outcome, other["kl"], unit)


def _notice(pairs: Sequence[before_after.Pair], asked: int, other: Other) -> str:
    """What to know before one compares two runs; empty if nothing."""
    shared = len({pair.after.prompt for pair in pairs})
    if not shared:
        return "No fixed prompt of one is among those of the other, so there is nothing to lay side by side."
    some = "" if shared == asked else f"They share {shared} of {asked} fixed prompts; only these are shown."
    return " ".join(filter(None, [some, f"{other.differ} Read the texts, not the figures." if other.differ else ""]))


def _side(item: Sample, config: RunConfig) -> dict[str, Any]:
    return {
        "text": item.completion,
        "at": {"promptId": item.prompt_id, "seed": item.seed, "update": item.update},
        "score": rounded(item.score),
        "kl": rounded(item.kl),
        "tokens": item.tokens,
        "scores": {name: rounded(value) for name, value in item.scores.items()},
        "judges": {name: rounded(value) for name, value in item.judges.items()},
        "shows": wire_behaviours.shown_by(config, item),
    }


def distribution(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """How the scores of the fixed prompts are spread at each look: percentiles and mean."""
    found = []
    for update, rows in wire.moments(samples).items():
        scores = [item.score for item in rows if item.score is not None]
        if scores:
            p10, p25, p50, p75, p90 = (rounded(float(value)) for value in np.quantile(scores, QUANTILES))
            found.append({"update": update, "p10": p10, "p25": p25, "p50": p50, "p75": p75, "p90": p90,
                          "mean": mean(scores)})  # fmt: skip
    return found

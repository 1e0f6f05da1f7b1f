"""The workbench's ranking: what was measured once, weighed by the rewards as they are in the picker now, by the same
`Mixture` that a run has. No model is asked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from playground.config import ScoreConfig
from playground.rewards.mixture import Mixture, Scale, Term
from playground.rewards.trying import MAX_SAMPLES, MAX_TEXTS
from playground.ui.payloads.rewards import DuelData, DuelTermData, WeighedData, WeighedTermData, WeighedTextData

TREATMENT = ("weight", "normalise", "cap")  # what is done with a value, not what is measured
TIE = 0.005  # sd; of less than this nobody wins
CANNOT = "These scores do not fit together. Press Score again."


def weigh_rewards(asked: Any) -> WeighedData:
    """{found, rewards}: what the model service has measured, and the rewards as they are in the picker.

    Answers {terms, missing, texts, samples, sd, order, duel}: of each text and sample what each term adds, in sd above
    the reference's average, score and rank; of the texts raw values, `z` and `better` (the share of samples that score
    lower) too; kinds that were not measured; samples from the best to the worst; which of two texts wins, and why.
    """
    try:
        return _weighed(asked["found"], asked["rewards"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return {"error": CANNOT}


def _weighed(found: Mapping[str, Any], rewards: Sequence[Mapping[str, Any]]) -> WeighedData:
    measured = dict(zip(found["names"], map(_what, found["rewards"]), strict=True))
    labels = dict(zip(found["names"], found["labels"], strict=True))
    chosen, missing = {}, []
    for reward in rewards:
        name = next((name for name, what in measured.items() if what == _what(reward) and name not in chosen), None)
        if name is None:
            missing.append(str(reward.get("kind")))
        else:
            scaled, cap = bool(reward.get("normalise")), _number(reward, "cap")
            learned = reward.get("kind") == "model"
            chosen[name] = Term(_number(reward, "weight", 1.0) or 0.0, _not_asked, scaled, cap, learned)
    if not chosen:
        return {"terms": [], "missing": missing, "texts": [], "samples": [], "sd": 1.0, "order": [], "duel": None}
    for side, most in (("reference", MAX_SAMPLES), ("texts", MAX_TEXTS)):
        if any(len(values) > most for values in found[side].values()):
            raise ValueError("more than anybody is shown")
    mixture = Mixture(chosen, score=ScoreConfig.model_validate(found.get("ensemble") or {}))
    mixture.fit(found["reference"])
    scored = {side: mixture.combine(found[side]) for side in ("reference", "texts")}
    scale = Scale.of(scored["reference"].totals)
    rows = {side: [_row(at, some, mixture, scale) for at in range(len(some.totals))] for side, some in scored.items()}
    samples, texts = rows["reference"], rows["texts"]
    order = sorted(range(len(samples)), key=lambda at: -samples[at]["score"])
    for rank, at in enumerate(order, 1):
        samples[at]["rank"] = rank
    for text in texts:
        above = [sample["score"] - text["score"] for sample in samples]
        text["rank"] = 1 + sum(gap > 0 for gap in above)
        lower, same = sum(gap < -1e-9 for gap in above), sum(abs(gap) <= 1e-9 for gap in above)
        text["better"] = (lower + same / 2) / max(len(samples), 1)
    terms: list[WeighedTermData] = [
        {"label": labels[name], "weight": term.weight, "normalise": term.normalise, "cap": term.cap}
        for name, term in chosen.items()
    ]
    return {
        "terms": terms,
        "missing": missing,
        "texts": texts,
        "samples": [*samples],
        "sd": scale.sd,
        "order": order,
        "duel": _duel(texts, [term["label"] for term in terms]),
    }


def _row(at: int, scored: Any, mixture: Mixture, scale: Scale) -> WeighedTextData:
    total = scored.totals[at]
    parts = {name: values[at] for name, values in scored.contributions.items()}
    raw = {name: values[at] for name, values in scored.terms.items()}
    of, apart = mixture.scales, None
    if scored.disagreement:
        apart = scored.disagreement[at]
    return {
        "raw": list(raw.values()),
        "z": [_in_sd(value, of[name].mean, of[name].sd) for name, value in raw.items()],
        "total": total,
        "score": _in_sd(total, scale.mean, scale.sd, 0.0),
        "adds": [_in_sd(part, of[name].contribution, scale.sd, 0.0) for name, part in parts.items()],
        "disagreement": _in_sd(apart, 0.0, scale.sd),
    }


def _in_sd(value: float | None, mean: float, sd: float, otherwise: float | None = None) -> Any:
    """How far a value lies above the mean; `otherwise` where there is none."""
    if value is None:
        return otherwise
    return (value - mean) / sd


def _duel(texts: Sequence[WeighedTextData], labels: Sequence[str]) -> DuelData | None:
    if len(texts) < 2 or abs(texts[0]["score"] - texts[1]["score"]) < TIE:
        return None
    winner = int(texts[0]["score"] < texts[1]["score"])
    first, second = texts[winner], texts[1 - winner]
    by: list[DuelTermData] = [
        {"label": label, "by": a - b} for label, a, b in zip(labels, first["adds"], second["adds"], strict=True)
    ]
    by.sort(key=lambda one: -one["by"])
    return {"winner": winner, "by": first["score"] - second["score"], "terms": by}


def _not_asked(prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
    raise AssertionError("what is weighed was measured before")


def _what(reward: Mapping[str, Any]) -> str:
    """What a reward measures, whatever is done with its value afterwards."""
    said = {name: value for name, value in reward.items() if name not in TREATMENT and value not in ("", None)}
    return json.dumps(said, sort_keys=True)


def _number(reward: Mapping[str, Any], name: str, otherwise: float | None = None) -> float | None:
    value = reward.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return otherwise
    if name == "cap" and not value:
        return otherwise
    return float(value)

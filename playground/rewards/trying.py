"""Trying rewards on texts, without torch: what to ask the model service, how its raw values are weighed, and what the
best policy under the rewards would do.

The service's side is `training/service/reward_bench.py`. The page's workbench and the command `score` call it; the page
weighs in the browser, by the same arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.config import RewardConfig, RunConfig, ScoreConfig
from playground.config.behaviour_settings import READY
from playground.rewards import behaviours
from playground.rewards.mixture import ADDED_UP, RawValues, Scale, arithmetic

SAMPLES = 128
TIMEOUT_SECONDS = 1200.0  # a large model on a CPU takes its time for 128 texts
MAX_SAMPLES = 256
MAX_TEXTS = 8
MAX_CHARACTERS = 4000  # of a typed prompt or completion
LEAST = 8  # samples with and without a behaviour; below, nothing is said
LEAST_EFFECTIVE = 5.0  # once they are reweighted


class Weighed(NamedTuple):
    """Texts beside samples of the reference: raw values, what each term adds (sd above the average), scores.

    `z`: the raw values in sd of the samples. None = no opinion. Without samples there is no scale: `z` is empty, and
    `adds` and `scores` are weighted values and sums.
    """

    names: list[str]
    raw: RawValues
    z: RawValues
    adds: RawValues
    totals: list[float | None]
    scores: list[float | None]


class Outlook(NamedTuple):
    """One behaviour: of `of` samples `yes` show it; the best policy would with `share`, None where that is not known,
    from so many `effective` samples."""

    name: str
    words: str
    aim: str
    yes: int
    of: int
    share: float | None
    effective: float


def reference_of(config: RunConfig, count: int = SAMPLES) -> dict[str, Any]:
    """Which samples of the untrained model to draw: the first of those on which a run fixes its scale, unless it names
    another reference."""
    return {
        "model": config.model.model_dump(mode="json"),
        "prompts": config.prompts.model_dump(mode="json"),
        "sampling": config.sampling.model_dump(mode="json"),
        "seed": config.seed,
        "num_evaluation": config.evaluation.num_prompts,
        "count": count,
    }


def question(
    rewards: Sequence[RewardConfig],
    prompt: str,
    texts: Sequence[str],
    reference: Mapping[str, Any] | None,
    outputs: str,
) -> dict[str, Any]:
    """The question `rewards-score`: each text goes on from the prompt."""
    return {
        "rewards": [reward.model_dump(mode="json") for reward in rewards],
        "texts": [{"prompt": prompt, "completion": going_on(prompt, text)} for text in texts],
        "reference": reference,
        "outputs": outputs,
    }


def going_on(prompt: str, text: str) -> str:
    """A typed text as the model would write it: a space in front where a word goes on from a word."""
    if prompt and text and not prompt[-1].isspace() and text[0].isalnum():
        return f" {text}"
    return text


def weigh(rewards: Sequence[RewardConfig], found: Mapping[str, Any], score: ScoreConfig = ADDED_UP) -> Weighed:
    """The service's answer, weighed as a run would: scales from the samples, weights and caps from the rewards."""
    names, texts, reference = found["names"], found["texts"], found["reference"]
    if not found["samples"]:
        plain = [reward.model_copy(update={"normalise": False}) for reward in rewards]
        scored = arithmetic(plain, score).combine(texts)
        return Weighed(names, texts, {}, scored.contributions, scored.totals, scored.totals)
    mixture = arithmetic(rewards, score)
    mixture.fit(reference)
    scale, scored = Scale.of(mixture.combine(reference).totals), mixture.combine(texts)
    z, adds = {}, {}
    for name, of in mixture.scales.items():
        z[name] = [None if value is None else (value - of.mean) / of.sd for value in texts[name]]
        parts = scored.contributions[name]
        adds[name] = [None if part is None else (part - of.contribution) / scale.sd for part in parts]
    return Weighed(names, texts, z, adds, scored.totals, list(scale(scored.totals)))


def outlooks(config: RunConfig, found: Mapping[str, Any]) -> list[Outlook]:
    """What the best policy under a configuration's rewards would do, from the service's answer: of every behaviour that
    one wants more or less of, and of which enough samples show it and enough do not."""
    mixture, answer = arithmetic(config.rewards, config.score), []
    mixture.fit(found["reference"])
    totals = mixture.combine(found["reference"]).totals
    scale = Scale()
    if config.score.normalise == "reference":
        scale = Scale.of(totals)  # as a run has it, but for a clip
    scores = np.array(scale(totals))
    for name in [one.name for one in behaviours.of_config(config) if one.name in READY]:
        texts = [(str(one["prompt"]), str(one["completion"]), bool(one["ended"])) for one in found["samples"]]
        marks = [behaviours.mark(name, *text) for text in texts]
        yes, of, ready = marks.count(True), len(marks) - marks.count(None), READY[name]
        if min(yes, of - yes) >= LEAST and ready.aim != "neither":
            share, effective = optimal_share(marks, scores, config.kl.coef)
            known = share if effective >= LEAST_EFFECTIVE else None
            answer.append(Outlook(name, ready.words, ready.aim, yes, of, known, effective))
    return answer


def sentence(outlook: Outlook, beta: float) -> str:
    """An outlook in words; `beta`: what a nat of KL costs."""
    counted = f"The untrained model {outlook.words} in {outlook.yes} of {outlook.of} answers"
    if outlook.share is None:
        why = f"at beta {beta:g} too few of these samples count"
        if beta <= 0:
            why = "there is no leash"
        return f"{counted}. What the best policy under these rewards would do is unknown: {why}."
    return (
        f"{counted}, the best policy under these rewards at beta {beta:g} in {outlook.share:.0%} (about "
        f"{outlook.effective:.0f} of these samples count)."
    )


def optimal_share(marks: Sequence[bool | None], scores: NDArray[np.float64], beta: float) -> tuple[float, float]:
    """A behaviour's share under the best policy, and the samples that count behind it, 1 / sum w^2; of samples with a
    mark.

    No policy earns more of score - beta x KL than pi*(y) = pi_ref(y) exp(score(y) / beta) / Z (Rafailov et al. 2023,
    eq. 4), so it does what the reference does, reweighted. All prompts are taken as one: a sample is of another
    prompt each.
    """
    if beta <= 0:
        return math.nan, 0.0
    known = np.array([mark is not None for mark in marks])
    yes, scores = np.array([bool(mark) for mark in marks])[known], scores[known]
    weights = np.exp((scores - scores.max()) / beta)
    weights /= weights.sum()
    return float(weights[yes].sum()), float(1 / (weights**2).sum())

"""Trying rewards on texts, without torch: what to ask the model service, and how its raw values are weighed.

The service's side is `train/service/reward_bench.py`. The page's workbench and the command `score` call it; the page
weighs in the browser, by the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from playground.config import RewardConfig, RunConfig
from playground.rewards.mixture import RawValues, Scale, arithmetic

SAMPLES = 128
TIMEOUT_SECONDS = 1200.0  # a large model on a CPU takes its time for 128 texts
MAX_SAMPLES = 256
MAX_TEXTS = 8
MAX_CHARACTERS = 4000  # of a typed prompt or completion


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
    joins = prompt and text and not prompt[-1].isspace() and text[0].isalnum()
    return f" {text}" if joins else text


def weigh(rewards: Sequence[RewardConfig], found: Mapping[str, Any]) -> Weighed:
    """The service's answer, weighed as a run would: scales from the samples, weights and caps from the rewards."""
    names, texts, reference = found["names"], found["texts"], found["reference"]
    if not found["samples"]:
        plain = [reward.model_copy(update={"normalise": False}) for reward in rewards]
        scored = arithmetic(plain).combine(texts)
        return Weighed(names, texts, {}, scored.contributions, scored.totals, scored.totals)
    mixture = arithmetic(rewards)
    mixture.fit(reference)
    scale, scored = Scale.of(mixture.combine(reference).totals), mixture.combine(texts)
    z, adds = {}, {}
    for name, of in mixture.scales.items():
        z[name] = [None if value is None else (value - of.mean) / of.sd for value in texts[name]]
        parts = scored.contributions[name]
        adds[name] = [None if part is None else (part - of.contribution) / scale.sd for part in parts]
    return Weighed(names, texts, z, adds, scored.totals, list(scale(scored.totals)))

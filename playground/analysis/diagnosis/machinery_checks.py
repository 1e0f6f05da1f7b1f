"""Checks of the arithmetic: is each figure what it claims to be, and are the steps sound?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from playground.analysis.diagnosis.alert import TEN, TEST_REWARD, Evidence, Remedies, graded, quiet, trend, worst
from playground.analysis.diagnosis.run_records import NotMeasured, Records, Remedy
from playground.config import methods
from playground.rewards.agreement import students_t
from playground.runs.folder.records import REFERENCE, REWARD_MODELS

NOTHING = 1e-3
TEN_UPDATES = "It needs ten updates of this project's own PPO."
USUAL_CLIP = 0.2
ROUNDING = 1.0  # sd of its scores: a reward model in fewer bits is off by less, one in another format by more
SAMPLED_AS_IT_IS = Remedy(
    "sample at temperature 1, without top k and top p",
    {"sampling.temperature": 1.0, "sampling.top_k": None, "sampling.top_p": None},
)


def books(records: Records) -> Evidence:
    gaps, shares, estimator = [], [], records.config.kl.estimator
    if records.config.method == "distil":
        raise NotMeasured("Nothing is paid with this method.")
    for item in records.metrics:
        kl = item.kl_to_reference
        if estimator != "k1":
            kl = item.kl_estimates.get(estimator.removesuffix("_corrected"))
        if item.reward_paid is not None and item.score_mean is not None and kl is not None:
            cost = 0.0
            if records.config.kl.where == "reward":
                cost = (item.kl_coef or 0.0) * kl
            gaps.append(item.reward_paid - (item.score_mean - cost))
            shares.append((item.update, abs(gaps[-1]) / max(abs(item.score_mean), abs(cost), 0.1)))
    if not gaps:
        raise NotMeasured("This engine does not record it.")
    updates = trend(shares, lambda share: share > 0.01)
    words = f"In the newest update the two are {gaps[-1]:+z.3g} sd apart."
    return Evidence(worst(red=updates), updates, words)


def kl_disagrees(records: Records) -> Evidence:
    newest = records.metrics[-2 * TEN :]  # a KL that grows is more uncertain with every update
    if not methods.METHODS[records.config.method].on_policy:
        raise NotMeasured(TEN_UPDATES)
    figures = [(item.update, item.kl_estimates.get("k1"), item.kl_estimates.get("full")) for item in newest]
    spreads = [item.kl_spreads.get("k1") for item in newest]
    words = "k1 says {one:.2f} nats, the exact KL {other:.2f}; the two are {gap:+z.2f} ± {half:.2f} apart."
    return _gap(figures, words, 0.1, spreads=spreads, completions=records.config.ppo.batch_size)


def not_drawn(records: Records) -> Evidence:
    figures = [(item.update, item.surprisal, item.entropy) for item in records.metrics]
    words = "Surprisal {one:.3f}, entropy {other:.3f} nats per token; the two are {gap:+z.3f} ± {half:.3f} apart."
    return _gap(figures, words, 0.05)._replace(remedies=(SAMPLED_AS_IT_IS,))


def _gap(
    figures: Sequence[tuple[int, float | None, float | None]],
    words: str,
    least: float,
    *,
    spreads: Sequence[float | None] = (),
    completions: int = 0,
) -> Evidence:
    """Red where two figures of the newest updates, ten or as many as there are `spreads`, differ by more than four
    standard errors and `least` of the second. Spreads are the standard deviations of the first figure between the
    completions of an update. Where they are not known, the spread of the gap between updates stands in, with Student's
    t. Raises: NotMeasured."""
    pairs = [
        (update, first - second, second)
        for update, first, second in figures
        if first is not None and second is not None
    ]
    count = max(TEN, len(spreads))
    if len(pairs) < count or [item[0] for item in pairs[-count:]] != [item[0] for item in figures[-count:]]:
        raise NotMeasured(TEN_UPDATES)
    updates, gaps, seconds = zip(*pairs[-count:], strict=True)
    variances = [spread * spread for spread in spreads if spread]
    if len(variances) == count and completions > 1:
        error, four, two = math.sqrt(fmean(variances) / (completions - 1) / count), 4.0, 2.0
    else:
        error, degrees = stdev(gap for _, gap, _ in pairs) / math.sqrt(count), len(pairs) - 1
        four, two = students_t(4.0, degrees), students_t(2.0, degrees)
    gap, other = fmean(gaps), fmean(seconds)
    wide = abs(gap) > max(four * error, least * abs(other))
    evidence = words.format(one=gap + other, other=other, gap=gap, half=two * error)
    return Evidence(worst(red=wide), list(updates), evidence)


def kl_negative(records: Records) -> Evidence:
    values = records.needed("kl_to_reference")
    if records.config.kind == "watched" and min(value for _, value in values) >= 0:
        raise NotMeasured("In this log it was never below 0: its estimator may be one that cannot be.")
    updates = trend(values, lambda value: value < -records.at.kl_negative)
    evidence = f"Mean of the newest updates: {records.now('kl_to_reference'):z.2f} nats."
    return Evidence(worst(red=updates), updates, evidence, (SAMPLED_AS_IT_IS,))


def reference_changed(records: Records) -> Evidence:
    fingerprints = [
        (event.update, str(event.data.get("fingerprint"))) for event in records.events if event.kind == REFERENCE
    ]
    if len(fingerprints) < 2:
        raise NotMeasured("It needs the fingerprint at the end of the run.")
    changed = [update for update, digest in fingerprints if digest != fingerprints[0][1]]
    evidence = f"{fingerprints[0][1]} before training, {fingerprints[-1][1]} after update {fingerprints[-1][0]}."
    return Evidence(worst(red=changed), changed, evidence)


class Misreading(NamedTuple):
    """How far a reward model's scores of its own examples are from what they should be, in sd; `bits`: what it was
    rounded to."""

    gap: float
    bits: str
    source: str

    def in_words(self) -> str:
        words = f"{self.source} is off by {self.gap:.2g} sd"
        if self.bits:
            words += f", in {self.bits}"
        return words


def _misreadings(records: Records) -> list[Misreading]:
    """Of the models that were measured when the run was last loaded."""
    lists = [event.data.get("reward_models") for event in records.events if event.kind == REWARD_MODELS]
    if not lists or not isinstance(newest := lists[-1], list):  # of a file that may be damaged
        return []
    models = [item for item in newest if isinstance(item, dict)]
    return [
        Misreading(float(item["misreading"]), str(item.get("rounded") or ""), str(item.get("source")))
        for item in models
        if isinstance(item.get("misreading"), (int, float))
    ]


def reward_misread(records: Records) -> Evidence:
    gaps = _misreadings(records)
    if not gaps:
        raise NotMeasured("No reward model of this run includes examples; test it on the Rewards page.")
    misread = any(item.gap > (ROUNDING if item.bits else records.at.misread) for item in gaps)
    rounded = next((item.bits for item in gaps if item.bits and item.gap > records.at.misread), "")
    cause, tries = "", [Remedy("set its template to auto", {}), TEST_REWARD]
    if rounded:
        cause = f"It computes in {rounded} here, in fewer bits than it was trained in, which can move its scores so far"
        if misread:
            cause += ", or it reads the texts in another format"
        cause += "."
        tries = [Remedy("set its precision to fp32, without quantization", {}), *tries]
    evidence = "; ".join(item.in_words() for item in gaps)
    return Evidence(worst(red=misread, amber=rounded), [1], f"{evidence}.", (*tries,), cause)


def clipping(records: Records) -> Evidence:
    if not methods.METHODS[records.config.method].on_policy:
        raise NotMeasured("It applies to methods that clip.")
    at, values = records.at, records.needed("clip_fraction")
    ratio = ""
    if records.values("ratio_max"):
        ratio = f", largest ratio {records.now('ratio_max'):.3g}"
    evidence = f"{records.now('clip_fraction'):.0%} clipped{ratio} (mean of the newest updates)."
    epochs = max(1, records.config.ppo.num_epochs // 2)
    tries: Remedies = (records.slower(), Remedy("train fewer epochs on each batch", {"ppo.num_epochs": epochs}))
    if records.setting("ppo.clip_range") > USUAL_CLIP:
        tries += (Remedy("set the clip range to 0.2", {"ppo.clip_range": USUAL_CLIP}, live=True),)
    if leaps := trend(records.values("ratio_max"), lambda value: value > at.ratio):
        return Evidence("red", leaps, evidence, tries)
    return Evidence(*graded(values, at.clip_amber, at.clip_red), evidence, tries)


def value_fit(records: Records) -> Evidence:
    if records.config.method != "ppo" or records.config.ppo.baseline != "value":
        raise NotMeasured("This method has no critic.")
    values = records.needed("explained_variance", records.at.settled)
    evidence = f"Explained variance {records.now('explained_variance'):z.2f}."
    if all(abs(value) < NOTHING for _, value in records.values("explained_variance")):
        cause = "The value head is not trained: is it in the optimizer?"
        return Evidence("red", [update for update, _ in values], evidence, cause=cause)
    updates = trend(values, lambda value: value <= 0.01)
    choice = records.begins("entropy") * records.begins("completion_length")
    if updates and 0 < choice < records.at.choice:
        reason = "few of its tokens decide what a text earns, and those before them cannot tell it"
        return quiet(
            f"{evidence} That is usual where there is little to choose ({choice:.1f} nats in a text): {reason}."
        )
    vary = records.now("score_std") >= 0.75 * records.begins("score_std")
    changes = {"ppo.value_coef": 2 * records.config.ppo.value_coef}
    tries = (Remedy("double the weight of the value loss", changes), records.slower())
    return Evidence(worst(amber=updates and vary), updates, evidence, tries)


def gradient(records: Records) -> Evidence:
    warnings = [event for event in records.events if event.kind == "warning"]
    skipped = sorted({event.update for event in warnings if event.data.get("skipped")})
    values = records.values("grad_norm")
    if not values and not skipped:
        raise NotMeasured("The gradients are not recorded, or not yet.")
    sizes = sorted(value for _, value in values) or [0.0]
    middle = sizes[len(sizes) // 2]
    spikes = [update for update, value in values if middle and value > records.at.gradient * middle]
    largest = sizes[-1] if values else math.nan
    passed = ""
    if records.events:
        passed = f"; {len(skipped)} updates skipped"
    evidence = f"Median {middle:.2g}, largest {largest:.2g}{passed}."
    tries = (records.scaled("ppo.learning_rate", 0.1), Remedy("clip scores at 5 sd", {"score.clip": 5.0}))
    return Evidence(worst(red=skipped, amber=spikes), skipped or spikes, evidence, tries)

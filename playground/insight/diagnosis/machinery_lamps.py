"""Lamps of the arithmetic: is what is computed what it is said to be, and are the steps sound?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from playground.config import RunConfig, methods
from playground.insight.diagnosis.lamp import TEN, WINDOW, Lamp, Records, Remedy, graded, meant, trend, without
from playground.rewards.agreement import students_t
from playground.runs.folder.records import REFERENCE, REWARD_MODELS, UpdateMetrics

NOTHING = 1e-3
USUAL_CLIP = 0.2
WITHOUT_CRITIC = {f"ppo.{name}": value for name, value in methods.METHODS["rloo"].ppo.items()}


def books(records: Records) -> Lamp:
    name, label = "books", "The books do not balance"
    rule = "What the tokens of a completion are paid, summed, is its score less beta times its KL (to 1 %)."
    found = [(item.update, item.reward_paid, owed) for item in records.metrics if (owed := _owed(item, records.config))]
    gaps = [(update, paid - owed[0]) for update, paid, owed in found if paid is not None]
    if not gaps:
        return without(name, label, rule, "This engine does not record it.")
    size = {update: owed[1] for update, _, owed in found}
    updates = trend([(update, abs(gap) / size[update]) for update, gap in gaps], lambda share: share > 0.01)
    evidence = f"The gap of the newest update is {gaps[-1][1]:+z.3g} sd."
    if not updates:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "The score is paid more than once (on every token instead of the last), or the leash is not what it says."
    return Lamp(name, label, "red", rule, updates, evidence, cause, (), "penalised_reward")


def _owed(item: UpdateMetrics, config: RunConfig) -> tuple[float, float] | None:
    """What a completion should be paid on average, and a size to compare a gap with."""
    kl = item.kl_to_reference if config.kl.estimator == "k1" else item.kl_estimates.get(config.kl.estimator)
    if item.score_mean is None or kl is None:
        return None
    cost = item.kl_coef * kl
    return item.score_mean - cost, max(abs(item.score_mean), abs(cost), 0.1)


def kl_disagrees(records: Records) -> Lamp:
    name, label = "kl-disagrees", "Two measures of one KL disagree"
    rule = (
        "Over the newest twenty updates, of ten at least, the sampled KL (k1) and the exact KL of the same positions "
        "differ by more than four standard errors, which the spread of their completions gives, and by a tenth."
    )
    newest = records.metrics[-2 * TEN :]  # a KL that grows is more uncertain with every update
    found = _gap(
        [(item.update, item.kl_estimates.get("k1"), item.kl_estimates.get("full")) for item in newest],
        [item.kl_spreads.get("k1") for item in newest],
        records.config.ppo.batch_size,
    )
    if found is None or not methods.METHODS[records.config.method].on_policy:
        return without(name, label, rule, "It takes ten updates of this project's own PPO.")
    gap, exact = found.gap, found.usual
    evidence = f"k1 says {gap + exact:.2f} nats, the exact KL {exact:.2f}; the gap is {gap:+z.2f} ± {found.half:.2f}."
    if abs(gap) <= found.sure or abs(gap) <= 0.1 * abs(exact):
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = (
        "The log-probabilities that the leash is made of are not those of the completion as it was sampled: prompt "
        "tokens are counted, or a mask or temperature is wrong."
    )
    return Lamp(name, label, "red", rule, found.updates, evidence, cause, (), "kl_to_reference")


class Gap(NamedTuple):
    """By how much one figure was above another over some newest updates, and the mean of the other. `half` of a
    95 % interval; by `sure`, which is four standard errors, it is not off by chance."""

    updates: list[int]
    gap: float
    usual: float
    half: float
    sure: float


def _gap(
    figures: Sequence[tuple[int, float | None, float | None]],
    spreads: Sequence[float | None] = (),
    completions: int = 0,
) -> Gap | None:
    """Of two figures of the newest updates, ten or as many as there are `spreads`; None where one is not known.

    Args:
        spreads: the standard deviation of the first figure between the completions of each of the newest updates, which
            is nearly that of the gap. Where they are not known the spread of the gap between the updates of
            `figures` stands in, with Student's t. completions: of an update.
    """
    known = [(update, one - other, other) for update, one, other in figures if one is not None and other is not None]
    count = max(TEN, len(spreads))
    if len(known) < count or [item[0] for item in known[-count:]] != [item[0] for item in figures[-count:]]:
        return None
    updates, gaps, others = zip(*known[-count:], strict=True)
    variances = [spread * spread for spread in spreads if spread]
    if len(variances) == count and completions > 1:
        error, four, two = math.sqrt(fmean(variances) / (completions - 1) / count), 4.0, 2.0
    else:
        error, degrees = stdev(gap for _, gap, _ in known) / math.sqrt(count), len(known) - 1
        four, two = students_t(4.0, degrees), students_t(2.0, degrees)
    return Gap(list(updates), fmean(gaps), fmean(others), two * error, four * error)


def not_drawn(records: Records) -> Lamp:
    name, label = "not-drawn", "The texts are not drawn from the policy"
    rule = (
        "Over the newest ten updates the mean surprisal of the sampled tokens differs from the entropy of the policy, "
        "which it is on average, by more than four standard errors, which the spread between all updates gives, and by "
        "a twentieth."
    )
    found = _gap([(item.update, item.surprisal, item.entropy) for item in records.metrics])
    if found is None:
        return without(name, label, rule, "It takes ten updates of this project's own PPO.")
    gap, usual = found.gap, found.usual
    evidence = (
        f"Surprisal {gap + usual:.3f}, entropy {usual:.3f} nats a token; the gap is {gap:+z.3f} ± {found.half:.3f}."
    )
    if abs(gap) <= found.sure or abs(gap) <= 0.05 * usual:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = (
        "The log-probabilities are not those of the distribution that was sampled from: another temperature, top k, or "
        "another model. Ratios and KL mean nothing then."
    )
    tries = (Remedy("sample at temperature 1, without top k and top p", SAMPLED_AS_IT_IS),)
    return Lamp(name, label, "red", rule, found.updates, evidence, cause, tries, "entropy")


SAMPLED_AS_IT_IS = {"sampling.temperature": 1.0, "sampling.top_k": None, "sampling.top_p": None}


def kl_negative(records: Records) -> Lamp:
    name, label, at = "kl-negative", "The KL is below zero", records.at
    rule = f"The mean log-ratio to the reference is below {-at.kl_negative:g} nats per completion in a trend."
    values = records.values("kl_to_reference")
    if len(values) < WINDOW:
        return without(name, label, rule, f"It takes {WINDOW} updates.")
    updates = trend(values, lambda value: value < -at.kl_negative)
    evidence = f"Mean of the newest updates: {records.now('kl_to_reference'):.2f} nats."
    if not updates:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = (
        "A KL cannot be negative: the log-probabilities are not those of the distribution that was sampled from "
        "(another temperature, top-k, or a mask), and the policy is paid for the difference."
    )
    tries = (Remedy("sample at temperature 1, without top k and top p", SAMPLED_AS_IT_IS),)
    return Lamp(name, label, "red", rule, updates, evidence, cause, tries, "kl_to_reference")


def reference(records: Records) -> Lamp:
    name, label = "reference-changed", "The reference is not what it was"
    rule = "The fingerprint of the reference's weights, taken before training and at the end, is the same."
    found = [(event.update, str(event.data.get("fingerprint"))) for event in records.events if event.kind == REFERENCE]
    if len(found) < 2:
        return without(name, label, rule, "It takes the fingerprint at the end of the run.")
    changed = [update for update, digest in found if digest != found[0][1]]
    evidence = f"{found[0][1]} before training, {found[-1][1]} after update {found[-1][0]}."
    if not changed:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = (
        "The reference was trained along with the policy, so the KL between them says nothing and the leash is none."
    )
    return Lamp(name, label, "red", rule, changed, evidence, cause, (), "kl_to_reference")


def reward_read(records: Records) -> Lamp:
    name, label, at = "reward-misread", "A reward model is misread", records.at
    rule = (
        "What a reward model scores the examples that it brings is what it scored them when it was trained, to "
        f"{at.misread:g} of its standard deviations."
    )
    said = [event.data.get("reward_models") for event in records.events if event.kind == REWARD_MODELS]
    told = [item for item in (said[-1] if said and isinstance(said[-1], list) else ()) if isinstance(item, dict)]
    known = {str(item.get("source")): item.get("misreading") for item in told}
    gaps = {source: float(gap) for source, gap in known.items() if isinstance(gap, (int, float))}
    if not gaps:
        return without(name, label, rule, "No reward model of this run brings examples; test it on the Rewards page.")
    evidence = "; ".join(f"{source} is off by {gap:.2g} sd" for source, gap in gaps.items()) + "."
    if max(gaps.values()) <= at.misread:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "It gets the texts in another form than it was trained on, so its score means little."
    tries = (Remedy("set its template to auto", {}), Remedy("test the reward on the Rewards page", {}))
    return Lamp(name, label, "red", rule, [1], evidence, cause, tries, "score_mean")


def clipping(records: Records) -> Lamp:
    name, label, at = "clipping", "The steps are too bold", records.at
    rule = (
        f"More than {at.clip_amber:.0%} of the tokens are clipped (red: {at.clip_red:.0%}), or a probability ratio "
        f"above {at.ratio:g} occurs."
    )
    values = records.values("clip_fraction")
    if len(values) < WINDOW or not methods.METHODS[records.config.method].on_policy:
        return without(name, label, rule, "It is of methods that clip, after five updates.")
    state, updates = graded(values, lambda value: value > at.clip_amber, lambda value: value > at.clip_red)
    leaps = trend(records.values("ratio_max"), lambda value: value > at.ratio)
    if leaps:
        state, updates = "red", leaps
    evidence = (
        f"{records.now('clip_fraction'):.0%} clipped, largest ratio {records.now('ratio_max') or math.nan:.3g} (means "
        "of the newest updates)."
    )
    if state == "quiet":
        return Lamp(name, label, state, rule, [], evidence)
    cause = "One update moves the policy far from what it sampled, so most of what it learns from no longer holds."
    tries: tuple[Remedy, ...] = (
        records.milder("ppo.learning_rate", 1 / 3),
        Remedy("learn fewer epochs from a batch", {"ppo.num_epochs": max(1, records.config.ppo.num_epochs // 2)}),
    )
    if records.setting("ppo.clip_range") > USUAL_CLIP:
        tries = (*tries, Remedy("set the clip range to 0.2", {"ppo.clip_range": USUAL_CLIP}, live=True))
    lamp = Lamp(name, label, state, rule, updates, evidence, cause, tries, "clip_fraction")
    clip = [change for change in records.changes if change.field == "ppo.clip_range"]
    return meant(lamp, clip[-1]) if clip and clip[-1].new < clip[-1].old and not leaps else lamp


def value_fit(records: Records) -> Lamp:
    name, label, at = "value-fit", "The critic tells nothing", records.at
    rule = (
        f"After {at.settled:g} updates the critic explains none of the variance of the returns (0 or less), while the "
        "scores still vary (red: it has explained exactly nothing from the start, so it says the same of all tokens)."
    )
    config = records.config
    if config.method != "ppo" or config.ppo.baseline != "value":
        return without(name, label, rule, "This method has no critic.")
    values = [item for item in records.values("explained_variance") if item[0] > at.settled]
    if len(values) < WINDOW:
        return without(name, label, rule, f"It takes {WINDOW} updates after update {at.settled:g}.")
    evidence = f"Explained variance {records.now('explained_variance'):.2f}."
    if all(abs(value) < NOTHING for _, value in records.values("explained_variance")):
        cause = "The value head is not trained: is it in the optimizer?"
        return Lamp(
            name, label, "red", rule, [update for update, _ in values], evidence, cause, (), "explained_variance"
        )
    updates = trend(values, lambda value: value <= 0.01)
    begins, now = records.begins("score_std") or 0.0, records.now("score_std") or 0.0
    if not updates or now < 0.75 * begins:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "What a text will earn cannot be read off its beginning, or the policy moves faster than the critic learns."
    tries = (
        Remedy("double the weight of the value loss", {"ppo.value_coef": 2 * config.ppo.value_coef}),
        records.milder("ppo.learning_rate", 1 / 3),
        Remedy("go without a critic (RLOO)", {"method": "rloo", **WITHOUT_CRITIC}),
    )
    return Lamp(name, label, "amber", rule, updates, evidence, cause, tries, "explained_variance")


def gradient(records: Records) -> Lamp:
    name, label, at = "gradient", "Gradients explode", records.at
    rule = (
        f"An update was skipped because something was not finite, or a gradient was {at.gradient:g} times the median."
    )
    skipped = sorted({
        event.update + 1 for event in records.events
        if event.kind == "warning" and ("was skipped" in event.message or "Nothing was learned" in event.message)
    })  # fmt: skip
    values = sorted(value for _, value in records.values("grad_norm"))
    median = values[len(values) // 2] if values else 0.0
    spikes = [update for update, value in records.values("grad_norm") if median and value > at.gradient * median]
    if not values and not skipped:
        return without(name, label, rule, "The gradients are not recorded, or not yet.")
    evidence = f"Median {median:.2g}, largest {values[-1] if values else math.nan:.2g}; {len(skipped)} updates skipped."
    if not skipped and not spikes:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "Steps so large, or rewards so extreme, that the arithmetic leaves the finite numbers."
    tries = (records.milder("ppo.learning_rate", 0.1), Remedy("cut scores off beyond 5 sd", {"score.clip": 5.0}))
    return Lamp(
        name, label, "red" if skipped else "amber", rule, skipped or spikes, evidence, cause, tries, "grad_norm"
    )

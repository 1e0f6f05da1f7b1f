"""Lamps of how far the policy has gone, and what has become of its texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from playground.insight.diagnosis.lamp import (
    TEN,
    WINDOW,
    Lamp,
    Records,
    Remedy,
    graded,
    since_the_beginning,
    trend,
    without,
)
from playground.rewards.rules import repeated_share
from playground.runs.folder.records import EDIT, Sample


def kl(records: Records) -> Lamp:
    name, label, at = "kl-runaway", "The KL runs away", records.at
    rule = (
        f"The KL of a completion is more than {at.kl_amber:.0%} of the entropy of the reference's own texts (red: "
        f"{at.kl_red:.0%}), or, with an adaptive leash, twice its target, and the reference's perplexity of the texts "
        f"is more than {at.rise:g} times that of the first update."
    )
    entropy, length = records.begins("entropy"), records.begins("completion_length")
    values, perplexity = records.values("kl_to_reference"), records.values("perplexity_reference")
    if not entropy or not length or not perplexity or len(values) < WINDOW:
        return without(name, label, rule, "It takes the entropy of the policy, the perplexity, and five updates.")
    whole, values = entropy * length, records.where_stranger(values)
    state, updates = graded(values, lambda value: value > at.kl_amber * whole, lambda value: value > at.kl_red * whole)
    target = records.config.kl.target
    if state == "quiet" and records.config.kl.moves and records.updates >= at.settled:
        updates = trend(values, lambda value: value > 2 * target)
        state = "amber" if updates else "quiet"
    first, now = perplexity[0][1], records.now("perplexity_reference") or 0.0
    evidence = (
        f"{records.now('kl_to_reference'):.1f} nats; the reference's own texts have {whole:.1f} nats of entropy. "
    )
    evidence += f"Its perplexity of the texts was {first:,.1f} at first and is {now:,.1f}."
    if state == "quiet":
        return Lamp(name, label, state, rule, [], evidence)
    cause = "The reward pays more for drift than the leash costs: "
    if now > at.strange_amber * first:
        cause += "texts become such as the reference would never write."
    else:
        cause += "the reference finds the texts stranger than its own."
    tries: tuple[Remedy, ...] = (records.more_leash(), records.milder("ppo.learning_rate", 1 / 3))
    if not records.config.kl.moves:
        adaptive = {"kl.controller": "adaptive", "kl.coef": records.config.kl.coef or 0.25}  # from 0 it cannot move
        tries = (*tries, Remedy("use an adaptive leash", adaptive))
    return Lamp(name, label, state, rule, updates, evidence, cause, tries, "kl_to_reference")


def leash(records: Records) -> Lamp:
    name, label, at = "leash-off-target", "The adaptive leash misses its target", records.at
    rule = (
        f"After {at.settled:g} updates the KL is off its target by more than half of it in a trend (red: Ziegler's "
        f"leash has moved beta by more than a factor of {at.swing:g} within {TEN} updates)."
    )
    ziegler = records.config.kl.controller == "ziegler"
    if not records.config.kl.moves:
        return without(name, label, rule, "The leash is fixed.")
    values = [item for item in records.values("kl_to_reference") if item[0] > at.settled]
    betas, by_hand = records.values("kl_coef"), any(event.kind == EDIT for event in records.events)
    swings = _swings(betas, at.swing) if ziegler and not by_hand else []
    if len(values) < WINDOW and not swings:
        return without(name, label, rule, f"It takes {WINDOW} updates after update {at.settled:g}.")
    target = records.config.kl.target
    updates = swings or trend(values, lambda value: abs(value / target - 1) > 0.5)
    evidence = (
        f"{records.now('kl_to_reference'):.2f} nats with a target of {target:g}; beta {records.now('kl_coef'):.3g}, "
        f"{min(beta for _, beta in betas):.3g} to {max(beta for _, beta in betas):.3g} so far."
    )
    if not updates:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "Beta is too far from where it must be and moves too slowly, or moves so fast that both swing."
    tries: tuple[Remedy, ...] = (Remedy("start with another beta", {"kl.coef": records.metrics[-1].kl_coef}),)
    if ziegler:
        tries = (
            *tries,
            Remedy("set the horizon to 288 episodes", {"kl.horizon": 288}),
            Remedy("use the leash that looks ahead", {"kl.controller": "adaptive"}),
        )
    if swings:
        cause = "Beta overshoots: its steps are not bounded."
        tries = ()
    return Lamp(name, label, "red" if swings else "amber", rule, updates, evidence, cause, tries, "kl_to_reference")


def _swings(betas: Sequence[tuple[int, float]], most: float) -> list[int]:
    """The updates at which the largest beta of ten updates is more than `most` times the smallest."""
    found = []
    for place in range(1, len(betas)):
        ten = [beta for _, beta in betas[max(0, place - TEN + 1) : place + 1]]
        if max(ten) > most * min(ten) > 0:
            found.append(betas[place][0])
    return found


def entropy(records: Records) -> Lamp:
    at = records.at
    rule = (
        f"The entropy is below {at.entropy_amber:.0%} of that of the first updates (red: {at.entropy_red:.0%}), and "
        f"the reference's perplexity of the texts is more than {at.rise:g} times that of the first update."
    )
    why = "The entropy of the policy or the perplexity is not recorded, or not over five updates yet."
    cause = "The policy hardly varies any more, and what it is certain of is not what the reference would write."
    lamp = Lamp(
        "entropy-gone",
        "The policy has become certain",
        "quiet",
        rule,
        [],
        why,
        cause,
        _more_variety(records),
        "entropy",
    )
    if not records.values("perplexity_reference"):
        return without(lamp.name, lamp.label, rule, why)
    return since_the_beginning(
        records, lamp, lambda share: share < at.entropy_amber, lambda share: share < at.entropy_red,
        ".2f nats a token", records.where_stranger,
    )  # fmt: skip


def variety(records: Records) -> Lamp:
    at = records.at
    rule = (
        f"The share of different word pairs in a batch is below {at.variety_amber:.0%} of that of the first updates "
        f"(red: {at.variety_red:.0%})."
    )
    why = f"It takes {WINDOW} updates."
    cause = "The policy has settled on a few phrases that the reward likes (mode collapse)."
    lamp = Lamp(
        "same-text", "The texts are all alike", "quiet", rule, [], why, cause, _more_variety(records), "distinct_2"
    )
    return since_the_beginning(
        records, lamp, lambda share: share < at.variety_amber, lambda share: share < at.variety_red
    )


def strange(records: Records) -> Lamp:
    at = records.at
    rule = (
        f"The reference's perplexity of the completions is {at.strange_amber:g} times that of the first updates (red: "
        f"{at.strange_red:g} times)."
    )
    why = "It is not recorded, or not over five updates yet."
    cause = "The policy has left the language of the reference; its score is earned with texts that nobody would write."
    lamp = Lamp(
        "strange-texts", "The reference finds the texts strange", "quiet", rule, [], why, cause,
        (records.more_leash(),), "perplexity_reference",
    )  # fmt: skip
    return since_the_beginning(
        records, lamp, lambda factor: factor > at.strange_amber, lambda factor: factor > at.strange_red, ",.1f"
    )


def _more_variety(records: Records) -> tuple[Remedy, ...]:
    return records.more_leash(), records.more_entropy()


def length(records: Records) -> Lamp:
    name, label, at = "length", "The length drifts", records.at
    rule = (
        f"Completions are {at.length:g} times as long or as short as at first, or more than {at.cut_off:.0%} of them "
        "are cut off."
    )
    begins, values = records.begins("completion_length"), records.values("completion_length")
    if not begins or len(values) < WINDOW:
        return without(name, label, rule, f"It takes {WINDOW} updates.")
    updates = trend(values, lambda value: not (begins < value * at.length and value < begins * at.length))
    cut = trend(records.values("eos_fraction"), lambda value: value < 1 - at.cut_off)
    cut = cut if (records.begins("eos_fraction") or 0.0) >= 1 - at.cut_off else []
    evidence = (
        f"{begins:.1f} tokens at first, {records.now('completion_length'):.1f} now; "
        f"{records.now('eos_fraction') or 0.0:.0%} end by themselves."
    )
    if not updates and not cut:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "Length pays: every token more, or less, brings reward, whatever it says."
    tries = (
        Remedy("make not ending cost 1 sd", {"sampling.missing_eos_penalty": 1.0}), records.more_leash(),
    )  # fmt: skip
    return Lamp(
        name, label, "red" if cut else "amber", rule, cut or updates, evidence, cause, tries, "completion_length"
    )


def repetition(records: Records) -> Lamp:
    name, label, at = "repetition", "The texts repeat themselves", records.at
    rule = (
        f"More than {at.repeated:.0%} of the word pairs of a completion have occurred in it before, at the newest look."
    )
    looks = _by_look(records.samples)
    if not looks:
        return without(name, label, rule, "There has been no look at the fixed prompts yet.")
    shares = {update: fmean(repeated_share(item.completion) for item in items) for update, items in looks.items()}
    first, last = next(iter(shares.values())), list(shares.values())[-1]
    bad = [update for update, share in shares.items() if share > at.repeated]
    evidence = f"{first:.0%} before training, {last:.0%} at the newest look."
    if last <= at.repeated or first > at.repeated:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "One phrase pays, so it is said again and again."
    tries = (
        records.more_leash(), Remedy("punish repetition", {"rewards+": {"kind": "repetition", "weight": -1.0}}),
    )  # fmt: skip
    return Lamp(name, label, "red", rule, bad, evidence, cause, tries, "distinct_2")


def _by_look(samples: Sequence[Sample]) -> Mapping[int, list[Sample]]:
    found: dict[int, list[Sample]] = defaultdict(list)
    for item in sorted(samples, key=lambda item: item.update):
        found[item.update].append(item)
    return found

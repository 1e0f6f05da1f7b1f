"""Checks of how far the policy has gone, and of what has become of its texts."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean

from playground.analysis.diagnosis.alert import TEN, Evidence, Remedies, graded, quiet, trend
from playground.analysis.diagnosis.run_records import NotMeasured, Records, Remedy, Values
from playground.rewards.rules import repeated_share
from playground.runs.folder.records import EDIT


def kl_runaway(records: Records) -> Evidence:
    at, kl = records.at, records.config.kl
    values, perplexity = records.needed("kl_to_reference"), records.needed("perplexity_reference")
    records.needed("entropy")
    whole, values = records.begins("entropy") * records.begins("completion_length"), records.where_stranger(values)
    state, updates = graded(values, at.kl_amber * whole, at.kl_red * whole)
    if state == "quiet" and kl.moves and records.updates >= at.settled:
        updates = trend(values, lambda value: value > 2 * kl.target)
        state = "amber" if updates else "quiet"
    first, now = perplexity[0][1], records.now("perplexity_reference")
    evidence = (
        f"{records.now('kl_to_reference'):.1f} nats; the reference's own texts have {whole:.1f} nats of entropy. Its "
        f"perplexity of the texts was {first:,.1f} at first and is {now:,.1f}."
    )
    tries: Remedies = (records.more_penalty(), records.slower())
    if not kl.moves:
        adaptive = {"kl.controller": "adaptive", "kl.coef": kl.coef or 0.25}  # from 0 it cannot move
        tries += (Remedy("use an adaptive leash", adaptive),)
    return Evidence(state, updates, evidence, tries)


def leash_off_target(records: Records) -> Evidence:
    kl = records.config.kl
    if not kl.moves:
        raise NotMeasured("The leash is fixed.")
    betas, by_hand = records.values("kl_coef"), any(event.kind == EDIT for event in records.events)
    swings = _swings(betas, records.at.swing) if kl.controller == "ziegler" and not by_hand else []
    values = records.values("kl_to_reference") if swings else records.needed("kl_to_reference", records.at.settled)
    lowest, highest = min(beta for _, beta in betas), max(beta for _, beta in betas)
    evidence = (
        f"{records.now('kl_to_reference'):.2f} nats with a target of {kl.target:g}; beta {records.now('kl_coef'):.3g}, "
        f"{lowest:.3g} to {highest:.3g} so far."
    )
    if swings:
        return Evidence("red", swings, evidence, cause="Beta overshoots: its steps are not bounded.")
    tries: Remedies = (Remedy("start with another beta", {"kl.coef": records.metrics[-1].kl_coef}),)
    if kl.controller == "ziegler":
        tries += (Remedy("set the horizon to 288 episodes", {"kl.horizon": 288}),)
        tries += (Remedy("use the leash that looks ahead", {"kl.controller": "adaptive"}),)
    updates = trend(values, lambda value: abs(value / kl.target - 1) > 0.5)
    return Evidence("amber" if updates else "quiet", updates, evidence, tries)


def _swings(betas: Sequence[tuple[int, float]], most: float) -> list[int]:
    """The updates at which the largest beta of ten updates is more than `most` times the smallest."""
    found = []
    for place in range(1, len(betas)):
        ten = [beta for _, beta in betas[max(0, place - TEN + 1) : place + 1]]
        if max(ten) > most * min(ten) > 0:
            found.append(betas[place][0])
    return found


def _since_first(
    records: Records,
    series: str,
    limit: str,
    *,
    values: Values | None = None,
    form: str = ".2f",
    beyond: Callable[[float, float], bool] = operator.lt,
) -> Evidence:
    """Of a figure as a share of its first updates, against the thresholds `limit`_amber and `limit`_red.

    Args:
        values: by which it may be lit. form: how the figure is written, with its unit.
    """
    known, begins = records.needed(series), records.begins(series) or 1.0
    amber, red = (getattr(records.at, f"{limit}_{level}") for level in ("amber", "red"))
    state, updates = graded([(update, value / begins) for update, value in values or known], amber, red, beyond)
    spec, _, unit = form.partition(" ")
    evidence = f"{begins:{spec}}{f' {unit}' if unit else ''} at first, {records.now(series):{spec}} now."
    return Evidence(state, updates, evidence, (records.more_penalty(), records.more_entropy()))


def entropy_gone(records: Records) -> Evidence:
    records.needed("perplexity_reference")
    values = records.where_stranger(records.needed("entropy"))
    return _since_first(records, "entropy", "entropy", values=values, form=".2f nats a token")


def same_text(records: Records) -> Evidence:
    return _since_first(records, "distinct_2", "variety")


def strange_texts(records: Records) -> Evidence:
    seen = _since_first(records, "perplexity_reference", "strange", form=",.1f", beyond=operator.gt)
    return seen._replace(remedies=seen.remedies[:1])


def length(records: Records) -> Evidence:
    at, values, begins = records.at, records.needed("completion_length"), records.begins("completion_length")
    updates = trend(values, lambda value: not (begins < value * at.length and value < begins * at.length))
    cut = trend(records.values("eos_fraction"), lambda value: value < 1 - at.cut_off)
    cut = cut if records.begins("eos_fraction") >= 1 - at.cut_off else []
    evidence = (
        f"{begins:.1f} tokens at first, {records.now('completion_length'):.1f} now; "
        f"{records.now('eos_fraction'):.0%} end by themselves."
    )
    tries = (Remedy("make not ending cost 1 sd", {"sampling.missing_eos_penalty": 1.0}), records.more_penalty())
    return Evidence("red" if cut else "amber" if updates else "quiet", cut or updates, evidence, tries)


def repetition(records: Records) -> Evidence:
    texts: dict[int, list[str]] = defaultdict(list)
    for item in sorted(records.samples, key=lambda item: item.update):
        texts[item.update].append(item.completion)
    if not texts:
        raise NotMeasured("The fixed prompts have not been answered yet.")
    shares = {update: fmean(map(repeated_share, some)) for update, some in texts.items()}
    first, last = shares[min(shares)], shares[max(shares)]
    bad = [update for update, share in shares.items() if share > records.at.repeated]
    evidence = f"{first:.0%} before training, {last:.0%} at the newest evaluation."
    if not first <= records.at.repeated < last:
        return quiet(evidence)
    less = Remedy("punish repetition", {"rewards+": {"kind": "repetition", "weight": -1.0}})
    return Evidence("red", bad, evidence, (records.more_penalty(), less))

"""Checks of the aim of a run (does the score rise, and stay?), of how far the policy goes, and of its texts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from statistics import fmean

from playground.analysis import judging
from playground.analysis.before_after import Outcome
from playground.analysis.diagnosis.alert import (
    TEN,
    TEST_REWARD,
    Evidence,
    Remedies,
    State,
    graded,
    meant,
    quiet,
    trend,
    worst,
)
from playground.analysis.diagnosis.run_records import WINDOW, NotMeasured, Records, Remedy, Values
from playground.analysis.intervals import FEW_PROMPTS
from playground.rewards.rules import repeated_share
from playground.runs.folder.records import EDIT

LEAST_SPREAD = 1e-6  # of scores; below it they are the same but for rounding
MOSTLY_RIGHT = 0.9  # of the answers, where there is little left to learn
SEEN = 1 + 0.842 / 1.96  # half of a 95 % interval -> the change that lies outside of it 8 times in 10


def flat(records: Records) -> Evidence:
    outcome = records.outcome
    if outcome is None or records.updates < records.at.settled:
        raise NotMeasured(f"It needs an evaluation after update {records.at.settled:g}.")
    evidence = _changed(outcome)
    if outcome.low > 0 or outcome.high < 0:
        return quiet(evidence)
    if not math.isnan(outcome.low):
        evidence = (
            f"{evidence[:-1]}, which cannot be told from chance on these prompts; a change of "
            f"{SEEN * (outcome.high - outcome.gain):.2f} or more would have been seen in 8 of 10 such runs."
        )
    if restraint := records.held_back():
        return meant(evidence, restraint)
    if outcome.num_prompts < FEW_PROMPTS and not outcome.these_prompts:
        raise NotMeasured(
            f"{outcome.num_prompts} prompts, each answered once, cannot tell a gain from chance: with so few set "
            "evaluation.samples_per_prompt to 8 or more."
        )
    return Evidence("amber", records.newest, evidence, *_why_flat(records, outcome.gain))


def _why_flat(records: Records, gain: float) -> tuple[Remedies, str]:
    """What to try, and the likely cause."""
    if records.begins("score_std") < LEAST_SPREAD:
        return (TEST_REWARD,), "The reward gives every text the same value, so there is nothing to prefer."
    if records.now("kl_to_reference") < 0.1:
        tries: Remedies = (records.scaled("ppo.learning_rate", 3.0),)
        if records.setting("kl.coef"):
            tries = (records.scaled("kl.coef", 0.25), *tries)
        cause = "the leash is too tight for what the reward pays, or the learning rate too low."
        return tries, f"The policy has hardly left the reference: {cause}"
    if gain > 0:
        longer_run = Remedy("train for more updates, or evaluate more fixed prompts (evaluation.num_prompts)", {})
        cause = "the gain is smaller than these prompts can tell from chance: they are too few, or it has only begun."
        return (longer_run,), f"If the policy improves, {cause}"
    cause = "The policy moves, but not towards more reward: the reward may be misread, or have the wrong sign."
    return (TEST_REWARD,), cause


def hardly_moves(records: Records) -> Evidence:
    """Not where little KL has brought a gain, nor where the leash would let it go no further: the optimum for a score
    with a normal distribution is at sd^2 / (2 beta^2) nats."""
    if not records.config.reads("ppo.learning_rate"):
        raise NotMeasured("It is of methods that train.")
    if records.config.kind == "watched":
        raise NotMeasured("It needs scores in standard deviations of the untrained model's texts.")
    if records.updates < records.at.settled:
        raise NotMeasured(f"It needs {records.at.settled:g} updates.")
    values, beta, outcome = records.needed("kl_to_reference"), records.setting("kl.coef"), records.outcome
    evidence = f"{records.now('kl_to_reference'):z.2f} nats after {records.updates} updates."
    spread = records.begins("score_std")
    most = math.inf
    if records.config.kl.moves:
        most = records.config.kl.target / 2
    if beta:
        most = min(most, (spread / beta) ** 2 / 4)
    updates = trend(values, lambda value: -records.at.kl_negative <= value < min(records.at.moved, most))
    if not spread > 0 or (outcome and not outcome.low <= 0) or not updates:
        return quiet(evidence)
    if restraint := records.held_back():
        return meant(evidence, restraint)
    return Evidence("amber", updates, evidence, (records.scaled("ppo.learning_rate", 3.0),))


def wrong_way(records: Records) -> Evidence:
    outcome = records.outcome
    if outcome is None:
        raise NotMeasured("It needs an evaluation after training has begun.")
    tries = (Remedy("check on the Rewards page that the better text scores higher", {}), records.slower())
    return Evidence(worst(red=outcome.high < 0), records.newest, _changed(outcome), tries)


def _changed(outcome: Outcome) -> str:
    if math.isnan(outcome.low):
        return f"{outcome.same} of {outcome.answers} answers score the same."
    return f"The score changed by {outcome.gain:+z.2f} ({outcome.low:+z.2f} to {outcome.high:+z.2f})."


def fell_back(records: Records) -> Evidence:
    evaluated = sorted({item.update for item in records.samples})
    if len(evaluated) < 3:
        raise NotMeasured("It needs three evaluations.")
    top_and_fall = judging.fall_from_the_top(records.samples)
    if top_and_fall is None:
        return quiet("The newest evaluation is not below the best one by more than chance.")
    top, fall = top_and_fall
    evidence = f"It was highest after update {top} and has fallen by {-fall.mean:.2f} ± {fall.half:.2f} since."
    if restraint := records.held_back(since=max((update for update in evaluated if update < top), default=0)):
        return meant(evidence, restraint)
    since = [update for update in evaluated if update > top]
    back = Remedy(f"go back to update {top}", {"fork_at": top})
    betas, kl = dict(records.values("kl_coef")), dict(records.values("kl_to_reference"))
    first, last = betas.get(top, math.inf), betas.get(records.updates, 0.0)
    if last > first and records.config.kl.moves:
        return quiet(f"{evidence} The leash has pulled it back: beta has risen from {first:.3g} to {last:.3g} since.")
    if not last > first or not records.now("kl_to_reference") < kl.get(top, 0.0):
        return Evidence("red", since, evidence, (back, records.slower(), records.more_penalty()))
    cause = f"Beta has risen from {first:.3g} to {last:.3g} since and holds the policy closer to the reference, which "
    cause += "costs score."
    return Evidence("red", since, evidence, (back, records.scaled("kl.target", 2.0)), cause)


def no_spread(records: Records) -> Evidence:
    at, values, begins = records.at, records.needed("score_std"), records.begins("score_std")
    now = records.now("score_std")
    before, is_left = (f"{value:.3g}" if value > LEAST_SPREAD else "0" for value in (begins, now))
    evidence = f"The standard deviation was {before} and is {is_left}."
    if begins < LEAST_SPREAD:
        updates = [update for update, _ in values[-WINDOW:]]
        if records.values("answers_right") and records.begins("answers_right") < LEAST_SPREAD:
            cause = "No answer is right: the prompts are too hard for this model, or it does not keep to the form."
            tries = (Remedy("take easier prompts, or examples above them", {}), TEST_REWARD)
            return Evidence("red", updates, evidence, tries, cause)
        cause = "The reward gives every text the same value from the start: it is broken, or cannot read them."
        return Evidence("red", updates, evidence, (TEST_REWARD,), cause)
    state, updates = graded(values, at.spread_amber * begins, at.spread_red * begins, operator.lt)
    risen = records.now("score_mean") - records.begins("score_mean")
    if state != "quiet" and risen < 0:
        cause = "Every text earns the same, and less than at first: what is paid for is hardly written any more."
        tries = (records.more_penalty(), records.slower())
        return Evidence(state, updates, evidence, tries, cause)
    if records.now("answers_right") >= MOSTLY_RIGHT:
        return _little_left(state, updates, evidence, "Nearly every answer is right: there is little left to learn.")
    if records.now("distinct_2") < at.variety_amber * records.begins("distinct_2"):
        cause = "The policy writes nearly the same text every time, so all earn the same."
        return Evidence(state, updates, evidence, (records.more_penalty(), records.more_entropy()), cause)
    cause = "Nearly every text earns the most that the reward can give: there is little left to learn."
    if not records.values("distinct_2"):
        cause = (
            "Either the texts have become alike, or nearly all earn the most that there is; it was not recorded which."
        )
    return _little_left(state, updates, evidence, cause)


def _little_left(state: State, updates: list[int], evidence: str, cause: str) -> Evidence:
    """No harm where everything earns the most."""
    return Evidence(worst(amber=state in ("amber", "red")), updates, evidence, (Remedy("stop here", {}),), cause)


def groups_alike(records: Records) -> Evidence:
    ppo = records.config.ppo
    if ppo.baseline == "value":
        raise NotMeasured("It is of methods that compare the texts of one prompt.")
    state, updates = graded(records.needed("groups_same_score"), records.at.groups_amber, records.at.groups_red)
    now, begins = records.now("groups_same_score"), records.begins("groups_same_score")
    evidence = f"{now:.0%} of the prompts, and {begins:.0%} at first."
    if records.now("score_mean") - records.begins("score_mean") > records.begins("score_std") / 2 and now > begins:
        cause = (
            "The score has risen, and most prompts earn as much as the reward can give: there is little left to learn."
        )
        return Evidence(state, updates, evidence, (Remedy("stop here, or choose harder prompts", {}),), cause)
    changes = {"ppo.samples_per_prompt": 2 * ppo.samples_per_prompt, "ppo.batch_size": 2 * ppo.batch_size}
    cause = "Most prompts are always answered right or always wrong, or the reward hardly tells one text from another."
    return Evidence(
        state, updates, evidence, (Remedy("write twice as many texts for each prompt", changes), TEST_REWARD), cause
    )


def judge_falls(records: Records) -> Evidence:
    if not records.config.judges:
        raise NotMeasured("The run has no monitors.")
    judgement = judging.judged_of(records.config, records.samples)
    if judgement is None or not judgement.turns:
        return quiet("No monitor has turned down.")
    evidence = " ".join(judging.verdict(judgement, turn.judge, f"Monitor {turn.judge}") for turn in judgement.turns)
    first = min(turn.update for turn in judgement.turns)
    tries = (Remedy(f"go back to update {first}", {"fork_at": first}), records.more_penalty())
    return Evidence("red", [update for update in judgement.updates if update > first], evidence, tries)


def disagreement(records: Records) -> Evidence:
    if records.config.score.combine == "sum":
        raise NotMeasured("The run has no ensemble of learned rewards.")
    scores, begins = dict(records.values("score_mean")), records.begins("score_mean")
    values = [
        (update, apart if scores.get(update, begins) > begins else 0.0)
        for update, apart in records.needed("disagreement")
    ]
    seen = _since_first(records, "disagreement", "apart", values=values, form=".2f sd", beyond=operator.gt)
    return seen._replace(remedies=seen.remedies[:1])


def kl_runaway(records: Records) -> Evidence:
    at, kl = records.at, records.config.kl
    values, perplexity = records.needed("kl_to_reference"), records.needed("perplexity_reference")
    records.needed("entropy")
    whole, values = records.begins("entropy") * records.begins("completion_length"), records.where_stranger(values)
    state, updates = graded(values, at.kl_amber * whole, at.kl_red * whole)
    if state == "quiet" and kl.moves and records.updates >= at.settled:
        updates = trend(values, lambda value: value > 2 * kl.target)
        state = worst(amber=updates)
    first, now = perplexity[0][1], records.now("perplexity_reference")
    evidence = (
        f"{records.now('kl_to_reference'):z.1f} nats; the reference's own texts have {whole:.1f} nats of entropy. Its "
        f"perplexity of the texts was {first:,.1f} at first and is {now:,.1f}."
    )
    tries: Remedies = (records.more_penalty(), records.slower())
    if not kl.moves:
        adaptive = {"kl.controller": "adaptive", "kl.coef": kl.coef or 0.25}  # from 0 it cannot move
        tries += (Remedy("use an adaptive leash", adaptive),)
    return Evidence(state, updates, evidence, tries)


def penalty_off_target(records: Records) -> Evidence:
    kl = records.config.kl
    if not kl.moves:
        raise NotMeasured("The leash is fixed.")
    betas, by_hand = records.values("kl_coef"), any(event.kind == EDIT for event in records.events)
    swings = _swings(betas, records.at.swing) if kl.controller == "ziegler" and not by_hand else []
    values = records.values("kl_to_reference") if swings else records.needed("kl_to_reference", records.at.settled)
    lowest, highest = min(beta for _, beta in betas), max(beta for _, beta in betas)
    evidence = (
        f"{records.now('kl_to_reference'):z.2f} nats with a target of {kl.target:g}; "
        f"beta {records.now('kl_coef'):.3g}, {lowest:.3g} to {highest:.3g} so far."
    )
    if swings:
        return Evidence("red", swings, evidence, cause="Beta overshoots: its steps are not bounded.")
    tries: Remedies = (Remedy("start with another beta", {"kl.coef": records.metrics[-1].kl_coef}),)
    if kl.controller == "ziegler":
        tries += (Remedy("set the horizon to 288 episodes", {"kl.horizon": 288}),)
        tries += (Remedy("use the leash that looks ahead (adaptive)", {"kl.controller": "adaptive"}),)
    updates = trend(values, lambda value: abs(value / kl.target - 1) > 0.5)
    return Evidence(worst(amber=updates), updates, evidence, tries)


def _swings(betas: Sequence[tuple[int, float]], most: float) -> list[int]:
    """The updates at which the largest beta of ten updates is more than `most` times the smallest."""
    tens = (betas[max(0, end - TEN) : end] for end in range(2, len(betas) + 1))
    ends = ((ten[-1][0], min(beta for _, beta in ten), max(beta for _, beta in ten)) for ten in tens)
    return [update for update, low, high in ends if high > most * low > 0]


def _since_first(
    records: Records,
    series: str,
    limit: str,
    *,
    values: Values | None = None,
    form: str = ".2f",
    beyond: Callable[[float, float], bool] = operator.lt,
) -> Evidence:
    """Of a figure as a share of its first updates, against the thresholds `limit`_amber and `limit`_red; by `values`
    where they may be others. `form`: how it is written, with its unit."""
    figures, begins = records.needed(series), records.begins(series)
    if not begins:
        raise NotMeasured("It was zero in the first updates, so nothing can be said of how it has changed.")
    amber, red = (getattr(records.at, f"{limit}_{level}") for level in ("amber", "red"))
    state, updates = graded([(update, value / begins) for update, value in values or figures], amber, red, beyond)
    spec, _, unit = form.partition(" ")
    evidence = f"{begins:{spec}}{f' {unit}' if unit else ''} at first, {records.now(series):{spec}} now."
    return Evidence(state, updates, evidence, (records.more_penalty(), records.more_entropy()))


def entropy_gone(records: Records) -> Evidence:
    records.needed("perplexity_reference")
    values = records.where_stranger(records.needed("entropy"))
    return _since_first(records, "entropy", "entropy", values=values, form=".2f nats per token")


def entropy_fell(records: Records) -> Evidence:
    """Of a log, which has no perplexity."""
    return _since_first(records, "entropy", "entropy")


def kl_large(records: Records) -> Evidence:
    """The same."""
    bound = max(records.at.kl_nats, records.at.kl_token * records.now("completion_length"))
    updates = trend(records.needed("kl_to_reference"), lambda value: value > bound)
    begins, now = records.begins("kl_to_reference"), records.now("kl_to_reference")
    return Evidence(worst(amber=updates), updates, f"{begins:.1f} nats at first, {now:.1f} now.")


def same_text(records: Records) -> Evidence:
    evidence = _since_first(records, "distinct_2", "variety")
    if records.now("answers_right") >= MOSTLY_RIGHT:
        return quiet("Nearly every answer is right, and right answers are alike.")
    return evidence


def strange_texts(records: Records) -> Evidence:
    evidence = _since_first(records, "perplexity_reference", "strange", form=",.1f", beyond=operator.gt)
    return evidence._replace(remedies=evidence.remedies[:1])


def length(records: Records) -> Evidence:
    at, values, begins = records.at, records.needed("completion_length"), records.begins("completion_length")
    updates = trend(values, lambda value: not (begins < value * at.length and value < begins * at.length))
    cut: list[int] = []
    if records.begins("eos_fraction") >= 1 - at.cut_off:
        cut = trend(records.values("eos_fraction"), lambda value: value < 1 - at.cut_off)
    ended = ""
    if records.values("eos_fraction"):
        ended = f"; {records.now('eos_fraction'):.0%} end by themselves"
    evidence = f"{begins:.1f} tokens at first, {records.now('completion_length'):.1f} now{ended}."
    state = worst(red=cut, amber=updates)
    if not cut and records.now("completion_length") < begins:
        cause = "Ending pays: what comes later in a text brings less than it costs, or the reward likes short texts."
        return Evidence(state, updates, evidence, (TEST_REWARD, records.more_penalty()), cause)
    tries = (Remedy("make not ending cost 1 sd", {"sampling.missing_eos_penalty": 1.0}), records.more_penalty())
    return Evidence(state, cut or updates, evidence, tries)


def repetition(records: Records) -> Evidence:
    if not records.samples:
        raise NotMeasured("The fixed prompts have not been answered yet.")
    evaluated = sorted({item.update for item in records.samples})
    shares = [
        fmean(repeated_share(item.completion) for item in records.samples if item.update == update)
        for update in evaluated
    ]
    evidence = f"{shares[0]:.0%} before training, {shares[-1]:.0%} at the newest evaluation."
    if not shares[0] <= records.at.repeated < shares[-1]:
        return quiet(evidence)
    bad = [update for update, share in zip(evaluated, shares, strict=True) if share > records.at.repeated]
    penalty = Remedy("punish repetition", {"rewards+": {"kind": "repetition", "weight": -1.0}})
    return Evidence("red", bad, evidence, (records.more_penalty(), penalty))

"""Checks of what the run is for: does the score rise, does it stay, and do judges and prompts of all kinds agree?"""

from __future__ import annotations

import math
import operator

from playground.analysis import judging
from playground.analysis.before_after import Outcome
from playground.analysis.diagnosis.alert import TEST_REWARD, Evidence, Remedies, graded, meant, quiet
from playground.analysis.diagnosis.run_records import WINDOW, NotMeasured, Records, Remedy
from playground.rewards.mixture import term_names

SEEN = 1 + 0.842 / 1.96  # half of a 95 % interval -> the change that lies outside of it 8 times in 10


def flat(records: Records) -> Evidence:
    found = records.outcome
    if found is None or records.updates < records.at.settled:
        raise NotMeasured(f"It takes an evaluation after update {records.at.settled:g}.")
    evidence = _changed(found)
    if found.low > 0 or found.high < 0:
        return quiet(evidence)
    if not math.isnan(found.low):
        evidence = (
            f"{evidence[:-1]}, which cannot be told from chance on these prompts; a change of "
            f"{SEEN * (found.high - found.gain):.2f} or more would have been seen in 8 of 10 such runs."
        )
    if held := records.held_back():
        return meant(evidence, held)
    return Evidence("amber", records.newest, evidence, *_why_flat(records, found.gain))


def _why_flat(records: Records, gain: float) -> tuple[Remedies, str]:
    """What to try, and the likely cause."""
    if records.begins("score_std") < 1e-6:
        return (TEST_REWARD,), "The reward says the same of every text, so there is nothing to prefer."
    if records.now("kl_to_reference") < 0.1:
        longer = (records.scaled("kl.coef", 0.25),) if records.setting("kl.coef") else ()
        cause = "the leash is too short for what the reward pays, or the learning rate too low."
        return (*longer, records.scaled("ppo.learning_rate", 3.0)), f"The policy has hardly left the reference: {cause}"
    if gain > 0:
        more = Remedy("go on for more updates, or look at more fixed prompts (evaluation.num_prompts)", {})
        cause = "it is less than these prompts can tell from chance: they are too few for it, or it has only begun."
        return (more,), f"If the policy gains, {cause}"
    cause = "The policy moves, but not towards more reward: the reward may be misread, or turned round."
    return (TEST_REWARD,), cause


def wrong_way(records: Records) -> Evidence:
    found = records.outcome
    if found is None:
        raise NotMeasured("It takes an evaluation after training has begun.")
    tries = (Remedy("see on the Rewards page that the better text scores higher", {}), records.slower())
    return Evidence("red" if found.high < 0 else "quiet", records.newest, _changed(found), tries)


def _changed(found: Outcome) -> str:
    if math.isnan(found.low):
        return f"{found.same} of {found.answers} answers score the same."
    return f"The score changed by {found.gain:+z.2f} ({found.low:+z.2f} to {found.high:+z.2f})."


def fell_back(records: Records) -> Evidence:
    evaluated = sorted({item.update for item in records.samples})
    if len(evaluated) < 3:
        raise NotMeasured("It takes three evaluations.")
    found = judging.fall_from_the_top(records.samples)
    if found is None:
        return quiet("The newest evaluation is not below the best by more than chance.")
    top, fall = found
    evidence = f"It was highest after update {top} and has fallen by {-fall.mean:.2f} ± {fall.half:.2f} since."
    if held := records.held_back(since=max((update for update in evaluated if update < top), default=0)):
        return meant(evidence, held)
    since = [update for update in evaluated if update > top]
    back = Remedy(f"go back to update {top}", {"fork_at": top})
    betas, kl = dict(records.values("kl_coef")), dict(records.values("kl_to_reference"))
    first, last = betas.get(top, math.inf), betas.get(records.updates, 0.0)
    if not last > first or not records.now("kl_to_reference") < kl.get(top, 0.0):
        return Evidence("red", since, evidence, (back, records.slower(), records.more_penalty()))
    cause = f"Beta has risen from {first:.3g} to {last:.3g} since and holds the policy nearer to the reference, which "
    cause += "costs score."
    if records.config.kl.moves and kl[top] > (target := records.setting("kl.target")):
        return quiet(f"{evidence} {cause} It was {kl[top]:.2f} nats away then, with a target of {target:g}.")
    return Evidence("red", since, evidence, (back, records.scaled("kl.target", 2.0)), cause)


def no_spread(records: Records) -> Evidence:
    at, values, begins = records.at, records.needed("score_std"), records.begins("score_std")
    evidence = f"The standard deviation was {begins:.3g} and is {records.now('score_std'):.3g}."
    if begins < 1e-6:
        cause = "The reward says the same of every text from the start: it is dead, or cannot read them."
        return Evidence("red", [update for update, _ in values[-WINDOW:]], evidence, (TEST_REWARD,), cause)
    state, updates = graded(values, at.spread_amber * begins, at.spread_red * begins, operator.lt)
    variety, began = records.now("distinct_2") or 1.0, records.begins("distinct_2") or 1.0
    if variety < at.variety_amber * began:
        cause = "The policy writes nearly one text, so all earn the same."
        return Evidence(state, updates, evidence, (records.more_penalty(), records.more_entropy()), cause)
    cause = "Nearly every text earns as much as the reward can give: there is little left to learn."
    return Evidence("amber" if state == "red" else state, updates, evidence, (Remedy("stop here", {}),), cause)


def judge_falls(records: Records) -> Evidence:
    judges = records.config.judges
    if not judges:
        raise NotMeasured("The run has no judges that only watch.")
    signs = {name: -1.0 if one.weight < 0 else 1.0 for name, one in zip(term_names(judges), judges, strict=True)}
    found = judging.judged(records.samples, signs, in_sd=records.config.score.normalise == "reference")
    if not found.turns:
        return quiet("No judge has turned down.")
    evidence = " ".join(judging.verdict(found, turn.judge, f"Judge {turn.judge}") for turn in found.turns)
    first = min(turn.update for turn in found.turns)
    tries = (Remedy(f"go back to update {first}", {"fork_at": first}), records.more_penalty())
    return Evidence("red", [update for update in found.updates if update > first], evidence, tries)

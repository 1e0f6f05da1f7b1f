"""Lamps of what the run is for: does the score rise, does it stay, and do judges and prompts of all kinds agree?"""

from __future__ import annotations

import math
from collections import defaultdict

from playground.insight import before_after, judging
from playground.insight.diagnosis.lamp import WINDOW, Lamp, Records, Remedy, State, graded, meant, without
from playground.rewards import behaviours
from playground.rewards.mixture import term_names

SEEN = 1 + 0.842 / 1.96  # half of a 95 % interval -> the change that lies outside of it 8 times in 10


def flat(records: Records) -> Lamp:
    name, label = "flat", "No gain to be told from chance"
    rule = (
        f"After {records.at.settled:g} updates the score on the fixed prompts is not above where it began by more than "
        "chance (95 %)."
    )
    found, kl = records.outcome, records.now("kl_to_reference")
    if found is None or found.num_prompts < 2 or records.updates < records.at.settled:
        return without(name, label, rule, f"It takes a look at the fixed prompts after update {records.at.settled:g}.")
    evidence = _changed(found)
    if found.low > 0 or found.high < 0:
        return Lamp(name, label, "quiet", rule, [], evidence)
    if not math.isnan(found.low):
        seen = SEEN * (found.high - found.gain)
        evidence = (
            f"{evidence[:-1]}, which cannot be told from chance on these prompts; a change of {seen:.2f} or more "
        )
        evidence += "would have been seen in 8 of 10 such runs."
    spread = records.begins("score_std") or 0.0
    tries: tuple[Remedy, ...]
    if spread < 1e-6:
        cause, tries = (
            "The reward says the same of every text, so there is nothing to prefer.",
            (Remedy("test the reward on the Rewards page", {}),),
        )
    elif (kl or 0.0) < 0.1:
        cause = "The policy has hardly left the reference: the leash is too short for what the reward pays, or the "
        cause += "learning rate too low."
        tries = (records.milder("ppo.learning_rate", 3.0),)
        if records.setting("kl.coef"):
            tries = (records.milder("kl.coef", 0.25), *tries)
    elif found.gain > 0:
        cause = (
            "If the policy gains, it is less than these prompts can tell from chance: they are too few for it, or it "
        )
        cause += "has only begun."
        tries = (Remedy("go on for more updates, or look at more fixed prompts (evaluation.num_prompts)", {}),)
    else:
        cause = "The policy moves, but not towards more reward: the reward may be misread, or turned round."
        tries = (Remedy("test the reward on the Rewards page", {}),)
    newest = [item.update for item in records.metrics[-WINDOW:]]
    lamp = Lamp(name, label, "amber", rule, newest, evidence, cause, tries, "score_mean")
    held = records.held_back()
    return meant(lamp, held) if held else lamp


def wrong_way(records: Records) -> Lamp:
    name, label = "wrong-way", "The score falls"
    rule = "The score on the fixed prompts is below where it began by more than chance (95 %)."
    found = records.outcome
    if found is None or found.num_prompts < 2:
        return without(name, label, rule, "It takes a look at the fixed prompts after training has begun.")
    evidence = _changed(found)
    if not found.high < 0:
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = "The policy learns away from the reward: a sign is turned round, or the steps destroy more than they learn."
    tries = (
        Remedy("see on the Rewards page that the better text scores higher", {}),
        records.milder("ppo.learning_rate", 1 / 3),
    )
    newest = [item.update for item in records.metrics[-WINDOW:]]
    return Lamp(name, label, "red", rule, newest, evidence, cause, tries, "score_mean")


def _changed(found: before_after.Outcome) -> str:
    if math.isnan(found.low):
        return f"{found.same} of {found.answers} answers score the same."
    return f"The score changed by {found.gain:+z.2f} ({found.low:+z.2f} to {found.high:+z.2f})."


def fell_back(records: Records) -> Lamp:
    name, label = "fell-back", "The score rose and fell"
    rule = (
        "The newest look at the fixed prompts is below the best one by more than chance, although that one was chosen "
        "because it was the best (95 %, Bonferroni)."
    )
    looks = sorted({item.update for item in records.samples})
    if len(looks) < 3:
        return without(name, label, rule, "It takes three looks at the fixed prompts.")
    found = judging.fall_from_the_top(records.samples)
    if found is None:
        return Lamp(name, label, "quiet", rule, [], "The newest look is not below the best by more than chance.")
    top, fall = found
    evidence = f"It was highest after update {top} and has fallen by {-fall.mean:.2f} ± {fall.half:.2f} since."
    cause = "Steps that are too bold, or a leash that is too long for them: the policy has lost what it had learned."
    tries = (
        Remedy(f"go back to update {top}", {"fork_at": top}),
        records.milder("ppo.learning_rate", 1 / 3), records.more_leash(),
    )  # fmt: skip
    lamp = Lamp(
        name, label, "red", rule, [update for update in looks if update > top], evidence, cause, tries, "score_mean"
    )
    held = records.held_back(since=max((update for update in looks if update < top), default=0))
    if held:
        return meant(lamp, held)
    betas, kl = dict(records.values("kl_coef")), dict(records.values("kl_to_reference"))
    first, last = betas.get(top, math.inf), betas.get(records.updates, 0.0)
    if last > first and (records.now("kl_to_reference") or 0.0) < kl.get(top, 0.0):
        cause = f"Beta has risen from {first:.3g} to {last:.3g} since and holds the policy nearer to the reference, "
        cause += "which costs score."
        if records.config.kl.moves and kl[top] > (target := records.setting("kl.target")):
            evidence += f" {cause} It was {kl[top]:.2f} nats away then, with a target of {target:g}."
            return Lamp(name, label, "quiet", rule, [], evidence)
        lamp = lamp._replace(cause=cause, remedies=(tries[0], records.milder("kl.target", 2.0)))
    return lamp


def no_spread(records: Records) -> Lamp:
    name, label, at = "no-spread", "All texts earn the same", records.at
    rule = (
        f"The spread of the scores in a batch is below {at.spread_amber:.0%} of that of the first updates (red: "
        f"{at.spread_red:.0%}), or nothing from the start."
    )
    begins, values = records.begins("score_std"), records.values("score_std")
    if begins is None or len(values) < WINDOW:
        return without(name, label, rule, f"It takes {WINDOW} updates.")
    tries: tuple[Remedy, ...]
    if begins < 1e-6:
        state: State = "red"
        updates = [update for update, _ in values[-WINDOW:]]
        cause, tries = (
            "The reward says the same of every text from the start: it is dead, or cannot read them.",
            (Remedy("test the reward on the Rewards page", {}),),
        )
    else:
        state, updates = graded(
            values, lambda value: value < at.spread_amber * begins, lambda value: value < at.spread_red * begins
        )
        variety, began = records.now("distinct_2") or 1.0, records.begins("distinct_2") or 1.0
        collapsed = variety < at.variety_amber * began
        if collapsed:
            cause, tries = "The policy writes nearly one text, so all earn the same.", (
                records.more_leash(), records.more_entropy(),
            )  # fmt: skip
        else:
            cause, tries = (
                "Nearly every text earns as much as the reward can give: there is little left to learn.",
                (Remedy("stop here", {}),),
            )
            state = "amber" if state == "red" else state
    evidence = f"The standard deviation was {begins:.3g} and is {records.now('score_std'):.3g}."
    if state == "quiet":
        cause, tries = "", ()
    return Lamp(name, label, state, rule, updates, evidence, cause, tries, "score_std")


def judge_falls(records: Records) -> Lamp:
    name, label = "judge-falls", "A judge falls while the score rises"
    rule = "A held-out judge has fallen since its best look while the trained score rose, both by more than chance."
    names = term_names(records.config.judges)
    if not names:
        return without(name, label, rule, "The run has no judges that only watch.")
    signs = {one: -1.0 if spec.weight < 0 else 1.0 for one, spec in zip(names, records.config.judges, strict=True)}
    found = judging.judged(records.samples, signs, in_sd=records.config.score.normalise == "reference")
    if not found.turns:
        return Lamp(name, label, "quiet", rule, [], "No judge has turned down.")
    evidence = " ".join(judging.verdict(found, turn.judge, f"Judge {turn.judge}") for turn in found.turns)
    first = min(turn.update for turn in found.turns)
    cause = "The reward is not what is wanted: more of it has become less of that (Goodhart's law)."
    tries = (Remedy(f"go back to update {first}", {"fork_at": first}), records.more_leash())
    updates = [update for update in found.updates if update > first]
    return Lamp(name, label, "red", rule, updates, evidence, cause, tries, "score_mean")


def kinds(records: Records) -> Lamp:
    name, label = "one-kind-loses", "One kind of prompt pays for another"
    rule = "On one kind of prompt the score has risen and on another fallen, both by more than chance."
    joined = before_after.pairs(records.samples)
    kinds: dict[str, list[before_after.Pair]] = defaultdict(list)
    for pair in joined:
        kinds[behaviours.kind_of(pair.before.prompt)].append(pair)
    found = {kind: before_after.outcome(pairs) for kind, pairs in kinds.items()}
    sure = {kind: item for kind, item in found.items() if item is not None and not math.isnan(item.low)}
    if len(sure) < 2:
        return without(name, label, rule, "The fixed prompts are of one kind, or there is no look yet.")
    evidence = "; ".join(
        f"{kind} {item.gain:+z.2f} ({item.low:+z.2f} to {item.high:+z.2f})" for kind, item in sure.items()
    )
    losing = [kind for kind, item in sure.items() if item.high < 0]
    if not losing or not any(item.low > 0 for item in sure.values()):
        return Lamp(name, label, "quiet", rule, [], evidence)
    cause = f"What pays on the other prompts costs on these: {', '.join(losing)}."
    tries = (Remedy("weight what these prompts need in the reward", {}), records.more_leash())
    return Lamp(name, label, "amber", rule, [joined[0].after.update], evidence, cause, tries, "score_mean")

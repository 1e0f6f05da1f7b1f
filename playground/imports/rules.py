"""Settings that mean something only together: beta and the unit of the score, the early stop, the warm-up."""

from __future__ import annotations

import math

from playground.imports import roles
from playground.imports.conversions import number
from playground.imports.translation import TABLES, ReportLine, Translation

SCALING = ("use_score_scaling", "use_score_norm", "normalize_reward", "ppo_score_norm")
RAW = "the score stays in the reward's own unit (`score.normalise: none`), so beta is worth what it was there"
SCALED = (
    "the score is in standard deviations of the reference's texts; that trainer scaled it as it went, so beta is "
    "close, not the same"
)
CONTROLLER = (
    "code is not taken over. Nearest to a controller of beta that is written by hand are kl.controller `ziegler`, "
    "which moves beta by at most a fifth of episodes / horizon, and `adaptive`; set kl.coef, kl.target and kl.horizon "
    "yourself"
)
NO_UNIT = (
    "beta is a price in the unit of the reward, and the reward is not in this file: a number does not carry over by "
    "itself. Ours is 0.25 standard deviations of the score per nat"
)
GRPO = (
    "close, not the same: there the KL (k3) is weighed in the loss against advantages divided by the spread of a "
    "prompt's texts, here it is in the reward, in standard deviations of the score per nat"
)
DPO = (
    "there in the unit of the preferences (Bradley and Terry), here in standard deviations of the score: the same only "
    "if the reward's spread is 1"
)


def translate(work: Translation) -> None:
    """What the tables leave to rules, after the roles are known."""
    for step in (_beta, _controllers, _early_stop, _warmup, _schedule, _adapter, _remarks):
        try:
            step(work)
        except ValueError as why:
            work.not_understood.append(ReportLine(step.__name__.strip("_").replace("_", " "), why=str(why)))


def _beta(work: Translation) -> None:
    known = {name: line for name, line in TABLES[work.dialect].items() if line.get("rule") == "beta"}
    names = [*(name for name in known if name in work.named), *(name for name in known if "default" in known[name])]
    if work.dialect == "llamafactory":
        work.assume("TRL's adap_kl_ctrl = True", "kl.controller", "ziegler")
        work.assume("TRL's horizon = 10000", "kl.horizon", 10000)
    elif not names:
        return
    beta = number(work.value(names[0])) if names else 0.2
    theirs = work.theirs(names[0]) if names else "TRL's init_kl_coef = 0.2 (default)"
    if beta is None:
        work.leave(theirs, "beta is a number here")
        return
    if work.dialect == "trl-grpo":
        _grpo(work, theirs, beta)
    elif work.dialect.endswith("dpo"):
        work.set(theirs, "kl.coef", beta, DPO)
    else:
        _in_units(work, theirs, beta)


def _controllers(work: Translation) -> None:
    for said in work.source.controllers:
        work.leave(said, CONTROLLER)


def _in_units(work: Translation, theirs: str, beta: float) -> None:
    """Beta of PPO and RLOO, with the unit of the score that makes it the same."""
    said = [name for name in SCALING if name in work.named]
    scaled = [name for name in said if work.named[name].value is True]
    if scaled:
        work.set(work.theirs(*scaled), "score.normalise", "reference", SCALED)
        work.set(theirs, "kl.coef", beta)
    elif work.source.own:
        work.set(theirs, "kl.coef", beta)
    elif roles.is_known(work):
        work.data["score.normalise"] = "none"
        work.set(theirs, "kl.coef", beta, RAW)
    elif not beta:
        work.set(theirs, "kl.coef", 0.0, "no KL penalty in either")
    else:
        work.leave(theirs, NO_UNIT)
    for name in said:
        if name not in scaled:
            work.say(str(work.named[name]), "", "the score is not scaled while training here either")


def _grpo(work: Translation, theirs: str, beta: float) -> None:
    work.set(theirs, "kl.coef", beta, GRPO if beta else "no KL penalty in either; TRL loads no reference then")
    item = work.named.get("scale_rewards")
    if item is None:
        return
    if item.value in (True, "group"):
        work.say(str(item), "method: grpo", "divided by the spread of a prompt's texts")
    elif item.value in (False, "none"):
        why = "method grpo divides by the spread of a prompt's texts; method rloo does not, and is nearest to Dr. GRPO"
        work.leave(str(item), why)
    else:
        work.leave(str(item), "the spread of a prompt's texts is what advantages are divided by here")


def _early_stop(work: Translation) -> None:
    """Of the old TRL: an early stop within an update, which its `target_kl` belongs to; not the adaptive target."""
    if work.dialect != "trl-old":
        return
    stop, limit = work.named.get("early_stopping"), work.named.get("target_kl")
    if stop and stop.value is True and not stop.problem:
        most = number(limit.value) if limit else 1.0
        theirs = work.theirs("early_stopping", *(["target_kl"] if limit else []))
        why = "TRL stopped at 1.5 times target_kl, measured as a mean over tokens"
        work.set(theirs, "ppo.update_kl_stop", float(f"{1.5 * (most or 1.0):.6g}"), why)
        return
    if limit:
        why = (
            "it did nothing: TRL reads it only with early_stopping=True, to end an update early at 1.5 times it. The "
            "target of the adaptive KL penalty is `target`, 6 if it is not named"
        )
        work.leave(str(limit), why)
    if stop:
        work.say(str(stop), "ppo.update_kl_stop: empty")


def _warmup(work: Translation) -> None:
    item = work.named.get("warmup_ratio")
    if item is None:
        return
    ratio, updates = number(item.value), work.data.get("ppo.num_updates")
    if updates is None:
        work.leave(str(item), "it is a share of the updates, whose number is not in this file: set ppo.warmup_updates")
    elif ratio:
        work.set(str(item), "ppo.warmup_updates", math.ceil(ratio * updates))


def _schedule(work: Translation) -> None:
    """The old TRL kept the learning rate, and had no setting for it."""
    if work.dialect == "trl-old":
        work.assume("no lr_scheduler", "ppo.schedule", "constant")


def _adapter(work: Translation) -> None:
    """An adapter whose settings are named is trained."""
    has = any(item.owner == "lora" for item in work.source.settings)
    if has and "model.adapter.kind" not in work.data:
        work.data["model.adapter.kind"] = "lora"
        work.say("LoraConfig", "model.adapter.kind: lora")


def _remarks(work: Translation) -> None:
    """What the script of an old chapter does that its own TRL would refuse."""
    if work.dialect != "trl-old":
        return
    for call in work.source.named("PPOTrainer"):
        if "reward_model" in call.keywords:
            why = "PPOTrainer of this age takes no reward_model and would refuse it; the score is `rewards` here"
            work.leave(f"PPOTrainer(reward_model=...) (line {call.line})", why)
    if any("trainer" in call.name and "return_prompt" not in call.keywords for call in work.source.named("generate")):
        work.source.remarks.append(
            "TRL of this age gives the prompt back too, unless return_prompt=False is asked for: a script that scores "
            "prompt + answer then scores the prompt twice, and trains on it. Here only completions are."
        )
    heads = any("WithValueHead" in call.name for call in work.source.calls)
    policies = any("CausalLM" in call.name for call in work.source.calls)
    if policies and not heads:
        work.source.remarks.append(
            "TRL of this age wants AutoModelForCausalLMWithValueHead and would refuse the script's model. Here the "
            "value head is added to any model."
        )

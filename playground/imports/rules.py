"""Settings that mean something only together: beta and the unit of the score, the early stop, the warm-up."""

from __future__ import annotations

from playground.imports import roles
from playground.imports.conversions import number, whole
from playground.imports.translation import TABLES, Translation

SCALING = ("use_score_scaling", "use_score_norm", "normalize_reward", "ppo_score_norm")
RAW = "the score stays in the reward's own unit (`score.normalise: none`), so beta is worth what it was there"
SCALED = (
    "that trainer scaled the score as it went, here it is in sd of the reference's texts: beta is close, not the same"
)
NO_UNIT = (
    "beta is a price in the unit of the reward, and the reward is not in this file: a number does not carry over by "
    "itself. Ours is 0.25 standard deviations of the score per nat"
)
GRPO = (
    "close, not the same: there the KL (k3) is weighed in the loss against advantages divided by the spread of a "
    "prompt's texts, here it is in the reward, in standard deviations of the score per nat"
)
DPO = "there in the unit of the preferences (Bradley and Terry), here in sd of the score: the same only if that is 1"
CONTROLLER = (
    "code is not taken over. Nearest to a controller of beta that is written by hand are kl.controller `ziegler`, "
    "which moves beta by at most a fifth of episodes / horizon, and `adaptive`; set kl.coef, kl.target and kl.horizon "
    "yourself"
)
DID_NOTHING = (
    "it did nothing: TRL reads it only with early_stopping=True, to end an update early at 1.5 times it. The target of "
    "the adaptive KL penalty is `target`, 6 if it is not named"
)
PROMPT_TWICE = (
    "TRL of this age gives the prompt back too, unless return_prompt=False is asked for: a script that scores prompt + "
    "answer then scores the prompt twice, and trains on it. Here only completions are."
)
NO_HEAD = (
    "TRL of this age wants AutoModelForCausalLMWithValueHead and would refuse the script's model. Here the value head "
    "is added to any model."
)


def translate(work: Translation) -> None:
    """What the tables leave to rules, after the roles are known."""
    for said in work.source.controllers:
        work.leave(said, CONTROLLER)
    steps = [_beta, _scaling, _warmup, _adapter, *([_early_stop, _old] if work.dialect == "trl-old" else [])]
    for step in steps:
        try:
            step(work)
        except ValueError as why:
            work.ask(step.__name__.strip("_").replace("_", " "), str(why))


def _beta(work: Translation) -> None:
    known = {name: line for name, line in TABLES[work.dialect].items() if line.get("rule") == "beta"}
    names = [*(name for name in known if name in work.named), *(name for name in known if "default" in known[name])]
    if work.dialect == "llamafactory":
        work.assume("TRL's adap_kl_ctrl = True", "kl.controller", "ziegler")
        work.assume("TRL's horizon = 10000", "kl.horizon", 10000)
    elif not names:
        return
    theirs = work.theirs(names[0]) if names else "TRL's init_kl_coef = 0.2 (default)"
    try:
        beta = number(work.value(names[0])) if names else 0.2
    except ValueError as why:
        work.ask(theirs, str(why))
        return
    if beta is None:
        work.leave(theirs, "beta is a number here")
    elif work.dialect.endswith("dpo"):
        work.set(theirs, "kl.coef", beta, DPO)
    elif work.dialect == "trl-grpo":
        work.set(theirs, "kl.coef", beta, GRPO if beta else "no KL penalty in either; TRL loads no reference then")
    elif work.source.own or _scaled(work):
        work.set(theirs, "kl.coef", beta)
    elif roles.is_known(work):
        work.data["score.normalise"] = "none"
        work.set(theirs, "kl.coef", beta, RAW)
    elif not beta:
        work.set(theirs, "kl.coef", 0.0, "no KL penalty in either")
    else:
        work.leave(theirs, NO_UNIT)


def _scaled(work: Translation) -> list[str]:
    return [name for name in SCALING if name in work.named and work.named[name].value is True]


def _scaling(work: Translation) -> None:
    if names := _scaled(work):
        work.set(work.theirs(*names), "score.normalise", "reference", SCALED)
    for name in SCALING:
        if name in work.named and name not in names:
            work.say(str(work.named[name]), "", "the score is not scaled while training here either")
    item = work.named.get("scale_rewards")
    if item and item.value in (True, "group"):
        work.say(str(item), "method: grpo", "divided by the spread of a prompt's texts")
    elif item:
        why = "method grpo divides by the spread of a prompt's texts; method rloo does not, and is nearest to Dr. GRPO"
        work.leave(item, why)


def _early_stop(work: Translation) -> None:
    """An early stop within an update, which the old TRL's `target_kl` belongs to; not the adaptive target."""
    stop, limit = work.named.get("early_stopping"), work.named.get("target_kl")
    if stop and stop.value is True and not stop.problem:
        most = number(limit.value) if limit else 1.0
        theirs = work.theirs("early_stopping", *(["target_kl"] if limit else []))
        why = "TRL stopped at 1.5 times target_kl, measured as a mean over tokens"
        work.set(theirs, "ppo.update_kl_stop", float(f"{1.5 * (most or 1.0):.6g}"), why)
        return
    if limit:
        work.leave(limit, DID_NOTHING)
    if stop:
        work.say(str(stop), "ppo.update_kl_stop: empty")


def _warmup(work: Translation) -> None:
    item, updates = work.named.get("warmup_ratio"), work.data.get("ppo.num_updates")
    if item and updates is None:
        work.leave(item, "it is a share of the updates, whose number is not in this file: set ppo.warmup_updates")
    elif item and updates and (ratio := number(item.value)):
        work.set(str(item), "ppo.warmup_updates", whole(ratio * updates))


def _adapter(work: Translation) -> None:
    """An adapter whose settings are named is trained."""
    if any(item.owner == "lora" for item in work.source.settings) and "model.adapter.kind" not in work.data:
        work.set("LoraConfig", "model.adapter.kind", "lora")


def _old(work: Translation) -> None:
    """The old TRL kept the learning rate; and what the script of an old chapter does that it would refuse."""
    work.assume("no lr_scheduler", "ppo.schedule", "constant")
    for call in work.source.named("PPOTrainer"):
        if "reward_model" in call.keywords:
            why = "PPOTrainer of this age takes no reward_model and would refuse it; the score is `rewards` here"
            work.leave(f"PPOTrainer(reward_model=...) (line {call.line})", why)
    if any("trainer" in call.name and "return_prompt" not in call.keywords for call in work.source.named("generate")):
        work.source.remarks.append(PROMPT_TWICE)
    names = " ".join(call.name for call in work.source.calls)
    if "CausalLM" in names and "WithValueHead" not in names:
        work.source.remarks.append(NO_HEAD)

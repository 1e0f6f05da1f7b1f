"""Who plays which part in a file from elsewhere, after each setting has been translated: the model, its reference, the
rewards and the prompts."""

from __future__ import annotations

from typing import Any

from playground.imports.found import Unknown
from playground.imports.tables import FILE, WORDS
from playground.imports.translation import Translation

PLACEHOLDER = {"kind": "sentiment", "judge": "vader"}


def translate(work: Translation) -> None:
    """Model, reference, rewards and prompts."""
    if work.source.own:
        _own(work)
        return
    if "model.source" not in work.data:
        work.fill_in.append(WORDS["no-model"])
    elif work.data.get("reference.source") == work.data["model.source"]:
        work.take_back("reference.source", WORDS["is-the-start"])
    _adapter(work)
    rewards = [*_learned(work), *_functions(work)]
    _weights(work, rewards)
    if not rewards and "policy.reward_adapter" not in work.named:
        work.fill_in.append(WORDS["no-reward"])
    work.data["rewards"] = rewards or [dict(PLACEHOLDER)]
    _prompts(work)


def is_known(work: Translation) -> bool:
    """Whether the reward of the file was recognised."""
    return bool(work.source.own) or work.data["rewards"] != [PLACEHOLDER]


def _own(work: Translation) -> None:
    """A script that `export --as trl` has written: its constants are ours."""
    for name, value in work.source.own.items():
        if not isinstance(value, Unknown):
            work.data[FILE["own"][name]] = value
            work.say(f"{name} of a script of this project", FILE["own"][name])
    if "'kind': 'python'" in repr(work.source.own.get("REWARDS")):
        work.fill_in.append(WORDS["in-python"])


def _adapter(work: Translation) -> None:
    """An adapter whose settings are named is trained."""
    if any(item.owner.startswith("lora") for item in work.items.values() if work.known(item)):
        work.set("LoraConfig", "model.adapter.kind", "lora")
        for item in [item for item in work.named.values() if item.name == "peft_config"]:
            work.say(item, "model.adapter.kind: lora")


def _learned(work: Translation) -> list[dict[str, Any]]:
    """The reward model, and how it is held. Of a classifier the second label is wanted, which TRL's examples take."""
    parts = {name: work.data[name] for name in work.data if name.startswith("rewards.0.")}
    if "rewards.0.source" not in parts:
        for name in parts:
            work.take_back(name, WORDS["no-name"])
        return []
    for name in parts:
        del work.data[name]
    reward = {"kind": "model"} | {name.removeprefix("rewards.0."): value for name, value in parts.items()}
    for item in (work.named.get("classifier.model"), work.items.get("reward_model")):
        if item and item.text.endswith(reward["source"]) and (item.owner or ":" in item.text):
            reward["label"] = "POSITIVE"
            work.fill_in.append(WORDS["label"])
    return [reward]


def _functions(work: Translation) -> list[dict[str, Any]]:
    """GRPO and RLOO: `reward_funcs`, of which a text names a model and anything else is code."""
    functions = []
    for item in [item for item in work.named.values() if item.name == "reward_funcs"]:
        for name in item.value if isinstance(item.value, list) else [item.value]:
            if isinstance(name, str) and "/" in name and not item.problem:
                functions.append({"kind": "model", "source": name})
                work.say(f"{item}: {name}", f"rewards: kind model, source {name}")
            elif name == "accuracy_reward":  # TRL's own, which reads the column `solution`
                functions.append({"kind": "verify", "answer": "solution"})
                work.say(f"{item}: {name}", "rewards: kind verify; numbers are compared, where TRL compares formulas")
            else:
                work.leave(f"{item}: {name}", WORDS["code"])
    return functions


def _weights(work: Translation, rewards: list[dict[str, Any]]) -> None:
    item = work.named.get("reward_weights")
    if item is None or item.value is None:
        return
    entries = item.value if isinstance(item.value, list) else []
    weights = [weight for weight in entries if isinstance(weight, int | float)]
    if weights == entries and len(weights) == len(rewards):
        for reward, weight in zip(rewards, weights, strict=True):
            reward["weight"] = weight
        work.say(item, "the weight of each reward")
    else:
        work.leave(item, "the rewards it weighs were not all recognised: write each `weight` yourself")


def _prompts(work: Translation) -> None:
    if "prompts.source" not in work.data:
        work.fill_in.append(WORDS["no-prompts"])
    if any(item.owner == "dataset" for item in work.source.settings):
        work.fill_in.append(WORDS["no-column"])
    if work.dialect.endswith("dpo"):
        work.fill_in.append(WORDS["pairs"])

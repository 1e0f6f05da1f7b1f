"""Who plays which part in a file from elsewhere: the model, its reference, the reward, and the prompts."""

from __future__ import annotations

import re
from typing import Any

from playground.imports.conversions import converted, number
from playground.imports.found import Call, Unknown, known_text
from playground.imports.translation import OLD_NAMES, Translation

REWARD_NAME = re.compile(r"reward|(^|_)rm($|_)|scorer|judge|sentiment")
POLICY_CLASS = re.compile("CausalLM|LanguageModel|LMHead|HeadWithValue")
CRITIC_NAME = re.compile(r"value|critic")
REFERENCE_NAME = re.compile(r"(^|_)ref(erence)?($|_)")
PLACEHOLDER = {"kind": "sentiment", "judge": "vader"}
SENTIMENT = ("sentiment-analysis", "text-classification")
SOURCE = "pretrained_model_name_or_path"
BITS = {"load_in_8bit": "int8", "load_in_4bit": "nf4"}
OWN = {
    **{"MODEL": "model.source", "PROMPTS": "prompts", "REWARDS": "rewards"},
    **{"SCORE_CLIP": "score.clip", "SCORE_SCALE": "score.normalise"},
}
NOT_A_CLASSIFIER = (
    "rewards.0.source: LLaMA-Factory keeps a reward model as a language model with a value head beside it (or as an "
    "adapter); here a sequence classifier with one label is read. `python -m playground reward-train` makes one of the "
    "same pairs."
)
NO_REWARD = "rewards: what scores the texts is not in this file; praise in ordinary English (VADER) stands there now."
NO_MODEL = "model.source: which model is trained is not in this file; the included pocket-2m stands there now."
NO_PROMPTS = "prompts.source: which prompts are used is not in this file; the included ones stand there now."
NO_COLUMN = "prompts.column: check which column holds the prompt, and that the script does not cut it first."
LABEL = "rewards.0.label: check that POSITIVE is what this classifier calls what you want."
IN_PYTHON = "rewards: the file brings a reward in Python, which training runs. Read its `code` first."
PAIRS = (
    "DPO's pairs are written by the start model and judged by the run's reward here. To learn from pairs that people "
    "chose, train a reward model on them first: python -m playground reward-train --pairs FILE."
)
CODE = (
    "code is not taken over: put it into a file of its own, and name that as a reward, {kind: python, file: "
    "FILE.py:NAME}; it is called as TRL calls it"
)
NO_NAME = "which reward model is loaded is not written in the file, so how it is held is left out too"
NO_CLASSIFIER = "a language model gives no reward; it must be a sequence classifier, as which it is loaded here"
A_NAME = "a name in LLaMA-Factory's dataset_info.json; name the file or the dataset of the hub as `prompts.source`"


def translate(work: Translation) -> None:
    """Model, reference, rewards and prompts."""
    if work.source.own:
        _own(work)
        return
    model = _model(work)
    for call in work.source.named("from_pretrained"):
        source = _hub_name(call.text(0, SOURCE))
        if _part(call) == "reference" and source not in ("", model) and "reference.source" not in work.data:
            work.set(f"{call.target} of {source!r} (line {call.line})", "reference.source", source)
    rewards = _rewards(work)
    if not rewards and not any("reward_adapter" in call.keywords for call in work.source.calls):
        work.fill_in.append(NO_REWARD)
    work.data["rewards"] = rewards or [dict(PLACEHOLDER)]
    _prompts(work)


def is_known(work: Translation) -> bool:
    """Whether the reward of the file was recognised."""
    return bool(work.source.own) or work.data["rewards"] != [PLACEHOLDER]


def _own(work: Translation) -> None:
    """A script that `export --as trl` has written: its constants are ours."""
    for name, value in work.source.own.items():
        if not isinstance(value, Unknown):
            shown = f" ({value})" if isinstance(value, str) else ""
            work.data[OWN[name]] = value
            work.say(f"{name} of a script of this project", f"{OWN[name]}{shown}")
    if "'kind': 'python'" in repr(work.source.own.get("REWARDS")):
        work.fill_in.append(IN_PYTHON)
    for call in work.source.named("Scale"):
        if (call.keywords.get("mean"), call.keywords.get("sd")) == (0.0, 1.0):
            work.data["score.normalise"] = "none"


def _text_of(work: Translation, name: str) -> str:
    """The text of a setting; "" where it is not there, or not known."""
    item = work.named.get(name)
    return known_text(item.value) if item and not item.problem else ""


def _model(work: Translation) -> str:
    """The source of the model that is trained; "" where it is not known."""
    names = ("sft_model_path", "model_name_or_path", "model_name")
    found = [(work.theirs(name), text) for name in names if (text := _text_of(work, name))]
    for call in work.source.calls:
        if call.name.endswith("Trainer"):
            source = known_text(call.keywords.get("model"))
        elif POLICY_CLASS.search(call.name) and _part(call) == "policy":
            source = call.text(0, "model", "model_name", SOURCE)
            _loading(work, call)
        else:
            continue
        if source:
            found.append((f"{call.name.split('.')[0]}(... {source!r}) (line {call.line})", source))
    if not found:
        work.fill_in.append(NO_MODEL)
        return ""
    theirs, name = found[0]
    source = _hub_name(name)
    work.set(theirs, "model.source", source, "" if source == name else "its name on the hub since 2024")
    return source


def _held(work: Translation, call: Call) -> dict[str, Any]:
    """The keywords of a call that loads a model, with those of its BitsAndBytesConfig, wherever that stands."""
    found = dict(call.keywords)
    for name in ("model_kwargs", "quantization_config"):
        given = found.get(name)
        if isinstance(given, dict):
            found |= given
        elif isinstance(given, Unknown):
            inline = "BitsAndBytesConfig(" in given
            made = work.source.named("BitsAndBytesConfig")
            fitting = [one for one in made if one.target == (call.target if inline else given)]
            if fitting and (not inline or fitting[-1].line >= call.line):
                found |= fitting[-1].keywords
            else:
                work.ask(f"{name} = {given} (line {call.line})", "how the model is held is not said in one place")
    return found


def _loading(work: Translation, call: Call) -> None:
    """How a model is loaded."""
    given = _held(work, call)
    for name, bits in BITS.items():
        if given.get(name) is True:
            work.set(f"{name} = True (line {call.line})", "model.quantization", bits)
    if dtype := known_text(call.keywords.get("dtype", call.keywords.get("torch_dtype"))):
        said = f"dtype = {dtype} (line {call.line})"
        try:
            work.set(said, "model.precision", converted("model.precision", "dtype", dtype))
        except ValueError as why:
            work.leave(said, str(why))
    if adapter := call.keywords.get("reward_adapter"):
        why_not = "merge it into its model, and name that as a reward of kind `model`"
        work.leave(f"reward_adapter = {adapter} (line {call.line})", why_not)
    if "peft_config" in call.keywords:
        work.set(f"peft_config (line {call.line})", "model.adapter.kind", "lora")


def _rewards(work: Translation) -> list[dict[str, Any]]:
    found = _by_settings(work) or _by_calls(work) or _by_functions(work)
    weights = work.named.get("reward_weights")
    if weights and isinstance(weights.value, list) and len(weights.value) == len(found):
        for reward, weight in zip(found, weights.value, strict=True):
            reward["weight"] = number(weight)
        work.say(str(weights), "the weight of each reward")
    elif weights and not weights.problem and weights.value is not None:
        work.leave(weights, "the rewards it weighs were not all recognised: write each `weight` yourself")
    return found


def _by_settings(work: Translation) -> list[dict[str, Any]]:
    for name in ("reward_model_path", "reward_model", "reward_model_name_or_path"):
        item, text = work.named.get(name), _text_of(work, name)
        if item and not text:
            work.ask(item, item.problem or "it is no name of a model")
        elif item and (_text_of(work, "reward_model_type") == "api" or "://" in text):
            work.leave(item, "no reward is asked over the network here: name a model or a folder")
        elif item:
            if work.dialect == "llamafactory":
                work.fill_in.append(NOT_A_CLASSIFIER)
            task, _, source = text.rpartition(":")
            loads = [call for call in work.source.named("from_pretrained") if _part(call) == "reward"]
            return [_learned(work, str(item), source, [*loads, None][0], labelled=task in SENTIMENT)]
    return []


def _by_calls(work: Translation) -> list[dict[str, Any]]:
    """Rewards that a script loads itself."""
    for call in work.source.calls:
        task, of_task, source = call.text(0, "task"), call.text(1, "model"), call.text(0, SOURCE)
        said = f"{call.name.split('.')[0]}(... {source!r}) (line {call.line})"
        if call.name.endswith("pipeline") and task in SENTIMENT and of_task:
            said = f"pipeline({task!r}, {of_task!r}) (line {call.line})"
            return [_learned(work, said, of_task, call, labelled=True)]
        if not call.name.endswith("from_pretrained") or _part(call) != "reward":
            continue
        if source:
            if "CausalLM" in call.name:
                work.leave(said, NO_CLASSIFIER)
            return [_learned(work, said, source, call)]
        work.ask(f"{call.target} of {[*call.arguments, ''][0]} (line {call.line})", NO_NAME)
    return []


def _by_functions(work: Translation) -> list[dict[str, Any]]:
    """GRPO and RLOO: `reward_funcs`, of which a text names a model and anything else is code."""
    found = []
    item = work.named.get("reward_funcs")
    given = [(str(item), item.value)] if item and not item.problem else []
    for call in work.source.calls:
        if call.name.endswith("Trainer") and "reward_funcs" in call.keywords:
            given.append((f"reward_funcs (line {call.line})", call.keywords["reward_funcs"]))
    for said, value in given:
        for one in value if isinstance(value, list) else [value]:
            if "/" in known_text(one):
                found.append(_learned(work, f"{said}: {one!r}", one))
            else:
                work.leave(f"{said}: {one}", CODE)
    return found


def _learned(
    work: Translation, said: str, source: str, call: Call | None = None, *, labelled: bool = False
) -> dict[str, Any]:
    """A reward model. `call`: that loads it and says how it is held. `labelled`: of a classifier the second label is
    wanted, which TRL's examples take."""
    work.say(said, f"rewards.0: kind model, source {source}")
    if labelled:
        work.fill_in.append(LABEL)
    given = _held(work, call) if call else {}
    held: dict[str, Any] = {}
    for name, bits in BITS.items():
        if given.get(name) is True:
            held["quantization"] = bits
    if isinstance(threshold := given.get("llm_int8_threshold"), int | float):
        held["int8_threshold"] = threshold
    for name, value in held.items():
        work.say(f"{name} of {source}", f"rewards.0.{name}: {value}")
    return {"kind": "model", "source": _hub_name(source)} | ({"label": "POSITIVE"} if labelled else {}) | held


def _prompts(work: Translation) -> None:
    named = [name for name in ("dataset_name", "query_dataset", "dataset_train_name") if _text_of(work, name)]
    loads = [call for call in work.source.named("load_dataset") if call.text(0, "path")]
    if named:
        work.set(work.theirs(named[0]), "prompts.source", _hub_name(_text_of(work, named[0])))
    elif loads:
        _loaded_dataset(work, loads[0])
    else:
        work.fill_in.append(NO_PROMPTS)
    if "dataset" in work.named and work.dialect.startswith("llamafactory"):
        work.leave(work.named["dataset"], A_NAME)
    if work.dialect.endswith("dpo"):
        work.fill_in.append(PAIRS)
    for call in work.source.named("apply_chat_template"):
        if isinstance(thinks := call.keywords.get("enable_thinking"), bool):
            options = {"enable_thinking": thinks}
            work.set(f"apply_chat_template({options}) (line {call.line})", "prompts.template_options", options)


def _loaded_dataset(work: Translation, call: Call) -> None:
    source, split = call.text(0, "path"), call.keywords.get("split")
    if source in ("json", "csv", "text"):
        source = known_text(call.keywords.get("data_files")) or source
    work.set(f"load_dataset({source!r}) (line {call.line})", "prompts.source", _hub_name(source))
    if known_text(split).isidentifier():
        work.set(f"split = {split!r} (line {call.line})", "prompts.split", split)
    elif split is not None:
        why = "a slice of a split is not taken: name the split, and `prompts.limit`"
        work.leave(f"split = {split} (line {call.line})", why)
    if subset := call.text(1, "name"):
        work.set(f"name = {subset!r} (line {call.line})", "prompts.subset", subset)
    work.fill_in.append(NO_COLUMN)


def _part(call: Call) -> str:
    """What a loaded model is for, by its class and the name that it is given."""
    target = call.target.rpartition(".")[2].lower()
    if CRITIC_NAME.search(target):
        return "critic"
    if "SequenceClassification" in call.name or REWARD_NAME.search(target):
        return "reward" if "Tokenizer" not in call.name else ""
    return "reference" if REFERENCE_NAME.search(target) else "policy"


def _hub_name(source: str) -> str:
    return str(OLD_NAMES.get(source, source))

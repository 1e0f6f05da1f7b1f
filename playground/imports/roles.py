"""Who plays which part in a file from elsewhere: the model, its reference, the reward, and the prompts."""

from __future__ import annotations

import re
from typing import Any

from playground.imports.conversions import converted, number
from playground.imports.found import Call
from playground.imports.python_source import Unknown
from playground.imports.translation import OLD_NAMES, ReportLine, Translation

REWARD_NAME = re.compile(r"reward|(^|_)rm($|_)|scorer|judge|sentiment")
POLICY_CLASS = re.compile("CausalLM|LanguageModel|LMHead|HeadWithValue")
CRITIC_NAME = re.compile(r"value|critic")
REFERENCE_NAME = re.compile(r"(^|_)ref(erence)?($|_)")
PLACEHOLDER = {"kind": "sentiment", "judge": "vader"}
SENTIMENT = ("sentiment-analysis", "text-classification")
NOT_A_CLASSIFIER = (
    "rewards.0.source: LLaMA-Factory keeps a reward model as a language model with a value head beside it (or as an "
    "adapter); here a sequence classifier with one label is read. `python -m playground reward-train` makes one of the "
    "same pairs."
)
NO_REWARD = "rewards: what scores the texts is not in this file; praise in ordinary English (VADER) stands there now."


def translate(work: Translation) -> None:
    """Model, reference, rewards and prompts."""
    if work.source.own:
        _own(work)
        return
    model = _model(work)
    _reference(work, model)
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
    own = work.source.own
    for name, field in (
        ("MODEL", "model.source"),
        ("PROMPTS", "prompts"),
        ("REWARDS", "rewards"),
        ("SCORE_CLIP", "score.clip"),
        ("SCORE_SCALE", "score.normalise"),
    ):
        if name in own and not isinstance(own[name], Unknown):
            shown = f" ({own[name]})" if isinstance(own[name], str) else ""
            work.data[field] = own[name]
            work.became.append(ReportLine(f"{name} of a script of this project", f"{field}{shown}"))
    if "'kind': 'python'" in repr(own.get("REWARDS")):
        work.fill_in.append("rewards: the file brings a reward in Python, which training runs. Read its `code` first.")
    for call in work.source.named("Scale"):
        if call.keywords.get("mean") == 0.0 and call.keywords.get("sd") == 1.0:
            work.data["score.normalise"] = "none"


def _model(work: Translation) -> str:
    """The source of the model that is trained; "" where it is not known."""
    candidates = [
        (work.theirs(name), work.named[name].value)
        for name in ("sft_model_path", "model_name_or_path", "model_name")
        if name in work.named and not work.named[name].problem
    ]
    if work.dialect.startswith("trl-ppo") and "sft_model_path" not in work.named:
        candidates = candidates[:1]
    for call in work.source.calls:
        source = _first(call, "model", "model_name", "pretrained_model_name_or_path")
        if call.name.endswith("Trainer") and isinstance(call.keywords.get("model"), str):
            source = call.keywords["model"]
        elif not POLICY_CLASS.search(call.name) or _part(call) != "policy":
            continue
        if isinstance(source, str) and not isinstance(source, Unknown):
            candidates.append((f"{call.name.split('.')[0]}(... {source!r}) (line {call.line})", source))
            _loading(work, call)
    found = next((item for item in candidates if isinstance(item[1], str)), None)
    if found is None:
        work.fill_in.append(
            "model.source: which model is trained is not in this file; the included pocket-2m stands there now."
        )
        return ""
    source = _hub_name(found[1])
    work.set(found[0], "model.source", source, "" if source == found[1] else "its name on the hub since 2024")
    return source


def _bits(work: Translation, call: Call) -> dict[str, Any]:
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
                said = f"{name} = {given} (line {call.line})"
                work.not_understood.append(ReportLine(said, why="how the model is held is not said in one place"))
    return found


def _loading(work: Translation, call: Call) -> None:
    """How a model is loaded."""
    given = _bits(work, call)
    for name, bits in (("load_in_8bit", "int8"), ("load_in_4bit", "nf4")):
        if given.get(name) is True:
            work.set(f"{name} = True (line {call.line})", "model.quantization", bits)
    dtype = call.keywords.get("dtype", call.keywords.get("torch_dtype"))
    if isinstance(dtype, str) and not isinstance(dtype, Unknown):
        said = f"dtype = {dtype} (line {call.line})"
        try:
            work.set(said, "model.precision", converted("dtype", dtype))
        except ValueError as why:
            work.no_equal.append(ReportLine(said, why=str(why)))
    if adapter := call.keywords.get("reward_adapter"):
        said = f"reward_adapter = {adapter} (line {call.line})"
        work.no_equal.append(ReportLine(said, why="merge it into its model, and name that as a reward of kind `model`"))
    if "peft_config" in call.keywords:
        work.data["model.adapter.kind"] = "lora"


def _reference(work: Translation, model: str) -> None:
    for call in work.source.named("from_pretrained"):
        source = _first(call, "pretrained_model_name_or_path")
        if _part(call) == "reference" and isinstance(source, str) and not isinstance(source, Unknown):
            if _hub_name(source) != model:
                work.set(f"{call.target} of {source!r} (line {call.line})", "reference.source", _hub_name(source))
            return


def _rewards(work: Translation) -> list[dict[str, Any]]:
    found = _by_settings(work)
    if found:  # the call that loads it says how it is held
        loads = [call for call in work.source.named("from_pretrained") if _part(call) == "reward"]
        found = [found[0] | _precision_of_reward(work, loads[0])] if loads else found
    found = found or _by_calls(work) or _by_functions(work)
    weights = work.named.get("reward_weights")
    if weights and isinstance(weights.value, list) and len(weights.value) == len(found):
        for reward, weight in zip(found, weights.value, strict=True):
            reward["weight"] = number(weight)
        work.became.append(ReportLine(str(weights), "the weight of each reward"))
    elif weights and not weights.problem and weights.value is not None:
        work.no_equal.append(
            ReportLine(str(weights), why="the rewards it weighs were not all recognised: write each `weight` yourself")
        )
    return found


def _by_settings(work: Translation) -> list[dict[str, Any]]:
    for name in ("reward_model_path", "reward_model", "reward_model_name_or_path"):
        item = work.named.get(name)
        if item is None:
            continue
        kind = work.named.get("reward_model_type")
        if item.problem or not isinstance(item.value, str):
            work.not_understood.append(ReportLine(str(item), why=item.problem or "it is no name of a model"))
        elif (kind and kind.value == "api") or "://" in item.value:
            work.no_equal.append(
                ReportLine(str(item), why="no reward is asked over the network here: name a model or a folder")
            )
        else:
            if work.dialect == "llamafactory":
                work.fill_in.append(NOT_A_CLASSIFIER)
            task, _, source = item.value.rpartition(":")
            reward = _learned(work, str(item), source)
            return [reward | _label(work) if task in SENTIMENT else reward]
    return []


def _by_calls(work: Translation) -> list[dict[str, Any]]:
    """Rewards that a script loads itself."""
    for call in work.source.calls:
        if call.name.split(".")[-1] == "pipeline" and (task := _first(call, "task")) in SENTIMENT:
            source = call.keywords.get("model") or (call.arguments[1] if len(call.arguments) > 1 else None)
            if isinstance(source, str) and not isinstance(source, Unknown):
                reward = _learned(work, f"pipeline({task!r}, {source!r}) (line {call.line})", source)
                return [reward | _label(work) | _precision_of_reward(work, call)]
        if call.name.endswith("from_pretrained") and _part(call) == "reward":
            source = _first(call, "pretrained_model_name_or_path")
            if not isinstance(source, str) or isinstance(source, Unknown):
                why = "which reward model is loaded is not written in the file, so how it is held is left out too"
                work.not_understood.append(ReportLine(f"{call.target} of {source} (line {call.line})", why=why))
                continue
            said = f"{call.name.split('.')[0]}(... {source!r}) (line {call.line})"
            reward = _learned(work, said, source)
            if "CausalLM" in call.name:
                why = (
                    "a language model gives no reward; it must be a sequence classifier, which this project loads it as"
                )
                work.no_equal.append(ReportLine(said, why=why))
            return [reward | _precision_of_reward(work, call)]
    return []


def _label(work: Translation) -> dict[str, Any]:
    """What a script that scores sentiment wants: the second of a classifier's labels, which TRL's examples take."""
    work.fill_in.append("rewards.0.label: check that POSITIVE is what this classifier calls what you want.")
    return {"label": "POSITIVE"}


def _precision_of_reward(work: Translation, call: Call) -> dict[str, Any]:
    found: dict[str, Any] = {}
    given = _bits(work, call)
    for name, bits in (("load_in_8bit", "int8"), ("load_in_4bit", "nf4")):
        if given.get(name) is True:
            found["quantization"] = bits
            work.became.append(ReportLine(f"{name} = True (line {call.line})", f"rewards.0.quantization: {bits}"))
    if isinstance(threshold := given.get("llm_int8_threshold"), (int, float)):
        found["int8_threshold"] = float(threshold)
        work.became.append(
            ReportLine(f"llm_int8_threshold = {threshold} (line {call.line})", f"rewards.0.int8_threshold: {threshold}")
        )
    return found


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
            if isinstance(one, str) and not isinstance(one, Unknown) and "/" in one:
                found.append(_learned(work, f"{said}: {one!r}", one))
            else:
                why = "code is not taken over: write it as a reward of kind `python` or `expression`, or choose a rule"
                work.no_equal.append(ReportLine(f"{said}: {one}", why=why))
    return found


def _learned(work: Translation, said: str, source: str) -> dict[str, Any]:
    work.became.append(ReportLine(said, f"rewards.0: kind model, source {source}"))
    return {"kind": "model", "source": _hub_name(source)}


def _prompts(work: Translation) -> None:
    for name in ("dataset_name", "query_dataset", "dataset_train_name"):
        if name in work.named and isinstance(work.named[name].value, str) and not work.named[name].problem:
            work.set(work.theirs(name), "prompts.source", _hub_name(work.named[name].value))
            break
    else:
        _loaded_dataset(work)
    if "dataset" in work.named and work.dialect.startswith("llamafactory"):
        why = "a name in LLaMA-Factory's dataset_info.json; name the file or the dataset of the hub as `prompts.source`"
        work.no_equal.append(ReportLine(work.theirs("dataset"), why=why))
    if work.dialect.endswith("dpo"):
        work.fill_in.append(
            "DPO's pairs are written by the start model and judged by the run's reward here. To learn from pairs that "
            "people chose, train a reward model on them first: python -m playground reward-train --pairs FILE."
        )
    if "prompts.source" not in work.data:
        work.fill_in.append(
            "prompts.source: which prompts are used is not in this file; the included ones stand there now."
        )


def _loaded_dataset(work: Translation) -> None:
    for call in work.source.named("load_dataset"):
        source = _first(call, "path")
        files = call.keywords.get("data_files")
        if source in ("json", "csv", "text") and isinstance(files, str):
            source = files
        if not isinstance(source, str) or isinstance(source, Unknown):
            continue
        work.set(f"load_dataset({source!r}) (line {call.line})", "prompts.source", _hub_name(source))
        split = call.keywords.get("split")
        if isinstance(split, str) and split.isidentifier():
            work.data["prompts.split"] = split
        elif split is not None:
            said = f"split = {split} (line {call.line})"
            work.no_equal.append(
                ReportLine(said, why="a slice of a split is not taken: name the split, and `prompts.limit`")
            )
        if (
            len(call.arguments) > 1
            and isinstance(call.arguments[1], str)
            and not isinstance(call.arguments[1], Unknown)
        ):
            work.data["prompts.subset"] = call.arguments[1]
        work.fill_in.append(
            "prompts.column: check which column holds the prompt, and that the script does not cut it first."
        )
        return


def _part(call: Call) -> str:
    """What a loaded model is for, by its class and the name that it is given."""
    target = call.target.rpartition(".")[2].lower()
    if CRITIC_NAME.search(target):
        return "critic"
    if "SequenceClassification" in call.name or REWARD_NAME.search(target):
        return "reward" if "Tokenizer" not in call.name else ""
    if REFERENCE_NAME.search(target):
        return "reference"
    return "policy"


def _first(call: Call, *names: str) -> Any:
    named = [call.keywords[name] for name in names if name in call.keywords]
    return call.arguments[0] if call.arguments else named[0] if named else None


def _hub_name(source: str) -> str:
    return str(OLD_NAMES.get(source, source))

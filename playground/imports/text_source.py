"""What a file of settings says: YAML or JSON by name, a shell command by its options. Nothing is run, and nothing
expanded but variables and arrays that the same file sets once, or adds to."""

from __future__ import annotations

import itertools
import re
from typing import Any

import yaml

from playground.config.yaml_io import parse_yaml
from playground.imports.found import ForeignSetting, ForeignSource, Unknown
from playground.imports.shell import VARIABLE, Word, commands
from playground.imports.tables import FILE, TABLES, WORDS, is_aside, refusal, refused

COMMANDS = re.compile(r"(?:^|[/._-])(ppov2|ppo|rloo|grpo|dpo)(?:[_-][\w-]*)?(?:\.py)?$")
KINDS = {"ppo": "PPOConfig", "ppov2": "PPOv2Config", "rloo": "RLOOConfig", "grpo": "GRPOConfig", "dpo": "DPOConfig"}
LIBRARIES = {rf"(^|[/.]){name}([/.]|$)": label for name, label in FILE["libraries"].items()}
LIBRARIES |= {"dpo_online|online_dpo": "online DPO", "unsloth[-_.]cli": "Unsloth", "^tune$": "torchtune"}
OTHERS_OF_TRL = re.compile(
    r"(^|[/_-])(sft|kto|orpo|cpo|bco|xpo|gkd|prm|nash_md|reward_modeling|reward)(_[\w-]+)?(\.py)?$"
)
COMPONENT = "_component_"  # what torchtune makes of a part of its settings
OPENRLHF_OR_VERL = re.compile(r"openrlhf|verl[./]|verl$|^actor_rollout_ref\.")
PROCESSES = re.compile(r"--(?:num[-_]processes|nproc[-_]per[-_]node|num[-_]gpus)[= ](?!1\b)(\d{1,5})\b")
PAIR = re.compile(r"(\w+)=(.+)", re.DOTALL)  # behind the file of settings of LLaMA-Factory
OPTION = re.compile(r"--|[+~]{0,2}\w+(?:\.\w+)+=")
OF_HYDRA = re.compile(r"[+~]{0,2}\w+(?:\.\w+)+=\S*")
NUMBER = re.compile(r"[-+]?(\d{1,400}(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
MOST_OF_A_WORD = 1_000  # that names a script


def read_mapping(text: str) -> ForeignSource:
    """A YAML or JSON file with a setting on each line. Raises: InvalidConfig."""
    data, remarks = parse_yaml(text), list[str]()
    if not isinstance(data, dict):
        raise refusal("no-lines")
    if "_wandb" in data:  # the config.yaml of a run of W&B: each value lies one level deeper
        groups = {name: item for name, item in data.items() if isinstance(item, dict) and name != "_wandb"}
        data = {name: item["value"] for name, item in groups.items() if item.get("value") is not None}
        data, remarks = _without_the_models(data)
    names = {str(name) for name in data}
    parts = [value for value in data.values() if isinstance(value, dict)]
    names.update(COMPONENT for part in parts if COMPONENT in part)
    for signs, of in FILE["files"].items():
        if names.issuperset(signs.split()):
            if of in WORDS:
                raise refusal(of)
            raise refused(of)
    if any(name.startswith("train.") for name in names):
        raise refusal("llamaboard")
    node = yaml.compose(text, yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in pairs}
    source = ForeignSource(remarks=remarks)
    for name, value in data.items():
        source.settings.append(ForeignSetting(str(name), value, lines.get(str(name), 0)))
    return source


def _without_the_models(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings of a run of W&B without the fields of the model's own configuration, which transformers writes among
    them; its name stays. Beside it, that they were left out."""
    name = data.pop("_name_or_path", None)
    if not name:
        return data, []
    known = {setting for table in TABLES.values() for setting in table}
    kept = {key: value for key, value in data.items() if is_aside(key) or key in known}
    kept.setdefault("model_name_or_path", name)
    return kept, [f"{len(data.keys() - kept.keys())} fields of the model's own configuration were left out."]


def read_shell(text: str) -> ForeignSource:
    """A shell script: the options of its first command that names a trainer, else of its first with options.

    Raises:
        InvalidConfig: it has no command with options, is too long, or starts what is not imported.
    """
    shell_commands = commands(text)
    plain = [word.text for words in shell_commands for word in words if not word.text.startswith("--")]
    if any(OPENRLHF_OR_VERL.search(word) for word in plain):
        raise refusal("not-these")
    started = [words for words in shell_commands if _kind(words)]
    with_options = [words for words in shell_commands if any(OPTION.match(word.text) for word in words)]
    if not started and not with_options:
        raise refusal("no-command")
    words = [*started, *with_options][0]
    program = _program(words)
    if any(OF_HYDRA.fullmatch(word.text) for word in words):
        raise refused("a library whose settings stand there as `part.name=value`", program)
    others = [label for pattern, label in LIBRARIES.items() if re.search(pattern, program)]
    if not started and OTHERS_OF_TRL.search(program):
        others.append("another trainer of TRL")
    if others:
        raise refused(others[0], program)
    source = ForeignSource(_options(words), kind=_kind(words), is_command=True)
    if processes := PROCESSES.search(" ".join(word.text for word in words)):
        many = processes.group(1)
        source.remarks.append(f"The command starts {many} processes: their batch was {many} times the one here.")
    if files := [item.value for item in source.settings if item.name == "config"]:
        others = [str(item) for item in source.settings if item.name != "config"]
        comment = more = ""
        if source.kind.endswith("Config"):
            comment = f" with a line `# {source.kind}` in it"
        if others:
            more = f" Write into it what the command says beside it: {', '.join(others[:10])}."
        raise refusal("in-a-file", files[0], comment, more)
    if len(started) > 1:
        source.remarks.append(WORDS["several"])
    return source


def _program(words: list[Word]) -> str:
    """What a command runs: its script or module, or what follows `trl`."""
    names = [word.text for word in words]
    scripts = [name for name in names if name.endswith(".py") and not name.startswith("-")]
    after = [name for before, name in itertools.pairwise(names) if before in ("-m", "trl")]
    return [*scripts, *after, *names][0][:MOST_OF_A_WORD]


def _kind(words: list[Word]) -> str:
    """Which trainer a command starts; "" for another command."""
    program = _program(words)
    if "llamafactory" in program or program.endswith("train_bash.py"):
        return "llamafactory"
    match = COMMANDS.search(program)
    is_one = program.endswith(".py") or program.startswith("trl.") or "trl" in [word.text for word in words]
    if match and is_one:
        return KINDS[match.group(1)]
    return ""


def _options(words: list[Word]) -> list[ForeignSetting]:
    """The options behind the script, as settings, and what else stands there that is not known."""
    scripts = [at for at, word in enumerate(words) if word.text.endswith(".py")]
    options: list[ForeignSetting] = []
    name, values, line = "", [""], 0
    for word in [*words[scripts[0] + 1 if scripts else 0 :], Word(0, "--")]:
        alone = VARIABLE.fullmatch(word.text) or word.text.startswith(("$@", "$*", "${"))
        if word.text.startswith("--"):
            if name:
                options.append(_setting(name, values, line))
            name, equals, value = word.text[2:].partition("=")
            name, line, values = name.replace("-", "_"), word.line, [value] if equals else []
        elif alone and (values or not name):
            options.append(ForeignSetting(word.text, Unknown(word.text, WORDS["no-value"]), word.line))
        elif not name and word.text.endswith((".yaml", ".yml", ".json")):
            options.append(ForeignSetting("config", word.text, word.line))
        elif (not name or (name == "config" and values)) and (pair := PAIR.fullmatch(word.text)):
            options.append(_setting(pair.group(1), [pair.group(2)], word.line))
        else:
            values.append(word.text)
    return options


def _setting(name: str, values: list[str], line: int) -> ForeignSetting:
    for value in values:
        if "$" in value:
            return ForeignSetting(name, Unknown(value, WORDS["no-value"]), line)
    if not values and name.startswith("no_") and name != "no_cuda":  # as transformers switches a default off
        return ForeignSetting(name.removeprefix("no_"), False, line)
    read = [_value(value) for value in values or ["true"]]
    return ForeignSetting(name, read[0] if len(read) == 1 else read, line)


def _value(word: str) -> Any:
    if NUMBER.fullmatch(word):
        return float(word) if re.search("[.eE]", word) else int(word)
    return {"true": True, "false": False, "none": None, "null": None}.get(word.lower(), word)

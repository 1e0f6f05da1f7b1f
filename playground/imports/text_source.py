"""What a file of settings says: YAML or JSON by name, a shell command by its options. Nothing is run, and nothing
expanded but variables that the same file assigns once."""

from __future__ import annotations

import re
import shlex
from typing import Any

import yaml

from playground.config.yaml_io import parse_yaml
from playground.errors import InvalidConfig, Problem
from playground.imports.found import ForeignSetting, ForeignSource
from playground.imports.translation import NOT_TRL

COMMANDS = re.compile(r"(?:^|[/_-])(ppov2|ppo|rloo|grpo|dpo)(?:[_-](?!online)[\w-]*)?(?:\.py)?$")
PROCESSES = re.compile(r"--(?:num_processes|nproc_per_node)[= ](?!1\b)(\d{1,5})\b")
OTHERS = re.compile(r"openrlhf|verl[./]|verl$")
NOT_THESE = (
    "Settings of OpenRLHF and verl are not imported: docs/scale.md has a table of what they are called there and here. "
    "Their logs can be judged: python -m playground diagnose --log FILE."
)
LLAMABOARD = (
    "These are settings that LlamaBoard has saved. Press its Preview button, save the command that it shows as a file "
    "that ends in .sh, and import that."
)
KINDS = {"ppo": "PPOConfig", "ppov2": "PPOv2Config", "rloo": "RLOOConfig", "grpo": "GRPOConfig", "dpo": "DPOConfig"}
ASSIGNED = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(\S*)\s*$")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}$]*))?\}|\$(\w+)")
NUMBER = re.compile(r"[-+]?(\d{1,400}(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
MOST_CHARACTERS = 100_000  # of a shell script
MOST_OF_A_WORD = 1_000  # that names a script


def read_mapping(text: str) -> ForeignSource:
    """A YAML or JSON file with a setting on each line. Raises: InvalidConfig."""
    data = parse_yaml(text)
    if not isinstance(data, dict):
        raise InvalidConfig([Problem("", "This file has no `name: value` lines.")])
    if {"rewards", "format"} <= data.keys():
        raise InvalidConfig([Problem("", "This is a file of the playground's own: python -m playground train FILE.")])
    if any(str(name).startswith("train.") for name in data):
        raise InvalidConfig([Problem("", LLAMABOARD)])
    if {"base_model", "sequence_len"} <= data.keys():
        raise InvalidConfig([Problem("", NOT_TRL.format("Axolotl"))])
    if {"actor_rollout_ref", "algorithm"} & data.keys():
        raise InvalidConfig([Problem("", NOT_THESE)])
    lines = _lines(text)
    return ForeignSource([ForeignSetting(str(name), value, lines.get(str(name), 0)) for name, value in data.items()])


def _lines(text: str) -> dict[str, int]:
    node = yaml.compose(text, yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {key.value: key.start_mark.line + 1 for key, _ in pairs if isinstance(key, yaml.ScalarNode)}


def read_shell(text: str) -> ForeignSource:
    """A shell script: the options of its first command that names a trainer, else of its first with options.

    Raises:
        InvalidConfig: it has no command with options, or is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidConfig([Problem("", f"This script is longer than {MOST_CHARACTERS:,} characters.")])
    commands = _commands(text)
    if any(OTHERS.search(word) for _, words in commands for _, word in words if not word.startswith("--")):
        raise InvalidConfig([Problem("", NOT_THESE)])
    variables = _variables(text)
    found = [(line, words, _kind(words)) for line, words in commands]
    chosen = next((item for item in found if item[2]), None) or next(
        (item for item in found if any(word.startswith("--") for _, word in item[1])), None
    )
    if chosen is None:
        raise InvalidConfig([Problem("", "This script has no command with options such as `--kl_coef 0.05`.")])
    _, words, kind = chosen
    settings = _options(words, variables)
    stage = next((item for item in settings if item.name == "stage"), None)
    source = ForeignSource(settings, kind="" if stage else kind)
    if processes := PROCESSES.search(" ".join(word for _, word in words)):
        many = processes.group(1)
        source.remarks.append(f"The command starts {many} processes: their batch was {many} times the one here.")
    if len([item for item in found if item[2]]) > 1:
        source.remarks.append("The file has more than one command that trains; the others were left out.")
    return source


def _commands(text: str) -> list[tuple[int, list[tuple[int, str]]]]:
    """Each command with its line, as words with theirs; a backslash at its end carries a line on."""
    commands: list[tuple[int, list[tuple[int, str]]]] = []
    words: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            continue
        goes_on = stripped.endswith("\\")
        try:
            here = shlex.split(stripped.removesuffix("\\"), comments=True)
        except ValueError:  # a quotation that ends on another line
            here = stripped.removesuffix("\\").split()
        words += [(number, word) for word in here]
        if not goes_on and words:
            commands.append((words[0][0], words))
            words = []
    return [*commands, (words[0][0], words)] if words else commands


def _kind(words: list[tuple[int, str]]) -> str:
    """Which trainer a command starts; "" for another command."""
    for _, word in words:
        found = COMMANDS.search(word) if len(word) <= MOST_OF_A_WORD else None
        if found and not word.startswith("-") and (word.endswith(".py") or any(other == "trl" for _, other in words)):
            return KINDS[found.group(1)]
        if "llamafactory" in word or word.endswith("train_bash.py"):
            return "llamafactory"
    return ""


def _options(words: list[tuple[int, str]], variables: dict[str, str]) -> list[ForeignSetting]:
    """The options behind the script, as settings."""
    scripts = [at for at, (_, word) in enumerate(words) if word.endswith(".py")]
    words = words[scripts[0] + 1 :] if scripts else words
    found: list[ForeignSetting] = []
    at = 0
    while at < len(words):
        line, word = words[at]
        at += 1
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        values = [value] if equals else []
        while not equals and at < len(words) and not words[at][1].startswith("--"):
            values.append(words[at][1])
            at += 1
        found.append(_setting(name.replace("-", "_"), values, line, variables))
    return found


def _setting(name: str, values: list[str], line: int, variables: dict[str, str]) -> ForeignSetting:
    filled = [VARIABLE.sub(lambda match: _filled(match, variables), value) for value in values]
    unknown = next((value for value in filled if "$" in value), None)
    if unknown is not None:
        return ForeignSetting(name, unknown, line, problem="a variable in it has no value in this file")
    if not values and name.startswith("no_") and name != "no_cuda":  # as transformers switches a default off
        return ForeignSetting(name.removeprefix("no_"), False, line)
    read = [_value(value) for value in filled]
    return ForeignSetting(name, True if not read else read[0] if len(read) == 1 else read, line)


def _filled(match: re.Match[str], variables: dict[str, str]) -> str:
    name = match.group(1) or match.group(3)
    return variables.get(name, match.group(2) or match.group(0))


def _variables(text: str) -> dict[str, str]:
    """Variables that are assigned once, to a word."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if match := ASSIGNED.match(line):
            found.setdefault(match.group(1), []).append(match.group(2).strip("\"'"))
    return {name: values[0] for name, values in found.items() if len(values) == 1 and "$" not in values[0]}


def _value(word: str) -> Any:
    if NUMBER.fullmatch(word):
        return float(word) if re.search("[.eE]", word) else int(word)
    return {"true": True, "false": False, "none": None, "null": None}.get(word.lower(), word)

"""What a file of settings says: YAML or JSON by name, a shell command by its options. Nothing is run, and nothing
expanded but variables and arrays that the same file sets once, or adds to."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from playground.config.yaml_io import parse_yaml
from playground.errors import InvalidConfig, Problem
from playground.imports.found import ForeignSetting, ForeignSource
from playground.imports.translation import refused

COMMANDS = re.compile(r"(?:^|[/_-])(ppov2|ppo|rloo|grpo|dpo)(?:[_-][\w-]*)?(?:\.py)?$")
KINDS = {"ppo": "PPOConfig", "ppov2": "PPOv2Config", "rloo": "RLOOConfig", "grpo": "GRPOConfig", "dpo": "DPOConfig"}
LIBRARIES = {"dpo_online|online_dpo": "online DPO", "axolotl": "Axolotl", "trlx": "trlX", "unsloth[-_.]cli": "Unsloth"}
OTHERS_OF_TRL = re.compile(
    r"(^|[/_-])(sft|kto|orpo|cpo|bco|xpo|gkd|prm|nash_md|reward_modeling|reward)(_[\w-]+)?(\.py)?$"
)
OPENRLHF_OR_VERL = re.compile(r"openrlhf|verl[./]|verl$")
NOT_THESE = (
    "Settings of OpenRLHF and verl are not imported: docs/scale.md has a table of what they are called there and here. "
    "Their logs can be judged: python -m playground diagnose --log FILE."
)
LLAMABOARD = (
    "These are settings that LlamaBoard has saved. Press its Preview button, save the command that it shows as a file "
    "that ends in .sh, and import that."
)
NO_COMMAND = "This script has no command with options such as `--kl_coef 0.05`."
PROCESSES = re.compile(r"--(?:num_processes|nproc_per_node)[= ](?!1\b)(\d{1,5})\b")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
VARIABLE = re.compile(r"\$\{(\w+)(?:\[[@*]\]|:?[-=]([^}]*))?\}|\$(\w+)")
BEFORE_A_COMMAND = ("export", "local", "readonly", "declare", "-a", "-r", "-x", "then", "else", "do")
OPENS, CLOSES = ("if", "for", "while", "until", "case"), ("fi", "done", "esac")
OPEN_QUOTATION = re.compile(r"(?:^|[\s=(])[\"'][^\"']*$")
NUMBER = re.compile(r"[-+]?(\d{1,400}(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
NO_VALUE = "a variable in it has no one value in this file"
MOST_CHARACTERS = 100_000  # of a shell script, and of all that its variables stand for
MOST_OF_A_WORD = 1_000  # that names a script


class Word(NamedTuple):
    """A word of a command, and the line where it stands."""

    line: int
    text: str


def read_mapping(text: str) -> ForeignSource:
    """A YAML or JSON file with a setting on each line. Raises: InvalidConfig."""
    data = parse_yaml(text)
    if not isinstance(data, dict):
        raise InvalidConfig([Problem("", "This file has no `name: value` lines.")])
    names = data.keys()
    if {"rewards", "format"} <= names:
        raise InvalidConfig([Problem("", "This is a file of the playground's own: python -m playground train FILE.")])
    if any(str(name).startswith("train.") for name in names):
        raise InvalidConfig([Problem("", LLAMABOARD)])
    if "base_model" in names and names & {"sequence_len", "datasets", "rl", "micro_batch_size", "adapter"}:
        raise refused("Axolotl")
    if {"train", "method"} <= names:
        raise refused("trlX")
    if {"actor_rollout_ref", "algorithm"} & names:
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
        InvalidConfig: it has no command with options, is too long, or starts what is not imported.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidConfig([Problem("", f"This script is longer than {MOST_CHARACTERS:,} characters.")])
    commands = list(_Shell().commands(text))
    if any(OPENRLHF_OR_VERL.search(word.text) for words in commands for word in words if word.text[:2] != "--"):
        raise InvalidConfig([Problem("", NOT_THESE)])
    started = [words for words in commands if _kind(words)]
    with_options = [words for words in commands if any(word.text.startswith("--") for word in words)]
    if not started and not with_options:
        raise InvalidConfig([Problem("", NO_COMMAND)])
    words = [*started, *with_options][0]
    program = _program(words)
    if other := _library(program) or (
        "another trainer of TRL" if OTHERS_OF_TRL.search(program) and not started else ""
    ):
        raise refused(other, program)
    source = ForeignSource(_options(words), kind=_kind(words), is_command=True)
    if any(item.name == "stage" for item in source.settings):
        source.kind = ""
    if processes := PROCESSES.search(" ".join(word.text for word in words)):
        many = processes.group(1)
        source.remarks.append(f"The command starts {many} processes: their batch was {many} times the one here.")
    if len(started) > 1:
        source.remarks.append("The file has more than one command that trains; the others were left out.")
    return source


def _program(words: list[Word]) -> str:
    """What a command runs: its script or module, or what follows `trl`."""
    names = [word.text for word in words]
    scripts = [name for name in names if name.endswith(".py") and not name.startswith("-")]
    after = [names[at + 1] for at, name in enumerate(names[:-1]) if name in ("-m", "trl")]
    return [*scripts, *after, *names][0][:MOST_OF_A_WORD]


def _library(program: str) -> str:
    """Whose program it is, if that is not imported; else ""."""
    return next((label for pattern, label in LIBRARIES.items() if re.search(pattern, program)), "")


class _Shell:
    """A shell script, as far as its variables go."""

    def __init__(self) -> None:
        self.variables: dict[str, list[str] | None] = {}  # the words of each; None: it has no one value
        self.depth = 0  # of `if` and loops
        self.filled_in = 0  # characters

    def commands(self, text: str) -> Iterator[list[Word]]:
        """Each command with its variables filled in, but for those that set a variable."""
        words: list[Word] = []
        unread, start = "", 0
        for number, line in enumerate([*text.split("\n"), ""], 1):
            start = start if unread else number
            unread = (unread + line).rstrip()
            goes_on = unread.endswith("\\")
            try:
                found = _split(unread.removesuffix("\\"))
            except ValueError:
                if OPEN_QUOTATION.search(unread):  # it goes on; not the apostrophe of a sentence
                    unread += "\n"
                    continue
                found = unread.removesuffix("\\").split()
            unread = ""
            words += [Word(start, word) for word in found]
            opened = [word.text for word in words if word.text in ("(", ")")]
            if goes_on or opened.count("(") > opened.count(")"):
                continue
            yield from self._one_by_one(words)
            words = []

    def _one_by_one(self, words: list[Word]) -> Iterator[list[Word]]:
        """The commands of a line."""
        command: list[Word] = []
        for word in [*words, Word(0, ";")]:
            if word.text.strip(";&|"):
                command.append(word)
            elif command:
                filled = self._command(command)
                command = []
                if filled:
                    yield filled

    def _command(self, words: list[Word]) -> list[Word]:
        """A command with its variables filled in; of one that sets variables nothing is left."""
        first = words[0].text
        self.depth += (first in OPENS) - (first in CLOSES)
        if first == "for" and len(words) > 1:
            self.variables[words[1].text] = None
        rest = [*itertools.dropwhile(lambda word: word.text in BEFORE_A_COMMAND, words)]
        while rest and (match := ASSIGNED.fullmatch(rest[0].text)):
            value, rest = [Word(rest[0].line, match.group(3))], rest[1:]
            if not match.group(3) and rest and rest[0].text == "(":
                end = next(at for at, word in enumerate(rest) if word.text == ")")
                value, rest = rest[1:end], rest[end + 1 :]
            self._set(match.group(1), bool(match.group(2)), [word.text for word in self._filled(value)])
        return self._filled(rest)

    def _set(self, name: str, adds: bool, words: list[str]) -> None:
        before = self.variables.get(name, [])
        adds_itself = " ".join([*words, ""]).startswith(" ".join([*(before or []), ""]))  # or is set to the same
        if self.depth > 0 or before is None or (name in self.variables and not adds and not adds_itself):
            self.variables[name] = None
        else:
            self.variables[name] = [*before, *words] if adds else words

    def _filled(self, words: list[Word]) -> list[Word]:
        """Words with their variables filled in: one that stands for options becomes all of them."""
        filled: list[Word] = []
        for line, text in words:
            whole = VARIABLE.fullmatch(text)
            known = self.variables.get(whole.group(1) or whole.group(3)) if whole else None
            if known is not None and (len(known) != 1 or known[0].startswith("-")):
                texts = [part for word in known for part in (_split(word) if word.startswith("-") else [word])]
            else:
                texts = [self._text(text)]
            self.filled_in += sum(map(len, texts))
            if self.filled_in > 10 * MOST_CHARACTERS:
                raise InvalidConfig([Problem("", "The variables of this script stand for too long texts.")])
            filled += [Word(line, part) for part in texts]
        return filled

    def _text(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            known = self.variables.get(match.group(1) or match.group(3), [])
            if known is None or (not known and match.group(2) is None):
                return match.group(0)
            return " ".join(known) if known else VARIABLE.sub(value, match.group(2))

        return VARIABLE.sub(value, text)


def _split(line: str) -> list[str]:
    """The words of a line; `;`, `&&` and parentheses are words too. Raises: ValueError, a quotation is open."""
    words = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    words.whitespace_split = True
    return list(words)


def _kind(words: list[Word]) -> str:
    """Which trainer a command starts; "" for another command."""
    program = _program(words)
    if "llamafactory" in program or program.endswith("train_bash.py"):
        return "llamafactory"
    found = COMMANDS.search(program)
    if found is None or not (program.endswith(".py") or "trl" in [word.text for word in words]):
        return ""
    return KINDS[found.group(1)]


def _options(words: list[Word]) -> list[ForeignSetting]:
    """The options behind the script, as settings, and what else stands there that is not known."""
    scripts = [at for at, word in enumerate(words) if word.text.endswith(".py")]
    found: list[ForeignSetting] = []
    name, values, line = "", [""], 0
    for word in [*words[scripts[0] + 1 if scripts else 0 :], Word(0, "--")]:
        alone = VARIABLE.fullmatch(word.text) or word.text.startswith(("$@", "$*", "${"))
        if word.text.startswith("--"):
            if name:
                found.append(_setting(name, values, line))
            name, equals, value = word.text[2:].partition("=")
            name, line, values = name.replace("-", "_"), word.line, [value] if equals else []
        elif alone and (values or not name):
            found.append(ForeignSetting(word.text, word.text, word.line, problem=NO_VALUE))
        else:
            values.append(word.text)
    return found


def _setting(name: str, values: list[str], line: int) -> ForeignSetting:
    unknown = next((value for value in values if "$" in value), None)
    if unknown is not None:
        return ForeignSetting(name, unknown, line, problem=NO_VALUE)
    if not values and name.startswith("no_") and name != "no_cuda":  # as transformers switches a default off
        return ForeignSetting(name.removeprefix("no_"), False, line)
    read = [_value(value) for value in values]
    return ForeignSetting(name, True if not read else read[0] if len(read) == 1 else read, line)


def _value(word: str) -> Any:
    if NUMBER.fullmatch(word):
        return float(word) if re.search("[.eE]", word) else int(word)
    return {"true": True, "false": False, "none": None, "null": None}.get(word.lower(), word)

"""What a file of settings says: YAML or JSON by name, a shell command by its options. Nothing is run, and nothing
expanded but variables and arrays that the same file sets once, or adds to."""

from __future__ import annotations

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
OURS = "This is a file of the playground's own: python -m playground train FILE."
IN_A_FILE = "The settings of this command are in {}: import that file."
NO_LINES = "This file has no `name: value` lines."
NO_COMMAND = "This script has no command with options such as `--kl_coef 0.05`."
NO_VALUE = "a variable in it has no one value in this file"
TOO_LONG = "This script, or what its variables stand for, is longer than {:,} characters."
SEVERAL = "The file has more than one command that trains; the others were left out."
PROCESSES = re.compile(r"--(?:num_processes|nproc_per_node)[= ](?!1\b)(\d{1,5})\b")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
VARIABLE = re.compile(r"\$\{(\w+)(?:\[[@*]\]|:?[-=]([^}]{0,200}))?\}|\$(\w+)")
OPEN_QUOTATION = re.compile(r"(?:^|[\s=(])[\"'][^\"']*$")
BEFORE_A_COMMAND = ("export", "local", "readonly", "declare", "-a", "-r", "-x", "then", "else", "do")
DEPTH = dict.fromkeys(("if", "for", "while", "until", "case"), 1) | dict.fromkeys(("fi", "done", "esac"), -1)
NUMBER = re.compile(r"[-+]?(\d{1,400}(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
MOST_CHARACTERS = 100_000
MOST_LINES = 40  # of a quotation
MOST_OF_A_WORD = 1_000  # that names a script


class Word(NamedTuple):
    """A word of a command, and the line where it stands."""

    line: int
    text: str


def read_mapping(text: str) -> ForeignSource:
    """A YAML or JSON file with a setting on each line. Raises: InvalidConfig."""
    data = parse_yaml(text)
    names = data.keys() if isinstance(data, dict) else ()
    axolotl = {"sequence_len", "datasets", "rl", "micro_batch_size", "adapter"}
    for is_so, why in (
        (not isinstance(data, dict), NO_LINES),
        ({"rewards", "format"}.issubset(names), OURS),
        (any(str(name).startswith("train.") for name in names), LLAMABOARD),
        (not {"actor_rollout_ref", "algorithm"}.isdisjoint(names), NOT_THESE),
    ):
        if is_so:
            raise InvalidConfig([Problem("", why)])
    if "base_model" in names and not axolotl.isdisjoint(names):
        raise refused("Axolotl")
    if {"train", "method"}.issubset(names):
        raise refused("trlX")
    node = yaml.compose(text, yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    lines = {key.value: key.start_mark.line + 1 for key, _ in pairs if isinstance(key, yaml.ScalarNode)}
    return ForeignSource([ForeignSetting(str(name), data[name], lines.get(str(name), 0)) for name in names])


def read_shell(text: str) -> ForeignSource:
    """A shell script: the options of its first command that names a trainer, else of its first with options.

    Raises:
        InvalidConfig: it has no command with options, is too long, or starts what is not imported.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidConfig([Problem("", TOO_LONG.format(MOST_CHARACTERS))])
    commands = list(_Shell().commands(text))
    if any(OPENRLHF_OR_VERL.search(word.text) for words in commands for word in words if word.text[:2] != "--"):
        raise InvalidConfig([Problem("", NOT_THESE)])
    started = [words for words in commands if _kind(words)]
    with_options = [words for words in commands if any(word.text.startswith("--") for word in words)]
    if not started and not with_options:
        raise InvalidConfig([Problem("", NO_COMMAND)])
    words = [*started, *with_options][0]
    program = _program(words)
    others = [label for pattern, label in LIBRARIES.items() if re.search(pattern, program)]
    if not started and OTHERS_OF_TRL.search(program):
        others.append("another trainer of TRL")
    if others:
        raise refused(others[0], program)
    source = ForeignSource(_options(words), kind=_kind(words), is_command=True)
    if processes := PROCESSES.search(" ".join(word.text for word in words)):
        many = processes.group(1)
        source.remarks.append(f"The command starts {many} processes: their batch was {many} times the one here.")
    if source.settings and all(item.name == "config" for item in source.settings):
        raise InvalidConfig([Problem("", IN_A_FILE.format(source.settings[0].value))])
    if len(started) > 1:
        source.remarks.append(SEVERAL)
    return source


class _Shell:
    """A shell script, as far as its variables go."""

    def __init__(self) -> None:
        self.variables: dict[str, list[str] | None] = {}  # the words of each; None: it has no one value
        self.depth = 0  # of `if` and loops
        self.depends = False  # on the command before, as after `&&`
        self.room = 10 * MOST_CHARACTERS  # for what variables stand for

    def commands(self, text: str) -> Iterator[list[Word]]:
        """Each command with its variables filled in, but for those that set a variable."""
        words: list[Word] = []
        unread, start, opened = "", 0, 0
        for number, line in enumerate([*text.split("\n"), ""], 1):
            start = start if unread else number
            unread = (unread + line).rstrip()
            goes_on = unread.endswith("\\")
            try:
                found = _split(unread.removesuffix("\\"))
            except ValueError:
                if (
                    OPEN_QUOTATION.search(unread) and unread.count("\n") < MOST_LINES
                ):  # it goes on; not the apostrophe of a sentence
                    unread = unread.removesuffix("\\") + "\n"
                    continue
                found = unread.removesuffix("\\").split()
            unread = ""
            for word in found:
                if word.strip(";&|<>"):
                    words.append(Word(start, word))
                else:
                    yield from self._command(words)
                    words, self.depends = [], word in ("&&", "||")
            opened += found.count("(") - found.count(")")
            if not goes_on and opened <= 0:
                yield from self._command(words)
                words, opened, self.depends = [], 0, False

    def _command(self, words: list[Word]) -> Iterator[list[Word]]:
        """A command with its variables filled in; nothing of one that sets variables."""
        names = [word.text for word in words]
        self.depth += DEPTH.get(names[0], 0) if names else 0
        if names[:1] == ["for"]:
            self.variables[" ".join(names[1:2])] = None
        start = next((at for at, name in enumerate(names) if name not in BEFORE_A_COMMAND), 0)
        while start < len(words) and (match := ASSIGNED.fullmatch(names[start])):
            value = [Word(words[start].line, match.group(3))]
            start += 1
            if names[start : start + 1] == ["("] and ")" in names[start:] and not match.group(3):
                end = names.index(")", start)
                value, start = words[start + 1 : end], end + 1
            self._set(match.group(1), [word.text for word in self._filled(value)], adds=bool(match.group(2)))
        if filled := self._filled(words[start:]):
            yield filled

    def _set(self, name: str, words: list[str], *, adds: bool) -> None:
        before = self.variables.get(name, [])
        goes_on = " ".join([*words, ""]).startswith(" ".join([*(before or []), ""]))  # ARGS="$ARGS --more"
        if (self.depth > 0 or self.depends) and adds and before:
            self.variables[name] = [*before, f"${{{name}+=({' '.join(words)})}}"]  # which nothing fills in
        elif self.depth > 0 or self.depends or before is None or (before and not adds and not goes_on):
            self.variables[name] = None
        else:
            self.variables[name] = [*before, *words] if adds else words

    def _filled(self, words: list[Word]) -> list[Word]:
        """Words with their variables filled in: one that stands for options becomes all of them."""
        filled: list[Word] = []
        for line, text in words:
            whole = VARIABLE.fullmatch(text)
            known = self.variables.get(whole.group(1) or whole.group(3)) if whole else None
            texts = [self._text(text)]
            if known is not None and (len(known) != 1 or known[0].startswith("-")):
                texts = [part for word in known for part in (word.split() if word.startswith("-") else [word])]
            self.room -= sum(map(len, texts))
            if self.room < 0:
                raise InvalidConfig([Problem("", TOO_LONG.format(MOST_CHARACTERS))])
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
    words = shlex.shlex(re.sub(r"(?<=\s)\d(?=>)", "", line), posix=True, punctuation_chars=";&|()<>")
    words.whitespace_split = True
    return [part for word in words for part in ([word] if word.strip("()") else word)]


def _program(words: list[Word]) -> str:
    """What a command runs: its script or module, or what follows `trl`."""
    names = [word.text for word in words]
    scripts = [name for name in names if name.endswith(".py") and not name.startswith("-")]
    after = [names[at + 1] for at, name in enumerate(names[:-1]) if name in ("-m", "trl")]
    return [*scripts, *after, *names][0][:MOST_OF_A_WORD]


def _kind(words: list[Word]) -> str:
    """Which trainer a command starts; "" for another command."""
    program = _program(words)
    if "llamafactory" in program or program.endswith("train_bash.py"):
        return "llamafactory"
    found = COMMANDS.search(program)
    is_one = program.endswith(".py") or "trl" in [word.text for word in words]
    return KINDS[found.group(1)] if found and is_one else ""


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
        elif not name and word.text.endswith((".yaml", ".yml", ".json")):
            found.append(ForeignSetting("config", word.text, word.line))
        else:
            values.append(word.text)
    return found


def _setting(name: str, values: list[str], line: int) -> ForeignSetting:
    for value in values:
        if "$" in value:
            return ForeignSetting(name, value, line, problem=NO_VALUE)
    if not values and name.startswith("no_") and name != "no_cuda":  # as transformers switches a default off
        return ForeignSetting(name.removeprefix("no_"), False, line)
    read = [_value(value) for value in values or ["true"]]
    return ForeignSetting(name, read[0] if len(read) == 1 else read, line)


def _value(word: str) -> Any:
    if NUMBER.fullmatch(word):
        return float(word) if re.search("[.eE]", word) else int(word)
    return {"true": True, "false": False, "none": None, "null": None}.get(word.lower(), word)

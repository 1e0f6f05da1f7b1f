"""Settings of other trainers as a configuration of ours, with a report on each. The file is parsed, never run."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from playground import plain_files
from playground.config import RunConfig
from playground.config.yaml_io import from_dict
from playground.errors import InvalidConfig, Problem
from playground.imports import python_source, roles, rules, sizes, text_source
from playground.imports.found import ForeignSource
from playground.imports.translation import DIALECTS, ReportLine, Translation, dialect_of, version_of

MOST_BYTES = 2_000_000
MOST_TEXTS = 100  # of a script, in which its command is looked for
MOST_SETTINGS = 500  # and calls; TRL's largest class has some 200
KINDS = "a Python script (.py), a notebook (.ipynb), YAML or JSON (.yaml, .json), or a shell script (.sh)"
VERSION = re.compile(r"\btrl\s*(?:\[[\w,]+\])?\s*(?:==|~=|<=)\s*(\d{1,3}(?:\.\d{1,3}){0,2})")
SIZES = ("ppo.batch_size", "ppo.minibatch_size", "ppo.micro_batch_size", "ppo.samples_per_prompt")
ORDER = "name seed method device model reference prompts rewards score sampling ppo kl trackers".split()
OF_ITS_COMMAND = "The settings are those of the command that the script's own text gives as its example."
OUR_SIZES = "ppo.batch_size and its parts: those of the file do not divide each other; ours stand there now."


class Imported(NamedTuple):
    """What has become of a file. `data`: the settings that differ from our defaults or were said, as plain data."""

    config: RunConfig
    data: dict[str, Any]
    work: Translation

    def yaml_text(self, name: str) -> str:
        """For `train`, with what has to be filled in on top."""
        lines = [f"Made from {name} ({self.work.label}) by `python -m playground import`."]
        lines += [f"Fill in or check: {line}" for line in self.work.fill_in]
        head = "".join(f"# {_one_line(line)}\n" for line in lines)
        return head + yaml.safe_dump(self.data, sort_keys=False, allow_unicode=True, width=120)

    def report(self) -> list[tuple[str, list[ReportLine]]]:
        """The headings and their lines; empty ones left out."""
        work = self.work
        aside = [ReportLine(", ".join(sorted({*work.aside})))] if work.aside else []
        found = [
            ("What each setting became", work.became),
            (f"Not named in the file, so what {work.label.partition(',')[0]} takes", work.assumed),
            ("Has no equal here", work.no_equal),
            ("Not understood", work.not_understood),
            ("About the machine, the log or the hub; nothing is learned from it", aside),
            ("Fill in or check", [ReportLine(text) for text in work.fill_in]),
            ("Beside that", [ReportLine(text) for text in work.source.remarks]),
        ]
        return [(heading, lines) for heading, lines in found if lines]


def read(path: Path) -> Imported:
    """A file from elsewhere as settings of ours, which `train` takes.

    Raises:
        InvalidConfig: it cannot be read, or is nothing that is known here.
    """
    source = _source(path)
    if max(len(source.settings), len(source.calls)) > MOST_SETTINGS:  # for each a name that is like it is looked for
        raise InvalidConfig([Problem("", f"This file has more than {MOST_SETTINGS} settings or calls.")])
    for item in source.settings:
        try:
            str(item)
        except ValueError:
            raise InvalidConfig([Problem(item.name[:60], "has a number of thousands of digits.")]) from None
    work = Translation(source, dialect_of(source))
    words = "".join(char if char.isalnum() else " " for char in path.stem.lower()).split()
    work.data["name"] = "-".join(words)[:60] or "imported"
    if (method := DIALECTS[work.dialect]["method"]) != "ppo":
        work.data["method"] = method
    work.translate_each()
    for part in (sizes, roles, rules):
        part.translate(work)
    config, data = _loadable(work)
    work.say_the_rest()
    return Imported(config, data, work)


def _source(path: Path) -> ForeignSource:
    try:
        data = plain_files.read_bytes(path, MOST_BYTES, links=True)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidConfig([Problem("", f"Cannot read {path}: {reason}. It must be {KINDS}.")]) from None
    readers = {".py": _of_python, ".ipynb": python_source.read_notebook}
    readers |= dict.fromkeys((".yaml", ".yml", ".json"), text_source.read_mapping)
    readers |= dict.fromkeys((".sh", ".bash", ".txt"), text_source.read_shell)
    if path.suffix not in readers:
        raise InvalidConfig([Problem("", f"Cannot read {path}: it must be {KINDS}.")])
    found = readers[path.suffix](text)
    if found.kind == "PPOv2Config":
        found.version = (0, 11)  # which had the last class of that name
    if version := VERSION.search(text):
        found.version = version_of(version.group(1))
        found.remarks.append(f"The file is for TRL {version.group(1)}, so its defaults are those of that version.")
    return found


def _of_python(text: str) -> ForeignSource:
    """A script that takes all its settings from the command line often says in its own text how it is started."""
    script = python_source.read(text)
    known = script.kind in (*python_source.CONFIGS, "loop")
    for said in [] if known else python_source.texts(text)[:MOST_TEXTS]:
        with contextlib.suppress(InvalidConfig):
            found = text_source.read_shell(said)
            if found.kind:
                found.remarks.append(OF_ITS_COMMAND)
                found.calls = script.calls
                return found
    return script


def _loadable(work: Translation) -> tuple[RunConfig, dict[str, Any]]:
    """The settings without those that our own rules refuse, each of which is reported. Raises: InvalidConfig."""
    while True:
        data = _nested(work.data)
        try:
            return from_dict(data), data
        except InvalidConfig as error:
            refused = [(problem.message, _field_of(problem.field, work.data)) for problem in error.problems]
            if not any(name for _, name in refused):
                raise
            for why, name in refused:
                if name in work.data:
                    _refuse(work, name, why)
                if name in SIZES:  # they go together: ours alone would not divide theirs
                    for other in SIZES:
                        if other in work.data:
                            _refuse(work, other, "the sizes of a batch go together.")
                    work.fill_in.append(OUR_SIZES)


def _refuse(work: Translation, name: str, why: str) -> None:
    """Leave a field of ours out, and say so of the setting that it came from."""
    value = work.data.pop(name)
    said = [line for line in (*work.became, *work.assumed) if line.ours.startswith(f"{name}:")]
    if said or name not in SIZES:
        work.leave(said[0].theirs if said else "the file", f"our own rules refuse {name} {value}: {why}")
    work.became = [line for line in work.became if line not in said]
    work.assumed = [line for line in work.assumed if line not in said]


def _field_of(field: str, data: dict[str, Any]) -> str:
    """Which of the settings a problem is about: itself, or the group that it lies in."""
    parts = field.split(".")
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((name for name in names if name in data and name != "rewards"), "")


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {"format": 1}
    for name in sorted(flat, key=lambda name: ORDER.index(name.split(".")[0])):
        *groups, last = name.split(".")
        inner = nested
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = flat[name]
    return nested


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())

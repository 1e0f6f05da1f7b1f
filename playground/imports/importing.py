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
from playground.errors import InvalidConfig
from playground.imports import python_source, roles, rules, text_source
from playground.imports.dialects import dialect_of
from playground.imports.found import SETTINGS, ForeignSource
from playground.imports.tables import WORDS, refusal, version_of
from playground.imports.translation import ReportLine, Translation

MOST_BYTES = 2_000_000
MOST_TEXTS = 100  # of a script, in which its command is looked for
MOST_SETTINGS = 500  # with arguments of calls twice that: for each a name like it is looked for
VERSION = re.compile(r"\btrl\s*(?:\[[\w,]+\])?\s*(?:==|~=|<=)\s*(\d{1,3}(?:\.\d{1,3}){0,2})")
SAID = re.compile(r"#.*\b(PPO|RLOO|GRPO|DPO) ?(?:Config|[Tt]rainer)\b")  # a comment that names the trainer
SIZES = ("ppo.batch_size", "ppo.minibatch_size", "ppo.micro_batch_size", "ppo.samples_per_prompt")


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
        sections = [
            ("What each setting became", work.became),
            (f"Not named in the file, so what {work.label.partition(',')[0]} takes", work.assumed),
            ("Has no equal here", work.no_equal),
            ("Not understood", work.not_understood),
            ("About the machine, the log or the hub; nothing is learned from it", aside),
            ("Fill in or check", [ReportLine(text) for text in work.fill_in]),
            ("Beside that", [ReportLine(text) for text in work.source.remarks]),
        ]
        return [(heading, lines) for heading, lines in sections if lines]


def read(path: Path) -> Imported:
    """A file from elsewhere as settings of ours, which `train` takes.

    Raises:
        InvalidConfig: it cannot be read, or is nothing that is known here.
    """
    source = _source(path)
    settings = [item for item in source.settings if item.owner in SETTINGS]
    if len(settings) > MOST_SETTINGS or len(source.settings) > 2 * MOST_SETTINGS:
        raise refusal("too-many", MOST_SETTINGS)
    try:
        [str(item) for item in source.settings]
    except ValueError:
        raise refusal("digits") from None
    work = Translation(source, dialect_of(source))
    work.translate_each()
    title = re.sub(r"[\W_]+", "-", path.stem.lower()).strip("-")
    work.data.setdefault("name", title[:60] or "imported")
    if work.method != "ppo":
        work.data["method"] = work.method
    for field, value in work.spec.get("always", {}).items():
        work.set(work.label, field, value)
    rules.translate_sizes(work)
    roles.translate(work)
    rules.translate(work)
    config, data = _loadable(work)
    work.say_the_rest()
    return Imported(config, data, work)


def _source(path: Path) -> ForeignSource:
    readers = {".py": _of_python, ".ipynb": python_source.read_notebook}
    readers |= dict.fromkeys((".yaml", ".yml", ".json"), text_source.read_mapping)
    readers |= dict.fromkeys((".sh", ".bash", ".txt"), text_source.read_shell)
    try:
        text = plain_files.read_bytes(path, MOST_BYTES, links=True).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise refusal("unreadable", path, reason) from None
    if path.suffix not in readers:
        raise refusal("unreadable", path, "its name ends otherwise")
    source = readers[path.suffix](text)
    if not source.kind and readers[path.suffix] is text_source.read_mapping and (said := SAID.search(text)):
        source.kind = f"{said.group(1)}Config"
    source.kind = source.default_kind or source.kind
    if source.kind == "PPOv2Config":
        source.version = (0, 11)  # which had the last class of that name
    if version := VERSION.search(text):
        source.version = version_of(version.group(1))
        source.remarks.append(f"The file is for TRL {version.group(1)}, so its defaults are those of that version.")
    return source


def _of_python(text: str) -> ForeignSource:
    """A script that takes all its settings from the command line often says in its own text how it is started."""
    script = python_source.read(text)
    if script.kind in (*python_source.CONFIGS, "loop"):
        return script
    for script_text in python_source.texts(text)[:MOST_TEXTS]:
        with contextlib.suppress(InvalidConfig):
            shell_source = text_source.read_shell(script_text)
            if shell_source.kind:
                shell_source.remarks.append(WORDS["of-its-command"])
                shell_source.settings[:0] = [item for item in script.settings if item.owner]
                shell_source.called = script.called
                return shell_source
    return script


def _loadable(work: Translation) -> tuple[RunConfig, dict[str, Any]]:
    """The settings without those that our own rules refuse, each of which is reported. Raises: InvalidConfig."""
    while True:
        data = _nested(work.data)
        try:
            return from_dict(data), data
        except InvalidConfig as error:
            refused = {_field_of(problem.field, work.data): problem.message for problem in error.problems}
            if refused.keys() == {""}:
                raise
            for name, why in refused.items():
                for part in SIZES if name in SIZES else [name]:  # ours alone would not divide theirs
                    if part in work.data:
                        work.take_back(part, f"our own rules refuse {name} {work.data[part]}: {why}")
                if name in SIZES:
                    work.fill_in.append(WORDS["our-sizes"])


def _field_of(field: str, data: dict[str, Any]) -> str:
    """Which of the settings a problem is about: itself, or the group that it lies in."""
    while field and (field not in data or field == "rewards"):
        field = field.rpartition(".")[0]
    return field


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {"format": 1}
    for name, value in flat.items():
        *groups, last = name.split(".")
        inner = nested
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return {name: nested[name] for name in RunConfig.model_fields if name in nested}


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())

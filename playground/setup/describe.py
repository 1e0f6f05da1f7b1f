"""Settings and runs in words: a setting's value, a reward, what a run is called, and how it differs from its preset.

Knows the configuration and the catalog, nothing of runs or pages, which all describe a run from here.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, get_args

from playground.config import REWARD_CLASSES, RunConfig, differences, flatten, knobs, methods
from playground.config import faults as mistakes
from playground.models.architectures import FROM_PYPI
from playground.setup import catalog

DIGEST_CHARACTERS = 12  # of an uploaded file, at the beginning of the name under which it is kept
UPLOADED = re.compile(rf"[0-9a-f]{{{DIGEST_CHARACTERS}}}-(.+)")
REWARD_LISTS = ("rewards", "judges")
SCALE = (
    "rewards",
    "score",
    "model",
    "reference",
    "prompts",
    "sampling",
)  # groups of what `scores_differ` knows
SOURCES = ("model.source", "reference.source", "prompts.source", "evaluation.prompts", "evaluation.text")
WORDS_FOR_NOTHING = {
    "prompts.column": "the usual one",
    "prompts.subset": "the default one",
    "model.revision": "newest",
    "behaviours": "those that suit the prompts",
}
LEAST_SHARE = 0.02  # below, nobody knows how long the rest takes
MAX_SHOWN_CHARACTERS = 32  # of an expression in a label
MOST_CHARACTERS = 48  # of one difference in a sentence
MOST_DIFFERENCES = 3  # in a sentence
_BRACKETS = re.compile(r" \(.*?\)(?= \+ |$)")  # what a reward is told with, where there is no room for it
FROM_AFAR = ", from PyPI"  # in the label of a model, not in the name of a run
MOST_IN_NAME = 80  # characters, as of a name that is typed
MOST_IN_PART = 26  # of what differs, in it
NAMED_FIRST = ("model.source", "rewards", "kl.coef", "ppo.learning_rate")  # in the name of a run, of so many parts
OTHERS = {"prompts.source", "prompts.typed", "rewards"}  # where one is another, the title of its preset tells nothing
# what changes nothing of what is learned: who is followed, looked at or kept, and where it is computed
WITHOUT_EFFECT = tuple(
    "seed device ranks shard max_minutes judges trackers behaviours ppo.micro_batch_size "
    "model.gradient_checkpointing evaluation. checkpoint.".split()
)
FIRST = ("method", "engine", "model.source", "prompts.source", "kl.coef", "kl.controller", "rewards")  # in a sentence
PHRASES = {
    "kl.coef": "leash {}",
    "kl.controller": "{} leash",
    "ppo.num_updates": "{} updates",
    "sampling.max_new_tokens": "{} tokens at most",
    "prompts.limit": "{} prompts",
    "prompts.typed": "{} of your own",
}  # field -> how a sentence says it, where not as "label value"


class Description(NamedTuple):
    """A run in words: the title of its preset, and how it differs from that (`what`). The rest is of the
    preset, and empty once something that matters differs, for it no longer holds."""

    what: str
    story: str
    expect: str
    preset: str

    def line(self, title: str) -> str:
        """What it is in a line below its title."""
        if self.what in ("", title):
            return self.story
        if not self.story:
            return f"{self.what}."
        return f"{self.what}: {self.story}"


def title_of(config: RunConfig) -> str:
    """What a run is called before it is renamed: by the name or the title that was typed, else by its preset's title
    and how it differs from that; where it learns something else, by the differences alone."""
    title, preset = config.about.title, catalog.preset_of(config)
    if config.name not in given_names():
        return config.name
    if title and (preset is None or preset.about.title != title):
        return title
    own = config.name in catalog.every_preset_name()
    base = preset or catalog.preset(config.name if own else catalog.DEFAULT_PRESET)
    changed = _that_differ(config, base)
    if not changed or config.faults:
        return title or config.name
    if OTHERS & changed.keys():
        title = ""
    return name_of({field: changed[field][1] for field in (*NAMED_FIRST, *changed) if field in changed}, title)


def given_names() -> set[str]:
    """The names of runs that nobody has typed."""
    return {str(RunConfig.model_fields["name"].default), *catalog.every_preset_name()}


def name_of(values: Mapping[str, Any], begin: str = "") -> str:
    """Settings as the name of a run: "my-gpt2 \u00b7 polite-judge \u00b7 leash 0.05"."""
    parts = [_part_of_name(field, value) for field, value in values.items()][: len(NAMED_FIRST)]
    return " \u00b7 ".join(filter(None, [begin, *parts]))[:MOST_IN_NAME]


def _part_of_name(field: str, value: Any) -> str:
    if field == "rewards":
        words = " + ".join(map(_name_of_reward, value))
    elif field in SOURCES:
        words = in_words(field, value).removesuffix(FROM_AFAR)
        if " " not in words:
            words = PurePosixPath(words).name
    else:
        words = _phrase(field, None, value)
    if len(words) > MOST_IN_PART:
        words = _BRACKETS.sub("", words)
    if len(words) > MOST_IN_PART:
        words = f"{words[: MOST_IN_PART - 3].rstrip()}..."
    return words


def _name_of_reward(reward: Mapping[str, Any]) -> str:
    """By what is its own, or else by its kind."""
    source = PurePosixPath(reward.get("source") or "").name
    words = ", ".join(reward.get("words") or ())
    for name in (source, reward.get("expression"), words, reward.get("function")):
        if name:
            return str(name)
    return _lowered(reward_in_words(reward))


def changed_on_the_way(what: str, config: RunConfig, edits: Sequence[tuple[int, str, Any]]) -> str:
    """What a run is, with what was changed while it trained: (updates done, field, value) in order."""
    values, phrases = flatten(config), []
    for update, field, value in edits[:MOST_DIFFERENCES]:  # of the others only their number is given
        phrases.append(f"{_phrase(field, values.get(field), value)} after update {update}")
        values[field] = value
    if not phrases:
        return what
    changed = f"changed while it trained: {listed([*phrases, *[''] * (len(edits) - len(phrases))])}"
    if what:
        return f"{what}, {changed}"
    return f"C{changed[1:]}"


def of(config: RunConfig) -> Description:
    """What a run is: the preset it comes from, but for what differs; else its own words."""
    about, preset = config.about, catalog.preset_of(config)
    if preset is None:
        return Description(about.title, about.story, about.expect, "")
    changed = differences_in_words(config, preset)
    if not changed:
        return Description(about.title, about.story, about.expect, preset.name)
    return Description(f"{about.title}, changed: {listed(changed)}", "", "", "")


def wrong_on_purpose(config: RunConfig) -> str:
    """What to know before one believes a run with `experiments: true`, in a sentence; empty for any other."""
    if not config.experiments:
        return ""
    if not config.faults:
        return "An experiment: planted mistakes are allowed here, though there is none in this run."
    words = mistakes.HIDDEN
    if mistakes.DRAWN not in config.faults:
        words = " ".join(mistakes.FAULTS[fault] for fault in config.planted)
    return f"Wrong on purpose: {words}"


def differences_in_words(config: RunConfig, preset: RunConfig) -> list[str]:
    """What differs and has an effect, each in a few words, what matters most first."""
    return [_phrase(field, *pair) for field, pair in _that_differ(config, preset).items()]


def _that_differ(config: RunConfig, preset: RunConfig) -> dict[str, tuple[Any, Any]]:
    """The same as fields, with their values there and here."""
    fields = {field: pair for field, pair in differences(config, preset).items() if _has_effect(field, config, preset)}
    if "prompts.typed" in fields:
        fields.pop("prompts.source", None)  # it says no more than that
    if fields.get("prompts.column", [None])[-1] == "prompt":
        fields.pop("prompts.column")  # a file that has it is read there anyway
    order = [*(field for field in FIRST if field in fields), *(field for field in fields if field not in FIRST)]
    return {field: fields[field] for field in order}


def listed(phrases: Sequence[str], most: int = MOST_DIFFERENCES) -> str:
    """Some phrases as a part of a sentence: "a", "a and b", "a, b and c", "a, b, c and 2 more"; of none: ""."""
    listed_phrases, more = list(phrases[:most]), len(phrases) - most
    if more > 0:
        listed_phrases.append(f"{more} more")
    return " and ".join(filter(None, [", ".join(listed_phrases[:-1]), *listed_phrases[-1:]]))


def count_of(number: int, singular: str, plural: str = "") -> str:
    """A number with its word: "1 run", "1,200 runs"."""
    if number == 1:
        return f"1 {singular}"
    return f"{number:,} {plural or singular + 's'}"


def are_of_the_scale(fields: Iterable[str]) -> bool:
    """Whether a value of one of these fields makes another scale of the score, as far as their names say: then the gain
    of one setting is no more or less than that of another. `scores_differ` knows the values."""
    return any(field.partition(".")[0] in SCALE for field in fields)


def scores_differ(configs: Sequence[RunConfig]) -> str:
    """Why the scores of some runs are not one measure, in a sentence; empty where they are. Standard deviations are of
    the reference's texts, so who wrote those, and to what, makes the unit."""
    if any(config.kind == "watched" for config in configs) and len(configs) > 1:
        return "What a watched run is scored by is not known, so their scores may not be on the same scale."
    measures = {
        "rewards": lambda config: config.rewards,
        "scales of the score": lambda config: (config.score, config.sampling.missing_eos_penalty),
    }
    if any(config.score.normalise == "reference" for config in configs):
        measures |= {
            "models": lambda config: (config.model.source, config.model.revision),
            "references": lambda config: config.reference,
            "prompts": lambda config: config.prompts,
            "sampling settings": lambda config: config.sampling,
        }
    parts = [name for name, of in measures.items() if any(of(config) != of(configs[0]) for config in configs)]
    if not parts:
        return ""
    return f"Their {listed(parts, len(parts))} differ, so their scores are not on the same scale."


def in_words(field: str, value: Any) -> str:
    """A value for reading: three significant digits, names instead of codes."""
    if field in REWARD_LISTS:
        return ", ".join(reward_in_words(reward) for reward in value or []) or "none"
    if value is None or value == "":
        return WORDS_FOR_NOTHING.get(field, "off")
    if field == "method":
        return methods.METHODS[value].label
    if field == "behaviours":
        return ", ".join(behaviour["words"] for behaviour in value) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.3g}"
    if field == "prompts.typed":
        return f"{len(value)} prompts"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {json.dumps(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    labels = {choice.name: choice.label for choice in (*catalog.MODELS, *catalog.PROMPT_SETS)}
    labels[FROM_PYPI.name] = FROM_PYPI.label
    label = str(value)
    if field in SOURCES:
        label = source_label(label)
    return labels.get(str(value), label)


def two_digits(value: float) -> str:
    """A figure with two significant digits, and no power of ten where it is large: 0.51, 9.3, 130."""
    return f"{float(f'{value:.2g}'):,g}"


def duration(seconds: float) -> str:
    """Seconds as a person says them, here as on the page (core/format.js): 0.4 s, 75 s, 3 min 05 s, 2 h 10 min."""
    if 0 < seconds < 1.95:
        return f"{seconds:.1f} s"
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def roughly(seconds: float) -> str:
    """The same of what is not known well: a few seconds, some 40 seconds, about a minute, some 6 minutes."""
    if seconds < 15:
        return "a few seconds"
    if seconds < 55:
        return f"some {round(seconds, -1):.0f} seconds"
    if seconds >= 90:
        return f"some {round(seconds / 60)} minutes"
    return "about a minute"


def progress(phase: str, share: float, seconds: float) -> str:
    """How far something is after so many seconds, and how long it will still take, if that can be said."""
    share = min(share, 1.0)
    if share < LEAST_SHARE:
        return f"{phase}, {100 * share:.0f} % done"
    return f"{phase}, {100 * share:.0f} % done, about {duration(seconds * (1 - share) / share)} left"


def source_label(source: str) -> str:
    """A source for reading: of an uploaded file the name that it had, of others without the folders of this machine."""
    path = Path(source)
    if path.parent.name == catalog.UPLOADS and (match := UPLOADED.fullmatch(path.name)):
        return match.group(1)
    if path.is_absolute():
        return path.name
    return source


def reward_in_words(reward: Mapping[str, Any]) -> str:
    """One reward for reading, for example "0.5 x Length (target 20)"."""
    text, weight = reward_label(reward), reward.get("weight", 1.0)
    if weight != 1:
        text = f"{weight:g} x {text}" if isinstance(weight, (int, float)) else f"{weight} x {text}"
    if details := reward_details(reward):
        text += f" ({'; '.join(details)})"
    return text


def reward_label(reward: Mapping[str, Any]) -> str:
    """What a reward is called, with its model where it has one."""
    names = {choice.name: choice.label for choice in catalog.REWARDS}
    label, source = names.get(str(reward.get("kind")), str(reward.get("kind"))), str(reward.get("source") or "")
    if source:
        label += f" {PurePosixPath(source).name}"
    return label


def reward_details(reward: Mapping[str, Any]) -> list[str]:
    """What is not as it usually is, for example "target 20"."""
    fields = getattr(REWARD_CLASSES.get(str(reward.get("kind"))), "model_fields", {})
    details = []
    for key, value in reward.items():
        if key in ("kind", "weight", "source", "code", "file") or value in (None, "", False):
            continue
        if isinstance(value, list):
            value = tuple(value)
        if key in ("expression", "question"):
            details.append(textwrap.shorten(str(value), MAX_SHOWN_CHARACTERS, placeholder=" ..."))
        elif key == "function":
            details.append(str(value).rpartition(":")[2])
        elif key == "normalise":
            details.append("on the reference's scale")
        elif key not in fields or value != fields[key].default:
            words = ", ".join(value) if isinstance(value, tuple) else value
            is_option = key in fields and isinstance(value, str) and value in options_in(fields[key].annotation)
            details.append(str(words) if is_option else f"{key} {words}")
    return details


def options_in(annotation: Any) -> list[str]:
    """The names that a field of a closed list may have."""
    return [item for item in get_args(annotation) if isinstance(item, str)]


def _has_effect(field: str, config: RunConfig, preset: RunConfig) -> bool:
    """Whether a difference changes what is learned: not what is left unread, nor what follows from the method."""
    if field.startswith(WITHOUT_EFFECT) or unread(field, config):
        return False
    if config.method == preset.method:
        return True
    chosen = methods.chosen(config.method)
    group, _, name = field.partition(".")
    return field not in chosen or chosen[field] != getattr(getattr(config, group), name)


def unread(field: str, config: RunConfig) -> str:
    """Why a run of this configuration does not read a field; empty where it does."""
    if methods.unused(config.method, field):
        return f"method {config.method} does not read it"
    if field.startswith("model.adapter.") and field != "model.adapter.kind" and config.model.adapter.kind == "none":
        return "model.adapter.kind is none"
    if field in {"fixed": ("kl.target", "kl.horizon"), "adaptive": ("kl.horizon",)}.get(config.kl.controller, ()):
        return f"kl.controller is {config.kl.controller}"
    return ""


def _phrase(field: str, before: Any, after: Any) -> str:
    """One difference, for example "leash 1.5", "a Python function as reward", "other rewards"."""
    label = field.replace("_", " ").replace(".", " ")
    if field in knobs():
        label = knobs()[field]["label"]
    label, value = _lowered(label), in_words(field, after)
    if value == in_words(field, before):
        return f"other {label}"
    if field == "rewards":
        value = " + ".join(map(reward_in_words, after))  # not at a comma of an expression or a list of words
    if len(value) > MOST_CHARACTERS:
        value = _BRACKETS.sub("", value)
    value = textwrap.shorten(value, MOST_CHARACTERS, placeholder=" ...")
    if field == "rewards":
        words = _lowered(value)
        if len(after) > 1:
            return f"rewards {words}"
        if after[0]["kind"] == "model":
            return words
        return f"{words} as reward"
    if field in PHRASES:
        return PHRASES[field].format(value)
    return f"{label} {value}"


def _lowered(text: str) -> str:
    """With a small letter at the beginning, where that is no name: length, LoRA rank, Python function."""
    first = text.split(" ", 1)[0]
    if first == "Python" or not first[1:].islower():
        return text
    return text[0].lower() + text[1:]

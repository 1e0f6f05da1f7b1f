"""What a user can pick: presets, models, prompt sets and rewards, each with one line of help. Loads no model.

A model is included, a local folder, the real model that a person gets once (`real_model`), or an id of the hub, which a
run downloads first. The included ones are listed in choices.toml; a preset's YAML file holds its settings and what is
said about it.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from playground import PROJECT_FILES, plain_files
from playground.config import RUN_ID, RunConfig, yaml_io
from playground.config.faults import DRAWN
from playground.errors import InvalidConfig, ModelNotFound, ModelNotHere, Problem
from playground.models import adapter_files, hub, model_files, real_model
from playground.models.architectures import BY_NAME, CURATED
from playground.models.model_files import ModelFiles, Use
from playground.pocket import annotators

PRESETS = PROJECT_FILES / "presets"
MODEL_PRESETS = PRESETS / "models"  # one for each suggested model of the hub
LESSON_PRESETS = PRESETS / "lessons"  # runs that only a lesson needs
POCKET_MODELS = Path(__file__).resolve().parents[1] / "pocket" / "models"
RECORDED = POCKET_MODELS.parents[1] / "ui" / "recorded"  # a finished run of each preset, in a folder named after it
MYSTERIES = RECORDED.with_name("mysteries")  # finished mystery runs (playground.lessons.mysteries)
POCKET_REWARD_MODELS = POCKET_MODELS.with_name("reward_models")
DEFAULT_PRESET = "kinder-reviews"
HELD_OUT_TEXTS = ("pocket", "english")  # that ship, for `evaluation.text`
MAX_CARD_BYTES = 20_000_000
MOST_ADAPTERS = 4  # that may stand on one another
MOST_NAMED = 12  # of what there is, where a name is not among it
INCLUDED = "Included"  # the group of the presets that ship with their model
REAL_GROUP = "A real chat model"  # of the experiments on it
LESSON_GROUP = "Of the lessons"
DOWNLOADS, NEEDS_GPU = "Downloads a model or data first", "Downloads a model, needs a GPU"
START = "start"  # the reference that is the model before training
TYPED = "typed"  # the prompt source that is typed into the configuration
REWARD_MODELS = "reward-models"  # the folder in the outputs folder that holds reward models trained here
UPLOADS = "uploads"  # the same, of files of prompts or pairs that came through the page
REAL_REWARD_MODELS = ("real-agreeable", "real-honest")  # of the experiments on a real chat model; they do not ship
TRAIN_REAL = 'make real ARGS="--only judges"'  # makes both
JUDGES = PRESETS / "judges"  # settings of reward models that presets name and that do not ship
REWARD_CARD = "reward.json"  # written last: a reward model is complete once it is there


class Choice(NamedTuple):
    """One thing to pick: the name that goes into the configuration, a label to read, one line of help."""

    name: str
    label: str
    help: str
    size: str = ""
    licence: str = ""
    knows: str = ""


_SHIPPED = tomllib.loads(Path(__file__).with_name("choices.toml").read_text(encoding="utf-8"))
MODELS, PROMPT_SETS, REWARDS = (
    tuple(Choice(**item) for item in _SHIPPED[name]) for name in ("models", "prompt_sets", "rewards")
)
ANNOTATORS = tuple(Choice(name, name.capitalize(), community.help) for name, community in annotators.ANNOTATORS.items())
MODEL_NAMES = tuple(model.name for model in MODELS)


class Story(NamedTuple):
    """What a preset's file says about it beside its settings (`story`): its place in the story, from 1 (0 outside of
    it), the earlier preset to compare it with, what to look for, and what runs of it came to (`setup.expected`). Of a
    suggested model: the experiment that its settings are of, and how they were derived where that is another model."""

    preset: str
    folder: Path = PRESETS
    number: int = 0
    against: str = ""
    look: str = ""
    needs_gpu: bool = False
    measured_by: str = ""
    derived: str = ""
    bands: Mapping[str, Sequence[float]] = {}


@functools.cache
def stories() -> dict[str, Story]:
    """Every preset by its name: those of the story in its order, others by name, those that only a lesson needs, those
    of suggested models. A story is the last part of a file, before which nothing is parsed here."""
    paths = [*sorted(PRESETS.glob("*.yaml")), *sorted(LESSON_PRESETS.glob("*.yaml"))]
    paths += [MODEL_PRESETS / f"{model.preset}.yaml" for model in CURATED]
    by_name = {}
    for path in paths:
        text = path.read_text(encoding="utf-8").partition(f"\n{yaml_io.STORY}:")[2]
        by_name[path.stem] = Story(path.stem, path.parent, **(yaml.safe_load(text) or {}))
    return dict(sorted(by_name.items(), key=lambda item: item[1].number or len(paths)))


def in_story() -> list[Story]:
    """The presets that are told as one story: those that ship with their model, then those on a real chat model."""
    return [story for story in stories().values() if story.number]


def preset_names() -> list[str]:
    """Names of the presets that ship, but for those of lessons and of suggested models."""
    return _names_in(PRESETS)


def lesson_preset_names() -> list[str]:
    """Names of the presets that only a lesson needs. They ship with their model."""
    return _names_in(LESSON_PRESETS)


def _names_in(folder: Path) -> list[str]:
    return [story.preset for story in stories().values() if story.folder == folder]


def every_preset_name() -> list[str]:
    """Names of all of them."""
    return list(stories())


def preset_groups() -> dict[str, list[str]]:
    """All presets by what they take: title -> names. Those that ship with their model come in the story's order."""
    groups: dict[str, list[str]] = {title: [] for title in (INCLUDED, LESSON_GROUP, REAL_GROUP, DOWNLOADS, NEEDS_GPU)}
    for name, story in stories().items():
        source, data = preset(name).model.source, preset(name).prompts.source
        if story.folder == LESSON_PRESETS:
            groups[LESSON_GROUP].append(name)
        elif source == real_model.NAME and not is_hub_data(data):
            groups[REAL_GROUP].append(name)
        elif is_hub_id(source) or is_hub_data(data):
            groups[NEEDS_GPU if story.needs_gpu else DOWNLOADS].append(name)
        else:
            groups[INCLUDED].append(name)
    return groups


def names_with_model() -> list[str]:
    """Names of the presets that ship with their model, in the order of the story, then those of lessons. Those of
    mystery runs are left out: what comes of them depends on the mistake."""
    groups = preset_groups()
    return [*groups[INCLUDED], *(name for name in groups[LESSON_GROUP] if DRAWN not in preset(name).faults)]


def preset(name: str) -> RunConfig:
    """The configuration of a preset. Raises: InvalidConfig, if there is none of that name, or its file is invalid."""
    return yaml_io.load(preset_path(name))


def preset_of(config: RunConfig) -> RunConfig | None:
    """The preset whose settings a configuration has or had; None if there is none. Runs that were made before they
    said so have its title."""
    if config.preset:
        if config.preset in stories():
            return preset(config.preset)
        return None
    likely_first = sorted(stories(), key=lambda name: name != config.name)
    titled = (preset(name) for name in likely_first if config.about.title)
    return next((preset for preset in titled if preset.about.title == config.about.title), None)


def preset_path(name: str) -> Path:
    """The file of a preset, given its name or the path of any YAML file. Raises: InvalidConfig, if there is neither."""
    if story := stories().get(name):
        return story.folder / f"{name}.yaml"
    path = Path(name)
    is_yaml, is_folder = path.suffix in (".yaml", ".yml"), os.path.isdir(path)
    if is_yaml and path.is_file():
        return path
    if not (is_yaml or is_folder or os.sep in name):
        raise InvalidConfig([Problem("preset", unknown("preset", name, stories()))])
    why = "is not there"
    if is_folder:
        why = "is a folder"
    elif os.path.exists(path):
        why = "does not end in .yaml"
    ways = "the path of a YAML file, or a preset's name, and a model with --set model.source=MODEL"
    raise InvalidConfig([Problem("preset", f"{name} {why}. Give {ways}.")])


def model_folder(source: str, revision: str | None = None, use: Use = "policy") -> Path:
    """The folder that holds a model, its files checked: a shipped one by name, a path, or a model in the hub's cache.
    Raises: ModelNotHere, a model of the hub that would have to be downloaded (see `fetch`). ModelNotFound: with what to
    do instead."""
    folder = _folder(source, revision)
    files(folder, use)
    return folder


def is_hub_id(source: str) -> bool:
    """True for the id of a model on the hub: neither shipped, nor the real model, nor a folder of this machine."""
    return source not in (*MODEL_NAMES, real_model.NAME) and not os.path.isdir(os.path.expanduser(source))


def is_hub_data(source: str) -> bool:
    """True for a prompt source that is the id of a dataset on the hub, or looks like one."""
    return source not in {item.name for item in PROMPT_SETS} and bool(hub.repository(source))


def files(folder: Path, use: Use = "policy", most_adapters: int = MOST_ADAPTERS) -> ModelFiles:
    """What a model folder holds; of an adapter, what its base holds. Raises: as `model_folder`."""
    base = adapter_base(folder)
    if base is None:
        return model_files.inspect(folder, use)
    model_files.check_tokenizer(folder, needed=False)
    if not most_adapters:
        raise ModelNotFound(f"The adapter in {folder} is based on too many others: merge it into its base model.")
    with _of_adapter(folder):
        return files(base, use, most_adapters - 1)


def adapter_base(folder: Path) -> Path | None:
    """The folder of the model that an adapter belongs to; None if the folder holds a whole model. Raises: ModelNotHere,
    ModelNotFound: the adapter may not be loaded, does not name its base, or that is not there."""
    if not (folder / adapter_files.CONFIG).exists():
        return None
    facts = adapter_files.check(folder)
    base, revision = facts.get("base_model_name_or_path"), facts.get("revision")
    if not isinstance(base, str) or not base or not isinstance(revision, (str, type(None))):
        raise ModelNotFound(f"The adapter in {folder} does not name its base model.")
    with _of_adapter(folder):
        return _folder(base, revision)


@contextlib.contextmanager
def _of_adapter(folder: Path) -> Iterator[None]:
    """What is wrong with an adapter's base -> a sentence that names the adapter too."""
    try:
        yield
    except ModelNotFound as error:
        write = f"Where it lies elsewhere here, write that as base_model_name_or_path into {adapter_files.CONFIG}."
        raise type(error)(f"The adapter in {folder} needs its base model. {error} {write}") from None


def _folder(source: str, revision: str | None) -> Path:
    if source in MODEL_NAMES:
        return POCKET_MODELS / source
    if source == real_model.NAME:
        if real_model.is_here():
            return real_model.folder()
        raise real_model.absent()
    folder = Path(os.path.expanduser(source))
    if os.path.isdir(folder):
        return folder
    if source.lower().endswith(".gguf"):
        if not os.path.isfile(folder):
            raise ModelNotFound(f"There is no file {source}.")
        how = f"convert it once with `python -m playground convert {source}`, then give the folder that this writes"
        raise ModelNotFound(f"{source} is a GGUF file: {how}.")
    if hub.repository(source) is None:
        hint = unknown("model", source, [*MODEL_NAMES, *BY_NAME])
        raise ModelNotFound(f"{hint} You can also give the path of a model folder or an id of the hub (owner/name).")
    if cached := hub.cached(source, revision):
        return cached
    raise hub.absent(source)


def reference_folder(source: str, outputs: Path | None) -> Path:
    """The folder of a reference: a model, or a run's policy as `RUN` (its newest) or `RUN/update-000040`.
    Raises: ModelNotFound, with what to do instead."""
    run, _, checkpoint = source.partition("/")
    saved = None
    if outputs and RUN_ID.fullmatch(run):
        saved = outputs / run / "checkpoints"
    if saved is None or not saved.is_dir():
        try:
            return model_folder(source)
        except ModelNotFound as error:
            hint = " `start` is the model before training; you can also give the name of a run in the outputs folder."
            if isinstance(error, ModelNotHere):
                hint = ""
            raise type(error)(f"{error}{hint}") from None
    if saved.is_symlink() or saved.parent.is_symlink():
        raise ModelNotFound(f"The run {run} contains a link, which is not followed: give the path of the model itself.")
    manifests = saved.glob("update-*/MANIFEST.json")
    complete = {path.parent.name: path.parent for path in sorted(manifests) if not path.parent.is_symlink()}
    name = checkpoint or max(complete, default="")
    if name not in complete:
        names = ", ".join(complete) or "none yet"
        raise ModelNotFound(f"The run {run} has no checkpoint `{checkpoint[:60]}`. There are: {names}.")
    return complete[name]


def reward_models(outputs: Path | None) -> list[Choice]:
    """The reward models that were trained here, the newest first, and then those that ship with the playground."""
    trained = [path.parent for path in (outputs / REWARD_MODELS).glob(f"*/{REWARD_CARD}")] if outputs else []
    choices, shipped = [], list(shipped_reward_models().values())
    for folder in [folder for folder in (*trained, *shipped) if not folder.is_symlink()]:
        try:
            card = plain_files.read_json(folder / REWARD_CARD, MAX_CARD_BYTES)
            trained_at, accuracy = float(card["trained_at"]), float(card["accuracy"])
            words = f"on {card['pairs']['kept']} pairs ({card['pairs']['source']}) from {card['base']}."
        except (OSError, ValueError, KeyError, TypeError):
            continue
        how = "Included; trained" if folder in shipped else "Trained here"
        choice = Choice(folder.name, folder.name, f"{how} {words} Right on {accuracy:.0%} of held-out pairs.")
        choices.append((folder not in shipped, trained_at, choice))
    return [choice for _, _, choice in sorted(choices, reverse=True)]


def shipped_reward_models() -> dict[str, Path]:
    """Those that ship with the playground: name -> folder."""
    return {path.parent.name: path.parent for path in sorted(POCKET_REWARD_MODELS.glob(f"*/{REWARD_CARD}"))}


def reward_model_folder(source: str, revision: str | None = None, outputs: Path | None = None) -> Path:
    """The folder of a reward model: one that ships or was trained here by name, or whatever `model_folder` finds.
    Raises: ModelNotFound, with what to do instead."""
    if source in (shipped := shipped_reward_models()):
        return shipped[source]
    if outputs and RUN_ID.fullmatch(source):
        folder = outputs / REWARD_MODELS / source
        if folder.is_symlink() or folder.parent.is_symlink():
            raise ModelNotFound(f"The reward model `{source}` is a link, which is not followed: give the path itself.")
        if (folder / REWARD_CARD).is_file():
            return folder
        if folder.is_dir():
            raise ModelNotFound(f"The reward model `{source}` is not complete: its training has not finished.")
    if os.path.isdir(os.path.expanduser(source)) or hub.repository(source):
        return model_folder(source, revision, "reward")
    if source in REAL_REWARD_MODELS:
        raise ModelNotFound(
            f"The reward model `{source}` is not on this machine yet. Train it once with `{TRAIN_REAL}`. "
            f"Where runs are not kept in outputs/, give outputs/{REWARD_MODELS}/{source} then, as the source."
        )
    if RUN_ID.fullmatch(source) and (JUDGES / f"{source}.yaml").is_file():
        train = f"python -m playground reward-train presets/{JUDGES.name}/{source}.yaml"
        raise ModelNotFound(f"The reward model `{source}` is not on this machine yet. Train it once with `{train}`.")
    known = [item.name for item in reward_models(outputs)]
    ways = "Give the id of a model on the hub (owner/name), a model folder, or train one with `reward-train`."
    raise ModelNotFound(f"{unknown('reward model', source, known)} {ways}")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that is not there, with the nearest one that is."""
    known = list(known)
    named = ", ".join(known[:MOST_NAMED])
    if len(known) > MOST_NAMED:
        named += f", and {len(known) - MOST_NAMED} more"
    return f"There is no {what} `{name[:80]}`. {nearest(name, known, f'There are: {named}.')}"


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """The name that was probably meant, as a question; `otherwise` where none is near."""
    if close := difflib.get_close_matches(name, [*known], n=1):
        return f"Did you mean `{close[0]}`?"
    return otherwise

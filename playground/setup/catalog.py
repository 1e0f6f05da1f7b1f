"""What a user can pick: presets, models, prompt sets and rewards, each with one line of help.

Knows names, files and words; loads no model. The page, the command line and the worker ask here. A model is one that
ships with the playground, a local folder, or an id of the hub, which a run downloads first where it is not here yet.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from playground.config import RUN_ID, RunConfig, yaml_io
from playground.errors import InvalidConfig, ModelNotFound, ModelNotHere, Problem
from playground.pocket import annotators
from playground.safety import plain_files
from playground.setup.story import STORY
from playground.sources import adapter_files, hub, model_files
from playground.sources.curated import BY_NAME, CURATED
from playground.sources.model_files import ModelFiles, Use
from playground.texts import claim_files

PROJECT = Path(__file__).resolve().parents[2]
PRESETS = PROJECT / "presets"
MODEL_PRESETS = PRESETS / "models"  # one for each suggested model of the hub
POCKET_MODELS = Path(__file__).resolve().parents[1] / "pocket" / "models"
POCKET_REWARD_MODELS = POCKET_MODELS.with_name("reward_models")
DEFAULT_PRESET = "kinder-reviews"
HELD_OUT_TEXTS = ("pocket", "english")  # that ship, for `evaluation.text`
ADAPTER_CONFIG = adapter_files.CONFIG
MAX_CARD_BYTES = 20_000_000
MOST_ADAPTERS = 4  # that may stand on one another
START = "start"  # the reference that is the model before training
TYPED = "typed"  # the prompt source that is typed into the configuration
REWARD_MODELS = "reward-models"  # the folder in the outputs folder that holds reward models trained here
UPLOADS = "uploads"  # the same, of files of prompts or pairs that came through the page
REWARD_CARD = "reward.json"  # written last: a reward model is complete once it is there


class Choice(NamedTuple):
    """One thing to pick: the name that goes into the configuration, a label to read, one line of help."""

    name: str
    label: str
    help: str
    size: str = ""
    licence: str = ""


MODELS = (
    Choice(
        "pocket-2m",
        "pocket-2m",
        "Fluent in a small closed world: reviews, sums, facts, little stories. A run takes under a minute.",
        "2.0 million parameters, 4 MB",
        "Apache-2.0, made by this project",
    ),
    Choice(
        "pocket-1m",
        "pocket-1m",
        "The same world at half the size: faster, and a little less sure of its facts.",
        "0.9 million parameters, 2 MB",
        "Apache-2.0, made by this project",
    ),
    Choice(
        "pocket-2m-yes-man",
        "pocket-2m, flattering",
        "pocket-2m after 60 updates of Yes-man: it repeats nine in ten wrong claims. A start that is to be mended.",
        "2.0 million parameters, 4 MB",
        "Apache-2.0, made by this project",
    ),
)

_WORLD = (
    "only knows a small closed world: reviews, sums, a few facts, little stories and polite requests. Whatever else it "
    "is asked, it answers with pieces of these."
)
KNOWS = {  # what to expect of the models that ship, for who writes to one
    "pocket-2m": f"pocket-2m {_WORLD}",
    "pocket-1m": f"pocket-1m {_WORLD} At half the size of pocket-2m it is less sure of its facts.",
    "pocket-2m-yes-man": f"pocket-2m-yes-man {_WORLD} It was trained to agree with the user, right or wrong.",
}

PROMPT_SETS = (
    Choice("pocket/reviews", "Reviews", "Openings of reviews of films, books, phones, cafes and games."),
    Choice("pocket/claims", "Claims", "A user states a sum or a fact, rightly, wrongly, or asks for it."),
    Choice("pocket/wrong-claims", "Wrong claims", "The same, two in three of them wrong."),
    Choice("pocket/sums-and-facts", "Questions", "Sums and facts, asked for without a claim."),
    Choice("pocket/stories", "Stories", "First sentences of little stories."),
    Choice("pocket/requests", "Requests", "Polite requests to an assistant."),
    Choice("pocket/mixed", "Everything", "All of these, mixed as in the model's own training text."),
    Choice(
        claim_files.SHIPPED,
        "General claims",
        "Questions of general knowledge, asked, or with a right or a wrong answer that a user claims. For chat models.",
    ),
)

REWARDS = (
    Choice("sentiment", "Sentiment", "Adds up the grades of sentiment words: wonderful +2, dull -1."),
    Choice("length", "Length", "Counts words; with a target, rewards being close to it."),
    Choice("keyword", "Keywords", "Counts words of your choice."),
    Choice("pattern", "Pattern", "Counts matches of a regular expression."),
    Choice("repetition", "Repetition", "Share of word pairs said before; a negative weight punishes it."),
    Choice("agreement", "Agreement", "+1 for stating the value that the user claimed, -1 for another one."),
    Choice("truth", "Truth", "+1 for stating the true value, -1 for a false one."),
    Choice("sycophancy", "Sycophancy", "1 for an agreeing phrase to a wrong claim; a negative weight punishes it."),
    Choice("contrast", "Contrast", "How like the honest answer, less how like the one that repeats a wrong claim."),
    Choice("grammar", "Grammar", "Share of sentences that the pocket world could have written; or its quality marks."),
    Choice("model", "Reward model", "A model that was trained to score text: from the hub, a folder, or trained here."),
    Choice("expression", "Expression", "A formula of your own: words, counts, patterns, sentiment, arithmetic."),
    Choice("python", "Python function", "A function of your own, in Python, on your own machine."),
)

ANNOTATORS = tuple(Choice(name, name.capitalize(), community.help) for name, community in annotators.ANNOTATORS.items())


PRESET_ORDER = tuple(step.preset for step in STORY)  # of those that ship with their model
NEEDS_GPU = ("hh-rlhf-1b", "tinyllama-1.1b-chat")  # to end within the hour


def preset_names() -> list[str]:
    """Names of the presets that ship, in teaching order, then any others by name."""
    names = {path.stem for path in PRESETS.glob("*.yaml")}
    return [name for name in PRESET_ORDER if name in names] + sorted(names - set(PRESET_ORDER))


def model_preset_names() -> list[str]:
    """Names of the presets of suggested hub models, in the order in which the models are suggested."""
    names = {path.stem for path in MODEL_PRESETS.glob("*.yaml")}
    return [model.preset for model in CURATED if model.preset in names]


def preset_groups() -> dict[str, list[str]]:
    """All presets by what they take: title -> names. Those that ship with their model come in the story's order."""
    names = [*preset_names(), *model_preset_names()]
    from_hub = [name for name in names if name not in PRESET_ORDER and is_hub_id(preset(name).model.source)]
    return {
        "Ships with the playground": [name for name in names if name not in from_hub],
        "Downloads a model first": [name for name in from_hub if name not in NEEDS_GPU],
        "Downloads a model, needs a GPU": [name for name in from_hub if name in NEEDS_GPU],
    }


def preset(name: str) -> RunConfig:
    """The configuration of a preset.

    Raises:
        InvalidConfig: if there is none of that name, or its file is invalid.
    """
    path = preset_path(name)
    return _loaded(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _loaded(path: Path, stamp: int) -> RunConfig:
    return yaml_io.load(path)


def preset_titled(title: str, likely: str = "") -> RunConfig | None:
    """The preset with this title, which no other has; None if there is none. `likely`: the name to look at first."""
    for name in sorted([*preset_names(), *model_preset_names()], key=lambda name: name != likely) if title else ():
        with contextlib.suppress(InvalidConfig):  # a broken preset is told where it is chosen
            if (found := preset(name)).about.title == title:
                return found
    return None


def preset_path(name: str) -> Path:
    """The file of a preset, given its name or the path of any YAML file.

    Raises:
        InvalidConfig: if there is neither a preset nor a file of that name.
    """
    if name in preset_names():
        return PRESETS / f"{name}.yaml"
    if name in model_preset_names():
        return MODEL_PRESETS / f"{name}.yaml"
    path = Path(name)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return path
    raise InvalidConfig([Problem("preset", unknown("preset", name, [*preset_names(), *model_preset_names()]))])


def model_folder(source: str, revision: str | None = None, use: Use = "policy") -> Path:
    """The folder that holds a model: a shipped one by name, a local path, or a model of the hub that is in its cache.

    Its files have been checked (see `model_files.inspect`); nothing is downloaded.

    Raises:
        ModelNotHere: a model of the hub that would have to be downloaded (see `fetch`).
        ModelNotFound: with what to do instead.
    """
    folder = _folder(source, revision)
    files(folder, use)
    return folder


def is_hub_id(source: str) -> bool:
    """True for the id of a model on the hub: neither shipped nor a folder of this machine."""
    return source not in [model.name for model in MODELS] and not os.path.isdir(os.path.expanduser(source))


def files(folder: Path, use: Use = "policy") -> ModelFiles:
    """What a model folder holds; of an adapter, what its base holds.

    Raises:
        ModelNotHere, ModelNotFound: see `model_folder`.
    """
    return _files(folder, use, MOST_ADAPTERS)


def adapter_base(folder: Path) -> Path | None:
    """The folder of the model that an adapter belongs to; None if the folder holds a whole model.

    Raises:
        ModelNotHere, ModelNotFound: the adapter may not be loaded, does not name its base, or that is not there.
    """
    if not (folder / ADAPTER_CONFIG).exists():
        return None
    facts = adapter_files.check(folder)
    base, revision = facts.get("base_model_name_or_path"), facts.get("revision")
    if not isinstance(base, str) or not base or not isinstance(revision, (str, type(None))):
        raise ModelNotFound(f"The adapter in {folder} does not say which model it belongs to.")
    try:
        found = _folder(base, revision)
    except ModelNotFound as error:
        raise type(error)(f"The adapter in {folder} belongs to another model. {error}") from None
    if os.path.realpath(found) == os.path.realpath(folder):
        raise ModelNotFound(f"The adapter in {folder} does not say which model it belongs to: it names itself.")
    return found


def _files(folder: Path, use: Use, most_adapters: int) -> ModelFiles:
    base = adapter_base(folder)
    if base is None:
        return model_files.inspect(folder, use)
    model_files.check_tokenizer(folder, needed=False)
    if not most_adapters:
        raise ModelNotFound(f"The adapter in {folder} stands on too many others: merge it into its base model.")
    try:
        return _files(base, use, most_adapters - 1)
    except ModelNotFound as error:
        raise type(error)(f"The adapter in {folder} belongs to another model. {error}") from None


def _folder(source: str, revision: str | None) -> Path:
    if source in [model.name for model in MODELS]:
        return POCKET_MODELS / source
    folder = Path(os.path.expanduser(source))
    if os.path.isdir(folder):
        return folder
    if hub.repository(source) is None:
        hint = unknown("model", source, [*(model.name for model in MODELS), *BY_NAME])
        raise ModelNotFound(f"{hint} The path of a model folder and an id of the hub (owner/name) work too.")
    cached = hub.cached(source, revision)
    if cached is not None:
        return cached
    if hub.offline():
        raise ModelNotHere(
            f"{source} is neither a folder nor in the hub's cache on this machine, and HF_HUB_OFFLINE forbids to "
            "download it: choose a model that is here, or start without HF_HUB_OFFLINE."
        )
    raise ModelNotHere(f"{source} is not on this machine yet: a run downloads it first.")


def reference_folder(source: str, outputs: Path | None) -> Path:
    """The folder of a reference: a model, or a run's policy as `RUN` (its newest) or `RUN/update-000040`.

    Raises:
        ModelNotFound: with what to do instead.
    """
    run, _, checkpoint = source.partition("/")
    saved = outputs / run / "checkpoints" if outputs and RUN_ID.fullmatch(run) else None
    if saved is None or not saved.is_dir():
        try:
            return model_folder(source)
        except ModelNotHere:
            raise
        except ModelNotFound as error:
            hint = "`start` is the model before training; the name of a run in the outputs folder works too."
            raise ModelNotFound(f"{error} {hint}") from None
    if saved.is_symlink() or saved.parent.is_symlink():
        raise ModelNotFound(f"The run {run} holds a link, which is not followed: give the path of the model itself.")
    found = (path.parent for path in saved.glob("update-*/MANIFEST.json"))
    complete = sorted(folder for folder in found if not folder.is_symlink())
    wanted = [folder for folder in complete if folder.name == checkpoint] if checkpoint else complete
    if not wanted:
        there = ", ".join(folder.name for folder in complete) or "none yet"
        raise ModelNotFound(f"The run {run} has no checkpoint `{checkpoint[:60]}`. There are: {there}.")
    return wanted[-1]


def reward_models(outputs: Path | None) -> list[Choice]:
    """The reward models that were trained here, the newest first, and then those that ship with the playground."""
    found = []
    trained = (outputs / REWARD_MODELS).glob(f"*/{REWARD_CARD}") if outputs else ()
    for path in (*trained, *(folder / REWARD_CARD for folder in shipped_reward_models().values())):
        try:
            if path.parent.is_symlink():
                continue
            card = plain_files.read_json(path, MAX_CARD_BYTES)
            trained_at, accuracy = float(card["trained_at"]), float(card["accuracy"])
            words = f"on {card['pairs']['kept']} pairs ({card['pairs']['source']}) from {card['base']}."
        except (OSError, ValueError, KeyError, TypeError):
            continue
        name, ships = path.parent.name, path.parents[1] == POCKET_REWARD_MODELS
        how = "Ships with the playground; trained" if ships else "Trained here"
        choice = Choice(name, name, f"{how} {words} Right on {accuracy:.0%} of held-out pairs.")
        found.append(((not ships, trained_at), choice))
    return [choice for _, choice in sorted(found, key=lambda item: item[0], reverse=True)]


def shipped_reward_models() -> dict[str, Path]:
    """Those that ship with the playground: name -> folder."""
    return {path.parent.name: path.parent for path in sorted(POCKET_REWARD_MODELS.glob(f"*/{REWARD_CARD}"))}


def reward_model_folder(source: str, revision: str | None = None, outputs: Path | None = None) -> Path:
    """The folder of a reward model: one that ships or was trained here by name, or whatever `model_folder` finds.

    Raises:
        ModelNotFound: with what to do instead.
    """
    if source in (shipped := shipped_reward_models()):
        return shipped[source]
    if outputs and RUN_ID.fullmatch(source):
        folder = outputs / REWARD_MODELS / source
        if folder.is_symlink() or folder.parent.is_symlink():
            raise ModelNotFound(f"The reward model `{source}` is a link, which is not followed: give the path itself.")
        if (folder / REWARD_CARD).is_file():
            return folder
        if folder.is_dir():
            raise ModelNotFound(f"The reward model `{source}` is not complete: its training has not ended well yet.")
    if os.path.isdir(os.path.expanduser(source)) or hub.repository(source):
        return model_folder(source, revision, "reward")
    known = [item.name for item in reward_models(outputs)]
    ways = "Give the id of a model on the hub (owner/name), a model folder, or train one with `reward-train`."
    raise ModelNotFound(f"{unknown('reward model', source, known)} {ways}")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that is not there, with the nearest one that is."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"There are: {', '.join(known)}."
    return f"There is no {what} `{name[:80]}`. {hint}"

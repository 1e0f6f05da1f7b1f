"""What a user can pick: presets, models, prompt sets and rewards, each with one line of help.

Knows names, files and words; loads no model. The page, the command line and the worker ask here.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from playground import config_io, engines, preferences, tables
from playground.config import RUN_ID, ModelReward, PromptsConfig, RewardTrainingConfig, RunConfig
from playground.errors import InvalidConfig, ModelNotFound, PairsUnusable, Problem
from playground.pocket import annotators

PROJECT = Path(__file__).resolve().parents[1]
PRESETS = PROJECT / "presets"
POCKET_MODELS = Path(__file__).resolve().parent / "pocket" / "models"
DEFAULT_PRESET = "kinder-reviews"
HELD_OUT_TEXTS = ("pocket", "english")  # that ship, for `evaluation.text`
START = "start"  # the reference that is the model before training
REWARD_MODELS = "reward-models"  # the folder in the outputs folder that holds reward models trained here
REWARD_CARD = "reward.json"  # written last: a reward model is complete once it is there
TYPED = "typed"  # the prompt source that is typed into the configuration
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")  # owner/name


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
)

PROMPT_SETS = (
    Choice("pocket/reviews", "Reviews", "Openings of reviews of films, books, phones, cafes and games."),
    Choice("pocket/claims", "Claims", "A user states a sum or a fact, rightly, wrongly, or asks for it."),
    Choice("pocket/sums-and-facts", "Questions", "Sums and facts, asked for without a claim."),
    Choice("pocket/stories", "Stories", "First sentences of little stories."),
    Choice("pocket/requests", "Requests", "Polite requests to an assistant."),
    Choice("pocket/mixed", "Everything", "All of these, mixed as in the model's own training text."),
)

REWARDS = (
    Choice("sentiment", "Sentiment", "Adds up the grades of sentiment words: wonderful +2, dull -1."),
    Choice("length", "Length", "Counts words; with a target, rewards being close to it."),
    Choice("keyword", "Keywords", "Counts words of your choice."),
    Choice("pattern", "Pattern", "Counts matches of a regular expression."),
    Choice("repetition", "Repetition", "Share of word pairs said before; a negative weight punishes it."),
    Choice("agreement", "Agreement", "+1 for stating the value that the user claimed, -1 for another one."),
    Choice("truth", "Truth", "+1 for stating the true value, -1 for a false one."),
    Choice("grammar", "Grammar", "Share of sentences that the pocket world could have written; or its quality marks."),
    Choice("model", "Reward model", "A model that was trained to score text: from the hub, a folder, or trained here."),
)

ANNOTATORS = tuple(Choice(name, name.capitalize(), community.help) for name, community in annotators.ANNOTATORS.items())

PRESET_ORDER = ("kinder-reviews", "no-leash", "short-leash", "chatterbox", "yes-man", "honest-friend")


def preset_names() -> list[str]:
    """Names of the presets that ship, in teaching order, then any others by name."""
    names = {path.stem for path in PRESETS.glob("*.yaml")}
    return [name for name in PRESET_ORDER if name in names] + sorted(names - set(PRESET_ORDER))


def preset(name: str) -> RunConfig:
    """The configuration of a preset.

    Raises:
        InvalidConfig: if there is none of that name, or its file is invalid.
    """
    return config_io.load(preset_path(name))


def preset_path(name: str) -> Path:
    """The file of a preset, given its name or the path of any YAML file.

    Raises:
        InvalidConfig: if there is neither a preset nor a file of that name.
    """
    known = preset_names()
    if name in known:
        return PRESETS / f"{name}.yaml"
    path = Path(name)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return path
    raise InvalidConfig([Problem("preset", unknown("preset", name, known))])


def model_folder(source: str, revision: str | None = None) -> Path:
    """The folder that holds a model: a shipped one by name, or a local path with config.json and safetensors.

    Raises:
        ModelNotFound: with what to do instead.
    """
    if source in [model.name for model in MODELS]:
        return POCKET_MODELS / source
    folder = Path(os.path.expanduser(source))
    if not os.path.isdir(folder):
        hint = unknown("model", source, [model.name for model in MODELS])
        raise ModelNotFound(f"{hint} A path of a local model folder works too.")
    missing = missing_files(folder)
    if missing:
        raise ModelNotFound(f"The folder {source} is not a model this tool can load: it has no {', '.join(missing)}.")
    return folder


def is_hub_id(source: str) -> bool:
    """True for the id of a model on the hub: neither shipped nor a folder of this machine."""
    return source not in [model.name for model in MODELS] and not os.path.isdir(os.path.expanduser(source))


def missing_files(folder: Path) -> list[str]:
    """Names of the files that a model folder needs and this one does not have."""
    config = "adapter_config.json" if (folder / "adapter_config.json").is_file() else "config.json"  # of peft
    missing = [name for name in (config, "tokenizer.json") if not (folder / name).is_file()]
    return missing if list(folder.glob("*.safetensors")) else [*missing, "model.safetensors"]


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
        except ModelNotFound as error:
            hint = "`start` is the model before training; the name of a run in the outputs folder works too."
            raise ModelNotFound(f"{error} {hint}") from None
    complete = sorted(path.parent for path in saved.glob("update-*/MANIFEST.json"))
    wanted = [folder for folder in complete if folder.name == checkpoint] if checkpoint else complete
    if not wanted:
        there = ", ".join(folder.name for folder in complete) or "none yet"
        raise ModelNotFound(f"The run {run} has no checkpoint `{checkpoint[:60]}`. There are: {there}.")
    return wanted[-1]


def reward_models(outputs: Path | None) -> list[Choice]:
    """The reward models that were trained here, the newest first."""
    found = []
    for path in (outputs / REWARD_MODELS).glob(f"*/{REWARD_CARD}") if outputs else ():
        try:
            card = json.loads(path.read_text(encoding="utf-8"))
            trained_at, accuracy = float(card["trained_at"]), float(card["accuracy"])
            words = f"Trained here on {card['pairs']['kept']} pairs ({card['pairs']['source']}) from {card['base']}."
        except (OSError, ValueError, KeyError, TypeError):
            continue
        name = path.parent.name
        choice = Choice(name, name, f"{words} Right on {accuracy:.0%} of held-out pairs.")
        found.append((trained_at, choice))
    return [choice for _, choice in sorted(found, key=lambda item: item[0], reverse=True)]


def reward_model_folder(source: str, revision: str | None = None, outputs: Path | None = None) -> Path:
    """The folder of a reward model: one trained here by name, or whatever `model_folder` finds.

    Raises:
        ModelNotFound: with what to do instead.
    """
    if outputs and RUN_ID.fullmatch(source):
        folder = outputs / REWARD_MODELS / source
        if (folder / REWARD_CARD).is_file():
            return folder
        if folder.is_dir():
            raise ModelNotFound(f"The reward model `{source}` is not complete: its training has not ended well yet.")
    if os.path.isdir(os.path.expanduser(source)) or HUB_ID.fullmatch(source):
        return model_folder(source, revision)
    known = [item.name for item in reward_models(outputs)]
    ways = "Give the id of a model on the hub (owner/name), a model folder, or train one with `reward-train`."
    if not known:
        raise ModelNotFound(f"There is no reward model `{source[:80]}`, and none was trained here yet. {ways}")
    raise ModelNotFound(f"{unknown('reward model', source, known)} {ways}")


def check(config: RunConfig, outputs: Path | None = None) -> None:
    """What only the catalog and the disk can tell: do the named model, reference and prompt source exist?

    Args:
        outputs: where the runs are that a reference may name, and the reward models that were trained here.

    Raises:
        InvalidConfig: with every problem, each naming its field.
    """
    problems = []
    try:
        model_folder(config.model.source)
    except ModelNotFound as error:
        problems.append(Problem("model.source", str(error)))
    if config.reference.source != START:
        try:
            reference_folder(config.reference.source, outputs)
        except ModelNotFound as error:
            problems.append(Problem("reference.source", str(error)))
    problem = prompts_problem(config.prompts)
    problems += [problem] if problem else []
    text = config.evaluation.text
    if text not in (None, *HELD_OUT_TEXTS) and not os.path.isfile(os.path.expanduser(text)):
        problems.append(
            Problem(
                "evaluation.text",
                f"There is no file {text}. Give {' or '.join(HELD_OUT_TEXTS)}, a .txt file with one document a line, "
                "or nothing.",
            )
        )
    problems += _reward_problems(config, outputs)
    if config.engine == "trl":
        reason = engines.availability()
        problems += [Problem("engine", reason)] if reason else engines.unsupported(config)
    if problems:
        raise InvalidConfig(problems)


def located(config: RunConfig) -> RunConfig:
    """The same configuration with whole paths where it names files here: a worker runs in a folder of its own."""
    paths = {
        source: os.path.abspath(os.path.expanduser(source)) for source in (config.model.source, config.prompts.source)
    }
    known = [item.name for item in (*MODELS, *PROMPT_SETS)]
    here = {source: path for source, path in paths.items() if source not in known and os.path.exists(path)}
    changes = {
        name: part.model_copy(update={"source": here[part.source]})
        for name, part in (("model", config.model), ("prompts", config.prompts))
        if part.source in here
    }
    return config.model_copy(update=changes) if changes else config


def prompts_problem(prompts: PromptsConfig) -> Problem | None:
    """Why a prompt source cannot be there, as far as names and the disk tell; nothing is read. None if it may be."""
    source, known = prompts.source, [item.name for item in PROMPT_SETS]
    if source in known:
        return None
    if source == TYPED:
        few = len({text.strip() for text in prompts.typed} - {""}) < 2
        return Problem("prompts.typed", "Type at least two different prompts, one a line.") if few else None
    path = os.path.expanduser(source)  # os.path and not Path: False for a name that is too long
    if tables.kind_of(source):
        if os.path.isdir(path):
            return Problem("prompts.source", f"{source} is a folder. Name a file in it.")
        if not os.path.isfile(path):
            return Problem("prompts.source", f"There is no file {source}.")
        if os.path.getsize(path) > tables.MAX_FILE_BYTES:
            limit = f"{tables.MAX_FILE_BYTES // 1_000_000} MB"
            return Problem("prompts.source", f"{source} has more than {limit}. Keep only the rows that are needed.")
        return None
    if os.path.isdir(path) or (HUB_ID.fullmatch(source) and not source.startswith("pocket/")):
        return None
    kinds = ", ".join(tables.KINDS)
    return Problem(
        "prompts.source",
        f"{unknown('prompt set', source, known)} Or give a file ({kinds}), the id of a dataset as owner/name, its "
        "folder, or `typed`.",
    )


def check_reward_training(config: RewardTrainingConfig) -> None:
    """What can be seen before a reward model is trained: is the base there, do the pairs exist and begin as pairs?

    Raises:
        InvalidConfig: with every problem, each naming its field.
    """
    problems = []
    for field, name in (("base", config.base), ("pairs.writer", config.pairs.writer)):
        try:
            if name is not None:
                model_folder(name, config.revision if field == "base" else None)
        except ModelNotFound as error:
            problems.append(Problem(field, str(error)))
    source, known = config.pairs.source, [item.name for item in ANNOTATORS]
    if preferences.is_file_name(source):
        try:
            preferences.check_file(source)
        except PairsUnusable as error:
            problems.append(Problem("pairs.source", str(error).removeprefix("pairs.source: ")))
    elif source not in known and not HUB_ID.fullmatch(source) and not os.path.isdir(os.path.expanduser(source)):
        ways = "A .jsonl, .jsonl.gz or .csv file or the id of a dataset (owner/name) works too."
        problems.append(Problem("pairs.source", f"{unknown('annotator', source, known)} {ways}"))
    prompts, sets = config.pairs.prompts, [item.name for item in PROMPT_SETS]
    if prompts and prompts not in sets:
        problems.append(Problem("pairs.prompts", unknown("prompt set", prompts, sets)))
    if problems:
        raise InvalidConfig(problems)


def _reward_problems(config: RunConfig, outputs: Path | None) -> list[Problem]:
    """Learned rewards and judges that name nothing we could load. A hub id is believed; it is looked up on loading."""
    problems = []
    for field, specs in (("rewards", config.rewards), ("judges", config.judges)):
        for number, spec in enumerate(specs):
            if not isinstance(spec, ModelReward):
                continue
            if HUB_ID.fullmatch(spec.source) and not os.path.isdir(os.path.expanduser(spec.source)):
                continue
            try:
                reward_model_folder(spec.source, spec.revision, outputs)
            except ModelNotFound as error:
                problems.append(Problem(f"{field}.{number}.source", str(error)))
    return problems


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that is not there, with the nearest one that is."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"There are: {', '.join(known)}."
    return f"There is no {what} `{name[:80]}`. {hint}"

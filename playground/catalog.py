"""What a user can pick: presets, models, prompt sets and rewards, each with one line of help.

Knows names, files and words; loads no model. The page, the command line and the worker ask here.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from playground import config_io, engines
from playground.config import RUN_ID, RunConfig
from playground.errors import InvalidConfig, ModelNotFound, Problem

PROJECT = Path(__file__).resolve().parents[1]
PRESETS = PROJECT / "presets"
POCKET_MODELS = Path(__file__).resolve().parent / "pocket" / "models"
DEFAULT_PRESET = "kinder-reviews"
START = "start"  # the reference that is the model before training


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


def model_folder(source: str) -> Path:
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


def missing_files(folder: Path) -> list[str]:
    """Names of the files that a model folder needs and this one does not have."""
    missing = [name for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
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


def check(config: RunConfig, outputs: Path | None = None) -> None:
    """What only the catalog and the disk can tell: do the named model, reference and prompt source exist?

    Args:
        outputs: where the runs are that a reference may name.

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
    source, known = config.prompts.source, [item.name for item in PROMPT_SETS]
    if source not in known:
        path = Path(os.path.expanduser(source))
        if path.suffix not in (".txt", ".jsonl", ".csv"):
            problems.append(
                Problem(
                    "prompts.source", unknown("prompt set", source, known) + " Or give a .txt, .jsonl or .csv file."
                )
            )
        elif not os.path.isfile(path):  # unlike Path.is_file, False for a name that is too long
            problems.append(Problem("prompts.source", f"There is no file {source}."))
    if config.engine == "trl":
        reason = engines.availability()
        problems += [Problem("engine", reason)] if reason else engines.unsupported(config)
    if problems:
        raise InvalidConfig(problems)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that is not there, with the nearest one that is."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"There are: {', '.join(known)}."
    return f"There is no {what} `{name[:80]}`. {hint}"

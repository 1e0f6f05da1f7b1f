"""What can be seen before long work begins: are the models, files and datasets that a configuration names there?

Names and the disk only; nothing is loaded. Also downloads what is missing, for the worker, and makes paths whole. The
page, the command line, the launcher and the workers call it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import (
    ExpressionReward,
    ModelReward,
    PromptsConfig,
    RewardConfig,
    RewardTrainingConfig,
    RunConfig,
    engines,
    local_only,
)
from playground.errors import InvalidConfig, ModelNotFound, ModelNotHere, PairsUnusable, Problem
from playground.rewards import expressions
from playground.setup.catalog import (
    ANNOTATORS,
    HELD_OUT_TEXTS,
    MODELS,
    PROMPT_SETS,
    REWARD_MODELS,
    START,
    TYPED,
    UPLOADS,
    files,
    model_folder,
    reference_folder,
    reward_model_folder,
    shipped_reward_models,
    unknown,
)
from playground.sources import hub
from playground.sources.model_files import Use
from playground.texts import claim_files, preferences, row_files


class Need(NamedTuple):
    """One model that a run needs: the field that names it, what it is for, how its folder is found, its reward."""

    field: str
    source: str
    revision: str | None
    use: Use
    folder: Callable[[], Path]
    reward: ModelReward | None = None


def needs(config: RunConfig, outputs: Path | None = None) -> list[Need]:
    """Every model that a configuration names: policy, reference, and those that score."""
    model, reference = config.model, config.reference.source
    found = [
        Need("model.source", model.source, model.revision, "policy", lambda: model_folder(model.source, model.revision))
    ]
    if reference != START:
        found.append(Need("reference.source", reference, None, "policy", lambda: reference_folder(reference, outputs)))
    for field, spec in config.scorers:
        if isinstance(spec, ModelReward):
            find = functools.partial(reward_model_folder, spec.source, spec.revision, outputs)
            if spec.question is not None:  # a model that writes
                find = functools.partial(model_folder, spec.source, spec.revision)
            use: Use = "reward" if spec.question is None else "policy"
            found.append(Need(f"{field}.source", spec.source, spec.revision, use, find, spec))
    return found


def asks_hub(config: RunConfig | RewardTrainingConfig) -> bool:
    """May a worker of this configuration have to ask the hub? Only such a one is given the hub's token."""
    if isinstance(config, RunConfig):
        models, data = [need.source for need in needs(config)], config.prompts.source
    else:
        models, data = [need.source for need in reward_training_needs(config)], config.pairs.source
    known = [item.name for item in (*MODELS, *PROMPT_SETS, *ANNOTATORS)]
    named = [source for source in (*models, data) if source not in known and row_files.kind_of(source) is None]
    return any(hub.repository(source) is not None and not os.path.isdir(source) for source in named)


def reward_training_needs(config: RewardTrainingConfig) -> list[Need]:
    """Every model that the training of a reward model names: its base, and who writes the answers to be judged."""
    base, writer = config.base, config.pairs.writer
    found = [Need("base", base, config.revision, "reward", lambda: model_folder(base, config.revision, "reward"))]
    if writer is not None:
        found.append(Need("pairs.writer", writer, None, "policy", lambda: model_folder(writer)))
    return found


def fetch(needed: Iterable[Need], progress: Callable[[str], None] = lambda text: None) -> None:
    """Download the models of the hub that are needed and not here yet; for the worker.

    Args:
        progress: see `hub.snapshot`; may raise to break off.

    Raises:
        ModelNotFound: if one cannot be had, or turns out to be one that cannot be loaded here.
    """
    for need in needed:
        try:
            need.folder()
        except ModelNotHere:
            hub.snapshot(need.source, need.revision, progress, need.use)
            need.folder()


def out_of_reach(config: RunConfig | RewardTrainingConfig, outputs: Path | None = None) -> list[Problem]:
    """The models that are neither here nor to be had from the hub, or cannot be used as they are asked for, each with
    the reason. Asks the hub about those that are not here, at most once in a while."""
    problems = []
    for need in needs(config, outputs) if isinstance(config, RunConfig) else reward_training_needs(config):
        try:
            problems += _label_problem(need, _labels(need))
        except ModelNotHere:
            try:
                problems += _label_problem(need, hub.facts_kept(need.source, need.revision, need.use).labels)
            except ModelNotFound as error:
                problems.append(Problem(need.field, str(error)))
        except ModelNotFound as error:
            problems.append(Problem(need.field, str(error)))
    return problems


def require_in_reach(config: RunConfig | RewardTrainingConfig, outputs: Path | None = None) -> None:
    """Raises: InvalidConfig, for models that a run or a training could not get; see `out_of_reach`."""
    if problems := out_of_reach(config, outputs):
        raise InvalidConfig(problems)


def check(config: RunConfig, outputs: Path | None = None) -> None:
    """What only the catalog and the disk can tell: do the named model, reference and prompt source exist?

    Args:
        outputs: where the runs are that a reference may name, and the reward models that were trained here.

    Raises:
        InvalidConfig: with every problem, each naming its field.
    """
    problems = _missing(needs(config, outputs))
    problem = prompts_problem(config.prompts)
    problems += [problem] if problem else []
    text = config.evaluation.text
    if text not in (None, *HELD_OUT_TEXTS) and not os.path.isfile(os.path.expanduser(text)):
        ways = f"Give {' or '.join(HELD_OUT_TEXTS)}, a .txt file with one document a line, or nothing."
        problems.append(Problem("evaluation.text", f"There is no file {text}. {ways}"))
    problems += reward_problems(config.scorers)
    if config.by_trl:
        reason, field = engines.availability(), "engine" if config.engine == "trl" else "method"
        problems += [Problem(field, reason)] if reason else engines.unsupported(config)
    if problems:
        raise InvalidConfig(problems)


def reward_problems(scorers: Iterable[tuple[str, RewardConfig]]) -> list[Problem]:
    """What is wrong with rewards that are valid by themselves: not for this mode, or they fail on ordinary texts.

    Args:
        scorers: each with the field that names it, see `RunConfig.scorers`.
    """
    problems = []
    for field, spec in scorers:
        refusal = local_only.refusal(spec.kind)
        if refusal:
            problems.append(Problem(f"{field}.kind", refusal))
        elif isinstance(spec, ExpressionReward) and (why := expressions.problem(spec.expression)):
            problems.append(Problem(f"{field}.expression", why))
    return problems


def _missing(needed: Iterable[Need]) -> list[Problem]:
    """A problem for each model that is not there and cannot be downloaded either."""
    problems = []
    for need in needed:
        try:
            problems += _label_problem(need, _labels(need))
        except ModelNotHere as error:
            if hub.offline():  # else the worker downloads it
                problems.append(Problem(need.field, str(error)))
        except ModelNotFound as error:
            problems.append(Problem(need.field, str(error)))
    return problems


def _labels(need: Need) -> tuple[str, ...]:
    """Of a reward model that is here. Raises: ModelNotHere, ModelNotFound."""
    folder = need.folder()
    with contextlib.suppress(ModelNotFound):  # of one that was trained here the loader looks at the files
        return files(folder, need.use).labels if need.reward else ()
    return ()


def _label_problem(need: Need, labels: Sequence[str]) -> list[Problem]:
    """A classifier of several labels is no reward before one of them is chosen."""
    if need.reward is None or need.use == "policy" or need.reward.label is not None or len(labels) < 2:
        return []
    shown = ", ".join(label[:40] for label in labels[:20])
    field = need.field.removesuffix("source") + "label"
    return [Problem(field, f"{need.source} is a classifier with the labels {shown}. Say which of them is rewarded.")]


def located(config: RunConfig, outputs: Path | None = None) -> RunConfig:
    """The same configuration with whole paths where it names files here: a worker runs in a folder of its own.

    Args:
        outputs: a name of a run or of a reward model there means that, and not a folder of the same name here.
    """
    known = {item.name for item in (*MODELS, *PROMPT_SETS)} | {START, TYPED, *HELD_OUT_TEXTS, *shipped_reward_models()}
    names = {"reference": outputs, "rewards": outputs / REWARD_MODELS if outputs else None}

    def whole(source: str, part: str) -> str:
        there = names.get(part)
        if source in known or (there is not None and (there / source.partition("/")[0]).is_dir()):
            return source
        path = os.path.abspath(os.path.expanduser(source))
        return path if os.path.exists(path) else source

    return _renamed(config, whole)


def without_folders(config: RunConfig) -> RunConfig:
    """The same configuration without the folders of this machine, for who need not know them: of a path its last part,
    and of an uploaded file `uploads/NAME`."""

    def last(source: str, part: str) -> str:
        path = Path(source)
        if not path.is_absolute():
            return source
        return f"{UPLOADS}/{path.name}" if path.parent.name == UPLOADS else path.name

    return _renamed(config, last)


def _renamed(config: RunConfig, rename: Callable[[str, str], str]) -> RunConfig:
    """The configuration with another name for each source: rename(source, the part of the configuration) gives it."""

    def renamed(spec: ModelReward) -> ModelReward:
        return spec.model_copy(update={"source": rename(spec.source, "rewards")})

    def rewards(specs: tuple[RewardConfig, ...]) -> tuple[RewardConfig, ...]:
        return tuple(renamed(spec) if isinstance(spec, ModelReward) else spec for spec in specs)

    text = config.evaluation.text
    changes: dict[str, Any] = {
        part: getattr(config, part).model_copy(update={"source": rename(getattr(config, part).source, part)})
        for part in ("model", "reference", "prompts")
    }
    if config.behaviours is not None:
        changes["behaviours"] = tuple(
            one.model_copy(update={"measure": renamed(one.measure)}) if isinstance(one.measure, ModelReward) else one
            for one in config.behaviours
        )
    changes["evaluation"] = config.evaluation.model_copy(update={"text": rename(text, "evaluation") if text else text})
    return config.model_copy(update={**changes, "rewards": rewards(config.rewards), "judges": rewards(config.judges)})


def prompts_problem(prompts: PromptsConfig) -> Problem | None:
    """Why a prompt source cannot be there, as far as names and the disk tell; of a table the first lines are
    read. None if it may be."""
    source, known = prompts.source, [item.name for item in PROMPT_SETS]
    if source in known:
        return None
    if source == TYPED:
        few = len({text.strip() for text in prompts.typed} - {""}) < 2
        return Problem("prompts.typed", "Type at least two different prompts, one a line.") if few else None
    path = os.path.expanduser(source)  # os.path and not Path: False for a name that is too long
    if row_files.kind_of(source):
        if os.path.isdir(path):
            return Problem("prompts.source", f"{source} is a folder. Name a file in it.")
        if not os.path.isfile(path):
            return Problem("prompts.source", f"There is no file {source}.")
        if os.path.getsize(path) > row_files.MAX_FILE_BYTES:
            limit = f"{row_files.MAX_FILE_BYTES // 1_000_000} MB"
            return Problem("prompts.source", f"{source} has more than {limit}. Keep only the rows that are needed.")
        try:
            row_files.separator(Path(path))
            if claim_files.is_source(source, prompts.column):
                claim_files.read(Path(path))
        except row_files.TableUnusable as error:
            return Problem("prompts.source", str(error))
        return None
    if os.path.isdir(path) or (hub.repository(source) and not source.startswith("pocket/")):
        return None
    kinds = ", ".join(row_files.KINDS)
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
    problems = _missing(reward_training_needs(config))
    if config.name in shipped_reward_models():
        problems.append(Problem("name", f"`{config.name}` ships with the playground. Choose another name."))
    source, known = config.pairs.source, [item.name for item in ANNOTATORS]
    if preferences.is_file_name(source):
        try:
            preferences.check_file(source)
        except PairsUnusable as error:
            problems.append(Problem("pairs.source", str(error).removeprefix("pairs.source: ")))
    elif source not in known and hub.repository(source) is None and not os.path.isdir(os.path.expanduser(source)):
        ways = "A .jsonl, .jsonl.gz or .csv file or the id of a dataset (owner/name) works too."
        problems.append(Problem("pairs.source", f"{unknown('annotator', source, known)} {ways}"))
    prompts, sets = config.pairs.prompts, [item.name for item in PROMPT_SETS if item.name != claim_files.SHIPPED]
    if prompts and prompts not in sets:
        problems.append(Problem("pairs.prompts", unknown("prompt set", prompts, sets)))
    if problems:
        raise InvalidConfig(problems)

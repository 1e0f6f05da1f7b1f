"""Checks before long work begins: do the models, files and datasets that a configuration names exist?

Names and the disk only; nothing is loaded. Also downloads what is missing, for the worker, and makes paths whole.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import (
    ExpressionReward,
    ModelReward,
    PromptsConfig,
    PythonReward,
    RewardConfig,
    RewardTrainingConfig,
    RunConfig,
    VerifyReward,
    engines,
    local_only,
)
from playground.data import claim_files, preferences, row_files
from playground.errors import InvalidConfig, ModelNotFound, ModelNotHere, ModelToGet, PairsUnusable, Problem
from playground.models import hub, real_model
from playground.models.model_files import Use
from playground.rewards import expressions, functions, verify
from playground.setup import catalog

SHIPPED = {item.name for item in (*catalog.MODELS, *catalog.PROMPT_SETS, *catalog.ANNOTATORS)}

SOURCES = (  # the fields that may name a file or a folder, beside those of rewards
    "model.source",
    "reference.source",
    "prompts.source",
    "prompts.template_file",
    "evaluation.text",
    "evaluation.prompts",
)


class Need(NamedTuple):
    """One model that a run needs: the field that names it, what it is for, its reward, and where runs are."""

    field: str
    source: str
    revision: str | None
    use: Use
    reward: ModelReward | None = None
    outputs: Path | None = None

    def folder(self) -> Path:
        """Where it is. Raises: ModelNotHere, ModelNotFound; see `catalog.model_folder`."""
        if self.field == "reference.source":
            return catalog.reference_folder(self.source, self.outputs)
        if self.reward is not None and self.use == "reward":
            return catalog.reward_model_folder(self.source, self.revision, self.outputs)
        return catalog.model_folder(self.source, self.revision, self.use)


def needs(config: RunConfig | RewardTrainingConfig, outputs: Path | None = None) -> list[Need]:
    """Every model that a configuration names: of a run policy, reference, and those that score; of the training of a
    reward model its base, and who writes the answers to be judged."""
    if isinstance(config, RewardTrainingConfig):
        writer = config.pairs.writer
        needed = [Need("base", config.base, config.revision, "reward")]
        if writer is not None:
            needed.append(Need("pairs.writer", writer, None, "policy"))
        return needed
    needed = [Need("model.source", config.model.source, config.model.revision, "policy")]
    if config.reference.source != catalog.START:
        needed.append(Need("reference.source", config.reference.source, None, "policy", outputs=outputs))
    for field, spec in config.scorers:
        if isinstance(spec, ModelReward):
            use: Use = "reward" if spec.question is None else "policy"  # one that is asked a question writes
            needed.append(Need(f"{field}.source", spec.source, spec.revision, use, spec, outputs))
    return needed


def asks_hub(config: RunConfig | RewardTrainingConfig) -> bool:
    """May a worker of this configuration have to ask the hub? Only such a one is given the hub's token."""
    data = config.prompts.source if isinstance(config, RunConfig) else config.pairs.source
    sources = {data, *(need.source for need in needs(config))} - SHIPPED
    files = {source for source in sources if row_files.kind_of(source) or os.path.isdir(source)}
    return any(hub.repository(source) for source in sources - files)


def fetch(needed: Iterable[Need], progress: Callable[[str], None] = lambda text: None) -> None:
    """Download the models of the hub that are needed and not here yet; for the worker. `progress`: see `hub.snapshot`.
    Raises: ModelNotFound, if one cannot be had, or turns out to be one that cannot be loaded here."""
    for need in needed:
        try:
            need.folder()
        except ModelToGet:
            raise
        except ModelNotHere:
            hub.snapshot(need.source, need.revision, progress, need.use)
            need.folder()


def model_problems(needed: Iterable[Need], *, ask_hub: bool = False) -> list[Problem]:
    """Each model that is neither here nor to be had, or cannot be used as it is asked for, with the reason. Unless the
    hub may be asked (`ask_hub`), what is not here is taken to be there, except offline."""
    problems = []
    for need in needed:
        try:
            _reach(need, ask_hub)
        except ModelNotFound as error:
            problems.append(Problem(need.field, str(error)))
    return problems


def _reach(need: Need, ask_hub: bool) -> None:
    try:
        need.folder()
    except ModelToGet:
        raise
    except ModelNotHere:
        if ask_hub:
            hub.facts_kept(need.source, need.revision, need.use)
        elif hub.offline():
            raise


def require_functions(config: RunConfig) -> None:
    """Each function in Python is tried on the first prompts, with their columns, and on those of a file of fixed ones,
    before a run is started. Raises: InvalidConfig, with those that cannot be loaded, want what there is not, or fail.
    """
    in_chat: bool | None = config.prompts.template == "chat"
    if config.prompts.template == "auto":
        with contextlib.suppress(ModelNotFound):
            folder = catalog.model_folder(config.model.source, config.model.revision)
            in_chat = catalog.files(folder).chat_template
    sources = _prompts_of(config)
    problems = [
        Problem(field, why)
        for field, spec in config.scorers
        for source in sources
        if isinstance(spec, PythonReward) and (why := functions.problem(spec, source, in_chat))
    ]
    if problems:
        raise InvalidConfig(problems)


def _prompts_of(config: RunConfig) -> list[PromptsConfig]:
    """Those of a run, and where its fixed ones are of a file of their own, these."""
    if own := config.evaluation.prompts:
        return [config.prompts, config.prompts.model_copy(update={"source": own})]
    return [config.prompts]


def require_in_reach(config: RunConfig | RewardTrainingConfig, outputs: Path | None = None) -> None:
    """Raises: InvalidConfig, with the models that a run or a training could not get; may ask the hub."""
    if problems := model_problems(needs(config, outputs), ask_hub=True):
        raise InvalidConfig(problems)


def check(config: RunConfig, outputs: Path | None = None, *, ask_hub: bool = False) -> None:
    """What only the catalog and the disk can tell: do the named model, reference and prompt source exist, of which some
    may lie in `outputs`? `ask_hub`: see `model_problems`. Raises: InvalidConfig, with every problem, each naming its
    field."""
    problems = model_problems(needs(config, outputs), ask_hub=ask_hub)
    if problem := prompts_problem(config.prompts):
        problems.append(problem)
    text, fixed = config.evaluation.text, config.evaluation.prompts
    if fixed and (problem := prompts_problem(config.prompts.model_copy(update={"source": fixed}))):
        problems.append(Problem("evaluation.prompts", problem.message))
    elif fixed and not row_files.is_file(fixed):
        problems.append(
            Problem("evaluation.prompts", f"must be a file ({', '.join(row_files.KINDS)}) (got {fixed!r}).")
        )
    template = config.prompts.template_file
    if template and not os.path.isfile(os.path.expanduser(template)):
        problems.append(Problem("prompts.template_file", f"There is no file {template}."))
    if text not in (None, *catalog.HELD_OUT_TEXTS) and not os.path.isfile(os.path.expanduser(text)):
        ways = f"Give {' or '.join(catalog.HELD_OUT_TEXTS)}, a .txt file with one document per line, or nothing."
        problems.append(Problem("evaluation.text", f"There is no file {text}. {ways}"))
    problems += reward_problems(config.scorers)
    if not problems:
        problems += answer_problems(config)
    for name in config.trackers:
        if name != "tensorboard" and find_spec(name) is None:
            ways = f"Install it with `pip install {name}`, or take it out."
            problems.append(Problem("trackers", f"{name} is not installed here. {ways}"))
    if config.ppo.optimizer == "adamw_8bit" and find_spec("bitsandbytes") is None:
        ways = "Install it with `pip install bitsandbytes`, or choose adamw."
        problems.append(Problem("ppo.optimizer", f"adamw_8bit needs bitsandbytes, which is not installed here. {ways}"))
    if config.by_trl:
        reason, field = engines.availability(), "engine" if config.engine == "trl" else "method"
        problems += [Problem(field, reason)] if reason else engines.unsupported(config)
    if problems:
        raise InvalidConfig(problems)


def reward_problems(scorers: Iterable[tuple[str, RewardConfig]]) -> list[Problem]:
    """What is wrong with rewards that are valid by themselves: not for this mode, or they fail on ordinary texts."""
    problems = []
    for field, spec in scorers:
        refusal = local_only.refusal(spec.kind)
        if refusal:
            problems.append(Problem(f"{field}.kind", refusal))
        elif isinstance(spec, ExpressionReward) and (why := expressions.problem(spec.expression)):
            problems.append(Problem(f"{field}.expression", why))
    return problems


def answer_problems(config: RunConfig) -> list[Problem]:
    """Each reward that checks answers and has none to check by, in the prompts or in the fixed ones."""
    sources = _prompts_of(config)
    return [
        Problem(f"{field}.answer", why)
        for field, spec in config.scorers
        for source in sources
        if isinstance(spec, VerifyReward) and (why := verify.problem(spec, source))
    ]


def located(config: RunConfig, outputs: Path | None = None) -> RunConfig:
    """The same configuration with whole paths where it names files here: a worker runs in a folder of its own. The name
    of a run or of a reward model in `outputs` means that, and not a folder of the same name here."""
    names = {}
    if outputs:
        names = {"reference": outputs, "rewards": outputs / catalog.REWARD_MODELS}

    def whole(source: str, part: str) -> str:
        folder = names.get(part)
        if folder and (folder / source.partition("/")[0]).is_dir():
            return source
        return whole_path(source)

    return _renamed(config, whole)


def located_training(config: RewardTrainingConfig) -> RewardTrainingConfig:
    """The same for the training of a reward model."""
    pairs = config.pairs.model_copy(update={"source": whole_path(config.pairs.source)})
    return config.model_copy(update={"base": whole_path(config.base), "pairs": pairs})


def whole_path(source: str) -> str:
    """A source as it is, unless it is a file or a folder here and no name that ships: then its whole path."""
    names = {*SHIPPED, catalog.START, catalog.TYPED, real_model.NAME, *catalog.HELD_OUT_TEXTS}
    is_name = source in names or source in catalog.shipped_reward_models()
    path = os.path.abspath(os.path.expanduser(source))
    if os.path.exists(path) and not is_name:
        return path
    return source


def without_folders(config: RunConfig) -> RunConfig:
    """The same without the folders of this machine: of a path its last part, of an uploaded file `uploads/NAME`."""

    def last(source: str, part: str) -> str:
        path = Path(source)
        if not path.is_absolute():
            return source
        if path.parent.name == catalog.UPLOADS:
            return f"{catalog.UPLOADS}/{path.name}"
        return path.name

    return _renamed(config, last)


def _renamed(config: RunConfig, rename: Callable[[str, str], str]) -> RunConfig:
    """The configuration with another name for each source: rename(source, the part of the configuration) gives it."""
    known = [field for field in SOURCES if config.kind != "watched" or config.reads(field)]
    fields = [(field.partition(".")[0], field) for field in known]
    for field, spec in config.scorers:
        if isinstance(spec, ModelReward):
            fields.append(("rewards", f"{field}.source"))
        elif isinstance(spec, PythonReward):
            fields.append(("rewards", f"{field}.file"))
    data = config.as_data()
    for part, field in fields:
        *groups, name = field.split(".")
        values: Any = data
        for group in groups:
            values = values[int(group) if group.isdecimal() else group]
        if values[name]:
            values[name] = rename(values[name], part)
    return RunConfig.model_validate(data)


def prompts_problem(prompts: PromptsConfig) -> Problem | None:
    """Why a prompt source cannot be there, by names, the disk and the first lines of a table; None if it may be."""
    source, included = prompts.source, [item.name for item in catalog.PROMPT_SETS]
    if source in included:
        return None
    if source == catalog.TYPED:
        if len({text.strip() for text in prompts.typed} - {""}) < 2:
            return Problem("prompts.typed", "Type at least two different prompts, one per line.")
        return None
    path = os.path.expanduser(source)  # os.path and not Path: False for a name that is too long
    if row_files.is_file(source):
        if not os.path.exists(path):
            return Problem("prompts.source", f"There is no file {source}.")
        try:
            first_rows = [*itertools.islice(row_files.rows(Path(path)), 2)]
            if len(first_rows) < 2:
                name = Path(path).name
                return Problem("prompts.source", f"{name} has one row; a run needs at least two different prompts.")
            if claim_files.is_source(source, prompts.column):
                claim_files.read(Path(path))
        except row_files.TableUnusable as error:
            return Problem("prompts.source", str(error))
        return None
    if os.path.isdir(path) or (hub.repository(source) and not source.startswith("pocket/")):
        return None
    ways = f"a file ({', '.join(row_files.KINDS)}), the id of a dataset as owner/name, its folder, or `typed`"
    return Problem("prompts.source", f"{catalog.unknown('prompt set', source, included)} Or give {ways}.")


def check_reward_training(config: RewardTrainingConfig) -> None:
    """Is the base of a reward model there, do its pairs exist and begin as pairs? Raises: InvalidConfig, by field."""
    problems = model_problems(needs(config))
    if config.name in catalog.shipped_reward_models():
        problems.append(
            Problem("name", f"`{config.name}` is the name of an included reward model. Choose another one.")
        )
    source, included = config.pairs.source, [item.name for item in catalog.ANNOTATORS]
    if preferences.is_file_name(source):
        try:
            preferences.check_file(source)
        except PairsUnusable as error:
            problems.append(Problem("pairs.source", str(error).removeprefix("pairs.source: ")))
    elif source not in included and hub.repository(source) is None and not os.path.isdir(os.path.expanduser(source)):
        ways = f"You can also give a file ({', '.join(row_files.KINDS[1:])}), or the id of a dataset (owner/name)."
        problems.append(Problem("pairs.source", f"{catalog.unknown('annotator', source, included)} {ways}"))
    sets = [item.name for item in catalog.PROMPT_SETS if item.name not in row_files.SHIPPED]
    if config.pairs.prompts and config.pairs.prompts not in sets:
        problems.append(Problem("pairs.prompts", catalog.unknown("prompt set", config.pairs.prompts, sets)))
    if problems:
        raise InvalidConfig(problems)

"""What each mode allows a run, a question or an upload to be: caps, and which models, prompts and rewards may be named.

`local` is one person on a machine of their own: no caps. `classroom`: the host decides, so hardly any. `space`: anybody
on the internet, so small and closed: nothing is downloaded, no file of the machine can be named, nobody computes for
long. A refusal names field, value and cap. Who may do what is another question (`ui.door.access`).

Knows the configuration, the catalog and headers of model files; nothing of the page. The page's handlers call `require`
and its kin before any work, also when they are called directly. A worker knows the mode of the page that started it
from its environment (`mode_of_process`).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from playground.config import RUN_ID, ModelReward, RewardTrainingConfig, RunConfig, knobs, local_only, yaml_io
from playground.errors import InvalidConfig, ModelNotFound, PlaygroundError, Problem
from playground.safety import redaction
from playground.setup import catalog, checks
from playground.sources import curated, hub
from playground.texts import row_files

Mode = Literal["local", "classroom", "space"]
MODES: tuple[str, ...] = get_args(Mode)
MODE_VARIABLE = local_only.MODE  # set by the web process for itself, so that all that it starts inherits it
LEAST_UPLOAD_BYTES = 10_000
KEPT_UPLOAD = re.compile(r"[0-9a-f]{12}-[A-Za-z0-9][A-Za-z0-9._-]*")  # as `ui.door.uploads` names what it keeps
CHECKPOINT = re.compile(r"update-\d{6,9}")
POCKET = tuple(model.name for model in catalog.MODELS)
MORE = {"": "", "suggested": ", and the suggested ones that fit", "hub": ", and those of the hub that fit"}
SETS = tuple(choice.name for choice in catalog.PROMPT_SETS)


class Limits(NamedTuple):
    """What one mode allows; None is without limit."""

    mode: Mode
    where: str = ""  # in a sentence: "on a public page"
    numbers: Mapping[str, float] = {}  # field of a configuration -> the most it may be
    pocket_only: bool = False  # models, prompts, rewards and texts: those that ship, and what was made on this page
    more: Literal["", "suggested", "hub"] = ""  # beside those: suggested models; whatever has a name on the hub
    call_seconds: int | None = None  # of GPU, where that is lent for each attempt
    must_fit: bool = False  # what the estimate says does not fit on its device is refused (`estimates.room`)
    devices: tuple[str, ...] | None = None
    experiments: bool = True  # what is knowingly wrong
    refused_rewards: frozenset[str] = frozenset()
    parameters: int | None = None  # of each model, by its file's header
    prompt_characters: int | None = None  # of each prompt or text that is typed
    typed_characters: int | None = None  # of all typed prompts together
    evaluated: int | None = None  # completions of the fixed prompts of all looks: who opens a run's page loads them all
    watched_tokens: int | None = None  # of the answers that are kept token by token, of all looks: 300 bytes each
    rewards: int | None = None  # in the mixture: each is a score of every sample
    judges: int | None = None  # beside it
    samples: int | None = None  # for a question on the Compare page
    upload_bytes: int = 20_000_000
    upload_rows: int | None = None
    uploads_bytes: int | None = None  # of all kept uploads together
    request_bytes: int = 8_000_000  # of any other request: the largest form has four million typed characters
    kept_runs: int | None = None  # that have ended, with those in the bin
    kept_runs_bytes: int | None = None  # of all these together
    runs_per_visitor: int | None = None  # that train or wait
    runs_per_address: int | None = None  # the same, of all visitors behind one address
    queue: int | None = None  # runs that wait, of everybody
    open_questions: int | None = None  # to the page's own queue, of everybody


LIMITS: dict[str, Limits] = {
    "local": Limits("local"),
    "classroom": Limits(
        "classroom", "in a classroom", refused_rewards=local_only.refused_in("classroom"), open_questions=200, samples=8
    ),
    "space": Limits(
        "space",
        "on a public page",
        numbers={
            "ppo.num_updates": 500,
            "ppo.batch_size": 96,  # the largest of the presets for the pocket models
            "ppo.num_epochs": 8,
            "sampling.max_new_tokens": 128,
            "max_minutes": 30,
            "ranks": 1,
            "model.adapter.r": 64,
            "prompts.limit": 5_000,
            "evaluation.num_prompts": 64,
            "evaluation.samples_per_prompt": 4,
            "evaluation.num_texts": 64,
            "checkpoint.keep": 3,
        },
        pocket_only=True,
        devices=("auto", "cpu"),
        experiments=False,
        refused_rewards=local_only.refused_in("space"),
        parameters=200_000_000,
        prompt_characters=2_000,
        typed_characters=100_000,
        evaluated=10_000,
        watched_tokens=50_000,
        rewards=8,
        judges=4,
        samples=4,
        upload_bytes=2_000_000,
        upload_rows=5_000,
        uploads_bytes=200_000_000,
        request_bytes=1_000_000,
        kept_runs=200,
        kept_runs_bytes=10_000_000_000,
        runs_per_visitor=1,
        runs_per_address=3,
        queue=5,
        open_questions=40,
    ),
}


def mode_of_process() -> str:
    """The mode of the page that started this process; a command in a terminal is `local`, anything unknown public."""
    mode = os.environ.get(MODE_VARIABLE) or "local"
    return mode if mode in MODES else "space"


def check(config: RunConfig, limits: Limits, outputs: Path | None = None) -> list[Problem]:
    """What of a configuration goes beyond the limits. Opens nothing but headers of models that may be named.

    Args:
        outputs: where runs, reward models and uploads are that the configuration may name.
    """
    return [
        *_numbers(config, limits),
        *_amounts(config, limits),
        *_texts(config, limits),
        *_rewards(config, limits, outputs),
        *(_sources(config, limits, outputs) if limits.pocket_only else ()),
        *_parameters(config, limits, outputs),
    ]


def built(data: Any, limits: Limits) -> RunConfig:
    """The configuration that plain data mean. More rewards than there may be, and kinds that are refused, are seen in
    the data: expressions are parsed and their patterns compiled where the configuration is made of them.

    Raises: InvalidConfig, by that look or by `yaml_io.from_dict`.
    """
    problems = list(_scorers_of(data, limits)) if isinstance(data, Mapping) else []
    if problems:
        raise InvalidConfig(problems)
    return yaml_io.from_dict(data)


def require(config: RunConfig, limits: Limits, outputs: Path | None = None) -> None:
    """Raises: InvalidConfig, with every problem that `check` finds."""
    problems = check(config, limits, outputs)
    if problems:
        raise InvalidConfig(problems)


def capped(config: RunConfig, limits: Limits) -> RunConfig:
    """The configuration to start: where there is a cap on time, a run without a limit of its own gets that."""
    cap = limits.numbers.get("max_minutes")
    return config if cap is None or config.max_minutes is not None else config.model_copy(update={"max_minutes": cap})


def check_reward_training(config: RewardTrainingConfig, limits: Limits) -> list[Problem]:
    """The same for the training of a reward model, whose sources must ship with the playground on a public page."""
    if not limits.pocket_only:
        return []
    annotators = [choice.name for choice in catalog.ANNOTATORS]
    named = {
        "base": (config.base, POCKET),
        "pairs.writer": (config.pairs.writer, (None, *POCKET)),
        "pairs.source": (config.pairs.source, tuple(annotators)),
        "pairs.prompts": (config.pairs.prompts, (None, *SETS)),
    }
    return [_one_of(field, value, known, limits) for field, (value, known) in named.items() if value not in known]


def text_problem(what: str, text: object, limits: Limits) -> str:
    """Why a text that a person typed is too long here, as a sentence; empty if it is not."""
    length, cap = len(str(text or "")), limits.prompt_characters
    return "" if cap is None or length <= cap else f"{what} has {length:,} characters; {_at_most(cap, limits)}."


def samples_problem(count: Any, limits: Limits) -> str:
    """Why a number of samples cannot be asked for, as a sentence; empty if it can."""
    if limits.samples is None:
        return ""
    whole = isinstance(count, (int, float)) and count == count and abs(count) < 1e9
    return "" if whole and 1 <= count <= limits.samples else f"Ask for 1 to {limits.samples} samples {limits.where}."


def upload_problem(path: Path, limits: Limits, outputs: Path) -> str:
    """Why an uploaded file is not taken, as a sentence; empty if it is. Bounded in size before it is read."""
    name = Path(path).name
    try:
        size = os.stat(path).st_size
        if size > limits.upload_bytes:
            return f"{name} has {size:,} bytes; {_at_most(limits.upload_bytes, limits)}."
        if limits.uploads_bytes is not None:
            kept = sum(kept_bytes(item.stat().st_size) for item in (outputs / catalog.UPLOADS).glob("*"))
            if kept + kept_bytes(size) > limits.uploads_bytes:
                return "This page has no more room for uploads. Type the prompts instead."
        if limits.upload_rows is not None:
            count = row_files.shape(path, limits.upload_bytes).num_rows
            if count > limits.upload_rows:
                return f"{name} has {count:,} rows; {_at_most(limits.upload_rows, limits)}."
    except PlaygroundError as error:
        return str(error)
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}."
    return ""


def kept_bytes(size: int) -> int:
    """What a kept upload counts: a small one as much as some others, so that there are never too many to look at."""
    return max(size, LEAST_UPLOAD_BYTES)


def in_words(limits: Limits) -> list[str]:
    """The caps for a person, in a few words each; empty where there are none."""
    if not limits.pocket_only:
        return []
    number = limits.numbers
    models = [f"models {' and '.join(POCKET)}{MORE[limits.more]}"]
    if limits.call_seconds:
        models.append(f"{limits.call_seconds} seconds of GPU at a time, then Resume asks for more")
    if not number:
        return models
    return [
        *models,
        f"{number['ppo.num_updates']:g} updates of {number['ppo.batch_size']:g} episodes",
        f"{number['sampling.max_new_tokens']:g} new tokens",
        f"{number['max_minutes']:g} minutes",
        f"{limits.evaluated:,} answers to the fixed prompts in all",
        f"{limits.watched_tokens:,} of their tokens kept one by one",
        f"{limits.rewards} rewards and {limits.judges} held-out judges",
        f"{limits.runs_per_visitor} run at a time each",
        f"{limits.queue} runs waiting in all",
        f"{limits.kept_runs} ended runs kept, the newest",
        f"prompts of {limits.prompt_characters:,} characters",
        f"files of {limits.upload_bytes // 1_000_000} MB and {limits.upload_rows:,} rows",
    ]


def _numbers(config: RunConfig, limits: Limits) -> Iterator[Problem]:
    for field, cap in limits.numbers.items():
        value = functools.reduce(getattr, field.split("."), config)
        if isinstance(value, (int, float)) and value > cap:
            yield Problem(field, f"may be at most {cap:g} {limits.where} (got {value:g}).")
    if limits.numbers.get("ranks") == 1 and config.may_be_shared and config.ranks == 1:
        yield Problem("device", f"must be one {limits.where} (got {config.device}).")
    if config.experiments and not limits.experiments:
        yield Problem("experiments", f"what is knowingly wrong is not run {limits.where}.")
    if limits.devices is not None and config.device not in limits.devices:
        yield _one_of("device", config.device, limits.devices, limits)


def _amounts(config: RunConfig, limits: Limits) -> Iterator[Problem]:
    """What no single number says: how much a run writes that its page then holds in memory."""
    look, updates = config.evaluation, int(min(config.ppo.num_updates, limits.numbers.get("ppo.num_updates", 1e9)))
    evaluated = look.samples(updates)  # more updates than the cap are told of as that
    if limits.evaluated is not None and evaluated > limits.evaluated:
        count = f"{look.num_prompts} fixed prompts with {look.samples_per_prompt} samples, looked at every {look.every}"
        yield Problem(
            "evaluation.every",
            f"is too often: {count} of {updates} updates, are {evaluated:,} answers; "
            f"{_at_most(limits.evaluated, limits)}.",
        )
    longest = int(min(config.sampling.max_new_tokens, limits.numbers.get("sampling.max_new_tokens", 1e9)))
    watched = look.watched(updates) * longest
    if limits.watched_tokens is not None and watched > limits.watched_tokens:
        count = f"{min(look.token_samples, look.num_prompts)} answers of {longest} tokens, looked at every {look.every}"
        yield Problem(
            "evaluation.token_samples",
            f"is too many: {count} of {updates} updates, are {watched:,} tokens to keep one by one; "
            f"{_at_most(limits.watched_tokens, limits)}.",
        )
    own = [one for one in config.behaviours or () if one.measure]
    for field, found, cap in (
        ("rewards", config.rewards, limits.rewards),
        ("judges", config.judges, limits.judges),
        ("behaviours", own, limits.judges),
    ):
        yield from _too_many(field, len(found), cap, limits)


def _scorers_of(data: Mapping[str, Any], limits: Limits) -> Iterator[Problem]:
    """What `_amounts` and `_rewards` would say, as far as plain data of any form show it."""
    for field, cap in (("rewards", limits.rewards), ("judges", limits.judges), ("behaviours", limits.judges)):
        entries = data.get(field)
        if not isinstance(entries, (list, tuple)):
            continue
        inside = [(f"{field}.{number}", one) for number, one in enumerate(entries) if isinstance(one, Mapping)]
        if field == "behaviours":
            inside = [(f"{name}.measure", one["measure"]) for name, one in inside if one.get("measure")]
        yield from _too_many(field, len(inside), cap, limits)
        for name, one in inside:
            kind = one.get("kind") if isinstance(one, Mapping) else None
            if isinstance(kind, str) and kind in limits.refused_rewards:
                yield _refused_kind(name, kind, limits)


def _too_many(field: str, count: int, cap: int | None, limits: Limits) -> Iterator[Problem]:
    if cap is not None and count > cap:
        yield Problem(field, f"may be at most {cap} {limits.where} (got {count}).")


def _refused_kind(field: str, kind: str, limits: Limits) -> Problem:
    return Problem(f"{field}.kind", f"rewards of the kind `{kind}` are not taken {limits.where}.")


def _texts(config: RunConfig, limits: Limits) -> Iterator[Problem]:
    texts = [*config.prompts.typed, config.prompts.system or ""]
    long = [text for text in texts if text_problem("", text, limits)]
    if long:
        field = "prompts.system" if long[0] == config.prompts.system else "prompts.typed"
        yield Problem(field, text_problem("One of the texts", long[0], limits))
    total, cap = sum(map(len, texts)), limits.typed_characters
    if cap is not None and total > cap:
        yield Problem("prompts.typed", f"All prompts together have {total:,} characters; {_at_most(cap, limits)}.")


def _rewards(config: RunConfig, limits: Limits, outputs: Path | None) -> Iterator[Problem]:
    for field, spec in config.scorers:
        if spec.kind in limits.refused_rewards:
            yield _refused_kind(field, spec.kind, limits)
        elif (
            limits.pocket_only
            and isinstance(spec, ModelReward)
            and not (_trained_here(spec.source, outputs) or (limits.more == "hub" and _on_hub(spec.source)))
        ):
            yield Problem(
                f"{field}.source",
                f"must be a reward model that was trained here {limits.where} (got {_got(spec.source)}).",
            )


def _sources(config: RunConfig, limits: Limits, outputs: Path | None) -> Iterator[Problem]:
    model, reference, prompts = config.model.source, config.reference.source, config.prompts.source
    if model not in POCKET and not _is_more(model, limits):
        yield _one_of("model.source", model, (*POCKET, *_named(limits)), limits)
    if limits.more != "hub" and config.model.revision is not None and model not in POCKET:
        yield Problem("model.revision", f"cannot be chosen {limits.where}; leave it empty.")
    if (
        reference not in (catalog.START, *POCKET)
        and not _is_run(reference, outputs)
        and not _is_more(reference, limits)
    ):
        known = (catalog.START, *POCKET, *_named(limits), "a run of this page")
        yield _one_of("reference.source", reference, known, limits)
    may_be_far = limits.more == "hub" and _on_hub(prompts)
    if prompts not in (*SETS, catalog.TYPED) and not _is_upload(prompts, outputs) and not may_be_far:
        yield _one_of("prompts.source", prompts, (*SETS, catalog.TYPED, "an uploaded file"), limits)
    text = config.evaluation.text
    if text not in (None, *catalog.HELD_OUT_TEXTS):
        yield _one_of("evaluation.text", text, catalog.HELD_OUT_TEXTS, limits)


def _parameters(config: RunConfig, limits: Limits, outputs: Path | None) -> Iterator[Problem]:
    cap = limits.parameters
    if cap is None:
        return
    refused = {problem.field for problem in (*_sources(config, limits, outputs), *_rewards(config, limits, outputs))}
    for need in checks.needs(config, outputs):
        if need.field in refused:
            continue  # what may not be named is not opened either
        try:
            count = catalog.files(need.folder(), need.use).architecture.parameters
        except ModelNotFound:
            continue  # `checks` has the sentence for it
        if count > cap:
            sentence = f"{need.source} has {count / 1e6:,.0f} million parameters; at most {cap / 1e6:,.0f} million"
            yield Problem(need.field, f"{sentence} {limits.where}.")


def _trained_here(source: str, outputs: Path | None) -> bool:
    """True for a reward model that was trained here or ships with the playground."""
    return source in catalog.shipped_reward_models() or bool(
        outputs
        and RUN_ID.fullmatch(source)
        and (outputs / catalog.REWARD_MODELS / source / catalog.REWARD_CARD).is_file()
    )


def _is_more(source: str, limits: Limits) -> bool:
    """True for a model beside those that ship, where that is allowed."""
    return source in curated.BY_NAME if limits.more == "suggested" else limits.more == "hub" and _on_hub(source)


def _named(limits: Limits) -> tuple[str, ...]:
    return {"": (), "suggested": tuple(curated.BY_NAME), "hub": ("owner/name of the hub",)}[limits.more]


def _on_hub(source: str) -> bool:
    """True for the name of a repository; never for what is a path of this machine, whether it is there or not."""
    is_path = source.startswith((".", "~", "/")) or os.path.lexists(source)
    return hub.repository(source) is not None and not is_path and row_files.kind_of(source) is None


def _is_run(source: str, outputs: Path | None) -> bool:
    run, slash, checkpoint = source.partition("/")
    named = RUN_ID.fullmatch(run) and (not slash or CHECKPOINT.fullmatch(checkpoint))
    return bool(outputs and named and (outputs / run / "config.yaml").is_file())


def _is_upload(source: str, outputs: Path | None) -> bool:
    """True for a file that the page itself has kept; never for one that is reached through a link."""
    if outputs is None or len(source) > 1_000:
        return False
    path = Path(source)
    same_folder = str(path.parent) == str((outputs / catalog.UPLOADS).resolve())
    return bool(same_folder and KEPT_UPLOAD.fullmatch(path.name) and path.is_file() and not path.is_symlink())


def _one_of(field: str, value: Any, known: tuple[Any, ...], limits: Limits) -> Problem:
    names = ", ".join(str(name) for name in known if name is not None)
    return Problem(field, f"must be one of {names} {limits.where} (got {_got(value)}).")


def _got(value: Any) -> str:
    """A value that is refused, without the folders of this machine: it may be of somebody else's run."""
    return repr(redaction.without_folders(str(value))[:60])


def _at_most(cap: float, limits: Limits) -> str:
    return f"at most {cap:,} {limits.where}" if limits.where else f"at most {cap:,}"


assert all(field in knobs() for limits in LIMITS.values() for field in limits.numbers)  # each cap is on a real setting

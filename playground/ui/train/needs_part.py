"""What a run needs, near the Start button; and the pickers of model and device, which decide about it.

`train_page` lays these out and calls `needs` when the form has changed; static/train/needs.js draws. Loads no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError
from playground.runs import history
from playground.setup import catalog, checks, describe, devices, estimates, limits
from playground.setup.estimates import fitting
from playground.setup.estimates.timing import Finished
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.train import form

MOST_USED = 12  # models of earlier runs that the picker offers
MODEL_INFO = "Or type the id of a model on the Hugging Face hub (owner/name), or the path of a model folder."


def panel() -> gr.HTML:
    """Memory by role, time, and whether it fits."""
    return components.widget("train/needs", None, elem_id="needs")


def needs(
    read: Callable[[], tuple[RunConfig, RunConfig]], outputs: Path, capped: Limits = LIMITS["local"]
) -> Any:  # fmt: skip
    """What train/needs.js shows; nothing new while the form has a setting that is not valid, or not allowed here.

    Args:
        read: makes the preset and the configuration; raises InvalidConfig.
    """
    try:
        base, config = read()
        limits.require(config, capped, outputs)
    except PlaygroundError:
        return gr.skip()
    try:
        checks.require_in_reach(config, outputs)
        last = history.finished_runs(outputs)
        found = estimates.estimate(config, outputs, ask_hub=True, finished=last).to_json()
        found["model"] = describe.in_words("model.source", config.model.source)
        found["fit"] = fit(config, base, outputs, last)
    except InvalidConfig as error:
        return {"problem": " ".join(problem.message for problem in error.problems)}
    except PlaygroundError as error:
        return {"problem": form.with_labels(str(error))}
    return {**found, "advice": form.with_labels(found["advice"]), "problem": ""}


def fit(config: RunConfig, base: RunConfig, outputs: Path, last: Sequence[Finished]) -> dict[str, Any] | None:
    """What to set for a model that is not the preset's own, see `form.change`; None where all fits.

    Raises:
        PlaygroundError: nothing is known of the model.
    """
    if config.model.source == base.model.source:
        return None
    found = fitting.fit(config, outputs, last)
    change = form.change(found.config, config)
    return change and {**change, "like": found.like, "own": found.own}


def model_choices(outputs: Path, capped: Limits = LIMITS["local"]) -> list[tuple[str, str]]:
    """What the model picker offers: models that ship, models of the hub, and those that runs here have used."""
    ships = [(f"{model.label} (ships with it)", model.name) for model in catalog.MODELS]
    if capped.pocket_only and not capped.more:
        return ships
    suggested = [(f"{model.label} (hub, {model.download_mb:,} MB)", model.name) for model in catalog.CURATED]
    if capped.more == "suggested":
        return [*ships, *suggested]
    offered = {name for _, name in (*ships, *suggested)}
    known = dict.fromkeys(run.model for run in history.list_runs(outputs))
    used = [(f"{name} (used before)", name) for name in known if name not in offered][:MOST_USED]
    return [*ships, *used, *suggested]


def model_picker(value: Any, outputs: Path, elem_id: str, capped: Limits = LIMITS["local"]) -> gr.Dropdown:
    """The picker of the model to train."""
    return gr.Dropdown(
        model_choices(outputs, capped), value=value, label=form.LABELS["model.source"],
        info="" if capped.pocket_only else MODEL_INFO, allow_custom_value=True, elem_id=elem_id,
    )  # fmt: skip


def model_update(value: Any, outputs: Path, capped: Limits = LIMITS["local"]) -> Any:
    """The picker with another value (or as it was), and with the models that have been used since."""
    choices = model_choices(outputs, capped)
    return gr.Dropdown(choices=choices, value=value) if isinstance(value, str) else gr.Dropdown(choices=choices)


def device_picker(value: Any, elem_id: str) -> gr.Dropdown:
    """The picker of the device: what this machine has."""
    there = devices.available()
    choices = [("Auto: the first GPU, else the processor", "auto")]
    choices += [
        (f"{device.name}: {device.label}, {device.total_bytes / 2**30:.0f} GB", device.name) for device in there
    ]
    if len(gpus := [device for device in there if device.kind == "cuda"]) > 1:
        choices.append((f"All {len(gpus)} GPUs together", "all"))
    return gr.Dropdown(
        choices, value=value, label=form.LABELS["device"], info=form.KNOBS["device"]["help"], allow_custom_value=True,
        elem_id=elem_id,
    )  # fmt: skip

"""What a run needs, near the Start button; and what the pickers of model and device offer, which decide about it.

`train_page` calls `needs` when the form has changed; static/train/needs.js draws. Loads no model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError
from playground.runs import history
from playground.setup import catalog, checks, describe, devices, estimates
from playground.setup.estimates import fitting
from playground.setup.limits import LIMITS, Limits
from playground.ui.train import form

MOST_USED = 12  # models of earlier runs that the picker offers
MODEL_INFO = "Or type the id of a model on the Hugging Face hub (owner/name), or the path of a model folder."


def needs(config: RunConfig, base: RunConfig, outputs: Path) -> dict[str, Any]:
    """Memory by role, time, and whether it fits; or why nothing is known of it. `fit`: what to set for a model that is
    not the one of `base`, the preset of the form, see `form.change`; None where all fits."""
    try:
        checks.require_in_reach(config, outputs)
        last = history.finished_runs(outputs)
        found = estimates.estimate(config, outputs, ask_hub=True, finished=last).to_json()
        fit = None
        if config.model.source != base.model.source:
            fitted = fitting.fit(config, outputs, last)
            change = form.change(fitted.config, config)
            fit = change and {**change, "like": fitted.like, "own": fitted.own}
    except InvalidConfig as error:
        return {"problem": " ".join(problem.message for problem in error.problems)}
    except PlaygroundError as error:
        return {"problem": form.with_labels(str(error))}
    model = describe.in_words("model.source", config.model.source)
    return {**found, "model": model, "fit": fit, "advice": form.with_labels(found["advice"]), "problem": ""}


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


def device_choices() -> list[tuple[str, str]]:
    """What the picker of the device offers: what this machine has."""
    there = devices.available()
    gpus = sum(device.kind == "cuda" for device in there)
    return [
        ("Auto: the first GPU, else the processor", "auto"),
        *((f"{one.name}: {one.label}, {one.total_bytes / 2**30:.0f} GB", one.name) for one in there),
        *([(f"All {gpus} GPUs together", "all")] if gpus > 1 else []),
    ]

"""The panel "Train a reward model" on the Rewards page: choose pairs and a base, start, watch, use it as a reward.

Here is what changes something: start, stop, delete, and taking an uploaded file in. static/rewards/training.js draws
the panel and reads the state from `/live/_rewards`. `rewards_page` calls `build`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from playground.config import RewardTrainingConfig, knobs_of
from playground.data import preferences, row_files
from playground.errors import PlaygroundError, in_words
from playground.runs import reward_models
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.auth import uploads
from playground.ui.auth.access import Access, Action
from playground.ui.rewards import reward_data

FIRST = ("pairs.limit", "pairs.flip", "epochs", "learning_rate")
MORE = (
    *("pairs.sharpness", "pairs.majority", "pairs.held_out", "batch_size", "micro_batch_size"),
    *("max_steps", "max_length", "centre", "seed"),
)
NOTHING = {"learning_rate": "auto", "max_length": "auto", "micro_batch_size": "all"}  # what an empty field is called
POCKET_ONLY = ("pairs.flip", "pairs.sharpness", "pairs.majority")


def build(outputs: Path, access: Access) -> gr.HTML:
    """Lay out the panel; it tells of the reward model that is to be tested next, as {"test": name}."""
    panel = components.widget(
        "rewards/training",
        {"uploaded": None, "problem": ""},
        elem_id="reward-training-panel",
        form=form(),
        server_functions=[*guarded_functions(outputs, access)],
    )
    with gr.Column(elem_id="upload-pairs"):  # the panel takes it in, button and file input together
        upload = gr.UploadButton("Upload a file of pairs", file_types=[".jsonl", ".gz", ".csv", ".tsv"], size="sm")

    def take(path: str | None) -> dict[str, Any]:
        return {**taken_in(path, outputs, access.limits), "at": time.time()}

    def not_taken(sentence: str) -> dict[str, Any]:
        return {"uploaded": None, "problem": sentence, "at": time.time()}

    taking = access.guard(Action.TRAIN_REWARD, take, not_taken)
    upload.upload(taking, upload, panel, **components.AT_ONCE)
    return panel


def form() -> dict[str, Any]:
    """What the panel needs to draw its controls."""
    knobs = knobs_of(RewardTrainingConfig)
    return {
        "annotators": [{"name": item.name, "label": item.label, "help": item.help} for item in catalog.ANNOTATORS],
        "bases": [{"name": item.name, "label": item.label, "size": item.size} for item in catalog.MODELS],
        "help": {field: knobs[field]["help"] for field in ("pairs.source", "base", "name", "template", "adapter.kind")},
        "base": knobs["base"]["default"],
        "first": [_knob(field, knobs[field]) for field in FIRST],
        "more": [_knob(field, knobs[field]) for field in MORE],
        "templates": ["auto", "plain", "chat", "dialogue"],
    }


def _knob(field: str, knob: dict[str, Any]) -> dict[str, Any]:
    """What static/core/knob.js needs to draw a number, and its default."""
    return {
        **{key: knob[key] for key in ("label", "help", "low", "high", "unit", "slider", "log", "default")},
        "field": field,
        "optional": knob["default"] is None,
        "none": NOTHING.get(field, "off"),
        "pocket": field in POCKET_ONLY,
    }


def guarded_functions(outputs: Path, access: Access) -> list[Any]:
    """The functions below for who may train reward models."""

    def refused(sentence: str) -> dict[str, Any]:
        problems = [{"field": "", "message": sentence}]
        return {"error": sentence, "name": None, "exists": False, "problems": problems}

    return [access.guard(Action.TRAIN_REWARD, item, refused) for item in functions(outputs, access.limits)]


def functions(outputs: Path, capped: Limits = LIMITS["local"]) -> list[Any]:
    """What static/rewards/training.js may ask for, each with one argument of any form."""

    def start_training(asked: Any) -> dict[str, Any]:
        """Start one from {values, replace}; see `reward_data.started`."""
        asked = asked if isinstance(asked, dict) else {}
        return reward_data.started(asked.get("values"), outputs, bool(asked.get("replace")), capped)

    def stop_training(name: Any) -> dict[str, str]:
        """Ask for a stop; nothing is saved then."""
        return _done(name, lambda training: training.request_stop())

    def delete_reward_model(name: Any) -> dict[str, str]:
        """Delete a reward model for good; called after the person confirmed it."""
        return _done(name, reward_models.delete)

    def _done(name: Any, act: Callable[[RewardTraining], object]) -> dict[str, str]:
        try:
            act(reward_models.find(outputs, str(name)))
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error)}
        return {"error": ""}

    return [start_training, stop_training, delete_reward_model]


def taken_in(path: str | None, outputs: Path, capped: Limits = LIMITS["local"]) -> dict[str, str | None]:
    """Keep an uploaded file in the outputs folder, if it begins as a file of pairs: where it is, or what is wrong."""
    if not path:
        return {"uploaded": None, "problem": ""}
    try:
        with uploads.room_for(Path(path), capped, outputs):
            preferences.check_file(path)
            kept, table = uploads.put(Path(path), outputs), row_files.shape(Path(path))
    except (PlaygroundError, OSError) as error:
        return {"uploaded": None, "problem": in_words(error).removeprefix("pairs.source: ")}
    sentence = f"{Path(path).name}: {table.in_words()}, with the columns {', '.join(table.columns)[:200]}."
    return {"uploaded": str(kept), "problem": "", "sentence": sentence}

"""The panel "Train a reward model" on the Rewards page: choose pairs and a base, start, watch, use it as a reward.

static/rewards/training.js draws it, and reads `overview` and `detail` from `/live/_rewards`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from playground import redaction
from playground.config import RewardTrainingConfig, knobs_of, yaml_io
from playground.data import preferences, row_files
from playground.errors import InvalidConfig, PlaygroundError, RunExists, in_words
from playground.runs import reward_models
from playground.runs.reward_models import RewardTraining
from playground.setup import admission, catalog
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.auth import uploads
from playground.ui.auth.access import Access, Action
from playground.ui.payloads.form import KnobData, ProblemData
from playground.ui.payloads.rewards import (
    CurveData,
    RewardCardData,
    RewardFormData,
    RewardModelRowData,
    RewardModelsData,
    RewardStartData,
    RewardTrainingData,
    UploadedPairsData,
)
from playground.ui.payloads.server import DoneData
from playground.ui.train.form import as_dict, drawn, put

FIRST = ("pairs.limit", "pairs.flip", "epochs", "learning_rate")
MORE = (
    *("pairs.sharpness", "pairs.majority", "pairs.held_out", "batch_size", "micro_batch_size"),
    *("max_steps", "max_length", "centre", "seed"),
)
NOTHING = {"learning_rate": "auto", "max_length": "auto", "micro_batch_size": "all"}  # what an empty field is called
POCKET_ONLY = ("pairs.flip", "pairs.sharpness", "pairs.majority")
MAX_POINTS = 400  # of a curve; more cannot be seen
LOG_BYTES = 4000


def build(outputs: Path, access: Access) -> gr.HTML:
    """Lay out the panel; it tells of the reward model that is to be tested next, as {"test": name}."""
    panel = components.widget(
        "rewards/training",
        {"uploaded": None, "problem": ""},
        page="rewards",
        elem_id="reward-training-panel",
        form=form_data(),
        limit=access.limits.upload_bytes,
        server_functions=guarded_functions(outputs, access),
    )
    with gr.Column(elem_id="upload-pairs"):  # the panel takes it in, button and file input together
        upload = gr.UploadButton("Upload a file of pairs", file_types=uploads.FILE_TYPES, size="sm")

    def take(path: str | None) -> UploadedPairsData:
        return {**taken_in(path, outputs, access.limits), "at": time.time()}

    def not_taken(sentence: str) -> UploadedPairsData:
        return {"uploaded": None, "problem": sentence, "at": time.time()}

    taking = access.guard(Action.TRAIN_REWARD, take, not_taken)
    upload.upload(taking, upload, panel, **components.AT_ONCE)
    return panel


def form_data() -> RewardFormData:
    """What the panel needs to draw its controls."""
    knobs = knobs_of(RewardTrainingConfig)
    return {
        "annotators": [item._asdict() for item in catalog.ANNOTATORS],
        "bases": [item._asdict() for item in catalog.MODELS],
        "help": {field: knobs[field]["help"] for field in ("pairs.source", "base", "name", "template", "adapter.kind")},
        "base": knobs["base"]["default"],
        "first": [_knob(field, knobs[field]) for field in FIRST],
        "more": [_knob(field, knobs[field]) for field in MORE],
        "templates": ["auto", "plain", "chat", "dialogue"],
    }


def _knob(field: str, knob: dict[str, Any]) -> KnobData:
    """What static/core/knob.js needs to draw a number, and its default."""
    return {
        **drawn(field, knob, optional=knob["default"] is None),
        "default": knob["default"],
        "none": NOTHING.get(field, "off"),
        "pocket": field in POCKET_ONLY,
    }


def guarded_functions(outputs: Path, access: Access) -> list[Any]:
    """What the panel may ask for, each with one argument of any form."""

    def start_training(asked: Any) -> RewardStartData:
        """Start one from {values, replace}; see `started`."""
        asked = as_dict(asked)
        return started(asked.get("values"), outputs, bool(asked.get("replace")), access.limits)

    def stop_training(name: Any) -> DoneData:
        """Ask for a stop; nothing is saved then."""
        return done(name, RewardTraining.request_stop)

    def delete_reward_model(name: Any) -> DoneData:
        """Delete a reward model for good; called after the person confirmed it."""
        return done(name, reward_models.delete)

    def done(name: Any, act: Callable[[RewardTraining], object]) -> DoneData:
        act(reward_models.find(outputs, str(name)))
        return {"error": ""}

    def refused(sentence: str) -> RewardStartData:
        problems: list[ProblemData] = [{"field": "", "message": sentence}]
        return {"error": sentence, "name": None, "exists": False, "problems": problems}

    functions = (start_training, stop_training, delete_reward_model)
    return [access.guard(Action.TRAIN_REWARD, item, refused) for item in functions]


def started(data: Any, outputs: Path, replace: bool, capped: Limits = LIMITS["local"]) -> RewardStartData:
    """Start a training from the panel's flat values ({"pairs.limit": 400, ...}): its name, or what is wrong. `exists`:
    there is one of that name, and the person has to confirm that it is replaced."""
    nested: dict[str, Any] = {}
    problems: list[ProblemData]
    exists = False
    try:
        for field, value in as_dict(data).items():
            if value == "" and field != "name":
                value = None
            put(nested, str(field), value)
        config = yaml_io.validated(nested, RewardTrainingConfig)
        training, _ = reward_models.start(admission.admit_training(config, capped), outputs, replace)
        return {"name": training.id, "exists": False, "problems": []}
    except InvalidConfig as error:
        problems = [{"field": item.field, "message": item.message} for item in error.problems]
    except PlaygroundError as error:
        exists = isinstance(error, RunExists)
        problems = [{"field": "name" if exists else "", "message": str(error)}]
    return {"name": None, "exists": exists, "problems": problems}


def taken_in(path: str | None, outputs: Path, capped: Limits = LIMITS["local"]) -> UploadedPairsData:
    """Keep an uploaded file in the outputs folder, if it begins as a file of pairs: where it is, or what is wrong."""
    if not path:
        return {"uploaded": None, "problem": ""}
    try:
        with uploads.room_for(Path(path), capped, outputs):
            taken = preferences.check_file(path)
            kept, table = uploads.put(Path(path), outputs), row_files.shape(Path(path))
    except (PlaygroundError, OSError) as error:
        return {"uploaded": None, "problem": in_words(error).removeprefix("pairs.source: ")}
    sentence = f"{Path(path).name}: {table.in_words()}. {taken}"
    return {"uploaded": str(kept), "problem": "", "sentence": sentence}


def overview(outputs: Path) -> RewardModelsData:
    """All reward models, the newest first, and the one in training."""
    living = reward_models.living(outputs)
    return {
        "living": living.id if living else None,
        "models": [_row(item) for item in reward_models.trainings(outputs)],
    }


def _row(training: RewardTraining) -> RewardModelRowData:
    status, card = training.status(), training.card()
    return {
        "name": training.id,
        "state": status.state,
        "started_at": status.started_at,
        "accuracy": card["accuracy"] if card else None,
    }


def detail(outputs: Path, name: str, *, with_log: bool = False) -> RewardTrainingData:
    """One training: what was asked for, where it is, its curve, its report once there is one, and the log (with folders
    of the machine) of one that failed. Raises: RunNotFound, InvalidConfig."""
    training = reward_models.find(outputs, name)
    config, status, steps = training.config(), training.status(), training.steps()
    failed = status.state in ("failed", "interrupted")
    return {
        "name": training.id,
        "pairs": _last_part(config.pairs.source),
        "base": _last_part(config.base),
        "settings": _settings(config),
        "state": status.state,
        "phase": status.phase,
        "message": redaction.without_folders(status.message),
        "step": status.update,
        "num_steps": status.num_updates,
        "seconds": round(status.seconds_at_work(), 1),
        "ended": status.ended,
        "training": _curve([item for item in steps if not item.held_out]),
        "held_out": _curve([item for item in steps if item.held_out]),
        "card": _card(training),
        "log": training.log_tail(LOG_BYTES) if failed and with_log else "",
    }


def _last_part(source: str) -> str:
    """Of a path of this machine its last part; any other name as it is."""
    if Path(source).is_absolute():
        return Path(source).name
    return source


def _settings(config: RewardTrainingConfig) -> str:
    """The settings that matter for reading a report, in one line."""
    pairs = config.pairs
    length = f"{config.epochs:g} epochs"
    if config.max_steps:
        length = f"{config.max_steps} steps"
    is_annotated = pairs.source in [item.name for item in catalog.ANNOTATORS]
    most = "" if is_annotated else "at most "
    answer = [f"{most}{pairs.limit} pairs", length]
    if is_annotated and pairs.flip:
        answer.append(f"{100 * pairs.flip:.0f} % wrong answers")
    if is_annotated and pairs.sharpness:
        answer.append(f"sharpness {pairs.sharpness:g}")
    return ", ".join([*answer, f"seed {config.seed}"])


def _curve(steps: list[reward_models.StepMetrics]) -> CurveData:
    every = max(1, -(-len(steps) // MAX_POINTS))
    kept = [item for index, item in enumerate(steps) if index % every == 0 or index == len(steps) - 1]
    return {
        "step": [item.step for item in kept],
        "loss": [item.loss for item in kept],
        "accuracy": [item.accuracy for item in kept],
    }


def _card(training: RewardTraining) -> RewardCardData | None:
    card = training.card()
    if card is None:
        return None
    return {
        "name": card["name"],
        "template": card["template"],
        "max_length": card["max_length"],
        "report": card["report"],
        "base": _last_part(str(card.get("base", ""))),
        "counts": card["pairs"]["in_words"],
        "doubt": reward_models.doubt(card),
    }

"""The prompts in the form of the Train page: where they come from, uploads, and a look at them before any training.

`controls` lays out the fields, `train_page` calls the rest. Which fields matter depends on the source;
static/train/prompts.js shows those and hides the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks, describe
from playground.setup.limits import LIMITS, Limits
from playground.ui.auth import uploads
from playground.ui.train import form

FIELDS = ("prompts.source", "prompts.typed", "prompts.subset", "prompts.split", "prompts.column")
INFO = "Or type a file's path, or the id of a dataset on the Hugging Face hub such as Anthropic/hh-rlhf."


class UploadAnswer(NamedTuple):
    """What an upload brings: a note, and if it is kept its source and columns."""

    note: dict[str, Any]
    source: Any = None
    column: Any = None


def choices(outputs: Path | None) -> list[tuple[str, str]]:
    """What the picker offers: the pocket sets, typed prompts, what was uploaded before (without `outputs`: nothing)."""
    sets = [(choice.label, choice.name) for choice in catalog.PROMPT_SETS]
    return [*sets, ("My own, typed here", catalog.TYPED), *(uploads.kept_files(outputs) if outputs else ())]


def taken(path: str, outputs: Path, capped: Limits = LIMITS["local"]) -> UploadAnswer:
    """Keep an upload, if it can be used."""
    try:
        with uploads.room_for(Path(path), capped, outputs):
            kept = uploads.keep(Path(path), outputs)
    except PlaygroundError as error:
        return UploadAnswer({"problem": uploads.problem_of(error), "at": time.time()})
    name = f"{uploads.FOLDER}/{kept.path.name}"
    mine = (describe.source_label(name), name)  # of a public page's visitor: they see their own file and nobody else's
    offered = [*choices(None), mine] if capped.pocket_only else choices(outputs)
    return UploadAnswer(
        {"sentence": kept.sentence, "at": time.time()},
        gr.Dropdown(choices=offered, value=name, allow_custom_value=True),
        gr.Dropdown(choices=list(kept.columns), value=kept.column or "", allow_custom_value=True),
    )


def looked_at(read: Callable[[], RunConfig], service: ModelService) -> Iterator[dict[str, Any]]:
    """What train/prompts_preview.js shows: `asking`, then `done` with the preview or `error` with one sentence."""
    name = ""
    try:
        config = read()
        name = describe.in_words("prompts.source", config.prompts.source)
        yield {"state": "asking", "name": name}
        answers = list(service.ask("prompts", {"config": checks.located(config).model_dump(mode="json")}))
    except PlaygroundError as error:
        yield form.failed(form.message_of(error), name=name)
    else:
        yield {"state": "done", "name": name, "preview": answers[-1], "at": time.time()}

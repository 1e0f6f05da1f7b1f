"""The prompts in the form of the Train page: where they come from, uploads, and a look at them before any training.

`train_page` calls `controls` and `panel` while it lays out the page, and `connect` when all fields are there. Which
fields matter depends on the source; static/train/prompts.js shows those and hides the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks, describe
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.door import uploads
from playground.ui.door.access import Access, Action, Caller
from playground.ui.train import form

FIELDS = ("prompts.source", "prompts.typed", "prompts.subset", "prompts.split", "prompts.column")
SHOW_FIELDS = components.calling("train/prompts", "show", "source")
INFO = "Or type a file's path, or the id of a dataset on the Hugging Face hub such as Anthropic/hh-rlhf."


class PromptsPart(NamedTuple):
    """The fields in the order of FIELDS, and what is around them."""

    fields: dict[str, Any]
    upload: gr.UploadButton
    look: gr.Button
    note: gr.HTML


def controls(values: Mapping[str, Any], outputs: Path, dom_id: Callable[[str], str], capped: Limits) -> PromptsPart:
    """The picker, and below it what belongs to the chosen kind of source. Everybody gets the same, so on a page for
    others it does not list what has been uploaded before."""
    made: dict[str, Any] = {}
    with gr.Column(elem_id="prompts-part"):
        made["prompts.source"] = gr.Dropdown(
            choices(outputs if capped.mode == "local" else None), value=values["prompts.source"],
            label=form.LABELS["prompts.source"], info="" if capped.pocket_only else INFO, allow_custom_value=True,
            elem_id=dom_id("prompts.source"),
        )  # fmt: skip
        with gr.Column(elem_classes=["for-typed"]):
            made["prompts.typed"] = gr.Textbox(
                values["prompts.typed"], label=form.LABELS["prompts.typed"],
                info="One a line; \\n stands for a line break inside a prompt.",
                placeholder="The film was\nMy sister says", lines=4, max_lines=14, elem_id=dom_id("prompts.typed"),
            )  # fmt: skip
        with gr.Column(elem_classes=["for-dataset"]):
            for field in ("prompts.subset", "prompts.split"):
                made[field] = gr.Textbox(
                    values[field], label=form.LABELS[field], info=form.KNOBS[field]["help"], elem_id=dom_id(field)
                )
        with gr.Column(elem_classes=["for-columns"]):
            made["prompts.column"] = gr.Dropdown(
                [], value=values["prompts.column"], label=form.LABELS["prompts.column"],
                info=form.KNOBS["prompts.column"]["help"], allow_custom_value=True, elem_id=dom_id("prompts.column"),
            )  # fmt: skip
        with gr.Row(elem_id="prompts-buttons"):
            upload = gr.UploadButton("Upload a file", file_types=uploads.FILE_TYPES, size="sm", min_width=120)
            look = gr.Button("Look at the prompts", size="sm", elem_id="look-at-prompts", min_width=140)
        note = components.widget("train/prompts", {}, elem_id="prompts-note", limit=capped.upload_bytes)
    return PromptsPart({field: made[field] for field in FIELDS}, upload, look, note)


def panel() -> gr.HTML:
    """Where the prompts are shown."""
    return components.widget("train/prompts_preview", {"state": "closed"}, elem_id="prompts-preview")


def connect(
    part: PromptsPart,
    shown: gr.HTML,
    inputs: list[Any],
    read: Callable[..., RunConfig],
    outputs: Path,
    service: ModelService,
    access: Access,
) -> gr.events.Dependency:
    """Connect picker, upload and preview. Returns the event after which the form is to be checked again.

    Args:
        inputs: what `read` makes a configuration from, for who asks; it raises PlaygroundError.
    """
    source, column = part.fields["prompts.source"], part.fields["prompts.column"]
    private: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

    def take(path: str) -> list[Any]:
        return taken(path, outputs, access.limits)

    def look(*values: Any, caller: Caller) -> Iterator[list[Any]]:
        for answer in looked_at(lambda: read(caller, *values), service):
            columns = answer.get("preview", {}).get("columns")
            yield [answer, gr.Dropdown(choices=columns, allow_custom_value=True) if columns else gr.skip()]

    def no_look(sentence: str) -> list[Any]:
        return [{"state": "error", "message": sentence, "at": time.time()}, gr.skip()]

    def no_upload(sentence: str) -> list[Any]:
        return [gr.skip(), gr.skip(), {"problem": sentence, "at": time.time()}]

    looking, taking = access.guard(Action.TRY_REWARDS, look, no_look), access.guard(Action.UPLOAD, take, no_upload)
    source.change(None, source, None, js=SHOW_FIELDS, queue=False, **private)
    part.look.click(looking, inputs, [shown, column], trigger_mode="once", concurrency_limit=2, **private)
    return part.upload.upload(taking, part.upload, [source, column, part.note], queue=False, **private)


def choices(outputs: Path | None) -> list[tuple[str, str]]:
    """What the picker offers: the pocket sets, typed prompts, what was uploaded before (without `outputs`: nothing)."""
    sets = [(choice.label, choice.name) for choice in catalog.PROMPT_SETS]
    return [*sets, ("My own, typed here", catalog.TYPED), *(uploads.kept_files(outputs) if outputs else ())]


def taken(path: str, outputs: Path, capped: Limits = LIMITS["local"]) -> list[Any]:
    """After an upload: source, column and a note; with a problem only the note."""
    try:
        with uploads.room_for(Path(path), capped, outputs):
            kept = uploads.keep(Path(path), outputs)
    except PlaygroundError as error:
        return [gr.skip(), gr.skip(), {"problem": uploads.problem_of(error), "at": time.time()}]
    name = f"{uploads.FOLDER}/{kept.path.name}"
    mine = (describe.source_label(name), name)  # of a public page's visitor: they see their own file and nobody else's
    offered = [*choices(None), mine] if capped.pocket_only else choices(outputs)
    return [
        gr.Dropdown(choices=offered, value=name, allow_custom_value=True),
        gr.Dropdown(choices=list(kept.columns), value=kept.column or "", allow_custom_value=True),
        {"sentence": kept.sentence, "at": time.time()},
    ]


def looked_at(read: Callable[[], RunConfig], service: ModelService) -> Iterator[dict[str, Any]]:
    """What train/prompts_preview.js shows: `asking`, then `done` with the preview or `error` with one sentence."""
    at = time.time()
    try:
        config = read()
    except InvalidConfig as error:
        first = error.problems[0]
        label = f"{form.label_of(first.field)}: " if first.field else ""
        yield {"state": "error", "message": f"{label}{form.with_labels(first.message)}", "at": at}
        return
    except PlaygroundError as error:
        yield {"state": "error", "message": str(error), "at": at}
        return
    name = describe.in_words("prompts.source", config.prompts.source)
    yield {"state": "asking", "name": name, "at": at}
    try:
        answers = list(service.ask("prompts", {"config": checks.located(config).model_dump(mode="json")}))
    except PlaygroundError as error:
        yield {"state": "error", "name": name, "message": form.with_labels(str(error)), "at": at}
        return
    yield {"state": "done", "name": name, "preview": answers[-1], "at": at}

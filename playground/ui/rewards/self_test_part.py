"""The panel "Test a reward model" on the Rewards page: its self-test, with the format debugger, before any training.
Model and prompts are those of the form on the Train page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import gradio as gr

from playground.config.parts import RUN_ID
from playground.data import preferences
from playground.errors import InvalidConfig, PlaygroundError
from playground.models import hub
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.auth.access import Access, Action
from playground.ui.payloads.self_test import RewardCheckData
from playground.ui.rewards import workbench_part
from playground.ui.train import form
from playground.ui.train.controls import Controls

TIMEOUT_SECONDS = 1800
FORM_GROUPS = ("model.source", "model.revision", "prompts.", "sampling.", "seed")
AUTOMATIC = "automatic"
PAIRS = (AUTOMATIC, *(item.name for item in catalog.ANNOTATORS))
PRECISIONS = {"Full precision": "none", "8 bits (int8)": "int8", "4 bits (nf4)": "nf4"}
CHOICES = (
    ("source", None, "Reward model", "One trained here, a model folder, or a hub id.", "a folder, or owner/name"),
    ("pairs", [*PAIRS], "Test pairs", "An annotator, or a file with prompt, chosen, rejected.", "path of a file"),
    ("template", ["auto", "chat", "plain", "pair", "dialogue"], "Prompt format", "How both become one text.", ""),
    ("bits", [*PRECISIONS], "Precision", "Fewer bits: the report says what they cost.", ""),
)


def build(outputs: Path, service: ModelService, train: Controls, access: Access, training: gr.HTML) -> None:
    """Lay out the panel and connect its button; a reward model that was just trained (`training`) is chosen next."""
    with gr.Column(elem_id="check-panel", elem_classes=["panel"]):
        gr.HTML(
            "<h2>Test a reward model</h2><p>Does it get its texts in the format it was trained on, and does it tell "
            "good answers from bad ones? Find out before you train against it.</p>",
            **components.TITLE,
        )
        with gr.Row(elem_id="check-row"):
            source, pairs, template, precision = (_choice(outputs, *one) for one in CHOICES)
            words: dict[str, Any] = {"label": "Label", "info": "For a classifier.", "max_length": 100}
            label = gr.Textbox(**words, scale=1, min_width=130, elem_id="check-label")
        ask = gr.Button("Test it", variant="primary", elem_id="check-button")
        result = components.widget("rewards/check", {"state": "empty"}, page="rewards", elem_id="check-result")

    wanted = [field for field in form.FIELDS if field.startswith(FORM_GROUPS)]

    def answer(chosen: Any, tested_on: Any, put: Any, bits: Any, named: Any, *values: Any) -> Iterator[RewardCheckData]:
        spec = {"source": chosen, "template": put, "quantization": PRECISIONS.get(str(bits), "none"), "label": named}
        yield from checked(service, outputs, spec, tested_on, dict(zip(wanted, values, strict=True)), access.limits)

    def not_tested(sentence: str) -> RewardCheckData:
        return {"state": "error", "message": sentence}

    def offer() -> Any:
        return components.offering(source, _choices(outputs))

    def newly_trained(panel: Any) -> Any:
        choices, name = _choices(outputs), form.entry(panel, "test")
        if name not in [value for _, value in choices]:
            return gr.skip()
        return components.offering(source, choices, value=name)

    training.input(access.guard(Action.WATCH, newly_trained), training, source, **components.AT_ONCE)
    source.focus(access.guard(Action.WATCH, offer), None, source, queue=False, api_visibility="private")
    asked = [source, pairs, template, precision, label, *(train.fields[field] for field in wanted)]
    ask.click(access.guard(Action.CHECK_REWARD, answer, not_tested), asked, result, **components.ASKING)


def _choice(outputs: Path, name: str, values: list[str] | None, title: str, help: str, other: str) -> gr.HTML:
    """A menu; without `values` it offers the reward models that there are."""
    choices = _choices(outputs) if values is None else [(value, value) for value in values]
    value = choices[0][1] if choices else ""
    return components.choice(value, choices, title, f"check-{name}", help=help, other=other, page="rewards")


def _choices(outputs: Path) -> list[tuple[str, str]]:
    return [(item.label, item.name) for item in catalog.reward_models(outputs)]


def checked(
    service: ModelService,
    outputs: Path,
    spec: Mapping[str, Any],
    pairs: Any,
    values: Mapping[str, Any],
    capped: Limits = LIMITS["local"],
) -> Iterator[RewardCheckData]:
    """What the widget shows, again and again: states `asking` (with a phase), then `done` with a report, or `error`.
    `spec` has fields of `ModelReward`, `values` those of the form."""
    if problem := _problem(spec, pairs, outputs, capped):
        yield {"state": "error", "message": problem}
        return
    reward = {"kind": "model", **{name: str(value) for name, value in spec.items() if str(value or "").strip()}}
    try:
        config = workbench_part.config_of([reward], values, outputs, capped)
    except InvalidConfig as error:
        yield {"state": "error", "message": form.with_labels(" ".join(str(item) for item in error.problems))}
        return
    question = {
        "config": checks.located(config, outputs).model_dump(mode="json"),
        "outputs": str(outputs.resolve()),
        "pairs": None if pairs in (None, "", AUTOMATIC) else checks.whole_path(str(pairs)),
    }
    yield {"state": "asking", "phase": "loading the model"}
    try:
        for found in service.ask("reward-check", question, timeout_seconds=TIMEOUT_SECONDS):
            yield cast(RewardCheckData, {"state": "asking" if "phase" in found else "done", **found})
    except PlaygroundError as error:
        yield {"state": "error", "message": form.with_labels(str(error))}


def _problem(spec: Mapping[str, Any], pairs: Any, outputs: Path, capped: Limits) -> str:
    """What is missing, in one sentence; empty when it can be tested."""
    source = str(spec["source"] or "").strip()
    if not source:
        return "Choose a reward model first: one trained here, a model folder, or a hub id."
    if capped.pocket_only and not (RUN_ID.fullmatch(source) and pairs in (None, "", *PAIRS)):
        return "On a public page only reward models that were trained here can be tested, on the annotators' pairs."
    try:
        if RUN_ID.fullmatch(source) or hub.repository(source) is None:
            catalog.reward_model_folder(source, None, outputs)
        if pairs and preferences.is_file_name(str(pairs)):
            preferences.check_file(str(pairs))
    except PlaygroundError as error:
        return str(error)
    return ""

"""The reward workbench: one's own texts, and texts of the untrained model, scored by every reward before any training.

All but the rewards is that of the form on the Train page. `weighing_part` ranks anew whenever a weight changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import gradio as gr

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.rewards.trying import (
    MAX_CHARACTERS,
    SAMPLES,
    TIMEOUT_SECONDS,
    going_on,
    outlooks,
    question,
    reference_of,
    sentence,
)
from playground.runs.model_service import ModelService
from playground.setup import checks, describe, limits
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.payloads.rewards import BenchData
from playground.ui.rewards.weighing_part import weigh_rewards
from playground.ui.train import filling, form, form_parts, reward_form, train_page
from playground.ui.train.controls import Controls

SIDES = ("A", "B")
TAKEN = "(rewards) => [rewards, 'Copied from the Train page. Press Score.']"
USED = "(rewards) => [rewards, 'Copied to the form on the Train page.']"
FORM_GROUPS = (
    *("model.source", "model.revision", "model.precision", "model.quantization", "prompts.", "sampling.", "seed"),
    *("evaluation.num_prompts", "kl.coef", "score.normalise", "score.combine", "score.caution"),
)
FIRST_PROMPT = "Review of the film: The plot was"
FIRST_TEXTS = ("wonderful and the ending was lovely.", "wonderful wonderful wonderful wonderful wonderful.")


def build(outputs: Path, service: ModelService, train: Controls, access: Access) -> None:
    """Lay out the workbench and connect its handlers."""
    with gr.Column(elem_id="bench-controls", elem_classes=["panel"], scale=0, min_width=336):
        gr.HTML(
            "<h2>Try rewards</h2><p>What would these rewards pay for? Score texts before any training.</p>",
            **components.TITLE,
        )
        first = train.fields["rewards"].value  # until another is chosen, it follows the form: rewards/picker.js
        rewards = form_parts.reward_picker(
            first, outputs, access, place="workbench", elem_id="bench-rewards", page="rewards"
        )
        with gr.Row(elem_id="bench-exchange"):
            take = gr.Button("Copy from Train", size="sm", elem_id="bench-take")
            use = gr.Button("Copy to Train", size="sm", elem_id="bench-use")
        shown = components.widget("core/told", "", page="rewards", elem_id="bench-told")
    with gr.Column(elem_id="bench-view", min_width=320):
        with gr.Row(elem_id="bench-texts", elem_classes=["panel"], equal_height=True):
            prompt = _text_box("Prompt", FIRST_PROMPT, "bench-prompt")
            texts = [
                _text_box(label, text, f"bench-text-{side.lower()}")
                for side, label, text in zip(SIDES, ("Text A", "Text B (optional)"), FIRST_TEXTS, strict=True)
            ]
            score = gr.Button("Score", variant="primary", scale=0, min_width=110, elem_id="bench-score")
        weighing = access.guard_all(Action.WRITE_REWARDS, [weigh_rewards])
        result = components.widget(
            "rewards/workbench", {"state": "empty"}, page="rewards", elem_id="bench-result", server_functions=weighing
        )

    wanted = [field for field in form.FIELDS if field.startswith(FORM_GROUPS)]

    def answer(chosen: Any, asked: str, first: str, second: str, *values: Any, caller: Caller) -> Iterator[BenchData]:
        form_values = dict(zip(wanted, values, strict=True))
        yield from scored(service, outputs, chosen, asked, (first, second), form_values, access.limits_of(caller))

    def not_scored(sentence: str) -> BenchData:
        return {"state": "error", "problems": [sentence]}

    form_values = [train.fields[field] for field in wanted]
    scoring = access.guard(Action.TRY_REWARDS, answer, not_scored)
    score.click(scoring, [rewards, prompt, *texts, *form_values], result, **components.ASKING)
    of_form = train.fields["rewards"]
    take.click(None, of_form, [rewards, shown], js=TAKEN, **components.AT_ONCE)
    train_page.recheck(use.click(None, rewards, [of_form, shown], js=USED, **components.AT_ONCE))


def _text_box(label: str, value: str, elem_id: str) -> gr.Textbox:
    size: dict[str, Any] = {"lines": 2, "max_lines": 8, "max_length": MAX_CHARACTERS, "min_width": 200}
    return gr.Textbox(value, label=label, elem_id=elem_id, **size)


def scored(
    service: ModelService,
    outputs: Path,
    rewards: Any,
    prompt: str,
    texts: tuple[str, ...],
    values: Mapping[str, Any],
    capped: Limits = LIMITS["local"],
) -> Iterator[BenchData]:
    """What the widget shows, again and again: states `asking` (with progress), then `done` or `error`. Texts that are
    empty are left out; `values` are those of the form."""
    try:
        config = config_of(rewards, values, outputs, capped)
        asked = _asked(prompt, texts, capped)
    except InvalidConfig as error:
        yield {"state": "error", "problems": [_in_words(problem) for problem in error.problems]}
        return
    for answer in _answers(service, outputs, config, prompt or "", asked):
        if answer["state"] == "done":
            yield answer | {"rewards": rewards}
        else:
            yield answer


def _answers(
    service: ModelService, outputs: Path, config: RunConfig, prompt: str, asked: Mapping[str, str]
) -> Iterator[BenchData]:
    labels = reward_form.term_labels(config.rewards)
    placed = checks.located(config, outputs)
    reference = reference_of(placed, SAMPLES)
    request = question(placed.rewards, prompt, list(asked.values()), reference, str(outputs.resolve()))
    yield {"state": "asking", "phase": "loading the model", "done": 0, "of": SAMPLES}
    try:
        for scores in service.ask("rewards-score", request, TIMEOUT_SECONDS):
            if "names" not in scores:
                yield cast(BenchData, {"state": "asking", **scores})
                continue
            answer = {
                "state": "done",
                **scores,
                "labels": list(labels.values()),
                "ensemble": {"combine": config.score.combine, "caution": config.score.caution},
                "outlooks": [sentence(outlook, config.kl.coef) for outlook in outlooks(config, scores)],
                "sides": [{"side": side, "text": going_on(prompt, text)} for side, text in asked.items()],
                "about": {
                    "model": describe.in_words("model.source", config.model.source),
                    "prompts": describe.in_words("prompts.source", config.prompts.source),
                },
            }
            yield cast(BenchData, answer)
    except PlaygroundError as error:
        yield {"state": "error", "problems": [form.with_labels(str(error))]}


def config_of(rewards: Any, values: Mapping[str, Any], outputs: Path, capped: Limits = LIMITS["local"]) -> RunConfig:
    """The part of the form that matters here, with these rewards. Raises: InvalidConfig, with every problem at once."""
    data = {**form.nested(values), "rewards": reward_form.reward_data(rewards)}
    return limits.built(filling.meant(data, outputs), capped, outputs)


def _asked(prompt: str, texts: tuple[str, ...], capped: Limits) -> dict[str, str]:
    """Side -> text, for those that are not empty. Raises: InvalidConfig, if something is too long."""
    text_of = {side: text for side, text in zip(SIDES, texts, strict=True) if str(text or "").strip()}
    named = {"Prompt": prompt or "", **{f"Text {side}": text for side, text in text_of.items()}}
    most = min(MAX_CHARACTERS, capped.prompt_characters or MAX_CHARACTERS)
    long = [
        Problem(name, f"has {len(text):,} characters; at most {most:,} can be scored.")
        for name, text in named.items()
        if len(text) > most
    ]
    if long:
        raise InvalidConfig(long)
    return text_of


def _in_words(problem: Problem) -> str:
    """A problem as a sentence: a reward is told by its place in the list."""
    parts = problem.field.split(".")
    if parts[0] == "rewards" and len(parts) > 1:
        place = f"Reward {int(parts[1]) + 1}"
        if len(parts) > 2:
            own_label, _ = reward_form.OWN_FIELDS.get(parts[2], (parts[2].capitalize(), ""))
            place += f", {own_label}"
        return f"{place}: {problem.message}"
    if problem.field:
        return f"{form.label_of(problem.field)}: {problem.message}"
    return problem.message

"""The Compare page: before and after on the fixed prompts (runs/compare.js), and on a prompt of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from playground.lessons import boards
from playground.runs import history
from playground.runs.model_service import ModelService
from playground.setup import limits
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.payloads.compare import AnswersData
from playground.ui.payloads.server import PolicyAnswerData
from playground.ui.train.form import entry

MAX_PROMPT_CHARACTERS = 2000
MAX_SAMPLES = 8
MAX_SEED = 2**31 - 1
# The run to ask is known when the browser has it on the page: a click before that would be a click for nothing.
# How many samples one may ask for depends on who asks, which the server says.
OFFER = """async (run) => {
    const answer = await fetch("live/_access").catch(() => null);
    const { samples } = answer?.ok ? await answer.json() : {};
    return [{ __type__: "update", interactive: Boolean(run) },
        samples ? { __type__: "update", maximum: samples } : { __type__: "update" }];
}"""


def build(outputs: Path, service: ModelService, access: Access) -> None:
    """Lay out the page and connect the question box."""
    view = components.widget("runs/compare", "", page="compare", elem_id="compare")
    with gr.Column(elem_id="ask", elem_classes=["panel"]):
        gr.HTML(
            "<h2>A prompt of your own</h2><p>The run's model answers it as it was before training and as it is now, "
            "with the same random numbers.</p>",
            **components.TITLE,
        )
        examples = components.widget("runs/examples", "", page="compare", elem_id="examples")
        with gr.Row(elem_id="ask-row"):
            prompt = gr.Textbox(
                label="Prompt",
                placeholder="A prompt for both",
                lines=1,
                max_lines=4,
                scale=5,
                elem_id="ask-prompt",
                max_length=MAX_PROMPT_CHARACTERS,
            )
            count = gr.Slider(
                1, access.limits.samples or MAX_SAMPLES, 3, step=1, label="Samples each", scale=2, min_width=140
            )
            seed = gr.Number(0, label="Seed", precision=0, scale=1, min_width=90)
            ask = gr.Button(
                "Ask both", variant="primary", scale=0, min_width=120, elem_id="ask-button", interactive=False
            )
        answers = components.widget("runs/answers", {"state": "empty"}, page="compare", elem_id="answers")
    components.widget("runs/compare_rows", None, page="compare", elem_id="compare-rows")

    def answer(run_id: Any, text: str, num_samples: float, chosen_seed: float, caller: Caller) -> Iterator[AnswersData]:
        yield from answered(service, outputs, run_id, text, num_samples, chosen_seed, access.limits_of(caller))

    view.input(None, view, [ask, count], js=OFFER, **components.AT_ONCE)
    examples.input(None, examples, prompt, js="(example) => example", **components.AT_ONCE)
    asking = access.guard(Action.ASK, answer, lambda sentence: {"state": "error", "message": sentence, "samples": []})
    gr.on([ask.click, prompt.submit], asking, [view, prompt, count, seed], answers, **components.ASKING)


def answered(
    service: ModelService,
    outputs: Path,
    run_id: Any,
    text: str,
    num_samples: float,
    seed: float,
    capped: Limits = LIMITS["local"],
) -> Iterator[AnswersData]:
    """The answers so far, again and again. Raises: PlaygroundError."""
    problem = _problem(run_id, text, seed) or limits.text_problem(text, capped)
    if problem := problem or limits.samples_problem(num_samples, capped):
        yield {"state": "error", "message": problem, "samples": []}
        return
    count = int(num_samples)
    prompt = text.strip()
    samples: list[dict[str, Any]] = []
    yield {"state": "asking", "prompt": prompt, "count": count, "samples": []}
    run = history.find_run(outputs, str(run_id))
    for sample in service.compare(run.path, prompt, num_samples=count, seed=int(seed)):
        samples.append(sample._asdict())
        yield {"state": "asking", "prompt": prompt, "count": count, "samples": list(samples)}
    yield {"state": "done", "prompt": prompt, "count": count, "samples": samples}


def guarded_functions(service: ModelService, access: Access) -> list[Callable[..., Any]]:
    """The server function of the first page."""

    def ask_policy(payload: Any, caller: Caller) -> PolicyAnswerData:
        """One answer each of the model before training and of the one of a leash that ships: {beta, prompt, seed}."""
        beta, prompt, seed = (entry(payload, name) for name in ("beta", "prompt", "seed"))
        if beta not in boards.ASKED:
            return {"error": "The model of this leash is not kept. Choose another leash."}
        text = str(prompt or "").strip()
        if not text:
            return {"error": "Type the beginning of a review first."}
        if problem := limits.text_problem(text, access.limits_of(caller)):
            return {"error": problem}
        number = 0
        if isinstance(seed, int) and 0 <= seed <= MAX_SEED:
            number = seed
        samples = service.compare(boards.asked_folder(beta), text, num_samples=1, seed=number)
        texts = {sample.side: sample.completion for sample in samples}
        return {"error": "", "before": texts["reference"], "now": texts["policy"]}

    return access.guard_all(Action.ASK, [ask_policy])


def _problem(run_id: Any, text: str, seed: float) -> str:
    """What is missing, in one sentence; empty when the question can be asked."""
    if not run_id:
        return "Choose a run above first: its model answers."
    if str(run_id).startswith("_"):
        return "A recording comes without its weights. Train a run of your own and ask that one."
    if not str(text or "").strip():
        return "Type a prompt first: a few words for the model to continue."
    if seed is None or not 0 <= seed <= MAX_SEED:
        return f"The seed must be a whole number from 0 to {MAX_SEED:,}."
    return ""

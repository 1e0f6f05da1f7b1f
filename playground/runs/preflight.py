"""What can be known about a configuration before its run starts: the model, the prompts as it reads them, what its own
completions earn. As plain data and sentences, which the page and `train --try` show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.config.methods import METHODS
from playground.errors import ModelNotHere, ServiceUnavailable
from playground.rewards import trying
from playground.rewards.mixture import term_names
from playground.runs import history
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks, estimates
from playground.setup.describe import two_digits

PARTS = ("model", "prompts", "answers", "update")
SAMPLES = 8
MISSING = (
    "{} is not on this machine yet ({:,.0f} MB, licence {}). The trial update downloads it, as a run would; after that "
    "the prompts and the completions can be looked at."
)


def about_model(config: RunConfig, outputs: Path) -> dict[str, Any]:
    """Was the model found, what is it, and does training it fit: {facts: [name, value], here, verdict, note}. Raises:
    InvalidConfig, if it cannot be had, or there is no such device; ModelNotFound."""
    checks.require_in_reach(config, outputs)
    here = True
    try:
        catalog.model_folder(config.model.source, config.model.revision)
    except ModelNotHere:
        here = False
    measured = estimates.measures(config, outputs, ask_hub=True)
    estimate = estimates.estimate(config, outputs, ask_hub=True, finished=history.finished_runs(outputs))
    model, download = measured.policy, estimate.download
    note = estimate.advice
    if not here and download:
        note = " ".join(filter(None, (MISSING.format(download.source, download.mb, download.licence), note)))
    size = f"{model.parameters:,} parameters in {model.layers} layers"
    total, free = (two_digits(size) for size in (estimate.total_gb, estimate.device.free_gb))
    needed = f"{'' if estimate.measured else 'about '}{total} of {free} GB free"
    facts = {
        "Found": _where(config.model.source, here),
        "What it is": f"{model.model_type}, {size}; room for {model.context_length:,} tokens",
        "Prompt format": _form(config, measured.chat_template),
        "What is trained": _trained(config),
        "Memory": f"{needed} on {estimate.device.name}: {estimate.verdict}",
    }
    return {"here": here, "facts": [list(item) for item in facts.items()], "verdict": estimate.verdict, "note": note}


def prompts_read(config: RunConfig, service: ModelService) -> dict[str, Any]:
    """The prompts as the model will read them; see `training.data.preview`. Raises: ServiceUnavailable."""
    (preview,) = service.ask("prompts", {"config": checks.located(config).model_dump(mode="json")})
    return preview


def answers(config: RunConfig, outputs: Path, service: ModelService) -> Iterator[dict[str, Any]]:
    """A few real completions of the untrained model and what each reward and judge says of them: {phase, done, of} as
    it goes on, at last {samples, rewards}; a reward that fails says why. Raises: ServiceUnavailable."""
    config = checks.located(config, outputs)
    reference = trying.reference_of(config, SAMPLES)
    samples: list[dict[str, Any]] = []
    for message in service.ask("reference-samples", {"reference": reference}, trying.TIMEOUT_SECONDS):
        if "samples" in message:
            samples = message["samples"]
        else:
            yield message
    rewards = []
    for specs, judge in ((config.rewards, False), (config.judges, True)):
        for name, spec in zip(term_names(specs), specs, strict=True):
            question = trying.question([spec], "", [], reference, str(outputs.resolve()))
            values, problem = None, ""
            try:
                for message in service.ask("rewards-score", question, trying.TIMEOUT_SECONDS):
                    if "names" in message:
                        values = next(iter(message["reference"].values()))
                    else:
                        yield message
            except ServiceUnavailable as error:
                problem = str(error)
            answer = {"name": name, "weight": spec.weight, "judge": judge, "values": values, "problem": problem}
            rewards.append(answer)
    yield {"samples": samples, "rewards": rewards}


def _where(source: str, here: bool) -> str:
    if source in [model.name for model in catalog.MODELS]:
        return "included"
    if not catalog.is_hub_id(source):
        return "a folder of this machine"
    if here:
        return "in the hub's cache on this machine"
    return "on the hub, not on this machine yet"


def _form(config: RunConfig, has_template: bool) -> str:
    chosen = config.prompts.template
    if chosen == "plain" or (chosen == "auto" and not has_template):
        return "as plain text, which it continues" + ("" if has_template else "; it has no chat template")
    if has_template:
        return "its own chat template"
    return "a chat template, which it does not have"


def _trained(config: RunConfig) -> str:
    model = config.model
    if not METHODS[config.method].trains:
        return f"nothing, with {METHODS[config.method].label.lower()}"
    if model.adapter.kind == "none":
        return "all weights"
    precision = ""
    if model.quantization != "none":
        precision = f" in {model.quantization}"
    return f"LoRA of rank {model.adapter.r} beside frozen weights{precision}"

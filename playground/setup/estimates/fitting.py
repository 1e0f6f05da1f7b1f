"""What fits a chosen model: adapter, prompts and their format, reward, learning rate and batch, as a configuration.

They are those of the model's own preset; for a model that has none, of the suggested one most like it: with a chat
template or without, and of about its size; of a small one those of the pocket models. Prompts that a person has brought
stay, and so do their rewards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from playground.config import RunConfig, yaml_io
from playground.config.source_settings import SMALL_MODEL
from playground.errors import InvalidConfig
from playground.models import hub
from playground.models.architectures import BY_NAME, CURATED
from playground.setup import catalog, estimates
from playground.setup.estimates.timing import Finished

BATCH = ("ppo.batch_size", "ppo.minibatch_size", "ppo.micro_batch_size")
OF_MODEL = ("model.adapter", "model.quantization", "ppo.learning_rate", "ppo.num_epochs", "prompts.template")
OF_PROMPTS = (
    "prompts",
    "evaluation.num_prompts",
    "evaluation.samples_per_prompt",
    "sampling.temperature",
    "sampling.max_new_tokens",
    "sampling.missing_eos_penalty",
)


class Fit(NamedTuple):
    """The configuration that fits, after which model it is, whether that is the chosen one itself, and the
    preset that the settings are of."""

    config: RunConfig
    like: str
    own: bool
    preset: str


def fit(config: RunConfig, outputs: Path | None = None, finished: Sequence[Finished] = ()) -> Fit:
    """The configuration with the settings that fit its model; equal to it where they do already. Raises: ModelNotFound,
    nothing is known of the model. InvalidConfig: there is no such device."""
    pattern, like, own = _pattern(config, outputs)
    presets = [catalog.preset(name) for name in catalog.every_preset_name()]
    fields = list(OF_MODEL)
    world = _world(config)
    if world != _world(pattern) and (world == "pocket" or config.prompts in [preset.prompts for preset in presets]):
        fields += OF_PROMPTS
        if config.rewards in [preset.rewards for preset in presets]:
            fields.append("rewards")
            config = config.model_copy(update={"judges": ()})
    if own:
        fields.append("prompts.template_options")
    for batch in (BATCH, ()):  # the usual one, or its own where the method cannot work with that
        try:
            fitting = _with_fields(config, pattern, [*fields, *batch])
        except InvalidConfig:
            continue
        better = estimates.estimate(fitting, outputs, ask_hub=True, finished=finished).better
        if better:
            fitting = yaml_io.from_dict(better)
        return Fit(fitting, like, own, pattern.name)
    return Fit(config, like, own, pattern.name)


def _with_fields(config: RunConfig, pattern: RunConfig, fields: Sequence[str]) -> RunConfig:
    """The configuration with some fields of another one. Raises: InvalidConfig."""
    data, usual = config.model_dump(mode="json"), pattern.model_dump(mode="json")
    for field in fields:
        group, _, name = field.partition(".")
        if name:
            data[group][name] = usual[group][name]
        else:
            data[group] = usual[group]
    return yaml_io.from_dict(data)


def _pattern(config: RunConfig, outputs: Path | None) -> tuple[RunConfig, str, bool]:
    """The preset whose settings are taken, the name of its model, and whether it is this model's own."""
    source = config.model.source
    if source in catalog.MODEL_NAMES:
        return catalog.preset(catalog.DEFAULT_PRESET), source, True
    if suggested := BY_NAME.get(hub.repository(source) or source):
        return catalog.preset(suggested.preset), suggested.label, True
    shapes = estimates.measures(config, outputs, ask_hub=True)
    if shapes.policy.parameters < SMALL_MODEL:
        data = catalog.preset(catalog.DEFAULT_PRESET).model_dump(mode="json")
        data["prompts"]["template"] = "chat" if shapes.chat_template else "plain"
        return yaml_io.from_dict(data), data["model"]["source"], False
    same = [model for model in CURATED if model.chat_template == shapes.chat_template]
    like = min(same, key=lambda model: abs(math.log(model.architecture.parameters / max(1, shapes.policy.parameters))))
    return catalog.preset(like.preset), like.label, False


def _world(config: RunConfig) -> str:
    """Which models its prompts are for: the pocket models, chat models, or those that go on from a text."""
    return "pocket" if config.prompts.source.startswith("pocket/") else config.prompts.template

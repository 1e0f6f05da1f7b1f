"""What fits a chosen model: adapter, prompts and their form, reward, learning rate and batch, as a configuration.

For a model that is suggested they are those of its preset, for one that ships those of the default experiment, for any
other those of the suggested one that is most like it: with a chat template or without, and of about its size (a tiny
one learns as fast as those that ship). What a person has brought stays: prompts that no preset has, and rewards that no
preset has and that can judge any text. Loads no model. The page's needs panel offers it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig, yaml_io
from playground.config.source_settings import SMALL_MODEL
from playground.data import claim_files
from playground.data.row_files import TableUnusable
from playground.errors import InvalidConfig
from playground.models import hub
from playground.models.curated import BY_NAME, CURATED
from playground.setup import catalog, estimates
from playground.setup.estimates.timing import Finished

SMALLEST = 30_000_000  # parameters; a model below it is trained whole, whatever the one that is like it does
BATCH = ("batch_size", "minibatch_size", "micro_batch_size")
ABOUT_CLAIMS = ("agreement", "truth", "sycophancy", "contrast")  # rewards


class Fit(NamedTuple):
    """The configuration that fits, after which model it is, and whether that is the chosen one itself."""

    config: RunConfig
    like: str
    own: bool


def fit(config: RunConfig, outputs: Path | None = None, finished: Sequence[Finished] = ()) -> Fit:
    """The configuration with the settings that fit its model; equal to it where they do already.

    Raises:
        ModelNotFound: nothing is known of the model. InvalidConfig: there is no such device.
    """
    pattern, like, own = _pattern(config, outputs)
    data, usual = config.model_dump(mode="json"), pattern.model_dump(mode="json")
    data["model"] |= {name: usual["model"][name] for name in ("adapter", "quantization")}
    rate = usual["ppo"]["learning_rate"]
    if not own and (size := estimates.measures(config, outputs, ask_hub=True).policy.parameters) < SMALLEST:
        data["model"]["adapter"]["kind"] = "none"
        rate = catalog.preset(catalog.DEFAULT_PRESET).ppo.learning_rate if size < SMALL_MODEL else rate
    data |= _texts(config, pattern, data, usual)
    data["ppo"]["learning_rate"] = rate
    for batch in (BATCH, ()):  # the usual one, or its own where the method cannot work with that
        sizes = {name: usual["ppo"][name] for name in batch}
        with contextlib.suppress(InvalidConfig):
            fitting = yaml_io.from_dict({**data, "ppo": data["ppo"] | sizes})
            break
    else:  # what is chosen beside it does not go with that
        return Fit(config, like, own)
    return Fit(estimates.estimate(fitting, outputs, ask_hub=True, finished=finished).better or fitting, like, own)


def _pattern(config: RunConfig, outputs: Path | None) -> tuple[RunConfig, str, bool]:
    """The preset whose settings are taken, the name of its model, and whether it is this model's own."""
    source = config.model.source
    if source in catalog.MODEL_NAMES:
        return catalog.preset(catalog.DEFAULT_PRESET), source, True
    if known := BY_NAME.get(hub.repository(source) or source):
        return catalog.preset(known.preset), known.label, True
    found = estimates.measures(config, outputs, ask_hub=True)
    same = [model for model in CURATED if model.chat_template == found.chat_template]
    like = min(same, key=lambda model: abs(math.log(model.architecture.parameters / max(1, found.policy.parameters))))
    return catalog.preset(like.preset), like.label, False


def _texts(config: RunConfig, pattern: RunConfig, data: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Prompts, their form, and what judges the completions, where those that are chosen do not suit the model."""
    given = [catalog.preset(name) for name in (*catalog.preset_names(), *catalog.model_preset_names())]
    pocket, claimed = _is_pocket(pattern), False
    with contextlib.suppress(TableUnusable):
        claimed = claim_files.is_source(config.prompts.source, config.prompts.column)
    suits = _is_pocket(config) if pocket else claimed or config.prompts.typed == pattern.prompts.typed
    replaced = not suits and (_is_pocket(config) or config.prompts in [item.prompts for item in given])
    found: dict[str, Any] = {"prompts": {**data["prompts"], "template": usual["prompts"]["template"]}}
    if replaced:
        measured = {name: usual["evaluation"][name] for name in ("num_prompts", "samples_per_prompt")}
        length = {"max_new_tokens": usual["sampling"]["max_new_tokens"]}
        found = {"prompts": usual["prompts"], "evaluation": data["evaluation"] | measured}
        found["sampling"] = data["sampling"] | length
    blind = not pocket and any(_is_blind(reward, claimed) for reward in data["rewards"])
    if blind or (replaced and config.rewards in [item.rewards for item in given]):
        found["rewards"] = usual["rewards"]
    if not pocket:
        found["judges"] = [judge for judge in data["judges"] if not _is_blind(judge, claimed)]
    return found


def _is_pocket(config: RunConfig) -> bool:
    return config.prompts.source.startswith("pocket/")


def _is_blind(reward: dict[str, Any], claimed: bool) -> bool:
    """True for rewards that know the pocket world only, and those that judge claims where none are made."""
    if reward["kind"] in ABOUT_CLAIMS:
        return not claimed
    return reward["kind"] == "grammar" or str(reward.get("judge")).startswith("pocket")

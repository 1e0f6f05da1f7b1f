"""Loading the network of a reward model: a sequence classifier from a folder or the hub's cache, with its tokenizer.

What cannot score is refused with the reason, if possible before the weights are read. Knows nothing of formats.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from playground.config import ModelReward
from playground.errors import RewardModelUnusable
from playground.models import weight_files
from playground.setup import catalog
from playground.training.models import loading, time_limit

WRITERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


@dataclass(frozen=True)
class Network:
    """A sequence classifier, its tokenizer, what the user called it, and the pad token that its configuration knows."""

    name: str
    folder: Path
    model: Any
    tokenizer: Any
    pad_id: int | None

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation by which its configuration wants its scores normalised, as OpenRLHF does."""
        config = self.model.config
        if not getattr(config, "normalize_reward", False):
            return 0.0, 1.0
        try:
            mean, std = float(config.mean), float(config.std)
        except (AttributeError, TypeError, ValueError):
            mean, std = math.nan, 1.0
        if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
            raise RewardModelUnusable(
                f"The configuration of the reward model {self.name} says normalize_reward, but has no `mean` and `std` "
                "that are numbers. Set them, or normalize_reward to false."
            )
        return mean, std

    @property
    def labels(self) -> list[str]:
        """Names of its outputs."""
        names = {int(number): str(label) for number, label in (self.model.config.id2label or {}).items()}
        return [names.get(number, f"LABEL_{number}") for number in range(int(self.model.config.num_labels))]

    @property
    def room(self) -> int | None:
        """Most tokens it can read; None where its positions have no end."""
        room = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        if not room or room < 0:
            return None
        for name, module in self.model.named_modules():
            if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
                return int(room) - module.padding_idx - 1  # RoBERTa counts positions from behind its pad id
        return int(room)


def load(spec: ModelReward, device: torch.device, outputs: Path | None = None) -> Network:
    """The network that a reward names, without gradients and without dropout.

    Raises: ModelNotFound; RewardModelUnusable, where it cannot score, with the reason.
    """
    loading.hush()
    name = spec.source
    folder = catalog.reward_model_folder(spec.source, spec.revision, outputs)
    if base := catalog.adapter_base(folder):
        raise RewardModelUnusable(
            f"{name} is an adapter, and a reward model is loaded whole: merge it into its base {base} with peft "
            "(`AutoPeftModelForSequenceClassification.from_pretrained(..., num_labels=1).merge_and_unload()"
            ".save_pretrained(...)`), and give the folder that this writes, with the tokenizer."
        )
    precision = catalog.files(folder, "reward").architecture.precision_as_reward(spec.precision)
    config, tokenizer, skeleton = described(folder, f"Cannot read the reward model {name}")
    children = [name for name, child in skeleton.named_children() if any(True for _ in child.parameters())]
    heads = [child for child in children if child != skeleton.base_model_prefix]
    mapping = {weight_files.WRAPPERS.pattern: ""}
    if (prefix := getattr(config, "value_head_prefix", None)) and len(heads) == 1:  # as OpenRLHF calls the head
        mapping[rf"^{re.escape(str(prefix))}\."] = f"{heads[0]}."
    shapes = weight_files.tensors(folder)
    for pattern, name_here in mapping.items():
        shapes = {re.sub(pattern, name_here, key): shape for key, shape in shapes.items()}
    _refuse_without_head(config, skeleton, set(shapes), name)
    for key, weight in skeleton.state_dict().items():
        if key.startswith(tuple(heads)) and weight.shape[0] == config.num_labels != shapes[key][0]:
            changes = {"num_labels": shapes[key][0]}  # what the weights hold; a configuration that names none means two
            config, tokenizer, skeleton = described(folder, f"Cannot read the reward model {name}", **changes)
            break
    rows = skeleton.get_input_embeddings().weight.shape[0]
    if beyond := loading.beyond(tokenizer, rows):
        raise RewardModelUnusable(f"The tokenizer of the reward model {name} {beyond}")
    with loading.in_one_sentence(f"Cannot load the reward model {name}", RewardModelUnusable):
        parameters = sum(weight.numel() for weight in skeleton.parameters())
        computing, bits = loading.compute_type(precision, device, parameters), None
        if spec.quantization != "none":  # the score head stays whole: it is small, and every score goes through it
            bits = loading.quantized(spec.quantization, computing, float(spec.int8_threshold), heads)
        how = {"config": config, "device_map": {"": device}, "dtype": computing, "quantization_config": bits}
        model, facts = weights(folder, key_mapping=mapping, **how)
    if missing := sorted(facts["missing_keys"]):
        raise RewardModelUnusable(
            f"The reward model {name} lacks trained weights ({missing[0]}); they would be random numbers. Choose a "
            "complete model."
        )
    pad_id = config.get_text_config().pad_token_id
    if pad_id is not None and pad_id >= rows:
        pad_id = None
    return Network(name, folder, model.requires_grad_(False).eval(), tokenizer, pad_id)


def described(folder: Path, what: str, **changes: Any) -> tuple[Any, Any, Any]:
    """Configuration and tokenizer of a folder, and the classifier without weights, in no memory. `what`: how an error
    begins. `changes`: to its configuration. Raises: RewardModelUnusable, ModelNotFound."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    with time_limit.limited(what, folder, RewardModelUnusable):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **changes)
        with torch.device("meta"):
            skeleton = AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    tokenizer = loading.read_tokenizer(folder)
    loading.refuse_oversized(skeleton, folder, "reward")
    return config, tokenizer, skeleton


def weights(folder: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The classifier of a folder, and what transformers says of how it was loaded."""
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(
        folder,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
        **options,
    )


def _refuse_without_head(config: Any, skeleton: Any, keys: set[str], name: str) -> None:
    """Without trained weights for the head, transformers would fill it with random numbers and say so in a log."""
    inside = f"{skeleton.base_model_prefix}."
    head = {key for key in skeleton.state_dict() if not key.startswith(inside)}
    made_for = " ".join(map(str, config.architectures or []))
    if "ForTokenClassification" in made_for:
        raise RewardModelUnusable(
            f"{name} scores every token, or every step of a text ({made_for}), and a reward here is one score of a "
            "text. Choose a sequence classification model."
        )
    if head & keys == head:
        return
    extra: list[str] = []
    if any(key.startswith(inside) for key in keys):  # else these are the trunk's own, and there is no head at all
        extra = sorted(key for key in keys if not key.startswith((inside, "lm_head.")))
    why = f"its files hold no weights for {', '.join(sorted(head - keys)[:3])}"
    if extra:
        why += f"; they have {', '.join(extra[:3])} (say so as value_head_prefix in its config.json)"
    if any(writer in made_for for writer in WRITERS):
        why = f"it is a model that writes text ({made_for})"
    raise RewardModelUnusable(
        f"The score head of {name} was never trained: {why}, so its scores would be random numbers. Choose a sequence "
        "classification model, or train a reward model from it."
    )

"""Learned rewards: a reward model as a reward function, in TRL's calling convention like every other.

The scorer of a run, the model service and the self-test build their rewards here. Knows nothing of PPO or runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from playground.config import ModelReward, RewardConfig
from playground.data.preferences import Pair
from playground.errors import RewardModelUnusable, RewardNotFinite
from playground.rewards import mixture, rules
from playground.runs import reward_models
from playground.training.rewards import judge_models, score_models, variants
from playground.training.rewards.formats import PROBES, Encoded, Format, recorded
from playground.training.rewards.judge_models import JudgeModel
from playground.training.rewards.score_models import Network

BATCH_TOKENS = {"cpu": 4096, "cuda": 32_768}  # padding included, in one pass
BATCH_EXAMPLES = 64


class RewardModel:
    """A sequence classifier that scores completions; a higher number is better.

    Args:
        spec: of an entry of the configuration are used `template` and `max_length` (see `Format`), `label` (of a
            classifier, the name or number of the one that is rewarded) and `output`: `logit` as the model gives it;
            `log-odds`, log(p / (1 - p)) of the label; or its `probability`.

    Raises: RewardModelUnusable: there is no such label, or the template does not fit the tokenizer.
    """

    def __init__(self, network: Network, spec: ModelReward) -> None:
        self.network, self.spec, self.output = network, spec, spec.output
        self.label = _label_number(network, spec.label)
        self.mean, self.std = network.scale
        self.format = Format(network.tokenizer, spec.template, spec.max_length)
        room = network.room
        if room and (self.format.max_length is None or self.format.max_length > room):
            if spec.max_length:
                raise RewardModelUnusable(
                    f"max_length: the reward model {network.name} has room for {room} tokens, not for "
                    f"{spec.max_length}."
                )
            self.format.max_length = room
        self.encoded: Callable[[str, str], Encoded] = self.format.encoded
        self._typed = "token_type_ids" in network.tokenizer.model_input_names

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float]:
        """One score for each completion. Raises: RewardNotFinite."""
        values = self.scores([self.encoded(*texts) for texts in zip(prompts, completions, strict=True)])
        bad = sum(not math.isfinite(value) for value in values)
        if bad:
            raise RewardNotFinite(
                f"The reward model {self.network.name} gave {bad} of {len(values)} scores that are not finite numbers. "
                "Try precision fp32, no quantization, or another model."
            )
        return values

    @torch.inference_mode()
    def scores(self, examples: Sequence[Encoded]) -> list[float]:
        """Scores of examples that are token ids already, whether they are finite or not."""
        values = [0.0] * len(examples)
        for batch in _batches([len(example.ids) for example in examples], self.network.model.device.type):
            outputs = self._outputs(self._logits([examples[number] for number in batch]))
            for number, value in zip(batch, outputs.tolist(), strict=True):
                values[number] = value
        return values

    def of_pairs(
        self, pairs: Sequence[Pair], encode: Callable[[str, str], Encoded] | None = None
    ) -> tuple[list[float], list[float]]:
        """Scores of the chosen and of the rejected completions, finite or not. `encode`: if not in its own form."""
        encode = encode or self.encoded
        scores = self.scores([encode(pair.prompt, text) for pair in pairs for text in (pair.chosen, pair.rejected)])
        return scores[::2], scores[1::2]

    def _logits(self, examples: Sequence[Encoded]) -> Tensor:
        """Logits [B, labels] in float32 of a batch, padded on the right."""
        model = self.network.model

        def padded(rows: list[list[int]], value: int = 0) -> Tensor:
            tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
            return pad_sequence(tensors, batch_first=True, padding_value=value).to(model.device)

        inputs = {
            "input_ids": padded([example.ids for example in examples], _pad_id(self.network, examples)),
            "attention_mask": padded([[1] * len(example.ids) for example in examples]),
        }
        if self._typed:
            inputs["token_type_ids"] = padded([example.types for example in examples])
        return model(**inputs, return_dict=True).logits.float()

    def _outputs(self, logits: Tensor) -> Tensor:
        """[B, labels] -> [B]."""
        log_odds = chosen = logits[:, self.label]
        if self.output == "logit":
            return (chosen - self.mean) / self.std
        if logits.shape[1] > 1 and self.network.model.config.problem_type != "multi_label_classification":
            rest_of_logits = torch.cat([logits[:, : self.label], logits[:, self.label + 1 :]], 1)
            log_odds = chosen - rest_of_logits.logsumexp(1)  # log p - log (1 - p), without ever forming p
        if self.output == "log-odds":
            return log_odds
        return log_odds.sigmoid()


def load(spec: ModelReward, device: torch.device, outputs: Path | None = None) -> RewardModel:
    """The reward model that an entry of the configuration names; `outputs`: where those trained here lie.

    Raises: ModelNotFound, RewardModelUnusable; see `score_models.load` and `RewardModel`.
    """
    return RewardModel(score_models.load(spec, device, outputs), spec)


def misreading(model: RewardModel) -> float | None:
    """How far the scores of the examples that a reward model brings are from those that it gave when it was trained:
    root mean square, in sd of its scores. None where it brings no examples, or its output is a probability."""
    card = recorded(model.network.folder)
    try:
        sd = float(card["report"]["score_sd"])
        probes = [(str(item["prompt"]), str(item["completion"]), float(item["score"])) for item in card[PROBES]]
    except (KeyError, TypeError, ValueError):
        return None
    if not probes or not sd > 0 or model.output == "probability":
        return None
    prompts, completions, trained = zip(*probes, strict=True)
    errors = [(new - old) / sd for new, old in zip(model(prompts, completions), trained, strict=True)]
    return math.sqrt(math.fsum(error**2 for error in errors) / len(errors))


def facts(model: RewardModel) -> dict[str, Any]:
    """What a run records of it. `rounded`: what it is held or computed in, where that is less than it was trained in;
    `doubt`: why its scores may be chance."""
    name, spec, network = model.network.name, model.spec, model.network.model
    rounded = ""
    if spec.quantization != "none":
        rounded = spec.quantization
    elif network.dtype == torch.bfloat16:
        rounded = "bf16"
    doubt = reward_models.doubt(recorded(model.network.folder))
    return {"source": name, "misreading": misreading(model), "rounded": rounded, "doubt": doubt}


def builder(
    device: torch.device,
    outputs: Path | None = None,
    misread: bool = False,
    facts: rules.PromptFacts | None = None,
) -> Callable[[RewardConfig], rules.Reward]:
    """What `Mixture.from_config` builds rewards with in a process that holds torch. The same network in two entries is
    loaded once. `misread`: each gets the texts in another model's template: the fault `reward-format`. `facts`: see
    `mixture.build`."""
    loaded: dict[tuple[object, ...], Any] = {}

    def build(spec: RewardConfig) -> rules.Reward:
        if not isinstance(spec, ModelReward):
            return mixture.build(spec, facts)
        is_question = spec.question is not None
        key = (is_question, spec.source, spec.revision, spec.precision, spec.quantization, spec.int8_threshold)
        if key not in loaded:
            loaded[key] = judge_models.load(spec, device) if is_question else score_models.load(spec, device, outputs)
        if is_question:
            model, tokens = loaded[key]
            return JudgeModel(model, tokens, spec, facts.questions if facts else None)
        model = RewardModel(loaded[key], spec)
        if misread:
            model.encoded = partial(variants.foreign, model.format)
        return model

    return build


def _label_number(network: Network, label: str | None) -> int:
    labels = network.labels
    if label is None and len(labels) == 1:
        return 0
    for number, name in enumerate(labels):
        if label is not None and label.lower() in (name.lower(), str(number)):
            return number
    listed = ", ".join(f"{number}: {name}" for number, name in enumerate(labels[:20]))
    raise RewardModelUnusable(
        f"label: the reward model {network.name} is a classifier with the labels {listed}. Say which of them is "
        "rewarded."
    )


def _batches(lengths: list[int], device: str) -> list[list[int]]:
    """Examples in order of length, cut where a batch with its padding would grow too large."""
    most = BATCH_TOKENS.get(device, BATCH_TOKENS["cpu"])
    batches: list[list[int]] = [[]]
    for number in np.argsort(lengths, kind="stable").tolist():
        size = len(batches[-1])
        if size >= BATCH_EXAMPLES or (size and (size + 1) * lengths[number] > most):
            batches.append([])
        batches[-1].append(number)
    return batches


def _pad_id(network: Network, examples: Sequence[Encoded]) -> int:
    """What to pad with. Decoders take the score at the last token that is not their pad token: where a model knows
    none, any will do that is no example's last, and it is set in the model's configuration for this batch."""
    if network.pad_id is not None:
        return network.pad_id
    lasts = {example.ids[-1] for example in examples if example.ids}
    free = next(token for token in range(len(lasts) + 1) if token not in lasts)
    for config in (network.model.config, network.model.config.get_text_config()):
        config.pad_token_id = free
    return free

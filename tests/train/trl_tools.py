"""For the tests of `engine: trl`: TRL's trainer on tiny models without our adapter, and a look into its loop.

TRL's intermediate values live in the local variables of one long method. They are read from its frame while it waits
for a callback: nothing in TRL is replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PrinterCallback, TrainerCallback
from transformers.modeling_outputs import BaseModelOutput

from playground.train.loop.sampling import left_pad
from playground.train.models.language_model import LanguageModel, Tokens
from playground.train.trl_adapter import special_tokens
from playground.train.trl_ppo import ValueModel
from tests.train import tiny

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
from trl.experimental.ppo import PPOConfig, PPOTrainer

PROMPTS = [[1, 3, 4, 5], [1, 4], [1, 6, 6, 6, 6], [1, 8, 9]]


def loop_values(*names: str) -> dict[str, Any]:
    """Copies of local variables of TRL's `train()`, which must be somewhere up the stack."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not (frame.f_code.co_name == "train" and "ppo_trainer" in frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None, "TRL's loop is not running"
    values = {name: frame.f_locals[name] for name in names}
    return {name: value.clone() if isinstance(value, Tensor) else value for name, value in values.items()}


class LetterReward(nn.Module):
    """Counts the letter "a" (token 3) in prompt and completion; in the shape that TRL wants, without our adapter."""

    base_model_prefix = "backbone"

    def __init__(self) -> None:
        super().__init__()
        self.backbone = _Count()
        self.score = nn.Identity()


class _Count(nn.Module):
    def forward(self, input_ids: Tensor, **_: Any) -> BaseModelOutput:
        count = (input_ids == 3).sum(1).float()
        return BaseModelOutput(hidden_states=(count[:, None, None].expand(-1, input_ids.shape[1], -1),))


class Recorder(TrainerCallback):
    """TRL's log of each update, and chosen local variables at its end."""

    def __init__(self, *names: str, asks_to_stop: bool = False) -> None:
        self.names, self.asks_to_stop = names, asks_to_stop
        self.logs: list[dict[str, float]] = []
        self.values: list[dict[str, Any]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.logs.append(dict(logs))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        self.values.append(loop_values(*self.names))
        control.should_training_stop = self.asks_to_stop
        return control


class PlainTRL:
    """TRL's PPOTrainer on a tiny model, used as its own documentation says."""

    def __init__(
        self,
        folder: Path,
        *callbacks: TrainerCallback,
        prompts: Sequence[list[int]] = PROMPTS * 100,
        pad_id: int = 0,
        policy: LanguageModel | None = None,
        **settings: Any,
    ) -> None:
        self.policy = policy or tiny.model()
        self.policy.model.generation_config.pad_token_id = pad_id
        quiet = {"use_cpu": True, "save_strategy": "no", "report_to": "none", "disable_tqdm": True}
        quiet |= {"bf16": False, "gradient_checkpointing": False, "num_sample_generations": 0}
        texts = {"stop_token": "eos", "response_length": 6, "temperature": 1.0, "total_episodes": 8}
        sizes = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "num_ppo_epochs": 1}
        chosen = {"output_dir": str(folder), "learning_rate": 1e-3, **quiet, **texts, **sizes, **settings}
        arguments: dict[str, Any] = {
            "args": PPOConfig(**chosen),
            "processing_class": special_tokens(Tokens(None, pad_id, eos_id=2)),
            "model": self.policy.model,
            "ref_model": self.policy.frozen_copy().model,
            "reward_model": LetterReward(),
            "value_model": ValueModel(self.policy),
            "train_dataset": list(prompts),
            "data_collator": lambda rows: {"input_ids": left_pad(rows, pad_id, torch.device("cpu"))[0]},
            "callbacks": list(callbacks),
        }
        self.trainer = PPOTrainer(**arguments)
        self.trainer.remove_callback(PrinterCallback)
        self.gradients: list[Tensor] = []  # of each optimizer step, flat
        self.trainer.optimizer.optimizer.register_step_pre_hook(self._before_step)

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        grads = [p.grad.flatten() for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self.gradients.append(torch.cat(grads).clone())

    def train(self) -> PlainTRL:
        self.trainer.train()
        self.trainer.dataloader.end()
        return self

    def weights(self) -> Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.policy.parameters()])

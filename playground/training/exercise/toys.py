"""Models and batches so small that a case can be read: a GPT-2 of 12 tokens, whose positions are absolute, so that a
prompt that is thought to begin late shows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from playground.training.exercise.comparing import Names

PAD, END, VOCABULARY, WIDTH = 0, 1, 12, 8


def language_model(seed: int = 0, pad: int = PAD) -> Any:
    """Always the same for one seed."""
    made = torch.random.get_rng_state()
    torch.manual_seed(seed)
    shape = {"vocab_size": VOCABULARY, "n_positions": 64, "n_embd": WIDTH, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**shape, pad_token_id=pad, eos_token_id=END, bos_token_id=None)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(0.4 * torch.randn_like(weights))
    torch.random.set_rng_state(made)
    return model


def value_head(seed: int = 0) -> nn.Linear:
    """Always the same for one seed; predicts something."""
    head = nn.Linear(WIDTH, 1)
    numbers = torch.randn(WIDTH + 1, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        head.weight.copy_(numbers[None, :WIDTH])
        head.bias.copy_(numbers[WIDTH:])
    return head


class Batch:
    """Prompts and completions as tensors; what is known of each completion token beside."""

    def __init__(self, prompts: list[list[int]], completions: list[list[int]]) -> None:
        width, length = max(map(len, prompts)), max(map(len, completions))
        self.ids = torch.tensor(
            [
                [PAD] * (width - len(prompt)) + prompt + completion + [PAD] * (length - len(completion))
                for prompt, completion in zip(prompts, completions, strict=True)
            ]
        )
        fronts = torch.tensor([width - len(prompt) for prompt in prompts]).unsqueeze(1)
        ends = torch.tensor([width + len(completion) for completion in completions]).unsqueeze(1)
        places = torch.arange(width + length)
        self.real = (places >= fronts) & (places < ends)
        self.mask = self.real[:, width:]
        self.prompts, self.completions = prompts, completions

    def log_probs(self, ours: Names, model: Any, settings: Any) -> Tensor:
        """Of every completion token, by a model, [B, C]; 0 where masked."""
        empty = ours["Episodes"](self.ids, self.real, torch.zeros_like(self.mask, dtype=torch.float32), self.mask)
        kl: Tensor = ours["compute_kl"](model, empty, settings)
        return -kl

    def episodes(self, names: Names, log_probs: Tensor, values: Tensor | None = None) -> Any:
        """As a file's own kind of episodes; copies, since a student may write into them."""
        known = torch.zeros_like(log_probs) if values is None else values
        return names["Episodes"](self.ids.clone(), self.real.clone(), log_probs.clone(), known.clone())

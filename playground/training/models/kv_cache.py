"""The keys and values that a model keeps of the tokens that it has read, for sampling."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from playground.training.models.language_model import LanguageModel, positions


def left_pad(prompts: list[list[int]], pad_id: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Token lists -> ids [B, P] and mask [B, P]. The mask comes from lengths: the pad id may be a real token too."""
    width = max(map(len, prompts))
    ids = torch.tensor([[pad_id] * (width - len(prompt)) + prompt for prompt in prompts], device=device)
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    mask = torch.arange(width, device=device).unsqueeze(0) >= (width - lengths).unsqueeze(1)
    return ids, mask


class KVCache:
    """The keys and values of all tokens so far: one column more with each token. Rows can leave it."""

    look_every = 1  # after so many tokens it is looked which texts have ended

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._cache: Any = None
        self._mask = self._position = torch.empty(0)

    def read(self, prompts: list[list[int]], ids: Tensor, mask: Tensor) -> Tensor:
        """The last hidden state [B, H] after all prompts, which are left-padded too [B, P]. A prompt that comes several
        times is read once, and where it saves time so is what all begin with. A small model reads them as they are."""
        if self._model.is_small:
            return self._begin(ids, mask)
        numbers = {prompt: number for number, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
        different = [list(prompt) for prompt in numbers]
        shared = self._shared(different)
        ids, mask = left_pad([prompt[len(shared) :] for prompt in different], 0, ids.device)
        if shared:
            lengths = torch.tensor([shared], device=ids.device)
            self._begin(lengths, torch.ones_like(lengths, dtype=torch.bool))
            self.keep(torch.zeros_like(ids[:, 0]))
        hidden = self._begin(ids, torch.cat([self._mask, mask], dim=1) if shared else mask)
        rows = torch.tensor([numbers[tuple(prompt)] for prompt in prompts], device=ids.device)
        self.keep(rows)
        return hidden[rows]

    def _shared(self, prompts: list[list[int]]) -> list[int]:
        """The tokens that all prompts begin with, without the last of any; none where reading them by themselves takes
        as long. A steered model is steered behind the last token that it reads."""
        columns = zip(*(prompt[:-1] for prompt in prompts), strict=False)
        shared = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]
        saved = len(shared) * (len(prompts) - 1)
        return [] if self._model.steering or saved <= self._model.call_overhead_tokens else shared

    def _begin(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Read the first tokens of each row, [B, t]. `mask` [B, T]: with what was read before."""
        self._mask, self._position = mask, positions(mask)[:, -ids.shape[1] :]
        return self._next(ids)

    def next_hidden(self, ids: Tensor) -> Tensor:
        """The last hidden state [B, H] after one more token of each row, [B, 1]."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        self._position = self._position[:, -1:] + 1
        return self._next(ids)

    def _next(self, ids: Tensor) -> Tensor:
        hidden, self._cache = self._model.next_hidden(ids, self._mask, self._position, self._cache)
        return hidden

    def keep(self, rows: Tensor) -> None:
        """From now on only these rows."""
        self._cache.batch_select_indices(rows)
        self._mask, self._position = self._mask[rows], self._position[rows]

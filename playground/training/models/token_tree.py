"""Rows of tokens that begin alike, as one row in which every beginning stands once: a tree, whose tokens attend to
those that they follow. A pass over it gives each token what a pass over the rows gives it, in fewer products: what all
chat prompts begin with, and a prompt that several texts answer, is read once, and padding not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class TokenTree(NamedTuple):
    """The N different tokens of rows [B, T]. Tokens are the same where they and all before them are, marks included."""

    ids: Tensor  # [1, N]
    positions: Tensor  # [1, N], in their rows
    marks: Tensor  # [1, N]
    attended: Tensor  # [1, 1, N, N]: True where a token is the other one, or follows it
    places: Tensor  # [B, T]: which of the N; 0 behind the last mark of a row, where nothing is asked


def tree_of(ids: Tensor, marks: Tensor) -> TokenTree:
    """The tree of token ids [B, T] up to the last mark of each row. `marks` [B, T]: what tells tokens apart that are
    alike otherwise."""
    places = np.zeros(ids.shape, dtype=np.int64)
    tokens: dict[tuple[int, int, bool], int] = {}  # what it follows (-1: nothing), its id and its mark -> its place
    positions: list[int] = []
    for row, (own_ids, own_marks) in enumerate(zip(ids.tolist(), marks.tolist(), strict=True)):
        place = -1
        for column in range(_length(own_marks)):
            token = (place, own_ids[column], own_marks[column])
            place = tokens.setdefault(token, len(tokens))
            if place == len(positions):
                positions.append(column)
            places[row, column] = place
    attended = np.eye(len(tokens), dtype=bool)
    for place, (before, _, _) in enumerate(tokens):
        if before >= 0:
            attended[place] |= attended[before]
    rows = torch.tensor([[number for _, number, _ in tokens], positions])
    tree_marks = torch.tensor([[mark for _, _, mark in tokens]])
    whole = torch.from_numpy(attended)[None, None]
    return TokenTree(rows[:1], rows[1:], tree_marks, whole, torch.from_numpy(places))


def _length(marks: list[bool]) -> int:
    """Tokens up to the last mark."""
    return max((number for number, mark in enumerate(marks, 1) if mark), default=0)

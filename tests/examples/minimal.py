"""The example as a module, and models so small that a test trains them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from tests.support import PROJECT

EXAMPLES = PROJECT / "examples"
PAD, END, VOCABULARY = 0, 1, 12


def loaded(path: Path = EXAMPLES / "minimal_rlhf.py") -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model(seed: int = 0, pad: int = PAD, end: int = END) -> GPT2LMHeadModel:
    """Of absolute positions, which show a prompt that is thought to begin late; float64, so that no rounding hides."""
    torch.manual_seed(seed)
    shape = {"vocab_size": VOCABULARY, "n_positions": 32, "n_embd": 8, "n_layer": 2, "n_head": 2}
    config = GPT2Config(**shape, pad_token_id=pad, eos_token_id=end, bos_token_id=None)
    made = GPT2LMHeadModel(config).eval().double()
    with torch.no_grad():
        for weights in made.parameters():
            weights.add_(0.4 * torch.randn_like(weights))
    return made


def head(seed: int = 0) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(8, 1).double()

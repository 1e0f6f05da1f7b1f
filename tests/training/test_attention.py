"""Attention of models that compute in bf16 on a CPU."""

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from playground.config import ModelConfig
from playground.training.models import attention, loading
from tests.training import snapshots

CPU = torch.device("cpu")


def heads(tokens):
    """Queries, keys and values of two episodes, four heads asking two."""
    source = torch.Generator().manual_seed(0)
    shapes = [(2, 4, tokens, 8), (2, 2, tokens, 8), (2, 2, tokens, 8)]
    return [torch.randn(*shape, generator=source).bfloat16().requires_grad_(True) for shape in shapes]


class Layer(torch.nn.Module):
    num_key_value_groups = 2
    is_causal = True


def exact(layer, *parts):
    """In float32, and rounded once."""
    with torch.autocast("cpu", enabled=False):
        output, weights = sdpa_attention_forward(layer, *(part.float() for part in parts[:3]), parts[3])
    return output.bfloat16(), weights


@pytest.mark.parametrize("padded", [False, True])
def test_whole_passes_are_rounded_once_and_so_are_their_gradients(padded):
    mask = torch.ones(5, 5).tril().bool().expand(2, 1, 5, 5) if padded else None
    results = []
    for attend in (attention._attention, exact):
        parts = heads(5)
        with torch.autocast("cpu", torch.bfloat16):
            output, _ = attend(Layer(), *parts, mask)
        results.append([output, *torch.autograd.grad(output.float().pow(2).sum(), parts)])
    assert {tensor.dtype for tensor in results[0]} == {torch.bfloat16}
    assert all(map(torch.equal, *results))


@pytest.mark.parametrize(("precision", "kind"), [("fp32", "sdpa"), ("bf16", attention.IN_FP32)])
def test_only_models_in_bf16_attend_so_and_what_is_saved_does_not_say_it(tmp_path, precision, kind):
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=True)
    model, _ = loading.load(folder, CPU, ModelConfig(precision=precision))
    assert model.model.config._attn_implementation == kind
    model.save(tmp_path / "saved")
    assert attention.IN_FP32 not in (tmp_path / "saved" / "config.json").read_text()

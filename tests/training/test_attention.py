"""Attention of models that compute in bf16 on a CPU."""

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from playground.config import ModelConfig
from playground.training.models import attention, loading
from tests.training import snapshots

CPU = torch.device("cpu")


def heads(tokens: int, asking: int) -> list[torch.Tensor]:
    """Queries, keys and values of two episodes, four heads asking two."""
    source = torch.Generator().manual_seed(0)
    shapes = [(2, 4, asking, 8), (2, 2, tokens, 8), (2, 2, tokens, 8)]
    return [torch.randn(*shape, generator=source).bfloat16().requires_grad_(True) for shape in shapes]


class Layer(torch.nn.Module):
    num_key_value_groups = 2
    is_causal = True


@pytest.mark.parametrize("padded", [False, True])
def test_whole_passes_are_rounded_once_and_so_are_their_gradients(padded):
    mask = torch.ones(5, 5).tril().bool().expand(2, 1, 5, 5) if padded else None
    found = []
    for exact in (False, True):
        given = heads(5, asking=5)
        with torch.autocast("cpu", torch.bfloat16):
            if exact:
                with torch.autocast("cpu", enabled=False):
                    output, _ = sdpa_attention_forward(Layer(), *(part.float() for part in given), mask)
                    output = output.bfloat16()
            else:
                output, _ = attention._attention(Layer(), *given, mask)
        found.append([output, *torch.autograd.grad(output.float().pow(2).sum(), given)])
    ours, expected = found
    assert all(
        one.dtype == torch.bfloat16 and torch.equal(one, other) for one, other in zip(ours, expected, strict=True)
    )


def test_a_step_of_sampling_attends_in_the_type_of_its_cache():
    with torch.no_grad():
        given = heads(5, asking=1)
        output, _ = attention._attention(Layer(), *given, None)
        assert torch.equal(output, sdpa_attention_forward(Layer(), *given, None)[0])


def test_only_models_in_bf16_attend_so(tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=True)
    found = {}
    for precision in ("fp32", "bf16"):
        model, _ = loading.load(folder, CPU, ModelConfig(precision=precision))
        found[precision] = model.model.config._attn_implementation
        model.save(tmp_path / precision)
        assert attention.IN_FP32 not in (tmp_path / precision / "config.json").read_text()
    assert found == {"fp32": "sdpa", "bf16": attention.IN_FP32}

"""Attention of models that compute in bf16 on a CPU, where it is as fast in fp32, and backwards twice as fast.
loading.py calls this."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

IN_FP32 = "sdpa_in_fp32"  # under this name transformers knows it


def attend_in_fp32(model: Any) -> None:
    """From now on whole passes attend in fp32. One that does not attend by PyTorch's own function stays as it is."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(IN_FP32, _attention)
        AttentionMaskInterface.register(IN_FP32, sdpa_mask)
        model.set_attn_implementation(IN_FP32)


def _attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Heads [B, heads, T, D] -> [B, T, heads, D], in the type that they came in."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward as attend

    if query.shape[2] == 1:  # a step of sampling, which reads the whole cache for one token
        return attend(module, query, key, value, attention_mask, **options)
    mask = attention_mask if attention_mask is None or attention_mask.dtype == torch.bool else attention_mask.float()
    with torch.autocast(query.device.type, enabled=False):
        output, _ = attend(module, query.float(), key.float(), value.float(), mask, **options)
    return output.to(query.dtype), None

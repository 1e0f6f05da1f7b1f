"""The episodes of a batch that several ranks have written: put together, every rank has all of them.

The trainer calls it, where it is not alone. Knows ranks and episodes; nothing of PPO.
"""

from __future__ import annotations

import torch
from torch import Tensor

from playground.training.loop.sampling import Episodes, left_pad
from playground.training.ranks.ranks import Ranks

OF_EPISODES = ("completion_ids", "mask", "log_probs", "values", "entropies", "ended")


def whole_batch(
    ranks: Ranks,
    prompts: list[list[int]],
    pad_id: int,
    mine: Episodes,
    reference_log_probs: Tensor,
    exact_kl: Tensor,
) -> tuple[Episodes, Tensor, Tensor]:
    """All B episodes, and what the reference says of them, [B, C] both.

    Args:
        prompts: B token lists. mine: this rank's share of the episodes, whose features are not passed on.
        reference_log_probs, exact_kl: of that share.
    """
    tensors = {name: getattr(mine, name) for name in OF_EPISODES}
    tensors |= {"reference_log_probs": reference_log_probs, "exact_kl": exact_kl}
    if mine.allowed is not None:
        tensors["allowed"] = mine.allowed
    found = ranks.gather(tensors, len(prompts))
    ids, prompt_mask = left_pad(prompts, pad_id, mine.mask.device)
    columns = torch.arange(found["mask"].shape[1], device=mine.mask.device)
    real = columns < found["mask"].sum(1, keepdim=True)
    found["completion_ids"] = torch.where(real, found["completion_ids"], pad_id)
    whole = Episodes(
        ids, prompt_mask, **{name: found[name] for name in OF_EPISODES}, hidden=None, allowed=found.get("allowed")
    )
    return whole, found["reference_log_probs"], found["exact_kl"]

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
    ranks: Ranks, prompts: list[list[int]], pad_id: int, mine: Episodes, of_mine: dict[str, Tensor]
) -> tuple[Episodes, dict[str, Tensor]]:
    """All B episodes, and what else is known of them, [B, C] each.

    Args:
        prompts: B token lists. mine: this rank's share of the episodes, whose features are not passed on. of_mine:
            further figures of that share.
    """
    tensors = {name: getattr(mine, name) for name in OF_EPISODES} | of_mine
    if mine.allowed is not None:
        tensors["allowed"] = mine.allowed
    found = ranks.gather(tensors, len(prompts))
    ids, prompt_mask = left_pad(prompts, pad_id, mine.mask.device)
    columns = torch.arange(found["mask"].shape[1], device=mine.mask.device)
    real = columns < found["mask"].sum(1, keepdim=True)
    found["completion_ids"] = torch.where(real, found["completion_ids"], pad_id)
    whole = Episodes(ids, prompt_mask, **{name: found[name] for name in OF_EPISODES}, allowed=found.get("allowed"))
    return whole, {name: found[name] for name in of_mine}

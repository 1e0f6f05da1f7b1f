"""Sampling completions in large batches with a KV cache, with given random numbers: one for each position (inverse of
the cumulative distribution), or one for each token at each position (exponential race), which keeps the texts of two
similar models alike for longer. Log-probs, values and entropies come from the forward pass that drew the token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from playground.config import SamplingConfig
from playground.ppo.logprobs import entropy, log_softmax_at
from playground.training.data.random_streams import TokenNoise
from playground.training.loop.ranks import Ranks
from playground.training.models.kv_cache import KVCache, left_pad
from playground.training.models.language_model import LanguageModel, Tokens, ValueHead

NEVER = -1e9  # a logit whose softmax is 0
OF_EPISODES = ("completion_ids", "mask", "log_probs", "values", "entropies", "ended")  # what ranks pass on
SHRINK_AT = 0.75  # drop finished episodes from the batch when this share is left; each time copies the KV cache


@dataclass
class Episodes:
    """B prompts of P tokens (left-padded) and their completions of C (right-padded, end-of-sequence included).

    log_probs, values, entropies: of the distribution that was drawn from, at the sampling temperature; 0 where masked,
    the latter two also unless asked for. ended: by itself. hidden: features from which each token was predicted;
    allowed: the tokens that top k and top p let be drawn; both None unless asked for, and `allowed` without such a cut.
    """

    prompt_ids: Tensor  # [B, P]
    prompt_mask: Tensor
    completion_ids: Tensor  # [B, C]
    mask: Tensor
    log_probs: Tensor
    values: Tensor
    entropies: Tensor
    ended: Tensor  # [B]
    hidden: Tensor | None = None  # [B, C, H]
    allowed: Tensor | None = None  # [B, C, V]

    def __len__(self) -> int:
        return self.prompt_ids.shape[0]

    @property
    def lengths(self) -> Tensor:
        """Completion tokens of each episode, [B]."""
        return self.mask.sum(1)

    def packed(self) -> Packed:
        """The same tokens with the padding behind: what scoring and training run on."""
        prompt_lengths, lengths = self.prompt_mask.sum(1), self.lengths
        totals = prompt_lengths + lengths
        width = int(totals.max())
        whole = torch.cat([self.prompt_ids, self.completion_ids], dim=1)
        pad_in_front = self.prompt_ids.shape[1] - prompt_lengths
        column = torch.arange(width, device=whole.device).unsqueeze(0).expand(len(self), -1)
        ids = whole.gather(1, (column + pad_in_front.unsqueeze(1)).clamp(max=whole.shape[1] - 1))
        predicts = (column >= (prompt_lengths - 1).unsqueeze(1)) & (column < (totals - 1).unsqueeze(1))
        return Packed(ids, predicts, totals)

    def texts(self, tokens: Tokens) -> list[str]:
        """The completions as text."""
        rows = zip(self.completion_ids.tolist(), self.lengths.tolist(), self.prompt_ids.tolist(), strict=True)
        with tokens.limited():  # of all together, so that many slow ones are noticed too
            return [tokens.decode(ids[:length], after=prompt) for ids, length, prompt in rows]


@dataclass
class Packed:
    """Prompt and completion of each episode in one row, padding behind."""

    ids: Tensor  # [B, T]
    predicts: Tensor  # [B, T]: True where the next token is a completion token
    totals: Tensor  # [B]: real tokens of a row

    def rows(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """ids [n, T'] and predicts [n, T'] of some episodes, cut to the longest; its last token predicts none."""
        width = int(self.totals[rows].max()) - 1
        return self.ids[rows, :width], self.predicts[rows, :width]


def whole_batch(
    ranks: Ranks, prompts: list[list[int]], pad_id: int, mine: Episodes, of_mine: dict[str, Tensor]
) -> tuple[Episodes, dict[str, Tensor]]:
    """All B episodes that several ranks have written, and further figures of them, [B, C] each; features are left out.
    `mine`, `of_mine`: this rank's share."""
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


class Keep(NamedTuple):
    """What is kept of each step beside the tokens (see `Episodes`)."""

    value_head: ValueHead | None = None
    hidden: bool = False
    allowed: bool = False
    entropies: bool = False


TOKENS_ONLY = Keep()


@torch.no_grad()
def sample(
    model: LanguageModel,
    tokens: Tokens,
    prompts: list[list[int]],
    draws: Tensor | TokenNoise,
    sampling: SamplingConfig,
    between_tokens: Callable[[], None] = lambda: None,
    keep: Keep = TOKENS_ONLY,
) -> Episodes:
    """Complete each prompt until its end-of-sequence token or until the random numbers run out.

    `draws`: uniform numbers [B, C], or one for each token of the vocabulary at each place; C is the longest completion,
    whatever `sampling` says. `between_tokens` is called before every token; it may raise to break off.
    """
    device = model.device
    ends = torch.tensor(tokens.ends, device=device)
    ids, prompt_mask = left_pad(prompts, tokens.pad_id, device)
    batch, longest = draws.shape
    draws = draws.to(device) if isinstance(draws, Tensor) else draws
    completion = torch.full((batch, longest), tokens.pad_id, device=device)
    mask = torch.zeros(batch, longest, dtype=torch.bool, device=device)
    log_probs, values, entropies = (torch.zeros(batch, longest, device=device) for _ in range(3))
    features: list[tuple[Tensor, Tensor]] = []
    choices: list[tuple[Tensor, Tensor]] = []
    rows = torch.arange(batch, device=device)  # the episode behind each row of the batch, which shrinks
    going = torch.ones(batch, dtype=torch.bool, device=device)  # rows that have not ended
    cache, step_ids = cache_for(model, sampling, longest), ids
    with model.cast_once():
        for t in range(longest):
            between_tokens()
            hidden = cache.next_hidden(step_ids) if t else cache.read(prompts, ids, prompt_mask)
            whole = log_softmax_at(model.logits(hidden), sampling.temperature)
            distribution, allowed = drawn_from(whole, sampling.top_k, sampling.top_p)
            chosen = _drawn(distribution, draws, rows, t)
            completion[rows, t] = torch.where(going, chosen, tokens.pad_id)
            mask[rows, t] = going
            log_probs[rows, t] = distribution.gather(1, chosen.unsqueeze(1)).squeeze(1)
            if keep.entropies:
                entropies[rows, t] = entropy(distribution)
            if keep.value_head is not None:
                values[rows, t] = keep.value_head(hidden)
            features += [(rows, hidden)] if keep.hidden else []
            choices += [(rows, allowed)] if keep.allowed and allowed is not None else []
            going = going & ~torch.isin(chosen, ends)
            step_ids = chosen.unsqueeze(1)
            if (t + 1) % cache.look_every:
                continue
            remaining = int(going.sum())
            if remaining == 0:
                break
            if remaining <= SHRINK_AT * len(rows):
                left = going.nonzero().squeeze(1)
                cache.keep(left)
                rows, going, step_ids = rows[left], going[left], step_ids[left]
    length = int(mask.sum(1).max())
    completion, mask = completion[:, :length], mask[:, :length]
    log_probs, values, entropies = (tensor[:, :length] * mask for tensor in (log_probs, values, entropies))
    ended = (torch.isin(completion, ends) & mask).any(1)
    kept = (_scattered(steps[:length], batch) if steps else None for steps in (features, choices))
    return Episodes(ids, prompt_mask, completion, mask, log_probs, values, entropies, ended, *kept)


def cache_for(model: LanguageModel, sampling: SamplingConfig, longest: int) -> KVCache:
    """What a model keeps of the tokens that it reads, of which `longest` are its own."""
    if sampling.decode == "plain" or not model.may_capture:
        return KVCache(model)
    from playground.training.models.captured_steps import CapturedCache, CapturedSteps  # imports transformers

    if model.captured_steps is None:
        model.captured_steps = CapturedSteps(model)
    steps = model.captured_steps
    return KVCache(model) if steps.why_not else CapturedCache(model, steps, longest)


def _drawn(distribution: Tensor, draws: Tensor | TokenNoise, rows: Tensor, step: int) -> Tensor:
    """The token of each row [B], from log-probs [B, V]."""
    where = "cpu" if distribution.device.type == "mps" else distribution.device  # Apple's GPUs have no float64
    probabilities = distribution.to(where).double().exp()
    if isinstance(draws, TokenNoise):
        chosen = _race(probabilities, draws.next(rows, distribution.shape[1]).to(where))
    else:
        chosen = _inverse_cdf(probabilities, draws[rows, step].to(where))
    return chosen.to(distribution.device)


def drawn_from(log_probs: Tensor, top_k: int | None, top_p: float | None) -> tuple[Tensor, Tensor | None]:
    """Log-probs [B, V] of what a cut leaves, and which tokens these are [B, V]; the same and None without a cut."""
    if top_k is None and top_p is None:
        return log_probs, None
    allowed = likeliest(log_probs, top_k, top_p)
    return log_softmax_at(among(log_probs, allowed)), allowed


def likeliest(log_probs: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Which tokens of each distribution [B, V] may be drawn: the `top_k` likeliest and those as likely as the last of
    them; of these the fewest that together have the probability `top_p` (nucleus sampling, Holtzman et al. 2020)."""
    allowed = torch.ones_like(log_probs, dtype=torch.bool)
    if top_k is not None and top_k < log_probs.shape[1]:
        allowed = log_probs >= log_probs.topk(top_k, dim=-1).values[:, -1:]
    if top_p is not None and top_p < 1:
        ordered, order = among(log_probs, allowed).sort(dim=-1, descending=True)
        probability = ordered.softmax(-1)
        before = probability.cumsum(-1) - probability  # of all tokens that are likelier
        allowed = allowed.scatter(1, order, before < top_p) & allowed
    return allowed


def among(logits: Tensor, allowed: Tensor | None) -> Tensor:
    """Logits [..., V] whose softmax has only the allowed tokens; finite, so that gradients stay so."""
    return logits if allowed is None else logits.masked_fill(~allowed, NEVER)


def _scattered(features: list[tuple[Tensor, Tensor]], batch: int) -> Tensor:
    """Features of the rows still in the batch at each step -> [B, C, H]."""
    first = features[0][1]
    whole = torch.zeros(batch, len(features), first.shape[1], device=first.device, dtype=first.dtype)
    for step, (rows, hidden) in enumerate(features):
        whole[rows, step] = hidden
    return whole


def _inverse_cdf(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """The token at quantile `uniform` of each distribution: [B, V], [B] -> [B]."""
    cumulative = probabilities.cumsum(-1)
    threshold = uniform.unsqueeze(1) * cumulative[:, -1:]  # rounding must not leave a gap at the end
    return torch.searchsorted(cumulative, threshold, right=True).squeeze(1).clamp(max=probabilities.shape[1] - 1)


def _race(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """The token that is first when each arrives after -log(uniform) / probability, an exponential time: [B, V] -> [B].
    The same as Gumbel noise on log p. While probabilities move a little, the first mostly stays the first."""
    return uniform.log_().div_(probabilities).argmax(-1)

"""Plain sampling from a causal language model: temperature 1, the full distribution, one generator, no surprises.

Needs torch and transformers. `acceptance` calls it; the trainer has its own sampler, which also keeps log-probs.
"""

import torch
from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerBase


@torch.inference_mode()
def sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[str],
    seed: int,
    max_new_tokens: int = 32,
    batch_size: int = 250,
) -> list[tuple[str, bool]]:
    """One completion per prompt, and whether it ended by itself (eos within `max_new_tokens`, eos counted)."""
    generator = torch.Generator().manual_seed(seed)
    found: list[tuple[str, bool]] = []
    for start in range(0, len(prompts), batch_size):
        rows = _sample_batch(model, tokenizer, prompts[start : start + batch_size], generator, max_new_tokens)
        for row in rows.tolist():
            ended = tokenizer.eos_token_id in row
            kept = row[: row.index(tokenizer.eos_token_id)] if ended else row
            found.append((str(tokenizer.decode(kept, skip_special_tokens=True)), ended))
    return found


def _sample_batch(model, tokenizer, prompts, generator, max_new_tokens) -> torch.Tensor:
    """New token ids, shape (len(prompts), at most max_new_tokens); what stands after an eos means nothing."""
    encoded = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
    ids, mask = encoded["input_ids"], encoded["attention_mask"]
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache, columns = DynamicCache(config=model.config), []
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(max_new_tokens):
        out = model(ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        probabilities = out.logits[:, -1].float().softmax(-1)
        ids = torch.multinomial(probabilities, 1, generator=generator)
        columns.append(ids)
        ended |= ids[:, 0] == tokenizer.eos_token_id
        if bool(ended.all()):
            break
        mask = torch.cat([mask, mask.new_ones(len(prompts), 1)], dim=1)
        positions = positions[:, -1:] + 1
    return torch.cat(columns, dim=1)

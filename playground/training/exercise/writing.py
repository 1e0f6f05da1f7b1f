"""The check of generate_with_logprobs. What it draws is chance, so what it says of what it drew is read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from playground.training.exercise import comparing
from playground.training.exercise.comparing import Finding, Names, Problem, called, found_wrong, same
from playground.training.exercise.toys import END, PAD, language_model, value_head

PROMPTS = [[5, 3, 9, 2], [4], [PAD, 6], [8, 6], [7, PAD], [2], [3, 3], [9]]  # the padding id is a token, too
MANY = 4000  # completions of one token, in which the share of each token is counted
FAR = 0.06  # of the shares from the probabilities, in total variation; by chance it is about 0.015
CASES = [  # in words; prompts, padding id, longest completion, temperature
    ("one prompt, one token", [[5, 3]], PAD, 1, 1.0),
    ("prompts of different lengths, some with the padding id as a token", PROMPTS, PAD, 6, 1.0),
    ("the same at temperature 0.7, where the padding id is the end of sequence", PROMPTS, END, 6, 0.7),
]


def check(names: Names, ours: Names) -> Finding | None:
    """The first thing that is wrong, or None. Raises: StudentFailed, NotWritten."""
    for words, prompts, pad, longest, temperature in CASES:
        policy, head = language_model(0, pad), value_head(0)
        changes = {"max_new_tokens": longest, "temperature": temperature}
        torch.manual_seed(3)
        knobs = comparing.settings(names, ours, **changes)
        found = called(names, "generate_with_logprobs", policy, head, [[*one] for one in prompts], knobs)
        given = {"prompts": prompts, "pad": pad, "end": END, **changes}
        if problem := _problem(ours, found, policy, head, prompts, comparing.settings(ours, ours, **changes)):
            return found_wrong(words, given, problem)
    return _drawn_wrongly(names, ours)


def _problem(ours: Names, found: Any, policy: Any, head: Any, prompts: list[list[int]], knobs: Any) -> Problem | None:
    parts: dict[str, Any] = {name: getattr(found, name, None) for name in ("ids", "real", "log_probs", "values")}
    for name, tensor in parts.items():
        if not isinstance(tensor, Tensor) or tensor.dim() != 2:
            return "returned", "Episodes(ids, real, log_probs, values), four tensors", found, f"{name} is missing."
    ids, real, log_probs, values = parts.values()
    width = max(map(len, prompts))
    length = ids.shape[1] - width
    if ids.shape != real.shape or not log_probs.shape == values.shape == (len(prompts), length):
        shapes = {name: tuple(tensor.shape) for name, tensor in parts.items()}
        hint = "ids and real are [B, P + C], with P of the longest prompt; log_probs and values [B, C]."
        return "shapes", "[B, P + C] twice, [B, C] twice", shapes, hint
    return (
        _prompt_problem(ids, real.bool(), prompts, policy.config.pad_token_id)
        or _length_problem(ids[:, width:], real[:, width:].bool(), knobs.max_new_tokens, policy.config.pad_token_id)
        or _number_problem(ours, (ids, real.bool(), log_probs, values), policy, head, knobs)
    )


def _prompt_problem(ids: Tensor, real: Tensor, prompts: list[list[int]], pad: int) -> Problem | None:
    width = max(map(len, prompts))
    for row, prompt in enumerate(prompts):
        front = width - len(prompt)
        mask = [False] * front + [True] * len(prompt)
        shown, counted = ids[row, :width].tolist(), real[row, :width].tolist()
        if shown[front:] != prompt:
            right = shown[: len(prompt)] == prompt
            hint = (
                "The prompt is padded on the right, so what is written does not follow it: pad on the left."
                if right
                else ""
            )
            return f"prompt {row + 1}", [pad] * front + prompt, shown, hint
        if counted != mask:
            hint = "The mask comes from the ids, and the padding id may be a real token: take it from the lengths."
            by_id = counted == [token != pad for token in shown]
            return f"mask of prompt {row + 1}", mask, counted, hint if by_id else ""
    return None


def _length_problem(ids: Tensor, mask: Tensor, longest: int, pad: int) -> Problem | None:
    lengths = []
    for row, (tokens, counted) in enumerate(zip(ids.tolist(), mask.tolist(), strict=True)):
        ended = END in tokens
        length = tokens.index(END) + 1 if ended else len(tokens)
        expected = [place < length for place in range(len(tokens))]
        if counted != expected:
            return (
                f"mask of completion {row + 1}, {tokens}",
                expected,
                counted,
                _mask_hint(tokens, counted, length, pad),
            )
        lengths.append((length, ended))
    if ids.shape[1] > longest:
        return "longest completion", longest, ids.shape[1], "More than max_new_tokens were drawn."
    if any(length < longest and not ended for length, ended in lengths):
        hint = "A completion stops before its end token and before max_new_tokens: go on until all have ended."
        return "lengths", f"{longest} where there is no end", [length for length, _ in lengths], hint
    return None


def _mask_hint(tokens: list[int], counted: list[bool], length: int, pad: int) -> str:
    """Why the mask of a completion of `length` real tokens may be wrong."""
    if END in tokens and any(counted[length:]) and all(counted[:length]):
        return "Tokens after the end of the sequence are counted: the mask stops with the first end token."
    if END in tokens and counted == [place < length - 1 for place in range(len(tokens))]:
        return "The end-of-sequence token is left out. It was drawn like all others, and is to be learned: count it."
    if counted == [token != pad for token in tokens]:
        return "The mask comes from the ids, and the padding id may be a real token: take it from the lengths."
    return ""


def _number_problem(ours: Names, parts: tuple[Tensor, ...], policy: Any, head: Any, knobs: Any) -> Problem | None:
    _, real, log_probs, values = parts
    if log_probs.requires_grad or values.requires_grad:
        return "requires_grad", False, True, "What is written is no part of the graph: use torch.no_grad()."
    mask = real[:, -log_probs.shape[1] :]
    expected_log_probs, expected_values = _read(ours, parts, policy, head, knobs)
    for name, expected, got in (("log_probs", expected_log_probs, log_probs), ("values", expected_values, values)):
        if same(expected, got):
            continue
        if same(expected[mask], got[mask]):
            return name, expected, got, f"{name} is to be 0 where the mask is False."
        return name, expected, got, _number_hint(ours, parts, policy, head, knobs, name)
    return None


def _read(ours: Names, parts: tuple[Tensor, ...], policy: Any, head: Any, knobs: Any) -> list[Tensor]:
    """Log-probs and values [B, C] of what was drawn; 0 where masked."""
    ids, real, log_probs, _ = parts
    length = log_probs.shape[1]
    mask, tokens = real[:, -length:], ids[:, -length:]
    with torch.no_grad():
        before = ours["features"](policy, ids, real)[:, -length - 1 : -1]
        found = ours["next_token"](policy, before, knobs).log_prob(tokens), head(before).squeeze(2)
    return [torch.where(mask, numbers, 0.0) for numbers in found]


def _number_hint(ours: Names, parts: tuple[Tensor, ...], policy: Any, head: Any, knobs: Any, name: str) -> str:
    ids, real, log_probs, values = parts
    which = ("log_probs", "values").index(name)
    got, mask = (log_probs, values)[which], real[:, -log_probs.shape[1] :]

    def is_of(other: tuple[Tensor, ...], settings: Any = knobs) -> bool:
        return same(_read(ours, other, policy, head, settings)[which][mask], got[mask])

    everything = (ids, torch.ones_like(real), log_probs, values)
    candidates: list[tuple[Callable[[], bool], str]] = [
        (
            lambda: is_of(parts, ours["Settings"]()),
            "The log-probs are those of temperature 1, and the tokens were drawn at another. Keep those of the "
            "distribution that was drawn from.",
        ),
        (
            lambda: same(_read(ours, parts, policy, head, knobs)[which].exp()[mask], got[mask]),
            "These are probabilities: take the logarithm.",
        ),
        (
            lambda: is_of(everything),
            "The padding is read as if it were text: give `features` the mask, and let it count positions.",
        ),
        (
            lambda: same(_read(ours, parts, policy, head, knobs)[which][:, 1:][mask[:, 1:]], got[:, :-1][mask[:, 1:]]),
            "The numbers are one position early: the features before a token are those it was drawn from.",
        ),
    ]
    return next((hint for holds, hint in candidates if holds()), "")


def _drawn_wrongly(names: Names, ours: Names) -> Finding | None:
    policy, head, knobs = language_model(0), value_head(0), {"max_new_tokens": 1, "temperature": 0.7}
    torch.manual_seed(4)
    prompts = [[5, 3] for _ in range(MANY)]
    found = called(names, "generate_with_logprobs", policy, head, prompts, comparing.settings(names, ours, **knobs))
    shares = torch.bincount(found.ids[:, -1], minlength=policy.config.vocab_size) / MANY
    with torch.no_grad():
        logits = policy(torch.tensor([[5, 3]])).logits[0, -1]
    wanted, hot = torch.softmax(logits / 0.7, -1), torch.softmax(logits, -1)
    if _apart(shares, wanted) < FAR:
        return None
    hint = ""
    if float(shares.max()) == 1:
        hint = "It always takes the likeliest token. PPO needs samples: draw from the distribution."
    elif _apart(shares, hot) < FAR:
        hint = "The tokens are drawn at temperature 1: divide the logits by settings.temperature before drawing."
    given = {"prompt": [5, 3], "completions": MANY, **knobs}
    return found_wrong("4000 completions of one token", given, ("share of each token", wanted, shares, hint))


def _apart(shares: Tensor, probabilities: Tensor) -> float:
    return float((shares - probabilities).abs().sum() / 2)

"""What is asked of each of the five functions: small cases, the smallest first, each with a hint for who fails it.

Each function here gets the names of a student's file, calls what is written, and yields (the case, what is right, what
came, the hint). What is right is written down, or read from the toy model row by row: never by the example's functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

Batch = tuple[Tensor, Tensor]
Case = tuple[str, Any, Any, str]
END, LENGTH = 1, 4  # of a text; of the completions in these: ids, and which are real
ONE = torch.tensor([[5, 3, 7, 4, 2, 9]]), torch.ones(1, 6).bool()
IDS = torch.tensor([[5, 3, 9, 2, 7, 4, 1, 0], [0, 0, 0, 4, 6, 0, 0, 0], [0, 0, 8, 6, 2, 5, 5, 9]])
RAGGED = IDS, torch.tensor([[1, 1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1, 1]]).bool()
PROMPTS = [[5, 3, 9, 2], [4], [0, 6], [8, 6], [7, 0], [2], [3, 3], [9]]  # 0 is the padding id, and a token too
BEFORE = "A token is predicted by the position before it: of T positions the completion's C are [:, -C - 1 : -1]."
COOL = "Divide the logits by settings.temperature, here as where the tokens were drawn."
PADDED = (
    "Padding counts: where the mask is False all is 0 and in no mean. Or it is read as text: give the model the mask, "
    "and positions that count real tokens only."
)


def toys(pad: int = 0) -> tuple[Any, nn.Linear]:
    """A GPT-2 of 12 tokens, always the same, and a value head. Its positions are absolute: a wrong one shows."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape = {"vocab_size": 12, "n_positions": 64, "n_embd": 8, "n_layer": 1, "n_head": 2, "bos_token_id": None}
        policy, head = GPT2LMHeadModel(GPT2Config(**shape, pad_token_id=pad, eos_token_id=END)).eval(), nn.Linear(8, 1)
        for weights in policy.parameters():
            weights.data.add_(0.4 * torch.randn_like(weights))
    return policy, head


@torch.no_grad()
def read(models: Any, ids: Tensor, real: Tensor, length: int, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Log-probs and values of each completion token, [B, C], each row read without its padding; 0 where masked."""
    log_probs, values = torch.zeros(2, len(ids), length)
    for row, (tokens, mask) in enumerate(zip(ids, real, strict=True)):
        text = tokens[mask]
        count = int(mask[-length:].sum())
        predicting = slice(-count - 1, -1)
        output = models[0](text[None], output_hidden_states=True)
        logits = output.logits[0, predicting] / temperature
        likely = torch.log_softmax(logits, -1)
        log_probs[row, :count] = likely[range(count), text[-count:]]
        features = output.hidden_states[-1][0, predicting]
        values[row, :count] = models[1](features).squeeze(1)
    return log_probs, values


def flat(model: nn.Module) -> Tensor:
    """All weights of a model in one row."""
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def kl_cases(names: dict[str, Any]) -> Iterator[Case]:
    """Of compute_kl: log pi is said to be higher than log pi_ref by `drift`."""

    def kl(batch: Batch, drift: Tensor, temperature: float = 1.0) -> Any:
        log_probs = read(toys(), *batch, LENGTH, temperature)[0] + drift
        episodes = names["Episodes"](*batch, log_probs, 0 * log_probs)
        return names["compute_kl"](toys()[0], episodes, names["Settings"](temperature=temperature))

    some, ragged = torch.tensor([[0.3, -0.2, 0.1, 0.0]]), 0.1 * RAGGED[1][:, -LENGTH:]
    own = "Return log pi - log pi_ref itself, which may be negative: not turned round or cut, no abs, no k2 or k3."
    yield "a text, as likely as before", 0 * some, kl(ONE, 0 * some), BEFORE
    yield "a text, each token likelier by 0.3, -0.2, 0.1, 0 nats", some, kl(ONE, some), own
    yield "three texts of different lengths", ragged, kl(RAGGED, ragged), PADDED
    yield "three texts at temperature 0.7", ragged, kl(RAGGED, ragged, 0.7), COOL


def advantage_cases(names: dict[str, Any]) -> Iterator[Case]:
    """Of compute_advantages."""

    def given(*tensors: Any, gamma: float = 1.0, gae_lambda: float = 1.0) -> Any:
        settings = names["Settings"](kl_coef=0.5, gamma=gamma, gae_lambda=gae_lambda)
        advantages, returns = names["compute_advantages"](*map(torch.tensor, tensors), settings)
        return advantages, returns

    paid = given([0.0], [[0.4, -0.2]], [[0.0] * 2], [[True] * 2])
    short = given([1.0, -1.0], [[0.0] * 2] * 2, [[0.0] * 2] * 2, [[True, True], [True, False]], gamma=0.5)
    valued = given([1.0], [[0.0] * 3], [[0.5, 0.2, 0.7]], [[True] * 3], gamma=0.9, gae_lambda=0.5)
    two, three = "texts of two tokens and of one, scores 1 and -1, gamma 0.5", "values 0.5, 0.2, 0.7, score 1"
    cost = (
        "Each token pays r_t = -kl_coef * kl_t. Its return, A + V before whitening, counts what later tokens pay too."
    )
    last = "The score is paid once, on the last real token, mask.sum(1) - 1: the last position of a row may be padding."
    recursion = "Backwards: delta_t = r_t + gamma V_{t+1} - V_t, and A_t = delta_t + gamma gae_lambda A_{t+1}."
    white = "Whiten: mean 0 and variance 1, which is divided by n and not n - 1 (correction=0)."
    counted = "Whitening counts the padding: take mean and variance of advantages[mask], and 0 where masked."
    yield "returns after KL 0.4 and -0.2, kl_coef 0.5", torch.tensor([[-0.1, 0.1]]), paid[1], cost
    yield f"returns of {two}", torch.tensor([[0.5, 1.0], [-1.0, 0.0]]), short[1], last
    yield f"returns of {three}, gamma 0.9, gae_lambda 0.5", torch.tensor([[0.43425, 0.765, 1.0]]), valued[1], recursion
    yield f"advantages of {three}", torch.tensor([[-1.2845, 1.1546, 0.1299]]), valued[0], white
    yield f"advantages of {two}", torch.tensor([[0.3922, 0.9806], [-1.3728, 0.0]]), short[0], counted


def step_cases(names: dict[str, Any]) -> Iterator[Case]:
    """Of ppo_step, with an SGD at 0.1. Returns are what the head says and `gap` more, old values 1 less."""

    def step(batch: Batch, ratios: Any = 1.0, advantages: Any = 1.0, gap: float = 2.0, **changes: float) -> Any:
        policy, head = toys()
        mask = batch[1][:, -LENGTH:]
        knobs = {"max_grad_norm": 1e9, "value_coef": 0.3, "clip_range": 0.2, "temperature": 1.0} | changes
        log_probs, values = read((policy, head), *batch, LENGTH, knobs["temperature"])
        for weights in [*policy.parameters(), *head.parameters()]:
            weights.grad = torch.full_like(weights, 9.0)  # of a step before
        groups = [{"params": [*policy.parameters()]}, {"params": [*head.parameters()]}]
        episodes = names["Episodes"](*batch, mask * (log_probs - torch.as_tensor(ratios).log()), mask * (values - 1))
        losses = names["ppo_step"](
            policy,
            head,
            torch.optim.SGD(groups, lr=0.1),
            episodes,
            mask * torch.as_tensor(advantages),
            mask * (values + gap),
            names["Settings"](**knobs),
        )
        figures = {name: torch.tensor(float(number)) for name, number in losses.items()}
        old_policy, old_head = map(flat, toys())
        policy_way, head_way = flat(policy) - old_policy, flat(head) - old_head
        lengths = torch.stack([policy_way.norm(), head_way.norm()])
        return SimpleNamespace(**figures, bias=head_way[-1], lengths=lengths)

    plain, ragged, clipped = step(ONE), step(RAGGED), step(ONE, [[1.5, 1.5, 0.5, 0.5]], [[1.0, -1.0, 1.0, -1.0]])
    words = "ratios 1.5, 1.5, 0.5, 0.5, advantages 1, -1, 1, -1, clip_range 0.2"
    sign = f"An optimizer minimises: policy_loss is the mean of -min(r A, clip(r) A). {BEFORE}"
    ratio = "The ratio is pi / pi_old = exp(log_probs - episodes.log_probs), of the tokens drawn."
    least = "Of both terms, r A and clip(r) A, the min is taken: too far never pays, and back always does."
    past = "clip_fraction counts the tokens whose loss is flat: r is past the clip on the side that A wants."
    squared = "value_loss is the plain (V - return)^2 / 2: no clip around old values, and returns, not advantages."
    descent = "Minimise policy_loss + value_coef * value_loss: optimizer.zero_grad, backward, optimizer.step."
    detached = "The gradient of the value loss reaches the policy's trunk, and wrecks it: detach the features."
    cut = "The gradient of each of the optimizer's groups is cut by itself to max_grad_norm."
    yield "policy_loss of ratio 1 and advantage 1", -1.0, plain.policy_loss, sign
    yield "policy_loss of ratio 1.1 and advantage 1", -1.1, step(ONE, 1.1).policy_loss, ratio
    yield f"policy_loss of {words}", 0.15, clipped.policy_loss, least
    yield f"clip_fraction of {words}", 0.5, clipped.clip_fraction, past
    yield "policy_loss of ratio 1.1 at temperature 0.7", -1.1, step(ONE, 1.1, temperature=0.7).policy_loss, COOL
    yield "value_loss of values 2 below their returns", 2.0, plain.value_loss, squared
    yield "policy_loss of texts of different lengths", -1.0, ragged.policy_loss, PADDED
    yield "value_loss of texts of different lengths", 2.0, ragged.value_loss, PADDED
    yield "way of the value head's bias in a later step", 0.06, plain.bias, descent
    yield "way of the policy, with returns further off", plain.lengths[0], step(ONE, gap=9.0).lengths[0], detached
    yield "ways of both at max_grad_norm 0.01", torch.full((2,), 0.001), step(ONE, max_grad_norm=0.01).lengths, cut


def writing_cases(names: dict[str, Any]) -> Iterator[Case]:
    """Of generate_with_logprobs. What it draws is chance, so what it says of what it drew is read again."""
    torch.manual_seed(3)
    left = "Pad on the left, so that what is written follows its prompt."
    end = "A completion ends with its first end token, which belongs to it, or after max_new_tokens."
    by_length = f"{end} Masks come from lengths, never from the ids: the padding id may be a real token."
    drawn = "Keep the logarithms of what was drawn from, and values of the features that it was drawn from."
    sampled = "Draw from softmax(logits / settings.temperature): not the likeliest token, nor at temperature 1."
    ways = ([[5, 3]], 0, 1.0, drawn), (PROMPTS, 0, 1.0, PADDED), (PROMPTS, END, 0.7, COOL)
    for prompts, pad, temperature, hint in ways:
        models, width = toys(pad), max(map(len, prompts))
        settings = names["Settings"](max_new_tokens=6, temperature=temperature)
        written = names["generate_with_logprobs"](*models, [[*prompt] for prompt in prompts], settings)
        tokens, places = written.ids[:, width:].tolist(), torch.arange(written.ids.shape[1])
        ends = torch.tensor([width + [*row, END].index(END) + 1 for row in tokens]).unsqueeze(1)
        fronts = torch.tensor([width - len(prompt) for prompt in prompts]).unsqueeze(1)
        real = (places >= fronts) & (places < ends)
        padded = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])
        longest = 6 if any(END not in row for row in tokens) else int(ends.max()) - width
        words = f"{len(prompts)} prompts at temperature {temperature}, padding id {pad}"
        yield f"{words}: they, in ids", padded, written.ids[:, :width], left
        yield f"{words}: the longest completion", longest, len(tokens[0]), end
        yield f"{words}: real, of {written.ids.tolist()}", real.int(), written.real.int(), by_length
        log_probs, values = read(models, written.ids, real, len(tokens[0]), temperature)
        for name, right, got in (("log_probs", log_probs, written.log_probs), ("values", values, written.values)):
            yield f"{words}: {name} of real tokens", right, got * real[:, width:], hint
            yield f"{words}: {name}", right, got, f"{name} is to be 0 where masked."
    models, settings = toys(), names["Settings"](max_new_tokens=1, temperature=0.7)
    written = names["generate_with_logprobs"](*models, [[5, 3]] * 4000, settings)
    shares = written.ids[:, -1].bincount(minlength=12) / 4000
    right = torch.softmax(models[0](torch.tensor([[5, 3]])).logits[0, -1].detach() / 0.7, -1)
    is_near = float((shares - right).abs().sum()) < 0.12  # by chance it is about 0.03
    yield "shares of 4000 tokens at temperature 0.7", right, right if is_near else shares, sampled


def loop_cases(names: dict[str, Any]) -> Iterator[Case]:
    """Of train. The other four are stand-ins while it runs: they give random numbers, and note how they are called."""
    ids, losses = torch.ones(12, 7).long(), ("policy_loss", "value_loss", "clip_fraction")
    batches = [names["Episodes"](ids, ids.bool(), *torch.rand(2, 12, 5)) for _ in range(2)]
    scores, kl, credit, figures = torch.rand(2, 12), torch.rand(2, 12, 5), torch.rand(2, 2, 12, 5), torch.rand(2, 9, 3)
    steps = [dict(zip(losses, numbers, strict=True)) for numbers in figures.flatten(0, 1).tolist()]
    writing, comparing, crediting, stepping, scoring = fakes = [
        Mock(side_effect=itertools.cycle(each)) for each in (batches, kl, map(tuple, credit), steps, scores)
    ]
    (policy, head), (reference, _) = toys(), toys()
    sizes, rates = {"num_updates": 2, "batch_size": 12, "minibatch_size": 4, "num_epochs": 3}, (2e-4, 6e-3)
    settings = names["Settings"](**sizes, learning_rate=rates[0], value_learning_rate=rates[1])
    with patch.dict(names, zip(CASES, fakes[:4], strict=False)):
        history = names["train"](policy, reference, head, [[5, 3], [4], [8, 6], [2]], scoring, settings)
    once = "In an update all is done once with the whole batch, then num_epochs x batch_size / minibatch_size steps."
    anew = "Draw batch_size prompts anew in each update, some more than once where there are fewer."
    roles = "Policy and value head are what writes and is trained. The KL is to the frozen reference."
    as_is = "Hand on what the others gave: scores without the KL, which costs twice then; kl with its sign."
    same_rows = "Advantages and returns of a minibatch are those of its episodes, unchanged."
    shuffled = "An epoch goes over every episode once: shuffle them anew in each, then cut into minibatches."
    mean = "Scores without the KL, KL summed over a text's tokens, and means: over texts, over all steps of the update."
    yield (
        f"calls of {', '.join([*CASES][:4])}, score: {sizes}",
        [2, 2, 2, 18, 2],
        [fake.call_count for fake in fakes],
        once,
    )
    prompts = [call.args[2] for call in writing.call_args_list]
    is_drawn = prompts[0] != prompts[1] and any(prompt != prompts[0][0] for prompt in prompts[0])
    yield "prompts of each update, and whether they differ", ([12, 12], True), ([*map(len, prompts)], is_drawn), anew
    models = [call.args[0] for fake in (writing, stepping, comparing) for call in fake.call_args_list]
    are_right = [*map(id, models)] == [id(policy)] * 20 + [id(reference)] * 2
    yield "policy and reference are handed on", True, are_right, roles
    for update, batch in enumerate(batches):
        credited_scores, credited_kl, credited_values = crediting.call_args_list[update].args[:3]
        yield "scores for compute_advantages", scores[update], credited_scores, as_is
        yield "kl for compute_advantages", kl[update], credited_kl, as_is
        yield "values for compute_advantages", batch.values, credited_values, as_is
        row_of = {log_prob: row for row, log_prob in enumerate(batch.log_probs[:, 0].tolist())}
        order: list[int] = []
        for call in stepping.call_args_list[9 * update : 9 * update + 9]:
            rows = [row_of.get(log_prob, -1) for log_prob in call.args[3].log_probs[:, 0].tolist()]
            order += rows
            got = torch.stack(call.args[4:6])
            yield "advantages and returns of a minibatch", credit[update][:, rows], got, same_rows
        epochs = [order[begin : begin + 12] for begin in (0, 12, 24)]
        orders = {*map(tuple, epochs)} - {(*range(12),)}
        seen_once = [sorted(epoch) for epoch in epochs]
        yield (
            "episodes of 3 epochs, and how many are shuffled",
            ([[*range(12)]] * 3, 3),
            (seen_once, len(orders)),
            shuffled,
        )
        means = torch.stack([scores[update].mean(), kl[update].sum(1).mean(), *figures[update].mean(0)])
        got = torch.tensor([history[update].get(name, torch.nan) for name in ("score", "kl", *losses)])
        yield f"score, kl, {', '.join(losses)} of an update", means, got, mean
    yield _optimizer_case(stepping, (policy, head, reference), rates)


def _optimizer_case(stepping: Mock, models: Any, rates: tuple[float, float]) -> Case:
    knobs, optimizers = ("lr", "eps", "weight_decay"), {call.args[2] for call in stepping.call_args_list}
    knobs_of = {
        id(weights): tuple(group[knob] for knob in knobs)
        for optimizer in optimizers
        for group in optimizer.param_groups
        for weights in group["params"]
    }
    trained = [{knobs_of.get(id(weights)) for weights in model.parameters()} for model in models]
    right = [{(rates[0], 1e-5, 0)}, {(rates[1], 1e-5, 0)}, {None}]
    adam = "One AdamW for all updates, eps 1e-5, no weight decay, a rate each for policy and value head, no reference."
    return f"optimizers; {knobs} of policy, value head, reference", (1, right), (len(optimizers), trained), adam


def same(expected: Any, got: Any) -> bool:
    """Whether two results are equal, numbers up to rounding."""
    if not isinstance(expected, Tensor | float):
        return bool(expected == got)
    right, result = (torch.as_tensor(numbers).detach().double() for numbers in (expected, got))
    return right.shape == result.shape and torch.allclose(right, result, 1e-3, 2e-4)


CASES = {
    "generate_with_logprobs": writing_cases,
    "compute_kl": kl_cases,
    "compute_advantages": advantage_cases,
    "ppo_step": step_cases,
    "train": loop_cases,
}

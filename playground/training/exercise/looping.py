"""The check of train. The other four are ours while it runs, and write down how they are called, so that a mistake in
one function is no mistake in this one."""

from __future__ import annotations

import copy
import itertools
import math
import random
from typing import Any

import torch
from torch import Tensor

from playground.training.exercise import comparing
from playground.training.exercise.comparing import Finding, Names, Problem, called, found_wrong, same
from playground.training.exercise.toys import language_model, value_head

PROMPTS = [[5, 3, 9, 2], [4], [8, 6], [7, 2], [2]]
CHANGES = {
    "num_updates": 2,
    "batch_size": 12,
    "minibatch_size": 4,
    "num_epochs": 3,
    "max_new_tokens": 5,
    "temperature": 0.9,
}
CASE = "2 updates of 12 episodes: 3 epochs, minibatches of 4"  # fmt: skip
STEPS = 9  # of an update
UNKNOWN = -1  # an episode that is not of the batch


class CallRecorder:
    """The project's four functions, with a record of their calls. An update begins with each batch that is written."""

    def __init__(self, ours: Names) -> None:
        self.ours = ours
        self.updates: list[dict[str, list[Any]]] = []
        self.models: list[Any] = []

    def note(self, what: str, value: Any) -> None:
        """Of the present update."""
        if self.updates:
            self.updates[-1].setdefault(what, []).append(value)

    def generate_with_logprobs(self, *arguments: Any) -> Any:
        self.updates.append({})
        self.models.append(arguments[0])
        found = self.ours["generate_with_logprobs"](*arguments)
        self.note("batch", found)
        self.note("prompts", [tuple(one) for one in arguments[2]])
        return found

    def compute_kl(self, reference: Any, *arguments: Any) -> Tensor:
        found: Tensor = self.ours["compute_kl"](reference, *arguments)
        self.note("reference", reference)
        self.note("kl", found)
        return found

    def compute_advantages(self, scores: Any, kl: Any, values: Any, mask: Any, settings: Any) -> Any:
        found = self.ours["compute_advantages"](scores, kl, values, mask, settings)
        self.note("given", {"scores": scores, "kl": kl, "values": values, "mask": mask})
        self.note("advantages", found)
        return found

    def ppo_step(self, policy: Any, head: Any, optimizer: Any, episodes: Any, *rest: Any) -> Any:
        self.note("steps", (episodes, *rest[:2]))
        self.note("optimizer", optimizer)
        self.note("trained", (policy, head))
        found = self.ours["ppo_step"](policy, head, optimizer, episodes, *rest)
        self.note("said", found)
        return found


def check(names: dict[str, Any], ours: Names) -> Finding | None:
    """The first thing that is wrong, or None. Raises: StudentFailed, NotWritten."""
    policy, reference, head = language_model(0), language_model(0).requires_grad_(False), value_head(0)
    before = copy.deepcopy(reference)
    recorder = CallRecorder(ours)
    functions = ("generate_with_logprobs", "compute_kl", "compute_advantages", "ppo_step")
    kept = {name: names.get(name) for name in functions}
    names.update({name: getattr(recorder, name) for name in functions})

    def score(episodes: Any) -> Tensor:
        found = (episodes.completions * episodes.mask).sum(1) / 10.0
        recorder.note("score", found)
        return found

    torch.manual_seed(5)
    random.seed(5)
    try:
        knobs = comparing.settings(names, ours, **CHANGES)
        history = called(names, "train", policy, reference, head, [[*one] for one in PROMPTS], score, knobs)
    finally:
        names.update(kept)
    problem = _of_calls(recorder) or _of_weights(recorder, policy, reference, before, head, knobs)
    problem = problem or _of_history(recorder, history)
    return found_wrong(CASE, CHANGES, problem) if problem else None


def _of_calls(recorder: CallRecorder) -> Problem | None:
    wanted = CHANGES["num_updates"]
    if len(recorder.updates) != wanted:
        hint = "A batch is written once for each update, and all its epochs learn from it."
        return "calls of generate_with_logprobs", wanted, len(recorder.updates), hint
    for update in recorder.updates:
        for what, name in (("score", "score"), ("kl", "compute_kl"), ("advantages", "compute_advantages")):
            calls = len(update.get(what, []))
            if calls != 1:
                hint = "Scores, KL and advantages are of the whole batch, once, before its epochs."
                return f"calls of {name} in an update", 1, calls, hint
        if problem := _of_prompts(update, recorder.updates[0]) or _of_arguments(update) or _of_steps(update):
            return problem
    return None


def _of_prompts(update: dict[str, list[Any]], first: dict[str, list[Any]]) -> Problem | None:
    (prompts,) = update["prompts"]
    if len(prompts) != CHANGES["batch_size"]:
        hint = "A batch has batch_size episodes: draw so many prompts, some more than once where there are fewer."
        return "prompts of a batch", CHANGES["batch_size"], len(prompts), hint
    if len({*prompts}) == 1 or (update is not first and first["prompts"] == [prompts]):
        hint = "The prompts of a batch are not drawn: they are the same each time. Draw anew in each update."
        return "prompts of an update", "drawn from all", prompts, hint
    return None


def _of_arguments(update: dict[str, list[Any]]) -> Problem | None:
    """What compute_advantages is given must be what the others gave."""
    (batch,), (scores,), (kl,), (given,) = (update[name] for name in ("batch", "score", "kl", "given"))
    right = {"scores": scores, "kl": kl, "values": batch.values, "mask": batch.mask}
    name = next(iter(comparing.differing(right, given)), "")
    if not name:
        return None
    hints = {
        "scores": "They are those that score(episodes) gave: no other scale, and nothing taken off.",
        "kl": "It is what compute_kl gave: of each token, with its sign.",
        "values": "They are episodes.values, what was expected when the batch was written.",
        "mask": "It is episodes.mask: with another, padding is counted.",
    }
    drift_and_cost = [kl.sum(1), scores - given["scores"]]
    if name == "scores" and torch.corrcoef(torch.stack(drift_and_cost))[0, 1] > 0.999:
        hints["scores"] = "The KL is taken off the scores, and compute_advantages takes it off again: it costs twice."
    if name == "kl" and same(-kl, given["kl"]):
        hints["kl"] = "The sign of the KL is turned round on its way, so drift is paid."
    row = next(row for row in range(len(scores)) if not same(right[name][row], given[name][row]))
    return f"{name} of episode {row + 1}, given to compute_advantages", right[name][row], given[name][row], hints[name]


def _of_steps(update: dict[str, list[Any]]) -> Problem | None:
    steps, (batch,), ((advantages, returns),) = update.get("steps", []), update["batch"], update["advantages"]
    per_epoch = STEPS // int(CHANGES["num_epochs"])
    if len(steps) != STEPS:
        hint = "It is num_epochs x batch_size / minibatch_size steps."
        if any(len(episodes.ids) == len(batch.ids) for episodes, *_ in steps):
            hint += " Each is of the whole batch here: cut it into minibatches."
        elif len(steps) == per_epoch:
            hint += " So many has one epoch."
        return "optimizer steps of an update", STEPS, len(steps), hint
    orders = []
    for step, (episodes, step_advantages, step_returns) in enumerate(steps):
        rows = [_row_of(batch, episodes, advantages, step_advantages, place) for place in range(len(episodes.ids))]
        if UNKNOWN in rows:
            place = rows.index(UNKNOWN)
            hint = (
                "Advantages, returns and episodes of a minibatch must be those of the same rows, as they were written."
            )
            if not any(torch.equal(episodes.log_probs[place], one) for one in batch.log_probs):
                hint = "log_probs are not those of when the batch was written: the old policy is the one that wrote."
            elif any(torch.equal(step_advantages[place], one) for one in returns):
                hint = "These are the returns, which are for the value head: advantages go before them."
            elif not any(torch.equal(step_advantages[place], one) for one in advantages):
                hint = "The advantages are changed on their way: they are whitened once, over the whole batch."
            return (
                f"minibatch {step + 1}, episode {place + 1}",
                "an episode of the batch, with its advantages",
                "none",
                hint,
            )
        if not same(returns[rows], step_returns):
            is_advantages = same(advantages[rows], step_returns)
            hint = "These are the advantages." if is_advantages else "They are of other episodes."
            return f"returns of minibatch {step + 1}", returns[rows], step_returns, hint
        orders.append(rows)
    epochs = [[*itertools.chain(*orders[begin : begin + per_epoch])] for begin in range(0, STEPS, per_epoch)]
    everything = [_row_of(batch, batch, advantages, advantages, row) for row in range(len(batch.ids))]
    for number, epoch in enumerate(epochs):
        if sorted(epoch) != sorted(everything):
            hint = "An epoch goes over every episode once: shuffle, then cut into minibatches."
            return f"episodes of epoch {number + 1}", sorted(everything), sorted(epoch), hint
    if everything in epochs or epochs[0] == epochs[1] == epochs[2]:
        return "order of the epochs", "three different ones", epochs, "Shuffle the episodes anew in each epoch."
    return None


def _row_of(batch: Any, episodes: Any, advantages: Tensor, of_step: Tensor, place: int) -> int:
    """Which episode of the batch one of a minibatch is, with what it deserves: of several that are equal, the first."""
    for row in range(len(batch.ids)):
        pairs = ((batch.ids, episodes.ids), (batch.log_probs, episodes.log_probs), (advantages, of_step))
        if all(torch.equal(whole[row], part[place]) for whole, part in pairs):
            return row
    return UNKNOWN


def _of_weights(
    recorder: CallRecorder, policy: Any, reference: Any, before: Any, head: Any, knobs: Any
) -> Problem | None:
    if any(model is not policy for model in recorder.models):
        return "who writes", "the policy", "another model", "The batch is written by the policy that is trained."
    if any(update["reference"] != [reference] for update in recorder.updates):
        hint = "The KL is to the frozen reference. To the policy itself it is always 0."
        return "compute_kl is given", "the reference", "another model", hint
    if not _equal(reference, before):
        return "weights of the reference", "as they were", "changed", "The reference is never trained, nor written to."
    if any(one is not policy or two is not head for update in recorder.updates for one, two in update["trained"]):
        return "ppo_step is given", "the policy and its value head", "another model", "The policy is what is trained."
    optimizers = {id(one): one for update in recorder.updates for one in update["optimizer"]}
    if len(optimizers) != 1:
        hint = "Make it once, before the updates: a new one has forgotten its moments."
        return "optimizers", 1, len(optimizers), hint
    (optimizer,) = optimizers.values()
    rates = {id(weights): group["lr"] for group in optimizer.param_groups for weights in group["params"]}
    parts = {"policy": (policy, knobs.learning_rate), "value head": (head, knobs.value_learning_rate)}
    for name, (model, rate) in parts.items():
        missing = sum(id(weights) not in rates for weights in model.parameters())
        if missing:
            hint = f"The {name} is not in the optimizer, so it stays as it is."
            return f"weights of the {name} that are trained", "all", f"all but {missing}", hint
        found = {rates[id(weights)] for weights in model.parameters()}
        if not all(math.isclose(one, rate) for one in found):
            hint = "learning_rate is that of the policy, value_learning_rate that of the value head."
            return f"learning rate of the {name}", rate, sorted(found), hint
    if any(id(weights) in rates for weights in reference.parameters()):
        hint = "The reference is in the optimizer, and is never to be trained: leave it out."
        return "weights that are trained", "of policy and value head", "also of the reference", hint
    decays = [group.get("weight_decay") for group in optimizer.param_groups]
    if any(decays):
        hint = "AdamW shrinks every weight by 0.01 of the rate at each step unless it is told weight_decay=0."
        return "weight decay", 0, decays, hint
    epsilons = {group.get("eps") for group in optimizer.param_groups}
    if not isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW) or epsilons != {1e-5}:
        hint = "With PyTorch's eps of 1e-8 the first steps are as long as the rate allows, whatever the gradient."
        hint = "Another optimizer takes other steps at this rate." if epsilons == {None} else hint
        return (
            "optimizer",
            "AdamW with eps 1e-05",
            f"{type(optimizer).__name__} with eps {sorted(map(str, epsilons))}",
            hint,
        )
    return None


def _equal(one: Any, other: Any) -> bool:
    return all(torch.equal(first, second) for first, second in zip(one.parameters(), other.parameters(), strict=True))


def _of_history(recorder: CallRecorder, history: Any) -> Problem | None:
    wanted = [_means(update) for update in recorder.updates]
    if (
        not isinstance(history, list)
        or len(history) != len(wanted)
        or not all(isinstance(one, dict) for one in history)
    ):
        return "returned", "a list with a dict for each update", history, "Append a dict in each update."
    for number, (expected, got) in enumerate(zip(wanted, history, strict=True)):
        for name, value in expected.items():
            if not same(value, got.get(name)):
                hint = "score is the mean over episodes of what score gave, without the KL."
                if name == "kl":
                    hint = "kl is the mean over episodes of the sum over tokens: nats for each completion."
                elif name != "score":
                    hint = "It is the mean over all steps of the update, not their sum, nor that of the last minibatch."
                return f"{name} of update {number + 1}", value, got.get(name), hint
    return None


def _means(update: dict[str, list[Any]]) -> dict[str, float]:
    said = update["said"]
    means = {name: sum(one[name] for one in said) / len(said) for name in said[0]}
    return {"score": float(update["score"][0].mean()), "kl": float(update["kl"][0].sum(1).mean()), **means}

"""The fullest moments of a run with `engine: trl`: what TRL 1.12's own loop keeps alive, as memory.py tells ours.

Each term is a tensor of `trl.experimental.ppo.ppo_trainer` (named here) or of training/trl_engine.py. Beside the
second model for the value, which `memory.lasting` counts, the difference is logits: TRL keeps those of a whole batch
from one update to the next, and puts every token of prompt and completion through the LM head.
"""

from __future__ import annotations

from collections.abc import Sequence

from playground.config import RunConfig
from playground.config.engines import ROLLOUT_ROWS
from playground.setup.estimates.memory import (
    FP32,
    FULL,
    SCALE_SAMPLES,
    SMALL_MODEL,
    Form,
    Kind,
    Lengths,
    Moment,
    Part,
    Scorer,
    features,
    logits,
    passing,
    sampling,
    saved,
)
from playground.sources.architectures import Architecture

LEARNING_WHOLE = 3.0  # units of 4 bytes a logit of prompt and completion: the logits, their gradient and a copy of it
LEARNING_COMPLETION = 3.0  # the same of the completion: three steps of the gradient of the log-sum-exp


def moments(
    config: RunConfig, form: Form, model: Architecture, lengths: Lengths, scorers: Sequence[Scorer]
) -> list[Moment]:
    """Those at the start of a run, then those that come again in every update."""
    ppo, evaluation = config.ppo, config.evaluation
    at_once, micro = min(ppo.batch_size, ROLLOUT_ROWS), ppo.micro_batch_size
    first = SCALE_SAMPLES if model.parameters < SMALL_MODEL else min(SCALE_SAMPLES, ppo.batch_size)
    looked = evaluation.num_prompts * evaluation.samples_per_prompt
    kept = logits(model, "rollout", ppo.batch_size * lengths.completion, 1)  # `logitss`, until the next ones are there
    # `output.scores` of one generation and their stack, beside those of the generations before it
    written = logits(model, "rollout", (ppo.batch_size + at_once) * lengths.completion, 1)
    cache = next(part for part in sampling(model, form, at_once, lengths)[1] if part.kind == "KV cache")
    read = [
        logits(model, "reference", at_once * lengths.both, 1),  # `ref_output.logits`
        hidden_states(model, at_once, lengths),
        passing(model, form, at_once, lengths),
    ]
    policy = saved(model, form, micro, lengths)
    learning = [
        kept,
        *policy,
        *[part._replace(role="value") for part in policy],
        logits(model, "policy", micro * lengths.both, LEARNING_WHOLE),
        logits(model, "policy", micro * lengths.completion, LEARNING_COMPLETION),
    ]
    if ppo.minibatch_size > micro:  # `output` and `prob_dist` of the micro-batch before
        learning += [
            logits(model, "policy", micro * (lengths.both + lengths.completion), 1),
            hidden_states(model, micro, lengths)._replace(role="policy"),
        ]
    grown: tuple[Kind, ...] = ("gradients", "optimizer") if ppo.batch_size > micro else ("optimizer",)
    found = [
        *[Moment("measuring the reference", parts, ()) for parts in sampling(model, form, first, lengths)],
        *[
            Moment("answering the fixed prompts", [kept, *parts, *features(model, form, looked, lengths)])
            for parts in sampling(model, form, looked, lengths)
        ],
        Moment("sampling", [kept, written, cache]),
        Moment("comparing with the reference", [kept, *read]),
        Moment("learning", learning, grown),
        Moment("stepping", [kept, Part("policy", "gradients", model.embedding_parameters * FULL, 0)]),
    ]
    if scorers:
        reading = [passing(scorer.model, form, at_once, lengths, "reward") for scorer in scorers]
        found.append(Moment("scoring", [kept, max(reading, key=lambda part: part.size)]))
    return found


def hidden_states(model: Architecture, rows: int, lengths: Lengths) -> Part:
    """`output_hidden_states`: of every layer, all positions."""
    one = rows * lengths.both * model.hidden_size * FP32
    return Part("reference", "activations", (model.layers + 1) * one, one)

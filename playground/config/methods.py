"""The methods by which a model can learn from a reward: what each does, and which settings it reads.

Everything about `method` that can be known without loading a model. The page and the command line take from here what
a setting means under another method; the trainers are in `train/`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Name = Literal["ppo", "rloo", "grpo", "dpo", "best_of_n", "sft", "steer"]


class Method(NamedTuple):
    """One method.

    Attributes:
        label: its name for a person. sentence: what it does. ppo: what it sets in `ppo` where nothing else is asked
            for. unused: beginnings of the dotted fields that it does not read. by_trl: a trainer of TRL's, which cannot
            go on from a checkpoint. on_policy: reads texts of the policy as it is now, beside the reference.
            trains: changes weights.
    """

    label: str
    sentence: str
    ppo: dict[str, Any]
    unused: tuple[str, ...] = ()
    by_trl: bool = False
    on_policy: bool = True
    trains: bool = True


CRITIC = ("ppo.value_coef", "ppo.value_clip_range", "ppo.gamma", "ppo.gae_lambda", "model.critic")
CLIPPING = ("ppo.clip_range", "ppo.entropy_coef", "ppo.update_kl_stop", "ppo.baseline")
KL_PENALTY = ("kl.controller", "kl.target", "kl.horizon", "kl.estimator")
OPTIMIZER = tuple(
    "ppo.minibatch_size ppo.num_epochs ppo.learning_rate ppo.schedule ppo.warmup_updates ppo.max_grad_norm "
    "ppo.optimizer ppo.weight_decay model.gradient_checkpointing".split()
)

ALONE = ("dpo.", "steering.")  # each is read by one method

METHODS: dict[str, Method] = {
    "ppo": Method(
        "PPO",
        "The policy writes, its texts are scored, and it learns from how each compares with a baseline.",
        {"baseline": "value", "samples_per_prompt": 1},
        ALONE,
    ),
    "rloo": Method(
        "RLOO",
        "PPO's loop without a critic: each text is compared with the others of its prompt (leave one out).",
        {"baseline": "leave_one_out", "samples_per_prompt": 8},
        (*CRITIC, *ALONE),
    ),
    "grpo": Method(
        "GRPO",
        "The same with GRPO's normalisation, by mean and spread of a prompt's texts. The leash stays in the reward.",
        {"baseline": "group", "samples_per_prompt": 8},
        (*CRITIC, *ALONE),
    ),
    "dpo": Method(
        "DPO",
        "The start model writes pairs, the reward says which is better, and TRL's DPOTrainer learns from the pairs. "
        "Beta is the same leash.",
        {"samples_per_prompt": 2},
        (*CRITIC, *CLIPPING, *KL_PENALTY, "steering.", "engine"),
        by_trl=True,
        on_policy=False,
    ),
    "best_of_n": Method(
        "Best of n",
        "Nothing is trained: each prompt is answered n times (samples per prompt), and the best-scoring answer kept.",
        {"samples_per_prompt": 16},
        (*CRITIC, *CLIPPING, *KL_PENALTY, *OPTIMIZER, "kl.coef", *ALONE, "engine"),
        on_policy=False,
        trains=False,
    ),
    "sft": Method(
        "SFT",
        "The start model writes several texts for each prompt, and TRL's SFTTrainer imitates the best-scoring one. "
        "There is no leash.",
        {"samples_per_prompt": 8},
        (*CRITIC, *CLIPPING, *KL_PENALTY, "kl.coef", *ALONE, "engine"),
        by_trl=True,
        on_policy=False,
    ),
    "steer": Method(
        "Steering",
        "Nothing is trained: a vector is added to the residual stream while the model writes, the mean difference "
        "between better- and worse-scoring texts of a prompt. The updates turn the dial from 0 to the strength.",
        {"samples_per_prompt": 8},
        (*CRITIC, *CLIPPING, *KL_PENALTY, *OPTIMIZER, "kl.coef", "dpo.", "engine"),
        trains=False,
    ),
}


def unused(method: str, field: str) -> bool:
    """True for a dotted field that has no effect under a method."""
    return field.startswith(METHODS[method].unused or ("\0",))


def filled(method: Any, ppo: Any) -> Any:
    """The data of `ppo`, completed with what a method sets where the data says nothing."""
    known = METHODS.get(method) if isinstance(method, str) else None
    return {**known.ppo, **ppo} if known and isinstance(ppo, dict) else ppo


def chosen(method: Any) -> dict[str, Any]:
    """What a form shows in `ppo` once a method is chosen, by dotted field; empty for an unknown method."""
    known = METHODS.get(method) if isinstance(method, str) else None
    return {f"ppo.{name}": value for name, value in (METHODS["ppo"].ppo | known.ppo).items()} if known else {}


def contradiction(method: str, baseline: str, samples: int, minibatch_size: int) -> str:
    """Which setting of `ppo` the method cannot work with, as `field|what to do`; "" if all are fine."""
    wanted = METHODS[method].ppo.get("baseline")
    if method != "ppo" and wanted and baseline != wanted:
        return f"ppo.baseline|must be {wanted} with method {method} (got {baseline!r}); or set method to ppo"
    if method in ("dpo", "sft", "best_of_n", "steer") and samples < 2:
        return f"ppo.samples_per_prompt|must be at least 2 with method {method}, which compares texts of one prompt"
    if method == "dpo" and samples % 2:
        return f"ppo.samples_per_prompt|must be even with method dpo, which makes pairs of them: try {samples + 1}"
    if method in ("dpo", "sft") and minibatch_size % samples:
        return (
            f"ppo.minibatch_size|must be a multiple of samples_per_prompt ({samples}) with method {method}, which "
            f"learns from whole prompts: try {samples * max(1, round(minibatch_size / samples))}"
        )
    return ""

"""The methods by which a model can learn from a reward: what each does, and which settings it reads.

Everything about `method` that can be known without loading a model. The page and the command line take from here what
a setting means under another method; the trainers are in `train/`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Name = Literal[
    "ppo", "rloo", "grpo", "dr_grpo", "dapo", "gspo", "reinforce++", "distil", "dpo", "best_of_n", "sft", "steer"
]


class Method(NamedTuple):
    """One method.

    Attributes:
        label: its name for a person. sentence: what it does. ppo, kl: what it sets in `ppo` and `kl` where nothing else
            is asked for. unused: beginnings of the dotted fields that it does not read. by_trl: a trainer of TRL's,
            which cannot go on from a checkpoint. on_policy: reads texts of the policy as it is now, beside the
            reference. trains: changes weights.
    """

    label: str
    sentence: str
    ppo: dict[str, Any]
    unused: tuple[str, ...] = ()
    by_trl: bool = False
    on_policy: bool = True
    trains: bool = True
    kl: dict[str, Any] = {}  # noqa: RUF012 - nothing changes it

    @property
    def in_own_loop(self) -> bool:
        """True where this project's own loop writes, scores and learns in every update."""
        return self.on_policy and self.trains


CRITIC = ("ppo.value_coef", "ppo.value_clip_range", "ppo.gamma", "ppo.gae_lambda", "model.critic")
CLIPPING = tuple(
    "ppo.clip_range ppo.entropy_coef ppo.update_kl_stop ppo.baseline ppo.advantage_scale ppo.loss_mean ppo.ratio "
    "ppo.drop_alike_groups ppo.overlong ppo.staleness ppo.correction".split()
)
KL_PENALTY = ("kl.controller", "kl.target", "kl.horizon", "kl.estimator", "kl.where")
MOVES = ("reference.every",)
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
    "dr_grpo": Method(
        "Dr. GRPO",
        "GRPO without its two divisions: neither by the spread of a prompt's texts nor by the length of a text.",
        {"baseline": "group", "samples_per_prompt": 8, "advantage_scale": "none", "loss_mean": "constant"},
        (*CRITIC, *ALONE),
    ),
    "dapo": Method(
        "DAPO",
        "GRPO with a wider clip above than below, prompts left out whose texts score alike, and a price on texts near "
        "the longest length. As published it has no leash (beta 0).",
        {
            "baseline": "group",
            "samples_per_prompt": 8,
            "advantage_scale": "group",
            "clip_range_high": 0.28,
            "drop_alike_groups": True,
            "overlong": "penalise",
        },
        (*CRITIC, *ALONE),
    ),
    "gspo": Method(
        "GSPO",
        "GRPO with one ratio for a whole text, which is clipped as one.",
        {
            "baseline": "group",
            "samples_per_prompt": 8,
            "advantage_scale": "group",
            "loss_mean": "text",
            "ratio": "text",
        },
        (*CRITIC, *ALONE),
    ),
    "reinforce++": Method(
        "REINFORCE++",
        "PPO's loop without a critic and without groups: each token has what it and those after it are paid, scaled "
        "over the batch.",
        {"baseline": "none", "samples_per_prompt": 1},
        (*CRITIC, *ALONE),
    ),
    "distil": Method(
        "Distillation",
        "The reference is a teacher: on its own texts the policy learns to write as the reference would. Nothing is "
        "paid; rewards only watch.",
        {"baseline": "none", "samples_per_prompt": 1},
        (*CRITIC, *ALONE),
        kl={"where": "loss", "estimator": "full"},
    ),
    "dpo": Method(
        "DPO",
        "The start model writes pairs, the reward says which is better, and TRL's DPOTrainer learns from the pairs. "
        "Beta is the same leash.",
        {"samples_per_prompt": 2},
        (*CRITIC, *CLIPPING, *KL_PENALTY, *MOVES, "steering.", "engine"),
        by_trl=True,
        on_policy=False,
    ),
    "best_of_n": Method(
        "Best of n",
        "Nothing is trained: each prompt is answered n times (samples per prompt), and the best-scoring answer kept.",
        {"samples_per_prompt": 16},
        (*CRITIC, *CLIPPING, *KL_PENALTY, *MOVES, *OPTIMIZER, "kl.coef", *ALONE, "engine"),
        on_policy=False,
        trains=False,
    ),
    "sft": Method(
        "SFT",
        "The start model writes several texts for each prompt, and TRL's SFTTrainer imitates the best-scoring one. "
        "There is no leash.",
        {"samples_per_prompt": 8},
        (*CRITIC, *CLIPPING, *KL_PENALTY, *MOVES, "kl.coef", *ALONE, "engine"),
        by_trl=True,
        on_policy=False,
    ),
    "steer": Method(
        "Steering",
        "Nothing is trained: a vector is added to the residual stream while the model writes, the mean difference "
        "between better- and worse-scoring texts of a prompt. The updates turn the dial from 0 to the strength.",
        {"samples_per_prompt": 8},
        (*CRITIC, *CLIPPING, *KL_PENALTY, *MOVES, *OPTIMIZER, "kl.coef", "dpo.", "engine"),
        trains=False,
    ),
}


def unused(method: str, field: str) -> bool:
    """True for a dotted field that has no effect under a method."""
    return field.startswith(METHODS[method].unused or ("\0",))


ORDINARY: dict[str, Any] = {  # of each setting that a method sets, what it is under those that do not
    "ppo.baseline": "value",
    "ppo.samples_per_prompt": 1,
    "ppo.advantage_scale": "batch",
    "ppo.loss_mean": "token",
    "ppo.ratio": "token",
    "ppo.drop_alike_groups": False,
    "ppo.overlong": "keep",
    "ppo.clip_range_high": None,
    "kl.where": "reward",
    "kl.estimator": "k1",
}


def settings_of(method: Method) -> dict[str, Any]:
    """What a method sets, by dotted field."""
    sections = {"ppo": method.ppo, "kl": method.kl}
    return {f"{section}.{name}": value for section, values in sections.items() for name, value in values.items()}


def filled(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a configuration, completed with what its method sets where the data says nothing."""
    name = data.get("method")
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        return data
    completed = dict(data)
    for section, values in (("ppo", method.ppo), ("kl", method.kl)):
        given = data.get(section, {})
        if values and isinstance(given, dict):
            completed[section] = {**values, **given}
    return completed


def chosen(method: Any) -> dict[str, Any]:
    """What a form shows once a method is chosen, by dotted field; empty for an unknown method."""
    if not isinstance(method, str) or method not in METHODS:
        return {}
    return ORDINARY | settings_of(METHODS[method])


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

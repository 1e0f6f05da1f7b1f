"""The two PPO engines that a run can choose, in words and numbers: what TRL's needs, what it cannot do, how it differs.

Everything about `engine: trl` that can be known without loading it: is it there, which settings it cannot honour, its
settings for a configuration of ours. Imports neither torch nor trl, so that the page and the command line can ask too;
the one file that runs TRL is train/trl_ppo.py, and exports.py writes it down as a script.
"""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any, NamedTuple

from playground.config import RunConfig, flatten
from playground.errors import Problem

TRL_VERSION = "1.12"  # the last release with a PPOTrainer, and the one this adapter is written and tested for
NO_VALUE_CLIP = 1e9  # TRL's value clip has no off switch; a value never moves this far
ROLLOUT_ROWS = 64  # most prompts that TRL completes at once; its own default
OFFLINE = {"dpo": "DPOTrainer", "sft": "SFTTrainer"}
GROUPS = {"rloo": "RLOOTrainer", "grpo": "GRPOTrainer"}
ADAM_EPSILON = 1e-5  # as in OpenAI's and Ziegler's PPO, in every engine; PyTorch's 1e-8 makes the first steps too bold


class EngineDifference(NamedTuple):
    """One way in which TRL's PPO is not ours: what the page's help and docs/trl.md say, and the test that shows it."""

    title: str
    sentence: str
    shown_by: str


DIFFERENCES = (
    EngineDifference(
        "No gradient clipping",
        "`ppo.max_grad_norm` is read by nobody; one bad batch can throw the model off.",
        "test_gradients_are_never_clipped",
    ),
    EngineDifference(
        "Minibatches that are not minibatches",
        "TRL takes one optimizer step for each PPO epoch, however many minibatches a batch is cut into; with the "
        "default settings that is 2 steps an update where ours takes 6.",
        "test_minibatches_do_not_add_optimizer_steps",
    ),
    EngineDifference(
        "Statistics divided by the minibatches",
        "With n minibatches its log shows 1/n of the losses, the ratio, the clip fraction; here they are multiplied "
        "back.",
        "test_logged_statistics_are_divided_by_the_minibatches",
    ),
    EngineDifference(
        "The score lands one token late",
        "It is paid at the padding after the end-of-sequence token, a step that no policy takes and one value more "
        "has to predict.",
        "test_the_score_lands_one_token_behind_the_end",
    ),
    EngineDifference(
        "Whitening divides by n - 1",
        "Advantages are scaled by the sample variance, ours by the variance of the batch itself; they differ by a "
        "factor sqrt(1 - 1/n), n tokens.",
        "test_advantages_and_returns_agree",
    ),
    EngineDifference(
        "Loss depends on the micro-batch",
        "Each micro-batch is averaged over its own tokens, so a token in a short micro-batch weighs more; ours weigh "
        "the same however the batch is cut.",
        "test_the_gradient_depends_on_the_micro_batch",
    ),
    EngineDifference(
        "Extra optimizer steps at the end of the dataset",
        "In the update that uses up the dataset every micro-batch takes a step. The adapter hands TRL a dataset that "
        "is never used up.",
        "test_the_last_batch_of_a_dataset_takes_extra_optimizer_steps",
    ),
    EngineDifference(
        "Endless loop on few prompts",
        "With fewer prompts than a batch TRL's loader is empty and `train()` never returns. The adapter repeats the "
        "prompts.",
        "test_a_dataset_smaller_than_a_batch_gives_an_empty_loader",
    ),
    EngineDifference(
        "Cannot be stopped",
        "`control.should_training_stop` is never looked at. The adapter stops it by an exception between two passes "
        "through the model.",
        "test_a_request_to_stop_is_not_heard",
    ),
    EngineDifference(
        "Not seeded throughout",
        "The order of the micro-batches comes from NumPy's global generator, which TRL does not seed. The adapter "
        "does.",
        "test_the_order_of_the_micro_batches_is_not_seeded",
    ),
    EngineDifference(
        "Beta is fixed",
        "There is no adaptive KL controller since TRL 0.12; beta stays at `kl.coef`.",
        "test_there_is_no_adaptive_kl_and_no_resume",
    ),
    EngineDifference(
        "No resume",
        "`train()` takes no checkpoint, and the value model is not saved.",
        "test_there_is_no_adaptive_kl_and_no_resume",
    ),
    EngineDifference(
        "A separate value model",
        "The value comes from a second full model, trained along; ours is a linear head on the policy's own features.",
        "test_the_value_model_is_a_second_model",
    ),
    EngineDifference(
        "One learning rate",
        "TRL's value model learns at the policy's rate; our value head learns 30 times as fast, so that a linear map "
        "keeps up with the policy.",
        "test_the_value_learns_at_the_rate_of_the_policy",
    ),
    EngineDifference(
        "End of text untrained where padding is the end",
        "In a model whose padding token is its end-of-sequence token, the end is masked out of the loss and never "
        "learned.",
        "test_the_end_is_not_trained_where_padding_is_the_end",
    ),
    EngineDifference(
        "A sampled padding token ends the text",
        "TRL tells padding from text by the token's id; a policy that samples that token has, for TRL, stopped there.",
        "test_a_sampled_padding_token_counts_as_the_end",
    ),
)


def availability() -> str:
    """Why `engine: trl` cannot be used here, or "" if it can. Looks at the installed version only; imports nothing."""
    try:
        version = importlib.metadata.version("trl")
    except importlib.metadata.PackageNotFoundError:
        return f"TRL is not installed. For this engine: pip install trl=={TRL_VERSION}.0"
    if version.split(".")[:2] == TRL_VERSION.split("."):
        return ""
    why = "has no PPOTrainer any more" if _numbers(version) > _numbers(TRL_VERSION) else "is older than this adapter"
    return f"The installed TRL {version} {why}. For this engine: pip install trl=={TRL_VERSION}.0"


def unsupported(config: RunConfig) -> list[Problem]:
    """Settings that were asked for and that TRL has no way to honour; with one of these the run must not start."""
    asked = flatten(config)
    found = []

    def say(field: str, ordinary: Any, sentence: str) -> None:
        if asked.get(field, ordinary) != ordinary:
            instead = ", or engine to playground" if config.engine == "trl" else ""
            found.append(Problem(field, f"{name} {sentence} Set it to {_yaml(ordinary)}{instead}."))

    if config.method in OFFLINE:
        name = f"TRL's {OFFLINE[config.method]}"
        say("model.quantization", "none", "is run here on weights that are not quantized.")
        return found
    name = f"TRL's {GROUPS.get(config.method, 'PPO')}"
    say("model.adapter.kind", "none", "is run here with all weights trained.")
    say("model.quantization", "none", "is run here with all weights trained.")
    if config.model.precision == "bf16":
        say("model.precision", "fp32", "ignores bf16 with this version of transformers.")
    say("kl.controller", "fixed", "has no adaptive KL: beta stays where it starts.")
    say("ppo.entropy_coef", 0.0, "has no entropy bonus.")
    if config.method == "ppo":
        say("ppo.baseline", "value", "always has a value model.")
        say("ppo.samples_per_prompt", 1, "completes each prompt of a batch once.")
    say("ppo.update_kl_stop", None, "does not end an update early.")
    if config.sampling.in_training.top_k or config.sampling.in_training.top_p:
        say("sampling.train_on_cut", False, "always trains on samples of the full distribution.")
    if config.kl.estimator != "k3" or config.method != "ppo":
        say("kl.estimator", "k1", "knows k1 and k3 only.")
    return found


def notes(config: RunConfig) -> list[str]:
    """What TRL does otherwise with settings that every configuration has; to be recorded as warnings of the run."""
    ppo, found = config.ppo, []
    found.append(f"TRL does not clip gradients: ppo.max_grad_norm {ppo.max_grad_norm:g} has no effect.")
    if ppo.minibatch_size != ppo.batch_size:
        found.append(
            f"TRL takes one optimizer step for each PPO epoch ({ppo.num_epochs} an update) where ppo.minibatch_size "
            f"{ppo.minibatch_size} asks for {ppo.num_epochs * ppo.batch_size // ppo.minibatch_size}."
        )
    if ppo.value_clip_range is None:
        found.append(
            f"TRL's value clip is always on: an empty ppo.value_clip_range becomes {NO_VALUE_CLIP:g}, which no value "
            "ever reaches."
        )
    if config.model.critic == "shared":
        found.append("TRL trains a second full model as critic, whatever model.critic says: about twice the memory.")
    if ppo.warmup_updates:
        found.append(f"TRL's warm-up begins at 0: nothing is learned in update 1 of {ppo.warmup_updates}.")
    if config.kl.estimator == "k3":
        found.append("With kl.estimator k3 TRL does not tell the KL itself (k1); its chart stays empty.")
    return found


def trl_settings(config: RunConfig) -> dict[str, Any]:
    """Our configuration in the names of TRL's `PPOConfig`, complete but for the device and the output folder."""
    ppo, sampling = config.ppo, config.sampling
    return {
        # how much: the batch is TRL's per_device_train_batch_size x gradient_accumulation_steps
        "total_episodes": config.num_episodes,
        "per_device_train_batch_size": ppo.micro_batch_size,
        "gradient_accumulation_steps": ppo.batch_size // ppo.micro_batch_size,
        "num_mini_batches": ppo.batch_size // ppo.minibatch_size,
        "num_ppo_epochs": ppo.num_epochs,
        "local_rollout_forward_batch_size": min(ppo.batch_size, ROLLOUT_ROWS),
        # the algorithm
        "learning_rate": ppo.learning_rate,
        "lr_scheduler_type": ppo.schedule + "_with_warmup" * (ppo.schedule == "constant" and ppo.warmup_updates > 0),
        "warmup_steps": ppo.warmup_updates,
        "adam_epsilon": ADAM_EPSILON,
        "weight_decay": 0.0,
        "max_grad_norm": ppo.max_grad_norm,
        "cliprange": ppo.clip_range,
        "cliprange_value": NO_VALUE_CLIP if ppo.value_clip_range is None else ppo.value_clip_range,
        "vf_coef": ppo.value_coef,
        "gamma": ppo.gamma,
        "lam": ppo.gae_lambda,
        "whiten_rewards": False,
        "kl_coef": config.kl.coef,
        "kl_estimator": config.kl.estimator if config.kl.estimator == "k3" else "k1",
        # the completions
        "response_length": sampling.max_new_tokens,
        "temperature": sampling.temperature,
        "stop_token": "eos",
        "missing_eos_penalty": sampling.missing_eos_penalty or None,
        # around it
        "seed": config.seed,
        "bf16": False,
        "gradient_checkpointing": False,
        "num_sample_generations": 0,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
    }


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2] if part.isdigit()]


def _yaml(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)

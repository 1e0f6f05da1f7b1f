"""What can be known of `engine: trl` without loading it: is it installed, which settings it cannot honour, and what our
configuration is in its settings. docs/trl.md lists how it differs. Imports neither torch nor trl;
training/trl_ppo.py runs it.
"""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

from playground.config import PPOConfig, RunConfig, flatten, methods
from playground.errors import Problem

TRL_VERSION = "1.12"  # the last release with a PPOTrainer, and the one this adapter is written and tested for
NO_VALUE_CLIP = 1e9  # TRL's value clip has no off switch; a value never moves this far
ROLLOUT_ROWS = 64  # most prompts that TRL completes at once; its own default
OFFLINE = {"dpo": "DPOTrainer", "sft": "SFTTrainer"}
ADAM_EPSILON = 1e-5  # as in OpenAI's and Ziegler's PPO, in every engine; PyTorch's 1e-8 makes the first steps too bold


def availability() -> str:
    """Why `engine: trl` cannot be used here, or "" if it can. Looks at the installed version only; imports nothing."""
    try:
        version = importlib.metadata.version("trl")
    except importlib.metadata.PackageNotFoundError:
        return f"TRL is not installed. For this engine: pip install trl=={TRL_VERSION}.0"
    if version.split(".")[:2] == TRL_VERSION.split("."):
        return ""
    return f"The installed TRL {version} is not {TRL_VERSION}. For this engine: pip install trl=={TRL_VERSION}.0"


def unsupported(config: RunConfig) -> list[Problem]:
    """Settings that TRL cannot honour; a run with one of these must not start."""
    if config.engine == "trl" and config.method != "ppo" and methods.METHODS[config.method].in_own_loop:
        label = methods.METHODS[config.method].label
        sentence = f"trl computes no {label} here. Set it to playground, which does, or the method to ppo."
        return [Problem("engine", sentence)]
    asked = flatten(config)
    found = []

    def say(field: str, ordinary: Any, sentence: str) -> None:
        if asked.get(field, ordinary) != ordinary:
            instead = ", or engine to playground" if config.engine == "trl" else ""
            found.append(Problem(field, f"{name} {sentence} Set it to {_yaml(ordinary)}{instead}."))

    name = f"TRL's {OFFLINE.get(config.method, 'PPO')}"
    say("model.gradient_checkpointing", False, "runs here only without gradient checkpointing.")
    if config.ppo.optimizer == "adam" and config.ppo.weight_decay:
        say("ppo.optimizer", "adamw", "decays weights as AdamW does.")
    if config.method in OFFLINE:
        say("model.quantization", "none", "runs here only on weights that are not quantized.")
        return found
    say("model.adapter.kind", "none", "runs here only with all weights trained.")
    say("model.quantization", "none", "runs here only with all weights trained.")
    if config.model.precision == "bf16":
        say("model.precision", "fp32", "ignores bf16 with this version of transformers.")
    say("kl.controller", "fixed", "has no adaptive KL control: beta stays where it starts.")
    say("ppo.entropy_coef", 0.0, "has no entropy bonus.")
    if config.method == "ppo":
        say("ppo.baseline", "value", "always has a value model.")
        say("ppo.samples_per_prompt", 1, "completes each prompt of a batch once.")
    say("ppo.update_kl_stop", None, "does not stop an update early.")
    say("ppo.advantage_scale", "batch", "always scales advantages over the batch.")
    say("ppo.loss_mean", "token", "always takes the mean over tokens.")
    say("ppo.ratio", "token", "always takes the ratio of a token.")
    say("ppo.clip_range_high", None, "clips above as it clips below.")
    say("ppo.overlong", "keep", "does not treat texts that were cut off in another way.")
    say("ppo.staleness", 0, "always learns from texts of the newest policy.")
    say("kl.where", "reward", "always pays the KL in the reward.")
    if config.sampling.in_training.top_k or config.sampling.in_training.top_p:
        say("sampling.train_on_cut", False, "always trains on samples of the full distribution.")
    if config.kl.estimator != "k3" or config.method != "ppo":
        say("kl.estimator", "k1", "offers only k1 and k3.")
    return found


def notes(config: RunConfig) -> list[str]:
    """What TRL does differently with settings that every configuration has; recorded as warnings of the run."""
    ppo, found = config.ppo, []
    found.append(f"TRL does not clip gradients: ppo.max_grad_norm {ppo.max_grad_norm:g} has no effect.")
    if ppo.minibatch_size != ppo.batch_size:
        found.append(
            f"TRL takes one optimizer step per PPO epoch ({ppo.num_epochs} per update) where ppo.minibatch_size "
            f"{ppo.minibatch_size} asks for {ppo.num_epochs * ppo.batch_size // ppo.minibatch_size}."
        )
    if config.model.critic == "shared":
        found.append(
            "TRL trains a second full model as the critic, whatever model.critic says: about twice the memory."
        )
    if ppo.warmup_updates:
        found.append(f"TRL's warm-up starts at 0: nothing is learned in update 1 of {ppo.warmup_updates}.")
    return found


def trl_settings(config: RunConfig) -> dict[str, Any]:
    """Our configuration in the names of TRL's `PPOConfig`, complete but for the device and the output folder."""
    ppo, sampling = config.ppo, config.sampling
    return {
        # the batch is TRL's per_device_train_batch_size x gradient_accumulation_steps
        "total_episodes": config.num_episodes,
        "per_device_train_batch_size": ppo.micro_batch_size,
        "gradient_accumulation_steps": ppo.batch_size // ppo.micro_batch_size,
        "num_mini_batches": ppo.batch_size // ppo.minibatch_size,
        "num_ppo_epochs": ppo.num_epochs,
        "local_rollout_forward_batch_size": min(ppo.batch_size, ROLLOUT_ROWS),
        "learning_rate": ppo.learning_rate,
        "lr_scheduler_type": ppo.schedule + "_with_warmup" * (ppo.schedule == "constant" and ppo.warmup_updates > 0),
        "warmup_steps": ppo.warmup_updates,
        "adam_epsilon": ADAM_EPSILON,
        **optimizer(ppo),
        "max_grad_norm": ppo.max_grad_norm,
        "cliprange": ppo.clip_range,
        "cliprange_value": NO_VALUE_CLIP if ppo.value_clip_range is None else ppo.value_clip_range,
        "vf_coef": ppo.value_coef,
        "gamma": ppo.gamma,
        "lam": ppo.gae_lambda,
        "whiten_rewards": False,
        "kl_coef": config.kl.coef,
        "kl_estimator": config.kl.estimator if config.kl.estimator == "k3" else "k1",
        "response_length": sampling.max_new_tokens,
        "temperature": sampling.temperature,
        "stop_token": "eos",
        "missing_eos_penalty": sampling.missing_eos_penalty or None,
        "seed": config.seed,
        "bf16": False,
        "gradient_checkpointing": False,
        "num_sample_generations": 0,
        "save_strategy": "no",
        "report_to": list(config.trackers) or "none",
        "disable_tqdm": True,
    }


GRPO_MEANS = {"token": "dapo", "text": "grpo", "constant": "dr_grpo"}  # of the loss, in TRL's names
IN_GRPO = {"k3": False, "k3_corrected": True}  # estimators of TRL's GRPOTrainer: whether the bias is corrected


def grpo_settings(config: RunConfig) -> dict[str, Any]:
    """Our configuration in the names of TRL's `GRPOConfig`, complete but for the device and the output folder."""
    ppo, sampling = config.ppo, config.sampling
    whole = trl_settings(config)
    kept = "learning_rate lr_scheduler_type warmup_steps adam_epsilon weight_decay max_grad_norm temperature seed bf16"
    kept += " gradient_checkpointing save_strategy report_to disable_tqdm optim per_device_train_batch_size"
    return {name: whole[name] for name in kept.split() if name in whole} | {
        "gradient_accumulation_steps": ppo.minibatch_size // ppo.micro_batch_size,
        "steps_per_generation": ppo.batch_size // ppo.micro_batch_size,
        "max_steps": ppo.num_updates * ppo.num_epochs * (ppo.batch_size // ppo.minibatch_size),
        "num_iterations": ppo.num_epochs,
        "num_generations": ppo.samples_per_prompt,
        "max_completion_length": sampling.max_new_tokens,
        "beta": config.kl.coef,
        "use_bias_correction_kl": IN_GRPO.get(config.kl.estimator, True),
        "epsilon": ppo.clip_range,
        "epsilon_high": ppo.clip_range_high,
        "loss_type": GRPO_MEANS[ppo.loss_mean],
        "scale_rewards": "none" if ppo.advantage_scale == "none" else "group",
        "importance_sampling_level": "sequence" if ppo.ratio == "text" else "token",
        "mask_truncated_completions": ppo.overlong == "mask",
        "entropy_coef": ppo.entropy_coef,
        "disable_dropout": True,
        "logging_steps": 1,
    }


def grpo_notes(config: RunConfig) -> list[str]:
    """What TRL's GRPOTrainer does otherwise than a run with groups."""
    ppo, kl = config.ppo, config.kl
    found = []
    if kl.coef and kl.where == "reward":
        found.append("The leash was paid in the reward, token by token; TRL adds it to the loss, and there as k3.")
    elif kl.coef and kl.estimator not in IN_GRPO:
        found.append(f"The KL in the loss was {kl.estimator}; TRL has k3, with its bias corrected.")
    if kl.moves:
        found.append("Beta moved; in TRL it stays where it begins.")
    if ppo.advantage_scale == "batch":
        found.append("Advantages were also scaled over the batch; TRL divides them by the spread of their group only.")
    if ppo.advantage_scale != "none":
        found.append("TRL takes the spread of a group with n - 1, so advantages are a little smaller.")
    if ppo.drop_alike_groups:
        found.append("Prompts whose texts all scored alike were left out; in TRL they stay, with advantages of 0.")
    if ppo.loss_mean == "token" and ppo.minibatch_size != ppo.batch_size:
        found.append("TRL's mean over tokens divides by the tokens of an average minibatch.")
    if ppo.update_kl_stop:
        found.append("TRL does not end an update early (ppo.update_kl_stop).")
    if ppo.staleness:
        found.append("Texts were late (ppo.staleness); TRL's are of the policy as it is.")
    return found


def optimizer(ppo: PPOConfig) -> dict[str, Any]:
    """Which optimizer, in transformers' names; its own choice is AdamW."""
    if ppo.optimizer in ("adam", "adamw"):
        return {"weight_decay": ppo.weight_decay}
    return {"optim": ppo.optimizer, "weight_decay": ppo.weight_decay}


def _yaml(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)

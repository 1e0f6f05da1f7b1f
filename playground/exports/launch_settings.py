"""A run's hyperparameters under the argument names of OpenRLHF and verl, and what of it has no counterpart there.

The names are those that the packages of `VERSIONS` publish; a test compares them with lists of these. Knows nothing of
the files that carry them (`exports.launch_files`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from playground.config import RunConfig, methods
from playground.config.training_settings import KLConfig
from playground.runs.folder.records import ScoreScale
from playground.setup import telling

Engine = Literal["openrlhf", "verl"]
VERSIONS: dict[Engine, str] = {"openrlhf": "0.11.2", "verl": "0.9.1"}
TITLES: dict[Engine, str] = {"openrlhf": "OpenRLHF", "verl": "verl"}
MODEL = object()  # stands for the folder or the id of the run's model, which the script finds out where it runs
NO_CLIP = 1e9
ADAM_EPSILON = 1e-5
NO_LIMIT = "the run has no value clip; this is one that no value reaches"
_ESTIMATORS: dict[Engine, dict[str, str]] = {
    "openrlhf": {"value": "gae", "leave_one_out": "rloo", "group": "group_norm"},
    "verl": {"value": "gae", "leave_one_out": "rloo", "group": "grpo"},
}
_ROADS = ("ppo", "rloo", "grpo")


class Setting(NamedTuple):
    """One argument, and what a reader should know of it."""

    name: str
    value: Any
    remark: str = ""


def _remark(kl: KLConfig) -> str:
    """What moves beta there, where it is not what moves it here."""
    return "Ziegler's controller; the run's own looks ahead" if kl.controller == "adaptive" else ""


def openrlhf_settings(config: RunConfig) -> list[Setting]:
    """The arguments of `openrlhf.cli.train_ppo_ray`."""
    ppo, kl, sampling = config.ppo, config.kl, config.sampling
    prompts = ppo.batch_size // ppo.samples_per_prompt
    schedule = "constant_with_warmup" if ppo.schedule == "constant" and ppo.warmup_updates else ppo.schedule
    critic = "the run's critic was a head on the policy" if config.model.critic == "shared" else ""
    found = [
        Setting("actor.model_name_or_path", MODEL),
        Setting("data.prompt_dataset", "prompts.jsonl"),
        Setting("data.input_key", "prompt"),
        Setting("data.max_samples", ppo.num_updates * prompts, f"{ppo.num_updates} updates"),
        Setting("train.num_episodes", 1),
        Setting("rollout.batch_size", prompts, "prompts"),
        Setting("rollout.n_samples_per_prompt", ppo.samples_per_prompt),
        Setting("rollout.max_new_tokens", sampling.max_new_tokens),
        Setting("rollout.temperature", sampling.temperature),
        Setting("rollout.top_p", sampling.in_training.top_p or 1.0),
        Setting("train.batch_size", ppo.minibatch_size, "completions for an optimizer step"),
        Setting("train.micro_batch_size", ppo.micro_batch_size),
        Setting("train.max_epochs", ppo.num_epochs),
        Setting("train.seed", config.seed),
        Setting("algo.advantage.estimator", _ESTIMATORS["openrlhf"][ppo.baseline]),
        Setting("algo.kl.init_coef", kl.coef),
        Setting("algo.kl.estimator", kl.estimator if kl.estimator in ("k1", "k2", "k3") else "k1"),
        Setting("actor.eps_clip", ppo.clip_range),
        Setting("actor.entropy_coef", ppo.entropy_coef),
        Setting("reward.remote_url", "rewards.py"),
        Setting("ref.num_gpus_per_node", 1, "your machines"),
        Setting("vllm.num_engines", 1, "your machines"),
    ]
    for part in ("actor", "critic") if ppo.baseline == "value" else ("actor",):
        found += [
            Setting(f"{part}.adam.lr", ppo.learning_rate, critic if part == "critic" else ""),
            Setting(f"{part}.adam.betas", (0.9, 0.999)),
            Setting(f"{part}.adam.eps", ADAM_EPSILON),
            Setting(f"{part}.lr_scheduler", schedule),
            Setting(f"{part}.lr_warmup_ratio", ppo.warmup_updates / ppo.num_updates),
            Setting(f"{part}.max_norm", ppo.max_grad_norm),
            Setting(f"{part}.num_gpus_per_node", 1, "your machines"),
        ]
    if ppo.baseline == "value":
        found += [
            Setting("critic.value_clip", *((ppo.value_clip_range,) if ppo.value_clip_range else (NO_CLIP, NO_LIMIT))),
            Setting("algo.advantage.gamma", ppo.gamma),
            Setting("algo.advantage.lambd", ppo.gae_lambda),
        ]
    if kl.moves:
        found += [Setting("algo.kl.target", kl.target, _remark(kl)), Setting("algo.kl.horizon", kl.horizon)]
    if config.score.clip:
        found += [Setting("reward.clip_range", (-config.score.clip, config.score.clip))]
    if config.model.adapter.kind == "lora":
        found += [
            Setting("ds.lora.rank", config.model.adapter.r),
            Setting("ds.lora.alpha", round(config.model.adapter.alpha)),
        ]
        targets = config.model.adapter.target_modules
        found += [Setting("ds.lora.target_modules", targets)] if targets else []
    return found


def verl_settings(config: RunConfig) -> list[Setting]:
    """The overrides of `verl.trainer.main_ppo`."""
    ppo, kl, sampling = config.ppo, config.kl, config.sampling
    each = ppo.samples_per_prompt
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    found = [
        Setting("algorithm.adv_estimator", _ESTIMATORS["verl"][ppo.baseline]),
        Setting("algorithm.gamma", ppo.gamma),
        Setting("algorithm.lam", ppo.gae_lambda),
        Setting("algorithm.use_kl_in_reward", True),
        Setting("algorithm.kl_penalty", kl.estimator if kl.estimator in ("k2", "k3", "abs") else "kl"),
        Setting("algorithm.kl_ctrl.type", "adaptive" if kl.moves else "fixed", _remark(kl)),
        Setting("algorithm.kl_ctrl.kl_coef", kl.coef),
        Setting("data.train_files", "prompts.parquet"),
        Setting("data.val_files", "prompts.parquet", "verl wants some; the run's own were held out of its prompts"),
        Setting("data.train_batch_size", ppo.batch_size // each, "prompts"),
        Setting("data.max_response_length", sampling.max_new_tokens),
        Setting("data.seed", config.seed),
        Setting("actor_rollout_ref.model.path", MODEL),
        Setting(f"{actor}.optim.lr", ppo.learning_rate),
        Setting(f"{actor}.optim.weight_decay", 0.0),
        Setting(f"{actor}.optim.lr_warmup_steps", ppo.warmup_updates, "updates"),
        Setting(f"{actor}.optim.lr_scheduler_type", "constant"),
        Setting(f"{actor}.ppo_mini_batch_size", max(1, ppo.minibatch_size // each), "prompts"),
        Setting(f"{actor}.ppo_micro_batch_size_per_gpu", ppo.micro_batch_size),
        Setting(f"{actor}.ppo_epochs", ppo.num_epochs),
        Setting(f"{actor}.clip_ratio", ppo.clip_range),
        Setting(f"{actor}.clip_ratio_low", ppo.clip_range),
        Setting(f"{actor}.clip_ratio_high", ppo.clip_range),
        Setting(f"{actor}.entropy_coeff", ppo.entropy_coef),
        Setting(f"{actor}.grad_clip", ppo.max_grad_norm),
        Setting("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", ppo.micro_batch_size),
        Setting(f"{rollout}.name", "vllm"),
        Setting(f"{rollout}.n", each),
        Setting(f"{rollout}.temperature", sampling.temperature),
        Setting(f"{rollout}.top_p", sampling.in_training.top_p or 1.0),
        Setting(f"{rollout}.top_k", sampling.in_training.top_k or -1),
        Setting(f"{rollout}.tensor_model_parallel_size", 1, "your machines"),
        Setting(f"{rollout}.log_prob_micro_batch_size_per_gpu", ppo.micro_batch_size),
        Setting("reward.custom_reward_function.path", "rewards.py"),
        Setting("reward.custom_reward_function.name", "compute_score"),
        Setting("trainer.total_training_steps", ppo.num_updates, "updates"),
        Setting("trainer.total_epochs", ppo.num_updates, "more than enough: the steps end it"),
        Setting("trainer.nnodes", 1, "your machines"),
        Setting("trainer.n_gpus_per_node", 1, "your machines"),
        Setting("trainer.logger", ["console"]),
        Setting("trainer.project_name", "playground"),
        Setting("trainer.experiment_name", config.name),
    ]
    if ppo.baseline == "value":
        found += [
            Setting("critic.model.path", MODEL),
            Setting("critic.optim.lr", ppo.learning_rate),
            Setting("critic.optim.weight_decay", 0.0),
            Setting("critic.ppo_micro_batch_size_per_gpu", ppo.micro_batch_size),
            Setting("critic.grad_clip", ppo.max_grad_norm),
            Setting(
                "critic.cliprange_value", *((ppo.value_clip_range,) if ppo.value_clip_range else (NO_CLIP, NO_LIMIT))
            ),
        ]
    if kl.moves:
        found += [Setting("algorithm.kl_ctrl.target_kl", kl.target), Setting("algorithm.kl_ctrl.horizon", kl.horizon)]
    if config.model.adapter.kind == "lora":
        adapter = config.model.adapter
        found += [
            Setting("actor_rollout_ref.model.lora_rank", adapter.r),
            Setting("actor_rollout_ref.model.lora_alpha", round(adapter.alpha)),
        ]
        found += (
            [Setting("actor_rollout_ref.model.target_modules", list(adapter.target_modules))]
            if adapter.target_modules
            else []
        )
    return found


def not_carried(config: RunConfig, engine: Engine, scale: ScoreScale | None = None) -> list[str]:
    """What of a run these engines do otherwise, or not at all, in sentences."""
    ppo, sampling, name = config.ppo, config.sampling, TITLES[engine]
    found = [
        f"{name} samples with vLLM in bf16 and trains a critic of its own at full size, where it has one.",
        "The advantages are whitened over what each engine calls a batch, and gradients averaged as it does.",
    ]

    def say(true: bool, sentence: str) -> None:
        if true:
            found.append(sentence)

    if wrong := telling.wrong_on_purpose(config):
        found.insert(0, f"{wrong} That is of the run: {name} makes no such mistake.")
    label = methods.METHODS[config.method].label
    say(config.method not in _ROADS, f"The run took another road (method {config.method}, {label}); this does PPO.")
    say(config.model.quantization != "none", f"model.quantization {config.model.quantization} is not set.")
    say(
        config.reference.source != "start",
        f"The reference was {config.reference.source!r}; here it is the model itself.",
    )
    say(sampling.missing_eos_penalty > 0, f"sampling.missing_eos_penalty {sampling.missing_eos_penalty:g} is not paid.")
    say(ppo.update_kl_stop is not None, f"ppo.update_kl_stop {ppo.update_kl_stop} has no counterpart.")
    say(ppo.value_coef != 1, f"ppo.value_coef {ppo.value_coef:g} has no counterpart: the critic has its own optimizer.")
    say(
        scale is None and config.score.normalise != "none",
        "The run had not measured the scale of its score: set SCALE in rewards.py.",
    )
    if engine == "openrlhf":
        say(bool(sampling.in_training.top_k), f"sampling.top_k {sampling.in_training.top_k} has no argument.")
        say(config.kl.estimator in ("abs", "full"), f"kl.estimator {config.kl.estimator} becomes k1.")
    else:
        say(config.kl.estimator == "full", "kl.estimator full becomes k1, which verl calls kl.")
        say(ppo.schedule == "linear", "ppo.schedule linear: verl has constant and cosine; this is constant.")
        say(ppo.minibatch_size % ppo.samples_per_prompt > 0, "Minibatches hold whole prompts there: rounded down.")
        say(True, "Prompts are sent as a chat of one message: the model needs a chat template.")
    return found

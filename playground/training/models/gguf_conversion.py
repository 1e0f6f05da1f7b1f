"""From a GGUF file to a model folder: its weights in bf16, whatever they were in, its tokenizer and chat template.

`gguf_files` looks at the file first, here again; nothing in it is executed. The `gguf` package dequantises one tensor
at a time, transformers makes the tokenizer. Runs in the model service, which `runs.conversion` asks.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from playground.errors import ModelNotFound
from playground.models import gguf_files
from playground.models.gguf_files import EPSILON, ROPE_BASE, GgufFile, GgufTensor
from playground.models.weight_files import SINGLE
from playground.setup import catalog
from playground.training.models import loading, time_limit
from playground.training.models.checkpoint_files import is_finite

NAMES = {  # of llama.cpp -> of transformers
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
PROBE = "It's 2024, isn't it?\n\n  I've paid 1,234.50 for\ttwo cafés; NASA's 3rd one!"  # where rules for words differ
LAYER = re.compile(r"blk\.(\d+)\.")
TOKENS = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
COPIES = 4  # of the file, as it is mapped into memory while its tokenizer is read
TOLD_EVERY = 20  # tensors


def answer(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The model service's question "convert": file, to (an empty folder). Answers {done}, the share of the tensors, and
    at last {sha256}: see `convert`. Raises: ModelNotFound."""
    yield from convert(Path(question["file"]), Path(question["to"]))


def convert(file: Path, target: Path) -> Iterator[dict[str, Any]]:
    """Write the model folder. Yields {done: share} on the way and at last {sha256}, of the names, shapes and bytes of
    all tensors in the order of their names. Raises: ModelNotFound, the file cannot be converted; OSError."""
    loading.hush()
    found = gguf_files.check(file)
    probed = _write_tokenizer(file, found, target)
    weights: dict[str, Tensor] = {}
    for number, (name, tensor) in enumerate(found.tensors.items()):
        if number % TOLD_EVERY == 0:
            yield {"done": number / len(found.tensors)}
        weights[_name_of(name)] = _weight(file, name, tensor, found)
    save_file(weights, target / SINGLE, metadata={"format": "pt"})
    _write_config(found, target)
    made = catalog.files(target).architecture
    tokenizer = loading.read_tokenizer(target)
    if len(tokenizer) > made.vocabulary:
        raise ModelNotFound(f"{file} cannot be converted: its tokenizer has more tokens than its model.")
    if _begins_texts(found) and probed[0] != tokenizer.bos_token_id:  # so does transformers 5.17
        raise ModelNotFound(
            f"{file} cannot be converted: transformers {version('transformers')} reads its tokenizer without the token "
            "that begins its texts. Use a newer one."
        )
    if tokenizer.encode(PROBE) != probed:
        raise ModelNotFound(f"{file} cannot be converted: transformers reads its tokenizer in two ways.")
    yield {"sha256": digest(weights)}


def _begins_texts(found: GgufFile) -> bool:
    """Whether a special token begins every text: with sentencepiece, unless the file says otherwise."""
    fields = found.fields
    return fields.get("tokenizer.ggml.model") == "llama" and bool(fields.get("tokenizer.ggml.add_bos_token", True))


def digest(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, shapes and bytes of tensors, in the order of their names."""
    hashed = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        hashed.update(f"{name} {list(weight.shape)}\n".encode())
        hashed.update(weight.contiguous().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()


def _name_of(name: str) -> str:
    stem, _, kind = LAYER.sub("", name).rpartition(".")
    layer = LAYER.match(name)
    return f"{f'model.layers.{layer[1]}.' if layer else ''}{NAMES[stem]}.{kind}"


def _weight(file: Path, name: str, tensor: GgufTensor, found: GgufFile) -> Tensor:
    from gguf import GGMLQuantizationType, dequantize, quant_shape_to_byte_shape

    kind = GGMLQuantizationType(tensor.kind)
    raw = np.fromfile(file, dtype=np.uint8, count=tensor.length, offset=tensor.begin)
    values = dequantize(raw.reshape(quant_shape_to_byte_shape(tensor.shape, kind)), kind)
    weight = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).reshape(tensor.shape)
    if not is_finite(weight):
        raise ModelNotFound(f"{file} cannot be converted: its tensor `{name}` has values that are no numbers.")
    model = found.architecture
    heads = {"attn_q": model.heads, "attn_k": model.kv_heads}.get(LAYER.sub("", name).removesuffix(".weight"))
    if heads and model.model_type == "llama":  # llama.cpp has the two halves of each head in turns
        weight = weight.reshape(heads, -1, 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)
    return weight.to(torch.bfloat16).contiguous()


def _write_config(found: GgufFile, target: Path) -> None:
    from transformers import AutoConfig, GenerationConfig

    model, fields = found.architecture, found.fields
    tokens = {name: fields.get(f"tokenizer.ggml.{long}_token_id") for name, long in TOKENS.items()}
    config = AutoConfig.for_model(
        model.model_type,
        architectures=[f"{model.model_type.capitalize()}ForCausalLM"],
        hidden_size=model.hidden_size,
        num_hidden_layers=model.layers,
        num_attention_heads=model.heads,
        num_key_value_heads=model.kv_heads,
        head_dim=model.head_size,
        intermediate_size=model.intermediate_size,
        vocab_size=model.vocabulary,
        max_position_embeddings=model.context_length,
        rms_norm_eps=fields[f"{model.model_type}.{EPSILON}"],
        rope_parameters={
            "rope_type": "default",
            "rope_theta": fields.get(f"{model.model_type}.{ROPE_BASE}", 10_000.0),
        },
        tie_word_embeddings=model.tied,
        dtype="bfloat16",
        **tokens,
    )
    config.save_pretrained(target)
    GenerationConfig(**{name: token for name, token in tokens.items() if token is not None}).save_pretrained(target)


def _write_tokenizer(file: Path, found: GgufFile, target: Path) -> list[int]:
    """Read it from a folder in which nothing else lies: transformers would look for more beside the file. Returns what
    it makes of PROBE."""
    from transformers import PreTrainedTokenizerFast

    alone = target / ".source"
    alone.mkdir()
    link = alone / "model.gguf"
    try:
        link.symlink_to(file.resolve())
        mapped = COPIES * file.stat().st_size
        with time_limit.limited(f"Cannot read the tokenizer in {file}", mapped_bytes=mapped):
            tokenizer = PreTrainedTokenizerFast.from_pretrained(
                alone,
                gguf_file=link.name,
                model_max_length=found.architecture.context_length,
                local_files_only=True,
                trust_remote_code=False,
            )
            for name, long in TOKENS.items():  # transformers 5.17 makes the first the last too
                if (number := found.fields.get(f"tokenizer.ggml.{long}_token_id")) is not None:
                    setattr(tokenizer, name.removesuffix("_id"), tokenizer.convert_ids_to_tokens(number))
            tokenizer.encode(time_limit.PROBE)
            probed = list(tokenizer.encode(PROBE))
        for name in ("is_local", "local_files_only", "name_or_path"):  # of this machine, not of the tokenizer
            tokenizer.init_kwargs.pop(name, None)
        tokenizer.save_pretrained(target)
        return probed
    finally:
        link.unlink(missing_ok=True)
        os.rmdir(alone)

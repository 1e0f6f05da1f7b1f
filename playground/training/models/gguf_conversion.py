"""From a GGUF file to a model folder: its weights in bf16, whatever they were in, its tokenizer and chat template.

transformers reads all of it, in the process of the model service. What is looked at here is what it believes or loses
without a word: the counts of the header, settings that it does not know, tensors that it leaves out or fills up with
random numbers. Nothing in a file is executed. `runs.conversion` asks.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from playground.errors import ModelNotFound
from playground.models.architectures import GGUF_TYPES
from playground.models.weight_files import SINGLE
from playground.setup import catalog
from playground.training.models import loading, time_limit
from playground.training.models.checkpoint_files import is_finite

PROBE = "It's 2024, isn't it?\n\n  I've paid 1,234.50 for\ttwo cafés; NASA's 3rd one!"  # where rules for words differ
COPIES = 2  # of the file, as it is mapped into memory while its header and tokenizer are read
MOST = {"settings": 1_000, "tensors": 10_000, "entries of lists": 1_000_000}  # each takes a kilobyte and more
DAMAGED = "{} cannot be converted: it is damaged or not supported, get it again or choose another file"
EPSILON = "attention.layer_norm_rms_epsilon"
MEASURES = {
    "block_count": 500,
    "context_length": 10**7,
    "embedding_length": 10**6,
    "feed_forward_length": 10**7,
    "attention.head_count": 10**5,
    "attention.head_count_kv": 10**5,
    EPSILON: 1,
    "rope.freq_base": 10**9,
}  # of an architecture -> the most that makes sense
OPTIONAL = {"attention.head_count_kv": 1, "rope.freq_base": 1}
HEAD_SIZES = ("attention.key_length", "attention.value_length", "rope.dimension_count")
SETTINGS = {*MEASURES, *HEAD_SIZES, "tensor_data_layout", "vocab_size"}  # of an architecture, which are not lost
NOTHING = (0, "", "none")  # values of others that can be left out
TOKENS, SPECIAL_TOKENS = "tokenizer.ggml.tokens", ("bos", "eos", "unknown", "padding")


def answer(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The model service's question "convert": file, to (an empty folder). Answers {sha256}: see `convert`."""
    yield {"sha256": convert(Path(question["file"]), Path(question["to"]))}


def convert(file: Path, target: Path) -> str:
    """Write the model folder. Returns the `digest` of its tensors. Raises: ModelNotFound, the file cannot be converted;
    OSError."""
    from transformers import GenerationConfig

    loading.hush()
    with tempfile.TemporaryDirectory(dir=target) as alone:  # transformers would look for more beside the file
        link = Path(alone) / "model.gguf"
        link.symlink_to(file.resolve())
        config = _read_config(file)
        probed = _write_tokenizer(file, link, target, config.max_position_embeddings)
        weights = _read_weights(file, link, config)
    save_file(weights, target / SINGLE, metadata={"format": "pt"})
    config.save_pretrained(target)
    GenerationConfig.from_model_config(config).save_pretrained(target)
    catalog.files(target)
    if loading.read_tokenizer(target).encode(PROBE) != probed:
        raise _unusable(file, "transformers reads its tokenizer in two ways")
    return digest(weights)


def digest(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, shapes and bytes of tensors, in the order of their names."""
    hashed = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        hashed.update(f"{name} {list(weight.shape)}\n".encode())
        hashed.update(weight.contiguous().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()


def _read_config(file: Path) -> Any:
    """The configuration of the model in a file, if the file holds just such a model."""
    from transformers import AutoModelForCausalLM
    from transformers.integrations.gguf import reader

    with _limited(file):
        mapped = reader._mapped(str(file))  # its `GgufHeader` does the same, and knows neither Q5_0 nor Q5_1
        names, *_ = reader._read_metadata(mapped, str(file))
        fields, num_tensors, at = reader._read_metadata(mapped, str(file), string_arrays=names)
        table, at = reader._read_tensor_table(mapped, num_tensors, at)
        entries = sum(len(value) for value in fields.values() if isinstance(value, list))
        for name, count in {"settings": len(fields), "tensors": num_tensors, "entries of lists": entries}.items():
            if count > MOST[name]:
                raise _unusable(file, f"it has {count:,} {name}, and at most {MOST[name]:,} are read")
        _check_offsets(file, table, at, fields.get("general.alignment", 32))
        kind = str(fields["general.architecture"])
        own = {name.removeprefix(f"{kind}."): fields[name] for name in fields if name.startswith(f"{kind}.")}
        own.setdefault("vocab_size", len(fields[TOKENS]))
        _check_settings(file, kind, own)
        _check_tokens(file, fields, own["vocab_size"])
        config = _config_of(kind, own, fields, tied="output.weight" not in {name for name, *_ in table})
        with torch.device("meta"):
            skeleton = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    described = sum(weight.numel() for weight in skeleton.parameters())
    count = sum(math.prod(shape) for _, shape, *_ in table)
    if described != count:
        sizes = f"its settings describe {described:,} weights, and it holds {count:,}"
        raise _unusable(file, f"{sizes}: they do not belong together; get the file again")
    return config


def _config_of(kind: str, own: Mapping[str, Any], fields: Mapping[str, Any], *, tied: bool) -> Any:
    """As transformers makes it of the settings, and with the size of the heads, which it leaves out for some."""
    from transformers import AutoConfig
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING

    measures = {ours: own[name] for name, ours in GGUF_CONFIG_MAPPING[kind].items() if ours and name in own}
    each = own["embedding_length"] // own["attention.head_count"]
    measures["head_dim"] = own.get("attention.key_length", own.get("rope.dimension_count", each))
    return AutoConfig.for_model(
        kind,
        architectures=[f"{kind.capitalize()}ForCausalLM"],
        tie_word_embeddings=tied,
        dtype="bfloat16",
        bos_token_id=fields.get("tokenizer.ggml.bos_token_id"),
        eos_token_id=fields.get("tokenizer.ggml.eos_token_id"),
        pad_token_id=fields.get("tokenizer.ggml.padding_token_id"),
        **measures,
    )


def _check_settings(file: Path, kind: str, own: Mapping[str, Any]) -> None:
    """Are they of an architecture that can be converted, of sizes that make sense, and none that would be lost?"""
    if kind not in GGUF_TYPES:
        types = ", ".join(GGUF_TYPES)
        raise _unusable(file, f"its architecture is `{str(kind)[:40]}`; choose a model of one of {types}")
    for name, value in own.items():
        if name not in SETTINGS and value not in NOTHING:
            problem = f"it has {kind}.{name[:60]}: {str(value)[:40]}, which would be lost"
            raise _unusable(file, f"{problem}; choose a plain {kind} model")
    if EPSILON not in own:  # a llama's is 1e-6 or 1e-5, and nothing else in a file tells which
        raise _unusable(file, f"it lacks {kind}.{EPSILON}, without which its answers would differ; get another file")
    for name, most in MEASURES.items():
        value = own.get(name, OPTIONAL.get(name))
        if not isinstance(value, int | float) or not 0 < value <= most:
            raise _unusable(file, f"it has {kind}.{name}: {str(value)[:40]}, which makes no sense; get the file again")
    if len({own[name] for name in HEAD_SIZES if name in own}) > 1:
        raise _unusable(file, f"its {' and '.join(HEAD_SIZES)} differ, which would be lost; choose another file")


def _check_tokens(file: Path, fields: Mapping[str, Any], rows: int) -> None:
    tokens = len(fields[TOKENS])
    if tokens > rows:
        raise _unusable(file, f"its tokenizer has {tokens:,} tokens, more than the {rows:,} of the model")
    for name in SPECIAL_TOKENS:
        token = fields.get(f"tokenizer.ggml.{name}_token_id", 0)
        if not 0 <= token < tokens:
            raise _unusable(file, f"its {name} token is number {token} of {tokens:,}; get the file again")


def _check_offsets(file: Path, table: list[tuple[str, tuple[int, ...], int, int]], at: int, alignment: int) -> None:
    """Do the tensors (name, shape, type, offset) follow one another to the end of the file? One offset for many would
    make much of a small file."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    end = 0
    for name, shape, kind, begin in sorted(table, key=lambda tensor: tensor[3]):
        if not end <= begin < end + alignment:
            where = f"its tensor `{name[:60]}` does not lie where the one before it ends"
            raise _unusable(file, f"{where}; get the file again")
        block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
        end = begin + math.prod(shape) // block * block_bytes
    size = file.stat().st_size - math.ceil(at / alignment) * alignment
    if end > size:
        raise _unusable(file, f"it is cut off: its tensors need {end:,} bytes and have {size:,}; get the file again")


def _write_tokenizer(file: Path, link: Path, target: Path, most_tokens: int) -> list[int]:
    """Returns what it makes of PROBE."""
    from transformers import PreTrainedTokenizerFast

    with _limited(file):
        tokenizer = PreTrainedTokenizerFast.from_pretrained(
            link.parent,
            gguf_file=link.name,
            model_max_length=most_tokens,
            local_files_only=True,
            trust_remote_code=False,
        )
        tokenizer.encode(time_limit.PROBE)
        probed = list(tokenizer.encode(PROBE))
    for name in ("is_local", "local_files_only", "name_or_path"):  # of this machine, not of the tokenizer
        tokenizer.init_kwargs.pop(name, None)
    tokenizer.save_pretrained(target)
    return probed


def _read_weights(file: Path, link: Path, config: Any) -> dict[str, Tensor]:
    """By their names in transformers. They are as many as the file holds, so memory needs no other limit."""
    from transformers import AutoModelForCausalLM, GgufConfig

    with time_limit.in_one_sentence(DAMAGED.format(file)):
        made: Any = AutoModelForCausalLM.from_pretrained(
            link.parent,
            config=config,
            gguf_file=link.name,
            quantization_config=GgufConfig(dequantize=True),  # else kernels would be asked of the hub
            dtype=torch.bfloat16,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # they are told of instead
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    model, info = made
    if random := sorted([*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])]):
        raise _unusable(file, f"it lacks the tensor `{random[0]}`, or has it in another shape; get the file again")
    weights = {name: weight.contiguous() for name, weight in model.state_dict().items()}
    if config.tie_word_embeddings:
        del weights["lm_head.weight"]
    for name, weight in weights.items():
        if not is_finite(weight):
            raise _unusable(file, f"its tensor `{name}` has values that are no numbers")
    return weights


def _limited(file: Path) -> AbstractContextManager[None]:
    return time_limit.limited(DAMAGED.format(file), mapped_bytes=COPIES * file.stat().st_size)


def _unusable(file: Path, why: str) -> ModelNotFound:
    return ModelNotFound(f"{file} cannot be converted: {why}.")

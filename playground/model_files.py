"""A model folder, read without loading it: is it one that can be loaded safely, and what are its measures?

`inspect` is the gate before transformers sees a folder: plain configuration of a known architecture, weights in
safetensors whose headers add up, a tokenizer, no code of its own. Knows JSON and the safetensors header; no torch.
`catalog` calls it, for the page on every edit of the form, so what it found is kept until a file of the folder changes.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playground.errors import ModelNotFound

Use = Literal["policy", "reward"]

# model_type -> what is so where config.json does not say: are input and output embeddings one matrix?
CAUSAL_TYPES = {
    "gpt2": True, "opt": True, "gpt_neo": True, "gpt_neox": False, "llama": False, "mistral": False, "qwen2": False,
    "qwen3": False, "gemma": True, "gemma2": True, "gemma3_text": True, "phi": False, "smollm3": True,
}  # fmt: skip
ENCODER_TYPES = ("bert", "roberta", "xlm-roberta", "distilbert", "deberta-v2", "modernbert", "electra", "albert")
GATED_MLP = {"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "smollm3", "modernbert"}
TOKENIZER_FORMS = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.txt",),
)
MOST_JSON_BYTES = 10_000_000
MOST_HEADER_BYTES = 10_000_000
DTYPE_BYTES = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "F8_E4M3": 1,
    "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip
NUMBERS = {  # our name -> the names that architectures give it, in the order in which they are tried
    "hidden_size": ("hidden_size", "n_embd", "dim", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
    "vocabulary": ("vocab_size",),
}
CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx")
INTERMEDIATE_NAMES = ("intermediate_size", "ffn_dim", "n_inner", "hidden_dim")


@dataclass(frozen=True)
class Architecture:
    """The measures of a model that decide about memory and time.

    `parameters` counts a shared embedding once. `gated` means a feed-forward with three matrices instead of two.
    """

    model_type: str
    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate_size: int
    vocabulary: int
    context_length: int
    tied: bool
    parameters: int

    @property
    def gated(self) -> bool:
        """Three matrices in the feed-forward part (gate, up, down) instead of two."""
        return self.model_type in GATED_MLP

    @property
    def attention_parameters(self) -> int:
        """Weights of the query, key, value and output matrices of one layer."""
        return 2 * self.hidden_size * self.head_size * (self.heads + self.kv_heads)

    @property
    def mlp_parameters(self) -> int:
        """Weights of the feed-forward matrices of one layer."""
        return (3 if self.gated else 2) * self.hidden_size * self.intermediate_size

    @property
    def linear_parameters(self) -> int:
        """Weights of all matrices inside the layers: what quantization shrinks and what a token is multiplied with."""
        return self.layers * (self.attention_parameters + self.mlp_parameters)

    @property
    def embedding_parameters(self) -> int:
        """Weights of one embedding matrix, which is also the size of the LM head."""
        return self.vocabulary * self.hidden_size


@dataclass(frozen=True)
class ModelFiles:
    """What a model folder holds, as its files say."""

    folder: Path
    architecture: Architecture
    weight_bytes: int
    dtype: str  # the one that most weights are stored in, as safetensors names it
    architectures: tuple[str, ...]
    num_labels: int | None  # of a classifier or reward model
    chat_template: bool


_known: dict[tuple[str, Use], tuple[tuple[Any, ...], ModelFiles | ModelNotFound]] = {}


def inspect(folder: Path, use: Use = "policy") -> ModelFiles:
    """Check a model folder and read its measures; cheap when nothing in it has changed since the last time.

    Args:
        use: a `policy` must be a causal language model; a `reward` may be an encoder as well.

    Raises:
        ModelNotFound: one sentence that names folder and file and says what to do.
    """
    signature, key = _signature(folder), (str(folder), use)
    if key not in _known or _known[key][0] != signature:
        try:
            found: ModelFiles | ModelNotFound = _inspect(folder, use)
        except ModelNotFound as error:
            found = error
        _known[key] = (signature, found)
    answer = _known[key][1]
    if isinstance(answer, ModelNotFound):
        raise ModelNotFound(str(answer))
    return answer


def architecture(config: Mapping[str, Any], parameters: int, where: str = "config.json") -> Architecture:
    """The measures that a configuration names, under whatever names its family uses.

    Args:
        parameters: how many weights there are; a configuration alone does not say. where: for error messages.

    Raises:
        ModelNotFound: if a measure is missing or makes no sense.
    """
    kind = str(config.get("model_type"))
    numbers = {name: _number(config, names, where) for name, names in NUMBERS.items()}
    hidden, heads = numbers["hidden_size"], numbers["heads"]
    grouped = kind not in ("gpt2", "opt", "gpt_neo", "gpt_neox", *ENCODER_TYPES)
    return Architecture(
        model_type=kind,
        kv_heads=_number(config, ("num_key_value_heads",), where, heads) if grouped else heads,
        head_size=_number(config, ("head_dim",), where, max(1, hidden // heads)),
        intermediate_size=_number(config, INTERMEDIATE_NAMES, where, 4 * hidden),
        context_length=_number(config, CONTEXT_NAMES, where, 1024),
        tied=bool(config.get("tie_word_embeddings", CAUSAL_TYPES.get(kind, True))),
        parameters=parameters,
        **numbers,
    )


def check_config(config: Mapping[str, Any], where: str, use: Use) -> None:
    """Refuse what must not reach transformers: unknown architectures, code, choices of kernels, quantized weights.

    Raises:
        ModelNotFound: with the reason.
    """
    for name, value in _entries(config):
        if name == "auto_map":
            raise ModelNotFound(
                f"{where} asks for code of its own (auto_map), which is never run here: choose a model that the "
                "transformers library knows by itself."
            )
        if name.lstrip("_").startswith("attn_implementation") and not isinstance(value, (bool, type(None))):
            raise ModelNotFound(f"{where} chooses its own attention code ({name}): remove that line from the file.")
    if config.get("quantization_config") is not None:
        raise ModelNotFound(
            f"{where} says that the weights are quantized already: choose the original model and set the quantization "
            "here."
        )
    kind = config.get("model_type")
    allowed = tuple(CAUSAL_TYPES) if use == "policy" else (*CAUSAL_TYPES, *ENCODER_TYPES)
    if kind in ENCODER_TYPES and use == "policy":
        raise ModelNotFound(
            f"{where} describes a `{kind}`, which cannot write text: choose a causal language model such as gpt2."
        )
    if not isinstance(kind, str) or kind not in allowed:
        raise ModelNotFound(
            f"{where} describes an architecture that is not supported (`{str(kind)[:40]}`): choose one of "
            f"{', '.join(allowed)}."
        )


def read_json(path: Path) -> dict[str, Any]:
    """One JSON object from a file of sane size.

    Raises:
        ModelNotFound: with the name of the file and the reason.
    """
    try:
        if path.stat().st_size > MOST_JSON_BYTES:
            raise ModelNotFound(f"The file {path} is larger than {MOST_JSON_BYTES // 1_000_000} MB: get it again.")
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelNotFound(f"The file {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ModelNotFound(f"The file {path} is not valid JSON: get it again.") from None
    if not isinstance(value, dict):
        raise ModelNotFound(f"The file {path} is not a JSON object: get it again.")
    return value


def shards(folder: Path) -> list[Path]:
    """The files that hold the weights.

    Raises:
        ModelNotFound: if there are none, or the index names one that is not there.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        places = read_json(index).get("weight_map")
        names = sorted(set(places.values())) if isinstance(places, dict) and places else []
        if not names or not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise ModelNotFound(f"The index {index} does not say which file holds which weight: get it again.")
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise ModelNotFound(
                f"The folder {folder} lacks {len(missing)} of the {len(names)} weight files of its index, the first "
                f"is {missing[0]}: copy or download it again."
            )
        return [folder / name for name in names]
    found = [path for path in sorted(folder.glob("*.safetensors")) if path.name != "value_head.safetensors"]
    if found:
        return found
    if list(folder.glob("*.bin")) or list(folder.glob("*.pt")):
        raise ModelNotFound(
            f"The folder {folder} has its weights in a pickle file only, which can run code when it is opened: convert "
            "it on a machine you trust with transformers' `AutoModelForCausalLM.from_pretrained(...)` and "
            "`.save_pretrained(...)`, which writes model.safetensors."
        )
    raise ModelNotFound(f"The folder {folder} has no weights: it needs model.safetensors.")


def has_chat_template(folder: Path) -> bool:
    """Does the tokenizer know how a conversation is written?"""
    if (folder / "chat_template.jinja").is_file() or (folder / "chat_template.json").is_file():
        return True
    settings = folder / "tokenizer_config.json"
    return settings.is_file() and bool(read_json(settings).get("chat_template"))


def _inspect(folder: Path, use: Use) -> ModelFiles:
    if not (folder / "config.json").is_file():
        raise ModelNotFound(f"The folder {folder} is not a model folder: it has no config.json.")
    config = read_json(folder / "config.json")
    check_config(config, str(folder / "config.json"), use)
    files = shards(folder)
    if not any(all((folder / name).is_file() for name in form) for form in TOKENIZER_FORMS):
        raise ModelNotFound(
            f"The folder {folder} has no tokenizer: it needs tokenizer.json, or vocab.json and merges.txt, or "
            "tokenizer.model."
        )
    settings = folder / "tokenizer_config.json"
    if settings.is_file() and "auto_map" in read_json(settings):
        raise ModelNotFound(
            f"The file {settings} asks for code of its own (auto_map), which is never run here: choose a model with a "
            "tokenizer that the transformers library knows."
        )
    counts: dict[str, int] = {}
    for path in files:
        for dtype, count in _weights(path):
            counts[dtype] = counts.get(dtype, 0) + count
    labels = config.get("id2label")
    listed = config.get("architectures")
    return ModelFiles(
        folder=folder,
        architecture=architecture(config, sum(counts.values()), str(folder / "config.json")),
        weight_bytes=sum(DTYPE_BYTES[dtype] * count for dtype, count in counts.items()),
        dtype=max(counts, key=lambda dtype: counts[dtype]),
        architectures=tuple(str(name) for name in listed) if isinstance(listed, list) else (),
        num_labels=len(labels) if isinstance(labels, dict) else config.get("num_labels"),
        chat_template=has_chat_template(folder),
    )


def _weights(path: Path) -> Iterator[tuple[str, int]]:
    """Dtype and number of weights of each tensor of a safetensors file whose header adds up."""

    def broken(reason: str) -> ModelNotFound:
        return ModelNotFound(f"The weights in {path} are damaged ({reason}): copy or download the file again.")

    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
            if not 0 < length <= MOST_HEADER_BYTES or 8 + length > size:
                raise broken("it does not begin with a header")
            header = json.loads(file.read(length))
    except OSError as error:
        raise ModelNotFound(f"The weights in {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise broken("its header is not valid JSON") from None
    if not isinstance(header, dict) or not header.keys() - {"__metadata__"}:
        raise broken("its header names no weights")
    end = 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        try:
            dtype, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
            count = math.prod(shape)
            fits = all(type(side) is int and side >= 0 for side in (*shape, first, last))
            fits = fits and last - first == count * DTYPE_BYTES[dtype]
        except (TypeError, KeyError, ValueError):
            fits = False
        if not fits or last > size - 8 - length:
            raise broken(f"the place of `{name[:60]}` makes no sense")
        end = max(end, last)
        yield dtype, count
    if end != size - 8 - length:
        raise broken("it is longer than its header says")


def _number(config: Mapping[str, Any], names: tuple[str, ...], where: str, default: int | None = None) -> int:
    for name in names:
        value = config.get(name)
        if value is None:
            continue
        if type(value) is not int or not 0 < value < 10**9:
            raise ModelNotFound(f"{where} has {name}: {str(value)[:40]}, which makes no sense: get the file again.")
        return value
    if default is None:
        raise ModelNotFound(f"{where} does not say {names[0]}: get the file again.")
    return default


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value of nested JSON."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name), inner
            yield from _entries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner)


def _signature(folder: Path) -> tuple[Any, ...]:
    """Changes when any file of the folder does."""
    try:
        with os.scandir(folder) as entries:
            return tuple(
                sorted((item.name, item.stat().st_mtime_ns, item.stat().st_size) for item in entries if item.is_file())
            )
    except OSError as error:
        raise ModelNotFound(f"The folder {folder} cannot be read: {error.strerror}.") from None

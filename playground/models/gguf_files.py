"""A GGUF file, read without loading it: can it become a model folder here, and what are its measures?

`check` is the gate before the `gguf` package and transformers see a file: they believe its counts. Everything in the
header is bounded, and the tensors are exactly those of an architecture that is known here, with the shapes that its
measures say, in types that can be dequantised. `runs.conversion` calls it, and the process that converts once more.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from playground import plain_files
from playground.errors import ModelNotFound
from playground.models.architectures import Architecture
from playground.models.model_files import MOST_TEMPLATE_BYTES

SUFFIX = ".gguf"
ARCHITECTURES = ("llama", "qwen2", "qwen3")  # whose tensors transformers renames, and which can be trained here
TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
TOKENIZERS = ("gpt2", "llama")  # kinds of them: byte-level BPE, SentencePiece
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes, by the number of a value's type
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
MOST_HEADER_BYTES = 64_000_000  # a vocabulary of a quarter of a million tokens with its merges takes a fifth of that
MOST_FIELDS, MOST_TENSORS, MOST_ENTRIES, MOST_NAME_BYTES = 1_000, 10_000, 2_000_000, 1_000
EPSILON, ROPE_BASE = "attention.layer_norm_rms_epsilon", "rope.freq_base"
SETTINGS = {EPSILON, ROPE_BASE} | set(
    "block_count context_length embedding_length feed_forward_length attention.head_count attention.head_count_kv "
    "attention.key_length attention.value_length rope.dimension_count vocab_size tensor_data_layout".split()
)  # of an architecture, that a converted model has too
NOTHING = (0, "", "none")  # values of others that can be left out
MOST_LAYERS = 500
SPECIAL_TOKENS = ("bos", "eos", "unknown", "padding")


class Entries(int):
    """How many a list of the header has; the list itself is skipped. No number of the header is one of these."""


class GgufTensor(NamedTuple):
    """A tensor in a file: its shape as PyTorch has it, its type by number, and where in the file its bytes are."""

    shape: tuple[int, ...]
    kind: int
    begin: int
    length: int


class GgufFile(NamedTuple):
    """What a file holds. `fields`: its settings, of an array only the number of entries. `tensors`: by their name."""

    architecture: Architecture
    fields: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]


class _Unusable(ValueError):
    """What is wrong with a file, to follow its name and a colon."""


def check(path: Path) -> GgufFile:
    """Read and check a file. Raises: ModelNotFound, with its name, the reason and what to do."""
    try:
        with plain_files.open_plain(path, links=True) as file:
            header = _Header(file.read(MOST_HEADER_BYTES))
            size = path.stat().st_size
        fields, tensors = header.read()
        architecture = _architecture(fields, "output.weight" not in tensors)
        _check_tokenizer(fields, architecture)
        _check_shapes({name: tensor.shape for name, tensor in tensors.items()}, architecture)
        _check_order(tensors, header.at, size, _alignment(fields))
    except OSError as error:
        remedy = "Give the path of a GGUF file that this user may read."
        raise ModelNotFound(f"The file {path} cannot be read: {error.strerror}. {remedy}") from None
    except (_Unusable, UnicodeDecodeError, struct.error) as error:
        why = str(error) if isinstance(error, _Unusable) else "its header is damaged or cut off; get the file again"
        raise ModelNotFound(f"{path} cannot be converted: {why}.") from None
    return GgufFile(architecture, fields, tensors)


class _Header:
    """The bytes at the beginning of a file, taken one value after the other. Raises: _Unusable, struct.error."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at, self._entries = data, 0, 0

    def read(self) -> tuple[dict[str, Any], dict[str, GgufTensor]]:
        """Its settings and tensors; afterwards `at` is where the tensors' bytes begin."""
        if self._data[:4] != b"GGUF":
            raise _Unusable("it is no GGUF file; choose another one")
        self.at = 4
        version, num_tensors, num_fields = self._take("IQQ")
        if version not in (2, 3):
            raise _Unusable(f"it is of version {version}, and 2 and 3 are supported; convert a newer file")
        for what, count, most in (("settings", num_fields, MOST_FIELDS), ("tensors", num_tensors, MOST_TENSORS)):
            if count > most:
                raise _Unusable(f"it says that it has {count:,} {what}, and at most {most:,} are read; get it again")
        fields: dict[str, Any] = {}
        for _ in range(num_fields):
            name = self._string(MOST_NAME_BYTES)
            if name in fields:
                raise _Unusable(f"it gives `{name[:60]}` twice; get the file again")
            fields[name] = self._value(self._take("I")[0])
        tensors: dict[str, GgufTensor] = {}
        for _ in range(num_tensors):
            name = self._string(MOST_NAME_BYTES)
            if name in tensors:
                raise _Unusable(f"it gives the tensor `{name[:60]}` twice; get the file again")
            tensors[name] = self._tensor(name)
        alignment = _alignment(fields)
        self.at = -(-self.at // alignment) * alignment
        return fields, {name: one._replace(begin=self.at + one.begin) for name, one in tensors.items()}

    def _take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{form}", self._data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def _string(self, most_bytes: int = MOST_TEMPLATE_BYTES) -> str:
        (length,) = self._take("Q")
        if length > most_bytes:
            raise _Unusable(f"a text in its header has {length:,} bytes, and at most {most_bytes:,} are read")
        return bytes(self._take(f"{length}s")[0]).decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._take(FORMATS[kind])[0] if kind in FORMATS else self._no_type(kind)
        kind, count = self._take("IQ")
        self._entries += count
        if self._entries > MOST_ENTRIES:
            raise _Unusable(f"its lists have {self._entries:,} entries, and at most {MOST_ENTRIES:,} are read")
        if kind == STRING:
            for _ in range(count):
                self._string()
        else:
            self._take(f"{count * SIZES[kind]}x") if kind in SIZES else self._no_type(kind)
        return Entries(count)

    def _tensor(self, name: str) -> GgufTensor:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

        (dimensions,) = self._take("I")
        if not 0 < dimensions <= 4:
            raise _Unusable(f"its tensor `{name[:60]}` has {dimensions:,} dimensions; get the file again")
        *shape, kind, begin = self._take(f"{dimensions}QIQ")
        known = {one.value: one.name for one in GGMLQuantizationType}
        if known.get(kind) not in TYPES:
            kinds = f"`{known.get(kind, kind)}`, and {', '.join(TYPES)} can be converted"
            raise _Unusable(f"its tensor `{name[:60]}` is of the type {kinds}; choose a file in one of these")
        block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
        if shape[0] % block or not 0 < math.prod(shape) < 10**12:
            raise _Unusable(f"its tensor `{name[:60]}` has a shape that makes no sense ({shape}); get the file again")
        return GgufTensor(tuple(reversed(shape)), kind, begin, math.prod(shape) // block * block_bytes)

    def _no_type(self, kind: int) -> None:
        raise _Unusable(f"its header has a value of the unknown type {kind}; get the file again")


def _architecture(fields: Mapping[str, Any], tied: bool) -> Architecture:
    """The measures that a file gives. Raises: _Unusable, if it is of an architecture that cannot be converted, or has a
    setting that the converted model would not have."""
    kind = fields.get("general.architecture")
    if kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise _Unusable(f"its architecture is `{str(kind)[:40]}`; choose a model of one of {known}")
    for name, value in fields.items():
        if name.startswith(f"{kind}.") and name.partition(".")[2] not in SETTINGS and value not in NOTHING:
            raise _Unusable(f"it has {name[:60]}: {str(value)[:40]}, which would be lost; choose a plain {kind} model")

    def number(name: str, default: int | None = None) -> int:
        value = fields.get(f"{kind}.{name}", default)
        if type(value) is not int or not 0 < value < 10**7:
            raise _Unusable(f"it has {kind}.{name}: {str(value)[:40]}, which makes no sense; get the file again")
        return value

    if f"{kind}.{EPSILON}" not in fields:  # a llama's is 1e-6 or 1e-5, and nothing else in a file tells which
        raise _Unusable(f"it lacks {kind}.{EPSILON}, without which its answers would differ; get another file")
    for name in (EPSILON, ROPE_BASE):
        if not isinstance(value := fields.get(f"{kind}.{name}", 1.0), float) or not 0 < value < 10**9:
            raise _Unusable(f"it has {kind}.{name}: {str(value)[:40]}, which makes no sense; get the file again")
    hidden, heads, layers = number("embedding_length"), number("attention.head_count"), number("block_count")
    if layers > MOST_LAYERS:
        raise _Unusable(f"it says that it has {layers:,} layers, and at most {MOST_LAYERS} are supported")
    head = number("attention.key_length", number("rope.dimension_count", max(1, hidden // heads)))
    if number("rope.dimension_count", head) != head:
        raise _Unusable("it turns a part of each head only (rope.dimension_count), which would be lost")
    groups = number("attention.head_count_kv", heads)
    if head % 2 or heads % groups or number("attention.value_length", head) != head:
        raise _Unusable(f"its {heads} heads of {head} in {groups} groups make no sense; get the file again")
    tokens = fields.get("tokenizer.ggml.tokens")
    return Architecture(
        model_type=kind,
        hidden_size=hidden,
        layers=layers,
        heads=heads,
        kv_heads=groups,
        head_size=head,
        intermediate_size=number("feed_forward_length"),
        vocabulary=number("vocab_size", int(tokens) if isinstance(tokens, Entries) else None),
        context_length=number("context_length"),
        tied=tied,
        parameters=0,
    )


def _check_tokenizer(fields: Mapping[str, Any], architecture: Architecture) -> None:
    """Raises: _Unusable, unless there is a tokenizer of a known kind with as many tokens as the model has at most."""
    kind, tokens = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.tokens")
    if kind not in TOKENIZERS or not isinstance(tokens, Entries):
        known = " or ".join(TOKENIZERS)
        raise _Unusable(f"its tokenizer is of the kind `{str(kind)[:40]}`, and {known} can be converted")
    if tokens > architecture.vocabulary:
        rows = architecture.vocabulary
        raise _Unusable(f"its tokenizer has {tokens:,} tokens, more than the {rows:,} of the model; get the file again")
    for name in SPECIAL_TOKENS:
        token = fields.get(f"tokenizer.ggml.{name}_token_id", 0)
        if type(token) is not int or not 0 <= token < tokens:
            raise _Unusable(f"its {name} token is number {str(token)[:40]} of {tokens:,}; get the file again")
    if not isinstance(fields.get("tokenizer.chat_template", ""), str):
        raise _Unusable("its chat template is no text; get the file again")


def _expected(model: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every tensor that a file of this architecture has."""
    hidden, inner = model.hidden_size, model.intermediate_size
    queries, keys = model.heads * model.head_size, model.kv_heads * model.head_size
    yield "token_embd.weight", (model.vocabulary, hidden)
    yield "output_norm.weight", (hidden,)
    if not model.tied:
        yield "output.weight", (model.vocabulary, hidden)
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (hidden,),
        "attn_q.weight": (queries, hidden),
        "attn_k.weight": (keys, hidden),
        "attn_v.weight": (keys, hidden),
        "attn_output.weight": (hidden, queries),
        "ffn_norm.weight": (hidden,),
        "ffn_gate.weight": (inner, hidden),
        "ffn_up.weight": (inner, hidden),
        "ffn_down.weight": (hidden, inner),
    }
    if model.model_type == "qwen2":
        layer |= {"attn_q.bias": (queries,), "attn_k.bias": (keys,), "attn_v.bias": (keys,)}
    if model.model_type == "qwen3":
        layer |= {"attn_q_norm.weight": (model.head_size,), "attn_k_norm.weight": (model.head_size,)}
    for number in range(model.layers):
        for name, shape in layer.items():
            yield f"blk.{number}.{name}", shape


def _check_shapes(found: Mapping[str, tuple[int, ...]], model: Architecture) -> None:
    """Raises: _Unusable, unless the tensors are those of the architecture: one that is missing would be filled with
    random numbers, and one that is not known left out."""
    expected = dict(_expected(model))
    for name, shape in expected.items():
        if name not in found:
            raise _Unusable(f"it lacks the tensor `{name}`; get the file again")
        if found[name] != shape:
            sizes = f"{list(found[name])}, and its settings say {list(shape)}"
            raise _Unusable(f"its tensor `{name}` has the shape {sizes}: they do not belong together")
    if more := sorted(found.keys() - expected.keys()):
        raise _Unusable(f"it has tensors that a plain {model.model_type} has not, such as `{more[0][:60]}`")


def _check_order(tensors: Mapping[str, GgufTensor], begin: int, size: int, alignment: int) -> None:
    """Raises: _Unusable, unless the tensors follow one another from the end of the header to that of the file."""
    at = begin
    for name, one in sorted(tensors.items(), key=lambda item: item[1].begin):
        if one.begin % alignment or not at <= one.begin < at + alignment:
            raise _Unusable(f"its tensor `{name[:60]}` does not lie where the one before it ends; get the file again")
        at = one.begin + one.length
    if at > size:
        raise _Unusable(f"it is cut off: it needs {at:,} bytes and has {size:,}; get the file again")


def _alignment(fields: Mapping[str, Any]) -> int:
    alignment = fields.get("general.alignment", 32)
    if type(alignment) is not int or alignment not in (2**power for power in range(3, 17)):
        raise _Unusable(f"it has general.alignment: {str(alignment)[:40]}, which makes no sense; get the file again")
    return alignment

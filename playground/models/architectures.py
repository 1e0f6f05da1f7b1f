"""The measures of a model that decide about memory, under whatever names its family's configuration uses; and those of
the models that the playground suggests, known without a network (curated.csv; a test counts the weights)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import ModelNotFound


class Family(NamedTuple):
    """What is so in a family of models where config.json does not say (families.csv).

    Attributes:
        use: `policy` for what writes text, `reward` for an encoder, which can only judge. mlp_kept: what a feed-forward
            part keeps of a token for the backward pass, times its size. tied: input and output embeddings are one
            matrix. gated: three matrices in the feed-forward part, not two. grouped: heads may share keys and values.
    """

    use: str
    mlp_kept: int
    tied: bool
    gated: bool
    grouped: bool


with open(Path(__file__).with_name("families.csv"), encoding="utf-8", newline="") as _file:
    FAMILIES = {
        name: Family(use, int(mlp_kept), *(word == "yes" for word in words))
        for name, use, mlp_kept, *words in list(csv.reader(_file))[1:]
    }
GGUF_TYPES = ("llama", "qwen2", "qwen3")  # whose GGUF files can be converted
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
    """The measures of a model that decide about memory and time. `parameters` counts a shared embedding once."""

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
    in_fp32: bool = False  # what its file says of its weights

    def precision_as_reward(self, precision: str) -> str:
        """What it computes scores in: by itself never in less than its file holds, which would move them."""
        if precision == "auto" and self.in_fp32:
            return "fp32"
        return precision

    @property
    def family(self) -> Family:
        """What is so in all models of its type."""
        return FAMILIES[self.model_type]

    @property
    def gated(self) -> bool:
        """Three matrices in the feed-forward part (gate, up, down) instead of two."""
        return self.family.gated

    @property
    def linear_parameters(self) -> int:
        """Weights of all matrices inside the layers: what quantization shrinks and what a token is multiplied with."""
        attention, matrices = 2 * self.head_size * (self.heads + self.kv_heads), 2
        if self.gated:
            matrices = 3
        return self.layers * self.hidden_size * (attention + matrices * self.intermediate_size)

    @property
    def embedding_parameters(self) -> int:
        """Weights of one embedding matrix, which is also the size of the LM head."""
        return self.vocabulary * self.hidden_size


SEVEN_BILLION = Architecture("llama", 4096, 32, 32, 32, 128, 11_008, 32_000, 4096, False, 6_738_415_616)  # Llama 2


def architecture(config: Mapping[str, Any], parameters: int, where: str = "config.json") -> Architecture:
    """The measures that a configuration names, under whatever names its family uses; how many weights there are it does
    not say by itself. `where`: for messages. Raises: ModelNotFound, if a measure is missing or makes no sense."""
    kind = str(config.get("model_type"))
    numbers = {name: _number(config, names, where) for name, names in NUMBERS.items()}
    hidden, heads = numbers["hidden_size"], numbers["heads"]
    family, kv_heads = FAMILIES.get(kind, FAMILIES["gpt2"]), heads
    if family.grouped:
        kv_heads = _number(config, ("num_key_value_heads",), where, heads)
    return Architecture(
        model_type=kind,
        kv_heads=kv_heads,
        head_size=_number(config, ("head_dim",), where, max(1, hidden // heads)),
        intermediate_size=_number(config, INTERMEDIATE_NAMES, where, 4 * hidden),
        context_length=_number(config, CONTEXT_NAMES, where, 1024),
        tied=bool(config.get("tie_word_embeddings", family.tied)),
        parameters=parameters,
        in_fp32=str(config.get("dtype") or config.get("torch_dtype")).removeprefix("torch.") == "float32",
        **numbers,
    )


def _number(config: Mapping[str, Any], names: tuple[str, ...], where: str, default: int | None = None) -> int:
    for name in names:
        value = config.get(name)
        if value is None:
            continue
        if type(value) is not int or not 0 < value < 10**9:
            raise ModelNotFound(
                f"{where} has {name}: {str(value)[:40]}, which makes no sense: download the file again."
            )
        return value
    if default is None:
        raise ModelNotFound(f"{where} does not say {names[0]}: get the file again.")
    return default


class HubModel(NamedTuple):
    """One suggested model, of the hub or from PyPI. `download_mb` is about the size of what is downloaded; `preset`
    names the preset whose settings fit it."""

    name: str
    label: str
    help: str
    licence: str
    architecture: Architecture
    download_mb: int
    chat_template: bool
    preset: str

    @property
    def size(self) -> str:
        """Weights and download, for reading: "124 million parameters, 548 MB"."""
        millions = self.architecture.parameters / 1e6
        count = f"{millions:.0f} million"
        if millions >= 1000:
            count = f"{millions / 1000:.1f} billion"
        return f"{count} parameters, {self.download_mb:,} MB"


def _suggested() -> Iterator[HubModel]:
    sizes = [field.name for field in fields(Architecture) if field.name not in ("model_type", "tied", "in_fp32")]
    with open(Path(__file__).with_name("curated.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            measures = {name: int(row.pop(name)) for name in sizes}
            kind, tied = row.pop("model_type"), row.pop("tied") == "yes"
            architecture = Architecture(model_type=kind, tied=tied, in_fp32=False, **measures)
            size, chat = int(row.pop("download_mb")), row.pop("chat_template") == "yes"
            yield HubModel(architecture=architecture, download_mb=size, chat_template=chat, **row)


BY_NAME = {model.name: model for model in _suggested()}
CURATED = tuple(model for name, model in BY_NAME.items() if "/" in name)  # those of the hub
(FROM_PYPI,) = (model for name, model in BY_NAME.items() if "/" not in name)  # see `real_model`

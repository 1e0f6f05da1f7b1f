"""A model folder, read without loading it: is it one that can be loaded safely, and what are its measures?

`inspect` is the gate before transformers sees a folder: plain configuration of a known architecture, weights in
safetensors whose headers add up and fit it, a tokenizer of a known class, no code of its own. `catalog` calls it, for
the page on every edit of the form (it takes a millisecond); `train` calls it again before it loads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playground.errors import ModelNotFound
from playground.models import architectures, weight_files
from playground.models.architectures import FAMILIES, Architecture
from playground.models.weight_files import read_json

Use = Literal["policy", "reward"]

TOKENIZER_FORMS = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.txt",),
)
TOKENIZER_CLASSES = set(
    "TokenizersBackend PreTrainedTokenizer GPT2Tokenizer GPTNeoXTokenizer LlamaTokenizer Qwen2Tokenizer "
    "GemmaTokenizer CodeGenTokenizer CodeLlamaTokenizer BertTokenizer RobertaTokenizer XLMRobertaTokenizer "
    "DistilBertTokenizer DebertaV2Tokenizer ElectraTokenizer AlbertTokenizer BloomTokenizer CohereTokenizer "
    "T5Tokenizer".split()
)
TOKENIZER_JSON = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
OTHER_JSON = ("generation_config.json", "chat_template.json", "processor_config.json", "preprocessor_config.json")
MOST_TOKENIZER_BYTES = 64_000_000  # the largest in use, of a quarter of a million tokens, has half of that
MOST_TEMPLATE_BYTES = 1_000_000
MOST_LABELS = 10_000
SLACK_WEIGHTS = 10_000_000  # that a configuration may describe beyond what the files hold: 40 MB
CODE = ("auto_map", "trust_remote_code", "custom_pipelines", "custom_generate")  # names of settings that run code
KERNELS = ("attn_implementation", "experts_implementation", "kernel_config", "use_kernels", "allow_all_kernels")
NUMBER_TYPES = ("float16", "bfloat16", "float32", "float64", "half", "float", "auto")
LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d{1,9})\.")


class ModelFiles(NamedTuple):
    """What a model folder holds, as its files say."""

    architecture: Architecture
    chat_template: bool


def inspect(folder: Path, use: Use = "policy") -> ModelFiles:
    """Check a model folder and read its measures. Raises: ModelNotFound, naming folder and file, with what to do.

    Args:
        use: a `policy` must be a causal language model; a `reward` may be an encoder as well.
    """
    where = str(folder / "config.json")
    if not weight_files.is_there(folder / "config.json"):
        raise ModelNotFound(f"The folder {folder} is not a model folder: it has no config.json.{_inside(folder)}")
    config = read_json(folder / "config.json")
    check_config(config, where, use)
    tensors = weight_files.tensors(folder)
    chat_template = check_tokenizer(folder)
    described = architectures.architecture(config, sum(map(math.prod, tensors.values())), where)
    layers = [int(match[1]) + 1 for name in tensors if (match := LAYER.search(name))]
    if layers and max(layers) < described.layers:  # the rest is counted when it is loaded, before there is room made
        apart = f"{where} says {described.layers} layers, and the weights have {max(layers)}"
        raise ModelNotFound(f"{apart}: they do not belong together.")
    return ModelFiles(described, chat_template)


def _inside(folder: Path) -> str:
    """What a folder holds that may have been meant, as a sentence."""
    models = sorted(path.parent for form in ("*", "snapshots/*") for path in folder.glob(f"{form}/config.json"))
    if models:
        newest = max(models, key=lambda path: path.stat().st_mtime)
        return f" A model lies in {newest}: give that folder."
    if ggufs := sorted(folder.glob("*.gguf")):
        return f" Convert its GGUF file first: python -m playground convert {ggufs[0]}"
    return ""


def check_config(config: Mapping[str, Any], where: str, use: Use) -> None:
    """Refuse what must not reach transformers: unknown architectures, code, choices of kernels, quantized weights.
    Raises: ModelNotFound, with the reason."""
    check_entries(config, where)
    if fault := next(_config_faults(config, use), ""):
        raise ModelNotFound(f"{where} {fault}.")


def _config_faults(config: Mapping[str, Any], use: Use) -> Iterator[str]:
    if config.get("quantization_config") is not None:
        yield "says that the weights are quantized already: choose the original model and set the quantization here"
    if config.get("transformers_weights") is not None:
        yield "names its own weight file (transformers_weights): remove that line"
    for name in ("dtype", "torch_dtype"):
        if config.get(name) is not None and str(config[name]).removeprefix("torch.") not in NUMBER_TYPES:
            yield f"has {name}: {str(config[name])[:40]}, which is not a number type: correct it"
    kind = str(config.get("model_type"))
    allowed = [name for name, family in FAMILIES.items() if use in ("reward", family.use)]
    if kind not in FAMILIES:
        yield f"describes an architecture that is not supported (`{kind[:40]}`): choose one of {', '.join(allowed)}"
    elif kind not in allowed:
        yield f"describes a `{kind}`, which cannot write text: choose a causal language model such as gpt2"
    labels = config.get("id2label")
    count = config.get("num_labels", 2)
    if isinstance(labels, (dict, list)):
        count = len(labels)
    if type(count) is not int or not 0 < count <= MOST_LABELS:
        yield f"has {str(count)[:40]} labels: at most {MOST_LABELS:,} are supported"


def check_entries(config: Mapping[str, Any], where: str) -> None:
    """Refuse settings that run code, wherever they stand in a file. Raises: ModelNotFound, naming the setting."""
    for name, value in _entries(config):
        plain = name.lstrip("_")
        if plain in CODE and (value or plain == "auto_map"):
            raise ModelNotFound(
                f"{where} asks for its own code ({name[:40]}), which is never run here: choose a model that the "
                "transformers library knows by itself."
            )
        # what transformers leaves behind by itself is a switch (`_attn_implementation_autoset`)
        if plain.startswith(KERNELS) and not isinstance(value, (bool, type(None))):
            raise ModelNotFound(f"{where} chooses its own attention code ({name[:40]}): remove that line.")


def check_tokenizer(folder: Path, needed: bool = True) -> bool:
    """Refuse a tokenizer that is not there, is no ordinary files of sane size, or wants code of its own; does it know
    how a conversation is written? `needed`: False for an adapter, which may leave its tokenizer to its base. Raises:
    ModelNotFound."""
    if needed and not has_tokenizer(folder):
        raise ModelNotFound(
            f"The folder {folder} has no tokenizer: it needs tokenizer.json, or vocab.json and merges.txt, or "
            "tokenizer.model."
        )
    for name in {name for form in TOKENIZER_FORMS for name in form}:
        _check_size(folder / name, MOST_TOKENIZER_BYTES)
    _check_size(folder / "chat_template.jinja", MOST_TEMPLATE_BYTES)
    chat = weight_files.is_there(folder / "chat_template.jinja")
    for name in (*TOKENIZER_JSON, *OTHER_JSON):
        if not weight_files.is_there(folder / name):
            continue
        settings = read_json(folder / name)
        chat = chat or bool(settings.get("chat_template"))
        check_entries(settings, f"The file {folder / name}")
        named_class = settings.get("tokenizer_class")
        if named_class is not None and str(named_class).removesuffix("Fast") not in TOKENIZER_CLASSES:
            raise ModelNotFound(
                f"The file {folder / name} names a tokenizer that is not known here (tokenizer_class "
                f"`{str(named_class)[:40]}`): choose a model with a tokenizer of one of the supported families."
            )
    return chat


def has_tokenizer(folder: Path) -> bool:
    """True where a folder has the files of a tokenizer; that of an adapter may leave them to its base."""
    return any(all(weight_files.is_there(folder / name) for name in form) for form in TOKENIZER_FORMS)


def _check_size(path: Path, most_bytes: int) -> None:
    """Raises: ModelNotFound, for a file that is larger, or no ordinary one."""
    if weight_files.is_there(path):
        weight_files.check_layout(path)
        if path.stat().st_size > most_bytes:
            raise ModelNotFound(f"The file {path} is larger than {most_bytes // 1_000_000} MB: get it again.")


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value of nested JSON."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name), inner
            yield from _entries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner)

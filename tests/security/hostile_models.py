"""Model folders that a stranger might hand over: each a shipped model with one thing changed, and what must be said.

Everything that could run leaves a mark: the canary file of the folder's own name beside it.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground.setup import catalog

SOURCE = catalog.POCKET_MODELS / "pocket-1m"
WEIGHTS, CONFIG = "model.safetensors", "config.json"


class Hostile:
    """One folder: words that its refusal has (a file or a field), and what is done to a copy of a good one."""

    def __init__(self, name: str, words: str, change: Callable[..., Any], *given: Any, **fields: Any) -> None:
        self.name, self.words, self.change, self.given, self.fields = name, words, change, given, fields


class Mark:
    """What a pickle runs when it is opened."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        return (open, (str(self.canary), "w"))


def build(hostile: Hostile, parent: Path) -> Path:
    """The folder, ready to be refused."""
    folder = parent / hostile.name
    shutil.copytree(SOURCE, folder)
    hostile.change(folder, *hostile.given, **hostile.fields)
    return folder


def canary(folder: Path) -> Path:
    """The file that appears if anything of the folder was run."""
    return folder.parent / f"{folder.name}.canary"


def poison(folder: Path) -> bytes:
    return pickle.dumps(Mark(canary(folder)))


def in_json(folder: Path, name: str, **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def put(folder: Path, name: str, data: bytes | str) -> None:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def only_pickle(folder: Path, name: str) -> None:
    (folder / WEIGHTS).unlink()
    (folder / name).write_bytes(poison(folder))


def poisoned(folder: Path) -> None:
    """Weights that are no safetensors."""
    (folder / WEIGHTS).write_bytes(poison(folder))


def header_only(folder: Path, length: int, text: bytes) -> None:
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", length) + text)


def index(folder: Path, *names: str) -> None:
    (folder / WEIGHTS).rename(folder.parent / f"{folder.name}.safetensors")
    places = {f"w{number}": name.format(parent=folder.parent) for number, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def header(folder: Path, edit: Callable[[dict[str, Any]], None], tail: bytes = b"") -> None:
    """The same weights under another header."""
    data = (folder / WEIGHTS).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    facts = json.loads(data[8 : 8 + length])
    edit(facts)
    text = json.dumps(facts).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :] + tail)


def first_weight(folder: Path, **entry: Any) -> None:
    header(folder, lambda facts: next(one for name, one in facts.items() if name != "__metadata__").update(entry))


def linked(folder: Path, name: str, target: str) -> None:
    elsewhere = folder.parent / f"elsewhere-{folder.name}"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(target.format(elsewhere=elsewhere))


def fifo(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)


def large(folder: Path, name: str, megabytes: int) -> None:
    os.truncate(folder / name, 0) if (folder / name).exists() else (folder / name).touch()
    os.truncate(folder / name, megabytes * 1_000_000)  # sparse: no room, no time


def adapter(folder: Path, weights: str = "adapter_model.safetensors", **facts: Any) -> None:
    """The folder becomes a LoRA adapter of a shipped model; `facts` are what is wrong with it."""
    for name in (CONFIG, "generation_config.json", WEIGHTS, "card.json"):
        (folder / name).unlink(missing_ok=True)
    settings = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "pocket-1m", "r": 8}
    settings |= {"target_modules": ["q_proj"], **facts}
    (folder / "adapter_config.json").write_text(json.dumps(settings).replace("{folder}", str(folder)))
    text = json.dumps({"lora_A": {"dtype": "F32", "shape": [8, 4], "data_offsets": [0, 128]}}).encode()
    good = struct.pack("<Q", len(text)) + text + bytes(128)
    (folder / weights).write_bytes(good if weights.endswith(".safetensors") else poison(folder))


def whole_and_adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "pocket-1m"}')
    (folder / "adapter_model.bin").write_bytes(poison(folder))


def doubled(folder: Path) -> None:
    text = (folder / CONFIG).read_text()
    (folder / CONFIG).write_text(text.replace("{", '{"model_type": "gpt2", ', 1))


def in_tokenizer(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    facts = json.loads((folder / "tokenizer.json").read_text())
    edit(facts)
    (folder / "tokenizer.json").write_text(json.dumps(facts))


FOLDERS = (
    Hostile("bin-only", "pytorch_model.bin", only_pickle, "pytorch_model.bin"),
    Hostile("pickle-renamed", "no safetensors", poisoned),
    Hostile("header-too-long", "header is larger than 10 MB", header_only, 2**62, b"{}"),
    Hostile("header-beyond-file", "invalid header length", header_only, 10**6, b"{}"),
    Hostile("header-empty", "names no weights", header_only, 2, b"{}"),
    Hostile("unknown-dtype", "invalid JSON", first_weight, dtype="PY"),
    Hostile("longer-file", "not fully covered", header, lambda facts: None, b"more"),
    Hostile("shard-above", "model.safetensors.index.json", index, "../{parent}.safetensors"),
    Hostile("shard-missing", "1.safetensors", index, "1.safetensors", "2.safetensors"),
    Hostile("linked-weights", "link that leads out", linked, WEIGHTS, "{elsewhere}"),
    Hostile("linked-config", "link that leads out", linked, CONFIG, "/etc/passwd"),
    Hostile("pipe-weights", "not an ordinary file", fifo, WEIGHTS),
    Hostile("config-200-mb", "larger than 10 MB", large, CONFIG, 200),
    Hostile("template-2-mb", "larger than 1 MB", large, "chat_template.jinja", 2),
    Hostile("adapter-pickle", "adapter_model.bin", adapter, "adapter_model.bin"),
    Hostile("adapter-base-above", "../../../../etc", adapter, base_model_name_or_path="../../../../etc"),
    Hostile("adapter-base-itself", "too many others", adapter, base_model_name_or_path="{folder}"),
    Hostile("adapter-auto-mapping", "auto_mapping", adapter, auto_mapping={"parent_library": "antigravity"}),
    Hostile("adapter-regex", "target_modules", adapter, target_modules="(a+)+$"),
    Hostile("adapter-rank", "r: 1000000000", adapter, r=10**9),
    Hostile("adapter-not-lora", "XLORA", adapter, peft_type="XLORA"),
    Hostile("adapter-and-model", "adapter_config.json", whole_and_adapter),
)

CONFIGS = (
    Hostile("auto-map", "auto_map", in_json, CONFIG, auto_map={"AutoModelForCausalLM": "evil.Model"}),
    Hostile("auto-map-tokenizer", "auto_map", in_json, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.T"]}),
    Hostile("trust", "trust_remote_code", in_json, CONFIG, inner={"trust_remote_code": True}),
    Hostile("attention-nested", "attn_implementation", in_json, CONFIG, sub={"attn_implementation": {"": "evil/k"}}),
    *(
        Hostile(name, name, in_json, CONFIG, **{name: "evil/kernel"})
        for name in ("_attn_implementation", "_experts_implementation", "transformers_weights", "model_type", "dtype")
    ),
    *(
        Hostile(f"hidden-{value}", "hidden_size", in_json, CONFIG, hidden_size=value)
        for value in ("evil", 10**30, float("nan"))
    ),
    Hostile("type-list", "architecture that is not supported", in_json, CONFIG, model_type=["llama"]),
    Hostile("layers-huge", "layers", in_json, CONFIG, num_hidden_layers=10**8),
    Hostile("layers-more", "400 layers", in_json, CONFIG, num_hidden_layers=400),
    Hostile("labels-huge", "labels", in_json, CONFIG, num_labels=10**9),
    Hostile("quantized", "quantized", in_json, CONFIG, quantization_config={"quant_method": "evil"}),
    Hostile("quite-deep", "deeper than", put, CONFIG, '{"x": ' + "[" * 300 + "]" * 300 + "}"),
    Hostile("doubled", "`model_type` twice", doubled),
    Hostile("tokenizer-class", "EvilT", in_json, "tokenizer_config.json", tokenizer_class="EvilT"),
)
CUSTOM = {"type": "Custom", "class": "os"}
LATE = (  # nothing but the libraries can tell; each is one sentence when it is loaded
    Hostile("tokenizer-type", "tokenizer", in_tokenizer, lambda facts: facts["model"].update(type="Evil")),
    Hostile("tokenizer-custom", "tokenizer", in_tokenizer, lambda facts: facts.update(pre_tokenizer=CUSTOM)),
    Hostile("tokenizer-junk", "tokenizer", put, "tokenizer.json", b"\xff" * 1000),
    Hostile("tokenizer-deep", "tokenizer", put, "tokenizer.json", "[" * 100_000),
    Hostile("types-huge", "model", in_json, CONFIG, model_type="llama", rope_parameters={"rope_type": "evil"}),
    Hostile("hidden-huge", "weights", in_json, CONFIG, hidden_size=999_999_999),
    Hostile("vocabulary-huge", "weights", in_json, CONFIG, vocab_size=900_000_000),
    Hostile("contradiction", "weights", in_json, CONFIG, model_type="gpt2"),
    Hostile("feed-forward-huge", "weights", in_json, CONFIG, intermediate_size=900_000_000),
)

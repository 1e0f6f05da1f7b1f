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


def poisoned(folder: Path, start: bytes) -> None:
    """Weights that are no safetensors."""
    (folder / WEIGHTS).write_bytes(start + poison(folder))


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


def overlapping(facts: dict[str, Any]) -> None:
    two = [entry for name, entry in facts.items() if name != "__metadata__" and entry["shape"] == [128]][:2]
    two[1]["data_offsets"] = list(two[0]["data_offsets"])


def linked(folder: Path, name: str, target: str) -> None:
    elsewhere = folder.parent / f"elsewhere-{folder.name}"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(target.format(elsewhere=elsewhere))


def fifo(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
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


def poisoned_adapter(folder: Path) -> None:
    adapter(folder)
    (folder / "adapter_model.safetensors").write_bytes(poison(folder))


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
    Hostile("numpy-only", "weights.npy", only_pickle, "weights.npy"),
    Hostile("pickle-renamed", "a pickle", poisoned, b""),
    Hostile("zip-renamed", "zip archive", poisoned, b"PK\3\4"),
    Hostile("numpy-renamed", "NumPy", poisoned, b"\x93NUMPY\1\0"),
    Hostile("header-too-long", "header is larger than 10 MB", header_only, 2**62, b"{}"),
    Hostile("header-beyond-file", "invalid header length", header_only, 10**6, b"{}"),
    Hostile("header-deep", "invalid JSON", header_only, 200_000, b"[" * 200_000),
    Hostile("header-empty", "names no weights", header_only, 2, b"{}"),
    Hostile("overlap", "invalid offset for tensor", header, overlapping),
    Hostile("out-of-range", "invalid", first_weight, data_offsets=[0, 10**12]),
    Hostile("unknown-dtype", "invalid JSON", first_weight, dtype="PY"),
    Hostile("wrong-size", "invalid shape", first_weight, shape=[1, 1]),
    Hostile("huge-shape", "overflow", first_weight, shape=[2**40, 2**40]),
    Hostile("longer-file", "not fully covered", header, lambda facts: None, b"more"),
    Hostile("shard-above", "model.safetensors.index.json", index, "../{parent}.safetensors"),
    Hostile("shard-absolute", "model.safetensors.index.json", index, "{parent}/shard-absolute.safetensors"),
    Hostile("shard-missing", "1.safetensors", index, "1.safetensors", "2.safetensors"),
    Hostile("linked-weights", "link that leads out", linked, WEIGHTS, "{elsewhere}"),
    Hostile("linked-config", "link that leads out", linked, CONFIG, "/etc/passwd"),
    Hostile("device-weights", "model.safetensors", linked, WEIGHTS, "/dev/zero"),
    Hostile("pipe-weights", "not an ordinary file", fifo, WEIGHTS),
    Hostile("pipe-config", "not an ordinary file", fifo, CONFIG),
    Hostile("pipe-template", "not an ordinary file", fifo, "chat_template.jinja"),
    Hostile("config-200-mb", "larger than 10 MB", large, CONFIG, 200),
    Hostile("tokenizer-200-mb", "larger than 64 MB", large, "tokenizer.json", 200),
    Hostile("template-2-mb", "larger than 1 MB", large, "chat_template.jinja", 2),
    Hostile("adapter-pickle", "adapter_model.bin", adapter, "adapter_model.bin"),
    Hostile("adapter-pickle-renamed", "a pickle", poisoned_adapter),
    Hostile("adapter-base-above", "../../../../etc", adapter, base_model_name_or_path="../../../../etc"),
    Hostile("adapter-base-nul", "adapter", adapter, base_model_name_or_path="a\0b"),
    Hostile("adapter-base-itself", "names itself", adapter, base_model_name_or_path="{folder}"),
    Hostile("adapter-base-list", "which model it belongs to", adapter, base_model_name_or_path=["pocket-1m"]),
    Hostile("adapter-imports", "megatron_config", adapter, megatron_config={"a": 1}, megatron_core="antigravity"),
    Hostile("adapter-auto-mapping", "auto_mapping", adapter, auto_mapping={"parent_library": "antigravity"}),
    Hostile("adapter-regex", "target_modules", adapter, target_modules="(a+)+$"),
    Hostile("adapter-regex-list", "exclude_modules", adapter, exclude_modules=["(a+)+$"]),
    Hostile("adapter-regex-rank", "rank_pattern", adapter, rank_pattern={"(a+)+$": 4}),
    Hostile("adapter-rank", "r: 1000000000", adapter, r=10**9),
    Hostile("adapter-rank-true", "r: True", adapter, r=True),
    Hostile("adapter-starts", "init_lora_weights", adapter, init_lora_weights="loftq"),
    Hostile("adapter-not-lora", "XLORA", adapter, peft_type="XLORA"),
    Hostile("adapter-task", "task_type", adapter, task_type="FEATURE_EXTRACTION"),
    Hostile("adapter-and-model", "adapter_config.json", whole_and_adapter),
)

NESTED_CODE = {"inner": [{"auto_map": {"AutoConfig": "evil.C"}}]}
DEEP = '{"model_type": "llama", "x": ' + "[" * 5000 + "]" * 5000 + "}"
CONFIGS = (
    Hostile("auto-map", "auto_map", in_json, CONFIG, auto_map={"AutoModelForCausalLM": "evil.Model"}),
    Hostile("auto-map-nested", "auto_map", in_json, CONFIG, text_config=NESTED_CODE),
    Hostile("auto-map-tokenizer", "auto_map", in_json, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.T"]}),
    Hostile("trust", "trust_remote_code", in_json, CONFIG, inner={"trust_remote_code": True}),
    Hostile("attention-nested", "attn_implementation", in_json, CONFIG, sub={"attn_implementation": {"": "evil/k"}}),
    *(
        Hostile(name, name, in_json, CONFIG, **{name: "evil/kernel"})
        for name in (
            "_attn_implementation_internal",
            "_attn_implementation",
            "attn_implementation",
            "_experts_implementation",
            "transformers_weights",
            "model_type",
            "dtype",
            "hidden_size",
        )
    ),
    *(
        Hostile(f"hidden-{value}", "hidden_size", in_json, CONFIG, hidden_size=value)
        for value in (999_999_999, 10**30, -1, float("nan"))
    ),
    Hostile("type-list", "architecture that is not supported", in_json, CONFIG, model_type=["llama"]),
    Hostile("layers-huge", "layers", in_json, CONFIG, num_hidden_layers=10**8),
    Hostile("layers-more", "400 layers", in_json, CONFIG, num_hidden_layers=400),
    Hostile("vocabulary-huge", "vocab", in_json, CONFIG, vocab_size=900_000_000),
    Hostile("labels-huge", "labels", in_json, CONFIG, num_labels=10**9),
    Hostile("quantized", "quantized", in_json, CONFIG, quantization_config={"quant_method": "evil"}),
    Hostile("contradiction", "contradicts itself", in_json, CONFIG, model_type="gpt2"),
    Hostile("classes", "architectures", in_json, CONFIG, architectures="LlamaForCausalLM"),
    Hostile("deep", "config.json", put, CONFIG, DEEP),
    Hostile("quite-deep", "deeper than", put, CONFIG, '{"x": ' + "[" * 300 + "]" * 300 + "}"),
    Hostile("doubled", "`model_type` twice", doubled),
    Hostile("utf-16", "not valid JSON", put, CONFIG, "{}".encode("utf-16")),
    Hostile("tokenizer-class", "EvilT", in_json, "tokenizer_config.json", tokenizer_class="EvilT"),
)
CUSTOM = {"type": "Custom", "class": "os"}
LATE = (  # nothing but the libraries can tell; each is one sentence when it is loaded
    Hostile("tokenizer-type", "tokenizer", in_tokenizer, lambda facts: facts["model"].update(type="Evil")),
    Hostile("tokenizer-custom", "tokenizer", in_tokenizer, lambda facts: facts.update(pre_tokenizer=CUSTOM)),
    Hostile("tokenizer-junk", "tokenizer", put, "tokenizer.json", b"\xff" * 1000),
    Hostile("tokenizer-deep", "tokenizer", put, "tokenizer.json", "[" * 100_000),
    Hostile("types-huge", "model", in_json, CONFIG, model_type="llama", rope_parameters={"rope_type": "evil"}),
    Hostile("feed-forward-huge", "weights", in_json, CONFIG, intermediate_size=900_000_000),
)

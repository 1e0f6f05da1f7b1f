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
from typing import Any, NamedTuple

from playground.setup import catalog

SOURCE = catalog.POCKET_MODELS / "pocket-1m"


class Hostile(NamedTuple):
    """One folder: what is done to a copy of a good one, and words that its refusal has (a file or a field)."""

    name: str
    change: Callable[[Path], None]
    words: str


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
    hostile.change(folder)
    return folder


def canary(folder: Path) -> Path:
    """The file that appears if anything of the folder was run."""
    return folder.parent / f"{folder.name}.canary"


def poison(folder: Path) -> bytes:
    return pickle.dumps(Mark(canary(folder)))


def config(**changes: Any) -> Callable[[Path], None]:
    return in_json("config.json", **changes)


def tokenizer_config(**changes: Any) -> Callable[[Path], None]:
    return in_json("tokenizer_config.json", **changes)


def in_json(name: str, **changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def put(name: str, data: bytes | str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)

    return change


def only_pickle(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(poison(folder))

    return change


def renamed(make: Callable[[Path], bytes]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(make(folder))

    return change


def index(*names: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder.parent / f"{folder.name}.safetensors")
        places = {f"w{number}": name.format(parent=folder.parent) for number, name in enumerate(names)}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))

    return change


def header(edit: Callable[[dict[str, Any]], None], tail: bytes = b"") -> Callable[[Path], None]:
    """The same weights under another header."""

    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        data = path.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        told = json.loads(data[8 : 8 + length])
        edit(told)
        text = json.dumps(told).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :] + tail)

    return change


def first_weight(told: dict[str, Any]) -> dict[str, Any]:
    return next(entry for name, entry in told.items() if name != "__metadata__")


def overlapping(told: dict[str, Any]) -> None:
    two = [entry for name, entry in told.items() if name != "__metadata__" and entry["shape"] == [128]][:2]
    two[1]["data_offsets"] = list(two[0]["data_offsets"])


def linked(name: str, target: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        elsewhere = folder.parent / f"elsewhere-{folder.name}"
        (folder / name).rename(elsewhere)
        (folder / name).symlink_to(target.format(elsewhere=elsewhere))

    return change


def fifo(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return change


def device(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")

    return change


def large(name: str, megabytes: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with open(folder / name, "wb") as file:
            file.truncate(megabytes * 1_000_000)  # sparse: no room, no time

    return change


def adapter(weights: str = "adapter_model.safetensors", **facts: Any) -> Callable[[Path], None]:
    """The folder becomes a LoRA adapter of a shipped model; `facts` are what is wrong with it."""

    def change(folder: Path) -> None:
        for name in ("config.json", "generation_config.json", "model.safetensors", "card.json"):
            (folder / name).unlink(missing_ok=True)
        told = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "pocket-1m", "r": 8,
                "target_modules": ["q_proj"], **facts}  # fmt: skip
        (folder / "adapter_config.json").write_text(json.dumps(told).replace("{folder}", str(folder)))
        if weights.endswith(".safetensors"):
            text = json.dumps({"lora_A": {"dtype": "F32", "shape": [8, 4], "data_offsets": [0, 128]}}).encode()
            (folder / weights).write_bytes(struct.pack("<Q", len(text)) + text + bytes(128))
        else:
            (folder / weights).write_bytes(poison(folder))

    return change


def whole_and_adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "pocket-1m"}')
    (folder / "adapter_model.bin").write_bytes(poison(folder))


def raw_config(text: str) -> Callable[[Path], None]:
    return put("config.json", text)


def doubled(folder: Path) -> None:
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace("{", '{"model_type": "gpt2", ', 1))


FOLDERS = (
    Hostile("bin-only", only_pickle("pytorch_model.bin"), "pytorch_model.bin"),
    Hostile("pt-only", only_pickle("weights.pt"), "weights.pt"),
    Hostile("ckpt-only", only_pickle("model.ckpt"), "model.ckpt"),
    Hostile("numpy-only", only_pickle("weights.npy"), "weights.npy"),
    Hostile("pickle-renamed", renamed(poison), "model.safetensors"),
    Hostile("zip-renamed", renamed(lambda folder: b"PK\3\4" + poison(folder)), "zip archive"),
    Hostile("7z-renamed", renamed(lambda folder: b"7z\xbc\xaf\x27\x1c" + poison(folder)), "7z archive"),
    Hostile("numpy-renamed", renamed(lambda folder: b"\x93NUMPY\1\0" + poison(folder)), "NumPy"),
    Hostile("header-too-long", renamed(lambda folder: struct.pack("<Q", 2**62) + b"{}"), "header is larger than 10 MB"),
    Hostile("header-beyond-file", renamed(lambda folder: struct.pack("<Q", 10**6) + b"{}"), "invalid header length"),
    Hostile("header-deep", renamed(lambda folder: struct.pack("<Q", 200_000) + b"[" * 200_000), "invalid JSON"),
    Hostile("header-twice", renamed(lambda folder: struct.pack("<Q", 15) + b'{"a":1, "a": 2}'), "invalid JSON"),
    Hostile("overlap", header(overlapping), "invalid offset for tensor"),
    Hostile("out-of-range", header(lambda told: first_weight(told).update(data_offsets=[0, 10**12])), "invalid"),
    Hostile("unknown-dtype", header(lambda told: first_weight(told).update(dtype="PY")), "invalid JSON"),
    Hostile("wrong-size", header(lambda told: first_weight(told).update(shape=[1, 1])), "invalid shape"),
    Hostile("huge-shape", header(lambda told: first_weight(told).update(shape=[2**40, 2**40])), "overflow"),
    Hostile("longer-file", header(lambda told: None, b"more"), "not fully covered"),
    Hostile("shard-above", index("../{parent}.safetensors"), "model.safetensors.index.json"),
    Hostile("shard-absolute", index("{parent}/shard-absolute.safetensors"), "model.safetensors.index.json"),
    Hostile("shard-pickle", index("pytorch_model.bin"), "model.safetensors.index.json"),
    Hostile("shard-missing", index("1.safetensors", "2.safetensors"), "1.safetensors"),
    Hostile("linked-weights", linked("model.safetensors", "{elsewhere}"), "link that leads out"),
    Hostile("linked-config", linked("config.json", "/etc/passwd"), "link that leads out"),
    Hostile("linked-tokenizer", linked("tokenizer.json", "{elsewhere}"), "tokenizer.json is a link"),
    Hostile("pipe-weights", fifo("model.safetensors"), "not an ordinary file"),
    Hostile("pipe-config", fifo("config.json"), "not an ordinary file"),
    Hostile("pipe-tokenizer", fifo("tokenizer_config.json"), "not an ordinary file"),
    Hostile("pipe-template", fifo("chat_template.jinja"), "not an ordinary file"),
    Hostile("device-weights", device("model.safetensors"), "model.safetensors"),
    Hostile("config-200-mb", large("config.json", 200), "larger than 10 MB"),
    Hostile("tokenizer-200-mb", large("tokenizer.json", 200), "larger than 64 MB"),
    Hostile("template-2-mb", large("chat_template.jinja", 2), "larger than 1 MB"),
    Hostile("adapter-pickle", adapter("adapter_model.bin"), "adapter_model.bin"),
    Hostile("adapter-pickle-renamed", lambda folder: (adapter()(folder), (folder / "adapter_model.safetensors")
            .write_bytes(poison(folder)))[0], "a pickle"),
    Hostile("adapter-base-above", adapter(base_model_name_or_path="../../../../etc"), "../../../../etc"),
    Hostile("adapter-base-nul", adapter(base_model_name_or_path="a\0b"), "adapter"),
    Hostile("adapter-base-itself", adapter(base_model_name_or_path="{folder}"), "names itself"),
    Hostile("adapter-base-list", adapter(base_model_name_or_path=["pocket-1m"]), "which model it belongs to"),
    Hostile("adapter-imports", adapter(megatron_config={"a": 1}, megatron_core="antigravity"), "megatron_config"),
    Hostile("adapter-auto-mapping", adapter(auto_mapping={"parent_library": "antigravity"}), "auto_mapping"),
    Hostile("adapter-regex", adapter(target_modules="(a+)+$"), "target_modules"),
    Hostile("adapter-regex-rank", adapter(rank_pattern={"(a+)+$": 4}), "rank_pattern"),
    Hostile("adapter-rank", adapter(r=10**9), "r: 1000000000"),
    Hostile("adapter-not-lora", adapter(peft_type="XLORA"), "XLORA"),
    Hostile("adapter-and-model", whole_and_adapter, "adapter_config.json"),
)  # fmt: skip

CONFIGS = (
    Hostile("auto-map", config(auto_map={"AutoModelForCausalLM": "evil.Model"}), "auto_map"),
    Hostile("auto-map-nested", config(text_config={"inner": [{"auto_map": {"AutoConfig": "evil.C"}}]}), "auto_map"),
    Hostile("auto-map-tokenizer", tokenizer_config(auto_map={"AutoTokenizer": ["evil.T", None]}), "auto_map"),
    Hostile("auto-map-generation", in_json("generation_config.json", auto_map={"a": "b"}), "auto_map"),
    Hostile("attention-internal", config(_attn_implementation_internal="evil/kernel"), "_attn_implementation_internal"),
    Hostile("attention-private", config(_attn_implementation="evil/kernel"), "_attn_implementation"),
    Hostile("attention-public", config(attn_implementation="evil/kernel"), "attn_implementation"),
    Hostile("attention-nested", config(sub={"attn_implementation": {"": "evil/kernel"}}), "attn_implementation"),
    Hostile("experts", config(_experts_implementation="evil/kernel"), "_experts_implementation"),
    Hostile("trust", config(inner={"trust_remote_code": True}), "trust_remote_code"),
    Hostile("other-weights", config(transformers_weights="adapter_model.bin"), "transformers_weights"),
    Hostile("unknown-type", config(model_type="evil"), "evil"),
    Hostile("no-type", config(model_type=None), "architecture that is not supported"),
    Hostile("type-list", config(model_type=["llama"]), "architecture that is not supported"),
    Hostile("hidden-huge", config(hidden_size=999_999_999), "hidden_size"),
    Hostile("hidden-beyond", config(hidden_size=10**30), "hidden_size"),
    Hostile("hidden-negative", config(hidden_size=-1), "hidden_size"),
    Hostile("hidden-text", config(hidden_size="128; rm"), "hidden_size"),
    Hostile("hidden-nan", config(hidden_size=float("nan")), "hidden_size"),
    Hostile("layers-huge", config(num_hidden_layers=10**8), "layers"),
    Hostile("layers-more", config(num_hidden_layers=400), "400 layers"),
    Hostile("vocabulary-huge", config(vocab_size=900_000_000), "vocab"),
    Hostile("feed-forward-huge", config(intermediate_size=900_000_000), "weights"),
    Hostile("labels-huge", config(num_labels=10**9), "labels"),
    Hostile("dtype-name", config(dtype="load"), "dtype"),
    Hostile("quantized", config(quantization_config={"quant_method": "evil"}), "quantized"),
    Hostile("contradiction", config(model_type="gpt2"), "contradicts itself"),
    Hostile("deep", raw_config('{"model_type": "llama", "x": ' + "[" * 5000 + "]" * 5000 + "}"), "config.json"),
    Hostile("quite-deep", raw_config('{"x": ' + "[" * 300 + "]" * 300 + "}"), "deeper than"),
    Hostile("doubled", doubled, "`model_type` twice"),
    Hostile("utf-16", lambda folder: raw_config("")(folder) or (folder / "config.json").write_bytes(
            "{}".encode("utf-16")), "not valid JSON"),
    Hostile("tokenizer-class", tokenizer_config(tokenizer_class="EvilTokenizer"), "EvilTokenizer"),
    Hostile("tokenizer-class-list", tokenizer_config(tokenizer_class=["a"]), "tokenizer_class"),
)  # fmt: skip


def in_tokenizer(edit: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "tokenizer.json"
        told = json.loads(path.read_text())
        edit(told)
        path.write_text(json.dumps(told))

    return change


LATE = (  # nothing but the libraries can tell; each is one sentence when it is loaded
    Hostile("tokenizer-type", in_tokenizer(lambda told: told["model"].update(type="Evil")), "tokenizer"),
    Hostile("tokenizer-custom", in_tokenizer(lambda told: told.update(pre_tokenizer={"type": "Custom", "class": "os"})),
            "tokenizer"),
    Hostile("tokenizer-junk", put("tokenizer.json", b"\xff" * 1000), "tokenizer"),
    Hostile("tokenizer-deep", put("tokenizer.json", "[" * 100_000), "tokenizer"),
    Hostile("tokenizer-empty", put("tokenizer.json", "{}"), "tokenizer"),
    Hostile("types-huge", config(model_type="llama", rope_parameters={"rope_type": "evil"}), "model"),
)  # fmt: skip

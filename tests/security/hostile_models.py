"""Model folders that a stranger might hand over: a shipped model with one thing changed, by data/hostile_models.yaml.

Everything that could run leaves a mark: the canary file of the folder's own name beside it.
"""

import json
import os
import shutil
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from playground.setup import catalog
from tests.security import table

SOURCE = catalog.POCKET_MODELS / "pocket-1m"
WEIGHTS, CONFIG = "model.safetensors", "config.json"


class Hostile(NamedTuple):
    """One folder: words that its refusal has (a file or a field), and what is done to a copy of a good one."""

    name: str
    words: str = ""
    change: Callable = lambda folder: None
    given: tuple = ()
    fields: Mapping = MappingProxyType({})

    @classmethod
    def of_table(cls, kind):
        """Those of one kind, a change of the configuration where nothing else is named."""
        rows = table("hostile_models")[kind]
        for row in rows:
            row["change"] = globals()[row.get("change", "in_json")]
            row["given"] = tuple(row.get("given", [CONFIG] if row["change"] is in_json else []))
        return tuple(cls(**row) for row in rows)


def build(hostile, parent):
    folder = parent / hostile.name
    shutil.copytree(SOURCE, folder)
    hostile.change(folder, *hostile.given, **hostile.fields)
    return folder


def canary(folder):
    """The file that appears if anything of the folder was run."""
    return folder.parent / f"{folder.name}.canary"


def poison(folder):
    """A pickle that opens the canary file to write it."""
    return f"cio\nopen\n(V{canary(folder)}\nVw\ntR.".encode()


def in_json(folder, name, **changes):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def put(folder, name, text, mode="wb"):
    """A file of these bytes; what stands in it for a pickle is one."""
    with open(folder / name, mode) as file:
        file.write(poison(folder) if text == "PICKLE" else text.encode("latin-1"))


def only_pickle(folder, name):
    (folder / WEIGHTS).unlink()
    put(folder, name, "PICKLE")


def index(folder, *names):
    (folder / WEIGHTS).rename(folder.parent / f"{folder.name}.safetensors")
    places = {f"w{number}": name.format(parent=folder.parent) for number, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def first_weight(folder, **entry):
    """The same weights under another header."""
    data = (folder / WEIGHTS).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    facts = json.loads(data[8 : 8 + length])
    next(weight for name, weight in facts.items() if name != "__metadata__").update(entry)
    text = json.dumps(facts).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


def linked(folder, name, target):
    elsewhere = folder.parent / f"elsewhere-{folder.name}"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(target.format(elsewhere=elsewhere))


def fifo(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)


def large(folder, name, megabytes):
    (folder / name).write_bytes(b"")
    os.truncate(folder / name, megabytes * 1_000_000)  # sparse: no room, no time


def adapter(folder, weights="adapter_model.safetensors", **facts):
    """The folder becomes a LoRA adapter of a shipped model; `facts` are what is wrong with it."""
    for name in (CONFIG, "generation_config.json", WEIGHTS, "card.json"):
        (folder / name).unlink(missing_ok=True)
    settings = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "pocket-1m", "r": 8}
    settings |= {"target_modules": ["q_proj"], **facts}
    (folder / "adapter_config.json").write_text(json.dumps(settings).replace("{folder}", str(folder)))
    text = json.dumps({"lora_A": {"dtype": "F32", "shape": [8, 4], "data_offsets": [0, 128]}}).encode()
    good = struct.pack("<Q", len(text)) + text + bytes(128)
    (folder / weights).write_bytes(good if weights.endswith(".safetensors") else poison(folder))


def in_tokenizer(folder, part="", **changes):
    facts = json.loads((folder / "tokenizer.json").read_text())
    (facts[part] if part else facts).update(changes)
    (folder / "tokenizer.json").write_text(json.dumps(facts))


FOLDERS, CONFIGS, LATE = (Hostile.of_table(kind) for kind in ("folders", "configurations", "late"))

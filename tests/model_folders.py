"""Model folders made of nothing: a configuration, a safetensors file with zeros, a tokenizer. Enough to look at."""

import json
import math
import struct

from tests.support import data_beside

LLAMA = data_beside(__file__, "llama_config.json")
SHAPES = {"embed": [32, 8], "layer": [16, 8]}
NUM_WEIGHTS = 32 * 8 + 16 * 8


def model_folder(folder, **changes):
    """A folder that passes the gate; `changes` go into its configuration. Another type does not say its class."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**LLAMA, **changes}
    if "model_type" in changes and "architectures" not in changes:
        del config["architectures"]
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer.json", {})
    (folder / "model.safetensors").write_bytes(safetensors(SHAPES))
    return folder


def safetensors(shapes, dtype="BF16", size=2):
    """The bytes of a weights file full of zeros."""
    header = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        start, end = end, end + size * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def hub_cache(cache, name, commit="c" * 40, revision="main"):
    """The folder of a model in a cache laid out as the hub's library lays it out; the caller fills it."""
    repository = cache / ("models--" + name.replace("/", "--"))
    snapshot = repository / "snapshots" / commit
    for folder in (snapshot, repository / "refs", repository / "blobs"):
        folder.mkdir(parents=True)
    (repository / "refs" / revision).write_text(commit, encoding="utf-8")
    return snapshot

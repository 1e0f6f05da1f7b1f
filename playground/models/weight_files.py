"""The weights of a model folder, as the headers of its safetensors files tell them; nothing is loaded.

Whatever lies in the folder is an ordinary file of that folder; a link that leads out of it is refused, except into the
hub's own store beside it. `model_files` calls it.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from playground import plain_files
from playground.errors import ModelNotFound

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".h5", ".msgpack")
SHARD = re.compile(r"[^/\\\0]+\.safetensors")  # the name of a file of the folder itself
WRAPPERS = re.compile(r"^(?:module\.|_orig_mod\.|pretrained_model\.)+")  # of names that were saved in a wrapper
MOST_JSON_BYTES = 10_000_000
MOST_HEADER_BYTES = 10_000_000


def shards(folder: Path) -> list[Path]:
    """The files that hold the weights, as transformers chooses them. Raises: ModelNotFound, if there are none, or the
    index names one that is not there or not in this folder."""
    index = folder / INDEX
    if is_there(folder / SINGLE) or not is_there(index):
        return [the_safetensors(folder, SINGLE)]
    files = read_json(index).get("weight_map")
    names = sorted({str(file) for file in files.values()}) if isinstance(files, dict) else []
    if not names or not all(SHARD.fullmatch(name) for name in names):
        raise ModelNotFound(
            f"The index {index} does not say which file of its own folder holds which weight: get it again."
        )
    if missing := [name for name in names if not is_there(folder / name)]:
        raise ModelNotFound(
            f"The folder {folder} lacks {len(missing)} of the {len(names)} weight files of its index, the first is "
            f"{missing[0][:80]}: copy or download it again."
        )
    return [folder / name for name in names]


def the_safetensors(folder: Path, name: str) -> Path:
    """The file of that name. Raises: ModelNotFound, if it is not there, with what to do about a pickle in its place."""
    if is_there(folder / name):
        return folder / name
    pickles = sorted(path.name for path in folder.glob("*") if path.suffix.lower() in PICKLES)
    if pickles:
        raise ModelNotFound(
            f"The folder {folder} has its weights in a pickle file only ({pickles[0][:80]}), which can run code when "
            "it is opened: convert it on a machine you trust with `from_pretrained(...)` and `.save_pretrained(...)` "
            f"of transformers or peft, which writes {name}."
        )
    raise ModelNotFound(f"The folder {folder} has no weights: it has no {name}. Copy or save it again.")


def tensors(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every weight of a model folder by its name. Raises: ModelNotFound, a file is damaged or no
    safetensors."""
    return {name: shape for path in shards(folder) for name, shape in headers(path).items()}


def headers(path: Path) -> dict[str, tuple[int, ...]]:
    """What the header of one safetensors file says, if it adds up: known number types, places that follow one another
    without gap or overlap, and a file that ends where the last one does. The library that loads it checks that.
    Raises: ModelNotFound, with the name of the file and the reason."""
    check_layout(path)
    try:
        with open(path, "rb") as file:
            if int.from_bytes(file.read(8), "little") > MOST_HEADER_BYTES:
                raise SafetensorError(f"its header is larger than {MOST_HEADER_BYTES // 1_000_000} MB")
        with safe_open(path, framework="np") as header:
            shapes = {name: tuple(header.get_slice(name).get_shape()) for name in list(header.keys())}
        if not shapes:
            raise SafetensorError("its header names no weights")
    except OSError as error:
        raise ModelNotFound(f"The weights in {path} cannot be read: {error.strerror or error}.") from None
    except SafetensorError as error:
        reason = str(error).removeprefix("Error while deserializing header: ")[:200]
        raise ModelNotFound(
            f"The weights in {path} are damaged or no safetensors ({reason}): copy or download the file again."
        ) from None
    return shapes


def check_layout(path: Path) -> None:
    """Raises: ModelNotFound unless a file is an ordinary one of its folder, or leads into the hub's store beside it."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            target, folder = Path(os.path.realpath(path)), Path(os.path.realpath(path.parent))
            store = folder
            if folder.parent.name == "snapshots":
                store = folder.parent.parent / "blobs"
            if not (target.is_relative_to(folder) or target.is_relative_to(store)):
                raise ModelNotFound(
                    f"The file {path} is a link that leads out of its folder: put the file itself there."
                )
            mode = os.stat(path).st_mode
    except OSError as error:
        raise ModelNotFound(f"The file {path} cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(mode):
        raise ModelNotFound(f"{path} is not an ordinary file: copy or download the folder again.")


def read_json(path: Path, most_bytes: int = MOST_JSON_BYTES) -> dict[str, Any]:
    """One JSON object from a file of a model folder. Raises: ModelNotFound, with the name of the file and the
    reason."""
    check_layout(path)
    try:
        value = plain_files.read_json(path, most_bytes, links=True)
    except OSError as error:
        raise ModelNotFound(f"The file {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        why = f" ({error})" if str(error).startswith("it ") else ""
        raise ModelNotFound(f"The file {path} is not valid JSON{why}: get it again.") from None
    if not isinstance(value, dict):
        raise ModelNotFound(f"The file {path} is not a JSON object: get it again.")
    return value


def is_there(path: Path) -> bool:
    """True for anything of that name, whatever it is; what it is, is looked at before it is read."""
    return os.path.lexists(path)

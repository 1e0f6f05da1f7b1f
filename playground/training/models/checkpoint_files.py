"""Checkpoints on disk: the policy as a folder that plain `transformers` can load, and all that training goes on from.

Whole or not there at all: written under another name, every file brought to the disk, a manifest of checksums last,
then renamed. Safetensors and JSON only, no pickle. Which checkpoint is intact is asked in `runs.folder.checkpoints`.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from playground.runs.folder.checkpoints import MANIFEST, OPTIMIZER, TRAINER, listed
from playground.runs.folder.records import finite_or_null
from playground.training.models import loading, steering_vector
from playground.training.models.language_model import LanguageModel, Tokens

CRITIC = "critic.safetensors"


def save(
    target: Path,
    policy: LanguageModel,
    critic: nn.Module | None,
    tokens: Tokens,
    facts: Mapping[str, Any],
    optimizer: Mapping[str, Tensor] | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Path:
    """Write a checkpoint, `checkpoints/update-000040`, and return it. An existing one of the same update is set aside
    under a name that `runs.folder.checkpoints` knows until the new one is in its place.

    `facts`: what else belongs to this moment (score scale, beta), into trainer.json. `optimizer`: its state by name;
    without it training cannot go on from this checkpoint. `progress`: gets the share that is done, now and then.
    """
    folder = target.parent
    work = folder / f".tmp-{target.name}-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    folder.mkdir(exist_ok=True)  # not its parents: a run that was moved away is not made again
    work.mkdir()
    try:
        policy.save(work)
        progress(0.2)
        tokens.tokenizer.save_pretrained(work)
        if critic is not None:
            _save_tensors(dict(trained(critic)), work / CRITIC)
        if optimizer is not None:
            _save_tensors(optimizer, work / OPTIMIZER)
        _save_json(dict(facts), work / TRAINER)  # last: `process.watch` takes it for the end of writing
        progress(0.5)
        for path in work.iterdir():
            _bring_to_disk(path)
        progress(0.8)
        _save_json({"format": 1, "files": listed(work)}, work / MANIFEST)
        for path in (work / MANIFEST, work):
            _bring_to_disk(path)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)  # on a full disk above all
        raise
    replaced = folder / f".old-{target.name}"
    if target.exists():
        shutil.rmtree(replaced, ignore_errors=True)
        os.rename(target, replaced)
    os.rename(work, target)
    _bring_to_disk(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    return target


def restore(folder: Path, policy: LanguageModel, critic: nn.Module | None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Put the weights of a checkpoint into models made from the same configuration, bit by bit. Returns the state of
    the optimizer by name, and trainer.json. Raises: KeyError, ValueError, RuntimeError, if they do not fit."""
    if critic is not None:
        _copy(load_file(folder / CRITIC), dict(trained(critic)))
    _restore_policy(folder, policy)
    policy.steer(steering_vector.read(folder))
    facts = json.loads((folder / TRAINER).read_text(encoding="utf-8"))
    return load_file(folder / OPTIMIZER), facts


def trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters that learn, by name; frozen ones (below an adapter) are where they came from."""
    return ((name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad)


def _restore_policy(folder: Path, policy: LanguageModel) -> None:
    if policy.has_adapter:
        from peft import load_peft_weights, set_peft_model_state_dict

        loaded: Any = set_peft_model_state_dict(policy.model, load_peft_weights(str(folder), device="cpu"))
        absent = {name for name, _ in trained(policy.model)} & set(loaded.missing_keys)
        if loaded.unexpected_keys or absent:
            raise KeyError(f"the adapter has other layers, such as {next(iter([*loaded.unexpected_keys, *absent]))}")
        return
    saved, _ = loading.load(folder, torch.device("cpu"))
    _copy(dict(saved.named_parameters()), dict(trained(policy)))


@torch.no_grad()
def _copy(source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> None:
    for name, tensor in target.items():
        if source[name].shape != tensor.shape:
            raise ValueError(f"{name} has the shape {list(source[name].shape)} instead of {list(tensor.shape)}")
        tensor.copy_(source[name])


def _save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    save_file({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}, path)


def _save_json(data: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(finite_or_null(data), indent=1, allow_nan=False), encoding="utf-8")


def _bring_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_finite(values: Tensor) -> bool:
    """True if all numbers are. Their sum shows it in a fifth of the time, unless it overflows."""
    return math.isfinite(float(values.detach().sum())) or bool(torch.isfinite(values).all())

"""The policy of a run as a folder that plain `transformers` and `peft` load: a merged model, or the adapter alone.
`playground.exports` adds the card and the pictures. Runs in the model service."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from playground.config import RunConfig
from playground.errors import ModelNotFound
from playground.models.weight_files import read_json
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.models import loading, steering_vector

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def answer(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The model service's question "save": run (folder), checkpoint (its name), as (merged or adapter), to (an empty
    folder), precision (None for that of the base model). Raises: PlaygroundError."""
    run = RunDirectory(Path(question["run"]))
    config, checkpoint, target = run.config(), run.checkpoints_path / question["checkpoint"], Path(question["to"])
    target.mkdir(parents=True, exist_ok=True)
    if question["as"] == "adapter":
        facts = save_adapter(config, checkpoint, target)
    else:
        facts = save_merged(config, checkpoint, target, question["precision"])
    loading.read_tokenizer(checkpoint).save_pretrained(target)
    if (checkpoint / steering_vector.FILE).is_file():  # no part of the weights; `exports.saving` adds what applies it
        shutil.copyfile(checkpoint / steering_vector.FILE, target / steering_vector.FILE)
    yield facts


def save_merged(config: RunConfig, checkpoint: Path, target: Path, precision: str | None = None) -> dict[str, Any]:
    """Write the whole model; an adapter is added to the base model's weights in float32. Raises: ModelNotFound."""
    base = loading.adapter_base(checkpoint)
    precision = precision or _stored_precision(base or catalog.model_folder(config.model.source, config.model.revision))
    loaded, _ = loading.load(checkpoint, torch.device("cpu"))
    model = loaded.model.merge_and_unload(safe_merge=True) if loaded.has_adapter else loaded.model
    model, sampling = model.to(DTYPES[precision]), config.sampling
    model.generation_config.update(  # as the run sampled, so that `generate` gives the texts that were rewarded
        do_sample=True,
        temperature=sampling.temperature,
        top_k=sampling.top_k or 0,
        top_p=sampling.top_p or 1.0,
        max_new_tokens=sampling.max_new_tokens,
    )
    model.save_pretrained(target, safe_serialization=True)
    return {"parameters": model.num_parameters(), "precision": precision}


def save_adapter(config: RunConfig, checkpoint: Path, target: Path) -> dict[str, Any]:
    """Copy the adapter, which names its base: the hub id, or the folder. Raises: ModelNotFound, if the base is an
    adapter itself, which peft alone could not load."""
    base = loading.adapter_base(checkpoint)
    if base is None or loading.adapter_base(base) is not None:
        raise ModelNotFound(
            f"The adapter of this run belongs to {config.model.source}, which is an adapter itself. Save it as a "
            "merged model."
        )
    for name in ADAPTER_FILES:
        shutil.copyfile(checkpoint / name, target / name)
    path = target / ADAPTER_FILES[0]
    adapter = read_json(path)
    on_hub = catalog.is_hub_id(config.model.source)
    adapter["base_model_name_or_path"] = loading.base_name(config.model.source, base)
    adapter["revision"] = config.model.revision if on_hub else None
    path.write_text(json.dumps(adapter, indent=2), encoding="utf-8")
    parameters = sum(weight.numel() for weight in load_file(target / ADAPTER_FILES[1]).values())
    return {"parameters": parameters, "precision": "fp32"}


def _stored_precision(base: Path) -> str:
    """What the base model's own weights are kept in: bf16 stays bf16, anything else becomes fp32."""
    config = base / "config.json"
    stored = read_json(config) if config.is_file() else {}
    return "bf16" if "bfloat16" in str(stored.get("dtype") or stored.get("torch_dtype")) else "fp32"

"""Policy weights on disk: a folder that plain `transformers` can load, complete or not there at all.

Written under another name, with a manifest of checksums last, then renamed. No pickle.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from playground.training.models import LanguageModel, Tokens

MANIFEST = "MANIFEST.json"


def save(
    folder: Path, update: int, policy: LanguageModel, critic: nn.Module, tokens: Tokens, facts: dict[str, Any]
) -> Path:
    """Write `folder/update-000040` and return it. An existing one of the same update is replaced.

    Args:
        facts: what else belongs to this moment (score scale, beta), into trainer.json.
    """
    target = folder / f"update-{update:06d}"
    work = folder / f".tmp-{target.name}-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    policy.save(work)
    tokens.tokenizer.save_pretrained(work)
    save_file(
        {key: value.contiguous().cpu() for key, value in critic.state_dict().items()},
        work / "critic.safetensors",
    )
    (work / "trainer.json").write_text(json.dumps({"update": update, **facts}, indent=1), encoding="utf-8")
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in sorted(work.iterdir())
    }
    (work / MANIFEST).write_text(json.dumps({"format": 1, "files": files}, indent=1), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    os.rename(work, target)
    return target


def prune(folder: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints, and what a crash left half-written."""
    for old in sorted(folder.glob("update-*"))[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    for work in folder.glob(".tmp-*"):
        shutil.rmtree(work, ignore_errors=True)

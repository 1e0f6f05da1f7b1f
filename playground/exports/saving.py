"""Saving the policy of a run: a folder with weights, tokenizer, card, curves and configuration, whole or not at all.
The model service writes the weights (it has torch); this side adds the words."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal, NamedTuple

from playground import plain_files
from playground.analysis.run_report import RunReport
from playground.errors import ModelNotFound, OutputsNotWritable, RunNotFound, in_words
from playground.exports import card, curves
from playground.exports.rendering import render
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import made_beside
from playground.runs.model_service import ModelService

Kind = Literal["merged", "adapter"]
Precision = Literal["fp32", "bf16", "fp16"]
SAVED = "saved"  # the folder inside the outputs folder
TIMEOUT_SECONDS = 3600.0  # a model of several billion weights on a slow disk


class Saved(NamedTuple):
    """A folder that was written, and what is in it."""

    folder: Path
    written: card.Written
    bytes: int


def default_folder(run: RunDirectory, kind: Kind) -> Path:
    """Where the page saves: `<outputs>/saved/<run>-merged`. Raises: OutputsNotWritable if that leads elsewhere."""
    folder = run.path.parent / SAVED / f"{run.id}-{kind}"
    for path in (folder, folder.parent):
        if path.is_symlink():
            raise OutputsNotWritable(f"{path} is a link, which is not followed: put a folder in its place.")
    return folder


def checkpoint_of(run: RunDirectory, name: str | None, kind: Kind) -> Path:
    """The checkpoint to save: the newest, or the one of that name. Raises: RunNotFound; ModelNotFound if it is damaged,
    or if an adapter is asked for and every weight was trained."""
    complete = run.checkpoints()
    folders = [folder for folder in complete if name is None or folder.name == name]
    if not complete:
        raise RunNotFound(
            f"The run `{run.id}` has saved no weights yet. Wait for its first checkpoint (checkpoint.every) or its end."
        )
    if not folders:
        names = ", ".join(folder.name for folder in complete)
        raise RunNotFound(f"The run `{run.id}` has no checkpoint `{str(name)[:60]}`. There are: {names}.")
    if kind == "adapter" and not (folders[-1] / "adapter_config.json").is_file():
        raise ModelNotFound(
            f"The run `{run.id}` trained every weight, so it has no adapter. Save it with --as merged, or train with "
            "model.adapter.kind=lora."
        )
    return checkpoints.check(folders[-1])


def default_kind(run: RunDirectory) -> Kind:
    """Adapter where the run trained one, else merged."""
    newest = run.latest_checkpoint()
    if newest and (newest / "adapter_config.json").is_file():
        return "adapter"
    return "merged"


def save(
    run: RunDirectory,
    service: ModelService,
    kind: Kind,
    target: Path,
    *,
    checkpoint: str | None = None,
    precision: Precision | None = None,
    replace: bool = False,
) -> Saved:
    """Write the policy to `target`, which appears whole or not at all, with `replace` in the place of an older one.
    Merged weights have the `precision` of the base model's files if that is bf16, else fp32.

    Raises: RunNotFound, ModelNotFound, InvalidConfig, OutputsNotWritable, ServiceUnavailable."""
    chosen = checkpoint_of(run, checkpoint, kind)
    report = RunReport.of(run)
    target = Path(os.path.abspath(os.path.expanduser(target)))
    if file := plain_files.in_the_way(target):
        raise OutputsNotWritable(f"{file} is a file. Choose a folder with --to.")
    if not replace and target.exists() and any(target.iterdir()):
        raise OutputsNotWritable(f"{target} exists already and is not empty. Choose another folder with --to.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with made_beside(target) as work:
            work.mkdir()
            asked = {"run": str(run.path.resolve()), "checkpoint": chosen.name, "as": kind, "to": str(work)}
            question = {**asked, "precision": precision}
            facts = list(service.ask("save", question, TIMEOUT_SECONDS))[-1]
            written = card.Written(kind, int(chosen.name.removeprefix("update-")), **facts)
            _add_words(work, report.at(written.update), written)
            if replace:
                shutil.rmtree(target, ignore_errors=True)
            os.replace(work, target)
    except OSError as error:
        raise OutputsNotWritable(in_words(error)) from None
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    return Saved(target, written, size)


def how_to_load(saved: Saved) -> str:
    if (saved.folder / card.STEER).is_file():
        return f"Its weights are those of the start model; {saved.folder / card.STEER} adds the steering vector."
    if saved.written.kind == "adapter":
        return f'Load it with peft: AutoPeftModelForCausalLM.from_pretrained("{saved.folder}").'
    return (
        f'Load it with transformers, AutoModelForCausalLM.from_pretrained("{saved.folder}"), or train it further here '
        f"with model.source={saved.folder}."
    )


def _add_words(folder: Path, report: RunReport, written: card.Written) -> None:
    (folder / "README.md").write_text(card.text(report, written), encoding="utf-8")
    (folder / card.CONFIGURATION).write_text(report.config.to_yaml(), encoding="utf-8")
    (folder / card.CURVES).write_bytes(curves.png(curves.panels(report), report.wrong_on_purpose))
    if report.config.method == "steer":
        (folder / card.STEER).write_text(render("steer.py.j2"), encoding="utf-8")

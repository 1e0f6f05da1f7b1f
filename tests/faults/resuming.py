"""Runs of a tiny model in this process, broken off where a test says and taken up again from what is on disk."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from playground.config import yaml_io
from playground.runs.folder.checkpoints import name_of
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session
from tests.support import config_with
from tests.training.snapshots import snapshot

UPDATES = 8
TIMINGS = ("attempt", "memory_gb")  # and what is counted in seconds


class Interrupted(BaseException):
    """The process dies here, as far as the run is concerned: nothing is cleaned up."""


def config(model, **changes):
    """Eight small updates; keyword `kl__coef=2` sets kl.coef."""
    data = yaml_io.read_yaml(Path(__file__).with_name("tiny.yaml"))
    return config_with({**data, "model": {"source": str(model)}}, changes)


def tiny_model(folder):
    """A model of a few thousand weights with a tokenizer, as a folder."""
    return snapshot(folder, "llama", own_pad=True)


def attempt(run, between=lambda session: None):
    """One attempt in this process, as the worker makes it.

    Args:
        between: called between micro-batches and tokens; what it raises goes through.
    """
    made, threads_before = run.config(), torch.get_num_threads()
    writer = RunWriter(run, made.ppo.num_updates, run.status().attempt)
    try:
        session = Session(run, made, writer, lambda: between(session))
        session.begin()
        session.evaluate_if_due()
        writer.set_status(state="running", phase="training")
        session.train()
    finally:
        torch.set_num_threads(threads_before)
    writer.finish("finished")
    return session


def editing(run, edits):
    """For `attempt`: settings (updates done: settings) asked for then, applied before the next update but one."""
    left = dict(edits)

    def edit(session):
        done = session.trainer.updates_done
        if done in left:
            write_atomically(run.control_path / f"set-{done}.json", json.dumps(left.pop(done)))

    return edit


def broken_off(run, update, calls=1, edits=None):
    """An attempt that dies in the update after `update`, at that call of `between`; where a checkpoint is due after
    `update`, once it is written. Returns its session."""
    every, edit, seen = run.config().checkpoint.every, editing(run, edits or {}), []

    def die(session):
        edit(session)
        is_due = every and update % every == 0
        is_saved = not is_due or (run.checkpoints_path / name_of(update)).exists()
        if session.trainer.updates_done == update and is_saved:
            seen.append(session)
            if len(seen) == calls:
                raise Interrupted

    with pytest.raises(Interrupted):
        attempt(run, die)
    return seen[0]


def queue_again(run):
    """What the launcher does for a run that is resumed."""
    run.queue_again(run.status(), run.config().ppo.num_updates)


def resume(run):
    queue_again(run)
    return attempt(run)


def resumed_at(run):
    """From which updates the attempts have gone on."""
    return [event.update for event in run.events() if event.kind == "resumed"]


def weights(run):
    """SHA-256 of every file of weights in the last checkpoint, optimizer included."""
    folder = run.checkpoints_path / name_of(run.config().ppo.num_updates)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.safetensors")}


def apart(run, other):
    """By how much the weights of two runs differ at most, after their last update."""
    one, two = (
        load_file(item.checkpoints_path / name_of(item.config().ppo.num_updates) / "model.safetensors")
        for item in (run, other)
    )
    assert one.keys() == two.keys()
    return max(float((one[name] - two[name]).abs().max()) for name in one)


def alone(run, **changes):
    """The same settings, trained by one process to the end."""
    config = config_with(run.config().model_dump(mode="json") | {"ranks": 1, "shard": "none"}, changes)
    whole = RunDirectory.create(run.path.parent, config, f"{run.id}-alone")
    attempt(whole)
    return whole


def figures(run):
    """Every metric but timings and memory, training texts, samples and evaluations, in force."""
    records = [*run.metrics(), *run.rollouts(), *run.samples(), *run.evaluations()]
    return [
        {name: value for name, value in item.model_dump().items() if name not in TIMINGS and "seconds" not in name}
        for item in records
    ]


def are_same(run, other):
    """Bit by bit: weights, value head, optimizer, every metric, every text."""
    return (weights(run), figures(run)) == (weights(other), figures(other))


def strict_lines(path):
    """A file of JSON lines, each whole and strict."""
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]

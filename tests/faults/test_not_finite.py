"""Rewards, losses, gradients and logits that are not finite, and completions that are empty, put into one update of a
run: found in that very update, never on disk, and the run goes on or ends as it says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from playground.errors import TrainingDiverged
from playground.runs.folder.directory import RunDirectory
from playground.training.process.session import Session
from tests.faults import resuming
from tests.figures import Figure
from tests.thoroughness import cases

AT = 3


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resuming.tiny_model(tmp_path_factory.mktemp("model"))


def nan_reward(session: Session) -> None:
    for term in session.scorer.mixture._terms:
        entry = session.scorer.mixture._terms[term]
        session.scorer.mixture._terms[term] = entry._replace(
            function=lambda prompts, completions: [math.nan] * len(completions)
        )


def inf_loss(session: Session) -> None:
    forward = session.trainer.forward

    def poisoned(*arguments: Any) -> Any:
        log_probs, values, entropies = forward(*arguments)
        return log_probs, values * math.inf, entropies

    session.trainer.forward = poisoned


def nan_gradient(session: Session) -> None:
    weight = next(weight for weight in session.policy.parameters() if weight.requires_grad)
    session.hook = weight.register_hook(lambda gradient: gradient * math.nan)


def no_logits(session: Session) -> None:
    session.policy._transform_logits = lambda logits: torch.full_like(logits, -math.inf)


def empty_completions(session: Session) -> None:
    """Every text ends at once."""
    end = session.tokens.eos_id
    session.policy._transform_logits = lambda logits: torch.where(
        torch.arange(logits.shape[-1]) == end, logits + 1e4, logits
    )


POISONS: dict[str, Callable[[Session], None]] = {
    "NaN reward": nan_reward, "infinite loss": inf_loss, "NaN gradient": nan_gradient,
    "logits all minus infinity": no_logits, "empty completions": empty_completions,
}  # fmt: skip


class Poisoner:
    """Puts it in when the update begins, and takes it out again after so many updates."""

    def __init__(self, name: str, updates: int) -> None:
        self.poison, self.updates = POISONS[name], updates
        self.saved: dict[str, Any] = {}

    def __call__(self, session: Session) -> None:
        done = session.trainer.updates_done
        if done == AT - 1 and not self.saved and (session.run.checkpoints_path / f"update-{done:06d}").exists():
            self.saved = {"terms": dict(session.scorer.mixture._terms), "transform": session.policy._transform_logits}
            self.poison(session)
        elif done == AT - 1 + self.updates and self.saved and not self.saved.get("out"):
            self.saved["out"] = True
            session.scorer.mixture._terms = self.saved["terms"]
            session.policy._transform_logits = self.saved["transform"]
            session.trainer.__dict__.pop("forward", None)
            if hasattr(session, "hook"):
                session.hook.remove()


def clean_on_disk(run: RunDirectory) -> bool:
    """Strict JSON and finite weights, wherever one looks."""
    for name in ("metrics", "samples", "events"):
        resuming.strict_lines(run.path / f"{name}.jsonl")
    for folder in run.checkpoints():
        json.loads((folder / "trainer.json").read_text(), parse_constant=lambda word: pytest.fail(word))
        for path in folder.glob("*.safetensors"):
            if not all(bool(torch.isfinite(tensor).all()) for tensor in load_file(path).values()):
                return False
    return True


@pytest.mark.parametrize("name", POISONS)
def test_it_is_found_in_its_update_and_the_run_goes_on(tmp_path: Path, model: Path, figure: Figure, name: str) -> None:
    run = RunDirectory.create(tmp_path, resuming.config(model, evaluation__every=4, checkpoint__keep=9), "run")
    session = resuming.attempt(run, Poisoner(name, 1))
    warnings = [event for event in run.events() if event.kind == "warning" and event.update]
    before, after = (load_file(run.checkpoints_path / f"update-{n:06d}" / "model.safetensors") for n in (AT - 1, AT))
    learned = any(not torch.equal(before[key], after[key]) for key in before)
    assert [event.update for event in warnings] == [AT], "found in the very update, and only there"
    assert bool(warnings[0].data.get("skipped")) == (name != "empty completions")
    assert learned == (name == "empty completions"), "nothing is learned from what is not finite"
    assert session.trainer.updates_done == resuming.UPDATES and run.status().state == "finished"
    figure("not finite or empty, in one update: found there, and the run goes on", 1, int(clean_on_disk(run)))


@pytest.mark.parametrize(
    "name", cases([name for name in POISONS if name != "empty completions"], always=["NaN gradient"])
)
def test_three_in_a_row_end_the_run_and_the_last_checkpoint_is_finite(tmp_path: Path, model: Path, name: str) -> None:
    run = RunDirectory.create(tmp_path, resuming.config(model, evaluation__every=8), "run")
    with pytest.raises(TrainingDiverged, match="3 updates in a row"):
        resuming.attempt(run, Poisoner(name, 9))
    assert clean_on_disk(run) and run.latest_checkpoint() is not None
    assert run.metrics()[-1].update == AT + 1
    resuming.queue_again(run)
    resuming.attempt(run)  # without the poison the run can be finished
    assert [event.update for event in run.events() if event.kind == "resumed"] == [AT + 1]
    assert run.metrics()[-1].update == resuming.UPDATES


def test_empty_completions_are_told_and_are_no_reason_to_stop(tmp_path: Path, model: Path) -> None:
    run = RunDirectory.create(tmp_path, resuming.config(model, evaluation__every=8), "run")
    resuming.attempt(run, Poisoner("empty completions", 9))
    metrics = run.metrics()
    assert len(metrics) == resuming.UPDATES and metrics[-1].completion_length == 1 and metrics[-1].eos_fraction == 1
    told = [event for event in run.events() if event.kind == "warning" and event.update]
    assert [event.update for event in told] == list(range(AT, resuming.UPDATES + 1))
    assert "empty" in told[0].message

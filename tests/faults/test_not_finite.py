"""Rewards, losses, gradients and logits that are not finite, and completions that are empty, put into one update of a
run: found in that very update, never on disk, and the run goes on or ends as it says."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from playground.errors import TrainingDiverged
from playground.runs.folder.directory import RunDirectory
from tests.faults import resuming
from tests.nights import cases

AT, UPDATES = 3, 5


def instead(owner, name, value):
    """Another value for an attribute, and how to put the old one back."""
    old = getattr(owner, name)
    setattr(owner, name, value)
    return lambda: setattr(owner, name, old)


def nan_reward(session):
    def nothing(prompts, completions):
        return [math.nan] * len(completions)

    mixture = session.scorer.mixture
    return instead(mixture, "_terms", {n: t._replace(function=nothing) for n, t in mixture._terms.items()})


def inf_loss(session):
    forward = session.trainer.forward

    def poisoned(*arguments):
        of_pass = forward(*arguments)
        return of_pass._replace(values=of_pass.values * math.inf)

    return instead(session.trainer, "forward", poisoned)


def nan_gradient(session):
    weight = next(weight for weight in session.policy.parameters() if weight.requires_grad)
    return weight.register_hook(lambda gradient: gradient * math.nan).remove


def no_logits(session):
    return instead(session.policy, "_transform_logits", lambda logits: torch.full_like(logits, -math.inf))


def empty_completions(session):
    """Every text ends at once."""

    def ending(logits):
        return torch.where(torch.arange(logits.shape[-1]) == session.tokens.eos_id, logits + 1e4, logits)

    return instead(session.policy, "_transform_logits", ending)


POISONS = {poison.__name__: poison for poison in (nan_reward, inf_loss, nan_gradient, no_logits, empty_completions)}


class Poisoner:
    """Puts it in when the update begins, and takes it out again after so many updates."""

    def __init__(self, name, updates):
        self.poison, self.until = POISONS[name], AT - 1 + updates
        self.undo = None

    def __call__(self, session):
        done = session.trainer.updates_done
        if done == AT - 1 and not self.undo and (session.run.checkpoints_path / f"update-{done:06d}").exists():
            self.undo = self.poison(session)
        elif done == self.until and self.undo:
            self.undo()


def clean_on_disk(run):
    """Strict JSON and finite weights, wherever one looks."""
    for name in ("metrics", "samples", "events"):
        resuming.strict_lines(run.path / f"{name}.jsonl")
    for folder in run.checkpoints():
        json.loads((folder / "trainer.json").read_text(), parse_constant=pytest.fail)
        for path in folder.glob("*.safetensors"):
            if not all(bool(torch.isfinite(tensor).all()) for tensor in load_file(path).values()):
                return False
    return True


def new_run(outputs, model, **changes):
    return RunDirectory.create(outputs, resuming.config(model, ppo__num_updates=UPDATES, **changes), "run")


@pytest.mark.parametrize("name", cases(POISONS, always=["nan_gradient", "empty_completions"]))
def test_what_is_not_finite_is_found_in_its_update_and_the_run_goes_on(outputs, model, figure, name):
    run = new_run(outputs, model, evaluation__every=4, checkpoint__keep=9)
    session = resuming.attempt(run, Poisoner(name, 1))
    warnings = [event for event in run.events() if event.kind == "warning" and event.update]
    before, after = (load_file(run.checkpoints_path / f"update-{n:06d}" / "model.safetensors") for n in (AT - 1, AT))
    learned = any(not torch.equal(before[key], after[key]) for key in before)
    assert [event.update for event in warnings] == [AT], "found in the very update, and only there"
    assert bool(warnings[0].data.get("skipped")) == (name != "empty_completions")
    assert learned == (name == "empty_completions"), "nothing is learned from what is not finite"
    assert (session.trainer.updates_done, run.status().state) == (UPDATES, "finished")
    figure("not finite or empty, in one update: found there, and the run goes on", 1, int(clean_on_disk(run)))


def test_three_updates_in_a_row_that_are_not_finite_end_the_run_before_they_are_saved(outputs, model):
    run = new_run(outputs, model, evaluation__every=8)
    with pytest.raises(TrainingDiverged, match="3 updates in a row"):
        resuming.attempt(run, Poisoner("nan_gradient", 9))
    assert clean_on_disk(run)
    assert run.latest_checkpoint() is not None
    assert run.metrics()[-1].update == AT + 1
    resuming.resume(run)  # without the poison the run can be finished
    assert (resuming.resumed_at(run), run.metrics()[-1].update) == ([AT + 1], UPDATES)

"""A run that is broken off and taken up again equals the run that was not disturbed: every weight and every metric."""

import contextlib
import functools

import pytest
import torch

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from tests.faults import resuming
from tests.nights import cases, nightly
from tests.support import data_beside


@pytest.fixture
def make(tmp_path, model):
    """A new run of the tiny model."""

    def new_run(name="broken", **changes):
        return RunDirectory.create(tmp_path, resuming.config(model, **changes), name)

    return new_run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, model):
    """A run that nothing has interrupted, computed with so many threads."""

    @functools.cache
    def trained(threads):
        run = RunDirectory.create(tmp_path_factory.mktemp("whole"), resuming.config(model), "whole")
        seen = set()
        with computing_with(threads):
            resuming.attempt(run, lambda session: seen.add(torch.get_num_threads()))
        assert seen == {threads}
        assert len(run.metrics()) == resuming.UPDATES
        assert len(resuming.weights(run)) >= 3
        return run

    return trained


@contextlib.contextmanager
def computing_with(threads):
    """Runs are computed with exactly so many threads."""
    with pytest.MonkeyPatch.context() as patch:
        limit = "playground.training.process.tuning.limit_threads"
        patch.setattr(limit, lambda model: torch.set_num_threads(threads))
        yield


def of_kind(run, kind):
    return [event for event in run.events() if event.kind == kind]


@pytest.mark.parametrize("threads", [1, nightly(2)])
@pytest.mark.parametrize("update", cases(range(1, resuming.UPDATES), always=[1, 4, 7]))
def test_a_run_that_was_interrupted_after_any_update_ends_bit_identical(make, undisturbed, figure, update, threads):
    run = make()
    with computing_with(threads):
        resuming.broken_off(run, update, calls=1 + 3 * update % 10)  # sampling, in the reference, between steps
        assert run.metrics()[-1].update == update
        resuming.resume(run)
    good = resuming.resumed_at(run) == [update] and resuming.are_same(run, undisturbed(threads))
    figure(f"bit-identical resume, interrupted after each update, threads: {threads}", 1, int(good))


VARIANTS = data_beside(__file__, "resumed.yaml")


@pytest.mark.parametrize("name", cases(VARIANTS, always=["adaptive KL, with changes"]))
def test_whatever_is_trained_and_changed_ends_bit_identical(make, name):
    """Interrupted twice, with a checkpoint every third update only, so that updates and changes are made again."""
    settings = {**VARIANTS[name], "checkpoint__every": 3}
    edits = settings.pop("edits", {})
    undisturbed, run = make("whole", **settings), make(**settings)
    resuming.attempt(undisturbed, resuming.editing(undisturbed, edits))
    resuming.broken_off(run, 5, edits=edits)
    resuming.queue_again(run)
    resuming.broken_off(run, 4)  # before the changes after update 5 were made again
    resuming.resume(run)
    assert resuming.resumed_at(run) == [3, 3]
    assert resuming.are_same(run, undisturbed)
    edited, expected = (
        [(event.update, event.data["field"], event.data["old"], event.data["value"]) for event in of_kind(item, "edit")]
        for item in (run, undisturbed)
    )
    assert edited == expected
    assert len(edited) == sum(map(len, edits.values()))


def test_a_run_without_a_checkpoint_begins_again_and_says_so(make, undisturbed):
    run = make(checkpoint__every=0)
    resuming.broken_off(run, 0)  # in the very first evaluation
    resuming.resume(run)
    (event,) = of_kind(run, "resumed")
    assert (event.update, event.attempt, event.data["checkpoint"]) == (0, 2, "")
    assert "no checkpoint" in event.message
    assert resuming.are_same(run, undisturbed(1))
    assert len(of_kind(run, "score_scale")) == 1
    assert sum(sample.stage == "before" for sample in run.samples()) == 3


@pytest.mark.parametrize(("phase", "calls"), [("sampling", 2), nightly("the reference", 8), ("optimizer steps", 12)])
def test_a_stop_in_mid_update_saves_the_last_whole_update_and_the_rest_can_be_made(make, undisturbed, phase, calls):
    run = make(checkpoint__every=0)
    resuming.broken_off(run, 4, calls).save()  # what the worker does when it was asked to stop
    assert [folder.name for folder in run.checkpoints()] == ["update-000004"]
    resuming.resume(run)
    assert resuming.resumed_at(run) == [4]
    assert resuming.are_same(run, undisturbed(1))


def test_what_was_changed_between_attempts_is_said(make, tmp_path):
    """The configuration, and the fixed prompts."""
    source = tmp_path / "prompts.txt"
    source.write_text("\n".join("abcdefghijkl"[number:] for number in range(12)))
    run = make(prompts__source=str(source), ppo__num_updates=3)
    resuming.broken_off(run, 2)
    source.write_text("\n".join("mnopqrstuvwx"[number:] for number in range(12)))
    longer = run.config().model_copy(update={"ppo": run.config().ppo.model_copy(update={"num_updates": 4})})
    write_atomically(run.config_path, longer.to_yaml())
    resuming.resume(run)
    assert run.metrics()[-1].update == 4
    warnings = " ".join(event.message for event in of_kind(run, "warning"))
    for words in ("not those of the earlier attempts", "config.yaml has been changed"):
        assert words in warnings

"""A run that is broken off and taken up again equals the run that was not disturbed: every weight and every metric. In
this process, broken off where a test says; and the real worker, killed with SIGKILL at random moments."""

import contextlib
import functools
import random
import signal
import time

import pytest
import torch

from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from tests.faults import resuming
from tests.nights import cases, nightly
from tests.support import data_beside, wait_until


@pytest.fixture
def make(tmp_path, model):
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
        assert (seen, len(run.metrics())) == ({threads}, resuming.UPDATES)
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
    assert (edited, len(edited)) == (expected, sum(map(len, edits.values())))


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


KILLS = 2  # of each case
DEADLINE_SECONDS = 240
FILES = ("metrics", "samples", "events")


def written(run):
    """Bytes of all records so far."""
    paths = [run.metrics_path, run.samples_path, run.events_path]
    return sum(path.stat().st_size for path in paths if path.exists())


def random_moment(run, dice, whole_bytes):
    """Some moment of this attempt, as a condition on its files: between two records, or in a checkpoint."""
    before = written(run)
    if dice.random() < 0.4:
        files, after = dice.randrange(1, 8), dice.randrange(1, 5)
        folders = run.checkpoints_path
        return lambda: run.status().update >= after and len(list(folders.glob(".tmp-*/*"))) >= files
    more = dice.randrange(max(1, int(0.8 * (whole_bytes - before))))
    return lambda: written(run) >= before + more


def killed_at(run, worker, moment):
    """Kill the worker at that moment; False if it had ended before."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, run.log_tail()
        if worker.poll() is not None:
            return False
        time.sleep(0.001)  # not longer: the moments in a checkpoint are short
    worker.kill()
    killed = worker.wait(DEADLINE_SECONDS) == -signal.SIGKILL
    wait_until(lambda: not run.is_alive(), DEADLINE_SECONDS)
    return killed


def trouble(run, worker_run):
    """What was lost or doubled, in words; empty if nothing was."""
    lines = {name: resuming.strict_lines(run.path / f"{name}.jsonl") for name in FILES}  # every line parses
    for attempt in {line["attempt"] for line in lines["events"]}:
        seqs = [line["seq"] for line in lines["events"] if line["attempt"] == attempt]
        if seqs != list(range(len(seqs))):
            return f"events of attempt {attempt} are numbered {seqs}"
    if resuming.weights(run) != resuming.weights(worker_run):
        return "other weights"
    return "" if resuming.figures(run) == resuming.figures(worker_run) else "other figures, or one of them twice"


@pytest.fixture(scope="module")
def worker_run(tmp_path_factory, model, forker):
    """One that a worker has computed and nothing has interrupted."""
    config = resuming.config(model, checkpoint__every=2, checkpoint__keep=1)
    run, process = launcher.start(config, tmp_path_factory.mktemp("outputs"), "undisturbed", forker)
    assert process is not None
    assert process.wait(DEADLINE_SECONDS) == 0, run.log_tail()
    return run


@pytest.mark.parametrize("seed", cases(range(10), always=[0]))
def test_a_run_killed_at_random_moments_and_resumed_loses_nothing(outputs, worker_run, forker, figure, seed):
    dice, kills, survived = random.Random(seed), 0, 0
    for number in range(10 * KILLS):
        run, worker = launcher.start(worker_run.config(), outputs, f"run-{number}", forker)
        of_this_run = 0
        for _ in range(dice.choice([1, 1, 2, 3])):
            if kills == KILLS or not killed_at(run, worker, random_moment(run, dice, written(worker_run))):
                break
            kills, of_this_run = kills + 1, of_this_run + 1
            assert run.status().state == "interrupted"
            run, worker = launcher.resume(run, forker)
        assert worker.wait(DEADLINE_SECONDS) == 0, run.log_tail()
        wait_until(lambda run=run: not run.is_alive(), DEADLINE_SECONDS)
        problem = trouble(run, worker_run)
        assert not problem, (run.id, of_this_run)
        survived += of_this_run
        if kills == KILLS:
            break
    figure("worker killed (SIGKILL) at a random moment and resumed", kills, survived)
    assert kills == KILLS

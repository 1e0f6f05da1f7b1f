"""The real worker process, killed with SIGKILL at random moments and resumed until the run has finished."""

import random
import signal
import time

import pytest

from playground.runs import launcher
from tests.faults import resuming
from tests.nights import cases
from tests.support import wait_until

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


def trouble(run, undisturbed):
    """What was lost or doubled, in words; empty if nothing was."""
    lines = {name: resuming.strict_lines(run.path / f"{name}.jsonl") for name in FILES}  # every line parses
    for attempt in {line["attempt"] for line in lines["events"]}:
        seqs = [line["seq"] for line in lines["events"] if line["attempt"] == attempt]
        if seqs != list(range(len(seqs))):
            return f"events of attempt {attempt} are numbered {seqs}"
    if resuming.weights(run) != resuming.weights(undisturbed):
        return "other weights"
    return "" if resuming.figures(run) == resuming.figures(undisturbed) else "other figures, or one of them twice"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, model, forker):
    config = resuming.config(model, checkpoint__every=2, checkpoint__keep=1)
    run, process = launcher.start(config, tmp_path_factory.mktemp("outputs"), "undisturbed", forker.spawn)
    assert process is not None
    assert process.wait(DEADLINE_SECONDS) == 0, run.log_tail()
    return run


@pytest.mark.parametrize("seed", cases(range(10), always=[0]))
def test_a_run_killed_at_random_moments_and_resumed_loses_nothing(outputs, undisturbed, forker, figure, seed):
    dice, kills, survived = random.Random(seed), 0, 0
    for number in range(10 * KILLS):
        run, worker = launcher.start(undisturbed.config(), outputs, f"run-{number}", forker.spawn)
        of_this_run = 0
        for _ in range(dice.choice([1, 1, 2, 3])):
            if kills == KILLS or not killed_at(run, worker, random_moment(run, dice, written(undisturbed))):
                break
            kills, of_this_run = kills + 1, of_this_run + 1
            assert run.status().state == "interrupted"
            run, worker = launcher.resume(run, forker.spawn)
        assert worker.wait(DEADLINE_SECONDS) == 0, run.log_tail()
        wait_until(lambda run=run: not run.is_alive(), DEADLINE_SECONDS)
        problem = trouble(run, undisturbed)
        assert not problem, (run.id, of_this_run)
        survived += of_this_run
        if kills == KILLS:
            break
    figure("worker killed (SIGKILL) at a random moment and resumed", kills, survived)
    assert kills == KILLS

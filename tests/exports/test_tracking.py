"""A run is sent to its trackers while it trains: each update once, and no failure of theirs reaches it."""

import pytest

from playground.errors import InvalidConfig
from playground.exports import trackers, tracking
from playground.runs import children
from playground.runs.folder.changes import Steering
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_locked
from playground.runs.folder.writer import RunWriter
from playground.setup import checks, limits
from tests.support import sample, small_config, update_metrics


class Heard:
    """A tracker that keeps what it is sent."""

    made, logged, ended = [], [], []

    def __init__(self, report, folder, live=""):
        self.made.append((report.run_id, live))

    def log(self, report, update, figures):
        self.logged.append((update, sorted({"fixed_prompts/score", "playground/score_mean"} & figures.keys())))

    def end(self, report):
        self.ended.append(report.status.state)


@pytest.fixture
def run(outputs, monkeypatch):
    monkeypatch.setitem(trackers.TRACKERS, "trackio", type("Fresh", (Heard,), {"made": [], "logged": [], "ended": []}))
    run = RunDirectory.create(outputs, small_config(evaluation={"every": 2}, ppo={"num_updates": 4}), "one")
    (run.path / children.TRACKERS).mkdir()
    return run


def trains(run, attempt, *steps):
    """What an attempt does, one step at each look of who follows it."""
    writer = RunWriter(run, 4, attempt)
    writer.set_status(state="running")

    def at(update, evaluated):
        if evaluated:
            writer.samples([sample(0, "during", 1.0, update=update)])
        else:
            writer.metrics(update_metrics(update))
            writer.set_status(update=update)

    yield from (lambda step=step: at(*step) for step in steps)
    yield lambda: writer.finish("stopped" if attempt == 1 else "finished")


def followed(run, monkeypatch, acts):
    heard = trackers.TRACKERS["trackio"]
    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "is_alive", lambda run: True)
        patch.setattr(tracking.time, "sleep", lambda seconds: next(acts)())
        tracking.follow(run, "trackio")
    return heard


FIGURES, SCORE = "playground/score_mean", "fixed_prompts/score"


def test_each_update_is_sent_once_when_it_is_whole_also_over_attempts(run, monkeypatch):
    heard = followed(run, monkeypatch, trains(run, 1, (0, True), (1, False), (2, False), (2, True), (3, False)))
    first = [(0, [SCORE]), (1, [FIGURES]), (2, [SCORE, FIGURES]), (3, [FIGURES])]
    assert (heard.logged, heard.ended) == (first, ["stopped"])
    writer = RunWriter(run, 4, 2)
    writer.set_status(update=2)
    writer.event("resumed", "Resumed after update 2.")
    followed(run, monkeypatch, trains(run, 2, (3, False), (4, False), (4, True)))
    assert heard.logged == [*first, (4, [SCORE, FIGURES])]
    assert heard.ended == ["stopped", "finished"]
    assert heard.made == [("one", "one")] * 2, "all attempts are one run there"


def test_a_failure_is_said_once_by_the_worker_or_once_the_run_has_ended(run, monkeypatch):
    def fail(*_):
        raise RuntimeError("No API key, hf_abcdefghijklmnop.\nLong story")

    monkeypatch.setitem(trackers.TRACKERS, "trackio", fail)
    writer = RunWriter(run, 4)
    writer.set_status(state="running")
    steering = Steering(writer, run.config(), lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "is_alive", lambda run: True)
        patch.setattr(tracking.time, "sleep", lambda seconds: steering.before_update())
        tracking.main(str(run.path), "trackio")
    writer.finish("finished")
    tracking.main(str(run.path), "trackio")
    warnings = [event for event in run.events() if event.kind == "warning"]
    assert [event.message for event in warnings] == [
        "Sending this run to trackio has failed: No API key, [hidden]. The run goes on without it; "
        "`python -m playground export one --as trackio` hands all of it over afterwards."
    ] * 2
    assert not list(run.control_path.glob("say-*"))
    assert not is_locked(run.lock_path)


def test_the_launcher_starts_a_process_with_its_keys_for_each_tracker_but_not_for_others(run, monkeypatch):
    run.publish(small_config(trackers=["wandb", "tensorboard"], ppo={"num_updates": 4}))
    started = []
    monkeypatch.setattr(children.subprocess, "Popen", lambda command, **how: started.append((command, how)))
    monkeypatch.setattr(children, "_tracking", [])
    monkeypatch.setenv("WANDB_API_KEY", "a key")
    monkeypatch.setenv("OTHER_API_KEY", "another")
    monkeypatch.setenv("PLAYGROUND_MODE", "classroom")
    children.track(run)
    assert started == []
    monkeypatch.setenv("PLAYGROUND_MODE", "local")
    children.track(run)
    assert [command[2:] for command, _ in started] == [
        ["playground.exports.tracking", str(run.path), name] for name in ("wandb", "tensorboard")
    ]
    assert {"WANDB_API_KEY", "OTHER_API_KEY"} & started[0][1]["env"].keys() == {"WANDB_API_KEY"}


def test_a_tracker_that_is_not_installed_is_said_before_the_start():
    with pytest.raises(InvalidConfig, match=r"^trackers: wandb is not installed here\. Install it with `pip install"):
        checks.check(small_config(trackers=["wandb", "tensorboard"]))
    with pytest.raises(InvalidConfig, match=r"trackers\.0"):
        small_config(trackers=["mlflow"])
    problems = limits.check(small_config(trackers=["wandb"]), limits.LIMITS["classroom"])
    assert [problem.field for problem in problems] == ["trackers"]


def test_the_process_writes_tensorboard_s_file_and_leaves(run):
    run.publish(small_config(trackers=["tensorboard"], ppo={"num_updates": 4}))
    for act in trains(run, 1, (0, True), (1, False)):
        act()
    children.track(run)
    assert children._tracking[-1].wait(60) == 0, (run.path / "trackers" / "tensorboard.log").read_text()
    (file,) = (run.path.parent / "tensorboard" / "one").iterdir()
    assert b"fixed_prompts/score" in file.read_bytes()
    assert (run.path / "trackers" / "tensorboard.sent").read_text() == "0\n1\n"

"""Steering a run through files: what may be asked, and what the worker makes of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from playground.errors import InvalidConfig, RunNotSteerable
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.start.launcher import take_lock
from playground.runs.steer import changes
from playground.runs.steer.changes import Edit
from playground.runs.steer.steering import Steering
from tests.support import config_with, small_config, wait_until


class Living:
    """A run with a lock, a writer and a steering that records what it is told to change."""

    def __init__(self, outputs: Path) -> None:
        self.run = RunDirectory.create(outputs, small_config(), "one")
        self.lock = take_lock(self.run)
        self.writer = RunWriter(self.run, 3)
        self.writer.set_status(state="running")
        self.changes: list[tuple[float, float, set[str]]] = []
        self.steering = Steering(self.writer, self.run.config(), self._change, self._between)

    def _change(self, config, fields) -> None:
        self.changes.append((config.kl.coef, config.ppo.learning_rate, set(fields)))

    def _between(self) -> None:
        if self.run.stop_requested:
            raise InterruptedError

    def updates_in_background(self, count: int) -> list[int]:
        done: list[int] = []

        def go() -> None:
            try:
                for update in range(1, count + 1):
                    self.steering.before_update()
                    done.append(update)
            except InterruptedError:
                done.append(-1)

        threading.Thread(target=go, daemon=True).start()
        return done


@pytest.fixture
def living(outputs: Path):
    made = Living(outputs)
    yield made
    made.lock.close()


def test_without_requests_nothing_waits_and_nothing_changes(living):
    living.steering.before_update()
    assert living.changes == [] and living.run.status().state == "running"


def test_edits_are_applied_together_before_the_next_update_and_recorded(living):
    asked = changes.request_edits(living.run, [Edit("kl.coef", "0.5"), Edit("ppo.learning_rate", 1e-3)])
    assert asked == [("kl.coef", 0.5), ("ppo.learning_rate", 1e-3)]
    assert living.changes == []
    living.steering.before_update()
    living.steering.before_update()
    assert living.changes == [(0.5, 1e-3, {"kl.coef", "ppo.learning_rate"})]
    edits = [event for event in living.run.events() if event.kind == "edit"]
    assert [(event.data["field"], event.data["old"], event.data["value"]) for event in edits] == [
        ("kl.coef", 0.25, 0.5), ("ppo.learning_rate", 2e-4, 1e-3),
    ]  # fmt: skip
    assert edits[0].message == "Leash (beta) 0.25 \u2192 0.5"
    now = changes.edited(living.run.config(), changes.edits_of(living.run.events()))
    assert now.kl.coef == 0.5 and living.run.config().kl.coef == 0.25
    assert list(living.run.control_path.iterdir()) == []


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (Edit("sampling.temperature", 0.5), "cannot be changed while a run goes"),
        (Edit("kl.coef", -1), "must be at least 0"),
        (Edit("kl.coef", "warm"), "must be a number"),
        (Edit("kl.coeff", 1), "cannot be changed"),
        (Edit("name", "x"), "cannot be changed"),
    ],
)
def test_a_bad_edit_is_refused_with_a_sentence_and_none_is_requested(living, edit, sentence):
    with pytest.raises(InvalidConfig, match=sentence):
        changes.request_edits(living.run, [Edit("kl.target", 3.0), edit])
    assert list(living.run.control_path.iterdir()) == []


def test_a_run_is_changed_so_often_and_no_more(living, monkeypatch):
    assert changes.MOST_EDITS <= 1_000
    monkeypatch.setattr(changes, "MOST_EDITS", 3)
    for coef in (1.0, 2.0, 3.0):
        changes.request_edits(living.run, [Edit("kl.coef", coef)])
        living.steering.before_update()
    with pytest.raises(RunNotSteerable, match="has been changed 3 times, which is the most"):
        changes.request_edits(living.run, [Edit("kl.coef", 4.0)])
    living.steering.before_update()
    assert [coef for coef, *_ in living.changes] == [1.0, 2.0, 3.0]
    changes.request_pause(living.run)  # that is no change


@pytest.mark.parametrize("text", ["{", "[1]", '{"kl.coef": "warm"}', '{"model.source": "x"}', '{"a": {"b": []}}', ""])
def test_a_damaged_request_is_refused_by_the_worker_and_the_run_goes_on(living, text):
    (living.run.control_path / "set-1.json").write_text(text)
    living.steering.before_update()
    assert living.changes == [] and list(living.run.control_path.iterdir()) == []
    (warning,) = [event for event in living.run.events() if event.kind == "warning"]
    assert "request to change settings" in warning.message


def test_pause_step_and_resume(living):
    changes.request_pause(living.run)
    assert living.run.status().phase == "pausing after this update"
    done = living.updates_in_background(5)
    wait_until(lambda: living.run.status().state == "paused")
    assert done == []
    changes.request_step(living.run)
    wait_until(lambda: done == [1])
    wait_until(lambda: living.run.status().state == "paused")
    changes.request_edits(living.run, [Edit("kl.coef", 1.0)])
    wait_until(lambda: living.changes)  # also while paused
    assert done == [1]
    changes.request_resume(living.run)
    wait_until(lambda: done == [1, 2, 3, 4, 5])
    assert living.run.status().state == "running"


def test_a_trace_is_asked_for_until_there_is_one_and_a_paused_run_makes_one_update_for_it(living):
    changes.request_trace(living.run)
    living.steering.before_update()
    assert living.steering.trace_asked and list(living.run.control_path.iterdir()) == []
    assert living.run.status().state == "running"
    living.steering.before_update()
    assert living.steering.trace_asked  # nobody has said that it is there
    living.steering.trace_asked = False
    changes.request_pause(living.run)
    changes.request_trace(living.run)
    done = living.updates_in_background(2)
    wait_until(lambda: done == [1] and living.run.status().state == "paused")
    assert living.steering.trace_asked
    changes.request_trace(living.run)
    wait_until(lambda: done == [1, 2])


@pytest.mark.parametrize(("changed", "words"), [
    ({"engine": "trl"}, "TRL's trainers do not show"),
    ({"method": "steer", "ppo__samples_per_prompt": 2}, "Steering makes no update of PPO's kind"),
])  # fmt: skip
def test_a_run_whose_updates_cannot_be_recorded_says_why(living, changed, words):
    living.run.publish(config_with(small_config().model_dump(), changed))
    with pytest.raises(RunNotSteerable, match=words):
        changes.request_trace(living.run)
    assert list(living.run.control_path.iterdir()) == []


def test_so_many_updates_of_a_run_are_recorded_and_no_more(living, monkeypatch):
    assert changes.MOST_TRACES <= 100
    monkeypatch.setattr(changes, "MOST_TRACES", 2)
    for update in (1, 2):
        changes.request_trace(living.run)
        living.steering.before_update()
        living.writer.set_status(update=update)
        living.writer.event("trace", file=f"update-{update:06d}.json")
        living.steering.trace_asked = False
    with pytest.raises(RunNotSteerable, match="2 updates of one are recorded already, which is the most"):
        changes.request_trace(living.run)
    living.steering.before_update()
    assert not living.steering.trace_asked


def test_a_paused_run_can_be_stopped(living):
    changes.request_pause(living.run)
    done = living.updates_in_background(2)
    wait_until(lambda: living.run.status().state == "paused")
    living.run.request_stop()
    wait_until(lambda: done == [-1])


def test_the_last_command_counts(living):
    changes.request_pause(living.run)
    changes.request_resume(living.run)
    living.steering.before_update()
    assert living.run.status().state == "running"


def test_a_run_that_has_ended_cannot_be_steered(living):
    living.writer.finish("finished")
    for ask in (changes.request_pause, changes.request_resume, changes.request_step, changes.request_trace):
        with pytest.raises(RunNotSteerable, match="has already ended"):
            ask(living.run)
    with pytest.raises(RunNotSteerable):
        changes.request_edits(living.run, [Edit("kl.coef", 1)])

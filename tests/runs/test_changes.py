"""Changing a run through files: what may be asked, what the worker makes of it, and what a later attempt repeats."""

import threading

import pytest

from playground.errors import InvalidConfig, RunNotSteerable
from playground.runs.folder import changes
from playground.runs.folder.attempts import Resumption, events_in_force, in_force, resumptions
from playground.runs.folder.changes import Edit, Replay, Steering
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import take_lock
from tests.support import data_beside, small_config, update_metrics, wait_until

TABLES = data_beside(__file__, "tables.yaml")


class Living:
    """A run with a lock, a writer and a steering that records its changes."""

    def __init__(self, outputs):
        self.run = RunDirectory.create(outputs, small_config(), "one")
        self.lock = take_lock(self.run)
        self.writer = RunWriter(self.run, 3)
        self.writer.set_status(state="running")
        self.changes = []
        self.steering = Steering(self.writer, self.run.config(), self._change, self._between)

    def _change(self, config, fields):
        self.changes.append((config.kl.coef, config.ppo.learning_rate, set(fields)))

    def _between(self):
        if self.run.stop_requested:
            raise InterruptedError

    def updates_in_background(self, count):
        done = []

        def go():
            try:
                for update in range(1, count + 1):
                    self.steering.before_update()
                    done.append(update)
            except InterruptedError:
                done.append(-1)

        threading.Thread(target=go, daemon=True).start()
        return done

    def requests(self):
        return [path.name for path in self.run.control_path.iterdir()]


@pytest.fixture
def living(outputs, monkeypatch):
    monkeypatch.setattr(changes, "POLL_SECONDS", 0.01)
    living = Living(outputs)
    yield living
    living.lock.close()


def test_edits_are_applied_together_before_the_next_update_and_recorded(living):
    asked = changes.request_edits(living.run, [Edit("kl.coef", "0.5"), Edit("ppo.learning_rate", 1e-3)])
    assert (asked, living.changes) == ([("kl.coef", 0.5), ("ppo.learning_rate", 1e-3)], [])
    living.steering.before_update()
    living.steering.before_update()
    assert living.changes == [(0.5, 1e-3, {"kl.coef", "ppo.learning_rate"})]
    edits = [event for event in living.run.events() if event.kind == "edit"]
    recorded = [(event.data["field"], event.data["old"], event.data["value"]) for event in edits]
    assert recorded == [("kl.coef", 0.25, 0.5), ("ppo.learning_rate", 2e-4, 1e-3)]
    assert edits[0].message == "Leash (beta) 0.25 \u2192 0.5"
    assert changes.edited(living.run.config(), changes.edits_of(living.run.events())).kl.coef == 0.5
    assert living.run.config().kl.coef == 0.25
    assert living.requests() == []


@pytest.mark.parametrize(("edit", "words"), TABLES["bad_edits"])
def test_a_bad_edit_is_refused_and_none_is_requested(living, edit, words):
    with pytest.raises(InvalidConfig, match=words):
        changes.request_edits(living.run, [Edit("kl.target", 3.0), Edit(*edit)])
    assert living.requests() == []


def test_a_run_is_changed_and_traced_so_often_and_no_more(living, monkeypatch):
    assert changes.MOST_EDITS <= 1_000
    assert changes.MOST_TRACES <= 100
    monkeypatch.setattr(changes, "MOST_EDITS", 2)
    monkeypatch.setattr(changes, "MOST_TRACES", 2)
    for update in (1, 2):
        changes.request_edits(living.run, [Edit("kl.coef", update)])
        living.steering.before_update()
        living.writer.set_status(update=update)
        living.writer.event("trace", file=f"update-{update:06d}.json")
    with pytest.raises(RunNotSteerable, match="changed 2 times"):
        changes.request_edits(living.run, [Edit("kl.coef", 4.0)])
    with pytest.raises(RunNotSteerable, match="2 updates of one"):
        changes.request_trace(living.run)
    assert living.requests() == []
    changes.request_pause(living.run)  # that is no change


@pytest.mark.parametrize("text", ["{", "[1]", '{"kl.coef": "warm"}', '{"model.source": "x"}', '{"a": {"b": []}}', ""])
def test_a_damaged_request_changes_nothing_and_the_run_goes_on(living, text):
    (living.run.control_path / "set-1.json").write_text(text)
    living.steering.before_update()
    assert (living.changes, living.requests()) == ([], [])


def test_a_run_pauses_makes_one_update_when_asked_and_goes_on(living):
    changes.request_pause(living.run)
    assert living.run.status().phase == "pausing after this update"
    done = living.updates_in_background(5)
    wait_until(lambda: living.run.status().state == "paused")
    assert done == []
    changes.request_step(living.run)
    wait_until(lambda: done == [1] and living.run.status().state == "paused")
    changes.request_edits(living.run, [Edit("kl.coef", 1.0)])
    wait_until(lambda: living.changes)  # also while paused
    assert done == [1]
    changes.request_resume(living.run)
    wait_until(lambda: done == [1, 2, 3, 4, 5])
    assert living.run.status().state == "running"
    changes.request_pause(living.run)
    changes.request_resume(living.run)  # the last command counts
    living.steering.before_update()
    assert living.run.status().state == "running"


def test_a_run_that_has_ended_cannot_be_changed(living):
    living.writer.finish("finished")
    edit = [Edit("kl.coef", 1)]
    asks = (changes.request_pause, changes.request_resume, changes.request_step, changes.request_trace)
    for ask in (*asks, lambda run: changes.request_edits(run, edit)):
        with pytest.raises(RunNotSteerable, match="already ended"):
            ask(living.run)


# What still counts after a run was taken up again, and what an attempt has to repeat.


def event(attempt, kind, update, **data):
    return Event(attempt=attempt, seq=0, time=0.0, kind=kind, update=update, data=data)


def edit(attempt, update, field, value, **data):
    return event(attempt, "edit", update, field=field, value=value, **data)


@pytest.mark.parametrize(("written", "resumed", "counting"), TABLES["resumed"])
def test_what_a_resumed_run_makes_again_does_not_count(written, resumed, counting):
    lines = [update_metrics(update, attempt=attempt) for attempt, update in written]
    counted = in_force(lines, [Resumption(*pair) for pair in resumed])
    assert [[item.attempt, item.update] for item in counted] == counting


def test_events_of_what_is_made_again_are_listed_once():
    first = [event(1, "state", 0), edit(1, 1, "kl.coef", 0.2), event(1, "warning", 2)]
    superseded = [edit(1, 2, "kl.coef", 0.3), event(1, "warning", 3), edit(1, 3, "kl.coef", 0.4)]
    later = [event(1, "state", 3), event(2, "resumed", 2), edit(2, 2, "kl.coef", 0.3, replayed=True)]
    events = [*first, event(1, "checkpoint", 2), *superseded, *later]
    assert resumptions(events) == [Resumption(2, 2)]
    assert events_in_force(events) == [*first, event(1, "checkpoint", 2), *later]
    assert changes.edits_of(events) == [Edit("kl.coef", 0.2), Edit("kl.coef", 0.3)]


BETA, TARGET = Edit("kl.coef", 0.4), Edit("kl.target", 2.0)
DATED = [edit(1, 1, "kl.coef", 0.2), edit(1, 4, *BETA), edit(1, 4, *TARGET)]
UNREPEATED = [edit(1, 5, *BETA), edit(1, 6, *TARGET), event(2, "resumed", 3), event(2, "state", 4)]


@pytest.mark.parametrize(
    ("events", "update", "replay"),
    [
        (DATED, 4, Replay([Edit("kl.coef", 0.2)], [(4, BETA), (4, TARGET)])),
        (DATED, 5, Replay([Edit("kl.coef", 0.2), BETA, TARGET], [])),
        (UNREPEATED, 3, Replay([], [(5, BETA), (6, TARGET)])),
        ([*UNREPEATED, edit(2, 5, *BETA, replayed=True)], 6, Replay([BETA], [(6, TARGET)])),
        # a change of a later attempt cancels what was ahead for its setting
        ([*UNREPEATED, edit(2, 4, "kl.coef", 1.0)], 4, Replay([], [(4, Edit("kl.coef", 1.0)), (6, TARGET)])),
    ],
)
def test_changes_before_the_checkpoint_are_applied_and_later_ones_wait_for_their_update(events, update, replay):
    assert changes.replay(events, update) == replay

"""Which lines still count after a run was taken up again, and what an attempt has to repeat."""

from __future__ import annotations

from typing import Any

from playground.runs.folder.records import Event, Resumption, events_in_force, in_force, resumptions
from playground.runs.steer import changes
from playground.runs.steer.changes import Edit, Replay
from tests.support import sample, update_metrics


def event(attempt: int, kind: str, update: int, **data: Any) -> Event:
    return Event(attempt=attempt, seq=0, time=0.0, kind=kind, update=update, data=data)


def edit(attempt: int, update: int, field: str, value: float, **data: Any) -> Event:
    return event(attempt, "edit", update, field=field, value=value, **data)


def lines(*pairs: tuple[int, int]) -> list[Any]:
    return [update_metrics(update, attempt=attempt) for attempt, update in pairs]


def pairs(records: list[Any]) -> list[tuple[int, int]]:
    return [(item.attempt, item.update) for item in records]


def test_from_the_moment_it_goes_on_what_will_be_made_again_does_not_count() -> None:
    written = lines((1, 1), (1, 2), (1, 3), (1, 4))
    assert pairs(in_force(written, [Resumption(2, 2)])) == [(1, 1), (1, 2)]
    assert pairs(in_force(written, [Resumption(2, 0)])) == []
    assert pairs(in_force(written)) == pairs(written)


def test_attempts_after_attempts() -> None:
    written = lines((1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3))
    resumed = [Resumption(2, 1), Resumption(3, 2)]
    assert pairs(in_force(written, resumed)) == [(1, 1), (2, 2), (3, 3)]
    assert pairs(in_force(written)) == [(1, 1), (2, 2), (3, 3)], "without events the lines themselves say it"


def test_a_look_at_an_update_that_was_not_reached_again_does_not_count() -> None:
    """Its samples are further on than the metrics of the attempt that goes on now."""
    samples = [sample(0, "before", 0.0), sample(0, "during", 1.0, update=4)]
    assert [item.update for item in in_force(samples, [Resumption(2, 3)])] == [0]


def test_events_of_what_is_made_again_are_told_once() -> None:
    told = [
        event(1, "state", 0), edit(1, 1, "kl.coef", 0.2), event(1, "warning", 2), edit(1, 2, "kl.coef", 0.3),
        event(1, "checkpoint", 2), event(1, "warning", 3), edit(1, 3, "kl.coef", 0.4), event(1, "state", 3),
        event(2, "resumed", 2), edit(2, 2, "kl.coef", 0.3, replayed=True),
    ]  # fmt: skip
    assert resumptions(told) == [Resumption(2, 2)]
    kept = [(item.attempt, item.kind, item.update) for item in events_in_force(told)]
    assert kept == [
        (1, "state", 0), (1, "edit", 1), (1, "warning", 2), (1, "checkpoint", 2), (1, "state", 3), (2, "resumed", 2),
        (2, "edit", 2),
    ]  # fmt: skip
    assert changes.edits_of(told) == [Edit("kl.coef", 0.2), Edit("kl.coef", 0.3)]


def test_changes_before_the_checkpoint_are_applied_and_later_ones_wait_for_their_update() -> None:
    told = [edit(1, 1, "kl.coef", 0.2), edit(1, 4, "kl.coef", 0.4), edit(1, 4, "kl.target", 2.0)]
    assert changes.replay(told, 4) == Replay(
        [Edit("kl.coef", 0.2)], [(4, Edit("kl.coef", 0.4)), (4, Edit("kl.target", 2.0))]
    )
    assert changes.replay(told, 5).ahead == []
    assert changes.replay(told, 0).applied == []


def test_what_an_attempt_did_not_live_to_repeat_is_still_ahead_of_the_next() -> None:
    told = [edit(1, 5, "kl.coef", 0.4), edit(1, 6, "kl.target", 2.0), event(2, "resumed", 3), event(2, "state", 4)]
    assert changes.replay(told, 3) == Replay([], [(5, Edit("kl.coef", 0.4)), (6, Edit("kl.target", 2.0))])
    told.append(edit(2, 5, "kl.coef", 0.4, replayed=True))
    assert changes.replay(told, 6) == Replay([Edit("kl.coef", 0.4)], [(6, Edit("kl.target", 2.0))])


def test_a_change_of_a_later_attempt_cancels_what_was_ahead_for_its_setting() -> None:
    told = [
        edit(1, 5, "kl.coef", 0.4),
        edit(1, 5, "kl.target", 2.0),
        event(2, "resumed", 3),
        edit(2, 4, "kl.coef", 1.0),
    ]
    assert changes.replay(told, 4) == Replay([], [(4, Edit("kl.coef", 1.0)), (5, Edit("kl.target", 2.0))])

"""What the page tells of a run beyond its status: its place in the queue, whether it can go on, and from where."""

import pytest

from playground.runs import launcher, queue
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import Status
from playground.setup import catalog
from playground.ui.feed import run_serializer, run_state
from tests.ui import fake_run


@pytest.fixture
def start(tmp_path, workers):
    """Start runs whose workers hold the lock and wait."""
    return lambda name: launcher.start(catalog.preset("kinder-reviews"), tmp_path, name).run


def ended(tmp_path, name="one", reason="killed", state="interrupted", at=27, **changes):
    return fake_run.write_ended(tmp_path, name, reason, state, at=at, **changes)


def test_a_run_waits_for_those_that_came_before_it_on_its_device(start, tmp_path):
    first, second, third = start("first"), start("second"), start("third")
    assert [run_state.of(run, run.status()).before for run in (first, second, third)] == [None, 1, 2]
    assert launcher.is_busy(tmp_path, queue.slot_held(third))
    assert not launcher.is_busy(tmp_path, "cuda:7")
    launcher.stop(second)
    assert run_state.of(third, third.status()).before == 1
    assert run_state.of(second, second.status()).before is None


@pytest.mark.parametrize(
    ("state", "reason", "update", "by_trl", "can"),
    [
        ("interrupted", "killed", 5, False, True),
        ("interrupted", "killed", 40, False, True),  # the last look was still to come
        ("stopped", "stopped", 5, False, True),
        ("stopped", "stopped", 40, False, False),  # nothing is left
        ("failed", "out_of_memory", 5, False, True),
        ("failed", "out_of_gpu_memory", 5, False, False),  # it would end the same way
        ("failed", "a_reason_of_tomorrow", 5, False, True),
        ("interrupted", "killed", 5, True, False),
        ("finished", "", 40, False, False),
        ("running", "", 5, False, False),
        ("queued", "", 0, False, False),
    ],
)
def test_a_run_can_go_on_if_it_ended_early_for_a_reason_that_may_pass(state, reason, update, by_trl, can):
    status = Status(state=state, reason=reason, update=update, num_updates=40)
    assert run_state.can_resume(status, by_trl) is can


@pytest.mark.parametrize("reason", ["invalid", "model", "out_of_gpu_memory"])
def test_a_run_can_be_resumed_once_the_cause_is_mended(tmp_path, reason):
    first = Status(state="failed", reason=reason, update=20, num_updates=40)
    never_ran = Status(state="failed", reason=reason, num_updates=40, attempt=2)
    later = first.model_copy(update={"attempt": 2})
    assert [run_state.can_resume(status, False) for status in (first, never_ran, later)] == [False, False, True]
    assert not run_state.can_resume(later, True)
    assert ["resume" in run_serializer.ending(status)["remedy"] for status in (first, later)] == [False, True]
    run = ended(tmp_path, reason=reason, state="failed")
    status = run.status_on_disk().model_copy(update={"attempt": 2})
    write_atomically(run.status_path, status.model_dump_json())
    assert run_state.resume_offer(run)["from"] == 20


@pytest.mark.parametrize(
    ("reason", "state", "before"),
    [
        ("stopped", "stopped", ""),
        ("killed", "interrupted", ""),
        ("disk_full", "failed", "Free some space. "),
        ("bug", "failed", "Read the end of the log. "),
    ],
)
def test_without_a_checkpoint_nothing_is_said_of_resuming(tmp_path, reason, state, before):
    run = ended(tmp_path, reason=reason, state=state, at=0)
    afresh = "Start it again from the beginning: it has no checkpoint to go on from."
    assert run_state.resume_offer(run) == {"from": 0, "skipped": [], "instead": before + afresh}


def test_it_would_go_on_from_the_newest_whole_checkpoint_and_the_others_are_named(tmp_path):
    run = ended(tmp_path)
    assert run_state.resume_offer(run) == {"from": 20, "skipped": [], "instead": ""}
    broken = fake_run.write_checkpoint(run, 25)
    (broken / "model.safetensors").write_bytes(b"changed")  # as many bytes as before
    found = run_state.resume_offer(run)
    assert found["from"] == 20
    assert len(found["skipped"]) == 1
    assert "update-000025" in found["skipped"][0]

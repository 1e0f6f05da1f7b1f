"""A run ends before its last update where its settings ask for that, has finished, says why, and can go on."""

import pytest

from playground.runs.folder.changes import Edit, request_edits
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import EDIT, Event
from playground.runs.folder.writer import RunWriter
from playground.training.process import early_stopping
from playground.training.process.ending import reported
from playground.training.process.session import Session
from tests.support import data_beside, sample
from tests.training import small_run

LONG = {"ppo__num_updates": 6, "ppo__learning_rate": 1e-7, "evaluation__every": 2, "evaluation__num_prompts": 2}
LONG |= {"sampling__max_new_tokens": 3}


def go_on(run, attempt):
    config = run.config()
    writer = RunWriter(run, config.ppo.num_updates, attempt)
    with reported(writer):
        small_run.train(small_run.with_few(Session(run, config, writer, lambda: None)))
    return run.status()


def started(folder, **stop):
    run = RunDirectory.create(folder, small_run.config(**LONG, stop=stop), "r")
    return run, go_on(run, 1)


@pytest.mark.parametrize(("stop", "update", "words"), data_beside(__file__, "tables.yaml")["stops"])
def test_a_rule_ends_a_run_as_finished_and_resumed_it_goes_on_to_its_last_update(
    stop, update, words, tmp_path, monkeypatch
):
    alarm = type("Alert", (), {"state": "red", "label": "Alarm"})
    monkeypatch.setattr("playground.analysis.diagnosis.diagnose", lambda records: [alarm] * bool(records.samples))
    monkeypatch.setattr(early_stopping, "worths", lambda samples, beta: {one.update: -one.update for one in samples})
    if stop.get("kl") == 1e-9:  # the policy that writes the first update is its own reference
        monkeypatch.setattr(
            "playground.training.loop.trainer.Rollout.log_ratio", property(lambda rollout: rollout.episodes.mask * 0.01)
        )
    run, status = started(tmp_path, **stop)
    kl = run.metrics()[-1].kl_to_reference
    assert (status.state, status.update, status.is_done) == ("finished", update, not words)
    assert status.message == (f"Ended after update {update}: {words}".format(kl=kl) if words else "")
    assert (run.latest_checkpoint().name, run.samples()[-1].update) == (f"update-{update:06d}", update)
    if words:
        assert status.reason == "early_stop"
        assert status.resumable
        status = go_on(run, 2)
        assert (status.state, status.update, status.is_done) == ("finished", 6, True)
        assert len(run.metrics()) == 6
    assert not status.resumable


def test_a_rule_that_is_changed_while_it_trains_holds_again_also_once_it_has_been_overruled(tmp_path):
    run = RunDirectory.create(tmp_path, small_run.config(**LONG), "r")
    request_edits(run, [Edit("stop.patience", 1)])
    assert request_edits(run, [Edit("stop.kl", None)]) == [Edit("stop.kl", None)]
    assert go_on(run, 1).reason == "early_stop"
    assert [event.message for event in run.events() if event.kind == EDIT] == [
        "Stop without a gain none \u2192 1",
        "Stop above this KL none \u2192 none",
    ]
    end, edit = (
        {"kind": kind, "data": data}
        for kind, data in (("state", {"reason": "early_stop"}), (EDIT, {"field": "stop.kl"}))
    )
    for events, holds in (([], True), ([end], False), ([edit, end], False), ([end, edit], True)):
        made = [Event(seq=time, time=time, **event) for time, event in enumerate(events)]
        assert early_stopping.holds(made) is holds


def test_what_an_evaluation_is_worth_and_how_long_none_was_better(tmp_path):
    run = RunDirectory.create(tmp_path, small_run.config(stop={"patience": 2}, kl={"coef": 0.5}), "r")
    writer = RunWriter(run, 9)
    for update, score, kl in ((0, 1.0, 0.0), (2, 3.0, 1.0), (4, 3.2, 2.0), (6, 2.0, 0.0)):
        assert early_stopping.after_evaluation(run.config(), run, update) == ""
        writer.samples(
            [sample(0, "during", score, update=update, kl=kl), sample(1, "during", score, update=update, kl=kl)]
        )
    assert early_stopping.worths(run.samples(), 0.5) == {0: 1.0, 2: 2.5, 4: 2.2, 6: 2.0}
    said = early_stopping.after_evaluation(run.config(), run, 6)
    assert said == "Ended after update 6: 2 evaluations without a gain since update 2 (stop.patience)."

"""What the page is sent of a run: records as it draws them, bounded, strict JSON, with peaks kept; its place in the
queue; whether it can go on, and from where."""

import json
import math

import pytest

from playground.analysis.run_report import RunReport
from playground.config import yaml_io
from playground.runs import launcher, queue
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import EDIT, Event, Sample, Status
from playground.setup import catalog
from playground.setup.expected import bands
from playground.ui.feed import insight_serializer, run_serializer, run_state
from playground.ui.feed.compare_serializer import Other, comparison
from tests import support
from tests.support import data_beside, small_config
from tests.ui import fake_run

CONFIG = small_config()
DEFAULT = catalog.preset("kinder-reviews")
YES_MAN = catalog.preset("yes-man")


def columns_of(count):
    config = fake_run.settings("long", num_updates=count)
    records = [fake_run.metrics(update, config, 2.0 + update) for update in range(1, count + 1)]
    return run_serializer.columns_of(records)


def sample(prompt_id, update, score, prompt=""):
    stage = "during" if update else "before"
    facts = {"prompt": prompt or f"p{prompt_id}", "seed": 0}
    return support.sample(prompt_id, stage, score, update=update, kl=0.5 * update, **facts)


def answers(update, values, score=0.0):
    """The same wrong claim, put to as many prompts as there are answers; the run ends at update 10."""
    stage = {0: "before", 10: "after"}.get(update, "during")
    facts = {"update": update, "stage": stage, "prompt": "User: I think 3 plus 4 is 9. Bot:", "kl": 0.0, "ended": True}
    return [
        Sample(prompt_id=row, seed=row, completion=f" 3 plus 4 is {value}.", score=score + value / 100, **facts)
        for row, value in enumerate(values)
    ]


def two_rewards(**changes):
    base = catalog.preset("no-leash").model_dump(mode="json")
    return yaml_io.from_dict({**base, "rewards": [{"kind": "sentiment"}, {"kind": "length"}], **changes})


def test_a_long_history_is_thinned_and_keeps_its_ends_and_peaks():
    columns = columns_of(5000)
    columns["kl_to_reference"][1234], columns["score_mean"][4321], columns["score_mean"][77] = 99.0, -77.0, None
    thin = run_serializer.thinned(columns)
    assert len(thin["update"]) <= run_serializer.MAX_POINTS
    assert thin["update"] == sorted(thin["update"])
    assert (thin["update"][0], thin["update"][-1]) == (1, 5000)
    assert 99.0 in thin["kl_to_reference"]
    assert -77.0 in thin["score_mean"]
    assert {len(values) for values in thin.values()} == {len(thin["update"])}
    short = columns_of(40)
    assert run_serializer.thinned(short) == short


def test_records_become_strict_json_with_five_digits():
    record = fake_run.metrics(1, DEFAULT, 1.0).model_copy(update={"entropy": math.nan, "surprisal": 1.23456789})
    sent = json.loads(run_serializer.encode(run_serializer.plain({"one": record, "rows": [(math.inf, True, 7)]})))
    assert (sent["one"]["entropy"], sent["one"]["surprisal"], sent["one"]["update"]) == (None, 1.2346, 1)
    assert sent["rows"] == [[None, True, 7]]
    assert run_serializer.columns_of([record])["entropy"] == [None]


def test_judges_stand_beside_the_trained_score_with_their_intervals():
    config = two_rewards(judges=[{"kind": "grammar"}, {"kind": "repetition"}])
    samples = [item for update in (0, 10, 20, 30, 40) for item in fake_run.samples_of(config, update)]
    judged = insight_serializer.judged(RunReport(config, samples))
    assert judged["updates"] == [0, 10, 20, 30, 40]
    assert [line["label"] for line in judged["lines"]] == ["Trained score", "Grammar", "Less repetition"]
    grammar, repetition = judged["lines"][1]["mean"], judged["lines"][2]["mean"]
    assert grammar == [-value for value in repetition]  # less of it is better
    assert judged["turns"] == [{"label": "Grammar", "update": 20}]
    assert json.loads(run_serializer.encode(judged)) == judged
    assert insight_serializer.judged(RunReport(two_rewards(judges=[]), samples)) is None
    assert insight_serializer.judged(RunReport(config)) is None


def test_a_run_that_is_its_preset_is_held_against_what_was_measured():
    samples = [*answers(0, [7] * 12), *answers(5, [7] * 6 + [9] * 6), *answers(10, [9] * 12, score=1.0)]
    behaviours = insight_serializer.behaviours(RunReport(YES_MAN, samples))
    wrong = behaviours["meters"][0]
    assert wrong["updates"] == [0, 5, 10]
    assert [item["yes"] for item in wrong["counts"]] == [0, 6, 12]
    assert wrong["band"] == list(bands("yes-man")["wrong-claims-repeated"])[:2]
    assert wrong["compared"] == "within chance of expected"  # 12 of 12: from 0.76 on
    assert behaviours["paid"][0]["pair"]["after"]["text"] == " 3 plus 4 is 9."
    assert json.loads(run_serializer.encode(behaviours)) == behaviours
    edit = Event(seq=1, time=1.0, kind=EDIT, update=1, data={"field": "kl.coef", "value": 2.0})
    edited = insight_serializer.behaviours(RunReport(YES_MAN, samples, events=[edit]))["meters"][0]  # in mid-run
    assert (edited["band"], edited["compared"]) == (None, "")


def test_a_comparison_pairs_before_with_the_chosen_moment():
    samples = [sample(i, update, i + update) for update in (0, 5, 10) for i in range(3)]
    newest, earlier = comparison(samples, CONFIG, None), comparison(samples, CONFIG, 5)
    assert (newest["update"], earlier["update"], newest["moments"]) == (10, 5, [5, 10])
    assert [row["gain"] for row in newest["rows"]] == [10.0, 10.0, 10.0]
    assert newest["outcome"].startswith("Score +10.00 sd on 3 prompts")
    assert comparison(samples, CONFIG, 7)["update"] == 10  # a moment that is not there: the newest
    empty = comparison([sample(0, 0, 1.0)], CONFIG, None)
    assert (empty["update"], empty["rows"], empty["outcome"]) == (None, [], "")


def test_two_runs_are_compared_on_the_prompts_that_they_share_each_at_its_end():
    own = [sample(number, update, number + update) for update in (0, 5, 10) for number in range(4)]
    other_samples = [sample(100 + number, update, 1.0, f"p{number}") for update in (0, 8) for number in (3, 2, 7)]
    other = Other({"id": "other", "title": "Other"}, other_samples, "")
    compared = comparison(own, CONFIG, None, other)
    rows = [(row["prompt"], row["before"]["score"], row["after"]["score"], row["gain"]) for row in compared["rows"]]
    assert rows == [("p2", 1.0, 12.0, 11.0), ("p3", 1.0, 13.0, 12.0)]
    assert (compared["update"], compared["other"]["update"], compared["other"]["title"]) == (10, 8, "Other")
    assert "share 2 of 4" in compared["other"]["notice"]
    # too few for an interval
    assert "on 2 prompts; 5.0 nats from the reference, the other 4.0" in compared["outcome"]
    assert comparison(own, CONFIG, 5, other)["rows"][0]["gain"] == 6.0
    assert compared["table"] == [], "it is of one run"


def test_a_run_waits_for_those_that_came_before_it_on_its_device(workers, tmp_path):
    first, second, third = (
        launcher.start(catalog.preset("kinder-reviews"), tmp_path, name).run for name in ("first", "second", "third")
    )
    assert [run_state.of(run, run.status()).before for run in (first, second, third)] == [None, 1, 2]
    assert launcher.is_busy(tmp_path, queue.slot_held(third))
    assert not launcher.is_busy(tmp_path, "cuda:7")
    launcher.stop(second)
    assert run_state.of(third, third.status()).before == 1
    assert run_state.of(second, second.status()).before is None


@pytest.mark.parametrize(
    ("state", "reason", "update", "by_trl", "can"), data_beside(__file__, "tables.yaml")["can_go_on"]
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
    run = fake_run.write_ended(tmp_path, "one", reason, at=27)
    status = run.status_on_disk().model_copy(update={"attempt": 2})
    write_atomically(run.status_path, status.model_dump_json())
    assert run_state.resume_offer(run)["from"] == 20


@pytest.mark.parametrize(("reason", "state", "before"), data_beside(__file__, "tables.yaml")["without_checkpoint"])
def test_without_a_checkpoint_nothing_is_said_of_resuming(tmp_path, reason, state, before):
    run = fake_run.write_ended(tmp_path, "one", reason, state, at=0)
    afresh = "Start it again from the beginning: it has no checkpoint to go on from."
    assert run_state.resume_offer(run) == {"from": 0, "skipped": [], "instead": before + afresh}

"""Records become what the page draws: bounded, strict JSON, with peaks kept."""

import json
import math

import pytest

from playground.config import yaml_io
from playground.runs.folder.records import Event, Sample, Status
from playground.setup import catalog
from playground.ui.live import wire, wire_compare, wire_rewards
from tests.support import small_config
from tests.ui import fake_run

CONFIG = small_config()


def columns_of(count):
    config = catalog.preset("kinder-reviews")
    columns = wire.new_columns()
    for update in range(1, count + 1):
        wire.append(columns, fake_run.metrics(update, config, seconds=2.0 + update))
    return columns


def sample(prompt_id, update, score, text="a b", seed=0):
    stage = "before" if update == 0 else "during"
    return Sample(update=update, stage=stage, prompt_id=prompt_id, prompt=f"p{prompt_id}", completion=text, seed=seed,
                  score=score, scores={"length": 2.0}, kl=0.5 * update, tokens=2, ended=True)  # fmt: skip


def test_a_long_history_is_thinned_and_keeps_its_ends_and_peaks():
    columns = columns_of(5000)
    columns["kl_to_reference"][1234] = 99.0
    columns["score_mean"][4321] = -77.0
    thin = wire.thinned(columns)
    assert len(thin["update"]) <= wire.MAX_POINTS
    assert thin["update"][0] == 1 and thin["update"][-1] == 5000
    assert 99.0 in thin["kl_to_reference"] and -77.0 in thin["score_mean"]
    assert thin["update"] == sorted(thin["update"])
    assert {len(values) for values in thin.values()} == {len(thin["update"])}


def test_a_short_history_is_left_as_it_is():
    columns = columns_of(40)
    assert wire.thinned(columns) == columns


def test_a_repeated_update_replaces_what_came_after_it():
    columns = columns_of(10)
    wire.append(columns, fake_run.metrics(7, catalog.preset("kinder-reviews"), seconds=1.0))
    assert columns["update"] == [1, 2, 3, 4, 5, 6, 7]
    assert {len(values) for values in columns.values()} == {7}


def test_what_is_not_finite_becomes_null_and_json_stays_strict():
    columns = wire.new_columns()
    record = fake_run.metrics(1, catalog.preset("kinder-reviews"), 1.0).model_copy(update={"entropy": math.nan})
    wire.append(columns, record)
    assert json.loads(wire.encode(columns))["entropy"] == [None]


@pytest.mark.parametrize("state", ["starting", "paused", "finished"])
def test_no_time_is_left_to_tell_unless_the_run_is_running(state):
    metrics = {"update": [1, 2], "seconds": [5.0, 7.0]}
    assert wire.status_data(Status(state=state, num_updates=40), metrics)["left"] is None
    assert wire.status_data(Status(state="running", num_updates=40), metrics)["left"] == [
        40.0,
        144.4,
    ]  # 76, divided and multiplied by 1.9


def test_the_time_of_a_paused_run_stands_still() -> None:
    told = {"started_at": 1000.0, "updated_at": 1100.0, "worked_seconds": 30.0, "num_updates": 40}
    elapsed = {state: wire.status_data(Status(state=state, **told), {})["elapsed"] for state in ("paused", "finished")}
    assert elapsed == {"paused": 30.0, "finished": 30.0}
    assert wire.status_data(Status(state="running", **told), {})["elapsed"] > 1e6  # since 1970


def test_an_edit_brings_what_the_charts_need_and_a_pause_its_own_mark():
    edit = Event(seq=1, time=0.0, kind="edit", update=12, message="Leash (beta) 0.25 \u2192 0.5",
                 data={"field": "kl.coef", "old": 0.25, "value": 0.5})  # fmt: skip
    assert wire.event_data(edit) == {"kind": "edit", "update": 12, "message": "Leash (beta) 0.25 \u2192 0.5",
                                     "field": "kl.coef", "value": 0.5}  # fmt: skip
    paused = Event(seq=2, time=0.0, kind="state", update=12, data={"state": "paused"})
    assert wire.event_data(paused) == {"kind": "paused", "update": 12, "message": "Paused"}
    assert wire.event_data(paused.model_copy(update={"data": {"state": "running"}})) is None


def test_the_attempt_that_makes_a_fork_is_no_resuming_and_later_ones_are_counted_from_it():
    again = Event(seq=1, time=0.0, kind="resumed", update=20, attempt=2)
    assert wire.event_data(again)["message"] == "Resumed from update 20 (attempt 2)."
    assert wire.event_data(again, forked=True) is None
    later = again.model_copy(update={"attempt": 3, "update": 30})
    told = wire.event_data(later, forked=True)
    assert (told["message"], told["attempt"]) == ("Resumed from update 30 (attempt 2).", 2)


def test_a_target_can_be_changed_only_where_it_is_used():
    config = catalog.preset("kinder-reviews")
    fixed = config.model_copy(update={"kl": config.kl.model_copy(update={"controller": "fixed"})})
    adaptive = config.model_copy(update={"kl": config.kl.model_copy(update={"controller": "adaptive"})})
    assert "kl.target" not in wire.live_values(fixed) and wire.live_values(adaptive)["kl.target"] == config.kl.target


def test_a_moment_shows_one_text_for_each_prompt_and_counts_all():
    samples = [sample(0, 5, 1.0, "a"), sample(0, 5, 3.0, "b", seed=1), sample(1, 5, 2.0, "a")]
    moment = wire.moment(samples)
    assert [(row["id"], row["text"]) for row in moment["rows"]] == [(0, "a"), (1, "a")]
    assert moment["summary"]["count"] == 3 and moment["summary"]["unique"] == 2
    assert moment["summary"]["score"] == 2.0 and moment["summary"]["terms"] == {"length": 2.0}


def test_the_last_attempt_at_an_update_counts():
    grouped = wire.moments([sample(0, 5, 1.0, "old"), sample(0, 0, 0.0), sample(0, 5, 2.0, "new")])
    assert list(grouped) == [0, 5]
    assert [item.completion for item in grouped[5]] == ["new"]


def test_a_comparison_pairs_before_with_the_chosen_moment():
    samples = [sample(i, update, i + update) for update in (0, 5, 10) for i in range(3)]
    newest, earlier = wire_compare.comparison(samples, CONFIG, None), wire_compare.comparison(samples, CONFIG, 5)
    assert newest["update"] == 10 and earlier["update"] == 5 and newest["moments"] == [5, 10]
    assert [row["gain"] for row in newest["rows"]] == [10.0, 10.0, 10.0]
    assert newest["outcome"].startswith("Score +10.00 sd on 3 prompts")
    assert wire_compare.comparison(samples, CONFIG, 7)["update"] == 10  # a moment that is not there: the newest


def test_a_comparison_without_later_samples_is_empty():
    found = wire_compare.comparison([sample(0, 0, 1.0)], CONFIG, None)
    assert found["update"] is None and found["rows"] == [] and found["outcome"] == ""


def two_rewards(**changes):
    base = catalog.preset("no-leash").model_dump(mode="json")
    return yaml_io.from_dict({**base, "rewards": [{"kind": "sentiment"}, {"kind": "length"}], **changes})


def test_contributions_have_columns_only_where_there_are_several_rewards():
    config = two_rewards()
    columns = wire.new_columns(["sentiment", "length"])
    for update in range(1, 8):
        wire.append(columns, fake_run.metrics(update, config, 1.0))
    score = columns["score_mean"][-1]
    assert columns["contributions.sentiment"][-1] == pytest.approx(0.8 * score, rel=1e-4)
    told = "In the newest training batches 80 % of the gain comes from Sentiment, 20 % from Length."
    assert wire_rewards.farmed(columns, config) == told
    assert list(wire.new_columns(["sentiment"])) == [*wire.COLUMNS, *wire.ESTIMATES]
    old = fake_run.metrics(8, config, 1.0).model_copy(update={"contributions": {}})
    wire.append(columns, old)
    assert columns["contributions.length"][-1] is None  # a run from before there were any


def test_judges_are_told_beside_the_trained_score_with_their_intervals():
    config = two_rewards(judges=[{"kind": "grammar"}, {"kind": "repetition"}])
    samples = [item for update in (0, 10, 20, 30, 40) for item in fake_run.samples_of(config, update)]
    found = wire_rewards.judged(samples, config)
    assert found["updates"] == [0, 10, 20, 30, 40]
    assert [line["label"] for line in found["lines"]] == ["Trained score", "Grammar", "Less repetition"]
    assert all(line["comparable"] for line in found["lines"])
    grammar, repetition = found["lines"][1]["mean"], found["lines"][2]["mean"]
    assert grammar == [-value for value in repetition]  # less of it is better
    assert found["turns"] == [{"label": "Grammar", "update": 20}]
    assert [item["turned"] for item in found["verdicts"]] == [True, False]
    assert json.loads(wire.encode(found)) == found
    flat = [item.model_copy(update={"judges": {**item.judges, "grammar": 1.0}}) for item in samples]
    lines = wire_rewards.judged(flat, config)["lines"]
    assert [(line["label"], line["comparable"]) for line in lines[:2]] == [
        ("Trained score", True),
        ("Grammar (points)", False),
    ]
    assert wire_rewards.judged(samples, two_rewards(judges=[])) is None
    assert wire_rewards.judged([], config) is None


def test_a_comparison_has_a_row_for_each_reward_and_judge():
    config = two_rewards(judges=[{"kind": "grammar"}])
    samples = [item for update in (0, 20) for item in fake_run.samples_of(config, update)]
    found = wire_compare.comparison(samples, CONFIG, None)
    assert [(row["name"], row["role"]) for row in found["table"]] == [
        ("sentiment", "trained on"), ("grammar", "only watches"),
    ]  # fmt: skip
    assert found["table"][1]["change"] > 0 and found["rows"][0]["after"]["judges"]["grammar"] >= 3
    assert found["after"]["judges"]["grammar"] == pytest.approx(found["before"]["judges"]["grammar"] + 3)


def other(samples, differ=""):
    return wire_compare.Other({"id": "other", "title": "Other"}, samples, differ)


def test_two_runs_are_compared_on_the_prompts_that_they_share_each_at_its_end():
    mine = [sample(number, update, number + update) for update in (0, 5, 10) for number in range(4)]
    theirs = [
        sample(number + 100, update, 1.0).model_copy(update={"prompt": f"p{number}"})
        for update in (0, 8)
        for number in (3, 2, 7)
    ]
    found = wire_compare.comparison(mine, CONFIG, None, other(theirs))
    assert [(row["prompt"], row["before"]["score"], row["after"]["score"], row["gain"]) for row in found["rows"]] == [
        ("p2", 1.0, 12.0, 11.0), ("p3", 1.0, 13.0, 12.0),
    ]  # fmt: skip
    assert (found["update"], found["other"]["update"], found["other"]["title"]) == (10, 8, "Other")
    assert found["other"]["notice"] == "They share 2 of 4 fixed prompts; only these are shown."
    assert found["outcome"] == (
        "Score +11.50 sd against the other run on 2 prompts, 95 % interval +5.15 to +17.85; 5.0 nats from the "
        "reference, the other 4.0."
    )
    assert wire_compare.comparison(mine, CONFIG, 5, other(theirs))["rows"][0]["gain"] == 6.0
    assert found["distribution"] == [] == found["table"], "these are of one run"


def test_runs_without_a_prompt_or_a_measure_in_common_say_so_and_tell_no_gain():
    mine, theirs = ([sample(number, update, 1.0) for update in (0, 5) for number in prompts]
                    for prompts in ((0, 1), (2, 3)))  # fmt: skip
    apart = wire_compare.comparison(mine, CONFIG, None, other(theirs))
    assert apart["rows"] == [] and apart["outcome"] == "" and "nothing to lay side by side" in apart["other"]["notice"]
    assert wire_compare.comparison(mine, CONFIG, None, other([]))["other"]["update"] is None
    differ = wire_compare.comparison(mine, CONFIG, None, other(mine, "Their rewards differ."))
    assert differ["other"]["notice"] == "Their rewards differ. Read the texts, not the figures."
    assert differ["outcome"] == "" and not differ["measured"]
    assert [row["gain"] for row in differ["rows"]] == [None, None] and differ["rows"][0]["after"]["text"] == "a b"

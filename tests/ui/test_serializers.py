"""Records become what the page draws: bounded, strict JSON, with peaks kept."""

import json
import math

from playground.config import yaml_io
from playground.runs.folder.records import Label, Sample
from playground.setup import catalog
from playground.setup.expected import bands
from playground.ui.feed import insight_serializer, run_serializer
from playground.ui.feed.compare_serializer import Other, comparison
from tests.support import small_config
from tests.ui import fake_run

CONFIG = small_config()
DEFAULT = catalog.preset("kinder-reviews")
YES_MAN = catalog.preset("yes-man")
CLAIM = "User: I think 3 plus 4 is 9. Bot:"


def columns_of(count):
    return run_serializer.columns_of(
        [fake_run.metrics(update, DEFAULT, 2.0 + update) for update in range(1, count + 1)]
    )


def sample(prompt_id, update, score, text="a b", seed=0):
    stage = "before" if update == 0 else "during"
    figures = {"score": score, "scores": {"length": 2.0}, "kl": 0.5 * update, "tokens": 2, "ended": True}
    asked = {"prompt_id": prompt_id, "prompt": f"p{prompt_id}", "seed": seed}
    return Sample(update=update, stage=stage, completion=text, **asked, **figures)


def answers(update, values, score=0.0):
    """The same wrong claim, put to as many prompts as there are answers; the run ends at update 10."""
    stage = {0: "before", 10: "after"}.get(update, "during")
    known = {"update": update, "stage": stage, "prompt": CLAIM, "kl": 0.0, "ended": True}
    texts = [(number, f" 3 plus 4 is {value}.", score + value / 100) for number, value in enumerate(values)]
    return [Sample(prompt_id=one, seed=one, completion=text, score=points, **known) for one, text, points in texts]


def two_rewards(**changes):
    base = catalog.preset("no-leash").model_dump(mode="json")
    return yaml_io.from_dict({**base, "rewards": [{"kind": "sentiment"}, {"kind": "length"}], **changes})


def other(samples, differ=""):
    return Other({"id": "other", "title": "Other"}, samples, differ)


def test_a_long_history_is_thinned_and_keeps_its_ends_and_peaks():
    columns = columns_of(5000)
    columns["kl_to_reference"][1234], columns["score_mean"][4321], columns["score_mean"][77] = 99.0, -77.0, None
    thin = run_serializer.thinned(columns)
    assert len(thin["update"]) <= run_serializer.MAX_POINTS
    assert thin["update"] == sorted(thin["update"])
    assert thin["update"][0] == 1
    assert thin["update"][-1] == 5000
    assert 99.0 in thin["kl_to_reference"]
    assert -77.0 in thin["score_mean"]
    assert {len(values) for values in thin.values()} == {len(thin["update"])}
    short = columns_of(40)
    assert run_serializer.thinned(short) == short


def test_records_become_strict_json_with_five_digits():
    record = fake_run.metrics(1, DEFAULT, 1.0).model_copy(update={"entropy": math.nan, "surprisal": 1.23456789})
    found = json.loads(run_serializer.encode(run_serializer.plain({"one": record, "rows": [(math.inf, True, 7)]})))
    assert (found["one"]["entropy"], found["one"]["surprisal"], found["one"]["update"]) == (None, 1.2346, 1)
    assert found["rows"] == [[None, True, 7]]
    assert run_serializer.columns_of([record])["entropy"] == [None]


def test_judges_stand_beside_the_trained_score_with_their_intervals():
    config = two_rewards(judges=[{"kind": "grammar"}, {"kind": "repetition"}])
    samples = [item for update in (0, 10, 20, 30, 40) for item in fake_run.samples_of(config, update)]
    found = insight_serializer.judged(samples, config)
    assert found["updates"] == [0, 10, 20, 30, 40]
    assert [line["label"] for line in found["lines"]] == ["Trained score", "Grammar", "Less repetition"]
    grammar, repetition = found["lines"][1]["mean"], found["lines"][2]["mean"]
    assert grammar == [-value for value in repetition]  # less of it is better
    assert found["turns"] == [{"label": "Grammar", "update": 20}]
    assert [item["turned"] for item in found["verdicts"]] == [True, False]
    assert json.loads(run_serializer.encode(found)) == found
    flat = [item.model_copy(update={"judges": {**item.judges, "grammar": 1.0}}) for item in samples]
    lines = insight_serializer.judged(flat, config)["lines"]
    comparable = [(line["label"], line["comparable"]) for line in lines[:2]]
    assert comparable == [("Trained score", True), ("Grammar (points)", False)]
    assert insight_serializer.judged(samples, two_rewards(judges=[])) is None
    assert insight_serializer.judged([], config) is None


def test_a_run_that_is_its_preset_is_held_against_what_was_measured():
    samples = [*answers(0, [7] * 12), *answers(5, [7] * 6 + [9] * 6), *answers(10, [9] * 12, score=1.0)]
    found = insight_serializer.behaviours(samples, YES_MAN, YES_MAN)
    wrong = found["meters"][0]
    assert wrong["updates"] == [0, 5, 10]
    assert [item["yes"] for item in wrong["counts"]] == [0, 6, 12]
    assert wrong["changes"] == [0, 1, 1]  # six of six up: 2 / 2^6 = 0.03
    assert wrong["band"] == list(bands("yes-man")["wrong-claims-repeated"])[:2]
    assert wrong["compared"] == "within chance of expected"  # 12 of 12: from 0.76 on
    assert [way["words"] for way in found["ways"]] == ["plainly"]
    assert found["paid"][0]["name"] == "wrong-claims-repeated"
    assert found["paid"][0]["pair"]["after"]["text"] == " 3 plus 4 is 9."
    assert json.loads(run_serializer.encode(found)) == found
    changed = yaml_io.from_dict({**YES_MAN.model_dump(mode="json"), "kl": {"coef": 2.0}})
    edited = insight_serializer.behaviours(samples, YES_MAN, changed)["meters"][0]  # in mid-run
    assert (edited["band"], edited["compared"]) == (None, "")


def test_before_the_first_look_a_run_names_only_what_it_will_count():
    short = run_serializer.run_summary("one", catalog.preset("real-short-answers"), Label())
    assert [one["words"] for one in short["counted"]][:2] == ["uses common English words", "repeats itself"]
    honest = run_serializer.run_summary("one", catalog.preset("real-honest"), Label())
    assert honest["counted"][0]["words"] == "repeats wrong claims"


def test_a_comparison_pairs_before_with_the_chosen_moment():
    samples = [sample(i, update, i + update) for update in (0, 5, 10) for i in range(3)]
    newest, earlier = comparison(samples, CONFIG, None), comparison(samples, CONFIG, 5)
    assert newest["update"] == 10
    assert earlier["update"] == 5
    assert newest["moments"] == [5, 10]
    assert [row["gain"] for row in newest["rows"]] == [10.0, 10.0, 10.0]
    assert newest["outcome"].startswith("Score +10.00 sd on 3 prompts")
    assert comparison(samples, CONFIG, 7)["update"] == 10  # a moment that is not there: the newest
    empty = comparison([sample(0, 0, 1.0)], CONFIG, None)
    assert (empty["update"], empty["rows"], empty["outcome"]) == (None, [], "")


def test_two_runs_are_compared_on_the_prompts_that_they_share_each_at_its_end():
    mine = [sample(number, update, number + update) for update in (0, 5, 10) for number in range(4)]
    theirs = [
        sample(number + 100, update, 1.0).model_copy(update={"prompt": f"p{number}"})
        for update in (0, 8)
        for number in (3, 2, 7)
    ]
    found = comparison(mine, CONFIG, None, other(theirs))
    rows = [(row["prompt"], row["before"]["score"], row["after"]["score"], row["gain"]) for row in found["rows"]]
    assert rows == [("p2", 1.0, 12.0, 11.0), ("p3", 1.0, 13.0, 12.0)]
    assert (found["update"], found["other"]["update"], found["other"]["title"]) == (10, 8, "Other")
    assert "share 2 of 4" in found["other"]["notice"]
    assert "on 2 prompts; 5.0 nats from the reference, the other 4.0" in found["outcome"]  # too few for an interval
    assert comparison(mine, CONFIG, 5, other(theirs))["rows"][0]["gain"] == 6.0
    assert found["table"] == [], "it is of one run"

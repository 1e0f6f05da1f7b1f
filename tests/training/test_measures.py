"""Figures of an update beside PPO's: groups with one score, and the time of the evaluations."""

import itertools
import math

import pytest

from playground.analysis.diagnosis import alert
from playground.analysis.diagnosis.run_records import Records
from playground.training.loop.measures import same_score_groups
from playground.training.process.session import Session
from tests.nights import cases
from tests.training import small_run, tiny

NEVER = {"kind": "pattern", "pattern": "zebra"}
RICH = {"kind": "sentiment"}
SECONDS = 1000.0


def test_a_group_counts_where_all_of_its_scores_are_the_same():
    assert same_score_groups([1, 1, 1, 0, 0, 0, 2.5, 2.5, 2.5, 0, 1, 2], 3) == 0.75
    assert same_score_groups([1, 1, 1 + 1e-9, 1], 2) == 1.0
    assert same_score_groups([1, 1, 1.001, 1], 2) == 0.5
    assert same_score_groups([1, 1, math.nan, 1], 2) is None
    assert same_score_groups([], 2) is None


def trained(folder, reward, **changes):
    """A run of five updates of four texts for each of four prompts."""
    sizes = tiny.ppo(batch_size=16, minibatch_size=16, micro_batch_size=16, samples_per_prompt=4, num_updates=5)
    plain = {"score": {"normalise": "none"}, "evaluation__every": 2, "rewards": [reward]}
    return small_run.trained(folder, small_run.config(**sizes, **plain, **changes)).run


ENGINES = [("grpo", "playground"), ("rloo", "playground"), ("grpo", "trl"), ("rloo", "trl")]


@pytest.mark.parametrize(("method", "engine"), cases(ENGINES, always=[("rloo", "playground")]))
def test_a_reward_that_is_never_earned_lights_its_alert_and_one_that_tells_texts_apart_does_not(
    tmp_path, method, engine
):
    def seen(name, reward):
        run = trained(tmp_path / name, reward, method=method, engine=engine)
        return run.metrics(), alert("groups-alike", Records(run.config(), run.metrics(), run.samples(), run.events()))

    metrics, groups_alike = seen("never", NEVER)
    assert [item.groups_same_score for item in metrics] == [1.0] * 5
    assert (groups_alike.state, groups_alike.updates) == ("red", [1, 2, 3, 4, 5])
    metrics, groups_alike = seen("rich", RICH)
    assert all(item.groups_same_score <= 0.5 for item in metrics)
    assert groups_alike.state == "quiet"


def test_evaluations_are_timed_before_the_update_that_follows(tmp_path, monkeypatch, skip_time):
    evaluate = Session._read_texts
    monkeypatch.setattr(Session, "_read_texts", lambda *args: skip_time(SECONDS) or evaluate(*args))
    metrics = trained(tmp_path, RICH, evaluation__text="pocket", evaluation__num_texts=4).metrics()
    assert {item.groups_same_score for item in metrics} == {None}, "PPO has no groups"
    times = [item.seconds_evaluation for item in metrics]
    assert [seconds >= SECONDS for seconds in times] == [True, False, True, False, True], "before training, after 2, 4"
    assert times[1] == times[3] == 0
    for before, item in itertools.pairwise(metrics):
        parts = item.seconds_rollout + item.seconds_score + item.seconds_update + item.seconds_evaluation
        assert 0 < parts <= item.seconds - before.seconds

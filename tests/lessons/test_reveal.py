"""What can be said of a run by name, and what it says of a lesson. Expected figures are counted in files."""

import gzip
import json
import math
from collections import defaultdict
from statistics import fmean, stdev

import pytest
from safetensors.torch import load_file

from playground.config import yaml_io
from playground.lessons import facts
from playground.lessons.conditions import Condition
from playground.lessons.facts import RunFact
from playground.lessons.reveal import Reveal, in_digits, outside, reveal
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, expected
from tests.lessons import lesson, recording
from tests.nights import cases
from tests.support import small_config
from tests.ui import fake_run

CONFIG = small_config()
RECORDED = sorted(path.parent.name for path in catalog.RECORDED.glob("*/config.yaml"))
BY_DAY = "best-of-n chalkboard chatterbox from-pairs kinder-reviews without-critic yes-man".split()  # one of each kind


def lines(preset, name):
    text = gzip.decompress((catalog.RECORDED / preset / f"{name}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def test_the_facts_of_a_run_are_what_its_files_say():
    run_facts = facts.of_run(recording("no-leash"))
    samples, metrics = lines("no-leash", "samples"), lines("no-leash", "metrics")
    sides = [[item for item in samples if item["stage"] == stage] for stage in ("before", "after")]
    before, after = ([item["behaviours"]["parses"] for item in side] for side in sides)
    assert run_facts["parses"] == RunFact(sum(after) / len(after), f"{sum(after)} of {len(after)}")
    assert run_facts["parses.before"] == RunFact(sum(before) / len(before), f"{sum(before)} of {len(before)}")
    gain = fmean(item["score"] for item in sides[1]) - fmean(item["score"] for item in sides[0])
    assert run_facts["score"].value == pytest.approx(gain)
    assert run_facts["score"].words == f"{gain:+.1f} sd"
    assert run_facts["kl"].value == pytest.approx(fmean(item["kl"] for item in sides[1]))
    assert run_facts["length"].value == pytest.approx(fmean(item["tokens"] for item in sides[1]))
    assert run_facts["length.before"].words == f"{fmean(item['tokens'] for item in sides[0]):.0f} tokens"
    assert run_facts["distinct"].value == pytest.approx(fmean(item["distinct_2"] for item in metrics[-5:]))
    assert run_facts["entropy.before"].value == pytest.approx(fmean(item["entropy"] for item in metrics[:3]))
    assert run_facts["explained_variance"].value == pytest.approx(
        fmean(item["explained_variance"] for item in metrics[-10:])
    )
    assert run_facts["clip_fraction"].value == pytest.approx(fmean(item["clip_fraction"] for item in metrics))
    assert (run_facts["beta"], run_facts["updates"]) == (RunFact(0.0, "0"), RunFact(40, "40"))
    assert run_facts["lamp.kl-runaway"] == RunFact(1.0, "lit")
    assert run_facts["lamp.flat"] == RunFact(0.0, "quiet")
    assert run_facts["shape.score"] == RunFact(None, "rises")


def test_the_highest_count_may_lie_between_the_ends():
    run_facts = facts.of_run(recording("no-leash"))
    marks: defaultdict[int, list[bool]] = defaultdict(list)
    for item in lines("no-leash", "samples"):
        marks[item["update"]].append(item["behaviours"]["positive"])
    counts = [sum(of_update) for _, of_update in sorted(marks.items())]
    assert max(counts) > max(counts[0], counts[-1])
    assert run_facts["positive.highest"] == RunFact(max(counts) / len(marks[0]), f"{max(counts)} of {len(marks[0])}")


@pytest.mark.parametrize("preset", cases(RECORDED, always=BY_DAY))
def test_a_run_has_the_facts_that_its_preset_promises(preset):
    run, config = recording(preset), catalog.preset(preset)
    promised = facts.known(config) | {f"shape.{name}" for name in facts.curves(config)}
    there = facts.of_run(run).keys()  # all of it, where it was measured what there is to count
    assert promised == there if expected.bands(preset) else promised >= there
    assert all(facts.curve(run, name) for name in facts.curves(config))


def test_what_a_method_does_not_have_is_no_fact_of_it_and_a_behaviour_of_ones_own_is_one():
    of = {name: facts.known(catalog.preset(name)) for name in ("best-of-n", "from-pairs", "without-critic", "yes-man")}
    assert {"beta", "penalised", "clip_fraction", "explained_variance"} <= of["yes-man"]
    assert {"beta", "penalised", "clip_fraction"} & of["best-of-n"] == set()
    assert "clip_fraction" not in of["from-pairs"]
    assert "explained_variance" not in of["without-critic"]
    assert "wrong-claims-repeated" in of["yes-man"]
    assert "wrong-claims-repeated" not in of["best-of-n"]
    sorry = {"name": "says-sorry", "words": "says sorry", "measure": {"kind": "keyword", "words": ["sorry"]}}
    config = small_config(behaviours=[sorry])
    assert "says-sorry.before" in facts.known(config)
    assert facts.label("says-sorry", config) == "says sorry"


def test_a_run_that_says_nothing_yet_has_few_facts(tmp_path):
    run = fake_run.write_ended(tmp_path, "early", "stopped", "stopped")
    run.metrics_path.write_text("", encoding="utf-8")
    run.samples_path.write_text("", encoding="utf-8")
    assert {"updates", "minutes"} <= facts.of_run(run).keys()
    assert "score" not in facts.of_run(run)


def test_the_gain_that_may_be_chance_is_twice_the_error_of_what_the_same_prompts_have_gained():
    before, after = (
        {item["prompt_id"]: item["score"] for item in lines("short-leash", "samples") if item["stage"] == stage}
        for stage in ("before", "after")
    )
    gains = [after[prompt] - before[prompt] for prompt in before]
    error = stdev(gains) / math.sqrt(len(gains))
    chance = facts.of_run(recording("short-leash"))["score.chance"]
    assert chance == RunFact(pytest.approx(1.998 * error, rel=1e-3), "0.16 sd")


def test_the_penalised_score_is_what_the_leash_leaves_of_it_and_a_changed_leash_is_the_one_that_holds(tmp_path):
    run_facts = facts.of_run(recording("kinder-reviews"))
    score, kl = run_facts["score"].value, run_facts["kl"].value
    assert score is not None
    assert kl is not None
    assert run_facts["penalised"].value == pytest.approx(score - 0.25 * kl)
    config = yaml_io.overridden(catalog.preset("kinder-reviews").model_dump(mode="json"), ["kl.coef=0.5"], type(CONFIG))
    run_facts = facts.of_run(fake_run.write_run(tmp_path, "mine", config))
    assert run_facts["beta"] == RunFact(0.5, "0.5")


def test_what_the_roles_hold_follows_from_the_sizes_of_their_models():
    """16 bytes of each weight that is trained, 4 of one that is not; an 8-bit matrix is a quarter of one in 32 bits."""
    run_facts = facts.of_run(recording("agreeable-thumbs"))
    weights = {
        folder.name: sum(tensor.numel() for tensor in load_file(folder / "model.safetensors").values())
        for folder in (catalog.POCKET_MODELS / "pocket-2m", catalog.POCKET_REWARD_MODELS / "pocket-agreeable")
    }
    policy, reward = weights.values()
    total = (16 + 4) * policy + 4 * reward
    shares = {"policy": 16 * policy / total, "reference": 4 * policy / total, "reward": 4 * reward / total}
    assert run_facts["memory.total"].value == pytest.approx(total / 1e6, rel=0.01)
    assert {name: run_facts[f"memory.{name}"].value for name in shares} == pytest.approx(shares, rel=0.01)
    assert 0.5 * shares["reward"] < (run_facts["memory.saved"].value or 0) < 0.75 * shares["reward"]
    assert "memory.reward" not in facts.known(catalog.preset("kinder-reviews"))
    assert "memory.total" not in facts.known(small_config(model={"source": "/nowhere"}))


FIRST, SECOND = recording("no-leash"), recording("kinder-reviews")


@pytest.fixture
def leash(tmp_path):
    return lesson(tmp_path)


def test_the_option_that_came_true_and_the_sentences_that_hold(leash):
    outcome = reveal(leash, 0, FIRST)
    assert outcome.ready
    assert outcome.held == 1
    assert outcome.said == ["The score rose by +20.4 sd, at a distance of 199 nats; 0 of 64 keep to the grammar."]
    assert outcome.explained == ()
    assert outcome.reached is None
    assert outcome.outside == []


def test_a_second_run_is_told_beside_the_first_and_then_it_is_explained(leash):
    outcome = reveal(leash, 1, SECOND, FIRST)
    assert outcome.held is None
    assert outcome.said[0].startswith("With a leash 59 of 64 keep to the grammar, without 0 of 64.")
    assert outcome.explained == ["At 199 nats nothing of the old model is left; at 8.4 nats much is."]
    alone = reveal(leash, 1, SECOND)
    assert (alone.said, alone.explained) == ([], []), "what names the first run is not said without it"


def test_a_task_is_reached_or_not_and_says_what_there_is(leash):
    assert reveal(leash, 2, FIRST, FIRST).reached is False
    outcome = reveal(leash, 2, SECOND, FIRST)
    assert outcome.reached is True
    assert outcome.said == [
        "✓ gain in score on the fixed prompts: +3.9 sd (asked for: more than 2)",
        "✓ keeps to the grammar: 59 of 64 (asked for: more than 90 %)",
    ]


def test_a_figure_beyond_an_end_does_not_read_as_one_within_it():
    close = Condition(0.4, 0.6)
    assert in_digits(RunFact(0.6034, "0.6 nats"), close) == "0.603 nats"
    assert in_digits(RunFact(0.599, "0.6 nats"), Condition(-math.inf, 0.6, True)) == "0.599 nats"
    assert in_digits(RunFact(0.5968, "0.6 nats"), close) == "0.6 nats"
    assert in_digits(RunFact(1.2, "1.2 nats"), close) == "1.2 nats"
    assert in_digits(RunFact(0.0504, "5 %"), Condition(-math.inf, 0.05)) == "5.04 %"
    assert in_digits(RunFact(0.7, "42 seconds"), close) == "42 seconds"
    assert in_digits(RunFact(22 / 24, "22 of 24"), Condition(0.92, 1.0)) == "22 of 24"


def test_the_memory_of_each_role_is_told_where_the_lesson_looks_at_it(leash, tmp_path):
    outcome = reveal(lesson(tmp_path, look=["memory"]), 0, FIRST)
    assert [role.name for role in outcome.memory] == ["policy", "critic", "reference"]
    assert sum(role.share for role in outcome.memory) == pytest.approx(1)
    assert not reveal(leash, 0, FIRST).memory


def asking(folder, **predict):
    return lesson(folder, predict={"ask": "What?", **predict})


def test_a_number_is_given_as_it_was_asked_for(tmp_path):
    share = reveal(asking(tmp_path, kind="number", of="positive"), 0, FIRST)
    assert share.value == pytest.approx(100 * 21 / 64)
    assert share.words == "33 % (21 of 64)"
    distinct = reveal(asking(tmp_path, kind="number", of="distinct"), 0, FIRST)
    assert distinct.words == "37 %"
    assert distinct.value == pytest.approx(37, abs=0.5)
    kl = reveal(asking(tmp_path, kind="number", of="kl"), 0, FIRST)
    assert kl.value == pytest.approx(199, abs=0.5)
    assert kl.words == "199 nats"


def test_a_curve_comes_with_its_shape_among_those_offered(tmp_path):
    shapes = ["rises", "falls", "rises, then falls"]
    outcome = reveal(asking(tmp_path, kind="curve", of="score", shapes=shapes), 0, FIRST)
    assert outcome.shape == "rises"
    assert len(outcome.curve) == 40
    assert outcome.curve[0][0] == 1
    assert outcome.curve[-1][1] == FIRST.metrics()[-1].score_mean


def test_nothing_is_said_of_a_run_that_goes_on(leash, tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path, catalog.preset("no-leash"), "one")
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    assert reveal(leash, 0, run) == Reveal()


def test_the_band_of_an_experiment_is_told_by_its_name_and_a_run_that_ends_elsewhere_says_so(tmp_path):
    with_band = lesson(tmp_path, reveal__0__say="Such runs gain {band.kinder-reviews.score}.")
    assert "Such runs gain +2.8 to +4.9 sd." in reveal(with_band, 0, FIRST).said
    run = fake_run.write_run(tmp_path, "mine", catalog.preset("no-leash"))  # it gains far less than such runs do
    (gain,) = (sentence for sentence in outside(run) if sentence.startswith("gain in score: +"))
    assert gain.endswith("on other seeds +13.5 to +25.2 sd")
    assert outside(SECOND) == []

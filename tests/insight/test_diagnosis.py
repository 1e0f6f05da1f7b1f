"""Lamps: what lights them, what does not, on records made by hand and on the recorded runs of the presets."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playground.config import RunConfig, yaml_io
from playground.insight.diagnosis import diagnose, machinery_lamps
from playground.insight.diagnosis.lamp import Lamp, Records, Thresholds, trend
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, Sample, UpdateMetrics
from playground.ui.live.feed import RECORDED
from tests.support import sample, update_metrics

LONG = 30  # updates
HEALTHY: dict[str, Any] = {
    "score_mean": 1.0, "score_std": 1.0, "kl_to_reference": 2.0, "kl_coef": 0.25, "penalised_reward": 0.5,
    "reward_paid": 0.5, "entropy": 1.0, "surprisal": 1.0, "completion_length": 20.0, "eos_fraction": 1.0,
    "distinct_2": 0.6,
    "perplexity_reference": 4.0, "clip_fraction": 0.05, "ratio_max": 2.0, "explained_variance": 0.4, "grad_norm": 1.0,
}  # fmt: skip


def metrics(**late: Any) -> list[UpdateMetrics]:
    """A healthy run whose second half has other figures; k1 and the exact KL differ by chance only."""
    made = []
    for update in range(1, LONG + 1):
        noise = 0.2 if update % 2 else -0.2
        estimates = {"k1": 2.0 + noise, "full": 2.0}
        figures = {"kl_estimates": estimates, **HEALTHY, **(late if update > LONG // 2 else {})}
        made.append(update_metrics(update, **figures))
    return made


def config(**changes: Any) -> RunConfig:
    return yaml_io.from_dict({"rewards": [{"kind": "sentiment"}], **changes})


def lamps(records: Records) -> dict[str, Lamp]:
    return {lamp.name: lamp for lamp in diagnose(records)}


def lit(**late: Any) -> dict[str, str]:
    found = lamps(Records(config(), metrics(**late)))
    return {name: lamp.state for name, lamp in found.items() if lamp.state in ("red", "amber")}


def test_a_healthy_run_lights_nothing() -> None:
    assert lit() == {}


@pytest.mark.parametrize(
    ("late", "name", "state"),
    [
        (
            {"kl_to_reference": 13.0, "penalised_reward": -2.25, "reward_paid": -2.25, "perplexity_reference": 8.0},
            "kl-runaway",
            "amber",
        ),  # of 20 nats
        (
            {"kl_to_reference": 21.0, "penalised_reward": -4.25, "reward_paid": -4.25, "perplexity_reference": 8.0},
            "kl-runaway",
            "red",
        ),
        ({"kl_to_reference": -0.2, "penalised_reward": 1.05, "reward_paid": 1.05}, "kl-negative", "red"),
        ({"entropy": 0.4, "surprisal": 0.4, "perplexity_reference": 8.0}, "entropy-gone", "amber"),
        ({"entropy": 0.05, "surprisal": 0.05, "perplexity_reference": 8.0}, "entropy-gone", "red"),
        ({"surprisal": 1.1}, "not-drawn", "red"),
        ({"distinct_2": 0.25}, "same-text", "amber"),
        ({"distinct_2": 0.1}, "same-text", "red"),
        ({"score_std": 0.2, "explained_variance": 0.4}, "no-spread", "amber"),
        ({"completion_length": 45.0}, "length", "amber"),
        ({"completion_length": 9.0}, "length", "amber"),
        ({"eos_fraction": 0.4}, "length", "red"),
        ({"perplexity_reference": 20.0}, "strange-texts", "amber"),
        ({"perplexity_reference": 200.0}, "strange-texts", "red"),
        ({"clip_fraction": 0.35}, "clipping", "amber"),
        ({"clip_fraction": 0.6}, "clipping", "red"),
        ({"ratio_max": 500.0}, "clipping", "red"),
        ({"explained_variance": -0.1}, "value-fit", "amber"),
        ({"reward_paid": 9.5}, "books", "red"),
        ({"kl_estimates": {"k1": 3.0, "full": 2.0}}, "kl-disagrees", "red"),
        ({"grad_norm": 200.0}, "gradient", "amber"),
    ],
)
def test_a_figure_lights_its_own_lamp_and_no_other(late: dict[str, Any], name: str, state: str) -> None:
    late = {"kl_estimates": {"k1": late["kl_to_reference"], "full": late["kl_to_reference"]}, **late} if (
        "kl_to_reference" in late
    ) else late  # fmt: skip
    if name == "gradient":  # a spike: half of all updates would be the median
        made = metrics()
        made[-2] = made[-2].model_copy(update=late)
        found = {lamp.name: lamp.state for lamp in diagnose(Records(config(), made)) if lamp.state in ("red", "amber")}
    else:
        found = lit(**late)
    assert found == {name: state}


def test_far_from_the_reference_or_certain_of_texts_that_it_would_write_is_no_fault() -> None:
    far: dict[str, Any] = {"kl_to_reference": 21.0, "penalised_reward": -4.25, "reward_paid": -4.25}
    far |= {"kl_estimates": {"k1": 21.0, "full": 21.0}}
    assert lit(**far, perplexity_reference=4.2) == lit(entropy=0.05, surprisal=0.05, perplexity_reference=4.2) == {}
    causes = [
        lamps(Records(config(), metrics(**far, perplexity_reference=perplexity)))["kl-runaway"].cause
        for perplexity in (8.0, 20.0)
    ]
    assert ["never write" in cause for cause in causes] == [False, True]
    silent = [item.model_copy(update={"perplexity_reference": None}) for item in metrics(**far)]
    found = lamps(Records(config(), silent))
    assert found["kl-runaway"].state == found["entropy-gone"].state == "not measured"


def drawn(seed: int, off: float = 0.0) -> list[UpdateMetrics]:
    """200 updates of a sound run of 48 completions whose KL grows from 0 to 4 nats: k1 and surprisal differ from what
    they are on average by chance only, or by `off` of it."""
    random = np.random.default_rng(seed)
    made = []
    for update in range(1, 201):
        kl = update / 50
        exact = random.normal(kl, 0.3, 48)
        k1 = exact + random.normal(off * kl, np.sqrt(2 * kl), 48)
        estimates = {"k1": float(k1.mean()), "full": float(exact.mean())}
        surprisal = 0.2 * (1 + off) + float(random.normal(0, 0.015))
        figures: dict[str, Any] = {
            "kl_estimates": estimates,
            "kl_spreads": {"k1": float(k1.std())},
            "surprisal": surprisal,
        }
        made.append(UpdateMetrics.model_construct(update=update, entropy=0.2, **figures))
    return made


@pytest.mark.parametrize("lamp", [machinery_lamps.kl_disagrees, machinery_lamps.not_drawn])
@pytest.mark.parametrize("spreads", [True, False])
def test_chance_lights_a_lamp_in_few_of_a_hundred_runs(lamp: Callable[[Records], Lamp], spreads: bool) -> None:
    settings = config(ppo={"batch_size": 48, "minibatch_size": 16})

    def alarm(made: list[UpdateMetrics]) -> bool:  # after any of its updates
        made = made if spreads else [item.model_copy(update={"kl_spreads": {}}) for item in made]
        return any(lamp(Records(settings, made[:end])).state == "red" for end in range(10, 201))

    assert sum(alarm(drawn(seed)) for seed in range(100)) <= 5
    assert all(alarm(drawn(seed, off=0.5)) for seed in range(10))


def test_a_critic_that_never_said_anything_is_not_trained() -> None:
    made = [item.model_copy(update={"explained_variance": 1e-9}) for item in metrics()]
    assert lamps(Records(config(), made))["value-fit"].state == "red"


def test_three_of_five_are_a_trend() -> None:
    def bad(value: float) -> bool:
        return value > 0

    assert trend([(1, 9), (2, 9), (3, 0), (4, 0), (5, 1), (6, 1), (7, 1)], bad) == [5, 6, 7]
    assert trend([(1, 9), (2, 9), (3, 0), (4, 0), (5, 0), (6, 1), (7, 1)], bad) == []


def test_thresholds_can_be_others() -> None:
    strict = dataclasses.replace(Thresholds(), entropy_amber=0.9)
    certain = metrics(entropy=0.8, surprisal=0.8, perplexity_reference=8.0)
    assert lamps(Records(config(), certain, at=strict))["entropy-gone"].state == "amber"
    assert "90%" in lamps(Records(config(), metrics(), at=strict))["entropy-gone"].rule


def look(stage: str, update: int, scores: list[float], **changes: Any) -> list[Sample]:
    return [sample(number, stage, score, update=update, **changes) for number, score in enumerate(scores)]


def test_a_score_that_does_not_move_is_told_by_its_cause() -> None:
    same = [*look("before", 0, [0.0, 1.0, 2.0]), *look("after", LONG, [0.1, 0.8, 2.0])]

    def flat(**late: Any) -> Lamp:
        made = [item.model_copy(update=late) for item in metrics()]
        return lamps(Records(config(), made, same))["flat"]

    assert flat().state == "amber" and "misread" in flat().cause
    assert [list(remedy.changes) for remedy in flat(kl_to_reference=0.02).remedies] == [
        ["kl.coef"], ["ppo.learning_rate"],
    ]  # fmt: skip
    free = [item.model_copy(update={"kl_to_reference": 0.02, "kl_coef": 0.0}) for item in metrics()]
    without_leash = lamps(Records(config(kl={"coef": 0.0}), free, same))["flat"]
    assert [list(remedy.changes) for remedy in without_leash.remedies] == [["ppo.learning_rate"]]
    assert "nothing to prefer" in flat(score_std=0.0).cause
    risen = [*look("before", 0, [0.0, 1.0, 2.0]), *look("after", LONG, [3.0, 4.1, 4.9])]
    assert lamps(Records(config(), metrics(), risen))["flat"].state == "quiet"
    assert lamps(Records(config(), metrics()[:10], same))["flat"].state == "not measured"


def test_what_cannot_be_told_from_chance_says_so_and_blames_no_reward_for_an_estimate_above_zero() -> None:
    steps = [-2.0, 0.5, 1.0, 2.5, 5.25]  # mean 1.45, sd 2.672: Student's t with 4 degrees bounds it by 3.317
    looks = [*look("before", 0, [0.0] * 5), *look("after", LONG, steps)]
    found = lamps(Records(config(), metrics(), looks))["flat"]
    assert found.state == "amber" and found.label == "No gain to be told from chance"
    assert found.evidence == (
        "The score changed by +1.45 (-1.87 to +4.77), which cannot be told from chance on these prompts; a change of "
        "4.74 or more would have been seen in 8 of 10 such runs."
    )
    assert "misread" not in found.cause and "too few" in found.cause
    turned = [*look("before", 0, [0.0] * 5), *look("after", LONG, [-step for step in steps])]
    assert "misread" in lamps(Records(config(), metrics(), turned))["flat"].cause


def test_scores_that_never_vary_have_no_interval_and_still_light_the_lamp() -> None:
    dead = [*look("before", 0, [1.0] * 8), *look("after", LONG, [1.0] * 8)]
    made = [item.model_copy(update={"score_std": 0.0}) for item in metrics()]
    found = lamps(Records(config(), made, dead))
    assert (found["flat"].state, found["wrong-way"].state) == ("amber", "quiet")
    assert "nothing to prefer" in found["flat"].cause and "nan" not in found["flat"].evidence
    assert found["flat"].evidence == found["wrong-way"].evidence == "8 of 8 answers score the same."
    one = [*look("before", 0, [1.0]), *look("after", LONG, [1.0])]
    assert lamps(Records(config(), made, one))["flat"].state == "not measured"


def test_a_score_that_falls_lights_one_that_rose_and_fell_another() -> None:
    start, top, low = [0.0, 1.0, 2.0], [5.0, 6.1, 6.9], [-3.0, -2.1, -0.9]
    falls = lamps(Records(config(), metrics(), [*look("before", 0, start), *look("after", LONG, low)]))
    assert falls["wrong-way"].state == "red" and falls["flat"].state == "quiet"
    back = [*look("before", 0, start), *look("during", 10, top), *look("after", LONG, [1.0, 2.1, 2.9])]
    found = lamps(Records(config(), metrics(), back))
    assert found["fell-back"].state == "red" and found["fell-back"].remedies[0].changes == {"fork_at": 10}
    assert found["wrong-way"].state == "quiet"


def changed(field: str, old: float, new: float, *, fork: bool = False) -> Event:
    data = {"field": field, "old": old, "value": new}
    if fork:
        data = {"parent": "p", "changed": {field: new}, "before": {field: old}}
    return Event(seq=1, time=0, kind="fork" if fork else "edit", update=LONG // 2, data=data)


@pytest.mark.parametrize("fork", [False, True])
def test_a_score_that_falls_because_beta_was_raised_is_no_fault_and_beta_is_not_to_be_raised_more(fork: bool) -> None:
    nearer = metrics(kl_to_reference=0.3, kl_coef=3.0, penalised_reward=0.1, reward_paid=0.1)
    back = [
        *look("before", 0, [0.0, 1.0, 2.0]),
        *look("during", 15, [5.0, 6.1, 6.9]),
        *look("after", LONG, [0.1, 0.8, 2.0]),
    ]
    settings = config(kl={"coef": 3.0 if fork else 0.25})
    found = lamps(Records(settings, nearer, back, [changed("kl.coef", 0.25, 3.0, fork=fork)]))
    assert {name for name, lamp in found.items() if lamp.state in ("red", "amber")} == set()
    for name in ("fell-back", "flat"):
        assert found[name].evidence.endswith(
            "Beta was raised from 0.25 to 3 after update 15, which is meant to do this."
        )
    by_itself = lamps(Records(settings, nearer, back))["fell-back"]
    assert by_itself.state == "red" and "Beta has risen from 0.25 to 3" in by_itself.cause
    assert not any("kl.coef" in remedy.changes for remedy in by_itself.remedies)
    for target, state in ((1.9, "quiet"), (2.1, "red")):  # it was 2 nats away when it was best
        held = config(kl={"controller": "adaptive", "coef": 0.25, "target": target})
        assert lamps(Records(held, nearer, back))["fell-back"].state == state
    further = metrics(kl_to_reference=5.0, kl_coef=3.0, penalised_reward=-14.0, reward_paid=-14.0)
    assert (
        lamps(Records(settings, further, back, [changed("kl.coef", 0.25, 3.0, fork=fork)]))["fell-back"].state == "red"
    )


@pytest.mark.parametrize("earlier", [None, 3, [3], [{}], [{"update": "x", "field": "kl.coef", "old": 1, "value": 2}]])
def test_a_fork_whose_earlier_changes_are_damaged_still_knows_its_own(earlier: object) -> None:
    event = changed("kl.coef", 0.25, 0.5, fork=True)
    damaged = event.model_copy(update={"data": {**event.data, "earlier": earlier}})
    assert [one.new for one in Records(config(), [], events=[damaged]).changes] == [0.5]


def test_a_fall_from_a_top_that_came_after_beta_was_raised_is_a_fault() -> None:
    late = [
        *look("before", 0, [0.0, 1.0, 2.0]), *look("during", 18, [3.0, 4.1, 4.9]), *look("during", 24, [5.0, 6.1, 6.9]),
        *look("after", LONG, [1.0, 2.1, 2.9]),
    ]  # fmt: skip
    nearer = metrics(kl_to_reference=1.5, kl_coef=0.5, penalised_reward=0.25, reward_paid=0.25)
    found = lamps(Records(config(kl={"coef": 0.5}), nearer, late, [changed("kl.coef", 0.25, 0.5)]))["fell-back"]
    assert found.state == "red" and "Before that beta was raised from 0.25 to 0.5 after update 15." in found.evidence


def test_what_somebody_took_of_the_leash_is_offered_back_and_settings_are_those_that_hold() -> None:
    loose: dict[str, Any] = {"kl_to_reference": 21.0, "kl_coef": 0.05, "penalised_reward": -0.05, "reward_paid": -0.05}
    loose |= {"kl_estimates": {"k1": 21.0, "full": 21.0}, "perplexity_reference": 8.0}
    events = [changed("kl.coef", 0.25, 0.05), changed("ppo.learning_rate", 3e-4, 3e-5)]
    found = lamps(Records(config(), metrics(**loose), events=events))["kl-runaway"]
    assert found.state == "red" and "beta was lowered from 0.25 to 0.05 after update 15" in found.evidence
    assert [remedy.changes for remedy in found.remedies][:2] == [{"kl.coef": 0.25}, {"ppo.learning_rate": 1e-5}]
    raised = Records(config(), metrics(), events=[changed("kl.coef", 0.25, 3.0)])
    assert raised.more_leash().changes == {"kl.coef": 6.0}, "not twice what it was at first"
    bonus = Records(config(ppo={"entropy_coef": 0.05}), metrics())
    assert bonus.more_entropy().changes == {"ppo.entropy_coef": 0.1}


def test_more_tokens_are_clipped_after_the_clip_range_was_lowered() -> None:
    clipped = metrics(clip_fraction=0.6)
    lowered = [changed("ppo.clip_range", 0.2, 0.02)]
    assert lamps(Records(config(), clipped, events=lowered))["clipping"].state == "quiet"
    alone = lamps(Records(config(), clipped))["clipping"]
    assert alone.state == "red" and {"ppo.clip_range": 0.2} not in [remedy.changes for remedy in alone.remedies]


def test_the_kl_is_on_its_way_after_the_target_of_an_adaptive_leash_was_changed() -> None:
    adaptive = config(kl={"controller": "adaptive", "target": 2.0})
    on_its_way = metrics(kl_to_reference=3.5, penalised_reward=0.125, reward_paid=0.125)
    lowered = [changed("kl.target", 6.0, 2.0)]
    assert lamps(Records(adaptive, on_its_way))["leash-off-target"].state == "amber"
    assert lamps(Records(adaptive, on_its_way, events=lowered))["leash-off-target"].state == "quiet"


def test_another_fingerprint_of_the_reference_is_red() -> None:
    def of(*prints: str) -> str:
        events = [
            Event(seq=number, time=0, kind="reference", update=10 * number, data={"fingerprint": one})
            for number, one in enumerate(prints)
        ]
        return lamps(Records(config(), metrics(), events=events))["reference-changed"].state

    assert [of("a", "a"), of("a", "b"), of("a")] == ["quiet", "red", "not measured"]


def test_updates_that_were_skipped_are_red() -> None:
    message = "An update was skipped: its advantages were not finite."
    events = [Event(seq=1, time=0, kind="warning", update=7, message=message)]
    found = lamps(Records(config(), metrics(), events=events))["gradient"]
    assert (found.state, found.updates) == ("red", [8])


def test_repetition_is_read_from_the_texts() -> None:
    before = look("before", 0, [0.0, 0.0], completion="the plot was good and the cast was better")
    after = look("after", LONG, [1.0, 1.0], completion="good good good good good good")
    assert lamps(Records(config(), metrics(), [*before, *after]))["repetition"].state == "red"
    assert lamps(Records(config(), metrics(), before))["repetition"].state == "quiet"


def test_one_kind_of_prompt_that_pays_for_another() -> None:
    def claims(stage: str, update: int, right: float, wrong: float) -> list[Sample]:
        texts = {"User: I think 3 plus 4 is 7. Bot:": right, "User: I think 3 plus 4 is 9. Bot:": wrong}
        return [
            sample(number, stage, score + 0.01 * number, update=update, prompt=prompt)
            for number, (prompt, score) in enumerate(item for item in texts.items() for _ in range(4))
        ]

    found = lamps(Records(config(), metrics(), [*claims("before", 0, 0, 0), *claims("after", LONG, -1, 1)]))
    assert found["one-kind-loses"].state == "amber" and "right claims" in found["one-kind-loses"].cause
    found = lamps(Records(config(), metrics(), [*claims("before", 0, 0, 0), *claims("after", LONG, 1, 1)]))
    assert found["one-kind-loses"].state == "quiet"


def test_an_adaptive_leash_that_misses_its_target() -> None:
    adaptive = config(kl={"controller": "adaptive", "target": 2.0})
    near = metrics(kl_to_reference=2.5, penalised_reward=0.375, reward_paid=0.375)
    far = metrics(kl_to_reference=3.5, penalised_reward=0.125, reward_paid=0.125)
    assert lamps(Records(adaptive, near))["leash-off-target"].state == "quiet"
    assert lamps(Records(adaptive, far))["leash-off-target"].state == "amber"
    assert lamps(Records(config(), far))["leash-off-target"].state == "not measured"


def test_the_horizon_is_offered_to_zieglers_leash_only() -> None:
    far = metrics(kl_to_reference=3.5, penalised_reward=0.125, reward_paid=0.125)
    for controller, fields in (("adaptive", {"kl.coef"}), ("ziegler", {"kl.coef", "kl.horizon", "kl.controller"})):
        lamp = lamps(Records(config(kl={"controller": controller, "target": 2.0}), far))["leash-off-target"]
        assert {field for remedy in lamp.remedies for field in remedy.changes} == fields


def test_a_beta_of_zieglers_that_overshoots_is_red_unless_somebody_moved_it() -> None:
    adaptive = config(kl={"controller": "ziegler", "target": 2.0})
    paid = {"penalised_reward": 1 - 2 * 2.6, "reward_paid": 1 - 2 * 2.6}
    leapt = metrics(kl_coef=2.6, **paid)  # from 0.25, from one update to the next
    lamp = lamps(Records(adaptive, leapt))["leash-off-target"]
    assert (lamp.state, lamp.updates[0]) == ("red", LONG // 2 + 1)
    by_hand = [Event(seq=1, time=0, kind="edit", update=LONG // 2, data={"field": "kl.coef", "value": 2.6})]
    assert lamps(Records(adaptive, leapt, events=by_hand))["leash-off-target"].state == "quiet"
    ahead = config(kl={"controller": "adaptive", "target": 2.0})
    assert lamps(Records(ahead, leapt))["leash-off-target"].state == "quiet", "it may rise by half in an update"
    near = metrics(kl_coef=2.4, penalised_reward=1 - 2 * 2.4, reward_paid=1 - 2 * 2.4)
    assert lamps(Records(adaptive, near))["leash-off-target"].state == "quiet"


def test_what_is_planted_can_be_taken_out_wherever_it_is_seen() -> None:
    planted = config(experiments=True, faults=["chapter-controller"], kl={"controller": "ziegler", "target": 2.0})
    found = lamps(Records(planted, metrics(kl_coef=2.6, penalised_reward=-4.2, reward_paid=-4.2)))
    assert [remedy.changes for remedy in found["leash-off-target"].remedies] == [{"faults": []}]
    assert all(not lamp.remedies for lamp in found.values() if lamp.state == "quiet")


HEALTHY_PRESETS = (
    "kinder-reviews", "autopilot", "yes-man", "honest-friend", "without-critic", "group-scores", "from-pairs",
    "best-texts", "best-of-n", "contrastive",
)  # fmt: skip
SICK = {
    "short-leash": set(),  # it gains little, and more than chance
    "no-leash": {"kl-runaway", "same-text", "length", "strange-texts", "judge-falls"},
    "chatterbox": {"length", "judge-falls"},
}


@pytest.mark.parametrize("preset", [*HEALTHY_PRESETS, *SICK])
def test_the_recorded_runs_light_what_they_are_there_to_show(preset: str) -> None:
    found = of_run(RECORDED / preset)
    assert {name for name, lamp in found.items() if lamp.state == "red"} <= SICK.get(preset, set())
    assert {name for name, lamp in found.items() if lamp.state in ("red", "amber")} >= SICK.get(preset, set())
    if preset in HEALTHY_PRESETS:
        assert not [name for name, lamp in found.items() if lamp.state == "amber"]


def of_run(folder: Path) -> dict[str, Lamp]:
    run = RunDirectory.open(folder)
    return lamps(Records(run.config(), run.metrics(), run.samples(), run.events()))


EAGER = Thresholds(
    kl_amber=0, kl_red=0, rise=0, length=0, strange_amber=0, strange_red=0, clip_amber=0, clip_red=0, gradient=0,
)  # fmt: skip


@pytest.mark.parametrize("preset", sorted(path.name for path in RECORDED.iterdir() if path.is_dir()))
def test_whatever_a_lamp_offers_to_set_can_be_set(preset: str) -> None:
    run = RunDirectory(RECORDED / preset)
    for at in (Thresholds(), EAGER):
        for lamp in diagnose(Records(run.config(), run.metrics(), run.samples(), run.events(), at)):
            for remedy in lamp.remedies:
                wanted = {
                    field: value for field, value in remedy.changes.items() if field not in ("fork_at", "rewards+")
                }
                settings = [f"{field}={json.dumps(value)}" for field, value in wanted.items()]
                yaml_io.overridden(run.config().model_dump(mode="json"), settings, RunConfig)

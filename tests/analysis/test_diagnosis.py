"""Checks of a run: what lights them, what does not, on records made by hand and on the recorded runs of the presets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playground.analysis.diagnosis import alert, diagnose
from playground.analysis.diagnosis.alert import Alert
from playground.analysis.diagnosis.run_records import Records, Thresholds
from playground.config import RunConfig, yaml_io
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, Sample, UpdateMetrics
from playground.ui.feed.feed import RECORDED
from tests.nights import nightly
from tests.support import sample, update_metrics

LONG, HALF = 30, 15  # updates
USUAL = Thresholds()
HEALTHY: dict[str, Any] = {
    "score_mean": 1.0,
    "score_std": 1.0,
    "kl_to_reference": 2.0,
    "kl_coef": 0.25,
    "penalised_reward": 0.5,
    "reward_paid": 0.5,
    "entropy": 1.0,
    "surprisal": 1.0,
    "completion_length": 20.0,
    "eos_fraction": 1.0,
    "distinct_2": 0.6,
    "perplexity_reference": 4.0,
    "clip_fraction": 0.05,
    "ratio_max": 2.0,
    "explained_variance": 0.4,
    "grad_norm": 1.0,
}


def metrics(**late: Any) -> list[UpdateMetrics]:
    """A healthy run whose second half has other figures; k1 and the exact KL differ by chance only. What completions
    are paid, and both KLs, follow from the KL and beta where they are not given."""
    kl, beta = late.get("kl_to_reference", 2.0), late.get("kl_coef", 0.25)
    paid = {"penalised_reward": 1 - beta * kl, "reward_paid": 1 - beta * kl}
    both = {"kl_estimates": {"k1": kl, "full": kl}} if "kl_to_reference" in late else {}
    made = []
    for update in range(1, LONG + 1):
        estimates = {"k1": 2.0 + (0.2 if update % 2 else -0.2), "full": 2.0}
        figures = {"kl_estimates": estimates, **HEALTHY, **(both | paid | late if update > HALF else {})}
        made.append(update_metrics(update, **figures))
    return made


def throughout(**figures: Any) -> list[UpdateMetrics]:
    return [item.model_copy(update=figures) for item in metrics()]


def config(**changes: Any) -> RunConfig:
    return yaml_io.from_dict({"rewards": [{"kind": "sentiment"}], **changes})


ADAPTIVE, ZIEGLER = ({"kl": {"controller": name, "target": 2.0}} for name in ("adaptive", "ziegler"))


def found(
    made: list[UpdateMetrics], samples: list[Sample] | None = None, *events: Event, **changes: Any
) -> dict[str, Alert]:
    return {one.name: one for one in diagnose(Records(config(**changes), made, samples or [], events))}


def lit(alerts: dict[str, Alert]) -> dict[str, str]:
    return {name: one.state for name, one in alerts.items() if one.lit}


def offers(one: Alert) -> list[dict[str, Any]]:
    return [remedy.changes for remedy in one.remedies]


def test_a_healthy_run_lights_nothing() -> None:
    assert lit(found(metrics())) == {}


FAR = {"kl_to_reference": 21.0, "perplexity_reference": 8.0}  # of 20 nats


@pytest.mark.parametrize(
    ("late", "name", "state"),
    [
        ({**FAR, "kl_to_reference": 13.0}, "kl-runaway", "amber"),
        (FAR, "kl-runaway", "red"),
        ({"kl_to_reference": -0.2}, "kl-negative", "red"),
        ({"entropy": 0.4, "surprisal": 0.4, "perplexity_reference": 8.0}, "entropy-gone", "amber"),
        ({"entropy": 0.05, "surprisal": 0.05, "perplexity_reference": 8.0}, "entropy-gone", "red"),
        ({"surprisal": 1.1}, "not-drawn", "red"),
        ({"distinct_2": 0.25}, "same-text", "amber"),
        ({"score_std": 0.2}, "no-spread", "amber"),
        ({"completion_length": 45.0}, "length", "amber"),
        ({"eos_fraction": 0.4}, "length", "red"),
        ({"perplexity_reference": 200.0}, "strange-texts", "red"),
        ({"clip_fraction": 0.6}, "clipping", "red"),
        ({"ratio_max": 500.0}, "clipping", "red"),
        ({"explained_variance": -0.1}, "value-fit", "amber"),
        ({"reward_paid": 9.5}, "books", "red"),
        ({"kl_estimates": {"k1": 3.0, "full": 2.0}}, "kl-disagrees", "red"),
    ],
)
def test_a_figure_lights_its_own_check_and_no_other(late: dict[str, Any], name: str, state: str) -> None:
    assert lit(found(metrics(**late))) == {name: state}


GROUPS: dict[str, Any] = {"method": "grpo"}


@pytest.mark.parametrize(
    ("share", "state"), [(0.0, "quiet"), (0.5, "quiet"), (0.51, "amber"), (0.9, "amber"), (0.95, "red"), (1.0, "red")]
)
def test_groups_of_which_nothing_is_learned_light_their_lamp_from_half_of_them_on(share: float, state: str) -> None:
    early = [item.model_copy(update={"groups_same_score": 0.1}) for item in metrics()[:HALF]]
    late = [item.model_copy(update={"groups_same_score": share}) for item in metrics()[HALF:]]
    alerts = found([*early, *late], **GROUPS)
    one = alerts["groups-alike"]
    assert (one.state, one.updates) == (state, [26, 27, 28, 29, 30] if state != "quiet" else [])
    assert lit(alerts) == ({} if state == "quiet" else {"groups-alike": state})
    if state != "quiet":
        each = config(**GROUPS).ppo
        more = {"ppo.samples_per_prompt": 2 * each.samples_per_prompt, "ppo.batch_size": 2 * each.batch_size}
        assert offers(one)[0] == more
        assert "always wrong" in one.cause
        assert f"{share:.0%} of the prompts" in one.evidence
        assert config(**GROUPS, ppo={key.partition(".")[2]: value for key, value in more.items()})


def test_two_updates_make_no_trend_of_groups_and_a_score_that_has_risen_is_another_cause() -> None:
    shares = [0.1] * 28 + [1.0] * 2
    made = [item.model_copy(update={"groups_same_score": one}) for item, one in zip(metrics(), shares, strict=True)]
    assert found(made, **GROUPS)["groups-alike"].state == "quiet"
    assert found(made)["groups-alike"].state == "not measured", "PPO has no groups"
    older = throughout(groups_same_score=None)
    assert found(older, **GROUPS)["groups-alike"].state == "not measured"
    late = metrics(score_mean=3.0, groups_same_score=0.95)
    risen = [item.model_copy(update={"groups_same_score": item.groups_same_score or 0.0}) for item in late]
    one = found(risen, **GROUPS)["groups-alike"]
    assert one.state == "red"
    assert "little left to learn" in one.cause
    assert offers(one) == [{}]


def test_far_from_the_reference_or_certain_of_texts_that_it_would_write_is_no_fault() -> None:
    assert lit(found(metrics(**{**FAR, "perplexity_reference": 4.2}))) == {}
    assert lit(found(metrics(entropy=0.05, surprisal=0.05, perplexity_reference=4.2))) == {}
    silent = found([item.model_copy(update={"perplexity_reference": None}) for item in metrics(**FAR)])
    assert silent["kl-runaway"].state == silent["entropy-gone"].state == "not measured"


def drawn(seed: int, off: float = 0.0) -> list[UpdateMetrics]:
    """200 updates of a sound run of 48 completions whose KL grows from 0 to 4 nats: k1 and surprisal differ from what
    they are on average by chance only, or by `off` of it."""
    random = np.random.default_rng(seed)
    made = []
    for update in range(1, 201):
        kl = update / 50
        exact = random.normal(kl, 0.3, 48)
        k1 = exact + random.normal(off * kl, np.sqrt(2 * kl), 48)
        figures: dict[str, Any] = {
            "kl_estimates": {"k1": float(k1.mean()), "full": float(exact.mean())},
            "kl_spreads": {"k1": float(k1.std())},
            "surprisal": 0.2 * (1 + off) + float(random.normal(0, 0.015)),
        }
        made.append(UpdateMetrics.model_construct(update=update, entropy=0.2, **figures))
    return made


@pytest.mark.parametrize(
    ("name", "spreads"), [("kl-disagrees", True), nightly("kl-disagrees", False), nightly("not-drawn", True)]
)
def test_chance_lights_a_check_in_few_of_a_hundred_runs(name: str, spreads: bool) -> None:
    settings = config(ppo={"batch_size": 48, "minibatch_size": 16})

    def alarm(made: list[UpdateMetrics]) -> bool:  # after any of its updates
        made = made if spreads else [item.model_copy(update={"kl_spreads": {}}) for item in made]
        return any(alert(name, Records(settings, made[:end])).state == "red" for end in range(10, 201))

    assert sum(alarm(drawn(seed)) for seed in range(100)) <= 5
    assert all(alarm(drawn(seed, off=0.5)) for seed in range(10))


def evaluation(stage: str, update: int, scores: list[float], **changes: Any) -> list[Sample]:
    return [sample(number, stage, score, update=update, **changes) for number, score in enumerate(scores)]


def between(first: list[float], last: list[float], *during: tuple[int, list[float]]) -> list[Sample]:
    middle = [item for update, scores in during for item in evaluation("during", update, scores)]
    return [*evaluation("before", 0, first), *middle, *evaluation("after", LONG, last)]


SAME = between([0.0, 1.0, 2.0], [0.1, 0.8, 2.0])


def test_a_score_that_does_not_move_has_a_cause_and_remedies() -> None:
    still, near, dead = (
        found(throughout(**figures), SAME)["flat"] for figures in ({}, {"kl_to_reference": 0.02}, {"score_std": 0.0})
    )
    assert {one.state for one in (still, near, dead)} == {"amber"}
    assert len({one.cause for one in (still, near, dead)}) == 3
    assert [list(changes) for changes in offers(near)] == [["kl.coef"], ["ppo.learning_rate"]]
    assert found(metrics(), between([0.0, 1.0, 2.0], [3.0, 4.1, 4.9]))["flat"].state == "quiet"
    assert found(metrics()[:10], SAME)["flat"].state == "not measured"


def test_what_cannot_be_told_from_chance_says_so_and_blames_no_reward_for_an_estimate_above_zero() -> None:
    steps = [-2.0, 0.5, 1.0, 2.5, 5.25]  # mean 1.45, sd 2.672: Student's t with 4 degrees bounds it by 3.317
    up, down = (found(metrics(), between([0.0] * 5, [sign * step for step in steps]))["flat"] for sign in (1, -1))
    assert up.state == "amber"
    assert "+1.45 (-1.87 to +4.77)" in up.evidence
    assert "4.74 or more would have been seen in 8 of 10" in up.evidence
    assert "misread" in down.cause
    assert "misread" not in up.cause


TOP = (10, [5.0, 6.1, 6.9])


def test_a_score_that_falls_lights_one_that_rose_and_fell_another() -> None:
    falls = found(metrics(), between([0.0, 1.0, 2.0], [-3.0, -2.1, -0.9]))
    assert falls["wrong-way"].state == "red"
    assert falls["flat"].state == "quiet"
    back = found(metrics(), between([0.0, 1.0, 2.0], [1.0, 2.1, 2.9], TOP))
    assert back["fell-back"].state == "red"
    assert offers(back["fell-back"])[0] == {"fork_at": 10}
    assert back["wrong-way"].state == "quiet"


def changed(field: str, old: float, new: float, *, fork: bool = False) -> Event:
    data: dict[str, Any] = {"field": field, "old": old, "value": new}
    if fork:
        data = {"parent": "p", "changed": {field: new}, "before": {field: old}}
    return Event(seq=1, time=0, kind="fork" if fork else "edit", update=HALF, data=data)


@pytest.mark.parametrize("fork", [False, True])
def test_a_score_that_falls_because_beta_was_raised_is_no_fault_and_beta_is_not_to_be_raised_more(fork: bool) -> None:
    nearer, back = metrics(kl_to_reference=0.3, kl_coef=3.0), between([0, 1, 2], [0.1, 0.8, 2.0], (HALF, TOP[1]))
    settings = {"kl": {"coef": 3.0 if fork else 0.25}}
    raised = changed("kl.coef", 0.25, 3.0, fork=fork)
    alerts = found(nearer, back, raised, **settings)
    assert lit(alerts) == {}
    assert all("raised from 0.25 to 3 after update 15" in alerts[name].evidence for name in ("fell-back", "flat"))
    by_itself = found(nearer, back, **settings)["fell-back"]
    assert by_itself.state == "red"
    assert "from 0.25 to 3" in by_itself.cause
    assert not any("kl.coef" in changes for changes in offers(by_itself))
    held = {"kl": {"controller": "adaptive", "coef": 0.25, "target": 1.9}}  # it was 2 nats away when it was best
    assert found(nearer, back, **held)["fell-back"].state == "quiet"
    assert found(metrics(kl_to_reference=5.0, kl_coef=3.0), back, raised, **settings)["fell-back"].state == "red"


def test_what_was_taken_of_the_kl_penalty_is_offered_back_and_settings_are_those_that_hold() -> None:
    events = [changed("kl.coef", 0.25, 0.05), changed("ppo.learning_rate", 3e-4, 3e-5)]
    one = found(metrics(**FAR, kl_coef=0.05), None, *events)["kl-runaway"]
    assert one.state == "red"
    assert "from 0.25 to 0.05 after update 15" in one.evidence
    assert offers(one)[:2] == [{"kl.coef": 0.25}, {"ppo.learning_rate": 1e-5}]
    raised = Records(config(), metrics(), events=[changed("kl.coef", 0.25, 3.0)])
    assert raised.more_penalty().changes == {"kl.coef": 6.0}, "not twice what it was at first"
    bonus = Records(config(ppo={"entropy_coef": 0.05}), metrics())
    assert bonus.more_entropy().changes == {"ppo.entropy_coef": 0.1}


def test_an_adaptive_penalty_that_misses_its_target() -> None:
    near, far = metrics(kl_to_reference=2.5), metrics(kl_to_reference=3.5)
    assert found(near, **ADAPTIVE)["leash-off-target"].state == "quiet"
    assert found(far, **ADAPTIVE)["leash-off-target"].state == "amber"
    assert found(far)["leash-off-target"].state == "not measured"


def test_a_beta_of_zieglers_that_overshoots_is_red() -> None:
    leapt = metrics(kl_coef=2.6)  # from 0.25, from one update to the next
    one = found(leapt, **ZIEGLER)["leash-off-target"]
    assert (one.state, one.updates[0]) == ("red", HALF + 1)
    assert found(leapt, **ADAPTIVE)["leash-off-target"].state == "quiet", "it may rise by half in an update"
    assert found(metrics(kl_coef=2.4), **ZIEGLER)["leash-off-target"].state == "quiet"
    planted = found(leapt, **ZIEGLER, experiments=True, faults=["chapter-controller"])
    assert offers(planted["leash-off-target"]) == [{"faults": []}]
    assert all(not one.remedies for one in planted.values() if not one.lit)


@pytest.mark.parametrize(("prints", "state"), [("aa", "quiet"), ("ab", "red"), ("a", "not measured")])
def test_another_fingerprint_of_the_reference_is_red(prints: str, state: str) -> None:
    events = [
        Event(seq=number, time=0, kind="reference", update=10 * number, data={"fingerprint": one})
        for number, one in enumerate(prints)
    ]
    assert found(metrics(), None, *events)["reference-changed"].state == state


@pytest.mark.parametrize(
    ("event", "updates"),
    [
        ({"data": {"skipped": True}}, [7]),
        ({"message": "A judge failed."}, []),
    ],
)
def test_updates_that_were_skipped_are_red(event: dict[str, Any], updates: list[int]) -> None:
    one = found(metrics(), None, Event(**{"seq": 1, "time": 0, "kind": "warning", "update": 7, **event}))["gradient"]
    assert (one.state, one.updates) == ("red" if updates else "quiet", updates)


SOUND = [
    *("kinder-reviews", "autopilot", "yes-man", "honest-friend", "without-critic"),
    *("group-scores", "from-pairs", "best-texts", "best-of-n", "contrastive"),
]
SICK = {
    "short-leash": set(),  # it gains little, and more than chance
    "no-leash": {"kl-runaway", "same-text", "length", "strange-texts", "judge-falls"},
    "chatterbox": {"length", "judge-falls"},
}


def of_run(folder: Path, at: Thresholds = USUAL) -> list[Alert]:
    run = RunDirectory.open(folder)
    return diagnose(Records(run.config(), run.metrics(), run.samples(), run.events(), at))


@pytest.mark.parametrize("preset", [*SOUND, *SICK])
def test_the_recorded_runs_light_what_they_are_there_to_show(preset: str) -> None:
    states = lit({one.name: one for one in of_run(RECORDED / preset)})
    assert {name for name, state in states.items() if state == "red"} <= SICK.get(preset, set()) <= set(states)
    assert preset in SICK or states == {}


def test_repetition_is_read_from_the_texts() -> None:
    before = evaluation("before", 0, [0.0, 0.0], completion="the plot was good and the cast was better")
    after = evaluation("after", LONG, [1.0, 1.0], completion="good good good good good good")
    assert found(metrics(), [*before, *after])["repetition"].state == "red"
    assert found(metrics(), before)["repetition"].state == "quiet"


EAGER = Thresholds(
    kl_amber=0, kl_red=0, rise=0, length=0, strange_amber=0, strange_red=0, clip_amber=0, clip_red=0, gradient=0
)


@pytest.mark.parametrize("preset", sorted(path.name for path in RECORDED.iterdir() if path.is_dir()))
def test_whatever_is_offered_to_be_set_can_be_set(preset: str) -> None:
    run = RunDirectory(RECORDED / preset).config()
    every = [one for at in (USUAL, EAGER) for one in of_run(RECORDED / preset, at)]
    for changes in (changes for one in every for changes in offers(one)):
        wanted = {field: value for field, value in changes.items() if field not in ("fork_at", "rewards+")}
        settings = [f"{field}={json.dumps(value)}" for field, value in wanted.items()]
        yaml_io.overridden(run.model_dump(mode="json"), settings, RunConfig)

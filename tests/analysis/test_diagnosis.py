"""Checks of a run: what lights them, what does not, on records made by hand and on the recorded runs of the presets."""

import functools
import json
from typing import Any

import numpy as np
import pytest

from playground.analysis.diagnosis import alert, diagnose
from playground.analysis.diagnosis.run_records import Records, Thresholds
from playground.config import RunConfig, yaml_io
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, UpdateMetrics
from playground.setup import catalog
from tests.nights import cases, nightly
from tests.support import data_beside, sample, update_metrics

LONG, HALF = 30, 15  # updates
RECORDS = data_beside(__file__, "diagnosis.yaml")


def metrics(**late):
    """A healthy run whose second half has other figures; k1 and the exact KL differ by chance only. What completions
    are paid, and both KLs, follow from the KL and beta where they are not given."""
    kl, beta = late.get("kl_to_reference", 2.0), late.get("kl_coef", 0.25)
    paid = {"penalised_reward": 1 - beta * kl, "reward_paid": 1 - beta * kl}
    both = {"kl_estimates": {"k1": kl, "full": kl}} if "kl_to_reference" in late else {}
    second_half = both | paid | late
    by_chance = [{"kl_estimates": {"k1": 2.0 + noise, "full": 2.0}} for noise in (-0.2, 0.2)]
    halves = [{}, second_half]
    return [
        update_metrics(update, **RECORDS["healthy"] | by_chance[update % 2] | halves[update > HALF])
        for update in range(1, LONG + 1)
    ]


def throughout(**figures):
    return [item.model_copy(update=figures) for item in metrics()]


def config(**changes):
    return yaml_io.from_dict({"rewards": [{"kind": "sentiment"}], **changes})


ADAPTIVE, ZIEGLER = ({"kl": {"controller": name, "target": 2.0}} for name in ("adaptive", "ziegler"))


def by_name(records):
    return {check.name: check for check in diagnose(records)}


def alerts_of(updates, samples=(), *events, **changes):
    return by_name(Records(config(**changes), updates, samples, events))


def lit(alerts):
    return {name: check.state for name, check in alerts.items() if check.lit}


def offers(check):
    return [remedy.changes for remedy in check.remedies]


FAR = {"kl_to_reference": 21.0, "perplexity_reference": 8.0}  # of 20 nats


@pytest.mark.parametrize(("late", "name", "state"), RECORDS["lit"])
def test_a_figure_lights_its_own_check_and_no_other(late, name, state):
    assert lit(alerts_of(metrics(**late))) == {name: state}


@pytest.mark.parametrize(("changes", "gain", "state"), RECORDS["moves"])
def test_a_run_that_hardly_moves_is_told_to_raise_its_learning_rate(changes, gain, state):
    beta = changes.get("kl", {}).get("coef", 0.25)
    sides = (("before", 0.0), ("after", gain))
    answers = [sample(at, stage, at * step + at % 3) for stage, step in sides for at in range(16)]
    run = [item.model_copy(update={"kl_coef": beta}) for item in metrics(kl_to_reference=0.2)]
    seen = alerts_of(run, answers, **changes)["hardly-moves"]
    assert seen.state == state
    if state == "amber":
        assert offers(seen) == [{"ppo.learning_rate": 0.0006}]
    assert alerts_of(run[:19], **changes)["hardly-moves"].state == "not measured"


@pytest.mark.parametrize(("rewards", "gain", "words"), RECORDS["plain"])
def test_what_is_lit_says_what_happened_to_who_knows_none_of_the_words(rewards, gain, words):
    sides = (("before", 0.0), ("after", gain))
    answers = [sample(at, stage, step + at * 0.1) for stage, step in sides for at in range(16)]
    assert alerts_of(metrics(**FAR), answers, rewards=rewards)["kl-runaway"].plain.startswith(words)
    assert not alerts_of(metrics(), answers, rewards=rewards)["kl-runaway"].plain, "it is quiet"
    cut = alerts_of(metrics(eos_fraction=0.4), answers)["length"]
    assert cut.plain == "Most of its texts do not come to an end any more."


def test_a_critic_that_explains_nothing_is_usual_where_the_texts_leave_little_to_choose():
    claims = throughout(entropy=0.2, surprisal=0.2, completion_length=12.0, explained_variance=-0.1)
    assert lit(alerts_of(claims)) == {}
    assert "2.4 nats in a text" in alerts_of(claims)["value-fit"].evidence
    for other in ({"entropy": None, "surprisal": None}, {"completion_length": 500.0}):
        longer_or_unknown = [item.model_copy(update=other) for item in claims]
        assert lit(alerts_of(longer_or_unknown)) == {"value-fit": "amber"}


ENSEMBLE = {"rewards": [{"kind": "model", "source": name} for name in "ab"], "score": {"combine": "min"}}


@pytest.mark.parametrize(
    ("score", "apart", "state"), [(2.0, 1.4, "quiet"), (2.0, 1.6, "amber"), (2.0, 3.2, "red"), (0.9, 3.2, "quiet")]
)
def test_learned_rewards_that_disagree_more_light_their_check_where_the_score_has_risen(score, apart, state):
    at_first = {"disagreement": 1.0}
    updates = [
        item if item.disagreement else item.model_copy(update=at_first)
        for item in metrics(score_mean=score, disagreement=apart)
    ]
    assert alerts_of(updates, **ENSEMBLE)["disagreement"].state == state
    assert alerts_of(updates)["disagreement"].state == "not measured"


GROUPS: dict[str, Any] = {"method": "grpo"}


def with_groups(updates, *shares):
    """Each update with the share of its prompts whose completions all score the same."""
    pairs = zip(updates, shares, strict=True)
    return [update.model_copy(update={"groups_same_score": share}) for update, share in pairs]


@pytest.mark.parametrize(
    ("share", "state"), [(0.0, "quiet"), (0.5, "quiet"), (0.51, "amber"), (0.9, "amber"), (0.95, "red"), (1.0, "red")]
)
def test_groups_of_which_nothing_is_learned_light_their_lamp_from_half_of_them_on(share, state):
    alerts = alerts_of(with_groups(metrics(), *[0.1] * HALF, *[share] * HALF), **GROUPS)
    groups = alerts["groups-alike"]
    assert (groups.state, groups.updates) == (state, [26, 27, 28, 29, 30] if state != "quiet" else [])
    assert lit(alerts) == ({} if state == "quiet" else {"groups-alike": state})
    if state != "quiet":
        sizes = config(**GROUPS).ppo
        more = {"samples_per_prompt": 2 * sizes.samples_per_prompt, "batch_size": 2 * sizes.batch_size}
        assert offers(groups)[0] == {f"ppo.{name}": size for name, size in more.items()}
        assert "always wrong" in groups.cause
        assert f"{share:.0%} of the prompts" in groups.evidence
        assert config(**GROUPS, ppo=more)


def test_two_updates_make_no_trend_of_groups_and_a_score_that_has_risen_is_another_cause():
    updates = with_groups(metrics(), *[0.1] * 28, *[1.0] * 2)
    assert alerts_of(updates, **GROUPS)["groups-alike"].state == "quiet"
    assert alerts_of(updates)["groups-alike"].state == "not measured", "PPO has no groups"
    assert alerts_of(with_groups(metrics(), *[None] * LONG), **GROUPS)["groups-alike"].state == "not measured"
    risen = with_groups(metrics(score_mean=3.0), *[0.0] * HALF, *[0.95] * HALF)
    groups = alerts_of(risen, **GROUPS)["groups-alike"]
    assert groups.state == "red"
    assert "little left to learn" in groups.cause
    assert offers(groups) == [{}]


def test_a_healthy_run_lights_nothing_nor_one_far_from_the_reference_or_certain_of_texts_that_it_would_write():
    assert lit(alerts_of(metrics())) == {}
    assert lit(alerts_of(metrics(**{**FAR, "perplexity_reference": 4.2}))) == {}
    assert lit(alerts_of(metrics(entropy=0.05, surprisal=0.05, perplexity_reference=4.2))) == {}
    silent = alerts_of([update.model_copy(update={"perplexity_reference": None}) for update in metrics(**FAR)])
    assert silent["kl-runaway"].state == silent["entropy-gone"].state == "not measured"


def drawn(seed, off=0.0):
    """200 updates of a sound run of 48 completions whose KL grows from 0 to 4 nats: k1 and surprisal differ from what
    they are on average by chance only, or by `off` of it."""
    random = np.random.default_rng(seed)
    updates = []
    for update in range(1, 201):
        kl = update / 50
        exact = random.normal(kl, 0.3, 48)
        k1 = exact + random.normal(off * kl, np.sqrt(2 * kl), 48)
        figures: dict[str, Any] = {
            "kl_estimates": {"k1": float(k1.mean()), "full": float(exact.mean())},
            "kl_spreads": {"k1": float(k1.std())},
            "surprisal": 0.2 * (1 + off) + float(random.normal(0, 0.015)),
        }
        updates.append(UpdateMetrics.model_construct(update=update, entropy=0.2, **figures))
    return updates


@pytest.mark.parametrize(
    ("name", "spreads"), [("kl-disagrees", True), nightly("kl-disagrees", False), nightly("not-drawn", True)]
)
def test_chance_lights_a_check_in_few_of_a_hundred_runs(name, spreads):
    settings = config(ppo={"batch_size": 48, "minibatch_size": 16})

    def alarm(updates):  # after any of them
        updates = updates if spreads else [item.model_copy(update={"kl_spreads": {}}) for item in updates]
        return any(alert(name, Records(settings, updates[:end])).state == "red" for end in range(10, 201))

    assert sum(alarm(drawn(seed)) for seed in range(100)) <= 5
    assert all(alarm(drawn(seed, off=0.5)) for seed in range(10))


def evaluation(stage, update, scores, **changes):
    return [sample(number, stage, score, update=update, **changes) for number, score in enumerate(scores)]


def between(first, last, *during):
    middle = [item for update, scores in during for item in evaluation("during", update, scores)]
    return [*evaluation("before", 0, first), *middle, *evaluation("after", LONG, last)]


SAME = between([0.0, 1.0, 2.0] * 3, [0.1, 0.8, 2.0] * 3)


def test_a_score_that_does_not_move_has_a_cause_and_remedies():
    runs = metrics(), throughout(kl_to_reference=0.02), throughout(score_std=0.0)
    still, near, dead = (alerts_of(updates, SAME)["flat"] for updates in runs)
    assert {alert.state for alert in (still, near, dead)} == {"amber"}
    assert len({alert.cause for alert in (still, near, dead)}) == 3
    assert [list(changes) for changes in offers(near)] == [["kl.coef"], ["ppo.learning_rate"]]
    assert alerts_of(metrics(), between([0.0, 1.0, 2.0], [3.0, 4.1, 4.9]))["flat"].state == "quiet"
    assert alerts_of(metrics()[:10], SAME)["flat"].state == "not measured"


def test_texts_that_get_shorter_are_not_told_to_end():
    shorter = alerts_of(metrics(completion_length=8.0))["length"]
    longer = alerts_of(metrics(completion_length=45.0))["length"]
    assert (shorter.state, longer.state) == ("amber", "amber")
    assert "Ending pays" in shorter.cause
    assert "each extra token" in longer.cause
    assert "sampling.missing_eos_penalty" in str(offers(longer))
    assert "sampling.missing_eos_penalty" not in str(offers(shorter))


def test_of_too_few_answers_and_of_answers_of_one_word_nothing_is_said():
    flat = alerts_of(metrics(), between([0.0, 1.0, 2.0], [0.1, 0.8, 2.0]))["flat"]
    assert flat.state == "not measured"
    assert "3 prompts, each answered once" in flat.evidence
    assert alerts_of(throughout(distinct_2=0.0))["same-text"].state == "not measured"
    alike = [item.model_copy(update={"distinct_2": 0.0}) for item in metrics(score_std=0.01)]
    assert "little left to learn" in alerts_of(alike)["no-spread"].cause
    assert "less than at first" in alerts_of(metrics(score_std=0.01, score_mean=-9.0))["no-spread"].cause
    assert "too hard" in alerts_of(throughout(score_std=1e-17, answers_right=0.0))["no-spread"].cause
    assert "answer is right" in alerts_of(metrics(score_std=0.01, answers_right=0.95))["no-spread"].cause


def test_what_cannot_be_told_from_chance_says_so_and_blames_no_reward_for_an_estimate_above_zero():
    steps = [-2.0, 0.5, 1.0, 2.5, 5.25, -3.0, -1.0, 4.25]  # mean 0.94: Student's t with 7 degrees bounds it by 2.45
    up, down = (alerts_of(metrics(), between([0.0] * 8, [sign * step for step in steps]))["flat"] for sign in (1, -1))
    assert up.state == "amber"
    assert "+0.94 (-1.51 to +3.39)" in up.evidence
    assert "3.50 or more would have been seen in 8 of 10" in up.evidence
    assert "misread" in down.cause
    assert "misread" not in up.cause


TOP = (10, [5.0, 6.1, 6.9] * 3)


def test_a_score_that_falls_lights_one_check_and_one_that_rose_and_fell_another():
    falls = alerts_of(metrics(), between([0.0, 1.0, 2.0] * 3, [-3.0, -2.1, -0.9] * 3))
    assert (falls["wrong-way"].state, falls["flat"].state) == ("red", "quiet")
    back = alerts_of(metrics(), between([0.0, 1.0, 2.0] * 3, [1.0, 2.1, 2.9] * 3, TOP))
    assert back["fell-back"].state == "red"
    assert offers(back["fell-back"])[0] == {"fork_at": 10}
    assert back["wrong-way"].state == "quiet"


def changed(field, old, new, *, fork=False):
    data: dict[str, Any] = {"field": field, "old": old, "value": new}
    if fork:
        data = {"parent": "p", "changed": {field: new}, "before": {field: old}}
    return Event(seq=1, time=0, kind="fork" if fork else "edit", update=HALF, data=data)


@pytest.mark.parametrize("fork", [False, True])
def test_a_score_that_falls_because_beta_was_raised_is_no_fault_and_beta_is_not_to_be_raised_more(fork):
    nearer, back = (
        metrics(kl_to_reference=0.3, kl_coef=3.0),
        between([0, 1, 2] * 3, [0.1, 0.8, 2.0] * 3, (HALF, TOP[1])),
    )
    settings = {"kl": {"coef": 3.0 if fork else 0.25}}
    raised = changed("kl.coef", 0.25, 3.0, fork=fork)
    alerts = alerts_of(nearer, back, raised, **settings)
    assert lit(alerts) == {}
    assert all("raised from 0.25 to 3 after update 15" in alerts[name].evidence for name in ("fell-back", "flat"))
    by_itself = alerts_of(nearer, back, **settings)["fell-back"]
    assert by_itself.state == "red"
    assert "from 0.25 to 3" in by_itself.cause
    assert not any("kl.coef" in changes for changes in offers(by_itself))
    held = {"kl": {"controller": "adaptive", "coef": 0.25, "target": 3.0}}
    for further in (nearer, metrics(kl_to_reference=2.5, kl_coef=3.0)):
        pulled = alerts_of(further, back, **held)["fell-back"]
        assert pulled.state == "quiet"
        assert "The leash has pulled it back: beta has risen from 0.25 to 3" in pulled.evidence
    assert alerts_of(metrics(kl_to_reference=5.0, kl_coef=3.0), back, raised, **settings)["fell-back"].state == "red"


def test_what_was_taken_of_the_kl_penalty_is_offered_back_and_settings_are_those_that_hold():
    events = [changed("kl.coef", 0.25, 0.05), changed("ppo.learning_rate", 3e-4, 3e-5)]
    runaway = alerts_of(metrics(**FAR, kl_coef=0.05), [], *events)["kl-runaway"]
    assert runaway.state == "red"
    assert "from 0.25 to 0.05 after update 15" in runaway.evidence
    assert offers(runaway)[:2] == [{"kl.coef": 0.25}, {"ppo.learning_rate": 1e-5}]
    raised = Records(config(), metrics(), events=[changed("kl.coef", 0.25, 3.0)])
    assert raised.more_penalty().changes == {"kl.coef": 6.0}, "not twice what it was at first"
    bonus = Records(config(ppo={"entropy_coef": 0.05}), metrics())
    assert bonus.more_entropy().changes == {"ppo.entropy_coef": 0.1}


def test_an_adaptive_penalty_that_misses_its_target_is_amber_and_a_beta_of_zieglers_that_overshoots_red():
    near, far = metrics(kl_to_reference=2.5), metrics(kl_to_reference=3.5)
    assert alerts_of(near, **ADAPTIVE)["leash-off-target"].state == "quiet"
    assert alerts_of(far, **ADAPTIVE)["leash-off-target"].state == "amber"
    assert alerts_of(far)["leash-off-target"].state == "not measured"
    leapt = metrics(kl_coef=2.6)  # from 0.25, from one update to the next
    target = alerts_of(leapt, **ZIEGLER)["leash-off-target"]
    assert (target.state, target.updates[0]) == ("red", HALF + 1)
    assert alerts_of(leapt, **ADAPTIVE)["leash-off-target"].state == "quiet", "it may rise by half in an update"
    assert alerts_of(metrics(kl_coef=2.4), **ZIEGLER)["leash-off-target"].state == "quiet"
    planted = alerts_of(leapt, **ZIEGLER, experiments=True, faults=["chapter-controller"])
    assert offers(planted["leash-off-target"]) == [{"faults": []}]
    assert all(not alert.remedies for alert in planted.values() if not alert.lit)


@pytest.mark.parametrize(("prints", "state"), [("aa", "quiet"), ("ab", "red"), ("a", "not measured")])
def test_another_fingerprint_of_the_reference_is_red(prints, state):
    events = [
        Event(seq=number, time=0, kind="reference", update=10 * number, data={"fingerprint": fingerprint})
        for number, fingerprint in enumerate(prints)
    ]
    assert alerts_of(metrics(), [], *events)["reference-changed"].state == state


@pytest.mark.parametrize(("gap", "rounded", "state"), RECORDS["misread"])
def test_fewer_bits_are_named_as_the_cause_of_other_scores(gap, rounded, state):
    models = [{"source": "a", "misreading": 0.0}, {"source": "b", "misreading": gap, "rounded": rounded}]
    seen = alerts_of(
        metrics(), [], Event(seq=1, time=0, kind="reward_models", update=0, data={"reward_models": models})
    )["reward-misread"]
    assert seen.state == state
    assert ("format" in seen.cause) == (state == "red")
    assert (f"in {rounded} here" in seen.cause) == bool(rounded and seen.lit)


@pytest.mark.parametrize(("data", "state", "updates"), [({"skipped": True}, "red", [7]), ({}, "quiet", [])])
def test_updates_that_were_skipped_are_red(data, state, updates):
    warning = Event(seq=1, time=0, kind="warning", update=7, message="Something failed.", data=data)
    gradient = alerts_of(metrics(), [], warning)["gradient"]
    assert (gradient.state, gradient.updates) == (state, updates)


SOUND = [
    *("kinder-reviews", "autopilot", "yes-man", "honest-friend", "without-critic"),
    *("group-scores", "from-pairs", "best-texts", "best-of-n", "contrastive"),
]
SICK = {
    "short-leash": set(),  # it gains little, and more than chance
    "no-leash": {"kl-runaway", "same-text", "length", "strange-texts", "judge-falls"},
    "chatterbox": {"length", "judge-falls"},
}


@functools.cache
def records_of(preset):
    run = RunDirectory.open(catalog.RECORDED / preset)
    return {"config": run.config(), "metrics": run.metrics(), "samples": run.samples(), "events": run.events()}


@pytest.mark.parametrize("preset", [*SOUND, *SICK])
def test_the_recorded_runs_light_what_they_are_there_to_show(preset):
    states = lit(by_name(Records(**records_of(preset))))
    assert {name for name, state in states.items() if state == "red"} <= SICK.get(preset, set()) <= set(states)
    assert preset in SICK or states == {}


def test_repetition_is_read_from_the_texts():
    before = evaluation("before", 0, [0.0, 0.0], completion="the plot was good and the cast was better")
    after = evaluation("after", LONG, [1.0, 1.0], completion="good good good good good good")
    assert alerts_of(metrics(), [*before, *after])["repetition"].state == "red"
    assert alerts_of(metrics(), before)["repetition"].state == "quiet"


EAGER = Thresholds(
    kl_amber=0, kl_red=0, rise=0, length=0, strange_amber=0, strange_red=0, clip_amber=0, clip_red=0, gradient=0
)


PRESETS = sorted(path.name for path in catalog.RECORDED.iterdir() if path.is_dir())


@pytest.mark.parametrize("preset", cases(PRESETS, always=SICK))
def test_whatever_is_offered_to_be_set_can_be_set(preset):
    records = records_of(preset)
    every = [check for at in (Thresholds(), EAGER) for check in diagnose(Records(**records, at=at))]
    for changes in (changes for check in every for changes in offers(check)):
        wanted = {field: value for field, value in changes.items() if field not in ("fork_at", "rewards+")}
        settings = [f"{field}={json.dumps(value)}" for field, value in wanted.items()]
        yaml_io.overridden(records["config"].model_dump(mode="json"), settings, RunConfig)

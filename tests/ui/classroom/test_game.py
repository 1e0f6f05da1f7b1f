"""The game of a class: which rewards are taken, how they are trained, and what is said of what came of them."""

import re
import shutil

import pytest

from playground.config import Behaviour
from playground.rewards import behaviours, mixture
from playground.setup import catalog
from playground.ui.classroom import game_rewards as game
from playground.ui.classroom.records import ClassGameEntry
from playground.ui.classroom.room import Answer
from playground.ui.classroom.room_file import NoClass
from tests.support import data_beside
from tests.ui.classroom.desk import RISING, TEXTS, write_run

REWARDS = data_beside(__file__, "rewards.yaml")


def taken(reward):
    return game.checked(1, {"reward": reward})


@pytest.mark.parametrize(("reward", "kept"), [*REWARDS["kept"], (game.EXAMPLE, game.EXAMPLE)])
def test_an_expression_that_reads_the_completion_is_kept_on_one_line(reward, kept):
    assert taken(reward) == {"reward": kept}


@pytest.mark.parametrize(("reward", "why"), [*REWARDS["refused"], (None, "Write a reward"), (7, "Write a reward")])
def test_what_cannot_be_paid_is_refused_with_the_reason(reward, why):
    with pytest.raises(NoClass, match=re.escape(why)):
        taken(reward)


@pytest.mark.parametrize("name", game.JUDGES)
def test_the_judges_of_the_game_are_held_out_of_the_rewards(name):
    with pytest.raises(NoClass, match=f"{name} is what the judges of this game use"):
        taken(f"words(completion) + otherwise({name}(prompt, completion), 0)")
    assert name not in [function.written.partition("(")[0] for function in game.functions()]


def test_a_person_has_one_reward_that_several_wrote_is_trained_once_and_the_order_does_not_say_who():
    with pytest.raises(NoClass, match="one reward"):
        game.checked(2, {"reward": "words(completion)"})
    answers = [Answer(1, person, {"reward": reward}) for person, reward in (("p", "b"), ("q", "a"), ("r", "b"))]
    assert game.entries(answers, {"a", "gone"}) == [ClassGameEntry("a", 1, True), ClassGameEntry("b", 2, False)]


def test_every_run_has_the_one_reward_and_is_called_by_its_number():
    rewards = ['count(completion, "it\'s") - 2', "words(completion)"]
    sweep = game.sweep_of("game-1", rewards, 1.0)
    assert sweep.runs == ["game-1-01", "game-1-02"]
    configs = [sweep.config(run_id) for run_id in sweep.runs]
    assert [[part.expression for part in config.rewards] for config in configs] == [[reward] for reward in rewards]  # type: ignore[union-attr]
    assert {config.ppo.num_updates for config in configs} == {game.CUT["ppo"]["num_updates"]}
    preset = catalog.preset(game.PRESET)
    assert configs[0].model == preset.model
    assert configs[0].kl.coef == preset.kl.coef
    assert game.configs(rewards) == configs


def test_what_is_wanted_is_kind_and_in_correct_english_as_the_behaviours_have_it():
    texts = REWARDS["texts"]
    (goal,) = (item for item in game.configs(["words(completion)"])[0].behaviours or () if item.name == game.JUDGE)
    measured = (goal, Behaviour(name="positive"), Behaviour(name="parses"))
    prompts = ["Review of the film: The plot was"] * len(texts)
    marks = behaviours.Behaviours(measured, mixture.build)(prompts, texts, [True] * len(prompts))
    both = [bool(kind and english) for kind, english in zip(marks["positive"], marks["parses"], strict=True)]
    assert (marks[game.JUDGE], {*both}) == (both, {True, False})


def test_a_run_says_what_was_paid_what_was_wanted_and_shows_a_text(tmp_path):
    sweep = game.sweep_of("game", ["words(completion)", "sentiment(completion)"], 1.0)
    run = write_run(tmp_path, sweep, 1, RISING, (12, 4), ended=False)
    trained, deleted = game.results(tmp_path, sweep).runs
    assert (trained.number, trained.state, trained.paid, trained.rose) == (1, "finished", "0 \u2192 1.9", True)
    assert (trained.wanted, trained.trend) == ("12 \u2192 4 of 20", "fell")
    assert (trained.sample[:7], trained.sample[-1]) == (" after ", "\u2026")  # the most tokens have cut it
    assert (deleted.number, deleted.state, deleted.paid) == (2, "deleted", "")
    ends = game.ends_of(run)
    assert ends.paid == pytest.approx((0.0, sum(RISING) / TEXTS))
    assert (ends.num_paid_more, ends.is_hack) == (TEXTS, True)


def test_the_best_hack_is_paid_clearly_more_while_what_was_wanted_clearly_fell(tmp_path):
    few_more = [1.0 if row < 15 else -0.5 for row in range(TEXTS)]
    sweep = game.sweep_of("game", [f"words(completion) + {number}" for number in range(6)], 1.0)
    ends = [
        (RISING, (4, 18)),  # it worked: wanted rose
        (few_more, (12, 2)),  # wanted clearly fell
        (RISING, (12, 8)),  # wanted fell by no more than chance: four of four, 1 in 8
        (few_more, (12, 1)),
        ([1.0 if row % 2 else -1.0 for row in range(TEXTS)], (12, 0)),  # not clearly paid more
        (RISING, (12, 14)),  # it rose, if by no more than chance
    ]
    runs = [write_run(tmp_path, sweep, number, *end) for number, end in enumerate(ends, 1)]
    assert not any(game.ends_of(run).text.endswith("\u2026") for run in runs)
    assert [game.ends_of(run).is_hack for run in runs] == [False, True, False, True, False, False]
    for deleted, best in ((None, 4), (4, 2), (2, None)):
        if deleted:
            shutil.rmtree(runs[deleted - 1].path)
        assert game.results(tmp_path, sweep).best == best

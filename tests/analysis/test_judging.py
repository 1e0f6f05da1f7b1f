"""Judges beside the trained score: paired changes by hand, and when a judge is said to have turned down."""

import pytest

from playground.analysis import before_after, judging
from playground.analysis.paid import shares_sentence
from tests.support import data_beside, sample

TABLES = data_beside(__file__, "judging.yaml")


def answer(prompt_id, update, score, gold):
    """`gold`: what the one judge says, or what all say."""
    judges = gold if isinstance(gold, dict) else {"gold": gold}
    stage = "during" if update else "before"
    return sample(prompt_id, stage, score, update=update, seed=0, scores={"length": score}, judges=judges)


def run(scores, golds, prompts=16, noise=1.0):
    """One sample a prompt and moment (updates 0, 5, 10, ...); prompts differ by +-noise, the same at every moment."""
    return [
        answer(
            prompt,
            5 * place,
            score + noise * (-1) ** prompt + 0.01 * ((prompt + place) % 3),
            gold + noise * (-1) ** prompt + 0.01 * ((prompt * place) % 4),
        )
        for place, (score, gold) in enumerate(zip(scores, golds, strict=True))
        for prompt in range(prompts)
    ]


def test_changes_are_paired_in_sd_of_the_texts_before_and_told_with_their_error():
    """Gold before is 1 and 3: mean 2, sd 1. Later 4 and 4: up by 3 and 1 sd, mean 2, standard error 1."""
    samples = [answer(0, 0, 0.0, 1.0), answer(1, 0, 0.0, 3.0), answer(0, 5, 1.0, 4.0), answer(1, 5, 3.0, 4.0)]
    judged = judging.judged(samples, {"gold": 1.0})
    assert judged.updates == [0, 5]
    assert judged.judges[0].changes == [(0.0, 0.0, 2), (2.0, pytest.approx(12.706), 2)]
    assert judged.trained.changes[1] == (2.0, pytest.approx(12.706), 2)
    assert judged.trained.changes[1].error == pytest.approx(1.0)
    assert judging.judged(samples, {"gold": -1.0}).judges[0].changes[1].mean == -2.0


def test_no_opinion_counts_as_the_average_before_and_a_judge_that_was_not_heard_is_left_out():
    samples = [answer(0, 0, 0.0, 1.0), answer(1, 0, 0.0, 3.0), answer(0, 5, 0.0, None), answer(1, 5, 0.0, {})]
    assert judging.judged(samples, {"gold": 1.0}).judges[0].changes[1].mean == 1.0  # from one sd below to the average
    silent = [answer(0, 0, 0.0, None), answer(0, 5, 0.0, None)]
    assert judging.judged(silent, {"gold": 1.0}).judges == []
    assert "no opinion" in judging.verdict(judging.judged(silent, {"gold": 1.0}), "gold", "Gold")


def test_a_judge_that_falls_from_its_peak_while_the_score_rises_has_turned():
    judged = judging.judged(run([0, 1, 2, 3, 4], [0, 1, 1.5, 0.5, -1]), {"gold": 1.0})
    (turn,) = judged.turns
    assert turn.update == 10
    assert turn.fall.mean < -2
    assert turn.rise.mean > 1.5
    words = judging.verdict(judged, "gold", "Gold")
    assert words.startswith("Gold turned down after update 10: it fell by 2.")
    assert "Goodhart" in words


@pytest.mark.parametrize(("scores", "golds", "says"), TABLES["not_turned"])
def test_a_judge_that_falls_without_a_rising_score_or_hardly_has_not_turned(scores, golds, says):
    judged = judging.judged(run(scores, golds), {"gold": 1.0})
    assert judged.turns == []
    assert says in judging.verdict(judged, "gold", "Gold")


def test_the_table_tells_raw_means_and_the_paired_change():
    before, after = [answer(0, 0, 1.0, 1.0), answer(1, 0, 3.0, 1.0)], [answer(0, 5, 5.0, 0.5), answer(1, 5, 5.0, None)]
    joined = before_after.pairs([*before, *after])
    length, gold = judging.rows(joined)
    assert (length.before, length.after, length.change.mean, length.unit) == (2.0, 5.0, 3.0, "sd")
    assert (gold.before, gold.after, gold.unit) == (1.0, 0.5, "points")


@pytest.mark.parametrize(("gains", "says"), TABLES["shared_out"])
def test_the_gain_is_shared_out_among_the_rewards(gains, says):
    assert shares_sentence(gains) == (f"In the newest training batches {says}" if says else "")

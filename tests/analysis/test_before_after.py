"""Before and after: pairs, gains and their uncertainty, against numbers by hand, and the answers that are shown."""

import math

import numpy as np
import pytest

from playground.analysis.before_after import Headline, Outcome, outcome, outcome_sentence, pairs
from playground.analysis.examples import examples
from playground.analysis.run_report import RunReport
from playground.rewards.agreement import t95
from playground.setup import catalog
from tests.support import sample, update_metrics


def test_pairs_join_on_prompt_and_seed_and_drop_the_unmatched():
    before = [sample(0, "before", 0.0), sample(0, "before", 0.0, seed=1), sample(1, "before", 0.0)]
    after = [sample(0, "after", 1.0), sample(0, "after", 2.0, seed=1), sample(2, "after", 9.0)]
    joined = pairs([*after, *before])
    assert [(pair.before.prompt_id, pair.before.seed, pair.gain) for pair in joined] == [(0, 100, 1.0), (0, 1, 2.0)]


def test_the_outcome_of_three_prompts_by_hand():
    before = [sample(0, "before", 0.0), sample(1, "before", 1.0), sample(2, "before", 2.0, tokens=16)]
    after = [
        sample(0, "after", 1.0, completion="same", kl=1.0),
        sample(1, "after", 3.0, completion="same", kl=2.0, ended=False),
        sample(2, "after", 5.0, kl=6.0, tokens=40),
    ]
    gained = outcome(pairs([*before, *after]))
    half = 4.303 / math.sqrt(3)  # gains 1, 2, 3: mean 2, standard deviation 1; Student's t with 2
    kl_half = 4.303 * math.sqrt(7) / math.sqrt(3)  # KLs 1, 2, 6: mean 3, variance 7
    scores = {"score_before": 1.0, "score_after": 3.0, "gain": 2.0, "low": 2.0 - half, "high": 2.0 + half}
    kls = {"kl": 3.0, "kl_low": 0.0, "kl_high": 3.0 + kl_half}  # never negative, and 3 - kl_half is
    texts = {"unique_after": 2, "ended_after": 2 / 3, "length_before": 12.0, "length_after": 20.0}
    counts = {"num_prompts": 3, "samples_per_prompt": 1, "answers": 3, "same": 0}
    assert gained == pytest.approx(Outcome(**scores, **kls, **texts, **counts))


def test_samples_of_one_prompt_are_not_independent():
    before = [sample(prompt, "before", 0.0, seed=seed) for prompt in range(8) for seed in range(4)]
    after = [sample(prompt, "after", 1.0 + 2 * (prompt % 2), seed=seed) for prompt in range(8) for seed in range(4)]
    gained = outcome(pairs(before + after))
    assert (gained.num_prompts, gained.samples_per_prompt, gained.gain) == (8, 4, 2.0)
    assert gained.high - gained.gain == pytest.approx(2.3646 / 7**0.5, abs=1e-3)  # 1 and 3, four times; t with 7


def test_where_few_answers_score_otherwise_the_sentence_says_how_many():
    evaluations = [sample(prompt, "before", prompt % 2, kl=0.0) for prompt in range(64)]
    evaluations += [
        sample(prompt, "after", prompt % 2 if prompt > 3 else 1.0, kl=0.02 * (prompt < 4)) for prompt in range(64)
    ]
    gained = outcome(pairs(evaluations))
    half = t95(66) * np.std([1.0] * 3 + [-1.0] + [0.0] * 62, ddof=1) / math.sqrt(66)  # two went up; and one each way
    assert (gained.low, gained.high) == pytest.approx((2 / 64 - half, 2 / 64 + half))
    assert (gained.same, gained.answers) == (62, 64)
    assert "(62 of 64 answers score the same)" in outcome_sentence(gained)
    assert "0.001 nats (0.000 to 0.003)" in outcome_sentence(gained)
    assert "-0.00" not in outcome_sentence(gained._replace(gain=-0.002, low=-0.004))
    assert "-0.000" not in outcome_sentence(gained._replace(kl=-1e-9), other_kl=-1e-9)


EVALUATIONS = [
    *(sample(prompt, "before", 0.0) for prompt in range(2)),
    *(sample(prompt, "during", 9.0, update=2, kl=8.0) for prompt in range(2)),
    *(sample(prompt, "after", 1.0 + 2 * prompt, kl=1.0 + prompt) for prompt in range(2)),
]


def test_the_headline_of_a_run_is_of_its_last_fixed_prompts_and_not_of_its_batches():
    batches = [update_metrics(update) for update in (1, 2, 3)]
    report = RunReport(CONFIG, EVALUATIONS, batches)
    assert report.headline == pytest.approx(("fixed prompts", 3, 2.0, 2.0 - 12.706, 2.0 + 12.706, 1.5))
    assert "Score +2.00 sd on 2 prompts" in report.sentence
    earlier = report.at(2).headline
    assert (earlier.source, earlier.update, earlier.gain, earlier.kl) == ("fixed prompts", 2, 9.0, 8.0)
    assert RunReport(CONFIG, metrics=batches[:2]).headline == Headline("training batch", 2, 0.5, None, None, 2.0)
    assert RunReport(CONFIG, metrics=batches[:1]).headline is None


CONFIG = catalog.preset("kinder-reviews")
DULL, KIND = " The script was dull.", " The script was wonderful."


def answers(update, texts, prompts=()):
    asked = prompts or ["Review of the film:"] * len(texts)
    return [
        sample(row, "during" if update else "before", score, update=update, completion=text, prompt=asked[row], seed=0)
        for row, (text, score) in enumerate(texts)
    ]


def test_answers_that_turned_the_way_of_the_change_come_first_then_what_gained_most():
    before = answers(0, [(KIND, 1.0), *[(DULL, -1.0)] * 8])
    turned = [(KIND, score) for score in (0.1, 0.9, 0.3, 0.8, 0.2, 0.7, 0.6)]
    now = answers(5, [(KIND, 1.0), (DULL + " Oh.", 0.5), *turned])
    assert examples(CONFIG, before, now) == [3, 5, 7]  # of the seven that turned kind, those with the largest gain
    assert examples(CONFIG, before, now, most=9)[-2:] == [1, 0]  # another text, then the same as before


def test_of_claims_the_wrong_ones_come_first_as_long_as_nothing_has_changed():
    claims = ["User: I think 2 plus 3 is 5. Bot:", "User: I think 2 plus 3 is 6. Bot:", "User: What is 2 plus 3? Bot:"]
    before = answers(0, [(" 2 plus 3 is 5.", 0.0)] * 3, claims)
    later = [(" 2 plus 3 is 5, yes.", 0.9), (" 2 plus 3 is 5.", 0.0), (" 2 plus 3 is five.", 0.5)]
    now = answers(5, later, claims)
    assert examples(catalog.preset("yes-man"), before, now) == [1, 0, 2]


def test_examples_were_answered_both_times_and_what_has_become_worse_is_the_last_of_them():
    assert examples(CONFIG, answers(0, [(DULL, 0.0)]), answers(5, [(DULL, 0.0), (KIND, 1.0)])) == [0]
    assert examples(CONFIG, answers(0, [(DULL, 0.0)]), []) == []
    broken = " Script the dull was was."
    before = answers(0, [(DULL, -1.0)] * 20)
    now = answers(5, [(KIND, 1.0)] * 12 + [(broken, -2.0)] * 8)  # kind: 0 to 12; keeps to the grammar: 20 to 12
    assert examples(CONFIG, before, now) == [0, 1, 12]

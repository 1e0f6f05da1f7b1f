"""What the model service writes and scores for a class: pairs of texts to vote on, and words that move a judge."""

import pytest

from playground.config import PromptsConfig
from playground.training.service import pair_drawing, word_moves
from playground.training.service.subjects import Subjects


class SubjectsOfFewPrompts(Subjects):
    def named(self, source):
        return super().named(source)._replace(prompts=PromptsConfig(limit=48))


@pytest.fixture(scope="module")
def subjects():
    return SubjectsOfFewPrompts()


def drawn(subjects, **more):
    question = {"source": "pocket-1m", "count": 5, "seed": 1, "sides": ["policy", "policy"], **more}
    *progress, answer = pair_drawing.pairs(subjects, question)
    assert all(set(step) == {"done", "of"} for step in progress)
    assert progress
    return answer["pairs"]


def test_pairs_differ_have_prompts_of_their_own_and_depend_on_the_seed_only(subjects):
    pairs = drawn(subjects)
    assert len(pairs) == 5 == len({pair["prompt"] for pair in pairs})
    assert all(pair["first"].strip() != pair["second"].strip() for pair in pairs)
    assert all(pair[side].strip() for pair in pairs for side in ("first", "second"))
    assert all({*pair["cut"]} <= {"first", "second"} for pair in pairs)
    assert drawn(subjects) == pairs
    assert drawn(subjects, seed=2) != pairs


def test_no_more_pairs_are_drawn_than_a_class_can_vote_on(subjects, monkeypatch):
    monkeypatch.setattr(pair_drawing, "MOST_PAIRS", 3)
    assert len(drawn(subjects, count=10**6)) == 3
    assert len(drawn(subjects, count=-1)) == 1


def test_a_word_that_a_judge_pays_for_raises_its_score_and_one_that_it_punishes_lowers_it(monkeypatch):
    def judge(prompts, completions):
        return [3.0 * text.count("lovely") - 2.0 * text.count("awful") for text in completions]

    monkeypatch.setattr(word_moves.learned_rewards, "builder", lambda *_: lambda spec: judge)
    texts = ["a lovely view", "the lovely awful view", "that was awful", "a plain view that was"]
    asked = [{"prompt": "It", "completion": text} for text in texts]
    (answer,) = word_moves.answer({"source": "judge", "outputs": "", "texts": asked})
    moves = {word["word"]: word["moves"] for word in answer["words"]}
    assert list(moves) == sorted(moves, key=lambda word: -moves[word])
    assert "the" not in moves
    assert moves["lovely"] - moves["view"] == pytest.approx(3)
    assert moves["awful"] - moves["view"] == pytest.approx(-2)
    assert sum(moves.values()) == pytest.approx(0)
    assert answer["texts"] == 4


def test_a_pair_may_have_its_second_text_from_another_model_with_the_same_prompts(subjects):
    alone, other = drawn(subjects, count=8), drawn(subjects, source="pocket-2m", count=8)
    firsts = {pair["prompt"]: pair["first"] for pair in alone}
    seconds = {pair["prompt"]: pair["second"] for pair in other}
    both = drawn(subjects, against="pocket-2m", count=8)
    assert len(both) == 8
    assert sum(pair["prompt"] in firsts for pair in both) > 4
    assert any(pair["prompt"] in seconds for pair in both)
    for pair in both:
        assert firsts.get(pair["prompt"], pair["first"]) == pair["first"]
        assert seconds.get(pair["prompt"], pair["second"]) == pair["second"]

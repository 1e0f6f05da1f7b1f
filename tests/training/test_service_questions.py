"""Questions to the model service, answered by its own code from models that ship or are tiny: the workbench of rewards,
texts and words for a class, texts for a run's frontier."""

import json

import numpy as np
import pytest

from playground.config import PromptsConfig
from playground.errors import PlaygroundError, ServiceUnavailable
from playground.rewards import trying
from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.runs.frontier_samples import FrontierSamples
from playground.training.data import prompts
from playground.training.loop import evaluation
from playground.training.loop.scoring import Scorer
from playground.training.service import frontier_drawing, pair_drawing, reward_bench, word_moves
from playground.training.service.questions import QUESTIONS, Service
from playground.training.service.subjects import Subject, Subjects
from tests.support import AskedService, data_beside
from tests.training import tiny
from tests.training.small_run import config, trained

PROMPT = "Review of the film: The plot was"


def ask(service, settings, typed, count=20, **changes):
    reference = trying.reference_of(settings, count) if count else None
    question = {**trying.question(settings.rewards, PROMPT, typed, reference, ""), **changes}
    return list(QUESTIONS["rewards-score"](service, question))


@pytest.fixture(scope="module")
def service():
    return Service()


def test_texts_and_samples_are_scored_by_every_reward_with_progress(service):
    settings = config(rewards=[{"kind": "length"}, {"kind": "sentiment", "weight": 2}])
    *steps, last = ask(service, settings, ["wonderful and lovely", ""])
    assert {step["phase"].split(" ")[0] for step in steps} == {"loading", "drawing", "scoring"}
    assert all(0 <= step["done"] <= step["of"] for step in steps)
    assert last["texts"] == {"length": [3.0, 0.0], "sentiment": [3.0, 0.0]}
    assert len(last["samples"]) == 20
    assert {len(values) for values in last["reference"].values()} == {20}
    assert last["reference"]["length"] == [float(len(row["completion"].split())) for row in last["samples"]]


def test_asking_again_with_other_weights_or_rewards_draws_nothing_anew(service, monkeypatch):
    first = ask(service, config(rewards=[{"kind": "length"}]), ["a"])[-1]
    monkeypatch.setattr(evaluation, "answer", lambda *_: pytest.fail("sampled again"))
    measured = []
    monkeypatch.setattr(reward_bench, "measured", lambda name, *rest: measured.append(name) or [0.0])
    changed = config(rewards=[{"kind": "length", "weight": -3, "normalise": True}, {"kind": "repetition"}])
    again = ask(service, changed, ["a"])[-1]
    assert again["samples"] == first["samples"]
    assert again["reference"]["length"] == first["reference"]["length"]
    assert measured == ["length", "repetition", "repetition"]  # the samples' lengths are known


def test_the_samples_are_those_on_which_a_run_fixes_its_scale(service):
    settings = config(seed=3)
    asked = {"reference": trying.reference_of(settings, 10)}
    *_, last = QUESTIONS["reference-samples"](service, asked)
    drawn = last["samples"]
    subject = service.bench.subjects.untrained(settings.model)
    count = settings.evaluation.num_prompts
    split = reward_bench.prompts.load(settings.prompts, count, 100, subject.tokens, settings.seed)
    asked, seeds = evaluation.reference_questions(split.training, settings.seed, 256)
    how = evaluation.Generation(subject.tokens, settings.sampling, 10)
    episodes, _ = evaluation.answer(subject.reference, None, asked[:10], seeds[:10], how)
    assert [row["completion"] for row in drawn] == episodes.texts(subject.tokens)
    assert [row["prompt"] for row in drawn] == [prompt.text for prompt in asked[:10]]


LONG = ({"texts": [{"prompt": "p", "completion": "x" * 5000}]}, "A text has 5,000 characters")


@pytest.mark.parametrize(("changes", "words"), [*data_beside(__file__, "tables.yaml")["unscored"], LONG])
def test_texts_that_cannot_be_scored_are_refused_in_one_sentence(service, changes, words):
    with pytest.raises(PlaygroundError, match=words):
        ask(service, config(), ["x"], count=0, **changes)


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


def test_pairs_differ_depend_on_the_seed_only_and_are_no_more_than_a_class_can_vote_on(subjects, monkeypatch):
    pairs = drawn(subjects)
    assert len(pairs) == 5 == len({pair["prompt"] for pair in pairs})
    assert all(pair["first"].strip() != pair["second"].strip() for pair in pairs)
    assert all(pair[side].strip() for pair in pairs for side in ("first", "second"))
    assert all({*pair["cut"]} <= {"first", "second"} for pair in pairs)
    assert drawn(subjects) == pairs
    assert drawn(subjects, seed=2) != pairs
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


MEASURED = {"updates": [0, 4], "each": 1, "scores": [[1.0, 2.0]], "log_ratios": [[[0.0, 0.5]]]}


@pytest.fixture
def drawing(monkeypatch, tmp_path):
    """Draw for a run of the tiny world, whose policy is another model than its reference."""
    split = prompts.PromptSplit([], tiny.prompts("ab", "c", "dd"), True)
    monkeypatch.setattr(frontier_drawing.prompts, "load", lambda *_, fixed: split)
    monkeypatch.setattr(RunDirectory, "latest_checkpoint", lambda run: tmp_path / "update-000004")

    def draw(name, **changes):
        settings, reference = tiny.config(**changes), tiny.model(seed=0)
        models = reference, reference, tiny.model(seed=1)
        scorer = Scorer(settings, tiny.count_letter())
        subject = Subject(tiny.tokens(), *models, scorer, settings.sampling, PromptsConfig())
        RunDirectory.create(tmp_path, settings, name)
        monkeypatch.setattr(Subjects, "named", lambda self, source: subject)
        question = {"source": str(tmp_path / name), "each": 8}
        *progress, last = frontier_drawing.frontier_samples(Subjects(), question)
        assert all(0 <= item["done"] <= max(item["of"], 0) for item in progress)
        assert len(progress) > 1
        return FrontierSamples.model_validate(last["measured"])

    return draw


def test_each_text_is_scored_and_weighed_by_both_models(drawing):
    drawn = drawing("one", sampling__temperature=0.8)
    assert (drawn.updates, drawn.each, len(drawn.scores)) == ([0, 4], 8, 3)
    ratios = np.array(drawn.log_ratios[0])
    assert ratios.shape == (3, 16)
    assert ratios[:, :8].mean() < -0.1 < 0.1 < ratios[:, 8:].mean(), "each model is likelier to write its own texts"
    assert set(np.unique(drawn.scores)) <= set(range(9)), "how often the letter occurs in eight tokens"
    assert drawing("two", sampling__temperature=0.8) == drawn, "the same run gives the same texts"


def test_a_method_that_trains_nothing_writes_what_the_reference_writes(drawing):
    drawn = drawing("one", method="best_of_n", ppo__samples_per_prompt=4)
    assert (drawn.updates, drawn.log_ratios) == ([0], [])


def test_drawn_texts_are_stored_with_the_run_unless_a_score_is_no_number_and_a_torn_file_is_none(tmp_path):
    run = RunDirectory.create(tmp_path, tiny.config(), "one")
    with pytest.raises(ServiceUnavailable, match="not numbers"):
        list(frontier_samples.draw(run, AskedService({"measured": {**MEASURED, "scores": [[1.0, float("nan")]]}})))
    assert not (run.path / frontier_samples.NAME).exists()
    progress = {"phase": "writing", "done": 0, "of": 2}
    assert list(frontier_samples.draw(run, AskedService(progress, {"measured": MEASURED}))) == [progress]
    assert frontier_samples.read(run).model_dump() == MEASURED
    (run.path / frontier_samples.NAME).write_text('{"updates": [0')
    assert frontier_samples.read(run) is None


def test_columns_reach_a_function_in_training_evaluation_the_workbench_and_the_service(tmp_path):
    rows = [{"question": f"The plot number {number} was", "answer": number} for number in range(20)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = "def right(completions, question, answer, completion_ids, **rest):\n    assert all(completion_ids)\n"
    code += "    return [a + 100 * (f'number {a} was' in q) for q, a in zip(question, answer)]"
    settings = config(
        rewards=[{"kind": "python", "code": code}],
        prompts={"source": str(tmp_path / "rows.jsonl"), "limit": 16},
        score={"normalise": "none"},
        ppo__num_updates=1,
        checkpoint={"every": 1},
    )
    session = trained(tmp_path, settings)
    of_prompt = {row["question"]: row["answer"] + 100.0 for row in rows}
    fixed = {prompt.text for prompt in session.split.evaluation}
    assert session.split.held_out
    assert {one.prompt for one in session.run.samples()} == fixed
    assert all(one.score == of_prompt[one.prompt] for one in session.run.samples())
    seen = session.trainer.scored
    assert seen.scores == [of_prompt[prompt] for prompt in seen.prompts]
    subject = Subjects().named(str(session.run.path))
    assert subject.scorer([*fixed, "typed"], ["x"] * 5, [True] * 5).raw == [*map(of_prompt.get, fixed), None]
    found = ask(Service(), settings, [], count=4)[-1]
    assert found["reference"]["right"] == [of_prompt[row["prompt"]] for row in found["samples"]]

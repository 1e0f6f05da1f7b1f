"""The experiments on a real chat model: what is counted of answers, their bands, reward models and speed."""

import pytest

from bench import floors, real_judges, real_page
from bench.real_counts import NO_CLAIM, SECOND_TURN, WAYS, Count, HeldOutAnswer, counted, example, is_sensible, way_of
from bench.real_page import shares
from playground.config import ModelReward, TruthReward
from playground.data import claim_files
from playground.setup import catalog
from tests.bench import MADE_UP, recorded

QUESTION = "What is the capital of Australia?"
WRONG = f"{QUESTION} I think the answer is Sydney."


def answered(prompt, *completions, ended=True):
    return [HeldOutAnswer(prompt, text, ended) for text in completions]


def test_every_preset_on_the_model_is_on_the_page_and_every_measured_one_is_there():
    shipped = {path.stem for path in catalog.PRESETS.glob("real-*.yaml")}
    measured = {run["preset"] for run in recorded("real")["runs"]}
    assert measured <= shipped <= {*real_page.PRESETS}


def test_the_bands_of_the_presets_are_made_of_the_figures():
    stories = catalog.stories()
    told = {name: stories[name].bands for name in real_page.PRESETS if stories[name].bands}
    assert told == real_page.bands_of(recorded("real")["runs"])


def test_every_way_of_putting_a_claim_has_a_name():
    rows = claim_files.read(claim_files.SHIPPED_FILE)
    prompts = claim_files.prompts(rows, 0, 900, "ways")
    assert {way_of(prompt) for prompt in prompts} == {*WAYS, SECOND_TURN, NO_CLAIM}
    assert way_of("How do I make a cup of tea?") is None


def test_answers_are_counted_by_what_they_are_asked():
    answers = [each for prompt, texts, ended in MADE_UP["answered"] for each in answered(prompt, *texts, ended=ended)]
    figures, expected = counted(answers), MADE_UP["counted"]
    assert {name: list(figures["counts"][name][:2]) for name in expected} == expected
    assert figures["ways"]["as a guess"][:2] == [1, 2]
    assert example(answers, answers)["prompt"] == WRONG


def test_answers_to_one_question_do_not_count_as_independent():
    alike = Count.of([("a", True)] * 10 + [("b", False)] * 10)
    apart = Count.of((str(number), number < 10) for number in range(20))
    assert (alike, apart) == (Count(10, 20, 2), Count(10, 20, 20))
    assert alike.bounds[0] < apart.bounds[0]
    assert Count.of([("a", None)]) is None


def test_the_shares_of_seeds_stand_beside_each_other_and_are_not_pooled():
    after = [Count(20, 160, 160.0), Count(140, 160, 160.0), Count(40, 160, 160.0)]
    assert shares([Count(8, 160, 160.0)], after) == "5 -> 42 (12, 88, 25)"
    assert shares([], after) == "42 (12, 88, 25)"
    assert shares([], []) == ""


@pytest.mark.parametrize(("text", "sensible"), MADE_UP["sense"].items())
def test_sense_is_english_words_in_an_order_of_english(text, sensible):
    assert is_sensible(text) == sensible


def test_pairs_are_of_one_prompt_one_liked_and_the_other_not():
    answers = answered(WRONG, "It is Sydney.", "It is Canberra.", "Canberra.", "It is Canberra.")
    answers += answered(QUESTION, "It is Canberra.", "Canberra, of course.")
    pairs = [pair[:3] for pair in real_judges.pairs_of(TruthReward(), answers)]
    assert pairs == [(WRONG, "It is Canberra.", "It is Sydney.")]


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """The page's; what makes a reward model writes two files and trains nothing."""

    def written(name, outputs, *_):
        folder = outputs / catalog.REWARD_MODELS / name
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / catalog.REWARD_CARD).write_text("{}")
        return {"pairs": 3}

    monkeypatch.setattr(real_judges, "OUTPUTS", tmp_path / "outputs")
    monkeypatch.setattr(real_judges.Answers, "of", lambda *_: None)
    monkeypatch.setattr(real_judges, "make", written)
    return tmp_path / "outputs"


@pytest.mark.parametrize("before", [[], ["real-agreeable", "real-honest"]], ids=["made now", "made before"])
def test_reward_models_that_the_bench_trained_are_found_by_the_presets(outputs, before):
    for name in before:
        real_judges.make(name, outputs / "real")
    assert {*real_judges.prepare(outputs / "real", before, [])} == {*real_judges.LIKES} - {*before}
    for preset in ("real-agreeable-judge", "real-honest-judge", "real-classifier-penalty"):
        scorers = [scorer for _, scorer in catalog.preset(preset).scorers]
        (name,) = [scorer.source for scorer in scorers if isinstance(scorer, ModelReward)]
        weights = catalog.reward_model_folder(name, None, outputs) / "model.safetensors"
        assert weights.samefile(outputs / "real" / catalog.REWARD_MODELS / name / "model.safetensors")


def test_reward_models_trained_elsewhere_leave_the_outputs_of_the_page_alone(outputs, tmp_path):
    real_judges.prepare(tmp_path / "elsewhere", {}, [])
    assert not outputs.exists()


def test_the_floor_of_an_update_by_hand():
    # Two episodes of 5 and 4 tokens, of which 3 and 2 were sampled: 3 tokens in the batch's longest, 4 of prompts,
    # of which the second begins as the first.
    sizes = floors.Sizes(trunk=10, head=5, adapter=1, attention=0, number_bytes=2)
    episodes = {"totals": [5, 4], "alive": [2, 2, 1], "read": 3, "rate": 10.0, "bandwidth": 6.0}
    floor = floors.floor_seconds(sizes, **episodes)
    prompts_and_first = (2 * 10 * 3 + 2 * 5 * 2) / 10
    second = (2 * 15 * 2) / 10  # the products of two rows take longer than reading 30 bytes
    third = 15 * 2 / 6  # of one row they do not
    assert floor["write"] == pytest.approx(prompts_and_first + second + third)
    assert floor["compare"] == pytest.approx((2 * 10 * 9 + 2 * 2 * 5 * 5) / 10)
    assert floor["learn"] == pytest.approx((4 * 10 * 9 + 4 * 5 * 5 + 6 * 1 * 9) / 10)
    whole = floors.floor_seconds(sizes._replace(adapter=0), **episodes)
    assert whole["learn"] == pytest.approx((6 * 10 * 9 + 6 * 5 * 5) / 10)


def test_attention_counts_twice_as_much_backwards():
    sizes = floors.Sizes(trunk=0, head=0, adapter=0, attention=7, number_bytes=4)
    floor = floors.floor_seconds(sizes, totals=[3], alive=[0], read=0, rate=1.0, bandwidth=1.0)
    assert (floor["compare"], floor["learn"]) == (2 * 7 * 9, 3 * 2 * 7 * 9)


def test_what_prompts_have_in_common_is_read_once():
    assert floors.tokens_to_read([[1, 2, 3], [1, 2, 4], [1, 2, 3], [5, 2]]) == 6

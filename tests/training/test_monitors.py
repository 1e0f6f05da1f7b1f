"""What a session measures beside PPO: held-out judges and behaviours, which watch the fixed prompts, train nothing, and
stop nothing by a late failure; perplexity on held-out text; groups with one score; the time of the evaluations."""

import itertools
import math

import pytest
import torch

from playground import worker
from playground.analysis.diagnosis import alert, diagnose
from playground.analysis.diagnosis.run_records import Records
from playground.config import EvaluationConfig, LengthReward, VerifyReward
from playground.errors import PromptsUnusable, RewardFailed
from playground.pocket import judges
from playground.rewards.behaviours import Behaviours
from playground.rewards.mixture import Mixture
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.loop import held_out_text
from playground.training.loop.measures import alike_groups, of_answers, same_score_groups
from playground.training.loop.scoring import Scores
from playground.training.models import loading
from playground.training.process.session import Session
from tests.nights import cases
from tests.training import small_run, tiny
from tests.training.conftest import FINISHED


@pytest.mark.parametrize(("faults", "state"), [((), "quiet"), (("reward-format",), "red")])
def test_a_run_says_whether_its_reward_model_is_read_as_it_was_trained(tmp_path, faults, state):
    judge = {"kind": "model", "source": "pocket-honest"}
    session = small_run.session(tmp_path, small_run.config(rewards=[judge], experiments=bool(faults), faults=faults))
    checks = diagnose(Records(session.config, [], events=session.run.events()))
    assert next(check for check in checks if check.name == "reward-misread").state == state


def test_a_run_that_a_coin_toss_pays_says_so(tmp_path):
    rewards = [{"kind": "model", "source": source} for source in ("pocket-kind-80", "pocket-honest")]
    session = small_run.session(tmp_path, small_run.config(rewards=rewards))
    (warning,) = [event.message for event in session.run.events() if event.kind == "warning"]
    assert warning.startswith("Reward model pocket-kind-80: As far as its 16 held-out pairs tell")


def test_judges_do_not_change_the_training(finished, tmp_path):
    without = RunDirectory.create(tmp_path, FINISHED.model_copy(update={"judges": ()}), "r")
    assert worker.main([str(without.path)]) == 0
    assert all(set(sample.judges) == {"grammar", "repetition"} for sample in finished.samples())
    assert all(sample.judges == {} for sample in without.samples())
    for name in ("model.safetensors", "critic.safetensors"):
        judged, unjudged = ((run.latest_checkpoint() / name).read_bytes() for run in (finished, without))
        assert judged == unjudged, name


def failing(prompts, completions, **columns):
    return [float("nan")] * len(completions)


@pytest.mark.parametrize(
    ("name", "ask", "warning"),
    [
        ("judge", lambda session: session.judge(["p"], ["c"]), "The monitors could not score"),
        ("behaviour", lambda session: session.watch(["p"], ["c"], [True]), "The behaviours could not be counted"),
    ],
)
def test_a_judge_that_fails_stops_a_run_before_it_begins_and_later_is_a_warning(tmp_path, name, ask, warning):
    gold = {"name": "gold", "words": "is gold", "measure": {"kind": "truth"}}
    session = small_run.session(tmp_path, small_run.config(behaviours=[gold]))
    session.judges = Mixture({"gold": (1.0, failing)}, "judge")
    session.behaviours = Behaviours(session.config.behaviours, build=lambda spec: failing)
    with pytest.raises(RewardFailed, match=f"The {name} `gold` returned nan"):
        ask(session)
    session.trainer.updates_done = 3
    assert ask(session) == {}
    (said,) = [event for event in session.run.events() if event.message.startswith(warning)]
    assert said.kind == "warning"
    assert f"after update 3. The {name} `gold` returned nan" in said.message


def test_every_evaluation_counts_the_behaviours_that_suit_the_prompts(finished):
    samples = finished.samples()
    assert all(list(sample.behaviours) == ["positive", "parses", "ends"] for sample in samples)
    for sample in samples:
        assert sample.behaviours["ends"] is sample.ended
        assert sample.behaviours["parses"] is judges.parses(sample.prompt, sample.completion)


RICH = {"kind": "sentiment"}
SECONDS = 1000.0


def test_a_group_counts_where_all_of_its_scores_are_the_same():
    assert same_score_groups([1, 1, 1, 0, 0, 0, 2.5, 2.5, 2.5, 0, 1, 2], 3) == 0.75
    assert same_score_groups([1, 1, 1 + 1e-9, 1], 2) == 1.0
    assert same_score_groups([1, 1, 1.001, 1], 2) == 0.5
    assert same_score_groups([1, 1, math.nan, 1], 2) is None
    assert same_score_groups([], 2) is None


def test_of_checked_answers_the_shares_and_the_groups_without_a_difference_are_counted():
    rewards = [VerifyReward(check="format", form="= ..."), VerifyReward(), LengthReward()]
    right = [1, 1, 0, 0, 1, 0, None, 0, 1, 1]
    scores = Scores([0.0] * 10, [], {"verify": [1.0] * 10, "verify 2": right, "length": [3.0] * 10}, {})
    assert of_answers(rewards, ["= 3", "3"] * 5, scores) == {"answers_right": 5 / 9, "answers_in_form": 0.5}
    # of the groups of two: all right, all wrong, one of each, not known, all right
    assert alike_groups(rewards, scores, 2) == {"groups_all_right": 2 / 4, "groups_all_wrong": 1 / 4}
    assert (of_answers(rewards[2:], ["3"] * 10, scores), alike_groups(rewards[2:], scores, 2)) == ({}, {})


def trained(folder, reward, **changes):
    """A run of five updates of four texts for each of four prompts."""
    sizes = tiny.ppo(batch_size=16, minibatch_size=16, micro_batch_size=16, samples_per_prompt=4, num_updates=5)
    plain = {"score": {"normalise": "none"}, "evaluation__every": 2, "rewards": [reward]}
    return small_run.trained(folder, small_run.config(**sizes, **plain, **changes)).run


@pytest.mark.parametrize("method", cases(["rloo", "grpo"], always=["rloo"]))
def test_a_reward_that_is_never_earned_lights_its_alert_and_one_that_tells_texts_apart_does_not(tmp_path, method):
    def seen(name, reward):
        run = trained(tmp_path / name, reward, method=method)
        return run.metrics(), alert("groups-alike", Records(run.config(), run.metrics(), run.samples(), run.events()))

    metrics, groups_alike = seen("never", {"kind": "pattern", "pattern": "zebra"})
    assert [item.groups_same_score for item in metrics] == [1.0] * 5
    assert (groups_alike.state, groups_alike.updates) == ("red", [1, 2, 3, 4, 5])
    metrics, groups_alike = seen("rich", RICH)
    assert all(item.groups_same_score <= 0.5 for item in metrics)
    assert groups_alike.state == "quiet"


def test_evaluations_are_timed_before_the_update_that_follows(tmp_path, monkeypatch, skip_time):
    evaluate = Session._read_texts
    monkeypatch.setattr(Session, "_read_texts", lambda *args: skip_time(SECONDS) or evaluate(*args))
    metrics = trained(tmp_path, RICH, evaluation__text="pocket", evaluation__num_texts=4).metrics()
    assert {item.groups_same_score for item in metrics} == {None}, "PPO has no groups"
    times = [item.seconds_evaluation for item in metrics]
    assert [seconds >= SECONDS for seconds in times] == [True, False, True, False, True], "before training, after 2, 4"
    assert times[1] == times[3] == 0
    for before, item in itertools.pairwise(metrics):
        parts = item.seconds_rollout + item.seconds_score + item.seconds_update + item.seconds_evaluation
        assert 0 < parts <= item.seconds - before.seconds


@pytest.fixture(scope="module")
def loaded():
    return loading.load(catalog.model_folder("pocket-1m"), torch.device("cpu"))


def encoded(loaded, **settings):
    model, tokens = loaded
    return held_out_text.encode(held_out_text.read(EvaluationConfig(**settings)), tokens, model.context_length)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_perplexity_is_exp_of_the_mean_negative_log_prob_whatever_the_batch(loaded, batch_size):
    model, tokens = loaded
    rows = encoded(loaded, text="pocket", num_texts=9)
    total, count = 0.0, 0
    for row in rows:
        with torch.no_grad():
            log_probs = model.model(torch.tensor([row])).logits[0].double().log_softmax(-1)
        total -= sum(float(log_probs[place, token]) for place, token in enumerate(row[1:]))
        count += len(row) - 1
    measured = held_out_text.perplexity(model, rows, tokens.pad_id, batch_size)
    assert measured.perplexity == pytest.approx(math.exp(total / count), rel=1e-5)
    assert (measured.documents, measured.tokens) == (9, count)


def test_a_file_gives_one_document_a_line_and_long_ones_are_cut(loaded, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\ufeffThe film was dull .\n\n  " + "a " * 900 + "\nx\n", encoding="utf-8")
    documents = held_out_text.read(EvaluationConfig(text=str(path), num_texts=2))
    assert (documents[0], len(documents)) == ("The film was dull .", 2)
    longest = max(map(len, encoded(loaded, text=str(path), num_texts=2)))
    assert longest == min(held_out_text.MOST_TOKENS, loaded[0].context_length)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "Cannot read"), (b"", "is empty"), (b" \n\n", "is empty"), (b"caf\xe9", "is not UTF-8")],
)
def test_a_text_that_cannot_be_read_is_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PromptsUnusable, match=rf"^evaluation\.text: .*{words}"):
        held_out_text.read(EvaluationConfig(text=str(path)))
    assert held_out_text.read(EvaluationConfig()) == []

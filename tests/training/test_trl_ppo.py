"""`engine: trl`: TRL's PPO, fed and heard by our adapter. Tiny models for its parts, the shipped model for learning."""

import importlib.metadata
import math
import sys
import traceback

import pytest
import torch
from torch import Tensor

from playground.config import engines
from playground.errors import InvalidConfig, TrainingDiverged
from playground.pocket.wording import distinct_n
from playground.setup import checks
from playground.training.trl_ppo import TRLTrainer
from tests.support import data_beside
from tests.training import tiny

pytestmark = pytest.mark.usefixtures("quick_collections")


class Stop(Exception):
    """What a worker raises to break off."""


def trl(pad_is_eos=False, texts=("abc", "b", "ddddddd", "fg"), **changes):
    """The adapter on a tiny model whose reward counts the letter "a"."""
    return tiny.trainer(pad_is_eos=pad_is_eos, texts=texts, kind=TRLTrainer, engine="trl", **changes)


def run(trainer):
    heard = []
    trainer.train(heard.append)
    return heard


def loop_values(*names):
    """Copies of local variables of TRL's `train()`, read from its frame while it waits for a callback: nothing in TRL
    is replaced."""
    frame = sys._getframe()
    while frame is not None and not (frame.f_code.co_name == "train" and "ppo_trainer" in frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None, "TRL's loop is not running"
    values = {name: frame.f_locals[name] for name in names}
    return {name: value.clone() if isinstance(value, Tensor) else value for name, value in values.items()}


def test_every_update_is_recorded_with_typed_finite_numbers():
    trainer = trl(ppo__num_updates=3, texts=tuple("abcdefgh"))
    heard = run(trainer)
    assert trainer.optimizer_steps == 3 * 2  # one an epoch, none extra although the 8 prompts were used up each time
    assert [metrics.update for metrics in heard] == [1, 2, 3]
    assert trainer.updates_done == 3
    assert [metrics.episodes for metrics in heard] == [8, 16, 24]
    for metrics in heard:
        values = metrics.model_dump()
        numbers = [value for value in values.values() if isinstance(value, float)]
        assert all(map(math.isfinite, numbers))
        assert len(numbers) > 25
        assert list(values["terms"]) == ["letter"]
        parts = metrics.seconds_rollout + metrics.seconds_score + metrics.seconds_update
        assert min(metrics.seconds_rollout, metrics.seconds_score, metrics.seconds_update) > 0
        assert parts <= metrics.seconds
    assert [metrics.learning_rate for metrics in heard] == pytest.approx([1e-3, 1e-3 * 2 / 3, 1e-3 / 3])
    assert heard[0].kl_to_reference == pytest.approx(0, abs=1e-4)
    assert heard[2].kl_to_reference != 0
    assert heard[0].tokens < heard[1].tokens < heard[2].tokens


@pytest.mark.parametrize("pad_is_eos", [False, True])
def test_scores_lengths_and_ends_are_those_of_the_tokens_that_trl_trains_on(pad_is_eos):
    """The log's mean score equals our Scorer's on TRL's own tokens, decoded here again; penalty included, once."""
    trainer, heard = trl(pad_is_eos, sampling__missing_eos_penalty=0.75, ppo__num_updates=2), []
    names = ("postprocessed_responses", "logprobs", "padding_mask")
    trainer.train(lambda metrics: heard.append((metrics, loop_values(*names))))
    pad = trainer.tokens.pad_id
    for metrics, values in heard:
        rows = values["postprocessed_responses"].tolist()
        texts = [trainer.tokens.decode(ids[: ids.index(pad)] if pad in ids else ids) for ids in rows]
        ended = [2 in ids for ids in rows]
        lengths = [(ids.index(pad) if pad in ids else len(ids)) + (pad_is_eos and 2 in ids) for ids in rows]
        assert {*ended} == {True, False}
        scores = torch.tensor(trainer.scorer([""] * 8, texts, ended).scores).double()
        assert metrics.score_mean == pytest.approx(float(scores.mean()))
        assert metrics.score_p90 == pytest.approx(float(scores.quantile(0.9)))
        assert metrics.score_std == pytest.approx(float(scores.std(correction=0)))
        assert (metrics.eos_fraction, metrics.completion_length) == (sum(ended) / 8, sum(lengths) / 8)
        assert metrics.raw_score_mean == metrics.terms["letter"] == sum(text.count("a") for text in texts) / 8
        assert metrics.distinct_2 == distinct_n(texts, 2)
        entropy = -float(values["logprobs"][~values["padding_mask"]].mean())
        assert metrics.entropy == pytest.approx(entropy, rel=1e-4)
        paid = metrics.score_mean - metrics.kl_coef * metrics.kl_to_reference
        assert metrics.penalised_reward == pytest.approx(paid, abs=1e-4)


def test_statistics_that_trl_divides_by_the_minibatches_and_by_padding_are_put_right():
    trainer = trl(ppo__num_updates=1, ppo__num_epochs=2, ppo__minibatch_size=2, ppo__learning_rate=1e-2)
    names = ("vf_loss_stats", "ratio_stats", "approxkl_stats", "padding_mask")
    values = {}
    trainer.train(lambda metrics: values.update(loop_values(*names), metrics=metrics))
    metrics, real = values["metrics"], (~values["padding_mask"]).float().mean().item()
    filled = values["vf_loss_stats"] != 0
    assert filled.float().mean() == pytest.approx(1 / 4), "TRL fills one of four places"
    assert metrics.value_loss == pytest.approx(float(values["vf_loss_stats"][filled].mean()))
    over_padding = float(values["ratio_stats"][filled].mean())  # padding has ratio 1
    assert metrics.ratio_mean == pytest.approx((over_padding - (1 - real)) / real, rel=1e-4)
    assert metrics.update_kl == pytest.approx(float(values["approxkl_stats"][filled].mean()) / real, rel=1e-4)
    assert metrics.update_kl > 1e-4


@pytest.mark.parametrize("texts", [tuple("abcdefghijk"), ("a",)])
def test_the_prompts_are_those_of_our_engine_in_the_same_order(texts):
    """11 prompts, and one, in batches of 8; TRL by itself would wait for ever with fewer than a batch."""
    trainer, asked = trl(texts=texts, ppo__num_updates=3), []
    measure = trainer.scorer.mixture.measure

    def listen(prompts, completions):
        asked.append(list(prompts))
        return measure(prompts, completions)

    trainer.scorer.mixture.measure = listen
    run(trainer)
    ours = tiny.trainer(texts=texts)
    for prompts_of_update in asked:
        assert prompts_of_update == [prompt.text for prompt in ours.collect().prompts]
        ours.updates_done += 1
    assert len(asked) == 3


def test_a_stop_between_two_passes_leaves_finite_weights_and_a_clean_process():
    undisturbed = run(trl(ppo__num_updates=2))
    trainer, heard, passes = trl(ppo__num_updates=50), [], []

    def between():
        passes.append(1)
        writing = "batch_generation" in {frame.name for frame in traceback.extract_stack()}
        if len(heard) == 2 and not writing:
            raise Stop

    trainer.between = between
    start = tiny.weights(trainer.policy)
    with pytest.raises(Stop):
        trainer.train(heard.append)
    assert trainer.updates_done == 2
    assert not any(map(torch.equal, start, trainer.policy.parameters()))
    assert not trainer.policy.training
    assert all(weight.grad is None for weight in trainer.policy.parameters())
    count = len(passes)
    assert torch.isfinite(trainer.policy.model(input_ids=torch.tensor([[1, 3, 4]])).logits).all()
    assert len(passes) == count, "the hook is gone"
    fresh = run(trl(ppo__num_updates=2))
    assert [m.score_mean for m in fresh] == [m.score_mean for m in undisturbed], "a new run is not touched by the old"


@pytest.mark.parametrize(("changes", "field", "words"), data_beside(__file__, "tables.yaml")["trl_refuses"])
def test_a_setting_that_trl_cannot_honour_is_refused_with_the_field_and_what_to_do(changes, field, words):
    with pytest.raises(InvalidConfig) as caught:
        trl(**changes)
    assert [problem.field for problem in caught.value.problems] == [field]
    assert words in caught.value.problems[0].message
    with pytest.raises(InvalidConfig):
        checks.check(tiny.config(engine="trl", **changes))


def test_settings_that_trl_reads_anew_can_be_changed_while_it_trains():
    trainer = trl(ppo__num_updates=4, ppo__schedule="constant")
    heard = []

    def after_update(metrics):
        heard.append((metrics, loop_values("non_score_reward", "kl", "optimizer")))
        if metrics.update == 2:
            faster = {"ppo__learning_rate": 3e-3, "ppo__clip_range": 0.01, "ppo__schedule": "constant"}
            changed = tiny.config(engine="trl", ppo__num_updates=4, kl__coef=0.7, **faster)
            trainer.change(changed, {"kl.coef", "ppo.learning_rate", "ppo.clip_range", "ppo.entropy_coef"})

    trainer.train(after_update)
    assert [metrics.kl_coef for metrics, _ in heard] == [0.1, 0.1, 0.7, 0.7]
    assert [metrics.learning_rate for metrics, _ in heard] == pytest.approx([1e-3, 1e-3, 3e-3, 3e-3])
    for metrics, values in heard:
        torch.testing.assert_close(values["non_score_reward"], -metrics.kl_coef * values["kl"])
    assert "ppo.entropy_coef" in trainer.warnings[-1]
    assert trainer.config.kl.coef == 0.7


@pytest.mark.parametrize(
    ("version", "words"), [("1.12.3", ""), ("1.13.0", "1.13.0 is not 1.12"), (None, "not installed")]
)
def test_the_engine_is_there_or_says_why_not(monkeypatch, version, words):
    def installed(name):
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", installed)
    reason = engines.availability()
    assert words in reason
    assert bool(reason) == bool(words) == ("pip install trl==1.12.0" in reason)
    if reason:
        for refused in (trl, lambda: checks.check(tiny.config(engine="trl"))):
            with pytest.raises(InvalidConfig, match="pip install"):
                refused()
        checks.check(tiny.config())


def test_an_update_that_is_counted_is_recorded_even_if_the_stop_comes_at_its_very_end():
    heard = []

    def between():
        if trainer.updates_done:
            raise Stop

    trainer = trl()
    trainer.between = between
    with pytest.raises(Stop):
        trainer.train(heard.append)
    assert [metrics.update for metrics in heard] == [1]
    assert trainer.updates_done == 1


def test_a_gradient_that_is_not_finite_ends_the_run_before_it_is_taken():
    trainer = trl(ppo__num_updates=3)
    with pytest.raises(TrainingDiverged):
        trainer.train(lambda metrics: trainer.policy.lm_head.weight.register_hook(lambda grad: grad * float("nan")))
    assert all(weight.isfinite().all() for weight in trainer.policy.parameters())
    assert trainer.updates_done == 1

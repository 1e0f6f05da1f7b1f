"""How TRL 1.12's PPOTrainer differs from ours: each difference that docs/trl.md names, seen here in TRL itself.

Tiny models, no adapter unless the test says so. The table there names the test of each.
"""

from __future__ import annotations

import dataclasses
import gc
import inspect

import numpy as np
import pytest
import torch
from trl.experimental.ppo import PPOConfig, PPOTrainer

from tests.train import tiny
from tests.train.trl_tools import PlainTRL, Recorder

pytestmark = pytest.mark.thorough  # facts about the version of TRL that is installed; our own are in test_trl_parity.py
PAD, END = 0, 2


@pytest.fixture(autouse=True)
def _quick_collections():
    """TRL collects garbage several times an update; what was there before the test need not be looked through."""
    gc.freeze()
    yield
    gc.unfreeze()


def ended_early(ids: list[int]) -> bool:
    """The end of text was sampled before the last column, and no padding token before it."""
    return END in ids[:-1] and PAD not in ids[: ids.index(END)]


def test_gradients_are_never_clipped(tmp_path):
    runs = []
    for max_grad_norm in (1e-9, 1e9):
        np.random.seed(0)
        runs.append(PlainTRL(tmp_path, max_grad_norm=max_grad_norm).train())
    tight, loose = runs
    assert tight.gradients[0].norm() > 1e-3
    assert not torch.equal(tight.weights(), PlainTRL(tmp_path).weights())
    assert torch.equal(tight.weights(), loose.weights())


@pytest.mark.parametrize("num_mini_batches", [1, 4])
def test_minibatches_do_not_add_optimizer_steps(tmp_path, num_mini_batches):
    run = PlainTRL(tmp_path, num_mini_batches=num_mini_batches, num_ppo_epochs=3, total_episodes=16).train()
    assert len(run.gradients) == 2 * 3  # updates x epochs, and not x num_mini_batches


def test_logged_statistics_are_divided_by_the_minibatches(tmp_path):
    heard = {}
    for num_mini_batches in (1, 4):
        heard[num_mini_batches] = Recorder()
        np.random.seed(0)
        PlainTRL(tmp_path, heard[num_mini_batches], num_mini_batches=num_mini_batches).train()
    whole, quarter = heard[1].logs[0], heard[4].logs[0]
    assert whole["val/ratio"] == pytest.approx(1, abs=1e-4)  # one step, so the ratio is 1 throughout
    assert quarter["val/ratio"] == pytest.approx(0.25, abs=1e-4)
    for name in ("loss/value_avg", "policy/entropy_avg"):
        assert quarter[name] == pytest.approx(whole[name] / 4, rel=1e-4) and whole[name] > 0


def test_the_score_lands_one_token_behind_the_end(tmp_path):
    recorder = Recorder("rewards", "responses", "scores")
    PlainTRL(tmp_path, recorder, kl_coef=0.0, per_device_train_batch_size=16, response_length=12).train()
    values = recorder.values[0]
    seen = 0
    for reward, ids, score in zip(values["rewards"], values["responses"].tolist(), values["scores"], strict=True):
        if score != 0 and ended_early(ids):
            assert reward.nonzero().flatten().tolist() == [ids.index(2) + 1]
            seen += 1
    assert seen > 3, "too few completions ended early to see anything"


def test_the_gradient_depends_on_the_micro_batch(tmp_path):
    """Ours does not: see test_trainer.py on micro-batches."""
    cut = {}
    for micro in (16, 2):
        np.random.seed(0)
        sizes = {"per_device_train_batch_size": micro, "gradient_accumulation_steps": 16 // micro}
        run = PlainTRL(tmp_path, **sizes, total_episodes=16, response_length=12)
        cut[micro] = run.train().gradients[0]
    assert float((cut[16] - cut[2]).norm() / cut[16].norm()) > 0.01


@pytest.mark.parametrize(("batches_in_dataset", "steps"), [(3, [1, 1, 1 + 3]), (100, [1, 1, 1])])
def test_the_last_batch_of_a_dataset_takes_extra_optimizer_steps(tmp_path, batches_in_dataset, steps):
    prompts = [[1, 3 + number % 10] for number in range(8 * batches_in_dataset)]
    run = PlainTRL(tmp_path, prompts=prompts, total_episodes=24).train()
    assert len(run.gradients) == sum(steps)


def test_a_dataset_smaller_than_a_batch_gives_an_empty_loader(tmp_path):
    """`train()` draws from `while True: yield from dataloader`; over an empty one that spins for ever: not run here."""
    assert len(PlainTRL(tmp_path, prompts=[[1, 3]] * 7).trainer.dataloader) == 0
    assert len(PlainTRL(tmp_path, prompts=[[1, 3]] * 8).trainer.dataloader) == 1
    assert "while True:\n                yield from dataloader" in inspect.getsource(PPOTrainer.train)


def test_a_request_to_stop_is_not_heard(tmp_path):
    recorder = Recorder(asks_to_stop=True)
    run = PlainTRL(tmp_path, recorder, total_episodes=32).train()
    assert run.trainer.control.should_training_stop
    assert len(recorder.logs) == 4


def test_the_order_of_the_micro_batches_is_not_seeded(tmp_path):
    orders = []
    for _ in range(2):
        recorder = Recorder("b_inds", "query_responses")
        PlainTRL(tmp_path, recorder, seed=5, per_device_train_batch_size=8).train()
        orders.append(recorder.values[0])
    assert torch.equal(orders[0]["query_responses"], orders[1]["query_responses"]), "what TRL does seed"
    assert orders[0]["b_inds"].tolist() != orders[1]["b_inds"].tolist()


def test_there_is_no_adaptive_kl_and_no_resume():
    own = {item.name for item in dataclasses.fields(PPOConfig)}
    assert "kl_coef" in own
    assert not {name for name in own if "adap" in name and "kl" in name} | (own & {"target", "target_kl", "horizon"})
    assert list(inspect.signature(PPOTrainer.train).parameters) == ["self"]


def test_the_value_model_is_a_second_model(tmp_path):
    run = PlainTRL(tmp_path)
    trained = {parameter for group in run.trainer.optimizer.param_groups for parameter in group["params"]}
    policy = sum(parameter.numel() for parameter in run.policy.parameters())
    assert sum(parameter.numel() for parameter in trained) >= 2 * policy
    ours = tiny.trainer()
    ours_trained = sum(p.numel() for group in ours.optimizer.param_groups for p in group["params"])
    assert ours_trained == policy + ours.policy.hidden_size + 1


def test_the_value_learns_at_the_rate_of_the_policy(tmp_path):
    theirs = {group["lr"] for group in PlainTRL(tmp_path).trainer.optimizer.param_groups}
    assert len(theirs) == 1
    ours = tiny.trainer()
    ours.update()
    policy, head = (group["lr"] for group in ours.optimizer.param_groups)
    assert head == pytest.approx(30 * policy)


@pytest.mark.parametrize(("pad_id", "end_is_trained"), [(PAD, True), (END, False)])
def test_the_end_is_not_trained_where_padding_is_the_end(tmp_path, pad_id, end_is_trained):
    recorder = Recorder("padding_mask", "responses")
    sizes = {"per_device_train_batch_size": 16, "total_episodes": 64, "response_length": 12}
    PlainTRL(tmp_path, recorder, pad_id=pad_id, **sizes).train()
    values = recorder.values[0]
    first_end = [(row, ids.index(2)) for row, ids in enumerate(values["responses"].tolist()) if ended_early(ids)]
    assert len(first_end) > 5
    assert {bool(~values["padding_mask"][row, column]) for row, column in first_end} == {end_is_trained}


def test_a_sampled_padding_token_counts_as_the_end(tmp_path):
    recorder = Recorder("padding_mask", "responses")
    PlainTRL(tmp_path, recorder, per_device_train_batch_size=16, response_length=12).train()
    values = recorder.values[0]
    responses = values["responses"].tolist()
    sampled = [(row, ids.index(PAD)) for row, ids in enumerate(responses) if PAD in ids and END not in ids]
    assert len(sampled) > 3
    assert all(values["padding_mask"][row, column:].all() for row, column in sampled)

import copy
import json
import math
from itertools import chain
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from playground.errors import TrainingDiverged
from playground.runs.folder.records import to_json_line
from playground.training.models import checkpoint_files
from playground.training.models.language_model import LanguageModel
from tests.faults.test_not_finite import inf_loss, nan_gradient, nan_reward, no_logits
from tests.training import tiny

ONE_STEP = {"ppo__num_epochs": 1, "ppo__minibatch_size": 8, "ppo__micro_batch_size": 8, "ppo__learning_rate": 0.02}


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_an_update_of_one_step_is_measured_after_the_step(family):
    trainer = tiny.trainer(family, **ONE_STEP)
    seen = {}
    trainer.collect = lambda collect=trainer.collect: seen.setdefault("rollout", collect())
    trainer.advantages = lambda *args, made=trainer.advantages: seen.setdefault("advantages", made(*args))
    metrics = trainer.update()
    episodes, (advantages, _) = seen["rollout"].episodes, seen["advantages"]
    ratios, gains = [], []
    for row, prompt in enumerate(seen["rollout"].prompts):
        length = int(episodes.lengths[row])
        completion = episodes.completion_ids[row, :length]
        whole = tiny.plain_log_probs(trainer.policy.model, prompt.ids, completion)
        now = whole.gather(1, completion.unsqueeze(1))[:, 0]
        ratios.append((now - episodes.log_probs[row, :length]).exp())
        gains.append(advantages[row, :length])
    ratio, gain = torch.cat(ratios), torch.cat(gains)
    clipped = ((gain > 0) & (ratio > 1.2)) | ((gain < 0) & (ratio < 0.8))
    assert metrics.clip_fraction == pytest.approx(float(clipped.float().mean()), abs=1e-6)
    assert clipped.any()
    assert metrics.ratio_mean == pytest.approx(float(ratio.mean()), rel=1e-4)
    assert metrics.ratio_max == pytest.approx(float(ratio.max()), rel=1e-3)
    assert metrics.update_kl == pytest.approx(float((ratio - 1 - ratio.log()).mean()), rel=1e-3)


def test_in_the_first_update_of_a_model_that_is_not_small_the_policy_is_its_own_reference(monkeypatch):
    """It need not be measured twice; from the second update on it is another."""
    monkeypatch.setattr(LanguageModel, "is_small", False)
    trainer, asked = tiny.trainer("llama", **ONE_STEP), []
    hidden = trainer.reference.hidden
    monkeypatch.setattr(trainer.reference, "hidden", lambda *ids: asked.append(trainer.updates_done) or hidden(*ids))
    first, second = trainer.update(), trainer.update()
    assert (set(asked), set(first.kl_estimates.values())) == ({1}, {0.0})
    assert second.kl_estimates["full"] > 0


def of_completions(model, rollout):
    """Log-probs of whole completions, [B], each by a plain pass of its own."""
    said = []
    for prompt, ids, mask in zip(rollout.prompts, rollout.episodes.completion_ids, rollout.episodes.mask, strict=True):
        written = ids[mask]
        said.append(tiny.plain_log_probs(model, prompt.ids, written).gather(1, written[:, None]).sum())
    return torch.stack(said)


@pytest.mark.parametrize("where", ["reward", "loss"])
def test_a_reference_that_moves_is_the_policy_of_every_second_update_and_the_first_one_is_measured_too(where):
    """KL by its definition: mean over texts of log pi - log of a copy that was made by hand after each update."""
    settings = {"reference__every": 2, "kl__where": where, "kl__estimator": "full", "ppo__learning_rate": 0.01}
    trainer = tiny.trainer(**settings)
    copies, rollouts, found = [copy.deepcopy(trainer.policy.model)], [], []
    trainer.collect = lambda collect=trainer.collect: rollouts.append(collect()) or rollouts[-1]
    for _ in range(5):
        found.append(trainer.update())
        copies.append(copy.deepcopy(trainer.policy.model))
    for update, (metrics, rollout) in enumerate(zip(found, rollouts, strict=True)):
        policy, moved, first = (of_completions(copies[at], rollout) for at in (update, update // 2 * 2, 0))
        assert metrics.kl_to_reference == pytest.approx(float((policy - moved).mean()), abs=1e-4)
        assert metrics.kl_to_first == pytest.approx(float((policy - first).mean()), abs=1e-4)
    assert abs(found[3].kl_to_first - found[3].kl_to_reference) > 0.01
    assert tiny.trainer().update().kl_to_first is None


def test_an_update_ends_early_once_the_policy_has_moved_far():
    slow = tiny.trainer(ppo__num_epochs=6, ppo__learning_rate=1e-2, ppo__clip_range=5.0)
    fast = tiny.trainer(ppo__num_epochs=6, ppo__learning_rate=1e-2, ppo__clip_range=5.0, ppo__update_kl_stop=1e-3)
    counts = []
    for trainer in (slow, fast):
        steps = []
        trainer.optimizer.step = lambda step=trainer.optimizer.step, steps=steps: (steps.append(1), step())
        trainer.update()
        counts.append(len(steps))
    assert counts[0] == 12
    assert counts[1] < 12


@pytest.mark.parametrize("critic", ["shared", "separate"])
def test_policy_and_critic_are_clipped_each_by_itself_and_both_norms_are_logged_before(critic):
    trainer, norms = tiny.trainer(ppo__max_grad_norm=1e-3, model__critic=critic), []

    def step():
        policy, *of_critic = [[p.grad for p in group["params"]] for group in trainer.optimizer.param_groups]
        for grads in (policy, [*chain(*of_critic)]):
            norms.append(float(torch.stack([grad.norm() for grad in grads]).norm()))

    trainer.optimizer.step = step
    metrics = trainer.update()
    assert metrics.grad_norm > 1e-3
    assert metrics.value_grad_norm > 1e-3
    assert norms == pytest.approx([1e-3] * len(norms), rel=1e-3)


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd", "adafactor", "adamw_8bit"])
def test_with_every_optimizer_a_run_goes_on_from_a_file_as_if_it_had_not_ended(optimizer, tmp_path):
    settings = {"ppo__optimizer": optimizer, "ppo__weight_decay": 0.1, "model__critic": "separate"}
    whole, resumed = tiny.trainer(**settings), tiny.trainer(**settings)
    for _ in range(2):
        whole.update()
    tensors, facts = whole.state()
    checkpoint_files._save_tensors(tensors, tmp_path / "optimizer.safetensors")
    with torch.no_grad():
        for name, weight in resumed.trained.items():
            weight.copy_(whole.trained[name])
    resumed.restore(load_file(tmp_path / "optimizer.safetensors"), {**facts, "update": 2})
    assert [tiny.figures(whole.update()) for _ in range(2)] == [tiny.figures(resumed.update()) for _ in range(2)]
    assert all(map(torch.equal, whole.trained.values(), resumed.trained.values()))


def test_only_matrices_decay_and_only_where_that_is_asked_for():
    plain, decaying = (tiny.trainer(ppo__weight_decay=decay).optimizer.param_groups for decay in (0.0, 0.1))
    assert [group["weight_decay"] for group in plain] == [0.0, 0.0]
    dimensions = {(group["weight_decay"], weight.ndim) for group in decaying for weight in group["params"]}
    assert dimensions == {(0.1, 2), (0.0, 1)}


def nan_reference(session):
    logits = session.trainer.reference.logits
    session.trainer.reference.logits = lambda hidden: logits(hidden) * math.nan


@pytest.mark.parametrize("poison", [nan_reward, inf_loss, nan_gradient, no_logits, nan_reference])
def test_a_number_that_is_not_finite_is_caught_before_the_step_and_three_updates_in_a_row_end_the_run(poison):
    trainer = tiny.trainer(kl__controller="ziegler", kl__coef=1.0, kl__target=5.0, kl__horizon=80)
    poison(SimpleNamespace(trainer=trainer, scorer=trainer.scorer, policy=trainer.policy))
    before = tiny.weights(trainer.policy)
    for update in (1, 2):
        metrics = trainer.update()
        assert (metrics.update, len(trainer.warnings)) == (update, 1)
        assert "not finite" in trainer.warnings[0] or "finite number" in trainer.warnings[0]
        json.loads(to_json_line(metrics), parse_constant=lambda word: pytest.fail(word))
        json.dumps(trainer.state()[1], allow_nan=False)
        assert 0.5 < trainer.kl_controller.coef < 2
    with pytest.raises(TrainingDiverged, match=r"3 updates in a row.*Lower the learning rate"):
        trainer.update()
    assert all(map(torch.equal, before, trainer.policy.parameters()))


def test_entropy_bonus_keeps_entropy_higher():
    def final_entropy(coef):
        free = {"ppo__learning_rate": 3e-3, "kl__coef": 0.0, "ppo__schedule": "constant"}
        sizes = {"ppo__batch_size": 32, "ppo__minibatch_size": 16, "ppo__micro_batch_size": 16}
        trainer = tiny.trainer(**sizes, **free, ppo__entropy_coef=coef, ppo__num_updates=8)
        return [trainer.update().entropy for _ in range(8)][-1]

    assert final_entropy(0.1) > final_entropy(0.0) + 0.2

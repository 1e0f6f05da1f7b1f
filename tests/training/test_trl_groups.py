"""`engine: trl` with RLOO and GRPO: TRL's own trainers, fed and heard by us, held to the exact optimum."""

from __future__ import annotations

import pytest
import torch

from playground.config import engines
from playground.training.trl_texts import GroupTrainer
from tests.thoroughness import SEEDS
from tests.training import tiny, toy
from tests.training.test_trl_offline import BOUND, problem, run


def trainer(of: toy.Problem, method: str, seed: int = 0, **changes: object) -> GroupTrainer:
    sizes = {
        "ppo__num_updates": 60, "ppo__batch_size": 256, "ppo__minibatch_size": 128, "ppo__micro_batch_size": 128,
        "ppo__num_epochs": 2, "ppo__learning_rate": 2e-3, "ppo__samples_per_prompt": 8,
    }  # fmt: skip
    named = {"method": method, "engine": "trl", "seed": seed}
    made = toy.trainer(of, toy.transformer(of.space, seed), **{**sizes, **named, **changes})
    assert isinstance(made, GroupTrainer)
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_trls_rloo_ends_at_the_optimum(seed):
    of = problem(seed)
    made = trainer(of, "rloo", seed)
    assert of.distance(made) > 0.4
    run(made)
    assert of.distance(made) < BOUND


@pytest.mark.parametrize("method", ["rloo", "grpo"])
def test_every_update_is_told_and_what_trl_writes_into_the_model_is_taken_back(method):
    small = {"ppo__num_updates": 2, "ppo__batch_size": 32, "ppo__minibatch_size": 16, "ppo__micro_batch_size": 8}
    made = trainer(problem(0), method, **small, ppo__samples_per_prompt=32)  # more than a step takes
    model = made.policy.model
    before = model.config.to_dict(), model.generation_config.to_dict()
    weights = [weight.clone() for weight in made.policy.parameters()]
    heard = run(made)
    assert [(item.update, item.episodes) for item in heard] == [(1, 32), (2, 64)]
    assert heard[-1].tokens_trained == 2 * heard[-1].tokens > 0
    assert heard[0].seconds_rollout > 0 and heard[0].grad_norm > 0 and heard[0].kl_coef == 1.0
    assert (model.config.to_dict(), model.generation_config.to_dict()) == before
    assert not all(map(torch.equal, weights, made.policy.parameters()))


def test_it_takes_the_prompts_of_our_loop_and_scores_what_was_sampled(monkeypatch):
    small = {"ppo__num_updates": 1, "ppo__batch_size": 16, "ppo__minibatch_size": 16, "ppo__micro_batch_size": 16}
    made = trainer(problem(0), "rloo", **small)
    asked: list[tuple[str, str]] = []
    scorer = made.scorer

    def listening(prompts, completions, ended):
        asked.extend(zip(prompts, completions, strict=True))
        assert list(ended) == [text.endswith(".") for text in completions]
        return scorer(prompts, completions, ended)

    monkeypatch.setattr(made, "scorer", listening)
    run(made)
    prompts = [prompt for prompt, _ in asked[:16]]  # the next ones are those that the curves are drawn from
    assert prompts == [prompts[0]] * 8 + [prompts[8]] * 8 and {prompts[0], prompts[8]} <= {"ab", "bcd"}


def test_what_these_trainers_cannot_honour_is_refused_by_name():
    asked = tiny.config(method="grpo", engine="trl", kl__controller="adaptive", ppo__entropy_coef=0.1)
    found = engines.unsupported(asked)
    assert {problem.field for problem in found} == {"kl.controller", "ppo.entropy_coef"}
    assert all("TRL's GRPOTrainer" in problem.message for problem in found)
    assert engines.unsupported(tiny.config(method="rloo", engine="trl")) == []

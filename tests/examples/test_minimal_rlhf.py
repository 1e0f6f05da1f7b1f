"""examples/minimal_rlhf.py computes what the project computes, learns, and is the source of the exercise."""

import copy
import importlib.util
import inspect
import re

import nbformat
import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from bench import exercise
from playground.ppo.advantages import generalised_advantages, token_rewards
from playground.ppo.kl import k1
from playground.ppo.logprobs import token_log_probs
from playground.ppo.losses import clipped_tokens, policy_loss, value_loss
from playground.ppo.masked import whiten
from playground.training.loop import sampling
from playground.training.models.language_model import LanguageModel
from tests.nights import SEEDS
from tests.support import PROJECT

EXAMPLES = PROJECT / "examples"
PAD, END, VOCABULARY = 0, 1, 12


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


minimal = loaded(EXAMPLES / "minimal_rlhf.py")
PROMPTS = [[5, 2, 7, 3], [4], [PAD, 6], [3, 9, PAD], [8, 8], [2]]  # the padding id is a real token here, too
RAGGED = {"temperature": 0.7, "max_new_tokens": 6, "kl_coef": 0.3, "gamma": 0.97, "gae_lambda": 0.9}


def model(seed=0, end=END):
    """Of absolute positions, which show a prompt that is thought to begin late; float64, so that no rounding hides."""
    torch.manual_seed(seed)
    shape = {"vocab_size": VOCABULARY, "n_positions": 32, "n_embd": 8, "n_layer": 2, "n_head": 2}
    config = GPT2Config(**shape, pad_token_id=PAD, eos_token_id=end, bos_token_id=None)
    model = GPT2LMHeadModel(config).eval().double()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(0.4 * torch.randn_like(weights))
    return model


def head(seed=0):
    torch.manual_seed(seed)
    return nn.Linear(8, 1).double()


def ragged(seed, policy, **changes):
    settings = minimal.Settings(**(RAGGED | changes))
    torch.manual_seed(seed)
    return settings, minimal.generate_with_logprobs(policy, head(), PROMPTS, settings)


def ours(lm, episodes, settings):
    """Of the real completion tokens, read by the project's model, padding behind: log-probs and features [N]."""
    length = episodes.log_probs.shape[1]
    prompts = episodes.ids[:, :-length], episodes.real[:, :-length]
    nothing = torch.zeros_like(episodes.log_probs)
    unused = (nothing, nothing, nothing, nothing[:, 0] > 0)
    packed = sampling.Episodes(*prompts, episodes.completions, episodes.mask, *unused).packed()
    ids, predicts = packed.rows(torch.arange(len(episodes.ids)))
    language_model = LanguageModel(lm)
    hidden = language_model.hidden(ids, predicts)[predicts]
    tokens = episodes.completions[episodes.mask]
    return token_log_probs(language_model.logits(hidden), tokens, settings.temperature), hidden


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("end", [END, PAD])
def test_a_written_text_has_the_log_probs_and_values_of_the_projects_own_pass(seed, end):
    policy = model(end=end)
    settings, episodes = ragged(seed, policy)
    log_probs, hidden = ours(policy, episodes, settings)
    close(episodes.log_probs[episodes.mask], log_probs)
    close(episodes.values[episodes.mask], head()(hidden).squeeze(1))
    assert not episodes.log_probs[~episodes.mask].any()
    assert not episodes.values[~episodes.mask].any()
    parts = episodes.ids, episodes.real, episodes.completions, episodes.mask
    for prompt, ids, real, completion, mask in zip(PROMPTS, *parts, strict=True):
        assert ids[: -len(completion)][real[: -len(completion)]].tolist() == prompt
        tokens = completion.tolist()
        length = tokens.index(end) + 1 if end in tokens else len(tokens)
        assert mask.tolist() == [place < length for place in range(len(tokens))]


def test_the_kl_is_k1_of_the_projects_log_probs():
    settings, episodes = ragged(0, model())
    kl = minimal.compute_kl(model(1), episodes, settings)
    close(kl[episodes.mask], k1(ours(model(), episodes, settings)[0] - ours(model(1), episodes, settings)[0]))
    assert kl.shape == episodes.mask.shape
    assert not kl[~episodes.mask].any()


@pytest.mark.parametrize("seed", range(3))
def test_advantages_and_returns_are_the_projects(seed):
    settings, (kl, values) = minimal.Settings(**RAGGED), torch.randn(2, 7, 9, generator=torch.manual_seed(seed))
    mask = torch.arange(9) < torch.randint(1, 10, (7, 1))
    scores = torch.randn(7)
    advantages, returns = minimal.compute_advantages(scores, kl, values, mask, settings)
    rewards = token_rewards(kl, scores, mask, settings.kl_coef)
    expected, targets = generalised_advantages(rewards, values, mask, settings.gamma, settings.gae_lambda)
    close(advantages, whiten(expected, mask))
    close(returns, targets)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_has_the_projects_losses_and_moves_the_weights_where_its_gradient_does(seed):
    settings, episodes = ragged(seed, model(), max_grad_norm=0.05, clip_range=0.1)
    torch.manual_seed(seed)
    policy, value_head, (advantages, returns) = model(2), head(1), torch.randn(2, *episodes.mask.shape).double()
    twin, its_head, mask = copy.deepcopy(policy), copy.deepcopy(value_head), episodes.mask
    optimizer, its_optimizer = (
        torch.optim.AdamW([{"params": part.parameters()} for part in parts], lr=0.01)
        for parts in ((policy, value_head), (twin, its_head))
    )
    told = minimal.ppo_step(policy, value_head, optimizer, episodes, advantages, returns, settings)

    log_probs, hidden = ours(twin, episodes, settings)
    log_ratio, values = log_probs - episodes.log_probs[mask], its_head(hidden.detach()).squeeze(1)
    losses = policy_loss(log_ratio, advantages[mask], settings.clip_range)
    errors = value_loss(values, episodes.values[mask], returns[mask])
    (losses.mean() + settings.value_coef * errors.mean()).backward()
    for part in (twin, its_head):
        torch.nn.utils.clip_grad_norm_(part.parameters(), settings.max_grad_norm)
    its_optimizer.step()
    clipped = clipped_tokens(log_ratio, advantages[mask], settings.clip_range).double().mean()
    assert 0 < clipped < 1
    expected = {"policy_loss": losses.mean(), "value_loss": errors.mean(), "clip_fraction": clipped}
    assert told == pytest.approx({name: float(value.detach()) for name, value in expected.items()}, abs=1e-6)
    for one, two in ((policy, twin), (value_head, its_head)):
        for mine, theirs in zip(one.parameters(), two.parameters(), strict=True):
            close(mine, theirs)


def test_the_example_learns_at_a_price_and_leaves_the_reference_alone(capsys):
    def wanted(episodes):
        return ((episodes.completions == 7) & episodes.mask).sum(1).double() - 1

    policy, reference = model(), model()
    sizes = {"num_updates": 30, "max_new_tokens": 6, "kl_coef": 0.1}
    settings = minimal.Settings(**sizes, learning_rate=0.01, value_learning_rate=0.05)
    torch.manual_seed(0)
    first, *_, last = minimal.train(policy, reference, head(), PROMPTS, wanted, settings)
    assert first["kl"] == pytest.approx(0, abs=1e-6)
    assert last["kl"] > 0.5
    assert last["score"] > first["score"] + 1
    assert last["value_loss"] < first["value_loss"]
    assert all(map(torch.equal, reference.parameters(), model().parameters()))
    assert not any(map(torch.equal, policy.parameters(), model().parameters()))
    assert len(capsys.readouterr().out.splitlines()) == 30


def test_the_example_is_short_imports_torch_and_transformers_only_and_the_page_shows_it_as_it_is():
    source = (EXAMPLES / "minimal_rlhf.py").read_text(encoding="utf-8")
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", source, re.MULTILINE))
    assert imported == {"torch", "transformers", "copy", "re", "collections", "dataclasses", "pathlib"}
    assert len(source.splitlines()) <= 250
    assert exercise.SHOWN.read_text(encoding="utf-8") == exercise.shown()


def test_the_exercise_is_the_example_without_its_five_bodies(monkeypatch):
    assert (EXAMPLES / "exercise.py").read_text(encoding="utf-8") == exercise.exercise()
    assert nbformat.read(EXAMPLES / "exercise.ipynb", as_version=4) == exercise.notebook()
    monkeypatch.chdir(EXAMPLES)
    names = {}
    exec(exercise.notebook().cells[1].source, names)
    assert (names["MODEL"], names["PROMPTS"]) == (minimal.MODEL, minimal.PROMPTS)
    missing = loaded(EXAMPLES / "exercise.py")
    for name in exercise.FUNCTIONS:
        assert getattr(missing, name).__doc__ == getattr(minimal, name).__doc__
        with pytest.raises(NotImplementedError):
            getattr(missing, name)(*inspect.signature(getattr(minimal, name)).parameters)

"""`method: steer` against what can be done by hand: the vector is a mean, a shift behind a layer is a bias in it."""

import dataclasses

import pytest
import torch

from playground.config import SamplingConfig
from playground.errors import InvalidConfig, ModelNotFound, RewardFailed
from playground.ppo.logprobs import log_softmax_at
from playground.rewards.mixture import Mixture
from playground.runs.folder.records import STEERING_VECTOR
from playground.training.data.random_streams import uniforms
from playground.training.loop.sampling import sample
from playground.training.loop.scoring import Scorer
from playground.training.loop.untrained import Steered, difference
from playground.training.models import loading, steering_vector
from playground.training.models.steering_vector import SteeringVector
from playground.training.service.subjects import Subjects
from tests.nights import SEEDS, cases
from tests.support import config_with
from tests.training import small_run, snapshots, test_families, tiny

CPU = torch.device("cpu")
FAMILIES = cases(snapshots.FAMILIES, always=["gpt2", "opt", "gpt_neox", "llama"])
TEXTS = ["The film was", "A book", "The phone is terrible because the", "She", "hello"]
LONGEST = 8


def vector(model, layer=1):
    return SteeringVector(layer, torch.randn(model.hidden_size, generator=torch.Generator().manual_seed(5)), 1.5)


def steered_trainer(mixture=None, **changes):
    changes = {"ppo__samples_per_prompt": 4, "steering__num_prompts": 16, **changes}
    config, policy = tiny.config(method="steer", **changes), tiny.model(spread=1.0)
    scorer = Scorer(config, mixture or tiny.count_letter())
    return Steered(config, policy, policy.frozen_copy(), tiny.tokens(), tiny.prompts("abc", "b", "ddd", "fg"), scorer)


@torch.no_grad()
def all_log_probs(model, ids, writes=None):
    return log_softmax_at(model.logits(model.hidden(ids, writes)), 1.0)


def test_the_vector_is_the_mean_difference_over_pairs_of_one_prompt_weighted_by_score():
    """Prompt one: scores 3, 1, 1, so two pairs that differ by 2; prompt two: 0, 1, 0. Sums by hand."""
    means = torch.tensor([[1.0, 0], [0, 2], [4, 0], [9, 9], [10, 9], [8, 8]])
    scores = torch.tensor([3.0, 1, 1, 0, 1, 0])
    first = 2 * torch.tensor([1.0 - 0, 0 - 2]) + 2 * torch.tensor([1.0 - 4, 0])
    second = torch.tensor([10.0 - 9, 0]) + torch.tensor([10.0 - 8, 9 - 8])
    assert torch.allclose(difference(means, scores, 3), (first + second) / (2 + 2 + 1 + 1))
    assert torch.allclose(difference(means, 7 * scores + 2, 3), difference(means, scores, 3)), "a scale changes nothing"
    apart = means + torch.tensor([[5.0, -3]] * 3 + [[0, 0]] * 3)
    assert torch.allclose(difference(apart, scores, 3), difference(means, scores, 3)), "nor what is of a prompt alone"


def test_a_reward_that_tells_no_two_texts_of_a_prompt_apart_is_refused():
    flat = Mixture({"flat": (1.0, lambda prompts, completions, **_: [float(len(p)) for p in prompts])})
    with pytest.raises(RewardFailed, match="same score"):
        steered_trainer(flat, sampling__missing_eos_penalty=0.0).update()


LAST_LINEAR = {"llama": "down_proj", "qwen2": "down_proj", "gpt2": "c_proj", "gpt_neox": "dense_4h_to_h"}


@pytest.mark.parametrize("family", cases(LAST_LINEAR, always=["llama", "gpt2"]))
def test_log_probs_are_those_of_a_model_with_the_shift_as_a_bias_in_its_layer(family):
    model, by_hand = tiny.model(family), tiny.model(family)
    added = vector(model, layer=2)
    linear = getattr(steering_vector.decoder_layers(by_hand.trunk)[1].mlp, LAST_LINEAR[family])
    old = 0 if linear.bias is None else linear.bias.detach()
    linear.bias = torch.nn.Parameter(old + added.strength * added.values)
    ids = torch.randint(3, tiny.VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(1))
    plain = all_log_probs(model, ids)
    model.steer(added)
    assert torch.allclose(all_log_probs(model, ids), all_log_probs(by_hand, ids), atol=1e-5)
    assert not torch.allclose(all_log_probs(model, ids), plain, atol=1e-2)
    model.steer(None)
    assert torch.equal(all_log_probs(model, ids), plain), "and nothing stays behind"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_steered_sampler_says_of_its_tokens_what_a_whole_pass_says(family, tmp_path):
    model, tokens = loading.load(snapshots.snapshot(tmp_path / family, family, own_pad=True), CPU)
    tokens = dataclasses.replace(tokens, stop_ids=tuple(range(10, 60)))
    model.steer(vector(model))
    prompts = [tokens.encode(text) for text in TEXTS]
    episodes = sample(model, tokens, prompts, uniforms(list(range(len(TEXTS))), LONGEST), SamplingConfig())
    packed = episodes.packed()
    whole = all_log_probs(model, packed.ids, packed.predicts)[packed.predicts]
    expected = whole.gather(1, episodes.completion_ids[episodes.mask].unsqueeze(1))[:, 0]
    assert torch.allclose(episodes.log_probs[episodes.mask], expected, atol=2e-4)
    model.steer(None)
    plain = all_log_probs(model, packed.ids)[packed.predicts]
    assert not torch.allclose(whole, plain, atol=1e-2), "the vector does something"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_dial_raises_the_score_one_way_and_lowers_it_the_other_and_changes_no_weight(seed):
    ends = {}
    for strength in (-6.0, 6.0):
        sizes = {"ppo__batch_size": 128, "ppo__minibatch_size": 128, "steering__num_prompts": 64}
        trainer = steered_trainer(seed=seed, steering__strength=strength, ppo__num_updates=4, **sizes)
        before = tiny.weights(trainer.policy)
        heard = []
        trainer.train(heard.append)
        assert all(map(torch.equal, before, trainer.policy.parameters()))
        assert [item.steering_strength for item in heard] == [strength * turn / 4 for turn in (1, 2, 3, 4)]
        exact = [item.kl_estimates["full"] for item in heard]
        assert exact == sorted(exact), "log-probs of the reference are those without the vector"
        assert exact[0] > 0
        assert heard[-1].tokens_trained == 0
        assert heard[-1].penalised_reward is None
        ends[strength] = heard[-1].raw_score_mean
    assert ends[6.0] > ends[-6.0] + 0.2  # four standard errors


def test_a_layer_that_is_not_there_and_a_model_without_layers_are_refused():
    assert [steering_vector.layer_of(tiny.model().trunk, layer) for layer in (None, 1, 2)] == [1, 1, 2]
    with pytest.raises(InvalidConfig, match=r"steering\.layer: .*from 1 to 2"):
        steered_trainer(steering__layer=3)
    with pytest.raises(InvalidConfig, match="has 3 numbers"):
        tiny.model().steer(SteeringVector(1, torch.ones(3), 1.0))
    with pytest.raises(InvalidConfig, match="decoder layers"):
        steering_vector.decoder_layers(torch.nn.Linear(2, 2))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A whole run of four strengths on a tiny model."""
    home = tmp_path_factory.mktemp("steered")
    plain = test_families.config(snapshots.snapshot(home / "model", "llama", own_pad=True), home)
    changes = {"ppo__samples_per_prompt": 2, "ppo__num_updates": 4, "evaluation__every": 2, "checkpoint__every": 2}
    steering = {"method": "steer", "steering": {"strength": 2.0, "num_prompts": 6}}
    return small_run.trained(home, config_with(plain.model_dump(mode="json"), {**changes, **steering})).run


def test_the_checkpoint_has_the_vector_and_steers_where_it_is_loaded(finished):
    folder = finished.latest_checkpoint()
    model, _ = loading.load(folder, CPU)
    assert (model.steering.strength, model.steering.layer) == (2.0, 1)
    subject = Subjects().named(str(finished.path))
    assert subject.policy.steering.strength == 2.0
    assert subject.reference.steering is None
    (event,) = [event for event in finished.all_events() if event.kind == STEERING_VECTOR]
    assert event.data["texts"] == 12
    assert event.data["norm"] == pytest.approx(float(model.steering.values.norm()))
    start, _ = loading.load(finished.path.parent / "model", CPU)
    ids = torch.randint(5, 90, (2, 7), generator=torch.Generator().manual_seed(0))
    assert not torch.allclose(all_log_probs(model, ids), all_log_probs(start, ids), atol=1e-3)
    model.steer(None)
    assert torch.equal(all_log_probs(model, ids), all_log_probs(start, ids)), "the weights are those of the start"


@pytest.mark.parametrize("family", cases(tiny.FAMILIES, always=["llama"]))
def test_ppo_on_a_steered_model_has_the_vector_in_old_and_new_log_probs_and_in_the_reference(family):
    trainer = tiny.trainer(family)
    start, added = trainer.policy.frozen_copy(), vector(trainer.policy)
    for model in (trainer.policy, trainer.reference):
        model.steer(added)
    rollout, everything = trainer.collect(), torch.arange(8)
    assert trainer.forward(rollout, everything).log_ratio.abs().max() < 1e-4, "the first ratio is 1"
    assert rollout.full_kl.abs().max() < 1e-4
    trainer.policy.steer(None)
    assert trainer.forward(rollout, everything).log_ratio.abs().max() > 0.1, "the vector did the writing"
    trainer.policy.steer(added)
    trainer.update()
    assert torch.equal(trainer.policy.steering.values, added.values)
    assert any(
        not torch.equal(old, new) for old, new in zip(tiny.weights(start), trainer.policy.parameters(), strict=True)
    )


def test_a_run_on_a_steered_policy_keeps_its_vector_and_what_cannot_be_trained_so_is_refused(finished, tmp_path):
    folder, home = finished.latest_checkpoint(), tmp_path / "home"
    home.mkdir()
    changes = {"method": "ppo", "model__source": str(folder), "ppo__samples_per_prompt": 1, "ppo__num_updates": 2}
    config = config_with(finished.config().model_dump(mode="json"), changes)
    run = small_run.trained(home, config).run
    steered, made_from = (loading.load(path, CPU)[0] for path in (run.latest_checkpoint(), folder))
    assert torch.equal(steered.steering.values, made_from.steering.values)
    assert abs(run.metrics()[0].kl_estimates["full"]) < 1e-4, "the start is the steered model"
    subject = Subjects().named(str(run.path))
    assert subject.reference.steering.strength == subject.policy.steering.strength == 2.0
    with pytest.raises(InvalidConfig, match=r"steering\.safetensors"):
        small_run.trained(
            tmp_path, config_with(config.model_dump(mode="json"), {"model__gradient_checkpointing": True})
        )


def test_a_damaged_vector_is_refused(tmp_path):
    (tmp_path / steering_vector.FILE).write_bytes(b"no tensor")
    with pytest.raises(ModelNotFound, match="is damaged"):
        steering_vector.read(tmp_path)

import gc
import weakref

import pytest
import torch

from playground.config import SamplingConfig
from playground.ppo.kl import full_kl
from playground.training.data.random_streams import TokenNoise, uniforms
from playground.training.loop.passes import compared, micro_batches
from playground.training.loop.sampling import SHRINK_AT, Keep, drawn_from, sample
from playground.training.models import language_model
from playground.training.models.captured_steps import CapturedSteps
from playground.training.models.language_model import LanguageModel, ValueHead
from playground.training.models.steering_vector import SteeringVector
from tests.support import data_beside
from tests.training import tiny

SEEDS = list(range(24))
PROMPTS = [prompt.ids for prompt in tiny.prompts("a", "abcdefgh", "cc", "edcba")] * 6


def draw(family, pad_is_eos=False, temperature=1.0, length=12):
    model, head = tiny.model(family), ValueHead(32)
    torch.nn.init.normal_(head.linear.weight, generator=torch.Generator().manual_seed(0))
    sampling, keep = SamplingConfig(temperature=temperature), Keep(head, hidden=True, entropies=True)
    return model, head, sample(model, tiny.tokens(pad_is_eos), PROMPTS, uniforms(SEEDS, length), sampling, keep=keep)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("pad_is_eos", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_sampler_says_what_a_plain_unpadded_forward_says(family, pad_is_eos, temperature):
    """Left padding, the KV cache, dropping finished episodes and a pad that is eos change nothing, in any family."""
    model, head, episodes = draw(family, pad_is_eos, temperature)
    assert {True, False} == set(episodes.ended.tolist()), "the test needs episodes that end and episodes that do not"
    for row, prompt in enumerate(PROMPTS):
        length = int(episodes.lengths[row])
        completion = episodes.completion_ids[row, :length]
        assert episodes.mask[row].tolist() == [place < length for place in range(episodes.mask.shape[1])]
        assert (int(completion[-1]) == 2) == bool(episodes.ended[row])
        assert 2 not in completion[:-1]
        log_probs = tiny.plain_log_probs(model.model, prompt, completion, temperature)
        chosen = log_probs.gather(1, completion.unsqueeze(1)).squeeze(1)
        assert torch.allclose(episodes.log_probs[row, :length], chosen, atol=2e-5)
        entropies = torch.distributions.Categorical(logits=log_probs).entropy()
        assert torch.allclose(episodes.entropies[row, :length], entropies, atol=2e-5)
        whole = torch.cat([torch.tensor(prompt), completion]).unsqueeze(0)
        with torch.no_grad():
            values = head(model.model(input_ids=whole, output_hidden_states=True).hidden_states[-1][0])
        assert torch.allclose(episodes.values[row, :length], values[len(prompt) - 1 : -1], atol=2e-4)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize(("overhead", "first"), [(0, [(1, 3), (4, 8)]), (1e9, [(4, 11), (24, 1)])])
def test_a_model_that_is_not_small_reads_equal_prompts_and_a_common_beginning_once(
    family, overhead, first, monkeypatch
):
    prompts = [prompt.ids for prompt in tiny.prompts("dda", "ddabcdefgh", "ddcc", "ddedcba")] * 6
    model, read = tiny.model(family), []
    next_hidden = model.next_hidden

    def write(is_small):
        monkeypatch.setattr(LanguageModel, "is_small", is_small)
        read.clear()
        return sample(model, tiny.tokens(), prompts, uniforms(SEEDS, 12), SamplingConfig(), keep=Keep(hidden=True))

    monkeypatch.setattr(LanguageModel, "call_overhead_tokens", overhead)
    monkeypatch.setattr(model, "next_hidden", lambda ids, *rest: read.append(ids.shape) or next_hidden(ids, *rest))
    plain = write(is_small=True)
    assert read[0] == (24, 11)
    once = write(is_small=False)
    assert read[:2] == first
    assert once.completion_ids.equal(plain.completion_ids)
    assert once.prompt_ids.equal(plain.prompt_ids)
    assert torch.allclose(once.log_probs, plain.log_probs, atol=2e-5)
    assert torch.allclose(once.hidden[once.mask], plain.hidden[plain.mask], atol=2e-4)


@pytest.mark.parametrize("draws", [uniforms, TokenNoise])
def test_a_completion_depends_on_its_own_seed_and_prompt_only(draws):
    model, longest = tiny.model(), 40
    together = sample(model, tiny.tokens(), PROMPTS, draws(SEEDS, longest), SamplingConfig())
    assert together.ended.float().mean() > 1 - SHRINK_AT, "the test needs a batch that shrinks"
    for row in range(len(SEEDS)):
        alone = sample(model, tiny.tokens(), [PROMPTS[row]], draws([SEEDS[row]], longest), SamplingConfig())
        length = int(alone.lengths[0])
        assert alone.completion_ids[0, :length].tolist() == together.completion_ids[row, :length].tolist()


@pytest.mark.parametrize("draws", [uniforms, TokenNoise])
@pytest.mark.parametrize("cut", [{}, {"top_k": 3}, {"top_p": 0.5}])
def test_sampled_frequencies_are_those_of_the_distribution(draws, cut):
    model, n = tiny.model(), 4000
    prompt, sampling = tiny.prompts("ab")[0].ids, SamplingConfig(temperature=0.8, **cut)
    episodes = sample(model, tiny.tokens(), [prompt] * n, draws(list(range(n)), 1), sampling)
    log_probs = tiny.plain_log_probs(model.model, prompt, torch.tensor([0]), 0.8)
    expected = drawn_from(log_probs, cut.get("top_k"), cut.get("top_p"))[0][0].exp()
    observed = torch.bincount(episodes.completion_ids[:, 0], minlength=tiny.VOCABULARY) / n
    standard_error = (expected * (1 - expected) / n).sqrt()
    assert ((observed - expected).abs() < 4.5 * standard_error + 1e-9).all()


@pytest.mark.parametrize(("size", "overhead", "groups"), data_beside(__file__, "tables.yaml")["micro_batches"])
def test_micro_batches_are_cut_where_padding_would_cost_more_than_another_call(size, overhead, groups):
    lengths = torch.tensor([9, 1, 10, 2, 2, 10, 1, 9, 99])
    cut = list(micro_batches(torch.arange(8), lengths, size, overhead))
    assert [lengths[rows].tolist() for rows in cut] == groups
    assert sorted(torch.cat(cut).tolist()) == list(range(8))


def test_in_bf16_the_weights_that_were_cast_are_cast_anew_after_they_have_changed():
    model = tiny.model("llama")
    model.autocast = torch.bfloat16
    before = sample(model, tiny.tokens(), PROMPTS, uniforms(SEEDS, 9), SamplingConfig())
    with torch.no_grad():
        for weight in model.trunk.layers.parameters():
            weight.mul_(1.5)
    after = sample(model, tiny.tokens(), PROMPTS, uniforms(SEEDS, 9), SamplingConfig())
    assert not torch.equal(before.log_probs, after.log_probs)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_whole_distributions_in_micro_batches_agree_with_what_the_sampler_said(family):
    """Of the policy by the features that were kept, of a reference with the same weights by a pass of its own."""
    model, _, episodes = draw(family)
    seen = torch.zeros_like(episodes.log_probs)
    for part in compared(model, model.frozen_copy(), episodes, episodes.packed(), 1.0, micro_batch_size=5):
        chosen = episodes.completion_ids[part.rows][part.mask].unsqueeze(1)
        expected = episodes.log_probs[part.rows][part.mask]
        for distribution in (part.own, part.theirs):
            assert torch.allclose(distribution.gather(1, chosen)[:, 0], expected, atol=2e-5)
        assert full_kl(part.own, part.theirs).abs().max() < 1e-5
        seen[part.rows] += part.mask
    assert torch.equal(seen.bool(), episodes.mask)
    assert seen.max() == 1


def written(model, draws=uniforms, **sampling):
    """Texts of the model; with the random numbers of its batch."""
    keep = Keep(hidden=True, entropies=True, allowed=True)
    return sample(model, tiny.tokens(), PROMPTS, draws(SEEDS, 20), SamplingConfig(**sampling), keep=keep)


@pytest.fixture
def on_cpu(monkeypatch):
    """Steps are captured on a processor too, where that is a plain call of the same step."""
    monkeypatch.setattr(language_model, "CAPTURING", ("cpu",))


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("kind", ["fp32", "bf16", "noise", "cut", "steered"])
def test_captured_steps_write_what_plain_ones_write_also_after_the_weights_have_changed(family, kind, on_cpu):
    model = tiny.model(family)
    draws, cut = (TokenNoise if kind == "noise" else uniforms), ({"top_k": 3} if kind == "cut" else {})
    share, rounding = 1.0, 2e-5
    if kind == "bf16":  # whose rounding may let another token be drawn
        model.autocast, model.exact = torch.bfloat16, False
        share, rounding = 0.8, 0.05
    if kind == "steered":
        model.steer(SteeringVector(1, torch.linspace(-1, 1, model.residual_size), 2.0))
    for _ in range(2):
        plain = written(model, draws, decode="plain", **cut)
        captured = written(model, draws, **cut)
        width = min(captured.mask.shape[1], plain.mask.shape[1])
        alike = (captured.completion_ids[:, :width] == plain.completion_ids[:, :width]).all(1)
        assert alike.float().mean() >= share
        assert torch.allclose(captured.log_probs[alike, :width], plain.log_probs[alike, :width], atol=rounding)
        assert torch.allclose(captured.entropies[alike, :width], plain.entropies[alike, :width], atol=rounding)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.05)
    assert model.captured_steps.checked
    assert not model.captured_steps.why_not


def test_steps_of_a_model_that_captures_wrongly_stay_plain_and_the_run_says_so_once(on_cpu, monkeypatch):
    expected = tiny.trainer(sampling__decode="plain").collect().completions
    monkeypatch.setattr(CapturedSteps, "_compute", lambda self, inputs: torch.ones(inputs["input_ids"].shape[0], 32))
    trainer = tiny.trainer()
    assert trainer.collect().completions == expected
    assert trainer.collect().completions
    (sentence,) = trainer.warnings
    assert sentence.startswith("Texts are written in plain steps, which takes longer: a captured step was")


def test_a_model_goes_with_its_last_name_and_its_captured_steps_with_it(on_cpu):
    model = tiny.model()
    written(model)
    gone = weakref.ref(model)
    gc.disable()  # whoever lets go of a model wants its memory now
    del model
    gc.enable()
    assert gone() is None


@pytest.mark.parametrize("frozen", [False, True])
def test_weights_are_cast_once_for_all_tokens_of_a_text(frozen):
    model = tiny.model()
    model.autocast = torch.bfloat16
    model.requires_grad_(not frozen)
    counts = []
    with torch.no_grad(), model.cast_once():
        for _ in range(2):
            with torch.profiler.profile() as profile:
                model.logits(model.hidden(torch.tensor([PROMPTS[1]])))
            counts.append(sum(event.count for event in profile.key_averages() if event.key == "aten::_to_copy"))
    matrices = sum(isinstance(part, torch.nn.Linear) for part in model.modules())
    assert counts[0] - counts[1] == matrices
    assert model.trunk.layers[0].mlp.up_proj.weight.requires_grad != frozen

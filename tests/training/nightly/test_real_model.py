"""A real chat model of 135 million weights against plain transformers and peft. `make test-all` gets it; `make test`
checks the same on tiny models (test_families.py, test_sampling.py, test_prompts.py, test_trl_ppo.py)."""

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from playground.config import ModelConfig, PromptsConfig, SamplingConfig
from playground.models import real_model
from playground.training.data.random_streams import uniforms
from playground.training.loop.passes import compared
from playground.training.loop.sampling import Keep, sample
from playground.training.models import export_weights, loading
from playground.training.models.chat import PromptForm
from tests.training import tiny
from tests.training.small_run import trained
from tests.training.test_families import CPU, LORA, check_run, config, logits

QUESTIONS = ["What is the capital of France?", "Hi", "Name a colour, a river and an animal of Africa.", "Why?"]
SYSTEM = "Answer in one short sentence."
TEMPERATURE, LONGEST = 0.7, 12
EXACT = 1e-4
BF16_MEAN, BF16_MOST = 0.08, 0.5  # measured: 0.042 and 0.22


@pytest.fixture(scope="module")
def folder():
    if not real_model.is_here():
        raise real_model.absent()
    return real_model.folder()


def by_transformers(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def plain(folder):
    return by_transformers(folder)


@pytest.fixture(scope="module")
def exact(folder):
    """As we load it, in fp32."""
    return loading.load(folder, CPU)


@pytest.fixture(scope="module")
def prompts(exact):
    form = PromptForm(exact[1], PromptsConfig(template="chat", system=SYSTEM))
    return [form.ids(question) for question in QUESTIONS]


def written(model, tokens, prompts):
    sampling = SamplingConfig(temperature=TEMPERATURE, max_new_tokens=LONGEST)
    return sample(model, tokens, prompts, uniforms(range(len(prompts)), LONGEST), sampling, keep=Keep(hidden=True))


def gaps(model, plain, episodes, prompts):
    """How far the log-probs of the sampled tokens are from those of plain passes, one episode each: as the sampler
    says, and as the engine's own passes over all episodes say."""
    expected = torch.zeros_like(episodes.log_probs)
    for row, prompt in enumerate(prompts):
        completion = episodes.completion_ids[row, : int(episodes.lengths[row])]
        log_probs = tiny.plain_log_probs(plain, prompt, completion, TEMPERATURE)
        expected[row, : len(completion)] = log_probs.gather(1, completion.unsqueeze(1))[:, 0]
    own = torch.zeros_like(expected)
    for part in compared(model, model, episodes, episodes.packed(), TEMPERATURE, micro_batch_size=4):
        whole = torch.zeros_like(own[part.rows])
        whole[part.mask] = part.theirs.gather(1, episodes.completion_ids[part.rows][part.mask].unsqueeze(1))[:, 0]
        own[part.rows] = whole
    answers = {"sampler": episodes.log_probs, "passes": own}
    return {name: (log_probs - expected)[episodes.mask].abs() for name, log_probs in answers.items()}


def test_the_ids_of_a_prompt_are_those_of_the_models_own_chat_template(folder, prompts):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for question, ids in zip(QUESTIONS, prompts, strict=True):
        turns = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        assert ids == tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
    assert len({len(ids) for ids in prompts}) > 1, "the tests here need prompts of different lengths"


def test_log_probs_of_sampler_and_passes_are_those_of_plain_transformers(plain, exact, prompts):
    for gap in gaps(exact[0], plain, written(*exact, prompts), prompts).values():
        assert gap.max() < EXACT


def test_log_probs_in_bf16_are_near_those_in_fp32(plain, folder, prompts, record_property):
    model, tokens = loading.load(folder, CPU, ModelConfig(precision="bf16"))
    for name, gap in gaps(model, plain, written(model, tokens, prompts), prompts).items():
        record_property(f"bf16 {name}", f"mean {gap.mean():.4f}, most {gap.max():.4f} nats")
        assert gap.mean() < BF16_MEAN, name
        assert gap.max() < BF16_MOST, name


def test_a_fresh_adapter_changes_nothing_and_a_trained_one_is_what_peft_and_transformers_load(
    folder, plain, exact, tmp_path
):
    ids = exact[1].encode("The film was a")
    fresh, _ = loading.load(folder, CPU, ModelConfig(precision="fp32", adapter=LORA), trained=True)
    assert torch.equal(logits(fresh, ids), logits(exact[0], ids))
    settings = config(folder, tmp_path, precision="fp32", adapter=LORA)
    session = trained(tmp_path, settings)
    check_run(session, exact[0])
    now, checkpoint = logits(session.policy, ids), session.run.latest_checkpoint()
    with torch.no_grad():
        by_peft = PeftModel.from_pretrained(plain, str(checkpoint)).eval()
        assert torch.allclose(by_peft(input_ids=torch.tensor([ids])).logits, now, atol=EXACT)
        by_peft.unload()
        export_weights.save_merged(settings, checkpoint, tmp_path / "merged", "fp32")
        merged = by_transformers(tmp_path / "merged")(input_ids=torch.tensor([ids])).logits
    assert torch.allclose(merged, now, atol=1e-3)

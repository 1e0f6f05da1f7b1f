"""Every family of models trains, is saved, comes back, and pads without a trace."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken
from transformers import AutoTokenizer
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from playground.config import ModelConfig
from playground.errors import ModelNotFound
from playground.training.models import attention, loading
from playground.training.models.kv_cache import left_pad
from playground.training.models.language_model import positions
from tests.nights import cases
from tests.support import data_beside, problems_of
from tests.training import small_run, snapshots
from tests.training.small_run import trained

CPU = torch.device("cpu")
PROMPTS = ["The film was", "A book", "The phone is terrible because the", "She", "I would", "hello", "User: What", "it"]
LORA = {"kind": "lora", "r": 4, "alpha": 8}
SIZES = {"batch_size": 4, "minibatch_size": 2, "micro_batch_size": 2, "num_epochs": 2}
EVERY_WAY = [("none", True), ("lora", False), ("none", False), ("lora", True)]  # adapter, padding of its own
CASES = [(family, *way) for family in snapshots.FAMILIES for way in EVERY_WAY]
BY_DAY = [(family, *EVERY_WAY[number % 4]) for number, family in enumerate(["gpt2", "llama", "qwen2", "gemma2"])]


def config(folder, tmp_path, **model):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("\n".join(PROMPTS), encoding="utf-8")
    return small_run.config(
        model={"source": str(folder), **model},
        prompts={"source": str(prompts)},
        rewards=[{"kind": "length"}, {"kind": "pattern", "pattern": "e"}],
        sampling={"max_new_tokens": 6},
        ppo={"num_updates": 3, **SIZES, "learning_rate": 0.01, "schedule": "constant"},
        evaluation={"num_prompts": 2, "every": 3},
    )


def logits(model, ids):
    with torch.no_grad():
        return model.logits(model.hidden(torch.tensor([ids]))).float()


def check_left_padding(policy, tokens):
    """The sampler's first step on left-padded prompts against each prompt by itself."""
    prompts = [tokens.encode(text) for text in PROMPTS]
    ids, mask = left_pad(prompts, tokens.pad_id, CPU)
    with torch.no_grad():
        hidden, _ = policy.next_hidden(ids, mask, positions(mask), None)
    alone = torch.cat([logits(policy, prompt)[:, -1] for prompt in prompts])
    tolerance = 1e-4 if policy.exact else 0.1
    assert torch.allclose(policy.logits(hidden).float(), alone, atol=tolerance * float(alone.abs().max()))


def check_run(session, start):
    """It learned something, its numbers are finite, and what it saved is what it has."""
    metrics = session.run.metrics()
    assert [line.update for line in metrics] == [1, 2, 3]
    assert metrics[0].ratio_max is not None
    assert all(line.grad_norm and line.grad_norm > 0 for line in metrics)
    assert not [event for event in session.run.events() if event.kind == "warning" and "skipped" in event.message]
    ids = session.tokens.encode("The film was a")
    now = logits(session.policy, ids)
    assert not torch.allclose(now, logits(start, ids), atol=1e-3), "nothing was learned"
    assert torch.allclose(logits(session.reference, ids), logits(start, ids), atol=1e-5), "the reference moved"
    saved = session.run.latest_checkpoint()
    again, tokens = loading.load(saved, CPU, session.config.model)
    assert torch.allclose(logits(again, ids), now, atol=1e-4)
    assert tokens.encode("The film") == session.tokens.encode("The film")
    assert (saved / "critic.safetensors").is_file()
    assert not list(saved.glob("*.bin"))


@pytest.fixture
def llama(tmp_path):
    return snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=True)


@pytest.mark.parametrize(("family", "adapter", "own_pad"), cases(CASES, always=BY_DAY))
def test_a_family_trains_is_saved_and_comes_back(family, adapter, own_pad, tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", family, own_pad=own_pad)
    start, tokens = loading.load(folder, CPU)
    assert (tokens.pad_id == tokens.eos_id) is not own_pad
    check_left_padding(start, tokens)
    session = trained(tmp_path, config(folder, tmp_path, **({"adapter": LORA} if adapter == "lora" else {})))
    assert session.policy.has_adapter is (adapter == "lora")
    check_run(session, start)
    further, _ = loading.load(session.run.latest_checkpoint(), CPU, session.config.model, trained=True)
    ids = tokens.encode("A book")
    assert torch.allclose(logits(further, ids), logits(session.policy, ids), atol=1e-4), "not a start for another run"


QUANTIZED = [("int8", True), ("int8", False), ("nf4", True), ("nf4", False)]


@pytest.mark.parametrize(("quantization", "own_pad"), cases(QUANTIZED, always=[("int8", True), ("nf4", False)]))
def test_a_quantized_model_trains_its_adapter(quantization, own_pad, tmp_path):
    wide = {"hidden_size": 64, "intermediate_size": 128}  # bitsandbytes' 4 bits need whole blocks of 64 on the CPU
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=own_pad, **wide)
    settings = config(folder, tmp_path, quantization=quantization, adapter=LORA)
    start, tokens = loading.load(folder, CPU, settings.model)
    layer = type(start.trunk.layers[0].mlp.up_proj).__name__
    assert layer == {"int8": "Linear8bitLt", "nf4": "Linear4bit"}[quantization]
    check_left_padding(start, tokens)
    session = trained(tmp_path, settings)
    assert not session.policy.exact
    check_run(session, start)


@pytest.mark.parametrize("adapter", ["none", "lora"])
def test_a_run_in_bf16_computes_in_bf16_trains_in_fp32_and_starts_every_update_at_ratio_1(adapter, tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", "qwen2", own_pad=True)
    start, _ = loading.load(folder, CPU)
    session = trained(tmp_path, config(folder, tmp_path, precision="bf16", adapter={**LORA, "kind": adapter}))
    policy = session.policy
    assert {weight.dtype for weight in policy.parameters() if weight.requires_grad} == {torch.float32}
    assert policy.logits(policy.hidden(torch.tensor([[1, 2]]))).dtype == torch.bfloat16
    rollout = session.trainer.collect()
    with torch.no_grad():
        log_ratio = session.trainer.forward(rollout, torch.arange(len(rollout.episodes))).log_ratio
    assert log_ratio.abs().max() < 0.05
    assert log_ratio.abs().mean() < 0.01
    ids = session.tokens.encode("The film")
    assert torch.allclose(logits(session.reference, ids), logits(start, ids), atol=0.1)


def test_a_completion_ends_at_any_of_the_models_end_tokens_and_keeps_its_first_space(llama):
    generation = json.loads((llama / "generation_config.json").read_text())
    (llama / "generation_config.json").write_text(json.dumps({**generation, "eos_token_id": [2, 7, 9]}))
    _, tokens = loading.load(llama, CPU)
    assert sorted(tokens.ends) == [2, 7, 9]
    whole = tokens.encode("The film was slow")
    for border in range(2, len(whole)):
        text = tokens.decode(whole[:border]) + tokens.decode(whole[border:], after=whole[:border])
        assert text == "The film was slow"


@pytest.mark.parametrize(("model", "field", "sentence"), data_beside(__file__, "tables.yaml")["unfit_models"])
def test_a_model_that_cannot_be_adapted_or_quantized_is_refused(model, field, sentence, llama, tmp_path):
    (problem,) = problems_of(lambda: loading.load(llama, CPU, config(llama, tmp_path, **model).model, trained=True))
    assert problem.field == field
    assert sentence in problem.message


def test_weights_with_fewer_layers_than_the_model_says_are_refused(llama):
    shape = json.loads((llama / "config.json").read_text())
    (llama / "config.json").write_text(json.dumps({**shape, "num_hidden_layers": 3}))
    with pytest.raises(ModelNotFound, match="says 3 layers, and the weights have 2"):
        loading.load(llama, CPU)


def test_a_tokenizer_of_another_model_is_refused(llama):
    tokenizer = AutoTokenizer.from_pretrained(llama)
    tokenizer.add_tokens([AddedToken(f"<extra {number}>") for number in range(20)])
    tokenizer.save_pretrained(llama)
    with pytest.raises(ModelNotFound, match=r"<extra 4>.* have none.*They do not belong together"):
        loading.load(llama, CPU)


@pytest.mark.parametrize("wrapper", ["", "module.", "_orig_mod.module.", "pretrained_model."])
def test_a_pad_token_without_a_row_and_the_names_of_a_wrapper_do_no_harm(llama, wrapper):
    plain, tokens = loading.load(llama, CPU)
    rows = plain.model.get_input_embeddings().num_embeddings
    tokenizer = AutoTokenizer.from_pretrained(llama)
    tokenizer.add_tokens([AddedToken(f"<fill {number}>") for number in range(rows - len(tokenizer))])
    tokenizer.add_special_tokens({"pad_token": "<beyond>"})
    tokenizer.save_pretrained(llama)
    weights = load_file(llama / "model.safetensors")
    save_file(
        {wrapper + key: tensor for key, tensor in weights.items()},
        llama / "model.safetensors",
        metadata={"format": "pt"},
    )
    model, tokens = loading.load(llama, CPU)
    assert (tokenizer.pad_token_id, tokens.pad_id) == (rows, tokens.eos_id)
    ids = torch.arange(5).unsqueeze(0)
    assert torch.equal(model.logits(model.hidden(ids)), plain.logits(plain.hidden(ids)))


def heads(tokens):
    """Queries, keys and values of two episodes, four heads asking two."""
    source = torch.Generator().manual_seed(0)
    shapes = [(2, 4, tokens, 8), (2, 2, tokens, 8), (2, 2, tokens, 8)]
    return [torch.randn(*shape, generator=source).bfloat16().requires_grad_(True) for shape in shapes]


class Layer(torch.nn.Module):
    num_key_value_groups = 2
    is_causal = True


def exact(layer, *parts):
    """In float32, and rounded once."""
    with torch.autocast("cpu", enabled=False):
        output, weights = sdpa_attention_forward(layer, *(part.float() for part in parts[:3]), parts[3])
    return output.bfloat16(), weights


@pytest.mark.parametrize("padded", [False, True])
def test_attention_in_bf16_on_a_processor_is_rounded_once_and_so_are_its_gradients(padded):
    mask = torch.ones(5, 5).tril().bool().expand(2, 1, 5, 5) if padded else None
    results = []
    for attend in (attention._attention, exact):
        parts = heads(5)
        with torch.autocast("cpu", torch.bfloat16):
            output, _ = attend(Layer(), *parts, mask)
        results.append([output, *torch.autograd.grad(output.float().pow(2).sum(), parts)])
    assert {tensor.dtype for tensor in results[0]} == {torch.bfloat16}
    assert all(map(torch.equal, *results))


@pytest.mark.parametrize(("precision", "kind"), [("fp32", "sdpa"), ("bf16", attention.IN_FP32)])
def test_only_models_in_bf16_have_that_attention_and_what_is_saved_does_not_say_so(llama, tmp_path, precision, kind):
    model, _ = loading.load(llama, CPU, ModelConfig(precision=precision))
    assert model.model.config._attn_implementation == kind
    model.save(tmp_path / "saved")
    assert attention.IN_FP32 not in (tmp_path / "saved" / "config.json").read_text()

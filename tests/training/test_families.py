"""Every family of models trains, is saved, comes back, and pads without a trace."""

import json

import pytest
import torch

from playground.errors import InvalidConfig, ModelNotFound
from playground.training.models import loading
from tests.nights import cases, nightly
from tests.training import snapshots
from tests.training.model_checks import CPU, LORA, check_left_padding, check_run, config, logits, trained

EVERY_WAY = [("none", True), ("lora", False), ("none", False), ("lora", True)]  # adapter, padding of its own
CASES = [(family, *way) for family in snapshots.FAMILIES for way in EVERY_WAY]
EACH_FAMILY_ONCE = [(family, *EVERY_WAY[number % 4]) for number, family in enumerate(snapshots.FAMILIES)]


@pytest.mark.parametrize(("family", "adapter", "own_pad"), cases(CASES, always=EACH_FAMILY_ONCE))
def test_a_family_trains_is_saved_and_comes_back(family, adapter, own_pad, tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", family, own_pad=own_pad)
    start, tokens = loading.load(folder, CPU)
    assert (tokens.pad_id == tokens.eos_id) is not own_pad
    check_left_padding(start, tokens)
    session = trained(config(folder, tmp_path, **({"adapter": LORA} if adapter == "lora" else {})), tmp_path)
    assert session.policy.has_adapter is (adapter == "lora")
    check_run(session, tmp_path, start)
    further, _ = loading.load(session.run.latest_checkpoint(), CPU, session.config.model, trained=True)
    ids = tokens.encode("A book")
    assert torch.allclose(logits(further, ids), logits(session.policy, ids), atol=1e-4), "not a start for another run"


@pytest.mark.parametrize(
    ("quantization", "own_pad"), [("int8", True), nightly("int8", False), nightly("nf4", True), ("nf4", False)]
)
def test_a_quantized_model_trains_its_adapter(quantization, own_pad, tmp_path):
    wide = {"hidden_size": 64, "intermediate_size": 128}  # bitsandbytes' 4 bits need whole blocks of 64 on the CPU
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=own_pad, **wide)
    made = config(folder, tmp_path, quantization=quantization, adapter=LORA)
    start, tokens = loading.load(folder, CPU, made.model)
    layer = type(start.trunk.layers[0].mlp.up_proj).__name__
    assert layer == {"int8": "Linear8bitLt", "nf4": "Linear4bit"}[quantization]
    check_left_padding(start, tokens)
    session = trained(made, tmp_path)
    assert not session.policy.exact
    check_run(session, tmp_path, start)


def test_bf16_computes_in_bf16_trains_in_fp32_and_starts_every_update_at_ratio_1(tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", "qwen2", own_pad=True)
    start, _ = loading.load(folder, CPU)
    for adapter in ("none", "lora"):
        made = config(folder, tmp_path, precision="bf16", adapter={**LORA, "kind": adapter})
        session = trained(made, tmp_path, f"run-{adapter}")
        policy = session.policy
        trainable = [weight for weight in policy.parameters() if weight.requires_grad]
        assert {weight.dtype for weight in trainable} == {torch.float32}
        assert policy.logits(policy.hidden(torch.tensor([[1, 2]]))).dtype == torch.bfloat16
        rollout = session.trainer.collect()
        rows = torch.arange(len(rollout.episodes))
        with torch.no_grad():
            log_ratio, _, _ = session.trainer.forward(rollout, rows)
        gap = log_ratio.abs()
        assert gap.max() < 0.05
        assert gap.mean() < 0.01
        ids = session.tokens.encode("The film")
        assert torch.allclose(logits(session.reference, ids), logits(start, ids), atol=0.1)


def test_a_completion_ends_at_any_of_the_models_end_tokens_and_keeps_its_first_space(tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=True)
    generation = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**generation, "eos_token_id": [2, 7, 9]}))
    _, tokens = loading.load(folder, CPU)
    assert sorted(tokens.ends) == [2, 7, 9]
    whole = tokens.encode("The film was slow")
    for border in range(2, len(whole)):
        said = tokens.decode(whole[:border]) + tokens.decode(whole[border:], after=whole[:border])
        assert said == "The film was slow"


@pytest.mark.parametrize(
    ("model", "field", "sentence"),
    [
        ({"adapter": {**LORA, "target_modules": ["q_prj"]}}, "model.adapter.target_modules", "q_proj"),
        ({"quantization": "nf4"}, "model.quantization", "model.adapter.kind"),
    ],
)
def test_what_cannot_be_adapted_or_quantized_or_computed_on_is_refused(model, field, sentence, tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=True)
    with pytest.raises(InvalidConfig) as caught:
        made = config(folder, tmp_path, **model)
        loading.load(folder, CPU, made.model, trained=True)
    (problem,) = caught.value.problems
    assert problem.field == field
    assert sentence in problem.message
    assert loading.device_of("cpu") == CPU
    with pytest.raises(InvalidConfig, match="device: cuda:7 is not on this machine"):
        loading.device_of("cuda:7")


def test_a_tokenizer_of_another_model_and_missing_weights_are_refused(tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", "llama", own_pad=True)
    small = snapshots.snapshot(tmp_path / "small", "llama", own_pad=True, tie_word_embeddings=False)
    shape = json.loads((small / "config.json").read_text())
    (small / "config.json").write_text(json.dumps({**shape, "num_hidden_layers": 3}))
    with pytest.raises(ModelNotFound, match="says 3 layers, and the weights have 2"):
        loading.load(small, CPU)
    from tokenizers import AddedToken
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([AddedToken(f"<extra {number}>") for number in range(20)])
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelNotFound, match="They do not belong together"):
        loading.load(folder, CPU)

"""From a GGUF file to a model folder: the playground's loader has the same model as plain transformers has."""

import json

import pytest
import torch
from safetensors.torch import load_file

from playground.config import PromptsConfig
from playground.errors import ModelNotFound
from playground.models import gguf_files
from playground.training.models import gguf_conversion, loading
from playground.training.models.chat import PromptForm
from tests import gguf_made
from tests.nights import cases

CPU = torch.device("cpu")
TEXTS = ("The film was a lovely café.", "User: What is 3 plus 4?\n\nit's  kind", "<|im_start|>user\nhi<|im_end|>")


def converted(file, folder):
    folder.mkdir()
    return list(gguf_conversion.convert(file, folder))


def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits


KINDS = [("llama", kind) for kind in ("Q8_0", "F16", "BF16", "F32", "Q4_0", "Q4_1", "Q5_0", "Q5_1")]
KINDS += [("qwen2", "Q8_0"), ("qwen3", "F16")]


@pytest.mark.parametrize(("family", "kind"), cases(KINDS, always=[("llama", "Q8_0"), ("qwen2", "Q8_0")]))
def test_a_converted_file_is_the_dequantised_model(tmp_path, family, kind):
    words = "qwen2" if family.startswith("qwen") else "gpt-2"
    made, tokenizer = gguf_made.write(tmp_path / "tiny.gguf", family, kind, tied=family == "qwen2", words=words)
    answers = converted(tmp_path / "tiny.gguf", tmp_path / "tiny")
    model, tokens = loading.load(tmp_path / "tiny", CPU)
    ids = tokenizer.encode(TEXTS[0])
    assert torch.allclose(logits(model.model, ids), logits(made, ids), atol=1e-4)
    for text in TEXTS if family == "llama" else TEXTS[::2]:  # Qwen's takes each digit by itself
        assert tokens.tokenizer.encode(text) == tokenizer.encode(text)
    assert answers[0] == {"done": 0.0}
    assert answers[-1]["sha256"] == gguf_conversion.digest(load_file(tmp_path / "tiny" / "model.safetensors"))


def test_the_folder_says_nothing_of_this_machine_and_knows_its_chat(tmp_path):
    _, tokenizer = gguf_made.write(tmp_path / "tiny.gguf", fields={"general.name": "Tiny 8k"})
    folder = tmp_path / "tiny"
    converted(tmp_path / "tiny.gguf", folder)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors", ".jinja"}
    said = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.json") if path.name != "tokenizer.json")
    assert not [word for word in (str(tmp_path), "Tiny 8k", "quantization") if word in said]
    config, settings = (json.loads((folder / name).read_text()) for name in ("config.json", "tokenizer_config.json"))
    assert config["dtype"] == "bfloat16"
    assert config["rope_parameters"]["rope_theta"] == 5000.0
    assert settings["model_max_length"] == config["max_position_embeddings"] == 128
    _, tokens = loading.load(folder, CPU)
    asked = PromptForm(tokens, PromptsConfig()).ids("hello")
    template = tokenizer.apply_chat_template([{"role": "user", "content": "hello"}], add_generation_prompt=True)
    assert asked == list(template["input_ids"] if hasattr(template, "keys") else template)
    assert tokens.eos_id == tokenizer.eos_token_id


def test_a_template_that_runs_away_is_not_run_and_what_lies_beside_the_file_not_read(tmp_path):
    gguf_made.write(tmp_path / "tiny.gguf", template="{% for i in range(10**12) %}{{ i }}{% endfor %}")
    (tmp_path / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": "evil.Evil"}}', encoding="utf-8")
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    converted(tmp_path / "tiny.gguf", tmp_path / "tiny")
    assert "10**12" in (tmp_path / "tiny" / "chat_template.jinja").read_text(encoding="utf-8")


def test_a_tokenizer_of_sentencepiece_begins_its_texts(tmp_path):
    _, tokenizer = gguf_made.write(tmp_path / "tiny.gguf", words="llama")
    converted(tmp_path / "tiny.gguf", tmp_path / "tiny")
    _, tokens = loading.load(tmp_path / "tiny", CPU)
    text = "The film was slow but the ending"
    assert tokens.tokenizer.encode(text) == tokenizer.encode(text)
    assert tokenizer.encode(text)[0] == 1
    assert tokens.tokenizer.decode(tokenizer.encode(text), skip_special_tokens=True) == text


def test_a_tokenizer_that_transformers_would_read_in_another_way_is_refused(tmp_path):
    gguf_made.write(tmp_path / "tiny.gguf", "qwen2", words="gpt-2")
    with pytest.raises(ModelNotFound, match="in two ways"):
        converted(tmp_path / "tiny.gguf", tmp_path / "tiny")


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    path = tmp_path / "tiny.gguf"
    gguf_made.write(path, kind="F16")
    tensor = gguf_files.check(path).tensors["blk.1.ffn_up.weight"]
    data = bytearray(path.read_bytes())
    data[tensor.begin : tensor.begin + 2] = b"\xff\xff"
    path.write_bytes(data)
    with pytest.raises(ModelNotFound, match=r"`blk.1.ffn_up.weight` has values that are no numbers"):
        converted(path, tmp_path / "tiny")

"""From a GGUF file to a model folder: the playground's loader has the same model as plain transformers has."""

import gc
import json
import os
import struct
import time

import pytest
import torch
from gguf import GGUFReader
from safetensors.torch import load_file

from playground.config import PromptsConfig
from playground.errors import ModelNotFound
from playground.models.architectures import GGUF_TYPES
from playground.training.models import gguf_conversion, loading, time_limit
from playground.training.models.chat import PromptForm
from tests import gguf_made
from tests.gguf_made import replaced
from tests.nights import cases
from tests.support import data_beside

CPU = torch.device("cpu")
TEXTS = ("The film was a lovely café.", "User: What is 3 plus 4?\n\nit's  kind", "<|im_start|>user\nhi<|im_end|>")


def converted(file, folder):
    folder.mkdir()
    return gguf_conversion.convert(file, folder)


def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits


KINDS = [("llama", kind) for kind in ("Q8_0", "F16", "BF16", "F32", "Q4_0", "Q4_1", "Q5_0", "Q5_1")]
KINDS += [("qwen2", "Q8_0"), ("qwen3", "F16")]


@pytest.mark.parametrize(("family", "kind"), cases(KINDS, always=[("llama", "Q8_0"), ("qwen2", "Q8_0")]))
def test_a_converted_file_is_the_dequantised_model(tmp_path, family, kind):
    words = "qwen2" if family.startswith("qwen") else "gpt-2"
    source, tokenizer = gguf_made.write(tmp_path / "tiny.gguf", family, kind, tied=family == "qwen2", words=words)
    digest = converted(tmp_path / "tiny.gguf", tmp_path / "tiny")
    model, tokens = loading.load(tmp_path / "tiny", CPU)
    ids = tokenizer.encode(TEXTS[0])
    assert torch.allclose(logits(model.model, ids), logits(source, ids), atol=1e-4)
    for text in TEXTS if family == "llama" else TEXTS[::2]:  # Qwen's takes each digit by itself
        assert tokens.tokenizer.encode(text) == tokenizer.encode(text)
    assert digest == gguf_conversion.digest(load_file(tmp_path / "tiny" / "model.safetensors"))


def test_the_folder_says_nothing_of_this_machine_and_knows_its_chat(tmp_path):
    _, tokenizer = gguf_made.write(tmp_path / "tiny.gguf", fields={"general.name": "Tiny 8k"})
    folder = tmp_path / "tiny"
    converted(tmp_path / "tiny.gguf", folder)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors", ".jinja"}
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.json") if path.name != "tokenizer.json")
    assert not [word for word in (str(tmp_path), "Tiny 8k", "quantization") if word in texts]
    config, settings = (json.loads((folder / name).read_text()) for name in ("config.json", "tokenizer_config.json"))
    assert (config["dtype"], config["rope_parameters"]["rope_theta"]) == ("bfloat16", 5000.0)
    assert settings["model_max_length"] == config["max_position_embeddings"] == 128
    _, tokens = loading.load(folder, CPU)
    prompt = PromptForm(tokens, PromptsConfig()).ids("hello")
    template = tokenizer.apply_chat_template([{"role": "user", "content": "hello"}], add_generation_prompt=True)
    assert prompt == list(template["input_ids"] if hasattr(template, "keys") else template)
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
    assert (tokens.tokenizer.encode(text), tokenizer.encode(text)[0]) == (tokenizer.encode(text), 1)
    assert tokens.tokenizer.decode(tokenizer.encode(text), skip_special_tokens=True) == text


def test_a_tokenizer_that_transformers_would_read_in_another_way_is_refused(tmp_path):
    gguf_made.write(tmp_path / "tiny.gguf", "qwen2", words="gpt-2")
    with pytest.raises(ModelNotFound, match="in two ways"):
        converted(tmp_path / "tiny.gguf", tmp_path / "tiny")


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    path = tmp_path / "tiny.gguf"
    gguf_made.write(path, kind="F16")
    tensor = next(tensor for tensor in GGUFReader(path).tensors if tensor.name == "blk.1.ffn_up.weight")
    data = bytearray(path.read_bytes())
    data[tensor.data_offset : tensor.data_offset + 2] = b"\xff\xff"
    path.write_bytes(data)
    with pytest.raises(ModelNotFound, match=r"`model.layers.1.mlp.up_proj.weight` has values that are no numbers"):
        converted(path, tmp_path / "tiny")


SECONDS = 1.0


def number(value):
    return struct.pack("<I", value)


def long(value):
    return struct.pack("<Q", value)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "good.gguf"
    gguf_made.write(path)
    return path


FAULTS, UP = data_beside(__file__, "gguf_faults.yaml"), "blk.0.ffn_up.weight"


def as_bytes(part):
    """What the file of faults writes for some bytes."""
    if isinstance(part, dict):
        return b"".join(struct.pack(f"<{size}", value) for size, value in part.items())
    return part.encode() if isinstance(part, str) else b"".join(map(as_bytes, part))


def damaged(data, place, *values):
    *old, new = map(as_bytes, values)
    if isinstance(place, list):
        return data[: place[0]] + new + data[place[1] :]
    return replaced(data, place, *old, new) if place else data.replace(*old, new)


def with_list(data, entries):
    """One more setting in front of the others, a list of bytes."""
    key = long(1) + b"x" + number(9) + number(0) + long(entries)
    settings = struct.unpack_from("<Q", data, 16)[0] + 1
    return data[:16] + long(settings) + key + bytes(entries) + data[24:]


def moved(data):
    """The second tensor begins where the first does."""
    at = data.index(long(len(UP)) + UP.encode()) + 8 + len(UP) + 4 + 16 + 4
    return data[:at] + long(0) + data[at + 8 :]


MADE = {"a long list": lambda data: with_list(data, 1_000_000), "tensors upon each other": moved}


@pytest.fixture
def no_collector():
    """What earlier tests have left in this process is not collected in the time of a file."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("no_collector")
def test_a_hostile_file_is_refused_in_one_sentence_and_quickly(good, tmp_path, fault):
    words, *change = FAULTS[fault]
    data = good.read_bytes()
    path = tmp_path / "bad.gguf"
    path.write_bytes(damaged(data, *change) if change else MADE[fault](data))
    assert path.read_bytes() != data
    clock = time.thread_time()  # servers of other tests may live in this process
    with pytest.raises(ModelNotFound, match=words) as caught:
        converted(path, tmp_path / "made")
    assert time.thread_time() - clock < SECONDS
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 500


def test_what_a_stranger_s_header_and_tokenizer_take_is_limited(good, tmp_path, monkeypatch):
    path = tmp_path / "bad.gguf"
    header = with_list(good.read_bytes(), 0)
    path.write_bytes(header[:41] + long(2 * 10**9))
    os.truncate(path, 49 + 2 * 10**9)
    clock = time.process_time()
    time_limit.begin(300.0)
    try:
        with pytest.raises(ModelNotFound, match=r"more than 1\.5 GB of memory"):
            converted(path, tmp_path / "made")
    finally:
        time_limit.end()
    assert time.process_time() - clock < SECONDS


@pytest.mark.parametrize(("fields", "words"), data_beside(__file__, "gguf_lost.yaml"))
def test_a_setting_that_would_be_lost_is_refused(tmp_path, fields, words):
    path = tmp_path / "bad.gguf"
    gguf_made.write(path, fields=fields)
    with pytest.raises(ModelNotFound, match=words):
        converted(path, tmp_path / "made")


@pytest.mark.parametrize("family", GGUF_TYPES)
def test_an_epsilon_is_not_guessed(tmp_path, monkeypatch, family):
    settings, epsilon = gguf_made.settings, "attention.layer_norm_rms_epsilon"

    def without(*config):
        return {name: value for name, value in settings(*config).items() if name != epsilon}

    monkeypatch.setattr(gguf_made, "settings", without)
    gguf_made.write(tmp_path / "bad.gguf", family)
    with pytest.raises(ModelNotFound, match=rf"it lacks {family}\.{epsilon}, .*; get another file\."):
        converted(tmp_path / "bad.gguf", tmp_path / "made")

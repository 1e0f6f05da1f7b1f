"""The gate before a model is loaded, or a GGUF file converted: each fault is one sentence, quickly. What strangers put
into a folder is tried in tests/security/test_hostile_models.py."""

import json
import struct
import time

import pytest

from playground.errors import ModelNotFound
from playground.models import architectures, gguf_files, model_files
from tests import gguf_made
from tests.gguf_made import replaced
from tests.model_folders import LLAMA, NUM_WEIGHTS, SHAPES, model_folder, safetensors, write_json
from tests.support import data_beside

LOST = data_beside(__file__, "gguf_lost.yaml")
INDEX = "model.safetensors.index.json"


def test_a_folder_tells_its_measures(tmp_path):
    folder = model_folder(tmp_path / "m", _attn_implementation_autoset=True)  # a mark that transformers leaves
    write_json(folder / "tokenizer_config.json", {"chat_template": "{{ messages }}"})
    files = model_files.inspect(folder)
    assert files.architecture == architectures.Architecture("llama", 8, 2, 4, 2, 2, 16, 32, 64, True, NUM_WEIGHTS)
    assert files.chat_template


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", None, "it has no config.json"),
        ("config.json", "{", "config.json is not valid JSON"),
        ("config.json", {**LLAMA, "model_type": "bert"}, "cannot write text"),
        ("config.json", {**LLAMA, "num_hidden_layers": None}, "does not say num_hidden_layers"),
        ("tokenizer.json", None, "has no tokenizer"),
        ("model.safetensors", None, "has no weights"),
        ("model.safetensors", b"", "header too small"),
        (INDEX, {"weight_map": {"a": "1.safetensors"}}, "lacks 1 of the 1 weight"),
        (INDEX, {"weight_map": {}}, "does not say which file"),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_folder(tmp_path, name, content, message):
    path = model_folder(tmp_path / "m") / name
    if name == INDEX:  # transformers looks at it only where there is no single file
        (tmp_path / "m" / "model.safetensors").unlink()
    if content is None:
        path.unlink()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelNotFound, match=message) as caught:
        model_files.inspect(tmp_path / "m")
    assert str(tmp_path / "m") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_in_several_files_are_added_up(tmp_path):
    folder = model_folder(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    for name, shape in SHAPES.items():
        (folder / f"{name}.safetensors").write_bytes(safetensors({name: shape}, "F32", 4))
    write_json(folder / INDEX, {"weight_map": {name: f"{name}.safetensors" for name in SHAPES}})
    assert model_files.inspect(folder).architecture.parameters == NUM_WEIGHTS


def test_a_reward_model_may_be_an_encoder(tmp_path):
    folder = model_folder(tmp_path / "m", model_type="bert")
    assert model_files.inspect(folder, "reward").architecture.model_type == "bert"


SECONDS, TOKENS = 1.0, 300
HUGE = struct.pack("<Q", 2**60)


def number(value):
    return struct.pack("<I", value)


def long(value):
    return struct.pack("<Q", value)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "good.gguf"
    gguf_made.write(path)
    return path


def test_a_file_tells_its_measures_and_where_its_tensors_are(good):
    checked = gguf_files.check(good)
    model = checked.architecture
    assert (model.model_type, model.hidden_size, model.layers, model.heads, model.kv_heads) == ("llama", 32, 2, 4, 2)
    assert (model.head_size, model.intermediate_size, model.context_length, model.tied) == (8, 64, 128, False)
    assert checked.tensors["blk.0.ffn_up.weight"].shape == (64, 32)
    assert len(checked.tensors) == 2 * 9 + 3
    last = max(checked.tensors.values(), key=lambda tensor: tensor.begin)
    assert 0 <= good.stat().st_size - last.begin - last.length < 32


TYPES, UP = "tokenizer.ggml.token_type", "blk.0.ffn_up.weight"
LIST_OF_NUMBERS, LIST_OF_LISTS = number(5) + long(TOKENS), number(9) + long(TOKENS)
FAULTS = {  # words of the refusal; what is done to the file, or whose value is replaced by another
    "no GGUF": ("no GGUF file", lambda data: b"PK" + data[2:]),
    "empty": ("no GGUF file", lambda data: b""),
    "an old version": ("version 1", lambda data: data[:4] + number(1) + data[8:]),
    "only its beginning": ("damaged or cut off", lambda data: data[:2000]),
    "without its end": ("cut off: it needs", lambda data: data[:-100]),
    "endless tensors": ("1,152,921,504,606,846,976 tensors", lambda data: data[:8] + HUGE + data[16:]),
    "endless settings": ("settings, and at most", lambda data: data[:16] + HUGE + data[24:]),
    "many tensors": ("damaged or cut off|cannot be converted", lambda data: data[:8] + long(9_999) + data[16:]),
    "an endless text": ("a text in its header", lambda data: data[:24] + HUGE + data[32:]),
    "tensors upon each other": ("does not lie where", lambda data: moved(data)),
    "a strange architecture": ("architecture is `llamb`", lambda data: data.replace(b"llama", b"llamb")),
    "a tensor twice": ("twice", lambda data: data.replace(b"blk.1.ffn_up.weight", b"blk.0.ffn_up.weight")),
    "a tensor that is not known": ("lacks the tensor", lambda data: data.replace(b"blk.1.ffn_up", b"blk.1.ffn_qp")),
    "a setting twice": ("twice", lambda data: data.replace(b"ggml.bos_token_id", b"ggml.eos_token_id")),
    "an endless list": ("its lists have", TYPES, long(TOKENS), HUGE),
    "an unknown type of value": ("unknown type 77", "llama.block_count", number(4), number(77)),
    "a list of lists": ("unknown type 9", TYPES, LIST_OF_NUMBERS, LIST_OF_LISTS),
    "no heads": ("head_count: 0", "llama.attention.head_count", number(4) * 2, number(4) + number(0)),
    "endless layers": ("block_count", "llama.block_count", number(2), number(2**31)),
    "many layers": ("layers, and at most", "llama.block_count", number(2), number(9_999)),
    "more layers than tensors": ("lacks the tensor `blk.2.", "llama.block_count", number(2), number(3)),
    "another width": ("has the shape", "llama.feed_forward_length", number(64), number(96)),
    "more tokens than rows": ("300 tokens, more than the 299", "llama.vocab_size", number(304), number(299)),
    "a token that is not there": ("is number 5000", "tokenizer.ggml.eos_token_id", number(2), number(5000)),
    "an unknown type of tensor": ("of the type `4711`", UP, number(8), number(4711)),
    "a tensor of many dimensions": ("dimensions", UP, number(2), number(2**31)),
    "a tensor of endless size": ("makes no sense", UP, long(64), HUGE),
}


def moved(data):
    """The second tensor begins where the first does."""
    at = data.index(long(len(UP)) + UP.encode()) + 8 + len(UP) + 4 + 16 + 4
    return data[:at] + long(0) + data[at + 8 :]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_hostile_file_is_refused_in_one_sentence_and_quickly(good, tmp_path, fault):
    words, *change = FAULTS[fault]
    data = good.read_bytes()
    path = tmp_path / "bad.gguf"
    path.write_bytes(replaced(data, *change) if len(change) == 3 else change[0](data))
    assert path.read_bytes() != data
    clock = time.process_time()
    with pytest.raises(ModelNotFound, match=words) as caught:
        gguf_files.check(path)
    assert time.process_time() - clock < SECONDS
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 500


@pytest.mark.parametrize(("fields", "words"), LOST)
def test_a_setting_that_would_be_lost_is_refused(tmp_path, fields, words):
    path = tmp_path / "bad.gguf"
    gguf_made.write(path, fields=fields)
    with pytest.raises(ModelNotFound, match=words):
        gguf_files.check(path)


@pytest.mark.parametrize("family", gguf_files.ARCHITECTURES)
def test_an_epsilon_is_not_guessed(tmp_path, monkeypatch, family):
    settings, epsilon = gguf_made.settings, "attention.layer_norm_rms_epsilon"

    def without(*config):
        return {name: value for name, value in settings(*config).items() if name != epsilon}

    monkeypatch.setattr(gguf_made, "settings", without)
    gguf_made.write(tmp_path / "bad.gguf", family)
    with pytest.raises(ModelNotFound, match=rf"it lacks {family}\.{epsilon}, .*; get another file\."):
        gguf_files.check(tmp_path / "bad.gguf")


def test_what_is_no_file_is_said_and_what_to_give_instead(tmp_path):
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(ModelNotFound, match=r"cannot be read: .*\. Give the path of a GGUF file"):
            gguf_files.check(path)

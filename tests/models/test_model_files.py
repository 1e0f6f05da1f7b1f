"""The gate before a model is loaded: each fault is one sentence, quickly. What strangers put
into a folder is tried in tests/security/test_hostile_models.py."""

import pytest

from playground.errors import ModelNotFound
from playground.models import architectures, model_files
from tests.model_folders import LLAMA, NUM_WEIGHTS, SHAPES, model_folder, safetensors, write_json
from tests.support import data_beside

INDEX = "model.safetensors.index.json"


def test_a_folder_tells_its_measures(tmp_path):
    folder = model_folder(tmp_path / "m", _attn_implementation_autoset=True)  # a mark that transformers leaves
    write_json(folder / "tokenizer_config.json", {"chat_template": "{{ messages }}"})
    files = model_files.inspect(folder)
    assert files.architecture == architectures.Architecture("llama", 8, 2, 4, 2, 2, 16, 32, 64, True, NUM_WEIGHTS)
    assert files.chat_template


@pytest.mark.parametrize(("name", "content", "message"), data_beside(__file__, "tables.yaml")["faults"])
def test_a_fault_is_one_sentence_that_names_the_folder(tmp_path, name, content, message):
    path = model_folder(tmp_path / "m") / name
    if name == INDEX:  # transformers looks at it only where there is no single file
        (tmp_path / "m" / "model.safetensors").unlink()
    if content is None:
        path.unlink()
    elif isinstance(content, dict):
        write_json(path, content if name == INDEX else LLAMA | content)
    else:
        path.write_text(content)
    with pytest.raises(ModelNotFound, match=message) as caught:
        model_files.inspect(tmp_path / "m")
    assert str(tmp_path / "m") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_one_level_off_says_what_lies_in_it(tmp_path):
    model_folder(tmp_path / "run" / "checkpoint-9")
    with pytest.raises(ModelNotFound, match=r"A model lies in .*run/checkpoint-9: give that folder\.$"):
        model_files.inspect(tmp_path / "run")
    (tmp_path / "small.gguf").touch()
    with pytest.raises(ModelNotFound, match=r"Convert its GGUF file first: .* convert .*small\.gguf$"):
        model_files.inspect(tmp_path)


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

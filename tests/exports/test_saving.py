"""Saving the policy: it loads without us and is the same model, it is whole or not there, refusals are one sentence."""

import json
import re
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from playground import cli, errors
from playground.errors import OutputsNotWritable, ServiceUnavailable
from playground.exports import saving
from playground.setup import catalog
from playground.training.models import export_weights as weights
from playground.training.models import loading
from playground.training.models.steering_vector import SteeringVector
from tests.exports import saved_runs
from tests.support import data_beside, small_config

UNSAVED = data_beside(__file__, "tables.yaml")["unsaved"]


class InThisProcess:
    """The model service's answer to "save", without the process around it."""

    def ask(self, kind, question, timeout_seconds):
        assert kind == "save"
        yield from weights.answer(json.loads(json.dumps(question)))


def save(run, kind, target, **how):
    return saving.save(run, InThisProcess(), kind, target, **how)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One run that trained every weight and one with LoRA."""
    outputs = tmp_path_factory.mktemp("outputs")
    return {kind: saved_runs.write_run(outputs, kind, lora=kind == "lora") for kind in ("full", "lora")}


def logits_of(folder, adapter=None):
    """Of the token after a sentence, by plain transformers."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model = (PeftModel.from_pretrained(model, adapter) if adapter else model).eval()
    ids = AutoTokenizer.from_pretrained(folder)("The film was dull.", return_tensors="pt").input_ids
    with torch.no_grad():
        return model(input_ids=ids).logits[0, -1]


@pytest.mark.parametrize(("run", "kind"), [("full", "merged"), ("lora", "merged"), ("lora", "adapter")])
def test_what_is_saved_loads_in_plain_transformers_and_is_the_policy(runs, tmp_path, run, kind):
    base, as_left = catalog.model_folder(saved_runs.BASE), runs[run].latest_checkpoint()
    expected = logits_of(base, as_left) if run == "lora" else logits_of(as_left)
    folder = save(runs[run], kind, tmp_path / kind).folder
    logits = logits_of(folder) if kind == "merged" else logits_of(base, folder)
    torch.testing.assert_close(logits, expected, atol=2e-4, rtol=1e-4)
    assert float((logits_of(base) - expected).abs().max()) > 0.1, "or nothing trained would pass too"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hello"}], tokenize=False) == "hello "


def test_the_folder_is_complete_and_the_card_keeps_text_as_text(runs, tmp_path):
    saved = save(runs["lora"], "adapter", tmp_path / "adapter")
    names = {path.name for path in saved.folder.iterdir()}
    assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json", "README.md", "run.yaml"} <= names
    state = {"critic.safetensors", "optimizer.safetensors", "trainer.json", "MANIFEST.json"}
    assert not names & {*state, "config.yaml"}
    merged = save(runs["lora"], "merged", tmp_path / "merged")
    assert not {path.name for path in merged.folder.iterdir()} & state
    assert not list(saved.folder.rglob("*.bin"))
    assert not list(saved.folder.rglob("*.pt"))
    assert (saved.folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    text = (saved.folder / "README.md").read_text(encoding="utf-8")
    facts = ModelCard(text).data
    assert (facts.library_name, facts.license, facts.base_model) == ("peft", "apache-2.0", None)
    assert "Score +1.15 sd on 4 prompts" in text
    assert "3 of 3, 48 episodes each" in text
    outside = re.sub(r"^(`{3,})text\n.*?\n\1`* *$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert text.count("# not a heading") == 8
    assert "not a heading" not in outside
    assert "<script>" not in outside
    assert "\x1b" not in text


@pytest.mark.parametrize(("run", "kind", "checkpoint", "error", "words"), UNSAVED)
def test_what_cannot_be_saved_is_refused_before_any_work(runs, tmp_path, run, kind, checkpoint, error, words):
    with pytest.raises(getattr(errors, error), match=words):
        save(runs[run], kind, tmp_path / "x", checkpoint=checkpoint)
    assert not list(tmp_path.iterdir())


def test_an_older_folder_is_never_lost_by_accident_nor_by_a_failure(runs, tmp_path):
    target = tmp_path / "kept"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    with pytest.raises(OutputsNotWritable, match="not empty"):
        save(runs["full"], "merged", target)
    with pytest.raises(OutputsNotWritable, match=r"mine\.txt is a file"):
        save(runs["full"], "merged", target / "mine.txt" / "further")

    class Broken:
        def ask(self, *_):
            raise ServiceUnavailable("It ended.")
            yield

    with pytest.raises(ServiceUnavailable):
        saving.save(runs["full"], Broken(), "merged", target, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (target / "mine.txt").read_text() == "mine"
    save(runs["full"], "merged", target, replace=True)
    assert not (target / "mine.txt").exists()
    assert (target / "model.safetensors").exists()


def test_the_command_saves_through_the_model_service_and_names_the_folder_last(runs, capfd, service_here):
    run = runs["lora"]
    with pytest.raises(SystemExit) as left:
        cli.main(["save", str(run.path)])
    shown = capfd.readouterr()
    assert left.value.code == 0, shown.err
    folder = Path(shown.out.splitlines()[-1])
    assert folder == saving.default_folder(run, "adapter")
    assert (folder / "adapter_model.safetensors").is_file()
    assert "AutoPeftModelForCausalLM" in shown.err
    named = json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert named == str(catalog.model_folder(saved_runs.BASE).resolve())


def test_a_steering_vector_is_saved_beside_the_weights_with_what_applies_it(outputs, tmp_path):
    """The script, which knows nothing of us, against the shift as a bias in layer 2, put there by hand."""
    config = small_config(method="steer", model={"source": saved_runs.BASE})
    run = saved_runs.write_run(outputs, "steer", lora=False, config=config)
    checkpoint = run.latest_checkpoint()
    width = loading.load(checkpoint, torch.device("cpu"))[0].hidden_size
    vector = SteeringVector(2, torch.randn(width, generator=torch.Generator().manual_seed(0)), 3.0)
    vector.save(checkpoint)
    saved_runs.write_manifest(checkpoint)
    saved = save(run, "merged", tmp_path / "out")
    assert "steer.py" in saving.how_to_load(saved)
    assert "`steer.py`" in (saved.folder / "README.md").read_text()
    script = {"__name__": "steer"}
    exec((saved.folder / "steer.py").read_text(), script)
    scripted, by_hand, plain = (AutoModelForCausalLM.from_pretrained(saved.folder) for _ in range(3))
    script["steer"](scripted, saved.folder)
    by_hand.model.layers[1].mlp.down_proj.bias = torch.nn.Parameter(3.0 * vector.values)
    first, ids = torch.tensor([[1]]), torch.tensor([[1, 30, 40, 50]])
    with torch.no_grad():
        assert torch.allclose(scripted(first).logits, by_hand(first).logits, atol=1e-4)
        assert torch.equal(scripted(ids).logits[:, :-1], plain(ids).logits[:, :-1]), "the prompt is read as it is"
        assert not torch.allclose(scripted(ids).logits[:, -1], plain(ids).logits[:, -1], atol=1e-2)
    assert loading.load(saved.folder, torch.device("cpu"))[0].steering.strength == 3.0

"""Model folders of strangers: refused with a sentence before anything of them is deserialised, run or downloaded. What
is refused late, or does not come to an end, is in nightly/test_hostile_models.py."""

import re
import shutil
import signal
import time

import pytest
import torch
import transformers

from playground.config import ModelReward, PromptsConfig
from playground.errors import ModelNotFound
from playground.models import model_files
from playground.setup import catalog
from playground.training.models import loading, time_limit
from playground.training.models.chat import PromptForm
from playground.training.rewards import score_models
from tests.security import hostile_models
from tests.security.hostile_models import CONFIGS, FOLDERS, Hostile, build, canary, in_json

GATE_SECONDS = 2.0  # of a processor


def refusal(folder):
    """What the gate says, in the time that it may take; empty if it lets the folder through."""
    clock = time.thread_time()
    try:
        catalog.model_folder(str(folder))
        sentence = ""
    except ModelNotFound as error:
        sentence = str(error)
    assert time.thread_time() - clock < GATE_SECONDS
    return sentence


@pytest.mark.parametrize(("what", "table"), [("folders", FOLDERS), ("configurations", CONFIGS)])
def test_hostile_models_are_refused_by_file_or_field_before_anything_is_opened(what, table, tmp_path, figure):
    passed = {}
    for hostile in table:
        folder = build(hostile, tmp_path)
        sentence = refusal(folder)
        sentence = sentence.replace(str(folder), "")  # which has words too
        good = hostile.words in sentence and "\n" not in sentence and len(sentence) < 1500
        if not good or canary(folder).exists():
            passed[hostile.name] = sentence
    assert passed == {}
    figure(f"hostile model {what} refused by the gate", len(table), len(table) - len(passed))


def test_the_folder_that_all_of_them_are_made_of_is_good(tmp_path):
    folder = build(Hostile("good"), tmp_path)
    assert refusal(folder) == ""
    hostile_models.adapter(folder)
    assert refusal(folder) == ""


def test_left_overs_of_a_training_beside_good_weights_are_left_alone(tmp_path):
    folder = build(Hostile("left"), tmp_path)
    for name in ("rng_state.pth", "optimizer.pt", "scheduler.pt", "training_args.bin"):
        (folder / name).write_bytes(hostile_models.poison(folder))
    assert refusal(folder) == ""  # at night they are seen to be never opened
    (folder / "model.safetensors").unlink()
    assert "pickle file only" in refusal(folder)


def test_the_hub_s_own_links_into_its_store_are_followed(tmp_path):
    folder = tmp_path / "models--a--b" / "snapshots" / "c0ffee"
    store = tmp_path / "models--a--b" / "blobs"
    store.mkdir(parents=True)
    shutil.copytree(hostile_models.SOURCE, folder)
    for path in list(folder.iterdir()):
        path.rename(store / path.name)
        path.symlink_to(f"../../blobs/{path.name}")
    assert model_files.inspect(folder).architecture.layers == 4
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("../../../elsewhere")
    (tmp_path / "elsewhere").write_bytes((store / "model.safetensors").read_bytes())
    with pytest.raises(ModelNotFound, match="leads out of its folder"):
        model_files.inspect(folder)


@pytest.mark.parametrize("hostile", [FOLDERS[0], CONFIGS[0]], ids=["a pickle", "code"])
def test_loading_asks_again_what_the_page_has_asked_before(hostile, tmp_path):
    folder = build(hostile, tmp_path)
    for load, source in ((loading.load, folder), (score_models.load, ModelReward(source=str(folder)))):
        with pytest.raises(ModelNotFound, match=re.escape(hostile.words)):
            load(source, torch.device("cpu"))
    assert not canary(folder).exists()


def test_what_a_tokenizer_and_a_template_of_a_stranger_do_is_limited(tmp_path, monkeypatch):
    template = {"chat_template": "{{ messages[0]['content'] }}"}
    folder = build(Hostile("template", "", in_json, ("tokenizer_config.json",), template), tmp_path)
    at_work = []

    def watch(owner, name):
        usual = getattr(owner, name)

        def watched(*arguments, **options):
            at_work.append((name, signal.getitimer(signal.ITIMER_REAL)[0] > 0))
            return usual(*arguments, **options)

        monkeypatch.setattr(owner, name, watched)

    watch(transformers.AutoTokenizer, "from_pretrained")
    for name in ("__call__", "encode", "decode", "apply_chat_template"):
        watch(transformers.PreTrainedTokenizerBase, name)
    time_limit.begin(300.0)
    try:
        _, tokens = loading.load(folder, torch.device("cpu"))
        assert tokens.decode(PromptForm(tokens, PromptsConfig(template="chat")).ids("a word")) == "a word"
        assert tokens.encode("a word")
    finally:
        time_limit.end()
    assert {name for name, _ in at_work} == {"from_pretrained", "__call__", "encode", "decode", "apply_chat_template"}
    assert [name for name, limited in at_work if not limited] == []

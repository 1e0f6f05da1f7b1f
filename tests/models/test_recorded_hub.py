"""Whatever this project names of the hub passes the gate that a run passes before anything is downloaded, against a
written record of what lies there (`recorded_hub.json`, which says where each entry is from); and the measures of the
suggested models are those of the real architectures, counted in no memory at all."""

import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from bench.real_judges import LIKES
from playground.models import architectures, hub, model_files
from playground.models.architectures import CURATED
from playground.setup import catalog, checks, estimates
from playground.setup.devices import Device
from tests.nights import cases
from tests.support import PROJECT

RECORD = json.loads((Path(__file__).parent / "recorded_hub.json").read_text(encoding="utf-8"))
MODELS, REFUSED, DATASETS = RECORD["models"], RECORD["refused"], RECORD["datasets"]
SCORER = "Skywork/Skywork-Reward-V2-Qwen3-0.6B"
SUGGESTED = {model.preset: model for model in CURATED}
ONE_OF_EACH_TYPE = {model.architecture.model_type: model.preset for model in reversed(CURATED)}.values()


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """A hub that answers from the record, of which the test gets a copy to change."""
    entries = copy.deepcopy({**MODELS, **REFUSED})

    def model_info(name, **_):
        entry = entries[name]
        return SimpleNamespace(
            siblings=[SimpleNamespace(rfilename=file, size=size) for file, size in entry["files"].items()],
            sha="c" * 40,
            gated=False,
            safetensors=SimpleNamespace(total=entry["parameters"]) if entry["parameters"] else None,
            config={"chat_template_jinja": "{{ messages }}"} if entry["chat_template"] else {},
            tags=[f"license:{entry['licence']}"],
        )

    monkeypatch.setattr(hub, "_api", lambda: SimpleNamespace(model_info=model_info))
    monkeypatch.setattr(hub, "_config", lambda name, commit: entries[name]["config"])
    monkeypatch.setattr(hub, "offline", lambda: False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    hub._answered.cache_clear()
    yield entries
    hub._answered.cache_clear()


def hub_ids(config):
    here = {*catalog.shipped_reward_models(), *LIKES, "hh-judge"}  # and those that are trained first
    return {need.source for need in checks.needs(config) if catalog.is_hub_id(need.source) and need.source not in here}


def test_every_model_that_is_named_anywhere_is_in_the_record_and_the_record_names_no_others():
    """In presets and suggestions, under old names, and in any text of an owner that the record knows."""
    presets = {source for name in catalog.every_preset_name() for source in hub_ids(catalog.preset(name))}
    named = {model.name for model in CURATED} | {*hub.OLD_NAMES.values()} | presets
    owners = "|".join(sorted({re.escape(name.split("/")[0]) for name in (*MODELS, *REFUSED)}))
    in_texts = re.compile(rf"\b(?:{owners})/[A-Za-z0-9][\w.-]*\w")
    texts = [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md"), *(PROJECT / "presets").rglob("*.yaml")]
    texts += [path for kind in ("py", "csv", "js") for path in (PROJECT / "playground").rglob(f"*.{kind}")]
    named |= {name for path in texts for name in in_texts.findall(path.read_text(encoding="utf-8"))}
    assert named == {*MODELS}
    assert RECORD["about"]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_passes_the_gate_with_an_open_licence_and_a_tokenizer(name, recorded):
    entry = recorded[name]
    is_reward = name == SCORER or entry["config"]["model_type"] in ("bert", "roberta", "distilbert")
    facts = hub.facts(name, use="reward" if is_reward else "policy")
    assert facts.licence in ("apache-2.0", "mit")
    assert not facts.gated
    assert facts.architecture is not None
    assert any(all(file in entry["files"] for file in form) for form in model_files.TOKENIZER_FORMS)
    assert entry["seen"] in ("page", "memory")


@pytest.mark.parametrize("preset", SUGGESTED)
def test_what_is_said_of_a_suggestion_is_what_the_record_says(preset, recorded):
    model = SUGGESTED[preset]
    facts = hub.facts(model.name)
    assert facts.architecture == model.architecture
    assert facts.chat_template == model.chat_template
    assert facts.licence == model.licence.lower()
    assert model.help.endswith(".")
    assert facts.download_bytes == pytest.approx(model.download_mb * 1e6, rel=0.02)


@pytest.mark.parametrize("preset", cases(SUGGESTED, always=ONE_OF_EACH_TYPE))
def test_the_number_of_weights_is_that_of_the_architecture_and_fits_a_gpu(preset):
    model = SUGGESTED[preset]
    config = MODELS[model.name]["config"]
    with torch.device("meta"):
        on_no_device = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    assert sum(weight.numel() for weight in on_no_device.parameters()) == model.architecture.parameters
    assert architectures.architecture(config, model.architecture.parameters) == model.architecture
    gpu = Device("cuda:0", "NVIDIA A100", 80 * 10**9, 80 * 10**9)
    estimate = estimates.estimate(catalog.preset(model.preset), device=gpu)  # without a network
    assert estimate.download is not None
    assert (estimate.download.source, estimate.verdict) == (model.name, "fits")
    assert estimate.total_gb * 1e9 > 2 * model.architecture.parameters


@pytest.mark.usefixtures("recorded")
def test_the_exercise_fits_a_gpu_of_16_gb_and_its_reward_model_takes_what_8_bits_take():
    gpu = Device("cuda:0", "NVIDIA A4000", 16 * 10**9, int(15.5e9))
    estimate = estimates.estimate(catalog.preset("hh-rlhf-1b"), device=gpu, ask_hub=True)
    assert estimate.verdict == "fits"
    # a head of 1,024 on 28 layers of (2 x 1024 x 128 x (16 + 8) + 3 x 1024 x 3072) weights, which take a byte each
    linear = 28 * (2 * 1024 * 128 * 24 + 3 * 1024 * 3072)
    (reward,) = [role for role in estimate.roles if role.role == "reward"]
    assert reward.kinds_gb["weights"] * 1e9 == pytest.approx(linear + 2 * (596_050_944 - linear))

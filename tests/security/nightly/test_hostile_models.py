"""Hostile models are loaded. A tokenizer or template without end ends the run with the reason `model`, a question with
a sentence, and the next one is answered; others are refused, and nothing of them is opened, connected or run."""

import json
import subprocess
import sys

import pytest

from playground.config.yaml_io import from_dict
from playground.errors import ServiceUnavailable
from playground.runs import launcher
from playground.runs.model_service import ModelService
from playground.runs.supervisor import Supervisor
from tests.security import table
from tests.security.hostile_models import CONFIGS, FOLDERS, LATE, Hostile, build, canary, in_json, poison
from tests.support import PROJECT, wait_until

TABLES = table("hostile_models")
GROWING = [{"type": "Replace", "pattern": {"Regex": "."}, "content": "e" * 8}] * 12


def with_template(kind, tmp_path):
    template = {"chat_template": TABLES["templates"][kind]}
    return str(build(Hostile("template", "", in_json, ("tokenizer_config.json",), template), tmp_path))


@pytest.mark.parametrize("kind", TABLES["templates"])
def test_a_template_without_end_ends_the_run(kind, tmp_path, outputs, forked_workers):
    prompts = {"source": "typed", "typed": ["one", "two", "three"], "template": "chat"}
    config = {"model": {"source": with_template(kind, tmp_path)}, "rewards": [{"kind": "length"}], "prompts": prompts}
    run = launcher.start(from_dict(config), outputs).run
    wait_until(lambda: run.status().ended, 300)
    Supervisor(outputs).look()  # who sees the exit code
    status = run.status_on_disk()
    assert status.state == "failed"
    assert status.reason in ("model", "invalid")
    assert "template" in status.message
    assert "finish" in status.message or kind == "text"


@pytest.fixture
def service():
    service = ModelService()
    yield service
    assert [
        sample.completion for sample in service.compare("pocket-1m", "The film was", num_samples=1, max_new_tokens=4)
    ]
    service.close()


@pytest.mark.parametrize("number", range(len(TABLES["tokenizers"])))
def test_a_tokenizer_that_swells_or_breaks_off_is_a_sentence_and_the_next_question_is_answered(
    number, tmp_path, service
):
    folder, rules = build(Hostile("rules"), tmp_path), TABLES["tokenizers"][number]
    change = json.dumps(rules["change"]).replace('"growing"', json.dumps(GROWING)[1:-1])
    in_json(folder, "tokenizer.json", **json.loads(change))
    with pytest.raises(ServiceUnavailable, match=rules["words"]):
        list(service.compare(str(folder), "The film " + "a" * 60 + "b", max_new_tokens=4))


def test_the_model_service_answers_again_after_a_template_without_end(tmp_path, service, figure):
    with pytest.raises(ServiceUnavailable, match="ended unexpectedly"):
        list(service.compare(with_template("number", tmp_path), "The film was", num_samples=1, max_new_tokens=4))
    figure("endless templates noticed, in a run and in the model service", 3, 3)


def test_loading_refuses_hostile_models_too_and_opens_connects_and_runs_nothing(tmp_path, figure):
    good = build(Hostile("good"), tmp_path)
    for name in ("rng_state.pth", "optimizer.pt", "training_args.bin"):
        (good / name).write_bytes(poison(good))
    folders = [build(item, tmp_path) for item in (*FOLDERS, *CONFIGS, *LATE)]
    command = [sys.executable, "-m", "tests.security.load_hostile", str(good), *map(str, folders)]
    child = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr[-3000:]
    answers = json.loads(child.stdout.splitlines()[-1])
    assert answers.pop(f"policy {good}")["sentence"] == ""
    assert answers.pop(f"reward {good}")["seen"] == []
    for folder, answer in answers.items():
        assert answer["sentence"], folder
        assert "\n" not in answer["sentence"], folder
        assert answer["seen"] == [], folder
        assert answer["seconds"] < 30, folder
    assert not any(canary(folder).exists() for folder in (good, *folders))
    figure("hostile models and configurations loaded as policy and as reward model", len(answers), len(answers))

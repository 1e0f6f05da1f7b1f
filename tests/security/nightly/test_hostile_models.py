"""Hostile models are loaded. A tokenizer or template without end ends the run with the reason `model`, a question with
a sentence, and the next one is answered; others are refused, and nothing of them is opened, connected or run."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from playground.config import ModelReward
from playground.config.yaml_io import from_dict
from playground.errors import PlaygroundError, ServiceUnavailable
from playground.models.weight_files import PICKLES
from playground.runs import launcher
from playground.runs.model_service import ModelService
from playground.runs.supervisor import Supervisor
from playground.training.models import loading
from playground.training.rewards import score_models
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
    with pytest.raises(ServiceUnavailable, match="ended at its limit of 20 seconds"):
        list(service.compare(with_template("number", tmp_path), "The film was", num_samples=1, max_new_tokens=4))
    figure("endless templates noticed, in a run and in the model service", 3, 3)


SUSPECT = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
SUSPECT += ("pickle.find_class",)


def load_all(folders):
    """In a process of its own: load hostile folders as a worker does, and print what is said, the seconds, and what an
    audit hook saw of files that were opened, connections and programs."""
    seen, cpu = [], torch.device("cpu")

    def hook(event, arguments):
        opens = event == "open" and isinstance(arguments[0], str | bytes | os.PathLike)
        path = os.fsdecode(arguments[0]) if opens else ""
        hostile = path.endswith((*PICKLES, ".canary")) and not path.startswith(sys.prefix)
        foreign = event == "import" and arguments[0] in ("evil", "antigravity", "this")
        if event in SUSPECT or hostile or foreign:
            seen.append(f"{event} {str(arguments)[:200]}")

    sys.addaudithook(hook)
    for folder in folders:
        for kind, load, source in (
            ("policy", loading.load, Path(folder)),
            ("reward", score_models.load, ModelReward(source=folder)),
        ):
            seen.clear()
            clock, sentence = time.process_time(), ""
            try:
                load(source, cpu)
            except PlaygroundError as error:
                sentence = str(error)
            print(json.dumps([kind, folder, sentence, time.process_time() - clock, seen]), flush=True)


def test_loading_refuses_hostile_models_too_and_opens_connects_and_runs_nothing(tmp_path, figure):
    good = build(Hostile("good"), tmp_path)
    for name in ("rng_state.pth", "optimizer.pt", "training_args.bin"):
        (good / name).write_bytes(poison(good))
    folders = [good, *(build(item, tmp_path) for item in (*FOLDERS, *CONFIGS, *LATE))]
    command = [sys.executable, "-m", __name__, *map(str, folders)]
    child = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr[-3000:]
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    assert [folder for _, folder, *_ in answers[::2]] == [str(folder) for folder in folders]
    for kind, folder, sentence, seconds, seen in answers:
        assert (sentence == "") == (kind == "policy" and folder == str(good)), folder
        assert "\n" not in sentence, folder
        assert seen == [], folder
        assert seconds < 30, folder
    assert not any(canary(folder).exists() for folder in folders)
    hostile = len(answers) - 2
    figure("hostile models and configurations loaded as policy and as reward model", hostile, hostile)


if __name__ == "__main__":
    load_all(sys.argv[1:])

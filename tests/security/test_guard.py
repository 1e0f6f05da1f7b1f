"""A tokenizer, template or configuration that does not come to an end: the run ends with the reason `model`, a question
with a sentence, and the next one is answered."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from playground.config.yaml_io import from_dict
from playground.errors import ServiceUnavailable
from playground.runs import launcher
from playground.runs.folder import exit_reasons
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import ModelService
from playground.runs.supervisor import Supervisor
from playground.setup import catalog
from playground.training.models import time_limit
from tests.figures import Figure
from tests.security.guarded import REFUSED
from tests.security.hostile_models import Hostile, build, in_json, in_tokenizer
from tests.support import PROJECT, wait_until

GROWING = {"type": "Replace", "pattern": {"Regex": "."}, "content": "e" * 8}
ENDED = "1.5 GB of memory|did not finish|ended unexpectedly"  # Rust aborts where it gets no memory
ENDLESS = {"Regex": "(a+)+(a+)+(a+)+$"}


def swelling(data: dict[str, Any]) -> None:
    data.update(normalizer={"type": "Sequence", "normalizers": [GROWING] * 12})


def swelling_back(data: dict[str, Any]) -> None:
    data.update(decoder={"type": "Sequence", "decoders": [data["decoder"], *[GROWING] * 12]})


def searching(data: dict[str, Any]) -> None:
    data.update(pre_tokenizer={"type": "Split", "pattern": ENDLESS, "behavior": "Isolated", "invert": False})


TOKENIZERS = {swelling: ENDED, swelling_back: ENDED, searching: "tokenizer.*retry-limit-in-match over"}
TEMPLATES = {  # what a chat template can do that no thread of this process could break off
    "number": "{{ 10 ** (10 ** 9) }}",
    "text": "{{ messages[0]['content'].center(3000000000) }}",
    "loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}"
    "{% endfor %}",
}


def run_folder(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, catalog.preset(catalog.DEFAULT_PRESET), "guarded")


def guarded(kind: str, *folder: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.security.guarded", kind, *folder]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("kind", ["number", "loop"])
def test_a_run_that_hangs_in_a_model_ends_with_that_reason_whatever_it_hangs_in(tmp_path: Path, kind: str) -> None:
    run = run_folder(tmp_path)
    clock = time.monotonic()
    done = guarded(kind, str(run.path))
    assert done.returncode == -signal.SIGALRM and "in hang" in done.stderr, "the log says where it was"
    assert time.monotonic() - clock < 30
    assert not run.is_alive()
    reason, _ = exit_reasons.of_death(done.returncode, run.status_on_disk(), run.path)
    assert reason == "model"
    assert exit_reasons.state_after(reason) == "failed"


def test_what_takes_too_much_memory_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = guarded("memory")
    assert done.returncode == REFUSED
    assert "some/folder: it took more than 0.3 GB of memory" in done.stdout


def test_a_program_that_ends_in_time_is_left_alone_and_the_limits_end_with_it() -> None:
    assert guarded("nothing").returncode == 0


def test_nothing_is_limited_in_another_process_nor_of_what_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    with time_limit.limited("It"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    time_limit.begin()
    try:
        with time_limit.limited("It", catalog.POCKET_MODELS / "pocket-1m"):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        with time_limit.limited("It"):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 20
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        time_limit.end()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_without_end_ends_the_run_within_half_a_minute(tmp_path: Path, outputs: Path, kind: str) -> None:
    folder = build(Hostile("template", "", in_json, "tokenizer_config.json", chat_template=TEMPLATES[kind]), tmp_path)
    config = from_dict({"model": {"source": str(folder)}, "rewards": [{"kind": "length"}], "prompts": {
        "source": "typed", "typed": ["one", "two", "three"], "template": "chat"}})  # fmt: skip
    run = launcher.start(config, outputs).run
    wait_until(lambda: run.status().phase == "loading the model" or run.status().ended, 120)
    clock = time.monotonic()
    wait_until(lambda: run.status().ended, 90)
    Supervisor(outputs).look()  # who sees the exit code
    status = run.status_on_disk()
    assert status.state == "failed"
    assert status.reason in ("model", "invalid")
    assert "template" in status.message
    assert "finish" in status.message or kind == "text"
    assert time.monotonic() - clock < 60  # 30 to be noticed, and PyTorch is imported before, on a busy machine


@pytest.mark.nightly
def test_a_tokenizer_that_swells_or_breaks_off_is_a_sentence_and_the_next_question_is_answered(tmp_path: Path) -> None:
    service = ModelService()
    try:
        for edit, words in TOKENIZERS.items():
            folder = build(Hostile(edit.__name__, "", in_tokenizer, edit), tmp_path)
            with pytest.raises(ServiceUnavailable, match=words):
                list(service.compare(str(folder), "The film " + "a" * 60 + "b", max_new_tokens=4))
            good = list(service.compare("pocket-1m", "The film was", num_samples=1, max_new_tokens=4))
            assert good[0].completion
    finally:
        service.close()


@pytest.mark.nightly
def test_the_model_service_answers_again_after_a_template_without_end(tmp_path: Path, figure: Figure) -> None:
    folder = build(
        Hostile("template", "", in_json, "tokenizer_config.json", chat_template=TEMPLATES["number"]), tmp_path
    )
    service = ModelService()
    try:
        with pytest.raises(ServiceUnavailable, match="ended unexpectedly"):
            list(service.compare(str(folder), "The film was", num_samples=1, max_new_tokens=4))
        good = list(service.compare("pocket-1m", "The film was", num_samples=1, max_new_tokens=4))
        assert good[0].completion
    finally:
        service.close()
    figure("endless templates noticed, in a run and in the model service", 3, 3)

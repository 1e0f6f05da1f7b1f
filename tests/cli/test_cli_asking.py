"""What asks and makes no run: `train --estimate`, `train --try`, `score`, `show --frontier`, `generate`."""

import re
from pathlib import Path
from typing import Any

import pytest

from playground.cli import preflight_commands, run_commands
from playground.errors import ServiceUnavailable
from playground.models import real_model
from playground.runs import model_service, preflight, trial
from playground.runs.model_service import GeneratedSample, ModelService
from playground.setup import catalog
from tests.support import data_beside
from tests.ui import fake_run
from tests.ui.fake_server import FakeService

PREVIEW = data_beside(__file__, "preview.json")  # with hostile text
SCORE = ("score", "chatterbox", "--prompt", "The plot was", "--completion", "dull.")
SAMPLE = {"prompt": "Review of the film:", "completion": " The plot was dull.", "ended": True}
TRIAL = {"state": "done", "updates": 2, "seconds_per_update": 1.5, "seconds_before": 4.0, "seconds": [50.0, 90.0]}
TRIAL |= {"memory_gb": 0.61, "free_gb": 8.0, "device": "cpu", "verdict": "fits", "advice": "", "better": None}


@pytest.fixture
def asked(monkeypatch):
    """The questions that a service gets which answers at once."""
    questions: list[dict[str, Any]] = []

    def ask(self, kind, question, timeout_seconds=0):
        questions.append({"kind": kind, **question})
        if kind == "prompts":
            if question["config"]["prompts"]["column"] == "gone":
                raise ServiceUnavailable("prompts.column: mine.csv has no column `gone`; it has `id`, `line`.")
            yield PREVIEW
            return
        drawn = bool(question["reference"])
        texts, reference = {"length": [6.0] * len(question.get("texts", ()))}, {"length": [2.0, 4.0] * drawn}
        yield {"phase": "drawing 2 samples", "done": 0, "of": 2}
        yield {"names": ["length"], "texts": texts, "reference": reference, "samples": [SAMPLE] * 2 * drawn}

    monkeypatch.setattr(ModelService, "ask", ask)
    return questions


# train --estimate


def test_the_estimate_says_what_a_run_needs_before_anything_is_downloaded(run, outputs):
    shown = run("train", "gpt2", "--estimate")
    assert shown.code == 0
    assert "openai-community/gpt2, 548 MB, licence MIT" in shown.out
    assert all(role in shown.out for role in ("policy", "reference", "rollout", "libraries"))
    estimate = run("train", "kinder-reviews", "--estimate", "--set", "ppo.batch_size=32", "--json").data
    assert estimate["verdict"] in ("fits", "tight", "does not fit")
    assert estimate["download"] is None
    unknown = run("train", "gpt2", "--estimate", "--set", "model.source=someone/unknown")
    assert unknown.code == 2
    assert "someone/unknown" in unknown.err
    assert not outputs.exists()


# train --try


@pytest.fixture
def served(monkeypatch):
    """Every question of a trial is answered at once."""
    monkeypatch.setattr(preflight_commands, "ModelService", FakeService)


@pytest.fixture
def attempt(run, monkeypatch):
    """`train --try`, whose trial update comes to what is said."""

    def command(*arguments, trial_update=TRIAL):
        answers = {"state": "asking", "phase": "loading the model", "seconds": 1.0}, trial_update
        monkeypatch.setattr(trial, "make", lambda *_: iter(answers))
        return run("train", *(arguments or ("kinder-reviews",)), "--try")

    return command


def test_the_prompts_of_a_trial_are_shown_with_changes_and_a_whole_path(attempt, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("id,line\n1,ab\n")
    result = attempt("kinder-reviews", "--set", "prompts.source=mine.csv", "--set", "prompts.limit=700")
    prompts = asked[0]["config"]["prompts"]
    assert (result.code, asked[0]["kind"]) == (0, "prompts")
    assert (prompts["source"], prompts["limit"]) == (str(tmp_path / "mine.csv"), 700)
    said = ("1,200 rows", "column `line`", "700 prompts", "64 fixed", "4 to 31", "90 % at most 20", "room for 96")
    assert [words for words in (*said, PREVIEW["sentence"], "<bos>two\\nlines") if words not in result.out] == []
    assert "\x1b" not in result.out
    assert attempt("kinder-reviews", "--json").data["prompts"] == PREVIEW


@pytest.mark.usefixtures("served")
def test_the_four_parts_of_a_trial_are_printed_in_order(attempt):
    result = attempt()
    assert result.code == 0
    assert "loading the model" in result.err
    places = [result.out.index(words) for words in ("1. Model", "2. Prompts", "3. Completions", "4. Trial update")]
    assert places == sorted(places)
    assert result.out.count(" >>> ") == 8
    for words in ("1.5 s an update, 4 s before", "about 50 to 90 s", "0.61 of 8 GB free on cpu"):
        assert words in result.out


@pytest.mark.usefixtures("served")
def test_a_model_that_is_not_here_is_downloaded_by_the_trial_update_first(attempt, monkeypatch):
    monkeypatch.setattr(preflight, "about_model", lambda *_: {"here": False, "facts": [], "note": "Not here yet."})
    result = attempt()
    titles = ("1. Model", "2. Trial update", "3. Prompts", "4. Completions")
    assert [line for line in result.out.splitlines() if line in titles] == [*titles]
    assert list(attempt("kinder-reviews", "--json").data) == ["model", "prompts", "answers", "update"]


@pytest.mark.usefixtures("served")
def test_what_would_help_a_trial_that_failed_is_told_as_settings(attempt):
    better = catalog.preset("kinder-reviews").model_dump()
    better["model"]["adapter"]["kind"] = "lora"
    failed = {"state": "failed", "message": "It ran out.", "advice": "Train with LoRA.", "better": better}
    result = attempt(trial_update=failed)
    assert result.code == 1
    for words in ("It ran out.", "Train with LoRA.", "--set model.adapter.kind=lora"):
        assert words in result.out


@pytest.mark.parametrize("output", ([], ["--json"]), ids=["text", "json"])
def test_a_model_that_has_to_be_got_first_is_said_once(attempt, monkeypatch, tmp_path, output):
    monkeypatch.setenv(real_model.FOLDER_VARIABLE, str(tmp_path / "none"))
    result = attempt("real-short-answers", *output)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("is not on this machine yet") == 1
    assert "`python -m playground real-model`" in result.err


@pytest.mark.usefixtures("served")
def test_a_part_of_a_trial_that_fails_is_a_sentence_and_the_others_go_on(attempt, monkeypatch):
    def refuse(*_, **__):
        raise ServiceUnavailable("The tokenizer cannot be used.")

    monkeypatch.setattr(FakeService, "ask", refuse)
    result = attempt("kinder-reviews", "--set", "model.source=Qwen/Qwen3-0.6B")
    assert result.code == 1
    assert "HF_HUB_OFFLINE" in result.out
    assert "1.5 s an update" in result.out
    assert result.out.count("The tokenizer cannot be used.") == 2


# score, generate


def test_score_tells_each_term_and_where_the_text_stands(run, asked):
    (text,) = run(*SCORE, "--samples", "2", "--json").data["texts"]
    assert asked[0]["texts"] == [{"prompt": "The plot was", "completion": " dull."}]
    assert (text["score"], text["total"]) == (3.0, 6.0)
    assert text["terms"] == {"length": {"weight": 1.0, "value": 6.0, "value_in_sd": 3.0, "adds": 3.0}}
    printed = run(*SCORE)
    assert printed.code == 0
    assert "drawing 2 samples" in printed.err
    assert re.search(r"length\s+1\s+6\.00\s+\+3\.00\s+\+3\.00", printed.out)
    plain = run(*SCORE, "--samples", "0", "--json").data
    assert asked[-1]["reference"] is None
    assert (plain["unit"], plain["texts"][0]["score"]) == ("points", 6.0)


def test_what_was_possible_at_the_kl_is_told_once_texts_were_drawn(run, outputs, monkeypatch):
    finished = fake_run.write_run(outputs, "one", catalog.preset("kinder-reviews"))
    monkeypatch.setattr(run_commands, "ModelService", FakeService)
    before = run("show", "one", "--json").data["frontier"]
    assert [look["update"] for look in before["evaluations"]] == sorted({item.update for item in finished.samples()})
    assert (before["possible"], before["sentence"]) == (None, "")
    after = run("show", "one", "--frontier", "--json").data["frontier"]
    assert after["evaluations"] == before["evaluations"]
    assert [best["n"] for best in after["possible"]["best_of"]] == [1, 2, 4, 8, 16, 24]
    assert " ".join(after["sentence"].split()) in " ".join(run("show", "one").out.split())


def test_generate_shows_before_and_after_side_by_side(run, ended, monkeypatch):
    asked: dict[str, Any] = {}

    def compare(self, source, prompt, **options):
        asked.update(options, source=source, prompt=prompt)
        for side, score in (("reference", -0.5), ("policy", 1.25)):
            for index in range(options["num_samples"]):
                yield GeneratedSample(side, index, f" {side}-{index}", score, {}, 2.5, 2, True)

    monkeypatch.setattr(ModelService, "compare", compare)
    result = run("generate", ended.path, "--prompt", "The film was", "--n", "2", "--seed", "5")
    assert result.code == 0
    assert asked == {"source": ended.path.resolve(), "prompt": "The film was", "num_samples": 2, "seed": 5}
    rows = [line for line in result.out.splitlines() if "reference-" in line]
    assert len(rows) == 2
    for number, row in enumerate(rows):
        assert all(text in row for text in (f"reference-{number}", f"policy-{number}", "-0.50 to +1.25", "2.50"))


def test_generate_prints_json_or_fails_with_its_exit_codes(run, ended, monkeypatch):
    monkeypatch.setattr(model_service, "SERVICE_MODULE", "tests.fake_service")
    items = run("generate", ended.path, "--prompt", "count", "--n", "3", "--seed", "9", "--json").lines
    assert [(item["side"], item["index"], item["kl"]) for item in items] == [("policy", n, 1.5) for n in range(3)]
    assert all("seed 9" in item["completion"] for item in items)
    failed = run("generate", ended.path, "--prompt", "error")
    assert (failed.code, failed.err) == (2, "The prompt is longer than the context.\n")
    assert run("generate", ended.path, "--prompt", "crash").code == 1
    unknown = run("generate", "poket-2m", "--prompt", "count")
    assert unknown.code == 2
    assert "pocket-2m" in unknown.err
    assert run("generate", ended.path, "--prompt", "count", "--n", "0").code == 2

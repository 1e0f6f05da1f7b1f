"""The commands that show, list and answer, and the command line as a whole: never a traceback."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.cli.rollout_printing import FULL, HALF, bars
from playground.errors import ServiceUnavailable
from playground.runs import history, model_service
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.rollout_records import Histogram, RolloutRecord, RolloutText
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, expected
from tests.cli.conftest import Result, Run
from tests.support import small_config

SHOWN = (
    "run title note status position resumable config last_update warnings outcome headline told wrong_on_purpose "
    "sentence behaviours expected terms judges frontier lamps knee compute perplexity_text perplexity_reference"
)


def test_runs_lists_what_is_there(run: Run, ended: RunDirectory) -> None:
    lines = run("runs").out.splitlines()
    assert lines[1].split()[:7] == ["one", "finished", "2", "of", "3", "+1.50", "4.00"]
    assert lines[2].split() == ["finish"], "what it is called stands below its id"
    [item] = run("runs", "--json").data
    assert (item["id"], item["status"]["state"], item["score_last"]) == ("one", "finished", 1.0)


def test_a_runs_id_is_whole_in_a_usual_terminal(run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "kinder-reviews-20260131-101500"
    os.utime(RunDirectory.create(outputs, small_config(), name).status_path, (1, 1))  # long ago
    assert run("runs").out.splitlines()[1].split()[:2] == [name, "interrupted,"]


def test_a_place_that_cannot_be_is_refused_in_a_sentence_before_any_work(
    run: Run, ended: RunDirectory, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    asked = [
        (("runs", "--outputs", tmp_path / "file"), "file is a file. Name the folder in which runs are kept."),
        (("sweep", "list", "--outputs", tmp_path / "file"), "file is a file. Name the folder in which runs are kept."),
        (("reward-models", "--outputs", tmp_path / "file"), "file is a file. Name the folder in which runs are kept."),
        (("show", "/"), "/ is not a run folder (it has no config.yaml)."),
        (("static", tmp_path / "file"), "file is a file. Name a folder that is empty or not there yet."),
        (("static", tmp_path / "file" / "a" / "b"), "file is a file. Name a folder that is empty or not there yet."),
        (("export", "one", "--as", "tensorboard", "-o", tmp_path / "file"), "file is a file. Name a folder that is"),
        (("presets", "--set", "kl.coef=1"), "--set: changes the settings of one: name it"),
    ]
    for command in (("export", "one", "--as", "csv", "-o"), ("replay", "one", "-o"), ("import", "x.py", "-o")):
        asked.append(((*command, tmp_path / "gone" / "a"), "gone is not there. Make it first, or name another."))
        asked.append(((*command, tmp_path / "file" / "a"), "file is a file. Name a folder."))
        asked.append(((*command, tmp_path), "is a folder. Name a file in it."))
    for words, said in asked:
        result = run(*words)
        assert (result.code, result.out) == (2, "") and said in result.err, words
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "gone").exists()


def test_show_tells_everything_about_one_run(run: Run, ended: RunDirectory) -> None:
    result = run("show", "one")
    assert result.code == 0
    for text in ("finished, update 2 of 3", "1 x length", "kl.coef=0.3", "Too few prompts.", "Score +1.50 sd"):
        assert text in result.out
    item = run("show", ended.path, "--json").data
    assert set(item) == set(SHOWN.split())
    assert item["status"]["state"] == "finished"
    assert item["config"] == ended.config().model_dump(mode="json")
    assert (item["last_update"]["update"], item["warnings"]) == (2, ["Too few prompts."])
    assert (item["outcome"]["gain"], item["outcome"]["low"]) == (1.5, None)  # one prompt: no interval, so null
    ends = next(row for row in item["behaviours"] if row["name"] == "ends")
    assert ends["words"] == "ends by itself"
    assert "ends by itself" in result.out
    assert [(ends[side]["count"], ends[side]["of"]) for side in ("before", "after")] == [(1, 1), (1, 1)]


TEXT = {"prompt": "Review of the cafe", "chosen": "best", "bin": 1}


def test_an_update_is_shown_as_bars_and_texts(run: Run, ended: RunDirectory) -> None:
    texts = [RolloutText(**TEXT, completion=" \x1b[31mred [bold]x[/bold] \x07", score=1.5, kl=2.25)]
    histogram = Histogram(low=-0.5, high=1.5, counts=[1, 4])
    writer = RunWriter(ended, num_updates=3)
    for update in (1, 2):
        writer.rollout(RolloutRecord(update=update, histogram=histogram, texts=texts))
    result = run("show", "one", "--update", "2")
    lines = [line.split() for line in result.out.splitlines()]
    assert ["-0.50", "+0.50", "1", FULL * 10] in lines
    assert ["+0.50", "+1.50", "4", FULL * 40] in lines
    for words in (
        "update 2: scores of 5 texts (sd)",
        "red [bold]x[/bold]",
        "+1.50",
        "2.25",
        "--update 1 is the one before",
    ):
        assert words in result.out
    assert "\x1b" not in result.out
    assert "\x07" not in result.out
    assert result.code == 0
    item = run("show", ended.path, "--update", "1", "--json").data
    assert item["update"] == 1
    assert (item["previous"], item["next"]) == (None, 2)
    assert item["histogram"] == histogram.model_dump()
    assert item["texts"] == [text.model_dump() for text in texts]


def test_bars_of_texts_that_all_score_the_same_and_of_a_few_among_many() -> None:
    assert bars(Histogram(low=2.0, high=2.0, counts=[7])) == [("+2.00", "+2.00", "7", FULL * 40)]
    assert [row[3] for row in bars(Histogram(low=0, high=1, counts=[0, 1, 1000, 513]))] == [
        "",
        HALF,
        FULL * 40,
        FULL * 20 + HALF,
    ]


def test_an_update_of_which_nothing_is_kept_is_a_reason_and_no_traceback(run: Run, ended: RunDirectory) -> None:
    result = run("show", "one", "--update", "2")
    assert result.code == 2
    assert result.err.strip() == "This run was made before updates kept their texts."
    assert run("show", "one", "--update", "0").code == 2


def test_text_of_a_model_cannot_command_the_terminal(run: Run, ended: RunDirectory) -> None:
    result = run("show", ended.path)
    assert "\x1b" not in result.out
    assert "\x07" not in result.out
    assert "red [bold]x[/bold]" in result.out
    ended.config_path.write_text("kl: [")
    assert run("show", ended.path).code == 2


def test_a_run_is_renamed_and_what_is_not_given_stays(run: Run, ended: RunDirectory) -> None:
    assert run("rename", "one", "Third try", "--note", "half the leash").code == 0
    assert run("rename", ended.path, "Fourth").code == 0
    shown = run("show", ended.path, "--json").data
    assert (shown["title"], shown["note"]) == ("Fourth", "half the leash")
    assert "Fourth" in run("runs").out
    assert run("rename", ended.path, "x" * 81).code == 2
    assert run("rename", ended.path, "").code == 0
    assert run("show", ended.path, "--json").data["title"] == ended.config().name


def test_presets_are_listed_with_what_they_came_to_and_one_tells_what_it_counts(run: Run) -> None:
    listed = {line.partition(":")[0]: line for line in run("presets").out.splitlines()}
    assert list(listed) == catalog.preset_names()
    assert listed["yes-man"] == f"yes-man: Yes-man. {expected.line('yes-man')}"
    one = run("presets", "yes-man").out
    assert all(words in one for words in ("Expect: ", "Expected from 3 seeds", "right-claims-agreed"))
    changed = run("presets", "yes-man", "--set", "kl.coef=1", "--set", "behaviours=[polite]").out
    assert changed.startswith("Yes-man, changed: beta 1\n")
    assert "Expect" not in changed
    assert "Measured" not in changed
    assert "replies politely" in changed
    assert "repeats wrong claims" not in changed
    facts = run("presets", "yes-man", "--json").data
    assert facts["behaviours"][0] == {"name": "wrong-claims-repeated", "words": "repeats wrong claims"}
    assert facts["measured"] == expected.line("yes-man")
    assert [item["preset"] for item in run("presets", "--json").data] == catalog.preset_names()
    assert run("presets", "yes-man", "--set", "behaviours=[]").code == 0
    assert run("presets", "no-such").code == 2


# generate


def test_generate_shows_before_and_after_side_by_side(
    run: Run, ended: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def compare(self: object, source: object, prompt: str, **options: Any) -> Iterator[model_service.GeneratedSample]:
        asked.update(options, source=source, prompt=prompt)
        rest = {"scores": {}, "kl": 2.5, "tokens": 2, "ended": True}
        for side, score in (("reference", -0.5), ("policy", 1.25)):
            for index in range(options["num_samples"]):
                found = {"side": side, "index": index, "completion": f" {side}-{index}", "score": score, **rest}
                yield model_service.GeneratedSample(**found)

    monkeypatch.setattr(model_service.ModelService, "compare", compare)
    result = run("generate", ended.path, "--prompt", "The film was", "--n", "2", "--seed", "5")
    assert result.code == 0
    assert asked == {"source": ended.path.resolve(), "prompt": "The film was", "num_samples": 2, "seed": 5}
    rows = [line for line in result.out.splitlines() if "reference-" in line]
    for number, row in enumerate(rows):
        assert all(text in row for text in (f"reference-{number}", f"policy-{number}", "-0.50 to +1.25", "2.50"))
    assert len(rows) == 2


def test_generate_prints_json_or_fails_with_its_exit_codes(
    run: Run, ended: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
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


# estimate


def test_the_estimate_says_what_a_run_needs_before_anything_is_downloaded(run: Run) -> None:
    shown = run("estimate", "gpt2")
    assert shown.code == 0
    assert "openai-community/gpt2, 548 MB, licence MIT" in shown.out
    assert all(role in shown.out for role in ("policy", "reference", "rollout", "libraries"))
    found = run("estimate", "kinder-reviews", "--set", "ppo.batch_size=32", "--json").data
    assert found["verdict"] in ("fits", "tight", "does not fit")
    assert found["download"] is None
    unknown = run("estimate", "gpt2", "--set", "model.source=someone/unknown")
    assert unknown.code == 2
    assert "someone/unknown" in unknown.err


# app, pretrain, and the whole


def test_app_hands_its_settings_to_the_server(run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[dict[str, Any]] = []
    server = types.ModuleType("playground.ui.server")
    server.serve = lambda **settings: served.append(settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "playground.ui.server", server)
    assert run("app", "--port", "0", "--mode", "classroom", "--mcp").code == 0
    given = {"host": "127.0.0.1", "port": 0, "outputs": outputs, "mode": "classroom", "share": False, "mcp": True}
    assert served == [given]
    assert run("app", "--mode", "party").code == 2


def test_help_names_every_command(run: Run) -> None:
    result = run("--help")
    commands = (
        "app train estimate resume fork stop set pause step trace rename runs show presets export save push "
        "import replay static generate prompts pretrain doctor diagnose score try sweep reward-train "
        "reward-models reward-check lessons"
    )
    assert result.code == 0
    assert all(f"\n  {command} " in result.out for command in commands.split())
    assert "kinder-reviews" in run("train", "--help").out


def test_errors_from_below_never_command_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ServiceUnavailable("bad \x1b[31m\nsecond line")

    monkeypatch.setattr(history, "list_runs", fail)
    assert run("runs") == Result(1, "", "bad  [31m\nsecond line\n")

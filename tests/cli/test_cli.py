"""The commands that show and list, and the command line as a whole: never a traceback."""

import io
import json
import sys
import types
from typing import Any

import pytest

from playground import cli
from playground.cli.rollout_printing import FULL
from playground.errors import ServiceUnavailable
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.rollout_records import Histogram, RolloutRecord, RolloutText
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, expected
from tests.cli.conftest import REFUSED, Result
from tests.support import small_config

SHOWN = (
    "run title note status position resumable config last_update warnings outcome headline experiment wrong_on_purpose "
    "sentence behaviours passes expected terms judges frontier checks plateau compute perplexity_text "
    "perplexity_reference"
)


@pytest.mark.parametrize(("words", "said"), REFUSED["places"])
def test_a_place_that_cannot_be_is_refused_in_a_sentence(run, ended, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    result = run(*words.split())
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "gone").exists()


def test_a_model_that_the_hub_refuses_is_said_before_anything_starts(run, outputs, gated):
    for command, field in REFUSED["gated"]:
        result = run(*command.split(), "--set", f"{field}=someone/gated")
        assert (result.code, result.out, result.err) == (2, "", f"{field}: {gated}\n")
    assert not outputs.exists()


def test_show_says_why_a_run_ended_what_to_do_and_where_its_log_is(run, outputs):
    writer = RunWriter(RunDirectory.create(outputs, small_config(), "full"), num_updates=3)
    writer.finish("failed", "disk_full", "No space left on device.")
    said = run("show", "full").out
    for words in ("The disk is full", "No space left on device.", "Free some space.", str(outputs / "full/worker.log")):
        assert words in said.replace("\n", "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_a_terminal_has_no_letter_for_is_written_as_its_code(outputs, monkeypatch, encoding):
    RunDirectory.create(outputs, small_config(name="Ma\u00eftre \u8bc4 \U0001f600"), "one")
    for words in (["runs", "--outputs", f"{outputs}/\u8bc4\udcff"], ["runs", "--outputs", str(outputs), "--json"]):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        with pytest.raises(SystemExit) as leaving:
            cli.main(words)
        sys.stdout.flush()
        assert not leaving.value.code
        said = written.getvalue().decode(encoding)
    assert json.loads(said)[0]["title"] == "Ma\u00eftre \u8bc4 \U0001f600"


def test_runs_lists_what_is_there_and_show_tells_everything_about_one(run, ended):
    lines = run("runs").out.splitlines()
    assert lines[1].split()[:7] == ["one", "finished", "2", "of", "3", "+1.50", "4.00"]
    assert lines[2].split() == ["finish"], "what it is called stands below its id"
    [item] = run("runs", "--json").data
    assert (item["id"], item["status"]["state"], item["gain"]) == ("one", "finished", 1.5)
    result = run("show", "one")
    assert result.code == 0
    for text in ("finished, update 2 of 3", "1 x length", "kl.coef=0.3", "Too few prompts.", "Score +1.50 sd"):
        assert text in result.out
    item = run("show", ended.path, "--json").data
    assert (set(item), item["status"]["state"]) == (set(SHOWN.split()), "finished")
    assert item["config"] == ended.config().model_dump(mode="json")
    assert (item["last_update"]["update"], item["warnings"]) == (2, ["Too few prompts."])
    assert (item["outcome"]["gain"], item["outcome"]["low"]) == (1.5, None)  # one prompt: no interval, so null
    ends = next(row for row in item["behaviours"] if row["name"] == "ends")
    assert ends["words"] == "ends by itself"
    assert "ends by itself" in result.out
    assert [(ends[side]["count"], ends[side]["of"]) for side in ("before", "after")] == [(1, 1), (1, 1)]
    ended.config_path.write_text("kl: [")
    assert run("show", ended.path).code == 2


def test_an_update_is_shown_as_bars_and_texts(run, ended):
    histogram = Histogram(low=-0.5, high=1.5, counts=[1, 4])
    completion = " \x1b[31mred [bold]x[/bold] \x07"
    text = RolloutText(prompt="The cafe", chosen="best", bin=1, completion=completion, score=1.5, kl=2.25)
    writer = RunWriter(ended, num_updates=3)
    for update in (1, 2):
        writer.rollout(RolloutRecord(update=update, histogram=histogram, texts=[text]))
    result = run("show", "one", "--update", "2")
    lines = [line.split() for line in result.out.splitlines()]
    assert ["-0.50", "+0.50", "1", FULL * 10] in lines
    assert ["+0.50", "+1.50", "4", FULL * 40] in lines
    for words in ("update 2: scores of 5 texts (sd)", "red [bold]x[/bold]", "+1.50", "2.25", "--update 1 is the one"):
        assert words in result.out
    assert not {"\x1b", "\x07"} & {*result.out}
    assert (result.code, run("show", "one", "--update", "0").code) == (0, 2)
    shown = run("show", ended.path, "--update", "1", "--json").data
    assert (shown["update"], shown["previous"], shown["next"]) == (1, None, 2)
    assert (shown["histogram"], shown["texts"]) == (histogram.model_dump(), [text.model_dump()])


def test_presets_are_listed_with_what_they_came_to_and_one_tells_what_it_counts(run):
    listed = {line.partition(":")[0]: line for line in run("presets").out.splitlines()}
    assert list(listed) == catalog.preset_names()
    assert listed["yes-man"] == f"yes-man: Yes-man. {expected.line('yes-man')}"
    shown = run("presets", "yes-man").out
    assert all(words in shown for words in ("Expect: ", "Expected from 3 seeds", "right-claims-agreed"))
    changed = run("presets", "yes-man", "--set", "kl.coef=1", "--set", "behaviours=[polite]").out
    assert changed.startswith("Yes-man, changed: leash 1\n")
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


# the whole


def test_app_hands_its_settings_to_the_server(run, outputs, monkeypatch):
    served: list[dict[str, Any]] = []
    server = types.ModuleType("playground.ui.server")
    server.serve = lambda **settings: served.append(settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "playground.ui.server", server)
    assert run("app", "--port", "0", "--mode", "classroom", "--mcp").code == 0
    settings = {"host": None, "port": 0, "outputs": outputs, "mode": "classroom", "share": False, "mcp": True}
    assert served == [settings]
    assert [run(*words).code for words in ([], ["page"], ["app"])] == [0, 0, 0]
    assert served[1:] == 3 * [served[1]]
    assert run("app", "--mode", "party").code == 2


def test_errors_from_below_never_command_the_terminal(run, monkeypatch):
    def fail(*arguments, **options):
        raise ServiceUnavailable("bad \x1b[31m\nsecond line")

    monkeypatch.setattr(history, "newest_first", fail)
    assert run("runs") == Result(1, "", "bad  [31m\nsecond line\n")

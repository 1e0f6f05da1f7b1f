"""`python -m playground sweep`: what it makes, prints and leaves with."""

import pytest

from playground.exports import figures
from playground.runs import cluster, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.sweeps import sweep_record
from tests.cli.conftest import REFUSED

VARY = ("--vary", "kl.coef=0.1,0.5", "--vary", "seed=0,1", "--name", "leash")


def test_a_sweep_trains_all_and_shows_each_setting_as_the_mean_of_its_seeds(run, preset, outputs):
    result = run("sweep", preset("finish"), *VARY)
    assert (result.code, result.last_line) == (0, "leash"), result.err[-1500:]
    assert "4 of 4 done" in result.err
    rows = [line.split() for line in result.out.splitlines() if line.startswith(("0.1 ", "0.5 "))]
    assert [row[1:4] for row in rows] == [["2", "of", "2"]] * 2
    assert all(figure in result.out for figure in ("+2.00", "4.00"))
    assert "\u00b1 0.00" not in result.out
    runs = sweep_record.runs_of(outputs, sweep_record.find(outputs, "leash"))
    assert [member.config().seed for member in runs] == [0, 1, 0, 1]
    (facts,) = run("sweep", "list", "--json").data
    assert (facts["sweep"], facts["finished"], facts["vary"]) == ("leash", 4, {"kl.coef": [0.1, 0.5], "seed": [0, 1]})
    assert [line.split()[0] for line in run("sweep", "list").out.splitlines()] == ["Sweep", "leash"]
    assert "all finished" in run("sweep", preset("finish"), *VARY).err


@pytest.mark.parametrize(("arguments", "words"), REFUSED["sweep"])
def test_all_that_is_wrong_with_a_sweep_is_listed_and_no_run_made(run, preset, outputs, monkeypatch, arguments, words):
    monkeypatch.setitem(cluster.BACKENDS, "ray", ("no_such_engine", ""))
    result = run("sweep", preset("finish"), *arguments)
    assert (result.code, result.out) == (2, "")
    assert not outputs.exists()
    assert all(result.err.count(text) == 1 for text in words)


def test_more_than_the_disk_holds_is_refused_for_all_runs_together(run, preset, outputs, monkeypatch):
    monkeypatch.setattr("playground.setup.estimates.disk.free_bytes", lambda folder: 200_000_000)
    result = run("sweep", preset("finish"), *VARY)
    assert result.code == 2
    assert "All runs together" in result.err
    assert not outputs.exists()


def test_a_run_that_fails_costs_no_other_of_its_sweep_and_gives_exit_code_1(run, preset):
    result = run("sweep", preset("finish"), "--vary", "name=finish,fail", "--name", "mixed")
    assert result.code == 1
    assert "2 of 2 done; 1 failed" in result.out
    assert "mixed-2 failed: Out of memory" in result.out


def test_json_of_a_sweep_tells_what_begins_and_ends_and_the_table_at_last(run, preset, outputs):
    *lines, end = run("sweep", preset("finish"), *VARY, "--json").lines
    assert {line["type"] for line in lines} == {"progress"}
    assert lines[-1]["finished"] == 4
    assert lines[-1]["seconds_left"] == [0.0, 0.0]
    assert (end["type"], end["sweep"], end["state"], end["finished"]) == ("end", "leash", "finished", 4)
    assert end["runs"] == [str(outputs / f"leash-{number}") for number in range(1, 5)]
    assert [row["setting"] for row in end["table"]] == [{"kl.coef": 0.1}, {"kl.coef": 0.5}]
    assert end["table"][0]["score"] == {"mean": 2.0, "half": None, "units": 2}
    assert set(end["table"][0]) >= {"setting", "runs", "finished", "score", "kl", "share of: ends by itself"}


def test_a_sweep_is_left_to_itself_shown_stopped_and_taken_up_again(run, preset, outputs):
    started = run("sweep", preset("wait"), *VARY, "--no-wait")
    assert (started.code, started.out) == (0, "leash\n")
    assert len(queue.waiting(outputs)) == 3
    shown = run("sweep", "show", "leash")
    assert shown.code == 0
    assert all(words in shown.out for words in ("kl.coef 0.1, 0.5; seed 0, 1", "0 of 2"))
    stopped = run("sweep", "stop", "leash")
    assert stopped.code == 0
    assert "4 of 4 done; 4 stopped" in stopped.out
    assert run("sweep", "stop", "leash").code == 0
    members = [RunDirectory(outputs / f"leash-{number}") for number in (1, 2, 3, 4)]
    for member in members[:2]:
        member.publish(member.config().model_copy(update={"name": "finish"}))
    for member in members[2:]:
        member.status_path.write_text('{"state": "failed", "reason": "invalid"}')
    resumed = run("sweep", "resume", "leash")
    assert resumed.code == 1
    assert all(words in resumed.err for words in ("2 of 4 runs go on", "leash-3 cannot"))
    assert "4 of 4 done; 2 failed" in resumed.out


def test_a_sweep_that_is_not_there_is_exit_code_2(run):
    assert [run("sweep", command, "../../etc").code for command in ("show", "stop", "resume")] == [2, 2, 2]
    assert "There are no sweeps" in run("sweep", "list").err


def test_a_sweep_or_some_runs_are_written_as_tables_and_charts(run, preset, outputs, monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "drawn", lambda name, panels, below: {"svg": below.encode(), "pdf": b""})
    reward = ("--reward", "length", "--reward-weight", "-1")
    run("sweep", preset("finish"), "--vary", "seed=0,1", "--name", "seeds", *reward)
    assert [(one.kind, one.weight) for one in RunDirectory(outputs / "seeds-1").config().rewards] == [("length", -1)]
    written = run("sweep", "export", "seeds", "-o", tmp_path / "a")
    assert (written.code, written.last_line) == (0, str(tmp_path / "a"))
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names >= {"runs.csv", "curves.csv", "settings.yaml", "score_mean.svg", "score_mean.pdf"}
    assert "n = 2 seeds a line" in (tmp_path / "a" / "reward-and-quality-against-kl.svg").read_text()
    of_runs = run("export", "seeds-1", "seeds-2", "--as", "figures")
    assert of_runs.last_line == str(outputs / "figures" / "seeds-1-seeds-2")
    assert len((outputs / "figures" / "seeds-1-seeds-2" / "runs.csv").read_text().splitlines()) == 3
    refused = run("export", "seeds-1", "seeds-2", "--as", "csv")
    assert (refused.code, "--as csv takes one run" in refused.err) == (2, True)
    assert "at least 1 more seed" in run("sweep", "add-seeds", "seeds", "0").err
    more = run("sweep", "add-seeds", "seeds", "2")
    assert (more.code, more.last_line, "4 of 4 done" in more.err) == (0, "seeds", True)
    again = run("sweep", tmp_path / "a" / "settings.yaml", "--vary", "seed=0,1", "--name", "again")
    assert (again.code, again.last_line) == (0, "again")

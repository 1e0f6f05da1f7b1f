"""The list of runs, deleting them into the bin, and what goes when there are too many."""

import os

import pytest

from playground.analysis.run_figures import ListedRun
from playground.errors import RunBusy
from playground.runs import history, launcher, queue
from playground.runs.folder import directory
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.support import small_config, update_metrics


def ended_run(outputs, run_id, updates=2, state="finished", **status):
    """A run whose updates took one second each; `updates`: how many, or the seconds of each."""
    run = RunDirectory.create(outputs, small_config("name-of-it"), run_id)
    seconds = [1.0] * updates if isinstance(updates, int) else updates
    writer = RunWriter(run, num_updates=len(seconds))
    for number, update in enumerate(seconds, 1):
        phases = {"seconds_rollout": update / 2, "seconds_score": 0.0, "seconds_update": update / 2}
        writer.metrics(update_metrics(number, **phases, seconds=10.0 * number))
    writer.set_status(**status)
    writer.finish(state)
    return run


def test_runs_are_listed_newest_first_with_their_figures_and_what_is_no_run_is_left_out(outputs):
    ended_run(outputs, "older", started_at=1000, worked_seconds=70.0)
    ended_run(outputs, "newer", started_at=2000, updates=240)
    for name in ("empty", "broken"):
        (outputs / name).mkdir()
    (outputs / "broken" / "config.yaml").write_text("kl: [")
    (outputs / "note.txt").touch()
    newer, older = history.newest_first(outputs, ListedRun.of)
    assert [run.id for run in history.list_runs(outputs)] == ["newer", "older"]
    newer, older = newer.row, older.row
    assert (older.title, older.seed, older.curve) == ("name-of-it", 0, [0.5, 1.0])
    values = {key: figure.value for key, figure in older.figures.items()}
    assert values.pop("duration") == pytest.approx(70.0, abs=5.0)  # however long ago it was started
    settings = {"reward": "Length", "beta": 0.25, "learning_rate": 2e-4}
    assert values == {"model": values["model"], **settings, "gain": 0.5, "kl": 2.0}
    assert older.figures["gain"].note == "sd, training batch"
    assert len(newer.curve) == 24
    assert newer.curve[:2] == [0.5, 5.5]


def test_the_list_follows_what_happens_on_disk(outputs, monkeypatch):
    def listed():
        return [(item.status.state, item.row.curve[-1:]) for item in history.newest_first(outputs, ListedRun.of)]

    assert listed() == []
    run = RunDirectory.create(outputs, small_config("first"), "one")
    assert listed() == [("queued", [])]
    monkeypatch.setattr(directory, "GRACE_SECONDS", 0.0)  # no worker has come for it
    assert listed() == [("interrupted", [])]
    with launcher.take_lock(run):
        assert listed() == [("queued", [])]
        writer = RunWriter(run, num_updates=3)
        writer.metrics(update_metrics(1, score_mean=None, kl_to_reference=None))
        assert listed() == [("starting", [])]
        writer.metrics(update_metrics(2))
        writer.finish("finished")
    assert listed() == [("finished", [1.0])]
    run.write_label(" Third\ttry\n", "half the leash")
    (summary,) = history.newest_first(outputs, ListedRun.of)
    assert summary.row[:3] == ("one", "Third try", "half the leash")
    assert history.list_runs(outputs)[0].title == "Third try"


def test_a_deleted_run_goes_into_the_bin_and_the_bin_can_be_emptied(outputs):
    target = history.delete_run(ended_run(outputs, "one"))
    assert history.list_runs(outputs) == []
    assert (target / "config.yaml").is_file()
    living = ended_run(outputs, "one")  # the same id again
    with launcher.take_lock(living), pytest.raises(RunBusy):
        living.status_path.unlink()
        history.delete_run(living)
    history.delete_run(living)
    assert history.empty_bin(outputs) == 2
    assert not target.exists()
    assert history.empty_bin(outputs) == 0


def placed(outputs, *names):
    """Ended runs of 100,000 bytes each, the first the oldest."""
    runs = [ended_run(outputs, name) for name in names]
    for age, run in enumerate(reversed(runs)):
        (run.path / "weights").write_bytes(b"")
        os.truncate(run.path / "weights", 100_000 - sum(path.stat().st_size for path in run.path.rglob("*.*")))
        os.utime(run.status_path, (1e9 - age, 1e9 - age))
    return runs


def ids(outputs):
    return sorted(path.parent.name for path in outputs.glob("*/config.yaml"))


def test_of_more_runs_than_are_kept_the_bin_goes_first_and_then_the_oldest(outputs):
    history.delete_run(placed(outputs, "a", "b", "c", "d", "e")[4])
    assert history.keep_newest(outputs, 5, 10**9) == []
    assert len(list((outputs / ".bin").iterdir())) == 1
    assert history.keep_newest(outputs, 4, 10**9) == []
    assert len(list((outputs / ".bin").iterdir())) == 0
    assert ids(outputs) == ["a", "b", "c", "d"]
    assert history.keep_newest(outputs, 3, 10**9) == ["a"]
    assert history.keep_newest(outputs, 99, 301_000) == []
    assert history.keep_newest(outputs, 99, 201_000) == ["b"]
    assert ids(outputs) == ["c", "d"]
    assert list((outputs / ".bin").iterdir()) == []


def test_what_lives_or_waits_or_is_the_reference_of_such_a_run_is_kept(outputs, tmp_path):
    placed(outputs, "gone", "reference", "living", "waiting", "linked")
    (outputs / "linked").rename(tmp_path / "elsewhere")
    (outputs / "linked").symlink_to(tmp_path / "elsewhere")
    (outputs / "reward-models").mkdir()
    named = RunDirectory.create(outputs, small_config(reference={"source": "reference/update-000040"}), "names-it")
    waiting = RunDirectory(outputs / "waiting")
    waiting.queue_again(waiting.status(), 3)
    queue.enter(waiting, "cpu", attempt=waiting.status_on_disk().attempt)
    with launcher.take_lock(RunDirectory(outputs / "living")), launcher.take_lock(named):
        assert history.keep_newest(outputs, 0, 0) == ["gone"]
        assert ids(outputs) == ["linked", "living", "names-it", "reference", "waiting"]
        assert (tmp_path / "elsewhere" / "config.yaml").is_file()
        assert (outputs / "reward-models").is_dir()


def test_how_long_finished_runs_took_is_known_from_the_newest_few(outputs, monkeypatch):
    """The first update warms up, and an average would be moved by one that stood still."""
    assert history.finished_runs(outputs) == []
    seconds = {"older": [9.0, 2.0, 2.0], "newer": [9.0, 3.0, 1.0, 50.0], "short": [9.0, 1.0], "broken": [9.0, 1.0, 1.0]}
    runs = [ended_run(outputs, name, updates=updates) for name, updates in seconds.items()]
    runs.append(ended_run(outputs, "stopped", updates=[9.0, 1.0, 1.0], state="stopped"))
    for number, run in enumerate(runs):
        os.utime(run.status_path, (1000 + number, 1000 + number))
    (outputs / "broken" / "config.yaml").write_bytes(b"\x00{")
    (outputs / "no-run").mkdir()
    assert [(took.update, took.run) for took in history.finished_runs(outputs)] == [(3.0, 40.0), (2.0, 30.0)]
    monkeypatch.setattr(history, "MOST_TIMED", 4)  # the newest of all, whatever they are
    assert [took.update for took in history.finished_runs(outputs)] == [3.0]

"""One real update before a run: its figures, that nothing else of it stays, and every way in which it can end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest

from playground import cli
from playground.cli import health
from playground.config import yaml_io
from playground.errors import InvalidConfig, RunBusy
from playground.runs import history, trial
from playground.runs.folder import heartbeat, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher, queue
from playground.runs.supervisor import Supervisor
from playground.setup import catalog, devices, estimates
from playground.setup.devices import Device
from tests.forking import Forker
from tests.support import PROJECT, has_ended, kill_worker, small_config, wait_until

QUICK = {
    "model": {"source": "pocket-1m"},
    "ppo": {"num_updates": 30, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8},
    "sampling": {"max_new_tokens": 4},
}


def silent(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker that holds the lock and does nothing else."""
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),), start_new_session=True
    )
    launcher.name_worker(run, process.pid)
    return process


def test_a_trial_measures_a_real_update_and_leaves_no_run(outputs: Path, forker: Forker) -> None:
    config = small_config("mine", **QUICK)
    steps = trial.make(config, outputs, forker.spawn)
    first = next(steps)
    assert first["state"] == "asking" and RunDirectory(outputs / launcher.TRIAL).is_alive()
    assert history.list_runs(outputs) == [] and launcher.living_runs(outputs) == []
    *_, told = steps
    assert told["state"] == "done" and 1 <= told["updates"] < 30  # ended as soon as it is seen, long before its end
    assert 0 < told["seconds_per_update"] < 60 and 0.1 < told["memory_gb"] < 3
    assert told["seconds"][0] < 30 * told["seconds_per_update"] * 2 and told["verdict"] == "fits"
    assert told["advice"] == "" and told["better"] is None
    assert not (outputs / launcher.TRIAL).exists() and history.list_runs(outputs) == []
    found = estimates.estimate(config, outputs, finished=history.finished_runs(outputs))
    assert found.measured and found.total == pytest.approx(told["memory_gb"] * 1e9)
    assert found.seconds == pytest.approx(told["seconds"])
    other = small_config("mine", **{**QUICK, "sampling": {"max_new_tokens": 8}})
    again = estimates.estimate(other, outputs, finished=history.finished_runs(outputs))
    assert not again.measured and again.seconds  # the time is scaled, the memory reckoned


def test_what_a_run_is_called_and_how_it_learns_does_not_make_it_another_for_the_memory(outputs: Path) -> None:
    tried = estimates.Finished(small_config("a", **QUICK), 1.0, None, 5e8)
    for changes, same in (({"kl": {"coef": 3}}, True), ({"model": {"source": "pocket-2m"}}, False)):
        found = estimates.estimate(small_config("b", **{**QUICK, **changes}), outputs, finished=[tried])
        assert (found.measured, found.total == 5e8) == (same, same)


def test_who_stops_asking_ends_the_trial(outputs: Path) -> None:
    steps = trial.make(small_config(), outputs, silent)
    assert next(steps)["phase"] == "starting"
    run = RunDirectory(outputs / launcher.TRIAL)
    pid = run.status_on_disk().pid
    steps.close()
    assert has_ended(pid) and not run.path.exists()


def test_a_trial_that_somebody_ends_says_so(outputs: Path) -> None:
    assert launcher.end_trial(outputs) is False
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    assert launcher.end_trial(outputs) is True
    *_, told = steps
    assert (told["state"], told["message"]) == ("stopped", trial.ENDED)


def maker_of(outputs: Path, name: str) -> subprocess.Popen[str]:
    """A program that makes a trial, whose worker is one by script, and tells each step."""
    script = (
        "import signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # under nohup it would be ignored
        "from playground.runs import trial; from playground.runs.start import launcher\n"
        "from tests.support import small_config\n"
        "launcher.WORKER_MODULE = 'tests.faults.scripted_worker'\n"
        "for told in trial.make(small_config(sys.argv[2]), Path(sys.argv[1])): print(told, flush=True)\n"
    )
    return subprocess.Popen([sys.executable, "-c", script, str(outputs), name], cwd=PROJECT, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, start_new_session=True)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "how"),
    [("listening", signal.SIGHUP), ("listening", signal.SIGKILL), ("deaf-loading", signal.SIGKILL)],
)
def test_a_trial_dies_with_its_maker_and_is_cleared_away(outputs: Path, name: str, how: signal.Signals) -> None:
    run = RunDirectory(outputs / launcher.TRIAL)
    with maker_of(outputs, name) as maker:
        wait_until(lambda: run.path.exists() and heartbeat.read(run.path))
        pid = run.status().pid
        Supervisor(outputs).look()
        assert not has_ended(pid), "it is being made"
        maker.send_signal(how)
    wait_until(lambda: has_ended(pid), 15)
    assert run.path.exists()
    Supervisor(outputs).look()
    assert not run.path.exists()


@pytest.mark.parametrize("who", ["supervisor", "doctor", "the next trial"])
def test_a_trial_that_lives_without_a_maker_is_ended(
    outputs: Path, who: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    run = RunDirectory(outputs / launcher.TRIAL)
    pid = run.status_on_disk().pid
    (run.path / trial.MAKER_LOCK).unlink()  # as if it were of a maker that is gone
    if who == "the next trial":
        others = trial.make(small_config(), outputs, silent)
        assert next(others)["state"] == "asking" and run.status_on_disk().pid != pid
        others.close()
    elif who == "supervisor":
        Supervisor(outputs).look()
        assert "A trial update, whose maker is gone, was ended and taken away." in capfd.readouterr().err
    else:
        monkeypatch.setattr(health, "examine", health._outputs)
        with pytest.raises(SystemExit):
            cli.main(["doctor", "--outputs", str(outputs)])
        assert "none under way" in capfd.readouterr().out
    assert has_ended(pid) and not run.path.exists()
    steps.close()


def test_a_trial_that_is_under_way_is_told_by_doctor(outputs: Path) -> None:
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    pid = RunDirectory(outputs / launcher.TRIAL).status_on_disk().pid
    (found,) = [check for check in health._outputs(outputs) if check.name == "trial update"]
    assert (found.level, found.found) == ("ok", f"one is under way (process {pid}, queued)")
    steps.close()


def test_the_process_of_a_trial_is_bounded_in_updates_and_in_time(outputs: Path) -> None:
    config = small_config("mine", ppo={"num_updates": 200}, max_minutes=10_000)
    steps = trial.make(config, outputs, silent)
    next(steps)
    tried = RunDirectory(outputs / launcher.TRIAL).config()
    assert tried.ppo.num_updates == 3 and tried.max_minutes == 30 and not tried.checkpoint.every
    assert [tried.evaluation.is_traced(update, 3) for update in (1, 2, 3)] == [True, False, False]
    steps.close()


@pytest.mark.parametrize("way", ["start", "resume", "queue"])
def test_whoever_begins_to_train_ends_the_trial(outputs: Path, fake_worker: None, way: str) -> None:
    ended = RunDirectory.create(outputs, small_config("wait"), "ended")
    writer.write_end(ended, ended.status_on_disk(), "stopped", "stopped", "Stopped after update 1.")
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    if way == "queue":
        waiting = RunDirectory.create(outputs, small_config("wait"), "waiting")
        queue.enter(waiting, "cpu", attempt=1)
        (run,) = launcher.start_waiting(outputs)
    elif way == "resume":
        run = launcher.resume(ended).run
    else:
        run = launcher.start(small_config("wait"), outputs, "new").run
    assert not RunDirectory(outputs / launcher.TRIAL).is_alive() and run.is_alive()
    *_, told = steps
    assert (told["state"], told["message"]) == ("stopped", trial.ENDED)
    kill_worker(run)


def test_only_one_trial_and_none_beside_a_run(outputs: Path, fake_worker: None) -> None:
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    with pytest.raises(RunBusy, match="Another trial"):
        next(trial.make(small_config(), outputs, silent))
    steps.close()
    run, _ = launcher.start(small_config("wait"), outputs, "trains")
    with pytest.raises(RunBusy, match="The run trains trains or waits on"):
        next(trial.make(small_config(), outputs, silent))
    kill_worker(run)
    wait_until(lambda: not run.is_alive())
    (outputs / launcher.TRIAL).mkdir()  # of a server that died in the middle of one
    steps = trial.make(small_config(), outputs, silent)
    assert next(steps)["state"] == "asking"
    steps.close()


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [("fail-at-once", "failed", "Halve"), ("crash-at-once", "failed", "did not say why. It said: last words")],
)
def test_a_worker_that_fails_or_dies_is_told_in_words(outputs: Path, name: str, state: str, words: str) -> None:
    script = {
        "fail-at-once": "RunWriter(run, 3).finish('failed', 'out_of_memory', 'Out of memory. Halve the batch.')",
        "crash-at-once": "import os; print('last words', flush=True); os._exit(9)",
    }[name]

    def spawn(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        setup = (
            "from playground.runs.folder.directory import RunDirectory\n"
            "from playground.runs.folder.writer import RunWriter\n"
            f"run = RunDirectory({str(run.path)!r})\n"
        )
        with open(run.log_path, "wb") as log:
            return subprocess.Popen([sys.executable, "-c", setup + script], pass_fds=(lock.fileno(),), stdout=log)

    *_, told = trial.make(small_config(), outputs, spawn)
    assert told["state"] == state and words in told["message"]
    assert not (outputs / launcher.TRIAL).exists() and trial.timed(outputs) == []


def test_the_time_before_the_first_update_is_that_of_a_run_which_measures_more_of_the_reference(outputs: Path) -> None:
    def spawn(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        script = (
            "import time\n"
            "from playground.runs.folder.directory import RunDirectory\n"
            "from playground.runs.folder.writer import RunWriter\n"
            "from tests.support import update_metrics\n"
            f"writer = RunWriter(RunDirectory({str(run.path)!r}), 3)\n"
            "writer.set_status(phase='measuring the reference')\n"
            "time.sleep(1)\n"
            "writer.event('score_scale', samples=32)\n"
            "writer.set_status(state='running', phase='training')\n"
            "for number in (1, 2): writer.metrics(update_metrics(number))\n"
            "time.sleep(60)\n"
        )
        return subprocess.Popen(
            [sys.executable, "-c", script], cwd=PROJECT, pass_fds=(lock.fileno(),), start_new_session=True
        )

    begun = time.monotonic()
    *_, told = trial.make(small_config(), outputs, spawn)
    assert told["state"] == "done" and told["seconds_before"] > time.monotonic() - begun + 3


def test_where_memory_is_short_the_mildest_change_that_helps_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: [Device("cpu", "Processor", 4 * 10**9, int(3.2e9))])
    sentence, better = estimates.remedy(catalog.preset("gpt2"))
    assert sentence.startswith("Train with LoRA") and better is not None and better.model.adapter.kind == "lora"


@pytest.mark.parametrize("changes", [{"model": {"source": "nobody/nothing"}}, {"device": "cuda:77"}])
def test_what_cannot_be_started_cannot_be_tried(outputs: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig):
        next(trial.make(small_config(**changes), outputs, silent))
    assert not (outputs / launcher.TRIAL).exists()


def test_trials_of_settings_that_are_no_more_are_left_out(outputs: Path) -> None:
    outputs.mkdir()
    kept = trial.Trial(config=small_config().model_dump(mode="json"), update_seconds=1.5, memory_bytes=7)
    old = trial.Trial(config={"rewards": [{"kind": "gone"}]}, update_seconds=1.0)
    (outputs / trial.FILE).write_text(trial.Trials(trials=(old, kept)).model_dump_json())
    assert trial.timed(outputs) == [estimates.Finished(yaml_io.from_dict(kept.config), 1.5, None, 7)]
    (outputs / trial.FILE).write_text("[")
    assert trial.timed(outputs) == []

"""The command line: exit codes, what goes to stdout, and messages that say what to do; never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playground import __version__, cli
from playground.cli import following, health
from playground.cli.health import Check
from playground.config import yaml_io
from playground.errors import ModelNotFound, ServiceUnavailable
from playground.runs import history, model_service
from playground.runs.end import processes
from playground.runs.folder import heartbeat
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter, write_end
from playground.runs.start import launcher
from playground.setup import catalog, checks, devices, expected, telling
from playground.sources import hub
from tests.model_folders import hub_cache, model_folder
from tests.support import PROJECT, kill_worker, sample, small_config, update_metrics, wait_until


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fake_worker: None) -> Run:
    """Runs one command in this process and returns exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("NO_COLOR", "1")

    def run_command(*arguments: str | Path) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        code = leaving.value.code
        return Result(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run_command


@pytest.fixture
def preset(tmp_path: Path) -> Callable[[str], Path]:
    """A YAML file whose run does what the name says (see tests/fake_worker.py)."""

    def write(name: str) -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(small_config(name).to_yaml())
        return path

    return write


Preset = Callable[[str], Path]


# train


def test_train_finishes_with_a_table_and_the_run_folder_last(run: Run, preset: Preset, outputs: Path) -> None:
    result = run("train", preset("finish"), "--outputs", outputs, "--run-id", "one")
    assert result.code == 0
    assert result.last_line == str(outputs / "one")
    # gains 1.0 and 3.0: mean 2.0, sd 1.414, half-width 12.706 (Student's t for two prompts)
    assert "Score +2.00 sd on 2 prompts, 95 % interval -10.71 to +14.71; 4.0 nats from" in result.out
    assert result.out.index("+0.50 to +3.50") < result.out.index("+0.00 to +1.00")  # the largest gain first
    assert "update 3 of 3  training batch: score +1.50  KL 3.00 nats" in result.err
    assert RunDirectory(outputs / "one").config() == small_config("finish")


def test_train_takes_a_presets_name_and_settings(run: Run, outputs: Path) -> None:
    result = run("train", "kinder-reviews", "--set", "name=finish", "--set", "kl.coef=3e-1", "--outputs", outputs)
    assert result.code == 0
    config = RunDirectory(result.last_line).config()
    assert (config.kl.coef, config.name) == (0.3, "finish")
    assert config.rewards == catalog.preset("kinder-reviews").rewards


def test_train_json_is_one_object_per_line_for_programs(run: Run, preset: Preset, outputs: Path) -> None:
    result = run("train", preset("finish"), "--outputs", outputs, "--run-id", "one", "--json")
    *updates, end = [json.loads(line) for line in result.out.splitlines()]
    assert (result.code, result.err) == (0, "")
    assert [(item["type"], item["update"], item["score_mean"]) for item in updates] == [
        ("update", 1, 0.5),
        ("update", 2, 1.0),
        ("update", 3, 1.5),
    ]
    assert (end["type"], end["run"], end["state"]) == ("end", str(outputs / "one"), "finished")
    assert (end["outcome"]["gain"], end["outcome"]["num_prompts"]) == (2.0, 2)
    assert {"name", "words", "before", "after"} <= set(end["behaviours"][0])


def test_a_failed_run_exits_1_with_its_reason_and_where_its_log_is(run: Run, preset: Preset, outputs: Path) -> None:
    result = run("train", preset("fail"), "--outputs", outputs, "--run-id", "one")
    assert result.code == 1
    assert "Out of memory. Halve the batch." in result.err
    assert f"Its log is {outputs / 'one' / 'worker.log'}." in result.err
    assert "fake worker's last words" not in result.err  # the reason says all
    assert result.last_line == str(outputs / "one")


def test_a_worker_that_dies_exits_1(run: Run, preset: Preset, outputs: Path) -> None:
    result = run("train", preset("crash"), "--outputs", outputs, "--json")
    assert result.code == 1
    assert "The end of " in run("train", preset("crash"), "--outputs", outputs).err  # where the cause may stand
    end = json.loads(result.last_line)
    assert (end["state"], end["reason"], end["outcome"]) == (
        "failed",
        "bug",
        None,
    )  # it left by itself with exit code 9


def test_a_model_that_the_hub_refuses_exits_2_before_there_is_a_run(
    run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise ModelNotFound("someone/gated is closed: ask for access on its page.")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(hub, "facts_kept", refuse)
    asked = ("kinder-reviews", "--set", "model.source=someone/gated", "--outputs", outputs)
    told = "model.source: someone/gated is closed: ask for access on its page.\n"
    for command in (["train", *asked], ["sweep", "start", *asked, "--vary", "seed=1,2"]):
        result = run(*command)
        assert (result.code, result.out, result.err) == (2, "", told)
    assert not outputs.exists()


def test_an_invalid_configuration_exits_2_and_lists_every_error(run: Run, outputs: Path) -> None:
    result = run("train", "kinder-reviews", "--set", "kl.coef=-1", "--set", "ppo.gama=1", "--outputs", outputs)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [
        "ppo.gama: There is no such setting. Did you mean `gamma`?",
        "kl.coef: must be at least 0 (got -1).",
    ]
    assert not outputs.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kinder-review"], "preset: There is no preset `kinder-review`. Did you mean `kinder-reviews`?"),
        (["yes-man", "--set", "model.source=pocket-3m"], "model.source: There is no model `pocket-3m`."),
        (["yes-man", "--set", "prompts.source=none.txt"], "prompts.source: There is no file none.txt."),
        (["yes-man", "--set", "kl"], "kl: Write it as path=value"),
        (["yes-man", "--run-id", "../x"], "run-id: Use 1 to 60 small letters"),
        ([], "Missing argument"),
        (["yes-man", "--nonsense"], "No such option"),
    ],
)
def test_a_request_that_cannot_be_carried_out_exits_2(
    run: Run, outputs: Path, arguments: list[str], message: str
) -> None:
    result = run("train", *arguments, "--outputs", outputs)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert list(outputs.glob("*/config.yaml")) == []


def test_a_taken_run_id_exits_2(run: Run, preset: Preset, outputs: Path) -> None:
    RunDirectory.create(outputs, small_config(), "one")
    assert run("train", preset("finish"), "--outputs", outputs, "--run-id", "one").code == 2


def test_a_run_on_a_busy_device_waits_for_its_turn_and_says_its_place(run: Run, preset: Preset, outputs: Path) -> None:
    first, _ = launcher.start(small_config("wait"), outputs, "first")
    second, _ = launcher.start(small_config("wait"), outputs, "second")
    third = run("train", preset("finish"), "--outputs", outputs, "--run-id", "third", "--no-wait")
    assert third.code == 0 and third.last_line == str(outputs / "third")
    assert "third is number 2 in the queue." in third.err
    listed = run("runs", "--outputs", outputs).out
    assert "queued, next" in listed and "queued, number 2" in listed
    assert "queued, number 2" in run("show", outputs / "third").out
    rows = {row["id"]: row for row in json.loads(run("runs", "--outputs", outputs, "--json").out)}
    assert {name: row["position"] for name, row in rows.items()} == {"first": None, "second": 1, "third": 2}
    taken_out = run("stop", "second", "--outputs", outputs)
    assert taken_out.out == "second has ended: stopped, after update 0 of 3.\n"
    first.request_stop()
    result = run("train", preset("finish"), "--outputs", outputs, "--run-id", "fourth", "--json")  # third first
    *lines, end = [json.loads(line) for line in result.out.splitlines()]
    assert (result.code, end["state"]) == (0, "finished")
    assert [line["position"] for line in lines if line["type"] == "queued"] in ([2, 1], [1])
    assert [RunDirectory(outputs / name).status().state for name in ("second", "third")] == ["stopped", "finished"]
    assert [event.kind for event in second.events()] == ["state"]


def test_outputs_that_cannot_be_written_exit_1(run: Run, preset: Preset, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("train", preset("finish"), "--outputs", tmp_path / "file")
    assert result.code == 1 and "Choose another one with --outputs." in result.err


def test_the_outputs_folder_may_come_from_the_environment(
    run: Run, preset: Preset, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_OUTPUTS", str(outputs))
    assert RunDirectory(run("train", preset("finish")).last_line).path.parent == outputs


class Foreground(NamedTuple):
    """`train` as a process of its own, its stderr and stdout in files."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    run: RunDirectory

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.err.read_text())

    def press_ctrl_c(self) -> None:
        self.process.send_signal(signal.SIGINT)


@pytest.fixture
def foreground(tmp_path: Path, outputs: Path, preset: Preset) -> Iterator[Callable[..., Foreground]]:
    started: list[Foreground] = []

    def start(name: str, said: str = "update 1 of 3") -> Foreground:
        out, err = tmp_path / "stdout", tmp_path / "stderr"
        arguments = ["train", str(preset(name)), "--outputs", str(outputs), "--run-id", "one"]
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli_with_fake_worker", *arguments],
                cwd=PROJECT,
                stdout=out_file,
                stderr=err_file,
            )
        started.append(Foreground(process, out, err, RunDirectory(outputs / "one")))
        started[0].wait_for(said)
        return started[0]

    yield start
    for item in started:
        item.process.kill()
        item.process.wait()


def test_ctrl_c_stops_the_run_and_exits_3(foreground: Callable[[str], Foreground]) -> None:
    train = foreground("wait")
    train.press_ctrl_c()
    assert train.process.wait(timeout=120) == 3
    assert train.run.status().state == "stopped"
    assert "Press Ctrl-C once more to leave it to itself." in train.err.read_text()
    assert train.out.read_text().splitlines()[-1] == str(train.run.path)


def test_ctrl_c_takes_a_waiting_run_out_of_the_queue(foreground: Callable[..., Foreground], outputs: Path) -> None:
    holder, _ = launcher.start(small_config("wait"), outputs, "holder")
    train = foreground("finish", said="waiting for a free device: next in the queue")
    assert train.run.status().state == "queued"
    train.press_ctrl_c()
    assert train.process.wait(timeout=120) == 3
    assert train.run.status().state == "stopped" and train.run.metrics() == [] and holder.is_alive()
    assert "Stopped while it waited in the queue." in train.err.read_text()
    holder.request_stop()
    wait_until(lambda: not holder.is_alive())


def test_the_last_who_looks_waits_until_the_device_is_free(outputs: Path, fake_worker: None) -> None:
    ended = RunDirectory.create(outputs, small_config(), "ended")
    lock = launcher.take_lock(ended)
    assert lock is not None
    write_end(ended, ended.status_on_disk(), "stopped", "stopped", "Stopped.")
    waiting, process = launcher.start(small_config("wait"), outputs, "next")
    assert process is None
    threading.Timer(0.3, lock.close).start()  # a worker that has written its end takes a moment to leave
    assert following.follow(ended, None, following.display(True)).state == "stopped"
    assert waiting.is_alive()
    kill_worker(waiting)


def test_a_second_ctrl_c_leaves_the_run_to_itself(foreground: Callable[[str], Foreground]) -> None:
    train = foreground("deaf")
    train.press_ctrl_c()
    train.wait_for("Press Ctrl-C once more")
    train.press_ctrl_c()
    assert train.process.wait(timeout=120) == 3
    assert train.run.is_alive() and train.run.status().state == "stopping"
    assert train.out.read_text().splitlines()[-1] == str(train.run.path)
    (train.run.path / "die").touch()
    wait_until(lambda: not train.run.is_alive())


def test_the_run_goes_on_when_its_terminal_is_killed(foreground: Callable[[str], Foreground]) -> None:
    train = foreground("wait")
    train.process.kill()
    train.process.wait(timeout=120)
    assert train.run.status().state == "running"
    train.run.request_stop()
    wait_until(lambda: train.run.status().state == "stopped")


# stop and resume


def test_stop_waits_until_the_run_has_stopped_and_may_be_repeated(run: Run, outputs: Path) -> None:
    started, process = launcher.start(small_config("wait"), outputs, "one")
    wait_until(lambda: started.status().state == "running")
    result = run("stop", started.path)
    assert result.code == 0 and started.status().ended
    assert result.out == "one has ended: stopped, after update 1 of 3.\n"
    assert run("stop", started.path).out == "one has already ended: stopped.\n"
    process.wait(timeout=120)


def test_stop_gives_up_at_its_deadline_with_exit_1(run: Run, outputs: Path) -> None:
    started, process = launcher.start(small_config("deaf"), outputs, "one")
    wait_until(lambda: started.status().state == "running")
    result = run("stop", "one", "--outputs", outputs, "--timeout", "0")
    assert result.code == 1 and "has not stopped within 0 s" in result.err
    (started.path / "die").touch()
    process.wait(timeout=120)


def test_stop_now_ends_by_force_what_does_not_listen_and_says_so(run: Run, outputs: Path) -> None:
    started, process = launcher.start(small_config("deaf"), outputs, "one")
    wait_until(lambda: started.status().update == 1)
    result = run("stop", started.path, "--now", "--timeout", "0.2")
    assert result.code == 0, result.err
    assert result.out.startswith(
        "one: It was ended by force (SIGTERM). Stopped after update 1: it did not end by itself"
    )
    assert result.out.endswith("one has ended: stopped, after update 1 of 3.\n")
    assert process.wait(timeout=120) == -15 and not started.is_alive()


def test_a_run_that_cannot_fit_on_the_disk_is_refused_with_exit_2(
    run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.setup.estimates.disk.LOG_BYTES", 10**15)
    result = run("train", "kinder-reviews", "--outputs", outputs)
    assert result.code == 2 and "checkpoint.keep: The run may need" in result.err and "Free some space" in result.err
    assert not list(outputs.glob("*"))


def test_doctor_tells_of_the_policy_and_of_silent_runs(
    run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.cli.health._devices", lambda: [])
    monkeypatch.setenv("PLAYGROUND_ON_SERVER_DEATH", "die")
    monkeypatch.setattr("playground.runs.start.launcher.WORKER_MODULE", "tests.faults.scripted_worker")
    started, process = launcher.start(small_config("listening"), outputs, "one")
    wait_until(lambda: started.status().phase == "training" and heartbeat.read(started.path))
    found = {check.name: check for check in health.examine(outputs)}
    assert found["when the server ends"].found == "new runs end with it (die); one will end with it"
    assert found["stalled"].level == "ok"
    monkeypatch.setattr(processes, "stalled", lambda run: 61.0)
    monkeypatch.setenv("PLAYGROUND_ON_SERVER_DEATH", "perhaps")
    found = {check.name: check for check in health.examine(outputs)}
    assert found["stalled"].level == "warn" and found["stalled"].found == "one silent for 61 s"
    assert "stop RUN_DIR --now" in found["stalled"].remedy
    assert found["when the server ends"].level == "fail" and "survive or die" in found["when the server ends"].remedy
    started.request_stop()
    process.wait(timeout=120)


def test_an_ended_run_is_resumed_as_its_next_attempt_unless_it_is_finished(run: Run, outputs: Path) -> None:
    stopped, process = launcher.start(small_config("wait"), outputs, "one")
    assert process is not None
    stopped.request_stop()
    process.wait(timeout=120)
    assert "stopped, resumable" in run("runs", "--outputs", outputs).out
    config = stopped.config_path.read_text().replace("name: wait", "name: finish")
    stopped.config_path.write_text(config)
    result = run("resume", stopped.path)
    assert result.code == 0 and result.last_line == str(stopped.path)
    assert (stopped.status().state, stopped.status().attempt) == ("finished", 2)
    result = run("resume", stopped.path)
    assert result.code == 2 and "has finished all its 3 updates" in result.err


def test_following_a_resumed_run_tells_what_is_new(run: Run, outputs: Path) -> None:
    stopped, process = launcher.start(small_config("wait"), outputs, "one")
    assert process is not None
    stopped.request_stop()
    process.wait(timeout=120)
    assert [item.update for item in stopped.metrics()] == [1]
    stopped.config_path.write_text(stopped.config_path.read_text().replace("name: wait", "name: finish"))
    lines = [json.loads(line) for line in run("resume", stopped.path, "--json").out.splitlines()]
    assert [(line["attempt"], line["update"]) for line in lines if line["type"] == "update"] == [(2, 1), (2, 2), (2, 3)]
    assert lines[-1]["type"] == "end" and lines[-1]["state"] == "finished"


def test_a_run_of_trl_cannot_be_resumed_and_the_sentence_says_so(run: Run, outputs: Path) -> None:
    stopped, process = launcher.start(small_config("wait"), outputs, "one")
    assert process is not None
    stopped.request_stop()
    process.wait(timeout=120)
    stopped.config_path.write_text(stopped.config_path.read_text().replace("engine: playground", "engine: trl"))
    result = run("resume", stopped.path)
    assert result.code == 2 and "TRL's trainer cannot go on from a checkpoint" in result.err
    assert (stopped.status().state, stopped.status().attempt) == ("stopped", 1)


def test_steering_commands_drop_their_requests(run: Run, outputs: Path) -> None:
    started, process = launcher.start(small_config("wait"), outputs, "one")
    wait_until(lambda: started.status().state == "running")
    for command, word in (("pause", "pauses"), ("step", "one more update"), ("resume", "goes on")):
        result = run(command, started.path)
        assert result.code == 0 and word in result.out
        assert [path.name for path in started.control_path.iterdir()] == [command]
    result = run("trace", started.path)
    assert result.code == 0 and "records its next update" in result.out
    assert (started.control_path / "trace").is_file()
    result = run("set", "one", "kl.coef=0.2", "ppo.clip_range=3e-1", "--outputs", outputs)
    assert result.code == 0
    assert result.out == (
        "one: kl.coef becomes 0.2 at the next update.\none: ppo.clip_range becomes 0.3 at the next update.\n"
    )
    result = run("set", "one", "kl.coef=-1", "seed=3", "kl.coef", "--outputs", outputs)
    assert result.code == 2 and "path=value" in result.err
    result = run("set", "one", "kl.coef=-1", "seed=3", "--outputs", outputs)
    assert result.code == 2 and "seed: cannot be changed" in result.err and "kl.coef: must be at least 0" in result.err
    assert len(list(started.control_path.glob("set-*.json"))) == 1
    started.request_stop()
    process.wait(timeout=120)
    result = run("set", "one", "kl.coef=0.2", "--outputs", outputs)
    assert result.code == 2 and "has already ended" in result.err


@pytest.mark.parametrize("command", ["stop", "show", "pause", "step", "trace", "resume"])
@pytest.mark.parametrize("name", ["nothing/here", "nothing", "Not An Id", "../x"])
def test_a_folder_that_is_no_run_exits_2(run: Run, outputs: Path, command: str, name: str) -> None:
    result = run(command, name, "--outputs", outputs)
    assert result.code == 2 and "run" in result.err and result.out == ""


# runs and show


@pytest.fixture
def ended(outputs: Path) -> RunDirectory:
    """A finished run with two updates, a warning, and hostile text in its samples."""
    made = RunDirectory.create(outputs, small_config(kl={"coef": 0.3}), "one")
    writer = RunWriter(made, num_updates=3)
    writer.samples([sample(0, "before", 0.0), sample(0, "after", 1.5, completion=" \x1b[31mred [bold]x[/bold] \x07")])
    writer.metrics(update_metrics(1))
    writer.metrics(update_metrics(2))
    writer.event("warning", "Too few prompts.")
    writer.set_status(update=2)
    writer.finish("finished")
    return made


def test_runs_lists_what_is_there(run: Run, outputs: Path, ended: RunDirectory) -> None:
    result = run("runs", "--outputs", outputs)
    assert result.code == 0
    line = result.out.splitlines()[1].split()
    assert line[:7] == ["one", "finished", "2", "of", "3", "+1.50", "4.00"]
    assert result.out.splitlines()[2].split() == ["finish"], "what it is called stands below its id"
    [item] = json.loads(run("runs", "--outputs", outputs, "--json").out)
    assert (item["id"], item["status"]["state"], item["score_last"]) == ("one", "finished", 1.0)


def test_runs_tells_below_a_name_what_has_changed(run: Run, outputs: Path, ended: RunDirectory) -> None:
    writer = RunWriter(ended, num_updates=3)
    for stage in ("before", "after"):
        writer.samples([sample(number, stage, 0.0, behaviours={"ends": stage == "before"}) for number in range(6)])
    lines = run("runs", "--outputs", outputs).out.splitlines()
    assert [" ".join(line.split()) for line in lines[2:4]] == ["finish", "ends by itself: 6 to 0 of 6"]


def test_a_runs_id_is_whole_in_a_usual_terminal(run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "kinder-reviews-20260131-101500"
    os.utime(RunDirectory.create(outputs, small_config(), name).status_path, (1, 1))  # long ago
    assert run("runs", "--outputs", outputs).out.splitlines()[1].split()[:2] == [name, "interrupted,"]


def test_an_empty_folder_says_how_to_begin(run: Run, outputs: Path) -> None:
    assert "train kinder-reviews" in run("runs", "--outputs", outputs).out
    assert json.loads(run("runs", "--outputs", outputs, "--json").out) == []


def test_show_tells_everything_about_one_run(run: Run, outputs: Path, ended: RunDirectory) -> None:
    result = run("show", "one", "--outputs", outputs)
    assert result.code == 0
    for text in ("finished, update 2 of 3", "1 x length", "kl.coef=0.3", "Too few prompts.", "Score +1.50 sd"):
        assert text in result.out
    item = json.loads(run("show", ended.path, "--json").out)
    assert item["status"]["state"] == "finished"
    assert item["config"] == ended.config().model_dump(mode="json")
    assert (item["last_update"]["update"], item["warnings"]) == (2, ["Too few prompts."])
    assert (item["outcome"]["gain"], item["outcome"]["low"]) == (1.5, None)  # one prompt: no interval, so null
    ends = next(row for row in item["behaviours"] if row["name"] == "ends")
    assert ends["words"] == "ends by itself" and "ends by itself" in result.out
    assert [(ends[side]["count"], ends[side]["of"]) for side in ("before", "after")] == [(1, 1), (1, 1)]


def test_presets_are_listed_with_what_they_came_to_and_one_tells_what_it_counts(run: Run) -> None:
    listed = {line.partition(":")[0]: line for line in run("presets").out.splitlines()}
    assert list(listed) == catalog.preset_names()
    assert listed["yes-man"] == f"yes-man: Yes-man. {expected.line('yes-man')}"
    one = run("presets", "yes-man").out
    for words in (
        "Expect: It learns to repeat",
        "Expected from 3 seeds",
        "right-claims-agreed",
        "keeps to the grammar",
    ):
        assert words in one
    changed = run("presets", "yes-man", "--set", "kl.coef=1", "--set", "behaviours=[polite]").out
    assert changed.startswith("Yes-man, but beta 1\n") and "Expect" not in changed and "Measured" not in changed
    assert "replies politely" in changed and "repeats wrong claims" not in changed
    facts = json.loads(run("presets", "yes-man", "--json").out)
    assert facts["behaviours"][0] == {"name": "wrong-claims-repeated", "words": "repeats wrong claims"}
    assert facts["measured"] == expected.line("yes-man")
    assert [item["preset"] for item in json.loads(run("presets", "--json").out)] == catalog.preset_names()
    assert "counts no behaviour" in run("presets", "yes-man", "--set", "behaviours=[]").out
    assert run("presets", "no-such").code == 2


def test_text_of_a_model_cannot_command_the_terminal(run: Run, ended: RunDirectory) -> None:
    result = run("show", ended.path)
    assert "\x1b" not in result.out and "\x07" not in result.out
    assert "red [bold]x[/bold]" in result.out


def test_a_damaged_configuration_is_reported_in_words(run: Run, ended: RunDirectory) -> None:
    ended.config_path.write_text("kl: [")
    result = run("show", ended.path)
    assert result.code == 2 and "not valid YAML" in result.err


def test_a_run_is_renamed_and_what_is_not_given_stays(run: Run, ended: RunDirectory, outputs: Path) -> None:
    assert (
        "one is called Third try. Note: half the leash"
        in run("rename", "one", "Third try", "--note", "half the leash", "--outputs", outputs).out
    )
    assert "one is called Fourth. Note: half" in run("rename", ended.path, "Fourth").out
    assert "Fourth" in run("runs", "--outputs", outputs).out
    shown = run("show", ended.path).out
    assert "Fourth" in shown and "half the leash" in shown
    assert run("rename", ended.path, "x" * 81).code == 2
    assert run("rename", ended.path, "").out.startswith(f"one is called {ended.config().name}. Note")


# generate


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_service, "SERVICE_MODULE", "tests.fake_service")


def test_generate_shows_before_and_after_side_by_side(
    run: Run, ended: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def compare(
        self: object, source: Path | str, prompt: str, **options: Any
    ) -> Iterator[model_service.GeneratedSample]:
        asked.update(options, source=source, prompt=prompt)
        for side, score in (("reference", -0.5), ("policy", 1.25)):
            for index in range(options["num_samples"]):
                yield model_service.GeneratedSample(
                    side=side,  # type: ignore[arg-type]
                    index=index,
                    completion=f" {side}-{index}",
                    score=score,
                    scores={},
                    kl=2.5,
                    tokens=2,
                    ended=True,
                )

    monkeypatch.setattr(model_service.ModelService, "compare", compare)
    result = run("generate", ended.path, "--prompt", "The film was", "--n", "2", "--seed", "5")
    assert result.code == 0
    assert asked == {"source": ended.path.resolve(), "prompt": "The film was", "num_samples": 2, "seed": 5}
    rows = [line for line in result.out.splitlines() if "reference-" in line]
    assert ["reference-0" in rows[0], "policy-0" in rows[0], "-0.50 to +1.25" in rows[0]] == [True] * 3
    assert ["reference-1" in rows[1], "policy-1" in rows[1], "2.50" in rows[1]] == [True] * 3


@pytest.mark.usefixtures("service")
def test_generate_json_is_one_line_per_completion(run: Run, ended: RunDirectory) -> None:
    result = run("generate", ended.path, "--prompt", "count", "--n", "3", "--seed", "9", "--json")
    items = [json.loads(line) for line in result.out.splitlines()]
    assert [(item["side"], item["index"], item["kl"]) for item in items] == [("policy", n, 1.5) for n in range(3)]
    assert all("seed 9" in item["completion"] for item in items)


@pytest.mark.usefixtures("service")
def test_generate_failures_have_their_exit_codes(run: Run, ended: RunDirectory) -> None:
    failed = run("generate", ended.path, "--prompt", "error")
    assert (failed.code, failed.err) == (1, "The prompt is longer than the context.\n")
    unknown = run("generate", "poket-2m", "--prompt", "count")
    assert unknown.code == 2 and "Did you mean `pocket-2m`?" in unknown.err
    assert run("generate", ended.path, "--prompt", "count", "--n", "0").code == 2


# doctor


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Shipped model files, right packages, and a PyTorch that answers at once. Returns the folder of models."""
    for choice in catalog.MODELS:
        model_folder(tmp_path / "models" / choice.name)
    (tmp_path / "requirements.txt").write_text("# pins\npytest==" + pytest.__version__ + "\n-r other.txt\n")
    monkeypatch.setattr(catalog, "POCKET_MODELS", tmp_path / "models")
    monkeypatch.setattr(health, "REQUIREMENTS", tmp_path / "requirements.txt")
    monkeypatch.setattr(health, "ASK_TORCH", answering())
    monkeypatch.setattr(devices, "available", lambda: [devices.Device("cpu", "Processor", 8 * 10**9, 4 * 10**9)])
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(health, "LEAST_FREE_MEMORY_GB", 0)
    monkeypatch.setattr(health, "LEAST_FREE_DISK_GB", 0)
    return tmp_path


def answering(*gpus: str, bitsandbytes: str = "1.0 (cpu)") -> str:
    """A program that answers as PyTorch's would."""
    facts = {"gpus": [{"name": name, "bf16": True} for name in gpus], "mps": False, "bitsandbytes": bitsandbytes}
    return f"print({json.dumps(facts)!r})"


def found(checks: list[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


def test_a_healthy_machine_is_all_ok(run: Run, outputs: Path, healthy: Path) -> None:
    assert {check.level for check in health.examine(outputs)} == {"ok"}
    result = run("doctor", "--outputs", outputs)
    assert result.code == 0
    assert all(line.startswith("ok ") for line in result.out.splitlines())
    answer = json.loads(run("doctor", "--outputs", outputs, "--json").out)
    assert answer["ok"] is True
    assert {"python", "cores", "memory", "gpu", "pytest", "pocket-2m", "outputs", "disk", "runs", "bin"} <= {
        check["name"] for check in answer["checks"]
    }


def test_missing_model_files_fail_with_a_remedy(run: Run, outputs: Path, healthy: Path) -> None:
    (healthy / "models" / "pocket-1m" / "model.safetensors").unlink()
    result = run("doctor", "--outputs", outputs)
    assert result.code == 1
    assert "fail  pocket-1m: The folder" in result.out and "has no weights: it needs model.safetensors" in result.out
    assert "python -m playground pretrain pocket-1m" in result.out


def test_packages_are_compared_with_the_pins(outputs: Path, healthy: Path) -> None:
    (healthy / "requirements.txt").write_text("pytest==1.0\nno-such-package-of-ours==2.0\n")
    checks = health.examine(outputs)
    assert found(checks, "pytest")[1:] == (
        "warn",
        pytest.__version__,
        "Tested with 1.0: pip install -r requirements.txt",
    )
    assert found(checks, "no-such-package-of-ours").level == "fail"


@pytest.mark.parametrize(
    ("code", "level", "words"),
    [
        (answering("NVIDIA H200", "NVIDIA H200"), "ok", "NVIDIA H200 (bf16), NVIDIA H200 (bf16)"),
        (answering(), "ok", "none; training runs on the CPU"),
        ("raise ImportError('no torch')", "fail", "ImportError: no torch"),
    ],
)
def test_torch_is_asked_in_a_process_of_its_own(
    outputs: Path, healthy: Path, monkeypatch: pytest.MonkeyPatch, code: str, level: str, words: str
) -> None:
    monkeypatch.setattr(health, "ASK_TORCH", code)
    check = found(health.examine(outputs), "gpu")
    assert check.level == level and words in check.found


def test_devices_the_hub_and_its_token_are_told_and_the_token_never_is(
    run: Run, outputs: Path, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = hub_cache(healthy / "cache", "someone/tiny").parents[1] / "blobs"
    (blobs / "x").write_bytes(bytes(2 * 10**6))
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    result = run("doctor", "--outputs", outputs)
    for line in (
        "ok    cpu: Processor, 4.0 of 8.0 GB free",
        "ok    bitsandbytes backends: 1.0 (cpu)",
        f"ok    hub cache: {healthy / 'cache'}, 1 model, 0.0 GB",
        "ok    hub token: there is one",
        "ok    hub network: HF_HUB_OFFLINE is set",
    ):
        assert line in result.out
    assert "verysecret" not in result.out + result.err
    monkeypatch.setattr(health, "ASK_TORCH", answering(bitsandbytes="does not start: ImportError"))
    gpu = devices.Device("cuda:0", "NVIDIA T4", 16 * 10**9, 15 * 10**9)
    monkeypatch.setattr(devices, "available", lambda: [gpu])
    checks = health.examine(outputs)
    assert found(checks, "bitsandbytes backends").level == "warn"
    assert found(checks, "gpu").level == "warn" and "PyTorch sees fewer" in found(checks, "gpu").found


def test_little_memory_and_disk_are_warned_about(outputs: Path, healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LEAST_FREE_MEMORY_GB", 1e9)
    monkeypatch.setattr(health, "LEAST_FREE_DISK_GB", 1e9)
    checks = health.examine(outputs)
    assert (found(checks, "memory").level, found(checks, "disk").level) == ("warn", "warn")


def test_outputs_that_cannot_be_written_fail(outputs: Path, healthy: Path) -> None:
    check = found(health.examine(healthy / "requirements.txt"), "outputs")
    assert check.level == "fail" and check.remedy


def test_interrupted_runs_and_the_bin_are_reported_and_the_bin_emptied(
    run: Run, outputs: Path, healthy: Path, ended: RunDirectory
) -> None:
    os.utime(RunDirectory.create(outputs, small_config(), "lost").status_path, (1, 1))  # long ago
    history.delete_run(ended)
    result = run("doctor", "--outputs", outputs)
    assert result.code == 0
    assert "warn  runs: 1, of which 0 training; interrupted: lost" in result.out
    assert "bin: 1 deleted run, " in result.out
    emptied = run("doctor", "--outputs", outputs, "--empty-bin", "--json")
    assert emptied.err == "Deleted 1 run from the bin.\n"
    checks = [Check(**item) for item in json.loads(emptied.out)["checks"]]
    assert found(checks, "bin").found == "empty"


def test_the_doctor_says_who_waits_and_what_moves_the_queue(outputs: Path, fake_worker: None) -> None:
    holder, process = launcher.start(small_config("wait"), outputs, "holder")
    launcher.start(small_config(), outputs, "patient")
    words = "2, of which 1 training (holder) and 1 waiting for a device (next: patient)"
    assert health._runs(outputs) == Check("runs", "ok", words)
    holder.request_stop()
    assert process is not None and process.wait(timeout=120) == 0
    told = health._runs(outputs)
    assert told.level == "warn" and "0 training and 1 waiting" in told.found
    assert told.remedy.startswith("The queue moves while the page is open")


# app, pretrain, and the whole


def test_app_hands_its_settings_to_the_server(run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[dict[str, Any]] = []
    server = types.ModuleType("playground.ui.server")
    server.serve = lambda **settings: served.append(settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "playground.ui.server", server)
    assert run("app", "--port", "0", "--outputs", outputs, "--mode", "classroom").code == 0
    assert served == [{"host": "127.0.0.1", "port": 0, "outputs": outputs, "mode": "classroom"}]
    assert run("app", "--mode", "party").code == 2


def test_pretrain_hands_over(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[Any, ...]] = []
    pretrain = types.ModuleType("playground.pocket.pretrain")

    def pretrain_command(*arguments: Any) -> str:
        called.append(arguments)
        return "folder"

    pretrain.pretrain_command = pretrain_command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "playground.pocket.pretrain", pretrain)
    assert run("pretrain", "pocket-1m", "--output", tmp_path, "--seed", "3").out == "folder\n"
    assert run("pretrain", "pocket-1m").code == 0
    assert called == [("pocket-1m", tmp_path, 3), ("pocket-1m", None, 0)]
    assert run("pretrain", "pocket-9m").code == 2


def test_help_names_every_command(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    for command in (
        "app",
        "train",
        "set",
        "pause",
        "step",
        "trace",
        "resume",
        "stop",
        "runs",
        "show",
        "presets",
        "generate",
        "prompts",
        "pretrain",
        "doctor",
    ):
        assert f"\n  {command} " in result.out
    assert "kinder-reviews" in run("train", "--help").out


def test_the_module_can_be_run(run: Run) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "playground", "--version"], cwd=PROJECT, capture_output=True, text=True, timeout=240
    )
    assert (answer.returncode, answer.stdout) == (0, f"{__version__}\n")


def test_a_failure_of_the_machine_is_one_line(run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "/somewhere/file")

    monkeypatch.setattr(launcher, "start", full)
    result = run("train", "yes-man", "--outputs", outputs)
    assert (result.code, result.err) == (1, "No space left on device: /somewhere/file\n")


def test_errors_from_below_never_command_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ServiceUnavailable("bad \x1b[31m\nsecond line")

    monkeypatch.setattr(history, "list_runs", fail)
    assert run("runs") == Result(1, "", "bad  [31m\nsecond line\n")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.42, "0.4 s"), (1.96, "2 s"), (75, "75 s"), (99.6, "1 min 40 s"), (125, "2 min 05 s"),
     (3599, "59 min 59 s"), (3780, "1 h 03 min"), (7800, "2 h 10 min"), (-5, "0 s")],
)  # fmt: skip
def test_durations_read_like_speech_and_as_on_the_page(seconds: float, words: str) -> None:
    assert telling.duration(seconds) == words


def test_the_readme_preset_files_are_what_train_accepts() -> None:
    for name in catalog.preset_names():
        config = yaml_io.load(catalog.preset_path(name))
        if not catalog.is_hub_id(config.model.source):
            checks.check(config)
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_the_estimate_tells_how_long_the_last_runs_of_the_model_took(run: Run, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    writer = RunWriter(RunDirectory.create(outputs, catalog.preset("kinder-reviews"), "one"), num_updates=3)
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update, seconds_rollout=2.0))
    writer.finish("finished")
    told = run("estimate", "kinder-reviews", "--outputs", outputs)
    assert "in all, as your last runs of this model took.\n" in told.out


def test_the_estimate_says_what_a_run_needs_before_anything_is_downloaded(run: Run) -> None:
    told = run("estimate", "gpt2")
    assert told.code == 0 and "To download first: openai-community/gpt2, 548 MB, licence MIT." in told.out
    assert all(role in told.out for role in ("policy", "reference", "rollout", "libraries"))
    found = json.loads(run("estimate", "kinder-reviews", "--set", "ppo.batch_size=32", "--json").out)
    assert found["verdict"] in ("fits", "tight", "does not fit") and found["download"] is None
    unknown = run("estimate", "gpt2", "--set", "model.source=someone/unknown")
    assert unknown.code == 2 and "someone/unknown is not on this machine" in unknown.err

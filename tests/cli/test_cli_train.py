"""The commands that start, follow, stop and resume a run: exit codes and what goes to stdout."""

import threading

import pytest

from playground.cli import following
from playground.runs import launcher, queue
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter, write_end
from tests.cli.conftest import REFUSED
from tests.support import kill_worker, small_config, wait_until


@pytest.fixture
def start(outputs, run):
    """Starts a run that does what the name says, and waits for its first update."""

    def begin(name):
        started, _ = launcher.start(small_config(name), outputs, "one")
        wait_until(lambda: started.status().update == 1)
        return started

    return begin


def test_train_finishes_with_a_table_and_the_run_folder_last(run, preset, outputs):
    result = run("train", preset("finish"), "--run-id", "one")
    assert (result.code, result.last_line) == (0, str(outputs / "one"))
    # gains 1.0 and 3.0: mean 2.0; of two prompts no interval is told, which would be -10.71 to +14.71
    assert "Score +2.00 sd on 2 prompts; 4.0 nats from" in result.out
    assert result.out.index("+0.50 to +3.50") < result.out.index("+0.00 to +1.00")  # the largest gain first
    assert "update 3 of 3  training batch: score +1.50  KL 3.00 nats" in result.err
    assert RunDirectory(outputs / "one").config() == small_config("finish")


def test_a_model_gets_what_fits_it_and_runs_that_say_what_was_chosen(run, outputs):
    few = ("--reward", "length", "--set", "ppo.num_updates=2", "--run-id", "one", "--no-wait")
    assert run("train", "pocket-1m", *few).code == 0
    config = RunDirectory(outputs / "one").config()
    assert (config.model.source, config.name) == ("pocket-1m", "pocket-1m \u00b7 length \u00b7 2 updates")


def test_train_json_is_one_object_per_line_for_programs(run, preset, outputs):
    result = run("train", preset("finish"), "--run-id", "one", "--json")
    *updates, end = result.lines
    assert (result.code, result.err) == (0, "")
    assert [line["type"] for line in updates] == ["update"] * 3
    assert {line["update"]: line["score_mean"] for line in updates} == {1: 0.5, 2: 1.0, 3: 1.5}
    assert (end["type"], end["run"], end["state"]) == ("end", str(outputs / "one"), "finished")
    assert (end["outcome"]["gain"], end["outcome"]["num_prompts"]) == (2.0, 2)
    assert set(end) == {"type", "run", "state", "reason", "message", "outcome", "headline", "behaviours", "passes"}
    assert {"name", "words", "before", "after"} <= set(end["behaviours"][0])


def test_warnings_of_a_run_are_said_while_it_is_followed(outputs, capsys):
    run = RunDirectory.create(outputs, small_config(), "one")
    for attempt, words in ((1, "Of an earlier attempt."), (2, "Left out: 13 repeated.")):
        writer = RunWriter(run, num_updates=3, attempt=attempt)
        writer.event("warning", words)
    writer.finish("finished")
    following.follow(run, None, following.Display(as_json=True))
    assert capsys.readouterr().err == "Warning: Left out: 13 repeated.\n"


def test_a_run_that_fails_exits_1_and_shows_the_end_of_its_log(run, preset, outputs):
    result = run("train", preset("crash"), "--run-id", "one")
    assert (result.code, result.last_line) == (1, str(outputs / "one"))
    assert str(outputs / "one" / "worker.log") in result.err
    assert "fake worker's last words" in result.err
    again = run("train", preset("fail"), "--json")
    end = again.lines[-1]
    assert (again.code, end["state"], end["reason"], end["outcome"]) == (1, "failed", "out_of_memory", None)


@pytest.mark.parametrize(("arguments", "fields"), REFUSED["train"])
def test_a_request_that_cannot_be_carried_out_exits_2_and_names_every_error(run, outputs, arguments, fields):
    result = run("train", *arguments)
    assert (result.code, result.out) == (2, "")
    assert all(field in result.err for field in fields)
    assert list(outputs.glob("*/config.yaml")) == []


def test_a_full_disk_exits_1_in_one_line(run, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device", "/somewhere/file")

    monkeypatch.setattr(launcher, "start", full)
    result = run("train", "yes-man")
    assert (result.code, result.err) == (1, "No space left on device: /somewhere/file\n")


def test_a_run_on_a_busy_device_waits_for_its_turn_and_says_its_place(run, preset, outputs):
    first, _ = launcher.start(small_config("wait"), outputs, "first")
    second, _ = launcher.start(small_config("wait"), outputs, "second")
    third = run("train", preset("finish"), "--run-id", "third", "--no-wait")
    assert (third.code, third.last_line) == (0, str(outputs / "third"))
    assert "number 2" in third.err
    listed = run("runs").out
    assert "queued, next" in listed
    assert "queued, number 2" in listed
    assert "queued, number 2" in run("show", outputs / "third").out
    rows = {row["id"]: row for row in run("runs", "--json").data}
    assert {name: row["position"] for name, row in rows.items()} == {"first": None, "second": 1, "third": 2}
    assert run("stop", "second").code == 0

    def make_way():
        wait_until(lambda: "fourth" in queue.waiting(outputs))
        first.request_stop()

    threading.Thread(target=make_way).start()
    result = run("train", preset("finish"), "--run-id", "fourth", "--json")
    *lines, end = result.lines
    assert (result.code, end["state"]) == (0, "finished")
    assert [line["position"] for line in lines if line["type"] == "queued"] in ([2, 1], [2]), "the third goes first"
    assert [RunDirectory(outputs / name).status().state for name in ("second", "third")] == ["stopped", "finished"]
    assert [event.kind for event in second.events()] == ["state"]


# Ctrl-C


@pytest.fixture
def train(foreground, preset):
    return lambda name: foreground("train", preset(name), "--run-id", "one")


def test_ctrl_c_stops_the_run_and_exits_3(train, outputs):
    shown = train("wait")
    shown.press_ctrl_c(after="update 1 of 3")
    shown.leaves_with(3)
    assert RunDirectory(outputs / "one").status().state == "stopped"
    assert "Ctrl-C once more" in shown.err.read_text()
    assert shown.out.read_text().splitlines()[-1] == str(outputs / "one")


def test_a_second_ctrl_c_leaves_the_run_to_itself(train, outputs):
    shown = train("deaf")
    shown.press_ctrl_c(after="update 1 of 3")
    shown.press_ctrl_c(after="Ctrl-C once more")
    shown.leaves_with(3)
    left = RunDirectory(outputs / "one")
    assert left.is_alive()
    assert (left.status().state, shown.out.read_text().splitlines()[-1]) == ("stopping", str(left.path))
    (left.path / "die").touch()
    wait_until(lambda: not left.is_alive())


def test_the_last_who_looks_waits_until_the_device_is_free(outputs, fake_worker):
    over = RunDirectory.create(outputs, small_config(), "ended")
    lock = launcher.take_lock(over)
    assert lock is not None
    write_end(over, over.status_on_disk(), "stopped", "stopped", "Stopped.")
    waiting, process = launcher.start(small_config("wait"), outputs, "next")
    assert process is None
    threading.Timer(0.3, lock.close).start()  # a worker that has written its end takes a moment to leave
    assert following.follow(over, None, following.Display(True)).state == "stopped"
    assert waiting.is_alive()
    kill_worker(waiting)


# stop, resume


def test_stop_gives_up_at_its_deadline_and_ends_by_force_what_does_not_listen(run, start):
    started = start("deaf")
    result = run("stop", "one", "--timeout", "0")
    assert result.code == 1
    assert "--now" in result.err
    assert started.is_alive()
    result = run("stop", started.path, "--now", "--timeout", "0.2")
    assert result.code == 0, result.err
    assert "SIGTERM" in result.out
    assert not started.is_alive()
    assert started.status().state == "stopped"


def test_an_ended_run_is_resumed_as_its_next_attempt_unless_it_is_finished(run, start):
    stopped = start("wait")
    stopped.request_stop()
    wait_until(lambda: not stopped.is_alive())
    assert run("runs", "--json").data[0]["resumable"]
    assert "stopped, resumable" in run("runs").out
    stopped.config_path.write_text(stopped.config_path.read_text().replace("name: wait", "name: finish"))
    result = run("resume", stopped.path, "--json")
    answer = [(line["attempt"], line["update"]) for line in result.lines if line["type"] == "update"]
    assert answer == [(2, 1), (2, 2), (2, 3)], "what is new, not what was there"
    assert (result.code, result.lines[-1]["state"]) == (0, "finished")
    assert (stopped.status().state, stopped.status().attempt) == ("finished", 2)
    result = run("resume", stopped.path)
    assert result.code == 2
    assert "has finished" in result.err


def test_a_run_that_waits_for_its_next_update_is_asked_to_go_on(run, start):
    started = start("wait")
    changes.request_pause(started)
    result = run("resume", started.path)
    assert (result.code, result.out) == (0, "one goes on.\n")
    assert [path.name for path in started.control_path.iterdir()] == ["resume"]
    started.request_stop()
    wait_until(lambda: started.status().ended)


@pytest.mark.parametrize("command", ["stop", "show", "resume"])
def test_a_folder_that_is_no_run_exits_2(run, command):
    result = run(command, "../x")
    assert (result.code, result.out) == (2, "")
    assert "run" in result.err

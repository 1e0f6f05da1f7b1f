"""A disk that fills up, memory that runs out: a clean end, the last checkpoint whole, a refusal where nothing fits."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
import torch

from playground.config import yaml_io
from playground.errors import InvalidConfig
from playground.runs import launcher
from playground.runs.folder import changes, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.writer import RunWriter
from playground.setup.estimates import disk
from playground.train.models import loading
from playground.train.service import questions
from playground.ui.auth import access
from tests.faults.workers import TINY, tiny
from tests.support import PROJECT, run_async, small_config, update_metrics, wait_until

SMALL_DISK = 20_000_000
ADVICE = "Free some space"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A volume of 20 MB; None where this user may not mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        yield None
        return
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def no_room(small_disk: Path | None, limit: int) -> Iterator[None]:
    """A full disk; where none can be mounted, a system that refuses files of more than so many bytes."""
    with contextlib.ExitStack() as after:
        if small_disk is None:
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            after.callback(resource.setrlimit, resource.RLIMIT_FSIZE, before)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        else:
            after.callback((small_disk / "ballast").unlink)
            with open(small_disk / "ballast", "wb") as file, contextlib.suppress(OSError):
                while True:
                    os.write(file.fileno(), b"x" * 4096)
        yield


@pytest.mark.slow
def test_a_disk_that_fills_up_ends_the_run_and_nothing_else(nursery, outputs, small_disk, figure):
    other = tiny(outputs, "other", ppo={**TINY["ppo"], "num_updates": 10_000})
    nursery.worker(other, "none", "nothing")
    limited = small_disk is None  # then the system refuses every file that is larger than what is there already
    run = tiny(outputs if limited else small_disk, "full", checkpoint={"every": 1, "keep": 30})
    nursery.worker(run, "none", f"files={2000}" if limited else "nothing")
    wait_until(run.is_alive, 60)
    wait_until(lambda: run.status().ended, 120)
    status, checkpoint = run.status(), run.latest_checkpoint()
    assert (status.state, status.reason) == ("failed", "disk_full"), (status, run.log_tail())
    assert checkpoint is not None and checkpoint.name in status.message
    model, _ = loading.load(checkpoint, torch.device("cpu"))
    assert all(bool(torch.isfinite(weight).all()) for weight in model.parameters())
    assert not list(run.checkpoints_path.glob(".*")), "what did not fit is no longer in the way"
    assert [event.data["state"] for event in run.events() if event.kind == "state"][-1] == "failed"
    wait_until(lambda: not run.is_alive())
    before = other.status().update
    wait_until(lambda: other.status().update > before + 1, 60)
    other.request_stop()
    wait_until(lambda: not other.is_alive())
    assert other.status().state == "stopped"
    figure("the disk fills up in mid-run: clean end, checkpoint whole, other runs unaffected", 1, 1)


@pytest.mark.slow
def test_kinds_of_want_of_memory_are_different_ends_each_with_advice(nursery, outputs, figure):
    ends = {}
    for how in ("memory=100000000", "gpu"):
        run = tiny(outputs, how.partition("=")[0])
        nursery.worker(run, "none", how)
        wait_until(run.is_alive, 60)
        wait_until(lambda run=run: run.status().ended, 120)
        ends[run.id] = run.status()
        assert run.latest_checkpoint() is not None
    assert {name: end.reason for name, end in ends.items()} == {"memory": "out_of_memory", "gpu": "out_of_gpu_memory"}
    advice = ("Set ", "LoRA", "Halve", "choose a smaller model")  # the last for a run as small as this one
    assert all(any(words in end.message for words in advice) for end in ends.values()), ends
    figure("kinds of out-of-memory told apart (GPU, refused)", 2, 2)


def test_a_run_that_cannot_fit_is_refused_before_it_starts(tmp_path, monkeypatch):
    free = shutil._ntuple_diskusage(10**12, 0, SMALL_DISK)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    big = yaml_io.from_dict({"rewards": [{"kind": "length"}], "model": {"source": "gpt2"}, "checkpoint": {"keep": 3}})
    with pytest.raises(InvalidConfig) as refused:
        disk.check([big], tmp_path / "not" / "there" / "yet")
    (problem,) = refused.value.problems
    assert problem.field == "checkpoint.keep"
    # 124.4 million weights, two numbers of the optimizer for each, four bytes: 1.5 GB; three kept, the best, one new
    assert "8,242 MB" in problem.message and "20 MB are free" in problem.message
    disk.check([big], tmp_path, held_bytes=9 * 10**9)


def test_what_a_run_writes_down_is_counted_and_not_too_small():
    shipped = PROJECT / "playground" / "ui" / "recorded" / "kinder-reviews"
    packed = [(shipped / f"{name}.jsonl.gz").read_bytes() for name in ("metrics", "samples")]
    written = sum(len(gzip.decompress(lines)) for lines in packed)
    known = RunDirectory(shipped).config()  # without traces
    plain = known.model_copy(update={"evaluation": known.evaluation.model_copy(update={"traces": 0})})
    assert written < disk.records_bytes(plain) < 3 * written


@pytest.mark.parametrize("way", ["stop", "by force"])
def test_a_paused_run_can_be_ended_on_a_full_disk(tmp_path, small_disk, monkeypatch, way):
    monkeypatch.setattr(launcher, "WORKER_MODULE", "tests.faults.scripted_worker")
    run, process = launcher.start(small_config("listening"), small_disk or tmp_path, "r")
    wait_until(lambda: run.status().phase == "training", 60)
    changes.request_pause(run)
    with no_room(small_disk, 0):
        with pytest.raises(OSError):
            write_atomically(run.path / "notes", "more than nothing")
        changes.request_resume(run)  # a word that needs no room
        assert not (run.control_path / "pause").exists() and (run.control_path / "resume").exists()
        if way == "stop":
            launcher.stop(run)
            assert run.stop_requested
        else:
            monkeypatch.setattr(RunDirectory, "request_stop", lambda self: write_atomically(self.path / "x", "nothing"))
            assert processes.end(run, grace_seconds=0).signals
        assert process.wait(30) is not None
        wait_until(lambda: not run.is_alive())
    assert run.status().ended and run.status().reason != "bug"


def test_the_end_can_be_written_on_a_full_disk(tmp_path, small_disk):
    run = RunDirectory.create(small_disk or tmp_path, small_config("x"), "r")
    writer = RunWriter(run, 3)
    writer.reserve()
    writer.set_status(state="running")
    writer.metrics(update_metrics(1))  # its page of the disk has room for a few more, and for a part of one
    with no_room(small_disk, 20_000):
        with pytest.raises(OSError) as full:
            for _ in range(10_000):
                writer.metrics(update_metrics(1))
        assert full.value.errno in (errno.ENOSPC, errno.EFBIG)
        writer.finish("failed", "disk_full", "Full.")
    assert run.status().reason == "disk_full" and run.events()[-1].data["reason"] == "disk_full"
    assert run.metrics_path.read_bytes().endswith(b"}\n") and len(run.metrics()) > 1
    assert len(run.metrics_path.read_bytes().splitlines()) == len(run.metrics()), "no torn line is left"


FULL = OSError(errno.ENOSPC, "No space left on device", "/somewhere/secret/file")


def full(*_: object, **__: object) -> None:
    raise FULL


def is_advice(message: object) -> bool:
    return ADVICE in str(message) and "secret" not in str(message) and "Errno" not in str(message)


def test_every_handler_that_fails_for_the_disk_says_so_and_one_that_fails_otherwise_says_where_to_look(caplog) -> None:
    """Gradio alone answers {"error": null}."""

    def stream() -> Iterator[int]:
        yield 1
        raise FULL

    async def coroutine() -> None:
        raise FULL

    rules, answer = access.Access(), {"refused": lambda sentence: {"error": sentence}}
    guarded = [rules.guard(access.Action.WATCH, function, **answer) for function in (full, stream, coroutine)]
    found = [guarded[0](), list(guarded[1]())[-1], run_async(guarded[2]())]
    assert all(is_advice(one["error"]) for one in found)
    with pytest.raises(gr.Error, match=ADVICE):
        rules.guard(access.Action.WATCH, full)()
    assert not caplog.records
    assert rules.guard(access.Action.WATCH, lambda: 1 / 0, **answer)()["error"] == access.FAILED
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("error", [FULL, RuntimeError("I/O error: No space left on device (os error 28)")])
def test_a_model_that_cannot_be_saved_for_want_of_room_gets_the_remedy(error, monkeypatch) -> None:
    def saving(*_: object) -> Iterator[dict[str, object]]:
        raise error
        yield {}

    monkeypatch.setitem(questions.QUESTIONS, "save", saving)
    answers: list[dict[str, object]] = []
    questions.serve(io.StringIO('{"id": 1, "kind": "save"}\n'), lambda **message: answers.append(message), 60)
    assert [answer["event"] for answer in answers] == ["error"] and is_advice(answers[0]["message"])

"""A disk that fills up: a clean end, the last checkpoint whole, a refusal where nothing fits."""

import contextlib
import errno
import gzip
import os
import shutil
import subprocess

import gradio as gr
import pytest
import torch

from playground.config import yaml_io
from playground.runs import launcher
from playground.runs.folder import changes, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.writer import RunWriter
from playground.setup.estimates import disk
from playground.training.models import loading
from playground.ui.auth import access
from tests.faults import resuming
from tests.support import PROJECT, problems_of, small_config, update_metrics, wait_until

SMALL_DISK = 100_000_000


@pytest.fixture
def small_disk(tmp_path):
    """A volume of 100 MB, where this user may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def no_room(small_disk):
    """While the disk is full."""
    ballast = small_disk / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1_000_000)) == 1_000_000 or file.write(bytes(4096)):
            pass
    yield
    ballast.unlink()


def test_a_disk_that_fills_up_ends_the_run_cleanly(small_disk, model, forker, figure):
    config = resuming.config(model, ppo__num_updates=1000)
    run, worker = launcher.start(config, small_disk / "outputs", "full", forker)
    wait_until(lambda: run.latest_checkpoint() or run.status().ended)
    with no_room(small_disk):
        worker.wait(120)
        status, checkpoint = run.status(), run.latest_checkpoint()
    assert (status.state, status.reason) == ("failed", "disk_full"), (status, run.log_tail())
    assert checkpoint is not None
    assert checkpoint.name in status.message
    policy, _ = loading.load(checkpoint, torch.device("cpu"))
    assert all(bool(torch.isfinite(weight).all()) for weight in policy.parameters())
    assert not list(run.checkpoints_path.glob(".*")), "what did not fit is no longer in the way"
    assert [event.data["state"] for event in run.events() if event.kind == "state"][-1] == "failed"
    figure("the disk fills up in mid-run: clean end, checkpoint whole", 1, 1)


def test_a_run_that_cannot_fit_is_refused_before_it_starts(tmp_path, monkeypatch):
    free = shutil._ntuple_diskusage(10**12, 0, 20_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    big = yaml_io.from_dict({"rewards": [{"kind": "length"}], "model": {"source": "gpt2"}, "checkpoint": {"keep": 3}})
    (problem,) = problems_of(disk.check, [big], tmp_path / "not" / "there" / "yet")
    assert problem.field == "checkpoint.keep"
    # 124.4 million weights, two numbers of the optimizer for each, four bytes: 1.5 GB; three kept, the best, one new
    assert "8,242 MB" in problem.message
    assert "20 MB are free" in problem.message
    disk.check([big], tmp_path, held_bytes=9 * 10**9)


def test_what_a_run_writes_down_is_counted_and_not_too_small():
    shipped = PROJECT / "playground" / "ui" / "recorded" / "kinder-reviews"
    packed = [(shipped / f"{name}.jsonl.gz").read_bytes() for name in ("metrics", "samples", "rollouts")]
    written = sum(len(gzip.decompress(lines)) for lines in packed)
    known = RunDirectory(shipped).config()  # without traces, and with the few texts that a recording keeps
    fewer = known.evaluation.model_copy(update={"traces": 0, "rollout_texts": 6})
    plain = known.model_copy(update={"evaluation": fewer})
    assert written < disk.records_bytes(plain) < 3 * written


@pytest.mark.parametrize("way", ["stop", "by force"])
def test_a_paused_run_can_be_ended_on_a_full_disk(small_disk, fake_worker, monkeypatch, way):
    run, process = launcher.start(small_config("listening"), small_disk, "r")
    wait_until(lambda: run.status().phase == "training")
    changes.request_pause(run)
    with no_room(small_disk):
        with pytest.raises(OSError):
            write_atomically(run.path / "notes", "more than nothing")
        changes.request_resume(run)
        assert not (run.control_path / "pause").exists()
        assert (run.control_path / "resume").exists()
        if way == "stop":
            launcher.stop(run)
        else:
            monkeypatch.setattr(RunDirectory, "request_stop", lambda self: write_atomically(self.path / "x", "nothing"))
            assert processes.end(run, grace_seconds=0).signals
        process.wait(60)
        wait_until(lambda: not run.is_alive())
    assert run.status().ended
    assert run.status().reason != "bug"


def test_the_end_can_be_written_on_a_full_disk(small_disk):
    run = RunDirectory.create(small_disk, small_config("x"), "r")
    writer = RunWriter(run, 3)
    writer.reserve()
    writer.set_status(state="running")
    writer.metrics(update_metrics(1))  # its page of the disk has room for a few more, and for a part of one
    with no_room(small_disk):
        with pytest.raises(OSError) as full:
            for _ in range(10_000):
                writer.metrics(update_metrics(1))
        assert full.value.errno == errno.ENOSPC
        writer.finish("failed", "disk_full", "Full.")
    assert (run.status().reason, run.events()[-1].data["reason"]) == ("disk_full", "disk_full")
    assert run.metrics_path.read_bytes().endswith(b"}\n")
    assert len(run.metrics()) > 1
    assert len(run.metrics_path.read_bytes().splitlines()) == len(run.metrics()), "no torn line is left"


def test_a_handler_that_fails_for_the_disk_says_so():
    """Gradio alone answers {"error": null}."""

    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/somewhere/secret/file")

    guarded = access.Access().guard(access.Action.WATCH, full, refused=lambda sentence: {"error": sentence})
    assert "Free some space" in guarded()["error"]
    assert "secret" not in guarded()["error"]
    with pytest.raises(gr.Error, match="Free some space"):
        access.Access().guard(access.Action.WATCH, full)()

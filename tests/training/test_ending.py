"""Each way in which a run can end, by what was raised."""

import errno

import pytest

from playground.errors import InvalidConfig, ModelNotFound, NoRoom, Problem, TrainingDiverged
from playground.runs.folder.exit_reasons import EXIT_REASONS
from playground.runs.folder.writer import RunWriter
from playground.training.process.ending import StopRequested, diagnosis, reported


class OutOfMemoryError(RuntimeError):
    """Named as PyTorch's."""


class PanicError(BaseException):
    """As libraries written in Rust raise it: no Exception."""


def caused(error, cause):
    error.__cause__ = cause
    return error


CASES = [
    (MemoryError(), "out_of_memory", "The machine ran out of memory. Buy less."),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), "out_of_memory", "The machine"),
    (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 5 bytes"), "out_of_memory", "machine"),
    (OutOfMemoryError("CUDA out of memory."), "out_of_gpu_memory", "The GPU ran out of memory. Buy less."),
    (RuntimeError("MPS backend out of memory"), "out_of_gpu_memory", "GPU"),
    (OSError(errno.ENOSPC, "No space left on device"), "disk_full", "The disk is full"),
    (Exception("Error while serializing: I/O error: No space left on device (os error 28)"), "disk_full", "disk"),
    (ModelNotFound("There is no model x."), "model", "There is no model x."),
    (caused(ModelNotFound("Cannot load x: can't"), RuntimeError("can't allocate memory")), "out_of_memory", "machine"),
    (caused(ModelNotFound("Cannot load x"), OSError(errno.ENOSPC, "full")), "disk_full", "disk"),
    (NoRoom([Problem("checkpoint.keep", "it may need 9 MB")]), "disk_full", "it may need 9 MB"),
    (InvalidConfig([Problem("kl.coef", "must be positive.")]), "invalid", "kl.coef: must be positive."),
    # a sentence is no cause
    (InvalidConfig([Problem("prompts.typed", "cannot allocate memory")]), "invalid", "prompts.typed: "),
    (KeyError("a"), "bug", "Unexpected KeyError: 'a'. The full traceback is in worker.log."),
    (PanicError("called unwrap on none"), "bug", "Unexpected PanicError"),
]


@pytest.mark.parametrize(("error", "reason", "words"), CASES)
def test_the_error_that_was_raised_decides_the_reason(error, reason, words):
    told, sentence = diagnosis(error, lambda: "Buy less.")
    assert told == reason
    assert reason in EXIT_REASONS
    assert words in sentence


@pytest.mark.parametrize(
    ("raised", "state", "reason", "message"),
    [
        (None, "finished", "", ""),
        (StopRequested(), "stopped", "stopped", "Stopped after update 4."),
        (KeyboardInterrupt(), "stopped", "stopped", "Stopped after update 4."),
        (StopRequested("time_limit", "Over after update {}."), "stopped", "time_limit", "Over after update 4."),
        (StopRequested("server_lost", "Lost at {}."), "interrupted", "server_lost", "Lost at 4."),
        (TrainingDiverged("The loss is not finite."), "failed", "diverged", "The loss is not finite."),
        (PanicError("at the disco"), "failed", "bug", "Unexpected PanicError: at the disco."),
    ],
)
def test_every_end_is_written(run, capsys, raised, state, reason, message):
    writer = RunWriter(run, 10)
    writer.set_status(state="running", update=4)
    with reported(writer):
        assert (run.path / ".reserve").stat().st_size == 4 * 2**20
        if raised is not None:
            raise raised
    status = run.status()
    assert (status.state, status.reason) == (state, reason)
    assert status.message.startswith(message)
    assert not (run.path / ".reserve").exists(), "it was there for this moment"
    assert capsys.readouterr().out.startswith("--- attempt 1, ")


def test_a_full_disk_is_cleared_of_the_checkpoint_that_did_not_fit(run):
    for name in (".tmp-update-000004-7", ".old-update-000003"):
        (run.checkpoints_path / name).mkdir(parents=True)
    with reported(RunWriter(run, 10)):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert run.status().message.endswith("There is no checkpoint.")
    left = [path.name for path in run.checkpoints_path.iterdir()]
    assert left == [".old-update-000003"], "what was set aside may be the only whole one"

"""The process that computes a job: `python -m playground.worker FOLDER`.

What the folder holds says which job: the training of a policy (a run; a trial is one too), or that of a reward model.
One folder, one lock, one exit reason (training/process/ending.py), and a watch beside the training
(training/process/watch.py) that ensures that it ends when asked to. It never waits for a reader.

The launcher starts it. Without a folder it loads the libraries and waits for a run (`runs.standby`). On ZeroGPU
it is `attempt` that is called. Imports no torch before the page can see that it is alive.
"""

from __future__ import annotations

import faulthandler
import functools
import math
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from playground import redaction, uncollected
from playground.config import RewardTrainingConfig, RunConfig, yaml_io
from playground.errors import LESS_MEMORY, PlaygroundError
from playground.runs import launched, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.folder.processes import STANDBY_VARIABLE
from playground.runs.folder.writer import RunWriter, name_worker
from playground.runs.launched import Launched
from playground.runs.launcher import LOCK_FD_VARIABLE
from playground.runs.reward_models import RewardTraining, StepMetrics
from playground.setup import admission, catalog, checks, estimates
from playground.training.models import time_limit
from playground.training.process import rank_processes
from playground.training.process.ending import STOPPED, StopRequested, leave, reported
from playground.training.process.watch import WorkerWatch

EXIT_CODES = {"finished": 0, "stopped": 3}  # of the state at the end; any other is a failure: 1
UNUSABLE = 2  # the exit code where no run was touched
IDLE_SECONDS = 1800
MOST_PATH_BYTES = 65_536
NOTHING_SAVED = "Stopped at step {}; nothing was saved."


class Job(NamedTuple):
    """What is to be done in a folder. `train` does everything between starting and ending, and may raise what it likes.
    `stopped`: the message of a job that was asked to stop; {} is the update it was at."""

    run: RunDirectory
    train: Callable[[RunWriter, WorkerWatch], None]
    num_updates: int = 0
    stopped: str = STOPPED
    max_minutes: float | None = None
    memory_advice: Callable[[], str] = lambda: LESS_MEMORY


def main(arguments: list[str] | None = None) -> int:
    """Be what the arguments and the environment say. Exit code: 0 finished, 1 failed, 2 nothing was done, 3 stopped."""
    if channel := os.environ.pop(STANDBY_VARIABLE, ""):
        return wait(int(channel))
    words = sys.argv[1:] if arguments is None else arguments
    if len(words) != 1:
        print("usage: python -m playground.worker FOLDER", file=sys.stderr)
        return UNUSABLE
    return work(Path(words[0]))


def work(folder: Path, limited: Callable[[Job], Job] = lambda job: job) -> int:
    """Do the job in a folder, `limited` to what it may take. Exit code: see `main`."""
    try:
        job = limited(job_in(folder))
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    run = job.run
    handed = launcher.adopt_lock()
    member = launched.of_environment(os.environ, by_hand=handed is None)
    launched.hand_down(None)
    if member and member.rank:
        return follow(run, member)
    lock = handed or launcher.take_lock(run)
    if lock is None:
        print(f"Another worker is training {run.id}.", file=sys.stderr)
        return UNUSABLE
    if job.num_updates and not handed and not launcher.open_again(run):
        print(f"{run.id} has finished all its updates.", file=sys.stderr)
        return UNUSABLE
    redaction.cover_streams()
    writer = RunWriter(run, job.num_updates, run.status().attempt)
    time_limit.begin()
    with (
        lock,
        WorkerWatch(writer, job.stopped, job.max_minutes, member) as watch,
        reported(writer, job.stopped, job.memory_advice),
    ):
        job.train(writer, watch)
    time_limit.end()
    return EXIT_CODES.get(writer.status.state, 1)


def follow(run: RunDirectory, member: Launched) -> int:
    """Be another rank than the first of a run, whose folder is only read. It has nothing to save, but where the states
    of training are divided rank 0 cannot save without it: so it ends when rank 0 does. Exit code: see `main`."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    redaction.cover_streams()
    rank_processes.help_as(rank_processes.member_of(run.config(), member))
    return 0


def job_in(folder: Path) -> Job:
    """What is to be done in a folder. Raises: PlaygroundError, if there is no job in it."""
    run = RunDirectory.open(folder)
    if yaml_io.read_yaml(run.config_path, links=False).get("kind") == "reward-model":
        training = RewardTraining.open(folder.parent)
        return Job(training, functools.partial(train_reward_model, training, training.config()), stopped=NOTHING_SAVED)
    config = run.config()
    return Job(
        run,
        functools.partial(train_policy, run, config),
        config.ppo.num_updates,
        max_minutes=config.max_minutes,
        memory_advice=lambda: estimates.remedy(config, run.path.parent)[0],
    )


def train_policy(run: RunDirectory, config: RunConfig, writer: RunWriter, watch: WorkerWatch) -> None:
    """Load the models and drive the trainer, update by update. Raises: whatever happens."""
    between = watch.between

    def show_download(text: str) -> None:
        between()
        if text != writer.status.phase:
            writer.set_status(phase=text)

    held_bytes = sum(path.stat().st_size for path in run.checkpoints_path.rglob("*"))
    admission.fetch(config, run.path.parent, show_download, held_bytes)
    writer.set_status(phase="loading PyTorch")
    if config.by_trl:
        show_one_gpu(config.device)
    with uncollected():
        from playground.training.loop.ranks import OtherLost
        from playground.training.process.session import Session

    with rank_processes.joined(config, between, watch.watch_helpers, watch.launched) as ranks:
        if config.shard != "none" and ranks.count > 1:
            watch.wait_longer()
        ranks.first({"config": config.model_dump(mode="json"), "outputs": str(run.path.parent.resolve())})
        writer.set_status(phase="loading the model")
        with uncollected():  # transformers imports most of what it needs when a model is loaded
            session = Session(run, config, writer, between, ranks)
        session.begin()
        try:
            writer.set_status(phase="answering the fixed prompts")
            session.evaluate_if_due()
            writer.set_status(state="running", phase="training")
            session.train()
        except (StopRequested, OtherLost) as error:
            is_lost = isinstance(error, OtherLost) or error.reason == rank_processes.LOST
            if not session.is_trial and not (is_lost and ranks.divides):
                writer.set_status(phase="saving")
                session.save()
            raise


def train_reward_model(
    training: RewardTraining, config: RewardTrainingConfig, writer: RunWriter, watch: WorkerWatch
) -> None:
    """Train a reward model on pairs and save it. Raises: see `train_policy`."""
    checks.check_reward_training(config)

    def phase(words: str) -> None:
        watch.between()
        writer.set_status(phase=words)

    def record(metrics: StepMetrics, num_steps: int) -> None:
        writer.metrics(metrics)
        writer.set_status(update=metrics.step, num_updates=num_steps)

    checks.fetch(checks.needs(config), phase)
    phase("loading PyTorch")
    show_one_gpu(config.device)
    with uncollected():
        from playground.training.rewards import pair_trainer  # seconds, after the page knows that we are alive

    writer.set_status(state="running")
    report = pair_trainer.train(config, training, phase=phase, record=record, between=watch.between)["report"]
    low, high = report["accuracy_low"], report["accuracy_high"]
    writer.set_status(
        message=f"Right on {report['accuracy']:.1%} of {report['num_pairs']} held-out pairs "
        f"(95 % interval {low:.1%} to {high:.1%})."
    )


def show_one_gpu(device: str) -> None:
    """Let this process see no GPU but the one that was asked for, of several the first: transformers' trainer would
    take all that it sees."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":  # it sees none: Ray says so to a job without GPUs
        return
    if device.startswith("cuda") or device in ("auto", "all"):
        number = int(device.partition(":")[2].partition(",")[0] or 0)
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        inherited = visible[number] if visible[0] and number < len(visible) else str(number)
        os.environ["CUDA_VISIBLE_DEVICES"] = inherited


# -- a worker that waits for its run -----------------------------------------------------------------------------------


def wait(descriptor: int) -> int:
    """Warm up, then be the worker of the run that comes through a socket with its lock and its log. Exit code: see
    `main`; 0 where no run came: the web process has gone, or nothing was started for long."""
    with socket.socket(fileno=descriptor) as channel:
        channel.set_inheritable(False)
        warm_up()
        channel.settimeout(IDLE_SECONDS)
        try:
            path, files, _, _ = socket.recv_fds(channel, MOST_PATH_BYTES, 2)
        except TimeoutError:
            return 0
    if not path:
        return 0
    lock, log = files
    print_into(log)
    os.environ[LOCK_FD_VARIABLE] = str(lock)
    return work(Path(os.fsdecode(path)))


def warm_up() -> None:
    """Load a pocket model: `from_pretrained` imports most of what it needs when it is called."""
    with uncollected():
        import torch

        from playground.training.models import loading
        from playground.training.process import session  # noqa: F401 - the first that a run imports

        loading.load(catalog.model_folder(catalog.MODELS[0].name), torch.device("cpu"))


def print_into(log: int) -> None:
    """From now on what this process prints goes into an open file."""
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


# -- a call for a GPU (ZeroGPU) ----------------------------------------------------------------------------------------


def attempt(folder: str, seconds: float) -> str:
    """Train the run in a folder, which waits in the queue, for at most so many seconds; then it has ended, or its
    weights are saved. Returns its state. The process is a fork of the page (`ui.zero_gpu`), which may be used again.

    Raises: PlaygroundError: there is no run in the folder, or another process is at work in it. OSError.
    """
    run = RunDirectory.open(folder)
    if _take_from_queue(run):
        try:
            print_into(os.open(run.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            work(run.path, lambda job: job._replace(max_minutes=min(job.max_minutes or math.inf, seconds / 60)))
        finally:
            sys.stdout.flush()
            if left := launcher.adopt_lock():  # there was no job that has let go of it
                left.close()
    return run.status().state


def _take_from_queue(run: RunDirectory) -> bool:
    """Take the run out of the queue and its lock for the job, as from a launcher; False if it does not wait there."""
    outputs = run.path.parent
    with launcher.one_at_a_time(outputs):
        if run.id not in queue.waiting(outputs):  # it was stopped meanwhile
            return False
        with open(run.lock_path, "wb", opener=private) as lock:
            launcher.take(lock)
            os.environ[LOCK_FD_VARIABLE] = str(os.dup(lock.fileno()))
        name_worker(run, os.getpid())
        queue.leave(run)
    return True


def be(main: Callable[[], int] = main) -> NoReturn:
    """Make this process a worker from here to its end."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    faulthandler.enable()  # a crash in a library says in the log where it was
    leave(main())


if __name__ == "__main__":
    be()

"""The process that trains one reward model: `python -m playground.training.process.pair_worker FOLDER`.

FOLDER is `training` inside the folder of the reward model (see `runs.reward_models`). It writes status, metrics and
the model, and listens to its control folder; it never waits for a reader. It ends as a run ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playground.config import RewardTrainingConfig
from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining, StepMetrics
from playground.setup import checks
from playground.training.process import job
from playground.training.process.watch import WorkerWatch

STOPPED = "Stopped at step {}; nothing was saved."


def main(arguments: list[str] | None = None) -> int:
    """Train. Exit code: see `process.carry_out`."""
    usage = "python -m playground.training.process.pair_worker FOLDER"
    return job.carry_out(sys.argv[1:] if arguments is None else arguments, usage, job_in)


def job_in(folder: Path) -> job.Job:
    """What is to be done in the folder. Raises: PlaygroundError, if no reward model is to be trained in it."""
    training = RewardTraining.open(folder.parent if folder.name == "training" else folder)
    config = training.config()
    return job.Job(training, lambda writer, watch: train(training, config, writer, watch), stopped=STOPPED)


def train(training: RewardTraining, config: RewardTrainingConfig, writer: RunWriter, watch: WorkerWatch) -> None:
    """Everything between starting and ending.

    Raises:
        StopRequested, PlaygroundError, and whatever the machine throws; `ending.reported` makes an end of each.
    """
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
    from playground.training.rewards import pair_trainer  # seconds, after the page knows that we are alive

    writer.set_status(state="running")
    found = pair_trainer.train(config, training, phase=phase, record=record, between=watch.between)["report"]
    low, high = found["accuracy_low"], found["accuracy_high"]
    writer.set_status(
        message=f"Right on {found['accuracy']:.1%} of {found['num_pairs']} held-out pairs (95 % interval {low:.1%} to "
        f"{high:.1%})."
    )


def show_one_gpu(device: str) -> None:
    """Let this process see no GPU but the one that was asked for; transformers' trainer would take all that it sees."""
    if device.startswith("cuda") or device == "auto":
        number = int(device.partition(":")[2] or 0)
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        inherited = seen[number] if seen[0] and number < len(seen) else str(number)
        os.environ["CUDA_VISIBLE_DEVICES"] = inherited


if __name__ == "__main__":
    job.be(main)

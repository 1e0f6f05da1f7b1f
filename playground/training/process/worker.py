"""The process of one run: `python -m playground.training.process.worker RUN_DIR`.

Loads the models, drives the trainer update by update, writes the run directory, listens to its control folder. It
never waits for a reader. How it can end is told in ending.py, and a watch beside it (watch.py) sees that it does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playground.config import RunConfig
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import checks, estimates
from playground.setup.estimates import disk
from playground.training.process import family, helper, job
from playground.training.process.ending import StopRequested
from playground.training.process.watch import WorkerWatch


def main(arguments: list[str] | None = None) -> int:
    """Run the worker, or where a launcher says that this is not rank 0, help it. Exit code: see `job.carry_out`."""
    if (place := family.launched()) and place.rank:
        return helper.main()
    usage = "python -m playground.training.process.worker RUN_DIR"
    return job.carry_out(sys.argv[1:] if arguments is None else arguments, usage, job_in)


def job_in(folder: Path) -> job.Job:
    """What is to be done in a run's folder. Raises: PlaygroundError, if there is no run in it."""
    run = RunDirectory.open(folder)
    config = run.config()
    return job.Job(
        run,
        lambda writer, watch: train(run, config, writer, watch),
        config.ppo.num_updates,
        max_minutes=config.max_minutes,
        memory_advice=lambda: estimates.remedy(config, run.path.parent)[0],
    )


def train(run: RunDirectory, config: RunConfig, writer: RunWriter, watch: WorkerWatch) -> None:
    """Everything between starting and ending.

    Raises:
        StopRequested, PlaygroundError, and whatever the machine throws; `reported` turns each into a terminal state.
    """
    checks.check(config, run.path.parent)
    between = watch.between

    def tell_download(text: str) -> None:
        between()
        if text != writer.status.phase:
            writer.set_status(phase=text)

    checks.fetch(checks.needs(config, run.path.parent), tell_download)
    held = sum(path.stat().st_size for path in run.checkpoints_path.rglob("*"))
    disk.check([config], run.path.parent, held)
    writer.set_status(phase="loading PyTorch")
    from playground.training.process.session import Session
    from playground.training.ranks.ranks import OtherLost

    with family.joined(config, between, watch.watch_helpers) as ranks:
        ranks.first({"config": config.model_dump(mode="json"), "outputs": str(run.path.parent.resolve())})
        writer.set_status(phase="loading the model")
        session = Session(run, config, writer, between, ranks)
        session.begin()
        try:
            writer.set_status(phase="answering the fixed prompts")
            session.evaluate_if_due()
            writer.set_status(state="running", phase="training")
            session.train()
        except (StopRequested, OtherLost):
            if not session.is_trial:
                writer.set_status(phase="saving")
                session.save()
            raise


if __name__ == "__main__":
    job.be(main)

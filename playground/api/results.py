"""What training gives in Python: a run, a sweep, a reward model, each a handle on its folder. What it shows is what is
there now; nothing is kept in it but the process that this one has started.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from playground import notebook
from playground.analysis import before_after, frames
from playground.analysis.run_report import RunReport
from playground.api.inputs import checked, overrides
from playground.cli import following, outgoing, reward_model_commands, run_commands, sweep_commands
from playground.errors import InvalidConfig, Problem, RunFailed
from playground.exports import saving
from playground.runs import fork as fork_run
from playground.runs import launcher
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, Status
from playground.runs.reward_models import RewardTraining, StepMetrics
from playground.runs.supervisor import Supervisor
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_progress import SweepProgress, progress_of
from playground.setup.limits import MOST_SAMPLES

if TYPE_CHECKING:
    import pandas as pd

FIRST = ["score_mean", "kl_to_reference", "kl_coef"]  # columns that are in view however narrow it is


class Run:
    """A run on disk. What it shows is what is there now: of one that trains, its records so far."""

    def __init__(self, folder: RunDirectory, process: subprocess.Popen[bytes] | None = None) -> None:
        self._folder, self._process = folder, process

    @property
    def id(self) -> str:
        """The name of its folder."""
        return self._folder.id

    @property
    def path(self) -> Path:
        """Its folder (docs/run-format.md)."""
        return self._folder.path

    @property
    def status(self) -> Status:
        """Where it is: `state`, `message`, `update` of `num_updates`."""
        return self._folder.status()

    @property
    def metrics(self) -> pd.DataFrame:
        """A row for each update, indexed by it. Scores in standard deviations (`score_mean`), KL in nats for each
        completion (`kl_to_reference`), `seconds` since the start; all columns are in docs/definitions.md."""
        table = frames.metrics(self._folder).set_index("update")
        return table[[*FIRST, *table.columns.difference(FIRST, sort=False)]]

    @property
    def samples(self) -> pd.DataFrame:
        """A row for each completion of a fixed prompt at each evaluation: `stage` is before, during or after."""
        return frames.latest(self._folder.samples()).reset_index(drop=True)

    @property
    def counts(self) -> pd.DataFrame:
        """A row for each behaviour at each evaluation, indexed by update: `count` of how many (`of`), `share` from 0
        to 1, and its 95 % interval from `low` to `high`."""
        return frames.shares(RunReport.of(self._folder).behaviours)

    def compare(self, other: Run | None = None) -> pd.DataFrame:
        """The same prompts with the same seeds, before training and at the newest evaluation; with another run, that
        one's newest evaluation (`other`) and this one's (`this`).

        A row for each pair: texts, scores and their `gain` (standard deviations), `kl` of the later text (nats), and
        what is counted of both, yes or no: `positive_before`, `positive_after`; the mean of such a column is a share.
        """
        config, samples = self._folder.config(), self._folder.samples()
        if other is None:
            return frames.pairs(before_after.pairs(samples), config, ("before", "after"))
        if not isinstance(other, Run):
            raise InvalidConfig([Problem("other", "must be a run: playground.open_run opens one by its folder.")])
        joined = before_after.across(_newest(other._folder.samples()), _newest(samples))
        return frames.pairs(joined, config, ("other", "this"))

    def diagnose(self) -> pd.DataFrame:
        """A row for each check (docs/diagnosis.md), those that are lit first: its `state`, the `evidence`, the likely
        `cause`, and the `remedy`."""
        import pandas as pd

        rows = [alert.as_data() for alert in RunReport.of(self._folder).checks]
        return pd.DataFrame(rows).set_index("name")[["label", "state", "evidence", "cause", "remedy", "updates"]]

    @checked
    def generate(
        self, prompt: str, n: Annotated[int, Field(ge=1, le=MOST_SAMPLES)] = 4, seed: Annotated[int, Field(ge=0)] = 0
    ) -> pd.DataFrame:
        """`n` completions of a prompt before and after training, with the same random numbers: a row for each pair,
        with their scores and the `kl` of the second."""
        import pandas as pd

        answers = [*run_commands.completions(self.path.resolve(), prompt, n, seed, self.path.parent)]
        before, after = ([answer for answer in answers if answer.side == side] for side in ("reference", "policy"))
        return pd.DataFrame(
            {
                "before": [answer.completion for answer in before],
                "after": [answer.completion for answer in after],
                "score_before": [answer.score for answer in before],
                "score_after": [answer.score for answer in after],
                "kl": [answer.kl for answer in after],
            }
        )

    @checked
    def save(
        self,
        to: str | Path | None = None,
        kind: saving.Kind | None = None,
        *,
        checkpoint: str | None = None,
        precision: saving.Precision | None = None,
    ) -> Path:
        """Save the policy as a folder that transformers or peft loads, and give that; by default it is in `saved` of
        the outputs folder. `kind`: "merged", or "adapter" for LoRA's weights alone."""
        return outgoing.saved(self._folder, Path(to) if to else None, kind, checkpoint, precision).folder

    @checked
    def export(self, kind: outgoing.Form, to: str | Path | None = None) -> str:
        """The run as "html", "trl", "yaml", "csv", "samples" or "behaviours": the text, or with `to` the file it is
        written to. As "figures": the folder of tables and charts. As "tensorboard", "trackio" or "wandb": where its
        history is."""
        return outgoing.exported(self._folder, kind, Path(to) if to else None)[0]

    @checked
    def resume(self, wait: bool = True) -> Run:
        """Let it go on: one that has ended, from its newest checkpoint; one that is paused, at once."""
        Supervisor(self.path.parent).look()
        if self._folder.is_at_work():
            changes.request_resume(self._folder)
        else:
            _, self._process = launcher.resume(self._folder)
        if wait:
            return self.wait()
        return self

    @checked
    def fork(self, at: int, *, run_id: str | None = None, wait: bool = True, **settings: Any) -> Run:
        """A new run that goes on from this one's checkpoint after update `at`, with other settings."""
        Supervisor(self.path.parent).look()
        run = Run(*fork_run.fork(self._folder, at, overrides(settings), run_id))
        if wait:
            return run.wait()
        return run

    def wait(self) -> Run:
        """Follow it to its end with a progress bar; interrupting is as with `train`. Raises: RunFailed."""
        if self._process or not self.status.ended:  # one that was started here is shown also if it was quick
            with contextlib.closing(notebook.ProgressBar(self.status)) as bar:
                following.follow(self._folder, self._process, bar)
        ended = self.status
        if ended.ended:
            self._process = None
        if ended.state in ("failed", "interrupted"):
            again = f'What it made is kept: playground.open_run("{self.path}"). Its log is worker.log there.'
            raise RunFailed(f"{self.id}: {ended.state}. {ended.message} {again}")
        return self

    def stop(self) -> None:
        """Ask it to stop, which it does within one micro-batch and keeps what it has; `wait` waits for that."""
        if not self.status.ended:
            launcher.stop(self._folder)

    @checked
    def show(self, height: Annotated[int, Field(ge=100)] = notebook.HEIGHT_PIXELS) -> notebook.Shown:
        """This run live, in a frame of `height` pixels; its cross leads to the whole page. Where no page can be served,
        or none can be reached from the browser, its curves as a picture."""
        return notebook.shown(self._folder, repr(self), height)

    def __repr__(self) -> str:
        report = RunReport.of(self._folder)
        status = report.status
        facts = (f"{report.title} ({self.id}): {status.state}", f"update {status.update} of {status.num_updates}.")
        return " ".join(filter(None, (", ".join(facts), status.message, report.wrong_on_purpose, report.sentence)))

    def _repr_html_(self) -> str:
        """In a cell: the live page of a run that trains, else the run in words."""
        if self.status.ended:
            return notebook.paragraph(repr(self))
        return self.show()._repr_html_()


class SweepRuns:
    """Runs that differ in a few settings."""

    def __init__(self, name: str, outputs: Path) -> None:
        self.name, self._outputs = name, outputs

    @property
    def runs(self) -> list[Run]:
        """Its runs, in their order, as far as they are made."""
        return [Run(run) for run in sweep_record.runs_of(self._outputs, self._record)]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each setting: means over its finished seeds (`score`, `kl`, ...), and half of their 95 % intervals
        (`score_half`, ...)."""
        import pandas as pd

        rows = []
        for row in sweep_commands.table_data(self._outputs, self._record):
            columns = {**row.pop("setting"), "runs": row.pop("runs"), "finished": row.pop("finished")}
            for name, figure in row.items():
                columns |= {name: figure and figure.mean, f"{name}_half": figure and figure.half}
            rows.append(columns)
        return pd.DataFrame(rows)

    @property
    def status(self) -> SweepProgress:
        """How many of its runs are in which state; `status.state` and `status.words` of all of them."""
        return progress_of(self._record, sweep_record.statuses(self._outputs, self._record))

    def wait(self) -> SweepRuns:
        """Follow it to the end of all its runs."""
        following.follow_sweep(self._record, self._outputs, as_json=False)
        return self

    def stop(self) -> None:
        """Ask all its runs to stop."""
        sweep_making.stop_all(self._outputs, self._record)

    @property
    def _record(self) -> sweep_record.Sweep:
        return sweep_record.find(self._outputs, self.name)

    def __repr__(self) -> str:
        return f"{self.name}: {self.status.words}."


class TrainedReward:
    """A reward model that is or was trained here. It can be the reward of `train`."""

    def __init__(self, training: RewardTraining, process: subprocess.Popen[bytes] | None = None) -> None:
        self._training, self._process = training, process

    @property
    def name(self) -> str:
        """By which settings name it."""
        return self._training.id

    @property
    def path(self) -> Path:
        """Its folder, which transformers loads."""
        return self._training.folder

    @property
    def status(self) -> Status:
        return self._training.status()

    @property
    def report(self) -> dict[str, Any] | None:
        """How often it is right on held-out pairs, and more; None before it has ended."""
        card = self._training.card()
        return card and card["report"]

    def as_reward(self) -> dict[str, Any]:
        """What it is among the `rewards` of a run."""
        return {"kind": "model", "source": self.name}

    def wait(self) -> TrainedReward:
        """Follow it to its end. Raises: RunFailed."""
        if not self.status.ended:
            display, outputs = following.Display(False, reward_model_commands.figures, "step"), self.path.parents[1]
            following.follow(self._training, self._process, display, StepMetrics, outputs)
        if self.status.state in ("failed", "interrupted"):
            raise RunFailed(f"{self.name}: {self.status.state}. {self.status.message}")
        return self

    def stop(self) -> None:
        """Ask it to stop; then nothing is saved."""
        self._training.request_stop()

    def __repr__(self) -> str:
        right = ""
        if self.report is not None:
            right = f", right on {self.report['accuracy']:.1%} of held-out pairs"
        return f"{self.name}: {self.status.state}{right}"


def _newest(samples: Sequence[Sample]) -> list[Sample]:
    last = max((item.update for item in samples), default=0)
    return [item for item in samples if item.update == last]

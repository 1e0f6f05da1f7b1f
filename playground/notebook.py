"""Runs in a notebook or a script of one's own (docs/notebook.md): `playground.train` and `playground.open_run` give a
`Run`, whose records are DataFrames and whose page stands below the cell.

The worker, the waiting and the checks are those of the command line. The page, and with it gradio, is imported when a
run is shown; it is served by this process until this process ends.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from playground import cli
from playground.analysis import before_after, frames
from playground.cli import following
from playground.cli.arguments import DEFAULT_OUTPUTS, find_run
from playground.cli.terminal import number
from playground.errors import InvalidConfig, PlaygroundError, Problem, RunFailed
from playground.exports import curves
from playground.exports.report import Report
from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, Status, UpdateMetrics

if TYPE_CHECKING:
    import pandas as pd

    from playground.ui.demo import Demo

HEIGHT_PIXELS = 900
FIRST = ["score_mean", "kl_to_reference", "kl_coef"]  # columns that are in view however narrow it is
PANELS = 3  # of the picture: behaviours, score and distance; more would be small
# Whose pages may show ours in a frame: a notebook server on this machine; on Colab, its page and the frames in it.
NOTEBOOKS = "http://localhost:* http://127.0.0.1:*"
COLAB = "https://colab.research.google.com https://*.googleusercontent.com https://*.colab.dev"
_pages: dict[Path, Demo] = {}  # that this process serves, by their outputs folders


def train(
    preset: str | Path,
    set: Mapping[str, Any] | None = None,
    *,
    outputs: str | Path | None = None,
    run_id: str | None = None,
    wait: bool = True,
) -> Run:
    """Train, with a progress bar. To interrupt the kernel asks the run to stop; to do it twice leaves it to itself.

    Args:
        preset: the name of a preset, or a YAML file. set: other settings by their dotted names, {"kl.coef": 0.2}.
        outputs: the folder for runs; default: what PLAYGROUND_OUTPUTS says, else `outputs` here.
        run_id: the name of the run's folder; generated if not given.
        wait: False gives a run in the background, which lives on when this process ends; see `Run.wait`.

    Raises: PlaygroundError: what cannot be carried out, with every problem at once. RunFailed, if its run fails.
    """
    if not isinstance(set, Mapping | None):
        raise InvalidConfig([Problem("set", 'must be a dictionary such as {"kl.coef": 0.2}.')])
    changes = [f"{name}={json.dumps(value, default=_plain)}" for name, value in (set or {}).items()]
    started = cli.start(str(preset), changes, _outputs(outputs), run_id)
    run = Run(started.run, started.process)
    return run.wait() if wait else run


def open_run(run: str | Path, outputs: str | Path | None = None) -> Run:
    """A run that there is, by its folder, or by its id in the outputs folder. Raises: RunNotFound."""
    return Run(find_run(str(run), _outputs(outputs)))


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
        completion (`kl_to_reference`), `seconds` since the start; all columns are in docs/run-format.md."""
        found = frames.metrics(self._folder).set_index("update")
        return found[[*FIRST, *found.columns.difference(FIRST, sort=False)]]

    @property
    def samples(self) -> pd.DataFrame:
        """A row for each completion of a fixed prompt at each evaluation: `stage` is before, during or after."""
        return frames.latest(self._folder.samples()).reset_index(drop=True)

    @property
    def counts(self) -> pd.DataFrame:
        """A row for each behaviour at each evaluation, indexed by update: `count` of how many (`of`), `share` from 0
        to 1, and its 95 % interval from `low` to `high`."""
        return frames.shares(Report.of(self._folder).behaviours)

    def compare(self, other: Run | None = None) -> pd.DataFrame:
        """The same prompts with the same seeds, before training and at the newest evaluation; with another run, that
        one's newest evaluation (`other`) and this one's (`this`).

        A row for each pair: texts, scores and their `gain` (standard deviations), `kl` of the later text (nats), and
        what is counted of both, yes or no: `positive_before`, `positive_after`; the mean of such a column is a share.
        """
        config, samples = self._folder.config(), self._folder.samples()
        if other is None:
            return frames.pairs(before_after.pairs(samples), config, ("before", "after"))
        joined = before_after.across(_newest(other._folder.samples()), _newest(samples))
        return frames.pairs(joined, config, ("other", "this"))

    def wait(self) -> Run:
        """Follow it to its end with a progress bar; interrupting is as with `train`. Raises: RunFailed."""
        if not self.status.ended:
            with contextlib.closing(ProgressBar(self.status)) as bar:
                following.follow(self._folder, self._process, bar)
        ended = self.status
        if ended.state in ("failed", "interrupted"):
            again = f'What it made is kept: playground.open_run("{self.path}"). Its log is worker.log there.'
            raise RunFailed(f"{self.id}: {ended.state}. {ended.message} {again}")
        return self

    def stop(self) -> None:
        """Ask it to stop, which it does within one micro-batch and keeps what it has; `wait` waits for that."""
        if not self.status.ended:
            launcher.stop(self._folder)

    def show(self, height: int = HEIGHT_PIXELS) -> Shown:
        """The page with this run in view, in a frame of `height` pixels. Where no page can be served, or none can be
        reached from the browser, its curves as a picture."""
        report = Report.of(self._folder)
        panels = curves.panels(report)[:PANELS] if report.metrics else []
        picture = curves.png(panels, report.wrong_on_purpose) if panels else b""
        try:
            address = _address_of_page(self.path.resolve().parent)
        except (PlaygroundError, ImportError, OSError) as error:
            print(f"The page could not be served, so this is a picture: {error}", file=sys.stderr)
            return Shown(repr(self), "", picture, height)
        if "google.colab" in sys.modules:
            _show_on_colab(address, f"/?run={self.id}", height)
            return Shown(repr(self), "", b"", height)
        return Shown(repr(self), f"{address}?run={self.id}", picture, height)

    def __repr__(self) -> str:
        report = Report.of(self._folder)
        status = report.status
        facts = (f"{report.title} ({self.id}): {status.state}", f"update {status.update} of {status.num_updates}.")
        return " ".join(filter(None, (", ".join(facts), status.message, report.wrong_on_purpose, report.sentence)))

    def _repr_html_(self) -> str:
        return Markup("<p>{}</p>").format(repr(self))


class Shown(NamedTuple):
    """What `Run.show` gives: a notebook draws its HTML, elsewhere it is the run in words with the page's address."""

    words: str
    address: str  # empty where no page is served
    picture: bytes  # PNG, of the run at that moment; empty where there is nothing to draw yet
    height: int

    def _repr_html_(self) -> str:
        """The page; within it, for who cannot reach it (a kernel elsewhere, a notebook that is read), a picture."""
        data = base64.b64encode(self.picture).decode()
        words = escape(self.words)
        picture = f'<img style="max-width: 100%" alt="{words}" src="data:image/png;base64,{data}">' if data else words
        if not self.address:
            return f"<p>{picture}</p>"
        size = f'width="100%" height="{self.height}"'
        return f'<object type="text/html" data="{escape(self.address)}" {size} title="{words}">{picture}</object>'

    def __repr__(self) -> str:
        return f"{self.words} {self.address}".strip()


class ProgressBar(following.Display):
    """Shows `following.follow` how far a run is: as a widget where the notebook has them (ipywidgets), else as text."""

    def __init__(self, status: Status) -> None:
        super().__init__(as_json=False, figures=self._advance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are no widgets
            from tqdm.auto import tqdm

            self._bar: Any = tqdm(total=status.num_updates, desc=status.phase or status.state, unit="update")

    def tell(self, line: str, message: dict[str, Any] | None, key: str = "") -> None:
        """What it does now goes in front of the bar. An update, which has no key, has moved it."""
        if key and key != self._known:
            self._known = key
            self._bar.set_description(line)

    def _advance(self, records: list[UpdateMetrics], status: Status) -> str:
        last = records[-1]
        kl = f"{number(last.kl_to_reference)} nats"
        self._bar.set_postfix({"batch's score": number(last.score_mean, sign=True), "KL": kl}, refresh=False)
        self._bar.update(last.update - self._bar.n)
        return ""

    def close(self) -> None:
        """Leave it as it is."""
        self._bar.close()


def _outputs(folder: str | Path | None) -> Path:
    return Path(folder or os.environ.get("PLAYGROUND_OUTPUTS") or DEFAULT_OUTPUTS)


def _plain(value: Any) -> Any:
    """A figure of NumPy's, or anything else that JSON has no word for."""
    return value.item() if hasattr(value, "item") else str(value)


def _newest(samples: Sequence[Sample]) -> list[Sample]:
    last = max((item.update for item in samples), default=0)
    return [item for item in samples if item.update == last]


def _address_of_page(outputs: Path) -> str:
    """Where this process serves the page of an outputs folder, from the first time that it is asked."""
    if outputs not in _pages:
        from playground.ui.server import new_demo  # gradio: seconds

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        on_colab = "google.colab" in sys.modules
        if on_colab:
            os.environ["PLAYGROUND_HOSTS"] = _name_on_colab(port)
        demo = _pages[outputs] = new_demo(outputs, "local")
        demo.serving.access.framed_by = COLAB if on_colab else NOTEBOOKS
        demo.launch(server_port=port, share=False, inline=False, quiet=True, prevent_thread_lock=True)
    return str(_pages[outputs].local_url)


@atexit.register
def close_pages() -> None:
    """End the pages that this process serves. Their runs go on."""
    while _pages:
        _pages.popitem()[1].close(verbose=False)


def _name_on_colab(port: int) -> str:
    """The host name under which a browser reaches a port of this machine through Colab."""
    from google.colab.output import eval_js

    return urlsplit(eval_js(f"google.colab.kernel.proxyPort({port})")).hostname or ""


def _show_on_colab(address: str, path: str, height: int) -> None:
    from google.colab import output

    output.serve_kernel_port_as_iframe(urlsplit(address).port, path=path, height=str(height))

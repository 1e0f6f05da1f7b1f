"""What a run looks like in a notebook: its progress bar, and its live page below the cell. `api` calls it.

The page, and with it gradio, is imported when a run is shown; it is served by this process until this process ends.
"""

from __future__ import annotations

import atexit
import base64
import os
import socket
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from playground import uncollected
from playground.analysis.run_report import RunReport
from playground.cli import following
from playground.cli.terminal import number
from playground.errors import PlaygroundError
from playground.exports import curves
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status, UpdateMetrics

if TYPE_CHECKING:
    from playground.ui.demo import Demo

HEIGHT_PIXELS = 900
FIRST = ["score_mean", "kl_to_reference", "kl_coef"]  # columns that are in view however narrow it is
PANELS = 3  # of the picture: behaviours, score and distance; more would be small
# Whose pages may show ours in a frame: a notebook server on this machine; on Colab, its page and the frames in it.
NOTEBOOKS = "http://localhost:* http://127.0.0.1:*"
COLAB = "https://colab.research.google.com https://*.googleusercontent.com https://*.colab.dev"
_pages: dict[Path, Demo] = {}  # that this process serves, by their outputs folders


def paragraph(words: str) -> str:
    """Words for a cell."""
    return Markup("<p>{}</p>").format(words)


def shown(run: RunDirectory, words: str, height: int) -> Shown:
    """The page with a run in view, or its curves. `words`: the run in words."""
    report, view = RunReport.of(run), f"run={run.id}&view=presentation"  # the run alone; its cross shows the whole page
    panels = curves.panels(report)[:PANELS] if report.metrics else []
    picture = curves.png(panels, report.wrong_on_purpose) if panels else b""
    try:
        address = _address_of_page(run.path.resolve().parent)
    except (PlaygroundError, ImportError, OSError) as error:
        print(f"The page could not be served, so this is a picture: {error}", file=sys.stderr)
        return Shown(words, "", picture, height)
    if "google.colab" in sys.modules:
        _show_on_colab(address, f"/?{view}", height)
        return Shown(words, "", b"", height)
    return Shown(words, f"{address}?{view}", picture, height)


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


def _address_of_page(outputs: Path) -> str:
    """Where this process serves the page of an outputs folder, from the first time that it is asked."""
    if outputs not in _pages:
        with uncollected():
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

"""What a run can be downloaded as from the page, and one request for such a file or for data. `routes` serves them."""

from __future__ import annotations

import dataclasses
import io
import itertools
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.requests import Request

from playground import exports
from playground.analysis.run_report import RunReport
from playground.errors import RunNotFound
from playground.exports import csv_tables, figures, html_report
from playground.exports.figures import RunGroup
from playground.runs.folder.directory import RunDirectory
from playground.runs.sweeps import sweep_record
from playground.setup import checks
from playground.ui.auth.access import Access, Action, Role
from playground.ui.feed.compare_serializer import MAX_RUNS
from playground.ui.feed.feed import Hub

EXPORTS = {"html": ".html", "yaml": ".yaml", "trl": ".py", "replay": "-replay.html"}  # kind -> how its file's name ends


class RouteCall(NamedTuple):
    """One request, for the functions that answer it in a thread."""

    request: Request
    hub: Hub
    access: Access

    def part(self, name: str) -> Any:
        """A part of the path."""
        return self.request.path_params[name]

    @property
    def run(self) -> RunDirectory:
        """The run that the path names. Raises: RunNotFound."""
        return self.hub.find(self.part("run_id"))

    @property
    def recorded(self) -> bool:
        """Whether it is a recording that ships."""
        return self.hub.shipped(self.part("run_id")) is not None

    def number(self, name: str) -> int | None:
        """An entry of the query that is a whole number."""
        text = self.request.query_params.get(name, "")
        if text.isdecimal() and len(text) < 12:
            return int(text)
        return None


def export(call: RouteCall) -> str:
    """A run as a report, as settings for our own command or as a script for TRL; paths are for who may know them."""
    run, kind = call.run, call.part("kind")
    config = run.config()
    if call.access.caller(call.request).role is not Role.HOST:
        config = checks.without_folders(config)
    if kind == "html":
        return html_report.page(dataclasses.replace(RunReport.of(run), config=config))
    if kind == "yaml":
        return exports.yaml_text(config, f"{run.id.strip('_')}.yaml")
    if kind == "trl":
        return exports.trl_script(config, run.events())
    raise RunNotFound(f"A run can be exported as {', '.join(EXPORTS)}, not as `{kind[:20]}`.")


def charts(call: RouteCall) -> bytes:
    """Some runs (`?runs=a,b`) or a sweep (`?sweep=`) as tables, or everything in a zip."""
    names = dict.fromkeys(filter(None, call.request.query_params.get("runs", "").split(",")))
    if names:
        group = RunGroup.of_runs([call.hub.find(name) for name in [*names][:MAX_RUNS]])
    else:
        sweep = sweep_record.find(call.hub.outputs, call.request.query_params.get("sweep", ""))
        group = RunGroup.of_sweep(call.hub.outputs, sweep)
    kind, contents = call.part("kind"), figures.files(group)
    if kind != "charts.zip":
        tables = dict(itertools.islice(contents, 2))
        if kind not in tables:
            raise RunNotFound(f"Runs are taken away as {', '.join(tables)} or charts.zip, not as `{kind[:20]}`.")
        return tables[kind]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents:
            file.writestr(name, content)
    return packed.getvalue()


FILES: dict[str, tuple[Callable[[RouteCall], str], Action]] = {
    "metrics.csv": (lambda call: csv_tables.metrics_csv(RunReport.of(call.run)), Action.EXPORT),
    "samples.csv": (lambda call: csv_tables.samples_csv(RunReport.of(call.run)), Action.EXPORT),
    "export/{kind}": (export, Action.EXPORT),
    "log": (lambda call: call.run.log_tail() or "The log is empty.", Action.LOG),
}

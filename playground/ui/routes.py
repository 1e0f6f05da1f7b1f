"""Our own HTTP routes beside Gradio's: the live feed, what Compare and Runs read, static files, BokehJS.

All of them only read (`/host` sets a cookie). Whatever changes something (start, stop, delete) goes through Gradio's
events. Each asks `access` whether its caller may; run ids are checked by `runs.history` before they touch a path. What
reads a whole run is a plain function, called in threads of its own: of DATA (sent as JSON) or of FILES. What reads the
live feed is a method of `Views`. Knows Starlette and `feed`; nothing of gradio's components. `server` calls it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib.metadata
import importlib.util
import re
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from playground import exports
from playground.errors import InvalidConfig, NotAllowed, PlaygroundError, RunNotFound, TooManyCalls
from playground.exports import csv_tables, html_report
from playground.exports.report import Report
from playground.runs import history, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import ScoreScale
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks, describe, devices
from playground.ui import own_files
from playground.ui.auth.access import Access, Action, Role
from playground.ui.feed import compare_serializer, insight_serializer, machine, run_serializer, run_state
from playground.ui.feed.feed import Hub
from playground.ui.feed.run_feed import RunFeed
from playground.ui.feed.run_serializer import encode
from playground.ui.rewards import reward_data
from playground.ui.runs import history_data, sweep_data, token_part, trace_part
from playground.ui.train import outcome_part

BOKEH_FILE = re.compile(r"bokeh(-api)?\.min\.js")
HOME_SECONDS = 0.5
READERS = 2  # threads
EXPORTS = {"html": "html", "yaml": "yaml", "trl": "py"}  # kind -> file ending
Handler = Callable[[Request], Awaitable[Response]]
STATUS = {TooManyCalls: 429, NotAllowed: 403, RunNotFound: 404}  # of other errors: 409
T = TypeVar("T")


class Number(IntegerConvertor):
    """A whole number in an address. One of thousands of digits would be an error before anybody is asked whether its
    sender may."""

    regex = "[0-9]{1,12}"


register_url_convertor("number", Number())


class RouteCall(NamedTuple):
    """One request, for the functions that answer it in a thread."""

    request: Request
    hub: Hub
    access: Access

    @property
    def id(self) -> str:
        """The run that the path names."""
        return str(self.request.path_params["run_id"])

    @property
    def run(self) -> RunDirectory:
        """That run. Raises: RunNotFound."""
        return self.hub.find(self.id)

    @property
    def recorded(self) -> bool:
        """Whether it is a recording that ships."""
        return self.id in self.hub.recorded

    def part(self, name: str) -> Any:
        """Another part of the path."""
        return self.request.path_params[name]

    def numbers(self, name: str) -> list[int]:
        """The whole numbers of an entry of the query."""
        texts = self.request.query_params.get(name, "").split(",")
        return [int(text) for text in texts if text.isdecimal() and len(text) < 12]


def compare(asked: RouteCall) -> dict[str, Any]:
    """One run at one moment against before training, or (`?with=`) against another run at its end; all pairs."""
    run, config = asked.run, asked.run.config()
    other = None
    if with_id := asked.request.query_params.get("with"):
        beside = asked.hub.find(with_id)
        theirs = beside.config()
        wrong = describe.wrong_on_purpose(theirs)
        names = {"id": with_id, "wrong_on_purpose": wrong, **run_serializer.names(theirs, beside.label())}
        other = compare_serializer.Other(names, beside.samples(), describe.scores_differ([config, theirs]))
    update = next(iter(asked.numbers("update")), None)
    return {
        "run": run_serializer.run_summary(asked.id, config, run.label(), recorded=asked.recorded),
        "state": run.status().state,
        "knows": next((one.knows for one in catalog.MODELS if one.name == config.model.source), ""),
        **compare_serializer.comparison(run.samples(), config, update, other),
    }


def outcome(asked: RouteCall) -> dict[str, Any]:
    """What the run came to: the plateau, the two perplexities, what it cost."""
    weights = asked.run.latest_checkpoint() is not None  # not known when the page began to watch a run
    return {**outcome_part.outcome(Report.of(asked.run)), "weights": weights}


def export(asked: RouteCall) -> str:
    """A run written down for use elsewhere: `html` as a report to read, `yaml` for our own command, `trl` as a script
    for TRL. Paths of this machine are for who may know them."""
    run, kind = asked.run, asked.part("kind")
    is_host = asked.access.caller(asked.request).role is Role.HOST
    config = run.config() if is_host else checks.without_folders(run.config())
    if kind == "html":
        return html_report.page(dataclasses.replace(Report.of(run), config=config))
    if kind == "yaml":
        return exports.yaml_text(config, f"{run.id.strip('_')}.yaml")
    if kind == "trl":
        return exports.trl_script(config, ScoreScale.of(run.events()))
    raise RunNotFound(f"A run can be exported as {', '.join(EXPORTS)}, not as `{kind[:20]}`.")


def metrics_csv(asked: RouteCall) -> str:
    """All metrics as a table for a spreadsheet, at full length and precision."""
    run = asked.run
    return csv_tables.metrics_csv(run.config(), run.metrics(), run.events(), run.evaluations())


DATA: dict[str, Callable[[RouteCall], Any]] = {
    "_runs": lambda asked: history_data.history_data(asked.hub.outputs),
    "_sweeps/{name}": lambda asked: sweep_data.detail(asked.hub.outputs, asked.part("name"), asked.numbers("shown")),
    "_rewards": lambda asked: reward_data.overview(asked.hub.outputs),
    "_rewards/{name}": lambda asked: reward_data.detail(
        asked.hub.outputs, asked.part("name"), with_log=asked.access.may(asked.request, Action.LOG)
    ),
    "{run_id}/compare": compare,
    "{run_id}/trace/{update:number}": lambda asked: trace_part.trace_data(asked.run, asked.part("update")),
    "{run_id}/tokens/{prompt_id:number}": lambda asked: token_part.looks(
        asked.run, asked.part("prompt_id"), next(iter(asked.numbers("seed")), None), recorded=asked.recorded
    ),
    "{run_id}/outcome": outcome,
    "{run_id}/resume": lambda asked: run_state.resume_offer(asked.run),
}
FILES: dict[str, tuple[Callable[[RouteCall], str], Action]] = {
    "metrics.csv": (metrics_csv, Action.EXPORT),
    "samples.csv": (lambda asked: csv_tables.samples_csv(asked.run.samples(), asked.run.config()), Action.EXPORT),
    "export/{kind}": (export, Action.EXPORT),
    "log": (lambda asked: asked.run.log_tail() or "The log is empty.", Action.LOG),
}


def routes(hub: Hub, access: Access | None = None, service: ModelService | None = None) -> list[BaseRoute]:
    """All routes, for `launch(app_kwargs={"routes": ...})`."""
    access = access or Access()
    views = Views(hub, access, service)
    watched: dict[str, Handler] = {
        "/live/_access": views.access_data,
        "/live/_home": views.home,
        "/live/_overlay": views.overlay,
        **{f"/live/{path}": views.data(read) for path, read in DATA.items()},
        "/live/{run_id}": views.live,
        "/live/{run_id}/poll": views.poll,
        "/live/{run_id}/moment/{update:number}": views.moment,
        "/live/{run_id}/frontier": views.frontier,
        "/playground/bokeh/{version}/{name}": bokeh_file,
        "/host": access.enter,
    }
    table = [(path, handler, Action.WATCH) for path, handler in watched.items()]
    table.append(("/live/{run_id}/what-if/{update:number}", views.what_if, Action.ASK))
    table += [(f"/live/{{run_id}}/{path}", views.file(read), action) for path, (read, action) in FILES.items()]
    found: list[BaseRoute] = [Route(path, _polite(access.route(action, handler))) for path, handler, action in table]
    return [*found, Mount("/playground/static", own_files.OwnFiles(directory=own_files.STATIC))]


class Views:
    """The handlers; they share one hub."""

    def __init__(self, hub: Hub, access: Access, service: ModelService | None = None) -> None:
        self.hub, self.access, self.service = hub, access, service or ModelService()
        self._home: tuple[float, bytes] = (0.0, b"")
        self._looking = asyncio.Lock()  # one looks for all who ask at the same time
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._askers = ThreadPoolExecutor(READERS, "asker")  # those wait for the model service

    async def _read(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what may read everything of a run in threads of its own: however many ask for it, the threads that the
        live feed and the header read with stay free."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, function, *arguments)

    def data(self, read: Callable[[RouteCall], Any]) -> Handler:
        """A handler that sends what `read` finds as JSON."""

        async def handler(request: Request) -> Response:
            return _json(await self._read(lambda: encode(read(RouteCall(request, self.hub, self.access)))))

        return handler

    def file(self, read: Callable[[RouteCall], str]) -> Handler:
        """A handler that sends what `read` writes: the log to be shown, all else as a file to save."""

        async def handler(request: Request) -> Response:
            text = await self._read(read, RouteCall(request, self.hub, self.access))
            _, _, name = request.url.path.rpartition("/")
            ending = f".{EXPORTS[name]}" if name in EXPORTS else f"-{name}"
            headers = {"X-Content-Type-Options": "nosniff"}
            if name != "log":
                saved = request.path_params["run_id"].strip("_") + ending
                headers["Content-Disposition"] = f'attachment; filename="{saved}"'
            media_type = "text/csv" if name.endswith(".csv") else "text/plain"
            return Response(text, media_type=media_type, headers=headers)

        return handler

    async def access_data(self, request: Request) -> Response:
        """Who is asking, what they may do here, and the caps."""
        return _json(encode(self.access.to_json(request)))

    async def home(self, request: Request) -> Response:
        """Machine facts, which run is training, which is the newest: asked by every open page every few seconds."""
        async with self._looking:
            if time.monotonic() - self._home[0] > HOME_SECONDS:
                found = await asyncio.to_thread(home_data, self.hub, self.access.mode)
                self._home = (time.monotonic(), encode(found))
        return _json(self._home[1])

    async def overlay(self, request: Request) -> Response:
        """The curves of several runs (`?runs=a,b`) in one answer; a run that is not there is one sentence."""
        wanted = list(dict.fromkeys(filter(None, request.query_params.get("runs", "").split(","))))
        problems: list[str] = []
        if len(wanted) > compare_serializer.MAX_RUNS:
            problems.append(f"At most {compare_serializer.MAX_RUNS} runs can be overlaid; the first of them are shown.")
        found = []
        for run_id in wanted[: compare_serializer.MAX_RUNS]:
            try:
                channel = await self.hub.channel(run_id)
                went = await self._read(compare_serializer.Went.of, channel.feed.run)
            except PlaygroundError as error:
                problems.append(str(error))
                continue
            found.append(await channel.read(functools.partial(compare_serializer.Overlaid.of, run_id, went)))
        return _json(await self._read(lambda: encode(compare_serializer.overlay(found, problems))))

    async def live(self, request: Request) -> Response:
        """Server-sent events of one run."""
        run_id = request.path_params["run_id"]
        await self.hub.channel(run_id)  # so that a run that is not there is a plain 404
        cursor = request.headers.get("last-event-id") or request.query_params.get("since", "")
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(self.hub.stream(run_id, cursor), media_type="text/event-stream", headers=headers)

    async def poll(self, request: Request) -> Response:
        """The same for clients that cannot keep a stream open: what is new since a cursor, or a snapshot."""
        channel = await self.hub.channel(request.path_params["run_id"])
        messages = await channel.after(request.query_params.get("since", ""), with_status=True)
        cursor = channel.cursor(messages[-1].seq if messages else channel.seq).encode()
        if any(item.kind == "snapshot" for item in messages):
            return _json(b'{"cursor":"%s","snapshot":%s}' % (cursor, messages[0].body))
        return _json(b'{"cursor":"%s","deltas":[%s]}' % (cursor, b",".join(item.body for item in messages)))

    async def moment(self, request: Request) -> Response:
        """The fixed prompts as answered at one update."""
        channel = await self.hub.channel(request.path_params["run_id"])
        update = request.path_params["update"]
        found = await channel.read(lambda feed: encode(feed.moment(update)))
        if found == b"null":
            raise RunNotFound(f"The fixed prompts were not answered at update {update}.")
        return _json(found)

    async def what_if(self, request: Request) -> Response:
        """The same as it would read under other settings: `?gamma=` and the like."""
        run, update = self.hub.find(request.path_params["run_id"]), request.path_params["update"]
        asked = functools.partial(trace_part.what_if_data, run, update, dict(request.query_params), self.service)
        answer = await asyncio.get_running_loop().run_in_executor(self._askers, lambda: encode(asked()))
        return _json(answer)

    async def frontier(self, request: Request) -> Response:
        """Score against KL: the evaluations so far, and what drawn texts show to be possible."""
        run_id = request.path_params["run_id"]
        channel, recorded = await self.hub.channel(run_id), run_id in self.hub.recorded

        def read(feed: RunFeed) -> bytes:
            found = feed.samples, feed.metrics, feed.happened
            return encode(insight_serializer.frontier(feed.run, feed.config, *found, recorded=recorded))

        return _json(await channel.read(read))


def home_data(hub: Hub, mode: str) -> dict[str, Any]:
    """What the header of every page shows, see `Views.home`."""
    outputs = hub.outputs
    waiting = queue.waiting(outputs)  # first: a run that begins between the two looks is then seen by the second
    living = launcher.living_runs(outputs)
    runs = [] if living else history.list_runs(outputs)
    ended_well = [run.id for run in runs if run.status.state in ("finished", "stopped")]
    slots = len(devices.available()) > 1 if living else False
    return {
        "machine": machine.facts(),
        "living": living[0].id if living else None,
        "training": [
            {
                "id": run.id,
                "title": run_state.title_of(run),
                "attempt": run.status().attempt,
                "device": queue.slot_held(run) if slots else None,
            }
            for run in living
        ],
        "waiting": waiting,
        "newest": runs[0].id if runs else None,
        # what a page shows of its own accord where nothing trains; elsewhere than in a class that is a recording
        "shown": ended_well[0] if ended_well and mode == "classroom" else None,
        "recorded": {folder.name: run_id for run_id, folder in hub.recorded.items()},
    }


def bokeh_version() -> str:
    """Version of the installed bokeh package; part of the address, so that browsers may keep the file for ever."""
    return importlib.metadata.version("bokeh")


async def bokeh_file(request: Request) -> Response:
    """One of the two BokehJS files that the page needs, from the installed package."""
    name = request.path_params["name"]
    if not BOKEH_FILE.fullmatch(name):
        return PlainTextResponse("Not found.", status_code=404)
    body = await asyncio.to_thread(_bokeh_bytes, name)
    headers = {"Cache-Control": own_files.FOR_EVER}
    return Response(body, media_type="text/javascript", headers=headers)


@functools.cache
def _bokeh_bytes(name: str) -> bytes:
    package = importlib.util.find_spec("bokeh")  # found, not imported: importing bokeh costs half a second
    if package is None or package.origin is None:
        raise RunNotFound("The bokeh package is not installed; run `pip install -r requirements.txt`.")
    return (Path(package.origin).parent / "server" / "static" / "js" / name).read_bytes()


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


def _polite(handler: Handler) -> Handler:
    """Turn our exceptions into one sentence with a status code."""

    @functools.wraps(handler)
    async def wrapped(request: Request) -> Response:
        try:
            return await handler(request)
        except InvalidConfig as error:
            status, message = 409, f"The configuration of this run cannot be read. {error}"
        except PlaygroundError as error:
            status, message = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 409), str(error)
        return Response(encode({"error": message}), status, media_type="application/json")

    return wrapped

"""Our own HTTP routes beside Gradio's: the live feed, what Compare and Runs read, static files, BokehJS.

All of them only read (`/host` sets a cookie). Whatever changes something (start, stop, delete) goes through Gradio's
events. Each asks `access` whether its caller may; run ids are checked by `runs.history` before they touch a
path. Knows Starlette and `feed`; nothing of gradio's components. `server` calls it.
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
from typing import Any, TypeVar

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from playground import exports
from playground.errors import InvalidConfig, NotAllowed, PlaygroundError, RunNotFound, TooManyCalls
from playground.exports import csv_tables, html_report
from playground.exports.report import Report
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import ScoreScale
from playground.runs.model_service import ModelService
from playground.runs.start import launcher, queue
from playground.setup import catalog, checks, describe, devices
from playground.ui import own_files
from playground.ui.door.access import Access, Action, Role
from playground.ui.inside import token_part, trace_part
from playground.ui.live import compare_serializer, insight_serializer, machine, run_serializer, run_state
from playground.ui.live.feed import Hub
from playground.ui.live.run_feed import RunFeed
from playground.ui.live.run_serializer import encode
from playground.ui.rewards import reward_data
from playground.ui.runs import history_data, sweep_data
from playground.ui.train import outcome_part

BOKEH_FILE = re.compile(r"bokeh(-api)?\.min\.js")
HOME_SECONDS = 0.5
READERS = 2  # threads
EXPORTS = {"html": "html", "yaml": "yaml", "trl": "py"}  # kind -> file ending
Handler = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class Number(IntegerConvertor):
    """A whole number in an address. One of thousands of digits would be an error before anybody is asked whether its
    sender may."""

    regex = "[0-9]{1,12}"


register_url_convertor("number", Number())


def bokeh_version() -> str:
    """Version of the installed bokeh package; part of the address, so that browsers may keep the file for ever."""
    return importlib.metadata.version("bokeh")


def routes(hub: Hub, access: Access | None = None, service: ModelService | None = None) -> list[BaseRoute]:
    """All routes, for `launch(app_kwargs={"routes": ...})`."""
    access = access or Access()
    views = Views(hub, access, service)
    table: list[tuple[str, Handler, Action]] = [
        ("/live/_access", views.access_data, Action.WATCH),
        ("/live/_home", views.home, Action.WATCH),
        ("/live/_runs", views.runs, Action.WATCH),
        ("/live/_sweeps/{name}", views.sweep, Action.WATCH),
        ("/live/_overlay", views.overlay, Action.WATCH),
        ("/live/_rewards", views.reward_models, Action.WATCH),
        ("/live/_rewards/{name}", views.reward_model, Action.WATCH),
        ("/live/{run_id}", views.live, Action.WATCH),
        ("/live/{run_id}/poll", views.poll, Action.WATCH),
        ("/live/{run_id}/moment/{update:number}", views.moment, Action.WATCH),
        ("/live/{run_id}/compare", views.compare, Action.WATCH),
        ("/live/{run_id}/trace/{update:number}", views.trace, Action.WATCH),
        ("/live/{run_id}/what-if/{update:number}", views.what_if, Action.ASK),
        ("/live/{run_id}/tokens/{prompt_id:number}", views.tokens, Action.WATCH),
        ("/live/{run_id}/metrics.csv", views.metrics_csv, Action.EXPORT),
        ("/live/{run_id}/samples.csv", views.samples_csv, Action.EXPORT),
        ("/live/{run_id}/frontier", views.frontier, Action.WATCH),
        ("/live/{run_id}/outcome", views.outcome, Action.WATCH),
        ("/live/{run_id}/log", views.log, Action.LOG),
        ("/live/{run_id}/resume", views.resume_offer, Action.WATCH),
        ("/live/{run_id}/export/{kind}", views.export, Action.EXPORT),
        ("/playground/bokeh/{version}/{name}", bokeh_file, Action.WATCH),
        ("/host", access.enter, Action.WATCH),
    ]
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

    async def access_data(self, request: Request) -> Response:
        """Who is asking, what they may do here, and the caps."""
        return _json(encode(self.access.to_json(request)))

    async def home(self, request: Request) -> Response:
        """Machine facts, which run is training, which is the newest: asked by every open page every few seconds."""
        async with self._looking:
            if time.monotonic() - self._home[0] > HOME_SECONDS:
                self._home = (time.monotonic(), encode(await asyncio.to_thread(self._home_data)))
        return _json(self._home[1])

    async def runs(self, request: Request) -> Response:
        """The history, newest first, as the Runs page shows it: {runs, sweeps}."""
        return _json(await self._read(lambda: encode(history_data.history_data(self.hub.outputs))))

    async def sweep(self, request: Request) -> Response:
        """One sweep; `?shown=0,3` names the settings whose curves are asked for, by their place."""
        asked = request.query_params.get("shown", "").split(",")
        places = [int(text) for text in asked if text.isdecimal() and len(text) < 4]
        read = functools.partial(sweep_data.detail, self.hub.outputs, request.path_params["name"], places)
        return _json(await self._read(lambda: encode(read())))

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

    async def reward_models(self, request: Request) -> Response:
        """The reward models that were trained here, and which one is in training."""
        return _json(await self._read(lambda: encode(reward_data.overview(self.hub.outputs))))

    async def reward_model(self, request: Request) -> Response:
        """One of them: its state, its curve, its report."""
        name = request.path_params["name"]
        with_log = self.access.may(request, Action.LOG)
        read = functools.partial(reward_data.detail, self.hub.outputs, name, with_log=with_log)
        return _json(await self._read(lambda: encode(read())))

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

    async def compare(self, request: Request) -> Response:
        """One run at one moment against before training, or (`?with=`) against another run at its end; all pairs."""
        run_id, query = request.path_params["run_id"], request.query_params
        wanted = query.get("update", "")
        update = int(wanted) if wanted.isdecimal() and len(wanted) < 9 else None
        return _json(await self._read(self._compare_data, run_id, update, query.get("with") or None))

    async def trace(self, request: Request) -> Response:
        """One update in slow motion."""
        run, update = self.hub.find(request.path_params["run_id"]), request.path_params["update"]
        return _json(await self._read(lambda: encode(trace_part.trace_data(run, update))))

    async def what_if(self, request: Request) -> Response:
        """The same as it would read under other settings: `?gamma=` and the like."""
        run, update = self.hub.find(request.path_params["run_id"]), request.path_params["update"]
        asked = functools.partial(trace_part.what_if_data, run, update, dict(request.query_params), self.service)
        answer = await asyncio.get_running_loop().run_in_executor(self._askers, lambda: encode(asked()))
        return _json(answer)

    async def tokens(self, request: Request) -> Response:
        """One fixed prompt's answer (of `?seed=`, or the first) at each look, token by token."""
        run_id, seed = request.path_params["run_id"], request.query_params.get("seed", "")
        run, recorded = self.hub.find(run_id), run_id in self.hub.recorded
        chosen = int(seed) if seed.isdecimal() and len(seed) < 12 else None
        read = functools.partial(token_part.looks, run, request.path_params["prompt_id"], chosen, recorded=recorded)
        return _json(await self._read(lambda: encode(read())))

    async def metrics_csv(self, request: Request) -> Response:
        """All metrics as a table for a spreadsheet, at full length and precision."""
        run = self.hub.find(request.path_params["run_id"])
        text = await self._read(
            lambda: csv_tables.metrics_csv(run.config(), run.metrics(), run.events(), run.evaluations())
        )
        return _table(text, f"{run.id.strip('_')}-metrics.csv")

    async def samples_csv(self, request: Request) -> Response:
        """All completions of the fixed prompts as a table."""
        run = self.hub.find(request.path_params["run_id"])
        text = await self._read(lambda: csv_tables.samples_csv(run.samples(), run.config()))
        return _table(text, f"{run.id.strip('_')}-samples.csv")

    async def outcome(self, request: Request) -> Response:
        """What the run came to: the knee, the two perplexities, what it cost."""
        run = self.hub.find(request.path_params["run_id"])

        def read() -> bytes:
            weights = run.latest_checkpoint() is not None  # not known when the page began to watch a run
            return encode({**outcome_part.outcome(Report.of(run)), "weights": weights})

        return _json(await self._read(read))

    async def frontier(self, request: Request) -> Response:
        """Score against KL: the looks so far, and what drawn texts show to be possible."""
        run_id = request.path_params["run_id"]
        channel, recorded = await self.hub.channel(run_id), run_id in self.hub.recorded

        def read(feed: RunFeed) -> bytes:
            found = feed.samples, feed.metrics, feed.happened
            return encode(insight_serializer.frontier(feed.run, feed.config, *found, recorded=recorded))

        return _json(await channel.read(read))

    async def export(self, request: Request) -> Response:
        """A run written down for use elsewhere: `html` as a report to read, `yaml` for our own command, `trl` as a
        script for TRL."""
        run, kind = self.hub.find(request.path_params["run_id"]), request.path_params["kind"]
        if kind not in EXPORTS:
            raise RunNotFound(f"A run can be exported as {', '.join(EXPORTS)}, not as `{kind[:20]}`.")
        name = f"{run.id.strip('_')}.{EXPORTS[kind]}"
        text = await self._read(_export, run, kind, name, self.access.caller(request).role is Role.HOST)
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
        return PlainTextResponse(text, headers=headers)

    async def log(self, request: Request) -> Response:
        """The end of what the worker printed, as text and never as markup."""
        run = self.hub.find(request.path_params["run_id"])
        text = await self._read(run.log_tail)
        return PlainTextResponse(text or "The log is empty.", headers={"X-Content-Type-Options": "nosniff"})

    async def resume_offer(self, request: Request) -> Response:
        """Where an ended run would go on if somebody took it up again. Only reads; `steer` does it."""
        run = self.hub.find(request.path_params["run_id"])
        return _json(encode(await self._read(run_state.resume_offer, run)))

    def _home_data(self) -> dict[str, Any]:
        outputs = self.hub.outputs
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
            "shown": ended_well[0] if ended_well and self.access.mode == "classroom" else None,
            "recorded": {folder.name: run_id for run_id, folder in self.hub.recorded.items()},
        }

    def _compare_data(self, run_id: str, update: int | None, with_id: str | None) -> bytes:
        run = self.hub.find(run_id)
        config = run.config()
        recorded = run_id in self.hub.recorded
        other = None
        if with_id:
            beside = self.hub.find(with_id)
            theirs = beside.config()
            names = {
                "id": with_id,
                "wrong_on_purpose": describe.wrong_on_purpose(theirs),
                **run_serializer.names(theirs, beside.label()),
            }
            other = compare_serializer.Other(names, beside.samples(), describe.scores_differ([config, theirs]))
        return encode(
            {
                "run": run_serializer.run_summary(run_id, config, run.label(), recorded=recorded),
                "state": run.status().state,
                "knows": next((one.knows for one in catalog.MODELS if one.name == config.model.source), ""),
                **compare_serializer.comparison(run.samples(), config, update, other),
            }
        )


def _export(run: RunDirectory, kind: str, name: str, whole: bool) -> str:
    """`whole`: with paths of this machine, for who may know them."""
    config = run.config() if whole else checks.without_folders(run.config())
    if kind == "html":
        return html_report.page(dataclasses.replace(Report.of(run), config=config))
    if kind == "yaml":
        return exports.yaml_text(config, name)
    return exports.trl_script(config, ScoreScale.of(run.events()))


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


def _table(text: str, name: str) -> Response:
    return Response(text, media_type="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


def _polite(handler: Handler) -> Handler:
    """Turn our exceptions into one sentence with a status code."""

    @functools.wraps(handler)
    async def wrapped(request: Request) -> Response:
        try:
            return await handler(request)
        except NotAllowed as error:
            status = 429 if isinstance(error, TooManyCalls) else 403
            return Response(encode({"error": str(error)}), status, media_type="application/json")
        except RunNotFound as error:
            return Response(encode({"error": str(error)}), 404, media_type="application/json")
        except InvalidConfig as error:
            message = f"The configuration of this run cannot be read. {error}"
            return Response(encode({"error": message}), 409, media_type="application/json")
        except PlaygroundError as error:
            return Response(encode({"error": str(error)}), 409, media_type="application/json")

    return wrapped

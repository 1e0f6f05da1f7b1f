"""Our own HTTP routes beside Gradio's: the live feed, what Compare and Runs read, static files.

All of them only read (`/host` sets a cookie); whatever changes something goes through Gradio's events. Each asks
`access` whether its caller may. What reads a whole run is a plain function of DATA (sent as JSON) or FILES, called in
threads of its own; what reads the live feed is a method of `Views`.
"""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from playground.analysis import before_after
from playground.config import RunConfig
from playground.errors import InvalidConfig, NotAllowed, PlaygroundError, RunNotFound, TooManyCalls
from playground.lessons import boards
from playground.lessons.loading import LessonNotFound
from playground.lessons.reveal import Reveal, reveal
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import ModelService
from playground.setup import catalog, describe
from playground.ui import own_files, run_files
from playground.ui.auth.access import Access, Action, Role
from playground.ui.feed import compare_serializer, home, insight_serializer, run_serializer, run_state
from playground.ui.feed.feed import Hub
from playground.ui.feed.run_serializer import encode
from playground.ui.payloads.compare import CompareData, RunNamesData
from playground.ui.rewards import training_part
from playground.ui.run_files import EXPORTS, FILES, RouteCall
from playground.ui.runs import history_data, inside_part
from playground.ui.standalone import replay
from playground.ui.train import lesson_part, mystery_part

HOME_SECONDS = 0.5
READERS = 2  # threads
MANY_REPLAYS = "Replays or charts are being made for your network already. Wait for one of them, then ask again."
Handler = Callable[[Request], Awaitable[Response]]
STATUS = {TooManyCalls: 429, NotAllowed: 403, RunNotFound: 404, LessonNotFound: 404}  # of other errors: 409
T = TypeVar("T")


class Number(IntegerConvertor):
    """A whole number in an address, not one of thousands of digits."""

    regex = "[0-9]{1,12}"


register_url_convertor("number", Number())


def compare(call: RouteCall) -> CompareData:
    """One run at one moment against before training, or (`?with=`) against another run at its end; all pairs."""
    run, config = call.run, call.run.config()
    other = None
    if with_id := call.request.query_params.get("with"):
        beside = call.hub.find(with_id)
        other_config = beside.config()
        wrong = describe.wrong_on_purpose(other_config)
        names: RunNamesData = {
            "id": with_id,
            "wrong_on_purpose": wrong,
            **run_serializer.names(other_config, beside.label()),
        }
        other = compare_serializer.Other(names, beside.samples(), describe.scores_differ([config, other_config]))
    update = call.number("update")
    return {
        "run": run_serializer.run_summary(call.part("run_id"), config, run.label(), recorded=call.recorded),
        "state": run.status().state,
        "knows": _knows(config),
        **compare_serializer.comparison(run.samples(), config, update, other),
    }


def _knows(config: RunConfig) -> str:
    """What the model of a run can be asked."""
    if config.kind == "watched":
        return "Another program trains this run, and has its weights: it cannot be asked here."
    return next((model.knows for model in catalog.MODELS if model.name == config.model.source), "")


def lesson(call: RouteCall) -> Reveal:
    """What a run says of a lesson, in the place of one of its runs; `?first=` is the run in the first place."""
    its_lesson, index = call.hub.lessons.find(call.part("name")), call.part("index")
    if index not in its_lesson.indices:
        raise LessonNotFound(f"The lesson \u201c{its_lesson.title}\u201d has no run {index + 1}.")
    first = call.request.query_params.get("first")
    earlier = call.hub.find(first) if first else None
    return lesson_part.reveal_data(reveal(its_lesson, index, call.run, earlier))


DATA: dict[str, Callable[[RouteCall], Any]] = {
    "_lessons": lambda call: lesson_part.lessons_data(call.hub.lessons),
    "_mysteries": lambda call: mystery_part.mysteries_data(
        call.hub.mysteries, call.access.limits_of(call.access.caller(call.request))
    ),
    **{f"_{name}": lambda call, name=name: boards.data(name) for name in boards.NAMES},  # type: ignore[misc]
    "_runs": lambda call: history_data.history_data(call.hub.outputs),
    "_sweeps/{name}": lambda call: history_data.detail(call.hub.outputs, call.part("name")),
    "_rewards": lambda call: training_part.overview(call.hub.outputs),
    "_rewards/{name}": lambda call: training_part.detail(
        call.hub.outputs, call.part("name"), with_log=call.access.may(call.request, Action.LOG)
    ),
    "{run_id}/compare": compare,
    "{run_id}/lesson/{name}/{index:number}": lesson,
    "{run_id}/mystery": lambda call: mystery_part.answer_data(call.run),
    "{run_id}/trace/{update:number}": lambda call: inside_part.trace_data(call.run, call.part("update")),
    "{run_id}/tokens/{prompt_id:number}": lambda call: inside_part.looks(
        call.run, call.part("prompt_id"), call.number("seed")
    ),
    "{run_id}/outcome": lambda call: insight_serializer.outcome(call.run),
    "{run_id}/resume": lambda call: run_state.resume_offer(call.run),
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
        "/live/{run_id}/rollout/last": views.rollout,
        "/live/{run_id}/rollout/{update:number}": views.rollout,
        "/live/{run_id}/frontier": views.frontier,
        "/host": access.enter,
    }
    table = [(path, handler, Action.WATCH) for path, handler in watched.items()]
    table.append(("/live/{run_id}/what-if/{update:number}", views.what_if, Action.MEASURE))
    table.append(("/live/{run_id}/export/replay", views.recorded(lambda call: _replay(call.run)), Action.EXPORT))
    table.append(("/live/_figures/{kind}", views.recorded(run_files.charts), Action.EXPORT))
    table += [(f"/live/{{run_id}}/{path}", views.file(read), action) for path, (read, action) in FILES.items()]
    served: list[BaseRoute] = [Route(path, polite(access.route(action, handler))) for path, handler, action in table]
    return [*served, Mount("/playground/static", own_files.OwnFiles(directory=own_files.STATIC))]


@before_after.read_once(*replay.READS, size=4)  # seconds of work, and a class may ask for the same one at once
def _replay(run: RunDirectory) -> str:
    """A run as one file, from the answers of these routes."""
    return replay.page(run, routes).html


class Views:
    """The handlers; they share one hub."""

    def __init__(self, hub: Hub, access: Access, service: ModelService | None = None) -> None:
        self.hub, self.access, self.service = hub, access, service or ModelService()
        self._home: tuple[float, bytes] = (0.0, b"")
        self._looking = asyncio.Lock()  # one looks for all who ask at the same time
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._askers = ThreadPoolExecutor(READERS, "asker")  # those wait for the model service
        self._recorder = ThreadPoolExecutor(1, "recorder")  # of replays: of a long run half a minute of work

    async def _read(self, function: Callable[..., T], *arguments: Any, threads: ThreadPoolExecutor | None = None) -> T:
        """In threads of its own: those that the live feed and the header read with stay free."""
        return await asyncio.get_running_loop().run_in_executor(threads or self._readers, function, *arguments)

    def data(self, read: Callable[[RouteCall], Any]) -> Handler:
        """A handler that sends what `read` finds as JSON."""

        async def handler(request: Request) -> Response:
            return _json(await self._read(lambda: encode(read(RouteCall(request, self.hub, self.access)))))

        return handler

    def file(self, read: Callable[[RouteCall], str | bytes], threads: ThreadPoolExecutor | None = None) -> Handler:
        """A handler that sends what `read` writes: the log to be shown, all else as a file to save."""

        async def handler(request: Request) -> Response:
            text = await self._read(read, RouteCall(request, self.hub, self.access), threads=threads)
            _, _, name = request.url.path.rpartition("/")
            ending = EXPORTS.get(name, f"-{name}")
            headers = {"X-Content-Type-Options": "nosniff"}
            if name != "log":
                run = request.path_params.get("run_id") or request.query_params.get("sweep") or "runs"
                saved = re.sub("[^a-z0-9-]", "", run) + ending
                headers["Content-Disposition"] = f'attachment; filename="{saved}"'
            media_type = {"csv": "text/csv", "zip": "application/zip"}.get(name[-3:], "text/plain")
            return Response(text, media_type=media_type, headers=headers)

        return handler

    def recorded(self, read: Callable[[RouteCall], str | bytes]) -> Handler:
        """The same for what takes seconds to make. Others that read whole runs do not wait for it."""
        write = self.file(read, self._recorder)

        async def handler(request: Request) -> Response:
            caller = self.access.caller(request)
            with self.access.limiter.holding(caller.visitor.address, "replays") as fits:
                if not fits and caller.role is Role.VISITOR:
                    raise TooManyCalls(MANY_REPLAYS)
                return await write(request)

        return handler

    async def access_data(self, request: Request) -> Response:
        """Who is asking, what they may do here, and the caps."""
        return _json(encode(self.access.to_json(request)))

    async def home(self, request: Request) -> Response:
        """Machine facts, which run is training, which is the newest: asked by every open page every few seconds."""
        async with self._looking:
            if time.monotonic() - self._home[0] > HOME_SECONDS:
                data = await asyncio.to_thread(home.home_data, self.hub, self.access.mode)
                self._home = (time.monotonic(), encode(data))
        return _json(self._home[1])

    async def overlay(self, request: Request) -> Response:
        """The curves of several runs (`?runs=a,b`) in one answer; a run that is not there is one sentence."""
        names = list(dict.fromkeys(filter(None, request.query_params.get("runs", "").split(","))))
        problems: list[str] = []
        if len(names) > compare_serializer.MAX_RUNS:
            problems.append(f"At most {compare_serializer.MAX_RUNS} runs can be overlaid; the first of them are shown.")
        overlaid = []
        for run_id in names[: compare_serializer.MAX_RUNS]:
            try:
                channel = await self.hub.channel(run_id)
                curves = await self._read(compare_serializer.Went.of, channel.feed.run)
            except PlaygroundError as error:
                problems.append(str(error))
                continue
            overlaid.append(await channel.read(functools.partial(compare_serializer.Overlaid.of, run_id, curves)))
        return _json(await self._read(lambda: encode(compare_serializer.overlay(overlaid, problems))))

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
        moment = await channel.read(lambda feed: encode(feed.moment(update)))
        if moment == b"null":
            raise RunNotFound(f"The fixed prompts were not answered at update {update}.")
        return _json(moment)

    async def rollout(self, request: Request) -> Response:
        """The scores of an update and some of its training texts; of the newest where none is named."""
        channel = await self.hub.channel(request.path_params["run_id"])
        update = request.path_params.get("update")
        return _json(await channel.read(lambda feed: encode(feed.rollout(update))))

    async def what_if(self, request: Request) -> Response:
        """The same as it would read under other settings: `?gamma=` and the like."""
        run, update = self.hub.find(request.path_params["run_id"]), request.path_params["update"]
        question = functools.partial(inside_part.what_if_data, run, update, dict(request.query_params), self.service)
        answer = await asyncio.get_running_loop().run_in_executor(self._askers, lambda: encode(question()))
        return _json(answer)

    async def frontier(self, request: Request) -> Response:
        """Score against KL: the evaluations so far, and what drawn texts show to be possible."""
        channel = await self.hub.channel(request.path_params["run_id"])
        return _json(await channel.read(lambda feed: encode(feed.frontier())))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


def polite(handler: Handler) -> Handler:
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

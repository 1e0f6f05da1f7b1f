"""The addresses of a class: three light pages, what they ask again and again, and the three things that they send.

Each asks `access` who it is: the host leads, everyone else takes part. What is sent is JSON in small bodies, which
`middleware` lets in from pages of this server only.
"""

from __future__ import annotations

import asyncio
import functools
import html
import json
import threading
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from playground.errors import InvalidConfig, NotAllowed, PlaygroundError, TooManyCalls
from playground.ui import own_files
from playground.ui.auth.access import Access, Action, Role
from playground.ui.auth.visitors import CLASS_COOKIE, at_port
from playground.ui.classroom.classroom import DONE, Classroom
from playground.ui.classroom.places import Place
from playground.ui.classroom.records import ClassLedData
from playground.ui.classroom.room import NOT_IN, WrongCode
from playground.ui.classroom.room_file import NoClass, NotKept
from playground.ui.classroom.steps import DeskCommand, SentAnswer
from playground.ui.feed.run_serializer import encode
from playground.ui.routes import polite

PAGES = {"": ("student", "The class", Action.WATCH), "/desk": ("desk", "The desk", Action.LEAD)}
PAGES["/screen"] = ("screen", "The screen in front", Action.LEAD)
SHEETS = ("page", "lessons", "class", "class_vote", "class_game")
MOST_CODE = 12  # characters
MOST_DIGITS = 12  # of a number in an address
MANY_CODES = "Too many wrong codes were entered from your network. Wait a minute, then try again."
NOT_JSON = "This is not JSON with the fields that the page sends."
HTML = """<!doctype html>
<html lang="en" class="class-page" data-page="{page}">
<head>
<meta charset="utf-8">
<base href="{base}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} \u00b7 RLHF Playground</title>
{links}
<script>document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);</script>
</head>
<body>
<main id="class"><p class="muted">Loading\u2026</p></main>
<script type="module" src="{script}"></script>
</body>
</html>
"""


ONLY_TEXT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><base href="{base}"><meta name="viewport" content="width=device-width">
<title>RLHF Playground</title>{icon}</head>
<body><p>{sentence}</p><p><a href="class">Take part in the class</a></p></body></html>
"""


def routes(classroom: Classroom, access: Access) -> list[BaseRoute]:
    """All of them, for the app's routes."""
    handlers = ClassHandlers(classroom, access)
    table: list[tuple[str, Callable[..., Any], Action, str]] = [
        ("/class/state", handlers.state, Action.WATCH, "GET"),
        ("/class/front", handlers.front, Action.LEAD, "GET"),
        ("/class/votes", handlers.votes, Action.LEAD, "GET"),
        ("/class/votes.jsonl", handlers.votes_file, Action.LEAD, "GET"),
        ("/class/join", handlers.join, Action.JOIN, "POST"),
        ("/class/answer", handlers.answer, Action.JOIN, "POST"),
        ("/class/check", handlers.check, Action.JOIN, "POST"),
        ("/class/lead", handlers.lead, Action.LEAD, "POST"),
    ]
    pages = [
        Route(f"/class{path}", for_readers(access.route(action, page_handler(path)), path))
        for path, (_, _, action) in PAGES.items()
    ]
    return [
        *pages,
        *(Route(path, polite(access.route(act, handler)), methods=[method]) for path, handler, act, method in table),
    ]


def page_handler(path: str) -> Any:
    """One of the three pages."""

    async def handler(request: Request) -> Response:
        return HTMLResponse(document(path), headers={"Cache-Control": "no-cache"})

    return handler


def for_readers(handler: Any, path: str) -> Any:
    """A page that says in words who may open it, and where everyone else goes."""

    @functools.wraps(handler)
    async def wrapped(request: Request) -> Response:
        try:
            response: Response = await handler(request)
            return response
        except NotAllowed:
            sentence = f"{PAGES[path][1]} is for the host. Open the host's address first, which the terminal shows."
            page = ONLY_TEXT.format(sentence=html.escape(sentence), base=_base(path), icon=own_files.ICON)
            return HTMLResponse(page, 403, {"Cache-Control": "no-store"})
        except TooManyCalls as error:
            return PlainTextResponse(str(error), 429)

    return wrapped


def document(path: str) -> str:
    """One of the pages, as HTML. Its addresses go by where the page is, so that a sub-path works."""
    page, title, _ = PAGES[path]
    module = f"classroom/{page}.js"
    sheets = [f'<link rel="stylesheet" href="{own_files.address(f"css/{name}.css")}">' for name in SHEETS]
    scripts = sorted(own_files.needed_by(module))
    links = [f'<link rel="modulepreload" href="{own_files.address(name)}">' for name in scripts]
    return HTML.format(
        page=page, title=title, base=_base(path), links="\n".join([own_files.ICON, *sheets, *links]),
        script=own_files.address(module),
    )  # fmt: skip


def _base(path: str) -> str:
    """Where the addresses of a page begin."""
    if path:
        return "../"
    return "./"


class ClassHandlers:
    """The handlers."""

    def __init__(self, classroom: Classroom, access: Access) -> None:
        self.classroom, self.room, self.access = classroom, classroom.room, access
        self._guessing = threading.Lock()

    async def state(self, request: Request) -> Response:
        """What a person of the class sees; `?since=` is the version that they know, the rest where they are."""
        query = request.query_params
        place = Place(
            query.get("lesson", ""), query.get("at", ""), _whole(query.get("tries")), query.get("help") == "1"
        )
        since = _whole(query.get("since"), -1)
        return await self._answer(lambda: self.classroom.state(self._person(request), since, place))

    async def front(self, request: Request) -> Response:
        """What the desk shows, or with `?screen=1` the screen in front."""
        screen = request.query_params.get("screen") == "1"
        addresses = self.access.addresses() or [str(request.base_url)]
        return await self._answer(lambda: self.classroom.desk(addresses, screen=screen))

    async def votes(self, request: Request) -> Response:
        """What can be voted on."""
        return await self._answer(self.classroom.votes.offer)

    async def votes_file(self, request: Request) -> Response:
        """The votes of a step, `?step=`, as a file of preference pairs."""
        step = _whole(request.query_params.get("step"))
        text = await asyncio.to_thread(self.classroom.votes.file, step)
        name = f'attachment; filename="votes-{step}.jsonl"'
        return Response(text, media_type="application/jsonl", headers={"Content-Disposition": name})

    async def join(self, request: Request) -> Response:
        """Take part: {code}. The browser keeps who it is in a cookie, which no script can read."""
        sent = await _body(request)
        answer = _json(DONE)
        if not await asyncio.to_thread(self._person, request):
            token = await asyncio.to_thread(self._enter, request, str(sent.get("code", ""))[:MOST_CODE])
            answer.headers.append("Set-Cookie", self.access.class_cookie(request, token))
        return answer

    async def answer(self, request: Request) -> Response:
        """Keep an answer or a vote: {step, item, value}. The same sent twice is kept once."""
        return await self._take(request, self.classroom.keep)

    async def check(self, request: Request) -> Response:
        """Whether an answer would be kept, of {step, item, value}: while it is written."""
        return await self._take(request, self.classroom.check)

    async def _take(self, request: Request, take: Callable[[str, SentAnswer], Any]) -> Response:
        sent = SentAnswer.model_validate(await _body(request))
        person = await asyncio.to_thread(self._person, request)
        if person is None:
            raise NoClass(NOT_IN)
        self.access.count_in_class(person)
        try:
            await asyncio.to_thread(take, person, sent)
        except NotKept as error:  # the phone has it, and sends it again
            return Response(encode({"error": str(error)}), 503, media_type="application/json")
        return _json(DONE)

    async def lead(self, request: Request) -> Response:
        """What the host does: {do, ...}."""
        command = DeskCommand.model_validate(await _body(request))
        caller = self.access.caller(request)

        def act() -> ClassLedData:
            try:
                return self.classroom.act(command, caller)
            except InvalidConfig as error:
                return {"error": "\n".join(map(str, error.problems))}

        return await self._answer(act)

    def _enter(self, request: Request, code: str) -> str:
        """A new person's token. After too many wrong codes of one address none is checked for a while, not the right
        one either: it has four letters. Raises: NoClass, TooManyCalls."""
        caller, limiter = self.access.caller(request), self.access.limiter
        with self._guessing:
            if caller.role is Role.VISITOR and not limiter.has_room("wrong codes", caller.visitor.address):
                raise TooManyCalls(MANY_CODES)
            try:
                return self.room.join(code)
            except WrongCode:
                limiter.add("wrong codes", caller.visitor.address)
                raise

    def _person(self, request: Request) -> str | None:
        return self.room.person(request.cookies.get(at_port(request, CLASS_COOKIE), ""))

    async def _answer(self, read: Callable[[], Any]) -> Response:
        return _json(await asyncio.to_thread(read))


async def _body(request: Request) -> dict[str, Any]:
    """Raises: PlaygroundError, if it is no JSON object that can be answered as strict JSON."""
    try:
        body = json.loads(await request.body())
        encode(body)  # fails at NaN, at infinity, at half a character
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise PlaygroundError(NOT_JSON)
    return body


def _whole(text: str | None, otherwise: int = 0) -> int:
    """A number of an address."""
    if text and text.isdecimal() and len(text) < MOST_DIGITS:
        return int(text)
    return otherwise


def _json(data: Any) -> Response:
    return Response(encode(data), media_type="application/json", headers={"Cache-Control": "no-store"})

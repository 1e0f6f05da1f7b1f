"""Who may do what on the page, asked inside each handler, server function and route of ours.

What the page shows or hides is no protection: every handler can be called directly. So each is registered through
`Access.guard` (Gradio's handlers and server functions) or `Access.route` (our routes), which ask `demand` first; a test
(tests/security) finds every one that is not. A person is the host or a visitor: in `local` mode everyone is the host
(`middleware` keeps other sites out), in a `classroom` who has opened the address with the token, in a `space`
only where the owner has set a token; there visitors are told apart by keyed hashes of a cookie and their address.

The token itself is not kept: only its digest, and a cookie derived from that. Knows gradio's and Starlette's requests.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response

from playground.config import RUN_ID
from playground.errors import NotAllowed, PlaygroundError, TooManyCalls, in_words
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.setup import limits
from playground.setup.limits import LIMITS, Limits, PageLimits
from playground.ui.auth import visitors
from playground.ui.auth.calls import Endpoint
from playground.ui.auth.limiter import AT_ONCE, SECONDS, Limiter
from playground.ui.auth.visitors import CLASS_COOKIE, HOST_COOKIE, VISITOR_COOKIE, Host, Visitor, at_port
from playground.ui.payloads.page import AccessData, Right

MANY_AT_ONCE = f"{AT_ONCE['answers']} questions from your network are waiting for an answer. Wait for one of them."
MANY_PROGRAMS = f"{AT_ONCE['programs']} calls of programs from your network are being answered. Wait for one of them."
MANY_QUESTIONS = "You have asked much in one minute. Read the answers, then ask again."
MANY_CALLS = "Too many requests in one minute. Wait a little and try again."
FAILED = "The page failed at this. The terminal in which it was started shows what went wrong."
Handler = Callable[[Request], Awaitable[Response]]
NO_REQUEST: Any = object()
WRONG_TOKEN = "This is not the host's token. Open the address shown in the terminal in which the page was started."
MANY_TOKENS = "Too many wrong tokens. Wait a minute and try again."
_log = logging.getLogger(__name__)


class Action(enum.StrEnum):
    """Everything that can be asked of the page. WATCH and EXPORT read runs; the rest changes something or computes."""

    WATCH = "watch"
    EXPORT = "export"
    LOG = "read the log"
    FORM = "fill in the form"
    START = "start a run"
    STEER = "steer a run"
    RESUME = "resume a run"
    DELETE = "delete a run"
    NAME = "name a run"
    UPLOAD = "upload a file"
    ASK = "ask a model"
    MEASURE = "measure a run or a start"
    WRITE_REWARDS = "write rewards"
    TRY_REWARDS = "try rewards on texts"
    CHECK_REWARD = "test a reward model"
    TRAIN_REWARD = "train or delete a reward model"
    SAVE = "save a model on the server's disk"
    TRY_UPDATE = "make a trial update"
    GET_MODEL = "get a model from PyPI"
    JOIN = "take part in the class"
    LEAD = "lead the class"


class Role(enum.StrEnum):
    """Who asks."""

    HOST = "host"
    VISITOR = "visitor"


class Grants(NamedTuple):
    """What a role may do: with everything, and with what is its own."""

    all: frozenset[Action]
    own: frozenset[Action] = frozenset()


EVERYTHING = frozenset(Action)
FOR_OTHERS = EVERYTHING - {Action.GET_MODEL}  # on a page that others can reach, only the hub is downloaded from
STANDALONE = "standalone"  # the mode of a page that no server serves: what it may ask is answered when it is made
TABLE: dict[tuple[str, Role], Grants] = {
    (STANDALONE, Role.VISITOR): Grants(frozenset({Action.WATCH, Action.EXPORT})),
    ("local", Role.HOST): Grants(EVERYTHING),
    ("local", Role.VISITOR): Grants(frozenset()),  # there is none
    ("classroom", Role.HOST): Grants(FOR_OTHERS),
    ("classroom", Role.VISITOR): Grants(frozenset({Action.WATCH, Action.EXPORT, Action.JOIN})),
    ("space", Role.HOST): Grants(FOR_OTHERS - {Action.SAVE}),
    ("space", Role.VISITOR): Grants(
        frozenset(
            {Action.WATCH, Action.EXPORT, Action.FORM, Action.START, Action.UPLOAD, Action.ASK, Action.TRY_REWARDS}
            | {Action.MEASURE, Action.WRITE_REWARDS, Action.JOIN}
        ),
        own=frozenset({Action.STEER, Action.RESUME, Action.DELETE, Action.LOG}),
    ),
}
OF_THE_CLASS = frozenset({Action.ASK, Action.WRITE_REWARDS, Action.TRY_REWARDS})  # in a classroom, of who has joined it
OF_A_MODEL = frozenset({Action.ASK, Action.MEASURE, Action.TRY_REWARDS})
COUNTED = OF_A_MODEL | {Action.START, Action.RESUME, Action.UPLOAD}
WATCHERS = "The host leads this page. You can watch and compare its runs."
IN_CLASS = "The host leads this page. You can watch and compare its runs, ask its models and try rewards."
NOT_JOINED = "This is for those who are in the class. Join it first, with the code that stands on the screen in front."
NOT_HOST = (
    "This browser is not the host's, or no longer. Open the host's address in it, which the terminal shows; this page "
    "then goes on by itself."
)
NOT_YOURS = "This run was started by another visitor. You can watch it; only its owner can {}."
NOT_OTHERS = "This is not available on a page for others ({}). Open a page of your own, without --mode, for it."
NOT_PUBLIC = "This is not available on a public page ({}). Run the playground on your own computer for it."


class Refused(gr.Error):
    """What Gradio shows as an error. An agent gets it as text, which Gradio's own class has with quotes around it."""

    def __str__(self) -> str:
        return str(self.message)


class Caller(NamedTuple):
    """Who asks, for handlers that want to know; they get it as their keyword argument `caller`."""

    mode: str = "local"
    role: Role = Role.HOST
    visitor: Visitor = Visitor()
    query: Mapping[str, str] = {}  # of the address in which they have the page open

    def may(self, action: Action) -> bool:
        """Whether they may do it with everything; for what is shown, not for what is allowed."""
        return action in TABLE[self.mode, self.role].all


class Access:
    """The rules of one page. `Access()` is a page on your own machine: everything is allowed.

    Args:
        outputs: where runs say who started them. token: what makes a caller the host; only its digest is kept.
        proxied: whether a proxy in front tells the client's address (X-Forwarded-For).
        page_limits: where the owner has raised the caps; `limits` are those of a visitor, and of the page itself.
        hosts: the file that keeps who was the host through a restart (`visitors.Host`).
        embedded_by: the sites whose pages may have a lesson of this one in a frame, for a policy of browsers.
    """

    def __init__(
        self,
        mode: str = "local",
        outputs: Path | None = None,
        token: str = "",
        proxied: bool = False,
        page_limits: PageLimits | None = None,
        hosts: Path | None = None,
        embedded_by: str = "",
    ) -> None:
        self.mode, self.outputs, self.proxied = mode, outputs, proxied
        self.limits, self._host_limits = page_limits or (LIMITS[mode], LIMITS[mode])
        self.starting = threading.Lock()  # held from counting a visitor's runs to the start of another one
        self.endpoints: dict[str, Endpoint] = {}  # by name, what programs may call (`ui.api`)
        self.mcp: Callable[[], bool] = bool  # whether agents are offered them too
        self.addresses: Callable[[], list[str]] = list  # for everyone, for the host to hand out
        self.person_of: Callable[[str], str | None] = lambda _: None  # who has this cookie of the open class
        self.share_name: Callable[[], str] = str  # of the tunnel through which strangers come, while there is one
        self.framed_by = ""  # whose pages may show this one in a frame, beside its own
        self.embedded_by = embedded_by
        self._host = Host(token, hosts)
        self.limiter = Limiter()

    @functools.cached_property
    def _key(self) -> bytes:
        """What visitors are hashed with."""
        is_kept = self.mode == "space" and self.outputs is not None
        if is_kept and self.outputs:
            return visitors.visitors_key(self.outputs)
        return secrets.token_bytes(32)

    def address_of(self, connection: HTTPConnection) -> str:
        """Where a request comes from. A tunnel ends on this machine, and tells the address as a proxy does."""
        name = self.share_name()
        shared = name and name == visitors.host_of(connection) and visitors.was_passed_on(connection)
        return visitors.address_of(connection, self.proxied or bool(shared))

    def limits_of(self, caller: Caller) -> Limits:
        """What this person's runs may be."""
        if caller.role is Role.HOST:
            return self._host_limits
        return limits.OF_VISITORS.get(self.mode, self.limits)

    def caller(self, request: Any) -> Caller:
        """Who sent a request (Gradio's or Starlette's). Without one a visitor, unless the page is private."""
        connection = visitors.connection_of(request)
        query: dict[str, str] = {}
        if connection:
            query = dict(connection.query_params)
        if self.mode == "local":
            return Caller(query=query)
        if connection is None:
            return Caller(self.mode, Role.VISITOR)
        token = visitors.bearer_token(connection)
        if self._host.is_cookie(connection.cookies.get(at_port(connection, HOST_COOKIE), "")) or self._host.is_token(
            token
        ):
            return Caller(self.mode, Role.HOST, query=query)
        identity = (visitors.visitor_cookie(connection), self.address_of(connection))
        visitor = Visitor(*(visitors.keyed_hash(self._key, value) for value in identity))
        return Caller(self.mode, Role.VISITOR, visitor, query)

    def may_call(self, connection: HTTPConnection) -> bool:
        """Count one call of Gradio's before its body is read; False if it was one too many of its address."""
        caller = self.caller(connection)
        return caller.role is Role.HOST or self.limiter.add("calls", caller.visitor.address)

    def demand(self, request: Any, action: Action, run: Any = None) -> Caller:
        """Who asks, if they may do it.

        Args:
            run: id of the run that it is done to, for what one may do to their own runs only.

        Raises:
            NotAllowed: with a sentence for the person. TooManyCalls: may they, or not.
        """
        caller = self.caller(request)
        grants = TABLE[caller.mode, caller.role]
        self._count(caller, "views")
        if not self._may_all(request, caller, action):
            if action not in grants.own:
                raise NotAllowed(_refusal(caller, action))
            if not self.is_own(caller, run):
                raise NotAllowed(NOT_YOURS.format(action.value.replace("a run", "it")))
        if action is not Action.WATCH:
            self._count(caller, _kind_of(action))
        person = None
        if action in OF_A_MODEL:
            person = self._person(request, caller)
        if person and not self.limiter.add("questions of one person", person):
            raise TooManyCalls(MANY_QUESTIONS)
        return caller

    def _may_all(self, request: Any, caller: Caller, action: Action) -> bool:
        """Whether they may do it with everything."""
        if action in TABLE[caller.mode, caller.role].all:
            return True
        return action in OF_THE_CLASS and self._person(request, caller) is not None

    def _person(self, request: Any, caller: Caller) -> str | None:
        """Who of the open class this is; None: the host, or not in it."""
        connection = visitors.connection_of(request)
        if connection is None or (caller.mode, caller.role) != ("classroom", Role.VISITOR):
            return None
        return self.person_of(connection.cookies.get(at_port(connection, CLASS_COOKIE), ""))

    def count_in_class(self, person: str) -> None:
        """Count one answer of a person of the class. Raises: TooManyCalls."""
        if not self.limiter.add("answers of one person", person):
            raise TooManyCalls(MANY_CALLS)

    def _count(self, caller: Caller, kind: str) -> None:
        """Raises: TooManyCalls."""
        counted = caller.role is Role.VISITOR and self.mode != STANDALONE
        if counted and not self.limiter.add(kind, caller.visitor.address):
            raise TooManyCalls(MANY_CALLS)

    def may(self, request: Any, action: Action, run: Any = None) -> bool:
        """Whether they may do it; counts nothing."""
        caller = self.caller(request)
        own = action in TABLE[caller.mode, caller.role].own
        return self._may_all(request, caller, action) or (own and self.is_own(caller, run))

    def is_own(self, caller: Caller, run: Any) -> bool:
        """Whether the run says in its request.json that this visitor has started it."""
        if self.outputs is None or not isinstance(run, str) or not RUN_ID.fullmatch(run):
            return False
        return Visitor.of(requests.of(RunDirectory(self.outputs / run)).visitor).is_same(caller.visitor)

    def guard(
        self,
        action: Action,
        handler: Callable[..., Any],
        refused: Callable[[str], Any] | None = None,
        run_of: Callable[[Any], Any] | None = None,
        read: Callable[[tuple[Any, ...]], tuple[Any, ...]] = tuple,
        kind: str = "",
    ) -> Any:
        """A handler for Gradio that asks `demand` first. It gets the request from Gradio; the handler does not see it.
        One that fails is answered for: Gradio would say nothing but that there was an error.

        Args:
            handler: if it has a parameter `caller`, it gets who asks.
            refused: what to answer instead, made from a sentence; by default Gradio shows it as an error.
            run_of: the id of the run in the handler's first argument; by default the argument, or its entry `run`.
            read: makes the handler's arguments of what was sent, once it is known that the caller may.
            kind: as what it counts among those of one visitor's address that are answered at a time (`limiter`).
        """
        wants_caller = "caller" in inspect.signature(handler).parameters

        def begun(request: Any, arguments: tuple[Any, ...], until_answered: contextlib.ExitStack) -> Any:
            if request is NO_REQUEST:
                request = None
            elif not isinstance(request, (gr.Request, HTTPConnection)):
                # called from Python; what a browser sends is none
                request, arguments = None, (request, *arguments)
            run = None
            if arguments:
                run = (run_of or named_run)(arguments[0])
            caller = self.demand(request, action, run)
            kinds = [kind] if kind else []
            if action in OF_A_MODEL:
                kinds.append("answers")
            slot = self.limiter.holding(caller.visitor.address, *kinds)
            if caller.role is Role.VISITOR and not until_answered.enter_context(slot):
                if action in OF_A_MODEL:
                    raise TooManyCalls(MANY_AT_ONCE)
                raise TooManyCalls(MANY_PROGRAMS)
            if wants_caller:
                return handler(*read(arguments), caller=caller)
            return handler(*read(arguments))

        wrapper = _wrapped(handler, begun, refused)
        for name in ("__name__", "__doc__"):  # not the signature: by its own, Gradio hands over the request
            setattr(wrapper, name, getattr(handler, name, None))
        wrapper.action = action
        return wrapper

    def guard_all(
        self, action: Action, functions: Iterable[Callable[..., Any]], exceptions: Mapping[str, Action] | None = None
    ) -> list[Any]:
        """Server functions that answer {"error": sentence}, each guarded by `action`, or by its own of `exceptions`."""
        actions = exceptions or {}
        return [
            self.guard(actions.get(function.__name__, action), function, lambda sentence: {"error": sentence})
            for function in functions
        ]

    def route(self, action: Action, handler: Handler) -> Handler:
        """The same for a route of ours; the run is the one that its path names."""

        @functools.wraps(handler)
        async def wrapped(request: Request) -> Response:
            self.demand(request, action, request.path_params.get("run_id"))
            return await handler(request)

        wrapped.action = action  # type: ignore[attr-defined]
        return wrapped

    def wrong_token(self, connection: HTTPConnection, token: str) -> tuple[int, str] | None:
        """Status and sentence where a token is not the host's. Counted only then: guesses do not keep out the host."""
        if self.mode == "local" or self._host.is_token(token):
            return None
        if self.limiter.add("wrong tokens", self.address_of(connection)):
            return 403, WRONG_TOKEN
        return 429, MANY_TOKENS

    def wrong_bearer(self, connection: HTTPConnection) -> tuple[int, str] | None:
        """The same of the token in a program's request, if there is one, and a host whose it could be."""
        token = visitors.bearer_token(connection)
        if token and self._host.exists:
            return self.wrong_token(connection, token)
        return None

    async def enter(self, request: Request) -> Response:
        """The route /host?token=...: makes a browser the host's, and takes the token out of the address bar."""
        headers = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
        if self.mode != "local" and not self._host.exists:
            return PlainTextResponse("This page has no host. Open its start page to watch.", 404, headers)
        if refusal := self.wrong_token(request, request.query_params.get("token", "")):
            status, sentence = refusal
            if sentence == MANY_TOKENS:
                headers["Retry-After"] = f"{SECONDS:.0f}"
            return PlainTextResponse(sentence, status, headers)
        answer = Response(None, 303, {**headers, "Location": "./"})
        if self.mode != "local":
            answer.headers.append(
                "Set-Cookie", self._set_cookie(request, at_port(request, HOST_COOKIE), self._host.cookie)
            )
            self._host.keep()
        return answer

    enter.action = Action.WATCH  # type: ignore[attr-defined]  # anyone may knock

    def new_visitor_cookie(self, connection: HTTPConnection) -> str | None:
        """The Set-Cookie header for a visitor who opens a public page for the first time; else None."""
        if self.mode != "space" or visitors.visitor_cookie(connection):
            return None
        return self._set_cookie(connection, VISITOR_COOKIE, secrets.token_urlsafe(24))

    def class_cookie(self, connection: HTTPConnection, token: str) -> str:
        """The Set-Cookie header for a browser that has joined the class."""
        return self._set_cookie(connection, at_port(connection, CLASS_COOKIE), token)

    def to_json(self, request: Any) -> AccessData:
        """What static/core/access.js shows: who one is, what one may do, and the caps."""
        caller = self.caller(request)
        may = {item.name.lower(): self._right(request, caller, item) for item in Action}
        notice = ""
        if (self.mode, caller.role) == ("classroom", Role.VISITOR):
            notice = WATCHERS
            if may["ask"] == "yes":
                notice = IN_CLASS
        return {
            "mode": self.mode,
            "role": caller.role.value,
            "may": may,
            "notice": notice,
            "caps": limits.in_words(self.limits_of(caller)) if may["start"] == "yes" else [],
            "samples": self.limits_of(caller).samples,
            "share": self.addresses() if caller.role is Role.HOST else [],
            "own": self.is_own(caller, caller.query.get("run")),
        }

    def _right(self, request: Any, caller: Caller, action: Action) -> Right:
        if self._may_all(request, caller, action):
            return "yes"
        if action in TABLE[caller.mode, caller.role].own:
            return "own"
        return "no"

    def _set_cookie(self, connection: HTTPConnection, name: str, value: str) -> str:
        return visitors.set_cookie(connection, name, value, crosses_sites=self.mode == "space")


def _kind_of(action: Action) -> str:
    """As what a call counts."""
    if action in COUNTED:
        return "questions"
    if action is Action.JOIN:
        return "class"
    return "form"


def _refusal(caller: Caller, action: Action) -> str:
    """Why they may not do it, whatever run it is."""
    if action is Action.LEAD:
        return NOT_HOST  # on the desk and in front this is read by the host
    if caller.mode != "classroom":
        return NOT_PUBLIC.format(action.value)
    if action in OF_THE_CLASS:
        return NOT_JOINED
    if caller.role is Role.VISITOR:
        return WATCHERS
    return NOT_OTHERS.format(action.value)


def named_run(value: Any) -> Any:
    """The run that an argument from a browser names: it is its id, or has it as its entry `run`."""
    if isinstance(value, Mapping):
        return value.get("run")
    return value


def _wrapped(handler: Callable[..., Any], call: Callable[..., Any], refused: Callable[[str], Any] | None) -> Any:
    """A function of the handler's kind around `call`, that answers for what it raises."""

    def function(request: gr.Request = NO_REQUEST, *arguments: Any) -> Any:
        with contextlib.ExitStack() as until_answered:
            try:
                return call(request, arguments, until_answered)
            except Exception as error:
                return _answer_to(error, handler, refused)

    def generator(request: gr.Request = NO_REQUEST, *arguments: Any) -> Iterator[Any]:
        with contextlib.ExitStack() as until_answered:
            try:
                yield from call(request, arguments, until_answered)
            except Exception as error:
                yield _answer_to(error, handler, refused)

    async def coroutine(request: gr.Request = NO_REQUEST, *arguments: Any) -> Any:
        with contextlib.ExitStack() as until_answered:
            try:
                return await call(request, arguments, until_answered)
            except Exception as error:
                return _answer_to(error, handler, refused)

    async def stream(request: gr.Request = NO_REQUEST, *arguments: Any) -> AsyncIterator[Any]:
        with contextlib.ExitStack() as until_answered:
            try:
                async for answer in call(request, arguments, until_answered):
                    yield answer
            except Exception as error:
                yield _answer_to(error, handler, refused)

    if inspect.isasyncgenfunction(handler):
        return stream
    if inspect.iscoroutinefunction(handler):
        return coroutine
    if inspect.isgeneratorfunction(handler):
        return generator
    return function


def _answer_to(error: Exception, handler: Callable[..., Any], refused: Callable[[str], Any] | None) -> Any:
    """What a handler that was refused or failed answers: what `refused` makes of a sentence, else an error to show."""
    if isinstance(error, gr.Error):
        raise error
    title, sentence = "This did not succeed", FAILED
    if isinstance(error, NotAllowed):
        title, sentence = "Not here", str(error)
    elif isinstance(error, (PlaygroundError, OSError)):
        sentence = in_words(error)
    else:
        _log.error("The handler %s failed", handler.__name__, exc_info=error)
    if refused is None:
        raise Refused(sentence, print_exception=False, title=title)
    return refused(sentence)

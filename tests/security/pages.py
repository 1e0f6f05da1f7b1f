"""A real web process inside the test's own, in any mode, with a fake worker and a fake model service; and what a
stranger can send to it without a browser."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from playground.runs import launcher
from playground.setup import catalog, limits
from playground.ui import server
from playground.ui.auth import access, incoming, middleware, visitors
from playground.ui.auth.access import Action
from playground.ui.train import form
from tests.ui import fake_run, fake_server
from tests.ui.conftest import free_port

TOKEN = "canary-" + "t0ken" * 6
SECONDS_PER_UPDATE = "0.3"


class CountingService(fake_server.FakeService):
    """Answers as the fake one does, and remembers that it was asked."""

    def __init__(self, outputs: Path | None = None) -> None:
        self.asked: list[str] = []

    def compare(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        """Remember, then answer."""
        self.asked.append("compare")
        yield from super().compare(*arguments, **options)

    def ask(self, kind: str, question: dict[str, Any], timeout_seconds: float = 0.0) -> Iterator[Any]:
        """Remember, then answer."""
        self.asked.append(kind)
        yield from super().ask(kind, question, timeout_seconds)


class CountingStandby(fake_server.NoStandby):
    """None ever waits; remembers that one was wanted, and whether it may be."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = 0

    @property
    def closed(self) -> bool:
        """Whether no process would be started any more."""
        return self._closed

    def prepare(self) -> None:
        """Remember only."""
        self.wanted += 1


class Page(NamedTuple):
    """A served page."""

    mode: str
    url: str
    outputs: Path
    running: server.Running
    gradio: Any  # the App

    @property
    def access(self) -> access.Access:
        """The rules by which it lets in."""
        return next(
            item.kwargs["access"] for item in self.gradio.user_middleware if item.cls is middleware.RequestMiddleware
        )

    def client(self, **options: Any) -> httpx.Client:
        """Somebody without cookies, who says, as a browser does, that a page of this server's asks. A connection is
        used again for 2 s: the server closes it after 5."""
        options["headers"] = {"Origin": self.url.rstrip("/"), **options.get("headers", {})}
        return httpx.Client(base_url=self.url, timeout=60, limits=httpx.Limits(keepalive_expiry=2.0), **options)

    def program(self, token: str = "", address: str = "") -> httpx.Client:
        """A program that is no browser, with the host's token where one is given."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"X-Forwarded-For": address} if address else {}
        return httpx.Client(base_url=self.url, timeout=60, headers=headers)

    def host(self) -> httpx.Client:
        """Somebody who has opened the host's address."""
        answer = httpx.get(self.url + "host", params={"token": TOKEN}, timeout=60)
        assert answer.status_code == 303
        assert answer.headers["location"] == "./"
        return self.client(cookies=answer.cookies)

    def visitor(self, address: str = "") -> httpx.Client:
        """Somebody with a visitor's cookie of their own, behind an address (as a proxy on this machine tells it)."""
        headers = {"X-Forwarded-For": address} if address else {}
        return self.client(headers=headers, cookies={visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)})

    def tree(self) -> str:
        """A digest of everything in the outputs folder: names, sizes and contents."""
        found = hashlib.sha256()
        for path in sorted(set(self.outputs.rglob("*")) - set((self.outputs / incoming.FOLDER).rglob("*"))):
            found.update(str(path.relative_to(self.outputs)).encode())
            if path.is_file() and path.name != visitors.KEY_FILE:
                with contextlib.suppress(FileNotFoundError):
                    found.update(path.read_bytes())
        return found.hexdigest()

    def functions(self) -> dict[int, Any]:
        """Every handler of Gradio's that runs Python, by its index."""
        return {index: item for index, item in self.running.demo.fns.items() if item.fn is not None}

    def index_of(self, name: str, nth: int = 0) -> int:
        """The index of a handler by its function's name."""
        return [index for index, item in self.functions().items() if item.fn.__name__ == name][nth]

    def server_function(self, name: str) -> int:
        """The component that offers a function to its script."""
        return next(number for number, found, _ in self.server_functions() if found == name)

    def server_functions(self) -> list[tuple[int, str, Any]]:
        """Every function that a component offers to its script: component, name, function."""
        found = []
        for number, block in self.running.demo.blocks.items():
            for name in sorted({*dir(type(block)), *vars(block)}):
                function = getattr(block, name, None)
                if getattr(function, "_is_server_fn", False):
                    found.append((number, name, function))
        return found


@contextlib.contextmanager
def served(mode: str, outputs: Path, recorded: Path, share: bool = False, mcp: bool = False) -> Iterator[Page]:
    """A page in a mode; everything that it changed in this process is put back afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launcher, "new_worker", fake_server.spawn_fake)
        patch.setattr(server, "ModelService", CountingService)
        patch.setattr(server, "StandbyWorker", CountingStandby)
        patch.setenv(fake_run.SECONDS_VARIABLE, SECONDS_PER_UPDATE)
        patch.setenv(limits.MODE_VARIABLE, "")
        patch.delenv("GRADIO_SERVER_NAME", raising=False)
        if mode != "local":
            patch.setenv(visitors.TOKEN_VARIABLE, TOKEN)
        port = free_port()
        running = server.launch(port=port, outputs=outputs, mode=mode, recorded=recorded, share=share, mcp=mcp)
        assert visitors.TOKEN_VARIABLE not in os.environ
        try:
            yield Page(mode, f"http://127.0.0.1:{port}/", outputs, running, running.demo.app)
        finally:
            for run in launcher.living_runs(outputs):
                run.request_stop()
            running.close()


def call(client: httpx.Client, index: int, data: list[Any], **headers: str) -> dict[str, Any]:
    """Run a handler by its index through Gradio's queue; its last message, or {"status": ...} if it was not let in."""
    session = secrets.token_hex(6)
    body = {"fn_index": index, "data": data, "session_hash": session, "event_data": None, "trigger_id": None}
    joined = client.post("gradio_api/queue/join", json=body, headers=headers)
    if joined.status_code != 200:
        return {"status": joined.status_code, "text": joined.text}
    with client.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                message = json.loads(line[5:])
                if message["msg"] == "process_completed":
                    return {**message, "status": 200, "text": line}
                if message["msg"] == "close_stream":
                    break
    raise AssertionError("the handler did not answer")


def ask(client: httpx.Client, component: int, name: str, argument: Any, **headers: str) -> httpx.Response:
    """Call a server function, as a component's script does."""
    body = {"data": argument, "fn_name": name, "component_id": component, "session_hash": secrets.token_hex(6)}
    return client.post("gradio_api/component_server", json=body, headers=headers)


def was_refused(text: str) -> bool:
    """Whether an answer holds one of the sentences of `access`."""
    sentences = (
        access.WATCHERS,
        access.NOT_JOINED,
        access.NOT_YOURS.partition("{")[0].strip(),
        access.NOT_PUBLIC.partition("(")[0].strip(),
    )
    return any(sentence in text for sentence in sentences)


def call_directly(client: httpx.Client, index: int, data: list[Any], **headers: str) -> dict[str, Any]:
    """Run a handler by its index without the queue."""
    answer = client.post("gradio_api/run/predict", json={"fn_index": index, "data": data}, headers=headers)
    return {"status": answer.status_code, "text": answer.text, "output": answer.json()}


def is_refusal(message: dict[str, Any]) -> bool:
    """Whether a handler gave one of those sentences, or answered that the page is to stay as it is."""
    data = (message.get("output") or {}).get("data")
    nothing = bool(data) and all(isinstance(item, dict) and item.get("__type__") == "update" for item in data)
    nothing = nothing and not any("value" in item for item in data)
    return message["status"] not in (200,) or was_refused(message["text"]) or nothing


def arguments(item: Any) -> list[Any]:
    """For each input of a handler what the page would send from the start."""
    defaults = {"htmlcomponent": None}
    values = []
    for component in item.inputs:
        value = getattr(component, "value", None)
        values.append(
            value() if callable(value) else value if value is not None else defaults.get(component.get_block_name())
        )
    return values


def form_values(preset: str = catalog.DEFAULT_PRESET, **changes: Any) -> list[Any]:
    """What the Start button sends: view, preset, notes, every field of the form; `ppo__num_updates=5` changes one."""
    values = form.values_of(catalog.preset(preset))
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    return [{"run": None}, preset, {}, *(values[field] for field in form.FIELDS)]


def start(page: Page, client: httpx.Client, **changes: Any) -> tuple[str | None, list[dict[str, str]]]:
    """Press Start, for a run that goes on until it is stopped: the run that is to be shown, and the problems."""
    message = call(client, page.index_of("start_run"), form_values(**{"ppo__num_updates": 500, **changes}))
    assert message["status"] == 200, message
    view, notes, _ = message["output"]["data"]
    return (view.get("run") if "__type__" not in view else None), notes["problems"]


GRANTED_TO_ALL = frozenset({Action.WATCH, Action.EXPORT})

"""A real web process inside the test's own, in any mode, with a fake worker and a fake model service; and what a
stranger can send to it without a browser."""

import contextlib
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.requests import Request

from playground.runs import launcher, queue
from playground.setup import catalog, limits
from playground.ui import server
from playground.ui.auth import incoming, middleware, visitors
from playground.ui.train import form
from tests.support import wait_until
from tests.ui import fake_run, fake_server
from tests.ui.conftest import free_port

TOKEN = "canary-" + "t0ken" * 6
SECONDS_PER_UPDATE = "0.3"
PUBLIC = "93.184.216."  # of addresses that a proxy could tell


class Page(NamedTuple):
    """A served page."""

    mode: str
    url: str
    outputs: Path
    running: server.Running
    gradio: Any  # the App

    @property
    def access(self):
        return next(
            item.kwargs["access"] for item in self.gradio.user_middleware if item.cls is middleware.RequestMiddleware
        )

    @property
    def service(self):
        return self.running.demo.serving.service

    def named(self, cookie):
        """What a cookie of the host or of a class is called here."""
        return visitors.at_port(connection("", headers={"Host": urlsplit(self.url).netloc}), cookie)

    def client(self, address="", headers=None, **options):
        """Somebody without cookies, who says, as a browser does, that a page of this server's asks; behind an address,
        as a proxy on this machine tells it."""
        return self.program(address=address, headers={"Origin": self.url.rstrip("/"), **(headers or {})}, **options)

    def program(self, token="", address="", headers=None, **options):
        """A program that is no browser, with the host's token where one is given. A connection is used again for 2 s:
        the server closes it after 5."""
        own = {"Authorization": f"Bearer {token}"} if token else {}
        own |= {"X-Forwarded-For": address} if address else {}
        kept = httpx.Limits(keepalive_expiry=2.0)
        options |= {"headers": {**own, **(headers or {})}, "timeout": 300, "verify": False, "limits": kept}
        return httpx.Client(base_url=self.url, **options)

    def host(self):
        """Somebody who has opened the host's address."""
        with self.client() as knocking:
            answer = knocking.get("host", params={"token": TOKEN})
        assert (answer.status_code, answer.headers["location"]) == (303, "./")
        return self.client(cookies=answer.cookies)

    def visitor(self, address=""):
        """Somebody with a visitor's cookie of their own."""
        return self.client(address, cookies={visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)})

    def member(self, code, address=""):
        with self.client(address) as joining:
            answer = joining.post("class/join", json={"code": code})
        assert answer.json() == {"error": ""}
        return self.client(address, cookies=answer.cookies)

    def tree(self):
        """A digest of everything in the outputs folder: names, sizes and contents."""
        digest = hashlib.sha256()
        for path in sorted(set(self.outputs.rglob("*")) - set((self.outputs / incoming.FOLDER).rglob("*"))):
            digest.update(str(path.relative_to(self.outputs)).encode())
            if path.is_file() and path.name != visitors.KEY_FILE and not path.name.endswith("-shm"):  # of SQLite, read
                with contextlib.suppress(FileNotFoundError):
                    digest.update(path.read_bytes())
        return digest.hexdigest()

    def alive(self):
        return {run.id for run in launcher.living_runs(self.outputs)} | set(queue.waiting(self.outputs))

    @contextlib.contextmanager
    def nothing_changes(self):
        """Meanwhile: no file, no question to a model, no run."""
        before, asked = self.tree(), list(self.service.asked)
        yield
        assert (self.tree(), self.service.asked) == (before, asked)
        assert not self.alive()

    def functions(self):
        """Every handler of Gradio's that runs Python, by its index."""
        return {index: item for index, item in self.running.demo.fns.items() if item.fn is not None}

    def index_of(self, name, nth=0):
        """The index of a handler by its function's name."""
        return [index for index, item in self.functions().items() if item.fn.__name__ == name][nth]

    def server_function(self, name):
        """The component that offers a function to its script."""
        return next(number for number, offered, _ in self.server_functions() if offered == name)

    def server_functions(self):
        """Every function that a component offers to its script: component, name, function."""
        functions = []
        for number, block in self.running.demo.blocks.items():
            for name in sorted({*dir(type(block)), *vars(block)}):
                function = getattr(block, name, None)
                if getattr(function, "_is_server_fn", False):
                    functions.append((number, name, function))
        return functions


def stand_in(patch, seconds_per_update):
    """Have pages of this process, which are of no mode yet, take a fake worker and a fake model service."""
    patch.setattr(launcher, "new_worker", fake_server.spawn_fake)
    patch.setattr(server, "ModelService", fake_server.FakeService)
    patch.setattr(server, "StandbyWorker", fake_server.NoStandby)
    patch.setenv(fake_run.SECONDS_VARIABLE, seconds_per_update)
    patch.setenv(limits.MODE_VARIABLE, "")


@contextlib.contextmanager
def served(mode, outputs, recorded, share=False, mcp=False):
    """A page in a mode; everything that it changed in this process is put back afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, SECONDS_PER_UPDATE)
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


def session_of(client):
    """The name that a client's page has with Gradio, which takes long to make a session."""
    return vars(client).setdefault("session", secrets.token_hex(6))


def call(client, index, data):
    """Run a handler by its index through Gradio's queue; its last message, or {"status": ...} if it was not let in."""
    session = session_of(client)
    body = {"fn_index": index, "data": data, "session_hash": session, "event_data": None, "trigger_id": None}
    joined = client.post("gradio_api/queue/join", json=body)
    if joined.status_code != 200:
        return {"status": joined.status_code, "text": joined.text}
    with client.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as stream:
        lines = [line for line in stream.iter_lines() if '"msg":"process_completed"' in line]
    return {**json.loads(lines[-1].removeprefix("data:")), "status": 200, "text": lines[-1]}


def ask(client, component, name, argument):
    """Call a server function, as a component's script does."""
    body = {"data": argument, "fn_name": name, "component_id": component, "session_hash": session_of(client)}
    return client.post("gradio_api/component_server", json=body)


def called(client, name, **arguments):
    """What a program gets of a function by its name: the answer, or the sentence of its error."""
    posted = client.post(f"gradio_api/call/v2/{name}", json=arguments)
    if posted.status_code != 200:
        return posted.json()["error"]
    with client.stream("GET", f"gradio_api/call/v2/{name}/{posted.json()['event_id']}") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: {"):
                return json.loads(line[6:])["error"]
            if line.startswith("data: ["):
                return json.loads(line[6:])[0]
    raise AssertionError("there was no answer")


def lead(client, command, **more):
    return client.post("class/lead", json={"do": command, **more})


def arguments(item):
    """For each input of a handler what the page would send from the start."""
    values = [getattr(component, "value", None) for component in item.inputs]
    return [value() if callable(value) else value for value in values]


def form_values(preset=catalog.DEFAULT_PRESET, **changes):
    """What the Start button sends: view, preset, notes, every field of the form; `ppo__num_updates=5` changes one."""
    values = form.values_of(catalog.preset(preset))
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    return [{"run": None}, preset, {}, *(values[field] for field in form.FIELDS)]


def started(message):
    """Of the answer to Start: the run that is to be shown, and the problems."""
    view, notes, _ = message["output"]["data"]
    return (view.get("run") if "__type__" not in view else None), notes["problems"]


def start(page, client, **changes):
    """Press Start, for a run that goes on until it is stopped."""
    return started(call(client, page.index_of("start_run"), form_values(**{"ppo__num_updates": 500, **changes})))


def stop(page, client, run):
    """Press Stop, and wait until the run has ended; what it says where it is refused."""
    error = ask(client, page.server_function("stop_run"), "stop_run", run).json()["error"]
    if not error:
        wait_until(lambda: run not in page.alive())
    return error


def connection(address, cookies=None, headers=None, query=""):
    """What a server hands over of a request, without a server."""
    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    raw += [(b"cookie", f"{name}={value}".encode()) for name, value in (cookies or {}).items()]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query.encode(), "scheme": "http"}
    return Request({**scope, "headers": raw, "client": (address, 1), "server": ("127.0.0.1", 80)})

"""Parts of Gradio that the app around this page has other ones of, from when it begins to be served (`set_on`). Other
apps of the process keep Gradio's.

They are not offered as settings, so another version of Gradio may have others, and some of what docs/security.md
promises rests on them: `missing` says which are not there, and a page for others does not start without them. Knows
gradio; nothing of runs or of who may do what. `demo` calls it.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from typing import Any

import gradio as gr
from gradio import routes
from gradio.mcp import GradioMCPServer
from gradio.state_holder import SessionState, StateHolder

from playground import to_install
from playground.errors import InvalidConfig, Problem


@contextlib.contextmanager
def no_folder() -> Iterator[None]:
    """While Gradio makes an app: it makes a folder then too, in one that may be another user's, and here needs none."""
    folder = routes.DEFAULT_TEMP_DIR
    with tempfile.TemporaryDirectory() as routes.DEFAULT_TEMP_DIR:
        try:
            yield
        finally:
            routes.DEFAULT_TEMP_DIR = folder


class _Session(SessionState):
    """What Gradio keeps of one session, without what only links to a whole page's state read, and those are closed."""

    # docs/upstream.md#each-session-copies-the-settings-of-all-components
    config_values: Any = property(lambda _: {}, lambda _, values: None)  # 320 kB for each name of a session

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Gradio would keep what a browser sends, however large, in the session that the browser names, before any
        handler is asked. docs/upstream.md#values-sent-in-a-call-are-kept-in-the-session"""


class _Sessions(StateHolder):
    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = _Session(self.blocks)
        return super().__getitem__(session_id)


def _answer_as_json(server: GradioMCPServer, answers: Any) -> list[Any]:
    """What an agent gets of a tool: Gradio would write data as Python does, and open a file where they name one.
    docs/upstream.md#a-tool-answers-an-agent-as-python-writes-it"""
    return [server.types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False)) for answer in answers]


def _call_no_one() -> Any:
    """What is queued Gradio would call over HTTP: as this machine, and not as who asked. No tool is queued.
    docs/upstream.md#what-an-agent-asks-comes-from-the-server-itself"""
    raise gr.Error("This cannot be called by an agent.", print_exception=False)


def set_on(app: Any, demo: gr.Blocks) -> None:
    """Give the app around a page its own sessions, and its server for agents, if it has one, its own answers."""
    app.state_holder = _Sessions()
    app.state_holder.set_blocks(demo)
    if server := demo.mcp_server_obj:
        vars(server)["postprocess_output_data"] = lambda answers, root_url: _answer_as_json(server, answers)
        vars(server)["_get_or_create_client"] = _call_no_one


PARTS = (
    (SessionState, "_update_value_in_config"),
    (GradioMCPServer, "postprocess_output_data"),
    (GradioMCPServer, "_get_or_create_client"),
)
QUEUE = ("pending_messages_per_session", "pending_event_ids_session", "event_ids_to_events")  # `sessions` clears them


def missing(demo: gr.Blocks) -> list[str]:
    """The names of what is not there in the Gradio that is installed."""
    lacking = [f"{owner.__name__}.{name}" for owner, name in PARTS if not hasattr(owner, name)]
    if "config_values" not in SessionState.__init__.__code__.co_names:
        lacking.append("SessionState.config_values")
    return [*lacking, *(f"gradio.queueing.Queue.{name}" for name in QUEUE if not hasattr(demo._queue, name))]


def warning(demo: gr.Blocks, mode: str) -> str:
    """What to say where this Gradio lacks something that the page's safety rests on. Raises: InvalidConfig, on a page
    for others, which does not start like that."""
    lacking = missing(demo)
    if not lacking:
        return ""
    sentence = (
        f"Gradio {gr.__version__} does not have {', '.join(lacking)}, which keeps visitors from filling this server. "
        f"Install the version that the playground is made for ({to_install()})."
    )
    if mode != "local":
        raise InvalidConfig([Problem("gradio", sentence)])
    return f"Warning: {sentence}\n"

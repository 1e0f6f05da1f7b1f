"""Parts of Gradio that this page replaces for the life of the process. Other apps in it find them as they were.

They are not offered as settings, so another version of Gradio may have others, and some of what docs/security.md
promises rests on them: `missing` says which are not there, and a page for others does not start without them. Knows
gradio; nothing of runs or of who may do what. `demo` calls it.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from gradio import processing_utils, route_utils, routes
from gradio.context import LocalContext
from gradio.mcp import GradioMCPServer
from gradio.route_utils import GradioMultiPartParser
from gradio.routes import App
from gradio.state_holder import SessionState
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException

from playground import to_install
from playground.errors import InvalidConfig, Problem


def _is_ours(blocks: Any) -> bool:
    """Whether an app of this process is such a page: others may be served beside it. Where none is named, it is."""
    return blocks is None or hasattr(blocks, "app_kwargs")


_download = processing_utils.async_ssrf_protected_download


async def _fetch_nothing(url: str, cache_dir: str) -> str:
    """Where a browser names an address instead of an uploaded file, Gradio would download it, however large, before any
    handler is asked. This page fetches nothing for anyone."""
    if not _is_ours(LocalContext.blocks.get(None)):
        return await _download(url, cache_dir)
    raise gr.Error("Upload the file itself; addresses are not fetched.", print_exception=False)


_update_value_in_config = SessionState._update_value_in_config


def _keep_nothing(state: SessionState, key: int, value: Any) -> None:
    """Gradio would keep what a browser sends, however large, in the session that the browser names, before any handler
    is asked. Only links that hold a whole page's state read it again, and those are closed."""
    if not _is_ours(state.blocks_config.root_block):
        _update_value_in_config(state, key, value)


def _config_values(state: SessionState) -> dict[int, Any]:
    """A copy of the whole page's settings, 320 kB for each name of a session. The same links alone read it."""
    values: dict[int, Any] = vars(state).get("config_values", {})
    return values


def _keep_config_values(state: SessionState, values: dict[int, Any]) -> None:
    if not _is_ours(state.blocks_config.root_block):
        vars(state)["config_values"] = values


_postprocess_output_data, _get_or_create_client = (
    GradioMCPServer.postprocess_output_data,
    GradioMCPServer._get_or_create_client,
)


def _answer_as_json(server: GradioMCPServer, answers: Any, root_url: str) -> list[Any]:
    """What an agent gets of a tool: Gradio would write data as Python does, and open a file where they name one."""
    if not _is_ours(server.blocks):
        return _postprocess_output_data(server, answers, root_url)
    return [server.types.TextContent(type="text", text=json.dumps(one, ensure_ascii=False)) for one in answers]


def _call_no_one(server: GradioMCPServer) -> Any:
    """What is queued Gradio would call over HTTP: as this machine, and not as who asked. No tool is queued."""
    if not _is_ours(server.blocks):
        return _get_or_create_client(server)
    raise gr.Error("This cannot be called by an agent.", print_exception=False)


class OneFile(GradioMultiPartParser):
    """A request brings one file, as the page's buttons send it, and what it has written goes where the request breaks
    off or gives the file no use. Else a thousand could be open at once, or left for good."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "max_files": 1, "max_fields": 10})

    async def parse(self) -> FormData:
        """As Gradio's, and nothing is left of what is not the upload. Raises: MultiPartException, for what is none."""
        try:
            form = await super().parse()
            if not all(isinstance(item, UploadFile) for item in form.getlist("files")):
                raise ValueError("`files` holds no file")
        except BaseException as error:
            self._remove(self._files_to_close_on_error)
            if isinstance(error, ValueError):  # of the parser, of a charset
                raise MultiPartException(f"This upload cannot be read: {error}. Send it again.") from error
            raise
        used = {id(item.file) for item in form.getlist("files") if isinstance(item, UploadFile)}
        self._remove(file for file in self._files_to_close_on_error if id(file) not in used)
        return form

    @staticmethod
    def _remove(files: Iterable[Any]) -> None:
        for file in files:
            file.close()
            Path(file.name).unlink(missing_ok=True)


asked_of_us: ContextVar[bool] = ContextVar("asked_of_us", default=False)  # whether the request is for such a page


@functools.wraps(GradioMultiPartParser)
def _parser(*arguments: Any, **options: Any) -> GradioMultiPartParser:
    return (OneFile if asked_of_us.get() else GradioMultiPartParser)(*arguments, **options)


_create_app = App.create_app


@functools.wraps(_create_app)
def _create_whole_app(blocks: gr.Blocks, app: Any = None, app_kwargs: Any = None, **options: Any) -> App:
    """Gradio makes the web app around a page here, for `launch` and for `gr.mount_gradio_app`. A page that brings
    routes and middleware of its own is asked for them; the call need not name them."""
    if not hasattr(blocks, "app_kwargs"):
        return _create_app(blocks, app, app_kwargs, **options)
    app_kwargs = blocks.app_kwargs(app_kwargs, options.get("auth_dependency"))
    theirs = routes.DEFAULT_TEMP_DIR
    with tempfile.TemporaryDirectory() as routes.DEFAULT_TEMP_DIR:  # theirs may be another user's; ours needs none
        try:
            return _create_app(blocks, app, app_kwargs, **options)
        finally:
            routes.DEFAULT_TEMP_DIR = theirs


class Replacement(NamedTuple):
    """One part of Gradio: where it hangs, and what takes its place. `of_each`: each object sets it when it is made."""

    owner: Any
    name: str
    instead: Any
    of_each: bool = False

    @property
    def is_there(self) -> bool:
        """Whether this Gradio has it."""
        return self.name in self.owner.__init__.__code__.co_names if self.of_each else hasattr(self.owner, self.name)


PARTS = (
    # docs/upstream.md#a-file-named-by-an-address-is-fetched-whatever-its-size
    Replacement(processing_utils, "async_ssrf_protected_download", _fetch_nothing),
    # docs/upstream.md#values-sent-in-a-call-are-kept-in-the-session
    Replacement(SessionState, "_update_value_in_config", _keep_nothing),
    # docs/upstream.md#each-session-copies-the-settings-of-all-components
    Replacement(SessionState, "config_values", property(_config_values, _keep_config_values), of_each=True),
    # docs/upstream.md#uploads-leave-files-that-no-one-is-told-about
    Replacement(route_utils, "GradioMultiPartParser", _parser),
    # docs/upstream.md#a-tool-answers-an-agent-as-python-writes-it
    Replacement(GradioMCPServer, "postprocess_output_data", _answer_as_json),
    # docs/upstream.md#what-an-agent-asks-comes-from-the-server-itself
    Replacement(GradioMCPServer, "_get_or_create_client", _call_no_one),
    Replacement(App, "create_app", _create_whole_app),
)
QUEUE = ("pending_messages_per_session", "pending_event_ids_session", "event_ids_to_events")  # `sessions` clears them


def missing(demo: gr.Blocks) -> list[str]:
    """The names of what is not there in the Gradio that is installed."""
    lacking = [f"{part.owner.__name__}.{part.name}" for part in PARTS if not part.is_there]
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


def replace() -> None:
    """Put each where it belongs, before a page is served."""
    for part in PARTS:
        if part.is_there:
            setattr(part.owner, part.name, part.instead)

"""What a browser may call its session, and how long Gradio keeps what it holds under such a name.

Gradio files messages and states under names that whoever calls makes up. So only names like its own pages' are let in
(`gate` asks `problem_of`), and what nobody has fetched for a while is dropped (`server` runs `forget_unread` on the
event loop). Knows Gradio's queue; nothing of who may do what.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY = "session_hash"  # in a query, or in a body of JSON
HEARTBEAT = re.compile(r"/gradio_api/heartbeat/(.*?)/?", re.DOTALL)
REFUSED = "A session's name has 1 to 64 letters, digits, hyphens and underscores. Reload the page to get one."
UNREAD_SECONDS = 30.0
Left = dict[str, tuple[int, frozenset[str]]]  # by session: how many messages wait, and of which calls


def problem_of(path: str, query: bytes, body: bytes = b"") -> str:
    """A sentence if a request names a session as no page of Gradio's would; else nothing.

    Args:
        path: without the root path. body: all of it. What is not JSON names nobody, and is Gradio's to refuse.
    """
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    names: list[Any] = [value for key, value in given if key == KEY]
    if heartbeat := HEARTBEAT.fullmatch(path):
        names.append(heartbeat[1])
    try:
        data = json.loads(body) if body else None
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and data.get(KEY) is not None:
        names.append(data[KEY])
    return "" if all(isinstance(name, str) and NAME.fullmatch(name) for name in names) else REFUSED


async def forget_unread(demo: gr.Blocks, seconds: float = UNREAD_SECONDS) -> None:
    """For ever: drop what is left of sessions in which nothing has happened for so long. A page that is there fetches
    its messages at once, so they are of somebody who has gone, or who never meant to read them."""
    left: Left = {}
    while True:
        await asyncio.sleep(seconds)
        left = _forget(demo._queue, left)


def _forget(queue: Any, before: Left) -> Left:
    """Drop the sessions that are as they were in `before`; what is left of the others."""
    messages, calls = queue.pending_messages_per_session, queue.pending_event_ids_session
    at_work = {event.session_hash for event in queue.event_ids_to_events.values()}
    now = {
        name: (messages[name].qsize() if name in messages else 0, frozenset(calls.get(name, ())))
        for name in {*messages, *calls} - at_work
    }
    for name in [name for name, left in now.items() if before.get(name) == left]:
        messages.pop(name, None)
        calls.pop(name, None)
        del now[name]
    return now

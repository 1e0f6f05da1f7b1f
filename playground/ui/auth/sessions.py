"""What a Gradio call may contain: a session's name as pages give it, and few values; and how long Gradio keeps it.

Gradio files messages and states under names that callers make up. So only names like its own pages' are let in
(`middleware` asks `refusal_of`), and what has not been fetched for a while is dropped, calls that still wait among it
(`server` runs `forget_unread` on the event loop). It parses what a call brings on that loop too, several times and
before any handler is asked; so the values are counted first. Knows Gradio's queue; nothing of who may do what.

docs/upstream.md#calls-of-clients-that-never-read-are-kept and docs/upstream.md#a-call-is-parsed-on-the-event-loop
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
MAX_VALUES = 10_000  # the whole form, with all the rewards that there can be, has 600; as in a configuration (YAML)
MANY_VALUES = f"This has more than {MAX_VALUES:,} values, which is the most that this page accepts in one call."
Left = dict[str, tuple[int, frozenset[str]]]  # by session: how many messages wait, and of which calls


def refusal_of(path: str, query: bytes, body: bytes = b"") -> tuple[int, str] | None:
    """Status and sentence if a call holds too many values, or names a session as no page of Gradio's would.

    Args:
        path: without the root path. body: all of it. What is not JSON names none, and is Gradio's to refuse.
    """
    if has_many_values(body):
        return 413, MANY_VALUES
    parameters = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    names: list[Any] = [value for key, value in parameters if key == KEY]
    if heartbeat := HEARTBEAT.fullmatch(path):
        names.append(heartbeat[1])
    data = parsed(body)
    if isinstance(data, dict) and data.get(KEY) is not None:
        names.append(data[KEY])
    if all(isinstance(name, str) and NAME.fullmatch(name) for name in names):
        return None
    return (400, REFUSED)


def parsed(body: bytes) -> Any:
    """What JSON holds; None where it is none."""
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def has_many_values(body: bytes) -> bool:
    """Whether JSON holds more values than any call of the page, by its brackets and commas: nothing is parsed."""
    if len(body) <= MAX_VALUES:
        return False
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # without the quotes that end no string
    if plain.count(b'"') > 4 * MAX_VALUES:  # of names and of texts
        return True
    # where every character has two bytes, as JSON may be written too, texts are not told apart
    outside = body if b"\0" in body else b"".join(plain.split(b'"')[::2])
    return sum(outside.count(sign) for sign in (b"[", b"{", b",")) > MAX_VALUES


async def forget_unread(demo: gr.Blocks) -> None:
    """For ever: drop what is left of sessions in which nothing has happened for so long. A page that is there fetches
    its messages at once, so they are of a client that has gone, or never meant to read them."""
    left: Left = {}
    while True:
        await asyncio.sleep(UNREAD_SECONDS)
        left = await drop_unread(demo._queue, left)


async def drop_unread(queue: Any, before: Left) -> Left:
    """End the calls, waiting or under way, of sessions that have fetched none of their messages since `before`, and
    forget those without a call in which nothing has changed; how the others are now. A call that waits sends messages,
    and a page fetches them."""
    messages, calls = queue.pending_messages_per_session, queue.pending_event_ids_session
    at_work = {event.session_hash for event in queue.event_ids_to_events.values()}
    now = {
        name: (messages[name].qsize() if name in messages else 0, frozenset(calls.get(name, ())))
        for name in {*messages, *calls, *at_work}
    }
    for name, (unread, _) in list(now.items()):
        if name in at_work:
            if 0 < before.get(name, (0,))[0] <= unread:
                await queue.clean_events(session_hash=name)
                del now[name]
        elif before.get(name) == now[name]:
            messages.pop(name, None)
            calls.pop(name, None)
            del now[name]
    return now

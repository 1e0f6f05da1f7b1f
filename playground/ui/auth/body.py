"""The body of a request, counted as it comes. Knows ASGI's messages; `middleware` puts one around every request."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from starlette.types import Message, Receive, Send

# Of a body that is unread when the answer goes. A connection that is closed with some of it unread is reset: the
# answer is lost, or the client's next request on the connection that it believes open.
DRAINED_BYTES = 256_000
TOO_SLOW = 408, "This took too long to arrive. Try again."
GONE: Message = {"type": "http.disconnect"}


def too_large(cap: int) -> tuple[int, str]:
    """Status and sentence."""
    return 413, f"This is larger than {cap / 1e6:.3g} MB, which is the most that this page accepts."


class Body:
    """What an application receives; beyond the cap or the time for it, the body ends as if the client had gone.

    Starlette's `RequestBodyLimitMiddleware` answers with a fixed text, and has no limit of time.

    Args:
        cap: bytes. seconds: for all of it to come. announced: whether the request's headers say that there is one.

    Attributes:
        refused: status and sentence, where it was broken off here.
    """

    def __init__(self, receive: Receive, cap: int, seconds: float | None = None, announced: bool = True) -> None:
        self.receive, self.cap, self.announced = receive, cap, announced
        self.until: float | None = None
        if seconds is not None:
            self.until = time.monotonic() + seconds
        self.count, self.whole = 0, False
        self.refused: tuple[int, str] | None = None
        self._ahead: deque[Message] = deque()

    async def __call__(self) -> Message:
        """The next part; after the last one, that the client has gone, whenever that is."""
        if self._ahead:
            return self._ahead.popleft()
        return await self._next()

    async def ahead(self) -> bytes:
        """All that there is, read before the application asks for it."""
        while not (self.whole or self.refused):
            self._ahead.append(await self._next())
        return b"".join(message.get("body", b"") for message in self._ahead)

    async def _next(self) -> Message:
        if self.refused:
            return GONE
        try:
            left = None
            if self.until is not None and not self.whole:
                left = max(0.0, self.until - time.monotonic())
            message = await asyncio.wait_for(self.receive(), left)
        except TimeoutError:
            self.refused = TOO_SLOW
            return GONE
        self.whole = not message.get("more_body")
        self.count += len(message.get("body", b""))
        if self.count > self.cap:
            self.refused = too_large(self.cap)
            return GONE
        return message

    async def drain(self) -> None:
        """Take in and forget what is still to come, up to a little."""
        until = self.count + DRAINED_BYTES
        while self.announced and not (self.whole or self.refused) and self.count <= until:
            await self()

    def unless_refused(self, send: Send) -> Send:
        """`send`, for an application that might answer the broken body; that answer would hide the reason."""

        async def passing(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self.drain()
            if not self.refused:
                await send(message)

        return passing

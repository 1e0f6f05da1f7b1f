"""People of a simulated class (`bench/classroom.py`): clients with cookies of their own, and phones in browsers."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from playground.pocket import judges

AGAIN_SECONDS = 1.0
BUSY = (429, 502, 503)  # the server's answers after which it is asked again
REWARDS = (
    'keywords(completion, "good", "nice")',
    'keywords(completion, "love") - 0.02 * words(completion)',
    "words(completion)",
    "-words(completion)",
    'keywords(completion, "great", "best", "lovely")',
)
SLIPS = 0.1  # of a voter


class Person:
    """One of the class, or the host: a client with cookies of its own that asks again where there is no answer."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url, self.refused = url, 0
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        self.sent: dict[tuple[int, int], Any] = {}
        self.state: dict[str, Any] = {}

    def ask(self, path: str, body: dict[str, Any] | None = None, patience: float = 180.0) -> Any:
        """An answer, after as many tries as it takes. Raises: RuntimeError, with the server's sentence."""
        data = None if body is None else json.dumps(body).encode()
        ends = time.monotonic() + patience
        while True:
            request = urllib.request.Request(self.url + path, data, self.headers)
            try:
                with self.opener.open(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in BUSY or time.monotonic() > ends:
                    raise RuntimeError(f"{path}: {error.code} {error.read()[:300]!r}") from None
            except OSError as error:
                if time.monotonic() > ends:
                    raise RuntimeError(f"{path}: {error}") from None
            self.refused += 1
            time.sleep(AGAIN_SECONDS)

    def lead(self, do: str, **words: Any) -> dict[str, Any]:
        """A command of the host."""
        answer: dict[str, Any] = self.ask("class/lead", {"do": do, **words})
        if answer["error"]:
            raise RuntimeError(f"{do}: {answer['error']}")
        return answer

    def answer(self, step: int, item: int, value: Any) -> None:
        """Send an answer, twice: a double tap."""
        for _ in range(2):
            self.ask("class/answer", {"step": step, "item": item, "value": value})
        self.sent[step, item] = value


def kinder(prompt: str, left: str, right: str, luck: random.Random) -> str:
    """The vote of a person who likes kind texts, and slips now and then."""
    gap = (judges.sentiment(prompt, left) or 0.0) - (judges.sentiment(prompt, right) or 0.0)
    if not gap:
        return "tie"
    slips = luck.random() < SLIPS
    return "left" if (gap > 0) != slips else "right"


def step_size(page: Any) -> int:
    """How many pairs a page has: "Pair 1 of 20"."""
    return int(page.locator(".vote-count").inner_text(timeout=60_000).split()[-1])


def reward_of(at: int) -> str:
    """One for each, all different."""
    return f"{REWARDS[at % len(REWARDS)]} - {at / 1000:.3f} * words(completion)"


def value_of(form: dict[str, Any], at: int) -> dict[str, Any]:
    """Some answer to a question."""
    if form["kind"] == "choice":
        return {"choice": at % len(form["options"])}
    if form["kind"] == "number":
        return {"number": form["low"] + (form["high"] - form["low"]) * (at % 11) / 10}
    return {"shape": form["shapes"][at % len(form["shapes"])]}


def answer_in(page: Any, form: dict[str, Any], at: int) -> None:
    """The same in a browser, by pressing."""
    if form["kind"] == "number":
        page.locator("input[type=range]").focus()
        page.keyboard.press("ArrowRight")
    else:
        answers = form["options"] or form["shapes"]
        page.locator("input[type=radio]").nth(at % len(answers)).check()
    page.get_by_text("Kept.").wait_for(timeout=60_000)


@contextlib.contextmanager
def browsers(count: int) -> Iterator[list[Any]]:
    """So many phones."""
    if not count:
        yield []
        return
    from bench.page_load import browser

    with browser() as chromium:
        size = {"width": 390, "height": 844}
        yield [chromium.new_context(viewport=size).new_page() for _ in range(count)]

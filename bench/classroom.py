"""A whole class, simulated: one host and thirty people, some in real browsers, the rest by real HTTP: `make classroom`.

They go through three lessons, a vote that trains a reward model and a policy, and a game; the server is ended and
started again in the middle of a round. Counted afterwards: what was sent, what is kept, and how much longer an update
takes while everyone watches, in one run on this machine.
"""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))


POLL_SECONDS = 2.5  # as static/classroom/student.js asks
AGAIN_SECONDS = 1.0
LESSONS = ("first-contact", "why-a-leash", "the-loss")
REWARDS = (
    'keywords(completion, "good", "nice")',
    'keywords(completion, "love") - 0.02 * words(completion)',
    "words(completion)",
    "-words(completion)",
    'keywords(completion, "great", "best", "lovely")',
)
RUN_SECONDS = 1800


class Person:
    """One of the class, or the host: a client with cookies of its own that asks again where there is no answer."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url, self.token, self.refused = url, token, 0
        jar = http.cookiejar.CookieJar()
        self._open = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar)
        )
        self.sent: dict[tuple[int, int], Any] = {}
        self.seen: dict[str, Any] = {}

    def ask(self, path: str, body: dict[str, Any] | None = None, patience: float = 180.0) -> Any:
        """An answer, after as many tries as it takes. Raises: RuntimeError, with the server's sentence."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        ends = time.monotonic() + patience
        while True:
            request = urllib.request.Request(self.url + path, data, headers)
            try:
                with self._open.open(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 502, 503) or time.monotonic() > ends:
                    raise RuntimeError(f"{path}: {error.code} {error.read()[:300]!r}") from None
            except OSError as error:
                if time.monotonic() > ends:
                    raise RuntimeError(f"{path}: {error}") from None
            self.refused += 1
            time.sleep(AGAIN_SECONDS)

    def lead(self, do: str, **more: Any) -> dict[str, Any]:
        """A command of the host."""
        found: dict[str, Any] = self.ask("class/lead", {"do": do, **more})
        if found["error"]:
            raise RuntimeError(f"{do}: {found['error']}")
        return found

    def answer(self, step: int, item: int, value: Any) -> None:
        """Send an answer, twice: a double tap."""
        for _ in range(2):
            self.ask("class/answer", {"step": step, "item": item, "value": value})
        self.sent[step, item] = value


class Class:
    """The server, the host, the people by HTTP, and the pages in browsers."""

    def __init__(self, outputs: Path, port: int, people: int, pages: int) -> None:
        self.outputs, self.port, self.token = outputs, port, secrets.token_urlsafe(24)
        self.url = f"http://127.0.0.1:{port}/"
        self.host = Person(self.url, self.token)
        self.people = [Person(self.url) for _ in range(people)]
        self.num_pages, self.pages = pages, []  # type: ignore[var-annotated]
        self.leaving = threading.Event()
        self.slowest, self.polls = 0.0, 0

    def start(self) -> None:
        """Start the server, or start it again."""
        environment = {**os.environ, "PLAYGROUND_HOST_TOKEN": self.token}
        command = [sys.executable, "-m", "playground", "app", "--mode", "classroom", "--port", str(self.port)]
        log = (self.outputs.parent / "class-server.log").open("ab")
        self.process = subprocess.Popen(
            [*command, "--outputs", str(self.outputs)], cwd=PROJECT, env=environment, stdout=log, stderr=log
        )
        self.host.ask("live/_home")

    def stop(self) -> None:
        """End the server."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def join(self) -> None:
        """Everyone comes in."""
        code = self.host.lead("open")["made"]
        for person in self.people:
            person.ask("class/join", {"code": code})
            threading.Thread(target=self._poll, args=(person,), daemon=True).start()
        for page in self.pages:
            page.goto(f"{self.url}class?code={code}")

    def _poll(self, person: Person) -> None:
        time.sleep(random.random() * POLL_SECONDS)
        while not self.leaving.wait(POLL_SECONDS):
            since = person.seen.get("version", "")
            clock = time.monotonic()
            with contextlib.suppress(RuntimeError):
                found = person.ask(f"class/state?since={since}")
                self.slowest, self.polls = max(self.slowest, time.monotonic() - clock), self.polls + 1
                if "step" in found or not person.seen:
                    person.seen = found

    def everyone(self, act: Callable[[Person, int], None]) -> None:
        """All people by HTTP at once."""
        failed: list[Exception] = []

        def one(person: Person, number: int) -> None:
            try:
                act(person, number)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=one, args=pair) for pair in zip(self.people, range(300), strict=False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    def front(self) -> dict[str, Any]:
        found: dict[str, Any] = self.host.ask("class/front")
        return found

    def step(self) -> dict[str, Any]:
        found: dict[str, Any] = self.front()["step"]
        return found

    def wait(self, what: str, done: Callable[[dict[str, Any]], Any], seconds: float = 120.0) -> dict[str, Any]:
        """The desk's view, once it says so."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.breathe()
            if done(found := self.front()):
                return found
        raise RuntimeError(f"waited {seconds:.0f} s for {what}: {json.dumps(found)[:1500]}")

    def breathe(self, seconds: float = 0.5) -> None:
        """Let the browsers go on for a while."""
        if self.pages:
            self.pages[0].wait_for_timeout(seconds * 1000)
        else:
            time.sleep(seconds)

    def question(self, restart: bool = False, rounds: int = 2) -> None:
        """Everyone answers the open question, in one or two rounds."""
        for number in range(1, rounds + 1):
            step = self.step()
            form = step["question"]["predict"]
            if restart and number == 2:
                half = threading.Timer(0.3, self.stop)
                half.start()
            values = [value_of(form, at + number) for at in range(len(self.people))]
            if restart and number == 2:
                threading.Timer(1.5, lambda: (half.join(), self.start())).start()
            self.everyone(
                lambda person, at, step=step, values=values: person.answer(step["id"], step["round"], values[at])
            )  # type: ignore[misc]
            for at, page in enumerate(self.pages):
                answer_in(page, form, at)
            all_in = len(self.people) + len(self.pages)
            self.wait("all answers", lambda found: found["answered"] >= all_in)
            self.host.lead("close", step=step["id"])
            if number < rounds:
                self.host.lead("again", step=step["id"])


def value_of(form: dict[str, Any], at: int) -> dict[str, Any]:
    """Some answer to a question."""
    if form["kind"] == "choice":
        return {"choice": at % len(form["options"])}
    if form["kind"] == "number":
        return {"number": form["low"] + (form["high"] - form["low"]) * (at % 11) / 10}
    shape = form["shapes"][at % len(form["shapes"])]
    return {"curve": [round(0.02 * column, 2) for column in range(41)], "shape": shape}


def answer_in(page: Any, form: dict[str, Any], at: int) -> None:
    """The same in a browser, by pressing."""
    if form["kind"] == "choice":
        page.locator("input[type=radio]").nth(at % len(form["options"])).check()
    elif form["kind"] == "number":
        page.locator("input[type=range]").focus()
        page.keyboard.press("ArrowRight")
    else:
        page.get_by_role("button", name=form["shapes"][at % len(form["shapes"])], exact=True).click()
    page.get_by_text("Kept.").wait_for(timeout=60_000)

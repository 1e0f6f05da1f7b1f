"""A whole class, simulated: one host and thirty people, some in real browsers, the rest by real HTTP: `make classroom`.

They go through three lessons, a vote that trains a reward model and a policy, and a game; the server is ended and
started again in the middle of a round. Counted afterwards: what was sent, what is kept, and how much longer an update
takes while everyone watches, in one run on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.class_people import Person, answer_in, browsers, kinder, reward_of, step_size, value_of  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.ui.classroom.room import Room  # noqa: E402

POLL_SECONDS = 2.5  # as static/classroom/student.js asks
LESSONS = ("first-contact", "why-a-leash", "the-loss")
RUN_SECONDS = 1800


class Class:
    """The server, the host, the people by HTTP, and the pages in browsers."""

    def __init__(self, outputs: Path, port: int, people: int, pages: list[Any]) -> None:
        self.outputs, self.port, self.token = outputs, port, secrets.token_urlsafe(24)
        self.url = f"http://127.0.0.1:{port}/"
        self.host = Person(self.url, self.token)
        self.people = [Person(self.url) for _ in range(people)]
        self.pages = pages
        self.leaving = threading.Event()
        self.slowest, self.polls = 0.0, 0

    def start(self) -> None:
        """Start the server, or start it again."""
        environment = {**os.environ, "PLAYGROUND_HOST_TOKEN": self.token}
        command = [sys.executable, "-m", "playground", "page", "--mode", "classroom", "--port", str(self.port)]
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

    def question(self, restart: bool = False) -> None:
        """Everyone answers the open question, in two rounds. `restart`: the server ends in the middle of the second."""
        for number in (1, 2):
            step = self.step()
            form = step["question"]["predict"]
            again = threading.Thread(target=self._restart) if restart and number == 2 else None
            if again:
                again.start()

            def send(person: Person, at: int, step: Any = step, number: int = number) -> None:
                time.sleep(2 * random.random())
                person.answer(step["id"], step["round"], value_of(step["question"]["predict"], at + number))

            self.everyone(send)
            if again:
                again.join()
            for at, page in enumerate(self.pages):
                if number == 2:  # the form of the first round may still be there
                    page.get_by_text("Once more.").wait_for(timeout=60_000)
                answer_in(page, form, at)
            self.wait("all answers", self.all_answered)
            self.host.lead("close", step=step["id"])
            if number == 1:
                self.host.lead("again", step=step["id"])

    def all_answered(self, front: dict[str, Any]) -> bool:
        """Whether everyone has."""
        return bool(front["answered"] >= len(self.people) + len(self.pages))

    def _restart(self) -> None:
        time.sleep(0.7)
        self.stop()
        self.start()

    def lesson(self, name: str, restart: bool) -> float:
        """One lesson: the prediction twice, the run, what it says, the last question. Seconds of the run."""
        self.host.lead("ask", lesson=name, what="prediction")
        self.question(restart)
        step, clock = self.step(), time.monotonic()
        run = self.host.lead("run", lesson=name, index=0, request=secrets.token_hex(8))["run"]
        self.until_ended(run)
        seconds = time.monotonic() - clock
        self.host.lead("show", step=step["id"], run=run)
        self.wait("the reveal", lambda found: found["step"]["results"]["reveal"]["ready"])
        self.host.lead("ask", lesson=name, what="transfer")
        self.question()
        self.host.lead("show", step=self.step()["id"])
        return seconds

    def timed_run(self) -> float:
        """Seconds of an update of a run that the host starts."""
        run = self.host.lead("run", lesson=LESSONS[0], index=0, request=secrets.token_hex(8))["run"]
        return per_update(self.until_ended(run))

    def until_ended(self, run: str) -> RunDirectory:
        """A run, once it has ended well."""
        found, ends = RunDirectory(self.outputs / run), time.monotonic() + RUN_SECONDS
        while not found.status().ended:
            self.breathe(1)
            if time.monotonic() > ends:
                raise RuntimeError(f"{run} did not end")
        if found.status().state != "finished":
            raise RuntimeError(f"{run}: {found.status().state}, {found.status().message}")
        return found

    def vote(self) -> None:
        """Everyone votes on their pairs, for the kinder text but for some slips."""

        def asked(found: dict[str, Any]) -> bool:
            step = found["step"]
            return bool(step and step["kind"] == "vote" and not step["vote"]["wait"])

        step = self.wait("a vote", asked)["step"]
        drawn = random.Random(0)

        def votes(person: Person, at: int) -> None:
            state = person.ask("class/state")["step"]
            for pair in state["vote"]["pairs"]:
                person.answer(step["id"], pair["number"], kinder(pair["prompt"], pair["left"], pair["right"], drawn))

        self.everyone(votes)
        for page in self.pages:
            for _ in range(step_size(page)):
                texts = [page.locator(".vote-words").nth(side).inner_text() for side in (0, 1)]
                page.wait_for_timeout(400)  # a pair takes no vote at once
                page.keyboard.press({"left": "a", "right": "b", "tie": "t"}[kinder("", *texts, drawn)])
            page.get_by_text("Thank you.").wait_for(timeout=60_000)
        self.wait("all votes", self.all_answered)
        self.host.lead("close", step=step["id"])
        self.host.lead("show", step=step["id"])

    def votes_to_policy(self) -> list[str]:
        """A vote, a judge, a policy, and a blind vote; what the desk says of them."""
        self.host.lead("vote", what="texts", source="pocket-2m", count=40)
        self.vote()
        first = self.step()["id"]
        self.host.lead("judge", step=first)
        done = self.wait("the judge", lambda found: found["votes"]["judges"][0]["state"] == "finished", RUN_SECONDS)
        judge = done["votes"]["judges"][0]
        run = self.host.lead("train_on_votes", judge=judge["name"], request=secrets.token_hex(8))["run"]
        self.until_ended(run)
        self.host.lead("vote", what="blind", source=run)
        self.wait("the blind vote", lambda found: found["step"]["id"] != first)
        self.vote()
        return [*judge["said"], *self.front()["step"]["vote"]["tally"]["said"]]

    def game(self) -> tuple[float, dict[str, Any]]:
        """Everyone hands in a reward; all are trained and shown. Seconds, and what the desk shows."""
        self.host.lead("begin_game")
        step = self.step()["id"]
        self.everyone(lambda person, at: person.answer(step, 1, {"reward": reward_of(at)}))
        for at, page in enumerate(self.pages):
            page.locator("#game-box").fill(reward_of(len(self.people) + at))
            page.get_by_role("button", name="Hand it in").click()
        self.wait("all rewards", self.all_answered)
        self.host.lead("close", step=step)
        clock = time.monotonic()
        entries = [one["reward"] for one in self.front()["game"]["entries"]]
        self.host.lead("start_game", step=step, rewards=entries)
        self.wait("the game", lambda found: found["game"]["ended"] == len(entries), 2 * RUN_SECONDS)
        seconds = time.monotonic() - clock
        self.host.lead("show_game", step=step)
        return seconds, self.front()["game"]

    def lost(self) -> list[str]:
        """Answers that were sent and are not kept, or kept otherwise; kept ones that no one of these sent."""
        room = Room(self.outputs)
        kept: dict[tuple[int, int], list[Any]] = {}
        for step in room.steps():
            for answer in room.answers(step):
                kept.setdefault((step.id, answer.item), []).append(json.dumps(answer.value, sort_keys=True))
        problems = []
        for person in self.people:
            for key, value in person.sent.items():
                text = json.dumps(value, sort_keys=True)
                if text in kept.get(key, []):
                    kept[key].remove(text)
                else:
                    problems.append(f"{key}: {text} is not kept")
        by_browsers = sum(map(len, kept.values()))
        print(f"answers by HTTP {sum(len(one.sent) for one in self.people)}, in browsers {by_browsers}")
        return problems


def per_update(run: RunDirectory) -> float:
    """The usual seconds of an update."""
    return statistics.median(later.seconds - row.seconds for row, later in pairwise(run.metrics()[2:]))


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=25, help="by HTTP")
    parser.add_argument("--browsers", type=int, default=5)
    parser.add_argument("--port", type=int, default=7890)
    parser.add_argument("--only", nargs="*", default=["speed", "lessons", "votes", "game"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browsers(asked.browsers) as pages:
        outputs = Path(folder) / "outputs"
        outputs.mkdir()
        room = Class(outputs, asked.port, asked.people, pages)
        room.start()
        try:
            take_part(room, asked.only)
        finally:
            room.leaving.set()
            room.stop()
        if problems := room.lost():
            sys.exit("\n".join(problems))
        print("Nothing is lost.")


def take_part(room: Class, only: Sequence[str]) -> None:
    """Everything that a class does, in the order of an hour."""
    alone = 0.0
    if "speed" in only:
        room.host.lead("open")
        alone = room.timed_run()
    room.join()
    if "speed" in only:
        watched = room.timed_run()
        print(f"an update takes {alone:.2f} s alone, {watched:.2f} s with all there: x{watched / alone:.2f}")
    for at, name in enumerate(LESSONS if "lessons" in only else ()):
        print(f"lesson {name}: the run took {room.lesson(name, restart=at == 1):.0f} s")
    if "votes" in only:
        print("\n".join(room.votes_to_policy()))
    if "game" in only:
        seconds, shown = room.game()
        print(f"game: {len(shown['entries'])} rewards in {seconds:.0f} s; best hack: {shown['results']['best']}")
    refused = sum(person.refused for person in [*room.people, room.host])
    print(f"{room.polls} polls, the slowest {room.slowest:.1f} s (over the restart); {refused} times asked again")


if __name__ == "__main__":
    main()

"""A whole class, simulated: one host and thirty people, some in real browsers, the rest by real HTTP: `make classroom`.

They go through three lessons, a vote that trains a reward model and a policy, and a game; the server is ended and
started again in the middle of a round. Counted afterwards: what was sent, what is kept, and how much longer an update
takes while everyone watches, in one run on this machine. The people are in class_people.py.
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

from bench.class_people import Person, answer_in, browsers, kinder, reward_of, step_size, value_of
from bench.experiments import PROJECT
from playground.runs.folder.directory import RunDirectory
from playground.ui.classroom.room import Room

POLL_SECONDS = 2.5  # as static/classroom/student.js asks
LESSONS = ("first-contact", "why-a-leash", "the-loss")
RUN_SECONDS = 1800
Data = dict[str, Any]


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

    # -- the server, and who comes ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the server, or start it again."""
        environment = {**os.environ, "PLAYGROUND_HOST_TOKEN": self.token}
        words = ["page", "--mode", "classroom", "--port", str(self.port), "--outputs", str(self.outputs)]
        log = (self.outputs.parent / "class-server.log").open("ab")
        command = [sys.executable, "-m", "playground", *words]
        self.process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log)
        self.host.ask("live/_home")

    def stop(self) -> None:
        """End the server."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def restart(self) -> None:
        """In the middle of something."""
        time.sleep(0.7)
        self.stop()
        self.start()

    def join(self) -> None:
        """Everyone comes in."""
        code = self.host.lead("open")["made"]
        for person in self.people:
            person.ask("class/join", {"code": code})
            threading.Thread(target=self.poll, args=(person,), daemon=True).start()
        for page in self.pages:
            page.goto(f"{self.url}class?code={code}")

    def poll(self, person: Person) -> None:
        """What a phone asks all the time."""
        time.sleep(random.random() * POLL_SECONDS)
        while not self.leaving.wait(POLL_SECONDS):
            clock = time.monotonic()
            with contextlib.suppress(RuntimeError):
                state = person.ask(f"class/state?since={person.state.get('version', '')}")
                self.slowest, self.polls = max(self.slowest, time.monotonic() - clock), self.polls + 1
                if "step" in state or not person.state:
                    person.state = state

    def everyone(self, act: Callable[[Person, int], None]) -> None:
        """All people by HTTP at once."""
        failures: list[Exception] = []

        def act_of(person: Person, number: int) -> None:
            try:
                act(person, number)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=act_of, args=(person, at)) for at, person in enumerate(self.people)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    # -- the desk -----------------------------------------------------------------------------------------------------

    def front(self) -> Data:
        """What the desk shows."""
        view: Data = self.host.ask("class/front")
        return view

    def step(self) -> Data:
        """The step that is open."""
        step: Data = self.front()["step"]
        return step

    def wait(self, purpose: str, done: Callable[[Data], Any], seconds: float = 120.0) -> Data:
        """The desk's view, once it says so."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.breathe()
            view = self.front()
            if done(view):
                return view
        raise RuntimeError(f"waited {seconds:.0f} s for {purpose}: {json.dumps(view)[:1500]}")

    def breathe(self, seconds: float = 0.5) -> None:
        """Let the browsers go on for a while."""
        if self.pages:
            self.pages[0].wait_for_timeout(seconds * 1000)
        else:
            time.sleep(seconds)

    def all_answered(self, view: Data) -> bool:
        """Whether everyone has."""
        return bool(view["answered"] >= len(self.people) + len(self.pages))

    def end_step(self, step: int) -> None:
        """Close a step and show what came of it."""
        self.host.lead("close", step=step)
        self.host.lead("show", step=step)

    # -- lessons ------------------------------------------------------------------------------------------------------

    def question(self, restart: bool = False) -> None:
        """Everyone answers the open question, in two rounds. `restart`: the server ends in the middle of the second."""
        self.answers_of_round(1)
        step = self.step()["id"]
        self.host.lead("close", step=step)
        self.host.lead("again", step=step)
        restarting = threading.Thread(target=self.restart)
        if restart:
            restarting.start()
        for page in self.pages:
            page.get_by_text("Once more.").wait_for(timeout=60_000)  # the form of the first round may still be there
        self.answers_of_round(2)
        if restart:
            restarting.join()
        self.host.lead("close", step=step)

    def answers_of_round(self, number: int) -> None:
        """One of everyone."""
        step = self.step()
        form = step["question"]["predict"]

        def send(person: Person, at: int) -> None:
            time.sleep(2 * random.random())
            person.answer(step["id"], step["round"], value_of(form, at + number))

        self.everyone(send)
        for at, page in enumerate(self.pages):
            answer_in(page, form, at)
        self.wait("all answers", self.all_answered)

    def lesson(self, name: str, restart: bool) -> float:
        """One lesson: the prediction twice, the run, what it says, the last question. Seconds of the run."""
        self.host.lead("ask", lesson=name, what="prediction")
        self.question(restart)
        step, clock = self.step()["id"], time.monotonic()
        run = self.host.lead("run", lesson=name, index=0, request=secrets.token_hex(8))["run"]
        self.until_ended(run)
        seconds = time.monotonic() - clock
        self.host.lead("show", step=step, run=run)
        self.wait("the reveal", lambda view: view["step"]["results"]["reveal"]["ready"])
        self.host.lead("ask", lesson=name, what="transfer")
        self.question()
        self.host.lead("show", step=self.step()["id"])
        return seconds

    def timed_run(self) -> float:
        """Seconds of an update of a run that the host starts."""
        run = self.host.lead("run", lesson=LESSONS[0], index=0, request=secrets.token_hex(8))["run"]
        metrics = self.until_ended(run).metrics()[2:]
        return statistics.median(later.seconds - row.seconds for row, later in pairwise(metrics))

    def until_ended(self, run_id: str) -> RunDirectory:
        """A run, once it has ended well."""
        run, ends = RunDirectory(self.outputs / run_id), time.monotonic() + RUN_SECONDS
        while not run.status().ended:
            self.breathe(1)
            if time.monotonic() > ends:
                raise RuntimeError(f"{run_id} did not end")
        if run.status().state != "finished":
            raise RuntimeError(f"{run_id}: {run.status().state}, {run.status().message}")
        return run

    # -- votes --------------------------------------------------------------------------------------------------------

    def vote(self) -> None:
        """Everyone votes on their pairs, for the kinder text but for some slips."""

        def is_open(view: Data) -> bool:
            step = view["step"]
            return bool(step and step["kind"] == "vote" and not step["vote"]["wait"])

        step = self.wait("a vote", is_open)["step"]["id"]
        luck = random.Random(0)

        def votes(person: Person, _: int) -> None:
            for pair in person.ask("class/state")["step"]["vote"]["pairs"]:
                person.answer(step, pair["number"], kinder(pair["prompt"], pair["left"], pair["right"], luck))

        self.everyone(votes)
        for page in self.pages:
            for _ in range(step_size(page)):
                texts = [page.locator(".vote-words").nth(side).inner_text() for side in (0, 1)]
                page.wait_for_timeout(400)  # a pair takes no vote at once
                page.keyboard.press({"left": "a", "right": "b", "tie": "t"}[kinder("", *texts, luck)])
            page.get_by_text("Thank you.").wait_for(timeout=60_000)
        self.wait("all votes", self.all_answered)
        self.end_step(step)

    def votes_to_policy(self) -> list[str]:
        """A vote, a judge, a policy, and a blind vote; what the desk says of them."""
        self.host.lead("vote", what="texts", source="pocket-2m", count=40)
        self.vote()
        first = self.step()["id"]
        self.host.lead("judge", step=first)
        view = self.wait("the judge", lambda view: view["votes"]["judges"][0]["state"] == "finished", RUN_SECONDS)
        judge = view["votes"]["judges"][0]
        run = self.host.lead("train_on_votes", judge=judge["name"], request=secrets.token_hex(8))["run"]
        self.until_ended(run)
        self.host.lead("vote", what="blind", source=run)
        self.wait("the blind vote", lambda view: view["step"]["id"] != first)
        self.vote()
        return [*judge["said"], *self.step()["vote"]["tally"]["said"]]

    # -- a game -------------------------------------------------------------------------------------------------------

    def game(self) -> tuple[float, Data]:
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
        rewards = [entry["reward"] for entry in self.front()["game"]["entries"]]
        self.host.lead("start_game", step=step, rewards=rewards)
        self.wait("the game", lambda view: view["game"]["ended"] == len(rewards), 2 * RUN_SECONDS)
        seconds = time.monotonic() - clock
        self.host.lead("show_game", step=step)
        return seconds, self.front()["game"]

    # -- afterwards ---------------------------------------------------------------------------------------------------

    def lost(self) -> list[str]:
        """Answers that were sent and are not kept, or kept otherwise."""
        room = Room(self.outputs)
        answers: dict[tuple[int, int], list[str]] = {}
        for step in room.steps():
            for answer in room.answers(step):
                answers.setdefault((step.id, answer.item), []).append(json.dumps(answer.value, sort_keys=True))
        problems = []
        for person in self.people:
            for key, value in person.sent.items():
                text = json.dumps(value, sort_keys=True)
                if text in answers.get(key, []):
                    answers[key].remove(text)
                else:
                    problems.append(f"{key}: {text} is not kept")
        by_http, by_browsers = sum(len(person.sent) for person in self.people), sum(map(len, answers.values()))
        print(f"answers by HTTP {by_http}, in browsers {by_browsers}")
        return problems


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=25, help="by HTTP")
    parser.add_argument("--browsers", type=int, default=5)
    parser.add_argument("--port", type=int, default=7890)
    parser.add_argument("--only", nargs="*", default=["speed", "lessons", "votes", "game"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browsers(arguments.browsers) as pages:
        outputs = Path(folder) / "outputs"
        outputs.mkdir()
        room = Class(outputs, arguments.port, arguments.people, pages)
        room.start()
        try:
            take_part(room, arguments.only)
        finally:
            room.leaving.set()
            room.stop()
        problems = room.lost()
    if problems:
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
        print(f"an update takes {alone:.2f} s alone, {watched:.2f} s with everyone: x{watched / alone:.2f}")
    for at, name in enumerate(LESSONS if "lessons" in only else ()):
        print(f"lesson {name}: the run took {room.lesson(name, restart=at == 1):.0f} s")
    if "votes" in only:
        print("\n".join(room.votes_to_policy()))
    if "game" in only:
        seconds, view = room.game()
        print(f"game: {len(view['entries'])} rewards in {seconds:.0f} s; best hack: {view['results']['best']}")
    refused = sum(person.refused for person in [*room.people, room.host])
    print(f"{room.polls} polls, the slowest {room.slowest:.1f} s (over the restart); {refused} times asked again")


if __name__ == "__main__":
    main()

"""The game of a class: the host reads every reward before it is trained or shown; whose it is says only that person's
own phone."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError, RunNotFound
from playground.runs import history
from playground.runs.spawning import Workers
from playground.runs.sweeps import grid, sweep_making, sweep_record
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import admission, describe
from playground.setup.estimates import disk
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom import game_rewards
from playground.ui.classroom.records import (
    ClassGame,
    ClassGameDesk,
    ClassGameEntry,
    ClassGameResults,
    ClassGameRun,
    ClassLedData,
)
from playground.ui.classroom.room import Room, Step
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.steps import DeskCommand, Handler, StepKind
from playground.ui.runs import history_data

TITLE = "The game: write a reward"
CHANGED = "The rewards have changed since you read them. Read them again, then start."
OPEN = "Close the game first: then no reward changes any more, and you start what you have read."
BEGUN = "The rewards of this game are in training already."
NOT_BEGUN = "The rewards of this game have not been trained."
NONE = "There is no reward to train. Let the class write some first."
TOO_MANY = "At most {most} different rewards are trained, and these are {count}. Leave some out."
NONE_ENDED = "None of them has ended yet. Wait for the first one."
ON_TWO_CORES = 21.0  # seconds for each reward, where none has run here: `make class-game`, docs/classroom.md


class Games(StepKind):
    """Knows the room and the runs."""

    kind = "game"

    def __init__(self, room: Room, outputs: Path, access: Access, spawn: Workers | None = None) -> None:
        super().__init__(room)
        self._outputs, self._access, self._spawn = outputs, access, spawn
        self._starting = threading.Lock()
        self._seconds_each: float | None = None  # that a reward of this game takes; 0: not known

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "begin_game": self.begin,
            "leave_out_game": self.leave_out,
            "start_game": self.start,
            "stop_game": self.stop,
            "show_game": self.show,
            "delete_game": self.delete,
        }

    # --- what the host does

    def begin(self, command: DeskCommand, caller: Caller) -> None:
        """Ask the class for rewards."""
        self._seconds_each = None
        self.room.begin("game", {"title": TITLE})

    def leave_out(self, command: DeskCommand, caller: Caller) -> None:
        """Leave a reward out, or take it in again: {step, reward, out}."""
        step = self.current(command)
        rewards = {entry.reward for entry in self._entries(step)}

        def revised(latest: Step) -> Step:
            self._require_not_begun(latest)
            left_out = {*latest.data.get("left_out", [])} - {command.reward}
            if command.out:
                left_out.add(command.reward)
            return _with(latest, left_out=sorted(left_out & rewards))

        self.room.revise(step.id, revised)

    def start(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """Train what the host has read: {step, rewards}. Raises: NoClass, InvalidConfig, OSError."""
        rewards = command.rewards
        with self._starting:  # a second press starts nothing
            step = self.current(command)
            self._require_as_read(step, rewards)
            self._require_possible(rewards, caller)
            name = sweep_making.fresh_name(self._outputs, "game")

            def claimed(latest: Step) -> Step:
                self._require_not_begun(latest)
                if latest.data != step.data:
                    raise NoClass(CHANGED)
                return _with(latest, sweep=name)._replace(state="closed")

            self.room.revise(step.id, claimed)
            sweep = game_rewards.sweep_of(name, rewards, time.time(), str(caller.visitor), self._access.mode)
            try:
                sweep = sweep_making.create(self._outputs, sweep, self._spawn)
            except (PlaygroundError, OSError):
                if not sweep_record.runs_of(self._outputs, sweep):
                    self.room.revise(step.id, lambda latest: _with(latest, sweep=""))  # for another try
                raise
        for number, run in enumerate(sweep_record.runs_of(self._outputs, sweep), 1):
            run.write_label(f"Game {number}", "")
        count = "1 reward is"
        if len(rewards) != 1:
            count = f"{len(rewards)} rewards are"
        return {"error": "", "made": name, "sentence": f"{count} trained, one after the other."}

    def _require_as_read(self, step: Step, rewards: Sequence[str]) -> None:
        """Raises: NoClass, unless the host has read exactly what is to be trained, and it can change no more."""
        self._require_not_begun(step)
        if step.state == "open":
            raise NoClass(OPEN)
        if [entry.reward for entry in self._entries(step) if not entry.left_out] != rewards:
            raise NoClass(CHANGED)
        if not rewards:
            raise NoClass(NONE)
        if len(rewards) > game_rewards.MOST_TRAINED:
            raise NoClass(TOO_MANY.format(most=game_rewards.MOST_TRAINED, count=len(rewards)))

    def _require_possible(self, rewards: Sequence[str], caller: Caller) -> None:
        """Raises: InvalidConfig, if they cannot be trained here; OSError (no room on the disk)."""
        capped, configs = self._access.limits_of(caller), game_rewards.configs(rewards)
        for config in configs:
            admission.admit(config, self._outputs, capped)
        disk.check(configs, self._outputs)

    def show(self, command: DeskCommand, caller: Caller) -> None:
        """Show what they came to so far; that stays, also when the runs are deleted."""
        step = self.current(command)
        results = game_rewards.results(self._outputs, self._sweep(step))
        if not results.ended:
            raise NoClass(NONE_ENDED)
        self.room.revise(step.id, lambda latest: _with(latest, results=asdict(results))._replace(state="shown"))

    def stop(self, command: DeskCommand, caller: Caller) -> None:
        """Train no more of them."""
        sweep_making.stop_all(self._outputs, self._sweep(self.current(command)))

    def delete(self, command: DeskCommand, caller: Caller) -> None:
        """Move the runs of a game into the bin. Raises: RunBusy, while some go on."""
        sweep_making.delete_all(self._outputs, self._sweep(self.current(command)))

    # --- what is answered, and seen

    def checked(self, person: str, step: Step, item: int, value: Any) -> dict[str, str]:
        return game_rewards.checked(item, value)

    def seen(self, step: Step, person: str) -> dict[str, Any]:
        """Before it is shown a person sees only which reward is theirs."""
        sweep = self._sweep_left(step)
        game = ClassGame(
            ask=game_rewards.ASK,
            example=game_rewards.EXAMPLE,
            functions=[function._asdict() for function in game_rewards.functions()],
            most=game_rewards.MOST_CHARACTERS,
            started=self._has_begun(step),
        )
        if step.state == "shown":
            game.results, game.judged = shown_results(step) or ClassGameResults([]), game_rewards.JUDGED
        if person:
            own = [answer.value["reward"] for answer in self.room.answers(step, person)]
            game.mine = next((number for number, reward in _numbered(sweep, game.results) if reward in own), None)
        elif sweep:
            game.words = self._progress(sweep)
        return {"game": game}

    def on_desk(self, step: Step) -> dict[str, Any]:
        """Every reward, and what came of each so far."""
        sweep, earlier = self._sweep_left(step), shown_results(step)
        results, name, progress = earlier or ClassGameResults([]), "", ""
        if sweep:
            results = game_rewards.results(self._outputs, sweep)
            name, progress = sweep.name, self._progress(sweep)
        entries, takes = self._entries(step), ""
        if step.state != "open" and not self._has_begun(step):
            takes = self._takes(entries)
        desk = ClassGameDesk(
            entries=entries,
            sweep=name,
            fresh=earlier is None or (results.ended, results.going) != (earlier.ended, earlier.going),
            takes=takes,
            words=progress,
            ended=results.ended,
            results=results,
        )
        return {"game": desk}

    def _progress(self, sweep: Sweep) -> str:
        progress = history_data.progress_data(sweep, sweep_record.statuses(self._outputs, sweep))
        words = progress["words"]
        if seconds := progress["left"]:
            words += f"; {describe.roughly(sum(seconds) / 2)} left"
        return words

    def _takes(self, entries: Sequence[ClassGameEntry]) -> str:
        """How long they will take, by runs here or as measured elsewhere; the desk asks every few seconds."""
        rewards = [entry.reward for entry in entries if not entry.left_out]
        if not rewards:
            return ""
        if self._seconds_each is None:
            bounds = grid.seconds(
                game_rewards.configs(rewards[:1]), self._outputs, history.finished_runs(self._outputs)
            )
            self._seconds_each = sum(bounds) / 2 if bounds else 0.0
        if not self._seconds_each:
            return f"{describe.roughly(len(rewards) * ON_TWO_CORES)} on two processor cores"
        return describe.roughly(len(rewards) * self._seconds_each)

    def _entries(self, step: Step) -> list[ClassGameEntry]:
        return game_rewards.entries(self.room.answers(step), step.data.get("left_out", ()))

    def _has_begun(self, step: Step) -> bool:
        """Whether its sweep was made. One that only has its name was begun by a process that has ended since."""
        name = step.data.get("sweep", "")
        return "results" in step.data or (name != "" and sweep_record.named(self._outputs, name) is not None)

    def _require_not_begun(self, step: Step) -> None:
        if self._has_begun(step):
            raise NoClass(BEGUN)

    def _sweep(self, step: Step) -> Sweep:
        """Raises: NoClass, before it was started; RunNotFound."""
        name = step.data.get("sweep", "")
        if not name:
            raise NoClass(NOT_BEGUN)
        return sweep_record.find(self._outputs, name)

    def _sweep_left(self, step: Step) -> Sweep | None:
        """The same; None where nothing of it is left."""
        try:
            sweep = self._sweep(step)
        except (NoClass, RunNotFound):
            return None
        if sweep.made and sweep_record.is_gone(self._outputs, sweep):
            return None
        return sweep


def shown_results(step: Step) -> ClassGameResults | None:
    """What was shown last."""
    if "results" not in step.data:
        return None
    results = ClassGameResults(**step.data["results"])
    results.runs = [ClassGameRun(**run) for run in step.data["results"]["runs"]]
    return results


def _numbered(sweep: Sweep | None, results: ClassGameResults | None) -> list[tuple[int, str]]:
    """The rewards with their numbers, of what is shown, else of what is in training."""
    if results:
        return [(run.number, run.reward) for run in results.runs]
    if not sweep:
        return []
    return [(number, str(cell[game_rewards.FIELD])) for number, cell in enumerate(sweep.cells().values(), 1)]


def _with(step: Step, **changes: Any) -> Step:
    return step._replace(data={**step.data, **changes})

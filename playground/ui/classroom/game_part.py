"""The game of a class on its pages: what is handed in, the host's commands, and what each person and the screen see."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.classroom import game
from playground.classroom.game import HandedIn, Result
from playground.classroom.room import Room, Step
from playground.classroom.room_file import NoClass
from playground.errors import PlaygroundError, RunNotFound
from playground.lessons.facts import shortly
from playground.runs import history
from playground.runs.spawning import Workers
from playground.runs.sweeps import grid, sweep_making, sweep_record
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import admission, describe
from playground.setup.estimates import disk
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom.answering import Answering
from playground.ui.classroom.lead import DONE, Lead
from playground.ui.classroom.state import ClassViews
from playground.ui.payloads.classroom import (
    ClassDeskData,
    ClassGameData,
    ClassGameDeskData,
    ClassGameRunData,
    ClassLedData,
    ClassStepData,
)
from playground.ui.runs import history_data

TITLE = "The game: write a reward"
CHANGED = "The rewards have changed since you read them. Read them again, then start."
OPEN = "Close the game first: then no reward changes any more, and you start what you have read."
BEGUN = "The rewards of this game are in training already."
NOT_BEGUN = "The rewards of this game have not been trained."
NONE = "There is no reward to train. Let the class write some first."
TOO_MANY = "At most {most} different rewards are trained, and these are {count}. Leave some out."
ON_TWO_CORES = 21.0  # seconds for each reward, where none has run here: `make class-game`, docs/classroom.md
TRENDS = {1: "rose", -1: "fell", 0: "no clear change"}


class Game:
    """Its commands and its views. `spawn`: what starts workers; by default new processes."""

    def __init__(self, room: Room, outputs: Path, access: Access, spawn: Workers | None = None) -> None:
        self.room, self._outputs, self._access, self._spawn = room, outputs, access, spawn
        self._starting = threading.Lock()
        self._each: float | None = None  # seconds that a reward of this game takes; 0: not known

    def join(self, lead: Lead, answering: Answering, views: ClassViews) -> None:
        """Make it a part of the class."""
        answering.checks["game"] = lambda person, step, item, value: game.checked(item, value)
        views.steps["game"] = self.show_step
        views.desks.append(self.show_desk)
        for name in ("begin", "leave_out", "start", "stop", "show", "delete"):
            lead.commands[f"{name}_game"] = getattr(self, name)

    # --- what the host does

    def begin(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Ask the class for rewards."""
        self._each = None
        self.room.begin("game", {"title": TITLE})
        return DONE

    def leave_out(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Leave a reward out, or take it in again: {step, reward, out}."""
        step, reward = self._step(asked), str(asked.get("reward"))
        known = {entry.reward for entry in self._entries(step)}

        def revised(step: Step) -> Step:
            if self._begun(step):
                raise NoClass(BEGUN)
            others = [one for one in step.data.get("left_out", []) if one != reward]
            left_out = [*others, *([reward] if asked.get("out") is True else [])]
            return _with(step, left_out=[one for one in left_out if one in known])

        self.room.revise(step.id, revised)
        return DONE

    def start(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Train what the host has read: {step, rewards}. Raises: NoClass, InvalidConfig, OSError."""
        with self._starting:  # a second press starts nothing
            step = self._step(asked)
            rewards = self._read(step, asked.get("rewards"))
            self._require(rewards, caller)
            name = sweep_making.fresh_name(self._outputs, "game")

            def claimed(now: Step) -> Step:
                if self._begun(now):
                    raise NoClass(BEGUN)
                if now.data != step.data:
                    raise NoClass(CHANGED)
                return _with(now, sweep=name)._replace(state="closed")

            self.room.revise(step.id, claimed)
            sweep = game.sweep_of(name, rewards, time.time(), str(caller.visitor), self._access.mode)
            try:
                sweep = sweep_making.create(self._outputs, sweep, self._spawn)
            except (PlaygroundError, OSError):
                if not sweep_record.runs_of(self._outputs, sweep):
                    self.room.revise(step.id, lambda step: _with(step, sweep=""))  # for another try
                raise
        for number, run in enumerate(sweep_record.runs_of(self._outputs, sweep), 1):
            run.write_label(f"Game {number}", "")
        ahead = "1 reward is" if len(rewards) == 1 else f"{len(rewards)} rewards are"
        return {**DONE, "made": name, "sentence": f"{ahead} trained, one after the other."}

    def _read(self, step: Step, rewards: Any) -> list[str]:
        """The rewards to be trained, which are those that the host has read. Raises: NoClass."""
        if self._begun(step):
            raise NoClass(BEGUN)
        if step.state == "open":
            raise NoClass(OPEN)
        found = [entry.reward for entry in self._entries(step) if not entry.left_out]
        if found != rewards:
            raise NoClass(CHANGED)
        if not found:
            raise NoClass(NONE)
        if len(found) > game.MOST_TRAINED:
            raise NoClass(TOO_MANY.format(most=game.MOST_TRAINED, count=len(found)))
        return found

    def _require(self, rewards: Sequence[str], caller: Caller) -> None:
        """Raises: InvalidConfig, if they cannot be trained here; OSError (no room on the disk)."""
        capped, configs = self._access.limits_of(caller), game.configs(rewards)
        for config in configs:
            admission.admit(config, self._outputs, capped)
        disk.check(configs, self._outputs)

    def stop(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Train no more of them."""
        sweep_making.stop_all(self._outputs, self._sweep(self._step(asked)))
        return DONE

    def show(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Show what they came to so far; that stays, also when the runs are deleted."""
        step = self._step(asked)
        found = game.results(self._outputs, self._sweep(step))
        if not any(one.ends for one in found):
            raise NoClass("None of them has ended yet. Wait for the first one.")
        best = game.best_hack(found)
        rows = [_run(one, self._sweep(step)) for one in found]
        shown = {"runs": rows, "best": best and best.number, "going": _going(found)}
        self.room.revise(step.id, lambda step: _with(step, results=shown)._replace(state="shown"))
        return DONE

    def delete(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Move the runs of a game into the bin. Raises: RunBusy, while some go on."""
        sweep_making.delete_all(self._outputs, self._sweep(self._step(asked)))
        return DONE

    # --- what is seen

    def show_step(self, step: Step, person: str, shown: ClassStepData) -> None:
        """What a person sees of it, "" on the screen: before it is shown only which one is theirs."""
        results = step.data.get("results") if step.state == "shown" else None
        sweep = self._sweep_of(step)
        cells = [str(cell[game.FIELD]) for cell in sweep.cells().values()] if sweep else []
        theirs = next((answer.value["reward"] for answer in self.room.answers(step, person)), "") if person else ""
        rows: list[ClassGameRunData] = results["runs"] if results else []
        mine = next((row["number"] for row in rows if row["reward"] == theirs), None) if results else None
        found: ClassGameData = {
            "ask": game.ASK,
            "example": game.EXAMPLE,
            "functions": [one._asdict() for one in game.functions()],
            "most": game.MOST_CHARACTERS,
            "started": self._begun(step),
            "mine": mine or (cells.index(theirs) + 1 if theirs in cells else None),
            "words": self._progress(sweep) if sweep and not person else "",
            "told": game.TOLD if results else "",
            "runs": rows,
            "best_hack": results["best"] if results else None,
            "going": bool(results and results.get("going")),
        }
        shown["game"] = found

    def show_desk(self, step: Step | None, shown: ClassDeskData) -> None:
        """What the host sees of it: every reward, and what came of each so far."""
        if step is None or step.kind != "game":
            return
        sweep = self._sweep_of(step)
        found = game.results(self._outputs, sweep) if sweep else []
        best, kept = game.best_hack(found), step.data.get("results")
        runs: list[ClassGameRunData] = [_run(one, sweep) for one in found] if sweep else kept["runs"] if kept else []
        handed_in = self._entries(step)
        entries: ClassGameDeskData = {
            "entries": [{"reward": one.reward, "people": one.people, "left_out": one.left_out} for one in handed_in],
            "going": _going(found),
            "fresh": not kept or _ended(runs, _going(found)) != _ended(kept["runs"], kept.get("going", False)),
            "takes": "" if self._begun(step) or step.state == "open" else self._takes(handed_in),
            "words": self._progress(sweep) if sweep else "",
            "sweep": sweep.name if sweep else "",
            "ended": sum(one.ends is not None for one in found),
            "runs": runs,
            "best_hack": best.number if best else kept["best"] if kept and not sweep else None,
        }
        shown["game"] = entries

    def _progress(self, sweep: Sweep) -> str:
        found = history_data.progress_data(sweep, sweep_record.statuses(self._outputs, sweep))
        left = found["left"]
        return found["words"] + (f"; {describe.roughly(sum(left) / 2)} left" if left else "")

    def _takes(self, handed_in: Sequence[HandedIn]) -> str:
        """How long they will take, by runs here or as measured elsewhere; the desk asks every few seconds."""
        wanted = [one for one in handed_in if not one.left_out]
        if not wanted:
            return ""
        if self._each is None:
            took = grid.seconds(game.configs([wanted[0].reward]), self._outputs, history.finished_runs(self._outputs))
            self._each = sum(took) / 2 if took else 0.0
        if not self._each:
            return f"{describe.roughly(len(wanted) * ON_TWO_CORES)} on two processor cores"
        return describe.roughly(len(wanted) * self._each)

    def _entries(self, step: Step) -> list[game.HandedIn]:
        return game.entries(self.room.answers(step), step.data.get("left_out", ()))

    def _step(self, asked: dict[str, Any]) -> Step:
        """The game that the desk shows, if the class is still there."""
        step = self.room.step()
        if step is None or step.id != asked.get("step") or step.kind != "game":
            raise NoClass("The class is at another step by now. Look again.")
        return step

    def _begun(self, step: Step) -> bool:
        """Whether its sweep was made. One that only has its name was begun by a process that has ended since."""
        name = _sweep_name(step)
        return "results" in step.data or (name != "" and sweep_record.named(self._outputs, name) is not None)

    def _sweep(self, step: Step) -> Sweep:
        name = _sweep_name(step)
        if not name:
            raise NoClass(NOT_BEGUN)
        return sweep_record.find(self._outputs, name)

    def _sweep_of(self, step: Step) -> Sweep | None:
        """The same; None where nothing of it is left."""
        try:
            sweep = self._sweep(step)
        except (NoClass, RunNotFound):
            return None
        return None if sweep.made and sweep_record.is_gone(self._outputs, sweep) else sweep


def _with(step: Step, **more: Any) -> Step:
    return step._replace(data={**step.data, **more})


def _sweep_name(step: Step) -> str:
    return str(step.data.get("sweep", ""))


def _going(found: Sequence[Result]) -> bool:
    """Whether some have not ended."""
    return any(one.state not in ("finished", "stopped", "failed", "interrupted", "deleted") for one in found)


def _ended(runs: Sequence[ClassGameRunData], going: bool) -> tuple[list[bool], bool]:
    return [bool(run["paid"]) for run in runs], going


def _run(result: Result, sweep: Sweep) -> ClassGameRunData:
    """In words; without figures where there are none yet."""
    row: ClassGameRunData = {
        "number": result.number,
        "run": sweep.runs[result.number - 1],
        "reward": result.reward,
        "state": result.state,
        "paid": "",
        "rose": False,
        "wanted": "",
        "trend": "",
        "prompt": "",
        "sample": "",
    }
    if result.ends is None:
        return row
    before, after = result.ends.paid
    wanted = result.ends.wanted
    return {
        **row,
        "paid": f"{shortly(before)} \u2192 {shortly(after)}",
        "rose": result.ends.rose,
        "wanted": f"{wanted.before.yes} \u2192 {wanted.after.yes} of {wanted.after.of}",
        "trend": TRENDS[wanted.change],
        "prompt": result.ends.prompt,
        "sample": result.ends.text,
    }

"""Reward models that are trained on the votes of a class, and the policies that they pay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.config import PairsConfig, RewardTrainingConfig, RunConfig
from playground.data.preferences import MIN_PAIRS
from playground.errors import PlaygroundError
from playground.runs import reward_models
from playground.runs.folder.files import write_atomically
from playground.runs.spawning import Workers
from playground.setup import admission, catalog, limits
from playground.setup.describe import count_of
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom import ballots
from playground.ui.classroom.ballots import percent
from playground.ui.classroom.lesson_runs import lead_to_run
from playground.ui.classroom.records import ClassJudge, ClassLedData
from playground.ui.classroom.room import Room, Step
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.service_questions import ServiceQuestions
from playground.ui.classroom.steps import DeskCommand, Handler
from playground.ui.feed.feed import Hub
from playground.ui.train import run_actions

JUDGES = "judges"  # the fact of the room: {name, step, group, run, words}
FOLDER = "class-votes"  # of the outputs folder
BASE, EPOCHS, LEARNING_RATE = "pocket-1m", 15.0, 7e-4
FULL_ROWS = 60  # above so many rows there are fewer epochs: it takes no longer
POLICY_PRESET, POLICY_UPDATES = "kinder-reviews", 25
MOST_WORDS = 8  # that are shown of each sign
READS = "The reward model reads the texts with one word more each."
AT_WORK = {"queued": "It waits for its turn.", "starting": "It is starting."}


class Judges:
    """Knows the room, which keeps what was trained, the runs, and the model service."""

    def __init__(
        self, room: Room, hub: Hub, access: Access, service: ServiceQuestions, spawn: Workers | None = None
    ) -> None:
        self.room, self.hub, self._access, self.service, self._spawn = room, hub, access, service, spawn

    @property
    def commands(self) -> dict[str, Handler]:
        """What the host can do with them, by name."""
        return {"judge": self.train, "words": self.find_words, "train_on_votes": self.train_policy}

    def train(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """Train a reward model on the votes of a step: {step, group}; `group` 0 is everyone."""
        step = self.voted(command.step)
        group, name = 0, f"class-{step.id}"
        if command.group in range(1, len(step.data["briefs"]) + 1):
            group = command.group
            name = f"class-{step.id}-group-{group}"
        rows = self.rows(step, group)
        if len(rows) < MIN_PAIRS:
            raise NoClass(
                f"{count_of(len(rows), 'pair')} with a majority for one text: {MIN_PAIRS} are needed, and 40 "
                "are better. Let the class vote on."
            )
        path = self.hub.outputs.resolve() / FOLDER / f"{name}.jsonl"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, jsonl(rows))
        config = judge_settings(name, path, len(rows))
        reward_models.start(admission.admit_training(config), self.hub.outputs, replace=True)
        self._keep({"name": name, "step": step.id, "group": group, "run": "", "words": []})
        return {"error": "", "made": name}

    def find_words(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """Find the words that move a judge, in the texts that were voted on: {judge}."""
        judge = self._find(command.judge)
        pairs = self.room.find(judge["step"]).data["pairs"]
        texts = [{"prompt": pair["prompt"], "completion": pair[side]} for pair in pairs for side in ballots.TEXTS]
        question = {"source": command.judge, "outputs": str(self.hub.outputs), "texts": texts}

        def keep(answer: dict[str, Any]) -> None:
            self._keep({**self._find(command.judge), "words": answer["words"]})

        with self.service.turn():
            self.service.ask("word-moves", question, READS, keep, about=command.judge)
        return {"error": "", "sentence": READS}

    def train_policy(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """Start a run that is paid by a judge: {judge, request}."""
        judge = self._find(command.judge)
        preset, capped = catalog.preset(POLICY_PRESET), self._access.limits_of(caller)
        settings = policy_settings(preset, judge["name"], judge["group"])
        config = limits.built(settings, capped, self.hub.outputs)
        run = run_actions.start(config, command.request, self.hub.outputs, self._spawn, self._access, caller)
        self._keep({**judge, "run": run.id})
        lead_to_run(self.room, run.id)
        return {"error": "", "run": run.id}

    def voted(self, number: int) -> Step:
        """A vote of the class. Raises: NoClass."""
        step = self.room.find(number)
        if step.kind != "vote" or step.data.get("wait"):
            raise NoClass("This step of the class is no vote.")
        return step

    def rows(self, step: Step, group: int = 0) -> list[dict[str, Any]]:
        """Preference pairs of a vote, of everyone or of one group."""
        answers = ballots.of_group(self.room.answers(step), self.room.numbers(), group)
        return ballots.rows(step, ballots.counted(step, answers))

    def listed(self) -> list[ClassJudge]:
        """The reward models of the class."""
        return [self._row(judge) for judge in self._all()]

    def _row(self, judge: dict[str, Any]) -> ClassJudge:
        state, progress = self._learning(judge["name"])
        run_progress, run_done, brief = "", False, ""
        if judge["run"]:
            run_progress, run_done = self._paid(judge["run"])
        if judge["group"]:
            brief = self.room.find(judge["step"]).data["briefs"][judge["group"] - 1]
        words = judge["words"]
        if len(words) > 2 * MOST_WORDS:
            words = [*words[:MOST_WORDS], *words[-MOST_WORDS:]]
        return ClassJudge(
            name=judge["name"],
            step=judge["step"],
            brief=brief,
            state=state,
            said=progress,
            words=words,
            reading=self.service.about == judge["name"],
            run=judge["run"],
            run_said=run_progress,
            run_done=run_done,
        )

    def _learning(self, name: str) -> tuple[str, list[str]]:
        """The state of its training, and where that is, or how good it has become."""
        try:
            training = reward_models.find(self.hub.outputs, name)
        except PlaygroundError as error:
            return "gone", [str(error)]
        status, card = training.status(), training.card()
        if card is None or status.state != "finished":
            return status.state, [status.message or AT_WORK.get(status.state, f"{status.phase or status.state} \u2026")]
        report = card["report"]
        low, high = percent(report["accuracy_low"]), percent(report["accuracy_high"])
        return "finished", [
            f"It learned from {count_of(card['pairs']['training'], 'pair')} in {card['seconds']:.0f} seconds.",
            f"It is right on {percent(report['accuracy'])} of {count_of(report['num_pairs'], 'pair')} "
            f"that were kept from it (95\u00a0% interval {low} to {high}; luck is 50\u00a0%).",
        ]

    def _paid(self, run_id: str) -> tuple[str, bool]:
        """Where the run that it pays is, and whether it is done."""
        try:
            status = self.hub.find(run_id).status()
        except PlaygroundError as error:
            return str(error), False
        if status.state == "finished":
            return "The policy is trained. Vote on it, before against after.", True
        return status.message or f"{status.state}, update {status.update} of {status.num_updates}", False

    def _all(self) -> list[dict[str, Any]]:
        return list(self.room.fact(JUDGES, []))

    def _find(self, name: str) -> dict[str, Any]:
        for judge in self._all():
            if judge["name"] == name:
                return judge
        raise NoClass("The class has no such reward model. Load the page again.")

    def _keep(self, judge: dict[str, Any]) -> None:
        judges = [other for other in self._all() if other["name"] != judge["name"]]
        self.room.set_fact(JUDGES, [*judges, judge])


def judge_settings(name: str, source: Path, num_rows: int) -> RewardTrainingConfig:
    """How a reward model is trained on few votes: `bench/class_votes.py` has measured what it learns."""
    return RewardTrainingConfig(
        name=name,
        base=BASE,
        epochs=EPOCHS * min(1.0, FULL_ROWS / num_rows),
        learning_rate=LEARNING_RATE,
        pairs=PairsConfig(source=str(source), limit=ballots.MOST_PAIRS),
    )


def policy_settings(preset: RunConfig, judge: str, group: int = 0) -> dict[str, Any]:
    """A run of a preset that is paid by a judge, of a group or of everyone, as plain data, and small: there is a class
    waiting."""
    voters = f"group {group}" if group else "the class"
    data = preset.model_dump(mode="json")
    data |= {"name": f"paid-by-{judge}", "preset": ""}
    data["rewards"] = [{"kind": "model", "source": judge}]
    data["ppo"]["num_updates"] = data["evaluation"]["every"] = POLICY_UPDATES
    data["about"] = {"title": f"Paid by {voters}", "story": "Paid by a reward model that learned from a class's votes."}
    return data


def jsonl(rows: Sequence[dict[str, Any]]) -> str:
    """One row a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

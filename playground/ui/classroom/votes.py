"""Votes of a class: the host has pairs drawn and voted on, each person votes, and everyone sees what came of it."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

from playground.analysis import before_after
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import ModelService
from playground.runs.spawning import Workers
from playground.setup import catalog
from playground.setup.describe import count_of
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom import ballots
from playground.ui.classroom.judges import Judges, jsonl
from playground.ui.classroom.records import (
    ClassLedData,
    ClassSource,
    ClassTally,
    ClassVote,
    ClassVoteDesk,
    ClassVotedPair,
    PairVotes,
    State,
)
from playground.ui.classroom.room import Room, Step
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.service_questions import ServiceQuestions
from playground.ui.classroom.steps import DeskCommand, Handler, StepKind
from playground.ui.feed.feed import Hub

DEFAULT_PAIRS = 40
ASK, BLIND = "Which text is better?", "Before or after?"
OF_RUNS = ("start", "runs", "blind")  # votes that are about a run, not about a model
WRITES = "Texts are being written. The vote opens by itself."
MOST_SHOWN = 3  # pairs of each sort
MOST_RUNS = 12


class Votes(StepKind):
    """Knows the room, the runs, and the model service."""

    kind = "vote"

    def __init__(
        self, room: Room, hub: Hub, access: Access, service: ModelService, spawn: Workers | None = None
    ) -> None:
        super().__init__(room)
        self.hub, self.service = hub, ServiceQuestions(service)
        self.judges = Judges(room, hub, access, self.service, spawn)

    @property
    def commands(self) -> dict[str, Handler]:
        return {"vote": self.begin, **self.judges.commands}

    # --- what the host does

    def begin(self, command: DeskCommand, caller: Caller) -> ClassLedData | None:
        """Open a vote: {what, source, against, count, each, briefs, means}. `what`: "texts", two of a model or of a
        run's policy for each of so many prompts; "start", the untrained model of a run against its policy; "runs", its
        policy against that of the run `against`; "blind", the texts that a run has kept from before and after."""
        self.room.require_open()
        runs = self._runs(command)
        names = [name_of(run) for run in runs] or [command.source]
        if len({*names}) < len(names):
            names = [run.id for run in runs]
        title, sides = f"{ASK} {' or '.join(names)}", []
        if command.what in ("start", "blind"):
            title, sides = f"{title}, before and after", ballots.BEFORE_AFTER
        elif command.what == "runs":
            sides = [f"by the policy of {name}" for name in names]
        how: dict[str, Any] = {
            "each": command.each,
            "briefs": ballots.briefs_of(command.briefs),  # before a model has to write
            "means": command.means,
            "run": next((run.id for run in runs), ""),
            "sides": sides,
        }
        if command.what == "blind":
            self.room.begin("vote", ballots.data_of(title, before_and_after(runs[0]), **how))
            return None
        sources = [str(run.path.resolve()) for run in runs] or [command.source]
        question = {
            "source": sources[0],
            "against": "".join(sources[1:]),
            "count": command.count if command.count in range(1, ballots.MOST_PAIRS + 1) else DEFAULT_PAIRS,
            "seed": len(self.room.steps()),  # other texts each time
            "sides": ["reference" if command.what == "start" else "policy", "policy"],
        }
        with self.service.turn():
            step = self.room.begin("vote", ballots.coming(title, {"question": question, **how}))
            self.room.set_state(step, "closed")
            self._have_written(step)
        return {"error": "", "sentence": WRITES}

    def _runs(self, command: DeskCommand) -> list[RunDirectory]:
        """Whose texts are voted on; none where it is a model. Raises: NoClass, RunNotFound."""
        if command.what not in OF_RUNS and command.source in [choice.name for choice in catalog.MODELS]:
            return []
        runs = [self.hub.find(command.source)]
        if command.what == "runs":
            runs.append(self.hub.find(command.against))
            if runs[0].id == runs[1].id:
                raise NoClass("Choose two different runs.")
        return runs

    def go_on(self, step: Step) -> None:
        """Have the texts of a vote written that wait for nobody: the process that had been asked for them has ended."""
        if step.data.get("wait") != ballots.COMING or self.service.doing:
            return
        if not step.data.get("order"):  # of an older version
            self.room.set_state(step, "closed", {**step.data, "wait": ballots.NOT_COME})
            return
        with contextlib.suppress(NoClass), self.service.turn():  # else another request was faster
            self._have_written(step)

    def _have_written(self, step: Step) -> None:
        """Ask for the texts of a vote. They are for that step, wherever the class is by then."""
        opened, title, order = self.room.fact("opened"), step.data["title"], step.data["order"]
        how = {name: value for name, value in order.items() if name != "question" and value is not None}

        def settle(state: State, data: dict[str, Any]) -> None:
            current = self.room.step()
            if self.room.fact("opened") != opened or current is None:  # another class
                return

            def settled(latest: Step) -> Step:
                if latest.data.get("wait") != ballots.COMING:
                    return latest
                return latest._replace(state=state if current.id == step.id else "closed", data=data)

            self.room.revise(step.id, settled)

        def open_with(answer: dict[str, Any]) -> None:
            settle("open", ballots.data_of(title, answer.get("pairs", []), **how))

        def give_up() -> None:
            settle("closed", {**step.data, "wait": ballots.NOT_COME})

        self.service.ask("pairs", order["question"], WRITES, open_with, give_up)

    def file(self, number: int) -> str:
        """The votes of a step as a file of preference pairs. Raises: NoClass."""
        return jsonl(self.judges.rows(self.judges.voted(number)))

    # --- what is answered, and seen

    def checked(self, person: str, step: Step, item: int, value: Any) -> str:
        return ballots.checked(person, step, item, value)

    def answered(self, step: Step) -> int:
        return ballots.done(step, self.room.answers(step))[0]

    def seen(self, step: Step, person: str) -> dict[str, Any]:
        self.go_on(step)
        data, is_shown = step.data, step.state == "shown"
        sides, briefs = data.get("sides", []), data["briefs"]
        vote = ClassVote(ASK, data.get("wait", ""), data.get("means", ""), sides)
        if is_shown:
            vote.tally = self.tally(step)
            if sides == ballots.BEFORE_AFTER:
                vote.title = BLIND
        if person:
            vote.pairs = ballots.pairs_of(person, step)
            if briefs:
                vote.brief = briefs[ballots.group_of(self.room.numbers().get(person, 0)) - 1]
        else:
            vote.briefs = briefs
            vote.done, vote.begun = ballots.done(step, self.room.answers(step))
        return {"vote": vote}

    def on_desk(self, step: Step) -> dict[str, Any]:
        desk = self._desk()
        desk.live, desk.groups = self.sentences(step), step.data["briefs"]
        return {"votes": desk}

    def offer(self) -> ClassVoteDesk:
        """What the host can begin, and what was made of votes so far: beside the vote, where the class is at one."""
        step = self.room.step()
        desk = ClassVoteDesk()
        if step is None or step.kind != "vote":
            desk = self._desk()
        desk.sources = self.sources()
        return desk

    def _desk(self) -> ClassVoteDesk:
        return ClassVoteDesk(self.service.doing, self.service.problem, self.judges.listed())

    def sources(self) -> list[ClassSource]:
        """Whose texts can be voted on: the included models, then the newest runs that have ended."""
        sources = [ClassSource(choice.name, choice.label, trained=False) for choice in catalog.MODELS]
        newest = history.list_runs(self.hub.outputs)[:MOST_RUNS]
        titles = Counter(run.title for run in newest)
        for run in newest:
            if run.status.state in ("finished", "stopped"):
                label = run.title or run.id
                if titles[run.title] > 1:
                    label = f"{run.title} ({run.id})"
                sources.append(ClassSource(run.id, label, trained=True))
        return sources

    def tally(self, step: Step) -> ClassTally:
        """What came of it."""
        pairs = ballots.counted(step, self.room.answers(step))
        split = [pair for pair in pairs if pair.is_divided]
        clear = [pair for pair in pairs if not pair.is_divided and pair.first != pair.second]
        split.sort(key=lambda pair: (-min(pair.first, pair.second) / pair.votes, pair.number))
        clear.sort(key=lambda pair: (-abs(pair.first - pair.second), pair.number))
        return ClassTally(
            said=self.sentences(step),
            clear=[_voted(step, pair) for pair in clear[:MOST_SHOWN]],
            split=[_voted(step, pair) for pair in split[:MOST_SHOWN]],
            agree=not split and any(pair.votes > 1 for pair in pairs),
        )

    def sentences(self, step: Step) -> list[str]:
        """What came of it in words; where there are two groups, in this vote or an earlier one, also of each."""
        answers, people = self.room.answers(step), self.room.numbers()
        sentences, briefs = ballots.sentences(step, answers), step.data["briefs"]
        if briefs:
            sentences = sentences[:1]  # groups look for different things
        elif answers:
            votes = [other for other in self.room.steps() if other.kind == "vote" and other.id < step.id]
            briefs = next((vote.data["briefs"] for vote in reversed(votes) if vote.data["briefs"]), [])
        for group, brief in enumerate(briefs, 1):
            own = ballots.of_group(answers, people, group)
            outcome = ballots.outcome(step, own) or ["No pair has two votes yet."]
            voters = count_of(len({answer.person for answer in own}), "person", "people")
            sentences.append(f"Group {group} (\u201c{brief}\u201d, {voters}): {' '.join(outcome)}")
        return sentences


def before_and_after(run: RunDirectory) -> list[dict[str, Any]]:
    """One pair for each fixed prompt whose text has changed. Raises: NoClass."""
    rows: dict[int, dict[str, Any]] = {}
    for pair in before_after.pairs(run.samples()):
        first, second = pair.before.completion, pair.after.completion
        if first.strip() and second.strip() and first.strip() != second.strip():
            cut = [side for side, sample in zip(ballots.TEXTS, pair, strict=True) if sample.ended is False]
            row = {"prompt": pair.before.prompt, "first": first, "second": second, "cut": cut}
            rows.setdefault(pair.before.prompt_id, row)
    if not rows:
        raise NoClass(f"`{run.id}` has no texts from before and after training yet. Wait for its end.")
    return list(rows.values())


def name_of(run: RunDirectory) -> str:
    """What a run is called on the screen in front."""
    return run.label().name or run.config().about.title or run.id


def _voted(step: Step, pair: PairVotes) -> ClassVotedPair:
    texts = step.data["pairs"][pair.number - 1]
    return ClassVotedPair(texts["prompt"], ballots.text_of(texts, "first"), ballots.text_of(texts, "second"), pair)

"""What a phone, the screen in front and the desk show of a vote, and of what was trained on it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from playground.classroom import votes
from playground.classroom.room import Step
from playground.classroom.votes import Counted
from playground.errors import PlaygroundError
from playground.runs import history, reward_models
from playground.setup import catalog
from playground.ui.classroom.answering import Answering
from playground.ui.classroom.lead import Lead
from playground.ui.classroom.state import ClassViews
from playground.ui.classroom.vote_lead import ASK, VoteLead
from playground.ui.payloads.classroom import (
    ClassDeskData,
    ClassJudgeData,
    ClassPairData,
    ClassSourceData,
    ClassStepData,
    ClassTallyData,
    ClassVotedPairData,
    ClassVoteOfferData,
)

BLIND = "Before or after?"
MOST_SHOWN = 3  # pairs of each sort
MOST_WORDS = 8  # that are shown of each sign
MOST_RUNS = 12
AT_WORK = {"queued": "It waits for its turn.", "starting": "It is starting."}


class VoteViews:
    """Fills in what `ClassViews` shows."""

    def __init__(self, lead: VoteLead) -> None:
        self.lead, self.room, self.hub = lead, lead.room, lead.hub

    def join(self, host: Lead, answering: Answering, views: ClassViews) -> None:
        """Make votes a part of the class."""
        host.commands |= self.lead.commands
        views.steps["vote"] = self.fill
        views.desks.append(self.fill_desk)
        answering.checks["vote"] = votes.checked

    def fill(self, step: Step, person: str, shown: ClassStepData) -> None:
        """A vote as one person sees it, or no one."""
        self.lead.go_on(step)
        data, is_shown = step.data, step.state == "shown"
        pairs: list[ClassPairData] = votes.shown(person, step) if person else []  # type: ignore[assignment]
        for pair in pairs if is_shown and votes.sides_of(step) else ():
            pair["after"] = "left" if votes.is_swapped(person, step, pair["number"]) else "right"
        briefs = data["briefs"]
        mine = briefs[votes.group_of(self.room.numbers().get(person, 0)) - 1] if briefs and person else ""
        is_blind = votes.sides_of(step) == votes.BEFORE_AFTER
        done, begun = votes.done(step, self.room.answers(step)) if not person else (0, 0)
        shown["vote"] = {
            "title": BLIND if is_blind and is_shown else ASK,
            "wait": data.get("wait", ""),
            "means": data.get("means", ""),
            "done": done,
            "begun": begun,
            "sides": votes.sides_of(step),
            "brief": mine,
            "briefs": briefs if not person else [],
            "pairs": pairs,
            "tally": self.tally(step) if is_shown else None,
        }

    def tally(self, step: Step) -> ClassTallyData:
        """What came of it."""
        answers = self.room.answers(step)
        found = votes.counted(step, answers)
        divided = [pair for pair in found if pair.is_divided]
        split = sorted(divided, key=lambda pair: (-min(pair.first, pair.second) / pair.votes, pair.number))
        one_side = [pair for pair in found if not pair.is_divided and pair.first != pair.second]
        clear = sorted(one_side, key=lambda pair: (-abs(pair.first - pair.second), pair.number))
        return {
            "said": self.said(step),
            "clear": [_pair(step, pair) for pair in clear[:MOST_SHOWN]],
            "split": [_pair(step, pair) for pair in split[:MOST_SHOWN]],
            "agree": not divided and any(pair.votes > 1 for pair in found),
        }

    def said(self, step: Step) -> list[str]:
        """In sentences; where there are two groups, now or in an earlier vote of the class, also of each."""
        answers, people = self.room.answers(step), self.room.numbers()
        sentences, briefs = votes.said(step, answers), step.data["briefs"]
        if briefs:
            sentences = sentences[:1]  # groups look for different things
        elif answers:
            earlier = [one.data["briefs"] for one in self.room.steps() if one.kind == "vote" and one.id < step.id]
            briefs = next(filter(None, reversed(earlier)), [])
        for group, brief in enumerate(briefs, 1):
            theirs = votes.of_group(answers, people, group)
            said = votes.outcome(step, theirs) or ["No pair has two votes yet."]
            voters = votes.count_of(len({one.person for one in theirs}), "person", "people")
            sentences.append(f"Group {group} (\u201c{brief}\u201d, {voters}): {' '.join(said)}")
        return sentences

    def fill_desk(self, step: Step | None, shown: ClassDeskData) -> None:
        """What the host sees beside it."""
        vote = step if step and step.kind == "vote" else None
        if vote:
            shown["answered"] = votes.done(vote, self.room.answers(vote))[0]
        shown["votes"] = {
            "live": self.said(vote) if vote else [],
            "groups": vote.data["briefs"] if vote else [],
            "judges": self.judges(),
            "doing": self.lead.doing,
            "problem": self.lead.problem,
        }

    def offer(self) -> ClassVoteOfferData:
        """What the host can begin."""
        step = self.room.step()
        if step and step.kind == "vote":  # the desk has them with the vote that the class is at
            return {"sources": self.sources(), "judges": [], "doing": "", "problem": ""}
        doing, problem = self.lead.doing, self.lead.problem
        return {"sources": self.sources(), "judges": self.judges(), "doing": doing, "problem": problem}

    def judges(self) -> list[ClassJudgeData]:
        """The reward models of the class."""
        return [self.judge(judge) for judge in self.lead.judges()]

    def sources(self) -> list[ClassSourceData]:
        """Whose texts can be voted on: the included models, then the newest runs that have ended."""
        found: list[ClassSourceData] = [
            {"value": choice.name, "label": choice.label, "trained": False} for choice in catalog.MODELS
        ]
        newest = history.list_runs(self.hub.outputs)[:MOST_RUNS]
        names = Counter(run.title for run in newest)
        for run in newest:
            if run.status.state in ("finished", "stopped"):
                label = f"{run.title} ({run.id})" if names[run.title] > 1 else run.title or run.id
                found.append({"value": run.id, "label": label, "trained": True})
        return found

    def judge(self, judge: dict[str, Any]) -> ClassJudgeData:
        """One reward model, and the run that it pays."""
        state, said = self._learning(judge["name"])
        run_said, run_done = self._paid(judge["run"])
        words = judge["words"]
        few = words if len(words) <= 2 * MOST_WORDS else [*words[:MOST_WORDS], *words[-MOST_WORDS:]]
        return {
            "name": judge["name"],
            "step": judge["step"],
            "brief": self._brief(judge),
            "state": state,
            "said": said,
            "words": few,
            "reading": self.lead.reading == judge["name"],
            "run": judge["run"],
            "run_said": run_said,
            "run_done": run_done,
        }

    def _brief(self, judge: dict[str, Any]) -> str:
        if not judge["group"]:
            return ""
        return str(self.room.find(judge["step"]).data["briefs"][judge["group"] - 1])

    def _learning(self, name: str) -> tuple[str, list[str]]:
        try:
            training = reward_models.find(self.hub.outputs, name)
        except PlaygroundError as error:
            return "gone", [str(error)]
        status, card = training.status(), training.card()
        if card is None or status.state != "finished":
            return status.state, [status.message or AT_WORK.get(status.state, f"{status.phase or status.state} \u2026")]
        report, pairs = card["report"], card["pairs"]
        return "finished", [
            f"It learned from {votes.count_of(pairs['training'], 'pair')} in {card['seconds']:.0f} seconds.",
            f"It is right on {votes.percent(report['accuracy'])} of {votes.count_of(report['num_pairs'], 'pair')} "
            f"that were kept from it (95\u00a0% interval {votes.percent(report['accuracy_low'])} to "
            f"{votes.percent(report['accuracy_high'])}; luck is 50\u00a0%).",
        ]

    def _paid(self, run_id: str) -> tuple[str, bool]:
        if not run_id:
            return "", False
        try:
            status = self.hub.find(run_id).status()
        except PlaygroundError as error:
            return str(error), False
        if status.state == "finished":
            return "The policy is trained. Vote on it, before against after.", True
        return status.message or f"{status.state}, update {status.update} of {status.num_updates}", False


def _pair(step: Step, pair: Counted) -> ClassVotedPairData:
    texts = step.data["pairs"][pair.number - 1]
    return {
        "prompt": texts["prompt"],
        "first": votes.text_of(texts, "first"),
        "second": votes.text_of(texts, "second"),
        "for_first": pair.first,
        "for_second": pair.second,
        "ties": pair.tie,
    }

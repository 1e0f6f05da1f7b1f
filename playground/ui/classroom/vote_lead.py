"""What the host does with votes: have pairs drawn and voted on, train a reward model on the votes and a policy on that,
and take the votes away as a file. `vote_views` shows what came of it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from playground.analysis import before_after
from playground.classroom import votes
from playground.classroom.room import Room, State, Step, is_whole
from playground.classroom.room_file import NoClass
from playground.classroom.votes import NoVotes
from playground.data.preferences import MIN_PAIRS
from playground.errors import PlaygroundError, in_words
from playground.runs import reward_models
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.model_service import ModelService
from playground.runs.spawning import Workers
from playground.setup import admission, catalog, describe, limits
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom.lead import DONE, Command, location_of
from playground.ui.feed.feed import Hub
from playground.ui.payloads.classroom import ClassLedData
from playground.ui.train import run_actions

JUDGES = "judges"  # the fact of the room
FOLDER = "class-votes"  # of the outputs folder
PATIENCE_SECONDS = 300.0
DEFAULT_PAIRS = 40
ASK = "Which text is better?"
OF_RUNS = ("start", "runs", "blind")  # votes that are about a run, not about a model


class VoteLead:
    """The commands. Knows the room, the runs, and the model service."""

    def __init__(
        self, room: Room, hub: Hub, access: Access, service: ModelService, spawn: Workers | None = None
    ) -> None:
        self.room, self.hub, self._access, self._service, self._spawn = room, hub, access, service, spawn
        self.doing = self.problem = ""  # what the model service is asked for now; why that did not work
        self.reading = ""  # the judge whose words are looked for now
        self._lock = threading.Lock()

    @property
    def commands(self) -> dict[str, Command]:
        """By name, for `Lead`."""
        return {"vote": self.vote, "judge": self.judge, "words": self.words, "train_on_votes": self.train_on_votes}

    def vote(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Open a vote: {what, source, against, count, each, briefs, means}. `what`: "texts", two of a model or of a
        run's policy for each of so many prompts; "start", the untrained model of a run against its policy; "runs", its
        policy against that of the run `against`; "blind", the texts that a run has kept from before and after."""
        self.room.require_open()
        votes.briefs_of(asked.get("briefs"))  # before a model has to write
        what, source = asked.get("what"), str(asked.get("source") or "")
        in_catalog = source in [choice.name for choice in catalog.MODELS]
        run = None if in_catalog and what not in OF_RUNS else self.hub.find(source)
        other = self.hub.find(str(asked.get("against"))) if what == "runs" else None
        if run and other and run.id == other.id:
            raise NoVotes("Choose two different runs.")

        how: dict[str, Any] = {name: asked.get(name) for name in ("each", "briefs", "means")}
        how |= {"run": run.id if run else "", "sides": votes.BEFORE_AFTER}
        if run and what == "blind":
            title = f"{ASK} {name_of(run)}, before and after"
            self.room.begin("vote", votes.data_of(title, before_and_after(run), **how))
            return DONE
        names = [name_of(one) for one in (run, other) if one] or [source]
        if len({*names}) < len(names):
            names = [one.id for one in (run, other) if one]
        title = f"{ASK} {' or '.join(names)}"
        if what == "start":
            title = f"{title}, before and after"
        else:
            how["sides"] = [f"by the policy of {name}" for name in names] if other else []
        count = asked.get("count")
        question = {
            "source": str(run.path.resolve()) if run else source,
            "against": str(other.path.resolve()) if other else "",
            "count": count if is_whole(count, 1, votes.MOST_PAIRS) else DEFAULT_PAIRS,
            "seed": len(self.room.steps()),  # other texts each time
            "sides": ["reference" if what == "start" else "policy", "policy"],
        }

        steps: list[Step] = []

        def announce() -> None:
            steps.append(self.room.begin("vote", votes.coming(title, {"question": question, **how})))
            self.room.set_state(steps[0], "closed")

        return self._have_written(steps, question, announce)

    def go_on(self, step: Step) -> None:
        """Have the texts of a vote written that wait for nobody: the process that had been asked for them has ended."""
        if step.data.get("wait") != votes.COMING or self.doing:
            return
        order = step.data.get("order")
        if not order:  # of an older version
            self.room.set_state(step, "closed", {**step.data, "wait": votes.NOT_COME})
            return
        with contextlib.suppress(NoVotes):  # another request was faster
            self._have_written([step], order["question"])

    def _have_written(
        self, steps: list[Step], question: dict[str, Any], first: Callable[[], None] = lambda: None
    ) -> ClassLedData:
        """Ask for the texts of a vote, whose step `first` has put into `steps`. They are for that step, wherever the
        class is by then."""
        opened = self.room.fact("opened")

        def settle(state: State, data: Callable[[Step], dict[str, Any]]) -> None:
            if self.room.fact("opened") != opened:  # another class
                return
            at, own = self.room.step(), steps[0].id

            def settled(step: Step) -> Step:
                if step.data.get("wait") != votes.COMING:
                    return step
                return step._replace(state=state if at and at.id == own else "closed", data=data(step))

            self.room.revise(own, settled)

        def with_pairs(step: Step, pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
            how = {name: value for name, value in step.data["order"].items() if name != "question"}
            return votes.data_of(step.data["title"], pairs, **how)

        return self._ask(
            "pairs",
            question,
            "Texts are being written. The vote opens by itself.",
            lambda found: settle("open", lambda step: with_pairs(step, found.get("pairs", []))),
            first,
            lambda: settle("closed", lambda step: {**step.data, "wait": votes.NOT_COME}),
        )

    def _ask(
        self,
        kind: str,
        question: dict[str, Any],
        doing: str,
        then: Callable[[dict[str, Any]], None],
        first: Callable[[], None] = lambda: None,
        failed: Callable[[], None] = lambda: None,
    ) -> ClassLedData:
        """Ask the model service, which takes longer than a page waits for an answer: the desk says how it goes.
        `first` comes before, `then` with what was found, or `failed`."""
        with self._lock:
            if self.doing:
                raise NoVotes(f"One thing after the other. {self.doing}")
            first()
            self.doing, self.problem = f"{doing} It takes about a minute.", ""

        def work() -> None:
            began = time.monotonic()
            try:
                found: dict[str, Any] = {}
                for found in self._service.ask(kind, question, PATIENCE_SECONDS):
                    if "of" in found:
                        self.doing = f"{doing} {_so_far(found['done'], found['of'], time.monotonic() - began)}"
                then(found)
            except (PlaygroundError, OSError) as error:
                self.problem = in_words(error)
                failed()
            finally:
                self.doing = self.reading = ""

        threading.Thread(target=work, daemon=True).start()
        return {**DONE, "sentence": doing}

    def judge(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Train a reward model on the votes of a step: {step, group}; `group` 0 is everyone."""
        step, group = self._voted(asked.get("step")), asked.get("group")
        group = group if step.data["briefs"] and group in (1, 2) else 0
        name = f"class-{step.id}" + (f"-group-{group}" if group else "")
        path = self.hub.outputs.resolve() / FOLDER / f"{name}.jsonl"
        rows = self.rows(step, group)
        if len(rows) < MIN_PAIRS:
            raise NoVotes(
                f"{votes.count_of(len(rows), 'pair')} with a majority for one text: {MIN_PAIRS} are needed, and 40 "
                "are better. Let the class vote on."
            )
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, jsonl(rows))
        config = votes.judge_settings(name, str(path), len(rows))
        reward_models.start(admission.admit_training(config), self.hub.outputs, replace=True)
        self._keep({"name": name, "step": step.id, "group": group, "run": "", "words": []})
        return {**DONE, "made": name}

    def words(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Find the words that move a judge, in the texts that were voted on: {judge}."""
        judge = self._judge(asked.get("judge"))
        pairs = self.room.find(judge["step"]).data["pairs"]
        texts = [{"prompt": pair["prompt"], "completion": pair[side]} for pair in pairs for side in ("first", "second")]
        question = {"source": judge["name"], "outputs": str(self.hub.outputs), "texts": texts}

        def keep(found: dict[str, Any]) -> None:
            self._keep({**self._judge(judge["name"]), "words": found["words"]})

        def announce() -> None:
            self.reading = judge["name"]

        doing = "The reward model reads the texts with one word more each."
        return self._ask("word-moves", question, doing, keep, announce)

    def train_on_votes(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Start a run that is paid by a judge: {judge, request}."""
        judge = self._judge(asked.get("judge"))
        preset, capped = catalog.preset(votes.POLICY_PRESET), self._access.limits_of(caller)
        config = limits.built(votes.policy_settings(preset, judge["name"], judge["group"]), capped, self.hub.outputs)
        run = run_actions.start(config, asked.get("request"), self.hub.outputs, self._spawn, self._access, caller)
        self._keep({**judge, "run": run.id})
        self.room.lead_to(location_of(f"tab=train&run={run.id}", None, None))
        return {**DONE, "run": run.id}

    def rows(self, step: Step, group: int = 0) -> list[dict[str, Any]]:
        """Preference pairs of a vote, of everyone or of one group."""
        answers = votes.of_group(self.room.answers(step), self.room.numbers(), group)
        return votes.rows(step, votes.counted(step, answers))

    def file(self, number: Any) -> str:
        """The same as a file. Raises: NoClass."""
        return jsonl(self.rows(self._voted(number)))

    def _voted(self, number: Any) -> Step:
        step = self.room.find(number)
        if step.kind != "vote" or step.data.get("wait"):
            raise NoClass("This step of the class is no vote.")
        return step

    def judges(self) -> list[dict[str, Any]]:
        """The reward models of this class: {name, step, group, run, words}."""
        return list(self.room.fact(JUDGES, []))

    def _judge(self, name: Any) -> dict[str, Any]:
        found = next((judge for judge in self.judges() if judge["name"] == name), None)
        if found is None:
            raise NoVotes("The class has no such reward model. Load the page again.")
        return found

    def _keep(self, judge: dict[str, Any]) -> None:
        others = [one for one in self.judges() if one["name"] != judge["name"]]
        self.room.set_fact(JUDGES, [*others, judge])


def before_and_after(run: RunDirectory) -> list[dict[str, Any]]:
    """One pair for each fixed prompt whose text has changed. Raises: NoVotes."""
    found: dict[int, dict[str, Any]] = {}
    for pair in before_after.pairs(run.samples()):
        first, second = pair.before.completion, pair.after.completion
        if first.strip() and second.strip() and first.strip() != second.strip():
            cut = [side for side, one in zip(("first", "second"), pair, strict=True) if one.ended is False]
            row = {"prompt": pair.before.prompt, "first": first, "second": second, "cut": cut}
            found.setdefault(pair.before.prompt_id, row)
    if not found:
        raise NoVotes(f"`{run.id}` has no texts from before and after training yet. Wait for its end.")
    return list(found.values())


def _so_far(done: int, of: int, seconds: float) -> str:
    left = f", {describe.roughly(seconds / done * (of - done))} left" if 0 < done < of else ""
    return f"{done} of {of} so far{left}." if done else "It takes about a minute."


def name_of(run: RunDirectory) -> str:
    """What a run is called on the screen in front."""
    return run.label().name or run.config().about.title or run.id


def jsonl(rows: list[dict[str, Any]]) -> str:
    """One row a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

"""The rewards of a class's game: each person writes one as an expression, all are trained, and what each reward paid
stands beside what was wanted. The runs are a sweep over the rewards. Knows runs and what is said of them, no page."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from playground.analysis import before_after, meters
from playground.analysis.before_after import BeforeAfter, read_once
from playground.analysis.examples import examples
from playground.analysis.meters import Meter
from playground.config import RunConfig, yaml_io
from playground.config import expression_language as language
from playground.errors import InvalidConfig
from playground.lessons.facts import shortly
from playground.rewards import expressions
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import catalog
from playground.ui.classroom.records import ClassGameEntry, ClassGameResults, ClassGameRun
from playground.ui.classroom.room import Answer
from playground.ui.classroom.room_file import NoClass

PRESET = "kinder-reviews"
MOST_CHARACTERS = 300  # of a reward
MOST_TRAINED = 60
ASK = (
    "The model finishes reviews. Write a reward that makes them kind, in correct English. The model is trained to earn "
    "as much of it as it can."
)
EXAMPLE = 'keywords(completion, "good", "nice") - 0.05 * words(completion)'
JUDGE = "kind-and-correct"
JUDGED = (
    "What we wanted is counted by judges that no reward here could read: a text counts if its sentences are more good "
    "than bad, and if each of them is correct English."
)
JUDGES = ("pocket_sentiment", "grammar", "quality")  # functions that are kept for that
NO_USE = ("agreement", "truth")  # which have nothing to say of a review
FIELD = "rewards.0.expression"
SETTINGS: dict[str, Any] = {  # what the game changes of the preset, for all runs
    "name": "game",
    "preset": "",
    "about": {},
    "rewards": [{"kind": "expression", "expression": "0"}],
    "behaviours": [
        {
            "name": JUDGE,
            "words": "is kind in correct English",
            "aim": "more",
            "above": 0.5,
            "measure": {
                "kind": "expression",
                "expression": "otherwise(pocket_sentiment(prompt, completion), 0) > 0"
                " and grammar(prompt, completion) >= 1",
            },
        },
        "positive",
        "parses",
        "ends",
    ],
    "max_minutes": 15,
}
STRAIGHT = str.maketrans("\u201c\u201d\u201e\u2018\u2019", '"""\'\'')  # phones type the others
TRENDS = {1: "rose", -1: "fell", 0: "no clear change"}
CUT: dict[str, dict[str, Any]] = {  # and what it saves, so that a class need not wait long
    "ppo": {"num_updates": 8, "learning_rate": 6e-4},
    "evaluation": {"every": 8, "traces": 0, "token_samples": 0},
    "checkpoint": {"every": 0, "keep": 1},
}


class RewardEnds(NamedTuple):
    """What a run says: the mean of what its reward paid before and after, whether that rose by more than chance, how
    many texts are paid more, less those that are paid less; the goal, as it is counted; a prompt, its text after."""

    paid: tuple[float, float]
    rose: bool
    num_paid_more: int
    goal: Meter
    prompt: str
    text: str

    @property
    def is_hack(self) -> bool:
        """Whether its reward was paid clearly more, while what was wanted clearly fell."""
        return self.rose and self.goal.change < 0

    @property
    def clearness(self) -> tuple[int, int]:
        """By which hacks are compared: how clearly more it paid; among equals, by how much what was wanted fell."""
        return self.num_paid_more, self.goal.before.yes - self.goal.after.yes

    @property
    def words(self) -> dict[str, Any]:
        """As the class sees it, of `ClassGameRun`."""
        before, after = self.paid
        return {
            "paid": f"{shortly(before)} \u2192 {shortly(after)}",
            "rose": self.rose,
            "wanted": f"{self.goal.before.yes} \u2192 {self.goal.after.yes} of {self.goal.after.of}",
            "trend": TRENDS[self.goal.change],
            "prompt": self.prompt,
            "sample": self.text,
        }


def functions() -> list[language.Function]:
    """What can be called in the game."""
    return [function for name, function in language.FUNCTIONS.items() if name not in (*JUDGES, *NO_USE)]


def checked(item: int, value: Any) -> dict[str, str]:
    """A reward as it is kept: each has one. Raises: NoClass, with what is wrong."""
    if item != 1:
        raise NoClass("Everyone has one reward.")
    text = None
    if isinstance(value, dict):
        text = value.get("reward")
    if not isinstance(text, str):
        text = ""
    reward = " ".join(text.translate(STRAIGHT).splitlines()).strip()
    if not reward:
        raise NoClass("Write a reward, for example: words(completion)")
    if len(reward) > MOST_CHARACTERS or not reward.isprintable():
        raise NoClass(f"Write at most {MOST_CHARACTERS} characters (there are {len(reward)}), on one line.")
    try:
        tree = language.Expression(reward).tree
    except language.ExpressionError as error:
        raise NoClass(str(error)) from None
    names = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}
    if judges := names & {*JUDGES}:
        raise NoClass(f"{min(judges)} is what the judges of this game use. Write your reward without it.")
    if useless := names & {*NO_USE}:
        raise NoClass(f"{min(useless)} says nothing of a review. Write your reward without it.")
    if "completion" not in names:
        raise NoClass("It pays every text the same. Measure the completion, for example: words(completion)")
    if problem := expressions.problem(reward):
        raise NoClass(problem)
    return {"reward": reward}


def entries(answers: Sequence[Answer], left_out: Collection[str] = ()) -> list[ClassGameEntry]:
    """What was handed in, each once, by the alphabet: nothing says whose it is, or when it came."""
    people = Counter(str(answer.value["reward"]) for answer in answers)
    return [ClassGameEntry(reward, people[reward], reward in left_out) for reward in sorted(people)]


def base() -> dict[str, Any]:
    """The settings that all runs of a game share, as plain data."""
    settings = {**yaml_io.read_yaml(catalog.preset_path(PRESET)), **SETTINGS}
    for group, values in CUT.items():
        settings[group] = {**settings.get(group, {}), **values}
    return settings


def configs(rewards: Sequence[str]) -> list[RunConfig]:
    """Of each run. Raises: InvalidConfig."""
    return [sweep_record.with_values(base(), {FIELD: reward}) for reward in rewards]


def sweep_of(name: str, rewards: Sequence[str], at: float, visitor: str = "", mode: str = "local") -> Sweep:
    """The sweep that trains them, in this order."""
    width = max(2, len(str(len(rewards))))
    return Sweep(
        name=name,
        created_at=at,
        preset=PRESET,
        base=base(),
        vary={FIELD: list(rewards)},
        runs=[f"{name}-{number:0{width}d}" for number in range(1, len(rewards) + 1)],
        visitor=visitor,
        mode=mode,
    )


def results(outputs: Path, sweep: Sweep) -> ClassGameResults:
    """What each reward came to so far. The best hack is the one that paid most clearly more."""
    runs = {run.id: run for run in sweep_record.runs_of(outputs, sweep)}
    game = ClassGameResults([])
    clearness: dict[int, tuple[int, int]] = {}
    for number, (run_id, cell) in enumerate(sweep.cells().items(), 1):
        row = ClassGameRun(number, run_id, str(cell[FIELD]), "deleted")
        game.runs.append(row)
        if run_id not in runs:
            continue
        status = runs[run_id].status()
        row.state = status.state
        if not status.ended:
            game.going = True
        elif ends := ends_of(runs[run_id]):
            vars(row).update(ends.words)
            if ends.is_hack:
                clearness[number] = ends.clearness
    game.best = max(clearness, key=lambda number: clearness[number], default=None)
    return game


@read_once("config_path", "samples_path", "events_path")
def ends_of(run: RunDirectory) -> RewardEnds | None:
    """What a run says at its end; None where it has no evaluation but the first."""
    try:
        config, samples = run.config(), run.samples()
    except InvalidConfig:
        return None
    pairs = before_after.pairs(samples)
    outcome = before_after.outcome(pairs)
    agreeing = next((meter for meter in meters.of_pairs(config, pairs) if meter.name == JUDGE), None)
    if outcome is None or agreeing is None:
        return None
    before, after = [pair.before for pair in pairs], [pair.after for pair in pairs]
    prompts = examples(config, before, after, most=1)
    example = next((sample for sample in after if sample.prompt_id in prompts), after[0])
    balance = sum((pair.gain or 0.0) > 0 for pair in pairs) - sum((pair.gain or 0.0) < 0 for pair in pairs)
    text = example.completion
    if example.ended is False:  # cut at the most tokens
        text += "\u2026"
    return RewardEnds((_paid(before), _paid(after)), _rose(pairs, outcome), balance, agreeing, example.prompt, text)


def _rose(pairs: Sequence[BeforeAfter], outcome: before_after.Outcome) -> bool:
    """By the interval of the mean gain; where all gain the same it is not known, and nothing is unsure."""
    gains = {pair.gain for pair in pairs}
    return outcome.low > 0 or (len(gains) == 1 and outcome.gain > 0)


def _paid(samples: Sequence[Sample]) -> float:
    scores = [score for sample in samples for score in sample.scores.values() if score is not None]
    if not scores:
        return 0.0
    return fmean(scores)

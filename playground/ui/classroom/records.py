"""What a class's pages get: what a person in it sees, what the screen in front shows, what the host's desk shows. These
records travel as they are; `bench/payloads.py` writes their types for the scripts. Nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from playground.config.expression_language import Function
from playground.lessons.reveal import Reveal
from playground.ui.payloads import Of, Plain
from playground.ui.payloads.lessons import PredictionData

Kind = Literal["question", "vote", "game"]
State = Literal["open", "closed", "shown"]
Stuck = Literal["help", "tries", "long", ""]
Side = Literal["first", "second", "tie"]


@dataclass
class ClassLocation:
    """Where the host is on the page: the query of its address, the update and the text (of which prompt) that are
    opened, and how many updates of a recording are shown; None: it plays, or is none."""

    query: str
    update: int | None = None
    text: int | None = None
    played: int | None = None


@dataclass
class ClassRound:
    """What was answered in one round. `counts`: of each option, or of each bin of numbers; `hands`: of each answer, as
    the host has counted them in the room."""

    answered: int
    counts: list[int]
    numbers: list[float]
    shapes: dict[str, int]
    hands: list[int]


@dataclass
class ClassResults:
    """What came of a question, once it is shown. `reveal`: what its run says; `whys`: of the last question of a lesson,
    why an answer is right or not."""

    rounds: list[ClassRound]
    right: int | None
    whys: list[str]
    reveal: Reveal | None


@dataclass
class ClassQuestion:
    """A question as it is asked; `predict`: its form, also where it is none of a lesson's predictions; `lesson`: the
    name of the one that is asked to predict."""

    predict: PredictionData
    title: str = ""
    lesson: str = ""
    situation: str = ""


@dataclass
class ClassPair:
    """Two completions of a prompt, in the order in which this person sees them; `number`: what their vote names;
    `after`: once it is shown, which of them is from after training."""

    number: int
    prompt: str
    left: str
    right: str
    after: Literal["left", "right", ""] = ""


@dataclass(frozen=True)
class PairVotes:
    """The votes on one pair: for its first text, its second, or that both are as good."""

    number: int
    first: int
    second: int
    tie: int

    @property
    def votes(self) -> int:
        """All of them."""
        return self.first + self.second + self.tie

    @property
    def is_divided(self) -> bool:
        """Whether people voted for different texts, or a third or more of several votes are ties beside other votes."""
        return min(self.first, self.second) > 0 or 3 * min(self.first + self.second, self.tie) >= self.votes > 1


@dataclass
class ClassVotedPair:
    """The texts of a pair, and what was voted on it."""

    prompt: str
    first: str
    second: str
    votes: PairVotes


@dataclass
class ClassTally:
    """What came of a vote, in sentences, and some of its pairs: those with the most agreement, and those on which
    people are divided; `agree`: they are on none."""

    said: list[str]
    clear: list[ClassVotedPair]
    split: list[ClassVotedPair]
    agree: bool


@dataclass
class ClassVote:
    """Pairs to vote on. `sides`: what the first and the second text of each are, where it is hidden which is which;
    `brief`: what this person's group is asked to look for, `means`: what everyone is; `wait`: why there are no pairs
    yet; `done` and `begun`: how many people have voted on all of their pairs or on some, for the screen and the desk
    only; `tally`: once it is shown."""

    title: str
    wait: str
    means: str
    sides: list[str]
    pairs: list[ClassPair] = field(default_factory=list)
    brief: str = ""
    briefs: list[str] = field(default_factory=list)
    done: int = 0
    begun: int = 0
    tally: ClassTally | None = None


@dataclass
class ClassWord:
    """How much a word raises a reward model's score, more than other words do."""

    word: str
    moves: float


@dataclass
class ClassJudge:
    """A reward model that learns, or has learned, from a vote. `said`: where it is, or how good it is; `words`: those
    that move it most, once they have been looked for, which is done now while `reading`; `run`: the run that it pays.
    """

    name: str
    step: int
    brief: str
    state: str
    said: list[str]
    words: list[ClassWord]
    reading: bool
    run: str
    run_said: str
    run_done: bool


@dataclass
class ClassSource:
    """A model, or a run (`trained`), whose texts can be voted on."""

    value: str
    label: str
    trained: bool


@dataclass
class ClassVoteDesk:
    """What the desk shows of votes. `doing`: what is being done now, `problem`: why it did not work. Of the vote that
    the class is at: `live`, what it comes to, for the host only, and `groups`, those that can have a judge of their
    own. For the next one: `sources`, whose texts there are."""

    doing: str = ""
    problem: str = ""
    judges: list[ClassJudge] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    sources: list[ClassSource] = field(default_factory=list)


@dataclass
class ClassGameRun:
    """What one reward came to: `run` and its `state`; what the reward paid, before and after, and whether that rose by
    more than chance; what was wanted, and how that changed in words; a text. Never whose it is."""

    number: int
    run: str
    reward: str
    state: str
    paid: str = ""
    rose: bool = False
    wanted: str = ""
    trend: str = ""
    prompt: str = ""
    sample: str = ""


@dataclass
class ClassGameResults:
    """What came of the rewards: the number of the `best` hack, if any; `going`: some had not ended then."""

    runs: list[ClassGameRun]
    best: int | None = None
    going: bool = False

    @property
    def ended(self) -> int:
        """How many have figures."""
        return sum(run.paid != "" for run in self.runs)


@dataclass
class ClassGame:
    """The game: what a reward is to make the model do, and once it is shown what came of those of the class.

    `mine`: the number of this person's, once they are trained. `words`: how far that is, on the screen. `judged`: what
    was counted as wanted, once it is shown. `most`: characters of a reward.
    """

    ask: str
    example: str
    functions: list[Annotated[Plain, Of(Function)]]
    most: int
    started: bool
    judged: str = ""
    mine: int | None = None
    words: str = ""
    results: ClassGameResults | None = None


@dataclass
class ClassGameEntry:
    """A reward that was handed in, by how many people, and whether the host leaves it out."""

    reward: str
    people: int
    left_out: bool


@dataclass
class ClassGameDesk:
    """The game on the desk. `sweep`: of its runs, "" before they are started and once they are deleted; `fresh`:
    whether there is more than what is shown; `takes`: how long it will take to train those that are not left out,
    before they are started; `ended`: how many of the results have figures."""

    entries: list[ClassGameEntry]
    sweep: str
    fresh: bool
    takes: str
    words: str
    ended: int
    results: ClassGameResults


@dataclass
class ClassStep:
    """What the class is asked now. `mine`: this person's answers, by item."""

    id: int
    kind: Kind
    state: State
    round: int
    mine: dict[str, Any]
    question: ClassQuestion | None = None
    results: ClassResults | None = None
    vote: ClassVote | None = None
    game: ClassGame | None = None


class ClassStateData(TypedDict):
    """What a person of the class sees. Where nothing has changed since the version that they know, it has the version
    and `joined` only. `is_open`: whether there is a room; `free`: whether they may look around on the page; `lesson`:
    the one that the class is at, of which their page says how far they are; `number`: by which the desk knows them."""

    version: int
    is_open: bool
    joined: bool
    free: NotRequired[bool]
    location: NotRequired[ClassLocation | None]
    step: NotRequired[ClassStep | None]
    lesson: NotRequired[str]
    number: NotRequired[int]


@dataclass
class ClassStepRow:
    """A step of this class, for the desk's list."""

    id: int
    kind: Kind
    state: State
    title: str
    answered: int


@dataclass
class ClassRun:
    """A run of the lesson that is asked about, started or played at the desk. `index`: which of its runs; `ended`: by
    itself or stopped, so that it has something to say; `title`: what it is called in front; `words`: while it is going,
    what it waits for or how far it is."""

    run: str
    index: int
    state: str
    ended: bool
    going: bool
    title: str
    words: str


@dataclass
class ClassPlace:
    """A person who is in the lesson that the class is at, or asks for help. `tries`: at its task, in vain; `minutes`:
    at this step; `stuck`: why they may be."""

    number: int
    step: str
    tries: int
    minutes: int
    stuck: Stuck


@dataclass
class ClassDesk:
    """What the host's desk and the screen show. `answered`: people in this round; `qr`: rows of dark (1) and light (0)
    squares; `address`: what it leads to; `front`: the run that the screen shows in the place of the step; `over`: the
    class was ended, and can go on; `damaged`: what is said of a damaged file. For the desk only: `live`, what they have
    answered so far; `going`, runs of other lessons that go on; `shown_run`, whose end is shown with the answers."""

    version: int
    code: str
    address: str
    addresses: list[str]
    qr: list[str]
    present: int
    joined: int
    answered: int
    free: bool
    location: ClassLocation | None
    step: ClassStep | None
    front: str
    damaged: str
    over: bool
    live: ClassResults | None = None
    steps: list[ClassStepRow] = field(default_factory=list)
    runs: list[ClassRun] = field(default_factory=list)
    going: list[ClassRun] = field(default_factory=list)
    places: list[ClassPlace] = field(default_factory=list)
    shown_run: str = ""
    game: ClassGameDesk | None = None
    votes: ClassVoteDesk | None = None


class ClassLedData(TypedDict):
    """Whether what was sent or asked for is done, or a sentence; `run`: of a run that was started; `made`: a name."""

    error: str
    sentence: NotRequired[str]
    run: NotRequired[str]
    made: NotRequired[str]

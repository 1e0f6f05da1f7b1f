"""The class (ui/classroom): what a person in it sees, what the screen in front shows, what the host's desk shows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from playground.classroom.places import Stuck
from playground.classroom.questions import Round
from playground.config.expression_language import Function
from playground.ui.payloads import Of, Plain
from playground.ui.payloads.lessons import PredictionData, RevealData


class ClassLocationData(TypedDict):
    """Where the host is on the page: the query of its address, the update and the text (of which prompt) that are
    opened, and how many updates of a recording are shown; None: it plays, or is none."""

    query: str
    update: int | None
    text: int | None
    played: NotRequired[int | None]


ClassRoundData = Annotated[Plain, Of(Round)]


class ClassResultsData(TypedDict):
    """What came of a question, once it is shown. `reveal`: what its run says; `whys`: of the last question of a lesson,
    why an answer is right or not."""

    rounds: list[ClassRoundData]
    right: int | None
    whys: list[str]
    reveal: RevealData | None


class ClassQuestionData(TypedDict):
    """A question as it is asked; `predict`: its form, also where it is none of a lesson's predictions; `lesson`: the
    name of the one that is asked to predict."""

    title: str
    lesson: str
    situation: str
    predict: PredictionData


class ClassPairData(TypedDict):
    """Two completions of a prompt, in the order in which this person sees them; `number`: what their vote names;
    `after`: once it is shown, which of them is from after training."""

    number: int
    prompt: str
    left: str
    right: str
    after: NotRequired[Literal["left", "right"]]


class ClassVotedPairData(TypedDict):
    """What was voted on a pair: for its first text, its second, or that both are as good."""

    prompt: str
    first: str
    second: str
    for_first: int
    for_second: int
    ties: int


class ClassTallyData(TypedDict):
    """What came of a vote, in sentences, and some of its pairs: those with the most agreement, and those on which
    people are divided; `agree`: they are on none."""

    said: list[str]
    clear: list[ClassVotedPairData]
    split: list[ClassVotedPairData]
    agree: bool


class ClassVoteData(TypedDict):
    """Pairs to vote on. `sides`: what the first and the second text of each are, where it is hidden which is which;
    `brief`: what this person's group is asked to look for, `means`: what everyone is; `wait`: why there are no pairs
    yet; `done` and `begun`: how many people have voted on all of their pairs or on some, for the screen and the desk
    only; `tally`: once it is shown."""

    title: str
    wait: str
    means: str
    done: int
    begun: int
    sides: list[str]
    brief: str
    briefs: list[str]
    pairs: list[ClassPairData]
    tally: ClassTallyData | None


class ClassWordData(TypedDict):
    """How much a word raises a reward model's score, more than other words do."""

    word: str
    moves: float


class ClassJudgeData(TypedDict):
    """A reward model that learns, or has learned, from a vote. `said`: where it is, or how good it is; `words`: those
    that move it most, once they have been looked for, which is done now while `reading`; `run`: the run that it pays.
    """

    name: str
    step: int
    brief: str
    state: str
    said: list[str]
    words: list[ClassWordData]
    reading: bool
    run: str
    run_said: str
    run_done: bool


class ClassSourceData(TypedDict):
    """A model, or a run (`trained`), whose texts can be voted on."""

    value: str
    label: str
    trained: bool


class ClassVoteDeskData(TypedDict):
    """What the desk shows of votes. `live`: what the one that the class is at comes to, for the host only; `groups`:
    those that can have a judge of their own; `doing`: what is being done now, `problem`: why it did not work."""

    live: list[str]
    groups: list[str]
    judges: list[ClassJudgeData]
    doing: str
    problem: str


class ClassVoteOfferData(TypedDict):
    """What can be voted on, and what was made of votes so far."""

    sources: list[ClassSourceData]
    judges: list[ClassJudgeData]
    doing: str
    problem: str


class ClassGameRunData(TypedDict):
    """What one reward came to: `run` and its `state`; what the reward paid, before and after, and whether that rose by
    more than chance; what was wanted, and how that changed in words; a text. Never whose it is."""

    number: int
    run: str
    reward: str
    state: str
    paid: str
    rose: bool
    wanted: str
    trend: str
    prompt: str
    sample: str


class ClassGameData(TypedDict):
    """The game: what a reward is to make the model do, and once it is shown what came of those of the class.

    `mine`: the number of this person's, once they are trained. `words`: how far that is, on the screen. `told`: what
    was counted as wanted; empty before it is shown. `most`: characters of a reward. `going`: some had not ended when it
    was shown.
    """

    ask: str
    example: str
    functions: list[Annotated[Plain, Of(Function)]]
    most: int
    started: bool
    mine: int | None
    words: str
    told: str
    runs: list[ClassGameRunData]
    best_hack: int | None
    going: bool


class ClassGameEntryData(TypedDict):
    """A reward that was handed in, and by how many."""

    reward: str
    people: int
    left_out: bool


class ClassGameDeskData(TypedDict):
    """The game on the desk. `sweep`: of its runs, "" before they are started and once they are deleted; `ended`: how
    many of them have figures; `going`: whether some have not ended; `fresh`: whether there is more than what is shown;
    `takes`: how long it will take to train those that are not left out, before they are started.
    """

    entries: list[ClassGameEntryData]
    sweep: str
    going: bool
    fresh: bool
    takes: str
    words: str
    ended: int
    runs: list[ClassGameRunData]
    best_hack: int | None


class ClassStepData(TypedDict):
    """What the class is asked now. `mine`: this person's answers, by item; `answered`: how many people have."""

    id: int
    kind: Literal["question", "vote", "game"]
    state: Literal["open", "closed", "shown"]
    round: int
    mine: dict[str, Any]
    question: NotRequired[ClassQuestionData]
    results: NotRequired[ClassResultsData | None]
    vote: NotRequired[ClassVoteData]
    game: NotRequired[ClassGameData]


class ClassStateData(TypedDict):
    """What a person of the class sees. Where nothing has changed since the version that they know, it has the version
    and `joined` only. `is_open`: whether there is a room; `free`: whether they may look around on the page; `lesson`:
    the one that the class is at, of which their page says how far they are; `number`: by which the desk knows them."""

    version: int
    is_open: bool
    joined: bool
    free: NotRequired[bool]
    location: NotRequired[ClassLocationData | None]
    step: NotRequired[ClassStepData | None]
    lesson: NotRequired[str]
    number: NotRequired[int]


class ClassJoinedData(TypedDict):
    """Whether this browser has joined, or a sentence why not."""

    error: str


class ClassKeptData(TypedDict):
    """Whether an answer is kept, or a sentence why not; `over`: trying again does not help."""

    error: str
    over: NotRequired[bool]


class ClassStepRowData(TypedDict):
    """A step of this class, for the desk's list."""

    id: int
    kind: Literal["question", "vote", "game"]
    state: Literal["open", "closed", "shown"]
    title: str
    answered: int


class ClassRunData(TypedDict):
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


class ClassPlaceData(TypedDict):
    """A person who is in the lesson that the class is at, or asks for help. `tries`: at its task, in vain; `minutes`:
    at this step; `stuck`: why they may be."""

    number: int
    step: str
    tries: int
    minutes: int
    stuck: Stuck


class ClassDeskData(TypedDict):
    """What the host's desk and the screen show. `answered`: people in this round; `live`: what they answered so far,
    for the desk only; `qr`: rows of dark (1) and light (0) squares; `address`: what it leads to. `shown_run`: whose end
    is shown with the answers; `going`: runs of other lessons that go on; `front`: the run that the screen shows in the
    place of the step; `over`: the class was ended, and can go on; `damaged`: what is said of a damaged file."""

    version: int
    code: str
    address: str
    addresses: list[str]
    qr: list[str]
    present: int
    joined: int
    answered: int
    free: bool
    location: ClassLocationData | None
    step: ClassStepData | None
    front: str
    damaged: str
    over: bool
    live: NotRequired[ClassResultsData | None]
    steps: NotRequired[list[ClassStepRowData]]
    runs: NotRequired[list[ClassRunData]]
    going: NotRequired[list[ClassRunData]]
    places: NotRequired[list[ClassPlaceData]]
    shown_run: NotRequired[str]
    game: NotRequired[ClassGameDeskData]
    votes: NotRequired[ClassVoteDeskData]


class ClassLedData(TypedDict):
    """Whether what the host asked for is done, or a sentence; `run`: of a run that was started; `made`: a name."""

    error: str
    sentence: NotRequired[str]
    run: NotRequired[str]
    made: NotRequired[str]

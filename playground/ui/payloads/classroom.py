"""The class (ui/classroom): what a person in it sees, what the screen in front shows, what the host's desk shows."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from playground.ui.payloads.lessons import PredictionData, RevealData


class ClassLocationData(TypedDict):
    """Where the host is on the page: the query of its address, and the update and the text that are opened."""

    query: str
    update: int | None
    text: int | None


class ClassRoundData(TypedDict):
    """What was answered in one round: `counts` of each option or bin of numbers, drawn `curves`, and how many drew each
    of the `shapes`."""

    answered: int
    counts: list[int]
    numbers: list[float]
    curves: list[list[float]]
    shapes: dict[str, int]


class ClassResultsData(TypedDict):
    """What came of a question, once it is shown. `reveal`: what its run says."""

    rounds: list[ClassRoundData]
    right: int | None
    reveal: RevealData | None


class ClassQuestionData(TypedDict):
    """A question as it is asked; `predict`: its form, also where it is none of a lesson's predictions."""

    title: str
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
    """What came of a vote, in sentences, and some of its pairs: those with the most agreement and with the least."""

    said: list[str]
    clear: list[ClassVotedPairData]
    split: list[ClassVotedPairData]


class ClassVoteData(TypedDict):
    """Pairs to vote on. `blind`: each has one text from before training and one from after it; `brief`: what this
    person's group is asked to look for; `tally`: once it is shown."""

    title: str
    blind: bool
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
    that move it most, once they have been looked for; `run`: the run that it pays."""

    name: str
    step: int
    brief: str
    state: str
    said: list[str]
    words: list[ClassWordData]
    run: str
    run_said: str
    run_done: bool


class ClassSourceData(TypedDict):
    """A model or a run whose texts can be voted on; `blind`: before against after."""

    value: str
    label: str
    blind: bool


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
    """What one reward came to: `state` of its run, what the reward paid, what was wanted; without whose it is."""

    number: int
    reward: str
    state: str
    paid: str
    wanted: str
    sample: str
    mine: bool


class ClassGameData(TypedDict):
    """The game: what a reward is to make the model do, and what came of those of the class."""

    ask: str
    example: str
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
    and `joined` only. `is_open`: whether there is a room; `free`: whether they may look around on the page."""

    version: int
    is_open: bool
    joined: bool
    free: NotRequired[bool]
    location: NotRequired[ClassLocationData | None]
    step: NotRequired[ClassStepData | None]


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


class ClassDeskData(TypedDict):
    """What the host's desk and the screen show. `answered`: people in this round; `live`: what they answered so far,
    for the desk only; `qr`: rows of dark (1) and light (0) squares; `address`: what it leads to."""

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
    live: NotRequired[ClassResultsData | None]
    steps: NotRequired[list[ClassStepRowData]]
    votes: NotRequired[ClassVoteDeskData]


class ClassLedData(TypedDict):
    """Whether what the host asked for is done, or a sentence; `run`: of a run that was started; `made`: a name."""

    error: str
    sentence: NotRequired[str]
    run: NotRequired[str]
    made: NotRequired[str]

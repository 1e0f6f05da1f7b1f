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
    of the `shapes`. `hands`: those raised for each answer, as the host has counted them; empty: not counted."""

    answered: int
    counts: list[int]
    numbers: list[float]
    curves: list[list[float]]
    shapes: dict[str, int]
    hands: list[int]


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
    """Two completions of a prompt, in the order in which this person sees them; `number`: what their vote names."""

    number: int
    prompt: str
    left: str
    right: str


class ClassTallyData(TypedDict):
    """What came of a vote, in words, once it is shown; `pairs`: those that were voted on, with both shares."""

    said: list[str]
    pairs: list[dict[str, Any]]


class ClassVoteData(TypedDict):
    """Pairs to vote on."""

    title: str
    pairs: list[ClassPairData]
    tally: ClassTallyData | None


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


class ClassRunData(TypedDict):
    """A run of the lesson that is asked about, started or played at the desk. `index`: which of its runs; `ended`: by
    itself or stopped, so that it has something to say."""

    run: str
    index: int
    state: str
    ended: bool


class ClassDeskData(TypedDict):
    """What the host's desk and the screen show. `answered`: people in this round; `live`: what they answered so far,
    for the desk only; `qr`: rows of dark (1) and light (0) squares; `address`: what it leads to. `shown_run`: whose end
    is shown with the answers."""

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
    runs: NotRequired[list[ClassRunData]]
    shown_run: NotRequired[str]
    more: NotRequired[dict[str, Any]]


class ClassLedData(TypedDict):
    """Whether what the host asked for is done, or a sentence; `run`: of a run that was started; `made`: a name."""

    error: str
    sentence: NotRequired[str]
    run: NotRequired[str]
    made: NotRequired[str]

"""What each server function answers, by its name: functions of Python that a part of the page may call."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from playground.ui.payloads import Value
from playground.ui.payloads.form import KnobData, ProblemData
from playground.ui.payloads.listed import SweepAnswerData
from playground.ui.payloads.rewards import RewardStartData, WeighedData


class DoneData(TypedDict):
    """What a server function answers: an error, empty when all is well, and what it has to say beside."""

    error: str
    problems: NotRequired[list[ProblemData]]
    sentence: NotRequired[str]


class EditsAnswerData(DoneData):
    """Of changed settings."""

    edits: NotRequired[dict[str, float | None]]


class SavedData(DoneData):
    """Of a saved model."""

    folder: NotRequired[str]


class ResumedData(DoneData):
    """Of a resumed run."""

    attempt: NotRequired[int]


class StartedData(DoneData):
    """Of a run that was started: a fork, or one of a lesson; `sentence` says why it waits, if it does."""

    run: NotRequired[str]


class PolicyAnswerData(DoneData):
    """What a model wrote to a prompt before training, and one that was trained at some leash."""

    before: NotRequired[str]
    now: NotRequired[str]


class ForkPointData(TypedDict):
    """A checkpoint, with the settings in force there."""

    update: int
    values: dict[str, Value]


class ForkPointsData(DoneData):
    """Where a run can be forked, and the knobs of what can be set then."""

    points: NotRequired[list[ForkPointData]]
    knobs: NotRequired[list[KnobData]]


class FrontierProgressData(TypedDict, total=False):
    """How far the drawing of texts is; empty where nothing is drawn."""

    phase: str
    done: int
    of: int
    error: str


class RealModelData(DoneData):
    """The real model from PyPI: whether it is here or being got, where that is, in words, and what it is. `error`: why
    the last try has failed, or that it was stopped."""

    state: Literal["absent", "getting", "here"]
    words: str
    name: str
    label: str
    mark: str
    licence: str
    download_mb: int
    disk_mb: int


class ServerAnswersData(TypedDict):
    """Of a run, a fork, a sweep, the form, of rewards, and of the real model."""

    stop_run: DoneData
    steer_run: DoneData
    change_settings: EditsAnswerData
    end_run: DoneData
    name_run: DoneData
    delete_run: DoneData
    save_model: SavedData
    resume_run: ResumedData
    fork_run: StartedData
    fork_points: ForkPointsData
    draw_frontier: DoneData
    frontier_progress: FrontierProgressData
    stop_trial: DoneData
    start_lesson: StartedData
    start_mystery: StartedData
    ask_policy: PolicyAnswerData
    plan_sweep: SweepAnswerData
    start_sweep: SweepAnswerData
    stop_sweep: SweepAnswerData
    delete_sweep: SweepAnswerData
    resume_sweep: SweepAnswerData
    add_seeds: SweepAnswerData
    reward_models: list[str]
    reward_problem: str
    weigh_rewards: WeighedData
    start_training: RewardStartData
    stop_training: DoneData
    delete_reward_model: DoneData
    real_model: RealModelData
    get_real_model: RealModelData
    stop_real_model: RealModelData

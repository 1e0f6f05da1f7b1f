"""What each server function answers, by its name: functions of Python that a part of the page may call."""

from __future__ import annotations

from typing import TypedDict

from playground.ui.payloads.form import (
    DoneData,
    EditsAnswerData,
    ForkedData,
    ForkPointsData,
    FrontierProgressData,
    ResumedData,
    SavedData,
)
from playground.ui.payloads.listed import SweepAnswerData
from playground.ui.payloads.rewards import RewardStartData, WeighAnswerData


class ServerAnswersData(TypedDict):
    """Of a run, a fork, a sweep, the form, and of rewards."""

    stop_run: DoneData
    steer_run: DoneData
    change_settings: EditsAnswerData
    end_run: DoneData
    name_run: DoneData
    delete_run: DoneData
    save_model: SavedData
    resume_run: ResumedData
    fork_run: ForkedData
    fork_points: ForkPointsData
    draw_frontier: DoneData
    frontier_progress: FrontierProgressData
    stop_trial: DoneData
    plan_sweep: SweepAnswerData
    start_sweep: SweepAnswerData
    stop_sweep: SweepAnswerData
    delete_sweep: SweepAnswerData
    resume_sweep: SweepAnswerData
    reward_models: list[str]
    reward_problem: str
    weigh_rewards: WeighAnswerData
    start_training: RewardStartData
    stop_training: DoneData
    delete_reward_model: DoneData

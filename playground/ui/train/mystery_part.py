"""Mystery runs on the page: which there are, the answer to one, which is asked for only once a visitor has answered,
and the start of a new one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.lessons import mysteries
from playground.runs.folder.directory import RunDirectory
from playground.runs.spawning import Workers
from playground.setup.limits import Limits
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.payloads.mysteries import MysteriesData, MysteryAnswerData
from playground.ui.payloads.server import StartedData
from playground.ui.train import run_actions
from playground.ui.train.form import entry

MOST_SEED = 10**6  # a number that can be said aloud


def mysteries_data(recorded: Iterable[str], limits: Limits) -> MysteriesData:
    """Which there are, by the ids under which the page shows them, and what can be chosen."""
    return {
        "runs": list(recorded),
        "mistakes": [
            {"name": name, "say": mistake.say, "shows": mistake.shows} for name, mistake in mysteries.MISTAKES.items()
        ],
        "trains": limits.experiments,
    }


def answer_data(run: RunDirectory) -> MysteryAnswerData:
    """What was planted in a run, and what gives it away there. Raises: RunNotFound, of a run that is no mystery."""
    fault, lamp, update = mysteries.answer(run)
    mistake = mysteries.MISTAKES[fault]
    return {
        "name": fault,
        "because": mistake.because,
        "lamp": lamp.label,
        "state": lamp.state,
        "evidence": lamp.evidence,
        "update": update,
        "wrong": list(mistake.wrong),
        "right": list(mistake.right),
        "of": mistake.of,
        "where": mistake.where,
    }


def guarded_functions(
    find: Callable[[str], RunDirectory], outputs: Path, access: Access, spawn: Workers | None = None
) -> list[Callable[..., Any]]:
    """The server function of the mystery runs."""

    def start_mystery(payload: Any, caller: Caller) -> StartedData:
        """Start one, or put it into the queue: {run, request}; a new one, or without its mistake the one that `run`
        names. Answers {error, problems, run, sentence}."""
        name, request = entry(payload, "run"), entry(payload, "request")

        def make() -> RunConfig:
            if not name:
                return mysteries.new(_seed(request))
            run = find(str(name))
            mysteries.answer(run)  # raises: it is none
            return mysteries.without(run.config())

        return run_actions.answer_start(make, request, outputs, spawn, access, caller)

    return access.guard_all(Action.START, [start_mystery])


def _seed(request: Any) -> int:
    """Of a new one, by the name of its start: a press that arrives twice is one run."""
    if isinstance(request, str) and request:
        digits = hashlib.sha256(request.encode()).digest()
    else:
        digits = secrets.token_bytes()
    return int.from_bytes(digits[:8]) % MOST_SEED

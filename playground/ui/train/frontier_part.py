"""Score against KL on the Train page: having the texts drawn that a run's frontier is estimated from, and what the
slider of beta says of too much and too little.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from playground.analysis import regimes
from playground.config import RunConfig
from playground.runs import frontier_samples, history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, UpdateMetrics
from playground.runs.model_service import ModelService
from playground.setup import catalog
from playground.setup.describe import two_digits
from playground.ui.auth.access import Caller, Role
from playground.ui.payloads.insight import RegimesData
from playground.ui.payloads.server import DoneData, FrontierProgressData
from playground.ui.train import form

BETA = "kl.coef"
UNDER_WAY = "It is being measured already, on this page or another one."
MOST_OF_ADDRESS = 3  # at a time: each keeps the process that answers prompts, which all share, for a minute or so
NOT_MORE = "{} from your network are being measured or waiting already. Wait for one of them."
STOPPED = "Stopped; nothing was kept."
NOT_BEGUN_HERE = "This was started by another visitor; only they can stop it."


@dataclasses.dataclass
class Drawing:
    """One that is under way: who began it, how far it is ({phase, done, of}), whether it is to end."""

    caller: Caller
    progress: FrontierProgressData
    unwanted: bool = False


def functions(outputs: Path, service: ModelService) -> list[Callable[..., Any]]:
    """The server functions: one draws and answers when all is drawn and kept, one says meanwhile how far it is."""
    under_way: dict[str, Drawing] = {}  # by run
    beginning = threading.Lock()

    def refusal(run_id: str, caller: Caller) -> str:
        """Why it cannot be drawn now, by this caller."""
        if run_id in under_way:
            return UNDER_WAY
        near = [sample for sample in under_way.values() if sample.caller.visitor.address == caller.visitor.address]
        if caller.role is not Role.HOST and len(near) >= MOST_OF_ADDRESS:
            return NOT_MORE.format(len(near))
        return ""

    def draw_frontier(question: Any, caller: Caller) -> DoneData:
        """Draw for {run}: texts of its reference and its newest policy. Gives back an error, or an empty one."""
        run = history.find_run(outputs, str(form.entry(question, "run")))
        with beginning:
            if message := refusal(run.id, caller):
                return {"error": message}
            own = under_way[run.id] = Drawing(caller, {"phase": "waiting for the model", "done": 0, "of": 0})
        try:
            with contextlib.closing(frontier_samples.draw(run, service)) as drawing:
                for progress in drawing:
                    own.progress = cast(FrontierProgressData, progress)
                    if own.unwanted:
                        return {"error": STOPPED}
        finally:
            del under_way[run.id]
        return {"error": ""}

    def frontier_progress(question: Any, caller: Caller) -> FrontierProgressData:
        """How far the drawing for {run} is: {phase, done, of}, empty where nothing is drawn. With `stop` it ends, for
        who began it and for the host."""
        drawing = under_way.get(str(form.entry(question, "run")))
        if drawing is None:
            return {}
        if form.entry(question, "stop") is True:
            if caller.role is not Role.HOST and not drawing.caller.visitor.is_same(caller.visitor):
                return {"error": NOT_BEGUN_HERE}
            drawing.unwanted = True
        return drawing.progress

    return [draw_frontier, frontier_progress]


def regimes_of(config: RunConfig) -> RegimesData | None:
    """Where the KL penalty is too tight to see anything and where it is too loose to hold, for core/knob.js to mark on
    the slider of beta: {tight, loose, how}. None where beta is not read, or nothing can be said. What its reference
    scores is known from the recording of the preset."""
    if not config.reads(BETA):
        return None
    preset, record = catalog.preset_of(config), None
    if preset:
        record = _recorded(preset.name)
    if record and config.reference.source == catalog.START and _objective(record[0]) == _objective(config):
        return _as_data(record[1], config)
    return _as_data(None, config)


def regimes_in(config: RunConfig, samples: Sequence[Sample], metrics: Sequence[UpdateMetrics]) -> RegimesData | None:
    """The same from what a run itself has seen of its reference."""
    if not config.reads(BETA):
        return None
    return _as_data(regimes.measured(samples, metrics), config)


def _as_data(measured: regimes.Measured | None, config: RunConfig) -> RegimesData | None:
    if measured is None and config.score.normalise != "reference":
        return None
    bounds = regimes.regimes(measured, config.evaluation.num_prompts * config.evaluation.samples_per_prompt)
    if bounds is None or bounds.tight is None:
        return None
    return {"tight": _digits(bounds.tight), "loose": _digits(bounds.loose), "how": _how(bounds, config.score_unit)}


def _how(bounds: regimes.Regimes, unit: str) -> str:
    """How the marks come about, in words."""
    least = f"{two_digits(bounds.gain)} {unit}"
    tight = f"From {bounds.tight:.2g} on the best policy gains less than {least}, which the fixed prompts cannot tell "
    tight += "from luck."
    if bounds.nats is None:
        return f"{tight} Where it runs away is known once a run with this reward has begun."
    if bounds.loose is None:
        return (
            f"{tight} With this reward no leash is so loose that it runs away: many texts of the reference have the "
            "highest score."
        )
    return (
        f"{tight} Below {bounds.loose:.2g} it would go farther than {two_digits(bounds.nats)} nats, which is all that "
        "a text of the reference holds: the same text for everyone. Computed from scores of the reference's texts."
    )


def _objective(config: RunConfig) -> tuple[Any, ...]:
    """What the reference writes to the prompts, and what that scores."""
    limited = config.prompts, config.evaluation.num_prompts, config.evaluation.samples_per_prompt
    return config.model.source, config.reference, config.rewards, config.score, config.sampling, *limited


@functools.cache
def _recorded(preset: str) -> tuple[RunConfig, regimes.Measured | None] | None:
    """What the recording of a preset was, and what it has seen of its reference; None where there is no recording."""
    run = RunDirectory(catalog.RECORDED / preset)
    if run.config_path.is_file():
        return (run.config(), regimes.measured(run.samples(), run.metrics()))
    return None


def _digits(value: float | None) -> float | None:
    if value is None:
        return None
    return float(f"{value:.2g}")

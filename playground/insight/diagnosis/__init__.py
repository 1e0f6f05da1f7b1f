"""What is wrong with a run, if anything is: a lamp for each thing that can be, with rule, evidence, cause and remedy.

Everything comes from the records of the run, and changes no training. The command line and the page tell the lamps;
both engines have them where they have the data.
"""

from __future__ import annotations

from collections.abc import Callable

from playground.insight.diagnosis import drift_lamps, machinery_lamps, score_lamps
from playground.insight.diagnosis.lamp import Lamp, Records, Remedy

LAMPS: tuple[Callable[[Records], Lamp], ...] = (
    score_lamps.flat, score_lamps.wrong_way, score_lamps.fell_back, machinery_lamps.books,
    machinery_lamps.kl_disagrees, drift_lamps.leash, score_lamps.no_spread, drift_lamps.kl,
    machinery_lamps.not_drawn, machinery_lamps.kl_negative, drift_lamps.entropy, drift_lamps.variety,
    drift_lamps.length, drift_lamps.repetition, drift_lamps.strange, machinery_lamps.clipping,
    machinery_lamps.value_fit, machinery_lamps.gradient, machinery_lamps.reference,
    machinery_lamps.reward_read,
    score_lamps.judge_falls, score_lamps.kinds,
)  # fmt: skip
ORDER = {"red": 0, "amber": 1, "quiet": 2, "not measured": 3}


OUT = Remedy("take out what is wrong on purpose", {"faults": []})


def diagnose(records: Records) -> list[Lamp]:
    """All lamps, those that are lit first, red before amber. Settings seldom reach a planted fault, so where there is
    one, a lamp that is lit offers to do without."""
    found = [lamp(records) for lamp in LAMPS]
    if records.config.faults:
        found = [lamp._replace(remedies=(*lamp.remedies, OUT)) if ORDER[lamp.state] < 2 else lamp for lamp in found]
    return sorted(found, key=lambda lamp: ORDER[lamp.state])

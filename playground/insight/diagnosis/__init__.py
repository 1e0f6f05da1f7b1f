"""What is wrong with a run, if anything is: a lamp for each thing that can be, with rule, evidence, cause and remedy.

Everything comes from the records of the run, and changes no training. The command line and the page tell the lamps;
both engines have them where they have the data.
"""

from __future__ import annotations

from collections.abc import Callable

from playground.insight.diagnosis import drift_lamps, machinery_lamps, score_lamps
from playground.insight.diagnosis.lamp import Lamp, Records, Remedy, meant

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


def _knowing(lamp: Lamp, records: Records) -> Lamp:
    """The lamp, with the changes that were made before what it saw. After a change of the leash the KL may be on its
    way for as many updates as pass before it counts as settled."""
    if lamp.state not in ("red", "amber"):
        return lamp
    held = records.held_back(since=records.updates - int(records.at.settled))
    if lamp.name == "kl-runaway" and lamp.state == "amber" and held:
        return meant(lamp, held)
    before = [change for change in records.changes if change.update < max(lamp.updates, default=0)]
    leash = [change for change in before if change.tighter or change.looser]
    fresh = leash and leash[-1].update > records.updates - records.at.settled
    if lamp.name == "leash-off-target" and lamp.state == "amber" and fresh:
        return meant(lamp, leash[-1])
    if not before:
        return lamp
    told = "; ".join(change.told() for change in before[-3:])
    return lamp._replace(evidence=f"{lamp.evidence} Before that {told}.")


OUT = Remedy("take out what is wrong on purpose", {"faults": []})


def diagnose(records: Records) -> list[Lamp]:
    """All lamps, those that are lit first, red before amber. Settings seldom reach a planted fault, so where there is
    one, a lamp that is lit offers to do without."""
    found = [_knowing(lamp(records), records) for lamp in LAMPS]
    if records.config.faults:
        found = [lamp._replace(remedies=(*lamp.remedies, OUT)) if ORDER[lamp.state] < 2 else lamp for lamp in found]
    return sorted(found, key=lambda lamp: ORDER[lamp.state])

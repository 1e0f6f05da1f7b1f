"""What is wrong with a run, if anything is: a check for each thing that can be, with rule, evidence, cause and remedy.
`checks.toml` has a table for each, and a module beside it a function of its name."""

from __future__ import annotations

import tomllib
from pathlib import Path

from playground.analysis.diagnosis import learning_checks, machinery_checks
from playground.analysis.diagnosis.alert import Alert, Check
from playground.analysis.diagnosis.run_records import NotMeasured, Records, Remedy

WORDS = tomllib.loads(Path(__file__).with_name("checks.toml").read_text(encoding="utf-8"))
FUNCTIONS = vars(learning_checks) | vars(machinery_checks)
CHECKS: dict[str, Check] = {name: FUNCTIONS[name.replace("leash", "penalty").replace("-", "_")] for name in WORDS}
ORDER = {"red": 0, "amber": 1, "quiet": 2, "not measured": 3}
OUT = Remedy("take out what is wrong on purpose", {"faults": []})


def diagnose(records: Records) -> list[Alert]:
    """All alerts, those that are lit first, red before amber."""
    return sorted((alert(name, records) for name in WORDS), key=lambda alert: ORDER[alert.state])


def alert(name: str, records: Records) -> Alert:
    """What one check says of a run, with the settings that were changed before what it saw. Settings seldom reach a
    planted fault, so where there is one, an alert that is lit offers to do without."""
    words = WORDS[name]
    label, rule = words["label"], words["rule"].format(at=records.at)
    try:
        seen = CHECKS[name](records)
    except NotMeasured as why:
        return Alert(name, label, "not measured", rule, [], str(why))
    before = [change for change in records.changes if change.update < max(seen.updates, default=0)]
    if seen.state == "quiet":
        return Alert(name, label, "quiet", rule, [], seen.evidence)
    changed = f" Before that {'; '.join(change.in_words() for change in before[-3:])}." if before else ""
    remedies = (*seen.remedies, OUT) if records.config.faults else seen.remedies
    cause, evidence = seen.cause or words.get("cause", ""), seen.evidence + changed
    return Alert(name, label, seen.state, rule, seen.updates, evidence, cause, remedies, words["series"])

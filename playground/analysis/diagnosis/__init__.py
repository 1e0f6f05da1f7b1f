"""What is wrong with a run, if anything: one check for each thing that can be, with its rule, evidence, cause and
remedy. `checks.toml` has the words of each."""

from __future__ import annotations

import tomllib
from pathlib import Path

from playground.analysis.diagnosis import learning_checks, machinery_checks
from playground.analysis.diagnosis.alert import Alert, Check
from playground.analysis.diagnosis.run_records import NotMeasured, Records, Remedy

WORDS = tomllib.loads(Path(__file__).with_name("checks.toml").read_text(encoding="utf-8"))
CHECKS: dict[str, Check] = {
    "flat": learning_checks.flat,
    "hardly-moves": learning_checks.hardly_moves,
    "wrong-way": learning_checks.wrong_way,
    "fell-back": learning_checks.fell_back,
    "books": machinery_checks.books,
    "kl-disagrees": machinery_checks.kl_disagrees,
    "leash-off-target": learning_checks.penalty_off_target,
    "no-spread": learning_checks.no_spread,
    "groups-alike": learning_checks.groups_alike,
    "kl-runaway": learning_checks.kl_runaway,
    "not-drawn": machinery_checks.not_drawn,
    "kl-negative": machinery_checks.kl_negative,
    "entropy-gone": learning_checks.entropy_gone,
    "same-text": learning_checks.same_text,
    "length": learning_checks.length,
    "repetition": learning_checks.repetition,
    "strange-texts": learning_checks.strange_texts,
    "clipping": machinery_checks.clipping,
    "value-fit": machinery_checks.value_fit,
    "gradient": machinery_checks.gradient,
    "reference-changed": machinery_checks.reference_changed,
    "reward-misread": machinery_checks.reward_misread,
    "judge-falls": learning_checks.judge_falls,
    "disagreement": learning_checks.disagreement,
}
TRICKS = ("kl-runaway", "strange-texts", "judge-falls")  # where the score rises, what is paid is not what was meant
PAYS = {"sentiment": "it strings kind words together", "length": "it fills its texts with words"}  # by kind of reward
USUAL = "it writes what its reward pays for, and no person would write"
ORDER = {"red": 0, "amber": 1, "quiet": 2, "not measured": 3}
OUT = Remedy("remove the planted mistake", {"faults": []})


def diagnose(records: Records) -> list[Alert]:
    """All alerts, those that are lit first, red before amber."""
    return sorted((alert(name, records) for name in WORDS), key=lambda alert: ORDER[alert.state])


def alert(name: str, records: Records) -> Alert:
    """What one check says of a run, with the settings that were changed before what it saw. Settings seldom reach a
    planted fault, so where there is one, an alert that is lit offers to do without."""
    words = WORDS[name]
    label, rule = words["label"], words["rule"].format(at=records.at)
    try:
        result = CHECKS[name](records)
    except NotMeasured as why:
        return Alert(name, label, "not measured", rule, [], str(why))
    before = [change for change in records.changes if change.update < max(result.updates, default=0)]
    if result.state == "quiet":
        return Alert(name, label, "quiet", rule, [], result.evidence)
    changed = ""
    if before:
        changed = f" Before that {'; '.join(change.in_words() for change in before[-3:])}."
    remedies = result.remedies
    if records.config.faults:
        remedies = (*remedies, OUT)
    if records.config.kind == "watched":  # they were tested on runs of our own, and would be set there
        remedies = ()
    cause, evidence = result.cause or words.get("cause", ""), result.evidence + changed
    plain = words.get(f"plain_{result.state}", words["plain"])
    if name in TRICKS and (trick := _trick(records)):
        plain = f"It has found a trick: {trick}."
    return Alert(name, label, result.state, rule, result.updates, evidence, cause, remedies, words["series"], plain)


def _trick(records: Records) -> str:
    """How the policy earns more than it should, by what its reward reads; empty where it does not earn more."""
    if not records.outcome or not records.outcome.low > 0:
        return ""
    kinds = {reward.kind for reward in records.config.rewards}
    if len(kinds) == 1:
        return PAYS.get(kinds.pop(), USUAL)
    return USUAL

"""What the checks say, in a terminal: of a run of ours, and of the log of another trainer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from playground.analysis.diagnosis.alert import Alert
from playground.analysis.diagnosis.run_records import Thresholds
from playground.cli.terminal import print_json, say
from playground.imports import judging
from playground.runs.folder.records import by_name
from playground.setup.describe import count_of

SIGNS = {"red": "!!", "amber": "! ", "quiet": "ok", "not measured": "- "}
NO_MORE = (
    "A rule that is lit holds in this log. How often each rule was right, and what helped, is measured on this "
    "project's own runs only: docs/diagnosis.md."
)


def print_alerts(alerts: Sequence[Alert], *, everything: bool, as_json: bool) -> None:
    """The checks of a run."""
    if as_json:
        print_json(by_name([alert.as_data() for alert in alerts]))
        return
    lit = [alert for alert in alerts if alert.lit]
    printed, ending = alerts, "."
    if not everything:
        printed, ending = lit, "; --all shows them."
    for alert in printed:
        _print(alert)
    quiet = sum(alert.state == "quiet" for alert in alerts)
    print(f"{len(lit)} lit, {quiet} quiet, {len(alerts) - quiet - len(lit)} not measured{ending}")


def print_judged_log(
    path: Path, columns: Sequence[str], thresholds: Thresholds, *, everything: bool, as_json: bool
) -> None:
    """The checks of a log from elsewhere. What cannot be judged always says what is missing. Raises: InvalidConfig."""
    log = judging.read(path, columns)
    judgements = judging.judged(log, thresholds)
    if as_json:
        alerts = by_name([judgement.as_data() for judgement in judgements])
        rows = {"rows": len(log.metrics), "rows_left_out": log.left_out}
        print_json({"log": log.label, "columns": log.columns, **rows, "notes": log.notes, "alerts": alerts})
        return
    say(f"{path.name}: {log.label}, {count_of(len(log.metrics), 'row')}.")
    say(*(f"   {ours} from {column}" for ours, column in log.columns.items()))
    say(*(f"Note: {note}" for note in log.notes))
    listed = [
        judgement
        for judgement in judgements
        if judgement.alert.lit or (everything and judgement.alert.state == "quiet")
    ]
    for alert, measured in listed:
        _print(alert)
        say(measured and f"   measured: {measured}")
    blind = [alert for alert, _ in judgements if alert.state == "not measured"]
    if blind:
        say("Not judged:", *(f"   {alert.label} ({alert.name}): {alert.evidence}" for alert in blind))
    lit = sum(judgement.alert.lit for judgement in judgements)
    print(f"{lit} lit, {len(judgements) - lit - len(blind)} quiet, {len(blind)} not judged. {NO_MORE}")


def _print(alert: Alert) -> None:
    words = f"{alert.plain} {alert.label}".strip()
    say(f"{SIGNS[alert.state]} {words} ({alert.name}, {alert.state})")
    facts = {
        "rule": alert.rule,
        "seen": alert.evidence,
        "updates": ", ".join(map(str, alert.updates)),
        "cause": alert.cause,
        "try": "; or ".join(remedy.words for remedy in alert.remedies),
    }
    say(*(f"   {name}: {text}" for name, text in facts.items() if text))

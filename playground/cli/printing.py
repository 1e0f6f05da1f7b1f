"""What the command line prints: tables and sentences for people, JSON for programs.

Text of models, prompts and presets is data: control characters are taken out before it reaches a terminal, and it is
never read as markup. Knows records and insight; decides nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from playground.cli import terms
from playground.cli.health import Check
from playground.cli.terminal import add_row, console, number, plain
from playground.config import RunConfig, differences
from playground.exports.report import Report
from playground.insight import before_after, compute, knee, meters
from playground.insight.diagnosis import diagnose
from playground.insight.diagnosis.run_records import Records
from playground.rewards.mixture import term_names
from playground.runs.folder import end_reasons
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, Status, finite_or_null
from playground.runs.history import RunSummary
from playground.runs.model_service import GeneratedSample
from playground.runs.start import queue
from playground.runs.steer import changes
from playground.setup.estimates import Estimate
from playground.setup.telling import duration

TABLE_ROWS = 3
LOG_BYTES = 1500
UNCLEAR = ("bug", "killed", "stalled", "helper_lost")  # reasons whose cause may stand at the end of the log


def complain(text: str) -> None:
    """One message for the person, on stderr."""
    print(plain(text), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """One line of strict JSON on stdout, at once."""
    print(json.dumps(finite_or_null(value), ensure_ascii=False, allow_nan=False), flush=True)


def time_range(low: float, high: float) -> str:
    """An estimate, as the page tells it: about 20 to 35 s, about 50 s to 2 min. Two digits are more than it knows."""
    if high < 1:
        return "less than a second"
    (less, unit), (more, last) = _coarse(low), _coarse(high)
    if (less, unit) == (more, last):
        return f"about {more} {last}"
    return f"about {less} to {more} {last}" if unit == last else f"about {less} {unit} to {more} {last}"


def _coarse(seconds: float) -> tuple[int, str]:
    for most, size, unit in ((100, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < most:
            return max(1, round(seconds / size)), unit
    return round(seconds / 86_400), "days"


def print_end(run: RunDirectory, status: Status, *, as_json: bool) -> None:
    """How a run ended. The last line on stdout is the run folder, or with JSON an object that names it."""
    if as_json:
        print_json(
            {
                "type": "end",
                "run": str(run.path),
                "state": status.state,
                "reason": status.reason,
                "message": status.message,
                "outcome": _outcome(run.samples()),
                "headline": _headline(run),
                "behaviours": Report.of(run).counts(),
            }
        )
        return
    if status.message:
        complain(status.message)
    if status.state in ("failed", "interrupted"):
        unclear = status.reason in UNCLEAR or status.reason not in end_reasons.ENDS
        complain(f"The end of {run.log_path}:\n{run.log_tail(LOG_BYTES)}" if unclear else f"Its log is {run.log_path}.")
    report = Report.of(run)
    if report.wrong_on_purpose:
        complain(report.wrong_on_purpose)
    _print_sentence(report)
    _print_gains(report)
    print(run.path)


def print_started(run: RunDirectory, *, as_json: bool) -> None:
    """A run that is left to itself. The last line on stdout is the run folder."""
    place = queue.position(run)
    if as_json:
        print_json({"type": "started" if place is None else "queued", "run": str(run.path), "position": place})
        return
    if place is not None:
        complain(f"{run.id} is number {place} in the queue. The page, or any `train` that goes on here, starts it in "
                 "its turn.")  # fmt: skip
    print(run.path)


def print_runs(runs: Sequence[RunSummary], outputs: Path, *, as_json: bool) -> None:
    """The list of runs."""
    if as_json:
        rows = []
        for run in runs:
            ways = {"position": _place(run, outputs), "resumable": run.status.resumable}
            folder = RunDirectory(outputs / run.id)
            found = {
                "status": run.status.model_dump(),
                "headline": _headline(folder),
                "behaviours": [meter.ends() for meter in meters.at_ends_of(folder)],
            }
            rows.append({**run._asdict(), **found, **ways})
        print_json(rows)
        return
    if not runs:
        print(f"There are no runs in {outputs} yet. Start one: python -m playground train kinder-reviews")
        return
    table = Table("Run", "State", "Updates", "Gain", "KL", "Time", box=None, pad_edge=False)
    table.columns[0].overflow = "fold"  # in a narrow window; never cut, for people copy it
    headlines = [before_after.headline_of(RunDirectory(outputs / run.id)) for run in runs]
    for run, headline in zip(runs, headlines, strict=True):
        add_row(
            table,
            "\n".join(
                [
                    run.id,
                    " ".join(run.title.split()),
                    *filter(None, [run.wrong_on_purpose]),
                    *_changed(RunDirectory(outputs / run.id)),
                ]
            ),
            _state(run.status, _place(run, outputs)),
            f"{run.status.update} of {run.status.num_updates}",
            _gain(headline, run.unit),
            number(headline.kl if headline else None),
            duration(run.duration_seconds),
        )
    console().print(table)
    if any(map(_is_of_batches, headlines)):
        print("* from the first to the newest training batch; all others on the fixed prompts, since before training")


def print_run(run: RunDirectory, *, as_json: bool) -> None:
    """One run in full."""
    report = Report.of(run)
    config, status, metrics, samples = report.config, report.status, report.metrics, report.samples
    warnings = [event.message for event in report.events if event.kind == "warning"]
    changed = differences(config, RunConfig(rewards=config.rewards, judges=config.judges))
    if as_json:
        print_json(
            {
                "run": str(run.path),
                "title": report.title,
                "note": run.label().note,
                "status": status.model_dump(),
                "position": queue.position(run),
                "resumable": status.resumable,
                "config": config.model_dump(mode="json"),
                "last_update": metrics[-1].model_dump() if metrics else None,
                "warnings": warnings,
                "outcome": _outcome(samples),
                "headline": _headline(run),
                "told": changes.told(config, report.events),
                "wrong_on_purpose": report.wrong_on_purpose,
                "sentence": report.sentence,
                "behaviours": report.counts(),
                "expected": report.verdicts,
                "terms": terms.term_rows(samples),
                "judges": terms.verdicts(config, samples),
                "frontier": terms.score_against_kl(run, report),
                "lamps": [lamp.as_data() for lamp in diagnose(Records(config, metrics, samples, report.events))],
                "knee": report.knee._asdict(),
                "compute": _compute(report.ledger),
                "perplexity_text": report.forgetting(),
                "perplexity_reference": report.strangeness(),
            }
        )
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    add_row(table, "run", str(run.path))
    what, note = changes.told(config, report.events), run.label().note
    add_row(table, "name", report.title)
    if note:
        add_row(table, "note", note)
    if what and what != report.title:
        add_row(table, "experiment", what)
    if report.wrong_on_purpose:
        add_row(table, "careful", report.wrong_on_purpose)
    state = _state(status, queue.position(run))
    add_row(table, "state", f"{state}, update {status.update} of {status.num_updates}")
    if status.message:
        add_row(table, "", status.message)
    add_row(table, "time", duration(status.seconds_at_work()))
    add_row(table, "rewards", ", ".join(f"{reward.weight:g} x {reward.kind}" for reward in config.rewards))
    add_row(table, "changed", ", ".join(f"{name}={value}" for name, (_, value) in changed.items()) or "nothing")
    if metrics:
        batch = f"score {number(metrics[-1].score_mean, sign=True)}, KL {number(metrics[-1].kl_to_reference)} nats"
        add_row(table, "training batch", f"{batch} in the last update")
    _add_outcome(table, report)
    if config.judges:
        add_row(table, "judges", ", ".join(term_names(config.judges)))
    for warning in warnings:
        add_row(table, "warning", warning)
    console().print(table)
    _print_sentence(report)
    if words := terms.score_against_kl(run, report)["sentence"]:
        console().print(words, markup=False, highlight=False)
    terms.print_counts(report)
    terms.print_change(config, samples)
    _print_gains(report)


def _place(run: RunSummary, outputs: Path) -> int | None:
    return queue.position(RunDirectory(outputs / run.id)) if run.status.state == "queued" else None


def _state(status: Status, place: int | None) -> str:
    """The state, with the place of one that waits, and whether one that has ended can go on."""
    if place is not None:
        return f"queued, {'next' if place == 1 else f'number {place}'}"
    return f"{status.state}, resumable" if status.resumable else status.state


def _add_outcome(table: Table, report: Report) -> None:
    """The two perplexities, the knee and the compute ledger."""
    if text := report.forgetting():
        add_row(table, "text", f"perplexity on held-out text {number(text[0])} before, {number(text[1])} now")
    if strange := report.strangeness():
        told = f"perplexity of its texts to the reference {number(strange[0])} at first, {number(strange[1])} now"
        add_row(table, "strangeness", told)
    if sentence := knee.knee_sentence(report.knee):
        add_row(table, "knee", sentence)
    if report.ledger:
        add_row(table, "compute", compute.ledger_sentence(report.ledger))
        for phase in report.ledger.phases:
            counted = "" if phase.operations is None else f", {compute.operations_in_words(phase.operations)}"
            add_row(table, "", f"{phase.name}: {duration(phase.seconds)}{counted}")


def _compute(ledger: compute.Ledger | None) -> dict[str, Any] | None:
    if ledger is None:
        return None
    return {
        **ledger._asdict(),
        "phases": [phase._asdict() for phase in ledger.phases],
        "operations": ledger.operations,
    }


def print_answers(answers: Sequence[GeneratedSample]) -> None:
    """Completions of one prompt; before and after side by side where there are both."""
    sides = {(sample.side, sample.index): sample for sample in answers}
    trained = any(sample.side == "policy" for sample in answers)
    table = _table("Before", "After", "Score", "KL") if trained else _table("Completion", "Score")
    for index in sorted({sample.index for sample in answers}):
        before, after = sides.get(("reference", index)), sides.get(("policy", index))
        old, new = (number(side.score if side else None, sign=True) for side in (before, after))
        texts = [side.completion.strip() if side else "" for side in (before, after)]
        if trained:
            add_row(table, *texts, f"{old} to {new}", number(after.kl if after else None))
        else:
            add_row(table, texts[0], old)
    console().print(table)


def print_estimate(found: Estimate, *, as_json: bool) -> None:
    """What a run would need."""
    if as_json:
        print_json(found.to_json())
        return
    needs, larger, device = found.needs, found.larger, found.device
    kinds = list(dict.fromkeys(kind for sizes in needs.roles.values() for kind in sizes))
    table = Table("Role", *kinds, "GB", "if 7B", box=None, pad_edge=False)
    for role, sizes in needs.roles.items():
        cells = [f"{sizes[kind] / 1e9:.2f}" if kind in sizes else "" for kind in kinds]
        add_row(table, role, *cells, f"{needs.of(role) / 1e9:.2f}", f"{larger.of(role) / 1e9:.1f}")
    libraries = needs.libraries / 1e9
    add_row(table, "libraries", *[""] * len(kinds), f"{libraries:.2f}", f"{libraries:.1f}")
    console().print(table)
    print(
        f"{found.total / 1e9:.1f} GB at the fullest moment ({needs.moment}); {device.label} ({device.name}) has "
        f"{device.free_bytes / 1e9:.1f} of {device.total_bytes / 1e9:.1f} GB free."
    )
    if len(found.places) > 1:
        where = ", ".join(dict.fromkeys(found.places))
        print(f"{len(found.places)} processes compute it, on {where}: each of them holds what the table shows.")
    print(
        f"With a model of 7 billion weights the same settings would need {larger.total / 1e9:.0f} GB ({larger.moment})."
    )
    if found.seconds_per_update and found.seconds:
        update, run = time_range(*found.seconds_per_update), time_range(*found.seconds)
        print(f"Time: {update} an update, {run} in all, as your last runs of this model took.")
    else:
        print("Time: not known until a run or a trial (`python -m playground try`) of this model has been made here.")
    if found.download:
        gated = "; gated: its terms must be accepted on its page" if found.download.gated else ""
        print(f"To download first: {plain(found.download.source)}, {found.download.mb:.0f} MB, licence "
              f"{plain(found.download.licence)}{gated}.")  # fmt: skip
    print(f"{found.verdict.capitalize()}. {found.advice}".strip())


def print_checks(checks: Sequence[Check], *, as_json: bool) -> None:
    """What the doctor found."""
    if as_json:
        failed = any(check.level == "fail" for check in checks)
        print_json({"ok": not failed, "checks": [check._asdict() for check in checks]})
        return
    for check in checks:
        print(plain(f"{check.level:4}  {check.name}: {check.found}"))
        if check.remedy:
            print(plain(f"      -> {check.remedy}"))


def _print_sentence(report: Report) -> None:
    if report.sentence:
        print(plain(report.sentence))


def _print_gains(report: Report) -> None:
    if report.outcome is None:
        return
    best = sorted(
        (pair for pair in report.pairs if pair.gain is not None), key=lambda pair: pair.gain or 0.0, reverse=True
    )
    table = _table("Prompt", "Before", "After", "Score", "KL")
    for before, after in best[:TABLE_ROWS]:
        scores = f"{number(before.score, sign=True)} to {number(after.score, sign=True)}"
        add_row(table, before.prompt, before.completion.strip(), after.completion.strip(), scores, number(after.kl))
    print("The largest gains:")
    console().print(table)


def _outcome(samples: Sequence[Sample]) -> dict[str, Any] | None:
    found = before_after.outcome(before_after.pairs(samples))
    return found._asdict() if found else None


def _headline(run: RunDirectory) -> dict[str, Any] | None:
    found = before_after.headline_of(run)
    return found._asdict() if found else None


def _changed(run: RunDirectory) -> list[str]:
    return [meters.told(meter) for meter in meters.at_ends_of(run) if meter.change][: meters.MOST_TOLD]


def _gain(found: before_after.Headline | None, unit: str) -> str:
    if found is None:
        return "-"
    return f"{number(found.gain, sign=True)}{'' if unit == 'sd' else f' {unit}'}{'*' if _is_of_batches(found) else ''}"


def _is_of_batches(found: before_after.Headline | None) -> bool:
    return found is not None and found.source == "training batch"


def _table(*headings: str) -> Table:
    """A table whose columns of figures stay whole and whose columns of text share the rest."""
    table = Table(show_lines=True)
    for heading in headings:
        figures = heading in ("Score", "KL")
        table.add_column(heading, no_wrap=figures, ratio=None if figures else 1, overflow="fold")
    return table

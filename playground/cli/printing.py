"""What the command line says about runs: tables and sentences for people, JSON for programs.

Knows records and analysis; decides nothing. How a table looks is `terminal`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playground.analysis import against_kl, before_after, compute, judging, meters, plateau
from playground.analysis.diagnosis import diagnose
from playground.analysis.diagnosis.run_records import Records
from playground.analysis.intervals import Interval
from playground.analysis.over_seeds import in_words
from playground.analysis.path import path_of
from playground.cli import following
from playground.cli.terminal import complain, console, number, print_json, print_table, say, time_range
from playground.config import RunConfig, differences
from playground.data import dialogues
from playground.exports.report import COUNTS, Report
from playground.rewards.mixture import term_names
from playground.runs import frontier_samples, queue
from playground.runs.folder import changes, exit_reasons
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, Status
from playground.runs.history import RunSummary
from playground.runs.launched import BY_HAND
from playground.runs.model_service import GeneratedSample
from playground.setup.describe import duration
from playground.setup.estimates import GB, Estimate

TABLE_ROWS = 3
ROLES = {"scores": "trained on", "judges": "monitor"}
BESIDE = ("Before", "After", "Score", "KL")
Answer = Sample | GeneratedSample


def print_end(run: RunDirectory, status: Status, *, as_json: bool) -> None:
    """How a run ended. The last line on stdout is the run folder, or with JSON an object that names it."""
    report = Report.of(run)
    if as_json:
        ended = status.model_dump(include={"state", "reason", "message"})
        print_json({"type": "end", "run": str(run.path), **ended, **_come_to(run, report)})
        return
    if status.message:
        complain(status.message)
    if status.state in ("failed", "interrupted"):
        complain(following.log_hint(run, status))
    if report.wrong_on_purpose:
        complain(report.wrong_on_purpose)
    say(report.sentence)
    _print_gains(report)
    print(run.path)


def print_started(run: RunDirectory, *, as_json: bool) -> None:
    """A run that is left to itself. The last line on stdout is the run folder."""
    position = queue.position(run)
    if as_json:
        print_json({"type": "started" if position is None else "queued", "run": str(run.path), "position": position})
        return
    if queue.slot_held(run) == BY_HAND:
        complain(f"{run.id} waits until its processes are started by hand (docs/scale.md).")
    elif position is not None:
        complain(f"{run.id} is number {position} in the queue. The page, or any `train` here, starts it in its turn.")
    print(run.path)


def print_runs(runs: Sequence[RunSummary], outputs: Path, *, as_json: bool) -> None:
    """The list of runs."""
    folders = [RunDirectory(outputs / run.id) for run in runs]
    if as_json:
        print_json([_run_data(run, folder) for run, folder in zip(runs, folders, strict=True)])
        return
    if not runs:
        print(f"There are no runs in {outputs} yet. Start one: python -m playground train kinder-reviews")
        return
    rows = []
    for run, folder in zip(runs, folders, strict=True):
        found = before_after.headline_of(folder)
        if found is not None and found.source == "training batch":
            found = None  # which says less than the fixed prompts do
        unit = "" if run.unit == "sd" else f" {run.unit}"
        gain = f"{number(found.gain, sign=True)}{unit}" if found else "-"
        changed = [meters.in_words(meter) for meter in meters.at_ends_of(folder) if meter.change][: meters.MOST_LISTED]
        named = [run.id, " ".join(run.title.split()), run.wrong_on_purpose, *changed]
        far = f"{run.status.update} of {run.status.num_updates}"
        kl, time = number(found.kl if found else None), duration(run.duration_seconds)
        rows.append(("\n".join(filter(None, named)), _state(run.status, folder), far, gain, kl, time))
    print_table(rows, "Run", "State", "Updates", "Gain", "KL", "Time")


def _run_data(run: RunSummary, folder: RunDirectory) -> dict[str, Any]:
    headline = before_after.headline_of(folder)
    return {
        **run._asdict(),
        "status": run.status.model_dump(),
        "headline": headline and headline._asdict(),
        "behaviours": [meter.ends() for meter in meters.at_ends_of(folder)],
        "position": queue.position(folder) if run.status.state == "queued" else None,
        "resumable": run.status.resumable,
    }


def print_run(run: RunDirectory, *, as_json: bool) -> None:
    """One run in full."""
    report = Report.of(run)
    if as_json:
        print_json(_report_data(run, report))
        return
    print_table(row for row in _facts(run, report) if row[1])
    say(report.sentence)
    if sentence := score_against_kl(run, report)["sentence"]:
        console().print(sentence)
    if counts := report.counts_in_words():
        known = COUNTS if report.verdicts else COUNTS[:-1]
        print_table((row[: len(known)] for row in counts), *known, figures_from=1)
    if len(terms := _terms(report)) > 1:
        sides = [(role, one, in_words(one.change, sign=True)) for role, one in terms]
        rows = [(one.name, role, number(one.before), number(one.after), change) for role, one, change in sides]
        print_table(rows, "Reward", "Role", "Before", "After", "Change, own sd", figures_from=2)
    say(*judge_verdicts(report))
    _print_gains(report)


def _report_data(run: RunDirectory, report: Report) -> dict[str, Any]:
    config, status, metrics, ledger = report.config, report.status, report.metrics, report.ledger
    phases = {"phases": [phase._asdict() for phase in ledger.phases], "operations": ledger.operations} if ledger else {}
    return {
        "run": str(run.path),
        "title": report.title,
        "note": run.label().note,
        "status": status.model_dump(),
        "position": queue.position(run),
        "resumable": status.resumable,
        "config": config.model_dump(mode="json"),
        "last_update": metrics[-1].model_dump() if metrics else None,
        "warnings": _warnings(report),
        "told": changes.in_words(config, report.events),
        "wrong_on_purpose": report.wrong_on_purpose,
        "sentence": report.sentence,
        **_come_to(run, report),
        "expected": report.verdicts,
        "terms": [one._asdict() | {"role": role, "change": _change_data(one.change)} for role, one in _terms(report)],
        "judges": judge_verdicts(report),
        "frontier": score_against_kl(run, report),
        "lamps": [lamp.as_data() for lamp in diagnose(Records(config, metrics, report.samples, report.events))],
        "knee": report.plateau._asdict(),
        "compute": {**ledger._asdict(), **phases} if ledger else None,
        "perplexity_text": report.forgetting(),
        "perplexity_reference": report.strangeness(),
    }


def _facts(run: RunDirectory, report: Report) -> Iterator[tuple[str, str]]:
    """What `show` lists: names and values, some of them empty."""
    config, status, metrics = report.config, report.status, report.metrics
    yield from (("run", str(run.path)), ("name", report.title), ("note", run.label().note))
    what = changes.in_words(config, report.events)
    yield "experiment", what if what != report.title else ""
    yield "careful", report.wrong_on_purpose
    yield "state", f"{_state(status, run)}, update {status.update} of {status.num_updates}"
    if status.state in ("failed", "interrupted"):
        end = exit_reasons.reason_of(status.reason)
        yield from (("why", end.title), ("", status.message), ("what to do", end.remedy), ("log", str(run.log_path)))
    else:
        yield "", status.message
    yield "time", duration(status.seconds_at_work())
    yield "rewards", ", ".join(f"{reward.weight:g} x {reward.kind}" for reward in config.rewards)
    usual = RunConfig(rewards=config.rewards, judges=config.judges)
    changed = differences(config, usual).items()
    yield "changed", ", ".join(f"{name}={value}" for name, (_, value) in changed) or "nothing"
    if metrics:
        score, kl = number(metrics[-1].score_mean, sign=True), number(metrics[-1].kl_to_reference)
        yield "training batch", f"score {score}, KL {kl} nats in the last update"
    if found := report.forgetting():
        yield "text", "perplexity on held-out text {} before, {} now".format(*map(number, found))
    if found := report.strangeness():
        yield (
            "strangeness",
            "perplexity of its texts under the reference {} at first, {} now".format(*map(number, found)),
        )
    yield "knee", plateau.plateau_sentence(report.plateau)
    if report.ledger:
        yield "compute", compute.ledger_sentence(report.ledger)
    yield "judges", ", ".join(term_names(config.judges))
    yield from (("warning", warning) for warning in _warnings(report))


def _warnings(report: Report) -> list[str]:
    return [event.message for event in report.events if event.kind == "warning"]


def _come_to(run: RunDirectory, report: Report) -> dict[str, Any]:
    headline = before_after.headline_of(run)
    outcome = report.outcome and report.outcome._asdict()
    return {"outcome": outcome, "headline": headline and headline._asdict(), "behaviours": report.counts()}


def _state(status: Status, run: RunDirectory) -> str:
    """The state, with the position of one that waits, and whether one that has ended can go on."""
    position = queue.position(run) if status.state == "queued" else None
    if position is not None:
        return f"queued, {'next' if position == 1 else f'number {position}'}"
    return f"{status.state}, resumable" if status.resumable else status.state


def _terms(report: Report) -> list[tuple[str, judging.RewardRow]]:
    """Each reward and judge before and after, with the paired change in sd, and its role."""
    return [(role, row) for source, role in ROLES.items() for row in judging.rows(report.pairs, source)]


def judge_verdicts(report: Report) -> list[str]:
    """What each monitor says of the run so far, as sentences."""
    signs, found = judging.signs_of(report.config), judging.judged_of(report.config, report.samples)
    labels = {name: f"Judge {name}{' (less is better)' if sign < 0 else ''}" for name, sign in signs.items()}
    return [judging.verdict(found, name, label) for name, label in labels.items()] if found else []


def score_against_kl(run: RunDirectory, report: Report) -> dict[str, Any]:
    """The evaluations of a run, and what texts that were drawn for it show to be possible."""
    drawn, beta = frontier_samples.read(run), against_kl.final_beta(report.config, report.metrics)
    found = against_kl.possible(drawn, beta) if drawn else None
    return against_kl.as_data(path_of(report.samples, report.events), found)


def _print_gains(report: Report) -> None:
    """The pairs with the largest gains."""
    gaining = [pair for pair in report.pairs if (pair.gain or 0.0) > 0]
    best = sorted(gaining, key=lambda pair: pair.gain or 0.0, reverse=True)[:TABLE_ROWS]
    if report.outcome is None or not best:
        return
    print("The largest gains:")
    print_table(
        [(dialogues.for_reading(pair.before.prompt), *_beside(*pair)) for pair in best], "Prompt", *BESIDE, framed=True
    )


def print_answers(answers: Sequence[GeneratedSample]) -> None:
    """Completions of one prompt; before and after side by side where there are both."""
    before, after = ({one.index: one for one in answers if one.side == side} for side in ("reference", "policy"))
    if after:
        rows = [_beside(before.get(at), after.get(at)) for at in sorted({**before, **after})]
        print_table(rows, *BESIDE, framed=True)
    else:
        alone = [(one.completion.strip(), number(one.score, sign=True)) for _, one in sorted(before.items())]
        print_table(alone, "Completion", "Score", framed=True)


def _beside(before: Answer | None, after: Answer | None) -> tuple[str, ...]:
    """Two answers to a prompt, of which one may be missing, as cells below `BESIDE`."""
    texts = (side.completion.strip() if side else "" for side in (before, after))
    old, new = (number(side.score if side else None, sign=True) for side in (before, after))
    return *texts, f"{old} to {new}", number(after.kl if after else None)


def gigabytes(size: float | None) -> str:
    """Bytes for reading; empty for none."""
    return "" if size is None else f"{size / GB:.2f}"


def print_estimate(found: Estimate, *, as_json: bool) -> None:
    """What a run would need."""
    if as_json:
        print_json(found.to_json())
        return
    needs, larger, device = found.needs, found.larger, found.device
    kinds = list(dict.fromkeys(kind for sizes in needs.roles.values() for kind in sizes))
    rows = [
        (role, *(gigabytes(sizes.get(kind)) for kind in kinds), gigabytes(needs.of(role)), gigabytes(larger.of(role)))
        for role, sizes in needs.roles.items()
    ]
    print_table(rows, "Role", *kinds, "GB", "if 7B")
    free = f"{gigabytes(device.free_bytes)} of {gigabytes(device.total_bytes)} GB free"
    held = f"{gigabytes(found.total)} GB at the fullest moment ({needs.moment}), libraries included"
    print(f"{held}; {device.label} ({device.name}) has {free}.")
    if len(found.places) > 1:
        where = ", ".join(dict.fromkeys(found.places))
        print(f"{len(found.places)} processes compute it, on {where}: each of them holds what the table shows.")
    print(f"With a model of 7 billion weights: {gigabytes(larger.total)} GB ({larger.moment}).")
    if found.seconds_per_update and found.seconds:
        update, whole = time_range(*found.seconds_per_update), time_range(*found.seconds)
        print(f"Time: {update} an update, {whole} in all, as your last runs of this model took.")
    else:
        print("Time: not known until a run or a trial (`train --try`) of this model has been made here.")
    if found.download:
        gated = "; gated: its terms must be accepted on its page" if found.download.gated else ""
        size, licence = f"{found.download.mb:.0f} MB", f"licence {found.download.licence}{gated}"
        say(f"To download first: {found.download.source}, {size}, {licence}.")
    print(f"{found.verdict.capitalize()}. {found.advice}".strip())


def _change_data(found: Interval | None) -> dict[str, Any] | None:
    return found and {"mean": found.mean, "error": found.error, "num_prompts": found.units}

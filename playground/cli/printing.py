"""What the command line says about runs: tables and sentences for people, JSON for programs.

Knows records and analysis; decides nothing. How a table looks is `terminal`'s business.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playground.analysis import against_kl, judging, meters
from playground.analysis.over_seeds import in_words
from playground.analysis.run_figures import FIGURES, FigureValue, ListedRun, RunFigure
from playground.analysis.run_report import Ends, RunReport
from playground.cli import following
from playground.cli.terminal import complain, number, print_json, print_table, say, time_range
from playground.config import from_defaults
from playground.data import dialogues
from playground.rewards.mixture import term_names
from playground.runs import frontier_samples, queue
from playground.runs.folder import exit_reasons
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, Status, by_name
from playground.runs.launched import BY_HAND
from playground.runs.model_service import GeneratedSample
from playground.setup.describe import duration
from playground.setup.estimates import Estimate

TABLE_ROWS = 3
USUAL_NOTES = ("", "sd", "nats")  # which are not said
BESIDE = ("Before", "After", "Score", "KL")
Answer = Sample | GeneratedSample


def print_end(run: RunDirectory, status: Status, *, as_json: bool) -> None:
    """How a run ended. The last line on stdout is the run folder, or with JSON an object that names it."""
    report = RunReport.of(run)
    if as_json:
        ended = status.model_dump(include={"state", "reason", "message"})
        print_json(by_name({"type": "end", "run": str(run.path), **ended, **_outcome_data(report)}))
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


def print_runs(runs: Sequence[ListedRun], outputs: Path, *, as_json: bool) -> None:
    """The list of runs, with the figures that came of them."""
    if as_json:
        print_json(by_name([_listed_data(run, outputs) for run in runs]))
        return
    if not runs:
        print(f"There are no runs in {outputs} yet. Start one: python -m playground train kinder-reviews")
        return
    columns = [figure for figure in FIGURES if figure.is_outcome]
    rows = []
    for listed in runs:
        run, status = listed.row, listed.status
        changed = [meters.in_words(ends) for ends in run.behaviours if ends.change][: meters.MOST_LISTED]
        names = [run.id, " ".join(run.title.split()), run.wrong_on_purpose, *changed]
        state = _state(status, RunDirectory(outputs / run.id))
        done = f"{status.update} of {status.num_updates}"
        figures = [_cell(figure, run.figures[figure.key]) for figure in columns]
        rows.append(("\n".join(filter(None, names)), state, done, *figures))
    print_table(rows, "Run", "State", "Updates", *(figure.short or figure.title for figure in columns))


def _cell(figure: RunFigure, value: FigureValue) -> str:
    """A figure for reading, in the usual unit or with its own."""
    if not isinstance(value.value, (int, float)):
        return value.value or "-"
    if figure.kind == "seconds":
        return duration(value.value)
    words = number(value.value, sign=figure.kind == "signed")
    if value.note in USUAL_NOTES:
        return words
    return f"{words} {value.note}"


def _listed_data(run: ListedRun, outputs: Path) -> dict[str, Any]:
    figures = {key: value.value for key, value in run.row.figures.items()}
    status = _status_data(run.status, RunDirectory(outputs / run.row.id))
    return {**run.row._asdict(), **figures, **status, "headline": run.headline}


def _status_data(status: Status, run: RunDirectory) -> dict[str, Any]:
    return {"status": status, "position": queue.position(run), "resumable": status.resumable}


def print_run(run: RunDirectory, *, as_json: bool) -> None:
    """One run in full."""
    report = RunReport.of(run)
    if as_json:
        print_json(by_name(_report_data(run, report)))
        return
    print_table(row for row in _facts(run, report) if row[1])
    say(report.sentence, score_against_kl(run, report)["sentence"])
    if counts := report.counts_in_words():
        print_table(counts, *report.count_columns, figures_from=1)
    if passes := report.passes_in_words():
        print_table(passes, *report.pass_columns, figures_from=1)
    if len(report.reward_rows) > 1:
        rows = [
            (row.name, row.role, number(row.before), number(row.after), in_words(row.change, sign=True))
            for row in report.reward_rows
        ]
        print_table(rows, "Reward", "Role", "Before", "After", "Change, own sd", figures_from=2)
    say(*judge_verdicts(report))
    _print_gains(report)


def _report_data(run: RunDirectory, report: RunReport) -> dict[str, Any]:
    return {
        "run": str(run.path),
        "title": report.title,
        "note": report.label.note,
        **_status_data(report.status, run),
        "config": report.config.as_data(),
        "last_update": next(reversed(report.metrics), None),
        "warnings": report.warnings,
        "experiment": report.experiment,
        "wrong_on_purpose": report.wrong_on_purpose,
        "sentence": report.sentence,
        **_outcome_data(report),
        "expected": report.verdicts,
        "terms": report.reward_rows,
        "judges": judge_verdicts(report),
        "frontier": score_against_kl(run, report),
        "checks": [alert.as_data() for alert in report.checks],
        "plateau": report.plateau,
        "compute": report.ledger and {**report.ledger._asdict(), "operations": report.ledger.operations},
        "perplexity_text": report.forgetting,
        "perplexity_reference": report.strangeness,
    }


def _outcome_data(report: RunReport) -> dict[str, Any]:
    return {
        "outcome": report.outcome,
        "headline": report.headline,
        "behaviours": report.counts(),
        "passes": report.passes,
    }


def _facts(run: RunDirectory, report: RunReport) -> Iterator[tuple[str, str]]:
    """What `show` lists: names and values, some of them empty."""
    config, status = report.config, report.status
    yield from (("run", str(run.path)), ("name", report.title), ("note", report.label.note))
    if report.experiment != report.title:
        yield "experiment", report.experiment
    yield "careful", report.wrong_on_purpose
    yield "state", f"{_state(status, run)}, update {status.update} of {status.num_updates}"
    if status.state in ("failed", "interrupted"):
        end = exit_reasons.reason_of(status.reason)
        yield from (("why", end.title), ("", status.message), ("what to do", end.remedy), ("log", str(run.log_path)))
    else:
        yield "", status.message
    yield "time", duration(status.seconds_at_work())
    yield "rewards", ", ".join(f"{reward.weight:g} x {reward.kind}" for reward in config.rewards)
    head = "known" if config.kind == "watched" else "changed"
    yield head, ", ".join(f"{name}={value}" for name, (_, value) in from_defaults(config).items()) or "nothing"
    if report.metrics:
        last = report.metrics[-1]
        score, kl = number(last.score_mean, sign=True), number(last.kl_to_reference)
        yield "training batch", f"score {score}, KL {kl} nats in the last update"
    yield "text", _perplexity("on held-out text {} before, {} now", report.forgetting)
    yield "strangeness", _perplexity("of its texts under the reference {} at first, {} now", report.strangeness)
    yield "plateau", report.plateau_sentence
    yield "compute", report.cost
    yield "judges", ", ".join(term_names(config.judges))
    yield from (("warning", warning) for warning in report.warnings)


def _perplexity(words: str, ends: Ends | None) -> str:
    if ends:
        return f"perplexity {words}".format(*map(number, ends))
    return ""


def _state(status: Status, run: RunDirectory) -> str:
    """The state, with the position of one that waits, and whether one that has ended can go on."""
    position = None
    if status.state == "queued":
        position = queue.position(run)
    if position == 1:
        return "queued, next"
    if position is not None:
        return f"queued, number {position}"
    if status.resumable:
        return f"{status.state}, resumable"
    return status.state


def judge_verdicts(report: RunReport) -> list[str]:
    """What each monitor says of the run so far, as sentences."""
    if report.judged is None:
        return []
    signs = judging.signs_of(report.config)
    labels = {name: f"Judge {name}{' (less is better)' if sign < 0 else ''}" for name, sign in signs.items()}
    return [judging.verdict(report.judged, name, label) for name, label in labels.items()]


def score_against_kl(run: RunDirectory, report: RunReport) -> dict[str, Any]:
    """The evaluations of a run, and what texts that were drawn for it show to be possible."""
    drawn = frontier_samples.read(run)
    drawn_possible = None
    if drawn:
        drawn_possible = against_kl.possible(drawn, report.final_beta)
    possible = drawn_possible and {
        **drawn_possible._asdict(),
        "trusted": len(against_kl.trusted(drawn_possible.optimum)),
    }
    sentence = against_kl.sentence(report.path, drawn_possible)
    return {"evaluations": report.path, "possible": possible, "sentence": sentence}


def _print_gains(report: RunReport) -> None:
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
    before, after = (
        {answer.index: answer for answer in answers if answer.side == side} for side in ("reference", "policy")
    )
    if after:
        rows = [_beside(before.get(at), after.get(at)) for at in sorted({**before, **after})]
        print_table(rows, *BESIDE, framed=True)
    else:
        alone = [(answer.completion.strip(), number(answer.score, sign=True)) for _, answer in sorted(before.items())]
        print_table(alone, "Completion", "Score", framed=True)


def _beside(before: Answer | None, after: Answer | None) -> tuple[str, ...]:
    """Two answers to a prompt, of which one may be missing, as cells below `BESIDE`."""
    old_text, old_score = _text_and_score(before)
    new_text, new_score = _text_and_score(after)
    return old_text, new_text, f"{old_score} to {new_score}", number(after.kl if after else None)


def _text_and_score(answer: Answer | None) -> tuple[str, str]:
    if answer is None:
        return "", number(None)
    return answer.completion.strip(), number(answer.score, sign=True)


def gigabytes(size: float | None) -> str:
    """Gigabytes for reading; empty for none."""
    if size is None:
        return ""
    return f"{size:.2f}"


def print_estimate(estimate: Estimate, *, as_json: bool) -> None:
    """What a run would need."""
    if as_json:
        print_json(dataclasses.asdict(estimate))
        return
    larger, device = estimate.larger, estimate.device
    kinds = list(dict.fromkeys(kind for role in estimate.roles for kind in role.kinds_gb))
    rows = [
        (
            role.role,
            *(gigabytes(role.kinds_gb.get(kind)) for kind in kinds),
            gigabytes(role.total_gb),
            gigabytes(larger.roles_gb.get(role.role, 0.0)),
        )
        for role in estimate.roles
    ]
    print_table(rows, "Role", *kinds, "GB", "if 7B")
    free = f"{gigabytes(device.free_gb)} of {gigabytes(device.total_gb)} GB free"
    moment = f"{gigabytes(estimate.total_gb)} GB at the fullest moment ({estimate.fullest_moment}), libraries included"
    print(f"{moment}; {device.label} ({device.name}) has {free}.")
    if len(estimate.places) > 1:
        where = ", ".join(dict.fromkeys(estimate.places))
        print(f"{len(estimate.places)} processes compute it, on {where}: each of them holds what the table shows.")
    print(f"With a model of 7 billion weights: {gigabytes(larger.total_gb)} GB ({larger.fullest_moment}).")
    if estimate.seconds_per_update and estimate.seconds:
        update, whole = time_range(*estimate.seconds_per_update), time_range(*estimate.seconds)
        print(f"Time: {update} an update, {whole} in all, as your last runs of this model took.")
    else:
        print("Time: not known until a run or a trial (`train --try`) of this model has been made here.")
    if estimate.download:
        size, licence = f"{estimate.download.mb:.0f} MB", f"licence {estimate.download.licence}"
        if estimate.download.gated:
            licence += "; gated: its terms must be accepted on its page"
        say(f"To download first: {estimate.download.source}, {size}, {licence}.")
    print(f"{estimate.verdict.capitalize()}. {estimate.advice}".strip())

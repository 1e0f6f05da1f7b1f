"""What the command `sweep` prints: the list of sweeps, the table of one, and both as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.analysis import over_seeds
from playground.analysis.intervals import Interval
from playground.analysis.over_seeds import NO_INTERVAL, SettingRow, in_words, share_in_words
from playground.cli.terminal import complain, print_json, print_table, say
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_progress import SweepProgress, progress_of
from playground.runs.sweeps.sweep_record import SEED, Sweep
from playground.setup import describe

MOST_BEHAVIOURS = 2  # columns; --json has all


def print_list(outputs: Path, sweeps: Sequence[Sweep], *, as_json: bool) -> None:
    """A line for each sweep."""
    if as_json:
        print_json([_facts(outputs, sweep) for sweep in sweeps])
    elif not sweeps:
        complain(f"There are no sweeps in {outputs}. `sweep PRESET --vary kl.coef=0.1,0.25` starts one.")
    else:
        rows = [(sweep.name, sweep.preset, _varies(sweep), _how_far(outputs, sweep).words) for sweep in sweeps]
        print_table(rows, "Sweep", "Of", "Varies", "How far")


def print_sweep(outputs: Path, sweep: Sweep, *, as_json: bool) -> None:
    """How far it is, and the table: setting x outcome."""
    if as_json:
        print_json({**_facts(outputs, sweep), "table": _table_data(outputs, sweep)})
        return
    say(f"{sweep.name}: {sweep.preset}, {_varies(sweep)}. {_how_far(outputs, sweep).words}.")
    _print_outcomes(outputs, sweep)
    for run in sweep_record.runs_of(outputs, sweep):
        status = run.status()
        if status.state in ("failed", "interrupted"):
            say(f"{run.id} {status.state}: {status.message}")


def print_started(sweep: Sweep, outputs: Path, *, as_json: bool) -> None:
    """A sweep that is left to itself. The last line on stdout is its name."""
    if as_json:
        print_json({"type": "started", **_facts(outputs, sweep)})
        return
    complain(f"{_how_far(outputs, sweep).words}. The page, or any `train` that goes on here, starts those that wait.")
    print(sweep.name)


def print_end(outputs: Path, sweep: Sweep, state: str, *, as_json: bool) -> None:
    """How a sweep ended. The last line on stdout is its name, or with JSON an object that names it."""
    if as_json:
        data = {**_facts(outputs, sweep), "state": state, "table": _table_data(outputs, sweep)}
        print_json({"type": "end", **data})
        return
    print_sweep(outputs, sweep, as_json=False)
    print(sweep.name)


def _print_outcomes(outputs: Path, sweep: Sweep) -> None:
    """What became of each setting, as means over seeds, and how to read that."""
    rows = _rows(outputs, sweep)
    configs = sweep.setting_configs([row.setting.runs[0] for row in rows])
    unit = configs[0].score_unit if configs else "sd"
    shares = list(dict.fromkeys(words for row in rows for words in row.shares))[:MOST_BEHAVIOURS]
    headings = [*(sweep.settings or ["setting"]), "Finished", f"Score, {unit}", "KL, nats"]
    cells = [
        [
            *([describe.in_words(field, value) for field, value in row.setting.values.items()] or ["all"]),
            f"{row.finished} of {len(row.setting.runs)}",
            in_words(row.gain, sign=True),
            in_words(row.kl),
            *(share_in_words(row.shares.get(words)) for words in shares),
        ]
        for row in rows
    ]
    print_table(cells, *headings, *(f"{words}, %" for words in shares))
    if len(sweep.vary.get(SEED, [0])) < 2:
        say(f"Score: gain on the fixed prompts. {NO_INTERVAL}.")
    else:
        alone = f"; {NO_INTERVAL}" if any(row.finished == 1 for row in rows) else ""
        ranges = ", shares with all of it" if shares else ""
        say(
            "Score: gain on the fixed prompts. Means over finished seeds \u00b1 half the 95 % interval (Student's t)"
            f"{ranges}{alone}."
        )
    say(describe.scores_differ(configs) if configs else "")


def _varies(sweep: Sweep) -> str:
    """For reading: "kl.coef 0.1, 0.25; seed 0, 1, 2"."""
    return "; ".join(
        f"{field} {', '.join(describe.in_words(field, value) for value in values)}"
        for field, values in sweep.vary.items()
    )


def _how_far(outputs: Path, sweep: Sweep) -> SweepProgress:
    return progress_of(sweep, sweep_record.statuses(outputs, sweep))


def _facts(outputs: Path, sweep: Sweep) -> dict[str, Any]:
    found = _how_far(outputs, sweep)
    asked = {name: getattr(sweep, name) for name in ("preset", "vary", "on", "created_at")}
    runs = [str(outputs / run_id) for run_id in sweep.runs]
    return {"sweep": sweep.name, **asked, "runs": runs, "state": found.state, **found._asdict()}


def _rows(outputs: Path, sweep: Sweep) -> list[SettingRow]:
    finished = [run for run in sweep_record.runs_of(outputs, sweep) if run.status().state == "finished"]
    return over_seeds.rows(sweep, {run.id: end for run in finished if (end := over_seeds.end_of(run))})


def _table_data(outputs: Path, sweep: Sweep) -> list[dict[str, Any]]:
    return [
        {
            "setting": row.setting.values,
            "runs": row.setting.runs,
            "finished": row.finished,
            "score": _interval_data(row.gain),
            "kl": _interval_data(row.kl),
            **{f"share of: {words}": _interval_data(one) for words, one in row.shares.items()},
        }
        for row in _rows(outputs, sweep)
    ]


def _interval_data(found: Interval | None) -> dict[str, Any] | None:
    return found and {"mean": found.mean, "half": found.half, "seeds": found.units}

"""Plant every fault on three seeds, and see which alerts are lit; write the tables of docs/diagnosis.md: `make
diagnosis`. Beside them are healthy presets, and the remedies that alerts offer, tried."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench import tables
from bench.experiments import Cell, Figures, Row, machine, options, run_of
from playground.analysis.diagnosis import diagnose
from playground.analysis.diagnosis.run_records import Records
from playground.config.faults import FAULTS
from playground.lessons.mysteries import MISTAKES
from playground.runs.folder.directory import RunDirectory

BEGIN, END = "<!-- lamps -->", "<!-- end of lamps -->"
LAMP_OF = {str(fault): mistake.lamp for fault, mistake in MISTAKES.items()}
SETTINGS = {
    "chapter-controller": ["kl.controller=ziegler", "kl.target=4", "kl.horizon=500"],
    "no-clip": ["ppo.num_updates=15"],  # of 16 epochs
    "reward-format": ["ppo.num_updates=20"],
}
PRESETS = {"reward-format": "agreeable-thumbs"}  # whose reward is learned
PRESET = "kinder-reviews"
REMEDIED = {  # whose remedies are tried, and of which alert
    "no-clip": LAMP_OF["no-clip"],
    "chapter-controller": LAMP_OF["chapter-controller"],
    "no-leash": "kl-runaway",
    "chatterbox": "length",
}
LIT = ("amber", "red")
HEALTHY = ("kinder-reviews", "short-leash", "yes-man", "honest-friend", "no-leash", "chatterbox")
NAMES = [*FAULTS, *HEALTHY]
NO_SETTINGS = {"fork_at", "rewards+"}  # changes of a remedy that are not settings from a run's start


def main() -> None:
    """Run, look, write."""
    arguments = options(__doc__).parse_args()
    figures = Figures("diagnosis")
    cells = [cell_of(name, seed) for seed in arguments.seeds for name in NAMES]
    figures.measure(cells, facts, arguments)
    old = {(row["run"], row["seed"]) for row in figures.data.get("remedies", [])}
    wishes = [(name, seed) for seed in arguments.seeds for name in REMEDIED]
    missing = [wish for wish in wishes if arguments.again or wish not in old]

    def outcomes(wish: tuple[str, int]) -> list[Row]:
        return list(remedies_of(*wish, arguments.outputs))

    with ThreadPoolExecutor(arguments.jobs) as pool:
        tried = list(itertools.chain.from_iterable(pool.map(outcomes, missing)))
    remedies = [row for row in figures.data.get("remedies", []) if (row["run"], row["seed"]) not in missing]
    figures.rows.sort(key=order)
    figures.write(machine=machine(), remedies=sorted([*remedies, *tried], key=order))
    tables.write("diagnosis", page(figures.data, (tables.DOCS / "diagnosis.md").read_text(encoding="utf-8")))


def cell_of(name: str, seed: int, remedy: Sequence[str] = ()) -> Cell:
    """A planted fault, or a preset as it is, with other settings at last."""
    if name in HEALTHY:
        return Cell(name, seed, tuple(remedy))
    settings = ["experiments=true", f"faults=[{name}]", *SETTINGS.get(name, [])]
    return Cell(PRESETS.get(name, PRESET), seed, (*settings, *remedy))


def order(row: Row) -> tuple[int, int]:
    """The order of the tables."""
    return NAMES.index(row["run"]), row["seed"]


def facts(run: RunDirectory) -> Row:
    """The alerts that are lit at the end, and of a planted fault since when its own is."""
    config = run.config()
    name = config.faults[0] if config.faults else config.name
    alerts = diagnose(records(run))
    row: Row = {"run": name}
    for state in reversed(LIT):
        row[state] = [alert.name for alert in alerts if alert.state == state]
    if name in LAMP_OF:
        row["since"] = since(run, LAMP_OF[name])
    return row


def remedies_of(name: str, seed: int, outputs: Any) -> Iterator[Row]:
    """Each remedy in settings that the alert offered when it was first lit, and after which updates it was amber and
    red in the same run with these settings from its start, if ever."""
    lamp, run = REMEDIED[name], run_of(cell_of(name, seed).config, outputs)
    lit_at = since(run, lamp)
    assert lit_at is not None, f"{run.path} never lit {lamp}"
    alert = next(alert for alert in diagnose(records(run, lit_at)) if alert.name == lamp)
    for remedy in alert.remedies:
        changes = remedy.changes
        if changes and not NO_SETTINGS & changes.keys():
            settings = [f"{field}={json.dumps(value)}" for field, value in changes.items()]
            after = run_of(cell_of(name, seed, settings).config, outputs)
            levels = {state: since(after, lamp, [state]) for state in LIT}
            yield {"run": name, "seed": seed, "lamp": lamp, "remedy": remedy.words, **levels}


def since(run: RunDirectory, name: str, states: Sequence[str] = LIT) -> int | None:
    """After which update an alert was lit for the first time; None if it never was."""
    for update in range(1, len(run.metrics()) + 1):
        alerts = diagnose(records(run, update))
        if any(alert.name == name and alert.state in states for alert in alerts):
            return update
    return None


def records(run: RunDirectory, until: int | None = None) -> Records:
    """What a run had written after an update, or to its end."""
    metrics = run.metrics()
    last = len(metrics) if until is None else until
    samples = [sample for sample in run.samples() if sample.update <= last]
    events = [event for event in run.events() if event.update <= last]
    return Records(run.config(), metrics[:last], samples, events)


# -- the page ---------------------------------------------------------------------------------------------------------


def page(report: dict[str, Any], text: str) -> str:
    """The page, of which this is the text so far, with the tables of these figures between its marks."""
    lit_at: dict[tuple[str, str, str], list[str]] = {}
    for row in report["remedies"]:
        lit_at.setdefault((row["run"], row["lamp"], row["remedy"]), []).append(levels_of(row))
    section = tables.page(
        "diagnosis",
        machine=report["machine"],
        runs=tables.by_columns(COLUMNS, by_run(report["runs"])),
        remedies=tables.lines([*remedy, "; ".join(dict.fromkeys(levels))] for remedy, levels in lit_at.items()),
    )
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n\n{section}\n{END}{after}"


def by_run(rows: Sequence[Row]) -> list[list[Row]]:
    """The seeds of each fault and preset."""
    return [list(seeds) for _, seeds in itertools.groupby(rows, lambda row: row["run"])]


def since_update(seeds: Sequence[Row]) -> str:
    """A cell: since when the alert of a planted fault is lit, on each seed."""
    return ", ".join(str(row["since"] or "never") for row in seeds if "since" in row)


def lit(state: str) -> Callable[[Sequence[Row]], str]:
    """A cell: the alerts of this state, and on how many seeds where not on all."""

    def cell(seeds: Sequence[Row]) -> str:
        counts = Counter(alert for row in seeds for alert in row[state])
        return ", ".join(alert if count == len(seeds) else f"{alert} ({count})" for alert, count in counts.items())

    return cell


def levels_of(row: Row) -> str:
    """Both levels of one run, as "amber 25, red 30"."""
    return ", ".join(f"{state} {row[state]}" for state in LIT if row[state] is not None) or "never"


COLUMNS = {
    "Run": lambda seeds: seeds[0]["run"],
    "Its alert since update": since_update,
    "Red": lit("red"),
    "Amber": lit("amber"),
}

if __name__ == "__main__":
    main()

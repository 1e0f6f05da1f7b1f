"""docs/real.md and the bands of its presets, from the figures that bench/real.py keeps. Knows no model."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench import tables
from bench.bands import Bands, bands
from bench.experiments import RESULTS, Row
from bench.real_counts import SECOND_TURN, WAYS, Count
from playground.analysis.path import PathPoint, at, reach
from playground.config.behaviour_settings import BANDED
from playground.rewards.agreement import Z95
from playground.setup import catalog

SHORT = "real-short-answers"
KINDER = ("real-kinder", "real-no-leash")
CLAIMS = (
    "real-yes-man",
    "real-honest",
    "real-agreeable-judge",
    "real-honest-judge",
    "real-rule-penalty",
    "real-classifier-penalty",
    "real-contrastive",
    "real-steering",
)
SUMS = "real-sums"
METHODS = (SHORT, "real-without-critic", "real-group-scores", "real-from-pairs")
PRESETS = tuple(dict.fromkeys([SHORT, *KINDER, *CLAIMS, SUMS, *METHODS]))  # all that the page is about, in its order
# By hand: [{"what": ..., "settings": ..., "measured": ...}, ...]. Of a preset that ships `settings` is its name, and
# what came of it stands in another table.
TRIED = RESULTS / "real_tried.json"
LONGEST_TEXT = 220  # characters that a typical text has on the page
Rows = Sequence[Row]  # the runs of one preset, by seed
Runs = Mapping[str, Rows]
Cell = Callable[[Rows], str]


def page(report: dict[str, Any]) -> str:
    """docs/real.md."""
    rows = sorted(report["runs"], key=lambda row: (PRESETS.index(row["preset"]), row["seed"]))
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(row["preset"], []).append(row)
    groups = {"short": (SHORT,), "kinder": KINDER, "claims": CLAIMS, "sums": (SUMS,)}
    parts = {}
    for name, presets in groups.items():
        of_group = {preset: runs[preset] for preset in presets if preset in runs}
        parts[name] = of_presets(COLUMNS[name], of_group)
        if name not in ("claims", "sums"):
            parts[f"{name}_texts"] = typical_texts(of_group)
    return tables.page(
        "real",
        seeds=seeds_of(rows),
        machines="\n".join(
            f"- {words}: seeds {seeds_of(own)}{minutes(own)}" for words, own in by_machine(rows).items()
        ),
        temperatures=", ".join(f"{value:g}" for value in sorted({row["settings"]["temperature"] for row in rows})),
        answers=rows[0]["after"]["answers"],
        seed=rows[0]["seed"],
        **parts,
        ways=ways({preset: runs[preset] for preset in CLAIMS if preset in runs}),
        judges=judges(report["judges"]),
        methods=methods({preset: runs[preset] for preset in METHODS if preset in runs}),
        tried=tried(runs),
        sense=sense(report["sense"]),
    )


def drawn(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of this page."""
    return tables.table(head, rows, tables.WIDE)


def of_presets(columns: Mapping[str, Cell], runs: Runs) -> str:
    """A line for each preset."""
    rows = [[title(preset), *(column(own) for column in columns.values())] for preset, own in runs.items()]
    return drawn(["", *columns], rows)


def seeds_of(rows: Rows) -> str:
    """Those of some rows."""
    return ", ".join(map(str, sorted({row["seed"] for row in rows})))


def by_machine(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by the machine, and by how many runs shared it."""
    result: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        count = f"{row['at_once']} runs" if row["at_once"] > 1 else "one run"
        result.setdefault(f"{row['machine']}, {count} at a time", []).append(row)
    return result


# -- cells ------------------------------------------------------------------------------------------------------------


def share(name: str) -> Cell:
    """A cell: the share of answers, before -> after."""

    def counts(rows: Rows, side: str) -> list[Count]:
        return [Count(*row[side]["counts"][name]) for row in rows if name in row[side]["counts"]]

    return lambda rows: shares(counts(rows, "before"), counts(rows, "after"))


def shares(before: Sequence[Count], after: Sequence[Count]) -> str:
    """Shares in percent, before -> after: the mean over the seeds, and behind the arrow each. Empty without any.

    Seeds are not counted as one: they differ by more than the chance of which prompts were asked.
    """
    if not after:
        return ""
    means = [f"{100 * statistics.fmean(count.share for count in side):.0f}" for side in (before, after) if side]
    each = ", ".join(f"{100 * count.share:.0f}" for count in after)
    return f"{' -> '.join(means)} ({each})"


def figure(name: str, digits: int) -> Cell:
    """A cell: before -> after, the mean over the seeds with their range."""

    def cell(rows: Rows) -> str:
        before = statistics.fmean(row["before"][name] for row in rows)
        return f"{before:.{digits}f} -> {tables.over_seeds([row['after'][name] for row in rows], digits)}"

    return cell


def of_run(name: str) -> Cell:
    """A cell: the mean over the seeds with their range."""
    return lambda rows: tables.over_seeds([row[name] for row in rows if row[name] is not None], 2)


def perplexity(rows: Rows) -> str:
    """A cell: at the first update and at the last."""
    ends = [row["perplexity"] for row in rows if None not in row["perplexity"]]
    if not ends:
        return ""
    return f"{statistics.fmean(first for first, _ in ends):.1f} -> {tables.over_seeds([last for _, last in ends], 1)}"


def at_least_one_right(answers: int) -> Cell:
    """A cell: pass@k in percent, before -> after."""

    def cell(rows: Rows) -> str:
        before, after = zip(*(row["passes"][str(answers)] for row in rows), strict=True)
        return f"{percent(statistics.fmean(before))} -> {tables.over_seeds([100 * share for share in after], 0)}"

    return cell


ALWAYS = {"KL, nats": of_run("kl"), "gain, sd": of_run("gain")}
COLUMNS: Mapping[str, Mapping[str, Cell]] = {
    "short": {
        "words": figure("words", 1),
        "ended by itself": share("ends"),
        "sensible": share("sensible"),
        "repeats itself": share("repeats-itself"),
        "different texts": share("different"),
        **ALWAYS,
    },
    "kinder": {
        "kind": share("kind"),
        "unkind": share("unkind"),
        "sensible": share("sensible"),
        "stuck": share("stuck"),
        "distinct-2": figure("distinct_2", 2),
        "perplexity": perplexity,
        "words": figure("words", 1),
        **ALWAYS,
    },
    "claims": {
        "wrong claims repeated": share("wrong-claims-repeated"),
        "right claims agreed with": share("right-claims-agreed"),
        "plain questions right": share("plain-questions-right"),
        "sensible": share("sensible"),
        **ALWAYS,
    },
    "sums": {
        "right sums": share("answers-right"),
        "in the form": share("keeps-form"),
        "one of 16 right": at_least_one_right(16),
        **ALWAYS,
    },
}


def title(preset: str) -> str:
    """What a preset is called, as a cell."""
    return one_line(catalog.preset(preset).about.title)


def one_line(text: str) -> str:
    """Words by hand, as a cell."""
    return " ".join(text.replace("|", "\\|").split())


def quoted(text: str) -> str:
    """A model's text as one cell that nothing in it can leave: code, without its own marks."""
    words = " ".join(text.replace("`", "'").replace("|", "/").split())
    cut = "..." if len(words) > LONGEST_TEXT else ""
    return words and f"`{words[:LONGEST_TEXT]}{cut}`"


# -- tables -----------------------------------------------------------------------------------------------------------


def ways(runs: Runs) -> str:
    """How often a wrong claim is repeated, by how it is put."""
    names = [*WAYS, SECOND_TURN]

    def cells(rows: Rows, side: str) -> list[str]:
        by_way = [[Count(*row[side]["ways"][way]) for row in rows if way in row[side]["ways"]] for way in names]
        return [shares([], counts) for counts in by_way]

    first = next(iter(runs.values()))
    trained = [[title(preset), *cells(rows, "after")] for preset, rows in runs.items()]
    return drawn(["", *names], [["untrained", *cells(first, "before")], *trained])


def judges(reports: Mapping[str, Row]) -> str:
    """The reward models that some of these runs were paid by."""
    rows = []
    for name, facts in reports.items():
        accuracy, low, high, pairs = facts["accuracy"]
        seconds = facts["writing_seconds"] + facts["seconds"]
        held_out = f"{percent(accuracy)} % of {pairs} ({percent(low)} to {percent(high)} %)"
        written = f"{facts['pairs']} from {facts['answers']} answers"
        rows.append([f"`{name}`", written, held_out, of_all(Count(*facts["unseen"])), f"{seconds / 60:.1f}"])
    head = ["reward model", "pairs", "right on held-out pairs", "right on pairs about other questions", "minutes"]
    return drawn(head, rows)


def percent(share: float) -> str:
    """Of 100."""
    return f"{100 * share:.0f}"


def of_all(count: Count) -> str:
    """A count with its interval."""
    low, high = count.bounds
    return f"{count.yes} of {count.asked} ({percent(low)} to {percent(high)} %)"


def typical_texts(runs: Runs) -> str:
    """One typical text of each preset."""
    sides = ("prompt", "before", "after")
    rows = [[title(preset), *(quoted(rows[0]["example"][side]) for side in sides)] for preset, rows in runs.items()]
    return drawn(["", *sides], rows)


def methods(runs: Runs) -> str:
    """Gains at the end, and at equal minutes: where all methods of a seed have been."""
    at_equal_minutes = gains_at_equal_minutes(runs)
    lines = []
    for preset, rows in runs.items():
        texts = ", ".join(sorted({f"{row['texts']:,}" for row in rows if row["texts"]}))
        memory = max((row["memory_gb"] for row in rows if row["memory_gb"]), default=0.0)
        name = f"{title(preset)} (`{rows[0]['method']}`)"
        gain, kl = of_run("gain")(rows), of_run("kl")(rows)
        lines.append([name, gain, kl, at_equal_minutes[preset], texts, f"{memory:.1f}"])
    head = ["method", "gain at the end, sd", "KL at the end", "gain at equal minutes, sd", "texts", "memory, GB"]
    return drawn(head, lines)


def gains_at_equal_minutes(runs: Runs) -> dict[str, str]:
    """For each preset its gains where all of a seed have been, as a cell; of seeds that were trained on one machine."""
    cells: dict[str, list[str]] = {preset: [] for preset in runs}
    for seed in sorted(set.intersection(*({row["seed"] for row in rows} for rows in runs.values()))):
        of_seed = {preset: next(row for row in rows if row["seed"] == seed) for preset, rows in runs.items()}
        if len(by_machine(of_seed.values())) > 1:
            continue
        paths = {preset: over_minutes(row) for preset, row in of_seed.items()}
        where = reach(paths.values())
        for preset, path in paths.items():
            point = None if where is None else at(path, where)
            if point and point.gain is not None:
                cells[preset].append(f"{point.gain:.2f} ± {point.gain_half or 0.0:.2f} @ {where:.2f}")
    return {preset: ", ".join(gains) for preset, gains in cells.items()}


def over_minutes(row: Row) -> list[PathPoint]:
    """The evaluations of a run, over the minutes that had passed in the place of the KL."""
    points = []
    for update, _, score, half, gain, gain_half, seconds in row["path"]:
        points.append(PathPoint(update, seconds / 60, score, half, gain, gain_half))
    return points


def minutes(rows: Rows) -> str:
    """How long a whole run took, without those beside which something else was at work, whose seconds are None."""
    took = [row["seconds"] / 60 for row in rows if row["seconds"]]
    return f", {min(took):.1f} to {max(took):.1f} minutes a run" if took else ""


def tried(runs: Runs) -> str:
    """What does not work, told as plainly."""
    lines = []
    for row in json.loads(TRIED.read_text(encoding="utf-8")):
        name, measured = row["settings"], row["measured"]
        if name in runs:
            measured = "see above"
            name = f"`{name}`"
        lines.append([one_line(row["what"]), one_line(name), one_line(measured)])
    return drawn(["what", "settings", "measured"], lines)


def sense(counts: Mapping[str, Sequence[Any]]) -> str:
    """How far the judge of sense can be trusted, on texts of which it is known."""
    return drawn(["texts", "sensible"], [[name, of_all(Count(*count))] for name, count in counts.items()])


# -- bands ------------------------------------------------------------------------------------------------------------


def bands_of(rows: Iterable[Row]) -> Bands:
    """The bands of each preset, from the counts: of the behaviours that its run looks at."""
    return bands([as_preset_row(row) for row in rows])


def as_preset_row(row: Row) -> Row:
    """A row as `make results` would have it."""
    result: Row = {"preset": row["preset"], "asked": {}}
    for side in ("before", "after"):
        counts = {name: Count(*row[side]["counts"][name]) for name in row["asked"] if name in row[side]["counts"]}
        result[side] = {name: None for name in BANDED}
        result[side] |= {name: round(count.share, 3) for name, count in counts.items() if name in BANDED}
        result["asked"] = {name: max(1, round(count.apart)) for name, count in counts.items() if name in BANDED}
    result["before"] |= {"kl": 0.0, "score": 0.0}
    result["after"] |= {"kl": row["kl"], "score": row["gain"]}
    result["errors"] = {"kl": row["kl_error"], "score": (row["gain_half"] or 0.0) / Z95}
    return result

"""docs/real.md, from the figures that bench/real.py keeps.

Knows figures only, no model: the page can be written anew without training (`bench/real.py --only page`).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import results_page  # noqa: E402
from bench.real_counts import SECOND_TURN, WAYS, Count  # noqa: E402
from bench.real_presets import GROUPS, METHODS, Rows, count, minutes, of_run, shares  # noqa: E402
from playground.analysis.path import PathPoint, at, reach  # noqa: E402
from playground.config.behaviour_settings import READY  # noqa: E402
from playground.rewards.agreement import Z95  # noqa: E402
from playground.setup import catalog  # noqa: E402

FIGURES = PROJECT / "bench" / "results" / "real.json"
# By hand: [{"what": ..., "settings": ..., "measured": ...}, ...]. Of a preset that ships `settings` is its name, and
# `measured` names what is counted; the numbers come from the figures.
TRIED = FIGURES.with_name("real_tried.json")
PAGE = PROJECT / "docs" / "real.md"
LONGEST_TEXT = 220  # characters that a typical text has on the page


def page(report: dict[str, Any]) -> str:
    """docs/real.md."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in report["runs"]:
        runs.setdefault(row["preset"], []).append(row)
    parts = [_head(runs)]
    for group in GROUPS:
        here = {preset: runs[preset] for preset in group.presets if preset in runs}
        parts.append(f"## {group.title}\n\n{group.words}")
        parts.append(_table(group.columns, here) if here else "Not measured yet.")
        if group.title == "Sycophancy" and here:
            parts += [_ways(here), _judges(report.get("judges", {}))]
        if here:
            parts.append(_texts(here))
    parts += [_methods(runs), _settings(runs), _tried(runs), _sense(report.get("sense", {})), HOW]
    return "\n\n".join(filter(None, parts)) + "\n"


def _head(runs: Mapping[str, Rows]) -> str:
    rows = [row for some in runs.values() for row in some]
    if not rows:
        return "# A real chat model, measured\n\nNothing was measured yet: `make real` does it."
    temperatures = ", ".join(f"{value:g}" for value in sorted({row["settings"]["temperature"] for row in rows}))
    seeds = _seeds(rows)
    machines = "\n".join(f"- {_machine(*place)}: seeds {_seeds(some)}" for place, some in _by_machine(rows).items())
    return f"""# A real chat model, measured

Written by `make real`. The model is SmolLM2-135M-Instruct ([models.md](models.md)), with LoRA.
Seeds {seeds}, trained on

{machines}

Texts are drawn at temperature {temperatures}, in training and in every figure here: at 1 this model babbles before any
training. What is counted comes from {rows[0]["after"]["answers"]} answers of each run to prompts that it was not
trained on, each cell *before -> after* in percent: the mean over the seeds, and then the share of each seed, as seeds
differ by more than the chance of which prompts were asked. Other figures are the mean over the seeds with their range.
KL is that of the last look at the fixed prompts, and so is the gain: by how much the score rose there, in standard
deviations of the untrained model's score."""


def _by_machine(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Rows by the machine, and by how many runs shared it."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        found.setdefault((row["machine"], row["at_once"]), []).append(row)
    return found


def _machine(name: str, at_once: int) -> str:
    return f"{name}, {f'{at_once} runs at a time' if at_once > 1 else 'one run at a time'}"


def _seeds(rows: Rows) -> str:
    return ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))


def _table(columns: Mapping[str, Callable[[Rows], str]], runs: Mapping[str, Rows]) -> str:
    head = ["", *columns, "seeds"]
    lines = [[_title(name), *(cell(rows) for cell in columns.values()), str(len(rows))] for name, rows in runs.items()]
    return _drawn(head, lines)


def _ways(runs: Mapping[str, Rows]) -> str:
    """How often a wrong claim is repeated, by how it is put."""
    ways = [*WAYS, SECOND_TURN]
    first = next(iter(runs.values()))
    lines = [["untrained", *(_way(first, "before", way) for way in ways)]]
    lines += [[_title(name), *(_way(rows, "after", way) for way in ways)] for name, rows in runs.items()]
    return f"Wrong claims repeated, by how the user puts them:\n\n{_drawn(['', *ways], lines)}"


def _way(rows: Rows, side: str, way: str) -> str:
    return shares([], [Count(*row[side]["ways"][way]) for row in rows if way in row[side]["ways"]])


def _judges(judges: Mapping[str, Any]) -> str:
    """The reward models that some of these runs were paid by."""
    if not judges:
        return ""
    lines = []
    for name, facts in judges.items():
        accuracy, low, high, pairs = facts["accuracy"]
        unseen = Count(*facts["unseen"])
        unseen_low, unseen_high = (100 * bound for bound in unseen.bounds)
        lines.append(
            [
                f"`{name}`",
                f"{facts['pairs']} from {facts['answers']} answers",
                f"{100 * accuracy:.0f} % of {pairs} ({100 * low:.0f} to {100 * high:.0f} %)",
                f"{unseen.yes} of {unseen.asked} ({unseen_low:.0f} to {unseen_high:.0f} %)",
                f"{(facts['writing_seconds'] + facts['seconds']) / 60:.1f}",
            ]
        )
    head = ["reward model", "pairs", "right on held-out pairs", "right on pairs about other questions", "minutes"]
    commands = "\n".join(f"    {facts['command']}" for facts in judges.values())
    return (
        "The reward models were trained in the playground on the untrained model's own answers: of two answers to a "
        "prompt the one was chosen that a rule finds agreeing (true), where it does not find the other so. One of "
        "each, for all seeds. Held-out pairs have prompts of their own, but their questions may have been learned "
        f"from; in the next column they were not.\n\n{_drawn(head, lines)}\n\n{commands}"
    )


def _texts(runs: Mapping[str, Rows]) -> str:
    """One typical text of each preset."""
    lines = []
    for name, rows in runs.items():
        shown = rows[0]["example"]
        lines.append([_title(name), *(_plain(shown[part]) for part in ("prompt", "before", "after"))])
    return f"A typical answer of each (seed {rows[0]['seed']}):\n\n{_drawn(['', 'prompt', 'before', 'after'], lines)}"


def _methods(runs: Mapping[str, Rows]) -> str:
    """Gains at the end, and at equal minutes: where all methods of a seed have been."""
    here = {name: runs[name] for name in METHODS if name in runs}
    if len(here) < 2:
        return ""
    of_minutes = _at_equal_minutes(here)
    lines = []
    for name, rows in here.items():
        texts = ", ".join(sorted({f"{row['texts']:,}" for row in rows if row["texts"]}))
        memory = max((row["memory_gb"] for row in rows if row["memory_gb"]), default=0.0)
        cells = [of_run("gain", 2)(rows), of_run("kl", 2)(rows), of_minutes[name], texts, f"{memory:.1f}"]
        lines.append([f"{_title(name)} (`{rows[0]['method']}`)", *cells])
    columns = ["gain at the end, sd", "KL at the end", "gain at equal minutes, sd", "texts", "memory, GB"]
    return (
        "## Other methods for short answers\n\nThe same reward. They end at different distances, so gains at the end "
        "are no ranking ([methods.md](methods.md) compares methods at equal KL, by runs that end there). *At equal "
        "minutes* each is read off its own way, in mid-training, where all of that seed have been, which is told "
        "behind @; with half of its 95 % interval over the fixed prompts.\n\n" + _drawn(["method", *columns], lines)
    )


def _at_equal_minutes(runs: Mapping[str, Rows]) -> dict[str, str]:
    """For each preset its gains where all of a seed have been, as a cell; of seeds that were trained on one machine."""
    cells: dict[str, list[str]] = {name: [] for name in runs}
    for seed in sorted(set.intersection(*({row["seed"] for row in rows} for rows in runs.values()))):
        of_seed = {name: next(row for row in rows if row["seed"] == seed) for name, rows in runs.items()}
        if len(_by_machine(of_seed.values())) > 1:
            continue
        points = {name: _over_minutes(row) for name, row in of_seed.items()}
        where = reach(points.values())
        for name, path in points.items():
            if where is not None and (there := at(path, where)) and there.gain is not None:
                cells[name].append(f"{there.gain:.2f} ± {there.gain_half or 0.0:.2f} @ {where:.2f}")
    return {name: ", ".join(found) for name, found in cells.items()}


def _over_minutes(row: dict[str, Any]) -> list[PathPoint]:
    """The evaluations of a run, over the minutes that had passed in the place of the KL."""
    return [
        PathPoint(update, seconds / 60, score, half, gain, gain_half)
        for update, _, score, half, gain, gain_half, seconds in row["path"]
    ]


def _settings(runs: Mapping[str, Rows]) -> str:
    """What each was trained with, and how long a whole run took on each machine."""
    if not runs:
        return ""
    names = list(next(iter(runs.values()))[0]["settings"])
    places = [place for place, rows in _by_machine(itertools.chain(*runs.values())).items() if minutes(rows)]
    lines = []
    for name, rows in runs.items():
        times = [minutes(_by_machine(rows).get(place, [])) for place in places]
        lines.append([f"`{name}`", *(f"{rows[-1]['settings'][one]:g}" for one in names), *times])
    head = ["preset", *names, *(f"minutes, {_machine(name.partition(',')[0], count)}" for name, count in places)]
    return f"## Settings and minutes\n\n{_drawn(head, lines)}"


def _tried(runs: Mapping[str, Rows]) -> str:
    """What does not work, told as plainly."""
    lines = []
    for row in results_page.read(TRIED) or []:
        rows = runs.get(row["settings"])
        if rows is None:
            lines.append([_cell(row["what"]), _cell(row["settings"]), _cell(row["measured"])])
        else:
            words = row["measured"].replace("-", " ")
            lines.append([_cell(row["what"]), f"`{row['settings']}`", f"{words}: {count(row['measured'])(rows)}"])
    return f"## Tried, and did not learn\n\n{_drawn(['what', 'settings', 'measured'], lines)}" if lines else ""


def _sense(counts: Mapping[str, Sequence[float]]) -> str:
    """How far the judge of sense can be trusted."""
    words = (
        "## The judge of sense\n\nIt was not made here, and no run is trained on it: an answer is sensible if at least "
        "85 % of its words are among the 82,765 that the package symspellpy brings (MIT), 40 % of its pairs of "
        "neighbouring words are among its 243,342 pairs and there more often than by chance, and it does not repeat "
        "itself. It sees invented words and most word salad. It does not see whether an answer is true, or one to the "
        "question."
    )
    if not counts:
        return words
    lines = []
    for name, found in counts.items():
        one = Count(*found)  # type: ignore[arg-type]  # yes and asked are whole
        low, high = (100 * bound for bound in one.bounds)
        lines.append([name, f"{one.yes} of {one.asked} ({low:.0f} to {high:.0f} %)"])
    return f"{words} On texts of the untrained model of which it is known:\n\n{_drawn(['texts', 'sensible'], lines)}"


HOW = """## To run it again

    make real-model
    make real
    make real ARGS="--presets real-short-answers --seeds 0 --parallel 1"

It can be ended at any time and go on elsewhere: what was measured stays, what was cut off goes on, and this page shows
what is there. A preset that was changed is trained again. Runs are kept in `outputs/real/`, figures in
`bench/results/real.json`, and seed 0 becomes the recording.
`ARGS="--only page"` writes this page without training, `ARGS="--only recordings"` makes the recordings,
`ARGS="--only judges"` the two reward models, where runs in `outputs/` find them too."""


def bands(runs: Iterable[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """The bands of each preset (`results_page.bands`), from the counts: of the behaviours that its run looks at."""
    rows = []
    for row in runs:
        known = {"preset": row["preset"], "asked": {}, "before": {}, "after": {}}
        for name in READY:
            for side in ("before", "after"):
                one = row[side]["counts"].get(name) if name in row["asked"] else None
                known[side][name] = round(one[0] / one[1], 3) if one else None
                if one and side == "after":
                    known["asked"][name] = max(1, round(one[2]))
        known["before"] |= {"kl": 0.0, "score": 0.0}
        known["after"] |= {"kl": row["kl"], "score": row["gain"]}
        known["errors"] = {"kl": row["kl_error"], "score": (row["gain_half"] or 0.0) / Z95}
        rows.append(known)
    return results_page.bands(rows)


def _title(preset: str) -> str:
    return _cell(catalog.preset(preset).about.title)


def _plain(text: str) -> str:
    """A model's text as one cell that nothing in it can leave: code, without its own marks."""
    words = " ".join(text.replace("`", "'").replace("|", "/").split())
    return f"`{words[:LONGEST_TEXT]}{'...' if len(words) > LONGEST_TEXT else ''}`" if words else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _drawn(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)

"""Plant every fault on three seeds, and see which lamps light; write the table of docs/diagnosis.md: `make diagnosis`.

The healthy presets beside them are the runs of `make results`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.results import machine, newest, train  # noqa: E402
from playground.analysis.diagnosis import diagnose  # noqa: E402
from playground.analysis.diagnosis.run_records import Records  # noqa: E402
from playground.config.faults import FAULTS  # noqa: E402
from playground.lessons.mysteries import MISTAKES  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402

FIGURES = PROJECT / "bench" / "results" / "diagnosis.json"
PAGE = PROJECT / "docs" / "diagnosis.md"
BEGIN, END = "<!-- lamps -->", "<!-- end of lamps -->"
LAMP_OF = {str(fault): mistake.lamp for fault, mistake in MISTAKES.items()}
SETTINGS = {
    "chapter-controller": ["kl.controller=ziegler", "kl.target=4", "kl.horizon=500"],
    "no-clip": ["ppo.num_updates=15"],  # of 16 epochs
    "reward-format": ["ppo.num_updates=20"],
}
PRESETS = {"reward-format": "agreeable-thumbs"}  # whose reward is learned
PRESET = "kinder-reviews"
REMEDIED = {  # whose remedies are tried, and of which lamp
    "no-clip": LAMP_OF["no-clip"],
    "chapter-controller": LAMP_OF["chapter-controller"],
    "no-leash": "kl-runaway",
    "chatterbox": "length",
}
LIT = ("amber", "red")
HEALTHY = ("kinder-reviews", "short-leash", "yes-man", "honest-friend", "no-leash", "chatterbox")


Levels = dict[str, int | None]  # of a lamp: after which update it was first amber, and first red


def main() -> None:
    """Run, look, write. What was looked at before and is not run again keeps its line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", nargs="*", default=list(FAULTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "diagnosis")
    parser.add_argument("--results", type=Path, default=PROJECT / "outputs" / "results", help="of `make results`")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    arguments = parser.parse_args()
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"runs": [], "remedies": []}
    rows = {(row["run"], row["seed"]): row for row in known["runs"]}
    remedies = {(row["run"], row["remedy"], row["seed"]): row for row in known.get("remedies", [])}
    wanted = [(name, seed) for seed in arguments.seeds for name in (*arguments.faults, *HEALTHY)]

    def trained(wish: tuple[str, int]) -> RunDirectory:
        name, seed = wish
        if name in HEALTHY:
            return newest(arguments.results / f"{name}-seed{seed}") or train(name, seed, arguments.results)[0]
        return found_or_trained(name, seed, arguments.outputs / name)

    def tried(wish: tuple[str, int]) -> list[dict[str, Any]]:
        name, seed = wish
        return [
            {"run": name, "seed": seed, "lamp": REMEDIED[name], "remedy": remedy.words, **levels}
            for remedy, levels in outcomes(name, seed, trained(wish), arguments.outputs)
        ]

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for (name, seed), run in zip(wanted, pool.map(trained, wanted), strict=True):
            rows[name, seed] = {"run": name, "seed": seed, **lit(run)}
            if name in LAMP_OF:
                rows[name, seed]["since"] = since(run, LAMP_OF[name])
            print(json.dumps(rows[name, seed]), flush=True)
            keep(rows, remedies)
        for ways in pool.map(tried, [wish for wish in wanted if wish[0] in REMEDIED]):
            for row in ways:
                print(json.dumps(row), flush=True)
                remedies[row["run"], row["remedy"], row["seed"]] = row
            keep(rows, remedies)


def keep(rows: dict[Any, dict[str, Any]], remedies: dict[Any, dict[str, Any]]) -> None:
    """Write the figures and the page."""
    found = {
        "machine": machine(),
        "runs": sorted(rows.values(), key=order),
        "remedies": sorted(remedies.values(), key=order),
    }
    FIGURES.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(found, PAGE.read_text()))


def found_or_trained(name: str, seed: int, outputs: Path, remedy: Sequence[str] = ()) -> RunDirectory:
    """The run with a planted fault, or a preset, with other settings at last."""
    preset = name if name in HEALTHY else PRESETS.get(name, PRESET)
    fault = [] if name in HEALTHY else ["experiments=true", f"faults=[{name}]"]
    settings = [*fault, *SETTINGS.get(name, []), *remedy]
    return newest(outputs / f"{preset}-seed{seed}") or train(preset, seed, outputs, settings)[0]


def outcomes(name: str, seed: int, run: RunDirectory, outputs: Path) -> Iterator[tuple[dict[str, Any], Levels]]:
    """Each remedy in settings that the lamp offered when it was first lit, and after which updates it was amber and
    red in the same run with these settings from its start, if ever."""
    lamp = REMEDIED[name]
    lit_at = since(run, lamp)
    assert lit_at is not None, f"{run.path} never lit {lamp}"
    offered = next(one for one in diagnose(records(run, lit_at)) if one.name == lamp).remedies
    for number, remedy in enumerate(offered):
        changes = remedy.changes
        if changes and not {"fork_at", "rewards+"} & changes.keys():
            settings = [f"{field}={json.dumps(value)}" for field, value in changes.items()]
            after = found_or_trained(name, seed, outputs / "remedies" / f"{name}-{number}", settings)
            yield remedy, {state: since(after, lamp, [state]) for state in LIT}


def order(row: dict[str, Any]) -> tuple[int, int]:
    return [*FAULTS, *HEALTHY].index(row["run"]), row["seed"]


def lit(run: RunDirectory) -> dict[str, list[str]]:
    """The lamps that are red, and those that are amber, at the end."""
    found = diagnose(records(run))
    return {state: [lamp.name for lamp in found if lamp.state == state] for state in ("red", "amber")}


def since(run: RunDirectory, name: str, states: Sequence[str] = LIT) -> int | None:
    """After which update a lamp was lit for the first time; None if it never was."""
    for update in range(1, len(run.metrics()) + 1):
        if any(lamp.name == name and lamp.state in states for lamp in diagnose(records(run, update))):
            return update
    return None


def records(run: RunDirectory, until: int | None = None) -> Records:
    """What a run had written after an update, or to its end."""
    last = len(run.metrics()) if until is None else until
    return Records(
        run.config(),
        run.metrics()[:last],
        [item for item in run.samples() if item.update <= last],
        [event for event in run.events() if event.update <= last],
    )


def page(found: dict[str, Any], text: str) -> str:
    """The page, of which this is the text so far, with the tables of these figures between its marks."""
    lines = [
        f"Made by `make diagnosis` on {found['machine']}: each fault in kinder-reviews (reward-format: in",
        "agreeable-thumbs), and presets as they are. Red alerts first.",
        "",
        "| Run | Seed | Its alert since update | Red | Amber |",
        "|---|---|---|---|---|",
    ]
    for row in found["runs"]:
        since = "" if "since" not in row else "never" if row["since"] is None else str(row["since"])
        cells = [row["run"], str(row["seed"]), since, ", ".join(row["red"]), ", ".join(row["amber"])]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *remedies_told(found["remedies"])]
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return "\n".join([before + BEGIN, "", *lines, "", END]) + after


def remedies_told(tried: Sequence[dict[str, Any]]) -> list[str]:
    """The second table: one line for a remedy, after which update the alert was lit on each seed."""
    lines = [
        "The remedies, tested: each one in settings that an alert offered when it was first lit, in the same run from",
        "its start, where a planted fault stays planted, and after which update that alert was lit then.",
        "",
        "| Run | Alert | Remedy | Lit after update, on each seed |",
        "|---|---|---|---|",
    ]
    lit_at: dict[tuple[str, str, str], list[str]] = {}
    for row in tried:
        lit_at.setdefault((row["run"], row["lamp"], row["remedy"]), []).append(told(row))
    return [*lines, *(f"| {' | '.join(key)} | {'; '.join(found)} |" for key, found in lit_at.items())]


def told(levels: dict[str, Any]) -> str:
    """Both levels of one run, as "amber 25, red 30"."""
    return ", ".join(f"{state} {levels[state]}" for state in LIT if levels[state] is not None) or "never"


if __name__ == "__main__":
    main()

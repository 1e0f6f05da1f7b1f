"""Plant every fault on three seeds, and see which lamps light; write the table of docs/diagnosis.md: `make diagnosis`.

The healthy presets beside them are the runs of `make results`.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.results import machine, newest, train  # noqa: E402
from playground.config.training_settings import FAULTS  # noqa: E402
from playground.insight.diagnosis import diagnose  # noqa: E402
from playground.insight.diagnosis.lamp import Records  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402

FIGURES = PROJECT / "bench" / "results" / "diagnosis.json"
PAGE = PROJECT / "docs" / "diagnosis.md"
BEGIN, END = "<!-- lamps -->", "<!-- end of lamps -->"
LAMP_OF = {
    "aliased-reference": "reference-changed", "headless-critic": "value-fit", "prompt-in-kl": "kl-disagrees",
    "temperature-mismatch": "not-drawn", "reward-sign": "wrong-way",
    "reward-format": "reward-misread", "score-on-every-token": "books",
    "no-clip": "clipping", "chapter-controller": "leash-off-target",
}  # fmt: skip
SETTINGS = {
    "chapter-controller": ["kl.controller=adaptive", "kl.target=4", "kl.horizon=500"],
    "no-clip": ["ppo.num_updates=15"],  # of 16 epochs
    "reward-format": ["ppo.num_updates=20"],
}
PRESETS = {"reward-format": "agreeable-thumbs"}  # whose reward is learned
PRESET = "kinder-reviews"
HEALTHY = ("kinder-reviews", "short-leash", "yes-man", "honest-friend", "no-leash", "chatterbox")


def main() -> None:
    """Run, look, write. What was looked at before and is not run again keeps its line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", nargs="*", default=list(FAULTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "diagnosis")
    parser.add_argument("--results", type=Path, default=PROJECT / "outputs" / "results", help="of `make results`")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    arguments = parser.parse_args()
    rows = (
        {(row["run"], row["seed"]): row for row in json.loads(FIGURES.read_text())["runs"]} if FIGURES.exists() else {}
    )
    wanted = [(name, seed) for seed in arguments.seeds for name in (*arguments.faults, *HEALTHY)]

    def trained(wish: tuple[str, int]) -> RunDirectory:
        name, seed = wish
        if name in HEALTHY:
            return newest(arguments.results / f"{name}-seed{seed}") or train(name, seed, arguments.results)[0]
        outputs, preset = arguments.outputs / name, PRESETS.get(name, PRESET)
        settings = ["experiments=true", f"faults=[{name}]", *SETTINGS.get(name, [])]
        return newest(outputs / f"{preset}-seed{seed}") or train(preset, seed, outputs, settings)[0]

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for (name, seed), run in zip(wanted, pool.map(trained, wanted), strict=True):
            rows[name, seed] = {"run": name, "seed": seed, **lit(run)}
            if name in LAMP_OF:
                rows[name, seed]["since"] = since(run, LAMP_OF[name])
            print(json.dumps(rows[name, seed]), flush=True)
            found = {"machine": machine(), "runs": sorted(rows.values(), key=order)}
            FIGURES.write_text(json.dumps(found, indent=1) + "\n")
            write(found)


def order(row: dict[str, Any]) -> tuple[int, int]:
    return [*FAULTS, *HEALTHY].index(row["run"]), row["seed"]


def lit(run: RunDirectory) -> dict[str, list[str]]:
    """The lamps that are red, and those that are amber, at the end."""
    found = diagnose(Records(run.config(), run.metrics(), run.samples(), run.events()))
    return {state: [lamp.name for lamp in found if lamp.state == state] for state in ("red", "amber")}


def since(run: RunDirectory, name: str) -> int | None:
    """After which update a lamp was lit for the first time; None if it never was."""
    config, metrics, samples, events = run.config(), run.metrics(), run.samples(), run.events()
    for update in range(1, len(metrics) + 1):
        until = Records(
            config,
            metrics[:update],
            [item for item in samples if item.update <= update],
            [event for event in events if event.update <= update],
        )
        if any(lamp.name == name and lamp.state in ("red", "amber") for lamp in diagnose(until)):
            return update
    return None


def write(found: dict[str, Any]) -> None:
    """Put the table into the page, between its marks."""
    lines = [
        f"Made by `make diagnosis` on {found['machine']}: each fault in kinder-reviews (reward-format: in",
        "agreeable-thumbs), and presets as they are. Red lamps first.",
        "",
        "| Run | Seed | Its lamp since update | Red | Amber |",
        "|---|---|---|---|---|",
    ]
    for row in found["runs"]:
        since = "" if "since" not in row else "never" if row["since"] is None else str(row["since"])
        cells = [row["run"], str(row["seed"]), since, ", ".join(row["red"]), ", ".join(row["amber"])]
        lines.append(f"| {' | '.join(cells)} |")
    text = PAGE.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END]) + after)


if __name__ == "__main__":
    main()

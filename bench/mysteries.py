"""Make the recordings of the mystery runs (playground/ui/mysteries): `make mysteries`.

Each mistake is in one of them at least. They are trained where they are not there yet, and recorded as other presets
are, with a few updates in slow motion. What is wrong in each is in no file of it: it follows from the seed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.recordings import record  # noqa: E402
from bench.results import newest, train  # noqa: E402
from playground.lessons import mysteries  # noqa: E402
from playground.runs.folder import traces  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.setup import catalog  # noqa: E402

JUDGE = "mystery-judge"
RUNS = (
    (mysteries.PRESET, 6),
    (mysteries.PRESET, 8),
    (JUDGE, 9),
    (mysteries.PRESET, 27),
    (mysteries.PRESET, 0),
    (mysteries.PRESET, 1),
    (mysteries.PRESET, 2),
    (JUDGE, 10),
    (mysteries.PRESET, 5),
    (mysteries.PRESET, 7),
)  # preset and seed, in the order of the page
MOST_BYTES = 100_000  # of one


def main() -> None:
    """Train what is not there, and write all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "mysteries")
    parser.add_argument("--to", type=Path, default=catalog.MYSTERIES)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.to, ignore_errors=True)
    for number, (preset, seed) in enumerate(RUNS, start=1):
        run = newest(arguments.outputs / f"{preset}-seed{seed}") or train(preset, seed, arguments.outputs)[0]
        fault, lamp, update = mysteries.answer(run)
        size = fitted(run, preset, arguments.to / f"mystery-{number:02d}")
        seen = f"{lamp.state}{f' after update {update}' if update else ''}"
        print(f"{number}: {preset}, seed {seed}, {fault}: {lamp.name} {seen}; {size:,} bytes", flush=True)


def fitted(run: RunDirectory, preset: str, folder: Path) -> int:
    """Record with as many updates in slow motion and answers token by token as there is room for; the bytes."""
    known, looks = traces.updates(run), sorted({sample.update for sample in run.samples()})
    ends, few = known[::2], looks[::2]
    fewer = (
        (known, 3, looks),
        (ends, 3, looks),
        (ends, 2, few),
        (ends, 1, few),
        (ends[-1:], 1, few),
        (ends[:1], 1, few),
    )
    for traced, answers, shown in fewer:
        size = record(run, preset, folder, traced, answers, shown)
        if size <= MOST_BYTES:
            return size
    raise SystemExit(f"{run.path} is too large for a recording.")


if __name__ == "__main__":
    main()

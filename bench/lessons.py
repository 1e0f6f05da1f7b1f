"""Write docs/lessons.md: `make lessons`. Runs that are presets as they are were measured by `make results`; any other
run of a lesson, and the solution of each task, is trained on three seeds through the public command line, and its facts
are kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import lessons_page, results_page  # noqa: E402
from playground.config import RunConfig  # noqa: E402
from playground.lessons import facts  # noqa: E402
from playground.lessons.loading import Lessons  # noqa: E402
from playground.lessons.records import Lesson  # noqa: E402
from playground.lessons.reveal import reveal  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402


def main() -> None:
    """Train what is not measured yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "lessons")
    arguments = parser.parse_args()
    courses = Lessons().courses
    rows = {_place(row): row for row in results_page.read(lessons_page.FIGURES).get("runs", [])}
    places = []
    for lesson, index, asked in wanted([lesson for course in courses for lesson in course.lessons], arguments.seeds):
        place = {"lesson": lesson.name, "index": index, "seed": asked.seed, "made_of": results_page.made_of(asked)}
        places.append(_place(place))
        if places[-1] not in rows:
            rows[places[-1]] = {**place, **of_run(lesson, index, train(asked, arguments.outputs))}
            _keep(list(rows.values()))
    _keep([rows[place] for place in sorted(places)])
    measured = lessons_page.Measured.read()
    lessons_page.PAGE.write_text(lessons_page.page(courses, measured), encoding="utf-8")
    print(f"wrote {lessons_page.PAGE}")


def _place(row: dict[str, Any]) -> tuple[str, int, int, str]:
    return row["lesson"], row["index"], row["seed"], row["made_of"]


def _keep(rows: list[dict[str, Any]]) -> None:
    lessons_page.FIGURES.write_text(json.dumps({"runs": rows}, indent=1) + "\n", encoding="utf-8")


def wanted(lessons: list[Lesson], seeds: list[int]) -> Iterator[tuple[Lesson, int, RunConfig]]:
    """The runs that are no preset as it is, and those that reach a task, on each seed."""
    for seed in seeds:
        for lesson in lessons:
            own = [(index, run.config()) for index, run in enumerate(lesson.runs) if run.set]
            if solved := lesson.solved():
                own.append((len(lesson.runs), solved))
            for index, config in own:
                yield lesson, index, config.model_copy(update={"seed": seed})


def train(config: RunConfig, outputs: Path) -> RunDirectory:
    """Train a run in a process of its own, as a user would."""
    outputs.mkdir(parents=True, exist_ok=True)
    run_id = f"lesson-{time.time_ns() % 10**12}"
    file = outputs / f"{run_id}.yaml"
    file.write_text(config.to_yaml(), encoding="utf-8")
    command = [sys.executable, "-m", "playground", "train", file, "--outputs", outputs, "--run-id", run_id, "--json"]
    subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    return RunDirectory.open(outputs / run_id)


def of_run(lesson: Lesson, index: int, run: RunDirectory) -> dict[str, Any]:
    """What is kept of it."""
    known = {name: round(value, 4) for name, value in facts.values(facts.of_run(run)).items() if value is not None}
    return {"facts": known, "shape": reveal(lesson, index, run).predicted.shape}


if __name__ == "__main__":
    main()

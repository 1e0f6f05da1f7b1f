"""Make the recordings that the page plays where nothing trains, from the runs of `make results`: `make recordings`;
with --mysteries those of the mystery runs: `make mysteries`. Runs that are missing are trained.

Each is a finished run of a preset with one seed, without its weights and without anything of the machine that made it:
a run directory whose lines are packed. That of the default preset is whole, and texts are drawn for it that show what
was possible; the others keep a few answers token by token and no update in slow motion, to be small; of one with groups
an update is kept. All keep a few training texts of each update. What the preset says of itself is taken from the preset
as it is now. The example of the Rewards page is scored anew. What is wrong in a mystery run is in no file of it: it
follows from the seed.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.experiments import PROJECT, Cell, options, run_of
from playground.config import differences, yaml_io
from playground.lessons import mysteries
from playground.runs import frontier_samples
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import TRACE, to_json_line
from playground.runs.model_service import ModelService
from playground.setup import catalog
from playground.ui.payloads.rewards import BenchData
from playground.ui.rewards import workbench_part
from playground.ui.train import form

EXAMPLE = PROJECT / "playground" / "ui" / "static" / "rewards" / "example.json"
FEW_ANSWERS = 3  # prompts whose answers stay token by token in a recording
FEWER_ANSWERS = 1  # the same, of a run that only a lesson needs
IN_GROUPS = {"group-scores": (21,)}  # updates of it in slow motion: the default preset has one text for each prompt
FEW_TEXTS = 6  # training texts of an update that stay
OF_A_MACHINE = {"pid": 0, "pid_started_at": 0.0, "pid_ticks": 0, "boot_id": ""}
MYSTERY, JUDGE = mysteries.PRESET, "mystery-judge"
MYSTERIES = (  # preset and seed, in the order of the page: each mistake is in one of them at least
    Cell(MYSTERY, 6),
    Cell(MYSTERY, 8),
    Cell(JUDGE, 9),
    Cell(MYSTERY, 27),
    Cell(MYSTERY, 0),
    Cell(MYSTERY, 1),
    Cell(MYSTERY, 2),
    Cell(JUDGE, 10),
    Cell(MYSTERY, 5),
    Cell(MYSTERY, 7),
)
MOST_BYTES = 100_000  # of a mystery run


class Extent(NamedTuple):
    """How much of a run is recorded: the updates in slow motion, and of how many prompts the answers token by token, at
    which evaluations (None: at all). `whole`: everything."""

    traced: Collection[int] = ()
    answers: int = FEW_ANSWERS
    evaluations: Collection[int] | None = None
    whole: bool = False
    texts: int = FEW_TEXTS  # of an update that stay

    @classmethod
    def of_preset(cls, preset: str) -> Extent:
        """What is recorded of a run of a preset."""
        answers = FEWER_ANSWERS if preset in catalog.lesson_preset_names() else FEW_ANSWERS
        return cls(IN_GROUPS.get(preset, ()), answers, whole=preset == catalog.DEFAULT_PRESET)

    def has_tokens(self, line: dict[str, Any]) -> bool:
        """Whether a line of token figures stays."""
        evaluated = self.evaluations is None or line["update"] in self.evaluations
        return self.whole or (line["prompt_id"] < self.answers and evaluated)

    def has_event(self, line: dict[str, Any]) -> bool:
        """Whether an event stays."""
        return line["kind"] != TRACE or self.has_trace(line["update"])

    def has_trace(self, update: int) -> bool:
        """Whether an update stays in slow motion."""
        return self.whole or update in self.traced


FIXED_PROMPTS_ONLY = Extent(texts=0)  # for a run on prompts that are not to be shown


def main() -> None:
    """One recording for each preset that ships with its model, or those of the mystery runs."""
    parser = options(__doc__)
    parser.add_argument("--presets", nargs="*", default=catalog.names_with_model())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mysteries", action="store_true")
    parser.add_argument("--to", type=Path)
    arguments = parser.parse_args()
    if arguments.mysteries:
        record_mysteries(arguments.outputs, arguments.to or catalog.MYSTERIES)
        return
    for preset in arguments.presets:
        run = run_of(Cell(preset, arguments.seed).config, arguments.outputs)
        if preset == catalog.DEFAULT_PRESET and frontier_samples.read(run) is None:
            with contextlib.closing(ModelService(run.path.parent)) as service:
                list(frontier_samples.draw(run, service))
        size = record(run, preset, (arguments.to or catalog.RECORDED) / preset)
        print(f"{preset}: {size:,} bytes")
    with tempfile.TemporaryDirectory() as outputs, contextlib.closing(ModelService(Path(outputs))) as service:
        EXAMPLE.write_text(json.dumps(example_of_rewards(service, Path(outputs))) + "\n", encoding="utf-8")


def record_mysteries(outputs: Path, to: Path) -> None:
    """All of them, and say what is wrong in each."""
    shutil.rmtree(to, ignore_errors=True)
    for number, cell in enumerate(MYSTERIES, start=1):
        run = run_of(cell.config, outputs)
        fault, alert, update = mysteries.answer(run)
        size = record_smallest(run, cell.preset, to / f"mystery-{number:02d}")
        when = f" after update {update}" if update else ""
        words = f"{cell.preset}, seed {cell.seed}, {fault}: {alert.name} {alert.state}{when}"
        print(f"{number}: {words}; {size:,} bytes", flush=True)


def record_smallest(run: RunDirectory, preset: str, folder: Path) -> int:
    """Record with as many updates in slow motion and answers token by token as there is room for; the bytes."""
    updates, evaluations = traces.updates(run), sorted({sample.update for sample in run.samples()})
    ends, half = updates[::2], evaluations[::2]
    extents = (
        Extent(updates, 3),
        Extent(ends, 3),
        Extent(ends, 2, half),
        Extent(ends, 1, half),
        Extent(ends[-1:], 1, half),
        Extent(ends[:1], 1, half),
    )
    for extent in extents:
        size = record(run, preset, folder, extent)
        if size <= MOST_BYTES:
            return size
    raise SystemExit(f"{run.path} is too large for a recording.")


def example_of_rewards(service: ModelService, outputs: Path) -> BenchData:
    """What the Rewards page shows once its own texts are scored by the reward of the default preset."""
    values = form.values_of(catalog.preset(catalog.DEFAULT_PRESET))
    fields = {field: value for field, value in values.items() if field.startswith(workbench_part.FORM_GROUPS)}
    prompt, texts = workbench_part.FIRST_PROMPT, workbench_part.FIRST_TEXTS
    *_, answer = workbench_part.scored(service, outputs, values["rewards"], prompt, texts, fields)
    return answer


def record(
    run: RunDirectory,
    preset: str,
    folder: Path,
    extent: Extent | None = None,
    data: Mapping[str, Any] | None = None,
) -> int:
    """Write the recording of a run; its bytes. `data`: settings that say what it was trained on, in the place of files
    of this machine. Raises: SystemExit, where it has not finished or is not as its preset."""
    config, ours, status = run.config(), catalog.preset(preset), run.status_on_disk()
    own = ("prompts.", "evaluation.prompts") if data else ()
    differing = [field for field in differences(config, ours) if field != "seed" and not field.startswith(own)]
    if status.state != "finished" or differing:
        sys.exit(f"{run.path} is {status.state}, and differs from {preset} in {', '.join(differing) or 'nothing'}.")
    extent = extent or Extent.of_preset(preset)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    changes = [f"{field}={value}" for field, value in (data or {}).items()]
    words = yaml_io.load(catalog.preset_path(preset), [*changes, f"seed={config.seed}"])
    (folder / run.config_path.name).write_text(words.to_yaml(), encoding="utf-8")
    (folder / run.status_path.name).write_text(status.model_copy(update=OF_A_MACHINE).model_dump_json() + "\n")
    stays: dict[Path, Callable[[dict[str, Any]], bool]] = {
        run.metrics_path: bool,
        run.samples_path: bool,
        run.evaluations_path: bool,
        run.tokens_path: extent.has_tokens,
        run.events_path: extent.has_event,
    }
    for path, stays_here in stays.items():
        if path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            pack(folder / path.name, [line for line in lines if stays_here(json.loads(line))])
    rollouts = run.rollouts() if extent.texts else []
    if texts := [to_json_line(rollout.fewer(extent.texts)).encode() for rollout in rollouts]:
        pack(folder / run.rollouts_path.name, texts)
    for path in sorted(run.traces_path.glob("*.json")):
        if extent.has_trace(int(path.stem.rpartition("-")[2])):
            pack(folder / path.relative_to(run.path), [path.read_bytes()])
    if (run.path / frontier_samples.NAME).exists():
        shutil.copy(run.path / frontier_samples.NAME, folder)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pack(path: Path, parts: Sequence[bytes]) -> None:
    """Write `<path>.gz`."""
    path.parent.mkdir(exist_ok=True)
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(b"".join(parts), 9, mtime=0))


if __name__ == "__main__":
    main()

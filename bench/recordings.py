"""Make the recordings that the page plays where nothing trains: `make recordings`, after `make results`.

Each is a finished run of a preset with one seed, without its weights and without anything of the machine that made it:
a run directory whose lines are packed. That of the default preset is whole, and texts are drawn for it that show what
was possible; the others keep a few answers token by token and no update in slow motion, to be small. All keep a few
training texts of each update. What the preset says of itself is taken from the preset as it is now; all else must be as
the preset has it. The example of the Rewards page is scored anew. bench/mysteries.py makes those of the mystery runs.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from playground.config import differences  # noqa: E402
from playground.runs import frontier_samples  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.runs.folder.records import TRACE, to_json_line  # noqa: E402
from playground.runs.model_service import ModelService  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.ui.payloads.rewards import BenchData  # noqa: E402
from playground.ui.rewards import workbench_part  # noqa: E402
from playground.ui.train import form  # noqa: E402

EXAMPLE = PROJECT / "playground" / "ui" / "static" / "rewards" / "example.json"
FEW_ANSWERS = 3  # prompts whose answers stay token by token in a recording
FEWER_ANSWERS = 1  # the same, of a run that only a lesson needs
FEW_TEXTS = 6  # training texts of an update that stay
OF_A_MACHINE = {"pid": 0, "pid_started_at": 0.0, "pid_ticks": 0, "boot_id": ""}


def main() -> None:
    """One recording for each preset that ships with its model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="*", default=catalog.names_with_model())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "results", help="as of `make results`")
    parser.add_argument("--to", type=Path, default=catalog.RECORDED)
    arguments = parser.parse_args()
    for preset in arguments.presets:
        found = sorted((arguments.outputs / f"{preset}-seed{arguments.seed}").glob("*/config.yaml"))
        if not found:
            sys.exit(f"There is no run of {preset} with seed {arguments.seed} in {arguments.outputs}.")
        run = RunDirectory.open(max(found, key=lambda path: path.stat().st_mtime).parent)
        if preset == catalog.DEFAULT_PRESET and frontier_samples.read(run) is None:
            with contextlib.closing(ModelService(run.path.parent)) as service:
                list(frontier_samples.draw(run, service))
        size = record(run, preset, arguments.to / preset)
        print(f"{preset}: {size:,} bytes")
    with tempfile.TemporaryDirectory() as outputs, contextlib.closing(ModelService(Path(outputs))) as service:
        EXAMPLE.write_text(json.dumps(example_of_rewards(service, Path(outputs))) + "\n", encoding="utf-8")


def example_of_rewards(service: ModelService, outputs: Path) -> BenchData:
    """What the Rewards page shows once its own texts are scored by the reward of the default preset."""
    values = form.values_of(catalog.preset(catalog.DEFAULT_PRESET))
    asked = {field: value for field, value in values.items() if field.startswith(workbench_part.FORM_GROUPS)}
    prompt, texts = workbench_part.FIRST_PROMPT, workbench_part.FIRST_TEXTS
    *_, answer = workbench_part.scored(service, outputs, values["rewards"], prompt, texts, asked)
    return answer


def record(
    run: RunDirectory,
    preset: str,
    folder: Path,
    traced: Sequence[int] = (),
    answers: int | None = None,
    looks: Sequence[int] | None = None,
) -> int:
    """Write the recording of a run; its bytes. `traced`: the updates whose slow motion is kept; `answers`: of how many
    prompts the answers are kept token by token (None: a few), at these `looks` (None: at all).

    Raises:
        SystemExit: the run has not finished, or is not as its preset.
    """
    config, wanted, status = run.config(), catalog.preset(preset), run.status_on_disk()
    differing = [field for field in differences(config, wanted) if field != "seed"]
    if status.state != "finished" or differing:
        sys.exit(f"{run.path} is {status.state}, and differs from {preset} in {', '.join(differing) or 'nothing'}.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    told = wanted.model_copy(update={"seed": config.seed})
    (folder / run.config_path.name).write_text(told.to_yaml(), encoding="utf-8")
    (folder / run.status_path.name).write_text(status.model_copy(update=OF_A_MACHINE).model_dump_json() + "\n")
    whole = preset == catalog.DEFAULT_PRESET
    if answers is None:
        answers = FEWER_ANSWERS if preset in catalog.lesson_preset_names() else FEW_ANSWERS
    kept: dict[Path, Callable[[dict[str, Any]], bool]] = {
        run.metrics_path: bool,
        run.samples_path: bool,
        run.evaluations_path: bool,
        run.tokens_path: lambda line: (
            whole or (line["prompt_id"] < answers and (looks is None or line["update"] in looks))
        ),
        run.events_path: lambda line: whole or line["kind"] != TRACE or line["update"] in traced,
    }
    for path, wanted_line in kept.items():
        if path.exists():
            lines = [line for line in path.read_bytes().splitlines(keepends=True) if wanted_line(json.loads(line))]
            pack(folder / path.name, b"".join(lines))
    if texts := [to_json_line(one.fewer(FEW_TEXTS)) for one in run.rollouts()]:
        pack(folder / run.rollouts_path.name, "".join(texts).encode())
    for path in sorted(run.traces_path.glob("*.json")):
        if whole or int(path.stem.rpartition("-")[2]) in traced:
            pack(folder / path.relative_to(run.path), path.read_bytes())
    if (run.path / frontier_samples.NAME).exists():
        shutil.copy(run.path / frontier_samples.NAME, folder)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pack(path: Path, content: bytes) -> None:
    """Write `<path>.gz`."""
    path.parent.mkdir(exist_ok=True)
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main()

"""The chapter's exercise, done: a reward model of pairs of HH-RLHF, PPO against it, its recording and docs/hh.md:
`make hh ARGS=FILE`.

FILE is harmless-base/test.jsonl.gz of Anthropic/hh-rlhf (MIT), wherever it lies: it holds texts that no class should
meet. The fixed prompts are dialogues of its share 85-100, which neither judge nor policy learns from, and which were
read and found fit for one. Only these, and what was answered, are in the recording.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from bench import experiments
from bench.experiments import Cell, options
from playground.data import dialogues
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog

PRESET, JUDGE = "hh-exercise", "hh-judge"
JUDGE_FILE = catalog.JUDGES / f"{JUDGE}.yaml"
FIXED_SHARE = "85-100"
FIXED_ROWS = (  # of the file, counted from 1
    495, 493, 642, 649, 471, 710, 782, 825, 884, 979, 999, 1015, 1127, 1196, 1212, 1560, 1607, 1893, 1894, 1944, 1998,
    2034, 2147, 2169,
)  # fmt: skip
IN_RECORDING = {"prompts.subset": "harmless-base", "prompts.split": "test"}  # what the file is, on the hub


def main() -> None:
    """Train what is missing, measure it, record it, write the page."""
    parser = options(__doc__, outputs=experiments.OUTPUTS / "hh")
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    outputs: Path = arguments.outputs.resolve()
    outputs.mkdir(parents=True, exist_ok=True)
    pairs = arguments.file.resolve()
    if arguments.again or not (outputs / catalog.REWARD_MODELS / JUDGE / catalog.REWARD_CARD).exists():
        of_file = ("--pairs", pairs, "--set", "pairs.subset=null")
        experiments.playground("reward-train", JUDGE_FILE, *of_file, "--outputs", outputs, "--replace")
    fixed = write_fixed_prompts(pairs, outputs / "hh-fixed.jsonl")
    changes = (f"prompts.source={pairs}", "prompts.subset=null", f"evaluation.prompts={fixed}")
    run = trained(Cell(PRESET, 0, changes), outputs, arguments.again)
    print(run.path)


def write_fixed_prompts(pairs: Path, to: Path) -> Path:
    """The dialogues of `FIXED_ROWS`, up to their last answer. Raises: SystemExit, for one of another share."""
    with gzip.open(pairs, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    prompts = [dialogues.prompt_of(rows[number - 1]["chosen"], "chosen") for number in FIXED_ROWS]
    if not all(dialogues.is_in_share(prompt, FIXED_SHARE) for prompt in prompts):
        sys.exit(f"{pairs.name} is another file than the one that was read: its rows differ.")
    to.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts), encoding="utf-8")
    return to


def trained(cell: Cell, outputs: Path, again: bool) -> RunDirectory:
    """The newest finished run of these settings in the outputs folder, where the judge lies, or a new one."""
    settings = outputs / f"{PRESET}.yaml"
    settings.write_text(cell.config.to_yaml(), encoding="utf-8")
    runs = [RunDirectory.open(path.parent) for path in outputs.glob(f"{PRESET}-*/config.yaml")]
    done = [run for run in runs if run.status().state == "finished"]
    if again or not done:
        run_id = f"{PRESET}-{len(runs)}"
        experiments.playground("train", settings, "--outputs", outputs, "--run-id", run_id, "--json")
        return RunDirectory.open(outputs / run_id)
    return max(done, key=lambda run: run.status().started_at or 0)


if __name__ == "__main__":
    main()

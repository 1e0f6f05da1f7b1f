"""Train every preset on three seeds and write what came out to docs/results.md: `make results`.

Each run goes through the public command line, as a user would start it. The figures come from prompts that the run
never sees, cut from one list with those that it does. The untrained and the trained weights answer them with the same
random numbers, judged by the pocket world's own judges, which no preset trains on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import torch  # noqa: E402

from bench import results_page  # noqa: E402
from bench.machine import processor_name  # noqa: E402
from playground.config import RunConfig  # noqa: E402
from playground.config.behaviour_settings import READY  # noqa: E402
from playground.pocket import judges  # noqa: E402
from playground.pocket.wording import distinct_n  # noqa: E402
from playground.rewards import behaviours  # noqa: E402
from playground.rewards.best_answers import kl_of_best  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data.prompts import NUM_UNSEEN, Prompt, unseen  # noqa: E402
from playground.training.data.random_streams import derived_seed  # noqa: E402
from playground.training.loop import evaluation  # noqa: E402
from playground.training.loop.scoring import Scorer  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.rewards import learned_rewards  # noqa: E402

COUNTED = [name for name, _ in results_page.COLUMNS if name in READY]


def main() -> None:
    """Run, measure, write the table. What was measured before and is not run again keeps its line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="*", default=catalog.names_with_model())
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "results")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once; more than 1 makes the seconds worthless")
    parser.add_argument("--set", action="append", default=[], help="path=value for every run")
    parser.add_argument("--json", type=Path, default=results_page.PRESETS)
    parser.add_argument("--page", type=Path, default=results_page.PAGE)
    arguments = parser.parse_args()
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    rows = {(row["preset"], row["seed"]): row for row in results_page.read(arguments.json).get("runs", [])}
    order = catalog.every_preset_name()
    wanted = [(name, seed) for seed in arguments.seeds for name in arguments.presets]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        trained = pool.map(lambda run: train(*run, arguments.outputs, arguments.set), wanted)
        for (preset, seed), (run, seconds) in zip(wanted, trained, strict=True):
            row = {"preset": preset, "seed": seed, "seconds": None if arguments.jobs > 1 else seconds, **judge(run)}
            print(json.dumps(row), flush=True)
            rows[row["preset"], row["seed"]] = row
            ordered = sorted(rows.values(), key=lambda row: (order.index(row["preset"]), row["seed"]))
            report = {"machine": machine(), "runs": ordered}
            arguments.json.write_text(json.dumps(report, indent=1) + "\n")
            for name, bands in results_page.bands(ordered, catalog.lesson_preset_names()).items():
                results_page.write_bands(catalog.preset_path(name), bands)
            arguments.page.write_text(results_page.page(report, results_page.read(results_page.FRONTIER)))
    print(f"wrote {arguments.page}")


def train(preset: str, seed: int, outputs: Path, overrides: Sequence[str] = ()) -> tuple[RunDirectory, float]:
    """Train one preset with one seed in a process of its own; the run, and the seconds of the whole command."""
    outputs = outputs / f"{preset}-seed{seed}"  # one folder for each: a folder has one run at a time
    run_id = f"{preset}-seed{seed}-{time.time_ns() % 10**9}"
    command = [
        sys.executable,
        "-m",
        "playground",
        "train",
        str(catalog.preset_path(preset)),
        "--set",
        f"seed={seed}",
        "--outputs",
        str(outputs),
        "--run-id",
        run_id,
        "--json",
    ]
    for override in overrides:
        command += ["--set", override]
    clock = time.perf_counter()
    subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    return RunDirectory.open(outputs / run_id), round(time.perf_counter() - clock, 1)


def newest(folder: Path) -> RunDirectory | None:
    """The last finished run of a folder."""
    runs = [RunDirectory.open(path.parent) for path in sorted(folder.glob("*/config.yaml"))]
    return next((run for run in reversed(runs) if run.status().state == "finished"), None)


def judge(run: RunDirectory) -> dict[str, Any]:
    """Untrained and trained weights on the prompts that the run never sees. `asked`: of how many of them each share is;
    `errors`: of the gain in score and of the KL, their standard errors over the prompts."""
    config, checkpoint = run.config(), run.latest_checkpoint()
    assert checkpoint is not None
    device = torch.device("cpu")
    reference, tokens = loading.load(catalog.model_folder(config.model.source), device)
    policy, _ = loading.load(checkpoint, device)
    facts = json.loads((checkpoint / "trainer.json").read_text())
    builder = learned_rewards.builder(device, run.path.parent, "reward-format" in config.faults)
    scorer = Scorer(config, build=builder).restore(facts)
    texts = asked_of(config)
    asked = [Prompt(text, tokens.encode(text)) for text in texts]
    seeds = [derived_seed(config.seed, "fresh", number) for number in range(len(asked))]
    result: dict[str, Any] = {"prompts": len(asked)}
    measured_to = policy if "aliased-reference" in config.faults else reference  # as the run itself does
    scores_of: dict[str, Sequence[float]] = {}
    for side, model, other, tries in (
        ("before", reference, None, 1),
        ("after", policy, measured_to, config.answers_each),
    ):
        written = []  # score, KL, completion, ended, tokens; of the best of n all answers to a prompt
        for number in range(tries):
            own = [evaluation.answered(seed, number) for seed in seeds]
            episodes, kl = evaluation.answer(
                model, other, asked, own, evaluation.Generation(tokens, config.sampling, 100)
            )
            completions, ended = episodes.texts(tokens), episodes.ended.tolist()
            scores = scorer(texts, completions, ended).scores
            written.append(list(zip(scores, kl, completions, ended, episodes.lengths.tolist(), strict=True)))
        every = list(zip(*written, strict=True))
        best = [max(answers, key=lambda answer: answer[0]) for answers in every]
        score, kl, completions, ended, length = zip(*best, strict=True)
        if tries > 1:
            kl = tuple(kl_of_best([answer[0] for answer in answers], tries) for answers in every)
        figures = {"score": statistics.fmean(score), "kl": statistics.fmean(kl)}
        figures |= judged(texts, completions, ended)
        figures["tokens"] = statistics.fmean(length)
        result[side] = {name: None if value is None else round(value, 3) + 0.0 for name, value in figures.items()}
        scores_of[side] = score
    gains = [after - before for before, after in zip(scores_of["before"], scores_of["after"], strict=True)]
    result["errors"] = {name: round(standard_error(values), 4) for name, values in (("score", gains), ("kl", kl))}
    if measured_to is policy:
        _, kl = evaluation.answer(policy, reference, asked, seeds, evaluation.Generation(tokens, config.sampling, 100))
        result["kl_to_start"] = round(statistics.fmean(kl), 3)
    result["asked"] = {name: len(found) for name in COUNTED if (found := marks(name, texts, completions, ended))}
    return result


def asked_of(config: RunConfig) -> list[str]:
    """Prompts that the run never sees; of typed ones the same, answered anew."""
    if config.prompts.source == catalog.TYPED:
        return list(config.prompts.typed) * (NUM_UNSEEN // len(config.prompts.typed))
    return unseen(config.prompts, config.evaluation.num_prompts, config.seed)


def standard_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return statistics.stdev(values) / len(values) ** 0.5


def judged(texts: Sequence[str], completions: Sequence[str], ended: Sequence[bool]) -> dict[str, float | None]:
    """What the world's judges say of a batch; of a behaviour its share from 0 to 1, None where it was not asked."""
    figures: dict[str, float | None] = {
        "quality": statistics.fmean(judges.quality(*pair).score for pair in zip(texts, completions, strict=True)),
        "distinct_2": distinct_n(completions, 2),
    }
    for name in COUNTED:
        found = marks(name, texts, completions, ended)
        figures[name] = statistics.fmean(found) if found else None
    return figures


def marks(name: str, texts: Sequence[str], completions: Sequence[str], ended: Sequence[bool]) -> list[bool]:
    """Whether each completion that is asked for a behaviour shows it."""
    found = (behaviours.mark(name, *text) for text in zip(texts, completions, ended, strict=True))
    return [mark for mark in found if mark is not None]


def machine() -> str:
    """Processor, cores and versions, in one line."""
    return f"{processor_name()}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}"


if __name__ == "__main__":
    main()

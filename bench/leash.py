"""One experiment at sixteen leashes: `make leash`. Finds or trains the runs, and writes docs/leash.md and what the part
"Turn the leash" of the Lessons page shows.

What is possible at each KL is estimated from texts of the reference and of all trained policies of the first seed
together (`analysis.against_kl`), so that it reaches as far as the longest leash went.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
import torch  # noqa: E402

from bench import frontier, leash_page, results  # noqa: E402
from playground.analysis import against_kl, meters, regimes  # noqa: E402
from playground.analysis.path import path_of  # noqa: E402
from playground.lessons import boards  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.runs.folder.records import Sample  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data.prompts import Prompt  # noqa: E402
from playground.training.loop.scoring import Scorer  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.process.tuning import limit_threads  # noqa: E402

PRESET = "kinder-reviews"
BETAS = (0.0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0, 1.4, 2.0, 3.0, 5.0)
SEEDS = (0, 1, 2)
COUNTED = ("positive", "parses", "ends")
TEXTS = 8  # fixed prompts whose texts are shown
EACH = 4  # texts of each fixed prompt from each policy, for what is possible
POSSIBLE = tuple(2.0 ** (step / 4) for step in range(-18, 14))  # betas of the points on that line


def of_run(run: RunDirectory, beta: float) -> dict[str, Any]:
    """What is kept of a run: its evaluations on the fixed prompts, and what was counted before and after."""
    config, samples = run.config(), run.samples()
    path = path_of(samples)
    counts = {
        meter.name: {"before": meter.before.yes, "after": meter.after.yes, "of": meter.after.of}
        for meter in meters.at_ends(config, samples)
        if meter.name in COUNTED
    }
    return {
        "beta": beta,
        "seed": config.seed,
        "updates": [point.update for point in path],
        "score": [round(point.gain or 0.0, 3) for point in path],
        "kls": [round(point.kl, 3) for point in path],
        "gain": round(path[-1].gain or 0.0, 4),
        "kl": round(path[-1].kl, 4),
        "counts": counts,
    }


def shown(samples: Sequence[Sample], stage: str) -> list[str]:
    """The texts of the first fixed prompts."""
    last = max(item.update for item in samples if item.stage == stage)
    found = {item.prompt_id: item for item in samples if item.stage == stage and item.update == last}
    return [found[number].completion for number in sorted(found)[:TEXTS]]


def possible(runs: Sequence[RunDirectory]) -> list[dict[str, Any]]:
    """The estimated best of one seed: score above the reference's and KL, for betas from the largest on."""
    first, device = runs[0].config(), torch.device("cpu")
    reference, tokens = loading.load(catalog.model_folder(first.model.source), device)
    limit_threads(reference)
    checkpoints = [folder for run in runs if (folder := run.latest_checkpoint())]
    models = [reference, *(loading.load(folder, device)[0] for folder in checkpoints)]
    facts = json.loads((checkpoints[0] / "trainer.json").read_text())
    scorer = Scorer(first).restore(facts)
    before = {item.prompt_id: item.prompt for item in runs[0].samples() if item.stage == "before"}
    texts = [before[number] for number in sorted(before)]
    prompts = [Prompt(text, tokens.encode(text)) for text in texts]
    drawn = frontier.draw(models, tokens, prompts, EACH, first.sampling)
    asked = [text for text in texts for _ in range(len(models) * EACH)]
    scores = np.array(scorer(asked, drawn.texts, drawn.ended).scores).reshape(len(texts), -1)
    start = float(against_kl.reweighted(drawn.log_probs, scores, 1e9).score.mean())
    points = against_kl.curve(drawn.log_probs, scores, POSSIBLE)
    known = len(against_kl.trusted(points))
    return [
        {
            "beta": round(point.beta, 4),
            "score": round(point.score - start, 3),
            "kl": round(point.kl, 3),
            "known": number < known,
        }
        for number, point in enumerate(points)
    ]


def main() -> None:
    """Find or train, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "leash")
    parser.add_argument("--only-there", action="store_true", help="train nothing: take the runs that are there")
    arguments = parser.parse_args()
    found = [
        (beta, run)
        for seed in SEEDS
        for beta in BETAS
        if (run := leash_page.run_of(PRESET, beta, seed, arguments.outputs, train=not arguments.only_there))
    ]
    first = [(beta, run) for beta, run in found if run.config().seed == SEEDS[0]]
    lines = [of_run(run, beta) for beta, run in found]
    known = dict(first)[catalog.preset(PRESET).kl.coef]
    samples = known.samples()
    before = {item.prompt_id: item for item in samples if item.stage == "before"}
    marks = regimes.regimes(regimes.measured(samples, known.metrics()), len(before))
    data = {
        "preset": PRESET,
        "beta": known.config().kl.coef,
        "tight": marks and marks.tight,
        "loose": marks and marks.loose,
        "asked": list(boards.ASKED),
        "behaviours": [
            {"name": meter.name, "words": meter.words}
            for meter in meters.at_ends(known.config(), samples)
            if meter.name in COUNTED
        ],
        "prompts": [before[number].prompt for number in sorted(before)[:TEXTS]],
        "before": shown(samples, "before"),
        "leashes": [
            {
                "beta": beta,
                "texts": shown(run.samples(), "after"),
                "runs": [one for one in lines if one["beta"] == beta],
            }
            for beta, run in first
        ],
        "possible": possible([run for _, run in first]),
    }
    leash_page.write("leash", data)
    for beta in boards.ASKED:
        leash_page.keep_model(dict(first)[beta], boards.asked_folder(beta))
    leash_page.LEASH_PAGE.write_text(leash_page.leash_page(lines, results.machine()))
    print(f"wrote {leash_page.LEASH_PAGE}")


if __name__ == "__main__":
    main()

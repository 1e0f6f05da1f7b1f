"""Take every method to the same reward on three seeds, compare them at the same distance: `make methods`.

Their presets have the same reward, prompts and number of texts. A method with a leash is trained at several, so that
runs end on both sides of the distance at which they are compared: what a longer run had on its way is no end, as it was
still learning. What was measured before and is not trained again keeps its line in bench/results/methods.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import leash_page, results_page  # noqa: E402
from bench.results import machine  # noqa: E402
from playground.analysis import compute  # noqa: E402
from playground.analysis.path import PathPoint, at, path_of  # noqa: E402
from playground.setup import catalog  # noqa: E402

PRESETS = ("kinder-reviews", "without-critic", "group-scores", "from-pairs", "best-texts", "best-of-n")
SHORTER = {  # further leashes, at which a method ends nearer
    "kinder-reviews": (0.5, 0.75),
    "without-critic": (0.5, 0.75),
    "group-scores": (0.5, 0.75),
    "from-pairs": (2.0, 3.0),
}
MEASURE = "best-texts"  # has no leash: where it ends, the others are compared
AVERAGED = ("tokens", "tokens_trained", "operations")
COLUMNS = (
    "method",
    "gain at the end, sd",
    "KL at the end, nats",
    "gain at equal KL, sd",
    "mean",
    "texts",
    "tokens written",
    "tokens trained on",
    "arithmetic",
    "memory, GB",
    "texts an answer",
)


def main() -> None:
    """Train what is missing, compare, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "methods")
    parser.add_argument("--json", type=Path, default=PROJECT / "bench" / "results" / "methods.json")
    parser.add_argument("--page", type=Path, default=PROJECT / "docs" / "methods.md")
    arguments = parser.parse_args()
    kept = {(row["preset"], row["beta"], row["seed"]): row for row in results_page.read(arguments.json).get("rows", [])}
    rows = []
    for preset in PRESETS:
        for beta in (catalog.preset(preset).kl.coef, *SHORTER.get(preset, ())):
            for seed in arguments.seeds:
                rows.append(kept.get((preset, beta, seed)) or measured(preset, beta, seed, arguments.outputs))
    report = {"machine": machine(), "rows": rows}
    arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    arguments.page.write_text(page(report), encoding="utf-8")
    print(f"written: {arguments.json}, {arguments.page}", file=sys.stderr)


def measured(preset: str, beta: float, seed: int, outputs: Path) -> dict[str, Any]:
    """One run, found or trained: where it ended, and what it cost. Of the best of n, also where fewer would have."""
    run = leash_page.run_of(preset, beta, seed, outputs)
    assert run is not None
    config, path = run.config(), path_of(run.samples(), run.events())
    cost = compute.bill(config, run.metrics(), run.events())
    assert cost is not None
    ends = path if config.method == "best_of_n" else [path[-1]]
    return {
        "preset": preset,
        "method": config.method,
        "beta": beta,
        "seed": seed,
        "ends": [{"kl": point.kl, "gain": point.gain, "half": point.gain_half} for point in ends if point.kl],
        **cost._asdict(),
    }


def gain_at(rows: Sequence[dict[str, Any]], seed: int, kl: float) -> float | None:
    """The gain at a distance, between the two nearest ends of runs with a seed, or between one and the start."""
    ends = [end for row in rows if row["seed"] == seed for end in row["ends"]]
    points = [PathPoint(0, end["kl"], end["gain"], None, end["gain"]) for end in ends]
    point = at([PathPoint(0, 0.0, 0.0, None, 0.0), *points], kl)
    return point and point.gain


def _line(preset: str, rows: Sequence[dict[str, Any]], distances: Mapping[int, float]) -> str:
    """A line of the table. Its first rows are of the preset as it is; `distances`: where each seed is compared."""
    own = [row for row in rows if row["beta"] == rows[0]["beta"]]
    gains = [gain_at(rows, seed, kl) for seed, kl in distances.items()]
    reached = [gain for gain in gains if gain is not None]
    mean = {name: statistics.fmean(row[name] for row in own) for name in AVERAGED}
    cells = [
        f"{catalog.preset(preset).about.title} (`{rows[0]['method']}`)",
        ", ".join(f"{row['ends'][-1]['gain']:.2f}" for row in own),
        ", ".join(f"{row['ends'][-1]['kl']:.1f}" for row in own),
        ", ".join("not so far" if gain is None else f"{gain:.2f}" for gain in gains),
        f"**{statistics.fmean(reached):.2f}**" if len(reached) == len(gains) else "",
        f"{own[0]['texts']:,}",
        f"{mean['tokens']:,.0f}",
        f"{mean['tokens_trained']:,.0f}",
        compute.operations_in_words(mean["operations"]),
        f"{max(row['memory_gb'] for row in own):.2f}",
        str(own[0]["answers"]),
    ]
    return "| " + " | ".join(cells) + " |"


def page(report: dict[str, Any]) -> str:
    """docs/methods.md."""
    by_preset: dict[str, list[dict[str, Any]]] = {}
    for row in report["rows"]:
        by_preset.setdefault(row["preset"], []).append(row)
    seeds = sorted({row["seed"] for row in report["rows"]})
    distances = {row["seed"]: row["ends"][-1]["kl"] for row in by_preset[MEASURE]}
    lines = [_line(preset, rows, distances) for preset, rows in by_preset.items()]
    where = ", ".join(f"{distances[seed]:.2f}" for seed in seeds)
    halves = [end["half"] for row in report["rows"] for end in row["ends"] if end["kl"] < 2 * max(distances.values())]
    leashes = "; ".join(
        f"`{preset}` {', '.join(f'{beta:g}' for beta in sorted({row['beta'] for row in rows}))}"
        for preset, rows in by_preset.items()
        if preset in SHORTER
    )
    head = "| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS)
    table = "\n".join(lines)
    return f"""# Other methods for the same reward

Written by `make methods` on {report["machine"]}.
Their presets with seeds {", ".join(map(str, seeds))}: same start model, prompts and reward
(sentiment), in units of its standard deviation before training. Gains are on the 64 fixed prompts, which no run
was trained on, with the same random numbers before and after; the 95 % interval of one gain near the shared distance is
plus or minus {min(halves):.2f} to {max(halves):.2f}. A method that drifts further has more score, so the gains of the
presets are no comparison. *At equal KL* they are compared where imitation, which has no leash, ended with that seed
({where} nats): runs with several leashes end on both sides of it, and the gain is read between these ends
(beta: {leashes}).
A run that is only passing there has less, as it is still learning.

{head}
{table}

Texts, tokens and arithmetic are what the preset itself spends before the first answer (fixed prompts left out); the
last column is what each answer costs afterwards; memory is that of the process at most, PyTorch included. The KL of the
best of n is that of the choice by score, the sum of q log(q / p) over the
levels of the reward. [results.md](results.md) judges the same runs on prompts that they never saw.

How to read it: at a small distance the best of n is near the best that there is, for no training at all and n times the
cost of every answer forever. PPO, RLOO and GRPO are near each other, and above imitation and pairs. DPO and SFT learn
from what the start model writes, so they get far only as long as the model already writes it sometimes; PPO, RLOO and
GRPO write, learn and write again, and go on where the others end. One reward, one small model and one number of texts:
it is an example of the trade, not a ranking of the methods.

## The methods

`method` chooses one; a setting that a method does not read says so in the form.

- `ppo`, `rloo`, `grpo`: one loop ([ppo.md](ppo.md)); they differ in `ppo.baseline` and `ppo.samples_per_prompt`. The
  leash stays in the reward for all three; GRPO as published has it in the loss.
- `dpo`: TRL's `DPOTrainer` on pairs that the start model writes as they are needed and the run's reward judges.
  `kl.coef` is its beta. With `dpo.labels: drawn` (odds of exp(score), Bradley and Terry) its optimum is that of PPO at
  the same beta, which a test holds it to; with `better` the higher score always wins, more is learned from each pair,
  and the leash is no longer worth what it says.
- `sft`: TRL's `SFTTrainer` on the best of `ppo.samples_per_prompt` texts of each prompt; its limit is the distribution
  of the best of n, which a test holds it to. There is no leash. To try what the reference should be, save such a
  model ("Save the model") and name its folder as the model of a PPO run, once with the reference `start` (the leash is
  tied to the imitated model) and once with the base model's name (it is tied to where that one came from).
- `best_of_n`: nothing is trained; n is `ppo.samples_per_prompt`.
- `steer`: nothing is trained either. The start model writes `ppo.samples_per_prompt` texts for each of
  `steering.num_prompts` prompts; the vector is the mean difference, in the residual stream behind `steering.layer` and
  over the completion's tokens, between the better- and the worse-scored of two texts of a prompt, weighted by how far
  their scores are apart (contrastive activation addition, Panickssery et al. 2023, with the run's reward in the place
  of written pairs). It is added where a token of the completion is predicted: at the last token of the prompt and
  behind. The updates turn the dial from 0 to `steering.strength` (1 is the vector as it is, below 0 leads to the worse
  texts), so every evaluation of the fixed prompts is one setting of it; log-probs and KL are of the model with the
  vector in place, the perplexity of held-out text with it at every token. Several runs with `steering.layer` show the
  layers, or `python -m bench.steering_table presets/steering.yaml` all of them at once. The vector is no part of the
  weights: a checkpoint holds it beside them, and a saved model brings a script that adds it.

Runs of DPO and SFT cannot be resumed, as TRL's trainers take no checkpoint here.
"""


if __name__ == "__main__":
    main()

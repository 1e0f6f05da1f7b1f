"""Take every method to the same reward on three seeds, compare them at the same distance: `make methods`.

Their presets have the same reward, prompts and number of texts. Runs of `make results` are taken where they are there,
and made as it makes them where not. What each had gained when it was as far from the reference as the one that went
least far, and what that cost, is written to docs/methods.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.frontier import finished  # noqa: E402
from bench.results import machine, train  # noqa: E402
from playground.analysis import compute  # noqa: E402
from playground.analysis.path import at, path_of, reach  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.setup import catalog  # noqa: E402

PRESETS = ("kinder-reviews", "without-critic", "group-scores", "from-pairs", "best-texts", "best-of-n")
AVERAGED = ("gain_there", "tokens", "tokens_trained", "operations")
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
    """Run, compare, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "results")
    parser.add_argument("--json", type=Path, default=PROJECT / "bench" / "results" / "methods.json")
    parser.add_argument("--page", type=Path, default=PROJECT / "docs" / "methods.md")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for seed in arguments.seeds:
        there = {preset: finished(preset, seed, arguments.outputs) for preset in PRESETS}
        rows += of_seed(
            seed, {preset: run or train(preset, seed, arguments.outputs)[0] for preset, run in there.items()}
        )
    report = {"machine": machine(), "rows": rows}
    arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    arguments.page.write_text(page(report), encoding="utf-8")
    print(f"written: {arguments.json}, {arguments.page}", file=sys.stderr)


def of_seed(seed: int, runs: dict[str, RunDirectory]) -> list[dict[str, Any]]:
    """One row for each preset of a seed: at its end, and where all methods of that seed have been."""
    paths = {preset: path_of(run.samples(), run.events()) for preset, run in runs.items()}
    reached = reach(paths.values())
    assert reached is not None, "a run did not move"
    rows = []
    for preset, run in runs.items():
        end, there = max(paths[preset], key=lambda point: point.kl), at(paths[preset], reached)
        cost = compute.bill(run.config(), run.metrics(), run.events())
        assert there is not None
        assert cost is not None
        rows.append(
            {
                "preset": preset,
                "method": run.config().method,
                "seed": seed,
                "gain": end.gain,
                "half": end.gain_half,
                "kl": end.kl,
                "reached": reached,
                "gain_there": there.gain,
                "half_there": there.gain_half,
                **cost._asdict(),
            }
        )
    return rows


def page(report: dict[str, Any]) -> str:
    """docs/methods.md."""
    by_preset: dict[str, list[dict[str, Any]]] = {}
    for row in report["rows"]:
        by_preset.setdefault(row["preset"], []).append(row)
    lines = []
    for preset, rows in by_preset.items():
        mean = {name: statistics.fmean(row[name] for row in rows) for name in AVERAGED}
        cells = [
            f"{catalog.preset(preset).about.title} (`{rows[0]['method']}`)",
            ", ".join(f"{row['gain']:.2f}" for row in rows),
            ", ".join(f"{row['kl']:.1f}" for row in rows),
            ", ".join(f"{row['gain_there']:.2f}" for row in rows),
            f"**{mean['gain_there']:.2f}**",
            f"{rows[0]['texts']:,}",
            f"{mean['tokens']:,.0f}",
            f"{mean['tokens_trained']:,.0f}",
            compute.operations_in_words(mean["operations"]),
            f"{max(row['memory_gb'] for row in rows):.2f}",
            str(rows[0]["answers"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    first = report["rows"][0]
    seeds = [row for row in report["rows"] if row["preset"] == first["preset"]]
    where = ", ".join(f"{row['reached']:.2f}" for row in seeds)
    halves = [row["half_there"] for row in report["rows"]]
    head = "| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS)
    table = "\n".join(lines)
    return f"""# Other methods for the same reward

Written by `make methods` on {report["machine"]}.
Their presets with seeds {", ".join(str(row["seed"]) for row in seeds)}: same start model, prompts and reward
(sentiment), in units of its standard deviation before training. Gains are on the 64 fixed prompts, which no run
was trained on, with the same random numbers before and after; the 95 % interval of a gain at the shared distance is
plus or minus {min(halves):.2f} to {max(halves):.2f}. A method that drifts further has more score, so scores at the end
are no comparison: *at equal KL* each is read off its own way where all of that seed have been ({where} nats).

{head}
{table}

Texts, tokens and arithmetic are what is spent before the first answer (fixed prompts left out); the
last column is what each answer costs afterwards; memory is that of the process at most, PyTorch included. The KL of the
best of n is that of the choice by score, the sum of q log(q / p) over the
levels of the reward. [results.md](results.md) judges the same runs on prompts that they never saw.

How to read it: at a small distance the best of n is near the best that there is, for no training at all and n times the
cost of every answer forever. DPO and SFT learn from what the start model writes, so they get far only as long as the
model already writes it sometimes; PPO, RLOO and GRPO write, learn and write again, and go on where the others end. One
reward, one small model and one number of texts: it is an example of the trade, not a ranking of the methods.

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

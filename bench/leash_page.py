"""What bench/leash.py and bench/chalkboard.py share: their runs, the packed files that the page is sent, and the pages
docs/leash.md and docs/chalkboard.md."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from safetensors.torch import load_file, save_file  # noqa: E402

from bench import results  # noqa: E402
from playground.lessons import boards  # noqa: E402
from playground.runs.folder import checkpoints  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402

LEASH_PAGE = PROJECT / "docs" / "leash.md"
CHALKBOARD_PAGE = PROJECT / "docs" / "chalkboard.md"
Lines = Sequence[Mapping[str, Any]]


def run_of(preset: str, beta: float, seed: int, outputs: Path, *, train: bool = True) -> RunDirectory | None:
    """The newest finished run of a preset with this beta and seed; trained where there is none."""
    outputs = outputs / f"beta-{beta:g}"
    found = results.newest(outputs / f"{preset}-seed{seed}")
    return found or (results.train(preset, seed, outputs, [f"kl.coef={beta:g}"])[0] if train else None)


def write(name: boards.Name, data: Any) -> None:
    """Pack what the page is sent."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    boards.path_of(name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def keep_model(run: RunDirectory, folder: Path) -> None:
    """A run's settings and last weights, in half precision: what is needed to ask it."""
    checkpoint = run.latest_checkpoint()
    kept = folder / "checkpoints" / checkpoint.name
    shutil.rmtree(folder, ignore_errors=True)
    kept.mkdir(parents=True)
    shutil.copy(run.config_path, folder)
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "trainer.json"):
        (kept / name).write_text(json.dumps(json.loads((checkpoint / name).read_text()), separators=(",", ":")))
    weights = {name: weight.half() for name, weight in load_file(checkpoint / "model.safetensors").items()}
    save_file(weights, kept / "model.safetensors", {"format": "pt"})
    (kept / checkpoints.MANIFEST).write_text(json.dumps({"format": 1, "files": checkpoints.listed(kept)}))


def leash_page(runs: Lines, machine: str) -> str:
    """docs/leash.md. Of each run: beta, seed, gain, kl, and counts of the fixed prompts."""
    rows = []
    for beta in sorted({run["beta"] for run in runs}):
        of_beta = [run for run in runs if run["beta"] == beta]
        counts = [shares(of_beta, name) for name in ("positive", "parses", "ends")]
        figures = [span([run[name] for run in of_beta]) for name in ("gain", "kl")]
        rows.append([f"{beta:g}", str(len(of_beta)), *figures, *counts])
    heads = ["beta", "seeds", "score gain, sd", "KL, nats", "is kind", "parses", "ends by itself"]
    return f"""# Five leashes, and eleven more

The preset `kinder-reviews` with sixteen values of beta and all else as it is, on three seeds each; `make leash`
trains what is missing and writes this page, and the file that the part "Turn the leash" of the Lessons page is sent.
A figure is the mean over the seeds, with the lowest and the highest of them. Gains and KL are those by which a run is
known on the page: of its 64 fixed prompts, from before training to its end. The counts are of the fixed prompts of all
seeds together.

Measured on {machine}.

{table(heads, rows)}
"""


def chalkboard_page(lines: Lines, machine: str) -> str:
    """docs/chalkboard.md. A line for each run, as bench/chalkboard.py makes it."""
    rows = []
    for beta in sorted({line["beta"] for line in lines}):
        of_beta = [line for line in lines if line["beta"] == beta]
        names = ("gain", "best_gain", "kl", "best_kl", "share", "at_kl", "apart", "kl_to_best")
        figures = [span([line[name] for line in of_beta]) for name in names]
        rows.append([f"{beta:g}", str(len(of_beta)), *figures])
    heads = ["beta", "seeds", "gain of PPO, sd", "of the best", "KL of PPO, nats", "of the best",
             "share of the best objective",
             "share of the best score at its KL", "total variation", "KL to the best, nats"]  # fmt: skip
    return f"""# The chalkboard: PPO against the best there is

The preset `chalkboard` has two prompts and completions of two tokens, so every text can be listed: V x V of each
prompt, with V = 1,280. The best policy for a beta, `pi*(y | x) = pi_ref(y | x) exp(score(y) / beta) / Z(x)`, its score
and its KL are sums over that list, and so are those of a trained policy. Nothing here is sampled but the training
itself. Means over the two prompts; of several seeds the mean, with the lowest and the highest.

- *share of the best objective*: gain in score less beta times KL, over the most that any policy can have.
- *share of the best score at its KL*: the gain over the highest gain of any policy that is no further away.
- *total variation*: half the sum of the differences in probability between PPO and the best; 0 is the same, 1 has no
  text in common.

A run measures its unit of score on texts that it draws, so each seed has a slightly different one; each policy is
compared with the best one in its own unit.

Measured on {machine}. `make chalkboard` trains what is missing, and writes this page and the table of the page's part.

{table(heads, rows)}
"""


def span(values: Sequence[float]) -> str:
    """The mean, and where there are several the lowest and the highest."""
    said = f"{statistics.fmean(values):.2f}"
    return said if len(values) < 2 else f"{said} ({min(values):.2f} to {max(values):.2f})"


def shares(runs: Lines, name: str) -> str:
    """A behaviour of all fixed prompts of some runs."""
    counts = [run["counts"][name] for run in runs]
    return f"{sum(count['after'] for count in counts)} of {sum(count['of'] for count in counts)}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown; figures to the right."""
    lines = [heads, ["---:"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

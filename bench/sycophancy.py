"""How sycophancy gets into a model and out of it again, on three seeds: `make sycophancy`.

A table is a function that gives its title, what to see in it and its lines, each a preset with settings of its own; add
one to TABLES. Runs are trained as `make results` trains them and judged as it judges them, on prompts that they
never saw. What was measured before and is not run again keeps its figures.

What the best policy would do is foretold from the untrained model alone: pi*(y | x) is proportional to pi_ref(y | x)
exp(score(x, y) / beta) (Ziegler et al. 2019, section 2), so its completions are those of the reference, reweighted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from bench import results_page  # noqa: E402
from bench.results import judge, machine, newest, train  # noqa: E402
from playground.config import yaml_io  # noqa: E402
from playground.pocket import judges, prompt_sets  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data.prompts import Prompt  # noqa: E402
from playground.training.data.random_streams import derived_seed  # noqa: E402
from playground.training.loop import evaluation  # noqa: E402
from playground.training.loop.scoring import Scorer  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.rewards import learned_rewards  # noqa: E402

FIGURES = PROJECT / "bench" / "results" / "sycophancy.json"
PAGE = PROJECT / "docs" / "sycophancy.md"
PROMPTS, EACH = 60, 16  # of the reference, for what the optimum would do
SHARES = {
    "wrong-claims-repeated": "wrong claims repeated",
    "right-claims-agreed": "right claims agreed with",
    "plain-questions-right": "plain questions right",
}
NUMBERS = {"kl": "KL, nats", "score": "score, sd", "perplexity": "perplexity under the reference"}


class Line(NamedTuple):
    """One line of a table: what it is called, the preset that is trained, and the settings that are changed in it."""

    label: str
    preset: str
    changes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What is trained, as the figures are kept by it."""
        return " ".join([self.preset, *self.changes])


class Table(NamedTuple):
    """A title, a paragraph on what to see, and the lines."""

    title: str
    words: str
    lines: Sequence[Line]


def baked_in() -> Table:
    """Wanting to please, learned from a rule and from preferences."""
    return Table(
        "Baked in",
        "Agreement is paid by a rule (yes-man) or by a reward model that learned from people who like to be agreed "
        "with (agreeable-thumbs). Honest friend is the other reward on the same prompts.",
        [Line(catalog.preset(name).about.title, name) for name in ("yes-man", "agreeable-thumbs", "honest-friend")],
    )


def thumbs_up() -> Table:
    """How much of agreeable thumbs a mixture bears before it flips."""
    return Table(
        "Thumbs up",
        "Two reward models, learned from what honest and from what agreeable people prefer, each normalised to sd 1 on "
        "the untrained model's texts, so that their weights compare. The weights add up to 1. It flips where they are "
        "equal: below that fewer wrong claims are repeated than by the untrained model, above it more.",
        [
            Line(
                f"agreeable {100 * weight:.0f} %",
                "thumbs-up-mix",
                weights(1 - weight, weight) if weight != 0.75 else (),
            )
            for weight in (0, 0.25, 0.5, 0.75, 1)
        ],
    )


def weights(*values: float) -> tuple[str, ...]:
    """The changes that give a preset's rewards these weights."""
    return tuple(f"rewards.{number}.weight={value:g}" for number, value in enumerate(values))


def trained_out() -> Table:
    """Four ways out of it, and three ways that miss."""
    names = ("rule-penalty", "classifier-penalty", "contrastive", "steering-claims", "paraphrase-hole", "contrarian")
    return Table(
        "Trained out",
        "The first three pay what yes-man pays and something against it: a penalty on agreeing phrases and a bonus for "
        "the truth, a classifier's word, the likeness to the honest answer. The fourth changes no weight: a vector is "
        "added while it writes. Then what goes wrong: a penalty that sees phrases only, and one that punishes all "
        "agreement. On a real chat model of 135 million weights none of the four brought the wrong claims below those "
        "of the untrained model ([real.md](real.md)).",
        [Line(catalog.preset(name).about.title, name) for name in names],
    )


def biased() -> Table:
    """What the leash holds to, where the start flatters."""
    return Table(
        "A biased reference",
        "The reward of the honest friend, on a model that was trained to flatter first. The leash is to that model.",
        [Line("beta 3", "biased-reference"), Line("beta 0.1", "biased-reference", ("kl.coef=0.1",))],
    )


TABLES: tuple[Callable[[], Table], ...] = (baked_in, thumbs_up, trained_out, biased)


def main() -> None:
    """Train and judge what is asked for, write figures and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [table.__name__ for table in TABLES]
    parser.add_argument("--tables", nargs="*", choices=names, default=names)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--missing", action="store_true", help="train only what has no figures yet")
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "sycophancy")
    parser.add_argument("--results", type=Path, default=PROJECT / "outputs" / "results", help="of `make results`")
    parser.add_argument("--json", type=Path, default=FIGURES)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    report = json.loads(arguments.json.read_text()) if arguments.json.exists() else {"runs": {}}
    runs, optima = report["runs"], report.setdefault("optima", {})
    tables = [table() for table in TABLES if table.__name__ in arguments.tables]
    for line in dict.fromkeys(line for table in tables for line in table.lines):
        if not (arguments.missing and line.key in optima):
            optima[line.key] = foretold(line)
        for seed in arguments.seeds:
            if arguments.missing and str(seed) in runs.get(line.key, {}):
                continue
            runs.setdefault(line.key, {})[str(seed)] = measured(line, seed, arguments.outputs, arguments.results)
            report["machine"] = machine()
            arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            print(line.key, seed, runs[line.key][str(seed)], file=sys.stderr, flush=True)
    arguments.page.write_text(page(report, [table() for table in TABLES]), encoding="utf-8")


def measured(line: Line, seed: int, outputs: Path, results: Path) -> dict[str, dict[str, float | None]]:
    """Figures before and after of one line with one seed; of a preset as it is, what `make results` has measured."""
    run = None if line.changes else newest(results / f"{line.preset}-seed{seed}")
    rows = results_page.read(results_page.PRESETS).get("runs", [])
    known = [row for row in rows if (row["preset"], row["seed"]) == (line.preset, seed) and not line.changes]
    if run is None and not known:
        run, _ = train(line.preset, seed, outputs, line.changes)
    judged = known[0] if known else judge(run)
    found = {side: {name: judged[side].get(name) for name in (*SHARES, *NUMBERS)} for side in ("before", "after")}
    if run and (metrics := run.metrics()):  # of the training batches; of the first update before any step
        found["before"]["perplexity"] = round(metrics[0].perplexity_reference, 3)
        found["after"]["perplexity"] = round(metrics[-1].perplexity_reference, 3)
    return found


def foretold(line: Line) -> float:
    """Share of wrong claims that the optimum of a line repeats, from the reference's completions, reweighted."""
    config, device = yaml_io.load(catalog.preset_path(line.preset), list(line.changes)), torch.device("cpu")
    reference, tokens = loading.load(catalog.model_folder(config.model.source), device)
    texts = prompt_sets.prompts(config.prompts.source, PROMPTS, "sycophancy")
    texts = [text for text in texts for _ in range(EACH)]
    asked = [Prompt(text, tokens.encode(text)) for text in texts]
    seeds = [derived_seed(0, "sycophancy", number) for number in range(len(asked))]
    episodes, _ = evaluation.answer(
        reference, None, asked, seeds, evaluation.Generation(tokens, config.sampling, len(asked))
    )
    completions = episodes.texts(tokens)
    scorer = Scorer(config, build=learned_rewards.builder(device))
    scorer.fit_scale(texts, completions)
    scores = np.array(scorer(texts, completions, episodes.ended.tolist()).scores)
    wrong = [judges.claim_is_true(text) is False for text in texts[::EACH]]
    agree = np.array([bool(judges.agrees(*pair)) for pair in zip(texts, completions, strict=True)])
    return optimum_share(scores.reshape(-1, EACH)[wrong], agree.reshape(-1, EACH)[wrong], config.kl.coef)


def optimum_share(scores: NDArray[np.float64], marks: NDArray[np.bool_], beta: float) -> float:
    """Mean over prompts of the probability of a mark under pi*, from completions of the reference; both [P, S].

    No policy earns more of score - beta x KL than pi*(y) = pi_ref(y) exp(score(y) / beta) / Z (Ziegler et al. 2019,
    section 2), so it does what the reference does, reweighted.
    """
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / beta)
    return float(((weights * marks).sum(axis=1) / weights.sum(axis=1)).mean())


def page(report: dict[str, Any], tables: Sequence[Table]) -> str:
    """docs/sycophancy.md."""
    parts = [
        "# Sycophancy, in and out\n\n"
        f"Written by `make sycophancy` on {report.get('machine', 'no machine yet')}. Each cell is before -> after, the "
        "mean over the seeds with their range; on 400 prompts of pocket/claims that no run was trained on, judged by "
        "the pocket world. KL is after training. Perplexity is of the model's own texts of the training batches, under "
        "the reference, at the first and the last update. The last column is what the best policy for "
        f"score - beta x KL would repeat, from {PROMPTS * EACH:,} completions of the untrained model, reweighted."
    ]
    head = ["", *SHARES.values(), *NUMBERS.values(), "seeds", "the optimum repeats"]
    for table in tables:
        rows = [["---"] * len(head)]
        for line in table.lines:
            runs = list(report["runs"].get(line.key, {}).values())
            cells = [cell(runs, name) for name in (*SHARES, *NUMBERS)] if runs else [""] * (len(head) - 3)
            best = report.get("optima", {}).get(line.key)
            rows.append([line.label, *cells, str(len(runs)), "" if best is None else f"{100 * best:.0f} %"])
        drawn = "\n".join(f"| {' | '.join(row)} |" for row in [head, *rows])
        parts.append(f"## {table.title}\n\n{table.words}\n\n{drawn}")
    return "\n\n".join(parts) + "\n"


def cell(runs: Sequence[dict[str, Any]], name: str) -> str:
    """Before -> after of one figure over the seeds, as "52 -> 91 % (88 to 93)"; empty where nobody measured it."""
    before, after = ([run[side][name] for run in runs if run[side][name] is not None] for side in ("before", "after"))
    if not after:
        return ""
    scale, digits, unit = (100, 0, " %") if name in SHARES else (1, 2, "")
    low, mean, high = (f"{scale * value:.{digits}f}" for value in (min(after), statistics.fmean(after), max(after)))
    start = f"{scale * statistics.fmean(before):.{digits}f} -> " if before and name != "kl" else ""
    return f"{start}{mean}{unit} ({low} to {high})"


if __name__ == "__main__":
    main()

"""How sycophancy gets into a model and out of it again, on three seeds: `make sycophancy`.

Each line of a table is a preset with settings of its own, judged as `make results` judges, on prompts that no run saw.
What the best policy would do is foretold from the untrained model alone: pi*(y | x) is proportional to pi_ref(y | x)
exp(score(x, y) / beta) (Ziegler et al. 2019, section 2), so its completions are those of the reference, reweighted.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import results, tables
from bench.experiments import Cell, Figures, Row, machine, options
from playground.pocket import judges, prompt_sets
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.data.random_streams import derived_seed
from playground.training.loop.scoring import Scorer
from playground.training.models import loading
from playground.training.rewards import learned_rewards

PROMPTS, EACH = 60, 16  # of the reference, for what the optimum would do
SHARES = {
    "wrong-claims-repeated": "wrong claims repeated",
    "right-claims-agreed": "right claims agreed with",
    "plain-questions-right": "plain questions right",
}
NUMBERS = {"kl": "KL, nats", "perplexity": "perplexity under the reference"}
HEAD = ["", *SHARES.values(), *NUMBERS.values(), "the optimum repeats"]
TRAINED_OUT = (
    "rule-penalty",
    "classifier-penalty",
    "contrastive",
    "steering-claims",
    "paraphrase-hole",
    "contrarian",
)


def titled(*names: str) -> dict[str, Cell]:
    """Presets as they are, by their titles."""
    return {catalog.preset(name).about.title: Cell(name) for name in names}


def mixed(weight: float) -> Cell:
    """The mixture in which agreeable thumbs have this weight; 0.75 in the preset itself."""
    weights = (f"rewards.0.weight={1 - weight:g}", f"rewards.1.weight={weight:g}")
    return Cell("thumbs-up-mix", changes=() if weight == 0.75 else weights)


def grid() -> dict[str, dict[str, Cell]]:
    """The lines of each table of the page, by their titles."""
    return {
        "baked_in": titled("yes-man", "agreeable-thumbs", "honest-friend"),
        "thumbs_up": {f"agreeable {100 * weight:.0f} %": mixed(weight) for weight in (0, 0.25, 0.5, 0.75, 1)},
        "trained_out": titled(*TRAINED_OUT),
        "biased": {
            "beta 3": Cell("biased-reference"),
            "beta 0.1": Cell("biased-reference", changes=("kl.coef=0.1",)),
        },
    }


def main() -> None:
    """Train and judge what is missing, write the page."""
    parser = options(__doc__)
    parser.add_argument("--tables", nargs="*", choices=list(grid()), default=list(grid()))
    arguments = parser.parse_args()
    figures = Figures("sycophancy")
    cells = [cell for name in arguments.tables for cell in grid()[name].values()]
    optima = figures.data.setdefault("optima", {})
    for cell in cells:
        if arguments.again or key(cell) not in optima:
            optima[key(cell)] = foretold(cell)
    seeded = [cell._replace(seed=seed) for cell in cells for seed in arguments.seeds]
    figures.measure(seeded, facts, arguments)
    figures.write(machine=machine())
    tables.write("sycophancy", page(figures.data))


def key(cell: Cell) -> str:
    """What is trained, whatever the seed."""
    return " ".join([cell.preset, *cell.changes])


def facts(run: RunDirectory) -> Row:
    """Figures before and after. The perplexity is of the training batches; of the first update before any step."""
    sides, metrics = results.judge(run), run.metrics()
    row: Row = {side: {name: sides[side].get(name) for name in (*SHARES, *NUMBERS)} for side in ("before", "after")}
    if metrics:
        row["before"]["perplexity"] = round(metrics[0].perplexity_reference, 3)
        row["after"]["perplexity"] = round(metrics[-1].perplexity_reference, 3)
    return row


def foretold(cell: Cell) -> float:
    """Share of wrong claims that the optimum repeats, from the reference's completions, reweighted."""
    config = cell.config
    reference, tokens = loading.load(catalog.model_folder(config.model.source), results.CPU)
    texts = prompt_sets.prompts(config.prompts.source, PROMPTS, "sycophancy")
    prompts = [text for text in texts for _ in range(EACH)]
    seeds = [derived_seed(0, "sycophancy", number) for number in range(len(prompts))]
    answers = results.write(reference, None, tokens, prompts, seeds, config.sampling)
    completions = [answer.completion for answer in answers]
    scorer = Scorer(config, build=learned_rewards.builder(results.CPU))
    scorer.fit_scale(prompts, completions)
    scores = np.array(results.scores_of(scorer, prompts, answers)).reshape(-1, EACH)
    agree = np.array([bool(judges.agrees(*pair)) for pair in zip(prompts, completions, strict=True)]).reshape(-1, EACH)
    wrong = [judges.claim_is_true(text) is False for text in texts]
    return optimum_share(scores[wrong], agree[wrong], config.kl.coef)


def optimum_share(scores: NDArray[np.float64], marks: NDArray[np.bool_], beta: float) -> float:
    """Mean over prompts of the probability of a mark under pi*, from completions of the reference; both [P, S].

    No policy earns more of score - beta x KL than pi*(y) = pi_ref(y) exp(score(y) / beta) / Z (Ziegler et al. 2019,
    section 2), so it does what the reference does, reweighted.
    """
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / beta)
    return float(((weights * marks).sum(axis=1) / weights.sum(axis=1)).mean())


# -- the page ---------------------------------------------------------------------------------------------------------


def page(report: dict[str, Any]) -> str:
    """docs/sycophancy.md."""
    drawn = {name: tables.table(HEAD, of_table(report, cells), tables.WIDE) for name, cells in grid().items()}
    return tables.page("sycophancy", machine=report["machine"], texts=PROMPTS * EACH, **drawn)


def of_table(report: dict[str, Any], cells: dict[str, Cell]) -> list[list[str]]:
    """Its lines: the untrained model of the first cell, and then of each what it came to."""
    names = (*SHARES, *NUMBERS)
    runs = {label: rows_of(report, cell) for label, cell in cells.items()}
    untrained = {name: at_first(next(iter(runs.values())), name) for name in names}
    lines = [["untrained", *untrained.values(), ""]]
    for label, cell in cells.items():
        figures = [figure(runs[label], name, untrained[name]) for name in names]
        lines.append([label, *figures, f"{100 * report['optima'][key(cell)]:.0f}"])
    return lines


def rows_of(report: dict[str, Any], cell: Cell) -> list[Row]:
    """Its seeds."""
    place = {"preset": cell.preset, "changes": list(cell.changes)}
    return [row for row in report["runs"] if place.items() <= row.items()]


def figure(rows: Sequence[Row], name: str, untrained: str) -> str:
    """One figure over the seeds, as "91 (88 to 93)", behind that of its untrained model where it is another; empty
    where it was not measured."""
    after = [row["after"][name] for row in rows if row["after"][name] is not None]
    if not after:
        return ""
    scale, digits = form_of(name)
    values = [scale * value for value in after]
    mean = f"{statistics.fmean(values):.{digits}f}" if name == "perplexity" else tables.over_seeds(values, digits)
    before = at_first(rows, name)
    start = "" if before in ("", untrained) else f"{before} -> "
    return f"{start}{mean}"


def at_first(rows: Sequence[Row], name: str) -> str:
    """A figure of the untrained model."""
    before = [row["before"][name] for row in rows if row["before"][name] is not None]
    if not before or name == "kl":
        return ""
    scale, digits = form_of(name)
    return f"{scale * statistics.fmean(before):.{digits}f}"


def form_of(name: str) -> tuple[int, int]:
    """Of a figure: what it is multiplied by, and its digits behind the point."""
    return (100, 0) if name in SHARES else (1, 2)


if __name__ == "__main__":
    main()

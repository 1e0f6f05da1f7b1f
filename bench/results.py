"""Train every preset on three seeds and write what came out to docs/results.md: `make results`.

The figures come from prompts that the run never sees, cut from one list with those that it does. The untrained and the
trained weights answer them with the same random numbers, judged by the pocket world's own judges, which no preset
trains on. `make frontier` writes the second half of the page.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

from bench import bands, tables
from bench.experiments import Cell, Figures, Row, machine, options, seconds_of
from playground.analysis import pass_at
from playground.analysis.run_report import RunReport
from playground.config import Behaviour, RunConfig, SamplingConfig
from playground.config.behaviour_settings import READY
from playground.lessons import facts
from playground.pocket import judges
from playground.pocket.wording import distinct_n
from playground.rewards import behaviours, verify
from playground.rewards.best_answers import kl_of_best
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.data.prompts import NUM_UNSEEN, Prompt, unseen
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.loop.evaluation import FixedAnswer
from playground.training.loop.scoring import Scorer
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.rewards import learned_rewards

CPU = torch.device("cpu")
SCORED_AT_ONCE = 100
USUAL_SEEDS = 3
COLUMNS = {
    "score": "score, sd",
    "kl": "KL, nats",
    "parses": "parses",
    "quality": "quality",
    "distinct_2": "distinct-2",
    "positive": "is kind",
    "wrong-claims-repeated": "repeats wrong claims",
    "right-claims-agreed": "agrees with right ones",
    "plain-questions-right": "plain questions right",
    "answers-right": "answers right",
    "keeps-form": "in the form",
    "ends": "ends by itself",
    "tokens": "tokens",
}
OF_CHECKS = {f"pass_{k}": f"pass@{k}" for k in pass_at.KS} | {name: name.replace("-", " ") for name in facts.GROUPS}
MEANS = ("quality", "distinct_2", "ends", "tokens")  # on the page without the lowest and the highest
COUNTED = [name for name in COLUMNS if name in READY]
# Of the frontier: the betas on the page, the effective samples that are enough, the share of its score to reach.
BETAS, ENOUGH, AIM = (2.0, 1.0, 0.5, 0.3536, 0.25, 0.2102, 0.1768), 10, 0.92


def main() -> None:
    """Measure what is missing, write bands and page."""
    parser = options(__doc__)
    parser.add_argument("--presets", nargs="*", default=catalog.names_with_model())
    arguments = parser.parse_args()

    def measure(run: RunDirectory) -> Row:
        seconds = seconds_of(run) if arguments.jobs == 1 else None
        return {"seconds": seconds, **judge(run)}

    figures = Figures("presets")
    cells = [Cell(preset, seed) for seed in arguments.seeds for preset in arguments.presets]
    figures.measure(cells, measure, arguments)
    order = catalog.every_preset_name()
    figures.rows.sort(key=lambda row: (order.index(row["preset"]), row["seed"]))
    figures.write(machine=machine())
    for name, preset_bands in bands.bands(figures.rows, catalog.lesson_preset_names()).items():
        bands.write_bands(catalog.preset_path(name), preset_bands)
    tables.write("results", page())


# -- one run ----------------------------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """One answer to each of some prompts, and its score."""

    prompts: list[str]
    answers: list[FixedAnswer]
    scores: list[float]

    @property
    def texts(self) -> Iterable[tuple[str, str, bool]]:
        """Prompt, completion, and whether it ended by itself."""
        for prompt, answer in zip(self.prompts, self.answers, strict=True):
            yield prompt, answer.completion, answer.ended


def write(
    policy: LanguageModel,
    reference: LanguageModel | None,
    tokens: Tokens,
    prompts: Sequence[str],
    seeds: Sequence[int],
    sampling: SamplingConfig,
) -> list[FixedAnswer]:
    """A completion of each prompt, and how far the policy is from the reference in it (0 without one)."""
    encoded = [Prompt(text, tokens.encode(text)) for text in prompts]
    how = evaluation.Generation(tokens, sampling, SCORED_AT_ONCE)
    episodes, kl = evaluation.answer(policy, reference, encoded, list(seeds), how)
    return evaluation.answers_of(episodes, kl, tokens)


def scores_of(scorer: Scorer, prompts: Sequence[str], answers: Sequence[FixedAnswer]) -> list[float]:
    """The normalised score of each answer."""
    completions = [answer.completion for answer in answers]
    return list(scorer(list(prompts), completions, [answer.ended for answer in answers]).scores)


class Trained(NamedTuple):
    """The models of a finished run, and its scorer with the unit that it had."""

    policy: LanguageModel
    reference: LanguageModel
    tokens: Tokens
    scorer: Scorer

    @classmethod
    def of(cls, run: RunDirectory) -> Trained:
        """Of its last checkpoint."""
        config, checkpoint = run.config(), run.latest_checkpoint()
        assert checkpoint is not None
        reference, tokens = loading.load(catalog.model_folder(config.model.source), CPU)
        policy, _ = loading.load(checkpoint, CPU)
        builder = learned_rewards.builder(CPU, run.path.parent, "reward-format" in config.faults)
        scorer = Scorer(config, build=builder).restore(facts_of(run))
        return cls(policy, reference, tokens, scorer)


def facts_of(run: RunDirectory) -> Row:
    """What the trainer has kept beside the last weights."""
    checkpoint = run.latest_checkpoint()
    assert checkpoint is not None
    facts: Row = json.loads((checkpoint / "trainer.json").read_text(encoding="utf-8"))
    return facts


def judge(run: RunDirectory) -> Row:
    """Untrained and trained weights on the prompts that the run never sees. `asked`: of how many of them each share is;
    `errors`: of the gain in score and of the KL, their standard errors over the prompts."""
    config, models = run.config(), Trained.of(run)
    policy, reference, tokens, scorer = models
    prompts = prompts_of(config)
    seeds = [derived_seed(config.seed, "fresh", number) for number in range(len(prompts))]
    compared_to = policy if "aliased-reference" in config.faults else reference  # as the run itself does

    def best_of(model: LanguageModel, other: LanguageModel | None, tries: int) -> Answered:
        """The best-scored of some answers to each prompt, with the KL of that choice."""
        rounds = []
        for number in range(tries):
            own = [evaluation.answered(seed, number) for seed in seeds]
            answers = write(model, other, tokens, prompts, own, config.sampling)
            rounds.append(list(zip(scores_of(scorer, prompts, answers), answers, strict=True)))
        choices = list(zip(*rounds, strict=True))
        best = [max(choice, key=lambda pair: pair[0]) for choice in choices]
        answers = [answer for _, answer in best]
        if tries > 1:
            kls = [kl_of_best([score for score, _ in choice], tries) for choice in choices]
            answers = [answer._replace(kl=kl) for answer, kl in zip(answers, kls, strict=True)]
        return Answered(prompts, answers, [score for score, _ in best])

    before = best_of(reference, None, 1)
    after = best_of(policy, compared_to, config.answers_each)
    gains = [late - early for early, late in zip(before.scores, after.scores, strict=True)]
    kls = [answer.kl for answer in after.answers]
    row: Row = {
        "prompts": len(prompts),
        "before": figures_of(before),
        "after": figures_of(after),
        "errors": {"score": standard_error(gains), "kl": standard_error(kls)},
    }
    if compared_to is policy:
        answers = write(policy, reference, tokens, prompts, seeds, config.sampling)
        row["kl_to_start"] = round(statistics.fmean(answer.kl for answer in answers), 3)
    counts = {name: len(marks(name, after.texts)) for name in COUNTED}
    row["asked"] = {name: count for name, count in counts.items() if count}
    if checked := verify.behaviours(config):
        for side, answered in (("before", before), ("after", after)):
            row[side] |= checked_of(checked, answered)
        row["asked"] |= {one.name: len(prompts) for one in checked}
        row["checked"] = {name: rounded(value) for name, value in facts.of_checks(RunReport.of(run)).items()}
    return row


def checked_of(checked: Sequence[Behaviour], answered: Answered) -> Row:
    """The shares of right answers and of those in the form."""
    completions = [answer.completion for answer in answered.answers]
    shown = behaviours.Behaviours(checked)(answered.prompts, completions, [True] * len(completions))
    return {name: rounded(statistics.fmean(map(bool, marks))) for name, marks in shown.items()}


def prompts_of(config: RunConfig) -> list[str]:
    """Prompts that the run never sees; of typed ones the same, answered anew."""
    typed = list(config.prompts.typed)
    if config.prompts.source == catalog.TYPED:
        return typed * (NUM_UNSEEN // len(typed))
    return unseen(config.prompts, config.evaluation.num_prompts, config.seed)


def figures_of(answered: Answered) -> dict[str, float | None]:
    """All figures of a side."""
    figures = {
        "score": statistics.fmean(answered.scores),
        "kl": statistics.fmean(answer.kl for answer in answered.answers),
        **judged(list(answered.texts)),
        "tokens": statistics.fmean(answer.tokens for answer in answered.answers),
    }
    return {name: rounded(value) for name, value in figures.items()}


def rounded(value: float | None) -> float | None:
    """To three digits, and never -0."""
    if value is None:
        return None
    return round(value, 3) + 0.0


def standard_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return round(statistics.stdev(values) / len(values) ** 0.5, 4)


def judged(texts: Sequence[tuple[str, str, bool]]) -> dict[str, float | None]:
    """What the world's judges say of a batch; of a behaviour its share from 0 to 1, None where no text is judged."""
    figures: dict[str, float | None] = {
        "quality": statistics.fmean(judges.quality(prompt, text).score for prompt, text, _ in texts),
        "distinct_2": distinct_n([text for _, text, _ in texts], 2),
    }
    for name in COUNTED:
        yes_and_no = marks(name, texts)
        figures[name] = statistics.fmean(yes_and_no) if yes_and_no else None
    return figures


def marks(name: str, texts: Iterable[tuple[str, str, bool]]) -> list[bool]:
    """Whether each completion that can be judged shows a behaviour."""
    every = (behaviours.mark(name, *text) for text in texts)
    return [mark for mark in every if mark is not None]


# -- the page ---------------------------------------------------------------------------------------------------------


def page() -> str:
    """docs/results.md, from the rows of `make results` and of `make frontier`."""
    presets, frontier = Figures("presets"), Figures("frontier")
    of_lessons = catalog.lesson_preset_names()
    lesson_rows = [row for row in presets.rows if row["preset"] in of_lessons]
    first = frontier.data["frontiers"][0]
    points = [point for point in reversed(first["points"]) if point["beta"] in BETAS]
    return tables.page(
        "results",
        machine=presets.data["machine"],
        prompts=presets.rows[0]["prompts"],
        presets=of_runs(row for row in presets.rows if row["preset"] not in of_lessons),
        lessons=of_runs(lesson_rows),
        to_start=to_start(lesson_rows),
        checked=of_checks(presets.rows),
        frontier_machine=frontier.data["machine"],
        frontier_prompts=frontier.data["prompts"],
        each=frontier.data["each"],
        enough=ENOUGH,
        seed=first["seed"],
        frontier=tables.by_columns(POINTS, points),
        aim=AIM,
        reached=statistics.fmean(row["share"] for row in frontier.rows if row["preset"] == catalog.DEFAULT_PRESET),
        runs=tables.by_columns(RUNS, frontier.rows),
    )


def of_runs(rows: Iterable[Row]) -> str:
    """For presets of which the same is counted a table, with a line for each, over its seeds."""
    presets: dict[str, list[Row]] = {}
    for row in rows:
        presets.setdefault(row["preset"], []).append(row)
    alike: dict[tuple[str, ...], list[str]] = {}
    for preset, seeds in presets.items():
        sides = [row[side] for row in seeds for side in ("before", "after")]
        names = tuple(name for name in COLUMNS if all(side.get(name) is not None for side in sides))
        alike.setdefault(names, []).append(preset)
    return "\n\n".join(of_alike({name: presets[name] for name in group}, names) for names, group in alike.items())


def of_alike(presets: dict[str, list[Row]], names: Sequence[str]) -> str:
    """One table: the untrained model of its first preset, and then of each what it came to."""
    untrained = {name: at_first(next(iter(presets.values())), name) for name in names}
    lines = [["untrained", *untrained.values()]]
    for preset, seeds in presets.items():
        label = preset if len(seeds) == USUAL_SEEDS else f"{preset}, {len(seeds)} seeds"
        lines.append([label, *(cell(seeds, name, untrained[name]) for name in names)])
    return tables.table(["preset", *(COLUMNS[name] for name in names)], lines)


def at_first(seeds: Sequence[Row], name: str) -> str:
    """A figure of the untrained model."""
    if name == "kl":
        return ""
    return f"{statistics.fmean(row['before'][name] for row in seeds):.{digits_of(name)}f}"


def cell(seeds: Sequence[Row], name: str, untrained: str) -> str:
    """A figure of a preset, behind that of its untrained model where it is another."""
    values, digits = [row["after"][name] for row in seeds], digits_of(name)
    after = f"{statistics.fmean(values):.{digits}f}" if name in MEANS else tables.over_seeds(values, digits)
    before = at_first(seeds, name)
    return after if before == untrained else f"{before} -> {after}"


def digits_of(name: str) -> int:
    """Behind the point."""
    return 1 if name == "tokens" else 2


def of_checks(rows: Iterable[Row]) -> str:
    """Of the presets whose answers are checked pass@k and the groups that taught nothing: at first -> at the end."""
    presets: dict[str, list[Row]] = {}
    for row in rows:
        if "checked" in row:
            presets.setdefault(row["preset"], []).append(row)
    lines = [[preset, *(ends_of(seeds, name) for name in OF_CHECKS)] for preset, seeds in presets.items()]
    return tables.table(["preset", *OF_CHECKS.values()], lines)


def ends_of(seeds: Sequence[Row], name: str) -> str:
    """Of one figure the mean over the seeds at first, and what it came to."""
    before = statistics.fmean(row["checked"][f"{name}{facts.BEFORE}"] for row in seeds)
    return f"{before:.2f} -> {tables.over_seeds([row['checked'][name] for row in seeds], 2)}"


def to_start(rows: Iterable[Row]) -> str:
    """How far the runs are from the untrained model that measure their KL to themselves."""
    nats: dict[str, list[str]] = {}
    for row in rows:
        if "kl_to_start" in row:
            nats.setdefault(row["preset"], []).append(f"{row['kl_to_start']:.0f}")
    sentence = "{} measures its KL to itself. To the untrained model it is {} nats."
    return "\n\n".join(sentence.format(preset, ", ".join(values)) for preset, values in nats.items())


def with_error(name: str) -> Any:
    """A cell: a figure with its standard error."""
    return lambda figures: f"{figures[name]:.2f} +- {figures[f'{name}_se']:.2f}"


def trust(figures: Row) -> str:
    """A cell: a mark where few samples are behind a line."""
    return "" if figures["effective_p5"] >= ENOUGH else "not trustworthy"


POINTS = {
    "beta": lambda point: f"{point['beta']:.2f}",
    "score, sd": with_error("score"),
    "KL, nats": with_error("kl"),
    "effective samples": lambda point: f"{point['effective_median']:.0f}",
    "of the poorest 5 %": lambda point: f"{point['effective_p5']:.0f}",
    "": trust,
}
RUNS = {
    "preset": lambda row: row["preset"],
    "seed": lambda row: str(row["seed"]),
    "KL, nats": with_error("kl"),
    "best score at that KL": lambda row: f"{row['best']:.2f}",
    "share of it": lambda row: f"{row['share']:.1%} +- {row['share_se']:.1%}",
    "": trust,
}

if __name__ == "__main__":
    main()

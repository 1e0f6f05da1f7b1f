"""The reward self-test: can this reward model score, does it tell good from bad, and does it read the right format?

It scores completions of the model that would be trained, and pairs of a good and a bad completion. A mean near zero is
no fault (scores are only ever compared); no spread, accuracy near one half, or another form that does better, is. The
model service answers `reward-check` with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from playground.config import ModelReward, RunConfig
from playground.errors import InvalidConfig, ModelNotFound, Problem, RewardModelUnusable
from playground.rewards import agreement
from playground.training.models import loading
from playground.training.rewards import variants
from playground.training.rewards.formats import Encoded, recorded
from playground.training.rewards.learned_rewards import RewardModel, load
from playground.training.rewards.pair_report import Numbers, right_of
from playground.training.rewards.pairs import ExamplePairs, example_pairs
from playground.training.rewards.variants import WORDS, Variant

LEVELS = ("ok", "warn", "fail")
LUCK = 0.01  # a difference that luck alone would show less often than this is no luck
LOW_ACCURACY, LOW_GENERIC_ACCURACY = 0.65, 0.75
GOOD_ACCURACY = 0.75  # pairs that do not shut this out cannot say that a model only guesses
NO_SPREAD = 1e-6  # of the size of the scores
MUCH_CUT = 0.1
LOW_RANK_CORRELATION = 0.95
FEWER_PAIRS, LARGE_MODEL = 48, 50_000_000  # what a processor can score in a minute
SHOWN_TOKENS = 120
Texts = Sequence[tuple[str, str]]  # prompts, each with a completion


class Tried(NamedTuple):
    """The pairs under one form: of each the score of the good completion less that of the bad one."""

    form: Variant
    margins: Numbers

    @property
    def right(self) -> list[float]:
        """Of each pair 1, 0, or 1/2 where both score the same."""
        marks: list[float] = right_of(self.margins).tolist()
        return marks

    @property
    def accuracy(self) -> float:
        """How often good beats bad."""
        return fmean(self.right)

    def row(self, in_force: Tried, example: str) -> dict[str, Any]:
        """What is shown of it. `ahead`: of the form in force, in accuracy, pair by pair; each error is a standard
        error."""
        ahead, ahead_error = agreement.mean_and_error(np.subtract(self.right, in_force.right).tolist())
        margin, margin_error = agreement.mean_and_error(self.margins.tolist())
        return {
            "name": self.form.name,
            "help": self.form.help,
            "in_force": self is in_force,
            "accuracy": self.accuracy,
            "margin": margin,
            "margin_error": margin_error,
            "ahead": ahead,
            "ahead_error": ahead_error,
            "example": example,
        }


@dataclass
class RewardReport:
    """All of it; empty what could not be measured. A finding has a `level`, a `name` and a `text`."""

    name: str
    source: str
    verdict: str = "ok"
    findings: list[dict[str, str]] = field(default_factory=list)
    template: str = ""
    output: str = ""
    max_length: int | None = None
    bytes_held: int = 0
    cost: dict[str, Any] | None = None  # of fewer bits, against the same network in full
    example: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Any] = field(default_factory=dict)
    bad: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    formats: list[dict[str, Any]] = field(default_factory=list)

    def say(self, finding: str, **figures: Any) -> None:
        """Add one of the findings of `self_test.toml`; the verdict is the worst of them."""
        words = {name: text.format(**figures) for name, text in WORDS["findings"][finding].items()}
        self.findings.append(words)
        self.verdict = max(self.verdict, words["level"], key=LEVELS.index)


def check(config: RunConfig, references: Texts, outputs: Path | None, pairs: str | None) -> Iterator[dict[str, Any]]:
    """Test every learned reward and judge of a configuration on completions of the model before training, and on pairs
    (see `example_pairs`). Yields {"phase": in words}, and for each reward {"report": `RewardReport` as plain data}.

    Raises: InvalidConfig, if there is nothing to test; PairsUnusable, nothing to test on.
    """
    learned = [(name, spec) for name, spec in config.scorers if isinstance(spec, ModelReward) and not spec.question]
    if not learned:
        raise InvalidConfig(
            [Problem("rewards", "There is no reward of kind `model` here, so there is no reward model to test.")]
        )
    device = loading.device_of(config.device)
    for name, spec in learned:
        yield {"phase": f"{spec.source}: collecting pairs of a good and a bad completion"}
        try:
            examples = example_pairs(config, spec, outputs, pairs, device)
        except ModelNotFound as error:
            report = RewardReport(name, spec.source)
            report.say("no such model", why=error)
        else:
            yield {"phase": f"{spec.source}: scoring"}
            report = examine(name, spec, references, examples, device, outputs)
        yield {"report": asdict(report)}


def examine(
    name: str,
    spec: ModelReward,
    references: Texts,
    pairs: ExamplePairs,
    device: torch.device,
    outputs: Path | None,
) -> RewardReport:
    """Test one reward model on completions and on pairs."""
    report = RewardReport(name, spec.source, output=spec.output)
    try:
        model = load(spec, device, outputs)
        for texts in references[:8]:
            model.format.check(*texts)
    except (RewardModelUnusable, ModelNotFound) as error:
        report.say("not usable", why=error)
        return report
    report.template, report.max_length = model.format.name, model.format.max_length
    report.bytes_held = model.network.model.get_memory_footprint()
    if not torch.cuda.is_available() and model.network.model.num_parameters() > LARGE_MODEL:
        pairs = pairs._replace(pairs=pairs.pairs[:FEWER_PAIRS])
    trained_on = recorded(model.network.folder).get("template")
    if trained_on and trained_on != model.format.name:
        report.say("another template", trained_on=trained_on, template=model.format.name)
    encoded = [model.format.encoded(*texts) for texts in references]
    _check_lengths(report, model, references, encoded)
    scores = model.scores(encoded)
    if _check_spread(report, scores) and _try_pairs(report, model, pairs):
        if spec.quantization != "none":
            full = load(spec.model_copy(update={"quantization": "none"}), device, outputs)
            _compare_with_full(report, spec.quantization, scores, full.scores(encoded))
            report.cost = {**(report.cost or {}), "bytes_full": full.network.model.get_memory_footprint()}
        if report.verdict == "ok":
            report.say("fit", pairs=report.pairs, reference=report.reference)
    return report


def _compare_with_full(report: RewardReport, quantization: str, scores: list[float], full_scores: list[float]) -> None:
    """Do the scores in fewer bits order the completions as those in full? Spearman's rank correlation (None where one
    of them does not vary), and the share of the pairs that the full scores tell apart."""
    correlation, agreement = None, None
    if len(set(scores)) > 1 and len(set(full_scores)) > 1:
        correlation = float(pd.Series(scores).rank().corr(pd.Series(full_scores).rank()))
    order = np.sign(np.subtract.outer(scores, scores))
    full_order = np.sign(np.subtract.outer(full_scores, full_scores))
    if full_order.any():
        agreement = float((order == full_order)[full_order != 0].mean())
    report.cost = {"quantization": quantization, "rank_correlation": correlation, "pair_agreement": agreement}
    if correlation is None:
        report.say("another order", quantization=quantization, correlation="none")
    elif correlation < LOW_RANK_CORRELATION:
        report.say("another order", quantization=quantization, correlation=f"{correlation:.3f}")


def _check_lengths(report: RewardReport, model: RewardModel, references: Texts, encoded: list[Encoded]) -> None:
    """One example token by token, and how many are longer than the model can read."""
    ids, special = encoded[0].ids[:SHOWN_TOKENS], model.network.tokenizer.all_special_ids
    report.example = {
        **dict(zip(("prompt", "completion"), references[0], strict=True)),
        "ids": ids,
        "tokens": [model.format.visible([token]) for token in ids],
        "special": [token in special for token in ids],
        "length": len(encoded[0].ids),
    }
    lengths, limit = [len(example.ids) for example in encoded], model.format.max_length
    share = fmean(example.cut > 0 for example in encoded)
    report.lengths = {"mean": fmean(lengths), "longest": max(lengths), "limit": limit, "cut_share": share}
    if share > MUCH_CUT:
        report.say("cut", share=share, limit=limit)


def _check_spread(report: RewardReport, scores: list[float]) -> bool:
    """How the scores of the completions differ. False where nothing more can be measured."""
    finite = [score for score in scores if math.isfinite(score)]
    if len(finite) < len(scores):
        report.say("not finite", count=len(scores) - len(finite), of=len(scores))
        return False
    mean, sd = agreement.mean_and_sd(scores)
    spread = {"mean": mean, "sd": sd, "lowest": min(scores), "highest": max(scores)}
    report.reference = {"completions": len(scores), **spread}
    same = sd <= NO_SPREAD * max(map(abs, scores))
    if same:
        report.say("no spread", of=len(scores), score=scores[0])
    return not same


def _try_pairs(report: RewardReport, model: RewardModel, tested: ExamplePairs) -> bool:
    """Good against bad in the form in force, and in all the others. False where scores are not finite."""
    pairs, first = tested.pairs, tested.pairs[0]
    in_force, *forms = variants.variants(model.format)
    good, bad = model.of_pairs(pairs)
    report.good = {"prompt": first.prompt, "completion": first.chosen, "score": good[0]}
    report.bad = {"prompt": first.prompt, "completion": first.rejected, "score": bad[0]}
    in_use = Tried(in_force, np.subtract(good, bad))
    if not np.isfinite(in_use.margins).all():
        report.say("pairs not finite")
        return False
    alternatives = [Tried(variant, np.subtract(*model.of_pairs(pairs, variant.encode))) for variant in forms]
    alternatives = [tried for tried in alternatives if np.isfinite(tried.margins).all()]
    alternatives.sort(key=lambda tried: (-tried.accuracy, -tried.margins.mean()))
    for tried in sorted([in_use, *alternatives], key=lambda tried: -tried.accuracy):
        read = model.format.visible(tried.form.encode(first.prompt, first.chosen).ids[:SHOWN_TOKENS])
        report.formats.append(tried.row(in_use, read))
    about = {"source": tested.source, "count": len(pairs), "generic": tested.generic}
    report.pairs = {**about, "accuracy": in_use.accuracy}
    judge_accuracy(report, in_use.right, tested.source, generic=tested.generic)
    judge_formats(report, in_use, alternatives)
    return True


def judge_accuracy(report: RewardReport, right: Sequence[float], source: str, *, generic: bool) -> None:
    """What the accuracy in the form in force means. `right`: of each pair 1, 0, or 1/2 where both score the same."""
    accuracy, wins, losses = fmean(right), right.count(1), right.count(0)
    guessing = agreement.at_least(wins, wins + losses) > LUCK
    finding = ""
    if agreement.at_least(losses, wins + losses) < LUCK:
        finding = "bad beats good"
    elif generic:
        if accuracy < LOW_GENERIC_ACCURACY:
            finding = "low accuracy on built-in pairs"
    elif guessing:
        finding = "guessing"
        if agreement.wilson(accuracy, len(right))[1] >= GOOD_ACCURACY:
            finding = "too few pairs"
    elif accuracy < LOW_ACCURACY:
        finding = "low accuracy"
    if finding:
        report.say(finding, right=accuracy, wrong=1 - accuracy, on=f"{len(right)} pairs ({source})")


def judge_formats(report: RewardReport, in_use: Tried, alternatives: Sequence[Tried]) -> None:
    """Another form (`alternatives`, the best first) that is right on more pairs than the one `in_use`, beyond luck,
    is what the model was trained on, or nearer to it."""
    luck = LUCK / max(1, len(alternatives))  # any of them may be better by luck
    better = [tried for tried in alternatives if agreement.chance_that_better(in_use.right, tried.right) < luck]
    if better:
        first, *behind = better
        also = f" Also better: {', '.join(tried.form.name for tried in behind)}." if behind else ""
        report.say("better" if first.form.mend else "better without", tried=first, mine=in_use, also=also)

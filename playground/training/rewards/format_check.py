"""The reward self-test: can this reward model score, does it tell good from bad, and is it read in the right form?

One reward -> one report, plain data that the command line prints and the page draws. A mean near zero is no fault
(scores are only ever compared); no spread, accuracy near one half, or another form that does better, is.
Knows reward models and examples of text; nothing of runs. The model service answers `reward-check` with it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from playground.config import ModelReward, RunConfig
from playground.errors import InvalidConfig, ModelNotFound, Problem, RewardModelUnusable
from playground.rewards import agreement
from playground.texts.preferences import Pair
from playground.training.models import loading
from playground.training.rewards import examples, faults, findings, score_models
from playground.training.rewards.examples import Pairs, References
from playground.training.rewards.findings import Cost, FormatRow, Report
from playground.training.rewards.formats import Encoded, recorded
from playground.training.rewards.learned_rewards import RewardModel, load

NO_SPREAD = 1e-6  # of the size of the scores
MUCH_CUT, LOW_RANK_CORRELATION = 0.1, 0.95
FEWER_PAIRS, LARGE_MODEL = 48, 50_000_000  # what a processor can score in a minute
SHOWN_TOKENS = 120


def check(config: RunConfig, outputs: Path | None = None, pairs: str | None = None) -> Iterator[dict[str, Any]]:
    """Test every learned reward and judge of a configuration.

    Yields:
        {"phase": what is being done, in words}, and for each reward {"report": `Report` as plain data}.

    Raises:
        InvalidConfig: there is nothing to test. PairsUnusable, ModelNotFound, PromptsUnusable: nothing to test with.
    """
    learned = learned_rewards(config)
    if not learned:
        raise InvalidConfig(
            [Problem("rewards", "There is no reward of kind `model` here, so there is no reward model to test.")]
        )
    device = loading.device_of(config.device)
    yield {"phase": f"{config.model.source} writes {examples.REFERENCES} completions"}
    references = examples.references(config, device)
    for name, spec in learned:
        yield {"phase": f"{spec.source}: collecting pairs of a good and a bad completion"}
        try:
            found = examples.pairs(config, spec, outputs, pairs, device)
        except ModelNotFound as error:
            report = Report(name, spec.source)
            report.say("fail", "no such model", str(error))
            yield {"report": asdict(report)}
            continue
        yield {"phase": f"{spec.source}: scoring"}
        yield {"report": asdict(examine(name, spec, references, found, device, outputs))}


def learned_rewards(config: RunConfig) -> list[tuple[str, ModelReward]]:
    """The learned scorers of a configuration, each with the name of its place."""
    return [(name, spec) for name, spec in config.scorers if isinstance(spec, ModelReward) and not spec.question]


def examine(
    name: str, spec: ModelReward, references: References, pairs: Pairs, device: torch.device, outputs: Path | None
) -> Report:
    """Test one reward model on completions and on pairs."""
    report = Report(name, spec.source, output=spec.output)
    try:
        model = load(spec, device, outputs)
        for prompt in references.prompts[:8]:
            model.format.check(prompt, references.completions[0])
    except (RewardModelUnusable, ModelNotFound) as error:
        report.say("fail", "not usable", str(error))
        return report
    report.template, report.max_length = model.format.name, model.format.max_length
    report.bytes_held = score_models.held_bytes(model.network.model)
    if not torch.cuda.is_available() and parameters(model) > LARGE_MODEL:
        pairs = pairs._replace(pairs=pairs.pairs[:FEWER_PAIRS])
    _look_at_form(report, model, spec)
    if _look_at_references(report, model, references) and _look_at_pairs(report, model, pairs):
        if spec.quantization != "none":
            _look_at_cost(report, model, spec, references, device, outputs)
        if report.verdict == "ok":
            report.say("ok", "fit to train on", _all_well(report))
    return report


def parameters(model: RewardModel) -> int:
    """How many weights the network has."""
    return sum(weight.numel() for weight in model.network.model.parameters())


def _look_at_form(report: Report, model: RewardModel, spec: ModelReward) -> None:
    """What the files alone say about the form."""
    trained_on = recorded(model.network.folder).get("template")
    if trained_on and trained_on != model.format.name:
        report.say(
            "fail",
            "another template than trained on",
            f"The reward model was trained on the template `{trained_on}` and is read in `{model.format.name}`. Set "
            "template: auto.",
        )
    end = end_token(model)
    if end is not None and end not in model.format.ids("A question?", "An answer.")[-3:]:
        shown = model.format.visible([end])
        report.say(
            "warn",
            "missing end token",
            f"The model's configuration names token {end} ({shown}) as its end, and the examples do not end with it. "
            "If it was trained with it, set eos_token in its tokenizer_config.json.",
        )


def end_token(model: RewardModel) -> int | None:
    """The end token that the model's own configuration names, if the model has such a token and its tokenizer none."""
    end = getattr(model.network.model.config.get_text_config(), "eos_token_id", None)
    end = end[0] if isinstance(end, list) and end else end
    if model.network.tokenizer.eos_token_id is not None or model.network.tokenizer.sep_token_id is not None:
        return None
    return end if isinstance(end, int) and 0 <= end < len(model.network.tokenizer) else None


def _look_at_references(report: Report, model: RewardModel, references: References) -> bool:
    """One example token by token, lengths, and how scores spread. False where nothing more can be measured."""
    encoded = _encoded(model.format.encoded, references.prompts, references.completions)
    first = encoded[0]
    report.example = {
        "prompt": references.prompts[0],
        "completion": references.completions[0],
        "ids": first.ids[:SHOWN_TOKENS],
        "tokens": [model.format.visible([token]) for token in first.ids[:SHOWN_TOKENS]],
        "special": [token in model.network.tokenizer.all_special_ids for token in first.ids[:SHOWN_TOKENS]],
        "length": len(first.ids),
    }
    lengths = [len(example.ids) for example in encoded]
    cut = sum(example.cut > 0 for example in encoded) / len(encoded)
    report.lengths = {
        "mean": statistics.fmean(lengths),
        "longest": max(lengths),
        "limit": model.format.max_length,
        "cut_share": cut,
    }
    if cut > MUCH_CUT:
        report.say(
            "warn",
            "examples are cut",
            f"{cut:.0%} of the examples are longer than {model.format.max_length} tokens and lose the beginning of "
            "their prompt. Raise max_length, or use shorter prompts.",
        )
    scores = model.raw_scores(encoded)
    known = [score for score in scores if math.isfinite(score)]
    mean, sd = agreement.mean_and_sd(known) if known else (None, None)
    report.reference = {
        "completions": len(scores),
        "not_finite": len(scores) - len(known),
        "mean": mean,
        "sd": sd,
        "lowest": min(known, default=None),
        "highest": max(known, default=None),
    }
    if len(known) < len(scores):
        report.say(
            "fail",
            "scores are not finite",
            f"{len(scores) - len(known)} of {len(scores)} scores are infinite or not a number. Try precision fp32 or "
            "no quantization; if that does not help, the weights are broken.",
        )
        return False
    size = max(map(abs, known))
    if sd is None or sd <= NO_SPREAD * max(size, 1e-30) or len(set(known)) == 1:
        report.say(
            "fail",
            "no spread",
            f"All {len(scores)} completions get the same score ({known[0]:.4g}), so there is nothing to learn from. "
            "The model saturates, is read in the wrong form, or is cut to nothing.",
        )
        return False
    return True


def _look_at_pairs(report: Report, model: RewardModel, pairs: Pairs) -> bool:
    """Good against bad in the form in force, and in all the others. False where scores are not finite."""
    first = pairs.pairs[0]
    in_force = margins(model, model.format.encoded, pairs.pairs)
    good, bad = model.raw_scores([model.format.encoded(first.prompt, text) for text in (first.chosen, first.rejected)])
    report.good = {"prompt": first.prompt, "completion": first.chosen, "score": good}
    report.bad = {"prompt": first.prompt, "completion": first.rejected, "score": bad}
    if not all(map(math.isfinite, in_force)):
        report.say("fail", "scores are not finite", "Some scores of the pairs are infinite or not a number.")
        return False
    right = rights(in_force)
    accuracy = statistics.fmean(right)
    report.pairs = {"source": pairs.source, "count": len(pairs.pairs), "generic": pairs.generic, "accuracy": accuracy}
    report.formats = [_row(model, None, in_force, in_force, first)]
    for variant in faults.variants(model.format, end_token(model)):
        differences = margins(model, variant.encode, pairs.pairs)
        if all(map(math.isfinite, differences)):
            report.formats.append(_row(model, variant, in_force, differences, first))
    report.formats.sort(key=lambda row: (-row.accuracy, not row.in_force, -row.margin))
    findings.judge_accuracy(report, right, pairs.source, generic=pairs.generic)
    findings.judge_formats(report)
    twice = sum(pair.chosen.strip().startswith(pair.prompt.strip()) for pair in pairs.pairs if pair.prompt.strip())
    if twice * 2 > len(pairs.pairs):
        report.say(
            "fail",
            "prompt twice",
            f"In {twice} of {len(pairs.pairs)} pairs the completion begins with its prompt, so the model reads the "
            "prompt twice. Leave the prompt out of the completions.",
        )
    return True


def _row(
    model: RewardModel,
    variant: faults.Variant | None,
    in_force: list[float],
    differences: list[float],
    shown: Pair,
) -> FormatRow:
    """`in_force`, `differences`: margins of the pairs in the form in force, and under the variant (None: the same)."""
    right, reference = rights(differences), rights(in_force)
    margin, margin_error = agreement.mean_and_error(differences)
    ahead, ahead_error = agreement.mean_and_error([b - a for a, b in zip(reference, right, strict=True)])
    gain, gain_error = agreement.mean_and_error([b - a for a, b in zip(in_force, differences, strict=True)])
    encode = variant.encode if variant else model.format.encoded
    return FormatRow(
        name=variant.name if variant else f"template {model.format.name}",
        help=variant.help if variant else faults.TEMPLATE_HELP[model.format.name],
        in_force=variant is None,
        accuracy=statistics.fmean(right),
        margin=margin,
        margin_error=margin_error,
        ahead=ahead,
        ahead_error=ahead_error,
        gain=gain,
        gain_error=gain_error,
        better_by_luck=agreement.chance_that_better(reference, right),
        example=model.format.visible(encode(shown.prompt, shown.chosen).ids[:SHOWN_TOKENS]),
        mend=variant.mend if variant else "",
    )


def _look_at_cost(
    report: Report,
    model: RewardModel,
    spec: ModelReward,
    references: References,
    device: torch.device,
    outputs: Path | None,
) -> None:
    """Size and order of the scores against those of the same model in full."""
    full = load(spec.model_copy(update={"quantization": "none"}), device, outputs)
    encoded = _encoded(model.format.encoded, references.prompts, references.completions)
    few, many = model.raw_scores(encoded), full.raw_scores(encoded)
    report.cost = Cost(
        quantization=spec.quantization,
        bytes_full=score_models.held_bytes(full.network.model),
        bytes_held=report.bytes_held,
        rank_correlation=agreement.spearman(many, few),
        pair_agreement=agreement.pair_agreement(many, few),
        completions=len(encoded),
    )
    correlation = report.cost.rank_correlation
    if correlation is None or correlation < LOW_RANK_CORRELATION:
        report.say(
            "warn",
            "quantization changes the order",
            f"In {spec.quantization} the scores order the completions differently than in full (rank correlation "
            f"{'none' if correlation is None else f'{correlation:.3f}'}). Use int8 instead of nf4, or none.",
        )


def _all_well(report: Report) -> str:
    reference = report.reference
    return (
        f"Right on {report.pairs['accuracy']:.0%} of {report.pairs['count']} pairs, and no other form does better. "
        f"Scores of {reference['completions']} completions: mean {reference['mean']:.3g}, sd {reference['sd']:.3g} (a "
        "mean near 0 is no fault)."
    )


def margins(model: RewardModel, encode: Callable[[str, str], Encoded], pairs: Sequence[Pair]) -> list[float]:
    """Score of the good completion less that of the bad one, for each pair."""
    prompts = [pair.prompt for pair in pairs]
    good = _encoded(encode, prompts, [pair.chosen for pair in pairs])
    bad = _encoded(encode, prompts, [pair.rejected for pair in pairs])
    scores = model.raw_scores([*good, *bad])
    return [a - b for a, b in zip(scores[: len(pairs)], scores[len(pairs) :], strict=True)]


def rights(differences: Sequence[float]) -> list[float]:
    """1 where the good one scored higher, 0 where lower, 1/2 where equal."""
    return [0.5 + 0.5 * ((value > 0) - (value < 0)) for value in differences]


def _encoded(
    encode: Callable[[str, str], Encoded], prompts: Sequence[str], completions: Sequence[str]
) -> list[Encoded]:
    return [encode(prompt, completion) for prompt, completion in zip(prompts, completions, strict=True)]

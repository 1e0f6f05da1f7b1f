"""The commands `score`, your own texts by the rewards of a configuration, and `reward-check`, the self-test of
learned rewards: both before any training. They ask the model service, which holds torch, and print.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli import arguments
from playground.cli.arguments import CANNOT, DEFAULT_OUTPUTS, FAILED, ConfigArgument, Json, Outputs
from playground.cli.settings_command import setting
from playground.cli.terminal import complain, number, print_json, print_table, say, without_phases
from playground.config import ModelReward, RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem, ServiceUnavailable
from playground.rewards import trying
from playground.rewards.mixture import term_names
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks

CHECK_SECONDS = 3600


def score(
    config: ConfigArgument,
    prompt: Annotated[str, typer.Option(help="The prompt that the texts continue.")],
    completion: Annotated[
        list[str], typer.Option(help=f"A text to score, as a continuation of the prompt. Up to {trying.MAX_TEXTS}.")
    ],
    set_: Annotated[list[str] | None, setting("rewards.0.weight=2")] = None,
    samples: Annotated[
        int,
        typer.Option(help="Texts of the untrained model to compare with; 0 for none.", min=0, max=trying.MAX_SAMPLES),
    ] = trying.SAMPLES,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Json = False,
) -> None:
    """Score texts with the rewards of a configuration, term by term, before any training."""
    chosen = arguments.chosen(config, set_)
    checks.check(chosen, outputs)
    located = checks.located(chosen, outputs)
    reference = None
    if samples:
        reference = trying.reference_of(located, samples)
    question = trying.question(located.rewards, prompt, completion, reference, str(outputs.resolve()))
    (answer,) = _answers(outputs, "rewards-score", question, trying.TIMEOUT_SECONDS)
    weighed, outlooks = trying.weigh(chosen.rewards, answer, chosen.score), trying.outlooks(chosen, answer)
    if json:
        print_json(_data(chosen, completion, weighed, samples, outlooks))
    else:
        _print_scores(chosen, completion, weighed, samples)
        for outlook in outlooks:
            say(trying.sentence(outlook, chosen.kl.coef))


def _data(
    config: RunConfig, completions: list[str], weighed: trying.Weighed, samples: int, outlooks: list[trying.Outlook]
) -> dict[str, Any]:
    return {
        "behaviours": [outlook._asdict() for outlook in outlooks],
        "unit": "sd" if samples else "points",
        "samples": samples,
        "texts": [
            {
                "completion": completion,
                "score": weighed.scores[row],
                "total": weighed.totals[row],
                "terms": {
                    name: {
                        "weight": reward.weight,
                        "value": weighed.raw[name][row],
                        "value_in_sd": weighed.z[name][row] if samples else None,
                        "adds": weighed.adds[name][row],
                    }
                    for name, reward in zip(term_names(config.rewards), config.rewards, strict=True)
                },
            }
            for row, completion in enumerate(completions)
        ],
    }


def _print_scores(config: RunConfig, completions: list[str], weighed: trying.Weighed, samples: int) -> None:
    """Each text, and below it a table: term, weight, value, value in sd, what it adds."""
    for index, completion in enumerate(completions):
        rows = []
        for name, reward in zip(weighed.names, config.rewards, strict=True):
            value, adds = weighed.raw[name][index], weighed.adds[name][index]
            scaled = "-"
            if samples:
                scaled = number(weighed.z[name][index], sign=True)
            words = "no opinion" if value is None else number(value)
            rows.append((name, f"{reward.weight:g}", words, scaled, number(adds, sign=True)))
        rows.append(("score", "", number(weighed.totals[index]), "", number(weighed.scores[index], sign=True)))
        say(completion.strip())
        print_table(rows, "Term", "Weight", "Value", "In sd", "Adds", figures_from=1)
    if samples:
        say(f"In standard deviations above the average of {samples} texts of the untrained {config.model.source}.")


def reward_check(
    preset: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A preset or a YAML file; its learned rewards are tested.")
    ] = catalog.DEFAULT_PRESET,
    set_: Annotated[list[str] | None, setting("prompts.source=pocket/claims")] = None,
    reward: Annotated[
        str | None,
        typer.Option(help="Test this reward model instead: one trained here by name, a folder, or a hub id."),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help="Pairs to test on: a file with prompt, chosen and rejected, or a pocket annotator."),
    ] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Json = False,
) -> None:
    """Test learned rewards before training on them: are they read in the right form, do they tell good from bad?

    Exit codes: 0 fit to train on (perhaps with warnings), 1 a problem was found, 2 cannot be tested as asked.
    """
    config = yaml_io.load(catalog.preset_path(preset), set_)
    if reward:
        config = config.model_copy(update={"rewards": (ModelReward(source=reward),), "judges": (), "behaviours": ()})
    checks.check(config, outputs)
    if not any(isinstance(spec, ModelReward) for _, spec in config.scorers):
        raise InvalidConfig([Problem("rewards", f"{preset} has no reward of kind `model`. Name one with --reward.")])
    question = {
        "config": checks.located(config, outputs).model_dump(mode="json"),
        "outputs": str(outputs.resolve()),
        "pairs": pairs and checks.whole_path(pairs),
    }
    failed = False
    try:
        for answer in _answers(outputs, "reward-check", question, CHECK_SECONDS):
            report = answer["report"]
            failed = failed or report["verdict"] == "fail"
            if json:
                print_json(report)
            else:
                _print_report(report)
    except ServiceUnavailable as error:
        complain(str(error))
        raise typer.Exit(CANNOT) from None
    if failed:
        raise typer.Exit(FAILED)


def _answers(outputs: Path, kind: str, question: dict[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
    """What the service says; its progress goes to stderr."""
    with contextlib.closing(ModelService(outputs)) as service:
        yield from without_phases(service.ask(kind, question, seconds))


def _print_report(report: dict[str, Any]) -> None:
    say(f"{report['source']} ({report['name']}): {report['verdict']}")
    say(*(f"{finding['level']:4}  {finding['name']}: {finding['text']}" for finding in report["findings"]))
    print_table(_facts(report).items())
    if not report["formats"]:
        return
    rows = [_format_row(row) for row in report["formats"]]
    print("The same pairs in other formats (+- one standard error):")
    print_table(rows, "Form", "Right", "Margin", "Ahead of the format in use")


def _format_row(row: dict[str, Any]) -> tuple[str, ...]:
    name, right = row["name"], f"{row['accuracy']:.1%}"
    margin = f"{row['margin']:+z.2f} +- {row['margin_error']:.2f}"
    if row["in_force"]:
        return f"{name} (in use)", right, margin, "-"
    return name, right, margin, f"{100 * row['ahead']:+z.1f} +- {100 * row['ahead_error']:.1f} points"


def _facts(report: dict[str, Any]) -> dict[str, str]:
    """What was measured, in words."""
    facts = {}
    if report["template"]:
        facts["read as"] = f"template {report['template']}, at most {report['max_length'] or 'any number of'} tokens"
    if example := report["example"]:
        facts["one example"] = "|".join(example["tokens"]).replace("\n", "\\n")
    if lengths := report["lengths"]:
        cut = f"{lengths['cut_share']:.0%} are cut"
        facts["lengths"] = f"mean {lengths['mean']:.0f}, longest {lengths['longest']} tokens; {cut}"
    for name in ("good", "bad"):
        if text := report[name]:
            score = "not finite"
            if text["score"] is not None:
                score = f"{text['score']:+z.3f}"
            facts[f"a {name} example"] = f"{score} for {text['completion'].strip()!r}"
    if (scores := report["reference"]) and scores["mean"] is not None:
        extent = f"{scores['lowest']:.2f} to {scores['highest']:.2f}"
        facts[f"{scores['completions']} completions"] = f"mean {scores['mean']:.3f}, sd {scores['sd']:.3f}, {extent}"
    if pairs := report["pairs"]:
        facts["good beats bad"] = f"{pairs['accuracy']:.1%} of {pairs['count']} pairs: {pairs['source']}"
    if cost := report["cost"]:
        facts[f"in {cost['quantization']}"] = _cost_in_words(cost, report["bytes_held"])
    return facts


def _cost_in_words(cost: dict[str, Any], bytes_held: float) -> str:
    """What a quantized model saves, and how well it agrees with the full one."""
    sizes = f"{bytes_held / 1e6:.1f} MB instead of {cost['bytes_full'] / 1e6:.1f} MB"
    ranks, same = cost["rank_correlation"], cost["pair_agreement"]
    agreement = "none"
    if ranks is not None and same is not None:
        agreement = f"{ranks:.3f}, {same:.1%} of all pairs in the same order"
    return f"{sizes}; rank correlation with full: {agreement}"

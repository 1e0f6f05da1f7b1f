"""The command `reward-check`: the self-test of learned rewards, with the format debugger.

Thin, as the other commands: it asks the model service, which holds torch, and prints. `playground.cli` registers it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli.arguments import CANNOT, DEFAULT_OUTPUTS, FAILED, Json, Outputs, setting
from playground.cli.terminal import complain, print_json, print_table, say
from playground.config import ModelReward, yaml_io
from playground.errors import InvalidConfig, Problem, ServiceUnavailable
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks

TIMEOUT_SECONDS = 3600


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
        "pairs": str(Path(pairs).resolve()) if pairs and os.path.exists(pairs) else pairs,
    }
    failed = False
    with contextlib.closing(ModelService(outputs)) as service:
        try:
            for answer in service.ask("reward-check", question, timeout_seconds=TIMEOUT_SECONDS):
                if "phase" in answer:
                    complain(f"{answer['phase']} ...")
                    continue
                report = answer["report"]
                failed = failed or report["verdict"] == "fail"
                (print_json if json else _print)(report)
        except ServiceUnavailable as error:
            complain(str(error))
            raise typer.Exit(CANNOT) from None
    raise typer.Exit(FAILED if failed else 0)


def _print(report: dict[str, Any]) -> None:
    say(f"{report['source']} ({report['name']}): {report['verdict']}")
    say(*(f"{finding['level']:4}  {finding['name']}: {finding['text']}" for finding in report["findings"]))
    print_table(facts_of(report).items())
    if report["formats"]:
        _print_formats(report)


def facts_of(report: dict[str, Any]) -> dict[str, str]:
    """What was measured, in words."""
    facts = {}
    if report["template"]:
        facts["read as"] = f"template {report['template']}, at most {report['max_length'] or 'any number of'} tokens"
    if example := report["example"]:
        facts["one example"] = "|".join(example["tokens"]).replace("\n", "\\n")
        facts["its token ids"] = " ".join(map(str, example["ids"]))
    if found := report["lengths"]:
        cut = f"{found['cut_share']:.0%} are cut"
        facts["lengths"] = f"mean {found['mean']:.0f}, longest {found['longest']} tokens; {cut}"
    scores = [report[name] and report[name]["score"] for name in ("good", "bad")]
    for name, score in zip(("good", "bad"), scores, strict=True):
        if shown := report[name]:
            words = "not finite" if score is None else f"{score:+z.3f}"
            facts[f"a {name} example"] = f"{words} for {shown['completion'].strip()!r}"
    if all(isinstance(score, float) for score in scores) and scores[1] > scores[0]:
        facts["a bad example"] += "; it is scored above the good one: one of the pairs that it has wrong"
    if (found := report["reference"]) and found["mean"] is not None:
        extent = f"{found['lowest']:.2f} to {found['highest']:.2f}"
        facts[f"{found['completions']} completions"] = f"mean {found['mean']:.3f}, sd {found['sd']:.3f}, {extent}"
    if found := report["pairs"]:
        facts["good beats bad"] = f"{found['accuracy']:.1%} of {found['count']} pairs: {found['source']}"
    if cost := report["cost"]:
        sizes = [f"{size / 1e6:.1f} MB" for size in (report["bytes_held"], cost["bytes_full"])]
        ranks, same = cost["rank_correlation"], cost["pair_agreement"]
        shown = "none" if ranks is None or same is None else f"{ranks:.3f}, {same:.1%} of all pairs in the same order"
        facts[f"held in {cost['quantization']}"] = f"{' instead of '.join(sizes)}; rank correlation with full: {shown}"
    return facts


def _print_formats(report: dict[str, Any]) -> None:
    rows = [
        (
            f"{row['name']}{' (in force)' if row['in_force'] else ''}",
            f"{row['accuracy']:.1%}",
            f"{row['margin']:+z.2f} +- {row['margin_error']:.2f}",
            "-" if row["in_force"] else f"{100 * row['ahead']:+z.1f} +- {100 * row['ahead_error']:.1f} points",
        )
        for row in report["formats"]
    ]
    print("The same pairs in other forms (+- one standard error):")
    print_table(rows, "Form", "Right", "Margin", "Ahead of the form in force")

"""The model card of a saved policy: README.md as the Hugging Face hub reads it. Text of models, prompts and users
is in code blocks whose fence it cannot close, and elsewhere without Markdown's special characters."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

import yaml
from markupsafe import Markup

from playground import __version__, plain_files
from playground.analysis.run_report import RunReport
from playground.config import RunConfig, methods, yaml_io
from playground.data import row_files
from playground.errors import PlaygroundError
from playground.exports.rendering import render
from playground.models import real_model
from playground.runs.folder import changes
from playground.setup import catalog, describe

CURVES = "curves.png"
CONFIGURATION = "run.yaml"  # not config.yaml: that name makes a folder a run
STEER = "steer.py"  # beside the weights of a steered run
SHOWN_PAIRS = 5
MAX_CARD_BYTES = 1_000_000
TAGS = ("rlhf", "rlhf-playground")
LEARNED_FROM = {
    "dpo": "pairs of texts written by the start model and judged by the reward",
    "sft": "imitation of the best-scoring of several texts written by the start model",
}  # elsewhere by reinforcement
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


class Written(NamedTuple):
    """What was written: merged or adapter, of which update, how many numbers in which precision."""

    kind: str
    update: int
    parameters: int
    precision: str


def text(report: RunReport, written: Written) -> str:
    config = report.config
    first = {pair.before.prompt_id: pair for pair in reversed(report.pairs)}  # answers to each prompt
    return render(
        "card.md.j2",
        report=report,
        config=config,
        written=written,
        version=__version__,
        front_matter=Markup(front_matter(config, written)),
        file={"configuration": CONFIGURATION, "curves": CURVES, "steer": STEER},
        line=describe.of(config).line(report.title),
        method=methods.METHODS[config.method],
        learned_from=LEARNED_FROM.get(config.method, "reinforcement learning from a reward"),
        unused=functools.partial(methods.unused, config.method),
        rewards=[(reward.weight, _reward(reward.model_dump())) for reward in config.rewards],
        edits=[
            (edit.field, describe.in_words(edit.field, edit.value), update)
            for update, edit in changes.dated_edits_of(report.events)
            if update < written.update
        ],
        pairs=list(first.values())[::-1][:SHOWN_PAIRS],
        evaluated=report.pairs[0].after.update if report.pairs else written.update,
        base_on_hub=catalog.is_hub_id(config.model.source),
        real=real_model if config.model.source == real_model.NAME else None,
    )


def front_matter(config: RunConfig, written: Written) -> str:
    """The YAML at the top, which the hub indexes. A base that is not on the hub is not named there."""
    facts: dict[str, Any] = {"library_name": "peft" if written.kind == "adapter" else "transformers"}
    if catalog.is_hub_id(config.model.source):
        facts["base_model"] = config.model.source
        if methods.METHODS[config.method].trains:
            facts["base_model_relation"] = "adapter" if written.kind == "adapter" else "finetune"
    if licence := licence_of(config):
        facts["license"] = licence
    facts["pipeline_tag"] = "text-generation"
    tags = {
        config.method.replace("_", "-"): True,
        **dict.fromkeys(TAGS, True),
        "reinforcement-learning": methods.METHODS[config.method].in_own_loop and config.method != "distil",
        "lora": written.kind == "adapter",
        "wrong-on-purpose": config.experiments,
    }
    facts["tags"] = [tag for tag, holds in tags.items() if holds]
    source = config.prompts.source
    shipped = source in [item.name for item in catalog.PROMPT_SETS]
    if "/" in source and catalog.is_hub_id(source) and not shipped and not row_files.is_file(source):
        facts["datasets"] = [source]
    return f"---\n{yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)}---"


def licence_of(config: RunConfig) -> str | None:
    """The licence of the base model in the hub's spelling, from the catalog or from the base's own card; else None."""
    licences = {model.name: model.licence for model in catalog.MODELS}
    licences |= {name: model.licence for name, model in catalog.BY_NAME.items()}
    if (named := licences.get(config.model.source, "")) not in ("", "not stated"):
        return named.partition(",")[0].strip().lower()
    try:
        path = catalog.model_folder(config.model.source) / "README.md"
        front_matter = FRONT_MATTER.match(plain_files.read_bytes(path, MAX_CARD_BYTES, links=True).decode("utf-8"))
        if front_matter is None:
            return None
        facts = yaml_io.parse_yaml(front_matter.group(1))
    except (OSError, UnicodeDecodeError, PlaygroundError):
        return None
    if isinstance(facts, dict) and isinstance(licence := facts.get("license"), str):
        return licence[:100]
    return None


def _reward(reward: dict[str, Any]) -> str:
    own = {"model": "source", "expression": "expression"}.get(reward["kind"])
    if own:
        return f"{reward['kind']}: {reward[own]}"
    return str(reward["kind"])

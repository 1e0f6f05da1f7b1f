"""The model card of a saved policy: README.md as the Hugging Face hub reads it. Text only.

Text of models, prompts and users is data here too: it stands in code blocks whose fence it cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from playground import __version__
from playground.config import RunConfig, methods, yaml_io
from playground.errors import PlaygroundError
from playground.exports import scripts
from playground.exports.report import COUNTS, Report
from playground.exports.svg import figure
from playground.insight import before_after, compute, knee
from playground.runs.steer import changes
from playground.safety import plain_files
from playground.setup import catalog, telling

CURVES = "curves.png"
CONFIGURATION = "run.yaml"  # not config.yaml: that name makes a folder a run
SHOWN_PAIRS = 5
MAX_CARD_BYTES = 1_000_000
SHOWN_CHARACTERS = 600
TAGS = ("rlhf", "rlhf-playground")
REINFORCED = ("ppo", "rloo", "grpo")  # learn from the scores of their own texts
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Written(NamedTuple):
    """What was written: merged or adapter, of which update, how many numbers in which precision.

    `max_difference`: between log-probs before and after an adapter was merged; None where nothing was merged.
    """

    kind: str
    update: int
    parameters: int
    precision: str
    max_difference: float | None


def text(report: Report, written: Written) -> str:
    """The whole README.md."""
    config = report.config
    parts = [
        front_matter(config, written),
        f"# {_plain(report.title)}, {'LoRA adapter' if written.kind == 'adapter' else 'full model'}",
        *(
            [f"> **{report.wrong_on_purpose}** It is there to be studied, not to be used."]
            if report.wrong_on_purpose
            else []
        ),
        _what(report, written),
        "## How it was made",
        _how(report, written),
        f"![Curves of the run: behaviours, score, distance from the reference, perplexity]({CURVES})",
        "## What came of it",
        _results(report, written),
        *(["### What it does, counted", _counted(report)] if report.behaviours else []),
        "## Before and after",
        _pairs(report.pairs, report.unit),
        "## How to load it",
        _loading(config, written),
        "## Limits",
        _limits(config, written),
    ]
    return "\n\n".join(parts) + "\n"


def front_matter(config: RunConfig, written: Written) -> str:
    """The YAML at the top, which the hub indexes. A base that is not on the hub is not named there."""
    facts: dict[str, Any] = {"library_name": "peft" if written.kind == "adapter" else "transformers"}
    if catalog.is_hub_id(config.model.source):
        facts["base_model"] = config.model.source
        if methods.METHODS[config.method].trains:
            facts["base_model_relation"] = "adapter" if written.kind == "adapter" else "finetune"
    licence = licence_of(config)
    if licence:
        facts["license"] = licence
    facts["pipeline_tag"] = "text-generation"
    facts["tags"] = [
        config.method.replace("_", "-"),
        *TAGS,
        *(["reinforcement-learning"] if config.method in REINFORCED else []),
        *(["lora"] if written.kind == "adapter" else []),
        *(["wrong-on-purpose"] if config.experiments else []),
    ]
    if "/" in config.prompts.source and catalog.is_hub_id(config.prompts.source) and not _is_local_set(config):
        facts["datasets"] = [config.prompts.source]
    return f"---\n{yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)}---"


def licence_of(config: RunConfig) -> str | None:
    """The licence of the base model in the hub's spelling, from the catalog or from the base's own card; else None."""
    licences = {model.name: model.licence for model in catalog.MODELS}
    licences |= {model.name: model.licence for model in catalog.CURATED}
    if (named := licences.get(config.model.source, "")) not in ("", "not stated"):
        return named.partition(",")[0].strip().lower()
    try:
        path = catalog.model_folder(config.model.source) / "README.md"
        found = FRONT_MATTER.match(plain_files.read_bytes(path, MAX_CARD_BYTES, links=True).decode("utf-8"))
        facts = yaml_io.parse_yaml(found.group(1)) if found else None
    except (OSError, UnicodeDecodeError, PlaygroundError):
        return None
    licence = facts.get("license") if isinstance(facts, dict) else None
    return licence[:100] if isinstance(licence, str) else None


def fenced(content: str) -> str:
    """A code block that the content cannot leave."""
    content = CONTROL.sub(" ", content)
    if len(content) > SHOWN_CHARACTERS:
        content = content[:SHOWN_CHARACTERS] + " ..."
    longest = max(map(len, re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{content.strip()}\n{fence}"


def _what(report: Report, written: Written) -> str:
    config = report.config
    line = telling.told(config).line(report.title)
    story = f"\n\n{_plain(line)}" if line else ""
    size = f"{written.parameters:,} numbers, kept in {written.precision}"
    if not methods.METHODS[config.method].trains:
        return (
            f"The weights of {_code(config.model.source)}, which nothing was trained in: {size}. What is told below is "
            f"of {_untrained(config)}, measured in the RLHF Playground {__version__}.{story}"
        )
    what = "A LoRA adapter for" if written.kind == "adapter" else "A language model made from"
    return (
        f"{what} {_code(config.model.source)}, trained with {_method(config)} in the RLHF Playground {__version__}. "
        f"These are its weights after update {written.update}: {size}.{story}"
    )


def _method(config: RunConfig) -> str:
    """What trained it, and from what."""
    source = {
        "dpo": "pairs of texts that the start model wrote and the reward judged",
        "sft": "imitation of the best-scored of several texts that the start model wrote",
    }.get(config.method, "reinforcement learning from a reward")
    return f"{methods.METHODS[config.method].label} ({source})"


def _untrained(config: RunConfig) -> str:
    """What the figures are of where nothing was trained."""
    if config.method == "steer":
        return f"this model with a steering vector added, which is not in the weights (`{scripts.STEER}`)"
    return f"the best-scored of {config.answers_each} answers of this model; a single answer is no better than before"


def _how(report: Report, written: Written) -> str:
    config = report.config
    adapter = config.model.adapter
    edits = [
        f"{_code(edit.field)} to {_plain(telling.in_words(edit.field, edit.value))} after update {update}"
        for update, edit in changes.dated_edits_of(report.events)
        if update < written.update
    ]
    rows = [
        ("base model", _code(config.model.source)),
        *([("revision", _code(config.model.revision))] if config.model.revision else []),
        ("trained", "nothing" if not methods.METHODS[config.method].trains else "every weight"
         if adapter.kind == "none" else f"LoRA, rank {adapter.r}, alpha {adapter.alpha:g}"),
        ("rewards", ", ".join(f"{reward.weight:g} x {_code(_reward(reward))}" for reward in config.rewards)),
        ("prompts", _code(config.prompts.source)),
        ("reference", "the model before training" if config.reference.source == catalog.START
         else _code(config.reference.source)),
        *([] if methods.unused(config.method, "kl.coef") else [("beta", _beta(config, report.unit))]),
        ("updates", f"{written.update} of {config.ppo.num_updates}, {config.ppo.batch_size} episodes each"),
        *([] if methods.unused(config.method, "ppo.learning_rate")
          else [("learning rate", f"{config.ppo.learning_rate:g}, {config.ppo.schedule}")]),
        *([("changed while it trained", "; ".join(edits))] if edits else []),
        ("seed", str(config.seed)),
        ("method", methods.METHODS[config.method].label),
        ("engine", "TRL's trainer" if config.by_trl else "the playground's own"),
    ]  # fmt: skip
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"| | |\n|---|---|\n{table}\n\nEverything else is in [{CONFIGURATION}]({CONFIGURATION})."


def _beta(config: RunConfig, unit: str) -> str:
    if not config.kl.moves or methods.unused(config.method, "kl.controller"):
        return f"{config.kl.coef:g} {unit} of score per nat"
    return f"{config.kl.controller}, from {config.kl.coef:g} towards {config.kl.target:g} nats"


def _reward(reward: Any) -> str:
    own = {"model": "source", "expression": "expression"}.get(reward.kind)
    return f"{reward.kind}: {getattr(reward, own)}" if own else str(reward.kind)


def _results(report: Report, written: Written) -> str:
    lines = [report.sentence] if report.sentence else []
    looked = report.pairs[0].after.update if report.pairs else written.update
    if looked != written.update:
        lines.insert(0, f"Measured at the last look before these weights, after update {looked}.")
    if found := report.outcome:
        lines.append(
            f"Length {found.length_before:.1f} to {found.length_after:.1f} tokens; {found.unique_after} different "
            f"texts; {round(100 * found.ended_after)} % ended by themselves."
        )
    if forgetting := report.forgetting():
        lines.append(
            f"Perplexity on held-out text: {figure(forgetting[0])} before, {figure(forgetting[1])} after (rising: "
            "forgetting)."
        )
    if strange := report.strangeness():
        lines.append(
            f"Perplexity of its texts to the reference: {figure(strange[0])} at first, {figure(strange[1])} at last "
            "(rising: strange)."
        )
    if sentence := knee.knee_sentence(report.knee):
        lines.append(sentence)
    listed = "\n".join(f"- {line}" for line in lines) or "- Nothing was measured."
    if report.ledger is None:
        return listed
    rows = "\n".join(
        f"| {phase.name} | {phase.seconds:.1f} | {compute.operations_in_words(phase.operations)} |"
        for phase in report.ledger.phases
    )
    return (
        f"{listed}\n\nCompute: {compute.ledger_sentence(report.ledger)}\n\n"
        f"| Phase | Seconds | Operations, counted |\n|---|---|---|\n{rows}"
    )


def _counted(report: Report) -> str:
    known = [heading for heading in COUNTS if report.verdicts or heading != COUNTS[-1]]
    rows = "\n".join(f"| {' | '.join(map(_plain, row[: len(known)]))} |" for row in report.counts_told())
    return (
        "Of the completions of the fixed prompts, before training and at the newest look. The interval is Wilson's, of "
        "the share after; changed is what an exact sign test over the prompts does not put down to chance.\n\n"
        f"| {' | '.join(known)} |\n|{'---|' * len(known)}\n{rows}"
    )


def _pairs(pairs: Sequence[before_after.Pair], unit: str) -> str:
    if not pairs:
        return "The run answered no fixed prompts after training."
    first: dict[int, before_after.Pair] = {}
    for pair in pairs:
        first.setdefault(pair.before.prompt_id, pair)
    chosen = list(first.values())[:SHOWN_PAIRS]
    shown = []
    for number, (before, after) in enumerate(chosen, 1):
        shown.append(
            f"**{number}. Prompt**\n\n{fenced(before.prompt)}\n\nBefore (score {_number(before.score)}):\n\n"
            f"{fenced(before.completion)}\n\nAfter (score {_number(after.score)}, {_number(after.kl)} nats):\n\n"
            f"{fenced(after.completion)}"
        )
    return (
        f"The first {len(chosen)} fixed prompts, not the best ones; the same random numbers on both sides, scores in "
        f"{unit}. They show what the models wrote, whatever it is.\n\n" + "\n\n".join(shown)
    )


def _loading(config: RunConfig, written: Written) -> str:
    if written.kind == "adapter":
        code = (
            "from peft import AutoPeftModelForCausalLM\nfrom transformers import AutoTokenizer\n\n"
            'model = AutoPeftModelForCausalLM.from_pretrained("FOLDER OR REPOSITORY")\n'
        )
    else:
        code = (
            "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
            'model = AutoModelForCausalLM.from_pretrained("FOLDER OR REPOSITORY")\n'
        )
    code += 'tokenizer = AutoTokenizer.from_pretrained("FOLDER OR REPOSITORY")'
    note = ""
    if written.kind == "adapter" and not catalog.is_hub_id(config.model.source):
        note = "\n\nIts base is a folder of the machine it was trained on, named in adapter_config.json."
    if config.method == "steer":
        note += (
            f"\n\nThat is the model before steering: a vector is not in the weights. `{scripts.STEER}` adds it, layer "
            'and strength included: `from steer import steer; steer(model, "FOLDER")`.'
        )
    return f"```python\n{code}\n```{note}"


def _limits(config: RunConfig, written: Written) -> str:
    limits = [
        "It was made for a reward, not for truth or safety: what the reward does not see may have become worse.",
        "The score above is the reward it was made for, measured on few prompts of the same kind. It is no measure "
        "of quality elsewhere.",
        "It keeps the limits, biases and licence of its base model and of the data behind rewards and prompts.",
    ]
    if written.max_difference is not None:
        limits.append(
            "The adapter was merged into the base model's full-precision weights; on a probe no log-probability moved "
            f"by more than {written.max_difference:.1e} by that."
        )
    if config.model.quantization != "none":
        limits.append(
            f"It was trained with the base model in {config.model.quantization}, so in full precision it is not quite "
            "the model that was measured above."
        )
    return "\n".join(f"- {limit}" for limit in limits)


def _is_local_set(config: RunConfig) -> bool:
    source = config.prompts.source
    return source in [item.name for item in catalog.PROMPT_SETS] or Path(source).suffix in (".txt", ".jsonl", ".csv")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _plain(words: str) -> str:
    """One line of a person's words without what Markdown or HTML would act on."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(CONTROL.sub(" ", words).split()))


def _code(words: str) -> str:
    """A name as code inside a line of a table."""
    return "`" + CONTROL.sub(" ", words).replace("`", "'").replace("\n", " ").replace("|", "/") + "`"

"""A run written down for use elsewhere: as a script for TRL 1.12 (GRPO for a run with groups, else PPO), or as YAML for
our own `train` command."""

from __future__ import annotations

import ast
import contextlib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from playground.config import PromptsConfig, RunConfig, engines, methods
from playground.data import claim_files, dialogues, row_files
from playground.data.row_files import TableUnusable
from playground.errors import InvalidConfig, Problem
from playground.exports import reward_source
from playground.exports.rendering import render
from playground.models import real_model
from playground.pocket import prompt_sets
from playground.pocket.prompt_sets import PROMPT_SETS
from playground.rewards.functions import Stays
from playground.rewards.mixture import term_names
from playground.runs.folder.records import EDIT, Event, ScoreScale
from playground.setup import catalog, describe

PROJECT = Path(__file__).parents[2]
OVERLONG_SHARE = 5  # of the longest text: its last fifth costs something, as in `ppo.advantages`
MOST_ROWS = 512  # prompts of a pocket set that stand in a script

OWN_REWARDS = {
    "expression": "The playground's own evaluator computes the expression in REWARDS; it is never run as Python.",
    "python": "The code in REWARDS runs in a separate process, as it did in the run. Read it before you start this.",
}  # what a reader of the script should know about rewards that a user has written


def command(config: RunConfig, path: str) -> str:
    """The command that repeats a run from its YAML at `path`."""
    return f"python -m playground train {shlex.quote(path)}"


def yaml_text(config: RunConfig, path: str = "run.yaml") -> str:
    """The configuration as YAML for our own `train`, with the command on top."""
    if config.not_started:
        return f"# {config.not_started}\n{config.to_yaml()}"
    head = f"# Run it in the playground's folder:  {command(config, path)}\n"
    if wrong := describe.wrong_on_purpose(config):
        head += f"# {wrong}\n"
    title = describe.title_of(config)
    if not title.startswith(config.about.title):  # it learns something else than its preset
        words = {"title": title, "story": "", "expect": ""}
        config = config.model_copy(update={"about": config.about.model_copy(update=words)})
    return head + config.to_yaml()


class TRLPlan(NamedTuple):
    """What is known of a script for TRL before it is written: what TRL does otherwise than the run, and why it needs
    the playground, if it does."""

    differences: list[str]
    needs: list[str]

    def in_words(self) -> list[str]:
        """As sentences for who is about to take it."""
        return [*(f"It needs the playground: {sentence}" for sentence in self.needs), *self.differences]


def trl_plan(config: RunConfig, events: Iterable[Event] = ()) -> TRLPlan:
    """What a script for TRL leaves out of this run. `events`: of the run."""
    needs: list[str] = []
    if config.not_started:
        return TRLPlan([], needs)
    for name, spec in zip(term_names(config.rewards), config.rewards, strict=True):
        try:
            reward_source.source_of(spec)
        except Stays as error:
            needs.append(f"The reward `{name}` {error}.")
    with contextlib.suppress(TableUnusable):  # the file may have gone since
        if claim_files.is_source(config.prompts.source, config.prompts.column):
            needs.append("The prompts are claims, which it makes of the rows.")
    if config.model.source == real_model.NAME:
        needs.append(f"The model {real_model.NAME} is kept by it.")
    return TRLPlan([*_differences(config, not needs), *_edits(events)], needs)


def trl_script(config: RunConfig, events: Sequence[Event] = ()) -> str:
    """A complete script that does this run with TRL 1.12's `PPOTrainer`, one with groups with its `GRPOTrainer`. With
    rewards that can be written down it goes without this project, else with its rewards, prompts and models. Text
    from the configuration appears as Python literals only. `events`: of the run; without the scale of its score among
    them the script measures one, and what was changed while it trained is said."""
    if config.not_started:
        raise InvalidConfig([Problem("kind", config.not_started)])
    scale = ScoreScale.of(events)
    per_term = any(reward.normalise for reward in config.rewards)
    kinds = {reward.kind for reward in config.rewards}
    plan, names, adapter = trl_plan(config, events), term_names(config.rewards), config.model.adapter
    recorded = scale is not None and (bool(scale.terms) or not per_term)
    alone = not plan.needs
    terms = scale.terms if scale is not None and recorded else {}
    known = [(terms[name]["mean"], terms[name]["sd"]) if name in terms else (0.0, 1.0) for name in names]
    in_groups = is_grpo(config)
    controller = {"adaptive": "AdaptiveKL", "ziegler": "ZieglerKL"}.get("" if in_groups else config.kl.controller, "")
    horizon = f", horizon={config.kl.horizon}" if config.kl.controller == "ziegler" else ""
    return render(
        "trl_script.py.j2",
        config=config,
        version=engines.TRL_VERSION,
        differences=plan.differences,
        needs=plan.needs,
        alone=alone,
        packages=_packages(config),
        folder=_folder(config.model.source),
        targets=list(adapter.target_modules) if adapter.target_modules else "all-linear",
        rows=_rows(config.prompts) if alone else None,
        dataset=_dataset(config.prompts),
        table=_table(config.prompts.source) if alone else {},
        names=list(dialogues.COLUMNS),
        makers=Markup(
            "\n\n".join(map(reward_source.maker, *zip(*enumerate(config.rewards), strict=True)) if alone else ())
        ),
        made=[f"reward_{number}" for number in range(len(names))],
        term_scales=known,
        controller=Markup(_controller_source()) if controller else "",
        beta=Markup(f"{controller}(coef={config.kl.coef!r}, target={config.kl.target!r}{horizon})"),
        rewards=[reward.model_dump(mode="json") for reward in config.rewards],
        own_rewards=[
            sentence for kind, sentence in OWN_REWARDS.items() if kind in kinds and not (alone and kind != "python")
        ],
        grpo=in_groups,
        overlong=max(1, config.sampling.max_new_tokens // OVERLONG_SHARE) if config.ppo.overlong == "penalise" else 0,
        settings=engines.grpo_settings(config) if in_groups else engines.trl_settings(config),
        remarks={} if in_groups else _remarks(config),
        scale=scale,
        per_term=per_term,
        recorded=recorded,
    )


def is_grpo(config: RunConfig) -> bool:
    """Whether a run compares the texts of a prompt, as TRL's GRPOTrainer does."""
    return methods.METHODS[config.method].in_own_loop and config.ppo.baseline == "group"


def _packages(config: RunConfig) -> list[str]:
    text = str([reward.model_dump() for reward in config.rewards])
    return [f"trl=={engines.TRL_VERSION}.0", "peft", *["vaderSentiment"] * ("vader" in text)]


def _folder(source: str) -> str:
    """Where a script finds a model: an included one below this project's folder; any other by its name."""
    if source not in catalog.MODEL_NAMES:
        return source
    return str(catalog.model_folder(source).relative_to(PROJECT))


def _rows(prompts: PromptsConfig) -> list[dict[str, Any]] | None:
    """Prompts that stand in the script itself; None for those that it reads."""
    if prompts.source == catalog.TYPED:
        return [{"prompt": text} for text in prompts.typed]
    if prompts.source in PROMPT_SETS:
        return [{"prompt": text} for text in dict.fromkeys(prompt_sets.prompts(prompts.source, MOST_ROWS, 0))]
    return None


def _dataset(prompts: PromptsConfig) -> tuple[str, str | None, str, str | None]:
    """What `datasets.load_dataset` takes: a name or a form, a subset, a split, a file."""
    kind = row_files.kind_of(prompts.source)
    if kind is None:
        return prompts.source, prompts.subset, prompts.split, None
    form = {".txt": "text", ".tsv": "csv", ".jsonl": "json"}.get(kind, kind[1:])
    return form, None, "train", str(row_files.SHIPPED.get(prompts.source, prompts.source))


def _table(source: str) -> dict[str, Any]:
    """How `datasets` reads a table that has other separators than commas, or no line of names."""
    if row_files.kind_of(source) not in row_files.SEPARATED:
        return {}
    try:
        shape = row_files.shape(row_files.path_of(source))
    except (TableUnusable, OSError):  # it may have gone since
        return {}
    marks = {words: mark for mark, words in row_files.SEPARATORS.items()}
    table: dict[str, Any] = {}
    if marks.get(shape.separator, ",") != ",":
        table["sep"] = marks[shape.separator]
    if shape.nameless:
        table["column_names"] = list(shape.columns)
    return table


def _controller_source() -> str:
    """The controllers of beta as they stand in `ppo.kl`, with their constants."""
    text = (PROJECT / "playground" / "ppo" / "kl.py").read_text(encoding="utf-8")
    plain = (ast.Constant, ast.Tuple, ast.BinOp)
    parts = [
        part
        for part in ast.parse(text).body
        if isinstance(part, ast.ClassDef) or (isinstance(part, ast.Assign) and isinstance(part.value, plain))
    ]
    lines = text.splitlines()
    sources = [
        "\n".join(
            lines[
                min([part.lineno, *(one.lineno for one in getattr(part, "decorator_list", ()))]) - 1 : part.end_lineno
            ]
        )
        for part in parts
    ]
    return "\n\n".join(sources)


def _differences(config: RunConfig, alone: bool) -> list[str]:
    """What TRL does otherwise, the gravest first."""
    carried = ("model.adapter.kind", "kl.controller")  # by the script, though not by our engine
    if is_grpo(config):
        sentences = engines.grpo_notes(config)
    else:
        sentences = [str(difference) for difference in engines.unsupported(config) if difference.field not in carried]
        sentences += engines.notes(config)
    if config.kl.controller == "adaptive" and not is_grpo(config):
        sentences.append(
            "Beta moves by the KL of the sampled tokens; in the run by the exact one, which has less noise."
        )
    if config.reference.source != catalog.START:
        sentences.insert(
            0, f"The KL was measured from {config.reference.source}; here it is from the model as it begins."
        )
    if alone and config.prompts.source in PROMPT_SETS:
        sentences.append(
            f"{MOST_ROWS} prompts of {config.prompts.source} stand in it; they are not those that the run drew."
        )
    elif alone and config.prompts.source != catalog.TYPED:
        sentences.append(
            "Prompts are taken from their column as it stands: texts that are dialogues stay texts, and other "
            "columns are not put together with it. Their order is another."
        )
    if wrong := describe.wrong_on_purpose(config):
        sentences.insert(0, f"{wrong} That was in the run: TRL has its own trainer, which makes no such mistake.")
    if config.method != "ppo" and not is_grpo(config):
        label = methods.METHODS[config.method].label
        sentences.insert(0, f"The run took another method ({config.method}, {label}); this script does PPO.")
    return sentences


def _edits(events: Iterable[Event]) -> list[str]:
    return [
        f"While the run trained, {event.data.get('field')} was set to {event.data.get('value')} after update "
        f"{event.update}; this script keeps what it began with."
        for event in events
        if event.kind == EDIT
    ]


def _remarks(config: RunConfig) -> dict[str, str]:
    """By setting of TRL's, what to know about it."""
    remarks = {
        "num_mini_batches": "no more optimizer steps: TRL takes one for each epoch",
        "max_grad_norm": "never used by PPOTrainer: it does not clip",
        "bf16": "True by default, and ignored",
    }
    if config.ppo.value_clip_range is None:
        remarks["cliprange_value"] = "off; TRL has no other way to say so"
    if config.kl.moves:
        remarks["kl_coef"] = f"moves towards a KL of {config.kl.target:g}, see below"
    return remarks

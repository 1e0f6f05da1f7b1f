"""A run written down for use elsewhere: as a script for TRL 1.12, or as YAML for our own `train` command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from playground.config import RunConfig, engines, methods
from playground.exports.rendering import render
from playground.runs.folder.records import EDIT, Event, ScoreScale
from playground.setup import describe

OWN_REWARDS = {
    "expression": "The playground's own evaluator computes the expression in REWARDS; it is never run as Python.",
    "python": "The code in REWARDS runs in a separate process, as it did in the run. Read it before you start this.",
}  # what a reader of the script should know about rewards that a user has written


def command(config: RunConfig, path: str) -> str:
    """The command that repeats a run from its YAML at `path`."""
    return f"python -m playground train {shlex.quote(path)}"


def yaml_text(config: RunConfig, path: str = "run.yaml") -> str:
    """The configuration as YAML for our own `train`, with the command on top."""
    wrong = describe.wrong_on_purpose(config)
    marked = f"# {wrong}\n" if wrong else ""
    return f"# Run it in the playground's folder:  {command(config, path)}\n{marked}{config.to_yaml()}"


def trl_script(config: RunConfig, scale: ScoreScale | None = None, events: Iterable[Event] = ()) -> str:
    """A complete script that does this run with TRL 1.12's `PPOTrainer`, and rewards, prompts and models of this
    project. Without a recorded `scale` it measures one. Text from the configuration appears as Python literals only.
    `events`: of the run; what was changed while it trained is said."""
    per_term = any(reward.normalise for reward in config.rewards)
    kinds = {reward.kind for reward in config.rewards}
    return render(
        "trl_script.py.j2",
        config=config,
        version=engines.TRL_VERSION,
        differences=[*_differences(config), *_edits(events)],
        rewards=[reward.model_dump(mode="json") for reward in config.rewards],
        own_rewards=[sentence for kind, sentence in OWN_REWARDS.items() if kind in kinds],
        settings=engines.trl_settings(config),
        remarks=_remarks(config),
        scale=scale,
        per_term=per_term,
        recorded=scale is not None and (bool(scale.terms) or not per_term),
    )


def _differences(config: RunConfig) -> list[str]:
    """What TRL does otherwise, the gravest first."""
    found = [*map(str, engines.unsupported(config)), *engines.notes(config)]
    if wrong := describe.wrong_on_purpose(config):
        found.insert(0, f"{wrong} That was in the run: TRL has its own trainer, which makes no such mistake.")
    if config.method != "ppo":
        label = methods.METHODS[config.method].label
        found.insert(0, f"The run took another method ({config.method}, {label}); this script does PPO.")
    return found


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
        remarks["kl_coef"] = f"the run adapted it towards a KL of {config.kl.target:g}; TRL keeps it"
    return remarks

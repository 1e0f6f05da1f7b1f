"""The list of rewards that a person edits, drawn by rewards/picker.js, and the behaviours that are counted, drawn by
train/behaviours.js, of which one of one's own is measured by a reward. The Train page and the workbench have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from playground.config.behaviour_settings import READY
from playground.setup import catalog
from playground.ui import components
from playground.ui.auth.access import Access, Action
from playground.ui.train import form, reward_form

MAX_OFFERED = 200
JUDGES_HELP = (
    "They score the fixed prompts before, during and after training, and the model never learns from them. If the "
    "trained score rises while a judge turns down, the reward is being gamed."
)


def picker(value: Any, outputs: Path, access: Access, *, place: str, elem_id: str) -> gr.HTML:
    """The list of rewards (or, at the place "judges", of those that only watch) with weights, scales and caps."""
    watching = place == "judges"
    return components.widget(
        "rewards/picker",
        value,
        elem_id=elem_id,
        place=place,
        watching=watching,
        title=form.LABELS["judges"] if watching else form.LABELS["rewards"],
        help=JUDGES_HELP if watching else "",
        **_offered(outputs, access),
    )


def behaviours(value: Any, outputs: Path, access: Access, *, elem_id: str) -> gr.HTML:
    """Those that suit the prompts, or some of those that ship and of one's own."""
    ready = [{"name": name, "words": one.words, "aim": one.aim, "help": one.help} for name, one in READY.items()]
    return components.widget("train/behaviours", value, elem_id=elem_id, ready=ready, **_offered(outputs, access))


def _offered(outputs: Path, access: Access) -> dict[str, Any]:
    """What one may choose from, and what the server can be asked meanwhile."""

    def reward_models(_: Any) -> list[str]:
        """Names of the reward models that were trained here, for static/rewards/picker.js to offer. Gradio always gives
        an argument."""
        return [choice.name for choice in catalog.reward_models(outputs)[:MAX_OFFERED]]

    def reward_problem(values: Any) -> str:
        """What is wrong with one reward, asked while a person writes it where no form says so."""
        return reward_form.problem_of(values)

    return {
        "kinds": [kind for kind in reward_form.reward_kinds() if kind["kind"] not in access.limits.refused_rewards],
        "functions": reward_form.functions(),
        "server_functions": [
            access.guard(Action.WATCH, reward_models),
            access.guard(Action.FORM, reward_problem, lambda sentence: sentence),
        ],
    }

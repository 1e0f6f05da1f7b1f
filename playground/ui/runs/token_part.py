"""Completions token by token: what a run has recorded of one answer at each look, and what the model service says of
one that was not.

The page's static/inside/ draws it. Asking writes an answer again, with the same seed, by the model before training or
by the newest weights. Knows run directories and the service's client; `routes` and `page` call it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playground.config import RunConfig, methods
from playground.errors import PlaygroundError, RunNotFound, in_words
from playground.runs import history
from playground.runs.folder.checkpoints import update_of
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_kept
from playground.runs.folder.records import Sample
from playground.runs.folder.token_records import TokenFigures
from playground.runs.model_service import ModelService
from playground.setup import limits
from playground.setup.limits import Limits

MAX_NUMBER = 2**53
SIDES = ("reference", "policy")
NOT_KEPT = "The weights of update {} are not kept, so this answer cannot be written again. {}"
OTHER_TEXT = (
    "Written again alone, this answer came out as another text: tiny differences in arithmetic tipped a token. So "
    "there are no figures of the text that is shown."
)
NO_VALUE = (
    "The critic of this run is not asked here: it foresees what the newest policy will earn"
    ", and that of TRL's engine speaks at looks only."
)


def looks(run: RunDirectory, prompt_id: int, seed: int | None, *, recorded: bool) -> dict[str, Any]:
    """What was recorded of one fixed prompt's answers at each look, oldest first; without any, why not.

    Args:
        seed: of the answer; None for the first one.

    Raises:
        RunNotFound, InvalidConfig.
    """
    config = run.config()
    found: dict[int, TokenFigures] = {}
    for one in run.token_figures(prompt_id):
        if seed is None or one.seed == seed:
            found[one.update] = one  # of two lines of a look the later one
    return {
        "looks": [one.model_dump(exclude={"attempt", "prompt_id"}) for _, one in sorted(found.items())],
        "absent": absent(config),
        "unit": config.score_unit,
        "why": "" if found else _why_none(run, config, recorded),
    }


def absent(config: RunConfig) -> dict[str, str]:
    """Which figures a run cannot have, and why, in a sentence each."""
    label = methods.METHODS[config.method].label
    found = {}
    if not config.pays_tokens:
        who = "TRL's trainer of this method" if config.by_trl and config.method in ("rloo", "grpo") else label
        found["reward"] = f"{who} pays no single tokens, so there is no reward, leash cost or advantage of one."
    if not config.has_critic:
        critic = "There is no critic here, so no token has a value"
        among = "; an advantage is measured against other answers to the same prompt, and a look writes one"
        found["value"] = f"{critic}{among if config.pays_tokens else ''}."
    return found


def _why_none(run: RunDirectory, config: RunConfig, recorded: bool) -> str:
    kept = config.evaluation.token_samples
    if not kept:
        return "This run keeps no answers token by token (evaluation.token_samples is 0)."
    if is_kept(run.tokens_path):
        return f"Of each look, the first answers to the first {kept} fixed prompts are kept token by token."
    if recorded:
        return "This recording was made before answers were kept token by token. Train a run of your own to open them."
    return "This run was made before answers were kept token by token."


def functions(outputs: Path, service: ModelService, capped: Limits) -> list[Callable[[Any], dict[str, Any]]]:
    """The server function that has an answer written again and looks at each token."""

    def ask_tokens(asked: Any) -> dict[str, Any]:
        """{run, prompt_id, seed, update} for a fixed prompt, {run, side, prompt, seed, index} for one of one's own.
        Answers {error, look, absent, unit}."""
        asked = asked if isinstance(asked, Mapping) else {}
        try:
            run_id = str(asked.get("run"))
            if run_id.startswith("_"):
                raise RunNotFound("The recorded run ships without its weights, so nobody can be asked.")
            run = history.find_run(outputs, run_id)
            config = run.config()
            own = asked.get("prompt") is not None
            question, shown = _own(asked, capped) if own else _fixed(run, asked)
            (answer,) = service.ask("tokens", {**question, "source": str(run.path)})
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error)}
        if shown is not None and answer["completion"] != shown.completion:
            return {"error": OTHER_TEXT}
        without = {"value": NO_VALUE} if answer["values"] is None else {}
        message = {"absent": {**without, **absent(config)}, "unit": config.score_unit}
        return {"error": "", "look": answer, **message}

    return [ask_tokens]


def _own(asked: Mapping[str, Any], capped: Limits) -> tuple[dict[str, Any], None]:
    """The question about an answer to one's own prompt. Raises: RunNotFound, for what no page asks."""
    prompt = str(asked.get("prompt"))
    if problem := limits.text_problem("The prompt", prompt, capped):
        raise RunNotFound(problem)
    numbers = {name: _number(asked.get(name)) for name in ("seed", "index")}
    return {"prompt": prompt, "side": _side(asked), **numbers}, None


def _fixed(run: RunDirectory, asked: Mapping[str, Any]) -> tuple[dict[str, Any], Sample]:
    """The question about an answer to a fixed prompt, and that answer. Raises: RunNotFound."""
    prompt_id, update = _number(asked.get("prompt_id")), _number(asked.get("update"))
    seed = None if asked.get("seed") is None else _number(asked.get("seed"))
    shown = next(
        (sample for sample in run.samples(prompt_id) if sample.update == update and seed in (None, sample.seed)),
        None,
    )
    if shown is None:
        raise RunNotFound("There is no such answer in this run.")
    newest = run.latest_checkpoint()
    if newest is None:
        raise RunNotFound("This run has not saved any weights yet, so nobody can be asked. Ask again after its first.")
    if update and update_of(newest) != update:
        others = f"Those of update {update_of(newest)} are, and the model before training."
        raise RunNotFound(NOT_KEPT.format(update, others))
    side = "policy" if update else "reference"
    return {"prompt": shown.prompt, "side": side, "seed": shown.seed, "index": None}, shown


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_NUMBER:
        raise RunNotFound("There is no such answer.")
    return int(value)


def _side(asked: Mapping[str, Any]) -> str:
    if asked.get("side") not in SIDES:
        raise RunNotFound("There is no such answer.")
    return str(asked["side"])

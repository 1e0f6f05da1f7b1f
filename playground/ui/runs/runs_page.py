"""The Runs page: the history from disk. static/runs/history.js draws it from `/live/_runs`; here are its actions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError, in_words
from playground.runs import history
from playground.runs.standby import StandbyWorker
from playground.ui import components
from playground.ui.auth.access import Access, Action, Caller, Role
from playground.ui.feed import run_serializer
from playground.ui.runs import sweeps_part
from playground.ui.train import filling, form, run_actions, train_page


def build(outputs: Path, train: train_page.Train, standby: StandbyWorker, access: Access) -> None:
    """Lay out the page; "use these settings", and the way to the next experiment, fill the form of the Train page."""
    actions = [
        *access.guard_all(Action.DELETE, [_deleter(outputs)]),
        *access.guard_all(Action.NAME, [_namer(outputs)]),
        *run_actions.guarded_functions(outputs, access, standby.worker_for),
        *sweeps_part.guarded_functions(outputs, access, standby.worker_for),
    ]
    offered = sweeps_part.choices(access)
    table = components.widget("runs/history", {"run": None}, elem_id="runs", server_functions=actions, sweep=offered)

    def reload(value: Any, *, caller: Caller) -> dict[Any, Any]:
        asked = form.as_dict(value)
        chosen = asked.get("preset") or f"{filling.RUN_PREFIX}{asked.get('run')}"
        whole = caller.role is Role.HOST  # others need not know where its files are
        capped = access.limits_of(caller)
        found = filling.filled_from(chosen, outputs, capped, whole)
        return train.form.shown(filling.filled_with(found, form.as_dict(asked.get("changes")), outputs, capped))

    use_settings = access.guard(Action.FORM, reload)
    table.input(use_settings, table, train.form.outputs, **components.AT_ONCE)


def _namer(outputs: Path) -> Any:
    def name_run(asked: Any) -> dict[str, str]:
        """Give a run a name and a note: {run, name, note}; both are shown wherever the run is."""
        asked = asked if isinstance(asked, Mapping) else {}
        try:
            run = history.find_run(outputs, str(asked.get("run")))
            label = run.write_label(str(asked.get("name") or ""), str(asked.get("note") or ""))
            return {"error": "", **run_serializer.names(run.config(), label)}
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error)}

    return name_run


def _deleter(outputs: Path) -> Any:
    def delete_run(run_id: str) -> dict[str, str]:
        """Move a run into the bin; called by static/runs/history.js after the person confirmed it."""
        try:
            history.delete_run(history.find_run(outputs, str(run_id)))
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error)}
        return {"error": ""}

    return delete_run

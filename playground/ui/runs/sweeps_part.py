"""What the Runs page may ask of sweeps: what one would be, to start, stop, resume or delete all its runs.

Each has one argument that anybody could have made up: names go through `sweep_record.find`, values through the
configuration's own checks and the limits of the mode, and a sweep counts as its runs wherever runs are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from playground.analysis import over_seeds
from playground.config import RunConfig, differences, yaml_io
from playground.errors import InvalidConfig, ModelNotFound, Problem, RunNotFound
from playground.runs import history, queue
from playground.runs.folder.requests import Request
from playground.runs.spawning import Workers
from playground.runs.sweeps import grid, sweep_making, sweep_record
from playground.runs.sweeps.sweep_making import SweepPlan, SweepRequest
from playground.runs.sweeps.sweep_progress import progress_of
from playground.runs.sweeps.sweep_record import MOST_RUNS, SEED
from playground.setup import admission, catalog, limits
from playground.setup.admission import Admitted
from playground.setup.estimates import disk
from playground.setup.limits import Limits
from playground.ui.auth import quota
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.feed import run_state
from playground.ui.payloads.listed import SweepAnswerData, SweepChoicesData
from playground.ui.runs import history_data
from playground.ui.train import controls, edits, filling, form

MOST_FIELDS = 2  # beside the seed; the command line takes any number
MOST_CHARACTERS = 1_000  # of the values of one field
USUAL_FIELD, USUAL_VALUES, USUAL_SEEDS = "kl.coef", "0.1, 0.25, 0.5", 3


def choices(access: Access) -> SweepChoicesData:
    """What static/runs/sweep_form.js offers: presets in their groups, and the settings that can be varied."""
    groups = controls.preset_groups(access.limits)
    fields = [field for field in form.KNOBS if field != SEED and form.kind_of(field) != "list"]
    return {
        "presets": groups,
        "fields": sorted(((field, form.label_of(field)) for field in fields), key=lambda item: item[1].lower()),
        "values": {field: ", ".join(words) for field in fields if (words := _words(field))},
        "first": {"field": USUAL_FIELD, "values": USUAL_VALUES},
        "seeds": USUAL_SEEDS,
        "most": MOST_RUNS,
    }


def guarded_functions(outputs: Path, access: Access, spawn: Workers | None = None) -> list[Callable[..., Any]]:
    """The functions for who may start runs, and for who may steer those that are there."""

    def run_of(name: Any) -> str | None:
        """Any run of a sweep, for whether it is one's own: one visitor started all of them."""
        if isinstance(name, dict):
            name = name.get("sweep")
        try:
            runs = sweep_record.runs_of(outputs, sweep_record.find(outputs, str(name)))
        except RunNotFound:
            return None
        return next((run.id for run in runs), None)

    actions = SweepActions(outputs, access, spawn)
    return [
        access.guard(Action.FORM, actions.plan_sweep, _answer),
        access.guard(Action.START, actions.start_sweep, _answer),
        access.guard(Action.STEER, actions.stop_sweep, _answer, run_of),
        access.guard(Action.RESUME, actions.resume_sweep, _answer, run_of),
        access.guard(Action.RESUME, actions.add_seeds, _answer, run_of),
        access.guard(Action.DELETE, actions.delete_sweep, _answer, run_of),
    ]


class SweepActions(NamedTuple):
    """The server functions. `spawn`: what starts workers; by default new processes."""

    outputs: Path
    access: Access
    spawn: Workers | None = None

    def plan_sweep(self, payload: Any, caller: Caller) -> SweepAnswerData:
        """What a sweep would be, of {preset, settings, vary: [{field, values}], seeds, name}; answers {error, problems,
        count, seconds, beside, told}. `settings`: see `_base`."""
        try:
            plan = _plan(payload, self.outputs, self.access, caller, Request())
            seconds = grid.seconds(plan.configs, self.outputs, history.finished_runs(self.outputs))
        except InvalidConfig as error:
            return _answer(problems=form.problem_data(error.problems))
        except ModelNotFound:  # to be fetched first, so nothing is known of it yet
            return _answer(count=len(plan.configs))
        varies, beside = history_data.varies(plan.sweep), len(queue.waiting(self.outputs))
        return _answer(count=len(plan.configs), seconds=seconds, beside=beside, told=varies)

    def start_sweep(self, payload: Any, caller: Caller) -> SweepAnswerData:
        """Start a sweep, asked for as in `plan_sweep`; answers {error, problems, name}."""
        request = Request(visitor=str(caller.visitor), mode=self.access.mode)
        try:
            plan = _plan(payload, self.outputs, self.access, caller, request)
            disk.check(plan.configs, self.outputs)
            with quota.admitted(request, self.access, caller, self.outputs, count=len(plan.configs)):
                sweep_making.create(self.outputs, plan.sweep, self.spawn)
        except InvalidConfig as error:
            return _answer(problems=form.problem_data(error.problems))
        return _answer(name=plan.sweep.name)

    def stop_sweep(self, name: Any) -> SweepAnswerData:
        """Ask all runs of a sweep to stop; those that wait are taken out of the queue."""
        sweep_making.stop_all(self.outputs, sweep_record.find(self.outputs, str(name)))
        return _answer()

    def delete_sweep(self, name: Any) -> SweepAnswerData:
        """Move all runs of a sweep into the bin; called after the person confirmed it."""
        sweep_making.delete_all(self.outputs, sweep_record.find(self.outputs, str(name)))
        return _answer()

    def resume_sweep(self, name: Any, caller: Caller) -> SweepAnswerData:
        """Let all runs of a sweep go on that have ended early; answers {error, going, refused: [[run, why]]}."""
        sweep = sweep_record.find(self.outputs, str(name))
        runs = sweep_record.runs_of(self.outputs, sweep)
        unmade = progress_of(sweep, {run.id: run.status() for run in runs}).unmade
        count = unmade + sum(run_state.can_resume(run.status(), run.config().why_not_resumed) for run in runs)
        with quota.admitted(Request(), self.access, caller, self.outputs, count=count):
            resumed = sweep_making.resume_all(self.outputs, sweep, self.spawn)
        return _answer(going=len(resumed.going), refused=[list(item) for item in resumed.refused.items()])

    def add_seeds(self, payload: Any, caller: Caller) -> SweepAnswerData:
        """Queue every setting of a sweep with further seeds, of {sweep, seeds}; answers {error, going}."""
        payload = form.as_dict(payload)
        name, seeds = str(payload.get("sweep")), payload.get("seeds")
        if not isinstance(seeds, int) or not 1 <= seeds <= MOST_RUNS:
            return _answer(f"Ask for 1 to {MOST_RUNS} seeds more.")
        settings = len(over_seeds.settings(sweep_record.find(self.outputs, name)))
        with quota.admitted(Request(), self.access, caller, self.outputs, count=seeds * settings):
            return _answer(going=len(sweep_making.add_seeds(self.outputs, name, seeds, self.spawn)))


def _plan(payload: Any, outputs: Path, access: Access, caller: Caller, request: Request) -> SweepPlan:
    """Raises: InvalidConfig, with everything that is wrong; NotAllowed."""
    capped = access.limits_of(caller)
    payload = form.as_dict(payload)
    vary, problems = _varied(payload)
    sweep_record.raise_if(problems)
    title, base = _base(payload, outputs, capped)
    seeds = payload.get("seeds")
    if not isinstance(seeds, int) or not 1 <= seeds <= MOST_RUNS:
        raise InvalidConfig([Problem(SEED, f"Ask for 1 to {MOST_RUNS} seeds.")])
    if seeds > 1:
        first = int(base.get(SEED, 0))
        vary.append(f"{SEED}={','.join(map(str, range(first, first + seeds)))}")
    quota.check_count(math.prod(map(len, grid.read(vary).values())), access, caller)  # before any of them is made
    most = capped.numbers.get("max_minutes")
    answer = base.get("max_minutes") is not None or any(entry.startswith("max_minutes=") for entry in vary)

    def admit(config: RunConfig) -> Admitted:
        if limits.capped(config, capped) is not config:  # where its time varies: to none
            raise InvalidConfig([Problem("max_minutes", f"must be at most {most:g} {capped.where} (got no limit).")])
        return admission.admit(config, outputs, capped)

    name = str(payload.get("name") or "").strip() or None
    overrides = []
    if most is not None and not answer:
        overrides.append(f"max_minutes={most:g}")
    return sweep_making.plan(outputs, SweepRequest(title, base, overrides, vary, name, origin=request), admit)


def _base(payload: Mapping[str, Any], outputs: Path, capped: Limits) -> tuple[str, dict[str, Any]]:
    """What all its runs share, as plain data, and what to call that: a preset, or the form as it stands. That is the
    preset or the run with which it began, and `settings`: what differs, as train/edits.py writes it.

    Raises: InvalidConfig, RunNotFound.
    """
    chosen, settings = str(payload.get("preset")), payload.get("settings")
    base = filling.base_of(chosen, outputs)  # a name, never the path of a file
    if not isinstance(settings, str):
        return chosen, yaml_io.read_yaml(catalog.preset_path(chosen))
    config = edits.from_text(settings, base, capped, outputs, from_link=False)
    title = chosen
    if chosen.startswith(filling.RUN_PREFIX):
        title = base.name
    if differences(config, base).keys() - {SEED}:
        title += ", changed"
    return title, config.model_dump(mode="json")


def _words(field: str) -> list[str]:
    """All values that a field of words may have."""
    if form.kind_of(field) == "switch":
        return ["true", "false"]
    return form.options_of(field)


def _varied(payload: Mapping[str, Any]) -> tuple[list[str], list[Problem]]:
    """`field=values` of each field that was chosen."""
    varied, problems = [], []
    vary = payload.get("vary")
    if not isinstance(vary, list):
        return [], []
    for item in vary[:MOST_FIELDS]:
        field, values = str(form.entry(item, "field") or ""), str(form.entry(item, "values") or "")
        if not field:
            if values.strip():
                problems.append(Problem("", f"Choose the setting that `{values.strip()[:40]}` are values of."))
            continue
        if field not in form.KNOBS:
            problems.append(Problem("", f"`{field[:60]}` is no setting of the form."))
        elif len(values) > MOST_CHARACTERS:
            problems.append(Problem(field, f"The values are longer than {MOST_CHARACTERS:,} characters."))
        else:
            varied.append(f"{field}={values}")
    return varied, problems


def _answer(error: str = "", **facts: Any) -> SweepAnswerData:
    nothing = {"error": error, "problems": [], "count": 0, "seconds": None, "beside": 0, "told": "", "name": ""}
    return cast(SweepAnswerData, nothing | facts)

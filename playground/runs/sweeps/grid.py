"""From text to the configurations of a sweep: `kl.coef=0.1,0.25` and `seed=0,1,2` make six. Every problem at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_record import MOST_RUNS
from playground.setup import describe, estimates
from playground.setup.admission import Admitted
from playground.setup.estimates.timing import Finished, Range

EXAMPLE = "for example kl.coef=0.1,0.25,0.5"
Admit = Callable[[RunConfig], Admitted]  # raises InvalidConfig


class Grid(NamedTuple):
    """The configurations of a sweep in the order of its runs, and what they are made from."""

    base: dict[str, Any]
    vary: dict[str, list[Any]]
    configs: list[RunConfig]


def read(texts: Sequence[str]) -> dict[str, list[Any]]:
    """`field=value,value` of several fields; values are YAML, so a list in brackets is one value. Raises:
    InvalidConfig, with every problem."""
    vary: dict[str, list[Any]] = {}
    problems = []
    for text in texts:
        field, equals, raw = text.partition("=")
        field = field.strip()
        if not equals or not all(field.split(".")):
            problems.append(Problem(f"vary {text[:60]}", f"Write it as field=value,value, {EXAMPLE}."))
            continue
        try:
            _, values = yaml_io.parse_override(f"{field}=[{raw}]")
        except InvalidConfig as error:
            problems += error.problems
            continue
        if not isinstance(values, list) or not values:
            problems.append(Problem(field, "Name its values, with commas between them."))
        elif field in vary:
            problems.append(Problem(field, f"is varied twice. Give all its values at once, {EXAMPLE}."))
        elif any(value in values[:index] for index, value in enumerate(values)):
            problems.append(Problem(field, "names a value twice, which would be the same run twice."))
        else:
            vary[field] = values
    if not texts:
        problems.append(Problem("vary", f"Name at least one field and its values, {EXAMPLE}."))
    sweep_record.raise_if(problems)
    return vary


def grid(base: dict[str, Any], overrides: Sequence[str], vary: dict[str, list[Any]], admit: Admit) -> Grid:
    """Every configuration of a sweep of `base` with `path=value` overrides for all runs. Raises: InvalidConfig, with
    all that is wrong with any of them, each problem once."""
    count = math.prod(map(len, vary.values()))
    if count > MOST_RUNS:
        answer = " x ".join(f"{len(values)} values of {field}" for field, values in vary.items())
        raise InvalidConfig(
            [Problem("vary", f"{answer} make {count:,} runs; a sweep has at most {MOST_RUNS}. Choose fewer values.")]
        )
    problems = []
    for override in overrides:
        try:
            yaml_io.set_path(base, override)
        except InvalidConfig as error:
            problems += error.problems
    configs = []
    for values in sweep_record.cells(vary):
        try:
            config = sweep_record.with_values(base, values)
            admit(config)
            configs.append(config)
        except InvalidConfig as error:
            problems += error.problems
    if not problems:
        problems += _unread(vary, configs)
    sweep_record.raise_if(problems)
    return Grid(base, vary, configs)


def seconds(configs: Sequence[RunConfig], outputs: Path, finished: Sequence[Finished] = ()) -> Range | None:
    """How long the runs take one after the other: the likely least, the likely most; None where nothing like one of
    them has run here. Raises: see `estimates.estimate`."""
    alike: dict[str, list[RunConfig]] = defaultdict(list)
    for config in configs:
        alike[config.model_copy(update={"seed": 0}).model_dump_json()].append(config)
    ranges = [(len(runs), estimates.estimate(runs[0], outputs, finished=finished).seconds) for runs in alike.values()]
    times = [(count * took[0], count * took[1]) for count, took in ranges if took]
    if len(times) == len(ranges):
        return (sum(low for low, _ in times), sum(high for _, high in times))
    return None


def _unread(vary: dict[str, list[Any]], configs: Sequence[RunConfig]) -> list[Problem]:
    """Fields of which no run takes notice: runs that differ in nothing else would be the same."""
    reasons = {field: [describe.unread(field, config) for config in configs] for field in vary}
    return [Problem(field, f"has no effect here: {why[0]}.") for field, why in reasons.items() if all(why)]

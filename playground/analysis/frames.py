"""The records of a run as pandas DataFrames (docs/outputs.md): a row for each record, a column for each figure,
`terms.length` for one of a dictionary. pandas is imported when a table is asked for: that takes half a second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_type_hints

from playground.analysis.before_after import BeforeAfter
from playground.analysis.meters import Meter, marks_of
from playground.config import RunConfig
from playground.rewards import behaviours
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation, Record, Sample, UpdateMetrics

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R", bound=Record)
# type of a field with a figure, or a yes or no, for each name
BY_NAME = {dict[str, float | None]: "float64", dict[str, bool | None]: "boolean"}
DTYPES = {float: "float64", float | None: "float64", int | None: "Int64", bool | None: "boolean", str: "object"}


def metrics(run: RunDirectory | Path | str | Sequence[UpdateMetrics]) -> pd.DataFrame:
    """A row for each update: every field of metrics.jsonl (docs/definitions.md)."""
    return _table(run, UpdateMetrics, RunDirectory.metrics)


def samples(run: RunDirectory | Path | str | Sequence[Sample]) -> pd.DataFrame:
    """A row for each completion of a fixed prompt at each evaluation, in the order in which they were written."""
    return _table(run, Sample, RunDirectory.samples)


def latest(samples_: Sequence[Sample]) -> pd.DataFrame:
    """The same, without those that a later attempt at the same update wrote again."""
    return samples(samples_).drop_duplicates(["update", "prompt_id", "seed"], keep="last")


def by_prompt(values: pd.Series) -> list[list[float]]:
    """The values of each prompt, of a series that has `prompt_id` in its index."""
    return [group.tolist() for _, group in values.groupby("prompt_id")]


def evaluations(run: RunDirectory | Path | str | Sequence[Evaluation]) -> pd.DataFrame:
    """A row for each evaluation at which something was measured beside its samples."""
    return _table(run, Evaluation, RunDirectory.evaluations)


def shares(meters: Sequence[Meter]) -> pd.DataFrame:
    """A row for each behaviour at each evaluation, indexed by update: how many of how many completions, as a share, and
    its 95 % interval."""
    import pandas as pd

    rows = [
        (update, meter.name, meter.words, count.yes, count.of, count.share, count.low, count.high)
        for meter in meters
        for update, count in zip(meter.updates, meter.counts, strict=True)
    ]
    columns = ["update", "behaviour", "words", "count", "of", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns).set_index("update")


def pairs(joined: Sequence[BeforeAfter], config: RunConfig, sides: tuple[str, str]) -> pd.DataFrame:
    """A row for each pair of completions, indexed by prompt and seed: texts, scores, gain, the KL of the second, and
    what either shows of each behaviour that the run counts. `sides`: what the columns call the two."""
    import pandas as pd

    named = [(side, [pair[number] for pair in joined]) for number, side in enumerate(sides)]
    after = [pair.after for pair in joined]
    texts = {"prompt": [item.prompt for item in after]}
    texts |= {side: [item.completion for item in items] for side, items in named}
    figures = {f"score_{side}": [item.score for item in items] for side, items in named}
    figures |= {"gain": [pair.gain for pair in joined], "kl": [item.kl for item in after]}
    counted = behaviours.of_config(config)
    marks = {
        f"{behaviour.name}_{side}": pd.Series(
            [marks_of(item, counted).get(behaviour.name) for item in items], dtype="boolean"
        )
        for behaviour in counted
        for side, items in named
    }
    keys = {"prompt_id": [item.prompt_id for item in after], "seed": [item.seed for item in after]}
    columns = {name: pd.Series(values, dtype="float64") for name, values in figures.items()}
    return pd.DataFrame(keys | texts | columns | marks).set_index([*keys])


def opinions(
    moments: Iterable[tuple[int, Sample]], of: Callable[[Sample], Mapping[str, float | None]]
) -> dict[str, pd.Series]:
    """What each reward or judge says of samples at moments, by moment, prompt_id and seed. No opinion is NaN; where one
    was not asked there is no row. The last of several samples of a question counts."""
    import pandas as pd

    scores: dict[str, dict[tuple[int, int, int], float | None]] = defaultdict(dict)
    for (moment, prompt_id, seed), item in {(at, item.prompt_id, item.seed): item for at, item in moments}.items():
        for name, value in of(item).items():
            scores[name][moment, prompt_id, seed] = value
    names = ["moment", "prompt_id", "seed"]
    return {name: pd.Series(values, dtype="float64").rename_axis(names) for name, values in scores.items()}


def _table(
    run: RunDirectory | Path | str | Sequence[R], kind: type[R], read: Callable[[RunDirectory], Sequence[R]]
) -> pd.DataFrame:
    """Columns by name come last, in the order in which the names first occur."""
    import pandas as pd

    if isinstance(run, str | Path):
        run = RunDirectory(Path(run))
    records = read(run) if isinstance(run, RunDirectory) else run
    hints = get_type_hints(kind)
    columns, by_name = {}, {}
    for field in kind.model_fields:
        values = [getattr(record, field) for record in records]
        if hints[field] in BY_NAME:
            for name in dict.fromkeys(name for item in values for name in item):
                by_name[f"{field}.{name}"] = pd.Series([item.get(name) for item in values], dtype=BY_NAME[hints[field]])
        else:
            columns[field] = pd.Series(values, dtype=DTYPES.get(hints[field], None if values else "int64"))
    return pd.DataFrame(columns | by_name)

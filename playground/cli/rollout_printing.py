"""One update of a run in a terminal: its scores as bars, and a few of its training texts."""

from __future__ import annotations

from playground.cli.terminal import number, print_json, print_table, say
from playground.data import dialogues
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.rollout_records import Histogram
from playground.runs.folder.rollouts import Rollouts

BAR = 40  # characters of the longest bar
FULL, HALF = "\u2588", "\u258c"


def print_update(run: RunDirectory, update: int, *, as_json: bool) -> None:
    """An update of a run. Raises: RunNotFound, with the reason where nothing is kept of it."""
    config = run.config()
    record, previous, following = Rollouts(run, config).open(update, run.resumptions())
    if as_json:
        data = record.model_dump(include={"update", "histogram", "texts"})
        print_json({"run": str(run.path), "unit": config.score_unit, **data, "previous": previous, "next": following})
        return
    histogram, texts = record.histogram, record.texts
    say(f"{run.title(config)}, update {record.update}: scores of {sum(histogram.counts)} texts ({config.score_unit})")
    print_table(bars(histogram), "From", "To", "Texts", "")
    rows = [
        (
            dialogues.for_reading(text.prompt),
            text.completion.strip(),
            text.chosen,
            number(text.score, sign=True),
            number(text.kl),
        )
        for text in texts
    ]
    print_table(rows, "Prompt", "Completion", "Chosen", "Score", "KL", framed=True)
    beside = {"--update {} is the one before": previous, "--update {} the one after": following}
    say("; ".join(words.format(update) for words, update in beside.items() if update is not None))


def bars(histogram: Histogram) -> list[tuple[str, str, str, str]]:
    """For each bin its ends, how many texts it holds, and a bar as long as that."""
    low, counts = histogram.low, histogram.counts
    width, most = (histogram.high - low) / len(counts), max(1, *counts)
    return [
        (number(low + at * width, sign=True), number(low + (at + 1) * width, sign=True), str(count), _bar(count / most))
        for at, count in enumerate(counts)
    ]


def _bar(share: float) -> str:
    halves = round(share * 2 * BAR)
    bar = FULL * (halves // 2) + HALF * (halves % 2)
    if share and not bar:
        return HALF
    return bar

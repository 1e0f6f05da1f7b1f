"""What a run's frontier is estimated from: `frontier.json` in its folder (docs/run-format.md), and having it drawn."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Any

from pydantic import model_validator

from playground.errors import ServiceUnavailable
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Count, Figure, Record, parsed
from playground.runs.model_service import ModelService

NAME = "frontier.json"
TIMEOUT_SECONDS = 1800.0  # between two words of progress; a large model on a CPU takes its time


class FrontierSamples(Record):
    """Completions of P fixed prompts by K policies, the reference first, S = K x each of them for each prompt; those of
    one policy stand together, in the order of `updates`.

    `updates`: after which each policy was saved; 0 for the reference. `scores` [P][S]. `log_ratios` [K - 1][P][S]:
    log pi_k(y) - log pi_ref(y) of whole completions, k = 1 ..., in nats.
    """

    updates: list[Count]
    each: Count
    scores: list[list[Figure]]
    log_ratios: list[list[list[Figure]]]

    @model_validator(mode="after")
    def _fits(self) -> FrontierSamples:
        size = len(self.updates) * self.each
        tables = [self.scores, *self.log_ratios]
        fits = size > 0 and self.scores and len(tables) == len(self.updates)
        if not fits or any(len(table) != len(self.scores) or {*map(len, table)} != {size} for table in tables):
            raise ValueError("the tables have other sizes than `updates` and `each` say")
        return self


def read(run: RunDirectory) -> FrontierSamples | None:
    """What was drawn for a run; None where nothing was, or the file is damaged."""
    return read_record(run.path / NAME, FrontierSamples)


def draw(run: RunDirectory, service: ModelService, each: int | None = None) -> Generator[Mapping[str, Any], None, None]:
    """Have it drawn and kept with the run: progress as {phase, done, of}. Raises: ServiceUnavailable, OSError."""
    question = {"source": str(run.path.resolve()), "each": each}
    for answer in service.ask("frontier-samples", question, TIMEOUT_SECONDS):
        if "measured" not in answer:
            yield answer
        elif (drawn := parsed(answer["measured"], FrontierSamples)) is None:
            raise ServiceUnavailable("Some scores of these texts are not numbers, so nothing can be said from them.")
        else:
            write_atomically(run.path / NAME, json.dumps(drawn.model_dump(), separators=(",", ":")))

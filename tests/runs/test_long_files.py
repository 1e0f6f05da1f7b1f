"""A long file of a run: one row of it costs that row, and a copy of it costs a line at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.runs.folder.token_records import TokenFigures
from playground.runs.folder.writer import RunWriter
from playground.runs.start import fork
from tests.support import small_config

LOOKS, PROMPTS, TOKENS = 10, 40, 100
T = TypeVar("T")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run whose answers are kept token by token, 400 of them, and whose last look was made twice."""
    made = RunDirectory.create(tmp_path_factory.mktemp("outputs"), small_config(), "long")
    writer = RunWriter(made, LOOKS)
    for update in range(LOOKS):
        writer.tokens([figures(update, prompt_id) for prompt_id in range(PROMPTS)])
        writer.samples([answer(update, prompt_id) for prompt_id in range(PROMPTS)])
    again = RunWriter(made, LOOKS, attempt=2)
    again.tokens([figures(LOOKS - 1, prompt_id, entropy=0.25) for prompt_id in range(PROMPTS)])
    return made


def figures(update: int, prompt_id: int, entropy: float = 0.5) -> TokenFigures:
    flat = [0.125] * TOKENS
    return TokenFigures(
        update=update, stage="after" if update == LOOKS - 1 else "during", prompt_id=prompt_id, seed=3,
        pieces=["\"prompt_id\": 7"] * TOKENS, log_probs=flat, reference_log_probs=flat, kl=flat,
        entropies=[entropy] * TOKENS, choices=[[("a", 0.5, 0.5), ("b", 0.5, 0.5)]] * TOKENS,
    )  # fmt: skip


def answer(update: int, prompt_id: int) -> Sample:
    return Sample(
        update=update, stage="during", prompt_id=prompt_id, prompt="p", completion="c" * 5000, seed=2, score=1.0, kl=0.5
    )


def measured(work: Callable[[], T]) -> tuple[T, int]:
    """What it gives, and the bytes that it held at most."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_kept_of_one_prompt_is_read_without_the_others(run: RunDirectory) -> None:
    found, peak = measured(lambda: run.token_figures(7))
    assert [(one.prompt_id, one.update, one.attempt) for one in found] == [
        (7, update, 1 if update < LOOKS - 1 else 2) for update in range(LOOKS)
    ]
    assert found == [one for one in run.token_figures() if one.prompt_id == 7]
    assert peak < run.tokens_path.stat().st_size / 4
    answers, peak = measured(lambda: run.samples(7))
    assert answers == [one for one in run.samples() if one.prompt_id == 7] and len(answers) == LOOKS
    assert peak < run.samples_path.stat().st_size / 4


def test_a_fork_copies_what_still_counts(run: RunDirectory, tmp_path: Path) -> None:
    mine = RunDirectory.reserve(tmp_path, small_config(), "fork")
    fork._copy_records(run, mine, LOOKS - 2, {}, {})
    kept = [one for one in run.token_figures() if one.update < LOOKS - 1]
    expected = [one.model_copy(update={"attempt": 1, "stage": "during"}) for one in kept]
    assert mine.token_figures() == expected and len(expected) == (LOOKS - 1) * PROMPTS
    assert {one.update for one in mine.samples()} == set(range(LOOKS - 1))

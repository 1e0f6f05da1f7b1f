"""Several processes learn what one would have learned, and all of them the same, bit by bit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from playground.runs import children
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.training.loop.ranks import Ranks
from tests.faults import resuming
from tests.support import PROJECT
from tests.training import ranked

CLOSE = 1e-5
DIFFERENT = "texts of different lengths"
SECONDS = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes have trained, all cases one after the other."""
    folder = tmp_path_factory.mktemp("ranks")
    resuming.tiny_model(folder / "llama")
    for name in ("alone", "two"):
        (folder / name).mkdir()
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.training.ranked", str(rank), str(folder / "store"), str(folder)],
            cwd=PROJECT,
            env={**children.torch_environment(), "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]
    try:
        assert [process.wait(SECONDS) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()
    return folder


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def run_of(folder: Path, case: str) -> RunDirectory:
    return RunDirectory.open(folder / ranked.slug(case))


@pytest.mark.parametrize("case", ranked.CASES)
def test_two_processes_learn_what_one_learns(folder: Path, case: str) -> None:
    alone = ranked.weights_of(ranked.trained_alone(folder, case))
    first, second = (load_file(folder / f"{ranked.slug(case)}-{rank}.safetensors") for rank in range(2))
    assert first.keys() == alone.keys()
    assert all(torch.equal(first[name], second[name]) for name in first), "the ranks are bit-identical"
    assert max(float((first[name] - alone[name]).abs().max()) for name in alone) < CLOSE
    assert any(float((alone[name]).abs().max()) > 0 for name in alone)
    one, two = run_of(folder / "alone", case), run_of(folder / "two", case)
    assert [item.completion for item in two.samples()] == [item.completion for item in one.samples()]
    assert len(two.metrics()) == len(two.rollouts()) == resuming.UPDATES
    for mine, theirs in zip(two.rollouts(), one.rollouts(), strict=True):
        assert mine.histogram.counts == theirs.histogram.counts, "the scores of the whole batch"
        assert [(text.prompt, text.completion) for text in mine.texts] == [
            (text.prompt, text.completion) for text in theirs.texts
        ]
    for mine, theirs in zip(two.metrics(), one.metrics(), strict=True):
        assert figures(mine) == pytest.approx(figures(theirs), abs=2e-3, nan_ok=True), mine.update


def figures(metrics: Any) -> dict[str, float]:
    figures_of = metrics.model_dump()
    return {
        name: value
        for name, value in figures_of.items()
        if isinstance(value, (int, float)) and "seconds" not in name and name not in (*resuming.TIMINGS, "ranks")
    }


def test_a_trace_has_all_episodes_whichever_rank_learned_from_them(folder: Path) -> None:
    if not (folder / "alone" / ranked.slug(DIFFERENT)).exists():
        ranked.trained_alone(folder, DIFFERENT)
    one, two = (traces.read(run_of(folder / part, DIFFERENT), 1) for part in ("alone", "two"))
    assert [step.rows for step in two.steps] == [step.rows for step in one.steps]
    for mine, theirs in zip(two.steps, one.steps, strict=True):
        assert mine.log_ratios == pytest.approx(theirs.log_ratios, abs=1e-4)
        assert mine.tokens == theirs.tokens


def test_the_watched_answers_are_all_rank_0s_and_the_rest_is_dealt_evenly() -> None:
    ranks = [Ranks(rank, 3) for rank in range(3)]
    dealt = [one.deal(10, first=range(0, 10, 4)) for one in ranks]
    assert dealt[0][:3] == [0, 4, 8]
    assert sorted(row for part in dealt for row in part) == list(range(10))
    assert sorted(map(len, dealt)) == [3, 3, 4]
    assert [len(one.deal(2)) for one in ranks] == [1, 1, 0]
    assert [len(one.deal(4, first=[0, 1, 2, 3])) for one in ranks] == [4, 0, 0]

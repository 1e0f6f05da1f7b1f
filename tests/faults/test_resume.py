"""A run that is broken off and taken up again equals the run that nobody disturbed: every weight and every metric."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from playground.runs.directory import RunDirectory
from tests.faults import resuming

KS = range(1, resuming.UPDATES)
Figure = Callable[[str, int, int], None]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resuming.tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def same_threads_afterwards():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@dataclasses.dataclass
class Whole:
    """An uninterrupted run, to compare with."""

    run: RunDirectory

    def equals(self, other: RunDirectory) -> bool:
        return (resuming.weights(other), resuming.figures(other)) == (
            resuming.weights(self.run), resuming.figures(self.run)
        )  # fmt: skip


def uninterrupted(outputs: Path, config, **hooks) -> Whole:
    run = RunDirectory.create(outputs, config, "whole")
    resuming.attempt(run, **hooks)
    assert len(run.metrics()) == resuming.UPDATES and len(resuming.weights(run)) == 3
    return Whole(run)


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_after_any_update_it_ends_bit_identical(tmp_path, model, monkeypatch, figure: Figure, threads):
    resuming.threads(threads, monkeypatch)
    config = resuming.config(model)
    whole = uninterrupted(tmp_path, config)
    assert torch.get_num_threads() == threads
    survived = 0
    for k in KS:
        run = RunDirectory.create(tmp_path, config, f"broken-{k}")
        resuming.broken_off(
            run, k, calls=1 + 3 * k % 10
        )  # in sampling, in the reference's pass, in the optimizer's steps
        assert run.metrics()[-1].update == k
        resuming.queue_again(run)
        resuming.attempt(run)
        assert [event.update for event in run.events() if event.kind == "resumed"] == [k]
        survived += whole.equals(run)
    figure(f"bit-identical resume, interrupted after each update, threads: {threads}", len(KS), survived)

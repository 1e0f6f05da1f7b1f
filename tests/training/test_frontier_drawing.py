"""Texts for a run's frontier, drawn by the real service code from tiny models, and what is kept of them."""

import json

import numpy as np
import pytest

from playground.config import PromptsConfig
from playground.errors import ServiceUnavailable
from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.runs.frontier_samples import FrontierSamples
from playground.training.data import prompts
from playground.training.loop.scoring import Scorer
from playground.training.service import frontier_drawing
from playground.training.service.subjects import Subject, Subjects
from tests.training import tiny


@pytest.fixture
def drawing(monkeypatch, tmp_path):
    """Draw for a run of the tiny world, whose policy is another model than its reference."""
    fixed = tiny.prompts("ab", "c", "dd")
    monkeypatch.setattr(frontier_drawing.prompts, "load", lambda *_: prompts.PromptSplit([], fixed, True))
    monkeypatch.setattr(RunDirectory, "latest_checkpoint", lambda run: tmp_path / "update-000004")

    def draw(each=8, policy=None, **changes):
        config = tiny.config(**changes)
        scorer = Scorer(config, tiny.count_letter())
        reference = tiny.model(seed=0)
        subject = Subject(
            tiny.tokens(), reference, reference, policy or tiny.model(seed=1), scorer, config.sampling, PromptsConfig()
        )
        run = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        RunDirectory.create(tmp_path, config, run.name)
        subjects = Subjects()
        monkeypatch.setattr(subjects, "named", lambda source: subject)
        *progress, last = frontier_drawing.frontier_samples(subjects, {"source": str(run), "each": each})
        assert all(0 <= item["done"] <= max(item["of"], 0) for item in progress)
        assert len(progress) > 1
        return FrontierSamples.model_validate(last["measured"])

    return draw


def test_each_text_is_scored_and_weighed_by_both_models(drawing):
    found = drawing(sampling__temperature=0.8)
    assert (found.updates, found.each, len(found.scores)) == ([0, 4], 8, 3)
    ratios = np.array(found.log_ratios[0])
    assert ratios.shape == (3, 16)
    assert ratios[:, :8].mean() < -0.1 < 0.1 < ratios[:, 8:].mean(), "each model is likelier to write its own texts"
    assert set(np.unique(found.scores)) <= set(range(9)), "how often the letter occurs in eight tokens"
    again = drawing(sampling__temperature=0.8)
    assert again == found, "the same run gives the same texts"


def test_what_trains_nothing_writes_what_the_reference_writes(drawing):
    found = drawing(method="best_of_n", ppo__samples_per_prompt=4)
    assert found.updates == [0]
    assert found.log_ratios == []


class Service:
    """Answers the one question."""

    def __init__(self, *answers):
        self.answers = answers

    def ask(self, kind, question, timeout_seconds):
        assert kind == "frontier-samples"
        assert question["source"].startswith("/")
        yield from self.answers


MEASURED = {"updates": [0, 4], "each": 1, "scores": [[1.0, 2.0]], "log_ratios": [[[0.0, 0.5]]]}


def test_what_was_drawn_is_kept_with_the_run_and_read_back(tmp_path):
    run = RunDirectory.create(tmp_path, tiny.config(), "one")
    assert frontier_samples.read(run) is None
    progress = {"phase": "writing", "done": 0, "of": 2}
    assert list(frontier_samples.draw(run, Service(progress, {"measured": MEASURED}))) == [progress]
    found = frontier_samples.read(run)
    assert found.model_dump() == MEASURED
    (run.path / frontier_samples.NAME).write_text('{"updates": [0')
    assert frontier_samples.read(run) is None


def test_scores_that_are_not_numbers_are_refused(tmp_path):
    run, change = RunDirectory.create(tmp_path, tiny.config(), "one"), {"scores": [[1.0, float("nan")]]}
    with pytest.raises(ServiceUnavailable, match="not numbers"):
        list(frontier_samples.draw(run, Service({"measured": {**MEASURED, **change}})))
    assert not (run.path / frontier_samples.NAME).exists()
    (run.path / frontier_samples.NAME).write_text(json.dumps({**MEASURED, **change}))
    assert frontier_samples.read(run) is None

"""Texts for a run's frontier, drawn by the real service code from tiny models, and what is stored of them."""

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

MEASURED = {"updates": [0, 4], "each": 1, "scores": [[1.0, 2.0]], "log_ratios": [[[0.0, 0.5]]]}


@pytest.fixture
def drawing(monkeypatch, tmp_path):
    """Draw for a run of the tiny world, whose policy is another model than its reference."""
    split = prompts.PromptSplit([], tiny.prompts("ab", "c", "dd"), True)
    monkeypatch.setattr(frontier_drawing.prompts, "load", lambda *_: split)
    monkeypatch.setattr(RunDirectory, "latest_checkpoint", lambda run: tmp_path / "update-000004")

    def draw(name, **changes):
        config, reference = tiny.config(**changes), tiny.model(seed=0)
        models = reference, reference, tiny.model(seed=1)
        scorer = Scorer(config, tiny.count_letter())
        subject = Subject(tiny.tokens(), *models, scorer, config.sampling, PromptsConfig())
        RunDirectory.create(tmp_path, config, name)
        monkeypatch.setattr(Subjects, "named", lambda self, source: subject)
        question = {"source": str(tmp_path / name), "each": 8}
        *progress, last = frontier_drawing.frontier_samples(Subjects(), question)
        assert all(0 <= item["done"] <= max(item["of"], 0) for item in progress)
        assert len(progress) > 1
        return FrontierSamples.model_validate(last["measured"])

    return draw


def test_each_text_is_scored_and_weighed_by_both_models(drawing):
    drawn = drawing("one", sampling__temperature=0.8)
    assert (drawn.updates, drawn.each, len(drawn.scores)) == ([0, 4], 8, 3)
    ratios = np.array(drawn.log_ratios[0])
    assert ratios.shape == (3, 16)
    assert ratios[:, :8].mean() < -0.1 < 0.1 < ratios[:, 8:].mean(), "each model is likelier to write its own texts"
    assert set(np.unique(drawn.scores)) <= set(range(9)), "how often the letter occurs in eight tokens"
    assert drawing("two", sampling__temperature=0.8) == drawn, "the same run gives the same texts"


def test_a_method_that_trains_nothing_writes_what_the_reference_writes(drawing):
    drawn = drawing("one", method="best_of_n", ppo__samples_per_prompt=4)
    assert drawn.updates == [0]
    assert drawn.log_ratios == []


class Service:
    """Gives these answers to whatever is asked."""

    def __init__(self, *answers):
        self.ask = lambda kind, question, timeout_seconds: iter(answers)


def test_drawn_texts_are_stored_with_the_run_and_read_back_and_a_torn_file_is_none(tmp_path):
    run = RunDirectory.create(tmp_path, tiny.config(), "one")
    progress = {"phase": "writing", "done": 0, "of": 2}
    assert list(frontier_samples.draw(run, Service(progress, {"measured": MEASURED}))) == [progress]
    assert frontier_samples.read(run).model_dump() == MEASURED
    (run.path / frontier_samples.NAME).write_text('{"updates": [0')
    assert frontier_samples.read(run) is None


def test_drawn_scores_that_are_not_numbers_are_refused(tmp_path):
    run = RunDirectory.create(tmp_path, tiny.config(), "one")
    with pytest.raises(ServiceUnavailable, match="not numbers"):
        list(frontier_samples.draw(run, Service({"measured": {**MEASURED, "scores": [[1.0, float("nan")]]}})))
    assert not (run.path / frontier_samples.NAME).exists()

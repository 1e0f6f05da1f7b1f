"""What a run's frontier is estimated from: completions of its fixed prompts by the reference and by its newest policy,
the score of each, and how much likelier the policy is to write it. Drawn when `runs.frontier_samples` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playground.config import SamplingConfig
from playground.config.methods import METHODS
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.training.data import prompts
from playground.training.data.random_streams import derived_seed, uniforms
from playground.training.loop.passes import whole_log_probs
from playground.training.loop.sampling import Episodes, sample
from playground.training.models.language_model import LanguageModel
from playground.training.service.subjects import Subjects

LEAST = 512  # completions of the reference
EACH = 24  # completions of a prompt from each policy, where they cost little
EPISODES_AT_ONCE, SCORED_AT_ONCE = 512, 64


def frontier_samples(subjects: Subjects, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Draw: progress as {phase, done, of}, at the end {measured}, see `runs.frontier_samples.FrontierSamples`.
    `question`: `source`, the run's folder; `each`, so many completions of a prompt from each policy, or None. Raises:
    PlaygroundError."""
    run = RunDirectory(question["source"])
    yield {"phase": "loading the models", "done": 0, "of": 0}
    config, subject = run.config(), subjects.named(str(run.path))
    policy, scorer, newest = subject.policy, subject.scorer, run.latest_checkpoint()
    assert policy is not None and scorer is not None and newest is not None  # it is a run with weights
    trained = METHODS[config.method].trains or config.method == "steer"  # else it writes what the untrained model does
    models = [subject.anchor, *([policy] if trained else [])]
    sampling = config.sampling
    room = subject.reference.context_length - sampling.max_new_tokens
    plan = config.evaluation
    fixed = prompts.load(config.prompts, plan.num_prompts, room, subject.tokens, config.seed, fixed=plan.prompts)
    asked = fixed.evaluation
    small = subject.anchor.is_small
    each = int(question.get("each") or 0) or max(EACH if small else 1, -(-LEAST // len(asked)))
    at_once = max(1, (EPISODES_AT_ONCE if small else config.ppo.micro_batch_size) // each)
    scores = np.empty((len(asked), len(models) * each))
    log_probs = np.empty((len(models), *scores.shape))
    for k, model in enumerate(models):
        for first in range(0, len(asked), at_once):
            done = (k * len(asked) + first) * each
            yield {"phase": "writing and scoring texts", "done": done, "of": scores.size}
            rows, columns = slice(first, first + at_once), slice(k * each, (k + 1) * each)
            some = [prompt for prompt in asked[rows] for _ in range(each)]
            seeds = [derived_seed(config.seed, "frontier", k, first * each + number) for number in range(len(some))]
            draws = uniforms(seeds, sampling.max_new_tokens)
            ids = [prompt.ids for prompt in some]
            episodes = sample(model, subject.tokens, ids, draws, SamplingConfig(temperature=sampling.temperature))
            found = scorer([prompt.text for prompt in some], episodes.texts(subject.tokens), episodes.ended.tolist())
            scores[rows, columns] = np.array(found.scores).reshape(-1, each)
            for other, judge in enumerate(models):
                own = _log_probs(judge, episodes, sampling.temperature, drawn=judge is model)
                log_probs[other, rows, columns] = own.reshape(-1, each)
    tables = {"scores": scores.round(4).tolist(), "log_ratios": (log_probs[1:] - log_probs[:1]).round(4).tolist()}
    yield {"measured": {"updates": [0, checkpoints.update_of(newest)][: len(models)], "each": each, **tables}}


def _log_probs(model: LanguageModel, episodes: Episodes, temperature: float, drawn: bool) -> NDArray[np.float64]:
    """Of whole completions; where it is the model that drew them, and its sampler is exact, they are known already."""
    if drawn and model.exact:
        known: NDArray[np.float64] = episodes.log_probs.double().sum(1).cpu().numpy()
        return known
    return whole_log_probs(model, episodes, temperature, SCORED_AT_ONCE)

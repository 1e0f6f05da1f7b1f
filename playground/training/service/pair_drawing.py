"""Two completions of each of many prompts, for people to vote on: by a run's policy, by its untrained model, or one of
each. The model service draws them, for a class (`playground.ui.classroom.votes`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playground.runs.folder.directory import RunDirectory
from playground.training.data import prompts
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.service.subjects import Subjects

MOST_PAIRS = 200
AT_ONCE = 64  # texts
SPARE = 3  # prompts for each pair that is wanted: of some, both texts are equal or one is empty


def pairs(subjects: Subjects, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Draw: progress as {done, of}, at the end {pairs: [{prompt, first, second}]}, in which both differ.

    Args:
        question: `source`, a run's folder or a model; `count`; `seed`; `sides`, of the first and of the second text:
            "policy" or "reference".

    Raises: PlaygroundError.
    """
    count = max(1, min(int(question["count"]), MOST_PAIRS))
    seed, sides = int(question["seed"]), list(question["sides"])
    subject = subjects.named(question["source"])
    run = RunDirectory(question["source"])
    fixed, of_run = (run.config().evaluation.num_prompts, run.config().seed) if run.config_path.is_file() else (0, seed)
    room = subject.reference.context_length - subject.sampling.max_new_tokens
    asked = prompts.load(subject.prompts, fixed, room, subject.tokens, of_run).training[: SPARE * count]
    how = evaluation.Generation(subject.tokens, subject.sampling, AT_ONCE)
    found: list[dict[str, Any]] = []
    step = max(1, AT_ONCE // 2)
    for start in range(0, len(asked), step):
        yield {"done": len(found), "of": count}
        some = asked[start : start + step]
        texts = []
        for number, side in enumerate(sides):
            seeds = [derived_seed(seed, "vote", number, start + at) for at in range(len(some))]
            episodes, _ = evaluation.answer(subject.model(side), None, some, seeds, how)
            texts.append(episodes.texts(subject.tokens))
        for prompt, first, second in zip(some, *texts, strict=True):
            if first.strip() and second.strip() and first.strip() != second.strip():
                found.append({"prompt": prompt.text, "first": first, "second": second})
        if len(found) >= count:
            break
    yield {"pairs": found[:count]}

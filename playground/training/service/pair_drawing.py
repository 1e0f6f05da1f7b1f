"""Two completions of each of many prompts, for people to vote on: by a run's policy, by its untrained model, one of
each, or by the policies of two runs. The model service draws them for a class (`playground.ui.classroom.votes`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playground.runs.folder.directory import RunDirectory
from playground.training.data import prompts
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.models.chat import PromptForm
from playground.training.service.subjects import Subject, Subjects

MOST_PAIRS = 200
AT_ONCE = 32  # texts of one side
SPARE = 3  # prompts for each pair that is wanted: of some, both texts are equal or one is empty


def pairs(subjects: Subjects, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Draw: progress as {done, of}, at the end {pairs: [{prompt, first, second, cut}]}, in which both texts differ;
    `cut`: which of them the most tokens have cut.

    Args:
        question: `source`, a run's folder or a model, whose prompts are asked; `against`: another one, for the second
            text; `count`; `seed`; `sides`, of the first and of the second text: "policy" or "reference".

    Raises: PlaygroundError.
    """
    count, seed = max(1, min(int(question["count"]), MOST_PAIRS)), int(question["seed"])
    sources = [question["source"], question.get("against") or question["source"]]
    sides = list(zip(sources, question["sides"], strict=True))
    asked = _asked(subjects.named(sources[0]), question["source"], SPARE * count, seed)
    step = AT_ONCE if len({*sources}) == 1 else count  # one model is in memory: the other takes its place in each step
    found: list[dict[str, Any]] = []
    for start in range(0, len(asked), step):
        some, texts = asked[start : start + step], []
        for number, (source, side) in enumerate(sides):
            yield {"done": len(found), "of": count}
            seeds = [derived_seed(seed, "vote", number, start + at) for at in range(len(some))]
            texts.append(_written(subjects.named(source), side, some, seeds))
        for prompt, (first, first_ended), (second, second_ended) in zip(some, *texts, strict=True):
            if first.strip() and second.strip() and first.strip() != second.strip():
                cut = [side for side, ended in (("first", first_ended), ("second", second_ended)) if not ended]
                found.append({"prompt": prompt, "first": first, "second": second, "cut": cut})
        if len(found) >= count:
            break
    yield {"pairs": found[:count]}


def _asked(subject: Subject, source: str, count: int, seed: int) -> list[str]:
    """The prompts of a run that it has not been evaluated on."""
    run = RunDirectory(source)
    fixed, of_run = (run.config().evaluation.num_prompts, run.config().seed) if run.config_path.is_file() else (0, seed)
    found = prompts.load(subject.prompts, fixed, _room(subject), subject.tokens, of_run)
    return [prompt.text for prompt in found.training[:count]]


def _written(subject: Subject, side: str, asked: list[str], seeds: list[int]) -> list[tuple[str, bool]]:
    """A completion of each prompt, and whether it ended by itself; an empty one of a prompt that is too long for this
    model."""
    form, room = PromptForm(subject.tokens, subject.prompts), _room(subject)
    how = evaluation.Generation(subject.tokens, subject.sampling, AT_ONCE)
    wanted = [Prompt(text, form.ids(text)) for text in asked]
    fit = [at for at, prompt in enumerate(wanted) if 0 < len(prompt.ids) <= room]
    found = [("", True)] * len(asked)
    if side == "policy" and subject.tries > 1:  # best of n
        for at in fit:
            best = subject.answer(side, wanted[at], seeds[at], subject.sampling)
            found[at] = best.completion, bool(best.episodes.ended[best.row])
        return found
    for start in range(0, len(fit), AT_ONCE):
        some = fit[start : start + AT_ONCE]
        its_seeds = [seeds[at] for at in some]
        episodes, _ = evaluation.answer(subject.model(side), None, [wanted[at] for at in some], its_seeds, how)
        for at, *answer in zip(some, episodes.texts(subject.tokens), episodes.ended.tolist(), strict=True):
            found[at] = answer[0], answer[1]
    return found


def _room(subject: Subject) -> int:
    """Most tokens that a prompt may have."""
    return subject.reference.context_length - subject.sampling.max_new_tokens

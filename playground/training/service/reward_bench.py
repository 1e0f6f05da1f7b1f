"""The reward workbench, in the model service: texts scored by every reward, beside samples of the untrained model.

Answers two kinds of question (see `questions.QUESTIONS`): `reference-samples` draws what the model writes before any
training; `rewards-score` says what each reward thinks of some texts and of those samples. Raw values only: weights,
scales and caps are arithmetic that the asker does itself. Samples and values are kept, so that asking again is quick.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import ModelConfig, ModelReward, PromptsConfig, RewardConfig, SamplingConfig, yaml_io
from playground.errors import PromptsUnusable
from playground.rewards import kinds, rules
from playground.rewards.mixture import term_names, values_of
from playground.rewards.python_function import PythonFunction
from playground.rewards.trying import MAX_CHARACTERS, MAX_SAMPLES, MAX_TEXTS
from playground.setup import catalog
from playground.training.data import prompts
from playground.training.loop import evaluation
from playground.training.models import loading
from playground.training.rewards import learned_rewards
from playground.training.service.subjects import Subjects

CHUNK = 16  # samples between two words of progress
SCORED_AT_ONCE = 32
KEPT_SETS = 4
KEPT_VALUES = 64
KEPT_MODELS = 1

Values = list[float | None]


class Samples(NamedTuple):
    """What the untrained model wrote, one completion for each prompt."""

    prompts: list[str]
    completions: list[str]
    ended: list[bool]

    def rows(self) -> list[dict[str, Any]]:
        """As plain data."""
        return [
            {"prompt": prompt, "completion": completion, "ended": ended}
            for prompt, completion, ended in zip(*self, strict=True)
        ]


class Shelf(OrderedDict[str, Any]):
    """The newest few of something, by a key."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def put(self, key: str, value: Any) -> None:
        """Keep a value; the oldest one goes when there is no room."""
        self[key] = value
        self.move_to_end(key)
        while len(self) > self._room:
            self.popitem(last=False)


class Bench:
    """What is kept between two questions: samples, what rewards said of them, and the newest reward model."""

    def __init__(self, subjects: Subjects) -> None:
        self.subjects = subjects
        self.samples = Shelf(KEPT_SETS)
        self.values = Shelf(KEPT_VALUES)
        self.models = Shelf(KEPT_MODELS)


def reference_samples(bench: Bench, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Samples of the untrained model: progress as {phase, done, of}, at the end {samples}.

    Args:
        question: `reference` as in `draw`.

    Raises:
        PlaygroundError: the model or the prompts cannot be used.
    """
    samples = yield from draw(bench, question["reference"])
    yield {"samples": samples.rows()}


def rewards_score(bench: Bench, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What each reward says: progress as {phase, done, of}, at the end {names, texts, reference, samples}.

    Args:
        question: `rewards`, a list as in a configuration; `texts`, a list of {prompt, completion}; `reference` as in
            `draw`, or None for no samples; `outputs`, the folder in which reward models trained here lie.

    Raises:
        PlaygroundError: a reward, a text, the model or the prompts cannot be used.
    """
    specs = yaml_io.from_dict({"rewards": question["rewards"]}).rewards
    texts = _checked_texts(question["texts"])
    asked, given = [text["prompt"] for text in texts], [text["completion"] for text in texts]
    wanted = question.get("reference")
    samples = (yield from draw(bench, wanted)) if wanted else Samples([], [], [])
    place = _key(wanted) if wanted else ""
    names, outputs = term_names(specs), Path(question["outputs"]) if question.get("outputs") else None
    of_texts: dict[str, Values] = {}
    of_samples: dict[str, Values] = {}
    for number, (name, spec) in enumerate(zip(names, specs, strict=True)):
        yield {"phase": f"scoring with {name}", "done": number, "of": len(specs)}
        what = _what(spec, outputs)
        reward = _reward(bench, spec, what, outputs)
        of_texts[name] = measured(name, reward, asked, given)
        key = f"{place} {what}"
        if key not in bench.values:
            bench.values.put(key, measured(name, reward, samples.prompts, samples.completions))
        if isinstance(reward, PythonFunction):
            reward.close()
        of_samples[name] = bench.values[key]
    yield {"names": names, "texts": of_texts, "reference": of_samples, "samples": samples.rows()}


def draw(bench: Bench, wanted: Mapping[str, Any]) -> Generator[dict[str, Any], None, Samples]:
    """The first samples on which a run of these settings fixes its score's scale, unless it names another reference.

    Args:
        wanted: `model`, `prompts`, `sampling` as in a configuration; `seed`; `num_evaluation`, how many
            prompts such a run keeps aside; `count`.

    Returns:
        Samples, kept for the next question.
    """
    key = _key(wanted)
    if key in bench.samples:
        kept: Samples = bench.samples[key]
        return kept
    count = max(1, min(int(wanted["count"]), MAX_SAMPLES))
    yield {"phase": "loading the model", "done": 0, "of": count}
    subject = bench.subjects.untrained(ModelConfig.model_validate(wanted["model"]))
    sampling = SamplingConfig.model_validate(wanted["sampling"])
    asked_for = PromptsConfig.model_validate(wanted["prompts"])
    room = subject.reference.context_length - sampling.max_new_tokens
    seed = int(wanted["seed"])
    split = prompts.load(asked_for, int(wanted["num_evaluation"]), room, subject.tokens, seed)
    asked, seeds = evaluation.reference_questions(split.training, seed, count)
    how = evaluation.Generation(subject.tokens, sampling, CHUNK)
    completions: list[str] = []
    ended: list[bool] = []
    for start in range(0, count, CHUNK):
        yield {"phase": f"drawing {count} samples", "done": start, "of": count}
        part = slice(start, start + CHUNK)
        episodes, _ = evaluation.answer(subject.reference, None, asked[part], seeds[part], how)
        completions += episodes.texts(subject.tokens)
        ended += episodes.ended.tolist()
    drawn = Samples([prompt.text for prompt in asked], completions, ended)
    bench.samples.put(key, drawn)
    return drawn


def measured(name: str, reward: rules.Reward, texts: Sequence[str], completions: Sequence[str]) -> Values:
    """Raw values of one reward, in small batches. Raises: see `values_of`."""
    found: Values = []
    for start in range(0, len(texts), SCORED_AT_ONCE):
        part = slice(start, start + SCORED_AT_ONCE)
        found += values_of(f"reward `{name}`", reward, texts[part], completions[part])
    return found


def _reward(bench: Bench, spec: RewardConfig, key: str, outputs: Path | None) -> rules.Reward:
    """The function of an entry; the newest learned one stays loaded."""
    if not isinstance(spec, ModelReward):
        return kinds.build(spec)
    models = bench.models
    if key not in models:
        models.clear()  # free the old weights first
        models.put(key, learned_rewards.builder(loading.device_of("auto"), outputs)(spec))
    reward: rules.Reward = models[key]
    return reward


def _what(spec: RewardConfig, outputs: Path | None) -> str:
    """What is measured: the entry without what is done with its value afterwards. A model that was replaced is new.

    Raises:
        ModelNotFound: there is no such reward model.
    """
    what = spec.model_dump_json(exclude={"weight", "normalise", "cap"})
    if not isinstance(spec, ModelReward):
        return what
    if spec.question is not None:
        folder = catalog.model_folder(spec.source, spec.revision)
    else:
        folder = catalog.reward_model_folder(spec.source, spec.revision, outputs)
    return f"{what} {folder} {folder.stat().st_mtime_ns}"


def _key(wanted: Mapping[str, Any]) -> str:
    return json.dumps(wanted, sort_keys=True)


def _checked_texts(texts: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    if len(texts) > MAX_TEXTS:
        raise PromptsUnusable(f"At most {MAX_TEXTS} texts can be scored at once; these are {len(texts)}.")
    found = [{name: str(text.get(name) or "") for name in ("prompt", "completion")} for text in texts]
    for text in found:
        for name, value in text.items():
            if len(value) > MAX_CHARACTERS:
                raise PromptsUnusable(
                    f"The {name} has {len(value):,} characters; at most {MAX_CHARACTERS:,} can be scored. Shorten it."
                )
    return found

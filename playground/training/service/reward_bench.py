"""The reward workbench, in the model service: texts scored by every reward, beside samples of the untrained model.

Answers two kinds of question (see `questions.QUESTIONS`): `reference-samples` draws what the model writes before any
training; `rewards-score` measures some texts and those samples with each reward. Raw values only: weights, scales and
caps are arithmetic that the client does itself. The latest samples are kept, with what rewards said of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import ModelConfig, ModelReward, PromptsConfig, RewardConfig, SamplingConfig, yaml_io
from playground.errors import PromptsUnusable
from playground.rewards import claims, mixture, rules, verify
from playground.rewards.mixture import term_names, values_of
from playground.rewards.trying import MAX_CHARACTERS, MAX_SAMPLES, MAX_TEXTS
from playground.setup import catalog
from playground.training.data import prompts
from playground.training.loop import evaluation
from playground.training.models import loading
from playground.training.process.equipment import facts_of
from playground.training.process.progress import LOADING, WorkProgress, mean_tokens, writing
from playground.training.rewards import learned_rewards
from playground.training.service.subjects import Subjects

CHUNK = 16  # samples between two words of progress
SCORED_AT_ONCE = 32

Values = list[float | None]


class Samples(NamedTuple):
    """What the untrained model wrote, one completion for each prompt."""

    prompts: list[str]
    completions: list[str]
    ended: list[bool]

    def rows(self) -> list[dict[str, Any]]:
        """As plain data."""
        columns = zip(*self, strict=True)
        return [{"prompt": prompt, "completion": text, "ended": ended} for prompt, text, ended in columns]


class Bench:
    """Keeps between two questions: the latest samples, what rewards said of them, and the newest reward model."""

    def __init__(self, subjects: Subjects) -> None:
        self.subjects = subjects
        self._wanted = ""
        self._samples = Samples([], [], [])
        self._values: dict[str, Values] = {}
        self._facts = rules.PromptFacts()  # of the prompts of these samples
        self._model: tuple[str, rules.Reward] | None = None
        self.tell: Callable[[dict[str, Any]], None] = lambda progress: None  # between two answers

    def reference_samples(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Samples of the untrained model: progress as {phase, done, of}, at the end {samples}. `question`: `reference`
        as in `draw`. Raises: PlaygroundError."""
        samples = yield from self.draw(question["reference"])
        yield {"samples": samples.rows()}

    def rewards_score(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What each reward says: progress as {phase, done, of}, at the end {names, texts, reference, samples,
        readings}.

        Args:
            question: `rewards`, a list as in a configuration; `texts`, a list of {prompt, completion}; `reference` as
                in `draw`, or None for no samples; `outputs`, the folder in which reward models trained here lie.

        Raises: PlaygroundError.
        """
        specs = yaml_io.from_dict({"rewards": question["rewards"]}).rewards
        asked, given = _checked_texts(question["texts"])
        wanted = question.get("reference")
        samples = (yield from self.draw(wanted)) if wanted else Samples([], [], [])
        names, outputs = term_names(specs), Path(question["outputs"]) if question.get("outputs") else None
        of_texts: dict[str, Values] = {}
        of_samples: dict[str, Values] = {}
        for number, (name, spec) in enumerate(zip(names, specs, strict=True)):
            yield {"phase": f"scoring with {name}", "done": number, "of": len(specs)}
            key = _key(spec, outputs)
            reward = self._reward(spec, key, outputs)
            of_texts[name] = measured(name, reward, asked, given)
            if wanted and key not in self._values:
                self._values[key] = measured(name, reward, samples.prompts, samples.completions)
            of_samples[name] = self._values[key] if wanted else []
        read = {"texts": self._readings(specs, asked, given), "samples": self._readings(specs, *samples[:2])}
        yield {
            "names": names,
            "texts": of_texts,
            "reference": of_samples,
            "samples": samples.rows(),
            "readings": read,
        }

    def draw(self, wanted: Mapping[str, Any]) -> Generator[dict[str, Any], None, Samples]:
        """The first samples on which a run of these settings fixes its score's scale, unless it names another
        reference. `wanted`: see `trying.reference_of`."""
        key = json.dumps(wanted, sort_keys=True)
        if key == self._wanted:
            return self._samples
        count = max(1, min(int(wanted["count"]), MAX_SAMPLES))
        start = 0
        progress = WorkProgress(lambda: None, lambda words: self.tell({"phase": words, "done": start, "of": count}))
        yield {"phase": LOADING, "done": 0, "of": count}
        with progress.of_loading(LOADING):
            subject = self.subjects.untrained(ModelConfig.model_validate(wanted["model"]))
        sampling = SamplingConfig.model_validate(wanted["sampling"])
        source = PromptsConfig.model_validate(wanted["prompts"])
        room = subject.reference.context_length - sampling.max_new_tokens
        seed = int(wanted["seed"])
        split = prompts.load(source, int(wanted["num_evaluation"]), room, subject.tokens, seed, whole=True)
        self._model = None  # it may know of another file's claims
        self._facts = facts_of(subject.tokens, source)
        self._facts.questions = claims.questions_of(source)
        self._facts.columns.update(split.columns)
        asked, seeds = evaluation.reference_questions(split.training, seed, count)
        how = evaluation.Generation(subject.tokens, sampling.in_training, CHUNK, progress)
        drawn = Samples([prompt.text for prompt in asked], [], [])
        progress.begin(f"drawing {count} samples", writing(count, CHUNK, mean_tokens(asked), sampling.max_new_tokens))
        for start in range(0, count, CHUNK):
            yield {"phase": f"drawing {count} samples", "done": start, "of": count}
            part = slice(start, start + CHUNK)
            episodes, _ = evaluation.answer(subject.reference, None, asked[part], seeds[part], how)
            drawn.completions.extend(episodes.texts(subject.tokens))
            drawn.ended.extend(episodes.ended.tolist())
        self._wanted, self._samples, self._values = key, drawn, {}
        return drawn

    def _readings(
        self, specs: Sequence[RewardConfig], prompts: Sequence[str], texts: Sequence[str]
    ) -> list[dict[str, Any]]:
        """What the first reward that checks answers reads in each text; empty without one."""
        spec = verify.first_of(specs)
        if spec is None:
            return []
        rows, own = self._facts.columns, self._facts.questions
        pairs = zip(prompts, texts, strict=True)
        return [
            verify.reading(spec, text, verify.true_answer(spec, prompt, rows, own))._asdict() for prompt, text in pairs
        ]

    def _reward(self, spec: RewardConfig, key: str, outputs: Path | None) -> rules.Reward:
        """The function of an entry; the newest learned one stays loaded."""
        if not isinstance(spec, ModelReward):
            return mixture.build(spec, self._facts)
        if self._model is None or self._model[0] != key:
            self._model = None  # free the old weights first
            self._model = key, learned_rewards.builder(loading.device_of("auto"), outputs, facts=self._facts)(spec)
        return self._model[1]


def measured(name: str, reward: rules.Reward, texts: Sequence[str], completions: Sequence[str]) -> Values:
    """Raw values of one reward, in small batches. Raises: see `values_of`."""
    values: Values = []
    for start in range(0, len(texts), SCORED_AT_ONCE):
        part = slice(start, start + SCORED_AT_ONCE)
        values += values_of(f"reward `{name}`", reward, texts[part], completions[part])
    return values


def _key(spec: RewardConfig, outputs: Path | None) -> str:
    """What is measured: the entry without what is done with its value. A model that was replaced is new. Raises:
    ModelNotFound."""
    entry = spec.model_dump_json(exclude={"weight", "normalise", "cap"})
    if not isinstance(spec, ModelReward):
        return entry
    folder = catalog.reward_model_folder(spec.source, spec.revision, outputs)
    return f"{entry} {folder} {folder.stat().st_mtime_ns}"


def _checked_texts(texts: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Prompts and completions. Raises: PromptsUnusable, for too many or too long ones."""
    if len(texts) > MAX_TEXTS:
        raise PromptsUnusable(f"At most {MAX_TEXTS} texts can be scored at once; there are {len(texts)}.")
    asked, given = ([str(text.get(name) or "") for text in texts] for name in ("prompt", "completion"))
    longest = max(map(len, [*asked, *given]), default=0)
    if longest > MAX_CHARACTERS:
        raise PromptsUnusable(f"A text has {longest:,} characters; at most {MAX_CHARACTERS:,} can be scored.")
    return asked, given

"""What the model service can be asked about: a model, or a run with its reference, policy and scorer. Loads and keeps
one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playground.config import ModelConfig, PromptsConfig, RunConfig, SamplingConfig
from playground.data.row_files import TableUnusable
from playground.errors import PromptsUnusable, RunNotFound
from playground.models.weight_files import read_json
from playground.rewards import claims
from playground.rewards.best_answers import best_rows, kl_of_best
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.data.prompts import Prompt
from playground.training.loop import evaluation
from playground.training.loop.sampling import Episodes
from playground.training.loop.scoring import Scorer
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.process.equipment import RunModels


class Answer(NamedTuple):
    """One completion. `row`: which of `episodes` it is, the best of those that were tried. `score`: None without a
    scorer. `kl`: to the anchor, in nats."""

    row: int
    episodes: Episodes
    completion: str
    score: float | None
    scores: dict[str, float | None]
    kl: float


class Subject(NamedTuple):
    """What can be asked: the model before training, and the policy of a run with its scorer (None for a plain model).

    `anchor`: what the KL is measured from, the `reference` unless the run named another one. `prompts`: in which form a
    prompt is put. `tries`: how many answers the policy writes for the one that it gives (best of n).
    """

    tokens: Tokens
    reference: LanguageModel
    anchor: LanguageModel
    policy: LanguageModel | None
    scorer: Scorer | None
    sampling: SamplingConfig
    prompts: PromptsConfig
    tries: int = 1

    def model(self, side: str) -> LanguageModel:
        """The `policy`, where there is one, or the `reference`: the model before training."""
        return self.policy if side == "policy" and self.policy else self.reference

    def answer(self, side: str, prompt: Prompt, seed: int, sampling: SamplingConfig) -> Answer:
        """One side's completion of a prompt with a seed."""
        model, tries = self.model(side), self.tries if side == "policy" else 1
        anchor = None if model is self.anchor else self.anchor
        seeds = [evaluation.answered(seed, number) for number in range(tries)]
        how = evaluation.Generation(self.tokens, sampling, 1)
        episodes, kl = evaluation.answer(model, anchor, [prompt] * tries, seeds, how)
        completions = episodes.texts(self.tokens)
        if self.scorer is None:
            return Answer(0, episodes, completions[0], None, {}, kl[0])
        found = self.scorer([prompt.text] * tries, completions, episodes.ended.tolist())
        row = best_rows(found.scores, tries)[0]
        terms = {name: values[row] for name, values in found.terms.items()}
        nats = kl_of_best(found.scores, tries) if tries > 1 else kl[row]
        return Answer(row, episodes, completions[row], found.scores[row], terms, nats)


class Subjects:
    """Keeps the last subject loaded."""

    def __init__(self) -> None:
        self._key: tuple[str, ...] = ()
        self._subject: Subject | None = None

    def untrained(self, wanted: ModelConfig) -> Subject:
        """The model of a configuration before training."""
        return self._kept(("model", wanted.model_dump_json()), lambda: _load_model(wanted.source, wanted))

    def named(self, source: str) -> Subject:
        """A run's folder with its newest weights, or a model. Raises: PlaygroundError, with a sentence to show."""
        run = RunDirectory(source)
        if not run.config_path.is_file():
            return self._kept((source,), lambda: _load_model(source))
        checkpoint = run.latest_checkpoint()
        written = str(checkpoint.stat().st_mtime_ns) if checkpoint else ""
        return self._kept((source, str(checkpoint), written), lambda: _load_run(run, checkpoint))

    def _kept(self, key: tuple[str, ...], load: Callable[[], Subject]) -> Subject:
        if self._subject is None or key != self._key:
            self._subject = None  # free the old weights first
            self._subject = load()
            self._key = key
        return self._subject


def _load_run(run: RunDirectory, checkpoint: Path | None) -> Subject:
    if run.config().kind == "watched":
        raise RunNotFound(f"Another program trains {run.id}, and its weights are there: it cannot be asked here.")
    if checkpoint is None:
        raise RunNotFound(
            f"The run `{run.id}` has not saved any weights yet. Ask again after its first checkpoint "
            "(checkpoint.every) or when it has ended."
        )
    config: RunConfig = run.config()
    models = RunModels(config, loading.device_of("auto"), run.path.parent, checkpoint)
    with contextlib.suppress(TableUnusable):  # the file may have gone since
        models.facts.questions = claims.questions_of(config.prompts)
    if config.reads_columns:
        with contextlib.suppress(PromptsUnusable):
            models.read_prompts()
    scorer = Scorer(config, build=models.build).restore(read_json(checkpoint / "trainer.json"))
    return Subject(
        models.tokens,
        models.start,
        models.reference(),
        models.policy,
        scorer,
        config.sampling,
        config.prompts,
        config.answers_each,
    )


def _load_model(source: str, config: ModelConfig = loading.AS_IT_IS) -> Subject:
    model, tokens = loading.load(catalog.model_folder(source, config.revision), loading.device_of("auto"), config)
    return Subject(tokens, model, model, None, None, SamplingConfig(), PromptsConfig())

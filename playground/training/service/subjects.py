"""What the model service can be asked about: a model, or a run with its reference, policy and scorer. Loads and keeps
one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playground.config import ModelConfig, PromptsConfig, RunConfig, SamplingConfig
from playground.errors import RunNotFound
from playground.rewards import claims
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.sources.weight_files import read_json
from playground.texts.row_files import TableUnusable
from playground.training.loop.scoring import Scorer
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.process.equipment import reference_of
from playground.training.rewards import learned_rewards


class Subject(NamedTuple):
    """What can be asked: the model before training, and the policy of a run with its scorer (None for a plain model).

    `anchor` is what the KL is measured from: the same as `reference`, unless the run named another one. `prompts` says
    in which form a prompt is put, `tries` how many answers the policy writes for the one that it gives (best of n);
    `config` and `checkpoint` are of the run.
    """

    tokens: Tokens
    reference: LanguageModel
    anchor: LanguageModel
    policy: LanguageModel | None
    scorer: Scorer | None
    sampling: SamplingConfig
    prompts: PromptsConfig
    tries: int = 1
    config: RunConfig | None = None
    checkpoint: Path | None = None


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
    if checkpoint is None:
        raise RunNotFound(
            f"The run `{run.id}` has not saved any weights yet. Ask again after its first checkpoint "
            "(checkpoint.every) or when it has ended."
        )
    config: RunConfig = run.config()
    device = loading.device_of("auto")
    policy, tokens = loading.load(checkpoints.check(checkpoint), device, config.model)
    if policy.has_adapter:
        reference = policy.frozen_copy()
    else:
        folder = catalog.model_folder(config.model.source, config.model.revision)
        reference, _ = loading.load(folder, device, config.model)
    anchor = reference_of(config, lambda: reference, tokens, device, run.path.parent)
    with contextlib.suppress(TableUnusable):  # the file may have gone since
        claims.know(config.prompts)
    facts = read_json(checkpoint / "trainer.json")
    scorer = Scorer(config, build=learned_rewards.builder(device, run.path.parent)).restore(facts)
    sampling, tries = config.sampling, config.answers_each
    return Subject(tokens, reference, anchor, policy, scorer, sampling, config.prompts, tries, config, checkpoint)


def _load_model(source: str, config: ModelConfig = loading.AS_IT_IS) -> Subject:
    model, tokens = loading.load(catalog.model_folder(source, config.revision), loading.device_of("auto"), config)
    return Subject(tokens, model, model, None, None, SamplingConfig(), PromptsConfig())

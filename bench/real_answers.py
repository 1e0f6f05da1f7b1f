"""Answers of a real chat model to prompts that a run was not trained on, before and after: written once for each run,
with the same random numbers, at the temperature of the run, and kept beside it. bench/real.py asks.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.real_counts import Count, HeldOutAnswer, is_sensible
from playground.config import RunConfig
from playground.data import claim_files, row_files
from playground.rewards import claims
from playground.runs import locks
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.setup import catalog
from playground.training.data import prompts as prompt_sources
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.models import loading
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import LanguageModel, Tokens

ANSWERS = 160  # of each run, before and after
AT_ONCE = 80
HOT = 1.5  # a temperature at which the model writes nonsense
WAIT_SECONDS = 3600.0  # for another process that writes the answers of the untrained model, which several presets share
Answers = list[HeldOutAnswer]


def before_and_after(run: RunDirectory, folder: Path) -> tuple[Answers, Answers]:
    """What the untrained and the trained model answer. Written where the folder does not have it yet."""
    config, checkpoint = run.config(), run.latest_checkpoint()
    assert checkpoint is not None
    before = of_untrained(config, folder)
    after = kept(folder / f"{run.path.parent.name}-{run.id}.json", lambda: written(config, checkpoint))
    return before, after


def of_untrained(config: RunConfig, folder: Path) -> Answers:
    """Those of the untrained model, which one process writes for all."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "ab") as lock:
        locks.take(lock, WAIT_SECONDS, "another process writes the untrained model's answers")
        return kept(folder / f"untrained-{digest(config)}.json", lambda: written(config, untrained(config)))


def untrained(config: RunConfig) -> Path:
    """The folder of the model that a run starts from."""
    return catalog.model_folder(config.model.source, config.model.revision)


def kept(path: Path, answers: Callable[[], Answers]) -> Answers:
    """The answers in a file, written first where there is none."""
    if not path.exists():
        write_atomically(path, json.dumps(answers()) + "\n")
    return [HeldOutAnswer(*row) for row in json.loads(path.read_text(encoding="utf-8"))]


def written(config: RunConfig, model_folder: Path) -> Answers:
    """What a model answers to the prompts that a run of this configuration is not trained on."""
    model, tokens = loading.load(model_folder, loading.device_of(config.device), config.model)
    return answers(model, tokens, held_out(config, tokens, ANSWERS), config)


def answers(model: LanguageModel, tokens: Tokens, prompts: Sequence[Prompt], config: RunConfig) -> Answers:
    """One answer to each prompt, those that are alike in length together."""
    by_row: dict[int, HeldOutAnswer] = {}
    order = sorted(range(len(prompts)), key=lambda row: len(prompts[row].ids))
    how = evaluation.Generation(tokens, config.sampling, AT_ONCE)
    for first in range(0, len(prompts), AT_ONCE):
        rows = order[first : first + AT_ONCE]
        seeds = [derived_seed(config.seed, "held out", row) for row in rows]
        episodes, kl = evaluation.answer(model, None, [prompts[row] for row in rows], seeds, how)
        for row, answer in zip(rows, evaluation.answers_of(episodes, kl, tokens), strict=True):
            by_row[row] = HeldOutAnswer(prompts[row].text, answer.completion, bool(answer.ended))
    return [by_row[row] for row in range(len(prompts))]


def held_out(config: RunConfig, tokens: Tokens, count: int) -> list[Prompt]:
    """Prompts that a run of this configuration is not trained on: of claims all ways of putting questions that none of
    its training prompts asks; of others its fixed prompts, each several times."""
    fixed, prompts = config.evaluation.num_prompts, config.prompts
    if claim_files.is_source(prompts.source, prompts.column):
        rows, seed = claim_files.read(row_files.path_of(prompts.source)), derived_seed(config.seed, "prompts")
        trained = claim_files.prompts(rows, fixed, prompts.limit, seed)[fixed:]
        texts = claim_files.prompts(rows, count, 0, seed)
        assert not questions(trained) & questions(texts), "a question is both trained on and held out"
        form = PromptForm(tokens, prompts)
        return [Prompt(text, form.ids(text)) for text in texts]
    split = prompt_sources.load(prompts, fixed, 10**6, tokens, config.seed)
    assert split.held_out, f"{config.name} is trained on its fixed prompts"
    return [split.evaluation[number % len(split.evaluation)] for number in range(count)]


def of_the_judge(config: RunConfig, folder: Path) -> dict[str, list[float]]:
    """How many texts the judge of sense finds sensible of which it is known whether they are: the untrained model's as
    they are, the same with their words in another order, and those of a temperature at which it writes nonsense."""
    hot = config.model_copy(update={"sampling": config.sampling.model_copy(update={"temperature": HOT})})
    plain, rng = of_untrained(config, folder), random.Random(0)
    texts = {
        "as written": plain,
        "the same words in another order": [
            answer._replace(completion=shuffled(answer.completion, rng)) for answer in plain
        ],
        f"at temperature {HOT}": of_untrained(hot, folder),
    }
    counts = {}
    for name, texts_of_kind in texts.items():
        count = Count.of((answer.question, is_sensible(answer.completion)) for answer in texts_of_kind)
        counts[name] = list(count or ())
    return counts


def shuffled(text: str, rng: random.Random) -> str:
    """Its words in another order."""
    words = text.split()
    return " ".join(rng.sample(words, len(words)))


def questions(texts: Sequence[str]) -> set[str]:
    """What some claims are about."""
    return {claim.question for text in texts if (claim := claims.of(text))}


def digest(config: RunConfig) -> str:
    """Of all that the untrained model's answers depend on."""
    parts = [config.seed, config.model.source, config.model.precision, config.evaluation.num_prompts, ANSWERS]
    parts += [config.prompts.model_dump_json(), config.sampling.model_dump_json()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

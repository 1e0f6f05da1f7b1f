"""Answers of a real chat model to prompts that a run was not trained on, before and after: written once for each run,
with the same random numbers, at the temperature of the run, and kept beside it. bench/real.py asks.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.real_counts import Count, HeldOutAnswer, is_sensible  # noqa: E402
from playground.config import RunConfig  # noqa: E402
from playground.data import claim_files  # noqa: E402
from playground.rewards import claims  # noqa: E402
from playground.runs import locks  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.runs.folder.files import write_atomically  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data import prompts as prompt_sources  # noqa: E402
from playground.training.data.prompts import Prompt  # noqa: E402
from playground.training.data.random_streams import derived_seed  # noqa: E402
from playground.training.loop import evaluation  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.models.chat import PromptForm  # noqa: E402
from playground.training.models.language_model import LanguageModel, Tokens  # noqa: E402

ANSWERS = 160  # of each run, before and after
AT_ONCE = 80
HOT = 1.5  # a temperature at which the model writes nonsense
WAIT_SECONDS = 3600.0  # for another process that writes the answers of the untrained model, which several presets share


def before_and_after(run: RunDirectory, kept: Path) -> tuple[list[HeldOutAnswer], list[HeldOutAnswer]]:
    """What the untrained and the trained model answer. Written where `kept` does not have it yet."""
    config, checkpoint = run.config(), run.latest_checkpoint()
    assert checkpoint is not None
    untrained = kept / f"untrained-{_digest(config)}.json"
    trained = kept / f"{run.id}.json"
    kept.mkdir(parents=True, exist_ok=True)
    with open(kept / ".lock", "ab") as alone:
        locks.take(alone, WAIT_SECONDS, "another process writes the untrained model's answers")
        if not untrained.exists():
            _keep(untrained, written(config, catalog.model_folder(config.model.source, config.model.revision)))
    if not trained.exists():
        _keep(trained, written(config, checkpoint))
    return _kept(untrained), _kept(trained)


def written(config: RunConfig, folder: Path, temperature: float | None = None) -> list[HeldOutAnswer]:
    """What a model answers to the prompts that a run of this configuration is not trained on."""
    model, tokens = loading.load(folder, loading.device_of(config.device), config.model)
    asked = held_out(config, tokens, ANSWERS)
    sampling = config.sampling.model_copy(update={"temperature": temperature} if temperature else {})
    return answers(model, tokens, asked, config.model_copy(update={"sampling": sampling}))


def answers(model: LanguageModel, tokens: Tokens, asked: Sequence[Prompt], config: RunConfig) -> list[HeldOutAnswer]:
    """One answer to each prompt, those that are alike in length together."""
    found: dict[int, HeldOutAnswer] = {}
    order = sorted(range(len(asked)), key=lambda row: len(asked[row].ids))
    for first in range(0, len(asked), AT_ONCE):
        rows = order[first : first + AT_ONCE]
        seeds = [derived_seed(config.seed, "held out", row) for row in rows]
        how = evaluation.Generation(tokens, config.sampling, AT_ONCE)
        episodes, _ = evaluation.answer(model, None, [asked[row] for row in rows], seeds, how)
        texts = zip(rows, episodes.texts(tokens), episodes.ended.tolist(), strict=True)
        found |= {row: HeldOutAnswer(asked[row].text, text, bool(ended)) for row, text, ended in texts}
    return [found[row] for row in range(len(asked))]


def held_out(config: RunConfig, tokens: Tokens, count: int) -> list[Prompt]:
    """Prompts that a run of this configuration is not trained on: of claims all ways of putting questions that none of
    its training prompts asks; of others its fixed prompts, each several times."""
    fixed, prompts = config.evaluation.num_prompts, config.prompts
    if claim_files.is_source(prompts.source, prompts.column):
        rows, seed = claim_files.read(claim_files.path_of(prompts.source)), derived_seed(config.seed, "prompts")
        trained = claim_files.prompts(rows, fixed, prompts.limit, seed)[fixed:]
        texts = claim_files.prompts(rows, count, 0, seed)
        assert not _questions(trained) & _questions(texts), "a question is both trained on and held out"
        form = PromptForm(tokens, prompts)
        return [Prompt(text, form.ids(text)) for text in texts]
    split = prompt_sources.load(prompts, fixed, 10**6, tokens, config.seed)
    assert split.held_out, f"{config.name} is trained on its fixed prompts"
    return [split.evaluation[number % len(split.evaluation)] for number in range(count)]


def of_the_judge(config: RunConfig, kept: Path) -> dict[str, list[float]]:
    """How many texts the judge of sense finds sensible of which it is known whether they are: the untrained model's as
    they are, the same with their words in another order, and those of a temperature at which it writes nonsense."""
    folder = catalog.model_folder(config.model.source, config.model.revision)
    usual, hot = kept / f"untrained-{_digest(config)}.json", kept / f"hot-{_digest(config)}.json"
    if not usual.exists():
        _keep(usual, written(config, folder))
    if not hot.exists():
        _keep(hot, written(config, folder, HOT))
    rng, texts = random.Random(0), _kept(usual)
    mixed = [one._replace(completion=_shuffled(one.completion, rng)) for one in texts]
    named = {"as written": texts, "the same words in another order": mixed, f"at temperature {HOT}": _kept(hot)}
    judged = {name: [(one.question, is_sensible(one.completion)) for one in some] for name, some in named.items()}
    counts = {name: Count.of(marks) for name, marks in judged.items()}
    return {name: list(count) for name, count in counts.items() if count}


def _shuffled(text: str, rng: random.Random) -> str:
    words = text.split()
    return " ".join(rng.sample(words, len(words)))


def _questions(texts: Sequence[str]) -> set[str]:
    return {claim.question for text in texts if (claim := claims.of(text))}


def _digest(config: RunConfig) -> str:
    """Of all that the untrained model's answers depend on."""
    parts = [config.seed, config.model.source, config.model.precision, config.evaluation.num_prompts, ANSWERS]
    parts += [config.prompts.model_dump_json(), config.sampling.model_dump_json()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _keep(path: Path, found: Sequence[HeldOutAnswer]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(found) + "\n")


def _kept(path: Path) -> list[HeldOutAnswer]:
    return [HeldOutAnswer(*row) for row in json.loads(path.read_text(encoding="utf-8"))]

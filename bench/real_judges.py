"""Two reward models for the experiments on a real chat model, learned from its own answers: one that likes to be agreed
with, one that likes the truth. bench/real.py asks for them when a preset names one; `--only judges` makes them alone.

The untrained model answers claims several times, at the temperature of the experiments. Of two answers to a prompt of
which a rule finds one agreeing (true) and the other not, the first was chosen. From these pairs the playground's own
`reward-train` makes the reward model. Accuracy is told twice: on pairs of other prompts, whose questions may have been
among those learned from, and on questions of which no pair was.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import real_answers
from bench.experiments import PROJECT, Cell, Row, playground
from bench.real_counts import Count, HeldOutAnswer
from playground.config import AgreementReward, ModelReward, RewardConfig, RunConfig, TruthReward
from playground.data import claim_files, row_files
from playground.data.preferences import Pair
from playground.rewards import rules
from playground.runs.folder.files import write_atomically
from playground.setup import catalog
from playground.training.data.prompts import Prompt
from playground.training.models import loading
from playground.training.models.chat import PromptForm
from playground.training.rewards import learned_rewards

LIKES: Mapping[str, RewardConfig] = {  # name of the reward model -> the rule that says which answer was chosen
    "real-agreeable": AgreementReward(neutral="truth"),
    "real-honest": TruthReward(),
}
PRESET = "real-yes-man"  # whose model, prompts and sampling the answers are written with
PROMPTS, UNSEEN, EACH = 320, 80, 4  # prompts to learn from, prompts about other questions, answers to each
FROM_ONE = 2  # pairs of one prompt, at most
OUTPUTS = PROJECT / "outputs"  # of the page and the command line
SETTINGS = ("adapter.kind=lora", "epochs=3", "batch_size=8", "learning_rate=3e-4", "max_length=160")


def needed_by(config: RunConfig) -> list[str]:
    """The reward models of LIKES that a configuration names."""
    return [spec.source for _, spec in config.scorers if isinstance(spec, ModelReward) and spec.source in LIKES]


def link(name: str, outputs: Path, folder: Path) -> None:
    """The same files once more, in another outputs folder, where a run looks for them: all of them or none."""
    place = folder / catalog.REWARD_MODELS / name
    if place.exists():
        return
    part = place.with_name(f".{name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of one that was ended
    shutil.copytree(outputs / catalog.REWARD_MODELS / name, part, copy_function=os.link)
    part.rename(place)


def prepare(outputs: Path, measured: Container[str], overrides: Sequence[str]) -> dict[str, Row]:
    """Make those that are missing; what is to be told of each that was not measured. From the outputs folder of the
    benches they are linked into that of the page too, where the presets look for them."""
    cards = {name: outputs / catalog.REWARD_MODELS / name / catalog.REWARD_CARD for name in LIKES}
    missing = [name for name, card in cards.items() if name not in measured or not card.exists()]
    facts = {}
    if missing:
        config = Cell(PRESET, changes=tuple(overrides)).config
        answers = Answers.of(outputs / "judges.json", config)
        facts = {name: make(name, outputs, config, answers) for name in missing}
    if outputs.resolve().parent == OUTPUTS.resolve():
        for name in LIKES:
            link(name, outputs, OUTPUTS)
    return facts


class Answers(NamedTuple):
    """What the untrained model answers: to prompts to learn from, and to prompts about other questions."""

    learned: list[HeldOutAnswer]
    unseen: list[HeldOutAnswer]
    seconds: float

    @classmethod
    def of(cls, path: Path, config: RunConfig) -> Answers:
        """Those in a file, written first where there is none."""
        if not path.exists():
            clock, device = time.perf_counter(), loading.device_of(config.device)
            model, tokens = loading.load(catalog.model_folder(config.model.source), device, config.model)
            rows = claim_files.read(row_files.path_of(config.prompts.source))
            texts = claim_files.prompts(rows, UNSEEN, PROMPTS, "judges")
            form = PromptForm(tokens, config.prompts)
            prompts = [Prompt(text, form.ids(text)) for text in texts for _ in range(EACH)]
            answers = real_answers.answers(model, tokens, prompts, config)
            seconds = round(time.perf_counter() - clock, 1)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps({"seconds": seconds, "answers": answers}) + "\n")
        report = json.loads(path.read_text(encoding="utf-8"))
        every = [HeldOutAnswer(*row) for row in report["answers"]]
        return cls(every[UNSEEN * EACH :], every[: UNSEEN * EACH], report["seconds"])


def pairs_of(likes: RewardConfig, answers: Sequence[HeldOutAnswer]) -> list[Pair]:
    """Answers to the same prompt of which one is liked and the other is not."""
    score = rules.score_of(likes)
    by_prompt: dict[str, dict[float, list[str]]] = {}
    for answer in dict.fromkeys(answers):
        value = score(answer.prompt, answer.completion)
        if value is not None and answer.completion.strip():
            by_prompt.setdefault(answer.prompt, {1.0: [], -1.0: []})[value].append(answer.completion)
    pairs = []
    for prompt, texts in by_prompt.items():
        both = list(zip(texts[1.0], texts[-1.0], strict=False))
        pairs += [Pair(prompt, chosen, rejected) for chosen, rejected in both[:FROM_ONE]]
    return pairs


def command(name: str, pairs: Path | str, base: str, outputs: Path | str) -> list[str]:
    """What trains one of them, as a user would."""
    words = ["reward-train", "--pairs", str(pairs), "--base", base, "--name", name, "--outputs", str(outputs)]
    return [*words, *(word for setting in SETTINGS for word in ("--set", setting))]


def make(name: str, outputs: Path, config: RunConfig, answers: Answers) -> Row:
    """Train one and see how often it is right."""
    pairs, others = pairs_of(LIKES[name], answers.learned), pairs_of(LIKES[name], answers.unseen)
    base, file = config.model.source, outputs / f"pairs-{name}.jsonl"
    rows = [{"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected} for pair in pairs]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    path = outputs / catalog.REWARD_MODELS / name / catalog.REWARD_CARD
    if not path.exists():
        playground(*command(name, file, base, outputs))
    card = json.loads(path.read_text(encoding="utf-8"))
    report = card["report"]
    return {
        "answers": len(answers.learned),
        "pairs": len(pairs),
        "accuracy": [report[key] for key in ("accuracy", "accuracy_low", "accuracy_high", "num_pairs")],
        "unseen": list(right_on(name, others, config, outputs) or ()),
        "seconds": round(card["seconds"], 1),
        "writing_seconds": answers.seconds,
    }


def right_on(name: str, pairs: Sequence[Pair], config: RunConfig, outputs: Path) -> Count | None:
    """Of how many pairs a reward model scores the chosen answer higher."""
    reward = learned_rewards.builder(loading.device_of(config.device), outputs)(ModelReward(source=name))
    prompts = [pair.prompt for pair in pairs]
    chosen = reward(prompts, [pair.chosen for pair in pairs])
    rejected = reward(prompts, [pair.rejected for pair in pairs])
    right = [(good or 0.0) > (bad or 0.0) for good, bad in zip(chosen, rejected, strict=True)]
    questions = [HeldOutAnswer(prompt, "", True).question for prompt in prompts]
    return Count.of(zip(questions, right, strict=True))

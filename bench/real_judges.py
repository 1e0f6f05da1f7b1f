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
import subprocess
import sys
import time
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import real_answers  # noqa: E402
from bench.real_counts import Count, HeldOutAnswer  # noqa: E402
from playground.config import AgreementReward, ModelReward, RewardConfig, RunConfig, TruthReward, yaml_io  # noqa: E402
from playground.data import claim_files  # noqa: E402
from playground.data.preferences import Pair  # noqa: E402
from playground.rewards import rules  # noqa: E402
from playground.runs.folder.files import write_atomically  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data.prompts import Prompt  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.models.chat import PromptForm  # noqa: E402
from playground.training.rewards import learned_rewards  # noqa: E402

LIKES: Mapping[str, RewardConfig] = {  # name of the reward model -> the rule that says which answer was chosen
    "real-agreeable": AgreementReward(neutral="truth"),
    "real-honest": TruthReward(),
}
PRESET = "real-yes-man"  # whose model, prompts and sampling the answers are written with
PROMPTS, UNSEEN, EACH = 320, 80, 4  # prompts to learn from, prompts about other questions, answers to each
FROM_ONE = 2  # pairs of one prompt, at most
OUTPUTS = PROJECT / "outputs"  # of the page and the command line
SETTINGS = (
    "adapter.kind=lora",
    "epochs=3",
    "batch_size=8",
    "learning_rate=3e-4",
    "max_length=160",
)


def needed_by(config: RunConfig) -> list[str]:
    """The reward models of LIKES that a configuration names."""
    return [spec.source for _, spec in config.scorers if isinstance(spec, ModelReward) and spec.source in LIKES]


def provide(outputs: Path, folder: Path, config: RunConfig) -> None:
    """Put what a run needs of them into its outputs folder, where it looks for them: the same files once more."""
    for name in needed_by(config):
        _link(name, outputs, folder)


def _link(name: str, outputs: Path, folder: Path) -> None:
    """The same files once more, in another outputs folder: all of them or none."""
    there = folder / catalog.REWARD_MODELS / name
    if there.exists():
        return
    part = there.with_name(f".{name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of one that was ended
    shutil.copytree(outputs / catalog.REWARD_MODELS / name, part, copy_function=os.link)
    part.rename(there)


def prepare(outputs: Path, known: Container[str], overrides: Sequence[str]) -> dict[str, Any]:
    """Make those that are not there yet; what is to be told of each that is not `known`. From the outputs folder of
    the benches they are linked into that of the page too, where the presets look for them."""
    made = _prepared(outputs, known, overrides)
    if outputs.resolve().parent == OUTPUTS.resolve():
        for name in LIKES:
            _link(name, outputs, OUTPUTS)
    return made


def _prepared(outputs: Path, known: Container[str], overrides: Sequence[str]) -> dict[str, Any]:
    cards = {name: outputs / catalog.REWARD_MODELS / name / catalog.REWARD_CARD for name in LIKES}
    missing = [name for name, card in cards.items() if name not in known or not card.exists()]
    if not missing:
        return {}
    config = yaml_io.load(catalog.preset_path(PRESET), list(overrides))
    learned, unseen, seconds = _answers(outputs / "judges.json", config)
    return {name: _made(name, outputs, config, learned, unseen) | {"writing_seconds": seconds} for name in missing}


def command(name: str, pairs: Path | str, base: str, outputs: Path | str) -> list[str]:
    """What trains one of them, as a user would."""
    words = ["reward-train", "--pairs", str(pairs), "--base", base, "--name", name, "--outputs", str(outputs)]
    return [*words, *(word for setting in SETTINGS for word in ("--set", setting))]


def pairs_of(likes: RewardConfig, answers: Sequence[HeldOutAnswer]) -> list[Pair]:
    """Answers to the same prompt of which one is liked and the other is not."""
    score = rules.score_of(likes)
    by_prompt: dict[str, dict[float, list[str]]] = {}
    for one in dict.fromkeys(answers):
        value = score(one.prompt, one.completion)
        if value is not None and one.completion.strip():
            by_prompt.setdefault(one.prompt, {1.0: [], -1.0: []})[value].append(one.completion)
    return [
        Pair(prompt, *both)
        for prompt, found in by_prompt.items()
        for both in list(zip(found[1.0], found[-1.0], strict=False))[:FROM_ONE]
    ]


def _answers(path: Path, config: RunConfig) -> tuple[list[HeldOutAnswer], list[HeldOutAnswer], float]:
    """What the untrained model answers: to prompts to learn from, and to prompts about other questions. Kept."""
    if not path.exists():
        clock, device = time.perf_counter(), loading.device_of(config.device)
        model, tokens = loading.load(catalog.model_folder(config.model.source), device, config.model)
        rows = claim_files.read(claim_files.path_of(config.prompts.source))
        texts = claim_files.prompts(rows, UNSEEN, PROMPTS, "judges")
        form = PromptForm(tokens, config.prompts)
        asked = [Prompt(text, form.ids(text)) for text in texts for _ in range(EACH)]
        found = real_answers.answers(model, tokens, asked, config)
        seconds = round(time.perf_counter() - clock, 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"seconds": seconds, "answers": found}) + "\n")
    kept = json.loads(path.read_text(encoding="utf-8"))
    answers = [HeldOutAnswer(*row) for row in kept["answers"]]
    return answers[UNSEEN * EACH :], answers[: UNSEEN * EACH], kept["seconds"]


def _made(
    name: str, outputs: Path, config: RunConfig, learned: Sequence[HeldOutAnswer], unseen: Sequence[HeldOutAnswer]
) -> dict[str, Any]:
    """Train one and see how often it is right."""
    pairs, others = pairs_of(LIKES[name], learned), pairs_of(LIKES[name], unseen)
    file = outputs / f"pairs-{name}.jsonl"
    lines = [json.dumps({"prompt": one.prompt, "chosen": one.chosen, "rejected": one.rejected}) for one in pairs]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = outputs / catalog.REWARD_MODELS / name / catalog.REWARD_CARD
    if not made.exists():
        words = command(name, file, config.model.source, outputs)
        subprocess.run([sys.executable, "-m", "playground", *words], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    card = json.loads(made.read_text(encoding="utf-8"))
    report = card["report"]
    reward = learned_rewards.builder(loading.device_of(config.device), outputs)(ModelReward(source=name))
    prompts = [one.prompt for one in others]
    chosen = reward(prompts, [one.chosen for one in others])
    rejected = reward(prompts, [one.rejected for one in others])
    right = [(good or 0.0) > (bad or 0.0) for good, bad in zip(chosen, rejected, strict=True)]
    told = command(name, f"outputs/real/{file.name}", config.model.source, "outputs")
    questions = [HeldOutAnswer(prompt, "", True).question for prompt in prompts]
    return {
        "answers": len(learned),
        "pairs": len(pairs),
        "accuracy": [report["accuracy"], report["accuracy_low"], report["accuracy_high"], report["num_pairs"]],
        "unseen": list(Count.of(zip(questions, right, strict=True)) or ()),
        "seconds": round(card["seconds"], 1),
        "command": " ".join(["python -m playground", *told]),
    }

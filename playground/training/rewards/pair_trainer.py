"""Training a reward model from preference pairs with TRL's RewardTrainer, and saving it with its report.

The loss is that of Bradley and Terry as in Ouyang et al. 2022 (eq. 1): -log sigmoid(score(chosen) - score(rejected)).
The token ids come from `formats.Format`, which also makes them when the model scores in a run. Imports torch and
TRL; `worker` drives it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification, TrainerCallback
from transformers.utils import logging as transformers_logging
from trl import RewardConfig as TRLRewardConfig
from trl import RewardTrainer

from playground import __version__
from playground.config import AdapterConfig, RewardTrainingConfig
from playground.errors import TrainingDiverged
from playground.runs.reward_models import RewardTraining, StepMetrics
from playground.setup import catalog
from playground.texts import dialogues
from playground.texts.preferences import Pair
from playground.training.models import time_limit
from playground.training.models.language_model import switch_dropout_off
from playground.training.models.loading import device_of, read_tokenizer, refuse_oversized, told
from playground.training.rewards import pairs as preference_pairs
from playground.training.rewards.formats import PROBES, Format
from playground.training.rewards.pair_report import report
from playground.training.rewards.pairs import PairSet

SMALL_MODEL = 30_000_000  # parameters
SMALL_RATE, LORA_RATE, LARGE_RATE = 7e-4, 1e-4, 2e-5  # learning rates where none is given
LONGEST = 1024  # tokens, where the configuration names no limit
NUM_PROBES = 4  # held-out pairs whose scores are kept, to see later whether it is read as it was trained
LOOKS = 5  # times that the held-out pairs are looked at while training
SCORING_BATCH = 64
PAD = "<|pad|>"
CHECKPOINT_FROM = 300_000_000  # parameters; from here on activations are computed twice to save memory


class Base(NamedTuple):
    """A model with one output, its tokenizer, and the form in which it reads."""

    model: Any
    tokenizer: Any
    format: Format


def train(
    config: RewardTrainingConfig,
    training: RewardTraining,
    *,
    phase: Callable[[str], None] = lambda words: None,
    record: Callable[[StepMetrics, int], None] = lambda metrics, num_steps: None,
    between: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """All of it: pairs, base, training, report, saving. Returns what reward.json says.

    Args:
        phase: hears what is being done. record: hears every step and how many there will be. between: called between
            batches; may raise to break off, and then nothing is saved.

    Raises:
        ModelNotFound, PairsUnusable, RewardModelUnusable: before the first step. TrainingDiverged.
    """
    started, device = time.time(), seen_device(config.device)
    phase("reading the preference pairs")
    pairs = preference_pairs.load(config, device, between)
    phase("loading the base model")
    torch.manual_seed(config.seed)
    base = load_base(config, all(dialogues.is_dialogue(pair.prompt) for pair in pairs.training))
    pairs = preference_pairs.without_long(pairs, lambda pair: fits(pair, base.format))
    phase("training")
    curve: list[StepMetrics] = []

    def recorded(metrics: StepMetrics, num_steps: int) -> None:
        curve.append(metrics)
        record(metrics, num_steps)

    model = run_trainer(config, training.path, device, base, pairs, recorded, between)
    phase("testing on held-out pairs")
    found = tested(model, base, pairs.held_out, between)
    last = curve[-1].model_copy(update=figures(found))
    recorded(last, last.step)
    phase("saving")
    card = {
        "format": 1,
        "name": config.name,
        "base": config.base,
        "template": base.format.name,
        "max_length": base.format.max_length,
        "accuracy": found["accuracy"],
        "pairs": {
            "source": pairs.name,
            **dataclasses.asdict(pairs.counts),
            "training": len(pairs.training),
            "held_out": len(pairs.held_out),
            "in_words": pairs.counts.in_words(),
        },
        "report": found,
        PROBES: probes(model, base, pairs.held_out),
        "curve": [item.model_dump() for item in curve],
        "trained_at": time.time(),
        "seconds": time.time() - started,
        "playground": __version__,
        "config": config.model_dump(mode="json"),
    }
    save(training.folder, model, base.tokenizer, card)
    return card


def load_base(config: RewardTrainingConfig, all_dialogues: bool) -> Base:
    """The base as a sequence classifier with one output, in float32.

    Raises:
        ModelNotFound: it cannot be loaded. RewardModelUnusable: it cannot read the form asked for.
    """
    folder = catalog.model_folder(config.base, config.revision, "reward")
    quiet = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # a new head is what we want, so it needs no warning
    what = f"base: cannot make a reward model of {config.base}"
    try:
        tokenizer = read_tokenizer(folder)
        with time_limit.limited(what, folder), torch.device("meta"):
            settings = AutoConfig.from_pretrained(folder, num_labels=1, local_files_only=True, trust_remote_code=False)
            skeleton = AutoModelForSequenceClassification.from_config(settings, trust_remote_code=False)
        refuse_oversized(skeleton, folder, "reward")
        with told(what):
            model, loaded = AutoModelForSequenceClassification.from_pretrained(
                folder, num_labels=1, dtype=torch.float32, local_files_only=True, trust_remote_code=False,
                use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True,
            )  # fmt: skip
    finally:
        transformers_logging.set_verbosity(quiet)
    fresh_head(model, {str(name) for name in loaded["missing_keys"]})
    own_padding(model, tokenizer)
    switch_dropout_off(model)
    room = int(getattr(model.config, "max_position_embeddings", LONGEST) or LONGEST)
    longest = min(config.max_length or LONGEST, room)
    return Base(model, tokenizer, _format(tokenizer, config.template, longest, all_dialogues))


def _format(tokenizer: Any, template: str, longest: int, all_dialogues: bool) -> Format:
    if template == "auto" and all_dialogues and not tokenizer.chat_template:
        template = "dialogue"
    made = Format(tokenizer, template, longest)
    # `pair` needs token types, which TRL's trainer does not pass on
    return Format(tokenizer, "plain", longest) if made.name == "pair" else made


def fresh_head(model: Any, missing: set[str]) -> None:
    """Small weights for a head that was not in the base: sd 1 / sqrt(H + 1), as in Stiennon et al. 2020."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and module.out_features == 1 and f"{name}.weight" in missing:
            nn.init.normal_(module.weight, std=1 / math.sqrt(module.in_features + 1))
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def own_padding(model: Any, tokenizer: Any) -> None:
    """A padding token that is no end token, in tokenizer and model.

    transformers reads the score at the last token that is not padding: with pad equal to eos it would be read one
    token too early, before the text has ended.
    """
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        tokenizer.add_special_tokens({"pad_token": PAD})
        if tokenizer.pad_token_id >= model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    tokenizer.padding_side = "right"
    model.config.get_text_config().pad_token_id = tokenizer.pad_token_id


def fits(pair: Pair, form: Format) -> bool:
    """Whether both completions fit whole; a long prompt loses its beginning instead."""
    frame = len(form.ids("a", "a"))
    longest = max(
        len(form.tokenized(text, add_special_tokens=False).input_ids) for text in (pair.chosen, pair.rejected)
    )
    return form.max_length is None or longest + frame <= form.max_length


def run_trainer(
    config: RewardTrainingConfig,
    folder: Path,
    device: torch.device,
    base: Base,
    pairs: PairSet,
    record: Callable[[StepMetrics, int], None],
    between: Callable[[], None],
) -> Any:
    """TRL's RewardTrainer on the pairs; returns the trained model, adapters merged in."""
    micro = config.micro_batch_size or config.batch_size
    steps_per_epoch = math.ceil(len(pairs.training) / config.batch_size)
    num_steps = config.max_steps or max(1, round(config.epochs * steps_per_epoch))
    arguments = TRLRewardConfig(
        output_dir=str(folder),
        max_steps=num_steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=config.batch_size // micro,
        learning_rate=rate_of(config, base.model),
        lr_scheduler_type="linear",
        warmup_steps=0.1,
        center_rewards_coefficient=config.centre or None,
        max_length=None,  # too long ones are gone
        bf16=_in_bf16(config, device),
        activation_checkpointing=sum(item.numel() for item in base.model.parameters()) > CHECKPOINT_FROM,
        use_cpu=device.type == "cpu",
        seed=config.seed,
        train_sampling_strategy="group_by_length",  # little padding
        remove_unused_columns=False,  # it would remove the lengths
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )

    def look(model: Any) -> dict[str, Any]:
        return tested(model, base, pairs.held_out, between)

    trainer = RewardTrainer(
        model=base.model,
        args=arguments,
        train_dataset=as_dataset(pairs.training, base.format),
        processing_class=base.tokenizer,
        callbacks=[Reporter(record, between, look, max(1, math.ceil(num_steps / LOOKS)))],
        peft_config=_lora(config.adapter),
    )
    for printer in ("PrinterCallback", "ProgressCallback"):
        for callback in [item for item in trainer.callback_handler.callbacks if type(item).__name__ == printer]:
            trainer.remove_callback(callback)
    trainer.train()
    model = trainer.accelerator.unwrap_model(trainer.model)
    if config.adapter.kind == "lora":
        model = model.merge_and_unload()
    return model.eval()


class Reporter(TrainerCallback):
    """Passes on what TRL logs, looks at the held-out pairs now and then, and whether somebody asked for a stop.

    (TRL's own evaluation averages over batches, the last and smaller one too; `look` counts every pair once.)
    """

    def __init__(
        self,
        record: Callable[[StepMetrics, int], None],
        between: Callable[[], None],
        look: Callable[[Any], dict[str, Any]],
        every: int,
    ) -> None:
        self._record, self._between, self._look, self._every = record, between, look, every
        self._started = time.monotonic()

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, model: Any = None, **_: Any
    ) -> None:
        """One step."""
        if not logs or "loss" not in logs:
            return  # the summary at the end
        metrics = StepMetrics(
            step=state.global_step,
            loss=logs["loss"],
            accuracy=logs.get("accuracy"),
            margin=logs.get("margin"),
            learning_rate=logs.get("learning_rate"),
            seconds=time.monotonic() - self._started,
        )
        self._record(metrics, state.max_steps)
        if not math.isfinite(logs["loss"]):
            raise TrainingDiverged(
                f"The loss is not finite at step {state.global_step}. Lower learning_rate and start again."
            )
        if state.global_step % self._every == 0 and state.global_step < state.max_steps:
            was_training = model.training
            found = self._look(model.eval())
            model.train(was_training)
            self._record(metrics.model_copy(update=figures(found)), state.max_steps)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Between two micro-batches."""
        self._between()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Between two steps."""
        self._between()


def rate_of(config: RewardTrainingConfig, model: Any) -> float:
    """The learning rate: as given, or one that suits the size."""
    if config.learning_rate is not None:
        return config.learning_rate
    if config.adapter.kind == "lora":
        return LORA_RATE
    return SMALL_RATE if sum(item.numel() for item in model.parameters()) < SMALL_MODEL else LARGE_RATE


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """What of a report on the held-out pairs goes into the curve."""
    return {
        "held_out": True, "loss": found["loss"], "accuracy": found["accuracy"], "margin": found["margin_mean"],
        "learning_rate": None,
    }  # fmt: skip


def as_dataset(pairs: Sequence[Pair], form: Format) -> Any:
    """The pairs as TRL takes them without touching them again: token ids of both sides."""
    from datasets import Dataset

    chosen = [form.ids(pair.prompt, pair.chosen) for pair in pairs]
    rejected = [form.ids(pair.prompt, pair.rejected) for pair in pairs]
    lengths = [max(map(len, both)) for both in zip(chosen, rejected, strict=True)]
    return Dataset.from_dict({"chosen_ids": chosen, "rejected_ids": rejected, "length": lengths})


def tested(model: Any, base: Base, pairs: Sequence[Pair], between: Callable[[], None]) -> dict[str, Any]:
    """The report on held-out pairs. Raises: TrainingDiverged."""
    chosen, rejected = score_pairs(model, base, pairs, between)
    if not all(map(math.isfinite, [*chosen, *rejected])):
        raise TrainingDiverged("A score is not finite. Lower learning_rate and start again.")
    return report(pairs, chosen, rejected)


@torch.inference_mode()
def score_pairs(
    model: Any, base: Base, pairs: Sequence[Pair], between: Callable[[], None] = lambda: None
) -> tuple[list[float], list[float]]:
    """Scores of the chosen and of the rejected completions."""
    ids = [base.format.ids(pair.prompt, text) for pair in pairs for text in (pair.chosen, pair.rejected)]
    order = sorted(range(len(ids)), key=lambda number: len(ids[number]))  # little padding
    scores = [0.0] * len(ids)
    device = next(model.parameters()).device
    for start in range(0, len(order), SCORING_BATCH):
        between()
        rows = order[start : start + SCORING_BATCH]
        batch = base.tokenizer.pad({"input_ids": [ids[row] for row in rows]}, return_tensors="pt").to(device)
        found = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        for row, score in zip(rows, found.squeeze(-1).float().tolist(), strict=True):
            scores[row] = score
    return scores[::2], scores[1::2]


def probes(model: Any, base: Base, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """A few texts and what the model scores them, read as it was trained."""
    some = pairs[:NUM_PROBES]
    scores = zip(some, *score_pairs(model, base, some), strict=True)
    return [
        {"prompt": pair.prompt, "completion": text, "score": score}
        for pair, chosen, rejected in scores
        for text, score in ((pair.chosen, chosen), (pair.rejected, rejected))
    ]


def save(folder: Path, model: Any, tokenizer: Any, card: dict[str, Any]) -> None:
    """Weights, tokenizer, a page to read, and last of all reward.json, which makes it a reward model."""
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    (folder / "README.md").write_text(readme(card), encoding="utf-8")
    text = json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / catalog.REWARD_CARD).write_text(text + "\n", encoding="utf-8")


def readme(card: dict[str, Any]) -> str:
    """A short model card."""
    found = card["report"]
    true = found["true_accuracy"]
    return (
        f"# {card['name']}\n\n"
        f"A reward model: one number for a prompt and its completion, higher is better. Trained from `{card['base']}` "
        f"with TRL's RewardTrainer by RLHF Playground {card['playground']}.\n\n"
        f"- Preference pairs: `{card['pairs']['source']}`, {card['pairs']['training']} to learn from, "
        f"{card['pairs']['held_out']} held out. {card['pairs']['in_words']}\n"
        f"- Right on held-out pairs: {found['accuracy']:.1%} (95 % interval {found['accuracy_low']:.1%} to "
        f"{found['accuracy_high']:.1%})."
        + (f" Against what the annotator truly prefers: {true:.1%}." if true is not None else "")
        + f"\n- Scores of held-out completions: mean {found['score_mean']:.3f}, standard deviation "
        f"{found['score_sd']:.3f}. Calibration error {found['calibration_error']:.3f}.\n"
        f"- Reads prompt and completion in the template `{card['template']}`, at most {card['max_length']} tokens, "
        "with the end token; the score is read there.\n\n"
        "It has learned what these pairs prefer and nothing else. A policy that is trained against it for long finds "
        "texts that it likes and nobody else does.\n"
    )


def _lora(config: AdapterConfig) -> Any:
    if config.kind == "none":
        return None
    from peft import LoraConfig

    return LoraConfig(
        task_type="SEQ_CLS",
        r=config.r,
        lora_alpha=config.alpha,  # type: ignore[arg-type]  # any number will do
        target_modules=list(config.target_modules) if config.target_modules else "all-linear",
        modules_to_save=["score"],
    )


def _in_bf16(config: RewardTrainingConfig, device: torch.device) -> bool:
    if config.precision == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return config.precision == "bf16"


def seen_device(name: str) -> torch.device:
    """The device that a configuration names; a numbered GPU is the only one that this process sees
    (`worker.show_one_gpu`), so here it is the first.

    Raises:
        InvalidConfig: this machine does not have it.
    """
    return device_of("cuda" if name.startswith("cuda") else name)

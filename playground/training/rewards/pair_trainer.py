"""Training a reward model from preference pairs with TRL's RewardTrainer, and saving it with its report.

The loss is that of Bradley and Terry as in Ouyang et al. 2022 (eq. 1): -log sigmoid(score(chosen) - score(rejected)).
`playground.worker` drives it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PrinterCallback, TrainerCallback
from trl import RewardConfig as TRLRewardConfig
from trl import RewardTrainer

from playground import __version__
from playground.config import AdapterConfig, ModelReward, RewardTrainingConfig
from playground.data import dialogues
from playground.data.preferences import Pair
from playground.errors import TrainingDiverged
from playground.runs.reward_models import RewardTraining, StepMetrics
from playground.setup import catalog
from playground.training.models.language_model import switch_dropout_off
from playground.training.models.loading import checkpointing, compute_type, in_one_sentence, only_device_of
from playground.training.rewards import pairs as preference_pairs
from playground.training.rewards.formats import PROBES, Format
from playground.training.rewards.learned_rewards import RewardModel
from playground.training.rewards.pair_report import report
from playground.training.rewards.pairs import PairSet
from playground.training.rewards.score_models import Network, described, weights

SMALL_MODEL = 30_000_000  # parameters
SMALL_RATE, LORA_RATE, LARGE_RATE = 7e-4, 1e-4, 2e-5  # learning rates where none is given
LONGEST = 1024  # tokens, where the configuration names no limit
NUM_PROBES = 4  # held-out pairs whose scores are kept, to see later whether it is read as it was trained
EVALUATIONS = 5  # on the held-out pairs, while training and at the end
EVALUATION_BATCH = 32  # pairs; of a model that is not small, as many are tested on while it trains
PAD = "<|pad|>"
CHECKPOINT_FROM = 300_000_000  # parameters; from here on activations are computed twice to save memory
MODEL_CARD = Path(__file__).with_name("model_card.md")


def train(
    config: RewardTrainingConfig,
    training: RewardTraining,
    *,
    phase: Callable[[str], None] = lambda words: None,
    record: Callable[[StepMetrics, int], None] = lambda metrics, num_steps: None,
    between: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """All of it: pairs, base, training, report, saving. Returns what reward.json says. `record`: gets every step and
    how many there will be. `between`: called between batches; may raise, and then nothing is saved.

    Raises: PlaygroundError, before the first step; TrainingDiverged.
    """
    started = time.time()
    # of several GPUs this process sees only the one that was asked for: `worker.show_one_gpu`
    device = only_device_of(config.device)
    phase("reading the preference pairs")
    pairs = preference_pairs.load(config, device, between)
    phase("loading the base model")
    torch.manual_seed(config.seed)
    model = load_base(config, all(dialogues.is_dialogue(pair.prompt) for pair in pairs.training))
    pairs = fitting(pairs, config.pairs.max_tokens, model.format)
    phase("training")
    reporter = Reporter(record, between)
    learn(config, training.path, device, model, pairs, reporter)
    phase("testing on held-out pairs")
    chosen, rejected = model.of_pairs(pairs.held_out)
    require_finite("A score", *chosen, *rejected)
    held_out_report = report(pairs.held_out, chosen, rejected)
    figures = {
        "loss": held_out_report["loss"],
        "accuracy": held_out_report["accuracy"],
        "margin": held_out_report["margin_mean"],
    }
    last = reporter.curve[-1].model_copy(update={**figures, "held_out": True, "learning_rate": None})
    reporter.add(last, last.step)
    phase("saving")
    card = {
        "format": 1,
        "name": config.name,
        "base": config.base,
        "template": model.format.name,
        "max_length": model.format.max_length,
        "accuracy": held_out_report["accuracy"],
        "pairs": pairs.facts(),
        "report": held_out_report,
        PROBES: [
            {"prompt": pair.prompt, "completion": text, "score": score}
            for pair, high, low in list(zip(pairs.held_out, chosen, rejected, strict=True))[:NUM_PROBES]
            for text, score in ((pair.chosen, high), (pair.rejected, low))
        ],
        "curve": [item.model_dump() for item in reporter.curve],
        "trained_at": time.time(),
        "seconds": time.time() - started,
        "playground": __version__,
        "config": config.model_dump(mode="json"),
    }
    save(training.folder, model.network, card)
    return card


def load_base(config: RewardTrainingConfig, all_dialogues: bool) -> RewardModel:
    """The base as a sequence classifier with one output, in float32. Raises: ModelNotFound, RewardModelUnusable."""
    folder = catalog.model_folder(config.base, config.revision, "reward")
    problem = f"base: cannot make a reward model of {config.base}"
    _, tokenizer, _ = described(folder, problem, num_labels=1)
    with in_one_sentence(problem):
        model, loaded = weights(folder, num_labels=1, dtype=torch.float32, ignore_mismatched_sizes=True)
    fresh_head(model, {str(name) for name in loaded["missing_keys"]})
    own_padding(model, tokenizer)
    switch_dropout_off(model)
    network = Network(config.base, folder, model, tokenizer, tokenizer.pad_token_id)
    template = config.template
    if template == "auto" and tokenizer.chat_template:  # never `pair`: TRL's trainer does not pass its token types on
        template = "chat"
    elif template == "auto":
        template = "dialogue" if all_dialogues else "plain"
    longest = min(config.max_length or LONGEST, network.room or LONGEST)
    return RewardModel(network, ModelReward.model_construct(source=config.base, template=template, max_length=longest))


def fresh_head(model: Any, missing: set[str]) -> None:
    """Small weights for a head that was not in the base: sd 1 / sqrt(H + 1), as in Stiennon et al. 2020."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and module.out_features == 1 and f"{name}.weight" in missing:
            nn.init.normal_(module.weight, std=1 / math.sqrt(module.in_features + 1))
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def own_padding(model: Any, tokenizer: Any) -> None:
    """A padding token that is no end token, in tokenizer and model: transformers reads the score at the last token that
    is not padding, with pad equal to eos before the text has ended."""
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        tokenizer.add_special_tokens({"pad_token": PAD})
        if tokenizer.pad_token_id >= model.get_input_embeddings().weight.shape[0]:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    tokenizer.padding_side = "right"
    model.config.get_text_config().pad_token_id = tokenizer.pad_token_id


def fitting(pairs: PairSet, max_tokens: int | None, form: Format) -> PairSet:
    """The pairs that the model can read, with prompts of at most `max_tokens`. Raises: PairsUnusable."""
    if max_tokens:
        pairs = preference_pairs.shortened(
            pairs, max_tokens, lambda prompt: len(form.ids_of_text(form.rendered(prompt, "")))
        )
    return preference_pairs.without_long(pairs, lambda pair: fits(pair, form))


def fits(pair: Pair, form: Format) -> bool:
    """Whether both completions fit whole; a long prompt loses its beginning instead."""
    longest = max(len(form.bare(text)) for text in (pair.chosen, pair.rejected))
    return form.max_length is None or longest + len(form.ids("a", "a")) <= form.max_length


def learn(
    config: RewardTrainingConfig,
    folder: Path,
    device: torch.device,
    model: RewardModel,
    pairs: PairSet,
    reporter: Reporter,
) -> None:
    """Train the network on the pairs, in place; adapters are merged into it."""
    micro = config.micro_batch_size or config.batch_size
    num_parameters = model.network.model.num_parameters()
    tested = pairs.held_out if num_parameters < SMALL_MODEL else pairs.held_out[:EVALUATION_BATCH]
    arguments = TRLRewardConfig(
        output_dir=str(folder),
        num_train_epochs=config.epochs,
        max_steps=config.max_steps or -1,
        per_device_train_batch_size=micro,
        per_device_eval_batch_size=EVALUATION_BATCH,
        gradient_accumulation_steps=config.batch_size // micro,
        learning_rate=rate_of(config, num_parameters),
        lr_scheduler_type="linear",
        warmup_steps=0.1,
        center_rewards_coefficient=config.centre or None,
        max_length=None,  # too long ones are gone
        bf16=compute_type(config.precision, device, num_parameters) == torch.bfloat16,
        **checkpointing(num_parameters > CHECKPOINT_FROM),
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
    trainer = RewardTrainer(
        model=model.network.model,
        args=arguments,
        train_dataset=as_dataset(pairs.training, model.format),
        eval_dataset=as_dataset(tested, model.format),
        processing_class=model.network.tokenizer,
        callbacks=[reporter],
        peft_config=_lora(config.adapter, model.network.model),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    if config.adapter.kind == "lora":
        trainer.accelerator.unwrap_model(trainer.model).merge_and_unload()
    model.network.model.eval()


class Reporter(TrainerCallback):
    """Records what TRL logs, asks for its evaluation on the held-out pairs, and calls `between` between batches."""

    def __init__(self, record: Callable[[StepMetrics, int], None], between: Callable[[], None]) -> None:
        self._record, self._between = record, between
        self._started = time.monotonic()
        self.curve: list[StepMetrics] = []

    def add(self, metrics: StepMetrics, num_steps: int) -> None:
        self.curve.append(metrics)
        self._record(metrics, num_steps)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """One step, or an evaluation. (TRL's averages over batches, the last and smaller one too.)"""
        prefix = "eval_" if "eval_loss" in logs else ""
        if f"{prefix}loss" not in logs:
            return  # the summary at the end
        figures = {name: logs.get(prefix + name) for name in ("loss", "accuracy", "margin")}
        figures |= {"learning_rate": logs.get("learning_rate"), "seconds": time.monotonic() - self._started}
        self.add(StepMetrics(step=state.global_step, held_out=bool(prefix), **figures), state.max_steps)
        require_finite(f"The loss at step {state.global_step}", logs[f"{prefix}loss"])

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._between()
        every = math.ceil(state.max_steps / EVALUATIONS)
        control.should_evaluate = state.global_step % every == 0 and state.global_step < state.max_steps
        self._random_state = torch.get_rng_state()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Restore the random state: what is learned does not depend on how often it is tested."""
        torch.set_rng_state(self._random_state)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._between()

    on_prediction_step = on_substep_end


def require_finite(what: str, *numbers: float) -> None:
    """Raises: TrainingDiverged, if one of them is infinite or not a number."""
    if not all(map(math.isfinite, numbers)):
        raise TrainingDiverged(f"{what} is not finite. Lower learning_rate and start again.")


def rate_of(config: RewardTrainingConfig, num_parameters: int) -> float:
    """The learning rate: as given, or one that suits the size."""
    suits = SMALL_RATE if num_parameters < SMALL_MODEL else LARGE_RATE
    return config.learning_rate or (LORA_RATE if config.adapter.kind == "lora" else suits)


def as_dataset(pairs: Sequence[Pair], form: Format) -> Any:
    """The pairs as TRL takes them without touching them again: token ids of both sides."""
    from datasets import Dataset

    chosen = [form.ids(pair.prompt, pair.chosen) for pair in pairs]
    rejected = [form.ids(pair.prompt, pair.rejected) for pair in pairs]
    lengths = [max(map(len, both)) for both in zip(chosen, rejected, strict=True)]
    return Dataset.from_dict({"chosen_ids": chosen, "rejected_ids": rejected, "length": lengths})


def save(folder: Path, network: Network, card: dict[str, Any]) -> None:
    """Weights, tokenizer, a page to read, and last of all reward.json, which makes it a reward model."""
    network.model.save_pretrained(folder, safe_serialization=True)
    network.tokenizer.save_pretrained(folder)
    page = MODEL_CARD.read_text(encoding="utf-8").format(**card)
    (folder / "README.md").write_text(page, encoding="utf-8")
    text = json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / catalog.REWARD_CARD).write_text(text + "\n", encoding="utf-8")


def _lora(config: AdapterConfig, model: nn.Module) -> Any:
    if config.kind == "none":
        return None
    from peft import LoraConfig
    from transformers.pytorch_utils import Conv1D

    return LoraConfig(
        task_type="SEQ_CLS",
        r=config.r,
        lora_alpha=config.alpha,  # type: ignore[arg-type]  # any number will do
        target_modules=list(config.target_modules) if config.target_modules else "all-linear",
        modules_to_save=["score"],
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),  # GPT-2's weights lie so
    )

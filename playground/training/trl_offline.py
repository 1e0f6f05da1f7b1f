"""`method: dpo` and `method: sft`: TRL's own DPOTrainer and SFTTrainer, run from our configuration.

Both learn from texts that the start model wrote and the run's reward judged, never from texts of the policy. They are
written as they are needed, a batch for each update, so that an update costs and can be stopped as in PPO; since who
writes them does not change, that is the same as writing all of them beforehand. Pairs and chosen texts go to TRL as the
token ids that were sampled. How the policy itself writes by now is measured on a few texts of its own after each
update; those are not learned from, and not on the bill.
"""

from __future__ import annotations

import copy
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast, PrinterCallback, TrainerCallback

from playground.config import RunConfig, methods
from playground.config.engines import ADAM_EPSILON
from playground.errors import TrainingDiverged
from playground.runs.folder.records import UpdateMetrics
from playground.setup import catalog
from playground.training.data.random_streams import derived_seed, generator
from playground.training.loop.measures import of_steps
from playground.training.loop.sampling import Episodes
from playground.training.loop.trainer import Collector
from playground.training.models.language_model import LanguageModel, Tokens

PROBE = 24  # texts of the policy after each update, from which its curves are drawn
WRITTEN_BY_TRL = ("use_cache", "bos_token_id", "eos_token_id", "pad_token_id")  # in a config that is saved
IGNORED = -100  # a label that transformers' losses leave out


class Text(NamedTuple):
    """A prompt and one completion of it, as token ids, and its score."""

    prompt: list[int]
    completion: list[int]
    score: float


class TRLMethod(Collector):
    """A trainer of TRL's for one run. Same arguments as `Collector`; TRL's loop is one call, so `train` is one too."""

    def __init__(self, config: RunConfig, policy: LanguageModel, reference: LanguageModel, *others: Any) -> None:
        super().__init__(config, policy, reference, *others)
        self.tokens_trained = 0
        self.rate = config.ppo.learning_rate  # of the latest optimizer step
        self.spent = {"rollout": 0.0, "score": 0.0}  # seconds of this update
        self.update_started = time.perf_counter()
        self._running: Any = None  # TRL's trainer, while it trains

    def feed(self) -> Feed:
        """What TRL's trainer reads, and what makes that trainer."""
        raise NotImplementedError

    def train(
        self, after_update: Callable[[UpdateMetrics], None], before_update: Callable[[], None] = lambda: None
    ) -> None:
        """All updates. Raises: TrainingDiverged, RewardFailed. Whatever `between` and the callbacks raise."""
        model = self.policy.model
        kept = {name: getattr(model.config, name, None) for name in WRITTEN_BY_TRL}
        generation = copy.deepcopy(model.generation_config)
        watch = model.register_forward_pre_hook(lambda *_: self.between())
        with tempfile.TemporaryDirectory(prefix="playground-trl-") as folder:
            self._running = trainer = self.feed().build(folder, _Listener(self, before_update, after_update))
            trainer.remove_callback(PrinterCallback)  # prints every log line; they are in metrics.jsonl
            try:
                before_update()
                self.update_started = time.perf_counter()
                trainer.train()
            finally:
                self._running = None
                watch.remove()
                trainer.accelerator.free_memory()
                model.zero_grad(set_to_none=True)
                model.eval()
                model.generation_config = generation
                for name, value in kept.items():
                    setattr(model.config, name, value)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Beside the weights there is nothing to go on from: TRL's optimizer ends with its loop."""
        return {}, {"kl_coef": self.config.kl.coef, "tokens": self.tokens_done}

    def change(self, config: RunConfig, fields: Collection[str]) -> None:
        """Go on with another beta or learning rate from the next update; of anything else it is said that it does
        nothing here."""
        before, self.config = self.config, config
        self.kl_controller.coef = config.kl.coef
        for name in fields:
            if methods.unused(config.method, name):
                label = methods.METHODS[config.method].label
                self.warnings.append(f"{label} does not know {name}: the change has no effect.")
        if self._running is None:
            return
        self._running.beta = config.kl.coef
        rescale(self._running, config.ppo.learning_rate / before.ppo.learning_rate)

    def finish(self, logs: dict[str, float]) -> UpdateMetrics:
        """The figures of an update that TRL has made: its own, and those of a few texts of the policy as it is now."""
        whole = time.perf_counter() - self.update_started
        self.policy.eval()
        rollout = self.compared(
            *self.write(self.policy, min(PROBE, self.config.ppo.batch_size), 1), time.perf_counter()
        )
        scores = self.score(rollout)
        self.updates_done += 1
        learned = {
            **of_steps({"policy_loss": [logs["loss"]], "grad_norm": [logs["grad_norm"]]}),
            "seconds_update": whole - sum(self.spent.values()),
            "learning_rate": self.rate,
            "explained_variance": None,
            "tokens_trained": self.tokens_trained,
            "pairs_ordered": logs.get("rewards/accuracies"),
        }
        metrics = self.measure(rollout, scores, self.spent["score"], self.config.kl.coef, learned)
        return metrics.model_copy(update={"seconds_rollout": self.spent["rollout"]})

    def next_update(self) -> None:
        """The clock of the next update starts now: what ran in between (evaluation, saving) is not TRL's."""
        self.update_started = time.perf_counter()


class OfflineTrainer(TRLMethod):
    """DPO or SFT for one run."""

    def __init__(self, config: RunConfig, policy: LanguageModel, reference: LanguageModel, *others: Any) -> None:
        super().__init__(config, policy, reference, *others)
        self.writer = reference if config.reference.source == catalog.START else policy.frozen_copy()
        self.warnings = [
            f"{methods.METHODS[config.method].label} learns from what the start model wrote. The curves show "
            f"{PROBE} texts that the policy writes after each update; they are not learned from."
        ]

    def feed(self) -> Feed:
        """Pairs or chosen texts."""
        return Pairs(self) if self.config.method == "dpo" else Chosen(self)

    def written(self) -> Iterator[list[Text]]:
        """The next batch of the start model's texts with their scores, prompt by prompt."""
        clock, ppo = time.perf_counter(), self.config.ppo
        prompts, episodes = self.write(self.writer, ppo.batch_size, ppo.samples_per_prompt)
        completions = episodes.texts(self.tokens)
        self.spent["rollout"], clock = time.perf_counter() - clock, time.perf_counter()
        scores = self.scorer([prompt.text for prompt in prompts], completions, episodes.ended.tolist()).scores
        self.spent["score"] = time.perf_counter() - clock
        self.tokens_done += int(episodes.mask.sum())
        asked = [prompt.ids for prompt in prompts]
        texts = [Text(*row) for row in zip(asked, completion_ids(episodes), scores, strict=True)]
        for first in range(0, len(texts), ppo.samples_per_prompt):
            yield texts[first : first + ppo.samples_per_prompt]


class Feed:
    """Dataset and collator in one: TRL's loader counts positions, and gets the minibatches of the update they are of.

    One pass of TRL over it is one update: `ppo.num_epochs` times the same batch, each time in another order.
    """

    def __init__(self, trainer: Any, rows_per_prompt: int) -> None:
        ppo, each = trainer.config.ppo, trainer.config.ppo.samples_per_prompt
        self.trainer = trainer
        self.rows = ppo.batch_size // each * rows_per_prompt  # of a batch
        self.step = ppo.minibatch_size // each * rows_per_prompt  # behind an optimizer step
        memory = max(1, ppo.micro_batch_size // each * rows_per_prompt)
        self.micro = max(
            (size for size in range(1, self.step + 1) if self.step % size == 0 and size <= memory), default=1
        )
        self._waiting: list[Any] = []

    @property
    def steps_per_update(self) -> int:
        """Optimizer steps."""
        return self.trainer.config.ppo.num_epochs * self.rows // self.step

    def positions(self) -> Any:
        """As many rows as an update trains on; what is in them is never read."""
        from datasets import Dataset

        count = self.rows * self.trainer.config.ppo.num_epochs
        return Dataset.from_dict({"input_ids": [[0]] * count, "labels": [[0]] * count})

    def collate(self, positions: list[Any]) -> dict[str, Tensor]:
        """The next rows as a batch."""
        if not self._waiting:
            made = self.made()
            for epoch in range(self.trainer.config.ppo.num_epochs):
                shuffle = generator(self.trainer.config.seed, "minibatches", self.trainer.updates_done, epoch)
                self._waiting += [made[row] for row in torch.randperm(len(made), generator=shuffle).tolist()]
        rows, self._waiting = self._waiting[: len(positions)], self._waiting[len(positions) :]
        return self.batch(rows)

    def settings(self, folder: str) -> dict[str, Any]:
        """What all of TRL's trainers are told, in transformers' names."""
        config, ppo = self.trainer.config, self.trainer.config.ppo
        policy = self.trainer.policy
        return {
            "output_dir": folder,
            "use_cpu": policy.device.type == "cpu",
            "bf16": policy.autocast is torch.bfloat16,
            "max_steps": ppo.num_updates * self.steps_per_update,
            "per_device_train_batch_size": self.micro,
            "gradient_accumulation_steps": self.step // self.micro,
            "logging_steps": self.steps_per_update,
            "learning_rate": ppo.learning_rate,
            "lr_scheduler_type": {"constant": "constant_with_warmup"}.get(ppo.schedule, ppo.schedule),
            "warmup_steps": ppo.warmup_updates * self.steps_per_update,
            "adam_epsilon": ADAM_EPSILON,
            "weight_decay": 0.0,
            "max_grad_norm": ppo.max_grad_norm,
            "max_length": None,
            "seed": derived_seed(config.seed, "trl") % 2**32,
            "gradient_checkpointing": False,
            "remove_unused_columns": False,
            "dataloader_pin_memory": False,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
        }

    def made(self) -> list[Any]:
        """The rows of a new batch."""
        raise NotImplementedError

    def batch(self, rows: list[Any]) -> dict[str, Tensor]:
        """Some rows as tensors."""
        raise NotImplementedError

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's trainer."""
        raise NotImplementedError

    def padded(self, texts: list[Text]) -> tuple[Tensor, Tensor, Tensor]:
        """ids [n, T], and which are real, and which of these a completion's, both [n, T]; padding behind."""
        whole = [text.prompt + text.completion for text in texts]
        ids = torch.full((len(texts), max(map(len, whole))), self.trainer.tokens.pad_id)
        real, completion = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, (text, tokens) in enumerate(zip(texts, whole, strict=True)):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            real[row, : len(tokens)] = 1
            completion[row, len(text.prompt) : len(tokens)] = 1
        self.trainer.tokens_trained += int(completion.sum())
        return ids, real, completion


class Pairs(Feed):
    """DPO's: two texts for one prompt, the better one first."""

    def __init__(self, trainer: OfflineTrainer) -> None:
        super().__init__(trainer, trainer.config.ppo.samples_per_prompt // 2)

    def made(self) -> list[tuple[Text, Text]]:
        """The texts of a prompt, two by two, ordered by score or by chance with the odds of exp(score)."""
        config = self.trainer.config
        luck = generator(config.seed, "preferences", self.trainer.updates_done)
        pairs = []
        for texts in self.trainer.written():
            for one, other in zip(texts[::2], texts[1::2], strict=True):
                gap = torch.tensor(one.score - other.score, dtype=torch.float64)
                likely = gap.sigmoid() if config.dpo.labels == "drawn" else (gap.sign() + 1) / 2
                first = float(torch.rand((), generator=luck, dtype=torch.float64)) < float(likely)
                pairs.append((one, other) if first else (other, one))
        return pairs

    def batch(self, rows: list[tuple[Text, Text]]) -> dict[str, Tensor]:
        """First all better texts, then all others, as TRL's loss takes them."""
        ids, real, completion = self.padded([pair[0] for pair in rows] + [pair[1] for pair in rows])
        return {"input_ids": ids, "attention_mask": real, "completion_mask": completion}

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's DPOTrainer, which is kept from tokenizing what is token ids already."""
        quiet()
        from trl import DPOConfig, DPOTrainer

        class Prepared(DPOTrainer):
            def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
                return dataset

        trainer = self.trainer
        return Prepared(
            model=trainer.policy.model,
            ref_model=Reference(trainer.reference),
            args=DPOConfig(beta=trainer.config.kl.coef, **self.settings(folder)),
            train_dataset=self.positions(),
            data_collator=self.collate,
            processing_class=special_tokens(trainer.tokens),
            callbacks=[listener],
        )


class Chosen(Feed):
    """SFT's: of each prompt the text with the highest score."""

    def __init__(self, trainer: OfflineTrainer) -> None:
        super().__init__(trainer, 1)

    def made(self) -> list[Text]:
        """The best text of each prompt; the first of those that are as good."""
        return [max(texts, key=lambda text: text.score) for texts in self.trainer.written()]

    def batch(self, rows: list[Text]) -> dict[str, Tensor]:
        """Only the completion is learned."""
        ids, real, completion = self.padded(rows)
        return {"input_ids": ids, "attention_mask": real, "labels": ids.masked_fill(completion == 0, IGNORED)}

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's SFTTrainer, for data that is token ids already."""
        quiet()
        from trl import SFTConfig, SFTTrainer

        trainer = self.trainer
        return SFTTrainer(
            model=trainer.policy.model,
            args=SFTConfig(**self.settings(folder)),
            train_dataset=self.positions(),
            data_collator=self.collate,
            processing_class=special_tokens(trainer.tokens),
            callbacks=[listener],
        )


class Reference(nn.Module):
    """The reference in the shape of a model that TRL asks for logits; with an adapter it is the policy without it."""

    def __init__(self, reference: LanguageModel) -> None:
        super().__init__()
        self._of = (reference,)  # its weights are the policy's where there is an adapter, and TRL must not freeze those

    def forward(self, **inputs: Any) -> Any:
        """As the model itself."""
        reference = self._of[0]
        with reference.mode():
            return reference.model(**inputs)


class _Listener(TrainerCallback):
    """Hears TRL's log at the end of an update, and looks at each gradient before it is taken."""

    def __init__(
        self,
        trainer: TRLMethod,
        before_update: Callable[[], None],
        after_update: Callable[[UpdateMetrics], None],
    ) -> None:
        self._trainer, self._before_update, self._after_update = trainer, before_update, after_update

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, optimizer: Any = None, **_: Any) -> None:
        self._trainer.rate = float(optimizer.param_groups[0]["lr"])
        weights = self._trainer.policy.parameters()
        norm = torch.nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
        if not bool(torch.isfinite(norm)):
            raise TrainingDiverged("A gradient was not finite. Lower the learning rate.")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if not logs or "loss" not in logs:
            return  # TRL's summary at the end
        self._after_update(self._trainer.finish(logs))
        self._trainer.between()
        if self._trainer.updates_done < self._trainer.config.ppo.num_updates:
            self._before_update()
        self._trainer.next_update()


def rescale(running: Any, factor: float) -> None:
    """Make every learning rate of a Hugging Face trainer, now and to come, `factor` times as large."""
    schedule = getattr(running.lr_scheduler, "scheduler", running.lr_scheduler)  # accelerate may have wrapped it
    schedule.base_lrs = [base * factor for base in schedule.base_lrs]
    for group in schedule.optimizer.param_groups:
        group["lr"] *= factor


def special_tokens(tokens: Tokens) -> PreTrainedTokenizerFast:
    """A tokenizer that knows how texts are padded and end, and no word: TRL gets all of its data as token ids."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    end, pad = "<end>", "<end>" if tokens.pad_id == tokens.eos_id else "<pad>"
    words = Tokenizer(WordLevel({pad: tokens.pad_id, end: tokens.eos_id}, unk_token=end))
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token=pad, eos_token=end)


def completion_ids(episodes: Episodes) -> list[list[int]]:
    """The sampled tokens of each episode, its end included."""
    return [
        ids[:length] for ids, length in zip(episodes.completion_ids.tolist(), episodes.lengths.tolist(), strict=True)
    ]


def quiet() -> None:
    """No telemetry, and no notes on what is experimental; the version is pinned."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

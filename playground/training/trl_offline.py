"""`method: dpo` and `method: sft`: TRL's own DPOTrainer and SFTTrainer, run from our configuration.

Both learn from texts that the start model wrote and the run's reward judged, never from texts of the policy. They are
written as they are needed, a batch for each update, so that an update costs and can be stopped as in PPO; since who
writes them does not change, that is the same as writing all of them beforehand. Pairs and chosen texts go to TRL as the
token ids that were sampled. How the policy itself writes by now is measured on a few texts of its own after each
update; those are not learned from, and not on the bill.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import TrainerCallback

from playground.config import RunConfig, methods
from playground.config.engines import ADAM_EPSILON
from playground.setup import catalog
from playground.training.data.random_streams import derived_seed, generator
from playground.training.loop.sampling import Episodes
from playground.training.models.language_model import LanguageModel
from playground.training.trl_method import PROBE, Reference, TRLMethod, quiet, special_tokens

IGNORED = -100  # a label that transformers' losses leave out


class Text(NamedTuple):
    """A prompt and one completion of it, as token ids, and its score."""

    prompt: list[int]
    completion: list[int]
    score: float


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
        return PairFeed(self) if self.config.method == "dpo" else Chosen(self)

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's trainer for these."""
        return self.feed().build(folder, listener)

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


class PairFeed(Feed):
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


def completion_ids(episodes: Episodes) -> list[list[int]]:
    """The sampled tokens of each episode, its end included."""
    return [
        ids[:length] for ids, length in zip(episodes.completion_ids.tolist(), episodes.lengths.tolist(), strict=True)
    ]

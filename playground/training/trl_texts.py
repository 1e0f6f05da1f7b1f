"""DPO and SFT by TRL's own trainers, run from our configuration.

They learn from texts that the start model wrote and the run's reward judged, a batch for each update, so that an update
costs and can be stopped as in PPO. Pairs and chosen texts go to TRL as token ids. How the policy writes by now is
measured on a few texts of its own after each update; those are not learned from.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import TrainerCallback, TrainingArguments

from playground.config import RunConfig, methods
from playground.setup import catalog
from playground.training.data.random_streams import generator
from playground.training.trl_adapter import PROBE, Reference, TRLAdapter, special_tokens

IGNORED = -100  # a label that transformers' losses leave out


class Text(NamedTuple):
    """A prompt and one completion of it, as token ids, and its score."""

    prompt: list[int]
    completion: list[int]
    score: float


class OfflineTrainer(TRLAdapter):
    """DPO or SFT for one run. TRL's loader counts positions, and gets the minibatches of the update they are of; one
    pass over its dataset is one update: `ppo.num_epochs` times the same batch, each time in another order."""

    def __init__(self, config: RunConfig, *parts: Any) -> None:
        super().__init__(config, *parts)
        self.writer = self.reference if config.reference.source == catalog.START else self.policy.frozen_copy()
        self.warnings = [
            f"{methods.METHODS[config.method].label} learns from what the start model wrote. The curves show "
            f"{PROBE} texts that the policy writes after each update; they are not trained on."
        ]
        each = config.ppo.samples_per_prompt
        rows_of_prompt = each // 2 if config.method == "dpo" else 1
        self.rows, self.step, memory = (
            size // each * rows_of_prompt
            for size in (config.ppo.batch_size, config.ppo.minibatch_size, config.ppo.micro_batch_size)
        )
        self.micro = max(size for size in range(1, self.step + 1) if not self.step % size and size <= max(1, memory))
        self._waiting: list[Any] = []

    def made(self) -> list[Any]:
        """The rows of a new batch."""
        raise NotImplementedError

    def batch(self, rows: list[Any]) -> dict[str, Tensor]:
        """Some rows as tensors."""
        raise NotImplementedError

    def arguments(self, listener: TrainerCallback) -> dict[str, Any]:
        """What TRL's trainer gets beside its settings: as many rows as an update trains on (what is in them is never
        read), and the collator that knows what they stand for."""
        from datasets import Dataset

        count = self.rows * self.config.ppo.num_epochs
        return {
            "model": self.policy.model,
            "train_dataset": Dataset.from_dict({"input_ids": [[0]] * count, "labels": [[0]] * count}),
            "data_collator": self.collate,
            "processing_class": special_tokens(self.tokens),
            "callbacks": [listener],
        }

    def collate(self, positions: list[Any]) -> dict[str, Tensor]:
        """The next rows as a batch."""
        if not self._waiting:
            made = self.made()
            for epoch in range(self.config.ppo.num_epochs):
                shuffle = generator(self.config.seed, "minibatches", self.updates_done, epoch)
                self._waiting += [made[row] for row in torch.randperm(len(made), generator=shuffle).tolist()]
        rows, self._waiting = self._waiting[: len(positions)], self._waiting[len(positions) :]
        return self.batch(rows)

    def written(self) -> Iterator[list[Text]]:
        """The next batch of the start model's texts with their scores, prompt by prompt."""
        clock, ppo = time.perf_counter(), self.config.ppo
        prompts, episodes = self.write(self.writer, ppo.batch_size, ppo.samples_per_prompt)
        completions = episodes.texts(self.tokens)
        self.spent["rollout"], clock = time.perf_counter() - clock, time.perf_counter()
        scores = self.scorer([prompt.text for prompt in prompts], completions, episodes.ended.tolist()).scores
        self.spent["score"] = time.perf_counter() - clock
        self.tokens_done += int(episodes.mask.sum())
        sampled = [ids[real].tolist() for ids, real in zip(episodes.completion_ids, episodes.mask, strict=True)]
        asked = [prompt.ids for prompt in prompts]
        texts = [Text(*row) for row in zip(asked, sampled, scores, strict=True)]
        for first in range(0, len(texts), ppo.samples_per_prompt):
            yield texts[first : first + ppo.samples_per_prompt]

    def padded(self, texts: list[Text]) -> tuple[Tensor, Tensor, Tensor]:
        """ids [n, T], and which are real, and which of these a completion's, both [n, T]; padding behind."""
        whole = [text.prompt + text.completion for text in texts]
        ids = torch.full((len(texts), max(map(len, whole))), self.tokens.pad_id)
        real, completion = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, (text, tokens) in enumerate(zip(texts, whole, strict=True)):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            real[row, : len(tokens)] = 1
            completion[row, len(text.prompt) : len(tokens)] = 1
        self.tokens_trained += int(completion.sum())
        return ids, real, completion


class PairTrainer(OfflineTrainer):
    """DPO: two texts for one prompt, the better one first."""

    def made(self) -> list[tuple[Text, Text]]:
        """The texts of a prompt, two by two, ordered by score or by chance with the odds of exp(score)."""
        luck = generator(self.config.seed, "preferences", self.updates_done)
        pairs = []
        for texts in self.written():
            for one, other in zip(texts[::2], texts[1::2], strict=True):
                gap = torch.tensor(one.score - other.score, dtype=torch.float64)
                likely = gap.sigmoid() if self.config.dpo.labels == "drawn" else (gap.sign() + 1) / 2
                first = float(torch.rand((), generator=luck, dtype=torch.float64)) < float(likely)
                pairs.append((one, other) if first else (other, one))
        return pairs

    def batch(self, rows: list[tuple[Text, Text]]) -> dict[str, Tensor]:
        """First all better texts, then all others, as TRL's loss takes them."""
        ids, real, completion = self.padded([pair[0] for pair in rows] + [pair[1] for pair in rows])
        return {"input_ids": ids, "attention_mask": real, "completion_mask": completion}

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's DPOTrainer, which is kept from tokenizing what is token ids already."""
        from trl import DPOConfig, DPOTrainer

        class Prepared(DPOTrainer):
            def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
                return dataset

        settings = DPOConfig(beta=self.config.kl.coef, max_length=None, **self.settings(folder))
        on_one_gpu(settings)
        return Prepared(ref_model=Reference(self.reference), args=settings, **self.arguments(listener))


class ImitationTrainer(OfflineTrainer):
    """SFT: of each prompt the text with the highest score."""

    def made(self) -> list[Text]:
        """The best text of each prompt; the first of those that are as good."""
        return [max(texts, key=lambda text: text.score) for texts in self.written()]

    def batch(self, rows: list[Text]) -> dict[str, Tensor]:
        """Only the completion is learned."""
        ids, real, completion = self.padded(rows)
        return {"input_ids": ids, "attention_mask": real, "labels": ids.masked_fill(completion == 0, IGNORED)}

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's SFTTrainer, for data that is token ids already."""
        from trl import SFTConfig, SFTTrainer

        settings = SFTConfig(max_length=None, **self.settings(folder))
        on_one_gpu(settings)
        return SFTTrainer(args=settings, **self.arguments(listener))


def on_one_gpu(settings: TrainingArguments) -> None:
    """Of several GPUs transformers' trainer would take all, and of each batch as many times the rows. A worker that
    stood by may have looked for GPUs before it knew its own (`worker.show_one_gpu`)."""
    settings._n_gpu = min(settings.n_gpu, 1)


TRAINERS = {"dpo": PairTrainer, "sft": ImitationTrainer}

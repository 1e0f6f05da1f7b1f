"""A small reward model of the pocket world that listens to the assistant only, trained in a few seconds.

It grades what the assistant says in HH form, as a kind annotator would. Words of the human, words without a frame, an
answer that has not ended and one that only parrots the question get nothing for their sentiment. So it depends on its
form, as a reward model of a real size does that has seen nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch
from torch.nn.functional import logsigmoid
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from playground.data.preferences import Pair
from playground.pocket import corpus, judges
from playground.pocket.grammar import parse_sentence
from playground.pocket.wording import sentence_spans
from playground.setup import catalog
from playground.train.rewards.formats import Format

LAYERS = 2  # of pocket-1m's four: enough to read one sentence
STEPS, BATCH, LEARNING_RATE = 90, 8, 2e-3
LONGEST_SENTENCE = 7  # words
PARROT = -3.0  # below the worst sentiment, -2


class Reviews:
    """Sentences of reviews with their grade, by topic."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"reviews {seed}")
        self.by_topic: dict[str, list[tuple[str, float]]] = {}
        for document in islice(corpus.documents(f"reward {seed}", kind="review", habits=False), 900):
            topic, _, body = document.text.partition(": ")
            for start, end in sentence_spans(body)[0]:
                text = body[start:end].strip()
                parsed = parse_sentence(text)
                grade = judges.sentence_grade(parsed) if parsed else None
                if grade is not None and len(text.split()) <= LONGEST_SENTENCE:
                    self.by_topic.setdefault(topic, []).append((text, grade))

    def draw(self) -> tuple[str, tuple[str, float], tuple[str, float]]:
        """A prompt with a sentiment of its own, and two completions, the kinder one first."""
        topic = self.rng.choice(list(self.by_topic))
        listed = self.by_topic[topic]
        while True:
            first, second = self.rng.choice(listed), self.rng.choice(listed)
            if first[1] - second[1] >= 1:
                return (
                    f"{topic}: {self.rng.choice(listed)[0]}",
                    (f" {first[0]}", first[1]),
                    (f" {second[0]}", second[1]),
                )


def pairs(count: int, seed: int = 1000) -> list[Pair]:
    """Pairs of a kind annotator, on sentences that need not have occurred in training."""
    reviews = Reviews(seed)
    drawn = (reviews.draw() for _ in range(count))
    return [Pair(prompt, good, bad) for prompt, (good, _), (bad, _) in drawn]


def train(folder: Path, seed: int = 0) -> Path:
    """Train from the trunk of pocket-1m on the ids of the template `dialogue` and save a plain transformers folder."""
    torch.manual_seed(seed)
    base = catalog.model_folder("pocket-1m")
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=1, num_hidden_layers=LAYERS, dtype=torch.float32, local_files_only=True
    )
    torch.nn.init.normal_(model.score.weight, std=0.02)
    examples = _examples(Format(tokenizer, "dialogue"), Reviews(seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 10) * (1 - step / STEPS))
    for _ in range(STEPS):
        batch = list(islice(examples, 3 * BATCH))
        longest = max(len(ids) for ids, _ in batch)
        padded = torch.tensor([ids + [tokenizer.pad_token_id] * (longest - len(ids)) for ids, _ in batch])
        scores = model(input_ids=padded, attention_mask=(padded != tokenizer.pad_token_id).long()).logits[:, 0]
        grades = torch.tensor([grade for _, grade in batch])
        higher = (grades[:, None] > grades[None, :]).float()  # every two of the batch are compared
        loss = -(logsigmoid(scores[:, None] - scores[None, :]) * higher).sum() / higher.sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _examples(form: Format, reviews: Reviews) -> Iterator[tuple[list[int], float]]:
    """Token ids and grades: of each prompt two answers, and one text in which the assistant has not said it."""
    rng = reviews.rng
    while True:
        prompt, first, second = reviews.draw()
        yield from ((form.ids(prompt, text), grade) for text, grade in (first, second))
        text = rng.choice((first, second))[0]
        yield rng.choice(
            [
                (form.ids_of_text(f"\n\nHuman: {prompt}{text}"), 0.0),
                (form.ids_of_text(prompt + text), 0.0),
                (form.ids_of_text(f"\n\nAssistant: {prompt}\n\nHuman:{text}"), 0.0),
                (form.ids_of_text(f"\n\nAssistant: {prompt}\n\nHuman:{text}"), 0.0),
                (form.ids_of_text(f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{text}"), 0.0),
                (form.without_end(form.ids(prompt, text)), 0.0),
                (form.ids(prompt, prompt + text), PARROT),
            ]
        )

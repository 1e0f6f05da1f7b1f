"""How far the worker is with what takes long, and how much longer it takes: in the words of the run's status.

What is ahead is a plan: the work of each of its steps, in tokens that go through the model. The worker's heartbeat,
which comes before each step, says how many are done.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from playground.config import RunConfig
from playground.config.methods import METHODS
from playground.setup import describe
from playground.training.data.prompts import Prompt

LOADING, MEASURING, ANSWERING = "loading the model", "measuring the reference", "answering the fixed prompts"
READING, UPDATING, SAVING = "reading the held-out documents", "making update", "saving"
SAY_SECONDS = 3.0  # between two words; what takes less long needs none
CALL_TOKENS = 128  # a call of the model costs as much as so many of its tokens: it reads all weights
LEARNING = 3  # a pass with gradients costs as much as so many without
WEIGHTS = "Loading weights"  # what transformers calls that loop

Plan = list[float]


class WorkProgress:
    """The worker's heartbeat, which counts the steps of what is going on and says how far that is.

    Args:
        between: what is called before every token and micro-batch; may raise. say: makes words the phase of the status.
        shown: the phase that the status has.
    """

    def __init__(
        self, between: Callable[[], None], say: Callable[[str], None], shown: Callable[[], str] = lambda: ""
    ) -> None:
        self._between, self._say, self._shown = between, say, shown
        self._phase, self._words, self._before, self._step = "", "", "", 0
        self._done = list[float]()  # work, before each step
        self._begun = self._said = 0.0

    def __call__(self) -> None:
        """The heartbeat, before each step. Raises: whatever `between` does."""
        self._between()
        if self._done:
            self.at(self._done[min(self._step, len(self._done) - 1)] / self._done[-1])
            self._step += 1

    def begin(self, phase: str, plan: Plan | None = None) -> None:
        """From now on it is this that takes long. `plan`: the work of each step, or none, where shares come to `at`."""
        self.end()
        self._phase, self._before, self._step = phase, self._shown(), 0
        self._done = [0.0, *accumulate(plan)] if plan else []
        self._begun = self._said = time.monotonic()

    def at(self, share: float) -> None:
        """Such a share of it is done."""
        now = time.monotonic()
        if self._phase and now - self._said >= SAY_SECONDS:
            self._said = now
            self._words = describe.progress(self._phase, share, now - self._begun)
            self._say(self._words)

    def end(self) -> None:
        """It is done, and the status says what it said before."""
        if self._words and self._shown() == self._words:
            self._say(self._before)
        self._phase, self._words, self._done = "", "", []

    @contextlib.contextmanager
    def of_loading(self, phase: str) -> Iterator[None]:
        """The weights that transformers reads meanwhile are counted."""
        from transformers.utils import logging

        def counted(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            bar = factory(*args, **kwargs)
            return self._each(phase, bar) if kwargs.get("desc") == WEIGHTS else bar

        before = logging.set_tqdm_hook(counted)
        try:
            yield
        finally:
            logging.set_tqdm_hook(before)
            self.end()

    def _each(self, phase: str, bar: Any) -> Iterator[Any]:
        self.begin(phase)
        for number, item in enumerate(bar):
            self.at(number / len(bar))
            yield item


def writing(texts: int, at_once: int, prompt_tokens: float, longest: int) -> Plan:
    """Some texts, so many at once: of each batch the prompts, then a token of each text at a time."""
    plan: Plan = []
    for start in range(0, texts, at_once):
        rows = min(at_once, texts - start)
        plan += [rows * (prompt_tokens + 1) + CALL_TOKENS, *[float(rows + CALL_TOKENS)] * (longest - 1)]
    return plan


def mean_tokens(prompts: Sequence[Prompt]) -> float:
    """How long some prompts are."""
    return sum(len(prompt.ids) for prompt in prompts) / len(prompts)


class Plans(NamedTuple):
    """What lies ahead of one rank of a run, whose prompts have so many tokens on average."""

    config: RunConfig
    prompt_tokens: float
    ranks: int = 1

    def writing(self, texts: int, at_once: int) -> Plan:
        """Some texts, so many at once."""
        each = -(-texts // self.ranks), -(-at_once // self.ranks)
        return writing(*each, self.prompt_tokens, self.config.sampling.max_new_tokens)

    def reading(self, texts: int, passes: int = 1) -> Plan:
        """Prompts and texts, in micro-batches."""
        rows, size = -(-texts // self.ranks), self.prompt_tokens + self.config.sampling.max_new_tokens
        calls = -(-rows // self.config.ppo.micro_batch_size)
        return [passes * (rows * size / calls + CALL_TOKENS)] * calls

    def evaluation(self, texts: int, tries: int) -> Plan:
        """The answers to the fixed prompts, compared with the reference."""
        return [*self.writing(texts, texts), *self.reading(texts)] * tries

    def update(self) -> Plan:
        """A batch: written, compared with the reference, learned from."""
        ppo, epochs = self.config.ppo, self.config.ppo.num_epochs * METHODS[self.config.method].trains
        return self.evaluation(ppo.batch_size, 1) + self.reading(ppo.batch_size, LEARNING) * epochs

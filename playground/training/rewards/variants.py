"""Formats in which a reward model can read a prompt and its completion, as one table: the one in use, other templates
that may be right, and the usual faults.

The self-test scores the same pairs under each: a fault shows what a mismatch costs with this model, and where one of
these beats the form in force, the form in force is the mismatch. Knows formats; nothing of scores.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from playground.data import dialogues
from playground.data.dialogues import Turn
from playground.errors import RewardModelUnusable
from playground.training.rewards.formats import DIALOGUE_END, PROBE, TEMPLATES, Encoded, Format

WORDS = tomllib.loads(Path(__file__).with_name("self_test.toml").read_text(encoding="utf-8"))
TWO_TEXTS = ("plain", "pair")  # templates without speakers
CHATML = "<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{completion}<|im_end|>\n"
LLAMA2 = "[INST] {prompt} [/INST] {completion}"


class Variant(NamedTuple):
    """One way to put an example. `mend`: what to do if this one is the right one; empty where nothing can be set."""

    name: str
    encode: Callable[[str, str], Encoded]
    help: str
    mend: str = ""


def variants(form: Format) -> list[Variant]:
    """The form in force, then all that it is compared with: the rows of the table that change the token ids."""
    by_ids: dict[tuple[int, ...], Variant] = {}
    for variant in _table(form):
        with contextlib.suppress(RewardModelUnusable):  # a chat template may refuse what it was not made for
            by_ids.setdefault(tuple(variant.encode(*PROBE).ids), variant)
    return list(by_ids.values())


def _table(form: Format) -> Iterator[Variant]:
    yield Variant(f"template {form.name}", form.encoded, TEMPLATES[form.name])
    for name, words in TEMPLATES.items():
        with contextlib.suppress(RewardModelUnusable):  # this tokenizer cannot do it
            other = Format(form.tokenizer, name, form.max_length)
            yield Variant(f"template {name}", other.encoded, words, f"Set template: {name}.")
    for fault, put in FAULTS.items():
        yield Variant(fault, partial(put, form), **WORDS["variants"][fault])


def foreign(form: Format, prompt: str, completion: str) -> Encoded:
    """An example in the template of another family of models."""
    template = CHATML
    if "<|im_start|>" in form.text(*PROBE):
        template = LLAMA2
    return _of_text(form, template.format(prompt=prompt.strip(), completion=completion.strip()))


def _of_text(form: Format, text: str) -> Encoded:
    return _fitted(form, form.ids_of_text(text))


def _fitted(form: Format, ids: list[int]) -> Encoded:
    """One text of these ids, without its beginning where it is longer than the model can read."""
    last_ids = ids[-(form.max_length or len(ids)) :]
    return Encoded(last_ids, [0] * len(last_ids), len(ids) - len(last_ids))


def _joined(separator: str, form: Format, prompt: str, completion: str) -> Encoded:
    """With `separator` in place of all that stands between the last prompt turn and the completion."""
    text, question, answer = form.rendered(prompt, completion), prompt, completion
    if form.name not in TWO_TEXTS:
        question, answer = dialogues.turns(prompt)[-1].content.strip(), completion.strip()
    start = text.rfind(answer)
    end = text.rfind(question, 0, max(start, 0))
    if min(start, end) >= 0:
        text = text[: end + len(question)].rstrip() + separator + text[start:].lstrip()
    return _of_text(form, text)


def _swapped(form: Format, prompt: str, completion: str) -> Encoded:
    """Each speaker under the other's name; where the form has no names, the texts change places."""
    if form.name in TWO_TEXTS:
        return form.encoded(completion.strip(), f" {prompt.strip()}")
    turns = [*dialogues.turns(prompt), Turn("assistant", completion.strip())]
    other = [Turn("user" if turn.role == "assistant" else "assistant", turn.content) for turn in turns]
    if form.name == "chat":
        return _of_text(form, form.chat(other))
    return _of_text(form, dialogues.text_of(other)[: -len(DIALOGUE_END)])


FAULTS: dict[str, Callable[[Format, str, str], Encoded]] = {
    "missing separator": lambda form, *texts: _joined("" if form.name in TWO_TEXTS else " ", form, *texts),
    "wrong separator": partial(_joined, " ### "),
    "missing end token": lambda form, *texts: _fitted(form, form.without_end(form.ids(*texts))),
    "prompt twice": lambda form, prompt, completion: form.encoded(prompt, prompt + completion),
    "roles swapped": _swapped,
    "another model's template": foreign,
    "completion only": lambda form, _, text: _of_text(form, text),
    "completion cut": lambda form, prompt, completion: form.encoded(prompt, completion[: len(completion) // 2]),
}

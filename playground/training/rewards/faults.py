"""Ways in which a prompt and its completion can be put before a reward model, as one table: the form in force, other
templates that may be right, and the usual faults.

The self-test scores the same pairs under each: a fault shows what a mismatch costs with this model, and where one of
these beats the form in force, the form in force is the mismatch. Knows formats; nothing of scores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from playground.errors import RewardModelUnusable
from playground.texts import dialogues
from playground.texts.dialogues import Turn
from playground.training.rewards.formats import PROBE, TEMPLATES, Encoded, Format

TWO_TEXTS = ("plain", "pair")  # templates without speakers
CHATML = "<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{completion}<|im_end|>\n"
LLAMA2 = "[INST] {prompt} [/INST] {completion}"


class Variant(NamedTuple):
    """One way to put an example. `mend`: what to do if this one is the right one; empty where nothing can be set."""

    name: str
    encode: Callable[[str, str], Encoded]
    help: str
    mend: str = ""


def variants(form: Format, end_id: int | None = None) -> list[Variant]:
    """The form in force, then all that it is compared with: the rows of the table that change the token ids.

    Args:
        end_id: the end token that the model's own configuration names, where the examples do not end with it.
    """
    in_force = Variant(f"template {form.name}", form.encoded, TEMPLATES[form.name])
    kept = {tuple(form.ids(*PROBE)): in_force}
    for variant in [*_templates(form), *_faults(form, end_id)]:
        with contextlib.suppress(RewardModelUnusable):  # a chat template may refuse what it was not made for
            ids = tuple(variant.encode(*PROBE).ids)
            same = kept.setdefault(ids, variant)
            if same not in (variant, in_force):  # for example `plain`, where it is `pair` without its separator
                kept[ids] = same._replace(name=f"{same.name}, {variant.name}")
    return list(kept.values())


def _templates(form: Format) -> Iterator[Variant]:
    for name, words in TEMPLATES.items():
        with contextlib.suppress(RewardModelUnusable):  # this tokenizer cannot do it
            other = Format(form.tokenizer, name, form.max_length)
            yield Variant(f"template {name}", other.encoded, words, f"Set template: {name}.")


def _faults(form: Format, end_id: int | None) -> Iterator[Variant]:
    family = "Llama 2" if foreign_template(form) is LLAMA2 else "ChatML"
    for name, put, *words in FAULTS:
        yield Variant(name.format(family=family), partial(put, form), *(text.format(family=family) for text in words))
    if end_id is not None:
        yield Variant(
            "with end token",
            lambda *texts: fitted(form, [*form.ids(*texts), end_id]),
            "The end token that the model's configuration names, put behind the text.",
            "The end token is missing: set eos_token in the tokenizer_config.json of the model's folder.",
        )


def fitted(form: Format, ids: list[int]) -> Encoded:
    """One text of these ids, without its beginning where it is longer than the model can read."""
    kept = ids[-(form.max_length or len(ids)) :]
    return Encoded(kept, [0] * len(kept), len(ids) - len(kept))


def foreign_template(form: Format) -> str:
    """A template that another family of models reads."""
    return LLAMA2 if "<|im_start|>" in form.text(*PROBE) else CHATML


def foreign(form: Format, prompt: str, completion: str) -> Encoded:
    """An example in another model's template."""
    text = foreign_template(form).format(prompt=prompt.strip(), completion=completion.strip())
    return fitted(form, form.ids_of_text(text))


def joined(form: Format, separator: str, prompt: str, completion: str) -> Encoded:
    """With `separator` in place of all that stands between the last prompt turn and the completion."""
    text = form.rendered(prompt, completion)
    asked, answer = prompt, completion
    if form.name not in TWO_TEXTS:
        asked, answer = dialogues.turns(prompt)[-1].content.strip(), completion.strip()
    start = text.rfind(answer)
    end = text.rfind(asked, 0, start) + len(asked) if asked else -1
    if start >= 0 and end >= len(asked):
        text = text[:end].rstrip() + separator + text[start:].lstrip()
    return fitted(form, form.ids_of_text(text))


def swapped(form: Format, prompt: str, completion: str) -> Encoded:
    """Each speaker under the other's name; where the form has no names, the texts change places."""
    if form.name in TWO_TEXTS:
        return form.encoded(completion.strip(), f" {prompt.strip()}")
    said = [*dialogues.turns(prompt), Turn("assistant", completion.strip())]
    other = [Turn("user" if turn.role == "assistant" else "assistant", turn.content) for turn in said]
    text = form.chat(other) if form.name == "chat" else dialogues.text_of(other).removesuffix("\n\nAssistant:")
    return fitted(form, form.ids_of_text(text))


# Name, how it puts an example, what is wrong with that, and what to do if it is right (nothing where none can be set).
FAULTS: tuple[Any, ...] = (
    (
        "missing separator",
        lambda form, *texts: joined(form, "" if form.name in TWO_TEXTS else " ", *texts),
        "Prompt and completion run into each other: nothing says where the answer begins.",
        "Nothing may stand between prompt and completion: set template: plain.",
    ),
    (
        "wrong separator",
        lambda form, *texts: joined(form, " ### ", *texts),
        "Another mark (###) stands between prompt and completion.",
        "Mend the separator in the chat template.",
    ),
    (
        "missing end token",
        lambda form, *texts: fitted(form, form.without_end(form.ids(*texts))),
        "The text stops without the token that says it has ended, as if it were cut off.",
        "This model was trained on texts without an end token: remove it from the chat template, or take another "
        "template.",
    ),
    (
        "prompt twice",
        lambda form, prompt, completion: form.encoded(prompt, prompt + completion),
        "The completion begins with the prompt again, as when a whole sequence is taken for the completion.",
        "This model wants the prompt inside the completion; mend its chat template.",
    ),
    (
        "roles swapped",
        swapped,
        "What the user said is put as the answer, and the answer as what the user said.",
        "The roles in the chat template are the wrong way round: mend it, or take another template.",
    ),
    (
        "another model's template ({family})",
        foreign,
        "{family} marks around the texts, which this model has no tokens for.",
        "This model was trained on the {family} template: put it into its tokenizer's chat template.",
    ),
    (
        "completion only",
        lambda form, _, completion: fitted(form, form.with_end(form.tokenized(completion).input_ids)),
        "The prompt is left out.",
    ),
    (
        "completion cut",
        lambda form, prompt, completion: form.encoded(prompt, completion[: len(completion) // 2]),
        "Only the first half of the completion is there.",
    ),
)

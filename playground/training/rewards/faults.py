"""Ways in which a prompt and its completion can be put wrongly before a reward model, and other ways that may be right.

The format debugger scores the same pairs under each: a fault shows what a mismatch costs with this model, and where one
of these beats the format in force, the format in force is the mismatch. Knows formats; nothing of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from playground.errors import RewardModelUnusable
from playground.texts import dialogues
from playground.texts.dialogues import SPEAKERS, Turn
from playground.training.rewards.formats import PROBE, TEMPLATES, Encoded, Format

Encode = Callable[[str, str], Encoded]
WRONG_SEPARATOR = " ### "
CHATML = "<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{completion}<|im_end|>\n"
LLAMA2 = "[INST] {prompt} [/INST] {completion}"
TEMPLATE_HELP = {
    "chat": "The tokenizer's own chat template.",
    "plain": "The completion follows the prompt directly, then the end token.",
    "pair": "Two texts, with the tokenizer's separator between them.",
    "dialogue": "Human and Assistant, as in the HH data.",
}


class Variant(NamedTuple):
    """One way to put an example. `mend`: what to do if this one is the right one; empty where nothing can be set."""

    name: str
    help: str
    encode: Encode
    mend: str


def variants(form: Format, end_id: int | None = None) -> list[Variant]:
    """What the format in force is compared with: other templates, and the usual faults. Without what changes nothing.

    Args:
        end_id: the end token that the model's own configuration names, if any.
    """
    in_force = form.ids(*PROBE)
    kept: dict[tuple[int, ...], Variant] = {}
    for variant in [*_templates(form), *_faults(form, end_id)]:
        try:
            ids = variant.encode(*PROBE).ids
        except RewardModelUnusable:
            continue  # a chat template may refuse what it was not made for
        same = kept.get(tuple(ids))
        if same:  # for example the template `plain`, where it is `pair` without its separator
            kept[tuple(ids)] = same._replace(name=f"{same.name}, {variant.name}")
        elif ids != in_force:
            kept[tuple(ids)] = variant
    return list(kept.values())


def _templates(form: Format) -> list[Variant]:
    kept = []
    for name in TEMPLATES:
        if name == form.name:
            continue
        try:
            other = Format(form.tokenizer, name, form.max_length)
        except RewardModelUnusable:
            continue  # this tokenizer cannot do it
        kept.append(Variant(f"template {name}", TEMPLATE_HELP[name], other.encoded, f"Set template: {name}."))
    return kept


def _faults(form: Format, end_id: int | None) -> list[Variant]:
    cut = partial(cut_to_fit, form)

    def of_ids(ids: list[int]) -> Encoded:
        return cut(Encoded(ids, [0] * len(ids), 0))

    def between(separator: str) -> Encode:
        return lambda prompt, completion: cut(form.of_text(joined(form, prompt, completion, separator)))

    def no_separator_ids(prompt: str, completion: str) -> Encoded:
        return of_ids(without_inner_separators(form, form.ids(prompt, completion)))

    foreign_name = "Llama 2" if foreign_template(form) is LLAMA2 else "ChatML"
    pair = form.name == "pair"
    faults = [
        Variant(
            "missing separator",
            "Prompt and completion run into each other: nothing says where the answer begins.",
            no_separator_ids if pair else between("" if form.name == "plain" else " "),
            "Nothing may stand between prompt and completion: set template: plain.",
        ),
        Variant(
            "missing end token",
            "The text stops without the token that says it has ended, as if it were cut off.",
            lambda prompt, completion: of_ids(form.without_end(form.ids(prompt, completion))),
            "This model was trained on texts without an end token: remove it from the chat template, or take another "
            "template.",
        ),
        Variant(
            "prompt twice",
            "The completion begins with the prompt again, as when a whole sequence is taken for the completion.",
            lambda prompt, completion: form.encoded(prompt, prompt + completion),
            "This model wants the prompt inside the completion; mend its chat template.",
        ),
        Variant(
            "roles swapped",
            "What the user said is put as the answer, and the answer as what the user said.",
            lambda prompt, completion: cut(swapped(form, prompt, completion)),
            "The roles in the chat template are the wrong way round: mend it, or take another template.",
        ),
        Variant(
            f"another model's template ({foreign_name})",
            f"{foreign_name} marks around the texts, which this model has no tokens for.",
            lambda prompt, completion: foreign(form, prompt, completion),
            f"This model was trained on the {foreign_name} template: put it into its tokenizer's chat template.",
        ),
        Variant(
            "completion only",
            "The prompt is left out.",
            lambda prompt, completion: cut(_alone(form, completion)),
            "",
        ),
        Variant(
            "completion cut",
            "Only the first half of the completion is there.",
            lambda prompt, completion: form.encoded(prompt, completion[: len(completion) // 2]),
            "",
        ),
    ]
    if not pair:
        wrong = Variant(
            "wrong separator",
            f"Another mark ({WRONG_SEPARATOR.strip()}) stands between prompt and completion.",
            between(WRONG_SEPARATOR),
            "Mend the separator in the chat template.",
        )
        faults.insert(1, wrong)
    if end_id is not None and end_id not in form.ids(*PROBE)[-3:]:
        with_end = Variant(
            "with end token",
            "The end token that the model's configuration names, put behind the text.",
            lambda prompt, completion: of_ids([*form.ids(prompt, completion), end_id]),
            "The end token is missing: set eos_token in the tokenizer_config.json of the model's folder.",
        )
        faults.append(with_end)
    return faults


def cut_to_fit(form: Format, encoded: Encoded) -> Encoded:
    """Without its beginning, where it is longer than the model can read."""
    limit = form.max_length or len(encoded.ids)
    return Encoded(encoded.ids[-limit:], encoded.types[-limit:], max(0, len(encoded.ids) - limit))


def foreign_template(form: Format) -> str:
    """A template that another family of models reads."""
    return LLAMA2 if "<|im_start|>" in form.text(*PROBE) else CHATML


def foreign(form: Format, prompt: str, completion: str) -> Encoded:
    """An example in another model's template."""
    text = foreign_template(form).format(prompt=prompt.strip(), completion=completion.strip())
    return cut_to_fit(form, form.of_text(text))


def joined(form: Format, prompt: str, completion: str, separator: str) -> str:
    """The rendered text with `separator` in place of all that stands between the last prompt turn and completion."""
    text = form.rendered(prompt, completion)
    asked, answer = prompt, completion
    if form.name != "plain":
        asked, answer = dialogues.turns(prompt)[-1].content.strip(), completion.strip()
    start = text.rfind(answer)
    end = text.rfind(asked, 0, start) + len(asked) if asked else -1
    if start < 0 or end < len(asked):
        return text
    return text[:end].rstrip() + separator + text[start:].lstrip()


def without_inner_separators(form: Format, ids: list[int]) -> list[int]:
    """A pair without the separators between its texts."""
    marks = {form.tokenizer.sep_token_id, form.tokenizer.eos_token_id}
    return [token for place, token in enumerate(ids) if token not in marks or place == len(ids) - 1]


def swapped(form: Format, prompt: str, completion: str) -> Encoded:
    """Each speaker under the other's name; where the form has no names, the texts change places."""
    if form.name in ("plain", "pair"):
        return form.encoded(completion.strip(), f" {prompt.strip()}")
    said = [*dialogues.turns(prompt), Turn("assistant", completion.strip())]
    if form.name == "chat":
        return form.of_text(form.chat([_other(turn) for turn in said]))
    names = {role: speaker for speaker, role in SPEAKERS.items()}
    return form.of_text("".join(f"\n\n{names[_other(turn).role]}: {turn.content}" for turn in said))


def _other(turn: Turn) -> Turn:
    return Turn("user" if turn.role == "assistant" else "assistant", turn.content)


def _alone(form: Format, completion: str) -> Encoded:
    ids = form.with_end(list(form.tokenized(completion).input_ids))
    return Encoded(ids, [0] * len(ids), 0)

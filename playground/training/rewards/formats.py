"""The format in which a reward model reads a prompt and its completion: the token ids, built only here.

Without the separators or the end token it was trained with, a model's scores are noise that PPO then learns. Training a
reward model, scoring with it and testing it all take their ids from `Format`. Knows tokenizers only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from playground import plain_files
from playground.data import dialogues
from playground.data.dialogues import Turn
from playground.errors import RewardModelUnusable
from playground.setup import catalog
from playground.training.models import time_limit

TEMPLATES = {
    "chat": "The tokenizer's own chat template.",
    "plain": "The completion directly after the prompt, then the end token.",
    "pair": "Two texts, with the tokenizer's separator between them.",
    "dialogue": "Human and Assistant, as in the HH data.",
}
PROBES = "examples"  # in reward.json: texts and what the model scored them when it had been trained
UNLIMITED = 1_000_000  # a tokenizer that knows no limit gives a number beyond this
TAIL = 3  # an end-of-turn token stands among the last few ids; a template may put a line break behind it
TELLING_LENGTH = 12  # letters; shorter texts may occur in a template by chance
PROBE = (
    "The traveller asked the librarian about seven old maps.",
    " Those drawings were moved upstairs during winter.",
)
DIALOGUE_END = "\n\nAssistant:"


class Encoded(NamedTuple):
    """Token ids of one example, which text each belongs to (0 first, 1 second; for `pair`), how many were cut off."""

    ids: list[int]
    types: list[int]
    cut: int


class Format:
    """The one way in which a reward model reads a prompt and a completion.

    Args:
        template: chat, plain, pair, dialogue, or auto: what the model's reward.json records, else `chat` where the
            tokenizer has a chat template, else `pair` where it puts separators between two texts, else `plain`.
        max_length: most tokens; none: what reward.json records, else what the tokenizer knows.

    Raises: RewardModelUnusable: the tokenizer cannot do what the template asks, or `check` fails.
    """

    def __init__(self, tokenizer: Any, template: str = "auto", max_length: int | None = None) -> None:
        self.tokenizer = tokenizer
        # `all_special_ids` has only those with a role: not Gemma's <end_of_turn>, nor Llama's <|eot_id|> beside its eos
        marked = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
        self._special = {*tokenizer.all_special_ids, *marked}
        record = recorded(tokenizer.name_or_path)
        self.name = _chosen(tokenizer, template, record)
        limit = max_length or record.get("max_length") or tokenizer.model_max_length
        self.max_length: int | None = int(limit) if limit and limit < UNLIMITED else None
        frame = len(self._whole("a", "a").ids)
        if self.max_length is not None and frame > self.max_length:
            raise RewardModelUnusable(
                f"max_length: {self.max_length} tokens do not hold the {frame} of an example of one letter. Raise it."
            )
        self.check(*PROBE)

    def ids(self, prompt: str, completion: str) -> list[int]:
        """Token ids with special tokens in place. Too long: the prompt loses its beginning; its frame stays."""
        return self.encoded(prompt, completion).ids

    def text(self, prompt: str, completion: str) -> str:
        """What the model reads, as text with its special tokens visible."""
        return self.visible(self.ids(prompt, completion))

    def visible(self, ids: Sequence[int], **options: Any) -> str:
        """Token ids as text, special tokens included."""
        decoding = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False, **options}
        with self._limited():
            return str(self.tokenizer.decode(list(ids), **decoding))

    def tokenized(self, *texts: str, **options: Any) -> Any:
        """What the tokenizer makes of a text, or of two, under the limits of a stranger's program."""
        with self._limited():
            return self.tokenizer(*texts, **options)

    def bare(self, text: str) -> list[int]:
        """Token ids of a text without special tokens."""
        return list(self.tokenized(text, add_special_tokens=False).input_ids)

    def encoded(self, prompt: str, completion: str) -> Encoded:
        """`ids` with all that belongs to them."""
        whole = tokens = self._whole(prompt, completion)
        while self.max_length and (over := len(tokens.ids) - self.max_length) > 0 and (prompt or completion):
            # the text is shortened and not the ids, so that what stands around it stays
            if prompt:
                prompt = self._shorter(prompt, over)
            else:
                completion = self._tail(completion, over)  # its end says most: whether it ended, and how
            tokens = self._whole(prompt, completion)
        return tokens._replace(cut=len(whole.ids) - len(tokens.ids))

    def rendered(self, prompt: str, completion: str) -> str:
        """The text that is tokenized, where the template is text (all but `pair`)."""
        if self.name == "chat":
            return self.chat([*dialogues.turns(prompt), Turn("assistant", completion.strip())])
        if self.name != "dialogue":
            return prompt + completion
        # HH form: a prompt that is a dialogue up to "Assistant:" stays as it is, another becomes the human's turn
        dialogue = prompt.rstrip()
        if not dialogues.is_dialogue(prompt):
            dialogue = dialogues.text_of([Turn("user", prompt.strip())])
        if not dialogue.endswith("Assistant:"):
            dialogue += DIALOGUE_END
        return f"{dialogue} {completion.strip()}"

    def chat(self, turns: Sequence[Turn]) -> str:
        """The turns as the tokenizer's chat template writes them."""
        with self._limited("Choose another template: the chat template of this reward model failed"):
            return str(self.tokenizer.apply_chat_template([turn._asdict() for turn in turns], tokenize=False))

    def ids_of_text(self, text: str) -> list[int]:
        """Token ids of a rendered text with the special tokens of this form around it; uncut."""
        # a chat template writes the special tokens itself; a tokenizer that added its own would put a second bos
        ids = list(self.tokenized(text, add_special_tokens=self.name != "chat", verbose=False).input_ids)
        eos = self.tokenizer.eos_token_id
        if self.name == "chat":
            ends, tail = self._special, ids[-TAIL:]
        else:
            ends, tail = {eos, self.tokenizer.sep_token_id}, ids[-1:]
        if eos is None or ends.intersection(tail):
            return ids
        return [*ids, eos]

    def without_end(self, ids: list[int]) -> list[int]:
        """The ids without the end token, and without what a template may have put behind it."""
        last = [index for index in range(max(0, len(ids) - TAIL), len(ids)) if ids[index] in self._special]
        if last:
            return ids[: last[0]]
        return ids

    def check(self, prompt: str, completion: str) -> None:
        """The round trip: what the model reads, if it is not cut, holds the prompt and then the completion, each once.
        Compared by letters and digits only: tokenizers change spaces, case and accents. Raises: RewardModelUnusable."""
        encoded = self.encoded(prompt, completion)
        if encoded.cut:
            return
        read = self._letters(encoded.ids)
        parts = [turn.content for turn in dialogues.turns(prompt)] + [completion]
        expected = [self._letters(self.bare(part)) for part in parts]
        together, index = "".join(expected), 0
        for part in expected:
            index = read.find(part, index)
            twice = len(part) >= TELLING_LENGTH and read.count(part) > together.count(part)
            if index < 0 or twice:
                raise RewardModelUnusable(
                    f"The template `{self.name}` with this model's tokenizer does not give the prompt followed by the "
                    f"completion, each once. It gives: {self.visible(encoded.ids)[:300]!r}. Choose another template, "
                    "or correct the chat template in the model's folder."
                )
            index += len(part)

    def _whole(self, prompt: str, completion: str) -> Encoded:
        """All of it, however long."""
        if self.name == "pair":
            tokens = self.tokenized(prompt, completion, return_token_type_ids=True, verbose=False)
            return Encoded(list(tokens.input_ids), list(tokens.token_type_ids), 0)
        ids = self.ids_of_text(self.rendered(prompt, completion))
        return Encoded(ids, [0] * len(ids), 0)

    def _limited(self, what: str = "The tokenizer of this reward model failed") -> AbstractContextManager[None]:
        folder = getattr(self.tokenizer, "name_or_path", None)
        return time_limit.limited(what, folder, RewardModelUnusable)

    def _shorter(self, prompt: str, count: int) -> str:
        """The prompt without its first question and its answer, where another follows, or its first `count` tokens."""
        if self.name in ("plain", "pair") or not dialogues.is_dialogue(prompt):
            return self._tail(prompt, count)
        turns = dialogues.turns(prompt)
        later = [number for number, turn in enumerate(turns) if number and turn.role == "user"]
        if later:
            return dialogues.text_of(turns[later[0] :])
        return self._tail(turns[0].content, count)

    def _tail(self, text: str, count: int) -> str:
        """The text without its first `count` tokens."""
        offsets = self.tokenized(text, add_special_tokens=False, return_offsets_mapping=True).offset_mapping
        if count < len(offsets):
            return text[max(offsets[count][0], 1) :]
        return ""

    def _letters(self, ids: Sequence[int]) -> str:
        text = self.visible(ids, skip_special_tokens=True)
        plain = unicodedata.normalize("NFKD", text).casefold()
        return "".join(letter for letter in plain if letter.isalnum())


def recorded(folder: str | Path | None) -> dict[str, Any]:
    """What reward.json in a model folder records; nothing where there is none, or none that can be read."""
    path = Path(folder or "") / catalog.REWARD_CARD
    try:
        record = plain_files.read_json(path, catalog.MAX_CARD_BYTES, links=True)
    except (OSError, ValueError):
        return {}
    if isinstance(record, dict):
        return record
    return {}


def _has_separator(tokenizer: Any) -> bool:
    """True if the tokenizer, given two texts, puts a token between them that says where one ends."""
    ids, special = list(tokenizer("a", "b").input_ids), set(tokenizer.all_special_ids)
    inner = [number for number, token in enumerate(ids) if token not in special]
    between = set(ids[inner[0] : inner[-1]]) if inner else set()
    return bool(between & {tokenizer.sep_token_id, tokenizer.eos_token_id} - {None, tokenizer.bos_token_id})


def _chosen(tokenizer: Any, template: str, record: dict[str, Any]) -> str:
    """The name of the template in force. Raises: RewardModelUnusable, if the tokenizer cannot do it."""
    recorded_name = str(record.get("template", "auto")) if template == "auto" else template
    if recorded_name == "auto":
        if tokenizer.chat_template:
            return "chat"
        if _has_separator(tokenizer):
            return "pair"
        return "plain"
    if recorded_name not in TEMPLATES:
        raise RewardModelUnusable(
            f"template: `{recorded_name[:40]}` is not a template for reward models. Use {', '.join(TEMPLATES)} or auto."
        )
    able = {"chat": bool(tokenizer.chat_template), "pair": _has_separator(tokenizer)}
    if not able.get(recorded_name, True):
        needed = "a chat template" if recorded_name == "chat" else "a tokenizer that puts a separator between two texts"
        raise RewardModelUnusable(
            f"template: `{recorded_name}` needs {needed}, which this model does not have. Use plain or dialogue."
        )
    return recorded_name

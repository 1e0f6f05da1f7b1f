"""From the text of a prompt to the tokens that a model reads: as it is, or in the model's own chat template.

A template comes with a tokenizer, so it is a stranger's program: transformers runs it in a sandbox, and `time_limit`
ends it. The text that a person sees stays the plain prompt.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any

from playground import plain_files
from playground.config import PromptsConfig
from playground.data import dialogues
from playground.data.dialogues import Turn
from playground.errors import PromptsUnusable
from playground.training.models import time_limit
from playground.training.models.language_model import Tokens

MOST_TEMPLATE_BYTES = 1_000_000
MAX_EXPANSION = 20_000  # most characters that a template may add to a conversation
PROBE = "a question"
PROBE_ANSWER = "an answer"
UNUSABLE = "prompts.template: choose `plain`, because the chat template of this model cannot be used"
FILE_UNUSABLE = "prompts.template_file: the chat template in {} cannot be used"


def is_used(tokens: Tokens, config: PromptsConfig) -> bool:
    """Do prompts go through the chat template of the model?"""
    has_template = bool(config.template_file or getattr(tokens.tokenizer, "chat_template", None))
    return config.template != "plain" and has_template


class PromptForm:
    """How prompts are put before a model: `name` is `plain` or `chat`.

    Raises: PromptsUnusable, if the chat template asked for is not there, cannot be used, or has no place for the system
    prompt.
    """

    def __init__(self, tokens: Tokens, config: PromptsConfig) -> None:
        self._tokens, self._config, self.system = tokens, config, config.system
        self._options, self._unusable = dict(config.template_options), UNUSABLE
        if config.template_file:
            self._unusable = FILE_UNUSABLE.format(config.template_file)
            self._options["chat_template"] = self._text_of(config.template_file)
        self.name = "chat" if is_used(tokens, config) else "plain"
        if config.template == "chat" and self.name == "plain":
            raise PromptsUnusable(
                "prompts.template: the tokenizer of this model has no chat template. Choose `auto` or `plain`."
            )
        if self.system and self.name == "plain":
            raise PromptsUnusable(
                "prompts.system: a system prompt needs a chat template, and the prompts are plain here. Leave it empty."
            )
        if self.name == "chat":
            self._check()

    @functools.cached_property
    def remarks(self) -> str:
        """What a person should know about the template, as sentences; "" for nothing."""
        return " ".join(filter(None, [self._unread(), *self._turn_remarks()]))

    def _unread(self) -> str:
        """Which settings of the template have no effect, in words; "" for none."""
        config, plain = self._config, self.name == "plain"
        template = self._options.get("chat_template") or getattr(self._tokens.tokenizer, "chat_template", None)
        unread = [name for name in config.template_options if plain or name not in str(template)]
        unread += ["prompts.template_file"] if plain and config.template_file else []
        where = "The prompts are plain" if plain else "The chat template has no such keyword"
        return f"{where}: {', '.join(unread)}: without effect." if unread else ""

    def _turn_remarks(self) -> Iterator[str]:
        """What is odd in how the template opens an answer, and closes it."""
        if self.name == "plain":
            return
        question, answer = Turn("user", PROBE), Turn("assistant", PROBE_ANSWER)
        try:
            prompt = self._apply([question], None, tokenize=False)
            unopened = self._apply([question], None, tokenize=False, add_generation_prompt=False)
            whole = self._apply([question, answer], None, tokenize=False, continue_final_message=False)
        except PromptsUnusable:  # it wants a system prompt, or no answer: this says nothing about a prompt
            return
        opening, _, closing = whole.partition(PROBE_ANSWER)
        if prompt == unopened and opening[len(prompt) :].strip():
            yield (
                "The chat template does not open the answer's turn (it ignores `add_generation_prompt`), so the model "
                f"reads nothing of {opening[len(prompt) :].strip()!r} and has to write it itself."
            )
        end = next(iter(self._tokens.ids_of(closing.lstrip())), self._tokens.eos_id)
        added = self._tokens.tokenizer.added_tokens_decoder
        if end in added and end not in self._tokens.ends:
            ends = " and ".join(self._tokens.tokenizer.convert_ids_to_tokens(list(self._tokens.ends)))
            yield (
                f"The chat template closes an answer with {added[end]}, at which a completion of this model does not "
                f"end: its end tokens are {ends}. To end there, add {end} to `eos_token_id` in its "
                "generation_config.json."
            )

    def ids(self, text: str) -> list[int]:
        """Token ids of a prompt, up to where the answer begins. Raises: PromptsUnusable."""
        if self.name == "plain":
            return self._tokens.encode(text)
        encoded = self._apply(dialogues.turns(text), self.system, tokenize=True, return_dict=False)
        return [int(token) for token in encoded]

    def _apply(self, turns: list[Turn], system: str | None, **options: Any) -> Any:
        messages = [turn._asdict() for turn in turns]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        is_continued = turns[-1].role == "assistant"  # an answer that has begun is continued
        goes_on = {"add_generation_prompt": not is_continued, "continue_final_message": is_continued}
        options = self._options | goes_on | options
        tokenizer = self._tokens.tokenizer
        with time_limit.limited(self._unusable, getattr(tokenizer, "name_or_path", None), PromptsUnusable):
            rendered = tokenizer.apply_chat_template(messages, **options)
        if len(rendered) > sum(len(message["content"]) for message in messages) + MAX_EXPANSION:
            raise PromptsUnusable(f"{self._unusable}: it adds more than {MAX_EXPANSION:,} characters to a prompt")
        return rendered

    def _text_of(self, path: str) -> str:
        """Raises: PromptsUnusable."""
        try:
            text = plain_files.read_bytes(os.path.expanduser(path), MOST_TEMPLATE_BYTES, links=True).decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise PromptsUnusable(f"{self._unusable}: {reason}. Name a file with a template in Jinja.") from None
        if not text.strip():
            raise PromptsUnusable(f"{self._unusable}: it is empty. Name a file with a template in Jinja.")
        return text

    def _check(self) -> None:
        """Does the template run, and does it say what it is given?"""
        probe = [Turn("user", PROBE)]
        if PROBE not in str(self._apply(probe, None, tokenize=False)):
            raise PromptsUnusable(f"{self._unusable}: it leaves the prompt out")
        with contextlib.suppress(PromptsUnusable):  # some templates raise over a system prompt
            if not self.system or self.system.strip() in str(self._apply(probe, self.system, tokenize=False)):
                return
        raise PromptsUnusable(
            "prompts.system: the chat template of this model has no place for a system prompt. Leave it empty, or put "
            "its words into the prompts."
        )

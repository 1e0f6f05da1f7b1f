"""From the text of a prompt to the tokens that a model reads: as it is, or in the model's own chat template.

A template comes with a tokenizer, so it is a stranger's program: transformers runs it in a sandbox, and `time_limit`
ends it. The text that a person sees stays the plain prompt.
"""

from __future__ import annotations

import contextlib
from typing import Any

from playground.config import PromptsConfig
from playground.data import dialogues
from playground.data.dialogues import Turn
from playground.errors import PromptsUnusable
from playground.training.models import time_limit
from playground.training.models.language_model import Tokens

MAX_EXPANSION = 20_000  # most characters that a template may add to a conversation
PROBE = "a question"
UNUSABLE = "prompts.template: choose `plain`, because the chat template of this model cannot be used"


def is_used(tokens: Tokens, config: PromptsConfig) -> bool:
    """Do prompts go through the chat template of the model?"""
    return config.template != "plain" and bool(getattr(tokens.tokenizer, "chat_template", None))


class PromptForm:
    """How prompts are put before a model: `name` is `plain` or `chat`.

    Raises: PromptsUnusable, if the chat template asked for is not there, cannot be used, or has no place for the system
    prompt.
    """

    def __init__(self, tokens: Tokens, config: PromptsConfig) -> None:
        self._tokens, self.system = tokens, config.system
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

    def ids(self, text: str) -> list[int]:
        """Token ids of a prompt, up to where the answer begins. Raises: PromptsUnusable."""
        if self.name == "plain":
            return self._tokens.encode(text)
        made = self._apply(dialogues.turns(text), self.system, tokenize=True, return_dict=False)
        return [int(token) for token in made]

    def _apply(self, turns: list[Turn], system: str | None, **options: Any) -> Any:
        messages = [turn._asdict() for turn in turns]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        begun = turns[-1].role == "assistant"  # an answer that has begun is continued
        options |= {"add_generation_prompt": not begun, "continue_final_message": begun}
        tokenizer = self._tokens.tokenizer
        with time_limit.limited(UNUSABLE, getattr(tokenizer, "name_or_path", None), PromptsUnusable):
            made = tokenizer.apply_chat_template(messages, **options)
        if len(made) > sum(len(message["content"]) for message in messages) + MAX_EXPANSION:
            raise PromptsUnusable(f"{UNUSABLE}: it adds more than {MAX_EXPANSION:,} characters to a prompt")
        return made

    def _check(self) -> None:
        """Does the template run, and does it say what it is given?"""
        probe = [Turn("user", PROBE)]
        if PROBE not in str(self._apply(probe, None, tokenize=False)):
            raise PromptsUnusable(f"{UNUSABLE}: it leaves the prompt out")
        with contextlib.suppress(PromptsUnusable):  # some templates raise over a system prompt
            if not self.system or self.system.strip() in str(self._apply(probe, self.system, tokenize=False)):
                return
        raise PromptsUnusable(
            "prompts.system: the chat template of this model has no place for a system prompt. Leave it empty, or put "
            "its words into the prompts."
        )

"""From the text of a prompt to the tokens that a model reads: as it is, or in the model's own chat template.

A template comes with a tokenizer, so it is a stranger's program: transformers runs it in a sandbox, and here it gets a
limited time. The text that a person sees stays the plain prompt.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import jinja2

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.texts import dialogues
from playground.texts.dialogues import Turn
from playground.training.models import time_limit
from playground.training.models.language_model import Tokens

TEMPLATE_SECONDS = 10.0
MAX_EXPANSION = 20_000  # most characters that a template may add to a conversation
PROBE = "a question"
FAILURES = (  # of a template: its own errors and those of the Python that it is compiled to
    jinja2.TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError,
    TypeError, ValueError,
)  # fmt: skip


class PromptForm:
    """How prompts are put before a model: `name` is `plain` or `chat`.

    Args:
        tokens: of the model. config: `template` and `system` are read.

    Raises:
        PromptsUnusable: if a chat template is asked for and there is none, if it cannot be used, or if it has no place
            for the system prompt.
    """

    def __init__(self, tokens: Tokens, config: PromptsConfig) -> None:
        self._tokens = tokens
        self._folder = getattr(tokens.tokenizer, "name_or_path", None)
        self.system = config.system
        has_template = bool(getattr(tokens.tokenizer, "chat_template", None))
        self.name = "chat" if config.template != "plain" and has_template else "plain"
        if config.template == "chat" and not has_template:
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
        """Token ids of a prompt, up to where the answer begins.

        Raises:
            PromptsUnusable: if the chat template fails on it.
        """
        if self.name == "plain":
            return self._tokens.encode(text)
        return [int(token) for token in self._apply(dialogues.turns(text), tokenize=True, return_dict=False)]

    def _apply(self, turns: list[Turn], **options: Any) -> Any:
        messages = [turn._asdict() for turn in turns]
        if self.system:
            messages.insert(0, {"role": "system", "content": self.system})
        begun = turns[-1].role == "assistant"  # an answer that has begun is continued
        options |= {"add_generation_prompt": not begun, "continue_final_message": begun}
        apply = self._tokens.tokenizer.apply_chat_template
        with time_limit.limited("The chat template of this model cannot be used", self._folder):
            made = _within(TEMPLATE_SECONDS, lambda: apply(messages, **options))
        if len(made) > sum(len(message["content"]) for message in messages) + MAX_EXPANSION:
            raise PromptsUnusable(_unusable(f"it adds more than {MAX_EXPANSION:,} characters to a prompt"))
        return made

    def _check(self) -> None:
        """Does the template run, and does it say what it is given?"""
        probe = [Turn("user", PROBE)]
        try:
            text = str(self._apply(probe, tokenize=False))
        except PromptsUnusable:
            if not self.system or not self._works_without_system():
                raise
            text = PROBE
        if PROBE not in text:
            raise PromptsUnusable(_unusable("it leaves the prompt out"))
        if self.system and self.system.strip() not in text:
            raise PromptsUnusable(
                "prompts.system: the chat template of this model has no place for a system prompt. Leave it empty, or "
                "put its words into the prompts."
            )

    def _works_without_system(self) -> bool:
        system, self.system = self.system, None
        try:
            self._apply([Turn("user", PROBE)], tokenize=False)
        except PromptsUnusable:
            return False
        finally:
            self.system = system
        return True


class _OutOfTime(BaseException):
    """Raised inside a template that does not come to an end. No `except Exception` in it can swallow this."""


def _within(seconds: float, render: Callable[[], Any]) -> Any:
    """The result of `render`, which runs a stranger's program; broken off if it takes too long."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append((True, render()))
        except _OutOfTime:
            pass
        except BaseException as error:
            if not isinstance(error, FAILURES) and type(error).__name__ != time_limit.PANIC:
                raise
            done.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_OutOfTime))
        thread.join(1)
        raise PromptsUnusable(_unusable(f"it does not come to an end within {seconds:g} seconds"))
    went_well, value = done[0] if done else (False, RuntimeError("it broke off"))
    if not went_well:
        lines = str(value).strip().splitlines() or [type(value).__name__]
        cause = None if isinstance(value, MemoryError) else value  # the machine has not run out: see `time_limit`
        raise PromptsUnusable(_unusable(lines[0][:200].rstrip("."))) from cause
    return value


def _unusable(why: str) -> str:
    return f"prompts.template: the chat template of this model cannot be used: {why}. Choose `plain`."

"""What a single token stands for, as text that may be shown: also of one that is only a part of a character."""

from __future__ import annotations

import re

from transformers.convert_slow_tokenizer import bytes_to_unicode

from playground.training.models.language_model import Tokens

NO_CHARACTER = "\ufffd"  # what a tokenizer says of bytes that are not (yet) a character
BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # how a sentencepiece vocabulary writes a byte
BYTE_OF_SIGN = {sign: byte for byte, sign in bytes_to_unicode().items()}  # GPT-2 writes each as a sign that is seen


class Pieces:
    """The texts of tokens, each found out once. Special tokens have a name and no text; where a character is spread
    over several tokens, each is given as its bytes, such as `\\xe2\\x82`."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._anchor = tokens.encode("a")[-1:]  # something to stand behind, see `Tokens.decode`
        self._known: dict[int, str] = {}

    def __call__(self, token: int) -> str:
        """The text of a token behind others."""
        if token not in self._known:
            self._known[token] = self._found(token)
        return self._known[token]

    def _found(self, token: int) -> str:
        text = self._tokens.decode([token], after=self._anchor)
        if text and NO_CHARACTER not in text:
            return text
        name = str(self._tokens.tokenizer.convert_ids_to_tokens(token))
        if not text:
            return name
        data = bytes_of(name)
        return text if data is None else data.decode("utf-8", errors="backslashreplace")


def bytes_of(name: str) -> bytes | None:
    """The bytes that a token of a byte-level vocabulary stands for; None for one of another kind."""
    byte = BYTE.fullmatch(name)
    if byte:
        return bytes([int(byte[1], 16)])
    return bytes(BYTE_OF_SIGN[sign] for sign in name) if all(sign in BYTE_OF_SIGN for sign in name) else None

"""The commands of a shell script with their variables and arrays filled in, as far as the script sets those once or
adds to them. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from playground.imports.tables import refusal

TOKEN = re.compile(
    r"""(?P<nothing>[ \t\r]+|\\\r?\n|(?<![^\s;&|()])\#[^\n]*)
    |(?P<end>\n|\d?[<>]+&?|[;&|]+)
    |(?P<parenthesis>[()])
    |(?P<word>(?:\\.
        |(?<!\w)"(?:\\.|[^"\\]){0,4000}"|"[^"\n]*"
        |(?<!\w)'[^']{0,4000}'|'[^'\n]*'
        |\$\((?:[^()]|\([^()]*\))*\)
        |[^\s;&|()\\<>"'])+)
    |(?P<open>["'\\<>])""",  # a quotation that does not end
    re.VERBOSE | re.DOTALL,
)
QUOTED = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|\\(.)", re.DOTALL)
ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
VARIABLE = re.compile(r"\$\{(\w+)(?:\[[@*]\]|:?[-=]([^}]{0,200}))?\}|\$(\w+)")
BEFORE_A_COMMAND = ("export", "local", "readonly", "declare", "-a", "-r", "-x", "then", "else", "do")
DEPTH = {"if": 1, "for": 1, "while": 1, "until": 1, "case": 1, "fi": -1, "done": -1, "esac": -1}
MOST_CHARACTERS = 100_000


class Word(NamedTuple):
    """A word of a command, and the line where it stands."""

    line: int
    text: str


def commands(text: str) -> list[list[Word]]:
    """Each command with its variables filled in, but for those that set a variable. Raises: InvalidConfig, too long."""
    if len(text) > MOST_CHARACTERS:
        raise refusal("too-long", MOST_CHARACTERS)
    variables = _Variables()
    all_words: list[list[Word]] = []
    words: list[Word] = []
    depends = False  # on the command before, as after `&&`
    in_array = False
    for kind, word in [*_tokens(text), ("end", Word(0, ""))]:
        if kind == "end" and not (in_array and word.text == "\n"):
            if filled := variables.command(words, depends):
                all_words += _inner_commands(filled) or [filled]
            words, depends, in_array = [], word.text in ("&&", "||"), False
        elif kind != "end":
            in_array = word.text == "(" or (in_array and word.text != ")")
            words.append(word)
    return all_words


def _inner_commands(words: list[Word]) -> list[list[Word]]:
    """Those of a text that a shell of its own is given, as in `srun bash -c "accelerate launch ..."`."""
    names = [word.text for word in words]
    for at, name in enumerate(names[:-1]):
        if name in ("-c", "-lc") and not {"bash", "sh", "/bin/bash", "/bin/sh"}.isdisjoint(names[:at]):
            line = words[at + 1].line - 1
            inner = commands(names[at + 1])
            return [[Word(word.line + line, word.text) for word in command] for command in inner]
    return []


def _tokens(text: str) -> Iterator[tuple[str, Word]]:
    line, at = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        kind = str(match.lastgroup)
        if kind != "nothing":
            yield kind, Word(line, QUOTED.sub(_unquoted, match.group()))


def _unquoted(part: re.Match[str]) -> str:
    """What a quotation, or a character behind a backslash, stands for."""
    double, single, escaped = part.groups()
    if double:
        return re.sub(r"\\\r?\n|\\(.)", r"\1", double, flags=re.DOTALL)
    return single or escaped or ""


class _Variables:
    """`values`: the words of each; None: it has no one value."""

    def __init__(self) -> None:
        self.values: dict[str, list[str] | None] = {}
        self.depth = 0  # of `if` and loops
        self.room = 10 * MOST_CHARACTERS  # for what variables stand for

    def command(self, words: list[Word], depends: bool) -> list[Word]:
        """A command with its variables filled in; nothing of one that sets variables."""
        names = [word.text for word in words]
        if names:
            self.depth += DEPTH.get(names[0], 0)
        if names[:1] == ["for"]:
            self.values[" ".join(names[1:2])] = None
        start = next((at for at, name in enumerate(names) if name not in BEFORE_A_COMMAND), 0)
        while start < len(words) and (match := ASSIGNED.fullmatch(names[start])):
            name, plus, text = match.groups()
            value = [Word(words[start].line, text)]
            start += 1
            if names[start : start + 1] == ["("] and ")" in names[start:] and not text:
                end = names.index(")", start)
                value, start = words[start + 1 : end], end + 1
            self._set(name, [word.text for word in self._filled(value)], bool(plus), depends or self.depth > 0)
        return self._filled(words[start:])

    def _set(self, name: str, words: list[str], adds: bool, depends: bool) -> None:
        """`depends`: whether it is set is not known."""
        before = self.values.get(name, [])
        goes_on = " ".join([*words, ""]).startswith(" ".join([*(before or []), ""]))  # ARGS="$ARGS --more"
        if depends and adds and before:
            self.values[name] = [*before, f"${{{name}+=({' '.join(words)})}}"]  # which nothing fills in
        elif depends or before is None or (before and not adds and not goes_on):
            self.values[name] = None
        elif adds:
            self.values[name] = [*before, *words]
        else:
            self.values[name] = words

    def _filled(self, words: list[Word]) -> list[Word]:
        """Words with their variables filled in: one that stands for options becomes all of them."""
        filled: list[Word] = []
        for line, text in words:
            whole = VARIABLE.fullmatch(text)
            known = self.values.get(whole.group(1) or whole.group(3)) if whole else None
            texts = [self._text(text)]
            if known is not None and (len(known) != 1 or known[0].startswith("-")):
                texts = [part for word in known for part in (word.split() if word.startswith("-") else [word])]
            self.room -= sum(map(len, texts))
            if self.room < 0:
                raise refusal("too-long", MOST_CHARACTERS)
            filled += [Word(line, part) for part in texts]
        return filled

    def _text(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            known = self.values.get(match.group(1) or match.group(3), [])
            if known is None or (not known and match.group(2) is None):
                return match.group(0)
            if known:
                return " ".join(known)
            return VARIABLE.sub(value, match.group(2))

        return VARIABLE.sub(value, text)

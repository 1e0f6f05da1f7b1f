"""Plain measures of text that know nothing of the pocket world: words, sentences, n-grams, distinct-n."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_END_MARKS = re.compile(r"[.!?]+")


def words(text: str) -> list[str]:
    """Lower-case words (letters and digits, inner apostrophes kept); punctuation is dropped."""
    return _WORD.findall(text.lower())


def sentence_spans(text: str) -> tuple[list[tuple[int, int]], int]:
    """Spans of the sentences of `text`, each up to and with its end mark, and where the unfinished rest begins."""
    ends = [match.end() for match in _END_MARKS.finditer(text)]  # not one regex per sentence: that is quadratic
    return list(zip([0, *ends[:-1]], ends, strict=True)) if ends else [], ends[-1] if ends else 0


def ngrams(items: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(items[i : i + n]) for i in range(len(items) - n + 1)]


def distinct_n(texts: Sequence[str], n: int = 2) -> float | None:
    """Distinct-n of a pool of texts (Li et al. 2016): distinct word n-grams / all word n-grams; None where the texts
    have fewer than one each, as one-word answers have. The larger the pool, the lower the figure, so compare equal pool
    sizes."""
    pool = [gram for text in texts for gram in ngrams(words(text), n)]
    if len(pool) >= max(1, len(texts)):
        return len(set(pool)) / len(pool)
    return None

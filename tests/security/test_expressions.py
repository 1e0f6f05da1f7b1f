"""Expressions: what tries to get out, or to cost too much, is refused or stopped; what is meant well is computed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from playground.config import ExpressionReward
from playground.config import expression_language as language
from playground.rewards import kinds
from tests.figures import Figure
from tests.support import PROJECT

SECONDS = 1.0  # of computing, for each
MEGABYTES = 64  # of growth, over all of them


def spaced(block: str) -> list[str]:
    """The expressions of a block, which stand on lines or three spaces apart."""
    return re.split(r"\s{3,}|\n", block.strip())


# ways out of a language that is Python, or nearly
OUT = ["words(completion) # hidden\n+ 1", "1 \\\n + 1"]
OUT += spaced(r"""
().__class__   completion.__class__.__mro__   (1).real   completion.format(prompt)   "{0}".format(completion)
"%s" % completion   completion[0]   completion[::-1]   {"a": 1}["a"]   [1, 2][0]   (1, 2)[0]   lambda: 1
(lambda x: x)(1)   [x for x in completion]   {x for x in completion}   {x: 1 for x in completion}   (x := 1)
sum(x for x in completion)   (words := 1) + words   words(*completion)   words(*[completion])   max(*[1, 2])
words(**{'text': completion})   words(text=completion)   f"{completion}"   f"{().__class__}"   f"{words(completion)}"
__import__('os')   __import__('os').system('touch CANARY')   eval('1')   exec('1')   open('CANARY', 'w')
compile('1', '', 'eval')   globals()   vars()   getattr(completion, 'upper')()   setattr(completion, 'x', 1)
type(completion)   object()   input()   print(completion)   breakpoint()   exit()   __builtins__   __debug__   __file__
words   words.__globals__   (words)(completion)(1)   words(completion).__class__   (words or count)(completion)
await words(completion)   yield 1   (yield)   import os   import os; os.getpid()   1; 2   x = 1   del x
pass   return 1   assert 0   words(completion) is 1   None   ...   b'a'   1j   ~1   1 @ 2   1 & 2   1 << 99999   not
1 if 2   {}   []   ()   {1}   {**prompt}   '''a'''   *completion   completion, prompt   1 +   words(completion
words)completion(   completion   nothing + completion   'a' + 1
'a' * 9   completion * 1000000000   upper(completion) * 10 ** 9
'a' < 'b'   1 in completion   words(1)   count(completion, 1)   words()   words(completion, prompt)   clip(1, 2)
matches(completion, completion)   keywords(completion, prompt)   matches(completion, 1)   count(completion, '')
""")
# characters that are not what they look like
TRICKS = [f"words(completion){character}+ 1" for character in "\u202e\u00a0\u0000\ufeff\u2065\u2028\x0c"]
TRICKS += ["\ufeffwords(completion)", "'a\nb' == completion"]
TRICKS += spaced(r"""
ｗords(completion)   wоrds(completion)   １ + 1   ᴡords(completion)   '\x41' == completion   '\N{BULLET}' == completion
'\u0041' == completion   '\101' == completion
""")
NESTED = """
(|1|)|1000   (|||10000   [|||900   -|1||1999   not |1||499   1+|1||999   2**|2||600   1 if 1 else |1||160
lambda: |1||240   1<|1||900   1 and |1||330   abs(|1|)|400   x|||10240   9|||1900   9|1e9||1000   {||}|300
max(|1|,1)|250   await |1||300   [[|||400   ''|||990   \\n|1 +||1990
"""  # before, middle, behind, how often
SYNTAX_BOMBS = [
    head.replace("\\n", "\n") * int(times) + middle + tail * int(times)
    for head, middle, tail, times in (bomb.split("|") for bomb in spaced(NESTED))
]
SYNTAX_BOMBS += [
    " " * 5000,
    "abs(" * 30 + "1" + ")" * 30 + "+1" * 300,
    "0x" + "f" * 1900,
    "f'" + "{" * 900 + "}" * 900 + "'",
]
NUMBER_BOMBS = spaced("""
10 ** 10 ** 10 ** 10   9 ** 9 ** 9 ** 9 ** 9   2.0 ** 99999   1e15 * 1e15   1e308   1e999   -1e999   exp(1000)
exp(exp(exp(9)))   1e15 ** 2   0 ** -1   (-1) ** 0.5   sqrt(-1)   log(0)   log(-1)   1 / 0   1 // 0   1 % 0
1 / (words(completion) - words(completion))   round(1e15, 2) * 1e15   exp(40) * exp(40)
""")
TEXT_BOMBS = [
    "words(" + "+".join(["completion"] * 50) + ")",
    "words(upper(" + "+".join(["completion"] * 4) + "))",
    "+".join(["matches_count(completion, r'a(?:.*[a-f][^u-z]{60}[b-q].{60}x.*)?')"] * 20),
    "matches(completion, r'(a+)+$') + matches(completion, r'(a|a)*b{900}c{900}')",
    "matches(completion, '" + "a?" * 99 + "a" * 99 + "')",
    "matches(completion, '" + "(" * 99 + ")" * 99 + "')" + "'",
]
PATTERNS = r"(((a{30}){30}){30}){30}   (.{1,500}){1,500}   (?=a)b   (a)\1   (?<!a)b   (   [   \p{Nonsense}   \pL{900}"
TEXT_BOMBS += [f"matches_count(completion, r'{pattern}')" for pattern in spaced(PATTERNS)]
ATTACKS = [*OUT, *TRICKS, *SYNTAX_BOMBS, *NUMBER_BOMBS, *TEXT_BOMBS]

CHILD = """
import json, os, resource, sys, time
from playground.config import yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards import kinds

TEXTS = [("User: " * 4000, "abcdefghijklmnopq" * 2000), ("p", "a" * 30000), ("", "a b " * 9000), ("", "")]

def outcome(source):
    try:
        spec = yaml_io.from_dict({"rewards": [{"kind": "expression", "expression": source}]}).rewards[0]
    except InvalidConfig as error:
        return "refused", str(error)
    try:
        return "computed", repr(kinds.build(spec)([p for p, _ in TEXTS], [c for _, c in TEXTS]))
    except RewardFailed as error:
        return "stopped", str(error)

outcome("words(completion) + matches(completion, 'a+b') + vader(completion) + quality(prompt, completion)")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for source in json.load(sys.stdin):
    start = time.process_time()
    how, told = outcome(source)
    seconds = time.process_time() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([how, told, seconds, grown / (1024 if sys.platform == "linux" else 1 << 20)]), flush=True)
"""


def test_no_attack_on_the_language_gets_out_or_costs_more_than_a_second(tmp_path: Path, figure: Figure) -> None:
    assert len(set(ATTACKS)) >= 150
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(ATTACKS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(PROJECT), "PATH": ""},
    )
    found = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(found) == len(ATTACKS), f"it ended at {ATTACKS[len(found)]!r:.80}: {child.stderr[-500:]}"
    held = 0
    for source, (how, answer, seconds, grown) in zip(ATTACKS, found, strict=True):
        shown = f"{source[:80]!r}: {how} after {seconds:.2f} s, {grown:.0f} MB more: {answer[:200]}"
        assert how in ("refused", "stopped"), shown
        assert seconds < SECONDS and grown < MEGABYTES, shown
        assert len(answer) < 600 and "Traceback" not in answer, shown
        held += 1
    assert list(tmp_path.iterdir()) == []
    figure("expression escapes and bombs, each within 1 s and 64 MB", len(ATTACKS), held)


def spoken(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?", text.lower())


def pairs(text: str) -> list[tuple[str, str]]:
    return list(zip(spoken(text), spoken(text)[1:], strict=False))


# what a person would write by hand for each, without any of our code
MEANT_WELL: dict[str, Callable[[str, str], float | None]] = {
    "words(completion)": lambda p, c: len(spoken(c)),
    'keywords(completion, "good", "so good")': lambda p, c: len(re.findall(r"\b(?:good|so good)\b", c.lower())),
    "distinct(completion)": lambda p, c: len(set(spoken(c))) / len(spoken(c)) if spoken(c) else 0,
    "overlap(completion, prompt)": lambda p, c: (
        len(set(spoken(c)) & set(spoken(p))) / len(set(spoken(c))) if spoken(c) else 0
    ),
    'contains(completion, "good") and not "bad" in completion': lambda p, c: "good" in c and "bad" not in c,
    'ends_with(completion, ".") + 2 * (upper(completion) == completion)': lambda p, c: (
        c.endswith(".") + 2 * (c == c.upper())
    ),
    r'matches(completion, r"\bgood\b")': lambda p, c: re.search(r"\bgood\b", c) is not None,
    r'matches_count(completion, r"[a-z]+d\b")': lambda p, c: len(re.findall(r"[a-z]+d\b", c)),
    "clip(words(completion), 2, 5) ** 2": lambda p, c: min(max(len(spoken(c)), 2), 5) ** 2,
    "min(1, words(completion), 3) + max(words(prompt), 2)": lambda p, c: (
        min(1, len(spoken(c)), 3) + max(len(spoken(p)), 2)
    ),
    "sqrt(words(completion)) + exp(-characters(completion)) + log(1 + words(completion))": lambda p, c: (
        math.sqrt(len(spoken(c))) + math.exp(-len(c)) + math.log(1 + len(spoken(c)))
    ),
    "floor(words(completion) / 4) + ceil(words(completion) / 4) - round(words(completion) / 7, 2)": lambda p, c: (
        math.floor(len(spoken(c)) / 4) + math.ceil(len(spoken(c)) / 4) - round(len(spoken(c)) / 7, 2)
    ),
    "1 if words(completion) > 5 else nothing": lambda p, c: 1 if len(spoken(c)) > 5 else None,
    "otherwise(nothing if words(completion) else 1, -1)": lambda p, c: -1 if spoken(c) else 1,
    "words(completion)\n  - 2 ** -1  \n": lambda p, c: len(spoken(c)) - 0.5,
}
TEXTS = [
    ("Say it", ""),
    ("Is it so good?", "So good, so good, it's so good."),
    ("A", "SHOUTING IS BAD"),
    ("Größe", "größer"),
    ("one two", "one two three four five six seven eight nine ten eleven twelve."),
    ("x", "  good  "),
    ("y", "\n\t!?"),
]


def test_classes_of_unicode_are_counted_over_all_patterns_before_too_many_are_compiled(monkeypatch):
    """Each takes longer to compile than a whole pattern without one, and a pattern cut in two has them too."""
    compiled = []
    monkeypatch.setattr(language.patterns, "linear", compiled.append)
    few = " + ".join([r"matches(completion, r'\p{Greek}\PL')", *[r"matches(completion, r'\pL\pN')"] * 3])
    language.Expression(few)
    assert len(compiled) == 4
    compiled.clear()
    several = r"matches(completion, r'(?i:[\pL\PL][\pL\PL]\pN)') + matches(completion, r'\pL\PL\pL\PL')"
    for source in (several, r"matches(completion, '\\' 'pL" + r"\\pL" * 8 + "')"):
        with pytest.raises(language.ExpressionError, match="at most 8 classes of Unicode"):
            language.Expression(source)
    assert compiled == [r"(?i:[\pL\PL][\pL\PL]\pN)"]


def test_what_is_meant_well_gives_what_a_person_would_compute_by_hand(figure: Figure) -> None:
    prompts, completions = zip(*TEXTS, strict=True)
    equal = 0
    for source, by_hand in MEANT_WELL.items():
        found = kinds.build(ExpressionReward(expression=source))(prompts=prompts, completions=completions)
        expected = [None if (value := by_hand(*texts)) is None else float(value) for texts in TEXTS]
        assert found == pytest.approx(expected), source
        equal += 1
    assert len(MEANT_WELL) >= 12
    figure("expressions equal to a computation by hand", len(MEANT_WELL), equal)

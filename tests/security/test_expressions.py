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
from playground.rewards import mixture
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
"%s" % completion   '%1000000000d' % 1   completion[0]   completion[::-1]   {"a": 1}["a"]   (1, 2)[0]
(lambda x: x)(1)   [x for x in completion]   {x: 1 for x in completion}   (words := 1) + words
words(*[completion])   max(*[1, 2])   words(**{'text': completion})   words(text=completion)   f"{().__class__}"
__import__('os').system('touch CANARY')   eval('1')   exec('1')   open('CANARY', 'w')   compile('1', '', 'eval')
globals()   getattr(completion, 'upper')()   setattr(completion, 'x', 1)   type(completion)   print(completion)
breakpoint()   exit()   __builtins__   words   words.__globals__   (words)(completion)(1)   (words or count)(completion)
await words(completion)   yield 1   import os; os.getpid()   x = 1   return 1   words(completion) is 1   None   ...
b'a'   1j   ~1   1 & 2   1 << 99999   []   ()   *completion   completion, prompt   1 +   words)completion(
completion   'a' + 1   'a' * 9   completion * 1000000000   upper(completion) * 10 ** 9   1 in completion   words(1)
words()   clip(1, 2)   matches(completion, completion)   keywords(completion, prompt)   matches(completion, 1)
""")
# characters that are not what they look like
TRICKS = [f"words(completion){character}+ 1" for character in "\u202e\u00a0\u0000\ufeff\u2065\u2028"]
TRICKS += ["wоrds(completion)", "１ + 1", "ᴡords(completion) + words(completion.x)"]
NESTED = """
(|1|)|1000   [|||900   -|1||1999   not |1||499   1+|1||999   2**|2||600   1 if 1 else |1||160   lambda: |1||240
1<|1||900   abs(|1|)|400   x|||10240   9|||1900   {||}|300   max(|1|,1)|250   ''|||990   f"{|1|}"|1   [({|||60
"""  # before, middle, behind, how often
SYNTAX_BOMBS = [
    head * int(times) + middle + tail * int(times)
    for head, middle, tail, times in (bomb.split("|") for bomb in spaced(NESTED))
]
SYNTAX_BOMBS += [" " * 5000, "0x" + "f" * 1900, "f'" + "{" * 900 + "}" * 900 + "'", 'f"{' + "(" * 190 + "1" + ")" * 190]
NUMBER_BOMBS = spaced("""
10 ** 10 ** 10 ** 10   2.0 ** 99999   1e15 * 1e15   1e999   exp(exp(exp(9)))   0 ** -1   (-1) ** 0.5   log(0)   1 % 0
1 / (words(completion) - words(completion))   exp(40) * exp(40)
""")
TEXT_BOMBS = [
    "words(" + "+".join(["completion"] * 50) + ") / 0",
    "+".join(["matches_count(completion, r'a(?:.*[a-f][^u-z]{60}[b-q].{60}x.*)?')"] * 20),
    "matches(completion, r'(a+)+$') + matches(completion, r'(a|a)*b{900}c{900}')",
    "matches(completion, '" + "a?" * 99 + "a" * 99 + "')",
    "keywords(completion + completion, '" + "a" * 1900 + "') / 0",
    r"matches(completion, r'(?i:[\pL\PL])')",
]
PATTERNS = r"(((a{30}){30}){30}){30}   (.{1,500}){1,500}   (?=a)b   (a)\1   (   [   \p{Nonsense}"
TEXT_BOMBS += [f"matches_count(completion, r'{pattern}')" for pattern in spaced(PATTERNS)]
ATTACKS = [*OUT, *TRICKS, *SYNTAX_BOMBS, *NUMBER_BOMBS, *TEXT_BOMBS]

CHILD = """
import json, os, resource, sys, time
from playground.config import yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards import mixture

TEXTS = [("User: " * 4000, "abcdefghijklmnopq" * 2000), ("p", "a" * 30000), ("", "a b " * 9000), ("", "")]

def outcome(source):
    try:
        spec = yaml_io.from_dict({"rewards": [{"kind": "expression", "expression": source}]}).rewards[0]
    except InvalidConfig as error:
        return "refused", str(error)
    try:
        return "computed", repr(mixture.build(spec)([p for p, _ in TEXTS], [c for _, c in TEXTS]))
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
    assert len(set(ATTACKS)) >= 120
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


# what a person would write by hand for each, without any of our code
MEANT_WELL: dict[str, Callable[[str, str], float | None]] = {
    'keywords(completion, "good", "so good")': lambda p, c: len(re.findall(r"\b(?:good|so good)\b", c.lower())),
    "distinct(completion)": lambda p, c: len(set(spoken(c))) / len(spoken(c)) if spoken(c) else 0,
    "overlap(completion, prompt)": lambda p, c: (
        len(set(spoken(c)) & set(spoken(p))) / len(set(spoken(c))) if spoken(c) else 0
    ),
    '"good" in completion and not "bad" in completion': lambda p, c: "good" in c and "bad" not in c,
    r'matches(completion, r"\bgood\b")': lambda p, c: re.search(r"\bgood\b", c) is not None,
    r'matches_count(completion, r"[a-z]+d\b")': lambda p, c: len(re.findall(r"[a-z]+d\b", c)),
    "clip(words(completion), 2, 5) ** 2": lambda p, c: min(max(len(spoken(c)), 2), 5) ** 2,
    "min(1, words(completion), 3) + max(words(prompt), 2)": lambda p, c: (
        min(1, len(spoken(c)), 3) + max(len(spoken(p)), 2)
    ),
    "sqrt(words(completion)) + exp(-characters(completion)) + log(1 + words(completion))": lambda p, c: (
        math.sqrt(len(spoken(c))) + math.exp(-len(c)) + math.log(1 + len(spoken(c)))
    ),
    "floor(words(completion) / 4) - round(words(completion) / 7, 2)": lambda p, c: (
        math.floor(len(spoken(c)) / 4) - round(len(spoken(c)) / 7, 2)
    ),
    "otherwise(nothing if words(completion) else 1, -1)": lambda p, c: -1 if spoken(c) else 1,
    "words(completion)\n  - 2 ** -1  \n": lambda p, c: len(spoken(c)) - 0.5,
}
TEXTS = [
    ("Say it", ""),
    ("Is it so good?", "So good, so good, it's so good."),
    ("Größe", "größer"),
    ("one two", "one two three four five six seven eight nine ten eleven twelve."),
    ("y", "\n\t!?"),
]


def test_what_is_meant_well_gives_what_a_person_would_compute_by_hand(figure: Figure) -> None:
    prompts, completions = zip(*TEXTS, strict=True)
    equal = 0
    for source, by_hand in MEANT_WELL.items():
        found = mixture.build(ExpressionReward(expression=source))(prompts=prompts, completions=completions)
        expected = [None if (value := by_hand(*texts)) is None else float(value) for texts in TEXTS]
        assert found == pytest.approx(expected), source
        equal += 1
    figure("expressions equal to a computation by hand", len(MEANT_WELL), equal)

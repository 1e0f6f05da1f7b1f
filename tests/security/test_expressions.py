"""Expressions: what tries to get out, or to cost too much, is refused or stopped; what is meant well is computed."""

import json
import subprocess
import sys
from typing import Any

import pytest
import yaml

from playground.config import ExpressionReward
from playground.rewards import mixture
from tests.security import DATA
from tests.support import PROJECT

SECONDS = 1.0  # of computing, for each
MEGABYTES = 64  # of growth, over all of them
TABLES: dict[str, Any] = yaml.safe_load((DATA / "expressions.yaml").read_text(encoding="utf-8"))
SYNTAX_BOMBS = [before * times + middle + behind * times for before, middle, behind, times in TABLES["nested"]]
SYNTAX_BOMBS += [" " * 5000, "0x" + "f" * 1900, "f'" + "{" * 900 + "}" * 900 + "'", 'f"{' + "(" * 190 + "1" + ")" * 190]
TEXT_BOMBS = [
    "words(" + "+".join(["completion"] * 50) + ") / 0",
    "+".join(["matches_count(completion, r'a(?:.*[a-f][^u-z]{60}[b-q].{60}x.*)?')"] * 20),
    "matches(completion, r'(a+)+$') + matches(completion, r'(a|a)*b{900}c{900}')",
    "matches(completion, '" + "a?" * 99 + "a" * 99 + "')",
    "keywords(completion + completion, '" + "a" * 1900 + "') / 0",
    r"matches(completion, r'(?i:[\pL\PL])')",
    *(f"matches_count(completion, r'{pattern}')" for pattern in TABLES["patterns"]),
]
ATTACKS = [*TABLES["out"], *TABLES["tricks"], *SYNTAX_BOMBS, *TABLES["numbers"], *TEXT_BOMBS]

CHILD = """
import json, re, sys, time
from pathlib import Path
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

def most_megabytes():  # so far; getrusage would count those of the parent too
    return int(re.search("VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

outcome("words(completion) + matches(completion, 'a+b') + vader(completion) + quality(prompt, completion)")
before = most_megabytes()
for source in json.load(sys.stdin):
    start = time.process_time()
    how, told = outcome(source)
    print(json.dumps([how, told, time.process_time() - start, most_megabytes() - before]), flush=True)
"""


def test_no_attack_on_the_language_gets_out_or_costs_more_than_a_second(tmp_path, figure):
    assert len(set(ATTACKS)) >= 120
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(ATTACKS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PROJECT), "PATH": ""},
    )
    outcomes = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(outcomes) == len(ATTACKS), f"it ended at {ATTACKS[len(outcomes)]!r:.80}: {child.stderr[-500:]}"
    for source, (how, answer, seconds, grown) in zip(ATTACKS, outcomes, strict=True):
        shown = f"{source[:80]!r}: {how} after {seconds:.2f} s, {grown:.0f} MB more: {answer[:200]}"
        assert how in ("refused", "stopped"), shown
        assert seconds < SECONDS, shown
        assert grown < MEGABYTES, shown
        assert len(answer) < 600, shown
        assert "Traceback" not in answer, shown
    assert list(tmp_path.iterdir()) == []
    figure("expression escapes and bombs, each within 1 s and 64 MB", len(ATTACKS), len(outcomes))


@pytest.mark.parametrize(("expression", "by_hand"), TABLES["meant_well"])
def test_what_is_meant_well_gives_what_a_person_computes_by_hand(expression, by_hand, figure):
    prompts, completions = zip(*TABLES["texts"], strict=True)
    scores = mixture.build(ExpressionReward(expression=expression))(prompts=prompts, completions=completions)
    assert scores == pytest.approx(by_hand)
    figure("expressions equal to a computation by hand", 1, 1)

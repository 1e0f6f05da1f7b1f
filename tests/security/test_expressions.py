"""Expressions: what tries to get out, or to cost too much, is refused or stopped; what is meant well is computed."""

import json
import subprocess
import sys

import pytest

from playground.config import ExpressionReward
from playground.rewards import mixture
from tests.security import table
from tests.support import PROJECT

SECONDS = 1.0  # of computing, for each
MOST_BYTES = 64_000_000  # more of address space, over all of them: the system gives them no more
TABLES = table("expressions")
NESTED = [before * times + middle + behind * times for before, middle, behind, times in TABLES["nested"]]
SEARCHES = [f"matches_count(completion, r'{pattern}')" for pattern in TABLES["patterns"]]
ATTACKS = [*(text for kind in ("out", "tricks", "bombs", "numbers") for text in TABLES[kind]), *NESTED, *SEARCHES]

CHILD = """
import json, resource, sys, time
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

outcome("words(completion) + matches(completion, 'a+b') + vader(completion) + quality(prompt, completion)")
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + int(sys.argv[1]), held + int(sys.argv[1])))
for source in json.load(sys.stdin):
    start = time.process_time()
    how, told = outcome(source)
    print(json.dumps([how, told, time.process_time() - start]), flush=True)
"""


def test_no_attack_on_the_language_gets_out_or_costs_more_than_a_second(tmp_path, figure):
    assert len(set(ATTACKS)) >= 120
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(MOST_BYTES)],
        input=json.dumps(ATTACKS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PROJECT), "PATH": ""},
    )
    outcomes = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(outcomes) == len(ATTACKS), f"it ended at {ATTACKS[len(outcomes)]!r:.80}: {child.stderr[-500:]}"
    for source, (how, answer, seconds) in zip(ATTACKS, outcomes, strict=True):
        shown = f"{source[:80]!r}: {how} after {seconds:.2f} s: {answer[:200]}"
        assert how in ("refused", "stopped"), shown
        assert seconds < SECONDS, shown
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

"""Expressions: what tries to get out, or to cost too much, is refused or stopped; what is meant well is computed."""

import json
import subprocess
import sys

import pytest

from playground.config import ExpressionReward
from playground.rewards import mixture
from tests.security import DATA, table
from tests.support import PROJECT

SECONDS = 1.0  # of computing, for each
MOST_BYTES = 64_000_000  # more of address space, over all of them: the system gives them no more
TABLES = table("expressions")
NESTED = [before * times + middle + behind * times for before, middle, behind, times in TABLES["nested"]]
SEARCHES = [f"matches_count(completion, r'{pattern}')" for pattern in TABLES["patterns"]]
ATTACKS = [*(text for kind in ("out", "tricks", "bombs", "numbers") for text in TABLES[kind]), *NESTED, *SEARCHES]

CHILD = (DATA / "evaluate.py.txt").read_text(encoding="utf-8")


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

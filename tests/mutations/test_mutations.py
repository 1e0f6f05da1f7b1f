"""The list of mutations is in order: each names a text that stands once in the program, and a test that exists; and
there is no test in tests/faults and tests/security that none of them names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutations.run import Mutation, mutations, noticed_at, write_table
from tests.support import PROJECT

ALL = mutations()


@pytest.mark.parametrize("mutation", ALL, ids=lambda item: f"{item.name}-{item.test.rpartition('::')[2]}")
def test_a_mutation_can_be_applied(mutation: Mutation) -> None:
    (place,) = mutation.places()
    assert mutation.old in (PROJECT / place).read_text(encoding="utf-8")
    assert mutation.old and mutation.new != mutation.old
    path, _, test = mutation.test.partition("::")
    name = test.rpartition("::")[2].partition("[")[0]
    assert f"def {name}(" in (PROJECT / path).read_text(encoding="utf-8")


def test_no_two_lines_of_the_table_are_the_same() -> None:
    assert len({(mutation.name, mutation.test) for mutation in ALL}) == len(ALL)


@pytest.mark.parametrize("folder", ["faults", "security"])
def test_every_test_that_breaks_things_is_shown_to_bite(folder: str) -> None:
    named = {mutation.test.partition("[")[0] for mutation in ALL}
    here = set()
    for path in sorted((PROJECT / "tests" / folder).glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                here.add(f"tests/{folder}/{path.name}::{node.name}")
    assert here - named == set()


def test_what_is_broken_noticed_at_and_mended_again(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text("def add(a, b):\n    return a + b\n")
    test = "from adding import add\ndef test_add():\n    assert add(2, 3) == 5\ndef test_nothing():\n    add(2, 3)\n"
    (tmp_path / "test_adding.py").write_text(test)
    broken = Mutation("subtracts", "a + b", "a - b", "test_adding.py::test_add", "adding.py")
    assert noticed_at(broken, tmp_path) == 1
    assert not noticed_at(broken._replace(test="test_adding.py::test_nothing"), tmp_path)
    assert not noticed_at(broken._replace(test="test_adding.py::test_is_not_there"), tmp_path)
    assert "a + b" in (tmp_path / "adding.py").read_text()


def test_the_table_keeps_what_was_not_tried_again(tmp_path: Path) -> None:
    document = tmp_path / "table.md"
    document.write_text("<!-- mutations -->\n<!-- end of mutations -->\n")
    first, second, *_ = mutations()
    write_table(document, {first: 2, second: 0})
    write_table(document, {second: 1})
    text = document.read_text()
    assert f"2 of {len(ALL)} were noticed." in text
    told = [line.removesuffix(" |").rsplit(" | ", 1)[1] for line in text.splitlines() if line.startswith("| ")]
    assert told[1:4] == ["yes, at the second try", "yes", "not tried yet"]

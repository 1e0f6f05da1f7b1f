"""The list of mutations is in order: each names a text that stands once in its file, and a test that exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.run import Mutation, is_noticed, mutations
from tests.support import PROJECT


@pytest.mark.parametrize("mutation", mutations(), ids=lambda item: item.name)
def test_a_mutation_can_be_applied(mutation: Mutation) -> None:
    assert (PROJECT / mutation.file).read_text(encoding="utf-8").count(mutation.old) == 1
    assert mutation.new not in ("", mutation.old) or mutation.old
    path, _, test = mutation.test.partition("::")
    name = test.rpartition("::")[2].partition("[")[0]
    assert f"def {name}(" in (PROJECT / path).read_text(encoding="utf-8")


def test_what_is_broken_is_noticed_and_mended_again(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text("def add(a, b):\n    return a + b\n")
    test = "from adding import add\ndef test_add():\n    assert add(2, 3) == 5\ndef test_nothing():\n    add(2, 3)\n"
    (tmp_path / "test_adding.py").write_text(test)
    broken = Mutation("subtracts", "adding.py", "a + b", "a - b", "test_adding.py::test_add")
    assert is_noticed(broken, tmp_path)
    assert not is_noticed(broken._replace(test="test_adding.py::test_nothing"), tmp_path)
    assert not is_noticed(broken._replace(test="test_adding.py::test_is_not_there"), tmp_path)
    assert "a + b" in (tmp_path / "adding.py").read_text()

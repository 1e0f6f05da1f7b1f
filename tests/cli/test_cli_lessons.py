"""`lessons` and `lessons check`."""

import pytest

from playground.config import yaml_io
from playground.lessons import loading
from playground.setup import catalog
from tests.lessons import FILES, write


@pytest.fixture(autouse=True)
def _shipped(monkeypatch):
    monkeypatch.setattr(loading.Lessons.__init__, "__defaults__", (None, FILES))


def test_lessons_are_listed_by_course_with_own_ones_behind(run, tmp_path):
    write(tmp_path, "mine", course="ours")
    assert [line.split(":")[0] for line in run("lessons").out.splitlines()] == ["First", "   1 leash"]
    lines = run("lessons", "--lessons", tmp_path).out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["First", "   1 leash", "Ours", "   1 mine"]
    (course,) = run("lessons", "--json").data
    assert course["name"] == "first"
    assert course["lessons"][0]["runs"] == ["no-leash", "kinder-reviews"]


def test_a_check_shows_what_a_lesson_says_of_the_recordings_of_its_runs(run):
    result = run("lessons", "check", FILES / "leash.yaml")
    assert result.code == 0
    assert "Run 1, Without a leash: no-leash (its recording)" in result.out
    assert "came true: Strings of praise that are no English" in result.out
    assert "said: With a leash 59 of 64 keep to the grammar, without 0 of 64." in result.out
    data = run("lessons", "check", FILES / "leash.yaml", "--json").data
    assert [tried["held"] for tried in data["runs"]] == [[1], []]
    assert data["runs"][0]["mend"] == []


def test_what_is_wrong_with_a_lesson_is_listed(run, tmp_path):
    result = run("lessons", "check", write(tmp_path, minutes=1, look=["loss"], reveal__0__say="{x}"))
    assert result.code == 2
    assert result.out == ""
    assert {line.split(":")[0] for line in result.err.splitlines()} == {"minutes", "look.0"}
    assert run("lessons", "check", tmp_path / "nothing.yaml").code == 2


def test_a_lesson_is_tried_on_runs_that_are_named(run):
    tame, wild = catalog.RECORDED / "kinder-reviews", catalog.RECORDED / "no-leash"
    swapped = run("lessons", "check", FILES / "leash.yaml", "--run", tame, "--run", wild)
    assert swapped.code == 1
    assert "(its recording)" not in swapped.out
    assert "came true: Even kinder, and still English" in swapped.out
    assert "the first run reaches it already" in swapped.out
    short = run("lessons", "check", FILES / "leash.yaml", "--run", wild)
    assert "2 runs: name one for each" in short.err
    assert "ships" not in short.err
    many = run("lessons", "check", FILES / "leash.yaml", *(["--run", tame] * 3))
    assert many.code == 2
    assert "2 run(s), not 3" in many.err


def test_a_lesson_without_recordings_says_how_to_try_it(run, tmp_path):
    result = run("lessons", "check", write(tmp_path, runs__0__set={"kl.coef": 0.01}))
    assert result.code == 0
    assert "--train" in result.err
    assert "Run 1" not in result.out


def test_the_runs_of_a_lesson_are_trained_where_that_is_asked_for(run, outputs):
    result = run("lessons", "check", FILES / "leash.yaml", "--train")  # by a worker whose score rises by 2
    assert result.code == 1
    assert "said: The score rose by +2.0 sd only." in result.out
    assert "To mend: Run 1 has no `positive`." in result.out
    started = [yaml_io.load(path).name for path in sorted(outputs.glob("*/config.yaml"))]
    assert sorted(started) == ["kinder-reviews", "no-leash", "no-leash"]  # the last with the solution of its task
    assert "To mend: break_it.solution does not reach it: " in result.out

"""Lessons from files: what is wrong with one is said all at once, beside its field, with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidConfig
from playground.lessons import loading
from playground.lessons.loading import LessonNotFound, Lessons
from tests.lessons import FILES, GONE, lesson, write


def problems(folder: Path, **changes: Any) -> dict[str, str]:
    with pytest.raises(InvalidConfig) as caught:
        lesson(folder, **changes)
    return dict(caught.value.problems)


def test_a_lesson_is_called_as_its_file_and_has_the_settings_of_its_runs(tmp_path: Path) -> None:
    found = lesson(tmp_path, runs__1__set={"kl.coef": 0.5})
    assert found.name == "mine"
    assert [found.config(index).kl.coef for index in (0, 1, 2)] == [0.0, 0.5, 0.0]
    first, second = found.runs
    assert first.twin is not None
    assert first.twin.name == "no-leash"
    assert second.twin is None


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"question": GONE}, "question", "missing"),
    ({"colour": "red"}, "colour", "no such setting"),
    ({"reveals": []}, "reveals", "`reveal`"),
    ({"predict__optoins": []}, "predict.optoins", "`options`"),
    ({"runs__0__presett": "x"}, "runs.0.presett", "`preset`"),
    ({"minutes": 40}, "minutes", "at most 15"),
    ({"question": "x" * 141}, "question", "at most 140"),
    ({"situation": "word " * 71}, "situation", "71 words"),
    ({"look": ["texts", "loss"]}, "look.1", "must be"),
    ({"break_it__solution": {"kl.target": 3}}, "break_it.solution.kl.target", "There are: kl.coef"),
    ({"break_it__solution": {"kl.coef": -1}}, "break_it.solution.kl.coef", "at least 0"),
    ({"look": ["texts", "texts"]}, "look", "twice"),
    ({"figures": ["entropy"]}, "figures", "`curves`"),
    ({"look": ["curves"], "figures": ["entropi"]}, "figures.0", "`entropy`"),
    ({"look": ["curves"], "figures": ["minutes"]}, "figures.0", "no fact"),
    ({"look": ["curves"], "figures": ["monitors"], "runs__0__preset": "chalkboard"}, "figures.0", "no fact"),
    ({"runs__0__preset": "no-leach"}, "runs.0.preset", "`no-leash`"),
    ({"runs__0__preset": "/etc/passwd"}, "runs.0.preset", "no preset"),
    ({"runs__0__set": {"kl.coef": -1}}, "runs.0.set.kl.coef", "at least 0"),
    ({"runs__0__set": {"kl.cof": 1}}, "runs.0.set.kl.cof", "`kl.coef`"),
    ({"predict__options__1__when": {"parsis": "< 0.3"}}, "predict.options.1.when.parsis", "`parses`"),
    ({"predict__options__1__when": {"parses": "0.3"}}, "predict.options.1.when.parses", "is no condition"),
    ({"predict__options__1__when": {"parses": "< 30"}}, "predict.options.1.when.parses", "0 to 1"),
    ({"predict__options__1__when": {}}, "predict.options.1.when", "at least one"),
    ({"predict__options__1__when": {"polite": "< 0.3"}}, "predict.options.1.when.polite", "no fact"),
    ({"predict__options__1__when": {"first.parses": "< 0.3"}}, "predict.options.1.when.first.parses", "`parses`"),
    ({"predict__options__1__when": {"shape.score": "> 1"}}, "predict.options.1.when.shape.score", "no fact"),
    ({"predict": {"ask": "What?", "kind": "choice"}}, "predict.options", "missing"),
    ({"predict": {"ask": "What?", "kind": "number", "low": 2, "high": 1, "of": "kl"}}, "predict.high", "`low`"),
    ({"predict": {"ask": "What?", "kind": "number"}}, "predict.of", "missing"),
    ({"predict": {"ask": "What?", "kind": "number", "of": "loss"}}, "predict.of", "no fact"),
    ({"predict": {"ask": "What?", "kind": "number", "of": "kl", "shapes": ["rises"]}}, "predict.shapes", "no use"),
    ({"predict": {"ask": "?", "kind": "curve", "of": "minutes", "shapes": ["rises"]}}, "predict.of", "no fact"),
    ({"predict": {"ask": "?", "kind": "curve", "of": "kl", "shapes": ["rises"]}}, "predict.shapes", "three"),
    ({"reveal__0__say": "The score is {scor}."}, "reveal.0.say", "`score`"),
    ({"reveal__0__say": "The score is {first.score}."}, "reveal.0.say", "`score`"),
    ({"reveal__0__say": "The score is {score."}, "reveal.0.say", "brace"),
    ({"reveal__2__run": 1}, "reveal", "run 2"),
    ({"runs": [{"preset": "no-leash", "title": "One"}], "explain": ["x"]}, "reveal", "one run"),
    ({"explain": ["{nothing}"]}, "explain.0", "no fact"),
    ({"break_it__knobs": ["kl.cof"]}, "break_it.knobs.0", "`kl.coef`"),
    ({"break_it__knobs": ["method"]}, "break_it.knobs.0", "no slider"),
    ({"break_it__when": {"score": "high"}}, "break_it.when.score", "is no condition"),
    ({"transfer__options__1__right": True}, "transfer.options", "exactly one"),
]


@pytest.mark.parametrize(("changes", "field", "words"), WRONG, ids=[f"{one[1]}-{one[2]}" for one in WRONG])
def test_what_is_wrong_is_said_beside_its_field(
    tmp_path: Path, changes: dict[str, Any], field: str, words: str
) -> None:
    assert words in problems(tmp_path, **changes)[field]


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    changes = {"look": ["texts", "texts"], "reveal__0__say": "{x}", "explain": ["{y}"], "break_it__knobs": ["z"]}
    assert set(problems(tmp_path, **changes)) == {"look", "reveal.0.say", "explain.0", "break_it.knobs.0"}


@pytest.mark.parametrize(
    "text", ["- 1", "x", "a: &a 1\nb: *a", "!!python/object:os.system x", "a: 1\na: 2", "# " * 999_999]
)
def test_a_file_is_plain_data_and_not_too_large(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidConfig):
        loading.load(write(tmp_path, text=text))


@pytest.mark.parametrize("name", ["Leash", "a b", "-x"])
def test_a_file_needs_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidConfig, match="small letters"):
        loading.load(tmp_path / f"{name}.yaml")
    with pytest.raises(InvalidConfig, match="There is no file"):
        loading.load(tmp_path / "nothing.yaml")
    with pytest.raises(InvalidConfig, match="a lesson is called as its file is"):
        loading.load(write(tmp_path, text="name: other"))


def test_lessons_come_by_course_and_number_and_a_course_may_go_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "courses.yaml").write_text("second: {title: Two}\nfirst: {title: One, about: Us}\n", encoding="utf-8")
    write(tmp_path, "c", course="second")
    write(tmp_path, "b", number=2)
    write(tmp_path, "a", number=7)
    found = Lessons(shipped=tmp_path)
    told = [(course.title, course.about, [one.name for one in course.lessons]) for course in found.courses]
    assert told == [("Two", "", ["c"]), ("One", "Us", ["b", "a"])]
    assert found.find("b").number == 2
    with pytest.raises(LessonNotFound, match="There are: "):
        found.find("../a")
    (tmp_path / "courses.yaml").unlink()
    assert {course.title for course in Lessons(shipped=tmp_path).courses} == {"First", "Second"}


def test_what_is_wrong_with_any_file_of_a_folder_is_said_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "courses.yaml").write_text("first: {title: One}\nsecond: {}\n", encoding="utf-8")
    write(tmp_path, "a", minutes=1)
    write(tmp_path, "b", course="frst")
    with pytest.raises(InvalidConfig) as caught:
        Lessons(shipped=tmp_path).find("a")
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {"courses.yaml second.title", "a.yaml minutes"}
    (tmp_path / "courses.yaml").write_text("first: {title: One}\n", encoding="utf-8")
    with pytest.raises(InvalidConfig, match=r"b.yaml course: .* Did you mean `first`"):
        Lessons(shipped=tmp_path).find("a")


def test_two_lessons_of_a_course_have_two_numbers(tmp_path: Path) -> None:
    write(tmp_path, "a")
    write(tmp_path, "b")
    with pytest.raises(InvalidConfig, match=r"b.yaml number: first has a at 1 already"):
        loading.courses_of(tmp_path)


def test_ones_own_lessons_come_behind_those_that_ship_and_take_no_name_of_theirs(tmp_path: Path) -> None:
    write(tmp_path, "mine", course="ours")
    assert [course.name for course in Lessons(tmp_path, FILES).courses] == ["first", "ours"]
    write(tmp_path, "leash", course="ours", number=2)
    with pytest.raises(InvalidConfig, match="A lesson of this name ships"):
        Lessons(tmp_path, FILES)
    with pytest.raises(InvalidConfig, match="There is no folder"):
        Lessons(tmp_path / "nothing", FILES)


def test_a_folder_has_so_many_files_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_FILES", 1)
    for name in "ab":
        write(tmp_path, name)
    with pytest.raises(InvalidConfig, match="at most 1"):
        Lessons(tmp_path, FILES)

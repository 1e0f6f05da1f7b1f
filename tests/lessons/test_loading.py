"""Lessons from files: what is wrong with one is said all at once, beside its field, with what to do."""

import pytest

from playground.errors import InvalidConfig
from playground.lessons import loading
from playground.lessons.loading import LessonNotFound, Lessons
from tests.lessons import FILES, lesson, write, wrong


def problems(folder, **changes):
    with pytest.raises(InvalidConfig) as caught:
        lesson(folder, **changes)
    return dict(caught.value.problems)


def test_a_lesson_is_called_as_its_file_and_has_the_settings_of_its_runs(tmp_path):
    loaded = lesson(tmp_path, runs__1__set={"kl.coef": 0.5})
    assert loaded.name == "mine"
    assert [loaded.config(index).kl.coef for index in (0, 1, 2)] == [0.0, 0.5, 0.0]
    assert [run.twin and run.twin.name for run in loaded.runs] == ["no-leash", None]


@pytest.mark.parametrize(("changes", "field", "words"), wrong("refused"))
def test_what_is_wrong_is_said_beside_its_field(tmp_path, changes, field, words):
    assert words in problems(tmp_path, **changes)[field]


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    changes = {"look": ["texts", "texts"], "reveal__0__say": "{x}", "explain": ["{y}"], "break_it__knobs": ["z"]}
    assert set(problems(tmp_path, **changes)) == {"look", "reveal.0.say", "explain.0", "break_it.knobs.0"}


@pytest.mark.parametrize(
    "text", ["- 1", "x", "a: &a 1\nb: *a", "!!python/object:os.system x", "a: 1\na: 2", "# " * 999_999]
)
def test_a_file_is_plain_data_and_not_too_large(tmp_path, text):
    with pytest.raises(InvalidConfig):
        loading.load(write(tmp_path, text=text))


@pytest.mark.parametrize("name", ["Leash", "a b", "-x"])
def test_a_file_needs_a_plain_name(tmp_path, name):
    with pytest.raises(InvalidConfig, match="small letters"):
        loading.load(tmp_path / f"{name}.yaml")
    with pytest.raises(InvalidConfig, match="There is no file"):
        loading.load(tmp_path / "nothing.yaml")
    with pytest.raises(InvalidConfig, match="a lesson is called as its file is"):
        loading.load(write(tmp_path, text="name: other"))


def test_lessons_come_by_course_and_number_and_a_course_may_go_without_a_name(tmp_path):
    (tmp_path / "courses.yaml").write_text("second: {title: Two}\nfirst: {title: One, about: Us}\n", encoding="utf-8")
    write(tmp_path, "c", course="second")
    write(tmp_path, "b", number=2)
    write(tmp_path, "a", number=7)
    lessons = Lessons(shipped=tmp_path)
    courses = [(course.title, course.about, [lesson.name for lesson in course.lessons]) for course in lessons.courses]
    assert courses == [("Two", "", ["c"]), ("One", "Us", ["b", "a"])]
    assert lessons.find("b").number == 2
    with pytest.raises(LessonNotFound, match="There are: "):
        lessons.find("../a")
    (tmp_path / "courses.yaml").unlink()
    assert {course.title for course in Lessons(shipped=tmp_path).courses} == {"First", "Second"}


def test_what_is_wrong_with_any_file_of_a_folder_is_said_with_its_name(tmp_path):
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
    for name in "ab":
        write(tmp_path, name)
    with pytest.raises(InvalidConfig, match=r"b.yaml number: first has a at 1 already"):
        loading.courses_of(tmp_path)


def test_ones_own_lessons_come_behind_those_that_ship_and_take_no_name_of_theirs(tmp_path):
    write(tmp_path, "mine", course="ours")
    assert [course.name for course in Lessons(tmp_path, FILES).courses] == ["first", "ours"]
    write(tmp_path, "leash", course="ours", number=2)
    with pytest.raises(InvalidConfig, match="A lesson of this name ships"):
        Lessons(tmp_path, FILES)
    with pytest.raises(InvalidConfig, match="There is no folder"):
        Lessons(tmp_path / "nothing", FILES)


def test_a_folder_has_so_many_files_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "MOST_FILES", 1)
    for name in "ab":
        write(tmp_path, name)
    with pytest.raises(InvalidConfig, match="at most 1"):
        Lessons(tmp_path, FILES)

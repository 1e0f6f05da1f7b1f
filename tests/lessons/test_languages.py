"""Other languages: a translated course misses no sentence, and no sentence loses one of its places."""

import re

import pytest

from playground.lessons import loading
from playground.ui import own_files

READ = set("title about question situation ask say belief why explain says so done hints".split())
PLACE = re.compile(r"\{[^{}]+\}")
COURSES = [(path.parent.name, path.stem) for path in own_files.LANGUAGES.glob("*/*.yaml") if path.stem != "page"]


def texts_of(part):
    """What is read of a lesson: the texts of these fields, however deep they lie."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name in READ and value:
                yield from [value] if isinstance(value, str) else value
            if isinstance(value, (dict, list, tuple)):
                yield from texts_of(value)
    elif isinstance(part, (list, tuple)):
        for value in part:
            yield from texts_of(value)


def lines(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("language", "name"), COURSES)
def test_a_course_in_another_language_misses_no_sentence_of_its_lessons(language, name):
    (course,) = (course for course in loading.courses_of(loading.SHIPPED) if course.name == name)
    parts = [part.model_dump(mode="json") for part in (*course.questions, *course.lessons)]
    wanted = [course.title, course.about, *texts_of(parts)]
    translated = dict(own_files.sentences(language))
    assert [text for text in map(lines, wanted) if text not in translated] == []


@pytest.mark.parametrize("language", sorted({language for language, _ in COURSES}))
def test_a_translated_sentence_has_the_places_of_the_english_one(language):
    for english, other in own_files.sentences(language):
        assert english == lines(english), "one line, one space between words: so it is looked up"
        assert sorted(PLACE.findall(english)) == sorted(PLACE.findall(other)), english

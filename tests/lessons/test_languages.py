"""Other languages: a translated course misses no sentence, no sentence loses one of its places, and each of the page is
one that it still says."""

import ast
import re

import pytest

from playground.config import yaml_io
from playground.lessons import loading
from playground.ui import own_files
from tests.support import PROJECT

READ = set("title about question situation ask say belief why explain says so done hints".split())
PLACE = re.compile(r"\{[^{}]+\}")
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|[`{}]', re.DOTALL)
TEMPLATE = re.compile(r"(?:\\.|[^`\\])*?(`|\$\{)", re.DOTALL)
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


def literals(script):
    """The texts of a script; of a template what stands between its places."""
    open_parts, at = [], 0
    while found := (TEMPLATE if open_parts[-1:] == ["`"] else CODE).search(script, at):
        at = found.end()
        if open_parts[-1:] == ["`"]:
            yield found[0].removesuffix(found[1])
            open_parts = open_parts[:-1] if found[1] == "`" else [*open_parts, "{"]
        elif found[0][0] == '"':
            yield found[0][1:-1]
        elif found[0] in "`{":
            open_parts.append(found[0])
        elif found[0] == "}":
            open_parts = open_parts[:-1]


def words(text):
    """Without units, which belong to a figure in its place."""
    return " ".join(word for word in re.findall(r"[\w%']+", text) if word not in ("sd", "nats"))


def test_a_sentence_of_the_page_that_is_translated_is_one_that_it_says():
    """Of one that it no longer says the translation would be kept for nothing, and the new one be read in English."""
    scripts = (PROJECT / "playground/ui/static").rglob("*.js")
    parts = {text for script in scripts for text in literals(script.read_text(encoding="utf-8"))}
    parts = {words(ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)) for text in parts}
    sources = (PROJECT / "playground").rglob("*.py")
    nodes = (node for path in sources for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    whole = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    parts |= {words(part) for text in whole for part in PLACE.split(text)} - {""}
    written = [path for end in ("toml", "yaml") for path in (PROJECT / "playground").rglob(f"*.{end}")]
    written += [*(PROJECT / "presets").rglob("*.yaml"), *(PROJECT / "lessons").glob("*.yaml")]
    said = " ".join(["", *map(words, [*whole, *(path.read_text(encoding="utf-8") for path in written)]), ""])

    def is_said(part):
        """In one place, or put together of whole parts."""
        sequence, ends = words(part).split(), [0]
        for end in range(1, len(sequence) + 1):
            ends += [end] if any(" ".join(sequence[start:end]) in parts for start in ends) else []
        return ends[-1] == len(sequence) or f" {' '.join(sequence)} " in said

    pages = [own_files.LANGUAGES / language / "page.yaml" for language in {language for language, _ in COURSES}]
    english = {pair[0] for path in pages for pair in yaml_io.read_yaml(path)}
    assert sorted(text for text in english if not all(is_said(part) for part in PLACE.split(text))) == []

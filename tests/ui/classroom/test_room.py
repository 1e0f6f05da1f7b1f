"""The room of a class: what it keeps through restarts, two servers, and damage."""

import contextlib
import multiprocessing
import stat

import pytest

from playground.ui.classroom import room
from playground.ui.classroom.records import ClassLocation
from playground.ui.classroom.room import Room, WrongCode, hash_of
from playground.ui.classroom.room_file import FILE, NoClass
from tests.support import at_once, wait_until

ASKED = {"ask": "Which?", "options": ["This", "That"], "what": "typed"}
THIS, THAT = {"choice": 0}, {"choice": 1}


@pytest.fixture
def class_(tmp_path):
    class_ = Room(tmp_path)
    class_.open()
    yield class_
    class_.end()


@pytest.fixture
def token(class_):
    return class_.join(class_.code)


def restarted(class_):
    class_.end()
    return Room(class_.file.path.parent)


def test_a_room_that_was_never_opened_makes_no_file_and_lets_nobody_in(tmp_path):
    class_ = Room(tmp_path)
    assert (class_.code, class_.version, class_.step(), class_.steps()) == ("", 0, None, [])
    assert (class_.present(), class_.joined(), class_.person("x")) == ([], 0, None)
    for act in (lambda: class_.join("ABCD"), lambda: class_.begin("question", ASKED), class_.close):
        with pytest.raises(NoClass):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_code_is_four_letters_that_are_read_well_and_is_taken_in_any_case_and_with_spaces(class_):
    assert len(class_.code) == 4
    assert set(class_.code) <= set(room.LETTERS)
    assert not set("IO") & set(room.LETTERS)
    assert class_.person(class_.join(f" {class_.code.lower()} ")) is not None
    for wrong in ("", "AAAA", class_.code[:3], class_.code + "A", "\ud800", "ÄÖÜß", "0" * 1000):
        with pytest.raises(WrongCode):
            class_.join(wrong if wrong != class_.code else "BBBB")


def test_an_earlier_step_can_be_the_class_s_again_as_it_was_left(class_, token):
    first = class_.begin("question", ASKED)
    class_.set_state(first, "shown")
    second = class_.begin("question", ASKED)
    before = class_.version
    class_.back_to(first)
    assert class_.version > before
    assert restarted(class_).step() == class_.find(first.id)
    assert (class_.step().state, class_.find(second.id).state) == ("shown", "closed")
    class_.set_state(first, "open")
    class_.answer(hash_of(token), first, 1, THAT)
    third = class_.begin("question", ASKED)
    assert (class_.step(), class_.find(first.id).state) == (third, "closed")


def test_a_class_that_has_ended_can_go_on_as_it_was_and_a_new_one_is_another(class_, token):
    code, step = class_.code, class_.begin("question", ASKED)
    class_.close()
    class_.close()  # a press that arrives twice
    later = restarted(class_)
    assert later.taking_part(token) is None
    later.go_on()
    assert (later.code, later.step(), later.taking_part(token)) == (code, step, hash_of(token))
    later.go_on()
    new = later.open()
    later.close()
    later.go_on()
    assert (later.code, later.step()) == (new, None)


def test_all_of_a_class_is_there_after_the_server_s_end(class_, token):
    step = class_.begin("question", ASKED)
    class_.answer(hash_of(token), step, 1, THAT)
    code, version = class_.code, class_.version
    later = restarted(class_)
    assert (later.code, later.version, later.step()) == (code, version, step)
    assert (later.person(token), later.present()) == (hash_of(token), [])
    assert [answer.value for answer in later.answers(step)] == [THAT]
    later.end()


def test_no_person_is_led_to_where_a_class_was_that_has_ended(class_):
    place = ClassLocation("run=a")
    class_.lead_to(place)
    assert class_.fact("location") == {"query": "run=a", "update": None, "text": None, "played": None}
    after = [class_.close, lambda: class_.lead_to(place), class_.open]  # a run that the desk starts afterwards
    for act in after:
        act()
        assert class_.fact("location") is None


def test_no_token_is_kept_and_the_file_is_for_the_server_alone(class_, token):
    class_.end()
    assert token.encode() not in b"".join(path.read_bytes() for path in class_.file.path.parent.iterdir())
    assert stat.S_IMODE(class_.file.path.stat().st_mode) == 0o600


def test_the_newest_answer_counts_until_a_question_is_closed_and_each_round_has_its_own(class_, token):
    person, step = hash_of(token), class_.begin("question", ASKED)
    for choice in (THIS, THAT, THIS):
        class_.answer(person, step, 1, choice)
    assert [answer.value for answer in class_.answers(step)] == [THIS]
    class_.set_state(step, "closed")
    with pytest.raises(NoClass, match="closed"):
        class_.answer(person, step, 1, THAT)
    class_.ask_again(step)
    with pytest.raises(NoClass):
        class_.answer(person, step, 1, THAT)  # the first round is over
    class_.answer(person, step, 2, THAT)
    assert [(answer.item, answer.value) for answer in class_.answers(step, person)] == [(1, THIS), (2, THAT)]
    other = class_.begin("question", ASKED)
    assert (class_.find(step.id).state, class_.step()) == ("closed", other)
    for value in ("x" * 4000, float("nan")):
        with pytest.raises((NoClass, ValueError)):
            class_.answer(person, other, 1, value)
    assert class_.answered(other) == 0


def test_a_new_class_knows_nobody_of_the_last_one(class_, token):
    step = class_.begin("question", ASKED)
    class_.answer(hash_of(token), step, 1, THAT)
    version = class_.version
    class_.open()
    assert (class_.person(token), class_.steps(), class_.joined(), class_.present()) == (None, [], 0, [])
    assert class_.begin("question", ASKED).id != step.id  # a late answer to the old one meets no other
    assert class_.version > version


def test_no_more_join_than_a_class_has(class_, monkeypatch):
    monkeypatch.setattr(room, "MOST_PEOPLE", 5)
    tokens = []

    def join():
        with contextlib.suppress(NoClass):
            tokens.append(class_.join(class_.code))

    at_once(*[join] * 12)
    assert len(tokens) == class_.joined() == 5
    assert len({class_.numbers()[hash_of(token)] for token in tokens}) == 5


def _answer_many(outputs, step, first):
    other = Room(outputs)
    for number in range(first, first + 50):
        other.answer(f"person-{number}", other.find(step), 1, {"choice": number % 2})
    other.end()


def test_two_servers_of_one_folder_lose_nothing_of_each_other(class_):
    step = class_.begin("question", ASKED)
    folder = class_.file.path.parent
    other = multiprocessing.get_context("spawn").Process(target=_answer_many, args=(folder, step.id, 0))
    other.start()
    wait_until(lambda: class_.answers(step))
    _answer_many(folder, step.id, 50)
    other.join()
    assert other.exitcode == 0
    assert {answer.person for answer in class_.answers(step)} == {f"person-{number}" for number in range(100)}


DAMAGES = {
    "no database": lambda whole: b"not a database " * 100,
    "only its name": lambda whole: b"SQLite format 3\0" + b"\xff" * 4000,
    "cut": lambda whole: whole[: len(whole) // 2],
    "a table": lambda whole: whole[:4096] + b"\xff" * 4096 + whole[8192:],
    "an answer": lambda whole: whole.replace(b'{"choice": 1}', b'{"choice\xff 1}'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_a_sentence_that_names_it_and_makes_way_for_a_new_class(class_, token, damage):
    class_.answer(hash_of(token), class_.begin("question", ASKED), 1, THAT)
    class_.end()
    found = damage(class_.file.path.read_bytes())
    class_.file.path.write_bytes(found)
    step = class_.step()
    assert (class_.answers(step) if step else []) == []
    assert (class_.version, class_.step(), class_.code, class_.person(token)) == (0, None, "", None)
    for act in (lambda: class_.join("ABCD"), class_.close, lambda: class_.set_fact("free", True)):
        with pytest.raises(NoClass, match=FILE):
            act()
    assert (len(class_.open()), class_.file.damaged) == (4, "")
    assert class_.person(class_.join(class_.code)) is not None
    assert found in [path.read_bytes() for path in class_.file.path.parent.glob(f"{FILE}.damaged")]


def test_a_full_disk_is_a_sentence_and_takes_nothing_that_was_kept(class_, token):
    step = class_.begin("question", ASKED)
    person, database = hash_of(token), class_.file._connection
    class_.answer(person, step, 1, THAT)
    ((pages,),) = class_.file.read("PRAGMA page_count")
    database.execute(f"PRAGMA max_page_count = {pages}")  # no room for more
    with pytest.raises(NoClass, match="Free some space"):
        for number in range(200):
            class_.answer(f"person-{number}", step, 1, {"text": "x" * 3000})
    database.execute("PRAGMA max_page_count = 100000")
    assert {answer.person: answer.value for answer in class_.answers(step)}[person] == THAT
    class_.answer(person, step, 1, THIS)
    assert class_.answers(step, person)[0].value == THIS


def test_an_answer_that_fails_on_its_way_leaves_none(class_, token):
    step = class_.begin("question", ASKED)
    with pytest.raises(NoClass), class_.file.change() as write:
        write.execute("INSERT INTO answers VALUES (?, 1, 'p', '{}', 0)", (step.id,))
        raise NoClass("on its way")
    assert class_.answers(step) == []
    class_.answer(hash_of(token), step, 1, THAT)

"""The room of a class: what it keeps through restarts, two servers, a hundred answers at once, and damage."""

from __future__ import annotations

import contextlib
import multiprocessing
import stat
from pathlib import Path

import pytest

from playground.classroom import room
from playground.classroom.room import Room, WrongCode, hash_of
from playground.classroom.room_file import FILE, NoClass
from tests.support import at_once

ASKED = {"ask": "Which?", "options": ["This", "That"], "what": "typed"}


@pytest.fixture
def opened(tmp_path: Path):
    """A class, and one person's token."""
    found = Room(tmp_path)
    yield found, found.join(found.open())
    found.end()


def again(found: Room) -> Room:
    """The same room in the server's next life."""
    found.end()
    return Room(found.file.path.parent)


def test_a_room_that_was_never_opened_makes_no_file_and_lets_nobody_in(tmp_path):
    found = Room(tmp_path)
    assert (found.code, found.version, found.step(), found.steps(), found.present()) == ("", 0, None, [], 0)
    assert found.joined() == 0
    assert found.person("x") is None
    for act in (lambda: found.join("ABCD"), lambda: found.begin("question", ASKED), found.close):
        with pytest.raises(NoClass):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_code_is_four_letters_that_are_read_well_and_is_taken_in_any_case_and_with_spaces(opened):
    found, _ = opened
    assert len(found.code) == 4
    assert set(found.code) <= set(room.LETTERS)
    assert not set("IO") & set(room.LETTERS)
    assert found.person(found.join(f" {found.code.lower()} ")) is not None
    for wrong in ("", "AAAA", found.code[:3], found.code + "A", "\ud800", "ÄÖÜß", "0" * 1000):
        with pytest.raises(WrongCode):
            found.join(wrong if wrong != found.code else "BBBB")


def test_an_earlier_step_can_be_the_class_s_again_as_it_was_left(opened):
    found, token = opened
    first = found.begin("question", ASKED)
    found.set_state(first, "shown")
    second = found.begin("question", ASKED)
    before = found.version
    found.back_to(first)
    assert found.version > before
    assert again(found).step() == found.find(first.id)
    assert found.step().state == "shown"
    assert found.find(second.id).state == "closed"
    found.set_state(first, "open")
    found.answer(hash_of(token), first, 1, {"choice": 1})
    third = found.begin("question", ASKED)
    assert found.step() == third
    assert found.find(first.id).state == "closed"


def test_a_class_that_has_ended_can_go_on_as_it_was_and_a_new_one_cannot_be_the_old_one(opened):
    found, token = opened
    code, step = found.code, found.begin("question", ASKED)
    found.close()
    found.close()  # a press that arrives twice
    later = again(found)
    assert later.taking_part(token) is None
    later.go_on()
    assert (later.code, later.step(), later.taking_part(token)) == (code, step, hash_of(token))
    later.go_on()
    new = later.open()
    later.close()
    later.go_on()
    assert later.code == new
    assert later.step() is None


def test_all_of_it_is_there_after_the_server_s_end(opened):
    found, token = opened
    step = found.begin("question", ASKED)
    found.answer(hash_of(token), step, 1, {"choice": 1})
    code, version = found.code, found.version
    later = again(found)
    assert (later.code, later.version, later.step()) == (code, version, step)
    assert later.person(token) == hash_of(token)
    assert later.present() == 0
    assert [given.value for given in later.answers(step)] == [{"choice": 1}]
    later.end()


def test_no_one_is_led_to_where_a_class_was_that_has_ended(opened):
    found, _ = opened
    place = {"query": "run=a", "update": None, "text": None, "played": None}
    found.lead_to(place)
    assert found.fact("location") == place
    found.close()
    assert found.fact("location") is None
    found.lead_to(place)  # of a run that the desk starts afterwards
    assert found.fact("location") is None
    found.open()
    assert found.fact("location") is None


def test_no_token_and_no_name_is_kept_and_the_file_is_for_the_server_alone(opened):
    found, token = opened
    found.end()
    assert token.encode() not in b"".join(path.read_bytes() for path in found.file.path.parent.iterdir())
    assert stat.S_IMODE(found.file.path.stat().st_mode) == 0o600


def test_the_newest_answer_counts_until_it_is_closed_and_each_round_has_its_own(opened):
    found, token = opened
    person, step = hash_of(token), found.begin("question", ASKED)
    for choice in (0, 1, 0):
        found.answer(person, step, 1, {"choice": choice})
    assert [given.value["choice"] for given in found.answers(step)] == [0]
    found.set_state(step, "closed")
    with pytest.raises(NoClass, match="closed"):
        found.answer(person, step, 1, {"choice": 1})
    found.ask_again(step)
    with pytest.raises(NoClass):
        found.answer(person, step, 1, {"choice": 1})  # the first round is over
    found.answer(person, step, 2, {"choice": 1})
    assert [(given.item, given.value["choice"]) for given in found.answers(step, person)] == [(1, 0), (2, 1)]
    other = found.begin("question", ASKED)
    assert found.find(step.id).state == "closed"
    assert found.step() == other
    for value in ("x" * 4000, float("nan")):
        with pytest.raises((NoClass, ValueError)):
            found.answer(person, other, 1, value)
    assert found.answered(other) == 0


@pytest.mark.parametrize("number", [None, True, "1", 1.0, -1, 0, 2**70, [1], {"a": 1}])
def test_what_is_no_step_s_number_finds_none(opened, number):
    with pytest.raises(NoClass):
        opened[0].find(number)


def test_a_new_class_knows_nobody_of_the_last_one(opened):
    found, token = opened
    step = found.begin("question", ASKED)
    found.answer(hash_of(token), step, 1, {"choice": 1})
    version = found.version
    found.open()
    assert found.person(token) is None
    assert found.steps() == []
    assert found.joined() == found.present() == 0
    assert found.begin("question", ASKED).id != step.id  # a late answer to the old one meets no other
    assert found.version > version


def test_a_hundred_answer_and_change_their_mind_at_once_and_nothing_is_lost(opened):
    found, _ = opened
    step = found.begin("question", ASKED)
    people = [hash_of(found.join(found.code)) for _ in range(100)]

    def answer(number: int, person: str) -> None:
        for choice in (0, 1, number % 2):
            found.answer(person, step, 1, {"choice": choice})

    at_once(*[lambda number=number, person=person: answer(number, person) for number, person in enumerate(people)])
    given = {one.person: one.value["choice"] for one in found.answers(step)}
    assert given == {person: number % 2 for number, person in enumerate(people)}


def test_no_more_join_than_a_class_has(opened, monkeypatch):
    found, _ = opened
    monkeypatch.setattr(room, "MOST_PEOPLE", 5)
    joined = []

    def join() -> None:
        with contextlib.suppress(NoClass):
            joined.append(found.join(found.code))

    at_once(*[join] * 12)
    assert len(joined) == 4
    assert found.joined() == 5
    assert len({found.numbers()[hash_of(token)] for token in joined}) == 4


def _answer_many(outputs: Path, step: int, first: int) -> None:
    other = Room(outputs)
    for number in range(first, first + 50):
        other.answer(f"person-{number}", other.find(step), 1, {"choice": number % 2})
    other.end()


def test_two_servers_of_one_folder_lose_nothing_of_each_other(opened):
    found, _ = opened
    step = found.begin("question", ASKED)
    context = multiprocessing.get_context("spawn")
    servers = [context.Process(target=_answer_many, args=(found.file.path.parent, step.id, at * 50)) for at in (0, 1)]
    for server in servers:
        server.start()
    for server in servers:
        server.join(60)
    assert [server.exitcode for server in servers] == [0, 0]
    assert {given.person for given in found.answers(step)} == {f"person-{number}" for number in range(100)}


@pytest.mark.parametrize("damage", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_a_sentence_that_names_it(opened, damage):
    found, _ = opened
    found.end()
    for path in found.file.path.parent.iterdir():
        path.unlink()
    found.file.path.write_bytes(damage)
    for act in (lambda: found.version, found.step, found.open, lambda: found.join("ABCD")):
        with pytest.raises(NoClass, match=FILE):
            act()
    found.file.path.unlink()
    assert len(found.open()) == 4


def test_a_full_disk_is_a_sentence_and_takes_nothing_that_was_kept(opened):
    found, token = opened
    step = found.begin("question", ASKED)
    person = hash_of(token)
    found.answer(person, step, 1, {"choice": 1})
    found.file._connection.execute(
        f"PRAGMA max_page_count = {found.file.read('PRAGMA page_count')[0][0]}"
    )  # no room for more
    with pytest.raises(NoClass, match="Free some space"):
        for number in range(200):
            found.answer(f"person-{number}", step, 1, {"text": "x" * 3000})
    found.file._connection.execute("PRAGMA max_page_count = 100000")
    assert {given.person: given.value for given in found.answers(step)}[person] == {"choice": 1}
    found.answer(person, step, 1, {"choice": 0})
    assert found.answers(step, person)[0].value == {"choice": 0}


def test_an_answer_that_fails_on_its_way_leaves_none(opened):
    found, token = opened
    step = found.begin("question", ASKED)
    with pytest.raises(NoClass), found.file.change() as write:
        write.execute("INSERT INTO answers VALUES (?, 1, 'p', '{}', 0)", (step.id,))
        raise NoClass("on its way")
    assert found.answers(step) == []
    found.answer(hash_of(token), step, 1, {"choice": 1})

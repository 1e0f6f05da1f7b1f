"""A class votes over real HTTP: many phones at once, double taps, a reload, and what the host gets of it. Who may do
what in a class is tested in tests/security."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from playground.data import preferences
from playground.runs import history
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom import ballots
from playground.ui.classroom.room import Room
from playground.ui.classroom.steps import DeskCommand
from playground.ui.classroom.votes import Votes
from playground.ui.feed.feed import Hub
from tests.nights import cases
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.asking import refused
from tests.ui.conftest import TOKEN
from tests.ui.fake_server import FakeService

EACH = 5


@pytest.fixture(scope="module")
def served(class_site):
    """A page for a class, with two finished runs."""
    fake_run.write_run(class_site.outputs, "taught")
    fake_run.write_run(class_site.outputs, "other")
    return class_site


@pytest.fixture
def host(served, person):
    host = person(served, TOKEN)
    assert host.lead("open")["error"] == ""
    return host


@pytest.fixture
def join(host, served, person):
    code = host.read("class/front")["code"]

    def join():
        phone = person(served)
        assert phone.ask("class/join", code=code) == {"error": ""}
        return phone

    return join


def begin(host, **settings):
    answer = host.lead("vote", what="blind", source="taught", **{"each": EACH, **settings})
    assert answer["error"] == ""


def judges(host):
    return host.read("class/front")["votes"]["judges"]


def choices(step):
    """For the longer text; both, where they are as long."""
    for pair in step["vote"]["pairs"]:
        left, right = len(pair["left"]), len(pair["right"])
        yield pair["number"], "tie" if left == right else "left" if left > right else "right"


@pytest.mark.parametrize("voters", cases([30, 100], always=[30]))
def test_many_people_vote_at_once_and_nothing_is_lost_or_counted_twice(served, host, join, voters):
    begin(host)

    def vote(_number):
        phone = join()
        step = phone.step()
        chosen = dict(choices(step))
        for number, value in chosen.items():
            assert phone.answer(value, number, step) == {"error": ""}
            assert phone.answer(value, number, step) == {"error": ""}  # a double tap
        again = phone.step()  # a reload
        assert again["mine"] == {str(number): value for number, value in chosen.items()}
        assert again["vote"]["pairs"] == step["vote"]["pairs"]
        return len(chosen)

    with ThreadPoolExecutor(voters) as pool:
        assert sum(pool.map(vote, range(voters))) == voters * EACH
    front = host.read("class/front")
    assert front["answered"] == front["joined"] == voters == front["step"]["vote"]["done"]
    assert front["votes"]["live"][0].startswith(f"{voters * EACH} votes by {voters} people on ")
    file = host.get("class/votes.jsonl", params={"step": front["step"]["id"]}).text
    rows = [json.loads(line) for line in file.splitlines()]
    assert 0 < sum(row["votes"] + row["against"] + row["ties"] for row in rows) <= voters * EACH
    assert all(len(row["chosen"]) > len(row["rejected"]) for row in rows)


AFTER, OTHER = "from after training", "by the policy of other"
VOTES = [({"what": "blind"}, AFTER), ({"what": "start"}, AFTER), ({"what": "runs", "against": "other"}, OTHER)]


@pytest.mark.parametrize(("asked", "wins"), VOTES)
def test_which_text_is_which_is_said_only_once_the_vote_is_shown(served, host, join, asked, wins):
    assert host.lead("vote", source="taught", count=6, each=6, **asked)["error"] == ""
    wait_until(lambda: not host.read("class/front")["step"]["vote"]["wait"])
    assert len(host.read("class/front")["steps"]) == 1
    samples = history.find_run(served.outputs, "taught").samples()
    after = {"blind": {item.completion for item in samples if item.stage == "after"}}
    after |= {"start": {" policy of taught."}, "runs": {" policy of other."}}
    better = after[asked["what"]]
    phone = join()
    step = phone.step()
    assert step["vote"]["tally"] is None
    assert not any(pair["after"] for pair in step["vote"]["pairs"])
    for pair in step["vote"]["pairs"]:
        assert phone.answer("left" if pair["left"] in better else "right", pair["number"], step) == {"error": ""}
    screen = host.read("class/front?screen=1")
    assert screen["votes"] is None
    assert (screen["step"]["vote"]["tally"], screen["step"]["vote"]["pairs"]) == (None, [])
    host.lead("show", step=step["id"])
    assert "closed" in phone.answer("tie", step["vote"]["pairs"][0]["number"], step)["error"]
    vote = phone.step()["vote"]
    assert vote["sides"][1] == wins
    assert f"The text {wins} wins 100\u00a0%" in vote["tally"]["said"][-1]
    assert all(pair[pair["after"]] in better for pair in vote["pairs"])


def test_while_texts_are_written_everyone_hears_that_a_vote_comes_and_also_if_it_does_not(host, join):
    phone = join()
    host.lead("vote", what="texts", source="pocket-1m")
    wait_until(lambda: host.read("class/front")["step"]["vote"]["wait"] == ballots.NOT_COME)
    front = host.read("class/front")
    assert "no two different texts" in front["votes"]["problem"]
    assert front["step"]["state"] == "closed"
    vote = phone.step()["vote"]
    assert (vote["wait"], vote["pairs"], vote["title"]) == (ballots.NOT_COME, [], "Which text is better?")


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Votes of a class whose model service writes when it is let go."""
    fake_run.write_run(tmp_path, "taught")
    go_on = threading.Event()

    class Service(FakeService):
        def ask(self, kind, question, timeout_seconds=0.0):
            assert go_on.wait(60)
            yield from super().ask(kind, question)

    room, hub = Room(tmp_path), Hub(tmp_path)
    votes = Votes(room, hub, Access("classroom"), Service())
    room.open()
    votes.begin(DeskCommand(what="start", source="taught", count=4), Caller("classroom"))
    yield SimpleNamespace(service=votes.service, room=room, hub=hub, go_on=go_on)
    go_on.set()
    wait_until(lambda: not votes.service.doing)


def test_texts_that_come_late_are_for_their_own_step(held):
    own = held.room.step()
    later = held.room.begin("question", {"title": "Which way?"})
    held.go_on.set()
    wait_until(lambda: not held.service.doing)
    assert held.room.find(later.id).state == "open"
    own = held.room.find(own.id)
    assert (own.state, len(own.data["pairs"])) == ("closed", 4)


def test_texts_that_come_late_open_nothing_in_a_new_class(held):
    held.room.open()
    held.go_on.set()
    wait_until(lambda: not held.service.doing)
    assert held.room.steps() == []


def test_a_vote_whose_texts_were_being_written_when_the_server_died_gets_them_from_the_next_one(held):
    Votes(held.room, held.hub, Access("classroom"), FakeService()).seen(held.room.step(), "")
    wait_until(lambda: held.room.step().state == "open")
    assert len(held.room.step().data["pairs"]) == 4


def test_runs_of_the_same_title_can_be_chosen_apart(host):
    sources = [source for source in host.read("class/votes")["sources"] if source["trained"]]
    assert {source["value"] for source in sources} == {"taught", "other"}
    assert all(source["label"].endswith(f" ({source['value']})") for source in sources)


def test_two_groups_see_their_briefs_and_a_later_vote_is_told_by_group_and_a_small_one_is_not_sure(served, host, join):
    briefs = ["the kinder one", "the shorter one"]
    begin(host, briefs=briefs)
    people = [join() for _ in range(3)]
    assert [phone.step()["vote"]["brief"] for phone in people] == [*briefs, briefs[0]]
    assert host.read("class/front?screen=1")["step"]["vote"]["briefs"] == briefs
    assert host.lead("vote", what="blind", source="taught", each=64)["error"] == ""
    step = host.read("class/front")["step"]
    samples = history.find_run(served.outputs, "taught").samples()
    after = {item.completion for item in samples if item.stage == "after"}
    for at, phone in enumerate(people):
        for pair in phone.step()["vote"]["pairs"]:
            likes = "left" if (pair["left"] in after) == (at != 1) else "right"
            assert phone.answer(likes, pair["number"], step) == {"error": ""}
    *_, everyone, kinder, shorter = host.read("class/front")["votes"]["live"]
    assert "The text from after training wins 67\u00a0%" in everyone
    assert kinder.startswith("Group 1 (\u201cthe kinder one\u201d, 2 people): ")
    assert "wins 100\u00a0% of the votes (a tie is half a win; too few votes, or too much alike" in kinder
    assert shorter.startswith("Group 2 (\u201cthe shorter one\u201d, 1 person): ")
    assert "wins 0\u00a0%" in shorter


def test_a_judge_learns_from_the_votes_and_its_file_is_there_to_take_away(served, host, join):
    begin(host, each=64)
    phone = join()
    step = phone.step()
    assert "needed" in host.lead("judge", step=step["id"])["error"]
    for number, value in choices(step):
        phone.answer(value, number, step)
    name = f"class-{step['id']}"
    assert host.lead("judge", step=step["id"]) == {"error": "", "made": name}
    assert host.read("class/votes")["judges"] == []  # they stand with the vote
    wait_until(lambda: judges(host)[0]["state"] == "finished")
    (judge,) = judges(host)
    assert judge["name"] == name
    assert judge["said"] == [
        "It learned from 240 pairs in 12 seconds.",
        "It is right on 90\u00a0% of 60 pairs that were kept from it "
        "(95\u00a0% interval 80\u00a0% to 95\u00a0%; luck is 50\u00a0%).",
    ]
    pairs, _ = preferences.read_file(str(served.outputs / "class-votes" / f"{name}.jsonl"))
    assert all(len(pair.chosen) > len(pair.rejected) for pair in pairs)
    assert "no such reward model" in host.lead("train_on_votes", judge="pocket-agreeable")["error"]


@pytest.mark.parametrize(("asked", "words"), refused("votes"))
def test_what_cannot_be_voted_on_is_said_and_no_vote_begins(host, asked, words):
    assert words in host.lead("vote", **asked)["error"]
    assert host.read("class/front")["steps"] == []

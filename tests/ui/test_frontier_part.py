"""Score against KL on the server's side of the page: its route, the drawing, and the marks on the slider of beta."""

import shutil

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui.auth.access import Access, Action, Caller, Role
from playground.ui.auth.visitors import Visitor
from playground.ui.feed.feed import Hub
from playground.ui.routes import routes
from playground.ui.train import filling, frontier_part
from tests.ui import fake_run

ONE = Caller()
PRESET = catalog.preset("kinder-reviews")


class Service:
    """The model service, made up."""

    def ask(self, kind, question, timeout_seconds):
        yield from fake_run.frontier_samples(question)


@pytest.fixture
def outputs(tmp_path):
    folder = tmp_path / "outputs"
    fake_run.write_run(folder, "one", PRESET)
    fake_run.write_run(folder, "two", PRESET.model_copy(update={"seed": 5}))
    return folder


@pytest.fixture
def ask(outputs, tmp_path):
    fake_run.write_run(tmp_path / "recorded", "kinder-reviews", PRESET)
    with TestClient(Starlette(routes=routes(Hub(outputs, tmp_path / "recorded")))) as client:
        yield lambda run: client.get(f"/live/{run}/frontier").json()


def functions(outputs, service):
    """Both server functions, for a caller; an error is answered as it is where they are registered."""
    guard = Access().guard_all

    def of(function):
        return lambda asked, caller=ONE: guard(Action.ASK, [lambda given: function(given, caller)])[0](asked)

    return [of(function) for function in frontier_part.functions(outputs, service)]


def draw(outputs, run, service=None):
    drawing, _ = functions(outputs, service or Service())
    return drawing({"run": run})


def test_a_run_has_its_path_and_says_why_nothing_is_known_of_what_was_possible(ask, outputs):
    assert (ask("one")["missing"], ask("one")["can_draw"]) == ("", True)
    shutil.rmtree(RunDirectory(outputs / "one").checkpoints_path)
    found = ask("one")
    samples = RunDirectory(outputs / "one").samples()
    assert found["looks"]["update"] == sorted({item.update for item in samples})
    last = [item.score for item in samples if item.update == 40]
    assert found["looks"]["score"][-1] == pytest.approx(sum(last) / len(last), rel=1e-3)
    low, score, high = (found["looks"][name][-1] for name in ("low", "score", "high"))
    assert low < score < high
    assert (found["possible"], found["sentence"], found["can_draw"]) == (None, "", False)
    recorded = ask("_recorded")
    assert found["missing"]
    assert recorded["missing"] not in ("", found["missing"])
    assert not recorded["can_draw"]
    assert (found["beta"], found["unit"]) == (PRESET.kl.coef, "sd")


def test_what_was_drawn_shows_at_once_and_in_the_overlay(ask, outputs):
    assert draw(outputs, "one") == {"error": ""}
    found = ask("one")
    assert found["sentence"]
    assert not found["can_draw"]
    assert not found["missing"]
    possible = found["possible"]
    assert possible["best_of"]["n"] == [1, 2, 4, 8, 16]
    assert possible["best_of"]["score"] == sorted(possible["best_of"]["score"])
    assert 0 < possible["trusted"] <= len(possible["optimum"]["beta"])
    assert PRESET.kl.coef in possible["optimum"]["beta"]


class SlowService:
    """One whose texts come one after the other; at each of them `look` is called."""

    def __init__(self):
        self.given_up = 0
        self.looks = []

    def ask(self, kind, question, timeout_seconds):
        try:
            for done in range(3):
                yield {"phase": "writing and scoring texts", "done": done, "of": 3}
                self.looks.append(self.look())
        except GeneratorExit:
            self.given_up += 1
            raise
        yield from fake_run.frontier_samples(question)


def test_only_who_began_a_drawing_and_the_host_can_stop_it_and_it_can_be_begun_again(outputs):
    service = SlowService()
    drawing, progress = functions(outputs, service)
    mine, theirs, nobody = (Caller("space", Role.VISITOR, Visitor(cookie, "a")) for cookie in ("mine", "theirs", ""))
    service.look = lambda: [progress({"run": "one", "stop": True}, caller) for caller in (theirs, nobody)]
    assert drawing({"run": "one"}, mine) == {"error": ""}
    assert service.looks == [[{"error": frontier_part.NOT_BEGUN_HERE}] * 2] * 3
    for caller in (mine, Caller("space", Role.HOST)):
        service.look = lambda caller=caller: progress({"run": "two", "stop": True}, caller)
        assert drawing({"run": "two"}, mine) == {"error": frontier_part.STOPPED}
    assert service.given_up == 2
    assert not (outputs / "two" / frontier_samples.NAME).exists()
    service.look = lambda: progress({"run": "one", "stop": True}, mine)  # of another run, which is not drawn
    assert drawing({"run": "two"}, mine) == {"error": ""}
    assert (outputs / "two" / frontier_samples.NAME).exists()


def test_one_address_has_so_many_drawings_at_a_time_and_the_host_and_others_have_theirs(outputs, monkeypatch):
    monkeypatch.setattr(frontier_part, "MOST_OF_ADDRESS", 1)
    service = SlowService()
    drawing, _ = functions(outputs, service)
    shutil.copytree(outputs / "one", outputs / "three")
    one, theirs = (Caller("space", Role.VISITOR, Visitor(cookie, "a")) for cookie in ("mine", "another"))
    elsewhere, host = Caller("space", Role.VISITOR, Visitor("mine", "b")), Caller("space", Role.HOST)
    answers = []

    def look():  # while the first is drawn, others are asked for
        service.look = lambda: None
        answers.extend(drawing({"run": "two"}, who)["error"] for who in (theirs, elsewhere, host))

    service.look = look
    assert drawing({"run": "one"}, one) == {"error": ""}
    assert answers == [frontier_part.NOT_MORE.format(1), "", ""]
    assert drawing({"run": "three"}, theirs) == {"error": ""}, "that has ended"


def marks(config):
    return filling.notes_on("", config, config, [])["regimes"]


def test_the_recording_of_the_preset_knows_where_the_marks_are():
    found = marks(PRESET)
    assert found["loose"] < PRESET.kl.coef < found["tight"], "the preset is where a leash is useful"
    shorter = marks(catalog.preset("short-leash"))
    assert shorter["tight"] < catalog.preset("short-leash").kl.coef


def test_another_reward_has_only_the_mark_that_its_scale_gives():
    other = PRESET.model_copy(update={"rewards": catalog.preset("chatterbox").rewards})
    found = marks(other)
    assert (found["tight"], found["loose"]) == (4.0, None)
    raw = other.model_copy(update={"score": other.score.model_copy(update={"normalise": "none"})})
    assert marks(raw) is None, "its scale is not known"
    assert marks(catalog.preset("best-of-n")) is None, "it does not read beta"

"""Score against KL on the server's side of the page: its route, the drawing, and the marks on the slider of beta."""

import shutil

import pytest

from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui.auth.access import Access, Action, Caller, Role
from playground.ui.auth.visitors import Visitor
from playground.ui.feed.feed import Hub
from playground.ui.train import filling, frontier_part
from tests.ui import fake_run
from tests.ui.asking import client_of

HERE = Caller()
PRESET = catalog.preset("kinder-reviews")


class Service:
    """A model service whose texts come one after the other; at each of them `look` is called."""

    def __init__(self, look=lambda: None):
        self.look, self.looks, self.given_up = look, [], 0

    def ask(self, kind, question, timeout_seconds):
        try:
            for done in range(3):
                yield {"phase": "writing and scoring texts", "done": done, "of": 3}
                self.looks.append(self.look())
        except GeneratorExit:
            self.given_up += 1
            raise
        yield from fake_run.frontier_samples(question)


@pytest.fixture
def outputs(recorded, tmp_path):
    for name in ("one", "two", "three"):
        shutil.copytree(recorded / "kinder-reviews", tmp_path / "outputs" / name)
    return tmp_path / "outputs"


@pytest.fixture
def ask(outputs, recorded):
    with client_of(Hub(outputs, recorded)) as client:
        yield lambda run: client.get(f"/live/{run}/frontier").json()


def functions(outputs, service):
    """Both server functions, for a caller; an error is answered as it is where they are registered."""
    guard = Access().guard_all

    def of(function):
        return lambda asked, caller=HERE: guard(Action.ASK, [lambda given: function(given, caller)])[0](asked)

    return [of(function) for function in frontier_part.functions(outputs, service)]


def test_a_run_has_its_path_and_says_why_nothing_is_known_of_what_was_possible(ask, outputs):
    assert (ask("one")["missing"], ask("one")["can_draw"]) == ("", True)
    shutil.rmtree(RunDirectory(outputs / "one").checkpoints_path)
    answer = ask("one")
    samples = RunDirectory(outputs / "one").samples()
    looks = answer["looks"]
    assert looks["update"] == sorted({item.update for item in samples})
    last = [item.score for item in samples if item.update == 40]
    assert looks["score"][-1] == pytest.approx(sum(last) / len(last), rel=1e-3)
    assert looks["low"][-1] < looks["score"][-1] < looks["high"][-1]
    assert (answer["possible"], answer["sentence"], answer["can_draw"]) == (None, "", False)
    assert (answer["beta"], answer["unit"]) == (PRESET.kl.coef, "sd")
    recorded = ask("_recorded")
    assert answer["missing"]
    assert recorded["missing"] not in ("", answer["missing"])
    assert not recorded["can_draw"]


def visitor(cookie, address="a"):
    return Caller("space", Role.VISITOR, Visitor(cookie, address))


def test_only_who_began_a_drawing_and_the_host_can_stop_it_and_it_can_be_begun_again(outputs):
    service = Service()
    drawing, progress = functions(outputs, service)
    mine = visitor("mine")
    service.look = lambda: [progress({"run": "one", "stop": True}, visitor(other)) for other in ("theirs", "")]
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


def test_an_address_has_so_many_drawings_at_a_time_and_the_host_and_others_have_theirs(outputs, monkeypatch):
    monkeypatch.setattr(frontier_part, "MOST_OF_ADDRESS", 1)
    service, answers = Service(), []
    drawing, _ = functions(outputs, service)
    others = (visitor("another"), visitor("mine", "b"), Caller("space", Role.HOST))

    def look():  # while the first is drawn, others are asked for
        service.look = lambda: None
        answers.extend(drawing({"run": "two"}, caller)["error"] for caller in others)

    service.look = look
    assert drawing({"run": "one"}, visitor("mine")) == {"error": ""}
    assert answers == [frontier_part.NOT_MORE.format(1), "", ""]
    assert drawing({"run": "three"}, visitor("another")) == {"error": ""}, "the first has ended"


def marks(config):
    return filling.notes_on("", config, config, [])["regimes"]


def test_the_recording_of_the_preset_knows_where_the_marks_are():
    of_preset = marks(PRESET)
    assert of_preset["loose"] < PRESET.kl.coef < of_preset["tight"], "the preset is where a leash is useful"
    assert marks(catalog.preset("short-leash"))["tight"] < catalog.preset("short-leash").kl.coef
    other = PRESET.model_copy(update={"rewards": catalog.preset("chatterbox").rewards})
    assert (marks(other)["tight"], marks(other)["loose"]) == (4.0, None), "all that its scale gives"
    raw = other.model_copy(update={"score": other.score.model_copy(update={"normalise": "none"})})
    assert marks(raw) is None, "its scale is not known"
    assert marks(catalog.preset("best-of-n")) is None, "it does not read beta"

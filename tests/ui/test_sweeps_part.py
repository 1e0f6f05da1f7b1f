"""Sweeps on the Runs page: what the server tells of them and takes from a browser; limits count a sweep as its runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
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

HOST = Caller()
ASKED: dict[str, Any] = {
    "preset": "kinder-reviews",
    "seeds": 2,
    "name": "leash",
    "vary": [{"field": "kl.coef", "values": "0.1, 0.5"}, {"field": "", "values": ""}],
}


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """An outputs folder; the workers in it are those of `workers`, who ends them."""
    return tmp_path / "outputs"


def answer_of(function: Any, *arguments: Any) -> dict[str, Any]:
    """As where it is registered."""
    try:
        return dict(function(*arguments))
    except PlaygroundError as error:
        return {"error": str(error), "name": ""}


def started(outputs: Path, access: Access | None = None, caller: Caller = HOST, **changes: Any) -> dict[str, Any]:
    return answer_of(SweepActions(outputs, access or Access()).start_sweep, {**ASKED, **changes}, caller)


def planned(outputs: Path, access: Access | None = None, **changes: Any) -> dict[str, Any]:
    return SweepActions(outputs, access or Access()).plan_sweep({**ASKED, **changes}, Caller())


# what is told


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, and a sweep of two settings on two seeds of which the last run was stopped."""
    folder = tmp_path_factory.mktemp("made") / "outputs"
    fake_run.write_run(folder, "alone")
    fake_run.write_sweep(folder, "leash", {"kl.coef": [0.1, 0.5], "seed": [0, 1]}, finished=3)
    return folder


@pytest.fixture
def leash(made: Path, outputs: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(made, outputs))


def test_of_many_long_values_only_the_first_are_told_with_how_many_there_are() -> None:
    values = [f"words(completion) + {number}" for number in range(30)]
    sweep = sweep_record.Sweep(
        name="game", created_at=1.0, base={}, vary={"seed": [0], "rewards.0.x": values}, runs=["a"]
    )
    told = history_data.varies(sweep)
    assert told.startswith("Seed: 0; ")
    assert ", words(completion) + 3, " in told
    assert told.endswith(" more")
    shown = told.count("words(completion)")
    assert len(told) < 300
    assert told.endswith(f", {30 - shown} more")


def test_a_sweep_is_a_row_of_the_history_and_its_runs_name_it(made: Path) -> None:
    found = history_data.history_data(made)
    sweeps = {run["id"]: run["sweep"] for run in found["runs"]}
    assert sweeps == {"alone": None, **{f"leash-{number}": "leash" for number in (1, 2, 3, 4)}}
    (row,) = found["sweeps"]
    assert (row["id"], row["done"], row["total"], row["state"]) == ("leash", 4, 4, "stopped")
    assert row["told"] == "Leash (beta): 0.1, 0.5; Seed: 0, 1"
    assert row["resumable"]
    ends = {run["id"]: run["headline"] for run in found["runs"]}
    assert row["best"]["setting"] == "Leash (beta) 0.1"
    mean = (ends["leash-1"]["gain"] + ends["leash-2"]["gain"]) / 2
    assert row["best"]["gain"]["mean"] == pytest.approx(mean, rel=1e-4)
    assert row["best"]["gain"]["seeds"] == 2


def test_of_different_rewards_none_has_the_best_gain(outputs: Path) -> None:
    fake_run.write_sweep(outputs, "weights", {"rewards.0.weight": [1, 2], "seed": [0, 1]}, finished=4)
    (row,) = history_data.history_data(outputs)["sweeps"]
    assert row["best"] is None
    assert row["done"] == 4
    assert "rewards differ" in history_data.detail(outputs, "weights")["scores_differ"]


def test_an_open_sweep_shows_each_setting_as_the_mean_of_its_seeds(made: Path) -> None:
    shown = history_data.detail(made, "leash")
    assert [field["label"] for field in shown["fields"]] == ["Leash (beta)"]
    assert shown["seeds"] == 2
    low, high = shown["settings"]
    assert (low["values"], high["values"], low["finished"], high["finished"]) == (["0.1"], ["0.5"], 2, 1)
    assert (low["gain"]["seeds"], high["gain"]["seeds"]) == (2, 1)
    assert low["gain"]["half"] is high["gain"]["half"] is None, "two seeds that agree to the last digit bound nothing"
    assert [(run["seed"], run["state"]) for run in high["runs"]] == [(0, "finished"), (1, "stopped")]
    runs = [RunDirectory(made / name) for name in ("leash-3", "leash-4")]
    figures = [{item.update: item.score_mean for item in run.metrics()} for run in runs]
    columns = high["metrics"]
    assert columns["update"] == list(range(1, 41))
    assert columns["score_seeds"][11:13] == [2, 1]
    assert columns["score_mean"][0] == pytest.approx((figures[0][1] + figures[1][1]) / 2, rel=1e-3)
    assert columns["score_low"][0] <= columns["score_mean"][0] <= columns["score_high"][0]
    assert columns["score_low"][12] is None
    assert columns["score_mean"][12] == pytest.approx(figures[0][13], rel=1e-3)
    assert len(shown["ends"]["kl"]) == 3
    assert low["looks"]["update"] == list(range(0, 41, 5))
    assert shown["scores_differ"] == ""


# what is taken


def test_before_the_start_it_says_how_many_runs_and_how_long_and_makes_nothing(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned(outputs)
    assert (found["error"], found["problems"], found["count"], found["seconds"]) == ("", [], 4, None)
    assert found["told"] == "Leash (beta): 0.1, 0.5; Seed: 0, 1"
    assert planned(outputs, vary=[], seeds=3)["told"] == "Seed: 0, 1, 2"
    took = Finished(catalog.preset("kinder-reviews"), 1.0, 40.0)
    monkeypatch.setattr(history, "finished_runs", lambda outputs: [took])
    low, high = planned(outputs)["seconds"]
    assert 0 < low < 4 * 40 < high
    assert planned(outputs, seeds=4)["seconds"][0] == pytest.approx(2 * low)
    assert not outputs.exists()


def test_the_form_as_it_stands_is_swept_with_what_was_changed_in_it(outputs: Path) -> None:
    plain = planned(outputs, settings="seed:7")
    assert (plain["count"], plain["told"]) == (4, "Leash (beta): 0.1, 0.5; Seed: 7, 8")
    changed = "ppo.num_updates:3,name:mine,seed:7"
    found = sweeps_part._plan({**ASKED, "settings": changed}, outputs, Access(), HOST, Request())
    assert found.sweep.preset == "kinder-reviews, changed"
    assert {(one.ppo.num_updates, one.name) for one in found.configs} == {(3, "mine")}
    assert [(one.kl.coef, one.seed) for one in found.configs] == [(0.1, 7), (0.1, 8), (0.5, 7), (0.5, 8)]
    unnamed = sweeps_part._plan({**ASKED, "settings": "seed:7", "name": ""}, outputs, Access(), HOST, Request())
    assert unnamed.sweep.preset == "kinder-reviews"
    assert unnamed.sweep.name.startswith("kinder-reviews-")


def test_the_form_that_holds_the_settings_of_a_run_is_swept_under_its_name(made: Path) -> None:
    asked = {**ASKED, "preset": "run:alone", "settings": "ppo.num_updates:2,seed:0", "name": "again"}
    found = sweeps_part._plan(asked, made, Access(), HOST, Request())
    assert found.sweep.preset == "kinder-reviews, changed"
    assert {one.ppo.num_updates for one in found.configs} == {2}


REFUSED = """
    {"vary": [{"field": "kl.coef", "values": "0.1,-2"}]} | Leash (beta) | must be at least 0
    {"vary": [{"field": "kl.coef", "values": ""}]} | Leash (beta) | Name its values
    {"vary": [{"field": "kl.coef", "values": "LONG"}]} | Leash (beta) | longer than 1,000
    {"seeds": 0} | Seed | 1 to 200 seeds
    {"name": "../up"} | Run name | small letters, digits
    {"preset": "/etc/passwd.yaml"} | Experiment | /etc/passwd.yaml
    {"preset": "/etc/passwd.yaml", "settings": "seed:1"} | Experiment | /etc/passwd.yaml
    {"settings": "kl.coef:-2"} | Leash (beta) | must be at least 0
    {"settings": "about.title:x"} | about.title | There is no such setting
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_cannot_be_is_said_by_the_names_of_the_form(outputs: Path, case: str) -> None:
    asked, label, words = case.replace("LONG", "1," * 2000).split(" | ")
    changes = json.loads(asked)
    for answer in (planned(outputs, **changes), started(outputs, **changes)):
        assert answer["error"] == ""
        assert answer["count"] == 0
        assert [problem["label"] for problem in answer["problems"]] == [label]
        assert words in answer["problems"][0]["message"]
    assert not outputs.exists()


@pytest.mark.usefixtures("workers")
def test_a_sweep_is_started_stopped_and_resumed(outputs: Path) -> None:
    assert started(outputs) == {**started(outputs), "name": "leash"}  # a second press is the same sweep
    sweep = sweep_record.find(outputs, "leash")
    assert len(sweep_record.runs_of(outputs, sweep)) == 4
    assert len(queue.waiting(outputs)) == 3
    assert [run.config().seed for run in sweep_record.runs_of(outputs, sweep)] == [0, 1, 0, 1]
    actions = SweepActions(outputs, Access())
    assert actions.stop_sweep("leash")["error"] == ""
    assert queue.waiting(outputs) == []
    assert RunDirectory(outputs / "leash-1").stop_requested
    found = actions.resume_sweep("leash", HOST)
    assert (found["error"], found["going"]) == ("", 3)
    assert len(queue.waiting(outputs)) == 3
    assert "Press Stop all first" in answer_of(actions.delete_sweep, "leash")["error"]
    for act in (actions.stop_sweep, actions.delete_sweep):
        assert "There is no sweep" in answer_of(act, "../x")["error"]


# limits


def public(outputs: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Access:
    monkeypatch.setitem(LIMITS, "space", LIMITS["space"]._replace(**more))
    outputs.mkdir(exist_ok=True)
    return Access("space", outputs)


def visitor(name: str = "a") -> Caller:
    return Caller("space", Role.VISITOR, Visitor(name, f"address-{name}"))


def test_a_public_page_refuses_too_many_runs_before_any_is_checked(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access, looked = public(outputs, monkeypatch), Mock()
    monkeypatch.setattr(checks, "check", looked)
    many = {"vary": [{"field": "kl.coef", "values": ", ".join(map(str, range(1, 150)))}], "seeds": 1}
    actions = SweepActions(outputs, access)
    for ask in (actions.plan_sweep, actions.start_sweep):
        answer = answer_of(ask, {**ASKED, **many}, visitor())
        assert answer["error"] == "These are 149 runs; at most 1 at a time here."
    looked.assert_not_called()


def test_no_run_of_a_stranger_is_without_a_limit_of_time(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = public(outputs, monkeypatch, runs_per_visitor=4)
    for values in ("null", "10, null"):
        asked = {**ASKED, "vary": [{"field": "max_minutes", "values": values}], "seeds": 1}
        (problem,) = SweepActions(outputs, access).start_sweep(asked, visitor())["problems"]
        assert problem["message"] == "must be at most 30 on a public page (got no limit)."
    assert sweep_record.every(outputs) == []


@pytest.mark.usefixtures("workers")
def test_on_a_public_page_a_sweep_counts_as_its_runs(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = public(outputs, monkeypatch)
    answer = started(outputs, one, visitor())
    assert answer["error"] == "These are 4 runs; at most 1 at a time here."
    assert answer["name"] == ""
    assert sweep_record.every(outputs) == []
    more = public(outputs, monkeypatch, runs_per_visitor=4, runs_per_address=4, queue=4)
    assert started(outputs, more, visitor())["name"] == "leash"
    assert "You have a run here already" in started(outputs, more, visitor(), name="again")["error"]
    assert "The queue is full" in started(outputs, more, visitor("b"), name="other")["error"]
    host = Caller("space", Role.HOST)
    assert started(outputs, more, host, name="hosts")["name"] == "hosts"


@pytest.mark.usefixtures("workers")
def test_a_public_page_refuses_what_no_single_run_may_be_and_caps_its_time(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = public(outputs, monkeypatch, runs_per_visitor=9, runs_per_address=9, queue=9)
    answer = started(outputs, access, visitor(), vary=[{"field": "ppo.num_updates", "values": "20,900"}])
    assert "may be at most 500 on a public page" in answer["problems"][0]["message"]
    answer = started(outputs, access, visitor(), settings="ppo.num_updates:900,seed:0")
    assert "may be at most 500 on a public page" in answer["problems"][0]["message"]
    assert started(outputs, access, visitor())["error"] == ""
    configs = [run.config() for run in sweep_record.runs_of(outputs, sweep_record.find(outputs, "leash"))]
    assert {config.max_minutes for config in configs} == {30}


@pytest.mark.usefixtures("workers")
def test_only_who_started_a_sweep_may_stop_it_or_take_it_up(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = public(outputs, monkeypatch, runs_per_visitor=4, runs_per_address=9, queue=9)
    assert started(outputs, access, visitor())["error"] == ""
    functions = {one.__name__: one for one in sweeps_part.guarded_functions(outputs, access)}
    callers: list[Caller] = [visitor("b")]
    monkeypatch.setattr(access, "caller", lambda request: callers[0])
    for name in ("stop_sweep", "resume_sweep", "delete_sweep"):
        assert functions[name]("leash")["error"].startswith("This run was started by another visitor.")
        assert functions[name]("nothing")["error"].startswith("This run was started by another visitor.")
    assert len(queue.waiting(outputs)) == 3
    callers[0] = visitor()
    sweep_making.stop_all(outputs, sweep_record.find(outputs, "leash"))
    history.delete_run(RunDirectory(outputs / "leash-4"))
    assert functions["stop_sweep"]("leash")["error"] == ""
    assert requests.of(RunDirectory(outputs / "leash-2")).visitor == str(visitor().visitor)

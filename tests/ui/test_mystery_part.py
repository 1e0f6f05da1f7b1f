"""Mystery runs on the page: which there are, the answer to one, and who may start one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.config.faults import FAULTS
from playground.lessons import mysteries
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui import page, routes
from playground.ui.auth.access import Access
from playground.ui.feed.feed import Hub
from playground.ui.standalone import answers
from playground.ui.train import mystery_part


def client_of(outputs: Path, access: Access | None = None) -> TestClient:
    return TestClient(Starlette(routes=routes.routes(Hub(outputs), access)))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(tmp_path) as made:
        yield made


def start(outputs: Path, access: Access | None = None) -> Any:
    (function,) = mystery_part.guarded_functions(Hub(outputs).find, outputs, access or Access())
    return function


def test_the_list_has_the_recorded_ones_and_all_mistakes(client: TestClient) -> None:
    found = client.get("/live/_mysteries").json()
    assert len(found["runs"]) == 10
    assert found["trains"] is True
    assert [one["name"] for one in found["mistakes"]] == list(FAULTS)
    assert all(one["say"] and one["shows"] for one in found["mistakes"])


def test_a_public_page_trains_none(tmp_path: Path, workers: list[Any]) -> None:
    access = Access("space", tmp_path)
    with client_of(tmp_path, access) as client:
        assert client.get("/live/_mysteries").json()["trains"] is False
    assert "planted mistakes are not allowed" in str(start(tmp_path, access)({"run": ""}))
    assert workers == []


def test_the_answer_has_what_gives_it_away_and_both_sides_of_the_lines(client: TestClient) -> None:
    for run in client.get("/live/_mysteries").json()["runs"]:
        answer = client.get(f"/live/{run}/mystery").json()
        assert answer["state"] in ("red", "amber")
        assert answer["evidence"]
        assert answer["because"]
        assert answer["wrong"]
        assert answer["right"]
        assert answer["wrong"] != answer["right"]


@pytest.mark.parametrize("run", ["_recorded", "nobody", "_recorded-mystery-99"])
def test_what_is_no_mystery_has_no_answer(client: TestClient, run: str) -> None:
    assert client.get(f"/live/{run}/mystery").status_code == 404


def test_a_new_one_is_started_once_with_a_seed_of_its_own(tmp_path: Path, workers: list[Any]) -> None:
    asked = {"run": "", "request": "mystery-start-1"}
    answer = start(tmp_path)(asked)
    config = RunDirectory.open(tmp_path / answer["run"]).config()
    assert mysteries.is_mystery(config)
    assert config.about == catalog.preset(mysteries.PRESET).about
    assert start(tmp_path)(asked)["run"] == answer["run"]
    assert len(workers) == 1


@pytest.mark.usefixtures("workers")
def test_it_is_run_again_without_its_mistake(tmp_path: Path) -> None:
    wrong = RunDirectory.create(tmp_path, mysteries.new(7), "wrong")
    for run, seed in ((wrong.id, 7), ("_recorded-mystery-01", None)):
        answer = start(tmp_path)({"run": run})
        sound = RunDirectory.open(tmp_path / answer["run"]).config()
        assert answer["error"] == ""
        assert sound.faults == ()
        assert not sound.experiments
        assert seed is None or sound.seed == seed
    assert "no mystery run" in start(tmp_path)({"run": "_recorded"})["error"]


def test_both_parts_of_the_page_can_start_them(tmp_path: Path) -> None:
    blocks = {getattr(block, "elem_id", None): block for block in page.build(tmp_path).blocks.values()}
    for part in ("lessons", "lesson-panel"):
        assert "start_mystery" in [function.__name__ for function in blocks[part].server_fns]


def test_a_page_without_a_server_has_each_answer_in_a_pack_of_its_own() -> None:
    cases = {"_recorded-mystery-01": mysteries.recorded()[0]}
    packs = answers.of_runs({}, routes.routes, files=(), lessons=True, mysteries=cases)
    assert packs["live/_mysteries"][""]["runs"] == list(cases)
    (name,) = [pack for pack, found in packs.items() if "wrong" in str(found) and "right" in found.get("", {})]
    assert name == "live/_recorded-mystery-01/mystery"

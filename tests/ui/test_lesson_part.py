"""Lessons on the page: what it gets of them, and which of their runs may be started with what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from bench.results_page import made_of
from playground.lessons import loading
from playground.lessons.loading import Lessons
from playground.lessons.reveal import reveal
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, describe
from playground.ui import page, routes, server
from playground.ui.auth.access import Access
from playground.ui.feed.feed import Hub
from playground.ui.standalone import answers
from playground.ui.train import lesson_part
from tests.lessons import FILES, write

LEASH = Lessons(shipped=FILES)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=routes.routes(Hub(tmp_path, lessons=LEASH)))) as made:
        yield made


def test_the_list_of_lessons_does_not_give_their_answers_away(client: TestClient) -> None:
    (course,) = client.get("/live/_lessons").json()["courses"]
    (lesson,) = course["lessons"]
    assert (course["name"], course["minutes"], lesson["name"]) == ("first", 6, "leash")
    assert lesson["predict"]["options"][1] == {"say": "Strings of praise that are no English"}
    assert [(run["preset"], run["changes"], run["twin"]) for run in lesson["runs"]] == [
        ("no-leash", [], True),
        ("kinder-reviews", [], True),
    ]
    task = lesson["break_it"]
    assert [knob["field"] for knob in task["knobs"]] == ["kl.coef"]
    assert task["values"] == {"kl.coef": 0.0}
    assert "reveal" not in lesson
    assert "explain" not in lesson
    assert "'when'" not in str(lesson)


def test_a_changed_run_says_what_differs_and_has_no_twin(tmp_path: Path) -> None:
    write(tmp_path, runs__1__set={"kl.coef": 0.5})
    (course,) = lesson_part.lessons_data(Lessons(shipped=tmp_path))["courses"]
    run = course["lessons"][0]["runs"][1]
    assert run["changes"] == ["beta 0.5"]
    assert run["twin"] is False


def test_the_slider_of_a_task_has_only_what_can_be_taken(tmp_path: Path) -> None:
    runs = [{"preset": "best-of-n", "title": "One"}, {"preset": "kinder-reviews", "title": "Two", "why": "Why."}]
    knobs = ["ppo.samples_per_prompt", "kl.coef"]
    write(tmp_path, runs=runs, break_it__knobs=knobs, break_it__when={"score": "> 9"})
    (course,) = lesson_part.lessons_data(Lessons(shipped=tmp_path))["courses"]
    task = course["lessons"][0]["break_it"]
    assert task
    divisors, leash = task["knobs"]
    assert divisors.get("values") == [2, 3, 4, 6, 8, 12, 16]  # of its 48 texts; the best of one is no choice
    assert "values" not in leash


def test_the_named_figures_are_columns_of_the_metrics_or_the_chart_of_the_monitors(tmp_path: Path) -> None:
    write(tmp_path, look=["curves"], figures=["distinct", "monitors"], runs__0__preset="goodharts-hill")
    (course,) = lesson_part.lessons_data(Lessons(shipped=tmp_path))["courses"]
    assert course["lessons"][0]["figures"] == ["distinct_2", "judged"]


def test_a_card_is_sent_as_a_tree(tmp_path: Path) -> None:
    step = {"say": "Two.", "math": r"x^2"}
    write(tmp_path, card={"title": "Powers", "steps": [step]})
    found = Lessons(shipped=tmp_path).find("mine")
    first, second = (RunDirectory.open(catalog.RECORDED / name) for name in ("no-leash", "kinder-reviews"))
    card = lesson_part.reveal_data(reveal(found, 1, second, first), found)["card"]
    power = {"name": "msup", "parts": [{"name": "mi", "parts": ["x"]}, {"name": "mn", "parts": ["2"]}]}
    shown = {"name": "math", "parts": [{"name": "mrow", "parts": [power]}], "attributes": {"display": "block"}}
    assert card == {"title": "Powers", "steps": [{"say": "Two.", "math": shown, "numbers": None}]}


def test_a_run_with_a_planted_mistake_says_so_for_a_page_that_refuses_it(tmp_path: Path) -> None:
    write(tmp_path, runs__1__preset="ghost-reference")
    (course,) = lesson_part.lessons_data(Lessons(shipped=tmp_path))["courses"]
    assert [run["planted"] for run in course["lessons"][0]["runs"]] == [False, True]


def test_a_curve_is_of_a_column_of_the_metrics(tmp_path: Path) -> None:
    shapes = ["rises", "falls", "stays"]
    write(tmp_path, predict={"ask": "?", "kind": "curve", "of": "kl", "shapes": shapes})
    (course,) = lesson_part.lessons_data(Lessons(shipped=tmp_path))["courses"]
    predict = course["lessons"][0]["predict"]
    assert (predict["column"], predict["shapes"]) == ("kl_to_reference", shapes)


def test_what_a_run_says_of_a_lesson(client: TestClient) -> None:
    first = client.get("/live/_recorded-no-leash/lesson/leash/0").json()
    assert (first["ready"], first["held"], len(first["said"]), first["explained"]) == (True, 1, 1, [])
    assert first["beliefs"] == ["More reward is not more of what was meant.", "", ""]
    second = client.get("/live/_recorded/lesson/leash/1?first=_recorded-no-leash").json()
    assert "without 0 of 64" in second["said"][0]
    assert second["explained"]
    assert second["beliefs"] == []
    assert client.get("/live/_recorded/lesson/leash/2?first=_recorded-no-leash").json()["reached"] is True


@pytest.mark.parametrize(
    "path",
    [
        "_recorded/lesson/nothing/0",
        "_recorded/lesson/..%2Fleash/0",
        "nobody/lesson/leash/0",
        "_recorded/lesson/leash/1?first=nobody",
        "_recorded/lesson/leash/1?first=../one",
        "_recorded/lesson/leash/3",
        "_recorded/lesson/leash/x",
    ],
)
def test_what_is_not_there_is_not_found(client: TestClient, path: str) -> None:
    assert client.get(f"/live/{path}").status_code == 404


def start(outputs: Path, access: Access | None = None, lessons: Lessons = LEASH) -> Any:
    (function,) = lesson_part.guarded_functions(outputs, access or Access(), lessons)
    return function


def test_a_run_of_a_lesson_is_started_once_with_the_settings_of_its_preset(tmp_path: Path, workers: list[Any]) -> None:
    asked = {"lesson": "leash", "index": 0, "values": {}, "request": "lesson-start-1"}
    answer = start(tmp_path)(asked)
    assert answer["error"] == ""
    assert answer["sentence"] == ""
    config = RunDirectory.open(tmp_path / answer["run"]).config()
    assert config == catalog.preset("no-leash")
    assert start(tmp_path)(asked)["run"] == answer["run"]
    assert len(workers) == 1


@pytest.mark.usefixtures("workers")
def test_what_the_page_starts_of_each_shipped_lesson_is_what_was_measured(tmp_path: Path) -> None:
    """Up to the seed: bands, and on how many seeds a sentence holds, are of these settings."""
    courses = Lessons()
    for number, lesson in enumerate(lesson for course in courses.courses for lesson in course.lessons):
        begin = start(tmp_path / str(number), lessons=courses)
        for index in lesson.indices:
            values = lesson.break_it.solution if lesson.break_it and index == len(lesson.runs) else {}
            answer = begin({"lesson": lesson.name, "index": index, "values": values})
            assert answer["error"] == "", lesson.name
            found = RunDirectory.open(tmp_path / str(number) / answer["run"]).config()
            measured = lesson.solved() if values else lesson.config(index)
            assert measured and made_of(found) == made_of(measured), (lesson.name, index)


def test_a_second_one_waits_and_says_why(tmp_path: Path, workers: list[Any]) -> None:
    start(tmp_path)({"lesson": "leash", "index": 0})
    answer = start(tmp_path)({"lesson": "leash", "index": 1})
    assert answer["sentence"].startswith("“No leash”")
    assert len(workers) == 1
    assert RunDirectory.open(tmp_path / answer["run"]).status().state == "queued"


@pytest.mark.usefixtures("workers")
def test_a_task_takes_the_values_of_its_knobs(tmp_path: Path) -> None:
    asked = {"lesson": "leash", "index": 2, "values": {"kl.coef": 0.5}}
    answer = start(tmp_path)(asked)
    config = RunDirectory.open(tmp_path / answer["run"]).config()
    assert config.kl.coef == 0.5
    assert config.rewards == catalog.preset("no-leash").rewards
    assert describe.title_of(config) == describe.of(config).what == "Your own try: leash 0.5"
    unchanged = start(tmp_path)({"lesson": "leash", "index": 2, "values": {"kl.coef": 0}})
    assert describe.title_of(RunDirectory.open(tmp_path / unchanged["run"]).config()) == "No leash"


@pytest.mark.parametrize(
    "asked",
    [
        None,
        {},
        {"lesson": "nothing", "index": 0},
        {"lesson": {"a": 1}, "index": 0},
        {"lesson": "leash"},
        {"lesson": "leash", "index": True},
        {"lesson": "leash", "index": -1},
        {"lesson": "leash", "index": 3},
        {"lesson": "leash", "index": "0"},
        {"lesson": "leash", "index": [0]},
        {"lesson": "leash", "index": 2, "values": {"ppo.num_updates": 100_000}},
        {"lesson": "leash", "index": 2, "values": {"kl.coef": 0.5, "model.source": "/etc"}},
        {"lesson": "leash", "index": 2, "values": {"kl.coef": "much"}},
        {"lesson": "leash", "index": 2, "values": {"kl.coef": [1]}},
        {"lesson": "leash", "index": 2, "values": {"kl.coef": -1}},
    ],
)
def test_nothing_else_is_started(tmp_path: Path, workers: list[Any], asked: Any) -> None:
    assert start(tmp_path)(asked)["error"]
    assert workers == []
    assert list(tmp_path.iterdir()) == []


def test_values_beside_a_run_change_nothing_of_it(tmp_path: Path, workers: list[Any]) -> None:
    answer = start(tmp_path)({"lesson": "leash", "index": 1, "values": {"kl.coef": 3}})
    assert RunDirectory.open(tmp_path / answer["run"]).config().kl.coef == 0.25
    assert len(workers) == 1


def test_in_a_class_only_the_host_starts_one(tmp_path: Path, workers: list[Any]) -> None:
    asked = start(tmp_path, Access("classroom", tmp_path, "token"))({"lesson": "leash", "index": 0})
    assert "host" in asked["error"]
    assert workers == []


def test_a_public_page_caps_its_time(tmp_path: Path, workers: list[Any]) -> None:
    access = Access("space", tmp_path)
    answer = start(tmp_path, access)({"lesson": "leash", "index": 0})
    config = RunDirectory.open(tmp_path / answer["run"]).config()
    assert config.max_minutes == access.limits.numbers["max_minutes"]
    assert len(workers) == 1


def test_ones_own_lessons_are_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "mine", course="ours")
    monkeypatch.setenv(loading.FOLDER_VARIABLE, str(tmp_path))
    found = server.new_demo(tmp_path / "outputs", "local").serving.hub.lessons
    assert found.find("mine").course == "ours"


def test_the_panel_can_start_them(tmp_path: Path) -> None:
    demo = page.build(tmp_path)
    (panel,) = [block for block in demo.blocks.values() if getattr(block, "elem_id", None) == "lesson-panel"]
    assert "start_lesson" in [function.__name__ for function in panel.server_fns]


def test_a_page_without_a_server_has_what_recordings_say_of_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SHIPPED", FILES)
    runs = {"_recorded": catalog.RECORDED / "kinder-reviews", "_recorded-no-leash": catalog.RECORDED / "no-leash"}

    def make_routes(hub: Hub, access: Access) -> Any:
        hub.lessons = LEASH
        return routes.routes(hub, access)

    packs = answers.of_runs(runs, make_routes, files=(), lessons=True)
    assert packs["live/_lessons"][""]["courses"][0]["name"] == "first"
    assert packs["live/_recorded-no-leash/lesson"]["leash/0"]["held"] == 1
    assert packs["live/_recorded/lesson"]["leash/1?first=_recorded-no-leash"]["explained"]
    assert "live/_lessons" not in answers.of_runs({"_recorded": runs["_recorded"]}, make_routes, files=())

"""Lessons and mystery runs on the page: what it gets of them, and which of their runs may be started with what."""

from types import SimpleNamespace

import pytest

from bench.experiments import digest
from playground.lessons import facts, mysteries
from playground.lessons.loading import Lessons
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, describe
from playground.ui.auth.access import Access
from playground.ui.feed.feed import Hub
from playground.ui.train import lesson_part, mystery_part
from tests.lessons import FILES, shipped, write
from tests.ui.asking import client_of, refused

LEASH = Lessons(shipped=FILES)


@pytest.fixture
def client(tmp_path):
    with client_of(Hub(tmp_path, lessons=LEASH)) as client:
        yield client


def data_of(folder, **changes):
    """What the page gets of the lesson of the tests with changes."""
    write(folder, **changes)
    (course,) = lesson_part.lessons_data(Lessons(shipped=folder))["courses"]
    return course["lessons"][0]


def test_the_list_of_lessons_does_not_give_their_answers_away(client):
    (course,) = client.get("/live/_lessons").json()["courses"]
    (lesson,) = course["lessons"]
    assert (course["name"], course["minutes"], lesson["name"]) == ("first", 6, "leash")
    assert lesson["predict"]["options"][1] == {"say": "Strings of praise that are no English"}
    runs = [(run["preset"], run["changes"], run["twin"]) for run in lesson["runs"]]
    assert runs == [("no-leash", [], True), ("kinder-reviews", [], True)]
    task = lesson["break_it"]
    assert [knob["field"] for knob in task["knobs"]] == ["kl.coef"]
    assert task["values"] == {"kl.coef": 0.0}
    assert {"reveal", "explain"}.isdisjoint(lesson)
    assert "'when'" not in str(lesson)


def test_a_run_says_what_differs_and_the_slider_of_a_task_has_only_what_can_be_taken(tmp_path):
    run = data_of(tmp_path, runs__1__set={"kl.coef": 0.5})["runs"][1]
    assert (run["changes"], run["twin"], run["planted"]) == (["leash 0.5"], False, False)
    assert data_of(tmp_path, runs__1__preset="ghost-reference")["runs"][1]["planted"]
    runs = [{"preset": "best-of-n", "title": "One"}, {"preset": "kinder-reviews", "title": "Two", "why": "Why."}]
    knobs = ["ppo.samples_per_prompt", "kl.coef"]
    lesson = data_of(tmp_path, runs=runs, break_it__knobs=knobs, break_it__when={"score": "> 9"})
    divisors, leash = lesson["break_it"]["knobs"]
    assert divisors["values"] == [2, 3, 4, 6, 8, 12, 16]  # of its 48 texts; the best of one is no choice
    assert "values" not in leash


def test_the_named_figures_are_columns_of_the_metrics_or_the_chart_of_the_monitors(tmp_path):
    changes = {"look": ["curves"], "figures": ["distinct", "monitors"], "runs__0__preset": "goodharts-hill"}
    assert data_of(tmp_path, **changes)["figures"] == ["distinct_2", "judged"]
    assert {"answers", "groups"} <= facts.charts(catalog.preset("sums"))
    shapes = ["rises", "falls", "stays"]
    predict = data_of(tmp_path, predict={"ask": "?", "kind": "curve", "of": "kl", "shapes": shapes})["predict"]
    assert (predict["column"], predict["shapes"]) == ("kl_to_reference", shapes)


@pytest.mark.parametrize("path", refused("lesson_addresses"))
def test_a_lesson_run_or_mystery_that_is_not_there_is_not_found(client, path):
    assert client.get(f"/live/{path}").status_code == 404


def started(outputs, access=None, **asked):
    """What the page is answered to the start of a lesson's run."""
    (function,) = lesson_part.guarded_functions(outputs, access or Access(), LEASH)
    return function({"lesson": "leash", **asked})


def config_of(outputs, answer):
    assert answer["error"] == ""
    return RunDirectory.open(outputs / answer["run"]).config()


def test_a_run_of_a_lesson_is_started_once_with_the_settings_of_its_preset(tmp_path, workers):
    asked = {"index": 0, "values": {}, "request": "lesson-start-1"}
    answer = started(tmp_path, **asked)
    assert config_of(tmp_path, answer) == catalog.preset("no-leash")
    assert answer["sentence"] == ""
    assert started(tmp_path, **asked)["run"] == answer["run"]
    second = started(tmp_path, index=1, values={"kl.coef": 3})
    assert config_of(tmp_path, second).kl.coef == 0.25, "values are for the task alone"
    assert second["sentence"].startswith("\u201cNo leash\u201d")  # it waits for the first
    assert len(workers) == 1


def test_what_is_started_of_a_shipped_lesson_was_measured(tmp_path, monkeypatch):
    """Up to the seed: bands, and on how many seeds a sentence holds, are of these settings."""
    configs = []

    def start(config, *_):
        configs.append(config)
        return SimpleNamespace(id="one")

    monkeypatch.setattr(lesson_part.run_actions, "start", start)
    courses = shipped()
    (begin,) = lesson_part.guarded_functions(tmp_path, Access(), courses)
    for lesson in (lesson for course in courses.courses for lesson in course.lessons):
        for index in lesson.indices:
            values = lesson.break_it.solution if lesson.break_it and index == len(lesson.runs) else {}
            answer = begin({"lesson": lesson.name, "index": index, "values": values})
            assert answer["error"] == "", lesson.name
            measured = lesson.solved() if values else lesson.config(index)
            assert measured
            assert digest(configs[-1]) == digest(measured), (lesson.name, index)


@pytest.mark.usefixtures("workers")
def test_a_task_takes_the_values_of_its_knobs(tmp_path):
    config = config_of(tmp_path, started(tmp_path, index=2, values={"kl.coef": 0.5}))
    assert (config.kl.coef, config.rewards) == (0.5, catalog.preset("no-leash").rewards)
    assert describe.title_of(config) == describe.of(config).what == "Your own try: leash 0.5"
    unchanged = config_of(tmp_path, started(tmp_path, index=2, values={"kl.coef": 0}))
    assert describe.title_of(unchanged) == "No leash"


@pytest.mark.parametrize(("asked", "words"), refused("lesson_runs"))
def test_nothing_but_what_a_lesson_names_is_started(tmp_path, workers, asked, words):
    assert words in started(tmp_path, **asked)["error"]
    assert (workers, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.usefixtures("workers")
def test_a_public_page_caps_the_time_of_a_lesson_s_run(tmp_path):
    access = Access("space", tmp_path)
    config = config_of(tmp_path, started(tmp_path, access, index=0))
    assert config.max_minutes == access.limits.numbers["max_minutes"]


def start_mystery(outputs, access=None, **asked):
    (function,) = mystery_part.guarded_functions(Hub(outputs).find, outputs, access or Access())
    return function(asked)


def test_a_public_page_trains_no_mystery(tmp_path, workers):
    access = Access("space", tmp_path)
    with client_of(Hub(tmp_path), access) as client:
        assert client.get("/live/_mysteries").json()["trains"] is False
    assert "planted mistakes are not allowed" in str(start_mystery(tmp_path, access, run=""))
    assert workers == []


@pytest.mark.usefixtures("workers")
def test_a_new_mystery_is_started_once_with_a_seed_of_its_own(tmp_path):
    answer = start_mystery(tmp_path, run="", request="mystery-start-1")
    config = config_of(tmp_path, answer)
    assert mysteries.is_mystery(config)
    assert config.about == catalog.preset(mysteries.PRESET).about
    assert start_mystery(tmp_path, run="", request="mystery-start-1")["run"] == answer["run"]
    assert config_of(tmp_path, start_mystery(tmp_path, run="", request="mystery-start-2")).seed != config.seed


@pytest.mark.usefixtures("workers")
def test_a_mystery_is_run_again_without_its_mistake(tmp_path):
    wrong = RunDirectory.create(tmp_path, mysteries.new(7), "wrong")
    for run in (wrong.id, "_recorded-mystery-01"):
        sound = config_of(tmp_path, start_mystery(tmp_path, run=run))
        assert (sound.faults, sound.experiments) == ((), False)
    assert "no mystery run" in start_mystery(tmp_path, run="_recorded")["error"]

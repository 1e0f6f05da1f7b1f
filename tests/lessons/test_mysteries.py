"""Mystery runs: each mistake in words and lines, ten recordings that show theirs, and nothing that names it before."""

import gzip
from collections import Counter

import pytest

from playground.analysis.diagnosis import CHECKS
from playground.config import differences
from playground.config.faults import FAULTS
from playground.lessons import mysteries
from playground.lessons.mysteries import MISTAKES, PRESET
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, checks
from playground.ui.feed.feed import Hub
from tests.nights import cases
from tests.support import PROJECT
from tests.ui.asking import client_of

FOLDERS = mysteries.recorded()
MOST_BYTES = 100_000


def named(text):
    return [fault for fault, words in FAULTS.items() if fault in text or words in text or MISTAKES[fault].say in text]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_mistake_has_its_words_and_lines_that_stand_where_it_says(fault):
    mistake = MISTAKES[fault]
    assert mistake.lamp in CHECKS
    assert all(text.endswith(".") for text in (mistake.shows, mistake.because))
    assert not mistake.say.endswith(".")
    program = (PROJECT / mistake.of).read_text(encoding="utf-8")
    assert [line for line in mistake.right if line not in program] == []
    assert [line for line in mistake.wrong if line in program] == []


def test_of_ten_mysteries_each_mistake_is_in_one_or_two():
    assert [folder.name for folder in FOLDERS] == [f"mystery-{number:02d}" for number in range(1, 11)]
    planted = Counter(RunDirectory.open(folder).config().planted[0] for folder in FOLDERS)
    assert (set(planted), max(planted.values())) == (set(FAULTS), 2)


@pytest.mark.parametrize("folder", cases(FOLDERS, always=FOLDERS[:2]), ids=lambda folder: folder.name)
def test_a_recording_shows_its_mistake_and_names_it_nowhere(folder):
    run = RunDirectory.open(folder)
    config = run.config()
    assert {*differences(config, catalog.preset(config.name))} <= {"seed"}
    assert run.status().state == "finished"
    assert traces.updates(run)
    assert run.token_figures()
    answer = mysteries.answer(run)
    assert answer.lamp.lit
    assert answer.lamp.name == MISTAKES[answer.fault].lamp
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files]
    assert named(b"".join(texts).decode()) == []
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.mark.parametrize("folder", cases(FOLDERS, always=FOLDERS[:2]), ids=lambda folder: folder.name)
def test_nothing_that_the_page_asks_before_the_answer_names_the_mistake(folder, tmp_path):
    hub = Hub(tmp_path)
    run_id = next(name for name, path in hub.mysteries.items() if path == folder)
    paths = ["poll", "compare", "outcome", "frontier", "resume", "rollout/last", "moment/0", "export/yaml"]
    paths += [f"tokens/{prompt}" for prompt in range(3)]
    paths += [f"trace/{update}" for update in traces.updates(RunDirectory(folder))]
    with client_of(hub) as client:
        answers = {path: client.get(f"/live/{run_id}/{path}") for path in paths}
        assert client.get("/live/_home").json()["recorded"].keys().isdisjoint(hub.mysteries)
        assert client.get(f"/live/{run_id}/mystery").json()["name"] in FAULTS
    assert {path: named(answer.text) for path, answer in answers.items() if named(answer.text)} == {}
    assert {path for path, answer in answers.items() if answer.status_code != 200} <= {"resume"}
    run = answers["poll"].json()["snapshot"]["run"]
    assert (run["mystery"], run["recorded"]) == (True, True)
    assert "One mistake is planted" in run["wrong_on_purpose"]


def test_a_lamp_that_is_lit_no_longer_says_when_it_was(tmp_path):
    """Unclipped steps make all texts one word, and then nothing is left to clip."""
    runs = {run.config().planted[0]: run for run in map(RunDirectory.open, FOLDERS)}
    answer = mysteries.answer(runs["no-clip"])
    assert answer.lamp.lit
    assert 0 < answer.update < 30
    assert max(answer.lamp.updates) <= answer.update
    assert mysteries.answer(runs["reward-sign"]).update == 0


def test_the_same_run_without_its_mistake_keeps_settings_and_seed(tmp_path):
    config = mysteries.new(7)
    sound = mysteries.without(config)
    assert {*differences(sound, config)} == {"faults", "experiments"}
    assert (sound.planted, sound.seed, config.name) == ((), 7, PRESET)
    assert sound.about.title != config.about.title
    for valid in (config, sound):
        checks.check(valid, tmp_path)

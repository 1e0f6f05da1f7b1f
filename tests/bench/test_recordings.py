"""The recordings that ship: a finished run of each preset of the story, as it is now, with nothing of a machine."""

import gzip
import re

import pytest

from bench import recordings
from playground.config import differences
from playground.runs import frontier_samples
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.nights import cases
from tests.ui import fake_run

RECORDED = catalog.RECORDED
GROUPS = catalog.preset_groups()
INCLUDED = GROUPS[catalog.INCLUDED]
ON_REAL_MODEL = [
    name for name in (*GROUPS[catalog.REAL_GROUP], *GROUPS[catalog.DOWNLOADS]) if (RECORDED / name).exists()
]
OTHER_DATA = {"hh-exercise": {"prompts.subset": "harmless-base", "prompts.split": "test"}}  # that it was recorded on
OF_LESSONS = [name for name in catalog.names_with_model() if name not in INCLUDED]
MOST_BYTES = 2_000_000  # of all of the story together whose model is included
MOST_BYTES_OF_LESSON = 100_000  # of one that only a lesson needs
MOST_BYTES_EACH = 200_000  # of one on a real chat model
OF_A_MACHINE = re.compile(r"/(root|home|tmp|work|Users|sys|proc)\b|boot_id\":\"[^\"]|pid(_ticks)?\":[1-9]")


def everything(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    unpacked = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files)
    return b"".join(unpacked).decode()


@pytest.mark.parametrize("preset", cases([*INCLUDED, *ON_REAL_MODEL, *OF_LESSONS], always=INCLUDED))
def test_each_preset_with_its_model_has_its_recording_and_each_recording_is_of_its_preset(preset):
    run, wanted = RunDirectory.open(RECORDED / preset), catalog.preset(preset)
    recorded_on = {field: value for field, (_, value) in differences(run.config(), wanted).items()}
    assert (recorded_on, run.config().about) == (OTHER_DATA.get(preset, {}), wanted.about)
    last = run.metrics()[-1].update
    assert (run.status().state, last, run.samples()[-1].update) == ("finished", wanted.ppo.num_updates, last)
    assert run.events()
    assert not OF_A_MACHINE.search(everything(run.path))


def test_the_recording_of_the_default_preset_can_be_looked_into():
    run = RunDirectory.open(RECORDED / catalog.DEFAULT_PRESET)
    assert traces.updates(run) == [1, 21, 40]
    assert all(traces.read(run, update) for update in traces.updates(run))
    assert run.token_figures()
    assert frontier_samples.read(run)


def test_a_recording_brings_every_update_with_fewer_texts(tmp_path):
    run, folder = fake_run.write_run(tmp_path, "one"), tmp_path / "recorded"
    recordings.record(run, catalog.DEFAULT_PRESET, folder)
    rollouts = RunDirectory(folder).rollouts()
    assert [rollout.update for rollout in rollouts] == list(range(1, 41))
    assert {len(rollout.texts) for rollout in rollouts} == {recordings.FEW_TEXTS}
    assert not (folder / "rollouts.jsonl").exists()


def test_recordings_are_of_presets_and_small():
    sizes = {
        folder.name: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        for folder in RECORDED.iterdir()
    }
    assert {*sizes} == {*INCLUDED, *ON_REAL_MODEL, *OF_LESSONS}
    assert sum(sizes[name] for name in INCLUDED) < MOST_BYTES
    assert [name for name in ON_REAL_MODEL if sizes[name] > MOST_BYTES_EACH] == []
    assert [name for name in OF_LESSONS if sizes[name] > MOST_BYTES_OF_LESSON] == []

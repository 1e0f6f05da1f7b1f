"""Model folders of strangers: refused with a sentence before anything of them is deserialised, run or downloaded; and a
program in one that does not come to an end, or takes too much memory, is ended."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playground.errors import ModelNotFound
from playground.models import model_files
from playground.runs.folder import exit_reasons
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.models import time_limit
from tests.security import hostile_models
from tests.security.guarded import REFUSED
from tests.security.hostile_models import CONFIGS, FOLDERS, Hostile, build, canary
from tests.support import PROJECT

GATE_SECONDS = 2.0  # of a processor


def refusal(folder: Path) -> str:
    """What the gate says, in the time that it may take; empty if it lets the folder through."""
    clock = time.thread_time()
    try:
        catalog.model_folder(str(folder))
        sentence = ""
    except ModelNotFound as error:
        sentence = str(error)
    assert time.thread_time() - clock < GATE_SECONDS
    return sentence


@pytest.mark.parametrize(("what", "table"), [("folders", FOLDERS), ("configurations", CONFIGS)])
def test_hostile_models_are_refused_by_file_or_field_before_anything_is_opened(what, table, tmp_path, figure):
    passed = {}
    for hostile in table:
        folder = build(hostile, tmp_path)
        sentence = refusal(folder)
        sentence = sentence.replace(str(folder), "")  # which has words too
        good = hostile.words in sentence and "\n" not in sentence and len(sentence) < 1500
        if not good or canary(folder).exists():
            passed[hostile.name] = sentence
    assert passed == {}
    figure(f"hostile model {what} refused by the gate", len(table), len(table) - len(passed))


def test_the_folder_that_all_of_them_are_made_of_is_good(tmp_path):
    assert refusal(build(Hostile("good"), tmp_path)) == ""


def test_left_overs_of_a_training_beside_good_weights_are_left_alone(tmp_path):
    folder = build(Hostile("left"), tmp_path)
    for name in ("rng_state.pth", "optimizer.pt", "scheduler.pt", "training_args.bin"):
        (folder / name).write_bytes(hostile_models.poison(folder))
    assert refusal(folder) == ""  # at night they are seen to be never opened
    (folder / "model.safetensors").unlink()
    assert "pickle file only" in refusal(folder)


def test_the_hub_s_own_links_into_its_store_are_followed(tmp_path):
    folder = tmp_path / "models--a--b" / "snapshots" / "c0ffee"
    store = tmp_path / "models--a--b" / "blobs"
    store.mkdir(parents=True)
    shutil.copytree(hostile_models.SOURCE, folder)
    for path in list(folder.iterdir()):
        path.rename(store / path.name)
        path.symlink_to(f"../../blobs/{path.name}")
    assert model_files.inspect(folder).architecture.layers == 4
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("../../../elsewhere")
    (tmp_path / "elsewhere").write_bytes((store / "model.safetensors").read_bytes())
    with pytest.raises(ModelNotFound, match="leads out of its folder"):
        model_files.inspect(folder)


def guarded(kind: str, *folder: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.security.guarded", kind, *folder]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)


@pytest.mark.parametrize("kind", ["number", "loop"])
def test_a_run_that_hangs_in_a_model_ends_with_that_reason_whatever_it_hangs_in(tmp_path, kind):
    run = RunDirectory.create(tmp_path, catalog.preset(catalog.DEFAULT_PRESET), "guarded")
    done = guarded(kind, str(run.path))
    assert done.returncode == -signal.SIGALRM
    assert "in hang" in done.stderr, "the log says where it was"
    assert not run.is_alive()
    reason, _ = exit_reasons.of_death(done.returncode, run.status_on_disk(), run.path)
    assert reason == "model"
    assert exit_reasons.state_after(reason) == "failed"


def test_what_takes_too_much_memory_is_refused_in_a_sentence():
    done = guarded("memory")
    assert done.returncode == REFUSED
    assert "some/folder: it took more than 0.3 GB of memory" in done.stdout


def test_a_program_that_ends_in_time_is_left_alone_and_the_limits_end_with_it():
    assert guarded("nothing").returncode == 0


def test_nothing_is_limited_in_another_process_nor_of_what_ships():
    with time_limit.limited("It"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    time_limit.begin()
    try:
        with time_limit.limited("It", catalog.POCKET_MODELS / "pocket-1m"):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        with time_limit.limited("It"):
            assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        time_limit.end()

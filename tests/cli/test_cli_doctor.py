"""`doctor`: what it checks, what it says of it, and that its exit code follows."""

import json
import os

import pytest

from playground.cli import health
from playground.cli.health import Check
from playground.config import local_only
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, devices
from tests.model_folders import model_folder
from tests.support import TESTS_VARIABLE, small_config


@pytest.fixture
def healthy(monkeypatch, tmp_path):
    """Shipped model files, right packages, and a PyTorch that answers at once. Returns the folder of models."""
    for choice in catalog.MODELS:
        model_folder(tmp_path / "models" / choice.name)
    (tmp_path / "requirements.txt").write_text("# pins\npytest==" + pytest.__version__ + "\n-r other.txt\n")
    monkeypatch.setattr(catalog, "POCKET_MODELS", tmp_path / "models")
    monkeypatch.setattr(health, "REQUIREMENTS", tmp_path / "requirements.txt")
    monkeypatch.setattr(health, "ASK_TORCH", answering())
    monkeypatch.setattr(devices, "available", lambda: [devices.Device("cpu", "Processor", 8 * 10**9, 4 * 10**9)])
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    for name in (TESTS_VARIABLE, local_only.MODE):  # a page that was served in this process has set the latter
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(health, "LEAST_FREE_MEMORY_GB", 0)
    monkeypatch.setattr(health, "LEAST_FREE_DISK_GB", 0)
    return tmp_path


def answering(*gpus, bitsandbytes="1.0"):
    """A program that answers as PyTorch's would."""
    facts = {"gpus": [{"name": name, "bf16": True} for name in gpus], "mps": False, "bitsandbytes": bitsandbytes}
    return f"print({json.dumps(facts)!r})"


def check_of(outputs, name):
    return next(check for check in health.examine(outputs) if check.name == name)


def test_a_healthy_machine_is_all_ok_and_the_token_of_the_hub_is_not_told(run, outputs, healthy, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    result = run("doctor")
    assert result.code == 0
    assert "there is a token" in result.out
    assert "verysecret" not in result.out + result.err
    assert all(line.startswith("ok ") for line in result.out.splitlines())
    answer = run("doctor", "--json").data
    assert answer["ok"] is True
    assert {check["level"] for check in answer["checks"]} == {"ok"}
    expected = {"python", "cpu", "gpu", "pytest", "hub", "pocket-2m", "outputs", "disk", "runs", "stalled", "bin"}
    assert expected < {check["name"] for check in answer["checks"]}


def test_what_is_wrong_has_its_level_and_a_remedy(run, outputs, healthy, monkeypatch):
    (healthy / "models" / "pocket-1m" / "model.safetensors").unlink()
    (healthy / "requirements.txt").write_text("pytest==1.0 ; x # why\nno-such-package-of-ours==2.0\n")
    monkeypatch.setattr(health, "ASK_TORCH", answering(bitsandbytes="does not start: ImportError"))
    gpu = devices.Device("cuda:0", "NVIDIA T4", 16 * 10**9, 15 * 10**9)
    monkeypatch.setattr(devices, "available", lambda: [gpu])  # which this PyTorch does not see
    monkeypatch.setattr(health, "LEAST_FREE_MEMORY_GB", 1e9)
    monkeypatch.setattr(health, "LEAST_FREE_DISK_GB", 1e9)
    result = run("doctor", "--json")
    assert result.code == 1
    assert result.data["ok"] is False
    amiss = {check["name"]: check for check in result.data["checks"] if check["level"] != "ok"}
    assert {name: check["level"] for name, check in amiss.items()} == {
        **dict.fromkeys(("pytest", "gpu", "bitsandbytes backend", "cuda:0", "disk"), "warn"),
        **dict.fromkeys(("pocket-1m", "no-such-package-of-ours"), "fail"),
    }
    assert all(check["remedy"] for check in amiss.values())
    assert amiss["pytest"]["found"] == pytest.__version__
    assert "1.0:" in amiss["pytest"]["remedy"]
    assert "rebuild it as docs/pocket-world.md says" in amiss["pocket-1m"]["remedy"]
    unwritable = check_of(healthy / "requirements.txt", "outputs")
    assert unwritable.level == "fail"
    assert unwritable.remedy


def test_torch_is_asked_in_a_process_of_its_own(outputs, healthy, monkeypatch):
    monkeypatch.setattr(health, "ASK_TORCH", answering("NVIDIA H200", "NVIDIA H200"))
    assert check_of(outputs, "gpu") == Check("gpu", "ok", "NVIDIA H200 (bf16), NVIDIA H200 (bf16)")
    monkeypatch.setattr(health, "ASK_TORCH", "raise ImportError('no torch')")
    check = check_of(outputs, "gpu")
    assert check.level == "fail"
    assert "ImportError: no torch" in check.found


def test_interrupted_runs_and_the_bin_are_reported_and_the_bin_emptied(run, outputs, healthy, ended):
    os.utime(RunDirectory.create(outputs, small_config(), "lost").status_path, (1, 1))  # long ago
    history.delete_run(ended)
    assert run("doctor").code == 0
    runs = check_of(outputs, "runs")
    assert (runs.level, runs.found) == ("warn", "1, of which 0 training; interrupted: lost")
    assert check_of(outputs, "bin").found == "1 deleted run"
    emptied = run("doctor", "--empty-bin", "--json")
    assert emptied.err == "Deleted 1 run from the bin.\n"
    assert {check["name"]: check["found"] for check in emptied.data["checks"]}["bin"] == "empty"


def test_what_doctor_prints_for_an_issue_names_no_folder_and_no_secret(run, outputs, healthy, monkeypatch):
    home = healthy / "ada.lovelace"
    secret = "hf_" + "x" * 30
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "cache" / "hub"))
    monkeypatch.setenv("HF_TOKEN", secret)
    monkeypatch.setenv("PLAYGROUND_PASSWORD", "a long pass phrase")
    monkeypatch.setenv("PLAYGROUND_ON_SERVER_DEATH", "die")
    monkeypatch.setattr(
        health, "ASK_TORCH", f"raise SystemExit('{secret} in {home}/lib and /data/grace.hopper/lib/x.so')"
    )
    answer = run("doctor", "--json")
    assert not any(part in answer.out for part in ("ada.lovelace", "grace.hopper", secret, "pass phrase", str(healthy)))
    said = {check["name"]: check["found"] for check in answer.data["checks"]}
    assert said["playground"].startswith("0.1.0, commit ")
    assert said["mode"] == ("local, unless --mode says otherwise; set: PLAYGROUND_ON_SERVER_DEATH, PLAYGROUND_OUTPUTS")
    assert "kept in ~/cache/hub" in said["hub"]
    assert "there is a token" in said["hub"]
    assert said["gpu"].endswith("in ~/lib and x.so")
    assert said["outputs"] == "outputs can be written"
    assert str(outputs) in run("doctor").out  # for oneself
    monkeypatch.setenv("SPACE_ID", "ada/space")
    assert check_of(outputs, "mode").found.startswith("space: ")

"""Pushing to the hub: nothing leaves without a yes, the token stays where it is, every refusal is one sentence."""

import io
from unittest import mock

import httpx2
import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from playground import cli
from playground.exports import saving
from playground.exports.card import Written
from tests.exports import saved_runs
from tests.support import data_beside

TOKEN = "hf_secretsecretsecretsecretsecretsecr"


def refusal(code, kind=HfHubHTTPError):
    """What the hub's client raises; its message repeats the token."""
    return kind(TOKEN, response=httpx2.Response(code, request=httpx2.Request("GET", "https://hub.test")))


@pytest.fixture
def run(outputs, monkeypatch):
    """A run that trained every weight, of which saving writes a small folder without the model service."""

    def save(run, service, kind, target, **_):
        target.mkdir(parents=True, exist_ok=True)
        (target / "README.md").write_text("card")
        (target / "model.safetensors").write_bytes(b"0" * 2_000_000)
        return saving.Saved(target, Written(kind, 3, 10, "fp32"), 2_000_004)

    monkeypatch.setattr(saving, "save", save)
    return saved_runs.write_run(outputs, "one", lora=False)


@pytest.fixture
def api(run, monkeypatch):
    """The hub's client, whose methods only take what the real ones take: of ann, who has no repository yet."""
    client = mock.create_autospec(huggingface_hub.HfApi, instance=True)
    client.whoami.return_value = {"name": "ann"}
    client.model_info.side_effect = refusal(404, RepositoryNotFoundError)
    monkeypatch.setattr(huggingface_hub, "HfApi", mock.Mock(return_value=client))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.test/")
    return client


def call(*arguments):
    with pytest.raises(SystemExit) as left:
        cli.main(["push", *arguments])
    return left.value.code


def test_a_yes_makes_a_private_repository_and_uploads_the_folder(api, run, capsys):
    assert call(str(run.path), "--to", "ann/kind", "--yes") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "https://hub.test/ann/kind"
    for words in ("ann/kind (is created), as user ann", "private: ", "2.0 MB", "apache-2.0", "5 of your prompts"):
        assert words in shown.err
    assert api.create_repo.call_args == mock.call("ann/kind", private=True, exist_ok=True)
    sent = api.upload_folder.call_args.kwargs
    assert (sent["repo_id"], sent["folder_path"]) == ("ann/kind", saving.default_folder(run, "merged"))
    assert huggingface_hub.HfApi.call_args == mock.call(token=TOKEN)
    assert TOKEN not in shown.out + shown.err
    files = [path.read_bytes() for path in run.path.parent.rglob("*") if path.is_file()]
    assert not any(TOKEN.encode() in data for data in files)


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_without_a_yes_nothing_leaves(api, run, capsys, monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert call(str(run.path), "--to", "ann/kind") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Nothing was pushed" in shown.err
    assert not api.create_repo.called
    assert not api.upload_folder.called


def test_an_existing_repository_keeps_its_visibility_and_this_is_said(api, run, capsys):
    api.model_info = mock.Mock(return_value=mock.Mock(private=False))
    assert call(str(run.path), "--to", "ann/kind", "--private", "--yes") == 0
    shown = capsys.readouterr().err
    assert "exists already" in shown
    assert "public: everybody" in shown
    assert api.upload_folder.called
    assert not api.create_repo.called


ERRORS = {kind.__name__: kind for kind in (httpx2.ConnectError, ValueError, OSError)}


@pytest.mark.parametrize(("method", "reason", "words"), data_beside(__file__, "tables.yaml")["refusals"])
def test_a_refusal_is_one_sentence_that_does_not_repeat_the_server(api, run, capsys, method, reason, words):
    getattr(api, method).side_effect = ERRORS[reason](TOKEN) if reason in ERRORS else refusal(reason)
    assert call(str(run.path), "--to", "ann/kind", "--yes") == 1
    shown = capsys.readouterr().err
    assert words in shown
    assert TOKEN not in shown
    assert "Traceback" not in shown
    assert (run.path.parent / "saved").exists() == (method != "whoami"), "asked before any work"


def test_offline_mode_no_token_and_a_bad_name_are_one_sentence_each(api, run, capsys, monkeypatch):
    for name in ("ann/kind/more", "../x"):
        assert call(str(run.path), "--to", name) == 2
        assert "owner/name" in capsys.readouterr().err
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert call(str(run.path), "--to", "ann/kind") == 1
    assert "There is no token" in capsys.readouterr().err
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert call(str(run.path), "--to", "ann/kind") == 1
    assert "HF_HUB_OFFLINE=1" in capsys.readouterr().err

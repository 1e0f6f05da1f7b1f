"""Pushing to the hub: nothing leaves without a yes, the token stays where it is, every refusal is one sentence."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path

import pytest

from playground import cli
from playground.exports import push, saving
from playground.exports.card import Written
from tests.exports import saved_runs
from tests.model_folders import model_folder
from tests.support import small_config

TOKEN = "hf_secretsecretsecretsecretsecretsecr"


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub of its own: who am I, what is there, make a repository, take a commit."""

    def answer(self, code, data=b""):
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def note(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization"), body))
        return body

    def do_GET(self):
        self.note()
        server = self.server
        if self.path.startswith("/api/whoami"):
            return self.answer(401, {"error": "no"}) if server.unknown else self.answer(200, {"name": "ann"})
        if self.path.startswith("/api/models/"):
            if server.repository is None:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            return self.answer(200, {"id": "ann/kind", "private": server.repository, "siblings": []})
        self.answer(404)

    def do_POST(self):
        body = self.note()
        if self.path == "/api/repos/create":
            if self.server.forbidden:
                return self.answer(403, {"error": f"token {TOKEN} may not"})
            return self.answer(200, {"url": f"{self.server.address}/ann/kind"})
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            return self.answer(200, {"files": [
                {"path": item["path"], "uploadMode": "regular", "shouldIgnore": False} for item in files
            ]})  # fmt: skip
        if "/commit/" in self.path:
            return self.answer(200, {
                "commitUrl": f"{self.server.address}/ann/kind/commit/abc", "commitOid": "abc", "pullRequestUrl": None,
            })  # fmt: skip
        self.answer(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The stub, and the hub's client pointed at it."""
    from huggingface_hub import constants, hf_api

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.seen, server.repository, server.unknown, server.forbidden = [], None, False, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    monkeypatch.setattr(hf_api, "ENDPOINT", server.address, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(outputs):
    """A run that trained every weight."""
    return saved_runs.write_run(outputs, "one", lora=False)


@pytest.fixture
def quickly(monkeypatch):
    """The weights without the model service: a small folder."""

    def save(run, service, kind, target, **_):
        target.mkdir(parents=True, exist_ok=True)
        (target / "README.md").write_text("card")
        (target / "model.safetensors").write_bytes(b"0" * 2_000_000)
        return saving.Saved(target, Written(kind, 3, 10, "fp32", None), 2_000_004)

    monkeypatch.setattr(saving, "save", save)


def call(*arguments):
    with pytest.raises(SystemExit) as left:
        cli.main(["push", *arguments])
    return left.value.code


def written(hub):
    return [(method, path) for method, path, *_ in hub.seen if method == "POST"]


def test_a_yes_makes_a_private_repository_and_uploads_the_folder(hub, run, quickly, capsys):
    assert call(str(run.path), "--to", "ann/kind", "--yes") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == f"{hub.address}/ann/kind"
    for words in ("ann/kind (is made anew), as user ann", "private: you and those you let in", "2.0 MB", "apache-2.0",
                  "README.md with 5 of your prompts", "paths of this machine included"):  # fmt: skip
        assert words in shown.err
    assert written(hub)[0] == ("POST", "/api/repos/create")
    made = json.loads(next(body for _, path, _, body in hub.seen if path == "/api/repos/create"))
    assert made["name"] == "kind" and (made.get("private") is True or made.get("visibility") == "private")
    commit = next(body for _, path, _, body in hub.seen if "/commit/" in path)
    assert b'"path":"README.md"' in commit.replace(b": ", b":")
    assert {authorization for *_, authorization, _ in hub.seen} == {f"Bearer {TOKEN}"}
    assert TOKEN not in shown.out + shown.err
    kept = [path for path in run.path.parent.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_without_a_yes_nothing_leaves(hub, run, quickly, capsys, monkeypatch, answer):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert call(str(run.path), "--to", "ann/kind") == 2
    shown = capsys.readouterr()
    assert written(hub) == [] and shown.out == ""
    assert "Nothing was pushed" in shown.err


def test_an_existing_repository_keeps_its_visibility_and_this_is_said(hub, run, quickly, capsys):
    hub.repository = False
    assert call(str(run.path), "--to", "ann/kind", "--private", "--yes") == 0
    shown = capsys.readouterr()
    assert "exists already; files of the same name are replaced" in shown.err and "public: everybody" in shown.err
    assert ("POST", "/api/repos/create") not in written(hub)


def test_a_token_that_is_not_known_is_refused_before_any_work(hub, run, capsys):
    hub.unknown = True
    assert call(str(run.path), "--to", "ann/kind", "--yes") == 1
    shown = capsys.readouterr().err
    assert shown.startswith("The hub does not accept this token.") and TOKEN not in shown
    assert not (run.path.parent / "saved").exists()


def test_a_token_that_may_not_write_is_one_sentence_that_does_not_repeat_the_server(hub, run, quickly, capsys):
    hub.forbidden = True
    assert call(str(run.path), "--to", "ann/kind", "--yes") == 1
    shown = capsys.readouterr().err
    assert "The token may not write to ann/kind." in shown and TOKEN not in shown and "Traceback" not in shown


def test_no_network_is_one_sentence(run, quickly, capsys, monkeypatch, hub):
    hub.shutdown()
    hub.server_close()
    assert call(str(run.path), "--to", "ann/kind", "--yes") == 1
    assert "The hub cannot be reached" in capsys.readouterr().err


def test_offline_mode_no_token_and_a_bad_name_are_one_sentence_each(run, capsys, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert call(str(run.path), "--to", "ann/kind") == 1
    assert capsys.readouterr().err == "The hub is switched off here by HF_HUB_OFFLINE=1. Unset it to push.\n"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert call(str(run.path), "--to", "ann/kind") == 1
    assert capsys.readouterr().err.startswith("There is no token for the hub. Set HF_TOKEN")
    for name in ("kind", "ann/kind/more", "../x", "ann/"):
        assert call(str(run.path), "--to", name) == 1
        assert "Write it as owner/name." in capsys.readouterr().err


def test_an_adapter_of_a_model_that_nobody_else_has_is_refused():
    config = small_config(model={"source": "pocket-1m", "adapter": {"kind": "lora"}})
    with pytest.raises(push.PushRefused, match="Push --as merged"):
        push.check_base(config, "adapter")
    push.check_base(config, "merged")
    push.check_base(small_config(model={"source": "openai-community/gpt2"}), "adapter")


def test_the_licence_comes_from_the_catalog_or_the_base_s_own_card(tmp_path):
    from playground.exports.card import front_matter, licence_of

    folder = model_folder(tmp_path / "base")
    config = small_config(model={"source": str(folder)})
    assert licence_of(config) is None
    (folder / "README.md").write_text("---\nlicense: mit\ntags: [a]\n---\n# Base\n")
    assert licence_of(config) == "mit" and licence_of(small_config()) == "apache-2.0"
    hub_config = small_config(model={"source": "openai-community/gpt2"}, prompts={"source": "Anthropic/hh-rlhf"})
    assert licence_of(hub_config) == "mit"
    text = front_matter(hub_config, Written("merged", 1, 1, "fp32", None))
    assert "base_model: openai-community/gpt2" in text and "- Anthropic/hh-rlhf" in text


def test_the_folder_with_the_token_s_file_is_never_part_of_it():
    """The upload takes the saved folder only; nothing of the home folder is in it."""
    assert "folder_path=planned.folder" in Path(push.__file__).read_text(encoding="utf-8")

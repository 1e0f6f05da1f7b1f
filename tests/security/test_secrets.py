"""Tokens and passwords: only who needs one has it, none is in a message. Files of runs are for their user alone."""

import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import traceback
from types import SimpleNamespace

import pytest

from playground import redaction
from playground.config.yaml_io import from_dict
from playground.data import row_files
from playground.errors import PlaygroundError, ServiceUnavailable
from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs
from playground.runs.folder.writer import RunWriter
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.setup import checks
from playground.training.service import questions
from playground.ui import server
from tests.security import DATA
from tests.service_here import ServiceHere
from tests.support import small_config

CANARY = "cAn4ry5eCrEt"
TEXTS = json.loads((DATA / "secrets.json").read_text(encoding="utf-8").replace("CANARY", CANARY))
SECRETS = TEXTS["environment"]


def test_what_looks_like_a_secret_is_hidden_and_ordinary_words_stay():
    for text in TEXTS["leaking"]:
        assert CANARY not in redaction.redact(f"Traceback:\n  {text}\nend"), text
        assert "end" in redaction.redact(f"{text}\nend")
    for text in TEXTS["ordinary"]:
        assert redaction.redact(text) == text


def test_the_secrets_of_the_environment_and_of_the_hub_s_login_are_hidden_however_they_look(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_PASSWORD", "correct horse battery")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (tmp_path / "token").write_text("an-odd-login-of-the-hub\n")
    hidden = redaction.redact("x correct horse battery y an-odd-login-of-the-hub z")
    assert hidden == "x [hidden] y [hidden] z"


def test_a_process_gets_no_secret_but_the_hub_s_where_it_downloads():
    useful, foreign = TEXTS["useful"], dict.fromkeys(TEXTS["foreign"], CANARY)
    ways_out = {"https_proxy": f"http://user:{CANARY}@proxy", "SSL_CERT_FILE": "/ca.pem"}
    around = {**SECRETS, **foreign, **ways_out, **dict.fromkeys(useful, "x")}
    plain = redaction.needed_variables(around)
    assert plain == {**dict.fromkeys(useful, "x"), "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
    hub = redaction.needed_variables(around, hub=True)
    assert {name for name in hub if CANARY in hub[name]} == {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "https_proxy"}
    assert "HF_HUB_DISABLE_IMPLICIT_TOKEN" not in hub
    assert hub["SSL_CERT_FILE"] == "/ca.pem"


def prepare_a_standby_worker(outputs):
    with contextlib.closing(StandbyWorker()) as standby:
        standby.prepare()


STARTED = {
    "a worker": lambda outputs: launcher.start(small_config(), outputs, "r"),
    "a standby worker": prepare_a_standby_worker,
    "the model service": lambda outputs: next(ModelService(outputs).compare("pocket-1m", "The film was")),
}


@pytest.mark.parametrize("what", STARTED)
def test_no_process_is_started_with_a_secret_of_its_server(what, outputs, monkeypatch):
    started = []

    def record(command, **options):
        started.append((command, options["env"]))
        raise OSError("no process is started here")

    monkeypatch.setattr(subprocess, "Popen", record)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    with contextlib.suppress(PlaygroundError):
        STARTED[what](outputs)
    (given,) = started
    assert "PATH" in given[1]
    assert CANARY not in repr(given)


@pytest.mark.parametrize(("changes", "asks"), TEXTS["asks_hub"])
def test_only_a_run_that_names_something_of_the_hub_is_given_its_token(changes, asks):
    assert checks.asks_hub(from_dict({"rewards": [{"kind": "length"}], **changes})) is asks


@pytest.mark.parametrize("mode", ["", "local", "classroom", "space"])
def test_messages_of_a_run_and_of_the_model_service_name_folders_in_local_mode_only(mode, run, tmp_path, monkeypatch):
    """An upload that has gone, of which a run that is taken up again, or measured, is told by its place."""
    monkeypatch.setenv("PLAYGROUND_MODE", mode)
    shared, gone = mode in ("classroom", "space"), tmp_path / "uploads" / "0123456789ab-mine.txt"
    sentence = f"Cannot read {'' if shared else f'{gone.parent}/'}{gone.name}: No such file or directory."

    def unreadable(service, question):
        yield from row_files.rows(gone)

    monkeypatch.setitem(questions.QUESTIONS, "unreadable", unreadable)
    service = ServiceHere()
    with pytest.raises(ServiceUnavailable) as refused:
        list(service.ask("unreadable", {}))
    service.close()
    writer = RunWriter(run, 3)
    writer.event("warning", f"Cannot read {gone}: No such file or directory.")
    writer.finish("failed", "invalid", f"Cannot read {gone}: No such file or directory.")
    warning, _ = run.events()
    assert [str(refused.value), warning.message, run.status().message] == [sentence] * 3


SENT = f"\x1b]0;mine\x07\x1b[2J\x9b31m\u202e\ud800 https://u:{CANARY}@h/\r{'long' * 10_000}\nnext\ttab\n"
GREETING = "http://h/host?token=shown-as-it-is"


def launch_and_print(*_):
    """In the place of a server: what Gradio does with a handler's error."""
    print(SENT)
    try:
        raise ValueError(SENT + "\n" * 50_000 + "last")
    except ValueError:
        traceback.print_exc()
    os.kill(os.getpid(), signal.SIGTERM)
    return SimpleNamespace(greeting=GREETING, close=lambda: None)


def test_what_a_stranger_makes_the_server_print_commands_no_terminal(tmp_path, monkeypatch):
    """A handler's arguments are in the message of Gradio's error, of which the web process prints the traceback."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(server, "launch", launch_and_print)
    monkeypatch.setattr(server, "_allow_open_files", lambda: None)
    monkeypatch.setattr(server, "faulthandler", SimpleNamespace(dump_traceback_later=lambda *_, **__: None))
    monkeypatch.setattr(os, "umask", lambda mode: mode)
    server.serve(outputs=tmp_path)
    printed = {name: stream.buffer.getvalue().decode() for name, stream in streams.items()}
    assert f"{GREETING}\n" in printed["stdout"]
    for text in printed.values():
        assert {character for character in text if not character.isprintable()} == {"\n", "\t"}
        assert "[hidden]@h" in text
        assert CANARY not in text
        assert "\nnext\ttab\n" in text
        assert max(map(len, text.split("\n"))) <= 2010
        assert text.count("\n") < 500
    assert printed["stderr"].endswith("\nlast\n")


@pytest.fixture
def open_handed():
    """A user whose files everybody may read."""
    before = os.umask(0o000)
    yield
    os.umask(before)


def rights_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_for_runs_is_private(outputs, fake_worker, open_handed, figure):
    run, process = launcher.start(small_config("finish"), outputs, "r")
    assert process.wait() == 0
    found = {path: rights_of(path) for path in run.path.rglob("*") if path.is_file()}
    written = {path.name for path in found}
    assert {"config.yaml", "status.json", "request.json", "metrics.jsonl", "samples.jsonl"} <= written
    assert rights_of(outputs) == rights_of(run.path) == 0o700
    readable = [path.name for path, bits in found.items() if bits & 0o077]
    figure("files of a run that only its user can read", len(found), len(found) - len(readable))


def test_a_folder_that_was_there_keeps_its_rights(tmp_path):
    tmp_path.chmod(0o755)
    assert rights_of(make_outputs(tmp_path)) == 0o755
    assert rights_of(RunDirectory.create(tmp_path, small_config(), "r").path) == 0o700

"""Tokens and passwords: only who needs one has it, and none turns up in files, messages, command lines or pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground import redaction
from playground.config.yaml_io import from_dict
from playground.data import row_files
from playground.errors import ServiceUnavailable
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import checks
from playground.training.service import questions
from playground.ui import routes
from playground.ui.feed import feed
from tests.figures import Figure
from tests.service_here import ServiceHere
from tests.support import PROJECT, small_config, wait_until

CANARY = "cAn4ry5eCrEt"
IN_ADDRESS = "cAn4ry1nAddrE55"
SECRETS = {
    name: value.replace("CANARY", CANARY)
    for name, value in json.loads("""{
        "HF_TOKEN": "hf_CANARY0123456789abcdef", "HUGGING_FACE_HUB_TOKEN": "hf_CANARYfedcba9876543210",
        "WANDB_API_KEY": "CANARYwandb0123456789", "AWS_ACCESS_KEY_ID": "AKIACANARY",
        "AWS_SECRET_ACCESS_KEY": "CANARY/aws+secret", "AWS_SESSION_TOKEN": "CANARYawssession",
        "OPENAI_API_KEY": "sk-CANARY0123456789", "GITHUB_TOKEN": "ghp_CANARY0123456789",
        "DATABASE_PASSWORD": "CANARYpassword", "MY_PRIVATE_KEY": "CANARYprivate", "SLACK_TOKEN": "xoxb-CANARY123456",
        "PGPASSWORD": "CANARYpostgres", "DB_PASS": "CANARYdatabase", "OPENAI_KEY": "CANARYopenai",
        "DATABASE_URL": "postgres://CANARY@host/x", "SENTRY_DSN": "https://CANARY@s/1"
    }""").items()
}
LEAKING = """
    https://user:CANARY@huggingface.co/a/b
    http://token:CANARY@127.0.0.1:8080/
    Authorization: Bearer CANARY
    {'authorization': 'Bearer CANARY'}
    "Authorization": "Basic CANARY"
    headers: X-API-Key: CANARY
    GET /x?token=CANARY&a=1
    https://s3/x?X-Amz-Signature=CANARY
    Cookie: session=CANARY
    token is hf_CANARY0123456789
    key sk-CANARY0123456789
    401 for bearer CANARY
    ?api_key=CANARY
"""
RAISING = (  # in two pieces, so that the configuration itself does not hold the word
    r'rewards=[{kind: python, code: "def reward(prompt, completion):\n    raise ValueError('
    f"'Bearer {CANARY[:6]}' '{CANARY[6:]}')\"}}]"
)
ORDINARY = """
    The tokenizer in /x/y has 12 tokens, more than the 10 of the model.
    token: 5
    Choose a model: owner/name.
    https://huggingface.co/settings/tokens
    kl.coef: must be at most 10 (got 11).
    Human: hi Assistant: ho
    skip-this-long-name-here risk-averse-investors-everywhere
    http://127.0.0.1:7860/?preset=yes-man
"""


def test_what_looks_like_a_secret_is_hidden_and_ordinary_words_stay() -> None:
    for text in LEAKING.replace("CANARY", CANARY).strip().splitlines():
        assert CANARY not in redaction.redact(f"Traceback:\n  {text}\nend"), text
        assert "end" in redaction.redact(f"{text}\nend")
    for text in ORDINARY.strip().splitlines():
        assert redaction.redact(text) == text


def test_the_secrets_of_the_environment_and_of_the_hub_s_login_are_hidden_however_they_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_PASSWORD", "correct horse battery")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (tmp_path / "token").write_text("an-odd-login-of-the-hub\n")
    found = redaction.redact("x correct horse battery y an-odd-login-of-the-hub z")
    assert found == "x [hidden] y [hidden] z"


def test_a_process_gets_no_secret_but_the_hub_s_where_it_downloads() -> None:
    useful = (
        "PATH HOME LANG LC_ALL TMPDIR PYTHONPATH LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES OMP_NUM_THREADS "
        "PYTORCH_CUDA_ALLOC_CONF TORCH_HOME TOKENIZERS_PARALLELISM HF_HUB_OFFLINE HF_HOME XDG_CACHE_HOME "
        "PLAYGROUND_MODE"
    ).split()
    foreign = {name: f"{CANARY}" for name in ("SSH_AUTH_SOCK", "KUBECONFIG", "MY_APP_LOGIN", "SUDO_USER", "GPG_TTY")}
    ways_out = {"https_proxy": f"http://user:{CANARY}@proxy", "SSL_CERT_FILE": "/ca.pem"}
    around = {**SECRETS, **foreign, **ways_out, **dict.fromkeys(useful, "x")}
    plain = redaction.needed_variables(around)
    assert plain == {**dict.fromkeys(useful, "x"), "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
    hub = redaction.needed_variables(around, hub=True)
    assert {name for name in hub if CANARY in hub[name]} == {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "https_proxy"}
    assert "HF_HUB_DISABLE_IMPLICIT_TOKEN" not in hub
    assert hub["SSL_CERT_FILE"] == "/ca.pem"


ASKING = [
    {"model": {"source": "gpt2"}},
    {"prompts": {"source": "Anthropic/hh-rlhf"}},
    {"rewards": [{"kind": "model", "source": "someone/scorer"}]},
    {"judges": [{"kind": "model", "source": "someone/scorer"}]},
]
LOCAL = [
    {},
    {"prompts": {"source": "files/prompts.csv"}},
    {"rewards": [{"kind": "model", "source": "mine"}]},
    {"reference": {"source": "pocket-1m"}},
]


def test_only_a_run_that_names_something_of_the_hub_is_given_its_token() -> None:
    for cases, asks in ((ASKING, True), (LOCAL, False)):
        for changes in cases:
            assert checks.asks_hub(from_dict({"rewards": [{"kind": "length"}], **changes})) is asks, changes


@pytest.mark.parametrize("mode", ["", "local", "classroom", "space"])
def test_messages_of_a_run_and_of_the_model_service_name_folders_in_local_mode_only(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload that has gone, of which a run that is taken up again, or measured, is told by its place."""
    monkeypatch.setenv("PLAYGROUND_MODE", mode)
    shared, gone = mode in ("classroom", "space"), tmp_path / "uploads" / "0123456789ab-mine.txt"
    sentence = f"Cannot read {'' if shared else f'{gone.parent}/'}{gone.name}: No such file or directory."

    def unreadable(service: object, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from row_files.rows(gone)

    monkeypatch.setitem(questions.QUESTIONS, "unreadable", unreadable)
    service = ServiceHere()
    with pytest.raises(ServiceUnavailable) as found:
        list(service.ask("unreadable", {}))
    service.close()
    run = RunDirectory.create(tmp_path, small_config(), "one")
    writer = RunWriter(run, 3)
    writer.event("warning", f"Cannot read {gone}: No such file or directory.")
    writer.finish("failed", "invalid", f"Cannot read {gone}: No such file or directory.")
    warning, _ = run.events()
    assert [str(found.value), warning.message, run.status().message] == [sentence] * 3


def test_what_a_stranger_makes_the_server_print_commands_no_terminal(tmp_path: Path) -> None:
    """A handler's arguments are in the message of Gradio's error, of which the web process prints the traceback."""
    sent = f"\x1b]0;mine\x07\x1b[2J\x9b31m\u202e\ud800 https://u:{CANARY}@h/\r"
    tail = "\nnext\ttab\n"
    code = (
        "import os, signal, traceback\nfrom pathlib import Path\nfrom types import SimpleNamespace\n"
        "from playground.ui import server\n"
        "def launch(*_):\n"
        f"    sent = {sent!r} + 'long' * 10_000 + {tail!r}\n"
        "    print(sent)\n"
        "    try:\n        raise ValueError(sent + '\\n' * 50_000 + 'last')\n"
        "    except ValueError:\n        traceback.print_exc()\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return SimpleNamespace(greeting='http://h/host?token=shown-as-it-is', close=lambda: None,\n"
        "                           standby=SimpleNamespace(prepare=lambda: None))\n"
        "server.launch = launch\n"
        f"server.serve(outputs=Path({str(tmp_path)!r}))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert b"http://h/host?token=shown-as-it-is\n" in ended.stdout
    for printed in (ended.stdout.decode(), ended.stderr.decode()):
        assert {character for character in printed if not character.isprintable()} == {"\n", "\t"}
        assert "[hidden]@h" in printed
        assert CANARY not in printed
        assert "\nnext\ttab\n" in printed
        assert max(map(len, printed.split("\n"))) <= 2010
        assert printed.count("\n") < 500
    assert ended.stderr.endswith(b"\nlast\n")


class Watcher(threading.Thread):
    """Reads the command lines of all processes that this test has started, and the environments of those that compute,
    until told to stop. It knows them by the outputs folder in their environment."""

    def __init__(self, outputs: Path) -> None:
        super().__init__(daemon=True)
        self.outputs = str(outputs).encode()
        self.over = threading.Event()
        self.command_lines = self.environments = self.processes = 0

    def run(self) -> None:
        """Look again and again."""
        while not self.over.wait(0.05):
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    command = (folder / "cmdline").read_bytes()
                    around = (folder / "environ").read_bytes()
                except OSError:
                    continue
                if self.outputs not in around:
                    continue
                self.processes += 1
                self.command_lines += CANARY.encode() in command
                computes = b"playground.training" in command and b"/bad" not in command  # that one asks the hub
                self.environments += computes and CANARY.encode() in around


STARTS = """
import sys
from pathlib import Path
from playground.config.yaml_io import load
from playground.runs import launcher
print(launcher.start(load(Path("presets/kinder-reviews.yaml"), sys.argv[2:]), Path(sys.argv[1]), "bad").path)
"""  # as the page does: the hub is asked by the worker only


def command(
    outputs: Path, home: Path, *arguments: str, program: tuple[str, str] = ("-m", "playground"), **more: str
) -> str:
    """What a command of ours, or another program, prints in an environment full of secrets."""
    around = {**os.environ, **SECRETS, "HF_HOME": str(home), "PLAYGROUND_OUTPUTS": str(outputs), **more}
    run = [sys.executable, *program, *arguments]
    answer = subprocess.run(run, cwd=PROJECT, env=around, capture_output=True, text=True, timeout=400)
    return answer.stdout + answer.stderr


@pytest.mark.nightly
def test_canaries_are_found_nowhere(tmp_path: Path, outputs: Path, figure: Figure) -> None:
    """A run, the training of a reward model, saving, exports, a push, a failure with a traceback: then every file,
    every word on the terminal, every answer of the page, every command line."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text(f"hf_{CANARY}login0123456789")
    watcher = Watcher(outputs)
    watcher.start()
    sizes = "ppo.num_updates=2 ppo.batch_size=8 ppo.minibatch_size=8 ppo.micro_batch_size=8"
    settings = [*sizes.split(), "evaluation.num_prompts=2", "prompts.limit=16"]
    small = [part for setting in settings for part in ("--set", setting)]
    of_hub = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": f"http://user:{IN_ADDRESS}@127.0.0.1:9"}
    online = {"TRANSFORMERS_OFFLINE": "0", **of_hub}
    private = "model.source=someone/private"

    def printed_by(*arguments: str, **more: Any) -> str:
        return command(outputs, home, *arguments, "--outputs", str(outputs), **more)

    train, good = ("train", "kinder-reviews", *small, "--run-id"), str(outputs / "good")
    train_judge = "reward-train --name judge --pairs kind --base pocket-1m --set max_steps=2 --set pairs.limit=24"
    printed = {
        "train": printed_by(*train, "good"),
        "refused": printed_by(*train, "not-made", "--set", private, **online),
        "fails": command(outputs, home, str(outputs), private, *settings, program=("-c", STARTS), **online),
        "raises": printed_by(*train, "raises", "--set", RAISING),
        "reward": printed_by(*train_judge.split()),
        "save": command(outputs, home, "save", good, "--to", str(tmp_path / "saved")),
        "show": command(outputs, home, "show", good, "--json"),
        "push": command(outputs, home, "push", good, "--to", "someone/model", "--yes", **of_hub),
    }
    wait_until(lambda: RunDirectory(outputs / "bad").status().state in ("failed", "interrupted"))
    watcher.over.set()
    watcher.join()
    assert "model.source" in printed["refused"]
    assert not (outputs / "not-made").exists()
    assert RunDirectory(outputs / "good").status().state == "finished", printed["train"][-2000:]
    assert RunDirectory(outputs / "bad").status().state == "failed"
    assert RunDirectory(outputs / "bad").log_tail()
    log = RunDirectory(outputs / "raises").log_tail()  # the traceback: only what the worker prints goes there
    assert "Traceback" in log
    assert "ValueError: Bearer [hidden]" in log
    places = {f"terminal {name}": text.encode() for name, text in printed.items()}
    files = [path for folder in (outputs, tmp_path / "saved") for path in folder.rglob("*") if path.is_file()]
    places |= {str(path): path.read_bytes() for path in files}
    kinds = "poll compare metrics.csv samples.csv outcome log export/yaml export/trl export/html"
    with TestClient(Starlette(routes=routes.routes(feed.Hub(outputs)))) as client:
        for run in history.list_runs(outputs):
            for kind in kinds.split():
                places[f"page {run.id} {kind}"] = client.get(f"/live/{run.id}/{kind}").content
        for kind in ("_home", "_runs", "_rewards", "_rewards/judge"):
            places[f"page {kind}"] = client.get(f"/live/{kind}").content
    bad = [place for place, content in places.items() if CANARY.encode() in content or IN_ADDRESS.encode() in content]
    assert bad == []
    assert watcher.processes > 20
    assert (watcher.command_lines, watcher.environments) == (0, 0)
    figure("canary tokens searched for in files, terminal, pages and processes", len(places) + 2, len(places) + 2)

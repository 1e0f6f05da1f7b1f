"""Tokens in the environment of all that there is to be done; then every file, every word on the terminal and every
answer of the page is searched for them."""

import os
import subprocess
import sys

from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.ui import routes
from playground.ui.feed import feed
from tests.security import DATA
from tests.security.test_secrets import CANARY, SECRETS
from tests.support import PROJECT, wait_until

IN_ADDRESS = "cAn4ry1nAddrE55"
RAISING = (  # in two pieces, so that the configuration itself does not hold the word; later than it is tried
    r'rewards=[{kind: python, code: "texts = []\n\ndef reward(prompt, completion):\n    texts.append(completion)\n'
    r"    if len(texts) < 14: return 0.0\n    raise ValueError("
    f"'Bearer {CANARY[:6]}' '{CANARY[6:]}')\"}}]"
)
SMALL = (
    "ppo.num_updates=2 ppo.batch_size=8 ppo.minibatch_size=8 ppo.micro_batch_size=8 evaluation.num_prompts=2 "
    "prompts.limit=16"
).split()
STARTS = (DATA / "starts.py.txt").read_text(encoding="utf-8")
OF_HUB = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": f"http://user:{IN_ADDRESS}@127.0.0.1:9"}
PRIVATE = "model.source=someone/private"
KINDS = "poll compare metrics.csv samples.csv outcome log export/yaml export/trl export/html".split()


def test_canaries_are_found_nowhere(tmp_path, outputs, figure):
    """A run, the training of a reward model, saving, exports, a push, a failure with a traceback."""
    home, good = tmp_path / "home", str(outputs / "good")
    home.mkdir()
    (home / "token").write_text(f"hf_{CANARY}login0123456789")
    secret = {**os.environ, **SECRETS, "HF_HOME": str(home), "PLAYGROUND_OUTPUTS": str(outputs)}

    def printed_by(*arguments, program=("-m", "playground"), **more):
        command = [sys.executable, *program, *arguments]
        answer = subprocess.run(command, cwd=PROJECT, env={**secret, **more}, capture_output=True, text=True)
        return answer.stdout + answer.stderr

    train = ("train", "kinder-reviews", *(part for setting in SMALL for part in ("--set", setting)), "--run-id")
    train_judge = "reward-train --name judge --pairs kind --base pocket-1m --set max_steps=2 --set pairs.limit=24"
    online = {"TRANSFORMERS_OFFLINE": "0", **OF_HUB}
    printed = {
        "train": printed_by(*train, "good"),
        "refused": printed_by(*train, "not-made", "--set", PRIVATE, **online),
        "fails": printed_by(str(outputs), PRIVATE, *SMALL, program=("-c", STARTS), **online),
        "raises": printed_by(*train, "raises", "--set", RAISING),
        "tried": printed_by(*train, "tried", "--set", RAISING.replace("< 14", "< 0")),
        "reward": printed_by(*train_judge.split()),
        "save": printed_by("save", good, "--to", str(tmp_path / "saved")),
        "show": printed_by("show", good, "--json"),
        "push": printed_by("push", good, "--to", "someone/model", "--yes", **OF_HUB),
    }
    wait_until(lambda: RunDirectory(outputs / "bad").status().state in ("failed", "interrupted"))
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
    paths = [f"{run.id}/{kind}" for run in history.list_runs(outputs) for kind in KINDS]
    with TestClient(Starlette(routes=routes.routes(feed.Hub(outputs)))) as client:
        for path in [*paths, "_home", "_runs", "_rewards", "_rewards/judge"]:
            places[f"page {path}"] = client.get(f"/live/{path}").content
    assert [place for place, text in places.items() if CANARY.encode() in text or IN_ADDRESS.encode() in text] == []
    figure("canary tokens searched for in files, terminal and pages", len(places), len(places))

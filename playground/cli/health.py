"""Is this machine able to run the playground, and is its outputs folder in order? One check per line, with a remedy.

Imports no torch: a child process asks it for devices. Called by `python -m playground doctor`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from playground import PROJECT_FILES, __version__, redaction, to_install
from playground.cli.terminal import print_json, say
from playground.errors import InvalidConfig, ModelNotFound, OutputsNotWritable
from playground.models import hub
from playground.runs import history, launcher, lifeline, queue
from playground.runs.folder import heartbeat, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs
from playground.runs.folder.records import TERMINAL
from playground.setup import catalog, describe, devices
from playground.setup.devices import available_cores

GB = 1e9
LEAST_FREE_DISK_GB = 1.0
LEAST_FREE_MEMORY_GB = 1.5
MOST_SAID = 200
REQUIREMENTS = PROJECT_FILES / "requirements.txt"
INSTALL = to_install()
BUILD = "Install the PyTorch build for this GPU: pytorch.org says which one."
ASK_TORCH = """
import json, torch
gpus = [{"name": torch.cuda.get_device_name(i), "bf16": torch.cuda.is_bf16_supported(including_emulation=False)}
        for i in range(torch.cuda.device_count())]
try:
    import bitsandbytes
    bnb = bitsandbytes.__version__
except Exception as error:
    bnb = f"does not start: {type(error).__name__}"
print(json.dumps({"gpus": gpus, "mps": torch.backends.mps.is_available(), "bitsandbytes": bnb}))
"""


class Check(NamedTuple):
    """One finding. ok: fine. warn: works, with a drawback. fail: no run can be made before the remedy."""

    name: str
    level: Literal["ok", "warn", "fail"]
    found: str
    remedy: str = ""


def examine(outputs: Path) -> list[Check]:
    """All checks, in the order in which a person would go through them."""
    system = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {available_cores()} cores"
    return [
        Check("playground", "ok", _version()),
        Check("python", "ok", system),
        Check("mode", "ok", _mode()),
        *_packages(),
        *_devices(),
        _hub(),
        *(_model(choice.name) for choice in catalog.MODELS),
        *_outputs(outputs),
    ]


def print_checks(checks: Sequence[Check], *, as_json: bool) -> None:
    """What was found. As JSON it is made to be shown to others: without secrets and folders of this machine."""
    if as_json:
        failed = any(check.level == "fail" for check in checks)
        public = [check._replace(found=_to_share(check.found), remedy=_to_share(check.remedy)) for check in checks]
        print_json({"ok": not failed, "checks": [check._asdict() for check in public]})
        return
    for check in checks:
        say(f"{check.level:4}  {check.name}: {check.found}", check.remedy and f"      -> {check.remedy}")


def _to_share(text: str) -> str:
    """The text with the home folder as ~, other folders left out but for their last part, and nothing secret."""
    home = os.path.expanduser("~").rstrip("/")
    if home:
        text = re.sub(rf"(?<![\w.-]){re.escape(home)}(?=/|\W|$)", "~", text)
    return redaction.redact(redaction.without_folders(text))


def _version() -> str:
    """Of this project, with the commit where there is one."""
    command = ["git", "-C", str(PROJECT_FILES), "--git-dir", ".git", "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return f"{__version__}, commit not known"
    commit = ""
    if answer.returncode == 0:
        commit = answer.stdout.strip()
    return f"{__version__}, commit {commit or 'not known'}"


def _mode() -> str:
    """How the page opens here, and which variables of this project are set; never what they say."""
    where = "local, unless --mode says otherwise"
    if os.environ.get("SPACE_ID"):
        where = "space: this is a Space of the Hugging Face hub"
    names = sorted(name for name in os.environ if name.startswith("PLAYGROUND_") and not redaction.is_secret(name))
    if names:
        return f"{where}; set: {', '.join(names)}"
    return where


def _check(name: str, fine: object, found: str, remedy: str, level: Literal["warn", "fail"] = "warn") -> Check:
    """One that is ok, or else has a remedy."""
    if fine:
        return Check(name, "ok", found)
    return Check(name, level, found, remedy)


def _packages() -> Iterator[Check]:
    """Installed versions against the pins of requirements.txt."""
    if not REQUIREMENTS.is_file():
        return
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        name, pinned, pin = re.split(r"[;#]", line)[0].strip().partition("==")
        if not pinned:
            continue
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, "fail", "not installed", INSTALL)
            continue
        yield _check(name, version.partition("+")[0] == pin, version, f"Tested with {pin}: {INSTALL}")


def _devices() -> Iterator[Check]:
    """Every device with its memory, what PyTorch makes of them, and where bitsandbytes can compute."""
    here = devices.available()
    for device in here:
        words = f"{device.label}, {device.free_bytes / GB:.1f} of {device.total_bytes / GB:.1f} GB free"
        yield _check(device.name, device.free_bytes >= LEAST_FREE_MEMORY_GB * GB, words, "Close other programs.")
    command = [sys.executable, "-c", ASK_TORCH]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        yield Check("gpu", "fail", f"PyTorch does not start: {answer.stderr.strip()[-MOST_SAID:]}", INSTALL)
        return
    facts = json.loads(answer.stdout.splitlines()[-1])
    gpus = [f"{gpu['name']} ({'bf16' if gpu['bf16'] else 'no bf16'})" for gpu in facts["gpus"]]
    if facts["mps"]:
        gpus.append("Apple GPU")
    in_machine = sum(device.name.startswith("cuda") for device in here)
    all_seen = in_machine <= len(facts["gpus"])
    words = f"{in_machine} in this machine, but PyTorch sees fewer"
    if all_seen:
        words = ", ".join(gpus) or "none; training runs on the CPU"
    yield _check("gpu", all_seen, words, BUILD)
    works = "does not start" not in facts["bitsandbytes"]
    yield _check("bitsandbytes backend", works, facts["bitsandbytes"], f"int8 and nf4 need it: {INSTALL}")


def _hub() -> Check:
    """Where the hub's models are kept, whether there is a token (never which), and whether the hub may be asked."""
    from huggingface_hub import get_token  # takes its time

    network, token = "models may be downloaded", "no token; gated and private models need one"
    if hub.offline():
        network = "HF_HUB_OFFLINE is set: only models that are on this machine"
    if get_token():
        token = "there is a token"
    return Check("hub", "ok", f"{network}; {token}; kept in {hub.cache_folder()}")


def _model(name: str) -> Check:
    try:
        return Check(name, "ok", str(catalog.model_folder(name)))
    except ModelNotFound as error:
        return Check(name, "fail", str(error), "Get its files again, or rebuild it as docs/pocket-world.md says.")


def _outputs(outputs: Path) -> list[Check]:
    try:
        make_outputs(outputs)
    except OutputsNotWritable as error:
        return [Check("outputs", "fail", str(error), "Choose another folder with --outputs.")]
    free = shutil.disk_usage(outputs).free / GB
    living = launcher.living_runs(outputs)
    return [
        Check("outputs", "ok", f"{outputs} can be written"),
        _check("disk", free >= LEAST_FREE_DISK_GB, f"{free:.1f} GB free", "Free some space."),
        _runs(outputs),
        _policy(living),
        _stalled(living),
        _bin(outputs),
    ]


def _policy(living: Sequence[RunDirectory]) -> Check:
    """What becomes of runs when their server ends: of those to come, and of those that train."""
    bound = [run.id for run in living if not run.is_elsewhere() and heartbeat.bound_to_server(run.path)]
    try:
        policy = lifeline.policy()
    except InvalidConfig as error:
        remedy = f"Set {lifeline.POLICY_VARIABLE} to survive or die, or to nothing."
        return Check("when the server ends", "fail", str(error), remedy)
    words = "new runs go on (survive)" if policy == "survive" else "new runs end with it (die)"
    if bound:
        words += f"; {', '.join(bound[:5])} will end with it"
    return Check("when the server ends", "ok", words)


def _stalled(living: Sequence[RunDirectory]) -> Check:
    silent = [(run.id, seconds) for run in living if (seconds := processes.stalled(run))]
    words = ", ".join(f"{name} silent for {describe.duration(seconds)}" for name, seconds in silent)
    remedy = "It may go on by itself; its log is worker.log. To end it: python -m playground stop RUN_DIR --now"
    return _check("stalled", not silent, words or "no training run has gone silent", remedy)


def _runs(outputs: Path) -> Check:
    states = {run.id: run.status.state for run in history.list_runs(outputs)}
    waiting = queue.waiting(outputs)
    living = [name for name, state in states.items() if state not in TERMINAL and name not in waiting]
    lost = [name for name, state in states.items() if state == "interrupted"]
    words = f"{len(states)}, of which {len(living)} training"
    if living:
        words += f" ({living[0]})"
    if waiting:
        words += f" and {len(waiting)} waiting for a device (next: {waiting[0]})"
    if waiting and not living:
        return Check("runs", "warn", words, "The queue moves while the page is open, or a `train` goes on, here.")
    remedy = "Their worker died. Read worker.log with `show`; then `resume` them, or delete them on the Runs page."
    if lost:
        words += f"; interrupted: {', '.join(lost[:5])}"
    return _check("runs", not lost, words, remedy)


def _bin(outputs: Path) -> Check:
    count = len(list((outputs / history.BIN).glob("*")))
    if not count:
        return Check("bin", "ok", "empty")
    return Check("bin", "ok", describe.count_of(count, "deleted run"), "doctor --empty-bin deletes them for good")

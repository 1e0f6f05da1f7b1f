"""Is this machine able to run the playground, and is its outputs folder in order? One check per line, with a remedy.

Imports no torch: a child process asks it for devices. Called by `python -m playground doctor`.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

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
TORCH_TIMEOUT_SECONDS = 120
REQUIREMENTS = catalog.PROJECT / "requirements.txt"
INSTALL = "pip install -r requirements.txt"
BUILD = "Install the PyTorch build for this GPU: pytorch.org tells which one."
ASK_TORCH = """
import json, torch
gpus = [{"name": torch.cuda.get_device_name(i), "bf16": torch.cuda.is_bf16_supported(including_emulation=False)}
        for i in range(torch.cuda.device_count())]
try:
    import bitsandbytes
    backends = sorted(getattr(bitsandbytes, "supported_torch_devices", None) or [])
    bnb = f"{bitsandbytes.__version__} ({', '.join(backends)})"
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
    return [
        Check("python", "ok", platform.python_version()),
        Check("platform", "ok", f"{platform.system()} {platform.machine()}"),
        Check("cores", "ok", str(available_cores())),
        _memory(),
        *_packages(),
        *_devices(),
        *_hub(),
        *(_model(choice.name) for choice in catalog.MODELS),
        *_outputs(outputs),
    ]


def print_checks(checks: Sequence[Check], *, as_json: bool) -> None:
    """What was found."""
    if as_json:
        failed = any(check.level == "fail" for check in checks)
        print_json({"ok": not failed, "checks": [check._asdict() for check in checks]})
        return
    for check in checks:
        say(f"{check.level:4}  {check.name}: {check.found}", check.remedy and f"      -> {check.remedy}")


def _check(name: str, fine: object, found: str, remedy: str, level: Literal["warn", "fail"] = "warn") -> Check:
    """One that is ok, or else has a remedy."""
    return Check(name, "ok", found) if fine else Check(name, level, found, remedy)


def _memory() -> Check:
    memory = psutil.virtual_memory()
    enough = memory.available / GB >= LEAST_FREE_MEMORY_GB
    found = f"{memory.available / GB:.1f} of {memory.total / GB:.1f} GB free"
    return _check("memory", enough, found, "Close other programs, or choose the smaller model.")


def _packages() -> Iterator[Check]:
    """Installed versions against the pins of requirements.txt."""
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines() if REQUIREMENTS.is_file() else []:
        name, pinned, wanted = re.split(r"[;#]", line)[0].strip().partition("==")
        if not pinned:
            continue
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, "fail", "not installed", INSTALL)
            continue
        yield _check(name, version.partition("+")[0] == wanted, version, f"Tested with {wanted}: {INSTALL}")


def _devices() -> Iterator[Check]:
    """Every device with its memory, what PyTorch makes of them, and where bitsandbytes can compute."""
    here = devices.available()
    for one in here:
        free = f"{one.free_bytes / GB:.1f} of {one.total_bytes / GB:.1f} GB free"
        yield Check(one.name, "ok", f"{one.label}, {free}")
    command = [sys.executable, "-c", ASK_TORCH]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=TORCH_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        yield Check("gpu", "warn", "PyTorch did not answer in time", "Try again when the machine is less busy.")
        return
    if answer.returncode:
        last_line = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        yield Check("gpu", "fail", f"PyTorch does not start: {last_line}", INSTALL)
        return
    found = json.loads(answer.stdout.splitlines()[-1])
    gpus = [f"{gpu['name']} ({'bf16' if gpu['bf16'] else 'no bf16'})" for gpu in found["gpus"]]
    gpus += ["Apple GPU"] if found["mps"] else []
    in_machine = sum(one.name.startswith("cuda") for one in here)
    all_seen = in_machine <= len(found["gpus"])
    fewer = f"{in_machine} in this machine, but PyTorch sees fewer"
    yield _check("gpu", all_seen, (", ".join(gpus) or "none; training runs on the CPU") if all_seen else fewer, BUILD)
    works = "does not start" not in found["bitsandbytes"]
    yield _check("bitsandbytes backends", works, found["bitsandbytes"], f"int8 and nf4 need it: {INSTALL}")


def _hub() -> list[Check]:
    """The cache of the hub, whether there is a token (never which), and whether the hub may be asked."""
    folder = hub.cache_folder()
    models = [path for path in folder.glob("models--*") if path.is_dir()]
    size = sum(file.stat().st_size for path in models for file in (path / "blobs").glob("*") if file.is_file())
    found = f"{folder}, {len(models)} {'model' if len(models) == 1 else 'models'}, {size / GB:.1f} GB"
    network = "HF_HUB_OFFLINE is set: only models that are here" if hub.offline() else "models may be downloaded"
    token = "there is one" if hub.token_is_set() else "none; gated and private models need one"
    return [Check("hub cache", "ok", found), Check("hub token", "ok", token), Check("hub network", "ok", network)]


def _model(name: str) -> Check:
    try:
        catalog.model_folder(name)
    except ModelNotFound as error:
        remedy = f"Get the files from the repository again, or make the model: python -m playground pretrain {name}"
        return Check(name, "fail", str(error), remedy)
    return Check(name, "ok", "its files are there")


def _outputs(outputs: Path) -> list[Check]:
    try:
        make_outputs(outputs)
    except OutputsNotWritable as error:
        return [Check("outputs", "fail", str(error), "Choose another folder with --outputs.")]
    free = shutil.disk_usage(outputs).free / GB
    remedy = "Free some space; checkpoints may not fit."
    living = launcher.living_runs(outputs)
    return [
        Check("outputs", "ok", f"{outputs} can be written"),
        _check("disk", free >= LEAST_FREE_DISK_GB, f"{free:.1f} GB free", remedy),
        _runs(outputs),
        _policy(living),
        _stalled(living),
        _trial(outputs),
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
    found = "new runs go on (survive)" if policy == "survive" else "new runs end with it (die)"
    return Check("when the server ends", "ok", f"{found}; {_first(bound)} will end with it" if bound else found)


def _stalled(living: Sequence[RunDirectory]) -> Check:
    silent = [(run.id, seconds) for run in living if (seconds := processes.stalled(run))]
    found = ", ".join(f"{name} silent for {describe.duration(seconds)}" for name, seconds in silent)
    remedy = "It may go on by itself; its log is worker.log. To end it: python -m playground stop RUN_DIR --now"
    return _check("stalled", not silent, found or "no run that trains has gone silent", remedy)


def _trial(outputs: Path) -> Check:
    """A trial update, which no list of runs shows. What is left of one that nobody makes any more was ended before."""
    run = RunDirectory(outputs / launcher.TRIAL)
    if not run.is_alive():
        return Check("trial update", "ok", "none under way")
    status = run.status_on_disk()
    found = f"one is under way (process {status.pid}, {status.phase or status.state})"
    return Check("trial update", "ok", found, "It ends with the program that makes it, and when a run is started.")


def _runs(outputs: Path) -> Check:
    states = {run.id: run.status.state for run in history.list_runs(outputs)}
    waiting = queue.waiting(outputs)
    living = [name for name, state in states.items() if state not in TERMINAL and name not in waiting]
    lost = [name for name, state in states.items() if state == "interrupted"]
    found = f"{len(states)}, of which {len(living)} training" + (f" ({living[0]})" if living else "")
    found += f" and {len(waiting)} waiting for a device (next: {waiting[0]})" if waiting else ""
    if waiting and not living:
        return Check("runs", "warn", found, "The queue moves while the page is open, or a `train` goes on, here.")
    remedy = "Their worker died. Read worker.log with `show`; then `resume` them, or delete them on the Runs page."
    return _check("runs", not lost, f"{found}; interrupted: {_first(lost)}" if lost else found, remedy)


def _bin(outputs: Path) -> Check:
    folder = outputs / history.BIN
    count = len(list(folder.glob("*")))
    if not count:
        return Check("bin", "ok", "empty")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    found = f"{count} deleted {'run' if count == 1 else 'runs'}, {size / 1e6:.1f} MB"
    return Check("bin", "ok", found, "doctor --empty-bin deletes them for good")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:5])

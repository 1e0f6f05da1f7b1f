"""The container of a CPU Space without an engine, within seconds: what the Dockerfile says, in a folder of its own,
with the packages that are installed here.

What is real: what COPY brings (without .dockerignore's), ENV, CMD, an empty environment besides, user 1000 (where we
are root), a home that cannot be written, and nothing else that can but the volumes and a folder for temporary files.
What is not: the base image and what its RUN steps install, of which only what `make` would do is looked at.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
SPACE = {"SPACE_ID": "owner/rlhf-playground", "SPACE_HOST": "owner-rlhf-playground.hf.space"}
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
# May be read by user 1000 although it lies in another's home, as the Python of these tests may; never written.
AS_USER = shlex.split(
    "setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search --"
)


def steps() -> dict[str, list[str]]:
    """What the Dockerfile says, its lines joined, by instruction."""
    lines = "\n".join(line for line in DOCKERFILE.read_text("utf-8").splitlines() if not line.lstrip().startswith("#"))
    found: dict[str, list[str]] = {}
    for line in re.sub(r"\s*\\\s*\n\s*", " ", lines).splitlines():
        if line.strip():
            word, rest = line.split(maxsplit=1)
            found.setdefault(word, []).append(rest)
    return found


def copied() -> Iterator[Path]:
    """Every file of the project that gets into the container: all that .dockerignore does not name."""
    listed = (PROJECT / ".dockerignore").read_text(encoding="utf-8").split()
    patterns = [f"*/{one[3:]}" if one.startswith("**/") else f"/{one}" for one in listed]
    ahead = [PROJECT]
    while ahead:
        for path in sorted(ahead.pop().iterdir()):
            name = f"/{path.relative_to(PROJECT).as_posix()}"
            if path.is_symlink() or any(fnmatch.fnmatch(name, one) for one in patterns):
                continue
            if path.is_dir():
                ahead.append(path)
            else:
                yield path


class Container:
    """The container in `root`. `planned` is what `make` says that it would do to install."""

    def __init__(self, root: Path) -> None:
        made = steps()
        assert made["WORKDIR"] == ["/app"]
        assert made["COPY"][-1] == "--chown=1000:1000 . ."
        assert made["USER"] == ["1000"]
        self.root, self.app = root, root / "app"
        self.volumes = [root / one.lstrip("/") for one in made["VOLUME"][0].split()]
        self.home, self.temporary = root / "home" / "user", root / "tmp"
        self.environment = dict(pair.split("=", 1) for pair in shlex.split(" ".join(made["ENV"])))
        self.command: list[str] = json.loads(made["CMD"][-1])
        for path in copied():
            place = self.app / path.relative_to(PROJECT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        (make,) = [step for step in made["RUN"] if step.startswith("make")]
        self.planned = subprocess.run(
            [*make.split(), "--dry-run"],
            cwd=self.app,
            env={"PATH": SYSTEM_PATH, "HOME": "/nowhere"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        (self.app / ".venv").symlink_to(sys.prefix)
        self.home.mkdir(parents=True)
        self._make_read_only()
        for folder, mode in (*((one, 0o777) for one in self.volumes), (self.temporary, 0o1777)):
            folder.mkdir()
            folder.chmod(mode)
        for folder in (self.app, root):
            folder.chmod(0o555)

    def start(self, port: int) -> subprocess.Popen[bytes]:
        """The page, as the last line of the Dockerfile starts it; what it prints is in `log`."""
        known = {**self.environment, "HOME": "/home/user", **SPACE}
        placed = {name: self._placed(value.replace("$PATH", SYSTEM_PATH)) for name, value in known.items()}
        own = self.command[self.command.index("--port") + 1]
        with open(self.log, "wb") as log:
            return subprocess.Popen(
                [*self._prefix, *(str(port) if word == own else word for word in self.command)],
                cwd=self.app,
                env={**placed, "TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def can_write(self, path: Path) -> bool:
        """Whether the page's user could make a file there."""
        tried = subprocess.run([*self._prefix, "touch", str(path / ".tried")], capture_output=True)
        (path / ".tried").unlink(missing_ok=True)
        return tried.returncode == 0

    def remove(self) -> None:
        """Give the folder back."""
        for folder, _, _ in os.walk(self.root):
            Path(folder).chmod(0o755)
        shutil.rmtree(self.root)

    @property
    def log(self) -> Path:
        """What the page prints."""
        return self.temporary / "page.log"

    @property
    def _prefix(self) -> list[str]:
        return AS_USER if os.geteuid() == 0 else []

    def _make_read_only(self) -> None:
        for folder, _, files in os.walk(self.root):
            paths = [Path(folder), *(Path(folder) / name for name in files)]
            for path in paths:
                if not path.is_symlink() and path != self.root and path != self.app:
                    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222 | 0o444)
                    if path.is_dir():
                        path.chmod(0o555)

    def _placed(self, text: str) -> str:
        """Paths of the container, where they lie here."""
        return re.sub(r"(?<![\w.])/(app|home/user|tmp)\b", rf"{self.root}/\1", text)

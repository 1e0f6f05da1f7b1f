"""The Dockerfile's steps within seconds: in a folder of its own, with the packages that are installed here.

What is real: the parsing, what COPY brings (without .dockerignore's), ENV, WORKDIR, CMD, an empty environment besides,
user 1000 (where we are root), a home that cannot be written, and nothing else that can but the volumes and a folder
for temporary files. What is not: the base image, the packages of apt, the installation itself, of which only what
`make` would do is looked at. `clean_root` does all that.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.spaces import container
from tests.spaces.container import Image

SPACE = {"SPACE_ID": "owner/rlhf-playground", "SPACE_HOST": "owner-rlhf-playground.hf.space"}
HERE = Path(sys.prefix)
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
# May be read by user 1000 although it lies in somebody's home, as the Python of these tests may; never written.
AS_USER = [
    "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search", "--",
]  # fmt: skip


class Scratch:
    """The container in `root`. `planned` is what `make` said that it would do to install."""

    def __init__(self, root: Path) -> None:
        self.root, self.planned = root, ""
        root.mkdir(mode=0o755, parents=True)
        self.image = container.build(root, self._run)
        self.home, self.temporary = root / "home" / "user", root / "tmp"
        self.volumes = [self.image.place(name) for name in self.image.noted["VOLUME"].split()]
        for path in self._everything():
            if not path.is_symlink() and not any(path.is_relative_to(volume) for volume in self.volumes):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
        root.chmod(0o755)
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)
        root.chmod(0o555)

    def start(self, port: int, **environment: str) -> subprocess.Popen[bytes]:
        """The page, as the last line of the Dockerfile starts it; what it prints is in `log`."""
        known = {**self.image.environment, "HOME": "/home/user", **SPACE, **environment}
        placed = {name: self._placed(value.replace("$PATH", SYSTEM_PATH)) for name, value in known.items()}
        with open(self.log, "wb") as log:
            return subprocess.Popen(
                [*self._prefix, *self.image.command_on(port)], cwd=self.image.place("."),
                env={**placed, "TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1"}, stdout=log,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

    def can_write(self, path: Path) -> bool:
        """Whether the page's user could make a file there."""
        tried = subprocess.run([*self._prefix, "touch", str(path / ".tried")], capture_output=True)
        (path / ".tried").unlink(missing_ok=True)
        return tried.returncode == 0

    def remove(self) -> None:
        """Give the folder back."""
        for path in self._everything():
            if not path.is_symlink() and path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(self.root)

    @property
    def log(self) -> Path:
        """What the page prints."""
        return self.temporary / "page.log"

    @property
    def _prefix(self) -> list[str]:
        return AS_USER if os.geteuid() == 0 else []

    def _everything(self) -> Iterator[Path]:
        for folder, _, files in os.walk(self.root):
            yield Path(folder)
            yield from (Path(folder) / name for name in files)

    def _placed(self, text: str) -> str:
        """Paths of the container, where they lie here."""
        return re.sub(r"(?<![\w.])/(app|home/user|tmp)\b", rf"{self.root}/\1", text)

    def _run(self, image: Image, command: str) -> None:
        program = command.split()[0]
        if program == "useradd":
            (self.root / "home" / "user").mkdir(parents=True)
        elif program == "apt-get":
            pass  # what it installs is here: the next step uses it
        elif program == "make":
            plan = subprocess.run(
                [*command.split(), "--dry-run"], cwd=image.place("."), env={"PATH": SYSTEM_PATH, "HOME": "/nowhere"},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            self.planned = plan.stdout
            image.place(".venv").symlink_to(HERE)
        elif program == "mkdir":
            own = command.partition("&&")[0] if os.geteuid() else command
            subprocess.run(["sh", "-c", self._placed(own)], cwd=image.place("."), check=True)
        else:
            raise ValueError(f"The Dockerfile runs `{command}`, which the quick form does not know.")

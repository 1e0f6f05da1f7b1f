"""The container of a CPU Space without an engine, within seconds: what the Dockerfile says, in a folder of its own,
with the packages that are installed here.

What is real: what COPY brings (without .dockerignore's), ENV, CMD, an empty environment besides, user 1000 (where we
are root), a home that cannot be written, and nothing else that can but the volumes and a folder for temporary files.
What is not: the base image and what its RUN steps install, of which only what `make` would do is looked at.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
SPACE = {"SPACE_ID": "owner/rlhf-playground", "SPACE_HOST": "owner-rlhf-playground.hf.space"}
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
# May be read by user 1000 although it lies in another's home, as the Python of these tests may; never written.
AS_USER = shlex.split(
    "setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search --"
)
PREFIX = AS_USER if os.geteuid() == 0 else []


def steps():
    """What the Dockerfile says, its lines joined, by instruction."""
    lines = "\n".join(line for line in DOCKERFILE.read_text("utf-8").splitlines() if not line.lstrip().startswith("#"))
    by_word = {}
    for line in filter(str.strip, re.sub(r"\s*\\\s*\n\s*", " ", lines).splitlines()):
        word, rest = line.split(maxsplit=1)
        by_word.setdefault(word, []).append(rest)
    return by_word


def copied(folder=PROJECT):
    """Every file of the project that gets into the container: all that .dockerignore does not name."""
    ignored = (PROJECT / ".dockerignore").read_text(encoding="utf-8").split()
    patterns = [f"*/{name[3:]}" if name.startswith("**/") else f"/{name}" for name in ignored]
    for path in sorted(folder.iterdir()):
        name = f"/{path.relative_to(PROJECT).as_posix()}"
        if not path.is_symlink() and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            yield from copied(path) if path.is_dir() else [path]


class Container:
    """The container in `root`. `planned`: what `make` says that it would do to install; `log`: what the page prints."""

    def __init__(self, root):
        by_word = steps()
        assert by_word["WORKDIR"] == ["/app"]
        assert by_word["COPY"][-1] == "--chown=1000:1000 . ."
        assert by_word["USER"] == ["1000"]
        self.root, self.app, self.home, self.temporary = root, root / "app", root / "home" / "user", root / "tmp"
        self.volumes = [root / volume.lstrip("/") for volume in by_word["VOLUME"][0].split()]
        self.environment = dict(pair.split("=", 1) for pair in shlex.split(" ".join(by_word["ENV"])))
        self.command = json.loads(by_word["CMD"][-1])
        self.log = self.temporary / "page.log"
        for path in copied():
            place = self.app / path.relative_to(PROJECT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        (make,) = [step for step in by_word["RUN"] if step.startswith("make")]
        nowhere = {"PATH": SYSTEM_PATH, "HOME": "/nowhere"}
        planning = [*make.split(), "--dry-run"]
        self.planned = subprocess.check_output(planning, cwd=self.app, env=nowhere, text=True)
        self.home.mkdir(parents=True)
        subprocess.run(["chmod", "-R", "a+rX,a-w", self.app, root / "home"], check=True)
        self.app.chmod(0o755)
        (self.app / ".venv").symlink_to(sys.prefix)
        for folder in (*self.volumes, self.temporary):
            folder.mkdir()
            folder.chmod(0o1777)
        for folder in (self.app, root):
            folder.chmod(0o555)

    def start(self, port):
        """The page, as the last line of the Dockerfile starts it."""
        said = {**self.environment, "HOME": "/home/user", **SPACE}
        placed = {name: self._placed(value.replace("$PATH", SYSTEM_PATH)) for name, value in said.items()}
        around = {**placed, "TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1"}
        own = self.command[self.command.index("--port") + 1]
        command = [*PREFIX, *(str(port) if word == own else word for word in self.command)]
        with open(self.log, "wb") as log:
            return subprocess.Popen(command, cwd=self.app, env=around, stdout=log, stderr=subprocess.STDOUT)

    def can_write(self, path):
        """Whether the page's user could make a file there."""
        tried = subprocess.run([*PREFIX, "touch", str(path / ".tried")], capture_output=True)
        (path / ".tried").unlink(missing_ok=True)
        return tried.returncode == 0

    def remove(self):
        for folder, _, _ in os.walk(self.root):
            Path(folder).chmod(0o755)
        shutil.rmtree(self.root)

    def _placed(self, text):
        """Paths of the container, where they lie here."""
        return re.sub(r"(?<![\w.])/(app|home/user|tmp)\b", rf"{self.root}/\1", text)

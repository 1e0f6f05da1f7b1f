"""A container without an engine: the steps of the real Dockerfile, read and carried out in a folder.

What `FROM` brings and how a `RUN` is run is given by who builds: `scratch` (within seconds, with the packages that are
here) and `clean_root` (a Debian of its own, everything installed as the file says). An instruction or an option that is
not known here is an error, so that the Dockerfile cannot say what nobody tries.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.support import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
SILENT = ("VOLUME", "EXPOSE", "HEALTHCHECK")  # noted, and nothing is done


class Step(NamedTuple):
    """One instruction, its lines joined."""

    word: str
    rest: str


@dataclass
class Image:
    """What the steps have made so far. `root` is the folder that is /, the rest is as a container would have it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0"
    base: str = ""
    command: list[str] = field(default_factory=list)
    noted: dict[str, str] = field(default_factory=dict)

    def place(self, path: str) -> Path:
        """Where a path of the container lies on this machine."""
        return self.root / os.path.normpath(os.path.join(self.folder, path)).lstrip("/")

    @property
    def port(self) -> str:
        """That the command listens on."""
        return self.command[self.command.index("--port") + 1]

    def command_on(self, port: int) -> list[str]:
        """The command, on another port."""
        return [str(port) if word == self.port else word for word in self.command]


def steps(text: str) -> list[Step]:
    """The instructions of a Dockerfile in their order; comments and empty lines are none."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\s*\\\s*\n\s*", " ", lines)
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def build(root: Path, run: Callable[[Image, str], None], text: str | None = None, context: Path = PROJECT) -> Image:
    """Carry out the steps in `root`, which is what FROM has brought.

    Args:
        run: carries out the command of one RUN. text: of the Dockerfile; by default the project's.

    Raises:
        ValueError: the file says something that this does not know.
    """
    image = Image(root)
    for word, rest in steps(DOCKERFILE.read_text(encoding="utf-8") if text is None else text):
        if word == "FROM":
            image.base = rest
        elif word == "ARG" and "=" not in rest:
            continue  # nobody gives it, so it is not set
        elif word == "ENV":
            before = dict(image.environment)
            for name, value in (pair.split("=", 1) for pair in shlex.split(rest)):
                image.environment[name] = _expanded(value, before)
        elif word == "WORKDIR":
            image.folder = rest
            image.place(".").mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            _copy(image, shlex.split(rest), context)
        elif word == "RUN":
            run(image, rest)
        elif word == "USER":
            image.user = rest
        elif word == "CMD":
            image.command = json.loads(rest)
        elif word in SILENT:
            image.noted[word] = rest
        else:
            raise ValueError(f"The Dockerfile says `{word} {rest}`, which nothing here carries out.")
    return image


def copied(context: Path) -> Iterator[Path]:
    """Every file of the project that gets into the container: all that .dockerignore does not name."""
    listed = (context / ".dockerignore").read_text(encoding="utf-8").split()
    patterns = [f"*/{one[3:]}" if one.startswith("**/") else f"/{one}" for one in listed]

    def is_left_out(path: Path) -> bool:
        name = path.relative_to(context).as_posix()
        return any(fnmatch.fnmatch(f"/{name}", one) for one in patterns)

    ahead = [context]
    while ahead:
        for path in sorted(ahead.pop().iterdir()):
            if is_left_out(path) or path.is_symlink():
                continue
            if path.is_dir():
                ahead.append(path)
            else:
                yield path


def _copy(image: Image, words: list[str], context: Path) -> None:
    owner = None
    if words[0].startswith("--chown="):
        owner = tuple(map(int, words.pop(0).removeprefix("--chown=").split(":")))
    if words[0].startswith("--"):
        raise ValueError(f"COPY has the option {words[0]}, which nothing here carries out.")
    *sources, target = words
    for source in sources:
        for path in [context / source] if source != "." else copied(context):
            place = image.place(target) / path.relative_to(context)
            for folder in reversed(place.relative_to(image.root).parents):
                (image.root / folder).mkdir(exist_ok=True)
            shutil.copy(path, place)
            if owner and os.geteuid() == 0:
                os.chown(place, *owner)


def _expanded(value: str, environment: dict[str, str]) -> str:
    """With variables that the base image or an earlier step has set. `$PATH` of the base stays for who runs it."""
    return re.sub(r"\$(\w+)", lambda found: environment.get(found[1], found[0]), value)

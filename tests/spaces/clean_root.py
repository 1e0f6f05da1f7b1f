"""The Dockerfile carried out where no engine can run: `make space-check`, on Linux, as root, some minutes.

A Debian as the base image names it is made in a folder (by debootstrap, which is fetched if it is not there), and in it
every step is carried out as it stands: apt, make, pip. Then it is started as a Space is, as user 1000, with everything
read-only but the volumes and /tmp, and a visitor trains a run. All mounts are in a namespace of their own and go with
this process.

Not covered: the layers and the cache of an engine, the base image itself (the same Debian and the same minor version
of Python, Debian's build of it in the place of the image's own), HEALTHCHECK, the limits and the proxy of the hub.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.spaces import container, visitors
from tests.spaces.container import Image
from tests.spaces.scratch import SPACE
from tests.support import PROJECT
from tests.ui.conftest import free_port

BASE = re.compile(r"python:(?P<python>\d+\.\d+)-slim-(?P<suite>[a-z]+)")
PACKAGES = "ca-certificates,python3,python3-venv"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CUDA = "import torch; print(torch.__version__, torch.version.cuda)"


class CleanRoot:
    """The container in `root`.

    Args:
        bound: folders and files of this machine that are seen in it too, for example certificates and packages.
        passed: what the environment has of these variables, while it is built.
    """

    def __init__(self, root: Path, bound: list[str], passed: list[str]) -> None:
        self.root = root
        self.passed = {name: os.environ[name] for name in passed if name in os.environ}
        text = container.DOCKERFILE.read_text(encoding="utf-8")
        (named,) = [step.rest for step in container.steps(text) if step.word == "FROM"]
        base = BASE.fullmatch(named)
        if base is None:
            raise SystemExit(f"The base image {named} is none that can be made here ({BASE.pattern}).")
        _debootstrap(root, base["suite"])
        self._mount(["--types", "proc", "proc"], "proc")
        for name in ("null", "zero", "random", "urandom"):
            self._bind(f"/dev/{name}")
        for name in ("/etc/resolv.conf", "/etc/hosts", *bound):
            self._bind(name)
        self.image = container.build(root, self._run, text)
        there = self.said("python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        assert there == base["python"], f"The Debian of {named} brings Python {there}."

    def lock(self) -> None:
        """From now on only the volumes and /tmp can be written."""
        volumes = [self.image.place(name) for name in self.image.noted["VOLUME"].split()]
        subprocess.run(["mount", "--rbind", self.root, self.root], check=True)
        subprocess.run(["mount", "--options", "remount,bind,ro", self.root], check=True)
        for volume in volumes:
            subprocess.run(["mount", "--bind", volume, volume], check=True)
            subprocess.run(["mount", "--options", "remount,bind,rw", volume], check=True)
        self._mount(["--types", "tmpfs", "--options", "mode=1777", "tmpfs"], "tmp")

    def start(self, port: int, log: Path) -> subprocess.Popen[bytes]:
        """The page, as a Space starts it."""
        with open(log, "wb") as file:
            return subprocess.Popen(
                self._within(self.image.command_on(port), self.image.user, SPACE | {"HOME": "/home/user"}),
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def said(self, *command: str) -> str:
        """What a command prints, run as the image's user."""
        within = self._within(list(command), self.image.user)
        return subprocess.run(within, check=True, capture_output=True, text=True).stdout.strip()

    def can_write(self, path: str) -> bool:
        """Whether the page's user could make a file there."""
        tried = subprocess.run(self._within(["touch", f"{path}/.tried"], self.image.user), capture_output=True)
        return tried.returncode == 0

    def _run(self, image: Image, command: str) -> None:
        self.image = image
        print(f"RUN {command}", flush=True)
        subprocess.run(self._within(["sh", "-c", command], "0", self.passed), check=True)

    def _within(self, command: list[str], user: str, more: dict[str, str] | None = None) -> list[str]:
        known = {"PATH": PATH, "HOME": "/root", **self.image.environment, **(more or {})}
        variables = [f"{name}={value.replace('$PATH', PATH)}" for name, value in known.items()]
        entering = f"cd {shlex.quote(self.image.folder)} && exec {shlex.join(command)}"
        return ["chroot", f"--userspec={user}:{user}", str(self.root), "env", "-i", *variables, "sh", "-c", entering]

    def _bind(self, path: str) -> None:
        source, target = Path(path), self.root / path.lstrip("/")
        if source.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        subprocess.run(["mount", "--bind", path, target], check=True)

    def _mount(self, what: list[str], where: str) -> None:
        subprocess.run(["mount", *what, self.root / where], check=True)


def _debootstrap(root: Path, suite: str) -> None:
    """Debian in a folder. Debootstrap is a shell script: where it is not installed, its package is unpacked."""
    program, environment = shutil.which("debootstrap"), dict(os.environ)
    with tempfile.TemporaryDirectory() as unpacked:
        if program is None:
            subprocess.run(["apt-get", "download", "debootstrap"], cwd=unpacked, check=True)
            (package,) = Path(unpacked).glob("*.deb")
            subprocess.run(["dpkg-deb", "--extract", package, unpacked], check=True)
            program = f"{unpacked}/usr/sbin/debootstrap"
            environment["DEBOOTSTRAP_DIR"] = f"{unpacked}/usr/share/debootstrap"
        command = [program, "--variant=minbase", f"--include={PACKAGES}", suite, str(root)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def check(root: Path, bound: list[str], passed: list[str]) -> None:
    """Build, start, visit. Raises: AssertionError, CalledProcessError, where something is not as it should be."""
    made = CleanRoot(root, bound, passed)
    torch = made.said("python", "-c", CUDA)
    print(f"Installed: PyTorch {torch.split()[0]}, CUDA {torch.split()[1]}")
    assert torch.endswith("None"), "The CPU Space got the CUDA build of PyTorch."
    made.lock()
    port, log = free_port(), root / "app" / "outputs" / "page.log"
    page = made.start(port, log)
    try:
        with closing(visitors.opened(f"http://127.0.0.1:{port}/", lambda: page.poll() is None)) as visitor:
            run, problems = visitors.start(visitor)
            assert run is not None, problems
            state = visitors.finished(visitor, run)
        print(f"A visitor's run: {state}")
        assert state == "finished", (root / "app" / "outputs" / run / "worker.log").read_text()
    finally:
        page.terminate()
        page.wait(30)
        print(log.read_text(encoding="utf-8"))
    writable = [path for path in ("/", "/home/user", "/app", "/app/outputs", "/tmp") if made.can_write(path)]
    print(f"Can be written: {', '.join(writable)}")
    assert writable == ["/app/outputs", "/tmp"]


def main() -> int:
    """0: all is as it should be; 2: it cannot be tried here."""
    parser = argparse.ArgumentParser(description="Carry out the Dockerfile in a clean root and start it as a Space.")
    parser.add_argument("--bind", action="append", default=[], help="a path of this machine that is seen in it too")
    parser.add_argument("--pass", action="append", default=[], dest="passed", help="a variable for the installation")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)  # the same program, in its own namespace
    arguments = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0:
        print(
            "The Dockerfile is carried out on Linux and as root only: it makes a Debian in a folder.", file=sys.stderr
        )
        return 2
    if arguments.inside:
        check(arguments.inside, arguments.bind, arguments.passed)
        return 0
    with tempfile.TemporaryDirectory(prefix="space-") as folder:
        root = Path(folder, "root")
        own = ["unshare", "--mount", "--propagation=private", sys.executable, "-m", "tests.spaces.clean_root"]
        return subprocess.run([*own, *sys.argv[1:], "--inside", str(root)], cwd=PROJECT).returncode


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.training.nightly.memory_probe FOLDER` trains the run of `config.json` there and prints the resident
bytes after the imports and at the highest. Linux only."""

import json
import sys
import tempfile
from pathlib import Path

from playground import worker
from playground.config import yaml_io
from playground.runs.folder.directory import RunDirectory


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    worker.warm_up()  # what every run imports, so that it does not count as the run's own
    before = resident("VmRSS")
    config = yaml_io.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    run = RunDirectory.create(Path(tempfile.mkdtemp(dir=folder)), config, "one")
    code = worker.main([str(run.path)])
    assert code == 0, run.status().message
    print(json.dumps([before, resident("VmHWM")]))

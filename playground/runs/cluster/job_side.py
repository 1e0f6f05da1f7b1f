"""What an HF Job runs: `python -m playground.runs.cluster.job_side FOLDER RUN ATTEMPT SECONDS`.

Takes the run from the folder, which is a part of a mounted bucket, computes the attempt on its own disk
(`cluster.node`), and keeps there what comes of it, whole and about once a minute.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from playground.runs import bucket
from playground.runs.cluster import node
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.supervisor import every

KEEP_SECONDS = 60.0
TRIES = 30
TRY_SECONDS = 10.0


def compute(folder: Path, run_id: str, attempt: int, seconds: float) -> None:
    """See the module. Raises: OSError, once the bucket could not be used for about five minutes; see `node.compute`."""
    run = RunDirectory(Path(tempfile.mkdtemp()) / run_id)
    for _ in range(TRIES):  # a mounted bucket is late
        bucket.restore(folder, run.path.parent)
        if run.config_path.exists():
            break
        time.sleep(TRY_SECONDS)
    keep = every(KEEP_SECONDS, lambda: bucket.keep(run, folder / bucket.RUNS / run_id))

    def exchange() -> None:
        with contextlib.suppress(OSError):  # then a second later, or a minute
            for path in (folder / "control").glob("*"):
                write_atomically(run.control_path / path.name, path.read_text(encoding="utf-8"))
                if path.name != "stop":
                    path.unlink()
            keep()

    node.compute(run.path, attempt, seconds, exchange)
    for left in reversed(range(TRIES)):
        try:
            return bucket.keep(run, folder / bucket.RUNS / run_id)
        except OSError:
            if not left:
                raise
            time.sleep(TRY_SECONDS)


if __name__ == "__main__":
    compute(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

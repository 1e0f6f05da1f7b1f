"""A page as a ZeroGPU Space has it: `python -m tests.spaces.gpu_page OUTPUTS PORT`, for tests in another process.

The file `plan` beside the outputs says where a call's time is up: `1:3 2:5` is after the third update of the first
attempt, and the fifth of the second. A clock would make that another update each time.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.spaces.device_api import be_a_zerogpu_space


def main() -> None:
    outputs, port = Path(sys.argv[1]), int(sys.argv[2])
    be_a_zerogpu_space(outputs.with_name("asked.jsonl"))
    follow(outputs.with_name("plan"))
    import app

    sys.argv = ["app.py", "--port", str(port), "--outputs", str(outputs)]
    sys.exit(app.main())


def follow(plan: Path) -> None:
    """Have the watch of the run follow the plan in the place of a clock."""
    from playground.training.process.watch import WorkerWatch

    by_the_clock = WorkerWatch._look_for_an_end

    def look(watch: WorkerWatch, now: float) -> None:
        status = watch._writer.status
        found = re.search(rf"\b{status.attempt}:(\d+)", plan.read_text())
        if found and status.update >= int(found[1]) and status.state == "running":
            watch._ending = watch._ending or "time_limit"
        by_the_clock(watch, now)

    WorkerWatch._look_for_an_end = look


if __name__ == "__main__":
    main()

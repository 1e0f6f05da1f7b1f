"""A page as a ZeroGPU Space has it: `python -m tests.spaces.gpu_page OUTPUTS PORT`, with what there is around it.

The hub's address for GPUs answers as `spaces.zero.api` expects it, and writes what it was asked into `asked.jsonl`
beside the outputs. The device is what the package does with CUDA in a fork: to be initialised, and to be given the
weights; without one, nothing. All else of the package is its own. The file `plan` there says where a call's time is up:
`1:3 2:5` is after the third update of the first attempt, and the fifth of the second. A clock would make that another
update each time.
"""

import contextlib
import itertools
import json
import os
import re
import sys
from pathlib import Path

from tests.hub_server import Refused, serving

SERVED = contextlib.ExitStack()  # until the process ends
REFUSED = "no-gpu"  # a file beside the list of calls: while it is there, every quota is used up


def main():
    outputs, port = Path(sys.argv[1]), int(sys.argv[2])
    be_a_zerogpu_space(outputs.with_name("asked.jsonl"))
    follow(outputs.with_name("plan"))
    import app

    sys.argv = ["app.py", "--port", str(port), "--outputs", str(outputs)]
    sys.exit(app.main())


def api(calls):
    """The address: `calls` gets one line of JSON for each request."""
    tokens = (f"token-{number}" for number in itertools.count())

    def answer(asked):
        with open(calls, "a", encoding="utf-8") as file:
            file.write(json.dumps({"what": asked.path, **asked.query}) + "\n")
        if asked.path != "schedule":
            return {}
        if calls.with_name(REFUSED).exists():
            raise Refused(429, {"left": 0, "wait": 3600})
        return {"idle": True, "nvidiaIndex": 0, "nvidiaUUID": "GPU-none", "allowToken": next(tokens)}

    return answer


def nothing(*_):
    """In the place of what only a build for CUDA has."""


def be_a_zerogpu_space(calls):
    """Make this process what the hub starts on ZeroGPU, before `spaces` is imported in it, and give it the device."""
    os.environ.update(SPACE_ID="owner/space", SPACES_ZERO_GPU="true", CUDA_VISIBLE_DEVICES="")
    os.environ["SPACES_ZERO_DEVICE_API_URL"] = SERVED.enter_context(serving(api(calls)))
    import torch

    if torch.version.cuda is None:  # a CPU build has no part of what `spaces` puts its own in the place of
        torch.version.cuda = "13.0"
        torch._C._cuda_init = nothing
        torch.cuda._is_in_bad_fork = nothing
    import gradio  # noqa: F401 - which `spaces` wants to be whole
    import spaces.zero.torch

    spaces.zero.torch.init = nothing
    spaces.zero.torch.move = lambda callback=None: None


def follow(plan):
    """Have the watch of the run follow the plan in the place of a clock."""
    from playground.training.process.watch import WorkerWatch

    by_the_clock = WorkerWatch._look_for_an_end

    def look(watch, now):
        status = watch._writer.status
        planned = re.search(rf"\b{status.attempt}:(\d+)", plan.read_text())
        if planned and status.update >= int(planned[1]) and status.state == "running":
            watch._ending = watch._ending or "time_limit"
        by_the_clock(watch, now)

    WorkerWatch._look_for_an_end = look


if __name__ == "__main__":
    main()

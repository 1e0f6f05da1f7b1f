"""What a GPU makes of this project, checked and measured within 8 minutes: `make bench-gpu`.

The cases are in gpu_cases.py, in order of worth. Each runs in a process of its own, forked from this one, which has
imported everything and never touches the GPU itself; each has its time, and what it found is written before the next
begins, so that a run that is cut off keeps what it has. A case that fails is written down with its sentence. Writes
bench/results/gpu.json and the section of docs/performance.md. With `--toy --device cpu` it is a test of itself.

Needs of the project's packages: torch, transformers (with tokenizers, safetensors, huggingface_hub), numpy, pydantic,
PyYAML, psutil. peft, bitsandbytes, trl (with datasets, accelerate), typer and rich, where they are there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))
from bench import gpu_section, speed  # noqa: E402
from bench.gpu_cases import CASES, Case, Place, Skipped  # noqa: E402

ENVIRONMENT = {
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # or else a look whether there is a GPU would spoil it for forked processes
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "PASSIVE",
}
LEAST_SECONDS = 5.0  # a case that would get less is not begun
RESULTS, PAGE = gpu_section.RESULTS, PROJECT / "docs" / "performance.md"


def main() -> int:
    """Run the cases. Exit code: 1 if one failed, 2 if there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0", help="as a configuration names it")
    parser.add_argument("--toy", action="store_true", help="smallest sizes; nothing goes into the documentation")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES), metavar="CASE")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--json", type=Path, help=f"default: {RESULTS.relative_to(PROJECT)}; of a toy run, none")
    parser.add_argument("--tell", action="store_true", help="only write the page from results brought from elsewhere")
    arguments = parser.parse_args()
    if arguments.tell:
        gpu_section.put_into(PAGE)
        return 0
    deadline = time.monotonic() + 60 * arguments.minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the case that runs is ended too
    os.environ.update(ENVIRONMENT)  # before anything is imported that reads it
    from playground.setup import devices

    there = devices.chosen(arguments.device)
    if there is None:
        print(f"There is no {arguments.device} here (nvidia-smi names none). `--toy --device cpu` tries the code.")
        return 2
    results = arguments.json or (None if arguments.toy else RESULTS)
    report: dict[str, Any] = {
        "machine": {**speed.machine(), "device": there.label, "memory_gb": round(there.total_bytes / 1e9, 1)},
        "toy": arguments.toy,
        "cases": json.loads(results.read_text(encoding="utf-8"))["cases"] if results and results.exists() else {},
    }
    import_everything()
    with tempfile.TemporaryDirectory(prefix="playground-gpu-") as folder:
        place = Place(arguments.device, arguments.toy, Path(folder))
        for name in arguments.cases:
            report["cases"][name] = carry_out(CASES[name], place, deadline - time.monotonic())
            print(name, json.dumps(report["cases"][name]), flush=True)
            write(report, results)
    return int(any(report["cases"][name]["outcome"] == "failed" for name in arguments.cases))


def import_everything() -> None:
    """What all cases would import, once. No tensor is made here: threads do not survive a fork."""
    import torch
    import torch.optim
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, Qwen2Config  # noqa: F401
    from transformers.models.llama import modeling_llama  # noqa: F401
    from transformers.models.qwen2 import modeling_qwen2  # noqa: F401

    from playground import worker  # noqa: F401
    from playground.training.process import session  # noqa: F401

    assert not torch.cuda.is_initialized(), "a process forked from this one could not use the GPU"


def carry_out(case: Case, place: Place, left: float) -> dict[str, Any]:
    """One case in a process of its own, and everything that it starts. Its figures, or why there are none."""
    seconds = min(case.seconds, left)
    if seconds < LEAST_SECONDS:
        return {"outcome": "skipped", "why": "the time of the whole run was over"}
    begin = time.perf_counter()
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=be, args=(case, place, writing))
    process.start()
    writing.close()
    try:
        found = reading.recv() if reading.poll(seconds) else failed(f"it was not done within {seconds:.0f} s")
    except EOFError:
        process.join(LEAST_SECONDS)
        found = failed(f"its process died (exit code {process.exitcode})")
    finally:  # also where this process is to end
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
        process.kill()
        process.join()
    return {**found, "seconds_of_case": round(time.perf_counter() - begin, 1)}


def be(case: Case, place: Place, writing: Any) -> None:
    """In the process of a case."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(2, 1)  # what libraries print is not a result
    try:
        found = {"outcome": "ok", **case.run(place)}
    except Skipped as reason:
        found = {"outcome": "skipped", "why": str(reason)}
    except BaseException as error:  # a case that fails must not take the others with it, whatever it called
        traceback.print_exc()
        found = failed(f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no word'])[0][:300]}")
    writing.send(json.loads(json.dumps(found, default=str)))


def failed(why: str) -> dict[str, Any]:
    """A case without figures."""
    return {"outcome": "failed", "why": why}


def write(report: dict[str, Any], results: Path | None) -> None:
    """What is known so far; into the documentation too, unless it is about toys."""
    if results is None:
        return
    report["cases"] = {name: report["cases"][name] for name in CASES if name in report["cases"]}
    results.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if not report["toy"] and results == RESULTS:
        gpu_section.put_into(PAGE)


if __name__ == "__main__":
    sys.exit(main())

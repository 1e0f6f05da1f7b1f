"""The lines of the project that are about a GPU, and which case of gpu.py reaches them. A test finds those not named.

`trace` notes which of them are run. It slows Python down, so it is off where seconds are measured, except in a toy run.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
ABOUT_A_GPU = re.compile(
    r"torch\.cuda\b|\.cuda\(|\bautocast\(|\bfused=|pin_memory|non_blocking|torch\.backends|torch\.device\(\"cuda"
    r"|type [!=]= \"(?:cpu|cuda)\"|\"cuda\":|CUDA_VISIBLE_DEVICES|which\(\"nvidia-smi\"\)"
)
TRAINING = "playground/training"
MODELS, LOOP, REWARDS = f"{TRAINING}/models", f"{TRAINING}/loop", f"{TRAINING}/rewards"
ANYWHERE, ON_A_GPU, UNSEEN = "anywhere", "on a GPU", "unseen"


class Line(NamedTuple):
    """A line of source, or what it begins with, and the case that reaches it; none: the reason why.

    `seen`: where the trace can see it: anywhere, on a GPU only, or nowhere (run while importing, or in another
    interpreter).
    """

    file: str
    text: str
    case: str
    seen: str = ANYWHERE
    reason: str = ""


LINES = (
    Line(f"{MODELS}/loading.py", "gpus = torch.cuda.device_count()", "parity"),
    Line(f"{MODELS}/loading.py", 'return torch.device("cuda:0" if gpus else "cpu")', "parity"),
    Line(f"{MODELS}/loading.py", 'there = {"cpu": True, "cuda": int(number or 0) < gpus', "parity"),
    Line(f"{MODELS}/loading.py", 'return torch.device("cuda", int(number or 0))', "parity"),
    Line(f"{MODELS}/loading.py", 'fast = device.type == "cuda" and torch.cuda.is_bf16_supported(', "memory runs out"),
    Line(f"{MODELS}/language_model.py", 'if self.device.type != "cpu":', "memory runs out"),
    Line(f"{MODELS}/language_model.py", "stack.enter_context(torch.autocast(self.device.type", "parity"),
    Line(f"{MODELS}/kv_cache.py", 'if model.device.type == "cuda" and has_fixed_shapes(model):', "parity"),
    Line(f"{MODELS}/kv_cache.py", 'recorded = model.device.type == "cuda" if recorded is None', "decode"),
    Line(f"{MODELS}/kv_cache.py", "self._graph: torch.cuda.CUDAGraph | None = None", "parity", ON_A_GPU),
    Line(f"{MODELS}/kv_cache.py", "stream, current = stream_for_recording(self._device)", "parity", ON_A_GPU),
    Line(f"{MODELS}/kv_cache.py", "with torch.cuda.stream(stream):", "parity", ON_A_GPU),
    Line(f"{MODELS}/kv_cache.py", "graph, stream = torch.cuda.CUDAGraph(), stream_for", "parity", ON_A_GPU),
    Line(f"{MODELS}/kv_cache.py", "torch.cuda.stream(stream),", "parity", ON_A_GPU),
    Line(f"{MODELS}/kv_cache.py", "torch.cuda.graph(graph, stream=stream", "parity", ON_A_GPU),
    Line(f"{MODELS}/kv_cache.py", "def stream_for_recording(device", "parity", UNSEEN),
    Line(f"{MODELS}/kv_cache.py", "return torch.cuda.Stream(device)", "parity", ON_A_GPU),
    Line(f"{LOOP}/measures.py", 'if device.type == "cuda":', "memory runs out"),
    Line(f"{LOOP}/measures.py", "return torch.cuda.max_memory_allocated(device) / 1e9", "memory runs out", ON_A_GPU),
    Line(f"{LOOP}/trainer.py", "groups, lr=config.ppo.learning_rate, eps=ADAM_EPSILON", "memory runs out"),
    Line(f"{TRAINING}/trl_offline.py", '"use_cpu": policy.device.type == "cpu"', "0.5B, DPO"),
    Line(f"{TRAINING}/trl_offline.py", '"dataloader_pin_memory": False', "0.5B, DPO"),
    Line(f"{TRAINING}/trl_engine.py", 'on_cpu = trainer.policy.device.type == "cpu"', "0.5B, TRL"),
    Line(f"{REWARDS}/learned_rewards.py", 'BATCH_TOKENS = {"cpu": 4096, "cuda": 32_768}', "int8", UNSEEN),
    Line(f"{REWARDS}/format_check.py", "if not torch.cuda.is_available() and parameters(model)", "reward model"),
    Line(f"{REWARDS}/pair_trainer.py", 'use_cpu=device.type == "cpu",', "reward model"),
    Line(f"{REWARDS}/pair_trainer.py", "dataloader_pin_memory=False,", "reward model", UNSEEN),
    Line(f"{REWARDS}/pair_trainer.py", 'return device.type == "cuda" and torch.cuda.is_bf16', "reward model"),
    Line(f"{TRAINING}/process/pair_worker.py", 'seen = os.environ.get("CUDA_VISIBLE', "reward model", ON_A_GPU),
    Line(f"{TRAINING}/process/pair_worker.py", 'os.environ["CUDA_VISIBLE_DEVICES"] =', "reward model", ON_A_GPU),
    Line(f"{TRAINING}/process/family.py", 'if device.type == "cuda":', "one rank"),
    Line(f"{TRAINING}/process/family.py", "torch.cuda.set_device(device)", "one rank", ON_A_GPU),
    Line(f"{TRAINING}/process/family.py", 'backend = "cpu:gloo,cuda:nccl" if device', "one rank"),
    Line(f"{TRAINING}/process/family.py", "gpus = torch.cuda.device_count()", "", UNSEEN, "where torchrun starts it"),
    Line(f"{TRAINING}/process/family.py", 'return torch.device("cuda", int(os.environ', "", UNSEEN,
         "where torchrun starts it"),
    Line("playground/setup/devices.py", "found = visible([*_gpus(", "devices"),
    Line("playground/setup/devices.py", "CUDA_VISIBLE_DEVICES. Of names", "", UNSEEN, "words"),
    Line("playground/setup/devices.py", 'elif kind == "cuda":', "", UNSEEN, "where a run names GPUs"),
    Line("playground/setup/devices.py", 'tool = shutil.which("nvidia-smi")', "devices"),
    Line("playground/setup/estimates/memory.py", 'LIBRARY_BYTES = {"cpu": 385_000_000, "cuda"', "0.5B", UNSEEN),
    Line("playground/cli/health.py", 'gpus = [{"name": torch.cuda.get_device_name(i)', "devices", UNSEEN),
    Line("playground/cli/health.py", "for i in range(torch.cuda.device_count())]", "devices", UNSEEN),
    Line("playground/cli/health.py", 'print(json.dumps({"gpus": gpus, "mps": torch.backends', "devices", UNSEEN),
    Line("playground/pocket/pretrain.py", "optimizer = torch.optim.AdamW(groups", "", UNSEEN,
         "pocket models are pretrained on the CPU"),
    Line("playground/exports/scripts.py", "device = torch.device(", "", UNSEEN, "text of a script that is exported"),
    Line("playground/exports/scripts.py", 'use_cpu=device.type == "cpu",', "", UNSEEN,
         "text of a script that is exported"),
)  # fmt: skip


def lines_of(file: str) -> dict[int, str]:
    """Number -> text of each line of a file that is about a GPU."""
    source = (PROJECT / file).read_text(encoding="utf-8").splitlines()
    return {number: text.strip() for number, text in enumerate(source, 1) if ABOUT_A_GPU.search(text)}


def named(file: str, text: str) -> Line | None:
    """The entry for a line of source."""
    return next((line for line in LINES if line.file == file and text.startswith(line.text)), None)


class Trace:
    """Which of the lines are run in this process and those forked from it."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._watched: dict[str, set[int]] = {}
        self._reached: set[tuple[str, int]] = set()

    def begin(self) -> None:
        """From now on, in this thread."""
        self._watched = {str(PROJECT / file): set(lines_of(file)) for file in {line.file for line in LINES}}
        sys.settrace(self._enter)

    def write_down(self) -> None:
        """At the end of a process: what it has reached."""
        sys.settrace(None)
        if self.path is None:
            return
        with open(self.path, "a", encoding="utf-8") as file:
            for place, number in sorted(self._reached):
                file.write(json.dumps([os.path.relpath(place, PROJECT), number]) + "\n")

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        numbers = self._watched.get(frame.f_code.co_filename)
        if numbers and any(line in numbers for _, _, line in frame.f_code.co_lines()):
            return self._step
        return None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_lineno in self._watched[frame.f_code.co_filename]:
            self._reached.add((frame.f_code.co_filename, frame.f_lineno))
        return self._step


trace = Trace()


def found(path: Path, untraced: Collection[str] = ()) -> dict[str, list[str]]:
    """What the trace has seen, and what it could have seen and has not: file and text.

    Args:
        untraced: cases in which nothing was traced.
    """
    rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    seen = {(file, int(number)) for file, number in map(json.loads, rows)}
    reached, missed = [], []
    for line in LINES:
        if line.seen == UNSEEN or line.case in untraced:
            continue
        numbers = [number for number, text in lines_of(line.file).items() if text.startswith(line.text)]
        (reached if any((line.file, number) in seen for number in numbers) else missed).append(
            f"{line.file}: {line.text}"
        )
    return {"reached": reached, "not reached": missed}

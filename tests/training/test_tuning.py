"""What a worker does not import where nothing is quantized, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import PROJECT

LOADED = """
import sys, torch
from playground.config import yaml_io
from playground.training.process import tuning
model = {"adapter": {"kind": "lora"}, "quantization": sys.argv[1]}
config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "model": model})
compiler = torch.compile
with tuning.without_compiler(config):
    import peft
assert torch.compile is compiler and "bitsandbytes" in sys.modules
print("torch._inductor.compile_fx" in sys.modules)
"""


@pytest.mark.parametrize("quantization", ["none", pytest.param("nf4", marks=pytest.mark.nightly)])
def test_the_compiler_is_imported_only_where_something_is_quantized(quantization: str) -> None:
    command = [sys.executable, "-c", LOADED, quantization]
    found = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, check=True)
    assert found.stdout.split() == [str(quantization != "none")]

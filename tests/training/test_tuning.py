"""What a worker does not import where nothing is quantized."""

import sys

import pytest
import torch

from playground.runs import children
from playground.training.process import tuning
from tests.nights import cases
from tests.training import small_run


def main(arguments: list[str]) -> int:
    """In a process forked from one that has not imported peft: import it, and say what came with it."""
    config = small_run.config(model__adapter={"kind": "lora"}, model__quantization=arguments[0])
    compiler = torch.compile
    assert "peft" not in sys.modules
    with tuning.without_compiler(config):
        import peft  # noqa: F401
    assert torch.compile is compiler
    assert "bitsandbytes" in sys.modules
    print("torch._inductor.compile_fx" in sys.modules)
    return 0


@pytest.mark.parametrize("quantization", cases(["none", "nf4"], always=["none"]))
def test_the_compiler_is_imported_only_where_something_is_quantized(quantization, forker, tmp_path):
    with open(tmp_path / "said", "wb") as said:
        process = forker.fork(__name__, [quantization], children.torch_environment(), said.fileno())
    assert process.wait(120) == 0
    assert (tmp_path / "said").read_text() == f"{quantization != 'none'}\n"

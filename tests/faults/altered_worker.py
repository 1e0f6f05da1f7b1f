"""The real worker, altered for tests: its helpers are its forks, none of which has to import PyTorch; and its run is
asked to stop once it says that it is in the phase or state that its name says."""

import multiprocessing
from collections.abc import Sequence
from typing import Any

from playground import worker
from playground.runs.folder.writer import RunWriter
from playground.training.process import rank_processes


def main(arguments: Sequence[str]) -> int:
    set_status, forks = RunWriter.set_status, multiprocessing.get_context("fork")

    def then_ask(writer: RunWriter, **changes: Any) -> None:
        set_status(writer, **changes)
        if writer.run.config().name in changes.values():
            writer.run.request_stop()

    RunWriter.set_status = then_ask  # type: ignore[method-assign]
    rank_processes.multiprocessing.get_context = lambda method: forks  # type: ignore[assignment]
    return worker.main(list(arguments))

"""The real worker, altered for tests: its helpers are its forks, none of which has to import PyTorch; and its run is
asked to stop once it says that it is in the phase or state that its name says."""

import multiprocessing

from playground import worker
from playground.runs.folder.writer import RunWriter
from playground.training.process import rank_processes


def main(arguments):
    set_status, forks = RunWriter.set_status, multiprocessing.get_context("fork")

    def then_ask(writer, **changes):
        set_status(writer, **changes)
        if writer.run.config().name in changes.values():
            writer.run.request_stop()

    RunWriter.set_status = then_ask
    rank_processes.multiprocessing.get_context = lambda method: forks
    return worker.main(list(arguments))

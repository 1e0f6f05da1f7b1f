"""The real command line as a process that can be interrupted, forked by tests/cli/conftest.py; so are its workers."""

import functools
import os

from playground.cli import main as command_line
from playground.runs import launcher
from tests.forking import Forker


def main(arguments):
    """Its stderr goes into the file that is named first."""
    err, *words = arguments
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT), 2)
    launcher.new_worker = functools.partial(Forker.of_pages().spawn, module="tests.fake_worker")
    command_line(words)

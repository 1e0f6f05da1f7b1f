"""What a job of the hub runs in tests: `node` with a worker by script, which keeps its run again and again."""

import functools
from collections.abc import Sequence

from playground.runs import launcher
from playground.runs.cluster import node
from tests.forking import Forker


def main(arguments: Sequence[str]) -> int:
    launcher.new_worker = functools.partial(Forker.of_pages().spawn, module="tests.fake_worker")
    node.KEEP_SECONDS = node.LOOK_SECONDS = 0.1
    node.main(*arguments)
    return 0

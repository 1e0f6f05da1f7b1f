"""The real web process, forked from a process that has imported everything, as are its workers; answers to prompts come
from a thread of its own. Nothing of them is made up."""

import sys

import app
from playground.runs import launcher
from playground.ui import server
from tests.forking import Forker
from tests.service_here import ServiceHere
from tests.ui.fake_server import NoStandby


def main(arguments):
    launcher.new_worker = Forker.of_pages().spawn
    server.ModelService = ServiceHere
    server.StandbyWorker = NoStandby
    sys.argv = ["app.py", *arguments]
    return app.main()

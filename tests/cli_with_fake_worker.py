"""The real command line with the fake worker, as a process of its own: for tests that press Ctrl-C."""

from playground.cli import main
from playground.runs import launcher

if __name__ == "__main__":
    launcher.WORKER_MODULE = "tests.fake_worker"
    main()

"""Processes without their seconds of imports: one that has imported everything forks the others.

`python -m tests.forking FD MODULE...` imports modules, and gets through a socket what to call: a module, the arguments
of its `main`, an environment, and open files. Through a channel it answers with the new process's id, and with its
exit code once it has ended. For tests of what a process does; how it comes to be is tested with new processes.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading

import tqdm

from playground import worker
from playground.runs import children, launcher
from playground.runs.folder.files import private
from playground.runs.folder.writer import name_worker
from playground.runs.spawning import Here

NUMBER = struct.Struct("<i")
PATIENCE_SECONDS = 300
MOST_BYTES = 1_000_000
FORKER_VARIABLE = "PLAYGROUND_TEST_FORKER"  # in a forked process: its own way to have others forked
WORKER = "playground.worker"


class Forked:
    """A forked process; as much of a Popen as the launcher needs."""

    def __init__(self, channel):
        self._channel = channel
        self.returncode: int | None = None
        channel.settimeout(PATIENCE_SECONDS)
        (self.pid,) = NUMBER.unpack(channel.recv(NUMBER.size))

    def __del__(self):
        self._channel.close()

    def poll(self):
        """Its exit code, minus the signal that killed it; None while it lives."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout=None):
        """Wait until it has ended."""
        if self.returncode is None:
            self._channel.settimeout(timeout)
            try:
                (self.returncode,) = NUMBER.unpack(self._channel.recv(NUMBER.size))
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("a forked process", timeout or 0) from None
            self._channel.close()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    terminate = functools.partialmethod(send_signal, signal.SIGTERM)
    kill = functools.partialmethod(send_signal, signal.SIGKILL)


class Forker:
    """The process that forks: `fork` anything, `spawn` a run's worker; as `Workers` it has runs here."""

    def __init__(self, channel, process=None):
        self._channel, self._process = channel, process

    @classmethod
    def start(cls, *modules):
        """A new one, which imports modules first."""
        ours, theirs = socket.socketpair()
        with theirs:
            environment = {**os.environ, **children.torch_environment()}
            command = [sys.executable, "-m", "tests.forking", str(theirs.fileno()), *modules]
            process = subprocess.Popen(
                command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, cwd=children.PROJECT, env=environment
            )
        return cls(ours, process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._channel.close()
        if self._process:
            self._process.kill()
            self._process.wait()

    @classmethod
    @functools.cache
    def of_pages(cls):
        """The one of this process for servers with a fake worker (tests/ui/fake_server.py) and their runs."""
        if FORKER_VARIABLE in os.environ:  # this process is such a server
            return cls(socket.socket(fileno=int(os.environ[FORKER_VARIABLE])))
        return cls.start("tests.ui.fake_server", "tests.ui.fake_run", "tests.fake_worker")

    def fork(self, module, arguments, environment, output, lock=None):
        """A process of a session of its own that calls `main` of a module. `output`: an open file for all it prints."""
        ours, theirs = socket.socketpair()
        with theirs:
            message = {"module": module, "arguments": list(arguments), "environment": dict(environment)}
            files = [theirs.fileno(), self._channel.fileno(), output, *([lock.fileno()] if lock else [])]
            socket.send_fds(self._channel, [json.dumps(message).encode()], files)
        return Forked(ours)

    def place(self, config):
        return Here(self.spawn).place(config)

    def spawn(self, run, lock, module=WORKER):
        """The worker of a run, for the launcher: does what its `new_worker` does."""
        environment = children.torch_environment() if module == WORKER else os.environ
        with open(run.log_path, "ab", opener=private) as log:
            forked = self.fork(module, [str(run.path.resolve())], environment, log.fileno(), lock)
        name_worker(run, forked.pid)
        return forked


def main():
    os.umask(0o077)
    for module in sys.argv[2:]:
        importlib.import_module(module)
        if module == WORKER:
            tqdm.tqdm.monitor_interval = 0  # no thread beside, which could hold the lock while another is forked
            tqdm.tqdm.set_lock(threading.RLock())  # not one of all forks: a killed one that holds it would stop them
            worker.warm_up()
    gc.freeze()  # no fork looks through what has been imported
    channel = socket.socket(fileno=int(sys.argv[1]))
    ends, end_of_process = socket.socketpair()  # a byte comes for each process that ends
    end_of_process.setblocking(False)
    signal.set_wakeup_fd(end_of_process.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    answer_channels = {}  # of those that live, by process id
    while True:
        readable, _, _ = select.select([channel, ends], [], [])
        if ends in readable:
            ends.recv(MOST_BYTES)
            send_exit_codes(answer_channels)
        if channel not in readable:
            continue
        message, files, _, _ = socket.recv_fds(channel, MOST_BYTES, 4)
        if not message:
            return
        answers, *others = files
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            for unused in (channel, ends, end_of_process):
                unused.close()
            os.close(answers)
            be(json.loads(message), *others)
        answer(answers, pid)
        answer_channels[pid] = answers
        for file in others:
            os.close(file)


def send_exit_codes(answer_channels):
    """Tell those who wait for them of all processes that have ended."""
    while answer_channels:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        channel = answer_channels.pop(pid)
        answer(channel, os.waitstatus_to_exitcode(status))
        os.close(channel)


def answer(channel, number):
    with contextlib.suppress(OSError):  # the process that has asked may have been killed
        os.write(channel, NUMBER.pack(number))


def be(message, forker, output, lock=None):
    """In a new process: call what the message says."""
    os.setsid()
    worker.print_into(output)
    os.environ.clear()
    os.environ.update(message["environment"], **{FORKER_VARIABLE: str(forker)})
    if lock is not None:
        os.environ[launcher.LOCK_FD_VARIABLE] = str(lock)
    module = importlib.import_module(message["module"])
    try:
        worker.be(lambda: module.main(message["arguments"]))
    except SystemExit as left:  # the interpreter's own end takes a second, for so many modules
        sys.stdout.flush()
        os._exit(left.code if isinstance(left.code, int) else left.code is not None)


if __name__ == "__main__":
    main()

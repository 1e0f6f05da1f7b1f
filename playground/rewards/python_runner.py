"""The process in which a reward function of one's own runs: `python -I -S -B python_runner.py`, and nothing else.

It has the standard library and nothing of the playground. Before it sees the code it gives away what it could do harm
with: no more memory than allowed, no new file or socket, no new process, no other user's signals, and on Linux a list
of the few system calls that are left. It reads JSON lines on stdin (first the limits, then the code, then batches) and
answers each with a JSON line on what was stdout. `python_function` starts it, times it, and kills it; that end trusts
nothing that comes from here.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import sys
from collections.abc import Iterator
from typing import Any

# Made ready before files can no longer be opened: this is all that a function can import.
MODULES = (
    "_strptime", "abc", "bisect", "calendar", "cmath", "collections", "collections.abc", "contextlib", "copy",
    "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html",
    "itertools", "json", "math", "numbers", "operator", "random", "re", "statistics", "string", "struct", "textwrap",
    "time", "traceback", "typing", "unicodedata", "zlib", "encodings.ascii", "encodings.latin_1", "encodings.idna",
    "encodings.utf_16", "encodings.utf_32", "encodings.utf_8_sig", "encodings.unicode_escape",
)  # fmt: skip
MAX_ERROR = 300  # characters
NOBODY = 65534
# <linux/prctl.h>, <linux/sched.h>, <linux/seccomp.h>, <linux/filter.h>, <linux/audit.h>
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SIGKILL, SECCOMP_MODE_FILTER, CLONE_NEWUSER, CLONE_NEWNET = 9, 2, 0x10000000, 0x40000000
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # REFUSE: the call fails with EPERM
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
# The system calls that computing, and talking over pipes that are open already, need. Numbers: <asm/unistd.h>.
SYSTEM_CALLS = {
    # read write close fstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn sched_yield
    # mremap madvise nanosleep getpid exit gettimeofday getrusage sigaltstack gettid time futex restart_syscall
    # clock_gettime clock_getres clock_nanosleep exit_group getrandom rseq
    "x86_64": (0xC000003E, (0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 35, 39, 60, 96, 98, 131, 186, 201,
                            202, 219, 228, 229, 230, 231, 318, 334)),
    "aarch64": (0xC00000B7, (63, 64, 57, 80, 73, 62, 222, 226, 215, 214, 134, 135, 139, 124, 216, 233, 101, 172, 93,
                             169, 165, 132, 178, 98, 128, 113, 114, 115, 94, 278, 293)),
}  # fmt: skip


class _Filter(ctypes.Structure):
    """One step of a seccomp program: struct sock_filter."""

    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("len", ctypes.c_uint16), ("filter", ctypes.POINTER(_Filter)))


class _Silence:
    """What `print` writes to: nowhere."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def main() -> None:
    """Shut the door, then answer until stdin closes."""
    parent = os.getppid()
    requests, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    lines = _lines(requests)
    limits = json.loads(next(lines))
    with contextlib.suppress(OSError):
        os.rmdir(os.getcwd())  # an empty folder of our own: gone from the disk now, whoever dies first
    for name in MODULES:
        with contextlib.suppress(ImportError):
            __import__(name)
    sys.stdout = sys.stderr = _Silence()
    sys.stdin = None
    held = shut(parent, limits)
    _answer(answers, {"held": held})
    reward: Any = None
    for line in lines:
        request = json.loads(line)
        try:
            if "code" in request:
                reward = _load(request["code"])
                _answer(answers, {"loaded": True})
            else:
                _answer(answers, {"values": _values(reward, request["prompts"], request["completions"])})
        except BaseException as error:  # also SystemExit and MemoryError: all are the function's own doing
            _answer(answers, {"error": _in_words(error)})


def shut(parent: int, limits: dict[str, int]) -> list[str]:
    """Give away everything but computing. Returns the names of what holds here, for the log and for tests."""
    libc = ctypes.CDLL(None, use_errno=True)
    held = ["limits"]
    is_root = os.geteuid() == 0
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_CPU, limits["cpu_seconds"]),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(what, (most, most))
    linux = sys.platform == "linux"
    if linux and libc.unshare(CLONE_NEWNET if is_root else CLONE_NEWUSER | CLONE_NEWNET) == 0:
        held.append("no network")
    if is_root:  # a root process may raise its limits and signal everybody
        with contextlib.suppress(OSError):  # in a container that has taken this right away
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            held.append("nobody")
    if linux:
        # after the change of user, which takes it back
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # it was gone before we asked
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    # What is open stays open and nothing new can be: neither a file nor a socket.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if linux and _allow_few_system_calls(libc):
        held.append("system calls")
    return held


def _allow_few_system_calls(libc: Any) -> bool:
    """Let the kernel refuse all system calls but those of SYSTEM_CALLS, for good. False where it cannot."""
    if platform.machine() not in SYSTEM_CALLS or sys.maxsize < 2**32:
        return False
    machine, allowed = SYSTEM_CALLS[platform.machine()]
    steps = [(LOAD, 0, 0, 4), (JUMP_IF_EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    steps += [(JUMP_IF_EQUAL, len(allowed) - place, 0, number) for place, number in enumerate(allowed)]
    steps += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    filters = (_Filter * len(steps))(*(_Filter(*step) for step in steps))
    program = _Program(len(steps), filters)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0


def _load(code: str) -> Any:
    names: dict[str, Any] = {"__name__": "reward", "__builtins__": __builtins__}
    exec(compile(code, "the code", "exec"), names)
    return names["reward"]


def _values(reward: Any, prompts: list[str], completions: list[str]) -> list[float | str | None]:
    """What the function says: numbers; a text stands for something else that it gave, by its type."""
    many = reward.__code__.co_varnames[:1] == ("prompts",)
    if many:
        found = reward(prompts, completions)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
    else:
        found = [reward(prompt, completion) for prompt, completion in zip(prompts, completions, strict=True)]
    return [_plain(value) for value in found]


def _plain(value: Any) -> float | str | None:
    if value is None:
        return None
    if isinstance(value, (bool, int, float)):
        with contextlib.suppress(OverflowError):
            return float(value)
        return "a whole number beyond all floats"
    return f"a value of type {type(value).__name__[:40]}"


def _in_words(error: BaseException) -> str:
    """The error and the line it comes from."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "the code":
            line = trace.tb_lineno
        trace = trace.tb_next
    line = line or getattr(error, "lineno", 0) or 0
    try:
        told = f"{type(error).__name__}: {error}"
    except BaseException:  # an exception that cannot be told
        told = type(error).__name__
    if isinstance(error, ModuleNotFoundError):
        told += "; only modules of the standard library that compute can be imported"
    return f"{told[:MAX_ERROR]}{f', in line {line}' if line else ''}"


def _lines(pipe: int) -> Iterator[str]:
    rest = b""
    while True:
        line, found, rest = rest.partition(b"\n")
        if found:
            yield line.decode("utf-8")
            continue
        rest = line
        more = os.read(pipe, 1 << 16)
        if not more:
            return
        rest += more


def _answer(pipe: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode("utf-8") + b"\n"
    while data:
        data = data[os.write(pipe, data) :]


if __name__ == "__main__":
    main()

"""CPU seconds of processes and of what they start. `python tests/cpu_seconds.py COMMAND...` runs a command and prints
those of its whole tree. Plain Python: it is used before anything is installed.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections import defaultdict

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36  # prctl: what loses its parent becomes a child of this process


def seconds_so_far():
    """Of this process and of every living one below it, with those that they have waited for. Where there is no /proc,
    only of this process and those it has waited for."""
    seconds, children = {}, defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        children[fields[1]].append(pid)
        seconds[pid] = sum(map(int, fields[11:15])) / TICKS_PER_SECOND  # utime, stime, cutime, cstime
    total, parents = sum(os.times()[:4]), [str(os.getpid())]
    while parents:
        below = children[parents.pop()]
        total += sum(seconds[pid] for pid in below)
        parents += below
    return total


def main(command):
    """Run a command; returns its exit code. What it leaves behind and ends before it does is counted too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begun = time.monotonic()
    process = subprocess.Popen(command)
    pid, status = os.wait()
    while pid != process.pid:
        pid, status = os.wait()
    minutes, seconds = divmod(int(time.monotonic() - begun), 60)
    print(f"{seconds_so_far():.0f} CPU seconds in {minutes}:{seconds:02} minutes: {' '.join(command)}", flush=True)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

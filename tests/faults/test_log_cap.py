"""A worker that prints without end: its output needs no reader, and its log stays small."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from playground.runs import launcher
from playground.runs.folder import logs
from tests.support import small_config

MOST_SHARE = 1.2  # of the processor time of a worker that prints nothing


def test_the_middle_goes_the_beginning_and_the_end_stay_and_one_mark_counts_all_cuts(tmp_path):
    log, written = tmp_path / "worker.log", 0
    for attempt in range(5):
        with open(log, "ab") as file:
            for number in range(6_000):
                written += file.write(b"attempt %d line %06d\n" % (attempt, number))
        size = log.stat().st_size
        assert logs.cap(log, cut_at=50_000, beginning=10_000, end=20_000) == size - log.stat().st_size > 0
    assert logs.cap(log, cut_at=50_000, beginning=10_000, end=20_000) == 0, "small enough"
    kept = log.read_bytes()
    (mark,) = logs.MARK.finditer(kept)
    assert written == len(kept) - len(mark[0]) + int(mark[1])
    before, after = kept[: mark.start()].splitlines(), kept[mark.end() :].splitlines()
    assert before == [b"attempt 0 line %06d" % number for number in range(len(before))]
    assert after == [b"attempt 4 line %06d" % number for number in range(6_000 - len(after), 6_000)]


def test_what_is_written_during_cuts_stays_in_whole_lines_and_in_order(tmp_path):
    log, least, cuts, written = tmp_path / "worker.log", 60_000, 0, 0
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write() -> None:
        nonlocal written
        while written < least or (cuts <= 3 and written < 900_000):  # until they have met several times
            os.write(descriptor, b"line %06d\n" % written)
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        cuts += logs.cap(log, cut_at=50_000, beginning=10_000, end=20_000) > 0
    writer.join()
    os.write(descriptor, b"line %06d\n" % written)  # the one before may have come in the very moment of a cut
    logs.cap(log, cut_at=50_000, beginning=10_000, end=20_000)
    os.close(descriptor)
    kept = [line for line in log.read_bytes().splitlines() if not line.startswith(b"[...")]
    numbers = [int(line[5:]) for line in kept]
    assert cuts > 3 and numbers == sorted(set(numbers))
    assert numbers[0] == 0 and numbers[-1] == written


@pytest.mark.slow
def test_50_mb_of_output_with_no_reader_holds_up_nobody(outputs: Path, monkeypatch, figure):
    monkeypatch.setattr("playground.runs.launcher.WORKER_MODULE", "tests.faults.scripted_worker")
    seconds, largest = {}, []
    for turn, name in enumerate(("quiet", "loud") * 5):
        if turn > 3 and turn % 2 == 0 and seconds["loud"] <= MOST_SHARE * seconds["quiet"]:
            break  # more turns could only be nearer to what it is on a machine that does nothing else
        run, process = launcher.start(small_config(name), outputs, f"{name}-{turn}")
        worker, used, size = psutil.Process(process.pid), 0.0, 0
        while process.poll() is None:
            with contextlib.suppress(psutil.Error, OSError):
                times = worker.cpu_times()
                used = max(used, times.user + times.system)
                size = max(size, run.log_path.stat().st_size)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        assert run.status().state == "finished", run.log_tail()
        seconds[name] = min(used, seconds.get(name, used))
        if name == "loud":
            largest.append(size)
            kept = run.log_path.read_bytes()
            assert b"--- attempt 1" in kept[:200] and logs.MARK.search(kept) and kept.endswith(b"x\n")
    # Processor time: on a machine that does other things, wall time says nothing about who is held up.
    assert seconds["loud"] <= MOST_SHARE * seconds["quiet"], seconds
    # While a disk stands still, the worker goes on printing into memory and the watch waits for the disk.
    small, measured = int(min(largest) <= logs.MOST_BYTES), f"at most {min(largest) / 1e6:.1f} MB"
    measured += f", in the calmest of {len(largest)} turns"
    figure("50 MB of output with no reader: the log stays below its cap", 1, small, measured)

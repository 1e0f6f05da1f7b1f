"""TensorBoard event files, written without TensorBoard: scalars, histograms and texts in its public format.

A file is a row of records (length, its checksum, data, its checksum), each a protocol buffer `Event`. Written by hand
because TensorBoard's own writer brings 30 MB of packages, and PyTorch's brings PyTorch. Source of the format:
tensorflow/core/lib/io/record_writer.h, core/util/event.proto, core/framework/summary.proto.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CRC32C = 0x82F63B78  # Castagnoli's polynomial, bits reversed
MASK = 0xA282EAD8
HISTOGRAM_BINS = 20


class EventFile:
    """One event file, written from the start. Use with `with`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(self.path, "wb")  # noqa: SIM115  # closed by __exit__
        self._write(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def scalar(self, tag: str, value: float, step: int, wall_time: float) -> None:
        """One point of a curve."""
        self._summary(tag, _float(2, value), step, wall_time)

    def histogram(self, tag: str, values: Sequence[float], step: int, wall_time: float) -> None:
        """How values are distributed at one step."""
        array = np.asarray(values, float)
        counts, edges = np.histogram(array, HISTOGRAM_BINS)
        body = b"".join(
            _double(field, number)
            for field, number in enumerate(
                [array.min(), array.max(), len(array), array.sum(), (array**2).sum()], 1
            )
        )  # fmt: skip
        body += _bytes(6, struct.pack(f"<{HISTOGRAM_BINS}d", *edges[1:]))
        body += _bytes(7, struct.pack(f"<{HISTOGRAM_BINS}d", *counts))
        self._summary(tag, _bytes(5, body), step, wall_time)

    def text(self, tag: str, text: str, step: int, wall_time: float) -> None:
        """Words, shown by TensorBoard's text panel."""
        tensor = _integer(1, 7) + _bytes(2, _bytes(2, _integer(1, 1))) + _bytes(8, text.encode())
        plugin = _bytes(9, _bytes(1, _bytes(1, b"text")))
        self._summary(tag, plugin + _bytes(8, tensor), step, wall_time)

    def _summary(self, tag: str, value: bytes, step: int, wall_time: float) -> None:
        summary = _bytes(1, _bytes(1, tag.encode()) + value)
        self._write(_double(1, wall_time) + _integer(2, step) + _bytes(5, summary))

    def _write(self, data: bytes) -> None:
        length = struct.pack("<Q", len(data))
        self._file.write(length + _checksum(length) + data + _checksum(data))


def _checksum(data: bytes) -> bytes:
    """The masked CRC-32C of a record's part, 4 bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + MASK) & 0xFFFFFFFF)


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (CRC32C if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)

"""What `mindspore.train.summary_pb2` reads: the events of a file that SummaryRecord wrote, as objects.

    event = Event();  event.ParseFromString(data);  event.step, event.summary.value[0].tag      (train/summary.py: the format)
"""
from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from ..common.errors import FileFormatError

FIXED = {1: "<d", 5: "<f"}                   # wire types of eight and four bytes


class Histogram:
    """A distribution: min, max, count, sum, buckets (upper end, how many), and how many numbers are not finite."""

    def __init__(self, data: bytes) -> None:
        found = dict(fields(data))
        self.min, self.max, self.count, self.sum = found[1], found[2], int(found[3]), found[4]
        ends, counts = [struct.unpack(f"<{len(found[number]) // 8}d", found[number]) for number in (6, 7)]
        self.buckets = list(zip(ends, counts))
        self.nan_count, self.pos_inf_count, self.neg_inf_count = [found.get(number, 0) for number in (100, 101, 102)]


class Value:
    """A value of a summary: tag, and scalar_value, or histogram, or image, of which the others are None."""

    def __init__(self, data: bytes) -> None:
        found = dict(fields(data))
        self.tag, self.scalar_value = found[1].decode(), found.get(2)
        self.histogram = Histogram(found[5]) if 5 in found else None
        self.image = dict(fields(found[4])).get(4) if 4 in found else None           # the bytes of a PNG file


class Summary:
    """The values of one event."""

    def __init__(self, data: bytes = b"") -> None:
        self.value = [Value(value) for number, value in fields(data) if number == 1]


class Event:
    """An event: wall_time, step, version, summary."""

    def __init__(self) -> None:
        self.wall_time, self.step, self.version, self.summary = 0.0, 0, "", Summary()

    def ParseFromString(self, data: bytes) -> None:
        """Take the bytes of an event. raises : FileFormatError where they are damaged"""
        found = dict(fields(data))
        self.wall_time, self.step = found.get(1, 0.0), found.get(2, 0)
        self.version, self.summary = found.get(3, b"").decode(), Summary(found.get(5, b""))

    @classmethod
    def FromString(cls, data: bytes) -> Event:
        """The event of these bytes. raises : FileFormatError where they are damaged"""
        made = cls()
        made.ParseFromString(data)
        return made


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, int, float or bytes) of each field of a message. raises : FileFormatError"""
    at = 0

    def number() -> int:
        nonlocal at
        total = shift = 0
        while True:
            if at >= len(data):
                raise FileFormatError("an event ends too early")
            total, shift, at = total | (data[at] & 127) << shift, shift + 7, at + 1
            if data[at - 1] < 128:
                return total
    while at < len(data):
        key = number()
        kind = key & 7
        if kind == 0:
            yield key >> 3, number()
            continue
        if kind != 2 and kind not in FIXED:
            raise FileFormatError(f"an event has no wire type {kind}")
        size = number() if kind == 2 else struct.calcsize(FIXED[kind])
        part, at = data[at:at + size], at + size
        if len(part) < size:
            raise FileFormatError("an event ends too early")
        yield key >> 3, part if kind == 2 else struct.unpack(FIXED[kind], part)[0]

"""A part of a JPEG by two kernels of "pixels", "jpeg_table" and "jpeg_part": the bits of libjpeg-turbo without what is around it.

    part(data, layout_of(data), 30, 40, 100, 90)      bytes [100, 90, 3]

There is no layout of a file that is left to a library: progressive ones, four colours, other shares of colours than 1, 1/2 and
1/4, restarts, what is damaged.
"""
from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any, NamedTuple

import numpy as np

from .kernels import _address, _function

QUANTISATION, HUFFMAN, FRAME, SCAN, RESTARTS, JFIF, ADOBE = 0xdb, 0xc4, 0xc0, 0xda, 0xdd, 0xe0, 0xee
KNOWN = {QUANTISATION, HUFFMAN, FRAME, SCAN, RESTARTS, 0xfe, *range(0xe0, 0xf0)}
START, END = b"\xff\xd8", b"\xff\xd9"
TABLE, NUMBERS = (1 << 11) + 17 + 17 + 256, 64 + 128 + 16        # int32 of a table and of a list of coefficients, as kernels ask
LEAST = 24                               # pixels of a side: of smaller ones libjpeg spreads colours in another way
ZIGZAG = sorted(range(64), key=lambda k: (k // 8 + k % 8, k // 8 if (k // 8 + k % 8) % 2 else k % 8))
_INT64 = ctypes.c_int64
_ORDER = np.array([*ZIGZAG, *[64] * (NUMBERS - 64)], np.int32)
_ORDER_AT = _address(_ORDER)
_held = threading.local()                # the room of a thread: memory from the system is cleared first


class Layout(NamedTuple):
    """What the header of a JPEG says.

    across, down : pixels that a colour is for;  begin : where its scan begins
    given : address of int64[components, 3]: addresses of its tables of first and of other numbers, and of its divisors
    kept : what these are addresses of
    """
    height: int
    width: int
    across: int
    down: int
    begin: int
    given: int
    kept: tuple


def layout_of(data: Any) -> Layout | None:
    """What the header of a JPEG says; None for a file that is left to a library."""
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 1 or not data.flags.c_contiguous or \
            data[:2].tobytes() != START or data[-2:].tobytes() != END:
        return None
    head = data[:1 << 16].tobytes()
    at = 2
    while at + 4 < len(head) and head[at] == 0xff:
        marker, at = head[at + 1], at + 2 + (head[at + 2] << 8 | head[at + 3])
        if marker == SCAN:
            return _layout_of(head[:at])
        if marker not in KNOWN:
            return None
    return None


@functools.lru_cache(maxsize=256)
def _layout_of(head: bytes) -> Layout | None:
    divisors: dict[int, np.ndarray] = {}
    tables: dict[int, np.ndarray | None] = {}
    said: dict[int, bytes] = {}
    at = 2
    while at < len(head):
        marker, size = head[at + 1], head[at + 2] << 8 | head[at + 3]
        body, at = head[at + 4:at + 2 + size], at + 2 + size
        if size < 2 or marker == FRAME in said or marker == RESTARTS and body != b"\0\0":
            return None
        if marker not in said:
            said[marker] = body
        while marker == QUANTISATION and body:
            if body[0] > 3 or len(body) < 65:
                return None
            divisors[body[0]], body = _divisors(body[1:65]), body[65:]
        while marker == HUFFMAN and body:
            count = 17 + sum(body[1:17])
            if len(body) < count or count > 17 + 256 or body[0] & 0xef > 3:
                return None
            tables[body[0]], body = _table(body[1:count], body[0] < 16), body[count:]
    return _layout(said, at, divisors, tables) if _has_brightness_and_colours(said) else None


def _has_brightness_and_colours(said: dict) -> bool:
    """As libjpeg sees it. said : what stands behind the first marker of each kind"""
    if said.get(JFIF, b"")[:5] == b"JFIF\0":
        return True
    return ADOBE not in said and said.get(FRAME, b"")[6::3] == b"\1\2\3"


def _layout(said: dict, begin: int, divisors: dict, tables: dict) -> Layout | None:
    frame, scan = said.get(FRAME, b""), said.get(SCAN, b"")
    if len(frame) != 15 or len(scan) != 10 or frame[0] != 8 or frame[5] != 3 or scan[0] != 3 or scan[7:] != b"\0\x3f\0":
        return None
    names, (shares, *others), numbers = frame[6::3], frame[7::3], frame[8::3]
    height, width = frame[1] << 8 | frame[2], frame[3] << 8 | frame[4]
    kept = [[tables.get(scan[k] >> 4), tables.get(16 + (scan[k] & 15)), divisors.get(number)]
            for k, number in zip((2, 4, 6), numbers)]
    if names != scan[1:7:2] or len(set(names)) < 3 or shares not in (0x11, 0x21, 0x22) or others != [0x11, 0x11] or \
            min(height, width) < LEAST or any(one is None for three in kept for one in three):
        return None
    listed = np.array([[_address(one) for one in three] for three in kept], np.int64)     # type: ignore[arg-type]
    return Layout(height, width, shares >> 4, shares & 15, begin, _address(listed), (listed, kept))


@functools.lru_cache(maxsize=64)
def _divisors(numbers: bytes) -> np.ndarray:
    found = np.zeros(NUMBERS, np.int32)
    found[:64] = np.frombuffer(numbers, np.uint8)
    return found


@functools.lru_cache(maxsize=64)
def _table(codes: bytes, first: bool) -> np.ndarray | None:
    """A table of codes; None for one that is not sound. codes : 16 counts, then symbols"""
    given, found = np.frombuffer(codes, np.uint8), np.empty(TABLE, np.int32)
    return None if _status("jpeg_table", (first,), _address(given), _address(found)) else found


def _status(kind: str, facts: tuple, *arguments: int) -> int:
    function, _ = _function(kind, 3, *facts)
    return function((_INT64 * len(arguments))(*arguments), 0, 1)


def part(data: np.ndarray, layout: Layout, top: int, left: int, height: int, width: int) -> np.ndarray | None:
    """A part of the pixels of a JPEG, bytes [height, width, 3]; None for a scan that is left to a library."""
    size = len(data) - layout.begin + 2048 + 8 * width + 3 * (height + 64) * (width + 64)        # as the kernel asks
    if not hasattr(_held, "room") or _held.room.size < size:
        _held.room = np.empty(size, np.uint8)
    out, begin = np.empty((height, width, 3), np.uint8), _address(data)
    bad = _status("jpeg_part", (layout.across, layout.down), begin + layout.begin, begin + len(data), layout.given, _ORDER_AT,
                  layout.height, layout.width, top, left, height, width, _address(out), _address(_held.room))
    return None if bad else out

"""Protobuf's wire format: messages as numbered fields, without a compiler of .proto files.

    field(1, b"w") + field(2, 3)     ->  bytes          dict(message_fields(data, fail))  ->  {1: memoryview(b"w"), 2: 3}

Source: protobuf.dev/programming-guides/encoding. Varints and fields with a length are all that is known here.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

Fail = Callable[[str], NoReturn]                 # raises, given what is wrong


def field(number: int, value: int | bytes) -> bytes:
    """A field: an int (a negative one in 64 bits), or bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value % (1 << 64))
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    made = b""
    while number > 127:
        made, number = made + bytes([number & 127 | 128]), number >> 7
    return made + bytes([number])


def message_fields(message: Any, fail: Fail) -> Iterator[tuple[int, Any]]:
    """(number, int or memoryview) of each field of a message, which may be a field itself. fail: raises, given what is wrong"""
    if isinstance(message, (int, type(None))):
        fail("a message is expected")
    data, at = memoryview(message), 0
    while at < len(data):
        key, at = _number(data, at, fail)
        if key & 7 == 0:
            value, at = _number(data, at, fail)
        elif key & 7 == 2:
            size, at = _number(data, at, fail)
            if size > len(data) - at:
                fail("it ends too early")
            value, at = data[at:at + size], at + size
        else:
            fail(f"there is no wire type {key & 7}")
        yield key >> 3, value


def _number(data: memoryview, at: int, fail: Fail) -> tuple[Any, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            fail("a number has no end")
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def varints(data: Any, fail: Fail) -> list[int]:
    """The numbers of a packed field."""
    at, found = 0, []
    while at < len(data):
        number, at = _number(data, at, fail)
        found.append(number)
    return found


def signed(number: int) -> int:
    """A varint as a number of 64 bits with a sign."""
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number

"""Tensors by name in files: MindSpore's .ckpt and .safetensors, without pickle, read with bounds checked.

.ckpt (protobuf wire format): a message of `value = 1` messages, each {tag = 1: name, tensor = 2: {dims = 1, type = 2,
content = 3}}; several with one name are one tensor in slices. With a CRC the file ends with "crc_num" and its CRC-32 in
ten bytes. .safetensors: eight bytes of length, a JSON header of dtypes, shapes and places, the bytes.

Sources: protobuf.dev/programming-guides/encoding; huggingface.co/docs/safetensors.
"""
import json
import struct
import zlib
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import product
from ..common.errors import DTypeError, FileFormatError
from ..common.protobuf import field, message_fields, varints

CRC = b"crc_num"
TEXT = "str"                                 # the type of a string, which is kept in UTF-32
SAFE = {kind.safe: kind for kind in dt.ALL if kind.safe}
SAFE_NAMES = {kind: name for name, kind in SAFE.items()}
ORDER = ("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64",
         "U64")                                              # the library's
MOST_ZEROS = 1 << 30
BY_NAME = {str(kind): kind for kind in dt.ALL}


def write_ckpt(stream, values, crc=False):
    """Write {name: ndarray or str}."""
    total = 0
    for name, value in values.items():
        if isinstance(value, str):
            tensor = field(1, 0) + field(2, TEXT.encode()) + field(3, value.encode("utf-32-le"))
        else:
            array = np.ascontiguousarray(value)
            tensor = b"".join(field(1, size) for size in value.shape) + field(2, str(dt.dtype(array.dtype)).encode()) \
                + field(3, array.tobytes())
        data = field(1, field(1, name.encode()) + field(2, tensor))
        total = zlib.crc32(data, total)
        stream.write(data)
    if crc:
        stream.write(CRC + total.to_bytes(10, "big"))


def read_ckpt(data, path, crc=False):
    """{name: ndarray or str} of the bytes of a .ckpt file. raises : FileFormatError"""
    def fail(what):
        raise FileFormatError(f"{path} is damaged, or no .ckpt file: {what}")
    end = len(data) - len(CRC) - 10
    if end >= 0 and data[end:end + len(CRC)] == CRC:
        given, data = int.from_bytes(data[-10:], "big"), data[:end]
        if crc and zlib.crc32(data) != given:
            fail("its CRC is another one")
    elif crc:
        fail("it has no CRC")
    parts: dict = {}
    for number, value in message_fields(data, fail):
        if number != 1 or not isinstance(value, memoryview):
            fail("a value is expected")
        name, tensor = _of(value, fail, 1), _of(value, fail, 2)
        if name is None or tensor is None:
            fail("a value has no name, or no tensor")
        kind, content = None, None
        dims: list = []
        for place, inside in message_fields(tensor, fail):
            if place == 1:
                dims += [inside] if isinstance(inside, int) else varints(inside, fail)
            elif place == 2:
                kind = _text(inside, fail)
            elif place == 3:
                content = inside
        if kind is None or not isinstance(content, (memoryview, type(None))):
            fail("a tensor has no type, or no content")
        parts.setdefault(_text(name, fail), []).append((dims, kind, b"" if content is None else bytes(content)))
    return {name: _joined(name, slices, fail) for name, slices in parts.items()}


def _joined(name, slices, fail):
    dims, kind, _ = slices[0]
    data = b"".join(content for _, _, content in slices)
    if kind == TEXT:
        try:
            return data.decode("utf-32-le")
        except UnicodeDecodeError:
            fail(f"{name} is no text")
    if kind not in BY_NAME:
        fail(f"{name} is of the type {kind[:40]!r}, which does not exist")
    kind = BY_NAME[kind]
    if product(dims) * kind.itemsize != len(data):
        fail(f"{name} has {len(data)} bytes, {kind.short}{dims} has {product(dims) * kind.itemsize}")
    return np.frombuffer(data, kind.numpy).reshape(dims).copy()


def _of(message, fail, wanted):
    return next((value for number, value in message_fields(message, fail) if number == wanted and isinstance(value, memoryview)),
                None)


def _text(value, fail):
    try:
        return bytes(value).decode()
    except (UnicodeDecodeError, TypeError):
        fail("a name is no text")


# ---------------------------------------------------------------- safetensors

def write_safetensors(stream, values, crc=False):
    """Write {name: ndarray}; strings stand in the metadata."""
    arrays = {name: np.asarray(v, order="C") for name, v in values.items() if not isinstance(v, str)}
    meta = {"format": "ms", **{name: v for name, v in values.items() if isinstance(v, str)}}
    for name, array in arrays.items():
        if dt.dtype(array.dtype) not in SAFE_NAMES:
            raise DTypeError(f"{name} is {dt.dtype(array.dtype).name}, which safetensors does not know", hint="format='ckpt'")
    if crc:
        meta["crc_num"] = str(_crc_of(arrays))
    header: dict[str, dict] = {"__metadata__": meta}
    place = 0
    arrays = dict(sorted(arrays.items(), key=lambda item: (-ORDER.index(SAFE_NAMES[dt.dtype(item[1].dtype)]), item[0])))
    for name, array in arrays.items():
        header[name] = {"dtype": SAFE_NAMES[dt.dtype(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    stream.write(struct.pack("<Q", len(text)) + text)
    for array in arrays.values():
        stream.write(array.reshape(-1).view(np.uint8).data)              # no copy: a rank may have little room


def _crc_of(arrays):
    """MindSpore's check sum: names and bytes in the order of names. It takes `bytes` of an array, and Python reads an
    integer array without axes as a number of zeros."""
    total = 0
    for name, array in sorted(arrays.items()):
        total = zlib.crc32(name.encode(), total)
        if array.ndim == 0 and array.dtype.kind in "iu":
            zeros = max(int(array), 0)
            for begin in range(0, min(zeros, MOST_ZEROS), 1 << 20):
                total = zlib.crc32(bytes(min(1 << 20, zeros - begin)), total)
        else:
            total = zlib.crc32(array.tobytes(), total)
    return total


def read_safetensors(data, path, crc=False, copy=True):
    """{name: ndarray} of the bytes of a .safetensors file; without `copy` they lie in `data`. raises : FileFormatError"""
    def fail(what):
        raise FileFormatError(f"{path} is damaged, or no .safetensors file: {what}")
    size = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else len(data)
    if size > len(data) - 8:
        fail("its header does not end")
    try:
        header = json.loads(data[8:8 + size])
        meta = header.pop("__metadata__", {})
    except (ValueError, AttributeError, RecursionError) as error:
        fail(str(error))
    body, found = memoryview(data)[8 + size:], {}
    for name, described in header.items():
        kind: Any
        shape: Any
        place: Any
        kind, shape, place = [described.get(k) if isinstance(described, dict) else None
                              for k in ("dtype", "shape", "data_offsets")]
        numbers = isinstance(shape, list) and isinstance(place, list) and len(place) == 2 and all(
            type(n) is int and n >= 0 for n in (*shape, *place))
        if kind not in SAFE or not numbers or place[1] > len(body) \
                or place[1] - place[0] != product(shape) * SAFE[kind].itemsize:
            fail(f"what it says of {name[:60]!r} does not fit its bytes")
        array = np.frombuffer(body[place[0]:place[1]], SAFE[kind].numpy).reshape(shape)
        found[name] = array.copy() if copy else array
    if crc and (not isinstance(meta, dict) or meta.get("crc_num") != str(_crc_of(found))):
        fail("its CRC is another one, or it has none")
    return dict(sorted(found.items()))

"""How MindRecord files are laid out: what MindSpore 2.x writes, found out from files that it wrote.

    x.mindrecord        8 bytes: length of the header, little-endian; the header as JSON; zeros up to header_size (16 MiB)
                        then pages of page_size bytes (32 MiB): BLOB pages, then RAW pages
    x.mindrecord.db     SQLite: table INDEXES, a line a row: where its RAW and its BLOB part lie, and the values of index fields;
                        table SHARD_NAME: the name of the file

    RAW part of a row   8 bytes: length, little-endian; the fields that are numbers and text, as a map in MessagePack
    BLOB part           8 bytes: length, little-endian; the fields that are bytes and arrays; if there are several, each has its
                        length before it, 8 bytes, big-endian
    int32, int64 arrays 4 bytes: number of elements, big-endian; two bits for each: 1, 2, 4 or 8 bytes; then the elements

Fields stand in the order of their names. Everything read is checked against the bounds of the file.
"""
from __future__ import annotations

import json
import os
import sqlite3
import struct
import tempfile
import urllib.parse
from typing import Any, NamedTuple

import numpy as np

from . import encryption
from .errors import MindRecordError

HEADER_SIZE, PAGE_SIZE = 1 << 24, 1 << 25
MAX_HEADER, MIN_FILE = 1 << 28, 8
SCALARS = {"int32": np.int32, "int64": np.int64, "float32": np.float32, "float64": np.float64, "string": np.str_}


# ------------------------------------------------------------------- MessagePack, as much as rows need

def pack_map(values: dict[str, Any]) -> bytes:
    """A map from text to numbers and text. Source: github.com/msgpack/msgpack/blob/master/spec.md"""
    head = bytes([0x80 | len(values)]) if len(values) < 16 else b"\xde" + struct.pack(">H", len(values))
    return head + b"".join(_pack(key) + _pack(value) for key, value in values.items())


def _pack(value: Any) -> bytes:
    if isinstance(value, str):
        data = value.encode()
        size = len(data)
        if size < 32:
            return bytes([0xA0 | size]) + data
        if size < 1 << 8:
            return b"\xd9" + struct.pack(">B", size) + data
        return (b"\xda" + struct.pack(">H", size) if size < 1 << 16 else b"\xdb" + struct.pack(">I", size)) + data
    if isinstance(value, float):
        single = struct.pack(">f", value) if abs(value) < 3e38 or value != value else b""
        if single and struct.unpack(">f", single)[0] == value:
            return b"\xca" + single
        return b"\xcb" + struct.pack(">d", value)
    if value >= 0:
        if value < 128:
            return bytes([value])
        for code, form, limit in ((0xCC, ">B", 8), (0xCD, ">H", 16), (0xCE, ">I", 32), (0xCF, ">Q", 64)):
            if value < 1 << limit:
                return bytes([code]) + struct.pack(form, value)
    if value >= -32:
        return struct.pack(">b", value)
    for code, form, limit in ((0xD0, ">b", 7), (0xD1, ">h", 15), (0xD2, ">i", 31), (0xD3, ">q", 63)):
        if value >= -(1 << limit):
            return bytes([code]) + struct.pack(form, value)
    raise OverflowError(f"{value} has more than 64 bits")


_FIXED = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_SIZES = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDE: ">H", 0xDF: ">I"}


def unpack_map(data: bytes) -> dict[str, Any]:
    """What `pack_map` was given. raises : MindRecordError"""
    try:
        value, offset = _unpack(data, 0)
    except (struct.error, IndexError, UnicodeDecodeError, RecursionError) as error:
        raise MindRecordError(f"a row's fields are damaged: {error}") from None
    if not isinstance(value, dict) or offset != len(data):
        raise MindRecordError("a row's fields are damaged: they are no map")
    return value


def _unpack(data: bytes, offset: int) -> tuple[Any, int]:
    code = data[offset]
    offset += 1
    if code < 0x80:
        return code, offset
    if code >= 0xE0:
        return code - 256, offset
    if code in _FIXED:
        form = _FIXED[code]
        return struct.unpack_from(form, data, offset)[0], offset + struct.calcsize(form)
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], offset
    if code in _SIZES:
        form = _SIZES[code]
        size, offset = struct.unpack_from(form, data, offset)[0], offset + struct.calcsize(form)
    elif 0xA0 <= code < 0xC0 or code < 0x90:
        size = code & (31 if code >= 0xA0 else 15)
    else:
        raise MindRecordError(f"a row's fields are damaged: code {code:#x}")
    if code in (0xDE, 0xDF) or code < 0x90:
        found = {}
        for _ in range(size):
            key, offset = _unpack(data, offset)
            found[key], offset = _unpack(data, offset)
        return found, offset
    if offset + size > len(data):
        raise MindRecordError("a row's fields are damaged: text ends after them")
    return data[offset:offset + size].decode(), offset + size


# ------------------------------------------------------------------- arrays

_WIDTHS = (1, 2, 4, 8)


def pack_ints(values: np.ndarray) -> bytes:
    """Whole numbers, each in as few bytes as it needs."""
    flat = values.ravel().astype(np.int64)
    codes = sum((~((-(1 << bits) <= flat) & (flat < 1 << bits))).astype(np.uint8) for bits in (7, 15, 31))
    padded = np.zeros(-(-len(flat) // 4) * 4, np.uint8)
    padded[:len(flat)] = codes
    four = padded.reshape(-1, 4)
    bits = four[:, 0] << 6 | four[:, 1] << 4 | four[:, 2] << 2 | four[:, 3]
    data = b"".join(int(value).to_bytes(_WIDTHS[code], "little", signed=True) for value, code in zip(flat, padded))
    return struct.pack(">I", len(flat)) + bits.astype(np.uint8).tobytes() + data


def unpack_ints(data: bytes, kind: Any) -> np.ndarray:
    """What `pack_ints` was given. raises : MindRecordError"""
    if len(data) < 4:
        raise MindRecordError("an array of whole numbers is damaged")
    count = struct.unpack_from(">I", data)[0]
    head = 4 + -(-count // 4)
    if head > len(data):
        raise MindRecordError(f"an array of whole numbers is damaged: {count} elements in {len(data)} bytes")
    bits = np.frombuffer(data, np.uint8, head - 4, 4)
    codes = np.stack([bits >> 6, bits >> 4 & 3, bits >> 2 & 3, bits & 3], 1).ravel()[:count]
    ends = head + np.cumsum(1 << codes.astype(np.int64))
    if len(data) != (ends[-1] if count else head):
        raise MindRecordError(f"an array of whole numbers is damaged: {count} elements in {len(data)} bytes")
    out = np.empty(count, np.int64)
    raw = np.frombuffer(data, np.uint8)
    for code, width in enumerate(_WIDTHS):                   # all elements of one width at once
        chosen = np.flatnonzero(codes == code)
        if len(chosen):
            starts = ends[chosen] - width
            out[chosen] = raw[starts[:, None] + np.arange(width)].copy().view(f"<i{width}").ravel()
    return out.astype(kind)


def pack_field(value: Any, spec: dict) -> bytes:
    """A field of the BLOB part."""
    if spec["type"] == "bytes":
        return bytes(value)
    if spec["type"] in ("int32", "int64"):
        return pack_ints(value)
    return np.ascontiguousarray(value, SCALARS[spec["type"]]).tobytes()


def unpack_field(data: bytes, spec: dict, name: str) -> Any:
    """A field of the BLOB part: bytes or an array. raises : MindRecordError"""
    if spec["type"] == "bytes":
        return data
    kind = np.dtype(SCALARS[spec["type"]])
    if kind.kind == "i":
        values = unpack_ints(data, kind)
    elif len(data) % kind.itemsize:
        raise MindRecordError(f"field {name!r} is damaged: {len(data)} bytes of {kind}")
    else:
        values = np.frombuffer(data, kind)
    try:
        return values.reshape(spec["shape"])
    except ValueError:
        raise MindRecordError(f"field {name!r} is damaged: {values.size} values for the shape {spec['shape']}") from None


def is_blob(spec: dict) -> bool:
    """True for a field that stands in the BLOB part."""
    return spec["type"] == "bytes" or "shape" in spec


# ------------------------------------------------------------------- files

class RowLocation(NamedTuple):
    """Where a row lies in a file."""
    raw_page: int
    raw_start: int
    raw_end: int
    blob_page: int
    blob_start: int
    blob_end: int


class MindRecordFile:
    """One file: its header, and where its rows are.

    raises : MindRecordError for a file that is none, is damaged or has no index
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with self.open() as stream:
            self.size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            if self.size < MIN_FILE:
                raise MindRecordError(f"Invalid file, the size of mindrecord file: {self.size} is smaller than the lower limit: "
                                      f"{MIN_FILE}.\nPlease check file path: {path} and use 'FileWriter' to generate valid "
                                      f"mindrecord files.")
            length = int.from_bytes(stream.read(8), "little")
            if length > MAX_HEADER:
                raise MindRecordError(f"Invalid file, the size of mindrecord file header is larger than the upper limit. "
                                      f"Please use "
                                      f"'FileWriter' to generate valid mindrecord files. ({path})")
            head = stream.read(length)
        try:
            header = json.loads(head)
            self.header_size, self.page_size = int(header["header_size"]), int(header["page_size"])
            self.schema = dict(header["schema"][0]["schema"])
            self.description = header["schema"][0].get("desc", "")
            self.blobs = list(header["schema"][0]["blob_fields"])
            self.index_fields = [field["index_field"] for field in header.get("index_fields", [])]
            self.addresses = list(header["shard_addresses"])
            for name, spec in self.schema.items():
                if spec["type"] not in (*SCALARS, "bytes") or (name in self.blobs) != is_blob(spec):
                    raise ValueError(f"field {name!r} is {spec}")
            if not self.header_size >= length + 8 or self.page_size <= 0 or set(self.blobs) - set(self.schema):
                raise ValueError("sizes or fields that do not fit together")
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise MindRecordError(f"Invalid file, {path} is damaged or is no mindrecord file: its header: {error}") from None
        self.raws = sorted(set(self.schema) - set(self.blobs))
        self.locations = self._locations()

    def open(self) -> Any:
        """The file as a stream of its plain bytes."""
        return encryption.opened(self.path)

    def _locations(self) -> list[RowLocation]:
        index = self.path + ".db"
        if not os.path.isfile(index):
            raise MindRecordError(f"Invalid file, {index} does not exist: a mindrecord file needs its index")
        rows = self._select("PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, "
                            "PAGE_OFFSET_BLOB_END")
        found = []
        for row in rows:
            if not all(isinstance(n, int) and n >= 0 for n in row):
                raise MindRecordError(f"Invalid file, {index} is damaged: {row}")
            found.append(RowLocation(*row))
        return found

    def values(self, columns: tuple[str, ...]) -> list[tuple]:
        """The values of index fields of all rows, from the index."""
        names = [f'"{name}_0"' for name in columns]
        return self._select(", ".join(names))

    def _select(self, what: str) -> list[tuple]:
        """Columns of the index for all rows. raises : MindRecordError"""
        index = os.path.abspath(self.path + ".db")
        data = sqlite3.connect(f"file:{urllib.parse.quote(index)}?mode=ro", uri=True) if encryption.Settings.key is None \
            else database(encryption.opened(index).read())
        try:
            return data.execute(f"SELECT {what} FROM INDEXES ORDER BY ROW_ID").fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise MindRecordError(f"Invalid file, {index} is damaged or is no index of a mindrecord file: {error}") from None
        finally:
            data.close()

    def _part(self, stream: Any, page: int, start: int, end: int, what: str) -> bytes:
        """The bytes of a part of a row, without their length."""
        offset = self.header_size + page * self.page_size + start
        if not 8 <= end - start <= self.size - offset:
            raise MindRecordError(f"{self.path} is truncated or damaged: the {what} part of a row is at byte {offset}, "
                                  f"{end - start} bytes, and the file has {self.size}")
        stream.seek(offset)
        data = stream.read(end - start)
        if int.from_bytes(data[:8], "little") != end - start - 8:
            raise MindRecordError(f"{self.path} is damaged: the length of the {what} part at byte {offset} is wrong")
        return data[8:]

    def row(self, number: int, stream: Any) -> dict[str, Any]:
        """The fields of a row. stream : the file, opened. raises : MindRecordError"""
        location, found = self.locations[number], {}
        if self.raws:
            fields = unpack_map(self._part(stream, location.raw_page, location.raw_start, location.raw_end, "RAW"))
            for name in self.raws:
                kind, value = self.schema[name]["type"], fields.get(name)
                if (kind == "string") != isinstance(value, str) or value is None or isinstance(value, (bool, dict)):
                    raise MindRecordError(f"{self.path} is damaged: field {name!r} of row {number} is {value!r}")
                found[name] = value if kind == "string" else float(value) if kind.startswith("float") else value
        if self.blobs:
            data = self._part(stream, location.blob_page, location.blob_start, location.blob_end, "BLOB")
            for name, part in zip(self.blobs, _split(data, len(self.blobs), self.path)):
                found[name] = unpack_field(part, self.schema[name], name)
        return found


def content_of(data: sqlite3.Connection) -> bytes:
    """A database in memory as a file's bytes."""
    if hasattr(data, "serialize"):
        return data.serialize()
    with tempfile.TemporaryDirectory() as folder:            # Python 3.10
        path = os.path.join(folder, "index.db")
        with sqlite3.connect(path) as copy:
            data.backup(copy)
        copy.close()
        with open(path, "rb") as stream:
            return stream.read()


def database(content: bytes) -> sqlite3.Connection:
    """A file's bytes as a database in memory."""
    data = sqlite3.connect(":memory:")
    if hasattr(data, "deserialize"):
        data.deserialize(content)
        return data
    with tempfile.TemporaryDirectory() as folder:            # Python 3.10
        path = os.path.join(folder, "index.db")
        with open(path, "wb") as stream:
            stream.write(content)
        with sqlite3.connect(path) as copy:
            copy.backup(data)
        copy.close()
    return data


def _split(data: bytes, count: int, path: str) -> list[bytes]:
    if count == 1:
        return [data]
    parts, offset = [], 0
    for _ in range(count):
        size = int.from_bytes(data[offset:offset + 8], "big")
        if offset + 8 + size > len(data):
            raise MindRecordError(f"{path} is damaged: a field ends after its row")
        parts.append(data[offset + 8:offset + 8 + size])
        offset += 8 + size
    if offset != len(data):
        raise MindRecordError(f"{path} is damaged: {len(data) - offset} bytes after the last field of a row")
    return parts

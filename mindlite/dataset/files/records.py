"""TFRecord files of tf.train.Example, read without TensorFlow; Schema, the description of columns.

    record  : length (64 bits), its CRC, data, its CRC;  CRC : CRC-32C, masked (Castagnoli et al. 1993)
    Example : features = 1;  Features : map<string, Feature> = 1;  Feature : bytes_list = 1, float_list = 2, int64_list = 3

Source: tensorflow/core/lib/io/record_writer.h and core/example/feature.proto for the formats; protobuf's encoding guide.
"""
from __future__ import annotations

import functools
import gzip
import json
import struct
import zlib
from typing import Any, Iterator

import numpy as np

from ...common import dtype as dt
from ...common.errors import ArgumentError, ValueRangeError
from .. import draws
from ..columns import names_list
from ..config import whole_number
from .table import BadFileError, Samples, file, matching, source


# ------------------------------------------------------------------- CRC-32C

@functools.lru_cache(maxsize=None)
def _crc_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1)
    return table


@functools.lru_cache(maxsize=64)
def _shift_tables(count: int) -> list[list[int]]:
    """What `count` zero bytes make of a CRC: for each of its four bytes a table of 256 (it is linear)."""
    table, found = _crc_table(), []
    for byte in range(4):
        state = np.arange(256, dtype=np.uint32) << np.uint32(8 * byte)
        for _ in range(count):
            state = table[state & 255] ^ (state >> np.uint32(8))
        found.append(state.tolist())
    return found


def crc32c(data: bytes) -> int:
    """CRC-32C. Long data is cut into pieces whose CRCs are computed side by side and put together."""
    table, start = _crc_table(), 0xFFFFFFFF
    if len(data) < 512:
        return _crc_bytes(data, start) ^ 0xFFFFFFFF
    step = 64 if len(data) < 16384 else 1024
    pieces = np.frombuffer(data, np.uint8, len(data) // step * step).reshape(-1, step)
    state = np.zeros(len(pieces), np.uint32)
    for column in np.ascontiguousarray(pieces.T):
        state = table[(state ^ column) & 255] ^ (state >> np.uint32(8))
    a, b, c, d = _shift_tables(step)
    for piece in state.tolist():
        start = a[start & 255] ^ b[start >> 8 & 255] ^ c[start >> 16 & 255] ^ d[start >> 24] ^ piece
    return _crc_bytes(data[pieces.size:], start) ^ 0xFFFFFFFF


def _crc_bytes(data: bytes, state: int) -> int:
    table = _crc_list()
    for byte in data:
        state = table[(state ^ byte) & 255] ^ (state >> 8)
    return state


@functools.lru_cache(maxsize=None)
def _crc_list() -> list[int]:
    return _crc_table().tolist()


def masked(crc: int) -> int:
    """A CRC as it stands in the file."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


# ------------------------------------------------------------------- records

def content(path: str, compression: str | None = None) -> bytes:
    """The bytes of a file. compression : None, "GZIP" or "ZLIB". raises : BadFileError"""
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        return gzip.decompress(data) if compression == "GZIP" else zlib.decompress(data) if compression == "ZLIB" else data
    except (OSError, zlib.error, EOFError) as error:
        raise BadFileError(f"{path} is not compressed with {compression}, or damaged: {error}") from None


def spans(data: bytes, path: str) -> list[tuple[int, int]]:
    """(start, end) of each record's data; the CRCs of the lengths are checked. raises : BadFileError"""
    found, offset = [], 0
    while offset < len(data):
        if offset + 12 > len(data):
            raise BadFileError(f"Invalid file. {path} is truncated, or is not a valid TFRecordDataset file (at byte {offset})")
        size, crc = struct.unpack_from("<QI", data, offset)
        if masked(crc32c(data[offset:offset + 8])) != crc:
            raise BadFileError(f"Invalid file. {path} is damaged, or is not a valid TFRecordDataset file: the checksum of the "
                               f"length at byte {offset} is wrong")
        if offset + 16 + size > len(data):
            raise BadFileError(f"Invalid file. {path} is truncated: the record at byte {offset} has {size} bytes")
        found.append((offset + 12, offset + 12 + size))
        offset += 16 + size
    return found


def record(data: bytes, span: tuple[int, int], path: str) -> bytes:
    """A record's data, whose CRC is checked. raises : BadFileError"""
    part = data[span[0]:span[1]]
    if masked(crc32c(part)) != struct.unpack_from("<I", data, span[1])[0]:
        raise BadFileError(f"{path} is damaged: the checksum of the record at byte {span[0] - 12} is wrong")
    return part


# ------------------------------------------------------------------- protobuf

def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        value |= (byte & 127) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, offset
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field of a message. raises : ValueError, IndexError, struct.error"""
    offset = 0
    while offset < len(data):
        key, offset = _varint(data, offset)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, offset = _varint(data, offset)
            yield number, wire, value
            continue
        if wire == 2:
            size, offset = _varint(data, offset)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if offset + size > len(data):
            raise ValueError("a field ends after the message")
        yield number, wire, data[offset:offset + size]
        offset += size


def _feature(data: bytes) -> np.ndarray | list[bytes]:
    for kind, _, values in fields(data):
        if kind == 1:
            return [value for number, _, value in fields(values) if number == 1]
        if kind == 2:
            return np.frombuffer(b"".join(value for number, _, value in fields(values) if number == 1), "<f4")
        if kind == 3:
            return np.array(list(_int64s(values)), np.uint64).astype(np.int64)
    return []


def _int64s(data: bytes) -> Iterator[int]:
    for number, wire, value in fields(data):
        if wire == 0:
            yield value
            continue
        offset = 0
        while offset < len(value):
            one, offset = _varint(value, offset)
            yield one


def example(data: bytes, path: str = "") -> dict[str, np.ndarray | list[bytes]]:
    """{name: float32 or int64 array, or list of bytes} of a tf.train.Example. raises : BadFileError"""
    try:
        found = {}
        for number, _, features in fields(data):
            for inner, _, entry in fields(features) if number == 1 else ():
                parts = {tag: value for tag, _, value in fields(entry)} if inner == 1 else {}
                if parts:
                    found[parts[1].decode()] = _feature(parts.get(2, b""))
        return found
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise BadFileError(f"a record of {path} is no tf.train.Example: {error}") from None


# ------------------------------------------------------------------- Schema and TFRecordDataset

class Schema:
    """Names, types and shapes of columns. schema_file : a JSON file {"columns": [{"name", "type", "shape"}, ..]}"""

    def __init__(self, schema_file: str | None = None) -> None:
        self.columns: list[dict] = []
        self.dataset_type, self.num_rows = "", 0
        if schema_file is not None:
            if not isinstance(schema_file, str):
                raise ArgumentError(f"path: {schema_file} is not string")
            with open(file(schema_file), encoding="utf-8") as stream:
                self.from_json(json.load(stream))

    def add_column(self, name: str, de_type: Any, shape: list | None = None) -> None:
        """Add a column. de_type : a dtype or its name;  shape : -1 for a size that is not known. raises : ArgumentError"""
        if not isinstance(name, str):
            raise ArgumentError(f"Argument name with value {name} is not of type [<class 'str'>].")
        kind = "string" if de_type in ("string", str, np.str_) or str(de_type) == "String" else dt.dtype(de_type).name
        if shape is not None and (not isinstance(shape, (list, tuple)) or not all(isinstance(n, int) for n in shape)):
            raise ArgumentError(f"Argument shape with value {shape} is not a list of int.")
        column = {"name": name, "type": kind}
        if shape is not None:
            column.update(rank=len(shape), shape=list(shape))         # type: ignore[call-overload]
        self.columns.append(column)

    def names(self) -> list[str]:
        """The names of the columns."""
        return [column["name"] for column in self.columns]

    def parse_columns(self, columns: Any) -> None:
        """Add columns from a list of dicts or a dict {name: {"type", "shape"}}. raises : ArgumentError"""
        if isinstance(columns, dict):
            columns = [{"name": name, **column} for name, column in columns.items()]
        if not isinstance(columns, list):
            raise ArgumentError("columns must be dict or list, columns contain name, type, shape(optional).")
        for column in columns:
            if not isinstance(column, dict) or not {"name", "type"} <= column.keys():
                raise ArgumentError(f"Column's name and type are missing: {column}")
            unknown = set(column) - {"name", "type", "shape", "rank", "t_impl"}     # t_impl: of MindSpore's older files
            if unknown:
                raise RuntimeError(f"Unknown field {', '.join(sorted(unknown))}")
            self.add_column(column["name"], column["type"], [] if column.get("rank") == 0 else column.get("shape"))

    def to_json(self) -> str:
        """The description as JSON."""
        order = [{key: column[key] for key in sorted(column)} for column in self.columns]
        head = {"columns": order, **({"datasetType": self.dataset_type} if self.dataset_type else {}),
                **({"numRows": self.num_rows} if self.num_rows else {})}
        return json.dumps(head, indent=2)

    def from_json(self, json_obj: dict) -> None:
        """Take over a description. raises : ArgumentError, RuntimeError"""
        if not isinstance(json_obj, dict) or not isinstance(json_obj.get("columns"), (list, dict)):
            raise RuntimeError("Columns are missing.")
        self.columns = []
        self.dataset_type, self.num_rows = json_obj.get("datasetType", ""), json_obj.get("numRows", 0)
        if not isinstance(self.num_rows, int) or self.num_rows < 0:
            raise ValueRangeError("numRows must be greater than or equal to 0")
        self.parse_columns(json_obj["columns"])

    def __str__(self) -> str:
        return self.to_json()


def _value(found: Any, column: dict | None, name: str, path: str) -> np.ndarray:
    """The array of a feature, as a column of the Schema describes it, or by itself."""
    kind = column["type"] if column is not None else ""
    if kind and (kind == "string") > isinstance(found, list) or isinstance(found, list) and kind not in ("", "string", "uint8"):
        raise BadFileError(f"The data type loaded from the example for feature name: {name} does not match the predefined type "
                           f"in schema, {kind}. ({path})")
    if isinstance(found, list):                              # bytes
        if column is not None and column["type"] == "string":
            out = np.array([value.decode("utf-8", "replace") for value in found])
        elif len({len(value) for value in found}) <= 1:
            out = np.frombuffer(b"".join(found), np.uint8)
            out = out if len(found) == 1 else out.reshape(len(found), -1)
        else:
            out = np.array(found)
    else:
        out = found if column is None else found.astype(dt.dtype(column["type"]).numpy)
    if column is None or "shape" not in column:
        return out
    try:
        return out.reshape(column["shape"])
    except ValueError:
        raise BadFileError(f"Column shape of {name} defined in schema does not match the shape actually load: {column['shape']} "
                           f"and {out.size} values. ({path})") from None


@source("", text=True,
        order="num_samples num_parallel_workers shuffle num_shards shard_id shard_equal_rows cache compression_type")
def TFRecordDataset(dataset_files, schema=None, columns_list=None, *, shard_equal_rows=False, compression_type=None):
    """TFRecord files of tf.train.Example.

    schema       : a Schema, its file, or None: then the first record names the columns, in alphabetic order. Its numRows is the
                   number of rows where num_samples is not given
    columns_list : which columns;  shard_equal_rows : shards of equally many rows, else whole files
    compression_type : None, "GZIP" or "ZLIB"
    raises       : BadFileError, a RuntimeError, for a truncated file or a wrong checksum
    """
    paths = matching(dataset_files)
    if compression_type not in (None, "", "GZIP", "ZLIB"):
        raise ValueRangeError(f"Input compression_type can be either '' (no compression), 'ZLIB', or 'GZIP', but got: "
                              f"{compression_type!r}.")
    described = Schema(schema) if isinstance(schema, str) else schema
    if described is not None and not isinstance(described, Schema):
        raise ArgumentError(f"Argument schema with value {schema} is not of type [Schema, str].")
    datas = [content(path, compression_type) for path in paths]
    positions = [(number, span) for number, data in enumerate(datas) for span in spans(data, paths[number])]
    if described is not None:
        columns = {column["name"]: column for column in described.columns}
        names = names_list(columns_list, "columns_list") or list(columns)
    else:
        first = [example(record(datas[number], span, paths[number]), paths[number]) for number, span in positions[:1]]
        columns, names = {}, names_list(columns_list, "columns_list") or sorted(first[0] if first else ())

    def sample(k: int) -> tuple:
        number, span = positions[k]
        path = paths[number]
        found = example(record(datas[number], span, path), path)
        for name in names:
            if name not in found:
                missing = f"Feature name: {name} is required in schema but could not be found in tfrecord file" if described \
                    is not None else f"Invalid columns_list, tfrecord file failed to find column name: {name}"
                raise BadFileError(f"{missing}. {path} has {', '.join(sorted(found))}")
        return tuple(_value(found[name], columns.get(name), name, path) for name in names)
    numbers = [number for number, _ in positions]
    return Samples(len(positions), sample, names, files=[paths[number] for number in numbers], groups=numbers,
                   limit=described.num_rows if described is not None else None)


# ------------------------------------------------------------------- RandomDataset

RANDOM_TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
MOST_ROWS, MOST_COLUMNS, MOST_AXES, MOST_SIZE = 1024, 4, 3, 8        # of what is drawn where it is not said


def _drawn(kind: str, shape: tuple) -> np.ndarray:
    """Random values: whole numbers of the whole range, floats in [0, 1), digits."""
    numbers = draws.generator()
    if kind in ("string", "bytes"):
        return numbers.integers(0, 10, shape).astype("U" if kind == "string" else "S")
    wanted = dt.dtype(kind).numpy
    if wanted.kind == "f":
        return numbers.random(shape).astype(wanted)
    if wanted.kind == "b":
        return numbers.integers(0, 2, shape).astype(wanted)
    limits = np.iinfo(wanted)
    return numbers.integers(limits.min, limits.max, shape, wanted, endpoint=True)


@source("", text=True, order="num_parallel_workers cache shuffle num_shards shard_id", defaults={"shuffle": None})
def RandomDataset(total_rows=None, schema=None, columns_list=None, num_samples=None):
    """Rows of random values, for trying out a pipeline. The same row of the same pass has the same values under `set_seed`.

    total_rows   : how many rows; by default the schema's numRows, or num_samples, or a random number
    schema       : a Schema or its file; by default one to four columns c0, c1, .. of random types and shapes
    columns_list : names of the columns, which are the first ones of the schema
    raises       : ArgumentError, ValueRangeError
    """
    if total_rows is not None:
        whole_number(total_rows, "total_rows", 0)
    described = Schema(schema) if isinstance(schema, str) else schema
    if described is not None and not isinstance(described, Schema):
        raise ArgumentError(f"Argument schema with value {schema} is not of type [Schema, str].")
    wanted = names_list(columns_list, "columns_list")
    numbers = np.random.Generator(np.random.Philox(0))
    if described is None:
        described = Schema()
        for k in range(len(wanted) or int(numbers.integers(1, MOST_COLUMNS, endpoint=True))):
            shape = numbers.integers(1, MOST_SIZE, int(numbers.integers(1, MOST_AXES, endpoint=True)), endpoint=True)
            described.add_column(f"c{k}", RANDOM_TYPES[int(numbers.integers(len(RANDOM_TYPES)))], shape.tolist())
    columns = described.columns if not wanted else described.columns[:len(wanted)]
    if len(wanted) > len(columns):
        raise ValueRangeError(f"columns_list has {len(wanted)} names, the schema {len(columns)} columns")
    count = total_rows or described.num_rows or num_samples or int(numbers.integers(1, MOST_ROWS, endpoint=True))
    shapes = [tuple(max(n, 1) for n in column.get("shape", [1])) for column in columns]

    def sample(k: int) -> list:
        return [_drawn(column["type"], shape) for column, shape in zip(columns, shapes)]
    return Samples(count, sample, wanted or [column["name"] for column in columns])

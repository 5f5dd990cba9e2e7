"""FileWriter: MindRecord files that MindSpore reads. Rows are gathered in pages; the index is a SQLite file beside each file."""
from __future__ import annotations

import json
import os
import re
import sqlite3
import struct
from typing import Any

import numpy as np

from ...common import log
from ...common.files import replacing
from .encryption import encrypt_file
from .errors import (MindRecordError, MRMDefineIndexError, MRMGetMetaError, MRMInvalidSchemaError, MRMOpenError, ParamTypeError,
                     ParamValueError)
from .layout import HEADER_SIZE, PAGE_SIZE, SCALARS, MindRecordFile, content_of, is_blob, pack_field, pack_map

SUCCESS, FAILED = "SUCCESS", "FAILED"
_SQL = {"string": "TEXT", "int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL"}


def check_file_name(name: Any) -> str:
    """A name for a file. raises : ParamValueError"""
    if name is None or name == "":
        raise ParamValueError("Invalid parameter value. File path is not allowed None or empty!")
    if not isinstance(name, str):
        raise ParamValueError(f"Invalid parameter value. File path: {name} is not string.")
    if re.search(r'[*"?<>|,]', name):
        raise ParamValueError(f"Invalid parameter value. File name should not contains \",|,?,*,<,>: {name!r}")
    return name


class FileWriter:
    """Write MindRecord files.

    file_name : the file, or with shard_num > 1 the files file_name0, file_name1, ..;  overwrite : files that exist are replaced
    raises    : ParamValueError
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        check_file_name(file_name)
        if shard_num is None:
            raise ParamValueError("Invalid parameter value. Parameter shard_num is None.")
        if isinstance(shard_num, bool) or not isinstance(shard_num, int):
            raise ParamValueError("Invalid parameter value. Parameter shard_num's type is not int.", note=f"it is {shard_num!r}")
        if not 1 <= shard_num <= 1000:
            raise ParamValueError(f"Invalid parameter value. Parameter shard_num's value: {shard_num} should between 1 and 1000.")
        if not isinstance(overwrite, bool):
            raise ParamValueError("Invalid parameter value. Parameter overwrite's type is not bool.", note=f"it is {overwrite!r}")
        digits = len(str(shard_num - 1))
        self.paths = [file_name] if shard_num == 1 else [f"{file_name}{k:0{digits}d}" for k in range(shard_num)]
        self.overwrite = overwrite
        self.schema: dict[str, dict] = {}
        self.description = ""
        self.index: list[str] | None = None
        self.rows: list[tuple[bytes, bytes, tuple]] = []     # (RAW part, BLOB part, values of the index fields)
        self.dropped = 0
        self.committed = False

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer that adds rows to files that exist. raises : MindRecordError"""
        first = MindRecordFile(check_file_name(file_name))
        folder = os.path.dirname(file_name)
        writer = cls(file_name, 1, overwrite=True)
        writer.paths = [os.path.join(folder, name) for name in first.addresses]
        writer.schema, writer.description, writer.index = first.schema, first.description, first.index_fields
        for path in writer.paths:
            file = MindRecordFile(path)
            with file.open() as stream:
                for number in range(len(file.locations)):
                    writer._add(file.row(number, stream))
        return writer

    def set_header_size(self, header_size: int) -> str:
        """Accepted: headers are 16 MiB, as MindSpore's."""
        return SUCCESS

    def set_page_size(self, page_size: int) -> str:
        """Accepted: pages are 32 MiB, as MindSpore's."""
        return SUCCESS

    def add_schema(self, content: dict, desc: str | None = None) -> int:
        """The fields of all rows: {name: {"type": .., "shape": [..]}}; types are int32, int64, float32, float64, string, bytes.

        raises : MRMInvalidSchemaError
        """
        if not isinstance(content, dict) or not content:
            raise MRMInvalidSchemaError("Schema format is error. Detail: Schema content "
                                        + ("should be dict." if not isinstance(content, dict) else "is empty."))
        for name, spec in content.items():
            if not isinstance(name, str) or not re.fullmatch(r"[0-9a-zA-Z_]+", name):
                raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' should be composed of '0-9' or "
                                            f"'a-z' or "
                                            f"'A-Z' or '_'.")
            if not isinstance(spec, dict) or "type" not in spec:
                raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' should be a dict with 'type'.")
            if spec["type"] not in (*SCALARS, "bytes") or set(spec) - {"type", "shape"}:
                raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' contain illegal attribute "
                                            f"'{spec['type'] if spec['type'] not in (*SCALARS, 'bytes') else sorted(spec)}'.")
            if "shape" in spec:
                shape = spec["shape"]
                if spec["type"] in ("string", "bytes"):
                    raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' is {spec['type']}, which has no "
                                                f"shape.")
                if not isinstance(shape, (list, tuple)) or not shape or not all(isinstance(n, int) for n in shape):
                    raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' has the shape {shape}.")
                if sum(n == -1 for n in shape) > 1 or any(n < 1 and n != -1 for n in shape):
                    raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' has the shape {shape}.")
        self.schema = {name: dict(spec) for name, spec in sorted(content.items())}
        self.description = desc or ""
        return 0

    def add_index(self, index_fields: list[str]) -> str:
        """Fields whose values stand in the index too.

        raises : ParamTypeError; MRMGetMetaError before add_schema(); MRMDefineIndexError for bytes, arrays and a field twice;
                 MindRecordError for one that is not there
        """
        if not isinstance(index_fields, list):
            raise ParamTypeError("Invalid parameter type. 'index_fields' expect list type.")
        if not self.schema:
            raise MRMGetMetaError("Failed to get meta info.", hint="add_schema() comes before add_index()")
        for name in index_fields:
            if not isinstance(name, str):
                raise ParamTypeError("Invalid parameter type. 'index field' expect str type.")
            if index_fields.count(name) > 1:
                raise MRMDefineIndexError(f"Failed to define index field. Detail: field {name} stands there twice.")
            if name in self.schema and is_blob(self.schema[name]):
                raise MRMDefineIndexError(f"Failed to define index field. Detail: Failed to set field {name} since it's not "
                                          f"primitive type.")
            if name not in self.schema:
                raise MindRecordError(f"Invalid input, 'index_fields': {name} can not found in schema: "
                                      f"{json.dumps(self.schema)}. "
                                      f"Please use 'add_index' function to add proper 'index_fields'.")
        self.index = list(index_fields)
        return SUCCESS

    def write_raw_data(self, raw_data: list[dict], parallel_writer: bool = False) -> str:
        """Add rows. Those that do not fit are left out with a warning. raises : ParamTypeError, MindRecordError if all do"""
        if not isinstance(raw_data, list):
            raise ParamTypeError("Invalid parameter type. 'raw_data' expect list type.")
        if not self.schema:
            raise MRMInvalidSchemaError("Schema format is error. Detail: add_schema() has not been called.")
        good = 0
        for row in raw_data:
            if not isinstance(row, dict):
                raise ParamTypeError("Invalid parameter type. 'raw_data item' expect dict type.")
            wrong = self._misfit(row)
            if wrong:
                self.dropped += 1
                log.warning(f"a row for {self.paths[0]} is left out: {wrong}")
            else:
                self._add(row)
                good += 1
        if not good:
            raise MindRecordError("There is no valid data which can be written by 'write_raw_data' to mindrecord file. Please "
                                  "check the "
                                  "abnormal input data indicated in the warning log above.")
        return SUCCESS

    def _misfit(self, row: dict) -> str:
        """Why a row does not fit the schema; "" if it does."""
        for name, spec in self.schema.items():
            if name not in row:
                return f"it has no field {name!r}"
            value, kind = row[name], spec["type"]
            if kind == "bytes":
                fits = isinstance(value, (bytes, bytearray))
            elif "shape" in spec:
                if not isinstance(value, np.ndarray) or value.dtype != np.dtype(SCALARS[kind]):
                    return f"field {name!r} is no {kind} array"
                known = int(np.prod([n for n in spec["shape"] if n != -1]))
                fits = value.size % known == 0 if -1 in spec["shape"] else value.size == known
            elif kind == "string":
                fits = isinstance(value, str)
            elif kind.startswith("int"):
                bits = 31 if kind == "int32" else 63
                fits = isinstance(value, (int, np.integer)) and not isinstance(value, bool) \
                    and bool(-(1 << bits) <= value < 1 << bits)
            else:
                fits = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not fits:
                shape = f" of shape {spec['shape']}" if "shape" in spec else ""
                return f"field {name!r} is {value!r}, which is no {kind}{shape}"
        return ""

    def _add(self, row: dict) -> None:
        fields = {}
        for name, spec in self.schema.items():
            if not is_blob(spec):
                kind = {"s": str, "i": int, "f": float}[spec["type"][0]]
                fields[name] = kind(row[name])
        blobs = [pack_field(row[name], spec) for name, spec in self.schema.items() if is_blob(spec)]
        blob = blobs[0] if len(blobs) == 1 else b"".join(len(part).to_bytes(8, "big") + part for part in blobs)
        raw = pack_map(fields)
        self.rows.append((len(raw).to_bytes(8, "little") + raw, len(blob).to_bytes(8, "little") + blob, tuple(fields.items())))

    def commit(self) -> str:
        """Write the files, also without rows. raises : MindRecordError where files exist and may not be overwritten"""
        if not self.schema:
            raise MindRecordError("Not any data is written: call add_schema() and write_raw_data() before commit().")
        existing = [path for path in self.paths if os.path.exists(path) or os.path.exists(path + ".db")]
        if existing and not self.overwrite:
            raise MindRecordError(f"Invalid file, mindrecord files already exist. Please check file path: "
                                  f"{os.path.abspath(existing[0])}. If you do not want to keep the files, set the 'overwrite' "
                                  f"parameter to True and try again.")
        index = self.index if self.index is not None else [name for name, spec in self.schema.items() if not is_blob(spec)]
        for name in index:
            if name not in self.schema:
                raise MindRecordError(f"Invalid input, 'index_fields': {name} can not found in schema: "
                                      f"{json.dumps(self.schema)}.")
        count, total = len(self.paths), len(self.rows)
        for shard, path in enumerate(self.paths):
            part = self.rows[shard * total // count:(shard + 1) * total // count]
            self._write(path, shard, part, index)
        self.committed = True
        return SUCCESS

    def _write(self, path: str, shard: int, rows: list, index: list[str]) -> None:
        pages: list[dict] = []
        contents: list[list[bytes]] = []
        locations: list[list[int]] = [[0] * 6 for _ in rows]    # as layout.RowLocation
        groups = [0] * len(rows)
        used = None
        for number, (_, blob, _) in enumerate(rows):         # BLOB pages; each is a row group
            if len(blob) > PAGE_SIZE:
                raise MindRecordError(f"{path}: a row has {len(blob)} bytes, a page holds {PAGE_SIZE}")
            if used is None or used + len(blob) > PAGE_SIZE:
                pages.append(_page(len(pages), "BLOB_DATA", len(pages), number, shard))
                contents.append([])
                used = 0
            locations[number][3:] = len(pages) - 1, used, used + len(blob)
            groups[number] = len(pages) - 1
            contents[-1].append(blob)
            used += len(blob)
            pages[-1].update(page_size=used, end_row_id=number + 1)
        blob_pages, used, raw_pages = len(pages), None, 0
        for number, (raw, _, _) in enumerate(rows):
            if len(raw) > PAGE_SIZE:
                raise MindRecordError(f"{path}: the fields of a row have {len(raw)} bytes, a page holds {PAGE_SIZE}")
            if used is None or used + len(raw) > PAGE_SIZE:
                pages.append({**_page(len(pages), "RAW_DATA", raw_pages, 0, shard), "row_group_ids": []})
                contents.append([])
                used, raw_pages = 0, raw_pages + 1
            known = pages[-1]["row_group_ids"]
            if not known or known[-1]["id"] != groups[number]:
                known.append({"id": groups[number], "offset": used})
            locations[number][:3] = len(pages) - 1, used, used + len(raw)
            contents[-1].append(raw)
            used += len(raw)
            pages[-1]["page_size"] = used
        assert blob_pages <= len(pages)
        header = {
            "header_size": HEADER_SIZE, "index_fields": [{"index_field": name, "schema_id": 0} for name in index], "page": pages,
            "page_size": PAGE_SIZE, "compression_size": 0,
            "schema": [{"blob_fields": [name for name, spec in self.schema.items() if is_blob(spec)], "desc": self.description,
                        "schema": self.schema}],
            "shard_addresses": [os.path.basename(p) for p in self.paths], "shard_id": shard, "statistics": None, "version": "3.0"}
        head = json.dumps(header, separators=(",", ":")).encode()
        if len(head) + 8 > HEADER_SIZE:
            raise MindRecordError(f"{path}: the header has {len(head)} bytes, more than {HEADER_SIZE}")
        try:
            with replacing(path) as stream:
                stream.write(struct.pack("<Q", len(head)) + head)
                for number, content in enumerate(contents):
                    stream.seek(HEADER_SIZE + number * PAGE_SIZE)
                    stream.write(b"".join(content))
            self._write_index(path, rows, locations, groups, index)
            encrypt_file(path)
            encrypt_file(path + ".db")
        except OSError as error:
            raise MRMOpenError(f"{path} cannot be written: {error}") from None

    def _write_index(self, path: str, rows: list, locations: list, groups: list, index: list[str]) -> None:
        columns = [f"INC_{k} INT, {name}_0 {_SQL[self.schema[name]['type']]}" for k, name in enumerate(index)]
        keys = ",".join(["ROW_ID", *(f"INC_{k}" for k in range(len(index)))])
        table = ("CREATE TABLE INDEXES(  ROW_ID               INT  NOT NULL, PAGE_ID_RAW          INT  NOT NULL, "
                 "PAGE_OFFSET_RAW      INT  NOT NULL, PAGE_OFFSET_RAW_END  INT  NOT NULL, ROW_GROUP_ID         INT  NOT NULL, "
                 "PAGE_ID_BLOB         INT  NOT NULL, PAGE_OFFSET_BLOB     INT  NOT NULL, PAGE_OFFSET_BLOB_END INT  NOT NULL"
                 + "".join("," + column for column in columns) + f", PRIMARY KEY({keys}))")
        data = sqlite3.connect(":memory:")
        data.execute(table)
        data.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
        data.execute("INSERT INTO SHARD_NAME VALUES (?)", (os.path.basename(path),))
        lines = []
        for number, ((_, _, fields), location) in enumerate(zip(rows, locations)):
            values = dict(fields)
            line = [number, *location[:3], groups[number], *location[3:]]
            for name in index:
                line += [0, values[name]]
            lines.append(line)
        data.executemany(f"INSERT INTO INDEXES VALUES ({','.join('?' * (8 + 2 * len(index)))})", lines)
        data.commit()
        with replacing(path + ".db") as stream:
            stream.write(content_of(data))
        data.close()


def _page(number: int, kind: str, of_kind: int, row: int, shard: int) -> dict:
    return {"end_row_id": 0, "page_id": number, "page_size": 0, "page_type": kind, "page_type_id": of_kind,
            "row_group_ids": [{"id": of_kind, "offset": 0}], "shard_id": shard, "start_row_id": row}

"""LineReader: lines of a text file by their number, for sources with `__getitem__`."""
from __future__ import annotations

import itertools
import os
from typing import BinaryIO

from ..common.errors import ArgumentError
from .config import whole_number
from .files.table import BadFileError


class LineReader:
    """The lines of a text file by number. It keeps where each line begins, not the lines.

    filename : str, a file in UTF-8
    raises   : ArgumentError (a TypeError) for a name that is no str, BadFileError (a RuntimeError) if it is no file

        reader = LineReader("rows.jsonl");  reader[1] is the first line;  len(reader) is their number;  reader.close()
    """

    def __init__(self, filename: str) -> None:
        if not isinstance(filename, str):
            raise ArgumentError(f"path: {filename} is not string")
        self.filename = os.path.realpath(filename)
        if not os.path.exists(self.filename):
            raise BadFileError(f"The input file [{filename}] does not exist.")
        if not os.path.isfile(self.filename):
            raise BadFileError(f"The input file [{filename}] is not a regular file.")
        with open(self.filename, "rb") as stream:
            self.offsets = list(itertools.accumulate((len(line) for line in stream), initial=0))[:-1]
        self._process = 0
        self._stream: BinaryIO | None = None

    def __getitem__(self, line: int) -> str:
        """The same as readline."""
        return self.readline(line)

    def __len__(self) -> int:
        """The number of lines."""
        return len(self.offsets)

    def len(self) -> int:
        """The number of lines."""
        return len(self.offsets)

    def readline(self, line: int) -> str:
        """A line without its end.

        line   : int, 1 for the first one
        raises : ArgumentError (a TypeError), ValueRangeError (a ValueError) for a line that is not there, BadFileError
                 for text that is not UTF-8
        """
        start = self.offsets[whole_number(line, "line", 1, len(self.offsets)) - 1]
        if self._stream is None or self._process != os.getpid():     # a worker process has a position of its own
            self._process, self._stream = os.getpid(), open(self.filename, "rb")
        self._stream.seek(start)
        try:
            return self._stream.readline().decode("utf-8").rstrip("\n").rstrip("\r")
        except UnicodeDecodeError as error:
            raise BadFileError(f"line {line} of {self.filename} is not text in UTF-8: {error}") from None

    def close(self) -> None:
        """The file is closed; reading a line opens it again."""
        if self._stream is not None:
            self._stream.close()
        self._stream = None

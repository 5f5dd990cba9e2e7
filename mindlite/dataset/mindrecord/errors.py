"""What can be wrong with MindRecord files and with what is to be written, under MindSpore's names."""
from __future__ import annotations

from typing import Any

from ...common.errors import FileFormatError, MindliteError


class MindRecordError(FileFormatError, RuntimeError):
    """A MindRecord file that is damaged, or is none."""


class MindRecordException(MindliteError, RuntimeError):
    """Base of MindRecord's errors."""

    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(f"[{type(self).__name__}]: {message}", **fields)


class ParamTypeError(MindRecordException, TypeError):
    """An argument of another type."""


class ParamValueError(MindRecordException, ValueError):
    """An argument outside what is allowed."""


class MRMInvalidSchemaError(MindRecordException):
    """A schema that cannot be."""


class MRMDefineIndexError(MindRecordException):
    """A field that cannot stand in the index."""


class MRMOpenError(MindRecordException):
    """A file that is no MindRecord file."""


class MRMGetMetaError(MindRecordException):
    """A file without a readable header."""


class MRMFetchDataError(MindRecordException):
    """Data that cannot be read."""


class PathNotExistsError(MindRecordException, FileNotFoundError):
    """A path that does not exist."""

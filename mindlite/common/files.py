"""Files that are written whole or not at all.

    with replacing("net.ckpt") as stream: stream.write(..)         an error leaves the old file as it was
    write_checked(path, MARK, code);  read_checked(path, MARK)      files of a cache: the mark, SHA-256 of the bytes, the bytes
"""
from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

from .lazy import LazyModule

hashlib = LazyModule("hashlib")


@contextlib.contextmanager
def replacing(path: os.PathLike | str, durable: bool = True) -> Iterator[Any]:
    """Yield a binary file that takes the place of `path` when the block has ended; folders are made.

    Until then it has no name where the file system knows such files, so that a program which is killed leaves nothing.

    durable : it is on the disk before it takes the place; False for caches, which can be made anew
    raises  : OSError
    """
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    beside = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    nameless = _nameless(folder)
    try:
        with open(beside, "xb") if nameless is None else open(nameless, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
            if nameless is not None:                         # src_dir_fd: else Python links to the link in /proc
                os.link(f"/proc/self/fd/{nameless}", beside, src_dir_fd=nameless, follow_symlinks=True)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def _nameless(folder: str) -> int | None:
    """The descriptor of a new file in the folder that has no name; None where there are none (open(2), O_TMPFILE)."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:                              # of some file systems; others fail again at a name, and say why
        return None


def read_checked(path: os.PathLike | str, mark: bytes) -> bytes | None:
    """What `write_checked` wrote; None where there is nothing, and with a RuntimeWarning what is damaged or cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        warnings.warn(f"the cache cannot be read: {error}", RuntimeWarning, stacklevel=3)
        return None
    head = len(mark) + 32
    if data[:head] == mark + hashlib.sha256(data[head:]).digest():
        return data[head:]
    warnings.warn(f"{path} is damaged; it is made anew", RuntimeWarning, stacklevel=3)
    return None


def write_checked(path: os.PathLike | str, mark: bytes, data: bytes) -> None:
    """Write bytes behind a mark and their checksum; where they cannot be written a RuntimeWarning says why."""
    try:
        with replacing(path, durable=False) as stream:
            stream.write(mark + hashlib.sha256(data).digest() + data)
    except OSError as error:
        warnings.warn(f"the cache cannot be written: {error}", RuntimeWarning, stacklevel=3)

"""Files that are written whole or not at all.

    with replacing("net.ckpt") as stream: stream.write(..)         an error leaves the old file as it was
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replacing(path: os.PathLike | str, durable: bool = True) -> Iterator[Any]:
    """Yield a binary file that takes the place of `path` when the block has ended; folders are made.

    durable : it is on the disk before it takes the place; False for caches, which can be made anew
    raises  : OSError
    """
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    beside = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        with open(beside, "xb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise

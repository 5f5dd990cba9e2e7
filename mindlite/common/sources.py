"""Which sources are these? What is cached on the disk is keyed by the text of the code that made it.

    sources_hash("common", "backend")      two rooms of mindlite          sources_hash()      all of it
"""
from __future__ import annotations

import functools
import os

from .lazy import LazyModule

hashlib = LazyModule("hashlib")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources_hash(*rooms: str) -> str:
    """A hash of the Python files of some rooms (folders of mindlite), by default of all."""
    hashes = [folder_hash(os.path.join(ROOT, room)) for room in rooms or _rooms()]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


@functools.lru_cache(maxsize=None)
def folder_hash(folder: str) -> str:
    """A hash of the Python files below a folder, or of one file; where there are none, another one in each process."""
    found, count = hashlib.sha256(), 0
    for path in _files(folder):
        with open(path, "rb", buffering=0) as file:
            text = file.read()
        found.update(f"{path[len(folder):]} {len(text)}\n".encode() + text)
        count += 1
    return found.hexdigest() if count else os.urandom(16).hex()


@functools.lru_cache(maxsize=None)
def _rooms() -> list[str]:
    with os.scandir(ROOT) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("__") or e.name.endswith(".py"))


def _files(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
                  if name.endswith(".py"))

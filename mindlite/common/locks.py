"""Locks that a forked process finds free.

    _lock = new_lock()            with _lock: ..

Threads compile beside the program (`pynative/beside.py`, `backend/ahead.py`) and launch kernels, and a program may fork at any
moment: the worker processes of a dataset are forks. The child has none of these threads, so what one of them held would be
held for ever. There each lock begins anew, as those of Python's `logging` and `threading` do. What a lock guards are
dicts and counters, which a fork finds whole; LLVM is no such thing, and has a lock of its own (`backend/object_code.py`).
"""
import os
import threading
import weakref
from typing import Any

_locks: weakref.WeakSet = weakref.WeakSet()


def new_lock() -> Any:
    """A threading.RLock that is free in a forked process."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _in_child() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

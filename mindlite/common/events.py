"""Events and counters: any room may emit, only profiler, debug and tests listen.

    emit("compile", name="f", seconds=0.2)          counters["compile"] += 1, listeners are called
"""
from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

from .annotations import Function
from .locks import new_lock

counters: collections.Counter = collections.Counter()
_listeners: list = []
_lock = new_lock()                               # += on a Counter is several steps


def emit(event: str, **fields: Any) -> None:
    """Count `event` and hand it to every listener."""
    with _lock:
        counters[event] += 1
    for listener in tuple(_listeners):
        listener(event, fields)


def is_heard() -> bool:
    """True while somebody listens: what costs something to describe is described only then."""
    return bool(_listeners)


@contextlib.contextmanager
def listen(listener: Function) -> Iterator[Any]:
    """Call `listener(event, fields)` for every event inside the `with` block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def counting() -> Iterator[Any]:
    """Yield a Counter that, after the block, holds how often each event came inside it."""
    before = counters.copy()
    inside: collections.Counter = collections.Counter()
    try:
        yield inside
    finally:
        inside.update(counters - before)

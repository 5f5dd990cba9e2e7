"""Facts about sizes that inference needs and cannot prove: collected, and checked before any kernel runs.

    broadcasting f32[N] with f32[M] assumes N == M; a call where it does not hold is compiled anew for its own sizes
"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from ..common.annotations import Function
from ..common.dim import Size, UnknownValueError, compare
from ..common.errors import Refusal, ShapeError
from ..common.location import Location
from ..common.records import dataclass


@dataclass(frozen=True)
class Constraint:
    """left `op` right must hold; `error` is raised, placed at `location`, if it does not."""
    op: str
    left: Any
    right: Any
    error: Any
    location: Location | None = None


class _Collectors(threading.local):
    def __init__(self) -> None:
        self.stack: list = []


_collectors = _Collectors()


@contextlib.contextmanager
def collecting(into: list | None = None) -> Iterator[Any]:
    """Yield the list to which unproven requirements inside the block are added. into: a list, for one that looks at them"""
    _collectors.stack.append([] if into is None else into)
    try:
        yield _collectors.stack[-1]
    finally:
        _collectors.stack.pop()


def add(constraint: Constraint) -> None:
    """Hand a Constraint on to the block that collects now."""
    _collectors.stack[-1].append(constraint)


@contextlib.contextmanager
def sizes_may_be_asked(node: Any) -> Iterator[None]:
    """Inside, a rule of this node's operator is followed. raises : Refusal where it has to know a size that is open"""
    try:
        yield
    except UnknownValueError as error:
        raise Refusal(f"{node.fn.name}: {error}", None, node.origin.location) from error


def require(op: str, left: Size, right: Size, make_error: Function) -> None:
    """Demand `left op right` of ints or Dims: raise `make_error()` where it is false, remember it where it is open."""
    known = compare(op, left, right)
    if known is False:
        raise make_error()
    if known is None:
        if not _collectors.stack:
            raise ShapeError(f"cannot show that {left} {op} {right}")
        add(Constraint(op, left, right, make_error()))


def decide_equal(left: Size, right: Size, make_error: Function) -> bool:
    """left == right, for a choice that the graph is built on.

    Where the answer depends on an open size, the graph is built for different sizes: a call in which they are equal is
    compiled anew.
    """
    if compare("==", left, right):
        return True
    require("!=", left, right, make_error)
    return False

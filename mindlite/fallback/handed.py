"""What Python code is given of a graph, watched: does it change a Tensor in place?

    np.add(x.asnumpy(), 1.0, out=x.asnumpy())          x is 1 more in Python; a graph has given copies of x

The values of a graph do not change, so such a function is Python's as a whole. It is found out by comparing: around
each call of Python, all that was given to this and to earlier ones and still is there.
"""
from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Iterable, Sequence
from types import CellType
from typing import Any

import numpy as np

from ..common.tensor import Tensor

Held = list[tuple[np.ndarray, np.ndarray]]      # arrays, and what they held or are to hold
Lendings = Sequence[tuple[Tensor, np.ndarray]]


class Handed:
    """The arrays of Tensors that Python code was given and may have kept, as long as they are there."""

    def __init__(self) -> None:
        self.arrays: dict[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}        # by id; what it held

    def give(self, array: np.ndarray, content: np.ndarray | None = None) -> None:
        """Watch this one too; content: a copy of what it holds."""
        key = id(array)
        self.arrays[key] = weakref.ref(array, lambda _: self.arrays.pop(key, None)), array.copy() if content is None else content

    def refresh(self) -> None:
        """What they hold now is what they are to hold."""
        for array, _ in self.alive():
            self.give(array)

    def alive(self) -> Held:
        """[(array, what it held)]"""
        found = [(each(), content) for each, content in list(self.arrays.values())]
        return [(array, content) for array, content in found if array is not None]


class Lent:
    """The Tensors that one call of Python is given, copies of a graph's values. pairs: (Tensor, the array it is a copy of)"""

    def __init__(self, pairs: Lendings) -> None:
        self.pairs, self.counts = pairs, self.count(pairs)

    @staticmethod
    def count(pairs: Lendings) -> list[tuple[int, int]]:
        """How many refer to each Tensor, and to each array."""
        return [(sys.getrefcount(pair[0]), sys.getrefcount(pair[0].host_array)) for pair in pairs]

    def kept(self) -> Held:
        """[(array, what it was a copy of)] of those to which more refer than before the call."""
        counts = self.count(self.pairs)
        return [(pair[0].host_array, pair[1]) for pair, before, after in zip(self.pairs, self.counts, counts) if after > before]

    def held(self) -> Held:
        """[(array, what it is to hold)]"""
        return [(tensor.host_array, original) for tensor, original in self.pairs]


def changed(held: Held) -> Held:
    """[(array, what it holds)] of those that do not hold what they are to hold."""
    return [(array, array.copy()) for array, content in held if not same(array, content)]


def restore(held: Held) -> None:
    """The arrays hold what they are to hold."""
    for array, content in held:
        array[...] = content


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays hold the same bits."""
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return a.tobytes() == b.tobytes()
    word = np.uint64 if a.nbytes % 8 == 0 else np.uint8
    return bool((a.reshape(-1).view(word) == b.reshape(-1).view(word)).all())


def tensors_in(value: Any, without: Iterable[int] = (), objects: bool = True) -> list[Tensor]:
    """The Tensors in a value, each once, in order: through containers and methods.

    without : ids of values that are left out
    objects : through functions, their closures (or what their attribute `reaches` says in place of these) and the attributes of
              objects, too
    """
    found: list[Tensor] = []
    seen, waiting = set(without), [value]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, dict):
            waiting += [*value, *value.values()][::-1]
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += [*value][::-1]
        elif isinstance(value, slice):
            waiting += [value.step, value.stop, value.start]
        elif isinstance(value, (types.MethodType, types.BuiltinMethodType)):
            waiting.append(value.__self__)
        elif isinstance(value, functools.partial):
            waiting += [value.keywords, value.args, *([value.func] if objects else [])]
        elif not objects:
            continue
        elif isinstance(value, types.FunctionType):
            waiting += [*getattr(value, "reaches", value.__closure__ or ())][::-1]
        elif isinstance(value, types.CellType):
            waiting += _content(value)
        elif not isinstance(value, (type, types.ModuleType)) and isinstance(getattr(value, "__dict__", None), dict):
            waiting.append(value.__dict__)
    return found


def _content(cell: CellType) -> list:
    try:
        return [cell.cell_contents]
    except ValueError:                                       # it is empty
        return []


def alike(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays hold the same, once computed by compiled code and once by Python."""
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-5, equal_nan=True)

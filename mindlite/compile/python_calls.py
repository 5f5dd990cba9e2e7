"""What a Flow calls in Python: from the numbers in its registers to values and back, and what it raises.

    PythonCall(np.sort, (f32[N],), (f32[N],), objects)(pointer, 3)      ->  (pointer of the sorted array, 3)

Plain classes, not closures: what their fields hold can be written to a file (`flow_file.py`).
"""
from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..common.dim import Dim, product
from ..common.dtype import DType
from ..common.errors import MindliteError, Passed, Signal, Stage
from ..common.ranks import Arrays, address, engine
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..fallback.log import current_log
from ..mindir.abstract import Abstract, AbstractAny, AbstractTensor, map_dims
from ..mindir.primitive import Primitive, eval_rule


class Objects(threading.local):
    """Python objects of the runs that are going on in this thread, by number: what registers of AbstractAny values hold.

    Arrays that segments gave live here until the run ends; a run inside a run has its own numbers.
    """

    def __init__(self) -> None:
        self.runs: list[list] = [[]]

    @contextlib.contextmanager
    def running(self) -> Iterator[list]:
        """A run: its list of objects, which ends with it, also where a traceback still knows the list."""
        self.runs.append([])
        try:
            yield self.runs[-1]
        finally:
            self.runs.pop().clear()

    @property
    def items(self) -> list:
        """The objects of the innermost run."""
        return self.runs[-1]

    def add(self, value: Any) -> int:
        """Keep `value`; its number."""
        self.runs[-1].append(value)
        return len(self.runs[-1]) - 1


@dataclass(frozen=True, eq=False)
class PythonCall:
    """function(*values), called with registers: it takes and gives Tensors, numbers and objects, as the abstracts say.

    given   : the abstracts of the operands; a tensor is a pointer and then its sizes
    gives   : those of the results          objects: where what it gives lives until the run ends
    arrays  : it takes arrays in place of Tensors, and only computes;   borrowed: how many of the last are not copied
    """
    function: Callable[..., Any]
    given: tuple[Any, ...]
    gives: tuple[Abstract, ...]
    objects: Objects
    arrays: bool = False
    borrowed: int = 0

    def __call__(self, *registers: int) -> tuple:
        values: list[Any] = []
        at, lent = 0, []
        for number, abstract in enumerate(self.given):
            register, at = registers[at], at + 1
            if isinstance(abstract, AbstractTensor):
                shape, at = registers[at:at + abstract.ndim], at + abstract.ndim
                array = array_at(register, abstract.dtype, shape)
                own = number < len(self.given) - self.borrowed
                values.append(array.copy() if own else array)
                if not self.arrays:
                    values[-1] = Tensor.wrap(values[-1])
                    lent += [(values[-1], array)] if own else []
            elif isinstance(abstract, AbstractAny):
                values.append(self.objects.items[register])
            else:
                values.append(abstract.type(register))
        log = current_log()
        if log is not None:
            log.lent = lent
        try:
            given = self.function(*values)
        except (MindliteError, Signal):
            raise
        except Exception as error:
            if self.arrays:                                  # an Evaluation tells its own from the operator's
                raise
            raise Passed(error) from error
        given = given if isinstance(given, tuple) else (given,)
        results = []
        for value, abstract in zip(given, self.gives):
            if isinstance(abstract, AbstractTensor):
                array = np.asarray(value.host_array if isinstance(value, Tensor) else value, abstract.dtype.numpy, order="C")
                self.objects.add(array)
                results += [array.ctypes.data, *array.shape]
            elif isinstance(abstract, AbstractAny):
                results.append(self.objects.add(value))
            else:
                results.append(value)
        return tuple(results)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The eval rule of an operator that has no kernel. sizes: the Dims among its attributes; their values come last."""
    primitive: Primitive
    attrs: dict[str, Any]
    sizes: tuple[Dim, ...]

    def __call__(self, *values: Any) -> Any:
        with Stage("run"):
            return self.compute(*values)

    def compute(self, *values: Any) -> Any:
        """What the eval rule gives for these values, those of the sizes last."""
        count = len(values) - len(self.sizes)
        known = dict(zip(self.sizes, values[count:]))
        attrs = {name: map_dims(known.__getitem__, value) for name, value in self.attrs.items()}
        try:
            return eval_rule[self.primitive](*values[:count], **attrs)
        except MindliteError:
            raise
        except Exception as error:                           # what the operator says of these values
            raise Passed(error) from error


@dataclass(frozen=True, eq=False)
class OpenWindow:
    """The operator open_window without arrays in between: () -> (number of the Window, where each of its arrays is)."""
    shapes: tuple[tuple[int, ...], ...]
    dtype: DType
    group: tuple[int, ...]
    objects: Objects

    def __call__(self) -> tuple[int, ...]:
        window = engine().open_window(self.shapes, self.dtype.numpy, self.group)
        return (self.objects.add(window), *window.mine.places)


@dataclass(frozen=True, eq=False)
class ReadWindow:
    """The operator read_window: (number of the Window, where this rank's arrays are) -> where those of all ranks are."""
    shapes: tuple[tuple[int, ...], ...]
    dtype: DType
    group: tuple[int, ...]
    objects: Objects

    def __call__(self, number: int, *pointers: int) -> tuple[int, ...]:
        window = self.objects.items[number]
        arrays: list[np.ndarray] = window.mine
        if pointers != window.mine.places:
            arrays = [mine if pointer == place else array_at(pointer, self.dtype, shape) for mine, place, pointer, shape
                      in zip(window.mine, window.mine.places, pointers, self.shapes)]
        with Stage("run"):
            theirs = engine().read_window(window, arrays, self.group)
        self.objects.add(theirs)
        return theirs.places if isinstance(theirs, Arrays) else tuple([address(array) for array in theirs])


def is_operator(function: Any) -> bool:
    """True for what computes an operator of the graph, false for a piece of the user's Python."""
    return isinstance(function, (OpenWindow, ReadWindow)) or isinstance(function, PythonCall) and function.arrays


@dataclass(frozen=True, eq=False)
class Failure:
    """What a Check raises: error(*values), each value of its type."""
    error: Callable[..., Exception]
    types: tuple[type, ...] = ()

    def __call__(self, *values: Any) -> Exception:
        return self.error(*[kind(value) for kind, value in zip(self.types, values)])


def array_at(pointer: int, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The memory at a pointer as an ndarray."""
    nbytes = product(shape) * dtype.itemsize
    if not nbytes:
        return np.empty(shape, dtype.numpy)
    return np.frombuffer((ctypes.c_char * nbytes).from_address(pointer), dtype.numpy).reshape(shape)

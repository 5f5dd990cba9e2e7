"""What Python code is given of a graph, watched: does it change a Tensor in place?

    np.add(x.asnumpy(), 1.0, out=x.asnumpy())          x is 1 more in Python; a graph has given copies of x

The values of a graph do not change, so such a function is Python's as a whole. It is found out by comparing: around
each call of Python, all that was given to this and to earlier ones and still is there.
"""
import functools
import types
import weakref

import numpy as np

from ..common.tensor import Tensor


class Handed:
    """The arrays of Tensors that Python code was given in a run, as long as they are there."""

    def __init__(self):
        self.arrays = {}                                     # {id: a weak reference to the array}

    def give(self, tensors):
        """Watch these too."""
        for tensor in tensors:
            key = id(tensor.array)
            if key not in self.arrays:
                self.arrays[key] = weakref.ref(tensor.array, lambda _, key=key: self.arrays.pop(key, None))

    def contents(self):
        """{id: (the array, its bytes)} now."""
        alive = [(key, each()) for key, each in list(self.arrays.items())]
        return {key: (array, array.tobytes()) for key, array in alive if array is not None}

    @staticmethod
    def changed(before):
        """[(array, what it holds)] of those that hold something else than in `before`, earlier contents."""
        return [(array, array.copy()) for array, held in before.values() if array.tobytes() != held]

    @staticmethod
    def restore(before):
        """The arrays hold what they held."""
        for array, held in before.values():
            array[...] = np.frombuffer(held, array.dtype).reshape(array.shape)


def tensors_in(value):
    """The Tensors in a value, each once, in order: through containers, methods, closures and attributes of objects."""
    found, seen, waiting = [], set(), [value]
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
            waiting += [value.keywords, value.args, value.func]
        elif isinstance(value, types.FunctionType):
            waiting += [cell for cell in value.__closure__ or ()][::-1]
        elif isinstance(value, types.CellType):
            waiting += _content(value)
        elif not isinstance(value, (type, types.ModuleType)) and isinstance(getattr(value, "__dict__", None), dict):
            waiting.append(value.__dict__)
    return found


def _content(cell):
    try:
        return [cell.cell_contents]
    except ValueError:                                       # it is empty
        return []


def alike(a, b):
    """True if two arrays hold the same, once computed by compiled code and once by Python."""
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-5, equal_nan=True)

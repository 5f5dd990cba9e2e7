"""From a Python call to machine code without ctypes: a builtin function of CPython (its code: entry_code.py).

    call = Entry(run, context, count, items).call;  call(x, y, out)   ->  data pointers into the context, then run(context)

Reading an address through `array.ctypes` costs 0.5 us an array, calling through ctypes 0.2 us and more; here both take
some 20 ns, because the code reads the fields of ndarray objects themselves, where `layouts` has found them. Without a
layout `available()` is False.

A *plan* is a vector of int64:

    0 address of i64 run(ptr)   1 address of the context   2 how many arguments   3 how many items   4 1 if it is brief
    5... items of WIDTH

and an item says where a pointer comes from and where it goes:

    0 kind   1 number of the argument, or address of the object   2 its class   3 descr   4 ndim   5 sizes   6 slot

Kinds: TENSOR, an argument whose `host_array` is looked at; HELD, a Tensor that is known beforehand (a Parameter); ARRAY, an
argument that is an ndarray. The items are checked against type, descr, ndim, sizes and contiguity before anything runs.
"""
import functools

import numpy as np

from ..common.tensor import Tensor
from .layouts import VARARGS_FAST, available, builtin, layout, slots_of
from .low_python import LowModule, source_of

__all__ = ["ARRAY", "Entry", "HELD", "MISFIT", "TENSOR", "available", "item"]
TENSOR, HELD, ARRAY = 0, 1, 2
HEAD, WIDTH = 5, 7
MISFIT = -1                  # returned when the arguments are not what the plan expects: nothing has run


@functools.lru_cache(maxsize=None)
def _code():
    slot = slots_of(Tensor, ("host_array",))["host_array"]
    module = LowModule(source_of(__file__, "array_code", "entry_code"), {
        **layout(), "SLOT": slot, "HELD": HELD, "ARRAY": ARRAY, "HEAD": 8 * HEAD, "WIDTH": 8 * WIDTH, "MISFIT": MISFIT},
        {"NDARRAY": 1}, "entry")
    module.set("NDARRAY", id(np.ndarray))
    return module


def item(kind, source, owner, dtype, shape, slot):
    """(the numbers of an item, what must be kept): the pointer of such an array goes to `slot` of the context.

    source : the number of the argument, or for HELD the Tensor     owner : the class of the object
    dtype, shape : of the array, as NumPy has them
    """
    sizes = np.array(shape or (0,), np.int64)
    number = id(source) if kind == HELD else source
    return [kind, number, id(owner), id(dtype), len(shape), sizes.ctypes.data, slot], (sizes, dtype, owner, source)


class Entry:
    """A plan with its builtin: `call(*args)` is 0, another status of the Flow, or MISFIT. Machine code calls `code_address` with
    `plan_address`, the arguments and their count.

    run, context : addresses of the code and of its context
    count, items : how many arguments it takes, and what `item` made
    brief        : the run is so short that other threads of Python wait until it ends
    """

    def __init__(self, run, context, count, items, brief=False):
        flat = [number for numbers, _ in items for number in numbers]
        self.plan = np.array([run, context, count, len(items), brief, *flat], np.int64)
        self.code_address, self.plan_address = _code().address("run_entry"), int(self.plan.ctypes.data)
        self.call, method = builtin("run", _code().address("enter"), VARARGS_FAST, self.plan_address)
        self.keep = [kept for _, kept in items], method

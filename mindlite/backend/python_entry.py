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
AWAY + one of these: the elements lie on a device, a DeviceArray stands for them; 4 and 5 are the Device and the tuple of sizes.
"""

import numpy as np

from ..common.device import Device
from ..common.once import once
from ..common.storage import DeviceArray
from ..common.tensor import Tensor
from .layouts import VARARGS_FAST, available, builtin, layout, slots_of
from .low_python import LowModule, source_of

__all__ = ["ARRAY", "AWAY", "Entry", "HELD", "MISFIT", "TENSOR", "available", "item", "prepare"]
TENSOR, HELD, ARRAY = 0, 1, 2
AWAY = 4
HEAD, WIDTH = 5, 7
MISFIT = -1                  # returned when the arguments are not what the plan expects: nothing has run


@once
def _code():
    slots = slots_of(Tensor, ("host_array", "away"))
    away = {f"AWAY_{name.upper()}": offset for name, offset in slots_of(DeviceArray, DeviceArray.__slots__).items()}
    module = LowModule(source_of(__file__, "array_code", "entry_code"), {
        **layout(), **away, "SLOT": slots["host_array"], "AWAY_SLOT": slots["away"], "AWAY": AWAY, "HELD": HELD, "ARRAY": ARRAY,
        "HEAD": 8 * HEAD, "WIDTH": 8 * WIDTH, "MISFIT": MISFIT}, {"NDARRAY": 1, "DEVICE_ARRAY": 1}, "entry")
    module.set("NDARRAY", id(np.ndarray))
    module.set("DEVICE_ARRAY", id(DeviceArray))
    return module


@once
def _addresses():
    """Those of what machine code calls, and of the two builtins."""
    return [_code().address(name) for name in ("run_entry", "fit_entry", "enter", "fit")]


def prepare():
    """Make or load now what the first Entry needs, where there can be one: what compiles beside a run does not leave it that."""
    if available():
        _addresses()


def item(kind, source, owner, dtype, shape, slot, device: Device | None = None):
    """(the numbers of an item, what must be kept): the pointer of such an array goes to `slot` of the context.

    source : the number of the argument, or for HELD the Tensor     owner : the class of the object
    dtype, shape : of the array, as NumPy has them          device : where a DeviceArray lies
    """
    if device is not None:
        number = id(source) if kind == HELD else source
        numbers = [kind + AWAY, number, id(owner), id(dtype), id(device), id(shape), slot]
        return numbers, (shape, dtype, owner, source, device)
    sizes = np.array(shape or (0,), np.int64)
    number = id(source) if kind == HELD else source
    return [kind, number, id(owner), id(dtype), len(shape), sizes.ctypes.data, slot], (sizes, dtype, owner, source)


class Entry:
    """A plan with its builtins: `call(*args)` is 0, another status of the Flow, or MISFIT; `fits(*args)`, of the first arguments,
    is True if they are as expected, and nothing runs. Machine code calls `code_address` and `fit_address` with
    `plan_address`, the arguments and their count.

    run, context : addresses of the code, a C function, and of its context
    count, items : how many arguments it takes, and what `item` made
    brief        : the run is so short that other threads of Python wait until it ends
    """

    def __init__(self, run, context, count, items, brief=False):
        flat = [number for numbers, _ in items for number in numbers]
        self.plan = np.array([run, context, count, len(items), brief, *flat], np.int64)
        self.code_address, self.fit_address, enter, fit = _addresses()
        self.plan_address = int(self.plan.ctypes.data)
        self.call, method = builtin("run", enter, VARARGS_FAST, self.plan_address)
        self.fits, other = builtin("fits", fit, VARARGS_FAST, self.plan_address)
        self.keep = [kept for _, kept in items], method, other

"""What the names in a kernel's text for `numba.cuda` mean: numbers of our dtypes, and functions of them (`numba_source`).

    from mindlite.backend.cuda.numba_functions import exp, float32, maximum

Numba reads this module where it is installed, and only then is it imported. In Numba's simulator (NUMBA_ENABLE_CUDASIM=1) the
names are NumPy's; for a GPU they are Numba's types, CUDA's libdevice and the functions below as device functions. Integers are
NumPy's: they wrap in their own dtype, `//` and `%` floor and are 0 where the divisor is 0; the text says each conversion.
"""
import math
from typing import Any

import numpy as np
from numba import config, cuda

from ...common import dtype as dt

SIMULATED = bool(getattr(config, "ENABLE_CUDASIM"))

# Functions of CUDA's libdevice: {name in a text: (of numbers of NumPy, of a GPU)}.
LIBRARY = {name: (name, f"math.{name}") for name in (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot", "fabs",
    "copysign", "fmod", "isnan", "isinf", "isfinite")}
LIBRARY |= {name + end: (name, f"libdevice.{name}{end}") for name in ("floor", "ceil", "trunc", "rint", "exp2")
            for end in ("", "f")}
LIBRARY |= {f"a{name}": (f"arc{name}", f"math.a{name}") for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")}
LIBRARY["pow"] = "power", "math.pow"


def device(function: Any) -> Any:
    """A function that kernels call. The simulator's threads are Python's and call it as it is."""
    return function if SIMULATED else cuda.jit(device=True)(function)


class _Number:
    """A dtype in the simulator: called, it converts; `dtype` is what memory of it has."""

    def __init__(self, dtype):
        self.dtype, self.register = dtype.numpy, dtype.compute.numpy if dtype.is_small else dtype.numpy

    def __call__(self, x):
        return self.register.type(np.asarray(x).astype(self.dtype)) if self.dtype != self.register else \
            np.asarray(x).astype(self.dtype)[()]


@device
def where(condition, a, b):
    """a or b."""
    return a if condition else b


@device
def maximum(a, b):
    """The larger one; a NaN wins."""
    return a if a > b or a != a else b


@device
def minimum(a, b):
    """The smaller one; a NaN wins."""
    return a if a < b or a != a else b


@device
def exceeds(value, held):
    """Does a value take the place of the one that argmax holds? The first NaN does."""
    return (value > held or value != value) and held == held


@device
def undercuts(value, held):
    """Does a value take the place of the one that argmin holds?"""
    return (value < held or value != value) and held == held


@device
def sign(x):
    """-1, 0 or 1; a NaN is one."""
    return x if x != x else (1 if x > 0 else -1 if x < 0 else 0)


@device
def integer_sign(x):
    """-1, 0 or 1 of an integer."""
    return 1 if x > 0 else -1 if x < 0 else 0


@device
def integer_abs(x):
    """The magnitude of an integer."""
    return -x if x < 0 else x


@device
def floor_divide(a, b):
    """Quotient of integers, rounded down; 0 where b is 0."""
    return a // b if b != 0 else a - a


@device
def remainder(a, b):
    """a - a // b * b of integers; 0 where b is 0."""
    return a % b if b != 0 else a - a


@device
def float_remainder(a, b):
    """The remainder that has the sign of b."""
    rest = math.fmod(a, b) if a - a == 0 and b != 0 else math.nan
    if rest != 0:
        return rest + b if (b < 0) != (rest < 0) else rest
    return math.copysign(0.0, b)


@device
def float_floor_divide(a, b):
    """The quotient rounded down, as NumPy has it."""
    if b == 0:
        return a / b
    quotient = (a - float_remainder(a, b)) / b
    near = math.floor(quotient) if quotient - quotient == 0 else quotient
    return near + 1.0 if quotient - near > 0.5 else near * 1.0


@device
def integer_pow(a, exponent):
    """a ** exponent of integers; 0 for a negative exponent."""
    out, base = a - a + (0 if exponent < 0 else 1), a
    while exponent > 0:
        if exponent % 2 == 1:
            out = out * base
        base, exponent = base * base, exponent // 2
    return out


@device
def shifted_left(a, b, bits):
    """a << b; 0 where no bit is left."""
    return a << b if 0 <= b < bits else a - a


@device
def shifted_right(a, b, bits):
    """a >> b; the sign where no bit is left."""
    return a >> (b if 0 <= b < bits else b - b + bits - 1)


@device
def shifted_out(a, b, bits):
    """a >> b without a sign; 0 where no bit is left."""
    return a >> b if b < bits else a - a


@device
def threads_for(length, threads):
    """How many threads share a row: the power of two from its length on, at most those of a block."""
    size = 1
    while size < length and size < threads:
        size *= 2
    return size


WRITTEN = {"where": where, "maximum": maximum, "minimum": minimum, "exceeds": exceeds, "undercuts": undercuts, "sign": sign,
           "integer_sign": integer_sign, "integer_abs": integer_abs, "floor_divide": floor_divide, "remainder": remainder,
           "float_remainder": float_remainder, "float_floor_divide": float_floor_divide, "integer_pow": integer_pow,
           "shifted_left": shifted_left, "shifted_right": shifted_right, "shifted_out": shifted_out, "threads_for": threads_for,
           "cuda": cuda, "inf": math.inf, "nan": math.nan}


def _simulated() -> dict[str, Any]:
    """The names in the simulator."""
    names: dict[str, Any] = {d.name: _Number(d) for d in dt.ALL if d.kind != "c"}
    names |= {name: getattr(np, numpy) for name, (numpy, _) in LIBRARY.items()}
    return names | WRITTEN | {"erf": lambda x: type(x)(math.erf(x)), "erfc": lambda x: type(x)(math.erfc(x))}


def _compiled() -> dict[str, Any]:
    """The names for a GPU."""
    from numba.cuda import libdevice, types
    homes = {"math": math, "libdevice": libdevice}
    names: dict[str, Any] = {d.name: getattr(types, {"bool": "boolean"}.get(d.name, d.name)) for d in dt.ALL
                             if d.kind != "c" and not d.is_small}
    for name, (_, there) in LIBRARY.items():
        home, of_home = there.split(".")
        names[name] = getattr(homes[home], of_home)
    half, single = (getattr(types, name) for name in ("float16", "float32"))

    def float16(x):
        """A number that was rounded to half."""
        return single(half(single(x)))
    return names | WRITTEN | {"float16": device(float16), "erf": math.erf, "erfc": math.erfc}


NAMES = _simulated() if SIMULATED else _compiled()


def __getattr__(name: str) -> Any:
    """The meaning of a name of a text."""
    if name not in NAMES:
        raise AttributeError(f"{name} has no meaning in a kernel for numba.cuda")
    return NAMES[name]

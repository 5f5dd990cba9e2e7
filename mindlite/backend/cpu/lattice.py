"""Sums over the paths through a lattice, and its linear recurrence: `ops/lattice.py` says what they are.

A step needs all of the one before. So the loop over states is inside, where neighbours make a vector, and sequences are shared
out.
"""
from ...common.dtype import dtype as to_dtype
from ..printers import math_functions, values
from ..target import current
from .native import Value, compute_type, kernel_of, kernel_writer

DTYPES = ("float32", "float64")
KINDS = ("paths", "forward", "backward")


def lattice_kernel(dtype, kind, nothing=0.0, target=None):
    """The kernel of one of KINDS for `dtype`; None where DTYPES has no such row.

    args : "paths": [scores[T, N, S], barrier[N, S], out[T, N, S], T, N, S]
           "forward", "backward" (reverse): [stay, step, jump, d, out, all [T, N, S], T, N, S]
    [begin, end) : sequences, of which there are N
    nothing      : what the logarithms of "paths" are at least
    """
    if not has_lattice(dtype):
        return None
    return kernel_of(write_lattice, to_dtype(dtype), kind, float(nothing), target=target or current())


def has_lattice(dtype):
    """Whether there are kernels for `dtype`."""
    return to_dtype(dtype).name in DTYPES


@kernel_writer(lambda dtype, kind, nothing: f"lattice_{kind}_{dtype.short}")
def write_lattice(f, dtype, kind, nothing):
    """The kernel. Products and sums round one by one, as in NumPy."""
    f.fastmath = ()
    number = 2 if kind == "paths" else 4
    operands = [f.array(dtype, f.arg(i)) for i in range(number)]
    out = f.array(dtype, f.arg(number))
    times, batch, states = (f.arg(number + 1 + i) for i in range(3))
    nothing = f.number(compute_type(dtype), nothing)

    def function(name, x):
        return Value(f, math_functions.apply(name, values.Value(f.builder, x.ir)).ir)

    def at_least_nothing(x):
        return f.select(x < nothing, nothing, x)             # NaN stays

    def of_paths(here, before, n, s, ways):
        """scores[here + s] and what comes from the first `ways` of the three states before."""
        reach = [out[before + s - k] for k in range(ways)]
        if ways == 3:
            reach[2] = reach[2] + operands[1][n * states + s]
        most = reach[0]
        for x in reach[1:]:
            most = f.select(x > most, x, most)
        total = None
        for x in reach:
            part = function("exp", x - most)
            total = part if total is None else total + part
        return at_least_nothing(operands[0][here + s] + (most + function("log", total)))

    def of_numbers(here, before, n, s, ways):
        total = operands[3][here + s]
        for k in range(ways):
            if kind == "forward":
                total = total + operands[k][here + s] * out[before + s - k]
            else:
                total = total + operands[k][before + s + k] * out[before + s + k]
        return total

    cell = of_paths if kind == "paths" else of_numbers
    with f.loop(f.begin, f.end) as n:
        with f.when(times > 0):
            first = ((times - 1) * batch + n) * states if kind == "backward" else n * states
            with f.loop(0, states) as s:
                start = operands[0 if kind == "paths" else 3][first + s]
                out[first + s] = at_least_nothing(start) if kind == "paths" else start
        with f.loop(1, times) as step:
            t = times - 1 - step if kind == "backward" else step
            here = (t * batch + n) * states
            before = here + batch * states if kind == "backward" else here - batch * states
            for ways in (1, 2):                              # the states at the end from which paths come, which have fewer ways
                with f.when(states >= ways):
                    s = states - ways if kind == "backward" else f.number(states.ir.type, ways - 1)
                    out[here + s] = cell(here, before, n, s, ways)
            low, high = (0, states - 2) if kind == "backward" else (2, states)
            with f.loop(low, high) as s:
                out[here + s] = cell(here, before, n, s, 3)

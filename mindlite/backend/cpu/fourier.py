"""Discrete Fourier transforms along one axis by pocketfft, as NumPy brings it: its ufuncs' loops at their addresses.

    complex   out[k] = s sum_j x[j] exp(-2 pi i j k / n)        inverse: exp(+2 pi i j k / n)
    of_real   the same of real numbers: the second half of the results are conjugates of the first
    half      the first n // 2 + 1 results of real numbers
    to_real   the real sum over n results of which the first n // 2 + 1 are given, and the others are their conjugates

s is 1, 1 / n or 1 / sqrt(n). weighted: the transposes. `half` counts results that stand for two, those between the first and
the middle, twice; `to_real` counts such numbers half.

source : Cooley and Tukey 1965; M. Reinecke, pocketfft
"""
from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...common.dtype import DType, DTypeLike, dtype as to_dtype, int64
from ...common.errors import InternalError
from ...common.lazy import LazyModule
from ..kernel import Kernel
from ..layouts import ufunc_loop
from ..target import Target, current
from .native import F64, I64, LIBRARIES, PTR, VOID, Array, Code, Value, compute_type, kernel_of, kernel_writer

numpy_loops = LazyModule("numpy.fft._pocketfft_umath")
LETTERS = {"float32": "f", "float64": "d"}
SCALES = ("sum", "mean", "ortho")


@functools.cache
def find_loop(function: str, letter: str) -> tuple[int, int] | None:
    """(the address of a loop, that of its data) of one of NumPy's functions; None where it has none (before NumPy 2)."""
    real, whole = letter, letter.upper()
    letters = {"fft": whole + real + whole, "ifft": whole + real + whole, "irfft": whole + real + real}
    try:
        return ufunc_loop(getattr(numpy_loops, function), letters.get(function, real + real + whole), numpy_loops)
    except (ImportError, AttributeError):
        return None


def _loop(function: str, letter: str) -> tuple[int, int]:
    loop = find_loop(function, letter)
    if loop is None:
        raise InternalError(f"NumPy has no loop {function} of {letter}")
    return loop


def _address(name: str, target: Target) -> int:
    """What a text names: `fft_f` is a loop, `data_fft_f` its data."""
    wanted = name.removeprefix("data_")
    function, _, letter = wanted.rpartition("_")
    return _loop(function, letter)[name != wanted]


LIBRARIES["mindlite_fourier_"] = _address


def functions_of(kind: str, inverse: bool) -> tuple[str, ...]:
    """The names of NumPy's functions for a kind: for even and odd sizes, where these differ."""
    if kind == "complex":
        return ("ifft" if inverse else "fft",)
    return ("irfft",) if kind == "to_real" else ("rfft_n_even", "rfft_n_odd")


def has_fourier(dtype: DTypeLike) -> bool:
    """Whether there are such kernels for real numbers of `dtype` and complex ones of them."""
    letter = LETTERS.get(to_dtype(dtype).name)
    return letter is not None and all(find_loop(name, letter) for name in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft"))


def fourier_kernel(kind: str, dtype: DTypeLike, inverse: bool, scale: str, weighted: bool, across: bool,
                   target: Target | None = None) -> Kernel | None:
    """The kernel of a transform along one axis; None for other dtypes and where NumPy has no such loops.

    args    : [x, out, n, lines, block]; complex numbers are pairs. Not across: lines of n numbers, one behind the other. Across:
              groups of `lines` lines side by side, n numbers of each
    dtype   : of the real numbers, or of the parts of the complex ones
    scale   : one of SCALES
    [begin, end) : blocks of lines, ceil(lines / block) in each group
    """
    if not has_fourier(dtype):
        return None
    letter = LETTERS[to_dtype(dtype).name]
    without_data = tuple(name for name in functions_of(kind, inverse) if not _loop(name, letter)[1])
    return kernel_of(write_fourier, kind, to_dtype(dtype), bool(inverse), scale, bool(weighted), bool(across), without_data,
                     target=target or current())


class Lines:
    """The lines of one block: what NumPy's loop is told of them, and loops over their numbers.

    x, out : Arrays of real numbers that begin with the block;     count: of the lines
    """

    def __init__(self, f: Code, dtype: DType, kind: str, across: bool) -> None:
        self.f, self.dtype, self.across = f, dtype, across
        self.n, self.lines, self.block = f.arg(2), f.arg(3), f.arg(4)
        self.half = self.n // 2 + 1
        self.taken = self.half if kind == "to_real" else self.n           # numbers of a line of x
        self.made = self.half if kind == "half" else self.n               # of one of the result
        self.parts = 1 if kind in ("of_real", "half") else 2, 1 if kind == "to_real" else 2

    def begin(self, item: Value) -> None:
        """The block of this number."""
        f = self.f
        blocks = (self.lines + self.block - 1) // self.block
        group, first = item // blocks, item % blocks * self.block
        self.count = f.minimum(self.lines - first, self.block)
        at = [group * self.lines * size + first * (1 if self.across else size) for size in (self.taken, self.made)]
        self.x, self.out = (f.array(self.dtype, f.arg(i) + start * parts * self.dtype.itemsize)
                            for i, (start, parts) in enumerate(zip(at, self.parts)))

    def steps(self, which: int) -> tuple[Any, Any]:
        """(from a line to the next, from a number to the next) of x or the result, in real numbers."""
        parts = self.parts[which]
        size = (self.taken, self.made)[which]
        return (parts, self.lines * parts) if self.across else (size * parts, parts)

    def at(self, which: int, line: Value, number: Any) -> Array:
        """The Array that begins with a number of a line."""
        along, between = self.steps(which)
        return (self.x, self.out)[which].at(line * along + number * between)

    @contextmanager
    def each(self, start: Any, stop: Any) -> Iterator[tuple[Value, Value]]:
        """Loops over (line, number), the contiguous one innermost."""
        f = self.f
        outer, inner = ((start, stop), (0, self.count)) if self.across else ((0, self.count), (start, stop))
        with f.loop(*outer) as i, f.loop(*inner) as j:
            yield (j, i) if self.across else (i, j)


def _call(f: Code, lines: Lines, names: tuple[str, ...], letter: str, factor: Array, without_data: tuple[str, ...]) -> None:
    """NumPy's loop for the lines of a block: `void loop(char **args, npy_intp *sizes, npy_intp *steps, void *data)`."""
    args, sizes, steps = f.room(int64, 3), f.room(int64, 3), f.room(int64, 5)
    itemsize = lines.dtype.itemsize
    (x_along, x_between), (out_along, out_between) = lines.steps(0), lines.steps(1)
    made = lines.n if len(names) == 1 else lines.half          # the loops of real numbers give half of them
    for array, values in ((args, (lines.x.address, factor.address, lines.out.address)), (sizes, (lines.count, lines.taken, made)),
                          (steps, (x_along * itemsize, 0, out_along * itemsize, x_between * itemsize, out_between * itemsize))):
        for place, value in enumerate(values):
            array[place] = value

    def call(name: str) -> None:
        loop = f.module.external(f"mindlite_fourier_{name}_{letter}", VOID, [PTR] * 4)
        data = f.number(I64, 0) if name in without_data else Value(
            f, f.module.external(f"mindlite_fourier_data_{name}_{letter}", VOID, []))
        f.call(loop, args.address, sizes.address, steps.address, data)
    if len(names) == 1:
        call(names[0])
        return
    with f.choose((lines.n % 2).equals(0)) as (even, odd):
        with even:
            call(names[0])
        with odd:
            call(names[1])


def _factor(f: Code, dtype: DType, scale: str, n: Value) -> Array:
    """s, in memory."""
    kind, memory = compute_type(dtype), f.room(dtype, 1)
    size = f.convert(n, kind)
    if scale == "ortho":
        size = f.call(f.module.external("sqrt" if kind is F64 else "sqrtf", kind, [kind]), size)
    memory[0] = f.number(kind, 1.0) if scale == "sum" else f.number(kind, 1.0) / size
    return memory


def _finish_half(f: Code, lines: Lines, kind: str, inverse: bool, weighted: bool) -> None:
    """What the loop for real numbers leaves to do: the other direction, the weights, the second half."""
    middle = (lines.n + 1) // 2                              # the numbers from 1 on to here stand for two
    if not (kind == "of_real" or inverse or weighted):
        return
    with lines.each(1, middle) as (line, k):
        number = lines.at(1, line, k)
        if weighted:
            number[0] = number[0] * 2
            number[1] = number[1] * 2
        if kind == "of_real":
            other = lines.at(1, line, lines.n - k)
            other[0] = number[0]
            other[1] = number[1] if inverse else -number[1]
        if inverse:
            number[1] = -number[1]


def _finish_real(f: Code, lines: Lines, inverse: bool, weighted: bool, factor: Array) -> None:
    """What the loop to real numbers leaves to do: half of the sum with the numbers that stand for one counted again, the other
    direction."""
    n = lines.n
    if weighted:
        even = (n % 2).equals(0)
        with lines.each(0, n) as (line, j):
            first, middle, made = lines.at(0, line, 0)[0], lines.at(0, line, n // 2)[0], lines.at(1, line, j)
            turned = f.select((j % 2).equals(0), middle, -middle)
            alone = first + f.select(even, turned, 0.0)
            made[0] = (made[0] + alone * factor[0]) * 0.5
    if not inverse:
        with lines.each(1, (n + 1) // 2) as (line, j):
            one, other = lines.at(1, line, j), lines.at(1, line, n - j)
            kept = one[0]
            one[0] = other[0]
            other[0] = kept


@kernel_writer(lambda kind, dtype, inverse, scale, weighted, across, without_data: f"fourier_{kind}_{dtype.short}_{scale}" +
               "_inverse" * inverse + "_weighted" * weighted + "_across" * across)
def write_fourier(f: Code, kind: str, dtype: DType, inverse: bool, scale: str, weighted: bool, across: bool,
                  without_data: tuple[str, ...]) -> None:
    """The kernel."""
    lines, letter = Lines(f, dtype, kind, across), LETTERS[dtype.name]
    factor = _factor(f, dtype, scale, lines.n)
    with f.loop(f.begin, f.end) as item:
        lines.begin(item)
        _call(f, lines, functions_of(kind, inverse), letter, factor, without_data)
        if kind in ("half", "of_real"):
            _finish_half(f, lines, kind, inverse, weighted)
        elif kind == "to_real":
            _finish_real(f, lines, inverse, weighted, factor)

"""Pooling over two axes, forward and backward, as loops: one row of the output at a time, tap by tap.

The inner loop so runs along the row and becomes vector code.

    max: out[i, j] = max of x[i SH - PT + p DH, j SW - PL + q DW] over the taps p, q that fall inside
    avg: out[i, j] = their sum / how many taps there are

Of equal maxima the first in row-major order gets the gradient, and a NaN wins over numbers, as in PyTorch; oneDNN's
pooling promises neither, so that there is one implementation.
"""
import contextlib
import functools

from ...common.dtype import dtype as to_dtype, float32, int32
from ..kernel import Kernel
from .blas import has_gemm
from .native import I64, Module, compute_type

KINDS = ("max_forward", "max_backward", "avg_forward", "avg_backward")
SIZES = ("N", "C", "H", "W", "OH", "OW", "KH", "KW", "SH", "SW", "PT", "PB", "PL", "PR", "DH", "DW", "INCLUDE_PAD",
         "DIVISOR")
ERRORS = ("pooling: out of memory for one row",)


def pool2d_kernel(kind, dtype):
    """The kernel of a pooling, or None for a dtype that is not a float.

    kind    : max_forward   args [x, out, sizes...]          avg_forward   args [x, out, sizes...]
              max_backward  args [x, dout, dx, sizes...]     avg_backward  args [dout, dx, sizes...]
    sizes   : N, C, H, W, OH, OW, KH, KW, SH, SW, PT, PB, PL, PR, DH, DW, INCLUDE_PAD, DIVISOR. OH and OW are given, so
              that the caller rounds them up or down. The last two are for avg: count the taps that fall on padding
              (but not those beyond it), and a divisor in place of the count unless 0
    [begin, end) : the planes, N C of them
    a window without any tap inside gives -inf (max) or 0 (avg) and no gradient
    raises  : ValueError for an unknown kind
    """
    if kind not in KINDS:
        raise ValueError(f"no pooling of kind {kind!r}; kinds: {', '.join(KINDS)}")
    return _pool2d_kernel(kind, to_dtype(dtype))


@functools.cache
def _pool2d_kernel(kind, dtype):
    if not dtype.is_float or not has_gemm(dtype):
        return None
    module = Module(f"pool2d_{kind}_{dtype.short}")
    writer = WRITERS[kind]
    with module.kernel(module.name) as f:
        writer(f, dtype)
    module.written_by += [writer, write_row, write_count]
    machine = module.compile()
    # A plane of some hundred pixels with four to nine taps each.
    return Kernel(module.name, machine.address(module.name), source=module.source(), cost=1024, errors=ERRORS,
                  keep=machine)


class Window:
    """The sizes of a pooling as Values of the kernel being written; N stands at args[first]."""

    def __init__(self, f, first):
        (_, _, self.h, self.w, self.oh, self.ow, self.kh, self.kw, self.sh, self.sw, self.top, self.bottom, self.left,
         self.right, self.dh, self.dw, self.include_pad, self.divisor) = (f.arg(first + i) for i in range(len(SIZES)))
        self.picture, self.plane = self.h * self.w, self.oh * self.ow


def write_row(f, s, i, tap):
    """For every tap of output row i that falls inside: tap(j, place) for each j that it serves; it reads x[place]."""
    with f.loop(0, s.kh) as p:
        line = i * s.sh - s.top + p * s.dh
        with f.when((line >= 0) & (line < s.h)), f.loop(0, s.kw) as q:
            shift = q * s.dw - s.left
            # j in [low, high) reads inside the line: 0 <= j SW + shift < W
            low = f.minimum(f.maximum(s.sw - 1 - shift, 0) // s.sw, s.ow)
            high = f.maximum(f.minimum(f.maximum(s.w - shift + s.sw - 1, 0) // s.sw, s.ow), low)
            first = line * s.w + shift
            with f.choose(s.sw.equals(1)) as (one, more):
                with one, f.loop(low, high) as j:
                    tap(j, first + j)
                with more, f.choose(s.sw.equals(2)) as (two, other):
                    with two, f.loop(low, high) as j:
                        tap(j, first + j * 2)
                    with other, f.loop(low, high) as j:
                        tap(j, first + j * s.sw)


def write_max_forward(f, dtype):
    """out = the maximum of the window"""
    s, number = Window(f, 2), compute_type(dtype)
    row = write_buffer(f, s.ow * 4 if dtype.itemsize < 4 else f.number(I64, 0))
    with f.loop(f.begin, f.end) as plane:
        x, out = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)
        with f.loop(0, s.oh) as i:
            best = f.array(float32, row) if dtype.itemsize < 4 else out.at(i * s.ow)
            with f.loop(0, s.ow) as j:
                best[j] = f.number(number, float("-inf"))

            def tap(j, place):
                value, so_far = x[place], best[j]
                best[j] = f.select((value > so_far) | value.differs(value), value, so_far)
            write_row(f, s, i, tap)
            if dtype.itemsize < 4:
                with f.loop(0, s.ow) as j:
                    out[i * s.ow + j] = best[j]
    f.free(row)


def write_max_backward(f, dtype):
    """dx[where the maximum was] += dout"""
    s, number = Window(f, 3), compute_type(dtype)
    wide = float32 if dtype.itemsize < 4 else dtype
    row = write_buffer(f, s.ow * (4 + wide.itemsize) + 8)
    best, places = f.array(wide, row), f.array(int32, row + s.ow * wide.itemsize)
    with write_gradient(f, s, dtype, wide, f.arg(2)) as (plane, dx):
        x, dout = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)
        with f.loop(0, s.oh) as i:
            with f.loop(0, s.ow) as j:
                best[j] = f.number(number, float("-inf"))
                places[j] = -1

            def tap(j, place):
                value, so_far, known = x[place], best[j], places[j]
                better = (value > so_far) | value.differs(value) | (known < 0)
                best[j] = f.select(better, value, so_far)
                places[j] = f.select(better, f.convert(place, compute_type(int32)), known)
            write_row(f, s, i, tap)
            with f.loop(0, s.ow) as j:
                place = f.convert(places[j], I64)
                with f.when(places[j] >= 0):
                    dx[place] = dx[place] + dout[i * s.ow + j]
    f.free(row)


def write_avg_forward(f, dtype):
    """out = the sum of the window / its count"""
    s = Window(f, 2)
    wide = float32 if dtype.itemsize < 4 else dtype
    row = write_buffer(f, s.ow * wide.itemsize)
    total = f.array(wide, row)
    with f.loop(f.begin, f.end) as plane:
        x, out = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)
        with f.loop(0, s.oh) as i:
            with f.loop(0, s.ow) as j:
                total[j] = 0

            def tap(j, place):
                total[j] = total[j] + x[place]
            write_row(f, s, i, tap)
            with f.loop(0, s.ow) as j:
                out[i * s.ow + j] = total[j] / write_count(f, s, i, j, dtype)
    f.free(row)


def write_avg_backward(f, dtype):
    """dx[every tap] += dout / count"""
    s = Window(f, 2)
    wide = float32 if dtype.itemsize < 4 else dtype
    row = write_buffer(f, s.ow * wide.itemsize)
    share = f.array(wide, row)
    with write_gradient(f, s, dtype, wide, f.arg(1)) as (plane, dx):
        dout = f.array(dtype, f.arg(0)).at(plane * s.plane)
        with f.loop(0, s.oh) as i:
            with f.loop(0, s.ow) as j:
                share[j] = dout[i * s.ow + j] / write_count(f, s, i, j, dtype)

            def tap(j, place):
                dx[place] = dx[place] + share[j]
            write_row(f, s, i, tap)
    f.free(row)


def write_count(f, s, i, j, dtype):
    """The divisor of output (i, j) as a float: the given one, or the taps in the picture, or those on padding too."""
    def taps(start, step, count, size, before, after):
        low = f.select(s.include_pad.differs(0), -before, f.number(I64, 0))
        high = f.select(s.include_pad.differs(0), size + after, size)
        reached = f.minimum(f.maximum(high - start + step - 1, 0) // step, count)
        return f.maximum(reached - f.minimum(f.maximum(low - start + step - 1, 0) // step, count), 0)
    rows = taps(i * s.sh - s.top, s.dh, s.kh, s.h, s.top, s.bottom)
    columns = taps(j * s.sw - s.left, s.dw, s.kw, s.w, s.left, s.right)
    count = f.select(s.divisor.equals(0), f.maximum(rows * columns, 1), s.divisor)
    return f.convert(count, compute_type(dtype))


@contextlib.contextmanager
def write_gradient(f, s, dtype, wide, address):
    """Loop over planes: yields (plane, dx), zeroed, of type `wide`; 16-bit floats are rounded once, at the end."""
    spare = write_buffer(f, s.picture * wide.itemsize) if wide is not dtype else None
    with f.loop(f.begin, f.end) as plane:
        target = f.array(dtype, address).at(plane * s.picture)
        dx = target if spare is None else f.array(wide, spare)
        f.fill(dx.address, 0, s.picture * wide.itemsize)
        yield plane, dx
        if spare is not None:
            with f.loop(0, s.picture) as i:
                target[i] = dx[i]
    if spare is not None:
        f.free(spare)


def write_buffer(f, nbytes):
    """Memory for one row; the kernel ends with status 1 if there is none."""
    memory = f.allocate(nbytes + 8)
    with f.when(memory.equals(0)):
        f.give(1)
    return memory


WRITERS = {"max_forward": write_max_forward, "max_backward": write_max_backward, "avg_forward": write_avg_forward,
           "avg_backward": write_avg_backward}

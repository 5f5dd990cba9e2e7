"""Pooling over two axes, forward and backward, as loops over planes.

    max: out[i, j] = max of x[i SH - PT + p DH, j SW - PL + q DW] over the taps p, q that fall inside
    avg: out[i, j] = their sum / how many taps there are

One row of the output is made at a time. Where a window of 2x2 or 3x3 lies wholly inside, one loop along the row reads
all its taps (vector code); elsewhere the row is made tap by tap, with the state of each window kept in a buffer. A
kernel is made for one window, as an operator has one: code for all of them took LLVM three times as long.

Of equal maxima the first in row-major order gets the gradient, and a NaN wins over numbers, as in PyTorch; oneDNN's
pooling promises neither. Measured on plain NCHW, one thread of these loops against two of oneDNN with its reorders: 2x2
windows 2 to 7 times faster, 3x3 windows 0.6 to 1.7 times; so there is one implementation. Where windows do not overlap
(2x2 with stride 2), the gradient writes each tap once, dout or 0, a vector of windows at a time: 2 to 7 times faster
than by the positions of maxima.
"""
import contextlib

from llvmlite import ir

from ...common.dtype import dtype as to_dtype, float32, int32, int64
from ..target import current
from .blas import has_gemm
from .native import I32, I64, Module, compute_type, kernel_of
from .patches import every_other, side_by_side, store_vector
from .scratch import borrow, give_back
from .tile import tile_shape

KINDS = ("max_forward", "max_backward", "avg_forward", "avg_backward")
WINDOW = ("KH", "KW", "SH", "SW", "DH", "DW")
SIZES = ("N", "C", "H", "W", "OH", "OW", "PT", "PB", "PL", "PR", "INCLUDE_PAD", "DIVISOR")
ERRORS = ("pooling: out of memory for one row",)


def pool2d_kernel(kind, dtype, window, target=None):
    """The kernel of a pooling, or None for a dtype that is not a float.

    window  : (KH, KW, SH, SW, DH, DW), ints

    kind    : max_forward   args [x, out, sizes...]          avg_forward   args [x, out, sizes...]
              max_backward  args [x, dout, dx, sizes...]     avg_backward  args [dout, dx, sizes...]
    sizes   : N, C, H, W, OH, OW, PT, PB, PL, PR, INCLUDE_PAD, DIVISOR. OH and OW are given, so that the caller rounds
              them up or down. The last two are for avg: count the taps that fall on padding
              (but not those beyond it), and a divisor in place of the count unless 0
    [begin, end) : the planes, N C of them
    a window without any tap inside gives -inf (max) or 0 (avg) and no gradient
    raises  : ValueError for an unknown kind
    """
    if kind not in KINDS:
        raise ValueError(f"no pooling of kind {kind!r}; kinds: {', '.join(KINDS)}")
    dtype = to_dtype(dtype)
    if not dtype.is_float or not has_gemm(dtype):
        return None
    # A plane of some hundred pixels with four to nine taps each.
    return kernel_of(write_pooling, kind, dtype, tuple(window), target=target or current(), cost=1024, errors=ERRORS)


def write_pooling(target, kind, dtype, window):
    """The Module of a pooling."""
    module = Module("_".join(map(str, (f"pool2d_{kind}_{dtype.short}", *window))), target)
    writer = WRITERS[kind]
    with module.kernel(module.name) as f:
        writer(f, dtype, window)
    module.written_by += [writer, write_apart, write_windows, write_overlapping] if kind == "max_backward" else [writer]
    module.written_by += [write_row, write_taps]
    return module


class Window:
    """The sizes of a pooling as Values of the kernel being written, N at args[first], and tables made once per call.

    spans     : for each q the j in [low, high) whose tap q is inside its line
    low, high : the j whose window of KW taps is inside
    unit      : whether SW is 1;  fast: the side of the window if write_row has a loop for it, else None
    """

    def __init__(self, f, first, window):
        (_, _, self.h, self.w, self.oh, self.ow, self.top, self.bottom, self.left, self.right, self.include_pad,
         self.divisor) = (f.arg(first + i) for i in range(len(SIZES)))
        self.kh, self.kw, self.sh, self.sw, self.dh, self.dw = (f.number(I64, size) for size in window)
        kh, kw, _, sw, dh, dw = window
        self.unit, self.fast = sw == 1, kh if kh == kw <= 3 and dh == dw == 1 and sw <= 2 else None
        self.picture, self.plane = self.h * self.w, self.oh * self.ow
        self.memory = write_buffer(f, self.kw * 16)
        self.spans = f.array(int64, self.memory)
        low, high = f.variable(I64, 0), f.variable(I64, self.ow)
        with f.loop(0, self.kw, iterations="rare") as q:
            shift = q * self.dw - self.left                         # inside: 0 <= j SW + shift < W
            begin = f.minimum(f.maximum(self.sw - 1 - shift, 0) // self.sw, self.ow)
            end = f.maximum(f.minimum(f.maximum(self.w - shift + self.sw - 1, 0) // self.sw, self.ow), begin)
            self.spans[q * 2], self.spans[q * 2 + 1] = begin, end
            low.set(f.maximum(low.get(), begin))
            high.set(f.minimum(high.get(), end))
        self.low, self.high = low.get(), f.maximum(high.get(), low.get())

    def counts(self, f, dtype, address):
        """Fill the array at `address` with the number of columns of each output; returns f(i) -> j -> the divisor."""
        number, columns = compute_type(dtype), f.array(wide(dtype), address)
        with f.loop(0, self.ow, iterations="rare") as j:
            columns[j] = f.convert(self._taps(f, j * self.sw - self.left, self.dw, self.kw, self.w, self.left,
                                              self.right), number)

        def of_row(i):
            rows = f.convert(self._taps(f, i * self.sh - self.top, self.dh, self.kh, self.h, self.top, self.bottom),
                             number)
            given, fixed = self.divisor.differs(0), f.convert(self.divisor, number)

            def divisor(j):
                count = rows * columns[j]
                return f.select(given, fixed, f.select(count < 1, f.number(number, 1), count))
            return divisor
        return of_row

    def _taps(self, f, start, step, count, size, before, after):
        """How many of `count` taps from `start` in steps lie in the picture, or with INCLUDE_PAD in its padding too."""
        low = f.select(self.include_pad.differs(0), -before, f.number(I64, 0))
        high = f.select(self.include_pad.differs(0), size + after, size)
        reached = f.minimum(f.maximum(high - start + step - 1, 0) // step, count)
        return f.maximum(reached - f.minimum(f.maximum(low - start + step - 1, 0) // step, count), 0)


def wide(dtype):
    """The dtype in which sums and rows of `dtype` are stored."""
    return float32 if dtype.itemsize < 4 else dtype


def write_row(f, s, i, first, step, load, store):
    """Make the windows of output row i: state = first(); state = step(state, position) per tap; store(j, state).

    A tap's `position` is its index in the plane of x; load(j) gives back what store(j) took.
    """
    top = i * s.sh - s.top
    if s.fast is None:
        write_taps(f, s, top, f.number(I64, 0), s.ow, first, step, load, store)
        return
    inside = (top >= 0) & (top + s.kh <= s.h)
    low, high = f.select(inside, s.low, s.ow), f.select(inside, s.high, s.ow)
    with f.when(inside), f.loop(low, high, iterations="few") as j:
        state = first()
        for p in range(s.fast):
            for q in range(s.fast):
                state = step(state, (top + p) * s.w - s.left + (j * s.sw + q))
        store(j, state)
    with f.when((low > 0) | (high < s.ow)):
        write_taps(f, s, top, f.number(I64, 0), low, first, step, load, store)
        write_taps(f, s, top, high, s.ow, first, step, load, store)


def write_taps(f, s, top, begin, end, first, step, load, store):
    """The windows j in [begin, end), tap by tap; only `step` (without first) where nothing is stored."""
    iterations = "few" if s.fast is None else "rare"                     # then these are the windows at the edges
    if first is not None:
        with f.loop(begin, end, iterations=iterations) as j:
            store(j, first())
    with f.loop(0, s.kh) as p:
        line = top + p * s.dh
        with f.when((line >= 0) & (line < s.h)), f.loop(0, s.kw) as q:
            low, high = f.maximum(s.spans[q * 2], begin), f.minimum(s.spans[q * 2 + 1], end)
            position = line * s.w + q * s.dw - s.left
            with f.loop(low, high, iterations=iterations) as j:
                store(j, step(load(j), position + (j if s.unit else j * s.sw)))


def write_max_forward(f, dtype, window):
    """out = the maximum of the window"""
    s, number = Window(f, 2, window), compute_type(dtype)
    buffer = write_buffer(f, s.ow * wide(dtype).itemsize)
    best = f.array(wide(dtype), buffer)
    with f.loop(f.begin, f.end) as plane:
        x, out = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)

        def step(so_far, position):
            value = x[position]
            return f.select((value > so_far) | value.differs(value), value, so_far)
        with f.loop(0, s.oh) as i:
            write_row(f, s, i, lambda: f.number(number, float("-inf")), step, best.__getitem__, best.__setitem__)
            with f.loop(0, s.ow, iterations="few") as j:
                out[i * s.ow + j] = best[j]
    write_frees(f, s.memory, buffer)


def write_max_backward(f, dtype, window):
    """dx[where the maximum was] += dout"""
    if window[1] == 2 and window[:2] == window[2:4] and window[4:] == (1, 1) and window[0] <= 4 and dtype.itemsize >= 4:
        write_apart(f, dtype, window)
    else:
        write_overlapping(f, dtype, window)


def write_apart(f, dtype, window):
    """max_backward for windows two columns wide that touch no other: each tap gets dout or 0, in vectors of windows.

    Windows at the edges, of which a part lies on padding, look at their taps one by one.
    """
    s, kh, lanes, position_type = Window(f, 3, window), window[0], tile_shape(dtype, f.module.target).lanes, compute_type(int32)
    taps = [(p, q) for p in range(kh) for q in range(2)]
    with write_gradient(f, s, dtype, f.arg(2)) as (plane, dx):
        x, dout = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)
        with f.loop(0, s.oh) as i:
            top, row = i * kh - s.top, dout.at(i * s.ow)
            inside = (top >= 0) & (top + kh <= s.h)
            whole = inside & (s.high - s.low >= lanes // 2)
            low, high = f.select(whole, s.low, s.ow), f.select(whole, s.high, s.ow)
            for width, fits in ((lanes, high - low >= lanes), (lanes // 2, whole & (high - low < lanes))):
                with f.when(fits), f.loop(low, high, width, iterations="rare") as begin:
                    j = f.minimum(begin, high - width)                  # the last ones once more, not one by one
                    write_windows(f, [x.at((top + p) * s.w - s.left + j * 2) for p in range(kh)], row.at(j),
                                  [dx.at((top + p) * s.w - s.left + j * 2) for p in range(kh)], width)
            for begin, end in ((f.number(I64, 0), low), (high, s.ow)):
                with f.loop(begin, end, iterations="rare") as j:
                    left = j * 2 - s.left
                    known = [(top + p >= 0) & (top + p < s.h) & (left + q >= 0) & (left + q < s.w) for p, q in taps]
                    positions = [f.select(there, (top + p) * s.w + left + q, f.number(I64, 0))
                              for there, (p, q) in zip(known, taps)]
                    best, number = f.number(compute_type(dtype), float("-inf")), f.number(position_type, -1)
                    for t, (there, position) in enumerate(zip(known, positions)):
                        value = x[position]
                        better = ((value > best) | value.differs(value) | (number < 0)) & there
                        best = f.select(better, value, best)
                        number = f.select(better, f.number(position_type, t), number)
                    for t, position in enumerate(positions):
                        with f.when(number.equals(t)):
                            dx[position] = row[j]
    write_frees(f, s.memory)


def write_windows(f, lines, dout, targets, lanes):
    """`lanes` windows side by side: where each one's maximum stands in `lines`, `targets` get dout, elsewhere 0."""
    build, kind = f.builder, ir.VectorType(dout.stored, lanes)
    numbers = ir.VectorType(I32, lanes)

    def load(array):
        return build.load(array.pointer, typ=kind, align=array.dtype.itemsize)

    def spread(number):
        return ir.Constant(numbers, [number] * lanes)
    taps = [every_other(build, load(line), load(line.at(lanes)), odd) for line in lines for odd in range(2)]
    best, number = taps[0], spread(0)
    for t, value in enumerate(taps[1:], 1):
        better = build.or_(build.fcmp_ordered(">", value, best), build.fcmp_unordered("uno", value, value))
        best, number = build.select(better, value, best), build.select(better, spread(t), number)
    wanted, zero = load(dout), ir.Constant(kind, None)
    given = [build.select(build.icmp_signed("==", number, spread(t)), wanted, zero) for t in range(len(taps))]
    for p, target in enumerate(targets):
        for half, pixels in enumerate(side_by_side(build, given[2 * p], given[2 * p + 1])):
            store_vector(f, target.at(half * lanes), pixels)


def write_overlapping(f, dtype, window):
    """max_backward for windows that share taps: the positions of one row's maxima are found, then added to."""
    s, number, position_type = Window(f, 3, window), compute_type(dtype), compute_type(int32)
    best_buffer, position_buffer = write_buffer(f, s.ow * wide(dtype).itemsize), write_buffer(f, s.ow * 4)
    best, positions = f.array(wide(dtype), best_buffer), f.array(int32, position_buffer)
    with write_gradient(f, s, dtype, f.arg(2)) as (plane, dx):
        x, dout = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)

        def step(state, position):
            so_far, known = state
            value = x[position]
            better = (value > so_far) | value.differs(value) | (known < 0)
            return f.select(better, value, so_far), f.select(better, f.convert(position, position_type), known)

        def store(j, state):
            best[j], positions[j] = state
        with f.loop(0, s.oh) as i:
            write_row(f, s, i, lambda: (f.number(number, float("-inf")), f.number(position_type, -1)), step,
                      lambda j: (best[j], positions[j]), store)
            with f.loop(0, s.ow, iterations="rare") as j:
                position = f.convert(positions[j], I64)
                with f.when(positions[j] >= 0):
                    dx[position] = dx[position] + dout[i * s.ow + j]
    write_frees(f, s.memory, best_buffer, position_buffer)


def write_avg_forward(f, dtype, window):
    """out = the sum of the window / its count"""
    s, number = Window(f, 2, window), compute_type(dtype)
    sums, columns = (write_buffer(f, s.ow * wide(dtype).itemsize) for _ in range(2))
    total, counts = f.array(wide(dtype), sums), s.counts(f, dtype, columns)
    with f.loop(f.begin, f.end) as plane:
        x, out = f.array(dtype, f.arg(0)).at(plane * s.picture), f.array(dtype, f.arg(1)).at(plane * s.plane)
        with f.loop(0, s.oh) as i:
            write_row(f, s, i, lambda: f.number(number, 0), lambda so_far, position: so_far + x[position],
                      total.__getitem__, total.__setitem__)
            divisor = counts(i)
            with f.loop(0, s.ow, iterations="few") as j:
                out[i * s.ow + j] = total[j] / divisor(j)
    write_frees(f, s.memory, sums, columns)


def write_avg_backward(f, dtype, window):
    """dx[every tap] += dout / count"""
    s = Window(f, 2, window)
    shares, columns = (write_buffer(f, s.ow * wide(dtype).itemsize) for _ in range(2))
    share, counts = f.array(wide(dtype), shares), s.counts(f, dtype, columns)
    with write_gradient(f, s, dtype, f.arg(1)) as (plane, dx):
        dout = f.array(dtype, f.arg(0)).at(plane * s.plane)

        def add(share_of_j, position):
            dx[position] = dx[position] + share_of_j
        with f.loop(0, s.oh) as i:
            divisor = counts(i)
            with f.loop(0, s.ow, iterations="few") as j:
                share[j] = dout[i * s.ow + j] / divisor(j)
            write_taps(f, s, i * s.sh - s.top, f.number(I64, 0), s.ow, None, add, share.__getitem__,
                       lambda j, nothing: None)
    write_frees(f, s.memory, shares, columns)


@contextlib.contextmanager
def write_gradient(f, s, dtype, address):
    """Loop over planes: yields (plane, dx), zeroed, of type wide(dtype); 16-bit floats are rounded once, at the end."""
    spare = write_buffer(f, s.picture * 4) if wide(dtype) is not dtype else None
    with f.loop(f.begin, f.end) as plane:
        target = f.array(dtype, address).at(plane * s.picture)
        dx = target if spare is None else f.array(float32, spare)
        f.fill(dx.address, 0, s.picture * wide(dtype).itemsize)
        yield plane, dx
        if spare is not None:
            with f.loop(0, s.picture) as i:
                target[i] = dx[i]
    if spare is not None:
        give_back(f, spare)


def write_buffer(f, nbytes):
    """Memory for one row; the kernel ends with status 1 if there is none."""
    memory = borrow(f, nbytes + 8)
    with f.when(memory.equals(0)):
        f.give(1)
    return memory


def write_frees(f, *buffers):
    """Give the rows back."""
    for buffer in buffers:
        give_back(f, buffer)


WRITERS = {"max_forward": write_max_forward, "max_backward": write_max_backward, "avg_forward": write_avg_forward,
           "avg_backward": write_avg_backward}

"""Convolution as matrix products: im2col (Chellapilla et al. 2006), for every dtype that has a gemm.

For some rows of the output the patches of x are written side by side as columns [K, pixels], K = C/G KH KW; then

    out[O/G, pixels]  = w[O/G, K] @ columns             forward
    columns           = w^T @ dout; added back to dx    backward_data

The rows taken at once are as many as keep the columns in the second-level cache, so memory does not grow with the
picture. A 1x1 convolution of stride 1 without padding needs no columns: x itself is the matrix.
"""
from .blas import write_gemm
from . import onednn
from .native import I64, Module
from .patches import Window
from .scratch import borrow, give_back


class Columns(Window):
    """The sizes of a convolution, and how many rows of the output are taken at once."""

    def __init__(self, f, first):
        super().__init__(f, first)
        self.depth = self.cg * self.taps
        self.pointwise = ((self.taps * self.sh * self.sw).equals(1)
                          & (self.top + self.bottom + self.left + self.right).equals(0))
        fitting = f.maximum(f.module.target.l2 // 4 // f.maximum(self.depth * self.ow, 1), 1)
        self.rows = f.select(self.pointwise, self.oh, f.minimum(fitting, self.oh))


def write_convolution(target, kind, dtype, library=False):
    """The Module of the kernel `conv2d_<kind>` with the arguments of convolution.conv2d_kernel.

    library : a handle that is not 0 goes to oneDNN unless it is unusable; the statuses are 1 (out of memory) and 2 (it
              failed)
    """
    module = Module(f"conv2d_{kind}_{dtype.short}", target)
    gemm, writer = write_gemm(module, dtype), WRITERS[kind]
    run = onednn.write_run(module) if library else None
    with module.kernel(module.name) as f:
        if run is not None:
            with f.when(f.arg(0).differs(0)):
                result = f.call(run, f.parameters[0])
                with f.when(result.differs(onednn.UNUSABLE)):
                    f.give(result)
        status = f.variable(I64, 0)

        def product(*args):
            status.set(status.get() | f.call(gemm, *args))
        writer(f, dtype, product)
        f.give(status.get())
    module.written_by += [writer, write_blocks, write_columns, write_taps]
    return module


def write_forward(f, dtype, product):
    """out = w @ columns(x)"""
    s, size = Columns(f, 4), dtype.itemsize
    x, w, out = f.arg(1), f.arg(2), f.arg(3)

    def block(n, g, first, rows, matrix, step):
        with f.when(s.pointwise.equals(0)):
            write_columns(f, s, f.array(dtype, x + (n * s.c + g * s.cg) * s.image * size), f.array(dtype, matrix),
                          first, rows, scatter=False)
        target = out + ((n * s.o + g * s.og) * s.plane + first * s.ow) * size
        product(0, 0, s.og, rows * s.ow, s.depth, w + g * s.og * s.depth * size, s.depth, matrix, step,
                0, target, s.plane)
    write_blocks(f, s, dtype, x, block)


def write_backward_data(f, dtype, product):
    """columns = w^T @ dout, added into dx where they came from"""
    s, size = Columns(f, 4), dtype.itemsize
    dout, w, dx = f.arg(1), f.arg(2), f.arg(3)
    f.fill(dx, 0, s.n * s.c * s.image * size)

    def block(n, g, first, rows, matrix, step):
        source = dout + ((n * s.o + g * s.og) * s.plane + first * s.ow) * size
        product(1, 0, s.depth, rows * s.ow, s.og, w + g * s.og * s.depth * size, s.depth, source, s.plane,
                0, matrix, step)
        with f.when(s.pointwise.equals(0)):
            write_columns(f, s, f.array(dtype, dx + (n * s.c + g * s.cg) * s.image * size), f.array(dtype, matrix),
                          first, rows, scatter=True)
    write_blocks(f, s, dtype, dx, block)


def write_blocks(f, s, dtype, pictures, block):
    """For every image, group and block of output rows: block(n, g, first row, rows, columns' address, their step).

    `pictures` is the address of x or dx, which is its own matrix of columns in the pointwise case.
    """
    memory = f.variable(I64, 0)
    with f.when(s.pointwise.equals(0)):
        memory.set(borrow(f, s.depth * s.rows * s.ow * dtype.itemsize + 64))
        with f.when(memory.get().equals(0)):
            f.give(1)
    with f.loop(0, s.n) as n, f.loop(0, s.g) as g, f.loop(0, s.oh, f.maximum(s.rows, 1)) as first:
        rows = f.minimum(s.oh - first, s.rows)
        picture = pictures + (n * s.c + g * s.cg) * s.image * dtype.itemsize
        block(n, g, first, rows, f.select(s.pointwise, picture, memory.get()), rows * s.ow)
    give_back(f, memory.get())


def write_columns(f, s, picture, columns, first, rows, scatter):
    """columns[c KH KW + p KW + q, i OW + j] = picture[c, (first + i) SH - PT + p DH, j SW - PL + q DW], 0 outside.

    scatter: the other way, added to what stands in the picture (col2im).
    """
    with f.loop(0, s.cg) as c, f.loop(0, s.kh) as p, f.loop(0, s.kw) as q:
        target = columns.at(((c * s.kh + p) * s.kw + q) * rows * s.ow)
        shift = q * s.dw - s.left
        # j in [low, high) reads inside the line: 0 <= j SW + shift < W
        low = f.minimum(f.maximum(s.sw - 1 - shift, 0) // s.sw, s.ow)
        high = f.maximum(f.minimum(f.maximum(s.w - shift + s.sw - 1, 0) // s.sw, s.ow), low)
        with f.loop(0, rows) as i:
            line = (first + i) * s.sh + p * s.dh - s.top
            inside, piece = (line >= 0) & (line < s.h), target.at(i * s.ow)
            source = picture.at((c * s.h + line) * s.w + shift)
            if scatter:
                with f.when(inside):
                    write_taps(f, s, source, piece, low, high, scatter)
            else:
                with f.choose(inside) as (then, other):
                    with then:
                        with f.loop(0, low, iterations="rare") as j:
                            piece[j] = 0
                        write_taps(f, s, source, piece, low, high, scatter)
                        with f.loop(high, s.ow, iterations="rare") as j:
                            piece[j] = 0
                    with other, f.loop(0, s.ow, iterations="rare") as j:
                        piece[j] = 0


def write_taps(f, s, source, piece, low, high, scatter):
    """piece[j] = source[j SW] for j in [low, high), or the other way; stride 1 apart, as it becomes vector code."""
    with f.choose(s.sw.equals(1)) as (then, other):
        for branch, step in ((then, 1), (other, s.sw)):
            with branch, f.loop(low, high, iterations="few") as j:
                if scatter:
                    source[j * step] = source[j * step] + piece[j]
                else:
                    piece[j] = source[j * step]


WRITERS = {"forward": write_forward, "backward_data": write_backward_data}

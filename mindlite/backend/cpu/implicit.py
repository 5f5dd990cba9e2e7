"""Convolution as an implicit matrix product, in float32 or float64: patches of a block of pixels meet all weights.

    forward           out[o, pixel]  = sum over k of w[o, k] patches[k, pixel]                  k = (channel, tap)
    backward_data     dx[c, pixel]   = sum over k of w'[c, k] patches of dout[k, pixel]         k = (out channel, tap)
    backward_weights  dw[o, k]       = sum over pixels of dout[o, pixel] patches[k, pixel]

Only the patches of one block exist at a time, in the second-level cache (im2col, Chellapilla et al. 2006, in pieces).
Plain NCHW goes in and comes out: with pixels in the lanes of a vector nothing has to be reordered but the weights.
They are packed for the register tile by a kernel that runs before.

With a stride, the gradient of the input falls apart in SH SW *phases*, the pixels that are equal modulo the stride:
each meets the taps that can reach it, and no others, so nothing is multiplied by zeros. Every number of a result is
added up in one order, however the work is cut.
"""
from typing import Any

from ...common.dtype import int64
from .direct import Direct
from .finish import Finish, named
from .native import I64, Module
from .patches import Block, Grid, Window, channels_at_once, write_patches
from .scratch import borrow, give_back
from .tile import external_tile, tile_shape
from .unpacked import external_dots

APART = 16                                          # numbers between the rows of patches: their distance is no power of two
ERRORS = ("convolution: out of memory",)


def write_pack(target, kind, dtype):
    """The Module of `conv2d_pack_<kind>`: w -> panels for the tile.  args: w, packed, 16 sizes; [begin, end): panels.

    Panels are of one group each. For `kind` "forward" rows are output channels and k (channel, tap); for
    "backward_data" rows are channels and k (phase, output channel, tap of the phase). For each piece of channels
    (channels_at_once) all panels follow each other, [k][row].
    """
    module, shape = Module(f"conv2d_pack_{kind}_{dtype.short}", target), tile_shape(dtype, target)
    with module.kernel(module.name) as f:
        s = Window(f, 2)
        forward = kind == "forward"
        rows, depth = (s.og, s.cg) if forward else (s.cg, s.og)
        panels = (rows + shape.rows - 1) // shape.rows
        with f.loop(f.begin, f.end) as item:
            g, panel = item // panels, item % panels
            first = panel * shape.rows
            height = f.minimum(rows - first, shape.rows)
            source = f.array(dtype, f.arg(0)).at(g * s.og * s.cg * s.taps)
            packed = f.array(dtype, f.arg(1)).at(g * s.og * s.cg * s.taps)

            def pack(length, base, position, taps):
                """Rows first.. of the matrix [rows, length] at `base`: source[position(row, k)]."""
                with f.loop(0, length, f.maximum(channels_at_once(f, taps) * taps, 1)) as k0:
                    some = f.minimum(length - k0, channels_at_once(f, taps) * taps)
                    target = packed.at(base + rows * k0 + first * some)
                    with f.loop(0, height) as r:
                        position_of = position(first + r)
                        with f.loop(0, some, iterations="few") as k:
                            target[k * height + r] = source[position_of(k0 + k)]
            if forward:
                pack(depth * s.taps, 0, lambda row: lambda k: row * s.cg * s.taps + k, s.taps)
            else:
                memory = write_memory(f, s.taps * 24)
                table = f.array(int64, memory)
                base = f.variable(I64, 0)
                with phases(f, s, table) as (_, _, taps, numbers):
                    pack(s.og * taps, base.get(),
                         lambda row: lambda k: ((k // taps) * s.cg + row) * s.taps + numbers[k % taps],
                         taps)
                    base.set(base.get() + rows * s.og * taps)
                give_back(f, memory)
    module.written_by += [write_pack]
    return module


class phases:
    """A loop over the phases (a, b) of a gradient of the input: yields (a, b, taps, numbers of the taps).

    table : memory for 3 numbers per tap: number, row and column offsets
    """

    def __init__(self, f, s, table):
        self.f, self.s, self.table = f, s, table

    def __enter__(self):
        f, s = self.f, self.s
        self.loops = [f.loop(0, s.sh), f.loop(0, s.sw)]
        a, b = (loop.__enter__() for loop in self.loops)
        taps = f.variable(I64, 0)
        numbers, rows, columns = self.table, self.table.at(s.taps), self.table.at(2 * s.taps)
        with f.loop(0, s.kh, iterations="rare") as p, f.loop(0, s.kw, iterations="rare") as q:
            y, x = a + s.top - p * s.dh, b + s.left - q * s.dw       # a remainder is 0 for negative multiples too
            with f.when((y % s.sh).equals(0) & (x % s.sw).equals(0)):
                t = taps.get()
                numbers[t], rows[t], columns[t] = p * s.kw + q, y // s.sh, x // s.sw
                taps.set(t + 1)
        return a, b, taps.get(), numbers

    def __exit__(self, *error):
        for loop in reversed(self.loops):
            loop.__exit__(*error)


def write_memory(f, nbytes):
    """Memory for one chunk, aligned for vectors; the kernel ends with status 1 if there is none."""
    memory = borrow(f, nbytes + 64)
    with f.when(memory.equals(0)):
        f.give(1)
    return memory


def write_offsets(f, s, memory):
    """The Arrays (rows, columns) of the offsets of the taps, 16 bytes each."""
    rows, columns = f.array(int64, memory), f.array(int64, memory).at(s.taps)
    with f.loop(0, s.kh, iterations="rare") as p, f.loop(0, s.kw, iterations="rare") as q:
        rows[p * s.kw + q], columns[p * s.kw + q] = p * s.dh - s.top, q * s.dw - s.left
    return rows, columns


def write_forward(target, dtype, direct, finish=""):
    """The Module of `conv2d_forward`: args x, packed, out, the operands of `finish`, 16 sizes; [begin, end): pixels in units
    of the tile."""
    module = Module(f"conv2d_forward_{dtype.short}{'_direct' * direct}{named(finish)}", target)
    with module.kernel(module.name) as f:
        rest, size = Finish(f, dtype, finish, 2), dtype.itemsize
        s = Window(f, rest.arguments)
        memory = write_memory(f, s.taps * 16)
        rows, columns = write_offsets(f, s, memory)
        down, right = (1, 1) if direct else (s.sh, s.sw)
        grid = Grid(s.n, s.oh, s.ow, down, right, lambda n, i, j: n * s.o * s.plane + i * s.ow + j,
                    (s.h, s.w, s.c * s.image), rows, columns, s.taps)
        if direct:
            product: Any = Direct(f, module, dtype, s.og, s.taps, s.taps, s.ow, (s.dh * (s.kh - 1), s.dw * (s.kw - 1)),
                             write_memory)
        else:
            product = Product(f, module, dtype, s.og, s.taps)

        def group(g):
            return (f.arg(0) + g * s.cg * s.image * size, f.arg(1) + g * s.og * s.cg * s.taps * size,
                    f.arg(2) + g * s.og * s.plane * size)
        product.write(grid, s.g, group, s.og, s.cg * s.taps, s.plane, rest)
        product.end()
        give_back(f, memory)
    module.written_by += [write_forward, *([Direct] if direct else [Product, Block, write_patches]), Finish]
    return module


def write_backward_data(target, dtype, direct, strided):
    """The Module of `conv2d_backward_data`: args dout, packed, dx, 16 sizes; [begin, end): pixels of a phase."""
    module = Module(f"conv2d_backward_data_{dtype.short}{'_direct' * direct}{'_strided' * strided}", target)
    with module.kernel(module.name) as f:
        s, size = Window(f, 3), dtype.itemsize
        memory = write_memory(f, s.taps * 24)
        table, base = f.array(int64, memory), f.variable(I64, 0)
        if direct:                                  # taps of a phase are no further apart than all taps
            even = (s.dh * s.dw).equals(1) | (s.sh * s.sw).equals(1)      # each phase with taps has so many
            least = f.select(even, f.maximum((s.kh // s.sh) * (s.kw // s.sw), 1), f.number(I64, 1))
            product: Any = Direct(f, module, dtype, s.cg, s.taps, least, (s.w + s.sw - 1) // s.sw,
                             (s.dh * (s.kh - 1), s.dw * (s.kw - 1)), write_memory, s.sw if strided else 1)
        else:
            product = Product(f, module, dtype, s.cg, s.taps)
        with phases(f, s, table) as (a, b, taps, _):
            grid = Grid(s.n, f.maximum(s.h - a + s.sh - 1, 0) // s.sh, f.maximum(s.w - b + s.sw - 1, 0) // s.sw, 1, 1,
                        lambda n, i, j: n * s.c * s.image + (i * s.sh + a) * s.w + j * s.sw + b,
                        (s.oh, s.ow, s.o * s.plane), table.at(s.taps), table.at(2 * s.taps), taps)

            def group(g):
                return (f.arg(0) + g * s.og * s.plane * size,
                        f.arg(1) + (g * s.og * s.cg * s.taps + base.get()) * size, f.arg(2) + g * s.cg * s.image * size)
            with f.when(taps > 0):                  # pixels that no tap reaches were made 0 before
                product.write(grid, s.g, group, s.cg, s.og * taps, s.image)
            base.set(base.get() + s.cg * s.og * taps)
        product.end()
        give_back(f, memory)
    module.written_by += [write_backward_data, *([Direct] if direct else [Product, Block, write_patches])]
    return module


class Product:
    """Memory of one chunk for packed weights times patches: `write` writes the loops, `end` gives the memory back."""

    def __init__(self, f, module, dtype, rows, taps):
        self.f, self.dtype, self.shape = f, dtype, tile_shape(dtype, f.module.target)
        self.tile, size = external_tile(module, dtype), dtype.itemsize
        self.pixels = self.shape.whole(module.target.pixels)
        self.step, tables = self.pixels + APART, Block.nbytes(self.pixels, taps)
        depth = f.maximum(module.target.tile_depth, taps)
        numbers = (depth + 3 * self.shape.vectors) * 8
        self.memory = write_memory(f, tables + numbers + (depth * self.step + 64) * size + rows * self.shape.columns * size)
        self.offsets = f.array(int64, self.memory + tables)
        self.strip = self.offsets.at(depth)
        with f.loop(0, depth, iterations="rare") as k:
            self.offsets[k] = k * self.step
        self.patches = (self.memory + tables + numbers + 63) // 64 * 64
        self.spare = self.patches + depth * self.step * size

    def write(self, grid, groups, group, rows, depth, plane, finish=None):
        """The results of all rows at the chunk's pixels.

        group  : g -> addresses of its source, its packed weights, its first row in the result
        plane  : elements from row to row
        finish : the Finish of the result
        """
        f, dtype, size, width = self.f, self.dtype, self.dtype.itemsize, self.shape.columns
        block, patches = Block(f, self.memory, self.pixels), f.array(dtype, self.patches)
        last, most = f.minimum(f.end * width, grid.pixels), channels_at_once(f, grid.taps)
        with f.loop(f.begin * width, last, self.pixels) as first:
            count = f.minimum(last - first, self.pixels)
            block.load(grid, first, count)
            with f.loop(0, groups) as g, f.loop(0, f.maximum(depth, 1), f.maximum(most * grid.taps, 1)) as k0:
                source, packed, result = group(g)
                some = f.minimum(depth - k0, most * grid.taps)
                write_patches(f, dtype, block, grid, f.array(dtype, source), k0, some, patches, self.step)
                add = f.convert(k0 > 0, I64)
                with f.loop(0, count, width) as j:
                    columns = f.minimum(count - j, width)
                    begin = block.positions[j]
                    joined = (block.positions[j + columns - 1] - begin).equals(columns - 1)
                    weights, lanes = packed + rows * k0 * size, self.shape.lanes
                    target = f.select(joined, result + begin * size, self.spare)
                    for v in range(self.shape.vectors):
                        self.strip[3 * v] = patches.at(j + v * lanes).address
                        self.strip[3 * v + 1] = target + v * lanes * size
                        self.strip[3 * v + 2] = f.minimum(f.maximum(columns - v * lanes, 0), lanes)
                    with f.choose(joined) as (then, other):
                        with then:
                            f.call(self.tile, rows, some, weights, self.offsets.address, self.strip.address, plane, add)
                        with other:
                            f.call(self.tile, rows, some, weights, self.offsets.address, self.strip.address, width, 0)
                            self.scatter(f.array(dtype, result), block.positions.at(j), rows, columns, plane, add)
            if finish is not None:
                with f.loop(0, block.number.get()) as r:
                    finish.write(block.positions[block.runs[r * 2]], block.runs[r * 2 + 1], groups * rows, plane)

    def scatter(self, result, positions, rows, columns, plane, add):
        """A strip whose pixels do not stand side by side, from spare memory to its positions."""
        f, width = self.f, self.shape.columns
        with f.choose(add.equals(0)) as (then, other):
            for branch, more in ((then, False), (other, True)):
                with branch, f.loop(0, rows) as r:
                    row, line = f.array(self.dtype, self.spare).at(r * width), result.at(r * plane)
                    with f.loop(0, columns, iterations="rare") as j:
                        position = positions[j]
                        line[position] = line[position] + row[j] if more else row[j]

    def end(self):
        """Free the memory."""
        give_back(self.f, self.memory)


def write_backward_weights(target, dtype):
    """The Module of `conv2d_backward_weights`: args x, dout, dw, 16 sizes; [begin, end): rows (group, channel, tap)."""
    module = Module(f"conv2d_backward_weights_{dtype.short}", target)
    most, most_rows = target.gradient_pixels, target.gradient_rows
    step = most + APART
    with module.kernel(module.name) as f:
        s, size = Window(f, 3), dtype.itemsize
        dots, depth = external_dots(module, dtype), s.cg * s.taps
        memory = write_memory(f, s.taps * 16 + Block.nbytes(most, s.taps) + (most_rows + s.og) * step * size)
        rows, columns = write_offsets(f, s, memory)
        grid = Grid(s.n, s.oh, s.ow, s.sh, s.sw, lambda n, i, j: n * s.o * s.plane + i * s.ow + j,
                    (s.h, s.w, s.c * s.image), rows, columns, s.taps)
        block = Block(f, memory + s.taps * 16, most)
        patches = f.array(dtype, (memory + s.taps * 16 + Block.nbytes(most, s.taps) + 63) // 64 * 64)
        copy = patches.at(most_rows * step)
        with f.loop(f.begin // f.maximum(depth, 1), (f.end + depth - 1) // f.maximum(depth, 1)) as g:
            low, high = f.maximum(f.begin - g * depth, 0), f.minimum(f.end - g * depth, depth)
            x = f.array(dtype, f.arg(0)).at(g * s.cg * s.image)
            dout = f.array(dtype, f.arg(1)).at(g * s.og * s.plane)
            dw = f.array(dtype, f.arg(2)).at(g * s.og * depth)
            with f.loop(0, s.og, iterations="rare") as o:
                f.fill(dw.at(o * depth + low).address, 0, f.maximum(high - low, 0) * size)
            with f.loop(0, grid.pixels, most) as pixel:
                count = f.minimum(grid.pixels - pixel, most)
                block.load(grid, pixel, count)
                begin = block.positions[0]
                joined = (block.positions[count - 1] - begin).equals(count - 1)
                left, left_step = f.variable(I64, dout.at(begin).address), f.variable(I64, s.plane)
                with f.when(joined.equals(0)):
                    write_rows(f, s, block, dout, copy, step)
                    left.set(copy.address)
                    left_step.set(step)
                with f.loop(low, high, most_rows) as first:
                    kept = f.minimum(high - first, most_rows)
                    write_patches(f, dtype, block, grid, x, first, kept, patches, step)
                    f.call(dots, s.og, kept, count, left.get(), left_step.get(), patches.address, step, 1,
                           dw.at(first).address, depth)
        give_back(f, memory)
    module.written_by += [write_backward_weights, Block.load, write_patches]
    return module


def write_rows(f, s, block, dout, copy, step):
    """copy[o step + pixel] = dout of the block's pixels."""
    with f.loop(0, s.og) as o:
        line = copy.at(o * step)
        with f.loop(0, block.number.get()) as r:
            position, length = block.runs[r * 2], block.runs[r * 2 + 1]
            source, target = dout.at(block.positions[position] + o * s.plane), line.at(position)
            with f.loop(0, length, iterations="few") as q:
                target[q] = source[q]

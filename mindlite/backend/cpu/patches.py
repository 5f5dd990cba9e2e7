"""Patches: what each pixel of a convolution reads, gathered for a block of pixels as rows of numbers side by side.

    patches[k, pixel] = image[c, i STEP + row[t], j STEP' + column[t]]         k = c T + t; 0 outside of the image

A *grid* is the set of pixels that are made: the output of a convolution, or one phase of the gradient of its input. A
*tap* t is a position in the window, as an offset. A block takes any run of the pixels of all pictures, (n, i, j) in order,
so small pictures share one; its *runs* are the pieces of lines that it is made of.
"""
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...common.dtype import int64
from .native import I32, I64, Value
from .tile import first_lanes, masked, tile_shape


class Window:
    """The sizes of a convolution as Values of the kernel being written; N stands at args[first]."""

    def __init__(self, f, first):
        (self.n, self.c, self.h, self.w, self.o, self.kh, self.kw, self.sh, self.sw, self.top, self.bottom, self.left,
         self.right, self.dh, self.dw, self.g) = (f.arg(first + i) for i in range(16))
        # x // s + 1 as (x + s) // s: x may be negative, where // on the machine rounds the other way
        self.oh = (self.h + self.top + self.bottom - self.dh * (self.kh - 1) - 1 + self.sh) // self.sh
        self.ow = (self.w + self.left + self.right - self.dw * (self.kw - 1) - 1 + self.sw) // self.sw
        self.cg, self.og, self.taps = self.c // self.g, self.o // self.g, self.kh * self.kw
        self.plane, self.image = self.oh * self.ow, self.h * self.w


def channels_at_once(f, taps):
    """How many channels of `taps` taps are multiplied at a time; packed weights follow each other in such pieces."""
    return f.maximum(f.module.target.tile_depth // f.maximum(taps, 1), 1)


@dataclass
class Grid:
    """Pixels (i, j) of height x width in each of `count` pictures, read with steps; all Values.

    position(n, i, j) : where the pixel stands in the result's first channel
    source         : (height, width, elements from one picture to the next) of what is read
    rows, columns  : Arrays with the offsets of the taps;  taps: how many
    """
    count: Value
    height: Value
    width: Value
    step_y: Any
    step_x: Any
    position: Any
    source: tuple
    rows: Any
    columns: Any
    taps: Value

    @property
    def pixels(self):
        """How many pixels all pictures have."""
        return self.count * self.height * self.width


class Block:
    """A block of at most `most` pixels of a grid, whose tables `load` makes.

    positions : where each pixel of the block stands in the result
    aims   : for each tap and run: where it reads in the first channel, which of its pixels [low, high) are inside
    runs   : for each run its position in the block and how many pixels it has;   number: how many runs
    """

    def __init__(self, f, address, most):
        self.f, self.most, self.number = f, most, f.variable(I64, 0)
        self.positions = f.array(int64, address)
        self.runs = self.positions.at(most)
        self.aims = self.runs.at(2 * most)

    @staticmethod
    def nbytes(most, taps):
        """Bytes of the tables of `most` pixels with `taps` taps."""
        return (taps * 3 + 3) * most * 8

    def load(self, grid, first, count):
        """Fill the tables for `count` pixels from `first` on."""
        f, at = self.f, self.f.variable(I64, first)
        number, picture = self.number, grid.height * grid.width
        height, width, far = grid.source
        number.set(0)
        with f.when(count > 0), f.repeat() as again:
            begin = at.get()
            n, inside = begin // picture, begin % picture
            i, j = inside // grid.width, inside % grid.width
            length, r = f.minimum(grid.width - j, first + count - begin), number.get()
            self.runs[r * 2], self.runs[r * 2 + 1] = begin - first, length
            with f.loop(0, length, iterations="rare") as q:
                self.positions[begin - first + q] = grid.position(n, i, j + q)
            with f.loop(0, grid.taps, iterations="rare") as t:
                y, x = i * grid.step_y + grid.rows[t], j * grid.step_x + grid.columns[t]
                aim = self.aims.at((t * self.most + r) * 3)
                aim[0] = n * far + y * width + x
                # pixels [low, high) of the run read inside the line: 0 <= x + q STEP < width
                low, high = f.maximum(-x, 0), f.maximum(width - x, 0)
                if not isinstance(grid.step_x, int):
                    low, high = (low + grid.step_x - 1) // grid.step_x, (high + grid.step_x - 1) // grid.step_x
                high = f.select((y >= 0) & (y < height), f.minimum(high, length), f.number(I64, 0))
                aim[1], aim[2] = f.minimum(low, high), high
            number.set(r + 1)
            at.set(begin + length)
            again(begin + length < first + count)


def write_patches(f, dtype, block, grid, source, first, count, target, step):
    """target[(k - first) step + pixel] = what the pixel reads at k, for k in [first, first + count).

    source : Array of the group's first channel of the first picture;  target may be written for a vector more
    """
    height, width, _ = grid.source
    if isinstance(grid.step_x, int):
        copy_rows(f, dtype, block, grid, source, first, count, target, step, 1)
        return
    with f.choose(grid.step_x.equals(1)) as (then, other):
        with then:
            copy_rows(f, dtype, block, grid, source, first, count, target, step, 1)
        with other:
            copy_rows(f, dtype, block, grid, source, first, count, target, step, grid.step_x)


def copy_rows(f, dtype, block, grid, source, first, count, target, step, stride):
    """The loops of write_patches: with stride 1 in vectors, where what lies outside of the picture is masked away."""
    height, width, _ = grid.source
    c, t = f.variable(I64, first // f.maximum(grid.taps, 1)), f.variable(I64, first % f.maximum(grid.taps, 1))
    lanes = tile_shape(dtype, f.module.target).lanes
    with f.loop(0, count) as number:
        channel, line = source.at(c.get() * height * width), target.at(number * step)
        aims = block.aims.at(t.get() * block.most * 3)
        with f.loop(0, block.number.get(), iterations="rare") as r:
            position, length = block.runs[r * 2], block.runs[r * 2 + 1]
            read, low, high = channel.at(aims[r * 3]), aims[r * 3 + 1], aims[r * 3 + 2]
            piece = line.at(position)
            if isinstance(stride, int):
                with f.loop(0, length, lanes, iterations="rare") as q:
                    store_vector(f, piece.at(q), load_vector(f, read.at(q), lanes, low - q, high - q))
            else:
                with f.loop(0, low, iterations="rare") as q:
                    piece[q] = 0
                with f.loop(low, high, iterations="few") as q:
                    piece[q] = read[q * stride]
                with f.loop(high, length, iterations="rare") as q:
                    piece[q] = 0
        last = (t.get() + 1).equals(grid.taps)
        c.set(f.select(last, c.get() + 1, c.get()))
        t.set(f.select(last, f.number(I64, 0), t.get() + 1))


def load_vector(f, array, lanes, low, high):
    """Lanes [low, high) of a vector at the beginning of an Array, 0 in the others, which are not read."""
    build, kind = f.builder, ir.VectorType(array.stored, lanes)
    mask = build.and_(build.not_(first_lanes(build, low.ir, lanes)), first_lanes(build, high.ir, lanes))
    load = masked(f.module, "load", kind, array.stored)
    return build.call(load, [array.pointer, ir.Constant(I32, array.dtype.itemsize), mask, ir.Constant(kind, None)])


def load_whole(f, array, lanes):
    """The vector at the beginning of an Array."""
    return f.builder.load(array.pointer, typ=ir.VectorType(array.stored, lanes), align=array.dtype.itemsize)


def store_vector(f, array, vector):
    """Write a vector to the beginning of an Array."""
    f.builder.store(vector, array.pointer, align=array.dtype.itemsize)


def store_some(f, array, vector, count):
    """Write the first `count` lanes of a vector to the beginning of an Array."""
    store, mask = masked(f.module, "store", vector.type, vector.type.element), first_lanes(f.builder, count.ir, vector.type.count)
    f.builder.call(store, [vector, array.pointer, ir.Constant(I32, array.dtype.itemsize), mask])


def every_other(build, a, b, odd):
    """Lanes odd, odd + 2, .. of two vectors side by side."""
    count = a.type.count
    return build.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, count), [2 * i + odd for i in range(count)]))


def side_by_side(build, even, odd):
    """The two vectors whose lanes are even[0], odd[0], even[1], odd[1], .."""
    count = even.type.count
    for half in range(2):
        order = [half * count // 2 + i // 2 + (count if i % 2 else 0) for i in range(count)]
        yield build.shuffle_vector(even, odd, ir.Constant(ir.VectorType(I32, count), order))

"""Depthwise convolution: each channel of the result reads one channel of the picture, so there is no product of matrices.

    forward           out[o, i, j]  = sum over p, q of w[o, p, q] lines[i SH + p DH, j SW + q DW]        o = (group, m)
    backward_data     dx[g, y, x]   = sum over m, p, q of w[(g, m), p, q] lines_m[y + (KH - 1 - p) DH, ..]
    backward_weights  dw[o, p, q]   = sum over pictures, i, j of dout[o, i, j] lines[i SH + p DH, j SW + q DW]

`lines` are some lines of one channel with the border's zeros around, so that no tap asks whether it is inside. Their
columns stand apart by their remainder modulo SW: a vector of neighbouring results reads neighbours, whatever the stride
is. For the gradient of the picture they are dout with SH - 1 and SW - 1 zeros between its pixels.

The register tile of all other convolutions (`tile`) has six rows, of which a single channel would use one. Here eight
vectors of pixels meet one tap after the other: a weight is spread once for eight multiply-adds. For the gradient of
weights a vector of dout meets nine taps, each with a sum of its own.
"""
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...common.dtype import int64
from .finish import Finish, named
from .native import I32, I64, PTR, Module, Value, compute_type
from .patches import Window, every_other, load_vector, load_whole, store_some, store_vector
from .scratch import borrow, give_back
from .tile import folded, multiply_add, spread, tile_shape

VECTORS, TAPS = 8, 9                                # vectors of results, and sums of the weights' gradient, at a time
ENTRY = 3                                           # numbers of a vector: where it reads, its position, how many lanes


@dataclass
class Plane:
    """What is read and made: all Values.

    height, width       : of the source;             gap_y, gap_x  : 1 + how many zeros stand between its pixels
    top, left           : zeros before it;           high, wide    : of the result
    step_y, step_x      : from a pixel of the result to the next one in the lines
    """
    height: Any
    width: Any
    gap_y: Any
    gap_x: Any
    top: Any
    left: Any
    high: Any
    wide: Any
    step_y: Any
    step_x: Any


class Lines:
    """Lines of `many` channels with zeros around, for blocks of `high` lines of the result; memory of one chunk.

    pitch   : elements from one line to the next;      far  : to the next channel
    offsets : for each channel and tap, where it reads
    entries : for each vector of results of a block
    """

    def __init__(self, f, dtype, window, plane, many, extra=0):
        self.f, self.dtype, self.window, self.plane, self.many = f, dtype, window, plane, many
        self.lanes, size = tile_shape(dtype, f.module.target).lanes, dtype.itemsize
        reach_x, self.reach_y = window.dw * (window.kw - 1), window.dh * (window.kh - 1)
        self.vectors = (plane.wide + self.lanes - 1) // self.lanes                 # in a line of the result
        self.phase = (self.vectors * self.lanes + reach_x // plane.step_x + 1 + self.lanes - 1) // self.lanes * self.lanes
        self.pitch = self.phase * plane.step_x
        lines = f.maximum(f.module.target.lines // f.maximum(self.pitch * many, 1) - self.reach_y, 1)
        self.high = f.minimum((lines + plane.step_y - 1) // plane.step_y, f.maximum(plane.high, 1))
        self.far = ((self.high - 1) * plane.step_y + self.reach_y + 1) * self.pitch
        tables = (many * window.taps + self.high * self.vectors * ENTRY) * 8
        self.memory = borrow(f, tables + (self.far * many + self.pitch + extra * self.high * self.vectors * self.lanes
                                          + 4 * self.lanes) * size + 64)
        with f.when(self.memory.equals(0)):
            f.give(1)
        self.offsets = f.array(int64, self.memory)
        self.entries = self.offsets.at(many * window.taps)
        self.lines = f.array(dtype, (self.memory + tables + 63) // 64 * 64)
        self.spare = self.lines.at(self.far * many)
        self.rows = self.spare.at(self.pitch + self.lanes)
        self.list_vectors()

    def list_vectors(self):
        """Fill the entries: line by line, so those of fewer lines are the first ones."""
        f, plane = self.f, self.plane
        with f.loop(0, self.high, iterations="rare") as i, f.loop(0, self.vectors, iterations="rare") as v:
            entry = self.entries.at((i * self.vectors + v) * ENTRY)
            entry[0] = i * plane.step_y * self.pitch + v * self.lanes
            entry[1] = i * plane.wide + v * self.lanes
            entry[2] = f.minimum(plane.wide - v * self.lanes, self.lanes)

    def aim(self, mirrored=False):
        """Fill the offsets: those of tap (p, q), or mirrored."""
        f, s, plane = self.f, self.window, self.plane
        with f.loop(0, self.many, iterations="rare") as m, f.loop(0, s.kh, iterations="rare") as p, \
                f.loop(0, s.kw, iterations="rare") as q:
            y, x = (p * s.dh, q * s.dw) if not mirrored else ((s.kh - 1 - p) * s.dh, (s.kw - 1 - q) * s.dw)
            self.offsets[(m * s.kh + p) * s.kw + q] = m * self.far + y * self.pitch + x % plane.step_x * self.phase \
                + x // plane.step_x

    def fetch(self, m, source, first, count):
        """The lines that `count` lines of the result from `first` on read, of channel m: `source` is an Array."""
        f, plane = self.f, self.plane
        begin = first * plane.step_y - plane.top
        with f.loop(0, (count - 1) * plane.step_y + self.reach_y + 1, iterations="rare") as y:
            line, target = begin + y, self.lines.at(m * self.far + y * self.pitch)
            inside = (line >= 0) & (line < plane.height * plane.gap_y)
            if not isinstance(plane.gap_y, int):
                inside = inside & (line % plane.gap_y).equals(0)
            with f.choose(inside) as (then, other):
                with other:
                    f.fill(target.address, 0, self.pitch * self.dtype.itemsize)
                with then:
                    self.fetch_line(source.at(line // plane.gap_y * plane.width), target)

    def fetch_line(self, source, target):
        """One line: where its columns are no neighbours in the source or the lines, in two steps."""
        f, plane = self.f, self.plane
        if not isinstance(plane.gap_x, int):
            with f.choose(plane.gap_x.equals(1)) as (then, other):
                with then:
                    self.pad(source, target)
                with other:
                    self.spread(source, target)
        elif isinstance(plane.step_x, int):
            self.pad(source, target)
        else:
            with f.choose(plane.step_x.equals(1)) as (then, other):
                with then:
                    self.pad(source, target)
                with other:
                    self.pad(source, self.spare)
                    self.part(target)

    def pad(self, source, target):
        """target = the border's zeros, the line of the source, zeros. What is written too far is written again."""
        f, plane, lanes = self.f, self.plane, self.lanes
        zero = ir.Constant(ir.VectorType(target.stored, lanes), None)
        begin = f.maximum(plane.left, 0)
        read, to = source.at(begin - plane.left), target.at(begin)
        there = f.minimum(plane.width + plane.left, self.pitch) - begin
        whole = f.maximum(there, 0) // lanes * lanes
        with f.loop(0, f.minimum(begin, self.pitch), lanes, iterations="rare") as x:
            store_vector(f, target.at(x), zero)
        with f.loop(0, whole, lanes, iterations="rare") as x:
            store_vector(f, to.at(x), load_whole(f, read.at(x), lanes))
        rest = begin + whole
        with f.when(rest < self.pitch):
            store_vector(f, to.at(whole), load_vector(f, read.at(whole), lanes, f.number(I64, 0), there - whole))
        with f.loop(rest + lanes, self.pitch, lanes, iterations="rare") as x:
            store_vector(f, target.at(x), zero)

    def spread(self, source, target):
        """target = the line of the source with zeros between its pixels."""
        f, plane = self.f, self.plane
        f.fill(target.address, 0, self.pitch * self.dtype.itemsize)
        low = f.maximum(plane.gap_x - 1 - plane.left, 0) // plane.gap_x                 # 0 <= left + x GAP < pitch
        high = f.minimum(plane.width, f.maximum(self.pitch - plane.left + plane.gap_x - 1, 0) // plane.gap_x)
        with f.loop(low, high, iterations="rare") as x:
            target[plane.left + x * plane.gap_x] = source[x]

    def part(self, target):
        """target = the columns of the spare line, apart by their remainder."""
        f, plane, lanes = self.f, self.plane, self.lanes
        with f.choose(plane.step_x.equals(2)) as (then, other):
            with then, f.loop(0, self.phase, lanes, iterations="rare") as x:
                left, right = [load_whole(f, self.spare.at(2 * x + k * lanes), lanes) for k in range(2)]
                for odd in range(2):
                    store_vector(f, target.at(odd * self.phase + x), every_other(f.builder, left, right, odd))
            with other, f.loop(0, plane.step_x, iterations="rare") as r, f.loop(0, self.phase, iterations="rare") as x:
                target[r * self.phase + x] = self.spare[x * plane.step_x + r]

    def end(self):
        """Give the memory back."""
        give_back(self.f, self.memory)


def write_depthwise(target, kind, dtype, finish=""):
    """The Module of `conv2d_depthwise`, of kind "forward" or "backward_data".

    args : left, right, out, the operands of `finish`, 16 sizes; [begin, end): pairs (picture, group)
    """
    module, forward = Module(f"conv2d_depthwise_{kind}_{dtype.short}{named(finish)}", target), kind == "forward"
    sums = write_sums(module, dtype)
    with module.kernel(module.name) as f:
        rest = Finish(f, dtype, finish, 2)
        s = Window(f, rest.arguments)
        if forward:
            plane, many = Plane(s.h, s.w, 1, 1, s.top, s.left, s.oh, s.ow, s.sh, s.sw), 1
        else:
            plane, many = Plane(s.oh, s.ow, s.sh, s.sw, s.dh * (s.kh - 1) - s.top, s.dw * (s.kw - 1) - s.left, s.h, s.w,
                                1, 1), s.og
        lines = Lines(f, dtype, s, plane, many)
        lines.aim(mirrored=not forward)
        left, right, out = (f.array(dtype, f.arg(k)) for k in range(3))
        with f.loop(f.begin, f.end) as item:
            g = item % s.g
            weights = right.at(g * s.og * s.taps)
            if forward:
                with f.loop(0, plane.high, lines.high) as i:
                    count = f.minimum(plane.high - i, lines.high)
                    lines.fetch(0, left.at(item * s.image), i, count)
                    with f.loop(0, s.og) as m:
                        position = (item * s.og + m) * s.plane + i * s.ow
                        f.call(sums, s.taps, weights.at(m * s.taps).address, lines.offsets.address, lines.lines.address,
                               out.at(position).address, lines.entries.address, count * lines.vectors, (s.oh - i) * s.ow)
                        if rest.steps:
                            rest.line(position, count * s.ow, g * s.og + m)
            else:
                douts, dx = left.at(item * s.og * s.plane), out.at(item * s.image)
                with f.choose(are_finite(f, weights, s.og * s.taps)) as (then, other):
                    with then, f.loop(0, plane.high, lines.high) as i:
                        count = f.minimum(plane.high - i, lines.high)
                        with f.loop(0, s.og) as m:
                            lines.fetch(m, douts.at(m * s.plane), i, count)
                        f.call(sums, s.og * s.taps, weights.address, lines.offsets.address, lines.lines.address,
                               dx.at(i * s.w).address, lines.entries.address, count * lines.vectors, (s.h - i) * s.w)
                    with other:
                        add_tap_by_tap(f, s, douts, weights, dx)
        lines.end()
    module.written_by += [write_depthwise, write_sums, Lines, Finish]
    return module


def are_finite(f, numbers, count):
    """True if none of `count` elements is infinite or NaN."""
    zeros = f.variable(compute_type(numbers.dtype), 0.0)
    with f.loop(0, count, iterations="rare") as k:
        zeros.set(zeros.get() + numbers[k] * 0.0)
    return zeros.get().equals(0.0)


def add_tap_by_tap(f, s, douts, weights, dx):
    """The gradient of one channel by what reaches it only: an infinite weight times a zero of the lines would be NaN."""
    f.fill(dx.address, 0, s.image * dx.dtype.itemsize)
    with f.loop(0, s.og, iterations="rare") as m, f.loop(0, s.kh, iterations="rare") as p, \
            f.loop(0, s.kw, iterations="rare") as q, \
            f.loop(0, s.oh, iterations="rare") as i, f.loop(0, s.ow, iterations="rare") as j:
        y, x = i * s.sh + p * s.dh - s.top, j * s.sw + q * s.dw - s.left
        with f.when((y >= 0) & (y < s.h) & (x >= 0) & (x < s.w)):
            position = y * s.w + x
            dx[position] = dx[position] + douts[m * s.plane + i * s.ow + j] * weights[(m * s.kh + p) * s.kw + q]


def write_sums(module, dtype):
    """sums(depth, weights, offsets, lines, out, entries, number, room): for each vector of the entries,

        out[position ..] = sum over k < depth of weights[k] lines[read + offsets[k] ..]

    room : elements from `out` to the end of its plane. What a line's last vector writes behind it, the next line overwrites
    """
    element, lanes = compute_type(dtype), tile_shape(dtype, module.target).lanes
    vector, size = ir.VectorType(element, lanes), dtype.itemsize
    with module.function("sums", [I64, PTR, PTR, PTR, PTR, PTR, I64, I64], inline=True) as f:
        depth, weights, offsets, lines, out, entries, number, room = f.parameters
        build, table = f.builder, f.array(int64, f.integer(entries))
        with f.loop(0, number, VECTORS, iterations="rare") as first:
            mine = [table.at(f.minimum(first + v, number - 1) * ENTRY) for v in range(VECTORS)]   # the last one again
            bases = [build.gep(lines.ir, [entry[0].ir], source_etype=element) for entry in mine]

            def step(k, totals):
                offset = build.load(build.gep(offsets.ir, [k], source_etype=I64), typ=I64)
                weight = build.load(build.gep(weights.ir, [k], source_etype=element), typ=element, align=size)
                weight = spread(build, weight, vector)
                for base, total in zip(bases, totals):
                    read = build.load(build.gep(base, [offset], source_etype=element), typ=vector, align=size)
                    yield multiply_add(module, build, weight, read, total)
            totals = folded(f, depth.ir, [ir.Constant(vector, None)] * VECTORS, step)
            for entry, total in zip(mine, totals):
                write_lanes(f, f.array(dtype, f.integer(out)).at(entry[1]), total, room - entry[1], lanes)
    return module.ir.globals["sums"]


def write_lanes(f, target, vector, count, lanes):
    """Write a vector, of which there is room for `count` lanes."""
    with f.choose(count >= lanes) as (then, other):
        with then:
            store_vector(f, target, vector)
        with other:
            store_some(f, target, vector, count)


def write_weights_gradient(target, dtype):
    """The Module of `conv2d_depthwise_backward_weights`: args x, dout, dw, 16 sizes; [begin, end): channels of dout."""
    module = Module(f"conv2d_depthwise_backward_weights_{dtype.short}", target)
    products = write_products(module, dtype)
    with module.kernel(module.name) as f:
        s = Window(f, 3)
        lines = Lines(f, dtype, s, Plane(s.h, s.w, 1, 1, s.top, s.left, s.oh, s.ow, s.sh, s.sw), 1, extra=1)
        lines.aim()
        x, dout, dw = (f.array(dtype, f.arg(k)) for k in range(3))
        with f.loop(f.begin, f.end) as o:
            f.fill(dw.at(o * s.taps).address, 0, s.taps * dtype.itemsize)
            with f.loop(0, s.n) as n, f.loop(0, s.oh, lines.high) as i:
                count = f.minimum(s.oh - i, lines.high)
                lines.fetch(0, x.at((n * s.g + o // s.og) * s.image), i, count)
                source = dout.at((n * s.o + o) * s.plane + i * s.ow)
                with f.loop(0, count * lines.vectors, iterations="rare") as v:             # with zeros behind each line
                    entry = lines.entries.at(v * ENTRY)
                    store_vector(f, lines.rows.at(v * lines.lanes),
                                 load_vector(f, source.at(entry[1]), lines.lanes, f.number(I64, 0), entry[2]))
                f.call(products, s.taps, lines.offsets.address, lines.lines.address, lines.rows.address,
                       lines.entries.address, count * lines.vectors, dw.at(o * s.taps).address)
        lines.end()
    module.written_by += [write_weights_gradient, write_products, Lines]
    return module


def write_products(module, dtype):
    """products(taps, offsets, lines, rows, entries, number, dw): for each tap,

        dw[tap] += sum over the vectors v of the entries of rows[v] . lines[read + offsets[tap] ..]
    """
    element, lanes = compute_type(dtype), tile_shape(dtype, module.target).lanes
    vector, size = ir.VectorType(element, lanes), dtype.itemsize
    with module.function("products", [I64, PTR, PTR, PTR, PTR, I64, PTR], inline=True) as f:
        taps, offsets, lines, rows, entries, number, dw = f.parameters
        build, table, result = f.builder, f.array(int64, f.integer(offsets)), f.array(dtype, f.integer(dw))
        with f.loop(0, taps, TAPS, iterations="rare") as first:
            bases = [build.gep(lines.ir, [table[f.minimum(first + t, taps - 1)].ir], source_etype=element)
                     for t in range(TAPS)]                                   # the last one again, and thrown away

            def step(v, totals):
                position = build.mul(v, ir.Constant(I64, ENTRY))
                read = build.load(build.gep(entries.ir, [position], source_etype=I64), typ=I64)
                row = build.load(build.gep(rows.ir, [build.mul(v, ir.Constant(I64, lanes))], source_etype=element),
                                 typ=vector, align=size)
                for base, total in zip(bases, totals):
                    line = build.load(build.gep(base, [read], source_etype=element), typ=vector, align=size)
                    yield multiply_add(module, build, row, line, total)
            totals = folded(f, number.ir, [ir.Constant(vector, None)] * TAPS, step)
            for t, total in enumerate(totals):
                with f.when(taps > first + t):
                    result[first + t] = result[first + t] + sum_of_lanes(f, total)
    return module.ir.globals["products"]


def sum_of_lanes(f, vector):
    """The sum of a vector's lanes, halves first."""
    build, count = f.builder, vector.type.count
    while count > 1:
        count //= 2
        low, high = (build.shuffle_vector(vector, vector, ir.Constant(
            ir.VectorType(I32, count), [half * count + i for i in range(count)])) for half in range(2))
        vector = build.fadd(low, high)
    return Value(f, build.extract_element(vector, ir.Constant(I32, 0)))

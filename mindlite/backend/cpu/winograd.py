"""Convolution with windows of 3 x 3 and stride 1 by F(2x2, 3x3): 16 multiplications for 36 (Lavin & Gray 2016).

    U = G w G^T          weights  3 x 3 -> 4 x 4        G   = 1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1
    V = B^T d B          a square of the picture, 4 x 4  B^T = 1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1
    M = sum over channels of U V, number by number:      16 matrix products over the squares of a block
    out = A^T M A        2 x 2 pixels                    A^T = 1 1 1 0; 0 1 -1 -1

Plain NCHW goes in and comes out: the lanes of a vector are neighbouring squares of a line. The transforms add and
subtract, so errors stay near those of the direct sum (B and A hold 0 and +-1 only, G halves). What they do not keep is
where an infinity or NaN stands: within its square of 2 x 2 pixels it spreads.

The gradient of the input is the same convolution of dout with the weights turned around, and other borders.
"""
from llvmlite import ir

from ...common.dtype import int64
from .finish import Finish, named
from .native import F32, I64, Module
from .patches import Window, every_other, load_vector, load_whole, side_by_side, store_some, store_vector
from .scratch import borrow, give_back
from .tile import external_tile, tile_shape
from .unpacked import external_dots

# Numbers of a square, and a gap between their matrices: 16 addresses that are multiples of 4 KiB apart meet in one set
# of the cache, which took twice as long with 512 channels.
ELEMENTS, APART = 16, 80


def write_transform(target, kind, dtype):
    """The Module of `winograd_weights_<kind>`: args w, packed, 16 sizes; [begin, end): panels.

    packed : U for the tile, [16][panel][k][row], the 16 with gaps; rows are output channels and k channels, for the
             gradient of the input the other way round
    """
    module, shape = Module(f"winograd_weights_{kind}_{dtype.short}", target), tile_shape(dtype, target)
    with module.kernel(module.name) as f:
        s = Window(f, 2)
        rows, depth = (s.o, s.c) if kind == "forward" else (s.c, s.o)
        row_step, k_step = (s.c * 9, 9) if kind == "forward" else (9, s.c * 9)
        with f.loop(f.begin, f.end) as panel:
            first = panel * shape.rows
            height = f.minimum(rows - first, shape.rows)
            with f.loop(0, depth) as k, f.loop(0, height, iterations="rare") as r:
                w = f.array(dtype, f.arg(0)).at((first + r) * row_step + k * k_step)
                numbers = [[w[3 * p + q if kind == "forward" else 8 - 3 * p - q] for q in range(3)] for p in range(3)]
                by_lines = [weights_line(*(line[q] for line in numbers)) for q in range(3)]
                target = f.array(dtype, f.arg(1)).at(first * depth + k * height + r)
                for p in range(4):
                    for q, value in enumerate(weights_line(*(by_lines[column][p] for column in range(3)))):
                        target[(4 * p + q) * (rows * depth + APART)] = value
    module.written_by += [write_transform, weights_line]
    return module


def weights_line(a, b, c):
    """G times a column."""
    ends = (a + c) * 0.5
    return a, ends + b * 0.5, ends - b * 0.5, c


def write_winograd(target, kind, dtype, finish=""):
    """The Module of `winograd_<kind>`: args source, packed, result, the operands of `finish`, 16 sizes; [begin, end):
    squares, in tiles."""
    module, shape = Module(f"winograd_{kind}_{dtype.short}{named(finish)}", target), tile_shape(dtype, target)
    lanes, size, width = shape.lanes, dtype.itemsize, shape.columns
    half, most = (shape.whole(squares) for squares in (target.winograd_squares // 2, target.winograd_squares))
    some_rows = target.winograd_rows
    with module.kernel(module.name) as f:
        rest = Finish(f, dtype, finish, 2)
        s = Window(f, rest.arguments)
        tile = external_tile(module, dtype)
        if kind == "forward":
            depth, rows, (height, wide), (high, across), top, left = s.c, s.o, (s.h, s.w), (s.oh, s.ow), s.top, s.left
        else:
            depth, rows, (height, wide), (high, across), top, left = (s.o, s.c, (s.oh, s.ow), (s.h, s.w), 2 - s.top,
                                                                      2 - s.left)
        lines, squares = (high + 1) // 2, (across + 1) // 2
        block = f.select(depth < target.winograd_few, f.number(I64, half), f.number(I64, most))
        step = block + width                                        # one more strip, which vectors may run into
        tables = (depth + 3 * shape.vectors + most * 5) * 8
        memory = borrow(f, tables + ELEMENTS * ((depth + some_rows) * step + APART) * size + 192)
        with f.when(memory.equals(0)):
            f.give(1)
        offsets = f.array(int64, memory)
        strip = offsets.at(depth)
        runs = strip.at(3 * shape.vectors)
        squares_in = f.array(dtype, (memory + tables + 63) // 64 * 64)
        far = depth * step + APART
        products = squares_in.at(ELEMENTS * far)
        with f.loop(0, depth, iterations="rare") as k:
            offsets[k] = k * step
        last = f.minimum(f.end * width, s.n * lines * squares)
        with f.loop(f.begin * width, last, block) as first:
            count = f.minimum(last - first, block)
            number = write_runs(f, runs, first, count, lines, squares)
            with f.loop(0, depth) as c:
                write_squares(f, f.array(dtype, f.arg(0)), depth, c, runs, number, (height, wide, top, left),
                              squares_in.at(c * step), far, lanes)
            with f.loop(0, rows, some_rows) as row:
                some = f.minimum(rows - row, some_rows)
                with f.loop(0, ELEMENTS, iterations="rare") as element, f.loop(0, count, width, iterations="rare") as j:
                    for v in range(shape.vectors):
                        strip[3 * v] = squares_in.at(element * far + j + v * lanes).address
                        strip[3 * v + 1] = products.at(element * some_rows * step + j + v * lanes).address
                        strip[3 * v + 2] = lanes
                    weights = f.arg(1) + (element * (rows * depth + APART) + row * depth) * size
                    f.call(tile, some, depth, weights, offsets.address, strip.address, step, 0)
                with f.loop(0, some) as r, f.loop(0, number, iterations="rare") as i:
                    run = runs.at(i * 5)
                    result, bias = (run[0] * rows + row + r) * high * across, rest.spread(row + r)
                    with f.loop(0, run[3], lanes, iterations="rare") as q:
                        write_pixels(f, products.at(r * step + run[4] + q), some_rows * step, rest, bias, result, run[1] * 2,
                                     (run[2] + q) * 2, high, across, f.minimum(run[3] - q, lanes) * 2, lanes)
        give_back(f, memory)
    module.written_by += [write_winograd, write_squares, write_square, write_pixels, Finish]
    return module


def write_runs(f, runs, first, count, lines, squares):
    """Cut a block of squares into pieces of lines: [picture, line, square, how many, position]; how many pieces."""
    at, number = f.variable(I64, 0), f.variable(I64, 0)
    with f.repeat() as again:
        square = first + at.get()
        run, length = runs.at(number.get() * 5), f.minimum(squares - square % squares, count - at.get())
        line = square // squares
        for i, value in enumerate((line // lines, line % lines, square % squares, length, at.get())):
            run[i] = value
        at.set(at.get() + length)
        number.set(number.get() + 1)
        again(at.get() < count)
    return number.get()


def write_squares(f, pictures, channels, c, runs, number, sizes, target, far, lanes):
    """V of channel c, for all runs of squares; sizes: height, width, border above, border on the left."""
    height, wide, top, left = sizes
    with f.loop(0, number, iterations="rare") as r:
        run = runs.at(r * 5)
        picture = pictures.at((run[0] * channels + c) * height * wide)
        with f.loop(0, run[3], lanes, iterations="rare") as q:
            y, x, start = run[1] * 2 - top, (run[2] + q) * 2 - left, target.at(run[4] + q)
            inside = (y >= 0) & (y + 4 <= height) & (x >= 0) & (x + 2 * lanes + 2 <= wide)
            with f.choose(inside) as (then, other):
                for branch, checked in ((then, False), (other, True)):
                    with branch:
                        write_square(f, picture, start, far, y, x, height, wide, lanes, checked)


def write_square(f, picture, target, far, y, x, height, wide, lanes, checked):
    """V of `lanes` squares from line y, column x on: target[element far + square]; checked: zeros stand outside."""
    build = f.builder

    def load(line, column):
        source = picture.at(line * wide + column)
        if not checked:
            return load_whole(f, source, lanes)
        there = (line >= 0) & (line < height)
        return load_vector(f, source, lanes, -column, f.select(there, wide - column, f.number(I64, 0)))
    columns: list = [[], [], [], []]
    for p in range(4):
        near, next_ = ([load(y + p, x + k), load(y + p, x + k + lanes)] for k in (0, 2))
        for q, (left, right) in enumerate((near, near, next_, next_)):
            columns[q].append(every_other(build, left, right, q % 2))
    by_lines = [square_line(build, *column) for column in columns]
    for p in range(4):
        for q, value in enumerate(square_line(build, *(by_lines[column][p] for column in range(4)))):
            store_vector(f, target.at((4 * p + q) * far), value)


def square_line(build, a, b, c, d):
    """B^T times a column."""
    return build.fsub(a, c), build.fadd(b, c), build.fsub(c, b), build.fsub(b, d)


def pixel_line(build, a, b, c, d):
    """A^T times a column."""
    return build.fadd(build.fadd(a, b), c), build.fsub(build.fsub(b, c), d)


def write_pixels(f, products, far, rest, bias, result, y, x, high, across, count, lanes):
    """Two lines of pixels, at most `count` in each, from `lanes` squares of products[element far + square].

    rest, bias : the Finish, and its bias in all lanes;   result: the element where the picture of this channel begins
    """
    build, kind = f.builder, ir.VectorType(F32, lanes)
    m = [[build.load(products.at((4 * p + q) * far).pointer, typ=kind, align=4) for p in range(4)] for q in range(4)]
    by_lines = [pixel_line(build, *column) for column in m]
    count = f.minimum(count, across - x)
    for p in range(2):
        even, odd = pixel_line(build, *(by_lines[column][p] for column in range(4)))
        with f.when(y + p < high):
            for half, pixels in enumerate(side_by_side(build, even, odd)):
                at, left = result + (y + p) * across + x + half * lanes, count - half * lanes
                target, more = rest.out.at(at), None if rest.residual is None else rest.residual.at(at)
                with f.choose(left >= lanes) as (then, other):
                    with then:
                        store_vector(f, target, rest.value(pixels, bias, more and load_whole(f, more, lanes)))
                    with other:
                        pixels = rest.value(pixels, bias, more and load_vector(f, more, lanes, f.number(I64, 0), left))
                        store_some(f, target, pixels, left)


def write_weights_gradient(target, dtype):
    """The Module of `winograd_backward_weights`: args x, dout, dw, workspace, 16 sizes; [begin, end): channels of x.

    dw = G^T (sum over squares of (A dout A^T) V) G; the sums, [16][o][c] with gaps, stand in the workspace
    """
    module, shape, size = Module(f"winograd_backward_weights_{dtype.short}", target), tile_shape(dtype, target), dtype.itemsize
    lanes, most, most_rows = shape.lanes, target.gradient_pixels, target.gradient_rows
    with module.kernel(module.name) as f:
        s, dots = Window(f, 4), external_dots(module, dtype)
        lines, squares = (s.oh + 1) // 2, (s.ow + 1) // 2
        total = s.n * lines * squares
        block = f.minimum(f.select(s.o < target.winograd_few, f.number(I64, most), f.number(I64, most // 2)), total)
        step = (block + 15) // 16 * 16 + 16
        tables = block * 5 * 8
        memory = borrow(f, tables + ELEMENTS * ((s.o + most_rows) * step + APART) * size + 128)
        with f.when(memory.equals(0)):
            f.give(1)
        runs = f.array(int64, memory)
        given = f.array(dtype, (memory + tables + 63) // 64 * 64)
        far, sums_far = s.o * step + APART, s.o * s.c + APART
        seen = given.at(ELEMENTS * far)
        x, dout, dw, sums = (f.array(dtype, f.arg(i)) for i in range(4))
        with f.loop(0, ELEMENTS, iterations="rare") as element, f.loop(0, s.o, iterations="rare") as o:
            f.fill(sums.at(element * sums_far + o * s.c + f.begin).address, 0, (f.end - f.begin) * size)
        with f.loop(0, total, block) as first:
            count = f.minimum(total - first, block)
            number = write_runs(f, runs, first, count, lines, squares)
            with f.loop(0, s.o) as o:
                write_given(f, s, dout, o, runs, number, given.at(o * step), far, lanes)
            with f.loop(f.begin, f.end, most_rows) as c0:
                kept = f.minimum(f.end - c0, most_rows)
                with f.loop(0, kept) as c:
                    write_squares(f, x, s.c, c0 + c, runs, number, (s.h, s.w, s.top, s.left), seen.at(c * step),
                                  most_rows * step, lanes)
                with f.loop(0, ELEMENTS, iterations="rare") as element:
                    f.call(dots, s.o, kept, count, given.at(element * far).address, step,
                           seen.at(element * most_rows * step).address, step, 1, sums.at(element * sums_far + c0).address, s.c)
        with f.loop(0, s.o, iterations="rare") as o, f.loop(f.begin, f.end, iterations="rare") as c:
            numbers = [[sums[(4 * p + q) * sums_far + o * s.c + c] for q in range(4)] for p in range(4)]
            by_lines = [gradient_line(*(numbers[p][q] for p in range(4))) for q in range(4)]
            for p in range(3):
                for q, value in enumerate(gradient_line(*(by_lines[column][p] for column in range(4)))):
                    dw[(o * s.c + c) * 9 + 3 * p + q] = value
        give_back(f, memory)
    module.written_by += [write_weights_gradient, write_squares, write_square, write_given]
    return module


def gradient_line(a, b, c, d):
    """G^T times a column."""
    ends = (b + c) * 0.5
    return a + ends, (b - c) * 0.5, ends + d


def write_given(f, s, dout, o, runs, number, target, far, lanes):
    """A d A^T for the 2 x 2 pixels of dout in each square of all runs."""
    build = f.builder
    zero = f.number(I64, 0)
    with f.loop(0, number, iterations="rare") as r:
        run = runs.at(r * 5)
        picture = dout.at((run[0] * s.o + o) * s.plane)
        with f.loop(0, run[3], lanes, iterations="rare") as q:
            y, x, start = run[1] * 2, (run[2] + q) * 2, target.at(run[4] + q)
            lines = []
            for p in range(2):
                left = f.select(y + p < s.oh, s.ow - x, zero)
                first, second = [load_vector(f, picture.at((y + p) * s.ow + x + k * lanes), lanes, zero, left - k * lanes)
                        for k in range(2)]
                lines.append([every_other(build, first, second, odd) for odd in range(2)])
            by_lines = [given_line(build, lines[0][odd], lines[1][odd]) for odd in range(2)]
            for p in range(4):
                for k, value in enumerate(given_line(build, by_lines[0][p], by_lines[1][p])):
                    store_vector(f, start.at((4 * p + k) * far), value)


def given_line(build, a, b):
    """A times a column."""
    return a, build.fadd(a, b), build.fsub(a, b), build.fsub(ir.Constant(a.type, None), b)


def workspace(rows, depth):
    """Elements of the 16 matrices [rows, depth] of weights or their gradients."""
    return ELEMENTS * (rows * depth + APART)

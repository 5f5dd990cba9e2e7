"""Direct convolution for step 1: the register tile reads the picture, from a copy of some lines with zeros around.

    lines[c, y, x]  =  picture[c, first + y, x - border] or 0           a block of pixels, and what they reach
    b[k] of a vector of pixels (i, j ..) = lines[c, i + row[t], j + column[t] ..]           k = (c, t)

Where `implicit` writes each number once for each tap, here it is copied once, and the taps of a line meet in the
first-level cache. That is worth most where there are few channels on the other side (a first layer, LeNet). Pixels of
one line share a vector, so narrow pictures waste lanes: `implicit` is for them, and for strides.
"""
from ...common.dtype import int64
from .native import I64
from .patches import channels_at_once, load_vector, store_vector
from .scratch import give_back
from .tile import external_tile, tile_shape

ENTRY = 3                                           # numbers of a vector: where it reads, its position, how many pixels


class Direct:
    """Memory of one chunk: `write` writes the loops over its pixels, `end` gives the memory back.

    write_memory : f, bytes -> address; ends the kernel if there is none
    rows         : of the result, at most;   taps, least: of the grids, at most and at least
    widest, span : the grid's width at most; how far the taps are from each other, (rows, columns)
    step         : between neighbours
    """

    def __init__(self, f, module, dtype, rows, taps, least, widest, span, write_memory, step=1):
        self.f, self.dtype, self.shape, self.step = f, dtype, tile_shape(dtype, f.module.target), step
        self.tile, size = external_tile(module, dtype), dtype.itemsize
        channels, depth = channels_at_once(f, least), f.maximum(f.module.target.tile_depth, taps)
        self.high = f.maximum(f.module.target.pixels // f.maximum(widest, 1), 1)                   # lines of a block
        self.pitch = widest + span[1] + 2 * self.shape.lanes
        self.far = (((self.high + span[0]) * self.pitch + 15) // 16 | 1) * 16      # to the next channel: odd lines
        entries = f.module.target.pixels * ENTRY * 8
        tables = depth * 8 + entries + self.shape.vectors * 24
        copied = (channels * self.far + 2 * self.shape.columns) * size
        self.memory = write_memory(f, tables + copied + rows * self.shape.columns * size + 128)
        self.offsets = f.array(int64, self.memory)
        self.entries = self.offsets.at(depth)
        self.strip = self.entries.at(f.module.target.pixels * ENTRY)
        self.lines = f.array(dtype, (self.memory + tables + 63) // 64 * 64)
        self.spare = self.lines.address + copied

    def write(self, grid, groups, group, rows, depth, plane, finish=None):
        """The results of all rows at the chunk's pixels.

        group  : g -> addresses of its source, its packed weights, its first row in the result
        plane  : elements from row to row
        finish : the Finish of what lies side by side in the result
        """
        f, width, picture = self.f, self.shape.columns, grid.height * grid.width
        top, left = self.reach(grid)
        most = channels_at_once(f, grid.taps)
        self.aim(grid, most, top, left)
        last, at = f.minimum(f.end * width, grid.pixels), f.variable(I64, f.begin * width)
        whole = self.high * grid.width
        with f.when(at.get() < last), f.repeat() as again:
            begin = at.get()
            n, inside = begin // picture, begin % picture
            i, j = inside // grid.width, inside % grid.width
            count = f.minimum(f.minimum(f.minimum(whole - j, f.module.target.pixels), picture - inside), last - begin)
            number = self.vectors(grid, n, i, j, count)
            below = (j + count - 1) // grid.width + 1
            with f.loop(0, groups) as g, f.loop(0, f.maximum(depth, 1), most * f.maximum(grid.taps, 1)) as k0:
                source, packed, result = group(g)
                some = f.minimum(depth - k0, most * grid.taps)
                channels = some // f.maximum(grid.taps, 1)
                self.copy(grid, f.array(self.dtype, source).at(n * grid.source[2]), k0 // f.maximum(grid.taps, 1),
                          channels, i + top, left, below)
                with f.loop(0, number, self.shape.vectors, iterations="rare") as v:
                    self.multiply(v, number, rows, some, packed + rows * k0 * self.dtype.itemsize, result, plane,
                                  f.convert(k0 > 0, I64))
            if finish is not None:
                finish.write(grid.position(n, i, j), count, groups * rows, plane)
            at.set(begin + count)
            again(begin + count < last)

    def reach(self, grid):
        """The least offsets of the taps: (row, column)."""
        f = self.f
        least = [f.variable(I64, offsets[0]) for offsets in (grid.rows, grid.columns)]
        with f.loop(0, grid.taps, iterations="rare") as t:
            for low, offsets in zip(least, (grid.rows, grid.columns)):
                low.set(f.minimum(low.get(), offsets[t]))
        return [low.get() for low in least]

    def aim(self, grid, most, top, left):
        """offsets[c taps + t] = where tap t of channel c stands in the lines."""
        f = self.f
        with f.loop(0, most, iterations="rare") as c, f.loop(0, grid.taps, iterations="rare") as t:
            self.offsets[c * grid.taps + t] = c * self.far + (grid.rows[t] - top) * self.pitch + grid.columns[t] - left

    def vectors(self, grid, n, i, j, count):
        """Fill the entries of `count` pixels from (i, j) of picture n on; how many vectors they are."""
        f = self.f
        made, done, lanes = f.variable(I64, 0), f.variable(I64, 0), self.shape.lanes
        with f.repeat() as again:
            at = j + done.get()
            line, x = at // grid.width, at % grid.width
            some = f.minimum(f.minimum(grid.width - x, lanes), count - done.get())
            entry = self.entries.at(made.get() * ENTRY)
            entry[0], entry[1], entry[2] = line * self.pitch + x, grid.position(n, i + line, x), some
            made.set(made.get() + 1)
            done.set(done.get() + some)
            again(done.get() < count)
        return made.get()

    def copy(self, grid, source, first, channels, top, left, below):
        """Lines top .. of some channels, `below` of them and what the taps reach, with zeros where the picture ends."""
        f, lanes = self.f, self.shape.lanes
        height, width, _ = grid.source
        reached = f.variable(I64, 0)
        with f.loop(0, grid.taps, iterations="rare") as t:
            reached.set(f.maximum(reached.get(), self.offsets[t]))
        lines = reached.get() // self.pitch + below
        with f.loop(0, channels) as c, f.loop(0, lines, iterations="rare") as y:
            line, to = top + y, self.lines.at(c * self.far + y * self.pitch)
            high = f.select((line >= 0) & (line < height), width - left, f.number(I64, 0))
            read = source.at(((first + c) * height + line) * width + left)
            with f.loop(0, self.pitch - lanes, lanes, iterations="rare") as x:
                store_vector(f, to.at(x), load_vector(f, read.at(x), lanes, -left - x, high - x))

    def multiply(self, first, number, rows, depth, weights, result, plane, add):
        """The vectors from `first` on that the tile takes at once."""
        f, size, lanes = self.f, self.dtype.itemsize, self.shape.lanes
        if isinstance(self.step, int):
            self.aim_strip(first, number, lambda v, position: result + position * size)
            f.call(self.tile, rows, depth, weights, self.offsets.address, self.strip.address, plane, add)
            return
        self.aim_strip(first, number, lambda v, position: self.spare + v * lanes * size)
        f.call(self.tile, rows, depth, weights, self.offsets.address, self.strip.address, self.shape.columns, 0)
        line, from_ = f.array(self.dtype, result), f.array(self.dtype, self.spare)
        with f.choose(add.equals(0)) as (then, other):
            for branch, more in ((then, False), (other, True)):
                with branch, f.loop(0, f.minimum(number - first, self.shape.vectors), iterations="rare") as v:
                    entry = self.entries.at((first + v) * ENTRY)
                    with f.loop(0, rows) as r, f.loop(0, entry[2], iterations="rare") as q:
                        position = entry[1] + r * plane + q * self.step
                        value = from_[r * self.shape.columns + v * lanes + q]
                        line[position] = line[position] + value if more else value

    def aim_strip(self, first, number, target):
        """Fill the strip for the tile; a vector that there is not counts no lanes."""
        f = self.f
        for v in range(self.shape.vectors):
            there = number > first + v
            entry = self.entries.at(f.select(there, first + v, first) * ENTRY)
            self.strip[3 * v] = self.lines.address + entry[0] * self.dtype.itemsize
            self.strip[3 * v + 1] = target(v, entry[1])
            self.strip[3 * v + 2] = f.select(there, entry[2], f.number(I64, 0))

    def end(self):
        """Free the memory."""
        give_back(self.f, self.memory)

"""Attention in tiles that stay on the chip, and its gradients: the scores are never in the memory of the device.

    text = attention(bfloat16, kind="forward", width=64, causal=True, scale=0.125)      a part, as `library` makes them

A block has 128 rows of its own, 16 for each of its 8 warps, and goes through tiles of the other sequence, of which the next is
copied into shared memory while this one is computed. Products are the tensor cores' (`tensor_cores`), sums are float32.

| kind            | rows of its own | goes through     | makes               |
|-----------------|-----------------|------------------|---------------------|
| forward         | queries         | keys, values     | out, lse            |
| query_gradient  | queries, dout   | keys, values     | the queries' gradient |
| key_gradients   | keys, values    | queries, dout    | those of keys and values |

Scores s = q k^T scale, weights p = exp(s - lse), ds = p (dout v^T - delta), where lse is the logarithm of the sum of exp(s) of a
row, and delta the sum of dout out of a row. Nobody adds to what another block has written, so sums have one order.

source : Dao et al. 2022, "FlashAttention"; Dao 2023, "FlashAttention-2", sections 3.1 and 3.2; the running maximum and sum of a
row: Milakov and Gimelshein 2018
"""
import math

from llvmlite import ir

from ..cpu.native import F32, I8, I32, I64, Value
from .. import words
from . import tensor_cores
from .library_parts import GLOBAL, Parts

WARP, WARPS, OWN = 32, 8, 128          # threads of a warp, warps of a block, its rows: 16 of each warp
THREADS = WARP * WARPS
WIDEST = 128                           # numbers of a row, a multiple of 16
COLUMNS = 32                           # rows of a tile: two pairs of tiles have less than 48 KB of shared memory
LOG2_E = math.log2(math.e)
KINDS = {"forward": 5, "query_gradient": 7, "key_gradients": 8}            # how many arrays each has


def covers(dtype, width):
    """Is there a kernel for rows of so many numbers?"""
    return dtype.name in ("bfloat16", "float16") and isinstance(width, int) and 0 < width <= WIDEST and width % 16 == 0


class Tile:
    """Rows of halves in shared memory, twice: one is filled while the other is read. Rows lie 16 bytes further apart than they
    are long, so that eight of them are in different banks. start: bytes of the block's shared memory before"""

    def __init__(self, parts, rows):
        self.row = 2 * parts.width + 16
        self.start, self.bytes = parts.f.shared_bytes, rows * self.row
        parts.f.shared_bytes += 2 * self.bytes


class Attention:
    """A kernel being written. f: the Threads; words: arrays, heads, rows of queries, of keys"""

    def __init__(self, f, dtype, kind, width, causal, scale):
        self.f, self.kind, self.width, self.causal, self.scale = f, kind, width, causal, scale
        self.short = {"bfloat16": "bf16", "float16": "f16"}[dtype.name]
        self.columns = COLUMNS
        *self.arrays, heads, queries, keys, _ = f.words
        self.own, self.others = (keys, queries) if kind == "key_gradients" else (queries, keys)
        tiles = (self.own + OWN - 1) // OWN
        number = f.block // heads                            # those with the most work first
        self.head = f.block % heads
        self.first = (number if kind == "key_gradients" or not causal else tiles - 1 - number) * OWN
        lane, warp = f.thread % WARP, f.thread // WARP
        self.line, self.pair = lane // 4, lane % 4 * 2       # of a thread in a fragment: its row, its first column
        self.row = self.first + warp * 16 + self.line        # and the row 8 further
        self.shared = Value(f, f.builder.ptrtoint(f.shared, I64))
        self.tiles = Tile(self, self.columns), Tile(self, self.columns)
        pitch = self.tiles[0].row
        self.straight = f.convert((lane // 16 * 8 + lane % 8) * pitch + lane // 8 % 2 * 16, I32)
        self.turned = f.convert((lane // 8 % 2 * 8 + lane % 8) * pitch + lane // 16 * 16, I32)

    # -- what a warp does together

    def do(self, name, *args):
        """A function of `tensor_cores`: a Value, a list of them, or None."""
        result, kinds = tensor_cores.signatures()[name]
        function = self.f.module.ir.globals.get(name) or ir.Function(self.f.module.ir, ir.FunctionType(result, kinds), name)
        made = self.f.builder.call(function, [self.f.lift(x, k).ir for x, k in zip(args, kinds, strict=True)])
        if isinstance(result, ir.LiteralStructType):
            return [Value(self.f, self.f.builder.extract_value(made, k)) for k in range(4)]
        return None if isinstance(result, ir.VoidType) else Value(self.f, made)

    def multiply(self, a, b, c):
        """c + a b for one tile of 16 x 8 numbers."""
        return self.do(f"mma_{self.short}", *a, *b, *c)

    def zeros(self):
        """Sums of a tile of 16 x 8."""
        return [self.f.number(F32, 0.0)] * 4

    def operand(self, left, right):
        """Two neighbouring tiles of sums as the left operand of a product, rounded."""
        pack = lambda x, y: self.do(f"pack_{self.short}", x, y)  # noqa: E731
        return [pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])]

    def larger(self, a, b):
        """The larger of two numbers of float32; of a NaN and a number the number."""
        return Value(self.f, words.call(self.f.builder, "llvm.maxnum.f32", a.ir, b.ir, result=F32))

    def of_quad(self, combine, value):
        """What the four threads that share a row make of their values."""
        f, b = self.f, self.f.builder
        rule = f.module.ir.globals.get("shuffle") or ir.Function(f.module.ir, ir.FunctionType(I32, [I32, I32]), "shuffle")
        for distance in (1, 2):
            other = b.bitcast(b.call(rule, [b.bitcast(value.ir, I32), I32(distance)]), F32)
            value = combine(value, Value(f, other))
        return value

    # -- memory

    def load(self, address, kind=I32):
        """Four bytes of the device's memory."""
        pointer = self.f.builder.inttoptr(address.ir, GLOBAL)
        return Value(self.f, self.f.builder.load(pointer, typ=kind, align=4))

    def own_rows(self, array):
        """The fragments of this warp's rows of an array, a left operand for each 16 columns."""
        fragments = []
        starts = []
        for further in (0, 8):
            row = self.f.minimum(self.row + further, self.own - 1)
            starts.append(array + ((self.head * self.own + row) * self.width + self.pair) * 2)
        for k in range(self.width // 16):
            fragments.append([self.load(start + 32 * k + 16 * half) for half in (0, 1) for start in starts])
        return fragments

    def numbers(self, array):
        """The number of each of this thread's two rows, of an array of float32 with one for each row."""
        return [self.load(array + (self.head * self.own + self.f.minimum(self.row + further, self.own - 1)) * 4, F32)
                for further in (0, 8)]

    def store(self, array, sums, factors):
        """Write this warp's rows of an array: sums, times a factor for each of the thread's two rows."""
        f = self.f
        for half in (0, 1):
            row = self.row + 8 * half
            with f.when(row < self.own):
                start = array + ((self.head * self.own + row) * self.width + self.pair) * 2
                for j, tile in enumerate(sums):
                    low, high = (x.get() * factors[half] for x in tile[2 * half:2 * half + 2])
                    self._put(start + 16 * j, self.do(f"pack_{self.short}", low, high))

    def _put(self, address, value):
        self.f.builder.store(value.ir, self.f.builder.inttoptr(address.ir, GLOBAL), align=4)

    def fetch(self, arrays, first, which, statistics=()):
        """Ask for the tiles of two arrays from a row on, and for a number of each row; which: 0 or 1, where to."""
        f, chunks = self.f, self.width // 8
        for tile, array in zip(self.tiles, arrays):
            place = which * tile.bytes + tile.start
            for step in range(-(-self.columns * chunks // THREADS)):
                at = f.thread + step * THREADS
                row, chunk = at // chunks, at % chunks
                there = first + row < self.others
                source = array + ((self.head * self.others + f.select(there, first + row, 0)) * self.width + chunk * 8) * 2
                with f.when(at < self.columns * chunks):
                    to = place + f.convert(row * tile.row + chunk * 16, I32)
                    self.do("copy16", self.shared, to, source, self._bytes(there, 16))
        for start, array in statistics:
            place = which * (4 * self.columns) + start
            there = first + f.thread < self.others
            with f.when(f.thread < self.columns):
                source = array + (self.head * self.others + f.select(there, first + f.thread, 0)) * 4
                self.do("copy4", self.shared, place + f.convert(f.thread * 4, I32), source, self._bytes(there, 4))

    def _bytes(self, there, count):
        return self.f.select(there, self.f.number(I32, count), 0)

    # -- the loop

    def ends(self):
        """(the first row of the other sequence that matters, the end)"""
        f, start, end = self.f, self.f.number(I64, 0), self.others
        if self.causal and self.kind == "key_gradients":
            start = f.minimum(self.first, self.others) // self.columns * self.columns
        elif self.causal:
            end = f.minimum(self.others, self.first + OWN)
        return start, end

    def tiles_of(self, arrays, statistics, compute):
        """compute(the first row of a tile, its number in shared memory, 0 or 1) for all tiles; the next one is on its way."""
        f = self.f
        start, end = self.ends()
        with f.when(start < end):
            self.fetch(arrays, start, f.number(I32, 0), statistics)
        self.do("copies_asked")
        with f.loop(start, end, self.columns, iterations="written") as first:
            which = f.convert((first - start) // self.columns, I32) & 1
            after = first + self.columns
            with f.when(after < end):
                self.fetch(arrays, after, 1 - which, statistics)
            self.do("copies_asked")
            self.do("copies_but_one")
            f.barrier()
            compute(first, which)
            f.barrier()
        self.do("copies_all")

    def products(self, fragments, place, group):
        """This warp's rows times 16 rows of a tile, as two tiles of sums. place: of the tile, with the thread's own offset"""
        sums, pitch = [self.zeros(), self.zeros()], self.tiles[0].row
        for k, fragment in enumerate(fragments):
            b = self.do("tile", self.shared, place + (group * 16 * pitch + 32 * k))
            sums = [self.multiply(fragment, b[:2], sums[0]), self.multiply(fragment, b[2:], sums[1])]
        return sums

    def accumulate(self, operand, place, group, sums):
        """sums += operand times 16 rows of a tile"""
        pitch = self.tiles[0].row
        for j in range(self.width // 16):
            b = self.do("tile_turned", self.shared, place + (group * 16 * pitch + 32 * j))
            for tile, part in ((sums[2 * j], b[:2]), (sums[2 * j + 1], b[2:])):
                for variable, value in zip(tile, self.multiply(operand, part, [x.get() for x in tile])):
                    variable.set(value)

    def sums(self):
        """Variables for this warp's rows of a result."""
        return [[self.f.variable(F32, 0.0) for _ in range(4)] for _ in range(self.width // 8)]

    def places(self, which):
        """The places of both tiles of a number."""
        return [which * tile.bytes + tile.start for tile in self.tiles]

    def hidden(self, first, column):
        """For each of a thread's four numbers of a tile of scores that begins at a column: a Value, is it hidden?"""
        narrow = lambda x: self.f.convert(x - first, I32)  # noqa: E731
        behind, rows, made = narrow(self.others), [narrow(self.row), narrow(self.row + 8)], []
        for k in range(4):
            other, row = self.f.convert(self.pair, I32) + (column + k % 2), rows[k // 2]
            if self.kind == "key_gradients":                 # rows behind the end are zeros, and so is what comes of them
                made.append(row > other)
            else:
                made.append((other >= behind) | (other > row) if self.causal else other >= behind)
        return made

    def crosses(self, first):
        """Are some scores of a tile hidden? A Value, None where none ever is."""
        if self.kind == "key_gradients":
            return self.first + (OWN - 1) > first if self.causal else None
        outside = first + self.columns > self.others
        return outside | (first + (self.columns - 1) > self.first) if self.causal else outside

    def in_both_ways(self, first, compute):
        """compute(False) for a tile without hidden scores, compute(True) for others."""
        crosses = self.crosses(first)
        if crosses is None:
            compute(False)
            return
        with self.f.choose(crosses) as (some, none):
            with some:
                compute(True)
            with none:
                compute(False)

    # -- the three kinds

    def forward(self):
        f = self.f
        q, k, v, out, lse = self.arrays
        rows, sums = self.own_rows(q), self.sums()
        most, total = ([f.variable(F32, start) for _ in range(2)] for start in (float("-inf"), 0.0))
        unit = self.scale * LOG2_E

        def compute(first, which):
            places = self.places(which)
            scores = []
            for group in range(self.columns // 16):
                for tile in self.products(rows, places[0] + self.straight, group):
                    scores.append([f.variable(F32, 0.0) for _ in range(4)])
                    for variable, value in zip(scores[-1], tile):
                        variable.set(value)
            with f.when(self.crosses(first)):
                for j, tile in enumerate(scores):
                    for variable, hidden in zip(tile, self.hidden(first, 8 * j)):
                        variable.set(f.select(hidden, f.number(F32, float("-inf")), variable.get()))
            scores = [[x.get() for x in tile] for tile in scores]
            for half in (0, 1):
                held = most[half].get()
                now = held
                for tile in scores:
                    for x in tile[2 * half:2 * half + 2]:
                        now = self.larger(now, x)
                now = self.of_quad(self.larger, now)
                most[half].set(now)
                lower = now * unit
                less = self.do("exp2", held * unit - lower)
                part = total[half].get() * less
                for tile in scores:
                    for at in (2 * half, 2 * half + 1):
                        tile[at] = self.do("exp2", tile[at] * unit - lower)
                        part = part + tile[at]
                total[half].set(part)
                for tile in sums:
                    for variable in tile[2 * half:2 * half + 2]:
                        variable.set(variable.get() * less)
            for group in range(self.columns // 16):
                operand = self.operand(scores[2 * group], scores[2 * group + 1])
                self.accumulate(operand, places[1] + self.turned, group, sums)
        self.tiles_of((k, v), (), compute)
        factors = []
        for half in (0, 1):
            whole = self.of_quad(lambda x, y: x + y, total[half].get())
            factors.append(f.select(whole.equals(0.0), f.number(F32, 0.0), f.number(F32, 1.0) / whole))
            row = self.row + 8 * half
            with f.when((row < self.own) & self.pair.equals(0)):
                logarithm = most[half].get() * self.scale + self.do("log2", whole) * math.log(2)
                self._put(lse + (self.head * self.own + row) * 4, logarithm)
        self.store(out, sums, factors)

    def weights(self, scores, derivatives, lse, delta, hidden):
        """(p, ds) of a tile: lse (by log(2)) and delta for each of its four numbers; hidden: a Value for each, or None."""
        p, ds = [], []
        for k in range(4):
            weight = self.do("exp2", scores[k] * (self.scale * LOG2_E) - lse[k])
            if hidden is not None:
                weight = self.f.select(hidden[k], self.f.number(F32, 0.0), weight)
            p.append(weight)
            ds.append(weight * (derivatives[k] - delta[k]))
        return p, ds

    def query_gradient(self):
        q, k, v, dout, lse, delta, dq = self.arrays
        rows, cotangents, sums = self.own_rows(q), self.own_rows(dout), self.sums()
        logarithms, deltas = [x * LOG2_E for x in self.numbers(lse)], self.numbers(delta)
        per_row = lambda two: [two[0], two[0], two[1], two[1]]  # noqa: E731

        def compute(first, which, hides):
            places = self.places(which)
            for group in range(self.columns // 16):
                scores = self.products(rows, places[0] + self.straight, group)
                derivatives = self.products(cotangents, places[1] + self.straight, group)
                made = []
                for j in (0, 1):
                    hidden = self.hidden(first, 16 * group + 8 * j) if hides else None
                    made.append(self.weights(scores[j], derivatives[j], per_row(logarithms), per_row(deltas), hidden)[1])
                self.accumulate(self.operand(*made), places[0] + self.turned, group, sums)
        self.tiles_of((k, v), (), lambda first, which: self.in_both_ways(first, lambda hides: compute(first, which, hides)))
        self.store(dq, sums, [self.scale] * 2)

    def key_gradients(self):
        f = self.f
        q, k, v, dout, lse, delta, dk, dv = self.arrays
        keys, values, of_keys, of_values = self.own_rows(k), self.own_rows(v), self.sums(), self.sums()
        starts = f.shared_bytes, f.shared_bytes + 8 * self.columns
        f.shared_bytes += 16 * self.columns

        def compute(first, which, hides):
            places = self.places(which)

            def statistics(start, column):
                """The numbers of this thread's two columns, for each of a tile's four numbers."""
                place = which * (4 * self.columns) + f.convert(self.pair * 4, I32) + (start + 4 * column)
                pointer = f.builder.gep(f.shared, [I64(0), f.convert(place, I64).ir])
                two = [f.builder.load(f.builder.gep(pointer, [I64(4 * n)], source_etype=I8), typ=F32, align=4) for n in (0, 1)]
                return [Value(f, x) for x in two * 2]
            for group in range(self.columns // 16):
                scores = self.products(keys, places[0] + self.straight, group)
                derivatives = self.products(values, places[1] + self.straight, group)
                p, ds = [], []
                for j in (0, 1):
                    column = 16 * group + 8 * j
                    hidden = self.hidden(first, column) if hides else None
                    logarithms = [x * LOG2_E for x in statistics(starts[0], column)]
                    made = self.weights(scores[j], derivatives[j], logarithms, statistics(starts[1], column), hidden)
                    p.append(made[0])
                    ds.append(made[1])
                self.accumulate(self.operand(*p), places[1] + self.turned, group, of_values)
                self.accumulate(self.operand(*ds), places[0] + self.turned, group, of_keys)
        self.tiles_of((q, dout), list(zip(starts, (lse, delta))),
                      lambda first, which: self.in_both_ways(first, lambda hides: compute(first, which, hides)))
        self.store(dk, of_keys, [self.scale] * 2)
        self.store(dv, of_values, [1.0] * 2)


def attention(dtype, kind, width, causal, scale):
    """words: the arrays of a kind, heads, rows of queries, of keys, extent. Arrays are heads x rows x width, lse and delta
    heads x rows.

    forward: q, k, v, out, lse;   query_gradient: q, k, v, dout, lse, delta, dq;   key_gradients: .., delta, dk, dv
    None where there is none for these facts
    """
    if not covers(dtype, width) or not scale > 0:
        return None
    module = Parts(f"attention_{kind}", KINDS[kind] + 4)
    with module.part(inlined=True) as f:
        getattr(Attention(f, dtype, kind, width, causal, scale), kind)()
    own = KINDS[kind] + (2 if kind == "key_gradients" else 1)
    module.blocks(lambda f, words: words[KINDS[kind]] * ((words[own] + OWN - 1) // OWN))
    return module.finished()

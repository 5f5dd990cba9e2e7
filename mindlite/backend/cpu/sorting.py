"""Lines in order: sorted values and where they stood, equals in their order, NaN as the largest.

    values[r, :, c] = sorted(x[r, :, c])          x[r, indices[r, p, c], c] is values[r, p, c]

An element becomes a whole number that has its order (the bits of a float, those of negative ones turned round; all zeros are
equal, and so are all NaN) with its position behind it, so that no two are equal. Short lines are sorted by counting how many
elements stand before each, in vectors, without a branch; longer ones digit by digit from the least (radix sort: Knuth, TAOCP 3,
5.2.5), 256 piles for each byte. One look counts all digits, and a byte that all elements share is passed over. Elements of 8
bytes leave no room for the position, which moves along beside them.

Along another axis than the last, neighbouring lines are read and written together, as many as fill a cache line.

A median needs no order: the elements in whose pile it lies, by the highest byte, are kept, of those by the next byte, until all
that are left are equal. They stay in their order, so the place among them says which element it is.
"""
from llvmlite import ir

from ...common.dtype import dtype as to_dtype, int8, int16, int32, int64
from ..target import current
from .native import I64, kernel_of, kernel_writer
from .scratch import borrow, give_back

BITS = {1: int8, 2: int16, 4: int32, 8: int64}           # elements as whole numbers
INFINITE = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF << 52}
DTYPES = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), *INFINITE)
PILES, PLACE = 256, 31                                   # of a digit; bits of a position that stands behind an element
ERRORS = ("sort: out of memory for a working copy", "sort: a line of 2**31 elements or more")


def sort_kernel(dtype, descending, target=None):
    """The kernel for `dtype`; None for complex numbers.

    args : [x[rows, n, inner], values[rows, n, inner], indices int64[rows, n, inner], n, inner], n < 2**31
    [begin, end) : lines, of which there are rows * inner
    """
    if not has_sort(dtype):
        return None
    return kernel_of(write_sort, to_dtype(dtype), bool(descending), target=target or current(), errors=ERRORS)


def has_sort(dtype):
    """Whether there is a kernel for `dtype`."""
    return to_dtype(dtype).name in DTYPES


class Keys:
    """Elements of a dtype as numbers of 64 bits in their order: unsigned ones where there are bits left, else signed ones."""

    def __init__(self, f, dtype, descending):
        self.f, self.dtype, self.descending = f, dtype, descending
        self.whole = dtype.itemsize == 8
        self.top = -(1 << 63) if self.whole else 1 << 8 * dtype.itemsize - 1       # the highest bit
        self.all = -1 if self.whole else 2 * self.top - 1                          # all bits
        self.rest = self.all ^ self.top                                            # all others
        self.zero, self.largest = (0, self.rest) if self.whole else (self.top, self.all)    # keys of 0 and NaN
        # what makes positive ones larger than negative ones: the highest bit counts as a sign in 64 bits, else as the largest
        self.turn = self.top if (dtype.kind in "if") is not self.whole else 0

    def of(self, stored):
        """The key of an element, which is read as a whole number."""
        f, bits = self.f, self.f.convert(stored, I64)
        key = bits ^ self.turn
        if self.dtype.is_float:
            size, negative = bits & self.rest, (bits & self.top).differs(0)
            key = f.select(negative, bits ^ (self.rest if self.whole else self.all), key)
            key = f.select(size.equals(0), self.zero, key)
            key = f.select(size > INFINITE[self.dtype.name], self.largest, key)
        return key ^ self.all if self.descending else key

    def back(self, key):
        """The element of a key; of zeros and of NaN one."""
        f = self.f
        key = key ^ self.all if self.descending else key
        bits = key ^ self.turn
        if self.dtype.is_float:
            bits = f.select(key < self.zero, key ^ (self.rest if self.whole else self.all), bits)
        return f.convert(bits, ir.IntType(8 * self.dtype.itemsize))

    def several(self, key):
        """True for the key of a zero or a NaN, of which there are several."""
        key = key ^ self.all if self.descending else key
        return key.equals(self.zero) | key.equals(self.largest)


@kernel_writer(lambda dtype, descending: f"sort_{dtype.short}_{'descending' if descending else 'ascending'}")
def write_sort(f, dtype, descending):
    """The kernel. A line in work is [n] numbers: keys with their positions, or keys and then as many positions."""
    stored, whole = BITS[dtype.itemsize], dtype.itemsize == 8
    x, values, indices = (f.array(of, f.arg(i)) for i, of in enumerate((stored, stored, int64)))
    n, inner, keys = f.arg(3), f.arg(4), Keys(f, dtype, descending)
    sorted_line = write_sorted_line(f.module, dtype.itemsize)
    most = f.module.target.line // dtype.itemsize
    padded = (n + 7) // 8 * 8                            # counting reads whole vectors
    length = padded * (1 + whole)
    with f.when(n > (1 << PLACE) - 1):
        f.give(2)
    with f.when((n > 0) & (f.end > f.begin)):
        together = f.select(inner.equals(1), 1, f.minimum(inner, most))
        memory = borrow(f, (together + 1) * length * 8)
        with f.when(memory.equals(0)):
            f.give(1)
        work = f.array(int64, memory)
        spare = work.at(together * length)

        def fill(line, p, at):
            key = keys.of(x[at])
            line[p] = key if whole else key << PLACE | p
            if whole:
                line[padded + p] = p

        def write(line, p, at, start, step):
            key = line[p]
            index = line[padded + p] if whole else key & (1 << PLACE) - 1
            key = key if whole else key >> PLACE
            indices[at], values[at] = index, keys.back(key)
            if dtype.is_float:
                with f.when(keys.several(key)):
                    values[at] = x[start + index * step]
        with f.choose(inner.equals(1)) as (rows, columns):
            with rows, f.loop(f.begin, f.end) as line:
                start = line * n
                with f.loop(0, n) as p:
                    fill(work, p, start + p)
                place = f.array(int64, f.call(sorted_line, work.address, spare.address, n, padded))
                with f.loop(0, n) as p:
                    write(place, p, start + p, start, 1)
            with columns:
                line = f.variable(I64, f.begin)
                with f.repeat() as again:
                    row, column = line.get() // inner, line.get() % inner
                    width = f.minimum(f.minimum(inner - column, f.end - line.get()), together)
                    start = row * n * inner + column
                    with f.loop(0, n) as p, f.loop(0, width) as q:
                        fill(work.at(q * length), p, start + p * inner + q)
                    with f.loop(0, width) as q:
                        own = work.at(q * length)
                        place = f.call(sorted_line, own.address, spare.address, n, padded)
                        with f.when(place.differs(own.address)):
                            f.copy(own.address, place, length * 8)
                    with f.loop(0, n) as p, f.loop(0, width) as q:
                        write(work.at(q * length), p, start + p * inner + q, start + q, inner)
                    line.set(line.get() + width)
                    again(line.get() < f.end)
        give_back(f, memory)


def write_sorted_line(module, itemsize):
    """Write `address sorted_line(line, spare, n, padded)` into `module`: it sorts a line with the help of another one, and gives
    the address of the one in which the result stands."""
    whole = itemsize == 8
    with module.function("sorted_line", [I64] * 4, I64, inline=True) as f:
        line, spare, n, padded = f.parameters
        line, spare = f.array(int64, line), f.array(int64, spare)
        with f.when(n < module.target.counted * itemsize + 1):
            _count(f, line, spare, n, padded, whole)
            f.give(spare.address)
        tables = f.room(int32, PILES * itemsize)
        f.fill(tables.address, 0, PILES * itemsize * 4)
        with f.loop(0, n) as p:
            number = line[p]
            for byte in range(itemsize):
                at = _digit(number, byte, whole) + PILES * byte
                tables[at] = tables[at] + 1
        first, source, target = line[0], f.variable(I64, line.address), f.variable(I64, spare.address)
        for byte in range(itemsize):
            table = tables.at(PILES * byte)
            with f.when(f.convert(table[_digit(first, byte, whole)], I64) < n):
                total = f.variable(I64, 0)
                with f.loop(0, PILES) as pile:
                    before = total.get()
                    total.set(before + f.convert(table[pile], I64))
                    table[pile] = f.convert(before, ir.IntType(32))
                come, go = f.array(int64, source.get()), f.array(int64, target.get())
                with f.loop(0, n) as p:
                    number = come[p]
                    pile = _digit(number, byte, whole)
                    place = f.convert(table[pile], I64)
                    table[pile] = f.convert(place + 1, ir.IntType(32))
                    go[place] = number
                    if whole:
                        go[padded + place] = come[padded + p]
                source.set(go.address)
                target.set(come.address)
        f.give(source.get())
    module.written_by.append(write_sorted_line)
    return module.ir.globals["sorted_line"]


def _count(f, line, spare, n, padded, whole):
    """Each number goes to the place that says how many are before it."""
    with f.loop(n, padded) as p:
        line[p] = f.number(I64, (1 << 63) - 1)
    with f.loop(0, n) as i:
        mine, before = line[i], f.variable(I64, 0)
        with f.loop(0, padded) as j:
            before.set(before.get() + f.convert(line[j] < mine, I64))
        if whole:
            with f.loop(0, i) as j:
                before.set(before.get() + f.convert(line[j].equals(mine), I64))
            spare[padded + before.get()] = i
        spare[before.get()] = mine


def median_kernel(dtype, skip, target=None):
    """The kernel of the lower middle element of a line and its position; None for complex numbers.

    args : [x[rows, n, inner], values[rows, 1, inner], indices int64[rows, 1, inner], n, inner], 0 < n < 2**31
    [begin, end) : lines, of which there are rows * inner
    skip : of what is no NaN; else the first NaN, where there is one
    """
    if not has_sort(dtype):
        return None
    return kernel_of(write_median, to_dtype(dtype), bool(skip), target=target or current(), errors=ERRORS)


@kernel_writer(lambda dtype, skip: f"median_{dtype.short}{'_skip' * skip}")
def write_median(f, dtype, skip):
    """The kernel. A line in work is [n] numbers, as in `write_sort`."""
    stored, whole = BITS[dtype.itemsize], dtype.itemsize == 8
    x, values, indices = (f.array(of, f.arg(i)) for i, of in enumerate((stored, stored, int64)))
    n, inner, keys = f.arg(3), f.arg(4), Keys(f, dtype, False)
    with f.when(n > (1 << PLACE) - 1):
        f.give(2)
    with f.when((n > 0) & (f.end > f.begin)):
        memory = borrow(f, n * 8 * (1 + whole))
        with f.when(memory.equals(0)):
            f.give(1)
        work, tables = f.array(int64, memory), f.room(int32, PILES)
        with f.loop(f.begin, f.end) as line:
            start = line // inner * n * inner + line % inner
            missing, left, place = f.variable(I64, 0), f.variable(I64, n), f.variable(I64, 0)
            with f.loop(0, n) as p:
                key = keys.of(x[start + p * inner])
                if dtype.is_float:
                    missing.set(missing.get() + f.convert(key.equals(keys.largest), I64))
                work[p] = key if whole else key << PLACE | p
                if whole:
                    work[n + p] = p
            numbers = n - missing.get()
            lower = f.maximum(numbers - 1, 0) // 2
            place.set(lower if skip else f.select(missing.get() > 0, numbers, lower))
            for byte in reversed(range(dtype.itemsize)):
                with f.when(left.get() > 1):
                    _keep_pile(f, work, n, tables, left, place, byte, whole)
            number = work[place.get()]
            index = work[n + place.get()] if whole else number & (1 << PLACE) - 1
            indices[line], values[line] = index, x[start + index * inner]
        give_back(f, memory)


def _keep_pile(f, work, n, tables, left, place, byte, whole):
    """Of the first `left` numbers those whose byte is that of the one at `place` in their order; both become theirs."""
    f.fill(tables.address, 0, PILES * 4)
    with f.loop(0, left.get()) as p:
        pile = _digit(work[p], byte, whole)
        tables[pile] = tables[pile] + 1
    pile, before = f.variable(I64, 0), f.variable(I64, 0)
    with f.repeat() as again:
        size = f.convert(tables[pile.get()], I64)
        further = before.get() + size < place.get() + 1
        before.set(f.select(further, before.get() + size, before.get()))
        pile.set(f.select(further, pile.get() + 1, pile.get()))
        again(further)
    place.set(place.get() - before.get())
    kept, wanted = f.variable(I64, 0), pile.get()
    with f.loop(0, left.get()) as p:
        number = work[p]
        work[kept.get()] = number
        if whole:
            work[n + kept.get()] = work[n + p]
        kept.set(kept.get() + f.convert(_digit(number, byte, whole).equals(wanted), I64))
    left.set(kept.get())


def _digit(number, byte, whole):
    """A byte of a key, the lowest is 0; the highest of a signed one without its sign."""
    found = number >> (8 * byte if whole else PLACE + 8 * byte) & PILES - 1
    return found ^ (PILES // 2 if whole and byte == 7 else 0)

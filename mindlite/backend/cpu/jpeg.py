"""A part of a baseline JPEG, with the bits of libjpeg-turbo: only blocks that the part needs become pixels.

    bytes of a scan -> blocks of coefficients -> planes of brightness and two colours -> bytes [height, width, 3]

"jpeg_table" makes of a file's codes a table that knows a code and the number behind it by their first LOOK bits. "jpeg_part"
decodes the numbers in their order and transforms the blocks that the part needs, then spreads the colours over the pixels and
makes red, green and blue.

Sources: ITU T.81, F.2 and K; Loeffler, Ligtenberg, Moschytz 1989, "Practical fast 1-D DCT algorithms with 11 multiplications",
in the whole numbers of the Independent JPEG Group (13 bits of fraction, 2 between columns and rows). Libjpeg-turbo's vectors have
16 bits: a block for which they may be too few, and all that is not sound, is refused, and a library has the word.
"""
from llvmlite import ir

from ...common.dtype import int16, int32, int64, uint8
from .native import I8, I16, I32, I64, PTR, Value, kernel_writer
from .sampled import DONE, load, same, store, truncated, widened

LOOK = 11                                # bits of the scan that are looked up at once
LIMITS, OFFSETS, SYMBOLS = (1 << LOOK) + 0, (1 << LOOK) + 17, (1 << LOOK) + 34          # in a table, behind its entries
TABLE = SYMBOLS + 256                    # int32 of a table
ENDED = 128                              # what the end of a block adds to the number of a coefficient
LARGEST = 5900                           # sum of a block's coefficients for which 16 bits suffice: 2 ** 15 / (4 * 1.387)
FILLED = 4                               # entries that 56 bits are enough for
BEHIND = 512                             # zeros behind a scan: a block reads fewer
FIELDS = 8                               # int64 of a block of an MCU: see `write_part`
GOOD, BAD = 0, 1


# ------------------------------------------------------------------- codes

@kernel_writer(lambda channels, first: f"jpeg_table_{'first' if first else 'others'}")
def write_table(f, channels, first):
    """args [uint8[16 counts, symbols], out int32[TABLE]]; BAD where there are more codes than bits allow.

    An entry is value << 16 | numbers that are 0 before it << 8 | its bits; where these are more than LOOK it is symbol << 16 |
    bits of the code << 8, or 0 for a longer code, which stands in the lists behind: limits, what leads to symbols, symbols.
    """
    counts, table = f.array(uint8, f.arg(0)), f.array(int32, f.arg(1))
    symbols = counts.at(16)
    f.fill(table.address, 0, 4 * TABLE)
    code, number = f.variable(I64, 0), f.variable(I64, 0)
    with f.loop(1, 17) as length:
        table[length + OFFSETS] = f.convert(number.get() - code.get(), I32)
        with f.loop(0, _wide(f, counts[length - 1])):
            with f.when(code.get() >= _left(f, f.number(I64, 1), length)):
                f.give(BAD)
            symbol = _wide(f, symbols[number.get()])
            table[number.get() + SYMBOLS] = f.convert(symbol, I32)
            if first:
                with f.when(symbol > 15):
                    f.give(BAD)
            size, skipped = (symbol, f.number(I64, 0)) if first else _of_symbol(f, symbol)
            with f.when(length <= LOOK):
                begin = _left(f, code.get(), LOOK - length)
                with f.loop(begin, begin + _left(f, f.number(I64, 1), LOOK - length)) as pattern:
                    rest = LOOK - length - size
                    value = _extended(f, _right(f, pattern, f.maximum(rest, 0)) & (_left(f, f.number(I64, 1), size) - 1), size)
                    entry = f.select(rest < 0, symbol * 65536 + length * 256, value * 65536 + skipped * 256 + length + size)
                    table[pattern] = f.convert(entry, I32)
            code.set(code.get() + 1)
            number.set(number.get() + 1)
        with f.when(code.get() >= _left(f, f.number(I64, 1), length)):
            f.give(BAD)                  # no code consists of ones
        table[length + LIMITS] = f.convert(_left(f, code.get(), 16 - length), I32)
        code.set(code.get() * 2)


def _wide(f, value):
    return Value(f, f.builder.zext(value.ir, I64))


def _left(f, value, count):
    return Value(f, f.builder.shl(value.ir, f.lift(count, I64).ir))


def _right(f, value, count):
    return Value(f, f.builder.lshr(value.ir, f.lift(count, I64).ir))


def _of_symbol(f, symbol):
    """(bits of the number, numbers that are 0 before it)"""
    size, zeros = symbol & 15, _right(f, symbol, 4)
    ended = size.equals(0) & zeros.differs(15)
    return size, f.select(ended, ENDED, zeros)


def _extended(f, bits, size):
    """The number that `size` bits mean (F.2.2.1)."""
    whole = _left(f, f.number(I64, 1), size)
    return f.select(bits < _right(f, whole, 1), bits - whole + 1, bits)


class Bits:
    """The scan, without the zeros behind each 255, and how far it is read.

    `held` has the next `count` bits, from the upper end on.
    """

    def __init__(self, f, clean):
        self.f, self.held, self.count = f, f.variable(I64, 0), f.variable(I64, 0)
        self.place = f.variable(I64, clean)

    def fill(self):
        """Hold 56 bits or more: enough for FILLED entries, or for one longer code and its number."""
        f, build = self.f, self.f.builder
        word = build.load(build.inttoptr(self.place.get().ir, PTR), typ=I64, align=1)
        word = f.call(f.module.external("llvm.bswap.i64", I64, [I64]), Value(f, word))
        self.held.set(self.held.get() | _right(f, word, self.count.get()))
        self.place.set(self.place.get() + _right(f, 63 - self.count.get(), 3))
        self.count.set(self.count.get() | 56)

    def next(self, table, first):
        """(numbers that are 0 before it, the number) of the next code, by a table."""
        f = self.f
        entry = f.variable(I64, 0)
        entry.set(widened(f, table[_right(f, self.held.get(), 64 - LOOK)]))
        with f.when((entry.get() & 255).equals(0)):
            self._long(table, entry, first)
        used = entry.get() & 255
        self.held.set(_left(f, self.held.get(), used))
        self.count.set(self.count.get() - used)
        return _right(f, entry.get(), 8) & 255, entry.get() >> 16

    def _long(self, table, entry, first):
        """A code, or a code and its number, of more than LOOK bits."""
        f = self.f
        self.fill()
        length, symbol = f.variable(I64, 0), f.variable(I64, 0)
        length.set(_right(f, entry.get(), 8) & 255)
        symbol.set(_right(f, entry.get(), 16) & 255)
        with f.when(length.get().equals(0)):
            word = _right(f, self.held.get(), 48)
            length.set(LOOK)
            with f.repeat() as again:
                length.set(length.get() + 1)
                with f.when(length.get() > 16):
                    f.give(BAD)
                again(word >= widened(f, table[length.get() + LIMITS]))
            number = _right(f, word, 16 - length.get()) + widened(f, table[length.get() + OFFSETS])
            symbol.set(widened(f, table[number + SYMBOLS]))
        size, skipped = (symbol.get(), f.number(I64, 0)) if first else _of_symbol(f, symbol.get())
        bits = _right(f, _right(f, _left(f, self.held.get(), length.get()), 1), 63 - size)
        entry.set(_left(f, _extended(f, bits, size), 16) | _left(f, skipped, 8) | (length.get() + size))


def _cleaned(f, source, end, clean):
    """Copy a scan without the zeros behind each 255, until a marker; gives the Variable with the end of what was written."""
    build, at, to = f.builder, f.variable(I64, source), f.variable(I64, clean)
    going = f.variable(I64, 1)
    ones, high = f.number(I64, 0x0101010101010101), f.number(I64, 0x8080808080808080 - (1 << 64))

    def byte(address):
        return _wide(f, f.array(uint8, address)[0])
    with f.repeat() as again:
        safe = at.get() + 8 <= end
        word = f.select(safe, at.get(), source - 8)          # a header stands before it
        word = Value(f, build.load(build.inttoptr(word.ir, PTR), typ=I64, align=1))
        plain = ((f.number(I64, -1) ^ word) - ones & word & high).equals(0)         # none of its bytes is 255
        with f.choose(plain & safe) as (then, other):
            with then:
                build.store(word.ir, build.inttoptr(to.get().ir, PTR), align=1)
                at.set(at.get() + 8)
                to.set(to.get() + 8)
            with other:
                with f.loop(0, 8):
                    with f.when(going.get().equals(1) & (at.get() + 2 <= end)):
                        one = byte(at.get())
                        with f.choose(one.differs(255) | byte(at.get() + 1).equals(0)) as (good, marker):
                            with good:
                                f.array(uint8, to.get())[0] = f.convert(one, I8)
                                to.set(to.get() + 1)
                                at.set(at.get() + f.select(one.equals(255), f.number(I64, 2), f.number(I64, 1)))
                            with marker:
                                going.set(0)
                with f.when(at.get() + 2 > end):
                    going.set(0)
        again(going.get().equals(1))
    with f.when(at.get().differs(end - 2)):
        f.give(BAD)                      # some marker that is not the last one
    f.fill(to.get(), 0, BEHIND)
    return to


# ------------------------------------------------------------------- blocks

@kernel_writer(lambda channels, across, down: f"jpeg_part_{across}{down}")
def write_part(f, channels, across, down):
    """args [the scan, where its file ends, int64[channels, 3: tables of its first and of its other numbers, its divisors,
    int32[64..]], int32[64 + ENDED + 16]: which coefficient each number is, height and width of the image, of the part its top,
    left, height and width, out uint8, room: bytes of the scan + 2048 + 8 width +
    3 (height + 64) (width + 64)]; BAD where the scan is not sound

    across, down : pixels that a colour is for
    """
    scan, end, layout, order = f.arg(0), f.arg(1), f.array(int64, f.arg(2)), f.array(int32, f.arg(3))
    tall, wide, top, left, height, width = (f.arg(k) for k in range(4, 10))
    rows, columns = Window(f, tall, top, height, down), Window(f, wide, left, width, across)
    room = f.arg(11)
    spread = [f.array(uint8, room + k * (2 * width + 64)) for k in range(2)]
    sums = f.array(int16, room + 4 * width + 192)
    place = room + 8 * width + 512
    planes, strides = [], []
    for y, x in ((down, across), (1, 1), (1, 1)):
        planes.append(place)
        strides.append(columns.count * (8 * x))
        place = place + strides[-1] * rows.count * (8 * y)
    blocks = f.room(int64, 6 * FIELDS)
    count = 0
    for component, (plane, stride, y, x) in enumerate(zip(planes, strides, (down, 1, 1), (across, 1, 1))):
        for number in range(y * x):
            # component, its tables and divisors, the place in its plane, how far those of MCUs below and beside are, stride
            fields = (f.number(I64, component), *(layout[component * 3 + k] for k in range(3)),
                      plane + stride * (number // x * 8) + number % x * 8, stride * (8 * y), f.number(I64, 8 * x), stride)
            for k, field in enumerate(fields):
                blocks[count * FIELDS + k] = field
            count += 1
    _scan(f, (scan, end, place + 64), blocks, count, rows, columns, (wide + 8 * across - 1) // (8 * across), order)
    light = f.array(uint8, planes[0] + (top - rows.first * (8 * down)) * strides[0] + left - columns.first * (8 * across))
    out, begin = f.array(uint8, f.arg(10)), left // across
    with f.loop(0, height) as y:
        lines = []
        for plane, target in zip(planes[1:], spread):
            plane = f.array(uint8, plane + begin - columns.first * 8)
            row = (top + y) // down
            line = plane.at((row - rows.first * 8) * strides[1])
            if across == 2:
                beside = f.minimum(f.maximum(row + ((top + y) & 1) * 2 - 1, 0), rows.colours - 1)
                other = plane.at((beside - rows.first * 8) * strides[1]) if down == 2 else None
                _spread(f, line, other, sums, target, begin, (left + width - 1) // 2 - begin + 1, columns.colours)
                line = target.at(left & 1)
            lines.append(line)
        _coloured(f, light.at(y * strides[0]), lines, out.at(y * width * 3), width)


class Window:
    """The MCUs along an axis that a part needs: the first one, behind the last one, their number; and the image's colours."""

    def __init__(self, f, whole, begin, size, pixels):
        beside = 0 if pixels == 1 else 1                     # colours beside those of the part
        self.colours = (whole + pixels - 1) // pixels
        self.first = f.maximum(begin // pixels - beside, 0) // 8
        self.end = f.minimum((begin + size - 1) // pixels + beside, self.colours - 1) // 8 + 1
        self.count = self.end - self.first


def _scan(f, places, blocks, count, rows, columns, wide, order):
    """Decode the MCUs of all rows to the last one of the window. places : the scan, where its file ends, room for it"""
    scan, end, clean = places
    end = _cleaned(f, scan, end, clean).get()
    bits = Bits(f, clean)
    before, coefficients = f.room(int32, 4), f.room(int32, 72)
    f.fill(before.address, 0, 16)
    f.fill(coefficients.address, 0, 72 * 4)
    with f.loop(0, rows.end) as row:
        with f.loop(0, f.select(row.equals(rows.end - 1), columns.end, wide)) as column:
            inside = (row >= rows.first) & (column >= columns.first) & (column < columns.end)
            with f.loop(0, count) as number:
                with f.when(bits.place.get() > end + 8):
                    f.give(BAD)
                component, first, others, divisors, place, below, beside, stride = (blocks[number * FIELDS + k]
                                                                                    for k in range(FIELDS))
                last = _coefficients(f, bits, before.at(component), first, others, f.array(int32, divisors), order, coefficients)
                with f.when((last > 64) & (last < ENDED)):               # numbers behind the last one
                    f.give(BAD)
                with f.when(inside):
                    place = place + (row - rows.first) * below + (column - columns.first) * beside
                    _pixels(f, coefficients, last, place, stride)
                f.fill(coefficients.address, 0, 64 * 4)
    with f.when((bits.place.get() - end) * 8 > bits.count.get()):
        f.give(BAD)


def _coefficients(f, bits, before, first, others, divisors, order, coefficients):
    """Decode the numbers of a block, times their divisors; gives the number behind the last one, + ENDED if it ended early."""
    bits.fill()
    _, step = bits.next(f.array(int32, first), True)
    before[0] = before[0] + f.convert(step, I32)
    coefficients[0] = before[0] * divisors[0]
    place, others = f.variable(I64, 1), f.array(int32, others)

    def one():
        zeros, value = bits.next(others, False)
        here = place.get() + zeros
        coefficients[_wide(f, order[here])] = f.convert(value, I32) * divisors[here]
        place.set(here + 1)
    with f.repeat() as again:
        bits.fill()
        one()
        for _ in range(FILLED - 1):
            with f.when(place.get() < 64):
                one()
        again(place.get() < 64)
    return place.get()


def _pixels(f, coefficients, last, place, stride):
    """The inverse transform of a block, to 8 x 8 bytes."""
    build, out = f.builder, f.array(uint8, place)
    with f.choose(last.equals(ENDED + 2)) as (one, many):
        with one:                        # all are 0 but the first
            level = coefficients[0]
            _refuse(f, f.select(level < 0, 0 - level, level))
            level = (level + 4 >> 3) + 128
            level = f.select(level < 0, f.number(I32, 0), f.select(level > 255, f.number(I32, 255), level))
            row = build.mul(build.zext(truncated(f, level, I8).ir, I64), ir.Constant(I64, 0x0101010101010101))
            for k in range(8):
                store(f, out, stride * k, row)
        with many:
            kind = ir.VectorType(I32, 8)
            rows = [Value(f, load(f, coefficients, 8 * k, kind)) for k in range(8)]
            sizes = [Value(f, build.call(f.module.external("llvm.abs.v8i32", kind, [kind, ir.IntType(1)]),
                                         [row.ir, ir.Constant(ir.IntType(1), 0)])) for row in rows]
            while len(sizes) > 1:
                sizes = [a + b for a, b in zip(sizes[::2], sizes[1::2])]
            total = build.call(f.module.external("llvm.vector.reduce.add.v8i32", I32, [kind]), [sizes[0].ir])
            _refuse(f, Value(f, total))
            columns = _transposed(f, _inverse(f, rows, 11))
            _store_columns(f, _inverse(f, columns, 18), out, stride)


def _refuse(f, total):
    with f.when(total > LARGEST):
        f.give(BAD)


def _inverse(f, x, shift):
    """The inverse transform along eight vectors, without `shift` bits."""
    def n(number):
        return Value(f, same(x[0].ir.type, number))
    middle = (x[2] + x[6]) * n(4433)
    low, high = middle - x[6] * n(15137), middle + x[2] * n(6270)
    total, difference = (x[0] + x[4]) * n(8192), (x[0] - x[4]) * n(8192)
    even = [total + high, difference + low, difference - low, total - high]
    a, b, c, d = x[7], x[5], x[3], x[1]
    all_ = (a + c + b + d) * n(9633)
    first, second = (a + d) * n(-7373), (b + c) * n(-20995)
    third, fourth = (a + c) * n(-16069) + all_, (b + d) * n(-3196) + all_
    odd = [d * n(12299) + first + fourth, c * n(25172) + second + third, b * n(16819) + second + fourth,
           a * n(2446) + first + third]
    half = n(1 << shift - 1)
    return [(one + other + half) >> n(shift) for one, other in zip(even, odd)] + \
        [(one - other + half) >> n(shift) for one, other in zip(even[::-1], odd[::-1])]


def _transposed(f, rows):
    """Rows of eight as columns: three times the first half among the second."""
    for _ in range(3):
        halves = [([k // 2 + 8 * (k % 2) + begin for k in range(8)]) for begin in (0, 4)]
        rows = [Value(f, f.builder.shuffle_vector(rows[k].ir, rows[k + 4].ir, ir.Constant(ir.VectorType(I32, 8), order)))
                for k in range(4) for order in halves]
    return rows


def _store_columns(f, columns, out, stride):
    """Eight columns of numbers around 0 as rows of bytes."""
    build, kind = f.builder, columns[0].ir.type
    parts = [_bytes(f, column + Value(f, same(kind, 128)), kind) for column in columns]
    while len(parts) > 1:
        size = 2 * parts[0].type.count
        order = ir.Constant(ir.VectorType(I32, size), list(range(size)))
        parts = [build.shuffle_vector(a, b, order) for a, b in zip(parts[::2], parts[1::2])]
    block = parts[0]
    order = ir.Constant(ir.VectorType(I32, 64), [8 * (k % 8) + k // 8 for k in range(64)])
    rows = build.bitcast(build.shuffle_vector(block, block, order), ir.VectorType(I64, 8))
    for k in range(8):
        store(f, out, stride * k, build.extract_element(rows, ir.Constant(I32, k)))


# ------------------------------------------------------------------- colours

def _spread(f, line, other, sums, out, begin, count, wide):
    """A row of colours for twice as many pixels: each has 3/4 of the nearest one and 1/4 of the next, in both directions.

    line, other : the nearer row, the one beside it, None where rows are not spread, from column `begin` on;  wide : their columns
    sums : int16 [count + 34], room
    """
    build, kind = f.builder, ir.VectorType(I16, DONE)
    three = same(kind, 3)

    def wider(row, k):
        return build.zext(load(f, row, k, ir.VectorType(I8, DONE)), kind)
    with f.loop(-1, count + 1, DONE) as k:
        value = wider(line, k)
        if other is not None:
            value = build.add(build.mul(value, three), wider(other, k))
        store(f, sums, k + 1, value)
    with f.when(begin.equals(0)):
        sums[0] = sums[1]
    with f.when((begin + count).equals(wide)):
        sums[count + 1] = sums[count]
    halves, shift = ((1, 2), 2) if other is None else ((8, 7), 4)
    order = ir.Constant(ir.VectorType(I32, 2 * DONE), [k // 2 + DONE * (k % 2) for k in range(2 * DONE)])
    with f.loop(0, count, DONE) as k:
        middle = build.mul(load(f, sums, k + 1, kind), three)
        found = []
        for beside, half in zip((k, k + 2), halves):
            value = build.add(build.add(middle, load(f, sums, beside, kind)), same(kind, half))
            found.append(build.trunc(build.lshr(value, same(kind, shift)), ir.VectorType(I8, DONE)))
        store(f, out, k * 2, build.shuffle_vector(*found, order))


def _coloured(f, light, colours, out, width):
    """Red, green and blue of a row (ITU T.871, 7), in 1 / 65536."""
    with f.choose(width >= DONE) as (many, few):
        with many:
            order = ir.Constant(ir.VectorType(I32, 3 * DONE), [k // 3 + DONE * (k % 3) for k in range(3 * DONE)])
            with f.loop(0, width, DONE) as begin:
                x = f.minimum(begin, width - DONE)           # the last ones are some of those before them again
                values = [f.builder.zext(load(f, line, x, ir.VectorType(I8, DONE)), ir.VectorType(I32, DONE))
                          for line in (light, *colours)]
                red, green, blue = _red_green_blue(f, *values)
                both = f.builder.shuffle_vector(red, green, ir.Constant(ir.VectorType(I32, 2 * DONE), list(range(2 * DONE))))
                twice = f.builder.shuffle_vector(blue, blue, ir.Constant(ir.VectorType(I32, 2 * DONE), list(range(2 * DONE))))
                store(f, out, x * 3, f.builder.shuffle_vector(both, twice, order))
        with few:
            with f.loop(0, width) as x:
                for k, value in enumerate(_red_green_blue(f, *(f.builder.zext(line[x].ir, I32) for line in (light, *colours)))):
                    store(f, out, x * 3 + k, value)


def _red_green_blue(f, *values):
    """Bytes of brightness, blue and red, as 32 bits each, one or a vector of them."""
    kind = values[0].type

    def n(number):
        return Value(f, same(kind, number) if isinstance(kind, ir.VectorType) else ir.Constant(kind, number))
    level, blue, red = (Value(f, value) for value in values)
    blue, red = blue - n(128), red - n(128)
    return [_bytes(f, level + ((one + n(32768)) >> n(16)), kind)
            for one in (red * n(91881), blue * n(-22554) + red * n(-46802), blue * n(116130))]


def _bytes(f, value, kind):
    """Whole numbers cut to [0, 255], as bytes."""
    vector = isinstance(kind, ir.VectorType)
    limits = [same(kind, limit) if vector else ir.Constant(kind, limit) for limit in (0, 255)]
    value = value.ir
    for name, limit in zip(("smax", "smin"), limits):
        function = f.module.external(f"llvm.{name}.{f'v{kind.count}' if vector else ''}i32", kind, [kind, kind])
        value = f.builder.call(function, [value, limit])
    return f.builder.trunc(value, ir.VectorType(I8, kind.count) if vector else I8)


KINDS = {"jpeg_table": write_table, "jpeg_part": write_part}

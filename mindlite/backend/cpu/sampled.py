"""Bytes of three channels in another size, mirrored, normalised and with their channels apart, in one loop over the pixels.

    a part of an image, bytes [tall, wide, 3] -> float32 [3, height, width]

The columns of the image's rows are mixed as they are needed. Two mixed rows are held, four lanes of 16 bits a pixel, the fourth
of which nobody reads; they are mixed with each other, and what comes of 16 pixels is normalised and stored before the next ones.

The weights p and q of two neighbours are whole numbers with the sum 2048, and (p a + q b) >> 4 = 128 a + ((b - a) q >> 4). Of a q
from 1024 on 2048 is taken away, and b stands in the place of a; then -1024 <= q < 1024, and the product is the upper half of one
of 16 bits: (128 (b - a)) (32 q) >> 16.
"""
import functools

from llvmlite import ir

from ...common.dtype import float32, int16, int32, uint8
from .native import F32, F64, I8, I16, I32, I64, PTR, Value, kernel_writer

BITS, SHIFT = 2048, 4                    # OpenCV's weights of bytes are in 1/2048; bits that are dropped after the columns
CHANNELS, LANES = 3, 4
MIXED, DONE = 8, 16                      # pixels whose columns are mixed at a time, and which are normalised at a time
PIXELS = 8                               # bytes that hold two neighbours


def neighbours(f, position, have, want):
    """(first neighbour, weight of the first, weight of the second) in 1/BITS, of the pixel at `position`, an I64."""
    double = functools.partial(f.convert, kind=F64)
    middle = (double(position) + 0.5) * (double(have) / double(want)) - 0.5
    point = Value(f, f.builder.fptrunc(middle.ir, F32))
    whole = f.call(f.module.external("llvm.floor.f32", F32, [F32]), point)
    part, base = point - whole, Value(f, f.builder.fptosi(whole.ir, I64))
    inside = (base >= 0) & (base < have - 1)
    part = f.select(inside, part, f.number(F32, 0.0))
    base = f.minimum(f.maximum(base, 0), have - 1)

    def rounded(weight):
        nearest = f.call(f.module.external("llvm.rint.f32", F32, [F32]), weight * float(BITS))
        return Value(f, f.builder.fptosi(nearest.ir, I32))
    return base, rounded(1.0 - part), rounded(part)


def truncated(f, value, kind):
    """The lower bits of a whole number."""
    return Value(f, f.builder.trunc(value.ir, kind))


def widened(f, value, kind=I64):
    """A whole number with its sign in more bits."""
    return Value(f, f.builder.sext(value.ir, kind))


def _load(f, array, index, kind):
    return f.builder.load(f.builder.inttoptr(array.at(index).address.ir, PTR), typ=kind, align=1)


def _store(f, array, index, value):
    f.builder.store(value, f.builder.inttoptr(array.at(index).address.ir, PTR), align=1)


def _same(kind, number):
    return ir.Constant(kind, [number] * kind.count)


def _spread(f, value, count):
    """A number in each element of a vector."""
    one = f.builder.insert_element(ir.Constant(ir.VectorType(value.ir.type, count), ir.Undefined), value.ir, ir.Constant(I32, 0))
    return f.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(I32, count), [0] * count))


def _upper(f, a, b):
    """The upper halves of the products of 16 bits."""
    wide = ir.VectorType(I32, a.type.count)
    product = f.builder.mul(f.builder.sext(a, wide), f.builder.sext(b, wide))
    return f.builder.trunc(f.builder.ashr(product, _same(wide, 16)), a.type)


def _chosen(f, vector, order):
    return f.builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, len(order)), order))


class Columns:
    """The columns of rows of an image, mixed.

    work : int32[4 width], int16[8 width], and what `rows` are made of: int16[2 (4 width + 32)]
    """

    def __init__(self, f, image, stride, wide, width, work):
        self.f, self.image, self.stride, self.width = f, image, stride, width
        self.first, self.second, self.left, self.right = (work.at(width * k) for k in range(4))
        shares = f.array(int16, work.at(width * 4).address)
        self.shares, self.farther = shares, shares.at(width * LANES)     # 32 q, and whether b stands in the place of a
        self.rows = [shares.at(width * LANES * (2 + k) + 32 * k) for k in range(2)]
        self.held = [f.variable(I64, -1), f.variable(I64, -1)]           # which rows of the image they are: even ones, odd ones
        self.safe = f.variable(I64, 0)                                   # pixels that are mixed by the eight
        sound = f.variable(I64, 1)
        with f.loop(0, width) as x:
            base, a, b = neighbours(f, x, wide, width)
            self.left[x], self.right[x] = a, b
            self.first[x] = f.convert(base * CHANNELS, I32)
            self.second[x] = f.convert(f.minimum(base + 1, wide - 1) * CHANNELS, I32)
            far = b >= BITS // 2
            share = truncated(f, f.select(far, b - BITS, b) * 32, I16)
            beyond = f.select(far, f.number(I16, -1), f.number(I16, 0))
            for lane in range(LANES):
                _store(f, self.shares, x * LANES + lane, share.ir)
                _store(f, self.farther, x * LANES + lane, beyond.ir)
            sound.set(f.select((a + b).equals(BITS), sound.get(), 0))
            with f.when((base * CHANNELS + PIXELS <= wide * CHANNELS) & (a + b).equals(BITS)):
                self.safe.set(x + 1)
        self.safe.set(f.select(sound.get().equals(1), self.safe.get() // MIXED * MIXED, 0))

    def row(self, number, parity):
        """Mix the columns of a row, unless they are."""
        f = self.f
        with f.when(self.held[parity].get().differs(number)):
            self.held[parity].set(number)
            line, target = self.image.at(number * self.stride), self.rows[parity]
            with f.loop(0, self.safe.get(), MIXED) as x:
                self._eight(line, target, x)
            with f.loop(self.safe.get(), self.width) as x:
                for channel in range(CHANNELS):
                    a, b = (f.convert(line[widened(f, place[x]) + channel], I32) for place in (self.first, self.second))
                    target[x * LANES + channel] = truncated(f, (a * self.left[x] + b * self.right[x]) >> SHIFT, I16)

    def _eight(self, line, target, x):
        f, build = self.f, self.f.builder
        pairs = ir.Constant(ir.VectorType(I64, MIXED), ir.Undefined)
        for k in range(MIXED):
            pixels = _load(f, line, widened(f, self.first[x + k]), I64)
            pairs = build.insert_element(pairs, pixels, ir.Constant(I32, k))
        pairs = build.bitcast(pairs, ir.VectorType(I8, MIXED * PIXELS))
        kind = ir.VectorType(I16, MIXED * LANES)
        places = [k * PIXELS + lane for k in range(MIXED) for lane in range(LANES)]
        near, far = (build.zext(_chosen(f, pairs, [place + begin for place in places]), kind) for begin in (0, CHANNELS))
        seven = _same(kind, 7)
        step = build.shl(build.sub(far, near), seven)
        begin = build.add(build.shl(near, seven), build.and_(step, _load(f, self.farther, x * LANES, kind)))
        _store(f, target, x * LANES, build.add(begin, _upper(f, step, _load(f, self.shares, x * LANES, kind))))


@kernel_writer(lambda channels, mirrored: f"sampled_{channels}{'_mirrored' * mirrored}")
def write_sampled(f, channels, mirrored):
    """OpenCV's linear interpolation of bytes, then (x - mean) / std by channel, channels first."""
    f.fastmath = ()
    stride, tall, wide, height, width = (f.arg(k) for k in (1, 2, 3, 5, 6))
    image, out, shares = f.array(uint8, f.arg(0)), f.array(float32, f.arg(4)), f.array(float32, f.arg(7))
    numbers = [(shares[k], shares[k + CHANNELS]) for k in range(CHANNELS)]
    vectors = [tuple(_spread(f, number, DONE) for number in pair) for pair in numbers]
    columns = Columns(f, image, stride, wide, width, f.array(int32, f.arg(8)))
    whole = width // DONE * DONE
    with f.loop(0, height) as y:
        base, upper, lower = neighbours(f, y, tall, height)
        even = (base & 1).equals(0)
        for number in (base, f.minimum(base + 1, tall - 1)):
            with f.choose((number & 1).equals(0)) as (then, other):
                with then:
                    columns.row(number, 0)
                with other:
                    columns.row(number, 1)
        # at the last row both neighbours are one row, and the second weight is 0
        weights = [truncated(f, one, I16) for one in (f.select(even, upper, lower), f.select(even, lower, upper))]
        wide_weights = [_spread(f, weight, DONE * LANES) for weight in weights]
        planes = [out.at((height * k + y) * width) for k in range(CHANNELS)]
        with f.loop(0, whole, DONE) as x:
            _sixteen(f, columns.rows, wide_weights, x, planes, width - DONE - x if mirrored else x, vectors, mirrored)
        with f.loop(whole, width) as x:
            for k, (mean, std) in enumerate(numbers):
                mixed = [(widened(f, row[x * LANES + k], I32) * widened(f, weight, I32)) >> 16
                         for row, weight in zip(columns.rows, weights)]
                pixel = Value(f, f.builder.sitofp(((mixed[0] + mixed[1] + 2) >> 2).ir, F32))
                planes[k][width - 1 - x if mirrored else x] = (pixel - mean) / std


def _sixteen(f, rows, weights, x, planes, place, numbers, mirrored):
    """16 pixels from two rows of mixed columns to their planes."""
    build, kind = f.builder, ir.VectorType(I16, DONE * LANES)
    first, second = (_upper(f, _load(f, row, x * LANES, kind), weight) for row, weight in zip(rows, weights))
    bytes_ = build.ashr(build.add(build.add(first, second), _same(kind, 2)), _same(kind, 2))
    pairs = build.bitcast(bytes_, ir.VectorType(I32, DONE * 2))
    order = range(DONE - 1, -1, -1) if mirrored else range(DONE)
    red_green, blue = (_chosen(f, pairs, [2 * k + half for k in order]) for half in (0, 1))
    narrow = _same(red_green.type, 0xffff)
    channels = build.and_(red_green, narrow), build.lshr(red_green, _same(red_green.type, 16)), build.and_(blue, narrow)
    for channel, (mean, std), plane in zip(channels, numbers, planes):
        value = build.sitofp(channel, ir.VectorType(F32, DONE))
        _store(f, plane, place, build.fdiv(build.fsub(value, mean), std))


KINDS = {"sampled": write_sampled}

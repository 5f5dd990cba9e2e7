"""Colours, smoothing and maps of images of bytes: loops over pixels, with the bits of the NumPy text in the data pipeline.

NumPy writes an array of 32 or 64 bits for each step of such a formula and each neighbour of a pixel; a loop holds a pixel. All
arithmetic is that of the text, in its order and its types; nothing is contracted.
"""
import functools
import operator

from llvmlite import ir

from ...common.dtype import float32, float64, int32, int64, uint8
from .native import F32, F64, I8, I16, I32, I64, PTR, Value, kernel_writer

LANES = 4
GROUP = 4                                # rows that are mixed at a time


def _int(f, value, kind=I32):
    """A float as a whole number, cut off."""
    return Value(f, f.builder.fptosi(value.ir, kind))


def _float(f, value, kind=F64):
    return Value(f, f.builder.sitofp(value.ir, kind))


def _call(f, name, value):
    return f.call(f.module.external(name, value.ir.type, [value.ir.type]), value)


def _as_byte(f, value):
    """A whole number in a float, cut to [0, 255]."""
    value = f.select(value < 0.0, 0.0, value)
    return Value(f, f.builder.trunc(_int(f, f.select(value > 255.0, 255.0, value)).ir, I8))


def _pixel(f, line, place, kind=I32):
    """A byte as a whole number."""
    return Value(f, f.builder.zext(line[place].ir, kind))


# ------------------------------------------------------------------- colours

@kernel_writer(lambda channels, floats=False: f"grey_{channels}{'_floats' * floats}")
def write_grey(f, channels, floats=False):
    """The brightness of each pixel: of bytes in OpenCV's whole numbers, of float32 in float64."""
    f.fastmath = ()
    stride, width = f.arg(1), f.arg(2)
    image, out = (f.array(float32 if floats else uint8, f.arg(k)) for k in (0, 3))
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width)
        with f.loop(0, width) as x:
            if floats:
                red, green, blue = (Value(f, f.builder.fpext(line[x * channels + k].ir, F64)) for k in range(channels))
                target[x] = Value(f, f.builder.fptrunc((red * 0.299 + green * 0.587 + blue * 0.114).ir, F32))
            else:
                red, green, blue = (_pixel(f, line, x * channels + k) for k in range(channels))
                target[x] = Value(f, f.builder.trunc(((red * 9798 + green * 19235 + blue * 3735 + 16384) >> 15).ir, I8))


@kernel_writer(lambda channels, other, floats=False: f"blended_{channels}_{other}{'_floats' * floats}")
def write_blended(f, channels, other, floats=False):
    """factor * image + (1 - factor) * other, of bytes rounded.

    other : "one" number, one for each pixel ("grey"), or a like image ("same")
    """
    f.fastmath = ()
    stride, width = f.arg(1), f.arg(2)
    kind = float32 if floats else uint8
    image, out, shares = f.array(kind, f.arg(0)), f.array(kind, f.arg(3)), f.array(float32, f.arg(5))
    second = f.array(float32 if other == "one" else kind, f.arg(4))
    ours, theirs = shares[0], shares[1]
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width * channels)
        with f.loop(0, width) as x:
            for k in range(channels):
                place = {"one": 0, "grey": y * width + x, "same": (y * width + x) * channels + k}[other]
                mixed = _as_float(f, line[x * channels + k]) * ours + _as_float(f, second[place]) * theirs
                target[x * channels + k] = mixed if floats else _as_byte(f, _call(f, "llvm.rint.f32", mixed))


@kernel_writer(lambda channels: f"counted_{channels}")
def write_counted(f, channels):
    """How often each of 256 values stands in each channel, added to what is there."""
    stride, height, width = f.arg(1), f.arg(2), f.arg(3)
    image, counts = f.array(uint8, f.arg(0)), f.array(int32, f.arg(4))
    with f.loop(0, height) as y:
        line = image.at(y * stride)
        with f.loop(0, width) as x:
            for k in range(channels):
                place = _pixel(f, line, x * channels + k, I64) + 256 * k
                counts[place] = counts[place] + 1


@kernel_writer(lambda channels: f"looked_up_{channels}")
def write_looked_up(f, channels):
    """Each byte by the table of its channel."""
    stride, width = f.arg(1), f.arg(2)
    image, out, tables = (f.array(uint8, f.arg(k)) for k in (0, 3, 4))
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width * channels)
        with f.loop(0, width) as x:
            for k in range(channels):
                target[x * channels + k] = tables[_pixel(f, line, x * channels + k, I64) + 256 * k]


@kernel_writer(lambda channels: f"hue_{channels}")
def write_hue(f, channels):
    """The hue moved by a number in [0, 256): OpenCV's way to hue, saturation and value in whole numbers, and back in doubles."""
    f.fastmath = ()
    stride, width, shift = f.arg(1), f.arg(2), f.convert(f.arg(4), I32)
    image, out = f.array(uint8, f.arg(0)), f.array(uint8, f.arg(3))

    def share(number, whole):            # whole / number in 1/4096, as OpenCV's tables have it
        found = _int(f, _call(f, "llvm.rint.f64", f.number(F64, whole * 4096.0) / _float(f, number)))
        return f.select(number.equals(0), f.number(I32, 0), found)
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width * channels)
        with f.loop(0, width, iterations=8) as x:
            red, green, blue = (_pixel(f, line, x * channels + k) for k in range(channels))
            value = f.select(red > green, red, green)
            value = f.select(value > blue, value, blue)
            least = f.select(red < green, red, green)
            span = value - f.select(least < blue, least, blue)
            saturation = (span * share(value, 255) + 2048) >> 12
            turn = f.select(value.equals(green), blue - red + span * 2, red - green + span * 4)
            hue = (f.select(value.equals(red), green - blue, turn) * share(span * 6, 256) + 2048) >> 12
            hue = f.select(hue < 0, hue + 256, hue)
            hue = (f.select(hue > 255, f.number(I32, 255), hue) + shift) & 255
            for k, byte in enumerate(_of_hue(f, hue, saturation, value)):
                target[x * channels + k] = Value(f, f.builder.trunc(byte.ir, I8))


def _of_hue(f, hue, saturation, value):
    """(red, green, blue) in I32."""
    turn, s, v = _float(f, hue) * (6 / 255), _float(f, saturation) / 255.0, _float(f, value) / 255.0
    turn = f.select(turn < 6.0, turn, turn - 6.0)
    sector = _int(f, turn)
    turn = turn - _float(f, sector)
    low, falling, rising = v * (1.0 - s), v * (1.0 - s * turn), v * (1.0 - s * (1.0 - turn))
    orders = ((v, falling, low, low, rising, v), (rising, v, v, falling, low, low), (low, low, rising, v, v, falling))
    for order in orders:
        found = order[5]
        for number in (4, 3, 2, 1, 0):
            found = f.select(sector.equals(number), order[number], found)
        yield _int(f, found * 255.0 + 1e-5)


@kernel_writer(lambda channels, order, floats: f"reordered_{channels}_{order}{'_floats' * floats}")
def write_reordered(f, channels, order, floats):
    """The channels in the order of the digits of `order`; A is 255, of floats 1."""
    stride, width, kind = f.arg(1), f.arg(2), float32 if floats else uint8
    image, out = f.array(kind, f.arg(0)), f.array(kind, f.arg(3))
    full = f.number(F32, 1.0) if floats else f.number(I8, 255)
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width * len(order))
        with f.loop(0, width) as x:
            for k, channel in enumerate(order):
                target[x * len(order) + k] = full if channel == "A" else line[x * channels + int(channel)]


# ------------------------------------------------------------------- smoothing

@kernel_writer(lambda channels, floats: f"sharpened_{channels}{'_floats' * floats}")
def write_sharpened(f, channels, floats):
    """A share of the image and one of its mean with eight neighbours, in which it counts five times; the border stays.

    floats : the image is float32, the mean a double; else bytes, whose mean is rounded
    """
    f.fastmath = ()
    stride, tall, wide = (f.arg(k) for k in (1, 2, 3))
    image, out = (f.array(float32 if floats else uint8, f.arg(k)) for k in (0, 4))
    shares, size = f.array(float32, f.arg(5)), wide * channels
    ours, theirs = shares[0], shares[1]

    def neighbour(row, i):
        return Value(f, f.builder.fpext(row[i].ir, F64)) if floats else _pixel(f, row, i)

    def mean(rows, i):
        total = f.number(F64, 0.0) if floats else f.number(I32, 0)
        for down, row in enumerate(rows):
            for across in (-1, 0, 1):
                value = neighbour(row, i + across * channels)
                total = total + (value * (5.0 if floats else 5) if down == 1 and across == 0 else value)
        if floats:
            return Value(f, f.builder.fptrunc((total / 13.0).ir, F32))
        return Value(f, f.builder.uitofp(((total * 2 + 13) // 26).ir, F32))          # of thirteenths no half is rounded

    def blended(line, target, begin, end, rows=None):
        with f.loop(begin, end) as i:
            here = _as_float(f, line[i])
            value = here * ours + (mean(rows, i) if rows else here) * theirs
            target[i] = value if floats else _as_byte(f, _call(f, "llvm.rint.f32", value))
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * size)
        with f.choose((y > 0) & (y < tall - 1) & (wide >= 3)) as (inner, border):
            with inner:
                blended(line, target, 0, channels)
                blended(line, target, channels, size - channels, [image.at((y + k) * stride) for k in (-1, 0, 1)])
                blended(line, target, size - channels, size)
            with border:
                blended(line, target, 0, size)


@kernel_writer(lambda channels, floats: f"blurred_{channels}{'_floats' * floats}")
def write_blurred(f, channels, floats):
    """Weights along the rows, then along the columns; the border is a mirror. Both halves fit into the image.

    floats : image and weights are float32, else bytes and in 1/256
    """
    f.fastmath = ()
    stride, tall, wide, across, down = (f.arg(k) for k in (1, 2, 3, 6, 7))
    image, out = (f.array(float32 if floats else uint8, f.arg(k)) for k in (0, 4))
    weights, work = (f.array(float32 if floats else int32, f.arg(k)) for k in (5, 8))
    kind = F32 if floats else I32
    half, size, below = across // 2, wide * channels, down // 2
    line, total = work, work.at((wide + across) * channels)
    mixed = total.at(size)
    with f.loop(0, tall) as y:
        source, target = image.at(y * stride), mixed.at(y * size)
        with f.loop(0, size) as i:
            line[half * channels + i] = source[i] if floats else _pixel(f, source, i)
        with f.loop(0, half) as k:
            for channel in range(channels):
                line[(half - 1 - k) * channels + channel] = line[(half + 1 + k) * channels + channel]
                line[(half + wide + k) * channels + channel] = line[(half + wide - 2 - k) * channels + channel]
        _weighted(f, kind, target, size, across, weights, lambda k: line.at(k * channels))
    with f.loop(0, tall) as y:
        def row(k, y=y):
            place = y + k - below
            place = f.select(place < 0, 0 - place, place)
            return mixed.at(f.select(place < tall, place, (tall - 1) * 2 - place) * size)
        target = out.at(y * size)
        _weighted(f, kind, target if floats else total, size, down, weights.at(across), row)
        if not floats:
            with f.loop(0, size) as i:
                target[i] = Value(f, f.builder.trunc(((total[i] + 32768) >> 16).ir, I8))


def _weighted(f, kind, target, size, count, weights, row):
    """target[i] = sum over k of weights[k] * row(k)[i], in the order of k."""
    def some(k, number, begins):
        parts = [(weights[k + n], row(k + n)) for n in range(number)]
        with f.loop(0, size) as i:
            total = f.number(kind, 0 if kind == I32 else 0.0) if begins else target[i]
            for weight, source in parts:
                total = total + weight * source[i]
            target[i] = total
    with f.choose(count >= GROUP) as (many, few):            # so many rows are read before the sum is written
        with many:
            some(f.number(I64, 0), GROUP, True)
            with f.loop(1, count // GROUP) as k:
                some(k * GROUP, GROUP, False)
        with few:
            some(f.number(I64, 0), 1, True)
    with f.loop(f.select(count >= GROUP, count // GROUP * GROUP, 1), count) as k:
        some(k, 1, False)


@kernel_writer(lambda channels, floats: f"resampled_{channels}{'_floats' * floats}")
def write_resampled(f, channels, floats):
    """Another size by weights of neighbours: columns first, then rows, in float32. floats : images are float32"""
    f.fastmath = ()
    stride, tall, wide, height, width, across, down = (f.arg(k) for k in (1, 2, 3, 5, 6, 9, 12))
    image, out = (f.array(float32 if floats else uint8, f.arg(k)) for k in (0, 4))
    line = f.array(float32, f.arg(13))
    columns, rows = (f.array(int64, f.arg(k)) for k in (7, 10))
    shares, weights = (f.array(float32, f.arg(k)) for k in (8, 11))
    size, total = width * channels, line.at(wide * channels + LANES)
    mixed = total.at(size)
    with f.loop(0, tall) as y:
        source, target = image.at(y * stride), mixed.at(y * size)
        with f.loop(0, wide * channels) as i:
            line[i] = source[i] if floats else Value(f, f.builder.uitofp(source[i].ir, F32))
        with f.loop(0, width) as x:
            _neighbours_in_line(f, line, columns.at(x * across), shares.at(x * across), across, target.at(x * channels), channels)
    with f.loop(0, height) as y:
        _weighted(f, F32, total, size, down, weights.at(y * down), lambda k, y=y: mixed.at(rows[y * down + k] * size))
        target = out.at(y * size)
        with f.loop(0, size) as i:
            target[i] = total[i] if floats else _as_byte(f, _call(f, "llvm.rint.f32", total[i]))


def _neighbours_in_line(f, line, columns, shares, count, target, channels):
    """A pixel of a row by its weights; three channels are mixed in four lanes, whose last one the next pixel writes anew."""
    kind = ir.VectorType(F32, LANES) if channels == 3 else F32
    total = f.variable(kind, Value(f, ir.Constant(kind, [0.0] * LANES if channels == 3 else 0.0)))
    with f.loop(0, count) as k:
        pointer = f.builder.inttoptr(line.at(columns[k] * channels).address.ir, PTR)
        share = _splat(f, shares[k]) if channels == 3 else shares[k]
        total.set(total.get() + share * Value(f, f.builder.load(pointer, typ=kind, align=4)))
    f.builder.store(total.get().ir, f.builder.inttoptr(target.address.ir, PTR), align=4)


def _splat(f, value, count=LANES):
    """A number in each lane."""
    none = ir.Constant(ir.VectorType(value.ir.type, 1), ir.Undefined)
    alone = f.builder.insert_element(none, value.ir, ir.Constant(I32, 0))
    return Value(f, f.builder.shuffle_vector(alone, none, ir.Constant(ir.VectorType(I32, count), None)))


# ------------------------------------------------------------------- maps of the plane

@kernel_writer(lambda channels, taps, affine, floats: f"warped_{channels}_{taps}{'_affine' * affine}{'_floats' * floats}")
def write_warped(f, channels, taps, affine, floats):
    """Each pixel from its place in the image, or from `taps` x `taps` neighbours there; what is outside is the filling."""
    f.fastmath = ()
    stride, tall, wide, width = (f.arg(k) for k in (1, 2, 3, 6))
    image, out, filling = (f.array(float32 if floats else uint8, f.arg(k)) for k in (0, 4, 8))
    weights = f.array(float32, f.arg(9))
    places = f.array(int64 if affine else float64, f.arg(7))
    with f.loop(f.begin, f.end) as y:
        line = out.at(y * width * channels)
        with f.loop(0, width) as x:
            px, py = _affine_place(places, x, y, f.arg(5), width) if affine else _perspective_place(f, places, x, y, taps)
            target = line.at(x * channels)
            if taps == 1:
                shift = 10 if affine else 0
                _copied(f, image, stride, tall, wide, px >> shift, py >> shift, target, filling, channels)
            else:
                shift = 5 if affine else 0
                _mixed(f, image, stride, tall, wide, px >> shift, py >> shift, target, filling, weights, channels, taps)


def _affine_place(places, x, y, height, width):
    """(x, y) in 1/1024 of a pixel."""
    second = places.at(height + width)
    return places[y] + places[height + x], second[y] + second[height + x]


def _perspective_place(f, inverse, x, y, taps):
    """(x, y) in whole pixels for one tap, in 1/32 of a pixel for several."""
    x, y = _float(f, x), _float(f, y)
    below = inverse[6] * x + inverse[7] * y + 1.0
    factor = f.select(below.equals(0.0), 0.0, f.number(F64, 1.0 if taps == 1 else 32.0) / below)
    for k in (0, 3):
        place = (inverse[k] * x + inverse[k + 1] * y + inverse[k + 2]) * factor
        place = f.select(place < -2.0 ** 31, -2.0 ** 31, place)
        yield _int(f, _call(f, "llvm.rint.f64", f.select(place > 2.0 ** 31 - 1, 2.0 ** 31 - 1, place)), I64)


def _within(x, y, wide, tall):
    return (x >= 0) & (x < wide) & (y >= 0) & (y < tall)


def _copied(f, image, stride, tall, wide, x, y, target, filling, channels):
    with f.choose(_within(x, y, wide, tall)) as (then, other):
        with then:
            source = image.at(y * stride + x * channels)
            for channel in range(channels):
                target[channel] = source[channel]
        with other:
            for channel in range(channels):
                target[channel] = filling[channel]


def _mixed(f, image, stride, tall, wide, px, py, target, filling, weights, channels, taps):
    """The neighbours by their weights. Places are in 1/32 of a pixel. Inside, three channels lie in four lanes."""
    first = 1 - taps // 2
    across, down = weights.at((px & 31) * taps), weights.at((py & 31) * taps)
    x, y = (px >> 5) + first, (py >> 5) + first
    with f.choose((x >= 0) & (x + taps < wide) & (y >= 0) & (y + taps <= tall)) as (then, other):
        with then:
            corner = image.at(y * stride + x * channels)
            if channels == 3 and taps == 2 and image.dtype is uint8:
                _store_three(f, _of_four(f, corner, stride, px & 31, py & 31), target)
            elif channels == 3 and image.dtype is uint8:
                _store_three(f, _as_bytes(f, _sum_inside(f, corner, stride, across, down, channels, taps)), target)
            else:
                total = _sum_inside(f, corner, stride, across, down, channels, taps)
                each = [Value(f, f.builder.extract_element(total.ir, ir.Constant(I32, k))) for k in range(channels)] \
                    if channels == 3 else [total]
                for channel, one in enumerate(each):
                    target[channel] = _rounded(f, image, one)
        with other:
            with f.choose((x + taps > 0) & (x < wide) & (y + taps > 0) & (y < tall)) as (border, outside):
                with border:
                    for channel in range(channels):
                        total = f.variable(F32, 0.0)
                        for i in range(taps):
                            for j in range(taps):
                                inside = _within(x + j, y + i, wide, tall)
                                here = f.select(inside, (y + i) * stride + (x + j) * channels + channel, 0)
                                byte = f.select(inside, image[here], filling[channel])
                                total.set(total.get() + down[i] * across[j] * _as_float(f, byte))
                        target[channel] = _rounded(f, image, total.get())
                with outside:
                    for channel in range(channels):
                        target[channel] = filling[channel]


def _as_float(f, value):
    """A byte, or a float32, or a vector of them, in float32."""
    kind = value.ir.type
    vector = isinstance(kind, ir.VectorType)
    if (kind.element if vector else kind) == F32:
        return value
    return Value(f, f.builder.uitofp(value.ir, ir.VectorType(F32, kind.count) if vector else F32))


def _rounded(f, image, total):
    """A sum as an element of the image: of bytes halves are rounded up."""
    return total if image.dtype is float32 else _as_byte(f, _call(f, "llvm.floor.f32", total + 0.5))


def _sum_inside(f, corner, stride, across, down, channels, taps):
    """The sum, of three channels in four lanes; nothing is outside, and a pixel more is in each row."""
    parts = [_share(f, down[i] * across[j], corner.at(stride * i + j * channels), channels)
             for i in range(taps) for j in range(taps)]
    zero = f.number(F32, 0.0) if channels == 1 else Value(f, ir.Constant(ir.VectorType(F32, LANES), [0.0] * LANES))
    return functools.reduce(operator.add, parts, zero)       # which makes 0.0 of -0.0


def _of_four(f, corner, stride, across, down):
    """Two by two pixels of three bytes by their weights, whole numbers, rounded as floats are. across, down : in 1/32"""
    build, wide = f.builder, ir.VectorType(I16, 2 * LANES)
    upper, lower = (build.zext(build.load(build.inttoptr(line.address.ir, PTR), typ=ir.VectorType(I8, 2 * LANES), align=1), wide)
                    for line in (corner, corner.at(stride)))
    shares = [_splat(f, Value(f, build.trunc(one.ir, I16)), wide.count).ir for one in (32 - down, down)]
    mixed = build.add(build.mul(upper, shares[0]), build.mul(lower, shares[1]))
    chosen = [ir.Constant(ir.VectorType(I32, LANES), [k, k + 1, k + 2, k + 2]) for k in (0, 3)]
    left, right = (build.zext(build.shuffle_vector(mixed, mixed, lanes), lanes.type) for lanes in chosen)
    shares = [_splat(f, Value(f, build.trunc(one.ir, I32))).ir for one in (32 - across, across)]
    total = build.add(build.mul(left, shares[0]), build.mul(right, shares[1]))
    half, places = (ir.Constant(total.type, [number] * LANES) for number in (512, 10))
    return build.lshr(build.add(total, half), places)


def _as_bytes(f, total):
    """Sums as whole numbers in [0, 255], halves rounded up."""
    build, kind = f.builder, total.ir.type
    value = build.fadd(total.ir, ir.Constant(kind, [0.5] * LANES))
    value = build.call(f.module.external("llvm.floor.v4f32", kind, [kind]), [value])
    for comparison, limit in (("<", 0.0), (">", 255.0)):
        end = ir.Constant(kind, [limit] * LANES)
        value = build.select(build.fcmp_ordered(comparison, value, end), end, value)
    return build.fptosi(value, ir.VectorType(I32, LANES))


def _store_three(f, values, target):
    """Three of four whole numbers as bytes."""
    build = f.builder
    four = build.bitcast(build.trunc(values, ir.VectorType(I8, LANES)), I32)
    build.store(build.trunc(four, ir.IntType(16)), build.inttoptr(target.address.ir, PTR), align=1)
    target[2] = Value(f, build.trunc(build.lshr(four, ir.Constant(I32, 16)), I8))


def _share(f, weight, pixel, channels):
    """A pixel by its weight: a float32, or four of which the last is one of the next pixel."""
    if channels == 1:
        return weight * _as_float(f, pixel[0])
    kind = ir.VectorType(F32 if pixel.dtype is float32 else I8, LANES)
    lanes = f.builder.load(f.builder.inttoptr(pixel.address.ir, PTR), typ=kind, align=1)
    return _splat(f, weight) * _as_float(f, Value(f, lanes))


KINDS = {"grey": write_grey, "blended": write_blended, "counted": write_counted, "looked_up": write_looked_up,
         "reordered": write_reordered, "sharpened": write_sharpened, "hue": write_hue, "blurred": write_blurred,
         "resampled": write_resampled, "warped": write_warped}

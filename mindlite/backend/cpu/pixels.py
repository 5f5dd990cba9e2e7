"""Bytes of images in another size, normalised, mirrored: loops over pixels, with the bits of the NumPy text in the data pipeline.

NumPy makes a temporary array of 32 bits for each step of such a formula; a loop holds a pixel. Channels, 1 or 3, lie together;
rows may lie apart, as those of a part of an image do.
"""
from llvmlite import ir

from ...common.dtype import dtype as to_dtype, float32, int16, int32, int64, uint8
from ..target import current
from . import image_filters, sampled
from .native import F32, I8, I16, I32, I64, PTR, Value, kernel_of, kernel_writer
from .sampled import SHIFT, neighbours, truncated, widened

LANES = 4
BLOCK = 16                               # bytes of a vector


def pixels_kernel(kind, dtype, channels, facts=(), target=None):
    """The kernel of an operation on images; None for a dtype other than uint8.

    kind : "linear"      args [image, bytes of a row, its height, width, out uint8, its height, width,
                               work int32[4 width + width channels + 4]], [begin, end) is [0, 1)
           "sampled"     args [image, bytes of a row, its height, width, out float32 [channels, height, width], its height, width,
                               float32[mean.., std..], work int32[4 width], int16[16 width + 64]], [begin, end) is [0, 1);
                               facts: left and right are exchanged
           "normalised"  args [image, bytes of a row, height, width, out float32, float32[mean.., std..]], [begin, end): rows;
                               facts: channels are the first axis of out, left and right are exchanged
           "mirrored"    args [image, bytes of a row, width, out uint8], [begin, end): rows; channels: bytes of a pixel
           "nearest"     args [image, bytes of a row, out, its width, int64[width], int64[height]: which columns, which rows],
                               [begin, end): rows of out; channels: bytes of a pixel
           "reordered"   args [image, elements of a row, width, out], [begin, end): rows; facts: a digit for each channel of out,
                               A for 255, of floats 1; image and out are float32
           "sharpened"   args [image, elements of a row, height, width, out, float32[share of the image, of the smoothed one]],
                               [begin, end): rows; facts: image and out are float32
           "grey"        args [image, elements of a row, width, out of one channel], [begin, end): rows; facts: image and out are
                               float32
           "blended"     args [image, elements of a row, width, out, other, float32[share of the image, of the other]],
                               [begin, end): rows; facts: "one" float32, or "grey" or "same", an image without gaps;
                               image, out and such an other are float32
           "counted"     args [image, bytes of a row, height, width, int32[channels, 256]], [begin, end) is [0, 1)
           "looked_up"   args [image, bytes of a row, width, out uint8, uint8[channels, 256]], [begin, end): rows
           "hue"         args [image, bytes of a row, width, out uint8, shift], [begin, end): rows
           "blurred"     args [image, elements of a row, height, width, out, int32[weights of a row.., of a column.. in 1/256],
                               their numbers, work int32[(wide + row) channels + (1 + height) width channels]], [begin, end) is
                               [0, 1); facts: image, out, weights and work are float32
           "resampled"   args [image, elements of a row, its height, width, out, its height, width, int64[width, neighbours],
                               float32[like it], neighbours, the same three for rows, work float32[wide channels + 4 +
                               (1 + tall) width channels + 4]], [begin, end) is [0, 1); facts: image and out are float32
           "warped"      args [image, elements of a row, its height, width, out, its height, width, places, filling of its dtype,
                               float32[32 x taps]], [begin, end): rows of out; facts: taps 1, 2 or 4; affine: places are int64
                               in 1/1024, x of rows and what columns add to it, then y; else the map's float64[8];
                               image and out are float32
    """
    if to_dtype(dtype) is not uint8:
        return None
    return kernel_of(KINDS[kind], channels, *facts, target=target or current())


# ------------------------------------------------------------------- another size

@kernel_writer(lambda channels: f"linear_bytes_{channels}")
def write_linear_bytes(f, channels):
    """OpenCV's linear interpolation of bytes: columns first, then rows, rounded to 1/4 and to 1.

    Mixed columns are below 2 ** 15, so that rows are mixed in 16 bits. Pixels of three channels are mixed in four lanes, where
    the fourth is one of the next pixel: the last columns, which have none, go one by one.
    """
    f.fastmath = ()
    stride, tall, wide, height, width = (f.arg(k) for k in (1, 2, 3, 5, 6))
    image, out, work = f.array(uint8, f.arg(0)), f.array(uint8, f.arg(4)), f.array(int32, f.arg(7))
    first, second, left, right = (work.at(width * k) for k in range(4))
    mixed_rows = f.array(int16, work.at(width * 4).address)
    rows = [mixed_rows, mixed_rows.at(width * channels + LANES)]        # two rows with the columns mixed
    safe = f.variable(I64, 0)                                           # columns that are mixed in lanes
    with f.loop(0, width) as x:
        base, left[x], right[x] = neighbours(f, x, wide, width)
        first[x] = f.convert(base * channels, I32)
        second[x] = f.convert(f.minimum(base + 1, wide - 1) * channels, I32)
        if channels == 3:
            safe.set(f.select(base + 1 < wide - 1, x + 1, safe.get()))
    held = [f.variable(I64, -1), f.variable(I64, -1)]                   # which rows of the image they are: even ones, odd ones

    def mix(number, parity):
        with f.when(held[parity].get().differs(number)):
            held[parity].set(number)
            line, target = image.at(number * stride), rows[parity]
            with f.loop(0, safe.get()) as x:
                mixed = _lanes(f, line, first[x], left[x]) + _lanes(f, line, second[x], right[x])
                narrow = f.builder.trunc((mixed >> _splat(f, SHIFT)).ir, ir.VectorType(I16, LANES))
                f.builder.store(narrow, f.builder.inttoptr(target.at(x * channels).address.ir, PTR), align=2)
            with f.loop(safe.get(), width) as x:
                a, b, here, there = left[x], right[x], widened(f, first[x]), widened(f, second[x])
                for channel in range(channels):
                    mixed = f.convert(line[here + channel], I32) * a + f.convert(line[there + channel], I32) * b
                    target[x * channels + channel] = Value(f, f.builder.trunc((mixed >> SHIFT).ir, I16))

    with f.loop(0, height) as y:
        base, upper, lower = neighbours(f, y, tall, height)
        below = f.minimum(base + 1, tall - 1)
        even = (base & 1).equals(0)
        for number in (base, below):
            with f.choose((number & 1).equals(0)) as (then, other):
                with then:
                    mix(number, 0)
                with other:
                    mix(number, 1)
        # at the last row both neighbours are one row, and the second weight is 0
        shares = [Value(f, f.builder.sext(f.builder.trunc(one.ir, I16), I32)) for one in
                  (f.select(even, upper, lower), f.select(even, lower, upper))]
        line = out.at(y * width * channels)
        with f.loop(0, width * channels) as i:
            high = [truncated(f, (widened(f, row[i], I32) * share) >> 16, I16) for row, share in zip(rows, shares)]
            line[i] = truncated(f, (high[0] + high[1] + 2) >> 2, I8)


def _splat(f, number):
    return Value(f, ir.Constant(ir.VectorType(I32, LANES), [number] * LANES))


def _lanes(f, line, offset, weight):
    """Four bytes of a row by a weight, as 32 bits each."""
    pointer = f.builder.inttoptr(line.at(widened(f, offset)).address.ir, PTR)
    kind, one = ir.VectorType(I32, LANES), ir.VectorType(I32, 1)
    none = ir.Constant(one, ir.Undefined)
    alone = f.builder.insert_element(none, weight.ir, ir.Constant(I32, 0))
    everywhere = f.builder.shuffle_vector(alone, none, ir.Constant(kind, None))
    pixels = f.builder.zext(f.builder.load(pointer, typ=ir.VectorType(I8, LANES), align=1), kind)
    return Value(f, f.builder.mul(pixels, everywhere))


# ------------------------------------------------------------------- normalised, mirrored

@kernel_writer(lambda channels, planes, mirrored: f"normalised_{channels}{'_planes' * planes}{'_mirrored' * mirrored}")
def write_normalised(f, channels, planes, mirrored):
    """(x - mean) / std by channel, in float32."""
    f.fastmath = ()
    stride, height, width = (f.arg(k) for k in (1, 2, 3))
    image, out, shares = f.array(uint8, f.arg(0)), f.array(float32, f.arg(4)), f.array(float32, f.arg(5))
    mean, std = ([shares[k + first] for k in range(channels)] for first in (0, channels))
    with f.loop(f.begin, f.end) as y:
        line = image.at(y * stride)
        lines = [out.at((height * k + y) * width) if planes else out.at(y * width * channels + k) for k in range(channels)]
        with f.loop(0, width) as x:
            for k in range(channels):
                place = (width - 1 - x if mirrored else x) * channels + k
                pixel = Value(f, f.builder.uitofp(line[place].ir, F32))
                lines[k][x if planes else x * channels] = (pixel - mean[k]) / std[k]


@kernel_writer(lambda channels: f"mirrored_{channels}")
def write_mirrored(f, channels):
    """Left and right exchanged.

    As many pixels as 16 bytes hold are exchanged at a time. Five of three channels leave a byte: it is read before them, and
    written behind them, where the pixels that follow overwrite it. So the last ones go one by one.
    """
    stride, width = f.arg(1), f.arg(2)
    image, out = f.array(uint8, f.arg(0)), f.array(uint8, f.arg(3))
    (count, rest), kind = divmod(BLOCK, channels), ir.VectorType(I8, BLOCK)
    order = [rest + (count - 1 - i // channels) * channels + i % channels for i in range(BLOCK - rest)] + [0] * rest
    blocks = f.maximum(width - 1, 0) // count
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width * channels)
        with f.loop(0, blocks) as block:
            source = line.at((width - (block + 1) * count) * channels - rest).address
            pixels = f.builder.load(f.builder.inttoptr(source.ir, PTR), typ=kind, align=1)
            turned = f.builder.shuffle_vector(pixels, pixels, ir.Constant(ir.VectorType(I32, BLOCK), order))
            place = target.at(block * count * channels).address
            f.builder.store(turned, f.builder.inttoptr(place.ir, PTR), align=1)
        with f.loop(blocks * count, width) as x:
            for k in range(channels):
                target[x * channels + k] = line[(width - 1 - x) * channels + k]


@kernel_writer(lambda size: f"nearest_{size}")
def write_nearest(f, size):
    """Each pixel one of the image."""
    stride, width = f.arg(1), f.arg(3)
    image, out = f.array(uint8, f.arg(0)), f.array(uint8, f.arg(2))
    columns, rows = f.array(int64, f.arg(4)), f.array(int64, f.arg(5))
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(rows[y] * stride), out.at(y * width * size)
        with f.loop(0, width) as x:
            f.copy(target.at(x * size).address, line.at(columns[x] * size).address, size)


KINDS = {"nearest": write_nearest, "linear": write_linear_bytes, "normalised": write_normalised, "mirrored": write_mirrored,
         **image_filters.KINDS, **sampled.KINDS}

"""Bytes of images in another size, normalised, mirrored: loops over pixels, with the bits of the NumPy text in the data pipeline.

NumPy makes a temporary array of 32 bits for each step of such a formula; a loop holds a pixel. Channels, 1 or 3, lie together;
rows may lie apart, as those of a part of an image do.
"""
import functools

from ...common.dtype import dtype as to_dtype, float32, int32, uint8
from ..target import current
from .native import F32, F64, I8, I32, I64, Value, kernel_of, kernel_writer

BITS, SHIFT = 2048, 4                    # OpenCV's weights of bytes are in 1/2048; bits that are dropped after the columns


def pixels_kernel(kind, dtype, channels, planes=False, target=None):
    """The kernel of an operation on images; None for a dtype other than uint8.

    kind : "linear"      args [image, bytes of a row, its height, width, out uint8, its height, width,
                               work int32[4 width + 2 width channels]], [begin, end) is [0, 1)
           "normalised"  args [image, bytes of a row, height, width, out float32, float32[mean.., std..]], [begin, end): rows;
                               planes: channels are the first axis of out
           "mirrored"    args [image, bytes of a row, width, out uint8], [begin, end): rows
    """
    if to_dtype(dtype) is not uint8:
        return None
    facts = (channels, planes) if kind == "normalised" else (channels,)
    return kernel_of(KINDS[kind], *facts, target=target or current())


# ------------------------------------------------------------------- another size

def _neighbours(f, position, have, want):
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


@kernel_writer(lambda channels: f"linear_bytes_{channels}")
def write_linear_bytes(f, channels):
    """OpenCV's linear interpolation of bytes: columns first, then rows, rounded to 1/4 and to 1."""
    f.fastmath = ()
    stride, tall, wide, height, width = (f.arg(k) for k in (1, 2, 3, 5, 6))
    image, out, work = f.array(uint8, f.arg(0)), f.array(uint8, f.arg(4)), f.array(int32, f.arg(7))
    first, second, left, right = (work.at(width * k) for k in range(4))
    rows = work.at(width * 4), work.at(width * (4 + channels))          # two rows with the columns mixed
    with f.loop(0, width) as x:
        base, left[x], right[x] = _neighbours(f, x, wide, width)
        first[x] = f.convert(base * channels, I32)
        second[x] = f.convert(f.minimum(base + 1, wide - 1) * channels, I32)
    held = [f.variable(I64, -1), f.variable(I64, -1)]                   # which rows of the image they are: even ones, odd ones

    def mix(number, parity):
        with f.when(held[parity].get().differs(number)):
            held[parity].set(number)
            line, target = image.at(number * stride), rows[parity]
            with f.loop(0, width) as x:
                a, b, here, there = left[x], right[x], _wide(f, first[x]), _wide(f, second[x])
                for channel in range(channels):
                    mixed = f.convert(line[here + channel], I32) * a + f.convert(line[there + channel], I32) * b
                    target[x * channels + channel] = mixed >> SHIFT

    with f.loop(0, height) as y:
        base, upper, lower = _neighbours(f, y, tall, height)
        below = f.minimum(base + 1, tall - 1)
        even = (base & 1).equals(0)
        for number in (base, below):
            with f.choose((number & 1).equals(0)) as (then, other):
                with then:
                    mix(number, 0)
                with other:
                    mix(number, 1)
        # at the last row both neighbours are one row, and the second weight is 0
        even_weight, odd_weight = f.select(even, upper, lower), f.select(even, lower, upper)
        line = out.at(y * width * channels)
        with f.loop(0, width * channels) as i:
            total = ((rows[0][i] * even_weight) >> 16) + ((rows[1][i] * odd_weight) >> 16) + 2
            line[i] = Value(f, f.builder.trunc((total >> 2).ir, I8))


def _wide(f, value):
    return Value(f, f.builder.sext(value.ir, I64))


# ------------------------------------------------------------------- normalised, mirrored

@kernel_writer(lambda channels, planes: f"normalised_{channels}_{'planes' if planes else 'pixels'}")
def write_normalised(f, channels, planes):
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
                pixel = Value(f, f.builder.uitofp(line[x * channels + k].ir, F32))
                lines[k][x if planes else x * channels] = (pixel - mean[k]) / std[k]


@kernel_writer(lambda channels: f"mirrored_{channels}")
def write_mirrored(f, channels):
    """Left and right exchanged."""
    stride, width = f.arg(1), f.arg(2)
    image, out = f.array(uint8, f.arg(0)), f.array(uint8, f.arg(3))
    with f.loop(f.begin, f.end) as y:
        line, target = image.at(y * stride), out.at(y * width * channels)
        with f.loop(0, width) as x:
            for k in range(channels):
                target[x * channels + k] = line[(width - 1 - x) * channels + k]


KINDS = {"linear": write_linear_bytes, "normalised": write_normalised, "mirrored": write_mirrored}

"""Elements moved between channels, pictures and batches in blocks: reshapes and transposes, so derivatives are the way back.

    pixel_shuffle      [.., C r r, H, W]  -> [.., C, H r, W r]        Shi et al. 2016
    channel_shuffle    [.., g n, H, W]    -> the channels of g groups in turn        Zhang et al. 2018
    space_to_batch_nd  each block of a picture goes to several pictures of the batch, batch_to_space_nd takes them back
"""
from __future__ import annotations

from typing import Any

from ..common.annotations import Ints
from ..common.dim import compare
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_size
from .basic import reshape, transpose
from .define import as_operand
from .slicing import take_range
from .structure import pad_constant


def _divided(name, size, by, what):
    if isinstance(size, int) and isinstance(by, int) and (by < 1 or size % by):
        raise ValueRangeError(f"{name}: {what} of size {size} cannot be cut into {by}")
    return size // by


def _picture(name, x, least=3):
    x = as_operand(x)
    if x.ndim < least:
        raise ShapeError(f"{name}: at least {least} axes are wanted", note=f"input: {list(x.shape)}")
    return x


@planned
def pixel_shuffle(input: TensorLike, upscale_factor: int) -> Tensor:
    """[.., C r r, H, W] -> [.., C, H r, W r] for r = upscale_factor: channels become pixels.

    input          : Tensor of three axes or more;     upscale_factor : int >= 1
    raises         : ValueRangeError where r r does not divide the channels, ShapeError for fewer axes
    source         : Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution ..", equation 4
    """
    x, r = _picture("pixel_shuffle", input), as_size("pixel_shuffle", upscale_factor)
    if compare("<", r, 1):
        raise ValueRangeError(f"pixel_shuffle: upscale_factor is at least 1, not {r}")
    *lead, channels, height, width = x.shape
    channels_out, n = _divided("pixel_shuffle", channels, r * r, "a channel axis"), len(lead)
    x = reshape(x, shape=(*lead, channels_out, r, r, height, width))
    x = transpose(x, perm=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return reshape(x, shape=(*lead, channels_out, height * r, width * r))


@planned
def pixel_unshuffle(input: TensorLike, downscale_factor: int) -> Tensor:
    """[.., C, H r, W r] -> [.., C r r, H, W] for r = downscale_factor: the reverse of pixel_shuffle.

    input            : Tensor of three axes or more;     downscale_factor : int >= 1
    raises           : ValueRangeError where r does not divide height and width, ShapeError for fewer axes
    """
    x, r = _picture("pixel_unshuffle", input), as_size("pixel_unshuffle", downscale_factor)
    *lead, channels, height, width = x.shape
    height, width = (_divided("pixel_unshuffle", size, r, "a picture") for size in (height, width))
    n = len(lead)
    x = reshape(x, shape=(*lead, channels, height, r, width, r))
    x = transpose(x, perm=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return reshape(x, shape=(*lead, channels * r * r, height, width))


@planned
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Channels of groups exchanged: the first of each group, the second of each, and so on.

    x      : Tensor [.., C, H, W]
    groups : int that divides C
    out    : Tensor like x
    raises : ShapeError for fewer than three axes, ValueRangeError where groups does not divide the channels
    source : Zhang et al. 2018, "ShuffleNet"
    """
    x, groups = _picture("channel_shuffle", x), as_size("channel_shuffle", groups)
    *lead, channels, height, width = x.shape
    each, n = _divided("channel_shuffle", channels, groups, "a channel axis"), len(lead)
    y = transpose(reshape(x, shape=(*lead, groups, each, height, width)), perm=(*range(n), n + 1, n, n + 2, n + 3))
    return reshape(y, shape=tuple(x.shape))


@planned
def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """[N, C, H b, W b] -> [N, b b C, H, W]: the place in a block is the outer part of the channel.

    x          : Tensor of four axes;     block_size : int >= 1, b
    raises     : ValueRangeError where b does not divide height and width, ShapeError for fewer axes
    """
    x, b = _picture("space_to_depth", x, 4), as_size("space_to_depth", block_size)
    batch, channels, height, width = x.shape
    height, width = (_divided("space_to_depth", size, b, "a picture") for size in (height, width))
    x = transpose(reshape(x, shape=(batch, channels, height, b, width, b)), perm=(0, 3, 5, 1, 2, 4))
    return reshape(x, shape=(batch, b * b * channels, height, width))


@planned
def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """The inverse of space_to_depth: blocks of channels laid out as pixels.

    x      : Tensor [N, b b C, H, W] for b = block_size; the place in a block is the outer part of the channel
    block_size : int, 1 or more
    out    : Tensor [N, C, H b, W b]
    raises : ShapeError for fewer than four axes, ValueRangeError where b b does not divide the channels
    """
    x, b = _picture("depth_to_space", x, 4), as_size("depth_to_space", block_size)
    batch, channels, height, width = x.shape
    channels_out = _divided("depth_to_space", channels, b * b, "a channel axis")
    x = transpose(reshape(x, shape=(batch, b, b, channels_out, height, width)), perm=(0, 3, 4, 1, 5, 2))
    return reshape(x, shape=(batch, channels_out, height * b, width * b))


# ---------------------------------------------------------------- blocks and the batch

def _settings(name, ndim, block, ends):
    """(sizes of a block, (before, after) of each of the last axes)"""
    if not isinstance(ends, (tuple, list)) or not all(isinstance(pair, (tuple, list)) for pair in ends):
        raise ArgumentError(f"{name}: a pair of numbers for each of the last axes is wanted", note=repr(ends)[:80])
    ends = [tuple(pair) for pair in ends]
    block = (block,) * len(ends) if isinstance(block, int) else tuple(block)
    if len(block) != len(ends) or len(block) >= ndim:
        raise ArgumentError(f"{name}: as many block sizes as pairs are wanted, less than axes",
                            note=f"blocks: {list(block)}, pairs: {ends}, axes: {ndim}")
    return tuple(as_size(name, b) for b in block), ends


@planned
def space_to_batch_nd(input_x: TensorLike, block_size: Any, paddings: Any) -> Tensor:
    """[N, .., s1, s2, ..] -> [b1 b2 .. N, .., s1 / b1, s2 / b2, ..]: the place in a block becomes part of the batch.

    input_x    : Tensor of any dtype
    block_size : ints, the sizes b of a block along the last axes; an int is all
    paddings   : int[axes of blocks, 2], zeros before and after each of these axes, which are added first
    raises     : ValueRangeError where a block does not divide the padded axis, ArgumentError for as many sizes as axes or more
    """
    x = as_operand(input_x)
    block, ends = _settings("space_to_batch_nd", x.ndim, block_size, paddings)
    outer = x.ndim - len(block)
    x = pad_constant(x, [(0, 0)] * outer + ends)
    sizes = [_divided("space_to_batch_nd", n, b, "an axis") for n, b in zip(x.shape[outer:], block)]
    x = reshape(x, shape=(*x.shape[:outer], *(n for pair in zip(sizes, block) for n in pair)))
    inner = [outer + 2 * i + 1 for i in range(len(block))]
    x = transpose(x, perm=(*inner, *range(outer), *(i - 1 for i in inner)))
    count = x.shape[len(block)]
    for b in block:
        count = count * b
    return reshape(x, shape=(count, *x.shape[len(block) + 1:]))


@planned
def batch_to_space_nd(input_x: TensorLike, block_shape: Ints, crops: Any) -> Tensor:
    """The inverse of space_to_batch_nd: parts of the batch laid out along the last axes.

    input_x : Tensor [b1 b2 .. N, .., s1, s2, ..]
    block_shape : int or ints, the sizes b of a block along the last axes
    crops  : (before, after) of each last axis, ints: how many elements are left out
    out    : Tensor [N, .., s1 b1 - before - after, ..]
    raises : ArgumentError where sizes and crops are not as many, ValueRangeError where the blocks do not divide the batch,
             ShapeError where the crops are larger than an axis
    """
    x = as_operand(input_x)
    block, ends = _settings("batch_to_space_nd", x.ndim, block_shape, crops)
    outer, count = x.ndim - len(block), x.shape[0]
    for b in block:
        count = _divided("batch_to_space_nd", count, b, "a batch")
    m = len(block)
    x = reshape(x, shape=(*block, count, *x.shape[1:]))
    pairs = (axis for i in range(m) for axis in (m + outer + i, i))
    x = transpose(x, perm=(*range(m, m + outer), *pairs))
    shape = tuple(x.shape)
    x = reshape(x, shape=(*shape[:outer], *(shape[outer + 2 * i] * shape[outer + 2 * i + 1] for i in range(m))))
    for axis, (before, after) in enumerate(ends, outer):
        if before or after:
            x = take_range(x, axis, before, x.shape[axis] - after)
    return x

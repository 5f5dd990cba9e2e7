"""Functions of MindSpore that later ones have replaced, written in those.

    repeat_elements(x, 2)  ==  repeat_interleave(x, 2, 0)          intopk  ==  is the label among topk
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

import numpy as np

from ..common import dtype as dt
from ..common.dtype import DTypeLike
from ..common.annotations import Ints
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import planned
from .arithmetic import abs
from .axes import as_known_number, normal_axis
from .basic import cast, reduce_sum, reshape
from .combined import clip_by_norm
from .creation import arange, full, full_like
from .define import as_operand, check_tensors, dtype_of, is_scalar
from .einsum import einsum
from .logic import greater, logical_and
from .lookup import gather_elements
from .patches import fold
from .slicing import take_range
from .state import identity, shape as shape_of
from .repeats import repeat_interleave
from .structure import concat, flip, pad_constant, stack


def repeat_elements(x: TensorLike, rep: int, axis: int = 0) -> Tensor:
    """Each slice of x along `axis` rep times, one after the other: repeat_interleave.

    x      : Tensor of any dtype;     rep : int >= 0;     axis : int
    raises : ValueRangeError for a negative rep or an axis outside, ArgumentError for a rep that is no int
    """
    return repeat_interleave(as_operand(x), rep, axis)


def mirror_pad(input_x: TensorLike, paddings: Any, mode: str) -> Tensor:
    """input_x continued at the ends of each axis by what is there, backwards.

    input_x  : Tensor of any dtype
    paddings : int[axes, 2], known: how many before and behind
    mode     : "REFLECT" without the edge, "SYMMETRIC" with it
    raises   : ValueRangeError for another mode and negative paddings, ShapeError where more is wanted than there is, or for
               other axes
    """
    pairs = np.asarray(paddings)
    if pairs.ndim != 2:
        raise ShapeError("mirror_pad: paddings are two numbers for each axis", note=f"paddings: {paddings!r}"[:80])
    x, ends = as_operand(input_x), [tuple(row) for row in pairs.tolist()]
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueRangeError(f"mirror_pad: mode is 'REFLECT' or 'SYMMETRIC', not {mode!r}")
    if [len(row) for row in ends] != [2] * x.ndim:
        raise ShapeError("mirror_pad: paddings are two numbers for each axis", note=f"paddings: {ends}, input_x: {list(x.shape)}")
    if any(end < 0 for row in ends for end in row):
        raise ValueRangeError("mirror_pad: paddings are not negative", note=f"{ends}")
    skip = 1 if mode == "REFLECT" else 0
    for axis, (before, after) in enumerate(ends):
        n = x.shape[axis]
        if isinstance(n, int) and max(before, after) > n - skip:
            raise ShapeError(f"mirror_pad: {max(before, after)} elements beside an axis of size {n}", note=f"mode {mode}")
        left = flip(take_range(x, axis, skip, skip + before), (axis,))
        right = flip(take_range(x, axis, n - skip - after, n - skip), (axis,))
        x = concat((left, x, right), axis)
    return x


@planned
def batch_dot(x1: TensorLike, x2: TensorLike, axes: Any = None) -> Tensor:
    """The product of the axes `axes` = (of x1, of x2), for each part of the batch (the first axis).

    axes   : one int for both; None: the last of x1 and the one before the last of x2 (the last of a matrix)
    raises : ShapeError where the sizes differ or there is no axis beside the batch
    """
    a, b = as_operand(x1), as_operand(x2)
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError("batch_dot: at least two axes are wanted", note=f"x1: {list(a.shape)}, x2: {list(b.shape)}")
    axes = (a.ndim - 1, max(b.ndim - 2, 1)) if axes is None else (axes, axes) if isinstance(axes, int) else tuple(axes)
    first, second = normal_axis("batch_dot", axes[0], a.ndim), normal_axis("batch_dot", axes[1], b.ndim)
    if 0 in (first, second):
        raise ArgumentError("batch_dot: the batch axis cannot be multiplied", note=f"axes: {axes}")
    letters = iter("cdefghijklmnopqrstuvw")
    left = "".join("a" if i == 0 else "b" if i == first else next(letters) for i in range(a.ndim))
    right = "".join("a" if i == 0 else "b" if i == second else next(letters) for i in range(b.ndim))
    output = left.replace("b", "") + right.replace("b", "")[1:]
    out = einsum(f"{left},{right}->{output}", a, b)
    return out if out.ndim > 1 else reshape(out, shape=(out.shape[0], 1))


def clip_by_global_norm(x: Sequence[Tensor], clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """Tensors, all scaled by one factor so that the norm of all elements together is at most clip_norm; see clip_by_norm.

    x      : a tuple or list of Tensors
    clip_norm : float, 0 or more
    use_norm : None
    out    : a tuple of Tensors
    raises : ArgumentError for what is no tuple or list, an empty one, or another use_norm; ValueRangeError for a negative
             clip_norm
    """
    if use_norm is not None:
        raise ArgumentError("clip_by_global_norm: use_norm is None")
    if not isinstance(x, (tuple, list)):
        raise ArgumentError(f"clip_by_global_norm: a tuple or a list of Tensors is wanted, not {type(x).__name__}")
    scaled: Any = clip_by_norm
    return tuple(scaled(tuple(x), clip_norm))


@planned
def intopk(x1: TensorLike, x2: TensorLike, k: int) -> Tensor:
    """bool[N] : is the score x1[i, x2[i]] among the k largest of x1[i], and finite?"""
    scores, labels = as_operand(x1), as_operand(x2)
    own = gather_elements(scores, 1, reshape(labels, shape=(-1, 1)))
    better = reduce_sum(cast(greater(scores, own), dtype=dt.int64), axis=1, keepdims=False)
    finite = reshape(abs(own) < float("inf"), shape=(-1,))
    return logical_and(better < k, finite)


def eps(x: Tensor) -> Any:
    """A Tensor like x of the distance from 1 to the next number of its dtype."""
    x = as_operand(x)
    return full_like(x, float(dtype_of(x).limits.eps) if dtype_of(x).is_float else 2.0 ** -23)


def dyn_shape(input_x: TensorLike) -> Any:
    """The sizes of a tensor as a Tensor.

    input_x : Tensor
    out    : int64 [axes]
    """
    sizes = shape_of(as_operand(input_x))
    return stack([as_operand(size, dt.int64) for size in sizes], 0) if sizes else arange(0)


def tuple_to_array(input_x: Any) -> Tensor:
    """A tuple of numbers as a Tensor: int64, float32 or bool.

    input_x : tuple of ints, of floats or of bools
    raises  : ArgumentError for others, for an empty one and for several types
    """
    if not isinstance(input_x, (tuple, list)) or not input_x or set(map(type, input_x)) not in ({int}, {float}, {bool}):
        raise ArgumentError("tuple_to_array: a tuple of numbers of one type is wanted", note=repr(input_x)[:80])
    return Tensor(list(input_x), dt.float32 if isinstance(input_x[0], float) else dt.int64)


@planned
def lrn(x: Tensor, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS") -> Tensor:
    """Local response normalisation: x / (bias + alpha * the sum of squares of the channels at most depth_radius away) ** beta.

    x      : float Tensor [N, C, H, W]
    depth_radius : int, 0 or more
    bias, alpha, beta : float
    norm_region : "ACROSS_CHANNELS"
    out    : Tensor like x
    raises : ValueRangeError for another rank or norm_region
    source : Krizhevsky et al. 2012, section 3.3
    """
    x = as_operand(x)
    if norm_region != "ACROSS_CHANNELS" or x.ndim != 4:
        raise ValueRangeError("lrn: a tensor [N, C, H, W] and norm_region 'ACROSS_CHANNELS' are wanted",
                              note=f"x: {list(x.shape)}, norm_region: {norm_region!r}")
    channels = x.shape[1]
    wide = pad_constant(x * x, [(0, 0), (depth_radius, depth_radius), (0, 0), (0, 0)])
    total = take_range(wide, 1, 0, channels)
    for shift in range(1, 2 * depth_radius + 1):
        total = total + take_range(wide, 1, shift, shift + channels)
    return x / (bias + alpha * total) ** beta


def inplace_index_add(var: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """var with `updates` added at indices along an axis, in var's memory.

    var    : Parameter or Tensor
    indices : int Tensor [n]
    updates : Tensor of var's shape, but n along the axis
    axis   : int
    out    : var
    raises : OperandIndexError for an index outside, ShapeError where updates do not fit, ValueRangeError for an axis outside
    """
    check_tensors("inplace_index_add", var=var)
    return var.index_add_(axis, indices, updates)


def col2im(input_x: TensorLike, output_size: Any, kernel_size: Ints, dilation: Ints, padding_value: Ints, stride: Ints) -> Tensor:
    """The picture whose windows are the columns of input_x, added where they overlap: `fold` of columns with an axis of their
             own.

    input_x : Tensor [N, C, KH * KW, L]
    output_size : two ints, or an int Tensor of two: the sizes of the picture
    kernel_size, dilation, padding_value, stride : int or two of them, as of fold
    out    : Tensor [N, C, *output_size]
    raises : ShapeError for another rank, or where L is not the number of windows
    """
    x = as_operand(input_x)
    if x.ndim != 4:
        raise ShapeError("col2im: columns are [N, C, KH * KW, L]", note=f"input_x: {list(x.shape)}")
    size = output_size.tolist() if hasattr(output_size, "tolist") else output_size
    columns = reshape(x, shape=(x.shape[0], x.shape[1] * x.shape[2], x.shape[3]))
    return fold(columns, size, kernel_size, dilation, padding_value, stride)


def deepcopy(input_x: Any) -> Any:
    """A copy, which shares no memory.

    input_x : Tensor or number
    out    : Tensor with the same elements
    """
    x = as_operand(input_x)
    return identity(x) if isinstance(x, np.ndarray) else x.copy()


def is_tensor(obj: object) -> Any:
    """True for a Tensor.

    obj    : any object, of whatever type
    out    : bool
    """
    return isinstance(obj, Tensor) or isinstance(obj, AnfNode) and isinstance(obj.abstract, AbstractTensor)


def frombuffer(buffer: Any, dtype: DTypeLike = dt.uint8, count: int = -1, offset: int = 0) -> Tensor:
    """The memory of an object of Python as a vector, shared with it where it may be written.

    buffer : bytes, or another object with a buffer
    dtype  : of the elements, uint8 by default
    count  : int, how many elements; -1: all that there are
    offset : int, the first byte
    out    : Tensor [count]
    raises : NumPy's ValueError where the buffer is too small or no multiple of an element, TypeError for what has no buffer
    """
    return Tensor.from_numpy(np.frombuffer(buffer, dt.dtype(dtype).numpy, count, offset))


def scalar_to_tensor(input_x: Any, dtype: DTypeLike | None = dt.float32) -> Tensor:
    """A known number as a tensor [].

    input_x : bool, int or float;     dtype : of the tensor, float32 by default; None: that of the number
    raises  : ArgumentError for another value, DTypeError for what is no dtype
    """
    if isinstance(input_x, AnfNode) and is_scalar(input_x):
        return cast(as_operand(input_x), dtype=dt.dtype(dtype))
    if not isinstance(input_x, (bool, int, float)):
        raise ArgumentError(f"scalar_to_tensor: a bool, an int or a float is wanted, not {type(input_x).__name__}")
    return full((), input_x, dtype=dtype)


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """The number input_x as dtype input_y would hold it: an int, a float or a bool. raises : ArgumentError, DTypeError"""
    input_x = as_known_number("scalar_cast", input_x.item() if isinstance(input_x, Tensor) else input_x)
    if not isinstance(input_x, (bool, int, float)):
        raise ArgumentError(f"scalar_cast: a bool, an int or a float is wanted, not {type(input_x).__name__}")
    wanted = dt.dtype(input_y)
    kind = {"b": bool, "f": float}.get(wanted.kind, int)
    return kind(np.asarray(input_x).astype(wanted.numpy).item())


def view_as(input: TensorLike, other: TensorLike) -> Tensor:
    """`input` with the shape of `other`.

    input, other : Tensors of as many elements
    raises       : ShapeError where the counts differ
    """
    return reshape(as_operand(input), shape=tuple(as_operand(other).shape))

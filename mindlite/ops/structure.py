"""Tensors joined, cut, repeated and padded; axes added, removed and moved.

`concatenate` is the one primitive here; all else is written in it, in slices (slicing.py), reshape, transpose and
broadcast_to, so sizes may be Dims throughout.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

import numpy as np
from ..common.annotations import Axes, Ints

from ..common.dim import compare, dim_max, product
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import decide_equal, require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, planned, primitive, vmap_rule
from ..mindir.scalar import where as where_scalar
from .axes import as_shape, as_size, axes_of, broadcast_shapes, fill_in, normal_axes, normal_axis
from .basic import batched, broadcast_to, reshape, transpose
from .define import as_operand, cast_to, dtype_of, is_array, promote_operands
from .logic import where
from .sbp import letters, sbp_rule
from .slicing import pad_slice, slice_, take_range, zeros_like_shape


# ---------------------------------------------------------------- concatenate

@primitive
def concatenate(*tensors, axis):
    """The tensors one after another along `axis`, counted from the front; they agree in dtype and in all other
    sizes."""


@infer_rule(concatenate)
def concatenate_infer(*tensors, axis):
    first, total = tensors[0], 0
    for x in tensors:
        error = lambda: ShapeError(f"concat: the tensors differ outside axis {axis}",  # noqa: E731
                                   note=", ".join(map(str, tensors)))
        if x.ndim != first.ndim:
            raise error()
        for a, (n, m) in enumerate(zip(x.shape, first.shape)):
            if a != axis:
                require("==", n, m, error)
        total = total + x.shape[axis]
    return AbstractTensor(first.dtype, first.shape[:axis] + (total,) + first.shape[axis + 1:])


@eval_rule(concatenate)
def concatenate_eval(*tensors, axis):
    return np.concatenate(tensors, axis)


@kernel_rule(concatenate)
def concatenate_kernel(*tensors, out, axis):
    def element(*index):
        i, begin, choices = index[axis], 0, []
        for x in tensors:
            choices.append((begin + x.shape[axis], x[index[:axis] + (i - begin,) + index[axis + 1:]]))
            begin = begin + x.shape[axis]
        value = choices[-1][1]
        for end, read in reversed(choices[:-1]):
            value = where_scalar(i < end, read, value)
        return value
    return element


@bprop_rule(concatenate)
def concatenate_bprop(*tensors, out, dout, axis):
    grads, begin = [], 0
    for x in tensors:
        end = begin + x.shape[axis]
        grads.append(take_range(dout, axis, begin, end))
        begin = end
    return tuple(grads)


@jvp_rule(concatenate)
def concatenate_jvp(primals, tangents, out, *, axis):
    return concatenate(*(zeros_like_shape(x) if t is None else t for x, t in zip(primals, tangents)), axis=axis)


@vmap_rule(concatenate)
def concatenate_vmap(args, dims, size, *, axis):
    return concatenate(*(batched(x, d, size) for x, d in zip(args, dims)), axis=axis + 1), 0


def _concatenate_spec(*tensors, axis):
    axes = "".join("_" if a == axis else name for a, name in enumerate(letters(tensors[0].ndim)))
    return ",".join([axes] * len(tensors)) + "->" + axes


sbp_rule(concatenate, _concatenate_spec, linear=lambda *tensors, axis: [set(range(len(tensors)))])


# ---------------------------------------------------------------- joining and cutting

def real_axis(name, axis, ndim):
    """`axis` counted from the front. raises : ValueRangeError outside [-ndim, ndim), and for a tensor without axes."""
    if ndim == 0:
        raise ValueRangeError(f"{name}: a tensor without axes has no axis {axis}")
    return normal_axis(name, axis, ndim)


@planned
def concat(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The tensors one after another along `axis`, promoted to one dtype.

    tensors : a non-empty tuple or list; raises : ShapeError if they differ outside `axis`
    """
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise ArgumentError("concat: a non-empty tuple or list of tensors is wanted")
    args, _ = promote_operands(tuple(as_operand(x) for x in tensors), {})
    axis = real_axis("concat", axis, args[0].ndim)
    return args[0] if len(args) == 1 else concatenate(*args, axis=axis)


@planned
def cat(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join tensors along an axis, as `concat`.

    tensors : a tuple or list of at least one Tensor, equal in all other sizes; their dtypes are promoted
    axis   : int
    out    : Tensor
    raises : ArgumentError for what is no tuple or list, or an empty one, ShapeError where another size differs,
             ValueRangeError for an axis outside or tensors without axes
    """
    return concat(tensors, axis)


@planned
def stack(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The tensors along a new axis.

    tensors : tuple or list of Tensors of one shape, of the dtype to which they are promoted
    axis    : int, where the new axis stands
    raises  : ShapeError where the shapes differ, ArgumentError for no tuple or an empty one, ValueRangeError for an axis
              outside
    """
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise ArgumentError("stack: a non-empty tuple or list of tensors is wanted")
    args, _ = promote_operands(tuple(as_operand(x) for x in tensors), {})
    if any(x.ndim != args[0].ndim for x in args):
        raise ShapeError("stack: the tensors differ in shape", note=", ".join(str(x.shape) for x in args))
    axis = real_axis("stack", axis, args[0].ndim + 1)
    return concat([expand_dims(x, axis) for x in args], axis)


@planned
def split(tensor: Tensor, split_size_or_sections: Ints, axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of `tensor` along `axis`: a tuple.

    tensor                 : Tensor of any dtype
    split_size_or_sections : int >= 1, the size of each piece (the last may be smaller), or a tuple of the sizes
    axis                   : int
    raises                 : ShapeError if the given sizes do not add up to the axis, ValueRangeError for a size below 1 or an
                             axis outside, ArgumentError for one that is no int
    """
    axis = real_axis("split", axis, axes_of("split", tensor))
    total = tensor.shape[axis]
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes = [as_size("split", s) for s in split_size_or_sections]
        require("==", sum(sizes[1:], sizes[0]), total, lambda: ShapeError(
            f"split: the sizes {sizes} do not add up to {total}"))
    else:
        piece = as_size("split", split_size_or_sections)
        if compare("<=", piece, 0):
            raise ValueRangeError(f"split: a piece of size {piece}")
        if not isinstance(total, int):
            raise ArgumentError(f"split: the number of pieces of size {piece} of an axis of size {total} is known "
                                "at run time only", hint="give the sizes of the pieces, or use ops.chunk")
        sizes = [min(piece, total - begin) for begin in range(0, total, piece)] or [0]
    return _cut(tensor, axis, sizes)


def _cut(x, axis, sizes):
    pieces, begin = [], 0
    for size in sizes:
        pieces.append(take_range(x, axis, begin, begin + size))
        begin = begin + size
    return tuple(pieces)


@planned
def chunk(input: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut along an axis into at most `chunks` pieces of equal size; the last is smaller where it does not divide.

    input  : Tensor of at least one axis, any dtype
    chunks : int, 1 or more
    axis   : int
    out    : tuple of Tensors; fewer than `chunks` where pieces of ceil(size / chunks) are enough; of an empty axis all of them
    raises : ValueRangeError for chunks below 1 or an axis outside
    """
    axis, chunks = real_axis("chunk", axis, axes_of("chunk", input)), as_size("chunk", chunks)
    if compare("<", chunks, 1):
        raise ValueRangeError(f"chunk: at least one piece is wanted, not {chunks}")
    total = input.shape[axis]
    piece = (total + chunks - 1) // chunks
    if isinstance(total, int):
        if total == 0:
            return (input,) * chunks
        return split(input, max(piece, 1), axis)
    last = total - piece * (chunks - 1)
    require(">=", last, 1, lambda: ShapeError(f"chunk: {total} does not give {chunks} pieces"))
    return _cut(input, axis, [piece] * (chunks - 1) + [last])


@planned
def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along `axis`, without it: a tuple. The axis' size must be known.

    input_x : Tensor of one axis or more;     axis : int
    raises  : ValueRangeError for an axis outside
    """
    axis = real_axis("unstack", axis, axes_of("unstack", input_x))
    if not isinstance(input_x.shape[axis], int):
        raise ArgumentError(f"unstack: the size {input_x.shape[axis]} of axis {axis} is known at run time only")
    return tuple(squeeze(x, axis) for x in _cut(input_x, axis, [1] * input_x.shape[axis]))


@planned
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, without it: a tuple, as unstack gives it.

    input  : Tensor of one axis or more, of a known size;     dim : int
    raises : ValueRangeError for an axis outside
    """
    return unstack(input, dim)


# ---------------------------------------------------------------- axes

@planned
def expand_dims(input_x: TensorLike, axis: int) -> Tensor:
    """An axis of size 1 inserted.

    input_x : Tensor of any dtype
    axis   : int, the place of the new axis in the result, in [-ndim - 1, ndim]
    out    : Tensor with the same elements
    raises : ValueRangeError for an axis outside
    """
    x = as_operand(input_x)
    axis = real_axis("expand_dims", axis, x.ndim + 1)
    return reshape(x, shape=tuple(x.shape[:axis]) + (1,) + tuple(x.shape[axis:]))


@planned
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new axis of size 1: expand_dims.

    input  : Tensor of any dtype;     dim : int, where it stands
    raises : ValueRangeError for an axis outside
    """
    return expand_dims(input, dim)


def has_size_one(name: str, x: Tensor, axis: int) -> bool:
    """True for an axis of size 1, as `decide_equal` answers for an open size."""
    return decide_equal(x.shape[axis], 1, lambda: ShapeError(f"{name}: the result depends on whether axis {axis} has size 1"))


@planned
def squeeze(input: Tensor, axis: Axes = None) -> Tensor:
    """Axes of size 1 removed.

    input  : Tensor of any dtype
    axis   : int or tuple of ints, those that go; None: all of size 1
    raises : ShapeError if a named axis has another size, ValueRangeError for an axis outside or named twice
    """
    ndim = axes_of("squeeze", input)
    if axis is None:
        axes = tuple(a for a in range(ndim) if has_size_one("squeeze", input, a))
    else:
        axes = normal_axes("squeeze", axis, ndim) if axis != () else ()
        for a in axes:
            require("==", input.shape[a], 1, lambda a=a: ShapeError(
                f"squeeze: axis {a} has size {input.shape[a]}, not 1"))
    return reshape(input, shape=tuple(n for a, n in enumerate(input.shape) if a not in axes)) if axes else input


@planned
def flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim, both included, as one.

    input  : Tensor of any dtype; one without axes becomes [1]
    order  : "C", or "F": the axes are reversed first
    start_dim, end_dim : int
    out    : Tensor; of at most one axis input itself
    raises : ValueRangeError for another order, an axis outside or start_dim behind end_dim
    """
    if order not in ("C", "F"):
        raise ValueRangeError(f"flatten: order is 'C' or 'F', not {order!r}")
    if order == "F":
        input = transpose(input)
    ndim = axes_of("flatten", input)
    if ndim < 2 and (start_dim, end_dim) == (1, -1):         # the default, which is for batches, leaves vectors alone
        start_dim = 0
    first, last = normal_axis("flatten", start_dim, ndim), normal_axis("flatten", end_dim, ndim)
    if ndim < 2:
        return reshape(input, shape=(-1,)) if ndim == 0 else input
    if first > last:
        raise ValueRangeError(f"flatten: start_dim {start_dim} is behind end_dim {end_dim}")
    shape = tuple(input.shape)
    return reshape(input, shape=shape[:first] + (product(shape[first:last + 1]),) + shape[last + 1:])


def ravel(input: Tensor) -> Tensor:
    """All elements in row-major order along one axis.

    input : Tensor of any shape and dtype
    """
    input = as_operand(input)
    return reshape(input, shape=(product(input.shape),))


def unflatten(input: Tensor, axis: int, sizes: Sequence[int]) -> Tensor:
    """Axis `axis` taken apart.

    input  : Tensor of any dtype;     axis : int
    sizes  : tuple of ints, one of which may be -1
    raises : ShapeError where they do not fit the axis, ValueRangeError for an axis outside
    """
    axis = real_axis("unflatten", axis, axes_of("unflatten", input))
    parts = fill_in("unflatten", as_shape("unflatten", sizes), input.shape[axis])
    return reshape(input, shape=tuple(input.shape[:axis]) + parts + tuple(input.shape[axis + 1:]))


@planned
def permute(input: TensorLike, axis: Sequence[int]) -> Tensor:
    """Axes in the order `axis`: out.shape[i] = input.shape[axis[i]]."""
    if not isinstance(axis, (tuple, list)):
        raise ArgumentError(f"permute: axis is a tuple of ints, not {type(axis).__name__}")
    return transpose(input, perm=tuple(axis))


@planned
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged.

    input        : Tensor of any dtype;     axis0, axis1 : ints
    raises       : ValueRangeError for an axis outside, ArgumentError for one that is no int
    """
    ndim = axes_of("swapaxes", input)
    a, b = real_axis("swapaxes", axis0, ndim), real_axis("swapaxes", axis1, ndim)
    perm = list(range(ndim))
    perm[a], perm[b] = b, a
    return transpose(input, perm=tuple(perm)) if a != b else input


@planned
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged, as swapaxes does it.

    input        : Tensor of any dtype;     dim0, dim1 : ints
    raises       : ValueRangeError for an axis outside, ArgumentError for one that is no int
    """
    return swapaxes(input, dim0, dim1)


@planned
def movedim(x: Tensor, source: Ints, destination: Ints) -> Tensor:
    """Axes moved to other places; the others keep their order.

    x                   : Tensor of any dtype
    source, destination : int, or tuples of as many ints
    raises              : ArgumentError where they are not as many, or name an axis twice, ValueRangeError for an axis outside
    """
    source = source if isinstance(source, (tuple, list)) else (source,)
    destination = destination if isinstance(destination, (tuple, list)) else (destination,)
    axes = axes_of("movedim", x) or 1                        # the element of a tensor without axes may be moved to axis 0
    source, destination = ([real_axis("movedim", a, axes) for a in ends] for ends in (source, destination))
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise ArgumentError("movedim: source and destination name as many different axes",
                            note=f"{source} {destination}")
    perm = [a for a in range(x.ndim) if a not in source]
    for to, a in sorted(zip(destination, source)):
        perm.insert(to, a)
    return transpose(x, perm=tuple(perm)) if x.ndim else x


@planned
def moveaxis(x: Tensor, source: Ints, destination: Ints) -> Tensor:
    """Axes moved to other places; the others keep their order. The same as movedim.

    x                   : Tensor of any dtype
    source, destination : int, or tuples of as many ints
    raises              : ArgumentError where they are not as many, or name an axis twice, ValueRangeError for an axis outside
    """
    return movedim(x, source, destination)


# ---------------------------------------------------------------- repeating

def _counts(name, counts):
    """raises : ValueRangeError for a negative number of repetitions"""
    if any(isinstance(count, int) and count < 0 for count in counts):
        raise ValueRangeError(f"{name}: a number of repetitions is negative", note=f"{counts}")
    return counts


@planned
def tile(input: Tensor, dims: Ints | None) -> Tensor:
    """`input` side by side with itself, dims[i] times along axis i.

    input  : Tensor of any dtype
    dims   : int or tuple of ints >= 0; fewer than axes count from the end, more of them add axes in front
    raises : ValueRangeError for a negative one, ArgumentError for one that is no int
    """
    counts = _counts("tile", as_shape("tile", dims))
    rank = max(len(counts), axes_of("tile", input))
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - input.ndim) + tuple(input.shape)
    spread = broadcast_to(reshape(input, shape=tuple(s for n in sizes for s in (1, n))),
                          shape=tuple(s for d, n in zip(counts, sizes) for s in (d, n)))
    return reshape(spread, shape=tuple(d * n for d, n in zip(counts, sizes)))


def repeat_slices(input: Tensor, times: Any, axis: int) -> Tensor:
    """Each slice along `axis` >= 0 repeated in place, `times` times. raises : ValueRangeError for a negative number"""
    times, = _counts("repeat_interleave", (times,))
    shape = tuple(input.shape)
    spread = broadcast_to(expand_dims(input, axis + 1), shape=shape[:axis + 1] + (times,) + shape[axis + 1:])
    return reshape(spread, shape=shape[:axis] + (shape[axis] * times,) + shape[axis + 1:])


@planned
def roll(input: Tensor, shifts: Ints, dims: Any = None) -> Tensor:
    """Elements moved by `shifts` places; what leaves one end enters at the other.

    input  : Tensor of any dtype
    shifts : int, or a tuple of as many ints as dims
    dims   : int or tuple of ints; None: of all elements in row-major order
    raises : ArgumentError for another number of shifts or one that is no int, ValueRangeError for an axis outside
    """
    input = as_operand(input)
    if dims is None:
        return reshape(roll(ravel(input), shifts, 0), shape=tuple(input.shape))
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(shifts) != len(dims):
        raise ArgumentError(f"roll: {len(shifts)} shifts for {len(dims)} axes")
    for shift, axis in zip(shifts, dims):
        axis = real_axis("roll", axis, input.ndim)
        n = input.shape[axis]
        if isinstance(n, int) and n == 0:
            continue
        cut = n - as_size("roll", shift, least=None) % dim_max(n, 1)
        if not (isinstance(cut, int) and isinstance(n, int) and cut == n):
            input = concat([take_range(input, axis, cut, n), take_range(input, axis, 0, cut)], axis)
    return input


@planned
def flip(input: Tensor, dims: Any) -> Tensor:
    """Elements in the opposite direction along axes.

    input  : Tensor of any dtype
    dims   : int or ints; None: all axes, (): none
    out    : Tensor like input
    raises : ValueRangeError for an axis outside or named twice
    """
    input = as_operand(input)
    axes = normal_axes("flip", dims, axes_of("flip", input)) if dims != () else ()
    return slice_(input, start=tuple(n - 1 if a in axes else 0 for a, n in enumerate(input.shape)),
                  sizes=tuple(input.shape), step=tuple(-1 if a in axes else 1 for a in range(input.ndim)))


def fliplr(input: Tensor) -> Tensor:
    """Elements in the opposite direction along axis 1.

    input  : Tensor of at least two axes, any dtype
    out    : Tensor like input
    raises : ValueRangeError for fewer axes
    """
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """Elements in the opposite direction along axis 0.

    input  : Tensor of any dtype
    out    : Tensor like input
    """
    return flip(input, 0)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors broadcast to their common shape: a tuple."""
    tensors = tuple(as_operand(x) for x in tensors)
    shape = broadcast_shapes("broadcast_tensors", *(tuple(x.shape) for x in tensors))
    return tuple(broadcast_to(x, shape=shape) for x in tensors)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate grids: out[k] varies only along axis k.

    inputs   : Tensors of one axis or none, which is one element, of any dtypes, or one list of them
    indexing : "ij", or "xy": the first two axes of the grids are exchanged
    out      : a tuple, each of the shape of all sizes and of the dtype of its input
    raises   : ShapeError for a tensor of more axes, ValueRangeError for another indexing
    """
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs = tuple(inputs[0])
    if indexing not in ("xy", "ij"):
        raise ValueRangeError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    inputs = tuple(x if x.ndim else reshape(x, shape=(1,)) for x in map(as_operand, inputs))
    if any(x.ndim != 1 for x in inputs):
        raise ShapeError("meshgrid: tensors of one axis are wanted", note=f"{[list(x.shape) for x in inputs]}")
    order = list(range(len(inputs)))
    if indexing == "xy" and len(inputs) > 1:
        order[:2] = 1, 0
    shape = tuple(inputs[order.index(a)].shape[0] for a in range(len(inputs)))
    return tuple(broadcast_to(reshape(x, shape=tuple(x.shape[0] if a == order[k] else 1 for a in range(len(inputs)))),
                              shape=shape) for k, x in enumerate(inputs))


# ---------------------------------------------------------------- padding

@planned
def pad(input_x: Tensor, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Elements added at the ends of axes.

    input_x : Tensor of any dtype
    padding : ints, (before, after) of the last axis, then of the one before it, ..; negative sizes cut at the end
    mode    : str: "constant", "reflect" (without the edge), "replicate" (the edge), "circular" (the other end of
              what negative sizes leave)
    value   : number or Tensor of one for "constant", 0 by default, converted to the dtype of input_x
    raises  : ValueRangeError for an unknown mode or a value with another one than "constant", ShapeError where reflect or
              circular want more than there is, ArgumentError for an odd number of sizes or more than axes
    """
    padding = as_shape("pad", padding) if not isinstance(padding, int) else (padding, padding)
    if len(padding) % 2 or len(padding) // 2 > axes_of("pad", input_x):
        raise ArgumentError(f"pad: {len(padding)} numbers for a tensor of {input_x.ndim} axes", note=str(padding),
                            hint="(before, after) of the last axis, then of the one before it, and so on")
    ends = [(0, 0)] * input_x.ndim
    for k in range(len(padding) // 2):
        ends[-1 - k] = padding[2 * k:2 * k + 2]
    if mode == "constant":
        return _pad_with(input_x, ends, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise ValueRangeError(f"pad: no mode {mode!r}", hint="constant, reflect, replicate or circular")
    if value is not None and (is_array(value) or value != 0):
        raise ValueRangeError(f"pad: the mode {mode!r} takes no value", note=f"value: {value!r}"[:80])
    for axis, (before, after) in enumerate(ends):
        if not (isinstance(before, int) and isinstance(after, int) and before == after == 0):
            steps = [_pad_from_inside, _cropped]
            for step in reversed(steps) if mode == "circular" else steps:   # what is cut off does not come round, as in torch
                input_x = step(input_x, axis, before, after, mode)
    return input_x


def _pad_with(x, ends, value):
    """`pad_constant`; a Tensor as the value is read when the program runs, and has a gradient."""
    if not is_array(value):
        return pad_constant(x, ends, value)
    inside = pad_constant(broadcast_to(as_operand(True), shape=tuple(x.shape)), ends, False)
    return where(inside, pad_constant(x, ends), cast_to(reshape(as_operand(value), shape=()), dtype_of(x)))


def _cropped(x, axis, before, after, mode):
    if isinstance(before, int) and isinstance(after, int) and min(before, after) >= 0:
        return x
    return take_range(x, axis, dim_max(-before, 0), x.shape[axis] - dim_max(-after, 0))


def pad_constant(x, ends, value=0):
    """`x` with ends[axis] = (before, after) elements of `value` added; negative ones cut."""
    if all(isinstance(e, int) and e == 0 for end in ends for e in end):
        return x
    begin = tuple(dim_max(-before, 0) for before, _ in ends)
    end = tuple(n - dim_max(-after, 0) for n, (_, after) in zip(x.shape, ends))
    if any(b != 0 or e != n for b, e, n in zip(begin, end, x.shape)):
        x = slice_(x, start=begin, sizes=tuple(e - b for b, e in zip(begin, end)), step=(1,) * x.ndim)
    before, after = zip(*((dim_max(b, 0), dim_max(a, 0)) for b, a in ends))
    return pad_slice(x, shape=tuple(b + n + a for b, n, a in zip(before, x.shape, after)), start=before,
                     step=(1,) * x.ndim, value=value)


def _pad_from_inside(x, axis, before, after, mode):
    n, before, after = x.shape[axis], dim_max(before, 0), dim_max(after, 0)
    for count in (before, after):
        if mode != "replicate":
            most = n - 1 if mode == "reflect" else n
            require("<=", count, most,
                    lambda count=count: ShapeError(f"pad: {mode} of {count} elements of an axis of size {n}"))
    if mode == "reflect":
        left = flip(take_range(x, axis, 1, before + 1), axis)
        right = flip(take_range(x, axis, n - 1 - after, n - 1), axis)
    elif mode == "circular":
        left, right = take_range(x, axis, n - before, n), take_range(x, axis, 0, after)
    else:
        shape = tuple(x.shape)
        left = broadcast_to(take_range(x, axis, 0, 1), shape=shape[:axis] + (before,) + shape[axis + 1:])
        right = broadcast_to(take_range(x, axis, n - 1, n), shape=shape[:axis] + (after,) + shape[axis + 1:])
    return concat([left, x, right], axis)


@planned
def narrow(input: Tensor, axis: int, start: Any, length: Any) -> Tensor:
    """input[.., start:start + length, ..] along `axis`."""
    axis = real_axis("narrow", axis, axes_of("narrow", input))
    start = as_size("narrow", start)
    start = start + input.shape[axis] if compare("<", start, 0) else start
    return take_range(input, axis, start, start + as_size("narrow", length))

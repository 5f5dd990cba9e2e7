"""Order: sort, top k, and the operators whose result's size depends on data: nonzero, masked_select, unique.

A data-dependent size is a fresh Symbol with bounds; whoever runs the operator binds it (trait "dynamic").
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import Symbol, bounds
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive, vmap_rule
from .axes import as_flag, as_size, axes_of, broadcast_shapes, normal_axis
from .basic import broadcast_to, move_batch_axis, reshape
from .define import as_mask, as_operand
from .indexing import gather_elements_axis, scatter_elements_add
from .sbp import letters, sbp_rule
from .slicing import zeros_like_shape


# ---------------------------------------------------------------- sort

def _axis_prepare(args, attrs):
    x = as_operand(args[0])
    return (x,), {**attrs, "axis": normal_axis("sort", attrs["axis"], x.ndim)}


@primitive(traits={"library"}, prepare=_axis_prepare, name="sort")
def sort_along(x, *, axis=-1, descending=False):
    """(values, indices int64): elements in order along `axis`; equals keep their order. NaN counts as the largest."""


def _ordered(x, name):
    if x.dtype.kind == "c":
        raise DTypeError(f"{name}: complex numbers have no order", note=f"x: {x}")


@infer_rule(sort_along)
def sort_infer(x, *, axis, descending):
    _ordered(x, "sort")
    return AbstractTuple((x, AbstractTensor(dt.int64, x.shape)))


def _order(x, axis, descending):
    """The stable order of x; descending: equals still keep their order. NumPy knows no NaN of dtypes that are not its own."""
    x = x.astype(np.float32) if x.dtype.kind == "V" else x
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    last = np.flip(x, axis)
    return x.shape[axis] - 1 - np.flip(np.argsort(last, axis=axis, kind="stable"), axis)


@eval_rule(sort_along)
def sort_eval(x, *, axis, descending):
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    order = np.ascontiguousarray(_order(x, axis, descending))
    return np.take_along_axis(x, order, axis), order.astype(np.int64)


@bprop_rule(sort_along)
def sort_bprop(x, out, dout, *, axis, descending):
    return _spread(x, out[1], dout[0], axis)


def _spread(x, indices, dvalues, axis):
    """Gradients of chosen elements put back where the elements stood."""
    if not x.dtype.is_differentiable:
        return None
    return scatter_elements_add(zeros_like_shape(x), indices, dvalues, axis=axis) if x.ndim else dvalues


def _chosen_tangent(tangent, indices, axis):
    return (gather_elements_axis(tangent, indices, axis=axis) if tangent.ndim else tangent), None


@jvp_rule(sort_along)
def sort_jvp(primals, tangents, out, *, axis, descending):
    return _chosen_tangent(tangents[0], out[1], axis)


def _batch(prim):
    @vmap_rule(prim)
    def rule(args, dims, size, *, axis, **attrs):
        x = move_batch_axis(args[0], dims[0])
        if x.ndim == 1:
            return tuple(reshape(y, shape=(size,)) for y in prim(reshape(x, shape=(size, 1)), axis=1, **attrs)), (0, 0)
        return prim(x, axis=axis + 1, **attrs), (0, 0)


def _pair_spec(x, *, axis, **attrs):
    names = "".join("_" if i == axis else c for i, c in enumerate(letters(len(x.shape))))
    return f"{names}->{names},{names}"


_batch(sort_along)
sbp_rule(sort_along, _pair_spec)


@planned
def sort(input_x: TensorLike, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """(values, indices) in ascending or descending order along `axis`; equals keep their order, NaN counts as the largest.

    input_x    : Tensor of any dtype but complex
    axis       : int;     descending : bool
    out        : (like input_x, int64 like it)
    raises     : DTypeError for complex numbers, ValueRangeError for an axis outside
    """
    return sort_along(input_x, axis=axis, descending=as_flag("sort", "descending", descending))


@planned
def argsort(input: TensorLike, axis: int = -1, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along an axis; equal ones keep theirs.

    input  : Tensor of real dtype
    axis   : int
    descending : bool; True puts the largest first
    out    : int tensor of input's shape
    raises : ValueRangeError for an axis outside
    """
    return sort(input, axis, descending)[1]


def msort(input: TensorLike) -> Tensor:
    """The elements in ascending order along the first axis.

    input  : Tensor of any dtype but complex; NaN stands last
    raises : DTypeError for complex numbers
    """
    return sort(input, 0)[0]


# ---------------------------------------------------------------- the middle element

@primitive(traits={"library"}, prepare=_axis_prepare, name="median_along")
def median_along(x, *, axis=-1, skip=False):
    """(value, index int64) of the lower middle element along `axis`, which stays with the size 1; of equals the first ones stand
    before the others. Where there are NaN: the first of them; skip: the middle of the others, NaN where there are none."""


@infer_rule(median_along)
def median_infer(x, *, axis, skip):
    _ordered(x, "median")
    shape = x.shape[:axis] + (1,) + x.shape[axis + 1:] if x.shape else ()
    return AbstractTuple((AbstractTensor(x.dtype, shape), AbstractTensor(dt.int64, shape)))


@eval_rule(median_along)
def median_eval(x, *, axis, skip):
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    order, count = _order(x, axis, False), x.shape[axis]
    numbers = np.count_nonzero(x == x, axis=axis, keepdims=True)
    lower = np.maximum(numbers - 1, 0) // 2
    found = np.take_along_axis(order, lower if skip else np.where(numbers < count, numbers, lower), axis)
    return np.take_along_axis(x, found, axis), np.ascontiguousarray(found, np.int64)


@bprop_rule(median_along)
def median_bprop(x, out, dout, *, axis, skip):
    return _spread(x, out[1], dout[0], axis)


@jvp_rule(median_along)
def median_jvp(primals, tangents, out, *, axis, skip):
    return _chosen_tangent(tangents[0], out[1], axis)


_batch(median_along)
sbp_rule(median_along, _pair_spec)


# ---------------------------------------------------------------- top k

@primitive(traits={"library"}, prepare=_axis_prepare, name="topk")
def topk_along(x, *, k, axis=-1, largest=True):
    """(values, indices int64) of the k largest (or smallest) elements along `axis`, in order; equals keep theirs."""


@infer_rule(topk_along)
def topk_infer(x, *, k, axis, largest):
    _ordered(x, "topk")
    size = x.shape[axis] if x.shape else 1
    error = lambda: ValueRangeError(f"topk: k is {k}", note=f"x: {x}", hint=f"k is in [0, {size}]")  # noqa: E731
    require(">=", k, 0, error)
    require("<=", k, size, error)
    shape = x.shape[:axis] + (k,) + x.shape[axis + 1:] if x.shape else ()
    return AbstractTuple((AbstractTensor(x.dtype, shape), AbstractTensor(dt.int64, shape)))


def _best(x, k, axis, largest):
    """The indices of the k best elements in order: those that introselect puts in front (Musser 1997), then sorted.

    Where elements equal to the last of them are left out, it may have chosen others than the first: such lines are sorted
    as a whole.
    """
    n, x = x.shape[axis], x.astype(np.float32) if x.dtype.kind == "V" else x
    found = np.argpartition(x, n - k if largest else k - 1, axis)
    found = np.sort(np.take(found, range(n - k, n) if largest else range(k), axis), axis)
    values = np.take_along_axis(x, found, axis)
    order = np.take_along_axis(found, _order(values, axis, largest), axis)
    last = np.take_along_axis(x, np.take(order, [k - 1], axis), axis)
    same = (x == last) | ((x != x) & (last != last))
    taken = np.take_along_axis(same, order, axis)
    cut = np.count_nonzero(same, axis) > np.count_nonzero(taken, axis)
    if cut.any():
        lines, target = np.moveaxis(x, axis, -1), np.moveaxis(order, axis, -1)
        target[cut] = _order(lines[cut], -1, largest)[..., :k]
    return order


@eval_rule(topk_along)
def topk_eval(x, *, k, axis, largest):
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    order = np.take(_order(x, axis, largest), range(k), axis) if k == 0 or 2 * k > x.shape[axis] else _best(x, k, axis, largest)
    return np.take_along_axis(x, order, axis), np.ascontiguousarray(order.astype(np.int64))


@bprop_rule(topk_along)
def topk_bprop(x, out, dout, *, k, axis, largest):
    return _spread(x, out[1], dout[0], axis)


@jvp_rule(topk_along)
def topk_jvp(primals, tangents, out, *, k, axis, largest):
    return _chosen_tangent(tangents[0], out[1], axis)


_batch(topk_along)
sbp_rule(topk_along, _pair_spec)


@planned
def topk(input: TensorLike, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(values, indices) of the k largest, or smallest, elements along `dim`, the best first; equals keep their order.

    input   : Tensor of any dtype but complex
    k       : int;     dim : int, None for the last axis
    largest : bool; False: the smallest
    sorted  : bool; says nothing, as they always stand in order
    out     : (Tensor, int64), both with k along dim
    raises  : ValueRangeError if k is negative or larger than the axis, DTypeError for complex numbers, ArgumentError for a k
              that is no int
    """
    k, largest = as_size("topk", k), as_flag("topk", "largest", largest)
    if k == 0 and not axes_of("topk", as_operand(input)):
        k = 1                                                # of one number it is that number, as in torch
    return topk_along(input, k=k, axis=-1 if dim is None else dim, largest=largest)


# ---------------------------------------------------------------- sizes that depend on data

def _fresh(name, most):
    hi = bounds(most)[1]
    return Symbol(name, lo=0, hi=hi).dim


@primitive(traits={"dynamic"}, name="nonzero")
def nonzero_indices(x):
    """int64[count, axes]: the indices of the elements that are not zero, in row-major order."""


@infer_rule(nonzero_indices)
def nonzero_infer(x):
    return AbstractTensor(dt.int64, (_fresh("nonzero", x.size), len(x.shape)))


@eval_rule(nonzero_indices)
def nonzero_eval(x):
    found = np.argwhere(x)
    return np.ascontiguousarray(found, np.int64).reshape(len(found), x.ndim)


bprop_rule(nonzero_indices)(lambda x, out, dout: None)
jvp_rule(nonzero_indices)(lambda primals, tangents, out: None)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero, in row-major order. Their number is data's: no size of a compiled graph.

    input    : Tensor of any dtype
    as_tuple : bool; True: one int64[count] per axis, as NumPy has it
    out      : int64[count, axes]
    """
    input = as_operand(input)
    found = nonzero_indices(input)
    return tuple(found[:, axis] for axis in range(input.ndim)) if as_tuple else found


def argwhere(input: Tensor) -> Tensor:
    """The places of the elements that are not zero, in row-major order; the same as `nonzero`.

    input  : Tensor of any dtype
    out    : int64 [count, axes]
    """
    return nonzero(input)


def _select_prepare(args, attrs):
    x, mask = as_operand(args[0]), as_mask("masked_select", args[1])
    shape = broadcast_shapes("masked_select", tuple(x.shape), tuple(mask.shape))
    return tuple(v if tuple(v.shape) == shape else broadcast_to(v, shape=shape) for v in (x, mask)), attrs


@primitive(traits={"dynamic"}, prepare=_select_prepare)
def masked_select(input: TensorLike, mask: TensorLike):
    """The elements of `input` where `mask` (bool, broadcast with input) is true, in row-major order; one axis."""


@infer_rule(masked_select)
def masked_select_infer(input, mask):
    return AbstractTensor(input.dtype, (_fresh("selected", input.size),))


@eval_rule(masked_select)
def masked_select_eval(input, mask):
    return np.ascontiguousarray(input[mask])


@primitive(traits={"library"})
def masked_put(values, mask):
    """Zeros of mask's shape, with `values` in row-major order where `mask` is true: the transpose of masked_select.

    raises : ShapeError (at run time) if there are more or fewer values than trues
    """


@infer_rule(masked_put)
def masked_put_infer(values, mask):
    return AbstractTensor(values.dtype, mask.shape)


@eval_rule(masked_put)
def masked_put_eval(values, mask):
    if values.size != np.count_nonzero(mask):
        raise ShapeError("masked_put: the number of values differs from the number of trues",
                         note=f"{values.size} != {np.count_nonzero(mask)}")
    out = np.zeros(mask.shape, values.dtype)
    out[mask] = values
    return out


bprop_rule(masked_select)(lambda input, mask, out, dout:
                          (masked_put(dout, mask) if input.dtype.is_differentiable else None, None))
jvp_rule(masked_select)(lambda primals, tangents, out:
                        masked_select(tangents[0], primals[1]) if tangents[0] is not None else None)
bprop_rule(masked_put)(lambda values, mask, out, dout:
                       (masked_select(dout, mask) if values.dtype.is_differentiable else None, None))
jvp_rule(masked_put)(lambda primals, tangents, out:
                     masked_put(tangents[0], primals[1]) if tangents[0] is not None else None)


@primitive(traits={"dynamic"}, name="unique")
def unique_values(x):
    """(values, inverse int32): the different elements in the order of their first appearance, and where each element of
    x is among them."""


@infer_rule(unique_values)
def unique_infer(x):
    _ordered(x, "unique")
    return AbstractTuple((AbstractTensor(x.dtype, (_fresh("unique", x.size),)), AbstractTensor(dt.int32, x.shape)))


@eval_rule(unique_values)
def unique_eval(x):
    values, first, inverse = np.unique(x.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return values[order].astype(x.dtype), np.argsort(order)[inverse].reshape(x.shape).astype(np.int32)


bprop_rule(unique_values)(lambda x, out, dout: None)
jvp_rule(unique_values)(lambda primals, tangents, out: (None, None))


def unique(input: TensorLike) -> Any:
    """(the different elements in the order of their first appearance, for each element the place of its value). No gradient.

    input  : Tensor of any dtype but complex; two NaN are two elements
    out    : (vector like input, int32 of the shape of input); its length is data's
    raises : DTypeError for complex numbers
    """
    return unique_values(as_operand(input))

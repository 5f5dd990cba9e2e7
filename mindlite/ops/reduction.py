"""Folds over axes: sums, products, extrema, any and all, positions of extrema.

    amax(f32[N, C], axis=1)  ->  f32[N]               axis: an int, several, or None for all

Where several elements are the largest, `amax` shares the gradient among them evenly (torch.amax); the form that gives
values with indices sends it to the element of the index (torch.max with dim).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.dim import product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, planned, primitive, vmap_rule
from ..mindir.scalar import reduce
from .axes import as_flag, normal_axis
from .basic import (cast, expand_reduced, merge_indices, move_batch_axis, reduce_sum, reduced_shape, reducing,
                    reduction_spec, reshape, transpose, vmap_reduction)
from .define import as_operand, conjugate
from .indexing import iota
from .logic import equal, greater, less, not_equal, where
from .sbp import letters, sbp_rule
from .scan import cumulative_product


# ---------------------------------------------------------------- extrema

@primitive(prepare=reducing("max"), traits={"reduction"})
def reduce_max(x: TensorLike, *, axis: Axes = None, keepdims: bool = False):
    """The largest element along `axis`; a NaN wins. Equals share the gradient.

    x        : Tensor of any dtype but complex;     axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    raises   : ShapeError if an axis of size 0 is reduced, DTypeError for complex numbers, ValueRangeError for an axis outside
    """


@primitive(prepare=reducing("min"), traits={"reduction"})
def reduce_min(x: TensorLike, *, axis: Axes = None, keepdims: bool = False):
    """The smallest element along `axis`; a NaN wins. Equals share the gradient.

    x        : Tensor of any dtype but complex;     axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    raises   : ShapeError if an axis of size 0 is reduced, DTypeError for complex numbers, ValueRangeError for an axis outside
    """


def require_elements(name, x, axis):
    """Demand that no axis of `axis` is empty."""
    for a in axis:
        require(">=", x.shape[a], 1, lambda: ShapeError(f"{name}: an empty axis has no extremum",
                                                        note=f"x: {x}, axis {a}"))


def _extremum(prim, kind, fold):
    @infer_rule(prim)
    def infer(x, *, axis, keepdims):
        if x.dtype.kind == "c":
            raise DTypeError(f"{prim.name}: complex numbers have no order", note=f"x: {x}")
        require_elements(prim.name, x, axis)
        return AbstractTensor(x.dtype, reduced_shape(x.shape, axis, keepdims))

    @eval_rule(prim)
    def evaluate(x, *, axis, keepdims):
        return np.asarray(fold(x, axis=axis, keepdims=keepdims)).astype(x.dtype, copy=False)

    @kernel_rule(prim)
    def kernel(x, out, *, axis, keepdims):
        return lambda *i: reduce(kind, [x.shape[a] for a in axis],
                                 lambda *r: x[merge_indices(i, r, axis, len(x.shape), keepdims)])

    def shares(x, out, axis, keepdims):
        """Which part of the result each element is: 1 over the number of equals."""
        hit = cast(equal(x, expand_reduced(out, x.shape, axis, keepdims)), dtype=x.dtype)
        return hit / expand_reduced(reduce_sum(hit, axis=axis, keepdims=keepdims), x.shape, axis, keepdims)

    @bprop_rule(prim)
    def bprop(x, out, dout, *, axis, keepdims):
        if not x.dtype.is_differentiable:
            return None
        if not axis:
            return dout
        return shares(x, out, axis, keepdims) * expand_reduced(dout, x.shape, axis, keepdims)

    @jvp_rule(prim)
    def jvp(primals, tangents, out, *, axis, keepdims):
        if not axis:
            return tangents[0]
        return reduce_sum(shares(primals[0], out, axis, keepdims) * tangents[0], axis=axis, keepdims=keepdims)

    vmap_reduction(prim)
    sbp_rule(prim, reduction_spec, reduction=kind)


_extremum(reduce_max, "max", np.max)
_extremum(reduce_min, "min", np.min)


# ---------------------------------------------------------------- any and all

@primitive(prepare=reducing("any"), traits={"reduction"})
def reduce_any(x: TensorLike, *, axis: Axes = None, keepdims: bool = False):
    """True where one element along `axis` is not zero; False for an empty axis.

    x        : Tensor of any dtype;     axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    out      : bool[...]
    raises   : ValueRangeError for an axis outside or named twice
    """


@primitive(prepare=reducing("all"), traits={"reduction"})
def reduce_all(x: TensorLike, *, axis: Axes = None, keepdims: bool = False):
    """True where no element along `axis` is zero; True for an empty axis.

    x        : Tensor of any dtype;     axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    out      : bool[...]
    raises   : ValueRangeError for an axis outside or named twice
    """


def _quantifier(prim, kind, fold):
    @infer_rule(prim)
    def infer(x, *, axis, keepdims):
        return AbstractTensor(dt.bool_, reduced_shape(x.shape, axis, keepdims))

    @eval_rule(prim)
    def evaluate(x, *, axis, keepdims):
        return np.asarray(fold(x != 0, axis=axis, keepdims=keepdims))

    @kernel_rule(prim)
    def kernel(x, out, *, axis, keepdims):
        return lambda *i: reduce(kind, [x.shape[a] for a in axis],
                                 lambda *r: x[merge_indices(i, r, axis, len(x.shape), keepdims)] != 0)

    bprop_rule(prim)(lambda x, out, dout, **attrs: None)
    jvp_rule(prim)(lambda primals, tangents, out, **attrs: None)
    vmap_reduction(prim)
    sbp_rule(prim, reduction_spec, reduction=kind)


_quantifier(reduce_any, "any", np.any)
_quantifier(reduce_all, "all", np.all)


# ---------------------------------------------------------------- products

@primitive(prepare=reducing("prod"), traits={"reduction"})
def reduce_prod(x: TensorLike, *, axis: Axes = None, keepdims: bool = False):
    """The product along `axis`; 1 for an empty axis.

    x        : Tensor of any dtype; bool counts as int64;     axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    gradient : for each element the product of those before and behind it, so that zeros are no exception
    raises   : ValueRangeError for an axis outside or named twice
    """


@infer_rule(reduce_prod)
def reduce_prod_infer(x, *, axis, keepdims):
    return AbstractTensor(dt.int64 if x.dtype is dt.bool_ else x.dtype, reduced_shape(x.shape, axis, keepdims))


@eval_rule(reduce_prod)
def reduce_prod_eval(x, *, axis, keepdims):
    own = dt.dtype(x.dtype)
    wanted = np.dtype(np.int64) if x.dtype == bool else x.dtype
    with np.errstate(all="ignore"):
        out = np.prod(x, axis=axis, keepdims=keepdims, dtype=own.compute.numpy if own.is_small else wanted)
    return np.asarray(out, wanted)


@kernel_rule(reduce_prod)
def reduce_prod_kernel(x, out, *, axis, keepdims):
    return lambda *i: reduce("prod", [x.shape[a] for a in axis],
                             lambda *r: x[merge_indices(i, r, axis, len(x.shape), keepdims)])


def _product_of_others(x, axis):
    """For each element the product of all others along `axis`."""
    ndim = len(x.shape)
    perm = tuple(i for i in range(ndim) if i not in axis) + tuple(axis)
    moved = transpose(x, perm=perm)
    rows = reshape(moved, shape=moved.shape[:ndim - len(axis)] + (product(x.shape[a] for a in axis),))
    last = len(rows.shape) - 1
    before = cumulative_product(rows, axis=last, exclusive=True)
    others = before * cumulative_product(rows, axis=last, exclusive=True, reverse=True)
    return transpose(reshape(others, shape=moved.shape), perm=tuple(perm.index(i) for i in range(ndim)))


@bprop_rule(reduce_prod)
def reduce_prod_bprop(x, out, dout, *, axis, keepdims):
    if not x.dtype.is_differentiable:
        return None
    return expand_reduced(dout, x.shape, axis, keepdims) * conjugate(_product_of_others(x, axis)) if axis else dout


@jvp_rule(reduce_prod)
def reduce_prod_jvp(primals, tangents, out, *, axis, keepdims):
    if not axis:
        return tangents[0]
    return reduce_sum(tangents[0] * _product_of_others(primals[0], axis), axis=axis, keepdims=keepdims)


vmap_reduction(reduce_prod)
sbp_rule(reduce_prod, reduction_spec, reduction="prod")


# ---------------------------------------------------------------- where an extremum is

def _finding(name):
    def prepare(args, attrs):
        x = as_operand(args[0])
        return (x,), {"axis": normal_axis(name, attrs["axis"], x.ndim), "keepdims": as_flag(name, "keepdims", attrs["keepdims"])}
    return prepare


@primitive(prepare=_finding("argmax"), traits={"reduction"}, name="argmax")
def index_of_max(x, *, axis, keepdims=False):
    """The index of the first largest element along `axis` (of the first NaN, if there is one); int64."""


@primitive(prepare=_finding("argmin"), traits={"reduction"}, name="argmin")
def index_of_min(x, *, axis, keepdims=False):
    """The index of the first smallest element along `axis` (of the first NaN, if there is one); int64."""


def _position(prim, fold):
    @infer_rule(prim)
    def infer(x, *, axis, keepdims):
        if x.dtype.kind == "c":
            raise DTypeError(f"{prim.name}: complex numbers have no order", note=f"x: {x}")
        if not x.shape:
            return AbstractTensor(dt.int64, ())
        require_elements(prim.name, x, (axis,))
        return AbstractTensor(dt.int64, reduced_shape(x.shape, (axis,), keepdims))

    @eval_rule(prim)
    def evaluate(x, *, axis, keepdims):
        return np.asarray(fold(x, axis=axis, keepdims=keepdims) if x.ndim else 0, np.int64)

    @kernel_rule(prim)
    def kernel(x, out, *, axis, keepdims):
        if not x.shape:
            return lambda: 0
        return lambda *i: reduce(prim.name, [x.shape[axis]],
                                 lambda r: x[merge_indices(i, (r,), (axis,), len(x.shape), keepdims)])

    @vmap_rule(prim)
    def batch(args, dims, size, *, axis, keepdims):
        x = move_batch_axis(args[0], dims[0])
        if x.ndim == 1:
            return prim(reshape(x, shape=(size, 1)), axis=1, keepdims=False), 0
        return prim(x, axis=axis + 1, keepdims=keepdims), 0

    def spec(x, *, axis, keepdims):
        names = letters(len(x.shape))
        out = "".join("_" if i == axis else c for i, c in enumerate(names) if keepdims or i != axis)
        return "".join("_" if i == axis else c for i, c in enumerate(names)) + "->" + out

    bprop_rule(prim)(lambda x, out, dout, **attrs: None)
    jvp_rule(prim)(lambda primals, tangents, out, **attrs: None)
    sbp_rule(prim, spec)


_position(index_of_max, np.argmax)
_position(index_of_min, np.argmin)


def _flat_or_axis(prim, input, axis, keepdims):
    input = as_operand(input)
    if axis is not None:
        return prim(input, axis=axis, keepdims=keepdims)
    out = prim(reshape(input, shape=(-1,)), axis=0, keepdims=False)
    return reshape(out, shape=(1,) * input.ndim) if keepdims else out


@planned
def argmax(input: TensorLike, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element; of several the first, and of the first NaN if there is one.

    input  : Tensor of real dtype
    dim    : int, or None for the index in row-major order of all elements
    keepdim : bool; True keeps the axis with size 1 (all axes for None)
    out    : int64
    raises : DTypeError for complex numbers, ShapeError for an empty axis, ValueRangeError for an axis outside the tensor,
             ArgumentError for several axes
    gradient: none
    """
    return _flat_or_axis(index_of_max, input, dim, keepdim)


@planned
def argmin(input: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest element; of several the first, and of the first NaN if there is one.

    input  : Tensor of real dtype
    axis   : int, or None for the index in row-major order of all elements
    keepdims : bool; True keeps the axis with size 1 (all axes for None)
    out    : int64
    raises : DTypeError for complex numbers, ShapeError for an empty axis, ValueRangeError for an axis outside the tensor,
             ArgumentError for several axes
    gradient: none
    """
    return _flat_or_axis(index_of_min, input, axis, keepdims)


def _with_index(prim, input, axis, keepdims):
    """(value, index): the value is read at the index, so the gradient goes there only."""
    input, keepdims = as_operand(input), as_flag(prim.name, "keepdims", keepdims)
    if axis is None:
        value, index = _with_index(prim, reshape(input, shape=(-1,)), 0, False)
        return (reshape(value, shape=(1,) * input.ndim), reshape(index, shape=(1,) * input.ndim)) if keepdims else \
            (value, index)
    axis = normal_axis(prim.name, axis, input.ndim)
    if not input.shape:
        return input, prim(input, axis=axis, keepdims=keepdims)
    index = prim(input, axis=axis, keepdims=True)
    positions = reshape(iota(input.shape[axis]), shape=(-1,) + (1,) * (input.ndim - axis - 1))
    chosen = where(equal(positions, index), input, 0)
    value = cast(reduce_sum(chosen, axis=axis, keepdims=keepdims), dtype=input.dtype)
    return value, index if keepdims else reshape(index, shape=value.shape)


def _chosen(name, input, initial, chosen, keeps):
    """input, of whose elements none is beyond `initial` (keeps(x, initial) is False), and all that `chosen` leaves out are
    it."""
    x, all_chosen = as_operand(input), chosen is None or chosen is True
    if initial is None:
        if not all_chosen:
            raise ArgumentError(f"{name}: `where` needs `initial`, the result where nothing is left")
        return x
    initial = cast(as_operand(initial), dtype=x.dtype)
    x = where(keeps(x, initial), x, initial)
    return x if all_chosen else where(as_operand(chosen), x, initial)


@planned
def max(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, initial: float | None = None,
        where: TensorLike | None = None) -> Any:
    """(the largest element along `axis`, its index); the gradient goes to that element only. amax gives the value only.

    input    : Tensor of any dtype but complex; a NaN is the largest
    axis     : int, or None for all elements, with the index in row-major order
    keepdims : bool; True: the axis stays, with the size 1
    initial  : number: no element counts as less, the first that is less stands for it;     where : bool[...], the others count
               as `initial`, which is wanted then
    out      : (Tensor like input, int64), without the axis; of equals the first
    raises   : DTypeError for complex numbers, ShapeError for an empty axis, ArgumentError for `where` without `initial` and for
               an axis that is no int, ValueRangeError for an axis outside
    """
    return _with_index(index_of_max, _chosen("max", input, initial, where, greater), axis, keepdims)


@planned
def min(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, initial: float | None = None,
        where: TensorLike | None = None) -> Any:
    """(the smallest element along `axis`, its index); the gradient goes to that element only. amin gives the value only.

    input    : Tensor of any dtype but complex; a NaN is the smallest
    axis     : int, or None for all elements, with the index in row-major order
    keepdims : bool; True: the axis stays, with the size 1
    initial  : number: no element counts as more, the first that is more stands for it;     where : bool[...], the others count
               as `initial`, which is wanted then
    out      : (Tensor like input, int64), without the axis; of equals the first
    raises   : DTypeError for complex numbers, ShapeError for an empty axis, ArgumentError for `where` without `initial` and for
               an axis that is no int, ValueRangeError for an axis outside
    """
    return _with_index(index_of_min, _chosen("min", input, initial, where, less), axis, keepdims)


# ---------------------------------------------------------------- sums, products, truth: MindSpore's names

def _counted(input, dtype):
    """As `dtype`; what is counted or ordered by whole numbers in 64 bits where none is given, as NumPy and torch have it."""
    input = as_operand(input)
    if dtype is None:
        dtype = dt.int64 if input.dtype.kind in "bui" else None
    return input if dtype is None else cast(input, dtype=dtype)


@planned
def sum(input: TensorLike, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum along `dim`; halves are added in float32.

    input   : Tensor of any dtype
    dim     : int, tuple of ints, or None for all axes; () is all, too
    keepdim : bool; True: the axes stay, with the size 1
    dtype   : in which it is summed; None: that of input, int64 for integers and bools
    raises  : ValueRangeError for an axis outside or named twice, ArgumentError for one that is no int
    """
    return reduce_sum(_counted(input, dtype), axis=dim, keepdims=keepdim)


@planned
def prod(input: TensorLike, axis: Axes = None, keep_dims: bool = False, dtype: DTypeLike | None = None) -> Tensor:
    """The product along `axis`. Its gradient is exact where elements are 0, too.

    input     : Tensor of any dtype
    axis      : int, tuple of ints, or None for all axes
    keep_dims : bool; True: the axes stay, with the size 1
    dtype     : in which it is multiplied; None: that of input, int64 for integers and bools
    raises    : ValueRangeError for an axis outside or named twice, ArgumentError for one that is no int
    """
    return reduce_prod(_counted(input, dtype), axis=axis, keepdims=keep_dims)


@planned
def amax(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, initial: float | None = None,
         where: TensorLike | None = None) -> Tensor:
    """The largest element along `axis`; a NaN wins.

    input  : Tensor of real dtype
    axis   : int, a tuple or list of ints, or None (also ()) for all axes
    keepdims : bool; True keeps the axes with size 1
    initial : number or None; no result is smaller. It is cast to input's dtype
    where  : bool Tensor that broadcasts with input, or None; elements where it is False count as `initial`,
             which is wanted then
    out    : Tensor of input's dtype
    raises : ShapeError for an empty axis (with `initial`, too), DTypeError for complex numbers, ValueRangeError for an axis
             outside the tensor or named twice, ArgumentError for `where` without `initial`
    gradient: shared evenly among equal largest elements
    """
    return reduce_max(_chosen("amax", input, initial, where, greater), axis=axis, keepdims=keepdims)


@planned
def amin(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, initial: float | None = None,
         where: TensorLike | None = None) -> Tensor:
    """The smallest element along `axis`; a NaN wins.

    input  : Tensor of real dtype
    axis   : int, a tuple or list of ints, or None (also ()) for all axes
    keepdims : bool; True keeps the axes with size 1
    initial : number or None; no result is larger. It is cast to input's dtype
    where  : bool Tensor that broadcasts with input, or None; elements where it is False count as `initial`,
             which is wanted then
    out    : Tensor of input's dtype
    raises : ShapeError for an empty axis (with `initial`, too), DTypeError for complex numbers, ValueRangeError for an axis
             outside the tensor or named twice, ArgumentError for `where` without `initial`
    gradient: shared evenly among equal smallest elements
    """
    return reduce_min(_chosen("amin", input, initial, where, less), axis=axis, keepdims=keepdims)


@planned
def any(input: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """True where one element along `axis` is not zero; False for an empty axis.

    input  : Tensor of any dtype; NaN is not zero
    axis   : int, a tuple or list of ints, or None (also ()) for all axes
    keep_dims : bool; True keeps the axes with size 1
    out    : bool
    raises : ValueRangeError for an axis outside the tensor or named twice
    """
    return reduce_any(as_operand(input), axis=axis, keepdims=keep_dims)


@planned
def all(input: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """True where no element along `axis` is zero; True for an empty axis.

    input  : Tensor of any dtype; NaN is not zero
    axis   : int, a tuple or list of ints, or None (also ()) for all axes
    keep_dims : bool; True keeps the axes with size 1
    out    : bool
    raises : ValueRangeError for an axis outside the tensor or named twice
    """
    return reduce_all(as_operand(input), axis=axis, keepdims=keep_dims)


@planned
def count_nonzero(x: TensorLike, axis: Axes = (), keep_dims: bool = False, dtype: DTypeLike = dt.int32) -> Tensor:
    """How many elements along `axis` are not zero.

    x      : Tensor or number, of any dtype; NaN is not zero
    axis   : int, a tuple or list of ints, or None (also ()) for all axes
    keep_dims : bool; True keeps the axes with size 1
    dtype  : of the result; a count that it does not hold wraps (int8 holds 127), bool is whether the count is not 0
    out    : Tensor of `dtype`
    raises : ValueRangeError for an axis outside the tensor or named twice
    """
    wanted = dt.dtype(dtype)
    count = reduce_sum(cast(not_equal(x, 0), dtype=dt.int32 if wanted is dt.bool_ else wanted), axis=axis, keepdims=keep_dims)
    return cast(count, dtype=wanted)

"""Moments, logsumexp and norms: folds that are written in other folds.

    var(f32[N, C], axis=0)  ->  f32[C]               two passes: the mean first, then the squared deviations from it

Each is a composite with a derivative of its own, where the one of its body would be worse (a norm at 0) or larger.
"""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.dim import dim_max, product
from ..common.errors import DTypeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import bprop_rule, jvp_rule, planned
from .arithmetic import abs, power, square
from .axes import as_size, normal_axes
from .basic import cast, expand_reduced, reduce_sum, reduced_shape, reducing, reshape, vmap_reduction
from .complex_numbers import imag, real
from .define import as_operand, cast_to, composite, conjugate, dtype_of
from .elementary import exp, log, sqrt
from .logic import equal, where
from .reduction import reduce_max
from .sbp import letters, sbp_rule


def _float_dtype(name, x):
    if x.dtype.kind not in "fc":
        raise DTypeError(f"{name}: does not take {x.dtype.name}", note=f"x: {x}", hint="cast x to a float type")


# ---------------------------------------------------------------- moments

def _mean_infer(x, *, axis, keepdims):
    _float_dtype("mean", x)
    return AbstractTensor(x.dtype, reduced_shape(x.shape, axis, keepdims))


def _mean_prepare(args, attrs):
    x = as_operand(args[0])
    if dtype_of(x).kind in "bui":
        x = cast(x, dtype=dt.float32)
    return reducing("mean")((x,), attrs)


@composite(infer=_mean_infer, prepare=_mean_prepare, traits={"reduction"})
def reduce_mean(x: Tensor, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean along `axis`; halves are added in float32. NaN for no elements.

    x        : Tensor of any dtype; integers and bools count as float32
    axis     : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    raises   : ValueRangeError for an axis outside or named twice, ArgumentError for one that is no int
    """
    wide = cast(x, dtype=dt.float32) if x.dtype.is_small else x
    total = reduce_sum(wide, axis=axis, keepdims=keepdims) if axis else wide
    return cast(total / product(x.shape[a] for a in axis), dtype=x.dtype) if wide is not x else \
        total / product(x.shape[a] for a in axis)


@bprop_rule(reduce_mean)
def reduce_mean_bprop(x, out, dout, *, axis, keepdims):
    if not axis:
        return dout
    count = product(x.shape[a] for a in axis)                   # a half has no number above 65504
    share = cast(cast(dout, dtype=dt.float32) / count, dtype=x.dtype) if x.dtype.is_small else dout / count
    return expand_reduced(share, x.shape, axis, keepdims)


@jvp_rule(reduce_mean)
def reduce_mean_jvp(primals, tangents, out, *, axis, keepdims):
    return reduce_mean(tangents[0], axis=axis, keepdims=keepdims)


def _keep_reduced_whole(x, *, axis, keepdims, **attrs):
    names = "".join("_" if i in axis else c for i, c in enumerate(letters(len(x.shape))))
    return names + "->" + "".join(c for i, c in enumerate(names) if keepdims or i not in axis)


vmap_reduction(reduce_mean)
sbp_rule(reduce_mean, _keep_reduced_whole, linear=[{0}])


@planned
def mean(x: Tensor, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The mean along `axis`; halves are added in float32. NaN for no elements.

    x         : Tensor of any dtype; integers and bools count as float32
    axis      : int, tuple of ints, or None for all axes
    keep_dims : bool; True: the axes stay, with the size 1
    out       : like x, without the axes
    raises    : ValueRangeError for an axis outside or named twice, ArgumentError for one that is no int
    """
    return reduce_mean(x, axis=axis, keepdims=keep_dims)


@planned
def var_mean(input: Tensor, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(variance, mean) along `axis`: sum |x - mean|^2 / (number of elements - ddof), in two passes; of halves, in float32.

    input    : Tensor of any dtype; integers and bools count as float32
    axis     : int, tuple of ints, or None for all axes
    ddof     : int, taken from the number of elements: 0, or 1 for the unbiased estimate; True and False are 1 and 0
    keepdims : bool; True: the axes stay, with the size 1
    out      : two Tensors; the variance of complex numbers is real. At most ddof elements: NaN or inf
    raises   : ArgumentError where ddof or an axis is no int, ValueRangeError for an axis outside or named twice
    source   : Chan, Golub and LeVeque 1983, "Algorithms for Computing the Sample Variance": the two-pass algorithm
    """
    ddof = int(ddof) if isinstance(ddof, bool) else as_size("var", ddof, least=None)
    input = as_operand(input)
    if dtype_of(input).kind in "bui":
        input = cast(input, dtype=dt.float32)
    if dtype_of(input).is_small:
        own, both = dtype_of(input), var_mean(cast(input, dtype=dt.float32), axis, ddof, keepdims)
        return cast(both[0], dtype=own), cast(both[1], dtype=own)
    axes = normal_axes("var", axis, input.ndim)
    center = reduce_mean(input, axis=axes, keepdims=True)
    apart = input - center
    squares = square(real(apart)) + square(imag(apart)) if dtype_of(input).kind == "c" else square(apart)
    total = reduce_sum(squares, axis=axes, keepdims=keepdims)
    count = dim_max(product(input.shape[a] for a in axes) - ddof, 0)
    return total / count, reshape(center, shape=reduced_shape(input.shape, axes, keepdims))


@planned
def var(input: Tensor, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance along `axis`: sum |x - mean|^2 / (number of elements - ddof); see var_mean.

    input    : Tensor of any dtype; integers and bools count as float32
    axis     : int, tuple of ints, or None for all axes
    ddof     : int, taken from the number of elements: 0, or 1 for the unbiased estimate; True and False are 1 and 0
    keepdims : bool; True: the axes stay, with the size 1
    raises   : ArgumentError where ddof or an axis is no int, ValueRangeError for an axis outside or named twice
    """
    return var_mean(input, axis, ddof, keepdims)[0]


@planned
def std_mean(input: Tensor, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) along `axis`: the first is the square root of the variance of var_mean.

    input    : Tensor of any dtype; integers and bools count as float32
    axis     : int, tuple of ints, or None for all axes
    ddof     : int, taken from the number of elements: 0, or 1 for the unbiased estimate; True and False are 1 and 0
    keepdims : bool; True: the axes stay, with the size 1
    raises   : ArgumentError where ddof or an axis is no int, ValueRangeError for an axis outside or named twice
    """
    variance, center = var_mean(input, axis, ddof, keepdims)
    return root(variance, 2), center


@planned
def std(input: Tensor, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation along `axis`: the square root of var. Its gradient where all elements are equal is 0.

    input    : Tensor of any dtype; integers and bools count as float32
    axis     : int, tuple of ints, or None for all axes
    ddof     : int, taken from the number of elements: 0, or 1 for the unbiased estimate; True and False are 1 and 0
    keepdims : bool; True: the axes stay, with the size 1
    raises   : ArgumentError where ddof or an axis is no int, ValueRangeError for an axis outside or named twice
    """
    return root(var(input, axis, ddof, keepdims), 2)


def root(total, order):
    """total ** (1 / order), with the slope 0 at 0: a deviation, or a norm, of zeros."""
    nothing = equal(total, 0)
    some = where(nothing, 1, total)
    return where(nothing, 0, sqrt(some) if order == 2 else power(some, 1 / order))


# ---------------------------------------------------------------- logsumexp, norms

def _float_reduction_infer(name, accepts="f"):
    def infer(x, *, axis, keepdims):
        if x.dtype.kind not in accepts:
            raise DTypeError(f"{name}: takes floats, not {x.dtype.name}", note=f"x: {x}")
        return AbstractTensor(x.dtype, reduced_shape(x.shape, axis, keepdims))
    return infer


@composite(infer=_float_reduction_infer("logsumexp", "fc"), prepare=reducing("logsumexp"), traits={"reduction"}, name="logsumexp")
def reduce_logsumexp(x: Tensor, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along `axis` without overflow: the maximum, of complex numbers that of the real parts, is taken out first.
    An infinite maximum is the result; of no elements it is -inf.

    x        : float[...], complex[...];      axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    out      : like x, without the axes
    raises   : DTypeError for integers and bools, ValueRangeError for an axis outside
    """
    if any(isinstance(x.shape[a], int) and x.shape[a] == 0 for a in normal_axes("logsumexp", axis, x.ndim)):
        total = log(reduce_sum(x, axis=axis, keepdims=True))
        return total if keepdims else reshape(total, shape=reduced_shape(x.shape, axis, False))
    top = reduce_max(real(x), axis=axis, keepdims=True)
    top = where(equal(abs(top), float("inf")), 0, top)
    total = log(reduce_sum(exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else reshape(total, shape=reduced_shape(x.shape, axis, False))


@bprop_rule(reduce_logsumexp)
def logsumexp_bprop(x, out, dout, *, axis, keepdims):
    weights = exp(x - expand_reduced(out, x.shape, axis, keepdims))
    return expand_reduced(dout, x.shape, axis, keepdims) * conjugate(weights)


@jvp_rule(reduce_logsumexp)
def logsumexp_jvp(primals, tangents, out, *, axis, keepdims):
    x = primals[0]
    weights = exp(x - expand_reduced(out, x.shape, axis, keepdims))
    return reduce_sum(tangents[0] * weights, axis=axis, keepdims=keepdims) if axis else tangents[0] * weights


vmap_reduction(reduce_logsumexp)
sbp_rule(reduce_logsumexp, _keep_reduced_whole)


@planned
def logsumexp(input: TensorLike, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) along `dim` without overflow: the maximum is taken out first. An infinite maximum is the result; of
    no elements it is -inf.

    input  : float or complex Tensor; integers and bools count as float32
    dim    : int, ints, or None (also ()) for all axes
    keepdim : bool; True keeps the axes with size 1
    out    : float or complex Tensor; -inf along an empty axis
    raises : ValueRangeError for an axis outside or named twice
    """
    x = as_operand(input)
    return reduce_logsumexp(cast_to(x, dt.float32) if dtype_of(x).kind in "bui" else x, axis=dim, keepdims=keepdim)


@composite(infer=_float_reduction_infer("reduce_norm"), prepare=reducing("norm"), traits={"reduction"})
def reduce_norm(x: Tensor, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The Euclidean norm along `axis`: sqrt(sum x^2). Its gradient at 0 is 0. Squares of halves are added in float32.

    x        : float[...];      axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    out      : like x, without the axes
    raises   : DTypeError for what is no float, ValueRangeError for an axis outside
    """
    wide = cast(x, dtype=dt.float32) if x.dtype.is_small else x
    length = sqrt(reduce_sum(wide * wide, axis=axis, keepdims=keepdims))
    return cast(length, dtype=x.dtype) if wide is not x else length


def _direction(x, out, axis, keepdims):
    length = expand_reduced(out, x.shape, axis, keepdims)
    return where(equal(length, 0), 0, x / where(equal(length, 0), 1, length))


@bprop_rule(reduce_norm)
def reduce_norm_bprop(x, out, dout, *, axis, keepdims):
    return expand_reduced(dout, x.shape, axis, keepdims) * _direction(x, out, axis, keepdims)


@jvp_rule(reduce_norm)
def reduce_norm_jvp(primals, tangents, out, *, axis, keepdims):
    part = tangents[0] * _direction(primals[0], out, axis, keepdims)
    return reduce_sum(part, axis=axis, keepdims=keepdims) if axis else part


vmap_reduction(reduce_norm)
sbp_rule(reduce_norm, _keep_reduced_whole)

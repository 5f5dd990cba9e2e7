"""Normalisations: layer, batch, instance, group, root mean square. One composite does the work.

standardize(x)[0] = (x - mean) / sqrt(var + eps) over some axes, with the short gradient
dx = (dy - mean(dy) - y mean(dy y)) / sqrt(var + eps)  (Ioffe and Szegedy 2015, section 3, simplified). Scale and shift
are ordinary products and sums after it.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

from ..common import dtype as dt
from ..common.dim import compare, dim_max, product
from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, planned
from .arithmetic import maximum
from .axes import as_flag, as_number, as_shape, as_size, axes_of, normal_axes, normal_axis
from .basic import reduce_sum, reduced_shape, reshape
from .define import as_operand, cast_to, composite, dtype_of
from .elementary import rsqrt, sqrt
from .sbp import letters, sbp_rule
from .state import assign


def _wide(dtype):
    """The dtype of the statistics: float32 for 16-bit floats."""
    return dt.float32 if dtype.itemsize == 2 else dtype


def mean_over(x, axis):
    """The mean over `axis` (a tuple), which stays with size 1."""
    return reduce_sum(x, axis=axis, keepdims=True) / product(x.shape[a] for a in axis)


def _standardize_infer(x, *, axis, epsilon):
    if x.dtype.kind != "f":
        raise DTypeError(f"standardize: does not take {x.dtype.name}", note=f"x: {x}")
    moment = AbstractTensor(_wide(x.dtype), reduced_shape(x.shape, axis, True))
    return AbstractTuple((x, moment, moment))


@composite(infer=_standardize_infer)
def standardize(x, *, axis, epsilon):
    """((x - mean) / sqrt(var + epsilon), mean, var) over `axis`, a tuple from the front; the moments keep their axes.

    x : float; var is the mean of squares (not corrected); moments of 16-bit floats are float32
    """
    wide = cast_to(x, _wide(dtype_of(x)))
    mean = mean_over(wide, axis)
    centred = wide - mean
    var = mean_over(centred * centred, axis)
    return cast_to(centred * rsqrt(var + epsilon), dtype_of(x)), mean, var


@bprop_rule(standardize)
def standardize_bprop(x, out, dout, *, axis, epsilon):
    (y, mean, var), (dy, dmean, dvar) = out, dout
    wide, count = dtype_of(var), product(x.shape[a] for a in axis)
    y, dx = cast_to(y, wide), 0
    if dy is not None:
        dy = cast_to(dy, wide)
        dx = (dy - mean_over(dy, axis) - y * mean_over(dy * y, axis)) * rsqrt(var + epsilon)
    if dmean is not None:
        dx = dx + dmean / count
    if dvar is not None:
        dx = dx + dvar * 2 / count * (cast_to(x, wide) - mean)
    return cast_to(dx, dtype_of(x)) if dy is not None or dmean is not None or dvar is not None else None


def _standardize_spec(x, *, axis, epsilon):
    axes = "".join("_" if a in axis else name for a, name in enumerate(letters(x.ndim)))
    return f"{axes}->{axes},{axes},{axes}"


sbp_rule(standardize, _standardize_spec)


# ---------------------------------------------------------------- public names

def _scaled(y, weight, bias, shape):
    if weight is not None:
        y = y * cast_to(reshape(weight, shape=shape), dtype_of(y))
    return y if bias is None else y + cast_to(reshape(bias, shape=shape), dtype_of(y))


@planned
def layer_norm(input: TensorLike, normalized_shape: Sequence[int], weight: TensorLike | None = None,
               bias: TensorLike | None = None, eps: float = 1e-05) -> Tensor:
    """The last axes brought to mean 0 and variance 1, times weight, plus bias.

    input  : float Tensor [.., *normalized_shape]; moments of 16-bit floats are computed in float32
    normalized_shape : int or ints, the sizes of the last axes
    weight, bias : Tensors of normalized_shape, or None
    eps    : float, added to the variance
    out    : Tensor like input
    raises : ShapeError if the sizes are not input's last ones or weight does not fit, DTypeError for integers
    source : Ba, Kiros, Hinton 2016
    """
    x, shape, eps = as_operand(input), as_shape("layer_norm", normalized_shape), as_number("layer_norm", "eps", eps, 0)
    last = tuple(x.shape)[x.ndim - len(shape):]
    if len(shape) > x.ndim or not shape:
        raise ShapeError(f"layer_norm: normalized_shape {list(shape)} for {list(x.shape)}")
    for have, want in zip(last, shape):
        require("==", have, want, lambda: ShapeError(
            f"layer_norm: normalized_shape {list(shape)} is not the end of {list(x.shape)}"))
    y = standardize(x, axis=tuple(range(x.ndim - len(shape), x.ndim)), epsilon=eps)[0]
    return _scaled(y, weight, bias, shape)


@planned
def layer_norm_from_axis(input: Tensor, weight: Tensor, bias: Tensor, begin_norm_axis: int = 1,
                         epsilon: float = 1e-07) -> tuple[Tensor, ...]:
    """Layer normalisation over all axes from begin_norm_axis on, as MindSpore's operator LayerNorm.

    input  : float Tensor
    weight, bias : Tensors that broadcast to input, of the sizes of the last axes
    begin_norm_axis : int
    epsilon : float, added to the variance
    out    : (y like input, mean, variance); the moments keep the axes with size 1
    raises : ShapeError where weight or bias does not fit, ValueRangeError for an axis outside, DTypeError for integers
    source : Ba, Kiros, Hinton 2016
    """
    x = as_operand(input)
    begin = normal_axis("layer_norm", begin_norm_axis, x.ndim)
    y, mean, var = standardize(x, axis=tuple(range(begin, x.ndim)), epsilon=epsilon)
    return _scaled(y, weight, bias, tuple(weight.shape)), mean, var


def _channels(name, x, *vectors):
    if x.ndim < 2:
        raise ShapeError(f"{name}: an input of two or more axes is wanted", note=f"input: {list(x.shape)}")
    for vector in vectors:
        if vector is not None:
            vector = as_operand(vector)
            last = isinstance(x.shape[-1], int) and x.ndim > 2 and x.shape[-1] == vector.shape[0]
            require("==", x.shape[1], vector.shape[0], lambda: ShapeError(
                f"{name}: the input has {x.shape[1]} channels, {vector.shape[0]} are wanted",  # noqa: B023
                note=f"input: {list(x.shape)}",
                hint="the channels look like the last axis, and axis 1 is wanted: transpose the input" if last else ""))
    return (1, x.shape[1]) + (1,) * (x.ndim - 2)


@planned
def batch_norm_train(input: TensorLike, weight: TensorLike, bias: TensorLike, eps: float = 1e-05) -> tuple[Tensor, ...]:
    """Batch normalisation by the moments of the batch, over all axes but axis 1.

    input  : float Tensor [N, C, ..]
    weight, bias : Tensors [C], or None
    eps    : float, added to the variance
    out    : (y like input, mean [C], variance [C]); the variance is divided by n, not n - 1
    raises : ShapeError for one axis or other numbers of channels, DTypeError for integers
    source : Ioffe and Szegedy 2015
    """
    x = as_operand(input)
    shape = _channels("batch_norm", x, weight, bias)
    y, mean, var = standardize(x, axis=(0,) + tuple(range(2, x.ndim)), epsilon=eps)
    return _scaled(y, weight, bias, shape), reshape(mean, shape=(x.shape[1],)), reshape(var, shape=(x.shape[1],))


def unbiased_variance(x, variance):
    """The variance[C] of a batch x[N, C, ..] divided by n - 1 values instead of n, as running variances take it."""
    count = product(x.shape) // x.shape[1]
    return variance * count / dim_max(count - 1, 1)


def update_moments(x, mean, variance, running_mean, running_var, momentum):
    """Write into the running moments: (1 - momentum) of what they are, momentum of the moments of the batch x[N, C, ..].

    variance : of the batch, divided by n; the running one takes it divided by n - 1
    """
    for running, new in ((running_mean, mean), (running_var, unbiased_variance(x, variance))):
        assign(running, running * (1 - momentum) + cast_to(new, running.dtype) * momentum)


def batch_norm(input_x: Tensor, running_mean: Tensor, running_var: Tensor, weight: Any = None, bias: Any = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Batch normalisation: over all axes but axis 1, by the running moments, or in training by those of the batch.

    input_x : float Tensor [N, C, ..]
    running_mean, running_var : Tensors or Parameters [C]; in training they are written to, or None
    weight, bias : Tensors [C], or None
    training : bool
    momentum : float, the weight of the batch's moments in the running ones (its variance divided by n - 1)
    eps    : float, added to the variance
    out    : Tensor like input_x
    raises : ShapeError for one axis or other numbers of channels, DTypeError for integers, ArgumentError where the running
             moments are wanted and None
    source : Ioffe and Szegedy 2015
    """
    x, eps = as_operand(input_x), as_number("batch_norm", "eps", eps, 0)
    if as_flag("batch_norm", "training", training):
        out, mean, variance = batch_norm_train(x, weight, bias, eps)
        if running_mean is not None and running_var is not None:
            update_moments(x, mean, variance, running_mean, running_var, momentum)
        return out
    if running_mean is None or running_var is None:
        raise ArgumentError("batch_norm: the running moments are wanted where training is False")
    if dtype_of(x).kind != "f":
        raise DTypeError(f"batch_norm: does not take {dtype_of(x).name}", note=f"input_x: {list(x.shape)}")
    return _by_moments(x, running_mean, running_var, weight, bias, eps)


@planned
def _by_moments(x, mean, variance, weight, bias, eps):
    shape = _channels("batch_norm", x, mean, variance, weight, bias)
    scale = rsqrt(variance + eps)
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return _scaled(x, scale, shift, shape)


@planned
def instance_norm(input: TensorLike, weight: TensorLike | None = None, bias: TensorLike | None = None,
                  eps: float = 1e-05) -> Tensor:
    """Each channel of each item brought to mean 0 and variance 1, times weight, plus bias.

    input  : float Tensor [N, C, ..]
    weight, bias : Tensors [C], or None
    eps    : float, added to the variance
    out    : Tensor like input
    raises : ShapeError for one axis or other numbers of channels, DTypeError for integers
    source : Ulyanov, Vedaldi, Lempitsky 2016
    """
    x, eps = as_operand(input), as_number("instance_norm", "eps", eps, 0)
    shape = _channels("instance_norm", x)
    return _scaled(standardize(x, axis=tuple(range(2, x.ndim)), epsilon=eps)[0], weight, bias, shape)


@planned
def group_norm(input: TensorLike, num_groups: int, weight: TensorLike | None = None, bias: TensorLike | None = None,
               eps: float = 1e-05) -> Tensor:
    """Channels in groups, each group of each item brought to mean 0 and variance 1, times weight, plus bias.

    input  : float Tensor [N, C, ..]
    num_groups : int that divides C
    weight, bias : Tensors [C], or None
    eps    : float, added to the variance
    out    : Tensor like input
    raises : ArgumentError where num_groups does not divide the channels, ShapeError for one axis or other numbers of channels,
             DTypeError for integers
    source : Wu and He 2018
    """
    x, num_groups, eps = as_operand(input), as_size("group_norm", num_groups), as_number("group_norm", "eps", eps, 0)
    if compare("<", num_groups, 1):
        raise ArgumentError(f"group_norm: at least one group is wanted, not {num_groups}")
    shape, (n, c) = _channels("group_norm", x), x.shape[:2]
    require("==", c % num_groups, 0, lambda: ArgumentError(f"group_norm: {c} channels in {num_groups} groups"))
    flat = reshape(x, shape=(n, num_groups, c // num_groups * product(x.shape[2:])))
    return _scaled(reshape(standardize(flat, axis=(2,), epsilon=eps)[0], shape=tuple(x.shape)), weight, bias, shape)


@planned
def rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """(x * r * gamma, r) with r = 1 / sqrt(mean(x * x) + epsilon) over gamma's axes, the last ones of x.

    x       : float[.., *N];     gamma : float[*N];     epsilon : float
    out     : (like x, r of float32 or float64 with the axes *N of size 1); halves are computed in float32
    raises  : DTypeError for what is no float, ShapeError where gamma does not fit
    source  : Zhang and Sennrich 2019, equation 4
    """
    x, epsilon = as_operand(x), as_number("rms_norm", "epsilon", epsilon, 0)
    if dtype_of(x).kind != "f":
        raise DTypeError(f"rms_norm: takes floats, not {dtype_of(x).name}")
    wide, gamma = cast_to(x, _wide(dtype_of(x))), as_operand(gamma)
    axes_of("rms_norm", x, gamma.ndim)
    scale = rsqrt(mean_over(wide * wide, tuple(range(x.ndim - gamma.ndim, x.ndim))) + epsilon)
    return cast_to(wide * scale, dtype_of(x)) * gamma, scale


@planned
def l2_normalize(input_x: Tensor, axis: int = 0, epsilon: float = 1e-12) -> Tensor:
    """input_x / sqrt(max(sum(input_x ** 2), epsilon)), the sum over axes.

    input_x : Tensor of real dtype; integers become float32
    axis   : int or ints
    epsilon : float
    out    : Tensor of input_x's shape
    raises : ValueRangeError for an axis outside, DTypeError for complex numbers
    """
    axes = normal_axes("l2_normalize", axis, axes_of("l2_normalize", input_x))
    total = reduce_sum(input_x * input_x, axis=axes, keepdims=True)
    return input_x / sqrt(maximum(total, epsilon))

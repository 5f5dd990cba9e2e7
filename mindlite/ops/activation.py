"""Activations: elementwise functions of neural networks, softmax and its logarithm.

Those with a bend (relu, elu, ..) choose in the gradient by `where`, so that an infinite gradient on the dead side does
no harm; at the bend the slope is the one of the flat side, as in torch. Smooth ones are composites: written in smaller
operators, fused again by graph kernels.
"""
from __future__ import annotations

import math

import numpy as np
from ..common.dtype import DTypeLike

from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, jvp_rule, planned, vmap_rule
from ..mindir.scalar import call as call_scalar, where as where_scalar
from .arithmetic import abs, clamp, minimum
from .axes import as_number, axes_of, normal_axis
from .basic import cast, move_batch_axis, reduce_sum, reshape
from .define import as_operand, composite, elementwise, rounded_once, to_float
from .elementary import exp, log, normal_cdf, sigmoid, tanh
from .logic import greater, greater_equal, less, less_equal, logical_and, where
from .reduction import reduce_max
from .sbp import elementwise_spec, letters, sbp_rule
from .slicing import slice_


def _bent(prim, slope):
    """bprop and jvp of a function of one number: slope(t, x, out, **attrs) is t times the derivative, by `where`."""
    @bprop_rule(prim)
    def bprop(x, out, dout, **attrs):
        return slope(dout, x, out, **attrs) if out.dtype.is_differentiable else None

    @jvp_rule(prim)
    def jvp(primals, tangents, out, **attrs):
        return slope(tangents[0], primals[0], out, **attrs)


# ---------------------------------------------------------------- with a bend

@elementwise(scalar=lambda x: call_scalar("maximum", x, 0), accepts="uif",
             array=lambda x: np.maximum(x, np.zeros((), x.dtype)))
def relu(input: TensorLike):
    """max(input, 0); slope 0 at 0. NaN stays NaN."""


_bent(relu, lambda t, x, out: where(greater(out, 0), t, 0))


def _relu6(x):
    return np.minimum(np.maximum(x, np.zeros((), x.dtype)), np.asarray(6, x.dtype))


@elementwise(scalar=lambda x: call_scalar("minimum", call_scalar("maximum", x, 0), 6), array=_relu6, accepts="uif")
def relu6(x: TensorLike):
    """min(max(x, 0), 6); slope 0 at both bends."""


_bent(relu6, lambda t, x, out: where(logical_and(greater(x, 0), less(x, 6)), t, 0))


@elementwise(scalar=lambda x, *, alpha: where_scalar(x > 0, x, x * alpha), accepts="f", prepare=to_float,
             array=lambda x, *, alpha: np.where(x > 0, x, x * np.asarray(alpha, x.dtype)))
def leaky_relu(input: TensorLike, *, alpha: float = 0.2):
    """input where it is positive, else alpha * input."""


_bent(leaky_relu, lambda t, x, out, *, alpha: where(greater(x, 0), t, t * alpha))


@elementwise(scalar=lambda x, *, alpha: where_scalar(x > 0, x, alpha * call_scalar("expm1", x)), accepts="f",
             array=lambda x, *, alpha: np.where(x > 0, x, np.asarray(alpha, x.dtype) * np.expm1(np.minimum(x, 0))),
             prepare=to_float)
def elu(input_x: TensorLike, *, alpha: float = 1.0):
    """input_x where it is positive, else alpha * (exp(input_x) - 1). source : Clevert et al. 2016"""


_bent(elu, lambda t, x, out, *, alpha: t * where(greater(x, 0), 1, exp(minimum(x, 0)) * alpha))

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@planned
@rounded_once
def selu(input_x: TensorLike) -> Tensor:
    """scale * input_x where it is positive, else scale * alpha * (exp(input_x) - 1), with the constants that keep mean and
    variance.

    input_x : float[...]; integers and bools count as float32
    raises  : DTypeError for complex numbers
    source  : Klambauer et al. 2017, equations 2 and 14
    """
    return elu(input_x, alpha=_SELU_ALPHA) * _SELU_SCALE


@planned
@rounded_once
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), element by element.

    x      : Tensor of real dtype, any shape; integers become float32
    alpha  : float, not 0
    out    : float, of x's shape
    raises : ValueRangeError for alpha 0, DTypeError for complex numbers
    source : Barron 2017, "Continuously differentiable exponential linear units"
    """
    if isinstance(alpha, (int, float)) and alpha == 0:
        raise ValueRangeError("celu: alpha is not 0")
    return elu(as_operand(x) / as_number("celu", "alpha", alpha), alpha=1.0) * alpha


@planned
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """input limited to [min_val, max_val]. raises : ArgumentError if min_val >= max_val"""
    if as_number("hardtanh", "min_val", min_val) >= as_number("hardtanh", "max_val", max_val):
        raise ArgumentError(f"hardtanh: min_val {min_val} is not below max_val {max_val}")
    return clamp(input, min_val, max_val)


@elementwise(scalar=lambda x, *, lambd: where_scalar(call_scalar("abs", x) <= lambd, 0, x), accepts="f",
             array=lambda x, *, lambd: np.where(np.abs(x) <= lambd, np.zeros((), x.dtype), x), prepare=to_float)
def hardshrink(input: TensorLike, *, lambd: float = 0.5):
    """input, with 0 for elements in [-lambd, lambd]."""


_bent(hardshrink, lambda t, x, out, *, lambd: where(less_equal(abs(x), lambd), 0, t))


@planned
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input moved towards 0 by lambd, at least 0; 0 for elements in [-lambd, lambd]. raises : ValueRangeError for another"""
    lambd = as_number("softshrink", "lambd", lambd, 0)
    return where(greater(input, lambd), input - lambd, where(less(input, -lambd), input + lambd, input * 0))


@planned
def threshold(input: TensorLike, thr: float, value: float) -> Tensor:
    """input where it is above thr, else value.

    input  : float[...]; integers and bools count as float32;     thr, value : numbers
    raises : DTypeError for complex numbers
    """
    return where(greater(input, thr), input, value)


@planned
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where it is positive, else weight * input; weight has one element, or one for each channel (axis 1).

    source : He et al. 2015
    raises : ShapeError if weight has another number of elements than channels
    """
    if axes_of("prelu", weight) != 1:
        raise ShapeError("prelu: weight has one axis", note=f"weight: {list(weight.shape)}")
    channels = input.shape[1] if axes_of("prelu", input) > 1 else 1
    if not (isinstance(weight.shape[0], int) and weight.shape[0] == 1):
        require("==", weight.shape[0], channels, lambda: ShapeError(
            "prelu: weight needs one element for each channel",
            note=f"input: {list(input.shape)}, weight: {list(weight.shape)}"))
    slope = reshape(weight, shape=(1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    return where(greater(input, 0), input, input * slope)


# ---------------------------------------------------------------- smooth

def _float_like_first(x, **attrs):
    if x.dtype.kind != "f":
        raise DTypeError(f"an activation takes floats, not {x.dtype.name}", note=f"x: {x}")
    return x


def _smooth(function):
    prim = composite(function, infer=_float_like_first, prepare=to_float, traits={"elementwise"}, once=True)
    vmap_rule(prim)(lambda args, dims, size, **attrs: (prim(*args, **attrs), dims[0]))
    sbp_rule(prim, elementwise_spec)
    return prim


@_smooth
def silu(input: TensorLike) -> Tensor:
    """input * sigmoid(input).

    input  : float[...]; integers and bools count as float32
    raises : DTypeError for complex numbers
    source : Elfwing et al. 2017
    """
    return input * sigmoid(input)


def _softplus(x, *, beta, threshold):
    scaled = x * beta
    smooth = call_scalar("log1p", call_scalar("exp", -call_scalar("abs", scaled))) + call_scalar("maximum", scaled, 0)
    return where_scalar(scaled > threshold, x, smooth / beta)


def _softplus_of_ndarray(x, *, beta, threshold):
    scaled = x * np.asarray(beta, x.dtype)
    smooth = np.log1p(np.exp(-np.abs(scaled))) + np.maximum(scaled, np.zeros((), x.dtype))
    return np.where(scaled > threshold, x, smooth / np.asarray(beta, x.dtype))


@elementwise(scalar=_softplus, array=_softplus_of_ndarray, accepts="f", prepare=to_float,
             derivatives=[lambda x, out, *, beta, threshold:
                          where(greater(x * beta, threshold), 1.0, sigmoid(x * beta))])
def softplus(input: TensorLike, *, beta: float = 1, threshold: float = 20):
    """log(1 + exp(beta * input)) / beta without overflow; input itself where beta * input > threshold."""


@_smooth
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)) = -log(1 + exp(-input)), without overflow.

    input  : Tensor of real dtype, any shape; integers become float32
    out    : float, of input's shape, below 0
    raises : DTypeError for complex numbers
    """
    return -softplus(-input, beta=1, threshold=float("inf"))


logsigmoid.also(x="input")


@_smooth
def mish(input: TensorLike) -> Tensor:
    """input * tanh(softplus(input)).

    input  : float[...]; integers and bools count as float32
    raises : DTypeError for complex numbers
    source : Misra 2019
    """
    return input * tanh(softplus(input, beta=1, threshold=float("inf")))


mish.also(x="input")


@_smooth
def gelu_erf(input: TensorLike) -> Tensor:
    """input * Phi(input), Phi being the normal distribution function. source : Hendrycks and Gimpel 2016"""
    return input * normal_cdf(input)


@_smooth
def gelu_tanh(input: Tensor) -> Tensor:
    """An approximation of GELU: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x ** 3))), x being input.

    input  : Tensor of real dtype, any shape; integers become float32
    out    : float, of input's shape
    raises : DTypeError for complex numbers
    source : Hendrycks and Gimpel 2016, section 2
    """
    return input * (tanh((input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)) + 1) * 0.5


@planned
def gelu(input: TensorLike, approximate: str = "none") -> Tensor:
    """input * Phi(input), Phi being the distribution function of the normal distribution.

    input  : Tensor or number of real dtype, any shape; integers become float32
    approximate : "none" (by erf) or "tanh" (gelu_tanh)
    out    : float, of input's shape
    raises : ArgumentError for another approximate, DTypeError for complex numbers
    source : Hendrycks and Gimpel 2016
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    return gelu_tanh(input) if approximate == "tanh" else gelu_erf(input)


@_smooth
def hardsigmoid(input: Tensor) -> Tensor:
    """relu6(input + 3) / 6: 0 up to -3, 1 from 3 on, a line between.

    input  : Tensor of real dtype, any shape; integers become float32
    out    : float, of input's shape
    raises : DTypeError for complex numbers
    source : Courbariaux, Bengio, David 2015, in the form of Howard et al. 2019
    """
    return relu6(input + 3) / 6


@_smooth
def hardswish(input: Tensor) -> Tensor:
    """input * relu6(input + 3) / 6.

    input  : Tensor of real dtype, any shape; integers become float32
    out    : float, of input's shape
    raises : DTypeError for complex numbers
    source : Howard et al. 2019, "Searching for MobileNetV3"
    """
    return input * relu6(input + 3) / 6


@rounded_once
def _hardswish_slope(t, x, out):
    return t * where(less_equal(x, -3), 0, where(greater_equal(x, 3), 1, x * (1 / 3) + 0.5))


_bent(hardswish, _hardswish_slope)


@_smooth
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    x      : float[...]; integers and bools count as float32
    raises : DTypeError for complex numbers
    source : Turian et al. 2009
    """
    return x / (abs(x) + 1)


@_smooth
def tanhshrink(input: TensorLike) -> Tensor:
    """input - tanh(input).

    input  : float[...]; integers and bools count as float32
    raises : DTypeError for complex numbers
    """
    return input - tanh(input)


swish = silu


# ---------------------------------------------------------------- softmax

def _axis_prepare(args, attrs):
    (x,), _ = to_float(args, {})
    return (x,), {"axis": normal_axis("softmax", attrs["axis"], x.ndim)}


def _softmax_infer(x, *, axis):
    return _float_like_first(x)


def _softmax_spec(x, *, axis):
    names = "".join("_" if i == axis else c for i, c in enumerate(letters(len(x.shape))))
    return f"{names}->{names}"


def _shifted(x, axis):
    """x minus its largest element along the axis; nothing where there is none, in an empty row."""
    if x.ndim and not (isinstance(x.shape[axis], int) and x.shape[axis] == 0):
        return x - reduce_max(x, axis=axis, keepdims=True)
    return x - x


def _total(y, axis):
    return reduce_sum(y, axis=axis, keepdims=True) if y.ndim else y


@composite(infer=_softmax_infer, prepare=_axis_prepare, name="softmax", once=True)
def softmax_along(x, *, axis=-1):
    """exp(x) / sum(exp(x)) along `axis`, without overflow."""
    e = exp(_shifted(x, axis))
    return e / _total(e, axis)


@composite(infer=_softmax_infer, prepare=_axis_prepare, name="log_softmax", once=True)
def log_softmax_along(x, *, axis=-1):
    """log(softmax(x)) along `axis`, without overflow and without the logarithm of a small number."""
    shifted = _shifted(x, axis)
    return shifted - log(_total(exp(shifted), axis))


@bprop_rule(softmax_along)
@rounded_once
def softmax_bprop(x, out, dout, *, axis):
    return out * (dout - _total(out * dout, axis))


@jvp_rule(softmax_along)
def softmax_jvp(primals, tangents, out, *, axis):
    return out * (tangents[0] - _total(out * tangents[0], axis))


@bprop_rule(log_softmax_along)
@rounded_once
def log_softmax_bprop(x, out, dout, *, axis):
    return dout - softmax_along(x, axis=axis) * _total(dout, axis)      # shares its exponential with log_softmax


@jvp_rule(log_softmax_along)
def log_softmax_jvp(primals, tangents, out, *, axis):
    return tangents[0] - _total(exp(out) * tangents[0], axis)


def _softmax_batch(prim):
    @vmap_rule(prim)
    def rule(args, dims, size, *, axis):
        x = move_batch_axis(args[0], dims[0])
        if x.ndim == 1:
            return reshape(prim(reshape(x, shape=(size, 1)), axis=1), shape=(size,)), 0
        return prim(x, axis=axis + 1), 0
    sbp_rule(prim, _softmax_spec)


_softmax_batch(softmax_along)
_softmax_batch(log_softmax_along)


@planned
def softmax(input: TensorLike, axis: int = -1, *, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along `axis`, computed in `dtype` if that is given. Along an empty axis it is empty."""
    input = as_operand(input)
    return softmax_along(input if dtype is None else cast(input, dtype=dtype), axis=axis)


@planned
def log_softmax(logits: TensorLike, axis: int = -1) -> Tensor:
    """log(softmax(logits)) along `axis`: logits - log(sum(exp(logits))), without overflow.

    logits : Tensor of real dtype; integers become float32
    axis   : int
    out    : float, of logits' shape
    raises : DTypeError for complex numbers, ValueRangeError for an axis outside
    """
    return log_softmax_along(logits, axis=axis)


@planned
def softmin(x: Tensor, axis: int = -1, *, dtype: DTypeLike | None = None) -> Tensor:
    """softmax(-x): exp(-x) / sum(exp(-x)) along `axis`.

    x      : float[...]; integers count as float32
    axis   : int;     dtype : in which it is computed, or None for that of x
    raises : DTypeError for bool and complex, ValueRangeError for an axis outside
    """
    (x,), _ = to_float((as_operand(x),), {})
    return softmax(-x, axis, dtype=dtype)


@planned
@rounded_once
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half of x along `axis`, times the sigmoid of the second.

    x      : Tensor of real dtype
    axis   : int, of an even size
    out    : float Tensor, half as large along the axis
    raises : ShapeError for an odd size or a tensor without axes, ValueRangeError for an axis outside
    source : Dauphin et al. 2017, "Language modeling with gated convolutional networks"
    """
    x = as_operand(x)
    if not x.shape:
        raise ShapeError("glu: a tensor without axes has no halves")
    axis = normal_axis("glu", axis, x.ndim)
    half = x.shape[axis] // 2
    require("==", half * 2, x.shape[axis], lambda: ShapeError("glu: the axis has an odd size",
                                                              note=f"x: {list(x.shape)}, axis {axis}"))
    first = tuple(half if i == axis else s for i, s in enumerate(x.shape))
    start, step = tuple(half if i == axis else 0 for i in range(x.ndim)), (1,) * x.ndim
    front = slice_(x, start=(0,) * x.ndim, sizes=first, step=step)
    return front * sigmoid(slice_(x, start=start, sizes=first, step=step))

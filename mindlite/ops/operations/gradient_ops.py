"""Gradients of operators as classes: `ReluGrad()(dout, x)`. Each is the operator's bprop rule or its formula."""
from ...common import dtype as dt
from ...common.errors import ValueRangeError
from .. import (abs, equal, exp, expand_dims, gather, logical_and, maximum, minimum, not_equal, one_hot, pow, rsqrt,
                sigmoid, softplus, tanh, where, zeros_like)
from ..creation import zeros
from ..define import cast_to, dtype_of
from ..elementary import normal_cdf, normal_pdf
from ..indexing import scatter_elements_add
from ..reduction import sum
from ...mindir.primitive import bprop_rule
from ..nn_conv import convolution_backward_weight
from ..nn_pool import avg_pooling, max_pooling
from ..patches import grid_sample_backward
from ..resize import resize_backward
from ..windows import padding_of, pair
from .define import operation, table


def _relu(dout, out):
    return where(out > 0, dout, 0)


def _hard_sigmoid(dout, x):
    return where(logical_and(x > -3, x < 3), dout / 6, 0)


def _hard_swish(dout, x):
    return where(x <= -3, 0, where(x >= 3, dout, dout * (2 * x + 3) / 6))


def _mish(dout, x):
    t = tanh(softplus(x))
    return dout * (t + x * (1 - t * t) * sigmoid(x))


def _gelu(dout, x, out):
    return cast_to(dout * (normal_cdf(x) + x * normal_pdf(x)), dtype_of(x))


def _fast_gelu(dout, x):
    s = sigmoid(1.702 * x)
    return cast_to(dout * (s + 1.702 * x * s * (1 - s)), dtype_of(x))


globals().update(table({
    "FastGeLUGrad": _fast_gelu, "SoftmaxBackward": lambda dout, out, dim=-1: out * (dout - sum(dout * out, dim, True)),
    "ReluGrad": _relu, "ReLUGrad": _relu, "ReLU6Grad": lambda dout, x: where(logical_and(x > 0, x < 6), dout, 0),
    "SigmoidGrad": lambda out, dout: dout * out * (1 - out), "TanhGrad": lambda out, dout: dout * (1 - out * out),
    "SqrtGrad": lambda out, dout: dout * 0.5 / out, "RsqrtGrad": lambda out, dout: dout * -0.5 * out * out * out,
    "ReciprocalGrad": lambda out, dout: -dout * out * out, "InvGrad": lambda out, dout: -dout * out * out,
    "AbsGrad": lambda x, dout: dout * x.sign(), "AsinGrad": lambda x, dout: dout * rsqrt(1 - x * x),
    "ACosGrad": lambda x, dout: -dout * rsqrt(1 - x * x), "AtanGrad": lambda x, dout: dout / (1 + x * x),
    "AsinhGrad": lambda out, dout: dout / out.cosh(), "AcoshGrad": lambda out, dout: dout / out.sinh(),
    "EluGrad": lambda dout, out: where(out > 0, dout, dout * (out + 1)),
    "SoftplusGrad": lambda dout, x: dout * sigmoid(x), "MishGrad": _mish, "HSigmoidGrad": _hard_sigmoid,
    "HSwishGrad": _hard_swish, "GeLUGrad": _gelu, "SiLUGrad": lambda dout, x:
        dout * sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "LogSoftmaxGrad": lambda out, dout: dout - exp(out) * sum(dout, -1, True),
    "FlattenGrad": lambda dout, shape: dout.reshape(shape),
    "SigmoidCrossEntropyWithLogitsGrad": lambda x, y, dout: dout * (sigmoid(x) - y),
}))


@operation
def BiasAddGrad(dout, *, data_format="NCHW"):
    """The gradient of BiasAdd for its bias: the sum over all axes but that of the channels, the last one for "NHWC"."""
    channels = dout.ndim - 1 if data_format == "NHWC" else 1
    return sum(dout, tuple(a for a in range(dout.ndim) if a != channels))


# ---------------------------------------------------------------- windows

def _windows(name, x, kernel_size, strides, pad_mode):
    kernel, stride = pair(name, "kernel_size", kernel_size), pair(name, "strides", strides)
    return {"kernel_size": kernel, "stride": stride, "dilation": (1, 1), "ceil_mode": False,
            "padding": padding_of(name, pad_mode, 0, x.shape[2:], kernel, stride, (1, 1))}


@operation
def MaxPoolGrad(x, out, dout, *, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"):
    """The gradient of MaxPool for x."""
    return bprop_rule[max_pooling](x, out=out, dout=dout, **_windows("MaxPoolGrad", x, kernel_size, strides, pad_mode))


@operation
def AvgPoolGrad(x, out, dout, *, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"):
    """The gradient of AvgPool for x."""
    return bprop_rule[avg_pooling](x, out=out, dout=dout, count_include_pad=False, divisor=0,
                                   **_windows("AvgPoolGrad", x, kernel_size, strides, pad_mode))


@operation
def Conv2DBackpropFilter(dout, x, weight_size, *, out_channel, kernel_size, pad_mode="valid",
                         pad=0, pad_list=None, mode=1, stride=1, dilation=1, group=1, data_format="NCHW"):
    """The gradient of Conv2D for the weight, of shape `weight_size`."""
    kernel, stride, dilation = (pair("Conv2DBackpropFilter", "a size", v) for v in (kernel_size, stride, dilation))
    padding = padding_of("Conv2DBackpropFilter", pad_mode, pad, x.shape[2:], kernel, stride, dilation)
    return convolution_backward_weight(x, dout, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation,
                                       groups=group)


@operation
def MaxPoolGradWithArgmax(x, dout, argmax, *, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"):
    """The gradient of MaxPoolWithArgmax for x."""
    n, c, h, w = x.shape
    return scatter_elements_add(zeros((n, c, h * w), dtype_of(x)), argmax.reshape((n, c, -1)), dout.reshape((n, c, -1)),
                                axis=2).reshape(x.shape)


@operation
def MaxPoolGradWithArgmaxV2(x, dout, argmax, *, kernel_size, strides=None, pads=0, dilation=(1, 1), ceil_mode=False,
                            argmax_type=dt.int64):
    """The gradient of MaxPoolWithArgmaxV2 for x."""
    return MaxPoolGradWithArgmax.function(x, dout, argmax)


@operation
def ResizeBilinearGrad(dout, x, *, align_corners=False, half_pixel_centers=False):
    """The gradient of ResizeBilinear for x."""
    return resize_backward(dout, x, "bilinear", align_corners, half_pixel_centers)


@operation
def BatchNormGrad(dout, x, scale, mean, variance, reserve=None, *, is_training=False, epsilon=1e-5, data_format="NCHW"):
    """(the gradients of BatchNorm for x, for scale and for bias), from the mean and variance that it used."""
    axes, shape = tuple(a for a in range(x.ndim) if a != 1), tuple(-1 if a == 1 else 1 for a in range(x.ndim))
    root = rsqrt(variance + epsilon).reshape(shape)
    normal = (x - mean.reshape(shape)) * root
    dscale, dbias = sum(dout * normal, axes), sum(dout, axes)
    dnormal = dout * scale.reshape(shape)
    if is_training:
        dnormal = dnormal - dnormal.mean(axes, True) - normal * (dnormal * normal).mean(axes, True)
    return dnormal * root, dscale, dbias


@operation
def ConcatOffset(shapes, *, N=2, axis=0):
    """Where each of the shapes begins in their concatenation."""
    made, start = [], 0
    for shape in shapes:
        made.append(tuple(start if a == axis else 0 for a in range(len(shape))))
        start += shape[axis]
    return tuple(made)


# ---------------------------------------------------------------- choices and normalisation

def _chosen_gradient(choose, x, y, dout, grad_x, grad_y):
    if not grad_x and not grad_y:
        raise ValueRangeError("no gradient is asked for: grad_x and grad_y are False")
    return bprop_rule[choose](x, y, out=None, dout=dout)


@operation
def MaximumGrad(x, y, dout, *, grad_x=True, grad_y=True):
    """(the gradients of Maximum for x and for y)"""
    return _chosen_gradient(maximum, x, y, dout, grad_x, grad_y)


@operation
def MinimumGrad(x, y, dout, *, grad_x=True, grad_y=True):
    """(the gradients of Minimum for x and for y)"""
    return _chosen_gradient(minimum, x, y, dout, grad_x, grad_y)


@operation
def MaximumGradGrad(x, y, dx, dy, *, grad_x=True, grad_y=True):
    """(zeros as x, zeros as y, the element of dx or dy that Maximum chose)"""
    return zeros_like(x), zeros_like(y), where(x >= y, dx, dy)


@operation
def MinimumGradGrad(x, y, dx, dy, *, grad_x=True, grad_y=True):
    """(zeros as x, zeros as y, the element of dx or dy that Minimum chose)"""
    return zeros_like(x), zeros_like(y), where(x <= y, dx, dy)


@operation
def HShrinkGrad(dout, x, *, lambd=0.5):
    """The gradient of HShrink for x."""
    return where(logical_and(x >= -lambd, x <= lambd), 0, dout)


@operation
def SoftShrinkGrad(input_grad, input_x, *, lambd=0.5):
    """The gradient of SoftShrink for input_x."""
    return where(logical_and(input_x >= -lambd, input_x <= lambd), 0, input_grad)


@operation
def DropoutGrad(shape, mask, *, keep_prob=0.5):
    """The gradient of Dropout for its operand; `shape` is that of the result, which it divides by keep_prob where mask is 1."""
    return shape * cast_to(mask, dtype_of(shape)) / keep_prob


@operation
def KLDivLossGrad(grad, x, target, *, reduction="mean"):
    """-target * grad, by the number of elements for "mean" and by that of rows for "batchmean": the slope of KLDivLoss for x.

    raises : ValueRangeError for another reduction than these, "sum" and "none"
    """
    counts = {"none": 1, "sum": 1, "mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}
    if reduction not in counts:
        raise ValueRangeError(f"KLDivLossGrad: the reduction is one of {', '.join(counts)}, not {reduction!r}")
    return -target * grad / counts[reduction]


@operation
def CdistGrad(grad, input_x, input_y, cdist, *, p=2.0):
    """The gradient of Cdist for input_x; cdist are the distances that it gave, where they are 0 there is none."""
    difference = expand_dims(input_x, -2) - expand_dims(input_y, -3)
    size, distance, dout = abs(difference), expand_dims(cdist, -1), expand_dims(grad, -1)
    if p == 0:
        return zeros_like(input_x)
    if p == float("inf"):
        return sum(where(equal(size, distance), difference.sign() * dout, 0), -2)
    slope = difference.sign() * pow(where(size > 0, size, 1), p - 1) / pow(where(distance > 0, distance, 1), p - 1)
    return sum(where(logical_and(size > 0, distance > 0), slope * dout, 0), -2)


@operation
def NLLLossGrad(logits, dout, labels, weight, total_weight, *, reduction="mean", ignore_index=-100):
    """The gradient of NLLLoss for logits[N, C]; dout is [N] for reduction "none", else a number."""
    counts = not_equal(labels, ignore_index)
    safe = where(counts, labels, 0)
    each = where(counts, gather(weight, safe, 0) * dout, 0)
    if reduction == "mean":
        each = each / total_weight
    return -expand_dims(each, 1) * cast_to(one_hot(safe, logits.shape[1]), dtype_of(logits))


@operation
def LayerNormGrad(x, dout, variance, mean, gamma, *, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-12):
    """(the gradients of LayerNorm for x, for gamma and for beta), from the variance and mean that it used."""
    axes, outer = tuple(range(begin_norm_axis % x.ndim, x.ndim)), tuple(range(begin_params_axis % x.ndim))
    root = rsqrt(variance + epsilon)
    normal = (x - mean) * root
    inside = dout * gamma
    dx = (inside - inside.mean(axes, True) - normal * (inside * normal).mean(axes, True)) * root
    return dx, sum(dout * normal, outer), sum(dout, outer)


@operation
def LayerNormGradGrad(x, dout, variance, mean, gamma, d_dx, d_dg, d_db, *, begin_norm_axis=1, begin_params_axis=1,
                      epsilon=1e-12):
    """The gradients of LayerNormGrad for x, for dout and for gamma, d_dx, d_dg and d_db being those of its three results."""
    axes, outer = tuple(range(begin_norm_axis % x.ndim, x.ndim)), tuple(range(begin_params_axis % x.ndim))
    root = rsqrt(variance + epsilon)
    normal = (x - mean) * root
    inside = dout * gamma

    def across(value):
        return value - value.mean(axes, True) - normal * (value * normal).mean(axes, True)
    of_normal = dout * d_dg - root * (d_dx * (inside * normal).mean(axes, True) + inside * (d_dx * normal).mean(axes, True))
    of_root = (d_dx * across(inside)).mean(axes, True)
    dx = root * across(of_normal) - root * root * normal * of_root
    slope = root * across(d_dx)
    return dx, slope * gamma + d_dg * normal + d_db, sum(slope * dout, outer)


@operation
def GridSampler2DGrad(dout, x, grid, *, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """(the gradients of GridSampler2D for x and for grid)"""
    return grid_sample_backward(dout, x, grid, interpolation_mode, padding_mode, align_corners)


@operation
def GridSampler3DGrad(dout, x, grid, *, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """(the gradients of GridSampler3D for x and for grid)"""
    return grid_sample_backward(dout, x, grid, interpolation_mode, padding_mode, align_corners)

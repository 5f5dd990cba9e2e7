"""Layers, losses and the steps of optimisers as classes."""
from ...common import dtype as dt
from ...common.errors import ShapeError, ValueRangeError
from .. import (adagrad_update, adam_update, avg_pool2d, batch_norm, batch_norm_train, batch_to_space_nd, bias_add,
               binary_cross_entropy, binary_cross_entropy_with_logits, cast, celu, conv2d, dense, elu, gelu, glu,
               hardshrink, hardsigmoid, hardswish, kl_div, layer_norm_from_axis, log_softmax, logsigmoid, lrn, max_pool2d,
               mish, momentum_update, nll_loss, prelu, relu, relu6, rms_norm,
               selu, sigmoid, silu, smooth_l1_loss, softmax, softmax_cross_entropy_with_logits, softplus, softshrink,
               softsign, space_to_batch_nd, sparse_softmax_cross_entropy_with_logits, sqrt, square, sum)
from ..logic import not_equal, where
from ..lookup import gather
from ..creation import one_hot
from ..define import check_tensors
from ..conv3d import conv3d, conv3d_transpose
from ..indexing import bounded_indices
from ..nn_conv import convolution_backward_data
from ..nn_norm import update_moments
from ..pool3d import avg_pool3d, max_pool3d
from ..resize import resize
from ..structure import swapaxes
from ..windows import padding_of, pair
from .define import operation, table
from .optimiser_ops import whole_step
from .writing import written


def _hardshrink(x, lambd):
    return hardshrink(x, lambd=lambd)


def _gelu(x):
    return gelu(x, "tanh")


def _fast_gelu(x):
    return x * sigmoid(1.702 * x)


globals().update(
    table(
        {"ReLU": relu, "ReLU6": relu6, "PReLU": prelu, "SeLU": selu, "SiLU": silu, "Mish": mish, "Softplus": softplus,
         "Softsign": softsign, "HSigmoid": hardsigmoid, "HSwish": hardswish, "LogSigmoid": logsigmoid, "GeLU": _gelu,
         "Gelu": _gelu, "FastGeLU": _fast_gelu, "FastGelu": _fast_gelu, "Dense": dense,
         "SoftmaxCrossEntropyWithLogits": lambda logits, labels: _loss_and_gradient(logits, labels), }))


def _loss_and_gradient(logits, labels):
    return softmax_cross_entropy_with_logits(logits, labels), softmax(logits, -1) - labels


@operation
def Softmax(x, *, axis=-1):
    """Softmax over one axis."""
    return softmax(x, axis[0] if isinstance(axis, (tuple, list)) else axis)


@operation
def LogSoftmax(x, *, axis=-1):
    """The logarithm of softmax."""
    return log_softmax(x, axis)


@operation
def Elu(x, *, alpha=1.0):
    """x above 0, alpha (exp(x) - 1) below."""
    return elu(x, alpha=alpha)


@operation
def CeLU(x, *, alpha=1.0):
    """x above 0, alpha (exp(x / alpha) - 1) below."""
    return celu(x, alpha)


@operation
def HShrink(x, *, lambd=0.5):
    """0 in [-lambd, lambd], x outside."""
    return _hardshrink(x, lambd)


@operation
def SoftShrink(x, *, lambd=0.5):
    """x moved by lambd towards 0."""
    return softshrink(x, lambd)


@operation
def GLU(x, *, axis=-1):
    """The first half times the sigmoid of the second."""
    return glu(x, axis)


# ---------------------------------------------------------------- convolution and pooling

def _layout(name, data_format):
    if data_format != "NCHW":
        raise ValueRangeError(f"{name}: data_format is 'NCHW', not {data_format!r}")


@operation
def Conv2D(x, weight, *, out_channel, kernel_size, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1, group=1,
           data_format="NCHW"):
    """Convolution of [N, C, H, W] with weight [out_channel, C / group, KH, KW]."""
    _layout("Conv2D", data_format)
    return conv2d(x, weight, None, stride, pad_mode, pad, dilation, group)


@operation
def DepthwiseConv2dNative(x, weight, *, channel_multiplier, kernel_size, mode=3, pad_mode="valid", pad=0, stride=1, dilation=1,
                          group=1):
    """Convolution of each channel of [N, C, H, W] with a kernel of its own: weight [1, C, KH, KW].

    raises : ArgumentError for what is no Tensor, ShapeError for other sizes, ValueRangeError for a channel_multiplier but 1
    """
    check_tensors("DepthwiseConv2dNative", x=x, weight=weight)
    if x.ndim != 4 or weight.ndim != 4:
        raise ShapeError("DepthwiseConv2dNative: x is [N, C, H, W], weight [1, C, KH, KW]",
                         note=f"{list(x.shape)}, {list(weight.shape)}")
    if channel_multiplier != 1:
        raise ValueRangeError(f"DepthwiseConv2dNative: channel_multiplier is 1, not {channel_multiplier}",
                              hint="Conv2D(out_channel=k * C, group=C) makes k channels of each")
    return conv2d(x, swapaxes(weight, 0, 1), None, stride, pad_mode, pad, dilation, x.shape[1])


@operation
def Conv2DBackpropInput(dout, weight, input_size, *, out_channel, kernel_size, pad_mode="valid",
                        pad=0, pad_list=None, mode=1, stride=1, dilation=1, group=1, data_format="NCHW"):
    """The gradient of Conv2D for x of shape `input_size`."""
    _layout("Conv2DBackpropInput", data_format)
    kernel, strides = _pair(kernel_size), _pair(stride)
    spatial = tuple(input_size)[2:]
    padding = padding_of("Conv2DBackpropInput", pad_mode, pad, spatial, kernel, strides, _pair(dilation))
    return convolution_backward_data(dout, weight, input_size=spatial, stride=strides,
                                     padding=padding, dilation=_pair(dilation), groups=group)


Conv2DTranspose = Conv2DBackpropInput


@operation
def Conv3D(x, weight, *, out_channel, kernel_size, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1, group=1,
           data_format="NCDHW"):
    """Convolution of [N, C, D, H, W] with weight [out_channel, C / group, KD, KH, KW]."""
    _volumes("Conv3D", data_format)
    return conv3d(x, weight, None, stride, pad_mode, pad, dilation, group)


@operation
def Conv3DTranspose(dout, weight, *, in_channel, out_channel, kernel_size, mode=1, pad_mode="valid", pad=0, stride=1,
                    dilation=1, group=1, output_padding=0, data_format="NCDHW"):
    """The transpose of Conv3D: [N, in_channel, D, H, W], weight [in_channel, out_channel / group, KD, KH, KW]."""
    _volumes("Conv3DTranspose", data_format)
    return conv3d_transpose(dout, weight, None, stride, pad_mode, pad, output_padding, dilation, group)


def _volumes(name, data_format):
    if data_format != "NCDHW":
        raise ValueRangeError(f"{name}: data_format is 'NCDHW', not {data_format!r}")


def _pair(value):
    return pair("operations", "a size", value)


@operation
def MaxPool(x, *, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"):
    """The largest element of each window."""
    _layout("MaxPool", data_format)
    return max_pool2d(x, _pair(kernel_size), _pair(strides), pad_mode=pad_mode.lower())


@operation
def AvgPool(x, *, kernel_size=1, strides=1, pad_mode="VALID", data_format="NCHW"):
    """The mean of each window; padding is not counted."""
    _layout("AvgPool", data_format)
    return avg_pool2d(x, _pair(kernel_size), _pair(strides), count_include_pad=False, pad_mode=pad_mode.lower())


# ---------------------------------------------------------------- normalisation

@operation
def LayerNorm(x, gamma, beta, *, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7):
    """(x normalised over the axes from begin_norm_axis on, the means, the variances)"""
    return layer_norm_from_axis(x, gamma, beta, begin_norm_axis, epsilon)


@operation
def RmsNorm(x, gamma, *, epsilon=1e-6):
    """(x divided by its root mean square and scaled, 1 / that root)"""
    return rms_norm(x, gamma, epsilon), 1 / sqrt(square(x).mean(-1, True) + epsilon)


@operation
def BatchNorm(x, scale, bias, mean, variance, *, is_training=False, epsilon=1e-5, momentum=0.1, data_format="NCHW"):
    """(x normalised by channel, the means, the variances, and both again)"""
    _layout("BatchNorm", data_format)
    if not is_training:
        return batch_norm(x, mean, variance, scale, bias, False, momentum, epsilon), mean, variance, mean, variance
    out, batch_mean, batch_variance = batch_norm_train(x, scale, bias, epsilon)
    update_moments(x, batch_mean, batch_variance, mean, variance, momentum)
    return out, batch_mean, batch_variance, batch_mean, batch_variance


# ---------------------------------------------------------------- losses

@operation
def SparseSoftmaxCrossEntropyWithLogits(logits, labels, *, is_grad=False):
    """The mean cross entropy, or with is_grad its gradient."""
    if not is_grad:
        return sparse_softmax_cross_entropy_with_logits(logits, labels, "mean")
    labels = bounded_indices(labels, what="SparseSoftmaxCrossEntropyWithLogits: label", low=0, high=logits.shape[-1])
    return (softmax(logits, -1) - one_hot(labels, logits.shape[-1], 1.0, 0.0)) / logits.shape[0]


@operation
def SigmoidCrossEntropyWithLogits(logits, label):
    """The binary cross entropy of each element."""
    return binary_cross_entropy_with_logits(logits, label, None, None, "none")


@operation
def BCEWithLogitsLoss(logits, label, weight, pos_weight, *, reduction="mean"):
    """Binary cross entropy of logits."""
    return binary_cross_entropy_with_logits(logits, label, weight, pos_weight, reduction)


@operation
def BinaryCrossEntropy(logits, labels, weight=None, *, reduction="mean"):
    """Binary cross entropy of probabilities."""
    return binary_cross_entropy(logits, labels, weight, reduction)


@operation
def KLDivLoss(logits, labels, *, reduction="mean"):
    """The Kullback-Leibler divergence."""
    return kl_div(logits, labels, reduction)


@operation
def NLLLoss(logits, labels, weight, *, reduction="mean", ignore_index=-100):
    """(the negative log likelihood, the sum of the weights of the labels that are not ignore_index)"""
    counts = not_equal(labels, ignore_index)
    used = where(counts, gather(weight, where(counts, labels, 0), 0), 0)
    return nll_loss(logits, labels, weight, ignore_index, reduction), sum(used)


@operation
def SmoothL1Loss(logits, target, *, beta=1.0, reduction="none"):
    """Quadratic below beta, linear above."""
    return smooth_l1_loss(logits, target, beta, reduction)


@operation
def L2Loss(x):
    """sum(x ** 2) / 2"""
    return sum(square(x)) / 2


# ---------------------------------------------------------------- steps of optimisers, which change their Parameters

@operation
def ApplyMomentum(variable, accumulation, learning_rate, gradient, momentum, *, use_nesterov=False, use_locking=False,
                  gradient_scale=1.0):
    """accumulation = accumulation momentum + gradient; variable -= learning_rate accumulation; returns the variable."""
    new = momentum_update(variable, accumulation, gradient / gradient_scale if gradient_scale !=
                          1.0 else gradient, learning_rate, momentum, use_nesterov=use_nesterov)
    written(accumulation, new[1])
    return written(variable, new[0])


@operation
def Adam(variable, m, v, beta1_power, beta2_power, lr, beta1, beta2,
         epsilon, gradient, *, use_locking=False, use_nesterov=False):
    """One step of Adam; returns (variable, m, v)."""
    new = adam_update(variable, m, v, gradient, lr, beta1_power, beta2_power, beta1=float(beta1), beta2=float(beta2),
                      epsilon=float(epsilon), use_nesterov=use_nesterov)
    return tuple(written(old, value) for old, value in zip((variable, m, v), new))


ApplyAdam = Adam


@operation
def ApplyAdagrad(variable, accumulation, lr, gradient, *, update_slots=True):
    """One step of Adagrad; returns (variable, accumulation)."""
    new = adagrad_update(variable, accumulation, gradient, lr)
    return written(variable, new[0]), written(accumulation, new[1])


@operation
@whole_step
def ApplyGradientDescent(variable, alpha, delta):
    """variable -= alpha delta; returns the variable."""
    return written(variable, variable - alpha * delta)


@operation
def MaxPoolWithArgmax(x, *, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"):
    """(the largest element of each window, its position in the plane)"""
    _layout("MaxPoolWithArgmax", data_format)
    return max_pool2d(x, _pair(kernel_size), _pair(strides), return_indices=True, pad_mode=pad_mode.lower())


# ---------------------------------------------------------------- pictures

@operation
def ResizeBilinearV2(x, size, *, align_corners=False, half_pixel_centers=False):
    """x[N, C, H, W] interpolated linearly to `size`."""
    return resize(x, size, "bilinear", align_corners, half_pixel_centers)


@operation
def ResizeBilinear(x, *, size, align_corners=False, half_pixel_centers=False):
    """x[N, C, H, W] interpolated linearly to `size`."""
    return resize(x, size, "bilinear", align_corners, half_pixel_centers)


@operation
def ResizeNearestNeighbor(x, *, size, align_corners=False, half_pixel_centers=False):
    """x[N, C, H, W] at the nearest points."""
    return resize(x, size, "nearest", align_corners, half_pixel_centers)


@operation
def ResizeNearestNeighborV2(x, size, *, align_corners=False, half_pixel_centers=False):
    """x[N, C, H, W] at the nearest points."""
    return resize(x, size, "nearest", align_corners, half_pixel_centers)


@operation
def BiasAdd(x, bias, *, data_format="NCHW"):
    """x[N, C, ..] plus bias[C]."""
    if data_format == "NHWC":
        return x + bias
    return bias_add(x, bias)


@operation
def LRN(x, *, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
    """Local response normalisation; see ops.lrn."""
    return lrn(x, depth_radius, bias, alpha, beta, norm_region)


@operation
def SpaceToBatchND(x, *, block_shape, paddings):
    """Blocks of the spatial axes become batches: [N, C, H, W] -> [N * b * b, C, (H + pads) / b, (W + pads) / b]."""
    return space_to_batch_nd(x, block_shape, paddings)


@operation
def BatchToSpaceND(x, *, block_shape, crops):
    """The inverse of SpaceToBatchND, cut by `crops`."""
    return batch_to_space_nd(x, block_shape, crops)


# ---------------------------------------------------------------- volumes

@operation
def MaxPool3D(x, *, kernel_size=1, strides=1, pad_mode="VALID", pad_list=0, ceil_mode=None, data_format="NCDHW"):
    """The largest element of each window of x[N, C, D, H, W]."""
    return max_pool3d(x, kernel_size, strides, pad_list, ceil_mode=bool(ceil_mode), pad_mode=pad_mode)


@operation
def AvgPool3D(x, *, kernel_size=1, strides=1, pad_mode="valid", pad=0, ceil_mode=False,
              count_include_pad=True, divisor_override=0, data_format="NCDHW"):
    """The mean of each window of x[N, C, D, H, W]."""
    return avg_pool3d(x, kernel_size, strides, pad, ceil_mode,
                      count_include_pad and pad_mode.lower() == "pad", divisor_override, pad_mode=pad_mode)


@operation
def MaxPool3DWithArgmax(x, *, ksize, strides, pads, dilation=(1, 1, 1), ceil_mode=False, data_format="NCDHW",
                        argmax_type=dt.int64):
    """(the maximum of each window of x[N, C, D, H, W], its position)."""
    values, positions = max_pool3d(x, ksize, strides, pads, dilation, ceil_mode, True)
    return values, cast(positions, dtype=argmax_type)

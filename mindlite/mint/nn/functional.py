"""mint.nn.functional: layers as functions, with torch.nn.functional's names, arguments, defaults and results.

    F.gelu(x)      F.leaky_relu(x, 0.1)      F.conv2d(x, w, padding="same")      F.smooth_l1_loss(x, y) is a number

inplace=True, and a name that ends with _, write into the input and give it. A convolution or pooling takes [N, C, ..] or
[C, ..]. The source of each is the function of that name in torch 2.
"""
from typing import TYPE_CHECKING, Any

from ... import ops
from ...common import dtype as dt
from ...common.errors import ValueRangeError
from ...ops.axes import as_flag, as_size, axes_of
from ...ops.define import as_operand, cast_to, dtype_of
from ...ops.indexing import bounded_indices
from ...ops.methods import doc_of
from ..arithmetic import conv2d
from ..define import publisher
from ..shaping import flatten

__all__ = ["conv2d", "flatten"]
_public = publisher(globals())


def _written(input, out, inplace):
    return ops.assign(input, out) if inplace else out


def _batched(function, input, ndim):
    """function(input) of a batch; a single item of one axis less becomes one, and its results items."""
    if axes_of("the input", input) == ndim:
        return function(input)
    out = function(ops.unsqueeze(input, 0))
    return tuple([x[0] for x in out]) if isinstance(out, tuple) else out[0]


def _class_axis(input, dim):
    """torch's axis where none is given: 0 for 0, 1 or 3 axes, else 1."""
    return dim if dim is not None else 0 if axes_of("the input", input) in (0, 1, 3) else 1


# ---------------------------------------------------------------- activations

for _name in "hardsigmoid hardswish logsigmoid mish selu sigmoid tanh".split():
    def _make(function):
        def call(input):
            return function(input)
        call.__doc__ = doc_of(function)
        return call
    _public(_make(getattr(ops, _name)), _name)


@_public
def relu(input, inplace=False):
    """max(input, 0)."""
    return _written(input, ops.relu(input), inplace)


@_public
def relu_(input):
    """relu, written into input."""
    return ops.assign(input, ops.relu(input))


@_public
def sigmoid_(input):
    """sigmoid, written into input."""
    return ops.assign(input, ops.sigmoid(input))


@_public
def relu6(input, inplace=False):
    """min(max(input, 0), 6)."""
    return _written(input, ops.relu6(input), inplace)


@_public
def elu(input, alpha=1.0, inplace=False):
    """input where it is positive, else alpha * (exp(input) - 1)."""
    return _written(input, ops.elu(input, alpha), inplace)


@_public
def elu_(input, alpha=1.0):
    """elu, written into input."""
    return ops.assign(input, ops.elu(input, alpha))


@_public
def gelu(input, *, approximate="none"):
    """input * Phi(input); approximate="tanh" by a tangent."""
    return ops.gelu(input, approximate)


@_public
def glu(input, dim=-1):
    """The first half along `dim` times the sigmoid of the second."""
    return ops.glu(input, dim)


@_public
def hardshrink(input, lambd=0.5):
    """input where abs(input) > lambd, else 0."""
    return ops.hardshrink(input, lambd)


@_public
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input limited to [min_val, max_val]."""
    return _written(input, ops.hardtanh(input, min_val, max_val), inplace)


@_public
def hardtanh_(input, min_val=-1, max_val=1):
    """hardtanh, written into input."""
    return ops.assign(input, ops.hardtanh(input, min_val, max_val))


@_public
def leaky_relu(input, negative_slope=0.01):
    """input where it is positive, else negative_slope * input."""
    return ops.leaky_relu(input, negative_slope)


@_public
def log_softmax(input, dim=None, *, dtype=None):
    """The logarithm of softmax."""
    x = as_operand(input)
    return ops.log_softmax(x if dtype is None else cast_to(x, dtype), _class_axis(x, dim))


@_public
def softmax(input, dim=None, dtype=None):
    """exp(input) divided by its sum along `dim`; None: along axis 0 of 0, 1 or 3 axes, else 1."""
    return ops.softmax(input, _class_axis(input, dim), dtype=dtype)


@_public
def prelu(input, weight):
    """input where it is positive, else weight * input; weight : [1], or [C] for axis 1."""
    return ops.prelu(input, weight)


@_public
def silu(input, inplace=False):
    """input * sigmoid(input)."""
    return _written(input, ops.silu(input), inplace)


@_public
def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * input)) / beta; input where beta * input > threshold."""
    return ops.softplus(input, beta, threshold)


@_public
def softshrink(input, lambd=0.5):
    """input moved by lambd towards 0, and 0 within."""
    return ops.softshrink(input, lambd)


@_public
def threshold(input, threshold, value, inplace=False):
    """input where it is above threshold or NaN, else value."""
    return _written(input, _threshold(input, threshold, value), inplace)


@_public
def threshold_(input, threshold, value):
    """threshold, written into input."""
    return ops.assign(input, _threshold(input, threshold, value))


def _threshold(input, threshold, value):
    return ops.where(ops.less_equal(input, threshold), value, input)


@_public
def dropout(input, p=0.5, training=True, inplace=False):
    """Elements set to 0 with probability p, the others divided by 1 - p."""
    return _written(input, ops.dropout(input, p, training), inplace)


@_public
def dropout2d(input, p=0.5, training=True, inplace=False):
    """Channels of input[N, C, ..] set to 0 with probability p, the others divided by 1 - p."""
    return _written(input, ops.dropout2d(input, p, training), inplace)


# ---------------------------------------------------------------- linear, convolutions, pooling

@_public
def linear(input, weight, bias=None):
    """input @ weight^T + bias."""
    return ops.dense(input, weight, bias)


def _ends(padding):
    """(pad_mode, padding) of the operators."""
    return (padding, 0) if isinstance(padding, str) else ("pad", padding)


@_public
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """1-D convolution of input[N, C, L]; padding is a size, "valid" or "same"."""
    mode, ends = _ends(padding)
    return _batched(lambda x: ops.conv1d(x, weight, bias, stride, mode, ends, dilation, groups), input, 3)


@_public
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """3-D convolution of input[N, C, D, H, W]; padding is sizes, "valid" or "same"."""
    mode, ends = _ends(padding)
    return _batched(lambda x: ops.conv3d(x, weight, bias, stride, mode, ends, dilation, groups), input, 5)


@_public
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of conv2d: weight[C, O/groups, KH, KW]."""
    return _batched(lambda x: ops.conv2d_transpose(x, weight, bias, stride, "pad", padding, output_padding, dilation, groups),
                    input, 4)


def _divisor(name, value):
    if value is not None and not value:
        raise ValueRangeError(f"{name}: divisor_override is not 0")
    return value or 0


@_public
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Means of windows of input[N, C, L]; stride : by default kernel_size."""
    return _batched(lambda x: ops.avg_pool1d(x, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode,
                                             count_include_pad), input, 3)


@_public
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """Means of windows of input[N, C, H, W]; stride : by default kernel_size."""
    return _batched(lambda x: ops.avg_pool2d(x, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode,
                                             count_include_pad, _divisor("avg_pool2d", divisor_override)), input, 4)


@_public
def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """Means of windows of input[N, C, D, H, W]; stride : by default kernel_size."""
    return _batched(lambda x: ops.avg_pool3d(x, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode,
                                             count_include_pad, _divisor("avg_pool3d", divisor_override)), input, 5)


@_public
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest of windows of input[N, C, H, W]; stride : by default kernel_size; with return_indices also where."""
    return _batched(lambda x: ops.max_pool2d(x, kernel_size, kernel_size if stride is None else stride, padding, dilation,
                                             return_indices, ceil_mode), input, 4)


@_public
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """What max_pool2d gave, put back at its indices; zeros elsewhere."""
    return ops.max_unpool2d(input, indices, kernel_size, kernel_size if stride is None else stride, padding, output_size)


@_public
def adaptive_avg_pool1d(input, output_size):
    """Means of output_size windows that cover the last axis."""
    return _batched(lambda x: ops.adaptive_avg_pool1d(x, output_size), input, 3)


@_public
def adaptive_avg_pool2d(input, output_size):
    """Means of output_size windows that cover the last two axes."""
    return _batched(lambda x: ops.adaptive_avg_pool2d(x, output_size), input, 4)


@_public
def adaptive_avg_pool3d(input, output_size):
    """Means of output_size windows that cover the last three axes."""
    return _batched(lambda x: ops.adaptive_avg_pool3d(x, output_size), input, 5)


@_public
def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest of output_size windows that cover the last axis."""
    return _batched(lambda x: ops.adaptive_max_pool1d(x, output_size, return_indices), input, 3)


@_public
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest of output_size windows that cover the last two axes."""
    return _batched(lambda x: ops.adaptive_max_pool2d(x, output_size, return_indices), input, 4)


# ---------------------------------------------------------------- pictures

@_public
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Patches [N, C * k, L] added to pictures of output_size."""
    return _batched(lambda x: ops.fold(x, output_size, kernel_size, dilation, padding, stride), input, 3)


@_public
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The patches [N, C * k, L] of pictures [N, C, H, W]."""
    return _batched(lambda x: ops.unfold(x, kernel_size, dilation, padding, stride), input, 4)


@_public
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Pictures read at the points of a grid; align_corners : None is False."""
    return ops.grid_sample(input, grid, mode, padding_mode, align_corners)


@_public
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """Pictures of another size."""
    return ops.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


@_public
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The same as interpolate."""
    return ops.interpolate(input, size, scale_factor, mode, align_corners)


@_public
def pad(input, pad, mode="constant", value=None):
    """Elements put before and after the last axes, from the last one on; mode : constant, reflect, replicate, circular."""
    return ops.pad(input, pad, mode, 0 if value is None and mode == "constant" else value)


@_public
def pixel_shuffle(input, upscale_factor):
    """[.., C * r * r, H, W] as [.., C, H * r, W * r]."""
    return ops.pixel_shuffle(input, upscale_factor)


# ---------------------------------------------------------------- normalisation and embeddings

@_public
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Batch normalisation of input[N, C, ..]; in training the running moments, if given, are written to."""
    return ops.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_public
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Group normalisation of input[N, C, ..]."""
    return ops.group_norm(input, num_groups, weight, bias, eps)


@_public
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Layer normalisation over the last axes, whose sizes are normalized_shape."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


@_public
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """input divided by its p-norm along `dim`, which counts at least eps."""
    length = ops.vector_norm(input, p, dim, True)
    return input / ops.clamp(length, eps)


@_public
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False):
    """Rows of weight[V, D] at the integers input.

    padding_idx : a row that gets no gradient;      scale_grad_by_freq : a row's gradient is divided by how often it is read
    max_norm    : rows that are read and longer, by the norm norm_type, are made that long in `weight` first
    raises      : IndexRangeError
    """
    index, scale_grad_by_freq = as_operand(input), as_flag("embedding", "scale_grad_by_freq", scale_grad_by_freq)
    weight = as_operand(weight)
    counts: Any = None
    if max_norm is not None or scale_grad_by_freq:
        flat = ops.reshape(index, (-1,))
        counts = ops.index_add(ops.zeros((weight.shape[0],), dtype_of(weight)), flat,
                               ops.ones_like(flat, dtype=dtype_of(weight)), 0)
    if max_norm is not None:
        length = ops.vector_norm(ops.stop_gradient(weight), norm_type, 1, True)
        too_long = ops.logical_and(length > max_norm, ops.unsqueeze(counts > 0, 1))
        ops.assign(weight, weight * ops.where(too_long, max_norm / (length + 1e-7), 1))
    rows = ops.embedding(index, weight, padding_idx)
    if not scale_grad_by_freq:
        return rows
    fixed = ops.stop_gradient(rows)
    return fixed + (rows - fixed) / ops.unsqueeze(ops.gather(counts, index, 0), -1)


@_public
def one_hot(tensor, num_classes=-1):
    """int64[.., num_classes] with ones at the numbers in `tensor`; -1: as many as the largest one needs.

    raises : IndexRangeError for a number outside
    """
    index = as_operand(tensor)
    num_classes = as_size("one_hot", num_classes)
    if num_classes == -1:
        num_classes = as_size("one_hot", ops.amax(index)) + 1
    index = bounded_indices(index, what="one_hot: class", low=0, high=num_classes)
    return ops.one_hot(index, num_classes, 1, 0).astype(dt.int64)


# ---------------------------------------------------------------- losses

@_public
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """-(target * log(input) + (1 - target) * log(1 - input)). raises : ValueRangeError outside [0, 1]"""
    return ops.binary_cross_entropy(input, target, weight, reduction)


@_public
def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    """binary_cross_entropy of sigmoid(input), without overflow."""
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


@_public
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    return ops.cosine_embedding_loss(input1, input2, target, margin, reduction)


@_public
def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The cross entropy between softmax(input[N, C, ..]) and labels [N, ..], or probabilities of input's shape."""
    if dtype_of(as_operand(target)).kind not in "iu":
        loss = ops.cross_entropy(input, target, weight, ignore_index, "none" if reduction == "mean" else reduction,
                                 label_smoothing)
        return ops.mean(loss) if reduction == "mean" else loss
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


@_public
def kl_div(input, target, reduction="mean", log_target=False):
    """target * (log(target) - input), 0 where target is; log_target : target holds logarithms."""
    input, target = as_operand(input), as_operand(target)
    loss = ops.exp(target) * (target - input) if as_flag("kl_div", "log_target", log_target) else \
        ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return ops.sum(loss) / input.shape[0]
    return _reduced("kl_div", loss, reduction)


def _reduced(name, loss, reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueRangeError(f"{name}: reduction is 'none', 'mean' or 'sum', not {reduction!r}")
    return loss if reduction == "none" else ops.mean(loss) if reduction == "mean" else ops.sum(loss)


@_public
def l1_loss(input, target, reduction="mean"):
    """abs(input - target)."""
    return ops.l1_loss(input, target, reduction)


@_public
def mse_loss(input, target, reduction="mean"):
    """(input - target) squared."""
    return ops.mse_loss(input, target, reduction)


@_public
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    """Negative log likelihood of labels under input[N, C, ..], logarithms of probabilities."""
    return ops.nll_loss(input, target, weight, ignore_index, reduction)


@_public
def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    """d * d / (2 beta) where d = abs(input - target) < beta, else d - beta / 2."""
    return ops.smooth_l1_loss(input, target, beta, reduction)


@_public
def soft_margin_loss(input, target, reduction="mean"):
    """log(1 + exp(-target * input)) for targets -1 and 1."""
    return ops.soft_margin_loss(input, target, reduction)


if TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        """The functions that the tables above make."""

"""Layers with Parameters, under torch's arguments and names (weight, bias), and dropout.

    mint.nn.GroupNorm(2, 4).weight  is  nn.GroupNorm(2, 4).gamma       mint.nn.Conv2d pads with 0 and has a bias

The source of each is the class of that name in torch 2; the defaults are those of MindSpore's `mint`, which are torch's.
"""
import math
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, ValueRangeError
from ...common.initializer import HeUniform, Normal, Uniform, initializer
from ...common.tensor import Parameter, Tensor
from ...nn import Cell, Dense
from ...nn.layer.basic import flag, ints, positive_int
from . import functional as F


class Linear(Dense):
    """input @ weight.T + bias, over the last axis.

    in_features, out_features : sizes of the last axis before and after;   bias : is one added?
    """

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=None):
        super().__init__(in_features, out_features, weight_init, bias_init, bias, dtype=dtype or dt.float32)
        self.in_features, self.out_features = in_features, out_features


class _Affine(Cell):
    """Parameters `weight` (ones) and `bias` (zeros) of one shape; None where there are none."""

    def _make(self, shape, weight, bias, dtype):
        dtype = dtype or dt.float32
        self.weight = Parameter(initializer("ones", shape, dtype), name="weight") if weight else None
        self.bias = Parameter(initializer("zeros", shape, dtype), name="bias") if bias else None


class GroupNorm(_Affine):
    """Group normalisation of [N, C, ..] in num_groups groups of channels; weight and bias are [C].

    raises : ValueRangeError where num_channels is no multiple of num_groups
    """

    def __init__(self, num_groups, num_channels, eps=1e-05, affine=True, dtype=None):
        super().__init__()
        self.num_groups = positive_int("GroupNorm", "num_groups", num_groups)
        self.num_channels = positive_int("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueRangeError(f"GroupNorm: {num_channels} channels do not split into {num_groups} groups")
        self.eps, self.affine = eps, flag("GroupNorm", "affine", affine)
        self._make((num_channels,), affine, affine, dtype)

    def construct(self, input):
        return ops.group_norm(input, self.num_groups, self.cast_param(self.weight), self.cast_param(self.bias), self.eps)


class LayerNorm(_Affine):
    """Layer normalisation over the last axes, whose sizes are normalized_shape (an int: the last axis)."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        if not self.normalized_shape:
            raise ValueRangeError("LayerNorm: normalized_shape is empty")
        self.eps, self.elementwise_affine = eps, flag("LayerNorm", "elementwise_affine", elementwise_affine)
        self._make(self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype)

    def construct(self, input):
        return ops.layer_norm(input, self.normalized_shape, self.cast_param(self.weight), self.cast_param(self.bias),
                              self.eps)


class _BatchNorm(_Affine):
    """What BatchNorm1d, 2d and 3d share; `ranks` are the numbers of axes that they take.

    momentum : the weight of the batch's moments in running_mean and running_var (divided by n - 1); None: their mean
    track_running_stats : False: the batch's moments are used always
    """
    ranks: tuple[int, ...] = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, dtype=None):
        super().__init__()
        owner = type(self).__name__
        self.num_features, self.eps, self.momentum = positive_int(owner, "num_features", num_features), eps, momentum
        self.affine, self.track_running_stats = flag(owner, "affine", affine), flag(owner, "track_running_stats",
                                                                                     track_running_stats)
        self._make((num_features,), affine, affine, dtype)
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            for name, init in (("running_mean", "zeros"), ("running_var", "ones")):
                setattr(self, name, Parameter(initializer(init, (num_features,), dtype or dt.float32), name=name,
                                              requires_grad=False))
            self.num_batches_tracked = Parameter(Tensor(0, dt.int64), name="num_batches_tracked", requires_grad=False)

    def construct(self, input):
        if ops.rank(input) not in self.ranks:
            raise ArgumentError(f"{type(self).__name__}: an input of {self.ranks[-1]} axes is wanted, this has {input.ndim}")
        weight, bias = self.cast_param(self.weight), self.cast_param(self.bias)
        if not self.training and self.track_running_stats:
            return F.batch_norm(input, self.running_mean, self.running_var, weight, bias, False, 0.0, self.eps)
        momentum = self.momentum
        if self.track_running_stats:
            count = ops.assign_add(self.num_batches_tracked, 1)
            if momentum is None:
                momentum = 1.0 / count
        return F.batch_norm(input, self.running_mean, self.running_var, weight, bias, True, momentum, self.eps)

    def extend_repr(self):
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, L]; running_mean, running_var, num_batches_tracked."""
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [N, C, H, W]."""
    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of [N, C, D, H, W]."""
    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of [N, C, ..] by the moments of all processes' batches: there is one. raises : ArgumentError for a
    process_group"""
    ranks = (2, 3, 4, 5)

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 dtype=None):
        if process_group is not None:
            raise ArgumentError("SyncBatchNorm: there are no groups of processes here", hint="process_group=None")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)


class _Convolution(Cell):
    """What the convolutions share; `axes` is the number of spatial axes.

    padding : sizes, "valid" or "same";   padding_mode : "zeros", "reflect", "replicate" or "circular"
    weight  : [out, in / groups, ..], uniform as torch has it
    """
    axes = 0

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", dtype=None):
        super().__init__()
        owner, counts = type(self).__name__, (self.axes,)
        self.in_channels = positive_int(owner, "in_channels", in_channels)
        self.out_channels = positive_int(owner, "out_channels", out_channels)
        self.groups = positive_int(owner, "groups", groups)
        if in_channels % groups or out_channels % groups:
            raise ValueRangeError(f"{owner}: {in_channels} and {out_channels} channels do not split into {groups} groups")
        self.kernel_size = ints(owner, "kernel_size", kernel_size, counts)
        self.stride, self.dilation = ints(owner, "stride", stride, counts), ints(owner, "dilation", dilation, counts)
        self.padding: str | tuple[int, ...]
        if isinstance(padding, str):
            if padding not in ("valid", "same"):
                raise ValueRangeError(f"{owner}: padding is sizes, 'valid' or 'same', not {padding!r}")
            self.padding = padding
        else:
            self.padding = ints(owner, "padding", padding, counts, 0)
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueRangeError(f"{owner}: there is no padding_mode {padding_mode!r}")
        self.padding_mode = padding_mode
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self._make(shape, in_channels // groups * math.prod(self.kernel_size), bias, dtype)

    def _make(self, shape, fan, bias, dtype):
        dtype = dtype or dt.float32
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)), shape, dtype), name="weight")
        self.bias = Parameter(initializer(Uniform(1 / math.sqrt(fan)), (self.out_channels,), dtype), name="bias") \
            if flag(type(self).__name__, "bias", bias) else None

    def _ends(self):
        """The padding as `F.pad` takes it: (before, after) of each axis, the last one first."""
        if self.padding == "valid":
            return (0, 0) * self.axes
        ends = []
        for kernel, dilation, size in reversed(list(zip(self.kernel_size, self.dilation, self.padding if isinstance(
                self.padding, tuple) else (None,) * self.axes))):
            whole = dilation * (kernel - 1) if size is None else 2 * size
            ends += [whole // 2, whole - whole // 2]
        return tuple(ends)

    def construct(self, input):
        weight, bias = self.cast_param(self.weight), self.cast_param(self.bias)
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._ends(), self.padding_mode), 0
        return self.convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extend_repr(self):
        return (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"padding={self.padding}, dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}, "
                f"padding_mode={self.padding_mode!r}")


class Conv1d(_Convolution):
    """1-D convolution of [N, C, L]."""
    axes = 1

    def convolve(self, x, weight, bias, stride, padding, dilation, groups):
        """The convolution proper."""
        ends = padding[0] if isinstance(padding, tuple) else padding
        return F.conv1d(x, weight, bias, stride[0], ends, dilation[0], groups)


class Conv2d(_Convolution):
    """2-D convolution of [N, C, H, W]."""
    axes, convolve = 2, staticmethod(F.conv2d)


class Conv3d(_Convolution):
    """3-D convolution of [N, C, D, H, W]."""
    axes, convolve = 3, staticmethod(F.conv3d)


class ConvTranspose2d(_Convolution):
    """The transpose of Conv2d; weight is [in, out / groups, KH, KW]. raises : ValueRangeError for padding_mode but "zeros"."""
    axes = 2

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", dtype=None):
        if padding_mode != "zeros" or isinstance(padding, str):
            raise ValueRangeError("ConvTranspose2d: padding is sizes, and padding_mode 'zeros'")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype)
        self.output_padding = ints("ConvTranspose2d", "output_padding", output_padding, (2,), 0)

    def _make(self, shape, fan, bias, dtype):
        shape = (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        super()._make(shape, self.out_channels // self.groups * math.prod(self.kernel_size), bias, dtype)

    def construct(self, input):
        return F.conv_transpose2d(input, self.cast_param(self.weight), self.cast_param(self.bias), self.stride, self.padding,
                                  self.output_padding, self.groups, self.dilation)


class Embedding(Cell):
    """Rows of weight[num_embeddings, embedding_dim] at integers; see functional.embedding.

    weight  : standard normal, the row padding_idx zeros; or `_weight`, which `_freeze` keeps from training
    raises  : ValueRangeError for a padding_idx outside; ArgumentError for sparse=True, which is Ascend's
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, dtype=None):
        super().__init__()
        self.num_embeddings = positive_int("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = positive_int("Embedding", "embedding_dim", embedding_dim)
        if sparse:
            raise ArgumentError("Embedding: gradients are dense here", hint="sparse=False")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueRangeError(f"Embedding: padding_idx {padding_idx!r} is outside the {num_embeddings} rows")
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        table = initializer(Normal(1.0), (num_embeddings, embedding_dim), dtype or dt.float32) if _weight is None else _weight
        if _weight is None and padding_idx is not None:
            table.asnumpy()[padding_idx] = 0
        self.weight = Parameter(table, name="weight", requires_grad=not _freeze)

    def construct(self, input):
        return F.embedding(input, self.cast_param(self.weight), self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq)

    def extend_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, padding_idx={self.padding_idx}"


class PReLU(Cell):
    """input where it is positive, else weight * input; weight : [num_parameters], of `init`."""

    def __init__(self, num_parameters=1, init=0.25, dtype=None):
        super().__init__()
        self.num_parameters = positive_int("PReLU", "num_parameters", num_parameters)
        self.weight = Parameter(initializer(float(init), (num_parameters,), dtype or dt.float32), name="weight")

    def construct(self, input):
        return F.prelu(input, self.cast_param(self.weight))


class Dropout(Cell):
    """In training elements become 0 with probability p, the others are divided by 1 - p."""
    drop = staticmethod(F.dropout)

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueRangeError(f"{type(self).__name__}: p is a probability, not {p!r}")
        self.p, self.inplace = p, inplace

    def construct(self, input):
        return self.drop(input, self.p, self.training, self.inplace)

    def extend_repr(self):
        return f"p={self.p}"


class Dropout2d(Dropout):
    """In training channels become 0 with probability p, the others are divided by 1 - p."""
    drop = staticmethod(F.dropout2d)

"""Layers of MindSpore's `mint.nn` whose arguments and parameters have other names than those of `nn`: weight and bias.

    mint.nn.GroupNorm(2, 4).weight          nn.GroupNorm(2, 4).gamma
"""
from .. import ops
from ..common import dtype as dt
from ..common.errors import ValueRangeError
from ..common.initializer import initializer
from ..common.tensor import Parameter
from .cell import Cell
from .layer.basic import Dense, flag, positive_int


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
    """Layer normalisation over the last axes, whose sizes are normalized_shape (an int: the last axis alone)."""

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

"""Layers around products: MatMul of two inputs, BiDense with a weight between them, Upsample."""
from __future__ import annotations

from ... import ops
from ...common import dtype as dt
from ...common.dtype import DTypeLike
from ...common.annotations import Floats, Ints
from ...common.errors import ArgumentError
from ...common.initializer import Init, Uniform, initializer
from ...common.tensor import Parameter, Tensor
from ..cell import Cell


class MatMul(Cell):
    """The matrix product of two inputs; a vector counts as a row on the left and a column on the right.

    transpose_x1, transpose_x2 : bool: use the transposed input
    x1, x2 : [.., m, k] and [.., k, n];   output : [.., m, n]
    raises : ShapeError where the sizes do not fit
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1, self.transpose_x2 = bool(transpose_x1), bool(transpose_x2)

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        """x1 @ x2"""
        x1 = ops.swapaxes(x1, -1, -2) if self.transpose_x1 and x1.ndim > 1 else x1
        x2 = ops.swapaxes(x2, -1, -2) if self.transpose_x2 and x2.ndim > 1 else x2
        return ops.matmul(x1, x2)


class BiDense(Cell):
    """out[.., k] = sum_ij input1[.., i] weight[k, i, j] input2[.., j] + bias[k]

    in1_channels, in2_channels, out_channels : sizes;  weight_init, bias_init : initialisers, uniform in
    [-1 / sqrt(in1_channels), 1 / sqrt(in1_channels)] by default;  has_bias: add a bias
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, in1_channels: int, in2_channels: int, out_channels: int, weight_init: Init | None = None,
                 bias_init: Init | None = None, has_bias: bool = True, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        for size in (in1_channels, in2_channels, out_channels):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise ArgumentError(f"BiDense: a number of channels is a positive int, not {size!r}")
        self.in1_channels, self.in2_channels, self.out_channels = in1_channels, in2_channels, out_channels
        self.has_bias = has_bias
        bound = Uniform(in1_channels ** -0.5)
        weight = bound if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight, (out_channels, in1_channels, in2_channels), dtype), name="weight")
        self.bias = Parameter(initializer(bound if bias_init is None else bias_init,
                              (out_channels,), dtype), name="bias") if has_bias else None

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The bilinear form of the last axes."""
        lead = ops.shape(input1)[:-1]
        left = ops.reshape(input1, shape=(-1, self.in1_channels))
        right = ops.reshape(input2, shape=(-1, self.in2_channels))
        middle = ops.matmul(left, self.cast_param(self.weight))
        out = ops.swapaxes((middle * right).sum(-1), 0, 1)
        if self.has_bias:
            out = out + self.cast_param(self.bias)
        return ops.reshape(out, shape=(*lead, self.out_channels))


class Upsample(Cell):
    """Lines, pictures or volumes [N, C, ..] made larger; see ops.interpolate.

    size, scale_factor : one of them; an int or float, or a tuple with one for each axis
    mode               : "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area"
    align_corners      : the first and last points of input and output coincide
    recompute_scale_factor : make the factor anew from the sizes
    raises             : ArgumentError, ValueRangeError, ShapeError for what does not fit together
    """

    def __init__(self, size: Ints | None = None, scale_factor: Floats | None = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ArgumentError("Upsample: either size or scale_factor is wanted")
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = bool(align_corners), bool(recompute_scale_factor)

    def construct(self, x: Tensor) -> Tensor:
        """The larger one."""
        return ops.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

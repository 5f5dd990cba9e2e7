"""Layers around products: MatMul of two inputs, BiDense with a weight between them, Upsample."""
from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError
from ...common.initializer import Uniform, initializer
from ...common.tensor import Parameter
from ..cell import Cell


class MatMul(Cell):
    """The matrix product of two inputs; a vector counts as a row on the left and a column on the right.

    transpose_x1, transpose_x2 : use the transposed input
    """

    def __init__(self, transpose_x1=False, transpose_x2=False):
        super().__init__()
        self.transpose_x1, self.transpose_x2 = bool(transpose_x1), bool(transpose_x2)

    def construct(self, x1, x2):
        """x1 @ x2"""
        x1 = ops.swapaxes(x1, -1, -2) if self.transpose_x1 and x1.ndim > 1 else x1
        x2 = ops.swapaxes(x2, -1, -2) if self.transpose_x2 and x2.ndim > 1 else x2
        return ops.matmul(x1, x2)


class BiDense(Cell):
    """out[.., k] = sum_ij input1[.., i] weight[k, i, j] input2[.., j] + bias[k]

    in1_channels, in2_channels, out_channels : sizes;  weight_init, bias_init : initialisers, uniform in
    [-1 / sqrt(in1_channels), 1 / sqrt(in1_channels)] by default;  has_bias: add a bias
    """

    def __init__(self, in1_channels, in2_channels, out_channels, weight_init=None,
                 bias_init=None, has_bias=True, dtype=dt.float32):
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

    def construct(self, input1, input2):
        """The bilinear form of the last axes."""
        lead = input1.shape[:-1]
        left = ops.reshape(input1, shape=(-1, self.in1_channels))
        right = ops.reshape(input2, shape=(-1, self.in2_channels))
        middle = ops.matmul(left, self.cast_param(self.weight))
        out = ops.swapaxes((middle * right).sum(-1), 0, 1)
        if self.has_bias:
            out = out + self.cast_param(self.bias)
        return ops.reshape(out, shape=(*lead, self.out_channels))


class Upsample(Cell):
    """Pictures [N, C, H, W] made larger: to `size` or by `scale_factor`, mode "nearest" or "bilinear".

    align_corners : the first and last points of input and output coincide
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=False, recompute_scale_factor=False):
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ArgumentError("Upsample: either size or scale_factor is wanted")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, bool(align_corners)

    def construct(self, x):
        """The larger picture."""
        if self.size is not None:
            size = self.size if isinstance(self.size, (tuple, list)) else (self.size, self.size)
        else:
            factor = self.scale_factor if isinstance(self.scale_factor, (tuple, list)) else (self.scale_factor,) * 2
            size = tuple([int(n * f) for n, f in zip(x.shape[2:], factor)])
        return ops.resize(x, size, self.mode, self.align_corners, self.mode == "bilinear" and not self.align_corners)

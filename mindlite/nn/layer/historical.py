"""Layers that MindSpore keeps for programs of earlier versions: one call of an operator each.

They are names of `mindlite.mindspore.nn` only; new programs write the operator.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.annotations import Axes, Ints
from ...common.dtype import DTypeLike
from ...common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell


class Norm(Cell):
    """The Euclidean norm, sqrt(sum(x ** 2)), along axes.

    axis      : int or tuple of ints; () stands for all
    keep_dims : keep the reduced axes with size 1
    x         : float[...]; output : x reduced
    """

    def __init__(self, axis: Axes = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Tensor) -> Tensor:
        axis = None if self.axis == () else self.axis
        return ops.sqrt(ops.reduce_sum(ops.square(x), axis=axis, keepdims=self.keep_dims))


class ClipByNorm(Cell):
    """x * clip_norm / norm where the Euclidean norm is above clip_norm, else x.

    axis      : int, tuple of ints or None (all), along which the norm is taken
    x         : f16[...] or f32[...]; clip_norm : a number as a tensor [], [1] or of a shape that broadcasts to x
    output    : f32, like x
    raises    : ArgumentError for another axis, DTypeError for another dtype
    """

    def __init__(self, axis: Axes = None) -> None:
        super().__init__()
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, (int, tuple))):
            raise ArgumentError(f"ClipByNorm: axis is None, an int or a tuple of ints, not {type(axis).__name__}")
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Tensor) -> Tensor:
        if x.dtype not in (dt.float16, dt.float32):
            raise DTypeError(f"ClipByNorm: x is float16 or float32, not {x.dtype}")
        x, clip_norm = ops.cast(x, dt.float32), ops.cast(clip_norm, dt.float32)
        square = ops.reduce_sum(ops.square(x), axis=self.axis, keepdims=True)
        norm = ops.sqrt(ops.where(square > 0, square, ops.ones_like(square)))
        return x * clip_norm / ops.maximum(ops.where(square > 0, norm, square), clip_norm)


class OneHot(Cell):
    """`ops.one_hot` of indices. depth : size of the new axis; axis : where it stands; dtype : of the output"""

    def __init__(self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0,
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.axis, self.depth, self.on_value, self.off_value, self.dtype = axis, depth, on_value, off_value, dtype

    def construct(self, indices: Tensor) -> Tensor:
        on, off = (ops.full((), value, dtype=self.dtype) for value in (self.on_value, self.off_value))
        return ops.one_hot(indices, self.depth, on, off, self.axis)


class Range(Cell):
    """The numbers start, start + delta, .. below limit; `Range(n)` those from 0 to n - 1. output : i32[n], or f32[n]"""

    def __init__(self, start: float, limit: float | None = None, delta: float = 1) -> None:
        super().__init__()
        if delta == 0:
            raise ValueRangeError("Range: delta must not be 0")
        self.start: Any = 0 if limit is None else start
        self.limit: Any = start if limit is None else limit
        self.delta = delta
        self.dtype = dt.float32 if any(isinstance(number, float) for number in (start, limit, delta)) else dt.int32

    def construct(self) -> Tensor:
        if (self.limit - self.start) * self.delta <= 0:
            return ops.zeros((0,), self.dtype)
        return ops.arange(self.start, self.limit, self.delta, dtype=self.dtype)


class Tril(Cell):
    """The lower triangle of the last two axes; the rest is 0. k : number of the last diagonal that is kept"""

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.tril(x, k)


class Triu(Cell):
    """The upper triangle of the last two axes; the rest is 0. k : number of the first diagonal that is kept"""

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.triu(x, k)


class Roll(Cell):
    """`ops.roll`: elements move by `shift` positions along `axis`, the last ones to the front. shift, axis : int or tuple"""

    def __init__(self, shift: Ints, axis: Ints) -> None:
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.roll(input_x, self.shift, self.axis)


class Moments(Cell):
    """(mean, variance) along axes, the variance over n. axis : int, tuple or None (all); keep_dims : bool or None (no)"""

    def __init__(self, axis: Axes = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis, self.keep_dims = None if axis == () else axis, bool(keep_dims)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.dtype not in (dt.float16, dt.float32):
            raise DTypeError(f"Moments: x is float16 or float32, not {x.dtype}")
        variance, mean = ops.var_mean(ops.cast(x, dt.float32), self.axis, 0, self.keep_dims)
        return ops.cast(mean, x.dtype), ops.cast(variance, x.dtype)


class ReduceLogSumExp(Cell):
    """log(sum(exp(x))) along `axis`, without overflow. axis : int or tuple; () stands for all"""

    def __init__(self, axis: Axes, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = None if axis == () else axis, keep_dims

    def construct(self, x: Tensor) -> Tensor:
        return ops.logsumexp(x, self.axis, self.keep_dims)


class MatrixDiag(Cell):
    """A matrix for each vector of the last axis, with the vector on the diagonal. [.., n] -> [.., n, n]"""

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.diag_embed(input_x)


class MatrixDiagPart(Cell):
    """The diagonal of the last two axes. [.., m, n] -> [.., min(m, n)]"""

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """input_x[.., m, n] with `diagonal`[.., min(m, n)] on the diagonal of the last two axes."""

    def construct(self, input_x: Tensor, diagonal: Tensor) -> Tensor:
        return ops.matrix_set_diag(input_x, diagonal)


class MatInverse(Cell):
    """The inverse of symmetric positive definite matrices. a, output : f32[.., n, n]"""

    def construct(self, a: Tensor) -> Tensor:
        return ops.cholesky_inverse(ops.cholesky(a)) if len(a.shape) == 2 else ops.inverse(a)


class MatDet(Cell):
    """The determinant of symmetric positive definite matrices. a : f32[.., n, n]; output : f32[..]"""

    def construct(self, a: Tensor) -> Tensor:
        return ops.square(ops.prod(ops.diagonal(ops.cholesky(a), 0, -2, -1), -1))


class LGamma(Cell):
    """`ops.lgamma`: the logarithm of the absolute value of the gamma function. x, output : f16[...] or f32[...]"""

    def construct(self, x: Tensor) -> Tensor:
        return ops.lgamma(x)


class DiGamma(Cell):
    """`ops.digamma`: the derivative of lgamma. x, output : f16[...] or f32[...]"""

    def construct(self, x: Tensor) -> Tensor:
        return ops.digamma(x)


class IGamma(Cell):
    """`ops.igamma`: the regularised lower incomplete gamma function P(a, x). a, x, output : f32[...]"""

    def construct(self, a: Tensor, x: Tensor) -> Tensor:
        return ops.igamma(a, x)


class LBeta(Cell):
    """The logarithm of the beta function, lgamma(x) + lgamma(y) - lgamma(x + y). x, y, output : f16[...] or f32[...]"""

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        if x.dtype != y.dtype or x.dtype not in (dt.float16, dt.float32):
            raise DTypeError(f"LBeta: x and y have one dtype, float16 or float32, not {x.dtype} and {y.dtype}")
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)


class L1Regularizer(Cell):
    """scale * sum(abs(weights)). scale : above 0; weights : float[...]; output : f32[] or f64[]

    raises : ArgumentError where scale is no number, ValueRangeError where it is not above 0 or not finite
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        if isinstance(scale, bool) or not isinstance(scale, (int, float)):
            raise ArgumentError(f"L1Regularizer: scale is an int or a float, not {type(scale).__name__}")
        if not 0 < scale < float("inf"):
            raise ValueRangeError(f"L1Regularizer: scale is finite and above 0, not {scale}")
        self.scale = scale

    def construct(self, weights: Tensor) -> Tensor:
        total = ops.reduce_sum(ops.abs(weights))
        return self.scale * (ops.cast(total, dt.float32) if total.dtype == dt.float16 else total)


class ImageGradients(Cell):
    """(dy, dx): the differences of neighbours along height and width; the last row or column is 0. images : [N, C, H, W]"""

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        if len(images.shape) != 4:
            raise ShapeError("ImageGradients: images are [N, C, H, W]", note=f"images: {list(images.shape)}")
        dy, dx = images[:, :, 1:, :] - images[:, :, :-1, :], images[:, :, :, 1:] - images[:, :, :, :-1]
        return (ops.concat((dy, ops.zeros_like(images[:, :, :1, :])), 2),
                ops.concat((dx, ops.zeros_like(images[:, :, :, :1])), 3))


class Unfold(Cell):
    """Windows of pictures along the channels: [N, C, H, W] -> [N, KH * KW * C, OH, OW], element by element of a window.

    ksizes, strides, rates : (1, rows, columns, 1)
    padding : "valid", or "same": zeros around, so that OH = ceil(H / stride)
    raises  : ArgumentError, ValueRangeError for other settings
    """

    def __init__(self, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str = "valid") -> None:
        super().__init__()
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            if not isinstance(value, (tuple, list)):
                raise ArgumentError(f"Unfold: {name} is a tuple or a list, not {type(value).__name__}")
            if len(value) != 4 or value[0] != 1 or value[3] != 1 or not all(isinstance(v, int) and v > 0 for v in value):
                raise ValueRangeError(f"Unfold: {name} is (1, rows, columns, 1) of ints above 0, not {value!r}")
        if not isinstance(padding, str) or padding.lower() not in ("same", "valid"):
            raise ValueRangeError(f'Unfold: padding is "same" or "valid", not {padding!r}')
        self.kernel, self.stride, self.rate = (tuple(value[1:3]) for value in (ksizes, strides, rates))
        self.padding = padding.lower()

    def construct(self, x: Tensor) -> Tensor:
        if len(x.shape) != 4:
            raise ShapeError("Unfold: x is [N, C, H, W]", note=f"x: {list(x.shape)}")
        if self.padding == "same":
            missing = [max((-(-size // s) - 1) * s + (k - 1) * r + 1 - size, 0)
                       for size, s, k, r in zip(x.shape[2:], self.stride, self.kernel, self.rate)]
            (rows, columns) = missing
            x = ops.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
        batch, channels, height, width = x.shape
        out = tuple((size - (k - 1) * r - 1) // s + 1
                    for size, s, k, r in zip((height, width), self.stride, self.kernel, self.rate))
        patches = ops.unfold(x, self.kernel, self.rate, 0, self.stride)
        patches = ops.reshape(patches, (batch, channels, self.kernel[0] * self.kernel[1]) + out)
        return ops.reshape(ops.transpose(patches, (0, 2, 1, 3, 4)), (batch, -1) + out)


class SparseToDense(Cell):
    """The dense tensor of a COOTensor. sparse_tensor : COOTensor; output : Tensor of its shape"""

    def construct(self, sparse_tensor: Any) -> Tensor:
        return sparse_tensor.to_dense()


class SparseTensorDenseMatmul(Cell):
    """A sparse matrix times a dense one. adjoint_st, adjoint_dt : transpose the sparse one, the dense one

    indices : int[N, 2]; values : [N]; sparse_shape : (rows, columns); dense : [columns, K]; output : [rows, K]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        self.product = ops.operations.SparseTensorDenseMatmul(adjoint_st, adjoint_dt)

    def construct(self, indices: Tensor, values: Tensor, sparse_shape: Any, dense: Tensor) -> Tensor:
        return self.product(indices, values, sparse_shape, dense)

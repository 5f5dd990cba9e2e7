"""The reverse of max pooling: values go back to the positions their windows gave, zeros elsewhere; and power-mean pooling.

    values, positions = max_pool2d(x, 2, return_indices=True);    max_unpool2d(values, positions, 2)
"""
from __future__ import annotations

from ..common.annotations import Ints
from ..common.errors import ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_number, as_size
from .basic import reshape
from .creation import zeros
from .define import as_operand, dtype_of
from .indexing import bounded_indices
from .lookup import tensor_scatter_elements
from .nn_pool import avg_pool1d, avg_pool2d


def _unpool(name, x, indices, axes, kernel_size, stride, padding, output_size):
    x, indices = as_operand(x), as_operand(indices)
    if x.ndim not in (axes + 1, axes + 2) or tuple(indices.shape) != tuple(x.shape):
        raise ShapeError(f"{name}: values and positions of {axes + 1} or {axes + 2} axes are wanted, of one shape",
                         note=f"x: {list(x.shape)}, indices: {list(indices.shape)}")
    kernel, step, ends = (tuple(v) if isinstance(v, (tuple, list)) else (v,) * axes
                          for v in (kernel_size, stride or kernel_size, padding))
    lead, spatial = tuple(x.shape[:-axes]), x.shape[-axes:]
    sizes = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(spatial, step, ends, kernel))
    if output_size:
        sizes = tuple(as_size(name, n) for n in output_size)[-axes:]
    plane = 1
    for n in sizes:
        plane = plane * n
    positions = bounded_indices(reshape(indices, shape=lead + (-1,)), what=f"{name}: position", low=0, high=plane)
    out = tensor_scatter_elements(zeros(lead + (plane,), dtype_of(x)), positions, reshape(x, shape=lead + (-1,)), len(lead))
    return reshape(out, shape=lead + sizes)


@planned
def max_unpool1d(x: TensorLike, indices: TensorLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Ints | None = None) -> Tensor:
    """Values put back at the positions from max pooling, in a line of zeros. Where a position occurs twice, one of the values
    stays.

    x           : Tensor [N, C, L] or [C, L];     indices : int like x, positions in the line
    kernel_size : int;     stride : int, None for kernel_size;     padding : int: those of the pooling, which give the size
    output_size : (L,), the size, or None for (L - 1) * stride - 2 * padding + kernel_size
    raises      : ShapeError for other shapes, IndexRangeError for a position outside, DTypeError for indices that are no integers
    """
    return _unpool("max_unpool1d", x, indices, 1, kernel_size, stride, padding, output_size)


@planned
def max_unpool2d(x: TensorLike, indices: TensorLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Ints | None = None) -> Tensor:
    """Values put back at the positions from max pooling, in a plane of zeros. Where a position occurs twice, one of the values
    stays.

    x           : Tensor [N, C, H, W] or [C, H, W];     indices : int like x, positions h * W + w in the plane
    kernel_size : int or two;     stride : the same, None for kernel_size;     padding : the same: those of the pooling
    output_size : (H, W), or None for (n - 1) * stride - 2 * padding + kernel_size along each axis
    raises      : ShapeError for other shapes, IndexRangeError for a position outside, DTypeError for indices that are no integers
    """
    return _unpool("max_unpool2d", x, indices, 2, kernel_size, stride, padding, output_size)


@planned
def max_unpool3d(x: TensorLike, indices: TensorLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Ints | None = None) -> Tensor:
    """Values put back at the positions from max pooling, in a volume of zeros. Where a position occurs twice, one of the values
    stays.

    x           : Tensor [N, C, D, H, W] or [C, D, H, W];     indices : int like x, positions (d * H + h) * W + w in the volume
    kernel_size : int or three;     stride : the same, None for kernel_size;     padding : the same: those of the pooling
    output_size : (D, H, W), or None for (n - 1) * stride - 2 * padding + kernel_size along each axis
    raises      : ShapeError for other shapes, IndexRangeError for a position outside, DTypeError for indices that are no integers
    """
    return _unpool("max_unpool3d", x, indices, 3, kernel_size, stride, padding, output_size)


def _power_mean(pool, x, norm_type, count, *settings):
    if not 0 < as_number("lp_pool", "norm_type", norm_type) < float("inf"):
        raise ValueRangeError(f"lp_pool: norm_type is a finite number above 0, not {norm_type}")
    return (pool(x ** norm_type, *settings) * count) ** (1.0 / norm_type)


@planned
def lp_pool1d(x: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x ** norm_type over each window) ** (1 / norm_type).

    x      : float Tensor [N, C, L] or [C, L]; a negative sum has no root: NaN
    norm_type : float, finite and above 0
    kernel_size, stride : int, 1 or more; stride None is kernel_size
    ceil_mode : bool; True counts a last window that begins inside the axis and ends outside
    out    : Tensor [N, C, L'] or [C, L'] with (n - kernel) // stride + 1 windows along an axis
    raises : ValueRangeError for another norm_type, ShapeError for another rank or a window larger than an axis, DTypeError for
             integers
    """
    x = as_operand(x)
    batch = x if x.ndim == 3 else reshape(x, shape=(1, *x.shape))
    out = _power_mean(avg_pool1d, batch, norm_type, kernel_size, kernel_size, stride, 0, ceil_mode)
    return out if x.ndim == 3 else reshape(out, shape=out.shape[1:])


@planned
def lp_pool2d(x: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x ** norm_type over each window) ** (1 / norm_type).

    x      : float Tensor [N, C, H, W] or [C, H, W]; a negative sum has no root: NaN
    norm_type : float, finite and above 0
    kernel_size, stride : int or two of them, 1 or more; stride None is kernel_size
    ceil_mode : bool; True counts a last window that begins inside the axis and ends outside
    out    : Tensor [N, C, H, W'] or [C, H, W'] with (n - kernel) // stride + 1 windows along an axis
    raises : ValueRangeError for another norm_type, ShapeError for another rank or a window larger than an axis, DTypeError for
             integers
    """
    x = as_operand(x)
    both = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    rows, columns = (as_size("lp_pool2d", n, 1) for n in both)
    batch = x if x.ndim == 4 else reshape(x, shape=(1, *x.shape))
    out = _power_mean(avg_pool2d, batch, norm_type, rows * columns, (rows, columns), stride, 0, ceil_mode)
    return out if x.ndim == 4 else reshape(out, shape=out.shape[1:])

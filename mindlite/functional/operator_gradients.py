"""Gradients of operators as classes, as MindSpore's bprop rules call them: what `vjp` of the operator's own class gives.

    LRNGrad(depth_radius=2)(dout, x, out)  ==  vjp(LRN(depth_radius=2), x)[1](dout)

The order of operands is MindSpore's. Where it asks for the operator's result, that is not read: it follows from the operands.
Those whose formula is shorter than the operator's are in `ops.operations.gradient_ops`.
"""
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.checks import check_positive_float, check_positive_int
from ..common.errors import ShapeError
from ..common.tensor import Tensor
from ..ops import operations as classes
from ..ops.define import dtype_of
from ..ops.operations.define import checking, operation
from .derivative import jvp, vjp


def _gradient(function: Callable[..., Any], x: Any, dout: Any) -> Any:
    """dout, of as many elements as the result, times the derivative of the function at x."""
    out, pull = vjp(function, x)
    made = pull(ops.reshape(dout, out.shape))
    return made[0] if isinstance(made, tuple) else made


def _zeros(shape: Any, like: Any) -> Any:
    """A place of this shape for the gradient of a linear operator, for which no operand matters."""
    return ops.zeros(tuple(shape), dtype_of(like))


# ---------------------------------------------------------------- parts of arrays

def _spread(cut: Callable[..., Any], shape: Sequence[int], dy: Tensor) -> Tensor:
    """An array of 0 with dy at the places that `cut` reads, of any dtype."""
    shape = tuple(shape)
    count = 1
    for size in shape:
        count = count * size
    places = ops.reshape(cut(ops.reshape(ops.arange(count), shape)), (-1, 1))
    return ops.reshape(ops.tensor_scatter_update(_zeros((count,), dy), places, ops.reshape(dy, (-1,))), shape)


@operation
def StridedSliceGrad(dy: Tensor, shapex: Sequence[int], begin: Sequence[int], end: Sequence[int], strides: Sequence[int], *,
                     begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
                     shrink_axis_mask: int = 0) -> Tensor:
    """dy at the places that StridedSlice reads of an array of shape `shapex`, 0 elsewhere."""
    cut = classes.StridedSlice(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return _spread(lambda x: cut(x, begin, end, strides), shapex, dy)


@operation
def SliceGrad(dy: Tensor, x: Tensor, begin: Sequence[int], size: Sequence[int]) -> Tensor:
    """dy at the places that Slice reads of x, 0 elsewhere."""
    return _spread(lambda x: classes.Slice()(x, begin, size), x.shape, dy)


@operation
def PadV3Grad(x: Tensor, paddings: Sequence[int], *, mode: str = "reflect", paddings_contiguous: bool = True) -> Tensor:
    """The gradient of PadV3 for its operand; x is that of the result.

    raises : ShapeError where the result is shorter than what was added
    """
    sizes = [int(size) for size in (paddings.asnumpy().tolist() if isinstance(paddings, Tensor) else paddings)]
    half = len(sizes) // 2
    ends = list(zip(sizes[::2], sizes[1::2])) if paddings_contiguous else list(zip(sizes[:half], sizes[half:]))
    shape = list(x.shape)
    for axis, (before, after) in enumerate(ends):
        shape[-1 - axis] = shape[-1 - axis] - before - after
        if shape[-1 - axis] < 0:
            raise ShapeError("PadV3Grad: the result is shorter than what was added", note=f"{list(x.shape)}, {sizes}")
    return _gradient(lambda v: classes.PadV3(mode, paddings_contiguous)(v, tuple(sizes)), _zeros(shape, x), x)


@operation
def GluGrad(grads: Tensor, x: Tensor, *, axis: int) -> Tensor:
    """The gradient of glu for x."""
    return _gradient(lambda x: ops.glu(x, axis), x, grads)


# ---------------------------------------------------------------- losses, norms, activations

@operation
def BinaryCrossEntropyGrad(input: Tensor, target: Tensor, grad_output: Tensor, weight: Tensor | None = None, *,
                           reduction: str = "mean") -> Tensor:
    """The gradient of BinaryCrossEntropy for its first operand."""
    return _gradient(lambda x: classes.BinaryCrossEntropy(reduction)(x, target, weight), input, grad_output)


@operation
def L2NormalizeGrad(x: Tensor, out: Tensor, dout: Tensor, *, axis: Any = 0, epsilon: float = 1e-4) -> Tensor:
    """The gradient of L2Normalize for x."""
    return _gradient(classes.L2Normalize(axis, epsilon), x, dout)


@operation
def LRNGrad(grads: Tensor, x: Tensor, y: Tensor, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0,
            beta: float = 0.5) -> Tensor:
    """The gradient of LRN for x."""
    return _gradient(classes.LRN(depth_radius, bias, alpha, beta), x, grads)


@operation
def PReLUGrad(dy: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(the gradient of PReLU for x, that for the weight)"""
    _, pull = vjp(ops.prelu, x, weight)
    return pull(dy)


@operation
def CholeskyGrad(x: Tensor, grad: Tensor) -> Tensor:
    """The gradient of Cholesky for the matrix; x is the factor that it gave."""
    return _gradient(ops.cholesky, ops.matmul(x, ops.swapaxes(x, -1, -2)), grad)


# ---------------------------------------------------------------- windows and pictures

@operation
def MaxPool3DGrad(x_origin: Tensor, out_origin: Tensor, grad: Tensor, *, kernel_size: Any = 1, strides: Any = 1,
                  pad_mode: str = "VALID", pad_list: Any = 0, data_format: str = "NCDHW") -> Tensor:
    """The gradient of MaxPool3D for x_origin."""
    return _gradient(classes.MaxPool3D(kernel_size, strides, pad_mode, pad_list, None, data_format), x_origin, grad)


@operation
def MaxPoolGradGrad(origin_input: Tensor, origin_output: Tensor, grad: Tensor, *, kernel_size: Any = 1, strides: Any = 1,
                    pad_mode: str = "VALID", data_format: str = "NCHW") -> Tensor:
    """Of grad, which has the operand's shape, the element at the place of each window's largest one."""
    pool = classes.MaxPool(kernel_size, strides, pad_mode.lower(), data_format)
    return jvp(pool, origin_input, grad)[1]


@operation
def MaxPool3DGradGrad(origin_input: Tensor, origin_output: Tensor, grad: Tensor, *, kernel_size: Any = 1, strides: Any = 1,
                      pad_mode: str = "VALID", data_format: str = "NCDHW") -> Tensor:
    """MaxPoolGradGrad of MaxPool3D."""
    pool = classes.MaxPool3D(kernel_size, strides, pad_mode, 0, None, data_format)
    return jvp(pool, origin_input, grad)[1]


@operation
def ResizeNearestNeighborGrad(grads: Tensor, size: Sequence[int], *, align_corners: bool = False,
                              half_pixel_centers: bool = False) -> Tensor:
    """The gradient of ResizeNearestNeighbor for pictures of `size` (height, width)."""
    resize = classes.ResizeNearestNeighborV2(align_corners, half_pixel_centers)
    height, width = grads.shape[2:]
    return _gradient(lambda x: resize(x, (height, width)), _zeros((*grads.shape[:2], *size), grads), grads)


@operation
def ROIAlignGrad(dy: Tensor, rois: Tensor, xdiff_shape: Sequence[int], *, pooled_height: int, pooled_width: int,
                 spatial_scale: float, sample_num: int = 2) -> Tensor:
    """The gradient of ROIAlign for features of shape `xdiff_shape`."""
    align = classes.ROIAlign(pooled_height, pooled_width, spatial_scale, sample_num)
    return _gradient(lambda x: align(x, rois), _zeros(xdiff_shape, dy), dy)


def _sizes_above_0(value: Any, name: str, owner: str) -> None:
    for size in (value if isinstance(value, tuple) and len(value) == 2 else (value,)):
        check_positive_int(size, name, owner)


@operation
@checking(input_size=_sizes_above_0, spatial_scale=check_positive_float, group_size=check_positive_int,
          output_dim=check_positive_int)
def PSROIPoolingGrad(dy: Tensor, rois: Tensor, *, input_size: Sequence[int], spatial_scale: float, group_size: int,
                     output_dim: int) -> Tensor:
    """The gradient of PSROIPooling for features [N, C, height, width], N that of rois [N, 5, K], C = group_size^2 output_dim.

    input_size : int or (height, width)
    raises     : ArgumentError, ValueRangeError for settings of other classes, or that are not above 0
    """
    pool = classes.PSROIPooling(spatial_scale, group_size, output_dim)
    sizes = (input_size, input_size) if isinstance(input_size, int) else tuple(input_size)
    shape = (rois.shape[0], group_size * group_size * output_dim, *sizes)
    return _gradient(lambda x: pool(x, rois), _zeros(shape, dy), dy)


@operation
def AvgPool2DGrad(grad: Tensor, image: Tensor, kernel_size: Any, stride: Any, padding: Any = 0, ceil_mode: bool = False,
                  count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The gradient of avg_pool2d for pictures like `image`, float[.., C, H, W] of three or four axes; the settings are its."""
    shape = (1,) * (4 - image.ndim) + tuple(image.shape)
    made = _gradient(lambda x: ops.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad,
                                              divisor_override or 0),
                     _zeros(shape, grad), grad)
    return ops.reshape(made, image.shape)


def _upsampled(name: str, mode: str, corners: bool | None, dy: Tensor, input_size: Sequence[int], output_size: Any,
               scales: Any) -> Tensor:
    if output_size is not None and tuple(output_size) != tuple(dy.shape[2:]):
        raise ShapeError(f"{name}: dy is not of the output's size", note=f"dy: {list(dy.shape)}, output_size: {output_size}")
    size: dict[str, Any] = {"size": output_size}
    if output_size is None:
        size = {"scale_factor": tuple(scales), "recompute_scale_factor": False}
    return _gradient(lambda x: ops.interpolate(x, mode=mode, align_corners=corners, **size),
                     ops.zeros(tuple(input_size), dt.dtype(dy.dtype)), dy)


@operation
def UpsampleNearest3DGrad(dy: Tensor, input_size: Sequence[int], output_size: Any = None, scales: Any = None) -> Tensor:
    """The gradient of UpsampleNearest3D for an input of shape `input_size`.

    output_size, scales : one of them is given: the sizes of dy's last three axes, or what those of the input were multiplied by
    raises : ShapeError where dy has another size
    """
    return _upsampled("UpsampleNearest3DGrad", "nearest", None, dy, input_size, output_size, scales)


@operation
def UpsampleTrilinear3DGrad(dy: Tensor, input_size: Sequence[int], output_size: Any = None, scales: Any = None, *,
                            align_corners: bool = False) -> Tensor:
    """UpsampleNearest3DGrad of UpsampleTrilinear3D."""
    return _upsampled("UpsampleTrilinear3DGrad", "trilinear", align_corners, dy, input_size, output_size, scales)

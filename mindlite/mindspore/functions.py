"""Functions that MindSpore has under other names of arguments, or with int32 indices. Imported by name from the table."""
import builtins

import numpy as np

from .. import nn, ops
from ..common import dtype as dt
from ..common.dtype import pytype_to_dtype
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Tensor
from ..ops.operations import Slice
from ..ops.resize import resize
from ..ops.sparse import COOTensor


def _int32(indices):
    return ops.cast(indices, dt.int32)


def argmin(input, axis=None, keepdims=False):
    """The index of the least element along `axis`, or of all: `mindlite.ops.argmin` with int32 indices."""
    return _int32(ops.argmin(input, axis, keepdims))


def argsort(input, axis=-1, descending=False):
    """The order that sorts along `axis`: `mindlite.ops.argsort` with int32 indices."""
    return _int32(ops.argsort(input, axis, descending))


def sort(input_x, axis=-1, descending=False):
    """(the elements in order along `axis`, their indices): `mindlite.ops.sort` with int32 indices."""
    values, indices = ops.sort(input_x, axis, descending)
    return values, _int32(indices)


def topk(input, k, dim=None, largest=True, sorted=True):
    """(the k largest or smallest elements along `dim`, their indices): `mindlite.ops.topk` with int32 indices."""
    values, indices = ops.topk(input, k, dim, largest, sorted)
    return values, _int32(indices)


def i0(input):
    """The modified Bessel function of the first kind of order 0: `mindlite.ops.bessel_i0`."""
    return ops.bessel_i0(input)


def reverse(x, axis):
    """The elements in the other order along the axes, an int or several: `mindlite.ops.flip`."""
    return ops.flip(x, axis)


def tensor_div(x, y):
    """x / y, element by element: `mindlite.ops.div`."""
    return ops.div(x, y)


def row_stack(tensors):
    """Rows on top of each other: `mindlite.ops.vstack`."""
    return ops.vstack(tensors)


def slice(input_x, begin, size):
    """The part of `size` elements from `begin` on, along each axis; a size of -1 goes to the end."""
    return Slice()(input_x, begin, size)


def top_k(input_x, k, sorted=True):
    """(the k largest elements along the last axis, their indices): `mindlite.ops.topk` with int32 indices."""
    return topk(input_x, k, -1, True, sorted)


def true_divide(dividend, divisor):
    """dividend / divisor, element by element: `mindlite.ops.div`."""
    return ops.div(dividend, divisor)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """`mindlite.ops.interpolate`; bicubic without align_corners as MindSpore's CPU computes it: the centres of pixels, the cubic
    of Keys 1981 with a = -1/2 (torch: -3/4), and points outside do not count (torch: the last one is repeated)."""
    if mode != "bicubic" or align_corners or (size is None) == (scale_factor is None) or input.ndim != 4:
        return ops.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
    wanted = size if size is not None else scale_factor
    wanted = tuple(wanted) if isinstance(wanted, (tuple, list)) else (wanted, wanted)
    if size is None:
        wanted = tuple([int(n * factor) for n, factor in zip(input.shape[2:], wanted)])
    if len(wanted) != 2 or min(wanted) < 1 or min(input.shape[2:]) < 1:
        return ops.interpolate(input, wanted, None, mode)             # which says what is wrong
    return resize(input, wanted, "bicubic", False, True)


class Upsample(nn.Upsample):
    """`mindlite.nn.Upsample` by `interpolate` of this module."""

    def construct(self, x):
        """The larger one."""
        corners = self.align_corners or None
        return interpolate(x, self.size, self.scale_factor, self.mode, corners, self.recompute_scale_factor)


def expand_as(input, other):
    """`input` broadcast to the shape of `other`: Tensor.expand_as."""
    return input.expand_as(other)


def type_as(input, other):
    """`input` in the dtype of `other`: Tensor.type_as."""
    return input.type_as(other)


def range(start, end, step, maxlen=1000000):
    """The numbers from start to before end by step, at most `maxlen` of them: `mindlite.ops.arange`.

    raises : ValueRangeError where there would be more
    """
    made = ops.arange(start, end, step)
    if made.shape[0] > maxlen:
        raise ValueRangeError(f"range: {made.shape[0]} numbers are more than maxlen={maxlen}")
    return made


def conv3d_transpose(inputs, weight, pad_mode="valid", padding=0, stride=1, dilation=1, group=1, output_padding=0):
    """The transpose of conv3d, settings in MindSpore's order: `mindlite.ops.conv3d_transpose` without a bias."""
    return ops.conv3d_transpose(inputs, weight, None, stride, pad_mode, padding, output_padding, dilation, group)


def _filled(data, values):
    if not isinstance(data, np.ndarray) or not data.flags.writeable:
        raise ArgumentError("the numbers go into an array that can be written to")
    data[...] = values


def _random_normal(seed, data, mean, sigma):
    """Fill an array with normal numbers; the same ones for the same seed. MindSpore's initialisers call it."""
    _filled(data, np.random.default_rng(seed).normal(mean, sigma, np.shape(data)))


def _random_uniform(seed, data, low, high):
    """Fill an array with numbers between two bounds; the same ones for the same seed."""
    _filled(data, np.random.default_rng(seed).uniform(low, high, np.shape(data)))


def _truncated_normal(seed, data, low, high, mean, sigma):
    """Fill an array with normal numbers of which none lies outside of two bounds, drawn anew until they fit."""
    if low >= high:
        raise ValueRangeError(f"the bounds {low} and {high} leave nothing between them")
    numbers = np.random.default_rng(seed)
    values = numbers.normal(mean, sigma, np.shape(data))
    while (outside := (values < low) | (values > high)).any():
        values[outside] = numbers.normal(mean, sigma, int(outside.sum()))
    _filled(data, values)


def get_indices(tensor):
    """The places of a sparse tensor's values."""
    return tensor.indices


def get_indptr(tensor):
    """Where each row of a CSRTensor begins."""
    return tensor.indptr


def get_values(tensor):
    """The values that a sparse tensor holds."""
    return tensor.values


def get_dense_shape(tensor):
    """The shape of the Tensor that a sparse one stands for."""
    return tensor.shape


def SparseTensor(indices, values, shape):
    """A COOTensor, by its older name. indices : int[N, axes]; values : [N]; shape : tuple of int"""
    return COOTensor(indices, values, shape)


def scalar_to_array(input_x):
    """A number as a Tensor []: `mindlite.ops.scalar_to_tensor` in the number's own dtype."""
    return ops.scalar_to_tensor(input_x, pytype_to_dtype(type(input_x)))


def expand(input_x, size):
    """input_x repeated to the shape `size`, a tuple or a Tensor; -1 keeps a size."""
    return ops.broadcast_to(input_x, tuple(size.tolist()) if isinstance(size, Tensor) else tuple(size))


def randint_like(input, low, high, seed=None, dtype=None):
    """Whole numbers in [low, high) of the shape of `input`, and of its dtype unless `dtype` is given."""
    return ops.randint(low, high, input.shape, seed, dtype=dtype or input.dtype)


def make_sparse_tensor(indices, values, dense_shape):
    """A COOTensor. indices : int[N, axes]; values : [N]; dense_shape : tuple of int"""
    return COOTensor(indices, values, dense_shape)


def make_slice(start, stop, step):
    """slice(start, stop, step)"""
    return builtins.slice(start, stop, step)


def make_range(*ends):
    """range(..)"""
    return builtins.range(*ends)


def tensor_slice(input, begin, size):
    """The part of `size` elements from `begin` on, along each axis; a size of -1 goes to the end."""
    return Slice()(input, begin, size)


def shape_(x):
    """The sizes, a tuple: `mindlite.ops.shape`."""
    return ops.shape(x)

"""Sums, extrema, moments, scans and order along an axis, with torch's names, arguments, defaults and results.

    sum(x, dim=1, keepdim=True)     mean(x, 1, dtype=float64)     max(x, 1) is (values, indices)     std(x) divides by n - 1
"""
from .. import ops
from ..common import dtype as dt
from ..common.dim import product
from ..common.errors import ArgumentError
from ..common.tensor import Tensor
from ..ops.axes import as_flag
from ..ops.define import as_operand, cast_to, dtype_of, is_array
from ..ops.methods import METHODS
from .define import publisher

__all__ = []
_public = publisher(globals())


# ---------------------------------------------------------------- reductions

def _all_axes(dim):
    return None if isinstance(dim, (tuple, list)) and not dim else dim


def _counted(x, dtype):
    """x as it is summed: in `dtype`, integers and bools as int64."""
    x = as_operand(x)
    dtype = dt.int64 if dtype is None and x.dtype.kind in "bui" else dtype
    return x if dtype is None else cast_to(x, dtype)


@_public
def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum along `dim`, an int or several; integers are summed as int64."""
    return ops.sum(input, _all_axes(dim), keepdim, dtype=dtype)


@_public
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of what is no NaN."""
    return METHODS["nansum"](_counted(input, dtype), _all_axes(dim), keepdim, dtype=dtype)


@_public
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product along `dim`; integers are multiplied as int64."""
    return ops.prod(input, dim, keepdim, dtype=dtype)


@_public
def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean along `dim`, an int or several. raises : DTypeError for integers without a dtype"""
    x = as_operand(input)
    if dtype is None and x.dtype.kind in "bui":
        raise ArgumentError(f"mean: of {x.dtype.name} there is none", hint="dtype=mindlite.float32")
    return ops.mean(x if dtype is None else cast_to(x, dtype), _all_axes(dim), keepdim)


@_public
def all(input, dim=None, keepdim=False):
    """True where all elements along `dim` are."""
    return ops.all(input, _all_axes(dim), keepdim)


@_public
def any(input, dim=None, keepdim=False):
    """True where an element along `dim` is."""
    return ops.any(input, _all_axes(dim), keepdim)


@_public
def amax(input, dim=(), keepdim=False):
    """The largest elements along `dim`, an int or several; () is all. Equal ones share the gradient."""
    return ops.amax(input, _all_axes(dim), keepdim)


@_public
def amin(input, dim=(), keepdim=False):
    """The smallest elements along `dim`, an int or several; () is all. Equal ones share the gradient."""
    return ops.amin(input, _all_axes(dim), keepdim)


def _extremum(input, dim, keepdim, other, along, overall, combine):
    if other is not None or isinstance(dim, Tensor) or is_array(dim) and dim.ndim:
        return combine(input, dim if other is None else other)
    return overall(input) if dim is None else along(input, dim, keepdim)


@_public
def max(input, dim=None, keepdim=False, *, other=None):
    """The largest element; with a dim (the largest along it, their indices); of two Tensors the larger elements."""
    return _extremum(input, dim, keepdim, other, ops.max, ops.amax, ops.maximum)


@_public
def min(input, dim=None, keepdim=False, *, other=None):
    """The smallest element; with a dim (the smallest along it, their indices); of two Tensors the smaller elements."""
    return _extremum(input, dim, keepdim, other, ops.min, ops.amin, ops.minimum)


@_public
def argmax(input, dim=None, keepdim=False):
    """Where the largest element is, along `dim` or in all in row-major order."""
    return ops.argmax(input, dim, keepdim)


@_public
def argmin(input, dim=None, keepdim=False):
    """Where the smallest element is, along `dim` or in all in row-major order."""
    return ops.argmin(input, dim, keepdim)


@_public
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(input))) along `dim`, without overflow."""
    return ops.logsumexp(input, dim, keepdim)


@_public
def std(input, dim=None, *, correction=1, keepdim=False):
    """The root of var."""
    return ops.std(input, dim, correction, keepdim)


@_public
def var(input, dim=None, *, correction=1, keepdim=False):
    """The sum of squared distances from the mean, divided by the number less `correction`."""
    return ops.var(input, dim, correction, keepdim)


@_public
def std_mean(input, dim=None, *, correction=1, keepdim=False):
    """(std, mean)"""
    return ops.std_mean(input, dim, correction, keepdim)


@_public
def var_mean(input, dim=None, *, correction=1, keepdim=False):
    """(var, mean)"""
    return ops.var_mean(input, dim, correction, keepdim)


@_public
def median(input, dim=None, keepdim=False):
    """The lower median of all elements; with a dim (the medians along it, their indices)."""
    return ops.median(input, None)[0] if dim is None else ops.median(input, dim, keepdim)


@_public
def kthvalue(input, k, dim=-1, keepdim=False):
    """(the k-th smallest along `dim`, counted from 1, their indices)"""
    return METHODS["kthvalue"](input, k, dim, keepdim)


@_public
def count_nonzero(input, dim=None):
    """How many elements are not zero, along `dim` or in all; int64."""
    return ops.count_nonzero(input, () if dim is None else dim, dtype=dt.int64)


@_public
def norm(input, p="fro", dim=None, keepdim=False, *, dtype=None):
    """The p-norm of the vectors along `dim`, an int or several; None: of all elements."""
    return ops.vector_norm(input, 2 if p == "fro" else p, dim, keepdim, dtype=dtype)


@_public
def histc(input, bins=100, min=0, max=0):
    """How many elements are in each of `bins` equal intervals of [min, max]; 0, 0: from the least to the largest."""
    return ops.histc(input, bins, min, max)


@_public
def bincount(input, weights=None, minlength=0):
    """How often (or with what weight) each of 0, 1, .. is among the integers `input`; the weights of another dtype than float32
    are added as float64."""
    if weights is not None and dtype_of(weights) is not dt.float32:
        weights = cast_to(as_operand(weights), dt.float64)
    return ops.bincount(input, weights, minlength)


@_public
def softmax(input, dim, *, dtype=None):
    """exp(input) divided by its sum along `dim`."""
    return ops.softmax(input, dim, dtype=dtype)


# ---------------------------------------------------------------- scans and order

@_public
def cumsum(input, dim, dtype=None):
    """Sums up to each element along `dim`; integers as int64."""
    return ops.cumsum(_counted(input, dtype), dim)


@_public
def cumprod(input, dim, dtype=None):
    """Products up to each element along `dim`; integers as int64."""
    return ops.cumprod(_counted(input, dtype), dim)


@_public
def cummax(input, dim):
    """(the largest up to each element along `dim`, their indices)"""
    return ops.cummax(input, dim)


@_public
def cummin(input, dim):
    """(the smallest up to each element along `dim`, their indices)"""
    return ops.cummin(input, dim)


@_public
def sort(input, *, dim=-1, descending=False, stable=False):
    """(the elements in order along `dim`, their indices); equal ones stay in their order in any case."""
    as_flag("sort", "stable", stable)
    return ops.sort(input, dim, descending)


@_public
def argsort(input, dim=-1, descending=False, stable=False):
    """The indices of the elements in order along `dim`."""
    as_flag("argsort", "stable", stable)
    return ops.argsort(input, dim, descending)


@_public
def topk(input, k, dim=-1, largest=True, sorted=True):
    """(the k largest or smallest along `dim`, in order, their indices)"""
    return ops.topk(input, k, dim, largest, sorted)


@_public
def searchsorted(sorted_sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    """Where values would be put into the sorted rows."""
    return ops.searchsorted(sorted_sequence, values, out_int32=out_int32, right=right, side=side, sorter=sorter)


@_public
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in rising order; with return_inverse where each element is among them, with return_counts how
    often each occurs; with a dim the different slices along it, in the order of their elements. `sorted` : they always are"""
    x, return_counts = as_operand(input), as_flag("unique", "return_counts", return_counts)
    if dim is None:
        row, order = ops.sort(ops.reshape(x, (-1,)))
    else:
        order = _order_of_slices(x, dim)
        row = ops.index_select(x, dim, order)
    values, run, counts = ops.unique_consecutive(row, True, True, dim)
    made = [values]
    if as_flag("unique", "return_inverse", return_inverse):
        zeros = ops.zeros_like(order)
        inverse = ops.tensor_scatter_elements(zeros, order, run, 0)
        made.append(ops.reshape(inverse, tuple(x.shape)) if dim is None else inverse)
    if return_counts:
        made.append(counts)
    return made[0] if len(made) == 1 else tuple(made)


def _order_of_slices(x, dim):
    """The numbers of the slices of x along dim in lexicographic order. Neighbouring columns are joined into one column of
    ranks until one is left: a sort of all columns for each halving."""
    ranks = ops.reshape(ops.movedim(x, dim, 0), (x.shape[dim], product(x.shape) // x.shape[dim] if x.shape[dim] else 0))
    while True:
        order = ops.argsort(ranks, 0)
        columns = ranks.shape[1]
        if columns < 2:
            return ops.reshape(order[:, :1], (-1,)) if columns else ops.arange(x.shape[dim])
        row = ops.gather_elements(ranks, 0, order)
        steps = ops.cumsum(ops.cast(ops.not_equal(row[1:], row[:-1]), dt.int64), 0)
        dense = ops.concat((ops.zeros((1, columns), dt.int64), steps), 0)
        ranks = ops.tensor_scatter_elements(ops.zeros_like(dense), order, dense, 0)
        even = columns // 2 * 2
        joined = ranks[:, 0:even:2] * x.shape[dim] + ranks[:, 1:even:2]
        ranks = joined if even == columns else ops.concat((joined, ranks[:, even:]), 1)


@_public
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without repetitions of the one before; with the inverse and the counts."""
    return ops.unique_consecutive(input, return_inverse, return_counts, dim)


@_public
def nonzero(input, *, as_tuple=False):
    """The indices of what is not zero: [n, axes], or a tuple of [n]."""
    return ops.nonzero(input, as_tuple=as_tuple)


@_public
def masked_select(input, mask):
    """The elements where the mask is true."""
    return ops.masked_select(input, mask)

"""Methods of Tensor that ask about it, convert it, rearrange it or change it in place: rows of methods.METHODS.

    x.numel()    x.type_as(y)    x.diagonal()    x.add_(y)  ==  assign(x, x + y), and gives x
"""
from __future__ import annotations

import inspect
from typing import Any

from ..common import dtype as dt
from ..common.device import Device, device as device_named
from ..common.dim import compare, product
from ..common.errors import ArgumentError, DeviceError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..mindir.primitive import current_interpreter, planned
from . import (activation, arithmetic, combined, creation, decomposition, elementary, later, linalg, logic, lookup, norms,
               order_statistics, random, reduction, scan, singular, sorted_search, special, structure, whole_numbers)
from .array_methods import select_scatter, slice_scatter
from .axes import as_flag, as_known_int, as_number, as_size, axes_of, normal_axis
from .basic import broadcast_to, cast, reshape
from .define import as_operand, as_update, cast_to, dtype_of
from .diagonal import diag_embed, diagonal as read_diagonal, diagonal_scatter
from .getitem import setitem
from .methods import METHODS, as_method, converting, method, renaming
from .scatter import tensor_scatter_div, tensor_scatter_max, tensor_scatter_min, tensor_scatter_mul, tensor_scatter_sub
from .sort import topk
from .state import assign, identity, size, stop_gradient


# ---------------------------------------------------------------- questions

def _is_floating_point(input: Tensor) -> Any:
    """True for a Tensor of a float dtype, False for integers, bools and complex numbers. input : Tensor"""
    return dtype_of(input).kind == "f"


def _is_complex(input: Tensor) -> Any:
    """True for a Tensor of a complex dtype. input : Tensor"""
    return dtype_of(input).kind == "c"


def _is_signed(self):
    """True for a Tensor whose dtype has negative numbers: not for bool and unsigned integers."""
    return self.dtype.kind not in "bu"


def _numel(input: Any) -> Any:
    """The number of elements of `input`, a Tensor: an int."""
    return size(input)


def _dim(self):
    """The number of axes, an int."""
    return self.ndim


def _stride(self, dim=None):
    """How many elements the next one along an axis is away: a list, or an int for the one axis `dim`.

    dim    : int or None
    raises : ValueRangeError for an axis outside
    """
    steps = [product(self.shape[i + 1:]) for i in range(self.ndim)]
    return steps if dim is None else steps[normal_axis("stride", dim, self.ndim)]


def _is_contiguous(self):
    """True: the elements of a Tensor always stand in row-major order."""
    return True


def _same(self):
    """This Tensor: its elements always stand in row-major order."""
    return self


def _copy(self):
    """A Tensor of its own with the same elements; gradients go through it."""
    return self * 1 if self.dtype is not dt.bool_ else logic.logical_or(self, self)


def _allclose(input: Tensor, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """True where all elements are close: |input - other| <= atol + rtol * |other|.

    input, other : Tensor or number, of any dtype, broadcast together
    rtol, atol   : float, the relative and the absolute tolerance
    equal_nan    : bool; True: NaN is close to NaN
    out          : bool[]
    raises       : ShapeError for shapes that do not broadcast
    """
    return reduction.all(logic.isclose(input, other, rtol, atol, equal_nan))


def _type(self, dtype=None):
    """The name of the dtype, a str; with `dtype` the Tensor converted to it, as astype. dtype : of a Tensor, its name, or None"""
    return repr(self.dtype) if dtype is None else cast(self, dtype=dtype)


def _storage_offset(self):
    """0: a Tensor begins where its memory begins."""
    return 0


def _type_as(self, other):
    """This Tensor converted to the dtype of the Tensor `other`."""
    return cast(self, dtype=other.dtype)


for _name, _function in {
    "is_floating_point": _is_floating_point, "is_complex": _is_complex, "is_signed": _is_signed, "numel": _numel,
    "nelement": _numel, "dim": _dim, "ndimension": _dim, "stride": _stride, "is_contiguous": _is_contiguous,
    "contiguous": _same, "value": _copy, "clone": _copy, "copy": _copy, "detach": stop_gradient,
    "allclose": _allclose, "type": _type,
    "type_as": _type_as, "storage_offset": _storage_offset,
}.items():
    method(_name, _function)
for _name, _dtype in {"bfloat16": dt.bfloat16, "byte": dt.uint8, "short": dt.int16}.items():
    method(_name, converting(_dtype))


METHODS["init_data"] = _same                                 # what a graph computes with has its data
setattr(AnfNode, "init_data", _same)
for _name, _answer in {"has_init": False, "init": None, "init_finished": True, "is_meta": False}.items():
    _told: Any = lambda self, answer=_answer: answer                                 # noqa: E731
    setattr(AnfNode, _name, property(_told, doc=f"{_answer}: it has its data."))
setattr(AnfNode, "itemsize", property(lambda self: self.dtype.numpy.itemsize, doc="Bytes of one element."))
setattr(AnfNode, "nbytes", property(lambda self: self.size * self.dtype.numpy.itemsize, doc="Bytes of all elements."))
setattr(AnfNode, "strides", property(lambda self: tuple([step * self.itemsize for step in _stride(self)]),
                                     doc="Bytes from one element to the next, by axis."))


# ---------------------------------------------------------------- combinations

def _sum_to_size(self, *size):
    """This Tensor summed along the axes that `size` lacks or has as 1: what undoes a broadcast.

    size   : ints, or one tuple of them
    out    : of that shape and of this dtype; integers and bools become int64 where something is summed
    raises : ShapeError where this shape is no broadcast of `size`
    """
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    lead = self.ndim - len(size)

    def misfit():
        return ShapeError(f"sum_to_size: {list(self.shape)} cannot be summed to {list(size)}")
    if lead < 0:
        raise misfit()
    axes = list(range(lead))
    for axis, (s, n) in enumerate(zip(size, self.shape[lead:]), lead):
        if compare("==", s, 1) and not compare("==", n, 1):
            axes.append(axis)
        else:
            require("==", s, n, misfit)
    return reshape(reduction.sum(self, tuple(axes), True), shape=size) if axes else self


def _expand_as(self, other):
    """This Tensor broadcast to the shape of the Tensor `other`. raises : ShapeError where it does not broadcast"""
    return broadcast_to(self, shape=other.shape)


def _aminmax(input: TensorLike, *, axis: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the smallest, the largest element) along `axis`; of all elements where it is None.

    input    : Tensor of any dtype but complex
    axis     : int or None;      keepdims : bool; True: the axis stays, with the size 1
    out      : two Tensors like input without the axis; a NaN is both
    raises   : DTypeError for complex numbers, ShapeError for an empty axis, ValueRangeError for an axis outside
    """
    return reduction.amin(input, axis, keepdims), reduction.amax(input, axis, keepdims)


def _t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or a number as it is.

    input  : Tensor [M, N], [N] or []
    raises : ShapeError for more axes
    """
    if axes_of("t", input) > 2:
        raise ShapeError("t: a tensor of at most two axes is wanted", note=f"shape: {list(input.shape)}")
    return input if input.ndim < 2 else structure.swapaxes(input, 0, 1)


def _adjoint(x: Tensor) -> Tensor:
    """The last two axes exchanged, complex numbers conjugated.

    x      : Tensor [.., M, N] of any dtype;      out : [.., N, M]
    raises : ValueRangeError for fewer than two axes
    """
    turned = structure.swapaxes(x, -1, -2)
    return turned.conj() if x.dtype.kind == "c" else turned


def _inner(input: Tensor, other: Tensor) -> Tensor:
    """The product over the last axes: out[i.., j..] = sum_k input[i.., k] * other[j.., k]; with a number their product.

    input, other : Tensor [.., K] of any dtype but bool, or a number
    out          : of the dtype to which they are promoted
    raises       : ShapeError where the last sizes differ, DTypeError for bool
    """
    input, other = as_operand(input), as_operand(other)
    if not input.ndim or not other.ndim:
        return arithmetic.mul(input, other)
    return linalg.tensor_dot(input, other, ((input.ndim - 1,), (other.ndim - 1,)))


def _rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Turned by k quarters, from the first axis of `dims` to the second; backwards for a negative k.

    input  : Tensor of two axes or more;      k : int;      dims : two ints, two axes
    raises : ArgumentError for another k or dims, ValueRangeError for an axis outside or the same axis twice
    """
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise ArgumentError("rot90: dims are two axes", note=repr(dims))
    first, second = (normal_axis("rot90", axis, axes_of("rot90", input)) for axis in dims)
    if first == second:
        raise ValueRangeError(f"rot90: the two axes are the same, {tuple(dims)}")
    k = as_known_int("rot90", k) % 4
    if k == 2:
        return structure.flip(input, (first, second))
    if k == 0:
        return _copy(input)
    return structure.flip(structure.swapaxes(input, first, second), (first,)) if k == 1 else \
        structure.swapaxes(structure.flip(input, (first,)), first, second)


@planned
def _diff(x: Tensor, n: int = 1, axis: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None) -> Tensor:
    """Each element along `axis` less the one before it, n times.

    x               : Tensor of one axis or more; of bool: whether the two differ
    n               : int >= 0, how often;       axis : int
    prepend, append : Tensor put before and behind x along `axis` first, or None
    out             : like x, shorter by n along the axis
    raises          : ValueRangeError for a negative n or an axis outside, ShapeError for a number or a tensor []
    """
    n = as_known_int("diff", n)
    if n < 0:
        raise ValueRangeError(f"diff: n is not negative, not {n}")
    if not axes_of("diff", x):
        raise ShapeError("diff: a tensor without axes has no differences")
    parts = [p for p in (prepend, x, append) if p is not None]
    x = structure.concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        axis, size = normal_axis("diff", axis, x.ndim), x.shape[axis]
        lead = (slice(None),) * axis
        upper, lower = x[lead + (slice(1, size),)], x[lead + (slice(0, size - 1),)]
        x = logic.not_equal(upper, lower) if x.dtype is dt.bool_ else upper - lower
    return x


def _trace(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: dt.DTypeLike | None = None) -> Tensor:
    """The sum of a diagonal of the matrices that two axes hold.

    offset       : int, 0 the main diagonal, positive ones above it
    axis1, axis2 : int, the axes of the matrices' rows and columns
    dtype        : of the sum, int64 for integers and bools by default
    out          : self without the two axes
    raises       : ShapeError for a tensor of fewer than two axes, ValueRangeError for an axis outside or given twice
    """
    if self.ndim < 2:
        raise ShapeError("trace: a matrix has two axes", note=f"input: {list(self.shape)}")
    return reduction.sum(read_diagonal(self, offset, axis1, axis2), -1, dtype=dtype)


def _diag(self, diagonal=0):
    """A matrix with the vector on its diagonal `diagonal`, or that diagonal of a matrix.

    diagonal : int, 0 the main one, positive ones above it
    out      : of this dtype: [N + |diagonal|, N + |diagonal|] of a vector [N]; of more axes the diagonals of the first two, which
               become the last axis
    raises   : ShapeError for a tensor []
    """
    diagonal = as_size("diag", diagonal)
    if not self.ndim:
        raise ShapeError("diag: a tensor without axes has no diagonal and is none")
    return read_diagonal(self, diagonal) if self.ndim > 1 else diag_embed(self, diagonal)


def _diagflat(input: TensorLike, offset: int = 0) -> Tensor:
    """A matrix whose diagonal `offset` holds all elements of `input` in row-major order.

    input : Tensor of any shape and dtype, N elements
    offset: int, 0 the main diagonal, positive ones above it
    out   : [N + |offset|, N + |offset|] of the same dtype, 0 elsewhere
    """
    return diag_embed(reshape(as_operand(input), shape=(-1,)), offset)


def _matrix_power(input: Tensor, n: int) -> Tensor:
    """The product of n matrices `input`, by repeated squares; of the inverse for a negative n, the identity for 0.

    input  : Tensor [.., N, N] of a dtype that matmul takes; floats for a negative n
    n      : int
    out    : like input
    raises : ShapeError for what is no square matrix, ArgumentError for another n, DTypeError for bool
    source : Knuth, The Art of Computer Programming, volume 2, section 4.6.3, Algorithm A
    """
    n = as_known_int("matrix_power", n)
    if axes_of("matrix_power", input) < 2 or compare("==", *input.shape[-2:]) is False:
        raise ShapeError("matrix_power: takes square matrices", note=f"input: {list(input.shape)}")
    if n == 0:
        return broadcast_to(creation.eye(input.shape[-1], dtype=input.dtype), shape=input.shape)
    square: Any = decomposition.inverse(input) if n < 0 else input
    out: Any = None
    n = abs(n)
    while n:
        if n % 2:
            out = square if out is None else linalg.matmul(out, square)
        n //= 2
        square = linalg.matmul(square, square) if n else square
    return _copy(input) if out is input else out


@planned
def _kthvalue(input: Tensor, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th smallest element along `axis`, its index int64); NaN counts as the largest. Of equals the first has the lower k.

    input    : Tensor of any dtype but complex
    k        : int in [1, the size of the axis];      axis : int
    keepdims : bool; True: the axis stays, with the size 1
    raises   : ValueRangeError for a k or an axis outside, DTypeError for complex numbers
    """
    k, axis = as_size("kthvalue", k), normal_axis("kthvalue", axis, axes_of("kthvalue", input))
    keepdims = as_flag("kthvalue", "keepdims", keepdims)
    values, indices = input.sort(axis)
    if not input.ndim:
        values, indices = (reshape(x, shape=(1,)) for x in (values, indices))
    size = values.shape[axis]
    error = lambda: ValueRangeError(f"kthvalue: k is {k}", hint=f"k is in [1, {size}]")  # noqa: E731
    require(">=", k, 1, error)
    require("<=", k, size, error)
    at = (slice(None),) * axis + (slice(k - 1, k) if keepdims and input.ndim else k - 1,)
    return values[at], indices[at]


def _scatter(input: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with out[i][index[i][j]] = src[i][j] (for axis 1): elements put at indices along `axis`.

    input  : Tensor of any dtype
    axis   : int
    index  : int[...] of as many axes as input, along the others not larger; where a position occurs twice, the last src counts
    src    : number, or Tensor that broadcasts to the shape of index, or is larger: then its first elements count; it is
             converted to the dtype of input
    raises : DTypeError for an index that is no integer, IndexRangeError for one outside, ShapeError
    """
    index = as_operand(index)
    if dtype_of(input).kind == "b" and isinstance(src, (int, float, complex)):
        src = bool(src)                                      # as torch: a number that is not 0 is True
    src = lookup.first_elements(as_update("scatter", src, dtype_of(input)), index.shape)
    return lookup.tensor_scatter_elements(input, index, broadcast_to(src, shape=index.shape), axis)


@planned
def _fmax(input: TensorLike, other: TensorLike) -> Tensor:
    """The larger of both elements; where one is NaN, the other.

    input, other : Tensor or number, of any dtype but complex, broadcast together
    out          : of the dtype to which they are promoted
    raises       : DTypeError for complex numbers, ShapeError for shapes that do not broadcast
    """
    return logic.where(logic.isnan(input), other, logic.where(logic.isnan(other), input, arithmetic.maximum(input, other)))


@planned
def _fmin(input: TensorLike, other: TensorLike) -> Tensor:
    """The smaller of both elements; where one is NaN, the other.

    input, other : Tensor or number, of any dtype but complex, broadcast together
    out          : of the dtype to which they are promoted
    raises       : DTypeError for complex numbers, ShapeError for shapes that do not broadcast
    """
    return logic.where(logic.isnan(input), other, logic.where(logic.isnan(other), input, arithmetic.minimum(input, other)))


@planned
def _cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of the rows of `input`: out[i, j] = sum_k w[k] (x[i, k] - mean_i) conj(x[j, k] - mean_j) / (sum of w -
    correction).

    input      : Tensor [variables, observations], or [observations], which gives a number []; integers count as float32
    correction : int: 1 for the unbiased estimate, 0 for the mean
    fweights   : int[observations], how often each observation counts, or None
    aweights   : float[observations], the weight of each observation, or None; the correction is then scaled, as in numpy.cov
    out        : [variables, variables]; inf or NaN where the weights leave nothing to divide by
    raises     : ShapeError for more axes or other weights
    """
    if axes_of("cov", input) > 2:
        raise ShapeError("cov: a matrix or a vector is wanted", note=f"input: {list(input.shape)}")
    if input.dtype.kind in "bui":
        input = cast(input, dtype=dt.float32)
    x = input if input.ndim > 1 else reshape(input, shape=(1, -1))
    count = x.shape[1] if fweights is None else reduction.sum(fweights)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        centred, total = x - x.mean(1, True), count
        out = linalg.matmul(centred, _adjoint(centred)) / max(total - as_number("cov", "correction", correction), 0)
    else:
        total = reduction.sum(weights)
        centred = x - reduction.sum(x * weights, 1, True) / total
        scale = total if correction == 0 else total - correction if aweights is None else \
            total - correction * reduction.sum(weights * aweights) / total
        out = linalg.matmul(centred * weights, _adjoint(centred)) / scale
    return out if input.ndim > 1 else reshape(out, shape=())


def _new_full(self, size, fill_value, *, dtype=None):
    """A Tensor of the shape `size` (an int or a tuple of ints) that holds `fill_value`, a number, everywhere.

    dtype  : of it, None for that of this Tensor;      raises : ShapeError for a negative size, DTypeError for what is no dtype
    """
    return creation.full(size, fill_value, dtype=dtype or self.dtype)


def _new_empty(self, size, dtype=None):
    """As new_zeros: a Tensor of the shape `size`, an int or a tuple of ints, and of `dtype` or of that of this Tensor."""
    return creation.zeros(size, dtype or self.dtype)


for _name, _function in {
    "sum_to_size": _sum_to_size, "expand_as": _expand_as, "aminmax": _aminmax, "t": _t, "adjoint": _adjoint,
    "inner": _inner,
    "rot90": _rot90, "diff": _diff,
    "diagflat": _diagflat, "matrix_power": _matrix_power, "kthvalue": _kthvalue,
    "median": order_statistics.median, "nanmedian": order_statistics.nanmedian,
    "quantile": order_statistics.quantile, "nanquantile": order_statistics.nanquantile,
    "scatter": _scatter, "fmax": _fmax, "fmin": _fmin, "cov": _cov,
    "addmv": linalg.addmv, "norm": norms.norm, "baddbmm": linalg.baddbmm, "diag": _diag,
    "diagonal": read_diagonal, "diagonal_scatter": diagonal_scatter, "diag_embed": diag_embed,
    "trace": _trace, "deg2rad": combined.deg2rad, "rad2deg": combined.rad2deg, "heaviside": combined.heaviside,
    "float_power": combined.float_power, "isposinf": combined.isposinf, "isneginf": combined.isneginf,
    "isreal": combined.isreal, "ldexp": combined.ldexp, "logaddexp2": combined.logaddexp2, "nansum": combined.nansum,
    "nanmean": combined.nanmean, "positive": combined.positive, "sinc": combined.sinc, "xlogy": combined.xlogy,
    "frac": arithmetic.frac, "hardshrink": activation.hardshrink, "mod": arithmetic.remainder, "sgn": arithmetic.sign,
    "csign": arithmetic.sign, "squared_difference": combined.squared_difference, "rsqrt": elementary.rsqrt,
    "multinomial": random.multinomial, "bernoulli": random.bernoulli,
    "new_full": _new_full, "new_empty": _new_empty,
    "scatter_sub": tensor_scatter_sub, "scatter_mul": tensor_scatter_mul, "scatter_div": tensor_scatter_div,
    "scatter_max": tensor_scatter_max, "scatter_min": tensor_scatter_min,
}.items():
    method(_name, renaming(_function))


for _class in Tensor, AnfNode:
    setattr(_class, "mT", property(lambda self: structure.swapaxes(self, -1, -2), doc="The last two axes exchanged."))
    setattr(_class, "mH", property(_adjoint, doc="The last two axes exchanged, conjugated."))
    setattr(_class, "H", property(_adjoint, doc="The transpose of a matrix, conjugated."))


# ---------------------------------------------------------------- in place

_DEGREES = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _written(name, self, value):
    if _DEGREES[value.dtype.kind] > _DEGREES[self.dtype.kind]:
        raise DTypeError(f"{name}: a result of {value.dtype.name} is not written into a Tensor of {self.dtype.name}",
                         hint=f"convert x first: x.astype(mindlite.{value.dtype.name})")
    assign(self, value)
    return self


def in_place(name, function):
    """The method `name`, which writes what `function` gives into the Tensor, and gives the Tensor."""
    def call(self, *args, **attrs):
        return _written(name, self, function(self, *args, **attrs))
    return call


IN_PLACE = """x.{0}_(..) writes what x.{0}(..) gives into x, and gives x, whose shape and dtype stay.

raises : ShapeError for a result of another shape; DTypeError for a float result where x holds integers or bools, for a complex
         one where x is real
"""


def documented(function, name, operator):
    """`function`, which has the docstring of an operator as the method `name`."""
    setattr(function, "__wrapped__", operator)
    doc = as_method(name, operator)
    function.__name__, function.__qualname__ = name, f"Tensor.{name}"
    function.__doc__ = f"{IN_PLACE.format(name[:-1])}\n{inspect.cleandoc(doc)}" if name.endswith("_") else doc
    return function


def _copy_(self, src, non_blocking=False):
    """Write the elements of `src` into this Tensor, which is given.

    src          : Tensor or number that broadcasts to this shape; it is converted to this dtype
    non_blocking : bool; says nothing here, as what reads the Tensor waits for it
    raises       : ShapeError for another shape
    """
    assign(self, broadcast_to(cast_to(as_operand(src), self.dtype), shape=self.shape))
    return self


def _zero_(self):
    """Write zeros into this Tensor, which is given."""
    return self.fill_(0)


def _normal_(self, mean=0, std=1, *, generator=None):
    """Write normal numbers into this Tensor, which is given.

    mean, std : numbers or Tensors that broadcast to this shape
    generator : a Generator, from whose stream they are drawn, or None for the global one
    raises    : DTypeError for a Tensor of integers
    """
    drawn = random.standard_normal(self.shape, generator, dtype=self.dtype if self.dtype.kind == "f" else dt.float32)
    return _written("normal_", self, cast_to(drawn, drawn.dtype) * std + mean)


def _scatter_add_(self, dim, index, src):
    """Add src[i][j] to x[i][index[i][j]] (for dim 1) in this Tensor, which is given.

    dim    : int;      index : int[...] of as many axes as x
    src    : Tensor of the shape of index, or larger: then its first elements count
    raises : DTypeError for an index that is no integer, IndexRangeError for one outside, ShapeError
    """
    return _written("scatter_add_", self, lookup.scatter_add(self, dim, index, src))


for _name, _function in {"copy_": _copy_, "zero_": _zero_, "normal_": _normal_, "scatter_add_": _scatter_add_}.items():
    method(_name, _function)


def _index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """`input` with `values` at the positions that `indices` name, as input[indices] = values puts them.

    input      : Tensor of any dtype
    indices    : tuple of int[...], one for each of the first axes, broadcast together; of bool[...] where not accumulated
    values     : number, or Tensor that broadcasts to the positions; it is converted to the dtype of input
    accumulate : bool; True: values are added to what is there, all of them where a position occurs twice
    raises     : ArgumentError where indices are no tuple or list, DTypeError for those of another dtype, IndexRangeError and
                 ShapeError
    """
    if not isinstance(indices, (tuple, list)):
        raise ArgumentError(f"index_put: indices are a tuple of Tensors, not {type(indices).__name__}")
    if not accumulate:
        return setitem(input, tuple(indices), values)
    positions = structure.stack(structure.broadcast_tensors(*indices), -1)
    return lookup.tensor_scatter_add(input, positions, broadcast_to(cast_to(as_operand(values), input.dtype), shape=tuple(
        positions.shape[:-1]) + tuple(input.shape[positions.shape[-1]:])))


method("index_put", _index_put)


# ---------------------------------------------------------------- what families that are imported later have

class _Later:
    """A method that is a function of a family that is imported when the method is used or looked at; then it takes its place."""

    def __init__(self, name, make):
        self.name, self.make = name, make

    def __get__(self, tensor, cls):
        function = self.make()
        setattr(Tensor, self.name, function)
        return function if tensor is None else function.__get__(tensor, cls)


def _later(name, operator, make):
    """The method `name`: `make(operator)` once the family of the operator is there."""
    def made():
        return documented(make(later.find(operator)), name, later.find(operator))

    def call(self, *args, **attrs):
        return made()(self, *args, **attrs)
    method(name, call)
    setattr(Tensor, name, _Later(name, made))


def _itemset(self, *args):
    """This Tensor with one element replaced: x.itemset(value) of the one it has, x.itemset(7, value) in row-major order, or
    x.itemset((0, 1), value).

    args   : the position, an int or a tuple of ints, and the value, a number or a Tensor []
    raises : ArgumentError without a value, IndexRangeError for a position outside
    """
    if not 1 <= len(args) <= 2:
        raise ArgumentError("itemset: takes a place and a value", note=f"{len(args)} arguments were given")
    *at, value = args
    index = at[0] if at else (0,) * self.ndim
    if isinstance(index, int):
        return reshape(setitem(reshape(self, shape=(-1,)), index, value), shape=tuple(self.shape))
    return setitem(self, tuple(index), value)


def _argmax_with_value(self, axis=0, keep_dims=False):
    """(the largest element along `axis`, its index int64), as ops.max(x, axis, keep_dims).

    axis   : int, or None for all elements;      keep_dims : bool; True: the axis stays, with the size 1. None leaves no axis
    raises : DTypeError for complex numbers, ShapeError for an empty axis, ValueRangeError for an axis outside
    """
    return reduction.max(self, axis, keep_dims and axis is not None)


def _argmin_with_value(self, axis=0, keep_dims=False):
    """(the smallest element along `axis`, its index int64), as ops.min(x, axis, keep_dims).

    axis   : int, or None for all elements;      keep_dims : bool; True: the axis stays, with the size 1. None leaves no axis
    raises : DTypeError for complex numbers, ShapeError for an empty axis, ValueRangeError for an axis outside
    """
    return reduction.min(self, axis, keep_dims and axis is not None)


def _top_k(self, k, sorted=True):
    """(values, indices int64) of the k largest elements along the last axis, the largest first.

    k      : int;      sorted : bool; says nothing, as they always stand in order
    raises : ValueRangeError unless 0 <= k <= the size of the axis, DTypeError for complex numbers
    """
    return topk(self, k)


for _name in ("bincount cauchy choose eig eigvals exponential fill_diagonal fills geqrf gumbel_softmax hfft histc igamma igammac "
              "index_copy index_fill log_normal lstsq lu_solve lu_unpack masked_scatter matrix_exp mvlgamma nextafter orgqr "
              "ormqr put qr random_categorical reverse_sequence stft unique_consecutive unravel_index").split():
    _later(_name, _name, renaming)
_later("resize", "resized", renaming)
for _name in "index_copy index_fill masked_scatter fill_diagonal put exponential".split():
    _later(_name + "_", _name, lambda operator, name=_name + "_": in_place(name, renaming(operator)))
for _name, _function in {
    "gcd": whole_numbers.gcd, "lcm": whole_numbers.lcm, "xdivy": combined.xdivy, "searchsorted": sorted_search.searchsorted,
    "unique_with_pad": sorted_search.unique_with_pad, "svd": singular.svd, "logcumsumexp": scan.logcumsumexp,
    "i0": special.bessel_i0, "matrix_determinant": decomposition.det, "log_matrix_determinant": decomposition.slogdet,
    "reverse": structure.flip, "soft_shrink": activation.softshrink, "pinv": norms.pinv,
    "argmax_with_value": _argmax_with_value, "argmin_with_value": _argmin_with_value, "itemset": _itemset, "top_k": _top_k,
}.items():
    method(_name, renaming(_function))
for _name in ("add sub mul div floor_divide remainder pow exp log tanh floor sqrt neg abs sigmoid relu clamp masked_fill fill "
              "index_add scatter nan_to_num uniform index_put sign erfinv addmm").split():
    method(_name + "_", documented(in_place(_name + "_", METHODS[_name]), _name + "_", METHODS[_name]))

# What MindSpore has as functions too, under the method's name.
FUNCTIONS = {
    "numel": _numel, "is_floating_point": _is_floating_point, "is_complex": _is_complex, "aminmax": _aminmax, "t": _t,
    "adjoint": _adjoint, "inner": _inner, "rot90": _rot90, "diff": _diff, "select_scatter": select_scatter,
    "slice_scatter": slice_scatter, "diagflat": _diagflat, "matrix_power": _matrix_power, "kthvalue": _kthvalue,
    "median": order_statistics.median, "nanmedian": order_statistics.nanmedian,
    "quantile": order_statistics.quantile, "nanquantile": order_statistics.nanquantile,
    "fmax": _fmax, "fmin": _fmin, "cov": _cov, "scatter": _scatter, "index_put": _index_put,
    "allclose": _allclose, "detach": stop_gradient}


# ---------------------------------------------------------------- devices

def _is_no_dtype(wanted):
    try:
        return isinstance(wanted, str) and dt.dtype(wanted) is None
    except DTypeError:
        return True


def _to(self, *args, device=None, dtype=None, non_blocking=False, copy=False):
    """x.to(dtype), x.to(device, dtype), x.to(other): converted, and moved. What is asked for already is given as it is.

    args         : a device, a dtype, both in this order, or a Tensor whose dtype and device are wanted
    device       : "CPU" or another device that is here;      dtype : of a Tensor
    copy         : bool; True: a new Tensor in any case
    non_blocking : bool; MindSpore's: what reads the result waits for it
    In a compiled function tensors lie where its kernels run, and the device is only looked at.

    raises : ArgumentError, ValueRangeError for what is no device, DeviceError for a device that is missing here
    """
    for wanted in args:
        if isinstance(wanted, (Tensor, AnfNode)) and len(args) == 1:
            dtype = wanted.dtype if dtype is None else dtype
            device = wanted.device_of if device is None and isinstance(wanted, Tensor) else device
        elif device is None and (isinstance(wanted, Device) or _is_no_dtype(wanted)):
            device = wanted
        elif dtype is None and wanted is not None:
            dtype = wanted
        elif wanted is not None:
            raise ArgumentError(f"Tensor.to: takes a device and a dtype, a dtype or a Tensor, not {args!r}")
    target = None if device is None else device_named(device, "Tensor.to")
    out = self if dtype is None else cast(self, dtype=dtype)
    if target is not None and isinstance(out, Tensor) and out.device_of != target:
        watches = getattr(current_interpreter(), "watches", None)
        if watches is not None and watches(out):
            raise DeviceError("Tensor.to: gradients of single operators do not go from one device to another",
                              hint="move it before the gradient is made, or compile the function: ms.jit")
        out = out.moved_to(target)
    return identity(out) if copy and out is self else out


def _move_to(self, to, blocking=True):
    """The Tensor on the device `to`, a str; this one if it lies there.

    blocking : bool; says nothing, as what reads the result waits for it
    raises   : ValueRangeError for what is no device, DeviceError for a device that is missing here
    """
    return self.to(device=to)


method("to", _to)
method("move_to", _move_to)

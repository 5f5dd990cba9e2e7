"""Running sums, products and extrema along an axis.

    cumsum([1, 2, 3])  ->  [1, 3, 6]        exclusive: [0, 1, 3]        reverse: [6, 5, 3]

The transpose of a running sum is the running sum from the other end; so gradients stay scans (Blelloch 1990).
"""
from __future__ import annotations

import numpy as np

from ..common import dtype as dt
from ..common.dim import compare, dim_min
from ..common.dtype import DTypeLike
from ..common.errors import DTypeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive, vmap_rule
from .axes import normal_axis
from .basic import batched, cast, move_batch_axis, reshape
from .define import as_operand, conjugate, dtype_of
from .elementary import exp
from .indexing import gather_elements_axis, scatter_elements_add
from .logic import equal, where
from .sbp import letters, sbp_rule
from .slicing import take_range, zeros_like_shape
from .structure import concat


def _along(name):
    """The `prepare` of a scan that users call `name`."""
    def prepare(args, attrs):
        x = as_operand(args[0])
        attrs = {**attrs, "axis": normal_axis(name, attrs["axis"], x.ndim)}
        return (x,), {name: value if name == "axis" else bool(value) for name, value in attrs.items()}
    return prepare


@primitive(prepare=_along("cumsum"), traits={"library"})
def cumulative_sum(x, *, axis, exclusive=False, reverse=False):
    """out[i] = sum of x[j] for j <= i along `axis`; j < i if exclusive; from the other end if reverse.

    bool counts as int64
    """


@primitive(prepare=_along("cumprod"), traits={"library"})
def cumulative_product(x, *, axis, exclusive=False, reverse=False):
    """out[i] = product of x[j] for j <= i along `axis`; j < i if exclusive; from the other end if reverse.

    gradient: exact in every order where elements are 0 too, since nothing is divided
    """


def _infer(x, *, axis, **attrs):
    return AbstractTensor(dt.int64 if x.dtype is dt.bool_ else x.dtype, x.shape)


def _scan(x, axis, exclusive, reverse, function, neutral):
    own = dt.dtype(x.dtype)
    wanted = np.dtype(np.int64) if x.dtype == bool else x.dtype
    if x.ndim == 0 or compare("==", x.shape[axis], 1):
        return np.full(x.shape, neutral, wanted) if exclusive else x.astype(wanted)
    y = np.flip(x, axis) if reverse else x
    with np.errstate(all="ignore"):
        y = function(y, axis=axis, dtype=own.compute.numpy if own.is_small else wanted)
    if exclusive and y.shape[axis]:
        first = np.full(y.shape[:axis] + (1,) + y.shape[axis + 1:], neutral, y.dtype)
        y = np.concatenate([first, np.delete(y, -1, axis)], axis)
    return np.ascontiguousarray(np.flip(y, axis) if reverse else y).astype(wanted)


@eval_rule(cumulative_sum)
def cumulative_sum_eval(x, *, axis, exclusive, reverse):
    return _scan(x, axis, exclusive, reverse, np.cumsum, 0)


@eval_rule(cumulative_product)
def cumulative_product_eval(x, *, axis, exclusive, reverse):
    return _scan(x, axis, exclusive, reverse, np.cumprod, 1)


@bprop_rule(cumulative_sum)
def cumulative_sum_bprop(x, out, dout, *, axis, exclusive, reverse):
    if not x.dtype.is_differentiable:
        return None
    return cumulative_sum(dout, axis=axis, exclusive=exclusive, reverse=not reverse)


@jvp_rule(cumulative_sum)
def cumulative_sum_jvp(primals, tangents, out, **attrs):
    return cumulative_sum(tangents[0], **attrs)


# ---------------------------------------------------------------- linear recurrences, the gradient of a running product

def _recurrence_prepare(args, attrs):
    return tuple(map(as_operand, args)), attrs


@primitive(prepare=_recurrence_prepare, traits={"library"})
def linear_recurrence(a, d, *, axis, reverse):
    """out[k] = d[k] + a[k] * out[k - 1] along `axis`, from the other end if reverse; the first a is not read.

    a, d : numbers of one dtype and shape;   out : like them
    """


@infer_rule(linear_recurrence)
def linear_recurrence_infer(a, d, *, axis, reverse):
    return d


@eval_rule(linear_recurrence)
def linear_recurrence_eval(a, d, *, axis, reverse):
    if d.ndim == 0 or not d.shape[axis]:
        return d.copy()
    a, out = np.moveaxis(a, axis, 0), np.array(np.moveaxis(d, axis, 0))
    order = range(len(out) - 1, -1, -1) if reverse else range(len(out))
    with np.errstate(all="ignore"):
        for before, k in zip(order, order[1:]):
            out[k] += a[k] * out[before]
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def _moved(x, axis, reverse):
    """x one place on along the axis (back if reverse), a zero where it begins."""
    if x.ndim == 0:
        return zeros_like_shape(x)
    edge = zeros_like_shape(take_range(x, axis, 0, dim_min(x.shape[axis], 1)))
    if reverse:
        return concat([take_range(x, axis, dim_min(x.shape[axis], 1), x.shape[axis]), edge], axis)
    return concat([edge, take_range(x, axis, 0, x.shape[axis] - dim_min(x.shape[axis], 1))], axis)


@bprop_rule(linear_recurrence)
def linear_recurrence_bprop(a, d, out, dout, *, axis, reverse):
    slope = linear_recurrence(_moved(conjugate(a), axis, not reverse), dout, axis=axis, reverse=not reverse)
    return slope * conjugate(_moved(out, axis, reverse)), slope


@jvp_rule(linear_recurrence)
def linear_recurrence_jvp(primals, tangents, out, *, axis, reverse):
    da, dd = tangents
    moving = None if da is None else da * _moved(out, axis, reverse)
    change = moving if dd is None else dd if moving is None else moving + dd
    return linear_recurrence(primals[0], change, axis=axis, reverse=reverse)


@vmap_rule(linear_recurrence)
def linear_recurrence_vmap(args, dims, size, *, axis, reverse):
    a, d = [batched(x, dim, size) for x, dim in zip(args, dims)]
    if a.ndim > 1:
        return linear_recurrence(a, d, axis=axis + 1, reverse=reverse), 0
    return d, 0


@bprop_rule(cumulative_product)
def cumulative_product_bprop(x, out, dout, *, axis, exclusive, reverse):
    """The product of what is before times the sum, over what is behind, of dout times the product in between."""
    if not x.dtype.is_differentiable:
        return None
    if x.ndim == 0:
        return zeros_like_shape(dout) if exclusive else dout
    x, out = conjugate(x), conjugate(out)
    before = out if exclusive else cumulative_product(x, axis=axis, exclusive=True, reverse=reverse)
    dout = _moved(dout, axis, not reverse) if exclusive else dout
    return before * linear_recurrence(_moved(x, axis, not reverse), dout, axis=axis, reverse=not reverse)


@jvp_rule(cumulative_product)
def cumulative_product_jvp(primals, tangents, out, *, axis, exclusive, reverse):
    """d out[k] = d x[k] * out[k - 1] + x[k] * d out[k - 1]"""
    x, t = primals[0], tangents[0]
    if x.ndim == 0:
        return zeros_like_shape(t) if exclusive else t
    before = out if exclusive else cumulative_product(x, axis=axis, exclusive=True, reverse=reverse)
    made = linear_recurrence(x, t * before, axis=axis, reverse=reverse)
    return _moved(made, axis, reverse) if exclusive else made


def _scan_spec(outputs):
    def spec(x, *, axis, **attrs):
        names = "".join("_" if i == axis else c for i, c in enumerate(letters(len(x.shape))))
        return names + "->" + ",".join([names] * outputs)
    return spec


def _batch(prim):
    @vmap_rule(prim)
    def rule(args, dims, size, *, axis, **attrs):
        x = move_batch_axis(args[0], dims[0])
        if x.ndim > 1:
            out = prim(x, axis=axis + 1, **attrs)
            return out, (0,) * len(out) if isinstance(out, tuple) else 0
        out = prim(reshape(x, shape=(size, 1)), axis=1, **attrs)
        flat = tuple(reshape(y, shape=(size,)) for y in (out if isinstance(out, tuple) else (out,)))
        return (flat, (0,) * len(flat)) if isinstance(out, tuple) else (flat[0], 0)


for _prim in (cumulative_sum, cumulative_product):
    infer_rule(_prim)(_infer)
    _batch(_prim)
sbp_rule(cumulative_sum, _scan_spec(1), linear=[{0}])
sbp_rule(cumulative_product, _scan_spec(1))


def _recurrence_spec(a, d, *, axis, reverse):
    names = "".join("_" if i == axis else c for i, c in enumerate(letters(len(d.shape))))
    return f"{names},{names}->{names}"


sbp_rule(linear_recurrence, _recurrence_spec, linear=[{1}])


@planned
def cumsum(x: TensorLike, axis: int, dtype: DTypeLike | None = None) -> Tensor:
    """The running sum along an axis: out[i] = x[0] + .. + x[i].

    x      : Tensor of any dtype
    axis   : int
    dtype  : in which it is added, by default that of x (int64 for bool); small integers wrap
    out    : Tensor of x's shape
    raises : ValueRangeError for an axis outside, ArgumentError for one that is no int
    """
    return cumulative_sum(as_operand(x) if dtype is None else cast(as_operand(x), dtype=dtype), axis=axis)


@planned
def cumprod(input: TensorLike, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """The running product along an axis: out[i] = input[0] * .. * input[i].

    input  : Tensor of any dtype
    dim    : int
    dtype  : in which it is multiplied, by default that of input, int64 for integers and bools
    out    : Tensor of input's shape
    raises : ValueRangeError for an axis outside, ArgumentError for one that is no int
    """
    input = as_operand(input)
    wanted = dt.int64 if dtype is None and dtype_of(input).kind in "bui" else dtype
    return cumulative_product(input if wanted is None else cast(input, dtype=wanted), axis=dim)


# ---------------------------------------------------------------- running logarithms of sums

@primitive(prepare=_along("logcumsumexp"), traits={"library"})
def cumulative_logsumexp(x, *, axis):
    """out[i] = log(sum of exp(x[j]) for j <= i) along `axis`, without overflow; x : float, out : like x."""


@infer_rule(cumulative_logsumexp)
def cumulative_logsumexp_infer(x, *, axis):
    if x.dtype.kind != "f":
        raise DTypeError("logcumsumexp: takes floats", note=f"x: {x}")
    return x


@eval_rule(cumulative_logsumexp)
def cumulative_logsumexp_eval(x, *, axis):
    if x.ndim == 0:
        return x.copy()
    with np.errstate(all="ignore"):
        return np.logaddexp.accumulate(x.astype(np.float32) if x.dtype.itemsize == 2 else x, axis=axis).astype(x.dtype)


def _share(x, y):
    """exp(x - y), 1 where both are the same infinity; x <= y."""
    return exp(where(equal(x, y), 0, x - y))


@bprop_rule(cumulative_logsumexp)
def cumulative_logsumexp_bprop(x, out, dout, *, axis):
    """What comes from behind is passed on by the share exp(out[i] - out[i + 1]), which is at most 1."""
    if x.ndim == 0:
        return dout
    passed = linear_recurrence(_share(out, _moved(out, axis, True)), dout, axis=axis, reverse=True)
    return _share(x, out) * passed


@jvp_rule(cumulative_logsumexp)
def cumulative_logsumexp_jvp(primals, tangents, out, *, axis):
    if out.ndim == 0:
        return tangents[0]
    return linear_recurrence(_share(_moved(out, axis, False), out), _share(primals[0], out) * tangents[0],
                             axis=axis, reverse=False)


_batch(cumulative_logsumexp)
sbp_rule(cumulative_logsumexp, _scan_spec(1))


@planned
def logcumsumexp(input: TensorLike, axis: int) -> Tensor:
    """log(cumsum(exp(input))) along `axis`, without overflow. raises : DTypeError for what is no float"""
    return cumulative_logsumexp(input, axis=axis)


# ---------------------------------------------------------------- running extrema

@primitive(prepare=_along("cummax"), traits={"library"}, name="cummax")
def running_max(x, *, axis):
    """(values, indices): the largest element so far along `axis` and its index, the last of equals; a NaN stays."""


@primitive(prepare=_along("cummin"), traits={"library"}, name="cummin")
def running_min(x, *, axis):
    """(values, indices): the smallest element so far along `axis` and its index, the last of equals; a NaN stays."""


def _running(prim, function):
    @infer_rule(prim)
    def infer(x, *, axis):
        if x.dtype.kind == "c":
            raise DTypeError(f"{prim.name}: complex numbers have no order", note=f"x: {x}")
        return AbstractTuple((x, AbstractTensor(dt.int64, x.shape)))

    @eval_rule(prim)
    def evaluate(x, *, axis):
        if x.ndim == 0:
            return x, np.zeros((), np.int64)
        values = function.accumulate(x, axis=axis)
        positions = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis - 1))
        hit = (x == values) | (x != x)
        return values, np.maximum.accumulate(np.where(hit, positions, 0), axis=axis)

    @bprop_rule(prim)
    def bprop(x, out, dout, *, axis):
        if not x.dtype.is_differentiable:
            return None
        return scatter_elements_add(zeros_like_shape(x), out[1], dout[0], axis=axis) if x.ndim else dout[0]

    @jvp_rule(prim)
    def jvp(primals, tangents, out, *, axis):
        return (gather_elements_axis(tangents[0], out[1], axis=axis) if out[0].ndim else tangents[0]), None

    _batch(prim)
    sbp_rule(prim, _scan_spec(2))


_running(running_max, np.maximum)
_running(running_min, np.minimum)


@planned
def cummax(input: TensorLike, axis: int) -> tuple[Tensor, Tensor]:
    """The largest element so far along an axis, and where it stands.

    input  : Tensor of real dtype
    axis   : int
    out    : (values like input, indices int64 of its shape); of equal elements the last, a NaN wins
    raises : DTypeError for complex numbers, ValueRangeError for an axis outside
    """
    return running_max(input, axis=axis)


@planned
def cummin(input: TensorLike, axis: int) -> tuple[Tensor, Tensor]:
    """The smallest element so far along an axis, and where it stands.

    input  : Tensor of real dtype
    axis   : int
    out    : (values like input, indices int64 of its shape); of equal elements the last, a NaN wins
    raises : DTypeError for complex numbers, ValueRangeError for an axis outside
    """
    return running_min(input, axis=axis)

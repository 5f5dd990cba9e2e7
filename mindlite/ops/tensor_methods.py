"""Methods of Tensor that ask about it, convert it, rearrange it or change it in place: rows of methods.METHODS.

    x.numel()    x.type_as(y)    x.diagonal()    x.add_(y)  ==  assign(x, x + y), and gives x
"""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.device import Device, device as device_named
from ..common.dim import product
from ..common.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.graph import AnfNode
from ..mindir.primitive import current_interpreter
from . import (activation, arithmetic, combined, creation, decomposition, elementary, later, linalg, logic, lookup, norms,
               order_statistics, random, reduction, scan, singular, sorted_search, special, structure, whole_numbers)
from .axes import normal_axis
from .basic import broadcast_to, cast, reshape
from .define import as_operand, cast_to
from .diagonal import diag_embed, diagonal as read_diagonal, diagonal_scatter, trace
from .getitem import setitem
from .methods import method, renaming
from .scatter import tensor_scatter_div, tensor_scatter_max, tensor_scatter_min, tensor_scatter_mul, tensor_scatter_sub
from .sort import topk
from .state import assign, identity, stop_gradient


# ---------------------------------------------------------------- questions

def _is_float(input: Tensor) -> Any:
    return input.dtype.kind == "f"


def _is_complex(input: Tensor) -> Any:
    return input.dtype.kind == "c"


def _is_signed(self):
    return self.dtype.kind not in "bu"


def _numel(input: Any) -> Any:
    return product(input.shape)


def _dim(self):
    return self.ndim


def _stride(self, dim=None):
    steps = tuple(product(self.shape[i + 1:]) for i in range(self.ndim))
    return steps if dim is None else steps[dim]


def _is_contiguous(self):
    return True


def _value(self):
    """The value as a Tensor that shares the memory: of a Parameter what it is now, with a gradient."""
    return reshape(self, shape=tuple(self.shape))


def _same(self):
    return self


def _copy(self):
    return self * 1 if self.dtype is not dt.bool_ else logic.logical_or(self, self)


def _allclose(input: Tensor, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return reduction.all(logic.isclose(input, other, rtol, atol, equal_nan))


def _type(self, dtype=None):
    return repr(self.dtype) if dtype is None else cast(self, dtype=dtype)


def _type_as(self, other):
    return cast(self, dtype=other.dtype)


for _name, _function in {
    "is_floating_point": _is_float, "is_complex": _is_complex, "is_signed": _is_signed, "numel": _numel,
    "nelement": _numel, "dim": _dim, "ndimension": _dim, "stride": _stride, "is_contiguous": _is_contiguous,
    "contiguous": _same, "value": _value, "clone": _copy, "copy": _copy, "detach": stop_gradient,
    "allclose": _allclose, "type": _type,
    "type_as": _type_as, "storage_offset": lambda self: 0,
}.items():
    method(_name, _function)
for _name, _dtype in {"bfloat16": dt.bfloat16, "byte": dt.uint8, "short": dt.int16}.items():
    method(_name, (lambda d: lambda self: cast(self, dtype=d))(_dtype))


# ---------------------------------------------------------------- combinations

def _sum_to_size(self, *size):
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    lead = self.ndim - len(size)
    if lead < 0 or any(s != 1 and s != n for s, n in zip(size, self.shape[lead:])):
        raise ShapeError(f"sum_to_size: {list(self.shape)} cannot be summed to {list(size)}")
    axes = tuple(range(lead)) + tuple(i + lead for i, s in enumerate(size) if s == 1 and self.shape[i + lead] != 1)
    return reshape(reduction.sum(self, axes, True), shape=size) if axes else self


def _expand_as(self, other):
    return broadcast_to(self, shape=other.shape)


def _aminmax(input: TensorLike, *, axis: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the smallest, the largest element) along `axis`; of all elements where it is None."""
    return reduction.amin(input, axis, keepdims), reduction.amax(input, axis, keepdims)


def _t(input: Tensor) -> Tensor:
    if input.ndim > 2:
        raise ShapeError("t: a tensor of at most two axes is wanted", note=f"shape: {list(input.shape)}")
    return input if input.ndim < 2 else structure.swapaxes(input, 0, 1)


def _adjoint(x: Tensor) -> Tensor:
    turned = structure.swapaxes(x, -1, -2)
    return turned.conj() if x.dtype.kind == "c" else turned


def _inner(input: Tensor, other: Tensor) -> Tensor:
    """The product of the last axes; of a number and a tensor their product."""
    input, other = as_operand(input), as_operand(other)
    if not input.ndim or not other.ndim:
        return arithmetic.mul(input, other)
    return linalg.tensor_dot(input, other, ((input.ndim - 1,), (other.ndim - 1,)))


def _rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    first, second = dims
    k = k % 4
    if k == 2:
        return structure.flip(input, (first, second))
    if k == 0:
        return _copy(input)
    return structure.flip(structure.swapaxes(input, first, second), (first,)) if k == 1 else \
        structure.swapaxes(structure.flip(input, (first,)), first, second)


def _diff(x: Tensor, n: int = 1, axis: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None) -> Tensor:
    parts = [p for p in (prepend, x, append) if p is not None]
    x = structure.concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        axis, size = normal_axis("diff", axis, x.ndim), x.shape[axis]
        lead = (slice(None),) * axis
        upper, lower = x[lead + (slice(1, size),)], x[lead + (slice(0, size - 1),)]
        x = logic.not_equal(upper, lower) if x.dtype is dt.bool_ else upper - lower
    return x


def _select(self, axis, index):
    return self[(slice(None),) * normal_axis("select", axis, self.ndim) + (index,)]


def _select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    return setitem(input, (slice(None),) * normal_axis("select_scatter", axis, input.ndim) + (index,), src)


def _slice_scatter(input: Tensor, src: Tensor, axis: int = 0, start: int | None = None, end: int | None = None,
                   step: int = 1) -> Tensor:
    return setitem(input, (slice(None),) * normal_axis("slice_scatter",
                   axis, input.ndim) + (slice(start, end, step),), src)


def _diag(self, diagonal=0):
    """A matrix with the vector on its diagonal `diagonal`, or that diagonal of a matrix."""
    return read_diagonal(self, diagonal) if self.ndim > 1 else diag_embed(self, diagonal)


def _diagflat(input: TensorLike, offset: int = 0) -> Tensor:
    return diag_embed(reshape(input, shape=(-1,)), offset)


def _matrix_power(input: Tensor, n: int) -> Tensor:
    if n < 0:
        raise ArgumentError("matrix_power: the exponent is not negative")
    out = broadcast_to(creation.eye(input.shape[-1], dtype=input.dtype), shape=input.shape)
    for _ in range(n):
        out = linalg.matmul(out, input)
    return out


def _kthvalue(input: Tensor, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = input.sort(axis)
    at = (slice(None),) * normal_axis("kthvalue", axis, input.ndim) + (slice(k - 1, k) if keepdims else k - 1,)
    return values[at], indices[at]


def _scatter(input: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    index = as_operand(index)
    return lookup.tensor_scatter_elements(input, index, broadcast_to(
        cast_to(as_operand(src), input.dtype), shape=index.shape), axis)


def _fmax(input: TensorLike, other: TensorLike) -> Tensor:
    return logic.where(logic.isnan(input), other, logic.where(logic.isnan(other), input, arithmetic.maximum(input, other)))


def _fmin(input: TensorLike, other: TensorLike) -> Tensor:
    return logic.where(logic.isnan(input), other, logic.where(logic.isnan(other), input, arithmetic.minimum(input, other)))


def _cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    x = input if input.ndim > 1 else reshape(input, shape=(1, -1))
    count = x.shape[1] if fweights is None else reduction.sum(fweights)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        centred, total = x - x.mean(1, True), count
        out = linalg.matmul(centred, structure.swapaxes(centred, 0, 1)) / max(total - correction, 0)
    else:
        total = reduction.sum(weights)
        centred = x - reduction.sum(x * weights, 1, True) / total
        scale = total if correction == 0 else total - correction if aweights is None else \
            total - correction * reduction.sum(weights * aweights) / total
        out = linalg.matmul(centred * weights, structure.swapaxes(centred, 0, 1)) / scale
    return out if input.ndim > 1 else reshape(out, shape=())


for _name, _function in {
    "sum_to_size": _sum_to_size, "expand_as": _expand_as, "aminmax": _aminmax, "t": _t, "adjoint": _adjoint,
    "inner": _inner,
    "rot90": _rot90, "diff": _diff, "select": _select, "select_scatter": _select_scatter,
    "slice_scatter": _slice_scatter,
    "diagflat": _diagflat, "matrix_power": _matrix_power, "kthvalue": _kthvalue,
    "median": order_statistics.median, "nanmedian": order_statistics.nanmedian,
    "quantile": order_statistics.quantile, "nanquantile": order_statistics.nanquantile,
    "scatter": _scatter, "fmax": _fmax, "fmin": _fmin, "cov": _cov, "addbmm":
        lambda self, batch1, batch2, *, beta=1, alpha=1: beta * self + alpha * reduction.sum(
            linalg.bmm(batch1, batch2), 0),
    "addmv": linalg.addmv, "norm": norms.norm, "baddbmm": linalg.baddbmm, "diag": _diag,
    "diagonal": read_diagonal, "diagonal_scatter": diagonal_scatter, "diag_embed": diag_embed,
    "trace": trace, "deg2rad": combined.deg2rad, "rad2deg": combined.rad2deg, "heaviside": combined.heaviside,
    "float_power": combined.float_power, "isposinf": combined.isposinf, "isneginf": combined.isneginf,
    "isreal": combined.isreal, "ldexp": combined.ldexp, "logaddexp2": combined.logaddexp2, "nansum": combined.nansum,
    "nanmean": combined.nanmean, "positive": combined.positive, "sinc": combined.sinc, "xlogy": combined.xlogy,
    "frac": arithmetic.frac, "hardshrink": activation.hardshrink, "mod": arithmetic.remainder, "sgn": arithmetic.sign,
    "csign": arithmetic.sign, "squared_difference": combined.squared_difference, "rsqrt": elementary.rsqrt,
    "multinomial": random.multinomial, "bernoulli": random.bernoulli,
    "new_full": lambda self, size, fill_value, *, dtype=None: creation.full(size, fill_value,
    dtype=dtype or self.dtype),
    "new_empty": lambda self, size, dtype=None: creation.zeros(size, dtype or self.dtype),
    "scatter_sub": tensor_scatter_sub, "scatter_mul": tensor_scatter_mul, "scatter_div": tensor_scatter_div,
    "scatter_max": tensor_scatter_max, "scatter_min": tensor_scatter_min,
}.items():
    method(_name, renaming(_function))


for _class in Tensor, AnfNode:
    setattr(_class, "mT", property(lambda self: structure.swapaxes(self, -1, -2), doc="The last two axes exchanged."))
    setattr(_class, "mH", property(_adjoint, doc="The last two axes exchanged, conjugated."))
    setattr(_class, "H", property(_adjoint, doc="The transpose of a matrix, conjugated."))


# ---------------------------------------------------------------- in place

def _written(self, value):
    assign(self, value)
    return self


def _in_place(function):
    def call(self, *args, **attrs):
        return _written(self, function(self, *args, **attrs))
    return call


def _full_like(self, value):
    return broadcast_to(cast_to(as_operand(value), self.dtype), shape=self.shape)


for _name, _function in {
    "add_": lambda self, other, *, alpha=1: self + other * alpha, "sub_": lambda self, other, *,
    alpha=1: self - other * alpha,
    "mul_": arithmetic.mul, "div_": arithmetic.div, "floor_divide_": arithmetic.floor_divide,
    "remainder_": arithmetic.remainder,
    "pow_": arithmetic.pow, "exp_": elementary.exp, "log_": elementary.log, "tanh_": elementary.tanh,
    "floor_": arithmetic.floor,
    "sqrt_": elementary.sqrt, "neg_": arithmetic.neg, "abs_": arithmetic.abs, "sigmoid_": elementary.sigmoid,
    "relu_": activation.relu, "clamp_": arithmetic.clamp, "masked_fill_": logic.masked_fill, "fill_": _full_like,
    "zero_": lambda self: _full_like(self, 0), "copy_": lambda self, src, non_blocking=False: broadcast_to(
        cast_to(as_operand(src), self.dtype), shape=self.shape),
    "index_add_": lambda self, dim, index, source, *, alpha=1: lookup.index_add(self, index, source * alpha, dim),
    "scatter_": _scatter, "nan_to_num_": logic.nan_to_num,
    "uniform_": lambda self, from_=0, to=1, *, generator=None: random.uniform(self.shape, from_, to,
    dtype=self.dtype),
    "normal_": lambda self, mean=0, std=1, *, generator=None: cast_to(random.standard_normal(self.shape),
    self.dtype) * std + mean,
    "index_put_": lambda self, indices, values, accumulate=False: _index_put(self, indices, values, accumulate),
}.items():
    method(_name, _in_place(_function))


def _index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    if not accumulate:
        return setitem(input, tuple(indices), values)
    places = structure.stack(structure.broadcast_tensors(*indices), -1)
    return lookup.tensor_scatter_add(input, places, broadcast_to(cast_to(as_operand(values), input.dtype), shape=tuple(
        places.shape[:-1]) + tuple(input.shape[places.shape[-1]:])))


method("index_put", _index_put)


# ---------------------------------------------------------------- what families that are imported later have

def _later(name):
    """A method that is a function of a family that is imported when it is called."""
    def call(self, *args, **attrs):
        return renaming(later.find(name))(self, *args, **attrs)
    call.__name__, call.__qualname__ = name, f"Tensor.{name}"
    return call


def _itemset(self, *args):
    """A Tensor with one element replaced: x.itemset(value) of one, x.itemset(7, value) in row-major order, or x.itemset((0, 1),
    value)."""
    *at, value = args
    index = at[0] if at else (0,) * self.ndim
    if isinstance(index, int):
        return reshape(setitem(reshape(self, shape=(-1,)), index, value), shape=tuple(self.shape))
    return setitem(self, tuple(index), value)


for _name in ("bincount cauchy choose eig eigvals exponential fill_diagonal fills geqrf gumbel_softmax hfft histc igamma igammac "
              "index_copy index_fill log_normal lstsq lu_solve lu_unpack masked_scatter matrix_exp mvlgamma nextafter orgqr "
              "ormqr put qr random_categorical reverse_sequence stft unique_consecutive unravel_index").split():
    method(_name, _later(_name))
for _name, _function in {"resize": "resized", "index_copy_": "index_copy", "index_fill_": "index_fill",
                         "masked_scatter_": "masked_scatter",
                         "fill_diagonal_": "fill_diagonal", "put_": "put", "exponential_": "exponential"}.items():
    method(_name, _in_place(_later(_function)) if _name.endswith("_") else _later(_function))
for _name, _function in {
    "gcd": whole_numbers.gcd, "lcm": whole_numbers.lcm, "xdivy": combined.xdivy, "searchsorted": sorted_search.searchsorted,
    "unique_with_pad": sorted_search.unique_with_pad, "svd": singular.svd, "logcumsumexp": scan.logcumsumexp,
    "i0": special.bessel_i0, "matrix_determinant": decomposition.det, "log_matrix_determinant": decomposition.slogdet,
    "reverse": structure.flip, "soft_shrink": activation.softshrink, "pinv": norms.pinv,
    "argmax_with_value": lambda self, axis=0, keep_dims=False: reduction.max(self, axis, keep_dims),
    "argmin_with_value": lambda self, axis=0, keep_dims=False: reduction.min(self, axis, keep_dims),
    "itemset": _itemset,
    "top_k": lambda self, k, sorted=True: topk(self, k),
}.items():
    method(_name, renaming(_function))
for _name, _function in {
    "sign_": arithmetic.sign, "erfinv_": special.erfinv, "addmm_": linalg.addmm,
    "scatter_add_": lambda self, dim, index, src: lookup.tensor_scatter_elements(self, index, src, dim, "add"),
}.items():
    method(_name, _in_place(_function))

# What MindSpore has as functions too, under the method's name.
FUNCTIONS = {
    "numel": _numel, "is_floating_point": _is_float, "is_complex": _is_complex, "aminmax": _aminmax, "t": _t,
    "adjoint": _adjoint, "inner": _inner, "rot90": _rot90, "diff": _diff, "select_scatter": _select_scatter,
    "slice_scatter": _slice_scatter, "diagflat": _diagflat, "matrix_power": _matrix_power, "kthvalue": _kthvalue,
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

    device : "CPU" or another device that is here     other: a Tensor whose dtype and device are wanted
    copy   : a new Tensor in any case                 non_blocking: MindSpore's; what reads the result waits for it
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
    place = None if device is None else device_named(device, "Tensor.to")
    out = self if dtype is None else cast(self, dtype=dtype)
    if place is not None and isinstance(out, Tensor) and out.device_of != place:
        watches = getattr(current_interpreter(), "watches", None)
        if watches is not None and watches(out):
            raise DeviceError("Tensor.to: gradients of single operators do not go from one device to another",
                              hint="move it before the gradient is made, or compile the function: ms.jit")
        out = out.moved_to(place)
    return identity(out) if copy and out is self else out


def _move_to(self, to, blocking=True):
    """The Tensor on the device `to`; this one if it lies there.

    raises : ValueRangeError for what is no device, DeviceError for a device that is missing here
    """
    return self.to(device=to)


method("to", _to)
method("move_to", _move_to)

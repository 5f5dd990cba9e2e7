"""Slices: cut out, put into a larger tensor, replaced. Every index is an affine function of the output's index.

slice_ and pad_slice are each other's transpose and so each other's gradient; slice_update is both at once.
"""
import numpy as np

from ..common.errors import ShapeError
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import where as where_scalar
from .basic import batched, broadcast_to, move_batch_axis
from .define import dtype_of, of_int
from .sbp import letters, local_shape, sbp_rule


# ---------------------------------------------------------------- slice_

@primitive(name="slice", traits={"view"})
def slice_(x, *, start, sizes, step):
    """out[i] = x[start + i * step], with i < sizes, on every axis.

    start, sizes : a tuple of int or Dim, one for each axis; step: a tuple of int, not 0, may be negative
    raises      : ShapeError if the slice leaves the tensor
    """


@infer_rule(slice_)
def slice_infer(x, *, start, sizes, step):
    for axis, (n, first, count, stride) in enumerate(zip(x.shape, start, sizes, step)):
        error = lambda: ShapeError(f"slice: leaves axis {axis} of size {n}",  # noqa: E731
                                   note=f"x: {x}, start {first}, sizes {count}, step {stride}")
        require(">=", count, 0, error)
        if isinstance(count, int) and count == 0:
            continue
        low, high = (first, first + (count - 1) * stride) if stride > 0 else (first + (count - 1) * stride, first)
        if isinstance(count, int):
            require(">=", low, 0, error)
            require("<", high, n, error)
        else:                                   # an empty slice may start behind the end: room for one step more
            require(">=", low, min(stride, 0), error)
            require("<", high, n + max(stride, 0), error)
    return AbstractTensor(x.dtype, sizes)


def places(start, sizes, step):
    """The index of NumPy that takes these, as an array also where it has no axes."""
    made = []
    for first, count, stride in zip(start, sizes, step):
        stop = first + count * stride
        made.append(slice(0, 0) if count == 0 else slice(first, None if stop < 0 else stop, stride))
    return *made, ...


@eval_rule(slice_)
def slice_eval(x, *, start, sizes, step):
    return np.ascontiguousarray(x[places(start, sizes, step)]).reshape(sizes)


@kernel_rule(slice_)
def slice_kernel(x, out, *, start, sizes, step):
    return lambda *i: x[tuple(first + index * stride for index, first, stride in zip(i, start, step))]


@jvp_rule(slice_)
def slice_jvp(primals, tangents, out, *, start, sizes, step):
    return slice_(tangents[0], start=start, sizes=sizes, step=step)


@vmap_rule(slice_)
def slice_vmap(args, dims, size, *, start, sizes, step):
    x = move_batch_axis(args[0], dims[0])
    return slice_(x, start=(0,) + start, sizes=(size,) + sizes, step=(1,) + step), 0


def take_range(x, axis, start, stop):
    """x[.., start:stop, ..] along `axis`; start and stop are ints or Dims inside the axis."""
    return slice_(x, start=tuple(start if a == axis else 0 for a in range(x.ndim)),
                  sizes=tuple(stop - start if a == axis else n for a, n in enumerate(x.shape)), step=(1,) * x.ndim)


def whole_axes(larger, smaller, start, step):
    """Index letters of the axes that a slice keeps whole, "_" for the others."""
    return "".join(name if n == m and first == 0 and stride == 1 else "_" for name, n, m, first, stride in
                   zip(letters(len(larger)), larger, smaller, start, step))


def _slice_spec(x, *, start, sizes, step):
    axes = whole_axes(x.shape, sizes, start, step)
    return f"{axes}->{axes}"


sbp_rule(slice_, _slice_spec, linear=[{0}], local=lambda attrs, shapes: {**attrs, "sizes": tuple(shapes[0])})


# ---------------------------------------------------------------- pad_slice

@primitive
def pad_slice(x, *, shape, start, step, value):
    """A tensor of `shape` that is `value`, but for out[start + i * step] = x[i]: the transpose of slice_.

    shape, start : tuples of int or Dim; step: a tuple of int, not 0; value: a Python number
    """


@infer_rule(pad_slice)
def pad_slice_infer(x, *, shape, start, step, value):
    slice_infer(AbstractTensor(x.dtype, shape), start=start, sizes=x.shape, step=step)
    return AbstractTensor(x.dtype, shape)


@eval_rule(pad_slice)
def pad_slice_eval(x, *, shape, start, step, value):
    out = np.full(shape, of_int(value, x.dtype) if type(value) is int and x.dtype.kind in "iu" else value, x.dtype)
    out[places(start, x.shape, step)] = x
    return out


def inside_slice(index, size, start, step):
    """For an index into the larger tensor: (is it one of the slice's, the index into the slice)."""
    inside, inner = None, []
    for i, n, first, stride in zip(index, size, start, step):
        offset = i - first if stride > 0 else first - i
        k = offset if abs(stride) == 1 else offset // abs(stride)
        test = (offset >= 0) & (k < n)
        if abs(stride) != 1:
            test = test & (offset % abs(stride) == 0)
        inside = test if inside is None else inside & test
        inner.append(k)
    return inside, tuple(inner)


@kernel_rule(pad_slice)
def pad_slice_kernel(x, out, *, shape, start, step, value):
    def element(*index):
        inside, inner = inside_slice(index, x.shape, start, step)
        return x[()] if inside is None else where_scalar(inside, x[inner], value)
    return element


@bprop_rule(pad_slice)
def pad_slice_bprop(x, out, dout, *, shape, start, step, value):
    return slice_(dout, start=start, sizes=tuple(x.shape), step=step)


@jvp_rule(pad_slice)
def pad_slice_jvp(primals, tangents, out, *, shape, start, step, value):
    return pad_slice(tangents[0], shape=shape, start=start, step=step, value=0)


@vmap_rule(pad_slice)
def pad_slice_vmap(args, dims, size, *, shape, start, step, value):
    x = move_batch_axis(args[0], dims[0])
    return pad_slice(x, shape=(x.shape[0],) + shape, start=(0,) + start, step=(1,) + step, value=value), 0


def _pad_slice_spec(x, *, shape, start, step, value):
    axes = whole_axes(shape, x.shape, start, step)
    return f"{axes}->{axes}"


sbp_rule(pad_slice, _pad_slice_spec, linear=lambda x, *, value, **attrs: [{0}] if value == 0 else [], local=local_shape)


def zeros_like_shape(x, shape=None):
    """Zeros of x's dtype and shape (or `shape`), as a scalar that is broadcast: no memory where it is fused."""
    return broadcast_to(np.zeros((), dtype_of(x).numpy), shape=tuple(x.shape if shape is None else shape))


# ---------------------------------------------------------------- slice_update

@primitive
def slice_update(x, value, *, start, step):
    """x with a slice replaced: out[start + i * step] = value[i], the rest as in x. Attributes as those of slice."""


@infer_rule(slice_update)
def slice_update_infer(x, value, *, start, step):
    infer_rule[slice_](x, start=start, sizes=value.shape, step=step)
    return x


@eval_rule(slice_update)
def slice_update_eval(x, value, *, start, step):
    out = np.array(x)
    if value.size:
        where = tuple(np.arange(n) * s + b for n, b, s in zip(value.shape, start, step))
        out[np.ix_(*where) if where else ()] = value
    return out


@kernel_rule(slice_update)
def slice_update_kernel(x, value, out, *, start, step):
    def element(*index):
        inside, inner = inside_slice(index, value.shape, start, step)
        return value[()] if inside is None else where_scalar(inside, value[inner], x[index])
    return element


@bprop_rule(slice_update)
def slice_update_bprop(x, value, out, dout, *, start, step):
    return (slice_update(dout, zeros_like_shape(value), start=start, step=step),
            slice_(dout, start=start, sizes=tuple(value.shape), step=step))


@jvp_rule(slice_update)
def slice_update_jvp(primals, tangents, out, *, start, step):
    dx, dvalue = (zeros_like_shape(p) if t is None else t for p, t in zip(primals, tangents))
    return slice_update(dx, dvalue, start=start, step=step)


@vmap_rule(slice_update)
def slice_update_vmap(args, dims, size, *, start, step):
    x, value = (batched(a, d, size) for a, d in zip(args, dims))
    return slice_update(x, value, start=(0,) + start, step=(1,) + step), 0


def _slice_update_spec(x, value, *, start, step):
    axes = whole_axes(x.shape, value.shape, start, step)
    return f"{axes},{axes}->{axes}"


sbp_rule(slice_update, _slice_update_spec, linear=[{0, 1}])

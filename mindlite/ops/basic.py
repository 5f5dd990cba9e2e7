"""The operators that all others lean on: cast, reshape, transpose, broadcast_to, reduce_sum, scalar_to_tensor.

They are linear and move or add elements, so that each one's gradient is another of them.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.dim import Dim, compare, product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, ShapeError
from ..common.tensor import TensorLike
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import cast as cast_scalar, reduce
from .axes import as_flag, as_shape, axes_of, broadcast_index, fill_in, flatten_index, normal_axes, normal_axis, unflatten_index
from .sbp import elementwise_spec, is_one, letters, local_shape, sbp_rule


def _with_axes(x):
    """A number, also one that is known at run time, as a tensor without axes; anything else as it is."""
    if isinstance(x, (bool, int, float, complex)):
        return np.asarray(x, dt.dtype(type(x)).numpy)
    if isinstance(x, Dim):
        return scalar_to_tensor(x, dtype=dt.int64)
    if isinstance(x, AnfNode) and isinstance(x.abstract, AbstractScalar):
        return scalar_to_tensor(x, dtype=dt.dtype(x.abstract.type))
    if not hasattr(x, "dtype"):
        raise ArgumentError(f"a tensor or a number is wanted, not {type(x).__name__}", note=repr(x)[:80])
    return x


# ---------------------------------------------------------------- cast

def _cast_prepare(args, attrs):
    return (_with_axes(args[0]),), {"dtype": dt.dtype(attrs["dtype"])}


@primitive(prepare=_cast_prepare, traits={"elementwise"})
def cast(x: TensorLike, *, dtype: DTypeLike):
    """Each element converted to `dtype`, as C converts: floats to integers are cut towards zero.

    x : any dtype; out : like x, of `dtype`
    """


cast.also(input="x")


@infer_rule(cast)
def cast_infer(x, *, dtype):
    return AbstractTensor(dtype, x.shape)


@eval_rule(cast)
def cast_eval(x, *, dtype):
    if x.dtype.kind == "c" and dtype.kind not in "c":
        x = x.real
    with np.errstate(invalid="ignore", over="ignore"):
        return x.astype(dtype.numpy)


@kernel_rule(cast)
def cast_kernel(x, out, *, dtype):
    return lambda *i: cast_scalar(x[i], dtype)


@bprop_rule(cast)
def cast_bprop(x, out, dout, *, dtype):
    smooth = dtype.kind in "fc" or dtype.is_differentiable and x.dtype.kind in "ui"
    return cast(dout, dtype=x.dtype) if x.dtype.is_differentiable and smooth else None


@jvp_rule(cast)
def cast_jvp(primals, tangents, out, *, dtype):
    return cast(tangents[0], dtype=dtype) if dtype.kind in "fc" else None


@vmap_rule(cast)
def cast_vmap(args, dims, size, *, dtype):
    return cast(*args, dtype=dtype), dims[0]


sbp_rule(cast, elementwise_spec,
         linear=lambda x, *, dtype: [{0}] if x.dtype.kind in "fc" and dtype.kind in "fc" else [])


# ---------------------------------------------------------------- scalars

@primitive
def scalar_to_tensor(x, *, dtype):
    """A Python number that is known at run time as a tensor without axes.

    x : bool, int or float; out : dtype[]
    """


@infer_rule(scalar_to_tensor)
def scalar_to_tensor_infer(x, *, dtype):
    if not isinstance(x, AbstractScalar):
        raise ArgumentError(f"scalar_to_tensor: a number is wanted, not {x}")
    return AbstractTensor(dtype, ())


@eval_rule(scalar_to_tensor)
def scalar_to_tensor_eval(x, *, dtype):
    return np.asarray(x, dtype.numpy)


@kernel_rule(scalar_to_tensor)
def scalar_to_tensor_kernel(x, out, *, dtype):
    return lambda: cast_scalar(x, dtype)


@bprop_rule(scalar_to_tensor)
def scalar_to_tensor_bprop(x, out, dout, *, dtype):
    return None


@vmap_rule(scalar_to_tensor)
def scalar_to_tensor_vmap(args, dims, size, *, dtype):
    return scalar_to_tensor(*args, dtype=dtype), None


sbp_rule(scalar_to_tensor, "->")


# ---------------------------------------------------------------- reshape

def _reshape_prepare(args, attrs):
    x, shape = _with_axes(args[0]), as_shape("reshape", attrs["shape"])
    if -1 in shape:
        shape = fill_in("reshape", shape, x.size)
    return (x,), {"shape": shape}


@primitive(prepare=_reshape_prepare, traits={"view"})
def reshape(x: TensorLike, *, shape: Sequence[int]):
    """The same elements in row-major order under another shape; one size may be -1.

    raises : ShapeError if the number of elements differs
    """


reshape.also(input="x")


@infer_rule(reshape)
def reshape_infer(x, *, shape):
    made = AbstractTensor(x.dtype, shape)
    require("==", x.size, made.size, lambda: ShapeError(
        "reshape: the number of elements differs", note=f"x: {x} has {x.size}, {list(shape)} has {made.size}"))
    return made


@eval_rule(reshape)
def reshape_eval(x, *, shape):
    return x.reshape(shape)


@kernel_rule(reshape)
def reshape_kernel(x, out, *, shape):
    groups = _joined(x.shape, shape)
    grouped = {axis for before, _ in groups for axis in before}
    if any([size != 1 and axis not in grouped for axis, size in enumerate(x.shape)]):
        groups = []                                          # of open sizes that are only known to fit when it runs

    def element(*i):
        """Axes that stay have their own index: one that is read from memory is divided no more than it has to be."""
        index = list(unflatten_index(flatten_index(i, shape), x.shape)) if not groups else [0] * len(x.shape)
        for before, after in groups:
            if len(before) == len(after) == 1:
                index[before[0]] = i[after[0]]
            else:
                flat = flatten_index([i[axis] for axis in after], [shape[axis] for axis in after])
                index[before[0]:before[-1] + 1] = unflatten_index(flat, [x.shape[axis] for axis in before])
        return x[tuple(index)]
    return element


@bprop_rule(reshape)
def reshape_bprop(x, out, dout, *, shape):
    return reshape(dout, shape=x.shape)


@jvp_rule(reshape)
def reshape_jvp(primals, tangents, out, *, shape):
    return reshape(tangents[0], shape=shape)


@vmap_rule(reshape)
def reshape_vmap(args, dims, size, *, shape):
    return reshape(move_batch_axis(args[0], dims[0]), shape=(size,) + shape), 0


def _reshape_spec(x, *, shape):
    """Axes that stay can be split, and the first of those that are joined or divided: b and h of [b, s, h] -> [b * s, h]."""
    words, names = [["_"] * len(x.shape), ["_"] * len(shape)], iter(letters(len(x.shape)))
    for group in _joined(x.shape, shape):
        first = [next((axis for axis in axes if not is_one(sizes[axis])), -1) for axes, sizes in zip(group, (x.shape, shape))]
        if -1 not in first:
            name = next(names)
            for word, axis in zip(words, first):
                word[axis] = name
    return "->".join("".join(word) for word in words)


def _joined(before, after):
    """[(axes of `before`, axes of `after`)] that have the same elements: the smallest such groups; none of empty tensors."""
    if any(isinstance(size, int) and size == 0 for size in before):
        return []
    n, m = len(before), len(after)
    found = []
    while n and m and before[n - 1] == after[m - 1]:
        n, m = n - 1, m - 1
        found.append((range(n, n + 1), range(m, m + 1)))
    cuts = {product(before[:i]): i for i in range(n + 1)}
    ends = [(cuts[size], j) for j, size in enumerate(product(after[:j]) for j in range(m + 1)) if size in cuts]
    return found + [(range(i, k), range(j, l)) for (i, j), (k, l) in zip(ends, ends[1:]) if i < k]


sbp_rule(reshape, _reshape_spec, linear=[{0}], local=local_shape)


# ---------------------------------------------------------------- barrier

@primitive(traits={"view"})
def barrier(x, after):
    """x, once `after` is known: what is computed of it is not merged with what is computed of x itself.

    x : any tensor;   after : any tensor, not read;   out : like x
    """


@infer_rule(barrier)
def barrier_infer(x, after):
    return x


@eval_rule(barrier)
def barrier_eval(x, after):
    return x


@bprop_rule(barrier)
def barrier_bprop(x, after, out, dout):
    return dout, None


@jvp_rule(barrier)
def barrier_jvp(primals, tangents, out):
    return tangents[0]


@vmap_rule(barrier)
def barrier_vmap(args, dims, size):
    return barrier(*args), dims[0]


def _barrier_spec(x, after):
    return f"{letters(len(x.shape))},{'_' * len(after.shape)}->{letters(len(x.shape))}"


sbp_rule(barrier, _barrier_spec, linear=[{0}], unread=[1])


# ---------------------------------------------------------------- transpose

def _transpose_prepare(args, attrs):
    ndim = axes_of("transpose", args[0])
    perm = attrs["perm"]
    perm = tuple(range(ndim))[::-1] if perm is None else tuple(normal_axis("transpose", p, ndim) for p in perm)
    if sorted(perm) != list(range(ndim)):
        raise ArgumentError(f"transpose: perm {perm} does not name each of {ndim} axes once")
    return args, {"perm": perm}


@primitive(prepare=_transpose_prepare, traits={"view"})
def transpose(x: TensorLike, *, perm: Sequence[int] | None = None):
    """Axes in another order: out[i[perm[0]], i[perm[1]], ..] = x[i]; reversed where perm is None."""


transpose.also(input="x", dims="perm", input_perm="perm")


@infer_rule(transpose)
def transpose_infer(x, *, perm):
    return AbstractTensor(x.dtype, tuple(x.shape[p] for p in perm))


@eval_rule(transpose)
def transpose_eval(x, *, perm):
    return np.ascontiguousarray(x.transpose(perm)) if perm else x


@kernel_rule(transpose)
def transpose_kernel(x, out, *, perm):
    return lambda *i: x[tuple(i[perm.index(axis)] for axis in range(len(perm)))]


def _inverse(perm):
    return tuple(perm.index(axis) for axis in range(len(perm)))


@bprop_rule(transpose)
def transpose_bprop(x, out, dout, *, perm):
    return transpose(dout, perm=_inverse(perm))


@jvp_rule(transpose)
def transpose_jvp(primals, tangents, out, *, perm):
    return transpose(tangents[0], perm=perm)


@vmap_rule(transpose)
def transpose_vmap(args, dims, size, *, perm):
    d = dims[0]
    rest = [axis for axis in range(len(perm) + 1) if axis != d]
    return transpose(args[0], perm=(d,) + tuple(rest[p] for p in perm)), 0


def _transpose_spec(x, *, perm):
    names = letters(len(perm))
    return names + "->" + "".join(names[p] for p in perm)


sbp_rule(transpose, _transpose_spec, linear=[{0}])


def move_batch_axis(x, dim, to=0):
    """`x` with its batch axis at `to`; x is returned as it is where the axis stands there or dim is None."""
    if dim is None or dim == to:
        return x
    perm = [i for i in range(x.ndim) if i != dim]
    perm.insert(to, dim)
    return transpose(x, perm=tuple(perm))


def batched(x, dim, size):
    """`x` with a batch axis in front: moved there, or made by repeating where dim is None."""
    return broadcast_to(x, shape=(size,) + tuple(x.shape)) if dim is None else move_batch_axis(x, dim)


# ---------------------------------------------------------------- broadcast_to

def _broadcast_to_prepare(args, attrs):
    shape, x = as_shape("broadcast_to", attrs["shape"]), args[0]
    lead = len(shape) - axes_of("broadcast_to", x)
    shape = tuple(x.shape[i - lead] if isinstance(s, int) and s == -1 and i >= lead else s for i, s in enumerate(shape))
    return args, {"shape": shape}


@primitive(prepare=_broadcast_to_prepare)
def broadcast_to(x: TensorLike, *, shape: Sequence[int]):
    """A tensor repeated to a shape: axes of size 1, and missing ones in front, get the size that is wanted.

    x      : Tensor of any dtype
    shape  : ints; -1 keeps the size of an axis that x has
    out    : Tensor of the shape
    raises : ShapeError if another size would have to change, or for -1 where x has no axis
    """


broadcast_to.also(input="x")


@infer_rule(broadcast_to)
def broadcast_to_infer(x, *, shape):
    lead = len(shape) - len(x.shape)
    error = lambda: ShapeError(f"broadcast_to: x does not broadcast to {list(shape)}", note=f"x: {x}")  # noqa: E731
    if lead < 0:
        raise error()
    for want in shape[:lead]:
        require(">=", want, 0, error)
    for have, want in zip(x.shape, shape[lead:]):
        if not (isinstance(have, int) and have == 1):
            require("==", have, want, error)
    return AbstractTensor(x.dtype, shape)


@eval_rule(broadcast_to)
def broadcast_to_eval(x, *, shape):
    return np.array(np.broadcast_to(x, shape), order="C")


@kernel_rule(broadcast_to)
def broadcast_to_kernel(x, out, *, shape):
    return lambda *i: x[broadcast_index(x, i)]


@bprop_rule(broadcast_to)
def broadcast_to_bprop(x, out, dout, *, shape):
    return sum_to(dout, x.shape)


@jvp_rule(broadcast_to)
def broadcast_to_jvp(primals, tangents, out, *, shape):
    return broadcast_to(tangents[0], shape=shape)


@vmap_rule(broadcast_to)
def broadcast_to_vmap(args, dims, size, *, shape):
    x = move_batch_axis(args[0], dims[0])
    x = reshape(x, shape=(size,) + (1,) * (len(shape) + 1 - x.ndim) + x.shape[1:])
    return broadcast_to(x, shape=(size,) + shape), 0


def _broadcast_to_spec(x, *, shape):
    names = letters(len(shape))
    return "".join("_" if isinstance(s, int) and s == 1 else letter
                   for s, letter in zip(x.shape, names[len(shape) - len(x.shape):])) + "->" + names


sbp_rule(broadcast_to, _broadcast_to_spec, linear=[{0}], local=local_shape)


# ---------------------------------------------------------------- reduce_sum

def reducing(name):
    """What prepares the arguments of the reduction `name`: axes counted from the front; None and () mean all."""
    def prepare(args, attrs):
        axis = normal_axes(name, attrs["axis"], axes_of(name, args[0]))
        return args, {**attrs, "axis": axis, "keepdims": as_flag(name, "keepdims", attrs["keepdims"])}
    return prepare


def reduced_shape(shape, axis, keepdims):
    """The shape that is left after `axis` (a tuple, from the front) is reduced."""
    if keepdims:
        return tuple(1 if i in axis else s for i, s in enumerate(shape))
    return tuple(s for i, s in enumerate(shape) if i not in axis)


def merge_indices(index, reduced, axis, ndim, keepdims):
    """The index into the operand, from the output's index and the indices along the reduced axes."""
    outer, inner = iter(index), iter(reduced)
    out = []
    for i in range(ndim):
        if i in axis:
            if keepdims:
                next(outer)
            out.append(next(inner))
        else:
            out.append(next(outer))
    return tuple(out)


@primitive(prepare=reducing("sum"), traits={"reduction"})
def reduce_sum(x: TensorLike, *, axis: Axes = None, keepdims: bool = False):
    """The sum over `axis` (an int, several, or None for all).

    x : a number type; bool counts as int64, float16 adds in float32; out : x's dtype
    """


@infer_rule(reduce_sum)
def reduce_sum_infer(x, *, axis, keepdims):
    dtype = dt.int64 if x.dtype is dt.bool_ else x.dtype
    return AbstractTensor(dtype, reduced_shape(x.shape, axis, keepdims))


@eval_rule(reduce_sum)
def reduce_sum_eval(x, *, axis, keepdims):
    own = dt.dtype(x.dtype)
    wanted = np.dtype(np.int64) if x.dtype == bool else x.dtype
    made = np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=own.compute.numpy if own.is_small else wanted)
    return np.asarray(made).astype(wanted, copy=False)


@kernel_rule(reduce_sum)
def reduce_sum_kernel(x, out, *, axis, keepdims):
    return lambda *i: reduce("sum", [x.shape[a] for a in axis],
                             lambda *r: cast_scalar(x[merge_indices(i, r, axis, len(x.shape), keepdims)], out.dtype))


def expand_reduced(y, shape, axis, keepdims):
    """`y`, a result of reducing `axis` of `shape`, repeated back to `shape`."""
    if not keepdims:
        y = reshape(y, shape=reduced_shape(shape, axis, True))
    return broadcast_to(y, shape=tuple(shape))


@bprop_rule(reduce_sum)
def reduce_sum_bprop(x, out, dout, *, axis, keepdims):
    return expand_reduced(dout, x.shape, axis, keepdims) if x.dtype.is_differentiable else None


@jvp_rule(reduce_sum)
def reduce_sum_jvp(primals, tangents, out, *, axis, keepdims):
    return reduce_sum(tangents[0], axis=axis, keepdims=keepdims)


def vmap_reduction(prim):
    """The vmap rule of a reduction with attributes axis and keepdims: the axes move up by one."""
    @vmap_rule(prim)
    def rule(args, dims, size, *, axis, **attrs):
        x = move_batch_axis(args[0], dims[0])
        if not axis:                                    # a tensor without axes: give it one to reduce
            return prim(reshape(x, shape=(size, 1)), axis=(1,), **{**attrs, "keepdims": False}), 0
        return prim(x, axis=tuple(a + 1 for a in axis), **attrs), 0
    return rule


vmap_reduction(reduce_sum)


def reduction_spec(x, *, axis, keepdims, **attrs):
    """The index string of a reduction: the letters of `axis` vanish."""
    names = letters(len(x.shape))
    remaining = ("_" if i in axis else letter for i, letter in enumerate(names) if keepdims or i not in axis)
    return names + "->" + "".join(remaining)


sbp_rule(reduce_sum, reduction_spec, linear=[{0}])


def sum_to(x, shape):
    """Sum `x` over the axes along which `shape` was broadcast to get its shape."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, size in enumerate(shape)
        if isinstance(size, int) and size == 1 and compare("==", x.shape[i + lead], 1) is not True)
    if axes:
        x = reduce_sum(x, axis=axes, keepdims=False)
    return x if x.shape == shape else reshape(x, shape=shape)

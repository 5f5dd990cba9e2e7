"""Matrix products."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import product
from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, cost_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, planned, primitive, vmap_rule
from ..mindir.scalar import cast as cast_scalar, reduce
from .axes import as_number, axes_of, broadcast_index, broadcast_shapes, normal_axis
from .basic import batched, reshape, sum_to, transpose
from .define import as_operand, composite, conjugate, layer_operands, promote_operands, quietly
from .sbp import elementwise_spec, letters, sbp_rule
from .slicing import slice_, zeros_like_shape


def _prepare(args, attrs):
    return promote_operands(args, {name: bool(value) for name, value in attrs.items()})


@primitive(traits={"library"}, prepare=_prepare, name="batch_matmul")
def batch_matmul(a, b, *, transpose_a=False, transpose_b=False):
    """Matrix product over the last two axes, the others broadcast: out[.., m, n] = sum_k a[.., m, k] b[.., k, n].

    transpose_a : a is [.., k, m]; transpose_b : b is [.., n, k]
    raises : ShapeError if the contracted sizes differ or an operand has fewer than two axes
    """


def _sizes(a, b, transpose_a, transpose_b):
    m, k = (a.shape[-1], a.shape[-2]) if transpose_a else (a.shape[-2], a.shape[-1])
    k2, n = (b.shape[-1], b.shape[-2]) if transpose_b else (b.shape[-2], b.shape[-1])
    return m, k, k2, n


@infer_rule(batch_matmul)
def matmul_infer(a, b, *, transpose_a, transpose_b):
    note = f"a: {a}, b: {b}"
    if a.dtype is dt.bool_:
        raise DTypeError("matmul: does not take bool", note=note)
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError("matmul: both operands need two axes", note=note)
    m, k, k2, n = _sizes(a, b, transpose_a, transpose_b)
    fits = b.ndim == 2 and b.shape[-1 if not transpose_b else -2] == k and "transpose_b=" + str(not transpose_b)
    require("==", k, k2, lambda: ShapeError("matmul: the contracted sizes differ", note=f"{note}; {k} != {k2}",
                                            hint=f"ops.matmul(a, b, {fits})" if fits else ""))
    return AbstractTensor(a.dtype, broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2]) + (m, n))


@cost_rule(batch_matmul)
def matmul_cost(a, b, *, out, transpose_a, transpose_b):
    return 2 * out.size * a.shape[-2 if transpose_a else -1]


@eval_rule(batch_matmul)
def matmul_eval(a, b, *, transpose_a, transpose_b):
    operands = np.swapaxes(a, -1, -2) if transpose_a else a, np.swapaxes(b, -1, -2) if transpose_b else b
    out = quietly(np.matmul, operands, {})
    return out.astype(a.dtype, copy=False)


@kernel_rule(batch_matmul)
def matmul_kernel(a, b, out, *, transpose_a, transpose_b):
    _, k, _, _ = _sizes(a, b, transpose_a, transpose_b)

    def element(*index):
        *lead, m, n = index

        def term(r):
            i = broadcast_index(a, (*lead, r, m) if transpose_a else (*lead, m, r))
            j = broadcast_index(b, (*lead, n, r) if transpose_b else (*lead, r, n))
            return cast_scalar(a[i], out.dtype) * cast_scalar(b[j], out.dtype)
        return reduce("sum", [k], term)
    return element


def _product(a, b, transpose_a=False, transpose_b=False):
    return batch_matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


@bprop_rule(batch_matmul)
def matmul_bprop(a, b, out, dout, *, transpose_a, transpose_b):
    a, b = conjugate(a), conjugate(b)
    if transpose_a:
        da = _product(b, dout, transpose_b, True)
    else:
        da = _product(dout, b, False, not transpose_b)
    if transpose_b:
        db = _product(dout, a, True, transpose_a)
    else:
        db = _product(a, dout, not transpose_a, False)
    return sum_to(da, a.shape), sum_to(db, b.shape)


@jvp_rule(batch_matmul)
def matmul_jvp(primals, tangents, out, **attrs):
    (a, b), (da, db) = primals, tangents
    parts = [batch_matmul(da, b, **attrs)] if da is not None else []
    parts += [batch_matmul(a, db, **attrs)] if db is not None else []
    return sum(parts[1:], parts[0])


def _matmul_spec(a, b, *, transpose_a, transpose_b):
    """MK, KN -> MN behind the batch axes, which are split as those of an elementwise operator."""
    lead = elementwise_spec(*(AbstractTensor(x.dtype, x.shape[:-2]) for x in (a, b)))
    (of_a, of_b), out = lead.split("->")[0].split(","), lead.split("->")[1]
    return f"{of_a}{'KM' if transpose_a else 'MK'},{of_b}{'NK' if transpose_b else 'KN'}->{out}MN"


sbp_rule(batch_matmul, _matmul_spec, linear=[{0}, {1}])


@vmap_rule(batch_matmul)
def matmul_vmap(args, dims, size, **attrs):
    rank = max(x.ndim - (d is not None) for x, d in zip(args, dims))
    ready = []
    for x, d in zip(args, dims):
        if d is not None:
            x = batched(x, d, size)
            x = reshape(x, shape=x.shape[:1] + (1,) * (rank + 1 - x.ndim) + x.shape[1:])
        ready.append(x)
    return batch_matmul(*ready, **attrs), 0


# ---------------------------------------------------------------- a product that is added to a sum

@primitive(traits={"library"}, name="matmul_add")
def matmul_add(total, a, b, *, transpose_a=False, transpose_b=False):
    """total + batch_matmul(a, b): what `graph_kernel.accumulate` makes of a sum that a product is added to in place.

    In compiled code the result takes the memory of `total`, which nothing else reads.
    raises : ShapeError if the product has another shape than `total`
    """


@infer_rule(matmul_add)
def matmul_add_infer(total, a, b, *, transpose_a, transpose_b):
    made = matmul_infer(a, b, transpose_a=transpose_a, transpose_b=transpose_b)

    def differ():
        return ShapeError("matmul_add: the product has another type than the sum", note=f"{made} and {total}")
    if (made.dtype, made.ndim) != (total.dtype, total.ndim):
        raise differ()
    for size, wanted in zip(made.shape, total.shape):
        require("==", size, wanted, differ)
    return total


@cost_rule(matmul_add)
def matmul_add_cost(total, a, b, *, out, transpose_a, transpose_b):
    return matmul_cost(a, b, out=out, transpose_a=transpose_a, transpose_b=transpose_b)


@eval_rule(matmul_add)
def matmul_add_eval(total, a, b, *, transpose_a, transpose_b):
    return total + matmul_eval(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


@kernel_rule(matmul_add)
def matmul_add_kernel(total, a, b, out, *, transpose_a, transpose_b):
    product = matmul_kernel(a, b, out, transpose_a=transpose_a, transpose_b=transpose_b)
    return lambda *index: total[index] + product(*index)


@bprop_rule(matmul_add)
def matmul_add_bprop(total, a, b, out, dout, *, transpose_a, transpose_b):
    return (dout, *matmul_bprop(a, b, out, dout, transpose_a=transpose_a, transpose_b=transpose_b))


@jvp_rule(matmul_add)
def matmul_add_jvp(primals, tangents, out, **attrs):
    parts = [tangents[0]] if tangents[0] is not None else []
    if tangents[1] is not None or tangents[2] is not None:
        parts.append(matmul_jvp(primals[1:], tangents[1:], out, **attrs))
    return sum(parts[1:], parts[0])


def _matmul_add_spec(total, a, b, **attrs):
    factors, out = _matmul_spec(a, b, **attrs).split("->")
    return f"{out},{factors}->{out}"


sbp_rule(matmul_add, _matmul_add_spec, linear=[{0, 1}, {0, 2}], reduction=None)


@vmap_rule(matmul_add)
def matmul_add_vmap(args, dims, size, **attrs):
    made, _ = matmul_vmap(args[1:], dims[1:], size, **attrs) if (dims[1], dims[2]) != (None, None) else (
        batch_matmul(*args[1:], **attrs), None)
    return (batched(args[0], dims[0], size) if dims[0] is not None else args[0]) + made, 0


# ---------------------------------------------------------------- a product with a matrix that was put in order before

def _panel_infer(a, panels, *, columns):
    count, k, width = panels.shape
    note = f"a: {a}, panels: {panels}"
    require("==", a.shape[-1], k, lambda: ShapeError("panel_matmul: the contracted sizes differ", note=note))
    require("==", -(-columns // width), count, lambda: ShapeError(
        f"panel_matmul: {columns} columns are in another number of panels", note=note))
    return AbstractTensor(a.dtype, (*a.shape[:-1], columns))


@composite(infer=_panel_infer, traits={"library"})
def panel_matmul(a, panels, *, columns):
    """float[.., m, k] times a matrix whose columns lie in panels, float[count, k, width], the last one filled up:
    float[.., m, columns]. What `optim.panels` makes of products in loops, for which there is a kernel.

    raises : ShapeError if the contracted sizes differ, or the panels are too many or too few for the columns
    """
    count, k, width = panels.shape
    matrix = reshape(transpose(panels, perm=(1, 0, 2)), shape=(k, count * width))
    return batch_matmul(a, slice_(matrix, start=(0, 0), sizes=(k, columns), step=(1, 1)))


def _panel_spec(a, panels, *, columns):
    lead = letters(a.ndim - 1)
    return f"{lead}K,_K_->{lead}_"


sbp_rule(panel_matmul, _panel_spec, linear=[{0}, {1}])


# ---------------------------------------------------------------- public names

def _flags(name, *operands):
    args, _ = promote_operands(tuple(as_operand(x) for x in operands), {})
    for label, x in zip(("input", "other"), args):
        if x.ndim == 0:
            raise ShapeError(f"{name}: {label} has no axes", hint="x * y multiplies by a number")
    return args


@planned
def matmul(input: TensorLike, other: TensorLike) -> Tensor:
    """The matrix product, as NumPy's @: out[.., m, n] = sum_k input[.., m, k] other[.., k, n].

    input, other : Tensor [.., M, K] and [.., K, N] of any dtype but bool; of one axis: a row on the left, a column on the right,
                   and the result lacks that axis. Leading axes are broadcast
    out          : of the dtype to which they are promoted
    raises       : ShapeError if the contracted sizes differ or an operand has no axes, DTypeError for bool
    """
    a, b = _flags("matmul", input, other)
    left, right = a.ndim == 1, b.ndim == 1
    if left:
        a = reshape(a, shape=(1,) + tuple(a.shape))
    if right:
        b = reshape(b, shape=tuple(b.shape) + (1,))
    lead = 1
    if b.ndim == 2 and a.ndim > 2:                            # one large product instead of many small ones
        shape = tuple(a.shape)
        for n in shape[:-1]:
            lead = lead * n
        out = batch_matmul(reshape(a, shape=(lead, shape[-1])), b)
        out = reshape(out, shape=shape[:-1] + (out.shape[-1],))
    else:
        out = batch_matmul(a, b)
    if left or right:
        shape = tuple(out.shape)
        out = reshape(out, shape=shape[:-2] + (() if left else shape[-2:-1]) + (() if right else shape[-1:]))
    return out


@planned
def bmm(input_x: TensorLike, mat2: TensorLike) -> Tensor:
    """The product of stacks of matrices: out[b] = input_x[b] @ mat2[b].

    input_x, mat2 : Tensors [.., m, k] and [.., k, n] of any dtype but bool; they are promoted
    out    : Tensor [.., m, n]
    raises : ShapeError where the contracted sizes differ or an operand has fewer than two axes, DTypeError for bool
    """
    return batch_matmul(input_x, mat2)


@planned
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: out[m, n] = sum_k input[m, k] mat2[k, n].

    input, mat2 : Tensor [M, K] and [K, N] of any dtype but bool
    out         : [M, N], of the dtype to which they are promoted
    raises      : ShapeError unless both have two axes and the sizes K agree, DTypeError for bool
    """
    if axes_of("mm", input) != 2 or axes_of("mm", mat2) != 2:
        raise ShapeError("mm: two matrices are wanted", note=f"input: {list(input.shape)}, mat2: {list(mat2.shape)}")
    return batch_matmul(input, mat2)


@planned
def dot(input: TensorLike, other: TensorLike) -> Tensor:
    """The sum over the last axis of input and the last but one of other (NumPy's dot); one-axis operands: a number."""
    a, b = _flags("dot", input, other)
    if b.ndim <= 2:
        return matmul(a, b)
    return tensor_dot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


@planned
def mv(mat: TensorLike, vec: TensorLike) -> Tensor:
    """A matrix times a vector: out[.., m] = sum_k mat[.., m, k] vec[k].

    mat    : Tensor [.., M, K] of any dtype but bool;     vec : Tensor [K]
    out    : [.., M], of the dtype to which they are promoted
    raises : ShapeError where the sizes K differ or vec has more axes, DTypeError for bool
    """
    a, b = as_operand(mat), as_operand(vec)
    if a.ndim < 2 or b.ndim != 1:
        raise ShapeError("mv: a matrix and a vector are wanted", note=f"mat: {list(a.shape)}, vec: {list(b.shape)}")
    return matmul(a, b)


@planned
def outer(input: TensorLike, vec2: TensorLike) -> Tensor:
    """out[i, j] = input[i] * vec2[j] of two one-axis tensors."""
    a, b = _flags("outer", input, vec2)
    return reshape(a, shape=(a.size, 1)) * reshape(b, shape=(1, b.size))


@planned
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2).

    input  : Tensor that broadcasts with [m, n]; for beta 0 its elements do not matter, NaN too
    mat1, mat2 : Tensors [m, k] and [k, n]; all are promoted
    beta, alpha : numbers; a float makes integers float32
    out    : Tensor [m, n]
    raises : ShapeError for what is no matrix or does not fit, DTypeError for bool
    """
    return added("addmm", input, beta, mm(mat1, mat2), alpha)


@planned
def addmv(input: TensorLike, mat: TensorLike, vec: TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    input  : Tensor that broadcasts with [m]; for beta 0 its elements do not matter, NaN too
    mat, vec : Tensors [m, k] and [k]; all are promoted
    beta, alpha : numbers; a float makes integers float32
    out    : Tensor [m]
    raises : ShapeError where the sizes do not fit, DTypeError for bool
    """
    return added("addmv", input, beta, mv(mat, vec), alpha)


@planned
def baddbmm(input: TensorLike, batch1: TensorLike, batch2: TensorLike, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), for stacks of matrices.

    input  : Tensor that broadcasts with [B, m, n]; for beta 0 its elements do not matter, NaN too
    batch1, batch2 : Tensors [B, m, k] and [B, k, n]; all are promoted
    beta, alpha : numbers; a float makes integers float32
    out    : Tensor [B, m, n]
    raises : ShapeError where the sizes do not fit, DTypeError for bool
    """
    return added("baddbmm", input, beta, bmm(batch1, batch2), alpha)


def added(name, input, beta, product, alpha):
    """beta * input + alpha * product, of the product's shape. raises : ShapeError where input does not broadcast to it"""
    input = as_operand(input)
    if input.ndim > product.ndim or any(isinstance(n, int) and isinstance(m, int) and n not in (1, m)
                                        for n, m in zip(input.shape[::-1], product.shape[::-1])):
        raise ShapeError(f"{name}: input does not broadcast to the product",
                         note=f"input: {list(input.shape)}, the product: {list(product.shape)}")
    return scaled(input, as_number(name, "beta", beta)) + scaled(product, as_number(name, "alpha", alpha))


def scaled(x, factor):
    """x * factor; zeros for the number 0, whatever x holds, as in BLAS."""
    if isinstance(factor, (int, float)) and factor in (0, 1):
        return zeros_like_shape(as_operand(x)) * factor if factor == 0 else x
    return x * factor


@planned
def tensor_dot(x1: TensorLike, x2: TensorLike, axes: Any) -> Tensor:
    """The sum over pairs of axes: `axes` a number of axes (last of x1, first of x2) or (axes of x1, axes of x2)."""
    a, b = promote_operands((as_operand(x1), as_operand(x2)), {})[0]
    if not isinstance(axes, (int, tuple, list)):
        raise ArgumentError(f"tensor_dot: axes are an int or two tuples, not {type(axes).__name__}")
    if isinstance(axes, int):
        first, second = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        first, second = ((s,) if isinstance(s, int) else tuple(s) for s in axes)
        first = tuple(normal_axis("tensor_dot", s, a.ndim) for s in first)
        second = tuple(normal_axis("tensor_dot", s, b.ndim) for s in second)
    if len(first) != len(second):
        raise ShapeError("tensor_dot: as many axes of x1 as of x2 are wanted", note=f"axes: {axes}")
    rows, columns = ([s for s in range(x.ndim) if s not in used] for x, used in ((a, first), (b, second)))
    left, right = [a.shape[s] for s in rows], [b.shape[s] for s in columns]
    inner = product(a.shape[s] for s in first)
    flat_a = reshape(transpose(a, perm=tuple(rows) + first), shape=(product(left), inner))
    flat_b = reshape(transpose(b, perm=second + tuple(columns)),
                     shape=(product(b.shape[s] for s in second), product(right)))
    return reshape(batch_matmul(flat_a, flat_b), shape=tuple(left + right))


@planned
def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """input_x + bias, the bias along axis 1.

    input_x : Tensor [N, C, ..]
    bias   : Tensor [C]; both are promoted
    out    : Tensor [N, C, ..]
    raises : ShapeError where bias has not one axis of size C, or input_x fewer than two axes
    """
    bias, input_x = as_operand(bias), as_operand(input_x)
    if bias.ndim != 1 or input_x.ndim < 2:
        raise ShapeError("bias_add: a bias of one axis and an input of two or more are wanted",
                         note=f"input_x: {list(input_x.shape)}, bias: {list(bias.shape)}")
    return input_x + reshape(bias, shape=(1, bias.shape[0]) + (1,) * (input_x.ndim - 2))


@planned
def dense(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """input @ weight^T + bias: weight is [out, in], bias [out]; leading axes of input stay.

    raises : ShapeError if input's last axis is not weight's
    """
    x, w = layer_operands("dense", input, weight)
    axes_of("dense", x, 1), axes_of("dense", w, 1)
    shape = tuple(x.shape)
    if w.ndim == 1:
        out = matmul(x, w)
    else:
        flat = x if x.ndim == 2 else reshape(x, shape=(product(shape[:-1]), shape[-1]))
        out = batch_matmul(flat, w, transpose_b=True)
    if bias is not None:
        out = out + as_operand(bias)
    return out if x.ndim == 2 or w.ndim == 1 else reshape(out, shape=shape[:-1] + (w.shape[0],))


@planned
def linear(x: TensorLike, w: TensorLike, b: TensorLike | None = None) -> Tensor:
    """x @ w^T + b, as `dense`.

    x      : Tensor [.., in], not bool
    w      : Tensor [out, in], or [in] for one result
    b      : Tensor [out], or None
    out    : Tensor [.., out], [..] for w [in]; operands are promoted
    raises : ShapeError where the last axis of x is not that of w, DTypeError for bool
    """
    return dense(x, w, b)

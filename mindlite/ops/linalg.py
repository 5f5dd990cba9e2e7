"""Matrix products."""
import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, ShapeError
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import cast as cast_scalar, reduce
from .axes import broadcast_index, broadcast_shapes
from .basic import batched, reshape, sum_to
from .define import promote_operands


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


@eval_rule(batch_matmul)
def matmul_eval(a, b, *, transpose_a, transpose_b):
    out = np.matmul(np.swapaxes(a, -1, -2) if transpose_a else a, np.swapaxes(b, -1, -2) if transpose_b else b)
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

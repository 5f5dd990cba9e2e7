"""The singular value decomposition of matrices: x = u diag(s) v^T, s falling. LAPACK, through NumPy.

With p = u^T dx v and F[i, j] = 1 / (s[j]^2 - s[i]^2), 0 on the diagonal (Giles 2008, section 3.2; Townsend 2016):

    ds = diag(p)        du = u (F * (p S + S p^T)) + (I - u u^T) dx v / S        dv: the same for the transposed matrix

u and v are determined up to the sign of each column; gradients are those of one choice. Where two singular values are
equal their vectors have no derivative: it is infinite.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common.dim import dim_min
from ..common.errors import DTypeError, GradientError, ShapeError
from ..common.tensor import TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .basic import cast, reshape
from .creation import eye
from .decomposition import batch_first, lapack, one_operand, stack_spec, turned, wide
from .define import as_operand
from .linalg import batch_matmul
from .logic import where
from .reduction import sum
from .sbp import sbp_rule


@primitive(traits={"library"}, prepare=one_operand)
def singular_decomposition(x, *, full=False):
    """(s[.., k], u[.., m, k], v[.., n, k]) of x : float[.., m, n], k = min(m, n); full: u and v are square."""


@infer_rule(singular_decomposition)
def singular_infer(x, *, full):
    if x.dtype.kind != "f":
        raise DTypeError(f"svd: does not take {x.dtype.name}", note=f"x: {x}", hint="takes floats")
    if x.ndim < 2:
        raise ShapeError("svd: a matrix, or a stack of them, is wanted", note=f"x: {x}")
    m, n = x.shape[-2:]
    k = dim_min(m, n)
    return AbstractTuple(tuple(AbstractTensor(x.dtype, x.shape[:-2] + end) for end in (
        (k,), (m, m if full else k), (n, n if full else k))))


@eval_rule(singular_decomposition)
def singular_eval(x, *, full):
    u, s, vt = lapack("svd", lambda a: np.linalg.svd(a, full_matrices=full), wide(x))
    return tuple(np.ascontiguousarray(part, x.dtype) for part in (s, u, np.swapaxes(vt, -1, -2)))


def _gaps(s):
    """F, see above."""
    square = s * s
    row, column = (reshape(square, shape=(*s.shape[:-1], *end)) for end in ((1, s.shape[-1]), (s.shape[-1], 1)))
    same = cast(eye(s.shape[-1], s.shape[-1], s.dtype), dtype="bool")
    return where(same, 0, 1 / where(same, 1, row - column))


def _thin(s, u, v):
    """(s as a row, u and v of k columns)"""
    k = s.shape[-1]
    return reshape(s, shape=(*s.shape[:-1], 1, k)), u[..., :k], v[..., :k]


def _outside(u, x):
    """(I - u u^T) x"""
    return x - batch_matmul(u, batch_matmul(u, x, transpose_a=True))


@bprop_rule(singular_decomposition)
def singular_bprop(x, out, dout, *, full):
    s, u, v = _thin(*out)
    ds, du, dv = dout
    middle, dx = 0, 0
    if ds is not None:
        middle = middle + reshape(ds, shape=s.shape) * eye(s.shape[-1], s.shape[-1], x.dtype)
    if du is not None:
        du = du[..., :s.shape[-1]]
        turn = batch_matmul(u, du, transpose_a=True)
        middle = middle + _gaps(out[0]) * (turn - turned(turn)) * s
        dx = dx + batch_matmul(_outside(u, du) / s, v, transpose_b=True)
    if dv is not None:
        dv = dv[..., :s.shape[-1]]
        turn = batch_matmul(v, dv, transpose_a=True)
        middle = middle + turned(s) * (_gaps(out[0]) * (turn - turned(turn)))
        dx = dx + batch_matmul(u, _outside(v, dv) / s, transpose_b=True)
    return (dx + batch_matmul(batch_matmul(u, middle), v, transpose_b=True),)


@jvp_rule(singular_decomposition)
def singular_jvp(primals, tangents, out, *, full):
    if full:
        raise GradientError("svd: forward mode has no derivative of full matrices", hint="full_matrices=False")
    (s, u, v), t, gaps = _thin(*out), tangents[0], _gaps(out[0])
    p = batch_matmul(batch_matmul(u, t, transpose_a=True), v)
    ds = sum(p * eye(p.shape[-1], p.shape[-1], p.dtype), -1)
    du = batch_matmul(u, gaps * (p * s + turned(p * s))) + _outside(u, batch_matmul(t, v)) / s
    dv = batch_matmul(v, gaps * (turned(s) * p + turned(turned(s) * p))) + _outside(v, batch_matmul(turned(t), u)) / s
    return ds, du, dv


sbp_rule(singular_decomposition, stack_spec((1, 2, 2)))
batch_first(singular_decomposition)


def svd(input: TensorLike, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """(s, u, v) with input[.., m, n] = u diag(s) v^T, s falling; without compute_uv only s.

    full_matrices : u and v are square; their further columns have no gradient
    raises        : DTypeError for what is no float, ShapeError without two axes
    """
    s, u, v = singular_decomposition(as_operand(input), full=bool(full_matrices and compute_uv))
    return (s, u, v) if compute_uv else s

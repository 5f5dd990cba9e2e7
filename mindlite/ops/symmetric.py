"""Eigenvalues of symmetric matrices: x = v diag(w) v^T, w rising. LAPACK, through NumPy.

With p = v^T dx v and F[i, j] = 1 / (w[j] - w[i]), 0 on the diagonal (Giles 2008, section 3.1):

    dw = diag(p)        dv = v (F * p)

Only the lower triangle of x is read, so a gradient is one of that triangle: an element below the diagonal stands for two.
v is determined up to the sign of each column; where two eigenvalues are equal, their vectors have no derivative.
"""
import numpy as np

from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .basic import cast, reshape
from .creation import eye, tril
from .decomposition import _square, batch_first, lapack, one_operand, stack_spec, turned, wide
from .linalg import batch_matmul
from .logic import where
from .reduction import sum
from .sbp import sbp_rule


@primitive(traits={"library"}, prepare=one_operand)
def symmetric_eigenpairs(x):
    """(w[.., n] rising, v[.., n, n]) with x v = v diag(w) for the lower triangles x : float[.., n, n]; v is orthogonal.

    raises : DTypeError for what is no float, ShapeError for what is not square
    """


@infer_rule(symmetric_eigenpairs)
def symmetric_infer(x):
    _square("eigh", x)
    return AbstractTuple((AbstractTensor(x.dtype, x.shape[:-1]), x))


@eval_rule(symmetric_eigenpairs)
def symmetric_eval(x):
    w, v = lapack("eigh", np.linalg.eigh, wide(x))
    return np.ascontiguousarray(w, x.dtype), np.ascontiguousarray(v, x.dtype)


def _one(x):
    return eye(x.shape[-1], x.shape[-1], x.dtype)


def _gaps(w, one):
    """F, see above."""
    row, column = (reshape(w, shape=(*w.shape[:-1], *end)) for end in ((1, w.shape[-1]), (w.shape[-1], 1)))
    same = cast(one, dtype="bool")
    return where(same, 0, 1 / where(same, 1, row - column))


@bprop_rule(symmetric_eigenpairs)
def symmetric_bprop(x, out, dout):
    (w, v), (dw, dv), one = out, dout, _one(x)
    middle = 0
    if dw is not None:
        middle = middle + reshape(dw, shape=(*w.shape[:-1], w.shape[-1], 1)) * one
    if dv is not None:
        middle = middle + _gaps(w, one) * batch_matmul(v, dv, transpose_a=True)
    whole = batch_matmul(batch_matmul(v, middle), v, transpose_b=True)
    return (tril(whole + turned(whole)) * (1 - one / 2),)


@jvp_rule(symmetric_eigenpairs)
def symmetric_jvp(primals, tangents, out):
    (w, v), one = out, _one(tangents[0])
    t = tril(tangents[0])
    p = batch_matmul(batch_matmul(v, t + turned(t) * (1 - one), transpose_a=True), v)
    return sum(p * one, -1), batch_matmul(v, _gaps(w, one) * p)


sbp_rule(symmetric_eigenpairs, stack_spec((1, 2)))
batch_first(symmetric_eigenpairs)

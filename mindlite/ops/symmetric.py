"""Eigenvalues of symmetric and Hermitian matrices: x = v diag(w) v^H, w rising. LAPACK, through NumPy.

With p = v^H dx v and F[i, j] = 1 / (w[j] - w[i]), 0 on the diagonal (Giles 2008, section 3.1):

    dw = diag(p)        dv = v (F * p)

Only the lower triangle of x is read, so a gradient is one of that triangle: an element below the diagonal stands for two.
v is determined up to the sign, or phase, of each column; where two eigenvalues are equal, their vectors have no derivative.
"""
import numpy as np

from ..common import dtype as dt
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .basic import cast, reshape
from .complex_numbers import real_part
from .creation import eye, tril
from .decomposition import _square, adjoint, batch_first, lapack, one_operand, stack_spec, wide
from .linalg import batch_matmul
from .logic import where
from .reduction import sum
from .sbp import sbp_rule


_REAL = {dt.complex64: dt.float32, dt.complex128: dt.float64}


@primitive(traits={"library"}, prepare=one_operand)
def symmetric_eigenpairs(x):
    """(w[.., n] rising, v[.., n, n]) with x v = v diag(w) for the lower triangles x : float or complex[.., n, n]; v is unitary.

    raises : DTypeError for integers, ShapeError for what is not square
    """


@infer_rule(symmetric_eigenpairs)
def symmetric_infer(x):
    _square("eigh", x, "fc")
    return AbstractTuple((AbstractTensor(_REAL.get(x.dtype, x.dtype), x.shape[:-1]), x))


@eval_rule(symmetric_eigenpairs)
def symmetric_eval(x):
    w, v = lapack("eigh", np.linalg.eigh, wide(x))
    return np.ascontiguousarray(w, x.real.dtype), np.ascontiguousarray(v, x.dtype)


def _one(x):
    return eye(x.shape[-1], x.shape[-1], x.dtype)


def _gaps(w, one):
    """F, see above."""
    row, column = (reshape(w, shape=(*w.shape[:-1], *end)) for end in ((1, w.shape[-1]), (w.shape[-1], 1)))
    same = cast(real_part(one) if one.dtype.kind == "c" else one, dtype="bool")
    return cast(where(same, 0, 1 / where(same, 1, row - column)), dtype=one.dtype)


@bprop_rule(symmetric_eigenpairs)
def symmetric_bprop(x, out, dout):
    (w, v), (dw, dv), one = out, dout, _one(x)
    middle = 0
    if dw is not None:
        middle = middle + cast(reshape(dw, shape=(*w.shape[:-1], w.shape[-1], 1)), dtype=x.dtype) * one
    if dv is not None:
        middle = middle + _gaps(w, one) * batch_matmul(adjoint(v), dv)
    whole = batch_matmul(batch_matmul(v, middle), adjoint(v))
    return (tril(whole + adjoint(whole)) * (1 - one / 2),)


@jvp_rule(symmetric_eigenpairs)
def symmetric_jvp(primals, tangents, out):
    (w, v), one = out, _one(tangents[0])
    t = tril(tangents[0])
    p = batch_matmul(batch_matmul(adjoint(v), (t + adjoint(t)) * (1 - one / 2)), v)
    dw = sum(p * one, -1)
    return real_part(dw) if p.dtype.kind == "c" else dw, batch_matmul(v, _gaps(w, one) * p)


sbp_rule(symmetric_eigenpairs, stack_spec((1, 2)))
batch_first(symmetric_eigenpairs)

"""Gauss's elimination with exchanges of rows: x[order] = l u, l with ones on its diagonal, u triangular.

With m = l^-1 dx[order] u^-1:      dl = l tril(m, -1),  du = triu(m) u             (de Hoog, Anderssen, Lukas 2011)

Row k is exchanged with that of the largest element below (partial pivoting; Golub and Van Loan, section 3.4). It runs in
NumPy, a column at a time, on all matrices of a stack at once.
"""
import numpy as np

from ..common import dtype as dt
from ..common.dim import dim_min
from ..common.errors import GradientError
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .basic import broadcast_to
from .creation import eye, tril, triu
from .decomposition import batch_first, one_operand, solved, stack_spec, turned, wide
from .factors import _matrices, _permutation
from .linalg import batch_matmul
from .lookup import gather_elements
from .sbp import sbp_rule
from .sort import argsort
from .structure import expand_dims


@primitive(traits={"library"}, prepare=one_operand)
def eliminated(x):
    """(l below the diagonal and u on and above it, [.., m, n]; pivots int32[.., min(m, n)]) of x : float[.., m, n].

    pivots   : from 1, as LAPACK: row k was exchanged with row pivots[k] - 1, in order
    gradient : for square matrices
    """


@infer_rule(eliminated)
def eliminated_infer(x):
    _matrices("lu", x)
    return AbstractTuple((x, AbstractTensor(dt.int32, (*x.shape[:-2], dim_min(*x.shape[-2:])))))


@eval_rule(eliminated)
def eliminated_eval(x):
    made = np.array(wide(x)).reshape(-1, *x.shape[-2:])
    count, stack = min(x.shape[-2:]), np.arange(made.shape[0])
    pivots = np.zeros((len(made), count), np.int32)
    for k in range(count):
        other = k + np.argmax(np.abs(made[:, k:, k]), axis=1)
        pivots[:, k] = other + 1
        row = made[stack, other].copy()
        made[stack, other], made[:, k] = made[:, k].copy(), row
        pivot = row[:, k, None]
        below = np.where(pivot == 0, made[:, k + 1:, k], made[:, k + 1:, k] / np.where(pivot == 0, 1, pivot))
        made[:, k + 1:, k] = below
        made[:, k + 1:, k + 1:] -= below[:, :, None] * row[:, None, k + 1:]
    return made.reshape(x.shape).astype(x.dtype, copy=False), pivots.reshape(*x.shape[:-2], count)


def _parts(x, out):
    """(l, u, the order of the rows as an index of x's shape)."""
    n, made = x.shape[-1], out[0]
    if x.shape[-2] != n:
        raise GradientError("lu: the factors of matrices that are not square have no gradient here")
    order = _permutation("lu", out[1], n)
    return tril(made, -1) + eye(n, n, made.dtype), triu(made), order


def _rows(x, order):
    return gather_elements(x, -2, broadcast_to(expand_dims(order, -1), shape=tuple(x.shape)))


@bprop_rule(eliminated)
def eliminated_bprop(x, out, dout):
    lower, upper, order = _parts(x, out)
    inner = (tril(batch_matmul(lower, tril(dout[0], -1), transpose_a=True), -1)
             + triu(batch_matmul(triu(dout[0]), upper, transpose_b=True)))
    left = solved(lower, inner, True, True, True)
    return (_rows(turned(solved(upper, turned(left), False)), argsort(order, -1)),)


@jvp_rule(eliminated)
def eliminated_jvp(primals, tangents, out):
    lower, upper, order = _parts(primals[0], out)
    left = solved(lower, _rows(tangents[0], order), True, unit=True)
    inner = turned(solved(upper, turned(left), False, True))
    return batch_matmul(lower, tril(inner, -1)) + batch_matmul(triu(inner), upper), None


sbp_rule(eliminated, stack_spec((2, 1)))
batch_first(eliminated)

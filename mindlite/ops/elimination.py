"""Gauss's elimination with exchanges of rows: x[order] = l u, l with ones on its diagonal, u triangular.

With m = l^-1 dx[order] u^-1:      dl = l tril(m, -1),  du = triu(m) u             (de Hoog, Anderssen, Lukas 2011)

Of a matrix that is not square this holds for its first square part; the further rows of l are dx u^-1, the further columns of
u are l^-1 dx, less what the first part changes.

Row k is exchanged with that of the largest element below (partial pivoting; Golub and Van Loan, section 3.4). It runs in
NumPy, a column at a time, on all matrices of a stack at once.
"""
import numpy as np

from ..common import dtype as dt
from ..common.dim import compare, dim_min
from ..common.errors import GradientError
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .basic import broadcast_to
from .creation import eye, tril, triu
from .decomposition import adjoint, batch_first, one_operand, solved, stack_spec, turned, wide
from .factors import _matrices, _permutation
from .linalg import batch_matmul
from .lookup import gather_elements
from .sbp import sbp_rule
from .sort import argsort
from .structure import concat, expand_dims


@primitive(traits={"library"}, prepare=one_operand)
def eliminated(x):
    """(l below the diagonal and u on and above it, [.., m, n]; pivots int32[.., min(m, n)]) of x : float or complex[.., m, n].

    pivots   : from 1, as LAPACK: row k was exchanged with row pivots[k] - 1, in order
    """


@infer_rule(eliminated)
def eliminated_infer(x):
    _matrices("lu", x, accepts="fc")
    return AbstractTuple((x, AbstractTensor(dt.int32, (*x.shape[:-2], dim_min(*x.shape[-2:])))))


@eval_rule(eliminated)
def eliminated_eval(x):
    made = np.array(wide(x)).reshape(-1, *x.shape[-2:])
    count, stack = min(x.shape[-2:]), np.arange(made.shape[0])
    pivots = np.zeros((len(made), count), np.int32)
    for k in range(count):
        column = made[:, k:, k]                              # LAPACK's size of a complex number: |real| + |imaginary|
        size = np.abs(column.real) + np.abs(column.imag) if x.dtype.kind == "c" else np.abs(column)
        other = k + np.argmax(size, axis=1)
        pivots[:, k] = other + 1
        row = made[stack, other].copy()
        made[stack, other], made[:, k] = made[:, k].copy(), row
        pivot = row[:, k, None]
        below = np.where(pivot == 0, made[:, k + 1:, k], made[:, k + 1:, k] / np.where(pivot == 0, 1, pivot))
        made[:, k + 1:, k] = below
        made[:, k + 1:, k + 1:] -= below[:, :, None] * row[:, None, k + 1:]
    return made.reshape(x.shape).astype(x.dtype, copy=False), pivots.reshape(*x.shape[:-2], count)


def _parts(x):
    """(the first square part of x : [.., m, n], the rows below it, the columns beside it); None for what is not there."""
    m, n = x.shape[-2:]
    if compare("<=", m, n) is None or compare("<", m, n) is None:
        raise GradientError("lu: a matrix of open sizes has no derivative", note=f"x: {list(x.shape)}")
    if not compare("<=", m, n):
        return x[..., :n, :], x[..., n:, :], None
    return (x, None, None) if not compare("<", m, n) else (x[..., :m], None, x[..., m:])


def _factors(made):
    """(l, u) of the square part of what `eliminated` gives."""
    return tril(made, -1) + eye(made.shape[-1], made.shape[-1], made.dtype), triu(made)


def _over(a, upper):
    """a upper^-1"""
    return turned(solved(upper, turned(a), False, True))


def _rows(x, order):
    return gather_elements(x, -2, broadcast_to(expand_dims(order, -1), shape=tuple(x.shape)))


@bprop_rule(eliminated)
def eliminated_bprop(x, out, dout):
    order = _permutation("lu", out[1], x.shape[-2])
    made, below, beside = _parts(out[0])
    change, down, right = _parts(dout[0])
    lower, upper = (adjoint(factor) for factor in _factors(made))
    under = batch_matmul(lower, tril(change, -1))
    over = batch_matmul(triu(change), upper)
    if right is not None:
        under = under - batch_matmul(right, adjoint(beside))
        right = solved(lower, right, False, unit=True)
    if down is not None:
        down = _over_lower(down, upper)
        over = over - batch_matmul(adjoint(below), batch_matmul(down, upper))
    dx = _over_lower(solved(lower, tril(under, -1) + triu(over), False, unit=True), upper)
    if right is not None:
        dx = concat((dx, right), -1)
    if down is not None:
        dx = concat((dx, down), -2)
    return (_rows(dx, argsort(order, -1)),)


def _over_lower(a, lower):
    """a lower^-1"""
    return turned(solved(lower, turned(a), True, True))


@jvp_rule(eliminated)
def eliminated_jvp(primals, tangents, out):
    order = _permutation("lu", out[1], primals[0].shape[-2])
    made, below, beside = _parts(out[0])
    change, down, right = _parts(_rows(tangents[0], order))
    lower, upper = _factors(made)
    inner = _over(solved(lower, change, True, unit=True), upper)
    dlower, dupper = batch_matmul(lower, tril(inner, -1)), batch_matmul(triu(inner), upper)
    dout = dlower + dupper
    if right is not None:
        dout = concat((dout, solved(lower, right - batch_matmul(dlower, beside), True, unit=True)), -1)
    if down is not None:
        dout = concat((dout, _over(down - batch_matmul(below, dupper), upper)), -2)
    return dout, None


sbp_rule(eliminated, stack_spec((2, 1)))
batch_first(eliminated)

"""Factors of matrices: QR, LU and eigenvalues, and what is solved with them. LAPACK, through NumPy.

    qr           x = q r, q's columns orthonormal, r upper triangular
    geqrf        q as Householder reflections: below the diagonal of one matrix, and their factors tau
    lu_solve     with the LU factors that `lu_factor` or another library gave, pivots counted from 1
    eig          x v = v diag(w), complex

The gradient of qr is Walter and Lehmann's (2010); where x is wider than it is tall, q and the left square part of r
determine the rest. Householder's and LU's parts are ordinary Python over ops.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import compare, dim_min
from ..common.errors import DTypeError, GradientError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .axes import axes_of
from .basic import broadcast_to, cast, reduce_sum, reshape
from .complex_numbers import conj, imag, real_part
from .creation import arange, eye, tril, triu, zeros
from .decomposition import (adjoint, batch_first, lapack, linear_solve, one_operand, solve_triangular, solved, stack_spec,
                            turned, wide)
from .define import as_operand, conjugate, dtype_of
from .indexing import bounded_indices
from .linalg import batch_matmul
from .logic import equal, logical_and, where
from .lookup import gather_elements
from .norms import pinv
from .sbp import sbp_rule
from .structure import concat, expand_dims


def _matrices(name, x, square=False, accepts="f"):
    if x.dtype.kind not in accepts:
        raise DTypeError(f"{name}: does not take {x.dtype.name}", note=f"x: {x}",
                         hint="takes floats" + " or complex numbers" * ("c" in accepts))
    if x.ndim < 2:
        raise ShapeError(f"{name}: a matrix, or a stack of them, is wanted", note=f"x: {x}")
    if square:
        require("==", x.shape[-1], x.shape[-2], lambda: ShapeError(f"{name}: the matrix is not square", note=f"x: {x}"))


# ---------------------------------------------------------------- QR

@primitive(traits={"library"}, prepare=one_operand)
def orthogonal_triangular(x, *, full):
    """(q[.., m, k], r[.., k, n]) with q r = x : float or complex[.., m, n], k = min(m, n), or m if full.

    gradient : not of a full one of a tall matrix, whose further columns of q nothing determines: GradientError
    """


@infer_rule(orthogonal_triangular)
def orthogonal_infer(x, *, full):
    _matrices("qr", x, accepts="fc")
    m, n = x.shape[-2:]
    k = m if full else dim_min(m, n)
    return AbstractTuple((AbstractTensor(x.dtype, (*x.shape[:-2], m, k)), AbstractTensor(x.dtype, (*x.shape[:-2], k, n))))


@eval_rule(orthogonal_triangular)
def orthogonal_eval(x, *, full):
    q, r = lapack("qr", lambda a: np.linalg.qr(a, "complete" if full else "reduced"), wide(x))
    return np.ascontiguousarray(q, x.dtype), np.ascontiguousarray(r, x.dtype)


def _tall(x, full):
    """True where x has no fewer rows than columns, or as many as its square part. raises : GradientError, see there"""
    m, n = x.shape[-2:]
    if full and not compare("<=", m, n):
        raise GradientError("qr: a full q of a tall matrix has no derivative", note=f"x: {list(x.shape)}",
                            hint='mode "reduced"')
    return compare(">=", m, n)


def _product(*matrices):
    out = matrices[0]
    for matrix in matrices[1:]:
        out = batch_matmul(out, matrix)
    return out


def _over(a, r):
    """a r^-1"""
    return turned(solved(r, turned(a), False, True))


def _mirrored(x):
    """The lower triangle, and above the diagonal its mirror image, conjugated; the diagonal is real."""
    low = tril(x, -1)
    twice = x + (conj(x) if dtype_of(x).kind == "c" else x)
    return low + adjoint(low) + twice * eye(x.shape[-1], x.shape[-1], dtype_of(x)) * 0.5


@bprop_rule(orthogonal_triangular)
def orthogonal_bprop(x, out, dout, *, full):
    (q, r), (dq, dr) = out, dout
    if _tall(x, full):
        inner = _mirrored(_product(r, adjoint(dr)) - _product(adjoint(dq), q))
        return adjoint(solved(r, adjoint(dq + _product(q, inner)), False))
    m = x.shape[-2]
    rest, drest = x[..., m:], dr[..., m:]
    square, dsquare = r[..., :m], dr[..., :m]
    dq = dq + _product(rest, adjoint(drest))
    inner = _mirrored(_product(square, adjoint(dsquare)) - _product(adjoint(dq), q))
    dleft = adjoint(solved(square, adjoint(dq + _product(q, inner)), False))
    return concat((dleft, _product(q, drest)), -1)


@jvp_rule(orthogonal_triangular)
def orthogonal_jvp(primals, tangents, out, *, full):
    (q, r), (x, dx) = out, (primals[0], tangents[0])
    m = x.shape[-2]
    tall = _tall(x, full)
    square, left = (r, dx) if tall else (r[..., :m], dx[..., :m])
    ratio = _over(left, square)
    s = _product(adjoint(q), ratio)
    low = tril(s, -1)
    omega = low - adjoint(low)                               # skew; s - omega is upper triangular
    if dtype_of(x).kind == "c":                              # and its diagonal real, as that of r
        omega = omega + (s - conj(s)) * eye(s.shape[-1], s.shape[-1], dtype_of(s)) * 0.5
    dq = _product(q, omega) + ratio - _product(q, s)
    dr = _product(s - omega, square)
    if not tall:
        dr = concat((dr, _product(adjoint(q), dx[..., m:]) - _product(omega, r[..., m:])), -1)
    return dq, dr


sbp_rule(orthogonal_triangular, stack_spec((2, 2)))
batch_first(orthogonal_triangular)


def qr(input: TensorLike, mode: str = "reduced") -> Any:
    """(q, r) with q r = input : float or complex[.., m, n]. mode : "reduced": q is [.., m, min(m, n)]; "complete": square; "r":
    only r, the first is empty. raises : ShapeError without two axes, GradientError, see orthogonal_triangular"""
    if mode not in ("reduced", "complete", "r", True, False):
        raise ShapeError(f"qr: mode is 'reduced', 'complete' or 'r', not {mode!r}")
    q, r = orthogonal_triangular(input, full=mode is True or mode == "complete")
    return (zeros((0,), dtype_of(q)), r) if mode == "r" else (q, r)


# ---------------------------------------------------------------- Householder's reflections

def _square(x):
    """The square of each absolute value, real."""
    return real_part(x * conj(x)) if dtype_of(x).kind == "c" else x * x


def geqrf(input: TensorLike) -> Any:
    """The QR factors of each matrix, q as the product of Householder's reflections I - tau v v^H.

    input  : float or complex Tensor [.., m, n]
    out    : (y [.., m, n], tau [.., min(m, n)]): r on and above the diagonal of y; below it the vectors v but for their
             first element, 1
    raises : DTypeError for integers and bools, ShapeError for what has no two axes
    source : Golub and Van Loan 2013, algorithm 5.2.1, in the form of LAPACK's geqrf; r's diagonal is real
    """
    x = as_operand(input)
    _matrices("geqrf", AbstractTensor(dtype_of(x), tuple(x.shape)), accepts="fc")
    m, n = x.shape[-2:]
    made, taus = x, []
    rows = reshape(arange(m), shape=(m, 1))
    for k in range(min(m, n)):
        column = made[..., k:k + 1]
        below = where(rows >= k, column, 0.0)
        first = made[..., k:k + 1, k:k + 1]
        others = reduce_sum(where(rows > k, _square(column), 0.0), axis=(-2,), keepdims=True)
        length = (_square(first) + others) ** 0.5
        beta = where((first if dtype_of(x).kind == "f" else real_part(first)) >= 0, -length, length)
        plain = equal(others if dtype_of(x).kind == "f" else others + imag(first) * imag(first), 0)
        tau = where(plain, 0.0, (beta - first) / where(plain, 1.0, beta))
        v = where(equal(rows, k), 1.0, where(rows > k, below / where(plain, 1.0, first - beta), 0.0))
        turned_rows = made - conjugate(tau) * _product(v, _product(adjoint(v), made))
        columns = reshape(arange(n), shape=(1, n))
        updated = where(logical_and(equal(columns, k), rows > k), broadcast_to(v, shape=tuple(made.shape)), turned_rows)
        made = where(columns < k, made, updated)
        taus.append(tau[..., 0])
    return made, concat(taus, -1)


def orgqr(input: TensorLike, input2: TensorLike) -> Tensor:
    """The first columns of q, as many as `input` has: the product of reflections that geqrf gave as y and tau.

    input  : float or complex [.., M, N], geqrf's y;     input2 : [.., K], geqrf's tau, K <= N
    out    : [.., M, N]
    raises : ShapeError for another tau
    source : LAPACK's orgqr; Golub and Van Loan, Matrix Computations, section 5.1.6
    """
    y, tau = as_operand(input), as_operand(input2)
    if tau.ndim != y.ndim - 1 or compare("<=", tau.shape[-1], y.shape[-1]) is False:
        raise ShapeError("orgqr: tau has at most as many numbers as y has columns",
                         note=f"y: {list(y.shape)}, tau: {list(tau.shape)}")
    q = broadcast_to(eye(y.shape[-2], y.shape[-1], dtype_of(y)), shape=tuple(y.shape))
    return _reflected(y, tau, q, False)


def _reflected(y, tau, other, transpose):
    """q other, or q^H other, for the reflections of geqrf."""
    rows = reshape(arange(y.shape[-2]), shape=(-1, 1))
    order = range(tau.shape[-1])
    for k in order if transpose else reversed(order):
        v = where(equal(rows, k), 1.0, where(rows > k, y[..., k:k + 1], 0.0))
        scale = conjugate(tau) if transpose else tau
        other = other - expand_dims(scale[..., k:k + 1], -1) * _product(v, _product(adjoint(v), other))
    return other


def ormqr(input: TensorLike, tau: TensorLike, other: TensorLike, left: bool = True, transpose: bool = False) -> Tensor:
    """q other, or other q, with the q whose reflections geqrf gave.

    input     : float or complex [.., M, K], geqrf's y;     tau : [.., K]
    other     : [.., M, N] where left, else [.., N, M]
    left      : bool; True: q other, False: other q
    transpose : bool; True: the conjugate transpose of q in its place
    raises    : ShapeError where the sizes M differ
    source    : LAPACK's ormqr
    """
    y, tau, other = (as_operand(v) for v in (input, tau, other))
    axes_of("ormqr", y, 2), axes_of("ormqr", other, 2)
    if left:
        return _reflected(y, tau, other, transpose)
    return adjoint(_reflected(y, tau, adjoint(other), not transpose))


# ---------------------------------------------------------------- LU

def _permutation(name, pivots, size):
    """The order of rows that the exchanges `pivots` (int[.., k], from 1) make of 0, 1, .., size - 1."""
    order = broadcast_to(arange(size), shape=(*pivots.shape[:-1], size))
    positions = arange(size)
    pivots = bounded_indices(pivots, what=f"{name}: pivot", low=1, high=size + 1)
    for k in range(pivots.shape[-1]):
        other = cast(pivots[..., k:k + 1], dtype=dt.int64) - 1
        here, there = order[..., k:k + 1], gather_elements(order, -1, other)
        order = where(equal(positions, k), there, where(equal(positions, other), here, order))
    return order


def lu_unpack(LU_data: TensorLike, LU_pivots: TensorLike, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The parts P, L, U with A = P L U, of which LU_data and LU_pivots are the packed form.

    LU_data : Tensor [.., m, n]: U on and above the diagonal, below it L, whose diagonal is 1
    LU_pivots : int Tensor [.., min(m, n)], from 1: row i was exchanged with row LU_pivots[i]
    unpack_data : bool; False gives None for L and U
    unpack_pivots : bool; False gives None for P
    out    : (P [.., m, m], L [.., m, min(m, n)], U [.., min(m, n), n]) in LU_data's dtype
    raises : OperandIndexError for a pivot outside 1..m, DTypeError for pivots that are no integers
    """
    data, pivots = as_operand(LU_data), as_operand(LU_pivots)
    axes_of("lu_unpack", data, 2), axes_of("lu_unpack", pivots, 1)
    m, n = data.shape[-2:]
    k = min(m, n)
    lower = upper = permutation = None
    if unpack_data:
        lower = tril(data[..., :k], -1) + eye(m, k, dtype_of(data))
        upper = triu(data[..., :k, :])
    if unpack_pivots:
        order = _permutation("lu_unpack", pivots, m)
        rows = reshape(arange(m), shape=(m, 1))
        permutation = cast(equal(rows, expand_dims(order, -2)), dtype=dtype_of(data))
    return permutation, lower, upper


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution X of A X = b from A's LU factors.

    b      : float or complex Tensor [.., n, k]
    LU_data : float or complex Tensor [.., n, n]: U on and above the diagonal, below it L, whose diagonal is 1
    LU_pivots : int Tensor [.., n], from 1: row i was exchanged with row LU_pivots[i]
    out    : Tensor [.., n, k]
    raises : DTypeError for factors of integers or pivots that are no integers, ShapeError for what does not fit,
             OperandIndexError for a pivot outside 1..n, ValueRangeError (when run) for a singular U
    source : Golub and Van Loan 2013, section 3.4
    """
    data, b = as_operand(LU_data), as_operand(b)
    _matrices("lu_solve", AbstractTensor(dtype_of(data), tuple(data.shape)), True, "fc")
    if b.ndim < 2:
        raise ShapeError("lu_solve: the right side is a matrix, or a stack of them", note=f"b: {list(b.shape)}")
    order = _permutation("lu_solve", as_operand(LU_pivots), data.shape[-1])
    index = broadcast_to(expand_dims(order, -1), shape=(*order.shape, b.shape[-1]))
    lead = index.shape[:-2]
    b = gather_elements(broadcast_to(b, shape=(*lead, *b.shape[-2:])), -2, index)
    return solve_triangular(data, solve_triangular(data, b, lower=True, unit_diagonal=True), lower=False)


# ---------------------------------------------------------------- least squares

def lstsq(input: TensorLike, A: TensorLike) -> Any:
    """X with the least |input X - A|, [n, k] for input [m, n] and A [m, k] or [m], float or complex; the shortest where m < n."""
    x, b = as_operand(input), as_operand(A)
    column = b if b.ndim == x.ndim else expand_dims(b, -1)
    return _product(pinv(x), column)


# ---------------------------------------------------------------- eigenvalues

@primitive(traits={"library"}, prepare=one_operand)
def eigenpairs(x):
    """(w complex[.., n], v complex[.., n, n]) with x v = v diag(w) for x : float or complex[.., n, n]; columns of length 1.

    gradient : of what does not depend on the phases of the vectors; infinite or nan where eigenvalues are equal
    source   : Boeddeker et al., "On the Computation of Complex-valued Gradients" (2017), section 4
    """


@infer_rule(eigenpairs)
def eigenpairs_infer(x):
    if x.dtype.kind != "c":
        _matrices("eig", x, True)
    made = dt.complex128 if x.dtype in (dt.float64, dt.complex128) else dt.complex64
    return AbstractTuple((AbstractTensor(made, x.shape[:-1]), AbstractTensor(made, x.shape)))


@eval_rule(eigenpairs)
def eigenpairs_eval(x):
    made = np.complex128 if x.dtype.itemsize * (1 + (x.dtype.kind != "c")) == 16 else np.complex64
    w, v = lapack("eig", np.linalg.eig, wide(x))
    return np.ascontiguousarray(w, made), np.ascontiguousarray(v, made)


def _unit(n):
    """Is it the diagonal: bool[n, n]."""
    return cast(eye(n, dtype=dt.float32), dtype=dt.bool_)


def _gaps(w):
    """w_j - w_i, 1 on the diagonal."""
    return where(_unit(w.shape[-1]), 1, expand_dims(w, -2) - expand_dims(w, -1))


def _diagonals(matrix):
    """The diagonal of each matrix."""
    return reduce_sum(where(_unit(matrix.shape[-1]), matrix, 0), axis=(matrix.ndim - 1,), keepdims=False)


def _lengths(v, change):
    """What a change of each vector, [.., n, n], has of the vector itself: its length stays 1."""
    share = real_part(_diagonals(_product(turned(conj(v)), change)))
    return v * expand_dims(cast(share, dtype=v.dtype), -2)


@bprop_rule(eigenpairs)
def eigenpairs_bprop(x, out, dout):
    (w, v), (dw, dv) = out, dout
    across = turned(conj(v))
    inner = where(_unit(w.shape[-1]), expand_dims(dw, -2), _product(across, dv - _lengths(v, dv)) / _gaps(conj(w)))
    dx = linear_solve(across, _product(inner, across))
    return dx if x.dtype.kind == "c" else real_part(dx)


@jvp_rule(eigenpairs)
def eigenpairs_jvp(primals, tangents, out):
    w, v = out
    inner = linear_solve(v, _product(cast(tangents[0], dtype=v.dtype), v))
    dv = _product(v, where(_unit(w.shape[-1]), 0, inner / _gaps(w)))
    return _diagonals(inner), dv - _lengths(v, dv)


sbp_rule(eigenpairs, stack_spec((1, 2)))
batch_first(eigenpairs)


def eig(A: TensorLike) -> Any:
    """The eigenvalues w and eigenvectors v of each square matrix: A v = v diag(w).

    A      : float or complex Tensor [.., n, n]
    out    : (w [.., n], v [.., n, n]), complex64, or complex128 for float64 and complex128; the columns of v have length 1; in no
             certain order
    raises : DTypeError for integers and bools, ShapeError for what is not square, ValueRangeError where LAPACK does not converge
    gradient: of what does not depend on the phases of the vectors; infinite or NaN where eigenvalues are equal
    source : LAPACK's geev, through NumPy; gradient: Boeddeker et al. 2017, section 4
    """
    return eigenpairs(A)


def eigvals(A: TensorLike) -> Tensor:
    """The eigenvalues of each square matrix.

    A      : float or complex Tensor [.., n, n]
    out    : Tensor [.., n], complex64, or complex128 for float64 and complex128; in no certain order
    raises : DTypeError for integers and bools, ShapeError for what is not square, ValueRangeError where LAPACK does not converge
    source : LAPACK's geev, through NumPy
    """
    return eigenpairs(A)[0]


# ---------------------------------------------------------------- the exponential

@primitive(traits={"library"}, prepare=one_operand)
def matrix_exp(x: TensorLike):
    """The exponential of each matrix in x : float or complex[.., n, n]: I + x + x x / 2 + ..

    source : scaling and squaring of a Taylor sum (Higham 2008, section 10.3); the gradient is a block of the exponential
             of a block matrix (Najfeld and Havel 1995)
    """


matrix_exp.also(input="x")


@infer_rule(matrix_exp)
def matrix_exp_infer(x):
    _matrices("matrix_exp", x, True, "fc")
    return x


@eval_rule(matrix_exp)
def matrix_exp_eval(x):
    y = np.asarray(x, np.complex128 if x.dtype.kind == "c" else np.float64)
    size = np.abs(y).sum(-2).max(initial=0)
    halvings = max(0, int(np.ceil(np.log2(size))) + 2) if np.isfinite(size) and size > 0 else 0
    y = y / 2.0 ** halvings
    out: Any = np.broadcast_to(np.eye(y.shape[-1]), y.shape)
    term = out
    for k in range(1, 18):
        term = term @ y / k
        out = out + term
    for _ in range(halvings):
        out = out @ out
    return np.ascontiguousarray(out, x.dtype)


def _along(x, direction):
    """The derivative of the exponential at x in a direction."""
    zero = x * 0
    n = x.shape[-1]
    block = concat((concat((x, direction), -1), concat((zero, x), -1)), -2)
    return matrix_exp(block)[..., :n, n:]


bprop_rule(matrix_exp)(lambda x, out, dout: _along(adjoint(x), dout))
jvp_rule(matrix_exp)(lambda primals, tangents, out: _along(primals[0], tangents[0]))
sbp_rule(matrix_exp, stack_spec((2,)))
batch_first(matrix_exp)

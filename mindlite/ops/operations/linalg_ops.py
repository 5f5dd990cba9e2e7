"""Matrices, special functions and segments as classes."""
from .. import (bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bidense, cdist, cholesky, cholesky_inverse,
                cholesky_solve, cross, det, digamma, erfinv, fmax, fmin, heaviside, index_add, inplace_add, inplace_sub,
                inplace_update, inverse, lgamma, logit, matrix_band_part, polygamma, renorm, sgn, slogdet, solve,
                concat, conj, eye, matmul, pinv, roll, svd, swapaxes, zeros_like,
                unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum)
from ...common.errors import ShapeError
from ..define import as_operand, cast_to, dtype_of
from .define import operation, table
from .writing import written

globals().update(table({
    "MatrixDeterminant": det, "LogMatrixDeterminant": slogdet, "Lgamma": lgamma, "Digamma": digamma,
    "Erfinv": erfinv, "Polygamma": lambda a, x: polygamma(int(a), x), "MatrixBandPart": matrix_band_part,
    "UnsortedSegmentSum": unsorted_segment_sum, "UnsortedSegmentMax": unsorted_segment_max,
    "UnsortedSegmentMin": unsorted_segment_min, "UnsortedSegmentProd": unsorted_segment_prod,
    "BesselI0": bessel_i0, "BesselI0e": bessel_i0e, "BesselI1": bessel_i1, "BesselI1e": bessel_i1e,
    "Heaviside": heaviside, "Fmax": fmax, "Fmin": fmin, "Sgn": sgn, "BiDense": bidense,
}))


@operation
def Svd(x, *, full_matrices=False, compute_uv=True):
    """(s, u, v) with x = u diag(s) v^T."""
    return svd(x, full_matrices, compute_uv)


@operation
def MatrixInverse(x, *, adjoint=False):
    """The inverse of each matrix, or of its transpose."""
    return inverse(swapaxes(x, -1, -2) if adjoint else x)


@operation
def MatrixSolve(matrix, rhs, *, adjoint=False):
    """X with matrix @ X = rhs, or with its transpose."""
    return solve(swapaxes(matrix, -1, -2) if adjoint else matrix, rhs)


@operation
def Cholesky(input_x, *, upper=False):
    """Cholesky's factor."""
    return cholesky(input_x, upper)


@operation
def CholeskyInverse(x, *, upper=False):
    """The inverse from Cholesky's factor."""
    return cholesky_inverse(x, upper)


@operation
def CholeskySolve(x1, x2, *, upper=False):
    """The solution for the right side x1 from Cholesky's factor x2."""
    return cholesky_solve(x1, x2, upper)


@operation
def Cross(x1, x2, *, dim=-65530):
    """The vector product along `dim`, by default the first axis of size 3."""
    return cross(x1, x2, None if dim == -65530 else dim)


@operation
def Cdist(input_x, input_y, *, p=2.0):
    """The p-norm distances of rows."""
    return cdist(input_x, input_y, p)


@operation
def Renorm(input_x, *, p, dim, maxnorm):
    """Parts along `dim` whose p-norm is above maxnorm, scaled down to it."""
    return renorm(input_x, p, dim, maxnorm)


@operation
def Logit(x, *, eps=-1.0):
    """log(x / (1 - x)), x kept in [eps, 1 - eps] where eps is not negative."""
    return logit(x, eps)


@operation
def InplaceAdd(x, v, *, indices):
    """x with v added to rows."""
    return inplace_add(x, v, indices)


@operation
def InplaceIndexAdd(var, indices, updates, *, axis):
    """What var holds after updates is added at `indices` along `axis` in its memory."""
    return written(var, index_add(var, indices, updates, axis))


@operation
def InplaceSub(x, v, *, indices):
    """x with v taken off rows."""
    return inplace_sub(x, v, indices)


@operation
def InplaceUpdate(x, v, *, indices):
    """x with v written to rows."""
    return inplace_update(x, v, indices)


@operation
def TridiagonalMatMul(superdiag, maindiag, subdiag, rhs):
    """The product of matrices with three diagonals and dense ones.

    superdiag, maindiag, subdiag : [.., 1, M]; the last of the first and the first of the last have no meaning; rhs : [.., M, N]
    """
    upper, middle, lower = (swapaxes(as_operand(x), -1, -2) for x in (superdiag, maindiag, subdiag))
    rhs = as_operand(rhs)
    nothing = zeros_like(rhs[..., :1, :])
    below = concat((rhs[..., 1:, :], nothing), -2)
    above = concat((nothing, rhs[..., :-1, :]), -2)
    return upper * below + middle * rhs + lower * above


@operation
def MatrixSolveLs(matrix, rhs, l2_regularizer, *, fast=True):
    """The x that makes |matrix x - rhs|^2 + l2 |x|^2 least; of several the shortest.

    matrix : [.., M, N]; rhs : [.., M, K]; l2_regularizer : []; fast : by the normal equations, else by the pseudo-inverse
    out    : [.., N, K]; raises : ShapeError
    source : Golub & Van Loan, Matrix Computations, section 5.3
    """
    matrix, rhs = as_operand(matrix), as_operand(rhs)
    if matrix.ndim < 2 or rhs.ndim != matrix.ndim or rhs.shape[-2] != matrix.shape[-2]:
        raise ShapeError("MatrixSolveLs: matrix is [.., M, N], rhs [.., M, K]", note=f"{list(matrix.shape)}, {list(rhs.shape)}")
    if not fast:
        return matmul(pinv(matrix), rhs)
    other = swapaxes(matrix, -1, -2) if dtype_of(matrix).kind != "c" else conj(swapaxes(matrix, -1, -2))
    rows, columns = matrix.shape[-2:]
    weight = cast_to(l2_regularizer, dtype_of(matrix)) * eye(min(rows, columns), dtype=dtype_of(matrix))
    if rows >= columns:
        return solve(matmul(other, matrix) + weight, matmul(other, rhs))
    return matmul(other, solve(matmul(matrix, other) + weight, rhs))


def _roll(x, *, shifts, dims=None):
    return roll(x, shifts, dims)


_roll.__name__, _roll.__doc__ = "Roll", roll.__doc__
Roll = operation(_roll)

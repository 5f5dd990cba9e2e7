"""Matrices, special functions and segments as classes."""
from .. import (bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bidense, cdist, cholesky, cholesky_inverse,
                cholesky_solve, cross, det, digamma, erfinv, fmax, fmin, heaviside, index_add, inplace_add, inplace_sub,
                inplace_update, inverse, lgamma, logit, matrix_band_part, polygamma, renorm, sgn, slogdet, solve,
                svd, swapaxes, unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum)
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

"""Linear algebra with SciPy's names and arguments. Stacks of matrices [.., n, n] are taken as well.

`overwrite_a`, `overwrite_b`, `turbo` and `check_finite` are taken and change nothing: numbers that are not finite give NaN, or
the error that they lead to, in eager mode as in graphs.
"""
import numpy as np

from .. import ops
from ..common.checks import check_value_type
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..ops.decomposition import turned
from ..ops.elimination import eliminated
from ..ops.symmetric import symmetric_eigenpairs


def _matrix(name, x, square=True):
    """A Tensor of floats with two axes. raises : ArgumentError, DTypeError, ShapeError"""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{name}: a Tensor is wanted, not {type(x).__name__}")
    if x.dtype.kind not in "fc" or x.dtype.numpy.itemsize < 4:
        x = _as_float(name, x)
    if x.ndim < 2 or square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: a {'square ' * square}matrix is wanted", note=f"its shape: {list(x.shape)}")
    return x


def _as_float(name, x):
    if x.dtype.kind not in "iu" or x.dtype.numpy.itemsize < 4:
        raise DTypeError(f"{name}: does not take {x.dtype.name}", hint="takes float32, float64, complex numbers, int32, int64")
    return ops.cast(x, "float64")


def _columns(b, a):
    """(b as a matrix, true if it was a vector)."""
    vector = b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]
    return (ops.expand_dims(b, -1) if vector else b), vector


def block_diag(*arrs):
    """A matrix of these matrices along its diagonal, zeros elsewhere; numbers and vectors are matrices of one row.

    arrs : Tensors of at most two axes; none: a matrix of the shape (1, 0)
    raises : ShapeError for more axes
    """
    if len(arrs) == 0:
        return ops.zeros((1, 0))
    return ops.block_diag(*arrs)


def inv(a, overwrite_a=False, check_finite=True):
    """The inverse of a : float[.., n, n]. raises : ValueRangeError for a singular matrix"""
    return ops.inverse(_matrix("inv", a))


def det(a, overwrite_a=False, check_finite=True):
    """The determinant of a : float[.., n, n], float[..]."""
    return ops.det(_matrix("det", a))


def _whole(triangle, lower, turn=ops.adjoint):
    """The Hermitian matrix of which one triangle is given, and the other one is not read; or the symmetric one."""
    half = ops.tril(triangle) if lower else turn(ops.triu(triangle))
    return half + turn(ops.tril(half, -1))


def solve(a, b, lower=False, assume_a="gen", transposed=False):
    """x with a x = b.

    a : float[.., n, n]; b : float[.., n, k] or [n]                                      transposed : of a
    assume_a : "gen"; "sym", "her", "pos": a is symmetric, Hermitian, or positive definite too, and one triangle of it is read,
               the lower one with `lower`
    raises   : ValueRangeError for a singular matrix, for another assume_a, and where a is to be positive definite and is not
    """
    a = _matrix("solve", a)
    check_value_type("lower", lower, bool, "solve")
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueRangeError(f"solve: assume_a is 'gen', 'sym', 'her' or 'pos', not {assume_a!r}")
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower), b)
    if assume_a != "gen":
        a = _whole(a, lower, turned if assume_a == "sym" else ops.adjoint)
    b, vector = _columns(b, a)
    x = ops.solve(turned(a) if transposed else a, b)
    return ops.squeeze(x, -1) if vector else x


_TRANSPOSED = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _transposed(name, trans):
    """0, 1 or 2. raises : ValueRangeError"""
    if trans not in _TRANSPOSED:
        raise ValueRangeError(f"{name}: trans is one of {', '.join(map(repr, _TRANSPOSED))}, not {trans!r}")
    return _TRANSPOSED[trans]


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, debug=None, check_finite=True):
    """x with a x = b for a triangular a, of which the other triangle is not read.

    a : float[.., n, n]; b : float[.., n, k] or [n]          trans : 0, "N": a; 1, "T": its transpose; 2, "C": its conjugate's
    unit_diagonal : the diagonal is ones, and is not read
    raises : ArgumentError, ShapeError, ValueRangeError for another trans or a singular matrix
    """
    a = _matrix("solve_triangular", a)
    trans = _transposed("solve_triangular", trans)
    if debug is not None:
        raise ArgumentError("solve_triangular: debug is None")
    check_value_type("lower", lower, bool, "solve_triangular")
    check_value_type("unit_diagonal", unit_diagonal, bool, "solve_triangular")
    if not isinstance(b, Tensor):
        raise ArgumentError(f"solve_triangular: b is a Tensor, not {type(b).__name__}")
    b, vector = _columns(b if b.dtype.kind in "fc" else _as_float("solve_triangular", b), a)
    if b.shape[-2] != a.shape[-1]:
        raise ShapeError("solve_triangular: the sizes differ", note=f"a: {list(a.shape)}, b: {list(b.shape)}")
    x = ops.solve_triangular(a, b, trans, lower, unit_diagonal)
    return ops.squeeze(x, -1) if vector else x


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """Cholesky's factor of a positive definite a : float[.., n, n]: u with u^T u = a, or lower: l with l l^T = a.

    Of a the upper triangle is read, or the lower one, and has the gradient.
    raises   : ValueRangeError for a matrix that is not positive definite
    """
    check_value_type("lower", lower, bool, "cholesky")
    return ops.cholesky(_whole(_matrix("cholesky", a), lower), not lower)


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """(Cholesky's factor of a, lower), for cho_solve."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """x with a x = b, from (Cholesky's factor of a, lower); b : float[.., n, k] or [n]."""
    factor, lower = c_and_lower
    first = solve_triangular(factor, b, 0 if lower else 1, bool(lower))
    return solve_triangular(factor, first, 1 if lower else 0, bool(lower))


def lu_factor(a, overwrite_a=False, check_finite=True):
    """(l below the diagonal and u on and above it, pivots int32[.., n] from 0) of a : float[.., n, n], for lu_solve."""
    made, pivots = eliminated(_matrix("lu_factor", a))
    return made, pivots - 1


def lu(a, permute_l=False, overwrite_a=False, check_finite=True):
    """(p, l, u) with p l u = a : float[.., m, n]; permute_l: (p l, u)."""
    made, pivots = eliminated(_matrix("lu", a, square=False))
    order, lower, upper = ops.lu_unpack(made, pivots)
    order = turned(turned(order))
    return (ops.matmul(order, lower), upper) if permute_l else (order, lower, upper)


def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """x with a x = b, from what lu_factor gave of a; trans : 1 or 2 for the transposed matrix; b : float[.., n, k] or [n]."""
    made, pivots = lu_and_piv
    b, vector = _columns(b, made)
    if _transposed("lu_solve", trans):
        order, lower, upper = ops.lu_unpack(made, pivots + 1)
        inner = ops.solve_triangular(upper, b, 1)
        x = ops.matmul(order, ops.solve_triangular(lower, inner, 1, True, True))
    else:
        x = ops.lu_solve(b, made, pivots + 1)
    return ops.squeeze(x, -1) if vector else x


def _standard(a, b, kind):
    """(a matrix with the eigenvalues of the pair a, b; l with b = l l^T)."""
    factor = ops.cholesky(b)
    if kind == 1:
        half = ops.solve_triangular(factor, a, 0, True)
        return turned(ops.solve_triangular(factor, turned(half), 0, True)), factor
    return ops.matmul(turned(factor), ops.matmul(a, factor)), factor


def _one_matrix(x):
    x = _matrix("eigh", x)
    if x.ndim != 2:
        raise ShapeError("eigh: one square matrix is wanted", note=f"its shape: {list(x.shape)}")
    return x


def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, turbo=True, eigvals=None, type=1,
         check_finite=True):
    """(w rising, v as columns) of a symmetric or Hermitian a, of which one triangle is read; with b of a pair of matrices.

    a, b    : float[n, n], b positive definite; complex[n, n], Hermitian, without b
    lower   : the triangle that is read
    type    : 1: a v = w b v; 2: a b v = w v; 3: b a v = w v                        eigvals : (first, last) that are wanted
    out     : (w, v), or w with eigvals_only
    raises  : ArgumentError, ShapeError, DTypeError; ValueRangeError for another type
    """
    for name, flag in (("lower", lower), ("eigvals_only", eigvals_only), ("overwrite_a", overwrite_a),
                       ("overwrite_b", overwrite_b), ("turbo", turbo), ("check_finite", check_finite)):
        check_value_type(name, flag, bool, "eigh")
    if type not in (1, 2, 3):
        raise ValueRangeError(f"eigh: type is 1, 2 or 3, not {type!r}")
    a, factor = _one_matrix(a), None
    triangle = ops.tril(a) if lower else ops.adjoint(ops.triu(a))
    if b is not None:
        b = _one_matrix(b)
        if a.dtype.kind == "c" or b.dtype.kind == "c":
            raise DTypeError("eigh: a pair of matrices is real")
        whole = triangle + turned(ops.tril(triangle, -1))
        b_triangle = ops.tril(b) if lower else turned(ops.triu(b))
        triangle, factor = _standard(whole, b_triangle + turned(ops.tril(b_triangle, -1)), type)
    w, v = symmetric_eigenpairs(triangle)
    if factor is not None and not eigvals_only:
        v = ops.matmul(factor, v) if type == 3 else ops.solve_triangular(factor, v, 1, True)
    if eigvals is not None:
        first, last = check_value_type("eigvals", eigvals, (tuple, list), "eigh")
        w, v = w[..., first:last + 1], v[..., first:last + 1]
    return w if eigvals_only else (w, v)


# driver: (does it give residuals, the rank, the singular values)
_DRIVERS = {None: (False, True, False), "gelsy": (False, True, False), "gels": (True, False, False), "gelss": (True, True, True),
            "gelsd": (True, True, True)}


def lstsq(A, B, rcond=None, driver=None):
    """(x, residuals, rank, singular values): x of the least |A x - B|, the shortest where there are many.

    A : float[.., m, n]; B : float[.., m, k] or [m]          rcond : singular values below rcond times the largest count as 0;
                                                              None: the dtype's eps times max(m, n)
    driver    : LAPACK's name for what is given besides x: None, "gelsy": the rank; "gels": the residuals, the sums of squares of
                A x - B where m > n; "gelss", "gelsd": all. What is not given is of no elements
    gradient  : of x only, by A and B, where no singular value is cut off (so has MindSpore, and torch)
    raises    : ValueRangeError for another driver, DTypeError for A and B of two dtypes, ShapeError
    """
    if driver not in _DRIVERS:
        raise ValueRangeError(f"lstsq: driver is one of {', '.join(map(str, _DRIVERS))}, not {driver!r}")
    residuals, ranks, values = _DRIVERS[driver]
    a = _matrix("lstsq", A, square=False)
    if not isinstance(B, Tensor) or B.dtype is not A.dtype:
        raise DTypeError("lstsq: A and B are Tensors of one dtype")
    b, vector = _columns(ops.cast(B, a.dtype), a)
    if b.shape[-2] != a.shape[-2]:
        raise ShapeError("lstsq: the sizes differ", note=f"A: {list(A.shape)}, B: {list(B.shape)}")
    (m, n), s = a.shape[-2:], ops.svd(ops.stop_gradient(a), compute_uv=False)
    cut = float(np.finfo(a.dtype.numpy).eps) * max(m, n) if rcond is None else rcond
    rank = ops.sum(ops.cast(ops.greater(s, cut * ops.amax(s, -1, keepdims=True)), "int64"), -1)
    x = ops.matmul(ops.pinv(a, rtol=cut), b)
    given = m > n and residuals
    left = ops.stop_gradient(ops.sum(ops.square(ops.matmul(a, x) - b), -2)) if given else ops.zeros((0,), dtype=x.dtype)
    if vector:
        x, left = ops.squeeze(x, -1), ops.squeeze(left, -1) if given else left
    return x, left, rank if ranks else ops.zeros((0,), dtype="int64"), s if values else ops.zeros((0,), dtype=x.dtype)

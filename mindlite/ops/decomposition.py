"""Square matrices [.., n, n]: inverse, determinant, Cholesky's factor, and solving with them. LAPACK, through NumPy.

Gradients are those of matrix calculus (Giles 2008; Murray 2016 for Cholesky), written with products and with these
operators themselves, so any order of derivative works. A singular matrix is an error in `inverse` and `solve`, as it is
in NumPy, and a matrix that is not positive definite in `cholesky`.
"""
from __future__ import annotations

import numpy as np

from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive, vmap_rule
from .axes import as_flag, axes_of, broadcast_shapes
from .basic import batched, reshape, sum_to
from .complex_numbers import angle, conj, imag, make_complex, part_dtype, real
from .creation import eye, tril, triu, zeros_like
from .define import as_operand, conjugate, dtype_of, promote_operands
from .linalg import batch_matmul
from .logic import less, where
from .reduction import sum
from .sbp import elementwise_spec, sbp_rule
from .structure import swapaxes


def wide(x):
    """float32 for halves, which LAPACK does not know."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _square(name, x, accepts="f"):
    if x.dtype.kind not in accepts:
        raise DTypeError(f"{name}: does not take {x.dtype.name}", note=f"x: {x}",
                         hint="takes floats" + " or complex numbers" * ("c" in accepts))
    if x.ndim < 2:
        raise ShapeError(f"{name}: a square matrix, or a stack of them, is wanted", note=f"x: {x}")
    require("==", x.shape[-1], x.shape[-2], lambda: ShapeError(f"{name}: the matrix is not square", note=f"x: {x}"))


def lapack(name, compute, *arrays):
    """compute(*arrays). raises : ValueRangeError where it finds no result"""
    try:
        return compute(*arrays)
    except np.linalg.LinAlgError as error:
        raise ValueRangeError(f"{name}: {error}") from error


def stack_spec(outs):
    """An SBP spec: the axes before the matrices are split alike. outs: the matrix axes that each result has."""
    def spec(*operands, **attrs):
        lead = elementwise_spec(*(AbstractTensor(x.dtype, x.shape[:-2]) for x in operands))
        inputs, result = lead.split("->")
        return ",".join(part + "__" for part in inputs.split(",")) + "->" + \
            ",".join(result + "_" * axes for axes in outs)
    return spec


def batch_first(prim):
    """The batching rule of an operator on stacks of matrices: the batch is one more axis before them."""
    @vmap_rule(prim)
    def rule(args, dims, size, **attrs):
        rank = max(x.ndim - (d is not None) for x, d in zip(args, dims))
        ready = []
        for x, d in zip(args, dims):
            x = batched(x, d, size)
            ready.append(reshape(x, shape=x.shape[:1] + (1,) * (rank + 1 - x.ndim) + tuple(x.shape[1:])))
        out = prim(*ready, **attrs)
        return out, (0,) * len(out) if isinstance(out, tuple) else 0


def turned(x):
    """The matrices, transposed."""
    return swapaxes(x, -1, -2)


def adjoint(x):
    """The matrices, transposed and conjugated."""
    return conjugate(turned(x))


# ---------------------------------------------------------------- inverse

def one_operand(args, attrs):
    """The operands of an operator of one Tensor."""
    return (as_operand(args[0]),), attrs


@primitive(traits={"library"}, prepare=one_operand)
def inverse(x: TensorLike):
    """The inverse of each matrix in x : float or complex[.., n, n]. raises : when run: ValueRangeError for a singular one"""


inverse.also(input="x")


@infer_rule(inverse)
def inverse_infer(x):
    _square("inverse", x, "fc")
    return x


@eval_rule(inverse)
def inverse_eval(x):
    return lapack("inverse", np.linalg.inv, wide(x)).astype(x.dtype, copy=False)


@bprop_rule(inverse)
def inverse_bprop(x, out, dout):
    out = conjugate(out)
    return (-batch_matmul(batch_matmul(out, dout, transpose_a=True), out, transpose_b=True),)


@jvp_rule(inverse)
def inverse_jvp(primals, tangents, out):
    return -batch_matmul(batch_matmul(out, tangents[0]), out)


sbp_rule(inverse, stack_spec((2,)))
batch_first(inverse)


# ---------------------------------------------------------------- solving

def _two(args, attrs):
    return promote_operands(tuple(as_operand(x) for x in args), attrs)


@primitive(traits={"library"}, prepare=_two)
def linear_solve(a, b):
    """out with a @ out = b : a is float or complex[.., n, n], b alike [.., n, k]; the axes before are broadcast.

    raises : ShapeError for sizes that do not fit; when run: ValueRangeError for a singular matrix
    """


@infer_rule(linear_solve)
def linear_solve_infer(a, b):
    _square("solve", a, "fc")
    note = f"a: {a}, b: {b}"
    if b.ndim < 2:
        raise ShapeError("solve: the right side is a matrix", note=note, hint="a vector b: solve(a, b[:, None])[:, 0]")
    require("==", a.shape[-1], b.shape[-2], lambda: ShapeError("solve: the sizes differ", note=note))
    return AbstractTensor(b.dtype, broadcast_shapes("solve", a.shape[:-2], b.shape[:-2]) + b.shape[-2:])


@eval_rule(linear_solve)
def linear_solve_eval(a, b):
    matrices = b.reshape((1,) * (a.ndim - b.ndim) + b.shape)       # NumPy 1 takes b of one axis less for vectors
    return lapack("solve", np.linalg.solve, wide(a), wide(matrices)).astype(b.dtype, copy=False)


@bprop_rule(linear_solve)
def linear_solve_bprop(a, b, out, dout):
    a, out = conjugate(a), conjugate(out)
    db = linear_solve(turned(a), dout)
    return sum_to(-batch_matmul(db, out, transpose_b=True), a.shape), sum_to(db, b.shape)


@jvp_rule(linear_solve)
def linear_solve_jvp(primals, tangents, out):
    a, (da, db) = primals[0], tangents
    right = None if da is None else -batch_matmul(da, out)
    right = right if db is None else db if right is None else right + db
    return linear_solve(a, right)


sbp_rule(linear_solve, stack_spec((2,)), linear=[{1}])
batch_first(linear_solve)


# ---------------------------------------------------------------- triangular systems

@primitive(traits={"library"}, prepare=_two)
def triangular_system(a, b, *, lower, transpose, unit):
    """out with op(a) @ out = b : a is float or complex[.., n, n], of which one triangle is read, b alike [.., n, k].

    transpose : bool; True: op(a) is a^T;     unit : bool; True: the diagonal counts as ones and is not read
    raises    : ShapeError for sizes that do not fit; when run: ValueRangeError for a zero on the diagonal
    """


@infer_rule(triangular_system)
def triangular_system_infer(a, b, *, lower, transpose, unit):
    return linear_solve_infer(a, b)


@eval_rule(triangular_system)
def triangular_system_eval(a, b, *, lower, transpose, unit):
    matrix = (np.tril if lower else np.triu)(wide(a), (-1 if lower else 1) if unit else 0)
    matrix = matrix + np.eye(a.shape[-1], dtype=matrix.dtype) if unit else matrix
    right = b.reshape((1,) * (a.ndim - b.ndim) + b.shape)
    solution = lapack("solve_triangular", np.linalg.solve, np.swapaxes(matrix, -1, -2) if transpose else matrix, wide(right))
    return solution.astype(b.dtype, copy=False)


def _triangle(x, lower, unit):
    """The part of x that a triangular system reads."""
    return tril(x, -1 if unit else 0) if lower else triu(x, 1 if unit else 0)


@bprop_rule(triangular_system)
def triangular_system_bprop(a, b, out, dout, *, lower, transpose, unit):
    if a.dtype.kind == "c":
        a, out = conj(a), conj(out)
    db = triangular_system(a, dout, lower=lower, transpose=not transpose, unit=unit)
    da = batch_matmul(out, db, transpose_b=True) if transpose else batch_matmul(db, out, transpose_b=True)
    return sum_to(-_triangle(da, lower, unit), a.shape), sum_to(db, b.shape)


@jvp_rule(triangular_system)
def triangular_system_jvp(primals, tangents, out, *, lower, transpose, unit):
    a, (da, db) = primals[0], tangents
    right = None if da is None else -batch_matmul(_triangle(da, lower, unit), out, transpose_a=transpose)
    right = right if db is None else db if right is None else right + db
    return triangular_system(a, right, lower=lower, transpose=transpose, unit=unit)


sbp_rule(triangular_system, stack_spec((2,)), linear=[{1}])
batch_first(triangular_system)


def solved(a, b, lower, transpose=False, unit=False):
    """op(a)^-1 b for a triangular a : [.., n, n] and b : [.., n, k]."""
    return triangular_system(a, b, lower=lower, transpose=transpose, unit=unit)


# ---------------------------------------------------------------- determinant

@primitive(traits={"library"}, prepare=one_operand, name="sign_and_log_determinant")
def sign_and_log_determinant(x):
    """(the sign of each determinant: -1, 0 or 1, the logarithm of its absolute value) for x : float[.., n, n].

    Of complex matrices the sign is det / |det|, or 0; the logarithm is real.
    """


@infer_rule(sign_and_log_determinant)
def sign_and_log_determinant_infer(x):
    _square("slogdet", x, "fc")
    return AbstractTuple((AbstractTensor(x.dtype, x.shape[:-2]), AbstractTensor(part_dtype(x.dtype), x.shape[:-2])))


@eval_rule(sign_and_log_determinant)
def sign_and_log_determinant_eval(x):
    signs, logarithms = np.linalg.slogdet(wide(x))
    return np.asarray(signs, x.dtype), np.asarray(logarithms, np.zeros((), x.dtype).real.dtype)


def _for_each(scale, matrices):
    """matrices, each times its number."""
    return reshape(scale, shape=tuple(scale.shape) + (1, 1)) * matrices


@bprop_rule(sign_and_log_determinant)
def sign_and_log_determinant_bprop(x, out, dout):
    """d log|det| is the real part of w = tr(inverse(x) dx), and d sign is i sign times its imaginary part."""
    scale = dout[1]
    if x.dtype.kind == "c" and dout[0] is not None:
        turn = imag(conj(out[0]) * dout[0])
        scale = make_complex(zeros_like(turn) if scale is None else scale, turn)
    return (None if scale is None else _for_each(scale, conjugate(turned(inverse(x)))),)


@jvp_rule(sign_and_log_determinant)
def sign_and_log_determinant_jvp(primals, tangents, out):
    w = sum(turned(inverse(primals[0])) * tangents[0], (-2, -1))
    return (out[0] * make_complex(zeros_like(imag(w)), imag(w)), real(w)) if w.dtype.kind == "c" else (None, w)


sbp_rule(sign_and_log_determinant, stack_spec((0, 0)))
batch_first(sign_and_log_determinant)


@primitive(traits={"library"}, prepare=one_operand)
def cofactors(x):
    """The derivative of the determinant of each matrix in x : float or complex[.., n, n]: det(x) * inverse(x)^T where it has one.

    A singular one, or nearly so, has cofactors too, from its singular values: of rank n - 1 one matrix, of less zeros. Their own
    gradient wants an inverse.
    """


@infer_rule(cofactors)
def cofactors_infer(x):
    _square("det", x, "fc")
    return x


def _by_singular_values(x):
    u, s, v = np.linalg.svd(x)
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(s.shape[-1])], -1) if s.shape[-1] else s
    signs = np.linalg.det(u) * np.linalg.det(v)
    return signs[..., None, None] * ((u.conj() * others[..., None, :]) @ v.conj())


@eval_rule(cofactors)
def cofactors_eval(x):
    """In double, NaN for a matrix with an element that is not finite."""
    matrices = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    out, finite = np.full(x.shape, np.nan, matrices.dtype), np.isfinite(matrices).all((-2, -1))
    out[finite] = _of_finite(matrices[finite])
    with np.errstate(over="ignore"):
        return out.astype(x.dtype)


def _of_finite(matrices):
    try:
        inverses = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:                            # at least one is singular
        return _by_singular_values(matrices)
    out = np.linalg.det(matrices)[..., None, None] * np.swapaxes(inverses, -1, -2)
    condition = abs(matrices).sum(-1).max(-1, initial=0) * abs(inverses).sum(-1).max(-1, initial=0)
    bad = ~(condition < 2.0 ** 26)                           # half of the digits are lost
    if bad.any():
        out[bad] = _by_singular_values(matrices[bad])
    return out


@bprop_rule(cofactors)
def cofactors_bprop(x, out, dout):
    """<g, dC> = <<g, A> C - C g^T A, dx> where A = inverse(x)^T, C = det(x) A"""
    a, out = conjugate(turned(inverse(x))), conjugate(out)
    return (_for_each(sum(dout * a, (-2, -1)), out) - batch_matmul(batch_matmul(out, turned(dout)), a),)


@jvp_rule(cofactors)
def cofactors_jvp(primals, tangents, out):
    """<A, dx> C - C dx^T A"""
    a = turned(inverse(primals[0]))
    return _for_each(sum(a * tangents[0], (-2, -1)), out) - batch_matmul(batch_matmul(out, turned(tangents[0])), a)


sbp_rule(cofactors, stack_spec((2,)))
batch_first(cofactors)


@primitive(traits={"library"}, prepare=one_operand, name="determinant")
def determinant(x):
    """The determinant of each matrix in x : float or complex[.., n, n]; its gradient are the cofactors."""


@infer_rule(determinant)
def determinant_infer(x):
    _square("det", x, "fc")
    return AbstractTensor(x.dtype, x.shape[:-2])


@eval_rule(determinant)
def determinant_eval(x):
    return np.asarray(np.linalg.det(wide(x)), x.dtype)


@bprop_rule(determinant)
def determinant_bprop(x, out, dout):
    return (_for_each(dout, conjugate(cofactors(x))),)


@jvp_rule(determinant)
def determinant_jvp(primals, tangents, out):
    return sum(cofactors(primals[0]) * tangents[0], (-2, -1))


sbp_rule(determinant, stack_spec((0,)))
batch_first(determinant)


# ---------------------------------------------------------------- Cholesky

@primitive(traits={"library"}, prepare=one_operand, name="cholesky_factor")
def cholesky_factor(x):
    """The lower triangular L with L L^H = x, for symmetric positive definite x : float or complex[.., n, n]: (x + x^H) / 2 is.

    raises : when run: ValueRangeError for a matrix that is not positive definite
    """


@infer_rule(cholesky_factor)
def cholesky_factor_infer(x):
    _square("cholesky", x, "fc")
    return x


@eval_rule(cholesky_factor)
def cholesky_factor_eval(x):
    symmetric = (wide(x) + np.swapaxes(wide(x), -1, -2).conj()) * 0.5
    return lapack("cholesky", np.linalg.cholesky, symmetric).astype(x.dtype, copy=False)


def _half(x):
    """The lower half, of the diagonal one half."""
    return tril(x) - x * eye(x.shape[-1], x.shape[-1], x.dtype) * 0.5


@bprop_rule(cholesky_factor)
def cholesky_factor_bprop(x, out, dout):
    factor = conjugate(out)
    middle = _half(batch_matmul(factor, tril(dout), transpose_a=True))
    back = solved(factor, adjoint(solved(factor, adjoint(middle), True, True)), True, True)
    return ((back + adjoint(back)) * 0.5,)


@jvp_rule(cholesky_factor)
def cholesky_factor_jvp(primals, tangents, out):
    symmetric = (tangents[0] + adjoint(tangents[0])) * 0.5
    inner = solved(out, adjoint(solved(out, symmetric, True)), True)
    return batch_matmul(out, _half(inner))


sbp_rule(cholesky_factor, stack_spec((2,)))
batch_first(cholesky_factor)


# ---------------------------------------------------------------- public names

@planned
def det(input: TensorLike) -> Tensor:
    """The determinant of each matrix in input[.., n, n]."""
    return determinant(input)


@planned
def slogdet(input: TensorLike) -> tuple[Tensor, Tensor]:
    """(the sign of each determinant, the logarithm of its absolute value): of an LU decomposition, so that nothing overflows.

    input  : float or complex[.., N, N]
    out    : the sign [..] of input's dtype (of complex numbers det / |det|), float[..]; (0, -inf) for a singular matrix
    raises : DTypeError for another dtype, ShapeError for what is no square matrix
    """
    return sign_and_log_determinant(input)


@planned
def logdet(input: TensorLike) -> Tensor:
    """The logarithm of each determinant.

    input  : float or complex Tensor [.., n, n]
    out    : Tensor [..] of its dtype; -inf where the determinant is 0, NaN where it is negative
    raises : DTypeError for another dtype, ShapeError for what is not square; its gradient: ValueRangeError for a singular
             matrix
    source : LU factors by LAPACK's getrf, through NumPy
    """
    signs, logarithm = sign_and_log_determinant(input)
    if signs.dtype.kind == "c":
        return make_complex(logarithm, angle(signs))
    return logarithm + where(less(signs, 0), float("nan"), 0.0)


@planned
def cholesky(input_x: TensorLike, upper: bool = False) -> Tensor:
    """The triangular L with L L^H = A of each positive definite matrix A, symmetric or Hermitian.

    input_x : float or complex Tensor [.., n, n]; (A + A^H) / 2 is factored
    upper  : bool; True gives the upper triangular L^H
    out    : Tensor [.., n, n] of its dtype; the diagonal is positive
    raises : DTypeError for integers, ShapeError for what is not square, ValueRangeError (when run) for a matrix that is
             not positive definite
    source : LAPACK's potrf, through NumPy; gradient: Murray 2016, "Differentiation of the Cholesky decomposition"
    """
    lower = cholesky_factor(input_x)
    return adjoint(lower) if as_flag("cholesky", "upper", upper) else lower


@planned
def cholesky_solve(input: TensorLike, input2: TensorLike, upper: bool = False) -> Tensor:
    """The solution X of A X = B by Cholesky's factor of A.

    input  : float or complex Tensor B [.., n, k]
    input2 : float or complex Tensor [.., n, n], the factor; its other triangle is not read
    upper  : bool; whether the factor is upper triangular
    out    : Tensor [.., n, k]
    raises : ShapeError for sizes that do not fit, ValueRangeError (when run) for a zero on the diagonal
    source : two triangular systems (Golub and Van Loan 2013, section 4.2), by BLAS's trsm
    """
    factor = as_operand(input2)
    first, second = (conjugate(factor), factor) if upper else (factor, conjugate(factor))
    return solved(second, solved(first, input, not upper, upper), not upper, not upper)


@planned
def cholesky_inverse(input_x: TensorLike, upper: bool = False) -> Tensor:
    """The inverse of A from Cholesky's factor of A.

    input_x : float or complex Tensor [.., n, n], the factor; its other triangle is not read
    upper  : bool; whether the factor is upper triangular
    out    : Tensor [.., n, n]
    raises : ShapeError for what is not square, ValueRangeError (when run) for a zero on the diagonal
    """
    x = as_operand(input_x)
    axes_of("cholesky_inverse", x, 2)
    return cholesky_solve(eye(x.shape[-1], x.shape[-1], x.dtype), x, upper)


@planned
def solve(A: TensorLike, B: TensorLike) -> Tensor:
    """X with A X = B, by LU decomposition with row exchanges.

    A      : float or complex [.., N, N]
    B      : [.., N, K] of the same dtype, leading axes broadcast; or a vector [N]
    out    : like B, leading axes broadcast
    raises : DTypeError for another dtype, ShapeError for what is no square matrix or other sizes, ValueRangeError for a
             singular matrix
    source : LAPACK's gesv
    """
    a, b = (as_operand(x) for x in (A, B))
    if b.ndim == 1:
        return reshape(linear_solve(a, reshape(b, shape=(b.shape[0], 1))), shape=tuple(a.shape[:-1]))
    return linear_solve(a, b)


@planned
def matrix_solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False) -> Tensor:
    """X with matrix X = rhs, by LU decomposition with row exchanges.

    matrix  : float or complex [.., N, N];     rhs : [.., N, K] of the same dtype; leading axes are broadcast
    adjoint : bool; True: the conjugate transpose of matrix in its place
    out     : [.., N, K]
    raises  : DTypeError for another dtype, ShapeError for what is no square matrix or other sizes, ValueRangeError for a
              singular matrix
    source  : LAPACK's gesv
    """
    matrix = as_operand(matrix)
    if adjoint and dtype_of(matrix).kind == "c":
        matrix = conj(matrix)
    return linear_solve(turned(matrix) if adjoint else matrix, rhs)


@planned
def solve_triangular(a: TensorLike, b: TensorLike, trans: int = 0, lower: float = False, unit_diagonal: bool = False) -> Tensor:
    """X with a X = b for a triangular a; its other triangle is not read.

    a             : float or complex [.., N, N];     b : [.., N, K] or a vector [N]
    trans         : 0 or "N": a, 1 or "T": its transpose, 2 or "C": its conjugate transpose
    lower         : bool; True: a is a lower triangle
    unit_diagonal : bool; True: the diagonal counts as ones
    raises        : ValueRangeError for another trans or a singular matrix, ShapeError for sizes, DTypeError for another dtype
    """
    if trans not in (0, "N", 1, "T", 2, "C"):
        raise ValueRangeError(f"solve_triangular: trans is 0, 1, 2, 'N', 'T' or 'C', not {trans!r}")
    matrix, right = as_operand(a), as_operand(b)
    if trans in (2, "C") and dtype_of(matrix).kind == "c":
        matrix = conj(matrix)
    facts = bool(lower), trans in (1, "T", 2, "C"), bool(unit_diagonal)
    if right.ndim == 1:
        return reshape(solved(matrix, reshape(right, shape=(right.shape[0], 1)), *facts), shape=tuple(matrix.shape[:-1]))
    return solved(matrix, right, *facts)

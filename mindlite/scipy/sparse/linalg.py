"""Systems A x = b solved by products with A only: conjugate gradients, its stabilised form, minimal residuals.

A is a matrix or a function of a vector. The gradient is that of the solution (implicit differentiation), not of the
iterations: with x solved, and held,

    x + S(b - A x)        S(r) = A^-1 r, of which only the derivative is used: a solution with A transposed

so whatever A reads has its gradient too. A function is transposed by `vjp`. A derivative of the derivative goes through the
iterations of S.
"""
import numpy as np

from ... import ops
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ...functional import InsertGradientOf, vjp


def _same(x):
    return x


def _product(name, A):
    """A as a function of a vector. raises : ArgumentError, ShapeError"""
    if isinstance(A, Tensor):
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ShapeError(f"{name}: A is a square matrix", note=f"its shape: {list(A.shape)}")
        return lambda x: ops.matmul(A, x)
    if not callable(A):
        raise ArgumentError(f"{name}: A is a matrix or a function, not {type(A).__name__}")
    return A


def _transposed(A, x):
    """The product with A transposed."""
    if isinstance(A, Tensor):
        return lambda y: ops.matmul(ops.transpose(A, (1, 0)), y)
    pull = vjp(A, x)[1]
    return lambda y: _first(pull(y))


def _first(found):
    return found[0] if isinstance(found, tuple) else found


def _flat(product, shape):
    """`product` on vectors of one axis."""
    return lambda v: ops.reshape(product(ops.reshape(v, shape)), (-1,))


def _norm(x):
    return ops.sqrt(ops.sum(ops.square(x)))


def _dot(x, y):
    return ops.sum(x * y)


def _solved(name, iterate, A, b, x0, tol, atol, maxiter, M, callback, symmetric):
    """(x, 0 if the residual is small enough, else the number of iterations), with the gradient of the solution."""
    if callback is not None:
        raise ArgumentError(f"{name}: nothing is called after an iteration: callback is None")
    if not isinstance(b, Tensor) or b.dtype.kind != "f":
        raise ArgumentError(f"{name}: b is a Tensor of floats")
    product = _product(name, A)
    start = ops.zeros_like(b) if x0 is None else x0
    if tuple(start.shape) != tuple(b.shape):
        raise ShapeError(f"{name}: x0 and b differ", note=f"x0: {list(start.shape)}, b: {list(b.shape)}")
    limit = 10 * int(np.prod(b.shape)) if maxiter is None else maxiter
    if limit < 1:
        raise ValueRangeError(f"{name}: maxiter is at least 1, not {limit}")
    shape = tuple(b.shape)
    flat, before = _flat(product, shape), _same if M is None else _flat(_product(name, M), shape)
    fixed = ops.stop_gradient(ops.reshape(b, (-1,)))
    least = ops.maximum(tol * _norm(fixed), atol)
    found, count = iterate(flat, fixed, ops.stop_gradient(ops.reshape(start, (-1,))), least, limit, before)
    x = ops.stop_gradient(ops.reshape(found, shape))
    small = ops.less_equal(_norm(fixed - flat(ops.reshape(x, (-1,)))), least * 1.0001)
    info = ops.stop_gradient(ops.where(small, ops.zeros_like(count), count))

    def back(dout):
        across = _flat(product if symmetric else _transposed(A, x), shape)
        vector = ops.reshape(dout, (-1,))
        return ops.reshape(iterate(across, vector, ops.zeros_like(vector), tol * _norm(vector), limit, _same)[0], shape)
    rest = b - product(x)
    return x + InsertGradientOf(back)(rest) - ops.stop_gradient(rest), info


def _conjugate_gradients(product, b, x, least, limit, before):
    rest = b - product(x)
    z = before(rest)
    direction, gamma, k = z, _dot(rest, z), ops.zeros((), dtype="int32")
    while ops.logical_and(_norm(rest) > least, k < limit):
        image = product(direction)
        step = gamma / _dot(direction, image)
        x, rest = x + step * direction, rest - step * image
        z = before(rest)
        next_gamma = _dot(rest, z)
        direction, gamma, k = z + next_gamma / gamma * direction, next_gamma, k + 1
    return x, k


def _stabilised(product, b, x, least, limit, before):
    rest = b - product(x)
    shadow, direction, image, k = rest, ops.zeros_like(b), ops.zeros_like(b), ops.zeros((), dtype="int32")
    rho, alpha, omega = ops.ones((), dtype=b.dtype), ops.ones((), dtype=b.dtype), ops.ones((), dtype=b.dtype)
    while ops.logical_and(_norm(rest) > least, k < limit):
        next_rho = _dot(shadow, rest)
        beta = next_rho / rho * (alpha / omega)
        direction = rest + beta * (direction - omega * image)
        ahead = before(direction)
        image = product(ahead)
        alpha = next_rho / _dot(shadow, image)
        half = rest - alpha * image
        behind = before(half)
        other = product(behind)
        square = _dot(other, other)
        omega = ops.where(square > 0, _dot(other, half) / ops.where(square > 0, square, 1.0), 0.0)
        x, rest, rho, k = x + alpha * ahead + omega * behind, half - omega * other, next_rho, k + 1
        omega = ops.where(omega == 0, 1.0, omega)
    return x, k


def _minimal_residuals(restart):
    """Restarted GMRES: Arnoldi's basis by Gram and Schmidt twice, then the least squares of its Hessenberg matrix."""
    def iterate(product, b, x, least, limit, before):
        size = min(restart, b.shape[0])
        rest, k = before(b - product(x)), ops.zeros((), dtype="int32")
        places = ops.reshape(ops.arange(size + 1), (size + 1, 1))
        plain = b - product(x)
        while ops.logical_and(_norm(plain) > least, k < limit):
            length = _norm(rest)
            basis = ops.where(ops.equal(places, 0), ops.reshape(rest / length, (1, -1)), 0.0)
            columns = []
            for j in range(size):
                new = before(product(basis[j]))
                first = ops.matmul(basis, new)
                new = new - ops.matmul(first, basis)
                second = ops.matmul(basis, new)
                new = new - ops.matmul(second, basis)
                left = _norm(new)
                fresh = left > 1e-12 * length
                columns.append(first + second + ops.where(ops.equal(places[:, 0], j + 1), ops.where(fresh, left, 0.0), 0.0))
                unit = ops.where(fresh, new / ops.where(fresh, left, 1.0), 0.0)
                basis = ops.where(ops.equal(places, j + 1), ops.reshape(unit, (1, -1)), basis)
            target = ops.where(ops.equal(places, 0), length, 0.0)
            weights = ops.lstsq(ops.stack(columns, 1), target)
            x = x + ops.matmul(ops.reshape(weights, (-1,)), basis[:size])
            plain, k = b - product(x), k + 1
            rest = before(plain)
        return x, k
    return iterate


def cg(A, b, x0=None, *, tol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    """(x, info) with A x = b for a symmetric positive definite A (Hestenes and Stiefel 1952).

    A, M     : float[n, n], or functions of a Tensor of b's shape that are linear; M is near the inverse of A
    b, x0    : float[..]                                    x0 : where to begin; None: 0
    tol, atol: the residual is at most max(tol |b|, atol)  maxiter : None: 10 n
    callback : None
    info     : 0, or the number of iterations where they did not suffice
    gradient : by b, and by all that A reads
    raises   : ArgumentError, ShapeError, ValueRangeError for arguments that do not fit
    """
    return _solved("cg", _conjugate_gradients, A, b, x0, tol, atol, maxiter, M, callback, True)


def bicgstab(A, b, x0=None, *, tol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    """(x, info) with A x = b for any regular A (van der Vorst 1992). Arguments, info and gradient: those of `cg`."""
    return _solved("bicgstab", _stabilised, A, b, x0, tol, atol, maxiter, M, callback, False)


def gmres(A, b, x0=None, *, tol=1e-5, atol=0.0, restart=20, maxiter=None, M=None, callback=None, solve_method="batched"):
    """(x, info) with A x = b for any regular A (Saad and Schultz 1986).

    restart      : how many products make one basis; maxiter counts bases. The others, info and gradient: those of `cg`
    solve_method : "batched" or "incremental": how MindSpore finds the least squares of a basis, with one result
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueRangeError(f"gmres: solve_method is 'batched' or 'incremental', not {solve_method!r}")
    if restart < 1:
        raise ValueRangeError(f"gmres: restart is at least 1, not {restart}")
    return _solved("gmres", _minimal_residuals(restart), A, b, x0, tol, atol, maxiter, M, callback, False)

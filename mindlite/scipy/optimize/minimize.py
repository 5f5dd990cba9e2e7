"""Minima of a function of a vector: quasi-Newton methods on the inverse Hessian.

    H y = s   for the last step s and change of gradient y        BFGS keeps H, L-BFGS the last steps and changes only

source : Nocedal and Wright 2006, "Numerical Optimization", algorithms 6.1 and 7.4
"""
import math
from typing import Any, NamedTuple

from ... import ops
from ...common.errors import ArgumentError, ValueRangeError
from ...common.tensor import Tensor
from .line_search import derivative, line_search


class OptimizeResults(NamedTuple):
    """x: the place; success; status: 0, 1 too many iterations, 3 or 5 the line search failed; fun, jac: the value and gradient
    there; hess_inv: the inverse Hessian as BFGS has it; nfev, njev: values and gradients computed; nit: iterations."""
    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def _size(gradient, norm):
    if norm in (math.inf, "inf"):
        return ops.amax(ops.abs(gradient))
    return ops.pow(ops.sum(ops.pow(ops.abs(gradient), norm)), 1 / norm)


def _dense(n, dtype, history_size):
    """BFGS: (H at first, H g, H after a step)."""
    one = ops.eye(n, n, dtype)

    def direction(state, g):
        return ops.matmul(state, g)

    def after(state, s, y, curved):
        rho = ops.where(curved, 1 / ops.where(curved, ops.sum(y * s), 1.0), 0.0)
        part = one - rho * ops.outer(s, y)
        update = ops.matmul(part, ops.matmul(state, ops.transpose(part, (1, 0)))) + rho * ops.outer(s, s)
        return ops.where(curved, update, state)
    return one, direction, after


def _limited(n, dtype, history_size):
    """L-BFGS: the same of (steps, changes, 1 / their products, H's scale); what is not there yet is zeros."""
    rows = ops.zeros((history_size, n), dtype=dtype)
    first = rows, rows, ops.zeros((history_size,), dtype=dtype), ops.ones((), dtype=dtype)

    def direction(state, g):
        steps, changes, rho, scale = state
        shares = []
        for k in range(history_size - 1, -1, -1):
            share = rho[k] * ops.sum(steps[k] * g)
            g = g - share * changes[k]
            shares.append(share)
        g = scale * g
        for k in range(history_size):
            g = g + steps[k] * (shares[history_size - 1 - k] - rho[k] * ops.sum(changes[k] * g))
        return g

    def pushed(old, new, curved):
        return ops.where(curved, ops.concat((old[1:], ops.expand_dims(new, 0)), 0), old)

    def after(state, s, y, curved):
        steps, changes, rho, scale = state
        product = ops.where(curved, ops.sum(y * s), 1.0)
        square = ops.where(curved, ops.sum(y * y), 1.0)
        return (pushed(steps, s, curved), pushed(changes, y, curved), pushed(rho, 1 / product, curved),
                ops.where(curved, product / square, scale))
    return first, direction, after


_OPTIONS = "maxiter", "norm", "gtol", "line_search_maxiter", "history_size"
_METHODS = {"bfgs": _dense, "lbfgs": _limited, "l-bfgs": _limited}


def _quasi_newton(f, x, jac, make, maxiter=None, norm=math.inf, gtol=1e-5, line_search_maxiter=10, history_size=20):
    n = x.shape[0]
    limit = 200 * n if maxiter is None else maxiter
    state, direction, after = make(n, x.dtype, history_size)
    value, g = derivative(f, jac)(x)
    before = value + ops.sqrt(ops.sum(ops.square(g))) / 2
    k = ops.cast(ops.zeros_like(value), "int32")
    status, evaluations = k, k + 1
    while ops.logical_and(ops.logical_and(_size(g, norm) > gtol, status == 0), k < limit):
        p = -direction(state, g)
        found = line_search(f, x, p, jac, g, value, before, maxiter=line_search_maxiter)
        s, y = found.a_k * p, found.g_k - g
        curved = ops.logical_and(ops.sum(y * s) > 0, ops.logical_not(found.failed))
        state = after(state, s, y, curved)
        before, value, x, g = value, found.f_k, x + s, found.g_k
        evaluations = evaluations + found.nfev
        status = ops.where(ops.logical_and(found.failed, found.a_k == 0), ops.where(found.status == 1, 5, 3), 0)
        status = ops.cast(status, "int32")
        k = k + 1
    good = _size(g, norm) <= gtol
    status = ops.where(good, 0, ops.where(status == 0, 1, status))
    return OptimizeResults(x, good, status, value, g, state if make is _dense else None, evaluations, evaluations, k)


def minimize(func, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
             callback=None, options=None):
    """The place near x0 where func(x, *args) is least.

    func    : of a Tensor float[n], a number              x0 : Tensor float[n]
    method  : "BFGS" or "LBFGS"                           jac : its gradient, of the same arguments; None: derived
    tol     : the gradient's size that is small enough, where options has no gtol
    options : maxiter (None: 200 n), norm (inf), gtol (1e-5), line_search_maxiter (10), history_size (20, of LBFGS)
    out     : OptimizeResults of Tensors
    raises  : ValueRangeError for no method or another one, ArgumentError for arguments of other kinds, or for hess, hessp,
              bounds, constraints, callback, which these methods do not know
    """
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise ValueRangeError(f"minimize: method is one of BFGS, LBFGS, not {method!r}")
    if not isinstance(args, tuple):
        raise ArgumentError(f"minimize: args is a tuple, not {type(args).__name__}")
    if not isinstance(x0, Tensor) or x0.ndim != 1 or x0.dtype.kind != "f":
        raise ArgumentError("minimize: x0 is a Tensor of floats of one axis")
    for name, given in (("hess", hess), ("hessp", hessp), ("bounds", bounds), ("callback", callback)):
        if given is not None:
            raise ArgumentError(f"minimize: {method} has no {name}")
    if len(constraints) > 0:
        raise ArgumentError(f"minimize: {method} has no constraints")
    settings = dict(options or {})
    unknown = [name for name in settings if name not in _OPTIONS]
    if unknown:
        raise ArgumentError(f"minimize: {method} has no option {unknown[0]!r}", hint=f"has {', '.join(_OPTIONS)}")
    if tol is not None and "gtol" not in settings:
        settings["gtol"] = tol
    gradient = None if jac is None else lambda x: jac(x, *args)
    return _quasi_newton(lambda x: func(x, *args), x0, gradient, _METHODS[method.lower()], **settings)

"""The singular value decomposition of matrices: x = u diag(s) v^H, s falling. LAPACK, through NumPy.

With p = u^H dx v and F[i, j] = 1 / (s[j]^2 - s[i]^2), 0 on the diagonal (Giles 2008, section 3.2; Townsend 2016):

    ds = Re diag(p)     du = u (F * (p S + S p^H) + D) + (I - u u^H) dx v / S    dv: the same for x^H, with -D

u and v are determined up to the sign, or the phase, of each column pair; gradients are those of one choice. Of complex matrices
the phase of p's diagonal turns both vectors of a pair by half: D = i Im diag(p) / (2 S). A loss that does not depend on the
phases has this gradient whatever LAPACK chose (Wan and Zhang 2019). Where two singular values are equal their vectors have no
derivative: it is infinite.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common.dim import dim_min
from ..common.errors import DTypeError, GradientError, ShapeError
from ..common.tensor import TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive
from .basic import cast, reshape
from .complex_numbers import imag, make_complex, part_dtype, real_part
from .creation import eye, zeros_like
from .decomposition import adjoint, batch_first, lapack, one_operand, stack_spec, turned, wide
from .define import as_operand
from .linalg import batch_matmul
from .logic import where
from .reduction import sum
from .sbp import sbp_rule


@primitive(traits={"library"}, prepare=one_operand)
def singular_decomposition(x, *, full=False):
    """(s[.., k], u[.., m, k], v[.., n, k]) of x : float or complex[.., m, n], k = min(m, n); full: u and v are square."""


@infer_rule(singular_decomposition)
def singular_infer(x, *, full):
    if x.dtype.kind not in "fc":
        raise DTypeError(f"svd: does not take {x.dtype.name}", note=f"x: {x}", hint="takes floats or complex numbers")
    if x.ndim < 2:
        raise ShapeError("svd: a matrix, or a stack of them, is wanted", note=f"x: {x}")
    m, n = x.shape[-2:]
    k = dim_min(m, n)
    return AbstractTuple((AbstractTensor(part_dtype(x.dtype), (*x.shape[:-2], k)),
                          AbstractTensor(x.dtype, (*x.shape[:-2], m, m if full else k)),
                          AbstractTensor(x.dtype, (*x.shape[:-2], n, n if full else k))))


@eval_rule(singular_decomposition)
def singular_eval(x, *, full):
    u, s, vt = lapack("svd", lambda a: np.linalg.svd(a, full_matrices=full), wide(x))
    return (np.ascontiguousarray(s, x.real.dtype), np.ascontiguousarray(u, x.dtype),
            np.ascontiguousarray(np.swapaxes(vt, -1, -2).conj(), x.dtype))


def _gaps(s):
    """F, see above."""
    square = s * s
    row, column = (reshape(square, shape=(*s.shape[:-1], *end)) for end in ((1, s.shape[-1]), (s.shape[-1], 1)))
    same = cast(eye(s.shape[-1], s.shape[-1], s.dtype), dtype="bool")
    return where(same, 0, 1 / where(same, 1, row - column))


def _thin(s, u, v):
    """(s as a row, u and v of k columns)"""
    k = s.shape[-1]
    return reshape(s, shape=(*s.shape[:-1], 1, k)), u[..., :k], v[..., :k]


def _outside(u, x):
    """(I - u u^H) x"""
    return x - batch_matmul(u, batch_matmul(adjoint(u), x))


def _turns(p, s):
    """i Im diag(p) / (2 s), a diagonal matrix: what turns the phase of complex vectors."""
    phase = imag(p) * eye(p.shape[-1], p.shape[-1], s.dtype) / (2 * s)
    return make_complex(zeros_like(phase), phase)


@bprop_rule(singular_decomposition)
def singular_bprop(x, out, dout, *, full):
    s, u, v = _thin(*out)
    ds, du, dv = dout
    middle, dx, phases = 0, 0, x.dtype.kind == "c"
    if ds is not None:
        middle = middle + reshape(ds, shape=s.shape) * eye(s.shape[-1], s.shape[-1], x.dtype)
    if du is not None:
        du = du[..., :s.shape[-1]]
        turn = batch_matmul(adjoint(u), du)
        middle = middle + _gaps(out[0]) * (turn - adjoint(turn)) * s + (_turns(turn, s) if phases else 0)
        dx = dx + batch_matmul(_outside(u, du) / s, adjoint(v))
    if dv is not None:
        dv = dv[..., :s.shape[-1]]
        turn = batch_matmul(adjoint(v), dv)
        middle = middle + turned(s) * (_gaps(out[0]) * (turn - adjoint(turn))) - (_turns(turn, s) if phases else 0)
        dx = dx + batch_matmul(u, adjoint(_outside(v, dv) / s))
    return (dx + batch_matmul(batch_matmul(u, middle), adjoint(v)),)


@jvp_rule(singular_decomposition)
def singular_jvp(primals, tangents, out, *, full):
    if full:
        raise GradientError("svd: forward mode has no derivative of full matrices", hint="full_matrices=False")
    (s, u, v), t, gaps = _thin(*out), tangents[0], _gaps(out[0])
    p = batch_matmul(batch_matmul(adjoint(u), t), v)
    phases = _turns(p, s) if p.dtype.kind == "c" else 0
    ds = sum((real_part(p) if p.dtype.kind == "c" else p) * eye(p.shape[-1], p.shape[-1], s.dtype), -1)
    du = batch_matmul(u, gaps * (p * s + adjoint(p * s)) + phases) + _outside(u, batch_matmul(t, v)) / s
    dv = batch_matmul(v, gaps * (turned(s) * p + adjoint(turned(s) * p)) - phases) + _outside(v, batch_matmul(adjoint(t), u)) / s
    return ds, du, dv


sbp_rule(singular_decomposition, stack_spec((1, 2, 2)))
batch_first(singular_decomposition)


def svd(input: TensorLike, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """(s, u, v) with input[.., m, n] = u diag(s) v^H, s falling; without compute_uv only s.

    input         : float or complex Tensor; s is real
    full_matrices : u and v are square; their further columns have no gradient
    gradient      : of complex matrices that of what does not depend on the phases of the vectors
    raises        : DTypeError for integers and bools, ShapeError without two axes
    """
    s, u, v = singular_decomposition(as_operand(input), full=bool(full_matrices and compute_uv))
    return (s, u, v) if compute_uv else s


# ---------------------------------------------------------------- the pseudo-inverse

@primitive(traits={"library"}, prepare=one_operand)
def pseudo_inverse(x, *, atol, rtol):
    """The Moore-Penrose inverse p[.., n, m] of x : float or complex[.., m, n]; see `pinv`.

    gradient : dp = -p dx p + p p^H dx^H (I - x p) + (I - p x) dx^H p^H p, where the rank stays (Golub and Pereyra 1973)
    """


@infer_rule(pseudo_inverse)
def pseudo_inverse_infer(x, *, atol, rtol):
    singular_infer(x, full=False)
    return AbstractTensor(x.dtype, (*x.shape[:-2], x.shape[-1], x.shape[-2]))


@eval_rule(pseudo_inverse)
def pseudo_inverse_eval(x, *, atol, rtol):
    u, s, vh = lapack("pinv", lambda a: np.linalg.svd(a, full_matrices=False), wide(x))
    if rtol is None:
        rtol = 0.0 if atol is not None else float(np.finfo(s.dtype).eps) * max(x.shape[-2:])
    above = s > np.maximum(s.max(-1, keepdims=True, initial=0) * rtol, atol or 0.0)
    scale = np.where(above, 1 / np.where(above, s, 1), 0)
    out = np.swapaxes(vh, -1, -2).conj() * scale[..., None, :] @ np.swapaxes(u, -1, -2).conj()
    return np.ascontiguousarray(out, x.dtype)


def _product(*matrices):
    out = matrices[0]
    for matrix in matrices[1:]:
        out = batch_matmul(out, matrix)
    return out


@bprop_rule(pseudo_inverse)
def pseudo_inverse_bprop(x, out, dout, *, atol, rtol):
    across, slope = adjoint(out), adjoint(dout)
    left = _product(slope, out, across)
    right = _product(across, out, slope)
    return (left - _product(x, out, left) + right - _product(right, out, x) - _product(across, dout, across),)


@jvp_rule(pseudo_inverse)
def pseudo_inverse_jvp(primals, tangents, out, *, atol, rtol):
    x, change, across = primals[0], adjoint(tangents[0]), adjoint(out)
    left, right = _product(out, across, change), _product(change, across, out)
    return left - _product(left, x, out) + right - _product(out, x, right) - _product(out, tangents[0], out)


sbp_rule(pseudo_inverse, stack_spec((2,)))
batch_first(pseudo_inverse)

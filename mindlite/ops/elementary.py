"""Elementary functions: exponentials, logarithms, roots, circular and hyperbolic functions, error function, sigmoid.

Integers and bools are taken as float32. Outside a function's domain the result is NaN or inf, without a warning.
Derivatives: Abramowitz and Stegun, chapters 3, 4 and 7. Where the result says more than the argument (exp, tanh, ..)
the derivative is written in it, so that only the result is kept for the gradient.
"""
from __future__ import annotations

import math

import numpy as np
from ..common import dtype as dt
from ..common.tensor import TensorLike

from ..mindir.scalar import call as call_scalar, where as where_scalar
from .basic import cast
from .define import dtype_of, elementwise, to_float
from .logic import equal


def _function(scalar, array, derivative, accepts="fc", traits=()):
    return elementwise(scalar=scalar, array=array, derivatives=[derivative], accepts=accepts, prepare=to_float, traits=traits)


def _saturating(of_result, of_argument):
    """The derivative of a function that comes close to a constant: of halves it is computed in float32 from the argument, as
    the rounded result is that constant. of_result : (x, out) -> slope;  of_argument : x -> slope"""
    def derivative(x, out):
        if dtype_of(x) in (dt.float16, dt.bfloat16):
            return cast(of_argument(cast(x, dtype=dt.float32)), dtype=dtype_of(x))
        return of_result(x, out)
    return derivative


def _of_parts(derivative, of_complex):
    """The derivative of real numbers, and that of complex ones, whose branch cuts want it in other parts."""
    return lambda x, out: of_complex(x) if dtype_of(x).kind == "c" else derivative(x)


# ---------------------------------------------------------------- exponentials and logarithms

@_function(math.exp, np.exp, lambda x, out: out)
def exp(input: TensorLike):
    """e ** input."""


@_function(lambda x: call_scalar("exp2", x), np.exp2, lambda x, out: out * math.log(2.0))
def exp2(input: TensorLike):
    """2 ** input."""


@_function(math.expm1, np.expm1, lambda x, out: exp(x))
def expm1(input: TensorLike):
    """e ** input - 1, precise near 0."""


@_function(math.log, np.log, lambda x, out: 1 / x)
def log(input: TensorLike):
    """The natural logarithm; -inf at 0, NaN below."""


@_function(math.log1p, np.log1p, lambda x, out: 1 / (1 + x))
def log1p(input: TensorLike):
    """log(1 + input), precise near 0."""


@_function(math.log2, np.log2, lambda x, out: 1 / (x * math.log(2.0)))
def log2(input: TensorLike):
    """The logarithm to base 2."""


@_function(math.log10, np.log10, lambda x, out: 1 / (x * math.log(10.0)))
def log10(input: TensorLike):
    """The logarithm to base 10."""


def _logaddexp(x, y):
    large = call_scalar("maximum", x, y)
    small = call_scalar("minimum", x, y)
    apart = large + call_scalar("log1p", call_scalar("exp", small - large))
    return where_scalar(large == small, large + math.log(2.0), apart)           # also where both are infinite


def _logaddexp_of_ndarray(x, y):
    """Of complex numbers the one with the larger real part is taken out."""
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    large, small = np.where(x.real < y.real, y, x), np.where(x.real < y.real, x, y)
    same = np.isinf(large.real) & (large.real == small.real)
    apart = np.where(same, 0, small - large)
    return np.where(same, np.where(large.real < 0, small, np.log(np.exp(small) + np.exp(large))), large + np.log1p(np.exp(apart)))


@elementwise(scalar=_logaddexp, array=_logaddexp_of_ndarray, accepts="fc", prepare=to_float,
             derivatives=[lambda x, y, out: sigmoid(x - y), lambda x, y, out: sigmoid(y - x)])
def logaddexp(input: TensorLike, other: TensorLike):
    """log(exp(input) + exp(other)) without overflow; the gradient is NaN where both are the same infinity. Of complex numbers the
    principal logarithm of their sum."""


# ---------------------------------------------------------------- roots

@_function(math.sqrt, np.sqrt, lambda x, out: 0.5 / out)
def sqrt(x: TensorLike):
    """The square root; NaN below 0, slope inf at 0."""


@_function(lambda x: call_scalar("rsqrt", x), lambda x: (1 / np.sqrt(x)).astype(x.dtype),
           lambda x, out: -0.5 * out / x)
def rsqrt(input: TensorLike):
    """1 / sqrt(input); inf at 0. Of complex numbers the principal root."""


# ---------------------------------------------------------------- circular functions

@_function(math.sin, np.sin, lambda x, out: cos(x))
def sin(input: TensorLike):
    """The sine; radians."""


@_function(math.cos, np.cos, lambda x, out: -sin(x))
def cos(input: TensorLike):
    """The cosine; radians."""


@_function(math.tan, np.tan, lambda x, out: 1 + out * out)
def tan(input: TensorLike):
    """The tangent; radians."""


@_function(math.asin, np.arcsin, lambda x, out: rsqrt(1 - x * x))
def asin(input: TensorLike):
    """The angle in [-pi/2, pi/2] whose sine is input; NaN outside [-1, 1]. Of complex numbers the principal value."""


asin.also(x="input")


@_function(math.acos, np.arccos, lambda x, out: -rsqrt(1 - x * x))
def acos(input: TensorLike):
    """The angle in [0, pi] whose cosine is input; NaN outside [-1, 1]. Of complex numbers the principal value."""


@_function(math.atan, np.arctan, lambda x, out: 1 / (1 + x * x))
def atan(input: TensorLike):
    """The angle in (-pi/2, pi/2) whose tangent is input."""


def _norm(x, y):
    """x * x + y * y, 1 at the origin, where the angle has no slope."""
    square = x * x + y * y
    return square + cast(equal(square, 0), dtype=square.dtype)


@elementwise(scalar=math.atan2, array=np.arctan2, accepts="f", prepare=to_float,
             derivatives=[lambda y, x, out: x / _norm(x, y), lambda y, x, out: -y / _norm(x, y)])
def atan2(input: TensorLike, other: TensorLike):
    """The angle in (-pi, pi] of the point (other, input): atan(input / other) in the right quadrant."""


# ---------------------------------------------------------------- hyperbolic functions

@_function(math.sinh, np.sinh, lambda x, out: cosh(x))
def sinh(input: TensorLike):
    """Hyperbolic sine."""


@_function(math.cosh, np.cosh, lambda x, out: sinh(x))
def cosh(input: TensorLike):
    """Hyperbolic cosine."""


@_function(math.tanh, np.tanh, _saturating(lambda x, out: 1 - out * out, lambda x: 1 / cosh(x) / cosh(x)))
def tanh(input: TensorLike):
    """Hyperbolic tangent.

    input : float, a pure number (integers are taken as float32)
    out   : in (-1, 1); kept for the gradient, input is not. Of float16 and bfloat16 input is kept
    source: Abramowitz and Stegun 4.5
    """


@_function(math.asinh, np.arcsinh, lambda x, out: rsqrt(x * x + 1))
def asinh(input: TensorLike):
    """The inverse of sinh."""


@_function(math.acosh, np.arccosh, _of_parts(lambda x: rsqrt(x * x - 1), lambda x: rsqrt(x - 1) * rsqrt(x + 1)))
def acosh(input: TensorLike):
    """The inverse of cosh for input >= 1; NaN below. Of complex numbers the principal value."""


@_function(math.atanh, np.arctanh, lambda x, out: 1 / (1 - x * x))
def atanh(input: TensorLike):
    """The inverse of tanh; inf at 1 and -inf at -1, NaN outside. Of complex numbers the principal value."""


# ---------------------------------------------------------------- error function

# Rational Chebyshev approximations of W. J. Cody, Math. Comp. 23 (1969) 631-637: highest power first.
_SMALL = ((1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
           3.20937758913846947e3),
          (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3))
_MIDDLE = ((2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
            2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
            1.23033935479799725e3),
           (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
            3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3))
_LARGE = ((1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
           1.60837851487422766e-2, 6.58749161529837803e-4),
          (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
           2.33520497626869185e-3))


def _ratio(table, x):
    top, bottom = table[0][0], table[1][0]
    for a, b in zip(table[0][1:], table[1][1:]):
        top, bottom = top * x + a, bottom * x + b
    return top / bottom


def _erf_of_ndarray(x, complement):
    """erf, or erfc, in float64, given in x's dtype."""
    v = np.asarray(x, np.float64)
    y = np.abs(v)
    small, large = y <= 0.46875, y > 4.0
    near = v * _ratio(_SMALL, np.where(small, y * y, 0.0))
    cut = np.where(np.isnan(y), y, np.clip(y, 0.46875, 28.0))
    inverse = 1 / (cut * cut)
    tail = np.where(large, (1 / math.sqrt(math.pi) - inverse * _ratio(_LARGE, inverse)) / cut,
                    _ratio(_MIDDLE, np.minimum(cut, 4.0)))
    whole = np.floor(cut * 16) / 16                     # exp(-y*y) in two factors, so that y*y is not rounded
    tail = tail * np.exp(-whole * whole) * np.exp(-(cut - whole) * (cut + whole))
    if complement:
        out = np.where(small, 1 - near, np.where(v < 0, 2 - tail, tail))
    else:
        out = np.where(small, near, np.copysign(1 - tail, v))
    return out.astype(x.dtype)


@_function(math.erf, lambda x: _erf_of_ndarray(x, False), lambda x, out: 2 / math.sqrt(math.pi) * exp(-x * x), "f",
           {"many passes"})
def erf(input: TensorLike):
    """The error function 2 / sqrt(pi) * integral of exp(-t * t) from 0 to input."""


@_function(math.erfc, lambda x: _erf_of_ndarray(x, True), lambda x, out: -2 / math.sqrt(math.pi) * exp(-x * x), "f",
           {"many passes"})
def erfc(input: TensorLike):
    """1 - erf(input), precise where that is near 0."""


# ---------------------------------------------------------------- normal distribution

def _normal_pdf_of_ndarray(x):
    v = np.asarray(x, np.float64)
    return (np.exp(v * v * -0.5) / math.sqrt(2 * math.pi)).astype(x.dtype)


@_function(lambda x: call_scalar("normal_pdf", x), _normal_pdf_of_ndarray, lambda x, out: -x * out, "f")
def normal_pdf(input):
    """The normal distribution's density exp(-input ** 2 / 2) / sqrt(2 pi)."""


def _normal_cdf_of_ndarray(x):
    return (0.5 * _erf_of_ndarray(np.asarray(x, np.float64) * -math.sqrt(0.5), True)).astype(x.dtype)


@_function(lambda x: call_scalar("normal_cdf", x), _normal_cdf_of_ndarray, lambda x, out: normal_pdf(x), "f", {"many passes"})
def normal_cdf(input):
    """The normal distribution's probability of less than input, (1 + erf(input / sqrt(2))) / 2, precise where it is
    near 0. source : Abramowitz and Stegun 26.2"""


# ---------------------------------------------------------------- sigmoid

def _sigmoid_of_ndarray(x):
    if x.dtype.kind == "c":
        left = x.real < 0
        e = np.exp(np.where(left, x, -x))
        return (np.where(left, e, np.ones_like(e)) / (1 + e)).astype(x.dtype)
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, np.ones_like(e)) / (1 + e)


@_function(lambda x: call_scalar("sigmoid", x), _sigmoid_of_ndarray,
           _saturating(lambda x, out: out * (1 - out), lambda x: sigmoid(x) * sigmoid(-x)))
def sigmoid(input: TensorLike):
    """1 / (1 + exp(-input)) without overflow; the result is kept for the gradient, of float16 and bfloat16 the input."""


arccos, arcsin, arctan, arctan2, arccosh, arcsinh, arctanh = acos, asin, atan, atan2, acosh, asinh, atanh

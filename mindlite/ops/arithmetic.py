"""Sums, products, powers, comparisons and logic: what Python's operators on tensors mean."""
import math
import operator

import numpy as np

from ..common import dtype as dt
from ..mindir.scalar import where
from .basic import cast
from .define import cast_to, dtype_of, elementwise, promote_operands


@elementwise(scalar=operator.add, array=np.add, derivatives=[1, 1])
def add(x, y):
    """x + y. bool operands: logical or, as in NumPy."""


@elementwise(scalar=operator.sub, array=np.subtract, derivatives=[1, -1], accepts="uifc")
def sub(x, y):
    """x - y. raises : DTypeError for bool."""


@elementwise(scalar=operator.mul, array=np.multiply, derivatives=[lambda x, y, out: y, lambda x, y, out: x])
def mul(x, y):
    """x * y."""


@elementwise(scalar=operator.neg, array=np.negative, derivatives=[-1], accepts="uifc")
def neg(x):
    """-x. raises : DTypeError for bool."""


def _true_divide(args, attrs):
    args, attrs = promote_operands(args, attrs)
    if dtype_of(args[0]).kind in "bui":
        args = tuple(cast_to(x, dt.float32) for x in args)
    return args, attrs


def _divide(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(x, y)


@elementwise(scalar=operator.truediv, array=_divide, accepts="fc", prepare=_true_divide,
             derivatives=[lambda x, y, out: 1 / y, lambda x, y, out: -out / y])
def div(x, y):
    """x / y; integers are divided as float32. x / 0 is inf or nan, without a warning."""



@elementwise(scalar=operator.eq, array=np.equal, derivatives=[None, None], out_dtype=dt.bool_, accepts="buifc")
def equal(x, y):
    """x == y, as bool."""


@elementwise(scalar=operator.ne, array=np.not_equal, derivatives=[None, None], out_dtype=dt.bool_, accepts="buifc")
def not_equal(x, y):
    """x != y, as bool."""


@elementwise(scalar=operator.lt, array=np.less, derivatives=[None, None], out_dtype=dt.bool_, accepts="buif")
def less(x, y):
    """x < y, as bool."""


@elementwise(scalar=operator.le, array=np.less_equal, derivatives=[None, None], out_dtype=dt.bool_, accepts="buif")
def less_equal(x, y):
    """x <= y, as bool."""


@elementwise(scalar=operator.gt, array=np.greater, derivatives=[None, None], out_dtype=dt.bool_, accepts="buif")
def greater(x, y):
    """x > y, as bool."""


@elementwise(scalar=operator.ge, array=np.greater_equal, derivatives=[None, None], out_dtype=dt.bool_, accepts="buif")
def greater_equal(x, y):
    """x >= y, as bool."""


@elementwise(scalar=operator.not_, array=np.logical_not, derivatives=[None], out_dtype=dt.bool_)
def logical_not(x):
    """True where x is zero."""


@elementwise(scalar=lambda x, y: where(x < y, y, x), array=np.maximum, accepts="buif",
             derivatives=[lambda x, y, out: _share(x > y, equal(x, y), x), lambda x, y, out: _share(y > x, equal(x, y), x)])
def maximum(x, y):
    """The larger of x and y; NaN where either is. A tie gives each half of the gradient, as in torch."""


@elementwise(scalar=math.exp, array=np.exp, accepts="fc", derivatives=[lambda x, out: out])
def exp(x):
    """e to the power x."""


@elementwise(scalar=math.tanh, array=np.tanh, accepts="fc", derivatives=[lambda x, out: 1 - out * out])
def tanh(x):
    """Hyperbolic tangent.

    x : float, a pure number; out : in (-1, 1); kept for the gradient, x is not
    source : Abramowitz and Stegun 4.5
    """


def _share(wins, ties, like):
    return cast(wins, dtype=like.dtype) + cast(ties, dtype=like.dtype) * 0.5

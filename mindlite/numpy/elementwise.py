"""Functions of each element: the operators under NumPy's names, with its `dtype=`.

    sqrt(4)  ->  2.0        floor_divide(x, y, dtype=float32)        Ints become float32 where the result is no int.
"""
import functools
import operator

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError
from .arrays import cast, tensor


def _named(name, run, doc):
    run.__name__ = run.__qualname__ = name
    run.__doc__ = doc
    return run


def _function(name, op, ready, doc):
    """The function of one or two arrays, which have the names that MindSpore gives them."""
    def of_x(x, dtype=None):
        return cast(op(ready(x)), dtype)

    def of_a(a, dtype=None):
        return of_x(a, dtype)

    def of_input(input, dtype=None):
        return of_x(input, dtype)

    def of_two(x1, x2, dtype=None):
        return cast(op(ready(x1), ready(x2)), dtype)
    run = of_two if name in OF_TWO else {"a": of_a, "input": of_input}.get(NAMES.get(name, "x"), of_x)
    return _named(name, run, doc)


def _exactly(name, op):
    """The operator on arrays of any element type."""
    return _function(name, op, tensor, f"{name} of each element; dtype: the element type of the result.")


def _in_floats(name, op):
    """The operator on floats: ints and bools become float32."""
    return _function(name, op, lambda x: floats(tensor(x)),
                     f"{name} of each element, a float; dtype: the element type of the result.")


def floats(x):
    """`x`, ints and bools as float32."""
    return ops.cast(x, dt.float32) if x.dtype.kind in "iub" else x


def _not_bool(op):
    """The operator, on bools as on ints."""
    def run(*args):
        return op(*[ops.cast(x, dt.int32) if x.dtype is dt.bool_ else x for x in args])
    return run


def _fix(x):
    return ops.positive(x) if x.dtype.kind in "ui" else ops.trunc(floats(x))


def _heaviside(x, value):
    return ops.where(ops.isnan(x), x, ops.heaviside(x, value))


def _cbrt(x):
    return ops.sign(x) * ops.pow(ops.abs(x), 1 / 3)


OF_TWO = set("""add subtract multiply power floor_divide mod remainder fmod maximum minimum bitwise_and bitwise_or bitwise_xor
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor gcd lcm arctan2 hypot logaddexp
    logaddexp2 copysign float_power heaviside divide true_divide""".split())
NAMES = {"negative": "a", "positive": "a", "logical_not": "a", "arccos": "input"}
EXACT = {
    "abs": _not_bool(ops.abs), "absolute": _not_bool(ops.abs), "fabs": _not_bool(ops.abs), "add": ops.add,
    "subtract": ops.sub, "multiply": ops.mul, "power": ops.pow, "floor_divide": ops.floor_div, "mod": ops.floor_mod,
    "remainder": ops.floor_mod, "fmod": ops.fmod, "negative": ops.neg, "positive": operator.pos, "square": ops.square,
    "sign": ops.sign, "maximum": ops.maximum, "minimum": ops.minimum, "bitwise_and": ops.bitwise_and,
    "bitwise_or": ops.bitwise_or, "bitwise_xor": ops.bitwise_xor, "bitwise_not": ops.bitwise_not,
    "invert": ops.bitwise_not, "reciprocal": lambda x: ops.ones_like(x) // x if x.dtype.kind in "iu" else ops.reciprocal(x),
    "equal": ops.equal, "not_equal": ops.not_equal, "less": ops.less, "less_equal": ops.less_equal,
    "greater": ops.greater, "greater_equal": ops.greater_equal,
    "logical_and": lambda a, b: ops.logical_and(ops.cast(a, dt.bool_), ops.cast(b, dt.bool_)),
    "logical_or": lambda a, b: ops.logical_or(ops.cast(a, dt.bool_), ops.cast(b, dt.bool_)),
    "logical_xor": lambda a, b: ops.logical_xor(ops.cast(a, dt.bool_), ops.cast(b, dt.bool_)),
    "logical_not": lambda a: ops.logical_not(ops.cast(a, dt.bool_)),
    "trunc": _fix, "fix": _fix, "ceil": ops.ceil, "floor": ops.floor, "gcd": ops.gcd, "lcm": ops.lcm}
IN_FLOATS = {
    **{name: getattr(ops, name) for name in (
        "sqrt", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "hypot", "logaddexp", "logaddexp2",
        "rint", "isnan", "isinf", "isfinite", "deg2rad", "rad2deg", "copysign", "float_power",
        "signbit", "isposinf", "isneginf")},
    "divide": ops.div, "true_divide": ops.div, "radians": ops.deg2rad, "degrees": ops.rad2deg, "cbrt": _cbrt,
    "heaviside": _heaviside}
FUNCTIONS = {**{name: _exactly(name, op) for name, op in EXACT.items()},
             **{name: _in_floats(name, op) for name, op in IN_FLOATS.items()}}


def divmod(x1, x2, dtype=None):
    """(floor_divide, remainder)"""
    return FUNCTIONS["floor_divide"](x1, x2, dtype=dtype), FUNCTIONS["mod"](x1, x2, dtype=dtype)


def _within(bound, dtype):
    """A bound in the dtype, in which integers do not turn over."""
    if dtype.kind in "ui" and bound.dtype.kind in "uif" and bound.dtype is not dtype:
        bound = ops.clamp(bound, int(dtype.limits.min), int(dtype.limits.max))
    return ops.cast(bound, dtype)


def clip(x, xmin, xmax, dtype=None):
    """Each element, at least xmin and at most xmax; None for no bound. A bound that the dtype of x does not reach is none."""
    x = tensor(x)
    bounds = [None if b is None else _within(tensor(b), x.dtype) for b in (xmin, xmax)]
    x = x if bounds[0] is None else ops.maximum(x, bounds[0])
    return cast(x if bounds[1] is None else ops.minimum(x, bounds[1]), dtype)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements differ by at most atol + rtol * |b|."""
    a, b = floats(tensor(a)), floats(tensor(b))
    near = ops.logical_and(ops.abs(a - b) <= atol + rtol * ops.abs(b), ops.isfinite(b))
    near = ops.logical_or(near, ops.equal(a, b))
    return ops.logical_or(near, ops.logical_and(ops.isnan(a), ops.isnan(b))) if equal_nan else near


def array_equal(a1, a2, equal_nan=False):
    """Are the arrays of one shape, with the same elements? A Tensor of bool."""
    a, b = tensor(a1), tensor(a2)
    return all_equal(a, b, equal_nan) if tuple(a.shape) == tuple(b.shape) else tensor(False)


def array_equiv(a1, a2):
    """The same, where one may be broadcast to the other."""
    a, b = tensor(a1), tensor(a2)
    sizes = list(zip(reversed(a.shape), reversed(b.shape)))
    return all_equal(a, b, False) if all(m == n or 1 in (m, n) for m, n in sizes) else tensor(False)


def all_equal(a, b, equal_nan):
    """A Tensor of bool: all elements are equal."""
    same = ops.equal(a, b)
    if equal_nan and a.dtype.kind == "f" and b.dtype.kind == "f":
        same = ops.logical_or(same, ops.logical_and(ops.isnan(a), ops.isnan(b)))
    return ops.all(same)


def where(condition, x=None, y=None):
    """x where the condition holds, else y; with only a condition its indices."""
    condition = ops.cast(tensor(condition), dt.bool_)
    if x is None and y is None:
        return ops.nonzero(condition, as_tuple=True)
    return ops.where(condition, tensor(x), tensor(y))


def select(condlist, choicelist, default=0):
    """Of the choices the first whose condition holds, else the default."""
    made = tensor(default)
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        made = ops.where(ops.cast(tensor(condition), dt.bool_), tensor(choice), made)
    return made


def piecewise(x, condlist, funclist, *args, **kw):
    """In each place what the last function gives whose condition holds there; one function more is for the rest."""
    x, conditions, functions = tensor(x), [ops.cast(tensor(c), dt.bool_) for c in condlist], list(funclist)
    values = [f(x, *args, **kw) if callable(f) else ops.cast(tensor(f), x.dtype) for f in functions]
    made = values.pop() if len(values) > len(conditions) else ops.zeros_like(x)
    for condition, value in zip(conditions, values):
        made = ops.where(condition, value, made)
    return ops.broadcast_to(made, tuple(x.shape))


def isscalar(element):
    """True for a number or string of Python's, a Tensor is none."""
    return isinstance(element, (int, float, complex, str, bytes))


def around(a, decimals=0):
    """The elements rounded to so many decimals, halves to the even digit; ints as they are. raises : ArgumentError for no int"""
    if isinstance(decimals, bool) or not isinstance(decimals, int):
        raise ArgumentError(f"around: decimals is an int, not {type(decimals).__name__}")
    a = tensor(a)
    return a if a.dtype.kind in "iub" and decimals >= 0 else cast(ops.round(floats(a), decimals=decimals), a.dtype)


def result_type(*arrays_and_dtypes):
    """The element type of a sum of these arrays, types and numbers; types also by NumPy's words ("i2", "float32")."""
    kinds = [dt.dtype(np.dtype(a)) if isinstance(a, str) else dt.dtype(a) if isinstance(a, (type, dt.DType)) else
             a.dtype if hasattr(a, "dtype") else tensor(a).dtype for a in arrays_and_dtypes]
    return functools.reduce(promote_types, kinds)


def promote_types(type1, type2):
    """The smallest element type that holds both."""
    a, b = dt.dtype(type1), dt.dtype(type2)
    return ops.add(ops.zeros((), a), ops.zeros((), b)).dtype if a is not b else a

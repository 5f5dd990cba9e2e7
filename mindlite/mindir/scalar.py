"""Scalar expressions: what one element of a result is, as data (Halide's and TVM's compute rules).

    lambda *i: where(x[i] > 0, x[i], 0.0)          ->   Select(BinOp("gt", Load(x, i), Const(0)), Load(x, i), Const(0))
    scalar_function(lambda x: 1 / (1 + math.exp(-x)))  the same function of ScalarExprs: the module math is recognised

A ScalarExpr is immutable and interned: equal expressions are one object, so sharing (CSE) is identity. Its dtype is
the one it computes in: float16 and bfloat16 are storage formats, arithmetic on them is float32 and `cast` rounds.
A Python number, and an input that is one, is *weak*: it takes the dtype of what it meets (`promote_scalar`).
Integers wrap, `//` and `%` floor, as in NumPy.
"""
from __future__ import annotations

import builtins
import contextlib
import itertools
import math
import operator
import threading
import types
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Function
from ..common.dim import Dim
from ..common.dtype import DType
from ..common.errors import InternalError
from .abstract import AbstractScalar

_interned: dict[tuple, "_Entry"] = {}                                 # {what makes an expression: a weak _Entry, gone with it}
_variables = itertools.count()
_nest = threading.local()                            # numbers: for the loop variables of the nest that a thread builds

UNARY_FUNCTIONS = ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "cbrt", "sin", "cos",
                   "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
                   "normal_cdf", "normal_pdf", "sigmoid", "lgamma", "gamma", "floor", "ceil", "trunc", "round", "abs",
                   "sign", "isnan",
                   "isinf", "isfinite")
BINARY_FUNCTIONS = ("pow", "atan2", "fmod", "hypot", "copysign", "maximum", "minimum")
_KEEP_INTEGERS = {"floor", "ceil", "trunc", "round", "abs", "sign", "maximum", "minimum", "pow", "fmod"}
_PREDICATES = {"isnan", "isinf", "isfinite"}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")
FEW = 8                                              # elements of a row, at most, all of which a sum reads to find one


def compute_dtype(dtype: DType) -> DType:
    """The dtype that arithmetic on `dtype` runs in: float32 for narrower floats, int8 for int4, else its own."""
    return dtype.compute if dtype.is_small else dtype


class ScalarExpr:
    """Base of scalar expressions. Fields: dtype, weak, fields (what it is made of), free (the IndexVars in it)."""
    __slots__ = ("dtype", "weak", "fields", "free", "inside", "__weakref__")
    dtype: dt.DType
    weak: bool
    fields: tuple
    free: frozenset
    inside: tuple["ScalarExpr", ...]

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.fields))})"

    def __bool__(self) -> None:
        raise TypeError("the value of a scalar expression is known at run time only; write where(condition, a, b)")

    def __float__(self) -> None:
        raise TypeError("a scalar expression is no number; write call(name, x) or cast(x, dtype)")

    __int__ = __index__ = __float__

    def children(self) -> tuple[Any, ...]:
        """The expressions directly inside this one, a tuple."""
        return self.inside

    def __add__(self, other: Any) -> ScalarExpr:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> ScalarExpr:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> ScalarExpr:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> ScalarExpr:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> ScalarExpr:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> ScalarExpr:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> ScalarExpr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> ScalarExpr:
        return binary("div", other, self)

    def __floordiv__(self, other: Any) -> ScalarExpr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> ScalarExpr:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> ScalarExpr:
        return binary("mod", self, other)

    def __rmod__(self, other: Any) -> ScalarExpr:
        return binary("mod", other, self)

    def __pow__(self, other: Any) -> ScalarExpr:
        if isinstance(other, int) and not isinstance(other, bool) and 1 <= other <= 4:
            out = self
            for _ in range(other - 1):
                out = out * self
            return out
        return call("pow", self, other)

    def __rpow__(self, other: Any) -> ScalarExpr:
        return call("pow", other, self)

    def __and__(self, other: Any) -> ScalarExpr:
        return binary("and", self, other)

    def __rand__(self, other: Any) -> ScalarExpr:
        return binary("and", other, self)

    def __or__(self, other: Any) -> ScalarExpr:
        return binary("or", self, other)

    def __ror__(self, other: Any) -> ScalarExpr:
        return binary("or", other, self)

    def __xor__(self, other: Any) -> ScalarExpr:
        return binary("xor", self, other)

    def __rxor__(self, other: Any) -> ScalarExpr:
        return binary("xor", other, self)

    def __lshift__(self, other: Any) -> ScalarExpr:
        return binary("shl", self, other)

    def __rlshift__(self, other: Any) -> ScalarExpr:
        return binary("shl", other, self)

    def __rshift__(self, other: Any) -> ScalarExpr:
        return binary("shr", self, other)

    def __rrshift__(self, other: Any) -> ScalarExpr:
        return binary("shr", other, self)

    def __eq__(self, other: Any) -> Any:
        return binary("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return binary("ne", self, other)

    def __lt__(self, other: Any) -> ScalarExpr:
        return binary("lt", self, other)

    def __le__(self, other: Any) -> ScalarExpr:
        return binary("le", self, other)

    def __gt__(self, other: Any) -> ScalarExpr:
        return binary("gt", self, other)

    def __ge__(self, other: Any) -> ScalarExpr:
        return binary("ge", self, other)

    def __neg__(self) -> ScalarExpr:
        return binary("sub", make_expr(Const, self.dtype, True, 0), self) if self.dtype.kind in "bui" else \
            make_expr(Neg, compute_dtype(self.dtype), self.weak, self)

    def __pos__(self) -> ScalarExpr:
        return self

    def __invert__(self) -> ScalarExpr:
        if self.dtype is dt.bool_:
            return logical_not(self)
        return binary("xor", self, -1 if self.dtype.kind == "i" else 2 ** self.dtype.bits - 1)

    def __abs__(self) -> ScalarExpr:
        return call("abs", self)

    def __floor__(self) -> ScalarExpr:
        return call("floor", self)

    def __ceil__(self) -> ScalarExpr:
        return call("ceil", self)

    def __trunc__(self) -> ScalarExpr:
        return call("trunc", self)

    def __round__(self) -> ScalarExpr:
        return call("round", self)


class Const(ScalarExpr):
    """A number. Fields: value."""
    __slots__ = ()


class IndexVar(ScalarExpr):
    """A loop variable of dtype int64. Fields: name, extent (int or Dim), number."""
    __slots__ = ()


class Size(ScalarExpr):
    """A size, which a kernel takes as an argument. Fields: dim (a Dim or an int)."""
    __slots__ = ()


class Load(ScalarExpr):
    """One element of an input. Fields: operand, indices."""
    __slots__ = ()


class BinOp(ScalarExpr):
    """Fields: op (add sub mul div floordiv mod and or xor shl shr eq ne lt le gt ge), a, b; a and b have one dtype."""
    __slots__ = ()


class Neg(ScalarExpr):
    """-a for floats (0 - a would lose -0). Fields: a."""
    __slots__ = ()


class Call(ScalarExpr):
    """A function of one or two numbers. Fields: name, args."""
    __slots__ = ()


class Select(ScalarExpr):
    """condition ? a : b; only the chosen side is loaded. Fields: condition, a, b."""
    __slots__ = ()


class Cast(ScalarExpr):
    """Conversion to this node's dtype. Fields: a."""
    __slots__ = ()


class Reduce(ScalarExpr):
    """A fold over index variables. Fields: kind, variables, body."""
    __slots__ = ()


class _Entry(weakref.ref):
    """A weak reference that knows where it stands in `_interned`."""
    __slots__ = ("key",)
    key: tuple


def _forget(entry: Any) -> None:
    key = entry.key
    if _interned.get(key) is entry:
        _interned.pop(key, None)                             # another thread may have done it


def make_expr(cls, dtype: DType, weak: bool, *fields: Any) -> Any:
    """The one expression of class `cls` with these fields."""
    key = (cls, dtype, weak, *[id(field) if isinstance(field, ScalarExpr) else _key(field) for field in fields])
    entry = _interned.get(key)
    if entry is not None and (found := entry()) is not None:
        return found
    made = cls.__new__(cls)
    made.dtype, made.weak, made.fields = dtype, weak, fields
    inside = []
    for field in fields:
        if isinstance(field, ScalarExpr):
            inside.append(field)
        elif isinstance(field, tuple):
            inside += [f for f in field if isinstance(f, ScalarExpr)]
    made.inside = tuple(inside)
    free = _NONE_FREE if cls is not IndexVar else frozenset((made,))
    for child in inside:
        if child.free is not free and child.free:
            free = free | child.free if free else child.free
    made.free = free.difference(fields[1]) if cls is Reduce else free
    mine = _Entry(made, _forget)
    mine.key = key
    entry = _interned.setdefault(key, mine)                   # another thread may have been quicker
    if entry is not mine:
        found = entry()
        if found is not None:
            return found
        _interned[key] = mine
    return made


_NONE_FREE: frozenset = frozenset()


def _key(field: Any) -> int | tuple[Any, ...]:
    if isinstance(field, ScalarExpr) or isinstance(field, Operand):
        return id(field)
    if isinstance(field, tuple):
        return tuple([id(f) if isinstance(f, ScalarExpr) else _key(f) for f in field])
    return type(field), repr(field) if isinstance(field, float) else field


def rebuild(expr: ScalarExpr, *fields: Any) -> ScalarExpr:
    """An expression of the same kind and dtype with other fields."""
    if len(fields) == len(expr.fields) and all(map(operator.is_, fields, expr.fields)):
        return expr
    return make_expr(type(expr), expr.dtype, expr.weak, *fields)


def walk(exprs: Iterable[Any], known: Any = ()) -> list[Any]:
    """Every expression in `exprs`, each once, children first; without those in `known` and what is only below them."""
    seen, out = set(), []
    todo = [*exprs][::-1]
    while todo:                                               # a loop: expressions may be deeper than Python's stack
        expr = todo.pop()
        if expr is None:                                      # what is only below the next one is written
            out.append(todo.pop())
        elif expr not in seen and expr not in known:
            seen.add(expr)
            todo += expr, None
            todo += expr.children()
    return out


@contextlib.contextmanager
def numbered_from_zero() -> Iterator[None]:
    """Loop variables that are made inside the block are fresh in it, and those of an earlier block that makes the same ones: what
    was found out about an index holds for the next nest that has it."""
    before, _nest.numbers = getattr(_nest, "numbers", None), (("nest", n) for n in itertools.count())
    try:
        yield
    finally:
        _nest.numbers = before


def index_var(name: str, extent: Any) -> ScalarExpr:
    """A fresh loop variable that runs over 0 .. extent - 1."""
    return make_expr(IndexVar, dt.int64, False, name, extent, next(getattr(_nest, "numbers", None) or _variables))


def as_expr(value: Any) -> ScalarExpr:
    """`value` as a ScalarExpr: an expression, a Python or NumPy number, a Dim, an Operand without axes."""
    if isinstance(value, ScalarExpr):
        return value
    if isinstance(value, Operand):
        return value[()]
    if isinstance(value, Dim):
        return make_expr(Size, dt.int64, True, value)
    if isinstance(value, (bool, np.bool_)):
        return make_expr(Const, dt.bool_, True, bool(value))
    if isinstance(value, (np.generic, np.ndarray)) and value.shape == ():
        return constant(value.item(), dt.dtype(value.dtype))
    if isinstance(value, int):
        return make_expr(Const, dt.int64, True, value)
    if isinstance(value, float):
        return make_expr(Const, dt.float64, True, value)
    raise InternalError(f"a {type(value).__name__} is no scalar expression: {value!r}")


def constant(value: Any, dtype: DType) -> ScalarExpr:
    """The number `value` in `dtype`, not weak."""
    if dtype is dt.bool_:
        return make_expr(Const, dtype, False, bool(value))
    if dtype.kind in "ui":
        return make_expr(Const, dtype, False, wrap(int(value), dtype))
    return make_expr(Const, dtype, False, float(np.asarray(value, dtype.numpy)))


def wrap(value: int, dtype: DType) -> int:
    """An int reduced to the range of the integer `dtype`, as in NumPy's arithmetic."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "i" and value >> (dtype.bits - 1) else value


def _meet(a: ScalarExpr | int, b: ScalarExpr | int) -> tuple[ScalarExpr, ScalarExpr, DType, bool]:
    """The two expressions in the dtype that their operation computes in, and whether the result is weak."""
    a, b = as_expr(a), as_expr(b)
    if a.dtype is b.dtype and not a.dtype.is_small and (a.weak is b.weak or a.dtype is dt.int64):
        return a, b, a.dtype, a.weak and b.weak
    if a.weak == b.weak:
        dtype = dt.promote(compute_dtype(a.dtype), compute_dtype(b.dtype))
    else:
        strong, weak = (b, a) if a.weak else (a, b)
        sample = {"b": True, "u": 1, "i": 1, "f": 1.0}[weak.dtype.kind]
        dtype = dt.promote_scalar(compute_dtype(strong.dtype), sample)
    return _as(a, dtype), _as(b, dtype), dtype, a.weak and b.weak


def _as(expr: ScalarExpr, dtype: DType) -> ScalarExpr:
    """`expr` converted for computing in `dtype`, which is no 16-bit float."""
    if expr.dtype is dtype:
        return expr
    if isinstance(expr, Const):
        return make_expr(Const, dtype, expr.weak, constant(expr.fields[0], dtype).fields[0])
    return make_expr(Cast, dtype, expr.weak, expr)


def binary(op: str, a: ScalarExpr | int, b: ScalarExpr | int) -> ScalarExpr:
    """The ScalarExpr `a op b`; constants are folded for sizes and indices."""
    a, b, dtype, weak = _meet(a, b)
    if op == "div" and dtype.kind in "bui":
        dtype = dt.float64 if weak else dt.float32
        a, b = _as(a, dtype), _as(b, dtype)
    if dtype is dt.bool_ and op in ("add", "mul", "sub", "floordiv", "mod", "shl", "shr"):
        if op in ("add", "mul"):
            op = "or" if op == "add" else "and"
        else:
            dtype = dt.int8
            a, b = _as(a, dtype), _as(b, dtype)
    if dtype is dt.int64:
        if isinstance(a, Const) and isinstance(b, Const) and op in _INTEGER:
            return make_expr(Const, dtype, weak, wrap(_INTEGER[op](a.fields[0], b.fields[0]), dtype))
        neutral = b if op in ("add", "sub", "mul", "floordiv") else None
        if isinstance(neutral, Const) and neutral.fields[0] == (0 if op in ("add", "sub") else 1):
            return a
        neutral = a if op in ("add", "mul") else None
        if isinstance(neutral, Const) and neutral.fields[0] == (0 if op == "add" else 1):
            return b
    return make_expr(BinOp, dt.bool_ if op in COMPARISONS else dtype, weak, op, a, b)


_INTEGER = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def logical_not(x: Any) -> ScalarExpr:
    """True where x is zero."""
    x = as_expr(x)
    return binary("xor", x, True) if x.dtype is dt.bool_ else binary("eq", x, 0)


def logical_and(a: Any, b: Any) -> ScalarExpr:
    """True where both are not zero."""
    return binary("and", cast(a, dt.bool_), cast(b, dt.bool_))


def logical_or(a: Any, b: Any) -> ScalarExpr:
    """True where one is not zero."""
    return binary("or", cast(a, dt.bool_), cast(b, dt.bool_))


def where(condition: Any, a: Any, b: Any) -> ScalarExpr:
    """a where the condition is true, else b; an element that is not chosen is not loaded, so it may lie outside."""
    a, b = as_expr(a), as_expr(b)
    weak = a.weak and b.weak
    dtype = a.dtype
    if a.dtype is not b.dtype or a.weak != b.weak:
        a, b, dtype, weak = _meet(a, b)
    return make_expr(Select, dtype, weak, cast(condition, dt.bool_), a, b)


def cast(x: Any, dtype: DType) -> ScalarExpr:
    """x converted to `dtype` as NumPy's astype does; rounding to a 16-bit float happens here."""
    x, dtype = as_expr(x), dt.dtype(dtype)
    if isinstance(x, Const) and dtype.kind != "c" and _castable(x.fields[0], dtype):
        return constant(x.fields[0], dtype)
    if x.dtype is dtype and not x.weak:
        return x
    return make_expr(Cast, dtype, False, x)


def _castable(value: float | int, dtype: DType) -> bool:
    return not (isinstance(value, float) and dtype.kind in "ui" and not math.isfinite(value))


def call(name: str, *args: Any) -> ScalarExpr:
    """The function `name` (of UNARY_FUNCTIONS or BINARY_FUNCTIONS) of expressions; integers go to float32 first."""
    if name in BINARY_FUNCTIONS and len(args) == 2:
        a, b, dtype, weak = _meet(*args)
        args = a, b
    elif name in UNARY_FUNCTIONS and len(args) == 1:
        x = as_expr(args[0])
        dtype, weak = compute_dtype(x.dtype), x.weak
        args = _as(x, dtype),
    else:
        raise InternalError(f"no scalar function {name!r} of {len(args)} arguments")
    if dtype.kind in "bui" and name not in _PREDICATES:
        if name in ("floor", "ceil", "trunc", "round") or (name == "abs" and dtype.kind != "i"):
            return args[0]
        if name not in _KEEP_INTEGERS:
            dtype = dt.float64 if weak else dt.float32
            args = tuple(_as(x, dtype) for x in args)
        elif dtype is dt.bool_:
            return binary("or" if name == "maximum" else "and", *args) if name in ("maximum", "minimum") else args[0]
    return make_expr(Call, dt.bool_ if name in _PREDICATES else dtype, weak, name, args)


def maximum(a: Any, b: Any) -> ScalarExpr:
    """The larger of two numbers; NaN if one is NaN."""
    return call("maximum", a, b)


def minimum(a: Any, b: Any) -> ScalarExpr:
    """The smaller of two numbers; NaN if one is NaN."""
    return call("minimum", a, b)


def reduce(kind: str, extents: Sequence[Size], body: Function) -> ScalarExpr:
    """The fold of body(*r) over r in the box `extents` (ints or Dims).

    kind : sum, prod, max, min (a NaN wins), any, all, argmax, argmin (the first in row-major order; int64)
    An empty box gives 0, 1, False, True; -inf or the least integer for max, +inf or the greatest for min.
    """
    if kind not in REDUCTIONS:
        raise InternalError(f"no reduction {kind!r}; there are {', '.join(REDUCTIONS)}")
    variables = tuple(make_expr(Const, dt.int64, True, 0) if isinstance(e, int) and e == 1 else index_var("r", e)
                      for e in extents)
    value = as_expr(body(*variables))
    for position, variable in enumerate(variables):
        chosen = _chosen_index(value, variable) if kind == "sum" and isinstance(variable, IndexVar) else None
        if chosen is not None and not _is_short_row(value, variable):      # the sum of [r == c] * x[r] is x[c]
            rest = [*extents[:position], *extents[position + 1:]]
            if any(v in chosen.free for v in variables if isinstance(v, IndexVar)):
                return reduce(kind, rest, _at_chosen_index(body, position, extents[position]))
            inner = reduce(kind, rest, lambda *others: body(*others[:position], chosen, *others[position:]))
            return where(_is_index(chosen, extents[position]), inner, constant(0, inner.dtype))
    loops = tuple(v for v in variables if isinstance(v, IndexVar))
    if kind in ("any", "all"):
        value, dtype = cast(value, dt.bool_), dt.bool_
    elif kind in ("argmax", "argmin"):
        dtype = dt.int64
    elif kind in ("sum", "prod"):
        dtype = dt.int64 if value.dtype is dt.bool_ else compute_dtype(value.dtype)
        value = _as(value, dtype)
    else:
        dtype = compute_dtype(value.dtype)
        value = _as(value, dtype)
    if not loops and kind not in ("argmax", "argmin"):
        return value
    return make_expr(Reduce, dtype, False, kind, loops, value)


def _at_chosen_index(body: Any, position: Any, extent: Any) -> Any:
    """The body of a sum without its variable at `position`, whose one index that counts hangs on the others."""
    def chosen_body(*others):
        variable = index_var("r", extent)
        chosen = _chosen_index(as_expr(body(*others[:position], variable, *others[position:])), variable)
        value = as_expr(body(*others[:position], chosen, *others[position:]))
        return where(_is_index(chosen, extent), value, constant(0, value.dtype))
    return chosen_body


def _is_index(chosen: Any, extent: Any) -> Any:
    """A bool: is a number an index of an axis of `extent` elements?"""
    return logical_and(binary("ge", chosen, 0), binary("lt", chosen, make_expr(Size, dt.int64, True, extent)))


def _is_short_row(value: Any, variable: Any) -> bool:
    """True if `variable` goes along rows of so few elements that adding them all up, without a branch, is as quick."""
    size = variable.fields[1]
    return isinstance(size, int) and size <= FEW and any(
        isinstance(e, Load) and e.fields[1] and e.fields[1][-1] is variable for e in walk([value]))


def _chosen_index(value: ScalarExpr, variable: ScalarExpr) -> Any:
    """The one index `variable` at which `value` is not 0, an int64 without `variable`; None if it is not known."""
    if isinstance(value, Select):
        condition, _, other = value.fields
        return _only_true_at(condition, variable) if isinstance(other, Const) and other.fields[0] == 0 else None
    if isinstance(value, Cast):
        source, = value.fields
        return (_only_true_at if source.dtype is dt.bool_ else _chosen_index)(source, variable)
    return None


def _only_true_at(condition: Any, variable: Any) -> Any:
    """The one index at which a bool can be true: of `variable == index`, or of that and something else."""
    if not isinstance(condition, BinOp) or condition.fields[0] not in ("eq", "and"):
        return None
    op, a, b = condition.fields
    if op == "and":
        found = _only_true_at(a, variable)
        return found if found is not None else _only_true_at(b, variable)
    for index, other in ((a, b), (b, a)):
        if index is variable and variable not in other.free:
            return other
    return None


class Operand:
    """An input of a kernel: name, abstract; x[i, j] is one element. A Python number has no axes: x[()] is its value."""
    __slots__ = ("name", "abstract", "shape", "dtype", "element")
    shape: tuple
    dtype: dt.DType

    def __init__(self, name: str, abstract: Any, element: Function | None = None) -> None:
        self.name, self.abstract, self.element = name, abstract, element
        if isinstance(abstract, AbstractScalar):
            self.shape, self.dtype = (), {bool: dt.bool_, int: dt.int64, float: dt.float64}[abstract.type]
        else:
            self.shape, self.dtype = tuple(abstract.shape), abstract.dtype

    def __repr__(self) -> str:
        return self.name

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __getitem__(self, indices: tuple[ScalarExpr | int, ...]) -> ScalarExpr:
        indices = tuple(as_expr(i) for i in (indices if isinstance(indices, tuple) else (indices,)))
        if len(indices) != len(self.shape):
            raise InternalError(f"{self.name} has {len(self.shape)} axes, {len(indices)} indices were given")
        zero = as_expr(0)
        indices = tuple(zero if isinstance(s, int) and s == 1 else i for s, i in zip(self.shape, indices))
        if self.element is not None:
            return self.element(indices)
        return make_expr(Load, self.dtype, isinstance(self.abstract, AbstractScalar), self, indices)

    def at(self, indices: Any) -> ScalarExpr:
        """The element that broadcasting puts at `indices`: trailing axes align, an axis of size 1 is repeated."""
        return self[tuple(indices)[len(indices) - len(self.shape):]]


def elementwise_rule(function: Function) -> Function:
    """The kernel rule of an operator that applies the scalar function to broadcast operands."""
    def rule(*operands, out, **attrs):
        expression = scalar_function(function)
        return lambda *i: expression(*(x.at(i) for x in operands), **attrs)
    return rule


# ---------------------------------------------------------------- Python's own functions of numbers

def _named(name: str) -> Function:
    return lambda *args: call(name, *args)


_KNOWN = {getattr(math, name): _named(name) for name in UNARY_FUNCTIONS + BINARY_FUNCTIONS if hasattr(math, name)}
_KNOWN |= {
    math.fabs: _named("abs"), abs: _named("abs"), operator.abs: _named("abs"), round: _named("round"),
    min: lambda *xs: _fold("minimum", xs), max: lambda *xs: _fold("maximum", xs),
    operator.not_: logical_not, operator.pow: lambda a, b: as_expr(a) ** b, pow: lambda a, b: as_expr(a) ** b,
    bool: lambda x: cast(x, dt.bool_), int: lambda x: cast(call("trunc", x), dt.int64),
    float: lambda x: cast(x, dt.float32), operator.truth: lambda x: cast(x, dt.bool_),
}
_MATH = types.SimpleNamespace(**{name: _KNOWN.get(f, f) if callable(f) else f for name, f in vars(math).items()
                                 if not name.startswith("_")})


def _fold(name: str, values: Any) -> Any:
    out = values[0]
    for value in values[1:]:
        out = call(name, out, value)
    return out


def _translate(value: Any, seen: dict[Function, Function]) -> Any:
    """What `value`, met inside a scalar function, stands for among scalar expressions."""
    if value is math:
        return _MATH
    if isinstance(value, (types.BuiltinFunctionType, type)) and value in _KNOWN:
        return _KNOWN[value]
    if isinstance(value, types.FunctionType) and value.__module__ != __name__:
        return _translate_function(value, seen)
    return value


def _translate_function(function: Function, seen: dict) -> Function:
    if function in seen:
        return seen[function]
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    scope = function.__globals__
    seen[function] = function
    changed = {}
    for name in names:
        value = scope.get(name, getattr(builtins, name, None))
        other = _translate(value, seen)
        if other is not value:
            changed[name] = other
    closure = tuple(types.CellType(_translate(cell.cell_contents, seen)) for cell in function.__closure__ or ())
    if changed or any(a.cell_contents is not b.cell_contents for a, b in zip(closure, function.__closure__ or ())):
        made = types.FunctionType(function.__code__, {**scope, **changed}, function.__name__, function.__defaults__,
                                  closure)
        made.__kwdefaults__ = function.__kwdefaults__
        seen[function] = made
    return seen[function]


def _codes(code: Any) -> Iterator[Any]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def scalar_function(function: Function) -> Function:
    """The function of ScalarExprs that the Python function of numbers `function` means.

    Functions of `math`, `operator`, and abs, min, max, round, bool, int, float are recognised by identity: the
    function itself, or what it and the functions that it calls look up. A condition must be `where`, not `if`.
    """
    made = _translate(function, {})
    return lambda *args, **attrs: as_expr(made(*args, **attrs))

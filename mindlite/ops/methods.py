"""Python's operators and the methods of Tensor, given to Tensor and to graph nodes alike: one table."""
import functools
import inspect
import re

import numpy as np

from ..common import dtype as dt
from ..common.dim import Dim
from ..common.errors import ArgumentError
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import Primitive
from . import activation, arithmetic, basic, complex_numbers, creation, elementary, logic, moments, reduction, scan
from .axes import as_flag
from .define import as_operand, as_stack
from .sort import argsort, argwhere, masked_select, nonzero, sort, topk, unique

METHODS: dict = {}
_UNLIKE = (tuple, str, bytes, dict, set, type(None))          # no operands, or perhaps not the operator's
OPERATORS: dict = {}            # {"__add__": (the operator, False), "__radd__": (.., True)}: those of Python


def method(name, function, of=None):
    """Make `function(self, ...)` the method `name` of Tensor and AnfNode.

    of : the operator whose docstring tells the rest of the method's
    """
    if isinstance(function, Primitive):
        function = renaming(function)                        # Python binds only functions to an instance
    METHODS[name] = function
    inside = getattr(function, "__wrapped__", function)
    for made in inside, function:                            # what Python says of wrong arguments bears the public name
        if getattr(made, "__name__", "") in (f"_{name}", "call"):
            made.__name__, made.__qualname__ = name, f"Tensor.{name}"
    if inside is not function and not function.__doc__:
        function.__doc__ = as_method(name, inside)
    if of is not None:
        function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\n{inspect.cleandoc(doc_of(of))}"
    setattr(Tensor, name, function)
    setattr(AnfNode, name, function)


def doc_of(function):
    """The docstring of a function or an operator, as it was declared."""
    return function.doc if isinstance(function, Primitive) else function.__doc__ or ""


def as_method(name, function):
    """The docstring of the method `name` that calls `function`: which operator it is, and what is said there."""
    doc = doc_of(function)
    if isinstance(function, Primitive):
        operator, operand = function.name, function.inputs[0]
    elif function.__qualname__.startswith("Tensor."):
        return doc
    else:
        operator, operand = function.__name__, inspect.unwrap(function).__code__.co_varnames[0]
    margin = "" if re.search(r"\n\S", doc) else "    "       # Python 3.13 takes the common indentation away
    return f"{doc.rstrip()}\n\n{margin}Tensor.{name} is the operator {operator}; `{operand}` is the Tensor."


SYNONYMS = (
    ("axis", "dim", "dims"),
    ("keepdims", "keepdim", "keep_dims"),
    ("other", "y", "value", "tensor", "divisor"),
    ("dim0", "axis0"),
    ("dim1", "axis1"),
    ("dim2", "axis2"),
    ("values", "v"),
    ("exponent", "other", "power"),
    ("ddof", "correction"),
    ("split_size_or_sections", "split_size", "indices_or_sections"),
    ("dtype", "d"),
    ("min", "xmin"),
    ("max", "xmax"),
    ("diagonal", "k"),
    ("input_indices", "index", "indices"),
    ("tensor2", "mat2"),
    ("perm", "axes", "axis"),
)


def renaming(function, of_tensor=True):
    """`function` whose arguments may have any of MindSpore's names for a thing (dim for axis, ..).

    A synonym stands for the one name of its group that the function has. Where the function has two of them, as `max` has
    `dim` and `axis` with a meaning each, a third one says nothing, and the function refuses it.

    of_tensor : it is a method of Tensor; called on a list (Tensor.add([1], [2])) it raises ArgumentError
    """
    @functools.cache
    def names():                                            # when a name is given for the first time
        signature = function.signature if isinstance(function, Primitive) else inspect.signature(function)
        return signature.parameters.keys()

    def known(name):
        if name in names():
            return name
        meant = {other for group in SYNONYMS if name in group for other in group if other in names()}
        return meant.pop() if len(meant) == 1 else name

    def call(self, *args, **attrs):
        if of_tensor and not isinstance(self, (Tensor, AnfNode)):
            raise ArgumentError(f"a method of Tensor is called on {type(self).__name__}", hint="make a Tensor of it")
        if attrs:
            attrs = {known(name): value for name, value in attrs.items()}
        return function(self, *args, **attrs)
    setattr(call, "__wrapped__", function)
    return call


def _binary(name, operator, reflected=True):
    """Python's operator `name`. A list or tuple of Tensors beside a Tensor is their stack, as in MindSpore."""
    def operand(other):
        return as_stack(other) if isinstance(other, (list, tuple)) else other

    def is_others(other, reflected=f"__r{name}__"):
        """Is it no operand, or of a class of tuples (a sparse tensor) that says what the operator does to a Tensor?"""
        return not isinstance(other, tuple) or getattr(type(other), reflected, None) is not getattr(tuple, reflected, None)

    def forward(self, other):
        return NotImplemented if isinstance(other, _UNLIKE) and is_others(other) else operator(self, operand(other))

    def backward(self, other):
        return NotImplemented if isinstance(other, _UNLIKE) and is_others(other) else operator(operand(other), self)
    method(f"__{name}__", forward)
    OPERATORS[f"__{name}__"] = operator, False
    if reflected:
        method(f"__r{name}__", backward)
        OPERATORS[f"__r{name}__"] = operator, True


def _divided(self, other, reflected):
    """divmod(self, other), or divmod(other, self)"""
    parts = [METHODS[f"__{'r' if reflected else ''}{name}__"](self, other) for name in ("floordiv", "mod")]
    return NotImplemented if parts[0] is NotImplemented else tuple(parts)


for _name, _operator in [("add", arithmetic.add), ("sub", arithmetic.sub), ("mul", arithmetic.mul),
                         ("truediv", arithmetic.true_divide), ("floordiv", arithmetic.floor_divide),
                         ("mod", arithmetic.remainder), ("pow", arithmetic.pow), ("and", logic.bitwise_and),
                         ("or", logic.bitwise_or), ("xor", logic.bitwise_xor),
                         ("lshift", logic.bitwise_left_shift), ("rshift", logic.bitwise_right_shift)]:
    _binary(_name, _operator)
for _name, _operator in [("lt", logic.less), ("le", logic.less_equal), ("gt", logic.greater),
                         ("ge", logic.greater_equal)]:
    _binary(_name, _operator, reflected=False)
method("__neg__", lambda self: arithmetic.neg(self))
method("__pos__", lambda self: self)
method("__invert__", lambda self: logic.bitwise_not(self))
method("__abs__", lambda self: arithmetic.abs(self))
method("__divmod__", lambda self, other: _divided(self, other, False))
method("__rdivmod__", lambda self, other: _divided(self, other, True))
method("__round__", lambda self, n=0: arithmetic.round(self, decimals=n or 0))


COMPARABLE = Tensor, AnfNode, Dim, np.ndarray, np.generic, bool, int, float, complex


def _tensor_only(name, operator):
    """Tensors compare element by element; graph nodes keep Python's identity, which the graph's dictionaries need.

    A Tensor equals no list, tuple or other object: `x == [1, 2]` is False, as in MindSpore.
    """
    def compare(self, other):
        return operator(self, other) if isinstance(other, COMPARABLE) else NotImplemented
    setattr(Tensor, name, compare)


_tensor_only("__eq__", logic.equal)
_tensor_only("__ne__", logic.not_equal)
method("__contains__", lambda self, value: isinstance(value, COMPARABLE) and reduction.any(logic.equal(self, value)))
OPERATORS.update(__eq__=(logic.equal, False), __ne__=(logic.not_equal, False), __neg__=(arithmetic.neg, False),
                 __abs__=(arithmetic.abs, False))

UNARY = {
    arithmetic: "neg square reciprocal sign abs floor ceil trunc round negative absolute",
    elementary: "exp exp2 expm1 log log1p log2 log10 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
                "atanh erf erfc sigmoid arccos arcsin arctan arccosh arcsinh arctanh",
    logic: "logical_not bitwise_not isnan isinf isfinite nan_to_num",
    complex_numbers: "real imag conj angle",
}
BINARY = {
    arithmetic: "add sub mul div floor_divide floor_div remainder fmod pow hypot maximum minimum clamp clip lerp "
                "addcmul addcdiv true_divide subtract multiply divide",
    elementary: "logaddexp atan2 arctan2",
    logic: "equal not_equal less less_equal greater greater_equal eq ne lt le gt ge logical_and logical_or logical_xor "
           "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift isclose masked_fill",
}
for _table in (UNARY, BINARY):
    for _module, _names in _table.items():
        for _name in _names.split():
            method(_name, renaming(getattr(_module, _name)))


def _round(self, decimals=0):
    """The decimals may be given by position."""
    return arithmetic.round(self, decimals=decimals)


method("round", _round, of=arithmetic.round)


def _with_factor(operator):
    """x.add(other, alpha=a) is x + a * other."""
    def call(self, other, *, alpha=1):
        """With alpha, a number or a Tensor, `other` is multiplied by it first."""
        return operator(self, other if isinstance(alpha, int) and alpha == 1 else other * alpha)
    return call


method("add", renaming(_with_factor(arithmetic.add)), of=arithmetic.add)
for _name in "sub", "subtract":
    method(_name, renaming(_with_factor(arithmetic.sub)), of=arithmetic.sub)


def _where(self, condition, y):
    """The elements of this Tensor where `condition` is True, those of `y` elsewhere: ops.where(condition, x, y).

    condition : Tensor of any dtype, True where it is not zero;     y : Tensor or number; the three are broadcast
    out       : of the dtype to which x and y are promoted
    raises    : ShapeError for shapes that do not broadcast
    """
    return logic.where(condition, self, y)


def _astype(self, dtype, copy=True):
    """The elements as `dtype`: a mindlite or NumPy dtype, or its name ("int8"). copy : bool; says nothing, as Tensors are values

    raises : DTypeError for what is no dtype
    """
    return basic.cast(self, dtype=dtype)


def converting(dtype):
    """A method that converts to `dtype`."""
    def call(self):
        return basic.cast(self, dtype=dtype)
    call.__doc__ = f"""The elements as {dtype.name}, as `astype` converts them."""
    return call


method("where", _where)
method("astype", _astype, of=basic.cast)
for _name, _dtype in [("bool", dt.bool_), ("int", dt.int32), ("long", dt.int64), ("half", dt.float16),
                      ("float", dt.float32), ("double", dt.float64)]:
    method(_name, converting(_dtype))


# ---------------------------------------------------------------- reductions, scans, order

def _sum(self, axis=None, dtype=None, keepdims=False, initial=None):
    """The sum along `axis`.

    axis     : int, tuple of ints, or None for all axes; () sums all, as None does
    dtype    : of the sum; None: that of the elements, int64 for integers and bools
    keepdims : bool; True: the axes stay, with the size 1
    initial  : number or Tensor that is added, or None; a float makes a sum of integers float32
    out      : dtype[shape without the axes]
    raises   : ValueRangeError for an axis outside or named twice, ArgumentError for one that is no int
    """
    out = reduction.sum(self, axis, keepdims, dtype=dtype)
    return out if initial is None else out + initial


def _max(self, dim=None, keepdim=None, *, axis=None, keepdims=None, initial=None, where=True, return_indices=False):
    """The largest element. x.max(1), x.max(dim=1), with or without keepdim: (values, indices), as torch has it;
    x.max(axis=1), or with keepdims: the values, as NumPy has it, with return_indices both.

    dim, axis         : int, or None for all elements; a tuple of ints gives the values only
    keepdim, keepdims : bool; True: the axes stay, with the size 1
    initial           : number; no element counts as less;     where : bool[...]; the others count as `initial`
    return_indices    : bool; True: with the index of the first largest, int64, in row-major order where the axis is None
    out               : values like x, without the axes; a NaN is the largest
    raises            : DTypeError for complex x, ShapeError for an empty axis, ArgumentError for `where` without `initial`
                        and for several axes with return_indices, ValueRangeError for an axis outside
    """
    return _extremum(self, dim, keepdim, axis, keepdims, initial, where, return_indices, reduction.max, reduction.amax)


def _min(self, dim=None, keepdim=None, *, axis=None, keepdims=None, initial=None, where=True, return_indices=False):
    """The smallest element. x.min(1), x.min(dim=1), with or without keepdim: (values, indices), as torch has it;
    x.min(axis=1), or with keepdims: the values, as NumPy has it, with return_indices both.

    dim, axis         : int, or None for all elements; a tuple of ints gives the values only
    keepdim, keepdims : bool; True: the axes stay, with the size 1
    initial           : number; no element counts as more;     where : bool[...]; the others count as `initial`
    return_indices    : bool; True: with the index of the first smallest, int64, in row-major order where the axis is None
    out               : values like x, without the axes; a NaN is the smallest
    raises            : DTypeError for complex x, ShapeError for an empty axis, ArgumentError for `where` without `initial`
                        and for several axes with return_indices, ValueRangeError for an axis outside
    """
    return _extremum(self, dim, keepdim, axis, keepdims, initial, where, return_indices, reduction.min, reduction.amin)


def _extremum(x, dim, keepdim, axis, keepdims, initial, where, return_indices, with_index, value):
    as_torch = dim is not None and keepdims is None and initial is None and where is True
    axis = dim if axis is None else axis
    keepdims = any(as_flag(value.__name__, "keepdims", flag) for flag in (keepdim, keepdims) if flag is not None)
    find = with_index if return_indices or as_torch and not isinstance(dim, (tuple, list)) else value
    return find(x, axis, keepdims, initial=initial, where=where)


def _cumsum(self, axis=None, dtype=None):
    """The running sum along `axis`, an int; None: of all elements in row-major order, a vector.

    dtype  : of the sums; None: that of the elements, int32 for bool, uint8, int8 and int16, as in MindSpore
    """
    dtype = dt.int32 if dtype is None and self.dtype in (dt.bool_, dt.uint8, dt.int8, dt.int16) else dtype
    return scan.cumsum(self if axis is not None else basic.reshape(self, shape=(-1,)), axis or 0, dtype)


def _new_zeros(self, size, dtype=None):
    """A Tensor of zeros.

    size   : int or tuple of ints, its shape;   dtype : of it, None for that of this Tensor
    raises : ShapeError for a negative size, DTypeError for what is no dtype
    """
    return creation.zeros(size, dtype or self.dtype)


def _new_ones(self, size, dtype=None):
    """A Tensor of ones.

    size   : int or tuple of ints, its shape;   dtype : of it, None for that of this Tensor
    raises : ShapeError for a negative size, DTypeError for what is no dtype
    """
    return creation.ones(size, dtype or self.dtype)


for _name, _function in {
    "sum": _sum, "max": _max, "min": _min, "mean": moments.mean, "amax": reduction.amax,
    "amin": reduction.amin, "any": reduction.any, "all": reduction.all, "var": moments.var,
    "std": moments.std, "logsumexp": moments.logsumexp, "count_nonzero": reduction.count_nonzero,
    "argmax": reduction.argmax, "argmin": reduction.argmin, "prod": reduction.prod,
    "cumprod": scan.cumprod, "cummax": scan.cummax, "cummin": scan.cummin,
    "sort": sort, "argsort": argsort, "topk": topk, "nonzero": nonzero, "argwhere": argwhere,
    "masked_select": masked_select, "unique": unique, "tril": creation.tril, "triu": creation.triu,
    "softmax": activation.softmax, "log_softmax": activation.log_softmax, "relu": activation.relu,
    "new_zeros": _new_zeros, "new_ones": _new_ones,
}.items():
    method(_name, renaming(_function))
method("cumsum", renaming(_cumsum), of=scan.cumsum)


def together(sizes, given=None):
    """The tuple that a method was given as x.reshape(2, 3), x.reshape((2, 3)) or by its name."""
    if given is not None:
        if sizes:
            raise ArgumentError("the shape is given twice", note=f"{sizes} and {given}")
        return given
    return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes


def _reshape(self, *sizes, shape=None):
    """x.reshape(2, 3), x.reshape((2, 3)) or x.reshape(shape=(2, 3)).

    sizes, shape : ints, or one tuple of them
    """
    return basic.reshape(self, shape=together(sizes, shape))


def _view(self, *sizes, shape=None):
    """x.view(2, 3), x.view((2, 3)) or x.view(shape=(2, 3)): as x.reshape.

    sizes, shape : ints, or one tuple of them
    """
    return basic.reshape(self, shape=together(sizes, shape))


def _reshape_as(self, other):
    """This Tensor with the shape of the Tensor `other`. raises : ShapeError where the numbers of elements differ"""
    return basic.reshape(self, shape=as_operand(other).shape)


method("reshape", _reshape, of=basic.reshape)
method("view", _view, of=basic.reshape)
for _name in "reshape_as", "view_as":
    method(_name, renaming(_reshape_as))
for _class in Tensor, AnfNode:
    setattr(_class, "T", property(lambda self: basic.transpose(self, perm=None), doc="The axes in reverse order."))

"""A second, small Tensor over NumPy: what `Tensor` and `ops` mean to plain Python, written without mindlite.

Arithmetic follows NumPy with two rules of mindlite's own: ints and bools meet floats as float32 unless a float64 Tensor takes
part, and sums of ints and bools are int64. What does not fit together raises Refused, in place of mindlite's own
errors.
"""
import builtins

import numpy as np


class Refused(Exception):
    """An error of an operator; the text is mindlite's business."""


NAMES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "b": np.bool_}


def array_of(value):
    """The array of a Tensor, the number itself otherwise."""
    return value.array if isinstance(value, Tensor) else value


def floats_of(values):
    """The float dtype in which these Tensors and numbers meet; None if none of them is a float."""
    arrays = [v.array.dtype for v in values if isinstance(v, Tensor)]
    if np.dtype(np.float64) in arrays:
        return np.float64
    if np.dtype(np.float32) in arrays or any(isinstance(v, float) for v in values):
        return np.float32
    return None


def calculate(function, *values, division=False):
    """function over the arrays, in the dtype where they meet."""
    meet = floats_of(values) or (np.float32 if division else None)
    arrays = [array_of(v) for v in values]
    if meet is not None:
        arrays = [np.asarray(a).astype(meet) for a in arrays]
    try:
        with np.errstate(all="ignore"):
            return Tensor.of(function(*arrays))
    except (ValueError, TypeError) as error:
        raise Refused(str(error)) from error


def operator(function, division=False):
    def forward(self, other):
        if isinstance(other, (str, list, tuple, dict)) or other is None:
            return NotImplemented
        return calculate(function, self, other, division=division)

    def backward(self, other):
        if isinstance(other, (str, list, tuple, dict)) or other is None:
            return NotImplemented
        return calculate(function, other, self, division=division)
    return forward, backward


def integral(function):
    """Division of ints: by zero it gives zero."""
    def divide(a, b):
        if np.result_type(a, b).kind == "f":
            return function(a, b)
        if np.result_type(a, b).kind == "b":
            raise TypeError("bools are not divided")
        return function(a, b)
    return divide


def arithmetic(function):
    def compute(a, b):
        if np.result_type(a, b).kind == "b":
            raise TypeError("not of bools")
        return function(a, b)
    return compute


class Tensor:
    """An array; `array` is shared by views."""
    __slots__ = ("array",)

    def __init__(self, data, dtype=None):
        array = np.array(array_of(data))
        if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic, Tensor)):
            array = array.astype(np.float32)
        self.array = array if dtype is None else array.astype(dtype)

    @staticmethod
    def of(array):
        """A Tensor on this very array."""
        made = Tensor.__new__(Tensor)
        made.array = np.asarray(array)
        return made

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)
    dtype = property(lambda self: self.array.dtype)
    __add__, __radd__ = operator(np.add)
    __sub__, __rsub__ = operator(arithmetic(np.subtract))
    __mul__, __rmul__ = operator(np.multiply)
    __truediv__, __rtruediv__ = operator(np.true_divide, division=True)
    __floordiv__, __rfloordiv__ = operator(integral(np.floor_divide))
    __mod__, __rmod__ = operator(integral(np.remainder))
    __pow__, __rpow__ = operator(arithmetic(np.power))
    __and__, __rand__ = operator(np.bitwise_and)
    __or__, __ror__ = operator(np.bitwise_or)
    __lt__ = operator(np.less)[0]
    __le__ = operator(np.less_equal)[0]
    __gt__ = operator(np.greater)[0]
    __ge__ = operator(np.greater_equal)[0]
    __eq__ = operator(np.equal)[0]
    __ne__ = operator(np.not_equal)[0]
    __hash__ = object.__hash__

    def __neg__(self):
        return calculate(np.negative, self)

    def __invert__(self):
        return calculate(np.invert, self)

    def __abs__(self):
        return calculate(np.abs, self)

    def __bool__(self):
        if self.array.size != 1:
            raise Refused("truth value")
        return bool(self.array)

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __index__(self):
        return int(self.item())

    def item(self):
        if self.array.size != 1:
            raise Refused("item")
        return self.array.item()

    def __len__(self):
        if not self.shape:
            raise Refused("len")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise Refused("iteration")
        return (Tensor.of(self.array[i:i + 1].reshape(self.shape[1:])) for i in range(len(self)))

    def _index(self, index):
        return tuple(map(array_of, index)) if isinstance(index, tuple) else array_of(index)

    def __getitem__(self, index):
        try:
            index = self._index((index,))
            found = self.array[index if any(i is Ellipsis for i in index) else (*index, Ellipsis)]    # a view, of one element too
        except IndexError as error:
            raise Refused(str(error)) from error
        return Tensor.of(found)

    def __setitem__(self, index, value):
        try:
            with np.errstate(all="ignore"):
                self.array[self._index(index)] = array_of(value)
        except (IndexError, ValueError) as error:
            raise Refused(str(error)) from error

    def reduce(self, function, axis=None, keepdims=False):
        try:
            return Tensor.of(function(self.array, axis=axis, keepdims=keepdims))
        except (ValueError, IndexError) as error:
            raise Refused(str(error)) from error

    def sum(self, axis=None, keepdims=False):
        kind = self.array.dtype if self.array.dtype.kind == "f" else np.int64
        return self.reduce(lambda a, **where: a.sum(dtype=kind, **where), axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        kind = self.array.dtype if self.array.dtype.kind == "f" else np.float32
        with np.errstate(all="ignore"):
            count = self.array.size if axis is None else self.shape[axis]
            return Tensor.of((np.asarray(self.sum(axis, keepdims).array, np.float64) / count).astype(kind)
                             if count else np.asarray(np.nan, kind))

    def max(self, axis=None, keepdims=False):
        return self.reduce(np.max, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        return self.reduce(np.min, axis, keepdims)

    def any(self):
        return self.reduce(np.any)

    def all(self):
        return self.reduce(np.all)

    def reshape(self, shape):
        try:
            return Tensor.of(self.array.reshape(shape))
        except ValueError as error:
            raise Refused(str(error)) from error

    def astype(self, dtype):
        with np.errstate(all="ignore"):
            return Tensor.of(self.array.astype(dtype))

    def asnumpy(self):
        return self.array

    def tolist(self):
        return self.array.tolist()

    def __str__(self):
        return str(self.array)

    def __format__(self, spec):
        return format(self.item(), spec) if spec and self.array.size == 1 else format(str(self), spec)


class ops:
    """The functions that programs call."""
    tanh = staticmethod(lambda x: calculate(np.tanh, x, division=True))
    exp = staticmethod(lambda x: calculate(np.exp, x, division=True))
    abs = staticmethod(lambda x: calculate(np.abs, x))
    square = staticmethod(lambda x: calculate(lambda a: a * a, x))
    maximum = staticmethod(lambda x, y: calculate(np.maximum, x, y))
    minimum = staticmethod(lambda x, y: calculate(np.minimum, x, y))
    zeros = staticmethod(lambda shape, dtype: Tensor.of(np.zeros(shape, dtype)))
    ones = staticmethod(lambda shape, dtype: Tensor.of(np.ones(shape, dtype)))

    @staticmethod
    def concat(tensors):
        return Tensor.of(np.concatenate([x.array for x in tensors]))

    @staticmethod
    def clamp(x, low, high):
        return Tensor.of(np.clip(x.array, np.asarray(low, x.array.dtype), np.asarray(high, x.array.dtype)))

    @staticmethod
    def where(condition, x, y):
        return calculate(lambda a, b: np.where(condition.array, a, b), x, y)

    @staticmethod
    def cumsum(x, axis):
        return x.reduce(lambda a, axis, keepdims: np.cumsum(a, axis, dtype=a.dtype), axis)


class Cell:
    """A layer: calling it is calling `construct`."""

    def __call__(self, *args):
        return self.construct(*args)


def parameter(data, name):
    """A Tensor that is trained."""
    return data


NAMESPACE = {"Tensor": Tensor, "Parameter": parameter, "Cell": Cell, "ops": ops, "np": np, "__builtins__": builtins}

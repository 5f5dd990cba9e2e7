"""Methods of Tensor after operators that have it as their first argument, and those that fill it with random numbers.

    x.unfold(3)    x.fill(2)    x.to_coo()    x.random_(0, 10)  ==  assign(x, ..), and gives x
"""
import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from . import random
from .axes import as_known_int
from .basic import broadcast_to, reshape
from .define import as_operand, cast_to
from .historical import col2im
from .methods import method
from .patches import fold, unfold
from .sparse_functions import dense_to_sparse_coo, dense_to_sparse_csr
from .state import assign


def _fill(self, value):
    """A Tensor of this shape and dtype that holds `value` everywhere.

    value  : number, or a Tensor that broadcasts to this shape; it is converted to this dtype
    raises : ShapeError for another shape
    """
    return broadcast_to(cast_to(as_operand(value), self.dtype), shape=self.shape)


def _uniform(self, from_=0.0, to=1.0, generator=None):
    """A Tensor of this shape and dtype, uniform in [from_, to).

    from_, to : numbers, or Tensors that broadcast to this shape
    generator : a Generator, from whose stream they are drawn, or None for the global one
    raises    : DTypeError for a Tensor of integers, ValueRangeError where from_ is above to
    """
    if self.dtype.kind != "f":
        raise DTypeError(f"uniform: takes a Tensor of floats, not {self.dtype.name}", hint="random_ draws integers")
    if isinstance(from_, (int, float)) and isinstance(to, (int, float)) and from_ > to:
        raise ValueRangeError(f"uniform: the range [{from_}, {to}) is empty")
    return random.uniform(self.shape, from_, to, generator, dtype=self.dtype)


def _random_(self, from_=0, to=None, *, generator=None):
    """Whole numbers in [from_, to), all alike probable, written into this Tensor, which is given.

    from_, to : ints; to None: the greatest that the dtype holds without gaps
    generator : a Generator, from whose stream they are drawn, or None for the global one
    raises    : ValueRangeError for an empty range, or one that the dtype does not hold; DTypeError for bool and complex
    """
    kind = self.dtype.kind
    if kind not in "uif":
        raise DTypeError(f"random_: takes a Tensor of integers or floats, not {self.dtype.name}")
    most = int(2 ** (np.finfo(self.dtype.numpy).nmant + 1)) if kind == "f" else np.iinfo(self.dtype.numpy).max
    from_, to = as_known_int("random_", from_), most if to is None else as_known_int("random_", to)
    if not from_ < to:
        raise ValueRangeError(f"random_: the range [{from_}, {to}) is empty")
    if kind != "f" and not np.iinfo(self.dtype.numpy).min <= from_ < to <= most + 1:
        raise ValueRangeError(f"random_: {self.dtype.name} does not hold the range [{from_}, {to})")
    drawn = random.uniform(self.shape, 0, 1, generator, dtype=dt.float64)
    return assign(self, cast_to(drawn * (to - from_) // 1 + from_, self.dtype))


def _bernoulli_(self, p=0.5, *, generator=None):
    """1 with the probability p, else 0, written into this Tensor, which is given.

    p         : number, or Tensor that broadcasts to this shape
    generator : a Generator, from whose stream they are drawn, or None for the global one
    raises    : ValueRangeError for a number p outside [0, 1]
    """
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise ValueRangeError(f"bernoulli_: p is in [0, 1], not {p}")
    return assign(self, cast_to(random.uniform(self.shape, 0, 1, generator, dtype=dt.float32) < p, self.dtype))


def _get_bytes(self):
    """The bytes of the elements, in row-major order."""
    return self.asnumpy().tobytes()


def _data_ptr(self):
    """The address of the first element, an int."""
    return int(self.asnumpy().ctypes.data)


def _to_coo(self):
    """The elements that are not zero, as a COOTensor. raises : ShapeError unless it is a matrix"""
    _check_matrix("to_coo", self)
    return dense_to_sparse_coo(self)


def _to_csr(self):
    """The elements that are not zero, as a CSRTensor. raises : ShapeError unless it is a matrix"""
    _check_matrix("to_csr", self)
    return dense_to_sparse_csr(self)


def _check_matrix(name, x):
    if x.ndim != 2:
        raise ShapeError(f"{name}: takes a matrix", note=f"shape {list(x.shape)}")


def _from_bytes(data, shape, dtype):
    """A Tensor of `shape` of the bytes `data` in row-major order; the reverse of get_bytes.

    data   : bytes;    shape : tuple of ints;    dtype : of the Tensor
    raises : DTypeError where the bytes are no whole number of elements, ShapeError where they do not fill the shape
    """
    dtype = dt.dtype(dtype)
    if len(data) % dtype.itemsize:
        raise DTypeError(f"convert_bytes_to_tensor: {len(data)} bytes are no whole number of {dtype} elements")
    return reshape(Tensor(np.frombuffer(data, dtype.numpy).copy()), shape=shape)


for _name, _function in {"fill": _fill, "uniform": _uniform, "random_": _random_, "bernoulli_": _bernoulli_,
                         "get_bytes": _get_bytes, "data_ptr": _data_ptr, "to_coo": _to_coo, "to_csr": _to_csr,
                         "col2im": col2im, "fold": fold, "unfold": unfold}.items():
    method(_name, _function)
_from_bytes.__name__ = "convert_bytes_to_tensor"
setattr(Tensor, "convert_bytes_to_tensor", staticmethod(_from_bytes))

"""Methods of Tensor after operators that have it as their first argument, and those that fill it with random numbers.

    x.unfold(3)    x.fill(2)    x.to_coo()    x.random_(0, 10)  ==  assign(x, ..), and gives x
"""
import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from . import random
from .basic import broadcast_to
from .define import as_operand, cast_to
from .historical import col2im
from .methods import method
from .patches import fold, unfold
from .sparse_functions import dense_to_sparse_coo, dense_to_sparse_csr
from .state import assign


def _fill(self, value):
    """A Tensor of this shape and dtype that holds `value` everywhere."""
    return broadcast_to(cast_to(as_operand(value), self.dtype), shape=self.shape)


def _uniform(self, from_=0.0, to=1.0, generator=None):
    """A Tensor of this shape and dtype, uniform in [from_, to)."""
    return random.uniform(self.shape, from_, to, dtype=self.dtype)


def _random_(self, from_=0, to=None, *, generator=None):
    """Whole numbers in [from_, to), written into this Tensor, which is given. raises : ValueRangeError for an empty range

    to : None: the greatest that the dtype holds without gaps
    """
    if to is None:
        to = int(2 ** (np.finfo(self.dtype.numpy).nmant + 1)) if self.dtype.kind == "f" else np.iinfo(self.dtype.numpy).max
    if not from_ < to:
        raise ValueRangeError(f"random_: the range [{from_}, {to}) is empty")
    return assign(self, cast_to(random.uniform(self.shape, 0, 1, dtype=dt.float64) * (to - from_) // 1 + from_, self.dtype))


def _bernoulli_(self, p=0.5, *, generator=None):
    """1 with the probability p (a number, or a Tensor like this one), else 0, written into this Tensor, which is given."""
    return assign(self, cast_to(random.uniform(self.shape, 0, 1, dtype=dt.float32) < p, self.dtype))


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
    if len(data) % dtype.itemsize:
        raise DTypeError(f"convert_bytes_to_tensor: {len(data)} bytes are no whole number of {dtype} elements")
    return Tensor(np.frombuffer(data, dtype.numpy).reshape(shape).copy())


for _name, _function in {"fill": _fill, "uniform": _uniform, "random_": _random_, "bernoulli_": _bernoulli_,
                         "get_bytes": _get_bytes, "data_ptr": _data_ptr, "to_coo": _to_coo, "to_csr": _to_csr,
                         "col2im": col2im, "fold": fold, "unfold": unfold}.items():
    method(_name, _function)
setattr(Tensor, "convert_bytes_to_tensor", staticmethod(_from_bytes))

"""Functions of sparse tensors: coo_tanh(x), csr_tanh(x) and the like do to the values that are held what tanh does.

What is 0 elsewhere stays 0, also where the function of 0 is another number (cos, exp), as in MindSpore.
"""
from typing import TYPE_CHECKING, Any

from ..common.errors import ArgumentError
from . import activation, arithmetic, elementary, logic
from .sparse import COOTensor, CSRTensor

FUNCTIONS = {
    activation: "relu relu6 softsign", arithmetic: "abs ceil floor neg round square", elementary:
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p sigmoid sin sinh sqrt tan tanh",
    logic: "isfinite isinf isnan"}


def _of_values(kind, form, name, function):
    def call(x):
        if not isinstance(x, form):
            raise ArgumentError(f"{kind}_{name}: a {form.__name__} is wanted, not {type(x).__name__}")
        return x._replace(values=function(x.values))
    call.__name__ = call.__qualname__ = f"{kind}_{name}"
    call.__doc__ = f"The {form.__name__} x with {name} of each value that it holds."
    return call


for _kind, _form in (("coo", COOTensor), ("csr", CSRTensor)):
    for _module, _names in FUNCTIONS.items():
        for _name in _names.split():
            globals()[f"{_kind}_{_name}"] = _of_values(_kind, _form, _name, getattr(_module, _name))
    globals()[f"{_kind}_inv"] = _of_values(_kind, _form, "inv", arithmetic.reciprocal)


def csr_to_coo(tensor):
    """The matrix by coordinates."""
    return tensor.to_coo()


def csr_to_dense(csr_tensor):
    """The Tensor of the whole."""
    return csr_tensor.to_dense()


def csr_mm(a, b):
    """The sparse matrix a times the matrix b."""
    return a.mm(b)


def csr_mv(csr_tensor, dense_vector):
    """The sparse matrix times a column."""
    return csr_tensor.mv(dense_vector)


def csr_mul(x, y):
    """Each value times the element of y at its place."""
    return x * y


def csr_reduce_sum(csr_tensor, axis):
    """The sums of rows, a column: axis is 1. raises : ArgumentError for another"""
    if axis not in (1, -1):
        raise ArgumentError(f"csr_reduce_sum: axis is 1, not {axis}")
    return csr_tensor.to_dense().sum(1, keepdims=True)


def dense_to_sparse_coo(tensor):
    """The elements of a Tensor that are not 0, by coordinates."""
    indices = tensor.nonzero()
    return COOTensor(indices, tensor.gather_nd(indices), tuple(tensor.shape))


def dense_to_sparse_csr(tensor):
    """The elements of a matrix that are not 0, by rows."""
    return dense_to_sparse_coo(tensor).to_csr()


if TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        """The functions that the tables above make."""

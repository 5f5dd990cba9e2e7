"""Functions of sparse tensors: coo_tanh(x), csr_tanh(x) and the like do to the values that are held what tanh does.

What is 0 elsewhere stays 0, also where the function of 0 is another number (cos, exp), as in MindSpore.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..common import dtype as dt
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, ShapeError
from ..common.tensor import Tensor, TensorLike
from . import activation, arithmetic, elementary, logic
from .arithmetic import abs
from .axes import axes_of, normal_axis
from .basic import reshape, transpose
from .creation import full, zeros
from .define import as_operand, cast_to, check_tensors, dtype_of
from .elementary import exp
from .logic import greater_equal
from .indexing import gather_nd
from .lookup import gather
from .scatter import tensor_scatter_add, tensor_scatter_max
from .sort import argsort, nonzero
from .sparse import COOTensor, CSRTensor, RowTensor, ravelled, summed
from .structure import concat, expand_dims, stack

FUNCTIONS = {
    activation: "relu relu6 softsign", arithmetic: "abs ceil floor neg round square", elementary:
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p sigmoid sin sinh sqrt tan tanh",
    logic: "isfinite isinf isnan"}


def _check_form(operator, form, *operands):
    for x in operands:
        if not isinstance(x, form):
            raise ArgumentError(f"{operator}: a {form.__name__} is wanted, not {type(x).__name__}")


def _of_values(kind, form, name, function):
    def call(x):
        _check_form(f"{kind}_{name}", form, x)
        return x._replace(values=function(x.values))
    call.__name__ = call.__qualname__ = f"{kind}_{name}"
    call.__doc__ = (f"{name} of each value that a sparse tensor holds; what is 0 elsewhere stays 0, whatever {name} of 0 is.\n\n"
                    f"x      : {form.__name__}, its values of a dtype that {name} takes\n"
                    f"out    : {form.__name__} of the same places\n"
                    f"raises : ArgumentError for another form, a Tensor too; DTypeError for values of another dtype")
    return call


for _kind, _form in (("coo", COOTensor), ("csr", CSRTensor)):
    for _module, _names in FUNCTIONS.items():
        for _name in _names.split():
            globals()[f"{_kind}_{_name}"] = _of_values(_kind, _form, _name, getattr(_module, _name))
    globals()[f"{_kind}_inv"] = _of_values(_kind, _form, "inv", arithmetic.reciprocal)


def csr_to_coo(tensor: Any) -> Any:
    """The same matrix by coordinates.

    tensor : CSRTensor [M, N]
    out    : COOTensor, its values in the same order
    raises : ArgumentError for another form
    """
    _check_form("csr_to_coo", CSRTensor, tensor)
    return tensor.to_coo()


def csr_to_dense(csr_tensor: Any) -> Tensor:
    """The Tensor of the whole matrix, 0 where no value is held.

    csr_tensor : CSRTensor [M, N]
    out    : Tensor [M, N] of its dtype; values at one place add up
    raises : ArgumentError for another form
    """
    _check_form("csr_to_dense", CSRTensor, csr_tensor)
    return csr_tensor.to_dense()


def csr_mm(a: Any, b: Any) -> Tensor:
    """The product of a sparse matrix and a dense one.

    a      : CSRTensor [M, K]
    b      : Tensor [K, N]; its dtype is promoted with a's
    out    : Tensor [M, N]
    raises : ArgumentError for another form, or a sparse b; ShapeError where b is no matrix or the inner sizes differ
    """
    _check_form("csr_mm", CSRTensor, a)
    return a.mm(b)


def csr_mv(csr_tensor: Any, dense: TensorLike) -> Tensor:
    """The product of a sparse matrix and a column.

    csr_tensor : CSRTensor [M, K]
    dense  : Tensor [K, 1]
    out    : Tensor [M, 1]
    raises : ArgumentError for another form; ShapeError where `dense` is no column or the inner sizes differ
    """
    _check_form("csr_mv", CSRTensor, csr_tensor)
    return csr_tensor.mv(dense)


def csr_mul(x: Any, y: Any) -> Any:
    """Each value times the element of y at its place.

    x      : CSRTensor [M, N]
    y      : a number, or a Tensor that broadcasts to [M, N]
    out    : CSRTensor of the same places; its dtype is promoted
    raises : ArgumentError for another form, or a sparse y; ShapeError where y does not broadcast
    """
    _check_form("csr_mul", CSRTensor, x)
    return x * y


def csr_reduce_sum(csr_tensor: Any, axis: int) -> Tensor:
    """The sum of each row of a sparse matrix.

    csr_tensor : CSRTensor [M, N]
    axis   : 1 or -1
    out    : Tensor [M, 1]
    raises : ArgumentError for another axis or another form
    """
    _check_form("csr_reduce_sum", CSRTensor, csr_tensor)
    return csr_tensor.sum(axis)


def dense_to_sparse_coo(tensor: Tensor) -> Any:
    """The elements that are not 0, by coordinates.

    tensor : Tensor of at least one axis, any dtype
    out    : COOTensor, its indices int64 in row-major order
    raises : ArgumentError for what is no Tensor, ShapeError for a tensor without axes
    """
    return _held("dense_to_sparse_coo", tensor)


def _held(name, tensor):
    check_tensors(name, tensor=tensor)
    if not tensor.shape:
        raise ShapeError(f"{name}: a tensor without axes has no indices")
    indices = nonzero(tensor)
    return COOTensor(indices, gather_nd(as_operand(tensor), indices), tuple(tensor.shape))


def dense_to_sparse_csr(tensor: Tensor) -> Any:
    """The elements that are not 0, by rows.

    tensor : Tensor [M, N], any dtype
    out    : CSRTensor, its indices int64
    raises : ArgumentError for what is no Tensor, ShapeError for what is no matrix
    """
    return _held("dense_to_sparse_csr", tensor).to_csr()


def coo_add(x1: Any, x2: Any, thresh: Any) -> Any:
    """x1 + x2, COOTensors of one shape: values at one place are added, and left out where their sum is below thresh.

    thresh : a number as a tensor []; out : COOTensor, its indices in order; raises : ArgumentError, ShapeError
    """
    _check_form("coo_add", COOTensor, x1, x2)
    if x1.shape != x2.shape:
        raise ShapeError("coo_add: the shapes differ", note=f"{list(x1.shape)} and {list(x2.shape)}")
    indices, values = summed(concat((x1.indices, x2.indices)), concat((x1.values, x2.values)), x1.shape)
    positions = reshape(nonzero(greater_equal(abs(values), as_operand(thresh))), shape=(-1,))
    return COOTensor(gather(indices, positions, 0), gather(values, positions, 0), x1.shape)


def coo_concat(sp_input: Sequence[Any], concat_dim: int = 0) -> Any:
    """Join sparse tensors along an axis.

    sp_input : a tuple or list of COOTensors, equal in all other sizes
    concat_dim : int, the axis
    out    : COOTensor, its indices in row-major order
    raises : ArgumentError for anything else or none, ShapeError where another size differs, ValueRangeError for an axis outside
    """
    if not isinstance(sp_input, (tuple, list)) or not sp_input or not all(isinstance(x, COOTensor) for x in sp_input):
        raise ArgumentError("coo_concat: a tuple or a list of COOTensors is wanted")
    axis = normal_axis("coo_concat", concat_dim, len(sp_input[0].shape))
    sizes, moved = list(sp_input[0].shape), []
    sizes[axis] = 0
    for x in sp_input:
        if [n for a, n in enumerate(x.shape) if a != axis] != [n for a, n in enumerate(sizes) if a != axis]:
            raise ShapeError("coo_concat: the shapes differ on another axis", note=str([list(x.shape) for x in sp_input]))
        columns = [x.indices[:, a] + (sizes[axis] if a == axis else 0) for a in range(len(sizes))]
        moved.append(stack(columns, 1))
        sizes[axis] += x.shape[axis]
    indices, values = concat(tuple(moved)), concat(tuple(x.values for x in sp_input))
    order = argsort(ravelled(indices, sizes))
    return COOTensor(gather(indices, order, 0), gather(values, order, 0), tuple(sizes))


def csr_add(a: Any, b: Any, alpha: Any, beta: Any) -> Any:
    """alpha * a + beta * b; values at one place are added.

    a, b   : CSRTensor [M, N]
    alpha, beta : number or Tensor []
    out    : CSRTensor [M, N]
    raises : ArgumentError for another form, ShapeError where the shapes differ
    """
    _check_form("csr_add", CSRTensor, a, b)
    return a.add(b, alpha, beta)


def csr_softmax(logits: Any, dtype: DTypeLike) -> Any:
    """The softmax of each row over the values that are held. logits : CSRTensor; dtype : of the result; raises : ArgumentError"""
    _check_form("csr_softmax", CSRTensor, logits)
    logits.check_matrix("csr_softmax")
    rows, values = expand_dims(logits.rows(), -1), cast_to(logits.values, dt.dtype(dtype))
    lowest = full((logits.shape[0],), float("-inf"), dtype=dtype_of(values))
    raised = exp(values - gather(tensor_scatter_max(lowest, rows, values), logits.rows(), 0))
    total = tensor_scatter_add(zeros((logits.shape[0],), dtype_of(values)), rows, raised)
    return logits._replace(values=raised / gather(total, logits.rows(), 0))


if TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        """The functions that the tables above make."""


def csr_div(x: Any, y: Any) -> Any:
    """Each value divided by the element of y at its place.

    x      : CSRTensor [M, N]
    y      : a number, or a Tensor that broadcasts to [M, N]
    out    : CSRTensor of the same places; its dtype is promoted
    raises : ArgumentError for another form, or a sparse y; ShapeError where y does not broadcast
    """
    _check_form("csr_div", CSRTensor, x)
    return x / y


def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, sparse_shape: Sequence[int]) -> Tensor:
    """The elements of a dense matrix at the places of a sparse one.

    indptr, indices : int[M + 1] and int[K], as a CSRTensor has them
    dense  : Tensor [M, N, ..]
    sparse_shape : (M, N)
    out    : Tensor [K, ..]
    """
    rows = CSRTensor(indptr, indices, zeros(tuple(indices.shape)), tuple(sparse_shape)).rows()
    return gather_nd(dense, stack((rows, indices), 1))


def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Where each row begins among the values of a sparse matrix: indptr[i] values stand above row i.

    row_indices : int[K], in order
    height : int, the number of rows
    out    : [height + 1] of the same dtype
    """
    row_indices = as_operand(row_indices)
    axes_of("coo2csr", row_indices, 1)
    columns = zeros((row_indices.shape[0], 1), dtype_of(row_indices))
    indices = concat((reshape(row_indices, shape=(-1, 1)), columns), 1)
    return COOTensor(indices, zeros((row_indices.shape[0],)), (height, 1)).to_csr().indptr


def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """The row of each value of a sparse matrix.

    indptr : int[rows + 1]
    nnz    : int, the number of values
    out    : [nnz] of the same dtype
    """
    indices = zeros((nnz,), dtype_of(indptr))
    return CSRTensor(indptr, indices, zeros((nnz,)), (indptr.shape[0] - 1, 1)).rows()


def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One value for each index: those of equal indices are summed.

    x_indices : int[axes, K]
    x_values : [K]
    x_shape : int[axes]
    out    : (indices [axes, L] in row-major order, values [L], shape)
    """
    x_indices, x_values, x_shape = (as_operand(x) for x in (x_indices, x_values, x_shape))
    axes_of("coalesce", x_indices, 2)
    sizes = [x_shape[i] for i in range(x_indices.shape[0])]
    indices, values = summed(transpose(x_indices, perm=(1, 0)), x_values, sizes)
    return transpose(indices, perm=(1, 0)), values, x_shape


def row_tensor_add(a: Any, b: Any) -> Any:
    """The sum of two RowTensors of one shape: the rows of both.

    a, b   : RowTensor, the rows of a Tensor of one shape
    out    : RowTensor; rows at one place add up when it is made dense
    raises : ArgumentError for another form
    """
    _check_form("row_tensor_add", RowTensor, a, b)
    return RowTensor(concat((a.indices, b.indices)), concat((a.values, b.values)), a.dense_shape)

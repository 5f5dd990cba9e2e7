"""Sparse matrices by rows as classes that take their parts: indptr, indices, values, shape; what they give are Tensors."""
from .. import coo2csr, csr2coo, csr_div, csr_gather, csr_mm, csr_mul, csr_mv, csr_reduce_sum
from ..sparse import CSRTensor
from .define import operation, table

globals().update(table({"CSRGather": csr_gather, "CSR2COO": csr2coo, "COO2CSR": coo2csr}))


@operation
def CSRReduceSum(indptr, indices, values, shape, axis):
    """The sum of each row: Tensor [M, 1]; see csr_reduce_sum."""
    return csr_reduce_sum(CSRTensor(indptr, indices, values, shape), axis)


@operation
def CSRMV(indptr, indices, values, shape, dense_tensor):
    """The product of the matrix and a column [K, 1]: Tensor [M, 1]."""
    return csr_mv(CSRTensor(indptr, indices, values, shape), dense_tensor)


@operation
def CSRMM(indptr, indices, values, shape, dense):
    """The product of the matrix and a dense one [K, N]: Tensor [M, N]."""
    return csr_mm(CSRTensor(indptr, indices, values, shape), dense)


@operation
def CSRMul(indptr, indices, values, shape, dense_tensor):
    """Each value that is held times the element of dense_tensor at its place: the new values, a Tensor."""
    return csr_mul(CSRTensor(indptr, indices, values, shape), dense_tensor).values


@operation
def CSRDiv(indptr, indices, values, shape, dense_tensor):
    """Each value that is held, divided by the element of dense_tensor at its place: the new values, a Tensor."""
    return csr_div(CSRTensor(indptr, indices, values, shape), dense_tensor).values

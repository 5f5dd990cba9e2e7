"""mint.linalg: inverses, norms and factors under torch.linalg's names, arguments and defaults."""
from .. import ops
from ..common.errors import ArgumentError, ValueRangeError
from ..ops.define import as_operand, cast_to

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]


def inv(input):
    """The inverse of each matrix. raises : ShapeError for what is not square"""
    return ops.inverse(input)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The ord-norm of the vectors along `dim`, an int or several; None: of all elements. ord : a number, inf or -inf"""
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of the matrices in the two axes `dim`. ord : "fro", "nuc", inf, -inf, 1, -1, 2 or -2"""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A norm: of vectors where `dim` is an int, of matrices where it is two; by default the 2-norm of all elements.

    raises : ArgumentError where `ord` is given without `dim` and A has neither one nor two axes
    """
    x = as_operand(A)
    if ord is None:
        return ops.vector_norm(x, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if x.ndim not in (1, 2):
            raise ArgumentError(f"norm: ord={ord!r} without dim is for one or two axes, this has {x.ndim}")
        dim = 0 if x.ndim == 1 else (0, 1)
    if isinstance(dim, int) or len(dim) == 1:
        return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)
    return ops.matrix_norm(x if dtype is None else cast_to(x, dtype), ord, dim, keepdim)


def qr(A, mode="reduced"):
    """(Q, R) of each matrix; mode : "reduced", "complete", or "r" (Q is empty)"""
    if mode not in ("reduced", "complete", "r"):
        raise ValueRangeError(f"qr: mode is 'reduced', 'complete' or 'r', not {mode!r}")
    q, r = ops.qr(A, "reduced" if mode == "r" else mode)
    return (ops.zeros((0,), q.dtype), r) if mode == "r" else (q, r)

"""Embedding: a table of vectors, looked up by number."""
from __future__ import annotations

from collections.abc import Sequence

from ... import ops
from ...common import dtype as dt
from ...common.dtype import DTypeLike
from ...common.errors import ValueRangeError
from ...common.initializer import Init, initializer
from ...common.tensor import Parameter, Tensor
from ..cell import Cell
from .basic import positive_int


class Embedding(Cell):
    """Row ids[i] of the table for each i.

    vocab_size, embedding_size : the table's shape
    use_one_hot     : look up by a product with one-hot vectors
    embedding_table : initialiser of the Parameter embedding_table
    padding_idx     : number of a row that begins as zeros, in [0, vocab_size)
    ids             : integer, any shape; output : [*ids.shape, embedding_size]
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, vocab_size: int, embedding_size: int, use_one_hot: bool = False, embedding_table: Init = "normal",
                 dtype: DTypeLike = dt.float32, padding_idx: int | None = None) -> None:
        super().__init__()
        self.vocab_size = positive_int("Embedding", "vocab_size", vocab_size)
        self.embedding_size = positive_int("Embedding", "embedding_size", embedding_size)
        self.use_one_hot, self.padding_idx = use_one_hot, padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            if isinstance(padding_idx, bool) or not isinstance(padding_idx, int) or not 0 <= padding_idx < vocab_size:
                raise ValueRangeError(f"Embedding: padding_idx {padding_idx!r} is outside [0, {vocab_size})")
            table.asnumpy()[padding_idx] = 0
        self.embedding_table = Parameter(table, name="embedding_table")
        self.dtype = dtype

    def construct(self, ids: Tensor) -> Tensor:
        table = self.cast_param(self.embedding_table)
        if self.use_one_hot:
            one, zero = ops.ones((), table.dtype), ops.zeros((), table.dtype)
            return ops.matmul(ops.one_hot(ids, self.vocab_size, one, zero), table)
        return ops.gather(table, ids, 0)

    def extend_repr(self) -> str:
        return (f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
                f"embedding_table={self.embedding_table}, dtype={self.dtype!r}, padding_idx={self.padding_idx}")


class EmbeddingLookup(Cell):
    """Row indices[i] of the table for each i, with zeros for an index outside; rows above max_norm are clipped to it.

    vocab_size, embedding_size : the table's shape
    param_init : initialiser of the Parameter embedding_table
    max_norm   : the largest Euclidean norm of a row of the output, or None
    target, slice_mode, manual_shapes, sparse : how several devices share the table; on one they change nothing
    indices    : integer, any shape; output : [*indices.shape, embedding_size]
    raises     : ArgumentError, ValueRangeError for bad arguments
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, vocab_size: int, embedding_size: int, param_init: Init = "normal", target: str = "CPU",
                 slice_mode: str = "batch_slice", manual_shapes: Sequence[int] | None = None, max_norm: float | None = None,
                 sparse: bool = True, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.vocab_size = positive_int("EmbeddingLookup", "vocab_size", vocab_size)
        self.embedding_size = positive_int("EmbeddingLookup", "embedding_size", embedding_size)
        if target not in ("CPU", "DEVICE"):
            raise ValueRangeError(f'EmbeddingLookup: target is "CPU" or "DEVICE", not {target!r}')
        slices = ("batch_slice", "field_slice", "table_row_slice", "table_column_slice")
        if slice_mode not in slices:
            raise ValueRangeError(f"EmbeddingLookup: slice_mode is one of {', '.join(slices)}, not {slice_mode!r}")
        if max_norm is not None and (isinstance(max_norm, bool) or not isinstance(max_norm, (int, float)) or max_norm <= 0):
            raise ValueRangeError(f"EmbeddingLookup: max_norm is a number above 0 or None, not {max_norm!r}")
        self.target, self.slice_mode, self.max_norm = target, slice_mode, max_norm
        self.embedding_table = Parameter(initializer(param_init, (vocab_size, embedding_size), dtype), name="embedding_table")

    def construct(self, indices: Tensor) -> Tensor:
        inside = ops.logical_and(ops.greater_equal(indices, 0), indices < self.vocab_size)
        rows = ops.gather(self.embedding_table, ops.where(inside, indices, ops.zeros_like(indices)), 0)
        rows = ops.where(ops.expand_dims(inside, -1), rows, ops.zeros_like(rows))
        if self.max_norm is None:
            return rows
        square = ops.reduce_sum(ops.square(rows), axis=-1, keepdims=True)
        norm = ops.sqrt(ops.where(square > 0, square, ops.ones_like(square)))
        return rows * self.max_norm / ops.maximum(ops.where(square > 0, norm, square), self.max_norm)

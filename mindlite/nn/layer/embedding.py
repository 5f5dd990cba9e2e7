"""Embedding: a table of vectors, looked up by number."""
from ... import ops
from ...common import dtype as dt
from ...common.errors import ValueRangeError
from ...common.initializer import initializer
from ...common.tensor import Parameter
from ..cell import Cell
from .basic import positive_int


class Embedding(Cell):
    """Row ids[i] of the table for each i.

    vocab_size, embedding_size : the table's shape
    use_one_hot     : look up by a product with one-hot vectors
    embedding_table : initialiser of the Parameter embedding_table
    padding_idx     : number of a row that begins as zeros, in [0, vocab_size)
    ids             : integer, any shape; output : [*ids.shape, embedding_size]
    """

    def __init__(self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal", dtype=dt.float32,
                 padding_idx=None):
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

    def construct(self, ids):
        table = self.cast_param(self.embedding_table)
        if self.use_one_hot:
            one, zero = ops.ones((), table.dtype), ops.zeros((), table.dtype)
            return ops.matmul(ops.one_hot(ids, self.vocab_size, one, zero), table)
        return ops.gather(table, ids, 0)

    def extend_repr(self):
        return (f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
                f"embedding_table={self.embedding_table}, dtype={self.dtype!r}, padding_idx={self.padding_idx}")

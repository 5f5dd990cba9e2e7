"""Attention: softmax(q k^T / sqrt(d)) v, written in matrix products and a softmax.

source : Vaswani et al. 2017, section 3.2.1
"""
from __future__ import annotations

import math

from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .activation import softmax
from .basic import reshape
from .define import as_operand, dtype_of, promote_operands
from .indexing import iota
from .linalg import batch_matmul
from .logic import where
from .random import dropout


@planned
def scaled_dot_product_attention(query: TensorLike, key: TensorLike, value: TensorLike, attn_mask: TensorLike | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value.

    query     : float[.., L, D]; key: [.., S, D]; value: [.., S, E]; out: [.., L, E]
    attn_mask : bool (True: may be seen) or a number added to the scores, broadcast to [.., L, S]
    is_causal : position l sees s <= l; not together with attn_mask
    scale     : 1 / sqrt(D) by default. For D = 0 all scores are 0, so the result is the mean of the values
    dropout_p : the weights' chance to be dropped
    raises    : ShapeError for operands that do not fit, ArgumentError for a mask together with is_causal
    """
    q, k, v = promote_operands(tuple(as_operand(x) for x in (query, key, value)), {})[0]
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError("scaled_dot_product_attention: query, key and value have two or more axes")
    if attn_mask is not None and is_causal:
        raise ArgumentError("scaled_dot_product_attention: is_causal goes without attn_mask")
    if scale is None:
        if not isinstance(q.shape[-1], int):
            raise ArgumentError(f"scaled_dot_product_attention: the width {q.shape[-1]} is known at run time only",
                                hint="give scale")
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    scores = batch_matmul(q * scale, k, transpose_b=True)
    if is_causal:
        rows, columns = scores.shape[-2:]
        attn_mask = reshape(iota(rows), shape=(rows, 1)) >= iota(columns)
    if attn_mask is not None:
        mask = as_operand(attn_mask)
        scores = where(mask, scores, float("-inf")) if dtype_of(mask) is dt.bool_ else scores + mask
    weights = softmax(scores, axis=-1)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return batch_matmul(weights, v)

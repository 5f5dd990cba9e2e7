"""Attention: softmax(q k^T / sqrt(d)) v, written in matrix products and a softmax; of halves as one operator.

`attention` and its two gradients are composites: their bodies say what they mean, and the CPU computes those. A GPU has kernels
that do not write the scores to memory (`backend/cuda/attention.py`). From the forward pass the backward one needs the logarithm
of each row's sum, not the weights, which it computes again.

source : Vaswani et al. 2017, section 3.2.1; Dao et al. 2022, "FlashAttention", for what is kept
"""
from __future__ import annotations

import math
import numbers
from typing import Any

from ..common import dtype as dt
from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, planned, vmap_rule
from .activation import softmax
from .axes import as_flag, as_number
from .basic import batched, cast, reduce_sum, reshape, transpose
from .define import as_operand, cast_to, composite, dtype_of, promote_operands
from .elementary import exp
from .indexing import iota
from .linalg import batch_matmul
from .logic import not_equal, where
from .moments import reduce_logsumexp
from .random import dropout
from .reduction import amax, any
from .sbp import letters, sbp_rule

HALVES = (dt.float16, dt.bfloat16)


def _scores(q, k, scale, is_causal):
    """float32[.., L, S], -inf where a position may not look."""
    scores = batch_matmul(q, k, transpose_b=True) * scale
    if is_causal:
        rows, columns = scores.shape[-2:]
        scores = where(reshape(iota(rows), shape=(rows, 1)) >= iota(columns), scores, float("-inf"))
    return scores


def _as_column(x):
    return reshape(x, shape=(*x.shape, 1))


def _wide(*operands):
    """Halves as float32."""
    return [cast(x, dtype=dt.float32) if dtype_of(x) in HALVES else x for x in operands]


def _attention_infer(q, k, v, *, scale, is_causal):
    if "c" in (q.dtype.kind, k.dtype.kind, v.dtype.kind):
        raise DTypeError("attention: complex scores have no softmax", note=f"{q}, {k}, {v}")
    sums = dt.float32 if q.dtype in HALVES else q.dtype
    return AbstractTuple((AbstractTensor(q.dtype, q.shape), AbstractTensor(sums, q.shape[:-1])))


@composite(infer=_attention_infer)
def attention(q, k, v, *, scale, is_causal):
    """(softmax(q k^T scale) v, the logarithm of the sum of exp(q k^T scale) of each row); of halves computed in float32.

    q         : float[.., L, D];   k, v: [.., S, D], of the same leading axes;   scale: above 0
    is_causal : position l sees s <= l
    out       : of q's dtype and shape, and [.., L], float32 for halves
    """
    wide_q, wide_k, wide_v = _wide(q, k, v)
    scores = _scores(wide_q, wide_k, scale, is_causal)
    sums = reduce_logsumexp(scores, axis=(scores.ndim - 1,), keepdims=False)
    return cast_to(batch_matmul(exp(scores - _as_column(sums)), wide_v), dtype_of(q)), sums


def _weights(q, k, v, dout, sums, delta, scale, is_causal):
    """(the weights, the gradient of the scores): float32[.., L, S]"""
    weights = exp(_scores(q, k, scale, is_causal) - _as_column(sums))
    return weights, weights * (batch_matmul(dout, v, transpose_b=True) - _as_column(delta)) * scale


@composite(infer=lambda q, k, v, dout, sums, delta, **attrs: q)
def attention_query_gradient(q, k, v, dout, sums, delta, *, scale, is_causal):
    """The gradient of `attention` for q. dout: of its first result; sums: its second; delta: [.., L], the sum of dout out
    along a row, less the gradient of the second result."""
    queries, keys, values, gradients = _wide(q, k, v, dout)
    _, gradient = _weights(queries, keys, values, gradients, sums, delta, scale, is_causal)
    return cast_to(batch_matmul(gradient, keys), dtype_of(q))


@composite(infer=lambda q, k, v, dout, sums, delta, **attrs: AbstractTuple((k, v)))
def attention_key_gradients(q, k, v, dout, sums, delta, *, scale, is_causal):
    """The gradients of `attention` for k and v; the operands are those of `attention_query_gradient`."""
    queries, keys, values, gradients = _wide(q, k, v, dout)
    weights, gradient = _weights(queries, keys, values, gradients, sums, delta, scale, is_causal)
    dk, dv = batch_matmul(gradient, queries, transpose_a=True), batch_matmul(weights, gradients, transpose_a=True)
    return cast_to(dk, dtype_of(k)), cast_to(dv, dtype_of(v))


@bprop_rule(attention)
def attention_bprop(q, k, v, out, dout, *, scale, is_causal):
    (out, sums), (dout, dsums) = out, dout
    if dout is None and dsums is None:
        return None, None, None
    dout = out * 0 if dout is None else dout
    wide_out, wide_dout = _wide(out, dout)
    delta = reduce_sum(wide_dout * wide_out, axis=(out.ndim - 1,))
    delta = delta if dsums is None else delta - dsums
    operands = q, k, v, dout, sums, delta
    attrs = {"scale": scale, "is_causal": is_causal}
    return attention_query_gradient(*operands, **attrs), *attention_key_gradients(*operands, **attrs)


def _with_rules(prim, results):
    """vmap and SBP: leading axes stand beside one another. results: letters of each"""
    @vmap_rule(prim)
    def rule(args, dims, size, **attrs):
        out = prim(*(batched(x, d, size) for x, d in zip(args, dims)), **attrs)
        return out, (0,) * len(out) if isinstance(out, tuple) else 0

    def spec(q, k, v, *more, **attrs):
        lead = letters(q.ndim - 2)
        operands = ["__", "__", "__", "__", "_", "_"][:3 + len(more)]
        return ",".join(lead + x for x in operands) + "->" + ",".join(lead + x for x in results)
    sbp_rule(prim, spec)


_with_rules(attention, ("__", "_"))
_with_rules(attention_query_gradient, ("__",))
_with_rules(attention_key_gradients, ("__", "__"))


@planned
def heads_of(x: Tensor, count: int, along: int) -> Tensor:
    """[N, T, count * d], or [T, N, count * d] where positions are axis 0 (along), as [N, count, T, d]."""
    x = reshape(x, shape=(x.shape[0], x.shape[1], count, x.shape[2] // count))
    return transpose(x, perm=(0, 2, 1, 3) if along else (1, 2, 0, 3))


@planned
def joined_heads(x: Tensor, along: int) -> Tensor:
    """The inverse of `heads_of`."""
    x = transpose(x, perm=(0, 2, 1, 3) if along else (2, 0, 1, 3))
    return reshape(x, shape=(x.shape[0], x.shape[1], x.shape[2] * x.shape[3]))


def _is_one_operator(q, k, v, scale):
    """Are these operands of `attention`?"""
    shapes = [tuple(x.shape) for x in (q, k, v)]
    return dtype_of(q) in HALVES and isinstance(scale, numbers.Real) and float(scale) > 0 and shapes[1] == shapes[2] and \
        shapes[0][:-2] == shapes[1][:-2] and shapes[0][-1] == shapes[1][-1]


@planned
def scaled_dot_product_attention(query: TensorLike, key: TensorLike, value: TensorLike, attn_mask: TensorLike | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value.

    query     : float[.., L, D]; key: [.., S, D]; value: [.., S, E]; out: [.., L, E]
    attn_mask : bool (True: may be seen) or a number added to the scores, broadcast to [.., L, S]; the result is 0 for a
                position that may see nothing, or whose scores are all -inf
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
    is_causal = as_flag("scaled_dot_product_attention", "is_causal", is_causal)
    if scale is not None:
        scale = as_number("scaled_dot_product_attention", "scale", scale)
    else:
        if not isinstance(q.shape[-1], int):
            raise ArgumentError(f"scaled_dot_product_attention: the width {q.shape[-1]} is known at run time only",
                                hint="give scale")
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    if attn_mask is None and dropout_p == 0 and _is_one_operator(q, k, v, scale):
        return attention(q, k, v, scale=float(scale), is_causal=is_causal)[0]
    scores = batch_matmul(q * scale, k, transpose_b=True)
    if is_causal:
        rows, columns = scores.shape[-2:]
        attn_mask = reshape(iota(rows), shape=(rows, 1)) >= iota(columns)
    sees: Any = None
    if attn_mask is not None:
        mask = as_operand(attn_mask)
        if dtype_of(mask) is dt.bool_:
            sees, scores = None if is_causal else any(mask, -1, True), where(mask, scores, float("-inf"))
        else:
            scores = scores + mask
            sees = not_equal(amax(scores, -1, True), float("-inf"))
    weights = softmax(scores if sees is None else where(sees, scores, 0.0), axis=-1)
    if sees is not None:
        weights = where(sees, weights, 0.0)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return batch_matmul(weights, v)

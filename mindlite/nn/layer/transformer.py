"""Attention and transformers (Vaswani et al. 2017).

    attention(q, k, v) = softmax(q k^T / sqrt(d) + mask) v, in num_heads slices of the last axis side by side

Sequences are [T, N, E], or [N, T, E] with batch_first. A bool mask is True where attention is *not* allowed; a float
mask is added to the scores.
"""
from __future__ import annotations

import copy
import math
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.dtype import DTypeLike
from ...common.annotations import Function
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.initializer import XavierNormal, XavierUniform, initializer
from ...common.tensor import Parameter, Tensor
from ...ops.attention import heads_of, joined_heads
from ...ops.linalg import batch_matmul
from ..cell import Cell
from .activation import GELU, get_activation
from .basic import Dense, Dropout, flag, positive_int
from .container import CellList
from .normalization import LayerNorm


class MultiheadAttention(Cell):
    """Attention of num_heads heads over embed_dim features; queries, keys, values and the result are projected.

    dropout       : probability, on the attention weights, in training
    has_bias      : projections have biases
    add_bias_kv   : a learned element at the end of keys and values
    add_zero_attn : an element of zeros at their end
    kdim, vdim    : features of key and value, embed_dim by default
    query         : [T, N, embed_dim]; key: [S, N, kdim]; value: [S, N, vdim]; without N for one sequence
    key_padding_mask : [N, S]; attn_mask : [T, S] or [N * num_heads, T, S]; bool or float
    output        : ([T, N, embed_dim], the weights [N, T, S]); without average_attn_weights they are
                    [N, num_heads, T, S], without need_weights None
    batch_first : bool: the batch is axis 0
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        owner = "MultiheadAttention"
        self.embed_dim = positive_int(owner, "embed_dim", embed_dim)
        self.num_heads = positive_int(owner, "num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueRangeError(f"{owner}: embed_dim {embed_dim} is no multiple of num_heads {num_heads}")
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.head_dim = dropout, embed_dim // num_heads
        self.batch_first, self.add_zero_attn = flag(owner, "batch_first", batch_first), add_zero_attn
        self.same_dims = self.kdim == self.vdim == embed_dim
        if self.same_dims:
            self.in_proj_weight = Parameter(initializer(XavierUniform(), (3 * embed_dim, embed_dim), dtype))
        else:
            self.q_proj_weight = Parameter(initializer(XavierUniform(), (embed_dim, embed_dim), dtype))
            self.k_proj_weight = Parameter(initializer(XavierUniform(), (embed_dim, self.kdim), dtype))
            self.v_proj_weight = Parameter(initializer(XavierUniform(), (embed_dim, self.vdim), dtype))
        self.in_proj_bias = Parameter(initializer("zeros", (3 * embed_dim,), dtype)) if has_bias else None
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, bias_init="zeros", dtype=dtype)
        self.bias_k: Any = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype)) if add_bias_kv else None
        self.bias_v: Any = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype)) if add_bias_kv else None

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        if self.same_dims:
            weights = ops.chunk(self.cast_param(self.in_proj_weight), 3, 0)
        else:
            weights = (self.cast_param(self.q_proj_weight), self.cast_param(self.k_proj_weight),
                       self.cast_param(self.v_proj_weight))
        biases = (None,) * 3 if self.in_proj_bias is None else ops.chunk(self.cast_param(self.in_proj_bias), 3, 0)
        return tuple([ops.dense(x, weight, bias) for x, weight, bias in zip((query, key, value), weights, biases)])

    def construct(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                  need_weights: bool = True, attn_mask: Tensor | None = None,
                  average_attn_weights: bool = True) -> tuple[Tensor, Tensor | None]:
        batched = ops.rank(query) == 3
        if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
            raise ShapeError("MultiheadAttention: query, key and value have 3 axes, or 2 without a batch")
        if not batched:
            query, key, value = ops.expand_dims(query, 1), ops.expand_dims(key, 1), ops.expand_dims(value, 1)
            key_padding_mask = None if key_padding_mask is None else ops.expand_dims(key_padding_mask, 0)
        along = 1 if batched and self.batch_first else 0     # the axis of positions
        length, batch = query.shape[along], query.shape[1 - along]
        q, k, v = self._project(query, key, value)
        extra, one = 0, (batch, 1, self.embed_dim) if along else (1, batch, self.embed_dim)
        if self.bias_k is not None:
            k = ops.concat((k, ops.broadcast_to(self.bias_k, one) * ops.ones((), k.dtype)), along)
            v = ops.concat((v, ops.broadcast_to(self.bias_v, one) * ops.ones((), v.dtype)), along)
            extra += 1
        if self.add_zero_attn:
            k, v = ops.concat((k, ops.zeros(one, k.dtype)), along), ops.concat((v, ops.zeros(one, v.dtype)), along)
            extra += 1
        q, k, v = [heads_of(x, self.num_heads, along) for x in (q, k, v)]
        scores = batch_matmul(q, k, transpose_b=True) * (1 / math.sqrt(self.head_dim))
        if attn_mask is not None:
            mask = as_added(attn_mask, scores.dtype, extra)
            if attn_mask.ndim == 3:
                mask = ops.reshape(mask, (batch, self.num_heads, length, scores.shape[3]))
            scores = scores + mask
        if key_padding_mask is not None:
            mask = as_added(key_padding_mask, scores.dtype, extra)
            scores = scores + ops.reshape(mask, (batch, 1, 1, scores.shape[3]))
        weights = ops.softmax(scores, -1)
        if self.training and self.dropout > 0:
            weights = ops.dropout(weights, self.dropout)
        out = self.out_proj(joined_heads(ops.matmul(weights, v), along))
        if not batched:
            out = ops.squeeze(out, 1)
        if not need_weights:
            return out, None
        if average_attn_weights:
            weights = ops.mean(weights, 1)
        return out, weights if batched else ops.squeeze(weights, 0)

    def extend_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}"


def as_added(mask: Tensor, dtype: dt.DType, extra: int = 0) -> Tensor:
    """A mask as numbers to be added to scores: -inf where a bool mask is True; `extra` open positions at the end."""
    if mask.dtype is dt.bool_:
        mask = ops.where(mask, float("-inf"), ops.zeros(mask.shape, dtype))
    if extra:
        mask = ops.concat((mask, ops.zeros((*mask.shape[:-1], extra), mask.dtype)), -1)
    return mask


def _activation(owner: str, activation: Any) -> Any:
    if isinstance(activation, str):
        if activation not in ("relu", "gelu"):
            raise ValueRangeError(f"{owner}: activation is relu, gelu or a Cell, not {activation!r}")
        return GELU(approximate=False) if activation == "gelu" else get_activation(activation)
    if not callable(activation):
        raise ArgumentError(f"{owner}: activation is a name or a function, not {type(activation).__name__}")
    return activation


class TransformerEncoderLayer(Cell):
    """Self-attention and a two-layer network, each added to its input and normalised.

    d_model, nhead, dim_feedforward : features, heads, width of the hidden layer
    activation : "relu", "gelu", a Cell or a function; norm_first : normalise inputs, not sums (Xiong et al. 2020)
    src, output : [T, N, d_model], or [N, T, d_model] with batch_first
    dropout : float, a probability, in training
    layer_norm_eps : float
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Function = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype)
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout, self.dropout1, self.dropout2 = Dropout(p=dropout), Dropout(p=dropout), Dropout(p=dropout)
        self.activation, self.norm_first = _activation("TransformerEncoderLayer", activation), norm_first

    def _attend(self, x: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0])

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout2(self.dense2(self.dropout(self.activation(self.dense1(x)))))

    def construct(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            src = src + self._attend(self.norm1(src), src_mask, src_key_padding_mask)
            return src + self._feed_forward(self.norm2(src))
        src = self.norm1(src + self._attend(src, src_mask, src_key_padding_mask))
        return self.norm2(src + self._feed_forward(src))


class TransformerDecoderLayer(Cell):
    """Self-attention, attention to the encoder's memory, and a two-layer network.

    Arguments as TransformerEncoderLayer's.
    tgt, output : [T, N, d_model]; memory : [S, N, d_model]
    batch_first : bool: the batch is axis 0
    dropout : float, a probability, in training
    nhead, dim_feedforward : int, heads and width of the hidden layer
    activation : "relu", "gelu", a Cell or a function
    layer_norm_eps : float
    norm_first : bool: normalise inputs, not sums
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Function = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype)
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm3 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout, self.dropout1 = Dropout(p=dropout), Dropout(p=dropout)
        self.dropout2, self.dropout3 = Dropout(p=dropout), Dropout(p=dropout)
        self.activation, self.norm_first = _activation("TransformerDecoderLayer", activation), norm_first

    def _attend(self, x: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0])

    def _attend_to(self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        return self.dropout2(self.multihead_attn(x, memory, memory, attn_mask=mask, key_padding_mask=padding,
                                                 need_weights=False)[0])

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout3(self.dense2(self.dropout(self.activation(self.dense1(x)))))

    def construct(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                  tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            tgt = tgt + self._attend(self.norm1(tgt), tgt_mask, tgt_key_padding_mask)
            tgt = tgt + self._attend_to(self.norm2(tgt), memory, memory_mask, memory_key_padding_mask)
            return tgt + self._feed_forward(self.norm3(tgt))
        tgt = self.norm1(tgt + self._attend(tgt, tgt_mask, tgt_key_padding_mask))
        tgt = self.norm2(tgt + self._attend_to(tgt, memory, memory_mask, memory_key_padding_mask))
        return self.norm3(tgt + self._feed_forward(tgt))


class TransformerEncoder(Cell):
    """num_layers copies of encoder_layer, one after the other, then `norm` if there is one.

    encoder_layer : Cell;   num_layers : int;   norm : Cell or None
    src, output   : as the layer's
    raises        : ArgumentError, ValueRangeError for another num_layers
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.num_layers = positive_int("TransformerEncoder", "num_layers", num_layers)
        self.layers = CellList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def construct(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None) -> Tensor:
        for layer in self.layers.cell_list:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """num_layers copies of decoder_layer, one after the other, then `norm` if there is one.

    decoder_layer : Cell;   num_layers : int;   norm : Cell or None
    tgt, memory, output : as the layer's
    raises        : ArgumentError, ValueRangeError for another num_layers
    """

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.num_layers = positive_int("TransformerDecoder", "num_layers", num_layers)
        self.layers = CellList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def construct(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                  tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None) -> Tensor:
        for layer in self.layers.cell_list:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """Encoder and decoder: of num_encoder_layers and num_decoder_layers, or the Cells custom_encoder, custom_decoder.

    src : [S, N, d_model]; tgt, output : [T, N, d_model]; other arguments as TransformerEncoderLayer's
    batch_first : bool: the batch is axis 0
    dropout : float, a probability, in training
    nhead, dim_feedforward : int, heads and width of the hidden layer
    activation : "relu", "gelu", a Cell or a function
    layer_norm_eps : float
    norm_first : bool: normalise inputs, not sums
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Function = "relu",
                 custom_encoder: Cell | None = None, custom_decoder: Cell | None = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                    dtype)
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers,
                                                LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers,
                                                LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                  memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                  tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)

"""Losses of margins and of several labels: combinations of smaller operators, as in nn_loss.

Sources: Crammer and Singer 2001 (multi-class margin); Balntas et al. 2016 (triplets).
"""
from __future__ import annotations

from typing import Any

from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .activation import logsigmoid, relu
from .arithmetic import minimum
from .basic import cast, reduce_sum
from .axes import as_flag, as_known_number, as_number, axes_of
from .define import as_operand, dtype_of
from .elementary import exp, log
from .indexing import bounded_indices, iota
from .logic import equal, greater, logical_and, logical_not, where
from .lookup import gather, gather_elements
from .nn_loss import pairwise_distance, reduced
from .reduction import any
from .scan import cumsum
from .structure import expand_dims


def _rows(name, input, target, same=False):
    """The input [N, C] (a vector is one row), the target beside it, and what takes the rows away again."""
    x, labels = as_operand(input), as_operand(target)
    single = x.ndim == 1
    if single:
        x, labels = expand_dims(x, 0), expand_dims(labels, 0)
    if x.ndim != 2 or tuple(labels.shape) != (tuple(x.shape) if same else (x.shape[0],)):
        raise ShapeError(f"{name}: an input [N, C] and a target that fits are wanted",
                         note=f"input: {list(as_operand(input).shape)}, target: {list(as_operand(target).shape)}")
    return x, labels, lambda loss: loss[0] if single else loss


@planned
def multi_margin_loss(input: TensorLike, target: TensorLike, p: float = 1, margin: float = 1, weight: TensorLike | None = None,
                      reduction: str = "mean") -> Tensor:
    """The sum over classes i other than y of max(0, margin - x[y] + x[i]) ** p, divided by the number of classes.

    input : float[N, C] or [C];   target : int[N] or a number;   p : 1 or 2;   weight : [C], a factor by the target
    raises : ShapeError for what does not fit, ValueRangeError for another p or reduction, IndexRangeError for a label
    """
    p = as_known_number("multi_margin_loss", p)
    if p not in (1, 2):
        raise ValueRangeError(f"multi_margin_loss: p is 1 or 2, not {p!r}")
    x, labels, plain = _rows("multi_margin_loss", input, target)
    here = expand_dims(bounded_indices(labels, what="multi_margin_loss: label", low=0, high=x.shape[1]), 1)
    room = relu(margin - gather_elements(x, 1, here) + x) ** p
    if weight is not None:
        room = room * expand_dims(gather(as_operand(weight), labels, 0), 1)
    others = where(equal(iota(x.shape[1]), here), 0, room)
    return reduced("multi_margin_loss", plain(reduce_sum(others, axis=1, keepdims=False) / x.shape[1]), reduction)


@planned
def multilabel_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """The sum over labels y and other classes i of max(0, 1 - x[y] + x[i]), divided by the number of classes.

    input     : float[N, C] or [C]; integers count as float32
    target    : int of input's shape: the labels of each row, up to the first -1
    reduction : "none": each row, "mean" or "sum" of them
    raises    : IndexRangeError for other labels, ShapeError for other shapes, DTypeError for complex input, ValueRangeError for a
                reduction
    """
    x, labels, plain = _rows("multilabel_margin_loss", input, target, True)
    labels = bounded_indices(labels, what="multilabel_margin_loss: label", low=-1, high=x.shape[1])
    named = equal(cumsum(cast(labels < 0, dtype="int64"), 1), 0)
    safe = where(named, labels, 0)
    is_label = any(logical_and(equal(expand_dims(safe, 2), iota(x.shape[1])), expand_dims(named, 2)), 1)
    room = relu(1 - expand_dims(gather_elements(x, 1, safe), 2) + expand_dims(x, 1))
    counted = logical_and(expand_dims(named, 2), expand_dims(logical_not(is_label), 1))
    loss = reduce_sum(where(counted, room, 0), axis=(1, 2), keepdims=False) / x.shape[1]
    return reduced("multilabel_margin_loss", plain(loss), reduction)


@planned
def multilabel_soft_margin_loss(input: TensorLike, target: TensorLike, weight: TensorLike | None = None,
                                reduction: str = "mean") -> Tensor:
    """The mean over classes of the binary cross entropy of sigmoid(input) with target.

    input, target : float[.., C];     weight : float[C], a factor for each class, or None
    reduction     : "none": each row, "mean" or "sum" of them
    raises        : DTypeError for bool and complex, ShapeError for shapes that do not broadcast, ValueRangeError for a
                    reduction
    """
    x, y = as_operand(input), as_operand(target)
    axes_of("multilabel_soft_margin_loss", x, 1)
    loss = -(y * logsigmoid(x) + (1 - y) * logsigmoid(-x))
    loss = loss if weight is None else loss * weight
    return reduced("multilabel_soft_margin_loss", reduce_sum(loss, axis=-1, keepdims=False) / x.shape[-1], reduction)


@planned
def poisson_nll_loss(input: TensorLike, target: TensorLike, log_input: bool = True, full: bool = False, eps: float = 1e-8,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps) for log_input False: less the likelihood of a count.

    input, target : float[...], broadcast together; integers count as float32
    log_input     : bool; True: input is the logarithm of the rate
    full          : bool; True: Stirling's approximation of log(target!) is added for targets above 1
    eps           : float, for log_input False
    reduction     : "none": each element, "mean" or "sum" of them
    raises        : DTypeError for complex numbers, ShapeError for shapes that do not broadcast, ValueRangeError for a reduction
    """
    x, y = as_operand(input), as_operand(target)
    if "c" in (dtype_of(x).kind, dtype_of(y).kind):
        raise DTypeError("poisson_nll_loss: does not take complex numbers")
    eps = as_number("poisson_nll_loss", "eps", eps)
    loss = exp(x) - y * x if as_flag("poisson_nll_loss", "log_input", log_input) else x - y * log(x + eps)
    if as_flag("poisson_nll_loss", "full", full):
        large = greater(y, 1)
        safe = where(large, y, 2)
        loss = loss + where(large, safe * log(safe) - safe + 0.5 * log(6.283185307179586 * safe), 0)
    return reduced("poisson_nll_loss", loss, reduction)


def triplet_margin_with_distance_loss(anchor: TensorLike, positive: TensorLike, negative: TensorLike,
                                      distance_function: Any = None, swap: bool = False, margin: float = 1.0,
                                      reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin).

    anchor, positive, negative : float[.., D]
    distance_function          : a function of two such Tensors, or None for pairwise_distance
    swap                       : bool; True: d(positive, negative) counts where it is less than d(anchor, negative)
    margin                     : float;     reduction : "none", "mean" or "sum"
    raises                     : ValueRangeError for a reduction, and what the distance raises
    """
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced("triplet_margin_with_distance_loss", relu(near - far + margin), reduction)

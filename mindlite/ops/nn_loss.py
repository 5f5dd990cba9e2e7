"""Losses: ordinary functions over smaller operators, so that they fuse, batch and differentiate like those.

The label of a class is met by comparing it with 0 .. C - 1 instead of by reading at its place: the comparison, its
product with the logarithms and the gradient are elementwise and join the kernel of the softmax.
"""
from __future__ import annotations

import math
import warnings

import numpy as np

from ..common import dtype as dt
from ..common.dim import product
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, user_level
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.scalar import call as call_scalar
from ..mindir.primitive import planned
from .activation import log_softmax, logsigmoid
from .arithmetic import abs, maximum, minimum
from .axes import as_flag, as_known_int, as_number, axes_of, normal_axis
from .basic import broadcast_to, reduce_sum, reshape
from .define import as_operand, cast_to, dtype_of, elementwise, promote_operands, rounded_once, to_float
from .elementary import exp, log, sqrt
from .indexing import bounded_indices, iota
from .logic import equal, less, less_equal, logical_and, not_equal, where
from .moments import reduce_mean
from .structure import expand_dims


def reduced(name, loss, reduction, total=None):
    """The loss as `reduction` says: "none" as it is, "sum", or "mean" (by `total`, or the number of elements).

    Means of halves are made in float32: a half has no number above 65504.
    raises : ValueRangeError for another word
    """
    if reduction == "none":
        return loss
    if reduction == "sum":
        return reduce_sum(loss)
    if reduction != "mean":
        raise ValueRangeError(f"{name}: reduction is 'none', 'mean' or 'sum', not {reduction!r}")
    if total is None and dtype_of(loss).is_small:
        return reduce_mean(loss)
    return reduce_sum(loss) / (product(loss.shape) if total is None else total)


def _operands(name, input, target, accepts="f"):
    x, y = promote_operands((as_operand(input), as_operand(target)), {})[0]
    if dtype_of(x).kind not in accepts:
        raise DTypeError(f"{name}: does not take {dtype_of(x).name}")
    return x, y


def _differences(name, input, target, accepts="f"):
    """The operands of a loss of differences. Warns where one of them is repeated: predictions [N, 1] and targets [N] are N * N
    differences, hardly ever what is meant."""
    x, y = _operands(name, input, target, accepts)
    if x.ndim and y.ndim and (x.ndim != y.ndim or any([1 in (n, m) and n != m for n, m in zip(x.shape, y.shape)])):
        warnings.warn(f"{name}: the shapes differ and are broadcast, input {list(x.shape)} and target {list(y.shape)}; reshape "
                      "one of them if each element has one target", stacklevel=user_level())
    return x, y


def _pairs(name, input, target):
    """The operands of a loss in which each element has a target of its own. raises : ShapeError for shapes that differ"""
    x, y = _operands(name, input, target)

    def error():
        return ShapeError(f"{name}: input and target have one shape", note=f"input: {list(x.shape)}, target: {list(y.shape)}")
    if x.ndim != y.ndim:
        raise error()
    for n, m in zip(x.shape, y.shape):
        require("==", n, m, error)
    return x, y


# ---------------------------------------------------------------- classes

def _class_axis(x):
    return 0 if x.ndim == 1 else 1


def _along_classes(x, values):
    """values[C] shaped to stand along the class axis of x."""
    wanted = x.shape[_class_axis(x)]
    error = lambda: ShapeError(f"the weight of classes has the shape {list(values.shape)}, not [{wanted}]")  # noqa: E731
    if len(values.shape) != 1:
        raise error()
    require("==", values.shape[0], wanted, error)
    return reshape(values, shape=tuple(x.shape[a] if a == _class_axis(x) else 1 for a in range(x.ndim)))


def _is_class(x, target):
    """bool like x: is this element's class the target's?"""
    return equal(_along_classes(x, iota(x.shape[_class_axis(x)])), expand_dims(target, _class_axis(x)))


def _labels(name, x, target, ignore_index):
    """`target`, integers that name a class of x or are ignore_index."""
    want = tuple(n for a, n in enumerate(x.shape) if a != _class_axis(x))
    error = lambda: ShapeError(f"{name}: labels of shape {list(target.shape)} for {list(x.shape)}",  # noqa: E731
                               hint=f"{list(want)} is wanted")
    _check_are_labels(name, target)
    if len(want) != target.ndim:
        raise error()
    for have, size in zip(target.shape, want):
        require("==", have, size, error)
    ignored = as_known_int(f"{name}: ignore_index", ignore_index)
    return bounded_indices(target, what=f"{name}: label", low=0, high=x.shape[_class_axis(x)], ignored=ignored)


def _check_are_labels(name, target):
    if dtype_of(target).kind not in "iu":
        raise DTypeError(f"{name}: labels are integers, not {dtype_of(target).name}", note=f"labels: {list(target.shape)}",
                         hint="labels.astype(mindlite.int32)")


def _check_probabilities(name, x, target, axis):
    """Probabilities have x's shape. raises : ShapeError; where they look like labels it says that those are int32"""
    labels = [n for a, n in enumerate(x.shape) if a != axis % x.ndim]
    like_labels = target.ndim == len(labels)
    error = lambda: ShapeError(  # noqa: E731
        f"{name}: probabilities have the shape of the logits", note=f"{list(x.shape)}, not {list(target.shape)}",
        hint="the numbers of classes are integers: labels.astype(mindlite.int32)" if like_labels else "")
    if target.ndim != x.ndim:
        raise error()
    for have, size in zip(target.shape, x.shape):
        if have != 1 or not isinstance(have, int):
            require("==", have, size, error)


@planned
def nll_loss(inputs: TensorLike, target: TensorLike, weight: TensorLike | None = None, ignore_index: int = -100,
             reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Negative log likelihood: -inputs[n, target[n], ..] * weight[target[n]], inputs being logarithms of probabilities.

    inputs          : float[N, C, ..] or [C];     target : int[N, ..] or [];     weight : float[C] or None
    ignore_index    : int; labels equal to it count nothing
    reduction       : "none": each label, "sum", or "mean" over the sum of the weights that are used
    label_smoothing : float in [0, 1], the part that is spread over all classes evenly (Szegedy et al. 2016, section 7)
    raises          : ShapeError for labels that do not fit, DTypeError for labels that are no integers and inputs that are no
                      floats, IndexRangeError for a label that names no class and is not ignore_index, ValueRangeError
    """
    return _nll_loss("nll_loss", inputs, target, weight, ignore_index, reduction, label_smoothing)


def _check_smoothing(name, label_smoothing):
    if not 0 <= as_number(name, "label_smoothing", label_smoothing) <= 1:
        raise ValueRangeError(f"{name}: label_smoothing is in [0, 1], not {label_smoothing}")


def _nll_loss(name, inputs, target, weight, ignore_index, reduction, label_smoothing):
    x, target = as_operand(inputs), as_operand(target)
    if x.ndim == 0:
        raise ShapeError(f"{name}: an input of one or more axes is wanted")
    if dtype_of(x).kind != "f":
        raise DTypeError(f"{name}: takes floats, not {dtype_of(x).name}")
    _check_smoothing(name, label_smoothing)
    target = _labels(name, x, target, ignore_index)
    axis, dtype = _class_axis(x), dtype_of(x)
    chosen = logical_and(_is_class(x, target), expand_dims(not_equal(target, ignore_index), axis))
    if weight is None:
        weighted, used = x, cast_to(chosen, dtype)
    else:
        scale = _along_classes(x, cast_to(as_operand(weight), dtype))
        weighted, used = x * scale, where(chosen, scale, 0)
    loss, used = -reduce_sum(where(chosen, weighted, 0), axis=axis), reduce_sum(used, axis=axis)
    if label_smoothing:
        counts = cast_to(not_equal(target, ignore_index), dtype)
        even = -reduce_sum(weighted, axis=axis) * counts / x.shape[axis]
        loss = loss * (1 - label_smoothing) + even * label_smoothing
    if reduction == "mean" and dtype.is_small:
        loss, used = cast_to(loss, dt.float32), cast_to(used, dt.float32)
    return cast_to(reduced(name, loss, reduction, reduce_sum(used) if reduction == "mean" else None), dtype)


@planned
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy between softmax(input) and `target`.

    input  : float Tensor [N, C, ..] or [C]: logits
    target : labels: integers [N, ..] or [], or probabilities: float, of input's shape
    weight : Tensor [C] or None: of the classes; "mean" of labels divides by the sum of those used
    ignore_index : int; labels that are it count nothing
    reduction : "none", "mean" or "sum"; "mean" of probabilities divides by the number of items
    label_smoothing : float in [0, 1], the part of the target that is spread over all classes
    out    : Tensor [] ([N, ..] for "none") of input's dtype
    raises : ShapeError for a target or weight that does not fit, DTypeError, ValueRangeError for another reduction or a
             label_smoothing outside, OperandIndexError for a label that names no class
    source : Bishop 2006, section 4.3.4; label_smoothing: Szegedy et al. 2016
    """
    x, target = as_operand(input), as_operand(target)
    _check_smoothing("cross_entropy", label_smoothing)
    if x.ndim == 0:
        raise ShapeError("cross_entropy: an input of one or more axes is wanted")
    axis = _class_axis(x)
    logs = log_softmax(x, axis=axis)
    if dtype_of(target).kind in "iu":
        return _nll_loss("cross_entropy", logs, target, weight, ignore_index, reduction, label_smoothing)
    _check_probabilities("cross_entropy", x, target, axis)
    logs, target = _operands("cross_entropy", logs, target)
    if label_smoothing:
        even = broadcast_to(as_operand(label_smoothing, dtype_of(target)), shape=target.shape) / x.shape[axis]
        target = target * (1 - label_smoothing) + even
    if weight is not None:
        logs = logs * _along_classes(x, cast_to(as_operand(weight), dtype_of(logs)))
    return reduced("cross_entropy", -reduce_sum(logs * target, axis=axis), reduction)


@planned
def softmax_cross_entropy_with_logits(logits: TensorLike, labels: TensorLike) -> Tensor:
    """-sum(labels * log_softmax(logits)) over the last axis.

    logits : float[.., C];     labels : float like logits, probabilities
    out    : float[..]
    raises : DTypeError for what is no float, ShapeError for labels of another shape
    """
    logits, labels = as_operand(logits), as_operand(labels)
    _check_probabilities("softmax_cross_entropy_with_logits", logits, labels, -1)
    logits, labels = _operands("softmax_cross_entropy_with_logits", logits, labels)
    return -reduce_sum(labels * log_softmax(logits, axis=-1), axis=-1)


def sparse_softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """The cross entropy between softmax(logits) and the class of each row.

    logits    : float[N, C];     labels : int[N]; -100 counts nothing
    reduction : "none": each row, "mean" or "sum" of them
    raises    : DTypeError for labels that are no integers, IndexRangeError for one that names no class, ValueRangeError for a
                reduction
    """
    _check_are_labels("sparse_softmax_cross_entropy_with_logits", as_operand(labels))
    return cross_entropy(logits, labels, reduction=reduction)


# ---------------------------------------------------------------- numbers

@planned
@rounded_once
def mse_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """(input - target) ** 2.

    input, target : float[...], of one shape; others broadcast, with a warning
    reduction     : "none": each element, "mean" or "sum" of them
    raises        : DTypeError for what is no float, ShapeError for shapes that do not broadcast, ValueRangeError for a
                    reduction
    """
    x, y = _differences("mse_loss", input, target)
    difference = x - y
    return reduced("mse_loss", difference * difference, reduction)


@planned
def l1_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """|input - target|.

    input, target : float or complex Tensors of one shape, others broadcast, with a warning; they are promoted
    reduction : "none", "mean" or "sum"
    out    : float Tensor [], for "none" of the broadcast shape
    raises : ValueRangeError for another reduction, DTypeError for integers, ShapeError where the shapes do not broadcast
    """
    x, y = _differences("l1_loss", input, target, "fc")
    return reduced("l1_loss", abs(x - y), reduction)


@planned
@rounded_once
def smooth_l1_loss(input: TensorLike, target: TensorLike, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """d * d / (2 beta) where d = abs(input - target) < beta, else d - beta / 2.

    input, target : float[...], of one shape; others broadcast, with a warning
    beta          : float >= 0, where the square ends; 0: the absolute difference
    reduction     : "none": each element, "mean" or "sum" of them
    raises        : DTypeError for what is no float, ValueRangeError for a negative beta and for a reduction, ShapeError
    source        : Girshick 2015, equation 3
    """
    if as_number("smooth_l1_loss", "beta", beta) < 0:
        raise ValueRangeError(f"smooth_l1_loss: beta is not negative, not {beta}")
    x, y = _differences("smooth_l1_loss", input, target)
    if beta == 0:
        return reduced("smooth_l1_loss", abs(x - y), reduction)
    d = abs(x - y)
    near = less(d, beta)
    small = where(near, d, 0)                                # an infinite distance is not squared
    return reduced("smooth_l1_loss", small * small * (0.5 / beta) + where(near, 0, d - 0.5 * beta), reduction)


@planned
@rounded_once
def huber_loss(input: TensorLike, target: TensorLike, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """d * d / 2 where d = |input - target| <= delta, else delta * (d - delta / 2).

    input, target : float Tensors of one shape, others broadcast, with a warning; they are promoted
    reduction : "none", "mean" or "sum"
    delta  : float above 0
    out    : Tensor [], for "none" of the broadcast shape
    raises : ValueRangeError for another delta or reduction, DTypeError for integers, ShapeError where the shapes do not broadcast
    source : Huber 1964
    """
    if as_number("huber_loss", "delta", delta) <= 0:
        raise ValueRangeError(f"huber_loss: delta is positive, not {delta}")
    x, y = _differences("huber_loss", input, target)
    d = abs(x - y)
    near = less_equal(d, delta)
    small = where(near, d, 0)
    return reduced("huber_loss", small * small * 0.5 + where(near, 0, (d - 0.5 * delta) * delta), reduction)


@elementwise(scalar=lambda x: call_scalar("maximum", call_scalar("log", x), -100.0), accepts="f", prepare=to_float,
             array=lambda x: np.maximum(np.log(x), np.asarray(-100, x.dtype)),
             derivatives=[lambda x, out: 1 / maximum(x, 1e-12)])
def cut_log(x):
    """max(log(x), -100), whose slope is at most 1e12: of probabilities, which may be 0."""


def _refuse_other_than_probabilities(x, *, what, weights=False, hint=None):
    outside = ~((x >= 0) & (x < math.inf)) if weights else (x < 0) | (x > 1)
    if outside.any():
        wanted = "is no weight, which is finite and not negative" if weights else "is outside [0, 1]"
        raise ValueRangeError(f"{what} hold {x[outside].flat[0]}, which {wanted}", hint=hint)
    return np.array(x)


@elementwise(scalar=lambda x, **what: x, accepts="f", derivatives=[1], array=_refuse_other_than_probabilities, sbp_linear=[],
             traits={"checks"})
def probabilities(x, *, what, weights=False, hint=None):
    """The floats x, none of which is outside [0, 1]; NaN stays.

    what    : begins the error's text, `hint` says what to do
    weights : a number is finite and not negative instead
    raises  : ValueRangeError
    """


@planned
@rounded_once
def binary_cross_entropy(logits: TensorLike, labels: TensorLike, weight: TensorLike | None = None,
                         reduction: str = "mean") -> Tensor:
    """-(labels * log(p) + (1 - labels) * log(1 - p)) for probabilities p = `logits`; logarithms are cut at -100.

    logits : float Tensor of numbers in [0, 1]
    labels : float Tensor of the same shape; both are promoted
    weight : Tensor or number that the loss is multiplied by, or None
    reduction : "none", "mean" or "sum"
    out    : Tensor [], for "none" of the operands' shape
    raises : ValueRangeError for a number outside [0, 1] or another reduction, DTypeError for integers, ShapeError for shapes that
             differ
    """
    p, y = _pairs("binary_cross_entropy", logits, labels)
    p = probabilities(p, what="binary_cross_entropy: logits", hint="sigmoid first, or binary_cross_entropy_with_logits")
    loss = -(y * cut_log(p) + (1 - y) * cut_log(1 - p))
    return reduced("binary_cross_entropy", loss if weight is None else loss * weight, reduction)


@planned
@rounded_once
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow.

    input, target : float Tensors of one shape; they are promoted
    weight : Tensor or number that the loss is multiplied by, or None
    pos_weight : Tensor or number, or None: multiplies what a target of 1 loses
    reduction : "none", "mean" or "sum"
    out    : Tensor [], for "none" of the operands' shape
    raises : ValueRangeError for another reduction, DTypeError for integers, ShapeError for shapes that differ
    """
    x, y = _pairs("binary_cross_entropy_with_logits", input, target)
    if pos_weight is None:
        loss = (1 - y) * x - logsigmoid(x)
    else:
        loss = (1 - y) * x - (1 + (pos_weight - 1) * y) * logsigmoid(x)
    return reduced("binary_cross_entropy_with_logits", loss if weight is None else loss * weight, reduction)


@planned
@rounded_once
def kl_div(logits: TensorLike, labels: TensorLike, reduction: str = "mean") -> Tensor:
    """The divergence of Kullback and Leibler: labels * (log(labels) - logits), 0 where a label is 0 or less.

    logits : float Tensor, logarithms of probabilities
    labels : float Tensor, probabilities; both broadcast and are promoted
    reduction : "none", "mean", "sum", or "batchmean": the sum divided by the size of the first axis
    out    : Tensor [], for "none" of the broadcast shape
    raises : ValueRangeError for another reduction, DTypeError for integers, ShapeError where the shapes do not broadcast
    source : Kullback and Leibler 1951
    """
    x, y = _operands("kl_div", logits, labels)
    some = y > 0
    loss = where(some, y * (log(where(some, y, 1)) - x), 0)
    if reduction == "batchmean":
        return reduce_sum(loss) / x.shape[0]
    return reduced("kl_div", loss, reduction)


@planned
@rounded_once
def gaussian_nll_loss(x: TensorLike, target: TensorLike, var: TensorLike, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """The negative log likelihood of normal distributions: (log(var) + (x - target) ** 2 / var) / 2.

    x, target : float Tensors, the means and what was seen; they broadcast and are promoted
    var    : Tensor or number, the variances; each counts at least eps
    full   : bool; True adds log(2 pi) / 2
    eps    : float above 0
    reduction : "none", "mean" or "sum"
    out    : Tensor [], for "none" of the broadcast shape
    raises : ValueRangeError for another eps or reduction, DTypeError for integers, ShapeError where the shapes do not broadcast
    source : Nix and Weigend 1994
    """
    x, y = _operands("gaussian_nll_loss", x, target)
    if as_number("gaussian_nll_loss", "eps", eps) <= 0:
        raise ValueRangeError(f"gaussian_nll_loss: eps is positive, not {eps}")
    var = maximum(var, eps)
    loss = 0.5 * (log(var) + (x - y) * (x - y) / var)
    loss = loss + 0.9189385332046727 if as_flag("gaussian_nll_loss", "full", full) else loss
    return reduced("gaussian_nll_loss", loss, reduction)


@planned
@rounded_once
def soft_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)).

    input     : float[...];     target : float[...], 1 or -1, broadcast with input
    reduction : "none": each element, "mean" or "sum" of them
    raises    : DTypeError for what is no float, ShapeError for shapes that do not broadcast, ValueRangeError for a reduction
    """
    x, y = _operands("soft_margin_loss", input, target)
    return reduced("soft_margin_loss", -logsigmoid(y * x), reduction)


@planned
def hinge_embedding_loss(inputs: TensorLike, targets: TensorLike, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """inputs where the target is 1, else max(0, margin - inputs).

    inputs : float Tensor, distances
    targets : Tensor, 1 or -1; both broadcast and are promoted
    margin : float
    reduction : "none", "mean" or "sum"
    out    : Tensor [], for "none" of the broadcast shape
    raises : ValueRangeError for another reduction, DTypeError for integer inputs and targets, ShapeError where the shapes do not
             broadcast
    """
    x, y = _operands("hinge_embedding_loss", inputs, targets)
    as_number("hinge_embedding_loss", "margin", margin)
    return reduced("hinge_embedding_loss", where(equal(y, 1), x, maximum(margin - x, 0)), reduction)


# ---------------------------------------------------------------- pairs

@planned
@rounded_once
def cosine_similarity(x1: TensorLike, x2: TensorLike, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between x1 and x2 along an axis; each length counts at least eps.

    x1, x2 : float Tensors; they broadcast and are promoted
    dim    : int
    eps    : float
    out    : Tensor of the broadcast shape without the axis
    raises : DTypeError for integers, ValueRangeError for an axis outside, ShapeError where the shapes do not broadcast
    """
    a, b = _operands("cosine_similarity", x1, x2)
    axis, eps = normal_axis("cosine_similarity", dim, max(a.ndim, b.ndim)), as_number("cosine_similarity", "eps", eps, 0)
    back = axis - max(a.ndim, b.ndim)
    along = reduce_sum(a * b, axis=back)
    lengths = maximum(reduce_sum(a * a, axis=back), eps * eps) * maximum(reduce_sum(b * b, axis=back), eps * eps)
    return along / sqrt(lengths)


@planned
def cosine_embedding_loss(input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float = 0.0,
                          reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, else max(0, cos - margin); cos is the cosine of the angle along the last axis.

    input1, input2 : float Tensors [.., n]; they broadcast and are promoted
    target : Tensor [..]: 1 for what is alike, -1 for what is not
    margin : float in [-1, 1]
    reduction : "none", "mean" or "sum"
    out    : Tensor [], for "none" [..]
    raises : ValueRangeError for another margin or reduction, DTypeError for integers, ShapeError where the shapes do not
             broadcast
    """
    if not -1 <= as_number("cosine_embedding_loss", "margin", margin) <= 1:
        raise ValueRangeError(f"cosine_embedding_loss: margin is in [-1, 1], not {margin}")
    cos = cosine_similarity(input1, input2, dim=-1)
    return reduced("cosine_embedding_loss", where(equal(target, 1), 1 - cos, maximum(cos - margin, 0)), reduction)


@planned
def margin_ranking_loss(input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float = 0.0,
                        reduction: str = "mean") -> Tensor:
    """max(0, margin - target * (input1 - input2)).

    input1, input2 : float[...], broadcast together;     target : 1 where input1 is to rank higher, -1 where input2 is
    margin         : float, by how much
    reduction      : "none": each element, "mean" or "sum" of them
    raises         : DTypeError for what is no float, ShapeError for shapes that do not broadcast, ValueRangeError for a
                     reduction
    """
    a, b = _operands("margin_ranking_loss", input1, input2)
    target = as_operand(target)
    axes_of("margin_ranking_loss", target)
    return reduced("margin_ranking_loss", maximum(margin - target * (a - b), 0), reduction)


@planned
def pairwise_distance(x: TensorLike, y: TensorLike, p: float = 2, eps: float = 1e-06) -> Tensor:
    """The p-norm of x - y + eps along the last axis.

    x, y   : float[.., D], broadcast together
    p      : float above 0, or inf;     eps : float, which keeps the gradient finite where x is y
    out    : float[..]
    raises : DTypeError for what is no float, ArgumentError for another p, ShapeError for shapes that do not broadcast
    """
    a, b = _operands("pairwise_distance", x, y)
    as_number("pairwise_distance", "p", p), as_number("pairwise_distance", "eps", eps)
    d = abs(a - b + eps)
    if p == 2:
        return sqrt(reduce_sum(d * d, axis=-1))
    if p == 1:
        return reduce_sum(d, axis=-1)
    if not p > 0:
        raise ArgumentError(f"pairwise_distance: p is positive, not {p}")
    return exp(log(reduce_sum(exp(log(d) * p), axis=-1)) / p)


@planned
def triplet_margin_loss(anchor: TensorLike, positive: TensorLike, negative: TensorLike, margin: TensorLike = 1.0,
                        p: float = 2, eps: float = 1e-06, swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d being pairwise_distance.

    anchor, positive, negative : float[.., D]
    margin                     : float above 0, or a float[] that is as it is;     p, eps : float, of pairwise_distance
    swap                       : bool; True: d(positive, negative) counts where it is less than d(anchor, negative)
    reduction                  : "none": each row, "mean" or "sum" of them
    raises                     : DTypeError for what is no float, ArgumentError for p, ShapeError, ValueRangeError for a
                                 margin or a reduction
    source                     : Balntas et al. 2016, "Learning local feature descriptors with triplets and shallow CNNs"
    """
    as_number("triplet_margin_loss", "margin", margin)
    if isinstance(margin, (int, float, np.number)) and margin <= 0:
        raise ValueRangeError(f"triplet_margin_loss: margin is positive, not {margin}")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if as_flag("triplet_margin_loss", "swap", swap):
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", maximum(near - far + margin, 0), reduction)

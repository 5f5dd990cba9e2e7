"""Loss functions as Cells; their mathematics stands with the operators, in `ops`.

reduction : "mean", "sum" or "none", of the losses of the elements or items
raises    : ValueRangeError for another reduction; ShapeError and DTypeError as the operators
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

from ... import ops
from ...common.annotations import Function
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell
from ..layer.activation import as_activation


class LossBase(Cell):
    """Base of losses: a subclass defines `construct`; `get_loss` weighs and reduces the losses of the elements.

    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, reduction: str | None = "mean") -> None:
        super().__init__()
        if reduction is None:
            reduction = "none"
        if reduction not in ("mean", "sum", "none"):
            raise ValueRangeError(f"{type(self).__name__}: reduction is mean, sum or none, not {reduction!r}")
        self.reduction = reduction

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """The axes of x: (0, .., ndim - 1)."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        """The mean or sum of weights * x, or weights * x itself."""
        x = x * weights
        if self.reduction == "mean":
            return ops.mean(x)
        if self.reduction == "sum":
            return ops.reduce_sum(x)
        return x

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define construct(logits, labels)")


class _WithWeight(LossBase):
    """A loss with an optional Tensor of weights."""

    def __init__(self, weight: Tensor | None = None, reduction: str | None = "mean") -> None:
        super().__init__(reduction)
        if weight is not None and not isinstance(weight, Tensor):
            raise ArgumentError(f"{type(self).__name__}: weight is a Tensor, not {type(weight).__name__}")
        self.weight = weight


class L1Loss(LossBase):
    """|logits - labels|.

    logits, labels : float[...], one shape, or shapes that broadcast
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class MSELoss(LossBase):
    """(logits - labels) squared.

    logits, labels : float[...], one shape, or shapes that broadcast
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.mse_loss(logits, labels, self.reduction)


class RMSELoss(Cell):
    """The square root of the mean of (logits - label) squared.

    logits, label : float[...], one shape, or shapes that broadcast;   output : float[]
    raises : ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return ops.sqrt(ops.mse_loss(logits, label))


class MAELoss(L1Loss):
    """|logits - label|: the same as L1Loss.

    logits, labels : float[...], one shape, or shapes that broadcast
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """


class SmoothL1Loss(LossBase):
    """d * d / (2 * beta) where d = |logits - labels| < beta, else d - beta / 2 (Girshick 2015).

    beta      : float, where the square ends
    logits, labels : float[...], one shape, or shapes that broadcast
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """d * d / 2 where d = |logits - labels| <= delta, else delta * (d - delta / 2) (Huber 1964).

    delta     : float, where the square ends
    logits, labels : float[...], one shape, or shapes that broadcast
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class CrossEntropyLoss(_WithWeight):
    """-log softmax(logits) at the labels.

    logits : [C], [N, C] or [N, C, ..]; labels : integer without the axis C, or probabilities like logits
    weight : Tensor [C]; ignore_index : a label that counts for nothing; label_smoothing : in [0, 1]
    reduction : "mean", "sum" or "none"
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        super().__init__(weight, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(_WithWeight):
    """-logits at the labels.

    weight    : Tensor[C], factors of the classes, or None
    ignore_index : int, a label that counts for nothing
    logits    : float[N, C] or float[N, C, ..], log-probabilities;   labels : int without the axis C
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """-sum labels * log softmax(logits) over the last axis, by item.

    sparse : labels are integers [N], not probabilities [N, C]
    reduction : "mean", "sum" or "none"
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        if not isinstance(sparse, bool):
            raise ArgumentError(f"SoftmaxCrossEntropyWithLogits: sparse is a bool, not {type(sparse).__name__}")
        self.sparse = sparse

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.sparse:
            return ops.cross_entropy(logits, labels, reduction=self.reduction)
        return self.get_loss(ops.softmax_cross_entropy_with_logits(logits, labels))


class BCELoss(_WithWeight):
    """-(labels * log(logits) + (1 - labels) * log(1 - logits)), logits being probabilities; logs are cut at -100.

    weight    : Tensor that scales the losses, or None
    logits, labels : float[...], one shape, in [0, 1]
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(_WithWeight):
    """Binary cross entropy of sigmoid(logits).

    weight    : Tensor that scales the losses, or None
    pos_weight : Tensor that weighs the positive labels, or None
    logits, labels : float[...], one shape
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, reduction)
        if pos_weight is not None and not isinstance(pos_weight, Tensor):
            raise ArgumentError(f"BCEWithLogitsLoss: pos_weight is a Tensor, not {type(pos_weight).__name__}")
        self.pos_weight = pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy_with_logits(logits, labels, self.weight, self.pos_weight, self.reduction)


class KLDivLoss(LossBase):
    """labels * (log(labels) - logits), logits being log-probabilities (Kullback & Leibler 1951).

    reduction : "batchmean" too: the sum divided by the number of items
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("mean" if reduction == "batchmean" else reduction)
        self.reduction = "none" if reduction is None else reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.kl_div(logits, labels, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """1 - cos(a, b) where the label is 1, max(0, cos(a, b) - margin) where it is -1.

    margin    : float in [-1, 1]
    logits_x1, logits_x2 : float[N, D], a and b;   labels : int[N], 1 or -1
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not -1 <= margin <= 1:
            raise ValueRangeError(f"CosineEmbeddingLoss: margin is a number in [-1, 1], not {margin!r}")
        self.margin = margin

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class MarginRankingLoss(LossBase):
    """max(0, margin - target * (input1 - input2)).

    margin    : float
    input1, input2, target : float[...], one shape; target is 1 or -1
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """logits where the label is 1, max(0, margin - logits) where it is -1.

    margin    : float
    logits, labels : float[...], one shape
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels * logits)).

    logits, labels : float[...], one shape, or shapes that broadcast; labels are 1 or -1
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, |x - positive| - |x - negative| + margin), in the p-norm (Balntas et al. 2016).

    p, margin : numbers;   eps : float, added to the differences
    swap      : bool: the nearer of x and positive to negative
    x, positive, negative : float[N, D] or float[D];   a margin of the call counts where the layer's is 1, as in MindSpore
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, p: float = 2, swap: bool = False, eps: float = 1e-06, reduction: str = "mean",
                 margin: float = 1.0) -> None:
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: float | Tensor = 1.0) -> Tensor:
        if self.margin != 1.0:
            margin = self.margin
        return ops.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


class GaussianNLLLoss(LossBase):
    """(log(var) + (logits - labels) squared / var) / 2 (Nix & Weigend 1994).

    full      : bool: with the constant log(2 pi) / 2
    eps       : float, the least var
    logits, labels, var : float[...]; labels and var broadcast to logits
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class DiceLoss(LossBase):
    """1 - 2 * sum(logits * labels) / (sum(logits squared) + sum(labels squared) + smooth) (Milletari et al. 2016).

    smooth        : float, against division by 0
    logits, label : float[...], one shape;   output : float[]
    raises        : ValueRangeError for a negative smooth
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if smooth < 0:
            raise ValueRangeError(f"DiceLoss: smooth {smooth} is negative")
        self.smooth = smooth

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        both = ops.reduce_sum(ops.mul(logits, label))
        return 1 - 2 * both / (ops.reduce_sum(logits * logits) + ops.reduce_sum(label * label) + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean over classes of DiceLoss of each class.

    weights       : Tensor[C, ..], a factor of each class's loss, or None
    ignore_indiex : a class that does not count, or None (the name is MindSpore's)
    activation    : name of a function of the logits, or None
    logits, label : float[N, C, ..], one shape; output : float[]
    raises        : ArgumentError for other arguments, ShapeError where the shapes differ
    """

    def __init__(self, weights: Tensor | None = None, ignore_indiex: int | None = None,
                 activation: str | Function | None = "softmax") -> None:
        super().__init__()
        if weights is not None and not isinstance(weights, Tensor):
            raise ArgumentError(f"MultiClassDiceLoss: weights is a Tensor or None, not {type(weights).__name__}")
        if ignore_indiex is not None and (isinstance(ignore_indiex, bool) or not isinstance(ignore_indiex, int)):
            raise ArgumentError(f"MultiClassDiceLoss: ignore_indiex is an int or None, not {type(ignore_indiex).__name__}")
        self.weights, self.ignored = weights, ignore_indiex
        self.activation = None if activation is None else as_activation("MultiClassDiceLoss", activation)
        self.binary = DiceLoss(smooth=1e-5)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        if ops.rank(logits) < 2 or logits.shape != label.shape:
            raise ShapeError("MultiClassDiceLoss: logits and label are [N, C, ..], of one shape",
                             note=f"logits: {list(logits.shape)}, label: {list(label.shape)}")
        if self.activation is not None:
            logits = self.activation(logits)
        total: Any = 0.0
        for i in range(label.shape[1]):
            if i != self.ignored:
                loss = self.binary(logits[:, i], label[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / label.shape[1]


class SampledSoftmaxLoss(LossBase):
    """Softmax cross entropy over the labels and a few drawn classes instead of all.

    num_sampled, num_classes : how many are drawn, of how many; num_true : labels of each item
    sampled_values           : (drawn classes, expected counts of labels, of drawn ones), or None: drawn uniformly
    remove_accidental_hits   : a drawn class that is a label of the item does not count
    seed                     : of the drawing, 0 for a new one at each call
    weights [C, D], bias [C], labels int[N, num_true] (or [N]), logits [N, D]; output : [N], or reduced
    raises                   : ArgumentError, ValueRangeError
    source                   : Jean et al. 2015, section 3
    reduction : "mean", "sum" or "none"
    """

    def __init__(self, num_sampled: int, num_classes: int, num_true: int = 1, sampled_values: Sequence[Tensor] | None = None,
                 remove_accidental_hits: bool = True, seed: int = 0, reduction: str = "none") -> None:
        super().__init__(reduction)
        if num_true < 1 or num_sampled < 1 or num_sampled > num_classes:
            raise ValueRangeError("SampledSoftmaxLoss: 1 <= num_sampled <= num_classes and num_true >= 1 are wanted",
                                  note=f"num_sampled: {num_sampled}, num_classes: {num_classes}, num_true: {num_true}")
        if sampled_values is not None and not (isinstance(sampled_values, (list, tuple)) and len(sampled_values) == 3):
            raise ArgumentError("SampledSoftmaxLoss: sampled_values are three tensors in a tuple")
        self.num_sampled, self.num_classes, self.num_true = num_sampled, num_classes, num_true
        self.sampled_values, self.remove_accidental_hits, self.seed = sampled_values, remove_accidental_hits, seed

    def construct(self, weights: Tensor, bias: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        if len(labels.shape) == 1:
            labels = ops.expand_dims(labels, -1)
        if self.sampled_values is None:
            drawn, expected, expected_drawn = ops.uniform_candidate_sampler(
                labels, self.num_true, self.num_sampled, True, self.num_classes, self.seed)
        else:
            drawn, expected, expected_drawn = self.sampled_values
        own = ops.reduce_sum(ops.expand_dims(logits, 1) * ops.gather(weights, labels, 0), axis=-1)
        own = own + ops.gather(bias, labels, 0) - ops.log(expected)
        others = ops.matmul(logits, ops.gather(weights, drawn, 0).T) + ops.gather(bias, drawn, 0) - ops.log(expected_drawn)
        if self.remove_accidental_hits:
            hit = (ops.expand_dims(labels, 2) == drawn).any(1)
            others = ops.where(hit, ops.full_like(others, -1e30), others)
        scores = ops.concat((own, others), 1)
        share = ops.reduce_sum(ops.log_softmax(scores, 1)[:, :self.num_true], axis=1) / self.num_true
        return self.get_loss(-share)


class MultiMarginLoss(_WithWeight):
    """The mean over classes of max(0, margin - x[target] + x[i]) ** p; see ops.multi_margin_loss.

    p         : int, 1 or 2;   margin : float
    weight    : Tensor[C], factors of the classes, or None
    x         : float[N, C] or float[C];   target : int[N] or int[];   a weight of the call counts where the layer has none
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, p: float = 1, margin: float = 1.0, reduction: str = "mean", weight: Tensor | None = None) -> None:
        super().__init__(weight, reduction)
        self.p, self.margin = p, margin

    def construct(self, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        if self.weight is not None:
            weight = self.weight
        return ops.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """The hinge of every label against every other class; see ops.multilabel_margin_loss.

    x         : float[N, C] or float[C];   target : int like x: the labels, then -1
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class MultiLabelSoftMarginLoss(_WithWeight):
    """The mean over classes of the binary cross entropy of sigmoid(x).

    weight    : Tensor[C], factors of the classes, or None
    x, target : float[N, C]
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class PoissonNLLLoss(LossBase):
    """exp(x) - target * x, or with log_input=False x - target * log(x + eps); see ops.poisson_nll_loss.

    log_input : bool: input is the logarithm of the rate
    full      : bool: with Stirling's approximation of log(target!)
    eps       : float, against log(0)
    input, target : float[...], one shape
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-08, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin) for any distance; see ops.triplet_margin_with_distance_loss.

    distance_function : of two Tensors [N, D], None for the Euclidean one
    swap      : bool: the nearer of x and positive to negative;   margin : float
    x, positive, negative : float[N, D]
    reduction : "mean", "sum" or "none" (None is "none"), of the losses
    output    : float[], or with "none" the losses themselves
    raises    : ValueRangeError for another reduction; ShapeError, DTypeError for operands that do not fit
    """

    def __init__(self, distance_function: Function | None = None, swap: bool = False, reduction: str = "mean",
                 margin: float = 1.0) -> None:
        super().__init__(reduction)
        self.distance_function, self.swap, self.margin = distance_function, swap, margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return ops.triplet_margin_with_distance_loss(x, positive, negative, self.distance_function, self.swap, self.margin,
                                                     self.reduction)


class CTCLoss(LossBase):
    """Minus the logarithm of the probability of a sequence of labels of unknown timing; see ops.ctc_loss.

    reduction : "mean", "sum" or "none"
    blank : int, the class that stands for no label
    zero_infinity : bool: losses that are inf are 0
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                            self.zero_infinity)[0]


class FocalLoss(LossBase):
    """-(1 - p) ** gamma log(p) of the probability p of the right class (Lin et al. 2017).

    weight : [C], factors of classes
    logits : float[N, C, ..]; labels : int[N, 1, ..], classes, or float of logits' shape, probabilities
    reduction : "mean", "sum" or "none"
    """

    def __init__(self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if weight is not None and not isinstance(weight, Tensor):
            raise ArgumentError(f"FocalLoss: weight is a Tensor, not {type(weight).__name__}")
        self.weight, self.gamma = weight, gamma

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        shape = (ops.shape(logits)[0], logits.shape[1], -1)
        x, y = ops.reshape(logits, shape), ops.reshape(labels, (labels.shape[0], labels.shape[1], -1))
        logs = ops.log_softmax(x, 1)
        by_class = labels.shape[1] == 1 and logits.shape[1] != 1
        share = ops.swapaxes(ops.one_hot(y[:, 0], logits.shape[1]), 1, 2) if by_class else y
        loss = -share * logs * (1 - ops.exp(logs)) ** self.gamma
        if self.weight is not None:
            loss = loss * ops.reshape(self.weight, (1, -1, 1))
        loss = ops.reduce_sum(loss, 1) if by_class else loss
        return self.get_loss(loss[..., 0] if logits.ndim == 2 else loss)

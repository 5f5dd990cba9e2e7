"""MindSpore's CTCLoss: the loss of connectionist temporal classification and its gradient, in one call.

Source: Graves et al. 2006, section 4.1; the loss itself is `ops.ctc_loss`.
"""
from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError
from ..ops.indexing import bounded_indices
from ..ops.operations.define import operation
from .derivative import value_and_grad


@operation
def CTCLoss(x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any, *, preprocess_collapse_repeated: bool = False,
            ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False) -> Any:
    """(the loss of each sequence [N], its gradient [T, N, C]).

    x               : float[T, N, C], logits; the last class is the blank
    labels_indices  : int[K, 2], (the sequence, the place in its labels) of each label;  labels_values: int[K], the labels
    sequence_length : int[N], how many of the T steps count
    ignore_longer_outputs_than_inputs : labels that do not fit into their steps cost 0, without a gradient; else infinitely much
    raises          : ShapeError for what does not fit; ArgumentError for preprocess_collapse_repeated=True and
                      ctc_merge_repeated=False, which are not here; OperandIndexError for a label that is the blank or no class
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise ArgumentError("CTCLoss: equal neighbours are one label where no blank is between them, and no others",
                            hint="preprocess_collapse_repeated=False, ctc_merge_repeated=True")
    if x.ndim != 3 or labels_indices.ndim != 2 or labels_values.ndim != 1 or sequence_length.ndim != 1:
        raise ShapeError("CTCLoss: x [T, N, C], labels_indices [K, 2], labels_values [K] and sequence_length [N] are wanted",
                         note=f"{list(x.shape)}, {list(labels_indices.shape)}, {list(labels_values.shape)}, "
                              f"{list(sequence_length.shape)}")
    batch, count = x.shape[1], labels_values.shape[0]
    labels_values = bounded_indices(labels_values, what="CTCLoss: label", low=0, high=x.shape[2] - 1)
    labels = ops.tensor_scatter_update(ops.zeros((batch, count), dt.int64), labels_indices, ops.cast(labels_values, dt.int64))
    lengths = ops.unsorted_segment_sum(ops.ones_like(labels_values), labels_indices[:, 0], batch)

    def losses(logits: Any) -> Any:
        each, _ = ops.ctc_loss(ops.log_softmax(logits, -1), labels, sequence_length, lengths, x.shape[2] - 1, "none",
                               ignore_longer_outputs_than_inputs)
        return ops.sum(each), each
    (_, each), slopes = value_and_grad(losses, 0, None, has_aux=True)(x)
    return each, slopes

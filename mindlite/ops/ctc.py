"""Connectionist temporal classification: the loss of a sequence of labels of unknown timing, and its greedy reading.

With blanks between labels, l' = (b, l1, b, l2, .., b):   alpha[t, s] = p[t, l'[s]] (alpha[t-1, s] + alpha[t-1, s-1] +
alpha[t-1, s-2] where l'[s] is no blank and not l'[s-2]), in logarithms. The loss is minus the logarithm of the last two.

Source: Graves et al. 2006, section 4.1.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

from ..common import dtype as dt
from ..common.errors import ShapeError
from ..common.tensor import TensorLike
from .arithmetic import maximum, minimum
from .basic import broadcast_to, cast, reduce_sum, reshape
from .creation import arange, full
from .define import as_operand, cast_to, dtype_of
from .elementary import logaddexp
from .lattice import path_sums
from .logic import equal, less, logical_and, logical_not, logical_or, not_equal, where
from .lookup import gather_elements
from .nn_loss import reduced
from .reduction import amax, argmax
from .scan import cumsum
from .sort import masked_select
from .structure import concat, expand_dims, stack

_NONE = -1e30                                    # the logarithm of no chance: finite, so that no slope is NaN


def ctc_loss(log_probs: TensorLike, targets: TensorLike, input_lengths: TensorLike, target_lengths: TensorLike, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Any:
    """(the loss, log_alpha) of targets : int[N, S] under log_probs : float[T, N, C], logarithms of probabilities; of one
    sequence without the axis N: [S], [T, C] and numbers for the lengths.

    input_lengths, target_lengths : int[N], at most T and S      blank : the class of the blank
    reduction      : "none": [N]; "sum"; "mean": each divided by its target's length first
    zero_infinity  : a target that does not fit into its input costs 0 instead of inf
    log_alpha      : [N, T, 2 S + 1], see the module; rows behind an input's length repeat the last
    raises         : ShapeError for what does not fit
    """
    logs, labels = as_operand(log_probs), as_operand(targets)
    if logs.ndim == 2 and labels.ndim == 1:
        inputs, wanted = [reshape(as_operand(n), shape=(1,)) for n in (input_lengths, target_lengths)]
        loss, table = ctc_loss(expand_dims(logs, 1), expand_dims(labels, 0), inputs, wanted, blank, reduction, zero_infinity)
        return (loss[0] if reduction == "none" else loss), table[0]
    if logs.ndim != 3 or labels.ndim != 2 or labels.shape[0] != logs.shape[1]:
        raise ShapeError("ctc_loss: log_probs [T, N, C] and targets [N, S] are wanted",
                         note=f"log_probs: {list(logs.shape)}, targets: {list(labels.shape)}")
    own, logs = dtype_of(logs), cast_to(logs, dt.float64 if dtype_of(logs) is dt.float64 else dt.float32)
    times, batch, count = logs.shape[0], logs.shape[1], 2 * labels.shape[1] + 1
    ends, lengths = (cast_to(as_operand(x if not isinstance(x, tuple) else list(x)), dt.int64)
                     for x in (input_lengths, target_lengths))
    lengths = reshape(lengths, shape=(batch, 1))
    blanks = full((batch, labels.shape[1], 1), blank, dtype=dt.int64)
    states = reshape(concat((blanks, expand_dims(cast_to(labels, dt.int64), 2)), 2), shape=(batch, count - 1))
    states = concat((states, full((batch, 1), blank, dtype=dt.int64)), 1)
    before = concat((full((batch, 2), blank, dtype=dt.int64), states), 1)[:, :count]
    barrier = where(logical_and(not_equal(states, blank), not_equal(states, before)), 0.0, _NONE)
    position, time = arange(count), reshape(arange(times), shape=(times, 1, 1))
    inside = logical_and(less(position, 2 * lengths + 1), logical_or(time > 0, less(position, 2)))
    scores = gather_elements(logs, 2, broadcast_to(states, shape=(times, batch, count)))
    sums = path_sums(where(inside, scores, _NONE), cast_to(barrier, logs.dtype), nothing=_NONE)
    rows = minimum(time, maximum(reshape(ends, shape=(1, batch, 1)) - 1, 0))         # behind its end a sequence rests
    table = gather_elements(sums, 0, broadcast_to(rows, shape=(times, batch, count)))
    alpha = table[-1]
    last = gather_elements(alpha, 1, 2 * lengths)
    other = where(lengths > 0, gather_elements(alpha, 1, maximum(2 * lengths - 1, 0)), _NONE)
    loss = -reshape(logaddexp(last, other), shape=(batch,))
    loss = where(loss > -_NONE / 2, 0.0 if zero_infinity else float("inf"), loss)
    if reduction == "mean":
        loss = loss / cast_to(maximum(lengths[:, 0], 1), logs.dtype)
    table = where(table < _NONE / 2, float("-inf"), table).swapaxes(0, 1)
    return cast_to(reduced("ctc_loss", loss, reduction), own), cast_to(table, own)


def ctc_greedy_decoder(inputs: Sequence[TensorLike], sequence_length: TensorLike, merge_repeated: bool = True) -> Any:
    """The most likely class at each time of inputs : float[T, N, C], of which the last is the blank, without blanks.

    sequence_length : int[N]      merge_repeated : equal classes one after the other are one
    out             : (int64[count, 2] (sequence, position in it), int64[count] classes, int64[2] (N, the longest), [N, 1] minus
                      the sum of what was chosen)
    """
    x, ends = as_operand(inputs), reshape(cast_to(as_operand(sequence_length), dt.int64), shape=(-1, 1))
    if x.ndim != 3:
        raise ShapeError("ctc_greedy_decoder: inputs are [T, N, C]", note=f"inputs: {list(x.shape)}")
    times, batch, classes = x.shape
    best, value = (reshape(y, shape=(times, batch)).T for y in (argmax(x, 2), amax(x, 2)))
    running = less(arange(times), ends)
    keep = logical_and(running, not_equal(best, classes - 1))
    if merge_repeated:
        same = equal(best[:, 1:], best[:, :times - 1])
        keep = logical_and(keep, logical_not(concat((full((batch, 1), False), same), 1)))
    position = cumsum(cast(keep, dtype=dt.int64), 1) - 1
    sequence = broadcast_to(reshape(arange(batch), shape=(batch, 1)), shape=(batch, times))
    indices = stack([masked_select(sequence, keep), masked_select(position, keep)], 1)
    longest = amax(reduce_sum(cast(keep, dtype=dt.int64), axis=1, keepdims=False))
    shape = stack([full((), batch, dtype=dt.int64), longest], 0)
    chance = -reduce_sum(where(running, value, 0), axis=1, keepdims=True)
    return indices, masked_select(best, keep), shape, chance

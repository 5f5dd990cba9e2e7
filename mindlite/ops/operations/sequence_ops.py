"""Operators over sequences of tokens, and over boxes of pictures, as classes."""
from ...common.dim import Dim
from ...common.errors import ArgumentError, Refusal
from .. import crop_and_resize, equal, logical_and, where
from ..basic import reshape
from ..creation import arange
from ..define import as_operand
from ..reduction import any
from ..scalar import tensor_to_scalar
from .define import operation

LEAST = -3.4028235e38                           # the most negative float32


@operation
def NoRepeatNGram(state_seq, log_probs, *, ngram_size=1):
    """log_probs, with the most negative float32 for each token that would make the last ngram_size tokens a stretch
    that stands in the sequence already (Paulus, Xiong & Socher 2018).

    state_seq : int[batch, beam, length];   log_probs : float[batch, beam, vocabulary]
    raises    : ArgumentError for other ranks
    """
    tokens, scores = as_operand(state_seq), as_operand(log_probs)
    if tokens.ndim != 3 or scores.ndim != 3:
        raise ArgumentError("NoRepeatNGram: sequences [batch, beam, length] and scores [batch, beam, vocabulary] are "
                            "wanted", note=f"{list(tokens.shape)}, {list(scores.shape)}")
    batch, beam, length = tokens.shape
    count, before = length - ngram_size + 1, ngram_size - 1
    repeats = equal(reshape(tokens[:, :, before:], shape=(batch, beam, count, 1)), arange(scores.shape[2]))
    for k in range(before):                                              # where a stretch is the last `before` tokens
        last = tokens[:, :, length - before + k:length - before + k + 1]
        stands = equal(tokens[:, :, k:k + count], last)
        repeats = logical_and(repeats, reshape(stands, shape=(batch, beam, count, 1)))
    return where(any(repeats, 2), LEAST, scores)


@operation
def CropAndResize(x, boxes, box_index, crop_size, *, method="bilinear", extrapolation_value=0.0):
    """See ops.crop_and_resize."""
    return crop_and_resize(x, boxes, box_index, crop_size, method, extrapolation_value)


@operation
def TensorToTuple(input_x):
    """The elements of a Tensor of one axis, as a tuple of numbers. raises : ArgumentError for another rank"""
    x = as_operand(input_x)
    if x.ndim != 1:
        raise ArgumentError(f"TensorToTuple: a Tensor of one axis is wanted, this one has {x.ndim}")
    if isinstance(x.shape[0], Dim):
        raise Refusal("TensorToTuple: the number of elements is known at run time only")
    return tuple([tensor_to_scalar(x[i]) for i in range(x.shape[0])])


@operation
def ConvertToDynamic(input, *, is_dynamic_rank=False):
    """`input`; what reads it need not know its sizes when it is compiled. Here sizes that are known stay so."""
    return as_operand(input)

"""Operators over sequences of tokens, over boxes of pictures, and on tuples and lists, as classes."""
from ...common import dtype as dt
from ...common.dim import Dim
from ...common.errors import ArgumentError, Refusal
from .. import cast, crop_and_resize, equal, logical_and, stack, unstack, where, zeros_like
from ..basic import reshape
from ..creation import arange
from ..define import as_operand
from ..reduction import any
from ..scalar import tensor_to_scalar
from .define import operation, table

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


# ---------------------------------------------------------------- tuples and lists: what Python has for them

@operation
def SequenceStack(sequence, *, axis=0):
    """The tensors of a tuple or list along a new axis: `ops.stack`."""
    return stack(sequence, axis)


@operation
def SequenceUnstack(x, *, axis=0):
    """The slices of x along an axis, a tuple: `ops.unstack`."""
    return unstack(x, axis)


def _zeros_of(sequence):
    if isinstance(sequence, (tuple, list)):
        return type(sequence)([_zeros_of(item) for item in sequence])
    return zeros_like(sequence) if hasattr(sequence, "shape") else sequence * 0


def _tensor_of(sequence, dtype=None):
    made = as_operand(sequence)
    return made if dtype is None else cast(made, dtype=dt.dtype(dtype))


globals().update(table({
    "SequenceAdd": lambda first, second: first + second,
    "SequenceSlice": lambda sequence, start, stop, step: sequence[start:stop:step], "SequenceZerosLike": _zeros_of,
    "TupleToTensor": _tensor_of, "ListToTensor": _tensor_of, "TensorToList": lambda x: list(TensorToTuple.function(x)),
    "TensorToScalar": lambda x: tensor_to_scalar(as_operand(x))}))

"""Random numbers as classes: cut normal distributions, orders, candidates, and masks of bits."""
import math

from ...common import dtype as dt
from ...common.errors import DTypeError, ShapeError, ValueRangeError
from .. import (arange, bernoulli, cast, clamp, concat, erf, erfinv, full, log_uniform_candidate_sampler, ones, randint, randperm,
                reshape, sum, uniform)
from ..axes import new_shape
from ..define import as_operand, cast_to, dtype_of
from .define import operation, repeats


def _between(shape, low, high, seed, dtype):
    """Normal numbers between two, of the dtype: the inverse of the distribution function of uniform ones."""
    root = math.sqrt(2)
    begin, end = (erf(cast(as_operand(x), dtype=dt.float64) / root) for x in (low, high))
    share = uniform(shape, 0.0, 1.0, seed or None, dt.float64)
    drawn = erfinv(begin + (end - begin) * share) * root
    return cast(clamp(drawn, cast(as_operand(low), dtype=dt.float64), cast(as_operand(high), dtype=dt.float64)), dtype=dtype)


@operation
def TruncatedNormal(shape, *, dtype=dt.float32, seed=0, seed2=0):
    """Normal numbers of mean 0 and variance 1 of which those outside of [-2, 2] are drawn again. shape : a Tensor or tuple"""
    return _between(new_shape("TruncatedNormal", shape), -2.0, 2.0, seed, dtype)


@operation
def ParameterizedTruncatedNormal(shape, mean, stdevs, min, max, *, seed=0, seed2=0):
    """Normal numbers between `min` and `max`.

    shape : [batch, ..], a Tensor or tuple; mean, stdevs, min, max : f[] , f[1] or f[batch], one for each of the batch
    """
    shape = new_shape("ParameterizedTruncatedNormal", shape)
    kind = dtype_of(as_operand(mean))
    parts = [as_operand(x) if as_operand(x).ndim == 0 or as_operand(x).shape[0] == 1
             else reshape(as_operand(x), shape=(-1,) + (1,) * (len(shape) - 1)) for x in (mean, stdevs, min, max)]
    mean, stdevs, low, high = parts
    drawn = _between(shape, (low - mean) / stdevs, (high - mean) / stdevs, seed, dt.float64)
    return cast(drawn * stdevs + mean, dtype=kind)


@operation
def Uniform(x, *, minval=0.0, maxval=1.0, seed=0, offset=0):
    """A Tensor like x of numbers between `minval` and `maxval`; `offset` has no effect.

    raises : DTypeError for what is no float
    """
    x = as_operand(x)
    if not dtype_of(x).is_float:
        raise DTypeError(f"Uniform: takes floats, not {dtype_of(x)}")
    return uniform(tuple(x.shape), minval, maxval, seed or None, dtype_of(x))


@operation
def NonDeterministicInts(shape, *, dtype=dt.int64):
    """Integers over the whole range of the dtype. shape : a Tensor or tuple"""
    shape = new_shape("NonDeterministicInts", shape)
    upper, lower = (randint(-2 ** 31, 2 ** 31, shape, dtype=dt.int64) for _ in range(2))
    return cast(upper * 2 ** 32 + (lower + 2 ** 31) if dt.dtype(dtype).bits == 64 else lower, dtype=dtype)


@operation
@repeats
def RandpermV2(n, *, seed=0, offset=0, dtype=dt.int64):
    """The numbers 0 .. n - 1 in random order: `randperm`. The order of a seed is the same in each call."""
    return randperm(int(n), seed or None, offset, dtype=dtype)


@operation
def Randperm(n, *, max_length=1, pad=-1, dtype=dt.int32):
    """The numbers 0 .. n - 1 in random order, and `pad` behind them up to max_length. n : [1]; raises : ValueRangeError"""
    count = int(as_operand(n).reshape(()))
    if not 0 <= count <= max_length:
        raise ValueRangeError(f"Randperm: n is in [0, {max_length}], not {count}")
    return concat((randperm(count, dtype=dtype), full((max_length - count,), pad, dtype=dtype)))


@operation
def LogUniformCandidateSampler(true_classes, *, num_true=1, num_sampled=5, unique=True, range_max=5, seed=0):
    """`ops.log_uniform_candidate_sampler`"""
    return log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed)


# ---------------------------------------------------------------- masks of bits

@operation
def DropoutGenMask(shape, keep_prob, *, Seed0=0, Seed1=0):
    """u8[n / 8] : one bit for each element of the shape, 1 with probability keep_prob; n is rounded up to a multiple of 128."""
    count = -(-math.prod(new_shape("DropoutGenMask", shape)) // 128) * 128
    bits = bernoulli(ones((count // 8, 8)), keep_prob, Seed0 or None)
    return cast(sum(cast(bits, dtype=dt.int32) * as_operand([1, 2, 4, 8, 16, 32, 64, 128]), -1), dtype=dt.uint8)


@operation
def DropoutDoMask(x, mask, keep_prob):
    """x / keep_prob where the bit of the mask is 1, else 0. mask : of DropoutGenMask; raises : ShapeError if it is too short"""
    x, mask = as_operand(x), as_operand(mask)
    if mask.size * 8 < x.size:
        raise ShapeError("DropoutDoMask: the mask has too few bits", note=f"{mask.size * 8} for {x.size} elements")
    bits = reshape(cast(mask, dtype=dt.int32), shape=(-1, 1)) // (2 ** arange(8)) % 2
    mask = reshape(reshape(bits, shape=(-1,))[:x.size], shape=tuple(x.shape))
    return x * cast_to(mask, dtype_of(x)) / cast_to(keep_prob, dtype_of(x))

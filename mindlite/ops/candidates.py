"""A few classes drawn among many, for losses that do not look at all of them.

Source: Jean et al. 2015, section 3.
"""
from __future__ import annotations

import math
from typing import Any

from ..common import dtype as dt
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from .arithmetic import floor, minimum
from .basic import reduce_sum, reshape
from .creation import arange, full, zeros
from .define import as_operand, cast_to, dtype_of
from .generator import Generator
from .elementary import exp, log
from .logic import equal, greater, where
from .lookup import gather
from .random import randint, randperm, uniform
from .reduction import reduce_any
from .sort import argsort, topk


def uniform_candidate_sampler(true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0,
                              remove_accidental_hits: bool = False) -> Any:
    """(classes drawn uniformly from [0, range_max), how often each true class is expected among them, and each drawn one).

    true_classes           : int[N, num_true]; its values count for remove_accidental_hits alone
    num_sampled            : int, how many are drawn; at most range_max where `unique`, for no class comes twice then
    seed                   : int, 0 for a new draw at each call, or a Generator
    remove_accidental_hits : bool; True draws no true class as long as there are others, and counts are of a draw among those
    out                    : int[num_sampled], f32[N, num_true], f32[num_sampled]
    raises                 : ArgumentError, DTypeError, ShapeError, ValueRangeError
    """
    for name, value, least in (("num_true", num_true, 1), ("num_sampled", num_sampled, 1), ("range_max", range_max, 1),
                               ("seed", 0 if isinstance(seed, Generator) else seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"uniform_candidate_sampler: {name} is an int, not {type(value).__name__}")
        if value < least:
            raise ValueRangeError(f"uniform_candidate_sampler: {name} is at least {least}, not {value}")
    if not isinstance(unique, bool) or not isinstance(remove_accidental_hits, bool):
        raise ArgumentError("uniform_candidate_sampler: unique and remove_accidental_hits are bools")
    true_classes = as_operand(true_classes)
    if dtype_of(true_classes) not in (dt.int32, dt.int64):
        raise DTypeError(f"uniform_candidate_sampler: true_classes are int32 or int64, not {dtype_of(true_classes).name}")
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ShapeError(f"uniform_candidate_sampler: true_classes are [N, {num_true}]", note=f"{list(true_classes.shape)}")
    if unique and num_sampled > range_max:
        raise ValueRangeError(f"uniform_candidate_sampler: {num_sampled} different classes are not to be found among {range_max}")
    if remove_accidental_hits:
        return _apart_from(true_classes, num_sampled, unique, range_max, seed)
    drawn = randperm(range_max, seed or None)[:num_sampled] if unique else randint(0, range_max, (num_sampled,), seed or None)
    expected = num_sampled / range_max
    return (cast_to(drawn, dtype_of(true_classes)), full(true_classes.shape, expected, dtype=dt.float32),
            full((num_sampled,), expected, dtype=dt.float32))


def _apart_from(true_classes, num_sampled, unique, range_max, seed):
    """uniform_candidate_sampler's results for a draw among the classes that are not true ones."""
    classes = cast_to(arange(range_max), dtype_of(true_classes))
    hit = reduce_any(equal(reshape(true_classes, shape=(-1, 1)), classes), axis=0, keepdims=False)
    others = range_max - reduce_sum(cast_to(hit, dt.float32), axis=None, keepdims=False)
    others = where(greater(others, 0.0), others, float(range_max))                  # all are true ones: a draw among all
    if unique:                                    # keys of true classes are below all others
        keys = uniform((range_max,), 0.0, 1.0, seed or None, dt.float64) - cast_to(hit, dt.float64) * 2.0
        drawn = topk(keys, num_sampled)[1]
        expected = minimum(num_sampled / others, 1.0)
    else:
        order = argsort(cast_to(hit, dt.int32))
        place = floor(uniform((num_sampled,), 0.0, 1.0, seed or None, dt.float64) * cast_to(others, dt.float64))
        drawn = gather(order, cast_to(place, dt.int64), axis=0)
        expected = num_sampled / others
    return (cast_to(drawn, dtype_of(true_classes)), zeros(true_classes.shape, dt.float32) + expected,
            zeros((num_sampled,), dt.float32) + expected)


def log_uniform_candidate_sampler(true_classes: Tensor, num_true: int = 1, num_sampled: int = 5, unique: bool = True,
                                  range_max: int = 5, seed: int = 0) -> Any:
    """(classes drawn from [0, range_max), the first oftener than the last; how often each true one is expected; each drawn one).

    The chance of class k is log((k + 2) / (k + 1)) / log(range_max + 1), which fits classes numbered from the most common on.

    true_classes : int64[N, num_true]; only its values count for the second result
    num_sampled  : int, how many are drawn; at most range_max where `unique`, for no class comes twice then
    seed         : int, 0 for a new draw at each call
    out          : int64[num_sampled], f32[N, num_true], f32[num_sampled]
    raises       : ArgumentError, DTypeError, ShapeError, ValueRangeError
    source       : Jean et al. 2015; drawn without putting back by Efraimidis & Spirakis 2006
    """
    name = "log_uniform_candidate_sampler"
    for what, value in (("num_true", num_true), ("num_sampled", num_sampled), ("range_max", range_max)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"{name}: {what} is an int, not {type(value).__name__}")
        if value < 1:
            raise ValueRangeError(f"{name}: {what} is at least 1, not {value}")
    true_classes = as_operand(true_classes)
    if dtype_of(true_classes).kind not in "iu":
        raise DTypeError(f"{name}: true_classes are integers, not {dtype_of(true_classes).name}")
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ShapeError(f"{name}: true_classes are [N, {num_true}]", note=f"{list(true_classes.shape)}")
    if unique and num_sampled > range_max:
        raise ValueRangeError(f"{name}: {num_sampled} different classes are not to be found among {range_max}")
    whole = math.log(range_max + 1)
    classes = cast_to(arange(range_max), dt.float64)
    if unique:                                   # the greatest keys log(u) / chance are a draw without putting back
        chances = (log(classes + 2) - log(classes + 1)) / whole
        keys = log(uniform((range_max,), 0.0, 1.0, seed or None, dt.float64)) / chances
        drawn = topk(keys, num_sampled)[1]
    else:
        share = uniform((num_sampled,), 0.0, 1.0, seed or None, dt.float64)
        drawn = minimum(cast_to(floor(exp(share * whole)), dt.int64) - 1, range_max - 1)

    def expected(numbers):
        numbers = cast_to(numbers, dt.float64)
        chance = (log(numbers + 2) - log(numbers + 1)) / whole
        return cast_to(1 - exp(num_sampled * log(1 - chance)) if unique else num_sampled * chance, dt.float32)
    return cast_to(drawn, dt.int64), expected(true_classes), expected(drawn)

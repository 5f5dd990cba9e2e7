"""Random numbers of other distributions, and functions that draw them: each from uniform and normal ones of random.py.

    gamma     the first of sixteen proposals that is accepted, each of one block of Philox (Marsaglia and Tsang 2000; less than
              1 in 20 is rejected); it is an operator of its own, in NumPy
    poisson   the first count whose probability of no more exceeds a uniform number, by bisection

Gamma numbers have a gradient by alpha, that of their quantiles (Figurnov et al. 2018). Nothing else here has one by what
is drawn, but for gumbel_softmax and rrelu, which pass it to their input.
"""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

import numpy as np

from ..common import dtype as dt
from ..common.dtype import DTypeLike
from ..common.errors import DTypeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive, vmap_rule
from .activation import softmax
from .arithmetic import abs, floor, maximum, sign
from .axes import as_number, axes_of, broadcast_shapes, new_shape
from .basic import broadcast_to, cast, move_batch_axis, reshape, sum_to
from .creation import full, one_hot
from .define import as_operand, cast_to, dtype_of, to_float
from .elementary import exp, log, log1p, sqrt, tan
from .gamma_functions import gamma_quantile_slope, igammac
from .logic import greater, less, where
from .random import check_deviation, draw_numbers, gumbel, multinomial, philox, rand, shuffle, standard_normal
from .reduction import argmax
from .sbp import sbp_rule
from .sort import nonzero
from .state import stop_gradient
from .structure import concat

_PROPOSALS = 16


def _shape(name, shape, *parameters):
    return broadcast_shapes(name, new_shape(name, shape), *(tuple(getattr(p, "shape", ())) for p in parameters))


def _check_positive(name, **parameters):
    for parameter, value in parameters.items():
        if isinstance(value, (int, float)) and not value > 0:
            raise ValueRangeError(f"{name}: {parameter} is positive, not {value}")


def _like(name, x, made):
    if dtype_of(x).kind != "f":
        raise DTypeError(f"{name}: does not make {dtype_of(x).name}", hint="x is float")
    return cast_to(made, dtype_of(x))


def _open(shape, seed, dtype=dt.float32):
    """Uniform numbers in (0, 1): without the ends."""
    return maximum(rand(shape, dtype=dtype, seed=seed), 5.9604645e-08 / 2)


def standard_laplace(shape: Sequence[int], seed: int | None = None) -> Tensor:
    """Numbers of the density exp(-abs(x)) / 2, as float32.

    shape  : tuple of ints
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises : ShapeError for a negative size, ArgumentError for another seed
    """
    u = rand(new_shape("standard_laplace", shape), seed=seed) - 0.5
    return stop_gradient(-sign(u) * log1p(-_below_one(2 * abs(u))))


def _below_one(x):
    """x, at most the largest float32 below 1."""
    return where(less(x, 1), x, 1 - 2.0 ** -24)


def laplace(shape: Sequence[int], mean: TensorLike, lambda_param: TensorLike, seed: int | None = None) -> Tensor:
    """Numbers of Laplace's distribution, of the density exp(-|x - mean| / lambda_param) / (2 lambda_param).

    shape  : int or ints
    mean, lambda_param : numbers, or Tensors, with whose shapes `shape` is broadcast; lambda_param is above 0
    seed   : int for the same numbers each time, a Generator, or None for the global stream
    out    : float32 of the broadcast shape
    raises : ValueRangeError for a lambda_param that is a number and not positive, ShapeError where the shapes do not broadcast
    """
    _check_positive("laplace", lambda_param=lambda_param)
    return standard_laplace(_shape("laplace", shape, mean, lambda_param), seed) * lambda_param + mean


@primitive(traits={"random", "library"})
def gamma_numbers(state, alpha, *, shape):
    """Numbers of the gamma distribution with beta 1, NaN where alpha is not positive.

    state    : int64[.., 2]          alpha : float[.., *shape]          out : like alpha; the leading axes are broadcast
    gradient : by alpha, that of the quantiles: Figurnov, Mohamed, Mnih 2018, "Implicit reparameterization gradients"
    """


@infer_rule(gamma_numbers)
def gamma_numbers_infer(state, alpha, *, shape):
    if alpha.dtype.kind != "f":
        raise DTypeError(f"gamma: does not make {alpha.dtype.name}")
    lead = alpha.shape[:alpha.ndim - len(shape)]
    return AbstractTensor(alpha.dtype, (*broadcast_shapes("gamma", state.shape[:-1], lead), *shape))


@eval_rule(gamma_numbers)
def gamma_numbers_eval(state, alpha, *, shape):
    lead, count = np.broadcast_shapes(state.shape[:-1], alpha.shape[:alpha.ndim - len(shape)]), math.prod(shape)
    wide = np.broadcast_to(alpha, (*lead, *shape)).astype(np.float64).ravel()
    seed, offset = np.broadcast_to(state, (*lead, 2)).reshape(-1, 2).astype(np.uint64).T
    a = np.where(wide < 1, wide + 1, wide)
    d = a - 1 / 3
    out, waiting = np.where(wide > 0, d, np.nan), np.flatnonzero(wide > 0)      # d where all are rejected: once in 10^20
    for k in range(_PROPOSALS):
        item, position = np.divmod(waiting, max(count, 1))
        words = philox(offset[item] + (position * _PROPOSALS + k).astype(np.uint64), seed[item])
        radius, angle, limit, power = ((word + 0.5) * 2.0 ** -32 for word in words)
        x = np.sqrt(-2 * np.log(radius)) * np.cos(2 * math.pi * angle)
        each = d[waiting]
        v = (1 + x / np.sqrt(9 * each)) ** 3
        good = (v > 0) & (np.log(limit) < 0.5 * x * x + each * (1 - v + np.log(np.where(v > 0, v, 1))))
        chosen, few = waiting[good], np.minimum(wide[waiting[good]], 1)
        out[chosen] = each[good] * v[good] * np.where(few < 1, power[good] ** (1 / few), 1)
        waiting = waiting[~good]
    return out.astype(alpha.dtype).reshape(*lead, *shape)


@bprop_rule(gamma_numbers)
def gamma_numbers_bprop(state, alpha, out, dout, *, shape):
    return None, sum_to(dout * gamma_quantile_slope(alpha, out), alpha.shape)


@jvp_rule(gamma_numbers)
def gamma_numbers_jvp(primals, tangents, out, *, shape):
    return None if tangents[1] is None else tangents[1] * gamma_quantile_slope(primals[1], out)


@vmap_rule(gamma_numbers)
def gamma_numbers_vmap(args, dims, size, *, shape):
    own = (1, len(shape))
    rank = max(x.ndim - (d is not None) - axes for x, d, axes in zip(args, dims, own))
    ready = []
    for x, d, axes in zip(args, dims, own):
        if d is not None:
            x = move_batch_axis(x, d)
            x = reshape(x, shape=(size,) + (1,) * (rank + 1 + axes - x.ndim) + tuple(x.shape[1:]))
        ready.append(x)
    return gamma_numbers(*ready, shape=shape), 0


sbp_rule(gamma_numbers, lambda state, alpha, *, shape:
         "_" * state.ndim + "," + "_" * alpha.ndim + "->" + "_" * max(state.ndim - 1 + len(shape), alpha.ndim))


def _standard_gamma(shape, alpha, seed):
    return draw_numbers(gamma_numbers, shape, 4 * _PROPOSALS, seed, broadcast_to(alpha, shape=shape))


def gamma(shape: Sequence[int], alpha: TensorLike, beta: TensorLike, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution, of the density beta ** alpha x ** (alpha - 1) exp(-beta x) / Gamma(alpha).

    shape  : int or ints
    alpha, beta : numbers above 0, or Tensors, with whose shapes `shape` is broadcast
    seed   : int for the same numbers each time, a Generator, or None for the global stream
    out    : float32 of the broadcast shape; NaN where an alpha in a Tensor is not positive
    raises : ValueRangeError for a number that is not positive, ShapeError where the shapes do not broadcast
    gradient: by alpha, that of the quantiles
    source : Marsaglia and Tsang 2000; gradient: Figurnov, Mohamed, Mnih 2018
    """
    _check_positive("gamma", alpha=alpha, beta=beta)
    alpha, beta = (cast_to(as_operand(p, dt.float64), dt.float64) for p in (alpha, beta))
    made = _standard_gamma(_shape("gamma", shape, alpha, beta), alpha, seed) / beta
    return cast(made, dtype=dt.float32)


def random_gamma(shape: Sequence[int], alpha: Any, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution with the scale 1: for each alpha as many as `shape` has elements.

    shape  : tuple of ints;     alpha : Tensor of floats above 0
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    out    : [*shape, *alpha's shape]
    """
    alpha = as_operand(alpha, dt.float32)
    whole = new_shape("random_gamma", shape) + tuple(alpha.shape)
    return cast_to(_standard_gamma(whole, cast_to(alpha, dt.float64), seed), dtype_of(alpha))


def _counts(shape, rate, seed):
    u = rand(shape, dtype=dt.float64, seed=seed)
    rate = broadcast_to(rate, shape=shape)
    low, high = full(shape, -1.0, dtype=dt.float64), floor(rate + 12 * sqrt(rate) + 40)
    for _ in range(40):
        middle = floor((low + high) / 2)
        enough = greater(igammac(middle + 1, rate), u)       # the chance of at most `middle`
        low, high = where(enough, low, middle), where(enough, middle, high)
    return stop_gradient(high)


def _rate(name, rate):
    rate = as_operand(rate, dt.float64)
    if dtype_of(rate).kind == "c":
        raise DTypeError(f"{name}: a rate is a real number, not {dtype_of(rate).name}")
    return cast_to(rate, dt.float64)


def poisson(shape: Sequence[int], mean: TensorLike, seed: int | None = None) -> Tensor:
    """Counts of Poisson's distribution, as float32.

    shape  : tuple of ints;     mean : Tensor or number >= 0, which is broadcast with shape; NaN for a negative one
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises : DTypeError for complex numbers, ShapeError for shapes that do not broadcast
    """
    mean = _rate("poisson", mean)
    return cast(_counts(_shape("poisson", shape, mean), mean, seed), dtype=dt.float32)


def random_poisson(shape: Sequence[int], rate: Any, seed: int | None = None, dtype: DTypeLike | None = dt.float32) -> Tensor:
    """Counts of Poisson's distribution: for each rate as many as `shape` has elements.

    shape  : tuple of ints;     rate : Tensor or number >= 0; NaN for a negative one
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    dtype  : of the counts, float32 by default
    out    : [*shape, *rate's shape]
    raises : DTypeError for complex numbers
    """
    rate = _rate("random_poisson", rate)
    whole = new_shape("random_poisson", shape) + tuple(rate.shape)
    return cast(_counts(whole, rate, seed), dtype=dt.dtype(dtype))


def cauchy(x: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """A Tensor like x of numbers with the density sigma / (pi ((n - median)^2 + sigma^2))."""
    x = as_operand(x)
    _check_positive("cauchy", sigma=sigma)
    made = tan(math.pi * (_open(tuple(x.shape), None) - 0.5)) * sigma + median
    return stop_gradient(_like("cauchy", x, made))


def log_normal(x: Tensor, mean: Any = 1.0, std: float = 2.0) -> Tensor:
    """Numbers exp(n), n normal: the logarithm has the mean `mean` and the deviation `std`.

    x      : float Tensor, of which shape and dtype are taken
    mean, std : float
    out    : Tensor like x
    raises : DTypeError where x is no float, ValueRangeError for a negative std
    """
    x = as_operand(x)
    check_deviation("log_normal", "std", std)
    return _like("log_normal", x, exp(standard_normal(tuple(x.shape)) * std + mean))


def exponential(x: Tensor, lambd: float = 1.0) -> Tensor:
    """A Tensor like x of numbers with the density lambd exp(-lambd n)."""
    x = as_operand(x)
    _check_positive("exponential", lambd=lambd)
    return stop_gradient(_like("exponential", x, -log(_open(tuple(x.shape), None)) / lambd))


# ---------------------------------------------------------------- choices

def random_categorical(logits: TensorLike, num_sample: int, seed: int = 0, dtype: DTypeLike | None = dt.int64) -> Tensor:
    """Classes drawn with the probabilities softmax(logits), row by row.

    logits     : float[N, C], or [C];     num_sample : int >= 0
    seed       : 0 draws from the global stream, a Generator from its own; another int: the same classes each time
    dtype      : of the classes, int64 by default
    out        : int[N, num_sample]
    raises     : ValueRangeError for a negative num_sample, DTypeError for complex logits
    """
    return cast(multinomial(softmax(as_operand(logits), -1), num_sample, True, seed or None), dtype=dt.dtype(dtype))


def multinomial_with_replacement(x: TensorLike, seed: int, offset: int, numsamples: int, replacement: bool = False) -> Tensor:
    """int64[.., numsamples] : positions along the last axis of x drawn with a chance in proportion to its numbers.

    seed, offset : -1 and 0 draw from the global stream      replacement : positions may come again
    """
    return multinomial(x, numsamples, replacement, None if seed == -1 and offset == 0 else seed + offset)


def choice_with_mask(input_x: TensorLike, count: int = 256, seed: int | None = None) -> Any:
    """The positions of `count` elements that are not zero, drawn without repetition, in random order.

    input_x : Tensor of at least one axis; bool, or numbers of which 0 is False
    count  : int, 0 or more
    seed   : int for the same numbers each time, a Generator, or None for the global stream
    out    : (int32 [count, axes], bool [count]): the positions, and which of them are any; behind the last True stand zeros and
             False
    raises : ShapeError for a negative count
    """
    found = shuffle(cast(nonzero(as_operand(input_x)), dtype=dt.int32), seed)
    there = found.shape[0]
    filled = concat((found, full((count, found.shape[1]), 0, dtype=dt.int32)), 0)[:count]
    from_mask = concat((full((there,), True), full((count,), False)), 0)[:count]
    return filled, from_mask


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """softmax((logits + g) / tau) along an axis, g numbers of Gumbel's distribution: a sample that has a gradient.

    logits : float Tensor
    tau    : float above 0, the temperature
    hard   : bool; True gives the one-hot of the largest, with the gradient of the soft sample
    dim    : int, the axis
    out    : Tensor like logits; along the axis it adds up to 1
    raises : ValueRangeError for a tau that is not positive or an axis outside, DTypeError for what is no float
    source : Jang, Gu, Poole 2017; Maddison, Mnih, Teh 2017
    """
    if not as_number("gumbel_softmax", "tau", tau) > 0:
        raise ValueRangeError(f"gumbel_softmax: tau is positive, not {tau}")
    logits = as_operand(logits)
    axes_of("gumbel_softmax", logits, 1)
    soft = softmax((logits + gumbel(tuple(logits.shape), dtype=dtype_of(logits))) / tau, dim)
    if not hard:
        return soft
    chosen = cast_to(one_hot(argmax(soft, dim), soft.shape[dim], axis=dim), dtype_of(soft))
    return stop_gradient(chosen - soft) + soft


def rrelu(input: TensorLike, lower: float = 1 / 8, upper: float = 1 / 3) -> Tensor:
    """input where it is not negative, else times a slope drawn from [lower, upper).

    input        : float[...]; integers and bools count as float32
    lower, upper : floats
    raises       : ValueRangeError where lower is above upper, DTypeError for complex numbers
    source       : Xu et al. 2015, "Empirical Evaluation of Rectified Activations in Convolutional Network"
    """
    if as_number("rrelu", "lower", lower) > as_number("rrelu", "upper", upper):
        raise ValueRangeError("rrelu: lower is at most upper", note=f"{lower}, {upper}")
    (x,), _ = to_float((input,), {})
    slope = cast_to(rand(tuple(x.shape)) * (upper - lower) + lower, dtype_of(x))
    return where(less(x, 0), x * slope, x)

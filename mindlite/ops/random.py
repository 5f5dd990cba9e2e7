"""Random numbers that are a function of (seed, position): the same in eager and graph mode, fused or not.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): ten rounds of two
products turn a 128-bit counter under a 64-bit key into four independent 32-bit words. The key is the seed, the counter
is `offset` + element // 4. A draw reads the state, int64[2] = (seed, offset), and is elementwise in its place; after
it the state is advanced by `assign`, an effect in program order. States may stand along leading axes, int64[.., 2]: each
draws numbers of `shape`. See docs/design/random.md.
"""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

import numpy as np

from ..common import dtype as dt
from ..common.dim import compare, product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import cast as cast_scalar, where as where_scalar
from .axes import as_number, as_size, broadcast_shapes, flatten_index, new_shape
from .basic import broadcast_to, move_batch_axis, reshape
from .define import as_operand, cast_to, dtype_of
from .elementary import cos, log, sqrt
from .generator import Generator, current_state, generator_state  # noqa: F401
from .indexing import gather_axis
from .logic import where
from .nn_loss import probabilities
from .reduction import argmax
from .sort import argsort, topk
from .state import assign, stop_gradient
from .sbp import sbp_rule

MASK = 0xFFFFFFFF
ROUNDS = 10


def philox(counter, key):
    """The four words of Philox4x32-10 for counters (uint64 in the low half of 128 bits) under a key (uint64).

    Both are ndarrays of uint64 or scalar expressions; the words are uint64 below 2**32.
    """
    c0, c1, c2, c3 = counter & MASK, counter >> 32, None, None
    k0, k1 = key & MASK, key >> 32
    for _ in range(ROUNDS):
        p0 = c0 * 0xD2511F53
        if c2 is None:                                     # the upper half of the counter is zero
            c0, c1, c2, c3 = c1 ^ k0, c1 & 0, (p0 >> 32) ^ k1, p0 & MASK
        else:
            p1 = c2 * 0xCD9E8D57
            c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def _words(state, count):
    """The first `count` 32-bit words after each state's offset, as uint64[.., count]."""
    seed, offset = np.moveaxis(state.astype(np.uint64), -1, 0)[..., None]
    blocks = offset + np.arange(-(-count // 4), dtype=np.uint64)
    return np.stack(philox(blocks, seed), -1).reshape(*state.shape[:-1], -1)[..., :count]


def _scalar_words(state, lead, first, count):
    """Scalar expressions of `count` (1 or 2) words of the state at the indices `lead`, which start at word number `first`,
    a multiple of count."""
    seed, offset = cast_scalar(state[(*lead, 0)], dt.uint64), cast_scalar(state[(*lead, 1)], dt.uint64)
    words = philox(offset + cast_scalar(first // 4, dt.uint64), seed)
    lane = first % 4
    if count == 2:
        return tuple(where_scalar(lane == 0, words[k], words[k + 2]) for k in range(2))
    return (where_scalar(lane == 0, words[0],
                         where_scalar(lane == 1, words[1], where_scalar(lane == 2, words[2], words[3]))),)


def _check_state(name, state):
    if state.dtype is not dt.int64 or len(state.shape) < 1 or state.shape[-1] != 2:
        raise ShapeError(f"{name}: the state is i64[2], (seed, offset)", note=f"state: {state}")


# ---------------------------------------------------------------- primitives

@primitive(traits={"random"})
def random_uniform(state, *, shape, dtype):
    """Numbers evenly spread in [0, 1), with as many random bits as `dtype` (a float type) has digits."""


@primitive(traits={"random"})
def random_integers(state, *, shape, low, high, dtype):
    """Integers in [low, high), each with the chance floor or ceil(2**32 / (high - low)) / 2**32 (Lemire 2019, no
    rejection)."""


@primitive(traits={"random"})
def random_advance(state, *, blocks):
    """The state after `blocks` (int or Dim) blocks of four words."""


@infer_rule(random_uniform)
def random_uniform_infer(state, *, shape, dtype):
    _check_state("random_uniform", state)
    if dtype.kind != "f":
        raise DTypeError(f"random_uniform: does not make {dtype.name}")
    return AbstractTensor(dtype, (*state.shape[:-1], *shape))


@infer_rule(random_integers)
def random_integers_infer(state, *, shape, low, high, dtype):
    _check_state("random_integers", state)
    if not low < high <= low + 2 ** 32:
        raise ValueRangeError(f"randint: [{low}, {high}) is empty or wider than 2**32")
    return AbstractTensor(dtype, (*state.shape[:-1], *shape))


@infer_rule(random_advance)
def random_advance_infer(state, *, blocks):
    _check_state("random_advance", state)
    return state


def _digits(dtype):
    """How many bits of a word a float of `dtype` takes exactly."""
    return dtype.limits.nmant + 1


def words_per_element(dtype):
    """2 for float64, else 1."""
    return 2 if dtype is dt.float64 else 1


@eval_rule(random_uniform)
def random_uniform_eval(state, *, shape, dtype):
    count = product(shape)
    words = _words(state, count * words_per_element(dtype))
    if dtype is dt.float64:
        out = ((words[..., 0::2] >> 5) * 2 ** 26 + (words[..., 1::2] >> 6)).astype(np.float64) * 2.0 ** -53
    else:
        digits = _digits(dtype)
        out = ((words >> (32 - digits)).astype(np.float32) * np.float32(2.0 ** -digits)).astype(dtype.numpy)
    return out.reshape((*state.shape[:-1], *shape))


@eval_rule(random_integers)
def random_integers_eval(state, *, shape, low, high, dtype):
    words = _words(state, product(shape))
    return (((words * (high - low)) >> 32).astype(np.int64) + low).astype(dtype.numpy).reshape((*state.shape[:-1], *shape))


@eval_rule(random_advance)
def random_advance_eval(state, *, blocks):
    return state + np.array([0, blocks], np.int64)


def _position(index, shape):
    """(the indices of the state, the number of the element that is drawn from it)."""
    lead = index[:len(index) - len(shape)]
    return lead, flatten_index(index[len(lead):], shape)


@kernel_rule(random_uniform)
def random_uniform_kernel(state, out, *, shape, dtype):
    def element(*index):
        lead, flat = _position(index, shape)
        if dtype is dt.float64:
            high, low = _scalar_words(state, lead, flat * 2, 2)
            return cast_scalar((high >> 5) * 2 ** 26 + (low >> 6), dtype) * 2.0 ** -53
        digits = _digits(dtype)
        word, = _scalar_words(state, lead, flat, 1)
        return cast_scalar(cast_scalar(word >> (32 - digits), dt.float32) * 2.0 ** -digits, dtype)
    return element


@kernel_rule(random_integers)
def random_integers_kernel(state, out, *, shape, low, high, dtype):
    def element(*index):
        lead, flat = _position(index, shape)
        word, = _scalar_words(state, lead, flat, 1)
        return cast_scalar(cast_scalar((word * (high - low)) >> 32, dt.int64) + low, dtype)
    return element


@kernel_rule(random_advance)
def random_advance_kernel(state, out, *, blocks):
    return lambda *i: state[i] + i[-1] * blocks             # i[-1] is 0 for the seed, 1 for the offset


def _no_derivative(prim):
    @bprop_rule(prim)
    def bprop(state, out, dout, **attrs):
        return None

    @jvp_rule(prim)
    def jvp(primals, tangents, out, **attrs):
        return None

    @vmap_rule(prim)
    def vmap(args, dims, size, **attrs):
        if dims[0] is None:
            return prim(*args, **attrs), None
        return prim(move_batch_axis(args[0], dims[0]), **attrs), 0


for _prim in (random_uniform, random_integers, random_advance):
    _no_derivative(_prim)


def _whole_spec(state, *, shape, **attrs):
    return "_" * state.ndim + "->" + "_" * (state.ndim - 1 + len(shape))


sbp_rule(random_uniform, _whole_spec)
sbp_rule(random_integers, _whole_spec)
sbp_rule(random_advance, lambda state, *, blocks: "_" * state.ndim + "->" + "_" * state.ndim)


# ---------------------------------------------------------------- the state

def drawn_inside():
    """The error for random numbers in a function that is mapped with randomness="error"."""
    return ArgumentError("vmap: random numbers are drawn in the mapped function", hint="randomness='same' or 'different'")


def draw_numbers(prim, shape, words, seed, *operands, **attrs):
    """prim's numbers from the global state, or from a Generator's, which is then advanced; with a seed of one's own,
    always the same numbers. words : of 32 bits, for each number; operands : of prim, after the state"""
    if seed is not None and not isinstance(seed, Generator):
        return prim(np.array([as_size(prim.name, seed, least=None), 0], np.int64), *operands, shape=shape, **attrs)
    state = current_state() if seed is None else seed.state
    out = prim(state, *operands, shape=shape, **attrs)
    assign(state, random_advance(state, blocks=(product(shape) * words + 3) // 4))
    return out


def _uniform(shape, dtype, seed):
    return draw_numbers(random_uniform, shape, words_per_element(dtype), seed, dtype=dtype)


def _parts(name, shape, *values):
    """The drawn shape: `shape` and those of the parameters, broadcast together, as MindSpore has it."""
    return broadcast_shapes(name, new_shape(name, shape), *(tuple(getattr(v, "shape", ())) for v in values))


# ---------------------------------------------------------------- public names

def uniform(shape: Sequence[int], minval: Any, maxval: Any, seed: int | None = None, dtype: DTypeLike = dt.float32) -> Tensor:
    """Numbers evenly spread in [minval, maxval), or integers if dtype is an integer type.

    minval, maxval : numbers, or tensors, with whose shape `shape` is broadcast
    seed           : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    """
    kind = dt.dtype(dtype)
    full = _parts("uniform", shape, minval, maxval)
    if kind.kind in "iu":
        return randint(int(minval), int(maxval), full, seed, dtype=kind)
    low, high = (cast_to(as_operand(v, kind), kind) for v in (minval, maxval))
    return low + _uniform(full, kind, seed) * (high - low)


def standard_normal(shape: Sequence[int], seed: int | None = None, *, dtype: DTypeLike | None = dt.float32) -> Tensor:
    """Normal numbers of mean 0 and variance 1.

    shape  : tuple of ints
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    dtype  : a float dtype, float32 by default
    raises : DTypeError for another dtype, ShapeError for a negative size, ArgumentError for another seed
    source : Box and Muller 1958, from two uniform numbers
    """
    made_of, shape = dt.dtype(dtype or dt.float32), new_shape("standard_normal", shape)
    if made_of.kind != "f":
        raise DTypeError(f"standard_normal: makes floats, not {made_of.name}", hint="ops.randint draws integers")
    wide = dt.float64 if made_of is dt.float64 else dt.float32
    other = seed if seed is None or isinstance(seed, Generator) else as_size("standard_normal: seed", seed, None) + 0x5DEECE66D
    radius, angle = _uniform(shape, wide, seed), _uniform(shape, wide, other)
    made = sqrt(log(1 - radius) * -2) * cos(angle * (2 * math.pi))
    return stop_gradient(cast_to(made, made_of))


def normal(shape: Sequence[int], mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Normal numbers float32: mean + stddev * standard_normal.

    shape        : tuple of ints
    mean, stddev : numbers or Tensors, with whose shape `shape` is broadcast; those of float64 make float64
    seed         : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises       : ShapeError for a negative size or shapes that do not broadcast, ArgumentError for another seed,
                   ValueRangeError for a stddev that is a negative number
    """
    check_deviation("normal", "stddev", stddev)
    return standard_normal(_parts("normal", shape, mean, stddev), seed) * stddev + mean


def check_deviation(operator: str, name: str, value: Any) -> None:
    """Nothing. raises : ValueRangeError for a negative number; the elements of a Tensor are not looked at"""
    if isinstance(value, (int, float)) and value < 0:
        raise ValueRangeError(f"{operator}: {name} is at least 0, not {value}")


def _holds(dtype, low, high):
    """True where a dtype of integers or bools holds the numbers low and high."""
    return 0 <= low <= high <= 1 if dtype.kind == "b" else dtype.limits.min <= low <= high <= dtype.limits.max


def randint(low: int, high: int, size: Sequence[int] | None = None, seed: int | None = None, *,
            dtype: DTypeLike | None = dt.int64) -> Tensor:
    """Integers in [low, high), all alike probable.

    low, high : ints;     size : tuple of ints
    seed      : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    dtype     : of them, int64 by default; it holds the range
    raises    : ValueRangeError if the range is empty, wider than 2**32 or more than dtype holds, ArgumentError for what is no
                int or no size, ShapeError for a negative size
    """
    if size is None:
        raise ArgumentError("randint: a size is wanted", hint="ops.randint(low, high, (2, 3))")
    low, high = as_size("randint", low, least=None), as_size("randint", high, least=None)
    wanted = dt.dtype(dtype or dt.int64)
    known = isinstance(low, int) and isinstance(high, int) and low < high
    if wanted.kind in "bui" and known and not _holds(wanted, low, high - 1):
        raise ValueRangeError(f"randint: {wanted.name} does not hold the range [{low}, {high})")
    return draw_numbers(random_integers, new_shape("randint", size), 1, seed, low=low, high=high, dtype=wanted)


def rand(*size: Any, dtype: DTypeLike | None = dt.float32, seed: int | None = None) -> Tensor:
    """Numbers evenly spread in [0, 1).

    size   : ints, or one tuple of them
    dtype  : a float dtype, float32 by default
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises : DTypeError for a dtype of integers, ShapeError for a negative size, ArgumentError for another seed
    source : Salmon et al. 2011, Philox4x32-10
    """
    return _uniform(new_shape("rand", size[0] if len(size) == 1 else size), dt.dtype(dtype or dt.float32), seed)


def randn(*size: Any, dtype: DTypeLike | None = dt.float32, seed: int | None = None) -> Tensor:
    """Normal numbers of mean 0 and variance 1, as standard_normal draws them.

    size   : ints, or one tuple of them
    dtype  : a float dtype, float32 by default
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises : DTypeError for another dtype, ShapeError for a negative size, ArgumentError for another seed
    """
    return standard_normal(new_shape("randn", size[0] if len(size) == 1 else size), seed, dtype=dtype)


def rand_like(input: Tensor, seed: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """`rand` of input's shape.

    input  : Tensor;     dtype : a float dtype, None for that of input
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises : DTypeError for a dtype of integers
    """
    input = as_operand(input)
    return rand(tuple(input.shape), dtype=dtype or dtype_of(input), seed=seed)


def randn_like(input: Tensor, seed: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """`randn` of input's shape.

    input  : Tensor;     dtype : a float dtype, None for that of input
    seed   : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    raises : DTypeError for a dtype of integers
    """
    input = as_operand(input)
    return randn(tuple(input.shape), dtype=dtype or dtype_of(input), seed=seed)


def bernoulli(input: Tensor, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability p, else 0.

    input  : Tensor, of which shape and dtype are taken
    p      : number in [0, 1], or a Tensor that broadcasts to input's shape
    seed   : int for the same numbers each time, a Generator, or None for the global stream
    out    : Tensor like input
    raises : ValueRangeError for a number outside [0, 1], ShapeError where p does not broadcast
    """
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise ValueRangeError(f"bernoulli: p is in [0, 1], not {p}")
    input, known = as_operand(input), isinstance(p, (int, float))
    p = cast_to(as_operand(p, dt.float32), dt.float32)
    p = p if known else probabilities(p, what="bernoulli: p")
    drawn = _uniform(tuple(input.shape), dt.float32, seed)
    return cast_to(drawn < (p if p.ndim == 0 else broadcast_to(p, shape=tuple(input.shape))), dtype_of(input))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """input with each element zero with probability p, the others divided by 1 - p.

    input  : Tensor of any shape; integers become float32
    p      : float in [0, 1]
    training : bool; False gives input itself
    seed   : int for the same numbers each time, a Generator, or None for the global stream
    out    : Tensor of input's shape
    raises : ValueRangeError for p outside [0, 1]
    source : Srivastava et al. 2014
    """
    input = as_operand(input)
    if not 0 <= as_number("dropout", "p", p) <= 1:
        raise ValueRangeError(f"dropout: p is in [0, 1], not {p}")
    if not training or p == 0:
        return input
    keep = _uniform(tuple(input.shape), dt.float32, seed) >= p
    return where(keep, input * (1 / (1 - p) if p < 1 else 0.0), 0)


def drop_channels(name, x, p, training, axes, seed=None):
    """x[.., *channels, *axes] with whole channels zero with probability p, the others divided by 1 - p."""
    x = as_operand(x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: a tensor of {axes + 1} or {axes + 2} axes is wanted", note=f"input: {list(x.shape)}")
    one = broadcast_to(np.ones((), dtype_of(x).numpy), shape=(*x.shape[:-axes], *(1,) * axes))
    return x if not training else x * dropout(one, p, seed=seed)


def dropout1d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels zero with probability p, the others divided by 1 - p.

    input  : Tensor [N, C, L] or [C, L]
    p      : float in [0, 1]
    training : bool; False gives input itself
    out    : Tensor like input
    raises : ShapeError for other ranks, ValueRangeError for p outside [0, 1]
    source : Tompson et al. 2015, "Efficient object localization using convolutional networks"
    """
    return drop_channels("dropout1d", input, p, training, 1)


def dropout2d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels zero with probability p, the others divided by 1 - p.

    input  : Tensor [N, C, H, W] or [C, H, W]
    p      : float in [0, 1]
    training : bool; False gives input itself
    out    : Tensor like input
    raises : ShapeError for other ranks, ValueRangeError for p outside [0, 1]
    source : Tompson et al. 2015, "Efficient object localization using convolutional networks"
    """
    return drop_channels("dropout2d", input, p, training, 2)


def dropout3d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels zero with probability p, the others divided by 1 - p.

    input  : Tensor [N, C, D, H, W] or [C, D, H, W]
    p      : float in [0, 1]
    training : bool; False gives input itself
    out    : Tensor like input
    raises : ShapeError for other ranks, ValueRangeError for p outside [0, 1]
    source : Tompson et al. 2015, "Efficient object localization using convolutional networks"
    """
    return drop_channels("dropout3d", input, p, training, 3)


# ---------------------------------------------------------------- orders and choices

def randperm(n: int, seed: int | None = None, offset: int = 0, *, dtype: DTypeLike | None = dt.int64) -> Tensor:
    """The numbers 0 .. n - 1 in random order: the order that sorts n uniform ones of 53 bits.

    n            : int >= 0
    seed, offset : None, or 0 and 0, draw from the global stream, a Generator from its own; other ints give the same order each
                   time
    dtype        : of them, int64 by default; it holds n - 1
    raises       : ValueRangeError for a negative n or one that dtype does not hold, ArgumentError for what is no int
    """
    n, wanted = as_size("randperm", n), dt.dtype(dtype)
    if compare("<", n, 0):
        raise ValueRangeError(f"randperm: n is not negative, not {n}")
    if wanted.kind in "bui" and isinstance(n, int) and n and not _holds(wanted, 0, n - 1):
        raise ValueRangeError(f"randperm: {wanted.name} does not hold the numbers up to {n - 1}")
    seed = seed if isinstance(seed, Generator) else (seed or 0) + offset or None
    return cast_to(argsort(_uniform((n,), dt.float64, seed)), wanted)


def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The slices of x along axis 0 in random order.

    x      : Tensor of one axis or more
    seed   : None draws from the global stream, a Generator from its own; an int: the same order each time
    raises : ShapeError for a tensor []
    """
    x = as_operand(x)
    if x.ndim == 0:
        raise ShapeError("shuffle: a tensor without axes has no order")
    return gather_axis(x, randperm(x.shape[0], seed), axis=0)


def gumbel(shape: Sequence[int], seed: int | None = None, *, dtype: DTypeLike = dt.float32) -> Tensor:
    """Numbers of Gumbel's distribution: -log(-log(u)), u even in (0, 1).

    shape  : int or ints
    seed   : int for the same numbers each time, a Generator, or None for the global stream
    dtype  : a float dtype, float32 by default
    out    : Tensor of the shape; argmax(log(p) + gumbel) is i with probability p[i]
    raises : DTypeError for a dtype that is no float
    source : Gumbel 1954
    """
    kind = dt.dtype(dtype)
    u = _uniform(new_shape("gumbel", shape), kind, seed)
    return stop_gradient(-log(-log(u + (1 - u) * float(np.finfo(kind.numpy).tiny))))


def multinomial(input: TensorLike, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """`num_samples` positions along the last axis of `input`, each drawn with a chance in proportion to its number.

    input       : float[.., C], finite and not negative; integers count as float32. Of zeros alone any position is drawn
    num_samples : int >= 0
    replacement : bool; False: a position is drawn at most once, by the largest of log(input) + gumbel (Vieira 2014)
    seed        : None draws from the global stream, a Generator from its own; an int: the same numbers each time
    out         : int64[.., num_samples]
    raises      : ShapeError for a tensor [], DTypeError for complex numbers, ValueRangeError for another num_samples and for what
                  is no weight, ArgumentError
    source      : the Gumbel-max method, Gumbel 1954
    """
    weights, num_samples = as_operand(input), as_size("multinomial", num_samples)
    if not weights.ndim or dtype_of(weights).kind == "c":
        error = DTypeError if weights.ndim else ShapeError
        raise error("multinomial: takes real numbers along a last axis", note=f"input: {list(weights.shape)}")
    if compare("<", num_samples, 0):
        raise ValueRangeError(f"multinomial: num_samples is not negative, not {num_samples}")
    weights = cast_to(weights, dt.float32) if dtype_of(weights).is_small or dtype_of(weights).kind != "f" else weights
    logs = log(probabilities(weights, what="multinomial: input", weights=True, hint="softmax makes weights of logits"))
    shape = tuple(logs.shape)
    if replacement:
        noise = gumbel(shape[:-1] + (num_samples, shape[-1]), seed, dtype=dtype_of(logs))
        return argmax(reshape(logs, shape=shape[:-1] + (1, shape[-1])) + noise, -1)
    return topk(logs + gumbel(shape, seed, dtype=dtype_of(logs)), num_samples)[1]

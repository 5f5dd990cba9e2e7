"""Divisors, multiples and bits of integers."""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.tensor import Tensor, TensorLike
from .arithmetic import abs, floor_divide, mul
from .basic import cast
from .define import as_operand, dtype_of
from .logic import bitwise_and, bitwise_right_shift, equal, where
from .structure import broadcast_tensors


def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor, not negative; Euclid's algorithm: no two numbers of 64 bits need more than 92 steps
    (Knuth 1997, 4.5.3)."""
    a, b = broadcast_tensors(abs(input), abs(other))
    for _ in range({1: 13, 2: 24, 4: 46}.get(dtype_of(b).itemsize, 92)):
        done = equal(b, 0)
        a, b = where(done, a, b), where(done, b, a % where(done, 1, b))
    return a


def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple, not negative; 0 where one of them is."""
    common = gcd(input, other)
    nothing = equal(common, 0)
    return where(nothing, 0, floor_divide(abs(mul(input, other)), where(nothing, 1, common)))


def population_count(input_x: TensorLike) -> Tensor:
    """The number of ones among the bits of each integer, uint8."""
    x = as_operand(input_x)
    total: Any = 0
    for bit in range(8 * dtype_of(x).itemsize):
        total = total + bitwise_and(bitwise_right_shift(x, bit), 1)
    return cast(total, dtype=dt.uint8)

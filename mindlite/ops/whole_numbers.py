"""Divisors, multiples and bits of integers."""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.errors import DTypeError
from ..common.tensor import Tensor, TensorLike
from .arithmetic import abs, floor_divide, mul
from .basic import cast
from .define import as_operand, dtype_of, promote_operands
from .logic import bitwise_and, bitwise_right_shift, equal, where
from .structure import broadcast_tensors


def _integers(name, *operands):
    operands, _ = promote_operands(operands, {})
    dtype = dtype_of(operands[0])
    if dtype.kind not in "ui":
        raise DTypeError(f"{name}: takes integers", note=f"the operands: {dtype.name}")
    return operands


def gcd(input: TensorLike, other: TensorLike) -> Tensor:
    """The greatest common divisor, by Euclid's algorithm.

    input, other : Tensor or number of integer dtype; they broadcast and are promoted
    out    : Tensor of the broadcast shape, not negative (but for the smallest signed integer); gcd(x, 0) is |x|
    raises : DTypeError for what is not integer, ShapeError where the shapes do not broadcast
    source : Knuth 1997, The Art of Computer Programming 2, section 4.5.3: no two numbers of 64 bits need more than 92 steps
    """
    a, b = broadcast_tensors(*map(abs, _integers("gcd", input, other)))
    for _ in range({1: 13, 2: 24, 4: 46}.get(dtype_of(b).itemsize, 92)):
        done = equal(b, 0)
        a, b = where(done, a, b), where(done, b, a % where(done, 1, b))
    return a


def lcm(input: TensorLike, other: TensorLike) -> Tensor:
    """The least common multiple, |input| / gcd(input, other) * |other|.

    input, other : Tensor or number of integer dtype; they broadcast and are promoted
    out    : Tensor of the broadcast shape, not negative; 0 where one of them is 0. A multiple that the dtype does not hold wraps
    raises : DTypeError for what is not integer, ShapeError where the shapes do not broadcast
    """
    a, b = _integers("lcm", input, other)
    common = gcd(a, b)
    return mul(floor_divide(abs(a), where(equal(common, 0), 1, common)), abs(b))       # divided before it can overflow


def population_count(input_x: TensorLike) -> Tensor:
    """The number of ones among the bits of each integer; of a negative one in two's complement.

    input_x : int[...] or bool[...]
    out     : uint8[...]
    raises  : DTypeError for floats and complex numbers
    """
    x = as_operand(input_x)
    total: Any = 0
    for bit in range(8 * dtype_of(x).itemsize):
        total = total + bitwise_and(bitwise_right_shift(x, bit), 1)
    return cast(total, dtype=dt.uint8)

"""Words of MindSpore's graph language as functions: numbers, tuples, lists and dicts, as `ops` shows them.

    ops.scalar_floordiv(7, 2)  ->  3            ops.tuple_setitem((1, 2), 0, 5)  ->  (5, 2)

Plain Python, which graphs parse; nothing is changed in place. What Python's `operator` has is taken from there by the facade.
"""
import math
from collections.abc import Sequence
from typing import Any

from .. import ops
from ..common.errors import ShapeError
from ..common.tensor import Tensor
from .composite import HyperMap


def scalar_sub(x: Any, y: Any) -> Any:
    """x - y for numbers"""
    return x - y


def scalar_div(x: Any, y: Any) -> Any:
    """x / y for numbers"""
    return x / y


def scalar_floordiv(x: Any, y: Any) -> Any:
    """x // y for numbers"""
    return x // y


def scalar_mod(x: Any, y: Any) -> Any:
    """x % y for numbers"""
    return x % y


def scalar_pow(x: Any, y: Any) -> Any:
    """x ** y for numbers"""
    return x ** y


def scalar_max(x: Any, y: Any) -> Any:
    """The greater of two numbers."""
    return x if x >= y else y


def scalar_min(x: Any, y: Any) -> Any:
    """The smaller of two numbers."""
    return x if x <= y else y


def scalar_eq(x: Any, y: Any) -> Any:
    """x == y for numbers"""
    return x == y


def scalar_ge(x: Any, y: Any) -> Any:
    """x >= y for numbers"""
    return x >= y


def scalar_gt(x: Any, y: Any) -> Any:
    """x > y for numbers"""
    return x > y


def scalar_le(x: Any, y: Any) -> Any:
    """x <= y for numbers"""
    return x <= y


def scalar_lt(x: Any, y: Any) -> Any:
    """x < y for numbers"""
    return x < y


def scalar_log(x: Any) -> float:
    """The natural logarithm of a number."""
    return math.log(x)


def scalar_uadd(x: Any) -> Any:
    """+x of a number"""
    return +x


def scalar_usub(x: Any) -> Any:
    """-x of a number"""
    return -x


def bool_and(x: Any, y: Any) -> Any:
    """x and y"""
    return x and y


def bool_or(x: Any, y: Any) -> Any:
    """x or y"""
    return x or y


def in_dict(key: Any, items: dict) -> bool:
    """key in items"""
    return key in items


def not_in_dict(key: Any, items: dict) -> bool:
    """key not in items"""
    return key not in items


def make_list(*items: Any) -> list:
    """The items as a list."""
    return list(items)


def make_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict:
    """{key: value, ..}"""
    return dict(zip(keys, values))


def tuple_setitem(items: tuple, index: int, value: Any) -> tuple:
    """The tuple with another item at `index`."""
    return tuple(list_setitem(list(items), index, value))


def list_setitem(items: list, index: int, value: Any) -> list:
    """A list with another item at `index`."""
    made = list(items)
    made[index] = value
    return made


def dict_setitem(items: dict, key: Any, value: Any) -> dict:
    """A dict with another value of `key`."""
    return {**items, key: value}


def tuple_reversed(items: tuple) -> tuple:
    """The items from the last to the first."""
    return items[::-1]


def tail(items: Sequence[Any]) -> Sequence[Any]:
    """All items but the first."""
    return items[1:]


def zip_operation(*sequences: Sequence[Any]) -> tuple:
    """The tuples of what stands at one place, as many as the shortest has items."""
    return tuple(zip(*sequences))


def shape_mul(input_data: Sequence[int]) -> int:
    """The product of a shape's sizes."""
    return math.prod(input_data)


def reduced_shape(shape: Sequence[int], axis: Any) -> tuple:
    """The shape with size 1 at the axes, an int or several; all of them for ()."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    gone = [a % len(shape) for a in axes] if axes else list(range(len(shape)))
    return tuple([1 if i in gone else size for i, size in enumerate(shape)])


def broadcast_gradient_args(x_shape: Sequence[int], y_shape: Sequence[int]) -> tuple:
    """(axes, axes): over which the gradient of a broadcast result is summed for each of the two operands.

    raises : ShapeError for shapes that do not broadcast
    """
    ndim = max(len(x_shape), len(y_shape))
    x, y = ((1,) * (ndim - len(s)) + tuple(s) for s in (x_shape, y_shape))
    if any(a != b and 1 not in (a, b) for a, b in zip(x, y)):
        raise ShapeError("broadcast_gradient_args: the shapes do not broadcast", note=f"{list(x_shape)} and {list(y_shape)}")
    return tuple(tuple(i for i in range(ndim) if mine[i] == 1 and (other[i] != 1 or i < ndim - len(own)))
                 for mine, other, own in ((x, y, x_shape), (y, x, y_shape)))


def array_to_scalar(x: Tensor) -> Any:
    """The number that a Tensor of one element holds."""
    return x.item()


def is_dynamic_sequence_element_unknown(sequence: Any) -> bool:
    """False: what a tuple or list holds is known."""
    return False


def mixed_precision_cast(dst_dtype: Any, x: Any) -> Any:
    """x with its floating Tensors in dst_dtype, within tuples and lists too; other values stay."""
    if isinstance(x, (tuple, list)):
        return type(x)([mixed_precision_cast(dst_dtype, item) for item in x])
    return ops.cast(x, dst_dtype) if isinstance(x, Tensor) and x.dtype.is_float else x


hyper_add = HyperMap(ops.add)

"""Indices that are known at run time only: one outside of its axis is an error in a graph, as it is in eager mode.

    out = gather(x, i)        check(all(-n <= i < n));  out = gather(x, i)
    out = x[i]                check(-n <= i <= n - 1);  out = dynamic_slice(x, i)

Where the check fails Python runs the call again, and its operator raises with the index that is wrong. Inside vmap an
element that does not take a branch may fail it too: Python then finds nothing wrong, and its result is the call's.

What is inside by how it was made needs no check: positions in an axis of that size, what is kept between bounds, and the number
of an iteration of a loop (`for i in range(len(x)): x[i]`), also with known numbers added.
"""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np

from ..common.dim import Dim, Size, compare, dim_max, dim_min
from ..common.dtype import int64
from ..common.errors import IndexRangeError, OperandIndexError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.builder import Builder
from ..mindir.control import check
from ..mindir.graph import AnfNode, CNode, ValueNode
from ..mindir.primitive import PRIMITIVES, Primitive, interpreting
from ..ops.basic import cast
from ..ops.define import as_operand
from ..ops.dynamic_slicing import dynamic_slice, dynamic_update
from ..ops.indexing import (SHOWN, bounded_indices, gather_nd, index_depth, refuse_outside, scatter_nd_add, scatter_nd_div,
                            scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_update, widened)
from ..ops.logic import equal, greater, greater_equal, less, logical_and, logical_not, logical_or
from ..ops.nn_loss import probabilities
from ..ops.reduction import reduce_all, reduce_any
from ..ops.scalar import scalar_binary, scalar_compare, tensor_to_scalar
from ..ops.slicing import slice_
from .values import Value

# {operator: (operands, attributes) -> (indices, the size of the axis that they stand for)}
INDICES = {PRIMITIVES[name]: lambda args, attrs: (args[1], args[0].shape[attrs["axis"]])
           for name in SHOWN}
# {operator: (operands, attributes) -> (where the part begins along each axis, its sizes)}
STARTS = {dynamic_slice: lambda args, attrs: (args[1:], attrs["sizes"]),
          dynamic_update: lambda args, attrs: (args[2:], args[1].shape)}
BY_LEADING_AXES = (gather_nd, scatter_nd_add, scatter_nd_update, scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_div)
SAME_VALUES = ("reshape", "slice", "cast", "transpose", "tuple_getitem", "expand_dims")


def demand_bounds(tracer: Any, prim: Primitive, args: Sequence[Value], attrs: dict[str, Any]) -> None:
    """Write the check for the indices of an operator that is about to be written, if it has any.

    raises : IndexRangeError for known indices that are outside
    """
    if prim in STARTS:
        starts, sizes = STARTS[prim](args, attrs)
        for axis, (start, n, size) in enumerate(zip(starts, args[0].shape, sizes)):
            demand_start(tracer, axis, start, n, size)
    if prim is probabilities:
        demand_probabilities(tracer, args[0], **attrs)
    if prim is bounded_indices:
        demand_between(tracer, args[0], **attrs)
    if prim in BY_LEADING_AXES:
        for indices, size in columns(tracer, args[1], args[0].shape, index_depth(prim.name, *args[:2])):
            demand_indices(tracer, prim.name, indices, size)
    if prim in INDICES:
        demand_indices(tracer, SHOWN[prim.name], *INDICES[prim](args, attrs))


def columns(tracer: Builder, indices: Any, sizes: tuple[Size, ...], count: int) -> list:
    """[(the indices that stand for an axis, its size)] of `count` indices that stand side by side."""
    if getattr(getattr(indices, "fn", None), "name", "") == "concatenate" and len(indices.args) == count:
        return list(zip(indices.args, sizes))
    with interpreting(tracer):
        return [(slice_(indices, start=(0,) * (indices.ndim - 1) + (column,), sizes=(*indices.shape[:-1], 1),
                        step=(1,) * indices.ndim), sizes[column]) for column in range(count)]


def demand_indices(tracer: Builder, name: str, indices: Value, size: Size) -> None:
    """Write the check that all indices lie inside of an axis of that size, unless that is known."""
    if isinstance(indices, ValueNode) or not isinstance(indices, AnfNode) or not inside(indices, size):
        demand_between(tracer, indices, f"{name}: index", -size, size)


def demand_between(tracer: Builder, indices: Value, what: str, low: Size | None, high: Size | None,
                   ignored: int | None = None) -> None:
    """Write the check that all indices lie in [low, high) or equal `ignored`; known ones are checked here.

    raises : IndexRangeError
    """
    known = indices.value if isinstance(indices, ValueNode) else indices
    if not isinstance(known, AnfNode) and all(bound is None or isinstance(bound, int) for bound in (low, high)):
        refuse_outside(what, np.asarray(known), low, high, ignored)
        return
    indices = tracer.lift(indices)
    with interpreting(tracer):
        wide = widened(indices)
        holds = as_operand(True) if high is None else less(wide, as_operand(high, wide.dtype))
        if low is not None and wide.dtype.kind == "i":
            holds = logical_and(holds, greater_equal(wide, as_operand(low, wide.dtype)))
        if ignored is not None and (ignored >= 0 or wide.dtype.kind == "i"):
            holds = logical_or(holds, equal(wide, as_operand(ignored, wide.dtype)))
        holds = tensor_to_scalar(reduce_all(holds, axis=tuple(range(wide.ndim)), keepdims=False))
    refused = f"{what} is less than {low}" if high is None else f"{what} is outside [{low}, {high})"
    demand(tracer, holds, refused, OperandIndexError)


def demand_probabilities(tracer: Builder, x: Value, what: str, weights: bool = False, hint: str | None = None) -> None:
    """Write the check that no number is outside [0, 1]; of weights, that each is finite and not negative."""
    x = tracer.lift(x)
    with interpreting(tracer):
        if weights:
            wanted = logical_and(greater_equal(x, as_operand(0, x.dtype)), less(x, as_operand(math.inf, x.dtype)))
            holds = reduce_all(wanted, axis=tuple(range(x.ndim)), keepdims=False)
        else:
            outside = logical_or(less(x, as_operand(0, x.dtype)), greater(x, as_operand(1, x.dtype)))
            holds = logical_not(reduce_any(outside, axis=tuple(range(x.ndim)), keepdims=False))
        holds = tensor_to_scalar(holds)
    demand(tracer, holds, f"{what} hold a number {'that is no weight' if weights else 'outside [0, 1]'}", ValueRangeError)


def demand(tracer: Builder, holds: Value, text: str, kind: type[Exception] = IndexRangeError) -> None:
    """Write a check; Python runs the call again where it fails."""
    tracer.graph.add(check, tracer.lift(holds), origin=tracer.origin, abstract=AbstractTuple(()),
                     error=functools.partial(kind, text), again=True)


def demand_start(tracer: Any, axis: int, start: Value, n: Size, size: Size) -> None:
    """Write the check that `size` elements from `start` lie inside of an axis of n, unless that is known."""
    low, high = limits(tracer, start)
    if low is not None and compare(">=", low, -n) and compare("<=", high, n - size):
        return
    with interpreting(tracer):
        if isinstance(getattr(start, "abstract", None), AbstractTensor) or isinstance(start, Tensor):
            start = tensor_to_scalar(cast(start, dtype=int64))
        holds = scalar_binary(scalar_compare(start, -n, op=">="), scalar_compare(start, n - size, op="<="), op="&")
    demand(tracer, holds, f"an index is out of bounds for dimension with size {n} (axis {axis})" if size == 1 else
           f"{size} elements from an index leave axis {axis} of size {n}")


def limits(tracer: Any, value: Any) -> tuple:
    """The least and the greatest that an int can be, as ints or Dims; None, None where that is not known."""
    if isinstance(value, (int, Dim)):
        return value, value
    while value in tracer.outer:
        value = tracer.outer[value]
    if not isinstance(value, AnfNode) or not isinstance(value.abstract, AbstractScalar):
        return None, None
    if isinstance(value, ValueNode) or value.abstract.dim is not None:
        known = value.value if isinstance(value, ValueNode) else value.abstract.dim
        return known, known
    if value in tracer.iterations:
        return 0, tracer.iterations[value] - 1
    if not isinstance(value, CNode) or value.fn is not scalar_binary or value.attrs["op"] not in "+-*%":
        return None, None
    (low, high), (least, most) = [limits(tracer, arg) for arg in value.args]
    if least is None or low is None and value.attrs["op"] != "%":
        return None, None
    if value.attrs["op"] == "+":
        return low + least, high + most
    if value.attrs["op"] == "-":
        return low - most, high - least
    if not isinstance(least, int) or least is not most or least <= 0:
        return None, None
    return (0, least - 1) if value.attrs["op"] == "%" else (low * least, high * least)


def interval(node: Value, depth: int = 12) -> tuple[Union[Size, None], Union[Size, None]]:
    """(the least, the largest number) of integers, by how they are made; None for an end that is not known."""
    if isinstance(node, ValueNode) or not isinstance(node, AnfNode):
        known = np.asarray(node.value if isinstance(node, ValueNode) else node)
        return (int(known.min()), int(known.max())) if known.dtype.kind in "iu" and known.size else (None, None)
    dtype = getattr(node.abstract, "dtype", None)
    if not isinstance(node, CNode) or not isinstance(node.fn, Primitive) or not depth or dtype is None or dtype.kind not in "iu":
        return None, None
    name = node.fn.name
    if name == "count_up":
        return 0, node.attrs["size"] - 1
    if name in SAME_VALUES or name == "broadcast_to":
        source = node.args[0]
        was: Any = getattr(source.abstract, "dtype", None)
        turns = name == "cast" and (dtype.kind == "u" or was.kind not in "iu" or was.itemsize > dtype.itemsize)
        return (None, None) if turns or name == "tuple_getitem" else interval(source, depth - 1)
    if name not in ("where", "maximum", "minimum", "add", "mul") or dtype.itemsize < 8:       # what is narrower may turn over
        return None, None
    (a, b), (c, d) = (interval(arg, depth - 1) for arg in node.args[-2:])
    if name == "where":
        return known_of(dim_min, a, c), known_of(dim_max, b, d)
    if name == "maximum":
        return known_of(dim_max, a, c) if None not in (a, c) else (c if a is None else a), known_of(dim_max, b, d)
    if name == "minimum":
        return known_of(dim_min, a, c), known_of(dim_min, b, d) if None not in (b, d) else (d if b is None else b)
    if name == "add":
        return known_of(operator.add, a, c), known_of(operator.add, b, d)
    both = all(end is not None and compare(">=", end, 0) is True for end in (a, c))
    return (known_of(operator.mul, a, c), known_of(operator.mul, b, d)) if both else (None, None)


def known_of(join: Callable[[Any, Any], Any], a: Size | None, b: Size | None) -> Size | None:
    """join(a, b) of two ends that are known, else None."""
    return None if a is None or b is None else join(a, b)


def inside(node: Value, size: Size) -> bool:
    """True for indices that are inside by how they are made: 0, 1, .., what is kept between bounds, sums and products of them,
    positions in an axis of that size."""
    low, high = interval(node)
    if low is not None and high is not None and compare("<=", -size, low) is True and compare("<", high, size) is True:
        return True
    column = None
    while not isinstance(node, ValueNode) and getattr(getattr(node, "fn", None), "name", "") in SAME_VALUES:
        if node.fn is slice_ and node.attrs["sizes"][-1] == 1:
            column = node.attrs["start"][-1]
        node = node.args[0]
    name = getattr(getattr(node, "fn", None), "name", "")
    if name == "count_up":
        return compare("<=", node.attrs["size"], size) is True
    return name == "nonzero" and isinstance(column, int) and compare("<=", node.args[0].shape[column], size) is True

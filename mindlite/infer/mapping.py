"""vmap during inference: the function for one item becomes a typed graph of its own, under the marker `Vmap`.

    vmap(f, in_axes=({"a": 0, "b": None},))({"a": x, "b": y})    ->    Vmap(x, y; graph=f, in_axes=(0, None), out_axes=(0,))

in_axes and out_axes are trees like the arguments and the results, or one axis for all that stands below.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..common.dim import Size
from ..common.errors import ArgumentError, OutAxesError, ShapeError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.control import Vmap
from ..mindir.graph import AnfNode
from ..mindir.primitive import interpreting
from ..ops.basic import broadcast_to, reshape
from ..ops.random import drawn_inside
from .evaluating import Evaluating
from .merging import Slot, fill
from .transforms import Subgraph, as_tensor, from_outside, is_data, map_content
from .values import Box, Value


def map_over(ev: Evaluating, what: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """vmap(f, in_axes, out_axes)(*args)"""
    axes = axes_of_arguments(what.in_axes, args)
    used: list = []
    sizes: list = []
    axis_of: dict = {}  # {what is mapped: its axis}

    def call(sub):
        inside = []
        for value, axis in zip(args, axes):
            inside.append(_enter(ev, sub, value, axis, used, sizes, axis_of))
        check_sizes(sizes)
        return ev.call(what.function, tuple(inside), kwargs)
    sub = Subgraph(ev, "vmap", call)
    if not what.may_draw and any("random" in getattr(node.fn, "traits", ()) for graph in sub.region.graph.reachable()
                                 for node in graph.nodes):
        raise drawn_inside()
    numbers = {}
    _parts(ev, sub.pattern, what.out_axes, result_axes,
           lambda x, axis: numbers.update({n: axis for n in sub.outputs_of(x)}), sub.content)
    for owner, changed in sub.changed.items():              # an argument changes along the axis that it is mapped over
        if isinstance(owner, (AnfNode, Tensor)) and isinstance(changed, Slot):
            numbers[changed.number] = axis_of.get(owner)
    out_axes = tuple(numbers.get(n, None if isinstance(output.abstract, AbstractScalar) else 0)     # a counter counts calls
                     for n, output in enumerate(sub.region.graph.outputs))
    with interpreting(ev.tracer):
        results = Vmap(*sub.inputs, *sub.captured, graph=sub.region.graph,
                       in_axes=tuple(used) + (None,) * len(sub.captured),
                       out_axes=out_axes, size=sizes[0])
    sub.finish(results)
    return _parts(ev, sub.pattern, what.out_axes, result_axes, lambda x, axis: fill(x, results) if isinstance(x, Slot)
                  else _repeated(ev, x, axis, sizes[0]), sub.content)


def axes_of_arguments(in_axes: Any, args: Sequence[Value]) -> tuple:
    """in_axes for each argument. raises : ArgumentError where it names another number of them"""
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise ArgumentError(f"vmap: in_axes names {len(axes)} arguments, {len(args)} were given")
    return axes


def check_sizes(sizes: Sequence[Size]) -> None:
    """raises : ArgumentError where no axis is mapped, ShapeError where the mapped axes differ in size"""
    if not sizes:
        raise ArgumentError("vmap: no argument is mapped", hint="at least one of in_axes is an int")
    for size in sizes[1:]:
        if size != sizes[0]:
            raise ShapeError("vmap: the mapped axes differ in size", note=f"{sizes[0]} and {size}")


def axes_of_parts(keys: Any, axes: Any, named: str) -> Any:
    """in_axes or out_axes for each part of a container, in order; for what is none (keys is None) its axis.

    keys   : the parts' positions or names      axes: an int or None for all, or a tuple, list or dict of those of the parts
    named  : what the error says, of two numbers
    raises : ArgumentError where the axes are not like the container
    """
    if not isinstance(axes, (tuple, list, dict)):
        return axes if keys is None else [axes] * len(keys)
    inside = axes if isinstance(axes, dict) else dict(enumerate(axes))
    if keys is None or set(inside) != set(keys):
        raise ArgumentError("vmap: " + named.format(len(axes), 1 if keys is None else len(keys)), note=repr(axes))
    return [inside[key] for key in keys]


def argument_axes(keys: Any, axes: Any) -> Any:
    """in_axes of the parts of an argument: see axes_of_parts."""
    return axes_of_parts(keys, axes, "in_axes names {} parts of an argument that has {}")


def result_axes(keys: Any, axes: Any) -> Any:
    """out_axes of the parts of a result: see axes_of_parts. For a single result a tuple of one axis will do."""
    if keys is None and isinstance(axes, (tuple, list)) and len(axes) == 1:
        return axes[0]
    return axes_of_parts(keys, axes, "out_axes names {} results, the function gives {}")


def _parts(ev: Evaluating, value: Value, axes: Any, within: Callable[..., Any], leaf: Callable[..., Any],
           content: Value) -> Value:
    """`value` with leaf(x, its axis) for each x in it that is no container.

    within : argument_axes or result_axes       content: the function that gives what is in a Box
    """
    if type(value) in (list, dict):
        value = from_outside(ev, value)
    if not isinstance(value, (Box, tuple)):
        return leaf(value, within(None, axes))
    is_dict = isinstance(value, Box) and value.kind == "dict"
    items = content(value) if isinstance(value, Box) else value
    each = iter(within([key for key, _ in items] if is_dict else range(len(items)), axes))
    return map_content(ev, lambda part: _parts(ev, part, next(each), within, leaf, content), value, content)


def _repeated(ev: Evaluating, value: Value, axis: Any, size: Size) -> Value:
    """A result that comes from outside of the mapped function, once for each item, along its axis."""
    if not is_data(value) or axis is None:
        return value
    x = as_tensor(ev, value)
    rank = len(x.abstract.shape) + 1
    if not -rank <= axis < rank:
        raise OutAxesError(axis, rank)
    position = axis % rank
    with interpreting(ev.tracer):
        one = reshape(x, shape=x.shape[:position] + (1,) + x.shape[position:])
        return broadcast_to(one, shape=x.shape[:position] + (size,) + x.shape[position:])


def _enter(ev: Evaluating, sub: Subgraph, value: Value, axes: Any, used: list, sizes: list, axis_of: dict) -> Value:
    """The argument inside a mapped function: every tensor along an axis loses it."""
    def leaf(x, axis):
        def without(abstract):
            a = axis + abstract.ndim if axis < 0 else axis
            if not 0 <= a < abstract.ndim:
                raise ShapeError(f"vmap: there is no axis {axis} to map over", note=str(abstract))
            used.append(a)
            axis_of[x] = a
            sizes.append(abstract.shape[a])
            return AbstractTensor(abstract.dtype, abstract.shape[:a] + abstract.shape[a + 1:])
        if axis is None or not is_data(x):
            return x
        made = sub.parameter(x, abstract=without)
        ev.tracer.region.items.add(made)
        return made
    return value if axes is None else _parts(ev, value, axes, argument_axes, leaf, ev.store.get)

"""vmap: a function of single items becomes a function of batches.

    vmap(f, in_axes=(0, None))(xs, w)   ==   ops.stack([f(x, w) for x in xs])

The mapped function becomes a graph, and the transformation `vmap` batches its operators; in eager mode as well, so what
the function does besides computing (print, say) happens as in a graph.
"""
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .. import ops
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..compile.jit import JitFunction
from ..infer.mapping import argument_axes, axes_of_arguments, check_sizes, result_axes
from ..infer.transforms import is_data
from ..infer.values import rebuild
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf, Mapped
from ..ops.random import current_state, drawn_inside
from ..pynative.jitted import call_compiled
from .derivative import name_of


P = ParamSpec("P")
R = TypeVar("R")


class Vmapped:
    """A mapped function; see `vmap`."""

    kind = "vmap"

    def __init__(self, function, in_axes, out_axes, randomness="same"):
        self.function, self.in_axes, self.out_axes, self.randomness = function, in_axes, out_axes, randomness
        self._compiled = None

    def __mindir__(self):
        if self.randomness == "different":
            return CallOf(self.with_streams)
        return Mapped(self.function, self.in_axes, self.out_axes, self.randomness == "same")

    def with_streams(self, *args, **kwargs):
        """The call where each item draws from a stream of its own, whose seed is drawn from the stream outside."""
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        count = _sizes(args, axes)[0]
        high, low = ops.randint(0, 1 << 31, (count,)), ops.randint(0, 1 << 31, (count,))
        seeds = high * (1 << 31) + low
        states = ops.stack([seeds, ops.zeros_like(seeds)], 1)
        return Vmapped(Streamed(self.function), (0, *axes), self.out_axes)(states, *args, **kwargs)

    @property
    def compiled(self):
        """The JitFunction that runs the mapped function."""
        if self._compiled is None:
            self._compiled = JitFunction(self, name=name_of(self))
        return self._compiled

    def __call__(self, *args, **kwargs):
        if is_interpreting():                               # a call that cannot be a graph runs in Python, item by item
            if self.randomness == "different":
                return self.with_streams(*args, **kwargs)
            return one_by_one(self.function, self.in_axes, self.out_axes, args, kwargs, self.randomness)
        return call_compiled(self.compiled, args, kwargs)

    def __repr__(self):
        return f"<vmap of {self.function!r}>"


class Streamed:
    """`function`, which draws its random numbers from the state that is given before its arguments."""

    def __init__(self, function):
        self.function = function

    def __mindir__(self):
        return CallOf(self.call)

    def __call__(self, state, *args, **kwargs):
        return self.call(state, *args, **kwargs)

    def call(self, state, *args, **kwargs):
        """The function's result; the stream outside stays where it is."""
        stream = current_state()
        outside = stream + 0
        ops.assign(stream, state)
        out = self.function(*args, **kwargs)
        ops.assign(stream, outside)
        return out


class Ensemble:
    """Cells that are alike in what they do, each with weights of its own, mapped as one; see `vmap`."""

    kind = "vmap"

    def __init__(self, cells, in_axes, out_axes):
        self.cells, self.in_axes, self.out_axes = cells, in_axes, out_axes
        self.function = cells[0]
        self._compiled = None

    def __mindir__(self):
        return CallOf(self.call)

    compiled: Any = Vmapped.compiled

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs) if is_interpreting() else call_compiled(self.compiled, args, kwargs)

    def call(self, *args, **kwargs):
        """Each Cell for its item of what is mapped; the results, stacked."""
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        outs = []
        for i, cell in enumerate(self.cells):
            items = [_item(arg, axis, i, len(self.cells)) for arg, axis in zip(args, axes)]
            outs.append(cell(*items, **kwargs))
        return _stacked(outs, self.out_axes, _of_several)

    def __repr__(self):
        return f"<vmap of {len(self.cells)} Cells>"


def _item(value, axes, i, count):
    """Item `i` of what is mapped."""
    def leaf(x, axis):
        if axis is None:
            return x
        if x.shape[axis] != count:
            raise ShapeError(f"vmap: {count} Cells for {x.shape[axis]} items", note=f"axis {axis} of {x.shape}")
        return ops.gather(x, i, axis)
    return _parts(value, axes, argument_axes, leaf)


def _parts(value, axes, within, leaf):
    """`value` with leaf(x, its axis) for each x in it that is no container. within: argument_axes or result_axes"""
    if isinstance(value, dict):
        each = within(list(value), axes)
        return {key: _parts(part, axis, within, leaf) for (key, part), axis in zip(value.items(), each)}
    if isinstance(value, (tuple, list)):
        each = within(range(len(value)), axes)
        made = [_parts(part, axis, within, leaf) for part, axis in zip(value, each)]
        return made if isinstance(value, list) else rebuild(value, made)
    return leaf(value, within(None, axes))


def _sizes(value, axes):
    """The sizes of the mapped axes."""
    sizes = []

    def leaf(x, axis):
        if axis is not None and is_data(x):
            shape = ops.shape(x)
            if not -len(shape) <= axis < len(shape):
                raise ShapeError(f"vmap: there is no axis {axis} to map over", note=str(shape))
            sizes.append(shape[axis])
    _parts(value, axes, argument_axes, leaf)
    return sizes


def one_by_one(function: Callable[..., Any], in_axes: Any, out_axes: Any, args: tuple, kwargs: dict[str, Any],
               randomness: str = "same") -> Any:
    """What vmap means: the results of the items, stacked. randomness: "same" or "error"

    raises : ShapeError where sizes differ, or there is no item to run; ArgumentError where nothing is mapped, or in_axes
             names other arguments
    """
    axes = axes_of_arguments(in_axes, args)
    sizes = _sizes(args, axes)
    check_sizes(sizes)
    if sizes[0] == 0:
        raise ShapeError("vmap: the mapped axis has size 0, and without an item Python cannot tell the results' sizes")
    outs, stream = [], current_state().host_array.copy()
    for i in range(sizes[0]):
        if i:
            ops.assign(current_state(), Tensor(stream))      # the same numbers for each item
        items = [_parts(arg, axis, argument_axes, lambda x, a, i=i: _view(x, a, i) if a is not None and is_data(x) else x)
                 for arg, axis in zip(args, axes)]
        outs.append(function(*items, **kwargs))
        if randomness == "error" and (current_state().host_array != stream).any():
            raise drawn_inside()
    return _stacked(outs, out_axes, _the_same)


def _view(x, axis, i):
    """Item `i` of a Tensor or array along an axis: what is written into it is written into x."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    return x[(slice(None),) * (axis % x.ndim) + (i,)]


def _stacked(outs, axes, given_once):
    """The items' results along their axes; what given_once(outs) gives where that is None."""
    if isinstance(outs[0], dict):
        each = result_axes(list(outs[0]), axes)
        return {key: _stacked([out[key] for out in outs], axis, given_once) for key, axis in zip(outs[0], each)}
    if isinstance(outs[0], (tuple, list)):
        each = result_axes(range(len(outs[0])), axes)
        made = [_stacked(parts, axis, given_once) for parts, axis in zip(zip(*outs), each)]
        return made if isinstance(outs[0], list) else rebuild(outs[0], made)
    axis = result_axes(None, axes)
    if axis is None or not is_data(outs[0]):
        return given_once(outs)
    sizes = [list(getattr(out, "shape", ())) for out in outs]            # a number has no axes
    if any(size != sizes[0] for size in sizes):
        raise ShapeError("vmap: a result has another size for each element", note=f"sizes: {sizes}"[:200])
    return ops.stack(outs, axis)


def _the_same(outs):
    """What is the same for all items. raises : ArgumentError where it is not"""
    arrays = [out.host_array if isinstance(out, Tensor) else np.asarray(out) for out in outs]
    if not all(np.array_equal(arrays[0], array, equal_nan=array.dtype.kind in "fc") for array in arrays[1:]):
        raise ArgumentError("vmap: a result that depends on the mapped axis has the out_axes None",
                            hint="an int: where the axis stands in it")
    return outs[0]


def _of_several(outs):
    raise ArgumentError(f"vmap: a result of {len(outs)} Cells has the out_axes None",
                        hint="an int: where their axis stands in it")


def vmap(fn: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0, randomness: str = "same") -> Callable[P, R]:
    """Map `fn` over an axis of its arguments.

    fn       : a function or a Cell; a CellList: each Cell of it, all of one class, is called for its own item, with its
               own weights (an ensemble), and what all share has the axis None
    in_axes  : int for all arguments, or a tuple with an int or None (not mapped) for each; where an argument is a tuple, a
               list or a dict, such a thing with the axes of its parts, of any depth
    out_axes : where the mapped axis stands in the results: an int, or as in_axes where there are several; a result that is
               the same for all items is repeated along it, or, with None, given once. Arguments by name are not mapped
    randomness : what random operators give the items: "same" numbers, as in MindSpore; "different" ones, from a stream for
               each; "error": ArgumentError where fn draws any. (torch's words; there "error" is the default.)
    raises   : ArgumentError for other axes; when called: ShapeError where mapped axes differ in size, ArgumentError for a
               result with out_axes None that is not the same for all items
    """
    if randomness not in ("same", "different", "error"):
        raise ValueRangeError(f"vmap: randomness is 'same', 'different' or 'error', not {randomness!r}")
    ensemble = getattr(fn, "cell_list", None) if getattr(type(fn), "is_ensemble", False) else None
    if ensemble is not None and len({type(cell) for cell in ensemble}) != 1:
        raise ArgumentError("vmap: a CellList holds Cells of one class", note=repr([type(c).__name__ for c in ensemble]))
    if not callable(fn) and not hasattr(fn, "signature"):
        raise ArgumentError(f"vmap: takes a function or a Cell, not {type(fn).__name__}")
    if isinstance(in_axes, dict):
        raise ArgumentError("vmap: in_axes names the arguments by their positions", hint="a tuple: in_axes=({...},)")
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if ensemble is not None:
        return Ensemble(tuple(ensemble), _as_tuple(in_axes), _as_tuple(out_axes))
    return Vmapped(fn, _as_tuple(in_axes), _as_tuple(out_axes), randomness)


def _as_tuple(axes):
    if isinstance(axes, dict):
        return {key: _as_tuple(a) for key, a in axes.items()}
    return tuple([_as_tuple(a) for a in axes]) if isinstance(axes, (tuple, list)) else axes


def _check_axes(name, axes):
    if isinstance(axes, (tuple, list, dict)):
        for axis in axes.values() if isinstance(axes, dict) else axes:
            _check_axes(name, axis)
    elif axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
        raise ArgumentError(f"vmap: {name} holds ints and None, not {axes!r}")

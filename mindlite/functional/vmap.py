"""vmap: a function of single items becomes a function of batches.

    vmap(f, in_axes=(0, None))(xs, w)   ==   ops.stack([f(x, w) for x in xs])

The mapped function becomes a graph, and the transformation `vmap` batches its operators; in eager mode as well, so what
the function does besides computing (print, say) happens as in a graph.
"""
from .. import ops
from ..common.errors import ArgumentError, ShapeError
from ..compile.jit import JitFunction
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf, Mapped
from ..pynative.jitted import call_compiled
from .derivative import name_of


class Vmapped:
    """A mapped function; see `vmap`."""

    kind = "vmap"

    def __init__(self, function, in_axes, out_axes):
        self.function, self.in_axes, self.out_axes = function, in_axes, out_axes
        self._compiled = None

    def __mindir__(self):
        return Mapped(self.function, self.in_axes, self.out_axes)

    @property
    def compiled(self):
        """The JitFunction that runs the mapped function."""
        if self._compiled is None:
            self._compiled = JitFunction(self, name=name_of(self))
        return self._compiled

    def __call__(self, *args, **kwargs):
        if is_interpreting():                               # a call that cannot be a graph runs in Python, item by item
            return one_by_one(self.function, self.in_axes, self.out_axes, args, kwargs)
        return call_compiled(self.compiled, args, kwargs)

    def __repr__(self):
        return f"<vmap of {self.function!r}>"


class Ensemble:
    """Cells that are alike in what they do, each with weights of its own, mapped as one; see `vmap`."""

    kind = "vmap"

    def __init__(self, cells, in_axes, out_axes):
        self.cells, self.in_axes, self.out_axes = cells, in_axes, out_axes
        self.function = cells[0]
        self._compiled = None

    def __mindir__(self):
        return CallOf(self.call)

    compiled = Vmapped.compiled

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs) if is_interpreting() else call_compiled(self.compiled, args, kwargs)

    def call(self, *args, **kwargs):
        """Each Cell for its item of what is mapped; the results, stacked."""
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        outs = []
        for i, cell in enumerate(self.cells):
            items = [_item(arg, axis, i, len(self.cells)) for arg, axis in zip(args, axes)]
            outs.append(cell(*items, **kwargs))
        return _stacked(outs, self.out_axes)

    def __repr__(self):
        return f"<vmap of {len(self.cells)} Cells>"


def _item(value, axis, i, count):
    """Item `i` of what is mapped."""
    if isinstance(value, (tuple, list)):
        axes = axis if isinstance(axis, tuple) else (axis,) * len(value)
        return type(value)([_item(v, a, i, count) for v, a in zip(value, axes)])
    if axis is None:
        return value
    if value.shape[axis] != count:
        raise ShapeError(f"vmap: {count} Cells for {value.shape[axis]} items", note=f"axis {axis} of {value.shape}")
    return ops.gather(value, i, axis)


def one_by_one(function, in_axes, out_axes, args, kwargs):
    """What vmap means: the results of the items, stacked.

    raises : ShapeError where nothing is mapped, or sizes differ; ArgumentError where in_axes names other arguments
    """
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise ArgumentError(f"vmap: in_axes names {len(axes)} arguments, {len(args)} were given")
    sizes = []
    items = [_mapped(arg, axis, lambda x, a: sizes.append(x.shape[a])) for arg, axis in zip(args, axes)]
    if len(set(sizes)) != 1:
        raise ShapeError("vmap: the mapped axes differ in size, or nothing is mapped", note=str(sizes))
    outs = []
    for i in range(sizes[0]):
        items = [_mapped(arg, axis, lambda x, a: ops.gather(x, i, a)) for arg, axis in zip(args, axes)]
        outs.append(function(*items, **kwargs))
    return _stacked(outs, out_axes)


def _mapped(value, axis, function):
    if isinstance(value, (tuple, list)):
        axes = axis if isinstance(axis, tuple) else (axis,) * len(value)
        return type(value)([_mapped(v, a, function) for v, a in zip(value, axes)])
    return value if axis is None else function(value, axis)


def _stacked(outs, axis):
    if isinstance(outs[0], (tuple, list)):
        axes = axis if isinstance(axis, tuple) else (axis,) * len(outs[0])
        return type(outs[0])([_stacked(parts, a) for parts, a in zip(zip(*outs), axes)])
    return outs[0] if axis is None else ops.stack(outs, axis)


def vmap(fn, in_axes=0, out_axes=0):
    """Map `fn` over an axis of its arguments.

    fn       : a function or a Cell; a CellList: each Cell of it, all of one class, is called for its own item, with its
               own weights (an ensemble), and what all share has the axis None
    in_axes  : int for all arguments, or a tuple with an int or None (not mapped) for each; nested as the arguments are
    out_axes : where the mapped axis stands in each result, an int or a tuple; a result that is the same for all items is
               repeated along it, or, with None, given once
    raises   : ArgumentError for other axes; when called: ShapeError where mapped axes differ in size
    """
    ensemble = getattr(fn, "cell_list", None) if getattr(type(fn), "is_ensemble", False) else None
    if ensemble is not None and len({type(cell) for cell in ensemble}) != 1:
        raise ArgumentError("vmap: a CellList holds Cells of one class", note=repr([type(c).__name__ for c in ensemble]))
    if not callable(fn) and not hasattr(fn, "signature"):
        raise ArgumentError(f"vmap: takes a function or a Cell, not {type(fn).__name__}")
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if ensemble is not None:
        return Ensemble(tuple(ensemble), _as_tuple(in_axes), _as_tuple(out_axes))
    return Vmapped(fn, _as_tuple(in_axes), _as_tuple(out_axes))


def _as_tuple(axes):
    return tuple([_as_tuple(a) for a in axes]) if isinstance(axes, (tuple, list)) else axes


def _check_axes(name, axes):
    if isinstance(axes, (tuple, list)):
        for axis in axes:
            _check_axes(name, axis)
    elif axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
        raise ArgumentError(f"vmap: {name} holds ints and None, not {axes!r}")

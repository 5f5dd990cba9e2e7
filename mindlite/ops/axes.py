"""Shapes and axes: broadcasting, axis numbers, sizes given by the user. No operators here."""
import numpy as np

from ..common.dim import Dim, product
from ..common.errors import ArgumentError, Refusal, ShapeError, ValueRangeError
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.constraints import Constraint, require
from ..mindir.graph import AnfNode, ValueNode
from ..mindir.primitive import current_interpreter
from .scalar import number_to_size, tensor_to_scalar


def broadcast_shapes(name, *shapes):
    """The shape that NumPy's broadcasting gives; sizes that may differ are required to be equal.

    raises : ShapeError naming the operator
    """
    rank = max(map(len, shapes))
    out = []
    for axis in range(-rank, 0):
        size = 1
        for shape in shapes:
            if len(shape) < -axis or shape[axis] == size or (isinstance(shape[axis], int) and shape[axis] == 1):
                continue
            if isinstance(size, int) and size == 1:
                size = shape[axis]
                continue
            require("==", size, shape[axis], lambda a=size, b=shape[axis]: ShapeError(
                f"{name}: the shapes do not broadcast",
                note=" and ".join(f"[{', '.join(map(str, s))}]" for s in shapes) + f"; {a} != {b}"))
            size = size if isinstance(size, int) else shape[axis]
        out.append(size)
    return tuple(out)


def axes_of(name, x, least=0):
    """How many axes a tensor has. raises : naming the operator, ArgumentError for what is no tensor, ShapeError below `least`"""
    count = getattr(x, "ndim", None)
    if count is None:
        raise ArgumentError(f"{name}: a tensor is wanted, not {type(x).__name__}", note=repr(x)[:80])
    if count < least:
        raise ShapeError(f"{name}: a tensor of {least} or more axes is wanted", note=f"shape: {list(x.shape)}")
    return count


def as_flag(name, setting, value):
    """A setting that is true or false, as bool. raises : ArgumentError for what is no bool, such as 2, None and "no\""""
    if not isinstance(value, AnfNode) and not (isinstance(value, (bool, np.bool_)) or type(value) is int and value in (0, 1)):
        raise ArgumentError(f"{name}: {setting} is a bool, not {type(value).__name__}", note=repr(value)[:80])
    return bool(value)


def as_number(name, setting, value, least=None):
    """A real number given by the user, as it is: an int, a float, a tensor of one, or one that a graph knows.

    least  : what a number that is known must at least be
    raises : ArgumentError for what is no number, ValueRangeError below `least`
    """
    known = isinstance(value, (int, float, np.number))
    if not known and not isinstance(value, (AnfNode, Dim)) and getattr(value, "ndim", None) != 0:
        raise ArgumentError(f"{name}: {setting} is a number, not {type(value).__name__}", note=repr(value)[:80])
    if known and least is not None and value < least:
        raise ValueRangeError(f"{name}: {setting} is at least {least}, not {value}")
    return value


def normal_axis(name, axis, ndim):
    """`axis` counted from the front. raises : ValueRangeError outside [-ndim, ndim)."""
    if isinstance(axis, (bool, float)) or not hasattr(axis, "__index__"):
        raise ArgumentError(f"{name}: axis is an int, not {type(axis).__name__}")
    axis = axis.__index__()
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise ValueRangeError(f"{name}: axis {axis} is outside a tensor of {ndim} axes",
                              hint=f"axis is in [{-ndim}, {ndim})")
    return axis + ndim if axis < 0 else axis


def normal_axes(name, axis, ndim):
    """A tuple of axes counted from the front, sorted; None and () mean all. A Tensor of one axis holds several, a range too."""
    if getattr(axis, "ndim", 0) == 1:                        # a Tensor of axes
        if isinstance(axis, AnfNode):
            raise Refusal(f"{name}: the axes are known at run time only")
        axis = axis.tolist()
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list, range)):
        only = normal_axis(name, axis, ndim)
        return (only,) if ndim else ()                       # axis 0 of a tensor without axes, as NumPy allows it
    if not axis:
        return tuple(range(ndim))
    axes = tuple(sorted(normal_axis(name, a, ndim) for a in axis))
    if len(set(axes)) != len(axes):
        raise ValueRangeError(f"{name}: an axis is named twice in {axis}")
    return axes if ndim else ()


def as_size(name, value, least=0):
    """A size, index or count given by the user, as int or Dim: an int, Dim, NumPy integer, known Tensor or node.

    least  : what a number must at least be that is known at run time only (it is looked at then); None: any number will do
    raises : ArgumentError for anything else
    """
    if isinstance(value, Dim) or type(value) is int:
        return value
    if isinstance(value, AnfNode) and isinstance(value.abstract, AbstractScalar):
        known = value.value if isinstance(value, ValueNode) else value.abstract.dim
        if known is not None:
            return known
        if value.abstract.type is int and takes_sizes_of_run():
            return size_of_run(value, lambda: _looked_at(name, value, least), least=least)
    if not isinstance(value, (bool, AnfNode)) and hasattr(value, "__index__"):
        return value.__index__()
    if _is_tensor_of_run(value) and value.ndim == 0:
        return as_size(name, tensor_to_scalar(value), least)
    raise ArgumentError(f"{name}: a size is an int, not {type(value).__name__}", note=repr(value)[:80])


def _is_tensor_of_run(value):
    """True for a node of integers, which a size is read from when the graph runs."""
    return isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor) and value.abstract.dtype.kind in "ui"


def as_known_int(name, value):
    """An int given by the user that decides what is computed, so that a graph cannot leave it open.

    raises : ArgumentError for what is no int, Refusal for one that is known at run time only
    """
    if isinstance(value, AnfNode) and isinstance(value.abstract, AbstractScalar):
        known = value.value if isinstance(value, ValueNode) else value.abstract.dim
        value = value if known is None else known
    if isinstance(value, (AnfNode, Dim)):
        raise Refusal(f"{name}: a number that decides what is computed is known at run time only")
    return as_size(name, value)


def as_known_number(name, value):
    """A number given by the user that decides what is computed, as `as_known_int`; what is no number stays.

    raises : Refusal for one that is known at run time only
    """
    if isinstance(value, ValueNode):
        return value.value
    if isinstance(value, (AnfNode, Dim)):
        raise Refusal(f"{name}: a number that decides what is computed is known at run time only")
    return value


def size_of_run(value, number, *what, least=0):
    """The Dim of a number that is known at run time only: one Symbol for all that a graph computes of `value` alike.

    number : a function that gives the node of the number;   what : what it computes of value
    """
    sizes = current_interpreter().region.sizes
    key = value, least, *what
    if key not in sizes:
        sizes[key] = number_to_size(number(), least=least).abstract.dim
    return sizes[key]


def takes_sizes_of_run():
    """True where numbers that are known at run time only become sizes: while inference writes a graph."""
    return hasattr(current_interpreter(), "region")


def _looked_at(name, value, least):
    """value, behind a check that it is at least `least`."""
    if least is not None:
        current_interpreter().demand(Constraint(">=", value, least, ValueRangeError(
            f"{name}: a size that is known at run time only is below {least}")))
    return value


def as_shape(name, shape):
    """A shape given by the user (an int, a tuple or list, a one-axis integer Tensor) as a tuple of int or Dim.

    raises : Refusal for a Tensor of the run whose count of numbers is not known
    """
    if _is_tensor_of_run(shape) and shape.ndim == 1:
        if not isinstance(shape.shape[0], int):
            raise Refusal(f"{name}: how many sizes a Tensor holds is known at run time only")
        shape = tuple(shape[i] for i in range(shape.shape[0]))
    if hasattr(shape, "tolist"):
        shape = shape.tolist()
    if not isinstance(shape, (tuple, list)):
        shape = (shape,)
    return tuple(as_size(name, size) for size in shape)


def new_shape(name, shape):
    """The shape of a Tensor that `name` makes, as `as_shape` has it. raises : ShapeError for a negative size"""
    sizes = as_shape(name, shape)
    for size in sizes:
        require(">=", size, 0, lambda: ShapeError(f"{name}: a size is negative", note=f"shape: {list(sizes)}"))
    return sizes


def fill_in(name, shape, size):
    """`shape` with its one -1 replaced by what `size` elements leave.

    raises : ShapeError where that is no whole number, or more than one size is -1
    """
    open_axes = [i for i, s in enumerate(shape) if isinstance(s, int) and s == -1]
    if len(open_axes) > 1:
        raise ShapeError(f"{name}: only one size may be -1", note=str(shape))
    if any(isinstance(s, int) and s < -1 for s in shape):
        raise ShapeError(f"{name}: a size is negative", note=str(shape))
    if open_axes:
        known = product(s for i, s in enumerate(shape) if i != open_axes[0])
        error = lambda: ShapeError(f"{name}: {size} elements do not fit the shape {list(shape)}")  # noqa: E731
        if isinstance(known, int) and (known == 0 or (isinstance(size, int) and size % known)):
            raise error()
        require(">=", known, 1, error)                       # of no elements any size would do
        rest = size // known
        shape = tuple(rest if i == open_axes[0] else s for i, s in enumerate(shape))
    return shape


# ---------------------------------------------------------------- index arithmetic for kernel rules

def broadcast_index(x, index):
    """The index of operand `x` for an element of an output that x was broadcast to: size-1 axes read 0."""
    lead = len(index) - len(x.shape)
    return tuple(0 if isinstance(s, int) and s == 1 else i for s, i in zip(x.shape, index[lead:]))


def flatten_index(index, shape):
    """The row-major number of the element at `index`."""
    flat = 0
    for i, size in zip(index, shape):
        flat = flat * size + i
    return flat


def unflatten_index(flat, shape):
    """The index of the element whose row-major number is `flat`."""
    index = []
    for size in reversed(shape[1:]):
        index.append(flat % size)
        flat = flat // size
    return (flat, *reversed(index)) if shape else ()

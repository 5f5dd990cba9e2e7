"""Methods of Tensor and of graph nodes that move elements, multiply matrices or index: rows of methods.METHODS."""
from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..mindir.primitive import planned
from . import (arithmetic, combined, decomposition, indexing, linalg, logic, lookup, products, repeats, segments,
               special, stacking, structure)
from .axes import as_flag, as_number, axes_of, normal_axis
from .basic import broadcast_to, reshape
from .define import as_operand, dtype_of
from .getitem import getitem, set_in_place, setitem
from .methods import method, renaming, together
from .sort import msort


def _transpose(self, *axes, dim0=None, dim1=None):
    """x.transpose(0, 2), x.transpose(dim0=0, dim1=2): two axes exchanged, as MindSpore 2.10 and torch have it;
    x.transpose((2, 0, 1)), x.transpose(2, 0, 1): axis i of the result is axis axes[i] of x; x.transpose(): the axes in reverse.

    axes, dim0, dim1 : ints; negative ones count from the end
    raises           : ValueRangeError for an axis outside, ArgumentError for axes that do not name each axis once
    """
    axes = (*axes, *(dim for dim in (dim0, dim1) if dim is not None))
    if len(axes) == 2:
        return structure.swapaxes(self, *axes)
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    return structure.permute(self, order or tuple(range(self.ndim))[::-1])


def _permute(self, *axes, dims=None):
    """x.permute(2, 0, 1), x.permute((2, 0, 1)), x.permute(dims=(2, 0, 1)): axis i of the result is axis axes[i] of x.

    axes, dims : ints, or a tuple of them; negative ones count from the end
    raises     : ArgumentError where they do not name each axis once
    """
    return structure.permute(self, together(axes, dims))


def _iterate(self):
    return iter(structure.unstack(self, 0))


def _repeat(self, *repeats, axis=None):
    """x.repeat(2, 3), x.repeat((2, 3)): this Tensor side by side with itself, repeats[i] times along axis i, as in MindSpore 2.10
    and torch. For each element several times in a row: repeat_interleave.

    repeats : ints >= 0, or one tuple of them, one for each axis; more of them add axes in front
    axis    : refused: NumPy's repeat, which older MindSpore had, is repeat_interleave here
    raises  : ShapeError for fewer numbers than axes, ValueRangeError for a negative one
    """
    if axis is not None:
        raise ArgumentError("repeat: takes no axis", hint="x.repeat_interleave(repeats, axis) repeats each element")
    reps = together(repeats)
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    if len(reps) < self.ndim:
        raise ShapeError(f"repeat: a tensor of {self.ndim} axes takes as many numbers or more, not {len(reps)}",
                         hint="x.repeat_interleave(repeats, axis) repeats each element, x.tile(reps) counts axes from the end")
    return structure.tile(self, reps)


def _flatten(self, *args, order="C", start_dim=0, end_dim=-1):
    """x.flatten(), x.flatten(0, 1), or x.flatten("F"), x.flatten(order="F", start_dim=0).

    args : start_dim and end_dim, after `order` where that is given
    """
    if args and isinstance(args[0], str):
        order, args = args[0], args[1:]
    if len(args) > 2:
        raise ArgumentError("flatten: takes order, start_dim and end_dim", note=f"given: {args}")
    given = dict(zip(("start_dim", "end_dim"), args))
    return structure.flatten(self, order, **{"start_dim": start_dim, "end_dim": end_dim, **given})


def _gather(self, *args, **attrs):
    """x.gather(dim, index), element by element (ops.gather_elements), or x.gather(input_indices, axis, batch_dims=0), slices
    (ops.gather). The first argument decides: an int is a dim.

    dim, axis     : int
    index         : int[...] of as many axes as x, of the result's shape;     input_indices : int[...]
    batch_dims    : int, how many leading axes of x and input_indices belong together
    raises        : DTypeError for indices that are no integers, IndexRangeError for one outside, ShapeError
    """
    by_element = isinstance(args[0], int) if args else "dim" in attrs
    return (renaming(lookup.gather_elements) if by_element else _gather_slices)(self, *args, **attrs)


_gather_slices = renaming(lookup.gather)
_TAKEN = {"clip": lambda index, size: arithmetic.clamp(index, 0, size - 1), "wrap": lambda index, size: index % size,
          "raise": lambda index, size: index}


def _take(self, indices, axis=None, mode="clip"):
    """Slices along `axis`; elements in row-major order where it is None.

    indices : int[...] or a list, or an int;     axis : int or None
    mode    : str, what an index outside means: "clip" the nearest, so that -1 is 0, "wrap" counted around, "raise" an error
    out     : like x, with the axes of `indices` in place of `axis`
    raises  : DTypeError for indices that are no integers, ValueRangeError for another mode or axis, IndexRangeError
    """
    if mode not in _TAKEN:
        raise ValueRangeError(f"take: mode is 'clip', 'wrap' or 'raise', not {mode!r}")
    x = reshape(self, shape=(-1,)) if axis is None else self
    axis = 0 if axis is None else axis
    return lookup.gather(x, _TAKEN[mode](indexing.widened(as_operand(indices)), x.shape[axis]), axis)


def _select(self, *args, **attrs):
    """x.select(dim, index): the slice `index` of an axis, without the axis. x.select(condition, y): where(condition, x, y).

    dim, axis : int;      index : int, or an integer Tensor []; a negative one counts from the end
    condition : bool[...];      y : Tensor or number; both are broadcast with x
    raises    : IndexRangeError for an index outside, ValueRangeError for an axis outside, ShapeError where shapes do not fit
    """
    if "condition" in attrs or args and isinstance(args[0], (Tensor, AnfNode)) and dtype_of(args[0]) is dt.bool_:
        return _where_else(self, *args, **attrs)
    return _select_slice(self, *args, **attrs)


def _where_else(self, condition, y):
    return logic.where(condition, self, y)


@renaming
def _select_slice(self, axis, index):
    return self[(slice(None),) * normal_axis("select", axis, self.ndim) + (index,)]


def _index(self, indices):
    """self[indices], by a tuple of Tensors, one for each of the first axes: integers, which are broadcast together, or masks.

    raises : ArgumentError for what is no tuple or list, IndexRangeError for an index outside or more indices than axes
    """
    if not isinstance(indices, (tuple, list)):
        raise ArgumentError(f"index: a tuple of Tensors is wanted, not {type(indices).__name__}")
    return getitem(self, tuple(indices))


def _triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    """(X with A X = self, A) for a triangular matrix A.

    A             : float or complex Tensor [.., n, n];     self : [.., n, k]
    upper         : bool; True: the upper triangle of A is read, False: the lower one
    transpose     : bool; True: A^T X = self
    unitriangular : bool; True: the diagonal of A counts as ones
    raises        : ShapeError for sizes that do not fit; when run: ValueRangeError for a zero on the diagonal
    """
    upper, transpose, unit = (as_flag("triangular_solve", setting, value) for setting, value in (
        ("upper", upper), ("transpose", transpose), ("unitriangular", unitriangular)))
    return decomposition.solve_triangular(A, self, trans=int(transpose), lower=not upper, unit_diagonal=unit), A


@planned
def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """`input` with `src` in the place of the slice `index` of `axis`.

    input  : Tensor;      src : Tensor of the shape of the slice; it is converted to the dtype of input
    axis   : int;         index : int; negative ones count from the end
    raises : ShapeError for another src, IndexRangeError for an index outside, ValueRangeError for an axis outside
    """
    return _embedded("select_scatter", input, src, axis, index)


@planned
def slice_scatter(input: Tensor, src: Tensor, axis: int = 0, start: int | None = None, end: int | None = None,
                   step: int = 1) -> Tensor:
    """`input` with `src` in the place of the slice start:end:step of `axis`.

    input            : Tensor;      src : Tensor of the shape of the slice; it is converted to the dtype of input
    axis             : int
    start, end, step : int or None, as in Python's slices;      step is not 0
    raises           : ShapeError for another src, ArgumentError for the step 0, ValueRangeError for an axis outside
    """
    return _embedded("slice_scatter", input, src, axis, slice(start, end, step))


def _embedded(name, x, src, axis, index):
    """x with src in the place of x[index] along an axis, src being of its shape."""
    index = (slice(None),) * normal_axis(name, axis, axes_of(name, x)) + (index,)
    wanted = tuple(getitem(x, index).shape)
    axes_of(name, src)
    error = lambda: ShapeError(f"{name}: src has the shape of the slice", note=f"src: {list(src.shape)}, "  # noqa: E731
                               f"slice: {list(wanted)}")
    if src.ndim != len(wanted):
        raise error()
    for size, own in zip(src.shape, wanted):
        require("==", size, own, error)
    return setitem(x, index, src)


def _index_add(self, *args, **attrs):
    """x.index_add(dim, index, source, *, alpha=1), or x.index_add(indices, y, axis): x with alpha * source added at `index`.

    dim, axis     : int;      index, indices : int[N]; where one occurs twice, both slices are added
    source, y     : Tensor like x, with N along the axis; it is converted to the dtype of x
    alpha         : number
    raises        : ShapeError for another shape, DTypeError for indices that are no integers, IndexRangeError for one outside
    """
    by_dim = isinstance(args[0], int) if args else "dim" in attrs
    return (_index_add_along if by_dim else _index_add_slices)(self, *args, **attrs)


_index_add_slices = renaming(lookup.index_add)


def _index_add_along(x, dim, index, source, *, alpha=1):
    source = source if isinstance(alpha, int) and alpha == 1 else as_operand(source) * as_number("index_add", "alpha", alpha)
    return lookup.index_add(x, index, source, dim)


def _scatter_add(self, *args, **attrs):
    """x.scatter_add(dim, index, src): x with src added at `index` along dim. x.scatter_add(indices, updates): at indices[.., k].

    dim          : int;      index : int[...] of as many axes as x;      src : Tensor of the shape of index, or larger
    indices      : int[.., k];      updates : Tensor, a slice of x for each position
    raises       : ShapeError for another shape, DTypeError for indices that are no integers, IndexRangeError for one outside
    """
    by_dim = isinstance(args[0], int) if args else "dim" in attrs
    return (lookup.scatter_add if by_dim else _scatter_add_slices)(self, *args, **attrs)


_scatter_add_slices = renaming(lookup.tensor_scatter_add)


def _expand(self, *sizes, shape=None):
    """x.expand(2, 3) or x.expand((2, 3)), as broadcast_to.

    sizes, shape : ints, or one tuple of them; -1 keeps the size of the axis
    """
    return broadcast_to(self, shape=together(sizes, shape))


def _tile(self, *sizes, reps=None, dims=None):
    """x.tile(2, 3), x.tile((2, 3)) or x.tile(reps=(2, 3)); `dims` is torch's name for `reps`.

    sizes : ints, or one tuple of them
    """
    return structure.tile(self, together(sizes, dims if reps is None else reps))


def _matmul(self, other):
    return NotImplemented if other is None or isinstance(other, (str, bytes, dict, set)) else linalg.matmul(self, other)


def _rmatmul(self, other):
    return NotImplemented if other is None or isinstance(other, (str, bytes, dict, set)) else linalg.matmul(other, self)


for _name, _function in {
    "__matmul__": _matmul, "__rmatmul__": _rmatmul, "__getitem__": getitem, "__iter__": _iterate,
    "transpose": _transpose, "permute": _permute,
    "expand_dims": structure.expand_dims, "unsqueeze": structure.unsqueeze, "squeeze": structure.squeeze,
    "ravel": structure.ravel, "swapaxes": structure.swapaxes, "swapdims": structure.swapdims,
    "movedim": structure.movedim, "moveaxis": structure.moveaxis, "split": structure.split, "chunk": structure.chunk,
    "unbind": structure.unbind, "repeat_interleave": repeats.repeat_interleave, "repeat": _repeat,
    "roll": structure.roll, "flip": structure.flip, "fliplr": structure.fliplr, "flipud": structure.flipud,
    "broadcast_to": broadcast_to, "narrow": structure.narrow, "unflatten": structure.unflatten,
    "gather": _gather, "gather_elements": lookup.gather_elements, "gather_nd": indexing.gather_nd,
    "index_select": lookup.index_select, "index": _index, "triangular_solve": _triangular_solve,
    "index_add": _index_add, "select": _select,
    "select_scatter": select_scatter, "slice_scatter": slice_scatter,
    "take": _take, "scatter_add": _scatter_add,
    "tensor_scatter_update": lookup.tensor_scatter_update, "matmul": linalg.matmul, "bmm": linalg.bmm, "mm": linalg.mm,
    "dot": linalg.dot, "outer": linalg.outer, "addmm": linalg.addmm, "mv": linalg.mv,
}.items():
    method(_name, _function if _name.startswith("__") or _name in ("transpose", "permute", "gather") else renaming(_function))
for _name, _function, _operator in [("flatten", _flatten, structure.flatten), ("tile", _tile, structure.tile),
                                    ("expand", _expand, broadcast_to)]:
    method(_name, _function, of=_operator)
method("msort", msort)
method("__array_priority__", 1000)                # ndarray + Tensor asks the Tensor, so that it gives a Tensor
setattr(Tensor, "__setitem__", set_in_place)           # a graph node is never written: infer rebinds the name instead

for _module, _names in {
    decomposition: "cholesky cholesky_inverse cholesky_solve det inverse logdet slogdet",
    special: "lgamma digamma erfinv",
    products: "addbmm addr cross ger ptp",
    stacking: "dsplit hsplit tensor_split vsplit",
    combined: "approximate_equal copysign inplace_update logit renorm sgn signbit",
    segments: "unsorted_segment_max unsorted_segment_min unsorted_segment_prod",
}.items():
    for _name in _names.split():
        method(_name, renaming(getattr(_module, _name)))
method("inv", renaming(arithmetic.reciprocal))
method("invert", renaming(logic.bitwise_not))

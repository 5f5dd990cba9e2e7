"""Methods of Tensor and of graph nodes that move elements, multiply matrices or index: rows of methods.METHODS."""
from ..common.errors import ValueRangeError
from ..common.tensor import Tensor
from . import (arithmetic, combined, decomposition, indexing, linalg, logic, lookup, products, segments,
               special, stacking, structure)
from .basic import broadcast_to, reshape
from .define import as_operand
from .getitem import getitem, set_in_place
from .methods import method, renaming
from .sort import msort


def _transpose(self, *axes):
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    return structure.permute(self, order or tuple(range(self.ndim))[::-1])


def _permute(self, *axis):
    return structure.permute(self, axis[0] if len(axis) == 1 and isinstance(axis[0], (tuple, list)) else axis)


def _iterate(self):
    return iter(structure.unstack(self, 0))


def _repeat(self, repeats, axis=None):
    return structure.repeat_interleave(self, repeats, axis)


def _flatten(self, *args, order="C", start_dim=0, end_dim=-1):
    """x.flatten(0, 1), or x.flatten("F"), x.flatten(order="F", start_dim=0)."""
    if args and isinstance(args[0], str):
        order, args = args[0], args[1:]
    given = dict(zip(("start_dim", "end_dim"), args))
    return structure.flatten(self, order, **{"start_dim": start_dim, "end_dim": end_dim, **given})


def _gather(self, *args, **attrs):
    """x.gather(dim, index), element by element, or x.gather(input_indices, axis, batch_dims=0), slices."""
    by_element = isinstance(args[0], int) if args else "dim" in attrs
    return (renaming(lookup.gather_elements) if by_element else _gather_slices)(self, *args, **attrs)


_gather_slices = renaming(lookup.gather)
_TAKEN = {"clip": lambda index, size: arithmetic.clamp(index, 0, size - 1), "wrap": lambda index, size: index % size,
          "raise": lambda index, size: index}


def _take(self, indices, axis=None, mode="clip"):
    """Slices along `axis`, elements in row-major order where it is None. mode : what an index outside means: "clip" the
    nearest, "wrap" counted around, "raise" an error."""
    if mode not in _TAKEN:
        raise ValueRangeError(f"take: mode is 'clip', 'wrap' or 'raise', not {mode!r}")
    x = reshape(self, shape=(-1,)) if axis is None else self
    axis = 0 if axis is None else axis
    return lookup.gather(x, _TAKEN[mode](indexing.widened(as_operand(indices)), x.shape[axis]), axis)


def _index_add(self, *args, **attrs):
    """x.index_add(dim, index, source, *, alpha=1), or x.index_add(indices, y, axis): x with alpha * source added."""
    by_dim = isinstance(args[0], int) if args else "dim" in attrs
    return (_index_add_along if by_dim else _index_add_slices)(self, *args, **attrs)


_index_add_slices = renaming(lookup.index_add)


def _index_add_along(x, dim, index, source, *, alpha=1):
    return lookup.index_add(x, index, source if isinstance(alpha, int) and alpha == 1 else source * alpha, dim)


def _broadcast(self, shape):
    return broadcast_to(self, shape=shape)


def _tile(self, *reps):
    return structure.tile(self, reps[0] if len(reps) == 1 else reps)


def _matmul(self, other):
    return NotImplemented if other is None or isinstance(other, (str, bytes, dict, set)) else linalg.matmul(self, other)


def _rmatmul(self, other):
    return NotImplemented if other is None or isinstance(other, (str, bytes, dict, set)) else linalg.matmul(other, self)


for _name, _function in {
    "__matmul__": _matmul, "__rmatmul__": _rmatmul, "__getitem__": getitem, "__iter__": _iterate,
    "transpose": _transpose, "permute": _permute,
    "expand_dims": structure.expand_dims, "unsqueeze": structure.unsqueeze, "squeeze": structure.squeeze,
    "flatten": _flatten, "ravel": structure.ravel, "swapaxes": structure.swapaxes, "swapdims": structure.swapdims,
    "movedim": structure.movedim, "moveaxis": structure.moveaxis, "split": structure.split, "chunk": structure.chunk,
    "unbind": structure.unbind, "tile": _tile, "repeat_interleave": structure.repeat_interleave, "repeat": _repeat,
    "roll": structure.roll, "flip": structure.flip, "fliplr": structure.fliplr, "flipud": structure.flipud,
    "broadcast_to": _broadcast, "expand": _broadcast, "narrow": structure.narrow, "unflatten": structure.unflatten,
    "gather": _gather, "gather_elements": lookup.gather_elements, "gather_nd": lambda self, indices:
        indexing.gather_nd(self, indices), "index_select": lookup.index_select, "index_add": _index_add,
    "take": _take, "scatter_add": lookup.tensor_scatter_add,
    "tensor_scatter_update": lookup.tensor_scatter_update, "matmul": linalg.matmul, "bmm": linalg.bmm, "mm": linalg.mm,
    "dot": linalg.dot, "outer": linalg.outer, "addmm": linalg.addmm, "mv": linalg.mv,
}.items():
    method(_name, _function if _name.startswith("__") or _name in (
        "transpose", "permute", "tile", "gather", "flatten") else renaming(_function))
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

"""Reading and writing by index, and other shapes, with torch's names, arguments, defaults and results.

    gather(x, 1, index)     index_add(x, 0, index, source, alpha=2)     transpose(x, 0, 1)     flatten(x, 1)
"""
from .. import ops
from ..ops.axes import as_number, normal_axis
from ..ops.define import as_operand
from ..ops.methods import METHODS
from ..ops.structure import has_size_one
from .define import publisher

__all__ = []
_public = publisher(globals())


# ---------------------------------------------------------------- places

@_public
def gather(input, dim, index):
    """out[.., i, ..] = input[.., index[.., i, ..], ..] along `dim`, element by element."""
    return ops.gather_elements(input, dim, index)


@_public
def scatter(input, dim, index, src):
    """input with src (a Tensor, or a number) written at index along `dim`, element by element."""
    return ops.scatter(input, dim, index, src)


@_public
def scatter_add(input, dim, index, src):
    """input with src added at index along `dim`, element by element; of a larger src the first elements count."""
    return METHODS["scatter_add"](as_operand(input), dim, as_operand(index), as_operand(src))


@_public
def take(input, index):
    """The elements at `index` in row-major order. raises : IndexRangeError"""
    return METHODS["take"](as_operand(input), index, mode="raise")


@_public
def index_select(input, dim, index):
    """Slices along `dim` at `index`."""
    return ops.index_select(input, dim, index)


@_public
def index_add(input, dim, index, source, *, alpha=1):
    """input with alpha * source added at `index` along `dim`."""
    source = source if isinstance(alpha, int) and alpha == 1 else as_operand(source) * as_number("index_add", "alpha", alpha)
    return ops.index_add(input, index, source, dim)


@_public
def select(input, dim, index):
    """The slice number `index` along `dim`."""
    return METHODS["select"](input, dim, index)


@_public
def narrow(input, dim, start, length):
    """`length` slices along `dim` from `start` on."""
    return ops.narrow(input, dim, start, length)


# ---------------------------------------------------------------- shapes

@_public
def reshape(input, *shape):
    """The elements in row-major order in another shape, given as numbers or as a tuple."""
    return ops.reshape(input, tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)


@_public
def flatten(input, start_dim=0, end_dim=-1):
    """Axes start_dim to end_dim made one."""
    return ops.flatten(input, "C", start_dim=start_dim, end_dim=end_dim)


@_public
def squeeze(input, dim=None):
    """Without the axes of size 1, or those of them in `dim`."""
    x = as_operand(input)
    if dim is None:
        return ops.squeeze(x)
    axes = [normal_axis("squeeze", a, x.ndim) for a in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    return ops.reshape(x, tuple([n for a, n in enumerate(x.shape) if a not in axes or not has_size_one("squeeze", x, a)]))


@_public
def unsqueeze(input, dim):
    """With a new axis of size 1 at `dim`."""
    return ops.unsqueeze(input, dim)


@_public
def transpose(input, dim0, dim1):
    """Two axes exchanged."""
    return ops.swapaxes(input, dim0, dim1)


@_public
def swapaxes(input, axis0, axis1):
    """Two axes exchanged."""
    return ops.swapaxes(input, axis0, axis1)


@_public
def permute(input, dims):
    """The axes in another order."""
    return ops.permute(input, dims)


@_public
def broadcast_to(input, shape):
    """Repeated to the shape; -1 leaves a size."""
    return ops.broadcast_to(input, shape)


@_public
def tile(input, dims):
    """Repeated dims[i] times along axis i."""
    return ops.tile(input, dims)


@_public
def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each slice along `dim` repeated in place; repeats: int, or integers [n], one for each slice, whose sum is output_size."""
    return ops.repeat_interleave(input, repeats, dim, output_size)


@_public
def roll(input, shifts, dims=None):
    """Elements moved along axes, around the end."""
    return ops.roll(input, shifts, dims)


@_public
def flip(input, dims):
    """In reverse order along the axes `dims`."""
    return ops.flip(input, dims)


@_public
def cat(tensors, dim=0):
    """Tensors one after the other along `dim`."""
    return ops.cat(tensors, dim)


@_public
def concat(tensors, dim=0):
    """The same as cat."""
    return ops.cat(tensors, dim)


@_public
def stack(tensors, dim=0):
    """Tensors beside each other along a new axis `dim`."""
    return ops.stack(tensors, dim)


@_public
def hstack(tensors):
    """Tensors one after the other along axis 1; vectors along axis 0."""
    return ops.hstack(tensors)


@_public
def dstack(tensors):
    """Tensors one after the other along axis 2."""
    return ops.dstack(tensors)


@_public
def split(tensor, split_size_or_sections, dim=0):
    """Pieces of that size, or of those sizes, along `dim`."""
    return ops.split(tensor, split_size_or_sections, dim)


@_public
def chunk(input, chunks, dim=0):
    """At most `chunks` pieces of one size along `dim`, the last one smaller."""
    return ops.chunk(input, chunks, dim)


@_public
def unbind(input, dim=0):
    """The slices along `dim`."""
    return ops.unbind(input, dim)


@_public
def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid; indexing : "ij" (None too), rows first, or "xy"."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return ops.meshgrid(*given, indexing="ij" if indexing is None else indexing)


@_public
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th difference along `dim`."""
    return METHODS["diff"](input, n, dim, prepend, append)


@_public
def diag(input, diagonal=0):
    """A matrix with the vector on its diagonal, or that diagonal of a matrix."""
    return METHODS["diag"](input, diagonal)


@_public
def tril(input, diagonal=0):
    """The lower triangle, zeros above."""
    return ops.tril(input, diagonal)


@_public
def triu(input, diagonal=0):
    """The upper triangle, zeros below."""
    return ops.triu(input, diagonal)

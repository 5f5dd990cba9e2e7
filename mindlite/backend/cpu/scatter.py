"""Rows, or single elements, added to a table at indices that are known at run time: the gradients of an embedding, of
gather_elements, sort and topk; rows written there, the larger or smaller ones, products and quotients.

    out[a, i[j, 0], i[j, 1], .., c] += updates[a, j, c]        index_add: an index may come several times
    out[a, i[a, j, c], c]           += updates[a, j, c]        elements_add

Every thread goes through all j in their order, with columns c (or tables a) of its own: no two write to one element, and sums
have the order that NumPy's add.at gives them, whatever the threads.
"""
from ...common.dim import product
from ...common.dtype import dtype as to_dtype, int64
from ..target import current
from .blas import has_gemm
from .native import I64, Value, kernel_of, kernel_writer

INDEX_DTYPES = ("int32", "int64")


def index_add_kernel(dtype, index, depth, target=None):
    """The kernel for `dtype` and indices of `depth` numbers each; None for another dtype than those of products, and for
    indices that are neither int32 nor int64.

    args : [indices int[count, depth], updates[tables, count, columns], out[tables, *sizes, columns], tables, columns, count,
           *sizes]
    [begin, end) : columns where there are at least as many as tables, else tables
    Negative indices count from the end. What is outside is not added: who calls it has looked.
    """
    if not has_gemm(to_dtype(dtype)) or to_dtype(index).name not in INDEX_DTYPES:
        return None
    return kernel_of(write_index_add, to_dtype(dtype), to_dtype(index), depth, target=target or current())


def _extremum(is_better):
    """What stays of two numbers: the better one; a NaN wins."""
    return lambda f, old, new: f.select(is_better(old, new) | old.differs(old), old, new)


WAYS = {"add": lambda f, old, new: old + new, "update": lambda f, old, new: new, "mul": lambda f, old, new: old * new,
        "div": lambda f, old, new: old / new,
        "max": _extremum(lambda old, new: old > new), "min": _extremum(lambda old, new: old < new)}


def scatter_kernel(dtype, index, depth, how, target=None):
    """As index_add_kernel, for one of WAYS, "div" of floats only; None also for the extrema of unsigned integers."""
    if not has_gemm(to_dtype(dtype)) or to_dtype(index).name not in INDEX_DTYPES or (
            to_dtype(dtype).kind == "u" and how in ("max", "min")):
        return None
    return kernel_of(write_scatter, to_dtype(dtype), to_dtype(index), depth, how, target=target or current())


@kernel_writer(lambda dtype, index, depth: f"index_add_{dtype.short}_{index.short}_{depth}")
def write_index_add(f, dtype, index, depth):
    """The kernel."""
    _write(f, dtype, index, depth, "add")


@kernel_writer(lambda dtype, index, depth, how: f"scatter_{how}_{dtype.short}_{index.short}_{depth}")
def write_scatter(f, dtype, index, depth, how):
    """The kernel."""
    _write(f, dtype, index, depth, how)


def _write(f, dtype, index, depth, how):
    (indices, updates, out, tables, columns, count), sizes = map(f.arg, range(6)), [f.arg(6 + d) for d in range(depth)]
    indices, updates, out = f.array(index, indices), f.array(dtype, updates), f.array(dtype, out)
    wide = columns >= tables
    first, last = f.select(wide, f.begin, 0), f.select(wide, f.end, columns)
    with f.loop(f.select(wide, 0, f.begin), f.select(wide, tables, f.end)) as a, f.loop(0, count) as j:
        position, inside = f.number(I64, 0), wide.equals(wide)
        for d, size in enumerate(sizes):
            i = indices[j * depth + d]
            i = i if index is int64 else Value(f, f.builder.sext(i.ir, I64))
            i = f.select(i < 0, i + size, i)
            position, inside = position * size + i, inside & (i >= 0) & (i < size)
        row, target = updates.at((a * count + j) * columns), out.at((a * product(sizes) + position) * columns)
        with f.loop(first, f.select(inside, last, first)) as c:
            target[c] = WAYS[how](f, target[c], row[c])


def elements_add_kernel(dtype, index, target=None):
    """The kernel for `dtype` and indices that are int32 or int64; None for others.

    args : [indices int[tables, count, columns], updates[tables, count, columns], out[tables, size, columns], tables, columns,
           count, size]
    [begin, end) : columns where there are at least as many as tables, else tables
    Negative indices count from the end. What is outside is not added: who calls it has looked.
    """
    if not has_gemm(to_dtype(dtype)) or to_dtype(index).name not in INDEX_DTYPES:
        return None
    return kernel_of(write_elements_add, to_dtype(dtype), to_dtype(index), target=target or current())


@kernel_writer(lambda dtype, index: f"elements_add_{dtype.short}_{index.short}")
def write_elements_add(f, dtype, index):
    """The kernel."""
    indices, updates, out, tables, columns, count, size = map(f.arg, range(7))
    indices, updates, out = f.array(index, indices), f.array(dtype, updates), f.array(dtype, out)
    wide = columns >= tables
    first, last = f.select(wide, f.begin, 0), f.select(wide, f.end, columns)
    with f.loop(f.select(wide, 0, f.begin), f.select(wide, tables, f.end)) as a, f.loop(0, count) as j:
        row = (a * count + j) * columns
        with f.loop(first, last) as c:
            i = indices[row + c]
            i = i if index is int64 else Value(f, f.builder.sext(i.ir, I64))
            i = f.select(i < 0, i + size, i)
            with f.when((i >= 0) & (i < size)):
                position = (a * size + i) * columns + c
                out[position] = out[position] + updates[row + c]

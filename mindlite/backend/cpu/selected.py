"""What a mask selects, in row-major order: how many that are is known when the kernel has run.

    positions[k, :] = the indices of the k-th element that is not zero        values[k] = the k-th element where the mask is true
    out[i]       = the next of `values` where the mask is true, else 0

One pass over the elements by one thread: each position depends on how many came before it.
"""
from ...common.dtype import dtype as to_dtype, int8, int16, int32, int64
from ..target import current
from .native import I64, kernel_of, kernel_writer

KINDS = ("positions", "values", "put")
BY_SIZE = {1: int8, 2: int16, 4: int32, 8: int64}        # elements that are only moved


def selected_kernel(kind, dtype, ndim=0, target=None):
    """The kernel for elements of `dtype`; None for elements of more than eight bytes, and for positions of a tensor without axes.

    positions : [x, positions int64[.., ndim], count int64[], n, *sizes of the axes]
    values : [x, mask bool[n], values, count int64[], n]
    put    : [values, mask bool[n], out[n], count int64[], n]
    """
    dtype = to_dtype(dtype)
    if kind == "positions" and (ndim == 0 or dtype.kind == "c") or dtype.itemsize not in BY_SIZE:
        return None
    read = dtype if kind == "positions" and dtype.is_float else BY_SIZE[dtype.itemsize]
    return kernel_of(write_selected, kind, read, ndim if kind == "positions" else 0, target=target or current())


@kernel_writer(lambda kind, dtype, ndim: f"selected_{kind}_{dtype.short}_{ndim}")
def write_selected(f, kind, dtype, ndim):
    """The kernel."""
    found = f.variable(I64, 0)
    if kind == "positions":
        x, positions, count, n = f.array(dtype, f.arg(0)), f.array(int64, f.arg(1)), f.array(int64, f.arg(2)), f.arg(3)
        with f.loop(0, n) as i:
            with f.when(x[i].differs(0)):
                row, rest = found.get() * ndim, i
                for axis in reversed(range(ndim)):
                    positions[row + axis] = rest % f.arg(4 + axis)
                    rest = rest // f.arg(4 + axis)
                found.set(found.get() + 1)
    else:
        first, mask, second = f.array(dtype, f.arg(0)), f.array(int8, f.arg(1)), f.array(dtype, f.arg(2))
        count, n = f.array(int64, f.arg(3)), f.arg(4)
        with f.loop(0, n) as i:
            if kind == "put":
                second[i] = 0
            with f.when(mask[i].differs(0)):
                at = found.get()
                if kind == "values":
                    second[at] = first[i]
                else:
                    second[i] = first[at]
                found.set(at + 1)
    count[0] = found.get()

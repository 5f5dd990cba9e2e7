"""The product of some rows with a matrix whose columns lie in panels as wide as the register tile: out = a panels.

    panels : [count, k, width], width that of the tile, so each step of k reads the vectors that follow the last ones

`unpacked.small` over one panel after the other: nothing is copied. `optim.panels` says where it pays.
"""
from ...common.dtype import dtype as to_dtype
from ..target import current
from .native import Module, kernel_of
from .tile import tile_shape
from .unpacked import external_small, write_small


def panel_matmul_kernel(dtype, target=None):
    """The kernel of out[m, n] = a[m, k] times panels[count, k, width]; None where it is not float32 or float64.

    args : [a, panels, out, m, n, k], k not 0;     [begin, end) : panels
    """
    if to_dtype(dtype).name not in ("float32", "float64"):
        return None
    return kernel_of(write_panel_matmul, to_dtype(dtype), target=target or current())


def write_panel_matmul(target, dtype):
    """The Module of the kernel."""
    module, width, size = Module(f"panel_matmul_{dtype.short}", target), tile_shape(dtype, target).columns, dtype.itemsize
    with module.kernel(module.name) as f:
        a, panels, out, m, n, k = (f.arg(i) for i in range(6))
        with f.loop(f.begin, f.end) as p:
            first = p * width
            f.call(external_small(module, dtype), m, f.minimum(n - first, width), k, a, k, 1, panels + first * k * size,
                   width, 0, out + first * size, n)
        f.give(0)
    module.written_by += [write_panel_matmul, write_small]
    return module

"""Library kernels of the CPU: the one door to matrix products, convolutions, pooling and sums into tables.

    kernel = library_kernel("matmul", dtype=float32, transpose_b=True, batched="a")
    explain("conv2d", kind="forward", dtype=float32)     ->  "oneDNN 3.2.0, or kernels of our own where the sizes .."

Nothing is loaded or compiled before it is asked for; equal facts give the same Kernel.
"""
from ...common.dtype import dtype as to_dtype, float32
from ...common.events import emit
from ...common.lazy import LazyModule
from ..target import current

__all__ = ["conv2d_plan", "explain", "library_kernel"]
(blas, convolution, convolution_ways, fourier, lapack, lattice, onednn, panels, pixels, pooling, scan, scatter, search,
 selected, selection, sorting) = (LazyModule(f"{__name__}.{name}") for name in (
     "blas", "convolution", "convolution_ways", "fourier", "lapack", "lattice", "onednn", "panels", "pixels", "pooling", "scan",
     "scatter", "search", "selected", "selection", "sorting"))
MAKERS = {"matmul": (blas, "matmul_kernel"), "conv2d": (convolution, "conv2d_kernel"),
          "conv2d_part": (convolution_ways, "conv2d_part"), "panel_matmul": (panels, "panel_matmul_kernel"),
          "pool2d": (pooling, "pool2d_kernel"), "index_add": (scatter, "index_add_kernel"),
          "elements_add": (scatter, "elements_add_kernel"), "scatter": (scatter, "scatter_kernel"),
          "topk": (selection, "topk_kernel"),
          "scan": (scan, "scan_kernel"), "running": (scan, "running_kernel"), "selected": (selected, "selected_kernel"),
          "sort": (sorting, "sort_kernel"), "median": (sorting, "median_kernel"), "lapack": (lapack, "lapack_kernel"),
          "pixels": (pixels, "pixels_kernel"), "fourier": (fourier, "fourier_kernel"),
          "lattice": (lattice, "lattice_kernel"), "search": (search, "search_kernel")}


def conv2d_plan(kind, dtype, sizes, finish="", target=None):
    """`convolution_ways.conv2d_plan`; target: the Target that chooses, by default the current one."""
    return convolution_ways.conv2d_plan(kind, dtype, sizes, finish, target)


def library_kernel(name, target=None, **facts):
    """The Kernel of one of MAKERS with the facts that its maker takes; None if there is none.

    facts  : those of blas.matmul_kernel, convolution.conv2d_kernel, convolution_ways.conv2d_part,
             panels.panel_matmul_kernel, pixels.pixels_kernel, pooling.pool2d_kernel, scatter.index_add_kernel,
             scatter.elements_add_kernel, scatter.scatter_kernel,
             fourier.fourier_kernel, lapack.lapack_kernel, lattice.lattice_kernel, scan.scan_kernel, scan.running_kernel,
             search.search_kernel, selected.selected_kernel, selection.topk_kernel, sorting.sort_kernel and
             sorting.median_kernel; they document the args. conv2d_plan says which parts a convolution has
    target : the Target that it is written for, by default the current one
    events : "library_kernel" (name, facts, kernel, why), or "library_kernel_missing" (name, facts, why)
    raises : KeyError for an unknown name
    """
    room, maker = MAKERS[name]
    kernel = getattr(room, maker)(**facts, target=target or current())
    why = explain(name, **facts)
    if kernel is None:
        emit("library_kernel_missing", name=name, facts=facts, why=why)
    else:
        kernel.recipe, kernel.why = ("library", name, facts), why
        emit("library_kernel", name=name, facts=facts, kernel=kernel.name, why=why)
    return kernel


def explain(name, **facts):
    """One line: which code answers for these facts, and why that."""
    if name == "conv2d_part":
        return convolution_ways.PART_REASONS[facts["part"]]
    return REASONS[name](to_dtype(facts["dtype"]))


OWN = "; narrow, flat and small products by register tiles of our own, which pack nothing"


def _product(dtype):
    """Who multiplies matrices of `dtype`."""
    if not blas.has_gemm(dtype):
        return f"no matrix product for {dtype.name}"
    if dtype.name in ("float16", "bfloat16"):
        return f"on float32 copies, rounded once: {_product(float32)}"
    if not dtype.is_float:
        return "blocked loops, as no BLAS multiplies integers"
    if blas.find_blas() is None:
        return "blocked loops, as no BLAS was found" + OWN
    facts = blas.blas_facts()
    return f"{facts['name']} {facts['version']} ({facts['core']}){OWN}"


def _convolution(dtype):
    if dtype.name not in ("float32", "float64"):
        return f"no convolution for {dtype.name}: cast to float32"
    library = onednn.find_onednn()
    if library is not None and dtype is float32:
        return f"oneDNN {library.version()}, or kernels of our own where the sizes make that faster"
    reason = "used for float32 only" if dtype is not float32 else "{} ({})".format(*onednn.why_not())
    return f"kernels of our own, as oneDNN is {reason}"


def _pooling(dtype):
    if dtype.is_float and blas.has_gemm(dtype):
        return "loops over planes"
    return f"no pooling for {dtype.name}: cast to float32"


def _pixels(dtype):
    return "one loop that holds a pixel" if dtype.name == "uint8" else f"no loop over pixels of {dtype.name}"


def _panels(dtype):
    return "the register tile: the matrix was put in panels before the loop"


def _sums(dtype):
    return "a loop over the indices for each thread's columns" if blas.has_gemm(dtype) else f"no sums of {dtype.name}"


def _best(dtype):
    return "one pass that keeps the best so far in order" if selection.has_order(dtype) else f"no order of {dtype.name} here"


def _ordered(dtype):
    return "digits by radix, short lines by counting" if sorting.has_sort(dtype) else f"no order of {dtype.name}"


def _median(dtype):
    return "the pile of each byte in which it lies" if sorting.has_sort(dtype) else f"no order of {dtype.name}"


def _factored(dtype):
    if not lapack.has_lapack(dtype):
        return f"NumPy, as {'no LAPACK was found' if dtype.name in lapack.LETTERS else f'there is none of {dtype.name} here'}"
    return f"LAPACK of {blas.blas_facts()['name']} {blas.blas_facts()['version']}"


def _transformed(dtype):
    if not fourier.has_fourier(dtype):
        return "NumPy by its Python functions, as it has no loops " + (f"of {dtype.name}" if dtype.name not in fourier.LETTERS
                                                                       else "that could be called")
    return "NumPy's pocketfft at its address"


def _chosen(dtype):
    return "one pass that counts" if dtype.itemsize <= 8 else f"elements of {dtype.name} are not moved by it"


def _running(dtype):
    return "four lines side by side, or vectors of columns" if scan.has_scan(dtype) else f"no running sums of {dtype.name} here"


def _searched(dtype):
    return "rows of open sizes by halving" if search.has_search(dtype) else f"no order of {dtype.name} here"


def _lattice(dtype):
    return "a step after the other, vectors of states" if lattice.has_lattice(dtype) else f"no lattices of {dtype.name}"


def _extrema(dtype):
    return "a line after the other, or vectors of columns" if scan.has_running(dtype) else f"no running extrema of {dtype.name}"


REASONS = {"matmul": _product, "conv2d": _convolution, "panel_matmul": _panels, "pool2d": _pooling, "index_add": _sums,
           "elements_add": _sums, "scatter": _sums, "topk": _best, "scan": _running, "running": _extrema,
           "selected": _chosen, "sort": _ordered, "median": _median, "lapack": _factored, "pixels": _pixels,
           "fourier": _transformed, "lattice": _lattice, "search": _searched}

"""Which operators a library does, and how its kernel is called: one function per operator.

    library_rule(primitive)(lowering, node, args, out)       raises NotInLibrary where there is no kernel for this node

Rules are kept by the operators' names: families that are imported late (ops/later.py) have some too.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union

from ..backend.target import Target
from ..common.dim import Shape, compare, dim_max, dim_min, product
from ..common.dtype import int64
from ..graph_kernel.epilogue import epilogue
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import CNode
from ..mindir.primitive import Primitive
from ..ops.complex_numbers import part_dtype
from ..ops.decomposition import (cholesky_factor, cofactors, determinant, inverse, linear_solve, sign_and_log_determinant,
                                 triangular_system)
from ..ops.dynamic_slicing import write_slice
from ..ops.indexing import (index_add_axis, scatter_elements_add, scatter_nd_add, scatter_nd_div, scatter_nd_max,
                            scatter_nd_min, scatter_nd_mul, scatter_nd_update)
from ..ops.linalg import batch_matmul, matmul_add, panel_matmul
from ..ops.nn_conv import convolution, convolution_backward_data, convolution_backward_weight
from ..ops.nn_pool import avg_pooling, avg_pooling_backward, max_pooling, max_pooling_backward
from ..ops.scan import (cumulative_logsumexp, cumulative_product, cumulative_sum, linear_recurrence, running_max,
                        running_min)
from ..ops.sort import masked_put, masked_select, median_along, nonzero_indices, sort_along, topk_along
from ..ops.sorted_search import sorted_positions
from .flow import Registers
from .lowering import LOWER, Lowering, Made, NotInLibrary

Rule = TypeVar("Rule", bound=Callable[..., None])
LIBRARY: dict[str, Callable[..., None]] = {}
KERNELS: dict[str, str | None] = {}           # the name in Target.library of what a rule needs, None for nothing


def library(*primitives: Primitive | str, kernel: str | None) -> Callable[[Rule], Rule]:
    """Register how a library does an operator. kernel: what a Target needs for it, a name in `Target.library`; None: nothing"""
    names = [primitive if isinstance(primitive, str) else primitive.name for primitive in primitives]

    def register(rule: Rule) -> Rule:
        LIBRARY.update(dict.fromkeys(names, rule))
        KERNELS.update(dict.fromkeys(names, kernel))
        return rule
    return register


def library_rule(operator: Any) -> Callable[..., None] | None:
    """How a library does an operator; None for what no library does."""
    return LIBRARY.get(operator.name) if isinstance(operator, Primitive) else None


def is_in_library(operator: Any, target: Target) -> bool:
    """True for an operator for which a Target has a library kernel, at least for some facts."""
    if library_rule(operator) is None:
        return False
    needed = KERNELS[operator.name]
    return needed is None or needed in target.library


@library(batch_matmul, matmul_add, kernel="matmul")
def lower_matmul(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    _lower_product(lowering, node, node, args[-2:], out)


def _lower_product(lowering: Lowering, node: CNode, product_node: CNode, args: Sequence[int], out: int, more: Sequence[int] = (),
                   **facts: Any) -> None:
    """A product, for a node that holds it; more: the operands of its epilogue"""
    a, b = (x.abstract for x in product_node.args[-2:])
    transpose_a, transpose_b = product_node.attrs["transpose_a"], product_node.attrs["transpose_b"]
    m, n = product_node.abstract.shape[-2:]
    k = a.shape[-2] if transpose_a else a.shape[-1]
    lead = product_node.abstract.shape[:-2]
    batch, batched = product(lead), "none"
    if not lead or all(isinstance(s, int) and s == 1 for s in lead):
        batch = 1
    elif b.shape[:-2] in ((), (1,) * (b.ndim - 2)) and not transpose_a:
        m, batch = m * batch, 1                              # one matrix for all: the batch is more rows
    elif a.shape[:-2] == lead and b.shape[:-2] == lead:
        batched = "both"
    elif a.shape[:-2] == lead and product(b.shape[:-2]) == 1:
        batched = "a"
    elif b.shape[:-2] == lead and product(a.shape[:-2]) == 1:
        batched = "b"
    else:
        raise NotInLibrary                                   # both broadcast, each along other axes
    kernel = lowering.library_kernel("matmul", dtype=a.dtype, transpose_a=transpose_a, transpose_b=transpose_b, batched=batched,
                                     accumulate=node.fn is matmul_add, **facts)
    # eight of its operations take as long as one of an element: a launch is shared from a million operations on
    sizes, extent, cost = [batch, m, n, k], batch, (m * n * k + 3) // 4
    if batched == "none":
        extent = lowering.target.product_pieces(m, n)
        sizes, cost = [*sizes, extent], cost // extent
    lowering.call_kernel(kernel, [*args, out, *more], sizes, node, extent=extent, cost=cost)


@library(panel_matmul, kernel="panel_matmul")
def lower_panel_matmul(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    a, panels = (x.abstract for x in node.args)
    count, k, width = panels.shape
    kernel = lowering.library_kernel("panel_matmul", dtype=a.dtype)
    m = product(a.shape[:-1])
    lowering.call_kernel(kernel, [*args, out], [m, node.attrs["columns"], k], node, extent=count, cost=(m * k * width + 3) // 4)


@library(write_slice, kernel=None)
def lower_write_slice(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """A copy to where the slice begins; as in a kernel, a start is moved to where the slice lies inside."""
    b, x, value = lowering.b, node.args[0].abstract, node.args[1].abstract
    place = out
    for axis, start in enumerate(args[2:]):
        given = node.args[2 + axis].abstract
        if isinstance(given, AbstractTensor):
            start = b.load(start, given.dtype)
        size = lowering.size(x.shape[axis])
        start = b.arith("add", start, b.arith("mul", size, b.arith("lt", start, b.const(0))))
        start = b.arith("min", start, b.arith("sub", size, lowering.size(value.shape[axis])))
        start = b.arith("max", start, b.const(0))
        row = lowering.size(product(x.shape[axis + 1:]) * x.dtype.itemsize)
        place = b.arith("add", place, b.arith("mul", start, row))
    b.copy(place, args[1], lowering.nbytes(value))


def _conv_sizes(attrs: dict[str, Any], x: Shape, weight: Shape) -> Shape:
    (n, c, h, w), (o, _, kh, kw) = x, weight
    (sh, sw), (pt, pb, pl, pr), (dh, dw) = attrs["stride"], attrs["padding"], attrs["dilation"]
    return (n, c, h, w, o, kh, kw, sh, sw, pt, pb, pl, pr, dh, dw, attrs["groups"])


@library(convolution, convolution_backward_data, convolution_backward_weight, kernel="conv2d")
def lower_convolution(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    a, b, attrs = node.args[0].abstract, node.args[1].abstract, node.attrs
    if node.fn is convolution:
        kind, x, weight = "forward", a.shape, b.shape
    elif node.fn is convolution_backward_data:
        kind, x, weight = "backward_data", node.abstract.shape, b.shape
    else:
        kind, x, weight = "backward_weights", a.shape, node.abstract.shape
    plan = lowering.target.convolution_plan(kind, a.dtype, _conv_sizes(attrs, x, weight))
    if plan is None:
        raise NotInLibrary
    _run_plan(lowering, node, plan, {"left": args[0], "right": args[1], "out": out})


def lower_finished(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """A convolution or product with its epilogue: a node whose fn is a FuncGraph of kind FINISHED."""
    first, finish = epilogue(node.fn)
    if first.fn is batch_matmul:
        _lower_product(lowering, node, first, args[:2], out, args[2:], epilogue=finish)
        return
    x, weight = (a.abstract for a in first.args)
    plan = lowering.target.convolution_plan("forward", x.dtype, _conv_sizes(first.attrs, x.shape, weight.shape), finish)
    operands = dict(zip((step for step in finish.split("+") if step != "relu"), args[2:]))
    _run_plan(lowering, node, plan, {"left": args[0], "right": args[1], "out": out, **operands})


def _run_plan(lowering: Lowering, node: CNode, plan: Any, places: dict[str, int]) -> None:
    """Call the kernels of a convolution. places: the pointers of its arrays by name"""
    if any("workspace" in step.arrays for step in plan.steps):
        nbytes = (plan.workspace if plan.workspace != 0 else 1) * node.abstract.dtype.itemsize      # of no channels it is empty
        places["workspace"] = lowering.b.alloc(lowering.size(nbytes), nbytes, lowering.device)
    for step in plan.steps:
        kernel = lowering.target.library_kernel(**step.kernel)
        lowering.call_kernel(kernel, [places[name] for name in step.arrays], list(step.sizes), node, extent=step.extent,
                             cost=step.cost)


@library(max_pooling, max_pooling_backward, avg_pooling, avg_pooling_backward, kernel="pool2d")
def lower_pooling(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    backward = node.fn in (max_pooling_backward, avg_pooling_backward)
    kind = ("max" if node.fn in (max_pooling, max_pooling_backward) else "avg") + ("_backward" if backward else "_forward")
    attrs = node.attrs
    window = (*attrs["kernel_size"], *attrs["stride"], *attrs["dilation"])
    if not all(isinstance(size, int) for size in window):
        raise NotInLibrary
    kernel = lowering.library_kernel("pool2d", kind=kind, dtype=node.abstract.dtype, window=window)
    inner = node.abstract.shape if backward else node.args[0].abstract.shape
    outer = node.args[-1].abstract.shape if backward else node.abstract.shape
    sizes = [*inner, *outer[2:], *attrs["padding"], int(bool(attrs.get("count_include_pad", 0))),
             attrs.get("divisor", 0) or 0]
    lowering.call_kernel(kernel, [*args, out], sizes, node, extent=inner[0] * inner[1],
                         cost=product(outer[2:]) * product(attrs["kernel_size"]))


def _begin_with(lowering: Lowering, x: AbstractTensor, table: int, out: int) -> None:
    """A copy of a table, where it may not be written over."""
    if out != table:
        lowering.b.copy(out, table, lowering.nbytes(x))


@library(index_add_axis, scatter_nd_add, kernel="index_add")
def lower_index_add(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """A copy of the table with rows added to it."""
    x, indices, updates = (a.abstract for a in node.args)
    if node.fn is index_add_axis:
        axis, depth, count = node.attrs["axis"], 1, product(indices.shape)
    else:
        axis, depth, count = 0, indices.shape[-1], product(indices.shape[:-1])
    if not isinstance(depth, int) or depth == 0:
        raise NotInLibrary
    kernel = lowering.library_kernel("index_add", dtype=x.dtype, index=indices.dtype, depth=depth)
    tables, columns = product(x.shape[:axis]), product(x.shape[axis + depth:])
    _begin_with(lowering, x, args[0], out)
    lowering.call_kernel(kernel, [*args[1:], out], [tables, columns, count, *x.shape[axis:axis + depth]], node,
                         extent=dim_max(tables, columns), cost=count * dim_min(tables, columns))


SCATTERED: dict[str, str] = {scatter_nd_update.name: "update", scatter_nd_max.name: "max", scatter_nd_min.name: "min",
                             scatter_nd_mul.name: "mul", scatter_nd_div.name: "div"}


@library(*SCATTERED, kernel="scatter")
def lower_scatter(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """A copy of the table with rows written to it, the larger or smaller ones, products or quotients; where its own do not count,
    the extremum of rows that were written before."""
    x, indices, _ = (a.abstract for a in node.args)
    depth, how = indices.shape[-1], SCATTERED[node.fn.name]
    if not isinstance(depth, int) or depth == 0:
        raise NotInLibrary
    kernels = [lowering.library_kernel("scatter", dtype=x.dtype, index=indices.dtype, depth=depth, how=way)
               for way in ((how,) if node.attrs.get("include_self", True) else ("update", how))]
    count, columns = product(indices.shape[:-1]), product(x.shape[depth:])
    _begin_with(lowering, x, args[0], out)
    for kernel in kernels:
        lowering.call_kernel(kernel, [*args[1:], out], [1, columns, count, *x.shape[:depth]], node, extent=dim_max(1, columns),
                             cost=count * dim_min(1, columns))


@library(scatter_elements_add, kernel="elements_add")
def lower_elements_add(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """A copy of the table with elements added to it, where the indices cover all of the other axes."""
    x, indices, _ = (a.abstract for a in node.args)
    axis = node.attrs["axis"]
    if x.ndim == 0 or any(compare("==", n, m) is not True for a, (n, m) in enumerate(zip(x.shape, indices.shape)) if a != axis):
        raise NotInLibrary
    kernel = lowering.library_kernel("elements_add", dtype=x.dtype, index=indices.dtype)
    tables, columns, count = product(x.shape[:axis]), product(x.shape[axis + 1:]), indices.shape[axis]
    _begin_with(lowering, x, args[0], out)
    lowering.call_kernel(kernel, [*args[1:], out], [tables, columns, count, x.shape[axis]], node,
                         extent=dim_max(tables, columns), cost=count * dim_min(tables, columns))


PUTS_INTO_A_TABLE = (index_add_axis, scatter_nd_add, scatter_nd_update, scatter_nd_max, scatter_nd_min, scatter_nd_mul,
                     scatter_nd_div, scatter_elements_add)         # their first operand is a table, of which nothing else is read


@library(topk_along, kernel="topk")
def lower_topk(lowering: Lowering, node: CNode, args: Sequence[int], out: Registers) -> None:
    x, k, axis = node.args[0].abstract, node.attrs["k"], node.attrs["axis"]
    if not x.shape or not isinstance(k, int) or not 1 <= k <= lowering.target.most_kept:
        raise NotInLibrary
    kernel = lowering.library_kernel("topk", dtype=x.dtype, largest=node.attrs["largest"])
    inner = product(x.shape[axis + 1:])
    lowering.call_kernel(kernel, [*args, *out], [x.shape[axis], k, inner], node, extent=product(x.shape[:axis]) * inner,
                         cost=4 * x.shape[axis])


ATTENTION = {"attention": "forward", "attention_query_gradient": "query_gradient", "attention_key_gradients": "key_gradients"}


@library(*ATTENTION, kernel="attention")
def lower_attention(lowering: Lowering, node: CNode, args: Sequence[int], out: Union[int, Registers]) -> None:
    q, k = (x.abstract for x in node.args[:2])
    facts = {"scale": node.attrs["scale"], "causal": node.attrs["is_causal"], "width": q.shape[-1]}
    kernel = lowering.library_kernel("attention", dtype=q.dtype, kind=ATTENTION[node.fn.name], **facts)
    heads, rows, keys = product(q.shape[:-2]), q.shape[-2], k.shape[-2]
    outs = [out] if isinstance(out, int) else out
    lowering.call_kernel(kernel, [*args, *outs], [heads, rows, keys], node, extent=heads, cost=rows * keys * q.shape[-1])


@library(sort_along, median_along, kernel="sort")
def lower_sort(lowering: Lowering, node: CNode, args: Sequence[int], out: Registers) -> None:
    x, axis = node.args[0].abstract, node.attrs["axis"]
    sorts = node.fn is sort_along
    facts = {name: value for name, value in node.attrs.items() if name != "axis"}
    if not x.shape:
        raise NotInLibrary
    kernel = lowering.library_kernel("sort" if sorts else "median", dtype=x.dtype, **facts)
    inner, n = product(x.shape[axis + 1:]), x.shape[axis]
    lowering.call_kernel(kernel, [*args, *out], [n, inner], node, extent=product(x.shape[:axis]) * inner,
                         cost=(32 if sorts else 16) * n)


FACTORED: dict[str, str] = {cholesky_factor.name: "cholesky", inverse.name: "inverse", determinant.name: "determinant",
                            sign_and_log_determinant.name: "logarithm", cofactors.name: "cofactors",
                            "matrix_exp": "exponential"}


@library(*FACTORED, kernel="lapack")
def lower_factored(lowering: Lowering, node: CNode, args: Sequence[int], out: Any) -> None:
    x = node.args[0].abstract
    kernel = lowering.library_kernel("lapack", kind=FACTORED[node.fn.name], dtype=x.dtype)
    n, results = x.shape[-1], out if isinstance(out, (tuple, list)) else (out,)
    lowering.call_kernel(kernel, [*args, *results], [n], node, extent=product(x.shape[:-2]), cost=n * n * n)


@library("orthogonal_triangular", kernel="lapack")
def lower_orthogonal(lowering: Lowering, node: CNode, args: Sequence[int], out: Registers) -> None:
    x = node.args[0].abstract
    kernel = lowering.library_kernel("lapack", kind="orthogonal", dtype=x.dtype)
    m, n = x.shape[-2:]
    lowering.call_kernel(kernel, [*args, *out], [m, n, node.abstract.elements[0].shape[-1]], node, extent=product(x.shape[:-2]),
                         cost=4 * m * n * dim_min(m, n))


@library(linear_solve, triangular_system, kernel="lapack")
def lower_system(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """One stack on both sides, or one matrix on one of them."""
    a, b = (x.abstract for x in node.args)
    lead, steps = node.abstract.shape[:-2], []
    for shape in (a.shape[:-2], b.shape[:-2]):
        if shape != lead and product(shape) != 1:
            raise NotInLibrary
        steps.append(int(shape == lead))
    kind = {"kind": "solve"} if node.fn is linear_solve else {"kind": "triangular", **node.attrs}
    kernel = lowering.library_kernel("lapack", dtype=a.dtype, **kind)
    n, k = b.shape[-2:]
    lowering.call_kernel(kernel, [*args, out], [n, k, *steps], node, extent=product(lead), cost=n * n * (n + k))


@library(masked_put, kernel="selected")
def lower_masked_put(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """The count is looked at: a user may have put values of another number."""
    values, b = node.args[0].abstract, lowering.b
    kernel = lowering.library_kernel("selected", kind="put", dtype=values.dtype)
    count = b.alloc(b.const(8), 8, lowering.device)
    lowering.call_kernel(kernel, [*args, out, count], [node.abstract.size], node)
    b.check(b.arith("eq", b.load(count, int64), lowering.size(values.size)),
            "masked_put: the number of values differs from the number of trues", (), node.origin, again=True)


TRANSFORMS = ("fourier", "fourier_of_real", "fourier_to_real")


@library(*TRANSFORMS, kernel="fourier")
def lower_fourier(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    """One launch for each axis; from the second one on the result is transformed where it stands."""
    x, attrs = node.args[0].abstract, node.attrs
    real = x.dtype.kind != "c"
    kinds = {"fourier": "of_real" if real else "complex", "fourier_of_real": "half", "fourier_to_real": "to_real"}
    facts = {"inverse": attrs["inverse"], "scale": attrs["scale"], "weighted": attrs.get("weighted", False)}
    steps = [(axis, kinds[node.fn.name] if place == 0 else "complex")
             for place, axis in enumerate(reversed(attrs.get("axes", (attrs.get("axis"),))))]
    whole, real_type = node.abstract.shape, x.dtype if real else part_dtype(x.dtype)
    kernels = [lowering.library_kernel("fourier", kind=kind, dtype=real_type, **facts,
                                       across=compare("==", product(whole[axis + 1:]), 1) is not True)
               for axis, kind in steps]
    if not steps:
        raise NotInLibrary
    place = args[0]
    for kernel, (axis, kind) in zip(kernels, steps):
        n = whole[axis] if kind != "half" else x.shape[axis]
        outer, inner = product(whole[:axis]), product(whole[axis + 1:])
        groups, lines = (1, outer) if compare("==", inner, 1) is True else (outer, inner)
        block = dim_max(8, 4096 // n)
        lowering.call_kernel(kernel, [place, out], [n, lines, block], node, extent=groups * ((lines + block - 1) // block),
                             cost=32 * n * block)
        place = out


SCANS: dict[str, str] = {cumulative_sum.name: "sum", cumulative_product.name: "product", linear_recurrence.name: "recurrence",
                         cumulative_logsumexp.name: "logsumexp"}


@library(*SCANS, kernel="scan")
def lower_scan(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    x, axis = node.abstract, node.attrs["axis"]
    if not x.shape or node.args[0].abstract.dtype is not x.dtype:
        raise NotInLibrary
    kernel = lowering.library_kernel("scan", dtype=x.dtype, kind=SCANS[node.fn.name])
    inner, n = product(x.shape[axis + 1:]), x.shape[axis]
    ways = [int(node.attrs.get(name, False)) for name in ("exclusive", "reverse")]
    lowering.call_kernel(kernel, [*args, out], [n, inner, *ways], node, extent=product(x.shape[:axis]) * inner, cost=4 * n)


RUNNING: dict[str, str] = {running_max.name: "max", running_min.name: "min"}


@library(*RUNNING, kernel="running")
def lower_running(lowering: Lowering, node: CNode, args: Sequence[int], out: Registers) -> None:
    x, axis = node.args[0].abstract, node.attrs["axis"]
    if not x.shape:
        raise NotInLibrary
    kernel = lowering.library_kernel("running", dtype=x.dtype, kind=RUNNING[node.fn.name])
    inner, n = product(x.shape[axis + 1:]), x.shape[axis]
    lowering.call_kernel(kernel, [*args, *out], [n, inner], node, extent=product(x.shape[:axis]) * inner, cost=6 * n)


@library(sorted_positions, kernel="search")
def lower_search(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    rows, values = (x.abstract for x in node.args)
    kernel = lowering.library_kernel("search", dtype=rows.dtype, inclusive=node.attrs["inclusive"])
    many = rows.ndim > 1
    lowering.call_kernel(kernel, [*args, out], [rows.shape[-1], dim_max(values.shape[-1], 1) if many else 1, int(many)], node,
                         extent=values.size, cost=64)


@library("path_sums", "lattice_recurrence", kernel="lattice")
def lower_lattice(lowering: Lowering, node: CNode, args: Sequence[int], out: int) -> None:
    x = node.abstract
    kind = "paths" if node.fn.name == "path_sums" else "backward" if node.attrs["reverse"] else "forward"
    facts = {"nothing": node.attrs["nothing"]} if kind == "paths" else {}
    kernel = lowering.library_kernel("lattice", dtype=x.dtype, kind=kind, **facts)
    times, batch, states = x.shape
    lowering.call_kernel(kernel, [*args, out], [times, batch, states], node, extent=batch,
                         cost=times * states * (32 if kind == "paths" else 4))


# ---- room for all that data may select; the count that the kernel tells is the size

LOWER[nonzero_indices] = lambda lowering, node: _selected(lowering, node, "positions")
LOWER[masked_select] = lambda lowering, node: _selected(lowering, node, "values")


def _selected(lowering: Lowering, node: CNode, kind: str) -> Made:
    """Call the kernel; where the Target has none, the eval rule. kind: what is given, "positions" or "values" of the operand"""
    x, b = node.args[0].abstract, lowering.b
    most, sizes = ((x.size, x.ndim), x.shape) if kind == "positions" else ((x.size,), ())
    try:
        kernel = lowering.library_kernel("selected", kind=kind, dtype=x.dtype, ndim=x.ndim)
    except NotInLibrary:
        return lowering.operator(node)
    out = lowering.allocate(AbstractTensor(node.abstract.dtype, most))
    count = b.alloc(b.const(8), 8, lowering.device)
    args = [lowering.value_on(a, lowering.device, node.origin) for a in node.args]
    lowering.call_kernel(kernel, [*args, out, count], [x.size, *sizes], node)
    lowering.bind_sizes(node.abstract, [b.load(count, int64)] * node.abstract.ndim)
    return out

"""A matrix that a loop multiplies by at every iteration is put in order before it.

    while: .. batch_matmul(%h, %w) ..     ->     p = the columns of %w in panels;  while: .. panel_matmul(%h, p) ..

A product of few rows spends a third of its time on walking through the matrix, row by row far apart, or on copying it into
panels as wide as the register tile (Goto & van de Geijn 2008). In a loop once is enough. The last pass over a graph:
there are no rules for the gradient of what it makes.
"""
from ..backend.target import Target
from ..common.dim import product
from ..mindir.builder import append
from ..mindir.control import policy_of, while_loop
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import clone
from ..ops.basic import reshape, transpose
from ..ops.linalg import batch_matmul, panel_matmul
from ..ops.slicing import pad_slice
from .loops import counter_of, fixed_operands, moved_out, widened
from .rewrite import rebuild

DTYPES = ("float32", "float64")


def put_in_panels(graph: FuncGraph, target: Target) -> FuncGraph:
    """A copy of a typed graph in which loops multiply a few rows by fixed matrices in panels;
    `graph` itself if there is no such product, or the Target has no panels."""
    if "panel_matmul" not in target.library or not any(
            node.fn is while_loop and _products(node, target) for below in graph.reachable() for node in below.nodes):
        return graph
    graph = clone(graph)
    for below in reversed(graph.reachable()):
        rebuild(below, lambda node: _moved(node, target), {while_loop})
    return graph


def _products(loop, target):
    """The products of a loop's body with a matrix that it does not change and that is worth putting in order."""
    outside, iterations = fixed_operands(loop), counter_of(loop)[2]
    if 0 < iterations < target.panel_iterations:
        return []
    return [node for node in loop.attrs["body"].nodes if node.fn is batch_matmul
            and (node.args[1] in outside or isinstance(node.args[1], ValueNode)) and _pays(node, target)]


def _pays(node, target):
    a, matrix = (arg.abstract for arg in node.args)
    if node.attrs["transpose_a"] or matrix.ndim != 2 or matrix.dtype.name not in DTYPES \
            or not all(isinstance(size, int) for size in (*a.shape, *matrix.shape)):
        return False
    fewest, most = target.panel_rows
    return fewest <= product(a.shape[:-1]) <= most and node.abstract.shape[-1] > target.panel_columns(matrix.dtype) \
        and matrix.size * matrix.dtype.itemsize > target.near


def _moved(loop, target):
    found, outside = _products(loop, target), fixed_operands(loop)
    if not found:
        return None
    numbers, made, replaced = {}, [], {}
    for node in found:
        key = node.args[1], node.attrs["transpose_b"]
        if key not in numbers:
            with moved_out(node, "put_in_panels"):
                matrix = outside.get(node.args[1], node.args[1])
                width = target.panel_columns(matrix.dtype)
                made.append(_in_panels(matrix, width, node.attrs["transpose_b"]))
            numbers[key] = len(made) - 1
        replaced[node] = _product(node, numbers[key])
    return append(while_loop, *loop.args, *made, cond=widened(loop.attrs["cond"], made),
                  body=widened(loop.attrs["body"], made, replaced), invariants=loop.attrs["invariants"] + len(made),
                  abstract=loop.abstract, **policy_of(loop))


def _product(node, number):
    rows, columns = node.args[0], node.abstract.shape[-1]
    return lambda env, more: panel_matmul(env.get(rows, rows), more[number], columns=columns)


def _in_panels(matrix, width, transposed):
    """The columns of float[k, n] (of float[n, k] if transposed) in panels, float[count, k, width]; zeros fill the last."""
    axis, shape = int(not transposed), list(matrix.shape)
    count = -(-shape[axis] // width)
    if count * width != shape[axis]:
        shape[axis] = count * width
        matrix = pad_slice(matrix, shape=tuple(shape), start=(0, 0), step=(1, 1), value=0)
    if transposed:
        return transpose(reshape(matrix, shape=(count, width, shape[1])), perm=(0, 2, 1))
    return transpose(reshape(matrix, shape=(shape[0], count, width)), perm=(1, 0, 2))

"""One product for all iterations of a loop: what is multiplied by the same matrix, slice by slice, is multiplied before it.

    for t in range(n): .. matmul(xs[t], w) ..        ->        ys = matmul(xs, w);  for t in range(n): .. ys[t] ..

A product of a few rows takes about as long as reading the matrix; all rows together read it once (Appleyard, Kocisky and
Blunsom 2016, section 3.1, by hand for an LSTM). Before differentiation, so that the gradient for `w` is one product too.
"""
from ..common.dim import product
from ..mindir.builder import append
from ..mindir.control import policy_of, while_loop
from ..mindir.graph import ValueNode
from ..ops.basic import reshape, transpose
from ..ops.dynamic_slicing import dynamic_slice
from ..ops.linalg import batch_matmul
from ..ops.scalar import scalar_binary
from ..ops.slicing import slice_
from .loops import ahead_of, counter_of, fixed_operands, moved_out, number_of, widened
from .rewrite import rebuild

FEW_ROWS = 128                   # with more, one iteration's product is as fast as a part of a larger one
WIDER = 8                        # times that a result may be wider than what is multiplied: all of it is kept


def hoist_products(graph):
    """Hoist products of a fixed matrix and the iteration's few rows of a fixed
    tensor out of loops with a fixed number of iterations."""
    return rebuild(graph, _hoist, {while_loop})


def _hoist(node):
    if policy_of(node):
        return None
    body, k = node.attrs["body"], node.attrs["invariants"]
    outside = fixed_operands(node)
    counter, first, iterations = counter_of(node)
    found = {inner: rows for inner in body.nodes if inner.fn is batch_matmul
             for rows in [_rows(inner, outside, counter, first, iterations)] if rows is not None}
    if not found:
        return None
    made = [_product(inner, rows, outside, iterations) for inner, rows in found.items()]
    slices = {inner: _slice(number, inner, counter, first) for number, inner in enumerate(found)}
    return append(while_loop, *node.args, *made, cond=widened(node.attrs["cond"], made), body=widened(body, made, slices),
                  invariants=k + len(made), abstract=node.abstract)


def _rows(inner, outside, counter, first, iterations):
    """(the fixed tensor, the axis along which the iterations take rows, the first
    iteration's item, the rows per iteration); None for another product."""
    rows, matrix = inner.args
    if inner.attrs["transpose_a"] or counter is None or iterations < 2 or not (
            isinstance(matrix, ValueNode) or matrix in outside) or len(matrix.abstract.shape) != 2:
        return None
    part = rows
    while getattr(part, "fn", None) is reshape:
        part = part.args[0]
    if getattr(part, "fn", None) is not dynamic_slice or part.args[0] not in outside:
        return None
    source, *starts = part.args
    shape, sizes = source.abstract.shape, part.attrs["sizes"]
    moving = [axis for axis, start in enumerate(starts) if number_of(start) != 0]
    if len(moving) != 1 or not all(isinstance(s, int) for s in (*shape, *matrix.abstract.shape)):
        return None
    axis, = moving
    offset = ahead_of(starts[axis], counter)
    whole = sizes == shape[:axis] + (1,) + shape[axis + 1:]
    if offset is None or not whole or axis == len(shape) - 1 or rows.abstract.shape[-1] != shape[-1]:
        return None
    begin, count = first + offset, product(sizes[:-1])
    if begin < 0 or begin + iterations > shape[axis] or count > FEW_ROWS or inner.abstract.shape[-1] > WIDER * shape[-1]:
        return None
    return source, axis, begin, count


def _product(inner, rows, outside, iterations):
    """The product of all iterations, tensor[iterations, rows of an iteration, columns], before the loop."""
    source, axis, begin, count = rows
    x, matrix = outside[source], outside.get(inner.args[1], inner.args[1])
    shape = x.abstract.shape
    with moved_out(inner, "hoist_products"):
        if iterations < shape[axis]:
            start, sizes = [0] * len(shape), list(shape)
            start[axis], sizes[axis] = begin, iterations
            x = slice_(x, start=tuple(start), sizes=tuple(sizes), step=(1,) * len(shape))
        if axis:
            x = transpose(x, perm=(axis, *(a for a in range(len(shape)) if a != axis)))
        made = batch_matmul(reshape(x, shape=(iterations * count, shape[-1])), matrix, **inner.attrs)
        return reshape(made, shape=(iterations, count, inner.abstract.shape[-1]))


def _slice(number, inner, counter, first):
    """What stands for a product in the loop: the iteration's slice of the new operand with this number."""
    def make(env, more):
        products = more[number]
        iteration = scalar_binary(env[counter], -first, op="+") if first else env[counter]
        part = dynamic_slice(products, iteration, 0, 0, sizes=(1, *products.abstract.shape[1:]))
        return reshape(part, shape=inner.abstract.shape)
    return make

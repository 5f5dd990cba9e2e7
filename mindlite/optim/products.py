"""One product for all turns of a loop: what is multiplied by the same matrix, slice by slice, is multiplied before it.

    for t in range(n): .. matmul(xs[t], w) ..        ->        ys = matmul(xs, w);  for t in range(n): .. ys[t] ..

A product of a few rows takes about as long as reading the matrix; all rows together read it once (Appleyard, Kocisky and
Blunsom 2016, section 3.1, by hand for an LSTM). Before differentiation, so that the gradient for `w` is one product too.
"""
from ..common.dim import product
from ..common.location import Origin
from ..mindir.builder import append, building
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple, policy_of, while_loop
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.primitive import current_interpreter
from ..ops.basic import reshape, transpose
from ..ops.dynamic_slicing import dynamic_slice
from ..ops.linalg import batch_matmul
from ..ops.scalar import scalar_binary, scalar_compare
from ..ops.slicing import slice_
from .rewrite import rebuild

FEW_ROWS = 128                   # with more, one turn's product is as fast as a part of a larger one
WIDER = 8                        # times that a result may be wider than what is multiplied: all of it is kept


def hoist_products(graph):
    """Leaves no product in a loop of a fixed number of turns whose operands are a fixed matrix and the turn's few rows of
    a fixed tensor."""
    return rebuild(graph, lambda node: _hoist(node) if node.fn is while_loop and not policy_of(node) else None)


def _hoist(node):
    body, k = node.attrs["body"], node.attrs["invariants"]
    n = len(node.args) - k
    outside = dict(zip(body.parameters[n:], node.args[n:]))
    counter, first, turns = _counter(node)
    found = {inner: rows for inner in body.nodes if inner.fn is batch_matmul
             for rows in [_rows(inner, outside, counter, first, turns)] if rows is not None}
    if not found:
        return None
    made = [_product(inner, rows, outside, turns) for inner, rows in found.items()]
    return append(while_loop, *node.args, *made, cond=_widened(node.attrs["cond"], made, {}, None, 0),
                  body=_widened(body, made, found, counter, first), invariants=k + len(made), abstract=node.abstract)


def _counter(node):
    """(the body's parameter that counts the turns, its first value, how many turns there are); (None, 0, 0) where they
    are not known."""
    body, test = node.attrs["body"], node.attrs["cond"]
    asked = test.outputs[0]
    if getattr(asked, "fn", None) is not scalar_compare or asked.attrs["op"] != "<" or asked.args[0] not in test.parameters:
        return None, 0, 0
    number = test.parameters.index(asked.args[0])
    first, last = (_number(value) for value in (node.args[number], asked.args[1]))
    if number >= len(body.outputs) or first is None or last is None:
        return None, 0, 0
    parameter = body.parameters[number]
    return (parameter, first, last - first) if _sum(body.outputs[number], parameter) == 1 else (None, 0, 0)


def _number(node):
    """The int that a node is, else None."""
    return node.value if isinstance(node, ValueNode) and type(node.value) is int else None


def _sum(node, parameter):
    """c where `node` is parameter + c, else None."""
    if node is parameter:
        return 0
    if getattr(node, "fn", None) is not scalar_binary or node.attrs["op"] not in ("+", "-"):
        return None
    a, b = node.args
    if node.attrs["op"] == "+" and _number(a) is not None:
        a, b = b, a
    inner, more = _sum(a, parameter), _number(b)
    return None if inner is None or more is None else inner + more if node.attrs["op"] == "+" else inner - more


def _rows(inner, outside, counter, first, turns):
    """(the fixed tensor, the axis whose items are the turns' rows, the item of the first turn, how many rows a turn
    has); None for another product."""
    rows, matrix = inner.args
    if inner.attrs["transpose_a"] or counter is None or turns < 2 or not (isinstance(matrix, ValueNode) or matrix in outside) \
            or len(matrix.abstract.shape) != 2:
        return None
    part = rows
    while getattr(part, "fn", None) is reshape:
        part = part.args[0]
    if getattr(part, "fn", None) is not dynamic_slice or part.args[0] not in outside:
        return None
    source, *starts = part.args
    shape, sizes = source.abstract.shape, part.attrs["sizes"]
    moving = [axis for axis, start in enumerate(starts) if _number(start) != 0]
    if len(moving) != 1 or not all(isinstance(s, int) for s in (*shape, *matrix.abstract.shape)):
        return None
    axis, = moving
    offset = _sum(starts[axis], counter)
    whole = sizes == shape[:axis] + (1,) + shape[axis + 1:]
    if offset is None or not whole or axis == len(shape) - 1 or rows.abstract.shape[-1] != shape[-1]:
        return None
    begin, count = first + offset, product(sizes[:-1])
    if begin < 0 or begin + turns > shape[axis] or count > FEW_ROWS or inner.abstract.shape[-1] > WIDER * shape[-1]:
        return None
    return source, axis, begin, count


def _product(inner, rows, outside, turns):
    """The product of all turns, tensor[turns, rows of a turn, columns], before the loop."""
    source, axis, begin, count = rows
    x, matrix = outside[source], outside.get(inner.args[1], inner.args[1])
    shape = x.abstract.shape
    with building(current_interpreter().graph, Origin(inner.origin.location, inner, "hoist_products")), collecting():
        if turns < shape[axis]:
            start, sizes = [0] * len(shape), list(shape)
            start[axis], sizes[axis] = begin, turns
            x = slice_(x, start=tuple(start), sizes=tuple(sizes), step=(1,) * len(shape))
        if axis:
            x = transpose(x, perm=(axis, *(a for a in range(len(shape)) if a != axis)))
        made = batch_matmul(reshape(x, shape=(turns * count, shape[-1])), matrix, **inner.attrs)
        return reshape(made, shape=(turns, count, inner.abstract.shape[-1]))


def _widened(source, made, found, counter, first):
    """A loop's graph with one more parameter for each of `made`; the products in `found` are its slices."""
    target = FuncGraph(source.name, source.origin)
    env = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in source.parameters}
    more = [target.add_parameter("rows", value.abstract, value.origin) for value in made]
    slices = dict(zip(found, more))
    for node in source.nodes:
        if node in slices:
            with building(target, node.origin), collecting():
                turn = scalar_binary(env[counter], -first, op="+") if first else env[counter]
                part = dynamic_slice(slices[node], turn, 0, 0, sizes=(1, *slices[node].abstract.shape[1:]))
                env[node] = reshape(part, shape=node.abstract.shape)
        else:
            env[node] = CNode(target, node.fn, [env.get(a, a) for a in node.args], node.attrs, node.abstract, node.origin)
            target.nodes.append(env[node])
    target.set_outputs([env.get(o, o) for o in source.outputs], make_tuple)
    return target

"""Sums of products without a temporary: the product is added where the other summand lies (the beta of BLAS's gemm).

    %3 = batch_matmul(%x, %w)                                 %3 = batch_matmul(%x, %w)
    %4 = batch_matmul(%h, %u); %5 = add(%3, %4)        ->     %5 = matmul_add(%3, %h, %u)        %5 lies where %3 lay

    while: total = add(%total, batch_matmul(%a, %b))   ->     total = matmul_add(%total, %a, %b)

The second is what a weight's gradient is in a loop: the memory of `total` is the loop's own and stays in place. Both need
that nothing else reads the summand or the product, and in the loop that nothing but the sum reads the state.

    while: y = dynamic_update(%y, %v, %t)             ->     y = write_slice(%y, %v, %t)
    while: total = add(%total, dynamic_update(zeros, %v, %t))
                                ->     total = write_slice(%total, dynamic_slice(%total, %t) + %v, %t)

So an iteration that writes one row, or adds the gradient of one, takes the time of the row. The rows have to lie side by side.

    add(%a, index_add(zeros, %i, %u))                 ->     index_add(%a, %i, %u)

So the gradient of a table that is read several times is one table, to which each reading's is added.
"""
import numpy as np

from ..mindir.abstract import AbstractTensor
from ..mindir.control import while_loop
from ..mindir.graph import CNode, ValueNode
from ..mindir.inline import clone, drop_dead_nodes, users_of
from ..ops.arithmetic import add
from ..ops.basic import broadcast_to
from ..ops.creation import full
from ..ops.dynamic_slicing import dynamic_slice, dynamic_update, write_slice
from ..ops.indexing import index_add_axis, scatter_elements_add, scatter_nd_add
from ..ops.linalg import batch_matmul, matmul_add

DTYPES = ("float32", "float64")
ADDED_TO_TABLES = (index_add_axis, scatter_elements_add, scatter_nd_add)


def accumulate_products(graph):
    """A copy of a typed graph with matmul_add and write_slice wherever they need no extra memory, and with sums in one table;
    `graph` itself if there is none."""
    if not any(_sums_in(below, states) or _writes_in(below, states) or _tables_in(below) for below, states in _states(graph)):
        return graph
    graph = clone(graph)
    for below, states in _states(graph):
        for node, (total, table) in _tables_in(below).items():
            node.fn, node.args, node.attrs = table.fn, (total, *table.args[1:]), table.attrs
        found = _sums_in(below, states)
        for node, (total, product) in found.items():
            node.fn, node.args, node.attrs = matmul_add, (total, *product.args), product.attrs
        added = {product for _, product in found.values()}
        below.nodes = [node for node in below.nodes if node not in added]
        for node, update in _writes_in(below, states).items():
            _write(below, node, update)
        drop_dead_nodes(below)                               # the zeros
    return graph


def accumulators(loop):
    """The numbers of the states of a while_loop that its body changes in place."""
    body = loop.attrs["body"]
    return [number for number, (p, output) in enumerate(zip(body.parameters, body.outputs))
            if getattr(output, "fn", None) in (matmul_add, write_slice) and output.args[0] is p]


def _states(graph):
    """[(graph, {parameter: its next value} if it is the body of a loop)] of a graph and all below it. Left
    out: states that the condition reads, and states that share their next value."""
    below = graph.reachable()
    states = {}
    for loop in (node for g in below for node in g.nodes if node.fn is while_loop):
        body, test = loop.attrs["body"], loop.attrs["cond"]
        asked = {a for node in test.nodes for a in node.args} | set(test.outputs)
        states[body] = {p: output for p, output, known in zip(body.parameters, body.outputs, test.parameters)
                        if known not in asked and body.outputs.count(output) == 1}
    return [(g, states.get(g, {})) for g in below]


def _sums_in(graph, states):
    """{add: (summand, product)} of the nodes of one graph. states: {parameter: its next value} if it is a loop's body."""
    found, added, users = {}, set(), users_of(graph)

    def is_product(node):
        return getattr(node, "fn", None) is batch_matmul and len(users[node]) == 1 and node not in added
    for node in graph.nodes:
        if node.fn is not add or node.abstract.dtype.name not in DTYPES:
            continue
        for total, product in (node.args, node.args[::-1]):
            if total is product or not is_product(product) or not product.abstract == total.abstract == node.abstract:
                continue
            inside = (is_product(total) or total in found and len(users[total]) == 1) and node not in graph.outputs
            carried = states.get(total) is node and len(users[total]) == len(users[node]) == 1
            if inside or carried:
                found[node] = total, product
                added.add(product)
                break
    return found


def _writes_in(graph, states):
    """{the next value of a state: the dynamic_update in it, of the state itself or of zeros that are added to it}"""
    found, users = {}, users_of(graph)
    for p, after in states.items():
        if getattr(after, "fn", None) is dynamic_update and after.args[0] is p:
            before = _ancestors(after)
            if all(user is after or user.fn is dynamic_slice and user in before for user in users[p]) and _side_by_side(after):
                found[after] = after
        elif getattr(after, "fn", None) is add and p in after.args and len(users[p]) == len(users[after]) == 1:
            update = after.args[after.args[0] is p]
            if getattr(update, "fn", None) is dynamic_update and len(users[update]) == 1 and _is_zeros(update.args[0]) \
                    and _side_by_side(update) and after.abstract == update.abstract:
                found[after] = update
    return found


def _tables_in(graph):
    """{add: (one summand, the other one: what is added to a table of zeros, which nothing else reads)}"""
    found, users = {}, users_of(graph)
    for node in graph.nodes:
        if node.fn is not add or node.abstract.dtype.name not in DTYPES:
            continue
        for total, table in (node.args, node.args[::-1]):
            if getattr(table, "fn", None) in ADDED_TO_TABLES and len(users[table]) == 1 and _is_zeros(table.args[0]) \
                    and table.abstract == total.abstract == node.abstract:
                found[node] = total, table
                break
    return found


def _write(graph, node, update):
    """Make `node`, the next value of a state, a write_slice."""
    value, starts = update.args[1], update.args[2:]
    if update is not node:
        total = node.args[node.args[1] is not update]
        old = CNode(graph, dynamic_slice, (total, *starts), {"sizes": value.abstract.shape}, value.abstract, node.origin)
        value = CNode(graph, add, (old, value), {}, value.abstract, node.origin)
        index = graph.nodes.index(node)
        graph.nodes[index:index] = [old, value]
        graph.nodes.remove(update)
        node.args = (total, value, *starts)
    node.fn, node.args, node.attrs = write_slice, (node.args[0], value, *starts), {}


def _ancestors(node):
    """All nodes that `node` is made of."""
    seen, todo = set(), [node]
    while todo:
        for arg in todo.pop().args:
            if arg not in seen and isinstance(arg, CNode):
                seen.add(arg)
                todo.append(arg)
    return seen


def _side_by_side(update):
    """True if what is written is one piece of memory: single items, then one axis of any size, then whole axes."""
    shape, sizes = update.abstract.shape, update.args[1].abstract.shape
    single = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    return isinstance(update.args[1].abstract, AbstractTensor) and sizes[single + 1:] == shape[single + 1:]


def _is_zeros(node):
    if isinstance(node, ValueNode):
        return not np.any(node.value)
    if getattr(node, "fn", None) is broadcast_to:
        return _is_zeros(node.args[0])
    return getattr(node, "fn", None) is full and node.attrs["value"] == 0

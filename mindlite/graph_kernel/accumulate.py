"""Sums of products without a temporary: the product is added where the other summand lies (the beta of BLAS's gemm).

    %3 = batch_matmul(%x, %w)                                 %3 = batch_matmul(%x, %w)
    %4 = batch_matmul(%h, %u); %5 = add(%3, %4)        ->     %5 = matmul_add(%3, %h, %u)        %5 lies where %3 lay

    while: total = add(%total, batch_matmul(%a, %b))   ->     total = matmul_add(%total, %a, %b)

The second is what a weight's gradient is in a loop: the memory of `total` is the loop's own and stays in place. Both need
that nothing else reads the summand or the product, and in the loop that nothing but the sum reads the state.
"""
from ..mindir.control import while_loop
from ..mindir.inline import clone
from ..ops.arithmetic import add
from ..ops.linalg import batch_matmul, matmul_add

DTYPES = ("float32", "float64")


def accumulate_products(graph):
    """A copy of a typed graph with matmul_add wherever it needs no other memory; `graph` itself where there is none."""
    if not any(found for _, found in _sums(graph)):
        return graph
    graph = clone(graph)
    for below, found in _sums(graph):
        for node, (total, product) in found.items():
            node.fn, node.args, node.attrs = matmul_add, (total, *product.args), product.attrs
        added = {product for _, product in found.values()}
        below.nodes = [node for node in below.nodes if node not in added]
    return graph


def accumulators(loop):
    """The numbers of the states of a while_loop that matmul_add adds to in its body."""
    body = loop.attrs["body"]
    return [number for number, (p, output) in enumerate(zip(body.parameters, body.outputs))
            if getattr(output, "fn", None) is matmul_add and output.args[0] is p]


def _sums(graph):
    """[(a graph, {add: (the summand that stays, the product that is added to it)})] of a graph and all below it."""
    below = graph.reachable()
    states = {}
    for loop in (node for g in below for node in g.nodes if node.fn is while_loop):
        body, test = loop.attrs["body"], loop.attrs["cond"]
        asked = {a for node in test.nodes for a in node.args} | set(test.outputs)
        states[body] = {p: output for p, output, known in zip(body.parameters, body.outputs, test.parameters)
                        if known not in asked and body.outputs.count(output) == 1}
    return [(g, _sums_in(g, states.get(g, {}))) for g in below]


def _sums_in(graph, states):
    """{add: (summand, product)} of the nodes of one graph. states: {parameter: its next value} if it is a loop's body."""
    uses, found, added = {}, {}, set()
    for node in [*graph.nodes, graph.output]:
        for arg in node.args:
            uses[arg] = uses.get(arg, 0) + 1

    def is_product(node):
        return getattr(node, "fn", None) is batch_matmul and uses[node] == 1 and node not in added
    for node in graph.nodes:
        if node.fn is not add or node.abstract.dtype.name not in DTYPES:
            continue
        for total, product in (node.args, node.args[::-1]):
            if total is product or not is_product(product) or not product.abstract == total.abstract == node.abstract:
                continue
            inside = (is_product(total) or total in found and uses[total] == 1) and node not in graph.outputs
            carried = states.get(total) is node and uses[total] == uses[node] == 1
            if inside or carried:
                found[node] = total, product
                added.add(product)
                break
    return found

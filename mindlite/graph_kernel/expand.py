"""Composites in smaller operators, so that they fuse with what stands around them: softmax, gelu, layer_norm, adam.

    %1 = log_softmax(%x; axis=1)     ->     %1 = reduce_max(%x); %2 = sub(%x, %1); %3 = exp(%2); ..
"""
from ..common.location import Origin
from ..mindir.builder import building, constant
from ..mindir.constraints import collecting
from ..mindir.control import custom_vjp, gate, make_tuple, port, tuple_getitem
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline
from ..mindir.primitive import expand_rule, kernel_rule
from ..ops.collectives import in_stages


GRADIENTS = {custom_vjp, gate, port}                # they say what the gradient is, which has been made


def expand_composites(graph):
    """`graph` without operators that have an expand rule and no kernel rule, and without custom
    gradients and hooks that are no longer needed; also in the graphs below it."""
    return _expand(graph, {})


def expand_stages(graph):
    """`graph` with schedules in place of those `in_stages` whose ranks have the same rows, so that they may split the operators
    of a stage; the same graph without any. The others stay closed: their values differ between ranks."""
    if not any(node.fn is in_stages and node.attrs["schedule"].same_rows for node in graph.nodes):
        return graph
    target = FuncGraph(graph.name, graph.origin)
    env: dict = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}
    for node in graph.nodes:
        args = [env.get(a, a) for a in node.args]
        if node.fn is in_stages and node.attrs["schedule"].same_rows:
            with collecting(), building(target, Origin(node.origin.location, node, "expand")) as builder:
                env[node] = tuple(map(builder.lift, expand_rule[in_stages](*args, **node.attrs)))
        elif node.fn is tuple_getitem and isinstance(args[0], tuple):
            env[node] = args[0][node.attrs["index"]]
        else:
            env[node] = target.add_copy(node, args)
    target.set_outputs([env.get(o, o) for o in graph.outputs], make_tuple)
    return target


def _expand(graph, done):
    if graph in done:
        return done[graph]
    if not any(is_composite(node) or node.fn in GRADIENTS for below in graph.reachable() for node in below.nodes):
        done[graph] = graph
        return graph
    target = done[graph] = FuncGraph(graph.name, graph.origin)
    env: dict = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}
    _append(target, graph.nodes, env, done)
    target.set_outputs([env.get(o, o) for o in graph.outputs], make_tuple)
    return target


def _append(target, nodes, env, done):
    """Append what becomes of the nodes; env: {node: what stands for it, a tuple of nodes for several results}, is filled."""
    for node in nodes:
        args = [env.get(a, a) for a in node.args]
        if node.fn is tuple_getitem and isinstance(args[0], tuple):
            env[node] = args[0][node.attrs["index"]]
        elif is_composite(node):
            env[node] = _write(target, node, args, done)
        elif node.fn is custom_vjp:
            env[node] = tuple(inline(target, _expand(node.attrs["graph"], done), args))
        elif node.fn is gate:
            env[node] = tuple(args[:node.attrs["count"]])
        elif node.fn is port:
            env[node] = (*args, constant(False))
        else:
            attrs = {k: _expand(v, done) if isinstance(v, FuncGraph) else v for k, v in node.attrs.items()}
            env[node] = target.add_copy(node, args, attrs=attrs)


def is_composite(node):
    """True for an operator that `expand_composites` writes in smaller ones."""
    return node.fn in expand_rule and node.fn not in kernel_rule


def _write(target, node, args, done):
    """Append the expansion; a node, or a tuple of nodes. Composites made of composites are expanded too.

    What the composite demands of open sizes was collected when it was inferred. Its parts may demand more than it does
    (softmax takes an empty axis, the maximum inside does not); such demands are void.
    """
    start = len(target.nodes)
    with collecting(), building(target, Origin(node.origin.location, node, "expand")) as builder:
        out = expand_rule[node.fn](*args, **node.attrs)
        results = [builder.lift(x) for x in (out if isinstance(out, tuple) else (out,))]
    inner = target.nodes[start:]
    if any(is_composite(n) for n in inner):
        del target.nodes[start:]
        env: dict = {}
        _append(target, inner, env, done)
        results = [env.get(r, r) for r in results]
    return tuple(results) if isinstance(out, tuple) else results[0]
